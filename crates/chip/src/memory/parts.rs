//! Memories in parts that threads write at the same time.

pub(crate) use super::hbm::PAGE_BYTES;
use super::{Block, Fresh, Hbm, Piece, PieceMut, Space, SpaceMut, Unit};
use core::ops::Range;

/// The DM of some slices.
#[derive(Debug)]
pub(crate) struct Slices<'a> {
    /// Number of the first slice.
    first: usize,
    units: &'a mut [Unit],
}

impl<'a> Slices<'a> {
    /// Splits the slices into a part per range. A part extends to the end of its range. Ranges ascend.
    pub(crate) fn parts(units: &'a mut [Unit], ranges: impl Iterator<Item = Range<usize>>) -> Vec<Self> {
        let (mut first, mut rest) = (0, units);
        ranges
            .map(|range| {
                let len = range.end.saturating_sub(first).min(rest.len());
                let (units, behind) = core::mem::take(&mut rest).split_at_mut(len);
                rest = behind;
                let part = Self { first, units };
                first += len;
                part
            })
            .collect()
    }
}

impl Space for Slices<'_> {
    #[inline]
    fn piece(&self, unit: usize, address: u64) -> Option<Piece<'_>> {
        self.units.get(unit.checked_sub(self.first)?)?.dm.piece(address)
    }

    fn fresh(&self, unit: usize) -> Fresh {
        let unit = unit.checked_sub(self.first).and_then(|unit| self.units.get(unit));
        unit.map_or(Fresh::default(), |unit| unit.dm.fresh())
    }
}

impl SpaceMut for Slices<'_> {
    #[inline]
    fn piece_mut(&mut self, unit: usize, address: u64, end: u64) -> Option<PieceMut<'_>> {
        self.units.get_mut(unit.checked_sub(self.first)?)?.dm.piece_mut(address, end)
    }
}

/// Some pages of the HBM of a chip. All of them take space.
#[derive(Debug)]
pub(crate) struct Pages<'a> {
    /// Number of the chip.
    chip: usize,
    /// Number of the first page.
    first: usize,
    pages: Vec<&'a mut Block>,
    fresh: Fresh,
}

impl<'a> Pages<'a> {
    /// Splits the pages into a part per range of addresses, which holds the range. Each range follows the one before
    /// it, and all but the first begin at the start of a page, so that two parts never share a page. `None`: the memory
    /// ends before the ranges do.
    pub(crate) fn parts(hbm: &'a mut Hbm, chip: usize, ranges: &[Range<u64>]) -> Option<Vec<Self>> {
        let page = |address: u64| (address / PAGE_BYTES as u64) as usize;
        let (start, end) = (ranges.first()?.start, ranges.last()?.end);
        let fresh = hbm.fresh();
        let mut rest = hbm.pages_mut(start..end)?.into_iter();
        let mut first = page(start);
        let part = |range: &Range<u64>| {
            let behind = page(range.end.next_multiple_of(PAGE_BYTES as u64));
            let pages = rest.by_ref().take(behind.saturating_sub(first)).collect::<Vec<_>>();
            let part = Self { chip, first, pages, fresh };
            first += part.pages.len();
            part
        };
        Some(ranges.iter().map(part).collect())
    }

    /// The index of a page in the list, and the offset of the address in the page.
    #[inline]
    fn place(&self, unit: usize, address: u64) -> Option<(usize, usize)> {
        let page = ((address / PAGE_BYTES as u64) as usize).checked_sub(self.first)?;
        (unit == self.chip && page < self.pages.len())
            .then_some((page, (address % PAGE_BYTES as u64) as usize))
    }
}

impl Space for Pages<'_> {
    #[inline]
    fn piece(&self, unit: usize, address: u64) -> Option<Piece<'_>> {
        let (page, start) = self.place(unit, address)?;
        Some(Piece { block: Some(self.pages[page]), start, len: PAGE_BYTES - start })
    }

    fn fresh(&self, _: usize) -> Fresh {
        self.fresh
    }
}

impl SpaceMut for Pages<'_> {
    #[inline]
    fn piece_mut(&mut self, unit: usize, address: u64, _: u64) -> Option<PieceMut<'_>> {
        let (page, start) = self.place(unit, address)?;
        let block = &mut *self.pages[page];
        block.grow(start + 1);
        Some(PieceMut { block, start, len: PAGE_BYTES - start })
    }
}
