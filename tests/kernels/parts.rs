//! The module `kernels`: every helper in several shapes and layouts, against f64.
//!
//! A correctly rounded operation is off by at most half a unit in the last place, `ROUNDOFF` of its result. Bounds
//! count the roundings in a row, and end with the one of the type that is stored.

use crate::replay::{in_other_orders, kept};
use crate::{Cluster, block_on, code};
use furiosa_visa_std::kernels::{
    GeluHalfBias, Plain, QuickGelu, Relu, Silu, add, layer_norm, linear, load_operand, load_weights,
    multiply, product, rms_norm, rms_norm_over_slices, softmax, softmax_over_slices, sum_over_slices,
    tiled_product,
};
use furiosa_visa_std::prelude::*;

/// The unit roundoff of f32, and of bf16.
const ROUNDOFF: f64 = 1.0 / (1 << 24) as f64;
const BF16_ROUNDOFF: f64 = 1.0 / 256.0;

/// Between `-scale` and `scale`.
fn floats(seed: u32, count: usize, scale: f32) -> Vec<f32> {
    (0..count).map(|k| (code(seed, k) as f32 / u32::MAX as f32 - 0.5) * 2.0 * scale).collect()
}

/// The same in bf16.
fn halves(seed: u32, count: usize, scale: f32) -> Vec<bf16> {
    floats(seed, count, scale).into_iter().map(bf16::from_f32).collect()
}

fn wide<T: Copy + Into<f32>>(values: &[T]) -> Vec<f64> {
    values.iter().map(|x| f64::from((*x).into())).collect()
}

/// Compares with exact values, which may be off by a part of themselves, and by a part of what was added for them.
#[track_caller]
fn assert_near<T: Copy + Into<f32>>(found: &[T], exact: &[f64], relative: f64, absolute: f64) {
    assert_eq!(found.len(), exact.len());
    for (k, (found, exact)) in wide(found).iter().zip(exact).enumerate() {
        let bound = relative * exact.abs() + absolute;
        assert!(
            (found - exact).abs() <= bound,
            "element {k} is {found}, exactly {exact}, at most {bound:e} off"
        );
    }
    assert!(exact.iter().filter(|x| **x != 0.0).count() * 3 > exact.len());
}

/// `Σ x[r, k] · w[n, k]`.
fn products(x: &[f64], w: &[f64], k: usize) -> Vec<f64> {
    let row =
        |x: &[f64]| -> Vec<f64> { w.chunks(k).map(|w| x.iter().zip(w).map(|(x, w)| x * w).sum()).collect() };
    x.chunks(k).flat_map(row).collect()
}

/// `e^x / Σ e^x` of rows.
fn softmax_of(x: &[f64], columns: usize, scale: f64) -> Vec<f64> {
    let row = |x: &[f64]| -> Vec<f64> {
        let greatest = x.iter().copied().fold(f64::MIN, f64::max);
        let powers = x.iter().map(|x| (scale * (x - greatest)).exp());
        let sum: f64 = powers.clone().sum();
        powers.map(|power| power / sum).collect()
    };
    x.chunks(columns).flat_map(row).collect()
}

/// `x · scale / √(mean of x² + ε)` of rows.
fn rms_norm_of(x: &[f64], scale: &[f64], epsilon: f64) -> Vec<f64> {
    let row = |x: &[f64]| -> Vec<f64> {
        let root = (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64 + epsilon).sqrt();
        x.iter().zip(scale).map(|(x, scale)| x * scale / root).collect()
    };
    x.chunks(scale.len()).flat_map(row).collect()
}

mod layers {
    use super::*;

    axes![R = 768, N = 24, K = 96, B = 16, C = 64];

    type X = HbmTensor<bf16, m![1], m![R, K]>;
    type W = HbmTensor<bf16, m![1], m![N, K]>;

