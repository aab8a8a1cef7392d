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

use super::parallel::check_cells;
use super::{UnitLevel, check_count, check_length, copy_operation};
use crate::command::{ContextKind, CopyCall, Start, Transfer};
use crate::engine::dma::{DmaRules, check_dma};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Guard, M, Pool, factors_of, liveness_of};
use crate::runtime::fault::accept;
use crate::runtime::late::{planned, planned_check, when_late};
use crate::runtime::{AUTO, Tu, TuContext, TuValues as _};
use crate::scalar::Scalar;
use crate::sequencer::transfer::{Placement, derive_transfer};
use crate::tensor::tile::{TileConfig, digits, locate, no_lead, rest, span_of};
use crate::tensor::{DmTensor, DmTensorView, Shape};
use core::marker::PhantomData;

when_late! {
    use crate::runtime::late::{Late, Refusable};
}

/// The input of [`derive_slice_copy`].
#[derive(Clone, Copy, Debug)]
pub struct SliceCopyRequest {
    /// The call.
    pub call: CopyCall,
    /// The units that the parts are chosen for.
    pub level: UnitLevel,
    /// The tensor.
    pub source: Shape,
    /// The axis to slice, `AxisToSlice`: each unit keeps one position of it.
    pub axis: &'static Expr,
    /// `Element` of the tensor with `1 # n` for that axis: `AxisSlicedElement`.
    pub sliced: &'static Expr,
    /// The result.
    pub destination: Shape,
}

/// The derived configuration of a copy of parts.
#[derive(Clone, Copy, Debug)]
pub struct SliceCopyConfig {
    /// The call.
    pub call: CopyCall,
    /// The units that the parts are chosen for.
    pub level: UnitLevel,
    /// The number of clusters or chips, padding included.
    pub count: usize,
    /// Distance from one cluster or chip to the next, in units of a command.
    pub step: usize,
    /// Number of parts, padding included: positions of the axis.
    pub parts: usize,
    /// The start of each part.
    pub tile: TileConfig,
    /// The loops of the first part of the first cluster or chip.
    pub transfer: Transfer,
    /// Guard of the live positions. Variables: chip, cluster, slice, part, element of the part.
    guard: Guard,
}

/// The variable of the guard that counts parts.
const PART: usize = 3;

/// Derives a copy of parts.
pub const fn derive_slice_copy(request: &SliceCopyRequest) -> Result<SliceCopyConfig, PlanError> {
    let SliceCopyRequest { call, level, source, axis, sliced, destination } = request;
    let operation = call.name();
    let [chips, clusters, _, elements] = attempt!(source.sizes());
    let to = attempt!(destination.sizes());
    let (tile, parts) = attempt!(check_axis(operation, source.element, axis, sliced));
    let dimensions = [source.chip, source.cluster, source.slice, *axis, *sliced];
    let Some(guard) = liveness_of(&dimensions) else {
        return Err(PlanError::mapping(operation, crate::mapping::Problem::TooManyFactors));
    };
    if !guard.is_alone(PART) || !guard.is_alone(level.variable()) {
        refuse!(
            "ragged parts",
            "{}: {} and AxisToSlice {} cut an axis so that some parts of Element {} have fewer elements than others; \
             help: choose sizes that fill every part, or pad another dimension",
            str(operation),
            str(level.dimension()),
            mapping(axis),
            mapping(source.element),
        );
    }
    let part = Shape { element: sliced, ..*source };
    let (from, levels) = level.others(&part);
    let (there, _) = level.others(destination);
    let transfer = attempt!(derive_transfer(
        operation,
        &Placement { name: source.name(), dimensions: from.split_at(levels).0 },
        &Placement { name: destination.name(), dimensions: there.split_at(levels).0 },
        true,
    ));
    let rules =
        DmaRules { operation, source: (part, elements), destination: (*destination, to[3]), by_index: false };
    attempt!(check_dma(&rules, &transfer));
    attempt!(check_cells(operation, &transfer, &part, destination));
    let mut k = 0;
    while k < tile.digits.len() {
        let digit = tile.digits.at(k);
        if digit.size > 1 && !(digit.stride * source.element_type.bits()).is_multiple_of(8) {
            refuse!(
                "whole bytes",
                "{}: parts of Element {} are {} of {} bits apart, but start at whole bytes; \
                 help: keep an even number of elements inside of AxisToSlice",
                str(operation),
                mapping(source.element),
                count(digit.stride, "element"),
                number(source.element_type.bits()),
            );
        }
        k += 1;
    }
    let count = match level {
        UnitLevel::Cluster => clusters,
        UnitLevel::Chip => chips,
    };
    let (call, level, step) = (*call, *level, level.step(source.memory));
    Ok(SliceCopyConfig { call, level, count, step, parts, tile, transfer, guard })
}

