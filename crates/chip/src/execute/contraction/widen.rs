//! Conversion of elements to the form that the multipliers use.
//!
//! The loops have no branches, so that the compiler uses the vectors that the caller may use.

use crate::memory::row::nibble;
use furiosa_visa_rules::scalar::{ElementType, convert_block};

/// Widens packed elements of any type that can be contracted.
pub(super) fn to_floats(element: ElementType, bytes: &[u8], len: usize, floats: &mut Vec<f32>) {
    floats.clear();
    match element {
        ElementType::I4 => floats.extend((0..len).map(|k| f32::from((nibble(bytes, k) << 4) as i8 >> 4))),
        ElementType::I5 | ElementType::I8 => floats.extend(bytes.iter().map(|&byte| f32::from(byte as i8))),
        ElementType::I9 => {
            floats.extend(bytes.as_chunks().0.iter().map(|&code| f32::from(i16::from_le_bytes(code))));
        }
        ElementType::U8 => floats.extend(bytes.iter().map(|&byte| f32::from(byte))),
        ElementType::Bf16 | ElementType::F8e4m3 | ElementType::F8e5m2 => {
            floats.resize(len, 0.0);
            widen(element, bytes, floats);
        }
        ElementType::F32 => floats.extend(bytes.as_chunks().0.iter().map(|&code| f32::from_le_bytes(code))),
        _ => {
            let mut wide = vec![0; len * 4];
            convert_block(element, ElementType::F32, bytes, &mut wide);
            floats.extend(wide.as_chunks().0.iter().map(|&code| f32::from_le_bytes(code)));
        }
    }
}

/// Widens `bf16`, `f8e4m3` or `f8e5m2`.
#[inline(always)]
pub(super) fn widen(element: ElementType, bytes: &[u8], floats: &mut [f32]) {
    match element {
        ElementType::Bf16 => {
            // A loop over numbers, because `zip` is not inlined where a crate is compiled in parts.
            let codes = bytes.as_chunks().0;
            let count = floats.len().min(codes.len());
            let (floats, codes) = (&mut floats[..count], &codes[..count]);
            for k in 0..count {
                floats[k] = f32::from_bits(u32::from(u16::from_le_bytes(codes[k])) << 16);
            }
        }
        ElementType::F8e4m3 => {
            for (float, &code) in floats.iter_mut().zip(bytes) {
                let magnitude = u32::from(code & 0x7f);
                // The exponent's bias is 7 instead of 127. A magnitude of all ones is the only NaN.
                let finite = f32::from_bits(magnitude << 20) * power_of_two(120);
                let magnitude = if magnitude == 0x7f { f32::NAN.to_bits() } else { finite.to_bits() };
                *float = f32::from_bits(magnitude | u32::from(code & 0x80) << 24);
            }
        }
        _ => {
            debug_assert_eq!(element, ElementType::F8e5m2, "callers widen floats of one or two bytes");
            for (float, &code) in floats.iter_mut().zip(bytes) {
                let magnitude = u32::from(code & 0x7f);
                // The exponent's bias is 15. The largest exponent is kept for infinity and NaN.
                let finite = f32::from_bits(magnitude << 21) * power_of_two(112);
                let quiet = u32::from(magnitude > 0x7c) << 22;
                let special = magnitude << 21 | f32::INFINITY.to_bits() | quiet;
                let magnitude = if magnitude >= 0x7c { special } else { finite.to_bits() };
                *float = f32::from_bits(magnitude | u32::from(code & 0x80) << 24);
            }
        }
    }
}

const fn power_of_two(exponent: u32) -> f32 {
    f32::from_bits((exponent + 127) << 23)
}

/// Widens a plane of a packet: its bytes, or the lower or the upper elements of its bytes.
#[inline(always)]
pub(super) fn to_words(planes: usize, plane: usize, bytes: &[u8], words: &mut [i16]) {
    let words = words.iter_mut().zip(bytes);
    match (planes, plane) {
        (1, _) => words.for_each(|(word, &byte)| *word = i16::from(byte as i8)),
        (_, 0) => words.for_each(|(word, &byte)| *word = i16::from((byte << 4) as i8 >> 4)),
        _ => words.for_each(|(word, &byte)| *word = i16::from(byte as i8 >> 4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::scalar::{f8e4m3_bits_to_f32, f8e5m2_bits_to_f32};

    #[test]
    fn every_code_is_widened() {
        let codes: Vec<u8> = (0..=255).collect();
        let same = |found: f32, expected: f32| {
            found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
        };
        let mut floats = vec![0.0; 256];
        widen(ElementType::F8e4m3, &codes, &mut floats);
        assert!(codes.iter().zip(&floats).all(|(&code, &value)| same(value, f8e4m3_bits_to_f32(code))));
        widen(ElementType::F8e5m2, &codes, &mut floats);
        assert!(codes.iter().zip(&floats).all(|(&code, &value)| same(value, f8e5m2_bits_to_f32(code))));
        let pairs: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let mut floats = vec![0.0; 1 << 16];
        widen(ElementType::Bf16, &pairs, &mut floats);
        assert!((0..1 << 16).all(|k| floats[k].to_bits() == (k as u32) << 16));
        let mut words = [0; 256];
        to_words(1, 0, &codes, &mut words);
        assert_eq!(words, core::array::from_fn(|k| i16::from(k as u8 as i8)));
        for part in codes.chunks(64) {
            let (mut words, mut floats) = ([[0; 64]; 2], vec![]);
            words.iter_mut().enumerate().for_each(|(plane, words)| to_words(2, plane, part, words));
            to_floats(ElementType::I4, part, 128, &mut floats);
            for k in 0..128 {
                let code = i16::from(nibble(part, k));
                let value = if code < 8 { code } else { code - 16 };
                assert_eq!(words[k % 2][k / 2], value);
                assert_eq!(floats[k], f32::from(value));
            }
        }
    }
}
