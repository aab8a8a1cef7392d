//! Codes, scales and minima as the chip wants them.

use super::super::layout::*;
use super::super::prepare::{row, tensor, upload};
use super::product::{DCodes, DScales, GCodes, GScales, OCodes, OScales, QCodes, QScales};
use super::vector::Parts;
use super::{Pair, Quantised};
use crate::config::{GATE, HIDDEN, LAYERS};
use crate::matrix::{BLOCK, BlockQ4_1, Matrix, Storage};
use crate::refusal::Refusal;
use crate::weights::Layer;
use furiosa_visa_std::prelude::*;
use std::cell::OnceCell;

/// Names of a layer's matrices in a file, in the order of [`Layer::SHAPES`].
const MATRICES: [&str; 7] = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"];

/// The message about a matrix of another kind.
fn refused(tensor: &str) -> Refusal {
    format!(
        "--weights: `int4` needs weights of Q4_1, and `{tensor}` has others; give `--weights bf16`, or the file that \
         `models/fetch.sh` fetches"
    )
    .into()
}

/// Blocks of 4 bits of a matrix with rows of `blocks` blocks.
#[derive(Clone, Copy)]
pub(super) struct Codes<'a> {
    all: &'a [BlockQ4_1],
    blocks: usize,
}

impl<'a> Codes<'a> {
    fn of(matrix: &'a Matrix, tensor: impl Fn() -> String) -> Result<Self, Refusal> {
        match &matrix.storage {
            Storage::Q4_1(all) => Ok(Self { all, blocks: matrix.columns / BLOCK }),
            Storage::Q8_0(_) => Err(refused(&tensor())),
        }
    }

    pub(super) fn code(&self, row: usize, column: usize) -> i4 {
        let block = &self.all[row * self.blocks + column / BLOCK];
        i4::from_i32(block.code(column % BLOCK).into())
    }

    /// The scale, 0, or the minimum, 1.
    pub(super) fn scale(&self, which: usize, row: usize, block: usize) -> f16 {
        let block = &self.all[row * self.blocks + block];
        f16::from_bits([block.scale, block.minimum][which].to_bits())
    }
}

/// Matrices of a layer, in the order of [`Layer::SHAPES`].
pub(super) struct Matrices<'a>(pub(super) [Codes<'a>; 7]);

/// Matrices of each layer. `first` is the number of the first one in the file.
pub(super) fn matrices(layers: &[Layer], first: usize) -> Result<Vec<Matrices<'_>>, Refusal> {
    let mut all = Vec::new();
    for (number, layer) in (first..).zip(layers) {
        let own = [&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down];
        let mut codes = Vec::new();
        for (matrix, name) in own.into_iter().zip(MATRICES) {
            codes.push(Codes::of(matrix, || format!("blk.{number}.{name}.weight"))?);
        }
        let codes = <[_; 7]>::try_from(codes).unwrap_or_else(|_| unreachable!("there are seven"));
        all.push(Matrices(codes));
    }
    Ok(all)
}

