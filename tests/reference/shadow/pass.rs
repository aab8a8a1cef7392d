//! One pass through the Tensor Unit.

use super::operations::FLIT;
use super::order::used;
use super::registers::File;
use super::sinks::Stream;
use super::sums::{Cell, Number, Operands};
use super::{Element, Kind, Memory, Outcome, Pass, Rule, Shadow, Sink, Sums, UNITS};
use std::collections::BTreeSet;

pub(super) fn position(base: isize, loops: &[(usize, isize)], number: usize) -> isize {
    let mut rest = number;
    let mut at = base;
    for &(size, stride) in loops.iter().rev() {
        at += (rest % size) as isize * stride;
        rest /= size;
    }
    at
}

impl Pass {
    /// Whether fetch changes the type.
    fn converts(&self) -> bool {
        self.from.kind != self.output
    }

    /// What the sink gets.
    fn ends_as(&self) -> Stream {
        let kind = if self.sums.is_some() { Sums::output(self.output) } else { self.output };
        let total = match (&self.sums, &self.transpose) {
            (_, Some(own)) => own.iterations * own.out_rows,
            (Some(sums), None) => sums.time(),
            (None, None) => self.packets() * self.flits,
        };
        Stream { kind, total }
    }
}

impl Shadow {
    pub(super) fn pass(&mut self, pass: &Pass) -> Outcome {
        let mut broken = BTreeSet::new();
        self.fetched_well(pass, &mut broken);
        let mut file = None;
        if let Some(sums) = &pass.sums {
            if !sums.takes(pass.output) {
                broken.insert(Rule::Unsupported);
            }
            file = self.registers(&sums.weights, &mut broken);
            if let Some(file) = &file {
                self.registers_stale(file, &mut broken);
            }
        }
        let stream = pass.ends_as();
        let end = match &pass.sink {
            Sink::Commit { to, loops, window } => {
                Some(self.committed(pass, stream, (to, loops, *window), &mut broken))
            }
            Sink::Trf { to } => self.loaded(pass, stream, to, &mut broken),
            Sink::Vrf { to, moved } => Some(self.vector_loaded(pass, stream, (to, moved), &mut broken)),
        };
        let Some(end) = end else { return Err(broken) };
        // A load of the register file over weights of the same pass.
        if let (Some(file), Sink::Trf { .. }) = (&file, &pass.sink) {
            let own = file.used(false).spans;
            let meet =
                |a: &std::ops::Range<u64>| end.to.spans.iter().any(|b| a.start < b.end && b.start < a.end);
            if own.iter().any(meet) {
                broken.insert(Rule::Overwrite);
            }
        }
        if !broken.is_empty() && broken != BTreeSet::from([Rule::Uninitialised]) {
            return Err(broken);
        }
        // The stream of each slice.
        let mut stores = Vec::new();
        for unit in pass.ends_in() {
            let mut store = |value: &dyn Fn(usize, usize) -> Element| {
                stores.push((unit, end.padding.clone(), None));
                stores.extend(end.written.iter().map(|(t, lane, to)| (unit, to.clone(), value(*t, *lane))));
            };
            let streamed = |t: usize, lane: usize| {
                let (t, lane) = pass.before_transpose(t, lane)?;
                self.collected(pass, unit, t, lane)
            };
            if let (Some(sums), Some(file)) = (&pass.sums, &file) {
                let operands = self.operands(pass, (sums, file), unit);
                if sums.lack(pass.output, &operands) {
                    broken.insert(Rule::Uninitialised);
                } else if sums.sums_padding(pass.output, &operands) {
                    broken.insert(Rule::Padding);
                } else {
                    let sum = sums.run(pass.output, &operands);
                    store(&|t, lane| pass.before_transpose(t, lane).and_then(|(t, lane)| sum(t, lane)));
                }
            } else {
                let mut lanes = (0..stream.total).flat_map(|t| (0..end.width).map(move |lane| (t, lane)));
                let missing = |(t, lane)| pass.is_live(t, lane) && streamed(t, lane).is_none();
                if pass.converts() && lanes.any(missing) {
                    broken.insert(Rule::Uninitialised);
                }
                store(&streamed);
            }
        }
        let reads = file.iter().map(|file| file.used(false));
        let uses = [used(&pass.from, false)].into_iter().chain(reads).chain([end.to.clone()]).collect();
        if !broken.is_empty() {
            // Also out of order: either may be said.
            let done = self.done.clone();
            if let Err(more) = self.in_order(usize::from(pass.sub), uses) {
                broken.extend(more);
            }
            self.done = done;
            return Err(broken);
        }
        self.in_order(usize::from(pass.sub), uses)?;
        let units: Vec<usize> = end.to.units.iter().copied().collect();
        let begins = match &pass.sink {
            Sink::Commit { to, .. } | Sink::Vrf { to, .. } => (to.live_bytes(), to.units()),
            // It spans all slices.
            Sink::Trf { .. } => (end.live.clone(), (0..UNITS[1] * UNITS[2]).collect()),
        };
        self.note_bytes(end.to.fill, end.to.memory, &end.live, &units);
        if let Sink::Trf { to } = &pass.sink {
            self.loaded_as.extend(end.live.iter().map(|&byte| (byte, to.kind)));
        }
        self.begin_bytes(end.to.fill, end.to.memory, &begins.0, &begins.1);
        for (unit, bytes, value) in stores {
            self.store(end.to.memory, unit, &bytes, value.as_deref());
        }
        Ok(Vec::new())
    }

