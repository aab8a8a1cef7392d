//! The parts of typed calls that another surface over the same handles and streams needs.
//!
//! A call of that surface checks the plan of its call here first, so that the compiler names the user's line and the
//! surface's own words, and then makes the call of this library.

use crate::command::{Footprint, Region, Transfer};
pub use crate::engine::commit::CheckedCommit;
pub use crate::engine::commit_stages::{CheckedCast, CheckedTrim};
pub use crate::engine::copies::CountPlan;
use crate::engine::copies::{ShufflePlan, copied, shuffled};
pub use crate::engine::dma::KeyPlan;
use crate::engine::dma::{IndexedConfig, RowIndex, dma_operation, gathered, into_dm_view};
pub use crate::engine::fetch::BeginPlan;
pub use crate::engine::fetch::CheckedFetch;
pub use crate::engine::fetch::stages::{Lookup, Plain, Stages, ZeroPoint};
pub use crate::engine::layout::{Layout, StreamLayout};
pub use crate::engine::vector_register_file::LoadedTensor;
use crate::host::HostTensor;
use crate::mapping::{M, Pair};
pub use crate::runtime::SystemHandle;
use crate::runtime::late::planned;
pub use crate::runtime::late::{Late, Refusable};
pub use crate::runtime::launch::ChipsAgree;
use crate::runtime::{
    AUTO, Context, Dma, DmaContext, DmaValues as _, MakesTensors, Tu, TuContext, TuValues as _, dma_of_kernel,
};
use crate::scalar::Scalar;
pub use crate::tensor::pad::PadPlan;
pub use crate::tensor::relabel::RelabelPlan;
pub use crate::tensor::tile::TilePlan;
use crate::tensor::{DmTensor, DmTensorView, DmTensorViewMut, HbmTensor, HbmTensorView, HbmTensorViewMut};
use core::panic::Location;
pub use furiosa_visa_rules::tensor::units::{BothSides, check_same_units};

/// A context whose system can be asked for.
pub trait OnSystem {
    /// The system.
    fn system(&self) -> &SystemHandle;
}

impl<const T: Tu> OnSystem for TuContext<T> {
    fn system(&self) -> &SystemHandle {
        MakesTensors::system(self)
    }
}

impl OnSystem for Context {
    fn system(&self) -> &SystemHandle {
        MakesTensors::system(&self.main)
    }
}

/// The system that a context works on.
pub fn system_of(context: &impl OnSystem) -> &SystemHandle {
    context.system()
}

/// Another context on the same system.
pub fn context_of(context: &impl OnSystem) -> Context {
    Context::on(context.system())
}

/// The context of the kernel that runs on this thread.
pub fn in_kernel() -> Option<Context> {
    crate::runtime::fault::used().as_ref().map(Context::on)
}

/// The context of the kernel that runs on this thread.
///
/// # Panics
/// Outside of a kernel.
#[track_caller]
pub fn kernel_context(operation: &'static str) -> Context {
    Context::on(MakesTensors::system(&dma_of_kernel(operation)))
}

/// Moves a view into another one, in HBM.
#[track_caller]
pub fn hbm_to_hbm<const DMA: Dma, D: Scalar, Chip: M, Element: M, Chip2: M, Element2: M>(
    source: HbmTensorView<'_, D, Chip, Element>,
    dma: &mut DmaContext<DMA>,
    destination: HbmTensorViewMut<'_, D, Chip2, Element2>,
    transfer: &Transfer,
) {
    dma.execute(dma_operation(source.region(), destination.region(), transfer));
}

/// Moves a view in HBM into one in DM.
#[track_caller]
pub fn hbm_to_dm<D: Scalar, Chip: M, Element: M, Chip2: M, Cluster: M, Slice: M, Element2: M>(
    source: HbmTensorView<'_, D, Chip, Element>,
    dma: &mut DmaContext<{ Dma::Tensor }>,
    destination: DmTensorViewMut<'_, D, Chip2, Cluster, Slice, Element2>,
    transfer: &Transfer,
) {
    into_dm_view(source.region(), dma, destination.region(), destination.tensor(), transfer);
}

/// Moves a view in DM into one in HBM.
#[track_caller]
pub fn dm_to_hbm<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, Chip2: M, Element2: M>(
    source: DmTensorView<'_, D, Chip, Cluster, Slice, Element>,
    dma: &mut DmaContext<{ Dma::Tensor }>,
    destination: HbmTensorViewMut<'_, D, Chip2, Element2>,
    transfer: &Transfer,
) {
    dma.execute(dma_operation(source.region(), destination.region(), transfer));
}

/// Moves a view into another one, in DM: by the DMA engines, or by the sub context.
pub struct InDm {
    regions: [Region; 2],
    tensor: &'static Footprint,
}

impl InDm {
    /// Both sides of a move.
    pub fn new<D: Scalar, C: M, K: M, S: M, E: M, C2: M, K2: M, S2: M, E2: M>(
        source: DmTensorView<'_, D, C, K, S, E>,
        destination: DmTensorViewMut<'_, D, C2, K2, S2, E2>,
    ) -> Self {
        Self { regions: [source.region(), destination.region()], tensor: destination.tensor() }
    }

    /// The DMA engines move it.
    #[track_caller]
    pub fn by_dma(self, dma: &mut DmaContext<{ Dma::Tensor }>, transfer: &Transfer) {
        let [source, destination] = self.regions;
        dma.execute(dma_operation(source, destination, transfer));
    }

    /// The sub context copies it.
    #[track_caller]
    pub fn by_sub(self, sub: &mut TuContext<{ Tu::Sub }>, transfer: Transfer) {
        copied(sub, self.regions, self.tensor, transfer);
    }
}

/// Copies rows that an index names to DM, as a plan says.
#[track_caller]
pub fn gather<D: Scalar, Chip: M, Element: M, Cluster2: M, Slice2: M, Element2: M, Index: RowIndex<Chip>>(
    table: &HbmTensor<D, Chip, Element>,
    dma: &mut DmaContext<{ Dma::Tensor }>,
    index: &Index,
    config: &IndexedConfig,
) -> DmTensor<D, Chip, Cluster2, Slice2, Element2> {
    gathered(dma, config, [table.region(), index.index_region()], AUTO)
}

/// The elements of a view as the host sees them.
#[track_caller]
pub fn read<D: Scalar, Chip: M, Element: M>(
    view: &HbmTensorView<'_, D, Chip, Element>,
    context: &mut Context,
) -> HostTensor<D, Pair<Chip, Element>> {
    view.download(&mut context.pdma, Location::caller())
}

/// The same view, to read.
pub fn reborrowed<'l, D: Scalar, Chip: M, Element: M>(
    view: &'l HbmTensorViewMut<'_, D, Chip, Element>,
) -> HbmTensorView<'l, D, Chip, Element> {
    view.reborrowed()
}

/// A tensor in HBM in which chips have exchanged their elements.
#[track_caller]
pub fn hbm_chip_shuffle<const DMA: Dma, D: Scalar, Chip: M, Element: M>(
    source: HbmTensorView<'_, D, Chip, Element>,
    dma: &mut DmaContext<DMA>,
    pattern: &[usize],
) -> HbmTensor<D, Chip, Element> {
    let config = planned!(const CHIPS of ShufflePlan<HbmTensor<D, Chip, Element>>);
    shuffled(config, source.region(), dma, pattern)
}
