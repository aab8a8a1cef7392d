//! Physical places of the elements of a register file tensor.
//!
//! ```text
//!              byte in the bank row    0 .. 4095    4096 .. 8191
//!   bank row 0   (bytes     0 .. 8191) FirstHalf  | SecondHalf        Full = both
//!   bank row 1   (bytes  8192 .. 16383)
//!   …
//! ```
//!
//! Row `r` of a tensor of `R` rows owns the bank rows `r * 8 / R .. (r + 1) * 8 / R` and runs through them in order.
//! [`crate::TrfLayout`] gives the same places element by element.

use super::{Fresh, Piece, Space, Unit};
use core::ops::Range;
use furiosa_visa_rules::command::TrfRegion;
use furiosa_visa_rules::spec::{TRF_BANK_ROW_BYTES, TRF_BANK_ROWS};

/// Neighbouring elements of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The physical byte address of the bank row's part.
    pub(crate) address: u64,
    /// The first element, counted from `address`.
    pub(crate) position: usize,
    /// The number of elements.
    pub(crate) len: usize,
}

/// The runs of the elements of a row, in order.
pub(crate) fn runs(region: &TrfRegion, row: usize, elements: Range<usize>) -> impl Iterator<Item = Run> {
    let (first, per_bank) = region.part();
    let per_bank = per_bank * 8 / region.element.bits();
    let bank = row * (TRF_BANK_ROWS / region.rows);
    let banks =
        if elements.is_empty() { 0..0 } else { elements.start / per_bank..elements.end.div_ceil(per_bank) };
    banks.map(move |k| {
        let position = elements.start.saturating_sub(k * per_bank);
        let end = (elements.end - k * per_bank).min(per_bank);
        let address = ((bank + k) * TRF_BANK_ROW_BYTES + first) as u64;
        Run { address, position, len: end - position }
    })
}

/// The rows of one tensor in the register files of all slices, for reading. The unit is `8 * slice + row`, the
/// address counts bytes of the row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrfRows<'a> {
    units: &'a [Unit],
    /// The register file.
    file: usize,
    rows: usize,
    /// See [`part`].
    part: (usize, usize),
}

impl<'a> TrfRows<'a> {
    /// The rows of a tensor that fits its part, in one of the register files.
    pub(crate) fn new(region: &TrfRegion, units: &'a [Unit], file: usize) -> Self {
        Self { units, file, rows: region.rows, part: region.part() }
    }
}

impl Space for TrfRows<'_> {
    fn piece(&self, unit: usize, address: u64) -> Option<Piece<'_>> {
        let (slice, row) = (self.units.get(unit / TRF_BANK_ROWS)?, unit % TRF_BANK_ROWS);
        let (first, per_bank) = self.part;
        let banks = TRF_BANK_ROWS / self.rows;
        let address = usize::try_from(address).ok()?;
        let (bank, byte) = (address / per_bank, address % per_bank);
        if row >= self.rows || bank >= banks {
            return None;
        }
        let start = (row * banks + bank) * TRF_BANK_ROW_BYTES + first + byte;
        Some(Piece { block: Some(slice.trf(self.file)), start, len: per_bank - byte })
    }

    fn fresh(&self, unit: usize) -> Fresh {
        let slice = self.units.get(unit / TRF_BANK_ROWS);
        slice.map_or(Fresh::default(), |slice| {
            slice.trf(self.file).fresh().part((unit % TRF_BANK_ROWS) as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RegisterType, TrfLayout};
    use furiosa_visa_rules::command::{FillId, TrfAddress};
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::scalar::ElementType;

    fn region(address: TrfAddress, rows: usize, row_elements: usize) -> TrfRegion {
        let guard = Guard::always(5);
        TrfRegion { address, fill: FillId(1), element: ElementType::I8, rows, row_elements, guard }
    }

    #[test]
    fn rows_own_bank_rows() {
        let all = |r: &TrfRegion, row, bytes| r.pieces(row, bytes).collect::<Vec<_>>();
        let full = region(TrfAddress::Full, 8, 100);
        assert_eq!(all(&full, 3, 10..100).first(), Some(&(3 * 8192 + 10..3 * 8192 + 100)));
        let half = region(TrfAddress::SecondHalf, 4, 8192);
        assert_eq!(
            all(&half, 1, 4000..4200),
            [2 * 8192 + 8096..2 * 8192 + 8192, 3 * 8192 + 4096..3 * 8192 + 4200]
        );
        let one = region(TrfAddress::FirstHalf, 1, 32768);
        let pieces = all(&one, 0, 0..32768);
        assert_eq!((pieces.len(), pieces[7].clone()), (8, 7 * 8192..7 * 8192 + 4096));
        assert!(all(&one, 0, 5..5).is_empty());
        let runs: Vec<_> = runs(&half, 1, 4000..4200).collect();
        assert_eq!(runs[0], Run { address: 2 * 8192 + 4096, position: 4000, len: 96 });
        assert_eq!(runs[1], Run { address: 3 * 8192 + 4096, position: 0, len: 104 });
    }

    /// The addresses of the memory are those of the layout, byte by byte, for every part and number of rows.
    #[test]
    fn bytes_lie_where_the_layout_says() {
        let units = [Unit::default()];
        for address in [TrfAddress::FirstHalf, TrfAddress::SecondHalf, TrfAddress::Full] {
            for rows in [1, 2, 4, 8] {
                let region = region(address, rows, address.capacity() / rows);
                let layout =
                    TrfLayout::new(address, rows, RegisterType::Byte).expect("there are so many rows");
                let space = TrfRows::new(&region, &units, 0);
                for row in 0..rows {
                    for element in (0..region.row_elements).step_by(13) {
                        let expected = layout.cell(row, element).expect("it fits").byte();
                        let piece = region.pieces(row, element..element + 1).next().expect("one byte");
                        let run = runs(&region, row, element..element + 1).next().expect("one element");
                        assert_eq!(piece, expected..expected + 1, "{address} {rows} {row} {element}");
                        assert_eq!(run.address as usize + run.position, expected);
                        let seen = space.piece(row, element as u64).expect("it is there");
                        assert_eq!(seen.start, expected, "{address} {rows} {row} {element}");
                    }
                    assert!(space.piece(row, region.row_elements as u64).is_none());
                }
                assert!(space.piece(rows, 0).is_none(), "there is no further row, nor slice");
            }
        }
    }
}
