//! Table indexing exists in the main context only.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.tdma, 0);
    let table = LookupTable::from_fn(|x: i8| x);
    let _ = ctx.sub.begin(x.view()).fetch_with_table::<i8, m![1], m![A]>(&table);
}

fn main() {}
