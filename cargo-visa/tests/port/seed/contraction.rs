//! A product: the four calls of a contraction, with one column and with several.

use furiosa_visa_std::prelude::*;

axes![M = 512, N = 8, K = 32, J = 16];

type Cluster = m![1 # 2];
type Slice = m![M / 2];
type Weights = DmTensor<bf16, m![1], Cluster, Slice, m![N, K]>;

#[device(chip = 1)]
pub fn product(
    ctx: &mut Context,
    a: &HbmTensor<bf16, m![1], m![M, K]>,
    b: &HbmTensor<bf16, m![1], m![N, K]>,
) -> HbmTensor<f32, m![1], m![M, N]> {
    let a = a.to_dm::<Cluster, Slice, m![M % 2, K]>(&mut ctx.tdma, AUTO);
    let b: Weights = b.to_dm(&mut ctx.tdma, AUTO); // every slice gets all of b
    let weights = (ctx.sub.begin(b.view()).fetch::<bf16, m![N], m![K]>())
        .collect::<m![N, K / 16], m![K % 16]>()
        .to_trf_auto::<m![N], m![K]>();
    let c = (ctx.main)
        .begin(a.view())
        .fetch::<bf16, m![M % 2], m![K]>()
        // Two flits per row.
        .collect::<m![M % 2, K / 16], m![K % 16]>()
        .align::<m![M % 2], m![K], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![M % 2], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![M % 2, N]>(AUTO);
    c.to_hbm(&mut ctx.tdma, AUTO)
}

/// Sums over time, with all columns.
pub fn columns(
    ctx: &mut Context,
    x: &DmTensor<bf16, m![1], Cluster, Slice, m![M % 2, J]>,
    w: &TrfTensor<bf16, m![1], Cluster, Slice, m![1], m![M % 2]>,
) -> DmTensor<f32, m![1], Cluster, Slice, m![J]> {
    ctx.main
        .begin(x.view())
        .fetch::<bf16, m![M % 2], m![J]>()
        .collect::<m![M % 2], m![J]>()
        .align::<m![M % 2], m![J # 32], _, _>(w)
        .contract::<m![J]>()
        .accumulate::<m![J / 8], m![J % 8]>(AccumulationKind::Sequential)
        .commit(AUTO)
}
