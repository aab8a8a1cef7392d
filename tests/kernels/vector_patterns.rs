//! Functions of the Vector Engine as kernels are written with them: activations, normalisation, softmax; against f64.
//!
//! A correctly rounded operation is off by at most `U` of its result. Bounds count the roundings in a row.

use crate::{Cluster, block_on, code, init};
use furiosa_visa_std::clock::Report;
use furiosa_visa_std::clock::record::VectorUse;
use furiosa_visa_std::prelude::*;

axes![U = 6144, Q = 256, W = 40, L = 8, G2 = 2];

/// The unit roundoff of f32.
const ROUNDOFF: f64 = 1.0 / (1 << 24) as f64;

/// Between `-scale` and `scale`.
fn floats(seed: u32, count: usize, scale: f32) -> Vec<f32> {
    (0..count).map(|k| (code(seed, k) as f32 / u32::MAX as f32 - 0.5) * 2.0 * scale).collect()
}

/// Compares with exact values: each may be off by so many roundings.
#[track_caller]
fn assert_near(found: &[Opt<f32>], exact: &[f64], roundings: f64) {
    assert_eq!(found.len(), exact.len());
    for (k, (found, exact)) in found.iter().zip(exact).enumerate() {
        let found = f64::from(found.unwrap());
        // A little more for products of roundings.
        let bound = roundings * ROUNDOFF * 1.001 * exact.abs();
        assert!((found - exact).abs() <= bound, "element {k} is {found}, exactly {exact}");
    }
    assert!(exact.iter().filter(|x| **x != 0.0).count() * 3 > exact.len());
}

/// What the last pass that ended in this call took of the engine.
#[track_caller]
fn assert_used(report: &Report, operation: &str, way: usize, lanes: usize, units: &[RngdAlu]) {
    let passes = report.records.iter().filter(|record| record.operation == operation);
    let own = passes.filter_map(|record| record.amount.vector.as_ref()).next_back();
    assert_eq!(own, Some(&VectorUse { way, lanes, units: units.to_vec() }));
    let names: Vec<&str> = units.iter().map(|unit| unit.name()).collect();
    let row = format!("| {way}   | {lanes} of {way}     | {} of 19   | {} ", units.len(), names.join(", "));
    let text = report.full().to_string();
    assert!(text.contains("lanes and units (ALUs) of the Vector Engine"), "{text}");
    assert!(text.contains(&row), "{row}\n{text}");
}

/// Integers with 8 lanes: an operand per lane, the same at all times.
fn affine_clamp<'l, const T: Tu>(
    x: CollectTensor<'l, T, i32, m![1], m![1 # 2], m![U / 24], m![U / 8 % 3], m![U % 8]>,
    b: &VrfTensor<i32, m![1], m![1 # 2], m![U / 24], m![U % 8]>,
) -> VectorFinalTensor<'l, T, i32, m![1], m![1 # 2], m![U / 24], m![U / 8 % 3], m![U % 8]> {
    x.vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp(FxpBinaryOp::MulInt, 3)
        .vector_fxp(FxpBinaryOp::SubFxp, b)
        .vector_clip(ClipBinaryOpI32::Max, -500)
        .vector_clip(ClipBinaryOpI32::Min, 500)
        .vector_final()
}

#[test]
fn an_affine_function_that_is_clamped() {
    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<i32, m![1], m![U]>,
        b: &HbmTensor<i32, m![1], m![U / 24, U % 8]>,
    ) -> HbmTensor<i32, m![1], m![U]> {
        let x = x.to_dm::<Cluster, m![U / 24], m![U % 24]>(&mut ctx.tdma, 0);
        let b = b.to_dm::<Cluster, m![U / 24], m![U % 8]>(&mut ctx.tdma, 1024);
        let b = (ctx.sub.begin(b.view()).fetch::<i32, m![1], m![U % 8]>())
            .collect::<m![1], m![U % 8]>()
            .to_vrf(0);
        let x = (ctx.main.begin(x.view()).fetch::<i32, m![U / 8 % 3], m![U % 8]>())
            .collect::<m![U / 8 % 3], m![U % 8]>();
        affine_clamp(x, &b).commit::<m![U % 24]>(2048).to_hbm(&mut ctx.tdma, 1 << 20)
    }
    block_on(async {
        let mut ctx = Context::acquire();
        let x: Vec<i32> = (0..U::SIZE).map(|k| code(1, k) as i32 % 400).collect();
        let b: Vec<i32> = (0..2048).map(|k| code(2, k) as i32 % 400).collect();
        let x_hbm = HostTensor::<i32, m![U]>::from_buf(init(&x)).to_hbm(&mut ctx.pdma, 0).await;
        let b_hbm =
            HostTensor::<i32, m![U / 24, U % 8]>::from_buf(init(&b)).to_hbm(&mut ctx.pdma, 1 << 16).await;
        let y = launch(kernel, (&mut *ctx, &x_hbm, &b_hbm)).await;
        let y = y.to_host::<m![U]>(&mut ctx.pdma).await.to_buf();
        let expected: Vec<i32> =
            (0..U::SIZE).map(|u| (3 * x[u] - b[u / 24 * 8 + u % 8]).clamp(-500, 500)).collect();
        crate::assert_same(&y, &expected);
        use RngdAlu::{ClipMax, ClipMin, FxpAdd, FxpMul};
        assert_used(&ctx.report(), "commit", 8, 8, &[FxpMul, FxpAdd, ClipMax, ClipMin]);
    });
}

