//! Start and end of each operation: program order, resources, hazards.
//!
//! ```text
//!   start(op) = max(end of the operation before it on every resource it holds,
//!                   end of every operation it depends on)
//! ```
//!
//! Nothing is reordered inside a context; operations of different contexts overlap. Operations wait in a window of
//! [`WINDOW`]: an operation further behind an unfinished one has not been given yet (assumed).

use super::contention::{BankLoad, Meeting, meet, yields};
use super::hazards::{Access, Dependency, Hazards, OperationNumber};
use core::fmt;
use furiosa_visa_rules::command::{CONTEXTS, ContextKind};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of operations that wait at the same time. Assumed.
pub const WINDOW: usize = 4096;

/// Number of pieces of memory that hazards may always keep.
const PIECES: usize = 1024;

/// Part of the chip that an operation holds while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// A context, which runs one operation at a time.
    Context(ContextKind),
    /// The engines between Switch and Commit. The main context always holds them, the sub context if it computes.
    Compute,
}

const RESOURCES: usize = CONTEXTS + 1;

impl Resource {
    /// All resources.
    pub const ALL: [Resource; RESOURCES] = [
        Resource::Context(ContextKind::Main),
        Resource::Context(ContextKind::Sub),
        Resource::Context(ContextKind::TensorDma),
        Resource::Context(ContextKind::PcieDma),
        Resource::Compute,
    ];

    const fn index(self) -> usize {
        match self {
            Resource::Context(context) => context as usize,
            Resource::Compute => CONTEXTS,
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Context(context) => context.fmt(f),
            Resource::Compute => f.pad("compute engines"),
        }
    }
}

/// A set of resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources(u8);

impl Resources {
    /// A context alone.
    pub const fn of(context: ContextKind) -> Self {
        Self(1 << context as u8)
    }

    /// The set with one more resource.
    pub const fn with(self, resource: Resource) -> Self {
        Self(self.0 | 1 << resource.index())
    }

    /// Tells if a resource is in the set.
    pub const fn has(self, resource: Resource) -> bool {
        self.0 & 1 << resource.index() != 0
    }
}

/// An operation as the schedule sees it.
#[derive(Clone, Debug)]
pub struct Work {
    /// Context that gives it.
    pub context: ContextKind,
    /// Resources that it holds.
    pub resources: Resources,
    /// The bytes that it touches.
    pub accesses: Arc<[Access]>,
    /// Cycles that it takes when nothing else runs.
    pub cycles: u64,
    /// Its accesses to the banks of DM. Operations without a load slow no others down.
    pub load: Arc<BankLoad>,
}

/// Reason that kept an operation from starting earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The operation before it on a resource.
    Resource(Resource, OperationNumber),
    /// An operation that touches the same bytes.
    Hazard(Dependency),
}

impl Wait {
    /// The operation that was waited for.
    pub const fn on(&self) -> OperationNumber {
        match self {
            Wait::Resource(_, on) => *on,
            Wait::Hazard(dependency) => dependency.on,
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Resource(resource, on) => write!(f, "#{on} holds {resource}"),
            Wait::Hazard(Dependency { on, hazard, memory, byte }) => {
                write!(f, "#{on}, {hazard} of {memory} byte {byte}")
            }
        }
    }
}

/// Time in which an operation ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The operation.
    pub number: OperationNumber,
    /// Its first cycle.
    pub start: u64,
    /// The first cycle after it.
    pub end: u64,
    /// Cycles for which its context was idle before it.
    pub idle: u64,
    /// Its last wait. `None` if it could start at once.
    pub wait: Option<Wait>,
    /// The operations beside it that go first at the banks of DM, each with the result of their meeting.
    pub met: Vec<(OperationNumber, Meeting)>,
}

#[derive(Debug)]
struct Slot {
    work: Work,
    waits: Vec<Wait>,
    /// Operations that wait for this one.
    followers: Vec<OperationNumber>,
    start: Option<u64>,
    wait: Option<Wait>,
    idle: u64,
    ended: bool,
    met: Vec<(OperationNumber, Meeting)>,
}

/// An operation that has ended while one that it may have slowed down still runs.
#[derive(Debug)]
struct Recent {
    number: OperationNumber,
    context: ContextKind,
    start: u64,
    end: u64,
    load: Arc<BankLoad>,
}

