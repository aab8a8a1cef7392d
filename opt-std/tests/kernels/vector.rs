//! The Vector Engine: a norm with everything that kernels of decoders use.

use furiosa_opt_std::prelude::*;

axes![R = 512, C = 64];

type Rows<D, E> = DmTensor<D, m![1], m![R / 256], m![R % 256], E>;

/// The guard of elements that were negative: the first comparison held.
fn negative() -> TagGuard {
    TagGuard::matches([BitReq::One, BitReq::Ignore, BitReq::Ignore, BitReq::Ignore])
}

/// `y = x / sqrt(mean(x²) + ε) · w`, a row per slice, with the weights in the VRF.
#[device(chip = 1)]
fn norm(
    ctx: &mut Context,
    x: &HbmTensor<bf16, m![1], m![R, C]>,
    w: &HbmTensor<f32, m![1], m![C]>,
) -> HbmTensor<bf16, m![1], m![R, C]> {
    let x: Rows<bf16, m![C]> = x.to_dm(&mut ctx.tdma);
    let w: Rows<f32, m![C]> = w.to_dm(&mut ctx.tdma);
    let w: VrfTensor<f32, m![1], m![R / 256], m![R % 256], m![C]> =
        ctx.sub.begin(w.view()).fetch::<m![C / 8], m![C % 8]>().collect::<m![C / 8], m![C % 8]>().to_vrf();
    let mean: Rows<f32, m![1 # 8]> = ctx
        .main
        .begin(x.view())
        .fetch::<m![C / 8], m![C % 8]>()
        .fetch_cast::<f32>()
        .collect::<m![C / 8], m![C % 8]>()
        .vector_init()
        .vector_intra_slice_tag(TagMode::Zero)
        .vector_narrow_split::<m![C / 4], m![C % 4]>()
        .vector_stash()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), Stash)
        .vector_intra_slice_reduce::<C, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_fp_div(64.0)
        .vector_widen_pad::<m![1 # 8]>()
        .vector_clip(ClipBinaryOpF32::Add, 1e-5)
        .vector_final()
        .commit_trim::<m![1 # 8]>()
        .commit();
    let root: VrfTensor<f32, m![1], m![R / 256], m![R % 256], m![1 # 8]> = ctx
        .sub
        .begin(mean.view())
        .fetch::<m![1], m![1 # 8]>()
        .collect::<m![1], m![1 # 8]>()
        .vector_init()
        .vector_intra_slice_tag(TagMode::Zero)
        .vector_narrow_trim::<m![1 # 4]>()
        .vector_fp_unary(FpUnaryOp::Sqrt)
        .vector_widen_pad::<m![1 # 8]>()
        .vector_final()
        .to_vrf();
    let y: Rows<bf16, m![C]> = ctx
        .main
        .begin(x.view())
        .fetch::<m![C / 8], m![C % 8]>()
        .fetch_cast::<f32>()
        .collect::<m![C / 8], m![C % 8]>()
        .vector_init()
        .vector_intra_slice_tag(TagMode::Comparison([Cmp::Less(0.0), Cmp::False, Cmp::False, Cmp::True]))
        .vector_narrow_split::<m![C / 4], m![C % 4]>()
        .vector_fp_ternary(FpTernaryOp::FmaF, (2.0, 0.0))
        .vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul0), BinaryArgMode::Mode10, &w)
        .vector_fp_binary(
            FpBinaryOp::MulF(FpMulAlu::Mul1),
            Branched::imm(negative(), 0.5).imm(TagGuard::all(), 0.5),
        )
        .vector_fp_div_with_mode(BinaryArgMode::Mode01, &root)
        .vector_widen_concat::<m![C / 8], m![C % 8]>()
        .vector_final()
        .cast::<bf16, m![C % 8 # 16]>()
        .commit_trim::<m![C % 8]>()
        .commit();
    y.to_hbm(&mut ctx.tdma)
}

#[test]
fn a_norm_is_a_norm() {
    let mut ctx = Context::acquire();
    let x: Vec<bf16> = (0..512 * 64).map(|k| bf16::from_f32((k * 37 % 101) as f32 / 16.0 - 3.0)).collect();
    let w: Vec<f32> = (0..64).map(|k| 0.5 + k as f32 / 64.0).collect();
    let y = pollster::block_on(async {
        let x = HostTensor::<bf16, m![R, C]>::from_vec(x.clone()).to_hbm(&mut ctx.pdma).await;
        let w = HostTensor::<f32, m![C]>::from_vec(w.clone()).to_hbm(&mut ctx.pdma).await;
        launch(norm, (&mut *ctx, &x, &w)).await.into_vec()
    });
    for (row, y) in x.chunks(64).zip(y.chunks(64)) {
        let mean = row.iter().map(|x| f64::from(x.to_f32()).powi(2)).sum::<f64>() / 64.0;
        for ((x, w), y) in row.iter().zip(&w).zip(y) {
            let expected = f64::from(x.to_f32()) * f64::from(*w) / (mean + 1e-5).sqrt();
            assert!(
                (f64::from(y.to_f32()) - expected).abs() <= 0.01 * expected.abs() + 1e-6,
                "{y:?} {expected}"
            );
        }
    }
}

axes![G = 32, J = 8, L = 8, P = 2, U = 4];

/// The sum over groups of eight slices.
#[device]
fn sums(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![G, J, L]>) -> HbmTensor<f32, m![1], m![G, L]> {
    let x: DmTensor<f32, m![1], m![1 # 2], m![G, J], m![L]> = x.to_dm(&mut ctx.tdma);
    let y: DmTensor<f32, m![1], m![1 # 2], m![G, 1 # 8], m![L]> = ctx
        .main
        .begin(x.view())
        .fetch::<m![1], m![L]>()
        .collect::<m![1], m![L]>()
        .vector_init()
        .vector_inter_slice_reduce::<m![G, 1 # 8], m![1]>(InterSliceReduceOpF32::Add)
        .vector_intra_slice_tag(TagMode::Zero)
        .vector_clip(ClipBinaryOpF32::Max, 0.0)
        .vector_final()
        .commit_trim::<m![L]>()
        .commit();
    y.to_hbm(&mut ctx.tdma)
}

#[test]
fn slices_are_summed() {
    let mut ctx = Context::acquire();
    let x: Vec<f32> = (0..2048).map(|k| (k % 13) as f32 - 6.0).collect();
    let y = pollster::block_on(async {
        let x = HostTensor::<f32, m![G, J, L]>::from_vec(x.clone()).to_hbm(&mut ctx.pdma).await;
        launch(sums, (&mut *ctx, &x)).await.into_vec()
    });
    for (k, y) in y.into_iter().enumerate() {
        let sum: f32 = (0..8).map(|j| x[(8 * (k / 8) + j) * 8 + k % 8]).sum();
        assert_eq!(y, sum.max(0.0), "{k}");
    }
}

/// Pairs: even steps are doubled, odd ones are kept, and both are added.
#[device]
fn paired(
    ctx: &mut Context,
    x: &HbmTensor<i32, m![1], m![G, J, U, P, L]>,
) -> HbmTensor<i32, m![1], m![G, J, U, L]> {
    let x: DmTensor<i32, m![1], m![1 # 2], m![G, J], m![U, P, L]> = x.to_dm(&mut ctx.tdma);
    let y: DmTensor<i32, m![1], m![1 # 2], m![G, J], m![U, L]> = ctx
        .main
        .begin(x.view())
        .fetch::<m![U, P], m![L]>()
        .collect::<m![U, P], m![L]>()
        .vector_init()
        .vector_intra_slice_unzip::<P, m![U, 1 # 2], m![U]>()
        .vector_fxp(FxpBinaryOp::MulInt, 2, ())
        .vector_clip_zip(ClipBinaryOpI32::AddFxp)
        .vector_final()
        .commit_trim::<m![L]>()
        .commit();
    y.to_hbm(&mut ctx.tdma)
}

#[test]
fn pairs_are_zipped() {
    let mut ctx = Context::acquire();
    let x: Vec<i32> = (0..256 * 4 * 2 * 8).map(|k| k * 3 % 1001 - 500).collect();
    let y = pollster::block_on(async {
        let x = HostTensor::<i32, m![G, J, U, P, L]>::from_vec(x.clone()).to_hbm(&mut ctx.pdma).await;
        launch(paired, (&mut *ctx, &x)).await.into_vec()
    });
    for (k, y) in y.into_iter().enumerate() {
        let at = |p: usize| x[(k / 8 * 2 + p) * 8 + k % 8];
        assert_eq!(y, 2 * at(0) + at(1), "{k}");
    }
}
