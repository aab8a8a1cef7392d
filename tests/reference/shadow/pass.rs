//! One pass through the Tensor Unit.

use super::operations::FLIT;
use super::order::used;
use super::{Element, Kind, Memory, Outcome, Pass, Rule, Shadow, Sink};
use std::collections::{BTreeMap, BTreeSet};

fn position(base: isize, loops: &[(usize, isize)], number: usize) -> isize {
    let mut rest = number;
    let mut at = base;
    for &(size, stride) in loops.iter().rev() {
        at += (rest % size) as isize * stride;
        rest /= size;
    }
    at
}

impl Shadow {
    pub(super) fn pass(&mut self, pass: &Pass, waits: bool) -> Outcome {
        let Pass { from, time, packet, output, flits, .. } = pass;
        let mut broken = BTreeSet::new();
        let stored = from.kind;
        let converts = stored != *output;
        if converts && (stored, *output) != (Kind::I8, Kind::I32) || from.memory != Memory::Dm {
            broken.insert(Rule::Unsupported);
        }
        if !from.address.is_multiple_of(stored.bytes() as u64) {
            broken.insert(Rule::Misaligned);
        }
        let least = pass.base
            + pass.loops.iter().map(|&(size, stride)| (size as isize - 1) * stride.min(0)).sum::<isize>();
        if from.leaves_memory() || from.address as i128 + least as i128 * (stored.bytes() as i128) < 0 {
            broken.insert(Rule::Bounds);
        }
        self.reads_well(from, &mut broken);
        let fetched = |number: usize| position(pass.base, &pass.loops, number);
        let lanes = FLIT / output.bytes();
        let total = time * flits;
        let is_live = |t: usize, lane: usize| t < pass.steps && lane < pass.lanes;
        let filled = |t: usize, lane: usize| t % flits * lanes + lane < *packet;
        // What is written: time step, lane, bytes.
        let mut written: Vec<(usize, usize, Vec<u64>)> = Vec::new();
        let (target, live, width) = match &pass.sink {
            Sink::Commit { to, loops, window } => {
                if to.memory != Memory::Dm {
                    broken.insert(Rule::Unsupported);
                }
                if to.leaves_memory() {
                    broken.insert(Rule::Bounds);
                }
                let size = output.bytes() as i128;
                let at = |number: usize| to.address as i128 + position(0, loops, number) as i128 * size;
                if !to.address.is_multiple_of(8) || (0..total).any(|t| at(t * window) % 8 != 0) {
                    broken.insert(Rule::Misaligned);
                }
                let mut seen = BTreeSet::new();
                for (t, lane) in (0..total).flat_map(|t| (0..*window).map(move |lane| (t, lane))) {
                    if is_live(t, lane) {
                        let element = position(0, loops, t * window + lane);
                        if element < 0 || element as usize >= to.elements {
                            broken.insert(Rule::View);
                            continue;
                        }
                        if !seen.insert(element) {
                            broken.insert(Rule::Twice);
                        }
                        if !filled(t, lane) {
                            broken.insert(Rule::Uninitialised);
                        }
                        let first = to.address.saturating_add((element as usize * output.bytes()) as u64);
                        written.push((t, lane, (0..size as u64).map(|k| first.saturating_add(k)).collect()));
                    }
                }
                let some = (0..total).any(|t| (0..*window).any(|lane| is_live(t, lane)));
                let covers = to.clusters >= from.clusters && to.slices >= from.slices;
                if some && !covers {
                    broken.insert(Rule::View);
                }
                // A byte of the source, written before the last packet that needs it.
                let own = from.address as i128..from.address as i128 + from.bytes() as i128;
                let mut last: BTreeMap<i128, usize> = BTreeMap::new();
                for number in 0..time * packet {
                    let first = from.address as i128 + fetched(number) as i128 * stored.bytes() as i128;
                    for byte in (first..first + stored.bytes() as i128).filter(|byte| own.contains(byte)) {
                        last.insert(byte, number / packet);
                    }
                }
                let late =
                    |t: usize, byte: u64| last.get(&(byte as i128)).is_some_and(|&fetch| fetch > t / flits);
                let is_over =
                    |(t, _, bytes): &(usize, usize, Vec<u64>)| bytes.iter().any(|&byte| late(*t, byte));
                if from.memory == Memory::Dm && to.memory == Memory::Dm && written.iter().any(is_over) {
                    broken.insert(Rule::Overwrite);
                }
                (to.clone(), None, *window)
            }
            Sink::Trf { to } => {
                let Some((tensor, bytes)) = self.registers(to, &mut broken) else { return Err(broken) };
                let size = output.bytes();
                for (t, lane) in (0..total).flat_map(|t| (0..lanes).map(move |lane| (t, lane))) {
                    let element = t * lanes + lane;
                    if is_live(t, lane) {
                        match bytes.get(element * size..(element + 1) * size) {
                            Some(bytes) => written.push((t, lane, bytes.to_vec())),
                            None => _ = broken.insert(Rule::View),
                        }
                    }
                }
                (tensor, Some(bytes), lanes)
            }
            Sink::Vrf { to, moved } => {
                if to.memory != Memory::Vrf || output.bytes() != 4 {
                    broken.insert(Rule::Unsupported);
                }
                if to.leaves_memory() {
                    broken.insert(Rule::Bounds);
                }
                if !to.address.is_multiple_of(to.kind.bytes() as u64) {
                    broken.insert(Rule::Misaligned);
                }
                self.writes_well(to, moved, &mut broken);
                if (to.clusters < from.clusters || to.slices < from.slices)
                    && pass.steps > 0
                    && pass.lanes > 0
                {
                    broken.insert(Rule::View);
                }
                for ((_, number), (_, element)) in moved.pairs() {
                    let (t, lane) = (number / lanes, number % lanes);
                    if t < total && is_live(t, lane) {
                        let first = to.address.saturating_add(4 * element as u64);
                        written.push((t, lane, (0..4).map(|k| first.saturating_add(k)).collect()));
                    }
                }
                (to.clone(), None, lanes)
            }
        };
        if !broken.is_empty() && broken != BTreeSet::from([Rule::Uninitialised]) {
            return Err(broken);
        }
        // The stream of each slice.
        let mut stores = Vec::new();
        for unit in from.units() {
            let value = |t: usize, lane: usize| -> Element {
                let within = t % flits * lanes + lane;
                let number = t / flits * packet + within;
                let bytes =
                    (within < *packet).then(|| self.element(from, unit, fetched(number))).flatten()?;
                Some(if converts { i32::from(bytes[0] as i8).to_le_bytes().to_vec() } else { bytes })
            };
            let missing = |(t, lane)| is_live(t, lane) && value(t, lane).is_none();
            if converts && (0..total).flat_map(|t| (0..width).map(move |lane| (t, lane))).any(missing) {
                broken.insert(Rule::Uninitialised);
            }
            stores.extend(written.iter().map(|(t, lane, bytes)| (unit, bytes.clone(), value(*t, *lane))));
        }
        let mut to = used(&target, true);
        if let Some(bytes) = &live {
            to.bytes = bytes.iter().copied().collect();
            to.spans = bytes.iter().map(|&byte| byte..byte + 1).collect();
        }
        let refused = !broken.is_empty();
        if refused && !waits {
            // Also out of order: either may be said.
            let done = self.done.clone();
            if let Err(more) = self.in_order(usize::from(pass.sub), vec![used(from, false), to]) {
                broken.extend(more);
            }
            self.done = done;
            return Err(broken);
        }
        self.in_order(usize::from(pass.sub), vec![used(from, false), to])?;
        let bytes = live.unwrap_or_else(|| target.live_bytes());
        self.note_bytes(target.fill, target.memory, &bytes, &target.units());
        if refused {
            return Err(broken);
        }
        for (unit, bytes, value) in stores {
            self.store(target.memory, unit, &bytes, value.as_deref());
        }
        Ok(Vec::new())
    }
}
