//! Branches: execution ids, and the ids that an operand applies to.
//!
//! Every element has an execution id of four bits. Bit 3 is its group. An operand may apply to one group only; the
//! operator passes elements of the other group on unchanged.

use super::guard::TagGuard;
use crate::list::List;
use crate::mapping::GuardDigit;
use core::fmt;

/// The bit of an execution id that is its group.
pub const GROUP_BIT: u8 = 8;

/// The most digits of an axis that distinguish its elements.
pub const TOGGLE_DIGITS: usize = 8;

/// A group of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupId {
    /// Bit 3 of the execution id is 0.
    Zero,
    /// Bit 3 of the execution id is 1.
    One,
}

impl GroupId {
    /// The value of bit 3.
    pub const fn bit_value(&self) -> u8 {
        match self {
            GroupId::Zero => 0,
            GroupId::One => 1,
        }
    }
}

/// The elements that an operand applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ValidBranchIds {
    /// Elements of one group.
    ValidGroup {
        /// The group.
        id: GroupId,
    },
    /// Elements whose execution ids a guard admits. `ValidBranchIds::from(guard)` uses the other variants where they say
    /// the same.
    ValidTags {
        /// The guard.
        guard: TagGuard,
    },
    /// All elements.
    #[default]
    ValidAlways,
}

impl ValidBranchIds {
    /// True if an operand applies to elements of this execution id.
    pub const fn holds(&self, id: u8) -> bool {
        match self {
            ValidBranchIds::ValidGroup { id: group } => (id & GROUP_BIT != 0) == (group.bit_value() == 1),
            ValidBranchIds::ValidTags { guard } => guard.admits_raw(id),
            ValidBranchIds::ValidAlways => true,
        }
    }

    /// The same condition as a guard.
    pub const fn guard(&self) -> TagGuard {
        match self {
            ValidBranchIds::ValidGroup { id } => TagGuard::group(*id),
            ValidBranchIds::ValidTags { guard } => *guard,
            ValidBranchIds::ValidAlways => TagGuard::all(),
        }
    }
}

impl From<TagGuard> for ValidBranchIds {
    fn from(guard: TagGuard) -> Self {
        match guard.as_group() {
            Some(id) => ValidBranchIds::ValidGroup { id },
            None if guard.admits_all() => ValidBranchIds::ValidAlways,
            None => ValidBranchIds::ValidTags { guard },
        }
    }
}

impl From<GroupId> for ValidBranchIds {
    fn from(id: GroupId) -> Self {
        ValidBranchIds::ValidGroup { id }
    }
}

impl fmt::Display for ValidBranchIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ValidBranchIds::ValidGroup { id: GroupId::Zero } => "group 0",
            ValidBranchIds::ValidGroup { id: GroupId::One } => "group 1",
            ValidBranchIds::ValidTags { guard } => return guard.fmt(f),
            ValidBranchIds::ValidAlways => "always",
        })
    }
}

/// Defines the comparisons of a type; `$unsigned` is the function to the bits as an unsigned number.
macro_rules! comparisons {
    ($(#[$doc:meta])* $name:ident of $type:ident, $unsigned:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $name {
            /// Equal to the boundary.
            Equal {
                /// The number that the element is compared with.
                boundary: $type,
            },
            /// Less than the boundary.
            Less {
                /// The number that the element is compared with.
                boundary: $type,
            },
            /// Greater than the boundary.
            Greater {
                /// The number that the element is compared with.
                boundary: $type,
            },
            /// Less than the boundary, with the bits of both taken as unsigned numbers: negative numbers are greater
            /// than positive ones.
            LessUnsigned {
                /// The number that the element is compared with.
                boundary: $type,
            },
            /// Greater than the boundary, with the bits of both taken as unsigned numbers.
            GreaterUnsigned {
                /// The number that the element is compared with.
                boundary: $type,
            },
            /// Always.
            True,
            /// Never.
            False,
        }

        impl $name {
            /// True if an element satisfies the comparison.
            #[inline]
            pub const fn matches(&self, value: $type) -> bool {
                match *self {
                    $name::Equal { boundary } => value == boundary,
                    $name::Less { boundary } => value < boundary,
                    $name::Greater { boundary } => value > boundary,
                    $name::LessUnsigned { boundary } => $unsigned(value) < $unsigned(boundary),
                    $name::GreaterUnsigned { boundary } => $unsigned(value) > $unsigned(boundary),
                    $name::True => true,
                    $name::False => false,
                }
            }
        }
    };
}

