//! Weights of four bits with a scale per block: stored as `f4e2m1`, decoded by a table, multiplied as `f8e4m3`, and scaled
//! behind the product.

use crate::{Cluster, assert_same, block_on, code, init, numbers};
use furiosa_visa_std::clock::record::Timing;
use furiosa_visa_std::clock::tensor_unit::Stage;
use furiosa_visa_std::prelude::*;

axes![S = 256, T = 4, N = 8, G = 4, E = 16, A = 64];

/// Four blocks of 16 weights per column.
type Weights<D> = DmTensor<D, m![1], Cluster, m![1 # 256], m![N, G, E]>;

/// `y[t, n] = Σ scale[g, n] Σ x[t, g, e] w[n, g, e]`.
#[device(chip = 1)]
fn product(
    ctx: &mut Context,
    x: &HbmTensor<f8e4m3, m![1], m![T, G, E]>,
    w: &HbmTensor<f4e2m1, m![1], m![N, G, E]>,
    scales: &HbmTensor<f8e4m3, m![1], m![G, N]>,
) -> HbmTensor<bf16, m![1], m![T, N]> {
    let x = x.to_dm::<Cluster, m![1 # 256], m![T, G, E]>(&mut ctx.tdma, AUTO);
    let w: Weights<f4e2m1> = w.to_dm(&mut ctx.tdma, AUTO);
    let scales = scales.to_dm::<Cluster, m![1 # 256], m![G, N]>(&mut ctx.tdma, AUTO);
    let decoded: Weights<f8e4m3> = (ctx.main.begin(w.view()))
        .fetch_with_table::<f8e4m3, m![N, G / 2], m![G % 2, E]>(&LookupTable::<f4e2m1, f8e4m3>::of_types())
        .collect::<m![N, G / 2], m![G % 2, E]>()
        .commit_trim::<m![G % 2, E]>()
        .commit(AUTO);
    let weights = (ctx.sub.begin(decoded.view()))
        .fetch::<f8e4m3, m![N], m![G, E]>()
        .collect::<m![N, G / 2], m![G % 2, E]>()
        .to_trf::<m![N], m![G, E]>(TrfAddress::Full);
    let scales = (ctx.sub.begin(scales.view()))
        .fetch::<f32, m![G], m![N]>()
        .collect::<m![G], m![N]>()
        .to_vrf::<m![G, N]>(AUTO);
    let y = (ctx.main.begin(x.view()))
        .fetch::<f8e4m3, m![T], m![G, E]>()
        .collect::<m![T, G / 2], m![G % 2, E]>()
        .align::<m![T], m![G, E], _, _>(&weights)
        .contract::<m![G]>()
        .accumulate::<m![T, G], m![N]>(AccumulationKind::Interleaved)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![T, G, N / 4], m![N % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &scales)
        .vector_intra_slice_reduce::<G, m![T, N / 4], m![N % 4]>(IntraSliceReduceOpF32::Add)
        .vector_concat::<m![T], m![N]>()
        .vector_final()
        .commit_trim::<m![N]>()
        .commit_cast::<bf16>()
        .commit::<m![T, N]>(AUTO);
    y.to_hbm(&mut ctx.tdma, AUTO)
}

#[test]
fn block_scales_are_multiplied_behind_the_product() {
    let x = numbers::<f8e4m3>(5, 4 * 64);
    let w: Vec<f4e2m1> = (0..8 * 64).map(|k| f4e2m1::from_bits(code(6, k) as u8)).collect();
    let scales: Vec<f8e4m3> =
        (0..4 * 8).map(|k| f8e4m3::from_f32(0.25 + (code(7, k) % 64) as f32 / 16.0)).collect();
    let (found, report) = block_on(async {
        let mut ctx = Context::acquire();
        let (left, right) =
            (HostTensor::<f8e4m3, m![T, G, E]>::from_slice(&x), HostTensor::<_, m![N, G, E]>::from_slice(&w));
        let left = left.to_hbm(&mut ctx.pdma, AUTO).await;
        let right = right.to_hbm(&mut ctx.pdma, AUTO).await;
        let scaled = HostTensor::<f8e4m3, m![G, N]>::from_slice(&scales).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = launch(product, (&mut *ctx, &left, &right, &scaled)).await;
        (y.to_host::<m![T, N]>(&mut ctx.pdma).await.to_vec(), ctx.report())
    });
    // Exact values of the codes, in f64.
    let magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let weight = |k: usize| {
        let code = usize::from(w[k].to_bits());
        if code < 8 { magnitudes[code] } else { -magnitudes[code - 8] }
    };
    let value = |element: f8e4m3| f64::from(element.to_f32());
    for (k, found) in found.iter().enumerate() {
        let (t, n) = (k / 8, k % 8);
        let terms: Vec<f64> = (0..64)
            .map(|e| value(x[t * 64 + e]) * weight(n * 64 + e) * value(scales[e / 16 * 8 + n]))
            .collect();
        let expected: f64 = terms.iter().sum();
        let size: f64 = terms.iter().map(|term| term.abs()).sum();
        let error = (f64::from(found.to_f32()) - expected).abs();
        // Half a step of bf16, and what f32 sums lose.
        assert!(error <= expected.abs() / 256.0 + size * 1e-6, "y[{t}, {n}] is {found}, expected {expected}");
    }
    // 256 bytes of four bits go through the table in 40 cycles.
    let passes = report.records.iter().filter(|record| record.operation == "commit");
    let times = passes.filter_map(|record| match &record.timing {
        Timing::TensorUnit(time) => Some(time.stage(Stage::Fetch).expect("it fetches").occupancy.cycles),
        _ => None,
    });
    assert_eq!(times.collect::<Vec<_>>()[0], 40);
}

/// All tables that follow from types, and a table with a cast behind it.
mod tables {
    use super::*;

    type X<D> = DmTensor<D, m![1], Cluster, m![S], m![A]>;

    macro_rules! looked_up {
        ($name:ident, $stored:ident => $entry:ident => $streamed:ident, time $time:ty, packet $packet:ty) => {
            #[device(chip = 1)]
            fn $name(
                ctx: &mut Context,
                x: &HbmTensor<$stored, m![1], m![S, A]>,
            ) -> HbmTensor<$streamed, m![1], m![S, A]> {
                let x: X<$stored> = x.to_dm(&mut ctx.tdma, AUTO);
                let table = LookupTable::<$stored, $entry>::of_types();
                let y: X<$streamed> = (ctx.main.begin(x.view()))
                    .fetch_with_table::<$streamed, $time, $packet>(&table)
                    .collect::<$time, $packet>()
                    .commit(AUTO);
                y.to_hbm(&mut ctx.tdma, AUTO)
            }
        };
        ($name:ident, $stored:ident, $streamed:ident by $rounded:expr, $values:expr) => {{
            let values: Vec<$stored> = $values;
            let found = block_on(async {
                let mut ctx = Context::acquire();
                let x = HostTensor::<$stored, m![S, A]>::from_slice(&values);
                let x = x.to_hbm(&mut ctx.pdma, AUTO).await;
                let y = launch($name, (&mut *ctx, &x)).await;
                y.to_host::<m![S, A]>(&mut ctx.pdma).await.to_buf()
            });
            let rounded: fn(f32) -> $streamed = $rounded;
            let expected = values.iter().map(|value| rounded(value.to_f32()));
            assert_same(&found, &expected.collect::<Vec<_>>());
        }};
    }

    looked_up!(f4_to_e4m3, f4e2m1 => f8e4m3 => f8e4m3, time m![A / 32], packet m![A % 32]);
    looked_up!(f4_to_e5m2, f4e2m1 => f8e5m2 => f8e5m2, time m![A / 32], packet m![A % 32]);
    looked_up!(f4_to_f32, f4e2m1 => f8e4m3 => f32, time m![A / 8], packet m![A % 8]);
    looked_up!(e4m3_to_bf16, f8e4m3 => bf16 => bf16, time m![A / 16], packet m![A % 16]);
    looked_up!(e5m2_to_bf16, f8e5m2 => bf16 => bf16, time m![A / 16], packet m![A % 16]);

    fn codes(seed: u32) -> impl Iterator<Item = u8> {
        (0..<m![S, A]>::SIZE).map(move |k| code(seed, k) as u8)
    }

    /// NaN has one code.
    fn bf16_of(value: f32) -> bf16 {
        if value.is_nan() { bf16::NAN } else { bf16::from_f32(value) }
    }

    #[test]
    fn entries_have_the_values_of_their_indices() {
        looked_up!(f4_to_e4m3, f4e2m1, f8e4m3 by f8e4m3::from_f32, codes(1).map(f4e2m1::from_bits).collect());
        looked_up!(f4_to_e5m2, f4e2m1, f8e5m2 by f8e5m2::from_f32, codes(2).map(f4e2m1::from_bits).collect());
        looked_up!(f4_to_f32, f4e2m1, f32 by |value| value, codes(3).map(f4e2m1::from_bits).collect());
        looked_up!(e4m3_to_bf16, f8e4m3, bf16 by bf16_of, codes(4).map(f8e4m3::from_bits).collect());
        looked_up!(e5m2_to_bf16, f8e5m2, bf16 by bf16_of, codes(5).map(f8e5m2::from_bits).collect());
    }
}

/// Elements of four bits as they lie: to DM, through a stream in another order, and back.
#[device(chip = 1)]
fn moved(
    ctx: &mut Context,
    x: &HbmTensor<f4e2m1, m![1], m![S, T, A]>,
) -> HbmTensor<f4e2m1, m![1], m![S, A / 16, T, A % 16]> {
    let x = x.to_dm::<Cluster, m![S], m![T, A]>(&mut ctx.tdma, AUTO);
    let y = (ctx.main.begin(x.view()))
        .fetch::<f4e2m1, m![A / 16, T], m![A % 16]>()
        .collect::<m![A / 16, T], m![A % 16 # 64]>()
        .commit_trim::<m![A % 16]>()
        .commit::<m![A / 16, T, A % 16]>(AUTO);
    y.to_hbm(&mut ctx.tdma, AUTO)
}

#[test]
fn codes_move_unchanged() {
    let values: Vec<f4e2m1> = (0..256 * 256).map(|k| f4e2m1::from_bits(code(8, k) as u8)).collect();
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<f4e2m1, m![S, T, A]>::from_buf(init(&values)).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = launch(moved, (&mut *ctx, &x)).await;
        y.to_host::<m![S, T, A]>(&mut ctx.pdma).await.to_buf()
    });
    assert_same(&found, &values);
}
