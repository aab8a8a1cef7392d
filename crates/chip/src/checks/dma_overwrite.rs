//! Rule against a move that writes over its source.
//!
//! Up to eight DMA engines read and write one move side by side, in no order that a program can rely on. A byte that
//! the move reads may have been written before. So the move must not write a byte that it reads, except with the same
//! byte.
//!
//! ```text
//!   read      0 ├─ A: 0 ─┼─ A: 1 ─┤ 128
//!   written        64 ├─ A: 0 ─┼─ A: 1 ─┤ 192      64..128: `A: 1` or already `A: 0`, when `A: 1` is read
//! ```

use super::bounds::Call;
use crate::memory::separate;
use core::ops::Range;
use furiosa_visa_rules::command::moves::{End, Moves, Side, Strip};
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{Dma, Fault, FaultKind, Memory, Place, Region, Start};
use furiosa_visa_rules::spec::{CLUSTERS, DM_BYTES, HBM_BYTES, MAX_CHIPS, SLICES, VRF_BYTES};

/// Bits of the set of written bytes that are kept at a time.
const WINDOW_BITS: u64 = 1 << 29;

/// Refuses moves between the same two tensors, running side by side, that write other bytes over bytes that they read.
/// `apart`: each tensor has separate bytes.
pub(crate) fn check(parts: &[Dma], apart: bool, call: Call) -> Result<(), Fault> {
    let Some(Dma { source, destination, .. }) = parts.first() else { return Ok(()) };
    if source.memory != destination.memory || apart && !separate::shares(source, destination) {
        return Ok(());
    }
    let moves: Vec<_> = parts.iter().map(|dma| (dma, Moves::new(&dma.transfer))).collect();
    let pairs = moves.iter().flat_map(|read| moves.iter().map(move |written| (read, written)));
    let first = pairs
        .filter(|(read, written)| !(core::ptr::eq(read.0, written.0) && stays(read.0)))
        .filter_map(|(read, written)| Shared::of(read, written).first_overwritten(read, written))
        .min();
    match first {
        Some((unit, byte)) => Err(fault((source, destination), (unit, byte), apart, call)),
        None => Ok(()),
    }
}

/// A move and its loops.
type Part<'a> = (&'a Dma, Moves<'a>);

/// Tells if every loop takes the same steps on both sides, from the same place: each element is written over itself.
fn stays(dma: &Dma) -> bool {
    let Dma { source, destination, transfer, .. } = dma;
    source.address == destination.address
        && transfer.source_start == transfer.destination_start
        && transfer.loops.iter().all(|transfer_loop| transfer_loop.source == transfer_loop.destination)
}

/// The units and bytes that both sides may use.
#[derive(Debug)]
struct Shared {
    units: Range<usize>,
    bytes: Range<u64>,
}

/// The units and bytes between the first and the last element of one side. Positions before the start are padding.
fn hull(moves: &Moves<'_>, side: Side, region: &Region, start: Start) -> Shared {
    let bits = region.footprint.element.bits();
    let last_unit = start.units.saturating_add_unsigned(moves.last_unit(side));
    let first = start.elements.max(0) as usize;
    let end = start.elements.saturating_add_unsigned(moves.hull(side)).max(0) as usize;
    let byte = |offset: usize| region.address.saturating_add(offset as u64);
    Shared {
        units: start.units.max(0) as usize..(last_unit + 1).max(0) as usize,
        bytes: byte(first * bits / 8)..byte((end * bits).div_ceil(8)),
    }
}

impl Shared {
    fn of((read, reads): &Part<'_>, (written, writes): &Part<'_>) -> Self {
        let source = &read.source;
        let from = hull(reads, Side::Source, source, read.transfer.source_start);
        let to = hull(writes, Side::Destination, &written.destination, written.transfer.destination_start);
        let (units, bytes) = match source.memory {
            Memory::Hbm => (MAX_CHIPS, HBM_BYTES),
            Memory::Dm | Memory::Vrf => (MAX_CHIPS * CLUSTERS * SLICES, DM_BYTES as u64),
        };
        Self {
            units: from.units.start.max(to.units.start)..from.units.end.min(to.units.end).min(units),
            bytes: from.bytes.start.max(to.bytes.start)..from.bytes.end.min(to.bytes.end).min(bytes),
        }
    }

