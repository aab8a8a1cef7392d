//! A product of 512 x 512 x 2048 elements, with its transfers.

use furiosa_visa_std::prelude::*;

axes![M = 512, N = 512, K = 2048];
pub type Cluster = m![1 # 2];
/// 64 rows and 16 columns of the result per slice.
pub type Slice = m![M / 64, N / 16];

pub type A = HbmTensor<bf16, m![1], m![M, K]>;
pub type B = HbmTensor<bf16, m![1], m![N, K]>;
pub type DmA = DmTensor<bf16, m![1], Cluster, Slice, m![M % 64, K]>;
pub type DmB = DmTensor<bf16, m![1], Cluster, Slice, m![N % 16, K]>;
pub type DmC = DmTensor<f32, m![1], Cluster, Slice, m![M % 64, N % 16]>;

pub fn load(ctx: &mut Context, a: &A, b: &B) -> (DmA, DmB) {
    (a.to_dm(&mut ctx.tdma, 0), b.to_dm(&mut ctx.tdma, 256 << 10))
}

pub fn multiply(ctx: &mut Context, a: &DmA, b: &DmB) -> DmC {
    let weights = (ctx.sub.begin(b.view()))
        .fetch::<bf16, m![N % 8, N / 8 % 2], m![K]>()
        .collect::<m![N % 8, N / 8 % 2, K / 16], m![K % 16]>()
        .to_trf::<m![N % 8], m![N / 8 % 2, K]>(TrfAddress::Full);
    (ctx.main.begin(a.view()))
        .fetch::<bf16, m![M % 64, N / 8 % 2], m![K]>()
        .collect::<m![M % 64, N / 8 % 2, K / 16], m![K % 16]>()
        .align::<m![M % 64, N / 8 % 2, K / 32], m![K % 32], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![M % 64, N / 8 % 2], m![N % 8]>(AccumulationKind::Interleaved)
        .commit(384 << 10)
}
