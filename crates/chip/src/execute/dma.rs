//! DMA transfers between and inside HBM and DM, and copies between slices, clusters and chips.
//!
//! With the feature `parallel`, several threads share large moves between HBM and DM. Each thread writes to separate
//! memory: slices of DM, or pages of HBM. The result does not depend on the thread that moves an element.

use super::threads::{each, threads};
use crate::memory::copy::{Elements, move_repeated, move_runs};
use crate::memory::parts::{PAGE_BYTES, Pages, Slices};
use crate::memory::patch::PatchBuffers;
use crate::memory::row::Row;
use crate::memory::runs::{Runs, all_initialised, set_initialised};
use crate::memory::{Hbm, Space, SpaceMut, Unit, forget_elements};
use core::ops::Range;
use furiosa_visa_rules::command::moves::{End, Moves, Side, Strip, Strips};
use furiosa_visa_rules::command::place::spans_meet;
use furiosa_visa_rules::command::{Address, Dma, Memory, Place, UnitCopy};

/// The runs of a strip in memory.
pub(super) trait StripRuns {
    /// The runs at their source tensor.
    fn from(&self, address: Address) -> Runs;

    /// The runs at their destination tensor.
    fn to(&self, address: Address) -> Runs;
}

impl StripRuns for Strip {
    fn from(&self, address: Address) -> Runs {
        runs(self, self.source, address)
    }

    fn to(&self, address: Address) -> Runs {
        runs(self, self.destination, address)
    }
}

fn runs(strip: &Strip, End { unit, position, stride }: End, address: Address) -> Runs {
    Runs { unit, address, position, stride, run: strip.run, count: strip.count }
}

/// Moves the elements. Everything has been checked. `begins`: the destination is new, and elements that the move leaves
/// out become uninitialised.
pub(crate) fn run(dma: &Dma, begins: bool, hbm: &mut Vec<Hbm>, units: &mut Vec<Unit>) {
    match (dma.source.memory, dma.destination.memory) {
        (Memory::Hbm, Memory::Dm) => {
            if begins {
                forget_elements(units, &dma.destination);
            }
            let known = Known::new(dma, hbm);
            known.to_slices(dma, hbm, units, known.threads());
        }
        (Memory::Dm, Memory::Hbm) => {
            if begins {
                forget_elements(hbm, &dma.destination);
            }
            let known = Known::new(dma, units);
            known.to_hbm(dma, units, hbm, known.threads());
        }
        (Memory::Hbm, Memory::Hbm) => all_inside(core::slice::from_ref(dma), begins, hbm),
        (Memory::Dm, Memory::Dm) => all_inside(core::slice::from_ref(dma), begins, units),
        (Memory::Vrf, _) | (_, Memory::Vrf) => unreachable!("the rules refuse it"),
    }
}

/// Copies the elements of all parts. Everything has been checked. `begins` is used as in [`run`].
pub(crate) fn run_unit_copy(copy: &UnitCopy, begins: bool, hbm: &mut Vec<Hbm>, units: &mut Vec<Unit>) {
    let parts: Vec<Dma> = copy.parts().collect();
    match copy.source.memory {
        Memory::Hbm => all_inside(&parts, begins, hbm),
        Memory::Dm => all_inside(&parts, begins, units),
        Memory::Vrf => unreachable!("the rules refuse it"),
    }
}

/// Moves elements inside one memory, in parts from one tensor to another. If the tensors overlap, all parts are read
/// before anything is written.
fn all_inside(parts: &[Dma], begins: bool, memory: &mut impl SpaceMut) {
    let Some(Dma { source, destination, .. }) = parts.first() else { return };
    if !spans_meet(&Place::Region(*source).spans(), &Place::Region(*destination).spans()) {
        if begins {
            forget_elements(memory, destination);
        }
        return parts.iter().for_each(|part| inside(part, memory));
    }
    let element = source.footprint.element;
    let known: Vec<Known<'_>> = parts.iter().map(|part| Known::new(part, memory)).collect();
    let mut row = Row::new(element);
    for Known { moves, bits, initialised, .. } in &known {
        moves.for_each_strip(*bits, |strip| {
            row.read_runs(memory, strip.from(source.address), *initialised);
        });
    }
    if begins {
        forget_elements(memory, destination);
    }
    let (mut first, end) = (0, destination.end());
    for (facts, part) in known.iter().zip(parts) {
        facts.moves.for_each_strip(facts.bits, |strip| {
            row.write_runs(first, memory, strip.to(destination.address), end, facts.dense);
            first += strip.run * strip.count;
        });
        facts.mark(part, memory);
    }
}

