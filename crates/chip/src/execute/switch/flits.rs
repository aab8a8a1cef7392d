//! Packets of one flit that lie evenly in the source and destination slices. Most switches move such packets.
//!
//! Each run comes from another slice, so its bytes are rarely in the cache. The loops are made for that:
//!
//! | loops | reason |
//! |---|---|
//! | loops of constant length | few instructions per packet: the reads of several runs are on their way at a time |
//! | packets of two sources that go side by side are written together | whole lines of the cache are written |
//! | some slices receive packets at a time | the packets of a source for neighbouring slices lie together |

use super::{Gather, Offset, Spots, SwitchPlan};
use furiosa_visa_rules::spec::FLIT_BYTES;

pub(super) type Flit = [u8; FLIT_BYTES];

/// Number of slices that receive packets at a time.
pub(super) const TOGETHER: usize = 16;

/// A slice that receives packets.
#[derive(Debug)]
pub(super) struct Receiver<'a> {
    /// Source of its first packet: the slice, and the packet there.
    pub(super) source: (usize, usize),
    /// Its packets.
    pub(super) output: &'a mut [Flit],
}

impl Spots<'_> {
    /// Packets of one flit that follow one another without a gap, from the first spot on.
    pub(super) fn flits<'b>(&self, bytes: &'b [u8]) -> &'b [Flit] {
        bytes.get(self.first()..).unwrap_or_default().as_chunks().0
    }

    /// The same as [`Spots::flits`], for writing.
    pub(super) fn flits_mut<'b>(&self, bytes: &'b mut [u8]) -> &'b mut [Flit] {
        let first = self.first();
        bytes.get_mut(first..).unwrap_or_default().as_chunks_mut().0
    }

    fn first(&self) -> usize {
        self.starts.first().map_or(0, |&start| start as usize)
    }
}

impl SwitchPlan {
    /// Tells if [`SwitchPlan::copy_flits`] copies such packets. Runs without gaps are copied as a whole instead.
    pub(super) fn takes_flits(&self, from: &Spots<'_>, to: &Spots<'_>) -> bool {
        let stay_together = self.run.time == 1 && self.run.step == 1;
        self.bytes == FLIT_BYTES && from.is_even && to.is_even && !stay_together
    }

