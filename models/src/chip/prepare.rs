//! Weights and tables as the chip wants them.

use super::kind::Kind;
use super::layout::*;
use super::rounded::{Pair, Rounded};
use super::token::Network;
use super::vocabulary::{Embedding, Vocabulary};
use crate::config::{GATE, HEAD, HIDDEN, ROTARY_BASE, VOCABULARY};
use crate::matrix::{BLOCK, BlockQ8_0, Matrix, Storage};
use crate::refusal::Refusal;
use crate::weights::{self, Weights};
use core::ops::Range;
use furiosa_visa_std::prelude::*;
use std::cell::OnceCell;

/// Values of a tensor, from the function of its coordinates, outermost first.
pub(super) fn tensor<const N: usize, T>(sizes: [usize; N], value: impl Fn([usize; N]) -> T) -> Vec<T> {
    let (count, innermost) = (sizes.iter().product(), sizes[N - 1]);
    let mut all = Vec::with_capacity(count);
    let mut at = [0; N];
    while all.len() < count {
        all.extend((0..innermost).map(|place| {
            at[N - 1] = place;
            value(at)
        }));
        for k in (0..N - 1).rev() {
            at[k] += 1;
            if at[k] < sizes[k] {
                break;
            }
            at[k] = 0;
        }
    }
    all
}

/// Uploads a tensor of elements, a mapping and values, which are made only if the chip computes with them.
macro_rules! upload {
    ($ctx:ident, $element:ty, $mapping:ty, $values:expr) => {{
        let tensor = match $ctx.computes() {
            true => HostTensor::<$element, $mapping>::from_slice(&$values),
            false => HostTensor::zero(),
        };
        tensor.to_hbm(&mut $ctx.pdma, AUTO).await
    }};
}
pub(super) use upload;

/// The row of `q`, `k` or `v` that is element `d` of head `a`: 0 to 2 of them, and the number of its row.
///
/// Heads are in the order `J, K`. In a head the even elements of two rotary pairs stand before their odd ones.
pub(super) fn row(a: usize, d: usize) -> (usize, usize) {
    let (j, k) = (a / K::SIZE, a % K::SIZE);
    let turned = d / 4 * 4 + d % 2 * 2 + d / 2 % 2;
    match j {
        0..3 => (0, (3 * k + j) * HEAD + turned),
        3 => (1, k * HEAD + turned),
        _ => (2, k * HEAD + d),
    }
}

/// A matrix whose columns are multiplied by the factors of the norm in front of it.
pub(super) fn scaled(matrix: &Matrix, norm: &[f32]) -> Vec<bf16> {
    let values = matrix.to_f32();
    values.iter().enumerate().map(|(k, value)| bf16::from_f32(value * norm[k % norm.len()])).collect()
}

/// Rounded weights of two layers; of one, if it is the last one. The missing ones are zeros.
fn of_two(layers: &[weights::Layer], value: impl Fn(&weights::Layer) -> Vec<bf16>) -> [Vec<bf16>; 2] {
    core::array::from_fn(|number| layers.get(number).map(&value).unwrap_or_default())
}

/// An element, or zero where there is no layer.
fn at(values: &[bf16], place: usize) -> bf16 {
    values.get(place).copied().unwrap_or(bf16::from_f32(0.0))
}

