//! Softmax over the columns of rows.
//!
//! ```text
//!   pass 1   greatest of a row                     ──▶ VRF
//!   pass 2   Σ e^(scale · (x - greatest))          ──▶ VRF
//!   pass 3   e^(scale · (x - greatest)) / sum      ──▶ DM
//! ```

use super::layout::{
    CopiesOf, Flits, HalfLanes, Halves, Lanes, OneAxis, StoredFrom, accepted, check_parts,
    check_row_operands, check_rows, enter, planned_rules,
};
use super::slices::to_all_slices;
use crate::command::{
    BinaryArgMode, FpBinaryOp, FpDivBinaryOp, FpMulAlu, FpUnaryOp, InterSliceReduceOpF32,
    IntraSliceReduceOpF32,
};
use crate::engine::vector::BranchMode;
use crate::mapping::{M, Pair, Symbol};
use crate::prelude::m;
use crate::runtime::{AUTO, Context};
use crate::scalar::FetchCast;
use crate::tensor::DmTensor;

/// Powers of e of rows in the float cluster: `e^(scale · (x - greatest))` for each element and the greatest of its row.
macro_rules! powers {
    ($ctx:ident, $x:ident, $greatest:ident, $scale:ident) => {
        enter!($ctx, $x)
            .vector_fp_binary(FpBinaryOp::SubF, &$greatest)
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), $scale)
            .vector_fp_unary(FpUnaryOp::Exp)
    };
}

/// `y[r, k] = e^(scale · x[r, k]) / Σ e^(scale · x[r, j])` in every slice, each row by itself.
///
/// `scale` is positive: 1, or `1 / √d` of an attention. Columns that are padding do not count. A column that is masked
/// holds a number far below the others, such as `-1e30`, and gets 0; a row must not be masked as a whole. `y` is `f32`,
/// `bf16` or narrower: the type that the result is bound to.
///
/// Three passes of the main context at 4 lanes per cycle: `3 · Rows · Columns / 4` cycles and three times the latency
/// of a pass, about 30. The greatest numbers and the sums go from pass to pass in the vector register file.
///
/// Refused while compiling: columns that are no multiple of 8, or of several axes; more than 1024 rows in a slice.
///
/// ```
/// use furiosa_visa_std::kernels::softmax;
/// use furiosa_visa_std::prelude::*;
/// axes![R = 512, K = 64];
/// type X = HbmTensor<f32, m![1], m![R, K]>;
///
/// #[device(chip = 1)]
/// fn rows(ctx: &mut Context, x: &X) -> X {
///     let x = x.to_dm::<m![1 # 2], m![R / 2], m![R % 2, K]>(&mut ctx.tdma, AUTO);
///     let y: DmTensor<f32, _, _, _, _> = softmax(ctx, &x, 1.0);
///     y.to_hbm(&mut ctx.tdma, AUTO)
/// }
///
/// # let x: Vec<f32> = (0..512 * 64).map(|j| (j % 37) as f32 / 8.0).collect();
/// # let y = pollster::block_on(async {
/// #     let mut ctx = Context::acquire();
/// #     let x: X = HostTensor::<f32, m![R, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let y = launch(rows, (&mut *ctx, &x)).await;
/// #     y.to_host::<m![R, K]>(&mut ctx.pdma).await.to_vec()
/// # });
/// // … launched:
/// for (x, y) in x.chunks(64).zip(y.chunks(64)) {
///     let sum: f64 = x.iter().map(|x| f64::from(*x).exp()).sum();
///     assert!(x.iter().zip(y).all(|(x, y)| (f64::from(*y) - f64::from(*x).exp() / sum).abs() < 1e-6));
/// }
/// ```
#[track_caller]
#[inline(never)] // The compiler names the line of a call that it did not inline.
pub fn softmax<D, Out, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    scale: f32,
) -> DmTensor<Out, Chip, Cluster, Slice, Pair<Rows, Columns>>
where
    D: FetchCast<f32>,
    Out: StoredFrom<f32>,
{
    planned_rules!(accepted(&[
        check_rows::<Cluster, Slice, Rows, Columns>("softmax"),
        check_row_operands::<Rows>("softmax", "row", 2),
    ]));
    let greatest = enter!(ctx, x)
        .vector_intra_slice_reduce::<Columns::Axis, Rows, m![1 # 4]>(IntraSliceReduceOpF32::Max)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<Rows>(AUTO);
    let sum = powers!(ctx, x, greatest, scale)
        .vector_intra_slice_reduce::<Columns::Axis, Rows, m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<Rows>(AUTO);
    let y = powers!(ctx, x, greatest, scale)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), &sum)
        .vector_concat::<Flits<Rows, Columns>, Lanes<Columns>>()
        .vector_final();
    Out::store(y)
}

/// [`softmax`] of rows that are spread over slices: `Parts` are the slices of a row, the innermost part of `Slice`.
///
/// `Parts` and `Columns` are of one axis. Maxima and sums go between slices: after each of the first two passes every
/// slice of a row gets the number of the whole row, at a cycle of latency per slice of the row.
///
/// Five passes of the main context: the three of [`softmax`], and two short ones that bring numbers of whole rows to
/// the vector register file, with `Rows` steps each.
///
/// Refused while compiling: see [`softmax`].
#[track_caller]
#[inline(never)]
pub fn softmax_over_slices<D, Out, Chip: M, Cluster: M, Kept: M, Parts: OneAxis, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Pair<Kept, Parts>, Pair<Rows, Columns>>,
    scale: f32,
) -> DmTensor<Out, Chip, Cluster, Pair<Kept, Parts>, Pair<Rows, Columns>>
where
    D: FetchCast<f32>,
    Out: StoredFrom<f32>,
{
    planned_rules!(accepted(&[
        check_rows::<Cluster, Pair<Kept, Parts>, Rows, Columns>("softmax_over_slices"),
        check_parts::<Parts, Columns>("softmax_over_slices"),
        check_row_operands::<Rows>("softmax_over_slices", "row", 2),
    ]));
    let greatest = enter!(ctx, x)
        .vector_intra_slice_reduce::<Columns::Axis, Rows, m![1 # 4]>(IntraSliceReduceOpF32::Max)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_inter_slice_reduce::<Pair<Kept, Symbol<CopiesOf<Parts>>>, Rows>(InterSliceReduceOpF32::Max)
        .vector_final()
        .commit::<m![{ Rows }, 1 # 2]>(AUTO);
    let greatest = to_all_slices(ctx, greatest);
    let sum = powers!(ctx, x, greatest, scale)
        .vector_intra_slice_reduce::<Columns::Axis, Rows, m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_inter_slice_reduce::<Pair<Kept, Symbol<CopiesOf<Parts>>>, Rows>(InterSliceReduceOpF32::Add)
        .vector_final()
        .commit::<m![{ Rows }, 1 # 2]>(AUTO);
    let sum = to_all_slices(ctx, sum);
    let y = powers!(ctx, x, greatest, scale)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), &sum)
        .vector_concat::<Flits<Rows, Columns>, Lanes<Columns>>()
        .vector_final();
    Out::store(y)
}
