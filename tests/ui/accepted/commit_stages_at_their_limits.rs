//! Trims to 8, 16, 24 and 32 bytes behind every engine; conversions of 16 and 32 bytes, with a trim and without one.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8, C = 12];

#[device(chip = 1)]
fn widths(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, C # 16]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, C # 16]>(&mut ctx.tdma, 0);
    trim::<m![C = 8]>(ctx, &x);
    trim::<m![C # 16]>(ctx, &x);
    trim::<m![C # 24]>(ctx, &x);
    trim::<m![C # 32]>(ctx, &x);
}

fn trim<Packet: M>(ctx: &mut Context, x: &DmTensor<i8, m![1], m![1 # 2], m![1 # 256], m![A, C # 16]>) {
    let flits = ctx.main.begin(x.view()).fetch::<i8, m![A], m![C # 16]>().collect::<m![A], m![C # 32]>();
    flits.commit_trim::<Packet>().commit::<m![A, { Packet }]>(1024);
    let flits = ctx.sub.begin(x.view()).fetch::<i8, m![A], m![C # 16]>().collect::<m![A], m![C # 32]>();
    flits.commit_trim::<Packet>().commit::<m![A, { Packet }]>(2048);
}

type X<D> = DmTensor<D, m![1], m![1 # 2], m![1 # 256], m![A, B]>;

#[device(chip = 1)]
fn conversions(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![A, B]>) -> HbmTensor<bf16, m![1], m![A, B]> {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let flits = ctx.main.begin(x.view()).fetch::<f32, m![A], m![B]>().collect::<m![A], m![B]>();
    let half = flits.commit_trim::<m![B = 4]>().commit_cast::<bf16>().commit::<m![A, B = 4]>(1024);
    let flits = ctx.main.begin(x.view()).fetch::<f32, m![A], m![B]>().collect::<m![A], m![B]>();
    let same = flits.commit_cast::<bf16>().commit::<m![A, B = 4]>(2048);
    let _ = (half, same);
    // A packet that is one flit needs no collect.
    let packets = ctx.main.begin(x.view()).fetch::<f32, m![A], m![B]>();
    let y: X<bf16> = packets.commit_trim::<m![B]>().commit_cast_relu::<bf16>().commit(4096);
    let mut z: X<bf16> = unsafe { DmTensor::from_addr(8192) };
    let flits = ctx.main.begin(x.view()).fetch::<f32, m![A], m![B]>().collect::<m![A], m![B]>();
    let narrow: CommitCastTensor<'_, _, bf16, m![1], m![1 # 2], m![1 # 256], m![A], m![B]> =
        flits.vector_init().vector_intra_slice_branch(BranchMode::Unconditional).vector_final()
            .commit_trim::<m![B]>().commit_cast::<bf16>();
    narrow.commit_view(z.view_mut());
    // A tile.
    let row = x.view().tile::<m![A], 1, m![1 # 4, B]>(2);
    let flits = ctx.main.begin(row).fetch::<f32, m![1], m![B]>().collect::<m![1], m![B]>();
    flits.commit_cast_relu::<bf16>().commit_view(z.view_mut().tile::<m![A], 1, m![1 # 4, B]>(1));
    let _ = y;
    z.to_hbm(&mut ctx.tdma, 1 << 16)
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![A, C # 16]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(widths, (&mut ctx, &x)).await;
        let x = HostTensor::<f32, m![A, B]>::from_slice(&[-1.0; 32]).to_hbm(&mut ctx.pdma, 0).await;
        let y = launch(conversions, (&mut ctx, &x)).await.to_host::<m![A, B]>(&mut ctx.pdma).await;
        let (minus, zero) = (bf16::from_f32(-1.0), bf16::from_f32(0.0));
        assert_eq!(y.to_vec()[..16], [[minus; 8], [zero; 8]].concat());
    });
}
