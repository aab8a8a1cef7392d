//! The chip's network as a [`Model`].

use super::attention::Page;
use super::layout::*;
use super::prepare;
use super::token::{Answer, Network, launch_token};
use crate::config::{GATE, HIDDEN, KEY_VALUE, VOCABULARY};
use crate::model::{Model, Next, Want, Work};
use crate::options::{Settings, WeightType};
use crate::refusal::Refusal;
use crate::weights::Weights;
use furiosa_visa_std::chip::Compute;
use furiosa_visa_std::clock::Report;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::ContextGuard;
use furiosa_visa_std::spec::{
    CORE_CYCLE_TICKS, HBM_CHANNELS, HBM_REFRESH_PER_MILLE, HBM_UNIT_BYTES, HBM_UNIT_TICKS,
};
use std::cell::RefCell;

/// The network on a simulated chip, with the pages of its tokens.
pub struct ChipModel {
    ctx: RefCell<ContextGuard>,
    network: Network,
    pages: Vec<Page>,
    position: usize,
    choice: Hbm<f32, m![I]>,
    bound_cycles: u64,
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
        let choice = HostTensor::<f32, m![I]>::zero();
        let choice = pollster::block_on(choice.to_hbm(&mut ctx.pdma, AUTO));
        let computes = !shapes_only;
        let ctx = RefCell::new(ctx);
        Self { ctx, network, pages: Vec::new(), position: 0, choice, bound_cycles: 0, computes }
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
        self.bound_cycles += bound_cycles(self.network.layers, self.position, want);
        self.position += 1;
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

/// Cycles in which HBM reads what a token needs: all weights, and the keys and values of the tokens before it.
fn bound_cycles(layers: usize, position: usize, want: Want) -> u64 {
    let weights = HIDDEN * (2 * HIDDEN + 2 * KEY_VALUE + 3 * GATE);
    let layer = 2 * weights + 4 * 2 * KEY_VALUE * position;
    let vocabulary = if want == Want::Nothing { 0 } else { 2 * VOCABULARY * HIDDEN };
    let bytes = layers * layer + vocabulary;
    let unit_ticks = HBM_UNIT_TICKS * (1000 + HBM_REFRESH_PER_MILLE);
    let unit_bytes = HBM_UNIT_BYTES * HBM_CHANNELS * 1000;
    (bytes as u64 * unit_ticks).div_ceil(unit_bytes as u64 * CORE_CYCLE_TICKS)
}

impl Model for ChipModel {
    fn position(&self) -> usize {
        self.position
    }

    fn capacity(&self) -> usize {
        R::SIZE
    }

    fn prefill(&mut self, tokens: &[u32], want: Want) -> Next {
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
        let kernels = self.report().kernels;
        let cycles = kernels.iter().map(|kernel| kernel.makespan()).sum();
        Some(Work { cycles, bound_cycles: self.bound_cycles })
    }
}