/// Checks that an axis is a part of `Element`, and checks the rest of `Element`. Returns the starts of the parts, and
/// their number.
const fn check_axis(
    operation: &'static str,
    element: &'static Expr,
    axis: &'static Expr,
    sliced: &'static Expr,
) -> Result<(TileConfig, usize), PlanError> {
    let mut pool = Pool::new();
    let whole = attempt!(factors_of(operation, &mut pool, element));
    let axis_factors = attempt!(factors_of(operation, &mut pool, axis));
    let left = attempt!(factors_of(operation, &mut pool, sliced));
    let Some(found) = attempt!(locate(operation, &pool, &whole, &axis_factors)) else {
        refuse!(
            "slice axis",
            "{}: AxisToSlice {} is not a part of Element {}; help: name an axis, or a part of one, that Element holds",
            str(operation),
            mapping(axis),
            mapping(element),
        )
    };
    attempt!(no_lead(operation, axis, &found));
    let parts = axis_factors.size();
    let expected = rest(&pool, &found, 1);
    if !expected.is(&left) {
        refuse!(
            "sliced element",
            "{}: AxisSlicedElement {} is not Element {} with `1 # {}` for AxisToSlice {}; help: write {}",
            str(operation),
            mapping(sliced),
            mapping(element),
            number(parts),
            mapping(axis),
            factors(&pool, &expected),
        );
    }
    let tile = TileConfig { operation, index: axis, len: 1, digits: digits(&found), span: span_of(&left) };
    Ok((tile, parts))
}

impl SliceCopyConfig {
    /// The loops for each cluster or chip that holds elements.
    ///
    /// # Errors
    /// If the number of indices is wrong, or one is no part that holds elements.
    pub fn moves(&self, index: &[usize]) -> Result<Vec<Transfer>, PlanError> {
        let (operation, noun) = (self.call.name(), self.level.noun());
        check_length(operation, self.level, "index", self.count, index.len())?;
        let mut moves = Vec::new();
        for (unit, &part) in index.iter().enumerate() {
            if part >= self.parts {
                refuse!(
                    "slice bounds",
                    "{}: {} {} is to keep part {}, but AxisToSlice has {}; help: use 0 to {}",
                    str(operation),
                    str(noun),
                    number(unit),
                    number(part),
                    count(self.parts, "position"),
                    number(self.parts - 1),
                );
            }
            if !self.guard.holds_alone(self.level.variable(), unit) {
                continue;
            }
            if !self.guard.holds_alone(PART, part) {
                refuse!(
                    "slice of padding",
                    "{}: {} {} is to keep part {}, which is padding of AxisToSlice and holds no element; \
                     help: choose a part that holds elements",
                    str(operation),
                    str(noun),
                    number(unit),
                    number(part),
                );
            }
            let units = (unit * self.step) as isize;
            let from = Start { units, elements: self.tile.offset(part)? as isize };
            moves.push(self.transfer.further(from, Start { units, elements: 0 }));
        }
        Ok(moves)
    }
}

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

    /// Refuses a call for another number of units.
    const fn counted(call: CopyCall, level: UnitLevel, given: usize) {
        let shape = &DmTensor::<D, Chip, Cluster, Slice, Element>::SHAPE;
        if let Err(error) = check_count(call.name(), level, given, shape) {
            error.refuse()
        }
    }
}

when_late! {
    impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, AxisToSlice: M, AxisSlicedElement: M, Element2: M>
        Late<SliceCopyPlan<D, Chip, Cluster, Slice, Element, AxisToSlice, AxisSlicedElement, Element2>>
    {
        const CLUSTERS: Refusable<SliceCopyConfig> =
            Self::derived(CopyCall::ClusterSliceCopy, UnitLevel::Cluster);
        const CHIPS: Refusable<SliceCopyConfig> = Self::derived(CopyCall::ChipSliceCopy, UnitLevel::Chip);

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
        planned_check!(
            SliceCopyPlan::<D, Chip, Cluster, Slice, Element, AxisToSlice, AxisSlicedElement, Element2>::counted(
                CopyCall::ClusterSliceCopy,
                UnitLevel::Cluster,
                CLUSTER_DIM,
            );
            check_count(
                CopyCall::ClusterSliceCopy.name(),
                UnitLevel::Cluster,
                CLUSTER_DIM,
                &DmTensor::<D, Chip, Cluster, Slice, Element>::SHAPE,
            )
        );
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
        planned_check!(
            SliceCopyPlan::<D, Chip, Cluster, Slice, Element, AxisToSlice, AxisSlicedElement, Element2>::counted(
                CopyCall::ChipSliceCopy,
                UnitLevel::Chip,
                CHIP_DIM,
            );
            check_count(
                CopyCall::ChipSliceCopy.name(),
                UnitLevel::Chip,
                CHIP_DIM,
                &DmTensor::<D, Chip, Cluster, Slice, Element>::SHAPE,
            )
        );
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
        let mut result = DmTensor::made(self, call.name(), AUTO);
        let regions = [tensor.region(), result.view_mut().region()];
        self.execute(copy_operation(call, ContextKind::Sub, regions, moves));
        result
    }
}
