//! The float of four bits: [`f4e2m1`].

use super::f8e4m3;
use super::narrow::{narrow_float, order_by_value};

/// The values of the codes 0 to 7. The others are the same with a sign.
const MAGNITUDES: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// Float of four bits: sign, two exponent bits (bias 1), one mantissa bit. Without infinity and NaN.
///
/// The magnitudes are 0, 0.5, 1, 1.5, 2, 3, 4 and 6. Tensors of NVFP4 and MXFP4 hold it, with a scale per block elsewhere. In
/// memory two elements share a byte, the first in the low half.
///
/// No engine computes with it. A table makes wider floats of it while it is fetched: see [`table_codes`](super::table_codes).
/// Operators of the host compute in `f32` and round the result. Equality and order are those of the value.
///
/// See `guide::fetch`, "Tables".
///
/// ```
/// use furiosa_visa_std::scalar::f4e2m1;
///
/// assert_eq!(f4e2m1::from_bits(0b0101).to_f32(), 3.0); // 2^(2 - 1) * 1.5
/// assert_eq!(f4e2m1::from_f32(-100.0).to_f32(), -6.0);
/// assert_eq!(f4e2m1::from_f32(2.5).to_f32(), 2.0); // a tie goes to the lower code
/// ```
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default)]
pub struct f4e2m1(u8);

impl f4e2m1 {
    /// The largest number, 6.
    pub const MAX: f4e2m1 = f4e2m1(0x7);
    /// The smallest number, -6.
    pub const MIN: f4e2m1 = f4e2m1(0xf);
    /// Result of operations without one.
    const NAN: f4e2m1 = f4e2m1(0);
    const SIGN: u8 = 0x8;

    /// The number nearest to `value`. Of two that are equally near it takes the one with the lower code.
    ///
    /// Magnitudes beyond 6 and infinity become 6 with the sign of `value`. Both zeros become +0.0, as does all that is
    /// nearest to zero, because 0 is the lower one of their codes. A NaN becomes +0.0 (assumed: the type has none).
    pub const fn from_f32(value: f32) -> Self {
        let magnitude = value.abs();
        let mut code = 0;
        each!(next < MAGNITUDES.len(), {
            // The middle between two neighbours is exact, and belongs to the lower one.
            if next > 0 && magnitude > (MAGNITUDES[next - 1] + MAGNITUDES[next]) / 2.0 {
                code = next as u8;
            }
        });
        f4e2m1(if code > 0 && value < 0.0 { code | Self::SIGN } else { code })
    }

    /// The exact value.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        let magnitude = MAGNITUDES[(self.0 & 7) as usize];
        if self.0 & Self::SIGN == 0 { magnitude } else { -magnitude }
    }

    /// The same value as [`f8e4m3`], which holds all of them.
    #[inline]
    pub const fn to_f8e4m3(self) -> f8e4m3 {
        f8e4m3::from_f32(self.to_f32())
    }

    /// The value with this code. The upper four bits are ignored.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        f4e2m1(bits & 0xf)
    }

    /// The code.
    #[inline]
    pub const fn to_bits(self) -> u8 {
        self.0
    }
}

narrow_float!(f4e2m1);
order_by_value!(f4e2m1);

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::{Num, One, Zero};

    /// The values by the formula of the format.
    fn value(code: u8) -> f32 {
        let (exponent, mantissa) = (i32::from(code >> 1 & 3), f32::from(code & 1));
        let magnitude =
            if exponent == 0 { mantissa / 2.0 } else { (1.0 + mantissa / 2.0) * 2f32.powi(exponent - 1) };
        if code < 8 { magnitude } else { -magnitude }
    }

    #[test]
    fn codes_have_their_values() {
        for code in 0..16 {
            let own = f4e2m1::from_bits(code | 0xa0);
            assert_eq!((own.to_bits(), own.to_f32().to_bits()), (code, value(code).to_bits()), "{code}");
            assert_eq!(own.to_f8e4m3().to_f32().to_bits(), value(code).to_bits());
            assert_eq!((-own).to_bits(), code ^ 8);
        }
    }

    /// The nearest code by search, from the lowest code on.
    #[test]
    fn numbers_round_to_the_nearest_code() {
        let nearest = |wanted: f32| {
            let distance = |code: &u8| (f64::from(value(*code)) - f64::from(wanted)).abs();
            (0..16).min_by(|a, b| distance(a).total_cmp(&distance(b))).expect("there are codes")
        };
        for step in -800..=800 {
            let exact = step as f32 / 64.0;
            for wanted in [exact, exact.next_up(), exact.next_down()] {
                assert_eq!(f4e2m1::from_f32(wanted).to_bits(), nearest(wanted), "{wanted:e}");
            }
        }
        let code = |value: f32| f4e2m1::from_f32(value).to_bits();
        assert_eq!([code(f32::INFINITY), code(f32::NEG_INFINITY), code(f32::NAN)], [7, 15, 0]);
        // Ties: 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.
        assert_eq!([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0].map(code), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!([-0.25, -0.75, -5.0, -0.0].map(code), [0, 9, 14, 0]);
    }

    #[test]
    fn equality_and_operators_are_those_of_the_value() {
        assert_eq!(f4e2m1::from_bits(0), f4e2m1::from_bits(8));
        assert!(f4e2m1::MIN < f4e2m1::zero() && f4e2m1::zero() < f4e2m1::MAX);
        assert_eq!(f4e2m1::one() + f4e2m1::from_f32(0.5), f4e2m1::from_f32(1.5));
        assert_eq!((f4e2m1::zero() / f4e2m1::zero()).to_bits(), 0);
        assert_eq!(f4e2m1::from_str_radix("2.9", 10).ok(), Some(f4e2m1::from_f32(3.0)));
        assert_eq!(f4e2m1::from_f32(-1.5).to_string(), "-1.5");
    }
}
