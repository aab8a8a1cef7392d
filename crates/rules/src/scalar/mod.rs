//! Element types: the size of one element of a tensor, its encoding, and its conversions.
//!
//! | type | bits | kind | converts to | enters a contraction |
//! | --- | --- | --- | --- | --- |
//! | [`i4`] | 4 | integer, two per byte | `i5`, `i9`, `i32` | yes, as `i32` |
//! | [`i5`] | 5, [4 in packets](i5#in-packets) | integer, only in streams | - | yes, as `i32` |
//! | `i8` | 8 | integer | `i9`, `i32` | yes, as `i32` |
//! | [`i9`] | 9, [8 in packets](i9#in-packets) | integer, only in streams | - | yes, as `i32` |
//! | `u8` | 8 | integer | - | no |
//! | `i16` | 16 | integer | `i9`, `i32` | no |
//! | `i32` | 32 | integer | `i4`, `i8`, `i16` | no |
//! | [`f4e2m1`] | 4 | float, two per byte | -, by tables alone | no |
//! | [`f8e4m3`] | 8 | float, saturating, no infinity | `bf16`, `f32` | yes, as `f32` |
//! | [`f8e5m2`] | 8 | float | `bf16`, `f32` | yes, as `f32` |
//! | [`bf16`] | 16 | float | `f32` | yes, as `f32` |
//! | [`f16`](struct@f16) | 16 | float | `f32` | no |
//! | `f32` | 32 | float | `bf16`, `f16`, `f8e4m3`, `f8e5m2` | no |
//!
//! Every type of tensors also converts to itself. The same facts exist twice: as traits for kernels ([`Cast`],
//! [`FetchCast`], [`ContractionCast`]) and as plain data for derivations and the simulator ([`ElementType`],
//! [`convert_block`]). Both are generated from one table.
//!
//! Integer arithmetic wraps. Float conversions round to nearest, ties to even. This crate computes them with integer
//! operations, so that results do not depend on the host.
//!
//! See `guide::memories_and_dma` and `guide::cast_transpose_commit`.

mod block;
mod cast;
mod chip_type;
mod commit_cast;
mod element_type;
mod float16;
mod float4;
mod float8;
mod integer;
mod lookup;
mod narrow;
mod opt;
pub mod vector;

pub use block::convert_block;
pub use cast::{Cast, ContractionCast, ContractsTo, FetchCast, Undecided, VeScalar, VeScalarKind};
pub use chip_type::{ChipType, Rngd, RngdS};
pub use commit_cast::{CommitCast, commit_cast_bits};
pub use element_type::ElementType;
pub use float4::f4e2m1;
pub use float8::{
    f8e4m3, f8e4m3_bits_to_f32, f8e5m2, f8e5m2_bits_to_f32, f32_to_f8e4m3_bits, f32_to_f8e5m2_bits,
};
pub use float16::{bf16, bf16_bits_to_f32, f16, f16_bits_to_f32, f32_to_bf16_bits, f32_to_f16_bits};
pub use integer::{i4, i5, i9};
pub use lookup::table_codes;
pub use opt::Opt;

use std::fmt::Debug;

/// The type of one element of a stream: every [`Scalar`], and [`i5`] and [`i9`], which no memory holds.
///
/// See `guide::fetch`, "Types".
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type",
    label = "streams carry i4, i5, i8, i9, u8, i16, i32, f4e2m1, f8e4m3, f8e5m2, f16, bf16 or f32"
)]
pub trait StreamScalar:
    ndarray::LinalgScalar + Debug + Clone + Copy + PartialEq + num_traits::Num + Send + Sync + 'static
{
    /// The run-time name of this type.
    const ELEMENT_TYPE: ElementType;
}

/// The type of one tensor element.
///
/// Library code adds, subtracts and multiplies with the `…_wrapping` methods: the native operators of integers panic on
/// overflow in debug builds, and the chip never does.
///
/// See `guide::memories_and_dma`.
#[diagnostic::on_unimplemented(
    message = "no tensor holds elements of `{Self}`",
    label = "tensors hold i4, i8, u8, i16, i32, f4e2m1, f8e4m3, f8e5m2, f16, bf16 or f32",
    note = "convert the data on the host first, for example with `bf16::from_f32`",
    note = "`i5` and `i9` exist only in streams and register files: fetch makes them, and the contraction takes them"
)]
pub trait Scalar: StreamScalar {
    /// Bits of one element in memory.
    const BITS: usize = Self::ELEMENT_TYPE.bits();

    /// Bytes that `length` elements take in memory.
    ///
    /// # Panics
    ///
    /// Panics if the elements do not fill whole bytes (an odd number of `i4`), or if the number of bits does not fit in
    /// `usize`.
    #[track_caller]
    fn size_in_bytes_from_length(length: usize) -> usize {
        let bits = length.checked_mul(Self::BITS).unwrap_or_else(|| {
            panic!(
                "scalar size: {length} elements of `{}` take more bits than `usize` can count; \
                 use a smaller tensor",
                Self::ELEMENT_TYPE
            )
        });
        assert!(
            bits.is_multiple_of(8),
            "scalar size: {length} elements of `{}` take {bits} bits, but total bits must be byte-aligned; \
             pad the innermost axis to an even length",
            Self::ELEMENT_TYPE
        );
        bits / 8
    }

