//! The kernel: one token through all layers.

use super::attention::{self, Kept, Page, Positions, Rotary, Seen, Slots, Tables};
use super::kind::Kind;
use super::layout::*;
use super::vector::{self, Vector, VectorInHbm};
use super::vocabulary::{self, Embedding, Logits, Rows, Vocabulary};
use crate::model::Want;
use furiosa_visa_std::prelude::*;

/// Weights, and tables that do not depend on the text.
pub struct Network<Weights> {
    /// Weights of layers.
    pub weights: Weights,
    /// Rows of tokens: on the chip that has the first layer.
    pub embedding: Option<Embedding>,
    /// The same weights, of the logits: on the chip that has the last layer.
    pub vocabulary: Option<Vocabulary>,
    /// Number of the first layer of this chip.
    pub first_layer: usize,
    /// Number of layers of this chip.
    pub layers: usize,
    /// Rotary factors.
    pub rotary: Rotary,
    /// Numbers of positions.
    pub positions: Positions,
}

impl<Weights: Kind> DeviceSend for Network<Weights> {}

impl<Weights: Kind> Network<Weights> {
    /// Rows of tokens.
    ///
    /// # Panics
    /// If another chip has them.
    pub fn embedding(&self) -> &Embedding {
        self.embedding.as_ref().expect("the chip with the first layer has the embedding")
    }

    /// Weights of the logits.
    ///
    /// # Panics
    /// If another chip has them.
    pub fn vocabulary(&self) -> &Vocabulary {
        self.vocabulary.as_ref().expect("the chip with the last layer has the vocabulary")
    }
}

/// Operands of the attention of two layers, in DM.
struct AttentionInDm<Weights: Kind, Of: Reach> {
    q: Weights::Queries,
    o: Weights::Output,
    slots: Slots<Of>,
}

fn load_attention<Weights: Kind, Of: Reach>(
    ctx: &mut Context,
    network: &Network<Weights>,
    pages: [&Page; 8],
    pair: usize,
    q: Weights::Queries,
) -> AttentionInDm<Weights, Of> {
    let mut slots = Slots::<Of>::new(ctx);
    attention::load_pages::<Of>(ctx, pages, pair, &mut slots);
    let o = network.weights.output_to_dm(ctx, pair);
    AttentionInDm { q, o, slots }
}

/// The commands that follow are a part of a layer, in reports.
pub fn part_of_layer(ctx: &mut Context, layer: usize, part: &str) {
    ctx.part(&format!("layer {layer}/{part}"));
}

/// The start of a launch.
pub enum Start<'a, Tokens, Vectors> {
    /// Tokens of the text.
    Tokens(Tokens),
    /// What the chip with the layers before has stored.
    Vectors(&'a Vectors),
}

impl<Tokens, Vectors> DeviceSend for Start<'_, Tokens, Vectors> {}

