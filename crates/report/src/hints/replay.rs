//! Operations that have run, run once more with other cycles, in another order or in other places.

use super::super::report::Report;
use furiosa_visa_clock::contention::BankLoad;
use furiosa_visa_clock::hazards::OperationNumber;
use furiosa_visa_clock::record::Record;
use furiosa_visa_clock::schedule::{Schedule, Work};
use furiosa_visa_rules::command::ContextKind;
use std::sync::Arc;

/// Maximum number of operations that are run again. They stand for the rest of a longer loop.
const LONGEST: usize = 4096;

/// Operations of one launch that follow each other, none of them left out.
pub(super) type Segment<'a> = Vec<&'a Record>;

/// All launches, cut where operations are not kept because they repeat others.
pub(super) fn segments(report: &Report) -> Vec<Segment<'_>> {
    let mut segments: Vec<Segment<'_>> = Vec::new();
    for record in report.records.iter().filter(|record| record.context != ContextKind::PcieDma) {
        let follows = |segment: &&mut Segment<'_>| {
            let last = segment.last().expect("a segment has operations");
            last.number + 1 == record.number && last.kernel == record.kernel && segment.len() < LONGEST
        };
        match segments.last_mut().filter(follows) {
            Some(segment) => segment.push(record),
            None => segments.push(vec![record]),
        }
    }
    segments
}

/// The operations of a segment as they were given. Each takes the cycles that it took, with the delay by others
/// included.
pub(super) fn works(segment: &[&Record]) -> Vec<Work> {
    let load = Arc::new(BankLoad::Nothing);
    let work = |record: &&Record| Work {
        context: record.context,
        resources: record.resources,
        accesses: record.accesses.clone(),
        cycles: record.cycles(),
        load: load.clone(),
    };
    segment.iter().map(work).collect()
}

/// The same for edits that change the times of operations but not their work. Each takes its cycles without others, and
/// meets those beside it at the banks of DM as on the clock.
pub(super) fn works_at_banks(segment: &[&Record]) -> Vec<Work> {
    let at_banks = |(work, record): (Work, &&Record)| match &*record.load {
        BankLoad::Nothing => work,
        load => Work { cycles: record.timing.cycles().max(load.cycles()), load: record.load.clone(), ..work },
    };
    works(segment).into_iter().zip(segment).map(at_banks).collect()
}

/// Cycles from the start of the first operation to the end of the last one.
pub(super) fn makespan(works: Vec<Work>) -> u64 {
    let mut schedule = Schedule::new();
    for work in works {
        while schedule.is_full() && schedule.advance().is_some() {}
        schedule.add(work);
    }
    let mut end = 0;
    while let Some(scheduled) = schedule.advance() {
        end = scheduled.end;
    }
    end
}

/// The place of an operation in a segment.
pub(super) fn place_of(segment: &[&Record], number: OperationNumber) -> Option<usize> {
    let first = segment.first()?.number;
    number.checked_sub(first).map(|place| place as usize).filter(|place| *place < segment.len())
}
