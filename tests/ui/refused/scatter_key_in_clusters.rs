//! A scatter key is in slices and elements.

use furiosa_visa_std::prelude::*;

axes![P = 100, H = 64, S = 2];

type One = m![1];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, One, m![S, H]>, ids: &HbmTensor<i32, One, m![S]>, cache: &mut HbmTensor<i8, One, m![P, H]>) {
    let x = x.to_dm::<m![S], m![1 # 256], m![H]>(&mut ctx.tdma, 0);
    x.dma_scatter::<m![S], _, _>(ids, cache, false);
}

fn main() {}
