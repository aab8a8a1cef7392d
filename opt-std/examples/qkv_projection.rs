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
//! The kernels are in `decoder/qkv_projection.rs`.
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

/// The size of the layer.
mod full {
    use super::*;

    axes![K = 3840];
    include!("decoder/qkv_projection.rs");
}

/// A size for tests.
mod small {
    use super::*;

    axes![K = 128];
    include!("decoder/qkv_projection.rs");
}

fn main() {
    if flag("--small") { small::run() } else { full::run() }
}