    /// Elements held by `bytes` bytes of memory.
    ///
    /// # Panics
    ///
    /// Panics if the bytes end inside an element, or if the number of bits does not fit in `usize`.
    #[track_caller]
    fn length_from_bytes(bytes: usize) -> usize {
        let bits = bytes.checked_mul(8).unwrap_or_else(|| {
            panic!("scalar length: {bytes} bytes are more bits than `usize` can count; use a smaller buffer")
        });
        assert!(
            bits.is_multiple_of(Self::BITS),
            "scalar length: {bytes} bytes end inside an element of `{}` ({} bits); total bits must be \
             byte-aligned to whole elements; pass a multiple of {} bytes",
            Self::ELEMENT_TYPE,
            Self::BITS,
            Self::BITS / 8
        );
        bits / Self::BITS
    }

    /// The encoding of this value, in the low [`BITS`](Scalar::BITS) bits. Higher bits are 0.
    fn to_bits(self) -> u32;

    /// The value encoded by the low [`BITS`](Scalar::BITS) bits. Higher bits are ignored.
    fn from_bits(bits: u32) -> Self;

    /// `self + other`. Integers wrap; floats add as usual.
    fn add_wrapping(self, other: Self) -> Self;

    /// `self - other`. Integers wrap; floats subtract as usual.
    fn sub_wrapping(self, other: Self) -> Self;

    /// `self * other`. Integers wrap; floats multiply as usual.
    fn mul_wrapping(self, other: Self) -> Self;

    /// `self / other`. Integers round towards zero, and the smallest value divided by -1 wraps; floats
    /// divide as usual.
    ///
    /// # Panics
    ///
    /// Panics if an integer is divided by 0.
    fn div_wrapping(self, other: Self) -> Self;
}

/// Element types that fill whole bytes: all except [`i4`] and [`f4e2m1`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` elements do not fill whole bytes",
    note = "`i4` and `f4e2m1` are stored two per byte; build them with `i4::from_i32` and `f4e2m1::from_f32`"
)]
pub trait ScalarBytes: Scalar {
    /// Decodes one element, little endian.
    ///
    /// # Panics
    ///
    /// Panics if `bytes` does not hold exactly one element.
    fn from_le_bytes(bytes: &[u8]) -> Self;
}

/// Implements [`ScalarBytes`] for types by their inherent `from_le_bytes` or the bit pattern.
macro_rules! scalar_bytes {
    ($($type:ident: $bits:ident),*) => { $(
        impl ScalarBytes for $type {
            #[inline]
            #[track_caller]
            fn from_le_bytes(bytes: &[u8]) -> Self {
                let Ok(bytes) = bytes.try_into() else {
                    panic!(
                        "from_le_bytes: got {} bytes, but one element of `{}` has {}; \
                         split the buffer into pieces of that size",
                        bytes.len(),
                        Self::ELEMENT_TYPE,
                        Self::ELEMENT_TYPE.bits() / 8,
                    )
                };
                <Self as Scalar>::from_bits(u32::from($bits::from_le_bytes(bytes)))
            }
        }
    )* };
}

scalar_bytes!(i8: u8, u8: u8, i16: u16, i32: u32, f8e4m3: u8, f8e5m2: u8, bf16: u16, f16: u16, f32: u32);

