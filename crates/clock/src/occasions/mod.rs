//! Counts of the work that hints would spare operations: over all operations that run, kept or not.
//!
//! The rules are those of [`order`], which takes operations in the order of their numbers. Here they come in the order
//! in which they end. Operations that touch the same bytes end in the order of their numbers, and so do those of a
//! context, so both orders give the same counts.

pub mod order;

use crate::hazards::{Access, OperationNumber};
use crate::ledger::KernelCall;
use crate::record::Record;
use core::panic::Location;
use furiosa_visa_rules::command::{ContextKind, MemoryKind};
use litemap::LiteMap;
use order::{REMEMBERED, are_same_loads, conflict, is_other_load, kept_waiting, load, waits_for_buffer};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of operations between a pair of a queue. They are compared with its second operation. A pair with more
/// of them is not counted.
const BETWEEN: usize = 4096;

/// A line of a kernel: the kernel, the line, the call.
pub type LineKey = (&'static str, &'static Location<'static>, &'static str);

/// The line of an operation.
pub fn key(record: &Record) -> LineKey {
    (record.kernel.name, record.location, record.operation)
}

/// Numbers of occasions, by line.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Times that an operation waited until its buffer was free.
    pub waits_for_buffer: LiteMap<LineKey, u64>,
    /// Times that an operation loaded bytes that an earlier load of the launch had brought.
    pub loaded_again: LiteMap<LineKey, u64>,
    /// Times that a load of the first line was behind an operation of the second one, which kept their queue waiting.
    pub behind_waits: LiteMap<(LineKey, LineKey), u64>,
}

/// Operations of a queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// The last operation that has ended. The flag is true if it kept the queue waiting.
    last: Option<(OperationNumber, LineKey, Arc<[Access]>, bool)>,
    /// Operations of other contexts with larger numbers that have ended.
    since: Vec<(OperationNumber, Arc<[Access]>)>,
    /// The largest number of an operation that found no room in `since`.
    dropped: Option<OperationNumber>,
}

/// Counts occasions as operations end.
#[derive(Clone, Debug, Default)]
pub struct Occasions {
    /// The counts so far.
    pub counts: Counts,
    launch: KernelCall,
    loads: VecDeque<Arc<[Access]>>,
    queues: [Queue; 2],
}

impl Occasions {
    /// Adds an operation that has ended.
    pub fn add(&mut self, record: &Record) {
        let is_host = record.context == ContextKind::PcieDma;
        if is_host || record.kernel != self.launch {
            self.launch = record.kernel;
            self.loads.clear();
            self.queues = Default::default();
        }
        if is_host {
            return;
        }
        if waits_for_buffer(record) {
            *self.counts.waits_for_buffer.entry(key(record)).or_default() += 1;
        }
        self.load(record);
        for (queue, context) in self.queues.iter_mut().zip([ContextKind::TensorDma, ContextKind::Sub]) {
            if record.context != context {
                queue.add_other(record);
            } else if let Some(first) = queue.add(record) {
                *self.counts.behind_waits.entry((key(record), first)).or_default() += 1;
            }
        }
    }

    fn load(&mut self, record: &Record) {
        for written in
            record.accesses.iter().filter(|access| access.write && access.memory == MemoryKind::Hbm)
        {
            self.loads.retain(|known| !conflict(&known[..1], core::slice::from_ref(written)));
        }
        let Some(loaded) = load(record) else { return };
        if self.loads.iter().any(|known| are_same_loads((&known[0], &known[1]), loaded)) {
            *self.counts.loaded_again.entry(key(record)).or_default() += 1;
            return;
        }
        if self.loads.len() == REMEMBERED {
            self.loads.pop_front();
        }
        self.loads.push_back(record.accesses.clone());
    }
}

impl Queue {
    /// Adds an operation of another context that has ended.
    fn add_other(&mut self, record: &Record) {
        if self.last.as_ref().is_some_and(|last| record.number < last.0) {
            return;
        }
        if self.since.len() < BETWEEN {
            self.since.push((record.number, record.accesses.clone()));
        } else {
            self.dropped = self.dropped.max(Some(record.number));
        }
    }

    /// Adds an operation of the queue that has ended. If it is a load that could go in front of the operation before it,
    /// returns the line of that operation.
    fn add(&mut self, record: &Record) -> Option<LineKey> {
        let Record { number, accesses, .. } = record;
        let ended = (*number, key(record), accesses.clone(), kept_waiting(record));
        let last = self.last.replace(ended);
        let could_be_earlier = |(first, line, touched, waited): &(_, LineKey, Arc<[Access]>, bool)| {
            *waited
                && is_other_load(*line, record)
                && self.dropped.is_none_or(|dropped| dropped < *first)
                && !conflict(touched, accesses)
                && !self.since.iter().any(|other| other.0 < *number && conflict(&other.1, accesses))
        };
        let found = last.filter(could_be_earlier).map(|(_, line, ..)| line);
        self.since.retain(|other| other.0 > *number);
        found
    }
}
