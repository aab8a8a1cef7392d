//! The Vector Engine: see [`crate::visa::engine::vector`].

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

mod operand;
mod pair;
mod stash;

pub use crate::visa::engine::vector::{Branched, Cmp, TagMode};
pub use operand::{Operand, TernaryOperand, UnaryOperand};
pub use pair::VectorTensorPair;
pub use stash::{Fresh, Occupied, Spent, StashState};

use crate::stream::TuTensor;
use crate::visa::command::{
    BinaryArgMode, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp, FpTernaryOp, FxpBinaryOp,
    InterSliceReduceOpF32, InterSliceReduceOpI32, IntraSliceReduceOpF32, IntraSliceReduceOpI32,
    LogicBinaryOpF32, LogicBinaryOpI32, TernaryArgMode, VectorStep,
};
use crate::visa::engine::stream::stage::{Enterable, PositionVectorFinal, PositionVectorInit};
use crate::visa::engine::vector::stage::{
    self, CanTransitionTo, Commitable, IntraSliceStage, PacketMode, Stage, Standalone, Stashable, VeOrder,
    VeTensorContext,
};
use crate::visa::engine::vector::{
    self, InterSlicePlan, IntoOperands, IntoTernaryOperands, ReducePlan, VectorPacketPlan,
};
use crate::visa::mapping::{AxisName, M};
use crate::visa::runtime::Tu;
use crate::visa::scalar::{Scalar, VeScalar};
use crate::visa::surface::StreamLayout;
use crate::words::{check, planned};
use core::fmt;

/// A stream inside the Vector Engine. `S` is its stage, `St` the state of the stash, and `W` the lanes of a packet.
#[must_use = "a stream does nothing until it ends in `.vector_final()` and `.commit()` or `.to_vrf()`"]
pub struct VectorTensor<
    'l,
    const T: Tu,
    S,
    D,
    L,
    St: StashState,
    const ORDER: VeOrder,
    FS = Standalone,
    const W: PacketMode = 8,
>(vector::VectorTensor<'l, T, S, D, L, St::D, St::State, ORDER, FS, W>);

impl<
    const T: Tu,
    S: Stage,
    D: VeScalar,
    L: StreamLayout,
    St: StashState,
    const ORDER: VeOrder,
    FS,
    const W: PacketMode,
> fmt::Debug for VectorTensor<'_, T, S, D, L, St, ORDER, FS, W>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'l, const T: Tu, P: Enterable, D: Scalar, L: StreamLayout> TuTensor<'l, T, P, D, L> {
    /// Enters the Vector Engine: `.vector_intra_slice_tag(TagMode::Zero)` comes next. See
    /// [`crate::visa::engine::stream::StreamTensor::vector_init`].
    #[track_caller]
    pub fn vector_init(self) -> TuTensor<'l, T, PositionVectorInit, D, L>
    where
        D: VeScalar,
    {
        TuTensor(self.0.vector_init())
    }
}

impl<'l, const T: Tu, D: VeScalar, L: StreamLayout> TuTensor<'l, T, PositionVectorInit, D, L> {
    /// Reads the 32 bits of each element as the other type: see [`vector::VectorTensor::vector_reinterpret`].
    pub fn vector_reinterpret<D2: VeScalar>(self) -> TuTensor<'l, T, PositionVectorInit, D2, L> {
        TuTensor(self.0.vector_reinterpret())
    }

    /// Gives every element its execution id. Operators come next. See
    /// [`crate::visa::engine::stream::StreamTensor::vector_intra_slice_branch`].
    ///
    /// # Panics
    /// If the stream lacks the axis of a toggle.
    #[track_caller]
    #[inline(never)]
    pub fn vector_intra_slice_tag(
        self,
        tag: TagMode<D>,
    ) -> VectorTensor<'l, T, stage::Branch, D, L, Fresh<D>, 0> {
        let () = planned!(WAY8 of VectorPacketPlan<L::Time, L::Packet, L::Time, L::Packet>);
        VectorTensor(self.0.branch_as(tag.into()))
    }
}

impl<'l, const T: Tu, D: VeScalar, L: StreamLayout, D0: VeScalar>
    VectorTensor<'l, T, stage::InterSliceReduce, D, L, Fresh<D0>, 1>
{
    /// Gives every element its execution id. Operators come next; all arithmetic units are free.
    ///
    /// # Panics
    /// If the stream lacks the axis of a toggle.
    #[track_caller]
    #[inline(never)]
    pub fn vector_intra_slice_tag(
        self,
        tag: TagMode<D>,
    ) -> VectorTensor<'l, T, stage::Branch, D, L, Fresh<D>, 1> {
        VectorTensor(self.0.vector_intra_slice_branch(tag.into()))
    }
}