/// The answer about the token after the last one. It is computed on the chip, and stored.
pub enum Answer<'a, Vectors> {
    /// Nothing.
    Nothing,
    /// The number of the token with the greatest logit.
    Choice(&'a mut Hbm<f32, m![I]>),
    /// All logits.
    Logits(&'a mut Option<Hbm<f32, m![C, V]>>),
    /// No answer: vectors for the chip with the next layers.
    Vectors(&'a mut Option<Vectors>),
}

impl<Vectors> DeviceSend for Answer<'_, Vectors> {}

impl<'a, Vectors> Answer<'a, Vectors> {
    /// The answer to what is wanted.
    pub fn of(
        want: Want,
        choice: &'a mut Hbm<f32, m![I]>,
        logits: &'a mut Option<Hbm<f32, m![C, V]>>,
    ) -> Self {
        match want {
            Want::Nothing => Self::Nothing,
            Want::Token => Self::Choice(choice),
            Want::Logits => Self::Logits(logits),
        }
    }

    /// If it needs the logits.
    pub fn has_logits(&self) -> bool {
        matches!(self, Self::Choice(_) | Self::Logits(_))
    }
}

/// The start of a token: its number, or its vector.
pub type TokenStart<'a> = Start<'a, usize, VectorInHbm>;
/// The answer of a token.
pub type TokenAnswer<'a> = Answer<'a, VectorInHbm>;

/// Stores the answer about the token behind the vector `x`.
#[track_caller]
pub fn answered<Vectors>(
    ctx: &mut Context,
    rows: &Rows,
    numbers: Option<&Logits>,
    x: &Vector,
    answer: Answer<'_, Vectors>,
) {
    let logits = vocabulary::logits(ctx, rows, x);
    match (answer, numbers) {
        (Answer::Choice(choice), Some(numbers)) => vocabulary::choose(ctx, &logits, numbers, choice),
        (Answer::Logits(all), _) => *all = Some(logits.to_hbm(&mut ctx.tdma, AUTO)),
        _ => {}
    }
}

/// A token through all layers. Its keys and values are stored to their page.
fn token<Weights: Kind, Of: Reach>(
    ctx: &mut Context,
    network: &Network<Weights>,
    (before, last): (&[Page], &mut Page),
    (start, position): (TokenStart<'_>, usize),
    answer: TokenAnswer<'_>,
) {
    let pages = core::array::from_fn(|number| before.get(number).unwrap_or(last));
    let weights = &network.weights;
    ctx.part("embedding");
    // In the order in which the first layer needs them.
    let q = weights.queries_to_dm(ctx, 0);
    let common = weights.common(ctx);
    let (mut x, _row) = match start {
        Start::Tokens(token) => {
            let (x, row) = Weights::embedded(ctx, network.embedding(), token);
            (x, Some(row))
        }
        Start::Vectors(x) => {
            let x = vector::to_both(ctx, x);
            (Weights::entered(ctx, x), None)
        }
    };
    let mut tables = Tables::<Of>::load(ctx, &network.rotary, &network.positions, position);
    let mut own = load_attention::<Weights, Of>(ctx, network, pages, 0, q);
    let mut kept = Kept::new(ctx);
    let mut rows = answer.has_logits().then(|| Rows::new(ctx));
    let mut rest = None;
    for number in 0..network.layers {
        let part = |ctx: &mut Context, part| part_of_layer(ctx, network.first_layer + number, part);
        part(ctx, "queries, keys and values");
        let (queries, before) = Weights::queries(ctx, &common, (&own.q, number), &x, &mut tables);
        // A queue does not look ahead: what is given here runs behind what the queries exchange, and before the exchange at the
        // end of the layer. So each layer brings half of what two layers take, shortly before it is used.
        let mut next = None;
        part(ctx, "loads");
        match number % 2 {
            0 => rest = Some(weights.feed_forward_to_dm(ctx, number / 2)),
            _ if number + 1 < network.layers => {
                let pair = number / 2 + 1;
                let q = weights.queries_to_dm(ctx, pair);
                next = Some(load_attention::<Weights, Of>(ctx, network, pages, pair, q));
            }
            _ => {}
        }
        if let Some(rows) = &mut rows {
            let place = (number, network.layers);
            vocabulary::load(ctx, network.vocabulary(), place, Weights::brings_rows, rows);
        }
        let rest = rest.as_ref().expect("it was loaded");
        part(ctx, "attention");
        let token = attention::share(ctx, &queries);
        let mut seen = Seen::new(&token, &own.slots, (&mut kept, number));
        let middle = Weights::attention(ctx, &common, (&own.o, number), &mut seen, &mut tables, before);
        part(ctx, "gate, up and down");
        x = Weights::feed_forward(ctx, &common, (rest, number), middle);
        if let Some(next) = next {
            own = next;
        }
    }
    if let Answer::Vectors(to) = answer {
        ctx.part("to the next chip");
        // The next chip waits for it, and nobody for keys and values.
        let x = Weights::last_vector(ctx, x);
        *to = Some(vector::stored(ctx, &x));
        return attention::store(ctx, &kept, last, position);
    }
    ctx.part("vocabulary");
    let Some(rows) = rows else {
        return attention::store(ctx, &kept, last, position);
    };
    let numbers = matches!(answer, Answer::Choice(_)).then(|| network.vocabulary().numbers_to_dm(ctx));
    attention::store(ctx, &kept, last, position);
    let x = Weights::last_vector(ctx, x);
    answered(ctx, &rows, numbers.as_ref(), &x, answer);
}

macro_rules! kernels {
    ($($name:ident $pages:literal),*) => {
        $(
            #[doc = concat!("A token that reads ", $pages, " pages.")]
            #[device(chip = 1)]
            pub fn $name<Weights: Kind>(
                ctx: &mut Context,
                network: &Network<Weights>,
                before: &[Page],
                own: &mut Page,
                (start, position): (TokenStart<'_>, usize),
                answer: TokenAnswer<'_>,
            ) {
                token::<Weights, Pages<$pages>>(ctx, network, (before, own), (start, position), answer)
            }
        )*
    };
}

kernels!(token_1 1, token_2 2, token_4 4, token_8 8);

/// Launches the kernel that reads all pages of the text. The last page gets the token.
///
/// # Panics
/// If there is no page, or there are more than 8.
pub async fn launch_token<Weights: Kind>(
    ctx: &mut Context,
    network: &Network<Weights>,
    pages: &mut [Page],
    place: (TokenStart<'_>, usize),
    answer: TokenAnswer<'_>,
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
