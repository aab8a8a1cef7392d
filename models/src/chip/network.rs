//! The chip's network as a [`Model`].

use super::attention::Page;
use super::layout::*;
use super::prepare;
use super::token::{Network, launch_token};
use crate::model::{Model, Next, Want, Work, largest};
use crate::weights::Weights;
use furiosa_visa_std::chip::Compute;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::spec::{
    CORE_CYCLE_TICKS, HBM_CHANNELS, HBM_REFRESH_PER_MILLE, HBM_UNIT_BYTES, HBM_UNIT_TICKS,
};

/// The network on a simulated chip, with the pages of its tokens.
pub struct ChipModel {
    ctx: furiosa_visa_std::runtime::ContextGuard,
    network: Network,
    pages: Vec<Page>,
    position: usize,
    bound_cycles: u64,
    computes: bool,
}

impl ChipModel {
    /// Loads weights into the HBM of a chip.
    pub fn new(weights: &Weights, shapes_only: bool) -> Self {
        let compute = if shapes_only { Compute::ShapesOnly } else { Compute::Values };
        let mut ctx = Context::with(SimOptions { compute, ..SimOptions::default() });
        let network = pollster::block_on(prepare::network(&mut ctx, weights));
        Self { ctx, network, pages: Vec::new(), position: 0, bound_cycles: 0, computes: !shapes_only }
    }

    fn append(&mut self, token: u32, want: Want) -> Next {
        assert!(self.position < self.capacity(), "{} tokens; there is room for no more", self.position);
        let Self { ctx, network, pages, position, .. } = self;
        let next = pollster::block_on(async {
            if *position % S::SIZE == 0 {
                let page = HostTensor::<f32, m![L, S, J = 2, K, D]>::zero();
                pages.push(page.to_hbm(&mut ctx.pdma, AUTO).await);
            }
            let place = (token as usize, *position);
            let logits = launch_token(ctx, network, pages, place, want != Want::Nothing).await;
            match (logits, want) {
                (Some(logits), Want::Token | Want::Logits) => {
                    let logits = logits.to_host::<m![C, V]>(&mut ctx.pdma).await;
                    Some(logits)
                }
                _ => None,
            }
        });
        self.bound_cycles += bound_cycles(self.network.layers.len(), self.position, want);
        self.position += 1;
        match (next.filter(|_| self.computes), want) {
            (Some(logits), Want::Token) => Next::Token(largest(&logits.to_vec())),
            (Some(logits), Want::Logits) => Next::Logits(logits.to_vec()),
            _ => Next::Nothing,
        }
    }
}

/// Cycles in which HBM reads what a token needs: all weights, and the keys and values of the tokens before it.
fn bound_cycles(layers: usize, position: usize, want: Want) -> u64 {
    let weights = HIDDEN * (2 * HIDDEN + 2 * KEY_VALUE + 3 * GATE);
    let layer = 2 * weights + 4 * 2 * KEY_VALUE * position;
    let vocabulary = if want == Want::Nothing { 0 } else { 2 * VOCABULARY * HIDDEN };
    let bytes = layers * layer + vocabulary;
    let unit_ticks = HBM_UNIT_TICKS * (1000 + HBM_REFRESH_PER_MILLE);
    let unit_bytes = HBM_UNIT_BYTES * HBM_CHANNELS * 1000;
    (bytes as u64 * unit_ticks).div_ceil(unit_bytes as u64 * CORE_CYCLE_TICKS as u64)
}

use crate::config::{GATE, HIDDEN, KEY_VALUE, VOCABULARY};

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
        None
    }
}
