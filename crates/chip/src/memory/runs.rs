//! Runs of neighbouring elements at even distances, read into a row and written from it.

use super::row::{Line, Row};
use super::{PieceMut, Space, SpaceMut};

/// Runs in a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs {
    /// The unit.
    pub(crate) unit: usize,
    /// The byte address of element 0.
    pub(crate) address: u64,
    /// The first element.
    pub(crate) position: usize,
    /// Distance of the starts of two runs, in elements.
    pub(crate) stride: usize,
    /// Number of elements in a run.
    pub(crate) run: usize,
    /// The number of runs.
    pub(crate) count: usize,
}

impl Runs {
    /// The elements of a line as runs of one.
    pub(super) fn of(line: Line) -> Self {
        let Line { unit, address, stride, len, .. } = line;
        Self { unit, address, position: line.position as usize, stride, run: 1, count: len }
    }

    /// `count` of the runs, from run `first` on.
    pub(super) fn part(self, first: usize, count: usize) -> Self {
        Self { position: self.position + first * self.stride, count, ..self }
    }

    /// Run `k` as a line.
    fn line(self, k: usize) -> Line {
        let position = (self.position + k * self.stride) as i64;
        Line { unit: self.unit, address: self.address, position, stride: 1, len: self.run }
    }

    /// The line that holds the elements of all runs in order. `None`: there is no such line.
    fn as_line(self) -> Option<Line> {
        let Self { unit, address, stride, run, count, .. } = self;
        let position = self.position as i64;
        if count == 1 || stride == run {
            Some(Line { unit, address, position, stride: 1, len: run * count })
        } else if run == 1 {
            Some(Line { unit, address, position, stride, len: count })
        } else {
            None
        }
    }

    /// The byte address of the first run. Elements take `size` bytes.
    fn start(self, size: usize) -> u64 {
        self.address + self.position as u64 * size as u64
    }
}

/// Number of runs that fit into `room` bytes, at most `count`. A run takes `run` bytes and starts `step` bytes after
/// the one before it.
pub(super) fn fitting(room: usize, step: usize, run: usize, count: usize) -> usize {
    match room.checked_sub(run) {
        None => 0,
        Some(_) if step == 0 => count,
        Some(rest) if rest >= (count - 1) * step => count,
        Some(rest) => rest / step + 1,
    }
}

impl Row {
    /// Appends the elements of the runs. `initialised`: all of them are known to be written.
    pub(crate) fn read_runs(&mut self, space: &impl Space, runs: Runs, initialised: bool) {
        let bits = self.element().bits();
        if bits == 4 || runs.stride == runs.run || runs.count == 1 {
            match runs.as_line() {
                Some(line) => self.read(space, line),
                None => (0..runs.count).for_each(|k| self.read(space, runs.line(k))),
            }
            return;
        }
        let first = self.lengthen(runs.run * runs.count);
        self.read_runs_at(space, first, runs, initialised);
    }

    /// Reads runs of elements of whole bytes into the elements from `first` on, which exist already.
    pub(super) fn read_runs_at(
        &mut self,
        space: &impl Space,
        mut first: usize,
        runs: Runs,
        initialised: bool,
    ) {
        let size = self.element().bits() / 8;
        let (run, step) = (runs.run * size, runs.stride * size);
        let mut address = runs.start(size);
        let mut count = runs.count;
        while count > 0 {
            let piece = space.piece(runs.unit, address);
            let found = piece.and_then(|piece| piece.block.map(|block| (block, piece.start, piece.len)));
            let taken = found.map_or(0, |(block, start, len)| {
                fitting(block.bytes().len().saturating_sub(start).min(len), step, run, count)
            });
            if let Some((block, start, _)) = found
                && taken > 0
            {
                let hull = start..start + (taken - 1) * step + run;
                let output = &mut self.bytes[first * size..first * size + taken * run];
                gather_runs(&block.bytes()[hull.clone()], step, run, output);
                // Checking the gaps as well is faster where they are small.
                if !initialised && (step > 64 * run || !block.all_initialised(hull)) {
                    for k in 0..taken {
                        let at = start + k * step;
                        if block.all_initialised(at..at + run) {
                            continue;
                        }
                        for e in 0..runs.run {
                            let element = at + e * size;
                            if !block.all_initialised(element..element + size) {
                                let place = (address + (k * step + e * size) as u64) * 2;
                                self.miss(first + k * runs.run + e, space.fresh(runs.unit), place);
                            }
                        }
                    }
                }
            } else {
                self.read_bytes(space, runs.unit, address, first * size, run, size, 1);
            }
            let taken = taken.max(1);
            address += (taken * step) as u64;
            first += taken * runs.run;
            count -= taken;
        }
    }

