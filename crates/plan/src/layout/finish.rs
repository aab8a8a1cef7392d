//! The pass behind the products.

use super::digits::Digits;
use super::notation::{Mapping, Notation};
use super::{Finish, Parts};
use crate::choice::{Gather, Level, ROWS, Sums};
use crate::problem::Role;
use furiosa_visa_rules::spec;

/// A kernel up to the pass behind its products.
pub(super) struct Behind<'a> {
    pub digits: &'a Digits<'a>,
    pub notation: &'a Notation,
    /// The axis that is in the rows of the register file.
    pub rows: usize,
    /// The digit that counts the parts of a sum.
    pub parts: &'a [String],
    /// Elements of the sums of a slice.
    pub own: Mapping,
}

impl Behind<'_> {
    /// The mappings of the pass, and the elements of what is stored. `slices` makes slices of which those of some roles are
    /// `replaced`.
    pub(super) fn finish(
        self,
        slices: &dyn Fn(&[(Role, Vec<String>)]) -> Option<Mapping>,
        mut replaced: Vec<(Role, Vec<String>)>,
    ) -> Option<(Finish, Mapping)> {
        let Self { digits, notation, rows, parts, own } = self;
        let (problem, choice) = (digits.problem, digits.choice);
        let (of_stream, of_weights) = (Role::Of(choice.stream()), Role::Of(choice.weights));
        let split = &choice.splits[rows];
        // What slices gather: a digit of the stream that they share, and the digit of rows that they give for it.
        let kept = choice.gather.and_then(|Gather { axis, count }| {
            let local = choice.splits[axis].at(Level::Local);
            digits.digit(axis, local / count, count)
        });
        let given = choice
            .gather
            .and_then(|Gather { count, .. }| digits.digit(rows, split.stride(Level::Slice), count));
        let other = |axis: usize| match choice.gather {
            Some(gather) if gather.axis == axis => gather.count,
            _ => 1,
        };
        let mut gathered = Vec::new();
        let mut time = Vec::new();
        for axis in digits.axes(of_stream) {
            let low = if choice.sums == Sums::Shared(axis) { digits.team() } else { 1 };
            let local = choice.splits[axis].at(Level::Local) / other(axis);
            if other(axis) > 1 {
                time.extend(kept.clone());
            }
            let rest = digits.digit(axis, low, local / low);
            time.extend(rest.clone());
            gathered.extend(rest);
        }
        let groups = digits.local(of_weights, None, &[(rows, ROWS)], false);
        time.extend(groups.iter().chain(parts).cloned());
        // Behind the switch: what was given comes last.
        let behind = |more: &[&[String]]| -> Option<Mapping> {
            let list = [&gathered, &groups].into_iter().map(Vec::as_slice).chain(more.iter().copied());
            notation.list(&list.collect::<Vec<_>>().concat())
        };
        let given: Vec<String> = given.into_iter().collect();
        let element = |first: &[String]| {
            let own = if own.text == "1" { Vec::new() } else { vec![own.text.clone()] };
            notation.list(&[first, &own].concat())
        };
        let switch = match choice.gather {
            None => None,
            Some(Gather { count, .. }) => {
                let mut own = Vec::new();
                for axis in digits.axes(of_weights) {
                    let split = &choice.splits[axis];
                    let inner = if axis == rows { count } else { 1 };
                    own.extend(digits.digit(
                        axis,
                        split.stride(Level::Slice) * inner,
                        split.at(Level::Slice) / inner,
                    ));
                }
                own.extend(kept);
                replaced.push((of_weights, own));
                Some([slices(&replaced)?, behind(&[parts, &given])?])
            }
        };
        let element_of_all = element(parts)?;
        let parts = match (choice.axis_of_parts(problem), parts.first()) {
            (Some(axis), Some(part)) => {
                let without = format!("1 # {}", choice.splits[axis].at(Level::Blocks));
                let (stream, spread) = (choice.stream(), choice.stream_spread);
                let of_stream = [
                    digits.positions(stream, spread),
                    vec![without.clone()],
                    digits.summed_of(stream, spread),
                ]
                .concat();
                let halves = [digits.digit(rows, spec::BEAT_LANES / 2, 2)?];
                let half = notation.list(&[digits.digit(rows, 1, spec::BEAT_LANES / 2)?])?;
                Some(Parts {
                    axis: notation.axis(&problem.axes[axis].name)?,
                    index: notation.list(std::slice::from_ref(part))?,
                    of_stream: notation.list(&of_stream)?,
                    of_sums: element(&[without])?,
                    split: [behind(&[parts, &given, &halves])?, half],
                    added: behind(&[&given, &halves])?,
                    time: behind(&[&given])?,
                })
            }
            _ => None,
        };
        let packet = notation.list(&[digits.digit(rows, 1, ROWS)?])?;
        let finish = Finish { element: element_of_all, fetch: notation.list(&time)?, packet, switch, parts };
        let result = match choice.gather {
            None => own.clone(),
            Some(Gather { count, .. }) => {
                let local = split.at(Level::Local) * count;
                let inner = digits.axes(of_weights).filter_map(|axis| {
                    let own = if axis == rows { local } else { choice.splits[axis].at(Level::Local) };
                    digits.digit(axis, 1, own)
                });
                notation.list(&gathered.iter().cloned().chain(inner).collect::<Vec<_>>())?
            }
        };
        Some((finish, result))
    }
}

impl Digits<'_> {
    /// The pass that puts an axis of the stream inside, and the elements behind it. `own`: those before it.
    pub(super) fn turned_sums(
        &self,
        notation: &Notation,
        axis: usize,
        own: Mapping,
    ) -> Option<(Finish, Mapping)> {
        let (problem, choice) = (self.problem, self.choice);
        let others = problem.tensors[2].iter().copied().filter(|other| *other != axis);
        let live = |axis: usize| {
            let (own, split) = (&problem.axes[axis], &choice.splits[axis]);
            match split.at(Level::Local) {
                // Rows that are padding are left out.
                local if local == split.padded => (own.size > 1).then(|| own.name.clone()),
                local => self.digit(axis, 1, local),
            }
        };
        let others: Vec<String> = others.filter_map(live).collect();
        let (local, lanes) = (choice.splits[axis].at(Level::Local), spec::BEAT_LANES);
        let outer: Vec<String> = self.digit(axis, lanes, local / lanes).into_iter().collect();
        let inside: Vec<String> = self.digit(axis, 1, local).into_iter().collect();
        let finish = Finish {
            element: own,
            fetch: notation.list(&[&others[..], &outer].concat())?,
            packet: notation.list(&[self.digit(axis, 1, lanes)?])?,
            switch: None,
            parts: None,
        };
        Some((finish, notation.list(&[others, inside].concat())?))
    }
}
