//! A run of elements, read from one memory to be converted or written to another.

use super::runs::Runs;
use super::{Fresh, PieceMut, Space, SpaceMut};
use core::ops::Range;
use furiosa_visa_rules::scalar::ElementType;

/// A row of elements in memory: every `stride`-th element from `position` on, counted from `address`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// The unit.
    pub(crate) unit: usize,
    /// The byte address of element 0.
    pub(crate) address: u64,
    /// The first element. The memory has no elements at negative positions.
    pub(crate) position: i64,
    /// Distance of two neighbouring elements of the row, in elements.
    pub(crate) stride: usize,
    /// The number of elements.
    pub(crate) len: usize,
}

/// Packed elements, each marked as initialised or not.
#[derive(Debug)]
pub(crate) struct Row {
    element: ElementType,
    pub(super) bytes: Vec<u8>,
    len: usize,
    /// One entry per element; empty as long as all elements are initialised.
    flags: Vec<bool>,
}

impl Row {
    /// An empty row.
    pub(crate) const fn new(element: ElementType) -> Self {
        Self { element, bytes: Vec::new(), len: 0, flags: Vec::new() }
    }

    /// Removes all elements. The next ones have this type.
    pub(crate) fn clear(&mut self, element: ElementType) {
        self.element = element;
        self.bytes.clear();
        self.len = 0;
        self.flags.clear();
    }

    /// The type of the elements.
    pub(crate) const fn element(&self) -> ElementType {
        self.element
    }

    /// The number of elements.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The elements in their encoding. `i5` and `i9` lie in their containers.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A flag per element: true if it is initialised. `None`: all are.
    pub(crate) fn flags(&self) -> Option<&[bool]> {
        (!self.flags.is_empty()).then_some(&self.flags[..])
    }

    /// Appends packed elements. Elements before them must fill whole bytes. `flags` of `None`: all initialised.
    pub(crate) fn push(&mut self, bytes: &[u8], len: usize, flags: Option<&[bool]>) {
        debug_assert_eq!(
            bytes.len(),
            (len * self.element.container_bits()).div_ceil(8),
            "the bytes are the elements"
        );
        self.bytes.extend_from_slice(bytes);
        match flags {
            Some(flags) => {
                self.flags.resize(self.len, true);
                self.flags.extend_from_slice(flags);
            }
            None if !self.flags.is_empty() => self.flags.resize(self.len + len, true),
            None => {}
        }
        self.len += len;
    }

    /// Appends `len` zero elements to an empty row and returns them for writing. With `flags`, the leading flags are
    /// copied and the others say uninitialised; the flags are returned, too.
    pub(crate) fn push_blank(&mut self, len: usize, flags: Option<&[bool]>) -> (&mut [u8], &mut [bool]) {
        debug_assert_eq!(self.len, 0, "the row is empty");
        self.bytes.resize((len * self.element.container_bits()).div_ceil(8), 0);
        self.len = len;
        if let Some(flags) = flags {
            self.flags.extend_from_slice(flags);
            self.flags.resize(len, false);
        }
        (&mut self.bytes, &mut self.flags)
    }

    /// Replaces all elements by `len` initialised elements of any value and returns them for writing.
    pub(crate) fn renew(&mut self, element: ElementType, len: usize) -> &mut [u8] {
        self.element = element;
        self.len = len;
        self.flags.clear();
        self.bytes.resize((len * element.container_bits()).div_ceil(8), 0);
        &mut self.bytes
    }

    /// Trades all elements for those of another list, which have this type. `flags` is empty where all are initialised.
    pub(crate) fn trade(&mut self, element: ElementType, bytes: &mut Vec<u8>, flags: &mut Vec<bool>) {
        core::mem::swap(&mut self.bytes, bytes);
        core::mem::swap(&mut self.flags, flags);
        self.element = element;
        self.len = self.bytes.len() * 8 / element.container_bits();
        debug_assert!(self.flags.is_empty() || self.flags.len() == self.len, "a flag is of an element");
    }

