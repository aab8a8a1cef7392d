//! Every page holds the same slots.

use furiosa_visa_std::prelude::*;

axes![R = 100, H = 64, L = 4];

type One = m![1];

#[device(chip = 1)]
fn kernel(
    ctx: &mut Context,
    table: &HbmTensor<i8, One, m![R # 112, H]>,
    pages: &HbmTensor<i32, One, m![L]>,
) {
    let _ = table.dma_gather_rows::<m![1 # 2], m![L # 256], m![R # 112 % 16, H], _>(&mut ctx.tdma, pages, 0);
}

fn main() {}