    /// Writes elements from `first` on to the runs. Bytes from `end` on are not expected to follow soon. Elements
    /// outside of the memory are not written. `marked`: all elements are initialised, and the caller marks their bytes.
    pub(crate) fn write_runs(
        &self,
        first: usize,
        space: &mut impl SpaceMut,
        runs: Runs,
        end: u64,
        marked: bool,
    ) {
        let bits = self.element().bits();
        if bits == 4 || runs.stride == runs.run || runs.count == 1 {
            match runs.as_line() {
                Some(line) => self.write(first, space, line, end),
                None => {
                    (0..runs.count).for_each(|k| self.write(first + k * runs.run, space, runs.line(k), end));
                }
            }
            return;
        }
        let size = bits / 8;
        let (run, step) = (runs.run * size, runs.stride * size);
        let mut address = runs.start(size);
        let mut from = first;
        let mut count = runs.count;
        while count > 0 {
            let Some(PieceMut { block, start, len }) = space.piece_mut(runs.unit, address, end) else {
                return;
            };
            let taken = fitting(len, step, run, count);
            if taken == 0 {
                self.write_bytes(space, runs.unit, address, from * size, run, size, end);
            } else {
                let hull = start..start + (taken - 1) * step + run;
                block.grow(hull.end);
                let (bytes, initialised) = block.parts_mut();
                let input = &self.bytes[from * size..from * size + taken * run];
                scatter_runs(input, step, run, &mut bytes[hull]);
                match self.flags() {
                    None if marked => {}
                    None => {
                        for at in (0..taken).map(|k| start + k * step) {
                            initialised.set(at..at + run);
                        }
                    }
                    Some(flags) => {
                        for (k, e) in (0..taken).flat_map(|k| (0..runs.run).map(move |e| (k, e))) {
                            let at = start + k * step + e * size;
                            match flags[from + k * runs.run + e] {
                                true => initialised.set(at..at + size),
                                false => initialised.clear(at..at + size),
                            }
                        }
                    }
                }
            }
            let taken = taken.max(1);
            address += (taken * step) as u64;
            from += taken * runs.run;
            count -= taken;
        }
    }
}

/// Packs runs of `run` bytes. `input` has one every `step` bytes.
pub(crate) fn gather_runs(input: &[u8], step: usize, run: usize, output: &mut [u8]) {
    match run {
        1 => gather::<1>(input, step, output),
        2 => gather::<2>(input, step, output),
        4 => gather::<4>(input, step, output),
        8 => gather::<8>(input, step, output),
        16 => gather::<16>(input, step, output),
        32 => gather::<32>(input, step, output),
        64 => gather::<64>(input, step, output),
        _ => {
            for (k, to) in output.chunks_exact_mut(run).enumerate() {
                to.copy_from_slice(&input[k * step..][..run]);
            }
        }
    }
}

/// Spreads packed runs of `run` bytes. `output` takes one every `step` bytes.
pub(crate) fn scatter_runs(input: &[u8], step: usize, run: usize, output: &mut [u8]) {
    match run {
        1 => scatter::<1>(input, step, output),
        2 => scatter::<2>(input, step, output),
        4 => scatter::<4>(input, step, output),
        8 => scatter::<8>(input, step, output),
        16 => scatter::<16>(input, step, output),
        32 => scatter::<32>(input, step, output),
        64 => scatter::<64>(input, step, output),
        _ => {
            for (k, from) in input.chunks_exact(run).enumerate() {
                output[k * step..][..run].copy_from_slice(from);
            }
        }
    }
}

fn gather<const RUN: usize>(input: &[u8], step: usize, output: &mut [u8]) {
    for (k, run) in output.as_chunks_mut::<RUN>().0.iter_mut().enumerate() {
        run.copy_from_slice(&input[k * step..][..RUN]);
    }
}

fn scatter<const RUN: usize>(input: &[u8], step: usize, output: &mut [u8]) {
    for (k, run) in input.as_chunks::<RUN>().0.iter().enumerate() {
        output[k * step..][..RUN].copy_from_slice(run);
    }
}

/// Tells if `len` bytes are all written.
pub(crate) fn all_initialised(space: &impl Space, unit: usize, mut address: u64, mut len: usize) -> bool {
    while len > 0 {
        let Some((block, piece)) = space.piece(unit, address).and_then(|piece| Some((piece.block?, piece)))
        else {
            return false;
        };
        let taken = piece.len.min(len);
        if !block.all_initialised(piece.start..piece.start + taken) {
            return false;
        }
        address += taken as u64;
        len -= taken;
    }
    true
}

/// Marks `len` bytes as written.
pub(crate) fn set_initialised(space: &mut impl SpaceMut, unit: usize, mut address: u64, mut len: usize) {
    while len > 0 {
        let Some(piece) = space.piece_mut(unit, address, address + len as u64) else {
            return;
        };
        let taken = piece.len.min(len);
        piece.block.grow(piece.start + taken);
        piece.block.parts_mut().1.set(piece.start..piece.start + taken);
        address += taken as u64;
        len -= taken;
    }
}