    /// Three rows per slice, three packets per row, three groups of weights.
    #[device(chip = 1)]
    fn with_silu(
        ctx: &mut Context,
        x: &X,
        w: &W,
        bias: &HbmTensor<f32, m![1], m![N]>,
    ) -> HbmTensor<f32, m![1], m![R, N]> {
        let x = x.to_dm::<Cluster, m![R / 3], m![R % 3, K]>(&mut ctx.tdma, AUTO);
        let w = w.to_dm::<Cluster, m![R / 3], m![N, K]>(&mut ctx.tdma, AUTO);
        let bias = bias.to_dm::<Cluster, m![R / 3], m![N]>(&mut ctx.tdma, AUTO);
        let (w, bias) = (load_weights(ctx, &w, TrfAddress::SecondHalf), load_operand(ctx, &bias));
        let y: DmTensor<f32, _, _, _, _> = linear(ctx, &x, &w, Some(&bias), Silu);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    /// Two layers in a row, the first one without a bias. In both clusters, with a packet per row in the second layer.
    #[device(chip = 1)]
    fn two(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![R, C]>,
        v: &HbmTensor<bf16, m![1], m![K % 32, C]>,
        w: &HbmTensor<bf16, m![1], m![B, K % 32]>,
        bias: &HbmTensor<bf16, m![1], m![B]>,
    ) -> HbmTensor<bf16, m![1], m![R, B]> {
        type Both = m![R / 384];
        type Slice = m![R / 3 % 128 # 256];
        let x = x.to_dm::<Both, Slice, m![R % 3, C]>(&mut ctx.tdma, AUTO);
        let v = v.to_dm::<Both, Slice, m![K % 32, C]>(&mut ctx.tdma, AUTO);
        let w = w.to_dm::<Both, Slice, m![B, K % 32]>(&mut ctx.tdma, AUTO);
        let bias = bias.to_dm::<Both, Slice, m![B]>(&mut ctx.tdma, AUTO);
        let v = load_weights(ctx, &v, TrfAddress::FirstHalf);
        let w = load_weights(ctx, &w, TrfAddress::SecondHalf);
        let bias = load_operand(ctx, &bias);
        let hidden: DmTensor<bf16, _, _, _, _> = linear(ctx, &x, &v, None, Relu);
        let y: DmTensor<bf16, _, _, _, _> = linear(ctx, &hidden, &w, Some(&bias), Plain);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    #[test]
    fn layers_are_products_biases_and_activations() {
        let (x, w, b) =
            (halves(1, R::SIZE * K::SIZE, 1.0), halves(2, N::SIZE * K::SIZE, 1.0), floats(3, 24, 2.0));
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x: X = HostTensor::<bf16, m![R, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let w: W = HostTensor::<bf16, m![N, K]>::from_slice(&w).to_hbm(&mut ctx.pdma, AUTO).await;
            let b = HostTensor::<f32, m![N]>::from_slice(&b).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(with_silu, (&mut *ctx, &x, &w, &b)).await;
            y.to_host::<m![R, N]>(&mut ctx.pdma).await.to_vec()
        });
        let silu = |x: f64| x / (1.0 + (-x).exp());
        let sums = products(&wide(&x), &wide(&w), K::SIZE);
        let exact: Vec<f64> =
            sums.iter().enumerate().map(|(j, sum)| silu(sum + f64::from(b[j % 24]))).collect();
        // 96 products of at most 1 and a bias of at most 2, added in 8 levels; the slope of the function is at most
        // 1.1.
        assert_near(&y, &exact, 4.0 * ROUNDOFF, 1.1 * 98.0 * 8.0 * ROUNDOFF);
    }

    #[test]
    fn layers_follow_each_other_in_both_clusters() {
        let (x, v) = (halves(4, R::SIZE * C::SIZE, 1.0), halves(5, 32 * C::SIZE, 1.0));
        let (w, b) = (halves(6, 16 * 32, 1.0), halves(7, 16, 2.0));
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<bf16, m![R, C]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let v = HostTensor::<bf16, m![K % 32, C]>::from_slice(&v).to_hbm(&mut ctx.pdma, AUTO).await;
            let w = HostTensor::<bf16, m![B, K % 32]>::from_slice(&w).to_hbm(&mut ctx.pdma, AUTO).await;
            let b = HostTensor::<bf16, m![B]>::from_slice(&b).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(two, (&mut *ctx, &x, &v, &w, &b)).await;
            y.to_host::<m![R, B]>(&mut ctx.pdma).await.to_vec()
        });
        let hidden: Vec<f64> = products(&wide(&x), &wide(&v), 64).iter().map(|x| x.max(0.0)).collect();
        let (w, b) = (wide(&w), wide(&b));
        let exact: Vec<f64> =
            products(&hidden, &w, 32).iter().enumerate().map(|(j, sum)| sum + b[j % 16]).collect();
        // What the rounding of the hidden units to bf16 moves, and of 64 products in f32.
        let moved = w.chunks(32).map(|w| w.iter().map(|w| w.abs()).sum::<f64>()).fold(0.0, f64::max);
        let greatest = hidden.iter().copied().fold(0.0, f64::max);
        let absolute = moved * greatest * (BF16_ROUNDOFF + 64.0 * 8.0 * ROUNDOFF);
        assert_near(&y, &exact, 2.0 * BF16_ROUNDOFF, absolute);
    }

