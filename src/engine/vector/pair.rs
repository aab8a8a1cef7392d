//! Two groups: the two halves of a stream along an axis of 2, side by side, until a zip makes one stream of them.
//!
//! ```text
//!   Time m![W, I]     I: 0 ──▶ group 0 ─┐  vector_fp_unary(op, true, false) …   each call says what each group gets;
//!                     I: 1 ──▶ group 1 ─┘                                       `()` leaves it as it is
//!                              └──── vector_fp_zip(op) ────▶ op(group 0, group 1)      Time m![W]
//! ```
//!
//! [`begin_interleaved`](crate::runtime::TuContext::begin_interleaved) makes such a stream from two tensors. A unit
//! that one of the groups takes is spent for both.

use super::checks::{UnaryArgMode, check_defined, check_int_width, check_unary_mode};
use super::operand::{
    IntoGroupOperand, IntoGroupTernaryOperand, NoTensor, StashRead, VeBranchOperand, binary_inputs,
    ternary_inputs,
};
use super::rules::VectorPacketPlan;
use super::stage::{self, CanTransitionTo, PacketMode, Stage, Zipped};
use super::tensor::{VectorTensor, add, binary};
use crate::command::{
    BinaryArgMode, BinaryInput, BinaryOperator, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp,
    FpTernaryOp, FpUnaryOp, FxpBinaryOp, LogicBinaryOpF32, LogicBinaryOpI32, TernaryArgMode, TernaryInput,
    ValidBranchIds, VectorStep,
};
use crate::engine::layout::{Layout, StreamLayout};
use crate::engine::stream::stage::PositionVectorInit;
use crate::engine::stream::{Pass, StreamTensor};
use crate::error::PlanError;
use crate::mapping::{AxisName, M};
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, planned, planned_operands};
use crate::runtime::{Lease, Tu, TuContext};
use crate::scalar::VeScalar;
use core::fmt;
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::engine::vector::pair::{OPERATION, of_group};
pub use furiosa_visa_rules::engine::vector::pair::{UnzipRequest, derive_unzip, ids_in_group};

/// The plan of two groups, as types.
pub struct UnzipPlan<Axis, Time, TileTime, SplitTime, Packet>(
    PhantomData<(Axis, Time, TileTime, SplitTime, Packet)>,
);

impl<Axis: AxisName, Time: M, TileTime: M, SplitTime: M, Packet: M>
    UnzipPlan<Axis, Time, TileTime, SplitTime, Packet>
{
    pub(crate) const REQUEST: UnzipRequest = UnzipRequest {
        axis: Axis::NAME,
        size: Axis::SIZE,
        time: Time::EXPR,
        tile_time: TileTime::EXPR,
        split_time: SplitTime::EXPR,
        packet: Packet::EXPR,
    };

    /// Number of positions between the two elements of a pair. Evaluating it refuses other mappings.
    pub const STEP: usize = match Late::<Self>::STEP {
        Ok(step) => step,
        Err(error) => error.refuse(),
    };
}

impl<Axis: AxisName, Time: M, TileTime: M, SplitTime: M, Packet: M>
    Late<UnzipPlan<Axis, Time, TileTime, SplitTime, Packet>>
{
    #[doc(hidden)]
    pub const STEP: Refusable<usize> =
        derive_unzip(&UnzipPlan::<Axis, Time, TileTime, SplitTime, Packet>::REQUEST);
}

/// Two groups of a stream inside the Vector Engine. Every call has arguments for each of them.
#[must_use = "a stream does nothing until it ends in `.vector_final()` and `.commit(…)` or `.to_vrf(…)`"]
pub struct VectorPair<'l, const T: Tu, D, S, L, const W: PacketMode = 8> {
    context: &'l mut TuContext<T>,
    pass: Box<Pass>,
    types: PhantomData<(D, S, L)>,
}

/// Two groups by their mappings.
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
> = VectorPair<'l, T, D, S, Layout<Chip, Cluster, Slice, SplitTime, Packet>, W>;

impl<const T: Tu, D: VeScalar, S, L: StreamLayout, const W: PacketMode> fmt::Debug
    for VectorPair<'_, T, D, S, L, W>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, packet) = (L::Time::EXPR, L::Packet::EXPR);
        write!(f, "two groups of {}, Time m![{time}], Packet m![{packet}]", D::ELEMENT_TYPE)
    }
}

