//! Query, key and value of one token: the norm of a hidden state of 3840, its product with 8192 x 3840 weights in `bf16` for 16
//! heads of queries and 8 each of keys and values, and the rotary embedding of queries and keys.
//!
//! HBM decides: 62 914 560 bytes of weights take 40 960 cycles at the full rate of all channels, and the products 240.
//!
//! The two halves of a head are turned together, so a slice has rows of both. Two streams in turns make one pass of each half:
//! the first is multiplied by the cosine and the second by the sine, or the other way round, and a zip joins them.
//!
//! | step | what the report says before it | cycles |
//! |---|---|---|
//! | plain | | 129 537 |
//! | both clusters | `idle: cluster 1 of 2 never used`; the load of the weights takes 82 747, bound by the DM networks of one cluster | |
//! | a ring of 256 passes the token on, 32 bytes from each slice | `to_dm … bound by copies`: 23 540 for 7 680 bytes to 256 slices; the ring takes 256, beside the load of weights | |
//! | weights in tiles of 7 and 1 of 8 rows | main waits for the load, and DMA for main: 7 947 cycles of products behind 82 747 of the load | |
//! | a ring of 16 collects a head in one slice before the store | `to_hbm … runs of 32 bytes`: 7 473, then 549 | 60 700 |
//! | rows of the weights in the order in which slices take them | the column `HBM, all` of the first load is 1.29 times what its bytes take: slices read far apart, and banks change rows; 46 206, then 43 973 | 57 673 |
//!
//! The note of the report about a switch that gives both clusters the same is explained in `attention_output.rs`.
//!
//! Run it: `cargo run --release -p furiosa-opt-std --example qkv_projection`. `--small` takes small sizes, and `--report`
//! prints the whole report of each kernel.

use furiosa_opt_std::prelude::*;
use std::time::Instant;

mod decoder;
use decoder::{Random, Work, compare, exact, flag, product, report, twice};

/// Added to the mean square.
const EPSILON: f32 = 1e-6;

