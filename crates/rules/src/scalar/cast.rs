//! Casts between element types: the table, and the traits generated from it.

use super::{
    ChipType, ElementType, Rngd, RngdS, Scalar, StreamScalar, bf16, f8e4m3, f8e5m2, f16, i4, i5, i9,
};
use crate::mapping::M;
use crate::spec::ChipKind;

mod sealed {
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for f32 {}
}

/// Conversion of one element.
///
/// Integers keep their low bits, sign-extended: nothing saturates. Floats round to nearest, ties to even;
/// `f8e4m3` saturates at 448. Every type converts to itself.
///
/// See `guide::cast_transpose_commit`.
///
/// ```
/// use furiosa_visa_std::scalar::{Cast, bf16};
///
/// let low: i8 = 300i32.cast();
/// assert_eq!(low, 44);
/// let rounded: bf16 = 257.0f32.cast();
/// assert_eq!(rounded.to_f32(), 256.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "cast: no conversion from `{Self}` to `{D2}`",
    label = "`{Self}` does not convert to `{D2}`",
    note = "supported: i32 to i4, i8, i16; f32 to bf16, f16, f8e4m3, f8e5m2; each of these back; i4 to i5, i9; \
            i8, i16 to i9; f8e4m3, f8e5m2 to bf16; every type to itself",
    note = "between two narrow integers or two narrow floats, go by way of `i32` or `f32`"
)]
pub trait Cast<D2: StreamScalar>: Scalar {
    /// Converts this element.
    fn cast(self) -> D2;
}

/// Conversions that the fetch unit performs while it reads, on chips of kind `Kind`.
///
/// | from | on RNGD to | RNGD-S adds |
/// | --- | --- | --- |
/// | `i4` | `i5`, `i32` | `i9` |
/// | `i8` | `i9`, `i32` | |
/// | `i16` | `i32` | `i9` (keeps the low nine bits: assumed) |
/// | `f8e4m3`, `f8e5m2` | `f32` | `bf16` |
/// | `bf16`, `f16` | `f32` | |
/// | `f32` | `bf16` | |
///
/// Every type also keeps itself. `FetchCast<D2>` alone is the table of RNGD; the additions of RNGD-S need a system of
/// that kind and `on::<RngdS>()` before the fetch.
///
/// The same table is in [`ElementType::fetch_outputs`]. See `guide::fetch`, "Types".
#[diagnostic::on_unimplemented(
    message = "fetch: cannot cast `{Self}` to `{D2}` on `{Kind}`",
    label = "fetch does not turn `{Self}` into `{D2}` here",
    note = "on RNGD: i4 to i5, i32; i8 to i9, i32; i16 to i32; f8e4m3, f8e5m2, bf16, f16 to f32; f32 to bf16; every \
            type to itself",
    note = "RNGD-S adds: i4, i16 to i9; f8e4m3, f8e5m2 to bf16. A stream asks for it with `.on::<RngdS>()` before \
            the fetch, in a context with `SimOptions {{ chip_kind: ChipKind::RngdS, .. }}`",
    note = "help: fetch one of these outputs, and convert further with `.cast()` behind the Vector Engine"
)]
pub trait FetchCast<D2: StreamScalar, Kind: ChipType = Rngd>: Cast<D2> {}

/// Element types that the contraction engine multiplies and accumulates.
///
/// Both operands are widened before the multiplication. See `guide::contraction`. `i5` and `i9` are
/// not documented as such, and they are not here because they are no types of tensors.
/// `contract` takes them, as `i32` and at the rates of `i4` and `i8`.
/// This is concluded from their slots of 5 and 10 bits in the register file (assumed).
#[diagnostic::on_unimplemented(
    message = "contraction: no multiply-accumulate for tensors of `{Self}`",
    label = "tensors of `{Self}` do not enter a contraction",
    note = "supported: i4, i8, f8e4m3, f8e5m2, bf16; `.contract()` takes streams of i5 and i9, too, which are no types of \
            tensors",
    note = "help: a fetch converts: `.fetch::<bf16, …>()` multiplies numbers of a tensor of f32 as bf16, both here and where the \
            weights are loaded; numbers that must stay as they are go to the Vector Engine"
)]
pub trait ContractionCast: Scalar {
    /// The type of products and sums: `i32` or `f32`.
    type Output: VeScalar;
}

/// Element types of the Vector Engine: `i32` and `f32`.
///
/// See `guide::vector`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a 32-bit type: the Cast Engine, the Vector Engine and the VRF take `i32` and `f32`",
    label = "elements of `{Self}` arrive here",
    note = "help: let fetch widen narrow integers to `i32` and narrow floats to `f32`"
)]
pub trait VeScalar: Scalar + sealed::Sealed {
    /// The type as a value.
    const KIND: VeScalarKind;

