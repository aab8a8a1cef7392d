//! Passes that only move elements inside of each slice, from their source to their destination in DM.
//!
//! They build no stream. The leading bytes of each packet are copied unchanged. Packets that go through the Transpose
//! Engine are copied tile by tile.

use super::packets::Cut;
use super::{Buffers, Pass};
use crate::memory::{Block, Unit, words};
use core::ops::Range;
use furiosa_visa_rules::command::Transpose;
use furiosa_visa_rules::mapping::gcd;
use furiosa_visa_rules::spec::FLIT_BYTES;

/// Bytes of the shortest pieces that are copied one by one.
const LEAST_BYTES: usize = 4;

/// Moves of elements, the same in all slices.
#[derive(Debug)]
struct Straight {
    /// Addresses of the packets, counted from their side of the cut.
    from: Vec<u32>,
    to: Vec<u32>,
    /// Bytes of each packet that are committed.
    bytes: usize,
    transpose: Option<Transpose>,
    cut: Cut,
    /// Range from the first to the last byte of DM that is read.
    read: Range<usize>,
    /// The bytes that are written, in order.
    written: Vec<Range<usize>>,
    /// End of the bytes of DM that this pass and later ones write.
    end: usize,
}

impl Pass<'_> {
    /// Runs all slices, if elements only move. Returns false otherwise.
    pub(super) fn run_straight(&self, units: &mut [Unit]) -> bool {
        let Some(straight) = self.straight() else { return false };
        self.for_each_slice(units, |at, unit, buffers: &mut Buffers| match self.sink.takes(at) {
            Some(false) => {}
            Some(true) if straight.run(&mut unit.dm) => {}
            _ => self.run_slice(at, unit, None, buffers),
        });
        true
    }

    /// The moves of elements. `None`: the pass does more than move elements.
    fn straight(&self) -> Option<Straight> {
        let computes = self.contraction.is_some() || self.vector.is_some() || self.cast.is_some();
        if computes || self.switch.is_some() {
            return None;
        }
        let live = self.fetch.live_bytes(self.flits)?;
        let (run, mut bytes) = self.sink.run_bytes()?;
        let mut piece = live;
        // Lanes of padding must not be committed, and all other lanes must be there.
        let transpose = self.command.transpose;
        if let Some(transpose) = &transpose {
            let size = transpose.element.bits() / 8;
            if transpose.kept_elements() * size > live || bytes != 8 || transpose.in_rows * size != 8 {
                return None;
            }
        } else if bytes == live && live == FLIT_BYTES {
            // Flits may be made of pieces, and be written as pieces.
            bytes = gcd(live, gcd(run, self.fetch.run_bytes()));
            piece = bytes;
        }
        if transpose.is_none() && bytes > live || piece < LEAST_BYTES {
            return None;
        }
        let from = self.fetch.pieces(piece)?;
        let to = self.sink.packets(self.fetch.output(), bytes)?;
        let (flits, packets) = match &transpose {
            None => (from.starts.len(), from.starts.len()),
            Some(transpose) => (transpose.iterations * transpose.in_flits(), transpose.out_time()),
        };
        if from.starts.len() != flits || to.starts.len() != packets {
            return None;
        }
        let cut = Cut::between(&from.range, &to.range)?;
        let (first, place) = cut.starts();
        let mut straight = Straight {
            from: from.behind(first),
            to: to.behind(place),
            bytes,
            transpose,
            cut,
            written: to.joined(bytes)?,
            read: from.range,
            end: self.sink.end(),
        };
        if transpose.is_none() {
            straight.join();
        }
        Some(straight)
    }
}

impl Straight {
    /// Joins packets that follow one another on both sides, in the largest groups that do so everywhere.
    fn join(&mut self) {
        let follow = |starts: &[u32], k: usize| starts[k] as usize == starts[k - 1] as usize + self.bytes;
        let breaks = |k: &usize| !(follow(&self.from, *k) && follow(&self.to, *k));
        let count = self.from.len();
        let group = (1..count).filter(breaks).fold(count, gcd);
        self.bytes *= group;
        for starts in [&mut self.from, &mut self.to] {
            *starts = starts.iter().copied().step_by(group).collect();
        }
    }

