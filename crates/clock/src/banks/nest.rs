//! Accesses of a sequencer to the data memory: one per step of its loops.
//!
//! Only the banks matter here, and they repeat every 128 bytes. So a nest is kept modulo 128, where loops that continue
//! each other merge: the 16384 accesses of `[64 : 4096, 2 : 0, 128 : 32]` are one loop of 32 bytes.

use super::address::{BankMask, footprint};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::list::List;
use furiosa_visa_rules::sequencer::{DERIVED_ENTRIES, Entry};
use furiosa_visa_rules::spec::{DM_BYTES, DM_ROW_BYTES, DUAL_CHANNEL_ACCESS_BYTES, SUB_FETCH_BYTES};
use furiosa_visa_rules::text::Text;

const ROW: u64 = DM_ROW_BYTES as u64;

/// A loop, with its stride modulo 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loop {
    size: u64,
    stride: usize,
    /// Accesses of one turn: the product of the sizes inside.
    accesses: u64,
    /// Bytes that a turn adds to the address after the loops inside have ended, modulo 128.
    carry: usize,
}

/// A stream of accesses to the data memory, one per step of nested loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessNest {
    /// Loops, innermost first.
    loops: List<Loop, DERIVED_ENTRIES>,
    count: u64,
    /// The first address modulo 128.
    phase: usize,
    /// The banks of an access by its address modulo 128.
    banks: [BankMask; DM_ROW_BYTES],
}

/// No accesses.
pub(super) static NOTHING: AccessNest = AccessNest {
    loops: List::new(Loop { size: 1, stride: 0, accesses: 1, carry: 0 }),
    count: 0,
    phase: 0,
    banks: [0; DM_ROW_BYTES],
};

impl AccessNest {
    /// Accesses of the main context: `access_bytes` bytes at `base` plus the position of the loops, outermost first,
    /// with strides in bytes. An access takes the banks of all of its bytes.
    ///
    /// # Errors
    ///
    /// An access of 0 or more than 64 bytes; addresses outside the slice; more loops than a derivation makes; more
    /// accesses than can be counted.
    pub fn main(entries: &[Entry], base: usize, access_bytes: usize) -> Result<Self, PlanError> {
        Self::new(entries, base, access_bytes, DUAL_CHANNEL_ACCESS_BYTES, access_bytes)
    }

    /// Accesses of the sub context, as [`Self::main`]. An access takes one bank, that of its address.
    ///
    /// # Errors
    ///
    /// Those of [`Self::main`], with at most 8 bytes per access.
    pub fn sub(entries: &[Entry], base: usize, access_bytes: usize) -> Result<Self, PlanError> {
        Self::new(entries, base, access_bytes, SUB_FETCH_BYTES, 1)
    }

    fn new(
        entries: &[Entry],
        base: usize,
        access_bytes: usize,
        most_bytes: usize,
        footprint_bytes: usize,
    ) -> Result<Self, PlanError> {
        if access_bytes == 0 || access_bytes > most_bytes {
            let text = Text::new().str("data memory: an access of ").count(access_bytes, "byte");
            let text = text.str(", but accesses have 1 to ").number(most_bytes);
            return Err(PlanError::new("DM access", text.str(" bytes; help: use more and smaller accesses")));
        }
        if entries.len() > DERIVED_ENTRIES {
            let text = Text::new().str("data memory: ").number(entries.len()).str(" loops, but at most ");
            let text = text.number(DERIVED_ENTRIES).str(" are followed; help: merge loops");
            return Err(PlanError::new("DM loops", text));
        }
        let count = entries.iter().try_fold(1u64, |count, entry| count.checked_mul(entry.size as u64));
        let Some(count) = count else {
            let text = Text::new().str("data memory: more than ").number(usize::MAX);
            return Err(PlanError::new("DM accesses", text.str(" accesses; help: use fewer iterations")));
        };
        let mut nest = Self {
            count,
            phase: base % DM_ROW_BYTES,
            banks: core::array::from_fn(|phase| footprint(phase, footprint_bytes)),
            ..NOTHING.clone()
        };
        if count == 0 {
            return Ok(nest);
        }
        let (mut lowest, mut highest) = (base as i128, base as i128 + access_bytes as i128);
        for entry in entries {
            let reach = (entry.size as i128 - 1) * entry.stride as i128;
            if reach < 0 { lowest += reach } else { highest += reach }
        }
        if lowest < 0 || highest > DM_BYTES as i128 {
            let text = Text::new().str("data memory: the sequencer leaves the ").number(DM_BYTES);
            let text = text.str(" bytes of a slice; help: use a smaller base or smaller strides");
            return Err(PlanError::new("DM addresses", text));
        }
        for entry in entries.iter().rev().filter(|entry| entry.size > 1) {
            nest.surround(entry.size as u64, entry.stride.rem_euclid(DM_ROW_BYTES as isize).unsigned_abs());
        }
        Ok(nest)
    }

