//! The contraction engine multiplies i4, i8, f8e4m3, f8e5m2 and bf16.

use furiosa_visa_std::prelude::*;

use furiosa_visa_std::scalar::ContractionCast;

axes![K = 128];

type At<D, Packet> = DmTensor<D, m![1], m![1 # 2], m![1 # 256], Packet>;

/// `Packet` holds 64 bytes, `Flit` its inner 32, `Half` which one of the two.
fn contract<D: ContractionCast, Packet: M, Half: M, Flit: M>(ctx: &mut Context) {
    // SAFETY: nothing is read.
    let (data, weights) = unsafe { (At::<D, Packet>::from_addr(0), TrfTensor::from_addr(TrfAddress::Full)) };
    let _ = (ctx.main.begin(data.view()).fetch::<D, m![1], Packet>())
        .collect::<Half, Flit>()
        .align::<m![1], Packet, m![1], Packet>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![1], m![1 # 8]>(AccumulationKind::Interleaved);
}

fn main() {
    let ctx = &mut Context::acquire();
    contract::<i4, m![K], m![K / 64], m![K % 64]>(ctx);
    contract::<i8, m![K % 64], m![K % 64 / 32], m![K % 32]>(ctx);
    contract::<f8e4m3, m![K % 64], m![K % 64 / 32], m![K % 32]>(ctx);
    contract::<f8e5m2, m![K % 64], m![K % 64 / 32], m![K % 32]>(ctx);
    contract::<bf16, m![K % 32], m![K % 32 / 16], m![K % 16]>(ctx);
}
