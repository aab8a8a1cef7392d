//! Runs that are moved directly from one memory to another, or between a memory and the host.
//!
//! Written whole bytes are copied from block to block. All others go through a [`Row`], which handles half bytes,
//! unwritten elements, and runs that lie in two blocks.

use super::row::Row;
use super::runs::{Runs, fitting};
use super::{PieceMut, Space, SpaceMut};

/// Properties of the elements of a move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    /// Bits of an element.
    pub(crate) bits: usize,
    /// All of them are known to be written.
    pub(crate) initialised: bool,
    /// The caller marks their bytes in the destination as written.
    pub(crate) marked: bool,
    /// Bytes of the destination from this address on are not expected to follow soon.
    pub(crate) end: u64,
}

/// Runs in bytes, from the address of the first one.
#[derive(Clone, Copy, Debug)]
struct ByteRuns {
    unit: usize,
    address: u64,
    step: usize,
    run: usize,
    count: usize,
}

impl ByteRuns {
    /// Converts runs of elements of `bits` bits. `None`: a run starts or ends inside a byte.
    fn of(runs: Runs, bits: usize) -> Option<Self> {
        let Runs { unit, address, position, stride, run, count } = runs;
        if bits < 8 && !((position | stride | run) * bits).is_multiple_of(8) {
            return None;
        }
        let bytes = |elements: usize| elements * bits / 8;
        Some(Self {
            unit,
            address: address + bytes(position) as u64,
            step: bytes(stride),
            run: bytes(run),
            count,
        })
    }

    /// The runs after the first `count`.
    fn behind(self, count: usize) -> Self {
        Self { address: self.address + (count * self.step) as u64, count: self.count - count, ..self }
    }

    /// Number of bytes from the start of the first run to the end of run `count - 1`.
    fn hull(self, count: usize) -> usize {
        (count - 1) * self.step + self.run
    }

    /// Number of leading runs in the first block, at least 1, and the bytes from the first to the last of them. `None`
    /// in place of the bytes: not all of them are written.
    fn leading(self, space: &impl Space, initialised: bool) -> (usize, Option<&[u8]>) {
        let piece = space.piece(self.unit, self.address);
        let Some((block, piece)) = piece.and_then(|piece| Some((piece.block?, piece))) else {
            return (1, None);
        };
        let room = block.bytes().len().saturating_sub(piece.start).min(piece.len);
        let count = fitting(room, self.step, self.run, self.count);
        if count == 0 {
            return (1, None);
        }
        let hull = piece.start..piece.start + self.hull(count);
        let run = |k: usize| piece.start + k * self.step..piece.start + k * self.step + self.run;
        // Checking the gaps as well is faster where they are small.
        let is_whole = initialised
            || self.step <= 64 * self.run && block.all_initialised(hull.clone())
            || (0..count).all(|k| block.all_initialised(run(k)));
        (count, is_whole.then(|| &block.bytes()[hull]))
    }

    /// Writes the leading runs that lie in the first block and returns their number. `input` has one every `step`
    /// bytes.
    fn write(self, (input, step): (&[u8], usize), space: &mut impl SpaceMut, elements: Elements) -> usize {
        let piece = space.piece_mut(self.unit, self.address, elements.end);
        let Some(PieceMut { block, start, len }) = piece else { return 0 };
        let count = fitting(len, self.step, self.run, self.count);
        if count == 0 {
            return 0;
        }
        let hull = start..start + self.hull(count);
        block.grow(hull.end);
        let (bytes, initialised) = block.parts_mut();
        copy_runs((input, step), (&mut bytes[hull.clone()], self.step), self.run, count);
        if elements.marked {
            return count;
        }
        if count == 1 || self.step == self.run {
            initialised.set(hull);
        } else {
            (0..count).for_each(|k| initialised.set(start + k * self.step..start + k * self.step + self.run));
        }
        count
    }
}

