//! The inter-slice reduce: one element for all slices of a group, in each cluster.
//!
//! ```text
//!   Slice m![G, J], Time m![A, B]        groups of J neighbouring slices
//!
//!   Slice2 m![G, 1 # 8]   Time2 m![A, B]     the sum is in the first slice of its group
//!   Slice2 m![G, X]       Time2 m![A, B]     every slice of the group has it
//!   Slice2 m![G, B]       Time2 m![A]        slice b of the group has step b of it
//! ```
//!
//! The reduced axis is the innermost of the slices. Elements are taken in the order of their index, from the first one on;
//! padding is left out.

use super::operand::{NoTensor, TensorState};
use super::stage::{
    self, CanTransitionTo, Commitable, IntraSliceStage, Standalone, VeOrder, VeOrderValues, VeTensorContext,
    Way8,
};
use super::tensor::{VectorTensor, add};
use crate::command::{InterSliceReduceOpF32, InterSliceReduceOpI32};
use crate::engine::layout::{Layout, StreamLayout};
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::PositionVectorInit;
use crate::mapping::M;
use crate::runtime::Tu;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::VeScalar;
use core::marker::PhantomData;
pub use derive::{InterSliceConfig, InterSliceRequest, derive_inter_slice};
pub(crate) use furiosa_visa_rules::engine::vector::inter::derive;
pub(crate) use furiosa_visa_rules::engine::vector::inter::{OPERATION, step};

/// The plan of an inter-slice reduce, as types.
pub struct InterSlicePlan<Chip, Cluster, Slice, Time, Packet, OutSlice, OutTime>(
    PhantomData<(Chip, Cluster, Slice, Time, Packet, OutSlice, OutTime)>,
);

impl<Chip: M, Cluster: M, Slice: M, Time: M, Packet: M, OutSlice: M, OutTime: M>
    InterSlicePlan<Chip, Cluster, Slice, Time, Packet, OutSlice, OutTime>
{
    pub(crate) const REQUEST: InterSliceRequest = InterSliceRequest {
        units: [Chip::EXPR, Cluster::EXPR],
        slice: Slice::EXPR,
        time: Time::EXPR,
        packet: Packet::EXPR,
        out_slice: OutSlice::EXPR,
        out_time: OutTime::EXPR,
    };

    /// The derived configuration. Evaluating it refuses mappings that the engine cannot reduce.
    pub const CONFIG: InterSliceConfig = match Late::<Self>::CONFIG {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

impl<Chip: M, Cluster: M, Slice: M, Time: M, Packet: M, OutSlice: M, OutTime: M>
    Late<InterSlicePlan<Chip, Cluster, Slice, Time, Packet, OutSlice, OutTime>>
{
    #[doc(hidden)]
    pub const CONFIG: Refusable<InterSliceConfig> =
        derive_inter_slice(&InterSlicePlan::<Chip, Cluster, Slice, Time, Packet, OutSlice, OutTime>::REQUEST);
}

/// A stream behind the inter-slice reduce.
pub type VectorInterSliceReduceTensor<
    'l,
    const T: Tu,
    D,
    Chip,
    Cluster,
    Slice,
    Time,
    Packet,
    const VE_ORDER: VeOrder,
> = VectorTensor<
    'l,
    T,
    stage::InterSliceReduce,
    D,
    Layout<Chip, Cluster, Slice, Time, Packet>,
    D,
    NoTensor,
    VE_ORDER,
    Standalone,
    { Way8 },
>;

/// The plan for a stream in the layout `L`.
type PlanOf<L, Slice, Time> = InterSlicePlan<
    <L as StreamLayout>::Chip,
    <L as StreamLayout>::Cluster,
    <L as StreamLayout>::Slice,
    <L as StreamLayout>::Time,
    <L as StreamLayout>::Packet,
    Slice,
    Time,
>;

macro_rules! reduce {
    ($($d:ty, $op:ty;)*) => { $(
        impl<'l, const T: Tu, L: StreamLayout> StreamTensor<'l, T, PositionVectorInit, $d, L> {
            /// Reduces all slices of a group to one element. `Slice2` is `Slice` with the innermost axes, which are
            /// reduced, replaced by: `1 # n`, a new axis, or axes of `Time`, which `Time2` then lacks. See
            /// [vector](crate::guide::vector), "Reduces". The [reduce in a
            /// slice](VectorTensor::vector_intra_slice_reduce) has an example with both.
            ///
            /// `.vector_intra_slice_branch()` may follow.
            ///
            /// Refused while compiling: anything else; packets that do not have 8 elements.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn vector_inter_slice_reduce<Slice2: M, Time2: M>(
                self,
                op: $op,
            ) -> VectorTensor<
                'l, T, stage::InterSliceReduce, $d, L::Over<Slice2, Time2>, $d, NoTensor,
                { <VeOrder as VeOrderValues>::InterFirst },
            > {
                let plan = planned!(const CONFIG of PlanOf<L, Slice2, Time2>);
                let mut pass = self.pass;
                add(&mut pass, OPERATION, step(op.into(), plan));
                VectorTensor::new(self.context, pass)
            }
        }

        impl<
            'l,
            const T: Tu,
            S: IntraSliceStage + CanTransitionTo<stage::InterSliceReduce>,
            L: StreamLayout,
            StashD: VeScalar,
            Stash: TensorState<StashD>,
            FS: Commitable + VeTensorContext,
        >
            VectorTensor<'l, T, S, $d, L, StashD, Stash, { <VeOrder as VeOrderValues>::IntraFirst }, FS, { Way8 }>
        {
            /// Reduces all slices of a group to one element. `Slice2` is `Slice` with the innermost axes, which are
            /// reduced, replaced by: `1 # n`, a new axis, or axes of `Time`, which `Time2` then lacks. See
            /// [vector](crate::guide::vector), "Reduces". The [reduce in a
            /// slice](VectorTensor::vector_intra_slice_reduce) has an example with both.
            ///
            /// The stash is gone. `.vector_final()` comes next.
            ///
            /// Refused while compiling: anything else.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn vector_inter_slice_reduce<Slice2: M, Time2: M>(
                mut self,
                op: $op,
            ) -> VectorTensor<
                'l, T, stage::InterSliceReduce, $d, L::Over<Slice2, Time2>, $d, NoTensor,
                { <VeOrder as VeOrderValues>::IntraFirst },
            > {
                let plan = planned!(const CONFIG of PlanOf<L, Slice2, Time2>);
                add(&mut self.pass, OPERATION, step(op.into(), plan));
                VectorTensor::new(self.context, self.pass)
            }
        }
    )* };
}

reduce! {
    i32, InterSliceReduceOpI32;
    f32, InterSliceReduceOpF32;
}

#[cfg(test)]
mod derive_tests;