/// Places operations in time. [`Schedule::add`] takes operations, and [`Schedule::advance`] returns them in the order
/// in which they end.
#[derive(Debug, Default)]
pub struct Schedule {
    now: u64,
    hazards: Hazards,
    /// Number of pieces that hazards may keep. Beyond it, pieces that no operation waits for are forgotten.
    most_pieces: usize,
    last: [Option<OperationNumber>; RESOURCES],
    context_end: [u64; CONTEXTS],
    /// The number of the first slot.
    first: OperationNumber,
    slots: VecDeque<Slot>,
    unfinished: usize,
    running: Vec<(u64, OperationNumber)>,
    recent: Vec<Recent>,
}

impl Schedule {
    /// An empty schedule at cycle 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// The cycle up to which everything is decided.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Cycle in which all given operations will have ended, without their delays at the banks. It decides nothing:
    /// operations that are given later may start before it.
    pub fn outlook(&self) -> u64 {
        let mut ends: Vec<u64> = Vec::with_capacity(self.slots.len());
        for (number, slot) in (self.first..).zip(&self.slots) {
            let running = self.running.iter().find(|(_, operation)| *operation == number);
            ends.push(match running {
                Some((end, _)) => *end,
                None if slot.ended => self.now,
                // The operations that it still waits for were given earlier, and have not ended.
                None => {
                    let waited = slot.waits.iter().map(|wait| ends[(wait.on() - self.first) as usize]);
                    waited.fold(self.now, u64::max) + slot.work.cycles
                }
            });
        }
        ends.into_iter().fold(self.now, u64::max)
    }

    /// Tells if the window is full: some operations must be decided before the next one is given.
    pub fn is_full(&self) -> bool {
        self.unfinished >= WINDOW
    }

    /// Number of pieces of memory that hazards keep.
    pub(super) fn pieces(&self) -> usize {
        self.hazards.pieces()
    }

    /// Gives an operation. It starts at [`Schedule::now`] or later.
    pub fn add(&mut self, work: Work) -> OperationNumber {
        let number = self.first + self.slots.len() as u64;
        let mut waits: Vec<Wait> = Vec::new();
        for resource in Resource::ALL {
            if work.resources.has(resource) {
                let before = self.last[resource.index()].replace(number);
                waits.extend(before.map(|on| Wait::Resource(resource, on)));
            }
        }
        if self.pieces() > self.most_pieces {
            self.hazards.forget_before(self.first);
            self.most_pieces = PIECES.max(2 * self.pieces());
        }
        let hazards = self.hazards.touch(number, work.context, &work.accesses);
        waits.extend(hazards.into_iter().flatten().map(Wait::Hazard));
        waits.retain(|wait| self.slot(wait.on()).is_some_and(|slot| !slot.ended));
        for wait in &waits {
            let on = wait.on();
            self.slot(on).expect("it has not ended").followers.push(number);
        }
        let free = waits.is_empty();
        self.slots.push_back(Slot {
            work,
            waits,
            followers: Vec::new(),
            start: None,
            wait: None,
            idle: 0,
            ended: false,
            met: Vec::new(),
        });
        self.unfinished += 1;
        if free {
            self.start(number, None);
        }
        number
    }

    fn slot(&mut self, number: OperationNumber) -> Option<&mut Slot> {
        let index = number.checked_sub(self.first)?;
        self.slots.get_mut(index as usize)
    }

    fn start(&mut self, number: OperationNumber, wait: Option<Wait>) {
        let now = self.now;
        let context_end = self.context_end;
        let slot = self.slot(number).expect("it waits");
        slot.start = Some(now);
        slot.wait = wait;
        slot.idle = now - context_end[slot.work.context as usize];
        let end = now + slot.work.cycles;
        self.running.push((end, number));
    }

    /// End of an operation with its delays by operations that go first at the banks. `end` is the end known so far.
    fn end_beside_others(&mut self, number: OperationNumber, end: u64) -> u64 {
        let first = self.first;
        let slot = &self.slots[(number - first) as usize];
        let (context, start) = (slot.work.context, slot.start.expect("it runs"));
        if matches!(context, ContextKind::Main | ContextKind::PcieDma)
            || matches!(*slot.work.load, BankLoad::Nothing)
        {
            return end;
        }
        let mut met = Vec::new();
        let mut other = |number: OperationNumber,
                         other_context: ContextKind,
                         from: u64,
                         to: u64,
                         load: &Arc<BankLoad>| {
            let known = slot.met.iter().any(|(known, _)| *known == number);
            if !known && yields(context, other_context) && from < end && to > start {
                met.push((number, meet((&slot.work.load, start), (load, from))));
            }
        };
        for recent in &self.recent {
            other(recent.number, recent.context, recent.start, recent.end, &recent.load);
        }
        for (to, running) in &self.running {
            let beside = &self.slots[(running - first) as usize];
            other(*running, beside.work.context, beside.start.expect("it runs"), *to, &beside.work.load);
        }
        let slot = &mut self.slots[(number - first) as usize];
        slot.met.extend(met);
        let delay: u64 = slot.met.iter().map(|(_, meeting)| meeting.delay).sum();
        end.max(start + slot.work.load.cycles() + delay)
    }

