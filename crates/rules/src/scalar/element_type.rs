//! [`ElementType`]: the element types as plain data.

use super::{
    VeScalarKind, bf16_bits_to_f32, cast, f4e2m1, f8e4m3_bits_to_f32, f8e5m2_bits_to_f32, f16_bits_to_f32,
    lookup,
};
use crate::spec::ChipKind;
use std::fmt;

/// The type of a tensor's elements, known at run time.
///
/// It carries the facts that the derivation of register configurations and the simulator need. The Rust type gives it
/// as [`StreamScalar::ELEMENT_TYPE`](super::StreamScalar::ELEMENT_TYPE).
///
/// See `guide::memories_and_dma`, and `guide::fetch` for their conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ElementType {
    /// Signed integer of 4 bits, two per byte.
    I4,
    /// Signed integer of 5 bits, only in streams and register files.
    I5,
    /// Signed integer of 8 bits.
    I8,
    /// Signed integer of 9 bits, only in streams and register files.
    I9,
    /// Unsigned integer of 8 bits.
    U8,
    /// Signed integer of 16 bits.
    I16,
    /// Signed integer of 32 bits.
    I32,
    /// Float of 4 bits with 2 exponent bits, two per byte.
    F4e2m1,
    /// Float of 8 bits with 4 exponent bits; saturating, without infinity.
    F8e4m3,
    /// Float of 8 bits with 5 exponent bits.
    F8e5m2,
    /// Float of 16 bits with 8 exponent bits.
    Bf16,
    /// Float of 16 bits with 5 exponent bits.
    F16,
    /// Float of 32 bits.
    F32,
}

impl ElementType {
    /// Every element type.
    pub const ALL: [ElementType; 13] = [
        ElementType::I4,
        ElementType::I5,
        ElementType::I8,
        ElementType::I9,
        ElementType::U8,
        ElementType::I16,
        ElementType::I32,
        ElementType::F4e2m1,
        ElementType::F8e4m3,
        ElementType::F8e5m2,
        ElementType::Bf16,
        ElementType::F16,
        ElementType::F32,
    ];

    /// Bits of one element in memory, and in the sizes of packets, flits and register files.
    ///
    /// `i5` counts 4 and `i9` counts 8: their last bit travels beside the flit, which holds as many elements as a flit
    /// of `i4` or `i8`. In the register file, where an element takes slots of 5 bits, a row has 320 bits for 32 bytes
    /// (see `guide::contraction`). Flits are concluded to be built like these rows (assumed).
    pub const fn bits(self) -> usize {
        match self {
            ElementType::I4 | ElementType::I5 | ElementType::F4e2m1 => 4,
            ElementType::I8
            | ElementType::I9
            | ElementType::U8
            | ElementType::F8e4m3
            | ElementType::F8e5m2 => 8,
            ElementType::I16 | ElementType::Bf16 | ElementType::F16 => 16,
            ElementType::I32 | ElementType::F32 => 32,
        }
    }

    /// Bits of one element of a stream in the simulator: [`bits`](ElementType::bits), but a whole byte for `i5` and two
    /// for `i9`, sign-extended.
    pub const fn container_bits(self) -> usize {
        match self {
            ElementType::I5 => 8,
            ElementType::I9 => 16,
            _ => self.bits(),
        }
    }

    /// True if memories hold this type: all types except `i5` and `i9`.
    pub const fn is_stored(self) -> bool {
        !matches!(self, ElementType::I5 | ElementType::I9)
    }

