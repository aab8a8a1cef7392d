//! The entries of a table are cast like stored elements: bf16 does not become i32.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.tdma, 0);
    let table = LookupTable::from_fn(|x: i8| bf16::from_f32(f32::from(x)));
    let _ = ctx.main.begin(x.view()).fetch_with_table::<i32, m![1], m![A]>(&table);
}

fn main() {}