    /// The rules of the source.
    fn fetched_well(&self, pass: &Pass, broken: &mut BTreeSet<Rule>) {
        let (from, size) = (&pass.from, pass.from.kind.bytes());
        if pass.converts() && (from.kind, pass.output) != (Kind::I8, Kind::I32) || from.memory != Memory::Dm {
            broken.insert(Rule::Unsupported);
        }
        if !from.address.is_multiple_of(size as u64) {
            broken.insert(Rule::Misaligned);
        }
        let back = pass.loops.iter().map(|&(size, stride)| (size as isize - 1) * stride.min(0));
        let least = pass.base + back.sum::<isize>();
        if from.leaves_memory() || i128::from(from.address) + ((least * size as isize) as i128) < 0 {
            broken.insert(Rule::Bounds);
        }
        // Whatever is read, an element or not, lies in the memory.
        let end = |number| position(pass.base, &pass.loops, number) as i128 * size as i128 + size as i128;
        let is_behind = |number| i128::from(from.address) + end(number) > from.capacity() as i128;
        if from.memory == Memory::Dm && (0..pass.time * pass.packet).any(is_behind) {
            broken.insert(Rule::Bounds);
        }
        self.reads_well(from, broken);
    }

    /// The element in a lane of the collected stream, of a slice.
    fn collected(&self, pass: &Pass, unit: usize, t: usize, lane: usize) -> Element {
        let within = t % pass.flits * (FLIT / pass.output.bytes()) + lane;
        if within >= pass.packet {
            return None;
        }
        let (unit, packet) = pass.fetched_by(unit, t / pass.flits)?;
        let number = packet * pass.packet + within;
        let bytes = self.element(&pass.from, unit, position(pass.base, &pass.loops, number))?;
        Some(if pass.converts() { i32::from(bytes[0] as i8).to_le_bytes().to_vec() } else { bytes })
    }

    /// What a slice multiplies.
    fn operands(&self, pass: &Pass, (sums, file): (&Sums, &File), unit: usize) -> Operands {
        let kind = pass.output;
        let number = |element: Element| element.map(|bytes| Number::of(kind, &bytes));
        let lanes = (0..pass.packets() * pass.flits)
            .flat_map(|t| (0..FLIT / kind.bytes()).map(move |lane| (t, lane)));
        let stream = lanes.map(|(t, lane)| {
            let live = t < sums.live_flits && lane < sums.live_lanes;
            // What collect adds is zero.
            let added = t % pass.flits * (FLIT / kind.bytes()) + lane >= pass.packet;
            let value = number(self.collected(pass, unit, t, lane));
            Cell { live, value: if added && !live { Some(Number::zero(kind)) } else { value } }
        });
        let weight = |row: usize, element: usize| Cell {
            live: element < sums.weights.row_elements && sums.weights.is_live(element),
            value: number(self.register(file, unit, row, element)),
        };
        let row = |row| (0..sums.reach(kind)).map(|element| weight(row, element)).collect();
        Operands { stream: stream.collect(), weights: (0..sums.weights.rows).map(row).collect() }
    }
}
