//! Interface between a text and the network that continues it: the chip's and the reference's networks are both a [`Model`].

/// The question about the token after the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// None: the last norm and the product over the vocabulary may be left out.
    Nothing,
    /// The token with the largest logit, the lowest of those that are equal.
    Token,
    /// All logits.
    Logits,
}

/// The answer to a [`Want`].
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Nothing was wanted, or no values are computed.
    Nothing,
    /// The token with the largest logit.
    Token(u32),
    /// A logit for each token of the vocabulary.
    Logits(Vec<f32>),
}

/// Work of the chip since the model was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Cycles of 1 GHz from the first command to the end of the last one, over all launches.
    pub cycles: u64,
    /// The least cycles that the same tokens can take: per launch, the larger of the bytes that it must read from HBM over the rate
    /// of HBM, and of its products over the rate of the multipliers.
    pub bound_cycles: u64,
}

impl std::ops::Sub for Work {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self { cycles: self.cycles - before.cycles, bound_cycles: self.bound_cycles - before.bound_cycles }
    }
}

/// A network with the keys and values of the tokens that it was given.
///
/// Tokens are below [`VOCABULARY`](crate::config::VOCABULARY), and calls give at most [`Model::capacity`] of them between two
/// calls of [`Model::clear`]: callers see to both, and a model panics otherwise.
pub trait Model {
    /// Number of tokens that it was given: the position of the next one.
    fn position(&self) -> usize;

    /// The most tokens that the cache holds.
    fn capacity(&self) -> usize;

    /// Appends at least one token, and answers for the token after the last one. Splits into calls
    /// differ in roundings alone.
    fn prefill(&mut self, tokens: &[u32], want: Want) -> Next;

    /// Appends one token. Differs from [`Model::prefill`] in time alone.
    fn decode(&mut self, token: u32, want: Want) -> Next;

    /// Appends tokens, and calls `each` with the logits after each of them, in their order. Without values, it is not called.
    fn score(&mut self, tokens: &[u32], each: &mut dyn FnMut(&[f32])) {
        for &token in tokens {
            if let Next::Logits(logits) = self.decode(token, Want::Logits) {
                each(&logits);
            }
        }
    }

    /// Forgets all tokens.
    fn clear(&mut self);

    /// Work since the model was made. A model on the host has none.
    fn work(&self) -> Option<Work>;

    /// Tables of the chip's cycles by layer, and by what layers do. A model on the host has none.
    fn parts(&self) -> String {
        String::new()
    }
}

/// The token with the largest logit, the lowest of those that are equal. A NaN is never chosen.
///
/// # Panics
///
/// If there is no logit.
pub fn largest(logits: &[f32]) -> u32 {
    assert!(!logits.is_empty(), "there are no logits to choose from");
    let mut best = 0;
    for (token, &logit) in logits.iter().enumerate() {
        if logit > logits[best] || logits[best].is_nan() {
            best = token;
        }
    }
    u32::try_from(best).expect("tokens have 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_logits_is_the_largest() {
        assert_eq!(largest(&[1.0, 3.0, -2.0, 3.0]), 1);
        assert_eq!(largest(&[f32::NAN, f32::NEG_INFINITY, f32::NAN]), 1);
        assert_eq!(largest(&[-0.0, 0.0]), 0);
    }
}