    /// Moves the elements of a slice, if all are written. Returns false otherwise.
    fn run(&self, dm: &mut Block) -> bool {
        let last = self.written.last().map_or(0, |range| range.end);
        if last > dm.capacity() || !dm.all_initialised(self.read.clone()) {
            return false;
        }
        dm.grow(self.end.clamp(last, dm.capacity()));
        let (bytes, initialised) = dm.parts_mut();
        let (input, output) = self.cut.sides(bytes);
        match &self.transpose {
            None => self.copy(input, output),
            Some(transpose) => match transpose.element.bits() {
                8 => self.copy_tiles::<1, 8>(transpose, input, output),
                16 => self.copy_tiles::<2, 4>(transpose, input, output),
                _ => self.copy_tiles::<4, 2>(transpose, input, output),
            },
        }
        self.written.iter().for_each(|range| initialised.set(range.clone()));
        true
    }

    fn copy(&self, input: &[u8], output: &mut [u8]) {
        match self.bytes {
            8 => self.copy_packets::<8>(input, output),
            16 => self.copy_packets::<16>(input, output),
            32 => self.copy_packets::<32>(input, output),
            64 => self.copy_packets::<64>(input, output),
            bytes => {
                for (&from, &to) in self.from.iter().zip(&self.to) {
                    output[to as usize..][..bytes].copy_from_slice(&input[from as usize..][..bytes]);
                }
            }
        }
    }

    fn copy_packets<const BYTES: usize>(&self, input: &[u8], output: &mut [u8]) {
        for (&from, &to) in self.from.iter().zip(&self.to) {
            // Arrays, because `copy_from_slice` is a call where a crate is compiled in parts.
            let packet: &[u8; BYTES] =
                input[from as usize..].first_chunk().expect("a packet lies in the memory");
            *output[to as usize..].first_chunk_mut().expect("a packet lies in the memory") = *packet;
        }
    }

    /// Transposes all matrices in square tiles. A column of a matrix is a word of `SIDE` elements.
    fn copy_tiles<const BYTES: usize, const SIDE: usize>(
        &self,
        transpose: &Transpose,
        input: &[u8],
        output: &mut [u8],
    ) {
        let (kept, packets) = (transpose.kept_elements(), transpose.packets_per_col());
        let matrices = self.from.chunks_exact(SIDE * packets).zip(self.to.chunks_exact(kept * packets));
        for (rows, places) in matrices {
            for (c, places) in places.chunks_exact(kept).enumerate() {
                for (k, places) in places.chunks(SIDE).enumerate() {
                    let row = |row: usize| &input[rows[row * packets + c] as usize + k * 8..];
                    if let Ok(places) = <&[u32; SIDE]>::try_from(places) {
                        // A loop, because functions of arrays are not inlined where a crate is compiled in parts.
                        let mut words = [&[0; 8]; SIDE];
                        for (k, word) in words.iter_mut().enumerate() {
                            *word = row(k).first_chunk().expect("packets lie in the memory");
                        }
                        write_tile::<BYTES, SIDE>(words, places, output);
                    } else {
                        // The kept part of a row ends in this tile.
                        let word = |k: usize| {
                            let (mut word, kept) = ([0; 8], places.len() * BYTES);
                            word[..kept].copy_from_slice(&row(k)[..kept]);
                            word
                        };
                        let words: [[u8; 8]; SIDE] = core::array::from_fn(word);
                        write_tile::<BYTES, SIDE>(words.each_ref(), places, output);
                    }
                }
            }
        }
    }
}

/// Transposes a tile, and writes its words to `places`.
#[inline(always)]
fn write_tile<const BYTES: usize, const SIDE: usize>(
    words: [&[u8; 8]; SIDE],
    places: &[u32],
    output: &mut [u8],
) {
    let tile = words::transpose::<BYTES, SIDE>(words);
    for (k, &place) in places.iter().enumerate() {
        *output[place as usize..].first_chunk_mut().expect("a word lies in the memory") =
            tile[k].to_le_bytes();
    }
}