/// The greatest over time, per slice and lane.
fn peak<'l, const T: Tu>(
    x: CollectTensor<'l, T, f32, m![1], m![1 # 2], m![Q], m![W], m![L]>,
) -> VectorFinalTensor<'l, T, f32, m![1], m![1 # 2], m![Q], m![1], m![L]> {
    x.vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![W, L / 4], m![L % 4]>()
        .vector_intra_slice_reduce::<W, m![L / 4], m![L % 4]>(IntraSliceReduceOpF32::Max)
        .vector_concat::<m![1], m![L]>()
        .vector_final()
}

/// Two groups: the sigmoid of one times the other.
fn gate<'l, const T: Tu>(
    x: CollectTensor<'l, T, f32, m![1], m![1 # 2], m![Q], m![W, G2], m![L]>,
) -> VectorFinalTensor<'l, T, f32, m![1], m![1 # 2], m![Q], m![W], m![L]> {
    x.vector_init()
        .vector_intra_slice_unzip::<G2, m![W, 1 # 2], m![W]>()
        .vector_split::<m![W, L / 4], m![L % 4]>()
        .vector_fp_unary(FpUnaryOp::Sigmoid, true, false)
        .vector_fp_zip(FpBinaryOp::MulF(FpMulAlu::Mul1))
        .vector_concat::<m![W], m![L]>()
        .vector_final()
}

type Stack = HbmTensor<f32, m![1], m![Q, W, L]>;

#[test]
fn a_peak_and_a_gate() {
    #[device(chip = 1)]
    fn peaks(ctx: &mut Context, x: &Stack) -> HbmTensor<f32, m![1], m![Q, L]> {
        let x = x.to_dm::<Cluster, m![Q], m![W, L]>(&mut ctx.tdma, 0);
        let y = peak(ctx.main.begin(x.view()).fetch::<f32, m![W], m![L]>().collect::<m![W], m![L]>());
        // 80 packets of 4 lanes go in, 2 come out.
        let explanation = y.explain();
        let packets: Vec<_> = explanation.rows.iter().map(|row| (row.packets, row.lanes)).collect();
        assert_eq!(packets, [(40, 8), (40, 8), (80, 4), (2, 4), (1, 8)]);
        assert_eq!((explanation.units, explanation.cycles), (1, 80));
        y.commit::<m![L]>(1 << 12).to_hbm(&mut ctx.tdma, 1 << 22)
    }
    #[device(chip = 1)]
    fn gates(ctx: &mut Context, a: &Stack, b: &Stack) -> Stack {
        let a = a.to_dm::<Cluster, m![Q], m![W, L]>(&mut ctx.tdma, 0);
        let b = b.to_dm::<Cluster, m![Q], m![W, L]>(&mut ctx.tdma, 1 << 12);
        let both = (ctx.main.begin_interleaved::<G2, _, _, _, _, _>(a.view(), b.view()))
            .fetch::<f32, m![W, G2], m![L]>()
            .collect::<m![W, G2], m![L]>();
        gate(both).commit::<m![W, L]>(1 << 13).to_hbm(&mut ctx.tdma, 1 << 22)
    }
    block_on(async {
        let mut ctx = Context::acquire();
        let count = Q::SIZE * W::SIZE * L::SIZE;
        let (a, b) = (floats(3, count, 4.0), floats(4, count, 4.0));
        let a_hbm: Stack = HostTensor::<f32, m![Q, W, L]>::from_buf(init(&a)).to_hbm(&mut ctx.pdma, 0).await;
        let b_hbm: Stack =
            HostTensor::<f32, m![Q, W, L]>::from_buf(init(&b)).to_hbm(&mut ctx.pdma, 1 << 20).await;
        let y = launch(peaks, (&mut *ctx, &a_hbm)).await.to_host::<m![Q, L]>(&mut ctx.pdma).await.to_buf();
        let greatest = |k: usize| (0..40).map(|w| a[(k / 8 * 40 + w) * 8 + k % 8]).fold(f32::MIN, f32::max);
        crate::assert_same(&y, &(0..2048).map(greatest).collect::<Vec<_>>());
        assert_used(&ctx.report(), "commit", 4, 4, &[RngdAlu::ReduceAccTree]);

        let y = launch(gates, (&mut *ctx, &a_hbm, &b_hbm)).await;
        let y = y.to_host::<m![Q, W, L]>(&mut ctx.pdma).await.to_buf();
        let exact: Vec<f64> =
            a.iter().zip(&b).map(|(a, b)| f64::from(*b) / (1.0 + (-f64::from(*a)).exp())).collect();
        assert_near(&y, &exact, 2.0);
        assert_used(&ctx.report(), "commit", 4, 4, &[RngdAlu::FpFpu, RngdAlu::FpMul1]);
    });
}

