//! Weights of the network: those of a file, or random ones of the same shapes.

use crate::config::{GATE, HIDDEN, KEY_VALUE, VOCABULARY};
use crate::matrix::{BLOCK, BlockQ4_1, BlockQ8_0, Matrix, Storage};
use half::f16;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Weights of a layer. Shapes are those of [`Layer::SHAPES`].
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Factors of the norm in front of the attention, one for each hidden element.
    pub attn_norm: Vec<f32>,
    /// Projection to the queries; rotary pairs are neighbouring rows.
    pub q: Matrix,
    /// Projection to the keys; rotary pairs are neighbouring rows.
    pub k: Matrix,
    /// Projection to the values.
    pub v: Matrix,
    /// Projection of the attention's result.
    pub o: Matrix,
    /// Factors of the norm in front of the gate.
    pub ffn_norm: Vec<f32>,
    /// Projection whose SiLU is the gate.
    pub gate: Matrix,
    /// Projection that the gate multiplies.
    pub up: Matrix,
    /// Projection of the gated product.
    pub down: Matrix,
}

/// Weights of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// A row for each token: what the first layer gets, and what the last norm's result is multiplied with.
    pub embedding: Matrix,
    /// The layers, first to last. There may be fewer than the network has.
    pub layers: Vec<Layer>,
    /// Factors of the norm behind the last layer.
    pub output_norm: Vec<f32>,
}

impl Layer {
    /// Rows and columns of `q`, `k`, `v`, `o`, `gate`, `up`, `down`, in this order.
    pub const SHAPES: [(usize, usize); 7] = [
        (HIDDEN, HIDDEN),
        (KEY_VALUE, HIDDEN),
        (KEY_VALUE, HIDDEN),
        (HIDDEN, HIDDEN),
        (GATE, HIDDEN),
        (GATE, HIDDEN),
        (HIDDEN, GATE),
    ];
}

/// Root mean square of codes from 0 to 15 about their middle, 7.5.
const CODE_SPREAD: f32 = 4.6098;

impl Weights {
    /// Random weights with the types and shapes of a file's. Sums of products are as large as their inputs. What the layers
    /// add to a token's vector is near 1, ten times as large as its embedding, so that the next token depends on all of them.
    pub fn synthetic(layers: usize, seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let residual = (2.0 * layers.max(1) as f32).sqrt().recip();
        let layers = (0..layers).map(|_| synthetic_layer(&mut random, residual)).collect();
        let blocks = (0..VOCABULARY * HIDDEN / BLOCK).map(|_| {
            let scale = f16::from_f32(random.random_range(0.5..1.5) / 730.0);
            let mut bytes = [0; BLOCK];
            random.fill(&mut bytes);
            BlockQ8_0 { scale, codes: bytes.map(|byte| i8::from_le_bytes([byte]).max(-127)) }
        });
        let storage = Storage::Q8_0(blocks.collect());
        let embedding = Matrix { rows: VOCABULARY, columns: HIDDEN, storage };
        let output_norm = synthetic_norm(&mut random);
        Self { embedding, layers, output_norm }
    }
}

fn synthetic_layer(random: &mut SmallRng, residual: f32) -> Layer {
    let mut matrix = |at: usize, size: f32| {
        let (rows, columns) = Layer::SHAPES[at];
        synthetic_matrix(random, rows, columns, size)
    };
    let [q, k, v] = [0, 1, 2].map(|at| matrix(at, 1.0));
    // A mean over many tokens, or a gated product, is smaller than what it is made of.
    let o = matrix(3, 2.0 * residual);
    let [gate, up] = [4, 5].map(|at| matrix(at, 1.0));
    let down = matrix(6, 2.0 * residual);
    let [attn_norm, ffn_norm] = [(); 2].map(|()| synthetic_norm(random));
    Layer { attn_norm, q, k, v, o, ffn_norm, gate, up, down }
}

fn synthetic_norm(random: &mut SmallRng) -> Vec<f32> {
    (0..HIDDEN).map(|_| random.random_range(0.75..1.25)).collect()
}

/// A matrix whose products with a vector of elements near 1 are near `size`.
fn synthetic_matrix(random: &mut SmallRng, rows: usize, columns: usize, size: f32) -> Matrix {
    let mean = size / (columns as f32).sqrt() / CODE_SPREAD;
    let blocks = (0..rows * columns / BLOCK).map(|_| {
        let scale = mean * random.random_range(0.5..1.5);
        let mut codes = [0; BLOCK / 2];
        random.fill(&mut codes);
        BlockQ4_1 { scale: f16::from_f32(scale), minimum: f16::from_f32(-7.5 * scale), codes }
    });
    Matrix { rows, columns, storage: Storage::Q4_1(blocks.collect()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_network() {
        let [one, same, other] = [1, 1, 2].map(|seed| Weights::synthetic(1, seed));
        assert!(one == same && one != other);
    }

    #[test]
    fn random_products_are_as_large_as_their_inputs() {
        let weights = Weights::synthetic(2, 3);
        let layer = &weights.layers[1];
        for (matrix, (rows, columns)) in
            [&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down]
                .into_iter()
                .zip(Layer::SHAPES)
        {
            assert_eq!((matrix.rows, matrix.columns), (rows, columns));
            let squares: f32 = matrix.to_f32().iter().map(|value| value * value).sum();
            let spread = (squares / rows as f32).sqrt();
            assert!((0.9..1.2).contains(&spread), "{rows} by {columns}: {spread}");
        }
    }
}
