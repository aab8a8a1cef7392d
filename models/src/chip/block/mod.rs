//! Prefill: a block of 256 tokens, which are a page of the cache, through all layers at once.
//!
//! | module | content |
//! | --- | --- |
//! | [`layout`] | axes, and where tensors lie |
//! | [`vectors`] | the vectors of the tokens: from the embedding, their norm, and as an operand |
//! | [`attention`] | queries, keys and values, and what heads choose |
//! | [`feed_forward`] | gate, up and down |
//! | [`weights`] | weights of a layer, as HBM has them and in bf16 |
//! | [`kernel`] | the kernel: a block through all layers |
//! | [`prepare`] | weights and tables, uploaded |

pub mod attention;
pub mod feed_forward;
pub mod kernel;
pub mod layout;
pub mod prepare;
pub mod vectors;
pub mod weights;

use super::attention::Page;
use super::kind::Kind;
use super::token::Network;
use attention::{Read, Written};
use furiosa_visa_std::prelude::{launch as launch_kernel, *};
use kernel::{BlockAnswer, BlockNetwork, BlockStart, Tokens, block};
use layout::{Hbm, X};

/// A network, with what only blocks read of it.
pub type Prefill<'a, Weights> = (&'a Network<Weights>, &'a BlockNetwork<<Weights as Kind>::Layer>);

/// Launches a block of so many tokens, which are those of the last page from its first position on.
///
/// # Panics
/// If there is no page or no token, or there are more than 256 tokens.
pub async fn launch<Weights: Kind>(
    ctx: &mut Context,
    (network, blocks): Prefill<'_, Weights>,
    (start, tokens): (BlockStart<'_>, usize),
    pages: &mut Vec<Page>,
    answer: BlockAnswer<'_>,
) {
    let last = tokens - 1;
    let rotary = prepare::rotary(ctx, pages.len() - 1).await;
    let mut row: Hbm<f32, m![X]> = HostTensor::<f32, m![X]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
    let mut own: Written = pages.pop().expect("the block has a page").relabel();
    let before: Vec<Read> = pages.drain(..).map(|page| Written::relabel(page.relabel())).collect();
    let tokens = Tokens { start, last, rotary: &rotary, row: &mut row };
    launch_kernel(block, (&mut *ctx, network, blocks, tokens, &before[..], &mut own, answer)).await;
    pages.extend(before.into_iter().map(|page| -> Page { Written::relabel(page.relabel()) }));
    pages.push(own.relabel());
}
