//! The intra-slice reduce.

use super::lanes::{Offsets, combined, folded};
use super::path::{Job, Path};
use super::stream::{Ids, Lane, LaneRow, NO_ID};
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{IntraSliceReduce, ReduceOperator, StreamShape, nest};
use furiosa_visa_rules::mapping::guard::rows::{LiveRows, Liveness};

/// The part of a reduce that is the same in all slices.
#[derive(Debug)]
pub(super) struct ReducePlan {
    op: ReduceOperator,
    live: LiveRows,
    before: StreamShape,
    /// Positions of the outgoing stream.
    len: usize,
    /// Runs of neighbouring positions that stay: first position before, first position after, and length.
    runs: Vec<(usize, usize, usize)>,
    /// Positions of the elements of one sum, relative to its first element, in order.
    offsets: Offsets,
}

/// Marks padding as unwritten. `flags` are those of a stream of this shape, and empty if all elements are written.
pub(super) fn drop_padding(
    live: &LiveRows,
    shape: StreamShape,
    at: Coordinates,
    flags: &mut Vec<bool>,
    mask: &mut Vec<bool>,
) {
    let mut variables = [at.chip, at.cluster, at.slice, 0, 0];
    if live.of_unit(&mut variables) == Some(Liveness::All) {
        return;
    }
    if flags.is_empty() {
        flags.resize(shape.time * shape.lanes, true);
    }
    for (time, packet) in flags.chunks_exact_mut(shape.lanes).enumerate() {
        variables[3] = time;
        match live.row(&mut variables, mask) {
            Liveness::All => {}
            Liveness::Nothing => packet.fill(false),
            Liveness::Some => packet.iter_mut().zip(mask.iter()).for_each(|(flag, &live)| *flag &= live),
        }
    }
    if flags.iter().all(|&flag| flag) {
        flags.clear();
    }
}

impl ReducePlan {
    pub(super) fn new(reduce: &IntraSliceReduce, before: StreamShape) -> Self {
        let mut kept = nest(reduce.kept.iter().map(|entry| (entry.size, entry.input, entry.output)));
        kept.sort_unstable();
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        for (from, to) in kept {
            match runs.last_mut() {
                Some((first, place, len)) if (*first + *len, *place + *len) == (from, to) => *len += 1,
                _ => runs.push((from, to, 1)),
            }
        }
        let offsets = nest(reduce.reduced.iter().map(|entry| (entry.size, entry.input, 0)));
        Self {
            op: reduce.op,
            live: LiveRows::new(&reduce.guard, 4, before.lanes),
            before,
            len: reduce.time * before.lanes,
            runs,
            offsets: Offsets::new(offsets.into_iter().map(|(from, _)| from).collect()),
        }
    }

    /// Reduces the stream of a slice to `sums`.
    pub(super) fn run(
        &self,
        path: Path,
        at: Coordinates,
        (lanes, flags, ids): (&[Lane], &mut Vec<bool>, &mut Ids),
        sums: &mut LaneRow,
        mask: &mut Vec<bool>,
    ) {
        drop_padding(&self.live, self.before, at, flags, mask);
        if let Ids::Each(all) = ids {
            *all = self.last_ids(flags, all);
        }
        sums.clear(self.len);
        for &(from, to, len) in &self.runs {
            if len == 1 {
                self.one(from, to, (lanes, flags), sums);
            } else {
                self.side_by_side(path, (from, to, len), (lanes, flags), sums);
            }
        }
        // An empty sum has no id.
        let is_empty = |&(_, to, len): &(usize, usize, usize)| sums.flags[to..to + len].contains(&false);
        if let Ids::Same(id) = *ids
            && self.runs.iter().any(is_empty)
        {
            *ids = Ids::Each(sums.flags.iter().map(|&is_sum| if is_sum { id } else { NO_ID }).collect());
        }
        sums.tidy();
    }

    /// Ids of the sums: a sum has the execution id of the last of its elements.
    fn last_ids(&self, flags: &[bool], ids: &[u8]) -> Vec<u8> {
        let mut last = vec![NO_ID; self.len];
        for &(from, to, len) in &self.runs {
            for k in 0..len {
                let present = |offset: &&usize| flags.get(from + k + **offset).copied().unwrap_or(true);
                let offset = self.offsets.all().iter().rev().find(present);
                last[to + k] = offset.map_or(NO_ID, |offset| ids[from + k + offset]);
            }
        }
        last
    }

    /// Computes one sum.
    fn one(&self, from: usize, to: usize, (lanes, flags): (&[Lane], &[bool]), sums: &mut LaneRow) {
        let present = |offset: &&usize| flags.get(from + **offset).copied().unwrap_or(true);
        let mut all =
            self.offsets.all().iter().filter(present).map(|offset| u32::from_le_bytes(lanes[from + offset]));
        if let Some(first) = all.next() {
            sums.lanes_mut()[to] = folded(self.op, first, all).to_le_bytes();
            sums.flags[to] = true;
        }
    }

    /// Computes sums of neighbouring lanes.
    fn side_by_side(
        &self,
        path: Path,
        (from, to, len): (usize, usize, usize),
        (lanes, flags): (&[Lane], &[bool]),
        sums: &mut LaneRow,
    ) {
        if flags.is_empty() {
            path.run(Job::Fold(self.op, (lanes, from), &self.offsets), &mut sums.lanes_mut()[to..to + len]);
            sums.flags[to..to + len].fill(true);
            return;
        }
        for offset in self.offsets.all() {
            let start = from + offset;
            let added = lanes[start..start + len].iter().zip(&flags[start..start + len]);
            for ((sum, flag), (lane, &present)) in sums.parts_mut().skip(to).zip(added) {
                if present {
                    let all = [*sum, *lane].map(u32::from_le_bytes);
                    *sum = if *flag { combined(self.op, all[0], all[1]).to_le_bytes() } else { *lane };
                    *flag = true;
                }
            }
        }
    }
}