    /// The first byte, unit by unit, that is read and overwritten by another byte.
    fn first_overwritten(&self, read: &Part<'_>, written: &Part<'_>) -> Option<(usize, u64)> {
        if self.units.is_empty() || self.bytes.is_empty() {
            return None;
        }
        let step = WINDOW_BITS / self.units.len() as u64;
        let starts =
            (0..(self.bytes.end - self.bytes.start).div_ceil(step)).map(|k| self.bytes.start + k * step);
        let windows = starts.map(|start| start..self.bytes.end.min(start.saturating_add(step)));
        windows.filter_map(|window| self.first_in(read, written, &window)).min()
    }

    /// The first such byte in `window`.
    fn first_in(&self, read: &Part<'_>, written: &Part<'_>, window: &Range<u64>) -> Option<(usize, u64)> {
        let Dma { source, destination, .. } = read.0;
        let bits = source.footprint.element.bits();
        let width = window.end - window.start;
        let mut kept = Bits::new(self.units.len() as u64 * width);
        // Bit of byte 0 of `window` in a unit.
        let row = |unit: usize| (unit - self.units.start) as u64 * width;
        let inside = |(unit, bytes): (usize, Range<u64>)| {
            let bytes = bytes.start.max(window.start)..bytes.end.min(window.end);
            let is_there = self.units.contains(&unit) && !bytes.is_empty();
            is_there.then(|| row(unit) + bytes.start - window.start..row(unit) + bytes.end - window.start)
        };
        for_each_run(&written.1, bits, |run| {
            if !run.stays(source, destination)
                && let Some(range) = inside(run.to.bytes(destination, run.len))
            {
                kept.insert(range);
            }
        });
        let mut found: Option<u64> = None;
        for_each_run(&read.1, bits, |run| {
            if let Some(range) = inside(run.from.bytes(source, run.len))
                && let Some(bit) = kept.first(range)
            {
                found = Some(found.map_or(bit, |found| found.min(bit)));
            }
        });
        found.map(|bit| (self.units.start + (bit / width) as usize, window.start + bit % width))
    }
}

/// A set of numbers below a limit.
#[derive(Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(limit: u64) -> Self {
        // Untouched zeroed pages take no memory.
        Self(vec![0; limit.div_ceil(64) as usize])
    }

    /// The words of a range, with its bits in each.
    fn words(range: Range<u64>) -> impl Iterator<Item = (usize, u64)> {
        (range.start / 64..range.end.div_ceil(64)).map(move |word| {
            let from = range.start.saturating_sub(word * 64);
            let past = (word * 64 + 64).saturating_sub(range.end);
            (word as usize, u64::MAX << from & u64::MAX >> past)
        })
    }

    fn insert(&mut self, range: Range<u64>) {
        Self::words(range).for_each(|(word, mask)| self.0[word] |= mask);
    }

    /// The smallest number of a range that is in the set.
    fn first(&self, range: Range<u64>) -> Option<u64> {
        Self::words(range).find_map(|(word, mask)| {
            let bits = self.0[word] & mask;
            (bits != 0).then(|| word as u64 * 64 + u64::from(bits.trailing_zeros()))
        })
    }
}

/// Place of a run on one side.
#[derive(Clone, Copy, Debug)]
struct Spot {
    unit: usize,
    /// The first element.
    position: usize,
}

impl Spot {
    fn bytes(self, region: &Region, len: usize) -> (usize, Range<u64>) {
        let bits = region.footprint.element.bits();
        let byte = |offset: usize| region.address.saturating_add(offset as u64);
        (self.unit, byte(self.position * bits / 8)..byte(((self.position + len) * bits).div_ceil(8)))
    }
}

/// Neighbouring elements on both sides.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: Spot,
    to: Spot,
    len: usize,
}

impl Run {
    /// Tells if each element is written to the place that it was read from.
    fn stays(&self, source: &Region, destination: &Region) -> bool {
        let bit = |region: &Region, position: usize| {
            u128::from(region.address) * 8 + position as u128 * region.footprint.element.bits() as u128
        };
        self.from.unit == self.to.unit
            && bit(source, self.from.position) == bit(destination, self.to.position)
    }
}

fn for_each_run(moves: &Moves<'_>, bits: usize, mut visit: impl FnMut(Run)) {
    moves.for_each_strip(bits, |Strip { source, destination, run, count }| {
        for k in 0..count {
            let spot = |end: End| Spot { unit: end.unit, position: end.position + k * end.stride };
            visit(Run { from: spot(source), to: spot(destination), len: run });
        }
    });
}

