//! A host tensor keeps every axis on its way to HBM.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8];

fn main() {
    let mut ctx = Context::acquire();
    let x = HostTensor::<i8, m![A, B]>::zero();
    pollster::block_on(x.to_hbm::<m![1], m![A]>(&mut ctx.pdma, 0));
}
