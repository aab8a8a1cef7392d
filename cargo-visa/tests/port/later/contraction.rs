//! A product: the four calls of a contraction, with one column and with several.

use furiosa_opt_std::prelude::*;

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
    let a = a.to_dm::<Cluster, Slice, m![M % 2, K]>(&mut ctx.tdma);
    let b: Weights = b.to_dm(&mut ctx.tdma); // every slice gets all of b
    let weights = (ctx.sub.begin(b.view()).fetch::<m![N], m![K]>())
        .collect::<m![N, K / 16], m![K % 16]>()
        .to_trf::<m![N], m![K]>();
    let c = (ctx.main)
        .begin(a.view())
        .fetch::<m![M % 2], m![K]>()
        // Two flits per row.
        .collect::<m![M % 2, K / 16], m![K % 16]>()
        .contract_outer::<m![M % 2], m![K], _, _, _>(&weights)
        .contract_packet::<m![1]>()
        .contract_time::<m![M % 2]>()
        .contract_lane::<m![M % 2], m![N]>(LaneMode::Interleaved)
        .commit_trim::<m![N]>()
        .commit::<m![M % 2, N]>();
    c.to_hbm(&mut ctx.tdma)
}

/// Sums over time, with all columns.
pub fn columns(
    ctx: &mut Context,
    x: &DmTensor<bf16, m![1], Cluster, Slice, m![M % 2, J]>,
    w: &TrfTensor<bf16, m![1], Cluster, Slice, m![1], m![M % 2]>,
) -> DmTensor<f32, m![1], Cluster, Slice, m![J]> {
    ctx.main
        .begin(x.view())
        .fetch::<m![M % 2], m![J]>()
        .collect::<m![M % 2], m![J]>()
        .contract_outer::<m![M % 2], m![J # 32], _, _, _>(w)
        .contract_packet::<m![J]>()
        .contract_time::<m![1]>()
        .contract_lane::<m![J / 8], m![J % 8]>(LaneMode::Sequential)
        .commit_trim::<m![J % 8]>()
        .commit()
}