/// Weights of two layers, or of one, if it is the last one: zeros are in the place of the other one.
async fn pair(ctx: &mut Context, layers: &[Matrices<'_>]) -> Pair {
    let code = |layer: usize, matrix: usize, row: usize, column: usize| {
        layers.get(layer).map_or(i4::from_i32(0), |layer| layer.0[matrix].code(row, column))
    };
    let scale = |layer: usize, which: usize, matrix: usize, row: usize, block: usize| {
        layers.get(layer).map_or(f16::from_f32(0.0), |layer| layer.0[matrix].scale(which, row, block))
    };
    let q = upload!(
        ctx,
        i4,
        m![A, D / 4, { QCodes }],
        tensor([15, 16, 2, 72, 4, 8], |[a, d, l, e, d0, e0]| {
            let (matrix, row) = row(a, 4 * d + d0);
            code(l, matrix, row, 8 * e + e0)
        })
    );
    let q_scales = upload!(
        ctx,
        f16,
        m![A, D / 4, { QScales }],
        tensor([15, 16, 2, 2, 18, 4], |[a, d, l, which, block, d0]| {
            let (matrix, row) = row(a, 4 * d + d0);
            scale(l, which, matrix, row, block)
        })
    );
    let o = upload!(
        ctx,
        i4,
        m![X / 72, X / 8 % 9, N / 32 % 2, { OCodes }],
        tensor([72, 2, 2, 9, 8, 8, 4], |[x, part, l, head, n, x0, n0]| {
            code(l, 3, 8 * x + x0, 64 * head + 32 * part + 4 * n + n0)
        })
    );
    let o_scales = upload!(
        ctx,
        f16,
        m![X / 72, X / 8 % 9, N / 32 % 2, { OScales }],
        tensor([72, 2, 2, 2, 9, 8], |[x, part, l, which, head, x0]| {
            scale(l, which, 3, 8 * x + x0, 2 * head + part)
        })
    );
    // The hidden element of a place: half, 48, 4 and 1 elements behind each other.
    let hidden = |c: usize, half: usize, [f48, f4, f0]: [usize; 3]| {
        GATE / 2 * c + GATE / 4 * half + 48 * f48 + 4 * f4 + f0
    };
    let g = upload!(
        ctx,
        i4,
        m![C, F / 48 % 8, F / 4 % 12, G, { GCodes }],
        tensor([2, 8, 12, 2, 2, 144, 2, 4, 4], |[c, f48, f4, g, l, e, half, f0, e0]| {
            code(l, 4 + g, hidden(c, half, [f48, f4, f0]), 4 * e + e0)
        })
    );
    let g_scales = upload!(
        ctx,
        f16,
        m![C, F / 48 % 8, F / 4 % 12, G, { GScales }],
        tensor([2, 8, 12, 2, 2, 2, 18, 2, 4], |[c, f48, f4, g, l, which, block, half, f0]| {
            scale(l, which, 4 + g, hidden(c, half, [f48, f4, f0]), block)
        })
    );
    let d = upload!(
        ctx,
        i4,
        m![C, X / 72, X / 8 % 9, F / 384, { DCodes }],
        tensor([2, 72, 2, 2, 96, 8, 4], |[c, x, part, l, f, x0, f0]| {
            code(l, 6, 8 * x + x0, GATE / 2 * c + GATE / 4 * part + 4 * f + f0)
        })
    );
    let d_scales = upload!(
        ctx,
        f16,
        m![C, X / 72, X / 8 % 9, F / 384, { DScales }],
        tensor([2, 72, 2, 2, 2, 12, 8], |[c, x, part, l, which, block, x0]| {
            scale(l, which, 6, 8 * x + x0, (GATE / 2 * c + GATE / 4 * part) / BLOCK + block)
        })
    );
    Pair { q: (q, q_scales), o: (o, o_scales), g: (g, g_scales), d: (d, d_scales) }
}

/// Uploads weights as they are. `first` is the number of the first layer in the file.
///
/// # Errors
///
/// If a matrix is of another kind of blocks: with its name.
pub async fn quantised(ctx: &mut Context, of: &[Layer], first: usize) -> Result<Quantised, Refusal> {
    let mut pairs = Vec::new();
    for layers in matrices(of, first)?.chunks(2) {
        pairs.push(pair(ctx, layers).await);
    }
    let norms = tensor([HIDDEN / 8, LAYERS, 2, 8], |[x, layer, which, x0]| {
        let factors = |layer: &Layer| match which {
            0 => layer.attn_norm[8 * x + x0] / Parts::TIMES,
            _ => layer.ffn_norm[8 * x + x0] / 2.0,
        };
        of.get(layer).map_or(0.0, factors)
    });
    let norms = upload!(ctx, f32, m![X / 72, X / 8 % 9, L, I, X % 8], norms);
    Ok(Quantised { pairs, norms, layers: of.to_vec(), blocks: OnceCell::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::Weights;

    #[test]
    fn matrices_of_other_blocks_are_refused_by_name() {
        let mut weights = Weights::synthetic(2, 3);
        assert!(matrices(&weights.layers, 0).is_ok());
        let Storage::Q8_0(eight) = &weights.embedding.storage else { panic!("the embedding has 8 bits") };
        weights.layers[1].up.storage = Storage::Q8_0(eight[..GATE * HIDDEN / BLOCK].to_vec());
        let refusal = |layers, first| {
            matrices(layers, first).err().map_or_else(|| "accepted".into(), |refusal| refusal.0)
        };
        let expected = "--weights: `int4` needs weights of Q4_1, and `blk.1.ffn_up.weight` has others; give `--weights bf16`, or";
        // A chip that has the second layer alone says its number, too.
        for found in [refusal(&weights.layers, 0), refusal(&weights.layers[1..], 1)] {
            assert!(found.starts_with(expected), "{found}");
        }
    }

    /// Each weight of a matrix is found where its block says.
    #[test]
    fn codes_scales_and_minima_are_those_of_the_values() {
        let weights = Weights::synthetic(1, 4);
        let layer = &weights.layers[0];
        let all = matrices(&weights.layers, 0).unwrap_or_else(|refusal| panic!("{}", refusal.0));
        for (number, matrix) in [(0, &layer.q), (6, &layer.down)] {
            let codes = &all[0].0[number];
            let row = matrix.row(7);
            for (column, value) in row.into_iter().enumerate() {
                // Codes above 7 are negative as 4 bits with a sign; the table reads their bits.
                let code = codes.code(7, column).to_i32().rem_euclid(16) as f32;
                let [scale, minimum] = [0, 1].map(|which| codes.scale(which, 7, column / BLOCK).to_f32());
                assert_eq!(scale * code + minimum, value, "matrix {number}, column {column}");
            }
        }
    }
}
