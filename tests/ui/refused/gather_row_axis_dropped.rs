//! The result has all axes of a row.

use furiosa_visa_std::prelude::*;

axes![V = 100, G = 2, H = 64, S = 4];

type One = m![1];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, table: &HbmTensor<i8, One, m![V, G, H]>, ids: &HbmTensor<i32, One, m![S]>) {
    let _ = table.dma_gather_rows::<m![1 # 2], m![S # 256], m![H], _>(&mut ctx.tdma, ids, 0);
}

fn main() {}
