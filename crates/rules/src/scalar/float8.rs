//! Floats of eight bits: [`f8e4m3`] and [`f8e5m2`].

use super::narrow::{NarrowFormat, narrow_float, order_by_value};
use std::cmp::Ordering;

const E4M3: NarrowFormat = NarrowFormat { exponent_bits: 4, mantissa_bits: 3, finite: true };
const E5M2: NarrowFormat = NarrowFormat { exponent_bits: 5, mantissa_bits: 2, finite: false };

static E4M3_VALUES: [f32; 256] = values(E4M3);
static E5M2_VALUES: [f32; 256] = values(E5M2);

/// Table of the values of all codes, so that decoding is one load.
const fn values(format: NarrowFormat) -> [f32; 256] {
    let mut table = [0.0; 256];
    each!(code < 256, {
        table[code] = format.decode(code as u32);
    });
    table
}

/// The value of an [`f8e4m3`] code.
#[inline]
pub fn f8e4m3_bits_to_f32(bits: u8) -> f32 {
    E4M3_VALUES[bits as usize]
}

/// The [`f8e4m3`] code of a value, rounded as by [`f8e4m3::from_f32`].
#[inline]
pub const fn f32_to_f8e4m3_bits(value: f32) -> u8 {
    E4M3.encode(value) as u8
}

/// The value of an [`f8e5m2`] code.
#[inline]
pub fn f8e5m2_bits_to_f32(bits: u8) -> f32 {
    E5M2_VALUES[bits as usize]
}

/// The [`f8e5m2`] code of a value, rounded as by [`f8e5m2::from_f32`].
#[inline]
pub const fn f32_to_f8e5m2_bits(value: f32) -> u8 {
    E5M2.encode(value) as u8
}

/// Float of eight bits: sign, four exponent bits (bias 7), three mantissa bits.
///
/// There is no infinity. The largest number is 448, the smallest positive one 2^-9. The codes `0x7f` and
/// `0xff` are NaN. Operators compute in `f32` and round the result; a NaN result is `0x7f`.
///
/// Equality compares codes: NaN `0x7f` equals itself, and the two zeros differ. The order agrees: -0 comes
/// before +0, and a NaN is ordered only with its own code.
///
/// See `guide::memories_and_dma`.
///
/// ```
/// use furiosa_visa_std::scalar::f8e4m3;
///
/// assert_eq!(f8e4m3::from_f32(1000.0).to_f32(), 448.0);
/// assert_eq!(f8e4m3::from_f32(f32::NAN).to_bits(), 0x7f);
/// ```
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct f8e4m3(u8);

impl f8e4m3 {
    /// The largest number, 448.
    pub const MAX: f8e4m3 = f8e4m3(0x7e);
    /// The smallest number, -448.
    pub const MIN: f8e4m3 = f8e4m3(0xfe);
    /// The NaN that conversions and operators return.
    pub const NAN: f8e4m3 = f8e4m3(0x7f);
    const SIGN: u8 = 0x80;

    /// The number nearest to `value`, ties to even, subnormal numbers included.
    ///
    /// Magnitudes beyond 448 and infinity become 448 with the sign of `value`. Every NaN becomes `0x7f`. The
    /// sign of zero is kept. See `guide::cast_transpose_commit`.
    #[inline]
    pub const fn from_f32(value: f32) -> Self {
        f8e4m3(f32_to_f8e4m3_bits(value))
    }

    /// The exact value.
    #[inline]
    pub fn to_f32(self) -> f32 {
        f8e4m3_bits_to_f32(self.0)
    }

    /// The value with this code.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        f8e4m3(bits)
    }

    /// The code.
    #[inline]
    pub const fn to_bits(self) -> u8 {
        self.0
    }
}

narrow_float!(f8e4m3);

impl PartialOrd for f8e4m3 {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self == other {
            return Some(Ordering::Equal);
        }
        let order = self.to_f32().partial_cmp(&other.to_f32())?;
        // Different codes of equal value are the two zeros.
        Some(order.then(other.0.cmp(&self.0)))
    }
}

