//! The chip's network as a [`Model`].

use super::attention::Page;
use super::block;
use super::int4::Quantised;
use super::kind::Kind;
use super::layout::*;
use super::prepare;
use super::rounded::Rounded;
use super::token::{Answer, Network, launch_token};
use super::vocabulary;
use crate::config::{GATE, HEAD, HEADS, HIDDEN, KEY_VALUE, VOCABULARY};
use crate::model::{Model, Next, Want, Work};
use crate::options::{Settings, WeightType};
use crate::refusal::Refusal;
use crate::weights::Weights;
use furiosa_visa_rules::spec::{CLUSTERS, MAC_BYTES, SLICES, TRF_BANK_ROWS};
use furiosa_visa_std::chip::Compute;
use furiosa_visa_std::clock::bound::hbm_cycles;
use furiosa_visa_std::clock::{Model as ClockModel, Report};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::ContextGuard;
use std::cell::RefCell;

/// The fewest tokens that are worth a block: see `prefill`.
const LEAST: usize = 16;

/// The network on a simulated chip, with the pages of its tokens.
pub struct ChipModel<Stored = Rounded> {
    ctx: RefCell<ContextGuard>,
    network: Network<Stored>,
    pages: Vec<Page>,
    position: usize,
    /// Tokens of the last page, if it has room for more.
    tail: Vec<u32>,
    choice: Hbm<f32, m![I]>,
    /// The least cycles of all launches.
    bound_cycles: u64,
    clock: ClockModel,
    computes: bool,
}

impl ChipModel {
    /// Loads weights into the HBM of a chip, as the command's options say.
    ///
    /// # Errors
    ///
    /// If there are several chips, if there are more tokens than positions, or as [`ChipModel::new`].
    pub fn open(weights: &Weights, settings: Settings) -> Result<Box<dyn Model>, Refusal> {
        served(settings)?;
        Ok(match settings.weights {
            WeightType::Bf16 => Box::new(ChipModel::<Rounded>::new(weights, settings.shapes_only)?),
            WeightType::Int4 => Box::new(ChipModel::<Quantised>::new(weights, settings.shapes_only)?),
        })
    }
}

impl<Stored: Kind> ChipModel<Stored> {
    /// Loads weights into the HBM of a chip, those of layers as their kind says.
    ///
    /// # Errors
    ///
    /// If a matrix is of another kind of blocks than the kernels decode: with its name.
    pub fn new(weights: &Weights, shapes_only: bool) -> Result<Self, Refusal> {
        let compute = if shapes_only { Compute::ShapesOnly } else { Compute::Values };
        let mut ctx = Context::with(SimOptions { compute, ..SimOptions::default() });
        let network = pollster::block_on(prepare::network(&mut ctx, weights))?;
        let choice = HostTensor::<f32, m![I]>::zero();
        let choice = pollster::block_on(choice.to_hbm(&mut ctx.pdma, AUTO));
        let Report { profile, numbers, .. } = ctx.report();
        let (ctx, clock) = (RefCell::new(ctx), ClockModel { profile, numbers });
        Ok(Self {
            ctx,
            network,
            pages: Vec::new(),
            position: 0,
            tail: Vec::new(),
            choice,
            bound_cycles: 0,
            clock,
            computes: !shapes_only,
        })
    }

    /// The report of everything that the chip did.
    pub fn report(&self) -> Report {
        self.ctx.borrow_mut().report()
    }

    /// Begins a page if all are full.
    fn page(&mut self) {
        if self.tail.is_empty() {
            let dma = &mut self.ctx.get_mut().pdma;
            let page = HostTensor::<f32, m![L, J = 2, K, S, D]>::zero();
            self.pages.push(pollster::block_on(page.to_hbm(dma, AUTO)));
        }
    }

    fn append(&mut self, token: u32, want: Want) -> Next {
        assert!(self.position < self.capacity(), "{} tokens; there is room for no more", self.position);
        self.page();
        let Self { ctx, network, pages, position, choice, computes, .. } = self;
        let (ctx, place) = (ctx.get_mut(), (token as usize, *position));
        let next = pollster::block_on(async {
            let mut logits = None;
            let answer = Answer::of(want, choice, &mut logits);
            launch_token(ctx, network, pages, place, answer).await;
            answered(ctx, want, (choice, logits), *computes).await
        });
        let bytes = needed_bytes::<Stored>(self.network.layers, self.position, want);
        self.advance(&[token], hbm_cycles(bytes.into(), self.clock));
        next
    }

