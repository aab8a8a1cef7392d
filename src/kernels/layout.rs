//! Tensors as helpers see them: rows of columns, in packets of the engines. And the refusals of helpers, in their own
//! words.

use crate::engine::cast::StreamCast as _;
use crate::engine::stream::{AccumulationTensor, VectorFinalTensor};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{AxisName, Expr, Ident, M, Margin, Modulo, Padding, Pair, Resize, Stride, Symbol};
use crate::prelude::m;
use crate::runtime::{AUTO, Tu};
use crate::scalar::{ContractionCast, Scalar, VeScalar, bf16, f8e4m3, f8e5m2, f16, i4};
use crate::spec;
use crate::tensor::{DmTensor, DmTensorView};
use core::marker::PhantomData;

use crate::runtime::late::Refusable;

/// A mapping of one axis, or of a part of it: the axis that a helper sums over.
///
/// `m![K]`, `m![K % 64]`, `m![K / 8 # 16]` are such mappings; a list is not.
#[diagnostic::on_unimplemented(
    message = "the columns `{Self}` of a row are not of one axis",
    label = "its columns are to be those of one axis",
    note = "the first entry of `Element` is the rows, the rest the columns: of `m![A, B, K]` the columns are `B, K`",
    note = "help: join the rows with an alias, `type Rows = m![A, B]` and `m![{{ Rows }}, K]`, or the columns with \
            `.relabel()`"
)]
pub trait OneAxis: M + 'static {
    /// The axis.
    type Axis: AxisName;
    /// Number of positions that are no padding.
    const LIVE: usize;
    /// An error if the parts of the axis differ in their number of positions without padding.
    #[doc(hidden)]
    const WHOLE: Refusable<()>;
}

/// Number of positions without padding in a part of columns. Refuses parts of padded columns: they do not all have the
/// same number.
const fn cut(live: usize, size: usize, positions: usize, expr: &Expr) -> usize {
    // With `late-refusals`, `WHOLE` is evaluated instead.
    #[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
    if let Err(error) = parts_of(live, size, expr) {
        error.refuse()
    }
    let _ = (live, size, expr);
    positions
}

/// Refuses parts of padded columns.
const fn parts_of(live: usize, size: usize, expr: &Expr) -> Result<(), PlanError> {
    if live != size {
        refuse!(
            "mean of padding",
            "mean: the columns {} are a part of an axis with padding, so that not every part has as many elements; \
             help: pad the part, or choose a size without padding",
            expr,
        );
    }
    Ok(())
}

/// Refuses parts of padded columns, and parts of such parts.
const fn parts(outer: Refusable<()>, live: usize, size: usize, expr: &Expr) -> Refusable<()> {
    attempt!(outer);
    parts_of(live, size, expr)
}

impl<X: AxisName> OneAxis for Symbol<X> {
    type Axis = X;
    const LIVE: usize = X::SIZE;
    const WHOLE: Refusable<()> = Ok(());
}

impl<E: OneAxis, const N: usize> OneAxis for Stride<E, N> {
    type Axis = E::Axis;
    const LIVE: usize = cut(E::LIVE, E::SIZE, Self::SIZE, Self::EXPR);
    const WHOLE: Refusable<()> = parts(E::WHOLE, E::LIVE, E::SIZE, Self::EXPR);
}

impl<E: OneAxis, const N: usize> OneAxis for Modulo<E, N> {
    type Axis = E::Axis;
    const LIVE: usize = cut(E::LIVE, E::SIZE, Self::SIZE, Self::EXPR);
    const WHOLE: Refusable<()> = parts(E::WHOLE, E::LIVE, E::SIZE, Self::EXPR);
}

impl<E: OneAxis, const N: usize> OneAxis for Resize<E, N> {
    type Axis = E::Axis;
    const LIVE: usize = if N < E::SIZE { cut(E::LIVE, E::SIZE, N, Self::EXPR) } else { E::LIVE };
    const WHOLE: Refusable<()> =
        if N < E::SIZE { parts(E::WHOLE, E::LIVE, E::SIZE, Self::EXPR) } else { E::WHOLE };
}

impl<E: OneAxis, const N: usize> OneAxis for Padding<E, N> {
    type Axis = E::Axis;
    const LIVE: usize = E::LIVE;
    const WHOLE: Refusable<()> = E::WHOLE;
}

impl<E: OneAxis, const LEAD: usize, const TRAIL: usize> OneAxis for Margin<E, LEAD, TRAIL> {
    type Axis = E::Axis;
    const LIVE: usize = E::LIVE;
    const WHOLE: Refusable<()> = E::WHOLE;
}