    /// The 32 bits of an element.
    #[doc(hidden)]
    fn to_lane(self) -> u32;
}

/// The element types of the Vector Engine as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VeScalarKind {
    /// `f32`.
    F32,
    /// `i32`.
    I32,
}

impl VeScalar for i32 {
    const KIND: VeScalarKind = VeScalarKind::I32;

    fn to_lane(self) -> u32 {
        self as u32
    }
}

impl VeScalar for f32 {
    const KIND: VeScalarKind = VeScalarKind::F32;

    fn to_lane(self) -> u32 {
        self.to_bits()
    }
}

impl<D: Scalar> Cast<D> for D {
    #[inline]
    fn cast(self) -> D {
        self
    }
}

impl<D: Scalar, Kind: ChipType> FetchCast<D, Kind> for D {}

/// Generates [`Cast`] between different types, and its run-time table, with the identity first.
macro_rules! casts {
    ($($input:ident $variant:ident => { $($output:ident $output_variant:ident: $convert:expr),* })*) => {
        $(
            $(
                impl Cast<$output> for $input {
                    #[inline]
                    fn cast(self) -> $output {
                        let convert: fn($input) -> $output = $convert;
                        convert(self)
                    }
                }
            )*
        )*

        /// See [`ElementType::cast_outputs`].
        pub(super) const fn cast_outputs(input: ElementType) -> &'static [ElementType] {
            match input {
                $(ElementType::$variant => &[ElementType::$variant $(, ElementType::$output_variant)*],)*
                // No memory holds these types, so nothing is cast from them.
                ElementType::I5 | ElementType::I9 => &[],
            }
        }
    };
}

casts! {
    i4 I4 => { i32 I32: i4::to_i32, i5 I5: i5::from, i9 I9: |value| i9::from_i32(value.to_i32()) }
    i8 I8 => { i32 I32: i32::from, i9 I9: i9::from }
    u8 U8 => {}
    i16 I16 => { i32 I32: i32::from, i9 I9: |value| i9::from_i32(i32::from(value)) }
    i32 I32 => { i4 I4: i4::from_i32, i8 I8: |value| value as i8, i16 I16: |value| value as i16 }
    // Tables alone convert it: see `table_codes`.
    f4e2m1 F4e2m1 => {}
    f8e4m3 F8e4m3 => { f32 F32: f8e4m3::to_f32, bf16 Bf16: |value| bf16::from_f32(value.to_f32()) }
    f8e5m2 F8e5m2 => { f32 F32: f8e5m2::to_f32, bf16 Bf16: |value| bf16::from_f32(value.to_f32()) }
    bf16 Bf16 => { f32 F32: bf16::to_f32 }
    f16 F16 => { f32 F32: f16::to_f32 }
    f32 F32 => {
        f8e4m3 F8e4m3: f8e4m3::from_f32,
        f8e5m2 F8e5m2: f8e5m2::from_f32,
        bf16 Bf16: bf16::from_f32,
        f16 F16: f16::from_f32
    }
}

/// Generates [`FetchCast`] between different types, and its run-time table, with the identity first. The additions of
/// RNGD-S come after `+`.
macro_rules! fetch_casts {
    ($($input:ident $variant:ident => { $($output:ident $output_variant:ident),* $(; + $($more:ident $more_variant:ident),*)? })*) => {
        $(
            $( impl<Kind: ChipType> FetchCast<$output, Kind> for $input {} )*
            $($( impl FetchCast<$more, RngdS> for $input {} )*)?
        )*

        /// See [`ElementType::fetch_outputs_on`].
        pub(super) const fn fetch_outputs(input: ElementType, kind: ChipKind) -> &'static [ElementType] {
            match (input, kind) {
                $(
                    (ElementType::$variant, ChipKind::Rngd) => {
                        &[ElementType::$variant $(, ElementType::$output_variant)*]
                    }
                    (ElementType::$variant, ChipKind::RngdS) => &[
                        ElementType::$variant
                        $(, ElementType::$output_variant)*
                        $($(, ElementType::$more_variant)*)?
                    ],
                )*
                (ElementType::I5 | ElementType::I9, _) => &[],
            }
        }
    };
}

