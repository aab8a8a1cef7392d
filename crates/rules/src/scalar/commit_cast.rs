//! The conversion of the Commit Engine: f32 to bf16, by rules of its own.

use super::{Cast, StreamScalar, bf16, f32_to_bf16_bits};

/// Conversions that the Commit Engine performs while it writes: `f32` to [`bf16`].
///
/// | f32 | [`commit_cast`] | [`commit_cast_relu`] |
/// | --- | --- | --- |
/// | NaN | the quiet NaN `0x7fc0`, without its sign | the same |
/// | with a sign, -0.0 and subnormal numbers included | | +0.0 |
/// | subnormal | zero with its sign | +0.0 |
/// | another number | the nearest one, ties to even | the same |
///
/// The Cast Engine differs: it rounds subnormal numbers, and a NaN keeps its sign. See
/// `guide::cast_transpose_commit`.
///
/// ```
/// use furiosa_visa_std::prelude::*;
///
/// let subnormal = -f32::from_bits(0x7f_ffff);
/// assert_eq!(subnormal.commit_cast().to_bits(), 0x8000);
/// assert_eq!((-1.5f32).commit_cast_relu().to_bits(), 0);
/// ```
///
/// [`commit_cast`]: CommitCast::commit_cast
/// [`commit_cast_relu`]: CommitCast::commit_cast_relu
#[diagnostic::on_unimplemented(
    message = "commit_cast: the Commit Engine does not convert `{Self}` to `{D2}`",
    label = "elements of `{Self}` arrive here",
    note = "supported: f32 to bf16",
    note = "help: `.cast::<D2, OutPacket>()` before the commit, or commit the elements as they are"
)]
pub trait CommitCast<D2: StreamScalar>: Cast<D2> {
    /// The element as the engine writes it.
    fn commit_cast(self) -> D2;

    /// The same, with values below zero as zero.
    fn commit_cast_relu(self) -> D2;
}

impl CommitCast<bf16> for f32 {
    #[inline]
    fn commit_cast(self) -> bf16 {
        bf16::from_bits(commit_cast_bits(self, false))
    }

    #[inline]
    fn commit_cast_relu(self) -> bf16 {
        bf16::from_bits(commit_cast_bits(self, true))
    }
}

/// The [`bf16`] code of a value that the Commit Engine narrows, as [`CommitCast`] tells. `relu`: values with a sign
/// become +0.0 first.
#[inline]
pub const fn commit_cast_bits(value: f32, relu: bool) -> u16 {
    let bits = value.to_bits();
    let (magnitude, negative) = (bits & 0x7fff_ffff, bits >> 31 == 1);
    if magnitude > 0x7f80_0000 {
        return 0x7fc0;
    }
    if relu && negative {
        return 0;
    }
    // The f32 decides: a subnormal one does not round up to the smallest normal bf16.
    if magnitude < 0x0080_0000 { (negative as u16) << 15 } else { f32_to_bf16_bits(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::narrow::oracle::samples;

    /// The rules of the specification, one after the other, with the nearest code by search among neighbours.
    fn expected(value: f32, relu: bool) -> u16 {
        if value.is_nan() {
            return 0x7fc0;
        }
        let value = if relu && value.is_sign_negative() { 0.0 } else { value };
        if value.is_subnormal() {
            return if value.is_sign_negative() { 0x8000 } else { 0 };
        }
        let towards_zero = (value.to_bits() >> 16) as u16;
        let number = |code: u16| match code & 0x7fff {
            // Infinity, as the number that would come next.
            0x7f80 => 2f64.powi(128),
            magnitude => f64::from(f32::from_bits(u32::from(magnitude) << 16)),
        };
        if value.is_infinite() {
            return towards_zero;
        }
        let magnitude = f64::from(value).abs();
        let (below, above) = (magnitude - number(towards_zero), number(towards_zero + 1) - magnitude);
        let up = below > above || below == above && towards_zero % 2 == 1;
        towards_zero + u16::from(up)
    }

    #[test]
    fn values_follow_the_rules() {
        for value in samples() {
            for relu in [false, true] {
                let code = commit_cast_bits(value, relu);
                assert_eq!(code, expected(value, relu), "{:#x}, ReLU {relu}", value.to_bits());
            }
        }
    }

    #[test]
    fn special_values() {
        let code = |bits: u32| [false, true].map(|relu| commit_cast_bits(f32::from_bits(bits), relu));
        assert_eq!(code(0xffc0_1234), [0x7fc0, 0x7fc0], "the sign of a NaN is lost");
        assert_eq!(code(0x7f80_0001), [0x7fc0, 0x7fc0], "a signalling NaN becomes quiet");
        assert_eq!(code(0x8000_0000), [0x8000, 0], "-0.0");
        assert_eq!(code(0x807f_ffff), [0x8000, 0], "the subnormal number below the first normal one");
        assert_eq!(code(0x007f_ffff), [0, 0]);
        assert_eq!(code(0x0080_0000), [0x80, 0x80], "the first normal number");
        assert_eq!(code(0x3f80_8000), [0x3f80, 0x3f80], "a tie, to even");
        assert_eq!(code(0x3f81_8000), [0x3f82, 0x3f82]);
        assert_eq!(code(0x7f7f_ffff), [0x7f80, 0x7f80], "overflow");
        assert_eq!(code(0xff80_0000), [0xff80, 0], "negative infinity");
    }
}
