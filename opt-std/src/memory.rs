//! Tensors in HBM and DM, without addresses, and the calls that move them.
//!
//! A tensor takes bytes when it is first used, and gives them back after its last use.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::context::{DmaContext, TuContext, latest};
use crate::host::{HostTensor, positions_of};
use crate::visa::command::Duplicates;
use crate::visa::engine::copies::{ParallelCopyPlan, ShufflePlan};
use crate::visa::engine::dma::{AtRest, DmaPlan, HostPlan, IndexedPlan};
use crate::visa::engine::memset::{MemsetPlan, MemsetScalar};
use crate::visa::mapping::{M, Pair};
use crate::visa::runtime::{AUTO, DeviceSend, Dma, DmaValues as _, TensorChips, Tu, TuValues as _};
use crate::visa::scalar::Scalar;
use crate::visa::surface::{self, BothSides, CountPlan, InDm, KeyPlan, SystemHandle, check_same_units};
use crate::visa::tensor;
use crate::words::{check, planned};
use core::fmt;

/// Declares a handle, its views, and what they share.
macro_rules! handles {
    (
        $(#[$doc:meta])* $tensor:ident, $(#[$doc_view:meta])* $view:ident, $(#[$doc_mut:meta])* $view_mut:ident,
        <$($mapping:ident),+>
    ) => {
        $(#[$doc])*
        pub struct $tensor<D: Scalar, $($mapping: M),+>(pub(crate) tensor::$tensor<D, $($mapping),+>);

        $(#[$doc_view])*
        pub struct $view<'l, D: Scalar, $($mapping: M),+>(pub(crate) tensor::$view<'l, D, $($mapping),+>);

        $(#[$doc_mut])*
        pub struct $view_mut<'l, D: Scalar, $($mapping: M),+>(pub(crate) tensor::$view_mut<'l, D, $($mapping),+>);

        impl<D: Scalar, $($mapping: M),+> $tensor<D, $($mapping),+> {
            /// A tensor without any written element. Moves and commits into its views and tiles fill it.
            ///
            /// # Panics
            /// If there is no context to make it on.
            #[track_caller]
            #[inline(never)]
            #[allow(clippy::new_without_default)] // It needs a context.
            pub fn new() -> Self {
                let _ = <tensor::$tensor<D, $($mapping),+> as AtRest>::ELEMENTS;
                Self(surface::in_kernel().map_or_else(
                    || tensor::$tensor::new(&mut latest(concat!(stringify!($tensor), "::new"))),
                    |mut context| tensor::$tensor::new(&mut context),
                ))
            }

            /// The whole tensor, to read.
            #[inline(never)]
            pub fn view(&self) -> $view<'_, D, $($mapping),+> {
                let _ = <tensor::$tensor<D, $($mapping),+> as AtRest>::ELEMENTS;
                $view(self.0.view())
            }

            /// The whole tensor, to write.
            #[inline(never)]
            pub fn view_mut(&mut self) -> $view_mut<'_, D, $($mapping),+> {
                let _ = <tensor::$tensor<D, $($mapping),+> as AtRest>::ELEMENTS;
                $view_mut(self.0.view_mut())
            }
        }

        impl<D: Scalar, $($mapping: M),+> Clone for $view<'_, D, $($mapping),+> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<'l, D: Scalar, $($mapping: M),+> From<$view_mut<'l, D, $($mapping),+>> for $view<'l, D, $($mapping),+> {
            fn from(view: $view_mut<'l, D, $($mapping),+>) -> Self {
                Self(view.0.into())
            }
        }

        impl<D: Scalar, $($mapping: M),+> fmt::Debug for $tensor<D, $($mapping),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

handles! {
    /// A tensor in DM: see [`crate::visa::tensor::DmTensor`].
    DmTensor,
    /// A tensor in DM, or a tile of one, to read from.
    DmTensorView,
    /// A tensor in DM, or a tile of one, to write to.
    DmTensorViewMut, <Chip, Cluster, Slice, Element>
}

handles! {
    /// A tensor in HBM: see [`crate::visa::tensor::HbmTensor`].
    HbmTensor,
    /// A tensor in HBM, or a tile of one, to read from.
    HbmTensorView,
    /// A tensor in HBM, or a tile of one, to write to.
    HbmTensorViewMut, <Chip, Element>
}

/// Refuses a move that would not leave its elements in their units. A call of this surface names both sides apart, because
/// holes of tiles to read and to write are two kinds of padding.
const fn same_units<Source: M, Destination: M>(operation: &'static str, name: &'static str) {
    let sides = BothSides { name, source: Source::EXPR, destination: Destination::EXPR };
    if let Err(error) = check_same_units(operation, &[sides]) {
        error.refuse()
    }
}

/// Lets tensors in HBM and their views go into and out of kernels.
macro_rules! device_send {
    ($([$($lifetime:lifetime)?] $type:ty;)*) => { $(
        impl<$($lifetime,)? D: Scalar, Chip: M, Element: M> DeviceSend for $type {
            const CHIPS: TensorChips = TensorChips::of(Chip::EXPR);

            fn systems(&self, _visit: &mut dyn FnMut(&SystemHandle)) {}
        }
    )* };
}

device_send! {
    [] HbmTensor<D, Chip, Element>;
    ['a] &'a mut HbmTensor<D, Chip, Element>;
    ['a] HbmTensorView<'a, D, Chip, Element>;
    ['a] HbmTensorViewMut<'a, D, Chip, Element>;
}

impl<D: Scalar, Chip: M, Element: M> HbmTensor<D, Chip, Element> {
    /// Copies the tensor to the host over PCIe: see [`crate::visa::tensor::HbmTensor::to_host`].
    #[track_caller]
    #[inline(never)]
    pub fn to_host<Element2: M>(
        &self,
        pdma: &mut DmaContext<{ Dma::Pcie }>,
    ) -> impl Future<Output = HostTensor<D, Element2>> {
        check!(DOWNLOAD of HostPlan<D, Element2, Chip, Element>);
        let moved = self.0.to_host(&mut pdma.0);
        async move { HostTensor(moved.await) }
    }

    /// Copies the tensor to DM: see [`crate::visa::tensor::HbmTensor::to_dm`].
    #[track_caller]
    #[inline(never)]
    pub fn to_dm<Cluster: M, Slice: M, Element2: M>(
        &self,
        tdma: &mut DmaContext<{ Dma::Tensor }>,
    ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
        check!(TRANSFER of DmaPlan<
            tensor::HbmTensor<D, Chip, Element>,
            tensor::DmTensor<D, Chip, Cluster, Slice, Element2>,
        >);
        DmTensor(self.0.to_dm(&mut tdma.0, AUTO))
    }

    /// Copies the tensor to another place in HBM: see [`crate::visa::tensor::HbmTensor::to_hbm`].
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm<const DMA: Dma, Element2: M>(
        &self,
        dma: &mut DmaContext<DMA>,
    ) -> HbmTensor<D, Chip, Element2> {
        check!(TRANSFER of DmaPlan<tensor::HbmTensor<D, Chip, Element>, tensor::HbmTensor<D, Chip, Element2>>);
        HbmTensor(self.0.to_hbm(&mut dma.0, AUTO))
    }

    /// The bytes that the tensor takes in all chips.
    pub fn size() -> usize {
        tensor::HbmTensor::<D, Chip, Element>::size()
    }

    /// The elements as the host sees them, in the order of Chip and Element. Padding has no element and reads as 0.
    #[track_caller]
    #[inline(never)]
    pub fn into_vec(self) -> Vec<D> {
        self.view().to_vec()
    }

    /// The packed bytes of the elements: see [`Self::into_vec`].
    #[track_caller]
    #[inline(never)]
    pub fn to_buf(&self) -> Vec<u8> {
        self.view().to_buf()
    }

    /// Copies rows of the tensor to DM. The index holds byte offsets: see
    /// [`crate::visa::tensor::HbmTensor::dma_gather`].
    #[track_caller]
    #[inline(never)]
    pub fn dma_gather_scaled<Cluster2: M, Slice2: M, Element2: M, Element3: M>(
        &self,
        index: &HbmTensor<i32, Chip, Element3>,
    ) -> DmTensor<D, Chip, Cluster2, Slice2, Element2> {
        let config = planned!(
            GATHER of IndexedPlan<
                tensor::HbmTensor<D, Chip, Element>,
                tensor::HbmTensor<i32, Chip, Element3>,
                tensor::DmTensor<D, Chip, Cluster2, Slice2, Element2>,
            >,
            for tensor::HbmTensor<D, Chip, Element>,
            tensor::HbmTensor<i32, Chip, Element3>,
            tensor::DmTensor<D, Chip, Cluster2, Slice2, Element2>
        );
        let mut context = surface::kernel_context("dma_gather_scaled");
        DmTensor(surface::gather(&self.0, &mut context.tdma, &index.0, config))
    }

    /// Copies rows of the tensor to DM. The index holds row numbers: see
    /// [`crate::visa::tensor::HbmTensor::dma_gather_rows`].
    #[track_caller]
    #[inline(never)]
    pub fn dma_gather_unscaled<
        IdxCluster: M,
        IdxSlice: M,
        IdxElement: M,
        Cluster2: M,
        Slice2: M,
        Element2: M,
    >(
        &self,
        index: &DmTensor<i32, Chip, IdxCluster, IdxSlice, IdxElement>,
    ) -> DmTensor<D, Chip, Cluster2, Slice2, Element2> {
        let config = planned!(
            GATHER_ROWS of IndexedPlan<
                tensor::HbmTensor<D, Chip, Element>,
                tensor::DmTensor<i32, Chip, IdxCluster, IdxSlice, IdxElement>,
                tensor::DmTensor<D, Chip, Cluster2, Slice2, Element2>,
            >,
            for tensor::HbmTensor<D, Chip, Element>,
            tensor::DmTensor<i32, Chip, IdxCluster, IdxSlice, IdxElement>,
            tensor::DmTensor<D, Chip, Cluster2, Slice2, Element2>
        );
        let mut context = surface::kernel_context("dma_gather_unscaled");
        DmTensor(surface::gather(&self.0, &mut context.tdma, &index.0, config))
    }
}

impl<D: Scalar, Chip: M, Element: M> HbmTensorView<'_, D, Chip, Element> {
    /// Copies the tensor to DM: see [`HbmTensor::to_dm`].
    #[track_caller]
    #[inline(never)]
    pub fn to_dm<Cluster: M, Slice: M, Element2: M>(
        self,
        tdma: &mut DmaContext<{ Dma::Tensor }>,
    ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
        check!(TRANSFER of DmaPlan<
            tensor::HbmTensor<D, Chip, Element>,
            tensor::DmTensor<D, Chip, Cluster, Slice, Element2>,
        >);
        DmTensor(self.0.to_dm(&mut tdma.0, AUTO))
    }

    /// Copies the tensor into a view in HBM.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm_view<const DMA: Dma, Chip2: M, Element2: M>(
        self,
        dma: &mut DmaContext<DMA>,
        destination: HbmTensorViewMut<'_, D, Chip2, Element2>,
    ) {
        let transfer = const {
            same_units::<Chip, Chip2>("to_hbm_view", "Chip");
            <DmaPlan<tensor::HbmTensor<D, Chip, Element>, tensor::HbmTensor<D, Chip2, Element2>>>::TRANSFER
        };
        surface::hbm_to_hbm(self.0, &mut dma.0, destination.0, transfer);
    }

    /// Copies the tensor into a view in DM.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm_view<Chip2: M, Cluster: M, Slice: M, Element2: M>(
        self,
        tdma: &mut DmaContext<{ Dma::Tensor }>,
        destination: DmTensorViewMut<'_, D, Chip2, Cluster, Slice, Element2>,
    ) {
        let transfer = const {
            same_units::<Chip, Chip2>("to_dm_view", "Chip");
            <DmaPlan<
            tensor::HbmTensor<D, Chip, Element>,
            tensor::DmTensor<D, Chip2, Cluster, Slice, Element2>,
        >>::TRANSFER
        };
        surface::hbm_to_dm(self.0, &mut tdma.0, destination.0, transfer);
    }

    /// The elements as the host sees them: see [`HbmTensor::into_vec`].
    #[track_caller]
    #[inline(never)]
    pub fn to_vec(&self) -> Vec<D> {
        check!(DOWNLOAD of HostPlan<D, Pair<Chip, Element>, Chip, Element>);
        positions_of(&surface::read::<D, Chip, Element>(&self.0, &mut latest("to_vec")))
    }

    /// The elements as the host sees them: see [`HbmTensor::into_vec`].
    #[track_caller]
    #[inline(never)]
    pub fn into_vec(self) -> Vec<D> {
        self.to_vec()
    }

    /// The packed bytes of the elements: see [`HbmTensor::into_vec`].
    #[track_caller]
    #[inline(never)]
    pub fn to_buf(&self) -> Vec<u8> {
        HostTensor::<D, Pair<Chip, Element>>::from_vec(self.to_vec()).into_bytes()
    }
}

impl<D: Scalar, Chip: M, Element: M> HbmTensorViewMut<'_, D, Chip, Element> {
    /// The packed bytes of the elements: see [`HbmTensor::into_vec`].
    #[track_caller]
    #[inline(never)]
    pub fn to_buf(&self) -> Vec<u8> {
        HbmTensorView(surface::reborrowed(&self.0)).to_buf()
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> DmTensor<D, Chip, Cluster, Slice, Element> {
    /// Copies the tensor to HBM: see [`crate::visa::tensor::DmTensor::to_hbm`].
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm<Element2: M>(
        &self,
        tdma: &mut DmaContext<{ Dma::Tensor }>,
    ) -> HbmTensor<D, Chip, Element2> {
        check!(TRANSFER of DmaPlan<
            tensor::DmTensor<D, Chip, Cluster, Slice, Element>,
            tensor::HbmTensor<D, Chip, Element2>,
        >);
        HbmTensor(self.0.to_hbm(&mut tdma.0, AUTO))
    }

    /// Copies the tensor to another place in DM: see [`crate::visa::tensor::DmTensor::to_dm`].
    #[track_caller]
    #[inline(never)]
    pub fn to_dm<Slice2: M, Element2: M>(
        &self,
        tdma: &mut DmaContext<{ Dma::Tensor }>,
    ) -> DmTensor<D, Chip, Cluster, Slice2, Element2> {
        check!(TRANSFER of DmaPlan<
            tensor::DmTensor<D, Chip, Cluster, Slice, Element>,
            tensor::DmTensor<D, Chip, Cluster, Slice2, Element2>,
        >);
        DmTensor(self.0.to_dm(&mut tdma.0, AUTO))
    }

    /// Copies the tensor to another place in DM by the sub context: see
    /// [`crate::visa::tensor::DmTensor::to_dm_pcopy`].
    #[track_caller]
    #[inline(never)]
    pub fn to_dm_pcopy<Slice2: M, Element2: M>(
        &self,
        sub: &mut TuContext<{ Tu::Sub }>,
    ) -> DmTensor<D, Chip, Cluster, Slice2, Element2> {
        check!(TRANSFER of ParallelCopyPlan<
            tensor::DmTensor<D, Chip, Cluster, Slice, Element>,
            tensor::DmTensor<D, Chip, Cluster, Slice2, Element2>,
        >);
        let mut destination = tensor::DmTensor::new(&mut surface::context_of(&sub.0));
        self.0.to_dm_pcopy(&mut sub.0, &mut destination);
        DmTensor(destination)
    }

    /// Copies rows of the tensor to HBM. The index holds byte offsets: see
    /// [`crate::visa::tensor::DmTensor::dma_scatter`].
    #[track_caller]
    #[inline(never)]
    pub fn dma_scatter<Key: M, Element2: M, Element3: M>(
        &self,
        index: &HbmTensor<i32, Chip, Element3>,
        output: &mut HbmTensor<D, Chip, Element2>,
    ) {
        check!(CHECK of KeyPlan<Key, Element3>);
        check!(SCATTER of IndexedPlan<
            tensor::HbmTensor<D, Chip, Element2>,
            tensor::HbmTensor<i32, Chip, Element3>,
            tensor::DmTensor<D, Chip, Cluster, Slice, Element>,
        >);
        self.0.dma_scatter::<Key, _, _>(&index.0, &mut output.0, true);
    }

    /// Copies rows of the tensor to HBM. The index holds row numbers: see
    /// [`crate::visa::tensor::DmTensor::dma_scatter_rows`].
    #[track_caller]
    #[inline(never)]
    pub fn dma_scatter_unscaled<Key: M, IdxCluster: M, IdxSlice: M, IdxElement: M, Element2: M>(
        &self,
        index: &DmTensor<i32, Chip, IdxCluster, IdxSlice, IdxElement>,
        output: &mut HbmTensor<D, Chip, Element2>,
    ) {
        check!(SCATTER_ROWS of IndexedPlan<
            tensor::HbmTensor<D, Chip, Element2>,
            tensor::DmTensor<i32, Chip, IdxCluster, IdxSlice, IdxElement>,
            tensor::DmTensor<D, Chip, Cluster, Slice, Element>,
        >);
        let mut context = surface::kernel_context("dma_scatter_unscaled");
        self.0.dma_scatter_rows(&mut context.tdma, &index.0, &mut output.0, Duplicates::Equal);
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorView<'_, D, Chip, Cluster, Slice, Element>
{
    /// Copies the tensor into a view in HBM.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm_view<Chip2: M, Element2: M>(
        self,
        tdma: &mut DmaContext<{ Dma::Tensor }>,
        destination: HbmTensorViewMut<'_, D, Chip2, Element2>,
    ) {
        let transfer = const {
            same_units::<Chip, Chip2>("to_hbm_view", "Chip");
            <DmaPlan<
            tensor::DmTensor<D, Chip, Cluster, Slice, Element>,
            tensor::HbmTensor<D, Chip2, Element2>,
        >>::TRANSFER
        };
        surface::dm_to_hbm(self.0, &mut tdma.0, destination.0, transfer);
    }

    /// Copies the tensor into a view in DM.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm_view<Chip2: M, Cluster2: M, Slice2: M, Element2: M>(
        self,
        tdma: &mut DmaContext<{ Dma::Tensor }>,
        destination: DmTensorViewMut<'_, D, Chip2, Cluster2, Slice2, Element2>,
    ) {
        let transfer = const {
            same_units::<Chip, Chip2>("to_dm_view", "Chip");
            same_units::<Cluster, Cluster2>("to_dm_view", "Cluster");
            <DmaPlan<
                tensor::DmTensor<D, Chip, Cluster, Slice, Element>,
                tensor::DmTensor<D, Chip2, Cluster2, Slice2, Element2>,
            >>::TRANSFER
        };
        InDm::new(self.0, destination.0).by_dma(&mut tdma.0, transfer);
    }

    /// Copies the tensor into a view in DM by the sub context.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm_view_pcopy<Chip2: M, Cluster2: M, Slice2: M, Element2: M>(
        self,
        sub: &mut TuContext<{ Tu::Sub }>,
        destination: DmTensorViewMut<'_, D, Chip2, Cluster2, Slice2, Element2>,
    ) {
        let transfer = const {
            same_units::<Chip, Chip2>("to_dm_view_pcopy", "Chip");
            same_units::<Cluster, Cluster2>("to_dm_view_pcopy", "Cluster");
            <ParallelCopyPlan<
                tensor::DmTensor<D, Chip, Cluster, Slice, Element>,
                tensor::DmTensor<D, Chip2, Cluster2, Slice2, Element2>,
            >>::TRANSFER
        };
        InDm::new(self.0, destination.0).by_sub(&mut sub.0, transfer);
    }

    /// A tensor in which clusters have exchanged their elements: see
    /// [`crate::visa::runtime::DmaContext::dm_cluster_shuffle`].
    #[track_caller]
    #[inline(never)]
    pub fn dm_cluster_shuffle<const N: usize>(
        self,
        tdma: &mut DmaContext<{ Dma::Tensor }>,
        pattern: &[usize],
    ) -> DmTensor<D, Chip, Cluster, Slice, Element> {
        check!(CLUSTERS_OF_SHUFFLE of CountPlan<tensor::DmTensor<D, Chip, Cluster, Slice, Element>, N>);
        check!(CLUSTERS of ShufflePlan<tensor::DmTensor<D, Chip, Cluster, Slice, Element>>);
        DmTensor(tdma.0.dm_cluster_shuffle::<D, N, _, _, _, _>(self.0, pattern))
    }

    /// A tensor in which chips have exchanged their elements: see
    /// [`crate::visa::runtime::DmaContext::dm_chip_shuffle`].
    #[track_caller]
    #[inline(never)]
    pub fn dm_chip_shuffle<const N: usize>(
        self,
        tdma: &mut DmaContext<{ Dma::Tensor }>,
        pattern: &[usize; N],
    ) -> DmTensor<D, Chip, Cluster, Slice, Element> {
        check!(CHIPS_OF_SHUFFLE of CountPlan<tensor::DmTensor<D, Chip, Cluster, Slice, Element>, N>);
        check!(CHIPS of ShufflePlan<tensor::DmTensor<D, Chip, Cluster, Slice, Element>>);
        DmTensor(tdma.0.dm_chip_shuffle(self.0, pattern))
    }
}

impl<D: Scalar, Chip: M, Element: M> HbmTensorView<'_, D, Chip, Element> {
    /// A tensor in which chips have exchanged their elements: see
    /// [`crate::visa::runtime::DmaContext::hbm_chip_shuffle`].
    #[track_caller]
    #[inline(never)]
    pub fn hbm_chip_shuffle<const N: usize, const DMA: Dma>(
        self,
        dma: &mut DmaContext<DMA>,
        pattern: &[usize; N],
    ) -> HbmTensor<D, Chip, Element> {
        check!(CHIPS of ShufflePlan<tensor::HbmTensor<D, Chip, Element>>);
        HbmTensor(surface::hbm_chip_shuffle(self.0, &mut dma.0, pattern))
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorViewMut<'_, D, Chip, Cluster, Slice, Element>
{
    /// Makes `value` of every element, and leaves padding as it is: see
    /// [`crate::visa::tensor::DmTensorViewMut::memset`].
    #[track_caller]
    #[inline(never)]
    pub fn memset(&mut self, value: D, sub: &mut TuContext<{ Tu::Sub }>)
    where
        D: MemsetScalar,
    {
        check!(MOVES of MemsetPlan<D, Chip, Cluster, Slice, Element>);
        self.0.memset(value, &mut sub.0);
    }
}
