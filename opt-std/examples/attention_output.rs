//! The output projection of attention, for one token: `y = residual + W x`, with 3840 x 4096 weights in `bf16`.
//!
//! Every weight is used once, so HBM decides: its 31 457 280 bytes take 20 480 cycles at the full rate of all channels, and the
//! products 120. The two kernels differ in how near they come.
//!
//! ```text
//!   plain   one cluster        tuned   two clusters
//!
//!   DMA    x r w0 w1 w2 w3 w4 y        DMA    x w0 w0 w0 w1 r     y
//!   sub         w0 w1 w2 w3 w4         sub      x             r
//!   main           y0 y1 y2 y3 y4      main    x      y0   y1 y
//! ```
//!
//! In both, 16 slices share a row of the weights, and the Vector Engine adds their parts.
//!
//! | step | what the report says before it | cycles |
//! |---|---|---|
//! | plain | | 54 057 |
//! | both clusters; weights are the stream and the token is in the register file; a ring passes the token on | `hint 1 saves 18 636 cycles: idle cluster`; the sub context is busy for 33 %, to load weights 8 bytes at a time; `to_dm … bound by copies` for a token of 8 KiB takes 4 426 | 28 975 |
//! | 15 groups of 128 rows, not 16 of 120; the residual is loaded while the last tile is multiplied | `to_hbm … runs of 240 bytes: HBM reads, changes and writes each unit`; 1 666, then 535 | 33 590 |
//! | rows of the weights in the order in which slices take them | the column `HBM, all` of the first load is 1.4 times what its bytes take, and far above the two sides: slices read far apart, at multiples of 1 MiB, and banks change rows; 25 308, then 19 522 | 25 806 |
//!
//! The third step alone is a loss, because 1 MiB is a worse distance than 960 KiB was (19 064). What is left
//! above the bound is refresh, the start of 5 transfers (500 each), and what follows the last byte: the products of 16 rows.
//!
//! The report also notes what users of the SDK saw: a switch that gives both clusters the same may fill only one.
//! `VISA_CHECKS=-sdk` turns the note off.
//!
//! Run it: `cargo run --release -p furiosa-opt-std --example attention_output`. `--small` takes small sizes, and `--report`
//! prints the whole report of each kernel.

use furiosa_opt_std::prelude::*;
use std::time::Instant;

mod decoder;
use decoder::{Random, Work, compare, exact, flag, product, report, twice};