    axes![J = 128, L = 16];

    #[device(chip = 1)]
    fn integers(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![R, J]>,
        w: &HbmTensor<i8, m![1], m![L, J]>,
    ) -> HbmTensor<i32, m![1], m![R, L]> {
        let x = x.to_dm::<Cluster, m![R / 3], m![R % 3, J]>(&mut ctx.tdma, AUTO);
        let w = w.to_dm::<Cluster, m![R / 3], m![L, J]>(&mut ctx.tdma, AUTO);
        let w = load_weights(ctx, &w, TrfAddress::Full);
        let y: DmTensor<i32, _, _, _, _> = product(ctx, &x, &w);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    #[test]
    fn products_of_integers_are_exact() {
        let x: Vec<i8> = (0..R::SIZE * J::SIZE).map(|k| code(8, k) as i8).collect();
        let w: Vec<i8> = (0..L::SIZE * J::SIZE).map(|k| code(9, k) as i8).collect();
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i8, m![R, J]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let w = HostTensor::<i8, m![L, J]>::from_slice(&w).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(integers, (&mut *ctx, &x, &w)).await;
            y.to_host::<m![R, L]>(&mut ctx.pdma).await.to_vec()
        });
        let values = |x: &[i8]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
        let exact = products(&values(&x), &values(&w), J::SIZE);
        assert!(y.iter().zip(exact).all(|(y, exact)| f64::from(*y) == exact));
    }

    /// A bias before the function of the float cluster.
    #[device(chip = 1)]
    fn with_gelu(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![R, C]>,
        w: &HbmTensor<bf16, m![1], m![B, C]>,
        bias: &HbmTensor<f32, m![1], m![B]>,
    ) -> HbmTensor<f32, m![1], m![R, B]> {
        let x = x.to_dm::<Cluster, m![R / 3], m![R % 3, C]>(&mut ctx.tdma, AUTO);
        let w = w.to_dm::<Cluster, m![R / 3], m![B, C]>(&mut ctx.tdma, AUTO);
        let bias = bias.to_dm::<Cluster, m![R / 3], m![B]>(&mut ctx.tdma, AUTO);
        let (w, bias) = (load_weights(ctx, &w, TrfAddress::Full), load_operand(ctx, &bias));
        let y: DmTensor<f32, _, _, _, _> = linear(ctx, &x, &w, Some(&bias), QuickGelu);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    #[test]
    fn gelu_is_a_sigmoid() {
        let (x, w, b) = (halves(10, R::SIZE * 64, 0.5), halves(11, 16 * 64, 0.5), floats(12, 16, 2.0));
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<bf16, m![R, C]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let w = HostTensor::<bf16, m![B, C]>::from_slice(&w).to_hbm(&mut ctx.pdma, AUTO).await;
            let b = HostTensor::<f32, m![B]>::from_slice(&b).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(with_gelu, (&mut *ctx, &x, &w, &b)).await;
            y.to_host::<m![R, B]>(&mut ctx.pdma).await.to_vec()
        });
        let sums = products(&wide(&x), &wide(&w), 64);
        let gelu = |x: f64| x / (1.0 + (-1.702 * x).exp());
        let exact: Vec<f64> =
            sums.iter().enumerate().map(|(j, sum)| gelu(sum + f64::from(b[j % 16]))).collect();
        // 64 products of at most a quarter and a bias of at most 2 in 8 levels; 1.702 is rounded, too.
        assert_near(&y, &exact, 4.0 * ROUNDOFF, 1.2 * 18.0 * 10.0 * ROUNDOFF);
    }

    /// Half of a bias before the error function.
    #[device(chip = 1)]
    fn with_exact_gelu(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![R, C]>,
        w: &HbmTensor<bf16, m![1], m![B, C]>,
        half: &HbmTensor<f32, m![1], m![B]>,
    ) -> HbmTensor<f32, m![1], m![R, B]> {
        let x = x.to_dm::<Cluster, m![R / 3], m![R % 3, C]>(&mut ctx.tdma, AUTO);
        let w = w.to_dm::<Cluster, m![R / 3], m![B, C]>(&mut ctx.tdma, AUTO);
        let half = half.to_dm::<Cluster, m![R / 3], m![B]>(&mut ctx.tdma, AUTO);
        let (w, half) = (load_weights(ctx, &w, TrfAddress::Full), load_operand(ctx, &half));
        let y: DmTensor<f32, _, _, _, _> = linear(ctx, &x, &w, Some(&half), GeluHalfBias);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    /// The error function by its series of positive terms, `2 / √π · e^(-x²) · Σ 2^n x^(2n + 1) / (1 · 3 · … · (2n + 1))`.
    fn erf(x: f64) -> f64 {
        let mut term = x;
        let mut sum = x;
        let mut odd = 1.0;
        while term.abs() > 1e-18 * sum.abs() {
            odd += 2.0;
            term *= 2.0 * x * x / odd;
            sum += term;
        }
        2.0 / std::f64::consts::PI.sqrt() * (-x * x).exp() * sum
    }

    #[test]
    fn gelu_is_exact_with_half_of_a_bias() {
        assert!((erf(1.0) - 0.842_700_792_949_714_9).abs() < 1e-15 && (erf(-5.0) + 1.0).abs() < 2e-12);
        let (x, w, b) = (halves(13, R::SIZE * 64, 0.5), halves(14, 16 * 64, 0.5), floats(15, 16, 2.0));
        let half: Vec<f32> = b.iter().map(|b| b / 2.0).collect();
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<bf16, m![R, C]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let w = HostTensor::<bf16, m![B, C]>::from_slice(&w).to_hbm(&mut ctx.pdma, AUTO).await;
            let half = HostTensor::<f32, m![B]>::from_slice(&half).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(with_exact_gelu, (&mut *ctx, &x, &w, &half)).await;
            y.to_host::<m![R, B]>(&mut ctx.pdma).await.to_vec()
        });
        let sums = products(&wide(&x), &wide(&w), 64);
        let gelu = |x: f64| x * (1.0 + erf(x / 2f64.sqrt())) / 2.0;
        let exact: Vec<f64> =
            sums.iter().enumerate().map(|(j, sum)| gelu(sum + f64::from(b[j % 16]))).collect();
        // Sums as above, halved; √2 and the error function are rounded, and h and h · erf cancel for negative numbers.
        assert_near(&y, &exact, 4.0 * ROUNDOFF, 1.2 * 18.0 * 10.0 * ROUNDOFF);
    }
}

