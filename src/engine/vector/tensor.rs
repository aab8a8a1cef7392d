//! Streams inside the engine, and the operators as calls.

use super::checks::{UnaryArgMode, check_defined, check_int_width, check_unary_mode};
use super::operand::{
    HasTensor, IntoOperands, IntoTernaryOperands, NoTensor, StashPlan, TensorState, binary_inputs,
    check_admits, ternary_inputs,
};
use super::rules::VectorPacketPlan;
use super::stage::{
    self, CanTransitionTo, Commitable, PacketMode, Stage, Standalone, Stashable, VeOrder, VeTensorContext,
};
use crate::command::{
    BinaryArgMode, BinaryInput, BinaryOperator, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp,
    FpDivOp, FpTernaryOp, FpUnaryOp, FxpBinaryOp, LogicBinaryOpF32, LogicBinaryOpI32, TernaryArgMode,
    ValidBranchIds, VectorStep,
};
use crate::engine::layout::{Layout, StreamLayout};
use crate::engine::stream::stage::PositionVectorFinal;
use crate::engine::stream::{Pass, StreamTensor};
use crate::error::PlanError;
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{planned, planned_operands};
use crate::runtime::{Tu, TuContext};
use crate::scalar::VeScalar;
use core::fmt;
use core::marker::PhantomData;

/// A stream inside the Vector Engine. `S` is the [stage](super::stage), `Stash` the state of the stash, and `W` the
/// number of lanes of a packet.
#[must_use = "a stream does nothing until it ends in `.vector_final()` and `.commit(…)` or `.to_vrf(…)`"]
pub struct VectorTensor<
    'l,
    const T: Tu,
    S,
    D,
    L,
    StashD,
    Stash,
    const VE_ORDER: VeOrder,
    FS = Standalone,
    const W: PacketMode = 8,
> {
    pub(super) context: &'l mut TuContext<T>,
    pub(super) pass: Box<Pass>,
    types: PhantomData<(S, D, L, StashD, Stash, FS)>,
}

/// Declares streams by their stage.
macro_rules! aliases {
    ($($(#[$doc:meta])* $name:ident = $stage:ident, $way:tt;)*) => { $(
        $(#[$doc])*
        pub type $name<
            'l,
            const T: Tu,
            D,
            Chip,
            Cluster,
            Slice,
            Time,
            Packet,
            StashD,
            Stash,
            const VE_ORDER: VeOrder,
            FS = Standalone,
            const W: PacketMode = $way,
        > = VectorTensor<
            'l,
            T,
            stage::$stage,
            D,
            Layout<Chip, Cluster, Slice, Time, Packet>,
            StashD,
            Stash,
            VE_ORDER,
            FS,
            W,
        >;
    )* };
}

aliases! {
    /// Streams whose elements have their execution ids.
    VectorBranchTensor = Branch, 8;
    /// Streams behind an operator of the logic cluster.
    VectorLogicTensor = Logic, 8;
    /// Streams behind an operator of the fixed-point cluster.
    VectorFxpTensor = Fxp, 8;
    /// Streams of floats that were fixed point.
    VectorFxpToFpTensor = FxpToFp, 8;
    /// Streams with packets of 4 lanes.
    VectorNarrowTensor = Narrow, 4;
    /// Streams behind an operator of the float cluster.
    VectorFpTensor = Fp, 4;
    /// Streams behind the intra-slice reduce.
    VectorIntraSliceReduceTensor = IntraSliceReduce, 4;
    /// Streams behind the division.
    VectorFpDivTensor = FpDiv, 4;
    /// Streams with packets of 8 lanes again.
    VectorWidenTensor = Widen, 8;
    /// Streams of fixed point that were floats.
    VectorFpToFxpTensor = FpToFxp, 8;
    /// Streams behind an operator of the clip cluster.
    VectorClipTensor = Clip, 8;
}

impl<
    const T: Tu,
    S: Stage,
    D: VeScalar,
    L: StreamLayout,
    StashD,
    Stash,
    const VE_ORDER: VeOrder,
    FS,
    const W: PacketMode,
> fmt::Debug for VectorTensor<'_, T, S, D, L, StashD, Stash, VE_ORDER, FS, W>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, packet) = (L::Time::EXPR, L::Packet::EXPR);
        let program = self.pass.unit.vector().map(ToString::to_string).unwrap_or_default();
        write!(f, "stream of {}, Time m![{time}], Packet m![{packet}], {program}", D::ELEMENT_TYPE)
    }
}

