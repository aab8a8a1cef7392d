//! Conversion of whole blocks of memory, for the simulator.

use super::{
    ElementType, bf16_bits_to_f32, f8e4m3_bits_to_f32, f8e5m2_bits_to_f32, f16_bits_to_f32, f32_to_bf16_bits,
    f32_to_f8e4m3_bits, f32_to_f8e5m2_bits, f32_to_f16_bits,
};

/// Converts the elements of `input` and writes them to `output`, both in the layout of memory: little endian, `i4` two
/// per byte with the first in the low half. Types that no memory holds are laid out in their
/// [containers](ElementType::container_bits): `i5` one per byte, `i9` one per two bytes, sign-extended.
///
/// Each element is converted as by [`Cast`](super::Cast). The pair of types is matched once per block, and the loop
/// over the elements is plain, so call it with long blocks.
///
/// The number of elements follows from the wider side. If `i4` is on the other side and that number is odd,
/// the high half of its last byte is ignored in `input` and becomes 0 in `output`.
///
/// # Panics
///
/// Panics if `to` is not among [`ElementType::cast_outputs`] of `from`, or if the two blocks do not hold the same whole
/// number of elements.
///
/// ```
/// use furiosa_visa_std::scalar::{ElementType, convert_block};
///
/// let mut output = [0; 8];
/// convert_block(ElementType::I4, ElementType::I32, &[0x2f], &mut output);
/// assert_eq!(output, [0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0]); // -1, then 2
/// ```
#[track_caller]
pub fn convert_block(from: ElementType, to: ElementType, input: &[u8], output: &mut [u8]) {
    use ElementType::{Bf16, F8e4m3, F8e5m2, F16, F32, I4, I5, I8, I9, I16, I32};

    check_lengths(from, to, input.len(), output.len());
    match (from, to) {
        (from, to) if from == to && from.is_stored() => output.copy_from_slice(input),
        (I4, I32) => unpack_i4(input, output),
        (I4, I5) => unpack_i4_each(input, output, |value| [value as u8]),
        (I4, I9) => unpack_i4_each(input, output, |value| (value as i16).to_le_bytes()),
        (I8, I9) => each(input, output, |[byte]: [u8; 1]| i16::from(byte as i8).to_le_bytes()),
        (I16, I9) => each(input, output, |bytes| (i16::from_le_bytes(bytes) << 7 >> 7).to_le_bytes()),
        (I8, I32) => each(input, output, |[byte]: [u8; 1]| i32::from(byte as i8).to_le_bytes()),
        (I16, I32) => each(input, output, |bytes| i32::from(i16::from_le_bytes(bytes)).to_le_bytes()),
        (I32, I4) => pack_i4(input, output),
        // In little endian the low bytes come first.
        (I32, I8) => each(input, output, |[low, ..]: [u8; 4]| [low]),
        (I32, I16) => each(input, output, |[low, high, ..]: [u8; 4]| [low, high]),
        (F8e4m3, F32) => each(input, output, |[byte]: [u8; 1]| f8e4m3_bits_to_f32(byte).to_le_bytes()),
        (F8e5m2, F32) => each(input, output, |[byte]: [u8; 1]| f8e5m2_bits_to_f32(byte).to_le_bytes()),
        (F8e4m3, Bf16) => {
            each(input, output, |[byte]: [u8; 1]| f32_to_bf16_bits(f8e4m3_bits_to_f32(byte)).to_le_bytes())
        }
        (F8e5m2, Bf16) => {
            each(input, output, |[byte]: [u8; 1]| f32_to_bf16_bits(f8e5m2_bits_to_f32(byte)).to_le_bytes())
        }
        (Bf16, F32) => each(input, output, |bytes| bf16_bits_to_f32(u16::from_le_bytes(bytes)).to_le_bytes()),
        (F16, F32) => each(input, output, |bytes| f16_bits_to_f32(u16::from_le_bytes(bytes)).to_le_bytes()),
        (F32, F8e4m3) => each(input, output, |bytes| [f32_to_f8e4m3_bits(f32::from_le_bytes(bytes))]),
        (F32, F8e5m2) => each(input, output, |bytes| [f32_to_f8e5m2_bits(f32::from_le_bytes(bytes))]),
        (F32, Bf16) => each(input, output, |bytes| f32_to_bf16_bits(f32::from_le_bytes(bytes)).to_le_bytes()),
        (F32, F16) => each(input, output, |bytes| f32_to_f16_bits(f32::from_le_bytes(bytes)).to_le_bytes()),
        _ => {
            let outputs: Vec<_> = from.cast_outputs().iter().map(|output| output.name()).collect();
            panic!(
                "cast: no conversion from `{from}` to `{to}`; `{from}` can become {}; choose one of these",
                outputs.join(", ")
            )
        }
    }
}