    /// The name of the Rust type.
    pub const fn name(self) -> &'static str {
        match self {
            ElementType::I4 => "i4",
            ElementType::I5 => "i5",
            ElementType::I8 => "i8",
            ElementType::I9 => "i9",
            ElementType::U8 => "u8",
            ElementType::I16 => "i16",
            ElementType::I32 => "i32",
            ElementType::F4e2m1 => "f4e2m1",
            ElementType::F8e4m3 => "f8e4m3",
            ElementType::F8e5m2 => "f8e5m2",
            ElementType::Bf16 => "bf16",
            ElementType::F16 => "f16",
            ElementType::F32 => "f32",
        }
    }

    /// True if values are floats.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            ElementType::F4e2m1
                | ElementType::F8e4m3
                | ElementType::F8e5m2
                | ElementType::Bf16
                | ElementType::F16
                | ElementType::F32
        )
    }

    /// The types into which fetch can cast this one on RNGD, itself first. Empty for types that no memory holds.
    ///
    /// See `guide::fetch`, "Types".
    pub const fn fetch_outputs(self) -> &'static [ElementType] {
        self.fetch_outputs_on(ChipKind::Rngd)
    }

    /// The types into which fetch can cast this one on a kind of chip, itself first. Empty for types that no memory
    /// holds.
    ///
    /// ```
    /// use furiosa_visa_std::spec::ChipKind;
    /// use furiosa_visa_std::scalar::ElementType::{Bf16, F8e4m3, F32};
    ///
    /// assert_eq!(F8e4m3.fetch_outputs_on(ChipKind::Rngd), [F8e4m3, F32]);
    /// assert_eq!(F8e4m3.fetch_outputs_on(ChipKind::RngdS), [F8e4m3, F32, Bf16]);
    /// ```
    pub const fn fetch_outputs_on(self, kind: ChipKind) -> &'static [ElementType] {
        cast::fetch_outputs(self, kind)
    }

    /// The types into which [`Cast`](super::Cast) and [`convert_block`](super::convert_block) convert this one, itself
    /// first. Empty for types that no memory holds.
    pub const fn cast_outputs(self) -> &'static [ElementType] {
        cast::cast_outputs(self)
    }

    /// The types that a table of the fetch adapter makes of this one, value by value: see
    /// [`table_codes`](super::table_codes).
    pub const fn table_outputs(self) -> &'static [ElementType] {
        lookup::table_outputs(self)
    }

    /// The type of products and sums of the Contraction Engine. `None` for types that it does not multiply.
    ///
    /// ```
    /// use furiosa_visa_std::scalar::ElementType::{Bf16, F32, I32, I9};
    ///
    /// assert_eq!([Bf16, I9, I32].map(|element| element.contraction_output()), [Some(F32), Some(I32), None]);
    /// ```
    pub const fn contraction_output(self) -> Option<ElementType> {
        cast::contraction_output(self)
    }

    /// The type as the Vector Engine and the Cast Engine have it: 32 bits. `None` for other types.
    pub const fn vector_kind(self) -> Option<VeScalarKind> {
        match self {
            ElementType::I32 => Some(VeScalarKind::I32),
            ElementType::F32 => Some(VeScalarKind::F32),
            _ => None,
        }
    }
}

/// The numbers that codes stand for, for tools and messages.
impl ElementType {
    /// The number that the low [`bits`](ElementType::bits) bits of a code stand for.
    pub fn number(self, code: u32) -> f64 {
        let signed = |bits: u32| f64::from((code << (32 - bits)) as i32 >> (32 - bits));
        match self {
            Self::I4 | Self::I5 => signed(4),
            Self::I8 | Self::I9 => signed(8),
            Self::U8 => f64::from(code as u8),
            Self::I16 => signed(16),
            Self::I32 => signed(32),
            Self::F4e2m1 => f4e2m1::from_bits(code as u8).to_f32().into(),
            Self::F8e4m3 => f8e4m3_bits_to_f32(code as u8).into(),
            Self::F8e5m2 => f8e5m2_bits_to_f32(code as u8).into(),
            Self::Bf16 => bf16_bits_to_f32(code as u16).into(),
            Self::F16 => f16_bits_to_f32(code as u16).into(),
            Self::F32 => f32::from_bits(code).into(),
        }
    }

    /// The place of a code among the numbers of its type: 0 for both zeros, and 1 more for each next larger number. The
    /// distance of two codes in units in the last place is the difference of their ranks. Those of NaN have no meaning.
    pub fn rank(self, code: u32) -> i64 {
        if !self.is_float() {
            return self.number(code) as i64;
        }
        let sign = 1 << (self.bits() - 1);
        let magnitude = i64::from(code & (sign - 1));
        if code & sign == 0 { magnitude } else { -magnitude }
    }
}

