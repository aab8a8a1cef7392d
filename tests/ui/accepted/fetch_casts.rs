//! Fetch converts every pair of its table.

use furiosa_visa_std::prelude::*;

use furiosa_visa_std::scalar::f16;

axes![A = 64];

type In<D> = DmTensor<D, m![1], m![1 # 2], m![1 # 256], m![A]>;

fn fetch<D: FetchCast<D2>, D2: Scalar>(ctx: &mut Context) {
    // SAFETY: nothing is read.
    let x = unsafe { In::<D>::from_addr(0) };
    let _ = ctx.main.begin(x.view()).fetch::<D2, m![1], m![A]>();
}

fn fetch_only_in_streams<D: FetchCast<D2>, D2: StreamScalar>(ctx: &mut Context) {
    // SAFETY: nothing is read.
    let x = unsafe { In::<D>::from_addr(0) };
    let _ = ctx.sub.begin(x.view()).fetch::<D2, m![1], m![A]>();
}

fn fetch_on_rngd_s<D: FetchCast<D2, RngdS>, D2: StreamScalar>(ctx: &mut Context) {
    // SAFETY: nothing is read.
    let x = unsafe { In::<D>::from_addr(0) };
    let _ = ctx.main.begin(x.view()).on::<RngdS>().fetch::<D2, m![1], m![A]>();
}

fn main() {
    let ctx = &mut Context::acquire();
    fetch::<i4, i4>(ctx);
    fetch::<i4, i32>(ctx);
    fetch::<i8, i32>(ctx);
    fetch::<i16, i32>(ctx);
    fetch::<u8, u8>(ctx);
    fetch::<f8e4m3, f32>(ctx);
    fetch::<f8e5m2, f32>(ctx);
    fetch::<bf16, f32>(ctx);
    fetch::<f16, f32>(ctx);
    fetch::<f32, bf16>(ctx);
    fetch_only_in_streams::<i4, i5>(ctx);
    fetch_only_in_streams::<i8, i9>(ctx);

    let ctx = &mut Context::with(SimOptions { chip_kind: ChipKind::RngdS, ..SimOptions::default() });
    fetch::<f8e4m3, f32>(ctx);
    fetch_on_rngd_s::<i4, i5>(ctx);
    fetch_on_rngd_s::<i4, i9>(ctx);
    fetch_on_rngd_s::<i8, i9>(ctx);
    fetch_on_rngd_s::<i16, i9>(ctx);
    fetch_on_rngd_s::<f8e4m3, bf16>(ctx);
    fetch_on_rngd_s::<f8e5m2, bf16>(ctx);
    fetch_on_rngd_s::<f16, f32>(ctx);
}
