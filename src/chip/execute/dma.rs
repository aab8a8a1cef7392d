//! DMA transfers between and inside HBM and DM.

use super::moves::{End, for_each_row};
use crate::chip::memory::place::{Place, spans_meet};
use crate::chip::memory::row::{Line, Row};
use crate::chip::memory::{Hbm, Space, Unit};
use crate::command::{Address, Dma, Memory, Region};

impl End {
    /// The row at a tensor's address.
    pub(super) fn line(self, address: Address, len: usize) -> Line {
        Line { unit: self.unit, address, position: self.position as i64, stride: self.stride, len }
    }
}

/// Where the last byte of a tensor ends.
pub(super) fn end_of(region: &Region) -> u64 {
    region.address.saturating_add(region.footprint.bytes() as u64)
}

/// Moves the elements. Everything has been checked.
pub(crate) fn run(dma: &Dma, hbm: &mut Vec<Hbm>, units: &mut Vec<Unit>) {
    match (dma.source.memory, dma.destination.memory) {
        (Memory::Hbm, Memory::Dm) => between(dma, hbm, units),
        (Memory::Dm, Memory::Hbm) => between(dma, units, hbm),
        (Memory::Hbm, Memory::Hbm) => inside(dma, hbm),
        (Memory::Dm, Memory::Dm) => inside(dma, units),
    }
}

/// From one memory to another.
fn between(dma: &Dma, source: &impl Space, destination: &mut impl Space) {
    let element = dma.source.footprint.element;
    let mut row = Row::new(element);
    let end = end_of(&dma.destination);
    for_each_row(&dma.transfer, |from, to, len| {
        row.clear(element);
        row.read(source, from.line(dma.source.address, len));
        row.write(0, destination, to.line(dma.destination.address, len), end);
    });
}

/// Inside one memory. Where source and destination overlap, everything is read before anything is written.
fn inside(dma: &Dma, memory: &mut impl Space) {
    let element = dma.source.footprint.element;
    let mut row = Row::new(element);
    let (from_address, to_address) = (dma.source.address, dma.destination.address);
    let end = end_of(&dma.destination);
    if spans_meet(&Place::Region(dma.source).spans(), &Place::Region(dma.destination).spans()) {
        for_each_row(&dma.transfer, |from, _, len| row.read(&*memory, from.line(from_address, len)));
        let mut first = 0;
        for_each_row(&dma.transfer, |_, to, len| {
            row.write(first, memory, to.line(to_address, len), end);
            first += len;
        });
    } else {
        for_each_row(&dma.transfer, |from, to, len| {
            row.clear(element);
            row.read(&*memory, from.line(from_address, len));
            row.write(0, memory, to.line(to_address, len), end);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::moves::tests::{naive, transfer};
    use super::*;
    use crate::command::{FillId, Footprint, Guard, Transfer};
    use crate::scalar::ElementType;

    fn region(memory: Memory, address: u64, element: ElementType, elements: usize) -> Region {
        let (clusters, slices) = if memory == Memory::Dm { (2, 256) } else { (1, 1) };
        let footprint = Footprint { element, chips: 1, clusters, slices, elements, guard: Guard::always(4) };
        Region { memory, address, fill: FillId(1), footprint }
    }

    fn dma(from: (Memory, u64), to: (Memory, u64), element: ElementType, transfer: Transfer) -> Dma {
        let source = region(from.0, from.1, element, 4096);
        let destination = region(to.0, to.1, element, 4096);
        Dma { source, destination, transfer }
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

    fn fill(space: &mut impl Space, units: usize, address: u64, bytes: usize) {
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
                run(&dma, &mut hbm, &mut units);
                for (to, from) in naive(layout) {
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

    #[test]
    fn overlapping_moves_read_before_they_write() {
        let layout = transfer(&[(2, 1, 0, 1, 0), (60, 0, 1, 0, 1)]);
        let dma = dma((Memory::Dm, 0), (Memory::Dm, 8), ElementType::I8, layout);
        let mut units = Vec::new();
        units.resize_with(2, Unit::default);
        fill(&mut units, 2, 0, 60);
        let before: Vec<_> = (0..60).map(|k| element(&units, ElementType::I8, 0, (1, k))).collect();
        run(&dma, &mut Vec::new(), &mut units);
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
        run(&dma, &mut hbm, &mut units);
        for (to, from) in naive(&layout) {
            let found = element(&hbm, ElementType::I8, 0, to);
            assert_eq!(found, element(&units, ElementType::I8, 16, from));
        }
    }
}
