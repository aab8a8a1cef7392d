//! [`ElementType`]: the element types as plain data.

use super::cast;
use std::fmt;

/// The type of a tensor's elements, known at run time.
///
/// It carries the facts that the derivation of register configurations and the simulator need. The Rust type
/// names it with [`Scalar::ELEMENT_TYPE`](super::Scalar::ELEMENT_TYPE).
///
/// Source: page *Mapping and tensors*, section 4.8; page *Fetch*, section 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ElementType {
    /// Signed integer of 4 bits, two per byte.
    I4,
    /// Signed integer of 8 bits.
    I8,
    /// Unsigned integer of 8 bits.
    U8,
    /// Signed integer of 16 bits.
    I16,
    /// Signed integer of 32 bits.
    I32,
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
    pub const ALL: [ElementType; 10] = [
        ElementType::I4,
        ElementType::I8,
        ElementType::U8,
        ElementType::I16,
        ElementType::I32,
        ElementType::F8e4m3,
        ElementType::F8e5m2,
        ElementType::Bf16,
        ElementType::F16,
        ElementType::F32,
    ];

    /// Bits of one element in memory.
    pub const fn bits(self) -> usize {
        match self {
            ElementType::I4 => 4,
            ElementType::I8 | ElementType::U8 | ElementType::F8e4m3 | ElementType::F8e5m2 => 8,
            ElementType::I16 | ElementType::Bf16 | ElementType::F16 => 16,
            ElementType::I32 | ElementType::F32 => 32,
        }
    }

    /// The name of the Rust type.
    pub const fn name(self) -> &'static str {
        match self {
            ElementType::I4 => "i4",
            ElementType::I8 => "i8",
            ElementType::U8 => "u8",
            ElementType::I16 => "i16",
            ElementType::I32 => "i32",
            ElementType::F8e4m3 => "f8e4m3",
            ElementType::F8e5m2 => "f8e5m2",
            ElementType::Bf16 => "bf16",
            ElementType::F16 => "f16",
            ElementType::F32 => "f32",
        }
    }

    /// Whether values are floats.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            ElementType::F8e4m3
                | ElementType::F8e5m2
                | ElementType::Bf16
                | ElementType::F16
                | ElementType::F32
        )
    }

    /// The types into which fetch can cast this one on RNGD, itself first.
    ///
    /// The types of nine and five bits that fetch also produces for `i8` and `i4` exist only inside the
    /// pipeline and are not element types. Source: page *Fetch*, section 5.
    pub const fn fetch_outputs(self) -> &'static [ElementType] {
        cast::fetch_outputs(self)
    }

    /// The types into which [`Cast`](super::Cast) and [`convert_block`](super::convert_block) convert this
    /// one, itself first.
    pub const fn cast_outputs(self) -> &'static [ElementType] {
        cast::cast_outputs(self)
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
            assert_eq!(digits.parse(), Ok(element_type.bits()), "{element_type}");
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

    /// The table of the fetch page, as text.
    #[test]
    fn fetch_table() {
        let table: Vec<String> = ElementType::ALL
            .iter()
            .map(|input| {
                let outputs: Vec<_> = input.fetch_outputs().iter().map(|output| output.name()).collect();
                format!("{input}: {}", outputs.join(" "))
            })
            .collect();
        assert_eq!(
            table,
            [
                "i4: i4 i32",
                "i8: i8 i32",
                "u8: u8",
                "i16: i16 i32",
                "i32: i32",
                "f8e4m3: f8e4m3 f32",
                "f8e5m2: f8e5m2 f32",
                "bf16: bf16 f32",
                "f16: f16 f32",
                "f32: f32 bf16",
            ]
        );
    }

    #[test]
    fn every_fetch_cast_is_a_cast() {
        for input in ElementType::ALL {
            assert_eq!(input.fetch_outputs()[0], input);
            assert_eq!(input.cast_outputs()[0], input);
            for output in input.fetch_outputs() {
                assert!(input.cast_outputs().contains(output), "{input} to {output}");
            }
        }
    }
}
