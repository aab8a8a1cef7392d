//! The mappings of all calls of a kernel, as text and as values.

use crate::choice::{Choice, Gather, Level, Spread, Sums};
use crate::problem::{Problem, Role};
use furiosa_visa_rules::mapping::{Expr, Ident};
use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
use furiosa_visa_rules::spec;
use std::cell::RefCell;
use std::collections::HashMap;

/// A mapping: what stands between the brackets of `m![…]`, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The text.
    pub text: String,
    /// The value.
    pub expr: &'static Expr,
}

impl core::fmt::Display for Mapping {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "m![{}]", self.text)
    }
}

/// Mappings of a problem. Each text is read once: its value lives as long as the program.
#[derive(Debug)]
pub struct Notation {
    axes: Axes,
    known: RefCell<HashMap<String, Option<&'static Expr>>>,
}

impl Notation {
    /// Mappings over the axes of a problem.
    pub fn new(problem: &Problem) -> Self {
        let axes: Vec<String> =
            problem.axes.iter().map(|axis| format!("{}={}", axis.name, axis.size)).collect();
        let axes = Axes::parse(&axes.join(",")).unwrap_or_default();
        Self { axes, known: RefCell::default() }
    }

    /// The axis with a name.
    fn axis(&self, name: &str) -> Option<Ident> {
        self.axes.as_slice().iter().map(|axis| axis.name).find(|axis| axis.as_str() == name)
    }

    /// A list of digits. `None`: no mapping has so many.
    fn list(&self, digits: &[String]) -> Option<Mapping> {
        let text = if digits.is_empty() { "1".to_string() } else { digits.join(", ") };
        let mut known = self.known.borrow_mut();
        if let Some(expr) = known.get(&text) {
            return Some(Mapping { text, expr: (*expr)? });
        }
        let expr = parse_mapping(&text, &self.axes).ok();
        known.insert(text.clone(), expr);
        Some(Mapping { text, expr: expr? })
    }

    /// A list of digits in a dimension with `size` positions.
    fn filled(&self, digits: &[String], used: usize, size: usize) -> Option<Mapping> {
        if used == size {
            return self.list(digits);
        }
        let padded = match digits {
            [] => format!("1 # {size}"),
            [one] => format!("{one} # {size}"),
            several => format!("[{}] # {size}", several.join(", ")),
        };
        self.list(&[padded])
    }
}

/// A counter of a kernel: the value is `step / inner % count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Steps per value.
    pub inner: usize,
    /// Number of values.
    pub count: usize,
}

impl Counter {
    /// The value at a step.
    pub fn at(&self, step: usize) -> usize {
        step / self.inner % self.count
    }
}

/// A tile of a tensor in HBM: the value of a counter in the place of an axis digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The digit.
    pub index: Mapping,
    /// What is left of the tensor.
    pub element: Mapping,
    /// The number of the tile.
    pub counter: Counter,
}

/// A tensor in HBM, and the tile of it that a step uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// All elements.
    pub element: Mapping,
    /// Tiles of tiles.
    pub tiles: Vec<Tile>,
}

/// How an operand comes from DM to a collect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Slice in DM.
    pub slice: Mapping,
    /// Element in DM.
    pub element: Mapping,
    /// Time and packet of the fetch.
    pub fetch: [Mapping; 2],
    /// Time behind the switch, if there is one.
    pub switch_time: Option<Mapping>,
    /// Time and packet of the collect.
    pub collect: [Mapping; 2],
}

/// The sum over slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduce {
    /// Slice of the sums.
    pub slice: Mapping,
    /// Time of the sums.
    pub time: Mapping,
}

/// Parts of sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The summed axis that has parts.
    pub axis: Ident,
    /// The digit that counts them.
    pub index: Mapping,
    /// The stream in DM, without that digit: what a step reads.
    pub of_stream: Mapping,
    /// Sums in DM, without that digit: what a step writes.
    pub of_sums: Mapping,
    /// Time and packet of halves of a flit.
    pub split: [Mapping; 2],
    /// Time of the sums, in halves of a flit.
    pub added: Mapping,
    /// Time of the sums.
    pub time: Mapping,
}

/// The pass behind the products, which adds parts of sums, and gathers what is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// Elements of the sums in DM, with all parts, as products leave them.
    pub element: Mapping,
    /// Time of the fetch.
    pub fetch: Mapping,
    /// Slice and time behind the switch, if slices gather.
    pub switch: Option<[Mapping; 2]>,
    /// Parts of sums, if there are several.
    pub parts: Option<Parts>,
}

