//! 8 entries of the TRF sequencer, one flit per packet, repetition over axes of the TRF.

use furiosa_visa_std::chip::CheckOptions;
use furiosa_visa_std::prelude::*;

axes![T = 4, K = 32, A = 2, B = 2, C = 2, D = 2, E = 2, F = 2, G = 2];

#[device(chip = 1)]
fn kernel(
    ctx: &mut Context,
    data: &HbmTensor<bf16, m![1], m![T, K]>,
    weights: &HbmTensor<bf16, m![1], m![A, B, C, D, E, F, G, K]>,
) {
    let data = data.to_dm::<m![1 # 2], m![1 # 256], m![T, K]>(&mut ctx.tdma, 0);
    let weights = weights.to_dm::<m![1 # 2], m![1 # 256], m![A, B, C, D, E, F, G, K]>(&mut ctx.tdma, 1 << 16);
    let weights = (ctx.sub.begin(weights.view()))
        .fetch::<bf16, m![A, B, C, D, E, F, G], m![K]>()
        .collect::<m![A, B, C, D, E, F, G, K / 16], m![K % 16]>()
        .to_trf::<m![1], m![A, B, C, D, E, F, G, K]>(TrfAddress::Full);
    let _ = (ctx.main.begin(data.view()).fetch::<bf16, m![T], m![K]>())
        .collect::<m![T, K / 16], m![K % 16]>()
        .align::<m![T, G, F, E, D, C, B, A], m![K], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![T, G, F, E, D, C, B, A], m![1 # 8]>(AccumulationKind::Interleaved);
    // One flit per packet: the upper half is padding.
    let _ = (ctx.main.begin(data.view()).fetch::<bf16, m![T], m![K]>())
        .collect::<m![T, K / 16], m![K % 16]>()
        .align::<m![T, K / 16, A, B, C, D, E, F, G], m![K % 16 # 32], _, _>(&weights);
}

fn main() {
    pollster::block_on(async {
        // Streams are begun for their types alone.
        let checks = CheckOptions { dropped_streams: false, ..CheckOptions::ALL };
        let mut ctx = Context::with(SimOptions { checks, ..SimOptions::default() });
        let data = HostTensor::<bf16, m![T, K]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        let weights = HostTensor::<bf16, m![A, B, C, D, E, F, G, K]>::zero();
        let weights = weights.to_hbm(&mut ctx.pdma, 1 << 16).await;
        launch(kernel, (&mut ctx, &data, &weights)).await;
    });
}
