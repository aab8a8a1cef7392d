//! Floats of sixteen bits: [`bf16`] and [`f16`](struct@f16).
//!
//! The crate `half` is used only to exchange values. Conversions and operators are part of this crate, so that they are
//! the same on every host.

use super::narrow::{NarrowFormat, narrow_float, order_by_value};

const F16: NarrowFormat = NarrowFormat { exponent_bits: 5, mantissa_bits: 10, finite: false };

/// Codes, operators, and the exchange with `half` of a float.
macro_rules! float16 {
    ($type:ident) => {
        impl $type {
            const SIGN: u16 = 0x8000;

            /// The value with this code.
            #[inline]
            pub const fn from_bits(bits: u16) -> Self {
                $type(half::$type::from_bits(bits))
            }

            /// The code.
            #[inline]
            pub const fn to_bits(self) -> u16 {
                self.0.to_bits()
            }
        }

        narrow_float!($type);
        order_by_value!($type);

        impl From<half::$type> for $type {
            #[inline]
            fn from(value: half::$type) -> Self {
                $type(value)
            }
        }

        impl From<$type> for half::$type {
            #[inline]
            fn from(value: $type) -> Self {
                value.0
            }
        }
    };
}

/// The value of a [`bf16`] code.
#[inline]
pub const fn bf16_bits_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// The [`bf16`] code of a value, rounded as by [`bf16::from_f32`].
#[inline]
pub const fn f32_to_bf16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    // Half a step minus one is added, plus one if the kept part is odd: this rounds ties to even. A carry runs into the
    // exponent, up to infinity. It could also destroy a NaN, so a NaN is handled apart.
    let rounded = (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16;
    let quiet = (bits >> 16) as u16 | 0x0040;
    if bits & 0x7fff_ffff > 0x7f80_0000 { quiet } else { rounded }
}

/// The value of an [`f16`](struct@f16) code.
#[inline]
pub const fn f16_bits_to_f32(bits: u16) -> f32 {
    F16.decode(bits as u32)
}

/// The [`f16`](struct@f16) code of a value, rounded as by its `from_f32`.
#[inline]
pub const fn f32_to_f16_bits(value: f32) -> u16 {
    F16.encode(value) as u16
}

/// Float of sixteen bits with the range of `f32`: sign, eight exponent bits, seven mantissa bits.
///
/// Operators compute in `f32` and round the result. Every NaN result is [`bf16::NAN`]. Equality and order are those of
/// the value.
///
/// See `guide::memories_and_dma`.
///
/// ```
/// use furiosa_visa_std::scalar::bf16;
///
/// let sum = bf16::from_f32(256.0) + bf16::from_f32(1.0);
/// assert_eq!(f32::from(sum), 256.0); // 257 needs nine bits; the tie goes to even
/// ```
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default)]
pub struct bf16(half::bf16);

impl bf16 {
    /// The largest number, about 3.39e38.
    pub const MAX: bf16 = bf16::from_bits(0x7f7f);
    /// The smallest number, about -3.39e38.
    pub const MIN: bf16 = bf16::from_bits(0xff7f);
    /// Positive infinity.
    pub const INFINITY: bf16 = bf16::from_bits(0x7f80);
    /// Negative infinity.
    pub const NEG_INFINITY: bf16 = bf16::from_bits(0xff80);
    /// The NaN that operators return.
    pub const NAN: bf16 = bf16::from_bits(0x7fc0);

    /// The number nearest to `value`, ties to even, subnormal numbers included.
    ///
    /// Magnitudes that round beyond [`MAX`](bf16::MAX) become infinity. NaN becomes a quiet NaN with the same
    /// sign and the leading bits of the payload. See `guide::cast_transpose_commit`.
    #[inline]
    pub const fn from_f32(value: f32) -> Self {
        bf16::from_bits(f32_to_bf16_bits(value))
    }

    /// The exact value. A NaN keeps its bits.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        bf16_bits_to_f32(self.to_bits())
    }
}

float16!(bf16);