/// An axis with one coordinate per position of `Parts`. Each slice along it gets a copy of the number that the slices
/// of `Parts` held in parts.
#[derive(Clone, Debug)]
pub struct CopiesOf<Parts>(PhantomData<Parts>);

impl<Parts: M + 'static> AxisName for CopiesOf<Parts> {
    const NAME: Ident = Ident::new("COPIES");
    const SIZE: usize = Parts::SIZE;
}

/// An axis that numbers two tensors which are read in turns.
#[derive(Clone, Debug)]
pub struct Turn;

impl AxisName for Turn {
    const NAME: Ident = Ident::new("TURN");
    const SIZE: usize = 2;
}

/// A tensor that is loaded from DM as `Shape`: a tensor of this mapping, `&w`, or a view with its axes in any layout,
/// such as a tile, `w.view().tile::<…>(k)`.
#[diagnostic::on_unimplemented(
    message = "kernels: `{Self}` is not loaded as `{Shape}`",
    note = "give a tensor in DM of this mapping by reference, `&w`, or a view: `w.view()`, `w.view().tile::<…>(k)`"
)]
pub trait InDm<'l, Shape: M> {
    /// The element type.
    type D: Scalar;
    /// The chips.
    type Chip: M + 'l;
    /// The clusters.
    type Cluster: M + 'l;
    /// The slices.
    type Slice: M + 'l;
    /// The elements in each slice.
    type Element: M + 'l;
    /// The view that a stream begins with.
    fn in_dm(self) -> DmTensorView<'l, Self::D, Self::Chip, Self::Cluster, Self::Slice, Self::Element>;
}

impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> InDm<'l, Element>
    for &'l DmTensor<D, Chip, Cluster, Slice, Element>
{
    type D = D;
    type Chip = Chip;
    type Cluster = Cluster;
    type Slice = Slice;
    type Element = Element;
    fn in_dm(self) -> DmTensorView<'l, D, Chip, Cluster, Slice, Element> {
        self.view()
    }
}

impl<'l, D: Scalar, Chip: M + 'l, Cluster: M + 'l, Slice: M + 'l, Element: M + 'l, Shape: M> InDm<'l, Shape>
    for DmTensorView<'l, D, Chip, Cluster, Slice, Element>
{
    type D = D;
    type Chip = Chip;
    type Cluster = Cluster;
    type Slice = Slice;
    type Element = Element;
    fn in_dm(self) -> Self {
        self
    }
}

/// Element types of products, and the parts in which the Contraction Engine takes a row `K`.
///
/// ```text
///   flits      32 bytes      Flits  outside of  Flit       16 bf16, 32 of 8 bits, 64 i4
///   packets    64 bytes      Packets  "     "   Packet     32 bf16, 64 of 8 bits, 128 i4
/// ```
pub trait Multiplied: ContractionCast {
    /// Elements of a packet of 64 bytes: rows are multiples of it.
    const PACKET: usize;
    /// The flits of a row.
    type Flits<K: M>: M;
    /// The elements of a flit.
    type Flit<K: M>: M;
    /// The packets of a row.
    type Packets<K: M>: M;
    /// The elements of a packet.
    type Packet<K: M>: M;
}

macro_rules! multiplied {
    ($($scalar:ident, $flit:literal, $packet:literal;)*) => { $(
        impl Multiplied for $scalar {
            const PACKET: usize = $packet;
            type Flits<K: M> = Stride<K, $flit>;
            type Flit<K: M> = Modulo<K, $flit>;
            type Packets<K: M> = Stride<K, $packet>;
            type Packet<K: M> = Modulo<K, $packet>;
        }
    )* };
}

multiplied! {
    bf16, 16, 32;
    f8e4m3, 32, 64;
    f8e5m2, 32, 64;
    i8, 32, 64;
    i4, 64, 128;
}

/// Flits of 8 numbers of 32 bits: the rows and the outer part of the columns.
pub type Flits<Rows, Columns> = m![{ Rows }, { Columns } / 8];
/// The 8 lanes of a flit.
pub type Lanes<Columns> = m![{ Columns } % 8];
/// Halves of flits, for the float cluster of the Vector Engine.
pub(super) type Halves<Rows, Columns> = m![{ Rows }, { Columns } / 4];
/// The 4 lanes of a half.
pub(super) type HalfLanes<Columns> = m![{ Columns } % 4];