/// Fault for a byte that is read and overwritten.
fn fault(
    (source, destination): (&Region, &Region),
    (unit, byte): (usize, u64),
    apart: bool,
    call: Call,
) -> Fault {
    let at = match source.memory {
        Memory::Hbm => Coordinates { chip: unit, cluster: 0, slice: 0 },
        Memory::Dm | Memory::Vrf => Coordinates::of_slice(unit),
    };
    let element = |region: &Region| {
        let position = (byte.saturating_sub(region.address) * 8) as usize / region.footprint.element.bits();
        let coordinates = Place::Region(*region).in_part(at);
        let variables = |at: Coordinates| [at.chip, at.cluster, at.slice, position];
        let named = coordinates.and_then(|at| region.footprint.guard.element(&variables(at)));
        named.unwrap_or_else(|| format!("element {position}"))
    };
    let place = |region: &Region| Place::Region(*region).describe();
    let message = format!(
        "byte {byte} is read as {} of the source in {}, and written as {} of the destination in {}: the engines of one move \
         work side by side, so that it may be written before it is read",
        element(source),
        place(source),
        element(destination),
        place(destination),
    );
    let example = free_address(source, destination).unwrap_or_default();
    let help = format!(
        "write to bytes that the move does not read{example}; only a copy of each byte to its own place may go over its \
         source{}",
        separate::advice(apart)
    );
    let fault = Fault::new(FaultKind::Overwrite, call.operation, call.location, message, help);
    Place::Region(*source).blame(fault, at, byte..byte + 1)
}