impl<'l, const T: Tu, D: VeScalar, L: StreamLayout> StreamTensor<'l, T, PositionVectorInit, D, L> {
    /// Makes two groups of the stream: its halves along `I`, an axis of 2 in time. `TileTime` is `Time` with `1 # 2` in the
    /// place of `I`, `SplitTime` is `Time` without `I`. See [vector](crate::guide::vector), "Groups".
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, W = 2, L = 8, I = 2];
    /// type X = DmTensor<f32, m![1], m![1 # 2], m![S], m![W, L]>;
    /// /// `sigmoid(a) · (b + 1)`
    /// fn gate(ctx: &mut Context, a: &X, b: &X) -> X {
    ///     (ctx.main.begin_interleaved::<I, _, _, _, _, _>(a.view(), b.view()))
    ///         .fetch::<f32, m![W, I], m![L]>()
    ///         .collect::<m![W, I], m![L]>()
    ///         .vector_init()
    ///         .vector_intra_slice_unzip::<I, m![W, 1 # 2], m![W]>()
    ///         .vector_split::<m![W, L / 4], m![L % 4]>()
    ///         .vector_fp_unary(FpUnaryOp::Sigmoid, true, false) // group 0 alone
    ///         .vector_fp_binary(FpBinaryOp::AddF, (), 1.0) // group 1 alone
    ///         .vector_fp_zip(FpBinaryOp::MulF(FpMulAlu::Mul0))
    ///         .vector_concat::<m![W], m![L]>()
    ///         .vector_final()
    ///         .commit(AUTO)
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let x = HostTensor::<f32, m![S, W, L]>::from_slice(&[0.0; 4096]);
    /// # let x = pollster::block_on(x.to_hbm::<m![1], m![S, W, L]>(&mut ctx.pdma, AUTO));
    /// # let x = x.to_dm(&mut ctx.tdma, AUTO);
    /// # let y = gate(&mut ctx, &x, &x).to_hbm::<m![S, W, L]>(&mut ctx.tdma, AUTO);
    /// # let y = pollster::block_on(y.to_host::<m![S, W, L]>(&mut ctx.pdma)).to_vec();
    /// // Of 0 and 0:
    /// assert_eq!(y[0], 0.5);
    /// ```
    ///
    /// Refused while compiling: anything else; packets that do not have 8 elements.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn vector_intra_slice_unzip<I: AxisName, TileTime: M, SplitTime: M>(
        self,
    ) -> VectorPair<'l, T, D, stage::Branch, L::With<SplitTime, L::Packet>> {
        let step = planned!(STEP of UnzipPlan<I, L::Time, TileTime, SplitTime, L::Packet>);
        let mut pass = self.pass;
        add(&mut pass, OPERATION, VectorStep::Unzip { step });
        VectorPair { context: self.context, pass, types: PhantomData }
    }
}

impl<'l, const T: Tu, D, S, L, const W: PacketMode> VectorPair<'l, T, D, S, L, W> {
    #[doc(hidden)]
    #[track_caller]
    pub fn then<D2, S2, L2, const W2: PacketMode>(
        mut self,
        operation: &'static str,
        step: Option<VectorStep>,
    ) -> VectorPair<'l, T, D2, S2, L2, W2> {
        if let Some(step) = step {
            add(&mut self.pass, operation, step);
        }
        VectorPair { context: self.context, pass: self.pass, types: PhantomData }
    }
}

/// The state of the stash: groups have none.
const NO_STASH: StashRead = StashRead { stashed: None };

/// The operands of both groups, in the form of a command.
fn group_inputs<D: VeScalar, Mapping: M>(
    operands: [Option<VeBranchOperand<D, Mapping>>; 2],
    held: &mut Vec<Lease>,
) -> Result<Vec<BinaryInput>, PlanError> {
    let mut all = Vec::new();
    for (group, operand) in operands.into_iter().enumerate() {
        let Some(operand) = operand else { continue };
        let ids = ids_in_group(group, operand.valid_branch_ids);
        let inputs = binary_inputs([operand], &NO_STASH, held)?;
        all.extend(inputs.into_iter().filter_map(|input| Some(BinaryInput { ids: ids?, ..input })));
    }
    Ok(all)
}

/// Declares calls of two groups of elements `$d` in packets of `$way` lanes.
macro_rules! pair_calls {
    ([$($extra:tt)*] $d:ty, $way:tt, { $($methods:tt)* }) => {
        impl<'l, const T: Tu, S: Stage, $($extra)* L: StreamLayout> VectorPair<'l, T, $d, S, L, $way> {
            $($methods)*
        }
    };
}

