//! Time of chips and links in a row.

/// Stages, each of which hands what it made to the next one: chips, and links between them. While a stage works on something, those
/// before it work on what follows:
///
/// ```text
///   chip 0   ├─ a ─┼─ b ─┼─ c ─┤
///   link           ├ a ┤ ├ b ┤ ├ c ┤
///   chip 1             ├─ a ─┼─ b ─┼─ c ─┤
/// ```
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The cycle from which each stage is free.
    free: Vec<u64>,
}

impl Pipeline {
    /// Stages that have done nothing.
    pub fn new(stages: usize) -> Self {
        Self { free: vec![0; stages] }
    }

    /// Passes something that is known from cycle `ready` on through all stages, each of which takes its `cycles`. Returns the end of
    /// the last one.
    pub fn pass(&mut self, ready: u64, cycles: &[u64]) -> u64 {
        assert_eq!(cycles.len(), self.free.len(), "a number of cycles for each stage");
        self.free.iter_mut().zip(cycles).fold(ready, |ready, (free, cycles)| {
            *free = ready.max(*free) + cycles;
            *free
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Pipeline;

    #[test]
    fn a_stage_takes_what_follows_as_soon_as_both_are_ready() {
        let mut stages = Pipeline::new(2);
        // The second stage waits for the first one, and then the first one is ahead of it.
        assert_eq!(stages.pass(0, &[10, 20]), 30);
        assert_eq!(stages.pass(0, &[10, 20]), 50);
        assert_eq!(stages.pass(0, &[10, 20]), 70);
        // What is known only behind the last end runs alone.
        assert_eq!(stages.pass(70, &[10, 20]), 100);
        // The first stage is the slower one.
        assert_eq!(stages.pass(100, &[30, 5]), 135);
        assert_eq!(stages.pass(100, &[30, 5]), 165);
    }

    #[test]
    fn a_single_stage_does_one_thing_behind_the_other() {
        let mut stages = Pipeline::new(1);
        assert_eq!([stages.pass(0, &[7]), stages.pass(0, &[5]), stages.pass(12, &[1])], [7, 12, 13]);
    }
}
