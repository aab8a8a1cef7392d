//! High-bandwidth memory: 48 GiB per chip, of which only written pages take space.

use super::block::Block;
use super::{Piece, PieceMut};
use crate::chip::spec::HBM_BYTES;
use std::collections::BTreeMap;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: usize = 1 << 20;

/// The memory of one chip.
#[derive(Debug, Default)]
pub(crate) struct Hbm {
    pages: Vec<Block>,
    /// Page number to place in `pages`.
    index: BTreeMap<u64, usize>,
    /// The page that was written last: writes come in long runs.
    last: Option<(u64, usize)>,
}

impl Hbm {
    /// The page around an address, as far as the page goes. `None` past the end of the memory.
    pub(crate) fn piece(&self, address: u64) -> Option<Piece<'_>> {
        if address >= HBM_BYTES {
            return None;
        }
        let (page, start) = split(address);
        let place = match self.last {
            Some((last, place)) if last == page => Some(place),
            _ => self.index.get(&page).copied(),
        };
        Some(Piece { block: place.map(|place| &self.pages[place]), start, len: PAGE_BYTES - start })
    }

    /// The page around an address for writing, with its bytes below `end` ready.
    pub(crate) fn piece_mut(&mut self, address: u64, end: u64) -> Option<PieceMut<'_>> {
        if address >= HBM_BYTES {
            return None;
        }
        let (page, start) = split(address);
        let place = match self.last {
            Some((last, place)) if last == page => place,
            _ => {
                let fresh = self.pages.len();
                let place = *self.index.entry(page).or_insert(fresh);
                if place == fresh {
                    self.pages.push(Block::new(PAGE_BYTES));
                }
                self.last = Some((page, place));
                place
            }
        };
        let block = &mut self.pages[place];
        let first = address - start as u64;
        let in_page = end.saturating_sub(first).min(PAGE_BYTES as u64);
        block.grow((in_page as usize).max(start + 1));
        Some(PieceMut { block, start, len: PAGE_BYTES - start })
    }
}

/// Page number and byte in the page.
fn split(address: u64) -> (u64, usize) {
    (address / PAGE_BYTES as u64, (address % PAGE_BYTES as u64) as usize)
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
