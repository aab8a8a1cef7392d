//! The kernel: a block of tokens through all layers.

use super::attention::{
    self, Blocks, Mask, PageBefore, QInDm, QInTrf, QParts, Read, Rotary, RotaryInDm, RotaryTable, Triangles,
    Written,
};
use super::feed_forward::{self, GInDm, GParts, Spread};
use super::layout::*;
use super::vectors::{self, Means, Numbers};
use super::weights::{Brought, Layer};
use crate::chip::kind::Kind;
use crate::chip::token::{Answer, Network, Start, answered, part_of_layer};
use crate::chip::vector::{self, Vector, VectorInHbm};
use crate::chip::vocabulary::{self, Rows};
use furiosa_visa_std::prelude::*;

/// Weights and tables of blocks.
pub struct BlockNetwork<Layer> {
    /// The layers.
    pub layers: Vec<Layer>,
    /// Keys of 8 that tokens see.
    pub triangles: Triangles,
    /// Where keys are those of the tokens, and where they are behind them.
    pub own: Blocks,
    /// The same of a page before the block: nowhere.
    pub nowhere: Blocks,
}

impl<Layer> DeviceSend for BlockNetwork<Layer> {}

/// The start of a block: numbers of its tokens, or their vectors. Behind the last one are any others.
pub type BlockStart<'a> = Start<'a, &'a Numbers, VectorsInHbm>;
/// The answer of a block.
pub type BlockAnswer<'a> = Answer<'a, VectorsInHbm>;

/// The tokens of a block.
pub struct Tokens<'a> {
    /// Their numbers, or vectors.
    pub start: BlockStart<'a>,
    /// The place of the last one.
    pub last: usize,
    /// Rotary factors of their positions.
    pub rotary: &'a RotaryTable,
    /// Room for the vector of the last one.
    pub row: &'a mut VectorInHbm,
}

impl DeviceSend for Tokens<'_> {}