/// Facts about a move before it starts.
#[derive(Debug)]
struct Known<'a> {
    moves: Moves<'a>,
    /// Bits of an element.
    bits: usize,
    /// True if every element of the source is written.
    initialised: bool,
    /// True if the destination has no gaps, so that it can be marked as initialised all at once.
    dense: bool,
}

impl<'a> Known<'a> {
    fn new(dma: &'a Dma, space: &impl Space) -> Self {
        let moves = Moves::new(&dma.transfer);
        let bits = dma.source.footprint.element.bits();
        let bytes = (moves.hull(Side::Source) * bits).div_ceil(8);
        let is_there = |&unit: &usize| all_initialised(space, unit, dma.source.address, bytes);
        let initialised = bits >= 8 && moves.is_compact() && moves.units(Side::Source).iter().all(is_there);
        let dense = initialised && moves.fills_destination();
        Self { moves, bits, initialised, dense }
    }

    /// Marks a dense destination as initialised.
    fn mark(&self, dma: &Dma, space: &mut impl SpaceMut) {
        if self.dense {
            let bytes = self.moves.hull(Side::Destination) * self.bits / 8;
            for unit in self.moves.units(Side::Destination) {
                set_initialised(space, unit, dma.destination.address, bytes);
            }
        }
    }
}

/// Bytes of the smallest move that several threads share.
const SHARED_BYTES: usize = 1 << 18;

impl Known<'_> {
    /// Number of threads that share the move.
    fn threads(&self) -> usize {
        let is_large = self.moves.elements().saturating_mul(self.bits) / 8 >= SHARED_BYTES;
        if is_large { threads() } else { 1 }
    }

    /// Moves elements from HBM to slices. Each of `threads` threads takes some of the slices.
    fn to_slices(&self, dma: &Dma, hbm: &Vec<Hbm>, units: &mut Vec<Unit>, threads: usize) {
        if !self.share_slices(dma, hbm, units, threads) {
            between(dma, self, &self.moves, (hbm, units));
        }
        self.mark(dma, units);
    }

    /// Moves elements from slices to HBM. Each of `threads` threads takes some of the pages.
    fn to_hbm(&self, dma: &Dma, units: &Vec<Unit>, hbm: &mut Vec<Hbm>, threads: usize) {
        if !self.share_pages(dma, units, hbm, threads) {
            between(dma, self, &self.moves, (units, hbm));
        }
        self.mark(dma, hbm);
    }

    /// Moves all elements in parts that write to separate slices. Returns false if there are no such parts.
    fn share_slices(&self, dma: &Dma, hbm: &Vec<Hbm>, units: &mut [Unit], threads: usize) -> bool {
        if threads < 2 {
            return false;
        }
        let parts = self.moves.parts_by_unit(threads);
        if parts.len() < 2 {
            return false;
        }
        let slices = Slices::parts(units, parts.iter().map(|(units, _)| units.clone()));
        let mut all: Vec<_> = parts.iter().zip(slices).collect();
        each(&mut all, 1, |(), _, ((_, part), slices)| between(dma, self, part, (hbm, slices)));
        true
    }

    /// Moves all elements to a range of one chip's HBM that they fill, in parts that write to separate pages. Returns
    /// false if there are no such parts.
    fn share_pages(&self, dma: &Dma, units: &Vec<Unit>, hbm: &mut [Hbm], threads: usize) -> bool {
        const PAGE: u64 = PAGE_BYTES as u64;
        // In a destination without gaps, all pages are written, and the marks are set at the end.
        if threads < 2 || !self.dense {
            return false;
        }
        let &[chip] = &self.moves.units(Side::Destination)[..] else { return false };
        let size = self.bits / 8;
        let address = |element: usize| dma.destination.address + (element * size) as u64;
        let (start, end) = (address(0), address(self.moves.hull(Side::Destination)));
        // Elements before the first page that begins in the destination.
        let before = (start.next_multiple_of(PAGE) - start) as usize;
        if start + before as u64 >= end || !before.is_multiple_of(size) {
            return false;
        }
        let parts = self.moves.parts_by_page(threads, (before / size, PAGE_BYTES / size));
        if parts.len() < 2 {
            return false;
        }
        let bytes = |places: &Range<usize>| address(places.start)..address(places.end).min(end);
        let ranges: Vec<Range<u64>> = parts.iter().map(|(places, _)| bytes(places)).collect();
        let Some(pages) = hbm.get_mut(chip).and_then(|hbm| Pages::parts(hbm, chip, &ranges)) else {
            return false;
        };
        let mut all: Vec<_> = parts.iter().zip(pages).collect();
        each(&mut all, 1, |(), _, ((_, part), pages)| between(dma, self, part, (units, pages)));
        true
    }
}