/// Begins a stream of the rows of a tensor in the float cluster of the Vector Engine. `Rows` and `Columns` are parts of
/// the tensor.
macro_rules! enter {
    ($ctx:ident, $x:ident) => {
        ($ctx.main.begin($x.view()).fetch::<f32, Flits<Rows, Columns>, Lanes<Columns>>())
            .collect::<Flits<Rows, Columns>, Lanes<Columns>>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<Halves<Rows, Columns>, HalfLanes<Columns>>()
    };
}
pub(super) use enter;

/// Element types that a helper stores in DM: numbers of 32 bits as they were computed, or a narrower type, rounded once
/// at the end.
///
/// From `f32` to `f32`, `bf16`, `f16`, `f8e4m3` and `f8e5m2`; from `i32` to `i32`, and to `i16` and `i8`, which keep
/// the low bits. The type that the result is bound to decides.
#[diagnostic::on_unimplemented(
    message = "kernels: results of `{D}` are not left in DM as `{Self}`",
    note = "f32 becomes f32, bf16, f16, f8e4m3 or f8e5m2; i32 becomes i32, i16 or i8: give the result a type"
)]
pub trait StoredFrom<D: VeScalar>: Scalar {
    /// Ends a stream of the Vector Engine in DM, at an address that is found.
    #[doc(hidden)]
    fn store<const T: Tu, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: M>(
        stream: VectorFinalTensor<'_, T, D, Chip, Cluster, Slice, Flits<Rows, Columns>, Lanes<Columns>>,
    ) -> DmTensor<Self, Chip, Cluster, Slice, Pair<Rows, Columns>>;

    /// Ends a stream of sums in DM, at an address that is found.
    #[doc(hidden)]
    fn store_sums<const T: Tu, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: M>(
        stream: AccumulationTensor<'_, T, D, Chip, Cluster, Slice, Flits<Rows, Columns>, Lanes<Columns>>,
    ) -> DmTensor<Self, Chip, Cluster, Slice, Pair<Rows, Columns>>;
}

macro_rules! stored {
    ($name:ident, $stream:ident, $d:ty, $target:ty, |$from:ident| { $cast:expr }) => {
        #[track_caller]
        fn $name<const T: Tu, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: M>(
            $from: $stream<'_, T, $d, Chip, Cluster, Slice, Flits<Rows, Columns>, Lanes<Columns>>,
        ) -> DmTensor<$target, Chip, Cluster, Slice, Pair<Rows, Columns>> {
            $cast.commit::<Pair<Rows, Columns>>(AUTO)
        }
    };
}

