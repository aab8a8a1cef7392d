//! The network in f32 on the host, as its formulas say: what the chip is compared with.

use crate::config::{CONTEXT, EPSILON, HEAD, HEADS, HIDDEN, KEY_VALUE_HEADS, ROTARY_BASE};
use crate::matrix::Matrix;
use crate::model::{Model, Next, Want, Work, largest};
use crate::weights::{Layer, Weights};
use rayon::prelude::*;

/// Logits that are held at once, of one token each.
const SCORED_AT_ONCE: usize = 32;

/// The network with the keys and values of its tokens.
#[derive(Debug)]
pub struct Reference<'a> {
    weights: &'a Weights,
    cache: Vec<Cache>,
    position: usize,
}

/// Keys and values of a layer: a vector of all heads for each token.
#[derive(Clone, Debug, Default)]
struct Cache {
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
}

impl<'a> Reference<'a> {
    /// A network without tokens.
    pub fn new(weights: &'a Weights) -> Self {
        Self { weights, cache: vec![Cache::default(); weights.layers.len()], position: 0 }
    }

    /// Appends tokens, and returns for each of them what the last norm gets.
    ///
    /// # Panics
    ///
    /// If there are more tokens than the network was trained for.
    fn append(&mut self, tokens: &[u32]) -> Vec<Vec<f32>> {
        let end = self.position + tokens.len();
        assert!(end <= CONTEXT, "{end} tokens; there is room for {CONTEXT}");
        let mut hidden: Vec<Vec<f32>> =
            tokens.iter().map(|token| self.weights.embedding.row(*token as usize)).collect();
        for (layer, cache) in self.weights.layers.iter().zip(&mut self.cache) {
            attend(layer, cache, self.position, &mut hidden);
            feed_forward(layer, &mut hidden);
        }
        self.position = end;
        hidden
    }

    fn logits(&self, hidden: &[Vec<f32>]) -> Vec<Vec<f32>> {
        product(&self.weights.embedding, &norms(hidden, &self.weights.output_norm))
    }

    fn answer(&self, hidden: &[Vec<f32>], want: Want) -> Next {
        let last = &hidden[hidden.len() - 1..];
        match want {
            Want::Nothing => Next::Nothing,
            Want::Token => Next::Token(largest(&self.logits(last)[0])),
            Want::Logits => Next::Logits(self.logits(last).swap_remove(0)),
        }
    }
}

impl Model for Reference<'_> {
    fn position(&self) -> usize {
        self.position
    }

    fn capacity(&self) -> usize {
        CONTEXT
    }

    fn prefill(&mut self, tokens: &[u32], want: Want) -> Next {
        assert!(!tokens.is_empty(), "there is no token to append");
        let hidden = self.append(tokens);
        self.answer(&hidden, want)
    }

    fn decode(&mut self, token: u32, want: Want) -> Next {
        self.prefill(&[token], want)
    }

    fn score(&mut self, tokens: &[u32], each: &mut dyn FnMut(&[f32])) {
        for tokens in tokens.chunks(SCORED_AT_ONCE) {
            let hidden = self.append(tokens);
            self.logits(&hidden).iter().for_each(|logits| each(logits));
        }
    }

    fn clear(&mut self) {
        self.cache.fill(Cache::default());
        self.position = 0;
    }

    fn work(&self) -> Option<Work> {
        None
    }
}

/// Adds the attention of a layer. `position` is that of the first token.
fn attend(layer: &Layer, cache: &mut Cache, position: usize, hidden: &mut [Vec<f32>]) {
    let inputs = norms(hidden, &layer.attn_norm);
    let (mut queries, mut keys) = (product(&layer.q, &inputs), product(&layer.k, &inputs));
    for vectors in [&mut queries, &mut keys] {
        vectors.iter_mut().zip(position..).for_each(|(vector, position)| rotate(vector, position));
    }
    cache.keys.extend(keys);
    cache.values.extend(product(&layer.v, &inputs));
    let results: Vec<Vec<f32>> = queries
        .par_iter()
        .enumerate()
        .map(|(token, query)| {
            // A token sees itself and those before it.
            let seen = position + token + 1;
            (0..HEADS)
                .flat_map(|head| attention(query, &cache.keys[..seen], &cache.values[..seen], head))
                .collect()
        })
        .collect();
    add(hidden, &product(&layer.o, &results));
}

/// The result of a head for one token.
fn attention(query: &[f32], keys: &[Vec<f32>], values: &[Vec<f32>], head: usize) -> [f32; HEAD] {
    let query = &query[head * HEAD..][..HEAD];
    let shared = head / (HEADS / KEY_VALUE_HEADS) * HEAD..;
    let scale = (HEAD as f32).sqrt();
    let scores: Vec<f32> = keys.iter().map(|key| dot(query, &key[shared.clone()][..HEAD]) / scale).collect();
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
    let sum: f32 = powers.iter().sum();
    let mut result = [0.0; HEAD];
    for (power, value) in powers.iter().zip(values) {
        for (result, value) in result.iter_mut().zip(&value[shared.clone()]) {
            *result += power / sum * value;
        }
    }
    result
}

