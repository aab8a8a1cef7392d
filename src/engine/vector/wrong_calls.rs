//! Messages of the compiler for a call that finds packets of the wrong size, or elements of the wrong type.
//!
//! It works as in [`crate::engine::next_call`]: the calls exist with a bound that nothing meets, and the compiler shows
//! the text of the bound at the user's call.

use super::operand::{HasTensor, NoTensor};
use super::pair::VectorPair;
use super::stage::{self, PacketMode, Stage, VeOrder, Zipped};
use super::tensor::VectorTensor;
use crate::engine::layout::StreamLayout;
use crate::engine::next_call::never_met;
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::{
    PositionCollect, PositionContraction, PositionFetch, PositionVectorFinal, PositionVectorInit,
};
use crate::mapping::M;
use crate::runtime::Tu;
use crate::scalar::{Scalar, StreamScalar, VeScalar};

never_met! {
    /// Bound on packets of 4 lanes.
    HasFourLanes: "vector: this operator takes packets of 4 lanes, but the stream has 8",
        "`.vector_split::<Time2, Packet2>()` comes before this call, or `.vector_trim_way4::<Packet2>()` where the upper four \
         lanes are padding";
    /// Bound on packets of 8 lanes.
    HasEightLanes: "vector: this call takes packets of 8 lanes, but the stream has 4",
        "`.vector_concat::<Time2, Packet2>()` comes before this call, or `.vector_pad_way8::<Packet2>()`";
    /// Bound on integers.
    HasIntegers: "vector: this call takes `i32`, but the elements are `f32`",
        "the clip cluster has `f32` in packets of 8 lanes, the float cluster in those of 4; `.vector_fp_to_fxp(31)` makes integers";
    /// Bound on floats.
    HasFloats: "vector: this call takes `f32`, but the elements are `i32`",
        "`.vector_fxp_to_fp(31)` makes floats of integers: it comes before `.vector_split()`";
    /// Bound on elements that have their execution ids.
    WasBranched: "vector: the elements have no execution ids yet",
        "`.vector_intra_slice_branch(BranchMode::Unconditional)` comes before this call";
    /// Bound on a stream that has entered the engine.
    HasEntered: "the stream has not entered the Vector Engine",
        "`.vector_init()` comes before this call";
    /// Bound on a stream that has left the engine.
    HasLeft: "the stream is still inside the Vector Engine",
        "`.vector_final()` comes before this call";
    /// Bound on a stream that was never in the engine.
    WasNotVectored: "the stream was in the Vector Engine already",
        "a pass goes through it once: `.commit::<Element>(address)`, and begin another stream with the result";
    /// Bound on a stream that has stashed nothing.
    HasNoStash: "vector_stash: the stream has stashed elements already",
        "a pass has one stash: remove this call, or load the elements into the VRF in a pass before";
    /// Bound on a stream that was never two groups.
    IsNoZip: "vector_stash: what was made of two groups is not stashed",
        "stash in a pass of its own: `.vector_final()` and `.commit::<Element>(address)` come first";
    /// Bound on a stream whose slices were not reduced.
    HasItsSlices: "vector: slices were reduced already",
        "a pass reduces slices once: `.vector_final()` and `.commit::<Element>(address)`, and begin another stream";
    /// Bound on a stream that had no operators before its slices were reduced.
    HadNoOperators: "vector: operators come before the reduce between slices or behind it, not on both sides",
        "`.vector_final()` comes next: a further pass has more operators";
    /// Bound on a single stream.
    IsOneStream: "vector: there are two groups, which this call does not take",
        "a zip makes one stream of them, for example `.vector_clip_zip(op)`; packets of groups are changed by \
         `.vector_split()` and `.vector_concat()`";
    /// Bound on elements that may be left out. The place of the remaining elements is not documented.
    IsFiltered: "vector_filter: how the engine packs the elements that are left is not documented, and not offered (guide: vector)",
        "give the operators behind it operands for one group alone, `VeBranchOperand::group(operand, id)`: elements of other \
         groups pass unchanged";
    /// Bound on packets that were cut into flits.
    WasCollected: "the packets have not been cut into flits yet",
        "`.collect::<Time, Packet>()` comes before this call";
}

/// Declares one call, whose result has the stage, type and packets of the call's right place.
macro_rules! call {
    ($bound:ident, $name:ident<$($parameter:ident $(: $is:ident)?),*>($($argument:ident),*) -> $result:ty) => {
        #[doc(hidden)]
        pub fn $name<$($parameter $(: $is)?),*>(self, $($argument: impl Sized),*) -> $result
        where
            Self: $bound<($($parameter,)*)>,
        {
            let _ = ($($argument,)*);
            unreachable!("nothing meets this bound")
        }
    };
}

/// The stream behind a call.
macro_rules! behind {
    ($stage:ident, $d:ty, $layout:ty, $way:tt) => {
        VectorTensor<'l, T, stage::$stage, $d, $layout, StashD, Stash, VE_ORDER, FS, $way>
    };
}