/// Declares calls of a stream of elements `$d` in packets of `$way` lanes.
macro_rules! calls {
    ([$($extra:tt)*] $d:ty, $way:tt, { $($methods:tt)* }) => {
        impl<
            'l,
            const T: Tu,
            S: Stage,
            $($extra)*
            L: StreamLayout,
            St: StashState,
            const ORDER: VeOrder,
            FS: VeTensorContext,
        > VectorTensor<'l, T, S, $d, L, St, ORDER, FS, $way>
        {
            $($methods)*
        }
    };
}

calls! { [D: VeScalar, const W: PacketMode,] D, W, {
    /// Reads the 32 bits of each element as the other type: see [`vector::VectorTensor::vector_reinterpret`].
    pub fn vector_reinterpret<D2: VeScalar>(self) -> VectorTensor<'l, T, S, D2, L, St, ORDER, FS, W> {
        VectorTensor(self.0.vector_reinterpret())
    }
} }

/// Declares the calls of a binary operator, with and without a mode.
macro_rules! binary_calls {
    ($($d:ty, $way:tt, $stage:ident, $name:ident, $with_mode:ident, $op:ty;)*) => { $( calls! { [] $d, $way, {
        /// Applies an operator to the stream and an operand. See [`vector::VectorTensor`].
        ///
        /// # Panics
        /// If the arithmetic unit is in use.
        #[track_caller]
        #[inline(never)]
        pub fn $name<O>(self, op: $op, operand: O)
            -> VectorTensor<'l, T, stage::$stage, $d, L, O::After, ORDER, FS, $way>
        where
            S: CanTransitionTo<stage::$stage>,
            O: Operand<$d, L::Mapping, St, $way>,
        {
            const { <O::Base as IntoOperands<$d, L::Mapping>>::CHECK };
            VectorTensor(self.0.$name(op, operand.base()))
        }

        /// Applies the operator as in the call without a mode, with other arguments.
        ///
        /// # Panics
        /// As without a mode.
        #[track_caller]
        #[inline(never)]
        pub fn $with_mode<O>(self, op: $op, mode: BinaryArgMode, operand: O)
            -> VectorTensor<'l, T, stage::$stage, $d, L, O::After, ORDER, FS, $way>
        where
            S: CanTransitionTo<stage::$stage>,
            O: Operand<$d, L::Mapping, St, $way>,
        {
            const { <O::Base as IntoOperands<$d, L::Mapping>>::CHECK };
            VectorTensor(self.0.$with_mode(op, mode, operand.base()))
        }
    } } )* };
}

binary_calls! {
    i32, 8, Logic, vector_logic, vector_logic_with_mode, LogicBinaryOpI32;
    f32, 8, Logic, vector_logic, vector_logic_with_mode, LogicBinaryOpF32;
    i32, 8, Fxp, vector_fxp, vector_fxp_with_mode, FxpBinaryOp;
    i32, 8, Clip, vector_clip, vector_clip_with_mode, ClipBinaryOpI32;
    f32, 8, Clip, vector_clip, vector_clip_with_mode, ClipBinaryOpF32;
    f32, 4, Fp, vector_fp_binary, vector_fp_binary_with_mode, FpBinaryOp;
}

calls! { [] f32, 4, {
    /// Divides behind the reduce: the stream by the operand.
    ///
    /// # Panics
    /// If the division is in use.
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_div<O>(self, operand: O) -> VectorTensor<'l, T, stage::FpDiv, f32, L, O::After, ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::FpDiv>,
        O: Operand<f32, L::Mapping, St, 4>,
    {
        const { <O::Base as IntoOperands<f32, L::Mapping>>::CHECK };
        VectorTensor(self.0.vector_fp_div_with_mode(FpDivBinaryOp::DivF, BinaryArgMode::Mode01, operand.base()))
    }

    /// Divides behind the reduce, with other arguments.
    ///
    /// # Panics
    /// If the division is in use.
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_div_with_mode<O>(self, mode: BinaryArgMode, operand: O)
        -> VectorTensor<'l, T, stage::FpDiv, f32, L, O::After, ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::FpDiv>,
        O: Operand<f32, L::Mapping, St, 4>,
    {
        const { <O::Base as IntoOperands<f32, L::Mapping>>::CHECK };
        VectorTensor(self.0.vector_fp_div_with_mode(FpDivBinaryOp::DivF, mode, operand.base()))
    }

    /// Applies a function to each element: `Exp`, or `(guard, Exp)` to those that a guard admits.
    ///
    /// # Panics
    /// If the arithmetic unit is in use; if the guard admits nothing.
    #[track_caller]
    pub fn vector_fp_unary(self, op: impl UnaryOperand) -> VectorTensor<'l, T, stage::Fp, f32, L, St, ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Fp>,
    {
        let (ids, op) = op.parts();
        VectorTensor(self.0.vector_fp_unary_for(ids, op))
    }

    /// Applies an operator of three arguments: the stream, an operand, and a constant.
    ///
    /// # Panics
    /// If the arithmetic unit is in use.
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_ternary<O>(self, op: FpTernaryOp, operands: O)
        -> VectorTensor<'l, T, stage::Fp, f32, L, O::After, ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Fp>,
        O: TernaryOperand<L::Mapping, St, 4>,
    {
        const { <O::Base as IntoTernaryOperands<L::Mapping>>::CHECK };
        VectorTensor(self.0.vector_fp_ternary(op, operands.base()))
    }

    /// Applies the operator as in the call without a mode, with other arguments.
    ///
    /// # Panics
    /// As without a mode.
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_ternary_with_mode<O>(self, op: FpTernaryOp, mode: TernaryArgMode, operands: O)
        -> VectorTensor<'l, T, stage::Fp, f32, L, O::After, ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Fp>,
        O: TernaryOperand<L::Mapping, St, 4>,
    {
        const { <O::Base as IntoTernaryOperands<L::Mapping>>::CHECK };
        VectorTensor(self.0.vector_fp_ternary_with_mode(op, mode, operands.base()))
    }
} }

