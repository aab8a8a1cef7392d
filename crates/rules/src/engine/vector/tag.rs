//! Tags of a stream by its type: the same as [`BranchMode`], with boundaries that the type of the stream determines.

use super::enter::BranchMode;
use crate::command::{InputCmp, InputCmpF32, InputCmpI32};
use crate::mapping::Ident;
use crate::scalar::{VeScalar, VeScalarKind};

/// A comparison of an element with a number of its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cmp<D> {
    /// Equal to the number.
    Equal(D),
    /// Less than the number.
    Less(D),
    /// Greater than the number.
    Greater(D),
    /// Less, with the bits of both taken as unsigned numbers.
    LessUnsigned(D),
    /// Greater, with the bits of both taken as unsigned numbers.
    GreaterUnsigned(D),
    /// Always.
    True,
    /// Never.
    False,
}

/// The way in which the elements of a stream of `D` get their execution ids.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum TagMode<D> {
    /// Id 0 for all elements.
    #[default]
    Zero,
    /// Group 0 and group 1 in turns along an axis: `TagMode::AxisToggle { axis: I::NAME }`.
    AxisToggle {
        /// The axis.
        axis: Ident,
    },
    /// Bit `i` of the id is comparison `i`. The last one is the group.
    Comparison([Cmp<D>; 4]),
}

impl<D: VeScalar> From<Cmp<D>> for InputCmp {
    fn from(comparison: Cmp<D>) -> Self {
        macro_rules! comparison {
            ($wrap:ident, $of:ident, $number:expr) => {
                InputCmp::$wrap(match comparison {
                    Cmp::Equal(boundary) => $of::Equal { boundary: $number(boundary.to_lane()) },
                    Cmp::Less(boundary) => $of::Less { boundary: $number(boundary.to_lane()) },
                    Cmp::Greater(boundary) => $of::Greater { boundary: $number(boundary.to_lane()) },
                    Cmp::LessUnsigned(boundary) => {
                        $of::LessUnsigned { boundary: $number(boundary.to_lane()) }
                    }
                    Cmp::GreaterUnsigned(boundary) => {
                        $of::GreaterUnsigned { boundary: $number(boundary.to_lane()) }
                    }
                    Cmp::True => $of::True,
                    Cmp::False => $of::False,
                })
            };
        }
        match D::KIND {
            VeScalarKind::I32 => comparison!(I32, InputCmpI32, u32::cast_signed),
            VeScalarKind::F32 => comparison!(F32, InputCmpF32, f32::from_bits),
        }
    }
}

impl<D: VeScalar> From<TagMode<D>> for BranchMode {
    fn from(mode: TagMode<D>) -> Self {
        match mode {
            TagMode::Zero => BranchMode::Unconditional,
            TagMode::AxisToggle { axis } => BranchMode::AxisToggle { axis },
            TagMode::Comparison(all) => BranchMode::Comparison(all.map(InputCmp::from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_keep_their_meaning_and_their_boundary() {
        let ints = [
            Cmp::Equal(-3),
            Cmp::Less(-3),
            Cmp::Greater(-3),
            Cmp::LessUnsigned(-3),
            Cmp::GreaterUnsigned(-3),
        ];
        let expected = [
            InputCmpI32::Equal { boundary: -3 },
            InputCmpI32::Less { boundary: -3 },
            InputCmpI32::Greater { boundary: -3 },
            InputCmpI32::LessUnsigned { boundary: -3 },
            InputCmpI32::GreaterUnsigned { boundary: -3 },
        ];
        assert_eq!(ints.map(InputCmp::from), expected.map(InputCmp::I32));
        let floats = [Cmp::Equal(-0.5), Cmp::Less(-0.5), Cmp::Greater(-0.5), Cmp::LessUnsigned(-0.5)];
        let expected = [
            InputCmpF32::Equal { boundary: -0.5 },
            InputCmpF32::Less { boundary: -0.5 },
            InputCmpF32::Greater { boundary: -0.5 },
            InputCmpF32::LessUnsigned { boundary: -0.5 },
        ];
        assert_eq!(floats.map(InputCmp::from), expected.map(InputCmp::F32));
        assert_eq!(InputCmp::from(Cmp::<f32>::True), InputCmp::F32(InputCmpF32::True));
        assert_eq!(InputCmp::from(Cmp::<i32>::False), InputCmp::I32(InputCmpI32::False));
    }

    #[test]
    fn modes_are_branches() {
        assert!(matches!(TagMode::<f32>::default().into(), BranchMode::Unconditional));
        let axis = Ident::new("A");
        let toggle: BranchMode = TagMode::<i32>::AxisToggle { axis }.into();
        assert!(matches!(toggle, BranchMode::AxisToggle { axis: found } if found == axis));
        let BranchMode::Comparison(all) =
            TagMode::Comparison([Cmp::True, Cmp::Less(4), Cmp::False, Cmp::Equal(1)]).into()
        else {
            panic!("these are comparisons")
        };
        let ids = [0, 1, 4].map(|value: i32| {
            let bits = all.iter().enumerate().map(|(k, cmp)| u8::from(cmp.matches(value as u32)) << k);
            bits.sum::<u8>()
        });
        assert_eq!(ids, [0b0011, 0b1011, 0b0001]);
    }
}