/// Adds the gated product of a layer.
fn feed_forward(layer: &Layer, hidden: &mut [Vec<f32>]) {
    let inputs = norms(hidden, &layer.ffn_norm);
    let (mut gates, ups) = (product(&layer.gate, &inputs), product(&layer.up, &inputs));
    for (gate, up) in gates.iter_mut().flatten().zip(ups.iter().flatten()) {
        *gate = *gate / (1.0 + (-*gate).exp()) * up;
    }
    add(hidden, &product(&layer.down, &gates));
}

/// Turns each pair of each head by an angle that grows with the position.
fn rotate(vector: &mut [f32], position: usize) {
    for (pair, elements) in vector.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let exponent = (2 * pair % HEAD) as f64 / HEAD as f64;
        let (sine, cosine) = (position as f64 / f64::from(ROTARY_BASE).powf(exponent)).sin_cos();
        let (sine, cosine) = (sine as f32, cosine as f32);
        let [even, odd] = *elements;
        *elements = [even * cosine - odd * sine, even * sine + odd * cosine];
    }
}

/// Vectors over their root mean square, times factors.
fn norms(vectors: &[Vec<f32>], factors: &[f32]) -> Vec<Vec<f32>> {
    let norm = |vector: &Vec<f32>| {
        let mean = dot(vector, vector) / HIDDEN as f32;
        let root = (mean + EPSILON).sqrt();
        vector.iter().zip(factors).map(|(value, factor)| value / root * factor).collect()
    };
    vectors.iter().map(norm).collect()
}

/// The product of a matrix with each of the vectors.
fn product(matrix: &Matrix, vectors: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let columns: Vec<Vec<f32>> = (0..matrix.rows)
        .into_par_iter()
        .map_init(
            || vec![0.0; matrix.columns],
            |values, row| {
                matrix.read_row(row, values);
                vectors.iter().map(|vector| dot(values, vector)).collect()
            },
        )
        .collect();
    (0..vectors.len()).map(|vector| columns.iter().map(|column| column[vector]).collect()).collect()
}

/// The sum of products of two vectors of a multiple of 8 elements, as 8 sums that a processor adds to at once.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let pairs = left.as_chunks::<8>().0.iter().zip(right.as_chunks::<8>().0);
    pairs.for_each(|(left, right)| sums = std::array::from_fn(|lane| sums[lane] + left[lane] * right[lane]));
    sums.iter().sum()
}