    /// Puts a loop around the loops so far.
    fn surround(&mut self, size: u64, stride: usize) {
        let accesses = match self.loops.last() {
            Some(inner) if inner.size % ROW * inner.stride as u64 % ROW == stride as u64 => {
                let merged = Loop { size: inner.size * size, ..inner };
                return self.loops.set(self.loops.len() - 1, merged);
            }
            Some(inner) => inner.accesses * inner.size,
            None => 1,
        };
        let ended: u64 = self.loops.iter().map(|inner| (inner.size - 1) % ROW * inner.stride as u64).sum();
        let carry = (stride as u64 + ROW - ended % ROW) % ROW;
        self.loops.push(Loop { size, stride, accesses, carry: carry as usize });
    }

    /// The number of accesses.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The first address modulo 128.
    pub(super) const fn phase(&self) -> usize {
        self.phase
    }

    /// The banks of an access at an address, given modulo 128.
    pub(super) const fn banks_at(&self, phase: usize) -> BankMask {
        self.banks[phase % DM_ROW_BYTES]
    }

    /// The loops modulo 128, innermost first: turns and stride.
    pub(super) fn loops(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.loops.iter().map(|turn| (turn.size, turn.stride))
    }

    /// Number of accesses from step `to` on that certainly take the banks of the accesses from step `from` on. Step `to`
    /// takes the banks of step `from`, and `from < to < count`.
    ///
    /// Inside one loop, a shift by whole turns that is a multiple of 128 bytes changes no bank until the loop ends.
    pub(super) fn repeats(&self, from: u64, to: u64) -> u64 {
        for k in (0..self.loops.len()).rev() {
            let turn = self.loops.get(k);
            let whole = turn.accesses * turn.size;
            let same_loop = from / whole == to / whole;
            let (turns, rest) = ((to - from) / turn.accesses, (to - from) % turn.accesses);
            let shift = turns % ROW * turn.stride as u64;
            if same_loop && rest == 0 && shift.is_multiple_of(ROW) {
                return whole - to % whole;
            }
        }
        0
    }
}

/// A position in a nest.
#[derive(Clone, Debug)]
pub(super) struct Steps<'a> {
    nest: &'a AccessNest,
    position: u64,
    phase: usize,
    turns: [u64; DERIVED_ENTRIES],
}

impl<'a> Steps<'a> {
    /// Position of the first access.
    pub(super) const fn new(nest: &'a AccessNest) -> Self {
        Self { nest, position: 0, phase: nest.phase, turns: [0; DERIVED_ENTRIES] }
    }

    /// Number of accesses that are done.
    #[inline]
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Number of accesses that are left.
    #[inline]
    pub(super) const fn left(&self) -> u64 {
        self.nest.count - self.position
    }

    /// Number of accesses from here on that certainly repeat those since step `from`, less one: see
    /// [`AccessNest::repeats`]. The last access is left out, because it may be asked for and refused.
    pub(super) fn repeats(&self, from: u64) -> u64 {
        if self.finished() { 0 } else { self.nest.repeats(from, self.position).saturating_sub(1) }
    }

    /// The address of the next access modulo 128.
    #[inline]
    pub(super) const fn phase(&self) -> usize {
        self.phase
    }

    #[inline]
    pub(super) const fn finished(&self) -> bool {
        self.position >= self.nest.count
    }

    /// The banks of the next access.
    #[inline]
    pub(super) const fn banks(&self) -> BankMask {
        self.nest.banks_at(self.phase)
    }