    /// Goes on to the end of the next operation. `None` if nothing runs.
    pub fn advance(&mut self) -> Option<Scheduled> {
        let (end, number) = loop {
            let (index, (end, number)) =
                self.running.iter().copied().enumerate().min_by_key(|(_, running)| *running)?;
            let later = self.end_beside_others(number, end);
            if later == end {
                self.running.swap_remove(index);
                break (end, number);
            }
            self.running[index].0 = later;
        };
        self.now = end;
        let slot = self.slot(number).expect("it runs");
        slot.ended = true;
        let followers = core::mem::take(&mut slot.followers);
        let scheduled = Scheduled {
            number,
            start: slot.start.expect("it runs"),
            end,
            idle: slot.idle,
            wait: slot.wait,
            met: core::mem::take(&mut slot.met),
        };
        let (context, load, start) = (slot.work.context, slot.work.load.clone(), scheduled.start);
        self.context_end[context as usize] = end;
        self.unfinished -= 1;
        if matches!(context, ContextKind::Main | ContextKind::Sub) {
            self.recent.push(Recent { number, context, start, end, load });
        }
        let first = self.first;
        let starts = self.running.iter().map(|(_, operation)| self.slots[(operation - first) as usize].start);
        let oldest = starts.flatten().min().unwrap_or(end);
        self.recent.retain(|recent| recent.end > oldest);
        for follower in followers {
            let slot = self.slot(follower).expect("it waits");
            let before = slot.waits.len();
            // If an operation waits for another one for several reasons, a shared byte says more than a resource.
            let why = slot.waits.iter().rfind(|wait| wait.on() == number).copied();
            slot.waits.retain(|wait| wait.on() != number);
            if before > 0 && slot.waits.is_empty() {
                self.start(follower, why);
            }
        }
        while self.slots.front().is_some_and(|slot| slot.ended) {
            self.slots.pop_front();
            self.first += 1;
        }
        Some(scheduled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::hazards::{Hazard, Held};
    use super::*;
    use furiosa_visa_rules::command::MemoryKind;

    fn work(context: ContextKind, cycles: u64, reads: &[u64], writes: &[u64]) -> Work {
        let access = |buffer: &u64, write| {
            let bytes = *buffer..*buffer + 64;
            Access { memory: MemoryKind::Dm, of: bytes.clone(), bytes, write, tensor: Held::UNKNOWN }
        };
        let accesses = reads.iter().map(|buffer| access(buffer, false));
        let accesses = accesses.chain(writes.iter().map(|buffer| access(buffer, true))).collect();
        let load = Arc::new(BankLoad::Nothing);
        Work { context, resources: Resources::of(context), accesses, cycles, load }
    }

    fn run(works: Vec<Work>) -> Vec<Scheduled> {
        let mut schedule = Schedule::new();
        let count = works.len();
        for work in works {
            schedule.add(work);
        }
        let mut ended: Vec<_> = std::iter::from_fn(|| schedule.advance()).collect();
        ended.sort_by_key(|scheduled| scheduled.number);
        assert_eq!(ended.len(), count);
        ended
    }

    fn times(ended: &[Scheduled]) -> Vec<(u64, u64)> {
        ended.iter().map(|scheduled| (scheduled.start, scheduled.end)).collect()
    }

    /// Three tiles, DMA 600 each, main 400 each.
    fn tiles(buffers: [u64; 3]) -> Vec<Work> {
        let [a, b, c] = buffers;
        vec![
            work(ContextKind::TensorDma, 600, &[], &[a]),
            work(ContextKind::Main, 400, &[a], &[]),
            work(ContextKind::TensorDma, 600, &[], &[b]),
            work(ContextKind::Main, 400, &[b], &[]),
            work(ContextKind::TensorDma, 600, &[], &[c]),
            work(ContextKind::Main, 400, &[c], &[]),
        ]
    }

    #[test]
    fn two_buffers_overlap() {
        let ended = run(tiles([0, 64, 0]));
        let expected = [(0, 600), (600, 1000), (600, 1200), (1200, 1600), (1200, 1800), (1800, 2200)];
        assert_eq!(times(&ended), expected);
        // The outlook is right before anything is decided, and at each step.
        let mut schedule = Schedule::new();
        tiles([0, 64, 0]).into_iter().for_each(|work| assert!(schedule.add(work) < 6));
        assert_eq!((schedule.now(), schedule.outlook()), (0, 2200));
        while let Some(scheduled) = schedule.advance() {
            assert_eq!((schedule.now(), schedule.outlook()), (scheduled.end, 2200));
        }
        // D2 waited for D1, not for M0, which had read its buffer and ended at 1000.
        assert_eq!(ended[4].wait, Some(Wait::Resource(Resource::Context(ContextKind::TensorDma), 2)));
        let hazard = Dependency { on: 4, hazard: Hazard::ReadAfterWrite, memory: MemoryKind::Dm, byte: 0 };
        assert_eq!((ended[5].wait, ended[5].idle), (Some(Wait::Hazard(hazard)), 200));
    }

    /// [`WINDOW`] operations may wait, one more may not.
    #[test]
    fn the_window_is_full() {
        let mut schedule = Schedule::new();
        for _ in 0..WINDOW {
            assert!(!schedule.is_full());
            schedule.add(work(ContextKind::Main, 1, &[0], &[0]));
        }
        assert!(schedule.is_full());
        assert_eq!(schedule.advance().map(|scheduled| scheduled.end), Some(1));
        assert!(!schedule.is_full());
    }

    #[test]
    fn one_buffer_alternates() {
        let ended = run(tiles([0, 0, 0]));
        assert_eq!(ended[5].end, 3000);
        let hazard = Dependency { on: 1, hazard: Hazard::WriteAfterRead, memory: MemoryKind::Dm, byte: 0 };
        assert_eq!((ended[2].wait, ended[2].start), (Some(Wait::Hazard(hazard)), 1000));
    }

    #[test]
    fn contexts_that_share_nothing_start_together() {
        let ended = run(vec![
            work(ContextKind::Main, 10, &[0], &[64]),
            work(ContextKind::Sub, 7, &[0], &[128]),
            work(ContextKind::Main, 10, &[0], &[192]),
            work(ContextKind::PcieDma, 1, &[], &[]),
        ]);
        assert_eq!(times(&ended), [(0, 10), (0, 7), (10, 20), (0, 1)]);
        assert_eq!(ended[1].wait, None);
    }

    #[test]
    fn compute_engines_are_held_by_one() {
        let mut sub = work(ContextKind::Sub, 5, &[], &[]);
        sub.resources = sub.resources.with(Resource::Compute);
        let mut main = work(ContextKind::Main, 10, &[], &[]);
        main.resources = main.resources.with(Resource::Compute);
        let ended = run(vec![main.clone(), sub, main]);
        assert_eq!(times(&ended), [(0, 10), (10, 15), (15, 25)]);
        assert_eq!(ended[1].wait, Some(Wait::Resource(Resource::Compute, 0)));
        assert_eq!(ended[1].wait.expect("it waited").to_string(), "#0 holds compute engines");
    }

    #[test]
    fn an_operation_of_no_cycles_ends_where_it_starts() {
        let ended = run(vec![work(ContextKind::Main, 0, &[], &[0]), work(ContextKind::Sub, 3, &[0], &[])]);
        assert_eq!(times(&ended), [(0, 0), (0, 3)]);
    }

    /// Compares with the start rule, applied in program order.
    #[test]
    fn random_programs_follow_the_start_rule() {
        let mut seed = 3u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..200 {
            let works: Vec<_> = (0..40)
                .map(|_| {
                    let context = ContextKind::ALL[next(4) as usize];
                    let mut drawn = work(context, next(50), &[next(6) * 32], &[next(6) * 32]);
                    if next(3) == 0 {
                        drawn.resources = drawn.resources.with(Resource::Compute);
                    }
                    drawn
                })
                .collect();
            let ended = run(works.clone());
            let mut expected: Vec<(u64, u64)> = Vec::new();
            for (k, later) in works.iter().enumerate() {
                let mut start = 0;
                for (earlier, (_, end)) in works.iter().zip(&expected) {
                    let shares_resource =
                        Resource::ALL.iter().any(|r| later.resources.has(*r) && earlier.resources.has(*r));
                    let shares_bytes = later.accesses.iter().any(|a| {
                        earlier.accesses.iter().any(|b| {
                            (a.write || b.write) && a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end
                        })
                    });
                    if shares_resource || shares_bytes {
                        start = start.max(*end);
                    }
                }
                expected.push((start, start + later.cycles));
                assert_eq!((ended[k].start, ended[k].end), expected[k], "operation {k}");
            }
        }
    }
}
