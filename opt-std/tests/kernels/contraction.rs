//! Products: weights in the TRF, lanes, both modes.

use furiosa_opt_std::prelude::*;

axes![T = 16, N = 8, K = 64];

type Unit<D, E> = DmTensor<D, m![1], m![1 # 2], m![1 # 256], E>;
type Weights = TrfTensor<bf16, m![1], m![1 # 2], m![1 # 256], m![N], m![K]>;

/// Weights for a product, loaded by a helper that is generic over clusters.
fn weights<Cluster: M>(
    ctx: &mut Context,
    b: &DmTensor<bf16, m![1], Cluster, m![1 # 256], m![N, K]>,
) -> TrfTensor<bf16, m![1], Cluster, m![1 # 256], m![N], m![K]> {
    ctx.sub.begin(b.view()).fetch::<m![N], m![K]>().collect::<m![N, K / 16], m![K % 16]>().to_trf()
}

/// `c[t, n] = Σ a[t, k] · b[n, k]`
#[device(chip = 1, pe = 8)]
fn product(
    ctx: &mut Context,
    a: &HbmTensor<bf16, m![1], m![T, K]>,
    b: &HbmTensor<bf16, m![1], m![N, K]>,
) -> HbmTensor<f32, m![1], m![T, N]> {
    let a: Unit<bf16, m![T, K]> = a.to_dm(&mut ctx.tdma);
    let b: Unit<bf16, m![N, K]> = b.to_dm(&mut ctx.tdma);
    let weights: Weights = weights(ctx, &b);
    let c: Unit<f32, m![T, N]> = ctx
        .main
        .begin(a.view())
        .fetch::<m![T], m![K]>()
        .collect::<m![T, K / 16], m![K % 16]>()
        .contract_outer::<m![T, K / 32], m![K % 32], _, _, _>(&weights)
        .contract_packet::<m![1]>()
        .contract_time::<m![T]>()
        .contract_lane::<m![T], m![N]>(LaneMode::Interleaved)
        .commit_trim::<m![N]>()
        .commit();
    c.to_hbm(&mut ctx.tdma)
}

/// The same with a sequential fold, a transpose, and two results.
#[device]
fn both_orders(
    ctx: &mut Context,
    a: &HbmTensor<bf16, m![1], m![T, K]>,
    b: &HbmTensor<bf16, m![1], m![N, K]>,
) -> (HbmTensor<f32, m![1], m![T, N]>, HbmTensor<bf16, m![1], m![N, T]>) {
    let a: Unit<bf16, m![T, K]> = a.to_dm(&mut ctx.tdma);
    let b: Unit<bf16, m![N, K]> = b.to_dm(&mut ctx.tdma);
    let weights: Weights = weights(ctx, &b);
    let columns: Unit<f32, m![N, T]> = ctx
        .main
        .begin(a.view())
        .fetch::<m![K / 32, T / 8], m![T % 8, K % 32]>()
        .collect::<m![K / 32, T / 8, T % 8, K / 16 % 2], m![K % 16]>()
        .contract_outer::<m![K / 32, T], m![K % 32], _, _, _>(&weights)
        .contract_packet::<m![1]>()
        .contract_time::<m![T]>()
        .contract_lane::<m![T], m![N]>(LaneMode::Interleaved)
        .transpose::<m![T / 2, N], m![T % 2 # 8]>()
        .commit_trim::<m![T % 2]>()
        .commit();
    let narrowed: Unit<bf16, m![N, T]> = ctx
        .main
        .begin(columns.view())
        .fetch::<m![N, T / 8], m![T % 8]>()
        .collect::<m![N, T / 8], m![T % 8]>()
        .commit_trim::<m![T % 8]>()
        .commit_cast::<bf16>()
        .commit();
    let rows: Unit<f32, m![T, N]> = columns.to_dm(&mut ctx.tdma);
    (rows.to_hbm(&mut ctx.tdma), narrowed.to_hbm(&mut ctx.tdma))
}

axes![G = 2, Q = 8];

/// Two lanes of eight columns each, folded one after the other: `c[t, g, q] = Σ a[t, q, k] · b[g, k]`.
#[device]
fn sequential(
    ctx: &mut Context,
    a: &HbmTensor<i8, m![1], m![T, Q, K]>,
    b: &HbmTensor<i8, m![1], m![G, K]>,
) -> HbmTensor<i32, m![1], m![T, G, Q]> {
    let a: Unit<i8, m![T, Q, K]> = a.to_dm(&mut ctx.tdma);
    let b: Unit<i8, m![G, K]> = b.to_dm(&mut ctx.tdma);
    let weights: TrfTensor<i8, m![1], m![1 # 2], m![1 # 256], m![G], m![K % 8 # 32]> = ctx
        .sub
        .begin(b.view().tile::<m![K / 8], 1, m![G, [1 # 8, K % 8]]>(3))
        .fetch::<m![G], m![K % 8]>()
        .collect::<m![G], m![K % 8 # 32]>()
        .to_trf();
    let c: Unit<i32, m![T, G, Q]> = ctx
        .main
        .begin(a.view().tile::<m![K / 8], 1, m![T, Q, [1 # 8, K % 8]]>(3))
        .fetch::<m![T, Q / 4], m![Q % 4, K % 8]>()
        .collect::<m![T, Q / 4], m![Q % 4, K % 8]>()
        .contract_outer::<m![T], m![Q, K % 8], _, _, _>(&weights)
        .contract_packet::<m![Q]>()
        .contract_time::<m![T]>()
        .contract_lane::<m![T, G], m![Q]>(LaneMode::Sequential)
        .commit_trim::<m![Q]>()
        .commit();
    c.to_hbm(&mut ctx.tdma)
}

#[test]
fn lanes_leave_one_after_the_other() {
    let mut ctx = Context::acquire();
    let a: Vec<i8> = (0..16 * 8 * 64).map(|k| (k * 7 % 23) as i8 - 11).collect();
    let b: Vec<i8> = (0..2 * 64).map(|k| (k * 5 % 13) as i8 - 6).collect();
    let c = pollster::block_on(async {
        let a = HostTensor::<i8, m![T, Q, K]>::from_vec(a.clone()).to_hbm(&mut ctx.pdma).await;
        let b = HostTensor::<i8, m![G, K]>::from_vec(b.clone()).to_hbm(&mut ctx.pdma).await;
        launch(sequential, (&mut *ctx, &a, &b)).await.into_vec()
    });
    for (at, value) in c.into_iter().enumerate() {
        let (t, g, q) = (at / 16, at / 8 % 2, at % 8);
        let term = |k: usize| i32::from(a[(t * 8 + q) * 64 + k]) * i32::from(b[64 * g + k]);
        assert_eq!(value, (24..32).map(term).sum::<i32>(), "{t} {g} {q}");
    }
}

fn operands() -> (Vec<bf16>, Vec<bf16>) {
    let number = |k: usize, of: usize| bf16::from_f32((k % of) as f32 - (of / 2) as f32);
    ((0..16 * 64).map(|k| number(k, 5)).collect(), (0..8 * 64).map(|k| number(k, 3)).collect())
}

fn sum(a: &[bf16], b: &[bf16], t: usize, n: usize) -> f32 {
    (0..64).map(|k| a[64 * t + k].to_f32() * b[64 * n + k].to_f32()).sum()
}

#[test]
fn a_product_is_a_product() {
    let mut ctx = Context::acquire().bind(product.device());
    let (a, b) = operands();
    let c = pollster::block_on(async {
        let a = HostTensor::<bf16, m![T, K]>::from_vec(a.clone()).to_hbm(&mut ctx.pdma).await;
        let b = HostTensor::<bf16, m![N, K]>::from_vec(b.clone()).to_hbm(&mut ctx.pdma).await;
        let c = launch(product, (&mut *ctx, &a, &b)).await;
        c.to_host::<m![T, N]>(&mut ctx.pdma).await.into_vec()
    });
    let expected: Vec<f32> = (0..128).map(|k| sum(&a, &b, k / 8, k % 8)).collect();
    assert_eq!(c, expected);
    assert_eq!(
        (product.path(), product.device()),
        ("kernels::contraction::product", Device { chip: 1, pe: 8 })
    );
    assert!(ctx.report().totals.end > 0);
}

#[test]
fn results_are_tuples() {
    let mut ctx = Context::acquire().bind(both_orders.device());
    let (a, b) = operands();
    let (rows, columns) = pollster::block_on(async {
        let a = HostTensor::<bf16, m![T, K]>::from_vec(a.clone()).to_hbm(&mut ctx.pdma).await;
        let b = HostTensor::<bf16, m![N, K]>::from_vec(b.clone()).to_hbm(&mut ctx.pdma).await;
        let (rows, columns) = launch(both_orders, (&mut *ctx, &a, &b)).await;
        (rows.into_vec(), columns.into_vec())
    });
    let expected: Vec<f32> = (0..128).map(|k| sum(&a, &b, k / 8, k % 8)).collect();
    assert_eq!(rows, expected);
    let expected: Vec<bf16> = (0..128).map(|k| bf16::from_f32(sum(&a, &b, k % 16, k / 16))).collect();
    assert_eq!(columns, expected);
}

#[test]
#[should_panic(expected = "bind: the context is bound to Device { chip: 1, pe: 8 }")]
fn a_context_has_one_device() {
    let _ = Context::acquire().bind(product.device()).bind(Device { chip: 2, pe: 8 });
}

#[test]
#[should_panic(expected = "bind: the kernel is written for 2 chips, but the system has 1")]
fn a_device_fits_the_system() {
    let options = SimOptions { chips: Some(1), ..SimOptions::default() };
    let _ = Context::with(options).bind(Device { chip: 2, pe: 8 });
}

/// Products of a stream with a zero point, with weights of the types that meet it: as they are stored, and through an adapter
/// that subtracts nothing.
macro_rules! mixed {
    ($($module:ident: $stored:ident, $wide:ident, $lanes:literal, $packet:ty, $zero:literal, $make:expr, $number:expr;)*) => { $(
        mod $module {
            use super::*;

            type Sums = HbmTensor<i32, m![1], m![T, N]>;
            type X = HbmTensor<$stored, m![1], m![T, K]>;
            type W = HbmTensor<$stored, m![1], m![N, K]>;
            type Loaded<D> = TrfTensor<D, m![1], m![1 # 2], m![1 # 256], m![N], m![K]>;

            macro_rules! sums {
                ($stream:expr, $weights:expr) => {{
                    let sums: Unit<i32, m![T, N]> = $stream
                        .contract_outer::<m![T], $packet, _, _, _>($weights)
                        .contract_packet::<m![1]>()
                        .contract_time::<m![T]>()
                        .contract_lane::<m![T], m![N]>(LaneMode::Interleaved)
                        .commit_trim::<m![N]>()
                        .commit();
                    sums
                }};
            }

            #[device]
            fn products(ctx: &mut Context, x: &X, w: &W) -> (Sums, Sums, Sums) {
                let x: Unit<$stored, m![T, K]> = x.to_dm(&mut ctx.tdma);
                let w: Unit<$stored, m![N, K]> = w.to_dm(&mut ctx.tdma);
                let narrow: Loaded<$stored> = (ctx.sub.begin(w.view()).fetch::<m![N], m![K]>())
                    .collect::<m![N, K / $lanes], m![K % $lanes]>()
                    .to_trf();
                let wide: Loaded<$wide> = (ctx.sub.begin(w.view()).fetch::<m![N], m![K]>())
                    .fetch_zero_point_sub::<$wide>(0)
                    .collect::<m![N, K / $lanes], m![K % $lanes]>()
                    .to_trf();
                let mixed = sums!(
                    (ctx.main.begin(x.view()).fetch::<m![T], m![K]>())
                        .fetch_zero_point_sub::<$wide>($zero)
                        .collect::<m![T, K / $lanes], m![K % $lanes]>(),
                    &narrow
                );
                let same = sums!(
                    (ctx.main.begin(x.view()).fetch::<m![T], m![K]>())
                        .fetch_zero_point_sub::<$wide>($zero)
                        .collect::<m![T, K / $lanes], m![K % $lanes]>(),
                    &wide
                );
                let turned = sums!(
                    (ctx.main.begin(x.view()).fetch::<m![T], m![K]>())
                        .collect::<m![T, K / $lanes], m![K % $lanes]>(),
                    &wide
                );
                (mixed.to_hbm(&mut ctx.tdma), same.to_hbm(&mut ctx.tdma), turned.to_hbm(&mut ctx.tdma))
            }

            #[test]
            fn the_value_in_the_multiplier_is_the_same() {
                let make: fn(i32) -> $stored = $make;
                let number: fn(usize) -> i32 = $number;
                let mut ctx = Context::acquire();
                let (x, w): (Vec<i32>, Vec<i32>) =
                    ((0..16 * 64).map(|k| number(7 * k + 3)).collect(), (0..8 * 64).map(|k| number(5 * k)).collect());
                let of = |numbers: &[i32]| numbers.iter().map(|&number| make(number)).collect::<Vec<_>>();
                let (mixed, same, turned) = pollster::block_on(async {
                    let x = HostTensor::<$stored, m![T, K]>::from_vec(of(&x)).to_hbm(&mut ctx.pdma).await;
                    let w = HostTensor::<$stored, m![N, K]>::from_vec(of(&w)).to_hbm(&mut ctx.pdma).await;
                    let (mixed, same, turned) = launch(products, (&mut *ctx, &x, &w)).await;
                    (mixed.into_vec(), same.into_vec(), turned.into_vec())
                });
                let sum = |at: usize, zero: i32| -> i32 {
                    let (t, n) = (at / 8, at % 8);
                    (0..64).map(|k| (x[64 * t + k] - zero) * w[64 * n + k]).sum()
                };
                for at in 0..128 {
                    assert_eq!((mixed[at], same[at], turned[at]), (sum(at, $zero), sum(at, $zero), sum(at, 0)), "{at}");
                }
                // The type of the weights changes no time either. The last stream has no zero point to subtract.
                let report = ctx.report();
                let cycles: Vec<u64> = (report.records.iter().filter(|own| own.operation == "commit"))
                    .map(|own| own.timing.cycles())
                    .collect();
                assert!(cycles.len() == 3 && cycles[0] == cycles[1] && cycles[2] + 1 == cycles[0], "{cycles:?}");
            }
        }
    )* };
}

mixed! {
    halves_of_bytes: i4, i5, 64, m![K # 128], 7, i4::from_i32, |k| k as i32 % 16 - 8;
    bytes: i8, i9, 32, m![K], -128, |number| number as i8, |k| k as i32 % 256 - 128;
}
