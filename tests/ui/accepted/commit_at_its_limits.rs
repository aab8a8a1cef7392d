//! 8, 16, 24 and 32 bytes per step; transposed time; truncated packets; 512 KiB; the sub context.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8, C = 2, X = 32768];

#[device(chip = 1)]
fn widths(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    commit::<m![A, B]>(ctx, &x);
    commit::<m![A, B # 16]>(ctx, &x);
    commit::<m![A, B # 24]>(ctx, &x);
    commit::<m![A, B # 32]>(ctx, &x);
}

fn commit<Element: M>(ctx: &mut Context, x: &DmTensor<i8, m![1], m![1 # 2], m![1 # 256], m![A, B]>) {
    let flits = ctx.main.begin(x.view()).fetch::<i8, m![A], m![B]>().collect::<m![A], m![B # 32]>();
    flits.commit::<Element>(1024);
    let flits = ctx.sub.begin(x.view()).fetch::<i8, m![A], m![B]>().collect::<m![A], m![B # 32]>();
    flits.commit::<Element>(2048);
}

#[device(chip = 1)]
fn transposed(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![A, C, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, C, B]>(&mut ctx.tdma, 0);
    let flits = ctx.main.begin(x.view()).fetch::<f32, m![A, C], m![B]>().collect::<m![A, C], m![B]>();
    let y = flits.commit::<m![C, A, B = 2]>(1024);
    let mut z = unsafe { DmTensor::from_addr(4096) };
    let flits =
        ctx.main.begin(y.view()).fetch::<f32, m![C, A], m![B = 2]>().collect::<m![C, A], m![B = 2 # 8]>();
    flits.commit_view::<m![A, C, B = 2]>(z.view_mut());
}

/// Legal by its types, and never launched: the result takes the whole slice, and with it the place of `x`.
#[device(chip = 1)]
fn whole_slice(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![B]>(&mut ctx.tdma, 0);
    let flits = ctx.main.begin(x.view()).fetch::<i8, m![X], m![B]>().collect::<m![X], m![B # 32]>();
    flits.commit::<m![X, B # 16]>(0);
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(widths, (&mut ctx, &x)).await;
        let x = HostTensor::<f32, m![A, C, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(transposed, (&mut ctx, &x)).await;
    });
}