impl<'l, const T: Tu, S, D, L, StashD, Stash, const VE_ORDER: VeOrder, FS, const W: PacketMode>
    VectorTensor<'l, T, S, D, L, StashD, Stash, VE_ORDER, FS, W>
{
    pub(super) fn new(context: &'l mut TuContext<T>, pass: Box<Pass>) -> Self {
        Self { context, pass, types: PhantomData }
    }

    /// The stream behind one more step.
    #[doc(hidden)]
    #[track_caller]
    pub fn then<S2, D2, L2, const W2: PacketMode>(
        mut self,
        operation: &'static str,
        step: VectorStep,
    ) -> VectorTensor<'l, T, S2, D2, L2, StashD, Stash, VE_ORDER, FS, W2> {
        add(&mut self.pass, operation, step);
        VectorTensor::new(self.context, self.pass)
    }
}

/// Adds a step to the program, if its arithmetic unit is free.
#[track_caller]
pub(super) fn add(pass: &mut Pass, operation: &'static str, step: VectorStep) {
    accept(operation, pass.unit.step(operation, step));
}

/// A binary operator as a step.
#[track_caller]
pub(super) fn binary(
    operation: &'static str,
    op: BinaryOperator,
    mode: BinaryArgMode,
    operands: Result<Vec<BinaryInput>, PlanError>,
) -> VectorStep {
    accept(operation, check_defined(operation, op.name(), op.is_defined()));
    VectorStep::Binary { op, mode, operands: accept(operation, operands) }
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
            StashD: VeScalar,
            Stash: TensorState<StashD>,
            const VE_ORDER: VeOrder,
            FS: VeTensorContext,
        > VectorTensor<'l, T, S, $d, L, StashD, Stash, VE_ORDER, FS, $way>
        {
            $($methods)*
        }
    };
}

