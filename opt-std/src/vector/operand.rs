//! Operands: constants, tensors in the VRF, the stash, and operands for groups.

use super::stash::{Occupied, Spent, StashState};
use crate::visa::command::{FpUnaryOp, TagGuard, ValidBranchIds};
use crate::visa::engine::vector::slots::{Constant, Last, LastSlot, LastTernarySlot, Open, TwoConstants};
use crate::visa::engine::vector::stage::PacketMode;
use crate::visa::engine::vector::{IntoOperands, IntoTernaryOperands, Slots, Stash};
use crate::visa::mapping::M;
use crate::visa::scalar::VeScalar;
use crate::visa::tensor::VrfTensor;

/// An operand of a stream of `D` whose stash is in the state `St`, in packets of `W` lanes.
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` is no operand here",
    note = "operands are numbers of the type of the stream, `&VrfTensor`, `Stash`, and `Branched`",
    note = "`Stash` is read once, behind `.vector_stash()`, in the type and in the lanes of the stream that was stashed"
)]
pub trait Operand<D: VeScalar, Mapping: M, St: StashState, const W: PacketMode> {
    /// The state of the stash behind the call.
    type After: StashState<D = St::D, State = St::State>;
    #[doc(hidden)]
    type Base: IntoOperands<D, Mapping>;
    #[doc(hidden)]
    fn base(self) -> Self::Base;
}

/// Two operands of a ternary operator: `(operand, f32)`, and `Branched` of such pairs.
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` are no operands of a ternary operator here",
    note = "operands are `(f32, f32)`, `(&VrfTensor, f32)`, `(Stash, f32)`, and `Branched` of them",
    note = "`Stash` is read once, behind `.vector_stash()`, in the type and in the lanes of the stream that was stashed"
)]
pub trait TernaryOperand<Mapping: M, St: StashState, const W: PacketMode> {
    /// The state of the stash behind the call.
    type After: StashState<D = St::D, State = St::State>;
    #[doc(hidden)]
    type Base: IntoTernaryOperands<Mapping>;
    #[doc(hidden)]
    fn base(self) -> Self::Base;
}

/// Declares operands that leave the stash as it is. There is no blanket implementation: literals get their type from the
/// one that fits.
macro_rules! operands {
    ($([$($generics:tt)*] $operand:ty, $d:ty;)*) => { $(
        impl<$($generics)* Mapping: M, St: StashState, const W: PacketMode> Operand<$d, Mapping, St, W> for $operand {
            type After = St;
            type Base = Self;

            fn base(self) -> Self {
                self
            }
        }
    )* };
}

operands! {
    [] i32, i32;
    [] f32, f32;
    ['v, D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M,] &'v VrfTensor<D, Chip, Cluster, Slice, Element>, D;
}

impl<D: VeScalar, Mapping: M, Stashed: M, const W: PacketMode> Operand<D, Mapping, Occupied<D, Stashed, W>, W>
    for Stash
{
    type After = Spent<D, Stashed>;
    type Base = Self;

    fn base(self) -> Self {
        self
    }
}

/// Declares slots of a binary operator. `$state` is the stash before, and `$after` behind the call.
macro_rules! slots {
    ($([$($generics:tt)*] $last:ty, $state:ty => $after:ty;)*) => { $(
        impl<$($generics)* D: VeScalar, Mapping: M, V: Constant<D>, Count, const W: PacketMode>
            Operand<D, Mapping, $state, W> for Slots<V, Count, $last>
        where
            $last: LastSlot<D, Mapping>,
        {
            type After = $after;
            type Base = Self;

            fn base(self) -> Self {
                self
            }
        }
    )* };
}

slots! {
    [St: StashState,] Open, St => St;
    ['v, St: StashState, Chip: M, Cluster: M, Slice: M, Element: M,]
        Last<&'v VrfTensor<D, Chip, Cluster, Slice, Element>>, St => St;
    [Stashed: M,] Last<Stash>, Occupied<D, Stashed, W> => Spent<D, Stashed>;
}

/// Declares slots of an operator of three arguments.
macro_rules! ternary_slots {
    ($([$($generics:tt)*] $last:ty, $state:ty => $after:ty;)*) => { $(
        impl<$($generics)* Mapping: M, V: TwoConstants, Count, const W: PacketMode> TernaryOperand<Mapping, $state, W>
            for Slots<V, Count, $last>
        where
            $last: LastTernarySlot<Mapping>,
        {
            type After = $after;
            type Base = Self;

            fn base(self) -> Self {
                self
            }
        }
    )* };
}

ternary_slots! {
    [St: StashState,] Open, St => St;
    ['v, St: StashState, Chip: M, Cluster: M, Slice: M, Element: M,]
        Last<(&'v VrfTensor<f32, Chip, Cluster, Slice, Element>, f32)>, St => St;
    [Stashed: M,] Last<(Stash, f32)>, Occupied<f32, Stashed, W> => Spent<f32, Stashed>;
}

impl<Mapping: M, St: StashState, const W: PacketMode, O> TernaryOperand<Mapping, St, W> for (O, f32)
where
    O: Operand<f32, Mapping, St, W>,
    (O::Base, f32): IntoTernaryOperands<Mapping>,
{
    type After = O::After;
    type Base = (O::Base, f32);

    fn base(self) -> Self::Base {
        (self.0.base(), self.1)
    }
}

/// A function, and the elements that it is for: `Exp`, or `(guard, Exp)`.
#[diagnostic::on_unimplemented(
    message = "vector_fp_unary: `{Self}` is no function",
    note = "a function is an `FpUnaryOp`, or `(TagGuard, FpUnaryOp)`"
)]
pub trait UnaryOperand {
    /// The elements and the function.
    #[doc(hidden)]
    fn parts(self) -> (ValidBranchIds, FpUnaryOp);
}

impl UnaryOperand for FpUnaryOp {
    fn parts(self) -> (ValidBranchIds, FpUnaryOp) {
        (ValidBranchIds::ValidAlways, self)
    }
}

impl UnaryOperand for (TagGuard, FpUnaryOp) {
    fn parts(self) -> (ValidBranchIds, FpUnaryOp) {
        (self.0.into(), self.1)
    }
}
