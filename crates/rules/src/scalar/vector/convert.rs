//! Conversion between fixed point and float. `integer_bits`, from 0 to 31, is the number of bits before the binary
//! point: 31 bits make an integer.

/// Bits of an `i32` after its sign.
const VALUE_BITS: u32 = 31;

/// The power of two with this exponent.
const fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// `x * 2^(integer_bits - 31)`, rounded to nearest, ties to even.
#[inline(always)]
pub const fn fixed_to_float(x: i32, integer_bits: u32) -> f32 {
    // The product is exact in 64 bits, so that it is rounded once; `f32` covers the exponents.
    (x as f64 * power(integer_bits as i32 - VALUE_BITS as i32)) as f32
}

/// `x * 2^(31 - integer_bits)`, rounded to nearest, halves away from 0, and saturated to `i32`. A NaN becomes the
/// greatest number, or the least if its sign is set.
#[inline(always)]
pub const fn float_to_fixed(x: f32, integer_bits: u32) -> i32 {
    if x.is_nan() {
        return if x.is_sign_negative() { i32::MIN } else { i32::MAX };
    }
    // The product is exact: 24 bits. The addition of a half loses only insignificant bits: numbers above 2^52 do not
    // fit, and numbers below have room for a half.
    let scaled = x as f64 * power(VALUE_BITS as i32 - integer_bits as i32);
    let half = if scaled < 0.0 { -0.5 } else { 0.5 };
    // `as` saturates to `i32` and truncates towards 0.
    (scaled + half) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn fixed_point_becomes_float() {
        for x in [0, 1, -1, 3, (1 << 24) + 1, -(1 << 24) - 1, (1 << 24) + 3, i32::MAX, i32::MIN, i32::MIN + 1]
        {
            assert_eq!(fixed_to_float(x, 31).to_bits(), (x as f32).to_bits(), "{x}");
            for bits in 0..32 {
                // A power of two changes only the exponent.
                let expected = (x as f32) * 2f32.powi(bits as i32 - 31);
                assert_eq!(fixed_to_float(x, bits).to_bits(), expected.to_bits(), "{x}, {bits}");
            }
        }
        assert_eq!(fixed_to_float(0, 7).to_bits(), 0, "0 is +0");
        assert_eq!(fixed_to_float(i32::MIN, 8), -256.0);
    }

    #[test]
    fn float_becomes_fixed_point() {
        for (x, bits, expected) in [
            (0.5, 31, 1),
            (-0.5, 31, -1),
            (1.5, 31, 2),
            (-1.5, 31, -2),
            (2.5, 31, 3),
            (0.49999997, 31, 0),
            (-0.49999997, 31, 0),
            (-0.0, 31, 0),
            (8388607.5, 31, 8388608),
            (f32::INFINITY, 8, i32::MAX),
            (f32::NEG_INFINITY, 8, i32::MIN),
            (f32::MAX, 0, i32::MAX),
            (f32::MIN, 31, i32::MIN),
            (f32::NAN, 0, i32::MAX),
            (-f32::NAN, 0, i32::MIN),
            (f32::from_bits(1), 0, 0),
            (1.0, 0, i32::MAX),
            (-1.0, 0, i32::MIN),
            (0.5, 0, 1 << 30),
            (255.0, 8, 255 << 23),
            (256.0, 8, i32::MAX),
            (-256.0, 8, i32::MIN),
            (2147483520.0, 31, 2147483520),
        ] {
            assert_eq!(float_to_fixed(x, bits), expected, "{x}, {bits}");
        }
    }

    /// Compares random floats with integer arithmetic on mantissas.
    #[test]
    fn random_floats_against_integers() {
        let mut random = SmallRng::seed_from_u64(61);
        for _ in 0..200_000 {
            let bits = random.random_range(0..32u32);
            let exponent = random.random_range(80..200u32);
            let x = f32::from_bits(
                random.random_range(0..2u32) << 31 | exponent << 23 | random.random_range(0..1 << 23),
            );
            let mantissa = i128::from(x.to_bits() & 0x7f_ffff | 1 << 23);
            // The scaled magnitude: |x| * 2^(31 - bits) = mantissa * 2^shift.
            let shift = exponent as i32 - 150 + 31 - bits as i32;
            let magnitude = if shift >= 0 {
                mantissa << shift.min(60)
            } else if shift < -60 {
                0
            } else {
                (mantissa + (1 << (-shift - 1))) >> -shift
            };
            let signed = if x < 0.0 { -magnitude } else { magnitude };
            let expected = signed.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
            assert_eq!(float_to_fixed(x, bits), expected, "{x:e}, {bits}");
        }
    }
}
