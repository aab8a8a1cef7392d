//! The vectors of a block: from the embedding, their norm, and as an operand.

use super::layout::*;
use crate::chip::vocabulary::Embedding;
use crate::config::EPSILON;
use furiosa_visa_std::prelude::*;

/// Numbers of the tokens.
pub type Numbers = Hbm<i32, m![C, V, W, R]>;

/// The rows of tokens.
#[track_caller]
pub fn embedded(ctx: &mut Context, embedding: &Embedding, numbers: &Numbers) -> Vectors {
    type Runs = m![R % 2, X / 8 % 18];
    let codes: Dm<i8, XSlice, m![R % 2, X % 144]> =
        embedding.codes.dma_gather_rows(&mut ctx.tdma, numbers, AUTO);
    let scales: Dm<f32, XSlice, Runs> = embedding.block_scales.dma_gather_rows(&mut ctx.tdma, numbers, AUTO);
    let scales: Vrf<XSlice, Runs> =
        (ctx.main.begin(scales.view()).fetch::<f32, m![R % 2, X / 16 % 9], m![X / 8 % 2]>())
            .collect::<m![R % 2, X / 16 % 9], m![X / 8 % 2 # 8]>()
            .to_vrf(place::SCALES);
    (ctx.main.begin(codes.view()).fetch::<i32, Runs, m![X % 8]>())
        .collect::<Runs, m![X % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp_to_fp(31)
        .vector_split::<m![{ Runs }, X / 4 % 2], m![X % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &scales)
        .vector_concat::<Runs, m![X % 8]>()
        .vector_final()
        .commit(AUTO)
}

/// The mean of the squares of each vector.
#[track_caller]
fn mean_of_squares(ctx: &mut Context, x: &Vectors) -> Dm<f32, YSlice, m![R % 2, 1 # 2]> {
    (ctx.main.begin(x.view()).fetch::<f32, m![R % 2, X / 8 % 18], m![X % 8]>())
        .collect::<m![R % 2, X / 8 % 18], m![X % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![R % 2, X / 4 % 36], m![X % 4]>()
        .vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul0), BinaryArgMode::Mode00, 0.0)
        .vector_intra_slice_reduce::<X, m![R % 2], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), X::SIZE as f32)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_clip(ClipBinaryOpF32::Add, EPSILON / Y::SIZE as f32)
        .vector_inter_slice_reduce::<YSlice, m![R % 2]>(InterSliceReduceOpF32::Add)
        .vector_final()
        .commit(AUTO)
}

/// Means of the squares of the tokens of 64 slices, for results of products of their vectors.
pub type Means = Vrf<m![V, W, G, B, Y], m![R % 2, R / 2]>;

/// Means of the squares of vectors, for results of their products.
#[track_caller]
pub fn means(ctx: &mut Context, x: &Vectors) -> Means {
    let means = mean_of_squares(ctx, x);
    (ctx.sub.begin(means.view()).fetch::<f32, m![R % 2], m![1 # 2]>())
        .switch_to::<m![V, W, G, B, Y], m![R % 2, R / 2]>()
        .collect::<m![R % 2, R / 2], m![1 # 8]>()
        .to_vrf(place::MEANS)
}

/// Elements over the root of a mean, which takes their place before they are divided by it.
macro_rules! over_root {
    ($elements:expr, $mean:expr) => {
        $elements
            .vector_stash()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 0.0)
            .vector_fp_binary(FpBinaryOp::AddF, $mean)
            .vector_fp_unary(FpUnaryOp::Sqrt)
            .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode10), Stash)
    };
}
pub(super) use over_root;

/// Vectors over their root mean square, rounded to bf16. `meanwhile` is what main does while the means are on their way.
#[track_caller]
pub fn normed<Other>(
    ctx: &mut Context,
    x: &Vectors,
    meanwhile: impl FnOnce(&mut Context) -> Other,
) -> (Stream, Other) {
    let mean = mean_of_squares(ctx, x);
    let mean: Vrf<YSlice, m![R % 2]> =
        (ctx.sub.begin(mean.view()).fetch::<f32, m![R % 2], m![1 # 2]>().collect::<m![R % 2], m![1 # 8]>())
            .to_vrf(place::MEANS);
    let other = meanwhile(ctx);
    let elements = (ctx.main.begin(x.view()).fetch::<f32, m![R % 2, X / 8 % 18], m![X % 8]>())
        .collect::<m![R % 2, X / 8 % 18], m![X % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![R % 2, X / 4 % 36], m![X % 4]>();
    let normed: Dm<bf16, XSlice, m![R % 2, X % 144]> = over_root!(elements, &mean)
        .vector_concat::<m![R % 2, X / 8 % 18], m![X % 8]>()
        .vector_final()
        .cast::<bf16, m![X % 8 # 16]>()
        .commit(AUTO);
    (normed.relabel(), other)
}

/// `x`, and the sums over slices of what a product of each has: vectors where tokens are on slices.
macro_rules! added_over_slices {
    ($products:expr, $x:ident) => {
        $products
            .vector_init()
            .vector_inter_slice_reduce::<XSlice, m![X / 8 % 18, R % 2]>(InterSliceReduceOpF32::Add)
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Add, $x)
            .vector_final()
            .commit(AUTO)
    };
}
pub(super) use added_over_slices;

/// Vectors as an operand, to be added to what a part of the layer makes of them. A context loads it: `ctx.main` or `ctx.sub`.
macro_rules! operand {
    ($context:expr, $x:expr) => {{
        let x: &Vectors = $x;
        let operand: Operand = ($context.begin(x.view()).fetch::<f32, m![R % 2, X / 8 % 18], m![X % 8]>())
            .collect::<m![R % 2, X / 8 % 18], m![X % 8]>()
            .to_vrf(place::VECTORS);
        operand
    }};
}
pub(super) use operand;