async fn pair(ctx: &mut Context, layers: &[weights::Layer]) -> Pair {
    let q = upload!(ctx, bf16, m![L % 2, E / 32, A, D / 4, E / 8 % 4, D % 4, E % 8], {
        let all = [
            of_two(layers, |layer| scaled(&layer.q, &layer.attn_norm)),
            of_two(layers, |layer| scaled(&layer.k, &layer.attn_norm)),
            of_two(layers, |layer| scaled(&layer.v, &layer.attn_norm)),
        ];
        tensor([2, 18, 15, 16, 4, 4, 8], |[l, e, a, d, e1, d0, e0]| {
            let (which, row) = row(a, 4 * d + d0);
            at(&all[which][l], row * HIDDEN + 32 * e + 8 * e1 + e0)
        })
    });
    let o = upload!(ctx, bf16, m![L % 2, N / 16, X / 72, X / 8 % 9, N / 4 % 4, X % 8, N % 4], {
        let o = of_two(layers, |layer| scaled(&layer.o, &[1.0]));
        tensor([2, 36, 72, 4, 8, 4], |[l, n, x, n1, x0, n0]| {
            at(&o[l], (8 * x + x0) * HIDDEN + 16 * n + 4 * n1 + n0)
        })
    });
    let g = upload!(ctx, bf16, m![C, L % 2, G, E / 32, F / 4, E / 8 % 4, F % 4, E % 8], {
        let gate_up = [
            of_two(layers, |layer| scaled(&layer.gate, &layer.ffn_norm)),
            of_two(layers, |layer| scaled(&layer.up, &layer.ffn_norm)),
        ];
        tensor([2, 2, 2, 18, 192, 4, 4, 8], |[c, l, g, e, f, e1, f0, e0]| {
            at(&gate_up[g][l], (768 * c + 4 * f + f0) * HIDDEN + 32 * e + 8 * e1 + e0)
        })
    });
    let d = upload!(ctx, bf16, m![C, L % 2, F / 16, X / 72, X / 8 % 9, F / 4 % 4, X % 8, F % 4], {
        let down = of_two(layers, |layer| scaled(&layer.down, &[1.0]));
        tensor([2, 2, 48, 72, 4, 8, 4], |[c, l, f, x, f1, x0, f0]| {
            at(&down[l], (8 * x + x0) * GATE + 768 * c + 16 * f + 4 * f1 + f0)
        })
    });
    Pair { q, o, g, d }
}

/// Sine and cosine of the angle by which a rotary pair turns: `position / base^(2 · pair / 64)`.
pub(super) fn angle(position: usize, pair: usize) -> (f64, f64) {
    let exponent = 2.0 * pair as f64 / HEAD as f64;
    (position as f64 / f64::from(ROTARY_BASE).powf(exponent)).sin_cos()
}

/// The factor with which element `from` of a pair is added to element `to`. `angle` is `None` for values, which are not turned. Scores are products
/// over √64, which is in the factors of the queries.
pub(super) fn factor(angle: Option<(f64, f64)>, (from, to): (usize, usize), is_query: bool) -> f32 {
    let (sine, cosine) = angle.unwrap_or((0.0, 1.0));
    let factor = match (from, to) {
        (0, 1) => sine,
        (1, 0) => -sine,
        _ => cosine,
    };
    (if is_query { factor / 8.0 } else { factor }) as f32
}

/// Rotary factors of all positions.
fn rotary() -> Vec<f32> {
    tensor([R::SIZE, 5, 3, 16, 2, 2, 2], |[position, j, _, o, from, to, pair]| {
        factor((j < 4).then(|| angle(position, 2 * o + pair)), (from, to), j < 3)
    })
}

/// Numbers of positions: see [`Positions`](super::attention::Positions).
fn positions() -> Vec<f32> {
    tensor([256, 8, 2], |[slice, page, _]| (256 * page + slice) as f32)
}

/// Uploads rounded weights of layers.
pub async fn rounded(ctx: &mut Context, of: &[weights::Layer]) -> Rounded {
    let mut pairs = Vec::new();
    for layers in of.chunks(2) {
        pairs.push(pair(ctx, layers).await);
    }
    Rounded { pairs, layers: of.to_vec(), blocks: OnceCell::new() }
}

/// Blocks of 8 bits of the embedding, row after row.
fn rows(weights: &Weights) -> Result<&[BlockQ8_0], Refusal> {
    match &weights.embedding.storage {
        Storage::Q8_0(all) => Ok(all),
        Storage::Q4_1(_) => {
            Err("the embedding: `token_embd.weight` is of Q4_1; the kernels decode Q8_0; give the file that \
             `models/fetch.sh` fetches, or `--reference`"
                .into())
        }
    }
}

/// Blocks of a row of the embedding.
const ROW_BLOCKS: usize = HIDDEN / BLOCK;

