//! Shared code of floats narrower than `f32`: rounding, widening and operators.

/// A binary float format with a sign bit: the widths of its fields, and the meaning of codes beyond its largest value.
#[derive(Clone, Copy, Debug)]
pub(super) struct NarrowFormat {
    /// Bits of the exponent.
    pub exponent_bits: u32,
    /// Bits of the mantissa, without the implied leading one.
    pub mantissa_bits: u32,
    /// `false`: the largest exponent encodes infinity and NaN, as in IEEE 754, and conversions overflow to
    /// infinity. `true`: it encodes ordinary numbers, except that all ones is NaN, and conversions saturate.
    pub finite: bool,
}

impl NarrowFormat {
    /// Offset that is subtracted from the exponent field.
    const fn bias(self) -> u32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The code with all bits set except the sign.
    const fn magnitude_mask(self) -> u32 {
        (1 << (self.exponent_bits + self.mantissa_bits)) - 1
    }

    /// The code with all exponent bits set.
    const fn exponent_mask(self) -> u32 {
        self.magnitude_mask() >> self.mantissa_bits << self.mantissa_bits
    }

    /// The step between subnormal numbers, a power of two.
    const fn quantum(self) -> f32 {
        f32::from_bits((128 - self.bias() - self.mantissa_bits) << 23)
    }

    /// The code of the number nearest to `value`, ties to the even code. Signed zero is kept.
    ///
    /// NaN becomes the single NaN `0x7f` in a finite format. Otherwise it keeps its sign and the leading
    /// bits of its payload, and becomes quiet.
    #[inline(always)]
    pub const fn encode(self, value: f32) -> u32 {
        let bits = value.to_bits();
        let sign = bits >> 31 << (self.exponent_bits + self.mantissa_bits);
        let magnitude = bits & 0x7fff_ffff;
        let dropped = 23 - self.mantissa_bits;

        if magnitude > 0x7f80_0000 {
            if self.finite {
                return self.magnitude_mask();
            }
            let quiet = 1 << (self.mantissa_bits - 1);
            return sign | self.exponent_mask() | quiet | ((magnitude & 0x007f_ffff) >> dropped);
        }

        let smallest_normal = (128 - self.bias()) << 23;
        let code = if magnitude >= smallest_normal {
            // A carry out of the mantissa moves into the exponent, which gives the next number.
            let rebiased = magnitude - ((127 - self.bias()) << 23);
            (rebiased + (1 << (dropped - 1)) - 1 + ((rebiased >> dropped) & 1)) >> dropped
        } else {
            // Numbers of `f32` around `anchor` are one quantum apart, so the addition does the rounding.
            let anchor = f32::from_bits(self.quantum().to_bits() + (23 << 23));
            (f32::from_bits(magnitude) + anchor).to_bits() - anchor.to_bits()
        };
        let largest = if self.finite { self.magnitude_mask() - 1 } else { self.exponent_mask() };
        sign | if code > largest { largest } else { code }
    }

    /// The exact value of a code. NaN keeps its sign and payload.
    #[inline(always)]
    pub const fn decode(self, bits: u32) -> f32 {
        let sign = bits >> (self.exponent_bits + self.mantissa_bits) << 31;
        let magnitude = bits & self.magnitude_mask();
        let rebiased = (magnitude << (23 - self.mantissa_bits)) + ((127 - self.bias()) << 23);
        let special =
            if self.finite { magnitude == self.magnitude_mask() } else { magnitude >= self.exponent_mask() };
        let widened = if special {
            0x7f80_0000 | (rebiased & 0x007f_ffff)
        } else if magnitude >> self.mantissa_bits == 0 {
            (magnitude as f32 * self.quantum()).to_bits()
        } else {
            rebiased
        };
        f32::from_bits(sign | widened)
    }
}

