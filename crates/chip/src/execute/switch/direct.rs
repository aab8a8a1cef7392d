//! A switch that only moves packets: from the DM of their source to the DM of their destination.
//!
//! The DM of every slice is cut in two, into sent and received bytes, so that each slice can be written while all are
//! read.

use super::super::Pass;
use super::super::packets::{Cut, Packets};
use super::super::threads::each;
use super::flits::{Flit, Receiver, TOGETHER};
use super::{Spots, SwitchPlan};
use crate::memory::Unit;
use core::ops::Range;
use furiosa_visa_rules::command::place::Coordinates;

/// Sources and destinations of packets, the same in all slices.
struct Direct<'a> {
    switch: &'a SwitchPlan,
    from: &'a Packets,
    to: Packets,
    cut: Cut,
    /// Ranges of bytes that packets go to, with neighbours joined.
    written: Vec<Range<usize>>,
    /// Per slice: true if packets go to it.
    slices: Vec<bool>,
}

impl Pass<'_> {
    /// Moves packets to their committed places, if the pass does nothing else. Returns false otherwise.
    pub(in super::super) fn run_directly(&self, units: &mut [Unit]) -> bool {
        let Some(direct) = self.direct(units) else { return false };
        direct.run(&self.senders, units, self.sink.end());
        true
    }

    /// The moves of packets. `None`: not all packets are written unchanged, or to bytes that are read or written
    /// otherwise.
    fn direct(&self, units: &[Unit]) -> Option<Direct<'_>> {
        let (Some(switch), Some(from), true) = (&self.switch, &self.packets, self.copies()) else {
            return None;
        };
        let to = self.sink.packets(switch.element, switch.bytes)?;
        let cut = Cut::between(&from.range, &to.range)?;
        if to.starts.len() != switch.steps || !self.sends_in_place(units) {
            return None;
        }
        let written = to.joined(switch.bytes)?;
        let gets = |(number, unit): (usize, &Unit)| {
            let at = Coordinates::of_slice(number);
            if !self.receivers[number] || !self.sink.takes(at)? {
                return Some(false);
            }
            let (source, _) = switch.first_source(at)?;
            let complete = !switch.any_missing(source, &self.senders) && to.range.end <= unit.dm.capacity();
            complete.then_some(true)
        };
        let slices = units.iter().enumerate().map(gets).collect::<Option<_>>()?;
        Some(Direct { switch, from, to, cut, written, slices })
    }
}

impl Direct<'_> {
    /// Moves all packets. `end`: end of the bytes of DM that this pass and later ones write.
    fn run(&self, senders: &[bool], units: &mut [Unit], end: usize) {
        let Self { switch, from, to, cut, written, slices } = self;
        let (mut sent, mut got) = (Vec::with_capacity(units.len()), Vec::with_capacity(units.len()));
        for (number, unit) in units.iter_mut().enumerate() {
            if slices[number] {
                unit.dm.grow(end.clamp(to.range.end, unit.dm.capacity()));
            }
            let (source, gets) = cut.sides(unit.dm.parts_mut().0);
            sent.push(if senders[number] { source } else { &[] });
            got.push(slices[number].then_some(gets));
        }
        let (first, place) = cut.starts();
        let (first, place) = (from.behind(first), to.behind(place));
        let from = Spots { starts: &first, is_even: from.is_even };
        let to = Spots { starts: &place, is_even: to.is_even };
        let flits: Vec<&[Flit]> = sent.iter().map(|bytes| from.flits(bytes)).collect();
        let takes_flits = switch.takes_flits(&from, &to);
        let mut together: Vec<_> = got.chunks_mut(TOGETHER).collect();
        each(&mut together, 1, |(), chunk, outputs| {
            let receivers = outputs.iter_mut().enumerate().filter_map(|(k, output)| {
                let source = switch.first_source(Coordinates::of_slice(chunk * TOGETHER + k))?;
                Some((source, output.as_deref_mut()?))
            });
            if takes_flits {
                let receivers =
                    receivers.map(|(source, bytes)| Receiver { source, output: to.flits_mut(bytes) });
                switch.copy_flits(&flits, &mut receivers.collect::<Vec<_>>());
            } else {
                receivers.for_each(|(source, output)| {
                    switch.for_each_run(source, |slice, packet, place| {
                        switch.copy((sent[slice], &from, packet), (output, &to, place));
                    });
                });
            }
        });
        for (unit, _) in units.iter_mut().zip(slices).filter(|(_, gets)| **gets) {
            let (_, initialised) = unit.dm.parts_mut();
            written.iter().for_each(|range| initialised.set(range.clone()));
        }
    }
}