calls! { [D: VeScalar, const W: PacketMode,] D, W, {
    /// The stream behind a binary operator.
    #[track_caller]
    fn then_binary<S2, O>(mut self, operation: &'static str, op: BinaryOperator, mode: BinaryArgMode, operand: O)
        -> VectorTensor<'l, T, S2, D, L, StashD, Stash, VE_ORDER, FS, W>
    where
        O: IntoOperands<D, L::Mapping>,
    {
        let stash = const { &StashPlan::<StashD, Stash, L::Mapping>::READ };
        let step = binary(operation, op, mode, binary_inputs(operand.into_operands(), stash, &mut self.pass.held));
        self.then(operation, step)
    }
} }

calls! { [D: VeScalar, const W: PacketMode,] D, W, {
    /// Reads the 32 bits of each element as the other type: `1.0f32` is `0x3f80_0000`. It takes no arithmetic unit and no
    /// time, and execution ids and stash stay: what is stashed keeps its type.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, L = 8];
    /// /// The biased exponent of each element.
    /// fn exponents(
    ///     ctx: &mut Context,
    ///     x: &DmTensor<f32, m![1], m![1 # 2], m![S], m![L]>,
    /// ) -> DmTensor<i32, m![1], m![1 # 2], m![S], m![L]> {
    ///     (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
    ///         .vector_init()
    ///         .vector_intra_slice_branch(BranchMode::Unconditional)
    ///         .vector_reinterpret::<i32>()
    ///         .vector_logic(LogicBinaryOpI32::LogicRightShift, 23)
    ///         .vector_logic(LogicBinaryOpI32::BitAnd, 255)
    ///         .vector_final()
    ///         .commit(AUTO)
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let x = HostTensor::<f32, m![S, L]>::from_slice(&[-4.0; 2048]);
    /// # let x = pollster::block_on(x.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, AUTO));
    /// # let x = x.to_dm(&mut ctx.tdma, AUTO);
    /// # let y = exponents(&mut ctx, &x).to_hbm::<m![S, L]>(&mut ctx.tdma, AUTO);
    /// # let y = pollster::block_on(y.to_host::<m![S, L]>(&mut ctx.pdma)).to_vec();
    /// // Of -4.0:
    /// assert_eq!(y[0], 129);
    /// ```
    pub fn vector_reinterpret<D2: VeScalar>(self)
        -> VectorTensor<'l, T, S, D2, L, StashD, Stash, VE_ORDER, FS, W>
    {
        if D::KIND == D2::KIND {
            return VectorTensor::new(self.context, self.pass);
        }
        self.then("vector_reinterpret", VectorStep::Reinterpret)
    }
} }

/// Declares the calls of a binary operator, with and without a mode.
macro_rules! binary_calls {
    ($d:ty, $way:tt, $stage:ident, $name:ident, $with_mode:ident, $op:ty, $wrap:expr, $doc:literal) => {
        calls! { [] $d, $way, {
            #[doc = $doc]
            ///
            /// The operand is a number, a tensor in the VRF, the stash, or a list of operands for groups. See
            /// [vector](crate::guide::vector), "Operands".
            ///
            /// Refused while compiling: a tensor in the VRF that does not fit the stream.
            ///
            /// # Panics
            /// If the arithmetic unit is in use; if the stash is an operand and holds nothing, or another type.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn $name<O>(self, op: $op, operand: O)
                -> VectorTensor<'l, T, stage::$stage, $d, L, StashD, Stash, VE_ORDER, FS, $way>
            where
                S: CanTransitionTo<stage::$stage>,
                O: IntoOperands<$d, L::Mapping>,
            {
                planned_operands!(O::CHECK);
                self.then_binary(stringify!($name), $wrap(op), BinaryArgMode::Mode01, operand)
            }

            /// Applies the operator as in the call without a mode, with other arguments: 0 is the stream, 1 the
            /// operand, so that `BinaryArgMode::Mode10` exchanges them.
            ///
            /// # Panics
            /// As without a mode.
            #[track_caller]
            #[inline(never)]
            pub fn $with_mode<O>(self, op: $op, mode: BinaryArgMode, operand: O)
                -> VectorTensor<'l, T, stage::$stage, $d, L, StashD, Stash, VE_ORDER, FS, $way>
            where
                S: CanTransitionTo<stage::$stage>,
                O: IntoOperands<$d, L::Mapping>,
            {
                planned_operands!(O::CHECK);
                self.then_binary(stringify!($with_mode), $wrap(op), mode, operand)
            }
        } }
    };
}

binary_calls! {
    i32, 8, Logic, vector_logic, vector_logic_with_mode, LogicBinaryOpI32, BinaryOperator::LogicI32,
    "An operator of the logic cluster, as in `.vector_logic(LogicBinaryOpI32::BitAnd, 255)`: see the stream of `f32`, whose \
     [`vector_intra_slice_branch`](crate::engine::stream::VectorInitTensor::vector_intra_slice_branch) has an example."
}
binary_calls! {
    f32, 8, Logic, vector_logic, vector_logic_with_mode, LogicBinaryOpF32, BinaryOperator::LogicF32,
    "An operator of the logic cluster, on the bits of the elements: \
     [`vector_intra_slice_branch`](crate::engine::stream::VectorInitTensor::vector_intra_slice_branch) has an example."
}
binary_calls! {
    i32, 8, Fxp, vector_fxp, vector_fxp_with_mode, FxpBinaryOp, BinaryOperator::Fxp,
    "An operator of the fixed-point cluster: [`vector_init`](crate::engine::stream::CollectTensor::vector_init) has an example."
}
binary_calls! {
    i32, 8, Clip, vector_clip, vector_clip_with_mode, ClipBinaryOpI32, BinaryOperator::ClipI32,
    "An operator of the clip cluster: [`vector_init`](crate::engine::stream::CollectTensor::vector_init) has an example."
}
binary_calls! {
    f32, 8, Clip, vector_clip, vector_clip_with_mode, ClipBinaryOpF32, BinaryOperator::ClipF32,
    "An operator of the clip cluster: \
     [`vector_intra_slice_branch`](crate::engine::stream::VectorInitTensor::vector_intra_slice_branch) has an example."
}
binary_calls! {
    f32, 4, Fp, vector_fp_binary, vector_fp_binary_with_mode, FpBinaryOp, BinaryOperator::Fp,
    "An operator of the float cluster: [`vector_split`](VectorTensor::vector_split) has an example."
}

calls! { [] f32, 4, {
    /// Divides behind the reduce. The operator has its arguments: `FpDivBinaryOp::DivF.with_mode(mode)`.
    /// [`vector_split`](VectorTensor::vector_split) has an example.
    ///
    /// # Panics
    /// As [`Self::vector_fp_binary`].
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_div<O>(self, op: FpDivOp, operand: O)
        -> VectorTensor<'l, T, stage::FpDiv, f32, L, StashD, Stash, VE_ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::FpDiv>,
        O: IntoOperands<f32, L::Mapping>,
    {
        planned_operands!(O::CHECK);
        self.vector_fp_div_with_mode(op.operator, op.mode, operand)
    }

    /// Divides as [`vector_fp_div`](Self::vector_fp_div) does, with the operator and its mode as two arguments.
    ///
    /// # Panics
    /// As [`Self::vector_fp_binary`].
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_div_with_mode<O>(self, op: FpDivBinaryOp, mode: BinaryArgMode, operand: O)
        -> VectorTensor<'l, T, stage::FpDiv, f32, L, StashD, Stash, VE_ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::FpDiv>,
        O: IntoOperands<f32, L::Mapping>,
    {
        planned_operands!(O::CHECK);
        self.then_binary("vector_fp_div", BinaryOperator::FpDiv(op), mode, operand)
    }

    /// Applies a function to each element. [`vector_split`](VectorTensor::vector_split) has an example.
    ///
    /// # Panics
    /// If the arithmetic unit is in use.
    #[track_caller]
    pub fn vector_fp_unary(self, op: FpUnaryOp)
        -> VectorTensor<'l, T, stage::Fp, f32, L, StashD, Stash, VE_ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Fp>,
    {
        self.then("vector_fp_unary", VectorStep::Unary { op, ids: ValidBranchIds::ValidAlways })
    }

    /// Applies a function to the elements of a group, or to those that a guard admits. The others stay as they are.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, L = 4];
    /// type X = DmTensor<f32, m![1], m![1 # 2], m![S], m![L]>;
    /// /// Roots of what is not negative.
    /// fn roots(ctx: &mut Context, x: &X) -> X {
    ///     let negative = TagGuard::matches([BitReq::One, BitReq::Ignore, BitReq::Ignore, BitReq::Ignore]);
    ///     let positive = TagGuard::not_matches([BitReq::One, BitReq::Ignore, BitReq::Ignore, BitReq::Ignore]);
    ///     assert_ne!(negative, positive);
    ///     (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L # 8]>())
    ///         .vector_init()
    ///         .vector_intra_slice_tag(TagMode::Comparison([Cmp::Less(0.0), Cmp::False, Cmp::False, Cmp::False]))
    ///         .vector_trim_way4::<m![L]>()
    ///         .vector_fp_unary_for(positive, FpUnaryOp::Sqrt)
    ///         .vector_pad_way8::<m![L # 8]>()
    ///         .vector_final()
    ///         .commit(AUTO)
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let x = HostTensor::<f32, m![S, L]>::from_slice(&[-4.0, 4.0, 9.0, -1.0].repeat(256));
    /// # let x = pollster::block_on(x.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, AUTO));
    /// # let x = x.to_dm(&mut ctx.tdma, AUTO);
    /// # let y = roots(&mut ctx, &x).to_hbm::<m![S, L]>(&mut ctx.tdma, AUTO);
    /// # let y = pollster::block_on(y.to_host::<m![S, L]>(&mut ctx.pdma)).to_vec();
    /// // Of -4, 4, 9 and -1:
    /// assert_eq!(y[..4], [-4.0, 2.0, 3.0, -1.0]);
    /// ```
    ///
    /// # Panics
    /// If the arithmetic unit is in use; if the guard admits nothing.
    #[track_caller]
    pub fn vector_fp_unary_for(self, ids: impl Into<ValidBranchIds>, op: FpUnaryOp)
        -> VectorTensor<'l, T, stage::Fp, f32, L, StashD, Stash, VE_ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Fp>,
    {
        let ids = ids.into();
        accept("vector_fp_unary", check_admits("vector_fp_unary", ids));
        self.then("vector_fp_unary", VectorStep::Unary { op, ids })
    }

    /// Applies a function as [`vector_fp_unary`](Self::vector_fp_unary) does. The mode is there for symmetry: a
    /// function has no operand.
    ///
    /// # Panics
    /// If the arithmetic unit is in use; with `UnaryArgMode::Mode1`.
    #[track_caller]
    pub fn vector_fp_unary_with_mode(self, op: FpUnaryOp, mode: UnaryArgMode)
        -> VectorTensor<'l, T, stage::Fp, f32, L, StashD, Stash, VE_ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Fp>,
    {
        accept("vector_fp_unary", check_unary_mode(mode));
        self.then("vector_fp_unary", VectorStep::Unary { op, ids: ValidBranchIds::ValidAlways })
    }

    /// Applies an operator of three arguments: the stream, an operand, and a constant.
    /// [`vector_split`](VectorTensor::vector_split) has an example.
    ///
    /// # Panics
    /// As [`Self::vector_fp_binary`].
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_ternary<O>(self, op: FpTernaryOp, operands: O)
        -> VectorTensor<'l, T, stage::Fp, f32, L, StashD, Stash, VE_ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Fp>,
        O: IntoTernaryOperands<L::Mapping>,
    {
        planned_operands!(O::CHECK);
        self.vector_fp_ternary_with_mode(op, TernaryArgMode::Mode012, operands)
    }

    /// Applies the operator as in the call without a mode, with other arguments: 0 is the stream, 1 the operand, 2 the
    /// constant.
    ///
    /// # Panics
    /// As [`Self::vector_fp_binary`].
    #[track_caller]
    #[inline(never)]
    pub fn vector_fp_ternary_with_mode<O>(mut self, op: FpTernaryOp, mode: TernaryArgMode, operands: O)
        -> VectorTensor<'l, T, stage::Fp, f32, L, StashD, Stash, VE_ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Fp>,
        O: IntoTernaryOperands<L::Mapping>,
    {
        planned_operands!(O::CHECK);
        let stash = const { &StashPlan::<StashD, Stash, L::Mapping>::READ };
        accept("vector_fp_ternary", check_defined("vector_fp_ternary", op.name(), op == FpTernaryOp::FmaF));
        let operands = ternary_inputs(operands.into_ternary_operands(), stash, &mut self.pass.held);
        let operands = accept("vector_fp_ternary", operands);
        self.then("vector_fp_ternary", VectorStep::Ternary { op, mode, operands })
    }
} }

calls! { [] i32, 8, {
    /// Converts fixed point to float: `x * 2^(int_width - 31)`, rounded to nearest, ties to even. With 31 the elements
    /// are integers. See [vector](crate::guide::vector).
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, L = 8];
    /// type X = DmTensor<i32, m![1], m![1 # 2], m![S], m![L]>;
    /// /// The root of integers, rounded.
    /// fn roots(ctx: &mut Context, x: &X) -> X {
    ///     (ctx.main.begin(x.view()).fetch::<i32, m![1], m![L]>().collect::<m![1], m![L]>())
    ///         .vector_init()
    ///         .vector_intra_slice_branch(BranchMode::Unconditional)
    ///         .vector_fxp_to_fp(31)
    ///         .vector_split::<m![L / 4], m![L % 4]>()
    ///         .vector_fp_unary(FpUnaryOp::Sqrt)
    ///         .vector_concat::<m![1], m![L]>()
    ///         .vector_fp_to_fxp(31)
    ///         .vector_final()
    ///         .commit(AUTO)
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let x = HostTensor::<i32, m![S, L]>::from_slice(&[16; 2048]);
    /// # let x = pollster::block_on(x.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, AUTO));
    /// # let x = x.to_dm(&mut ctx.tdma, AUTO);
    /// # let y = roots(&mut ctx, &x).to_hbm::<m![S, L]>(&mut ctx.tdma, AUTO);
    /// # let y = pollster::block_on(y.to_host::<m![S, L]>(&mut ctx.pdma)).to_vec();
    /// // Of 16:
    /// assert_eq!(y[0], 4);
    /// ```
    ///
    /// # Panics
    /// If `int_width` is more than 31.
    #[track_caller]
    pub fn vector_fxp_to_fp(self, int_width: u32)
        -> VectorTensor<'l, T, stage::FxpToFp, f32, L, StashD, Stash, VE_ORDER, FS, 8>
    where
        S: CanTransitionTo<stage::FxpToFp>,
    {
        accept("vector_fxp_to_fp", check_int_width("vector_fxp_to_fp", int_width));
        self.then("vector_fxp_to_fp", VectorStep::FxpToFp { int_width })
    }
} }

