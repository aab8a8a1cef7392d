//! Where a stream ends: what is written from which lane, and the rules of the tensor that is written.

use super::operations::FLIT;
use super::order::{Used, used};
use super::pass::position;
use super::{Kind, Memory, Move, Pass, Registers, Rule, Shadow, Tensor};
use std::collections::{BTreeMap, BTreeSet};

/// What arrives at the end of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) kind: Kind,
    /// Time steps.
    pub(super) total: usize,
}

impl Stream {
    fn lanes(&self) -> usize {
        FLIT / self.kind.bytes()
    }
}

/// A lane of a time step, and the bytes that its element goes to in each slice.
pub(super) type Written = (usize, usize, Vec<u64>);

/// What is written.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) written: Vec<Written>,
    /// Bytes that are anything, but where an element is written.
    pub(super) padding: Vec<u64>,
    /// Lanes that are looked at.
    pub(super) width: usize,
    pub(super) to: Used,
    /// The bytes of live elements, in order.
    pub(super) live: Vec<u64>,
}

/// The bytes of the packets of a commit, as the tensor tells them, and the elements up to the last one: all of a tensor that they
/// make up; of others, packets that hold an element of it.
fn packets(to: &Tensor, total: usize, loops: &[(usize, isize)], window: usize) -> (Vec<u64>, usize) {
    let size = to.kind.bytes() as u64;
    let byte = |element: usize, k: u64| to.address.saturating_add(element as u64 * size + k);
    if to.live == to.period && to.tile.is_none() {
        return (to.live_bytes(), to.held());
    }
    if to.tile.is_none() && total * window == to.elements {
        return ((0..to.elements).flat_map(|e| (0..size).map(move |k| byte(e, k))).collect(), to.elements);
    }
    // Packets start at multiples of this.
    let (mut cell, mut inner) = (window, 1);
    for &(count, stride) in loops.iter().rev() {
        let outer = inner * count;
        if outer > window && count > 1 {
            cell = gcd(cell, stride.unsigned_abs() * (window / inner).max(1));
        }
        inner = outer;
    }
    let cell = cell.max(1);
    // A tile has no packets behind the end of its tensor.
    let held = to.held().next_multiple_of(cell).min(to.elements.saturating_sub(to.before()));
    let in_packet =
        |element: usize| (element / cell * cell..(element / cell + 1) * cell).any(|e| to.is_live(e));
    let written = (0..to.elements).filter(|&element| element < held && in_packet(element));
    (written.flat_map(|e| (0..size).map(move |k| byte(e, k))).collect(), held)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Pass {
    /// Whether a lane of what the sink gets holds an element.
    pub(super) fn is_live(&self, time: usize, lane: usize) -> bool {
        time < self.steps && lane < self.lanes
    }

    /// Whether its slices are those in which the stream ends, or more.
    fn covered_by(&self, to: &Tensor) -> bool {
        let own = self.exchange.as_ref().map(|own| (own.clusters, own.slices));
        let (clusters, slices) = own.unwrap_or((self.from.clusters, self.from.slices));
        to.clusters >= clusters && to.slices >= slices
    }

    /// For each byte of the source, the last packet that needs it.
    fn last_packets(&self) -> BTreeMap<i128, usize> {
        let (from, size) = (&self.from, self.from.kind.bytes() as i128);
        let own = i128::from(from.address)..i128::from(from.address) + from.span() as i128;
        let mut last = BTreeMap::new();
        for number in 0..self.time * self.packet {
            let first = i128::from(from.address) + position(self.base, &self.loops, number) as i128 * size;
            for byte in (first..first + size).filter(|byte| own.contains(byte)) {
                last.insert(byte, number / self.packet);
            }
        }
        last
    }
}

impl Shadow {
    pub(super) fn committed(
        &self,
        pass: &Pass,
        stream: Stream,
        (to, loops, window): (&Tensor, &[(usize, isize)], usize),
        broken: &mut BTreeSet<Rule>,
    ) -> End {
        if to.memory != Memory::Dm {
            broken.insert(Rule::Unsupported);
        }
        if to.leaves_memory() {
            broken.insert(Rule::Bounds);
        }
        let size = stream.kind.bytes();
        let at =
            |number: usize| i128::from(to.address) + (position(0, loops, number) * size as isize) as i128;
        if !to.address.is_multiple_of(8) || (0..stream.total).any(|t| at(t * window) % 8 != 0) {
            broken.insert(Rule::Misaligned);
        }
        let fetched = |(t, lane)| t % pass.flits * stream.lanes() + lane < pass.packet;
        let filled = |t: usize, lane: usize| {
            pass.before_transpose(t, lane).is_some_and(|at| pass.sums.is_some() || fetched(at))
        };
        if pass.transpose.is_some() && pass.sub {
            broken.insert(Rule::Unsupported);
        }
        // A packet is written with its padding.
        let is_written = |t: usize| (0..window).any(|lane| pass.is_live(t, lane));
        // Where the lanes of a packet go: its padding beside its first element.
        let places = |t: usize| -> Vec<isize> {
            let own = |lane: usize| position(0, loops, t * window + lane);
            let first = (0..window).find(|&lane| pass.is_live(t, lane));
            let place = |lane: usize| match first {
                Some(first) if !pass.is_live(t, lane) => own(first) + lane as isize - first as isize,
                _ => own(lane),
            };
            (0..window).map(place).collect()
        };
        let (mut seen, mut written) = (BTreeMap::new(), Vec::new());
        let all = (0..stream.total).flat_map(|t| (0..window).map(move |lane| (t, lane)));
        for (t, lane) in all.filter(|(t, _)| is_written(*t)) {
            let element = places(t)[lane];
            if element < 0 || element as usize + to.before() >= to.elements {
                broken.insert(Rule::View);
                continue;
            }
            let is_live = pass.is_live(t, lane);
            // An element over padding stays.
            if seen.insert(element, is_live) == Some(true) {
                broken.insert(Rule::Twice);
                seen.insert(element, true);
            }
            if is_live {
                if !filled(t, lane) {
                    broken.insert(Rule::Uninitialised);
                }
                let first = to.address.saturating_add((element as usize * size) as u64);
                written.push((t, lane, (0..size as u64).map(|k| first.saturating_add(k)).collect()));
            }
        }
        if (0..stream.total).any(|t| (0..window).any(|lane| pass.is_live(t, lane))) && !pass.covered_by(to) {
            broken.insert(Rule::View);
        }
        // A byte of the source, written before the last packet that needs it.
        let last = pass.last_packets();
        let fetched: Vec<usize> = (0..stream.total).map(|t| pass.fetched_before(t)).collect();
        let is_over = |(t, _, bytes): &Written| {
            let late = |byte: &u64| last.get(&i128::from(*byte)).is_some_and(|&fetch| fetch >= fetched[*t]);
            bytes.iter().any(late)
        };
        let bytes_of = |element: isize| {
            let first = to.address.saturating_add((element.max(0) as usize * size) as u64);
            (0..size as u64).map(move |k| first.saturating_add(k))
        };
        let needed: BTreeSet<u64> = pass.from.live_bytes().into_iter().collect();
        // A step of padding is written, too, but between the elements of a tile. Of one that leaves the tensor nobody knows where.
        let pads_over = (0..stream.total).any(|t| {
            let places = places(t);
            let inside = |place: &isize| (0..to.elements as isize).contains(place);
            let pads = is_written(t) || to.tile.is_none() && places.iter().all(inside);
            let late = |byte: &u64| last.get(&i128::from(*byte)).is_some_and(|&fetch| fetch >= fetched[t]);
            let mut padding = (0..window).filter(|&lane| pads && !pass.is_live(t, lane));
            padding.any(|lane| bytes_of(places[lane]).any(|byte| late(&byte) && needed.contains(&byte)))
        });
        if (pass.from.memory, to.memory) == (Memory::Dm, Memory::Dm)
            && (written.iter().any(is_over) || pads_over)
        {
            broken.insert(Rule::Overwrite);
        }
        let (bytes, held) = packets(to, stream.total, loops, window);
        if bytes.iter().any(|&byte| u128::from(byte) >= to.capacity()) {
            broken.insert(Rule::Bounds);
        }
        // A tensor that packets make up: its padding is anything. Of others, nobody knows.
        let all_live = (0..stream.total).all(|t| (0..window).all(|lane| pass.is_live(t, lane)));
        let makes_up = to.tile.is_none() && stream.total * window == to.elements && !all_live;
        let elements = if makes_up { to.elements } else { 0 };
        let padding = (0..elements).flat_map(|element| bytes_of(element as isize)).collect();
        let mut used = used(to, true);
        let end = to.address.saturating_add((held * size) as u64);
        used.bytes = bytes.iter().copied().collect();
        used.spans = std::iter::once(to.address..end).collect();
        End { written, padding, width: window, to: used, live: bytes }
    }

    pub(super) fn loaded(
        &self,
        pass: &Pass,
        stream: Stream,
        to: &Registers,
        broken: &mut BTreeSet<Rule>,
    ) -> Option<End> {
        let file = self.registers(to, broken)?;
        let (size, lanes) = (stream.kind.bytes(), stream.lanes());
        let mut written = Vec::new();
        for (t, lane) in (0..stream.total).flat_map(|t| (0..lanes).map(move |lane| (t, lane))) {
            if pass.is_live(t, lane) {
                let element = t * lanes + lane;
                match file.bytes.get(element * size..(element + 1) * size) {
                    Some(bytes) => written.push((t, lane, bytes.to_vec())),
                    None => _ = broken.insert(Rule::View),
                }
            }
        }
        Some(End { written, padding: Vec::new(), width: lanes, to: file.used(true), live: file.live })
    }

    pub(super) fn vector_loaded(
        &self,
        pass: &Pass,
        stream: Stream,
        (to, moved): (&Tensor, &Move),
        broken: &mut BTreeSet<Rule>,
    ) -> End {
        if to.memory != Memory::Vrf || stream.kind.bytes() != 4 {
            broken.insert(Rule::Unsupported);
        }
        if to.leaves_memory() {
            broken.insert(Rule::Bounds);
        }
        if !to.address.is_multiple_of(to.kind.bytes() as u64) {
            broken.insert(Rule::Misaligned);
        }
        self.writes_well(to, moved, broken);
        if pass.steps > 0 && pass.lanes > 0 && !pass.covered_by(to) {
            broken.insert(Rule::View);
        }
        let (mut written, lanes) = (Vec::new(), stream.lanes());
        for ((_, number), (_, element)) in moved.pairs() {
            let (t, lane) = (number / lanes, number % lanes);
            if t < stream.total && pass.is_live(t, lane) {
                let first = to.address.saturating_add(4 * element as u64);
                written.push((t, lane, (0..4).map(|k| first.saturating_add(k)).collect()));
            }
        }
        End { written, padding: Vec::new(), width: lanes, to: used(to, true), live: to.live_bytes() }
    }
}