/// All mappings of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Both operands and the result in HBM.
    pub stored: [Stored; 3],
    /// Clusters of all tensors in DM.
    pub cluster: Mapping,
    /// Slices of the products.
    pub slice: Mapping,
    /// The streamed operand.
    pub stream: Path,
    /// The operand in the register file.
    pub weights: Path,
    /// Row and element of the register file.
    pub file: [Mapping; 2],
    /// Time and packet of the products.
    pub align: [Mapping; 2],
    /// Time of the sums in a slice.
    pub accumulate: Mapping,
    /// The sum over slices, if they share a summed axis.
    pub reduce: Option<Reduce>,
    /// The pass behind the products, if there is one.
    pub finish: Option<Finish>,
    /// Packet of sums that are narrowed, if they are.
    pub cast: Option<Mapping>,
    /// Elements of the result in DM.
    pub result: Mapping,
}

impl Layout {
    /// Slices of the sums behind the products.
    pub fn sums_slice(&self) -> &Mapping {
        self.reduce.as_ref().map_or(&self.slice, |reduce| &reduce.slice)
    }

    /// Slices of what is stored.
    pub fn result_slice(&self) -> &Mapping {
        let switch = self.finish.as_ref().and_then(|finish| finish.switch.as_ref());
        switch.map_or(self.sums_slice(), |[slice, _]| slice)
    }

    /// Parts of sums, if there are several.
    pub fn parts(&self) -> Option<&Parts> {
        self.finish.as_ref()?.parts.as_ref()
    }
}

/// Digits of a problem under a choice.
struct Digits<'a> {
    problem: &'a Problem,
    choice: &'a Choice,
}

impl Digits<'_> {
    /// Axes with a role, outermost first.
    fn axes(&self, role: Role) -> impl Iterator<Item = usize> {
        let axes = &self.problem.axes;
        (0..axes.len()).filter(move |&axis| axes[axis].role == role)
    }

    /// `(axis / stride) % extent`. `None`: there is one position.
    fn digit(&self, axis: usize, stride: usize, extent: usize) -> Option<String> {
        let (name, size) = (&self.problem.axes[axis].name, self.problem.axes[axis].size);
        let padded = self.choice.splits[axis].padded;
        let base = if padded == size { name.clone() } else { format!("{name} # {padded}") };
        match (stride, extent) {
            (_, 1) => None,
            (1, _) if extent == padded => Some(base),
            (_, _) if stride * extent == padded => Some(format!("{base} / {stride}")),
            (1, _) => Some(format!("{base} % {extent}")),
            _ => Some(format!("{base} / {stride} % {extent}")),
        }
    }

    /// The digits at a level.
    fn level(&self, role: Role, level: Level) -> Vec<String> {
        self.axes(role)
            .filter_map(|axis| {
                let split = &self.choice.splits[axis];
                self.digit(axis, split.stride(level), split.at(level))
            })
            .collect()
    }

    /// The outermost local digit of an axis that is spread.
    fn spread(&self, spread: Spread) -> Option<String> {
        let local = self.choice.splits[spread.axis].at(Level::Local);
        self.digit(spread.axis, local / spread.count, spread.count)
    }

    /// The slices of a role, of which the innermost ones have parts of an operand. The others get copies.
    fn partly_spread(&self, copied: Role, spread: Spread) -> Option<Vec<String>> {
        let slices = self.choice.extent(self.problem, copied, Level::Slice);
        let mut found = Vec::new();
        if spread.count < slices {
            let last =
                self.axes(copied).filter(|&axis| self.choice.splits[axis].at(Level::Slice) > 1).last()?;
            for axis in self.axes(copied) {
                let split = &self.choice.splits[axis];
                let inner = if axis == last { spread.count } else { 1 };
                found.extend(self.digit(
                    axis,
                    split.stride(Level::Slice) * inner,
                    split.at(Level::Slice) / inner,
                ));
            }
        }
        found.push(self.spread(spread)?);
        Some(found)
    }

    /// Local digits of the axes with a role: without what is spread, and from `low` positions of the innermost axis on.
    /// The digit that slices share is left out if `shared` says so, otherwise it stands behind the rest of its axis.
    fn local(
        &self,
        role: Role,
        spread: Option<Spread>,
        lows: &[(usize, usize)],
        shared: bool,
    ) -> Vec<String> {
        let team = self.team();
        self.axes(role)
            .filter_map(|axis| {
                let mut extent = self.choice.splits[axis].at(Level::Local);
                if let Some(spread) = spread.filter(|spread| spread.axis == axis) {
                    extent /= spread.count;
                }
                let mut low = lows.iter().find(|(of, _)| *of == axis).map_or(1, |(_, low)| *low);
                if !shared && self.choice.sums == Sums::Shared(axis) {
                    low *= team;
                }
                self.digit(axis, low, extent / low)
            })
            .collect()
    }

    /// Number of slices that share a summed axis.
    fn team(&self) -> usize {
        self.choice.extent(self.problem, Role::Summed, Level::Slice)
    }

    /// The tiles of a tensor.
    fn stored(&self, notation: &Notation, tensor: usize, counters: &[(usize, Counter)]) -> Option<Stored> {
        let axes = &self.problem.tensors[tensor];
        let name = |axis: usize| self.problem.axes[axis].name.clone();
        let element = notation.list(&axes.iter().map(|&axis| name(axis)).collect::<Vec<_>>())?;
        let mut parts: Vec<Vec<String>> = axes.iter().map(|&axis| vec![name(axis)]).collect();
        let mut tiles = Vec::new();
        for &(axis, counter) in counters {
            let is_part = self.problem.axes[axis].role == Role::Summed;
            if is_part && tensor == self.choice.stream() {
                // A tile of the stream has all parts.
                continue;
            }
            let Some(place) = axes.iter().position(|own| *own == axis) else { continue };
            let split = &self.choice.splits[axis];
            let level = if split.at(Level::Loops) > 1 { Level::Loops } else { Level::Blocks };
            let (stride, count) = (split.stride(level), split.at(level));
            let outside = self.digit(axis, stride * count, split.padded / stride / count);
            let inside = self.digit(axis, 1, stride);
            parts[place] = outside.into_iter().chain([format!("1 # {count}")]).chain(inside).collect();
            let index = notation.list(&[self.digit(axis, stride, count)?])?;
            tiles.push(Tile { index, element: notation.list(&parts.concat())?, counter });
        }
        Some(Stored { element, tiles })
    }
}