fn add(hidden: &mut [Vec<f32>], results: &[Vec<f32>]) {
    for (hidden, result) in hidden.iter_mut().flatten().zip(results.iter().flatten()) {
        *hidden += result;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{GATE, KEY_VALUE, VOCABULARY};

    /// Logits are compared at each of so many tokens.
    const STEP: usize = 61;

    fn rows(matrix: &Matrix) -> Vec<Vec<f64>> {
        let values = matrix.to_f32();
        values
            .chunks_exact(matrix.columns)
            .map(|row| row.iter().map(|value| f64::from(*value)).collect())
            .collect()
    }

    fn times(matrix: &[Vec<f64>], vector: &[f64]) -> Vec<f64> {
        matrix.iter().map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum()).collect()
    }

    fn norm(vector: &[f64], factors: &[f32]) -> Vec<f64> {
        let squares: f64 = vector.iter().map(|value| value * value).sum();
        let scale = 1.0 / (squares / HIDDEN as f64 + 1e-5).sqrt();
        (0..HIDDEN).map(|i| f64::from(factors[i]) * scale * vector[i]).collect()
    }

    /// Some logits after the last token, in f64 and without a cache: rotary pairs as complex numbers, and the softmax over all
    /// tokens, with those behind a token at minus infinity.
    fn naive(weights: &Weights, tokens: &[u32]) -> Vec<f64> {
        let count = tokens.len();
        let embedding =
            |token: &u32| weights.embedding.row(*token as usize).into_iter().map(f64::from).collect();
        let mut hidden: Vec<Vec<f64>> = tokens.iter().map(embedding).collect();
        for layer in &weights.layers {
            let [q, k, v, o, gate, up, down] =
                [&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down].map(rows);
            let inputs: Vec<_> = hidden.iter().map(|x| norm(x, &layer.attn_norm)).collect();
            let turned = |matrix: &[Vec<f64>], at: usize| -> Vec<f64> {
                let flat = times(matrix, &inputs[at]);
                let mut all = Vec::new();
                for head in flat.chunks(64) {
                    for pair in 0..32 {
                        let angle = at as f64 * (-(pair as f64) / 32.0 * 100_000_f64.ln()).exp();
                        let (re, im) = (head[2 * pair], head[2 * pair + 1]);
                        all.extend([
                            re * angle.cos() - im * angle.sin(),
                            re * angle.sin() + im * angle.cos(),
                        ]);
                    }
                }
                all
            };
            let queries: Vec<_> = (0..count).map(|at| turned(&q, at)).collect();
            let keys: Vec<_> = (0..count).map(|at| turned(&k, at)).collect();
            let values: Vec<_> = inputs.iter().map(|x| times(&v, x)).collect();
            for at in 0..count {
                let mut mixed = vec![0.0; 576];
                for head in 0..9 {
                    let shared = head / 3;
                    let score = |other: usize| -> f64 {
                        if other > at {
                            return f64::NEG_INFINITY;
                        }
                        (0..64)
                            .map(|i| queries[at][head * 64 + i] * keys[other][shared * 64 + i])
                            .sum::<f64>()
                            * 0.125
                    };
                    let powers: Vec<f64> = (0..count).map(|other| score(other).exp()).collect();
                    let total: f64 = powers.iter().sum();
                    for (i, mixed) in mixed[head * 64..][..64].iter_mut().enumerate() {
                        *mixed = (0..count)
                            .map(|other| powers[other] * values[other][shared * 64 + i])
                            .sum::<f64>()
                            / total;
                    }
                }
                let result = times(&o, &mixed);
                (0..HIDDEN).for_each(|i| hidden[at][i] += result[i]);
            }
            for x in &mut hidden {
                let input = norm(x, &layer.ffn_norm);
                let (gates, ups) = (times(&gate, &input), times(&up, &input));
                let gated: Vec<f64> =
                    (0..GATE).map(|i| gates[i] * ups[i] * (0.5 + 0.5 * (gates[i] / 2.0).tanh())).collect();
                let result = times(&down, &gated);
                (0..HIDDEN).for_each(|i| x[i] += result[i]);
            }
        }
        let last = norm(hidden.last().unwrap(), &weights.output_norm);
        let logit = |token: usize| {
            weights.embedding.row(token).iter().zip(&last).map(|(a, b)| f64::from(*a) * b).sum()
        };
        (0..VOCABULARY).step_by(STEP).map(logit).collect()
    }

    #[test]
    fn logits_are_those_of_the_formulas_whatever_the_split() {
        let weights = Weights::synthetic(2, 7);
        let tokens = [5, 49_151, 5];
        let expected = naive(&weights, &tokens);
        let mut model = Reference::new(&weights);
        assert_eq!(model.prefill(&tokens[..2], Want::Nothing), Next::Nothing);
        let Next::Logits(logits) = model.decode(tokens[2], Want::Logits) else {
            panic!("logits were asked for")
        };
        assert_eq!((model.position(), logits.len()), (3, VOCABULARY));
        let spread = expected.iter().map(|logit| logit.abs()).fold(0.0, f64::max);
        assert!((5.0..20.0).contains(&spread), "{spread}");
        for (token, (logit, expected)) in logits.iter().step_by(STEP).zip(&expected).enumerate() {
            let apart = (f64::from(*logit) - expected).abs();
            assert!(apart < 1e-4 * spread, "token {}: {logit} in the place of {expected}", token * STEP);
        }
        // After `clear`, all tokens at once, and each of them scored.
        model.clear();
        assert_eq!(model.position(), 0);
        assert_eq!(model.prefill(&tokens, Want::Token), Next::Token(largest(&logits)));
        model.clear();
        let mut all = Vec::new();
        model.score(&tokens, &mut |logits| all.push(logits.to_vec()));
        assert_eq!((all.len(), model.position()), (3, 3));
        assert!(
            all[2].iter().zip(&logits).all(|(scored, logit)| (scored - logit).abs() < 1e-4 * spread as f32)
        );
        assert!(all[0] != all[2], "the same token at another position");
    }

    #[test]
    fn pairs_turn_by_their_own_angle() {
        let mut vector = vec![0.0; KEY_VALUE];
        [vector[0], vector[3], vector[64 + 62]] = [1.0, 1.0, 2.0];
        rotate(&mut vector, 1);
        let near = |at: usize, value: f64| {
            assert!((f64::from(vector[at]) - value).abs() < 1e-6, "{at}: {}", vector[at])
        };
        let slow = 1e5_f64.powf(-2.0 / 64.0);
        let slowest = 1e5_f64.powf(-62.0 / 64.0);
        for (at, value) in [
            (0, 1_f64.cos()),
            (1, 1_f64.sin()),
            (2, -slow.sin()),
            (3, slow.cos()),
            (64 + 62, 2.0 * slowest.cos()),
            (64 + 63, 2.0 * slowest.sin()),
            (64, 0.0),
        ] {
            near(at, value);
        }
    }
}