/// Moves runs from one memory to another. `row` is scratch, and has the type of the elements.
pub(crate) fn move_runs(
    (source, from): (&impl Space, Runs),
    (destination, to): (&mut impl SpaceMut, Runs),
    elements: Elements,
    row: &mut Row,
) {
    let Elements { bits, initialised, marked, end } = elements;
    let mut detour = |destination: &mut _, first: usize, count: usize| {
        row.clear(row.element());
        row.read_runs(source, from.part(first, count), initialised);
        row.write_runs(0, destination, to.part(first, count), end, marked);
    };
    let Some((mut source_runs, mut destination_runs)) = ByteRuns::of(from, bits).zip(ByteRuns::of(to, bits))
    else {
        return detour(destination, 0, from.count);
    };
    while source_runs.count > 0 {
        let first = from.count - source_runs.count;
        let (count, input) = source_runs.leading(source, initialised);
        let moved = match input {
            Some(input) => {
                match (ByteRuns { count, ..destination_runs }).write(
                    (input, source_runs.step),
                    destination,
                    elements,
                ) {
                    // The block of the destination ends inside the first run.
                    0 => {
                        detour(destination, first, 1);
                        1
                    }
                    written => written,
                }
            }
            None => {
                detour(destination, first, count);
                count
            }
        };
        (source_runs, destination_runs) = (source_runs.behind(moved), destination_runs.behind(moved));
    }
}

/// Moves `times` groups of runs to another memory, each `next` elements after the group before it. False, and
/// nothing is moved: `times` is 1, elements are shorter than a byte, or the bytes do not lie in one block on each side,
/// all of them written.
pub(crate) fn move_repeated(
    (source, from): (&impl Space, Runs),
    (destination, to): (&mut impl SpaceMut, Runs),
    (times, next): (usize, (usize, usize)),
    elements: Elements,
) -> bool {
    let bits = elements.bits;
    if times == 1 || bits < 8 {
        return false;
    }
    let Some((source_runs, destination_runs)) = ByteRuns::of(from, bits).zip(ByteRuns::of(to, bits)) else {
        return false;
    };
    let (next, further) = (next.0 * bits / 8, next.1 * bits / 8);
    let hull = (times - 1) * next + source_runs.hull(source_runs.count);
    let Some(input) = source.piece(source_runs.unit, source_runs.address).and_then(|piece| {
        let (block, bytes) = (piece.block?, piece.start..piece.start + hull);
        let is_whole = hull <= piece.len && (elements.initialised || block.all_initialised(bytes.clone()));
        block.bytes().get(bytes).filter(|_| is_whole)
    }) else {
        return false;
    };
    let hull = (times - 1) * further + destination_runs.hull(destination_runs.count);
    let Some(piece) = destination.piece_mut(destination_runs.unit, destination_runs.address, elements.end)
    else {
        return false;
    };
    if hull > piece.len {
        return false;
    }
    let (start, end) = (piece.start, piece.start + hull);
    piece.block.grow(end);
    let (bytes, initialised) = piece.block.parts_mut();
    let output = &mut bytes[start..end];
    for k in 0..times {
        let (input, output) = (&input[k * next..], &mut output[k * further..]);
        copy_runs(
            (input, source_runs.step),
            (output, destination_runs.step),
            source_runs.run,
            source_runs.count,
        );
    }
    if !elements.marked {
        let places = |k: usize| {
            (0..destination_runs.count).map(move |j| start + k * further + j * destination_runs.step)
        };
        (0..times).flat_map(places).for_each(|at| initialised.set(at..at + destination_runs.run));
    }
    true
}

/// Moves runs of the host's bytes, counted from address 0, to a memory. False: a run starts or ends inside a byte.
/// `row` is scratch, and has the type of the elements.
pub(crate) fn send_runs(
    (input, from): (&[u8], Runs),
    (destination, to): (&mut impl SpaceMut, Runs),
    elements: Elements,
    row: &mut Row,
) -> bool {
    let bits = elements.bits;
    let Some((mut source_runs, mut destination_runs)) = ByteRuns::of(from, bits).zip(ByteRuns::of(to, bits))
    else {
        return false;
    };
    let mut first = 0;
    while source_runs.count > 0 {
        let bytes = &input[source_runs.address as usize..];
        let mut written = destination_runs.write((bytes, source_runs.step), destination, elements);
        if written == 0 {
            row.clear(row.element());
            row.push(&bytes[..source_runs.run], from.run, None);
            row.write_runs(0, destination, to.part(first, 1), elements.end, elements.marked);
            written = 1;
        }
        first += written;
        (source_runs, destination_runs) = (source_runs.behind(written), destination_runs.behind(written));
    }
    true
}

