//! Weights and tables of blocks as the chip wants them.

use super::attention::{Blocks, RotaryTable};
use super::kernel::BlockNetwork;
use super::layout::*;
use super::vectors::Numbers;
use crate::chip::prepare::{angle, factor, row, scaled, tensor, upload};
use crate::chip::rounded::Layer;
use crate::config::{GATE, HEAD, HIDDEN};
use crate::weights;
use furiosa_visa_std::prelude::*;

/// Positions of a page.
const PAGE: usize = C::SIZE * V::SIZE * W::SIZE * R::SIZE;

/// The greatest power of a score: that of 69. Sums of powers and of weighted values stay far below the largest f32.
const GREATEST: f32 = 1e30;

/// The element of a row of 576 at a place of the order in which the register file has them: quarters inside of runs of 16.
pub(in crate::chip) fn quartered(run: usize, quarter: usize, place: usize) -> usize {
    144 * quarter + 16 * run + place
}

/// The head at a place: its number in the order `J, K` of [`row`], if there is one.
pub(in crate::chip) fn head(g: usize, b: usize) -> Option<usize> {
    match (g, b) {
        (3, 3) => None,
        (3, value) => Some(12 + value),
        // Queries are `0..3` of `J`, keys are 3.
        (key, which) => Some(3 * which + key),
    }
}

/// Uploads weights of a layer, rounded.
pub async fn layer(ctx: &mut Context, layer: &weights::Layer) -> Layer {
    let q = upload!(ctx, bf16, m![D / 8 % 2, E / 16 % 9, D / 2 % 4, G, B, D / 16, D % 2, E / 144, E % 16], {
        let all = [&layer.q, &layer.k, &layer.v].map(|matrix| scaled(matrix, &layer.attn_norm));
        let zero = bf16::from_f32(0.0);
        tensor([2, 9, 4, 4, 4, 4, 2, 4, 16], |[d1, e0, part, g, b, d, d0, e, e1]| {
            head(g, b).map_or(zero, |head| {
                let (which, row) = row(head, 16 * d + 8 * d1 + 2 * part + d0);
                all[which][row * HIDDEN + quartered(e0, e, e1)]
            })
        })
    });
    let o = upload!(ctx, bf16, m![X / 64, X % 2, X / 2 % 4, G = 3, B = 3, D / 16, X / 8 % 8, D % 16], {
        let o = scaled(&layer.o, &[1.0]);
        tensor([9, 2, 4, 3, 3, 4, 8, 16], |[x, x0, part, g, b, d, x1, d0]| {
            o[(64 * x + 8 * x1 + 2 * part + x0) * HIDDEN + (3 * g + b) * HEAD + 16 * d + d0]
        })
    });
    let g = upload!(ctx, bf16, m![F / 4 % 3, E / 16 % 9, F / 2 % 2, I, F / 12, F % 2, E / 144, E % 16], {
        let all = [&layer.gate, &layer.up].map(|matrix| scaled(matrix, &layer.ffn_norm));
        tensor([3, 9, 2, 2, 128, 2, 4, 16], |[f1, e0, f0, i, f, f2, e, e1]| {
            all[i][(12 * f + 4 * f1 + 2 * f0 + f2) * HIDDEN + quartered(e0, e, e1)]
        })
    });
    let d =
        upload!(ctx, bf16, m![F / 8 % 3, X / 64, X / 2 % 4, F / 24, F / 4 % 2, X % 2, X / 8 % 8, F % 4], {
            let down = scaled(&layer.down, &[1.0]);
            tensor([3, 9, 4, 64, 2, 2, 8, 4], |[f1, x, part, f, f2, x0, x1, f0]| {
                down[(64 * x + 8 * x1 + 2 * part + x0) * GATE + 24 * f + 8 * f1 + 4 * f2 + f0]
            })
        });
    Layer { q, o, g, d }
}

/// Rotary factors of the positions of a page.
pub async fn rotary(ctx: &mut Context, page: usize) -> RotaryTable {
    upload!(ctx, f32, m![R % 8, O / 8, C, V, W, G, B, R / 8, O % 8, T, U, P], {
        let angles = tensor([PAGE, HEAD / 2], |[token, pair]| angle(PAGE * page + token, pair));
        tensor([8, 2, 2, 4, 4, 4, 4, 8, 2, 2, 2], |[m, o, c, t, g, b, u, o0, from, to, pair]| {
            let token = 128 * c + 32 * t + 8 * u + m;
            let angle = (g < 3).then(|| angles[token * (HEAD / 2) + 2 * (8 * o + o0) + pair]);
            factor(angle, (from, to), g < 3 && b < 3)
        })
    })
}

/// Two numbers for each 8 keys of a half of the page, from the distance of their run of 8 to that of the tokens.
async fn blocks(ctx: &mut Context, values: impl Fn(isize) -> [f32; 2]) -> Blocks {
    let values = tensor([2, 4, 4, 4, 4, 2, 2, 16], |[c, t, _, _, u, which, z, s]| {
        // The half of the own cluster comes first.
        let (token, key) = (16 * c + 4 * t + u, 16 * (c ^ z) + s);
        values(key as isize - token as isize)[which]
    });
    let blocks = HostTensor::<f32, m![C, V, W, G, B, R / 8, I, Z, S / 8]>::from_slice(&values);
    blocks.to_hbm(&mut ctx.pdma, AUTO).await
}

/// Uploads tables, and makes a network for blocks of them and of weights.
pub async fn network<Layer>(ctx: &mut Context, layers: Vec<Layer>) -> BlockNetwork<Layer> {
    let values = tensor([2, 4, 4, 4, 4, 8, 8], |[_, _, _, _, _, m, s]| if s > m { 3e4_f32 } else { 0.0 });
    let triangles = HostTensor::<f32, m![C, V, W, G, B, R / 8, R % 8, S % 8]>::from_slice(&values);
    let triangles = triangles.to_hbm(&mut ctx.pdma, AUTO).await;
    let own = blocks(ctx, |distance| {
        let diagonal = if distance == 0 { -1.0 } else { 0.0 };
        [diagonal, if distance > 0 { 0.0 } else { GREATEST }]
    });
    let own = own.await;
    let nowhere = blocks(ctx, |_| [0.0, GREATEST]).await;
    BlockNetwork { layers, triangles, own, nowhere }
}

/// Numbers of the tokens of a block. Behind the last one are any others, which lie in different channels of HBM.
pub async fn numbers(ctx: &mut Context, tokens: &[u32]) -> Numbers {
    let numbers: Vec<i32> =
        (0..PAGE).map(|place| tokens.get(place).map_or(place as i32, |token| *token as i32)).collect();
    HostTensor::<i32, m![C, V, W, R]>::from_slice(&numbers).to_hbm(&mut ctx.pdma, AUTO).await
}
