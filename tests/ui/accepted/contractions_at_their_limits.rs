//! 32 columns, 128 accumulator columns, 32 sets of rows; both kinds of accumulation; one and two flits.

use furiosa_visa_std::prelude::*;

axes![S = 2, T = 128, N = 8, K = 32, U = 4];

type Data = HbmTensor<bf16, m![1], m![S, T, K]>;
type Weights = HbmTensor<bf16, m![1], m![N, K]>;
type Units<D, E> = DmTensor<D, m![1], m![1 # 2], m![1 # 256], E>;
type Loaded = TrfTensor<bf16, m![1], m![1 # 2], m![1 # 256], m![N], m![K]>;

fn load(ctx: &mut Context, weights: &Weights) -> Loaded {
    let weights: Units<_, m![N, K]> = weights.to_dm(&mut ctx.tdma, 1 << 18);
    (ctx.sub.begin(weights.view()).fetch::<bf16, m![N], m![K]>())
        .collect::<m![N, K / 16], m![K % 16]>()
        .to_trf(TrfAddress::Full)
}

/// Sums the outermost axis of time: 128 columns wait in the accumulator.
#[device(chip = 1)]
fn interleaved(ctx: &mut Context, data: &Data, weights: &Weights) -> HbmTensor<f32, m![1], m![T, N]> {
    let weights = load(ctx, weights);
    let data: Units<_, m![S, T, K]> = data.to_dm(&mut ctx.tdma, 0);
    let sums = (ctx.main.begin(data.view()).fetch::<bf16, m![S, T], m![K]>())
        .collect::<m![S, T, K / 16], m![K % 16]>()
        .align::<m![S, T], m![K], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![T], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![T, N]>(1 << 16);
    sums.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// 4 steps of 8 rows are the 32 sets of rows of the accumulator.
#[device(chip = 1)]
fn sequential(ctx: &mut Context, data: &Data, weights: &Weights) -> HbmTensor<f32, m![1], m![U, N, K / 4]> {
    let weights = load(ctx, weights);
    let data: Units<_, m![S, T, K]> = data.to_dm(&mut ctx.tdma, 0);
    let sums = (ctx.main.begin(data.view()).fetch::<bf16, m![S, T, U], m![K]>())
        .collect::<m![S, T, U, K / 16], m![K % 16]>()
        .align::<m![S, T, U], m![K], _, _>(&weights)
        .contract::<m![K / 4]>()
        .accumulate::<m![U, N], m![K / 4]>(AccumulationKind::Sequential)
        .commit::<m![U, N, K / 4]>(1 << 16);
    sums.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// All 32 columns leave the tree.
#[device(chip = 1)]
fn columns(ctx: &mut Context, data: &Data, weights: &Weights) -> HbmTensor<f32, m![1], m![S, T % 2, K, N]> {
    let weights = load(ctx, weights);
    let data: Units<_, m![S, T, K]> = data.to_dm(&mut ctx.tdma, 0);
    // Each step is one column per element: nothing is summed but T / 2.
    let sums = (ctx.main.begin(data.view()).fetch::<bf16, m![S, T % 2, T / 2], m![K]>())
        .collect::<m![S, T % 2, T / 2, K / 16], m![K % 16]>()
        .align::<m![S, T % 2, T / 2], m![K], _, _>(&weights)
        .contract::<m![K]>()
        .accumulate::<m![S, T % 2, K], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![S, T % 2, K, N]>(1 << 16);
    sums.to_hbm(&mut ctx.tdma, 1 << 20)
}

fn main() {
    let ones = |count| (0..count).map(|_| Opt::Init(bf16::from_f32(1.0))).collect();
    let data = HostTensor::<bf16, m![S, T, K]>::from_buf(ones(2 * 128 * 32));
    let weights = HostTensor::<bf16, m![N, K]>::from_buf(ones(8 * 32));
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let data: Data = data.to_hbm(&mut ctx.pdma, 0).await;
        let weights: Weights = weights.to_hbm(&mut ctx.pdma, 1 << 16).await;
        let sums = launch(interleaved, (&mut ctx, &data, &weights)).await;
        let sums = sums.to_host::<m![T, N]>(&mut ctx.pdma).await.to_buf();
        assert!(sums.iter().all(|x| x.unwrap() == 64.0));
        let sums = launch(sequential, (&mut ctx, &data, &weights)).await;
        let sums = sums.to_host::<m![U, N, K / 4]>(&mut ctx.pdma).await.to_buf();
        assert!(sums.iter().all(|x| x.unwrap() == 4.0 * 256.0));
        let sums = launch(columns, (&mut ctx, &data, &weights)).await;
        let sums = sums.to_host::<m![S, T % 2, K, N]>(&mut ctx.pdma).await.to_buf();
        assert!(sums.iter().all(|x| x.unwrap() == 64.0));
    });
}
