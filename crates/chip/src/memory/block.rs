//! A piece of memory that takes space where it has been touched.

use super::bits::Bits;
use super::fresh::Fresh;

/// The least number of bytes that a block grows by.
const LEAST_BYTES: usize = 4096;

/// Bytes that a block takes more than it holds: a page. Slices are used side by side, and blocks a power of two apart share
/// few sets of caches and of the table of pages.
const APART_BYTES: usize = 4096;

/// The alignment of address 0 on the host: a line of its caches.
const LINE_BYTES: usize = 64;

/// Bytes from address 0 to `capacity`, zero and uninitialised at first.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Address 0 and what follows, behind `first` bytes that nobody uses. A clone need not be aligned.
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

    /// A block that reads as this where nobody wrote.
    pub(crate) const fn holding(capacity: usize, fresh: Fresh) -> Self {
        Self { bytes: Vec::new(), first: 0, initialised: Bits::new(), capacity, fresh }
    }

    /// What elements read as that nobody wrote.
    pub(crate) const fn fresh(&self) -> Fresh {
        self.fresh
    }

    /// The number of bytes that the block can hold.
    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// The bytes that take space. All bytes behind them are zero and uninitialised.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.first..]
    }

    /// Makes the bytes below `end` take space, so that writes need not look.
    pub(crate) fn grow(&mut self, end: usize) {
        debug_assert!(end <= self.capacity, "callers stay inside the block");
        if end > self.bytes.len() - self.first {
            let len = end.next_power_of_two().max(LEAST_BYTES).min(self.capacity);
            // Zeroed pages that nobody touches take no memory: a tensor may lie at the end of a slice.
            let mut bytes = vec![0; len + APART_BYTES];
            let first = bytes.as_ptr().align_offset(LINE_BYTES).min(APART_BYTES);
            bytes[first..first + self.bytes().len()].copy_from_slice(self.bytes());
            bytes.truncate(first + len);
            (self.bytes, self.first) = (bytes, first);
            self.initialised.grow(len);
        }
    }

    /// The bytes for writing, after [`Block::grow`], and which of them have been written.
    pub(crate) fn parts_mut(&mut self) -> (&mut [u8], &mut Bits) {
        (&mut self.bytes[self.first..], &mut self.initialised)
    }

    /// Copies bytes out; what lies behind the bytes that take space is zero.
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

    /// Makes bytes uninitialised, as if nobody had written them.
    pub(crate) fn forget(&mut self, range: core::ops::Range<usize>) {
        let end = range.end.min(self.bytes().len());
        self.initialised.clear(range.start.min(end)..end);
    }

    /// Whether somebody wrote every byte of the range.
    #[inline]
    pub(crate) fn all_initialised(&self, range: core::ops::Range<usize>) -> bool {
        self.initialised.all_set(range)
    }

    /// Whether somebody wrote the byte.
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
