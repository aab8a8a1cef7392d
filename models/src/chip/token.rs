//! The kernel: one token through all layers.

use super::attention::{
    self, Kept, Mask, OInDm, OWeights, Page, Positions, QInDm, QWeights, Rotary, RotaryOfToken, Slots,
};
use super::feed_forward::{DInDm, DWeights, GInDm, GWeights, feed_forward};
use super::layout::*;
use super::vector::{self, Vector};
use super::vocabulary::{self, Embedding, VInDm, VWeights};
use furiosa_visa_std::prelude::*;

/// Weights of a layer.
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

/// Weights, and tables that do not depend on the text.
pub struct Network {
    /// Rows of tokens.
    pub embedding: Embedding,
    /// The layers.
    pub layers: Vec<Layer>,
    /// Of the logits.
    pub vocabulary: VWeights,
    /// Rotary factors.
    pub rotary: Rotary,
    /// Numbers of positions.
    pub positions: Positions,
}

impl DeviceSend for Network {}

/// Weights of a layer in DM.
struct LayerInDm {
    q: QInDm,
    o: OInDm,
    g: GInDm,
    d: DInDm,
}

fn load<Of: Reach>(
    ctx: &mut Context,
    network: &Network,
    pages: [&Page; 8],
    number: usize,
) -> (LayerInDm, Slots<Of>) {
    let layer = &network.layers[number];
    let q = layer.q.to_dm(&mut ctx.tdma, AUTO);
    let mut slots = Slots::<Of>::new(ctx);
    attention::load_pages::<Of>(ctx, pages, number, &mut slots);
    let o = layer.o.to_dm(&mut ctx.tdma, AUTO);
    let g = layer.g.to_dm(&mut ctx.tdma, AUTO);
    let d = layer.d.to_dm(&mut ctx.tdma, AUTO);
    (LayerInDm { q, o, g, d }, slots)
}

/// One layer.
fn layer<Of: Reach>(
    ctx: &mut Context,
    weights: &LayerInDm,
    slots: &mut Slots<Of>,
    (rotary, mask): (&RotaryOfToken, &Mask<Of>),
    x: &Vector,
) -> Vector {
    let halves = vector::split(ctx, x);
    let gathered = vector::gather(ctx, halves, TrfAddress::FirstHalf);
    let norm = vector::norm(ctx, x);
    let queries = attention::queries(ctx, &weights.q, &gathered, &norm, rotary);
    let before = vector::operand(ctx, x);
    attention::share::<Of>(ctx, &queries, slots);
    let x = attention::attention::<Of>(ctx, slots, mask, &weights.o, &before, TrfAddress::SecondHalf);
    let halves = vector::split(ctx, &x);
    let gathered = vector::gather(ctx, halves, TrfAddress::FirstHalf);
    let norm = vector::norm(ctx, &x);
    let before = vector::operand(ctx, &x);
    feed_forward(ctx, (&weights.g, &weights.d), &gathered, &norm, &before, TrfAddress::SecondHalf)
}

/// A token through all layers. Its keys and values are written to their page; the vector is what is left.
fn layers<Of: Reach>(
    ctx: &mut Context,
    network: &Network,
    pages: [&Page; 8],
    (token, position): (usize, usize),
) -> (Vector, Kept) {
    let mut x = vocabulary::embedded(ctx, &network.embedding, token);
    let rotary = attention::rotary(ctx, &network.rotary, position);
    let mask = attention::mask::<Of>(ctx, &network.positions, position);
    let mut kept = Kept::new(ctx);
    let mut next = Some(load::<Of>(ctx, network, pages, 0));
    for number in 0..network.layers.len() {
        let (weights, mut slots) = next.take().expect("it was loaded");
        if number + 1 < network.layers.len() {
            next = Some(load::<Of>(ctx, network, pages, number + 1));
        }
        x = layer::<Of>(ctx, &weights, &mut slots, (&rotary, &mask), &x);
        attention::keep::<Of>(ctx, &slots, number, &mut kept);
    }
    (x, kept)
}

/// Keys and values of a token, and the logits of the next one.
fn token<Of: Reach>(
    ctx: &mut Context,
    network: &Network,
    pages: [&Page; 8],
    place: (usize, usize),
) -> (Kept, Hbm<f32, m![C, V]>) {
    let (x, kept) = layers::<Of>(ctx, network, pages, place);
    let weights: VInDm = network.vocabulary.to_dm(&mut ctx.tdma, AUTO);
    let halves = vector::split(ctx, &x);
    let gathered = vector::gather(ctx, halves, TrfAddress::FirstHalf);
    let norm = vector::norm(ctx, &x);
    let logits = vocabulary::logits(ctx, &weights, &gathered, &norm);
    (kept, logits.to_hbm(&mut ctx.tdma, AUTO))
}

/// A token that reads one page.
#[device(chip = 1)]
pub fn token_1(
    ctx: &mut Context,
    network: &Network,
    page: &mut Page,
    place: (usize, usize),
) -> Hbm<f32, m![C, V]> {
    let (kept, logits) = token::<Pages<1>>(ctx, network, [&*page; 8], place);
    attention::store(ctx, &kept, page, place.1);
    logits
}
