//! Shuffles: clusters or chips exchange their elements.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use super::{CountPlan, UnitLevel, copy_operation};
use crate::command::{ContextKind, CopyCall, Memory, Region};
use crate::engine::dma::AtRest;
use crate::error::attempt;
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, by_reference, planned};
use crate::runtime::{AUTO, Dma, DmaContext, DmaValues as _};
use crate::scalar::Scalar;
use crate::tensor::{DmTensor, DmTensorView, HbmTensor};
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::copies::shuffle::{ShuffleConfig, derive_shuffle};

/// Shuffles of a type of tensor.
pub struct ShufflePlan<Tensor>(PhantomData<Tensor>);

impl<Tensor: AtRest> ShufflePlan<Tensor> {
    /// A shuffle of clusters. Evaluating it refuses a tensor whose clusters are not alike.
    pub const CLUSTERS: ShuffleConfig = Self::derived(CopyCall::DmClusterShuffle, UnitLevel::Cluster);

    /// A shuffle of chips. Evaluating it refuses a tensor whose chips are not alike.
    pub const CHIPS: ShuffleConfig = Self::derived(
        match Tensor::SHAPE.memory {
            Memory::Hbm => CopyCall::HbmChipShuffle,
            Memory::Dm | Memory::Vrf => CopyCall::DmChipShuffle,
        },
        UnitLevel::Chip,
    );

    const fn derived(call: CopyCall, level: UnitLevel) -> ShuffleConfig {
        let _ = Tensor::ELEMENTS;
        match derive_shuffle(call, level, &Tensor::SHAPE) {
            Ok(config) => config,
            Err(error) => error.refuse(),
        }
    }
}

impl<Tensor: AtRest> Late<ShufflePlan<Tensor>> {
    #[doc(hidden)]
    pub const CLUSTERS: Refusable<ShuffleConfig> =
        Self::derived(CopyCall::DmClusterShuffle, UnitLevel::Cluster);
    #[doc(hidden)]
    pub const CHIPS: Refusable<ShuffleConfig> = Self::derived(
        match Tensor::SHAPE.memory {
            Memory::Hbm => CopyCall::HbmChipShuffle,
            Memory::Dm | Memory::Vrf => CopyCall::DmChipShuffle,
        },
        UnitLevel::Chip,
    );

    const fn derived(call: CopyCall, level: UnitLevel) -> Refusable<ShuffleConfig> {
        attempt!(by_reference(Tensor::LATE_FOOTPRINT));
        derive_shuffle(call, level, &Tensor::SHAPE)
    }
}

impl DmaContext<{ Dma::Tensor }> {
    /// Exchanges clusters: cluster `k` of the result holds what cluster `pattern[k]` of the tensor holds, on every chip.
    /// Repeated entries broadcast. `CLUSTER_DIM` is the size of `Cluster`. See
    /// [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// The result lies at [`AUTO`](crate::runtime::AUTO).
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![C = 2, A = 64];
    ///
    /// #[device(chip = 1)]
    /// fn exchange(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![C, A]>) -> HbmTensor<i8, m![1], m![C, A]> {
    ///     let x = x.to_dm::<m![C], m![1 # 256], m![A]>(&mut ctx.tdma, 0);
    ///     let exchanged = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(x.view(), &[1, 0]);
    ///     exchanged.to_hbm(&mut ctx.tdma, 1 << 20)
    /// }
    ///
    /// # let mut ctx = Context::acquire();
    /// let x = HostTensor::<i8, m![C, A]>::from_buf((0..128).map(|k| Opt::Init(k as i8)).collect());
    /// let y = pollster::block_on(async {
    ///     let x = x.to_hbm(&mut ctx.pdma, 0).await;
    ///     let y = launch(exchange, (&mut *ctx, &x)).await;
    ///     y.to_host::<m![C, A]>(&mut ctx.pdma).await.to_buf()
    /// });
    /// assert_eq!((y[0], y[64]), (Opt::Init(64), Opt::Init(0)));
    /// ```
    ///
    /// Refused while compiling: another `CLUSTER_DIM`, and clusters some of which hold fewer elements.
    ///
    /// # Panics
    /// If the pattern has another length, names no cluster of the tensor or one without elements, or DM is full.
    #[track_caller]
    #[inline(never)]
    pub fn dm_cluster_shuffle<
        D: Scalar,
        const CLUSTER_DIM: usize,
        Chip: M,
        Cluster: M,
        Slice: M,
        Element: M,
    >(
        &mut self,
        tensor: DmTensorView<'_, D, Chip, Cluster, Slice, Element>,
        pattern: &[usize],
    ) -> DmTensor<D, Chip, Cluster, Slice, Element> {
        let () = *planned!(const CLUSTERS_OF_SHUFFLE of CountPlan<DmTensor<D, Chip, Cluster, Slice, Element>, CLUSTER_DIM>);
        let config = planned!(const CLUSTERS of ShufflePlan<
            DmTensor<D, Chip, Cluster, Slice, Element>,
        >);
        self.shuffled(tensor, config, pattern)
    }

