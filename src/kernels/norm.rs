//! Norms: rows of mean square 1, or of mean 0 and variance 1.
//!
//! ```text
//!   rms_norm                                       layer_norm
//!                                                  pass 1   mean of x                      ──▶ VRF
//!   pass 1   mean of x²              ──▶ DM        pass 2   mean of (x - mean)²            ──▶ DM
//!   pass 2   √(mean + ε)             ──▶ VRF       pass 3   √(mean + ε)                    ──▶ VRF
//!   pass 3   x · scale / root        ──▶ DM        pass 4   (x - mean) · scale / root + shift   ──▶ DM
//! ```
//!
//! The root takes a pass of its own: the float cluster comes before the reduce, and its root unit does not come again.

use super::layout::{
    CopiesOf, Flits, HalfLanes, Halves, Lanes, OneAxis, StoredFrom, accepted, check_operands, check_parts,
    check_row_operands, check_rows, enter, planned_rules,
};
use crate::command::{
    BinaryArgMode, ClipBinaryOpF32, FpBinaryOp, FpDivBinaryOp, FpMulAlu, FpUnaryOp, InterSliceReduceOpF32,
    IntraSliceReduceOpF32,
};
use crate::engine::vector::BranchMode;
use crate::error::PlanError;
use crate::mapping::{M, Pair, Symbol};
use crate::prelude::m;
use crate::runtime::late::when_late;
use crate::runtime::{AUTO, Context};
use crate::scalar::FetchCast;
use crate::tensor::{DmTensor, VrfTensor};

/// The quotient `stream / operand`.
macro_rules! divided {
    ($stream:expr, $by:expr) => {
        $stream.vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), $by)
    };
}