    /// Passes the next access.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.position += 1;
        for (turn, done) in self.nest.loops.iter().zip(&mut self.turns) {
            *done += 1;
            if *done < turn.size {
                self.phase = (self.phase + turn.carry) % DM_ROW_BYTES;
                return;
            }
            *done = 0;
        }
    }

    /// Passes the next `accesses` accesses.
    pub(super) fn skip(&mut self, accesses: u64) {
        self.position += accesses;
        self.phase = self.nest.phase;
        for (turn, done) in self.nest.loops.iter().zip(&mut self.turns) {
            *done = self.position / turn.accesses % turn.size;
            self.phase += (*done % ROW) as usize * turn.stride;
        }
        self.phase %= DM_ROW_BYTES;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    pub(crate) fn entries(loops: &[(usize, isize)]) -> Vec<Entry> {
        loops.iter().map(|&(size, stride)| Entry { size, stride }).collect()
    }

    /// All addresses of loops, outermost first, by nested iteration.
    pub(crate) fn addresses(loops: &[(usize, isize)], base: usize) -> Vec<usize> {
        loops
            .iter()
            .rfold(vec![base as isize], |inner, &(size, stride)| {
                (0..size as isize).flat_map(|turn| inner.iter().map(move |at| at + turn * stride)).collect()
            })
            .into_iter()
            .map(|at| usize::try_from(at).expect("inside of the slice"))
            .collect()
    }

    /// Loops that stay inside a slice, with up to `most` accesses.
    pub(crate) fn random_loops(rng: &mut SmallRng, most: usize) -> Vec<(usize, isize)> {
        let mut left = most;
        let grain = [1, 4, 8, 8, 8, 32, 128][rng.random_range(0..7)];
        (0..rng.random_range(0..5))
            .map(|_| {
                let size = rng.random_range(1..=left.clamp(1, 24));
                left /= size;
                (size, (rng.random_range(-2048i32..=2048) / grain * grain) as isize)
            })
            .collect()
    }

    #[test]
    fn steps_visit_the_banks_of_every_address() {
        let mut rng = SmallRng::seed_from_u64(70_601);
        for round in 0..500 {
            let (loops, base) = (random_loops(&mut rng, 2000), rng.random_range(240_000..250_000));
            let bytes = rng.random_range(1..=32);
            let nest = AccessNest::main(&entries(&loops), base, bytes).expect("inside of the slice");
            let expected = addresses(&loops, base);
            assert_eq!(nest.count(), expected.len() as u64);
            let mut steps = Steps::new(&nest);
            for (k, &address) in expected.iter().enumerate() {
                let place = format!("round {round} of seed 70601: step {k} of {loops:?} at {base}");
                assert_eq!((steps.phase(), steps.finished()), (address % 128, false), "{place}");
                assert_eq!(steps.banks(), footprint(address, bytes), "{place}");
                steps.advance();
            }
            assert!(steps.finished());
            let (at, mut jumped) = (rng.random_range(0..expected.len()), Steps::new(&nest));
            jumped.skip(at as u64 / 2);
            jumped.skip(at as u64 - at as u64 / 2);
            for &address in &expected[at..] {
                assert_eq!(jumped.phase(), address % 128, "round {round}, from {at}: {loops:?}");
                jumped.advance();
            }
        }
    }

    /// The promises of `repeats` hold, and in one loop they cover all accesses that are left.
    #[test]
    fn repeats_are_repeats() {
        let mut rng = SmallRng::seed_from_u64(70_602);
        let mut promised = 0;
        for round in 0..20_000 {
            let (loops, base) = (random_loops(&mut rng, 400), 250_000);
            let all = addresses(&loops, base);
            let nest = AccessNest::main(&entries(&loops), base, 8).expect("inside of the slice");
            let (a, b) = (rng.random_range(0..all.len()), rng.random_range(0..all.len()));
            let (from, to) = (a.min(b), a.max(b));
            if from == to || all[from] % 128 != all[to] % 128 {
                continue;
            }
            let repeats = nest.repeats(from as u64, to as u64) as usize;
            promised += repeats;
            for k in 0..repeats {
                assert_eq!(all[from + k] % 128, all[to + k] % 128, "round {round}: {loops:?}, {from} {to}");
            }
        }
        assert!(promised > 10_000, "the promise is worth something: {promised}");
        let nest = AccessNest::main(&entries(&[(64, 4096), (2, 0), (128, 32)]), 0, 32).expect("inside");
        assert_eq!((nest.loops().collect::<Vec<_>>(), nest.repeats(1, 5)), (vec![(16_384, 32)], 16_379));
    }

    #[test]
    fn accesses_stay_inside_of_the_slice() {
        let main = |loops: &[(usize, isize)], base, bytes| AccessNest::main(&entries(loops), base, bytes);
        let sub = |loops: &[(usize, isize)], base, bytes| AccessNest::sub(&entries(loops), base, bytes);
        assert!(main(&[(16_384, 32)], 0, 32).is_ok());
        assert!(main(&[(2, -32)], 32, 64).is_ok());
        assert!(sub(&[(65_536, 8)], 0, 8).is_ok());
        assert_eq!(main(&[(0, 1 << 40)], 0, 8).map(|nest| nest.count()), Ok(0));
        assert!(main(&[(1, 0); 24], 0, 8).is_ok());
        let refused = [
            (main(&[(16_385, 32)], 0, 32), "leaves the 524288 bytes of a slice; help: use a smaller base"),
            (main(&[(2, -32)], 31, 32), "leaves the 524288 bytes"),
            (main(&[], 0, 65), "an access of 65 bytes, but accesses have 1 to 64 bytes; help: use more"),
            (main(&[], 0, 0), "an access of 0 bytes"),
            (sub(&[], 0, 9), "an access of 9 bytes, but accesses have 1 to 8 bytes"),
            (main(&[(1, 0); 25], 0, 8), "25 loops, but at most 24 are followed; help: merge loops"),
            (main(&[(1 << 40, 0), (1 << 40, 0)], 0, 8), "more than 18446744073709551615 accesses; help: use"),
        ];
        for (result, part) in refused {
            let error = result.expect_err(part);
            assert!(error.message().contains(part) && error.message().contains("; help: "), "{error}");
        }
    }
}