    /// Exchanges the DM of chips: chip `k` of the result holds what chip `pattern[k]` of the tensor holds, so that
    /// `[1, 2, 3, 0]` rotates. Repeated entries broadcast. `CHIP_DIM` is the size of `Chip`.
    ///
    /// The result lies at [`AUTO`](crate::runtime::AUTO). Bytes go from chip to chip over PCIe.
    ///
    /// It is called as [`dm_cluster_shuffle`](Self::dm_cluster_shuffle), which has an example.
    ///
    /// Refused while compiling: another `CHIP_DIM`, and chips some of which hold fewer elements.
    ///
    /// # Panics
    /// If the pattern names no chip of the tensor or one without elements, or DM is full.
    #[track_caller]
    #[inline(never)]
    pub fn dm_chip_shuffle<D: Scalar, const CHIP_DIM: usize, Chip: M, Cluster: M, Slice: M, Element: M>(
        &mut self,
        tensor: DmTensorView<'_, D, Chip, Cluster, Slice, Element>,
        pattern: &[usize; CHIP_DIM],
    ) -> DmTensor<D, Chip, Cluster, Slice, Element> {
        let () = *planned!(const CHIPS_OF_SHUFFLE of CountPlan<DmTensor<D, Chip, Cluster, Slice, Element>, CHIP_DIM>);
        let config = planned!(const CHIPS of ShufflePlan<
            DmTensor<D, Chip, Cluster, Slice, Element>,
        >);
        self.shuffled(tensor, config, pattern)
    }

    #[track_caller]
    fn shuffled<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>(
        &mut self,
        tensor: DmTensorView<'_, D, Chip, Cluster, Slice, Element>,
        config: &ShuffleConfig,
        pattern: &[usize],
    ) -> DmTensor<D, Chip, Cluster, Slice, Element> {
        let (call, source) = (config.call, tensor.region());
        let moves = accept(call.name(), config.moves(pattern));
        let (result, region) = DmTensor::made(self, call.name(), AUTO);
        self.execute(copy_operation(call, ContextKind::TensorDma, [source, region], moves));
        result
    }
}

/// Shuffles a tensor in HBM into a new one.
#[track_caller]
pub(crate) fn shuffled<const DMA: Dma, D: Scalar, Chip: M, Element: M>(
    config: &ShuffleConfig,
    source: Region,
    dma: &mut DmaContext<DMA>,
    pattern: &[usize],
) -> HbmTensor<D, Chip, Element> {
    let call = config.call;
    let moves = accept(call.name(), config.moves(pattern));
    let (result, region) = HbmTensor::made(dma, call.name(), AUTO);
    let context = if DMA == Dma::Pcie { ContextKind::PcieDma } else { ContextKind::TensorDma };
    dma.execute(copy_operation(call, context, [source, region], moves));
    result
}

impl<const DMA: Dma> DmaContext<DMA> {
    /// Exchanges the HBM of chips: chip `k` of the result holds what chip `pattern[k]` of the tensor holds. Repeated entries
    /// broadcast.
    ///
    /// The result lies at [`AUTO`](crate::runtime::AUTO). Bytes go from chip to chip over PCIe.
    ///
    /// It is called as [`dm_cluster_shuffle`](DmaContext::dm_cluster_shuffle), which has an example, without the size.
    ///
    /// Refused while compiling: chips some of which hold fewer elements.
    ///
    /// # Panics
    /// If the length of the pattern is not the number of chips, if it names no chip of the tensor or one without
    /// elements, or if HBM is full.
    #[track_caller]
    #[inline(never)]
    pub fn hbm_chip_shuffle<D: Scalar, Chip: M, Element: M>(
        &mut self,
        tensor: &HbmTensor<D, Chip, Element>,
        pattern: &[usize],
    ) -> HbmTensor<D, Chip, Element> {
        let config = planned!(const CHIPS of ShufflePlan<HbmTensor<D, Chip, Element>>);
        shuffled(config, tensor.region(), self, pattern)
    }

    /// Never compiles: HBM has chips and no clusters, and the compiler tells the user so.
    #[doc(hidden)]
    pub fn hbm_cluster_shuffle<D: Scalar, Chip: M, Element: M>(
        &mut self,
        tensor: &HbmTensor<D, Chip, Element>,
        pattern: &[usize],
    ) -> HbmTensor<D, Chip, Element>
    where
        HbmTensor<D, Chip, Element>: HasClusters<D>,
    {
        let _ = (tensor, pattern);
        unreachable!("nothing meets this bound")
    }
}

/// Tensors that lie in clusters: those in DM.
#[diagnostic::on_unimplemented(
    message = "a tensor in HBM has no clusters to shuffle",
    label = "`hbm_chip_shuffle` exchanges chips",
    note = "help: move it with `.to_dm()`, and use `ctx.tdma.dm_cluster_shuffle`"
)]
pub trait HasClusters<D> {}
