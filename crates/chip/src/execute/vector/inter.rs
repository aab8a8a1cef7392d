//! The inter-slice reduce: it combines streams of neighbouring slices.

use super::super::threads::each;
use super::path::{Job, Path};
use super::reduce::drop_padding;
use super::stream::{LaneRow, all_flags};
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{InterSliceReduce, ReduceOperator, StreamShape, nest};
use furiosa_visa_rules::mapping::guard::rows::LiveRows;
use furiosa_visa_rules::spec::SLICES;
use std::borrow::Cow;

/// The part of a reduce that is the same in all clusters.
#[derive(Debug)]
pub(super) struct InterPlan {
    op: ReduceOperator,
    live: LiveRows,
    before: StreamShape,
    /// Positions of the outgoing stream.
    len: usize,
    /// The first slice of each sum, and the first slice that receives it.
    slices: Vec<(usize, usize)>,
    /// Slices of a sum relative to its first one, per axis. The outermost fold is first.
    axes: Vec<Vec<usize>>,
    /// Destinations of sums: slices relative to the first one, and the start of their part.
    copies: Vec<(usize, usize)>,
    /// Runs of neighbouring positions of a part: first position before, first position after, and length.
    runs: Vec<(usize, usize, usize)>,
}

impl InterPlan {
    pub(super) fn new(reduce: &InterSliceReduce, before: StreamShape) -> Self {
        let kept = || reduce.kept.iter();
        let slices = nest(
            kept()
                .filter(|entry| entry.input.units > 0)
                .map(|entry| (entry.size, entry.input.units, entry.output.units)),
        );
        let positions = kept().filter(|entry| entry.input.units == 0 && entry.output.units == 0);
        let mut positions =
            nest(positions.map(|entry| (entry.size, entry.input.elements, entry.output.elements)));
        positions.sort_unstable();
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        for (from, to) in positions {
            match runs.last_mut() {
                Some((first, place, len)) if (*first + *len, *place + *len) == (from, to) => *len += 1,
                _ => runs.push((from, to, 1)),
            }
        }
        let promoted = kept().filter(|entry| entry.input.units == 0 && entry.output.units > 0);
        let promoted = promoted.map(|entry| (entry.size, entry.output.units, entry.input.elements));
        let repeated = reduce.repeated.iter().map(|entry| (entry.size, entry.units, 0));
        let mut axes: Vec<Vec<(usize, usize, usize)>> = Vec::new();
        for entry in &reduce.reduced {
            axes.resize_with(axes.len().max(entry.axis + 1), Vec::new);
            axes[entry.axis].push((entry.size, entry.units, 0));
        }
        let offsets = |loops: Vec<(usize, usize, usize)>| {
            nest(loops.into_iter()).into_iter().map(|(slice, _)| slice).collect()
        };
        Self {
            op: reduce.op,
            live: LiveRows::new(&reduce.guard, 4, before.lanes),
            before,
            len: reduce.time * before.lanes,
            slices,
            axes: axes.into_iter().map(offsets).collect(),
            copies: nest(promoted.chain(repeated)),
            runs,
        }
    }

    /// Marks padding in a slice as unwritten.
    pub(super) fn drop_padding(&self, at: Coordinates, stream: &mut LaneRow, mask: &mut Vec<bool>) {
        drop_padding(&self.live, self.before, at, &mut stream.flags, mask);
    }

    /// The streams of all slices after the exchange. Slices without a stream have `None`.
    pub(super) fn exchange(&self, path: Path, streams: &[Option<LaneRow>]) -> Vec<Option<LaneRow>> {
        let mut results: Vec<Option<LaneRow>> = streams.iter().map(|_| None).collect();
        for (cluster, results) in streams.chunks(SLICES).zip(results.chunks_mut(SLICES)) {
            let mut sums: Vec<Vec<(usize, LaneRow)>> = Vec::new();
            sums.resize_with(self.slices.len(), Vec::new);
            each(&mut sums, 1, |(), k, sums| {
                let (from, to) = self.slices[k];
                let sum = self.fold(path, &self.axes, from, cluster);
                let parts = sum.iter().flat_map(|sum| self.copies.iter().map(|copy| (copy, &**sum)));
                sums.extend(parts.map(|(&(slice, at), sum)| (to + slice, self.part(sum, at))));
            });
            for (slice, part) in sums.into_iter().flatten() {
                if let Some(result) = results.get_mut(slice) {
                    *result = Some(part);
                }
            }
        }
        results
    }

    /// The part of a sum from `position` on.
    fn part(&self, sum: &LaneRow, position: usize) -> LaneRow {
        let mut part = LaneRow::blank(self.len);
        for &(from, to, len) in &self.runs {
            let from = position + from..position + from + len;
            part.lanes_mut()[to..to + len].copy_from_slice(&sum.lanes()[from.clone()]);
            match sum.flags.get(from) {
                Some(flags) => part.flags[to..to + len].copy_from_slice(flags),
                None => part.flags[to..to + len].fill(true),
            }
        }
        part.tidy();
        part
    }

    /// Fold over some axes. The last axis is the innermost. `None`: no slice has an element. A stream is not copied if
    /// nothing is added to it.
    fn fold<'s>(
        &self,
        path: Path,
        axes: &[Vec<usize>],
        slice: usize,
        cluster: &'s [Option<LaneRow>],
    ) -> Option<Cow<'s, LaneRow>> {
        let Some((outer, inner)) = axes.split_first() else {
            return cluster.get(slice)?.as_ref().map(Cow::Borrowed);
        };
        let mut sum: Option<Cow<'s, LaneRow>> = None;
        for offset in outer {
            let Some(next) = self.fold(path, inner, slice + offset, cluster) else { continue };
            match &mut sum {
                None => sum = Some(next),
                Some(sum) => self.add(path, sum.to_mut(), &next),
            }
        }
        sum
    }

    /// Combines each element with one of another row. An element that only one row has stays unchanged.
    fn add(&self, path: Path, sum: &mut LaneRow, other: &LaneRow) {
        let both = Job::Accumulate(self.op, other.lanes());
        if sum.flags.is_empty() && other.flags.is_empty() {
            return path.run(both, sum.lanes_mut());
        }
        let before = sum.clone();
        path.run(both, sum.lanes_mut());
        let has = |row: &LaneRow, k: usize| row.flags.get(k).copied().unwrap_or(true);
        for (k, lane) in sum.lanes_mut().iter_mut().enumerate() {
            *lane = match (has(&before, k), has(other, k)) {
                (true, true) => *lane,
                (false, true) => other.lanes()[k],
                (_, false) => before.lanes()[k],
            };
        }
        let len = sum.len();
        let flags = all_flags(&mut sum.flags, len);
        flags.iter_mut().enumerate().for_each(|(k, flag)| *flag |= has(other, k));
        sum.tidy();
    }
}
