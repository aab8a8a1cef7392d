//! Weights as the file has them: codes of 4 bits with a scale and a minimum for each 32, and the embedding with codes of 8
//! bits and a scale. None is rounded: codes, scales and minima are what HBM has, and the chip multiplies them.
//!
//! | module | content |
//! | --- | --- |
//! | [`product`] | products with codes of 4 bits |
//! | [`vocabulary`] | the embedding and the logits, with codes of 8 bits |
//! | [`prepare`] | weights, uploaded |

pub mod prepare;
pub mod product;
pub mod vocabulary;

use super::feed_forward::Hidden;
use super::kind::{Behind, Chosen, HiddenRow, Kind};
use super::layout::*;
use super::vector::{self, Gathered, Halves, Norm, Vector};
use super::vocabulary::Logits;
use crate::matrix::{BLOCK, BlockQ4_1, BlockQ8_0};
use furiosa_visa_std::prelude::*;
use product::{Blocks, DCodes, DScales, GCodes, GScales, OCodes, OScales, QCodes, QScales};
use vocabulary::{Embedding, Rows, Vocabulary};

/// Weights of two layers, in HBM: codes with scales and minima.
pub struct Pair {
    /// Of queries, keys and values.
    pub q: (Hbm<i4, m![A, D / 4, { QCodes }]>, Hbm<f16, m![A, D / 4, { QScales }]>),
    /// Of the output of the attention.
    pub o: (Hbm<i4, m![X / 72, X / 8 % 9, { OCodes }]>, Hbm<f16, m![X / 72, X / 8 % 9, { OScales }]>),
    /// Of gate and up.
    pub g: (Hbm<i4, m![C, F / 4, { GCodes }]>, Hbm<f16, m![C, F / 4, { GScales }]>),
    /// Of down.
    pub d: (Hbm<i4, m![C, X / 72, X / 8 % 9, { DCodes }]>, Hbm<f16, m![C, X / 72, X / 8 % 9, { DScales }]>),
}

/// All weights.
pub struct Quantised {
    /// Rows of tokens.
    pub embedding: Embedding,
    /// The layers, two by two.
    pub pairs: Vec<Pair>,
    /// Of the logits.
    pub vocabulary: Vocabulary,
    /// Factors of the norms in front of attention and gate of each layer.
    pub norms: Hbm<f32, m![L, I, X]>,
    /// Factors of the last norm.
    pub last_norm: Hbm<f32, m![X]>,
}

/// What all layers need, in DM: ones as codes, and the factors of the norms.
pub struct Common {
    q: Dm<i4, ASlice, QCodes>,
    o: Dm<i4, XSlice, OCodes>,
    g: Dm<i4, FSlice, GCodes>,
    d: Dm<i4, XSlice, DCodes>,
    norms: Dm<f32, XSlice, m![L, I, X % 8]>,
    last_norm: Dm<f32, XSlice, m![X % 8]>,
}

/// Gate and up, and down.
type FeedForward = (Blocks<FSlice, GCodes, GScales>, Blocks<XSlice, DCodes, DScales>);

impl Kind for Quantised {
    type Common = Common;
    type Queries = Blocks<ASlice, QCodes, QScales>;
    type Output = Blocks<XSlice, OCodes, OScales>;
    type FeedForward = FeedForward;
    type Rows = Rows;

    const SMALL_PARTS: usize = vocabulary::PARTS;

    fn layer_bytes(weights: usize) -> usize {
        weights / BLOCK * BlockQ4_1::BYTES
    }

    fn vocabulary_bytes(weights: usize) -> usize {
        weights / BLOCK * BlockQ8_0::BYTES
    }

    fn common(&self, ctx: &mut Context) -> Common {
        /// Ones as codes.
        fn ones<Slice: M, Codes: M>(ctx: &mut Context) -> Dm<i4, Slice, Codes> {
            let mut ones = Dm::new(ctx);
            ones.view_mut().memset(i4::from_i32(1), &mut ctx.sub);
            ones
        }
        Common {
            q: ones(ctx),
            o: ones(ctx),
            g: ones(ctx),
            d: ones(ctx),
            norms: self.norms.to_dm(&mut ctx.tdma, AUTO),
            last_norm: self.last_norm.to_dm(&mut ctx.tdma, AUTO),
        }
    }

    #[track_caller]
    fn queries_to_dm(&self, ctx: &mut Context, pair: usize) -> Self::Queries {
        let (codes, scales) = &self.pairs[pair].q;
        let codes = codes.to_dm(&mut ctx.tdma, AUTO);
        Blocks { codes, scales: scales.to_dm(&mut ctx.tdma, AUTO) }
    }

