//! The gated feed-forward of one token: `W₂ (gelu(W₀ x) · W₁ x)`, with 3840 x 15360 weights three times, in `f4e2m1` with a
//! scale in `f8e4m3` for each block of 16 of a row (as NVFP4 has them).
//!
//! HBM decides: 99 532 800 bytes take 64 800 cycles at the full rate of all channels, and the products 675.
//!
//! ```text
//!   DM, f4 ─table─▶ DM, f8 ─▶ 64 products ─tree─▶ 4 sums of 16 ─· scale─▶ added over the row ─▶ and over slices
//!         main pass              contraction                    Vector Engine, 4 lanes
//! ```
//!
//! A block of 16 fits the chip as it is: a packet has 64 numbers of `f8`, and the adder tree leaves a sum for each block. Four
//! sums are what the float cluster takes in a cycle, so that scales cost no time beside the two flits of a packet. They are
//! read as `f32` from the vector register file, whose 8 KiB decide how many rows a pass has. The token and the gates are in
//! `f8`, too, because both sides of a contraction have one type.
//!
//! GELU is that of the hyperbolic tangent: `x · sigmoid(x · (a + b x²))`. It takes two passes. The first one
//! uses the units for `x²`, multiply-and-add, a second product (with the stash) and the sigmoid; the other multiplies by the
//! gate and by `up`.
//!
//! | step | what the report says before it | cycles |
//! |---|---|---|
//! | plain | | 283 353 |
//! | both clusters, each with half of the gates, whose sums are exchanged at the end; rings pass the token and the gates on; all loads are given before the first pass; weights in HBM as slices take them, 3 840 bytes at a time | `idle: cluster 1 of 2 never used`; `to_dm … bound by copies`: 13 300 twice; `bound by tdma to_dm (62 times)`, each with 500 cycles of start; `HBM, all` of a tile is 5 951, where its bytes take 1 920, because runs of 960 bytes are requests of 240 | 108 026 |
//! | `gate` and `up` in a load each, `down` in three, the last ones short; scales of 4 rows, 240 bytes, in each unit of 256 | `hint 1 saves 8 737 cycles: short DMA runs … 240 bytes: 15 360 requests`; `(19 times): startup` | 98 595 |
//! | scales in the order in which slices take them | the column `HBM, all` of the scales is 4 716, 1.8 times what their units take; then 2 799 | 94 117 |
//!
//! What is left above the bound: refresh; passes that read DM while loads write it (1 900 of the 6 700 cycles of a
//! tile of `down`); and what follows the last byte, 5 700 cycles: table and products of one tile, the exchange of the
//! clusters, and the store.
//!
//! The note of the report about a switch that gives both clusters the same is explained in `attention_output.rs`.
//!
//! Run it: `cargo run --release -p furiosa-opt-std --example feed_forward`. `--small` takes small sizes, and `--report`
//! prints the whole report of each kernel.

use furiosa_opt_std::prelude::*;
use std::time::Instant;

mod decoder;
use decoder::{Random, Work, compare, exact, flag, report, twice};

/// Factors of `x · sigmoid(x · (a + b · x²))`, which is GELU by the hyperbolic tangent: a = 2 √(2 / π), b = 0.044715 a.
const GELU: (f32, f32) = (0.071_354_814, 1.595_769_1);

