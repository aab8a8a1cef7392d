//! The longest run of consecutive accesses to one bank, without walking the loops.
//!
//! While DMA is active, a DMA beat must get every bank in time. The worst case that the chip bounds is a request in
//! each of the 32 slices of a DMN, one after another, each of two beats, each beat behind `N` accesses:
//!
//! ```text
//!   (256 / 128) beats * N accesses * 32 slices < 4096 cycles      →      N <= 63
//! ```
//!
//! An operation with a longer run holds the DMA context as well.
//!
//! A stretch of accesses is summed up by its length and its runs at the front, at the back and anywhere; two stretches
//! join in constant time. A loop of `n` turns joins by doubling, so a nest costs a few joins per bit of its sizes.

use super::nest::AccessNest;
use furiosa_visa_rules::spec::{DM_BANK_RUN_ACCESSES, DM_BANK_WORD_BYTES, DM_BANKS, DM_ROW_BYTES};

/// The longest run of consecutive accesses of a nest that take one bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankRun {
    /// The bank. Of several equally long runs, the first one, and of those the lowest bank.
    pub bank: usize,
    /// Consecutive accesses. 0 if the nest has none.
    pub accesses: u64,
    /// The step of the nest, counted from 0, with which the run begins.
    pub from_step: u64,
}

impl BankRun {
    /// Tells if an operation with this run has to hold the DMA context: 64 accesses or more.
    pub const fn holds_dma(&self) -> bool {
        self.accesses > DM_BANK_RUN_ACCESSES
    }
}

/// The runs of bank 0 in a stretch of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stretch {
    accesses: u64,
    front: u64,
    back: u64,
    longest: u64,
    /// Access with which the longest run begins.
    from: u64,
}

impl Stretch {
    /// Joins this stretch and the next one.
    fn then(&self, next: &Self) -> Self {
        let accesses = self.accesses + next.accesses;
        let joint = self.back + next.front;
        let (mut longest, mut from) = (self.longest, self.from);
        if joint > longest {
            (longest, from) = (joint, self.accesses - self.back);
        }
        if next.longest > longest {
            (longest, from) = (next.longest, self.accesses + next.from);
        }
        let front = if self.front == self.accesses { self.front + next.front } else { self.front };
        let back = if next.back == next.accesses { next.back + self.back } else { next.back };
        Self { accesses, front, back, longest, from }
    }
}

/// Stretches of bank 0 by their first address modulo 128. Bank `b` from address `a` looks like bank 0 from `a - 8b`.
type ByPhase = [Stretch; DM_ROW_BYTES];

/// Joins `first`, and `second` from `shift` bytes on.
fn join(first: &ByPhase, second: &ByPhase, shift: usize) -> ByPhase {
    let mut joined = [Stretch::default(); DM_ROW_BYTES];
    for (phase, stretch) in joined.iter_mut().enumerate() {
        *stretch = first[phase].then(&second[(phase + shift) % DM_ROW_BYTES]);
    }
    joined
}

/// The longest run of consecutive accesses (time steps) of `nest` that take one bank.
///
/// Exact for every nest. The time depends on the number of loops and the logarithm of their sizes.
pub fn longest_bank_run(nest: &AccessNest) -> BankRun {
    let mut run = BankRun::default();
    if nest.count() == 0 {
        return run;
    }
    let mut stretches: ByPhase = core::array::from_fn(|phase| {
        let hit = u64::from(nest.banks_at(phase) & 1);
        Stretch { accesses: 1, front: hit, back: hit, longest: hit, from: 0 }
    });
    for (size, stride) in nest.loops() {
        let (mut power, mut shift) = (stretches, stride);
        let (mut whole, mut end) = ([Stretch::default(); DM_ROW_BYTES], 0);
        let mut turns = size;
        loop {
            if turns % 2 == 1 {
                whole = join(&whole, &power, end);
                end = (end + shift) % DM_ROW_BYTES;
            }
            turns /= 2;
            if turns == 0 {
                break;
            }
            power = join(&power, &power, shift);
            shift = shift * 2 % DM_ROW_BYTES;
        }
        stretches = whole;
    }
    for bank in 0..DM_BANKS {
        let phase = (nest.phase() + DM_ROW_BYTES - bank * DM_BANK_WORD_BYTES) % DM_ROW_BYTES;
        let found = stretches[phase];
        if found.longest > run.accesses || found.longest == run.accesses && found.from < run.from_step {
            run = BankRun { bank, accesses: found.longest, from_step: found.from };
        }
    }
    run
}

#[cfg(test)]
mod tests {
    use super::super::address::footprint;
    use super::super::nest::tests::{addresses, entries, random_loops};
    use super::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    fn main(loops: &[(usize, isize)], base: usize, bytes: usize) -> BankRun {
        longest_bank_run(&AccessNest::main(&entries(loops), base, bytes).expect("inside of the slice"))
    }