impl fmt::Display for ElementType {
    /// The [`name`](ElementType::name).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_follow_from_the_name() {
        for element_type in ElementType::ALL {
            let digits: String = element_type
                .name()
                .trim_start_matches('b')
                .chars()
                .skip(1)
                .take_while(char::is_ascii_digit)
                .collect();
            // The last bit of the types that no memory holds is not counted.
            let beside = if element_type.is_stored() { 0 } else { 1 };
            assert_eq!(digits.parse(), Ok(element_type.bits() + beside), "{element_type}");
            assert_eq!(element_type.container_bits(), element_type.bits() * (1 + beside));
            assert_eq!(element_type.is_float(), element_type.name().contains('f'));
            assert_eq!(format!("{element_type:?}").to_lowercase(), element_type.name());
            assert_eq!(element_type.to_string(), element_type.name());
        }
    }

    #[test]
    fn all_types_are_listed_once_in_order() {
        assert!(ElementType::ALL.is_sorted_by(|a, b| a < b));
        assert_eq!(ElementType::F32 as usize + 1, ElementType::ALL.len());
    }

    /// Ranks order the codes of a type as their numbers are ordered, one by one, and numbers are those of its own methods.
    #[test]
    fn ranks_count_numbers() {
        for element_type in ElementType::ALL.into_iter().filter(|own| own.is_stored() && own.bits() <= 16) {
            let codes = 0..1u32 << element_type.bits();
            let ranked = codes.map(|code| (element_type.rank(code), element_type.number(code)));
            let mut ranked: Vec<(i64, f64)> = ranked.filter(|(_, number)| !number.is_nan()).collect();
            ranked.sort_by_key(|&(rank, _)| rank);
            for pair in ranked.windows(2) {
                let ((a, small), (b, large)) = (pair[0], pair[1]);
                // Both zeros have one rank.
                let is_zero = a == 0 && b == 0 && small == 0.0 && large == 0.0;
                assert!(is_zero || (b == a + 1 && small < large), "{element_type}: {pair:?}");
            }
        }
        assert_eq!(ElementType::I4.number(0xf), -1.0);
        assert_eq!(ElementType::I32.rank(u32::MAX), -1);
        assert_eq!(ElementType::Bf16.number(0x4049), f64::from(3.140625f32));
        let next = |value: f32| {
            ElementType::F32.rank(value.next_up().to_bits()) - ElementType::F32.rank(value.to_bits())
        };
        assert_eq!([-1.5, -0.0, 0.0, 1.0, f32::MAX].map(next), [1; 5]);
    }

    /// The table of types, as text (guide: fetch).
    #[test]
    fn fetch_table() {
        let table = |kind| -> Vec<String> {
            let names = |outputs: &[ElementType]| -> Vec<&str> {
                outputs.iter().map(|output| output.name()).collect()
            };
            let line =
                |input: &ElementType| format!("{input}: {}", names(input.fetch_outputs_on(kind)).join(" "));
            ElementType::ALL.iter().map(line).collect()
        };
        assert_eq!(
            table(ChipKind::Rngd),
            [
                "i4: i4 i5 i32",
                "i5: ",
                "i8: i8 i9 i32",
                "i9: ",
                "u8: u8",
                "i16: i16 i32",
                "i32: i32",
                "f4e2m1: f4e2m1",
                "f8e4m3: f8e4m3 f32",
                "f8e5m2: f8e5m2 f32",
                "bf16: bf16 f32",
                "f16: f16 f32",
                "f32: f32 bf16",
            ]
        );
        assert_eq!(
            table(ChipKind::RngdS),
            [
                "i4: i4 i5 i32 i9",
                "i5: ",
                "i8: i8 i9 i32",
                "i9: ",
                "u8: u8",
                "i16: i16 i32 i9",
                "i32: i32",
                "f4e2m1: f4e2m1",
                "f8e4m3: f8e4m3 f32 bf16",
                "f8e5m2: f8e5m2 f32 bf16",
                "bf16: bf16 f32",
                "f16: f16 f32",
                "f32: f32 bf16",
            ]
        );
    }

    #[test]
    fn every_fetch_cast_is_a_cast() {
        for input in ElementType::ALL {
            let itself = input.is_stored().then_some(&input);
            assert_eq!(input.fetch_outputs().first(), itself);
            assert_eq!(input.cast_outputs().first(), itself);
            for output in input.fetch_outputs_on(ChipKind::RngdS) {
                assert!(input.cast_outputs().contains(output), "{input} to {output}");
            }
        }
    }
}