comparisons! {
    /// A comparison of an `i32`.
    #[derive(Eq)]
    InputCmpI32 of i32, i32::cast_unsigned
}

comparisons! {
    /// A comparison of an `f32`. Comparisons with a NaN are false, except comparisons of bits.
    InputCmpF32 of f32, f32::to_bits
}

/// A comparison of an element of the stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InputCmp {
    /// Comparison of a stream of `i32`.
    I32(InputCmpI32),
    /// Comparison of a stream of `f32`.
    F32(InputCmpF32),
}

impl InputCmp {
    /// True if an element of these bits satisfies the comparison.
    #[inline]
    pub const fn matches(&self, bits: u32) -> bool {
        match self {
            InputCmp::I32(comparison) => comparison.matches(bits as i32),
            InputCmp::F32(comparison) => comparison.matches(f32::from_bits(bits)),
        }
    }
}

/// Source of the execution ids of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Branch {
    /// Id 0 for all elements.
    Unconditional,
    /// Group 0 and group 1 in turns along an axis. Variables of the digits: chip, cluster, slice, time, packet. Their
    /// sum is the index along the axis.
    AxisToggle {
        /// The digits of the axis.
        digits: List<GuardDigit, TOGGLE_DIGITS>,
    },
    /// Bit `i` is set if the element satisfies comparison `i`: the last one makes the group.
    Comparison([InputCmp; 4]),
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Branch::Unconditional => f.write_str("Unconditional"),
            Branch::AxisToggle { .. } => f.write_str("AxisToggle"),
            Branch::Comparison(all) => {
                f.write_str("Comparison [")?;
                for (k, comparison) in all.iter().enumerate() {
                    let separator = if k == 0 { "" } else { ", " };
                    match comparison {
                        InputCmp::I32(comparison) => write!(f, "{separator}{comparison:?}")?,
                        InputCmp::F32(comparison) => write!(f, "{separator}{comparison:?}")?,
                    }
                }
                f.write_str("]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons() {
        let at = |cmp: InputCmpI32| [-2, 3, 4].map(|value| cmp.matches(value));
        assert_eq!(at(InputCmpI32::Equal { boundary: 3 }), [false, true, false]);
        assert_eq!(at(InputCmpI32::Less { boundary: 3 }), [true, false, false]);
        assert_eq!(at(InputCmpI32::Greater { boundary: 3 }), [false, false, true]);
        assert_eq!(at(InputCmpI32::LessUnsigned { boundary: 4 }), [false, true, false]);
        assert_eq!(at(InputCmpI32::GreaterUnsigned { boundary: 3 }), [true, false, true]);
        assert_eq!((at(InputCmpI32::True), at(InputCmpI32::False)), ([true; 3], [false; 3]));
        let at = |cmp: InputCmpF32| [-2.0, 0.5, f32::NAN].map(|value| cmp.matches(value));
        assert_eq!(at(InputCmpF32::Equal { boundary: 0.5 }), [false, true, false]);
        assert_eq!(at(InputCmpF32::Less { boundary: 0.5 }), [true, false, false]);
        assert_eq!(at(InputCmpF32::Greater { boundary: -2.0 }), [false, true, false]);
        assert_eq!(at(InputCmpF32::LessUnsigned { boundary: 1.0 }), [false, true, false]);
        assert_eq!(at(InputCmpF32::GreaterUnsigned { boundary: 1.0 }), [true, false, true]);
        assert_eq!((at(InputCmpF32::True), at(InputCmpF32::False)), ([true; 3], [false; 3]));
    }

    #[test]
    fn groups_are_bit_3() {
        let (zero, one) = (ValidBranchIds::from(GroupId::Zero), ValidBranchIds::from(GroupId::One));
        for id in 0..16 {
            assert_eq!((zero.holds(id), one.holds(id)), (id < 8, id >= 8));
            assert!(ValidBranchIds::default().holds(id));
        }
    }

    /// A guard keeps the ids that it admits, and has the shorter form where there is one.
    #[test]
    fn guards_are_conditions() {
        use super::super::guard::BitReq::{Ignore, One, Zero};
        let tags = TagGuard::not_matches([One, Zero, Ignore, Ignore]);
        let (all, group) = (TagGuard::all(), TagGuard::group(GroupId::One));
        let pairs = [
            (tags, ValidBranchIds::ValidTags { guard: tags }),
            (all, ValidBranchIds::ValidAlways),
            (group, GroupId::One.into()),
        ];
        for (guard, ids) in pairs {
            assert_eq!((ValidBranchIds::from(guard), ids.guard()), (ids, guard));
            (0..16).for_each(|id| assert_eq!(ids.holds(id), guard.admits_raw(id), "{guard} {id}"));
        }
        assert_eq!(pairs[0].1.to_string(), "TagGuard::not_matches([One, Zero, Ignore, Ignore])");
    }

    /// At its boundary only `Equal` holds, and each comparison has bits of its type.
    #[test]
    fn comparisons_at_their_boundary() {
        for value in [0.5f32, -0.5] {
            let all = [
                InputCmpF32::Equal { boundary: value },
                InputCmpF32::Less { boundary: value },
                InputCmpF32::Greater { boundary: value },
                InputCmpF32::LessUnsigned { boundary: value },
                InputCmpF32::GreaterUnsigned { boundary: value },
            ];
            let held = all.map(|comparison| InputCmp::F32(comparison).matches(value.to_bits()));
            assert_eq!(held, [true, false, false, false, false], "{value}");
        }
        for value in [3, -3] {
            let all = [
                InputCmpI32::Equal { boundary: value },
                InputCmpI32::Less { boundary: value },
                InputCmpI32::Greater { boundary: value },
                InputCmpI32::LessUnsigned { boundary: value },
                InputCmpI32::GreaterUnsigned { boundary: value },
            ];
            let held = all.map(|comparison| InputCmp::I32(comparison).matches(value as u32));
            assert_eq!(held, [true, false, false, false, false], "{value}");
        }
        // As an integer, the bits of a negative number are less than 0. As a float, no number is less than a NaN.
        let bits = (-0.5f32).to_bits();
        let less = InputCmpF32::Less { boundary: f32::from_bits(0x7fc0_0000) };
        assert!(
            InputCmp::I32(InputCmpI32::Less { boundary: 0 }).matches(bits)
                && !InputCmp::F32(less).matches(bits)
        );
    }

    #[test]
    fn branches_print() {
        let ids = [ValidBranchIds::from(GroupId::Zero), GroupId::One.into(), ValidBranchIds::ValidAlways];
        assert_eq!(ids.map(|valid| valid.to_string()), ["group 0", "group 1", "always"]);
        let digits = List::new(GuardDigit { variable: 3, base: 1, extent: 2, weight: 1 });
        assert_eq!(Branch::AxisToggle { digits }.to_string(), "AxisToggle");
        assert_eq!(Branch::Unconditional.to_string(), "Unconditional");
        let (never, less) =
            (InputCmp::F32(InputCmpF32::False), InputCmp::I32(InputCmpI32::Less { boundary: 3 }));
        assert_eq!(
            Branch::Comparison([never, less, never, never]).to_string(),
            "Comparison [False, Less { boundary: 3 }, False, False]"
        );
    }
}