    /// Notes tokens that were appended, and what they take at least.
    fn advance(&mut self, tokens: &[u32], bound_cycles: u64) {
        self.bound_cycles += bound_cycles;
        self.position += tokens.len();
        self.tail.extend(tokens);
        if self.position.is_multiple_of(S::SIZE) {
            self.tail.clear();
        }
    }

    /// Appends tokens to the last page, or to a new one, as a block. Tokens that the page has already are computed again.
    ///
    /// # Panics
    /// If the page has no room for them, or the model has none.
    fn append_block(&mut self, tokens: &[u32], want: Want) -> Next {
        let first = self.position - self.tail.len();
        assert!(first < self.capacity(), "{first} tokens; there is room for no more");
        let all = [&self.tail[..], tokens].concat();
        assert!(all.len() <= S::SIZE, "{} tokens in a page", all.len());
        self.page();
        let Self { ctx, network, pages, choice, computes, .. } = self;
        let ctx = ctx.get_mut();
        let network = Stored::prefill(ctx, network);
        let next = pollster::block_on(async {
            let mut logits = None;
            let answer = Answer::of(want, choice, &mut logits);
            block::launch::<Stored>(ctx, network, &all, pages, answer).await;
            answered(ctx, want, (choice, logits), *computes).await
        });
        let needed = Needed::of_block::<Stored>(self.network.layers, self.position, tokens.len(), want);
        self.advance(tokens, needed.cycles(self.clock));
        next
    }
}

/// The stored answer of a launch, brought to the host. Without values, there is nothing.
async fn answered(
    ctx: &mut Context,
    want: Want,
    (choice, logits): (&Hbm<f32, m![I]>, Option<Hbm<f32, m![C, V]>>),
    computes: bool,
) -> Next {
    match (want, logits) {
        (Want::Token, _) => {
            let number = choice.to_host::<m![I]>(&mut ctx.pdma).await.to_buf()[0];
            match number {
                Opt::Init(number) if computes => Next::Token(number as u32),
                _ => Next::Nothing,
            }
        }
        (Want::Logits, Some(logits)) => {
            let logits = logits.to_host::<m![C, V]>(&mut ctx.pdma).await;
            if computes { Next::Logits(logits.to_vec()) } else { Next::Nothing }
        }
        _ => Next::Nothing,
    }
}

/// The least work of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needed {
    /// Bytes of HBM.
    bytes: u64,
    /// Products of two bf16.
    products: u64,
}

impl Needed {
    /// For a block of so many tokens, `position` tokens behind the first one: all weights once; and for each token the
    /// products of all weights, and those of the keys and values that it sees. Only the last token has logits.
    fn of_block<Stored: Kind>(layers: usize, position: usize, tokens: usize, want: Want) -> Self {
        let bytes = needed_bytes::<Stored>(layers, position, want);
        let weights = HIDDEN * (2 * HIDDEN + 2 * KEY_VALUE + 3 * GATE);
        let seen: usize = (position + 1..=position + tokens).sum();
        let vocabulary = if want == Want::Nothing { 0 } else { VOCABULARY * HIDDEN };
        let products = layers * (tokens * weights + 2 * HEADS * HEAD * seen) + vocabulary;
        Self { bytes, products: products as u64 }
    }

    fn cycles(self, model: ClockModel) -> u64 {
        let products_per_cycle = CLUSTERS * SLICES * TRF_BANK_ROWS * MAC_BYTES / size_of::<bf16>();
        hbm_cycles(self.bytes.into(), model).max(self.products / products_per_cycle as u64)
    }
}

/// Refuses settings that no kernel is made for.
pub(crate) fn served(settings: Settings) -> Result<(), Refusal> {
    if settings.chips != 1 {
        let chips = settings.chips;
        let message =
            format!("--chips: {chips} are given; the kernels are for 1 chip only; leave `--chips` out");
        return Err(message.into());
    }
    let (tokens, most) = (settings.capacity, R::SIZE);
    if tokens > most {
        return Err(format!(
            "the text would have {tokens} tokens; the chip has room for {most}; give fewer by --tokens, a shorter text, or \
             `--reference`"
        )
        .into());
    }
    Ok(())
}

/// Bytes of HBM that a token needs: all weights, and the keys and values of the tokens before it.
fn needed_bytes<Stored: Kind>(layers: usize, position: usize, want: Want) -> u64 {
    let weights = HIDDEN * (2 * HIDDEN + 2 * KEY_VALUE + 3 * GATE);
    let layer = Stored::layer_bytes(weights) + 4 * 2 * KEY_VALUE * position;
    let vocabulary = if want == Want::Nothing { 0 } else { vocabulary::bytes(VOCABULARY * HIDDEN) };
    (layers * layer + vocabulary) as u64
}

