//! A tensor in any of the memories: the bytes that it spans and the bytes that it needs.

use crate::command::{Fault, Memory, Part, Place, Region};
use crate::mapping::Guard;
use crate::mapping::guard::rows::{depends_on, split_units};
use crate::spec::{CLUSTERS, SLICES};
use core::ops::Range;

/// Bytes that are compared at a time.
const WINDOW_BYTES: usize = 16 << 20;

/// A unit by its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinates {
    /// The chip.
    pub chip: usize,
    /// The cluster of the chip.
    pub cluster: usize,
    /// The slice of the cluster.
    pub slice: usize,
}

impl Coordinates {
    /// The slice with this number.
    pub const fn of_slice(unit: usize) -> Self {
        let rest = unit % (CLUSTERS * SLICES);
        Self { chip: unit / (CLUSTERS * SLICES), cluster: rest / SLICES, slice: rest % SLICES }
    }

    /// The number of the slice.
    pub const fn slice_number(self) -> usize {
        (self.chip * CLUSTERS + self.cluster) * SLICES + self.slice
    }
}

impl Place {
    /// The memory and the addresses, for messages.
    pub fn describe(&self) -> String {
        match self {
            Place::Region(region) => {
                let (memory, bytes, tensor) = (region.memory, region.bytes(), region.tensor_bytes());
                match region.part == Part::WHOLE {
                    true => format!("{memory} {}..{}", bytes.start, bytes.end),
                    false => {
                        let units = region.units_in_words();
                        let (Range { start, end }, Range { start: first, end: last }) = (bytes, tensor);
                        format!("{memory} {start}..{end}{units}, a tile of the one in {first}..{last}")
                    }
                }
            }
            Place::Trf(region) => {
                format!("{} ({} rows of {} bytes)", region.address, region.rows, region.row_bytes())
            }
        }
    }

    /// Position in the tensor that holds a byte, as variables of the tensor's guard.
    fn position(&self, at: Coordinates, byte: u64) -> Option<Vec<usize>> {
        let element = |offset: u64, bits: usize| (offset * 8) as usize / bits;
        let at = self.in_part(at)?;
        let mut position = vec![at.chip, at.cluster, at.slice];
        match self {
            Place::Region(region) => {
                position.push(element(byte.checked_sub(region.address)?, region.footprint.element.bits()));
            }
            Place::Trf(region) => {
                for row in 0..region.rows {
                    let mut before = 0;
                    for piece in region.pieces(row, 0..region.row_bytes()) {
                        if piece.contains(&(byte as usize)) {
                            let offset = before + byte - piece.start as u64;
                            position.extend([row, element(offset, region.element.bits())]);
                            return Some(position);
                        }
                        before += piece.len() as u64;
                    }
                }
                return None;
            }
        }
        Some(position)
    }

    /// The fault, with the given bytes of the tensor as its place.
    pub fn blame(&self, fault: Fault, at: Coordinates, bytes: Range<u64>) -> Fault {
        let start = bytes.start;
        let fault = fault.at(self.memory(), self.unit(at), bytes);
        match self.position(at, start) {
            Some(position) => fault.of_element(self.guard(), &position),
            None => fault,
        }
    }

    /// The positions of the tensor that hold an element.
    pub fn guard(&self) -> &Guard {
        match self {
            Place::Region(region) => &region.footprint.guard,
            Place::Trf(region) => &region.guard,
        }
    }

    /// Numbers of chips, clusters and slices. A register file tensor may span all of them; its guard selects the used
    /// ones.
    pub fn extents(&self) -> Coordinates {
        match self {
            Place::Region(Region { footprint, .. }) => {
                Coordinates { chip: footprint.chips, cluster: footprint.clusters, slice: footprint.slices }
            }
            Place::Trf(_) => Coordinates { chip: crate::spec::MAX_CHIPS, cluster: CLUSTERS, slice: SLICES },
        }
    }

    /// The region's part of its tensor. A register file is written and read as a whole.
    pub fn part(&self) -> &Part {
        match self {
            Place::Region(region) => &region.part,
            Place::Trf(_) => &Part::WHOLE,
        }
    }

    /// Coordinates of a unit, counted from the start of the part. `None`: the unit lies before the part.
    pub fn in_part(&self, at: Coordinates) -> Option<Coordinates> {
        let [chip, cluster, slice] = self.part().units;
        Some(Coordinates {
            chip: at.chip.checked_sub(chip)?,
            cluster: at.cluster.checked_sub(cluster)?,
            slice: at.slice.checked_sub(slice)?,
        })
    }

    /// Tells if all positions of the tensor hold an element.
    pub fn is_dense(&self) -> bool {
        let part = self.part();
        self.guard().is_always() && part.offset == 0 && part.starts_in_first_unit()
    }

