//! 1, 2, 4 and 8 rows; 65536 bytes; half of it in a half.

use furiosa_visa_std::prelude::*;

axes![N = 8, K = 8192, Q = 4096];

#[device(chip = 1)]
fn few_rows(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, K % 32]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![N, K % 32]>(&mut ctx.tdma, 0);
    rows_of::<m![1], m![N, K % 32]>(ctx, &x);
    rows_of::<m![N / 4], m![N % 4, K % 32]>(ctx, &x);
    rows_of::<m![N / 2], m![N % 2, K % 32]>(ctx, &x);
    rows_of::<m![N], m![K % 32]>(ctx, &x);
}

type Rows = DmTensor<i8, m![1], m![1 # 2], m![1 # 256], m![N, K % 32]>;

fn rows_of<Row: M, Element: M>(ctx: &mut Context, x: &Rows) {
    let flits = ctx.sub.begin(x.view()).fetch::<i8, m![N], m![K % 32]>().collect::<m![N], m![K % 32]>();
    flits.to_trf::<Row, Element>(TrfAddress::FirstHalf);
}

#[device(chip = 1)]
fn full(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, K]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![N, K]>(&mut ctx.tdma, 0);
    let flits = ctx.sub.begin(x.view()).fetch::<i8, m![N], m![K]>().collect::<m![N, K / 32], m![K % 32]>();
    flits.to_trf::<m![N], m![K]>(TrfAddress::Full);
}

#[device(chip = 1)]
fn half(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, Q]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![N, Q]>(&mut ctx.tdma, 0);
    let flits = ctx.sub.begin(x.view()).fetch::<i8, m![N], m![Q]>().collect::<m![N, Q / 32], m![Q % 32]>();
    flits.to_trf::<m![N], m![Q]>(TrfAddress::SecondHalf);
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![N, K % 32]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(few_rows, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![N, K]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(full, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![N, Q]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(half, (&mut ctx, &x)).await;
    });
}