calls! { [] i32, 8, {
    /// Converts fixed point to float: see [`vector::VectorTensor::vector_fxp_to_fp`].
    ///
    /// # Panics
    /// If `int_width` is more than 31.
    #[track_caller]
    pub fn vector_fxp_to_fp(self, int_width: u32) -> VectorTensor<'l, T, stage::FxpToFp, f32, L, St, ORDER, FS, 8>
    where
        S: CanTransitionTo<stage::FxpToFp>,
    {
        VectorTensor(self.0.vector_fxp_to_fp(int_width))
    }
} }

calls! { [] f32, 8, {
    /// Converts float to fixed point: see [`vector::VectorTensor::vector_fp_to_fxp`].
    ///
    /// # Panics
    /// If `int_width` is more than 31.
    #[track_caller]
    pub fn vector_fp_to_fxp(self, int_width: u32) -> VectorTensor<'l, T, stage::FpToFxp, i32, L, St, ORDER, FS, 8>
    where
        S: CanTransitionTo<stage::FpToFxp>,
    {
        VectorTensor(self.0.vector_fp_to_fxp(int_width))
    }
} }

calls! { [D: VeScalar,] D, 8, {
    /// Cuts flits in halves of 4 lanes: see [`vector::VectorTensor::vector_split`].
    #[track_caller]
    #[inline(never)]
    pub fn vector_narrow_split<Time2: M, Packet2: M>(self)
        -> VectorTensor<'l, T, stage::Narrow, D, L::With<Time2, Packet2>, St, ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Narrow>,
    {
        let () = planned!(SPLIT of VectorPacketPlan<L::Time, L::Packet, Time2, Packet2>);
        VectorTensor(self.0.then("vector_narrow_split", VectorStep::Split))
    }

    /// Drops the upper 4 lanes of flits, which are padding: see [`vector::VectorTensor::vector_trim_way4`].
    #[track_caller]
    #[inline(never)]
    pub fn vector_narrow_trim<Packet2: M>(self)
        -> VectorTensor<'l, T, stage::Narrow, D, L::With<L::Time, Packet2>, St, ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Narrow>,
    {
        let () = planned!(TRIM of VectorPacketPlan<L::Time, L::Packet, L::Time, Packet2>);
        VectorTensor(self.0.then("vector_narrow_trim", VectorStep::Trim))
    }

    /// Ends the program: the stream leaves the engine.
    pub fn vector_final(self) -> TuTensor<'l, T, PositionVectorFinal, D, L>
    where
        S: CanTransitionTo<stage::Output>,
        FS: Commitable,
    {
        TuTensor(self.0.vector_final())
    }
} }

calls! { [D: VeScalar,] D, 4, {
    /// Joins the two halves of flits: see [`vector::VectorTensor::vector_concat`].
    #[track_caller]
    #[inline(never)]
    pub fn vector_widen_concat<Time2: M, Packet2: M>(self)
        -> VectorTensor<'l, T, stage::Widen, D, L::With<Time2, Packet2>, St, ORDER, FS, 8>
    where
        S: CanTransitionTo<stage::Widen>,
    {
        let () = planned!(CONCAT of VectorPacketPlan<L::Time, L::Packet, Time2, Packet2>);
        VectorTensor(self.0.then("vector_widen_concat", VectorStep::Concat))
    }

    /// Adds 4 lanes of padding: see [`vector::VectorTensor::vector_pad_way8`].
    #[track_caller]
    #[inline(never)]
    pub fn vector_widen_pad<Packet2: M>(self)
        -> VectorTensor<'l, T, stage::Widen, D, L::With<L::Time, Packet2>, St, ORDER, FS, 8>
    where
        S: CanTransitionTo<stage::Widen>,
    {
        let () = planned!(PAD of VectorPacketPlan<L::Time, L::Packet, L::Time, Packet2>);
        VectorTensor(self.0.then("vector_widen_pad", VectorStep::Pad))
    }
} }