macro_rules! wrong_calls {
    ([$($extra:tt)*] $d:ty, $way:tt { $($calls:tt)* }) => {
        impl<'l, const T: Tu, S: Stage, $($extra)* L: StreamLayout, StashD, Stash, const VE_ORDER: VeOrder, FS>
            VectorTensor<'l, T, S, $d, L, StashD, Stash, VE_ORDER, FS, $way>
        {
            $($calls)*
        }
    };
}

wrong_calls! { [D: VeScalar,] D, 8 {
    call!(IsFiltered, vector_filter<Time2>(config) -> behind!(Filter, D, L, 8));
    call!(HasFourLanes, vector_fp_unary<>(op) -> behind!(Fp, f32, L, 8));
    call!(HasFourLanes, vector_fp_unary_with_mode<>(op, mode) -> behind!(Fp, f32, L, 8));
    call!(HasFourLanes, vector_fp_binary<>(op, operand) -> behind!(Fp, f32, L, 8));
    call!(HasFourLanes, vector_fp_binary_with_mode<>(op, mode, operand) -> behind!(Fp, f32, L, 8));
    call!(HasFourLanes, vector_fp_ternary<>(op, operands) -> behind!(Fp, f32, L, 8));
    call!(HasFourLanes, vector_fp_ternary_with_mode<>(op, mode, operands) -> behind!(Fp, f32, L, 8));
    call!(HasFourLanes, vector_fp_div<>(op, operand) -> behind!(FpDiv, f32, L, 8));
    call!(HasFourLanes, vector_fp_div_with_mode<>(op, mode, operand) -> behind!(FpDiv, f32, L, 8));
    call!(HasFourLanes, vector_intra_slice_reduce<Reduce, OTime: M, OPacket: M>(op)
        -> behind!(IntraSliceReduce, D, L::With<OTime, OPacket>, 8));
    call!(HasFourLanes, vector_concat<Time2: M, Packet2: M>() -> behind!(Widen, D, L::With<Time2, Packet2>, 8));
    call!(HasFourLanes, vector_pad_way8<Packet2: M>() -> behind!(Widen, D, L::With<L::Time, Packet2>, 8));
    call!(HasLeft, commit<Element>(address) -> ());
    call!(HasLeft, commit_trim<OutPacket>() -> ());
    call!(HasLeft, cast<D2, OutPacket>() -> ());
    call!(HasLeft, to_vrf<Element>(address) -> ());
} }

wrong_calls! { [] f32, 8 {
    call!(HasIntegers, vector_fxp<>(op, operand) -> behind!(Fxp, f32, L, 8));
    call!(HasIntegers, vector_fxp_with_mode<>(op, mode, operand) -> behind!(Fxp, f32, L, 8));
    call!(HasIntegers, vector_fxp_to_fp<>(int_width) -> behind!(FxpToFp, f32, L, 8));
} }

wrong_calls! { [] i32, 8 {
    call!(HasFloats, vector_fp_to_fxp<>(int_width) -> behind!(FpToFxp, i32, L, 8));
} }

