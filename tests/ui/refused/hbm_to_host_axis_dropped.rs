//! A tensor keeps every axis on its way to the host.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8];

fn main() {
    let mut ctx = Context::acquire();
    // SAFETY: nothing is read.
    let x = unsafe { HbmTensor::<i8, m![1], m![A, B]>::from_addr(0) };
    pollster::block_on(x.to_host::<m![A]>(&mut ctx.pdma));
}