macro_rules! native_integer {
    ($($type:ident, $unsigned:ident, $variant:ident;)*) => { $(
        impl StreamScalar for $type {
            const ELEMENT_TYPE: ElementType = ElementType::$variant;
        }

        impl Scalar for $type {
            #[inline]
            fn to_bits(self) -> u32 {
                u32::from(self as $unsigned)
            }

            #[inline]
            fn from_bits(bits: u32) -> Self {
                bits as $type
            }

            #[inline]
            fn add_wrapping(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn sub_wrapping(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline]
            fn mul_wrapping(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline]
            #[track_caller]
            fn div_wrapping(self, other: Self) -> Self {
                self.wrapping_div(other)
            }
        }
    )* };
}

native_integer! {
    i8, u8, I8;
    u8, u8, U8;
    i16, u16, I16;
    i32, u32, I32;
}

/// The operators of a [`Scalar`] whose own operators wrap or never panic.
macro_rules! plain_operators {
    () => {
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
    };
}
use plain_operators;

/// Implements [`Scalar`] for floats, whose ordinary operators never panic. `$bits` is the unsigned integer of the width
/// of the type, which the inherent `to_bits` returns and `from_bits` takes.
macro_rules! float_scalar {
    ($($type:ident, $bits:ident, $variant:ident;)*) => { $(
        impl StreamScalar for $type {
            const ELEMENT_TYPE: ElementType = ElementType::$variant;
        }

        impl Scalar for $type {
            #[inline]
            fn to_bits(self) -> u32 {
                u32::from($type::to_bits(self))
            }

            #[inline]
            fn from_bits(bits: u32) -> Self {
                $type::from_bits(bits as $bits)
            }

            plain_operators!();
        }
    )* };
}

float_scalar! {
    f4e2m1, u8, F4e2m1;
    f8e4m3, u8, F8e4m3;
    f8e5m2, u8, F8e5m2;
    bf16, u16, Bf16;
    f16, u16, F16;
    f32, u32, F32;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every code (for 32-bit types a spread of codes) survives `from_bits` and `to_bits`, and the higher
    /// bits of the argument are ignored.
    fn check_bits<D: Scalar>() {
        let codes = 1u64 << D::BITS.min(16);
        let step = if D::BITS > 16 { 0x1_0001 } else { 1 };
        for code in 0..codes {
            let bits = (code * step) as u32;
            // Floating-point registers of some hosts change signalling NaN; the narrow types must not.
            assert_eq!(D::from_bits(bits).to_bits(), bits, "{} {bits:#x}", D::ELEMENT_TYPE);
            if D::BITS < 32 {
                assert_eq!(D::from_bits(bits | u32::MAX << D::BITS).to_bits(), bits);
            }
        }
    }

    #[test]
    fn bits_round_trip() {
        check_bits::<i4>();
        check_bits::<i8>();
        check_bits::<u8>();
        check_bits::<i16>();
        check_bits::<i32>();
        check_bits::<f4e2m1>();
        check_bits::<f8e4m3>();
        check_bits::<f8e5m2>();
        check_bits::<bf16>();
        check_bits::<f16>();
        check_bits::<f32>();
    }

    #[test]
    fn sizes_follow_from_the_bits() {
        assert_eq!(i4::BITS, 4);
        assert_eq!(bf16::BITS, 16);
        assert_eq!(i4::size_in_bytes_from_length(6), 3);
        assert_eq!(i4::length_from_bytes(3), 6);
        assert_eq!(bf16::size_in_bytes_from_length(7), 14);
        assert_eq!(f32::length_from_bytes(12), 3);
        assert_eq!(i32::size_in_bytes_from_length(0), 0);
    }

    #[test]
    #[should_panic(expected = "total bits must be byte-aligned")]
    fn an_odd_number_of_i4_has_no_size() {
        i4::size_in_bytes_from_length(3);
    }

    #[test]
    #[should_panic(expected = "total bits must be byte-aligned")]
    fn three_bytes_are_no_whole_bf16() {
        bf16::length_from_bytes(3);
    }

    #[test]
    #[should_panic(expected = "take more bits than `usize` can count")]
    fn an_overflowing_length_is_named() {
        i32::size_in_bytes_from_length(usize::MAX);
    }

    #[test]
    fn little_endian_bytes() {
        assert_eq!(<i8 as ScalarBytes>::from_le_bytes(&[0xff]), -1);
        assert_eq!(<i16 as ScalarBytes>::from_le_bytes(&[0x34, 0x12]), 0x1234);
        assert_eq!(<i32 as ScalarBytes>::from_le_bytes(&[0xfe, 0xff, 0xff, 0xff]), -2);
        assert_eq!(<f32 as ScalarBytes>::from_le_bytes(&1.5f32.to_le_bytes()), 1.5);
        assert_eq!(<bf16 as ScalarBytes>::from_le_bytes(&[0x80, 0x3f]), bf16::from_f32(1.0));
        assert_eq!(<f16 as ScalarBytes>::from_le_bytes(&[0x00, 0x3c]), f16::from_f32(1.0));
        assert_eq!(<f8e4m3 as ScalarBytes>::from_le_bytes(&[0x38]), f8e4m3::from_f32(1.0));
        assert_eq!(<f8e5m2 as ScalarBytes>::from_le_bytes(&[0x3c]), f8e5m2::from_f32(1.0));
    }

    #[test]
    #[should_panic(expected = "got 3 bytes, but one element of `bf16` has 2")]
    fn from_le_bytes_takes_exactly_one_element() {
        <bf16 as ScalarBytes>::from_le_bytes(&[0; 3]);
    }

    #[test]
    fn native_integers_wrap() {
        assert_eq!(i8::MAX.add_wrapping(1), i8::MIN);
        assert_eq!(i8::MIN.sub_wrapping(1), i8::MAX);
        assert_eq!(u8::MAX.add_wrapping(2), 1);
        assert_eq!(i16::MAX.mul_wrapping(2), -2);
        assert_eq!(i32::MAX.add_wrapping(1), i32::MIN);
        assert_eq!(i32::MIN.div_wrapping(-1), i32::MIN);
        assert_eq!(2.0f32.mul_wrapping(0.25), 0.5);
        assert_eq!(f32::MAX.add_wrapping(f32::MAX), f32::INFINITY);
    }
}