pair_calls! { [D: VeScalar, const W: PacketMode,] D, W, {
    /// The groups behind a binary operator on one of them, or on both. Without operands there is no step.
    #[track_caller]
    fn then_binary<S2, O0, O1>(
        mut self, operation: &'static str, op: BinaryOperator, mode: BinaryArgMode, group0: O0, group1: O1,
    ) -> VectorPair<'l, T, D, S2, L, W>
    where
        O0: IntoGroupOperand<D, L::Mapping>,
        O1: IntoGroupOperand<D, L::Mapping>,
    {
        accept(operation, check_defined(operation, op.name(), op.is_defined()));
        let operands = [group0.into_group_operand(), group1.into_group_operand()];
        let is_any = operands.iter().any(Option::is_some);
        let inputs = group_inputs(operands, &mut self.pass.held);
        self.then(operation, is_any.then(|| binary(operation, op, mode, inputs)))
    }
} }

macro_rules! binary_calls {
    ($d:ty, $way:tt, $stage:ident, $name:ident, $with_mode:ident, $op:ty, $wrap:expr) => {
        pair_calls! { [] $d, $way, {
            /// Applies the operator with an operand for each group. `()` leaves a group as it is.
            /// [`vector_intra_slice_unzip`](StreamTensor::vector_intra_slice_unzip) has an example.
            ///
            /// Refused while compiling: a tensor in the VRF that does not fit the groups.
            ///
            /// # Panics
            /// If the arithmetic unit is in use.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn $name<O0, O1>(self, op: $op, group0: O0, group1: O1)
                -> VectorPair<'l, T, $d, stage::$stage, L, $way>
            where
                S: CanTransitionTo<stage::$stage>,
                O0: IntoGroupOperand<$d, L::Mapping>,
                O1: IntoGroupOperand<$d, L::Mapping>,
            {
                planned_operands!((O0::CHECK, O1::CHECK));
                self.then_binary(stringify!($name), $wrap(op), BinaryArgMode::Mode01, group0, group1)
            }

            /// Applies the operator as in the call without a mode, with other arguments: 0 is the stream of a group, 1
            /// its operand.
            ///
            /// # Panics
            /// If the arithmetic unit is in use.
            #[track_caller]
            #[inline(never)]
            pub fn $with_mode<O0, O1>(self, op: $op, mode: BinaryArgMode, group0: O0, group1: O1)
                -> VectorPair<'l, T, $d, stage::$stage, L, $way>
            where
                S: CanTransitionTo<stage::$stage>,
                O0: IntoGroupOperand<$d, L::Mapping>,
                O1: IntoGroupOperand<$d, L::Mapping>,
            {
                planned_operands!((O0::CHECK, O1::CHECK));
                self.then_binary(stringify!($with_mode), $wrap(op), mode, group0, group1)
            }
        } }
    };
}

binary_calls!(
    i32,
    8,
    Logic,
    vector_logic,
    vector_logic_with_mode,
    LogicBinaryOpI32,
    BinaryOperator::LogicI32
);

binary_calls!(
    f32,
    8,
    Logic,
    vector_logic,
    vector_logic_with_mode,
    LogicBinaryOpF32,
    BinaryOperator::LogicF32
);

binary_calls!(i32, 8, Fxp, vector_fxp, vector_fxp_with_mode, FxpBinaryOp, BinaryOperator::Fxp);

binary_calls!(i32, 8, Clip, vector_clip, vector_clip_with_mode, ClipBinaryOpI32, BinaryOperator::ClipI32);

binary_calls!(f32, 8, Clip, vector_clip, vector_clip_with_mode, ClipBinaryOpF32, BinaryOperator::ClipF32);

binary_calls!(f32, 4, Fp, vector_fp_binary, vector_fp_binary_with_mode, FpBinaryOp, BinaryOperator::Fp);

binary_calls!(f32, 4, FpDiv, vector_fp_div, vector_fp_div_with_mode, FpDivBinaryOp, BinaryOperator::FpDiv);

/// The step of a function for some groups. `None` if it is for no group.
fn group_unary(op: FpUnaryOp, groups: [bool; 2]) -> Option<VectorStep> {
    let ids = match groups {
        [true, true] => ValidBranchIds::ValidAlways,
        [true, false] => of_group(0),
        [false, true] => of_group(1),
        [false, false] => return None,
    };
    Some(VectorStep::Unary { op, ids })
}

