//! The chip's network as a [`Model`].

use super::attention::Page;
use super::block::{self, kernel::BlockNetwork};
use super::layout::*;
use super::prepare;
use super::token::{Answer, Network, launch_token};
use crate::config::{GATE, HIDDEN, KEY_VALUE, VOCABULARY};
use crate::model::{Model, Next, Want, Work};
use crate::options::{Settings, WeightType};
use crate::refusal::Refusal;
use crate::weights::Weights;
use furiosa_visa_std::chip::Compute;
use furiosa_visa_std::clock::bound::hbm_cycles;
use furiosa_visa_std::clock::{Model as ClockModel, Report};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::ContextGuard;
use std::cell::RefCell;

/// The network on a simulated chip, with the pages of its tokens.
pub struct ChipModel {
    ctx: RefCell<ContextGuard>,
    network: Network,
    blocks: BlockNetwork,
    pages: Vec<Page>,
    position: usize,
    choice: Hbm<f32, m![I]>,
    needed_bytes: u64,
    computes: bool,
}

impl ChipModel {
    /// Loads weights into the HBM of a chip, as the command's options say.
    ///
    /// # Errors
    ///
    /// If weights are not bf16, if there are several chips, or if there are more tokens than positions.
    pub fn open(weights: &Weights, settings: Settings) -> Result<Box<dyn Model>, Refusal> {
        served(settings)?;
        Ok(Box::new(Self::new(weights, settings.shapes_only)))
    }

    /// Loads weights into the HBM of a chip.
    pub fn new(weights: &Weights, shapes_only: bool) -> Self {
        let compute = if shapes_only { Compute::ShapesOnly } else { Compute::Values };
        let mut ctx = Context::with(SimOptions { compute, ..SimOptions::default() });
        let network = pollster::block_on(prepare::network(&mut ctx, weights));
        let blocks = pollster::block_on(block::prepare::network(&mut ctx, weights));
        let choice = HostTensor::<f32, m![I]>::zero();
        let choice = pollster::block_on(choice.to_hbm(&mut ctx.pdma, AUTO));
        let computes = !shapes_only;
        let ctx = RefCell::new(ctx);
        Self { ctx, network, blocks, pages: Vec::new(), position: 0, choice, needed_bytes: 0, computes }
    }

    /// The report of everything that the chip did.
    pub fn report(&self) -> Report {
        self.ctx.borrow_mut().report()
    }

    fn append(&mut self, token: u32, want: Want) -> Next {
        assert!(self.position < self.capacity(), "{} tokens; there is room for no more", self.position);
        let Self { ctx, network, pages, position, choice, computes, .. } = self;
        let ctx = ctx.get_mut();
        let next = pollster::block_on(async {
            if *position % S::SIZE == 0 {
                let page = HostTensor::<f32, m![L, S, J = 2, K, D]>::zero();
                pages.push(page.to_hbm(&mut ctx.pdma, AUTO).await);
            }
            let place = (token as usize, *position);
            match want {
                Want::Nothing => {
                    launch_token(ctx, network, pages, place, Answer::Nothing).await;
                    Next::Nothing
                }
                Want::Token => {
                    launch_token(ctx, network, pages, place, Answer::Choice(choice)).await;
                    let number = choice.to_host::<m![I]>(&mut ctx.pdma).await.to_buf()[0];
                    match number {
                        Opt::Init(number) if *computes => Next::Token(number as u32),
                        _ => Next::Nothing,
                    }
                }
                Want::Logits => {
                    let mut logits = None;
                    launch_token(ctx, network, pages, place, Answer::Logits(&mut logits)).await;
                    let logits = logits.expect("the kernel stored them");
                    let logits = logits.to_host::<m![C, V]>(&mut ctx.pdma).await;
                    if *computes { Next::Logits(logits.to_vec()) } else { Next::Nothing }
                }
            }
        });
        self.needed_bytes += needed_bytes(self.network.layers, self.position, want);
        self.position += 1;
        next
    }
}

