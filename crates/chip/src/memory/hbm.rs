//! High-bandwidth memory: 48 GiB per chip. Only written pages take space.

use super::block::Block;
use super::{Fresh, Piece, PieceMut};
use furiosa_visa_rules::spec::HBM_BYTES;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: usize = 1 << 20;

/// Index entry of an unwritten page.
const MISSING: u32 = u32::MAX;

/// The memory of one chip.
#[derive(Debug)]
pub(crate) struct Hbm {
    pages: Vec<Block>,
    /// The index in `pages` of each page, or [`MISSING`]. Pages past the end of the list are missing, too.
    index: Vec<u32>,
    fresh: Fresh,
    capacity: u64,
}

impl Hbm {
    /// An unwritten memory.
    pub(crate) fn new(fresh: Fresh) -> Self {
        Self::holding(fresh, HBM_BYTES)
    }

    /// An unwritten memory of `capacity` bytes.
    pub(crate) fn holding(fresh: Fresh, capacity: u64) -> Self {
        Self { pages: Vec::new(), index: Vec::new(), fresh, capacity }
    }

    /// Value that an unwritten element reads as.
    pub(crate) fn fresh(&self) -> Fresh {
        self.fresh
    }

    /// The page around an address, up to the end of the page. `None` past the end of the memory.
    #[inline]
    pub(crate) fn piece(&self, address: u64) -> Option<Piece<'_>> {
        if address >= self.capacity {
            return None;
        }
        let (page, start) = split(address);
        let place = self.index.get(page).copied().filter(|&place| place != MISSING);
        let block = place.map(|place| &self.pages[place as usize]);
        Some(Piece { block, start, len: PAGE_BYTES - start })
    }

    /// The page around an address for writing, with its bytes below `end` ready.
    #[inline]
    pub(crate) fn piece_mut(&mut self, address: u64, end: u64) -> Option<PieceMut<'_>> {
        if address >= self.capacity {
            return None;
        }
        let (page, start) = split(address);
        if page >= self.index.len() {
            self.index.resize(page + 1, MISSING);
        }
        if self.index[page] == MISSING {
            self.index[page] = self.pages.len() as u32;
            self.pages.push(Block::new(PAGE_BYTES));
        }
        let block = &mut self.pages[self.index[page] as usize];
        let first = address - start as u64;
        let in_page = end.saturating_sub(first).min(PAGE_BYTES as u64);
        block.grow((in_page as usize).max(start + 1));
        Some(PieceMut { block, start, len: PAGE_BYTES - start })
    }

    /// The pages that hold `bytes`, in order, ready to be written. `None`: the memory ends before `bytes` do.
    pub(super) fn pages_mut(&mut self, bytes: core::ops::Range<u64>) -> Option<Vec<&mut Block>> {
        let first = bytes.start / PAGE_BYTES as u64;
        let numbers = first as usize..bytes.end.div_ceil(PAGE_BYTES as u64) as usize;
        for page in numbers.clone() {
            self.piece_mut(bytes.start.max((page * PAGE_BYTES) as u64), bytes.end)?;
        }
        let mut all: Vec<Option<&mut Block>> = self.pages.iter_mut().map(Some).collect();
        numbers.map(|page| all[self.index[page] as usize].take()).collect()
    }
}

impl Default for Hbm {
    fn default() -> Self {
        Self::new(Fresh::default())
    }
}

/// Page number and byte in the page.
fn split(address: u64) -> (usize, usize) {
    ((address / PAGE_BYTES as u64) as usize, (address % PAGE_BYTES as u64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_touched_pages_take_space() {
        let mut hbm = Hbm::default();
        let last = HBM_BYTES - 1;
        let piece = hbm.piece_mut(last, HBM_BYTES).expect("the last byte exists");
        assert_eq!((piece.start, piece.len), (PAGE_BYTES - 1, 1));
        piece.block.write(piece.start, &[7]);
        assert!(hbm.piece_mut(HBM_BYTES, HBM_BYTES + 1).is_none() && hbm.piece(HBM_BYTES).is_none());
        let piece = hbm.piece(last).expect("the last byte exists");
        assert_eq!(piece.block.map(|block| block.bytes()[piece.start]), Some(7));
        let empty = hbm.piece(0).expect("the first byte exists");
        assert!(empty.block.is_none() && empty.len == PAGE_BYTES);
        assert_eq!(hbm.pages.len(), 1);
    }
}