/// Moves runs from a memory to the host's bytes, counted from address 0. False, and nothing is moved: a run starts or
/// ends inside a byte, the runs lie in two blocks, or not all of them are written.
pub(crate) fn receive_runs(
    (source, from): (&impl Space, Runs),
    (output, to): (&mut [u8], Runs),
    bits: usize,
) -> bool {
    let Some((source_runs, destination_runs)) = ByteRuns::of(from, bits).zip(ByteRuns::of(to, bits)) else {
        return false;
    };
    match source_runs.leading(source, false) {
        (count, Some(input)) if count == source_runs.count => {
            let output = &mut output[destination_runs.address as usize..];
            copy_runs((input, source_runs.step), (output, destination_runs.step), source_runs.run, count);
            true
        }
        _ => false,
    }
}

/// `len` bytes of a memory. `None`: not all of them are written.
pub(crate) fn copied(space: &impl Space, unit: usize, mut address: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let piece = space.piece(unit, address)?;
        let block = piece.block?;
        let range = piece.start..piece.start + piece.len.min(len - bytes.len());
        if !block.all_initialised(range.clone()) {
            return None;
        }
        address += range.len() as u64;
        bytes.extend_from_slice(&block.bytes()[range]);
    }
    Some(bytes)
}

/// Copies runs of `run` bytes. `input` has one every `step` bytes, `output` one every `apart` bytes.
pub(crate) fn copy_runs(
    (input, step): (&[u8], usize),
    (output, apart): (&mut [u8], usize),
    run: usize,
    count: usize,
) {
    if count == 1 || step == run && apart == run {
        output[..count * run].copy_from_slice(&input[..count * run]);
        return;
    }
    match run {
        1 => copy::<1>((input, step), (output, apart), count),
        2 => copy::<2>((input, step), (output, apart), count),
        4 => copy::<4>((input, step), (output, apart), count),
        8 => copy::<8>((input, step), (output, apart), count),
        16 => copy::<16>((input, step), (output, apart), count),
        32 => copy::<32>((input, step), (output, apart), count),
        64 => copy::<64>((input, step), (output, apart), count),
        _ => {
            for k in 0..count {
                output[k * apart..][..run].copy_from_slice(&input[k * step..][..run]);
            }
        }
    }
}