    #[track_caller]
    fn output_to_dm(&self, ctx: &mut Context, pair: usize) -> Self::Output {
        let (codes, scales) = &self.pairs[pair].o;
        let codes = codes.to_dm(&mut ctx.tdma, AUTO);
        Blocks { codes, scales: scales.to_dm(&mut ctx.tdma, AUTO) }
    }

    #[track_caller]
    fn feed_forward_to_dm(&self, ctx: &mut Context, pair: usize) -> FeedForward {
        let Pair { g: (codes, scales), d: (down, down_scales), .. } = &self.pairs[pair];
        let codes = codes.to_dm(&mut ctx.tdma, AUTO);
        let gate_up = Blocks { codes, scales: scales.to_dm(&mut ctx.tdma, AUTO) };
        let codes = down.to_dm(&mut ctx.tdma, AUTO);
        (gate_up, Blocks { codes, scales: down_scales.to_dm(&mut ctx.tdma, AUTO) })
    }

    fn rows(ctx: &mut Context) -> Rows {
        Rows::new(ctx)
    }

    #[track_caller]
    fn load_small(&self, ctx: &mut Context, part: usize, rows: &mut Rows) {
        vocabulary::load(ctx, &self.vocabulary, part, rows);
    }

    #[track_caller]
    fn load_beside_the_last_layer(&self, ctx: &mut Context, rows: &mut Rows) {
        vocabulary::load_scales(ctx, &self.vocabulary, rows);
    }

    fn load_rest(&self, _: &mut Context, _: &mut Rows) {}

    #[track_caller]
    fn embedded(&self, ctx: &mut Context, token: usize) -> Vector {
        vocabulary::embedded(ctx, &self.embedding, token)
    }

    #[track_caller]
    fn input(ctx: &mut Context, common: &Common, x: &Vector, behind: Behind) -> Halves {
        let norms = common.norms.view();
        let of_layer = |layer: usize, which: usize| {
            let norms = norms.tile::<m![L], 1, m![1 # 30, I, X % 8]>(layer);
            norms.tile::<m![I], 1, m![1 # 30, 1 # 2, X % 8]>(which)
        };
        macro_rules! operand {
            ($factors:expr) => {
                (ctx.sub.begin($factors).fetch::<f32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>())
                    .to_vrf(AUTO)
            };
        }
        let factors: Vrf<XSlice, m![X % 8]> = match behind {
            Behind::Attention(layer) => operand!(of_layer(layer, 0)),
            Behind::FeedForward(layer) => operand!(of_layer(layer, 1)),
            Behind::LastLayer => operand!(common.last_norm.view()),
        };
        let x: Vector = (ctx.main.begin(x.view()).fetch::<f32, m![1], m![X % 8]>())
            .collect::<m![1], m![X % 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![X / 4 % 2], m![X % 4]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &factors)
            .vector_concat::<m![1], m![X % 8]>()
            .vector_final()
            .commit(AUTO);
        vector::split(ctx, &x)
    }

    #[track_caller]
    fn queries(
        ctx: &mut Context,
        common: &Common,
        (weights, layer): (&Self::Queries, usize),
        x: &Gathered<ASlice>,
    ) -> Dm<f32, ASlice, m![D % 4]> {
        product::queries(ctx, (weights, &common.q, layer), x)
    }

    #[track_caller]
    fn output(
        ctx: &mut Context,
        common: &Common,
        (weights, layer): (&Self::Output, usize),
        chosen: &Chosen,
        before: &Vrf<XSlice, m![X % 8]>,
    ) -> Vector {
        product::output(ctx, (weights, &common.o, layer), chosen, before)
    }

    #[track_caller]
    fn hidden(
        ctx: &mut Context,
        common: &Common,
        ((weights, _), layer): (&FeedForward, usize),
        x: &Gathered<FSlice>,
        norm: &Norm,
    ) -> Hidden {
        product::hidden(ctx, (weights, &common.g, layer), x, norm)
    }

    #[track_caller]
    fn down(
        ctx: &mut Context,
        common: &Common,
        ((_, weights), layer): (&FeedForward, usize),
        hidden: &HiddenRow,
        norm: &Norm,
    ) -> Vector {
        product::down(ctx, (weights, &common.d, layer), hidden, norm)
    }

    #[track_caller]
    fn logits(ctx: &mut Context, _: &Common, rows: &Rows, x: &Gathered<VSlice>, norm: &Norm) -> Logits {
        vocabulary::logits(ctx, rows, x, norm)
    }
}