calls! { [] f32, 8, {
    /// Converts float to fixed point: `x * 2^(31 - int_width)`, rounded to nearest, halves away from 0, and limited to
    /// `i32`. With 31 the elements are integers. [`vector_fxp_to_fp`](VectorTensor::vector_fxp_to_fp) has an example.
    ///
    /// # Panics
    /// If `int_width` is more than 31.
    #[track_caller]
    pub fn vector_fp_to_fxp(self, int_width: u32)
        -> VectorTensor<'l, T, stage::FpToFxp, i32, L, StashD, Stash, VE_ORDER, FS, 8>
    where
        S: CanTransitionTo<stage::FpToFxp>,
    {
        accept("vector_fp_to_fxp", check_int_width("vector_fp_to_fxp", int_width));
        self.then("vector_fp_to_fxp", VectorStep::FpToFxp { int_width })
    }
} }

calls! { [D: VeScalar,] D, 8, {
    /// Cuts flits in halves of 4 lanes, for the float cluster. `Time2` is `Time` with the half appended innermost.
    ///
    /// It takes two cycles per flit. If the upper half is padding, use [`Self::vector_trim_way4`], which takes one. See
    /// [vector](crate::guide::vector), "Lanes: 8 or 4".
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, L = 8];
    /// type X = DmTensor<f32, m![1], m![1 # 2], m![S], m![L]>;
    /// /// `y = 1 / (e² + 1)` with `e = exp(x / 4)`
    /// fn curve(ctx: &mut Context, x: &X) -> X {
    ///     (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
    ///         .vector_init()
    ///         .vector_intra_slice_branch(BranchMode::Unconditional)
    ///         .vector_split::<m![L / 4], m![L % 4]>()
    ///         .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 0.25)
    ///         .vector_fp_unary(FpUnaryOp::Exp)
    ///         .vector_stash()
    ///         .vector_fp_ternary(FpTernaryOp::FmaF, (Stash, 1.0)) // stream · stash + 1
    ///         .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode10), 1.0)
    ///         .vector_concat::<m![1], m![L]>()
    ///         .vector_final()
    ///         .commit(AUTO)
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let x = HostTensor::<f32, m![S, L]>::from_slice(&[0.0; 2048]);
    /// # let x = pollster::block_on(x.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, AUTO));
    /// # let x = x.to_dm(&mut ctx.tdma, AUTO);
    /// # let y = curve(&mut ctx, &x).to_hbm::<m![S, L]>(&mut ctx.tdma, AUTO);
    /// # let y = pollster::block_on(y.to_host::<m![S, L]>(&mut ctx.pdma)).to_vec();
    /// // Of 0:
    /// assert_eq!(y[0], 0.5);
    /// ```
    ///
    /// Refused while compiling: anything else.
    #[track_caller]
    #[inline(never)]
    pub fn vector_split<Time2: M, Packet2: M>(self)
        -> VectorTensor<'l, T, stage::Narrow, D, L::With<Time2, Packet2>, StashD, Stash, VE_ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Narrow>,
    {
        let () = *planned!(const SPLIT of VectorPacketPlan<L::Time, L::Packet, Time2, Packet2>);
        self.then("vector_split", VectorStep::Split)
    }

    /// Drops the upper 4 lanes of flits, which are padding, for the float cluster. See [vector](crate::guide::vector).
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, L = 4];
    /// type X = DmTensor<f32, m![1], m![1 # 2], m![S], m![L]>;
    /// fn exponentials(ctx: &mut Context, x: &X) -> X {
    ///     (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L # 8]>())
    ///         .vector_init()
    ///         .vector_intra_slice_branch(BranchMode::Unconditional)
    ///         .vector_trim_way4::<m![L]>()
    ///         .vector_fp_unary(FpUnaryOp::Exp)
    ///         .vector_pad_way8::<m![L # 8]>()
    ///         .vector_final()
    ///         .commit(AUTO)
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let x = HostTensor::<f32, m![S, L]>::from_slice(&[0.0; 1024]);
    /// # let x = pollster::block_on(x.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, AUTO));
    /// # let x = x.to_dm(&mut ctx.tdma, AUTO);
    /// # let y = exponentials(&mut ctx, &x).to_hbm::<m![S, L]>(&mut ctx.tdma, AUTO);
    /// # let y = pollster::block_on(y.to_host::<m![S, L]>(&mut ctx.pdma)).to_vec();
    /// // Of 0:
    /// assert_eq!(y[0], 1.0);
    /// ```
    ///
    /// Refused while compiling: upper lanes that hold elements; a packet other than the lower half.
    #[track_caller]
    #[inline(never)]
    pub fn vector_trim_way4<Packet2: M>(self)
        -> VectorTensor<'l, T, stage::Narrow, D, L::With<L::Time, Packet2>, StashD, Stash, VE_ORDER, FS, 4>
    where
        S: CanTransitionTo<stage::Narrow>,
    {
        let () = *planned!(const TRIM of VectorPacketPlan<L::Time, L::Packet, L::Time, Packet2>);
        self.then("vector_trim_way4", VectorStep::Trim)
    }

    /// Ends the program: the stream leaves the engine. `.commit(…)`, `.cast(…)`, `.transpose(…)` or `.to_vrf(…)` comes next.
    /// [`vector_init`](crate::engine::stream::CollectTensor::vector_init) has an example.
    pub fn vector_final(self) -> StreamTensor<'l, T, PositionVectorFinal, D, L>
    where
        S: CanTransitionTo<stage::Output>,
        FS: Commitable,
    {
        StreamTensor::new(self.context, self.pass)
    }
} }

