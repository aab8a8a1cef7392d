//! Sums that leave the range of their type.

use crate::{Cluster, block_on, init};
use furiosa_visa_std::prelude::*;

type Slice = m![1 # 256];

/// One packet sums to 2^20, so 2048 of them to 2^31, one more than an i32 holds: it wraps, in every slot alike.
#[test]
fn sums_of_i8_wrap() {
    axes![T = 3000, C = 64, N = 8];
    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![T, C]>,
        w: &HbmTensor<i8, m![1], m![N, C]>,
    ) -> HbmTensor<i32, m![1], m![N]> {
        let x = x.to_dm::<Cluster, Slice, m![T, C]>(&mut ctx.tdma, 0);
        let w = w.to_dm::<Cluster, Slice, m![N, C]>(&mut ctx.tdma, 1 << 18);
        let weights = (ctx.sub.begin(w.view()).fetch::<i8, m![N], m![C]>())
            .collect::<m![N, C / 32], m![C % 32]>()
            .to_trf::<m![N], m![C]>(TrfAddress::Full);
        (ctx.main.begin(x.view()).fetch::<i8, m![T], m![C]>())
            .collect::<m![T, C / 32], m![C % 32]>()
            .align::<m![T], m![C], _, _>(&weights)
            .contract::<m![1]>()
            .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![N]>(5 << 16)
            .to_hbm(&mut ctx.tdma, 1 << 30)
    }
    let x = vec![-128i8; 3000 * 64];
    // Row by row: the least weight, the largest, and smaller ones.
    let rows = [-128i8, 127, 1, -1, -128, 64, -64, 0];
    let w: Vec<i8> = rows.iter().flat_map(|&weight| [weight; 64]).collect();
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![T, C]>::from_buf(init(&x));
        let w = HostTensor::<i8, m![N, C]>::from_buf(init(&w));
        let x = x.to_hbm::<m![1], m![T, C]>(&mut ctx.pdma, 0).await;
        let w = w.to_hbm::<m![1], m![N, C]>(&mut ctx.pdma, 1 << 20).await;
        let y = launch(kernel, (&mut ctx, &x, &w)).await;
        y.to_host::<m![N]>(&mut ctx.pdma).await.to_buf()
    });
    for (row, weight) in rows.into_iter().enumerate() {
        let exact = -128 * i64::from(weight) * 64 * 3000;
        // The largest weights leave the range on either side.
        assert_eq!(i32::try_from(exact).is_err(), weight.unsigned_abs() >= 127, "row {row}");
        assert_eq!(found[row], Opt::Init(exact as i32), "row {row}");
    }
}

/// A tree adds neighbours first, and the first arrival is stored: a negative zero survives, which zero plus it would not.
#[test]
fn the_first_arrival_is_stored() {
    axes![T = 4, K = 16, N = 8];
    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![T, K]>,
        w: &HbmTensor<bf16, m![1], m![N, K]>,
    ) -> HbmTensor<f32, m![1], m![K, N]> {
        let x = x.to_dm::<Cluster, Slice, m![T, K]>(&mut ctx.tdma, 0);
        let w = w.to_dm::<Cluster, Slice, m![N, K]>(&mut ctx.tdma, 1 << 18);
        let weights = (ctx.sub.begin(w.view()).fetch::<bf16, m![N], m![K]>())
            .collect::<m![N], m![K]>()
            .to_trf::<m![N], m![K]>(TrfAddress::Full);
        (ctx.main.begin(x.view()).fetch::<bf16, m![T], m![K]>())
            .collect::<m![T], m![K]>()
            .align::<m![T], m![K # 32], _, _>(&weights)
            .contract::<m![K]>()
            .accumulate::<m![K], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![K, N]>(1 << 17)
            .to_hbm(&mut ctx.tdma, 1 << 30)
    }
    // Column by column: what arrives at the four steps, and what is left.
    let columns: [([f32; 4], f32); 5] = [
        ([-0.0, -0.0, -0.0, -0.0], -0.0),
        ([-0.0, 0.0, -0.0, -0.0], 0.0),
        // In another order these would be 1 or 2.
        ([16_777_216.0, 1.0, 1.0, -16_777_216.0], 0.0),
        ([f32::INFINITY, 1.0, 1.0, -1.0], f32::INFINITY),
        ([f32::INFINITY, 1.0, f32::NEG_INFINITY, 0.0], f32::NAN),
    ];
    let column = |k: usize| columns[k % columns.len()];
    let x: Vec<bf16> = (0..64).map(|k| bf16::from_f32(column(k % 16).0[k / 16])).collect();
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<bf16, m![T, K]>::from_buf(init(&x));
        let w = HostTensor::<bf16, m![N, K]>::from_buf(vec![Opt::Init(bf16::from_f32(1.0)); 8 * 16]);
        let x = x.to_hbm::<m![1], m![T, K]>(&mut ctx.pdma, 0).await;
        let w = w.to_hbm::<m![1], m![N, K]>(&mut ctx.pdma, 1 << 20).await;
        let y = launch(kernel, (&mut ctx, &x, &w)).await;
        y.to_host::<m![K, N]>(&mut ctx.pdma).await.to_buf()
    });
    for (place, found) in found.into_iter().enumerate() {
        let (found, expected) = (found.unwrap(), column(place / 8).1);
        let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
        assert!(same, "column {}: {found} instead of {expected}", place / 8);
    }
}