/// Float of eight bits: sign, five exponent bits (bias 15), two mantissa bits, with infinity and NaN as in
/// IEEE 754.
///
/// The largest number is 57344, the smallest positive one 2^-16. Operators compute in `f32` and round the
/// result. Equality and order are those of the value.
///
/// The type is documented; its conversion follows IEEE 754, as a choice of this library (assumed). See
/// `guide::cast_transpose_commit`.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default)]
pub struct f8e5m2(u8);

impl f8e5m2 {
    /// The largest number, 57344.
    pub const MAX: f8e5m2 = f8e5m2(0x7b);
    /// The smallest number, -57344.
    pub const MIN: f8e5m2 = f8e5m2(0xfb);
    /// Positive infinity.
    pub const INFINITY: f8e5m2 = f8e5m2(0x7c);
    /// The NaN that operators return.
    pub const NAN: f8e5m2 = f8e5m2(0x7e);
    const SIGN: u8 = 0x80;

    /// The number nearest to `value`, ties to even, subnormal numbers included.
    ///
    /// Magnitudes from 61440 on become infinity: nothing saturates. NaN becomes a quiet NaN with the same sign and the
    /// leading bits of the payload. The sign of zero is kept.
    #[inline]
    pub const fn from_f32(value: f32) -> Self {
        f8e5m2(f32_to_f8e5m2_bits(value))
    }

    /// The exact value.
    #[inline]
    pub fn to_f32(self) -> f32 {
        f8e5m2_bits_to_f32(self.0)
    }

    /// The value with this code.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        f8e5m2(bits)
    }

    /// The code.
    #[inline]
    pub const fn to_bits(self) -> u8 {
        self.0
    }
}

narrow_float!(f8e5m2);
order_by_value!(f8e5m2);

#[cfg(test)]
mod tests {
    use super::super::narrow::oracle::{Oracle, compare, samples};
    use super::*;
    use num_traits::{Num, One, Zero};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn e4m3_agrees_with_the_oracle() {
        compare(
            &Oracle::new(4, 3, true),
            |value| f32_to_f8e4m3_bits(value).into(),
            |code| f8e4m3_bits_to_f32(code as u8),
        );
    }

    #[test]
    fn e5m2_agrees_with_the_oracle() {
        compare(
            &Oracle::new(5, 2, false),
            |value| f32_to_f8e5m2_bits(value).into(),
            |code| f8e5m2_bits_to_f32(code as u8),
        );
    }

    #[test]
    fn e4m3_makes_one_nan_only() {
        for value in samples().filter(|value| value.is_nan()).take(10_000) {
            assert_eq!(f8e4m3::from_f32(value).to_bits(), 0x7f);
        }
        assert!(f8e4m3::from_bits(0xff).to_f32().is_nan());
        assert_eq!((f8e4m3::from_bits(0xff) + f8e4m3::one()).to_bits(), 0x7f);
    }

    #[test]
    fn e4m3_limits() {
        let code = |value| f8e4m3::from_f32(value).to_bits();
        assert_eq!(code(448.0), 0x7e);
        assert_eq!(code(464.0), 0x7e);
        assert_eq!(code(f32::MAX), 0x7e);
        assert_eq!(code(f32::INFINITY), 0x7e);
        assert_eq!(code(f32::NEG_INFINITY), 0xfe);
        assert_eq!(code(432.0), 0x7e); // a tie between 416 and 448, whose code is even
        assert_eq!(code(431.9), 0x7d);
        assert_eq!(code(-0.0), 0x80);
        assert_eq!(code(-f32::MIN_POSITIVE), 0x80);
        assert_eq!(code(0.001953125), 0x01); // 2^-9
        assert_eq!(code(0.0009765625), 0x00); // 2^-10, a tie with zero
        assert_eq!(code(0.0029296875), 0x02); // 1.5 * 2^-9, a tie
        assert_eq!(f8e4m3::MAX.to_f32(), 448.0);
        assert_eq!(f8e4m3::MIN.to_f32(), -448.0);
    }