pair_calls! { [] f32, 4, {
    /// Applies a function to each element of one group, or of both.
    /// [`vector_intra_slice_unzip`](StreamTensor::vector_intra_slice_unzip) has an example.
    ///
    /// # Panics
    /// If the arithmetic unit is in use.
    #[track_caller]
    pub fn vector_fp_unary(self, op: FpUnaryOp, group0_apply: bool, group1_apply: bool)
        -> VectorPair<'l, T, f32, stage::Fp, L, 4>
    where
        S: CanTransitionTo<stage::Fp>,
    {
        self.then("vector_fp_unary", group_unary(op, [group0_apply, group1_apply]))
    }

    /// Applies a function as in the call without a mode. The mode is there for symmetry: a function has no operand.
    ///
    /// # Panics
    /// If the arithmetic unit is in use; with `UnaryArgMode::Mode1`.
    #[track_caller]
    pub fn vector_fp_unary_with_mode(self, op: FpUnaryOp, mode: UnaryArgMode, group0_apply: bool, group1_apply: bool)
        -> VectorPair<'l, T, f32, stage::Fp, L, 4>
    where
        S: CanTransitionTo<stage::Fp>,
    {
        accept("vector_fp_unary", check_unary_mode(mode));
        self.then("vector_fp_unary", group_unary(op, [group0_apply, group1_apply]))
    }

    /// Applies an operator of three arguments, with operands for each group, as in
    /// `.vector_fp_ternary(FpTernaryOp::FmaF, (2.0, 1.0), ())`. `()` leaves a group as it is.
    ///
    /// # Panics
    /// If the arithmetic unit is in use.
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_ternary<O0, O1>(self, op: FpTernaryOp, group0: O0, group1: O1)
        -> VectorPair<'l, T, f32, stage::Fp, L, 4>
    where
        S: CanTransitionTo<stage::Fp>,
        O0: IntoGroupTernaryOperand<L::Mapping>,
        O1: IntoGroupTernaryOperand<L::Mapping>,
    {
        planned_operands!((O0::CHECK, O1::CHECK));
        self.vector_fp_ternary_with_mode(op, TernaryArgMode::Mode012, group0, group1)
    }

    /// Applies the operator as in the call without a mode, with other arguments: 0 is the stream of a group, 1 its
    /// operand, 2 its constant.
    ///
    /// # Panics
    /// If the arithmetic unit is in use.
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_ternary_with_mode<O0, O1>(mut self, op: FpTernaryOp, mode: TernaryArgMode, group0: O0, group1: O1)
        -> VectorPair<'l, T, f32, stage::Fp, L, 4>
    where
        S: CanTransitionTo<stage::Fp>,
        O0: IntoGroupTernaryOperand<L::Mapping>,
        O1: IntoGroupTernaryOperand<L::Mapping>,
    {
        planned_operands!((O0::CHECK, O1::CHECK));
        let operation = "vector_fp_ternary";
        accept(operation, check_defined(operation, op.name(), op == FpTernaryOp::FmaF));
        let (mut is_any, mut operands) = (false, Vec::new());
        for (group, operand) in
            [group0.into_group_ternary_operand(), group1.into_group_ternary_operand()].into_iter().enumerate()
        {
            let Some(operand) = operand else { continue };
            is_any = true;
            let ids = ids_in_group(group, operand.valid_branch_ids);
            let inputs = accept(operation, ternary_inputs([operand], &NO_STASH, &mut self.pass.held));
            operands.extend(inputs.into_iter().filter_map(|input| Some(TernaryInput { ids: ids?, ..input })));
        }
        self.then(operation, is_any.then_some(VectorStep::Ternary { op, mode, operands }))
    }
} }

pair_calls! { [D: VeScalar,] D, 4, {
    /// Joins the two halves of flits, innermost in the time of each group, as [`VectorTensor::vector_concat`] does.
    ///
    /// Refused while compiling: anything else.
    #[track_caller]
    #[inline(never)]
    pub fn vector_concat<SplitTime2: M, Packet2: M>(self)
        -> VectorPair<'l, T, D, stage::Widen, L::With<SplitTime2, Packet2>, 8>
    where
        S: CanTransitionTo<stage::Widen>,
    {
        let () = *planned!(const CONCAT of VectorPacketPlan<L::Time, L::Packet, SplitTime2, Packet2>);
        self.then("vector_concat", Some(VectorStep::Concat))
    }
} }

pair_calls! { [D: VeScalar, const W: PacketMode,] D, W, {
    /// Reads the 32 bits of each element as the other type, in both groups, as [`VectorTensor::vector_reinterpret`] does.
    pub fn vector_reinterpret<D2: VeScalar>(self) -> VectorPair<'l, T, D2, S, L, W> {
        self.then("vector_reinterpret", (D::KIND != D2::KIND).then_some(VectorStep::Reinterpret))
    }
} }

