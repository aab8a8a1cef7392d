//! [`i4`], the four-bit integer. The other integers are the native ones.

use super::{ElementType, Scalar};
use num_traits::{Num, One, Zero};
use std::fmt;
use std::num::ParseIntError;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

/// Signed integer of four bits: -8 to 7.
///
/// Every result keeps the low four bits, sign-extended; nothing saturates. In memory two elements share a
/// byte, the first in the low half.
///
/// Source: page *Mapping and tensors*, section 4.8.
///
/// ```
/// use furiosa_visa_std::scalar::i4;
///
/// assert_eq!(i4::from_i32(9), i4::from_i32(-7));
/// assert_eq!((i4::from_i32(7) + i4::from_i32(1)).to_i32(), -8);
/// ```
// The field is always in -8..=7, so the derived orders are those of the value.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct i4(i8);

impl i4 {
    /// The smallest value, -8.
    pub const MIN: i4 = i4(-8);
    /// The largest value, 7.
    pub const MAX: i4 = i4(7);

    /// Keeps the low four bits of `value`, sign-extended.
    #[inline]
    pub const fn from_i32(value: i32) -> Self {
        i4((value << 28 >> 28) as i8)
    }

    /// The value.
    #[inline]
    pub const fn to_i32(self) -> i32 {
        self.0 as i32
    }
}

impl Scalar for i4 {
    const ELEMENT_TYPE: ElementType = ElementType::I4;

    #[inline]
    fn to_bits(self) -> u32 {
        self.to_i32() as u32 & 0xf
    }

    #[inline]
    fn from_bits(bits: u32) -> Self {
        i4::from_i32(bits as i32)
    }

    #[inline]
    fn add_wrapping(self, other: Self) -> Self {
        self + other
    }

    #[inline]
    fn sub_wrapping(self, other: Self) -> Self {
        self - other
    }

    #[inline]
    fn mul_wrapping(self, other: Self) -> Self {
        self * other
    }

    #[inline]
    #[track_caller]
    fn div_wrapping(self, other: Self) -> Self {
        self / other
    }
}

macro_rules! operators {
    ($($trait:ident, $method:ident, $assign_trait:ident, $assign_method:ident;)*) => { $(
        impl $trait for i4 {
            type Output = Self;

            #[inline]
            #[track_caller]
            fn $method(self, other: Self) -> Self {
                // Operands of four bits cannot overflow the operation in `i32`.
                i4::from_i32(i32::$method(self.to_i32(), other.to_i32()))
            }
        }

        impl $assign_trait for i4 {
            #[inline]
            #[track_caller]
            fn $assign_method(&mut self, other: Self) {
                *self = $trait::$method(*self, other);
            }
        }
    )* };
}

operators! {
    Add, add, AddAssign, add_assign;
    Sub, sub, SubAssign, sub_assign;
    Mul, mul, MulAssign, mul_assign;
    Div, div, DivAssign, div_assign;
    Rem, rem, RemAssign, rem_assign;
}

impl Neg for i4 {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        i4::from_i32(-self.to_i32())
    }
}

impl Zero for i4 {
    #[inline]
    fn zero() -> Self {
        i4(0)
    }

    #[inline]
    fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl One for i4 {
    #[inline]
    fn one() -> Self {
        i4(1)
    }
}

impl Num for i4 {
    type FromStrRadixErr = ParseIntError;

    /// Parses a number from -8 to 7. Unlike arithmetic, a number out of range is an error.
    fn from_str_radix(text: &str, radix: u32) -> Result<Self, ParseIntError> {
        let value = i8::from_str_radix(text, radix)?;
        match value {
            -8..=7 => Ok(i4(value)),
            // The standard error has no constructor; a number that overflows `i8` makes the same one.
            8.. => "128".parse().map(i4),
            _ => "-129".parse().map(i4),
        }
    }
}

impl From<i4> for i32 {
    #[inline]
    fn from(value: i4) -> i32 {
        value.to_i32()
    }
}

impl From<i4> for i8 {
    #[inline]
    fn from(value: i4) -> i8 {
        value.0
    }
}

impl fmt::Debug for i4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for i4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value in -8..=7 that differs from `value` by a multiple of 16.
    fn wrapped(value: i32) -> i32 {
        (value + 8).rem_euclid(16) - 8
    }

    fn all() -> impl Iterator<Item = i4> {
        (-8..=7).map(i4::from_i32)
    }

    #[test]
    fn from_i32_keeps_the_low_four_bits() {
        for value in -1000..1000 {
            assert_eq!(i4::from_i32(value).to_i32(), wrapped(value));
        }
        assert_eq!(i4::from_i32(i32::MIN).to_i32(), 0);
        assert_eq!(i4::from_i32(i32::MAX).to_i32(), -1);
    }

    #[test]
    fn every_pair_of_operands() {
        for (a, b) in all().flat_map(|a| all().map(move |b| (a, b))) {
            let (x, y) = (a.to_i32(), b.to_i32());
            assert_eq!((a + b).to_i32(), wrapped(x + y));
            assert_eq!((a - b).to_i32(), wrapped(x - y));
            assert_eq!((a * b).to_i32(), wrapped(x * y));
            if y != 0 {
                assert_eq!((a / b).to_i32(), wrapped(x / y));
                assert_eq!((a % b).to_i32(), wrapped(x % y));
            }
            assert_eq!(a.cmp(&b), x.cmp(&y));
            let mut sum = a;
            sum += b;
            assert_eq!(sum, a.add_wrapping(b));
        }
    }

    #[test]
    fn single_operand_functions() {
        for value in all() {
            assert_eq!((-value).to_i32(), wrapped(-value.to_i32()));
            assert_eq!(i32::from(value), value.to_i32());
            assert_eq!(format!("{value} {value:?}"), format!("{0} {0}", value.to_i32()));
        }
        assert_eq!((i4::MIN, i4::MAX), (i4::from_i32(-8), i4::from_i32(7)));
        assert!(i4::zero().is_zero() && i4::one().is_one() && i4::default().is_zero());
    }

    #[test]
    fn parsing_refuses_what_does_not_fit() {
        assert_eq!(i4::from_str_radix("-8", 10), Ok(i4::MIN));
        assert_eq!(i4::from_str_radix("111", 2), Ok(i4::MAX));
        for text in ["8", "-9", "128", "x", ""] {
            assert!(i4::from_str_radix(text, 10).is_err(), "{text}");
        }
    }

    #[test]
    #[should_panic(expected = "divide by zero")]
    fn division_by_zero_panics() {
        let _ = i4::one() / i4::zero();
    }
}