/// Address at which the destination does not meet the source, as a clause.
fn free_address(source: &Region, destination: &Region) -> Option<String> {
    let (memory, bytes) = (source.memory, destination.footprint.bytes() as u64);
    let capacity = match memory {
        Memory::Hbm => HBM_BYTES,
        Memory::Dm => DM_BYTES as u64,
        Memory::Vrf => VRF_BYTES as u64,
    };
    let end = source.base().checked_add(source.footprint.bytes() as u64)?;
    if end.checked_add(bytes)? <= capacity {
        return Some(format!(", for example to {memory} address {end} or above"));
    }
    let below = source.base().checked_sub(bytes)?;
    Some(format!(", for example to {memory} address {below} or below"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::panic::Location;
    use furiosa_visa_rules::command::{FillId, Footprint};
    use furiosa_visa_rules::mapping::{Guard, GuardDigit, GuardSum};
    use furiosa_visa_rules::scalar::ElementType;
    use furiosa_visa_rules::testing::{moved_by_definition, transfer};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeSet;

    fn region(memory: Memory, address: u64, element: ElementType) -> Region {
        let guard = Guard::always(4);
        let footprint = Footprint { element, chips: 1, clusters: 2, slices: 256, elements: 4096, guard };
        Region::whole(memory, address, FillId::ANY, footprint)
    }

    /// The first byte that the check finds.
    fn found(dma: &Dma) -> Option<(usize, u64)> {
        let call = Call { operation: "DMA", location: Location::caller() };
        let fault = check(core::slice::from_ref(dma), false, call).err()?;
        assert_eq!(fault.kind, FaultKind::Overwrite);
        fault.extent.map(|extent| (extent.unit, extent.bytes.start))
    }

    /// The same byte, found element by element: the first one that is read and gets an element from another place.
    fn expected(dma: &Dma) -> Option<(usize, u64)> {
        let bits = dma.source.footprint.element.bits();
        let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
        let moved = |(unit, element): (usize, usize), start: Start| {
            (unit.strict_add_signed(start.units), element.strict_add_signed(start.elements))
        };
        for (to, from) in moved_by_definition(&dma.transfer) {
            let from = moved(from, dma.transfer.source_start);
            let to = moved(to, dma.transfer.destination_start);
            let first = |region: &Region, position: usize| region.address as usize * 8 + position * bits;
            let (a, b) = (first(&dma.source, from.1), first(&dma.destination, to.1));
            read.extend((a / 8..(a + bits).div_ceil(8)).map(|byte| (from.0, byte as u64)));
            if (from.0, a) != (to.0, b) {
                written.extend((b / 8..(b + bits).div_ceil(8)).map(|byte| (to.0, byte as u64)));
            }
        }
        read.intersection(&written).next().copied()
    }

    #[test]
    fn the_first_byte_is_found_as_the_definition_says() {
        let mut random = SmallRng::seed_from_u64(5);
        let (mut refused, mut accepted, mut guarded) = ([0; 2], [0; 2], 0);
        for case in 0..8000 {
            let mut loops: Vec<(usize, usize, usize, usize, usize)> = Vec::new();
            let mut inner = 1;
            for _ in 0..random.random_range(1..4usize) {
                let size = random.random_range(1..5);
                let mut side = || match random.random_range(0..8) {
                    0 => (1, 0),
                    1 => (0, 0),
                    2 => (0, random.random_range(1..9)),
                    _ => (0, inner),
                };
                let from = side();
                let other = side();
                let to = if random.random_range(0..2) == 0 { from } else { other };
                loops.push((size, from.0, from.1, to.0, to.1));
                inner *= size;
            }
            loops.reverse();
            let kinds = [ElementType::I4, ElementType::I8, ElementType::Bf16, ElementType::F32];
            let element = kinds[random.random_range(0..4)];
            let memory = [Memory::Hbm, Memory::Dm][random.random_range(0..2)];
            let mut side = || region(memory, random.random_range(0..3) * 8, element);
            let (source, destination) = (side(), side());
            // The model keeps the last write to a place, so each place is written once.
            let mut transfer = transfer(&loops);
            let total: usize = loops.iter().map(|&(size, ..)| size).product();
            if moved_by_definition(&transfer).len() != total {
                continue;
            }
            let moved = random.random_range(0..2);
            if moved == 1 {
                let mut start = || Start {
                    units: random.random_range(0..3i32) as isize / 2,
                    elements: random.random_range(0..9i32) as isize,
                };
                (transfer.source_start, transfer.destination_start) = (start(), start());
            }
            if random.random_range(0..2) == 0 {
                // Only the first iterations of one loop hold an element.
                let variable = random.random_range(0..loops.len());
                let limit = random.random_range(0..=loops[variable].0);
                transfer.guard.digits.push(GuardDigit {
                    variable,
                    base: 1,
                    extent: loops[variable].0,
                    weight: 1,
                });
                transfer.guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit });
                guarded += usize::from(moved_by_definition(&transfer).len() < total);
            }
            let dma = Dma { source, destination, transfer, pcie: false };
            let expected = expected(&dma);
            assert_eq!(found(&dma), expected, "case {case}: {dma:?}");
            (if expected.is_some() { &mut refused } else { &mut accepted })[moved] += 1;
        }
        let counts = [refused, accepted].concat();
        assert!(counts.iter().all(|&count| count > 300) && guarded > 500, "{counts:?}, {guarded} guarded");
    }

    /// The help names an address only where the destination fits, and does not name an option that is on.
    #[test]
    fn the_help_can_be_followed() {
        let help = |address: u64, elements: usize, apart: bool| {
            let mut tensor = region(Memory::Dm, address, ElementType::I8);
            tensor.footprint.elements = elements;
            let transfer = transfer(&[(2, 0, 0, 0, 1), (8, 0, 1, 0, 2)]);
            let dma = Dma { source: tensor, destination: tensor, transfer, pcie: false };
            let call = Call { operation: "DMA", location: Location::caller() };
            check(&[dma], apart, call).expect_err("byte 1 is read and written").to_string()
        };
        let text = help(128, 4096, false);
        assert!(text.contains("does not read, for example to DM address 4224 or above; only"), "{text}");
        assert!(text.contains("its source; `VISA_ADDRESSES=separate` shows"), "{text}");
        let end = DM_BYTES as u64 - 4096;
        let text = help(end, 4096, true);
        assert!(text.contains(&format!("for example to DM address {} or below", end - 4096)), "{text}");
        assert!(!text.contains("VISA_ADDRESSES"), "{text}");
        let text = help(0, DM_BYTES * 3 / 4, false);
        assert!(text.contains("that the move does not read; only a copy"), "{text}");
    }

    /// The set of written bytes is kept in parts. Bytes in a later part are found, too.
    #[test]
    fn tensors_larger_than_a_window() {
        let rows = (1 << 30) / 4096;
        // Every row goes one row down, or to the free half of the row after it.
        for (shift, expected) in [(4096, Some((0, 4096))), (4096 + 2048, None)] {
            let layout = transfer(&[(rows, 0, 4096, 0, 4096), (16, 0, 1, 0, 1)]);
            let (source, destination) =
                (region(Memory::Hbm, 0, ElementType::I8), region(Memory::Hbm, shift, ElementType::I8));
            assert_eq!(found(&Dma { source, destination, transfer: layout, pcie: false }), expected);
        }
        // Two rows that are far apart. The second one meets itself.
        let far = 40 << 30;
        let layout = transfer(&[(2, 0, far, 0, far - 32), (64, 0, 1, 0, 1)]);
        let (source, destination) =
            (region(Memory::Hbm, 0, ElementType::I8), region(Memory::Hbm, 64, ElementType::I8));
        let dma = Dma { source, destination, transfer: layout, pcie: false };
        assert_eq!(found(&dma), Some((0, far as u64 + 32)));
    }
}
