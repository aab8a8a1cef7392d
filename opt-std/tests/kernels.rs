//! Kernels in the later surface, executed and compared with plain loops.

use furiosa_opt_std::prelude::*;

axes![T = 16, N = 8, K = 64, S = 256];

/// `c[t, n] = Σ a[t, k] · b[n, k]`, in slice 0 of each cluster.
#[device(chip = 1)]
fn product(
    ctx: &mut Context,
    a: &HbmTensor<bf16, m![1], m![T, K]>,
    b: &HbmTensor<bf16, m![1], m![N, K]>,
) -> HbmTensor<f32, m![1], m![T, N]> {
    let a: DmTensor<bf16, m![1], m![1 # 2], m![1 # 256], m![T, K]> = a.to_dm(&mut ctx.tdma);
    let b: DmTensor<bf16, m![1], m![1 # 2], m![1 # 256], m![N, K]> = b.to_dm(&mut ctx.tdma);
    let weights: TrfTensor<bf16, m![1], m![1 # 2], m![1 # 256], m![N], m![K]> =
        ctx.sub.begin(b.view()).fetch::<m![N], m![K]>().collect::<m![N, K / 16], m![K % 16]>().to_trf();
    let c: DmTensor<f32, m![1], m![1 # 2], m![1 # 256], m![T, N]> = ctx
        .main
        .begin(a.view())
        .fetch::<m![T], m![K]>()
        .collect::<m![T, K / 16], m![K % 16]>()
        .contract_outer::<m![T, K / 32], m![K % 32], _, _, _>(&weights)
        .contract_packet::<m![1]>()
        .contract_time::<m![T]>()
        .contract_lane::<m![T], m![N]>(LaneMode::Interleaved)
        .commit_trim::<m![N]>()
        .commit();
    c.to_hbm(&mut ctx.tdma)
}

#[test]
fn a_product_is_a_product() {
    let mut ctx = Context::acquire().bind(product.device());
    let a: Vec<bf16> = (0..16 * 64).map(|k| bf16::from_f32((k % 5) as f32 - 2.0)).collect();
    let b: Vec<bf16> = (0..8 * 64).map(|k| bf16::from_f32((k % 3) as f32 - 1.0)).collect();
    let c = pollster::block_on(async {
        let a =
            HostTensor::<bf16, m![T, K]>::from_vec(a.clone()).to_hbm::<m![1], m![T, K]>(&mut ctx.pdma).await;
        let b =
            HostTensor::<bf16, m![N, K]>::from_vec(b.clone()).to_hbm::<m![1], m![N, K]>(&mut ctx.pdma).await;
        let c = launch(product, (&mut *ctx, &a, &b)).await;
        c.to_host::<m![T, N]>(&mut ctx.pdma).await.into_vec()
    });
    for (k, &value) in c.iter().enumerate() {
        let (t, n) = (k / 8, k % 8);
        let sum: f32 = (0..64).map(|k| a[64 * t + k].to_f32() * b[64 * n + k].to_f32()).sum();
        assert_eq!(value, sum, "{t}, {n}");
    }
    assert_eq!(product.path(), "kernels::product");
}
