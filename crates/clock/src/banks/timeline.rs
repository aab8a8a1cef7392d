//! Banks that the Tensor Unit took in each cycle. All slices work in lockstep, so one timeline stands for all of them.
//!
//! Cycles are recorded as they were stepped; a stretch that repeats is recorded once, with the number of its repeats.

use super::address::{ALL_BANKS, BankMask};
use super::report::CycleRun;
use core::ops::Range;
use furiosa_visa_rules::spec::DM_BANKS;

/// The requesters of the Tensor Unit: main fetch, main commit, sub fetch, sub commit.
pub(super) const UNIT_REQUESTERS: usize = 4;

/// The banks that each requester of the Tensor Unit was granted in a cycle: 16 bits each, the highest priority in the
/// lowest bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Grants(u64);

const _: () = assert!(UNIT_REQUESTERS * DM_BANKS <= u64::BITS as usize);

impl Grants {
    #[inline]
    pub(super) const fn grant(&mut self, requester: usize, banks: BankMask) {
        self.0 |= (banks as u64) << (DM_BANKS * requester);
    }

    /// The banks of all requesters.
    #[inline]
    pub(super) const fn banks(self) -> BankMask {
        let pairs = self.0 | self.0 >> (2 * DM_BANKS);
        (pairs | pairs >> DM_BANKS) as BankMask
    }

    /// The requester of the highest priority that was granted one of `banks`.
    #[inline]
    pub(super) const fn holder(self, banks: BankMask) -> usize {
        let of_all = banks as u64 * 0x0001_0001_0001_0001;
        (self.0 & of_all).trailing_zeros() as usize / DM_BANKS
    }
}

/// Cycles `start .. end`, in which the `period` cycles that are recorded from `offset` on repeat.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    end: u64,
    offset: usize,
    period: usize,
    /// `2^64 / period`, rounded up.
    reciprocal: u64,
    /// Index of the first [`Service`] of the period, if it repeats.
    services: Option<usize>,
}

/// Cycles that a beat waits for each requester, if it begins at a given place of a period that never ends.
type Service = [u8; UNIT_REQUESTERS];

/// Service of a beat that waits longer than a `u8` can count.
const LONG_SERVICE: Service = [u8::MAX; UNIT_REQUESTERS];

impl Segment {
    const fn new(cycles: Range<u64>, offset: usize, period: usize, services: Option<usize>) -> Self {
        let reciprocal = (u64::MAX / period as u64).wrapping_add(1);
        Self { start: cycles.start, end: cycles.end, offset, period, reciprocal, services }
    }

    /// Place of a cycle in the period.
    #[inline]
    const fn place(&self, cycle: u64) -> usize {
        let (cycles, period) = (cycle - self.start, self.period as u64);
        if cycles > u32::MAX as u64 || period > u32::MAX as u64 {
            return (cycles % period) as usize;
        }
        // `cycles % period` of 32-bit numbers without a division: the fraction of `cycles / period`, times `period`
        // (Lemire, Kaser, Kurz, "Faster remainder by direct computation", 2019, theorem 1).
        let fraction = self.reciprocal.wrapping_mul(cycles);
        ((fraction as u128 * period as u128) >> 64) as usize
    }
}

/// Waits of a beat that begins at a place of a period that never ends.
fn service(period: &[Grants], place: usize) -> Service {
    let (mut lacking, mut service) = (ALL_BANKS, Service::default());
    for grants in period.iter().cycle().skip(place).take(usize::from(u8::MAX)) {
        lacking &= grants.banks();
        if lacking == 0 {
            return service;
        }
        service[grants.holder(lacking)] += 1;
    }
    LONG_SERVICE
}

/// Runs of busy cycles of each bank, while cycles pass.
#[derive(Default)]
struct Runs {
    longest: [CycleRun; DM_BANKS],
    /// Banks that were busy in the last cycle. Their runs began at `since`.
    busy: BankMask,
    since: [u64; DM_BANKS],
}

impl Runs {
    fn pass(&mut self, cycle: u64, banks: BankMask) {
        let mut changed = self.busy ^ banks;
        self.busy = banks;
        while changed != 0 {
            let bank = changed.trailing_zeros() as usize;
            changed &= changed - 1;
            if banks >> bank & 1 == 1 {
                self.since[bank] = cycle;
            } else {
                self.end(bank, cycle);
            }
        }
    }

    fn end(&mut self, bank: usize, cycle: u64) {
        let start_cycle = self.since[bank];
        let run = CycleRun { start_cycle, cycles: cycle - start_cycle };
        self.longest[bank] = self.longest[bank].or_longer(run);
    }

    /// Skips `skipped` cycles from `cycle` on, which repeat the `period` cycles before.
    fn skip(&mut self, cycle: u64, period: u64, skipped: u64) {
        for since in self.since.iter_mut().filter(|since| **since + period > cycle) {
            *since += skipped;
        }
    }

