//! Sums between slices.

use super::layout::{CopiesOf, Flits, Lanes, StoredFrom, accepted, check_rows, planned_rules};
use crate::command::InterSliceReduceOpF32;
use crate::mapping::{M, Pair, Symbol};
use crate::prelude::m;
use crate::runtime::{AUTO, Context};
use crate::scalar::FetchCast;
use crate::tensor::{DmTensor, VrfTensor};

/// Brings a number per row to all slices of the row, as an operand of the stream of the row.
///
/// The copies take the place of the parts of the row. There they have no name of their own, and nothing moves.
#[track_caller]
pub(super) fn to_all_slices<Chip: M, Cluster: M, Kept: M, Parts: M + 'static, Rows: M>(
    ctx: &mut Context,
    row: DmTensor<f32, Chip, Cluster, Pair<Kept, Symbol<CopiesOf<Parts>>>, Pair<Rows, m![1 # 2]>>,
) -> VrfTensor<f32, Chip, Cluster, Pair<Kept, Parts>, Rows> {
    let row = row.relabel::<Chip, Cluster, Pair<Kept, Parts>, Pair<Rows, m![1 # 2]>>();
    (ctx.main.begin(row.view()).fetch::<f32, Rows, m![1 # 2]>()).collect::<Rows, m![1 # 8]>().to_vrf(AUTO)
}

/// `y[…] = Σ x[…]` over neighbouring slices: partial sums of a product whose inner axis is spread over slices.
///
/// ```text
///   x   Slice m![Kept, Parts]    Element m![Rows, Columns]     each slice has its part of the sum
///   y   Slice2                   Element m![Rows2, Columns]
/// ```
///
/// The axis that `Slice2` has in the place of `Parts` decides who gets the sum. With `m![Kept, 1 # 8]` it is the first
/// slice of each group of 8. With `m![Kept, X]`, `X` being a new axis, it is every slice. With an axis of `Rows` each
/// slice gets a part, and `Rows2` lacks that axis. Both follow from the type that the result is bound to.
///
/// One pass of the main context with 8 lanes: `Rows · Columns / 8` cycles, and a cycle of latency per slice of a group.
///
/// Refused while compiling: columns that are no multiple of 8; a `Slice2` that sums nothing, or that sums another part
/// of `Slice` than the innermost one.
///
/// ```
/// use furiosa_visa_std::kernels::sum_over_slices;
/// use furiosa_visa_std::prelude::*;
/// axes![B = 32, J = 8, E = 64];
///
/// /// Slices of 8 hold partial sums; the first one of them gets the whole.
/// #[device(chip = 1)]
/// fn sums(
///     ctx: &mut Context,
///     x: &HbmTensor<f32, m![1], m![B, J, E]>,
/// ) -> HbmTensor<f32, m![1], m![B, E]> {
///     let x = x.to_dm::<m![1 # 2], m![B, J], m![1, E]>(&mut ctx.tdma, AUTO);
///     let y: DmTensor<f32, _, _, m![B, 1 # 8], m![1, E]> = sum_over_slices(ctx, &x);
///     y.to_hbm(&mut ctx.tdma, AUTO)
/// }
///
/// # let x: Vec<f32> = (0..32 * 8 * 64).map(|j| (j % 37) as f32).collect();
/// # let y = pollster::block_on(async {
/// #     let mut ctx = Context::acquire();
/// #     let x = HostTensor::<f32, m![B, J, E]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let y = launch(sums, (&mut *ctx, &x)).await;
/// #     y.to_host::<m![B, E]>(&mut ctx.pdma).await.to_vec()
/// # });
/// // … launched:
/// for (j, y) in y.iter().enumerate() {
///     let (b, e) = (j / 64, j % 64);
///     assert_eq!(*y, (0..8).map(|part| x[(b * 8 + part) * 64 + e]).sum::<f32>());
/// }
/// ```
#[track_caller]
#[inline(never)] // The compiler names the line of a call that it did not inline.
pub fn sum_over_slices<D, Out, Chip: M, Cluster: M, Slice: M, Slice2: M, Rows: M, Rows2: M, Columns: M>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
) -> DmTensor<Out, Chip, Cluster, Slice2, Pair<Rows2, Columns>>
where
    D: FetchCast<f32>,
    Out: StoredFrom<f32>,
{
    planned_rules!(accepted(&[check_rows::<Cluster, Slice, Rows, Columns>("sum_over_slices")]));
    let y = (ctx.main.begin(x.view()).fetch::<f32, Flits<Rows, Columns>, Lanes<Columns>>())
        .collect::<Flits<Rows, Columns>, Lanes<Columns>>()
        .vector_init()
        .vector_inter_slice_reduce::<Slice2, Flits<Rows2, Columns>>(InterSliceReduceOpF32::Add)
        .vector_final();
    Out::store(y)
}