fn copy<const RUN: usize>((input, step): (&[u8], usize), (output, apart): (&mut [u8], usize), count: usize) {
    for k in 0..count {
        output[k * apart..][..RUN].copy_from_slice(&input[k * step..][..RUN]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Hbm, Unit};
    use super::*;
    use crate::memory::row::Line;
    use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F32, I4, I8};
    use rand::rngs::SmallRng;
    use rand::seq::IndexedRandom;
    use rand::{Rng, SeedableRng};

    const BYTES: usize = 6000;

    fn line(address: u64) -> Line {
        Line { unit: 0, address, position: 0, stride: 1, len: BYTES }
    }

    /// Bytes, each with a flag that is true if it is written.
    fn peek(space: &impl Space, address: u64) -> (Vec<u8>, Vec<bool>) {
        let mut row = Row::new(I8);
        row.read(space, line(address));
        (row.bytes().to_vec(), row.flags().map_or(vec![true; BYTES], <[bool]>::to_vec))
    }

    /// A memory filled around the end of a page of HBM, and its first address.
    fn filled(random: &mut SmallRng, whole: bool) -> (Vec<Hbm>, u64) {
        let address = (1 << 20) - random.random_range(16..BYTES as u64);
        let codes: Vec<u8> = (0..BYTES).map(|_| random.random()).collect();
        let flags: Vec<bool> = (0..BYTES).map(|k| whole || k % 61 > 2).collect();
        let (mut row, mut hbm) = (Row::new(I8), vec![Hbm::default()]);
        row.push(&codes, BYTES, Some(&flags));
        row.write(0, &mut hbm, line(address), address);
        (hbm, address)
    }

    fn through_a_row(source: &impl Space, from: Runs, to: Runs, element: ElementType, units: &mut Vec<Unit>) {
        let mut row = Row::new(element);
        row.read_runs(source, from, false);
        row.write_runs(0, units, to, 0, false);
    }

    /// Direct moves write the same bytes and flags as moves through a row, repetitions included.
    #[test]
    fn runs_arrive_as_through_a_row() {
        let mut random = SmallRng::seed_from_u64(23);
        let (mut repeated, mut sent, mut received) = (0, 0, 0);
        for case in 0..3000 {
            let element = [I4, I8, Bf16, F32][case % 4];
            let bits = element.bits();
            let (hbm, address) = filled(&mut random, case % 3 > 0);
            let run = *[1, 2, 3, 4, 8, 16, 32, 64].choose(&mut random).expect("some lengths");
            let (count, times) = (random.random_range(1..8), random.random_range(1..4));
            let (first, place) = (random.random_range(0..9), random.random_range(0..9));
            let from =
                Runs { unit: 0, address, position: first, stride: random.random_range(0..70), run, count };
            let stride = run + random.random_range(0..20);
            let to = Runs { unit: 0, address: 24, position: place, stride, run, count };
            let next = (random.random_range(0..50), stride * count + random.random_range(0..5));
            let (mut slow, mut fast) = (vec![Unit::default()], vec![Unit::default()]);
            let elements = Elements { bits, initialised: false, marked: false, end: 0 };
            let part =
                |runs: Runs, next: usize, k: usize| Runs { position: runs.position + k * next, ..runs };
            let all = || (0..times).map(|k| (part(from, next.0, k), part(to, next.1, k)));
            all().for_each(|(from, to)| through_a_row(&hbm, from, to, element, &mut slow));
            if move_repeated((&hbm, from), (&mut fast, to), (times, next), elements) {
                repeated += 1;
            } else {
                assert_eq!(peek(&fast, 0).1, [false; BYTES], "nothing is moved");
                let mut row = Row::new(element);
                all().for_each(|(from, to)| move_runs((&hbm, from), (&mut fast, to), elements, &mut row));
            }
            assert_eq!(
                peek(&fast, 0),
                peek(&slow, 0),
                "{element:?}, {times} times {next:?}: {from:?} to {to:?}"
            );

            // The same moves between the host and a memory.
            let (bytes, flags) = peek(&hbm, address);
            let mut there = vec![Unit::default()];
            let (host, mut row) = (Runs { address: 0, ..from }, Row::new(element));
            if send_runs((&bytes, host), (&mut there, to), elements, &mut row) {
                sent += 1;
                let (mut whole, mut slow) = (vec![Hbm::default()], vec![Unit::default()]);
                let mut row = Row::new(I8);
                row.push(&bytes, BYTES, None);
                row.write(0, &mut whole, line(address), address);
                through_a_row(&whole, from, to, element, &mut slow);
                assert_eq!(peek(&there, 0), peek(&slow, 0), "{element:?} of the host: {from:?} to {to:?}");
            }
            let mut output = vec![0; BYTES];
            if receive_runs((&hbm, from), (&mut output, Runs { address: 0, ..to }), bits) {
                received += 1;
                let mut found = Row::new(element);
                found.read_runs(&hbm, from, false);
                assert!(found.flags().is_none(), "all of them were written");
                let mut slow = vec![Unit::default()];
                found.write_runs(0, &mut slow, Runs { address: 0, ..to }, 0, false);
                let (expected, written) = peek(&slow, 0);
                let all = output.iter().zip(expected).zip(written);
                assert!(
                    all.clone().all(|((&byte, expected), there)| byte == if there { expected } else { 0 })
                );
            } else {
                assert_eq!(output, vec![0; BYTES], "nothing is moved");
            }
            let end = random.random_range(1..BYTES);
            let all_there = flags[..end].iter().all(|&flag| flag);
            assert_eq!(copied(&hbm, 0, address, end), all_there.then(|| bytes[..end].to_vec()));
        }
        assert!(
            [repeated, sent, received].iter().all(|&count| count > 500),
            "{repeated}, {sent}, {received}"
        );
    }
}
