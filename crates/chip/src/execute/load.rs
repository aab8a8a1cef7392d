//! Loads of the register file that only move bytes inside of each slice, from DM to their rows.
//!
//! They build no stream. Bytes that lie together on both sides are copied at once.

use super::fetch::FetchPlan;
use super::packets::Packets;
use super::{Buffers, Pass, prefetch};
use crate::memory::{Unit, planes};
use core::ops::Range;
use furiosa_visa_rules::command::TrfRegion;
use furiosa_visa_rules::sorting;
use furiosa_visa_rules::spec::FLIT_BYTES;

/// Bytes of a short run that are copied at a time. A copy of slightly more bytes would begin with its last bytes, and
/// processors do not predict this.
const COPY_BYTES: usize = 256;

/// Bytes of the shortest run that is copied at once. Processors copy such runs by themselves, without reading the
/// overwritten bytes.
const LONG_BYTES: usize = 4096;

/// Moves of bytes, the same in all slices.
#[derive(Debug)]
struct Load {
    /// The runs, in the order of DM.
    runs: Vec<Run>,
    /// Range from the first to the last byte of DM that is read.
    read: Range<usize>,
    /// End of the bytes of the register file that this load and later ones write.
    end: usize,
    /// The number of the register file.
    file: usize,
}

/// Neighbouring bytes in DM and in the register file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    from: Range<usize>,
    to: Range<usize>,
}

impl Pass<'_> {
    /// Runs all slices, if bytes only move to the register file. Returns false otherwise.
    pub(super) fn run_load(&self, units: &mut [Unit]) -> bool {
        let Some(load) = self.straight_load() else { return false };
        self.for_each_slice(units, |at, unit, buffers: &mut Buffers| match self.sink.takes(at) {
            Some(false) => {}
            Some(true) if load.run(unit) => {}
            _ => self.run_slice(at, unit, None, buffers),
        });
        true
    }

    /// The moves of bytes. `None`: the pass does more than move bytes.
    fn straight_load(&self) -> Option<Load> {
        let (region, file) = self.sink.register_file()?;
        let is_plain = planes::plane_type(region.element).is_none() && self.fetch.output() == region.element;
        if !self.copies() || self.switch.is_some() || !is_plain {
            return None;
        }
        let (packets, bytes) = pieces(&self.fetch)?;
        let mut runs = runs(region, &packets, bytes)?;
        sorting::by_key(&mut runs, |run| run.from.start);
        let end = runs.iter().map(|run| run.to.end).max().unwrap_or(0);
        Some(Load { runs, read: packets.range, end, file })
    }
}

/// Pieces of the stream and their size in bytes: whole packets, or flits.
fn pieces(fetch: &FetchPlan) -> Option<(Packets, usize)> {
    let pieces = |bytes| Some((fetch.packets(bytes)?, bytes));
    pieces(fetch.packet_bytes()).or_else(|| pieces(FLIT_BYTES))
}

/// Moves of pieces of `bytes` bytes that fill all rows, one after the other. `None`: they do not fill the rows.
fn runs(region: &TrfRegion, packets: &Packets, bytes: usize) -> Option<Vec<Run>> {
    let row_bytes = region.row_bytes();
    let is_whole = (region.row_elements * region.element.bits()).is_multiple_of(8);
    if !is_whole || packets.starts.len() * bytes != region.rows * row_bytes {
        return None;
    }
    let mut runs: Vec<Run> = Vec::new();
    for (piece, &start) in packets.starts.iter().enumerate() {
        let (mut place, end) = (piece * bytes, (piece + 1) * bytes);
        let mut from = start as usize;
        while place < end {
            let (row, first) = (place / row_bytes, place % row_bytes);
            let last = row_bytes.min(first + end - place);
            for to in region.pieces(row, first..last) {
                let next = Run { from: from..from + to.len(), to };
                from = next.from.end;
                match runs.last_mut() {
                    Some(run) if (run.from.end, run.to.end) == (next.from.start, next.to.start) => {
                        (run.from.end, run.to.end) = (next.from.end, next.to.end);
                    }
                    _ => runs.push(next),
                }
            }
            place += last - first;
        }
    }
    Some(runs)
}

impl Load {
    /// Moves the bytes of a slice, if all are written. Returns false otherwise.
    fn run(&self, unit: &mut Unit) -> bool {
        let (dm, file) = unit.dm_and_trf_mut(self.file);
        if !dm.all_initialised(self.read.clone()) {
            return false;
        }
        file.grow(self.end);
        let (bytes, initialised) = file.parts_mut();
        prefetch::pages(dm.bytes(), self.read.clone());
        prefetch::pages(bytes, 0..self.end);
        for Run { from, to } in &self.runs {
            let (places, pieces) = (&mut bytes[to.clone()], &dm.bytes()[from.clone()]);
            if places.len() < LONG_BYTES {
                let (places, rest) = places.as_chunks_mut::<COPY_BYTES>();
                let (pieces, last) = pieces.as_chunks::<COPY_BYTES>();
                for (place, piece) in places.iter_mut().zip(pieces) {
                    *place = *piece;
                }
                rest.copy_from_slice(last);
            } else {
                places.copy_from_slice(pieces);
            }
            initialised.set(to.clone());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::command::{FillId, TrfAddress};
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::scalar::ElementType;

    #[test]
    fn pieces_fill_rows_and_banks() {
        let region = |rows, row_elements| TrfRegion {
            address: TrfAddress::FirstHalf,
            fill: FillId(1),
            element: ElementType::I8,
            rows,
            row_elements,
            guard: Guard::always(5),
        };
        let packets = |starts: &[u32], bytes| Packets::of(starts.to_vec(), bytes).expect("some packets");
        let run = |from: usize, to: usize, bytes: usize| Run { from: from..from + bytes, to: to..to + bytes };
        // Rows of three flits, in packets of two: the second packet is cut.
        assert_eq!(
            runs(&region(2, 96), &packets(&[0, 64, 256], 64), 64),
            Some(vec![run(0, 0, 96), run(96, 4 * 8192, 32), run(256, 4 * 8192 + 32, 64)])
        );
        // A row of two banks.
        let starts: Vec<u32> = (0..256).map(|flit| flit * 32).collect();
        assert_eq!(
            runs(&region(1, 8192), &packets(&starts, 32), 32),
            Some(vec![run(0, 0, 4096), run(4096, 8192, 4096)])
        );
        // One flit is missing, or there is one too many.
        assert_eq!(runs(&region(2, 96), &packets(&[0, 32, 64, 96, 128], 32), 32), None);
        assert_eq!(runs(&region(2, 96), &packets(&[0, 32, 64, 96, 128, 160, 192], 32), 32), None);
    }
}
