//! The cast engine narrows i32 and f32 to every type of its table, and to themselves, in both contexts.

use furiosa_visa_std::prelude::*;

use furiosa_visa_std::Cast;
use furiosa_visa_std::scalar::{VeScalar, f16};

axes![A = 8];

type In<D> = DmTensor<D, m![1], m![1 # 2], m![1 # 256], m![A]>;

fn cast<D: VeScalar + Cast<D2>, D2: Scalar, Packet: M>(ctx: &mut Context) {
    // SAFETY: nothing is read.
    let x = unsafe { In::<D>::from_addr(0) };
    let flits = ctx.main.begin(x.view()).fetch::<D, m![1], m![A]>().collect::<m![1], m![A]>();
    let _ = flits.cast::<D2, Packet>();
}

fn in_sub_context(ctx: &mut Context) {
    // SAFETY: nothing is read.
    let x = unsafe { In::<i32>::from_addr(0) };
    let flits = ctx.sub.begin(x.view()).fetch::<i32, m![1], m![A]>().collect::<m![1], m![A]>();
    let _ = flits.cast::<i8, m![A # 32]>();
}

fn main() {
    let ctx = &mut Context::acquire();
    in_sub_context(ctx);
    cast::<i32, i4, m![A # 64]>(ctx);
    cast::<i32, i8, m![A # 32]>(ctx);
    cast::<i32, i16, m![A # 16]>(ctx);
    cast::<i32, i32, m![A]>(ctx);
    cast::<f32, f8e4m3, m![A # 32]>(ctx);
    cast::<f32, f8e5m2, m![A # 32]>(ctx);
    cast::<f32, f16, m![A # 16]>(ctx);
    cast::<f32, bf16, m![A # 16]>(ctx);
    cast::<f32, f32, m![A]>(ctx);
}
