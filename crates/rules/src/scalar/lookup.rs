//! Tables of the fetch adapter that follow from two element types: each entry has the value of its index.

use super::{ElementType, bf16, f4e2m1, f8e4m3, f8e5m2};

/// The entries of the table from one type to another, by the code of the first: each is the same value. `None`: there is
/// no such table.
///
/// | index | entry | |
/// | --- | --- | --- |
/// | `f4e2m1` | `f8e4m3`, `f8e5m2` | exact |
/// | `f8e4m3`, `f8e5m2` | `bf16` | exact; every NaN is `0x7fc0` |
///
/// ```
/// use furiosa_visa_std::scalar::{ElementType, table_codes};
///
/// let codes = table_codes(ElementType::F4e2m1, ElementType::F8e4m3).expect("there is a table");
/// assert_eq!(codes[..8], [0x00, 0x30, 0x38, 0x3c, 0x40, 0x44, 0x48, 0x4c]);
/// ```
pub fn table_codes(input: ElementType, output: ElementType) -> Option<Vec<u32>> {
    if !input.table_outputs().contains(&output) {
        return None;
    }
    let value = |code: u8| match input {
        ElementType::F4e2m1 => f4e2m1::from_bits(code).to_f32(),
        ElementType::F8e4m3 => f8e4m3::from_bits(code).to_f32(),
        _ => f8e5m2::from_bits(code).to_f32(),
    };
    let entry = |value: f32| match output {
        ElementType::F8e4m3 => u32::from(f8e4m3::from_f32(value).to_bits()),
        ElementType::F8e5m2 => u32::from(f8e5m2::from_f32(value).to_bits()),
        _ if value.is_nan() => u32::from(bf16::NAN.to_bits()),
        _ => u32::from(bf16::from_f32(value).to_bits()),
    };
    let codes = 0..1u32 << input.bits();
    Some(codes.map(|code| entry(value(code as u8))).collect())
}

/// See [`ElementType::table_outputs`].
pub(super) const fn table_outputs(input: ElementType) -> &'static [ElementType] {
    match input {
        ElementType::F4e2m1 => &[ElementType::F8e4m3, ElementType::F8e5m2],
        ElementType::F8e4m3 | ElementType::F8e5m2 => &[ElementType::Bf16],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{Bf16, F4e2m1, F8e4m3, F8e5m2};

    #[test]
    fn codes_of_four_bits() {
        let with_sign = |codes: [u32; 8]| [codes, codes.map(|code| code + 0x80)].concat();
        let e4m3 = with_sign([0x00, 0x30, 0x38, 0x3c, 0x40, 0x44, 0x48, 0x4c]);
        assert_eq!(table_codes(F4e2m1, F8e4m3), Some(e4m3));
        let e5m2 = with_sign([0x00, 0x38, 0x3c, 0x3e, 0x40, 0x42, 0x44, 0x46]);
        assert_eq!(table_codes(F4e2m1, F8e5m2), Some(e5m2));
    }

    /// Sign, exponent and mantissa of each code, in the fields of a bf16.
    #[test]
    fn codes_of_eight_bits() {
        let expected = |code: u32, mantissa_bits: u32, bias: i32, is_nan: bool, is_infinite: bool| {
            let (sign, magnitude) = (code >> 7, code & 0x7f);
            let exponent = (magnitude >> mantissa_bits) as i32;
            let fraction = f64::from(magnitude & ((1 << mantissa_bits) - 1)) / f64::from(1 << mantissa_bits);
            let value = match exponent {
                0 => fraction * 2f64.powi(1 - bias),
                _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
            };
            match (is_nan, is_infinite) {
                (true, _) => 0x7fc0,
                (_, true) => sign << 15 | 0x7f80,
                // A value of so few bits is the upper half of its f32.
                _ => sign << 15 | (value as f32).to_bits() >> 16,
            }
        };
        let codes = table_codes(F8e4m3, Bf16).expect("there is a table");
        for (code, &entry) in (0..).zip(&codes) {
            assert_eq!(entry, expected(code, 3, 7, code & 0x7f == 0x7f, false), "f8e4m3 {code:#x}");
        }
        let codes = table_codes(F8e5m2, Bf16).expect("there is a table");
        for (code, &entry) in (0..).zip(&codes) {
            let (is_nan, is_infinite) = (code & 0x7f > 0x7c, code & 0x7f == 0x7c);
            assert_eq!(entry, expected(code, 2, 15, is_nan, is_infinite), "f8e5m2 {code:#x}");
        }
        assert_eq!(codes.len(), 256);
    }

    #[test]
    fn there_are_no_other_tables() {
        let pairs = ElementType::ALL.map(|input| {
            ElementType::ALL.into_iter().filter(|&output| table_codes(input, output).is_some()).count()
        });
        assert_eq!(pairs.iter().sum::<usize>(), 4);
        assert_eq!(table_codes(F8e4m3, F8e5m2), None);
    }
}
