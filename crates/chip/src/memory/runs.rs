//! Runs of neighbouring elements at even distances, read into a row and written from it.

use super::copy::{ByteRuns, Elements, copy_runs};
use super::row::{Line, Row};
use super::{Space, SpaceMut};

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
        let bits = self.element().bits();
        let (size, mut rest) = (bits / 8, ByteRuns::of_bytes(runs, bits));
        while rest.count > 0 {
            let (taken, input) = rest.leading(space, initialised);
            if let Some(input) = input {
                let output = &mut self.bytes[first * size..];
                copy_runs((input, rest.step), (output, rest.run), rest.run, taken);
            } else {
                for k in 0..taken {
                    let (address, to) = (rest.address + (k * rest.step) as u64, first * size + k * rest.run);
                    self.read_bytes(space, rest.unit, address, to, rest.run, size, 1);
                }
            }
            first += taken * runs.run;
            rest = rest.behind(taken);
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
        let marked = marked || self.flags().is_some();
        let (elements, mut k) = (Elements { bits, initialised: true, marked, end }, 0);
        while k < runs.count {
            let rest = ByteRuns::of_bytes(runs.part(k, runs.count - k), bits);
            let written =
                rest.write((&self.bytes[(first + k * runs.run) * size..], rest.run), space, elements);
            if written == 0 {
                self.write(first + k * runs.run, space, runs.line(k), end);
            }
            k += written.max(1);
        }
        let Some(flags) = self.flags() else { return };
        for (k, flags) in flags[first..].chunks(runs.run).take(runs.count).enumerate() {
            let mut address = runs.start(size) + (k * runs.stride * size) as u64;
            for same in flags.chunk_by(|a, b| a == b) {
                let mark = if same[0] { set_initialised } else { forget };
                mark(space, runs.unit, address, same.len() * size);
                address += (same.len() * size) as u64;
            }
        }
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