/// Float of sixteen bits as in IEEE 754: sign, five exponent bits, ten mantissa bits.
///
/// Operators compute in `f32` and round the result. Every NaN result is [`Self::NAN`]. Equality and order are those of
/// the value.
///
/// See `guide::fetch`, "Types", and `guide::cast_transpose_commit`.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default)]
pub struct f16(half::f16);

impl f16 {
    /// The largest number, 65504.
    pub const MAX: f16 = f16::from_bits(0x7bff);
    /// The smallest number, -65504.
    pub const MIN: f16 = f16::from_bits(0xfbff);
    /// Positive infinity.
    pub const INFINITY: f16 = f16::from_bits(0x7c00);
    /// Negative infinity.
    pub const NEG_INFINITY: f16 = f16::from_bits(0xfc00);
    /// The NaN that operators return.
    pub const NAN: f16 = f16::from_bits(0x7e00);

    /// The number nearest to `value`, ties to even, subnormal numbers included.
    ///
    /// Magnitudes from 65520 on become infinity. NaN becomes a quiet NaN with the same sign and the leading
    /// bits of the payload.
    #[inline]
    pub const fn from_f32(value: f32) -> Self {
        f16::from_bits(f32_to_f16_bits(value))
    }

    /// The exact value. A NaN keeps its sign and payload.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        f16_bits_to_f32(self.to_bits())
    }
}

float16!(f16);

#[cfg(test)]
mod tests {
    use super::super::narrow::oracle::{Oracle, compare, samples};
    use super::*;
    use num_traits::{Num, One, Zero};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn bf16_agrees_with_the_oracle() {
        compare(
            &Oracle::new(8, 7, false),
            |value| f32_to_bf16_bits(value).into(),
            |code| bf16_bits_to_f32(code as u16),
        );
    }

    #[test]
    fn f16_agrees_with_the_oracle() {
        compare(
            &Oracle::new(5, 10, false),
            |value| f32_to_f16_bits(value).into(),
            |code| f16_bits_to_f32(code as u16),
        );
    }

    /// The remainder of an integer division decides: below half a step down, above it up, at half to even.
    #[test]
    fn bf16_agrees_with_integer_division() {
        for value in samples().filter(|value| !value.is_nan()) {
            let magnitude = value.abs().to_bits();
            let (kept, dropped) = (magnitude / 0x1_0000, magnitude % 0x1_0000);
            let up = dropped > 0x8000 || dropped == 0x8000 && kept % 2 == 1;
            let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
            assert_eq!(u32::from(f32_to_bf16_bits(value)), sign + kept + u32::from(up), "{value:e}");
        }
    }

    /// Conversions agree with the crate `half`, NaN included.
    #[test]
    fn agreement_with_half() {
        for value in samples() {
            let bits = value.to_bits();
            assert_eq!(f32_to_bf16_bits(value), half::bf16::from_f32(value).to_bits(), "bf16 {bits:#x}");
            assert_eq!(f32_to_f16_bits(value), half::f16::from_f32(value).to_bits(), "f16 {bits:#x}");
        }
        for code in 0..=u16::MAX {
            let same = |ours: f32, theirs: f32| {
                ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan()
            };
            assert!(same(bf16_bits_to_f32(code), half::bf16::from_bits(code).to_f32()), "bf16 {code:#x}");
            assert!(same(f16_bits_to_f32(code), half::f16::from_bits(code).to_f32()), "f16 {code:#x}");
            assert_eq!(half::bf16::from(bf16::from(half::bf16::from_bits(code))).to_bits(), code);
            assert_eq!(half::f16::from(f16::from(half::f16::from_bits(code))).to_bits(), code);
        }
    }

    #[test]
    fn bf16_nan_and_overflow() {
        let code = |bits| f32_to_bf16_bits(f32::from_bits(bits));
        assert_eq!(code(0x7f80_0001), 0x7fc0); // signalling; its payload is cut off, yet it stays NaN
        assert_eq!(code(0xffff_ffff), 0xffff);
        assert_eq!(code(0xffc0_0000), 0xffc0);
        assert_eq!(code(0x7f7f_7fff), 0x7f7f);
        assert_eq!(code(0x7f7f_8000), 0x7f80);
        assert_eq!(code(0x8000_0001), 0x8000);
        assert_eq!(code(0x0000_8001), 0x0001);
    }