wrong_calls! { [D: VeScalar,] D, 4 {
    call!(HasEightLanes, vector_logic<>(op, operand) -> behind!(Logic, D, L, 4));
    call!(HasEightLanes, vector_logic_with_mode<>(op, mode, operand) -> behind!(Logic, D, L, 4));
    call!(HasEightLanes, vector_fxp<>(op, operand) -> behind!(Fxp, D, L, 4));
    call!(HasEightLanes, vector_fxp_with_mode<>(op, mode, operand) -> behind!(Fxp, D, L, 4));
    call!(HasEightLanes, vector_fxp_to_fp<>(int_width) -> behind!(FxpToFp, f32, L, 4));
    call!(HasEightLanes, vector_fp_to_fxp<>(int_width) -> behind!(FpToFxp, i32, L, 4));
    call!(HasEightLanes, vector_clip<>(op, operand) -> behind!(Clip, D, L, 4));
    call!(HasEightLanes, vector_clip_with_mode<>(op, mode, operand) -> behind!(Clip, D, L, 4));
    call!(HasEightLanes, vector_split<Time2: M, Packet2: M>() -> behind!(Narrow, D, L::With<Time2, Packet2>, 4));
    call!(HasEightLanes, vector_trim_way4<Packet2: M>() -> behind!(Narrow, D, L::With<L::Time, Packet2>, 4));
    call!(HasEightLanes, vector_inter_slice_reduce<Slice2: M, Time2: M>(op)
        -> behind!(InterSliceReduce, D, L::Over<Slice2, Time2>, 8));
    call!(HasEightLanes, vector_final<>() -> StreamTensor<'l, T, PositionVectorFinal, D, L>);
    call!(HasLeft, commit<Element>(address) -> ());
    call!(HasLeft, commit_trim<OutPacket>() -> ());
    call!(HasLeft, cast<D2, OutPacket>() -> ());
    call!(HasLeft, to_vrf<Element>(address) -> ());
} }

wrong_calls! { [] i32, 4 {
    call!(HasFloats, vector_fp_unary<>(op) -> behind!(Fp, i32, L, 4));
    call!(HasFloats, vector_fp_binary<>(op, operand) -> behind!(Fp, i32, L, 4));
    call!(HasFloats, vector_fp_ternary<>(op, operands) -> behind!(Fp, i32, L, 4));
    call!(HasFloats, vector_fp_div<>(op, operand) -> behind!(FpDiv, i32, L, 4));
} }

macro_rules! wrong_stream_calls {
    ($($d:ident $stage:ident { $($calls:tt)* })*) => { $(
        impl<'l, const T: Tu, D: $d, L: StreamLayout> StreamTensor<'l, T, $stage, D, L> {
            $($calls)*
        }
    )* };
}

wrong_stream_calls! {
    StreamScalar PositionFetch {
        call!(WasCollected, vector_init<>() -> ());
    }
    Scalar PositionCollect {
        call!(HasEntered, vector_intra_slice_branch<>(branch) -> ());
        call!(HasEntered, vector_inter_slice_reduce<Slice2, Time2>(op) -> ());
    }
    Scalar PositionContraction {
        call!(HasEntered, vector_intra_slice_branch<>(branch) -> ());
        call!(HasEntered, vector_inter_slice_reduce<Slice2, Time2>(op) -> ());
    }
    VeScalar PositionVectorInit {
        call!(WasBranched, vector_logic<>(op, operand) -> ());
        call!(WasBranched, vector_fxp<>(op, operand) -> ());
        call!(WasBranched, vector_fxp_to_fp<>(int_width) -> ());
        call!(WasBranched, vector_fp_to_fxp<>(int_width) -> ());
        call!(WasBranched, vector_clip<>(op, operand) -> ());
        call!(WasBranched, vector_split<Time2, Packet2>() -> ());
        call!(WasBranched, vector_trim_way4<Packet2>() -> ());
        call!(WasBranched, vector_stash<>() -> ());
        call!(WasBranched, vector_final<>() -> StreamTensor<'l, T, PositionVectorFinal, D, L>);
    }
    VeScalar PositionVectorFinal {
        call!(WasNotVectored, vector_init<>() -> ());
        call!(WasNotVectored, vector_intra_slice_branch<>(branch) -> ());
    }
}

impl<
    'l,
    const T: Tu,
    S: Stage,
    D: VeScalar,
    L,
    StashD,
    StashD2,
    Mapping,
    const VE_ORDER: VeOrder,
    FS,
    const W: PacketMode,
> VectorTensor<'l, T, S, D, L, StashD, HasTensor<StashD2, Mapping>, VE_ORDER, FS, W>
{
    call!(HasNoStash, vector_stash<>() -> Self);
}

impl<'l, const T: Tu, S: Stage, D: VeScalar, L, StashD, const VE_ORDER: VeOrder, const W: PacketMode>
    VectorTensor<'l, T, S, D, L, StashD, NoTensor, VE_ORDER, Zipped, W>
{
    call!(IsNoZip, vector_stash<>() -> Self);
}

impl<'l, const T: Tu, S: Stage, D: VeScalar, L: StreamLayout, StashD, Stash, FS>
    VectorTensor<'l, T, S, D, L, StashD, Stash, 1, FS, 8>
{
    call!(HasItsSlices, vector_inter_slice_reduce<Slice2: M, Time2: M>(op)
        -> VectorTensor<'l, T, stage::InterSliceReduce, D, L::Over<Slice2, Time2>, StashD, Stash, 1, FS, 8>);
}

impl<'l, const T: Tu, D: VeScalar, L, StashD, Stash, FS>
    VectorTensor<'l, T, stage::InterSliceReduce, D, L, StashD, Stash, 0, FS, 8>
{
    call!(HadNoOperators, vector_intra_slice_branch<>(branch)
        -> VectorTensor<'l, T, stage::Branch, D, L, StashD, Stash, 0, FS, 8>);
}

impl<'l, const T: Tu, D: VeScalar, S, L: StreamLayout, const W: PacketMode> VectorPair<'l, T, D, S, L, W> {
    call!(IsOneStream, vector_stash<>() -> Self);
    call!(IsOneStream, vector_trim_way4<Packet2: M>() -> VectorPair<'l, T, D, S, L::With<L::Time, Packet2>, 4>);
    call!(IsOneStream, vector_pad_way8<Packet2: M>() -> VectorPair<'l, T, D, S, L::With<L::Time, Packet2>, 8>);
    call!(IsOneStream, vector_intra_slice_reduce<Reduce, OTime: M, OPacket: M>(op)
        -> VectorPair<'l, T, D, S, L::With<OTime, OPacket>, W>);
    call!(IsOneStream, vector_inter_slice_reduce<Slice2: M, Time2: M>(op)
        -> VectorPair<'l, T, D, S, L::Over<Slice2, Time2>, W>);
    call!(IsOneStream, vector_final<>() -> StreamTensor<'l, T, PositionVectorFinal, D, L>);
}