pair_calls! { [] i32, 8, {
    /// Converts fixed point to float, in both groups, as [`VectorTensor::vector_fxp_to_fp`] does.
    ///
    /// # Panics
    /// If `int_width` is more than 31.
    #[track_caller]
    pub fn vector_fxp_to_fp(self, int_width: u32)
        -> VectorPair<'l, T, f32, stage::FxpToFp, L, 8>
    where
        S: CanTransitionTo<stage::FxpToFp>,
    {
        accept("vector_fxp_to_fp", check_int_width("vector_fxp_to_fp", int_width));
        self.then("vector_fxp_to_fp", Some(VectorStep::FxpToFp { int_width }))
    }
} }

pair_calls! { [] f32, 8, {
    /// Converts float to fixed point, in both groups, as [`VectorTensor::vector_fp_to_fxp`] does.
    ///
    /// # Panics
    /// If `int_width` is more than 31.
    #[track_caller]
    pub fn vector_fp_to_fxp(self, int_width: u32)
        -> VectorPair<'l, T, i32, stage::FpToFxp, L, 8>
    where
        S: CanTransitionTo<stage::FpToFxp>,
    {
        accept("vector_fp_to_fxp", check_int_width("vector_fp_to_fxp", int_width));
        self.then("vector_fp_to_fxp", Some(VectorStep::FpToFxp { int_width }))
    }
} }

pair_calls! { [D: VeScalar,] D, 8, {
    /// Cuts the flits of both groups in halves of 4 lanes, as [`VectorTensor::vector_split`] does.
    ///
    /// Refused while compiling: anything else.
    #[track_caller]
    #[inline(never)]
    pub fn vector_split<SplitTime2: M, Packet2: M>(self)
        -> VectorPair<'l, T, D, stage::Narrow, L::With<SplitTime2, Packet2>, 4>
    where
        S: CanTransitionTo<stage::Narrow>,
    {
        let () = *planned!(const SPLIT of VectorPacketPlan<L::Time, L::Packet, SplitTime2, Packet2>);
        self.then("vector_split", Some(VectorStep::Split))
    }
} }

/// The stream that a zip makes.
type Merged<'l, const T: Tu, D, S, L, const W: PacketMode> =
    VectorTensor<'l, T, S, D, L, D, NoTensor, 0, Zipped, W>;

macro_rules! zips {
    ($($d:ty, $way:tt, $stage:ident, $name:ident, $with_mode:ident, $op:ty, $wrap:expr;)*) => { $(
        pair_calls! { [] $d, $way, {
            /// Makes one stream of both groups: `op(group 0, group 1)`. An element that is missing in either group is
            /// missing. [`vector_intra_slice_unzip`](StreamTensor::vector_intra_slice_unzip) has an example.
            ///
            /// # Panics
            /// If the arithmetic unit is in use.
            #[track_caller]
            pub fn $name(self, op: $op)
                -> Merged<'l, T, $d, stage::$stage, L, $way>
            where
                S: CanTransitionTo<stage::$stage>,
            {
                self.$with_mode(op, BinaryArgMode::Mode01)
            }

            /// Makes one stream of both groups as in the call without a mode, with other arguments: 0 is group 0, 1 is
            /// group 1.
            ///
            /// # Panics
            /// If the arithmetic unit is in use.
            #[track_caller]
            pub fn $with_mode(mut self, op: $op, mode: BinaryArgMode)
                -> Merged<'l, T, $d, stage::$stage, L, $way>
            where
                S: CanTransitionTo<stage::$stage>,
            {
                let op = $wrap(op);
                accept(stringify!($name), check_defined(stringify!($name), op.name(), op.is_defined()));
                add(&mut self.pass, stringify!($name), VectorStep::Zip { op, mode });
                VectorTensor::new(self.context, self.pass)
            }
        } }
    )* };
}

zips! {
    i32, 8, Logic, vector_logic_zip, vector_logic_zip_with_mode, LogicBinaryOpI32, BinaryOperator::LogicI32;
    f32, 8, Logic, vector_logic_zip, vector_logic_zip_with_mode, LogicBinaryOpF32, BinaryOperator::LogicF32;
    i32, 8, Fxp, vector_fxp_zip, vector_fxp_zip_with_mode, FxpBinaryOp, BinaryOperator::Fxp;
    f32, 4, Fp, vector_fp_zip, vector_fp_zip_with_mode, FpBinaryOp, BinaryOperator::Fp;
    i32, 8, Clip, vector_clip_zip, vector_clip_zip_with_mode, ClipBinaryOpI32, BinaryOperator::ClipI32;
    f32, 8, Clip, vector_clip_zip, vector_clip_zip_with_mode, ClipBinaryOpF32, BinaryOperator::ClipF32;
}

#[cfg(test)]
mod tests;