/// Derives the mappings of a kernel. `None`: a choice that these kernels do not have.
pub fn layout(problem: &Problem, choice: &Choice, notation: &Notation) -> Option<Layout> {
    let digits = Digits { problem, choice };
    let (of_stream, of_weights) = (Role::Of(choice.stream()), Role::Of(choice.weights));
    let roles = match choice.weights_inside {
        true => [Role::Batch, of_stream, of_weights, Role::Summed],
        false => [Role::Batch, of_weights, of_stream, Role::Summed],
    };

    // Units.
    let clusters: Vec<String> = roles.iter().flat_map(|role| digits.level(*role, Level::Cluster)).collect();
    let used: usize = roles.iter().map(|role| choice.extent(problem, *role, Level::Cluster)).product();
    let cluster = notation.filled(&clusters, used, spec::CLUSTERS)?;
    let used: usize = roles.iter().map(|role| choice.extent(problem, *role, Level::Slice)).product();
    // The slices, with something else in the place of those of some roles.
    let slices = |replaced: &[(Role, Vec<String>)]| {
        let of = |role: &Role| match replaced.iter().find(|(other, _)| other == role) {
            Some((_, digits)) => digits.clone(),
            _ => digits.level(*role, Level::Slice),
        };
        notation.filled(&roles.iter().flat_map(of).collect::<Vec<_>>(), used, spec::SLICES)
    };
    let slice = slices(&[])?;

    // Packets of products: one flit or two of the innermost summed axis.
    let last = digits.axes(Role::Summed).last()?;
    let bits = problem.element.bits();
    let flit = spec::FLIT_BYTES * 8 / bits;
    let own = |spread: Option<Spread>| match spread {
        Some(spread) if spread.axis == last => choice.splits[last].at(Level::Local) / spread.count,
        _ => choice.splits[last].at(Level::Local),
    };
    let both = [own(choice.stream_spread), own(choice.weights_spread)];
    if both.iter().any(|elements| !elements.is_multiple_of(flit)) {
        return None;
    }
    let pair = if both.iter().all(|elements| elements.is_multiple_of(2 * flit)) { 2 * flit } else { flit };
    let packet = digits.digit(last, 1, pair)?;
    let packet = if pair == flit { format!("{packet} # {}", 2 * flit) } else { packet };

    // The parts of a sum: all of the stream is in DM, and weights of one part.
    let axis_of_parts = choice.axis_of_parts(problem);
    let parts: Vec<String> = axis_of_parts
        .and_then(|axis| {
            let split = &choice.splits[axis];
            digits.digit(axis, split.stride(Level::Blocks), split.at(Level::Blocks))
        })
        .into_iter()
        .collect();

    // An operand from DM to a collect. `ahead` are its own digits in time, behind which a spread digit arrives.
    let path = |spread: Option<Spread>, copied: Role, element: Vec<String>, ahead: &[String]| {
        let summed = |low: usize| digits.local(Role::Summed, spread, &[(last, low)], true);
        let arrived: Vec<String> = spread.and_then(|spread| digits.spread(spread)).into_iter().collect();
        let switched: Vec<String> = ahead.iter().chain(&arrived).cloned().collect();
        let flits: Vec<String> = switched.iter().cloned().chain(summed(flit)).collect();
        Some(Path {
            slice: match spread {
                Some(spread) => slices(&[(copied, digits.partly_spread(copied, spread)?)])?,
                None => slice.clone(),
            },
            element: notation.list(&element.into_iter().chain(summed(1)).collect::<Vec<_>>())?,
            fetch: [notation.list(ahead)?, notation.list(&summed(1))?],
            switch_time: if spread.is_some() { Some(notation.list(&switched)?) } else { None },
            collect: [notation.list(&flits)?, notation.list(&[digits.digit(last, 1, flit)?])?],
        })
    };

    // Rows of the register file: the innermost positions of the innermost axis of the weights.
    let rows = digits.axes(of_weights).last();
    let row = match rows {
        Some(axis) => notation.list(&[digits.digit(axis, 1, spec::BEAT_LANES)?])?,
        None => return None,
    };
    let lows: Vec<(usize, usize)> = rows.map(|axis| (axis, spec::BEAT_LANES)).into_iter().collect();

    let in_stream = choice.stream_spread.filter(|spread| problem.axes[spread.axis].role == of_stream);
    let in_weights = choice.weights_spread.filter(|spread| problem.axes[spread.axis].role == of_weights);
    let stream_time = digits.local(of_stream, in_stream, &[], true);
    let groups = digits.local(of_weights, in_weights, &lows, true);
    let in_dm = [stream_time.clone(), parts.clone()].concat();
    let stream = path(choice.stream_spread, of_weights, in_dm, &stream_time)?;
    let rows_and_groups: Vec<String> = [row.text.clone()].into_iter().chain(groups.clone()).collect();
    let weights = path(
        choice.weights_spread,
        of_stream,
        digits.local(of_weights, in_weights, &[], true),
        &rows_and_groups,
    )?;

    // What arrives by a switch comes behind the digits that were in time.
    let with = |list: Vec<String>, spread: Option<Spread>| -> Vec<String> {
        list.into_iter().chain(spread.and_then(|spread| digits.spread(spread))).collect()
    };
    let by_summed =
        |spread: Option<Spread>| spread.filter(|spread| problem.axes[spread.axis].role == Role::Summed);
    let all_groups = with(groups, in_weights);
    let file_summed = with(Vec::new(), by_summed(choice.weights_spread)).into_iter().chain(digits.local(
        Role::Summed,
        by_summed(choice.weights_spread),
        &[],
        true,
    ));
    let file = notation.list(&all_groups.iter().cloned().chain(file_summed).collect::<Vec<_>>())?;
    let pairs = with(Vec::new(), by_summed(choice.stream_spread)).into_iter().chain(digits.local(
        Role::Summed,
        by_summed(choice.stream_spread),
        &[(last, pair)],
        true,
    ));
    let stream_all = with(stream_time.clone(), in_stream);
    let align: Vec<String> = stream_all.iter().cloned().chain(pairs).chain(all_groups.clone()).collect();
    let accumulate: Vec<String> = stream_all.into_iter().chain(all_groups).collect();

    // Sums over slices.
    let team = digits.team();
    let mut replaced = Vec::new();
    let reduce = match choice.sums {
        Sums::Whole => None,
        sums => {
            let kept = match sums {
                Sums::Shared(axis) => {
                    let low = if problem.axes[axis].role == of_weights && rows == Some(axis) {
                        spec::BEAT_LANES
                    } else {
                        1
                    };
                    digits.digit(axis, low, team)?
                }
                _ => format!("1 # {team}"),
            };
            let time = with(digits.local(of_stream, in_stream, &[], false), in_stream)
                .into_iter()
                .chain(with(digits.local(of_weights, in_weights, &lows, false), in_weights));
            let time = notation.list(&time.collect::<Vec<_>>())?;
            replaced.push((Role::Summed, vec![kept]));
            Some(Reduce { slice: slices(&replaced)?, time })
        }
    };
    let lanes = spec::FLIT_BYTES * 8 / problem.output.bits();
    let cast = match problem.output == problem.sum() {
        true => None,
        false => Some(notation.list(&[format!("{} # {lanes}", row.text)])?),
    };
    let mut result = digits.local(of_stream, None, &[], false);
    match choice.sums {
        // The shared digit lies between groups and rows.
        Sums::Shared(axis) if rows == Some(axis) => {
            result.extend(digits.local(of_weights, None, &lows, false));
            result.push(row.text.clone());
        }
        _ => result.extend(digits.local(of_weights, None, &[], false)),
    }

    let own = notation.list(&result)?;
    let (finish, result) = if axis_of_parts.is_none() && choice.gather.is_none() {
        (None, own)
    } else {
        let rows = rows?;
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
            let low = if choice.sums == Sums::Shared(axis) { team } else { 1 };
            let local = choice.splits[axis].at(Level::Local) / other(axis);
            if other(axis) > 1 {
                time.extend(kept.clone());
            }
            let rest = digits.digit(axis, low, local / low);
            time.extend(rest.clone());
            gathered.extend(rest);
        }
        let groups = digits.local(of_weights, None, &lows, false);
        time.extend(groups.iter().chain(&parts).cloned());
        // Behind the switch: what was given comes last.
        let behind = |more: &[&[String]]| -> Option<Mapping> {
            let list = [&gathered, &groups].into_iter().map(Vec::as_slice).chain(more.iter().copied());
            notation.list(&list.collect::<Vec<_>>().concat())
        };
        let given: Vec<String> = given.into_iter().collect();
        let all_parts = parts.clone();
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
                Some([slices(&replaced)?, behind(&[&parts, &given])?])
            }
        };
        let parts = match (axis_of_parts, parts.first()) {
            (Some(axis), Some(part)) => {
                let without = format!("1 # {}", choice.splits[axis].at(Level::Blocks));
                let mut of_stream = [stream_time.clone(), vec![without.clone()]].concat();
                of_stream.extend(digits.local(Role::Summed, by_summed(choice.stream_spread), &[], true));
                let halves = [digits.digit(rows, spec::BEAT_LANES / 2, 2)?];
                let half = notation.list(&[digits.digit(rows, 1, spec::BEAT_LANES / 2)?])?;
                Some(Parts {
                    axis: notation.axis(&problem.axes[axis].name)?,
                    index: notation.list(&[part.clone()])?,
                    of_stream: notation.list(&of_stream)?,
                    of_sums: element(&[without])?,
                    split: [behind(&[&parts, &given, &halves])?, half],
                    added: behind(&[&given, &halves])?,
                    time: behind(&[&given])?,
                })
            }
            _ => None,
        };
        let finish =
            Finish { element: element(&all_parts)?, fetch: notation.list(&time)?, switch, parts };
        let result = match choice.gather {
            None => own,
            Some(Gather { count, .. }) => {
                let local = split.at(Level::Local) * count;
                let inner = digits.axes(of_weights).filter_map(|axis| {
                    let own = if axis == rows { local } else { choice.splits[axis].at(Level::Local) };
                    digits.digit(axis, 1, own)
                });
                notation.list(&gathered.iter().cloned().chain(inner).collect::<Vec<_>>())?
            }
        };
        (Some(finish), result)
    };

    // Steps, outermost first.
    let mut counters: Vec<(usize, Counter)> = Vec::new();
    for (role, level) in [
        (Role::Batch, Level::Loops),
        (of_stream, Level::Loops),
        (of_weights, Level::Blocks),
        (Role::Summed, Level::Blocks),
    ] {
        for axis in digits.axes(role) {
            let count = choice.splits[axis].at(level);
            if count > 1 {
                counters.push((axis, Counter { inner: 1, count }));
            }
        }
    }
    let mut inner = 1;
    for (_, counter) in counters.iter_mut().rev() {
        counter.inner = inner;
        inner *= counter.count;
    }
    let stored = |tensor| digits.stored(notation, tensor, &counters);
    Some(Layout {
        stored: [stored(0)?, stored(1)?, stored(2)?],
        cluster,
        slice,
        stream,
        weights,
        align: [notation.list(&align)?, notation.list(&[packet])?],
        accumulate: notation.list(&accumulate)?,
        file: [row, file],
        reduce,
        finish,
        cast,
        result,
    })
}