/// Rows of 64, one per slice.
mod rows {
    use super::*;

    axes![S = 256, K = 64];
    type Rows = HbmTensor<f32, m![1], m![S, K]>;
    type Steps = m![K / 8];
    type Lanes = m![K % 8];
    type HalfSteps = m![K / 4];
    type Half = m![K % 4];

    /// A stream of the rows in the engine.
    macro_rules! enter {
        ($ctx:ident, $x:ident) => {
            (($ctx.main).begin($x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
        };
    }

    #[device(chip = 1)]
    fn clamp(ctx: &mut Context, x: &Rows) -> Rows {
        let x = x.to_dm::<Cluster, m![S], m![K]>(&mut ctx.tdma, 0);
        (enter!(ctx, x).vector_clip(ClipBinaryOpF32::Max, 0.0).vector_clip(ClipBinaryOpF32::Min, 6.0))
            .vector_final()
            .commit::<m![K]>(4096)
            .to_hbm(&mut ctx.tdma, 1 << 20)
    }

    #[device(chip = 1)]
    fn silu(ctx: &mut Context, x: &Rows) -> Rows {
        let x = x.to_dm::<Cluster, m![S], m![K]>(&mut ctx.tdma, 0);
        enter!(ctx, x)
            .vector_split::<HalfSteps, Half>()
            .vector_stash()
            .vector_fp_unary(FpUnaryOp::Sigmoid)
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), Stash)
            .vector_concat::<Steps, Lanes>()
            .vector_final()
            .commit::<m![K]>(4096)
            .to_hbm(&mut ctx.tdma, 1 << 20)
    }