    fn sub(loops: &[(usize, isize)], base: usize) -> BankRun {
        longest_bank_run(&AccessNest::sub(&entries(loops), base, 8).expect("inside of the slice"))
    }

    /// Longest run, counted step by step and bank by bank.
    fn brute(footprints: impl Iterator<Item = u16> + Clone) -> BankRun {
        let mut best = BankRun::default();
        for bank in 0..16 {
            let mut length = 0;
            for (step, banks) in footprints.clone().enumerate() {
                length = if banks >> bank & 1 == 1 { length + 1 } else { 0 };
                let from_step = (step as u64 + 1).saturating_sub(length);
                if length > best.accesses
                    || length == best.accesses && length > 0 && from_step < best.from_step
                {
                    best = BankRun { bank, accesses: length, from_step };
                }
            }
        }
        best
    }

    #[test]
    fn equal_to_every_step_of_random_nests() {
        let mut rng = SmallRng::seed_from_u64(70_701);
        for round in 0..2000 {
            let (loops, base) = (random_loops(&mut rng, 3000), rng.random_range(240_000..250_000));
            let bytes = [1, 2, 4, 8, 16, 24, 32, 64][rng.random_range(0..8)];
            let all = addresses(&loops, base);
            let place = format!("round {round} of seed 70701: {loops:?} at {base}, {bytes} bytes");
            let expected = brute(all.iter().map(|&address| footprint(address, bytes)));
            assert_eq!(main(&loops, base, bytes), expected, "{place}");
            let expected = brute(all.iter().map(|&address| footprint(address, 1)));
            assert_eq!(sub(&loops, base), expected, "{place}, sub");
        }
    }

    /// The limit comes from the constants, and 64 fails.
    #[test]
    fn sixty_three_pass_and_sixty_four_hold_the_dma_context() {
        assert_eq!(DM_BANK_RUN_ACCESSES, 63);
        assert_eq!(((256 / 128) * 63 * 32, (256 / 128) * 64 * 32), (4032, 4096));
        // An inner broadcast.
        let broadcast = |size| main(&[(100, 32), (size, 0)], 0, 32);
        assert_eq!(broadcast(63), BankRun { bank: 0, accesses: 63, from_step: 0 });
        assert_eq!((broadcast(63).holds_dma(), broadcast(64).holds_dma()), (false, true));
        // Strides of 128 bytes with accesses of 8 bytes.
        let column = |size| sub(&[(7, 8), (size, 128)], 24);
        assert_eq!(column(64), BankRun { bank: 3, accesses: 64, from_step: 0 });
        assert_eq!((column(63).holds_dma(), column(64).holds_dma()), (false, true));
    }

    #[test]
    fn runs_across_the_turns_of_a_loop() {
        // Addresses 0 40, 80 40, 0 40: the 40s do not touch, the 0s and 40s share no bank.
        assert_eq!(main(&[(2, 0), (2, 8), (1, 0)], 0, 8).accesses, 1);
        // 0 8 8 16, unaligned: bank 1 serves bytes 8 to 15 in all but the last.
        assert_eq!(main(&[(2, 8), (2, 8)], 0, 12), BankRun { bank: 1, accesses: 3, from_step: 0 });
        // A run that begins in one turn and ends in the next one.
        let run = main(&[(2, 64), (3, 32)], 0, 32);
        assert_eq!(run, BankRun { bank: 8, accesses: 2, from_step: 2 });
        assert_eq!(main(&[(0, 0)], 0, 32), BankRun::default());
        assert_eq!(main(&[], 24, 32), BankRun { bank: 3, accesses: 1, from_step: 0 });
    }

    /// Sequential streams use each bank every fourth cycle.
    #[test]
    fn sequential_streams_have_no_runs() {
        assert_eq!(main(&[(16_384, 32)], 0, 32).accesses, 1);
        assert_eq!(main(&[(65_536, 8)], 0, 8).accesses, 1);
        assert_eq!(main(&[(10_000, 32)], 4, 32).accesses, 2, "five banks, neighbours share one");
    }

    #[test]
    fn huge_nests() {
        let size = 65_536;
        let run = main(&[(size, 0), (size, 0), (2, 8), (size, 0)], 0, 8);
        assert_eq!(run, BankRun { bank: 0, accesses: 65_536, from_step: 0 });
        let run = main(&[(size, 0), (size, 0), (size, 0)], 8, 8);
        assert_eq!(run, BankRun { bank: 1, accesses: 1 << 48, from_step: 0 });
        // Turns of 5 x 8 bytes: the last address of a turn and the first of the next one differ.
        assert_eq!(main(&[(size, 0), (size, 0), (5, 8)], 0, 8).accesses, 1);
        assert_eq!(main(&[(size, 0), (size, 0), (17, 8)], 0, 8).accesses, 2, "bank 0 ends and begins a turn");
    }
}
