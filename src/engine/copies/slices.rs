//! Copies of a part per cluster or chip: each keeps one position of an axis of the tensor.
//!
//! ```text
//!   Element m![V / 2, V % 2] with V = 8, AxisToSlice m![V / 2], index [3, 0]
//!
//!   cluster 0     0 1 2 3 4 5 [6 7]  ──▶  6 7        cluster 1    [0 1] 2 3 4 5 6 7  ──▶  0 1
//!
//!   the same with AxisToSlice m![V % 2], index [1, 0]
//!
//!   cluster 0    0[1]2[3]4[5]6[7]  ──▶  1 3 5 7      cluster 1   [0]1[2]3[4]5[6]7  ──▶  0 2 4 6
//! ```
//!
//! A part is the [tile](crate::tensor::tile) of one value of the axis.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use super::{CountPlan, UnitLevel, copy_operation};
use crate::command::{ContextKind, CopyCall};
use crate::engine::dma::AtRest;
use crate::error::attempt;
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, planned};
use crate::runtime::{AUTO, Tu, TuContext, TuValues as _};
use crate::scalar::Scalar;
use crate::tensor::{DmTensor, DmTensorView};
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::copies::slices::{SliceCopyConfig, SliceCopyRequest, derive_slice_copy};

/// A copy of parts, as types.
pub struct SliceCopyPlan<D, Chip, Cluster, Slice, Element, AxisToSlice, AxisSlicedElement, Element2>(
    #[allow(clippy::type_complexity)] // One parameter per type that decides.
    PhantomData<(D, Chip, Cluster, Slice, Element, AxisToSlice, AxisSlicedElement, Element2)>,
);

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, AxisToSlice: M, AxisSlicedElement: M, Element2: M>
    SliceCopyPlan<D, Chip, Cluster, Slice, Element, AxisToSlice, AxisSlicedElement, Element2>
{
    /// A part for each cluster. Evaluating it refuses copies that the sub context does not support.
    pub const CLUSTERS: SliceCopyConfig = Self::derived(CopyCall::ClusterSliceCopy, UnitLevel::Cluster);

    /// A part for each chip. Evaluating it refuses copies that the sub context does not support.
    pub const CHIPS: SliceCopyConfig = Self::derived(CopyCall::ChipSliceCopy, UnitLevel::Chip);

    const fn derived(call: CopyCall, level: UnitLevel) -> SliceCopyConfig {
        let _ = DmTensor::<D, Chip, Cluster, Slice, Element>::FOOTPRINT;
        let _ = DmTensor::<D, Chip, Cluster, Slice, Element2>::FOOTPRINT;
        let request = SliceCopyRequest {
            call,
            level,
            source: DmTensor::<D, Chip, Cluster, Slice, Element>::SHAPE,
            axis: AxisToSlice::EXPR,
            sliced: AxisSlicedElement::EXPR,
            destination: DmTensor::<D, Chip, Cluster, Slice, Element2>::SHAPE,
        };
        match derive_slice_copy(&request) {
            Ok(config) => config,
            Err(error) => error.refuse(),
        }
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, AxisToSlice: M, AxisSlicedElement: M, Element2: M>
    Late<SliceCopyPlan<D, Chip, Cluster, Slice, Element, AxisToSlice, AxisSlicedElement, Element2>>
{
    #[doc(hidden)]
    pub const CLUSTERS: Refusable<SliceCopyConfig> =
        Self::derived(CopyCall::ClusterSliceCopy, UnitLevel::Cluster);
    #[doc(hidden)]
    pub const CHIPS: Refusable<SliceCopyConfig> = Self::derived(CopyCall::ChipSliceCopy, UnitLevel::Chip);

    const fn derived(call: CopyCall, level: UnitLevel) -> Refusable<SliceCopyConfig> {
        attempt!(Late::<DmTensor<D, Chip, Cluster, Slice, Element>>::FOOTPRINT);
        attempt!(Late::<DmTensor<D, Chip, Cluster, Slice, Element2>>::FOOTPRINT);
        derive_slice_copy(&SliceCopyRequest {
            call,
            level,
            source: DmTensor::<D, Chip, Cluster, Slice, Element>::SHAPE,
            axis: AxisToSlice::EXPR,
            sliced: AxisSlicedElement::EXPR,
            destination: DmTensor::<D, Chip, Cluster, Slice, Element2>::SHAPE,
        })
    }
}

impl TuContext<{ Tu::Sub }> {
    /// Copies a part per cluster: each cluster `c` keeps position `index[c]` of an axis of `Element`, and drops the
    /// others.
    ///
    /// `AxisToSlice` is that axis, or a part of one, anywhere in `Element`. `AxisSlicedElement` is `Element` with
    /// `1 # n` in its place. `Element2` is the mapping of the result in each slice: usually `Element` without the axis.
    /// An outermost axis leaves parts in one piece, which are copied fastest. `CLUSTER_DIM` is the size of `Cluster`.
    ///
    /// The result lies at [`AUTO`](crate::runtime::AUTO), a multiple of 8 bytes. See
    /// [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![C = 2, V = 8, B = 32];
    /// type Whole = DmTensor<i8, m![1], m![C], m![1 # 256], m![V, B]>;
    /// type Part = DmTensor<i8, m![1], m![C], m![1 # 256], m![B]>;
    ///
    /// fn rows(ctx: &mut Context, x: &Whole) -> Part {
    ///     ctx.sub.parallel_copy_cluster_slice::<2, m![V], m![1 # 8, B], _, _, _, _, _, _>(x.view(), &[7, 2])
    /// }
    /// # let _ = rows as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: another `CLUSTER_DIM`, an axis that `Element` does not hold, another
    /// `AxisSlicedElement`, and parts some of which hold fewer elements.
    ///
    /// # Panics
    /// If an index is no part that holds elements, or DM is full.
    #[track_caller]
    #[inline(never)]
    pub fn parallel_copy_cluster_slice<
        'l,
        const CLUSTER_DIM: usize,
        AxisToSlice: M,
        AxisSlicedElement: M,
        Element2: M,
        D: Scalar,
        Chip: M,
        Cluster: M,
        Slice: M,
        Element: M,
    >(
        &mut self,
        tensor: DmTensorView<'l, D, Chip, Cluster, Slice, Element>,
        index: &[usize; CLUSTER_DIM],
    ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
        let () = *planned!(const CLUSTERS_OF_COPY of CountPlan<DmTensor<D, Chip, Cluster, Slice, Element>, CLUSTER_DIM>);
        let config = planned!(const CLUSTERS of SliceCopyPlan<
            D,
            Chip,
            Cluster,
            Slice,
            Element,
            AxisToSlice,
            AxisSlicedElement,
            Element2,
        >);
        self.sliced(tensor, config, index)
    }

    /// Copies a part per chip, as [`parallel_copy_cluster_slice`](Self::parallel_copy_cluster_slice) does per cluster:
    /// each chip `c` keeps position `index[c]` of an axis of `Element`.
    #[track_caller]
    #[inline(never)]
    pub fn parallel_copy_chip_slice<
        'l,
        const CHIP_DIM: usize,
        AxisToSlice: M,
        AxisSlicedElement: M,
        Element2: M,
        D: Scalar,
        Chip: M,
        Cluster: M,
        Slice: M,
        Element: M,
    >(
        &mut self,
        tensor: DmTensorView<'l, D, Chip, Cluster, Slice, Element>,
        index: &[usize; CHIP_DIM],
    ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
        let () =
            *planned!(const CHIPS_OF_COPY of CountPlan<DmTensor<D, Chip, Cluster, Slice, Element>, CHIP_DIM>);
        let config = planned!(const CHIPS of SliceCopyPlan<
            D,
            Chip,
            Cluster,
            Slice,
            Element,
            AxisToSlice,
            AxisSlicedElement,
            Element2,
        >);
        self.sliced(tensor, config, index)
    }

    #[track_caller]
    fn sliced<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, Element2: M>(
        &mut self,
        tensor: DmTensorView<'_, D, Chip, Cluster, Slice, Element>,
        config: &SliceCopyConfig,
        index: &[usize],
    ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
        let call = config.call;
        let moves = accept(call.name(), config.moves(index));
        let (result, region) = DmTensor::made(self, call.name(), AUTO);
        let regions = [tensor.region(), region];
        self.execute(copy_operation(call, ContextKind::Sub, regions, moves));
        result
    }
}
