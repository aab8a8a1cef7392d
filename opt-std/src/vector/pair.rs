//! Two groups in one stream: see [`crate::visa::engine::vector::VectorTensorPair`].

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use super::VectorTensor;
use super::stash::Fresh;
use crate::stream::TuTensor;
use crate::visa::command::{
    BinaryArgMode, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp, FpTernaryOp, FpUnaryOp,
    FxpBinaryOp, LogicBinaryOpF32, LogicBinaryOpI32, TernaryArgMode, VectorStep,
};
use crate::visa::engine::stream::stage::PositionVectorInit;
use crate::visa::engine::vector::stage::{self, CanTransitionTo, PacketMode, Stage, Zipped};
use crate::visa::engine::vector::{
    IntoGroupOperand, IntoGroupTernaryOperand, UnzipPlan, VectorPacketPlan, VectorPair,
};
use crate::visa::mapping::{AxisName, M};
use crate::visa::runtime::Tu;
use crate::visa::scalar::VeScalar;
use crate::visa::surface::{Layout, StreamLayout};
use crate::words::{check, planned};
use core::fmt;

/// Two groups in one stream, in a layout `L`.
#[must_use = "a stream does nothing until it ends in `.vector_final()` and `.commit()` or `.to_vrf()`"]
pub struct Pair<'l, const T: Tu, D, S, L, const W: PacketMode = 8>(VectorPair<'l, T, D, S, L, W>);

/// Two groups in one stream.
pub type VectorTensorPair<
    'l,
    const T: Tu,
    D,
    S,
    Chip,
    Cluster,
    Slice,
    SplitTime,
    Packet,
    const W: PacketMode = 8,
> = Pair<'l, T, D, S, Layout<Chip, Cluster, Slice, SplitTime, Packet>, W>;

impl<const T: Tu, D: VeScalar, S, L: StreamLayout, const W: PacketMode> fmt::Debug
    for Pair<'_, T, D, S, L, W>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'l, const T: Tu, D: VeScalar, L: StreamLayout> TuTensor<'l, T, PositionVectorInit, D, L> {
    /// Makes two groups of the stream: see
    /// [`crate::visa::engine::stream::StreamTensor::vector_intra_slice_unzip`].
    #[track_caller]
    #[inline(never)]
    pub fn vector_intra_slice_unzip<I: AxisName, TileTime: M, SplitTime: M>(
        self,
    ) -> Pair<'l, T, D, stage::Branch, L::With<SplitTime, L::Packet>> {
        check!(STEP of UnzipPlan<I, L::Time, TileTime, SplitTime, L::Packet>);
        Pair(self.0.vector_intra_slice_unzip::<I, TileTime, SplitTime>())
    }
}

/// Declares calls of two groups of elements `$d` in packets of `$way` lanes.
macro_rules! calls {
    ([$($extra:tt)*] $d:ty, $way:tt, { $($methods:tt)* }) => {
        impl<'l, const T: Tu, S: Stage, $($extra)* L: StreamLayout> Pair<'l, T, $d, S, L, $way> {
            $($methods)*
        }
    };
}

calls! { [D: VeScalar, const W: PacketMode,] D, W, {
    /// Reads the 32 bits of each element as the other type.
    pub fn vector_reinterpret<D2: VeScalar>(self) -> Pair<'l, T, D2, S, L, W> {
        Pair(self.0.vector_reinterpret())
    }
} }