    /// Appends the elements of a line. Unwritten elements, and elements outside of the memory, are uninitialised and
    /// read as the memory's fresh value.
    pub(crate) fn read(&mut self, space: &impl Space, line: Line) {
        if let Some(bytes) = self.find_whole(space, line) {
            self.bytes.extend_from_slice(bytes);
            self.len += line.len;
            return;
        }
        let first = self.lengthen(line.len);
        if line.stride == 0 && line.len > 1 {
            self.read_at(space, first, Line { len: 1, ..line });
            self.repeat(first, line.len);
        } else {
            self.read_at(space, first, line);
        }
    }

    /// Reads the elements of a line into the elements from `first` on.
    fn read_at(&mut self, space: &impl Space, first: usize, line: Line) {
        if let Some(line) = self.led_line(line) {
            self.read_part(space, first, line);
        } else if line.position < 0 {
            for k in 0..line.len {
                let position = line.position + (k * line.stride) as i64;
                if position < 0 {
                    self.miss(first + k, space.fresh(line.unit), position as u64);
                } else {
                    self.read_part(space, first + k, Line { position, len: 1, ..line });
                }
            }
        } else {
            self.read_part(space, first, line);
        }
    }

    /// The bytes of a simple line: whole bytes that lie together, all written.
    fn find_whole<'a>(&self, space: &'a impl Space, line: Line) -> Option<&'a [u8]> {
        let Line { unit, address, position, stride, len } = line;
        let size = self.element.container_bits() / 8;
        if size == 0 || stride != 1 || position < 0 || !self.flags.is_empty() {
            return None;
        }
        let piece = space.piece(unit, address + position as u64 * size as u64)?;
        let range = piece.start..piece.start + len * size;
        let block =
            piece.block.filter(|block| len * size <= piece.len && block.all_initialised(range.clone()))?;
        block.bytes().get(range)
    }

    /// A line that starts before its address, counted from its first byte. `None`: it starts at or after its address,
    /// or the memory has no such byte.
    fn led_line(&self, line: Line) -> Option<Line> {
        let before = usize::try_from(-line.position).ok().filter(|&before| before > 0)?;
        let bits = self.element.container_bits();
        let bytes = (before * bits).div_ceil(8);
        let address = line.address.checked_sub(bytes as u64)?;
        Some(Line { address, position: line.position + (bytes * 8 / bits) as i64, ..line })
    }

    /// Appends `len` elements without values and returns the number of the first one.
    pub(crate) fn lengthen(&mut self, len: usize) -> usize {
        if !self.flags.is_empty() {
            self.flags.resize(self.len + len, true);
        }
        let first = self.len;
        self.len += len;
        self.bytes.resize((self.len * self.element.container_bits()).div_ceil(8), 0);
        first
    }

    /// Copies element `first` to the `len - 1` elements after it.
    fn repeat(&mut self, first: usize, len: usize) {
        match self.element.container_bits() {
            4 => {
                let nibble = nibble(&self.bytes, first);
                (first..first + len).for_each(|k| set_nibble(&mut self.bytes, k, nibble));
            }
            bits => {
                let size = bits / 8;
                let (start, end) = (first * size, (first + len) * size);
                for at in (start + size..end).step_by(size) {
                    self.bytes.copy_within(start..start + size, at);
                }
            }
        }
        if !self.flags.is_empty() {
            let flag = self.flags[first];
            self.flags[first..first + len].fill(flag);
        }
    }

    /// Sets elements to a code. They count as initialised.
    pub(crate) fn fill(&mut self, elements: Range<usize>, code: u32) {
        match self.element.bits() {
            4 => elements.clone().for_each(|k| set_nibble(&mut self.bytes, k, code as u8 & 15)),
            bits => {
                let (size, code) = (bits / 8, code.to_le_bytes());
                let places = self.bytes[elements.start * size..elements.end * size].chunks_exact_mut(size);
                places.for_each(|place| place.copy_from_slice(&code[..size]));
            }
        }
        if !self.flags.is_empty() {
            self.flags[elements].fill(true);
        }
    }

    /// Marks an element as uninitialised and gives it the fresh code of its place. `place` counts half bytes.
    pub(super) fn miss(&mut self, k: usize, fresh: Fresh, place: u64) {
        if self.flags.is_empty() {
            self.flags.resize(self.len, true);
        }
        if self.flags[k] {
            self.flags[k] = false;
            let code = fresh.code(self.element, place);
            match self.element.container_bits() {
                4 => set_nibble(&mut self.bytes, k, code as u8),
                bits => {
                    let size = bits / 8;
                    self.bytes[k * size..(k + 1) * size].copy_from_slice(&code.to_le_bytes()[..size]);
                }
            }
        }
    }

    fn read_part(&mut self, space: &impl Space, first: usize, line: Line) {
        if self.element.container_bits() == 4 {
            self.read_nibbles(space, first, line);
        } else if line.stride == 1 || line.len == 1 {
            self.read_run(space, first, line);
        } else {
            self.read_runs_at(space, first, Runs::of(line), false);
        }
    }

    /// Reads neighbouring elements of whole bytes.
    fn read_run(&mut self, space: &impl Space, first: usize, line: Line) {
        let size = self.element.container_bits() / 8;
        let address = line.address + line.position as u64 * size as u64;
        self.read_bytes(space, line.unit, address, first * size, line.len * size, size, 1);
    }

    /// Reads `len` bytes to byte `to` of the row. An element takes `size` bytes; a byte holds `per_byte` elements.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn read_bytes(
        &mut self,
        space: &impl Space,
        unit: usize,
        mut address: u64,
        mut to: usize,
        mut len: usize,
        size: usize,
        per_byte: usize,
    ) {
        let fresh = space.fresh(unit);
        while len > 0 {
            let piece = space.piece(unit, address);
            let taken = piece.map_or(len, |piece| piece.len.min(len));
            let output = &mut self.bytes[to..to + taken];
            // Marks all elements of byte `k` as unwritten, each with the place of its first byte.
            let miss = |row: &mut Self, k: usize| {
                let element = (to + k) * per_byte / size;
                for e in element..(element + per_byte).min(row.len) {
                    let place = (address * 2).wrapping_add((e * size * 2 / per_byte) as u64);
                    row.miss(e, fresh, place.wrapping_sub(to as u64 * 2));
                }
            };
            match piece.and_then(|piece| piece.block.map(|block| (block, piece.start))) {
                Some((block, start)) => {
                    block.read(start, output);
                    if !block.all_initialised(start..start + taken) {
                        for k in 0..taken {
                            if !block.is_initialised(start + k) {
                                miss(self, k);
                            }
                        }
                    }
                }
                None => {
                    output.fill(0);
                    (0..taken).for_each(|k| miss(self, k));
                }
            }
            address += taken as u64;
            to += taken;
            len -= taken;
        }
    }

    fn read_nibbles(&mut self, space: &impl Space, mut first: usize, line: Line) {
        let (mut position, mut len) = (line.position as usize, line.len);
        if line.stride == 1 && position.is_multiple_of(2) && first.is_multiple_of(2) {
            let address = line.address + position as u64 / 2;
            self.read_bytes(space, line.unit, address, first / 2, len / 2, 1, 2);
            let read = len / 2 * 2;
            (position, first, len) = (position + read, first + read, len - read);
        }
        for k in 0..len {
            let at = position + k * line.stride;
            let piece = space.piece(line.unit, line.address + at as u64 / 2);
            let found = piece.and_then(|piece| piece.block.map(|block| (block, piece.start)));
            let byte = found.and_then(|(block, start)| block.bytes().get(start).copied()).unwrap_or(0);
            set_nibble(&mut self.bytes, first + k, byte >> (4 * (at % 2)) & 15);
            if !found.is_some_and(|(block, start)| block.is_initialised(start)) {
                self.miss(first + k, space.fresh(line.unit), line.address * 2 + at as u64);
            }
        }
    }

    /// Writes elements from `first` on to a line. Bytes from `end` on are not expected to follow soon. Elements outside
    /// of the memory are not written.
    pub(crate) fn write(&self, first: usize, space: &mut impl SpaceMut, line: Line, end: u64) {
        if line.position < 0 {
            for k in 0..line.len {
                let position = line.position + (k * line.stride) as i64;
                if position >= 0 {
                    self.write(first + k, space, Line { position, len: 1, ..line }, end);
                }
            }
        } else if self.element.container_bits() == 4 {
            self.write_nibbles(first, space, line, end);
        } else if line.stride == 1 || line.len == 1 {
            let size = self.element.container_bits() / 8;
            let address = line.address + line.position as u64 * size as u64;
            self.write_bytes(space, line.unit, address, first * size, line.len * size, size, end);
        } else {
            self.write_runs(first, space, Runs::of(line), end, false);
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn write_bytes(
        &self,
        space: &mut impl SpaceMut,
        unit: usize,
        mut address: u64,
        mut from: usize,
        mut len: usize,
        size: usize,
        end: u64,
    ) {
        while len > 0 {
            let Some(PieceMut { block, start, len: present }) = space.piece_mut(unit, address, end) else {
                return;
            };
            let taken = present.min(len);
            block.grow(start + taken);
            let (bytes, initialised) = block.parts_mut();
            bytes[start..start + taken].copy_from_slice(&self.bytes[from..from + taken]);
            if self.flags.is_empty() {
                initialised.set(start..start + taken);
            } else {
                let mut element = from / size;
                for alike in self.flags[element..(from + taken).div_ceil(size)].chunk_by(|a, b| a == b) {
                    // The first and the last element may have bytes outside of the piece.
                    let end = element + alike.len();
                    let place = |element: usize| start + (element * size).clamp(from, from + taken) - from;
                    let (low, high) = (place(element), place(end));
                    match alike[0] {
                        true => initialised.set(low..high),
                        false => initialised.clear(low..high),
                    }
                    element = end;
                }
            }
            address += taken as u64;
            from += taken;
            len -= taken;
        }
    }

    fn write_nibbles(&self, mut first: usize, space: &mut impl SpaceMut, line: Line, end: u64) {
        let (mut position, mut len) = (line.position as usize, line.len);
        if line.stride == 1 && position.is_multiple_of(2) && first.is_multiple_of(2) && self.flags.is_empty()
        {
            let address = line.address + position as u64 / 2;
            self.write_bytes(space, line.unit, address, first / 2, len / 2, 1, end);
            let written = len / 2 * 2;
            (position, first, len) = (position + written, first + written, len - written);
        }
        for k in 0..len {
            let at = position + k * line.stride;
            let Some(piece) = space.piece_mut(line.unit, line.address + at as u64 / 2, end) else {
                return;
            };
            let (bytes, initialised) = piece.block.parts_mut();
            set_nibble(&mut bytes[piece.start..], at % 2, nibble(&self.bytes, first + k));
            let byte = piece.start..piece.start + 1;
            // The other element of the byte, if the line has it. Elements of a row and of memory pair up differently.
            let pair = if at.is_multiple_of(2) { first + k + 1 } else { (first + k).wrapping_sub(1) };
            if self.flags.is_empty() || self.flags[first + k] {
                initialised.set(byte);
            } else if line.stride == 1
                && (at ^ 1) >= position
                && (at ^ 1) < position + len
                && self.flags.get(pair) == Some(&false)
            {
                initialised.clear(byte);
            }
        }
    }
}

/// Element `k` of packed nibbles.
#[inline]
pub(crate) fn nibble(bytes: &[u8], k: usize) -> u8 {
    bytes[k / 2] >> (4 * (k % 2)) & 15
}

/// Replaces element `k` of packed nibbles.
#[inline]
pub(crate) fn set_nibble(bytes: &mut [u8], k: usize, value: u8) {
    let shift = 4 * (k % 2);
    bytes[k / 2] = bytes[k / 2] & !(15 << shift) | value << shift;
}

#[cfg(test)]
mod tests {
    use super::super::{Hbm, Unit};
    use super::*;

    /// Writes with one stride and reads with another, over a page boundary, against a list of elements.
    fn check(element: ElementType, space: &mut impl SpaceMut, address: u64) {
        let bits = element.bits();
        let count = 60;
        for stride in [1, 2, 3, 7] {
            for offset in [0, 1, 5] {
                let codes: Vec<u8> = (0..count * bits.div_ceil(8)).map(|k| (k * 37 + stride) as u8).collect();
                let mut row = Row::new(element);
                row.push(&codes[..(count * bits).div_ceil(8)], count, None);
                let line = Line { unit: 0, address, position: offset as i64, stride, len: count };
                row.write(0, space, line, address);
                let mut back = Row::new(element);
                back.read(space, line);
                assert_eq!(back.bytes(), row.bytes(), "{element:?} stride {stride} offset {offset}");
                assert!(back.flags().is_none());
                // Reads one element at a time, also behind an odd number of elements.
                let mut single = Row::new(element);
                for k in 0..count {
                    let position = (offset + k * stride) as i64;
                    single.read(space, Line { position, len: 1, ..line });
                }
                assert_eq!(single.bytes(), row.bytes());
                let mut copies = Row::new(element);
                copies.read(space, Line { stride: 0, len: 5, ..line });
                let mut five = Row::new(element);
                (0..5).for_each(|_| five.read(space, Line { stride: 0, len: 1, ..line }));
                assert_eq!(copies.bytes(), five.bytes());
                // The same places, counted from an address that lies 8 elements later: 8 elements take `bits` bytes.
                let before = Line { address: address + bits as u64, position: line.position - 8, ..line };
                for (stride, len) in [(0, 5), (0, 1), (1, 5), (stride, count)] {
                    let (mut there, mut here) = (Row::new(element), Row::new(element));
                    there.read(space, Line { stride, len, ..before });
                    here.read(space, Line { stride, len, ..line });
                    assert_eq!(there.bytes(), here.bytes(), "{element:?} stride {stride} offset {offset}");
                }
            }
        }
    }

    #[test]
    fn rows_cross_pages_and_bytes() {
        use ElementType::{Bf16, F32, I4, I8};
        for element in [I4, I8, Bf16, F32] {
            check(element, &mut vec![Unit::default()], 40);
            check(element, &mut vec![Hbm::default()], (1 << 20) - 33);
        }
    }

    #[test]
    fn uninitialised_elements_travel() {
        let mut units = vec![Unit::default(), Unit::default()];
        let line = |unit, position, stride, len| Line { unit, address: 8, position, stride, len };
        let mut row = Row::new(ElementType::Bf16);
        row.push(&[1, 0, 2, 0, 3, 0], 3, Some(&[true, false, true]));
        row.write(0, &mut units, line(0, 2, 3, 3), 0);
        let mut back = Row::new(ElementType::Bf16);
        back.read(&units, line(0, -1, 1, 11));
        let expected: Vec<bool> = (-1..10).map(|k| k == 2 || k == 8).collect();
        assert_eq!(back.flags(), Some(&expected[..]));
        back.write(0, &mut units, line(1, 0, 1, 11), 0);
        let mut again = Row::new(ElementType::Bf16);
        again.read(&units, line(1, 0, 1, 11));
        assert_eq!((again.flags(), again.bytes()), (back.flags(), back.bytes()));
    }

    #[test]
    fn outside_of_the_memory_everything_is_poison() {
        let mut units = vec![Unit::default()];
        let end = furiosa_visa_rules::spec::DM_BYTES as u64;
        let line = Line { unit: 0, address: end - 4, position: 0, stride: 1, len: 8 };
        let mut row = Row::new(ElementType::I8);
        row.push(&[1; 8], 8, None);
        row.write(0, &mut units, line, end);
        let mut back = Row::new(ElementType::I8);
        back.read(&units, line);
        assert_eq!(back.bytes(), [1, 1, 1, 1, 0x80, 0x80, 0x80, 0x80]);
        assert_eq!(back.flags(), Some(&[true, true, true, true, false, false, false, false][..]));
        back.clear(ElementType::I8);
        back.read(&units, Line { unit: 9, ..line });
        assert_eq!(back.flags(), Some(&[false; 8][..]));
    }
}
