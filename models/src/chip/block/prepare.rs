//! Weights and tables of blocks as the chip wants them.

use super::attention::{Blocks, RotaryTable};
use super::kernel::{BlockNetwork, Layer};
use super::layout::*;
use super::vectors::Numbers;
use crate::chip::prepare::{angle, factor, row, scaled, tensor};
use crate::config::{GATE, HEAD, HIDDEN};
use crate::weights::{self, Weights};
use furiosa_visa_std::prelude::*;

/// Positions of a page.
const PAGE: usize = C::SIZE * V::SIZE * W::SIZE * R::SIZE;

/// The greatest power of a score: that of 69. Sums of powers and of weighted values stay far below the largest f32.
const GREATEST: f32 = 1e30;

/// Rows of 576 elements in the order in which the register file has them: quarters inside of runs of 16.
fn quartered(row: &[bf16], to: &mut Vec<bf16>) {
    for run in 0..9 {
        for quarter in 0..4 {
            to.extend_from_slice(&row[144 * quarter + 16 * run..][..16]);
        }
    }
}

/// Rows of a matrix, each given by its number, or zeros, in this order.
fn rows<const N: usize>(
    sizes: [usize; N],
    mut of: impl FnMut([usize; N]) -> Option<(usize, usize)>,
    matrices: &[&[bf16]],
) -> Vec<bf16> {
    let zeros = vec![bf16::from_f32(0.0); HIDDEN];
    let mut all = Vec::with_capacity(sizes.iter().product::<usize>() * HIDDEN);
    for place in tensor(sizes, |at| at) {
        match of(place) {
            Some((which, row)) => quartered(&matrices[which][row * HIDDEN..][..HIDDEN], &mut all),
            None => quartered(&zeros, &mut all),
        }
    }
    all
}

/// The head at a place: its number in the order `J, K` of [`row`], if there is one.
fn head(g: usize, b: usize) -> Option<usize> {
    match (g, b) {
        (3, 3) => None,
        (3, value) => Some(12 + value),
        // Queries are `0..3` of `J`, keys are 3.
        (key, which) => Some(3 * which + key),
    }
}

async fn layer(ctx: &mut Context, layer: &weights::Layer) -> Layer {
    let [q, k, v] = [&layer.q, &layer.k, &layer.v].map(|matrix| scaled(matrix, &layer.attn_norm));
    let values = rows(
        [4, 4, 4, 4, 2, 2],
        |[part, g, b, d, d0, d1]| head(g, b).map(|head| row(head, 16 * d + 8 * d1 + 2 * part + d0)),
        &[&q, &k, &v],
    );
    let q = HostTensor::<bf16, m![D / 2 % 4, G, B, D / 16, D % 2, D / 8 % 2, E / 16 % 9, E / 144, E % 16]>::from_slice(&values);
    let o = scaled(&layer.o, &[1.0]);
    let values = tensor([4, 3, 3, 4, 2, 72, 16], |[part, g, b, d, x0, x, d0]| {
        o[(8 * x + 2 * part + x0) * HIDDEN + (3 * g + b) * HEAD + 16 * d + d0]
    });
    let o =
        HostTensor::<bf16, m![X / 2 % 4, G = 3, B = 3, D / 16, X % 2, X / 8, D % 16]>::from_slice(&values);
    let [gate, up] = [&layer.gate, &layer.up].map(|matrix| scaled(matrix, &layer.ffn_norm));
    let values = rows([2, 128, 4, 3], |[i, f, f0, f1]| Some((i, 12 * f + 4 * f1 + f0)), &[&gate, &up]);
    let g =
        HostTensor::<bf16, m![I, F / 12, F % 4, F / 4 % 3, E / 16 % 9, E / 144, E % 16]>::from_slice(&values);
    let down = scaled(&layer.down, &[1.0]);
    let values = tensor([2, 128, 4, 72, 12], |[part, f, x0, x, f0]| {
        down[(8 * x + 4 * part + x0) * GATE + 12 * f + f0]
    });
    let d = HostTensor::<bf16, m![X / 4 % 2, F / 12, X % 4, X / 8, F / 4 % 3, F % 4]>::from_slice(&values);
    let dma = &mut ctx.pdma;
    Layer {
        q: q.to_hbm(dma, AUTO).await,
        o: o.to_hbm(dma, AUTO).await,
        g: g.to_hbm(dma, AUTO).await,
        d: d.to_hbm(dma, AUTO).await,
    }
}

/// Rotary factors of the positions of a page.
pub async fn rotary(ctx: &mut Context, page: usize) -> RotaryTable {
    let angles = tensor([PAGE, HEAD / 2], |[token, pair]| angle(PAGE * page + token, pair));
    let values = tensor([2, 4, 4, 4, 4, 8, 16, 2, 2, 2], |[c, t, g, b, u, m, o, from, to, pair]| {
        let token = 128 * c + 32 * t + 8 * u + m;
        let angle = (g < 3).then(|| angles[token * (HEAD / 2) + 2 * o + pair]);
        factor(angle, (from, to), g < 3 && b < 3)
    });
    let table = HostTensor::<f32, m![C, V, W, G, B, R / 8, R % 8, O, T, U, P]>::from_slice(&values);
    table.to_hbm(&mut ctx.pdma, AUTO).await
}

/// A number for each 8 keys of a half of the page, from the distance of their run of 8 to that of the tokens.
async fn blocks(ctx: &mut Context, value: impl Fn(isize) -> f32) -> Blocks {
    let values = tensor([2, 4, 4, 4, 4, 2, 16], |[c, t, _, _, u, z, s]| {
        // The half of the own cluster comes first.
        let (token, key) = (16 * c + 4 * t + u, 16 * (c ^ z) + s);
        value(key as isize - token as isize)
    });
    let blocks = HostTensor::<f32, m![C, V, W, G, B, R / 8, Z, S / 8]>::from_slice(&values);
    blocks.to_hbm(&mut ctx.pdma, AUTO).await
}

/// Uploads the network for blocks.
pub async fn network(ctx: &mut Context, weights: &Weights) -> BlockNetwork {
    let mut layers = Vec::new();
    for one in &weights.layers {
        layers.push(layer(ctx, one).await);
    }
    let values = tensor([2, 4, 4, 4, 4, 8, 8], |[_, _, _, _, _, m, s]| if s > m { 3e4_f32 } else { 0.0 });
    let triangles = HostTensor::<f32, m![C, V, W, G, B, R / 8, R % 8, S % 8]>::from_slice(&values);
    let triangles = triangles.to_hbm(&mut ctx.pdma, AUTO).await;
    let diagonals = blocks(ctx, |distance| if distance == 0 { -1.0 } else { 0.0 }).await;
    let limits = blocks(ctx, |distance| if distance > 0 { 0.0 } else { GREATEST }).await;
    let nowhere = [blocks(ctx, |_| 0.0).await, blocks(ctx, |_| GREATEST).await];
    BlockNetwork { layers, triangles, diagonals, limits, nowhere }
}

/// Numbers of the tokens of a block: behind the last one, that of the last one again.
pub async fn numbers(ctx: &mut Context, tokens: &[u32]) -> Numbers {
    let last = tokens.len() - 1;
    let numbers: Vec<i32> = (0..PAGE).map(|place| tokens[place.min(last)] as i32).collect();
    HostTensor::<i32, m![C, V, W, R]>::from_slice(&numbers).to_hbm(&mut ctx.pdma, AUTO).await
}