/// Refuses blocks of different numbers of elements, and blocks that end inside an element.
#[track_caller]
fn check_lengths(from: ElementType, to: ElementType, input_bytes: usize, output_bytes: usize) {
    let (from_bits, to_bits) = (from.container_bits(), to.container_bits());
    let elements =
        if from_bits >= to_bits { input_bytes * 8 / from_bits } else { output_bytes * 8 / to_bits };
    let bytes = |element_type: ElementType| (elements * element_type.container_bits()).div_ceil(8);
    assert!(
        bytes(from) == input_bytes && bytes(to) == output_bytes,
        "cast: {input_bytes} bytes of `{from}` do not match {output_bytes} bytes of `{to}`; both blocks must \
         hold the same whole number of elements; take {} bits per element of input and {} of output",
        from_bits,
        to_bits,
    );
}

/// Converts element by element; the arrays have the sizes of one element.
#[inline]
fn each<const INPUT: usize, const OUTPUT: usize>(
    input: &[u8],
    output: &mut [u8],
    convert: impl Fn([u8; INPUT]) -> [u8; OUTPUT],
) {
    let (inputs, _) = input.as_chunks::<INPUT>();
    let (outputs, _) = output.as_chunks_mut::<OUTPUT>();
    for (output, &input) in outputs.iter_mut().zip(inputs) {
        *output = convert(input);
    }
}

/// The two values in a byte, low half first.
#[inline]
fn halves(byte: u8) -> [i32; 2] {
    [i32::from((byte << 4) as i8 >> 4), i32::from(byte as i8 >> 4)]
}

fn unpack_i4(input: &[u8], output: &mut [u8]) {
    let (pairs, last) = output.as_chunks_mut::<8>();
    for (pair, &byte) in pairs.iter_mut().zip(input) {
        let [low, high] = halves(byte);
        *pair = (i64::from(low) & 0xffff_ffff | i64::from(high) << 32).to_le_bytes();
    }
    if !last.is_empty() {
        let [low, _] = halves(input[input.len() - 1]);
        last.copy_from_slice(&low.to_le_bytes());
    }
}

/// Unpacks into elements of whole bytes.
fn unpack_i4_each<const OUTPUT: usize>(
    input: &[u8],
    output: &mut [u8],
    convert: impl Fn(i32) -> [u8; OUTPUT],
) {
    let (outputs, _) = output.as_chunks_mut::<OUTPUT>();
    for (pair, &byte) in outputs.chunks_mut(2).zip(input) {
        for (output, value) in pair.iter_mut().zip(halves(byte)) {
            *output = convert(value);
        }
    }
}

