use furiosa_visa_std::prelude::*;

axes![M = 64, N = 16, K = 512];
type X = HbmTensor<bf16, m![1], m![M, K]>;
type W = HbmTensor<bf16, m![1], m![N, K]>;
type B = HbmTensor<f32, m![1], m![N]>;
type Y = HbmTensor<f32, m![1], m![M, N]>;
type Cluster = m![1 # 2];
/// Four slices share a row: each has a quarter of `K`.
type Slice = m![M, K / 128];

/// y = relu(x * W + b)
#[device(chip = 1)]
fn dense(ctx: &mut Context, x: &X, w: &W, b: &B) -> Y {
    let x = x.to_dm::<Cluster, Slice, m![K % 128]>(&mut ctx.tdma, AUTO);
    let w = w.to_dm::<Cluster, Slice, m![N, K % 128]>(&mut ctx.tdma, AUTO);
    let b = b.to_dm::<Cluster, m![M, 1 # 4], m![N]>(&mut ctx.tdma, AUTO);
    let w = (ctx.sub.begin(w.view()).fetch::<bf16, m![N % 8, N / 8], m![K % 128]>())
        .collect::<m![N % 8, N / 8, K % 128 / 16], m![K % 16]>()
        .to_trf::<m![N % 8], m![N / 8, K % 128]>(TrfAddress::Full);
    let b = (ctx.sub.begin(b.view()).fetch::<bf16, m![N / 8], m![N % 8]>())
        .collect::<m![N / 8], m![N % 8]>()
        .to_vrf::<m![N]>(0);
    let y = (ctx.main.begin(x.view()).fetch::<bf16, m![1], m![K % 128]>())
        .collect::<m![K % 128 / 16], m![K % 16]>()
        .align::<m![K % 128 / 32, N / 8], m![K % 32], _, _>(&w)
        .contract::<m![1]>()
        .accumulate::<m![N / 8], m![N % 8]>(AccumulationKind::Interleaved)
        .vector_init()
        .vector_inter_slice_reduce::<m![M, 1 # 4], m![N / 8]>(InterSliceReduceOpF32::Add)
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpF32::Add, &b)
        .vector_clip(ClipBinaryOpF32::Max, 0.0)
        .vector_final()
        .commit::<m![N]>(AUTO);
    y.to_hbm(&mut ctx.tdma, AUTO)
}

fn main() {
    let x: Vec<bf16> = (0..M::SIZE * K::SIZE).map(|i| bf16::from_f32(((i * 5 + i / 7) % 9) as f32 - 4.0)).collect();
    let w: Vec<bf16> = (0..N::SIZE * K::SIZE).map(|i| bf16::from_f32(((i * 3 + i / 5) % 7) as f32 - 3.0)).collect();
    let b: Vec<f32> = (0..N::SIZE).map(|i| i as f32 - 8.0).collect();
    let mut ctx = Context::acquire();
    let y = pollster::block_on(async {
        let x = HostTensor::<bf16, m![M, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
        let w = HostTensor::<bf16, m![N, K]>::from_slice(&w).to_hbm(&mut ctx.pdma, AUTO).await;
        let b = HostTensor::<f32, m![N]>::from_slice(&b).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = launch(dense, (&mut *ctx, &x, &w, &b)).await;
        y.to_host::<m![M, N]>(&mut ctx.pdma).await.to_vec()
    });
    for m in 0..M::SIZE {
        for n in 0..N::SIZE {
            let sum: f32 = (0..K::SIZE).map(|k| f32::from(x[m * K::SIZE + k]) * f32::from(w[n * K::SIZE + k])).sum();
            assert_eq!(y[m * N::SIZE + n], (sum + b[n]).max(0.0));
        }
    }
    println!("right: {:?}", &y[..N::SIZE]);
}