/// Operators, numeric traits, formatting and random values of a float narrower than `f32`.
///
/// The type provides `from_f32`, `to_f32`, `NAN` and `SIGN`.
macro_rules! narrow_float {
    ($type:ident) => {
        impl $type {
            /// Rounds the `f32` result of an operation. Hosts differ in the sign and payload of a NaN result, so it is
            /// replaced by `NAN`.
            #[inline]
            fn from_operation(result: f32) -> Self {
                if result.is_nan() { Self::NAN } else { Self::from_f32(result) }
            }
        }

        $crate::scalar::narrow::narrow_float!(@operator $type, Add, add, AddAssign, add_assign);
        $crate::scalar::narrow::narrow_float!(@operator $type, Sub, sub, SubAssign, sub_assign);
        $crate::scalar::narrow::narrow_float!(@operator $type, Mul, mul, MulAssign, mul_assign);
        $crate::scalar::narrow::narrow_float!(@operator $type, Div, div, DivAssign, div_assign);
        $crate::scalar::narrow::narrow_float!(@operator $type, Rem, rem, RemAssign, rem_assign);

        impl std::ops::Neg for $type {
            type Output = Self;

            /// Flips the sign bit, also of zero and NaN.
            #[inline]
            fn neg(self) -> Self {
                Self::from_bits(self.to_bits() ^ Self::SIGN)
            }
        }

        impl num_traits::Zero for $type {
            #[inline]
            fn zero() -> Self {
                Self::from_bits(0)
            }

            /// True for zero of either sign.
            #[inline]
            fn is_zero(&self) -> bool {
                self.to_f32() == 0.0
            }
        }

        impl num_traits::One for $type {
            #[inline]
            fn one() -> Self {
                Self::from_f32(1.0)
            }
        }

        impl num_traits::Num for $type {
            type FromStrRadixErr = num_traits::ParseFloatError;

            /// Parses as `f32`, then rounds.
            fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
                <f32 as num_traits::Num>::from_str_radix(text, radix).map(Self::from_f32)
            }
        }

        impl From<$type> for f32 {
            #[inline]
            fn from(value: $type) -> f32 {
                value.to_f32()
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        /// A uniform `f32` from `-1.0..1.0`, rounded. The upper end is one of the values, because numbers just below it
        /// round up. The stream of values is that of the vendor's crate.
        impl rand::distr::Distribution<$type> for rand::distr::StandardUniform {
            fn sample<R: rand::Rng + ?Sized>(&self, rng: &mut R) -> $type {
                $type::from_f32(rng.random_range(-1.0f32..1.0))
            }
        }
    };
    (@operator $type:ident, $trait:ident, $method:ident, $assign_trait:ident, $assign_method:ident) => {
        impl std::ops::$trait for $type {
            type Output = Self;

            #[inline]
            fn $method(self, other: Self) -> Self {
                Self::from_operation(std::ops::$trait::$method(self.to_f32(), other.to_f32()))
            }
        }

        impl std::ops::$assign_trait for $type {
            #[inline]
            fn $assign_method(&mut self, other: Self) {
                *self = std::ops::$trait::$method(*self, other);
            }
        }
    };
}

/// Implements equality and order of the value, as for `f32`: zeros are equal, NaN equals nothing.
macro_rules! order_by_value {
    ($type:ident) => {
        impl PartialEq for $type {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $type {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }
    };
}

pub(super) use {narrow_float, order_by_value};

/// A second, obvious implementation: the value of a code by the textbook formula, and the nearest code by search. All
/// values are exact in `f64`.
#[cfg(test)]
pub(super) mod oracle {
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    /// A format and the midpoints between its neighbouring magnitudes.
    pub struct Oracle {
        exponent_bits: u32,
        mantissa_bits: u32,
        finite: bool,
        /// Magnitude codes below this one are finite numbers.
        pub numbers: u32,
        /// `midpoints[c]` lies half way between the magnitudes `c` and `c + 1`.
        midpoints: Vec<f64>,
    }

    fn power_of_two(exponent: i32) -> f64 {
        let power = 2f64.powi(exponent.abs());
        if exponent < 0 { 1.0 / power } else { power }
    }

    impl Oracle {
        pub fn new(exponent_bits: u32, mantissa_bits: u32, finite: bool) -> Self {
            let codes = 1u32 << (exponent_bits + mantissa_bits);
            let numbers = if finite { codes - 1 } else { codes - (1 << mantissa_bits) };
            let mut oracle = Oracle { exponent_bits, mantissa_bits, finite, numbers, midpoints: Vec::new() };
            // The formula, continued past the last number, gives the midpoint at which overflow starts.
            oracle.midpoints = (0..numbers)
                .map(|code| (oracle.magnitude(code) + oracle.magnitude(code + 1)) / 2.0)
                .collect();
            oracle
        }

        fn magnitude(&self, code: u32) -> f64 {
            let exponent = (code >> self.mantissa_bits) as i32;
            let fraction =
                f64::from(code % (1 << self.mantissa_bits)) / f64::from(1u32 << self.mantissa_bits);
            let bias = (1 << (self.exponent_bits - 1)) - 1;
            if exponent == 0 {
                fraction * power_of_two(1 - bias)
            } else {
                (1.0 + fraction) * power_of_two(exponent - bias)
            }
        }

        fn sign_bit(&self) -> u32 {
            1 << (self.exponent_bits + self.mantissa_bits)
        }

        /// The value of a code; NaN for every NaN.
        pub fn decode(&self, code: u32) -> f64 {
            let magnitude = code & (self.sign_bit() - 1);
            let value = if magnitude < self.numbers {
                self.magnitude(magnitude)
            } else if !self.finite && magnitude == self.numbers {
                f64::INFINITY
            } else {
                f64::NAN
            };
            if code & self.sign_bit() == 0 { value } else { -value }
        }

        /// The code of a value that is not NaN.
        pub fn encode(&self, value: f32) -> u32 {
            let magnitude = f64::from(value).abs();
            // Number of midpoints passed; on a midpoint the even neighbour wins.
            let below = self.midpoints.partition_point(|&midpoint| midpoint < magnitude) as u32;
            let tie = self.midpoints.get(below as usize) == Some(&magnitude);
            let mut code = if tie { below + below % 2 } else { below };
            if self.finite {
                code = code.min(self.numbers - 1);
            }
            code | if value.is_sign_negative() { self.sign_bit() } else { 0 }
        }

        /// Every midpoint with its neighbours in `f32`, of both signs.
        pub fn around_midpoints(&self) -> impl Iterator<Item = f32> + '_ {
            self.midpoints.iter().flat_map(|&midpoint| {
                let value = midpoint as f32;
                [value, value.next_up(), value.next_down(), -value, -value.next_up(), -value.next_down()]
            })
        }
    }

    /// Inputs for conversions from `f32`: everything bf16 can represent and 2^20 random patterns, or every
    /// pattern when the environment variable `VISA_LONG` is 1.
    pub fn samples() -> Box<dyn Iterator<Item = f32>> {
        if std::env::var("VISA_LONG").is_ok_and(|long| long == "1") {
            return Box::new((0..=u32::MAX).map(f32::from_bits));
        }
        let seed = 0x5ca1_a125;
        let mut rng = SmallRng::seed_from_u64(seed);
        let random = (0..1 << 20).map(move |_| f32::from_bits(rng.random()));
        Box::new((0..=0xffffu32).map(|high| f32::from_bits(high << 16)).chain(random))
    }

    /// Compares two encoders on the samples and around the midpoints, and two decoders on all codes.
    pub fn compare(oracle: &Oracle, encode: impl Fn(f32) -> u32, decode: impl Fn(u32) -> f32) {
        for value in samples().chain(oracle.around_midpoints()) {
            let code = encode(value);
            if value.is_nan() {
                assert!(oracle.decode(code).is_nan(), "{:#x} became {code:#x}", value.to_bits());
            } else {
                let expected = oracle.encode(value);
                assert_eq!(
                    code,
                    expected,
                    "{value:e} ({:#x}): {code:#x}, not {expected:#x}",
                    value.to_bits()
                );
            }
        }
        for code in 0..2 * oracle.sign_bit() {
            let (value, expected) = (decode(code), oracle.decode(code));
            assert!(
                value.is_nan() && expected.is_nan() || f64::from(value).to_bits() == expected.to_bits(),
                "code {code:#x}: {value:e}, not {expected:e}"
            );
            assert_eq!(value.is_sign_negative(), code & oracle.sign_bit() != 0, "code {code:#x}");
            if !value.is_nan() {
                assert_eq!(encode(value), code, "code {code:#x} does not survive the way to f32 and back");
            }
        }
    }
}