    /// Copies the packets of all slices to their receivers. Slices that send nothing have no packets.
    pub(super) fn copy_flits(&self, sent: &[&[Flit]], receivers: &mut [Receiver<'_>]) {
        for sources in self.sources.chunks(2) {
            for Receiver { source: (slice, time), output } in &mut *receivers {
                let packets = |source: &Offset| (sent[*slice + source.slice], *time + source.time);
                match sources {
                    [one, next] if next.step == one.step + 1 => {
                        let from = [packets(one), packets(next)];
                        if from.iter().all(|(flits, _)| !flits.is_empty()) {
                            self.copy_runs(from, output, one.step);
                            continue;
                        }
                    }
                    _ => {}
                }
                for source in sources {
                    let from = packets(source);
                    if !from.0.is_empty() {
                        self.copy_runs([from], output, source.step);
                    }
                }
            }
        }
    }

    /// Copies all runs of some sources whose packets go side by side.
    #[inline(always)]
    fn copy_runs<const SOURCES: usize>(
        &self,
        from: [(&[Flit], usize); SOURCES],
        output: &mut [Flit],
        place: usize,
    ) {
        let Gather { size, time: every, step: apart, .. } = self.run;
        for run in &self.runs {
            let from = from.map(|(flits, packet)| &flits[packet + run.time..]);
            let output = &mut output[place + run.step..];
            let mut k = 0;
            while k + 8 <= size {
                copy_block::<SOURCES, 8>((from, k, every), (output, apart));
                k += 8;
            }
            while k + 4 <= size {
                copy_block::<SOURCES, 4>((from, k, every), (output, apart));
                k += 4;
            }
            while k < size {
                copy_block::<SOURCES, 1>((from, k, every), (output, apart));
                k += 1;
            }
        }
    }
}

/// Copies `COUNT` packets of a run, from number `k` on.
#[inline(always)]
fn copy_block<const SOURCES: usize, const COUNT: usize>(
    (from, k, every): ([&[Flit]; SOURCES], usize, usize),
    (output, apart): (&mut [Flit], usize),
) {
    if every == 1 {
        // Loops over numbers: functions of arrays and `zip` are not inlined where a crate is compiled in parts.
        let mut runs = [&[[0; FLIT_BYTES]; COUNT]; SOURCES];
        for (run, flits) in runs.iter_mut().zip(from) {
            *run = flits[k..].first_chunk().expect("a source holds all of a run");
        }
        for j in 0..COUNT {
            let output = &mut output[(k + j) * apart..][..SOURCES];
            for source in 0..SOURCES {
                output[source] = runs[source][j];
            }
        }
    } else {
        for j in 0..COUNT {
            let output = &mut output[(k + j) * apart..][..SOURCES];
            for source in 0..SOURCES {
                output[source] = from[source][(k + j) * every];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::command::Switch;
    use furiosa_visa_rules::scalar::ElementType;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    const SLICES: usize = 12;

    /// A switch of runs of `size` packets from `count` sources, side by side or one run after the other.
    fn switch(random: &mut SmallRng) -> (SwitchPlan, usize) {
        let (count, runs, size) =
            (random.random_range(1..8), random.random_range(1..4), random.random_range(1..21));
        let every = random.random_range(1..4);
        let (apart, step, next) = match random.random_range(0..3) {
            // Packets of all sources take turns, in their order, without or with places between them.
            0 => (count, 1, count * size),
            1 => (2 * count, 2, 2 * count * size),
            // A run without gaps.
            _ => (1, size * runs, size),
        };
        let source = |k| Offset { slice: k, time: k % 3, step: k * step };
        let run = |k| Offset { slice: 0, time: k * size * every, step: k * next };
        let switch = SwitchPlan {
            switch: Switch::forwarding(256, 1),
            sources: (0..count).map(source).collect(),
            runs: (0..runs).map(run).collect(),
            run: Gather { size, slices: 0, time: every, step: apart },
            steps: 0,
            element: ElementType::I8,
            lanes: FLIT_BYTES,
            bytes: FLIT_BYTES,
            starts: Vec::new(),
        };
        (switch, runs * size * every)
    }

    #[test]
    fn flits_go_where_their_loops_say() {
        let seed = 41;
        let mut random = SmallRng::seed_from_u64(seed);
        for case in 0..400 {
            let (switch, packets) = switch(&mut random);
            let all: Vec<Vec<Flit>> = (0..SLICES)
                .map(|_| {
                    let sends = random.random_range(0..8) > 0;
                    let flits = if sends { packets + 8 } else { 0 };
                    (0..flits).map(|_| random.random()).collect()
                })
                .collect();
            let sent: Vec<&[Flit]> = all.iter().map(Vec::as_slice).collect();
            let receivers: Vec<(usize, usize)> = (0..random.random_range(1..5))
                .map(|_| (random.random_range(0..5), random.random_range(0..6)))
                .collect();
            let blank = vec![[0; FLIT_BYTES]; 2 * 7 * 20 * 3];
            let mut outputs = vec![blank.clone(); receivers.len()];
            let mut expected = outputs.clone();
            for (&(slice, time), output) in receivers.iter().zip(&mut expected) {
                for (source, run, k) in switch.sources.iter().flat_map(|source| {
                    let size = switch.run.size;
                    switch.runs.iter().flat_map(move |run| (0..size).map(move |k| (source, run, k)))
                }) {
                    let packet = time + source.time + run.time + k * switch.run.time;
                    if let Some(flit) = sent[slice + source.slice].get(packet) {
                        output[source.step + run.step + k * switch.run.step] = *flit;
                    }
                }
            }
            let mut all: Vec<Receiver<'_>> = receivers
                .iter()
                .zip(&mut outputs)
                .map(|(&source, output)| Receiver { source, output })
                .collect();
            switch.copy_flits(&sent, &mut all);
            assert!(outputs == expected, "seed {seed}, case {case}: {switch:?} to {receivers:?}");
        }
    }
}
