//! Windows up to the last position, of one position, with steps and gaps, over parts of axes, and four of them.

use furiosa_visa_std::chip::CheckOptions;
use furiosa_visa_std::prelude::*;

axes![N = 256, H = 8, W = 16, OH = 6, OW = 8, KH = 3, KW = 9, ON = 3, KN = 2, All = 8, One = 1];
axes![A = 2, B = 2, C = 2, D = 8, OA = 1, OB = 1, OC = 1, OD = 8, KA = 2, KB = 2, KC = 2, KD = 1];

type Image = HbmTensor<i8, m![1], m![N, H, W]>;
type Unit = m![1 # 2];

#[device(chip = 1)]
fn whole(ctx: &mut Context, x: &Image) {
    let x = x.to_dm::<Unit, m![N], m![H, W]>(&mut ctx.tdma, 0);
    let view = x.view().windows::<m![H], m![OH], m![KH], 1, 1>().windows::<m![W], m![OW], m![KW], 1, 1>();
    let _ = ctx.main.begin(view).fetch::<i8, m![KW, OH, KH], m![OW]>();
}

#[device(chip = 1)]
fn steps_and_gaps(ctx: &mut Context, x: &Image) {
    let x = x.to_dm::<Unit, m![N], m![H, W]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view().windows::<m![H], m![ON], m![KH], 2, 1>()).fetch::<i8, m![ON, KH], m![W]>();
    let _ = ctx.sub.begin(x.view().windows::<m![H], m![ON], m![KN], 1, 5>()).fetch::<i8, m![KN, ON], m![W]>();
}

#[device(chip = 1)]
fn of_one_position(ctx: &mut Context, x: &Image) {
    let x = x.to_dm::<Unit, m![N], m![H, W]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view().windows::<m![H], m![All], m![One], 1, 1>()).fetch::<i8, m![All], m![W]>();
    let _ = ctx.main.begin(x.view().windows::<m![H], m![One], m![All], 9, 1>()).fetch::<i8, m![All], m![W]>();
}

#[device(chip = 1)]
fn of_parts(ctx: &mut Context, x: &Image) {
    let x = x.to_dm::<Unit, m![N], m![H % 4, H / 4, W]>(&mut ctx.tdma, 0);
    let view = x.view().windows::<m![H % 4], m![ON], m![KN], 1, 1>();
    let _ = ctx.main.begin(view).fetch::<i8, m![ON, KN, H / 4], m![W]>();
}

#[device(chip = 1)]
fn four(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B, C, D]>) {
    let x = x.to_dm::<Unit, m![1 # 256], m![A, B, C, D]>(&mut ctx.tdma, 0);
    let view = x.view().windows::<m![A], m![OA], m![KA], 1, 1>().windows::<m![B], m![OB], m![KB], 1, 1>();
    let view = view.windows::<m![C], m![OC], m![KC], 1, 1>().windows::<m![D], m![OD], m![KD], 1, 1>();
    let _ = ctx.main.begin(view).fetch::<i8, m![KC, KB, KA], m![OD]>();
}

fn main() {
    pollster::block_on(async {
        // Streams are begun for their types alone.
        let checks = CheckOptions { dropped_streams: false, ..CheckOptions::ALL };
        let mut ctx = Context::with(SimOptions { checks, ..SimOptions::default() });
        let x = HostTensor::<i8, m![N, H, W]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(whole, (&mut ctx, &x)).await;
        launch(steps_and_gaps, (&mut ctx, &x)).await;
        launch(of_one_position, (&mut ctx, &x)).await;
        launch(of_parts, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![A, B, C, D]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(four, (&mut ctx, &x)).await;
    });
}