/// Marks `len` bytes as unwritten. Bytes that take no space are unwritten already.
pub(crate) fn forget(space: &mut impl SpaceMut, unit: usize, mut address: u64, mut len: usize) {
    while len > 0 {
        let Some(piece) = space.piece(unit, address) else { return };
        let taken = piece.len.min(len);
        let there = piece.block.map_or(0, |block| block.bytes().len().saturating_sub(piece.start)).min(taken);
        if there > 0
            && let Some(piece) = space.piece_mut(unit, address, address + there as u64)
        {
            piece.block.forget(piece.start..piece.start + there);
        }
        address += taken as u64;
        len -= taken;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Hbm, Unit};
    use super::*;
    use furiosa_visa_rules::scalar::ElementType;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    /// Bytes and flags of the runs, read element by element.
    fn naive(space: &impl Space, element: ElementType, runs: Runs) -> (Vec<u8>, Vec<bool>) {
        let mut row = Row::new(element);
        for (k, e) in (0..runs.count).flat_map(|k| (0..runs.run).map(move |e| (k, e))) {
            let position = (runs.position + k * runs.stride + e) as i64;
            let Runs { unit, address, .. } = runs;
            row.read(space, Line { unit, address, position, stride: 1, len: 1 });
        }
        (row.bytes().to_vec(), row.flags().map_or(vec![true; row.len()], <[bool]>::to_vec))
    }

    fn check(space: &mut impl SpaceMut, address: u64, random: &mut SmallRng) {
        use ElementType::{Bf16, F32, I4, I8};
        for element in [I4, I8, Bf16, F32] {
            for _ in 0..60 {
                let all: Vec<u8> = (0..2048).map(|_| random.random()).collect();
                let flags: Vec<bool> = (0..2048).map(|k| k % 97 < 90).collect();
                let mut row = Row::new(ElementType::I8);
                row.push(&all, 2048, Some(&flags));
                row.write(0, space, Line { unit: 0, address, position: 0, stride: 1, len: 2048 }, address);

                let run = [1, 2, 3, 4, 8, 16, 32][random.random_range(0..7)];
                let count = random.random_range(1..8);
                let (position, stride) = (random.random_range(0..9), random.random_range(0..50));
                let runs = Runs { unit: 0, address, position, stride, run, count };
                let (bytes, expected) = naive(space, element, runs);
                let mut row = Row::new(element);
                row.read_runs(space, runs, false);
                assert_eq!(row.bytes(), bytes, "{element:?} {runs:?}");
                let found = row.flags().map_or(vec![true; row.len()], <[bool]>::to_vec);
                assert_eq!(found, expected, "{element:?} {runs:?}");

                let to = Runs { stride: run + random.random_range(0..20), ..runs };
                row.write_runs(0, space, to, address, false);
                let (written, marks) = naive(space, element, to);
                assert_eq!(written, bytes, "{element:?} {to:?}");
                // Two 4-bit elements share their mark.
                if element != I4 {
                    assert_eq!(marks, expected, "{element:?} {to:?}");
                }
            }
        }
    }

    #[test]
    fn runs_are_their_elements() {
        let mut random = SmallRng::seed_from_u64(17);
        check(&mut vec![Unit::default()], 24, &mut random);
        check(&mut vec![Hbm::default()], (1 << 20) - 301, &mut random);
    }

    #[test]
    fn marks_cross_pages() {
        let mut hbm = vec![Hbm::default()];
        let start = (1 << 20) - 5;
        set_initialised(&mut hbm, 0, start, (1 << 20) + 10);
        assert!(all_initialised(&hbm, 0, start, (1 << 20) + 10));
        assert!(!all_initialised(&hbm, 0, start - 1, 2) && !all_initialised(&hbm, 0, start, (1 << 20) + 11));
        assert!(!all_initialised(&hbm, 1, start, 1));
        forget(&mut hbm, 0, start + 3, 1 << 20);
        assert!(all_initialised(&hbm, 0, start, 3) && all_initialised(&hbm, 0, start + 3 + (1 << 20), 7));
        let middle = [start + 3, 1 << 20, start + 2 + (1 << 20)];
        assert!(middle.iter().all(|&byte| !all_initialised(&hbm, 0, byte, 1)));
        // Nothing is stored there, so nothing is forgotten and no page is made.
        forget(&mut hbm, 0, 1 << 34, 1 << 22);
        assert!(hbm[0].piece(1 << 34).is_some_and(|piece| piece.block.is_none()));
        let mut units = vec![Unit::default()];
        forget(&mut units, 0, 0, 4096);
        assert!(units[0].dm.bytes().is_empty());
    }
}