    /// `1 / (20 - x)`: arguments in the other order, the operand as a list.
    #[device(chip = 1)]
    fn inverse(ctx: &mut Context, x: &Rows) -> Rows {
        let x = x.to_dm::<Cluster, m![S], m![K]>(&mut ctx.tdma, 0);
        let twenty = ArrayVec::new([VeBranchOperand::always(VeRhs::constant(20.0f32))]);
        enter!(ctx, x)
            .vector_split::<HalfSteps, Half>()
            .vector_fp_binary_with_mode(FpBinaryOp::SubF, BinaryArgMode::Mode10, twenty)
            .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode10), 1.0)
            .vector_concat::<Steps, Lanes>()
            .vector_final()
            .commit::<m![K]>(4096)
            .to_hbm(&mut ctx.tdma, 1 << 20)
    }

    /// What each pass leaves is an operand of the next one, without a detour over DM.
    #[device(chip = 1)]
    fn softmax(ctx: &mut Context, x: &Rows) -> Rows {
        let x = x.to_dm::<Cluster, m![S], m![K]>(&mut ctx.tdma, 0);
        let greatest = enter!(ctx, x)
            .vector_split::<HalfSteps, Half>()
            .vector_intra_slice_reduce::<K, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Max)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_final()
            .to_vrf::<m![1]>(0);
        let sum = enter!(ctx, x)
            .vector_split::<HalfSteps, Half>()
            .vector_fp_binary(FpBinaryOp::SubF, VeBranchOperand::always(VeRhs::vrf(&greatest)))
            .vector_fp_unary(FpUnaryOp::Exp)
            .vector_intra_slice_reduce::<K, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_final()
            .to_vrf::<m![1]>(32);
        enter!(ctx, x)
            .vector_split::<HalfSteps, Half>()
            .vector_fp_binary(FpBinaryOp::SubF, &greatest)
            .vector_fp_unary(FpUnaryOp::Exp)
            .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), &sum)
            .vector_concat::<Steps, Lanes>()
            .vector_final()
            .commit::<m![K]>(4096)
            .to_hbm(&mut ctx.tdma, 1 << 20)
    }

    #[test]
    fn functions_of_rows() {
        use RngdAlu::{ClipMax, ClipMin, FpExp, FpFma, FpFpu, FpMul0, ReduceAccTree, ReduceFpDiv};
        block_on(async {
            let mut ctx = Context::acquire();
            let x = floats(5, S::SIZE * K::SIZE, 8.0);
            let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
            let hbm: Rows = HostTensor::<f32, m![S, K]>::from_buf(init(&x)).to_hbm(&mut ctx.pdma, 0).await;
            macro_rules! run {
                ($kernel:ident) => {{
                    let y = launch($kernel, (&mut *ctx, &hbm)).await;
                    y.to_host::<m![S, K]>(&mut ctx.pdma).await.to_buf()
                }};
            }
            let of = |function: fn(f64) -> f64| wide.iter().map(|x| function(*x)).collect::<Vec<_>>();

            assert_near(&run!(clamp), &of(|x| x.clamp(0.0, 6.0)), 0.0);
            assert_used(&ctx.report(), "commit", 8, 8, &[ClipMax, ClipMin]);
            assert_near(&run!(silu), &of(|x| x / (1.0 + (-x).exp())), 2.0);
            assert_used(&ctx.report(), "commit", 4, 4, &[FpFpu, FpMul0]);
            assert_near(&run!(inverse), &of(|x| 1.0 / (20.0 - x)), 2.0);
            assert_used(&ctx.report(), "commit", 4, 4, &[FpFma, ReduceFpDiv]);

            // The difference, up to 16, is rounded; then the exponential; both of them in the sum, too, with its 63
            // additions; then the quotient.
            let softmax_of = |row: &[f64]| {
                let sum: f64 = row.iter().map(|x| x.exp()).sum();
                row.iter().map(|x| x.exp() / sum).collect::<Vec<_>>()
            };
            let exact: Vec<f64> = wide.chunks(K::SIZE).flat_map(softmax_of).collect();
            assert_near(&run!(softmax), &exact, 16.0 + 1.0 + (16.0 + 1.0 + 63.0) + 1.0);
            let report = ctx.report();
            assert_used(&report, "to_vrf", 4, 4, &[FpFma, FpExp, ReduceAccTree]);
            assert_used(&report, "commit", 4, 4, &[FpFma, FpExp, ReduceFpDiv]);
        });
    }
}

/// Rows of 512 in 8 slices each.
mod spread {
    use super::*;