/// The vector of the last token, as the product over the vocabulary wants it.
#[track_caller]
fn last_vector(ctx: &mut Context, x: &Vectors, last: usize, row: &mut VectorInHbm) -> Vector {
    let x = x.view();
    let x = x.cluster_tile::<m![C], 1, m![1 # 2]>(last / 128);
    let x = x.slice_tile::<m![V], 1, m![1 # 2, W, R / 2, X / 144]>(last / 64 % 2);
    let x = x.slice_tile::<m![W], 1, m![1 # 2, 1 # 2, R / 2, X / 144]>(last / 32 % 2);
    let x = x.slice_tile::<m![R / 2], 1, m![1 # 2, 1 # 2, 1 # 16, X / 144]>(last / 2 % 16);
    let x = x.tile::<m![R % 2], 1, m![1 # 2, X % 144]>(last % 2);
    x.to_hbm_view(&mut ctx.tdma, row.view_mut());
    vector::to_both(ctx, row)
}

/// Begins a layer: the means of squares of its vectors, and weights of queries, which main loads while the means are
/// on their way.
#[track_caller]
fn begin(ctx: &mut Context, x: &Vectors, weights: &QInDm, half: TrfAddress) -> (Means, QInTrf) {
    let means = vectors::means(ctx, x);
    (means, attention::load_queries(ctx, weights, half))
}

/// Weights that were brought, in bf16.
#[track_caller]
fn made<Of: Brought>(ctx: &mut Context, brought: Of) -> Of::Parts {
    let operands = brought.operands(ctx);
    brought.parts(ctx, operands)
}

/// Some of the four parts of the weights of queries, keys and values to all slices.
#[track_caller]
fn spread_queries(
    ctx: &mut Context,
    parts: Option<&QParts>,
    which: core::ops::Range<usize>,
    all: &mut QInDm,
) {
    let Some(parts) = parts else { return };
    which.for_each(|part| attention::spread_queries(ctx, parts, part, all));
}

/// A block of tokens through all layers. Its keys and values are stored to its page.
#[device(chip = 1)]
pub fn block<Weights: Kind>(
    ctx: &mut Context,
    network: &Network<Weights>,
    blocks: &BlockNetwork<Weights::Layer>,
    tokens: Tokens<'_>,
    before: &[Read],
    own: &mut Written,
    answer: BlockAnswer<'_>,
) {
    let Tokens { start, last, rotary, row } = tokens;
    ctx.part("embedding");
    let layers = blocks.layers.len();
    let q = blocks.layers[0].queries_to_dm(ctx);
    // Halves of the register file: queries, output and down take the first one; keys, values, gate and up the second one.
    let [first, second] = [TrfAddress::FirstHalf, TrfAddress::SecondHalf];
    let q = made(ctx, q);
    let mut all_q = QInDm::new(ctx);
    spread_queries(ctx, Some(&q), 0..4, &mut all_q);
    let mut x = match start {
        Start::Tokens(numbers) => vectors::embedded(ctx, network.embedding(), numbers),
        Start::Vectors(x) => x.to_dm(&mut ctx.tdma, AUTO),
    };
    // What the first layer needs first comes first.
    let mut begun = Some(begin(ctx, &x, &all_q, first));
    let rotary: RotaryInDm = rotary.to_dm(&mut ctx.tdma, AUTO);
    let mut factors: Option<Rotary> = Weights::Layer::READY.then(|| attention::rotary(&mut ctx.sub, &rotary));
    let mask = attention::mask(ctx, &blocks.triangles, &blocks.own, place::OWN);
    let whole: Option<Mask> =
        (!before.is_empty()).then(|| attention::mask(ctx, &blocks.triangles, &blocks.nowhere, place::WHOLE));
    let o = blocks.layers[0].output_to_dm(ctx);
    let mut o = Some(made(ctx, o));
    let mut pages: Vec<PageBefore> = before.iter().map(|page| attention::page_before(ctx, page, 0)).collect();
    // Codes are few: there is time for them before the first keys change clusters.
    let mut loaded = (!Weights::Layer::READY).then(|| blocks.layers[0].down_to_dm(ctx));
    let mut gate_up: Option<GParts> = None;
    let mut next_g: Option<GInDm> = None;
    let mut rows = answer.has_logits().then(|| Rows::new(ctx));
    for number in 0..layers {
        let part = |ctx: &mut Context, part| part_of_layer(ctx, network.first_layer + number, part);
        part(ctx, "queries, keys and values");
        let (means, q) = begun.take().unwrap_or_else(|| begin(ctx, &x, &all_q, first));
        let own_factors = factors.take().unwrap_or_else(|| attention::rotary(&mut ctx.main, &rotary));
        let output_parts = o.take().expect("the layer before made them");
        let own_o = attention::spread_output(ctx, &output_parts);
        let stream: Unnormed = x.relabel();
        let heads = attention::heads(ctx, &stream, &means, &q, &own_factors);
        x = stream.relabel();
        if Weights::Layer::READY {
            factors = Some(own_factors);
        }
        let (page, down_operands) =
            attention::own_page(ctx, &heads, second, |ctx| loaded.as_ref().map(|down| down.operands(ctx)));
        drop(output_parts);
        part(ctx, "loads");
        let first_g = gate_up.is_none().then(|| blocks.layers[number].gate_up_to_dm(ctx));
        let own_d = loaded.take().unwrap_or_else(|| blocks.layers[number].down_to_dm(ctx));
        let mut next_pages = Vec::new();
        let next = blocks.layers.get(number + 1).map(|next| {
            // In the order in which they are spread, or made.
            let early_g = (!Weights::Layer::READY).then(|| next.gate_up_to_dm(ctx));
            let o = next.output_to_dm(ctx);
            let q = next.queries_to_dm(ctx);
            let g = early_g.unwrap_or_else(|| next.gate_up_to_dm(ctx));
            loaded = Some(next.down_to_dm(ctx));
            next_pages.extend(before.iter().map(|page| attention::page_before(ctx, page, number + 1)));
            (g, q, o)
        });
        if let Some(rows) = &mut rows {
            vocabulary::load(ctx, network.vocabulary(), (number, layers), Weights::brings_rows, rows);
        }
        part(ctx, "attention");
        // Main does this while keys are on their way, and makes weights of down.
        let output = attention::load_output(ctx, &own_o, first);
        let operand = vectors::operand!(ctx.main, &x);
        let masks = [&mask, whole.as_ref().unwrap_or(&mask)];
        let down_operands = down_operands.unwrap_or_else(|| own_d.operands(ctx));
        let own_d = own_d.parts(ctx, down_operands);
        let own_g = gate_up.take().or_else(|| first_g.map(|g| made(ctx, g))).expect("they were brought");
        let chosen = attention::chosen(ctx, &heads, (&page, &pages), masks, second);
        // The sub context spreads weights of gate and up while main makes the output.
        let mut g = next_g.take().unwrap_or_else(|| {
            let mut g = GInDm::new(ctx);
            feed_forward::spread(ctx, &own_g, Spread::First, &mut g);
            g
        });
        feed_forward::spread(ctx, &own_g, Spread::Rest, &mut g);
        feed_forward::spread(ctx, &own_g, Spread::Up, &mut g);
        x = attention::output(ctx, &chosen, &output, &operand);
        drop(operand);
        part(ctx, "gate, up and down");
        let (normed, g) = vectors::normed(ctx, &x, |ctx| feed_forward::load_gate_up(ctx, &g, second));
        // Weights of the next layer are made, and spread, when contexts have time.
        let next = next.map(|(g, q, o)| {
            gate_up = Some(made(ctx, g));
            (q, o)
        });
        let operand = vectors::operand!(ctx.sub, &x);
        let d = feed_forward::spread_down(ctx, &own_d);
        all_q = QInDm::new(ctx);
        let operands = next.as_ref().map(|(q, o)| (q.operands(ctx), o.operands(ctx)));
        let mut next = next.zip(operands);
        let mut make = |ctx: &mut Context| {
            next.take().map(|((q, next_o), (operands, o_operands))| {
                let q = q.parts(ctx, operands);
                o = Some(next_o.parts(ctx, o_operands));
                q
            })
        };
        let sums = feed_forward::gate_up(ctx, &normed, &g);
        let hidden = feed_forward::hidden(ctx, &sums);
        // Half of what is ready is spread while main makes the hidden elements. Passes that make weights follow these.
        let mut next_q = if Weights::Layer::READY { make(ctx) } else { None };
        let early = if Weights::Layer::READY { 2 } else { 0 };
        spread_queries(ctx, next_q.as_ref(), 0..early, &mut all_q);
        let hidden = feed_forward::gathered(ctx, &hidden);
        next_q = next_q.or_else(|| make(ctx));
        let down = feed_forward::load_down(ctx, &d, first);
        spread_queries(ctx, next_q.as_ref(), early..4, &mut all_q);
        next_g = gate_up.as_ref().map(|parts| {
            let mut g = GInDm::new(ctx);
            feed_forward::spread(ctx, parts, Spread::First, &mut g);
            g
        });
        x = feed_forward::down(ctx, &hidden, &down, &operand);
        pages = next_pages;
        // Behind the loads, which are needed sooner.
        attention::store(ctx, heads, own, number);
    }
    if let Answer::Vectors(to) = answer {
        ctx.part("to the next chip");
        let mut paired = PairedVectors::new(ctx);
        x.view().to_dm_view(&mut ctx.tdma, paired.view_mut());
        *to = Some(paired.to_hbm(&mut ctx.tdma, AUTO));
        return;
    }
    let Some(rows) = &rows else { return };
    ctx.part("vocabulary");
    let numbers = matches!(answer, Answer::Choice(_)).then(|| network.vocabulary().numbers_to_dm(ctx));
    let x = last_vector(ctx, &x, last, row);
    answered(ctx, rows, numbers.as_ref(), &x, answer);
}
