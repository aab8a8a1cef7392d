//! Byte offsets are of rows that lie one after another without padding.

use furiosa_visa_std::prelude::*;

axes![V = 100, H = 60, S = 4];

type One = m![1];

#[device(chip = 1)]
fn kernel(_: &mut Context, table: &HbmTensor<i8, One, m![V, H # 64]>, ids: &HbmTensor<i32, One, m![S]>) {
    let _ = table.dma_gather::<m![1 # 2], m![S # 256], m![H # 64], _>(ids, 0);
}

fn main() {}
