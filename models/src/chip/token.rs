//! The kernel: one token through all layers.

use super::attention::{
    self, Kept, Mask, OInDm, OWeights, Page, Positions, QInDm, QWeights, Rotary, RotaryOfToken, Slots,
};
use super::feed_forward::{DInDm, DWeights, GInDm, GWeights, feed_forward};
use super::layout::*;
use super::vector::{self, Vector};
use super::vocabulary::{self, Embedding, Numbers, VInDm, VWeights};
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
    /// Numbers of tokens.
    pub numbers: Numbers,
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

/// What is wanted of the token after the last one. It is computed on the chip, and stored.
pub enum Answer<'a> {
    /// Nothing.
    Nothing,
    /// The number of the token with the greatest logit.
    Choice(&'a mut Hbm<f32, m![I]>),
    /// All logits.
    Logits(&'a mut Option<Hbm<f32, m![C, V]>>),
}

impl DeviceSend for Answer<'_> {}

/// Parts of the weights of the vocabulary that are brought beside a layer, so that all of them are there in the end.
fn parts(number: usize, layers: usize) -> core::ops::Range<usize> {
    let part = |number: usize| number * vocabulary::PARTS / layers;
    part(number)..part(number + 1)
}

/// A token through all layers. Its keys and values are stored to their page.
fn token<Of: Reach>(
    ctx: &mut Context,
    network: &Network,
    (before, own): (&[Page], &mut Page),
    (token, position): (usize, usize),
    answer: Answer<'_>,
) {
    let pages = core::array::from_fn(|number| before.get(number).unwrap_or(own));
    let mut x = vocabulary::embedded(ctx, &network.embedding, token);
    let rotary = attention::rotary(ctx, &network.rotary, position);
    let mask = attention::mask::<Of>(ctx, &network.positions, position);
    let mut kept = Kept::new(ctx);
    let mut rows = match answer {
        Answer::Nothing => None,
        _ => Some(VInDm::new(ctx)),
    };
    let count = network.layers.len();
    let mut next = Some(load::<Of>(ctx, network, pages, 0));
    for number in 0..count {
        let (weights, mut slots) = next.take().expect("it was loaded");
        if number + 1 < count {
            next = Some(load::<Of>(ctx, network, pages, number + 1));
        }
        if let Some(rows) = &mut rows {
            parts(number, count).for_each(|part| vocabulary::load(ctx, &network.vocabulary, part, rows));
        }
        x = layer::<Of>(ctx, &weights, &mut slots, (&rotary, &mask), &x);
        attention::keep::<Of>(ctx, &slots, number, &mut kept);
    }
    attention::store(ctx, &kept, own, position);
    let Some(rows) = rows else { return };
    let halves = vector::split(ctx, &x);
    let gathered = vector::gather(ctx, halves, TrfAddress::FirstHalf);
    let norm = vector::norm(ctx, &x);
    let logits = vocabulary::logits(ctx, &rows, &gathered, &norm);
    match answer {
        Answer::Nothing => {}
        Answer::Choice(choice) => vocabulary::choose(ctx, &logits, &network.numbers, choice),
        Answer::Logits(all) => *all = Some(logits.to_hbm(&mut ctx.tdma, AUTO)),
    }
}

macro_rules! kernels {
    ($($name:ident $pages:literal),*) => {
        $(
            #[doc = concat!("A token that reads ", $pages, " pages.")]
            #[device(chip = 1)]
            pub fn $name(
                ctx: &mut Context,
                network: &Network,
                before: &[Page],
                own: &mut Page,
                place: (usize, usize),
                answer: Answer<'_>,
            ) {
                token::<Pages<$pages>>(ctx, network, (before, own), place, answer)
            }
        )*
    };
}

kernels!(token_1 1, token_2 2, token_4 4, token_8 8);

/// Launches the kernel that reads all pages of the text. The last page gets the token.
///
/// # Panics
/// If there is no page, or there are more than 8.
pub async fn launch_token(
    ctx: &mut Context,
    network: &Network,
    pages: &mut [Page],
    place: (usize, usize),
    answer: Answer<'_>,
) {
    let (own, before) = pages.split_last_mut().expect("the token has a page");
    let before = &*before;
    match before.len() {
        0 => launch(token_1, (ctx, network, before, own, place, answer)).await,
        1 => launch(token_2, (ctx, network, before, own, place, answer)).await,
        2..4 => launch(token_4, (ctx, network, before, own, place, answer)).await,
        _ => launch(token_8, (ctx, network, before, own, place, answer)).await,
    }
}