impl ChipModel {
    /// Appends tokens from the first position of a page on, at most as many as a page has.
    fn append_block(&mut self, tokens: &[u32], want: Want) -> Next {
        let last = tokens.len() - 1;
        let Self { ctx, network, blocks, pages, position, choice, computes, .. } = self;
        assert!(*position % S::SIZE == 0 && last < S::SIZE, "{} tokens at {position}", last + 1);
        let ctx = ctx.get_mut();
        let next = pollster::block_on(async {
            let page = HostTensor::<f32, m![L, S, J = 2, K, D]>::zero();
            let page: Page = page.to_hbm(&mut ctx.pdma, AUTO).await;
            let numbers: Vec<i32> = (0..S::SIZE).map(|place| tokens[place.min(last)] as i32).collect();
            let (before, mut own, next) = block::launch(
                ctx,
                network,
                blocks,
                (&numbers, last),
                std::mem::take(pages),
                page,
                choice,
                want,
            )
            .await;
            let _ = &mut own;
            *pages = before;
            pages.push(own);
            match next {
                block::Stored::Nothing => Next::Nothing,
                block::Stored::Choice => {
                    let number = choice.to_host::<m![I]>(&mut ctx.pdma).await.to_buf()[0];
                    match number {
                        Opt::Init(number) if *computes => Next::Token(number as u32),
                        _ => Next::Nothing,
                    }
                }
                block::Stored::Logits(logits) => {
                    let logits = logits.to_host::<m![C, V]>(&mut ctx.pdma).await;
                    if *computes { Next::Logits(logits.to_vec()) } else { Next::Nothing }
                }
            }
        });
        self.position += tokens.len();
        next
    }
}

/// Refuses settings that no kernel is made for.
fn served(settings: Settings) -> Result<(), Refusal> {
    if settings.weights == WeightType::Int4 {
        let message = "--weights: `int4` is given; the kernels read bf16 only; leave `--weights` out";
        return Err(message.into());
    }
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
fn needed_bytes(layers: usize, position: usize, want: Want) -> u64 {
    let weights = HIDDEN * (2 * HIDDEN + 2 * KEY_VALUE + 3 * GATE);
    let layer = 2 * weights + 4 * 2 * KEY_VALUE * position;
    let vocabulary = if want == Want::Nothing { 0 } else { 2 * VOCABULARY * HIDDEN };
    (layers * layer + vocabulary) as u64
}

impl Model for ChipModel {
    fn position(&self) -> usize {
        self.position
    }

    fn capacity(&self) -> usize {
        R::SIZE
    }

    fn prefill(&mut self, tokens: &[u32], want: Want) -> Next {
        if self.position == 0 && tokens.len() >= 8 && tokens.len() <= 256 {
            return self.append_block(tokens, want);
        }
        let (last, before) = tokens.split_last().expect("at least one token");
        for token in before {
            self.append(*token, Want::Nothing);
        }
        self.append(*last, want)
    }

    fn decode(&mut self, token: u32, want: Want) -> Next {
        self.append(token, want)
    }

    fn clear(&mut self) {
        self.pages.clear();
        self.position = 0;
    }

    fn work(&self) -> Option<Work> {
        let Report { kernels, profile, numbers, .. } = self.report();
        let cycles = kernels.iter().map(|kernel| kernel.makespan()).sum();
        let bound_cycles = hbm_cycles(self.needed_bytes.into(), ClockModel { profile, numbers });
        Some(Work { cycles, bound_cycles })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_position_is_served_and_the_next_one_is_not() {
        let settings =
            |capacity| Settings { weights: WeightType::Bf16, chips: 1, shapes_only: true, capacity };
        assert_eq!(served(settings(2048)), Ok(()));
        assert!(served(settings(2049)).is_err_and(|refusal| refusal.0.contains("2049 tokens")));
    }

    #[test]
    fn a_token_needs_each_weight_once() {
        // 30 layers of 3 538 944 weights, and 49 152 rows of 576.
        assert_eq!(needed_bytes(30, 0, Want::Token), 2 * (30 * 3_538_944 + 49_152 * 576));
        // Ten tokens before it: keys and values of 192 f32 in each layer.
        assert_eq!(needed_bytes(30, 10, Want::Nothing), 2 * 30 * 3_538_944 + 10 * 30 * 2 * 192 * 4);
    }
}
