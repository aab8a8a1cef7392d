//! Place of a byte in the data memory.
//!
//! ```text
//!   address   18 ······ 7   6 ··· 3   2 ··· 0
//!                row         bank      byte
//! ```

use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::spec::{DM_BANK_ROWS, DM_BANK_WORD_BYTES, DM_BANKS, DM_BYTES};
use furiosa_visa_rules::text::Text;

const _: () = assert!(DM_BANKS * DM_BANK_ROWS * DM_BANK_WORD_BYTES == DM_BYTES);
const _: () = assert!(DM_BANKS == BankMask::BITS as usize);

/// A set of banks: bit `b` stands for bank `b`.
pub type BankMask = u16;

/// All banks: the set that a DMA beat takes.
pub const ALL_BANKS: BankMask = BankMask::MAX;

/// The place of a byte inside of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BankAddress {
    /// The bank, 0 to 15.
    pub bank: usize,
    /// The row of the bank, 0 to 4095.
    pub row: usize,
    /// The byte of the 8-byte word.
    pub byte: usize,
}

impl BankAddress {
    /// The place of the byte at `address`.
    ///
    /// # Errors
    ///
    /// An address past the 512 KiB of a slice.
    pub const fn of(address: usize) -> Result<Self, PlanError> {
        if address >= DM_BYTES {
            let text = Text::new().str("data memory: address ").number(address);
            let text = text.str(" is past the ").number(DM_BYTES).str(" bytes of a slice; help: use 0 to ");
            return Err(PlanError::new("DM address", text.number(DM_BYTES - 1)));
        }
        let word = address / DM_BANK_WORD_BYTES;
        Ok(Self { bank: word % DM_BANKS, row: word / DM_BANKS, byte: address % DM_BANK_WORD_BYTES })
    }
}

/// The banks that hold the bytes `address .. address + bytes`: 4 for 32 bytes that start at a word, 5 for
/// 32 bytes that do not.
pub const fn footprint(address: usize, bytes: usize) -> BankMask {
    if bytes == 0 {
        return 0;
    }
    let first = address / DM_BANK_WORD_BYTES;
    let banks = (address + bytes - 1) / DM_BANK_WORD_BYTES - first + 1;
    if banks >= DM_BANKS {
        return ALL_BANKS;
    }
    ((1 << banks) - 1 as BankMask).rotate_left((first % DM_BANKS) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses and their fields, worked out by hand.
    #[test]
    fn vectors_of_the_specification() {
        let vectors = [
            (0x0, (0, 0, 0)),
            (0x8, (1, 0, 0)),
            (0x7f, (15, 0, 7)),
            (0x80, (0, 1, 0)),
            (0x12345, (8, 582, 5)),
            (0x7ffff, (15, 4095, 7)),
        ];
        for (address, (bank, row, byte)) in vectors {
            assert_eq!(BankAddress::of(address), Ok(BankAddress { bank, row, byte }), "{address:#x}");
        }
        let error = BankAddress::of(0x80000).expect_err("past the end");
        assert_eq!(
            error.message(),
            "data memory: address 524288 is past the 524288 bytes of a slice; help: use 0 to 524287"
        );
    }

    /// Every start and every size, byte by byte.
    #[test]
    fn footprints_hold_the_banks_of_all_bytes() {
        for address in 0..256 {
            for bytes in 0..=130 {
                let slow = (address..address + bytes).fold(0, |banks, byte| banks | 1 << (byte >> 3 & 15));
                assert_eq!(footprint(address, bytes), slow, "{bytes} bytes at {address}");
            }
        }
        let banks = |address, bytes| footprint(address, bytes).count_ones();
        assert_eq!([banks(64, 32), banks(68, 32), banks(8, 8), banks(12, 8)], [4, 5, 1, 2]);
        assert_eq!(banks(0, 128), 16);
    }

    /// 128 bytes that start at a row touch every bank once.
    #[test]
    fn a_row_is_every_bank_once() {
        let words = (0..16).map(|word| footprint(0x280 + word * 8, 8));
        assert_eq!(words.map(u32::from).sum::<u32>(), u32::from(ALL_BANKS));
    }
}