/// Declares the calls of a binary operator, with and without a mode.
macro_rules! binary_calls {
    ($($d:ty, $way:tt, $stage:ident, $name:ident, $with_mode:ident, $op:ty;)*) => { $( calls! { [] $d, $way, {
        /// Applies an operator to each group with an operand of its own: `()` leaves a group as it is.
        ///
        /// # Panics
        /// If the arithmetic unit is in use.
        #[track_caller]
        #[inline(never)]
        pub fn $name<O0, O1>(self, op: $op, group0: O0, group1: O1) -> Pair<'l, T, $d, stage::$stage, L, $way>
        where
            S: CanTransitionTo<stage::$stage>,
            O0: IntoGroupOperand<$d, L::Mapping>,
            O1: IntoGroupOperand<$d, L::Mapping>,
        {
            const { (O0::CHECK, O1::CHECK) };
            Pair(self.0.$name(op, group0, group1))
        }

        /// Applies the operator as in the call without a mode, with other arguments.
        ///
        /// # Panics
        /// As without a mode.
        #[track_caller]
        #[inline(never)]
        pub fn $with_mode<O0, O1>(self, op: $op, mode: BinaryArgMode, group0: O0, group1: O1)
            -> Pair<'l, T, $d, stage::$stage, L, $way>
        where
            S: CanTransitionTo<stage::$stage>,
            O0: IntoGroupOperand<$d, L::Mapping>,
            O1: IntoGroupOperand<$d, L::Mapping>,
        {
            const { (O0::CHECK, O1::CHECK) };
            Pair(self.0.$with_mode(op, mode, group0, group1))
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
    /// Divides each group by an operand of its own.
    ///
    /// # Panics
    /// If the division is in use.
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_div<O0, O1>(self, group0: O0, group1: O1) -> Pair<'l, T, f32, stage::FpDiv, L, 4>
    where
        S: CanTransitionTo<stage::FpDiv>,
        O0: IntoGroupOperand<f32, L::Mapping>,
        O1: IntoGroupOperand<f32, L::Mapping>,
    {
        const { (O0::CHECK, O1::CHECK) };
        Pair(self.0.vector_fp_div(FpDivBinaryOp::DivF, group0, group1))
    }

    /// Divides each group, with other arguments.
    ///
    /// # Panics
    /// If the division is in use.
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_div_with_mode<O0, O1>(self, mode: BinaryArgMode, group0: O0, group1: O1)
        -> Pair<'l, T, f32, stage::FpDiv, L, 4>
    where
        S: CanTransitionTo<stage::FpDiv>,
        O0: IntoGroupOperand<f32, L::Mapping>,
        O1: IntoGroupOperand<f32, L::Mapping>,
    {
        const { (O0::CHECK, O1::CHECK) };
        Pair(self.0.vector_fp_div_with_mode(FpDivBinaryOp::DivF, mode, group0, group1))
    }

    /// Applies a function to the elements of the groups that are `true`.
    ///
    /// # Panics
    /// If the arithmetic unit is in use.
    #[track_caller]
    pub fn vector_fp_unary(self, op: FpUnaryOp, group0: bool, group1: bool) -> Pair<'l, T, f32, stage::Fp, L, 4>
    where
        S: CanTransitionTo<stage::Fp>,
    {
        Pair(self.0.vector_fp_unary(op, group0, group1))
    }

    /// Applies an operator of three arguments to each group.
    ///
    /// # Panics
    /// If the arithmetic unit is in use.
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_ternary<O0, O1>(self, op: FpTernaryOp, group0: O0, group1: O1) -> Pair<'l, T, f32, stage::Fp, L, 4>
    where
        S: CanTransitionTo<stage::Fp>,
        O0: IntoGroupTernaryOperand<L::Mapping>,
        O1: IntoGroupTernaryOperand<L::Mapping>,
    {
        const { (O0::CHECK, O1::CHECK) };
        Pair(self.0.vector_fp_ternary(op, group0, group1))
    }

    /// Applies the operator as in the call without a mode, with other arguments.
    ///
    /// # Panics
    /// As without a mode.
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_ternary_with_mode<O0, O1>(self, op: FpTernaryOp, mode: TernaryArgMode, group0: O0, group1: O1)
        -> Pair<'l, T, f32, stage::Fp, L, 4>
    where
        S: CanTransitionTo<stage::Fp>,
        O0: IntoGroupTernaryOperand<L::Mapping>,
        O1: IntoGroupTernaryOperand<L::Mapping>,
    {
        const { (O0::CHECK, O1::CHECK) };
        Pair(self.0.vector_fp_ternary_with_mode(op, mode, group0, group1))
    }
} }

calls! { [D: VeScalar,] D, 4, {
    /// Joins the two halves of flits.
    #[track_caller]
    #[inline(never)]
    pub fn vector_widen_concat<SplitTime2: M, Packet2: M>(self)
        -> Pair<'l, T, D, stage::Widen, L::With<SplitTime2, Packet2>, 8>
    where
        S: CanTransitionTo<stage::Widen>,
    {
        let () = planned!(CONCAT of VectorPacketPlan<L::Time, L::Packet, SplitTime2, Packet2>);
        Pair(self.0.then("vector_widen_concat", Some(VectorStep::Concat)))
    }
} }

calls! { [D: VeScalar,] D, 8, {
    /// Cuts flits in halves of 4 lanes.
    #[track_caller]
    #[inline(never)]
    pub fn vector_narrow_split<SplitTime2: M, Packet2: M>(self)
        -> Pair<'l, T, D, stage::Narrow, L::With<SplitTime2, Packet2>, 4>
    where
        S: CanTransitionTo<stage::Narrow>,
    {
        let () = planned!(SPLIT of VectorPacketPlan<L::Time, L::Packet, SplitTime2, Packet2>);
        Pair(self.0.then("vector_narrow_split", Some(VectorStep::Split)))
    }
} }

calls! { [] i32, 8, {
    /// Converts fixed point to float.
    ///
    /// # Panics
    /// If `int_width` is more than 31.
    #[track_caller]
    pub fn vector_fxp_to_fp(self, int_width: u32) -> Pair<'l, T, f32, stage::FxpToFp, L, 8>
    where
        S: CanTransitionTo<stage::FxpToFp>,
    {
        Pair(self.0.vector_fxp_to_fp(int_width))
    }
} }

calls! { [] f32, 8, {
    /// Converts float to fixed point.
    ///
    /// # Panics
    /// If `int_width` is more than 31.
    #[track_caller]
    pub fn vector_fp_to_fxp(self, int_width: u32) -> Pair<'l, T, i32, stage::FpToFxp, L, 8>
    where
        S: CanTransitionTo<stage::FpToFxp>,
    {
        Pair(self.0.vector_fp_to_fxp(int_width))
    }
} }

/// Declares the calls that make one stream of both groups.
macro_rules! zips {
    ($($d:ty, $way:tt, $stage:ident, $name:ident, $with_mode:ident, $op:ty;)*) => { $( calls! { [] $d, $way, {
        /// Makes one stream of both groups.
        ///
        /// # Panics
        /// If the arithmetic unit is in use.
        #[track_caller]
        pub fn $name(self, op: $op) -> VectorTensor<'l, T, stage::$stage, $d, L, Fresh<$d>, 0, Zipped, $way>
        where
            S: CanTransitionTo<stage::$stage>,
        {
            VectorTensor(self.0.$name(op))
        }

        /// Makes one stream of both groups, with other arguments.
        ///
        /// # Panics
        /// If the arithmetic unit is in use.
        #[track_caller]
        pub fn $with_mode(self, op: $op, mode: BinaryArgMode)
            -> VectorTensor<'l, T, stage::$stage, $d, L, Fresh<$d>, 0, Zipped, $way>
        where
            S: CanTransitionTo<stage::$stage>,
        {
            VectorTensor(self.0.$with_mode(op, mode))
        }
    } } )* };
}

zips! {
    i32, 8, Logic, vector_logic_zip, vector_logic_zip_with_mode, LogicBinaryOpI32;
    f32, 8, Logic, vector_logic_zip, vector_logic_zip_with_mode, LogicBinaryOpF32;
    i32, 8, Fxp, vector_fxp_zip, vector_fxp_zip_with_mode, FxpBinaryOp;
    f32, 4, Fp, vector_fp_zip, vector_fp_zip_with_mode, FpBinaryOp;
    i32, 8, Clip, vector_clip_zip, vector_clip_zip_with_mode, ClipBinaryOpI32;
    f32, 8, Clip, vector_clip_zip, vector_clip_zip_with_mode, ClipBinaryOpF32;
}
