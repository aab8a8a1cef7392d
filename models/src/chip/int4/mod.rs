//! Weights as the file has them: codes of 4 bits with a scale and a minimum for each 32, and the embedding with codes of 8
//! bits and a scale. None is rounded: codes, scales and minima are what HBM has, and the chip multiplies them. Only for blocks of
//! tokens it makes bf16 of them.
//!
//! | module | content |
//! | --- | --- |
//! | [`product`] | products with codes of 4 bits |
//! | [`block`] | weights for blocks of tokens |
//! | [`vocabulary`] | the embedding and the logits, with codes of 8 bits |
//! | [`prepare`] | weights, uploaded |

pub mod block;
pub mod prepare;
pub mod product;
pub mod vocabulary;

use super::attention::{self, Seen, Tables};
use super::block::layout::Vectors;
use super::block::vectors::Numbers;
use super::block::{Prefill, kernel::BlockNetwork};
use super::feed_forward;
use super::kind::{Kind, parts};
use super::layout::*;
use super::token::Network;
use super::vector::{self, Gathered, Norm, Vector};
use super::vocabulary::Logits;
use crate::matrix::{BLOCK, BlockQ4_1, BlockQ8_0};
use crate::weights;
use furiosa_visa_std::prelude::*;
use product::{Blocks, DCodes, DScales, GCodes, GScales, OCodes, OScales, QCodes, QScales};
use std::cell::OnceCell;
use vocabulary::{Embedding, RowScales, Rows, Vocabulary};

/// Weights of two layers, in HBM: codes with scales and minima.
pub struct Pair {
    /// Of queries, keys and values.
    pub q: (Hbm<i4, m![A, D / 4, { QCodes }]>, Hbm<f16, m![A, D / 4, { QScales }]>),
    /// Of the output of the attention.
    pub o: (
        Hbm<i4, m![X / 72, X / 8 % 9, N / 32 % 2, { OCodes }]>,
        Hbm<f16, m![X / 72, X / 8 % 9, N / 32 % 2, { OScales }]>,
    ),
    /// Of gate and up.
    pub g: (Hbm<i4, m![C, F / 4, { GCodes }]>, Hbm<f16, m![C, F / 4, { GScales }]>),
    /// Of down.
    pub d: (
        Hbm<i4, m![C, X / 72, X / 8 % 9, F / 384, { DCodes }]>,
        Hbm<f16, m![C, X / 72, X / 8 % 9, F / 384, { DScales }]>,
    ),
}

/// All weights.
pub struct Quantised {
    /// Rows of tokens.
    pub embedding: Embedding,
    /// Scales of these rows, for blocks.
    pub row_scales: RowScales,
    /// The layers, two by two.
    pub pairs: Vec<Pair>,
    /// Of the logits.
    pub vocabulary: Vocabulary,
    /// Factors of the norms in front of attention and gate of each layer.
    pub norms: Hbm<f32, m![X / 72, X / 8 % 9, L, I, X % 8]>,
    /// Factors of the last norm.
    pub last_norm: Hbm<f32, m![X]>,
    /// Weights of layers on the host, for the first block.
    pub layers: Vec<weights::Layer>,
    /// What only blocks read, as soon as one has come.
    pub blocks: OnceCell<BlockNetwork<block::Layer>>,
}

/// What all layers need, in DM: ones as codes, and the factors of the norms.
pub struct Common {
    q: Dm<i4, ASlice, QCodes>,
    o: Dm<i4, OSlice, OCodes>,
    g: Dm<i4, FSlice, GCodes>,
    d: Dm<i4, DSlice, DCodes>,
    norms: Dm<f32, XSlice, m![L, I, X % 8]>,
    last_norm: Dm<f32, XSlice, m![X % 8]>,
}

/// The vector behind the attention, as a sum.
pub struct Middle {
    before: Vrf<XSlice, m![X % 8]>,
    change: Vector,
}

/// Gate and up, and down.
type FeedForward = (Blocks<FSlice, GCodes, GScales>, Blocks<DSlice, DCodes, DScales>);

impl Kind for Quantised {
    type Common = Common;
    type Queries = Blocks<ASlice, QCodes, QScales>;
    type Output = Blocks<OSlice, OCodes, OScales>;
    type FeedForward = FeedForward;
    type Rows = Rows;
    type Middle = Middle;
    type Layer = block::Layer;

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