mod rows {
    use super::*;

    axes![R = 512, C = 10, K = 128, S = 32, H = 256];

    /// 10 columns of 16: padding does not count.
    #[device(chip = 1)]
    fn padded_softmax(
        ctx: &mut Context,
        x: &HbmTensor<f32, m![1], m![R, C]>,
    ) -> HbmTensor<f32, m![1], m![R, C # 16]> {
        let x = x.to_dm::<Cluster, m![R / 2], m![R % 2, C # 16]>(&mut ctx.tdma, AUTO);
        let y: DmTensor<f32, _, _, _, _> = softmax(ctx, &x, 1.0);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    /// From bf16 to bf16, scaled.
    #[device(chip = 1)]
    fn narrow_softmax(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![R, K]>,
    ) -> HbmTensor<bf16, m![1], m![R, K]> {
        let x = x.to_dm::<Cluster, m![R % 256], m![R / 256, K]>(&mut ctx.tdma, AUTO);
        let y: DmTensor<bf16, _, _, _, _> = softmax(ctx, &x, 0.25);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    /// Rows of 256 in 8 slices each, two rows per slice.
    #[device(chip = 1)]
    fn spread_softmax(
        ctx: &mut Context,
        x: &HbmTensor<f32, m![1], m![R, H]>,
    ) -> HbmTensor<f32, m![1], m![R, H]> {
        let x = x.to_dm::<m![R / 256], m![R / 8 % 32, H / 32], m![R % 8, H % 32]>(&mut ctx.tdma, AUTO);
        let y: DmTensor<f32, _, _, _, _> = softmax_over_slices(ctx, &x, 0.5);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    #[test]
    fn softmax_of_rows() {
        let x = floats(20, R::SIZE * C::SIZE, 8.0);
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<f32, m![R, C]>::from_slice(&x);
            // Runs from HBM are multiples of 8 bytes: rows of 10 have 40.
            let x = x.to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(padded_softmax, (&mut *ctx, &x)).await;
            y.to_host::<m![R, C]>(&mut ctx.pdma).await.to_vec()
        });
        // The difference, up to 16, is rounded; then the exponential; both of them in the sum, too, with its 9
        // additions; then the quotient.
        let roundings = 16.0 + 1.0 + (16.0 + 1.0 + 9.0) + 1.0;
        assert_near(&y, &softmax_of(&wide(&x), 10, 1.0), roundings * ROUNDOFF, 0.0);

        let x = halves(21, R::SIZE * K::SIZE, 16.0);
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<bf16, m![R, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(narrow_softmax, (&mut *ctx, &x)).await;
            y.to_host::<m![R, K]>(&mut ctx.pdma).await.to_vec()
        });
        assert_near(&y, &softmax_of(&wide(&x), 128, 0.25), BF16_ROUNDOFF * 1.001, 0.0);

        let x = floats(22, R::SIZE * H::SIZE, 8.0);
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<f32, m![R, H]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(spread_softmax, (&mut *ctx, &x)).await;
            y.to_host::<m![R, H]>(&mut ctx.pdma).await.to_vec()
        });
        let roundings = 16.0 + 1.0 + (16.0 + 1.0 + 31.0 + 7.0) + 1.0;
        assert_near(&y, &softmax_of(&wide(&x), 256, 0.5), roundings * ROUNDOFF, 0.0);
    }

    #[device(chip = 1)]
    fn padded_rms(
        ctx: &mut Context,
        x: &HbmTensor<f32, m![1], m![R, C]>,
        scale: &HbmTensor<f32, m![1], m![C]>,
    ) -> HbmTensor<f32, m![1], m![R, C # 16]> {
        let x = x.to_dm::<Cluster, m![R / 2], m![R % 2, C # 16]>(&mut ctx.tdma, AUTO);
        let scale = scale.to_dm::<Cluster, m![R / 2], m![C # 16]>(&mut ctx.tdma, AUTO);
        let scale = load_operand(ctx, &scale);
        let y: DmTensor<f32, _, _, _, _> = rms_norm(ctx, &x, Some(&scale), 1e-3);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    #[device(chip = 1)]
    fn spread_rms(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![S, H]>,
        scale: &HbmTensor<bf16, m![1], m![H]>,
    ) -> HbmTensor<bf16, m![1], m![S, H]> {
        let x = x.to_dm::<Cluster, m![S, H / 32], m![1, H % 32]>(&mut ctx.tdma, AUTO);
        let scale = scale.to_dm::<Cluster, m![S, H / 32], m![H % 32]>(&mut ctx.tdma, AUTO);
        let scale = load_operand(ctx, &scale);
        let y: DmTensor<bf16, _, _, _, _> = rms_norm_over_slices(ctx, &x, Some(&scale), 1e-5);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    #[test]
    fn rms_norm_of_rows() {
        let (x, scale) = (floats(23, R::SIZE * C::SIZE, 3.0), floats(24, C::SIZE, 1.0));
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<f32, m![R, C]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let scale = HostTensor::<f32, m![C]>::from_slice(&scale).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(padded_rms, (&mut *ctx, &x, &scale)).await;
            y.to_host::<m![R, C]>(&mut ctx.pdma).await.to_vec()
        });
        let exact = rms_norm_of(&wide(&x), &wide(&scale), f64::from(1e-3f32));
        // The square, 9 additions, the quotient and ε; half of that behind the root. Then the root, a product, a
        // quotient.
        assert_near(&y, &exact, ((1.0 + 9.0 + 2.0) / 2.0 + 3.0) * ROUNDOFF * 1.001, 0.0);

        let (x, scale) = (halves(25, S::SIZE * H::SIZE, 3.0), halves(26, H::SIZE, 1.0));
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<bf16, m![S, H]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let scale = HostTensor::<bf16, m![H]>::from_slice(&scale).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(spread_rms, (&mut *ctx, &x, &scale)).await;
            y.to_host::<m![S, H]>(&mut ctx.pdma).await.to_vec()
        });
        let exact = rms_norm_of(&wide(&x), &wide(&scale), f64::from(1e-5f32));
        assert_near(&y, &exact, BF16_ROUNDOFF * 1.001, 0.0);
    }

    #[device(chip = 1)]
    fn layer(
        ctx: &mut Context,
        x: &HbmTensor<f32, m![1], m![R, C]>,
        scale: &HbmTensor<f32, m![1], m![C]>,
        shift: &HbmTensor<f32, m![1], m![C]>,
    ) -> HbmTensor<f32, m![1], m![R, C # 16]> {
        let x = x.to_dm::<Cluster, m![R / 2], m![R % 2, C # 16]>(&mut ctx.tdma, AUTO);
        let [scale, shift] =
            [scale, shift].map(|own| own.to_dm::<Cluster, m![R / 2], m![C # 16]>(&mut ctx.tdma, AUTO));
        let [scale, shift] = [&scale, &shift].map(|own| load_operand(ctx, own));
        let y: DmTensor<f32, _, _, _, _> = layer_norm(ctx, &x, &scale, &shift, 1e-3);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    #[test]
    fn layer_norm_of_rows() {
        // A mean that is large beside the variance.
        let x: Vec<f32> = floats(27, R::SIZE * C::SIZE, 3.0).into_iter().map(|x| x + 100.0).collect();
        let (scale, shift) = (floats(28, C::SIZE, 1.0), floats(29, C::SIZE, 1.0));
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<f32, m![R, C]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let upload = async |ctx: &mut Context, own: &[f32]| {
                HostTensor::<f32, m![C]>::from_slice(own).to_hbm(&mut ctx.pdma, AUTO).await
            };
            let (scale, shift) = (upload(&mut ctx, &scale).await, upload(&mut ctx, &shift).await);
            let y = launch(layer, (&mut *ctx, &x, &scale, &shift)).await;
            y.to_host::<m![R, C]>(&mut ctx.pdma).await.to_vec()
        });
        let (wide_x, scale, shift) = (wide(&x), wide(&scale), wide(&shift));
        let row = |x: &[f64]| -> Vec<f64> {
            let mean = x.iter().sum::<f64>() / 10.0;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 10.0;
            let root = (variance + f64::from(1e-3f32)).sqrt();
            (0..10).map(|c| (x[c] - mean) * scale[c] / root + shift[c]).collect()
        };
        let exact: Vec<f64> = wide_x.chunks(10).flat_map(row).collect();
        // The mean, about 100, is off by 10 roundings of up to 1030, a tenth of which is left; the smallest root is
        // above 0.3.
        let absolute = (10.0 * 103.0 / 0.3 + 20.0 * 10.0) * ROUNDOFF;
        assert_near(&y, &exact, 20.0 * ROUNDOFF, absolute);
    }

    axes![B = 32, J = 8, E = 64];

    /// Every slice of a group gets a part of the sum.
    #[device(chip = 1)]
    fn scattered(
        ctx: &mut Context,
        x: &HbmTensor<f32, m![1], m![B, J, R / 32, E]>,
    ) -> HbmTensor<bf16, m![1], m![B, R / 32, E]> {
        let x = x.to_dm::<Cluster, m![B, J], m![R / 32, E]>(&mut ctx.tdma, AUTO);
        let y: DmTensor<bf16, _, _, m![B, R / 64], m![R / 32 % 2, E]> = sum_over_slices(ctx, &x);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }

    #[test]
    fn sums_go_to_the_slices_of_a_group() {
        let x = floats(30, 32 * 8 * 16 * 64, 1.0);
        let y = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<f32, m![B, J, R / 32, E]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = launch(scattered, (&mut *ctx, &x)).await;
            y.to_host::<m![B, R / 32, E]>(&mut ctx.pdma).await.to_vec()
        });
        let own = |j: usize, part: usize| f64::from(x[(j / 1024 * 8 + part) * 1024 + j % 1024]);
        let exact: Vec<f64> = (0..32 * 1024).map(|j| (0..8).map(|part| own(j, part)).sum()).collect();
        assert_near(&y, &exact, BF16_ROUNDOFF * 1.001, 8.0 * 8.0 * ROUNDOFF);
    }
}

