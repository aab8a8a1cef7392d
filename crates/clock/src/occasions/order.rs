//! Operations in another order, in other buffers, or not at all.

use super::{LineKey, key};
use crate::contention::BankLoad;
use crate::hazards::{Access, Hazard};
use crate::record::Record;
use crate::schedule::{Resources, Wait, Work};
use furiosa_visa_rules::command::{ContextKind, FillId, MemoryKind};
use furiosa_visa_rules::spec::{DM_BYTES, TRF_BYTES};
use litemap::LiteMap;
use std::sync::Arc;

/// Maximum number of loads that are compared with those that follow.
pub const REMEMBERED: usize = 512;

/// A load behind an operation that kept the queue waiting: places in a segment.
pub type Swap = (usize, usize);

/// Tells if an operation kept its queue waiting.
pub fn kept_waiting(record: &Record) -> bool {
    record.idle > 0 && matches!(record.wait, Some(Wait::Hazard(_)))
}

/// Tells if `second` loads something, and comes from another line than `first`, the operation in front of it.
pub fn is_other_load(first: LineKey, second: &Record) -> bool {
    (first.1, first.2) != (second.location, second.operation) && written(second).is_some()
}

/// Loads that could go in front of the operation before them, which kept their queue waiting. Each has the place of that
/// operation.
pub fn loads_behind_waits(segment: &[&Record]) -> Vec<Swap> {
    let mut found = Vec::new();
    for context in [ContextKind::TensorDma, ContextKind::Sub] {
        let places: Vec<usize> = (0..segment.len()).filter(|k| segment[*k].context == context).collect();
        for pair in places.windows(2) {
            let (first, second) = (segment[pair[0]], segment[pair[1]]);
            let between = &segment[pair[0]..pair[1]];
            if kept_waiting(first)
                && is_other_load(key(first), second)
                && !between.iter().any(|record| conflict(&record.accesses, &second.accesses))
            {
                found.push((pair[0], pair[1]));
            }
        }
    }
    found
}

/// Gives loads earlier.
pub fn earlier(works: Vec<Work>, swaps: &[Swap]) -> Vec<Work> {
    let mut before = vec![None; works.len()];
    let mut is_moved = vec![false; works.len()];
    for &(first, second) in swaps {
        before[first] = Some(second);
        is_moved[second] = true;
    }
    let mut order = Vec::with_capacity(works.len());
    for place in 0..works.len() {
        order.extend(before[place]);
        if !is_moved[place] {
            order.push(place);
        }
    }
    order.into_iter().map(|place| works[place].clone()).collect()
}

/// The tensor that an operation writes to DM or to the register file.
pub fn written(record: &Record) -> Option<&Access> {
    let is_buffer =
        |access: &&Access| access.write && matches!(access.memory, MemoryKind::Dm | MemoryKind::Trf);
    record.accesses.iter().find(is_buffer)
}

/// Tells if an operation waited until its destination was free.
pub fn waits_for_buffer(record: &Record) -> bool {
    let Some(Wait::Hazard(dependency)) = record.wait else { return false };
    let frees = matches!(dependency.hazard, Hazard::WriteAfterRead | Hazard::WriteAfterWrite);
    frees && written(record).is_some_and(|written| written.memory == dependency.memory)
}

/// Bytes of DM behind all tensors of a segment.
pub fn free_dm(segment: &[&Record]) -> u64 {
    let accesses = segment.iter().flat_map(|record| record.accesses.iter());
    let ends = accesses.filter(|access| access.memory == MemoryKind::Dm).map(|access| access.of.end);
    (DM_BYTES as u64).saturating_sub(ends.max().unwrap_or(0))
}

