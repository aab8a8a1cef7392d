//! One pass through every engine that moves or computes: what each leaves is what the next one takes.

use crate::{Cluster, block_on, init, numbers};
use furiosa_visa_std::prelude::*;

axes![S = 256, X = 4, T = 8, L = 8];

type Source = HbmTensor<i32, m![1], m![S, T, L]>;
/// Four slices meet; pairs of them become the elements of packets.
type Time = m![T, S / 2 % 2, L];
type Target = HbmTensor<i32, m![1], m![S / 4, X, { Time }, S % 2]>;

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &Source) -> Target {
    let x = x.to_dm::<Cluster, m![S], m![T, L]>(&mut ctx.tdma, 0);
    let y: DmTensor<i32, m![1], Cluster, m![S / 4, X], m![{ Time }, S % 2]> = (ctx.main.begin(x.view()))
        .fetch::<i32, m![T], m![L]>()
        .switch::<m![S / 4, X], m![T, S % 4]>(SwitchConfig::Broadcast1 { slice1: 4, slice0: 1 })
        .collect::<m![T, S % 4], m![L]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp(FxpBinaryOp::MulInt, 3)
        .vector_final()
        .transpose::<Time, m![S % 2 # 8]>()
        .commit(64 << 10);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[test]
fn a_stream_is_switched_computed_with_and_transposed() {
    let mut ctx = Context::acquire();
    let values: Vec<i32> = numbers::<i8>(11, 256 * 8 * 8).into_iter().map(i32::from).collect();
    let host = HostTensor::<i32, m![S, T, L]>::from_buf(init(&values));
    let source: Source = block_on(host.to_hbm(&mut ctx.pdma, 0));
    let result = block_on(launch(kernel, (&mut *ctx, &source)));
    let back: HostTensor<i32, m![S / 4, X, { Time }, S % 2]> = block_on(result.to_host(&mut ctx.pdma));
    let expected = (0..64 * 4 * 8 * 2 * 8 * 2).map(|k| {
        let (s0, l, s1, t, s2) = (k % 2, k / 2 % 8, k / 16 % 2, k / 32 % 8, k / 1024);
        Opt::Init(values[((s2 * 4 + s1 * 2 + s0) * 8 + t) * 8 + l] * 3)
    });
    assert!(back.to_buf().into_iter().eq(expected));
}
