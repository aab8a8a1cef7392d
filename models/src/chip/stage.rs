//! A chip with its share of the layers: launches, and what it hands to the next chip.

use super::attention::Page;
use super::block;
use super::block::layout::BlockMapping;
use super::kind::Kind;
use super::layout::*;
use super::prepare;
use super::token::{Answer, Network, Start, launch_token};
use crate::model::{Next, Want};
use crate::refusal::Refusal;
use crate::weights::Weights;
use core::ops::Range;
use furiosa_visa_rules::command::ContextKind;
use furiosa_visa_std::chip::Compute;
use furiosa_visa_std::clock::{Model as ClockModel, Report};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::ContextGuard;
use std::cell::RefCell;

/// The vector of a token on the host, between two chips.
pub type TokenVector = HostTensor<f32, m![X]>;
/// Vectors of a block on the host, between two chips.
pub type BlockVectors = HostTensor<f32, BlockMapping>;

/// Layers of each chip, in turns of two, which are uploaded together. Chips in front have one turn more than those behind, of which
/// the last one has the vocabulary, too. `None` if there is no chip, or fewer turns than chips.
pub fn shares(layers: usize, chips: usize) -> Option<Vec<Range<usize>>> {
    let pairs = layers.div_ceil(2);
    let first = |chip: usize| layers.min(2 * (pairs / chips * chip + chip.min(pairs % chips)));
    (1..=pairs).contains(&chips).then(|| (0..chips).map(|chip| first(chip)..first(chip + 1)).collect())
}

/// A chip, its layers, and the pages of its tokens.
pub struct Stage<Stored> {
    ctx: RefCell<ContextGuard>,
    network: Network<Stored>,
    pages: Vec<Page>,
    choice: Hbm<f32, m![I]>,
}

/// Cycles of the link that brings vectors to a chip, of the launch, and of the link that takes them away. A link without vectors has
/// none.
pub type Cycles = [u64; 3];

/// What a launch leaves.
pub enum Left<Vectors: M> {
    /// The answer, on the last chip.
    Answer(Next),
    /// Vectors for the next chip.
    Vectors(HostTensor<f32, Vectors>),
}

impl<Stored: Kind> Stage<Stored> {
    /// Loads weights of these layers into the HBM of a chip.
    ///
    /// # Errors
    ///
    /// If a matrix is of another kind of blocks than the kernels decode: with its name.
    pub fn new(weights: &Weights, layers: Range<usize>, shapes_only: bool) -> Result<Self, Refusal> {
        let compute = if shapes_only { Compute::ShapesOnly } else { Compute::Values };
        let mut ctx = Context::with(SimOptions { compute, ..SimOptions::default() });
        let network = pollster::block_on(prepare::network(&mut ctx, weights, layers))?;
        let choice = HostTensor::<f32, m![I]>::zero();
        let choice = pollster::block_on(choice.to_hbm(&mut ctx.pdma, AUTO));
        Ok(Self { ctx: RefCell::new(ctx), network, pages: Vec::new(), choice })
    }

    /// The report of everything that the chip did.
    pub fn report(&self) -> Report {
        self.ctx.borrow_mut().report()
    }

    /// The model of its clock.
    pub fn clock(&self) -> ClockModel {
        let Report { profile, numbers, .. } = self.report();
        ClockModel { profile, numbers }
    }

    /// Number of its layers.
    pub fn layers(&self) -> usize {
        self.network.layers
    }

    /// If it has the last layer.
    pub fn is_last(&self) -> bool {
        self.network.vocabulary.is_some()
    }

    /// Begins a page.
    pub fn page(&mut self) {
        let dma = &mut self.ctx.get_mut().pdma;
        let page = HostTensor::<f32, m![L, J = 2, K, S, D]>::zero();
        self.pages.push(pollster::block_on(page.to_hbm(dma, AUTO)));
    }

    /// Forgets all pages.
    pub fn clear(&mut self) {
        self.pages.clear();
    }

    /// Appends a token to the last page: its number in front of the first layer, and its vector in front of others. Returns what is
    /// left, and the cycles of it.
    pub fn token(
        &mut self,
        (token, position): (u32, usize),
        vector: Option<TokenVector>,
        want: Want,
    ) -> (Left<m![X]>, Cycles) {
        self.launched(vector, want, |(ctx, network, pages), vector, answer| {
            let start = vector.map_or(Start::Tokens(token as usize), Start::Vectors);
            pollster::block_on(launch_token(ctx, network, pages, (start, position), answer));
        })
    }