/// A code of a row of the embedding.
fn code(rows: &[BlockQ8_0], row: usize, column: usize) -> i8 {
    rows[row * ROW_BLOCKS + column / BLOCK].codes[column % BLOCK]
}

/// The scale of a block of a row.
fn scale(rows: &[BlockQ8_0], row: usize, block: usize) -> f16 {
    f16::from_bits(rows[row * ROW_BLOCKS + block].scale.to_bits())
}

/// Uploads the embedding as it is.
async fn embedding(ctx: &mut Context, rows: &[BlockQ8_0]) -> Embedding {
    let code = |row, column| code(rows, row, column);
    let scale = |row, block| scale(rows, row, block);
    let codes = upload!(ctx, i8, m![B, X], tensor([VOCABULARY, HIDDEN], |[row, column]| code(row, column)));
    let of_part = |[row, part]: [usize; 2]| scale(row, 8 * part / BLOCK);
    let sizes = [VOCABULARY, HIDDEN / 8];
    let scales = upload!(ctx, f16, m![B, X / 8], tensor(sizes, of_part));
    let block_scales = upload!(ctx, f32, m![B, X / 8], tensor(sizes, |at| of_part(at).to_f32()));
    Embedding { codes, scales, block_scales }
}

/// Uploads the same weights as the product over the vocabulary reads them, and the numbers of tokens.
async fn vocabulary(ctx: &mut Context, weights: &Weights, rows: &[BlockQ8_0]) -> Vocabulary {
    let code = |row, column| code(rows, row, column);
    let scale = |row, block| scale(rows, row, block);
    let codes = upload!(
        ctx,
        i8,
        m![C, V / 8 % 12, E / 32, V / 96, E / 4 % 8, V % 8, E % 4],
        tensor([2, 12, 18, 256, 8, 8, 4], |[c, part, e, v, e1, v0, e0]| {
            code(VOCABULARY / 2 * c + 96 * v + 8 * part + v0, 32 * e + 4 * e1 + e0)
        })
    );
    let scales = upload!(
        ctx,
        f16,
        m![C, V / 8, E / 32, V % 8],
        tensor([VOCABULARY / 8, ROW_BLOCKS, 8], |[v, block, v0]| scale(8 * v + v0, block))
    );
    let norm = upload!(ctx, f32, m![X], weights.output_norm);
    let numbers = upload!(ctx, f32, m![C, V], tensor([VOCABULARY], |[number]| number as f32));
    Vocabulary { codes, scales, norm, numbers }
}

/// Uploads weights of layers and tables, and makes a network of them. The first layer comes with the embedding, and the last one
/// with the vocabulary.
///
/// # Errors
///
/// If a matrix is of another kind of blocks than the kernels decode: with its name.
pub async fn network<Stored: Kind>(
    ctx: &mut Context,
    of: &Weights,
    layers: Range<usize>,
) -> Result<Network<Stored>, Refusal> {
    let rows = rows(of)?;
    let (has_first, has_last) = (layers.start == 0, layers.end == of.layers.len());
    let embedding = if has_first { Some(embedding(ctx, rows).await) } else { None };
    let vocabulary = if has_last { Some(vocabulary(ctx, of, rows).await) } else { None };
    let weights = Stored::upload(ctx, &of.layers[layers.clone()], layers.start).await?;
    // The second place of each number is padding.
    let positions = upload!(ctx, f32, m![S, W, I], positions());
    let rotary = upload!(ctx, f32, m![R, J, K, O, T, U, P], rotary());
    let (first_layer, layers) = (layers.start, layers.len());
    Ok(Network { weights, embedding, vocabulary, first_layer, layers, rotary, positions })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_embedding_of_other_blocks_is_refused_by_name() {
        let mut weights = Weights::synthetic(1, 3);
        assert!(rows(&weights).is_ok());
        weights.embedding.storage = weights.layers[0].q.storage.clone();
        let message = rows(&weights).err().map_or_else(|| "accepted".into(), |refusal| refusal.0);
        let expected = "the embedding: `token_embd.weight` is of Q4_1; the kernels decode Q8_0; give the file that \
                        `models/fetch.sh` fetches, or `--reference`";
        assert_eq!(message, expected);
    }
}