    #[test]
    fn f16_nan_and_overflow() {
        assert_eq!(f32_to_f16_bits(65519.0), 0x7bff);
        assert_eq!(f32_to_f16_bits(65520.0), 0x7c00);
        assert_eq!(f32_to_f16_bits(-f32::NAN), 0xfe00);
        assert_eq!(f32_to_f16_bits(f32::from_bits(0x7f80_0001)), 0x7e00);
        assert_eq!((f16::MAX.to_f32(), f16::MIN.to_f32()), (65504.0, -65504.0));
    }

    /// Each operation equals the `f32` operation followed by one rounding, and agrees with `half`.
    #[test]
    fn operators() {
        let mut rng = SmallRng::seed_from_u64(16);
        for _ in 0..1 << 16 {
            let (a, b) = (bf16::from_bits(rng.random()), bf16::from_bits(rng.random()));
            let (x, y) = (half::bf16::from(a), half::bf16::from(b));
            for (ours, theirs) in [(a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y)] {
                if theirs.is_nan() {
                    assert_eq!(ours.to_bits(), 0x7fc0);
                } else {
                    assert_eq!(ours.to_bits(), theirs.to_bits(), "{a:?} and {b:?}");
                }
            }
            assert_eq!(a == b, x == y);
            assert_eq!(a.partial_cmp(&b), x.partial_cmp(&y));
            assert_eq!((-a).to_bits(), a.to_bits() ^ 0x8000);
        }
        assert_eq!(f16::from_f32(2048.0) + f16::one(), f16::from_f32(2048.0));
        assert_eq!(f16::MAX + f16::MAX, f16::INFINITY);
        assert_eq!((f16::INFINITY * f16::zero()).to_bits(), f16::NAN.to_bits());
        assert_eq!((bf16::INFINITY + bf16::NEG_INFINITY).to_bits(), bf16::NAN.to_bits());
        let mut product = f16::from_f32(3.0);
        product *= f16::from_f32(-0.5);
        assert_eq!(format!("{product} {product:?} {}", f32::from(product)), "-1.5 -1.5 -1.5");
    }

    #[test]
    fn numbers() {
        assert!(bf16::zero().is_zero() && (-bf16::zero()).is_zero() && bf16::one().is_one());
        assert_eq!(bf16::default().to_bits(), 0);
        assert_eq!(bf16::from_str_radix("-2.5", 10).ok(), Some(bf16::from_f32(-2.5)));
        assert_eq!(bf16::zero(), -bf16::zero());
        assert_ne!(bf16::NAN, bf16::NAN);
        assert!(bf16::MIN < bf16::MAX && bf16::MAX < bf16::INFINITY);
        const ONE: f32 = bf16::from_f32(1.0).to_f32() + f16::from_f32(0.0).to_f32();
        assert_eq!(ONE, 1.0);
    }

    /// Each random value takes one uniform number of the stream; a number that rounds up to one stays one.
    #[test]
    fn random_values_are_rounded_uniform_numbers() {
        let (mut rng, mut uniform) = (SmallRng::seed_from_u64(16), SmallRng::seed_from_u64(16));
        let (mut sum, mut ones) = (0.0, 0);
        for _ in 0..20_000 {
            let [first, second] = [(); 2].map(|()| uniform.random_range(-1.0f32..1.0));
            let drawn = [rng.random::<bf16>().to_f32(), rng.random::<f16>().to_f32()];
            assert_eq!(drawn, [bf16::from_f32(first).to_f32(), f16::from_f32(second).to_f32()]);
            assert!(drawn.iter().all(|value| (-1.0..=1.0).contains(value)));
            ones += usize::from(drawn[0] == 1.0);
            sum += f64::from(drawn[0] + drawn[1]);
        }
        // The mean of 40 000 draws has a standard deviation of 0.003; one of 1024 rounds to one in bf16.
        assert!(sum.abs() / 40_000.0 < 0.015 && (5..80).contains(&ones), "{sum}, {ones}");
    }
}
