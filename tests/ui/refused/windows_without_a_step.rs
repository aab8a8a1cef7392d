//! Windows step by one or more.

use furiosa_visa_std::prelude::*;

axes![N = 256, H = 8, W = 16, OH = 6, OW = 8, KH = 3, KW = 3];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, H, W]>) {
    let x = x.to_dm::<m![1 # 2], m![N], m![H, W]>(&mut ctx.tdma, 0);
    let view = x.view().windows::<m![H], m![OH], m![KH], 0, 1>();
    let _ = ctx.main.begin(view).fetch::<i8, m![OH, KH], m![W]>();
}

fn main() {}
