//! The vendor's functions on the aligner (guide: contraction) with 2 clusters and 256 slices, executed and compared
//! with plain loops.

use crate::{Cluster, assert_same, block_on, dot, init, numbers};
use furiosa_visa_std::prelude::*;

axes![S = 3];
type Slice = m![S # 256];

/// Uploads data of every slice and weights for all slices, and runs a kernel.
macro_rules! contract {
    ($kernel:ident, $x:ident: $data:ty, $w:ident: $weights:ty => $result:ty) => {
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<bf16, $data>::from_buf(init(&$x));
            let w = HostTensor::<bf16, $weights>::from_buf(init(&$w));
            let x = x.to_hbm::<m![1], $data>(&mut ctx.pdma, 0).await;
            let w = w.to_hbm::<m![1], $weights>(&mut ctx.pdma, 1 << 20).await;
            let y = launch($kernel, (&mut ctx, &x, &w)).await;
            y.to_host::<$result>(&mut ctx.pdma).await.to_buf()
        })
    };
}

mod matmul {
    use super::*;
    axes![M = 32, N = 8, K = 32];

    fn store_weights<'l, const T: Tu>(
        weights: CollectTensor<'l, T, bf16, m![1], Cluster, Slice, m![N, K / 16], m![K % 16]>,
    ) -> TrfTensor<bf16, m![1], Cluster, Slice, m![N], m![K]> {
        weights.to_trf(TrfAddress::Full)
    }

    fn matmul<'l, const T: Tu>(
        input: CollectTensor<'l, T, bf16, m![1], Cluster, Slice, m![M, K / 16], m![K % 16]>,
        trf: &TrfTensor<bf16, m![1], Cluster, Slice, m![N], m![K]>,
    ) -> AccumulationTensor<'l, T, f32, m![1], Cluster, Slice, m![M], m![N]> {
        input
            .align::<m![M], m![K], _, _>(trf)
            .contract::<m![1]>()
            .accumulate::<m![M], m![N]>(AccumulationKind::Interleaved)
    }

    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![S, M, K]>,
        w: &HbmTensor<bf16, m![1], m![N, K]>,
    ) -> HbmTensor<f32, m![1], m![S, M, N]> {
        let x = x.to_dm::<Cluster, Slice, m![M, K]>(&mut ctx.tdma, 0);
        let w = w.to_dm::<Cluster, Slice, m![N, K]>(&mut ctx.tdma, 1 << 12);
        let trf = store_weights(ctx.sub.begin(w.view()).fetch::<bf16, m![N], m![K]>().collect());
        let y = matmul(ctx.main.begin(x.view()).fetch::<bf16, m![M], m![K]>().collect(), &trf);
        y.commit::<m![M, N]>(1 << 16).to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn executed() {
        let x = numbers::<bf16>(1, 3 * 32 * 32);
        let w = numbers::<bf16>(2, 8 * 32);
        let found = contract!(kernel, x: m![S, M, K], w: m![N, K] => m![S, M, N]);
        let mut expected = Vec::new();
        for row in x.chunks(32) {
            for weights in w.chunks(32) {
                expected.push(dot(row, weights, 32));
            }
        }
        assert_same(&found, &expected);
    }
}

mod small_reg_read_size {
    use super::*;
    axes![M = 32, N = 8, K = 16, L = 2, O = 2];