/// Moves a part of a move from one memory to another.
fn between(
    dma: &Dma,
    known: &Known<'_>,
    moves: &Moves<'_>,
    (source, destination): (&impl Space, &mut impl SpaceMut),
) {
    let mut row = Row::new(dma.source.footprint.element);
    let &Known { bits, initialised, dense: marked, .. } = known;
    let elements = Elements { bits, initialised, marked, end: dma.destination.end() };
    if initialised && let Some(patches) = moves.patches(bits) {
        let mut buffers = PatchBuffers::default();
        patches.for_each(|patch| {
            buffers.read(source, patch, dma.source.address, bits);
            buffers.write(destination, patch, dma.destination.address, elements);
        });
        return;
    }
    moves.for_each_strips(bits, |strips| {
        let Strips { first, times, next } = strips;
        let (from, to) = (first.from(dma.source.address), first.to(dma.destination.address));
        if !move_repeated((source, from), (destination, to), (times, next), elements) {
            for strip in strips.all() {
                let (from, to) = (strip.from(dma.source.address), strip.to(dma.destination.address));
                move_runs((source, from), (destination, to), elements, &mut row);
            }
        }
    });
}

/// Moves elements inside one memory, between tensors that share no byte.
fn inside(dma: &Dma, memory: &mut impl SpaceMut) {
    let element = dma.source.footprint.element;
    let known = Known::new(dma, memory);
    let Known { moves, bits, initialised, dense } = &known;
    let mut row = Row::new(element);
    let (from, to) = (dma.source.address, dma.destination.address);
    let end = dma.destination.end();
    if *initialised && let Some(patches) = moves.patches(*bits) {
        let mut buffers = PatchBuffers::default();
        let elements = Elements { bits: *bits, initialised: true, marked: *dense, end };
        patches.for_each(|patch| {
            buffers.read(&*memory, patch, from, *bits);
            buffers.write(memory, patch, to, elements);
        });
    } else {
        moves.for_each_strip(*bits, |strip| {
            row.clear(element);
            row.read_runs(&*memory, strip.from(from), *initialised);
            row.write_runs(0, memory, strip.to(to), end, *dense);
        });
    }
    known.mark(dma, memory);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::row::Line;
    use furiosa_visa_rules::command::{FillId, Footprint, Region, Transfer};
    use furiosa_visa_rules::mapping::{Guard, GuardDigit, GuardSum};
    use furiosa_visa_rules::scalar::ElementType;
    use furiosa_visa_rules::testing::{moved_by_definition, transfer};
    use rand::rngs::SmallRng;
    use rand::seq::SliceRandom;
    use rand::{Rng, SeedableRng};

    fn region(memory: Memory, address: u64, element: ElementType, elements: usize) -> Region {
        let (clusters, slices) = if memory == Memory::Dm { (2, 256) } else { (1, 1) };
        let footprint = Footprint { element, chips: 1, clusters, slices, elements, guard: Guard::always(4) };
        Region::whole(memory, address, FillId(1), footprint)
    }

    fn dma(from: (Memory, u64), to: (Memory, u64), element: ElementType, transfer: Transfer) -> Dma {
        let source = region(from.0, from.1, element, 4096);
        let destination = region(to.0, to.1, element, 4096);
        Dma { source, destination, transfer, pcie: false }
    }

    /// Element `position` of a unit.
    fn element(
        space: &impl Space,
        element: ElementType,
        address: u64,
        (unit, position): (usize, usize),
    ) -> (Vec<u8>, bool) {
        let mut row = Row::new(element);
        row.read(space, Line { unit, address, position: position as i64, stride: 1, len: 1 });
        (row.bytes().to_vec(), row.flags().is_none())
    }

    fn fill(space: &mut impl SpaceMut, units: usize, address: u64, bytes: usize) {
        for unit in 0..units {
            let mut row = Row::new(ElementType::I8);
            let codes: Vec<u8> = (0..bytes).map(|k| (k * 31 + k / 7 + unit * 17) as u8).collect();
            let flags: Vec<bool> = (0..bytes).map(|k| k % 64 < 62).collect();
            row.push(&codes, bytes, Some(&flags));
            row.write(0, space, Line { unit, address, position: 0, stride: 1, len: bytes }, 0);
        }
    }

    #[test]
    fn moves_agree_with_the_definition() {
        let layouts = [
            transfer(&[(4, 0, 32, 1, 0), (8, 0, 4, 0, 4), (4, 0, 1, 0, 1)]),
            transfer(&[(8, 0, 1, 0, 16), (16, 0, 8, 0, 1)]),
            transfer(&[(3, 0, 0, 1, 0), (16, 0, 3, 0, 1)]),
            transfer(&[(5, 0, 1, 0, 6), (5, 0, 7, 0, 1)]),
        ];
        for kind in [ElementType::I4, ElementType::I8, ElementType::Bf16, ElementType::F32] {
            for layout in &layouts {
                let dma = dma((Memory::Hbm, (1 << 20) - 40), (Memory::Dm, 64), kind, *layout);
                let (mut hbm, mut units) = (vec![Hbm::default()], Vec::new());
                units.resize_with(4, Unit::default);
                fill(&mut hbm, 1, dma.source.address, 2048);
                run(&dma, false, &mut hbm, &mut units);
                for (to, from) in moved_by_definition(layout) {
                    let expected = element(&hbm, kind, dma.source.address, from);
                    let found = element(&units, kind, dma.destination.address, to);
                    // Two 4-bit elements share their mark.
                    if kind == ElementType::I4 {
                        assert_eq!(found.0, expected.0, "{to:?} from {from:?}");
                    } else {
                        assert_eq!(found, expected, "{kind:?}: {to:?} from {from:?}");
                    }
                }
            }
        }
    }

    /// The whole source is initialised, so no run is checked.
    #[test]
    fn complete_sources_mark_their_destination() {
        let dense = transfer(&[(4, 0, 24, 1, 0), (12, 0, 96, 0, 24), (24, 0, 1, 0, 1)]);
        let gaps = transfer(&[(4, 0, 24, 1, 0), (12, 0, 96, 0, 25), (24, 0, 1, 0, 1)]);
        let mut padded = transfer(&[(4, 0, 24, 1, 0), (12, 0, 96, 0, 24), (3, 0, 8, 0, 8), (8, 0, 1, 0, 1)]);
        padded.guard.digits.push(GuardDigit { variable: 3, base: 1, extent: 8, weight: 1 });
        padded.guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit: 5 });
        for kind in [ElementType::I8, ElementType::Bf16, ElementType::F32] {
            for layout in [&dense, &gaps, &padded] {
                let dma = dma((Memory::Hbm, (1 << 20) - 40), (Memory::Dm, 64), kind, *layout);
                let (mut hbm, mut units) = (vec![Hbm::default()], Vec::new());
                units.resize_with(4, Unit::default);
                let mut row = Row::new(ElementType::I8);
                let codes: Vec<u8> = (0..4608).map(|k| (k * 31 + k / 7) as u8).collect();
                row.push(&codes, 4608, None);
                let address = dma.source.address;
                row.write(0, &mut hbm, Line { unit: 0, address, position: 0, stride: 1, len: 4608 }, 0);
                run(&dma, false, &mut hbm, &mut units);
                let expected = moved_by_definition(layout);
                for place in (0..4).flat_map(|unit| (0..320).map(move |k| (unit, k))) {
                    let found = element(&units, kind, dma.destination.address, place);
                    match expected.get(&place) {
                        Some(&from) => assert_eq!(found, element(&hbm, kind, dma.source.address, from)),
                        None => assert!(!found.1, "{kind:?}: nothing was written to {place:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn overlapping_moves_read_before_they_write() {
        let layout = transfer(&[(2, 1, 0, 1, 0), (60, 0, 1, 0, 1)]);
        let dma = dma((Memory::Dm, 0), (Memory::Dm, 8), ElementType::I8, layout);
        let mut units = Vec::new();
        units.resize_with(2, Unit::default);
        fill(&mut units, 2, 0, 60);
        let before: Vec<_> = (0..60).map(|k| element(&units, ElementType::I8, 0, (1, k))).collect();
        run(&dma, false, &mut Vec::new(), &mut units);
        let after: Vec<_> = (0..60).map(|k| element(&units, ElementType::I8, 8, (1, k))).collect();
        assert_eq!(before, after);
    }

    #[test]
    fn slices_are_collected_into_hbm() {
        let layout = transfer(&[(8, 0, 1, 0, 4), (4, 1, 0, 0, 1)]);
        let dma = dma((Memory::Dm, 16), (Memory::Hbm, 0), ElementType::I8, layout);
        let (mut hbm, mut units) = (vec![Hbm::default()], Vec::new());
        units.resize_with(4, Unit::default);
        fill(&mut units, 4, 16, 8);
        run(&dma, false, &mut hbm, &mut units);
        for (to, from) in moved_by_definition(&layout) {
            let found = element(&hbm, ElementType::I8, 0, to);
            assert_eq!(found, element(&units, ElementType::I8, 16, from));
        }
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn slices_are_written_at_the_same_time() {
        let layouts = [
            transfer(&[(4, 0, 32, 1, 0), (8, 0, 4, 0, 4), (4, 0, 1, 0, 1)]),
            transfer(&[(4, 0, 1, 0, 24), (2, 0, 200, 2, 0), (2, 0, 100, 1, 0), (20, 0, 4, 0, 1)]),
            // All slices receive the same elements.
            transfer(&[(3, 0, 0, 1, 0), (16, 0, 3, 0, 1)]),
            // A single slice: no parts.
            transfer(&[(16, 0, 3, 0, 1)]),
        ];
        for (layout, count) in layouts.iter().flat_map(|layout| (2..6).map(move |count| (layout, count))) {
            for kind in [ElementType::I4, ElementType::Bf16] {
                let dma = dma((Memory::Hbm, (1 << 20) - 40), (Memory::Dm, 64), kind, *layout);
                let (mut hbm, mut units) = (vec![Hbm::default()], Vec::new());
                units.resize_with(4, Unit::default);
                fill(&mut hbm, 1, dma.source.address, 2048);
                Known::new(&dma, &hbm).to_slices(&dma, &hbm, &mut units, count);
                let expected = moved_by_definition(layout);
                for place in (0..4).flat_map(|unit| (0..200).map(move |k| (unit, k))) {
                    let found = element(&units, kind, dma.destination.address, place);
                    match expected.get(&place) {
                        Some(&from) => {
                            let expected = element(&hbm, kind, dma.source.address, from);
                            assert_eq!(found.0, expected.0, "{kind:?}: {place:?} from {from:?}");
                            assert!(found.1 == expected.1 || kind == ElementType::I4);
                        }
                        None => assert!(!found.1, "{kind:?}: nothing was written to {place:?}"),
                    }
                }
            }
        }
    }

    /// Random orders of digits on both sides, with everything written: compares the elements and their marks.
    #[test]
    fn short_runs_move_in_patches() {
        let seed = 43;
        let mut random = SmallRng::seed_from_u64(seed);
        let mut moved = 0;
        for case in 0..120 {
            let kind = [ElementType::I8, ElementType::Bf16, ElementType::F32][case % 3];
            let (source, destination) = [
                (Memory::Hbm, Memory::Dm),
                (Memory::Dm, Memory::Hbm),
                (Memory::Hbm, Memory::Hbm),
                (Memory::Dm, Memory::Dm),
            ][case % 4];
            let sizes = [1 << random.random_range(0..4), 3, random.random_range(2..9), 3, 4];
            // Steps of each digit in elements. The last digit counts units, if the memory has them.
            let mut layout = |memory, gap: usize| {
                let mut order = vec![1, 2, 3];
                order.shuffle(&mut random);
                if memory == Memory::Hbm {
                    order.insert(random.random_range(0..4), 4);
                }
                let (mut steps, mut elements) = ([(1, 0); 5], 1);
                for k in core::iter::once(0).chain(order) {
                    steps[k] = (0, elements);
                    elements *= sizes[k];
                }
                steps.map(|(units, elements)| {
                    (units, if elements > sizes[0] { elements * gap } else { elements })
                })
            };
            let (from, to) = (layout(source, 1), layout(destination, 1 + case % 5 / 4));
            let loops = [4, 3, 2, 1, 0].map(|k| (sizes[k], from[k].0, from[k].1, to[k].0, to[k].1));
            let layout = transfer(&loops);
            let address = |memory| if memory == Memory::Hbm { (1 << 20) - 40 } else { 64 };
            let place = address(destination) + if source == destination { 1 << 17 } else { 0 };
            let dma = dma((source, address(source)), (destination, place), kind, layout);
            let (mut hbm, mut units) = (vec![Hbm::default()], Vec::new());
            units.resize_with(4, Unit::default);
            let bytes = 3 * 9 * 3 * 4 * 8 * 4;
            let mut row = Row::new(ElementType::I8);
            row.push(&(0..bytes).map(|_| random.random()).collect::<Vec<_>>(), bytes, None);
            let line = |unit| Line { unit, address: dma.source.address, position: 0, stride: 1, len: bytes };
            row.write(0, &mut hbm, line(0), 0);
            (0..4).for_each(|unit| {
                row.write(unit * 8, &mut units, Line { len: bytes - unit * 8, ..line(unit) }, 0)
            });
            moved += usize::from(Moves::new(&layout).patches(kind.bits()).is_some());
            run(&dma, false, &mut hbm, &mut units);
            let at = |memory, address, (unit, position)| match memory {
                Memory::Hbm => element(&hbm, kind, address, (unit, position)),
                _ => element(&units, kind, address, (unit, position)),
            };
            let expected = moved_by_definition(&layout);
            let last = expected.keys().map(|&(_, position)| position).max().expect("some elements");
            for there in (0..4).flat_map(|unit| (0..last + 8).map(move |position| (unit, position))) {
                let found = at(destination, dma.destination.address, there);
                match expected.get(&there) {
                    Some(&from) => {
                        let wanted = at(source, dma.source.address, from);
                        assert_eq!(found, wanted, "seed {seed}, case {case}: {there:?} of {layout:?}");
                    }
                    None if destination == Memory::Hbm && there.0 > 0 => {}
                    None => assert!(!found.1, "seed {seed}, case {case}: nothing was written to {there:?}"),
                }
            }
        }
        assert!(moved > 60, "{moved} moves were made in patches");
    }

    /// Blocks of 8 bytes of 5 slices, transposed to 2.5 MiB that start in the middle of a page.
    #[cfg(feature = "parallel")]
    #[test]
    fn pages_are_written_at_the_same_time() {
        const SIDE: usize = 256;
        let bytes = SIDE * SIDE * 8;
        let layout = transfer(&[
            (5, 1, 0, 0, bytes),
            (SIDE, 0, 8 * SIDE, 0, 8),
            (SIDE, 0, 8, 0, 8 * SIDE),
            (8, 0, 1, 0, 1),
        ]);
        let dma = dma((Memory::Dm, 0), (Memory::Hbm, bytes as u64), ElementType::I8, layout);
        let code = |unit: usize, k: usize| (k * 31 + k / 7 + k / 4099 + unit * 17) as u8;
        let mut units = Vec::new();
        units.resize_with(5, Unit::default);
        for unit in 0..5 {
            let mut row = Row::new(ElementType::I8);
            row.push(&(0..bytes).map(|k| code(unit, k)).collect::<Vec<_>>(), bytes, None);
            let line = Line { unit, address: 0, position: 0, stride: 1, len: bytes };
            row.write(0, &mut units, line, bytes as u64);
        }
        for count in 2..5 {
            let mut hbm = vec![Hbm::default()];
            let known = Known::new(&dma, &units);
            assert!(known.share_pages(&dma, &units, &mut hbm, count), "there are pages to share");
            // The same move again, with marks.
            known.to_hbm(&dma, &units, &mut hbm, count);
            let mut row = Row::new(ElementType::I8);
            row.read(&hbm, Line { unit: 0, address: bytes as u64, position: 0, stride: 1, len: 5 * bytes });
            assert!(row.flags().is_none(), "all of it was written");
            for (at, &found) in row.bytes().iter().enumerate() {
                let (unit, block, byte) = (at / bytes, at % bytes / 8, at % 8);
                let from = (block % SIDE * SIDE + block / SIDE) * 8 + byte;
                assert!(found == code(unit, from), "{count} parts: byte {from} of slice {unit} to {at}");
            }
            let around = |position| Line { unit: 0, address: 0, position, stride: 1, len: 1 };
            for position in [bytes as i64 - 1, 6 * bytes as i64] {
                let mut row = Row::new(ElementType::I8);
                row.read(&hbm, around(position));
                assert!(row.flags().is_some(), "nothing was written to byte {position}");
            }
        }
        // A destination that starts inside a page is not shared here.
        let odd = Dma { destination: region(Memory::Hbm, 8, ElementType::I8, 5 * bytes), ..dma };
        assert!(!Known::new(&odd, &units).share_pages(&odd, &units, &mut [Hbm::default()], 2));
    }
}