impl<
    'l,
    const T: Tu,
    S: Stage,
    D: VeScalar,
    L: StreamLayout,
    D0: VeScalar,
    const ORDER: VeOrder,
    const W: PacketMode,
> VectorTensor<'l, T, S, D, L, Fresh<D0>, ORDER, Standalone, W>
{
    /// Keeps a copy of the elements, as the operand of one later call: [`Stash`](vector::Stash).
    pub fn vector_stash(
        self,
    ) -> VectorTensor<'l, T, S, D, L, Occupied<D, L::Mapping, W>, ORDER, Standalone, W>
    where
        S: Stashable,
    {
        VectorTensor(self.0.vector_stash())
    }
}

/// The plan of a reduce of a stream in the layout `L`.
type ReducePlanOf<Axis, L, OutTime, OutPacket> = ReducePlan<
    Axis,
    <L as StreamLayout>::Chip,
    <L as StreamLayout>::Cluster,
    <L as StreamLayout>::Slice,
    <L as StreamLayout>::Time,
    <L as StreamLayout>::Packet,
    OutTime,
    OutPacket,
>;

/// The plan of a reduce of slices of a stream in the layout `L`.
type InterSlicePlanOf<L, Slice, Time> = InterSlicePlan<
    <L as StreamLayout>::Chip,
    <L as StreamLayout>::Cluster,
    <L as StreamLayout>::Slice,
    <L as StreamLayout>::Time,
    <L as StreamLayout>::Packet,
    Slice,
    Time,
>;

/// Declares the reduces.
macro_rules! reduces {
    ($($d:ty, $intra:ty, $inter:ty;)*) => { $(
        calls! { [] $d, 4, {
            /// Reduces all elements along an axis to one, in each slice: see
            /// [`vector::VectorTensor::vector_intra_slice_reduce`].
            #[track_caller]
            #[inline(never)]
            pub fn vector_intra_slice_reduce<Reduce: AxisName, OutTime: M, OutPacket: M>(self, op: $intra)
                -> VectorTensor<'l, T, stage::IntraSliceReduce, $d, L::With<OutTime, OutPacket>, St, ORDER, FS, 4>
            where
                S: CanTransitionTo<stage::IntraSliceReduce>,
            {
                let plan = planned!(CONFIG of ReducePlanOf<Reduce, L, OutTime, OutPacket>);
                VectorTensor(self.0.reduce_as::<Reduce, OutTime, OutPacket>(op, plan))
            }
        } }

        impl<'l, const T: Tu, L: StreamLayout> TuTensor<'l, T, PositionVectorInit, $d, L> {
            /// Reduces all slices of a group to one element: see
            /// [`crate::visa::engine::stream::StreamTensor::vector_inter_slice_reduce`].
            #[track_caller]
            #[inline(never)]
            pub fn vector_inter_slice_reduce<OutSlice: M, OutTime: M>(self, op: $inter)
                -> VectorTensor<'l, T, stage::InterSliceReduce, $d, L::Over<OutSlice, OutTime>, Fresh<$d>, 1>
            {
                check!(CONFIG of InterSlicePlanOf<L, OutSlice, OutTime>);
                VectorTensor(self.0.vector_inter_slice_reduce::<OutSlice, OutTime>(op))
            }
        }

        impl<
            'l,
            const T: Tu,
            S: IntraSliceStage + CanTransitionTo<stage::InterSliceReduce>,
            L: StreamLayout,
            St: StashState,
            FS: Commitable + VeTensorContext,
        > VectorTensor<'l, T, S, $d, L, St, 0, FS, 8>
        {
            /// Reduces all slices of a group to one element. The stash is gone. See
            /// [`vector::VectorTensor::vector_inter_slice_reduce`].
            #[track_caller]
            #[inline(never)]
            pub fn vector_inter_slice_reduce<OutSlice: M, OutTime: M>(self, op: $inter)
                -> VectorTensor<'l, T, stage::InterSliceReduce, $d, L::Over<OutSlice, OutTime>, Fresh<$d>, 0>
            {
                check!(CONFIG of InterSlicePlanOf<L, OutSlice, OutTime>);
                VectorTensor(self.0.vector_inter_slice_reduce::<OutSlice, OutTime>(op))
            }
        }
    )* };
}

reduces! {
    i32, IntraSliceReduceOpI32, InterSliceReduceOpI32;
    f32, IntraSliceReduceOpF32, InterSliceReduceOpF32;
}