macro_rules! stored_from {
    ($($d:ident: $target:ident $(# $flit:literal)?;)*) => { $(
        impl StoredFrom<$d> for $target {
            stored!(store, VectorFinalTensor, $d, $target, |stream| {
                stream$(.cast::<$target, Padding<Lanes<Columns>, $flit>>())?
            });
            stored!(store_sums, AccumulationTensor, $d, $target, |stream| {
                stream$(.cast::<$target, Padding<Lanes<Columns>, $flit>>())?
            });
        }
    )* };
}

stored_from! {
    f32: f32;
    f32: bf16 # 16;
    f32: f16 # 16;
    f32: f8e4m3 # 32;
    f32: f8e5m2 # 32;
    i32: i32;
    i32: i16 # 16;
    i32: i8 # 32;
}

/// Refuses rows that are not whole flits of 8 numbers, and units that no stream has.
pub(super) const fn check_rows<Cluster: M, Slice: M, Rows: M, Columns: M>(
    operation: &'static str,
) -> Result<(), PlanError> {
    attempt!(check_units::<Cluster, Slice>(operation));
    if !Columns::SIZE.is_multiple_of(8) {
        refuse!(
            "rows in flits",
            "{}: a row {} has {}, but rows are worked on 8 numbers at a time; help: pad the columns with `# {}`",
            (operation, Columns::EXPR, count(Columns::SIZE, "column"), Columns::SIZE.next_multiple_of(8)),
        );
    }
    let bytes = Rows::SIZE * Columns::SIZE;
    if bytes > spec::DM_BYTES {
        refuse!(
            "rows in DM",
            "{}: {} of {} are more than the {} bytes of DM in a slice; help: spread the rows over more slices, or \
             work on tiles of them",
            (operation, count(Rows::SIZE, "row"), count(Columns::SIZE, "column"), spec::DM_BYTES),
        );
    }
    Ok(())
}

/// Refuses tensors that are not in 2 clusters of 256 slices.
const fn check_units<Cluster: M, Slice: M>(operation: &'static str) -> Result<(), PlanError> {
    if Cluster::SIZE != spec::CLUSTERS || Slice::SIZE != spec::SLICES {
        refuse!(
            "units",
            "{}: the tensor is in {} {} and {} {}, but a chip has {} clusters of {} slices; help: pad: `m![1 # 2]`, \
             `m![A # 256]`",
            operation,
            count(Cluster::SIZE, "cluster"),
            Cluster::EXPR,
            count(Slice::SIZE, "slice"),
            Slice::EXPR,
            spec::CLUSTERS,
            spec::SLICES,
        );
    }
    Ok(())
}

/// Refuses operands that do not fit the vector register file: a number of 32 bits per position, for each of
/// `per_position`.
pub(super) const fn check_row_operands<Rows: M>(
    operation: &'static str,
    position: &'static str,
    per_position: usize,
) -> Result<(), PlanError> {
    let most = spec::VRF_BYTES / (4 * per_position);
    if Rows::SIZE > most {
        refuse!(
            "operands in the register file",
            "{}: {} has {} in a slice, but the vector register file holds the numbers of {}; help: spread them over \
             more slices, or work on tiles of them",
            (operation, Rows::EXPR, count(Rows::SIZE, position), most),
        );
    }
    Ok(())
}

/// Refuses rows and columns whose operands do not fit the vector register file together: `per_row` numbers of 32 bits for each
/// row, and `vectors` for each column.
pub(super) const fn check_operands<Rows: M, Columns: M>(
    operation: &'static str,
    per_row: usize,
    vectors: usize,
) -> Result<(), PlanError> {
    let bytes = 4 * (per_row * Rows::SIZE + vectors * Columns::SIZE);
    if bytes > spec::VRF_BYTES {
        refuse!(
            "operands in the register file",
            "{}: {} of {} have {} of operands in a slice, {} per row and {} per column, but the vector register file \
             holds {}; help: spread the rows over more slices, or a row over several",
            operation,
            count(Rows::SIZE, "row"),
            count(Columns::SIZE, "column"),
            count(bytes, "byte"),
            4 * per_row,
            4 * vectors,
            spec::VRF_BYTES,
        );
    }
    Ok(())
}

/// Refuses a row that is not whole packets of the multipliers.
pub(super) const fn check_packets<D: Multiplied, Cluster: M, Slice: M, K: M>(
    operation: &'static str,
) -> Result<(), PlanError> {
    attempt!(check_units::<Cluster, Slice>(operation));
    if !K::SIZE.is_multiple_of(D::PACKET) {
        refuse!(
            "rows in packets",
            "{}: a row {} has {} of {}, but the multipliers take packets of 64 bytes, {}; help: pad with `# {}` and \
             write zeros there",
            operation,
            K::EXPR,
            count(K::SIZE, "element"),
            D::ELEMENT_TYPE.name(),
            D::PACKET,
            K::SIZE.next_multiple_of(D::PACKET),
        );
    }
    Ok(())
}

/// Stops the compilation with a refusal.
pub(super) const fn accepted(checks: &[Result<(), PlanError>]) {
    if let Err(error) = first_refusal(checks) {
        error.refuse()
    }
}

/// Checks the rules of a helper, before anything else in it: `planned_rules!(accepted(&[…]))`.
#[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
macro_rules! planned_rules {
    ($accepted:expr) => {
        const { $accepted }
    };
}

#[cfg(all(feature = "late-refusals", not(feature = "early-refusals")))]
macro_rules! planned_rules {
    (accepted($checks:expr)) => {
        *$crate::runtime::fault::accept_late(const { &$crate::kernels::layout::first_refusal($checks) })
    };
}
pub(super) use planned_rules;

/// The first refusal, if there is one.
pub(super) const fn first_refusal(checks: &[Result<(), PlanError>]) -> Refusable<()> {
    let mut k = 0;
    while k < checks.len() {
        attempt!(checks[k]);
        k += 1;
    }
    Ok(())
}

/// Refuses rows whose parts in slices and in columns are of two axes.
pub(super) const fn check_parts<Parts: OneAxis, Columns: OneAxis>(
    operation: &'static str,
) -> Result<(), PlanError> {
    let (parts, columns) = (<Parts::Axis as AxisName>::NAME, <Columns::Axis as AxisName>::NAME);
    if !parts.is(&columns) {
        refuse!(
            "parts of rows",
            "{}: a row is spread over the slices {} and has the columns {} in each, which are of two axes, {} and \
             {}; help: the innermost entry of Slice is to be the outer part of the columns: `m![K / 64]` with \
             columns `m![K % 64]`",
            (operation, Parts::EXPR, Columns::EXPR, parts.as_str(), columns.as_str()),
        );
    }
    Ok(())
}
