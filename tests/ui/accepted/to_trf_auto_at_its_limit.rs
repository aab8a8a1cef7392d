//! A tensor that takes all of the TRF, and one that takes all of a half.

use furiosa_visa_std::prelude::*;

axes![N = 8, K = 8192];
type All = TrfTensor<i8, m![1], m![1 # 2], m![1 # 256], m![N], m![K]>;
type Half = TrfTensor<i8, m![1], m![1 # 2], m![1 # 256], m![N % 4], m![K]>;

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, K]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![N, K]>(&mut ctx.tdma, AUTO);
    let all: All = (ctx.sub.begin(x.view()).fetch::<i8, m![N], m![K]>())
        .collect::<m![N, K / 32], m![K % 32]>()
        .to_trf_auto();
    drop(all);
    for half in [0, 1] {
        let tile = x.view().tile::<m![N / 4], 1, m![1 # 2, N % 4, K]>(half);
        let _half: Half = (ctx.sub.begin(tile).fetch::<i8, m![N % 4], m![K]>())
            .collect::<m![N % 4, K / 32], m![K % 32]>()
            .to_trf_auto();
    }
}

fn main() {}