    fn prefill<'a>(ctx: &mut Context, network: &'a Network<Self>) -> Prefill<'a, Self> {
        let Self { layers, blocks, .. } = &network.weights;
        let uploaded = || pollster::block_on(block::network(ctx, layers));
        (network, blocks.get_or_init(uploaded))
    }

    #[track_caller]
    fn vectors(&self, ctx: &mut Context, numbers: &Numbers) -> Vectors {
        block::embedded(ctx, (&self.embedding, &self.row_scales), numbers)
    }

    #[track_caller]
    fn load_rows_beside_block(&self, ctx: &mut Context, layer: (usize, usize), rows: &mut Rows) {
        self.load_rows(ctx, layer, rows);
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
    fn load_rows(&self, ctx: &mut Context, (number, layers): (usize, usize), rows: &mut Rows) {
        for part in parts((number, layers), vocabulary::PARTS, |layer| layer % 2 == 1) {
            vocabulary::load(ctx, &self.vocabulary, part, rows);
        }
        if number + 1 == layers {
            vocabulary::load_scales(ctx, &self.vocabulary, rows);
        }
    }

    #[track_caller]
    fn embedded(&self, ctx: &mut Context, token: usize) -> Vector {
        vocabulary::embedded(ctx, &self.embedding, token)
    }

    #[track_caller]
    fn queries<Of: Reach>(
        ctx: &mut Context,
        common: &Common,
        (weights, number): (&Self::Queries, usize),
        x: &Vector,
        tables: &mut Tables<Of>,
    ) -> Dm<f32, QSlice, m![D % 4]> {
        // Operands are loaded first, so that nothing waits for them.
        let factors = common.factors(ctx, Behind::Attention(number));
        let operands = product::queries_operands(ctx, (weights, number % 2));
        let (row, norm) = input(ctx, x, None, &factors);
        let sums = product::queries(ctx, (weights, &common.q, number % 2), &operands, &row);
        attention::turned(ctx, sums, &norm, tables)
    }

    #[track_caller]
    fn attention<Of: Reach>(
        ctx: &mut Context,
        common: &Common,
        (weights, number): (&Self::Output, usize),
        seen: &Seen<'_, Of>,
        tables: &mut Tables<Of>,
        before: Vrf<XSlice, m![X % 8]>,
    ) -> Middle {
        let chosen = attention::chosen_halves::<Of>(ctx, seen, tables, TrfAddress::SecondHalf);
        let operands = product::output_operands(ctx, (weights, number % 2));
        Middle { change: product::output(ctx, (weights, &common.o, number % 2), &operands, &chosen), before }
    }

    #[track_caller]
    fn feed_forward(
        ctx: &mut Context,
        common: &Common,
        ((gate_up, down), number): (&FeedForward, usize),
        Middle { before, change }: Middle,
    ) -> Vector {
        let layer = number % 2;
        let factors = common.factors(ctx, Behind::FeedForward(number));
        let operands = product::gate_up_operands(ctx, (gate_up, layer));
        let down_operands = product::down_operands(ctx, (down, layer));
        let (row, norm) = input(ctx, &change, Some(&before), &factors);
        let changed = vector::operand(ctx, &change);
        let hidden = product::hidden(ctx, (gate_up, &common.g, layer), &operands, &row, &norm);
        let hidden = feed_forward::share_halves(ctx, &hidden, TrfAddress::SecondHalf);
        let part = product::down(ctx, (down, &common.d, layer), &down_operands, &hidden, &norm);
        feed_forward::both_and(ctx, &part, &before, Some(&changed))
    }

    #[track_caller]
    fn logits(ctx: &mut Context, common: &Common, rows: &Rows, x: &Vector) -> Logits {
        let factors = common.factors(ctx, Behind::LastLayer);
        let (row, norm) = input(ctx, x, None, &factors);
        vocabulary::logits(ctx, rows, &row, &norm)
    }
}

/// A part of the network in front of which a norm stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// The attention of a layer.
    Attention(usize),
    /// Gate and up of a layer.
    FeedForward(usize),
    /// The product over the vocabulary.
    LastLayer,
}

impl Common {
    /// The factors of a norm, as an operand.
    #[track_caller]
    fn factors(&self, ctx: &mut Context, behind: Behind) -> Vrf<XSlice, m![X % 8]> {
        let norms = self.norms.view();
        macro_rules! operand {
            ($factors:expr, $address:expr) => {
                (ctx.sub.begin($factors).fetch::<f32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>())
                    .to_vrf($address)
            };
        }
        let (layer, which) = match behind {
            Behind::Attention(layer) => (layer, 0),
            Behind::FeedForward(layer) => (layer, 1),
            Behind::LastLayer => return operand!(self.last_norm.view(), 0),
        };
        let norms = norms.tile::<m![L], 1, m![1 # 30, I, X % 8]>(layer);
        operand!(norms.tile::<m![I], 1, m![1 # 30, 1 # 2, X % 8]>(which), 32 * which as u64)
    }
}

/// The vector, times the factors of a norm, in the register file of all slices, and its norm.
#[track_caller]
fn input<Slice: M>(
    ctx: &mut Context,
    x: &Vector,
    before: Option<&Vrf<XSlice, m![X % 8]>>,
    factors: &Vrf<XSlice, m![X % 8]>,
) -> (Gathered<Slice>, Norm) {
    let stream = (ctx.main.begin(x.view()).fetch::<f32, m![1], m![X % 8]>())
        .collect::<m![1], m![X % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![X / 4 % 2], m![X % 4]>();
    macro_rules! scaled {
        ($x:expr) => {
            $x.vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), factors)
                .vector_concat::<m![1], m![X % 8]>()
                .vector_final()
                .commit(AUTO)
        };
    }
    let scaled: Vector = match before {
        None => scaled!(stream),
        Some(before) => scaled!(stream.vector_fp_binary(FpBinaryOp::AddF, before)),
    };
    vector::input(ctx, &scaled, (x, before))
}
