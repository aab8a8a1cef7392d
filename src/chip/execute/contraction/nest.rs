//! Steps side by side: those that use the same weights and add to different results.
//!
//! A loop of the register file's sequencer with stride 0 uses the same weights again. Its iterations are *strands*
//! that can be summed together, so that a weight is loaded once for several of them:
//!
//! ```text
//!   for outer { for strand { for inner { step } } }     as the chip does it
//!   for strand { for outer { for inner { step } } }     the same sums, if strands have results of their own
//! ```

use super::job::Step;
use crate::sequencer::Config;

/// Loops over steps. The number of a step is `(outer * strands + strand) * inner + number in the strand`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nest {
    /// Iterations of what is around the strands.
    pub(super) outer: usize,
    /// Iterations with the same weights.
    pub(super) strands: usize,
    /// Steps of a strand per outer iteration.
    pub(super) inner: usize,
    /// The results of a strand, counted from its first step's.
    pub(super) results: Vec<u32>,
    /// Per step of a strand, which of them it adds to.
    pub(super) places: Vec<u32>,
}

impl Nest {
    /// The outermost loop of `config` of at least `least` iterations that can be done side by side. There are `slots`
    /// results.
    pub(super) fn new(config: &Config, steps: &[Step], slots: usize, least: usize) -> Option<Self> {
        let (mut outer, mut inner) = (1, config.positions());
        if inner != steps.len() {
            return None;
        }
        for entry in &config.entries {
            inner /= entry.size;
            if entry.stride == 0 && entry.size >= least.max(2) {
                let (results, places) = (Vec::new(), Vec::new());
                let nest = Self { outer, strands: entry.size, inner, results, places };
                if nest.is_parallel(steps, slots) {
                    return Some(nest.with_places(steps));
                }
            }
            outer *= entry.size;
        }
        None
    }

    /// Steps of a strand.
    fn strand<'a>(&self, steps: &'a [Step], strand: usize) -> impl Iterator<Item = &'a Step> + use<'a> {
        let (inner, strands) = (self.inner, self.strands);
        (0..self.outer).flat_map(move |outer| &steps[(outer * strands + strand) * inner..][..inner])
    }

    /// Whether strands do the same with results of their own.
    fn is_parallel(&self, steps: &[Step], slots: usize) -> bool {
        let mut owners = vec![usize::MAX; slots];
        (0..self.strands).all(|strand| {
            let first = self.strand(steps, 0).zip(self.strand(steps, strand));
            first.into_iter().all(|(model, step)| {
                let owner = core::mem::replace(&mut owners[step.result as usize], strand);
                let same = i64::from(step.result) - i64::from(model.result)
                    == i64::from(steps[strand * self.inner].result) - i64::from(steps[0].result);
                (owner == usize::MAX || owner == strand) && same && model.result >= steps[0].result
            })
        })
    }

    fn with_places(mut self, steps: &[Step]) -> Self {
        let offsets: Vec<u32> = self.strand(steps, 0).map(|step| step.result - steps[0].result).collect();
        self.results = offsets.clone();
        self.results.sort_unstable();
        self.results.dedup();
        let place = |offset| self.results.partition_point(|&result| result < offset) as u32;
        self.places = offsets.into_iter().map(place).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequencer::walk::Walk;
    use crate::sequencer::walk::tests::config;

    fn nest(weights: &[(usize, isize)], slots: &[(usize, isize)]) -> Option<Nest> {
        let (weights, slots) = (config(weights, 8), config(slots, 1));
        let results = Walk::new(&slots).positions(0..slots.positions(), 1);
        let steps: Vec<Step> =
            results.iter().map(|&result| Step { tile: 0, result: result as u32, packet: 0 }).collect();
        Nest::new(&weights, &steps, 1000, 3)
    }

    #[test]
    fn strands_have_results_of_their_own() {
        let found = |outer, strands, inner, results: &[u32], places: &[u32]| {
            Some(Nest { outer, strands, inner, results: results.to_vec(), places: places.to_vec() })
        };
        // Rows of a matrix, the sum innermost.
        assert_eq!(nest(&[(6, 0), (4, 64)], &[(6, 1), (4, 0)]), found(1, 6, 4, &[0], &[0; 4]));
        // The sum outermost.
        assert_eq!(nest(&[(4, 64), (6, 0)], &[(4, 0), (6, 1)]), found(4, 6, 1, &[0], &[0; 4]));
        // The repeated loop is summed.
        assert_eq!(nest(&[(6, 0), (4, 64)], &[(6, 0), (4, 1)]), None);
        // The outer one is summed, the inner one is not.
        let four = found(10, 3, 1, &[0, 3], &[0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(nest(&[(5, 0), (2, 64), (3, 0)], &[(5, 0), (2, 3), (3, 1)]), four);
        // Results with others between them.
        let apart = found(1, 3, 4, &[0, 5], &[0, 0, 1, 1]);
        assert_eq!(nest(&[(3, 0), (2, 8), (2, 16)], &[(3, 1), (2, 5), (2, 0)]), apart);
        // Too few of them, and loops that do not match the steps.
        assert_eq!(nest(&[(2, 0), (3, 8)], &[(2, 3), (3, 1)]), None);
        assert_eq!(nest(&[(4, 0), (3, 8)], &[(3, 1)]), None);
    }
}
