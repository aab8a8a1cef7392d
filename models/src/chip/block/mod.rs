//! Prefill: a block of 256 tokens, which are a page of the cache, through all layers at once.
//!
//! | module | content |
//! | --- | --- |
//! | [`layout`] | axes, and where tensors lie |
//! | [`vectors`] | the vectors of the tokens: from the embedding, their norm, and as an operand |
//! | [`attention`] | queries, keys and values, and what heads choose |
//! | [`feed_forward`] | gate, up and down |
//! | [`kernel`] | the kernel: a block through all layers |
//! | [`prepare`] | weights and tables, uploaded |

pub mod attention;
pub mod feed_forward;
pub mod kernel;
pub mod layout;
pub mod prepare;
pub mod vectors;

use super::attention::Page;
use super::layout::{C, I, V};
use super::token::{Answer, Network};
use crate::model::Want;
use furiosa_visa_std::prelude::*;
use kernel::{BlockNetwork, Tokens};
use layout::{Hbm, X};

/// What a block stored of the token behind it.
pub enum Stored {
    /// Nothing.
    Nothing,
    /// The number of the token with the greatest logit.
    Choice,
    /// All logits.
    Logits(Hbm<f32, m![C, V]>),
}

/// Launches a block.
pub async fn launch(
    ctx: &mut Context,
    network: &Network,
    blocks: &BlockNetwork,
    (numbers, last): (&[i32], usize),
    before: Vec<Page>,
    own: Page,
    choice: &mut Hbm<f32, m![I]>,
    want: Want,
) -> (Vec<Page>, Page, Stored) {
    let rotary = prepare::rotary(ctx, before.len()).await;
    let numbers = prepare::numbers(ctx, numbers).await;
    let mut row: Hbm<f32, m![X]> = HostTensor::<f32, m![X]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
    let before = before.into_iter().map(|page| -> attention::Read {
        let page: attention::Written = page.relabel();
        page.relabel()
    });
    let before: Vec<attention::Read> = before.collect();
    let mut own: attention::Written = own.relabel();
    let tokens = Tokens { numbers: &numbers, last, rotary: &rotary, row: &mut row };
    let mut logits = None;
    let answer = match want {
        Want::Nothing => Answer::Nothing,
        Want::Token => Answer::Choice(choice),
        Want::Logits => Answer::Logits(&mut logits),
    };
    furiosa_visa_std::prelude::launch(
        kernel::block,
        (&mut *ctx, network, blocks, tokens, &before[..], &mut own, answer),
    )
    .await;
    let stored = match (want, logits) {
        (Want::Nothing, _) => Stored::Nothing,
        (_, Some(logits)) => Stored::Logits(logits),
        _ => Stored::Choice,
    };
    let before = before.into_iter().map(|page| {
        let page: attention::Written = page.relabel();
        page.relabel()
    });
    (before.collect(), own.relabel(), stored)
}
