//! Matrix products through the whole pipeline, in every type of the multipliers and both kinds of accumulation.
//!
//! `y[m, n] = Σ x[m, k] · w[n, k]`: rows of `x` are spread over both clusters and 16 slices; the TRF holds all of `w`, 8
//! rows at a time. The sums of floats are compared bit by bit with loops that add in the documented order.

use crate::{Cluster, Number, assert_same, block_on, dot, init, numbers, tree};
use furiosa_visa_std::mapping;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::{DeviceFn, DeviceSend};

axes![M = 64, N = 64, K = 256];
type Both = m![M / 32];
type Slice = m![M / 4 % 8 # 256];
type Rows = m![M % 4, K];
type X<D> = HbmTensor<D, m![1], m![M, K]>;
type W<D> = HbmTensor<D, m![1], m![N, K]>;

/// Compares a kernel with plain loops that add `chunk` products in a tree, and then the sums one after the other.
#[track_caller]
fn check<D, O, Layout: mapping::M, Kernel>(kernel: Kernel, chunk: usize, convert: impl Fn(D::Wide) -> O)
where
    D: Number,
    O: Scalar,
    Kernel: for<'a> DeviceFn<(&'a mut Context, &'a X<D>, &'a W<D>), Output = HbmTensor<O, m![1], Layout>>,
    for<'a> (&'a mut Context, &'a X<D>, &'a W<D>): DeviceSend,
{
    let (x, w) = (numbers::<D>(31, 64 * 256), numbers::<D>(32, 64 * 256));
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<D, m![M, K]>::from_buf(init(&x));
        let w = HostTensor::<D, m![N, K]>::from_buf(init(&w));
        let x = x.to_hbm(&mut ctx.pdma, 0).await;
        let w = w.to_hbm(&mut ctx.pdma, 1 << 20).await;
        let y = launch(kernel, (&mut *ctx, &x, &w)).await;
        y.to_host::<m![M, N]>(&mut ctx.pdma).await.to_buf()
    });
    let mut expected = Vec::new();
    for x in x.chunks(256) {
        for w in w.chunks(256) {
            expected.push(convert(dot(x, w, chunk)));
        }
    }
    assert_same(&found, &expected);
}

/// The end of a pipeline: with a cast or without.
macro_rules! narrowed {
    ($stream:expr, as it is, $packet:ty) => {
        $stream
    };
    ($stream:expr, as $type:ty, $packet:ty) => {
        $stream.cast::<$type, $packet>()
    };
}