    /// Makes these tokens those of the last page, as [`Stage::token`] does one.
    pub fn block(
        &mut self,
        tokens: &[u32],
        vectors: Option<BlockVectors>,
        want: Want,
    ) -> (Left<BlockMapping>, Cycles) {
        self.launched(vectors, want, |(ctx, network, pages), vectors, answer| {
            let numbers = vectors.is_none().then(|| pollster::block_on(block::prepare::numbers(ctx, tokens)));
            let network = Stored::prefill(ctx, network);
            let start = match (&numbers, vectors) {
                (Some(numbers), _) => Start::Tokens(numbers),
                (None, vectors) => Start::Vectors(vectors.expect("the chip before has handed them")),
            };
            pollster::block_on(block::launch::<Stored>(ctx, network, (start, tokens.len()), pages, answer));
        })
    }

    /// Launches a kernel between what comes from the chip before and what goes to the next one.
    fn launched<Vectors: M>(
        &mut self,
        given: Option<HostTensor<f32, Vectors>>,
        want: Want,
        launch: impl FnOnce(
            (&mut Context, &Network<Stored>, &mut Vec<Page>),
            Option<&Hbm<f32, Vectors>>,
            Answer<'_, Hbm<f32, Vectors>>,
        ),
    ) -> (Left<Vectors>, Cycles) {
        let is_last = self.is_last();
        let Self { ctx, network, pages, choice } = self;
        let ctx: &mut Context = ctx.get_mut();
        let (given, given_cycles) = match given {
            Some(given) => {
                let (given, cycles) = timed(ctx, |ctx| pollster::block_on(given.to_hbm(&mut ctx.pdma, AUTO)));
                (Some(given), cycles)
            }
            None => (None, 0),
        };
        let (mut logits, mut vectors) = (None, None);
        let answer =
            if is_last { Answer::of(want, choice, &mut logits) } else { Answer::Vectors(&mut vectors) };
        launch((&mut *ctx, network, pages), given.as_ref(), answer);
        let launch_cycles = ctx.report().kernels.last().map_or(0, |kernel| kernel.makespan());
        let Some(vectors) = vectors else {
            let answer = pollster::block_on(answered(ctx, want, (choice, logits)));
            return (Left::Answer(answer), [given_cycles, launch_cycles, 0]);
        };
        let (vectors, left_cycles) =
            timed(ctx, |ctx| pollster::block_on(vectors.to_host::<Vectors>(&mut ctx.pdma)));
        (Left::Vectors(vectors), [given_cycles, launch_cycles, left_cycles])
    }
}

/// The result of a transfer over the link, and its cycles.
fn timed<T>(ctx: &mut Context, transfer: impl FnOnce(&mut Context) -> T) -> (T, u64) {
    let cycles = |ctx: &mut Context| ctx.report().totals.busy[ContextKind::PcieDma as usize];
    let before = cycles(ctx);
    let done = transfer(ctx);
    (done, cycles(ctx) - before)
}

/// The stored answer of a launch, brought to the host. Without values, there is nothing.
async fn answered(
    ctx: &mut Context,
    want: Want,
    (choice, logits): (&Hbm<f32, m![I]>, Option<Hbm<f32, m![C, V]>>),
) -> Next {
    let computes = ctx.computes();
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

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn chips_share_layers_two_by_two() {
        let ends = |layers, chips| {
            shares(layers, chips).map(|all| all.iter().map(|share| share.end).collect::<Vec<_>>())
        };
        assert_eq!(ends(30, 1), Some(vec![30]));
        assert_eq!(ends(30, 2), Some(vec![16, 30]));
        assert_eq!(ends(30, 4), Some(vec![8, 16, 24, 30]));
        assert_eq!(ends(30, 8), Some(vec![4, 8, 12, 16, 20, 24, 28, 30]));
        // A last layer alone is a turn, too.
        assert_eq!(ends(3, 2), Some(vec![2, 3]));
        assert_eq!((ends(1, 1), ends(2, 2), ends(14, 8)), (Some(vec![1]), None, None));
        assert_eq!(ends(30, 0), None);
        for layers in 1..=30_usize {
            for chips in 1..=layers.div_ceil(2).min(8) {
                let all = shares(layers, chips).unwrap_or_default();
                let covered: Vec<usize> = all.iter().cloned().flatten().collect();
                assert_eq!((all.len(), covered), (chips, (0..layers).collect()), "{layers} layers");
                assert!(all.iter().all(|share| !share.is_empty() && share.start % 2 == 0), "{all:?}");
            }
        }
    }
}
