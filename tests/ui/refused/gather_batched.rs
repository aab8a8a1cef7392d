//! One axis of the table is indexed: an index for each entry of another one takes a move for each.

use furiosa_visa_std::prelude::*;

axes![N = 4, V = 100, H = 64, S = 8];

type One = m![1];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, table: &HbmTensor<i8, One, m![N, V, H]>, ids: &HbmTensor<i32, One, m![N, S]>) {
    let _ = table.dma_gather_rows::<m![1 # 2], m![N, S # 64], m![H], _>(&mut ctx.tdma, ids, 0);
}

fn main() {}