    #[test]
    fn e5m2_limits() {
        let code = |value| f8e5m2::from_f32(value).to_bits();
        assert_eq!(code(57344.0), 0x7b);
        assert_eq!(code(61439.0), 0x7b);
        assert_eq!(code(61440.0), 0x7c);
        assert_eq!(code(-f32::MAX), 0xfc);
        assert_eq!(code(f32::NAN), 0x7e);
        assert_eq!(code(-f32::NAN), 0xfe);
        assert_eq!(code(f32::from_bits(0x7f80_0001)), 0x7e); // signalling becomes quiet
        assert_eq!(code(f32::from_bits(0x7fe0_0000)), 0x7f);
        assert_eq!(code(-0.0), 0x80);
        assert_eq!((f8e5m2::MAX.to_f32(), f8e5m2::MIN.to_f32()), (57344.0, -57344.0));
        assert_eq!(f8e5m2::INFINITY.to_f32(), f32::INFINITY);
    }

    #[test]
    fn e4m3_operators_round_once_and_saturate() {
        let value = f8e4m3::from_f32;
        assert_eq!(value(16.0) + value(1.0), value(16.0)); // 17 ties to 16
        assert_eq!(value(18.0) + value(1.0), value(20.0)); // 19 ties to 20
        assert_eq!(f8e4m3::MAX + f8e4m3::MAX, f8e4m3::MAX);
        assert_eq!(f8e4m3::MIN * f8e4m3::MAX, f8e4m3::MIN);
        assert_eq!(value(1.0) / f8e4m3::zero(), f8e4m3::MAX);
        assert_eq!(f8e4m3::zero() / f8e4m3::zero(), f8e4m3::NAN);
        assert_eq!(value(5.0) % value(3.0), value(2.0));
        assert_eq!(-value(1.5), value(-1.5));
        assert_eq!((-f8e4m3::zero()).to_bits(), 0x80);
        let mut sum = value(1.0);
        sum += value(0.5);
        assert_eq!(sum.to_string(), "1.5");
        assert_eq!(format!("{sum:?}"), "1.5");
    }

    #[test]
    fn e4m3_equality_and_order_go_by_codes() {
        let (zero, minus_zero) = (f8e4m3::zero(), -f8e4m3::zero());
        assert_ne!(zero, minus_zero);
        assert!(minus_zero < zero && minus_zero.is_zero());
        assert_eq!(f8e4m3::NAN, f8e4m3::NAN);
        assert_ne!(f8e4m3::NAN, f8e4m3::from_bits(0xff));
        assert_eq!(f8e4m3::NAN.partial_cmp(&zero), None);
        assert_eq!(f8e4m3::NAN.partial_cmp(&f8e4m3::from_bits(0xff)), None);
        for (a, b) in (0..=255u8).flat_map(|a| (0..=255u8).map(move |b| (a, b))) {
            let (x, y) = (f8e4m3::from_bits(a), f8e4m3::from_bits(b));
            assert_eq!(x.partial_cmp(&y) == Some(Ordering::Equal), x == y);
            assert_eq!(x.partial_cmp(&y), y.partial_cmp(&x).map(Ordering::reverse));
        }
    }

    #[test]
    fn e5m2_equality_is_that_of_the_value() {
        assert_eq!(f8e5m2::zero(), -f8e5m2::zero());
        assert_ne!(f8e5m2::NAN, f8e5m2::NAN);
        assert!(f8e5m2::MAX < f8e5m2::INFINITY);
        // Infinity minus infinity is a NaN with the same code on every host.
        assert_eq!((f8e5m2::INFINITY - f8e5m2::INFINITY).to_bits(), f8e5m2::NAN.to_bits());
    }

    #[test]
    fn parsing_rounds() {
        assert_eq!(f8e4m3::from_str_radix("1.06", 10).ok(), Some(f8e4m3::one()));
        assert!(f8e5m2::from_str_radix("x", 10).is_err());
    }

    #[test]
    fn random_values_are_rounded_uniform_numbers() {
        let (mut rng, mut uniform) = (SmallRng::seed_from_u64(8), SmallRng::seed_from_u64(8));
        let (mut low, mut high) = (1.0f32, -1.0f32);
        for _ in 0..20_000 {
            let [first, second] = [(); 2].map(|()| uniform.random_range(-1.0f32..1.0));
            let drawn = [rng.random::<f8e4m3>().to_f32(), rng.random::<f8e5m2>().to_f32()];
            assert_eq!(drawn, [f8e4m3::from_f32(first).to_f32(), f8e5m2::from_f32(second).to_f32()]);
            for value in drawn {
                (low, high) = (low.min(value), high.max(value));
            }
        }
        assert_eq!((low, high), (-1.0, 1.0));
    }
}