    fn store_weights<'l, const T: Tu>(
        weights: CollectTensor<'l, T, bf16, m![1], Cluster, Slice, m![N, O], m![K]>,
    ) -> TrfTensor<bf16, m![1], Cluster, Slice, m![N], m![O, K]> {
        weights.to_trf(TrfAddress::FirstHalf)
    }

    fn matmul<'l, const T: Tu>(
        input: CollectTensor<'l, T, bf16, m![1], Cluster, Slice, m![O, M, L], m![K]>,
        trf: &TrfTensor<bf16, m![1], Cluster, Slice, m![N], m![O, K]>,
    ) -> AccumulationTensor<'l, T, f32, m![1], Cluster, Slice, m![O, M, L], m![N]> {
        input
            .align::<m![O, M], m![L, K], _, _>(trf)
            .contract::<m![L]>()
            .accumulate::<m![O, M, L], m![N]>(AccumulationKind::Interleaved)
    }

    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![S, O, M, L, K]>,
        w: &HbmTensor<bf16, m![1], m![N, O, K]>,
    ) -> HbmTensor<f32, m![1], m![S, O, M, L, N]> {
        let x = x.to_dm::<Cluster, Slice, m![O, M, L, K]>(&mut ctx.tdma, 0);
        let w = w.to_dm::<Cluster, Slice, m![N, O, K]>(&mut ctx.tdma, 1 << 13);
        let trf = store_weights(ctx.sub.begin(w.view()).fetch::<bf16, m![N, O], m![K]>().collect());
        let x = ctx.main.begin(x.view());
        let y = matmul(x.fetch::<bf16, m![O, M, L], m![K]>().collect(), &trf);
        y.commit::<m![O, M, L, N]>(1 << 16).to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn executed() {
        let x = numbers::<bf16>(3, 3 * 2 * 32 * 2 * 16);
        let w = numbers::<bf16>(4, 8 * 2 * 16);
        let found = contract!(kernel, x: m![S, O, M, L, K], w: m![N, O, K] => m![S, O, M, L, N]);
        let mut expected = Vec::new();
        for (k, row) in x.chunks(16).enumerate() {
            let o = k / 64 % 2;
            for n in 0..8 {
                expected.push(dot(row, &w[(n * 2 + o) * 16..][..16], 16));
            }
        }
        assert_same(&found, &expected);
    }
}

mod two_flits {
    use super::*;
    axes![M = 32, N = 8, K = 16, L = 2, O = 2];

    fn align<'l, const T: Tu>(
        input: CollectTensor<'l, { T }, bf16, m![1], Cluster, Slice, m![M, O, L], m![K]>,
        trf: &TrfTensor<bf16, m![1], Cluster, Slice, m![N], m![O, K]>,
    ) -> AlignedPair<'l, { T }, bf16, m![1], Cluster, Slice, m![N], m![M, O], m![L, K]> {
        input.align::<m![M, O], m![L, K], _, _>(trf)
    }

    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![S, M, O, L, K]>,
        w: &HbmTensor<bf16, m![1], m![N, O, K]>,
    ) -> HbmTensor<f32, m![1], m![S, M, L, N]> {
        let x = x.to_dm::<Cluster, Slice, m![M, O, L, K]>(&mut ctx.tdma, 0);
        let w = w.to_dm::<Cluster, Slice, m![N, O, K]>(&mut ctx.tdma, 1 << 13);
        let trf = (ctx.sub.begin(w.view()).fetch::<bf16, m![N, O], m![K]>())
            .collect::<m![N, O], m![K]>()
            .to_trf::<m![N], m![O, K]>(TrfAddress::SecondHalf);
        let x = ctx.main.begin(x.view()).fetch::<bf16, m![M, O, L], m![K]>();
        // `O` is summed over time, `K` by the tree.
        align(x.collect(), &trf)
            .contract::<m![L]>()
            .accumulate::<m![M, L], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![M, L, N]>(1 << 16)
            .to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn executed() {
        let x = numbers::<bf16>(5, 3 * 32 * 2 * 2 * 16);
        let w = numbers::<bf16>(6, 8 * 2 * 16);
        let found = contract!(kernel, x: m![S, M, O, L, K], w: m![N, O, K] => m![S, M, L, N]);
        let mut expected = Vec::new();
        for block in x.chunks(64) {
            for l in 0..2 {
                for weights in w.chunks(32) {
                    let part = |o: usize| dot(&block[(o * 2 + l) * 16..][..16], &weights[o * 16..][..16], 16);
                    expected.push(part(0) + part(1));
                }
            }
        }
        assert_same(&found, &expected);
    }
}

