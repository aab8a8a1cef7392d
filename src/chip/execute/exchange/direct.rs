//! An exchange that does nothing but move packets: from the DM of their source to where they are committed.
//!
//! ```text
//!   DM of a slice    0 … │ what it sends │ …  cut  … │ what it gets │ …
//!                        all slices read it          one slice writes it
//! ```
//!
//! Every DM is cut at one address between the two, so that each slice is written while all are read.

use super::super::{Packets, Pass};
use super::{Exchange, Spots};
use crate::chip::memory::Unit;
use crate::chip::memory::place::Coordinates;
use core::ops::Range;

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// Where packets go from and to, the same in all slices.
struct Direct<'a> {
    exchange: &'a Exchange,
    from: &'a Packets,
    to: Packets,
    /// The bytes that packets go to, neighbours joined.
    written: Vec<Range<usize>>,
    /// The slices that packets go to.
    slices: Vec<bool>,
}

impl Pass<'_> {
    /// Moves packets to where they are committed, if nothing else is done to them. Whether it could.
    pub(in super::super) fn run_directly(&self, units: &mut [Unit]) -> bool {
        let Some(direct) = self.direct(units) else { return false };
        direct.run(&self.senders, units, self.sink.end());
        true
    }

    /// The ways of packets: all are written, as they were fetched, to bytes that nobody else reads or writes.
    fn direct(&self, units: &[Unit]) -> Option<Direct<'_>> {
        let (Some(exchange), Some(from), true) = (&self.exchange, &self.packets, self.copies()) else {
            return None;
        };
        let to = self.sink.packets(exchange.element, exchange.bytes)?;
        let is_apart = to.range.end <= from.range.start || from.range.end <= to.range.start;
        if to.starts.len() != exchange.steps || !is_apart || !self.sends_in_place(units) {
            return None;
        }
        let written = joined(&to, exchange.bytes)?;
        let gets = |(number, unit): (usize, &Unit)| {
            let at = Coordinates::of_slice(number);
            if !self.receivers[number] || !self.sink.takes(at)? {
                return Some(false);
            }
            let (source, _) = exchange.first_source(at)?;
            let complete = !exchange.any_missing(source, &self.senders) && to.range.end <= unit.dm.capacity();
            complete.then_some(true)
        };
        let slices = units.iter().enumerate().map(gets).collect::<Option<_>>()?;
        Some(Direct { exchange, from, to, written, slices })
    }
}

impl Direct<'_> {
    /// Moves all packets. `end`: bytes of DM before it are written sooner or later.
    fn run(&self, senders: &[bool], units: &mut [Unit], end: usize) {
        let Self { exchange, from, to, written, slices } = self;
        let sends_first = from.range.end <= to.range.start;
        let cut = if sends_first { to.range.start } else { from.range.start };
        let (mut sent, mut got) = (Vec::with_capacity(units.len()), Vec::with_capacity(units.len()));
        for (number, unit) in units.iter_mut().enumerate() {
            if slices[number] {
                unit.dm.grow(end.clamp(to.range.end, unit.dm.capacity()));
            }
            let bytes = unit.dm.parts_mut().0;
            let (low, high) = bytes.split_at_mut(cut.min(bytes.len()));
            let (own, gets) = if sends_first { (low, high) } else { (high, low) };
            sent.push(if senders[number] { &*own } else { &[] });
            got.push(slices[number].then_some(gets));
        }
        let behind = |packets: &Packets, cut: usize| -> Vec<u32> {
            packets.starts.iter().map(|&start| start - cut as u32).collect()
        };
        let (first, place) = if sends_first { (0, cut) } else { (cut, 0) };
        let (first, place) = (behind(from, first), behind(to, place));
        let from = Spots { starts: &first, is_even: from.is_even };
        let to = Spots { starts: &place, is_even: to.is_even };
        let gather = |(number, output): (usize, Option<&mut [u8]>)| {
            let source = exchange.first_source(Coordinates::of_slice(number));
            let (Some(output), Some(source)) = (output, source) else { return };
            exchange.for_each_run(source, |slice, packet, place| {
                exchange.copy((sent[slice], &from, packet), (output, &to, place));
            });
        };
        #[cfg(feature = "parallel")]
        got.into_par_iter().enumerate().with_min_len(super::super::LEAST_SLICES).for_each(gather);
        #[cfg(not(feature = "parallel"))]
        got.into_iter().enumerate().for_each(gather);
        for (unit, _) in units.iter_mut().zip(slices).filter(|(_, gets)| **gets) {
            let (_, initialised) = unit.dm.parts_mut();
            written.iter().for_each(|range| initialised.set(range.clone()));
        }
    }
}

/// The bytes of packets in order, neighbours joined. `None`: two packets have a byte in common.
fn joined(packets: &Packets, bytes: usize) -> Option<Vec<Range<usize>>> {
    if packets.is_even {
        return Some(vec![packets.range.clone()]);
    }
    let mut starts = packets.starts.clone();
    starts.sort_unstable();
    let mut all: Vec<Range<usize>> = Vec::new();
    for start in starts.into_iter().map(|start| start as usize) {
        match all.last_mut() {
            Some(last) if start < last.end => return None,
            Some(last) if start == last.end => last.end += bytes,
            _ => all.push(start..start + bytes),
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_with_a_common_byte_are_not_moved() {
        let of = |starts: &[u32]| joined(&Packets::of(starts.to_vec(), 32).expect("some packets"), 32);
        assert_eq!(of(&[64, 96, 128]), Some(vec![64..160]));
        assert_eq!(of(&[128, 0, 96, 32]), Some(vec![0..64, 96..160]));
        assert_eq!(of(&[128, 0, 97, 32]), None);
        assert_eq!(of(&[64, 64]), None);
    }
}
