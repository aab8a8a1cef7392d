//! The kernel: a block of tokens through all layers.

use super::attention::{
    self, Blocks, Mask, OParts, OWeights, QParts, QWeights, Read, RotaryTable, Triangles, Written,
};
use super::feed_forward::{self, DInDm, DWeights, GInDm, GWeights};
use super::layout::*;
use super::vectors::{self, Numbers};
use crate::chip::token::{Answer, Network};
use crate::chip::vector::{self, Vector};
use crate::chip::vocabulary::{self, Logits, Rest, VInDm};
use furiosa_visa_std::prelude::*;

/// Weights of a layer, as a block reads them.
pub struct Layer {
    /// Of queries, keys and values.
    pub q: QWeights,
    /// Of the output of the attention.
    pub o: OWeights,
    /// Of gate and up.
    pub g: GWeights,
    /// Of down.
    pub d: DWeights,
}

/// Weights and tables of blocks.
pub struct BlockNetwork {
    /// The layers.
    pub layers: Vec<Layer>,
    /// What tokens see of 8 keys.
    pub triangles: Triangles,
    /// Where keys are those of the tokens.
    pub diagonals: Blocks,
    /// Where keys are behind the tokens.
    pub limits: Blocks,
    /// The same of a page before the block: nowhere.
    pub nowhere: [Blocks; 2],
}

impl DeviceSend for BlockNetwork {}

/// The tokens of a block.
pub struct Tokens<'a> {
    /// Their numbers. Behind the last one are any others.
    pub numbers: &'a Numbers,
    /// The place of the last one.
    pub last: usize,
    /// Rotary factors of their positions.
    pub rotary: &'a RotaryTable,
    /// Room for the vector of the last one.
    pub row: &'a mut Hbm<f32, m![X]>,
}

impl DeviceSend for Tokens<'_> {}

/// The vector of the last token, as the product over the vocabulary wants it.
#[track_caller]
fn last_vector(ctx: &mut Context, x: &Vectors, last: usize, row: &mut Hbm<f32, m![X]>) -> Vector {
    let x = x.view();
    let x = x.cluster_tile::<m![C], 1, m![1 # 2]>(last / 128);
    let x = x.slice_tile::<m![V], 1, m![1 # 2, W, R / 2, X / 144]>(last / 64 % 2);
    let x = x.slice_tile::<m![W], 1, m![1 # 2, 1 # 2, R / 2, X / 144]>(last / 32 % 2);
    let x = x.slice_tile::<m![R / 2], 1, m![1 # 2, 1 # 2, 1 # 16, X / 144]>(last / 2 % 16);
    let x = x.tile::<m![R % 2], 1, m![1 # 2, X % 144]>(last % 2);
    x.to_hbm_view(&mut ctx.tdma, row.view_mut());
    let mut both = Vector::new(ctx);
    for cluster in 0..C::SIZE {
        let mut both = both.view_mut();
        row.view().to_dm_view(&mut ctx.tdma, both.cluster_tile::<m![C], 1, m![1 # 2]>(cluster));
    }
    both
}

/// A block of tokens through all layers. Its keys and values are stored to its page.
#[device(chip = 1)]
pub fn block(
    ctx: &mut Context,
    network: &Network,
    blocks: &BlockNetwork,
    tokens: Tokens<'_>,
    before: &[Read],
    own: &mut Written,
    answer: Answer<'_>,
) {
    let Tokens { numbers, last, rotary, row } = tokens;
    let layers = blocks.layers.len();
    let q: QParts = blocks.layers[0].q.to_dm(&mut ctx.tdma, AUTO);
    let mut x = vectors::embedded(ctx, &network.embedding, numbers);
    let rotary = attention::rotary(ctx, rotary);
    let mask = attention::mask(ctx, &blocks.triangles, &blocks.diagonals, &blocks.limits);
    let whole: Option<Mask> = (!before.is_empty()).then(|| {
        let [diagonals, limits] = &blocks.nowhere;
        attention::mask(ctx, &blocks.triangles, diagonals, limits)
    });
    let o: OParts = blocks.layers[0].o.to_dm(&mut ctx.tdma, AUTO);
    let all = attention::spread_queries(ctx, &q);
    let mut q = attention::load_queries(ctx, &all);
    let mut o = attention::spread_output(ctx, &o);
    let mut rows = match answer {
        Answer::Nothing => None,
        _ => Some(VInDm::new(ctx)),
    };
    for number in 0..layers {
        let weights = &blocks.layers[number];
        let normed = vectors::normed(ctx, &x);
        let heads = attention::heads(ctx, &normed, &q, &rotary);
        let mut pages = Vec::new();
        for page in before {
            pages.push(attention::page_before(ctx, page, number));
        }
        pages.push(attention::own_page(ctx, &heads, own, number));
        let g: GInDm = weights.g.to_dm(&mut ctx.tdma, AUTO);
        let d: DInDm = weights.d.to_dm(&mut ctx.tdma, AUTO);
        let next = blocks.layers.get(number + 1).map(|next| {
            let q: QParts = next.q.to_dm(&mut ctx.tdma, AUTO);
            let o: OParts = next.o.to_dm(&mut ctx.tdma, AUTO);
            (q, o)
        });
        let operand = vectors::operand(ctx, &x);
        let masks = [&mask, whole.as_ref().unwrap_or(&mask)];
        let chosen = attention::chosen(ctx, &heads, &pages, masks);
        let output = attention::load_output(ctx, &o);
        x = attention::output(ctx, &chosen, &output, &operand);
        drop(operand);
        let gate_up = feed_forward::load_gate_up(ctx, &g);
        let down = feed_forward::load_down(ctx, &d);
        let normed = vectors::normed(ctx, &x);
        let hidden = feed_forward::hidden(ctx, &normed, &gate_up);
        let operand = vectors::operand(ctx, &x);
        if let Some((next_q, next_o)) = next {
            let all = attention::spread_queries(ctx, &next_q);
            q = attention::load_queries(ctx, &all);
            o = attention::spread_output(ctx, &next_o);
        }
        x = feed_forward::down(ctx, &hidden, &down, &operand);
    }
    let Some(rows) = &mut rows else { return };
    let numbers: Option<Logits> =
        matches!(answer, Answer::Choice(_)).then(|| network.numbers.to_dm(&mut ctx.tdma, AUTO));
    (0..vocabulary::SMALL_PARTS).for_each(|part| vocabulary::load(ctx, &network.vocabulary, part, rows));
    vocabulary::load_rest(ctx, &network.vocabulary, Rest::BesideTheLastLayer, rows);
    vocabulary::load_rest(ctx, &network.vocabulary, Rest::Behind, rows);
    let x = last_vector(ctx, &x, last, row);
    let halves = vector::split(ctx, &x);
    let gathered = vector::gather(ctx, halves, TrfAddress::FirstHalf);
    let norm = vector::norm(ctx, &x);
    let logits = vocabulary::logits(ctx, rows, &gathered, &norm);
    match (answer, numbers) {
        (Answer::Choice(choice), Some(numbers)) => vocabulary::choose(ctx, &logits, &numbers, choice),
        (Answer::Logits(all), _) => *all = Some(logits.to_hbm(&mut ctx.tdma, AUTO)),
        _ => {}
    }
}