/// One matrix: `$row` outputs and `$col` inputs. A slice has `$rows` rows in `$turns` tiles of `$tile`, and `$part` columns in so
/// many `$flits` and `$packets` of them. `$ways` slices share a row. Scales are in the order `$stored`, which are `$steps` of
/// `$lanes`.
macro_rules! matrix {
    (
        $name:ident: row $row:ident, col $col:ident, rows $rows:tt, tile $tile:tt, turns $turns:tt,
        part $part:tt, flits $flits:tt, packets $packets:tt, ways $ways:tt,
        scales [$($stored:tt)*] [$($steps:tt)*] [$($lanes:tt)*]
    ) => {
        pub mod $name {
            use super::*;

            pub type Group = m![$row / $rows];
            pub type Slice = m![{ Group }, $col / $part];
            /// The first slice of a row has the sums.
            pub type First = m![{ Group }, 1 # $ways];
            type Rows = m![$row % $tile];
            type Flits = m![$col / 32 % $flits];
            type Packets = m![$col / 64 % $packets];
            /// The scales of a tile, which are read in packets of 8.
            type Stored = m![$($stored)*];
            type Steps = m![$($steps)*];
            type Lanes = m![$($lanes)*];
            /// A tensor in the slices of the weights.
            pub type Dm<D, Element> = DmTensor<D, m![1], Cluster, Slice, Element>;
            /// A tile of the weights.
            pub type Tile<'l, Element> = DmTensorView<'l, f4e2m1, m![1], Cluster, Slice, Element>;
            pub type TileScales<'l> = DmTensorView<'l, f8e4m3, m![1], Cluster, Slice, m![1 # $turns, { Stored }]>;
            pub type Token = TrfTensor<f8e4m3, m![1], Cluster, Slice, m![1], m![$col % $part]>;
            /// A sum in every 8 bytes.
            pub type Sums = DmTensor<f32, m![1], Cluster, First, m![$row % $rows, 1 # 2]>;

            /// A tile of the rows times the token.
            pub fn multiply<Element: M>(
                ctx: &mut Context,
                w: Tile<'_, Element>,
                scales: TileScales<'_>,
                x: &Token,
                sums: &mut Sums,
                turn: usize,
            ) {
                let scales: VrfTensor<f32, m![1], Cluster, Slice, Stored> = ctx
                    .sub
                    .begin(scales)
                    .fetch::<Steps, Lanes>()
                    .fetch_cast::<f32>()
                    .collect::<Steps, Lanes>()
                    .to_vrf();
                let w: DmTensor<f8e4m3, m![1], Cluster, Slice, m![{ Rows }, $col % $part]> = ctx
                    .main
                    .begin(w)
                    .fetch::<m![{ Rows }, { Flits }], m![$col % 32]>()
                    .fetch_table_lookup::<f8e4m3>()
                    .collect::<m![{ Rows }, { Flits }], m![$col % 32]>()
                    .commit_trim::<m![$col % 32]>()
                    .commit();
                ctx.main
                    .begin(w.view())
                    .fetch::<m![{ Rows }, { Flits }], m![$col % 32]>()
                    .collect::<m![{ Rows }, { Flits }], m![$col % 32]>()
                    .contract_outer::<m![{ Rows }, { Packets }], m![$col % 64], _, _, _>(x)
                    .contract_packet::<m![$col / 16 % 4]>()
                    .contract_time::<m![{ Rows }, { Packets }]>()
                    .contract_lane::<m![{ Rows }, { Packets }], m![$col / 16 % 4 # 8]>(LaneMode::Sequential)
                    .vector_init()
                    .vector_intra_slice_tag(TagMode::Zero)
                    .vector_narrow_trim::<m![$col / 16 % 4]>()
                    .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &scales)
                    .vector_intra_slice_reduce::<$col, Rows, m![1 # 4]>(IntraSliceReduceOpF32::Add)
                    .vector_widen_pad::<m![1 # 8]>()
                    .vector_inter_slice_reduce::<First, Rows>(InterSliceReduceOpF32::Add)
                    .vector_final()
                    .commit_trim::<m![1 # 2]>()
                    .commit_view(sums.view_mut().tile::<m![$row / $tile % $turns], 1, m![1 #{!} $turns, { Rows }, 1 # 2]>(turn));
            }
        }
    };
}

/// The activation: `gelu(gate) · up`, for `$rows` rows of a slice in `$eights` packets and `$quads` of 4 lanes. The last three
/// arguments are the type of the result and its flit.
macro_rules! activation {
    (rows $rows:tt, eights $eights:tt, quads $quads:tt, $d:ty, $flit:tt) => {
        type Packed = DmTensor<f32, m![1], Cluster, gate::First, m![H % $rows]>;

        /// Sums of 4 bytes each, 8 to a packet.
        fn packed(ctx: &mut Context, sums: &gate::Sums) -> Packed {
            type Eights = m![H / 8 % $eights];
            ctx.main
                .begin(sums.view())
                .fetch::<Eights, m![H % 8]>()
                .collect::<Eights, m![H % 8]>()
                .commit_trim::<m![H % 8]>()
                .commit()
        }

        fn activation(ctx: &mut Context, gate: &Packed, up: &Packed) -> DmTensor<$d, m![1], Cluster, gate::First, m![H % $rows]> {
            type Eights = m![H / 8 % $eights];
            type Quads = m![H / 4 % $quads];
            let mut operand = |sums: &Packed| -> VrfTensor<f32, m![1], Cluster, gate::First, m![H % $rows]> {
                ctx.sub.begin(sums.view()).fetch::<Eights, m![H % 8]>().collect::<Eights, m![H % 8]>().to_vrf()
            };
            let (gates, ups) = (operand(gate), operand(up));
            let sigmoid: DmTensor<f32, m![1], Cluster, gate::First, m![H % $rows]> = ctx
                .main
                .begin(gate.view())
                .fetch::<Eights, m![H % 8]>()
                .collect::<Eights, m![H % 8]>()
                .vector_init()
                .vector_intra_slice_tag(TagMode::Zero)
                .vector_narrow_split::<Quads, m![H % 4]>()
                .vector_stash()
                .vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul0), BinaryArgMode::Mode00, 0.0)
                .vector_fp_ternary(FpTernaryOp::FmaF, GELU)
                .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), Stash)
                .vector_fp_unary(FpUnaryOp::Sigmoid)
                .vector_widen_concat::<Eights, m![H % 8]>()
                .vector_final()
                .commit_trim::<m![H % 8]>()
                .commit();
            ctx.main
                .begin(sigmoid.view())
                .fetch::<Eights, m![H % 8]>()
                .collect::<Eights, m![H % 8]>()
                .vector_init()
                .vector_intra_slice_tag(TagMode::Zero)
                .vector_narrow_split::<Quads, m![H % 4]>()
                .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &gates)
                .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), &ups)
                .vector_widen_concat::<Eights, m![H % 8]>()
                .vector_final()
                .cast::<$d, m![H % 8 # $flit]>()
                .commit_trim::<m![H % 8]>()
                .commit()
        }
    };
}

/// Both kernels at a size: a hidden state of `$k`, and `$h` gates, of which a cluster has `$half` where both work. Slices have
/// `$rows` rows, which are `$octets` of 8 and `$quads` of 4. They send `$steps` packets of `$step` gates each.
///
/// Plain and tuned: what [`matrix`] takes, and blocks of scales and 8ths of a part. A tile of tuned has `$each` times 8 rows and
/// `$fours` times 4, and the first load of `down` has `$front` tiles.
macro_rules! at_size {
    (
        $name:ident: k $k:tt, h $h:tt, half $half:tt, rows $rows:tt, quads $quads:tt, step $step:tt, steps $steps:tt;
        plain: part $plain_part:tt, tile $plain_tile:tt, turns $plain_turns:tt, flits $plain_flits:tt,
            packets $plain_packets:tt, blocks $plain_blocks:tt, eighths $plain_eighths:tt;
        tuned: part $part:tt, tile $tile:tt, turns $turns:tt, octets $octets:tt, each $each:tt, flits $flits:tt,
            packets $packets:tt, fours $fours:tt, front $front:tt
    ) => {
        mod $name {
            use super::*;

            axes![K = $k, O = $k];

            mod plain {
                use super::*;

                axes![H = $h];
                pub type Gates = m![H];
                pub type Wide = m![H, K];
                pub type WideScales = m![H, K / 16];
                pub type Narrow = m![O, H];
                pub type NarrowScales = m![O, H / 16];
                type Cluster = m![1 # 2];

                matrix!(gate: row H, col K, rows $rows, tile $plain_tile, turns $plain_turns, part $plain_part,
                    flits $plain_flits, packets $plain_packets, ways 2,
                    scales [{ Rows }, K / 16 % $plain_blocks] [{ Rows }, K / 128 % $octets] [K / 16 % 8]);
                matrix!(down: row O, col H, rows $rows, tile $plain_tile, turns $plain_turns, part $plain_part,
                    flits $plain_flits, packets $plain_packets, ways 8,
                    scales [{ Rows }, H / 16 % $plain_blocks] [{ Rows }, H / 128 % $octets] [H / 16 % 8]);
                activation!(rows $rows, eights $octets, quads $quads, bf16, 16);

                /// All rows of a matrix, tile after tile.
                macro_rules! project {
                    ($ctx:ident, $matrix:ident, $row:ident, $col:ident, $w:ident, $scales:ident, $x:ident) => {{
                        let mut sums: $matrix::Sums = DmTensor::new();
                        for turn in 0..$plain_turns {
                            type Turn = m![$row / $plain_tile % $plain_turns];
                            type Rows = m![$row % $plain_tile];
                            type Of = m![$row / $rows, 1 # $plain_turns, { Rows }];
                            let tile: $matrix::Dm<f4e2m1, m![{ Rows }, $col % $plain_part]> =
                                $w.view().tile::<Turn, 1, m![{ Of }, $col]>(turn).to_dm(&mut $ctx.tdma);
                            let scales: $matrix::Dm<f8e4m3, m![1 # $plain_turns, { Rows }, $col / 16 % $plain_blocks]> =
                                $scales.view().tile::<Turn, 1, m![{ Of }, $col / 16]>(turn).to_dm(&mut $ctx.tdma);
                            $matrix::multiply($ctx, tile.view(), scales.view(), &$x, &mut sums, turn);
                        }
                        sums
                    }};
                }

                /// Copies of a token for all slices, in `f8`.
                macro_rules! copied {
                    ($ctx:ident, $matrix:ident, $col:ident, $x:ident) => {{
                        let x: DmTensor<bf16, m![1], Cluster, $matrix::Slice, m![$col % $plain_part]> =
                            $x.to_dm(&mut $ctx.tdma);
                        let x: DmTensor<f8e4m3, m![1], Cluster, $matrix::Slice, m![$col % $plain_part]> = $ctx
                            .main
                            .begin(x.view())
                            .fetch::<m![$col / 8 % $plain_eighths], m![$col % 8]>()
                            .fetch_cast::<f32>()
                            .collect::<m![$col / 8 % $plain_eighths], m![$col % 8]>()
                            .cast::<f8e4m3, m![$col % 8 # 32]>()
                            .commit_trim::<m![$col % 8]>()
                            .commit();
                        let x: $matrix::Token = $ctx
                            .sub
                            .begin(x.view())
                            .fetch::<m![1], m![$col % $plain_part]>()
                            .collect::<m![$col / 32 % $plain_flits], m![$col % 32]>()
                            .to_trf();
                        x
                    }};
                }

                #[device(chip = 1)]
                pub fn feed_forward(
                    ctx: &mut Context,
                    x: &HbmTensor<bf16, m![1], m![K]>,
                    gate: &HbmTensor<f4e2m1, m![1], Wide>,
                    gate_scales: &HbmTensor<f8e4m3, m![1], WideScales>,
                    up: &HbmTensor<f4e2m1, m![1], Wide>,
                    up_scales: &HbmTensor<f8e4m3, m![1], WideScales>,
                    down: &HbmTensor<f4e2m1, m![1], Narrow>,
                    down_scales: &HbmTensor<f8e4m3, m![1], NarrowScales>,
                ) -> HbmTensor<bf16, m![1], m![O]> {
                    let x = copied!(ctx, gate, K, x);
                    let gate = project!(ctx, gate, H, K, gate, gate_scales, x);
                    let gate = packed(ctx, &gate);
                    let up = project!(ctx, gate, H, K, up, up_scales, x);
                    let up = packed(ctx, &up);
                    let h: HbmTensor<bf16, m![1], m![H]> = activation(ctx, &gate, &up).to_hbm(&mut ctx.tdma);
                    let h = copied!(ctx, down, H, h);
                    let y = project!(ctx, down, O, H, down, down_scales, h);
                    let y: DmTensor<bf16, m![1], Cluster, down::First, m![O % $rows]> = ctx
                        .main
                        .begin(y.view())
                        .fetch::<m![O / 8 % $octets], m![O % 8]>()
                        .collect::<m![O / 8 % $octets], m![O % 8]>()
                        .cast::<bf16, m![O % 8 # 16]>()
                        .commit_trim::<m![O % 8]>()
                        .commit();
                    y.to_hbm(&mut ctx.tdma)
                }
            }

            mod tuned {
                use super::*;

                // The gates of each cluster: copies of the token need an axis in the slices that the clusters do not have.
                axes![C = 2, H = $half];
                pub type Gates = m![C, H];
                /// All slices read 8 rows side by side: an open row of a bank of HBM serves many of them.
                pub type Wide = m![H / 8 % $octets, C, H / $rows, K / $part, H % 8, K % $part];
                /// A slice reads the scales of 4 rows from one unit of HBM.
                pub type WideScales = m![H / 4 % $quads, C, H / $rows, K / $part, [K / 64 % $packets, H % 4, K / 16 % 4] # 256];
                pub type Narrow = m![O / 8 % $octets, C, O / $rows, H / $part, O % 8, H % $part];
                pub type NarrowScales = m![O / 4 % $quads, C, O / $rows, H / $part, [H / 64 % $packets, O % 4, H / 16 % 4] # 256];
                type Cluster = m![C];

                matrix!(gate: row H, col K, rows $rows, tile $tile, turns $turns, part $part,
                    flits $flits, packets $packets, ways 4,
                    scales [H / 4 % $fours, K / 64 % $packets, H % 4, K / 16 % 4]
                        [H / 4 % $fours, K / 64 % $packets, H / 2 % 2] [H % 2, K / 16 % 4]);
                matrix!(down: row O, col H, rows $rows, tile $tile, turns $turns, part $part,
                    flits $flits, packets $packets, ways 8,
                    scales [O / 4 % $fours, H / 64 % $packets, O % 4, H / 16 % 4]
                        [O / 4 % $fours, H / 64 % $packets, O / 2 % 2] [O % 2, H / 16 % 4]);
                activation!(rows $rows, eights $octets, quads $quads, f8e4m3, 32);

                /// Brings the scales of a matrix.
                macro_rules! load_scales {
                    ($ctx:ident, $matrix:ident, $row:ident, $col:ident, $scales:ident) => {{
                        type Four = m![$col / 64 % $packets, $row % 4, $col / 16 % 4];
                        let scales: $matrix::Dm<f8e4m3, m![$row / 4 % $quads, { Four }]> = $scales.to_dm(&mut $ctx.tdma);
                        scales
                    }};
                }

                /// The products of a tile of `$w`, which has so many `$tiles`, from `$start` on.
                macro_rules! project {
                    (
                        $ctx:ident, $matrix:ident, $row:ident, $col:ident,
                        $w:ident has $tiles:tt from $start:expr, $scales:ident, $x:ident into $sums:ident
                    ) => {
                        for own in 0..$tiles {
                            type Own = m![$row / $tile % $turns = $tiles];
                            type Four = m![$col / 64 % $packets, $row % 4, $col / 16 % 4];
                            type Scales = m![1 # $turns, $row / 4 % $fours, { Four }];
                            let tile = $w.view().tile::<Own, 1, m![1 # $tiles, $row % $tile, $col % $part]>(own);
                            let scales = $scales.view().tile::<m![$row / $tile % $turns], 1, Scales>($start + own);
                            $matrix::multiply($ctx, tile, scales, &$x, &mut $sums, $start + own);
                        }
                    };
                }

                /// A matrix of which a slice has all rows, with its scales.
                type Whole = DmTensor<f4e2m1, m![1], Cluster, gate::Slice, m![H % $rows, K % $part]>;
                /// Some tiles of `down`.
                macro_rules! load_down {
                    ($ctx:ident, $w:ident, $tiles:tt from $start:expr) => {{
                        type Turns = m![O / $tile % $turns = $tiles];
                        type Of = m![{ Turns } # $turns, O / 8 % $each, C, O / $rows, H / $part, O % 8, H % $part];
                        let tiles: down::Dm<f4e2m1, m![{ Turns }, O % $tile, H % $part]> =
                            $w.view().tile::<m![O / $tile % $turns], $tiles, Of>($start).to_dm(&mut $ctx.tdma);
                        tiles
                    }};
                }

                #[device(chip = 1)]
                pub fn feed_forward(
                    ctx: &mut Context,
                    x: &HbmTensor<bf16, m![1], m![K]>,
                    gate: &HbmTensor<f4e2m1, m![1], Wide>,
                    gate_scales: &HbmTensor<f8e4m3, m![1], WideScales>,
                    up: &HbmTensor<f4e2m1, m![1], Wide>,
                    up_scales: &HbmTensor<f8e4m3, m![1], WideScales>,
                    down: &HbmTensor<f4e2m1, m![1], Narrow>,
                    down_scales: &HbmTensor<f8e4m3, m![1], NarrowScales>,
                ) -> HbmTensor<bf16, m![1], m![O]> {
                    type Spread = m![K / 32 % $flits # 64, K / $part];
                    let x: DmTensor<bf16, m![1], Cluster, Spread, m![K % 32]> = x.to_dm(&mut ctx.tdma);
                    // All loads are given first, and none waits for a pass. Those of `down` get short: what follows the last
                    // byte is one tile.
                    let gate_scales = load_scales!(ctx, gate, H, K, gate_scales);
                    let gate_tiles: Whole = gate.to_dm(&mut ctx.tdma);
                    let up_scales = load_scales!(ctx, gate, H, K, up_scales);
                    let up_tiles: Whole = up.to_dm(&mut ctx.tdma);
                    let down_scales = load_scales!(ctx, down, O, H, down_scales);
                    let front = load_down!(ctx, down, $front from 0);
                    let middle = load_down!(ctx, down, 1 from $front);
                    let back = load_down!(ctx, down, 1 from $front + 1);
                    let x: DmTensor<f8e4m3, m![1], Cluster, Spread, m![K % 32]> = ctx
                        .main
                        .begin(x.view())
                        .fetch::<m![K / 8 % 4], m![K % 8]>()
                        .fetch_cast::<f32>()
                        .collect::<m![K / 8 % 4], m![K % 8]>()
                        .cast::<f8e4m3, m![K % 8 # 32]>()
                        .commit_trim::<m![K % 8]>()
                        .commit();
                    let x: DmTensor<f8e4m3, m![1], Cluster, gate::Slice, m![K / 32 % $flits # 64, K % 32]> = ctx
                        .main
                        .begin(x.view())
                        .fetch::<m![1], m![K % 32]>()
                        .switch::<gate::Slice, m![K / 32 % $flits # 64]>(SwitchConfig::Broadcast1 { slice1: 64, slice0: 4 })
                        .collect::<m![K / 32 % $flits # 64], m![K % 32]>()
                        .commit_trim::<m![K % 32]>()
                        .commit();
                    let x: gate::Token = ctx
                        .sub
                        .begin(x.view())
                        .fetch::<m![1], m![K % $part]>()
                        .collect::<m![K / 32 % $flits], m![K % 32]>()
                        .to_trf();
                    let mut sums: gate::Sums = DmTensor::new();
                    project!(ctx, gate, H, K, gate_tiles has $turns from 0, gate_scales, x into sums);
                    let gate = packed(ctx, &sums);
                    let mut sums: gate::Sums = DmTensor::new();
                    project!(ctx, gate, H, K, up_tiles has $turns from 0, up_scales, x into sums);
                    let up = packed(ctx, &sums);
                    let h = activation(ctx, &gate, &up);
                    // Each of the 32 groups of slices that share rows of `down` gets all gates of the cluster.
                    // Packets of 24 bytes lie side by side when they are committed.
                    type Steps = m![H / $step % $steps, H / $rows % 8, 1 # 4];
                    let h: DmTensor<f8e4m3, m![1], Cluster, down::Slice, m![1 # 4, H % $part]> = ctx
                        .main
                        .begin(h.view())
                        .fetch::<m![H / $step % $steps], m![H % $step]>()
                        .switch::<down::Slice, Steps>(SwitchConfig::TransposedBroadcast1 { slice1: 8, slice0: 32 })
                        .collect::<Steps, m![H % $step # 32]>()
                        .commit_trim::<m![H % $step]>()
                        .commit();
                    let h: down::Token = ctx
                        .sub
                        .begin(h.view())
                        .fetch::<m![1], m![H % $part]>()
                        .collect::<m![H / 32 % $flits], m![H % 32]>()
                        .to_trf();
                    let mut y: down::Sums = DmTensor::new();
                    project!(ctx, down, O, H, front has $front from 0, down_scales, h into y);
                    project!(ctx, down, O, H, middle has 1 from $front, down_scales, h into y);
                    project!(ctx, down, O, H, back has 1 from $front + 1, down_scales, h into y);
                    // Each cluster has the sums of its gates.
                    type Eights = m![O / 8 % $octets];
                    let y: DmTensor<f32, m![1], Cluster, down::First, m![O % $rows]> = ctx
                        .main
                        .begin(y.view())
                        .fetch::<Eights, m![O % 8]>()
                        .collect::<Eights, m![O % 8]>()
                        .commit_trim::<m![O % 8]>()
                        .commit();
                    let others = y.view().dm_cluster_shuffle::<2>(&mut ctx.tdma, &[1, 0]);
                    let others: VrfTensor<f32, m![1], Cluster, down::First, m![O % $rows]> = ctx
                        .sub
                        .begin(others.view())
                        .fetch::<Eights, m![O % 8]>()
                        .collect::<Eights, m![O % 8]>()
                        .to_vrf();
                    let y: DmTensor<bf16, m![1], Cluster, down::First, m![O % $rows]> = ctx
                        .main
                        .begin(y.view())
                        .fetch::<Eights, m![O % 8]>()
                        .collect::<Eights, m![O % 8]>()
                        .vector_init()
                        .vector_intra_slice_tag(TagMode::Zero)
                        .vector_clip(ClipBinaryOpF32::Add, &others)
                        .vector_final()
                        .cast::<bf16, m![O % 8 # 16]>()
                        .commit_trim::<m![O % 8]>()
                        .commit();
                    let mut out: HbmTensor<bf16, m![1], m![O]> = HbmTensor::new();
                    y.view().cluster_tile::<m![C], 1, m![1 # 2]>(0).to_hbm_view(&mut ctx.tdma, out.view_mut());
                    out
                }
            }

            /// Runs both and compares them with the host.
            pub fn run() {
                let mut random = Random::seeded(36);
                let (k, h) = (K::SIZE, $h);
                let x = random.numbers(k, 1.0);
                let matrices: Vec<Matrix> = (0..3).map(|_| Matrix::random(&mut random, h * k)).collect();
                let [gate, up, down] = &matrices[..] else { unreachable!() };
                // The gates on their way to `down`: what the kernel does to them.
                let reference = |stored: fn(f64) -> f64| {
                    let x: Vec<f64> = exact(&x).into_iter().map(rounded).collect();
                    let (gate, up) = (gate.product(&x), up.product(&x));
                    let [b, a] = [GELU.0, GELU.1].map(f64::from);
                    let gelu = |x: f64| x / (1.0 + (-x * (a + b * x * x)).exp());
                    let h: Vec<f64> = gate.iter().zip(&up).map(|(gate, up)| stored(gelu(*gate) * up)).collect();
                    down.product(&h)
                };
                let work = Work { bytes: 3 * h * k * 9 / 16, products: 3 * h * k, per_lane: 64 };
                work.print();
                macro_rules! cycles {
                    ($kernel:ident, $stored:expr) => {{
                        use $kernel::{Gates, Narrow, NarrowScales, Wide, WideScales};
                        let mut ctx = Context::acquire().bind($kernel::feed_forward.device());
                        pollster::block_on(async {
                            macro_rules! load {
                                ($values:expr, $d:ty, $from:ty, $to:ty) => {
                                    HostTensor::<$d, $from>::from_vec($values.iter().copied())
                                        .to_hbm::<m![1], $to>(&mut ctx.pdma)
                                        .await
                                };
                            }
                            let x = load!(x, bf16, m![K], m![K]);
                            let gate_codes = load!(gate.codes, f4e2m1, m![{ Gates }, K], Wide);
                            let gate_scales = load!(gate.scales, f8e4m3, m![{ Gates }, K / 16], WideScales);
                            let up_codes = load!(up.codes, f4e2m1, m![{ Gates }, K], Wide);
                            let up_scales = load!(up.scales, f8e4m3, m![{ Gates }, K / 16], WideScales);
                            let down_codes = load!(down.codes, f4e2m1, m![O, { Gates }], Narrow);
                            let down_scales = load!(down.scales, f8e4m3, m![O, { Gates } / 16], NarrowScales);
                            let arguments = (
                                &mut *ctx, &x, &gate_codes, &gate_scales, &up_codes, &up_scales, &down_codes, &down_scales,
                            );
                            let start = Instant::now();
                            let y = launch($kernel::feed_forward, arguments).await;
                            let cycles = report(stringify!($kernel), &mut ctx, &work, start);
                            // A gate beside the middle of two numbers of `f8` may become the other one, and a result is rounded to
                            // `bf16`, by half of 2⁻⁸ of it.
                            compare(stringify!($kernel), &y.into_vec(), &reference($stored), 0.02);
                            cycles
                        })
                    }};
                }
                let plain = cycles!(plain, |x| rounded(f64::from(bf16::from_f32(x as f32).to_f32())));
                let tuned = cycles!(tuned, rounded);
                twice(plain, tuned);
            }
        }
    };
}

/// A matrix of 4-bit numbers with a scale for every 16 of a row.
struct Matrix {
    codes: Vec<f4e2m1>,
    scales: Vec<f8e4m3>,
}

impl Matrix {
    fn random(random: &mut Random, size: usize) -> Self {
        let mut codes = Vec::with_capacity(size);
        while codes.len() < size {
            let bits = random.bits();
            codes.extend((0..16).map(|k| f4e2m1::from_bits((bits >> (4 * k)) as u8 & 15)));
        }
        let scale = |_| f8e4m3::from_f32(0.01 + random.within(0.005) as f32);
        Self { codes, scales: (0..size / 16).map(scale).collect() }
    }

    /// The product with a vector.
    fn product(&self, x: &[f64]) -> Vec<f64> {
        let blocks = x.len() / 16;
        let block = |(codes, (scale, x)): (&[f4e2m1], (&f8e4m3, &[f64]))| {
            let sum: f64 = codes.iter().zip(x).map(|(code, x)| f64::from(code.to_f32()) * x).sum();
            sum * f64::from(scale.to_f32())
        };
        let rows = self.codes.chunks_exact(x.len()).zip(self.scales.chunks_exact(blocks));
        rows.map(|(codes, scales)| {
            codes.chunks_exact(16).zip(scales.iter().zip(x.chunks_exact(16))).map(block).sum()
        })
        .collect()
    }
}

/// A number as `f8` has it.
fn rounded(x: f64) -> f64 {
    f64::from(f8e4m3::from_f32(x as f32).to_f32())
}

at_size! {
    full: k 3840, h 15360, half 7680, rows 120, quads 30, step 24, steps 5;
    plain: part 1920, tile 12, turns 10, flits 60, packets 30, blocks 120, eighths 240;
    tuned: part 960, tile 24, turns 5, octets 15, each 3, flits 30, packets 15, fours 6, front 3
}

at_size! {
    small: k 768, h 3072, half 1536, rows 24, quads 6, step 24, steps 1;
    plain: part 384, tile 4, turns 6, flits 12, packets 6, blocks 24, eighths 48;
    tuned: part 192, tile 8, turns 3, octets 3, each 1, flits 6, packets 3, fours 2, front 1
}

fn main() {
    if flag("--small") { small::run() } else { full::run() }
}
