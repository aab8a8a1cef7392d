//! Matrices of quantised blocks, as the file has them.
//!
//! A block is 32 elements of a row, one after another; a row is a whole number of blocks.

use half::f16;

/// Elements of a block.
pub const BLOCK: usize = 32;

/// A block of 4-bit codes: element `i` is `scale * code(i) + minimum`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockQ4_1 {
    /// Distance between neighbouring codes.
    pub scale: f16,
    /// Value of code 0.
    pub minimum: f16,
    /// Byte `i` has the code of element `i` in its low half, and that of element `i + 16` in its high half.
    pub codes: [u8; BLOCK / 2],
}

/// A block of 8-bit codes: element `i` is `scale * codes[i]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockQ8_0 {
    /// Distance between neighbouring codes.
    pub scale: f16,
    /// A code for each element.
    pub codes: [i8; BLOCK],
}

impl BlockQ4_1 {
    /// Bytes of a block in a file: scale, minimum, codes; little endian.
    pub const BYTES: usize = 20;

    /// The block of its bytes in a file.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        Self {
            scale: f16::from_le_bytes([bytes[0], bytes[1]]),
            minimum: f16::from_le_bytes([bytes[2], bytes[3]]),
            codes: std::array::from_fn(|i| bytes[4 + i]),
        }
    }

    /// The code of an element, from 0 to 15.
    pub fn code(&self, element: usize) -> u8 {
        let byte = self.codes[element % (BLOCK / 2)];
        if element < BLOCK / 2 { byte & 15 } else { byte >> 4 }
    }

    /// The values of the elements, rounded to f32 after the multiplication and after the addition.
    pub fn values(&self) -> [f32; BLOCK] {
        let (scale, minimum) = (self.scale.to_f32(), self.minimum.to_f32());
        let value = |code: u8| scale * f32::from(code) + minimum;
        let mut values = [0.0; BLOCK];
        let (low, high) = values.split_at_mut(BLOCK / 2);
        for ((low, high), byte) in low.iter_mut().zip(high).zip(self.codes) {
            (*low, *high) = (value(byte & 15), value(byte >> 4));
        }
        values
    }
}

impl BlockQ8_0 {
    /// Bytes of a block in a file: scale, codes; little endian.
    pub const BYTES: usize = 34;

    /// The block of its bytes in a file.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        Self {
            scale: f16::from_le_bytes([bytes[0], bytes[1]]),
            codes: std::array::from_fn(|i| i8::from_le_bytes([bytes[2 + i]])),
        }
    }

    /// The values of the elements. Products are exact: 11 bits by 8.
    pub fn values(&self) -> [f32; BLOCK] {
        let scale = self.scale.to_f32();
        self.codes.map(|code| scale * f32::from(code))
    }
}

/// Blocks of a matrix, row after row.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// 4-bit codes with a scale and a minimum for each block.
    Q4_1(Vec<BlockQ4_1>),
    /// 8-bit codes with a scale for each block.
    Q8_0(Vec<BlockQ8_0>),
}

/// A matrix. A projection has a row for each element of its result: `y[row] = Σ matrix[row, column] · x[column]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row, a multiple of 32.
    pub columns: usize,
    /// `rows * columns / 32` blocks.
    pub storage: Storage,
}

impl Matrix {
    /// Blocks of a row.
    pub fn row_blocks(&self) -> usize {
        self.columns / BLOCK
    }

    /// Writes a row as values. `values` has a place for each column.
    ///
    /// # Panics
    ///
    /// If there is no such row, or if `values` has another length.
    #[track_caller]
    pub fn read_row(&self, row: usize, values: &mut [f32]) {
        assert!(row < self.rows, "row {row} of a matrix of {} rows", self.rows);
        assert!(
            values.len() == self.columns,
            "{} places for a row of {} elements",
            values.len(),
            self.columns
        );
        let blocks = row * self.row_blocks()..(row + 1) * self.row_blocks();
        let chunks = values.as_chunks_mut().0.iter_mut();
        match &self.storage {
            Storage::Q4_1(all) => chunks.zip(&all[blocks]).for_each(|(chunk, block)| *chunk = block.values()),
            Storage::Q8_0(all) => chunks.zip(&all[blocks]).for_each(|(chunk, block)| *chunk = block.values()),
        }
    }

    /// The values of a row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[track_caller]
    pub fn row(&self, row: usize) -> Vec<f32> {
        let mut values = vec![0.0; self.columns];
        self.read_row(row, &mut values);
        values
    }

    /// All values, row after row.
    pub fn to_f32(&self) -> Vec<f32> {
        let mut values = vec![0.0; self.rows * self.columns];
        for (row, values) in values.chunks_exact_mut(self.columns).enumerate() {
            self.read_row(row, values);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_4_bits_has_its_first_half_in_the_low_codes() {
        // Scale 0.5, minimum -2, byte `i` is code `i` below and `15 - i` above.
        let mut bytes = [0; BlockQ4_1::BYTES];
        bytes[..4].copy_from_slice(&[0x00, 0x38, 0x00, 0xc0]);
        for i in 0..16_u8 {
            bytes[4 + usize::from(i)] = i | (15 - i) << 4;
        }
        let block = BlockQ4_1::from_bytes(&bytes);
        for i in 0..16_u8 {
            assert_eq!(block.values()[usize::from(i)], 0.5 * f32::from(i) - 2.0);
            assert_eq!(block.values()[usize::from(i) + 16], 0.5 * f32::from(15 - i) - 2.0);
        }
    }

    #[test]
    fn a_block_of_8_bits_has_signed_codes() {
        let mut bytes = [0; BlockQ8_0::BYTES];
        bytes[..2].copy_from_slice(&[0x00, 0x34]);
        bytes[2] = 0x80;
        bytes[33] = 0x7f;
        let block = BlockQ8_0::from_bytes(&bytes);
        let values = block.values();
        assert_eq!((values[0], values[1], values[31]), (-32.0, 0.0, 31.75));
    }

    #[test]
    fn rows_are_runs_of_blocks() {
        let block = |scale: f32| BlockQ8_0 {
            scale: f16::from_f32(scale),
            codes: std::array::from_fn(|i| i8::try_from(i).unwrap()),
        };
        let storage = Storage::Q8_0(vec![block(1.0), block(2.0), block(3.0), block(4.0)]);
        let matrix = Matrix { rows: 2, columns: 64, storage };
        let row = matrix.row(1);
        assert_eq!((row[1], row[31], row[33], row[63]), (3.0, 93.0, 4.0, 124.0));
        assert_eq!(matrix.to_f32()[64..], row);
    }
}