/// The mean of `x²` of each row, or of `(x - mean)²`, in the first of two places.
macro_rules! mean_square {
    ($stream:expr, $count:expr) => {
        divided!(
            $stream
                .vector_fp_binary_with_mode(
                    FpBinaryOp::MulF(FpMulAlu::Mul0),
                    BinaryArgMode::Mode00,
                    0.0
                )
                .vector_intra_slice_reduce::<Columns::Axis, Rows, m![1 # 4]>(IntraSliceReduceOpF32::Add),
            $count
        )
        .vector_pad_way8::<m![1 # 8]>()
    };
}

/// `√(mean + epsilon)` of each row.
#[track_caller]
fn root<Chip: M, Cluster: M, Slice: M, Rows: M>(
    ctx: &mut Context,
    mean: &DmTensor<f32, Chip, Cluster, Slice, Pair<Rows, m![1 # 2]>>,
    epsilon: f32,
) -> VrfTensor<f32, Chip, Cluster, Slice, Rows> {
    (ctx.main.begin(mean.view()).fetch::<f32, Rows, m![1 # 2]>())
        .collect::<Rows, m![1 # 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![1 # 4]>()
        .vector_fp_binary(FpBinaryOp::AddF, epsilon)
        .vector_fp_unary(FpUnaryOp::Sqrt)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf(AUTO)
}

/// Refuses rows and columns whose operands do not fit the vector register file together, and columns without a mean.
pub(super) const fn check_norm<Cluster: M, Slice: M, Rows: M, Columns: OneAxis>(
    operation: &'static str,
    per_row: usize,
    vectors: usize,
) -> Result<(), PlanError> {
    // Evaluated here, so that a refusal appears at the line of the helper's caller.
    let _ = Columns::LIVE;
    when_late! { crate::error::attempt!(Columns::WHOLE); }
    crate::error::attempt!(check_rows::<Cluster, Slice, Rows, Columns>(operation));
    crate::error::attempt!(check_row_operands::<Rows>(operation, "row", per_row));
    check_operands::<Rows, Columns>(operation, per_row, vectors)
}

/// `√(mean of x[r]² + epsilon)` of each row in every slice: the divisor of [`rms_norm`], for a kernel that divides in a
/// pass of its own.
///
/// Two passes of the main context: one at 4 lanes per cycle, `Rows · Columns / 4` cycles, and one of `Rows` steps.
///
/// Refused while compiling: see [`rms_norm`].
#[track_caller]
#[inline(never)] // The compiler names the line of a call that it did not inline.
pub fn root_mean_square<D, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    epsilon: f32,
) -> VrfTensor<f32, Chip, Cluster, Slice, Rows>
where
    D: FetchCast<f32>,
{
    planned_rules!(accepted(&[check_norm::<Cluster, Slice, Rows, Columns>("root_mean_square", 1, 0)]));
    let mean = mean_square!(enter!(ctx, x), Columns::LIVE as f32)
        .vector_final()
        .commit::<Pair<Rows, m![1 # 2]>>(AUTO);
    root(ctx, &mean, epsilon)
}

/// `y[r, k] = x[r, k] · scale[k] / √(mean of x[r]² + epsilon)` in every slice, each row by itself.
///
/// `scale` lies in the vector register file: see [`load_operand`](super::load_operand). Without it, nothing is
/// multiplied. `x` is widened to `f32` by the fetch; `y` is `f32`, `bf16` or narrower: the type that the result is
/// bound to. Columns that are padding do not count.
///
/// Three passes of the main context: two at 4 lanes per cycle, `2 · Rows · Columns / 4` cycles, and one of `Rows`
/// steps.
///
/// Refused while compiling: columns that are no multiple of 8, or of several axes; rows and columns whose operands,
/// `4 · (Rows + Columns)` bytes, do not fit the vector register file.
///
/// ```
/// use furiosa_visa_std::kernels::{load_operand, rms_norm};
/// use furiosa_visa_std::prelude::*;
/// axes![R = 512, K = 64];
/// type X = HbmTensor<bf16, m![1], m![R, K]>;
///
/// #[device(chip = 1)]
/// fn normed(ctx: &mut Context, x: &X, scale: &HbmTensor<bf16, m![1], m![K]>) -> X {
///     let x = x.to_dm::<m![1 # 2], m![R / 2], m![R % 2, K]>(&mut ctx.tdma, AUTO);
///     let scale = scale.to_dm::<m![1 # 2], m![R / 2], m![K]>(&mut ctx.tdma, AUTO);
///     let scale = load_operand(ctx, &scale);
///     let y: DmTensor<bf16, _, _, _, _> = rms_norm(ctx, &x, Some(&scale), 1e-5);
///     y.to_hbm(&mut ctx.tdma, AUTO)
/// }
///
/// # let x: Vec<bf16> = (0..512 * 64).map(|j| bf16::from_f32((j % 37) as f32 - 18.0)).collect();
/// # let scale: Vec<bf16> = (0..64).map(|j| bf16::from_f32((j % 5) as f32)).collect();
/// # let y = pollster::block_on(async {
/// #     let mut ctx = Context::acquire();
/// #     let x: X = HostTensor::<bf16, m![R, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let scale = HostTensor::<bf16, m![K]>::from_slice(&scale).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let y = launch(normed, (&mut *ctx, &x, &scale)).await;
/// #     y.to_host::<m![R, K]>(&mut ctx.pdma).await.to_vec()
/// # });
/// // … launched:
/// for (x, y) in x.chunks(64).zip(y.chunks(64)) {
///     let mean = x.iter().map(|x| x.to_f32().powi(2)).sum::<f32>() / 64.0;
///     for ((x, y), scale) in x.iter().zip(y).zip(&scale) {
///         let exact = x.to_f32() * scale.to_f32() / (mean + 1e-5).sqrt();
///         assert!((y.to_f32() - exact).abs() <= exact.abs() / 250.0);
///     }
/// }
/// ```
#[track_caller]
#[inline(never)]
pub fn rms_norm<D, Out, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    scale: Option<&VrfTensor<f32, Chip, Cluster, Slice, Columns>>,
    epsilon: f32,
) -> DmTensor<Out, Chip, Cluster, Slice, Pair<Rows, Columns>>
where
    D: FetchCast<f32>,
    Out: StoredFrom<f32>,
{
    planned_rules!(accepted(&[check_norm::<Cluster, Slice, Rows, Columns>("rms_norm", 1, 1)]));
    let root = root_mean_square(ctx, x, epsilon);
    scaled(ctx, x, scale, &root)
}

/// `x · scale / root`.
#[track_caller]
fn scaled<D, Out, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    scale: Option<&VrfTensor<f32, Chip, Cluster, Slice, Columns>>,
    root: &VrfTensor<f32, Chip, Cluster, Slice, Rows>,
) -> DmTensor<Out, Chip, Cluster, Slice, Pair<Rows, Columns>>
where
    D: FetchCast<f32>,
    Out: StoredFrom<f32>,
{
    let stream = enter!(ctx, x);
    let y = match scale {
        Some(scale) => divided!(stream.vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), scale), root),
        None => divided!(stream, root),
    };
    Out::store(y.vector_concat::<Flits<Rows, Columns>, Lanes<Columns>>().vector_final())
}

/// [`rms_norm`] of rows that are spread over slices: `Parts` are the slices of a row, the innermost part of `Slice`.
///
/// `Parts` and `Columns` are of one axis; `scale` has the columns of its slice. The means of the parts are added
/// between slices, at a cycle of latency per slice of the row, and every slice of the row takes the root of the sum.
///
/// Refused while compiling: see [`rms_norm`].
#[track_caller]
#[inline(never)]
pub fn rms_norm_over_slices<D, Out, Chip: M, Cluster: M, Kept: M, Parts: OneAxis, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Pair<Kept, Parts>, Pair<Rows, Columns>>,
    scale: Option<&VrfTensor<f32, Chip, Cluster, Pair<Kept, Parts>, Columns>>,
    epsilon: f32,
) -> DmTensor<Out, Chip, Cluster, Pair<Kept, Parts>, Pair<Rows, Columns>>
where
    D: FetchCast<f32>,
    Out: StoredFrom<f32>,
{
    planned_rules!(accepted(&[
        check_norm::<Cluster, Pair<Kept, Parts>, Rows, Columns>("rms_norm_over_slices", 1, 1),
        check_parts::<Parts, Columns>("rms_norm_over_slices"),
    ]));
    let mean = mean_square!(enter!(ctx, x), (Parts::LIVE * Columns::LIVE) as f32)
        .vector_inter_slice_reduce::<Pair<Kept, Symbol<CopiesOf<Parts>>>, Rows>(InterSliceReduceOpF32::Add)
        .vector_final()
        .commit::<Pair<Rows, m![1 # 2]>>(AUTO)
        .relabel::<Chip, Cluster, Pair<Kept, Parts>, Pair<Rows, m![1 # 2]>>();
    let root = root(ctx, &mean, epsilon);
    scaled(ctx, x, scale, &root)
}

/// `y[r, k] = (x[r, k] - mean) · scale[k] / √(variance + epsilon) + shift[k]` in every slice, with the mean and the
/// variance of each row.
///
/// `scale` and `shift` lie in the vector register file: see [`load_operand`](super::load_operand). The variance is the
/// mean of `(x - mean)²`, which keeps its digits where the mean is large. Types and columns are as in [`rms_norm`].
///
/// Four passes of the main context: three at 4 lanes per cycle, `3 · Rows · Columns / 4` cycles, and one of `Rows`
/// steps.
///
/// Refused while compiling: columns that are no multiple of 8, or of several axes; rows and columns whose operands,
/// `8 · (Rows + Columns)` bytes, do not fit the vector register file.
///
/// ```
/// use furiosa_visa_std::kernels::{layer_norm, load_operand};
/// use furiosa_visa_std::prelude::*;
/// axes![R = 512, K = 64];
/// type X = HbmTensor<f32, m![1], m![R, K]>;
///
/// #[device(chip = 1)]
/// fn normed(ctx: &mut Context, x: &X, ones: &HbmTensor<f32, m![1], m![K]>) -> X {
///     let x = x.to_dm::<m![1 # 2], m![R / 2], m![R % 2, K]>(&mut ctx.tdma, AUTO);
///     let ones = ones.to_dm::<m![1 # 2], m![R / 2], m![K]>(&mut ctx.tdma, AUTO);
///     let ones = load_operand(ctx, &ones);
///     let y: DmTensor<f32, _, _, _, _> = layer_norm(ctx, &x, &ones, &ones, 0.0);
///     y.to_hbm(&mut ctx.tdma, AUTO)
/// }
///
/// # let x: Vec<f32> = (0..512 * 64).map(|j| (j % 37) as f32 + 1000.0).collect();
/// # let y = pollster::block_on(async {
/// #     let mut ctx = Context::acquire();
/// #     let x: X = HostTensor::<f32, m![R, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let ones = HostTensor::<f32, m![K]>::from_slice(&[1.0; 64]).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let y = launch(normed, (&mut *ctx, &x, &ones)).await;
/// #     y.to_host::<m![R, K]>(&mut ctx.pdma).await.to_vec()
/// # });
/// // … launched: rows of mean 1 and variance 1.
/// for y in y.chunks(64) {
///     let mean = y.iter().sum::<f32>() / 64.0;
///     let variance = y.iter().map(|y| (y - 1.0).powi(2)).sum::<f32>() / 64.0;
///     assert!((mean - 1.0).abs() < 1e-4 && (variance - 1.0).abs() < 1e-4);
/// }
/// ```
#[track_caller]
#[inline(never)]
pub fn layer_norm<D, Out, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    scale: &VrfTensor<f32, Chip, Cluster, Slice, Columns>,
    shift: &VrfTensor<f32, Chip, Cluster, Slice, Columns>,
    epsilon: f32,
) -> DmTensor<Out, Chip, Cluster, Slice, Pair<Rows, Columns>>
where
    D: FetchCast<f32>,
    Out: StoredFrom<f32>,
{
    planned_rules!(accepted(&[check_norm::<Cluster, Slice, Rows, Columns>("layer_norm", 2, 2)]));
    let count = Columns::LIVE as f32;
    let sums = enter!(ctx, x)
        .vector_intra_slice_reduce::<Columns::Axis, Rows, m![1 # 4]>(IntraSliceReduceOpF32::Add);
    let mean = divided!(sums, count).vector_pad_way8::<m![1 # 8]>().vector_final().to_vrf::<Rows>(AUTO);
    let variance = mean_square!(enter!(ctx, x).vector_fp_binary(FpBinaryOp::SubF, &mean), count)
        .vector_final()
        .commit::<Pair<Rows, m![1 # 2]>>(AUTO);
    let root = root(ctx, &variance, epsilon);
    let centred = enter!(ctx, x)
        .vector_fp_binary(FpBinaryOp::SubF, &mean)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), scale);
    let y = divided!(centred, &root)
        .vector_concat::<Flits<Rows, Columns>, Lanes<Columns>>()
        .vector_clip(ClipBinaryOpF32::Add, shift)
        .vector_final();
    Out::store(y)
}