calls! { [D: VeScalar,] D, 4, {
    /// Joins the two halves of flits, innermost in time: the inverse of [`VectorTensor::vector_split`], which has an example.
    ///
    /// Refused while compiling: anything else.
    #[track_caller]
    #[inline(never)]
    pub fn vector_concat<Time2: M, Packet2: M>(self)
        -> VectorTensor<'l, T, stage::Widen, D, L::With<Time2, Packet2>, StashD, Stash, VE_ORDER, FS, 8>
    where
        S: CanTransitionTo<stage::Widen>,
    {
        let () = *planned!(const CONCAT of VectorPacketPlan<L::Time, L::Packet, Time2, Packet2>);
        self.then("vector_concat", VectorStep::Concat)
    }

    /// Adds 4 lanes of padding: the inverse of [`VectorTensor::vector_trim_way4`], which has an example.
    ///
    /// Refused while compiling: a packet other than this one padded to 8.
    #[track_caller]
    #[inline(never)]
    pub fn vector_pad_way8<Packet2: M>(self)
        -> VectorTensor<'l, T, stage::Widen, D, L::With<L::Time, Packet2>, StashD, Stash, VE_ORDER, FS, 8>
    where
        S: CanTransitionTo<stage::Widen>,
    {
        let () = *planned!(const PAD of VectorPacketPlan<L::Time, L::Packet, L::Time, Packet2>);
        self.then("vector_pad_way8", VectorStep::Pad)
    }
} }

impl<
    'l,
    const T: Tu,
    S: Stage,
    D: VeScalar,
    L: StreamLayout,
    StashD: VeScalar,
    const VE_ORDER: VeOrder,
    const W: PacketMode,
> VectorTensor<'l, T, S, D, L, StashD, NoTensor, VE_ORDER, Standalone, W>
{
    /// Keeps a copy of the elements, as an operand of later calls: [`Stash`](super::Stash). A pass has one stash.
    /// [`vector_split`](VectorTensor::vector_split) has an example. See [vector](crate::guide::vector), "Operands".
    pub fn vector_stash(
        mut self,
    ) -> VectorTensor<'l, T, S, D, L, D, HasTensor<D, L::Mapping>, VE_ORDER, Standalone, W>
    where
        S: Stashable,
    {
        add(&mut self.pass, "vector_stash", VectorStep::Stash);
        VectorTensor::new(self.context, self.pass)
    }
}