    /// Tells if the positions that hold an element differ between units.
    pub fn differs_by_unit(&self) -> bool {
        !self.part().starts_in_first_unit() || (0..3).any(|variable| depends_on(self.guard(), variable))
    }

    /// The bytes that the tensor spans in each unit, in order. Padding is included; a tile ends at its last element.
    pub fn spans(&self) -> Vec<Range<u64>> {
        match self {
            Place::Region(region) => core::iter::once(region.bytes()).collect(),
            Place::Trf(region) => (0..region.rows)
                .flat_map(|row| region.pieces(row, 0..region.row_bytes()))
                .map(|piece| piece.start as u64..piece.end as u64)
                .collect(),
        }
    }

    /// Number of a unit in faults.
    pub fn unit(&self, at: Coordinates) -> usize {
        match self {
            Place::Region(Region { memory: Memory::Hbm, .. }) => at.chip,
            Place::Region(_) | Place::Trf(_) => at.slice_number(),
        }
    }

    /// Calls `visit` with the bytes in `window` that live elements of the unit need, in order per row.
    pub fn live_bytes(&self, at: Coordinates, window: &Range<u64>, mut visit: impl FnMut(Range<u64>)) {
        let mut clipped = |bytes: Range<u64>| {
            let bytes = bytes.start.max(window.start)..bytes.end.min(window.end);
            if !bytes.is_empty() {
                visit(bytes);
            }
        };
        if self.is_dense() {
            self.spans().into_iter().for_each(clipped);
            return;
        }
        let Some(at) = self.in_part(at) else { return };
        match self {
            Place::Region(Region { address, footprint, part, .. }) => {
                let bits = footprint.element.bits();
                let position = |byte: u64| (byte.saturating_sub(*address) * 8) as usize / bits;
                let held = part.elements.unwrap_or(footprint.elements).min(footprint.elements);
                let last = (position(window.end) + 1).min(held);
                for element in position(window.start)..last {
                    if footprint.guard.holds(&[at.chip, at.cluster, at.slice, element]) {
                        let start = address + (element * bits / 8) as u64;
                        clipped(start..address + ((element + 1) * bits).div_ceil(8) as u64);
                    }
                }
            }
            Place::Trf(region) => {
                let bits = region.element.bits();
                for (row, element) in (0..region.rows)
                    .flat_map(|row| (0..region.row_elements).map(move |element| (row, element)))
                {
                    if region.guard.holds(&[at.chip, at.cluster, at.slice, row, element]) {
                        let bytes = element * bits / 8..((element + 1) * bits).div_ceil(8);
                        region.pieces(row, bytes).for_each(|b| clipped(b.start as u64..b.end as u64));
                    }
                }
            }
        }
    }
}

/// Bytes that live elements need, where all units that have elements have the same ones.
#[derive(Clone, Debug)]
pub struct UnitRuns {
    units: Guard,
    runs: Vec<Range<u64>>,
}

impl UnitRuns {
    /// The bytes of a unit, in order per row. Neighbouring elements are one run.
    pub fn of(&self, at: Coordinates) -> &[Range<u64>] {
        let variables = [at.chip, at.cluster, at.slice, 0, 0];
        if self.units.holds(&variables[..self.units.variables]) { &self.runs } else { &[] }
    }
}

impl Place {
    /// The bytes of live elements for all units at once. `None`: they differ between units.
    pub fn unit_runs(&self) -> Option<UnitRuns> {
        if !self.part().starts_in_first_unit() {
            return None;
        }
        let (units, rest) = split_units(self.guard());
        if (0..3).any(|variable| depends_on(&rest, variable)) {
            return None;
        }
        // The same place without the tests of units, so that any unit has all runs.
        let mut place = *self;
        match &mut place {
            Place::Region(region) => region.footprint.guard = rest,
            Place::Trf(region) => region.guard = rest,
        }
        let first = Coordinates { chip: 0, cluster: 0, slice: 0 };
        let mut runs: Vec<Range<u64>> = Vec::new();
        for span in self.spans() {
            place.live_bytes(first, &span, |bytes| match runs.last_mut() {
                Some(last) if last.end == bytes.start => last.end = bytes.end,
                _ => runs.push(bytes),
            });
        }
        Some(UnitRuns { units, runs })
    }
}

/// The bytes from the first to the last one of a tensor.
#[derive(Clone, Copy, Debug)]
pub struct Hull {
    /// The first byte.
    pub start: u64,
    /// The byte behind the last one.
    pub end: u64,
}

