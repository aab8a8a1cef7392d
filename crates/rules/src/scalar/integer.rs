//! Integers that Rust lacks: [`i4`], and [`i5`] and [`i9`], which exist only in streams.

use super::{ElementType, Scalar, StreamScalar};
use num_traits::{Num, One, Zero};
use std::fmt;
use std::num::ParseIntError;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

/// Defines a signed integer of `$bits` bits in the native integer `$native`, which is at least as wide.
macro_rules! narrow_integer {
    ($(#[$doc:meta])* $type:ident, $variant:ident, $native:ident, $bits:literal, $min:literal, $max:literal) => {
        $(#[$doc])*
        // The field always holds a value of the type, so the derived orders are those of the value.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type($native);

        impl $type {
            #[doc = concat!("The smallest value, ", $min, ".")]
            pub const MIN: $type = $type($min);
            #[doc = concat!("The largest value, ", $max, ".")]
            pub const MAX: $type = $type($max);

            #[doc = concat!("Keeps the low ", $bits, " bits of `value`, sign-extended.")]
            #[inline]
            pub const fn from_i32(value: i32) -> Self {
                $type((value << (32 - $bits) >> (32 - $bits)) as $native)
            }

            /// The value.
            #[inline]
            pub const fn to_i32(self) -> i32 {
                self.0 as i32
            }
        }

        impl StreamScalar for $type {
            const ELEMENT_TYPE: ElementType = ElementType::$variant;
        }

        narrow_integer! { @operators $type
            Add, add, AddAssign, add_assign;
            Sub, sub, SubAssign, sub_assign;
            Mul, mul, MulAssign, mul_assign;
            Div, div, DivAssign, div_assign;
            Rem, rem, RemAssign, rem_assign;
        }

        impl Neg for $type {
            type Output = Self;

            #[inline]
            fn neg(self) -> Self {
                $type::from_i32(-self.to_i32())
            }
        }

        impl Zero for $type {
            #[inline]
            fn zero() -> Self {
                $type(0)
            }

            #[inline]
            fn is_zero(&self) -> bool {
                self.0 == 0
            }
        }

        impl One for $type {
            #[inline]
            fn one() -> Self {
                $type(1)
            }
        }

        impl Num for $type {
            type FromStrRadixErr = ParseIntError;

            #[doc = concat!("Parses a number from ", $min, " to ", $max, ". Unlike arithmetic, a number out of ")]
            /// range is an error.
            fn from_str_radix(text: &str, radix: u32) -> Result<Self, ParseIntError> {
                let value = $native::from_str_radix(text, radix)?;
                match value {
                    $min..=$max => Ok($type(value)),
                    // The standard error has no constructor; a number that overflows `i8` gives the same one.
                    1.. => "128".parse::<i8>().map(|_| $type(0)),
                    _ => "-129".parse::<i8>().map(|_| $type(0)),
                }
            }
        }

        impl From<$type> for i32 {
            #[inline]
            fn from(value: $type) -> i32 {
                value.to_i32()
            }
        }

        impl From<$type> for $native {
            #[inline]
            fn from(value: $type) -> $native {
                value.0
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
    (@operators $type:ident
        $($trait:ident, $method:ident, $assign_trait:ident, $assign_method:ident;)*) => { $(
        impl $trait for $type {
            type Output = Self;

            #[inline]
            #[track_caller]
            fn $method(self, other: Self) -> Self {
                // Operands of nine bits or fewer cannot overflow the operation in `i32`.
                $type::from_i32(i32::$method(self.to_i32(), other.to_i32()))
            }
        }

        impl $assign_trait for $type {
            #[inline]
            #[track_caller]
            fn $assign_method(&mut self, other: Self) {
                *self = $trait::$method(*self, other);
            }
        }
    )* };
}

narrow_integer! {
    /// Signed integer of four bits: -8 to 7.
    ///
    /// Every result keeps the low four bits, sign-extended; nothing saturates. In memory two elements share a
    /// byte, the first in the low half.
    ///
    /// See `guide::memories_and_dma`.
    ///
    /// ```
    /// use furiosa_visa_std::scalar::i4;
    ///
    /// assert_eq!(i4::from_i32(9), i4::from_i32(-7));
    /// assert_eq!((i4::from_i32(7) + i4::from_i32(1)).to_i32(), -8);
    /// ```
    i4, I4, i8, 4, -8, 7
}

narrow_integer! {
    /// Signed integer of five bits: -16 to 15. Exists only in streams and register files.
    ///
    /// The output of fetch for `i4`: one bit more, so that a zero point can be subtracted from any value. No memory
    /// stores it, so it is a [`StreamScalar`] and no [`Scalar`]. Every result keeps the low five bits, sign-extended;
    /// nothing saturates.
    ///
    /// # In packets
    ///
    /// A flit carries 64 elements, as for `i4`: sizes of packets count [four bits](ElementType::bits) per element. The
    /// fifth bit travels beside the flit, as it lies beside the other four in a slot of the register file, whose rows
    /// have 320 bits for 32 bytes.
    ///
    /// See `guide::fetch`, "Types", and `guide::contraction`.
    ///
    /// ```
    /// use furiosa_visa_std::scalar::{i4, i5};
    ///
    /// assert_eq!((i5::from(i4::MIN) - i5::from(i4::MAX)).to_i32(), -15);
    /// assert_eq!(i5::from_i32(16), i5::MIN);
    /// ```
    i5, I5, i8, 5, -16, 15
}

narrow_integer! {
    /// Signed integer of nine bits: -256 to 255. Exists only in streams and register files.
    ///
    /// The output of fetch for `i8`: one bit more, so that a zero point can be subtracted from any value. No memory
    /// stores it, so it is a [`StreamScalar`] and no [`Scalar`]. Every result keeps the low nine bits, sign-extended;
    /// nothing saturates.
    ///
    /// # In packets
    ///
    /// A flit carries 32 elements, as for `i8`: sizes of packets count [eight bits](ElementType::bits) per element. The
    /// ninth bit travels beside the flit, as it lies beside the other eight in two slots of the register file, whose
    /// rows have 320 bits for 32 bytes.
    ///
    /// See `guide::fetch`, "Types", and `guide::contraction`.
    ///
    /// ```
    /// use furiosa_visa_std::scalar::i9;
    ///
    /// assert_eq!((i9::from(i8::MIN) - i9::from(i8::MAX)).to_i32(), -255);
    /// assert_eq!(i9::from_i32(256), i9::MIN);
    /// ```
    i9, I9, i16, 9, -256, 255
}

impl From<i4> for i5 {
    #[inline]
    fn from(value: i4) -> i5 {
        i5(value.0)
    }
}

impl From<i8> for i9 {
    #[inline]
    fn from(value: i8) -> i9 {
        i9(i16::from(value))
    }
}

impl Scalar for i4 {
    #[inline]
    fn to_bits(self) -> u32 {
        self.to_i32() as u32 & 0xf
    }

    #[inline]
    fn from_bits(bits: u32) -> Self {
        i4::from_i32(bits as i32)
    }

    super::plain_operators!();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of one type, whose range is `-half..half`. Expected values come from `i32`.
    macro_rules! narrow_integer_tests {
        ($module:ident, $type:ident, $half:literal) => {
            mod $module {
                use super::super::*;

                /// The value in range that differs from `value` by a multiple of the number of codes.
                fn wrapped(value: i32) -> i32 {
                    (value + $half).rem_euclid(2 * $half) - $half
                }

                fn all() -> impl Iterator<Item = $type> {
                    (-$half..$half).map($type::from_i32)
                }

                #[test]
                fn from_i32_keeps_the_low_bits() {
                    for value in -1000..1000 {
                        assert_eq!($type::from_i32(value).to_i32(), wrapped(value));
                    }
                    assert_eq!($type::from_i32(i32::MIN).to_i32(), 0);
                    assert_eq!($type::from_i32(i32::MAX).to_i32(), -1);
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
                        assert_eq!(sum, a + b);
                    }
                }

                #[test]
                fn single_operand_functions() {
                    for value in all() {
                        assert_eq!((-value).to_i32(), wrapped(-value.to_i32()));
                        assert_eq!(i32::from(value), value.to_i32());
                        assert_eq!(format!("{value} {value:?}"), format!("{0} {0}", value.to_i32()));
                    }
                    assert_eq!(($type::MIN.to_i32(), $type::MAX.to_i32()), (-$half, $half - 1));
                    assert!($type::zero().is_zero() && $type::one().is_one() && $type::default().is_zero());
                }

                #[test]
                fn parsing_refuses_what_does_not_fit() {
                    for value in all() {
                        assert_eq!($type::from_str_radix(&value.to_string(), 10), Ok(value));
                    }
                    let (above, below) = ($half.to_string(), (-$half - 1).to_string());
                    for text in [&above[..], &below, "40000", "-40000", "x", ""] {
                        assert!($type::from_str_radix(text, 10).is_err(), "{text}");
                    }
                    assert_eq!($type::from_str_radix(&above, 10), "128".parse::<i8>().map(|_| $type::MIN));
                }

                #[test]
                #[should_panic(expected = "divide by zero")]
                fn division_by_zero_panics() {
                    let _ = $type::one() / $type::zero();
                }
            }
        };
    }

    narrow_integer_tests!(four_bits, i4, 8);
    narrow_integer_tests!(five_bits, i5, 16);
    narrow_integer_tests!(nine_bits, i9, 256);

    #[test]
    fn i4_wraps() {
        let all = || (-8..8).map(i4::from_i32);
        for (a, b) in all().flat_map(|a| all().map(move |b| (a, b))) {
            assert_eq!(a.add_wrapping(b), a + b);
            assert_eq!(a.sub_wrapping(b), a - b);
            assert_eq!(a.mul_wrapping(b), a * b);
        }
    }

    #[test]
    fn widening_keeps_the_value() {
        for value in (-8..8).map(i4::from_i32) {
            assert_eq!(i5::from(value).to_i32(), value.to_i32());
        }
        for value in i8::MIN..=i8::MAX {
            assert_eq!(i9::from(value).to_i32(), i32::from(value));
            assert_eq!(i16::from(i9::from(value)), i16::from(value));
        }
    }
}