/// Kernels of `Interleaved` accumulation with two flits per packet and with one.
///
/// `flit`, `packet`: elements in 32 and 64 bytes. `lanes`: elements of a flit of the result. `window`: elements of each
/// row that are committed, 8 or as many as take 8 bytes.
macro_rules! interleaved {
    (
        $name:ident: $d:ty => $o:ty as [$($cast:tt)*], flit $flit:literal, packet $packet:literal,
        lanes $lanes:literal, window $window:literal, trf $address:expr, convert $convert:expr
    ) => {
        mod $name {
            use super::*;

            fn weights(ctx: &mut Context, w: &W<$d>) -> TrfTensor<$d, m![1], Both, Slice, m![N % 8], m![N / 8, K]> {
                let w = w.to_dm::<Both, Slice, m![N, K]>(&mut ctx.tdma, 1 << 12);
                (ctx.sub.begin(w.view()).fetch::<$d, m![N % 8, N / 8], m![K]>())
                    .collect::<m![N % 8, N / 8, K / $flit], m![K % $flit]>()
                    .to_trf($address)
            }

            #[device(chip = 1)]
            fn two_flits(ctx: &mut Context, x: &X<$d>, w: &W<$d>) -> HbmTensor<$o, m![1], m![M, N]> {
                let w = weights(ctx, w);
                let x = x.to_dm::<Both, Slice, Rows>(&mut ctx.tdma, 0);
                let sums = (ctx.main.begin(x.view()).fetch::<$d, m![M % 4], m![K]>())
                    .collect::<m![M % 4, K / $flit], m![K % $flit]>()
                    .align::<m![M % 4, K / $packet, N / 8], m![K % $packet], _, _>(&w)
                    .contract::<m![1]>()
                    .accumulate::<m![M % 4, N / 8], m![N % 8]>(AccumulationKind::Interleaved);
                let y = narrowed!(sums, as $($cast)*, m![N % 8 # $lanes]);
                y.commit::<m![M % 4, N / 8, N % 8 # $window]>(1 << 17)
                    .to_hbm(&mut ctx.tdma, 1 << 30)
            }

            #[device(chip = 1)]
            fn one_flit(ctx: &mut Context, x: &X<$d>, w: &W<$d>) -> HbmTensor<$o, m![1], m![M, N]> {
                let w = weights(ctx, w);
                let x = x.to_dm::<Both, Slice, Rows>(&mut ctx.tdma, 0);
                let sums = (ctx.main.begin(x.view()).fetch::<$d, m![M % 4], m![K]>())
                    .collect::<m![M % 4, K / $flit], m![K % $flit]>()
                    .align::<m![M % 4, K / $flit, N / 8], m![K % $flit # $packet], _, _>(&w)
                    .contract::<m![1]>()
                    .accumulate::<m![M % 4, N / 8], m![N % 8]>(AccumulationKind::Interleaved);
                let y = narrowed!(sums, as $($cast)*, m![N % 8 # $lanes]);
                y.commit::<m![M % 4, N / 8, N % 8 # $window]>(1 << 17)
                    .to_hbm(&mut ctx.tdma, 1 << 30)
            }

            #[test]
            fn packets_of_two_flits() {
                check(two_flits, $packet, $convert);
            }

            #[test]
            fn packets_of_one_flit() {
                check(one_flit, $flit, $convert);
            }
        }
    };
}

/// Kernels of `Sequential` accumulation: two flits are two rows of `x` and leave as two columns; one flit leaves as one.
///
/// `x` is fetched again for every group of weights, so that the sums over `K` are innermost. `window`: elements of 8
/// bytes of the result.
macro_rules! sequential {
    (
        $name:ident: $d:ty => $o:ty as [$($cast:tt)*], flit $flit:literal, packet $packet:literal,
        lanes $lanes:literal, window $window:literal, trf $address:expr, convert $convert:expr
    ) => {
        mod $name {
            use super::*;

            fn weights(ctx: &mut Context, w: &W<$d>) -> TrfTensor<$d, m![1], Both, Slice, m![N % 8], m![N / 8, K]> {
                let w = w.to_dm::<Both, Slice, m![N, K]>(&mut ctx.tdma, 1 << 12);
                (ctx.sub.begin(w.view()).fetch::<$d, m![N % 8, N / 8], m![K]>())
                    .collect::<m![N % 8, N / 8, K / $flit], m![K % $flit]>()
                    .to_trf($address)
            }

            #[device(chip = 1)]
            fn two_flits(ctx: &mut Context, x: &X<$d>, w: &W<$d>) -> HbmTensor<$o, m![1], m![M / 2, N, M % 2]> {
                let w = weights(ctx, w);
                let x = x.to_dm::<Both, Slice, Rows>(&mut ctx.tdma, 0);
                let sums = (ctx.main.begin(x.view()))
                    .fetch::<$d, m![M / 2 % 2, N / 8, K / $flit, M % 2], m![K % $flit]>()
                    .collect::<m![M / 2 % 2, N / 8, K / $flit, M % 2], m![K % $flit]>()
                    .align::<m![M / 2 % 2, N / 8, K / $flit], m![M % 2, K % $flit], _, _>(&w)
                    .contract::<m![M % 2]>()
                    .accumulate::<m![M / 2 % 2, N], m![M % 2 # 8]>(AccumulationKind::Sequential);
                let y = narrowed!(sums, as $($cast)*, m![M % 2 # $lanes]);
                y.commit::<m![M / 2 % 2, N, M % 2 # $window]>(1 << 17)
                    .to_hbm(&mut ctx.tdma, 1 << 30)
            }

            #[device(chip = 1)]
            fn one_flit(ctx: &mut Context, x: &X<$d>, w: &W<$d>) -> HbmTensor<$o, m![1], m![M, N]> {
                let w = weights(ctx, w);
                let x = x.to_dm::<Both, Slice, Rows>(&mut ctx.tdma, 0);
                let sums = (ctx.main.begin(x.view()).fetch::<$d, m![M % 4, N / 8], m![K]>())
                    .collect::<m![M % 4, N / 8, K / $flit], m![K % $flit]>()
                    .align::<m![M % 4, N / 8, K / $flit], m![K % $flit # $packet], _, _>(&w)
                    .contract::<m![1]>()
                    .accumulate::<m![M % 4, N], m![1 # 8]>(AccumulationKind::Sequential);
                let y = narrowed!(sums, as $($cast)*, m![1 # $lanes]);
                y.commit::<m![M % 4, N, 1 # $window]>(1 << 17)
                    .to_hbm(&mut ctx.tdma, 1 << 30)
            }

            #[test]
            fn packets_of_two_flits() {
                check(two_flits, $flit, $convert);
            }

            #[test]
            fn packets_of_one_flit() {
                check(one_flit, $flit, $convert);
            }
        }
    };
}

fn same<T>(value: T) -> T {
    value
}

/// The low 8 bits.
fn low_8(value: i32) -> i8 {
    value as i8
}

/// The low 4 bits.
fn low_4(value: i32) -> i4 {
    <i4 as Scalar>::from_bits(value as u32 & 15)
}

/// Round to nearest, ties to even, by hand.
fn rounded(value: f32) -> bf16 {
    let bits = value.to_bits();
    bf16::from_bits(((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as _)
}

interleaved! {
    i4_interleaved: i4 => i32 as [it is], flit 64, packet 128, lanes 8, window 8,
    trf TrfAddress::FirstHalf, convert same
}
interleaved! {
    i4_interleaved_to_i4: i4 => i4 as [i4], flit 64, packet 128, lanes 64, window 16,
    trf TrfAddress::SecondHalf, convert low_4
}
sequential! {
    i4_sequential: i4 => i32 as [it is], flit 64, packet 128, lanes 8, window 2,
    trf TrfAddress::Full, convert same
}
sequential! {
    i4_sequential_to_i8: i4 => i8 as [i8], flit 64, packet 128, lanes 32, window 8,
    trf TrfAddress::Full, convert low_8
}
interleaved! {
    i8_interleaved: i8 => i32 as [it is], flit 32, packet 64, lanes 8, window 8,
    trf TrfAddress::SecondHalf, convert same
}
interleaved! {
    i8_interleaved_to_i8: i8 => i8 as [i8], flit 32, packet 64, lanes 32, window 8,
    trf TrfAddress::Full, convert low_8
}
sequential! {
    i8_sequential: i8 => i32 as [it is], flit 32, packet 64, lanes 8, window 2,
    trf TrfAddress::Full, convert same
}
sequential! {
    i8_sequential_to_i16: i8 => i16 as [i16], flit 32, packet 64, lanes 16, window 4,
    trf TrfAddress::FirstHalf, convert |value| value as i16
}
interleaved! {
    f8e4m3_interleaved: f8e4m3 => f32 as [it is], flit 32, packet 64, lanes 8, window 8,
    trf TrfAddress::Full, convert same
}
interleaved! {
    f8e4m3_interleaved_to_f8e4m3: f8e4m3 => f8e4m3 as [f8e4m3], flit 32, packet 64, lanes 32, window 8,
    trf TrfAddress::Full, convert f8e4m3::from_f32
}
sequential! {
    f8e4m3_sequential: f8e4m3 => f32 as [it is], flit 32, packet 64, lanes 8, window 2,
    trf TrfAddress::SecondHalf, convert same
}
interleaved! {
    f8e5m2_interleaved: f8e5m2 => f32 as [it is], flit 32, packet 64, lanes 8, window 8,
    trf TrfAddress::Full, convert same
}
sequential! {
    f8e5m2_sequential_to_bf16: f8e5m2 => bf16 as [bf16], flit 32, packet 64, lanes 16, window 4,
    trf TrfAddress::Full, convert rounded
}
// The weights of bf16 fill a half exactly.
interleaved! {
    bf16_interleaved: bf16 => f32 as [it is], flit 16, packet 32, lanes 8, window 8,
    trf TrfAddress::SecondHalf, convert same
}
interleaved! {
    bf16_interleaved_to_bf16: bf16 => bf16 as [bf16], flit 16, packet 32, lanes 16, window 8,
    trf TrfAddress::FirstHalf, convert rounded
}
sequential! {
    bf16_sequential: bf16 => f32 as [it is], flit 16, packet 32, lanes 8, window 2,
    trf TrfAddress::Full, convert same
}
sequential! {
    bf16_sequential_to_f8e4m3: bf16 => f8e4m3 as [f8e4m3], flit 16, packet 32, lanes 32, window 8,
    trf TrfAddress::Full, convert f8e4m3::from_f32
}

/// 32 columns leave the tree unsummed; the sum is over time alone.
mod outer_products {
    use super::*;
    axes![S = 3, R = 8, C = 16, V = 32];
    type Slices = m![S # 256];

    /// `y[r, v] = Σ w[r, c] · x[c, v]`.
    macro_rules! outer {
        (
            $name:ident: $d:ty, stream $time_in:ty, $packet_in:ty, packet $packet:ty,
            $kind:expr, time $time:ty, lanes $lanes:ty, trf $weights:ty, $flits:ty, $flit:ty
        ) => {
            #[test]
            fn $name() {
                #[device(chip = 1)]
                fn kernel(
                    ctx: &mut Context,
                    x: &HbmTensor<$d, m![1], m![S, C, V]>,
                    w: &HbmTensor<$d, m![1], m![R, { $weights }]>,
                ) -> HbmTensor<<$d as Number>::Wide, m![1], m![S, { $time }, { $lanes }]> {
                    let x = x.to_dm::<Cluster, Slices, m![C, V]>(&mut ctx.tdma, 0);
                    let w = w.to_dm::<Cluster, Slices, m![R, { $weights }]>(&mut ctx.tdma, 1 << 12);
                    let w = (ctx.sub.begin(w.view()).fetch::<$d, m![R], $weights>())
                        .collect::<m![R, { $flits }], $flit>()
                        .to_trf::<m![R], m![{ $flits }, { $flit }]>(TrfAddress::Full);
                    (ctx.main.begin(x.view()).fetch::<$d, m![C], m![V]>())
                        .collect::<$time_in, $packet_in>()
                        .align::<m![C], $packet, _, _>(&w)
                        .contract::<m![V]>()
                        .accumulate::<$time, $lanes>($kind)
                        .commit::<m![{ $time }, { $lanes }]>(1 << 16)
                        .to_hbm(&mut ctx.tdma, 1 << 30)
                }
                let (x, w) = (numbers::<$d>(41, 3 * 16 * 32), numbers::<$d>(42, 8 * 16));
                let found = block_on(async {
                    let mut ctx = Context::acquire();
                    let x = HostTensor::<$d, m![S, C, V]>::from_buf(init(&x));
                    let w = HostTensor::<$d, m![R, C]>::from_buf(init(&w));
                    let x = x.to_hbm(&mut ctx.pdma, 0).await;
                    let w = w.to_hbm(&mut ctx.pdma, 1 << 20).await;
                    let y = launch(kernel, (&mut ctx, &x, &w)).await;
                    y.to_host::<m![S, R, V]>(&mut ctx.pdma).await.to_buf()
                });
                let mut expected = Vec::new();
                for x in x.chunks(16 * 32) {
                    for w in w.chunks(16) {
                        for v in 0..32 {
                            let column: Vec<$d> = (0..16).map(|c| x[c * 32 + v]).collect();
                            expected.push(dot(&column, w, 1));
                        }
                    }
                }
                assert_same(&found, &expected);
            }
        };
    }

    outer! {
        bf16_interleaved: bf16, stream m![C, V / 16], m![V % 16], packet m![V],
        AccumulationKind::Interleaved, time m![V], lanes m![R], trf m![C], m![1], m![C]
    }
    outer! {
        bf16_sequential: bf16, stream m![C, V / 16], m![V % 16], packet m![V],
        AccumulationKind::Sequential, time m![R, V / 8], lanes m![V % 8], trf m![C], m![1], m![C]
    }
    outer! {
        i8_interleaved: i8, stream m![C], m![V], packet m![V # 64],
        AccumulationKind::Interleaved, time m![V], lanes m![R], trf m![C], m![1], m![C # 32]
    }
    outer! {
        i8_sequential: i8, stream m![C], m![V], packet m![V # 64],
        AccumulationKind::Sequential, time m![R, V / 8], lanes m![V % 8], trf m![C], m![1], m![C # 32]
    }
}

#[test]
fn the_order_of_additions_matters_to_these_numbers() {
    // Another order gives other bits: the comparisons above are not idle.
    fn different<D: Number<Wide = f32>>(chunk: usize, other: impl Fn(&[f32]) -> f32) -> usize {
        let (x, w) = (numbers::<D>(31, 256), numbers::<D>(32, 64 * 256));
        let products = |w: &[D]| x.iter().zip(w).map(|(x, w)| x.wide() * w.wide()).collect::<Vec<f32>>();
        let changed = |w: &&[D]| other(&products(w)).to_bits() != dot(&x, w, chunk).to_bits();
        w.chunks(256).filter(changed).count()
    }
    let in_time = |products: &[f32]| products.iter().sum();
    let one_tree = |products: &[f32]| tree(products.to_vec());
    let halves = |products: &[f32]| {
        // The right chunks, but from the far ends inward.
        let folded = |chunk: &[f32]| {
            let (low, high) = chunk.split_at(chunk.len() / 2);
            tree(low.iter().zip(high).map(|(a, b)| a + b).collect())
        };
        products.chunks(32).map(folded).reduce(|sum, next| sum + next).expect("there are chunks")
    };
    let counts = [
        different::<bf16>(32, in_time),
        different::<bf16>(32, one_tree),
        different::<bf16>(32, halves),
        different::<f8e4m3>(32, in_time),
        different::<f8e4m3>(32, one_tree),
        different::<f8e5m2>(32, in_time),
        different::<f8e5m2>(32, halves),
    ];
    assert!(counts.iter().all(|count| *count >= 3), "{counts:?}");
}