/// Puts every second tensor that these operations write into another buffer. `None` if there is no room for it, or if
/// several of them write the same tensor.
pub fn in_two_buffers(segment: &[&Record], of_line: &[usize], mut works: Vec<Work>) -> Option<Vec<Work>> {
    let first = written(segment[*of_line.first()?])?;
    let (memory, bytes) = (first.memory, first.of.end - first.of.start);
    let has_room = match memory {
        MemoryKind::Dm => bytes <= free_dm(segment),
        _ => bytes <= TRF_BYTES as u64 / 2,
    };
    // There are two buffers already: a third one is another question.
    let starts = of_line.iter().filter_map(|place| written(segment[*place])).map(|access| access.of.start);
    let is_one = starts.clone().all(|start| start == first.of.start);
    if !has_room || !is_one {
        return None;
    }
    let mut moved: LiteMap<FillId, bool> = LiteMap::new();
    for (turn, place) in of_line.iter().enumerate() {
        let fill = written(segment[*place])?.tensor.fill;
        if moved.insert(fill, turn % 2 == 1).is_some() {
            return None;
        }
    }
    const ELSEWHERE: u64 = 1 << 40;
    for work in &mut works {
        let is_moved =
            |access: &Access| access.memory == memory && moved.get(&access.tensor.fill) == Some(&true);
        if work.accesses.iter().any(is_moved) {
            let mut accesses = work.accesses.to_vec();
            for access in accesses.iter_mut().filter(|access| is_moved(access)) {
                access.bytes = access.bytes.start + ELSEWHERE..access.bytes.end + ELSEWHERE;
            }
            work.accesses = accesses.into();
        }
    }
    Some(works)
}

/// Accesses of a load, in HBM and in DM. `None` if the operation is no load.
pub fn load(record: &Record) -> Option<(&Access, &Access)> {
    let [source, destination] = &record.accesses[..] else { return None };
    let memories = (source.memory, destination.memory) == (MemoryKind::Hbm, MemoryKind::Dm);
    (record.operation == "to_dm" && memories).then_some((source, destination))
}

/// Tells if two loads bring the same bytes to the same slices.
pub fn are_same_loads(a: (&Access, &Access), b: (&Access, &Access)) -> bool {
    let size = |access: &Access| access.bytes.end - access.bytes.start;
    (&a.0.bytes, a.0.tensor) == (&b.0.bytes, b.0.tensor)
        && (a.1.tensor.element, a.1.tensor.mappings) == (b.1.tensor.element, b.1.tensor.mappings)
        && size(a.1) == size(b.1)
}

/// Loads of bytes that an earlier load of the segment has brought to the same slices, and that were not written since.
/// Each has its place, and true if there is room for the tensor of the first load to stay.
pub fn loads_again(segment: &[&Record]) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    // Source and destination of the first loads. The flag is true if the tensor has a place where it can stay.
    let mut known: Vec<(&Access, &Access, bool)> = Vec::new();
    let mut free = free_dm(segment);
    for (place, record) in segment.iter().enumerate() {
        for written in
            record.accesses.iter().filter(|access| access.write && access.memory == MemoryKind::Hbm)
        {
            known.retain(|(source, ..)| {
                !conflict(core::slice::from_ref(*source), core::slice::from_ref(written))
            });
        }
        let Some((source, destination)) = load(record) else { continue };
        let same = known.iter_mut().find(|(from, to, _)| are_same_loads((from, to), (source, destination)));
        match same {
            Some((.., stays)) => {
                if !*stays && let Some(rest) = free.checked_sub(destination.of.end - destination.of.start) {
                    (free, *stays) = (rest, true);
                }
                found.push((place, *stays));
            }
            None => {
                if known.len() == REMEMBERED {
                    known.remove(0);
                }
                known.push((source, destination, false));
            }
        }
    }
    found
}

/// The same operations without those at `places`.
pub fn without(mut works: Vec<Work>, places: &[usize]) -> Vec<Work> {
    for place in places {
        works[*place] = nothing(&works[*place]);
    }
    works
}

/// Tells if two operations touch the same bytes, and one of them writes there.
pub fn conflict(a: &[Access], b: &[Access]) -> bool {
    a.iter().any(|a| {
        b.iter().any(|b| {
            (a.write || b.write)
                && a.memory == b.memory
                && a.bytes.start < b.bytes.end
                && b.bytes.start < a.bytes.end
        })
    })
}

/// An operation in the place of one that is left out: it does nothing.
pub fn nothing(work: &Work) -> Work {
    let load = Arc::new(BankLoad::Nothing);
    Work { resources: Resources::default(), accesses: Arc::default(), cycles: 0, load, ..work.clone() }
}
