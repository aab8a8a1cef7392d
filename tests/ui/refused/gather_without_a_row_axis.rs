//! A table has an axis that its rows do not have.

use furiosa_visa_std::prelude::*;

axes![H = 64, S = 4];

type One = m![1];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, table: &HbmTensor<i8, One, m![H]>, ids: &HbmTensor<i32, One, m![S]>) {
    let _ = table.dma_gather_rows::<m![1 # 2], m![S # 256], m![H], _>(&mut ctx.tdma, ids, 0);
}

fn main() {}
