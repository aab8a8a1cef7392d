//! 8192 bytes of VRF; any order; padding added and dropped; both contexts; handles and views.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 8, W = 6];

#[device(chip = 1)]
fn whole(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    (ctx.sub.begin(x.view()).fetch::<f32, m![A], m![B]>()).collect::<m![A], m![B]>().to_vrf::<m![A, B]>(0);
    let flits = ctx.main.begin(x.view()).fetch::<f32, m![A], m![B]>().collect::<m![A], m![B]>();
    let vrf = flits.to_vrf::<m![B, A % 16, A / 16]>(0);
    assert_eq!(vrf.inspect::<m![A, B]>(ctx).to_buf().len(), 2048);
}

#[device(chip = 1)]
fn padding(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, W # 8]>) {
    let x = x.to_dm::<m![1 # 2], m![A], m![W # 8]>(&mut ctx.tdma, 0);
    load::<m![W], { Tu::Main }>(&mut ctx.main, &x, 8192 - 24);
    load::<m![W # 8], { Tu::Sub }>(&mut ctx.sub, &x, 0);
    load::<m![W # 2048], { Tu::Sub }>(&mut ctx.sub, &x, 0);
    load::<m![W / 2, W % 2 # 3], { Tu::Sub }>(&mut ctx.sub, &x, 4);
}

type Rows = DmTensor<i8, m![1], m![1 # 2], m![A], m![W # 8]>;

fn load<Element: M, const T: Tu>(ctx: &mut TuContext<T>, x: &Rows, address: Address) {
    let flits = ctx.begin(x.view()).fetch::<i32, m![1], m![W # 8]>().collect::<m![1], m![W # 8]>();
    let mut vrf = flits.to_vrf::<Element>(address);
    assert_eq!(vrf.address(), vrf.clone().view().address());
    let view: VrfTensorView<'_, i32, _, _, _, Element> = vrf.view_mut().into();
    assert_eq!(view.address(), address);
}

fn main() {
    // SAFETY: nothing is read.
    let _ = unsafe { VrfTensor::<i32, m![1], m![1 # 2], m![1 # 256], m![A, B]>::from_addr(0) };
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<f32, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(whole, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![A, W # 8]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(padding, (&mut ctx, &x)).await;
    });
}
