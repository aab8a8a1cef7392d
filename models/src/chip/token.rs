//! The kernel: one token through all layers.

use super::attention::{
    self, Kept, OInDm, OWeights, Page, Positions, QInDm, QWeights, Rotary, Slots, Tables,
};
use super::feed_forward::{DInDm, DWeights, GInDm, GWeights, feed_forward};
use super::layout::*;
use super::vector::{self, Vector};
use super::vocabulary::{self, Embedding, Logits, Numbers, Rest, VInDm, VWeights};
use furiosa_visa_std::prelude::*;

/// Weights of two layers. One move for both starts once.
pub struct Pair {
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
    /// Number of layers.
    pub layers: usize,
    /// The layers, two by two.
    pub pairs: Vec<Pair>,
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

/// What the attention of two layers takes, in DM.
struct AttentionInDm<Of: Reach> {
    q: QInDm,
    o: OInDm,
    slots: Slots<Of>,
}

/// What gate, up and down of two layers take, in DM.
struct FeedForwardInDm {
    g: GInDm,
    d: DInDm,
}

fn load_queries(ctx: &mut Context, network: &Network, pair: usize) -> QInDm {
    network.pairs[pair].q.to_dm(&mut ctx.tdma, AUTO)
}

fn load_attention<Of: Reach>(
    ctx: &mut Context,
    network: &Network,
    pages: [&Page; 8],
    pair: usize,
    q: QInDm,
) -> AttentionInDm<Of> {
    let weights = &network.pairs[pair];
    let mut slots = Slots::<Of>::new(ctx);
    attention::load_pages::<Of>(ctx, pages, pair, &mut slots);
    let o = weights.o.to_dm(&mut ctx.tdma, AUTO);
    AttentionInDm { q, o, slots }
}

fn load_feed_forward(ctx: &mut Context, network: &Network, pair: usize) -> FeedForwardInDm {
    let weights = &network.pairs[pair];
    let g = weights.g.to_dm(&mut ctx.tdma, AUTO);
    let d = weights.d.to_dm(&mut ctx.tdma, AUTO);
    FeedForwardInDm { g, d }
}

/// One of two layers.
fn layer<Of: Reach>(
    ctx: &mut Context,
    (own, rest): (&mut AttentionInDm<Of>, &FeedForwardInDm),
    number: usize,
    (tables, kept): (&mut Tables<Of>, &mut Kept),
    x: &Vector,
) -> Vector {
    let which = number % 2;
    let halves = vector::split(ctx, x);
    let gathered = vector::gather(ctx, halves, TrfAddress::FirstHalf);
    let norm = vector::norm(ctx, x);
    let queries = attention::queries(ctx, (&own.q, which), &gathered, &norm, tables);
    let before = vector::operand(ctx, x);
    attention::share::<Of>(ctx, &queries, (&mut own.slots, which));
    let slots = attention::of_layer::<Of>(&own.slots, which);
    let x = attention::attention::<Of>(ctx, &slots, tables, (&own.o, which), &before, TrfAddress::SecondHalf);
    let halves = vector::split(ctx, &x);
    let gathered = vector::gather(ctx, halves, TrfAddress::FirstHalf);
    let norm = vector::norm(ctx, &x);
    let before = vector::operand(ctx, &x);
    let weights = (&rest.g, &rest.d, which);
    let x = feed_forward(ctx, weights, &gathered, &norm, &before, TrfAddress::SecondHalf);
    attention::keep::<Of>(ctx, &slots, number, kept);
    x
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

/// Small parts of the weights of the vocabulary that are brought beside a layer. Odd layers have time for one.
fn parts(number: usize, layers: usize) -> core::ops::Range<usize> {
    let before = (number / 2).min(vocabulary::SMALL_PARTS);
    let here = if number + 1 == layers { vocabulary::SMALL_PARTS - before } else { number % 2 };
    before..(before + here).min(vocabulary::SMALL_PARTS)
}

/// A token through all layers. Its keys and values are stored to their page.
fn token<Of: Reach>(
    ctx: &mut Context,
    network: &Network,
    (before, last): (&[Page], &mut Page),
    (token, position): (usize, usize),
    answer: Answer<'_>,
) {
    let pages = core::array::from_fn(|number| before.get(number).unwrap_or(last));
    // In the order in which the first layer needs them.
    let q = load_queries(ctx, network, 0);
    let mut x = vocabulary::embedded(ctx, &network.embedding, token);
    let mut tables = Tables::<Of>::load(ctx, &network.rotary, &network.positions, position);
    let mut own = load_attention::<Of>(ctx, network, pages, 0, q);
    let mut kept = Kept::new(ctx);
    let mut rows = match answer {
        Answer::Nothing => None,
        _ => Some(VInDm::new(ctx)),
    };
    let mut rest = None;
    for number in 0..network.layers {
        // A queue does not look ahead: what is given here runs before the exchange at the end of the layer. So each layer
        // brings half of what two layers take, shortly before it is used.
        let mut next = None;
        match number % 2 {
            0 => rest = Some(load_feed_forward(ctx, network, number / 2)),
            _ if number + 1 < network.layers => {
                let pair = number / 2 + 1;
                let q = load_queries(ctx, network, pair);
                next = Some(load_attention::<Of>(ctx, network, pages, pair, q));
            }
            _ => {}
        }
        if let Some(rows) = &mut rows {
            parts(number, network.layers)
                .for_each(|part| vocabulary::load(ctx, &network.vocabulary, part, rows));
            if number + 1 == network.layers {
                vocabulary::load_rest(ctx, &network.vocabulary, Rest::BesideTheLastLayer, rows);
            }
        }
        let rest = rest.as_ref().expect("it was loaded");
        x = layer::<Of>(ctx, (&mut own, rest), number, (&mut tables, &mut kept), &x);
        if let Some(next) = next {
            own = next;
        }
    }
    let Some(mut rows) = rows else {
        return attention::store(ctx, &kept, last, position);
    };
    let numbers: Option<Logits> =
        matches!(answer, Answer::Choice(_)).then(|| network.numbers.to_dm(&mut ctx.tdma, AUTO));
    vocabulary::load_rest(ctx, &network.vocabulary, Rest::Behind, &mut rows);
    attention::store(ctx, &kept, last, position);
    let halves = vector::split(ctx, &x);
    let gathered = vector::gather(ctx, halves, TrfAddress::FirstHalf);
    let norm = vector::norm(ctx, &x);
    let logits = vocabulary::logits(ctx, &rows, &gathered, &norm);
    match (answer, numbers) {
        (Answer::Choice(choice), Some(numbers)) => vocabulary::choose(ctx, &logits, &numbers, choice),
        (Answer::Logits(all), _) => *all = Some(logits.to_hbm(&mut ctx.tdma, AUTO)),
        _ => {}
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