/// What both kernels have in common: the norm, and the rotation of the sums.
///
/// `C` and `G` are heads: 16 of queries, 8 of keys and 8 of values. `F`, `S` and `E` are the places in a head: halves, slices,
/// and what a slice has. The module says how `Cluster` and `Slice` have them.
macro_rules! parts {
    () => {
        // Copies for all slices, the cosine and the sine, and the two streams of a pair.
        axes![Z = 256, T = 2, I = 2];

        type X = HbmTensor<bf16, m![1], m![K]>;
        pub type Angles = m![C, G, S, T, E];
        pub type Heads = m![C, G, F, S, E];
        type Table = HbmTensor<f32, m![1], Angles>;
        type Y = HbmTensor<bf16, m![1], Heads>;
        /// 16 elements of the token in each slice.
        type Spread = m![K / 16 # 256];
        type Spreads<D> = DmTensor<D, m![1], Cluster, Spread, m![K % 16]>;
        type Token = TrfTensor<bf16, m![1], Cluster, Slice, m![1], m![K]>;
        /// A sum in every 8 bytes.
        type Sums = DmTensor<f32, m![1], Cluster, Slice, m![F, E, 1 # 2]>;
        type Rotated = DmTensor<bf16, m![1], Cluster, Slice, m![F, E]>;

        /// `x · gamma / √(mean of x² + ε)`.
        fn normed(ctx: &mut Context, x: &X, gamma: &X) -> Spreads<bf16> {
            type Packets = m![K / 8 % 2];
            type Halves = m![K / 4 % 4];
            let x: Spreads<bf16> = x.to_dm(&mut ctx.tdma);
            let gamma: Spreads<bf16> = gamma.to_dm(&mut ctx.tdma);
            let gamma: VrfTensor<f32, m![1], Cluster, Spread, m![K % 16]> = ctx
                .sub
                .begin(gamma.view())
                .fetch::<Packets, m![K % 8]>()
                .fetch_cast::<f32>()
                .collect::<Packets, m![K % 8]>()
                .to_vrf();
            let squares: DmTensor<f32, m![1], Cluster, m![Z], m![1 # 2]> = ctx
                .main
                .begin(x.view())
                .fetch::<Packets, m![K % 8]>()
                .fetch_cast::<f32>()
                .collect::<Packets, m![K % 8]>()
                .vector_init()
                .vector_intra_slice_tag(TagMode::Zero)
                .vector_narrow_split::<Halves, m![K % 4]>()
                .vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul0), BinaryArgMode::Mode00, 0.0)
                .vector_intra_slice_reduce::<K, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
                .vector_widen_pad::<m![1 # 8]>()
                .vector_inter_slice_reduce::<m![Z], m![1]>(InterSliceReduceOpF32::Add)
                .vector_final()
                .commit_trim::<m![1 # 2]>()
                .commit();
            let root: DmTensor<f32, m![1], Cluster, m![Z], m![1 # 2]> = ctx
                .main
                .begin(squares.view())
                .fetch::<m![1], m![1 # 2]>()
                .collect::<m![1], m![1 # 8]>()
                .vector_init()
                .vector_intra_slice_tag(TagMode::Zero)
                .vector_narrow_trim::<m![1 # 4]>()
                .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 1.0 / K::SIZE as f32)
                .vector_fp_binary(FpBinaryOp::AddF, EPSILON)
                .vector_fp_unary(FpUnaryOp::Sqrt)
                .vector_widen_pad::<m![1 # 8]>()
                .vector_final()
                .commit_trim::<m![1 # 2]>()
                .commit();
            let root: VrfTensor<f32, m![1], Cluster, m![Z], m![1]> = ctx
                .sub
                .begin(root.view())
                .fetch::<m![1], m![1 # 2]>()
                .collect::<m![1], m![1 # 8]>()
                .to_vrf();
            ctx.main
                .begin(x.view())
                .fetch::<Packets, m![K % 8]>()
                .fetch_cast::<f32>()
                .collect::<Packets, m![K % 8]>()
                .vector_init()
                .vector_intra_slice_tag(TagMode::Zero)
                .vector_narrow_split::<Halves, m![K % 4]>()
                .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &gamma)
                .vector_fp_div(&root)
                .vector_widen_concat::<Packets, m![K % 8]>()
                .vector_final()
                .cast::<bf16, m![K % 8 # 16]>()
                .commit_trim::<m![K % 8]>()
                .commit()
        }

        /// One half of each head, from both: `low · cos - high · sin`, or `low · sin + high · cos`.
        macro_rules! half {
            ($ctx:ident, $sums:ident, $low:expr, $high:expr, $zip:ident into $y:expr) => {
                $ctx.main
                    .begin_interleaved::<I, _, _, _, _, _>(
                        $sums.view().tile::<m![F], 1, m![1 # 2, E, 1 # 2]>(0),
                        $sums.view().tile::<m![F], 1, m![1 # 2, E, 1 # 2]>(1),
                    )
                    .fetch::<m![E / 8, I], m![E % 8]>()
                    .collect::<m![E / 8, I], m![E % 8]>()
                    .vector_init()
                    .vector_intra_slice_unzip::<I, m![E / 8, 1 # 2], m![E / 8]>()
                    .vector_narrow_split::<m![E / 4], m![E % 4]>()
                    .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), $low, $high)
                    .vector_fp_zip(FpBinaryOp::$zip)
                    .vector_widen_concat::<m![E / 8], m![E % 8]>()
                    .vector_final()
                    .cast::<bf16, m![E % 8 # 16]>()
                    .commit_trim::<m![E % 8]>()
                    .commit_view($y)
            };
        }

        /// The rotary embedding. Values are turned by no angle.
        fn rotated(ctx: &mut Context, sums: &Sums, table: &Table) -> Rotated {
            let table: DmTensor<f32, m![1], Cluster, Slice, m![T, E]> = table.to_dm(&mut ctx.tdma);
            let mut function = |which: usize| -> VrfTensor<f32, m![1], Cluster, Slice, m![E]> {
                ctx.sub
                    .begin(table.view().tile::<m![T], 1, m![1 # 2, E]>(which))
                    .fetch::<m![E / 8], m![E % 8]>()
                    .collect::<m![E / 8], m![E % 8]>()
                    .to_vrf()
            };
            let (cos, sin) = (function(0), function(1));
            let mut y: Rotated = DmTensor::new();
            half!(ctx, sums, &cos, &sin, SubF into y.view_mut().tile::<m![F], 1, m![1 #{!} 2, E]>(0));
            half!(ctx, sums, &sin, &cos, AddF into y.view_mut().tile::<m![F], 1, m![1 #{!} 2, E]>(1));
            y
        }

        /// Multiplies rows of `$e` of the weights, and leaves a sum in every 8 bytes of `$sums`.
        macro_rules! multiply {
            ($ctx:ident, $w:ident, $x:ident, $sums:expr, $e:ty) => {
                $ctx.main
                    .begin($w.view())
                    .fetch::<m![F, { $e }, K / 16], m![K % 16]>()
                    .collect::<m![F, { $e }, K / 16], m![K % 16]>()
                    .contract_outer::<m![F, { $e }, K / 32], m![K % 32], _, _, _>(&$x)
                    .contract_packet::<m![1]>()
                    .contract_time::<m![F, { $e }]>()
                    .contract_lane::<m![F, { $e }], m![1 # 8]>(LaneMode::Interleaved)
                    .commit_trim::<m![1 # 2]>()
                    .commit_view($sums)
            };
        }
    };
}

/// Both kernels, for a hidden state of `$k`.
macro_rules! at_size {
    ($name:ident: k $k:tt) => {
        mod $name {
            use super::*;

            axes![K = $k];

            mod plain {
                use super::*;

                axes![C = 2, G = 16, F = 2, S = 8, E = 16];
                type Cluster = m![1 # 2];
                type Slice = m![C, G, S];
                pub type Weights = m![C, G, F, S, E, K];
                parts!();

                #[device(chip = 1)]
                pub fn qkv(
                    ctx: &mut Context,
                    w: &HbmTensor<bf16, m![1], Weights>,
                    x: &X,
                    gamma: &X,
                    table: &Table,
                ) -> Y {
                    let x = normed(ctx, x, gamma);
                    let x: X = x.to_hbm(&mut ctx.tdma);
                    let x: DmTensor<bf16, m![1], Cluster, Slice, m![K]> = x.to_dm(&mut ctx.tdma);
                    let x: Token = ctx
                        .sub
                        .begin(x.view())
                        .fetch::<m![1], m![K]>()
                        .collect::<m![K / 16], m![K % 16]>()
                        .to_trf();
                    let w: DmTensor<bf16, m![1], Cluster, Slice, m![F, E, K]> = w.to_dm(&mut ctx.tdma);
                    let mut sums: Sums = DmTensor::new();
                    multiply!(ctx, w, x, sums.view_mut(), m![E]);
                    rotated(ctx, &sums, table).to_hbm(&mut ctx.tdma)
                }
            }

            mod tuned {
                use super::*;

                axes![C = 2, G = 16, F = 2, S = 16, E = 8];
                type Cluster = m![C];
                type Slice = m![G, S];
                /// All slices read rows side by side: an open row of a bank of HBM serves many of them.
                pub type Weights = m![F, E, C, G, S, K];
                parts!();

                #[device(chip = 1)]
                pub fn qkv(
                    ctx: &mut Context,
                    w: &HbmTensor<bf16, m![1], Weights>,
                    x: &X,
                    gamma: &X,
                    table: &Table,
                ) -> Y {
                    let x = normed(ctx, x, gamma);
                    // The second tile is short: its products are all that follows the last byte.
                    let first: DmTensor<bf16, m![1], Cluster, Slice, m![F, E = 7, K]> =
                        w.view().tile::<m![E], 7, m![F, E = 7 # 8, C, G, S, K]>(0).to_dm(&mut ctx.tdma);
                    let last: DmTensor<bf16, m![1], Cluster, Slice, m![F, E = 1, K]> =
                        w.view().tile::<m![E], 1, m![F, E = 1 # 8, C, G, S, K]>(7).to_dm(&mut ctx.tdma);
                    let x: DmTensor<bf16, m![1], Cluster, Slice, m![K / 16 # 256, K % 16]> = ctx
                        .main
                        .begin(x.view())
                        .fetch::<m![1], m![K % 16]>()
                        .switch::<Slice, m![K / 16 # 256]>(SwitchConfig::Broadcast1 { slice1: 256, slice0: 1 })
                        .collect::<m![K / 16 # 256], m![K % 16]>()
                        .commit_trim::<m![K % 16]>()
                        .commit();
                    let x: Token = ctx
                        .sub
                        .begin(x.view())
                        .fetch::<m![1], m![K]>()
                        .collect::<m![K / 16], m![K % 16]>()
                        .to_trf();
                    let mut sums: Sums = DmTensor::new();
                    multiply!(ctx, first, x, sums.view_mut().tile::<m![E], 7, m![F, E = 7 #{!} 8, 1 # 2]>(0), m![E = 7]);
                    multiply!(ctx, last, x, sums.view_mut().tile::<m![E], 1, m![F, E = 1 #{!} 8, 1 # 2]>(7), m![E = 1]);
                    let y = rotated(ctx, &sums, table);
                    // A head in one slice: 512 bytes side by side.
                    let y: DmTensor<bf16, m![1], Cluster, m![G, 1 # 16], m![F, S, E]> = ctx
                        .main
                        .begin(y.view())
                        .fetch::<m![F], m![E]>()
                        .switch::<m![G, 1 # 16], m![F, S]>(SwitchConfig::TransposedBroadcast1 { slice1: 1, slice0: 16 })
                        .collect::<m![F, S], m![E # 16]>()
                        .commit_trim::<m![E]>()
                        .commit();
                    y.to_hbm(&mut ctx.tdma)
                }
            }

            /// Runs both and compares them with the host.
            pub fn run() {
                let mut random = Random::seeded(36);
                let k = K::SIZE;
                let w = random.numbers(8192 * k, 0.05);
                let x = random.numbers(k, 3.0);
                let gamma: Vec<bf16> = (0..k).map(|_| bf16::from_f32(1.0 + random.within(0.2) as f32)).collect();
                // The angles of the token at place 1000. Values are turned by none.
                let angle = |head: usize, place: usize| match head {
                    ..24 => 1000.0 * 10_000f64.powf(-(place as f64) / 128.0),
                    _ => 0.0,
                };
                let reference = {
                    let (x, gamma) = (exact(&x), exact(&gamma));
                    let mean = x.iter().map(|x| x * x).sum::<f64>() / k as f64;
                    let root = (mean + f64::from(EPSILON)).sqrt();
                    let normed: Vec<f64> = x.iter().zip(gamma).map(|(x, gamma)| x * gamma / root).collect();
                    let mut y = product(&w, &normed);
                    for (head, y) in y.chunks_exact_mut(256).enumerate() {
                        let (low, high) = y.split_at_mut(128);
                        for (place, (low, high)) in low.iter_mut().zip(high).enumerate() {
                            let (sin, cos) = angle(head, place).sin_cos();
                            (*low, *high) = (*low * cos - *high * sin, *low * sin + *high * cos);
                        }
                    }
                    y
                };
                let work = Work { bytes: 2 * 8192 * k, products: 8192 * k, per_lane: 32 };
                work.print();
                macro_rules! cycles {
                    ($kernel:ident) => {{
                        use $kernel::{Angles, E, Heads, S, Weights};
                        let mut table = Vec::with_capacity(2 * 32 * 128);
                        for block in 0..32 * S::SIZE {
                            for function in [f64::cos, f64::sin] {
                                let place = |e: usize| block % S::SIZE * E::SIZE + e;
                                table.extend((0..E::SIZE).map(|e| function(angle(block / S::SIZE, place(e))) as f32));
                            }
                        }
                        let mut ctx = Context::acquire().bind($kernel::qkv.device());
                        pollster::block_on(async {
                            let w = HostTensor::<bf16, m![{ Heads }, K]>::from_vec(w.iter().copied());
                            let w = w.to_hbm::<m![1], Weights>(&mut ctx.pdma).await;
                            let token = HostTensor::<bf16, m![K]>::from_vec(x.iter().copied());
                            let token = token.to_hbm::<m![1], m![K]>(&mut ctx.pdma).await;
                            let scale = HostTensor::<bf16, m![K]>::from_vec(gamma.iter().copied());
                            let scale = scale.to_hbm::<m![1], m![K]>(&mut ctx.pdma).await;
                            let table = HostTensor::<f32, Angles>::from_vec(table);
                            let table = table.to_hbm::<m![1], Angles>(&mut ctx.pdma).await;
                            let start = Instant::now();
                            let y = launch($kernel::qkv, (&mut *ctx, &w, &token, &scale, &table)).await;
                            let cycles = report(stringify!($kernel), &mut ctx, &work, start);
                            // The normed token and the results are rounded to `bf16`, by half of 2⁻⁸ of them; the largest result
                            // is less than 5 times the root mean square.
                            compare(stringify!($kernel), &y.into_vec(), &reference, 0.03);
                            cycles
                        })
                    }};
                }
                twice(cycles!(plain), cycles!(tuned));
            }
        }
    };
}

at_size!(full: k 3840);
at_size!(small: k 128);

fn main() {
    if flag("--small") { small::run() } else { full::run() }
}