impl<Stored: Kind> Model for ChipModel<Stored> {
    fn position(&self) -> usize {
        self.position
    }

    fn capacity(&self) -> usize {
        R::SIZE
    }

    /// Appends tokens in blocks, if a page gets at least 16 of them, and one by one otherwise.
    ///
    /// A block in the first page takes the chip as long as 2 tokens one by one, or 2.5 with weights of 4 bits, however many tokens it has; each page before it
    /// adds about 6 thousand cycles to a layer. The simulation computes 256 tokens, which takes as long as about 7 one by
    /// one. But activations of a block are rounded to bf16, and those of a token alone are not: short prompts are worth their
    /// time.
    fn prefill(&mut self, tokens: &[u32], want: Want) -> Next {
        assert!(!tokens.is_empty(), "there is no token to append");
        let mut rest = tokens;
        let mut next = Next::Nothing;
        while !rest.is_empty() {
            let room = S::SIZE - self.position % S::SIZE;
            let (page, behind) = rest.split_at(rest.len().min(room));
            let want = if behind.is_empty() { want } else { Want::Nothing };
            if page.len() < LEAST {
                let last = page.len() - 1;
                for (number, token) in page.iter().enumerate() {
                    next = self.append(*token, if number == last { want } else { Want::Nothing });
                }
            } else {
                next = self.append_block(page, want);
            }
            rest = behind;
        }
        next
    }

    fn decode(&mut self, token: u32, want: Want) -> Next {
        self.append(token, want)
    }

    fn clear(&mut self) {
        self.pages.clear();
        self.tail.clear();
        self.position = 0;
    }

    fn parts(&self) -> String {
        self.report().by_part().to_string()
    }

    fn work(&self) -> Option<Work> {
        let cycles = self.report().kernels.iter().map(|kernel| kernel.makespan()).sum();
        Some(Work { cycles, bound_cycles: self.bound_cycles })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_std::clock::Profile;

    #[test]
    fn the_last_position_is_served_and_the_next_one_is_not() {
        let settings =
            |capacity| Settings { weights: WeightType::Bf16, chips: 1, shapes_only: true, capacity };
        assert_eq!(served(settings(2048)), Ok(()));
        assert!(served(settings(2049)).is_err_and(|refusal| refusal.0.contains("2049 tokens")));
    }

    #[test]
    fn a_block_needs_products_of_each_token_and_each_weight_once() {
        // 9 heads of 64 see 1 + 2 + 3 keys, and as many values.
        let one = Needed::of_block::<Rounded>(1, 0, 3, Want::Nothing);
        assert_eq!(one, Needed { bytes: 2 * 3_538_944, products: 3 * 3_538_944 + 2 * 9 * 64 * (1 + 2 + 3) });
        let full = Needed::of_block::<Rounded>(30, 0, 256, Want::Token);
        let seen = 256 * 257 / 2;
        let products = 30 * (256 * 3_538_944 + 2 * 576 * seen) + 49_152 * 576;
        assert_eq!(full.products, products);
        // 131 072 in a cycle: longer than HBM needs for the weights.
        assert_eq!(full.cycles(ClockModel::new(Profile::Detailed)), products / 131_072);
        let few = Needed::of_block::<Rounded>(30, 0, 8, Want::Token);
        assert!(few.cycles(ClockModel::new(Profile::Detailed)) > few.products / 131_072);
    }

    #[test]
    fn a_token_needs_each_weight_once() {
        // 49 152 rows of 576: of 32 weights, 32 bytes of codes and a scale.
        let vocabulary = 49_152 * 18 * (32 + 2);
        // 30 layers of 3 538 944 weights.
        assert_eq!(needed_bytes::<Rounded>(30, 0, Want::Token), 30 * 2 * 3_538_944 + vocabulary);
        // Of 32 of them, 16 bytes of codes, a scale and a minimum.
        assert_eq!(needed_bytes::<Quantised>(30, 0, Want::Token), 30 * 110_592 * (16 + 4) + vocabulary);
        // Ten tokens before it: keys and values of 192 f32 in each layer.
        assert_eq!(
            needed_bytes::<Rounded>(30, 10, Want::Nothing),
            2 * 30 * 3_538_944 + 10 * 30 * 2 * 192 * 4
        );
    }
}
