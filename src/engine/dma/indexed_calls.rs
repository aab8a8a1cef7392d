//! The calls of gather and scatter.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use super::indexed::{IndexedConfig, IndexedPlan, KeyPlan};
use super::link::OnChip;
use super::{AtRest, check_units_of_tile, sealed};
use crate::command::{Address, Duplicates, Footprint, IndexedCall, IndexedDma, Operation, Region};
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::planned;
use crate::runtime::{Dma, DmaContext, DmaValues as _, dma_of_kernel};
use crate::scalar::Scalar;
use crate::tensor::{
    DmTensor, DmTensorView, DmTensorViewMut, HbmTensor, HbmTensorView, HbmTensorViewMut, check_dma_address,
};
use furiosa_visa_rules::engine::dma::indexed::check_tiles;

/// A tensor of `i32`, or a view of one, in HBM or DM, that names rows by their numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name rows",
    label = "rows are named by a tensor of `i32` in HBM or DM",
    note = "help: give `&HbmTensor<i32, Chip, …>` or `&DmTensor<i32, Chip, …>`, with the `Chip` of the table"
)]
pub trait RowIndex<Chip: M>: sealed::Index {
    /// The tensor.
    type Tensor: AtRest;

    /// The region of the tensor.
    #[doc(hidden)]
    fn index_region(&self) -> Region;
}

macro_rules! row_index {
    ($([$($generics:tt)*] $index:ty => $tensor:ty, $self:ident: $region:expr;)*) => {$(
        impl<$($generics)*> sealed::Index for $index {}
        impl<$($generics)*> RowIndex<Chip> for $index {
            type Tensor = $tensor;

            fn index_region(&$self) -> Region {
                $region
            }
        }
    )*};
}