    fn finish(mut self, end: u64) -> [CycleRun; DM_BANKS] {
        self.pass(end, 0);
        self.longest
    }
}

/// The segment in which the last search ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor(usize);

/// The grants of the Tensor Unit, cycle by cycle. Nothing is granted after the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    recorded: Vec<Grants>,
    services: Vec<Service>,
    /// Segments without gaps, from cycle 0 on.
    segments: Vec<Segment>,
    /// Index of the first recorded cycle that belongs to no segment yet.
    open: usize,
    end: u64,
}

impl Timeline {
    /// The cycle after the last one.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Records the next cycle.
    #[inline]
    pub(super) fn record(&mut self, grants: Grants) {
        self.recorded.push(grants);
        self.end += 1;
    }

    /// Number of cycles that were recorded one by one.
    pub(super) const fn recorded_cycles(&self) -> usize {
        self.recorded.len()
    }

    /// Makes one segment of the cycles since the last segment.
    pub(super) fn close(&mut self) {
        let period = self.recorded.len() - self.open;
        if period > 0 {
            let start = self.end - period as u64;
            self.segments.push(Segment::new(start..self.end, self.open, period, None));
            self.open = self.recorded.len();
        }
    }

    /// Repeats the last `period` cycles another `times` times.
    pub(super) fn repeat(&mut self, period: usize, times: u64) {
        self.close();
        let (start, offset) = (self.end, self.recorded.len() - period);
        self.end += period as u64 * times;
        let services = Some(self.services.len());
        self.segments.push(Segment::new(start..self.end, offset, period, services));
        for place in 0..period {
            let service = service(&self.recorded[offset..], place);
            self.services.push(service);
        }
    }

    /// Passes all cycles before `cycle` without a grant.
    pub(super) fn idle_until(&mut self, cycle: u64) {
        if cycle > self.end {
            let idle = cycle - self.end;
            self.record(Grants::default());
            self.repeat(1, idle - 1);
        }
    }

    /// The segment of `cycle`, if it has one, and the place of the cycle in its period.
    #[inline]
    fn find(&self, cycle: u64, cursor: &mut Cursor) -> Option<(&Segment, usize)> {
        let segment = match self.segments.get(cursor.0) {
            Some(segment) if (segment.start..segment.end).contains(&cycle) => segment,
            _ => {
                cursor.0 = self.segments.partition_point(|segment| segment.end <= cycle);
                self.segments.get(cursor.0)?
            }
        };
        Some((segment, segment.place(cycle)))
    }

    /// Serves a beat as [`Self::serve`], for callers that do not need the cycle of each bank.
    #[inline]
    pub(super) fn serve_quickly(
        &self,
        begin: u64,
        cursor: &mut Cursor,
        stalls: &mut [u64; UNIT_REQUESTERS],
    ) -> u64 {
        if begin >= self.end {
            return begin;
        }
        if let Some((segment, place)) = self.find(begin, cursor)
            && let Some(services) = segment.services
        {
            let service = self.services[services + place];
            let last = begin + service.iter().map(|&cycles| u64::from(cycles)).sum::<u64>();
            if last < segment.end && service != LONG_SERVICE {
                for (stall, cycles) in stalls.iter_mut().zip(service) {
                    *stall += u64::from(cycles);
                }
                return last;
            }
        }
        self.serve(begin, cursor, stalls, |_, _| ())
    }

    /// Serves a DMA beat from cycle `begin` on. It takes every bank once, each in the first cycle in which the bank is
    /// free.
    ///
    /// Calls `granted` with the banks that the beat gets in a cycle. Returns the cycle of the last ones, and adds the
    /// cycles before it to `stalls`.
    #[inline]
    pub(super) fn serve(
        &self,
        begin: u64,
        cursor: &mut Cursor,
        stalls: &mut [u64; UNIT_REQUESTERS],
        mut granted: impl FnMut(u64, BankMask),
    ) -> u64 {
        let (mut cycle, mut lacking) = (begin, ALL_BANKS);
        while let Some((segment, mut place)) = self.find(cycle, cursor) {
            let recorded = &self.recorded[segment.offset..segment.offset + segment.period];
            let (lacking_before, stalls_before) = (lacking, *stalls);
            let turn = (segment.end - cycle).min(segment.period as u64);
            for _ in 0..turn {
                let grants = recorded[place];
                let busy = lacking & grants.banks();
                if busy != lacking {
                    granted(cycle, lacking & !busy);
                    lacking = busy;
                    if busy == 0 {
                        return cycle;
                    }
                }
                stalls[grants.holder(busy)] += 1;
                cycle += 1;
                place = if place + 1 == segment.period { 0 } else { place + 1 };
            }
            // A whole period without a grant: none will come in this segment.
            if turn == segment.period as u64 && lacking == lacking_before {
                let turns = (segment.end - cycle) / turn;
                for (stall, before) in stalls.iter_mut().zip(stalls_before) {
                    *stall += (*stall - before) * turns;
                }
                cycle += turns * turn;
            }
        }
        granted(cycle, lacking);
        cycle
    }

