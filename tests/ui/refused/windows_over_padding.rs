//! Windows reach elements, not padding.

use furiosa_visa_std::prelude::*;

axes![N = 256, H = 8, W = 16, OH = 6, OW = 8, KH = 3, KW = 3];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, H, W]>) {
    let x = x.to_dm::<m![1 # 2], m![N], m![H # 10, W]>(&mut ctx.tdma, 0);
    let view = x.view().windows::<m![H # 10], m![H], m![KH], 1, 1>();
    let _ = ctx.main.begin(view).fetch::<i8, m![H, KH], m![W]>();
}

fn main() {}