row_index! {
    [Chip: M, Element: M] HbmTensor<i32, Chip, Element> => Self, self: self.region();
    ['l, Chip: M, Element: M] HbmTensorView<'l, i32, Chip, Element> => HbmTensor<i32, Chip, Element>, self: self.region();
    [Chip: M, Cluster: M, Slice: M, Element: M] DmTensor<i32, Chip, Cluster, Slice, Element> => Self,
        self: self.region();
    ['l, Chip: M, Cluster: M, Slice: M, Element: M] DmTensorView<'l, i32, Chip, Cluster, Slice, Element>
        => DmTensor<i32, Chip, Cluster, Slice, Element>, self: self.region();
}

/// The command of a gather or a scatter.
#[track_caller]
fn indexed(
    config: &IndexedConfig,
    [source, destination, index]: [Region; 3],
    (scale, duplicates): (usize, Duplicates),
) -> Operation {
    accept(config.call.name(), check_tiles(config.call.name(), [&source, &destination, &index]));
    let loops = &config.loops;
    Operation::Indexed(Box::new(IndexedDma {
        call: config.call,
        source,
        destination,
        index,
        rows: loops.rows,
        payload: loops.payload,
        count: loops.count,
        stride: loops.stride,
        scale,
        duplicates,
        list: None,
    }))
}

/// Gathers into a region of DM: all of a tensor, or a tile.
#[track_caller]
fn gather(
    dma: &mut DmaContext<{ Dma::Tensor }>,
    config: &IndexedConfig,
    [table, index, destination]: [Region; 3],
    tensor: &Footprint,
) {
    let name = config.call.name();
    accept(name, check_dma_address("HBM source", table.address));
    accept(name, check_dma_address("DM destination", destination.address));
    let scale = if config.call == IndexedCall::Gather { accept(name, config.row_bytes()) } else { 1 };
    let operation = indexed(config, [table, destination, index], (scale, Duplicates::Equal));
    accept(name, check_units_of_tile(&operation, tensor));
    dma.execute(operation);
}

/// Gathers into a new tensor in DM.
#[track_caller]
pub(crate) fn gathered<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>(
    dma: &mut DmaContext<{ Dma::Tensor }>,
    config: &IndexedConfig,
    [table, index]: [Region; 2],
    address: Address,
) -> DmTensor<D, Chip, Cluster, Slice, Element> {
    let (tensor, region) =
        DmTensor::<D, Chip, Cluster, Slice, Element>::made(dma, config.call.name(), address);
    gather(dma, config, [table, index, region], &region.footprint);
    tensor
}

/// Scatters into a region of HBM.
#[track_caller]
fn scatter(
    dma: &mut DmaContext<{ Dma::Tensor }>,
    config: &IndexedConfig,
    [source, index, output]: [Region; 3],
    (scaled, duplicates): (bool, Duplicates),
) {
    let scale = if scaled { accept(config.call.name(), config.row_bytes()) } else { 1 };
    dma.execute(indexed(config, [source, output, index], (scale, duplicates)));
}

impl<D: Scalar, Chip: M, Element: M> HbmTensor<D, Chip, Element> {
    /// Copies rows of the tensor to DM: row `k` of the result is the row that element `k` of the index names. One axis
    /// of the tensor is indexed: the one that the result lacks. The axes of the index take its place.
    ///
    /// The call names no context: the DMA engines of its kernel's context run it, in program order.
    ///
    /// The index holds **byte offsets** of rows: the number of a row times the bytes of a row.
    /// [`dma_gather_rows`](Self::dma_gather_rows) takes the numbers. `address` counts bytes in every slice, a multiple of 8
    /// or [`AUTO`](crate::runtime::AUTO); the table lies at a multiple of 8, too. See
    /// [memories_and_dma](crate::guide::memories_and_dma), "Rows by an index".
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![V = 100, H = 64, S = 4];
    ///
    /// /// `y[s, h] = table[ids[s], h]`, a row per slice.
    /// #[device(chip = 1)]
    /// fn embed(ctx: &mut Context, table: &HbmTensor<i8, m![1], m![V, H]>, offsets: &HbmTensor<i32, m![1], m![S]>)
    ///     -> HbmTensor<i8, m![1], m![S, H]> {
    ///     let rows = table.dma_gather::<m![1 # 2], m![S # 256], m![H], _>(offsets, 0);
    ///     rows.to_hbm(&mut ctx.tdma, 1 << 20)
    /// }
    ///
    /// # let mut ctx = Context::acquire();
    /// let table = HostTensor::<i8, m![V, H]>::from_buf((0..6400).map(|k| Opt::Init((k / 64) as i8)).collect());
    /// let offsets = HostTensor::<i32, m![S]>::from_buf([7, 99, 0, 7].map(|row| Opt::Init(row * 64)).to_vec());
    /// let y = pollster::block_on(async {
    ///     let table = table.to_hbm(&mut ctx.pdma, 0).await;
    ///     let offsets = offsets.to_hbm(&mut ctx.pdma, 1 << 16).await;
    ///     let y = launch(embed, (&mut *ctx, &table, &offsets)).await;
    ///     y.to_host::<m![S, H]>(&mut ctx.pdma).await.to_buf()
    /// });
    /// assert_eq!([0, 64, 128, 192].map(|k| y[k]), [7, 99, 0, 7].map(Opt::Init));
    /// ```
    ///
    /// Refused while compiling: no axis, or more than one, without a place in the result (`one axis is indexed`); an
    /// index with an axis that the result lacks (`has no place for`); runs inside a row of less than 8 bytes, or runs
    /// that step by no multiple of 8 bytes; rows that hold another number of elements, padding not counted, than there
    /// are from one row to the next: `byte offsets do not say which row is meant`. Padded rows, and rows that are not
    /// outermost, are refused for this reason, unless the two numbers happen to agree: `m![A, V, B # 16]` with `A = 2`
    /// and `B = 8` has rows of 16 elements that start 16 apart.
    ///
    /// # Panics
    /// If an element of the index names no row, is no multiple of the bytes of a row, or was never written; if an
    /// address is no multiple of 8, or the result exceeds the 512 KiB of a slice; outside a kernel.
    #[track_caller]
    #[inline(never)]
    pub fn dma_gather<Cluster2: M, Slice2: M, Element2: M, Element3: M>(
        &self,
        index: &HbmTensor<i32, Chip, Element3>,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster2, Slice2, Element2> {
        let dma = &mut dma_of_kernel("dma_gather");
        let config = planned!(const GATHER of IndexedPlan<
            HbmTensor<D, Chip, Element>,
            HbmTensor<i32, Chip, Element3>,
            DmTensor<D, Chip, Cluster2, Slice2, Element2>,
        >);
        gathered(dma, config, [self.region(), index.region()], address)
    }

    /// Copies rows of the tensor to DM by **numbers** of rows, which are in HBM or in DM: see [`Self::dma_gather`].
    /// Rows may be padded and lie anywhere in the tensor. `address` counts bytes in every slice, a multiple of 8 or
    /// [`AUTO`](crate::runtime::AUTO). See [memories_and_dma](crate::guide::memories_and_dma), "Rows by an index",
    /// whose program has this call.
    ///
    /// Refused while compiling: everything that `dma_gather` refuses, except the place of rows; an index of another
    /// type than `i32` (`does not name rows`); rows some of which hold fewer elements.
    ///
    /// # Panics
    /// If an element of the index names no row or was never written; if an address is no multiple of 8, or the result
    /// exceeds the 512 KiB of a slice.
    #[track_caller]
    #[inline(never)]
    pub fn dma_gather_rows<Cluster2: M, Slice2: M, Element2: M, Index: RowIndex<Chip>>(
        &self,
        dma: &mut impl OnChip,
        index: &Index,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster2, Slice2, Element2> {
        let config = planned!(const GATHER_ROWS of IndexedPlan<
            HbmTensor<D, Chip, Element>,
            Index::Tensor,
            DmTensor<D, Chip, Cluster2, Slice2, Element2>,
        >);
        gathered(dma.engines(), config, [self.region(), index.index_region()], address)
    }
}

impl<D: Scalar, Chip: M, Element: M> HbmTensorView<'_, D, Chip, Element> {
    /// Copies rows of the tensor to DM: see [`HbmTensor::dma_gather`].
    #[track_caller]
    #[inline(never)]
    pub fn dma_gather<Cluster2: M, Slice2: M, Element2: M, Element3: M>(
        self,
        index: &HbmTensor<i32, Chip, Element3>,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster2, Slice2, Element2> {
        let dma = &mut dma_of_kernel("dma_gather");
        let config = planned!(const GATHER of IndexedPlan<
            HbmTensor<D, Chip, Element>,
            HbmTensor<i32, Chip, Element3>,
            DmTensor<D, Chip, Cluster2, Slice2, Element2>,
        >);
        gathered(dma, config, [self.region(), index.region()], address)
    }

    /// Copies rows of the tensor to DM: see [`HbmTensor::dma_gather_rows`].
    #[track_caller]
    #[inline(never)]
    pub fn dma_gather_rows<Cluster2: M, Slice2: M, Element2: M, Index: RowIndex<Chip>>(
        self,
        dma: &mut impl OnChip,
        index: &Index,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster2, Slice2, Element2> {
        let config = planned!(const GATHER_ROWS of IndexedPlan<
            HbmTensor<D, Chip, Element>,
            Index::Tensor,
            DmTensor<D, Chip, Cluster2, Slice2, Element2>,
        >);
        gathered(dma.engines(), config, [self.region(), index.index_region()], address)
    }

    /// Copies rows of the tensor into a view in DM: see [`HbmTensor::dma_gather`]. The address is that of the view.
    #[track_caller]
    #[inline(never)]
    pub fn dma_gather_view<Cluster2: M, Slice2: M, Element2: M, Element3: M>(
        self,
        dma: &mut impl OnChip,
        index: &HbmTensor<i32, Chip, Element3>,
        destination: DmTensorViewMut<'_, D, Chip, Cluster2, Slice2, Element2>,
    ) {
        let config = planned!(const GATHER of IndexedPlan<
            HbmTensor<D, Chip, Element>,
            HbmTensor<i32, Chip, Element3>,
            DmTensor<D, Chip, Cluster2, Slice2, Element2>,
        >);
        let regions = [self.region(), index.region(), destination.region()];
        gather(dma.engines(), config, regions, destination.tensor());
    }

    /// Copies rows of the tensor into a view in DM: see [`HbmTensor::dma_gather_rows`]. The address is that of the view.
    #[track_caller]
    #[inline(never)]
    pub fn dma_gather_rows_view<Cluster2: M, Slice2: M, Element2: M, Index: RowIndex<Chip>>(
        self,
        dma: &mut impl OnChip,
        index: &Index,
        destination: DmTensorViewMut<'_, D, Chip, Cluster2, Slice2, Element2>,
    ) {
        let config = planned!(const GATHER_ROWS of IndexedPlan<
            HbmTensor<D, Chip, Element>,
            Index::Tensor,
            DmTensor<D, Chip, Cluster2, Slice2, Element2>,
        >);
        let regions = [self.region(), index.index_region(), destination.region()];
        gather(dma.engines(), config, regions, destination.tensor());
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> DmTensor<D, Chip, Cluster, Slice, Element> {
    /// Copies the rows of the tensor to rows of a tensor in HBM: the row at position `k` of `Key` goes to the row that
    /// element `k` of the index names. Rows that no element names stay unchanged.
    ///
    /// The call names no context: the DMA engines of its kernel's context run it, in program order.
    ///
    /// If `scaled` is true, the index holds byte offsets of rows, which are multiples of the bytes of a row; otherwise
    /// it holds numbers of rows. Runs may have any number of whole bytes, and the table lies at a multiple of the
    /// element's size. See [memories_and_dma](crate::guide::memories_and_dma), "Rows by an index".
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![P = 100, H = 64, S = 4];
    ///
    /// /// `cache[slots[s], h] = x[s, h]`.
    /// #[device(chip = 1)]
    /// fn store(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, H]>, slots: &HbmTensor<i32, m![1], m![S]>,
    ///     cache: &mut HbmTensor<i8, m![1], m![P, H]>) {
    ///     let x = x.to_dm::<m![1 # 2], m![S # 256], m![H]>(&mut ctx.tdma, 0);
    ///     x.dma_scatter::<m![S], _, _>(slots, cache, false);
    /// }
    ///
    /// # let mut ctx = Context::acquire();
    /// let x = HostTensor::<i8, m![S, H]>::from_buf((0..256).map(|k| Opt::Init((k / 64) as i8)).collect());
    /// let slots = HostTensor::<i32, m![S]>::from_buf([7, 99, 0, 8].map(Opt::Init).to_vec());
    /// let cache = HostTensor::<i8, m![P, H]>::from_buf(vec![Opt::Init(-1); 6400]);
    /// let y = pollster::block_on(async {
    ///     let x = x.to_hbm(&mut ctx.pdma, 0).await;
    ///     let slots = slots.to_hbm(&mut ctx.pdma, 1 << 16).await;
    ///     let mut cache = cache.to_hbm(&mut ctx.pdma, 1 << 20).await;
    ///     launch(store, (&mut *ctx, &x, &slots, &mut cache)).await;
    ///     cache.to_host::<m![P, H]>(&mut ctx.pdma).await.to_buf()
    /// });
    /// assert_eq!([7, 99, 0, 8, 1].map(|row| y[row * 64]), [0, 1, 2, 3, -1].map(Opt::Init));
    /// ```
    ///
    /// Refused while compiling: a key that is not in `Slice` and `Element`
    /// (`a key must be in its slices and elements`); an index whose elements do not fit the positions of the key; an
    /// output that `has no place for` an axis of a row, or that has more than one other axis.
    ///
    /// # Panics
    /// If an element of the index names no row or was never written; if it names a row a second time, with another
    /// content ([`dma_scatter_rows`](Self::dma_scatter_rows) can be told which one wins); if `scaled` offsets are no
    /// multiples of the bytes of a row, or rows are padded.
    #[track_caller]
    #[inline(never)]
    pub fn dma_scatter<Key: M, Element2: M, Element3: M>(
        &self,
        index: &HbmTensor<i32, Chip, Element3>,
        output: &mut HbmTensor<D, Chip, Element2>,
        scaled: bool,
    ) {
        let dma = &mut dma_of_kernel("dma_scatter");
        let () = *planned!(const CHECK of KeyPlan<Key, Element3>);
        let config = planned!(const SCATTER of IndexedPlan<
            HbmTensor<D, Chip, Element2>,
            HbmTensor<i32, Chip, Element3>,
            DmTensor<D, Chip, Cluster, Slice, Element>,
        >);
        let regions = [self.region(), index.region(), output.region()];
        scatter(dma, config, regions, (scaled, Duplicates::Equal));
    }

    /// Copies the rows of the tensor to rows of a tensor in HBM, as [`Self::dma_scatter`] does, by numbers of rows,
    /// which are in HBM or in DM. The key is all axes of the index. `duplicates` decides the outcome if a row is named
    /// twice.
    #[track_caller]
    #[inline(never)]
    pub fn dma_scatter_rows<Element2: M, Index: RowIndex<Chip>>(
        &self,
        dma: &mut impl OnChip,
        index: &Index,
        output: &mut HbmTensor<D, Chip, Element2>,
        duplicates: Duplicates,
    ) {
        let config = planned!(const SCATTER_ROWS of IndexedPlan<
            HbmTensor<D, Chip, Element2>,
            Index::Tensor,
            DmTensor<D, Chip, Cluster, Slice, Element>,
        >);
        let regions = [self.region(), index.index_region(), output.region()];
        scatter(dma.engines(), config, regions, (false, duplicates));
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorView<'_, D, Chip, Cluster, Slice, Element>
{
    /// Copies the rows of the tensor to rows of a view in HBM: see [`DmTensor::dma_scatter`].
    #[track_caller]
    #[inline(never)]
    pub fn dma_scatter_view<Key: M, Element2: M, Element3: M>(
        self,
        dma: &mut impl OnChip,
        index: &HbmTensor<i32, Chip, Element3>,
        output: HbmTensorViewMut<'_, D, Chip, Element2>,
        scaled: bool,
    ) {
        let () = *planned!(const CHECK of KeyPlan<Key, Element3>);
        let config = planned!(const SCATTER of IndexedPlan<
            HbmTensor<D, Chip, Element2>,
            HbmTensor<i32, Chip, Element3>,
            DmTensor<D, Chip, Cluster, Slice, Element>,
        >);
        let regions = [self.region(), index.region(), output.region()];
        scatter(dma.engines(), config, regions, (scaled, Duplicates::Equal));
    }

    /// Copies the rows of the tensor to rows of a view in HBM: see [`DmTensor::dma_scatter_rows`].
    #[track_caller]
    #[inline(never)]
    pub fn dma_scatter_rows_view<Element2: M, Index: RowIndex<Chip>>(
        self,
        dma: &mut impl OnChip,
        index: &Index,
        output: HbmTensorViewMut<'_, D, Chip, Element2>,
        duplicates: Duplicates,
    ) {
        let config = planned!(const SCATTER_ROWS of IndexedPlan<
            HbmTensor<D, Chip, Element2>,
            Index::Tensor,
            DmTensor<D, Chip, Cluster, Slice, Element>,
        >);
        let regions = [self.region(), index.index_region(), output.region()];
        scatter(dma.engines(), config, regions, (false, duplicates));
    }
}
