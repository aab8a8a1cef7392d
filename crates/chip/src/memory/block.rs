//! A piece of memory. Only its touched part takes space.

use super::bits::Bits;
use super::fresh::Fresh;

/// The smallest number of bytes that a block grows by.
const LEAST_BYTES: usize = 4096;

/// Additional bytes of a block: a page. Slices are used side by side, and blocks that lie a power of two apart share
/// few sets of the caches and of the page table cache.
const APART_BYTES: usize = 4096;

/// The alignment of address 0 on the host: a line of its caches.
const LINE_BYTES: usize = 64;

/// Bytes from address 0 to `capacity`, zero and uninitialised at first.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The bytes from address 0 on, after `first` unused bytes. A clone need not be aligned.
    bytes: Vec<u8>,
    first: usize,
    initialised: Bits,
    capacity: usize,
    fresh: Fresh,
}

impl Block {
    /// A block that reads as poison.
    pub(crate) const fn new(capacity: usize) -> Self {
        Self::holding(capacity, Fresh::POISON)
    }

    /// A block whose unwritten elements read as `fresh`.
    pub(crate) const fn holding(capacity: usize, fresh: Fresh) -> Self {
        Self { bytes: Vec::new(), first: 0, initialised: Bits::new(), capacity, fresh }
    }

    /// Value that an unwritten element reads as.
    pub(crate) const fn fresh(&self) -> Fresh {
        self.fresh
    }

    /// The number of bytes that the block can hold.
    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// The bytes that take space. All later bytes are zero and uninitialised.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.first..]
    }

    /// Lets the block hold bytes up to `capacity`.
    pub(crate) fn extend(&mut self, capacity: usize) {
        self.capacity = self.capacity.max(capacity);
    }

    /// Makes the bytes below `end` take space, so that writes need not check it.
    pub(crate) fn grow(&mut self, end: usize) {
        debug_assert!(end <= self.capacity, "callers stay inside the block");
        if end > self.bytes.len() - self.first {
            let len = end.next_power_of_two().max(LEAST_BYTES).min(self.capacity);
            // Untouched zeroed pages take no memory, even if a tensor lies at the end of a slice.
            let mut bytes = vec![0; len + APART_BYTES];
            let first = bytes.as_ptr().align_offset(LINE_BYTES).min(APART_BYTES);
            bytes[first..first + self.bytes().len()].copy_from_slice(self.bytes());
            bytes.truncate(first + len);
            (self.bytes, self.first) = (bytes, first);
            self.initialised.grow(len);
        }
    }

    /// The bytes for writing, after [`Block::grow`], and the set of written bytes.
    pub(crate) fn parts_mut(&mut self) -> (&mut [u8], &mut Bits) {
        (&mut self.bytes[self.first..], &mut self.initialised)
    }

    /// Copies bytes out. Bytes that take no space are zero.
    #[inline]
    pub(crate) fn read(&self, start: usize, output: &mut [u8]) {
        if let Some(bytes) = self.bytes().get(start..start + output.len()) {
            output.copy_from_slice(bytes);
        } else {
            let present = self.bytes().get(start..).unwrap_or(&[]);
            output[..present.len()].copy_from_slice(present);
            output[present.len()..].fill(0);
        }
    }

    /// Writes initialised bytes.
    #[cfg(test)]
    pub(crate) fn write(&mut self, start: usize, input: &[u8]) {
        let range = start..start + input.len();
        self.grow(range.end);
        self.parts_mut().0[range.clone()].copy_from_slice(input);
        self.initialised.set(range);
    }

    /// Makes bytes uninitialised, as if they were unwritten.
    pub(crate) fn forget(&mut self, range: core::ops::Range<usize>) {
        let end = range.end.min(self.bytes().len());
        self.initialised.clear(range.start.min(end)..end);
    }

    /// Tells if every byte of the range is written.
    #[inline]
    pub(crate) fn all_initialised(&self, range: core::ops::Range<usize>) -> bool {
        self.initialised.all_set(range)
    }

    /// Tells if the byte is written.
    #[inline]
    pub(crate) fn is_initialised(&self, at: usize) -> bool {
        self.initialised.get(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_reads_as_zeros_where_nothing_was_written() {
        let mut block = Block::new(10_000);
        block.write(4090, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let mut output = [9; 12];
        block.read(4088, &mut output);
        assert_eq!(output, [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0]);
        block.read(9_996, &mut output[..4]);
        assert_eq!(output[..4], [0; 4]);
        assert!(block.all_initialised(4090..4098) && !block.all_initialised(4089..4098));
        assert_eq!(block.bytes().len(), 8192);
        block.grow(10_000);
        assert_eq!(block.bytes().len(), 10_000);
    }
}