/// Both kernels at a size: `$o` outputs, and `$i` inputs in 16 parts of `$part`, which are so many `$flits` and `$pairs` of
/// them.
///
/// Plain: a slice has `$own` outputs, in `$turns` tiles of `$tile`, of `$groups` groups of 8.
/// Tuned: a slice has `$rows` outputs, in tiles of `$first` and `$last`.
macro_rules! at_size {
    (
        $name:ident: o $o:tt, i $i:tt, part $part:tt, flits $flits:tt, pairs $pairs:tt;
        plain: own $own:tt, turns $turns:tt, tile $tile:tt, groups $groups:tt;
        tuned: rows $rows:tt, first $first:tt, last $last:tt
    ) => {
        mod $name {
            use super::*;

            axes![O = $o, I = $i];

            type X = HbmTensor<bf16, m![1], m![I]>;

            /// Weights go to the register file, and the token is the stream.
            mod plain {
                use super::*;

                pub type Outputs = m![O];
                type W = HbmTensor<bf16, m![1], Weights>;
                pub type Weights = m![O, I];
                type Y = HbmTensor<bf16, m![1], m![O]>;
                type Cluster = m![1 # 2];
                type Slice = m![O / $own, I / $part];
                /// One of 16 slices has the sums.
                type Sums = m![O / $own, 1 # 16];
                type Group = m![O / 8 % $groups];

                #[device(chip = 1)]
                pub fn attention_output(ctx: &mut Context, w: &W, x: &X, residual: &Y) -> Y {
                    let x: DmTensor<bf16, m![1], Cluster, Slice, m![I % $part]> = x.to_dm(&mut ctx.tdma);
                    let residual: DmTensor<bf16, m![1], Cluster, Sums, m![O % $own]> =
                        residual.to_dm(&mut ctx.tdma);
                    let mut y: DmTensor<bf16, m![1], Cluster, Sums, m![O % $own]> = DmTensor::new();
                    for turn in 0..$turns {
                        let w = w.view().tile::<m![O / $tile % $turns], 1, m![O / $own, 1 # $turns, O % $tile, I]>(turn);
                        let w: DmTensor<bf16, m![1], Cluster, Slice, m![O % $tile, I % $part]> =
                            w.to_dm(&mut ctx.tdma);
                        let w: TrfTensor<bf16, m![1], Cluster, Slice, m![O % 8], m![{ Group }, I % $part]> = ctx
                            .sub
                            .begin(w.view())
                            .fetch::<m![O % 8, { Group }], m![I % $part]>()
                            .collect::<m![O % 8, { Group }, I / 16 % $flits], m![I % 16]>()
                            .to_trf();
                        let residual =
                            residual.view().tile::<m![O / $tile % $turns], 1, m![1 # $turns, O % $tile]>(turn);
                        let residual: VrfTensor<f32, m![1], Cluster, Sums, m![O % $tile]> = ctx
                            .sub
                            .begin(residual)
                            .fetch::<Group, m![O % 8]>()
                            .fetch_cast::<f32>()
                            .collect::<Group, m![O % 8]>()
                            .to_vrf();
                        let y = y.view_mut().tile::<m![O / $tile % $turns], 1, m![1 #{!} $turns, O % $tile]>(turn);
                        ctx.main
                            .begin(x.view())
                            .fetch::<m![1], m![I % $part]>()
                            .collect::<m![I / 16 % $flits], m![I % 16]>()
                            .contract_outer::<m![I / 32 % $pairs, { Group }], m![I % 32], _, _, _>(&w)
                            .contract_packet::<m![1]>()
                            .contract_time::<Group>()
                            .contract_lane::<Group, m![O % 8]>(LaneMode::Interleaved)
                            .vector_init()
                            .vector_inter_slice_reduce::<Sums, Group>(InterSliceReduceOpF32::Add)
                            .vector_intra_slice_tag(TagMode::Zero)
                            .vector_clip(ClipBinaryOpF32::Add, &residual)
                            .vector_final()
                            .cast::<bf16, m![O % 8 # 16]>()
                            .commit_trim::<m![O % 8]>()
                            .commit_view(y);
                    }
                    y.to_hbm(&mut ctx.tdma)
                }
            }

            mod tuned {
                use super::*;

                // Outputs in clusters, groups of 16 slices, and rows. 15 groups have whole units of 256 bytes to store. Copies of
                // the token for groups need an axis that nothing else has.
                axes![C = 2, R = 15, Q = $rows];

                pub type Outputs = m![C, R, Q];
                type W = HbmTensor<bf16, m![1], Weights>;
                /// All slices read rows side by side: an open row of a bank of HBM serves many of them.
                pub type Weights = m![Q, C, R, I];
                type Y = HbmTensor<bf16, m![1], Outputs>;
                type Cluster = m![C];
                type Slice = m![R # 16, I / $part];
                /// One of 16 slices has the sums.
                type Sums = m![R # 16, 1 # 16];
                type Eights = m![Q / 8];
                type Token = TrfTensor<bf16, m![1], Cluster, Slice, m![1], m![I % $part]>;

                /// Brings a tile of the weights.
                macro_rules! load {
                    ($ctx:ident, $w:ident, $count:literal from $start:literal) => {{
                        let tile = $w
                            .view()
                            .tile::<m![Q], $count, m![Q = $count # $rows, C, R, I]>($start);
                        let tile: DmTensor<bf16, m![1], Cluster, Slice, m![Q = $count, I % $part]> =
                            tile.to_dm(&mut $ctx.tdma);
                        tile
                    }};
                }

                /// Multiplies a tile, adds the parts of 16 slices, and leaves a sum in every 8 bytes.
                macro_rules! multiply {
                    ($ctx:ident, $w:ident, $x:ident, $sums:ident, $count:literal from $start:literal) => {{
                        let sums = $sums
                            .view_mut()
                            .tile::<m![Q], $count, m![Q = $count #{!} $rows, 1 # 2]>($start);
                        $ctx.main
                            .begin($w.view())
                            .fetch::<m![Q = $count], m![I % $part]>()
                            .collect::<m![Q = $count, I / 16 % $flits], m![I % 16]>()
                            .contract_outer::<m![Q = $count, I / 32 % $pairs], m![I % 32], _, _, _>(&$x)
                            .contract_packet::<m![1]>()
                            .contract_time::<m![Q = $count]>()
                            .contract_lane::<m![Q = $count], m![1 # 8]>(LaneMode::Interleaved)
                            .vector_init()
                            .vector_inter_slice_reduce::<Sums, m![Q = $count]>(InterSliceReduceOpF32::Add)
                            .vector_final()
                            .commit_trim::<m![1 # 2]>()
                            .commit_view(sums);
                    }};
                }

                #[device(chip = 1)]
                pub fn attention_output(ctx: &mut Context, w: &W, x: &X, residual: &Y) -> Y {
                    let x: DmTensor<bf16, m![1], Cluster, m![I / 16 % $flits # 16, I / $part], m![I % 16]> =
                        x.to_dm(&mut ctx.tdma);
                    // The second tile is short: its products are all that follows the last byte.
                    let first = load!(ctx, w, $first from 0);
                    let last = load!(ctx, w, $last from $first);
                    let residual: DmTensor<bf16, m![1], Cluster, Sums, m![Q]> =
                        residual.to_dm(&mut ctx.tdma);
                    let x: DmTensor<bf16, m![1], Cluster, Slice, m![I / 16 % $flits # 16, I % 16]> = ctx
                        .main
                        .begin(x.view())
                        .fetch::<m![1], m![I % 16]>()
                        .switch::<Slice, m![I / 16 % $flits # 16]>(SwitchConfig::Broadcast1 { slice1: 16, slice0: 16 })
                        .collect::<m![I / 16 % $flits # 16], m![I % 16]>()
                        .commit_trim::<m![I % 16]>()
                        .commit();
                    let x: Token = ctx
                        .sub
                        .begin(x.view())
                        .fetch::<m![1], m![I % $part]>()
                        .collect::<m![I / 16 % $flits], m![I % 16]>()
                        .to_trf();
                    let residual: VrfTensor<f32, m![1], Cluster, Sums, m![Q]> = ctx
                        .sub
                        .begin(residual.view())
                        .fetch::<Eights, m![Q % 8]>()
                        .fetch_cast::<f32>()
                        .collect::<Eights, m![Q % 8]>()
                        .to_vrf();
                    let mut sums: DmTensor<f32, m![1], Cluster, Sums, m![Q, 1 # 2]> = DmTensor::new();
                    multiply!(ctx, first, x, sums, $first from 0);
                    multiply!(ctx, last, x, sums, $last from $first);
                    let y: DmTensor<bf16, m![1], Cluster, Sums, m![Q]> = ctx
                        .main
                        .begin(sums.view())
                        .fetch::<Eights, m![Q % 8]>()
                        .collect::<Eights, m![Q % 8]>()
                        .vector_init()
                        .vector_intra_slice_tag(TagMode::Zero)
                        .vector_clip(ClipBinaryOpF32::Add, &residual)
                        .vector_final()
                        .cast::<bf16, m![Q % 8 # 16]>()
                        .commit_trim::<m![Q % 8]>()
                        .commit();
                    y.to_hbm(&mut ctx.tdma)
                }
            }

            /// Runs both and compares them with the host.
            pub fn run() {
                let mut random = Random::seeded(36);
                let (o, i) = (O::SIZE, I::SIZE);
                let (w, x, residual) =
                    (random.numbers(o * i, 0.05), random.numbers(i, 1.0), random.numbers(o, 1.0));
                let reference: Vec<f64> =
                    product(&w, &exact(&x)).iter().zip(exact(&residual)).map(|(y, before)| y + before).collect();
                let work = Work { bytes: 2 * o * i, products: o * i, per_lane: 32 };
                work.print();
                macro_rules! cycles {
                    ($kernel:ident) => {{
                        use $kernel::{Outputs, Weights};
                        let mut ctx = Context::acquire().bind($kernel::attention_output.device());
                        pollster::block_on(async {
                            let hbm = HostTensor::<bf16, m![{ Outputs }, I]>::from_vec(w.iter().copied());
                            let hbm = hbm.to_hbm::<m![1], Weights>(&mut ctx.pdma).await;
                            let token = HostTensor::<bf16, m![I]>::from_vec(x.iter().copied());
                            let token: X = token.to_hbm(&mut ctx.pdma).await;
                            let before = HostTensor::<bf16, Outputs>::from_vec(residual.iter().copied());
                            let before = before.to_hbm(&mut ctx.pdma).await;
                            let start = Instant::now();
                            let y = launch($kernel::attention_output, (&mut *ctx, &hbm, &token, &before)).await;
                            let cycles = report(stringify!($kernel), &mut ctx, &work, start);
                            // A result is rounded to `bf16`, by half of 2⁻⁸ of it, and the largest is less than 5 times the root
                            // mean square. Sums in `f32` add little.
                            compare(stringify!($kernel), &y.into_vec(), &reference, 0.02);
                            cycles
                        })
                    }};
                }
                twice(cycles!(plain), cycles!(tuned));
            }
        }
    };
}

at_size! {
    full: o 3840, i 4096, part 256, flits 16, pairs 8;
    plain: own 240, turns 5, tile 48, groups 6;
    tuned: rows 128, first 112, last 16
}

at_size! {
    small: o 1920, i 1024, part 64, flits 4, pairs 2;
    plain: own 120, turns 5, tile 24, groups 3;
    tuned: rows 64, first 56, last 8
}

fn main() {
    if flag("--small") { small::run() } else { full::run() }
}
