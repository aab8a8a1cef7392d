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
//! The kernels are in `decoder/feed_forward.rs`.
//!
//! Run it: `cargo run --release -p furiosa-opt-std --example feed_forward`. `--small` takes small sizes, and `--report`
//! prints the whole report of each kernel.

use furiosa_opt_std::prelude::*;
use std::time::Instant;

mod decoder;
use decoder::{Random, Work, compare, exact, flag, report, twice};

/// Factors of `x · sigmoid(x · (a + b · x²))`, which is GELU by the hyperbolic tangent: a = 2 √(2 / π), b = 0.044715 a.
const GELU: (f32, f32) = (0.071_354_814, 1.595_769);

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

/// The size of the layer. A slice has `ROWS` rows, which are `OCTETS` of 8 and `QUADS` of 4, and sends `STEPS` packets of `STEP`
/// gates each.
///
/// Plain and tuned: what [`matrix`] takes, and blocks of scales and 8ths of a part. A tile of tuned has `EACH` times 8 rows and
/// `FOURS` times 4, and the first load of `down` has `FRONT` tiles.
mod full {
    use super::*;

    axes![K = 3840, O = 3840];
    /// The gates.
    mod whole {
        use super::*;
        axes![H = 15360];
    }
    /// The gates of each cluster.
    mod halves {
        use super::*;
        axes![C = 2, H = 7680];
    }
    const ROWS: usize = 120;
    const QUADS: usize = 30;
    const OCTETS: usize = 15;
    const STEP: usize = 24;
    const STEPS: usize = 5;
    const PLAIN_PART: usize = 1920;
    const PLAIN_TILE: usize = 12;
    const PLAIN_TURNS: usize = 10;
    const PLAIN_FLITS: usize = 60;
    const PLAIN_PACKETS: usize = 30;
    const PLAIN_BLOCKS: usize = 120;
    const PLAIN_EIGHTHS: usize = 240;
    const PART: usize = 960;
    const TILE: usize = 24;
    const TURNS: usize = 5;
    const EACH: usize = 3;
    const FLITS: usize = 30;
    const PACKETS: usize = 15;
    const FOURS: usize = 6;
    const FRONT: usize = 3;
    include!("decoder/feed_forward.rs");
}

/// A size for tests.
mod small {
    use super::*;

    axes![K = 768, O = 768];
    /// The gates.
    mod whole {
        use super::*;
        axes![H = 3072];
    }
    /// The gates of each cluster.
    mod halves {
        use super::*;
        axes![C = 2, H = 1536];
    }
    const ROWS: usize = 24;
    const QUADS: usize = 6;
    const OCTETS: usize = 3;
    const STEP: usize = 24;
    const STEPS: usize = 1;
    const PLAIN_PART: usize = 384;
    const PLAIN_TILE: usize = 4;
    const PLAIN_TURNS: usize = 6;
    const PLAIN_FLITS: usize = 12;
    const PLAIN_PACKETS: usize = 6;
    const PLAIN_BLOCKS: usize = 24;
    const PLAIN_EIGHTHS: usize = 48;
    const PART: usize = 192;
    const TILE: usize = 8;
    const TURNS: usize = 3;
    const EACH: usize = 1;
    const FLITS: usize = 6;
    const PACKETS: usize = 3;
    const FOURS: usize = 2;
    const FRONT: usize = 1;
    include!("decoder/feed_forward.rs");
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
        let values: [f64; 16] = std::array::from_fn(|code| f64::from(f4e2m1::from_bits(code as u8).to_f32()));
        let block = |(codes, (scale, x)): (&[f4e2m1], (&f8e4m3, &[f64]))| {
            let mut sum = 0.0;
            for (code, x) in codes.iter().zip(x) {
                sum += values[usize::from(code.to_bits())] * x;
            }
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

fn main() {
    if flag("--small") { small::run() } else { full::run() }
}