mod tiles {
    use super::*;

    axes![R = 512, N = 96, K = 256];

    /// Three tiles, each through a half of the register file.
    #[device(chip = 1)]
    fn tiled(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![R, K]>,
        w: &HbmTensor<bf16, m![1], m![N, K]>,
        y: &mut HbmTensor<f32, m![1], m![R, N]>,
    ) {
        type Slice = m![R / 2];
        let x = x.to_dm::<Cluster, Slice, m![R % 2, K]>(&mut ctx.tdma, AUTO);
        let tiles = w.view().tiles::<m![N / 32], 1, m![1 # 3, N % 32, K]>();
        tiled_product(ctx, &x, tiles, |ctx, tile, own: &DmTensor<f32, _, _, _, m![R % 2, N % 32]>| {
            let y = y.view_mut().tile::<m![N / 32], 1, m![R, 1 # 3, N % 32]>(tile);
            own.view().to_hbm_view(&mut ctx.tdma, y);
        });
    }

    #[test]
    fn tiles_are_loaded_while_others_are_multiplied() {
        let (x, w) = (halves(40, R::SIZE * K::SIZE, 1.0), halves(41, N::SIZE * K::SIZE, 1.0));
        let (y, report) = block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<bf16, m![R, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
            let w = HostTensor::<bf16, m![N, K]>::from_slice(&w).to_hbm(&mut ctx.pdma, AUTO).await;
            let mut y = HostTensor::<f32, m![R, N]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
            let ((), commands) = kept(&mut ctx, |ctx| block_on(launch(tiled, (ctx, &x, &w, &mut y))));
            let report = ctx.report();
            let found = y.to_host::<m![R, N]>(&mut ctx.pdma).await.to_vec();
            let orders = in_other_orders(&mut ctx, &commands, |ctx, order| {
                let again = block_on(y.to_host::<m![R, N]>(&mut ctx.pdma)).to_vec();
                assert_eq!(again, found, "{order:?}");
            });
            assert!(orders > 3, "{orders}");
            (found, report)
        });
        assert_near(&y, &products(&wide(&x), &wide(&w), K::SIZE), 0.0, 256.0 * 13.0 * ROUNDOFF);
        let of =
            |operation: &'static str| report.records.iter().filter(move |own| own.operation == operation);
        let (loads, passes): (Vec<_>, Vec<_>) = (of("to_trf").collect(), of("commit").collect());
        assert_eq!((loads.len(), passes.len()), (3, 3));
        // All that a helper orders has the line of its caller.
        assert!(report.records.iter().all(|own| own.location.file().ends_with("parts.rs")));
        // Each load of the register file waits for its DMA alone: not for the product before it.
        let moves: Vec<_> = of("to_dm").collect();
        for tile in 0..3 {
            assert_eq!(loads[tile].start, moves[tile + 1].end, "tile {tile}");
        }
        // And the DMA of the third tile does not wait for the store of the first product.
        let store = of("to_hbm").next().expect("a product is stored");
        assert!(moves[3].end <= store.start, "{} and {}", moves[3].end, store.start);
    }

    type X = HbmTensor<bf16, m![1], m![R, K]>;

    #[device(chip = 1)]
    fn residual_and_gate(ctx: &mut Context, a: &X, b: &X) -> (X, HbmTensor<f32, m![1], m![R, K]>) {
        let [a, b] = [a, b].map(|own| own.to_dm::<m![R / 256], m![R % 256], m![1, K]>(&mut ctx.tdma, AUTO));
        let sum: DmTensor<bf16, _, _, _, _> = add(ctx, &a, &b);
        let gate: DmTensor<f32, _, _, _, _> = multiply(ctx, &a, &b);
        (sum.to_hbm(&mut ctx.tdma, AUTO), gate.to_hbm(&mut ctx.tdma, AUTO))
    }

    #[test]
    fn sums_and_products_of_elements() {
        let (a, b) = (halves(42, R::SIZE * K::SIZE, 2.0), halves(43, R::SIZE * K::SIZE, 0.1));
        let (sum, gate) = block_on(async {
            let mut ctx = Context::acquire();
            let a: X = HostTensor::<bf16, m![R, K]>::from_slice(&a).to_hbm(&mut ctx.pdma, AUTO).await;
            let b: X = HostTensor::<bf16, m![R, K]>::from_slice(&b).to_hbm(&mut ctx.pdma, AUTO).await;
            let (sum, gate) = launch(residual_and_gate, (&mut *ctx, &a, &b)).await;
            let sum = sum.to_host::<m![R, K]>(&mut ctx.pdma).await.to_vec();
            (sum, gate.to_host::<m![R, K]>(&mut ctx.pdma).await.to_vec())
        });
        for (k, (a, b)) in a.iter().zip(&b).enumerate() {
            assert_eq!(sum[k], bf16::from_f32(a.to_f32() + b.to_f32()), "element {k}");
            // A product of two bf16 is exact in f32.
            assert_eq!(gate[k], a.to_f32() * b.to_f32(), "element {k}");
        }
    }
}