    /// Number of cycles right before `cycle`, but not before `floor`, in which `bank` was granted without a break.
    pub(super) fn run_before(&self, bank: usize, cycle: u64, floor: u64) -> u64 {
        let mut start = cycle;
        while start > floor {
            let Some((segment, _)) = self.find(start - 1, &mut Cursor::default()) else { break };
            let period = segment.period as u64;
            let turn = (start - segment.start.max(floor)).min(period);
            for _ in 0..turn {
                if self.recorded[segment.offset + segment.place(start - 1)].banks() >> bank & 1 == 0 {
                    return cycle - start;
                }
                start -= 1;
            }
            if turn == period {
                start -= (start - segment.start.max(floor)) / period * period;
            }
        }
        cycle - start
    }

    /// The longest run of cycles inside `window` in which each bank was granted.
    pub(super) fn longest_runs(&self, window: Range<u64>) -> [CycleRun; DM_BANKS] {
        let mut runs = Runs::default();
        for segment in &self.segments {
            let (mut cycle, end) = (segment.start.max(window.start), segment.end.min(window.end));
            let period = segment.period as u64;
            let turns = end.saturating_sub(cycle) / period;
            if turns > 2 {
                // After two periods, only banks that are never free have longer runs.
                self.pass(segment, cycle..cycle + 2 * period, &mut runs);
                runs.skip(cycle + 2 * period, period, (turns - 2) * period);
                cycle += turns * period;
            }
            self.pass(segment, cycle..end, &mut runs);
        }
        runs.finish(window.end.min(self.end))
    }

    /// The banks that were granted in at least `cycles` consecutive cycles, at most 255.
    pub(super) fn banks_with_runs(&self, cycles: u8) -> BankMask {
        let (mut now, mut longest) = ([0u8; DM_BANKS], [0u8; DM_BANKS]);
        for segment in &self.segments {
            // After two periods, only banks that are never free have longer runs.
            let turns = (u64::from(cycles) + 2).min((segment.end - segment.start) / segment.period as u64);
            for _ in 0..turns {
                for grants in &self.recorded[segment.offset..segment.offset + segment.period] {
                    let banks = grants.banks();
                    for (bank, (now, longest)) in now.iter_mut().zip(&mut longest).enumerate() {
                        let busy = if banks & 1 << bank != 0 { u8::MAX } else { 0 };
                        *now = now.saturating_add(1) & busy;
                        *longest = (*longest).max(*now);
                    }
                }
            }
        }
        let banks = longest.iter().enumerate().filter(|(_, longest)| **longest >= cycles);
        banks.fold(0, |banks, (bank, _)| banks | 1 << bank)
    }

    fn pass(&self, segment: &Segment, cycles: Range<u64>, runs: &mut Runs) {
        let mut place = segment.place(cycles.start);
        for cycle in cycles {
            runs.pass(cycle, self.recorded[segment.offset + place].banks());
            place = if place + 1 == segment.period { 0 } else { place + 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    /// The place computed without a division is the remainder, at the ends of 32 bits and beyond.
    #[test]
    fn places_are_remainders() {
        let mut rng = SmallRng::seed_from_u64(70_603);
        let number = |rng: &mut SmallRng| match rng.random_range(0..4) {
            0 => rng.random_range(0..100),
            1 => u64::from(u32::MAX) + 2 - rng.random_range(0..4),
            _ => rng.random::<u64>() >> rng.random_range(20..60),
        };
        for round in 0..100_000 {
            let (period, start) = (number(&mut rng).max(1), number(&mut rng));
            let turns = if rng.random_bool(0.5) { number(&mut rng) % 1000 * period } else { 0 };
            let cycles = (turns + number(&mut rng)).saturating_sub(rng.random_range(0..3));
            let segment = Segment::new(start..u64::MAX, 0, period as usize, None);
            let place = segment.place(start + cycles) as u64;
            assert_eq!(place, cycles % period, "round {round} of seed 70603: {cycles} in {period}");
        }
    }

    #[test]
    fn the_holder_has_the_highest_priority() {
        let mut grants = Grants::default();
        for (requester, banks) in [(0, 0x000f), (1, 0x00f0), (2, 0x0100), (3, 0x8000)] {
            grants.grant(requester, banks);
        }
        assert_eq!(grants.banks(), 0x81ff);
        let holders = [0xffff, 0xfff8, 0xfff0, 0x0180, 0xff00, 0x8000].map(|banks| grants.holder(banks));
        assert_eq!(holders, [0, 0, 1, 1, 2, 3]);
    }
}