    axes![B = 32, H = 512, J = 8, E = 64];
    type Rows = HbmTensor<f32, m![1], m![B, H]>;
    type Slice = m![B, H / 64];
    type First = m![B, 1 # 8];
    type Steps = m![H / 8 % 8];
    type Lanes = m![H % 8];
    type HalfSteps = m![H / 4 % 16];
    type Half = m![H % 4];

    /// `x / √(mean of x² + ε) · weight`.
    #[device(chip = 1)]
    fn rms_norm(ctx: &mut Context, x: &Rows, weight: &HbmTensor<f32, m![1], m![H]>) -> Rows {
        let x = x.to_dm::<Cluster, Slice, m![H % 64]>(&mut ctx.tdma, 0);
        let weight = weight.to_dm::<Cluster, Slice, m![H % 64]>(&mut ctx.tdma, 1024);
        let weight = (ctx.sub.begin(weight.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
            .to_vrf::<m![H % 64]>(1024);
        let mean = (ctx.main.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<HalfSteps, Half>()
            .vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul0), BinaryArgMode::Mode00, 0.0)
            .vector_intra_slice_reduce::<H, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
            .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), 512.0)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_inter_slice_reduce::<First, m![1]>(InterSliceReduceOpF32::Add)
            .vector_final()
            .commit::<m![1 # 2]>(2048);
        let mean: DmTensor<f32, m![1], Cluster, Slice, m![1 # 2]> = mean.to_dm(&mut ctx.tdma, 3072);
        let inverse = (ctx.main.begin(mean.view()).fetch::<f32, m![1], m![1 # 2]>())
            .collect::<m![1], m![1 # 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_trim_way4::<m![1 # 4]>()
            .vector_fp_binary(FpBinaryOp::AddF, 1e-5)
            .vector_fp_unary(FpUnaryOp::Sqrt)
            .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode10), 1.0)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_final()
            .to_vrf::<m![1]>(0);
        (ctx.main.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<HalfSteps, Half>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &inverse)
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), &weight)
            .vector_concat::<Steps, Lanes>()
            .vector_final()
            .commit::<m![H % 64]>(4096)
            .to_hbm(&mut ctx.tdma, 1 << 20)
    }

    type Parts = HbmTensor<f32, m![1], m![B, J, E]>;

    /// The sum of parts in 8 slices first, then a bias.
    #[device(chip = 1)]
    fn sum_then_bias(ctx: &mut Context, x: &Parts) -> HbmTensor<f32, m![1], m![B, E]> {
        let x = x.to_dm::<Cluster, m![B, J], m![E]>(&mut ctx.tdma, 0);
        (ctx.main.begin(x.view()).fetch::<f32, m![E / 8], m![E % 8]>().collect::<m![E / 8], m![E % 8]>())
            .vector_init()
            .vector_inter_slice_reduce::<First, m![E / 8]>(InterSliceReduceOpF32::Add)
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Add, 100.0)
            .vector_final()
            .commit::<m![E]>(4096)
            .to_hbm(&mut ctx.tdma, 1 << 20)
    }

    #[test]
    fn sums_between_slices() {
        use RngdAlu::{ClipAdd, FpFma, FpFpu, FpMul0, FpMul1, ReduceFpDiv};
        block_on(async {
            let mut ctx = Context::acquire();
            let (x, weight) = (floats(6, B::SIZE * H::SIZE, 3.0), floats(7, H::SIZE, 1.0));
            let hbm: Rows = HostTensor::<f32, m![B, H]>::from_buf(init(&x)).to_hbm(&mut ctx.pdma, 0).await;
            let weights =
                HostTensor::<f32, m![H]>::from_buf(init(&weight)).to_hbm(&mut ctx.pdma, 1 << 18).await;
            let y = launch(rms_norm, (&mut *ctx, &hbm, &weights)).await;
            let y = y.to_host::<m![B, H]>(&mut ctx.pdma).await.to_buf();
            let normed = |row: &[f32]| {
                let mean: f64 = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / 512.0;
                let scale = 1.0 / (mean + 1e-5).sqrt();
                row.iter()
                    .zip(&weight)
                    .map(|(x, w)| f64::from(*x) * scale * f64::from(*w))
                    .collect::<Vec<_>>()
            };
            let exact: Vec<f64> = x.chunks(H::SIZE).flat_map(normed).collect();
            // The square, 63 additions in a slice, 7 between slices, one of ε; half of that behind the root. Then the root
            // itself, the quotient and two products. The constant ε is off, too, by far less than a rounding.
            assert_near(&y, &exact, (1.0 + 63.0 + 7.0 + 1.0) / 2.0 + 4.0);
            let report = ctx.report();
            // One element per packet: it could be 4 rows at a time.
            assert_used(&report, "to_vrf", 4, 1, &[FpFma, FpFpu, ReduceFpDiv]);
            assert_used(&report, "commit", 4, 4, &[FpMul0, FpMul1]);

            let parts: Parts =
                HostTensor::<f32, m![B, J, E]>::from_buf(init(&x)).to_hbm(&mut ctx.pdma, 0).await;
            let y = launch(sum_then_bias, (&mut *ctx, &parts)).await;
            let y = y.to_host::<m![B, E]>(&mut ctx.pdma).await.to_buf();
            let part = |k: usize| (0..8).map(move |j| k / 64 * 512 + j * 64 + k % 64);
            for (k, y) in y.iter().enumerate() {
                let exact: f64 = part(k).map(|k| f64::from(x[k])).sum::<f64>() + 100.0;
                let size: f64 = part(k).map(|k| f64::from(x[k].abs())).sum::<f64>() + 100.0;
                assert!((f64::from(y.unwrap()) - exact).abs() <= 8.0 * ROUNDOFF * size, "element {k}");
            }
            assert_used(&ctx.report(), "commit", 8, 8, &[ClipAdd]);
        });
    }
}