mod one_flit {
    use super::*;
    axes![M = 32, N = 8, K = 16];

    fn align<'l, const T: Tu>(
        input: CollectTensor<'l, { T }, bf16, m![1], Cluster, Slice, m![M], m![K]>,
        trf: &TrfTensor<bf16, m![1], Cluster, Slice, m![N], m![K]>,
    ) -> AlignedPair<'l, { T }, bf16, m![1], Cluster, Slice, m![N], m![M], m![K # 32]> {
        input.align::<m![M], m![K # 32], _, _>(trf)
    }

    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![S, M, K]>,
        w: &HbmTensor<bf16, m![1], m![N, K]>,
    ) -> HbmTensor<f32, m![1], m![S, M, N]> {
        let x = x.to_dm::<Cluster, Slice, m![M, K]>(&mut ctx.tdma, 0);
        let w = w.to_dm::<Cluster, Slice, m![N, K]>(&mut ctx.tdma, 1 << 13);
        let trf = (ctx.sub.begin(w.view()).fetch::<bf16, m![N], m![K]>())
            .collect::<m![N], m![K]>()
            .to_trf::<m![N], m![K]>(TrfAddress::Full);
        let x = ctx.main.begin(x.view()).fetch::<bf16, m![M], m![K]>();
        align(x.collect(), &trf)
            .contract::<m![1]>()
            .accumulate::<m![M], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![M, N]>(1 << 16)
            .to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn executed() {
        let x = numbers::<bf16>(7, 3 * 32 * 16);
        let w = numbers::<bf16>(8, 8 * 16);
        let found = contract!(kernel, x: m![S, M, K], w: m![N, K] => m![S, M, N]);
        let mut expected = Vec::new();
        for row in x.chunks(16) {
            for weights in w.chunks(16) {
                expected.push(dot(row, weights, 16));
            }
        }
        assert_same(&found, &expected);
    }
}

mod time_broadcast {
    use super::*;
    axes![M = 32, N = 8, K = 16, T = 5];

    // The context and an axis share the name `T`, as printed.
    fn align<'l, const T: Tu>(
        input: CollectTensor<'l, { T }, bf16, m![1], Cluster, Slice, m![M], m![K]>,
        trf: &TrfTensor<bf16, m![1], Cluster, Slice, m![N], m![T, K]>,
    ) -> AlignedPair<'l, { T }, bf16, m![1], Cluster, Slice, m![N], m![M, T], m![K # 32]> {
        input.align::<m![M, T], m![K # 32], _, _>(trf)
    }

    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![S, M, K]>,
        w: &HbmTensor<bf16, m![1], m![N, T, K]>,
    ) -> HbmTensor<f32, m![1], m![S, M, T, N]> {
        let x = x.to_dm::<Cluster, Slice, m![M, K]>(&mut ctx.tdma, 0);
        let w = w.to_dm::<Cluster, Slice, m![N, T, K]>(&mut ctx.tdma, 1 << 13);
        let trf = (ctx.sub.begin(w.view()).fetch::<bf16, m![N, T], m![K]>())
            .collect::<m![N, T], m![K]>()
            .to_trf::<m![N], m![T, K]>(TrfAddress::Full);
        let x = ctx.main.begin(x.view()).fetch::<bf16, m![M], m![K]>();
        align(x.collect(), &trf)
            .contract::<m![1]>()
            .accumulate::<m![M, T], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![M, T, N]>(1 << 16)
            .to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn executed() {
        let x = numbers::<bf16>(9, 3 * 32 * 16);
        let w = numbers::<bf16>(10, 8 * 5 * 16);
        let found = contract!(kernel, x: m![S, M, K], w: m![N, T, K] => m![S, M, T, N]);
        let mut expected = Vec::new();
        for row in x.chunks(16) {
            for t in 0..5 {
                for n in 0..8 {
                    expected.push(dot(row, &w[(n * 5 + t) * 16..][..16], 16));
                }
            }
        }
        assert_same(&found, &expected);
    }
}
