//! The intra-slice reduce.

use super::lanes::{combined, folded};
use super::path::{Job, Path};
use super::stream::{Ids, LaneRow, NO_ID};
use crate::chip::memory::place::Coordinates;
use crate::command::{IntraSliceReduce, ReduceOperator, StreamShape, nest};
use crate::mapping::guard::rows::{LiveRows, Liveness};

/// What does not differ between slices.
#[derive(Debug)]
pub(super) struct ReducePlan {
    op: ReduceOperator,
    live: LiveRows,
    before: StreamShape,
    /// Positions of the outgoing stream.
    len: usize,
    /// Evenly spaced positions that stay, as runs: the first one before and after, and how many follow side by side.
    runs: Vec<(usize, usize, usize)>,
    /// Positions of the elements of one sum, from that of its first one on, in order.
    offsets: Vec<usize>,
}

/// Marks what is padding as if nobody had written it.
pub(super) fn drop_padding(
    live: &LiveRows,
    shape: StreamShape,
    at: Coordinates,
    stream: &mut LaneRow,
    mask: &mut Vec<bool>,
) {
    let mut variables = [at.chip, at.cluster, at.slice, 0, 0];
    if live.of_unit(&mut variables) == Some(Liveness::All) {
        return;
    }
    for time in 0..shape.time {
        variables[3] = time;
        let place = time * shape.lanes..(time + 1) * shape.lanes;
        match live.row(&mut variables, mask) {
            Liveness::All => {}
            Liveness::Nothing => stream.all_flags()[place].fill(false),
            Liveness::Some => {
                let flags = &mut stream.all_flags()[place];
                flags.iter_mut().zip(mask.iter()).for_each(|(flag, &live)| *flag &= live);
            }
        }
    }
}

impl ReducePlan {
    pub(super) fn new(reduce: &IntraSliceReduce, before: StreamShape) -> Self {
        let mut kept = nest(reduce.kept.iter().map(|own| (own.size, own.input, own.output)));
        kept.sort_unstable();
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        for (from, to) in kept {
            match runs.last_mut() {
                Some((first, place, len)) if (*first + *len, *place + *len) == (from, to) => *len += 1,
                _ => runs.push((from, to, 1)),
            }
        }
        let offsets = nest(reduce.reduced.iter().map(|own| (own.size, own.input, 0)));
        Self {
            op: reduce.op,
            live: LiveRows::new(&reduce.guard, 4, before.lanes),
            before,
            len: reduce.time * before.lanes,
            runs,
            offsets: offsets.into_iter().map(|(from, _)| from).collect(),
        }
    }

    /// Reduces the stream of a slice. `sums` is scratch.
    pub(super) fn run(
        &self,
        path: Path,
        at: Coordinates,
        (stream, ids): (&mut LaneRow, &mut Ids),
        sums: &mut LaneRow,
        mask: &mut Vec<bool>,
    ) {
        drop_padding(&self.live, self.before, at, stream, mask);
        if let Ids::Each(all) = ids {
            *all = self.last_ids(stream, all);
        }
        sums.values.clear();
        sums.values.resize(self.len, 0);
        sums.flags.clear();
        sums.flags.resize(self.len, false);
        for &(from, to, len) in &self.runs {
            if len == 1 {
                self.one(from, to, stream, sums);
            } else {
                self.side_by_side(path, (from, to, len), stream, sums);
            }
        }
        // A sum of nothing has no id.
        let is_empty = |&(_, to, len): &(usize, usize, usize)| sums.flags[to..to + len].contains(&false);
        if let Ids::Same(id) = *ids
            && self.runs.iter().any(is_empty)
        {
            *ids = Ids::Each(sums.flags.iter().map(|&is_sum| if is_sum { id } else { NO_ID }).collect());
        }
        sums.tidy();
        core::mem::swap(stream, sums);
    }

    /// A sum has the execution id of the last of its elements.
    fn last_ids(&self, stream: &LaneRow, ids: &[u8]) -> Vec<u8> {
        let mut last = vec![NO_ID; self.len];
        for &(from, to, len) in &self.runs {
            for k in 0..len {
                let present =
                    |offset: &&usize| stream.flags.get(from + k + **offset).copied().unwrap_or(true);
                let offset = self.offsets.iter().rev().find(present);
                last[to + k] = offset.map_or(NO_ID, |offset| ids[from + k + offset]);
            }
        }
        last
    }

    /// One sum.
    fn one(&self, from: usize, to: usize, stream: &LaneRow, sums: &mut LaneRow) {
        let values = &stream.values;
        let result = if stream.flags.is_empty() {
            let mut all = self.offsets.iter().map(|offset| values[from + offset]);
            all.next().map(|first| folded(self.op, first, all))
        } else {
            let present = self.offsets.iter().filter(|&offset| stream.flags[from + offset]);
            let mut all = present.map(|offset| values[from + offset]);
            all.next().map(|first| folded(self.op, first, all))
        };
        if let Some(result) = result {
            (sums.values[to], sums.flags[to]) = (result, true);
        }
    }

    /// Sums of neighbouring lanes.
    fn side_by_side(
        &self,
        path: Path,
        (from, to, len): (usize, usize, usize),
        stream: &LaneRow,
        sums: &mut LaneRow,
    ) {
        let (own, flags) = (&mut sums.values[to..to + len], &mut sums.flags[to..to + len]);
        if stream.flags.is_empty() {
            path.run(Job::Fold(self.op, (&stream.values, from), &self.offsets), own);
            flags.fill(true);
            return;
        }
        for offset in &self.offsets {
            let start = from + offset;
            let lanes = stream.values[start..start + len].iter().zip(&stream.flags[start..start + len]);
            for ((sum, flag), (&lane, &present)) in own.iter_mut().zip(flags.iter_mut()).zip(lanes) {
                if present {
                    *sum = if *flag { combined(self.op, *sum, lane) } else { lane };
                    *flag = true;
                }
            }
        }
    }
}
