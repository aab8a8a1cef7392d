//! Products in columns: a packet has positions of the stream's innermost axis, which the contraction leaves apart.
//!
//! ```text
//!   kn,mk->mn   stream  m![K, N]        a packet is m![N % 32]: 32 columns
//!               weights m![M % 8], m![K]   each element of a row meets all columns of a packet
//!               sums    time m![K] goes; columns stay, and go inside, or rows do
//! ```
//!
//! The stream is read as it lies in HBM: nothing turns it.

use super::Path;
use super::digits::Digits;
use super::notation::{Mapping, Notation};
use crate::choice::{Columns, Level, Spread};
use crate::problem::Role;
use core::slice::from_ref;
use furiosa_visa_rules::command::AccumulationKind;
use furiosa_visa_rules::spec;

/// A stream whose packets are of its own innermost axis.
pub(super) struct InColumns<'a> {
    pub digits: &'a Digits<'a>,
    pub notation: &'a Notation,
    pub columns: Columns,
}

/// Products and their sums.
pub(super) struct Products {
    /// Time and packet of the products.
    pub align: [Mapping; 2],
    /// Columns that are left of a packet.
    pub columns: Mapping,
    /// The order in which sums leave.
    pub kind: AccumulationKind,
    /// Time of the sums.
    pub time: Vec<String>,
    /// Packet of the sums.
    pub packet: Mapping,
    /// Elements of the sums of a slice.
    pub result: Vec<String>,
}

impl InColumns<'_> {
    fn spread(&self) -> Option<Spread> {
        self.digits.choice.stream_spread
    }

    /// The stream's own axes.
    fn own(&self) -> Role {
        Role::Of(self.digits.choice.stream())
    }

    /// The columns of a packet, and with padding.
    fn packet(&self) -> Option<[String; 2]> {
        let Columns { axis, count, padded } = self.columns;
        let own = self.digits.digit(axis, 1, count)?;
        let with = if padded == count { own.clone() } else { format!("{own} # {padded}") };
        Some([own, with])
    }

    /// Digits of a tensor in a slice, in the order of its letters, and then the columns.
    fn element(&self) -> Vec<String> {
        let (digits, stream) = (self.digits, self.digits.choice.stream());
        let axes = digits.problem.tensors[stream].iter().copied();
        let others = axes.filter(|axis| *axis != self.columns.axis);
        let is_here = |axis: &usize| digits.problem.axes[*axis].role != Role::Batch;
        let ordered = others.filter(is_here).chain([self.columns.axis]);
        ordered.filter_map(|axis| digits.in_slice_of(stream, axis, self.spread())).collect()
    }

    /// Time of the fetch: the stream's own digits, and then those that the sum goes over.
    fn time(&self) -> [Vec<String>; 2] {
        let own = self.spread().filter(|spread| self.digits.problem.axes[spread.axis].role == self.own());
        let low = [(self.columns.axis, self.columns.count)];
        [
            self.digits.local(self.own(), own, &low, true),
            self.digits.local(Role::Summed, self.spread(), &[], true),
        ]
    }

    /// Digits that arrive by a switch.
    fn arrived(&self) -> Vec<String> {
        self.spread().and_then(|spread| self.digits.spread(spread)).into_iter().collect()
    }

    /// Way of the stream from DM to its flits. `slice`: where it is in DM.
    pub(super) fn path(&self, slice: Mapping) -> Option<Path> {
        let notation = self.notation;
        let flit = spec::FLIT_BYTES * 8 / self.digits.problem.element.bits();
        let [_, packet] = self.packet()?;
        let fetch = self.time().concat();
        let mut time = [fetch.clone(), self.arrived()].concat();
        let switch_time = if self.spread().is_some() { Some(notation.list(&time)?) } else { None };
        let collected = match self.columns.padded {
            padded if padded > flit && padded == self.columns.count => {
                let axis = self.columns.axis;
                time.extend(self.digits.digit(axis, flit, padded / flit));
                self.digits.digit(axis, 1, flit)?
            }
            padded if padded > flit => {
                time.push(format!("{packet} / {flit}"));
                format!("{packet} % {flit}")
            }
            padded if padded < flit => format!("{packet} # {flit}"),
            _ => packet.clone(),
        };
        Some(Path {
            slice,
            element: notation.list(&self.element())?,
            turn: None,
            windows: self.digits.windows(notation, self.digits.choice.stream())?,
            is_filled: false,
            fetch: [notation.list(&fetch)?, notation.list(&[packet])?],
            switch_time,
            collect: [notation.list(&time)?, notation.list(&[collected])?],
        })
    }

    /// The products with groups of rows of weights. `row`: the rows, if weights have an axis of their own, and `flit`: the rows in the
    /// lanes of a flit.
    pub(super) fn products(
        &self,
        groups: &[String],
        row: Option<&String>,
        flit: &Mapping,
    ) -> Option<Products> {
        let (digits, notation, problem) = (self.digits, self.notation, self.digits.problem);
        let Columns { axis, count, padded } = self.columns;
        let [columns, packet] = self.packet()?;
        let whole = spec::MAC_BYTES * 8 / problem.element.bits();
        let aligned = if padded == whole { packet.clone() } else { format!("{packet} # {whole}") };
        let [own, summed] = self.time();
        let arrived = self.arrived();
        let is_own = self.spread().is_some_and(|spread| problem.axes[spread.axis].role == self.own());
        let of_own = if is_own { arrived.clone() } else { Vec::new() };
        let align = [own.clone(), summed, arrived, groups.to_vec()].concat();
        let mut time = [own, of_own, groups.to_vec()].concat();

        // In the order of HBM, so that runs are long, but for what is in packets.
        let is_inside = problem.run(2).is_some_and(|(run, _)| run == axis);
        let of_weights = digits.axes(Role::Of(digits.choice.weights));
        let inside = if is_inside { Some(axis) } else { of_weights.last() };
        let others = problem.tensors[2].iter().copied().filter(|axis| Some(*axis) != inside);
        let local = |axis: usize| digits.digit(axis, 1, digits.choice.splits[axis].at(Level::Local));
        let result: Vec<String> = others.chain(inside).filter_map(local).collect();
        let lanes = spec::BEAT_LANES;
        let (kind, packet_of_sums) = if is_inside {
            time.extend(row.cloned());
            let packet = match padded <= lanes {
                true => format!("{columns} # {lanes}"),
                // No lane of a flit is padding.
                false if count % lanes > 0 => return None,
                false => {
                    time.extend(digits.digit(axis, lanes, count / lanes));
                    digits.digit(axis, 1, lanes)?
                }
            };
            (AccumulationKind::Sequential, packet)
        } else {
            time.push(columns);
            let rows = if row.is_some() { flit.text.clone() } else { format!("1 # {lanes}") };
            (AccumulationKind::Interleaved, rows)
        };
        Some(Products {
            align: [notation.list(&align)?, notation.list(&[aligned])?],
            columns: notation.list(from_ref(&packet))?,
            kind,
            time,
            packet: notation.list(&[packet_of_sums])?,
            result,
        })
    }
}