fn pack_i4(input: &[u8], output: &mut [u8]) {
    let (pairs, last) = input.as_chunks::<8>();
    for (byte, pair) in output.iter_mut().zip(pairs) {
        *byte = pair[0] & 0xf | pair[4] << 4;
    }
    if let (Some(byte), [low, ..]) = (output.last_mut(), last) {
        *byte = low & 0xf;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cast, Scalar, bf16, f8e4m3, f8e5m2, f16, i4};
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    /// Packs the low bits of the codes one after another, the first in the lowest bits.
    fn pack(element_type: ElementType, codes: &[u32]) -> Vec<u8> {
        let bits = element_type.bits();
        let mut bytes = vec![0; (codes.len() * bits).div_ceil(8)];
        for (position, bit) in (0..codes.len() * bits).map(|k| (k, codes[k / bits] >> (k % bits) & 1)) {
            bytes[position / 8] |= (bit << (position % 8)) as u8;
        }
        bytes
    }

    /// Checks that the block conversion of the codes agrees with their single conversions.
    fn check<D: Cast<D2>, D2: Scalar>(codes: &[u32]) {
        let expected: Vec<u32> = codes.iter().map(|&code| D::from_bits(code).cast().to_bits()).collect();
        let input = pack(D::ELEMENT_TYPE, codes);
        let expected = pack(D2::ELEMENT_TYPE, &expected);
        let mut output = vec![0xaa; expected.len()];
        convert_block(D::ELEMENT_TYPE, D2::ELEMENT_TYPE, &input, &mut output);
        assert!(output == expected, "{} to {}", D::ELEMENT_TYPE, D2::ELEMENT_TYPE);
    }

    /// Checks every code of the narrow side, and random codes and low numbers of the 32-bit side.
    fn check_both_ways<D: Cast<D2>, D2: Cast<D>>() {
        let all: Vec<u32> = (0..1u32 << D::BITS).collect();
        check::<D, D2>(&all);
        // An odd number of elements, and none.
        check::<D, D2>(&all[..13]);
        check::<D, D2>(&[]);
        let mut rng = SmallRng::seed_from_u64(32);
        let random: Vec<u32> =
            (0..4096).chain((0..4096).map(|_| rng.random())).chain((0..0x1_0000).map(|k| k << 16)).collect();
        check::<D2, D>(&random);
        check::<D2, D>(&random[..13]);
        check::<D2, D>(&[]);
        check::<D, D>(&all);
        check::<D2, D2>(&random);
    }

    #[test]
    fn blocks_agree_with_elements() {
        check_both_ways::<i4, i32>();
        check_both_ways::<i8, i32>();
        check_both_ways::<i16, i32>();
        check_both_ways::<f8e4m3, f32>();
        check_both_ways::<f8e5m2, f32>();
        check_both_ways::<bf16, f32>();
        check_both_ways::<f16, f32>();
        check::<u8, u8>(&(0..256).collect::<Vec<_>>());
        check::<f8e4m3, bf16>(&(0..256).collect::<Vec<_>>());
        check::<f8e5m2, bf16>(&(0..256).collect::<Vec<_>>());
    }

    /// Blocks of types that no memory holds: one container per element, sign-extended.
    #[test]
    fn blocks_of_containers() {
        for len in [0, 1, 16, 17] {
            let values: Vec<i32> = (0..len).map(|k| (k * 7 + 3) % 16 - 8).collect();
            let input = pack(ElementType::I4, &values.iter().map(|&value| value as u32).collect::<Vec<_>>());
            let mut output = vec![0xaa; values.len()];
            convert_block(ElementType::I4, ElementType::I5, &input, &mut output);
            assert_eq!(output, values.iter().map(|&value| value as u8).collect::<Vec<_>>());
            let mut output = vec![0xaa; 2 * values.len()];
            convert_block(ElementType::I4, ElementType::I9, &input, &mut output);
            assert_eq!(output, values.iter().flat_map(|&v| (v as i16).to_le_bytes()).collect::<Vec<_>>());
        }
        let bytes: Vec<u8> = (0..=255).collect();
        let mut output = [0; 512];
        convert_block(ElementType::I8, ElementType::I9, &bytes, &mut output);
        for (byte, value) in bytes.iter().zip(output.as_chunks().0) {
            assert_eq!(i16::from_le_bytes(*value), i16::from(*byte as i8));
        }
        // Conversion from 16 bits drops the upper seven.
        let input: Vec<u8> = (i16::MIN..=i16::MAX).flat_map(i16::to_le_bytes).collect();
        let mut output = vec![0; input.len()];
        convert_block(ElementType::I16, ElementType::I9, &input, &mut output);
        for (value, narrow) in (i16::MIN..=i16::MAX).zip(output.as_chunks().0) {
            let wrapped = (i32::from(value) + 256).rem_euclid(512) - 256;
            assert_eq!(i32::from(i16::from_le_bytes(*narrow)), wrapped, "{value}");
        }
    }

    /// The block conversions are exactly the pairs of the table.
    #[test]
    fn the_table_is_complete() {
        for from in ElementType::ALL {
            for to in ElementType::ALL {
                let (input, mut output) = (vec![0; from.container_bits()], vec![0; to.container_bits()]);
                let converts =
                    std::panic::catch_unwind(move || convert_block(from, to, &input, &mut output)).is_ok();
                assert_eq!(converts, from.cast_outputs().contains(&to), "{from} to {to}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "no conversion from `i32` to `f32`; `i32` can become i32, i4, i8, i16")]
    fn an_unknown_pair_is_refused() {
        convert_block(ElementType::I32, ElementType::F32, &[0; 4], &mut [0; 4]);
    }

    #[test]
    #[should_panic(expected = "6 bytes of `bf16` do not match 8 bytes of `f32`")]
    fn different_numbers_of_elements_are_refused() {
        convert_block(ElementType::Bf16, ElementType::F32, &[0; 6], &mut [0; 8]);
    }

    #[test]
    #[should_panic(expected = "5 bytes of `f32` do not match 2 bytes of `bf16`")]
    fn half_an_element_is_refused() {
        convert_block(ElementType::F32, ElementType::Bf16, &[0; 5], &mut [0; 2]);
    }
}