fetch_casts! {
    i4 I4 => { i5 I5, i32 I32; + i9 I9 }
    i8 I8 => { i9 I9, i32 I32 }
    u8 U8 => {}
    i16 I16 => { i32 I32; + i9 I9 }
    i32 I32 => {}
    f4e2m1 F4e2m1 => {}
    f8e4m3 F8e4m3 => { f32 F32; + bf16 Bf16 }
    f8e5m2 F8e5m2 => { f32 F32; + bf16 Bf16 }
    bf16 Bf16 => { f32 F32 }
    f16 F16 => { f32 F32 }
    f32 F32 => { bf16 Bf16 }
}

/// Generates [`ContractionCast`] for types of tensors, [`ContractsTo`] for types that only streams carry, and the run-time
/// table.
macro_rules! contraction_casts {
    (
        $($input:ident $variant:ident => $output:ident $output_variant:ident),*;
        $($stream:ident $stream_variant:ident => $sum:ident $sum_variant:ident),*
    ) => {
        $( impl ContractionCast for $input {
            type Output = $output;
        } )*
        $( impl<OutPacket: M> ContractsTo<OutPacket> for $stream {
            type Output = $sum;
        } )*

        /// See [`ElementType::contraction_output`].
        pub(super) const fn contraction_output(input: ElementType) -> Option<ElementType> {
            match input {
                $( ElementType::$variant => Some(ElementType::$output_variant), )*
                $( ElementType::$stream_variant => Some(ElementType::$sum_variant), )*
                _ => None,
            }
        }
    };
}

contraction_casts! {
    i4 I4 => i32 I32, i8 I8 => i32 I32, f8e4m3 F8e4m3 => f32 F32, f8e5m2 F8e5m2 => f32 F32, bf16 Bf16 => f32 F32;
    i5 I5 => i32 I32, i9 I9 => i32 I32
}

/// [`ContractionCast`], asked for the packet of one call.
///
/// The compiler explains an unmet bound in the words of its trait only where the bound waits for a parameter of the
/// call. That is what the packet, and the implementation for [`Undecided`], are for.
pub trait ContractsTo<OutPacket>: StreamScalar {
    /// The type of products and sums.
    type Output: Scalar;
}

impl<D: ContractionCast, OutPacket: M> ContractsTo<OutPacket> for D {
    type Output = <D as ContractionCast>::Output;
}

/// No packet: see [`ContractsTo`].
#[derive(Debug)]
pub enum Undecided {}

impl<D: StreamScalar> ContractsTo<Undecided> for D {
    type Output = f32;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast<D: Cast<D2>, D2: StreamScalar>(value: D) -> D2 {
        value.cast()
    }

    #[test]
    fn integers_keep_their_low_bits() {
        for value in (-70_000..70_000).chain([i32::MIN, i32::MAX]) {
            let narrowed = (cast::<_, i4>(value), cast::<_, i8>(value), cast::<_, i16>(value));
            let wrapped = |bits: u32| {
                let half = 1i64 << (bits - 1);
                ((i64::from(value) + half).rem_euclid(2 * half) - half) as i32
            };
            assert_eq!(cast::<_, i32>(narrowed.0), wrapped(4));
            assert_eq!(cast::<_, i32>(narrowed.1), wrapped(8));
            assert_eq!(cast::<_, i32>(narrowed.2), wrapped(16));
            assert_eq!(cast::<_, i32>(value), value);
        }
    }

    #[test]
    fn floats_round() {
        assert_eq!(cast::<f32, bf16>(257.0).to_f32(), 256.0);
        assert_eq!(cast::<f32, f16>(2049.0).to_f32(), 2048.0);
        assert_eq!(cast::<f32, f8e4m3>(1e9).to_f32(), 448.0);
        assert_eq!(cast::<f32, f8e5m2>(1e9).to_f32(), f32::INFINITY);
        assert_eq!(cast::<_, f32>(bf16::from_f32(-3.0)), -3.0);
        assert_eq!(cast::<_, f32>(f16::from_f32(-3.0)), -3.0);
        assert_eq!(cast::<_, f32>(f8e4m3::from_f32(-3.0)), -3.0);
        assert_eq!(cast::<_, f32>(f8e5m2::from_f32(-3.0)), -3.0);
        assert_eq!(cast::<_, u8>(200u8), 200);
    }

    #[test]
    fn contractions_widen() {
        fn output<D: ContractionCast>() -> crate::scalar::ElementType {
            <D as ContractionCast>::Output::ELEMENT_TYPE
        }
        use crate::scalar::ElementType::{F32, I32};
        assert_eq!([output::<i4>(), output::<i8>()], [I32, I32]);
        assert_eq!([output::<f8e4m3>(), output::<f8e5m2>(), output::<bf16>()], [F32, F32, F32]);
    }
}
