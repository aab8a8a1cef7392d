//! An index has its elements in the order of the key.

use furiosa_visa_std::prelude::*;

axes![P = 100, H = 64, S = 4, T = 2];

type One = m![1];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, One, m![S, T, H]>, ids: &HbmTensor<i32, One, m![T, S]>, cache: &mut HbmTensor<i8, One, m![P, H]>) {
    let x = x.to_dm::<m![1 # 2], m![S, T # 64], m![H]>(&mut ctx.tdma, 0);
    x.dma_scatter::<m![S, T], _, _>(ids, cache, false);
}

fn main() {}
