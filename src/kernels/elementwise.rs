//! Two tensors, element by element.

use super::layout::{Flits, HalfLanes, Halves, Lanes, StoredFrom, Turn, accepted, check_rows, planned_rules};
use crate::command::{ClipBinaryOpF32, FpBinaryOp, FpMulAlu};
use crate::mapping::{M, Pair};
use crate::prelude::m;
use crate::runtime::Context;
use crate::scalar::FetchCast;
use crate::tensor::DmTensor;

/// Interleaves two tensors: each flit of the first one is followed by a flit of the second one.
macro_rules! side_by_side {
    ($ctx:ident, $a:ident, $b:ident) => {
        ($ctx.main.begin_interleaved::<Turn, _, _, _, _, _>($a.view(), $b.view()))
            .fetch::<f32, m![{ Rows }, { Columns } / 8, Turn], Lanes<Columns>>()
            .collect::<m![{ Rows }, { Columns } / 8, Turn], Lanes<Columns>>()
            .vector_init()
            .vector_intra_slice_unzip::<Turn, m![{ Rows }, { Columns } / 8, 1 # 2], Flits<Rows, Columns>>()
    };
}

/// `y = a + b` in every slice: a residual.
///
/// `a` and `b` are widened to `f32` by the fetch, and added in `f32`; `y` is `f32`, `bf16` or narrower: the type that
/// the result is bound to. One pass of the main context with 8 lanes: `2 · Rows · Columns / 8` cycles, bound by the
/// fetch of both.
///
/// Refused while compiling: columns that are no multiple of 8.
///
/// ```
/// use furiosa_visa_std::kernels::{add, multiply};
/// use furiosa_visa_std::prelude::*;
/// axes![R = 512, K = 64];
/// type X = HbmTensor<bf16, m![1], m![R, K]>;
///
/// #[device(chip = 1)]
/// fn sum_times(ctx: &mut Context, a: &X, b: &X) -> X {
///     let [a, b] = [a, b].map(|tensor| tensor.to_dm::<m![1 # 2], m![R / 2], m![R % 2, K]>(&mut ctx.tdma, AUTO));
///     let sum: DmTensor<bf16, _, _, _, _> = add(ctx, &a, &b);
///     let y: DmTensor<bf16, _, _, _, _> = multiply(ctx, &sum, &b);
///     y.to_hbm(&mut ctx.tdma, AUTO)
/// }
///
/// # let a: Vec<bf16> = (0..512 * 64).map(|j| bf16::from_f32((j % 7) as f32)).collect();
/// # let b: Vec<bf16> = (0..512 * 64).map(|j| bf16::from_f32((j % 5) as f32)).collect();
/// # let y = pollster::block_on(async {
/// #     let mut ctx = Context::acquire();
/// #     let a: X = HostTensor::<bf16, m![R, K]>::from_slice(&a).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let b: X = HostTensor::<bf16, m![R, K]>::from_slice(&b).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let y = launch(sum_times, (&mut *ctx, &a, &b)).await;
/// #     y.to_host::<m![R, K]>(&mut ctx.pdma).await.to_vec()
/// # });
/// // … launched, with small whole numbers:
/// for (y, (a, b)) in y.iter().zip(a.iter().zip(&b)) {
///     assert_eq!(y.to_f32(), (a.to_f32() + b.to_f32()) * b.to_f32());
/// }
/// ```
#[track_caller]
#[inline(never)] // The compiler names the line of a call that it did not inline.
pub fn add<D, Out, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: M>(
    ctx: &mut Context,
    a: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    b: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
) -> DmTensor<Out, Chip, Cluster, Slice, Pair<Rows, Columns>>
where
    D: FetchCast<f32>,
    Out: StoredFrom<f32>,
{
    planned_rules!(accepted(&[check_rows::<Cluster, Slice, Rows, Columns>("add")]));
    Out::store(side_by_side!(ctx, a, b).vector_clip_zip(ClipBinaryOpF32::Add).vector_final())
}

/// `y = a · b` in every slice: a gate.
///
/// As [`add`], but with the four lanes of the float cluster: `Rows · Columns / 2` cycles.
#[track_caller]
#[inline(never)]
pub fn multiply<D, Out, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: M>(
    ctx: &mut Context,
    a: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    b: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
) -> DmTensor<Out, Chip, Cluster, Slice, Pair<Rows, Columns>>
where
    D: FetchCast<f32>,
    Out: StoredFrom<f32>,
{
    planned_rules!(accepted(&[check_rows::<Cluster, Slice, Rows, Columns>("multiply")]));
    let y = side_by_side!(ctx, a, b)
        .vector_split::<Halves<Rows, Columns>, HalfLanes<Columns>>()
        .vector_fp_zip(FpBinaryOp::MulF(FpMulAlu::Mul0))
        .vector_concat::<Flits<Rows, Columns>, Lanes<Columns>>()
        .vector_final();
    Out::store(y)
}
