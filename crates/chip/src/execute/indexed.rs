//! Gathers and scatters: the chip reads the index, then moves a row for each of its elements.

use crate::memory::row::{Line, Row};
use crate::memory::runs::Runs;
use crate::memory::{Hbm, Space, SpaceMut, Unit, forget_elements};
use furiosa_visa_rules::command::moves::{End, Moves, Strip};
use furiosa_visa_rules::command::{IndexedDma, Memory, Region, RowKey, Start};
use furiosa_visa_rules::scalar::ElementType;

/// Values of elements of the index, `None` for an unwritten one. `index`: the index at the address of its bytes.
pub(crate) fn read_index(
    index: &Region,
    keys: &[RowKey],
    hbm: &Vec<Hbm>,
    units: &Vec<Unit>,
) -> Vec<Option<i32>> {
    match index.memory {
        Memory::Hbm => read_from(hbm, index, keys),
        Memory::Dm | Memory::Vrf => read_from(units, index, keys),
    }
}

fn read_from(space: &impl Space, index: &Region, keys: &[RowKey]) -> Vec<Option<i32>> {
    let mut row = Row::new(ElementType::I32);
    let mut read = |key: &RowKey| {
        row.clear(ElementType::I32);
        let RowKey { unit, position, .. } = *key;
        row.read(space, Line { unit, address: index.address, position: position as i64, stride: 1, len: 1 });
        let bytes = row.bytes().first_chunk().expect("an i32 has 4 bytes");
        row.flags().is_none_or(|flags| flags[0]).then(|| i32::from_le_bytes(*bytes))
    };
    keys.iter().map(&mut read).collect()
}

/// List entry for an element of the index that is unwritten or names no row of the table: nothing moves. It only occurs
/// if the checks against it are turned off.
pub(crate) const NO_ROW: usize = usize::MAX;

/// The strips of one row, from its first element on.
#[derive(Debug)]
pub(crate) struct RowStrips {
    strips: Vec<Strip>,
    source_start: Start,
    destination_start: Start,
    gathers: bool,
    stride: usize,
}

impl RowStrips {
    pub(crate) fn new(dma: &IndexedDma) -> Self {
        let mut payload = dma.payload;
        (payload.source_start, payload.destination_start) = (Start::FIRST, Start::FIRST);
        let mut strips = Vec::new();
        let bits = dma.source.footprint.element.bits();
        Moves::new(&payload).for_each_strip(bits, |strip| strips.push(strip));
        Self {
            strips,
            source_start: dma.payload.source_start,
            destination_start: dma.payload.destination_start,
            gathers: dma.call.gathers(),
            stride: dma.stride,
        }
    }

    /// The runs of row `row` of the table for an element of the index, each with its source and destination.
    fn runs<'a>(
        &'a self,
        key: &RowKey,
        row: usize,
        addresses: [u64; 2],
    ) -> impl Iterator<Item = (Runs, Runs)> + use<'a> {
        let side = key.side;
        let table = (key.chip, row * self.stride);
        let (from, to) = if self.gathers { (table, side) } else { (side, table) };
        self.strips.iter().map(move |&Strip { source, destination, run, count }| {
            let at = |end: End, start: Start, more: (usize, usize), address: u64| Runs {
                unit: start.units.saturating_add_unsigned(end.unit + more.0) as usize,
                address,
                position: start.elements.saturating_add_unsigned(end.position + more.1) as usize,
                stride: end.stride,
                run,
                count,
            };
            let (source_start, destination_start) = (self.source_start, self.destination_start);
            (
                at(source, source_start, from, addresses[0]),
                at(destination, destination_start, to, addresses[1]),
            )
        })
    }

    /// Tells if two rows hold the same bits. `dma`: the move at the addresses of its bytes.
    pub(crate) fn are_equal(&self, dma: &IndexedDma, [a, b]: [&RowKey; 2], units: &Vec<Unit>) -> bool {
        let element = dma.source.footprint.element;
        let addresses = [dma.source.address, dma.destination.address];
        let (mut first, mut second) = (Row::new(element), Row::new(element));
        self.runs(a, 0, addresses).zip(self.runs(b, 0, addresses)).all(|((one, _), (other, _))| {
            for (row, runs) in [(&mut first, one), (&mut second, other)] {
                row.clear(element);
                row.read_runs(units, runs, false);
            }
            let flags = |row: &Row| row.flags().map(<[bool]>::to_vec).filter(|flags| flags.contains(&false));
            first.bytes() == second.bytes() && flags(&first) == flags(&second)
        })
    }
}

/// Moves the rows of a list, in the order of the index. Everything has been checked. `begins`: elements of the
/// destination that the move leaves out become uninitialised.
pub(crate) fn run(
    dma: &IndexedDma,
    begins: bool,
    (keys, list): (&[RowKey], &[usize]),
    hbm: &mut Vec<Hbm>,
    units: &mut Vec<Unit>,
) {
    if begins && dma.destination.memory == Memory::Hbm {
        forget_elements(hbm, &dma.destination);
    } else if begins {
        forget_elements(units, &dma.destination);
    }
    if dma.call.gathers() {
        between(dma, keys, list, hbm, units);
    } else {
        between(dma, keys, list, units, hbm);
    }
}

fn between(
    dma: &IndexedDma,
    keys: &[RowKey],
    list: &[usize],
    source: &impl Space,
    destination: &mut impl SpaceMut,
) {
    let element = dma.source.footprint.element;
    let strips = RowStrips::new(dma);
    let addresses = [dma.source.address, dma.destination.address];
    let end = dma.destination.end();
    let mut moved = Row::new(element);
    for (key, &row) in keys.iter().zip(list).filter(|(_, row)| **row != NO_ROW) {
        for (from, to) in strips.runs(key, row, addresses) {
            moved.clear(element);
            moved.read_runs(source, from, false);
            moved.write_runs(0, destination, to, end, false);
        }
    }
}
