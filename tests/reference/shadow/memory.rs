//! Bytes: what they hold, who wrote them last, and reads of what was overwritten.

use super::order::BARE;
use super::{Element, Memory, Move, Rule, Shadow, Spot, Tensor};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    pub(super) value: Option<u8>,
    /// The filling that wrote it last, and when.
    pub(super) owner: Option<(u64, usize)>,
}

impl Shadow {
    /// The bytes of an element, or of what lies where it would be.
    pub(super) fn element(&self, tensor: &Tensor, unit: usize, element: isize) -> Element {
        let size = tensor.kind.bytes();
        let first = tensor.address as i128 + element as i128 * size as i128;
        let bytes: Vec<u64> =
            (0..size).map(|k| u64::try_from(first + k as i128).unwrap_or(u64::MAX)).collect();
        self.load(tensor.memory, unit, &bytes)
    }

    pub(super) fn load(&self, memory: Memory, unit: usize, bytes: &[u64]) -> Element {
        bytes.iter().map(|&byte| self.cells.get(&(memory, unit, byte)).and_then(|cell| cell.value)).collect()
    }

    pub(super) fn put(&mut self, tensor: &Tensor, (unit, element): Spot, value: Option<&[u8]>) {
        let size = tensor.kind.bytes();
        let first = tensor.address.saturating_add((element * size) as u64);
        let bytes: Vec<u64> = (0..size as u64).map(|k| first + k).collect();
        self.store(tensor.memory, unit, &bytes, value);
    }

    pub(super) fn store(&mut self, memory: Memory, unit: usize, bytes: &[u64], value: Option<&[u8]>) {
        // Padding may stick out of a memory. There is nothing.
        let there = |byte: u64| memory == Memory::Trf || u128::from(byte) < memory.capacity();
        for (k, &byte) in bytes.iter().enumerate().filter(|(_, byte)| there(**byte)) {
            self.cells.entry((memory, unit, byte)).or_default().value = value.map(|value| value[k]);
        }
    }

    pub(super) fn array(&self, from: &Tensor, moved: &Move, elements: usize) -> Vec<Element> {
        let mut array = vec![None; elements];
        for ((unit, element), (_, at)) in moved.pairs() {
            array[at] = self.element(from, unit, element as isize);
        }
        array
    }

    /// The first write of a tensor: nobody has written its elements, whatever lay there. Tensors are numbered as they are first
    /// written.
    pub(super) fn begin(&mut self, tensor: &Tensor) {
        self.begin_bytes(tensor.fill, tensor.memory, &tensor.live_bytes(), &tensor.units());
    }

    pub(super) fn begin_bytes(&mut self, fill: u64, memory: Memory, bytes: &[u64], units: &[usize]) {
        if fill >= BARE || fill <= self.newest {
            return;
        }
        self.newest = fill;
        let bytes: BTreeSet<u64> = bytes.iter().copied().collect();
        let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return };
        // Of many bytes, few were ever written.
        for &unit in units {
            for (&(.., byte), cell) in self.cells.range_mut((memory, unit, first)..=(memory, unit, last)) {
                if bytes.contains(&byte) {
                    cell.value = None;
                }
            }
        }
    }

    /// A tensor was made, or written again.
    pub(super) fn note(&mut self, tensor: &Tensor) {
        self.note_bytes(tensor.fill, tensor.memory, &tensor.live_bytes(), &tensor.units());
    }

    pub(super) fn note_bytes(&mut self, fill: u64, memory: Memory, bytes: &[u64], units: &[usize]) {
        self.writes += 1;
        if fill != 0 && fill < BARE {
            self.first.entry(fill).or_insert(self.writes);
        }
        for &unit in units {
            for &byte in bytes {
                self.cells.entry((memory, unit, byte)).or_default().owner = Some((fill, self.writes));
            }
        }
    }

    pub(super) fn reads_well(&self, tensor: &Tensor, broken: &mut BTreeSet<Rule>) {
        if !tensor.leaves_memory() {
            self.stale(tensor.fill, tensor.memory, &tensor.live_bytes(), &tensor.units(), broken);
        }
    }

    pub(super) fn stale(
        &self,
        fill: u64,
        memory: Memory,
        bytes: &[u64],
        units: &[usize],
        broken: &mut BTreeSet<Rule>,
    ) {
        let Some(&first) = self.first.get(&fill) else { return };
        let lost = |unit: usize, byte: u64| {
            let owner = self.cells.get(&(memory, unit, byte)).and_then(|cell| cell.owner);
            owner.is_some_and(|(owner, when)| owner != fill && when > first)
        };
        if units.iter().any(|&unit| bytes.iter().any(|&byte| lost(unit, byte))) {
            broken.insert(Rule::Stale);
        }
    }

    pub(super) fn writes_well(&self, to: &Tensor, moved: &Move, broken: &mut BTreeSet<Rule>) {
        self.spots_well(to, moved.pairs().into_iter().map(|(_, spot)| spot), broken);
    }

    pub(super) fn spots_well(
        &self,
        to: &Tensor,
        spots: impl Iterator<Item = Spot>,
        broken: &mut BTreeSet<Rule>,
    ) {
        let units = to.units();
        let mut seen = BTreeSet::new();
        for spot in spots {
            if !units.contains(&spot.0) || spot.1 + to.before() >= to.elements {
                broken.insert(Rule::View);
            }
            if !seen.insert(spot) {
                broken.insert(Rule::Twice);
            }
        }
    }
}
