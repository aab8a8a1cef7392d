//! Search for repetitions.
//!
//! Broadcasts, loops without a stride, read the same bytes again and again. After some turns the channels do the same in
//! every turn. If channels and engines are in the state of an earlier turn, then everything in between repeats as long as
//! the streams repeat: it is counted at once. The result is the same to the tick.
//!
//! States are compared when a turn begins, at most once per [`REQUESTS`]. The state to compare with is kept for 1, 2,
//! 4, 8, … comparisons, so that periods of any length are found (R. Brent, "An improved Monte Carlo factorization
//! algorithm", 1980).

use super::channel::{Channel, ChannelReport};
use super::detailed::Head;
use super::stream::Repeating;
use furiosa_visa_rules::spec::{CORE_CYCLE_TICKS, HBM_CHANNELS, HBM_COMMAND_CYCLE_TICKS};

/// Requests between two comparisons. Keeping a state takes as long as about 20 requests.
const REQUESTS: u64 = 32;

/// Least number of turns that a loop must have left: with fewer, a search saves little.
const TURNS: u64 = 3;

/// A state that may come again.
struct Mark<P> {
    cycle: u64,
    positions: Vec<P>,
    engines: Vec<Head>,
    /// States that decide the future of the channels, one after another.
    states: Vec<u64>,
    /// End of the state of each channel, and its counts at that time.
    channels: [(usize, (ChannelReport, u64)); HBM_CHANNELS],
}

/// The search for a period in a run.
pub(super) struct Period<P> {
    mark: Option<Mark<P>>,
    /// Comparisons with the mark, and the number of them after which there is another mark.
    compared: u64,
    most: u64,
    /// Requests since the last comparison.
    requests: u64,
    due: bool,
    scratch: Vec<u64>,
}

impl<P> Period<P> {
    pub const fn new() -> Self {
        Self { mark: None, compared: 0, most: 1, requests: 0, due: false, scratch: Vec::new() }
    }

    /// Counts a request that was taken from a stream.
    #[inline]
    pub fn taken(&mut self, stream: &mut impl Repeating) {
        self.requests += 1;
        self.due |= stream.begun() >= TURNS && self.requests >= REQUESTS;
    }

    /// Tells if states are to be compared before the next cycle.
    #[inline]
    pub const fn is_due(&self) -> bool {
        self.due
    }

    /// Compares the state before `cycle` with the mark. If they are equal, skips the periods that follow. Returns the
    /// number of skipped cycles.
    #[cold]
    pub fn pass<S: Repeating<Position = P>>(
        &mut self,
        cycle: u64,
        streams: &mut [S],
        engines: &mut [Head],
        channels: &mut [Channel],
    ) -> u64 {
        (self.due, self.requests) = (false, 0);
        let Some(mark) = &self.mark else {
            self.keep(cycle, streams, engines, channels);
            return 0;
        };
        let pairs = streams.iter().zip(&mark.positions);
        let times = pairs.map(|(stream, from)| stream.repeats(from)).min().unwrap_or(0);
        if times == 0 {
            // The streams have moved on: so does the search.
            self.most = 1;
            self.keep(cycle, streams, engines, channels);
            return 0;
        }
        let period = cycle - mark.cycle;
        // The turns of the engines and the slots of the command clock go on as before.
        let in_step = period.is_multiple_of(engines.len() as u64)
            && (period * CORE_CYCLE_TICKS).is_multiple_of(HBM_COMMAND_CYCLE_TICKS);
        if in_step && mark.is_like(cycle, engines, channels, &mut self.scratch) {
            let cycles = period * times;
            for (stream, from) in streams.iter_mut().zip(&mark.positions) {
                stream.pass(from, times);
            }
            engines.iter_mut().for_each(|engine| engine.pass(cycles));
            for (channel, (_, counts)) in channels.iter_mut().zip(&mark.channels) {
                channel.repeat(counts, times, cycles * CORE_CYCLE_TICKS);
            }
            (self.mark, self.most) = (None, 1);
            return cycles;
        }
        self.compared += 1;
        if self.compared >= self.most {
            self.most *= 2;
            self.keep(cycle, streams, engines, channels);
        }
        0
    }

    /// Keeps this state, to compare with it from now on.
    fn keep<S: Repeating<Position = P>>(
        &mut self,
        cycle: u64,
        streams: &[S],
        engines: &[Head],
        channels: &mut [Channel],
    ) {
        let mut mark = Mark {
            cycle,
            positions: streams.iter().map(S::here).collect(),
            engines: engines.iter().map(|engine| engine.after(cycle)).collect(),
            states: self.mark.take().map_or(Vec::new(), |mark| mark.states),
            channels: [(0, (ChannelReport::default(), 0)); HBM_CHANNELS],
        };
        mark.states.clear();
        for (channel, kept) in channels.iter_mut().zip(&mut mark.channels) {
            channel.settle(cycle * CORE_CYCLE_TICKS);
            channel.state(cycle * CORE_CYCLE_TICKS, &mut mark.states);
            *kept = (mark.states.len(), channel.counts());
        }
        (self.mark, self.compared) = (Some(mark), 0);
    }
}

impl<P> Mark<P> {
    /// Tells if the state before `cycle` is this one, apart from the time.
    fn is_like(&self, cycle: u64, engines: &[Head], channels: &mut [Channel], state: &mut Vec<u64>) -> bool {
        if !engines.iter().zip(&self.engines).all(|(engine, kept)| engine.after(cycle) == *kept) {
            return false;
        }
        let mut start = 0;
        channels.iter_mut().zip(&self.channels).all(|(channel, &(end, _))| {
            channel.settle(cycle * CORE_CYCLE_TICKS);
            state.clear();
            channel.state(cycle * CORE_CYCLE_TICKS, state);
            let kept = &self.states[start..end];
            start = end;
            state == kept
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::hbm::{Detailed, HbmMap, HbmReport, InTurn, Strided, StridedLoop};

    /// Engines that read 4 KiB each, again and again.
    fn broadcast(engines: u64, turns: u64) -> HbmReport {
        let loops = [StridedLoop { size: turns, stride: 0 }];
        let stream = |engine| InTurn::new([Strided::new(engine << 19, &loops, 4096).expect("inside of HBM")]);
        Detailed::new(HbmMap::default()).run_loops(&mut (0..engines).map(stream).collect::<Vec<_>>())
    }

    /// Passes a load that would take days request by request. More turns take more time at the rate of the channels, to
    /// the tick.
    #[test]
    fn long_broadcasts_are_passed() {
        for engines in [1, 3, 4] {
            let [some, more, most] = [3 << 10, 6 << 10, 3 << 40].map(|turns| broadcast(engines, turns));
            let times = (1 << 30) - 1;
            let expected = some.finish_ticks + (more.finish_ticks - some.finish_ticks) * times;
            assert_eq!(most.finish_ticks, expected, "{engines} engines");
            assert_eq!(most.total().units, 16 * engines * (3 << 40));
            assert_eq!(most.total().openings, more.total().openings);
        }
    }
}