impl Hull {
    /// Hull of some spans.
    pub fn of(spans: &[Range<u64>]) -> Self {
        let none = Self { start: u64::MAX, end: 0 };
        spans
            .iter()
            .fold(none, |hull, span| Self { start: hull.start.min(span.start), end: hull.end.max(span.end) })
    }

    /// Tells if there are no bytes.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// Tells if two tensors span a byte in common.
pub fn spans_meet(a: &[Range<u64>], b: &[Range<u64>]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.start < b.end && b.start < a.end))
}

/// Tells if each range of `inner` lies in a range of `outer`.
pub fn spans_cover(outer: &[Range<u64>], inner: &[Range<u64>]) -> bool {
    inner.iter().all(|inner| outer.iter().any(|outer| outer.start <= inner.start && inner.end <= outer.end))
}

/// The first bytes that live elements of both tensors need, in one unit. Both tensors are in the same memory.
pub fn first_shared(a: &Place, b: &Place) -> Option<(Coordinates, Range<u64>)> {
    let hull = |place: &Place| {
        let spans = place.spans();
        let start = spans.iter().map(|span| span.start).min()?;
        Some(start..spans.iter().map(|span| span.end).max()?)
    };
    let (first, second) = (hull(a)?, hull(b)?);
    let shared = first.start.max(second.start)..first.end.min(second.end);
    let (m, n) = (a.extents(), b.extents());
    let by_unit = a.differs_by_unit() || b.differs_by_unit();
    let units = if by_unit { m.chip.min(n.chip) * CLUSTERS * SLICES } else { 1 };
    for at in (0..units).map(Coordinates::of_slice) {
        if at.cluster >= m.cluster.min(n.cluster) || at.slice >= m.slice.min(n.slice) {
            continue;
        }
        for start in shared.clone().step_by(WINDOW_BYTES) {
            let window = start..shared.end.min(start + WINDOW_BYTES as u64);
            let index = |byte: u64| (byte - window.start) as usize;
            let mut used = vec![false; index(window.end)];
            a.live_bytes(at, &window, |bytes| used[index(bytes.start)..index(bytes.end)].fill(true));
            let mut found: Option<Range<u64>> = None;
            b.live_bytes(at, &window, |bytes| {
                for byte in bytes.filter(|&byte| used[index(byte)]) {
                    match &mut found {
                        None => found = Some(byte..byte + 1),
                        Some(range) if range.end == byte => range.end += 1,
                        Some(_) => {}
                    }
                }
            });
            if let Some(bytes) = found {
                return Some((at, bytes));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{FillId, Footprint};
    use crate::mapping::{GuardDigit, GuardSum};
    use crate::scalar::ElementType;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    /// Adds a condition: digits of these variables add up to a number from `start` on, below `start + limit`.
    fn add(guard: &mut Guard, digits: &[(usize, usize, usize)], start: usize, limit: usize) {
        let first = guard.digits.len();
        for &(variable, base, extent) in digits {
            guard.digits.push(GuardDigit { variable, base, extent, weight: 1 });
        }
        guard.sums.push(GuardSum { first, len: digits.len(), start, limit });
    }

    #[test]
    fn runs_of_units_are_those_of_each_unit() {
        let mut random = SmallRng::seed_from_u64(11);
        let (mut alike, mut different) = (0, 0);
        for _ in 0..400 {
            let mut guard = Guard::always(4);
            for _ in 0..random.random_range(0..3) {
                // Cluster and slice, elements, or a mixture.
                let mut digit =
                    |variable: usize| (variable, 1 << random.random_range(0..3), random.random_range(1..7));
                let digits = [digit(1), digit(2), digit(3), digit(3)];
                let part = [0..2, 2..4, 2..3, 1..3][random.random_range(0..4)].clone();
                add(&mut guard, &digits[part], random.random_range(0..2), random.random_range(1..6));
            }
            let footprint = Footprint {
                element: ElementType::Bf16,
                chips: 1,
                clusters: 2,
                slices: 8,
                elements: 40,
                guard,
            };
            let place = Place::Region(Region::whole(Memory::Dm, 64, FillId(0), footprint));
            let Some(runs) = place.unit_runs() else {
                different += 1;
                continue;
            };
            alike += 1;
            for (cluster, slice) in (0..2).flat_map(|cluster| (0..8).map(move |slice| (cluster, slice))) {
                let at = Coordinates { chip: 0, cluster, slice };
                let mut expected = Vec::new();
                place
                    .spans()
                    .iter()
                    .for_each(|span| place.live_bytes(at, span, |bytes| expected.extend(bytes)));
                let found: Vec<u64> = runs.of(at).iter().cloned().flatten().collect();
                assert_eq!(found, expected, "{place:?} {at:?}");
            }
        }
        assert!(alike > 100 && different > 20, "{alike} {different}");
    }
}
