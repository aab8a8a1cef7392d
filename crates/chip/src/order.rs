//! The order between contexts: operations that touch the same bytes although nothing makes one wait for the other.
//!
//! ```text
//!   tdma   x.to_dm(…, 0) ──────────┐ waits: both handles name the tensor
//!   main                           └▶ begin(x.view()) … commit(1024)
//!   tdma                                from_addr(1024).to_hbm(…)      no one knows that it needs the commit
//! ```
//!
//! An operation happens after the one before it in its context, and after those of other contexts whose tensors share
//! bytes with its own, one of them written, where the handles tell the scheduler so. Each operation has a clock: how many
//! operations of each context happen before it.

use super::checks::bounds::Call;
use super::memory::by_bytes::ByBytes;
use core::ops::Range;
use core::panic::Location;
use furiosa_visa_rules::command::place::{Hull, first_shared, spans_cover, spans_meet};
use furiosa_visa_rules::command::{
    CONTEXTS, CheckOptions, ContextKind, Fault, FaultKind, FillId, MemoryKind, Operation, Use,
};
use furiosa_visa_rules::sorting;

/// Per context, how many of its operations have happened.
type Clock = [u64; CONTEXTS];

/// A use, and the bytes that it spans.
#[derive(Debug)]
pub(crate) struct Touch {
    used: Use,
    spans: Vec<Range<u64>>,
}

#[derive(Debug)]
struct Access {
    /// Number of accesses that were noted before it.
    number: u64,
    context: ContextKind,
    clock: Clock,
    touch: Touch,
    location: &'static Location<'static>,
}

/// Accesses to a memory: the reads, and the writes.
type ReadsAndWrites = [ByBytes<Box<Access>>; 2];

/// The accesses since the last point at which everything was done.
#[derive(Debug, Default)]
pub(crate) struct OrderLog {
    clocks: [Clock; CONTEXTS],
    accesses: [[ReadsAndWrites; MemoryKind::ALL.len()]; CONTEXTS],
    noted: u64,
}

/// True if the chip has an operation wait for an earlier one: both are of one context, or their tensors share bytes, one of
/// them written, and the handles tell the scheduler so. All orders of a kernel that keep to this are legal.
pub fn waits_for(later: &Operation, earlier: &Operation) -> bool {
    let touches = |operation: &Operation| operation.uses().into_iter().map(Touch::new).collect::<Vec<_>>();
    let before = touches(earlier);
    let waits = |touch: &Touch| before.iter().any(|old| touch.is_ordered_after(old));
    later.context() == earlier.context() || touches(later).iter().any(waits)
}

/// An operation that may run, to be noted when it has.
#[derive(Debug)]
pub(crate) struct Admitted {
    context: ContextKind,
    accesses: Vec<Access>,
}

/// True if the scheduler knows that two tensors share bytes.
fn related(a: FillId, b: FillId) -> bool {
    (!a.is_bare() && !b.is_bare()) || (a == b && a != FillId::ANY)
}

impl Touch {
    /// A use with its bytes.
    pub(crate) fn new(used: Use) -> Self {
        Self { spans: used.place.spans(), used }
    }

    /// True if the scheduler has it wait for an earlier access.
    pub(crate) fn is_ordered_after(&self, earlier: &Touch) -> bool {
        self.conflicts(earlier) && related(earlier.used.place.fill(), self.used.place.fill())
    }

    fn conflicts(&self, other: &Touch) -> bool {
        (self.used.writes || other.used.writes)
            && self.used.place.memory() == other.used.place.memory()
            && spans_meet(&self.spans, &other.spans)
    }
}

impl Access {
    /// True if every access that conflicts with an older access of the same context conflicts with this one.
    fn replaces(&self, old: &Access) -> bool {
        let (touch, other) = (&self.touch, &old.touch);
        let (new, before) = (&touch.used.place, &other.used.place);
        let (a, b) = (new.extents(), before.extents());
        let same_handle = new.fill() == before.fill() || !(new.fill().is_bare() || before.fill().is_bare());
        self.context == old.context
            && touch.used.writes == other.used.writes
            && new.memory() == before.memory()
            && spans_cover(&touch.spans, &other.spans)
            && same_handle
            && (new.is_dense()
                || touch.spans == other.spans
                    && new.part().units == before.part().units
                    && new.guard() == before.guard())
            && a.chip >= b.chip
            && a.cluster >= b.cluster
            && a.slice >= b.slice
    }
}

impl OrderLog {
    /// Everything so far is done before anything that follows.
    pub(crate) fn barrier(&mut self) {
        self.accesses.iter_mut().flatten().flatten().for_each(ByBytes::clear);
    }

    /// Number of accesses that are kept.
    pub(crate) fn len(&self) -> usize {
        self.accesses.iter().flatten().flatten().map(ByBytes::len).sum()
    }

    /// Refuses an operation that may run at the same time as one that it conflicts with.
    pub(crate) fn admit(
        &self,
        context: ContextKind,
        uses: impl IntoIterator<Item = Use>,
        checks: &CheckOptions,
        location: &'static Location<'static>,
    ) -> Result<Admitted, Fault> {
        let mut clock = self.clocks[context as usize];
        clock[context as usize] += 1;
        let access = |used: Use| Access { number: 0, context, clock, touch: Touch::new(used), location };
        let mut accesses: Vec<Access> = uses.into_iter().map(access).collect();
        let mut open: Vec<(&Access, usize)> = Vec::new();
        for (k, new) in accesses.iter().enumerate() {
            let (memory, hull) = (new.touch.used.place.memory(), Hull::of(&new.touch.spans));
            let others = (self.accesses.iter().enumerate()).filter(|(other, _)| *other != context as usize);
            for [reads, writes] in others.map(|(_, memories)| &memories[memory as usize]) {
                let reads = reads.meeting(hull).filter(|_| new.touch.used.writes);
                for old in reads.chain(writes.meeting(hull)).filter(|old| new.touch.conflicts(&old.touch)) {
                    if new.touch.is_ordered_after(&old.touch) {
                        clock.iter_mut().zip(old.clock).for_each(|(cycle, other)| *cycle = other.max(*cycle));
                    } else {
                        open.push((old, k));
                    }
                }
            }
        }
        // The earliest one is told.
        sorting::by_key(&mut open, |(old, k)| (old.number, *k));
        for (old, k) in open {
            let at = old.context as usize;
            if clock[at] < old.clock[at] {
                refuse(old, &accesses[k], checks)?;
            }
        }
        accesses.iter_mut().for_each(|access| access.clock = clock);
        Ok(Admitted { context, accesses })
    }

    /// Notes that an operation was given.
    pub(crate) fn record(&mut self, admitted: Admitted) {
        let Admitted { context, accesses } = admitted;
        if let Some(access) = accesses.first() {
            self.clocks[context as usize] = access.clock;
        }
        for new in accesses {
            let Use { place, writes, .. } = new.touch.used;
            let hull = Hull::of(&new.touch.spans);
            let alike = &mut self.accesses[context as usize][place.memory() as usize][usize::from(writes)];
            alike.remove_covered(hull, |old| new.replaces(old));
            alike.insert(hull, Box::new(Access { number: self.noted, ..new }));
            self.noted += 1;
        }
    }
}

fn refuse(old: &Access, new: &Access, checks: &CheckOptions) -> Result<(), Fault> {
    let (first_use, second_use) = (&old.touch.used, &new.touch.used);
    let memory = second_use.place.memory();
    let registers = matches!(memory, MemoryKind::Trf | MemoryKind::Vrf);
    let reuse = registers && second_use.writes && !first_use.writes;
    if !(if reuse { checks.register_reuse } else { checks.order }) {
        return Ok(());
    }
    let Some((at, bytes)) = first_shared(&first_use.place, &second_use.place) else {
        return Ok(());
    };
    let verb = |used: &Use| if used.writes { "writes" } else { "reads" };
    let (first, second) = (old.context, new.context);
    let kind = if reuse { FaultKind::RegisterReuse } else { FaultKind::Unordered };
    let bare = [("earlier", old), ("later", new)]
        .map(|(name, access)| (name, access.touch.used.place.fill().is_bare()));
    let which = match bare {
        [(_, true), (_, true)] => "two handles were",
        [(_, true), _] => "the handle of the earlier operation was",
        _ => "the handle of the later operation was",
    };
    let message = format!(
        "`{second}` {} {} while `{first}` may not have finished the {} that {} {}: nothing orders the two, because {which} \
         made from a bare address",
        verb(second_use),
        second_use.place.describe(),
        first_use.operation,
        verb(first_use),
        first_use.place.describe()
    );
    let help = if reuse {
        "load the other part of the register file, or read the tensor through the handle that `to_trf` or `to_vrf` gave"
    } else {
        "use the handle of the tensor in both operations, or give both to one context, or end the launch between them; \
         `VISA_ADDRESSES=separate` shows whether addresses are the cause"
    };
    let label =
        if first_use.writes { "written by the other context here" } else { "read by the other context here" };
    let call = Call { operation: second_use.operation, location: new.location };
    Err(second_use.place.blame(call.fault(kind, message, help), at, bytes).after(label, old.location))
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::command::{Footprint, Memory, Place, Region};
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::scalar::ElementType;

    fn used(writes: bool, fill: u64, address: u64) -> Use {
        let guard = Guard::always(4);
        let footprint =
            Footprint { element: ElementType::I8, chips: 1, clusters: 1, slices: 4, elements: 64, guard };
        let region = Region::whole(Memory::Dm, address, FillId(fill), footprint);
        Use { place: Place::Region(region), writes, operation: "test" }
    }

    /// Gives operations to a log; whether the last one is refused. Those before are not.
    #[track_caller]
    fn last_is_refused(operations: &[(ContextKind, &[Use])]) -> bool {
        let mut log = OrderLog::default();
        let here = Location::caller();
        for (k, (context, uses)) in operations.iter().enumerate() {
            match log.admit(*context, uses.iter().copied(), &CheckOptions::ALL, here) {
                Ok(admitted) => log.record(admitted),
                Err(fault) => {
                    assert_eq!((k + 1, fault.kind), (operations.len(), FaultKind::Unordered), "{fault}");
                    return true;
                }
            }
        }
        false
    }

    const READ: bool = false;
    const WRITE: bool = true;

    #[test]
    fn handles_and_contexts_order() {
        use ContextKind::{Main, TensorDma};
        let write = &[used(WRITE, 1, 0)][..];
        assert!(!last_is_refused(&[(TensorDma, write), (Main, &[used(READ, 1, 0)])]), "the same handle");
        assert!(!last_is_refused(&[(TensorDma, write), (Main, &[used(WRITE, 2, 32)])]), "known handles");
        assert!(last_is_refused(&[(TensorDma, write), (Main, &[used(READ, 0, 0)])]));
        assert!(last_is_refused(&[(TensorDma, write), (Main, &[used(READ, 0, 63)])]), "one byte");
        assert!(!last_is_refused(&[(TensorDma, write), (Main, &[used(READ, 0, 64)])]), "the next byte");
        assert!(!last_is_refused(&[(Main, write), (Main, &[used(READ, 0, 0)])]), "one context");
        assert!(
            !last_is_refused(&[(Main, &[used(READ, 1, 0)]), (TensorDma, &[used(READ, 0, 0)])]),
            "two reads"
        );
        assert!(last_is_refused(&[(Main, &[used(READ, 0, 0)]), (TensorDma, write)]), "written after");
        let bare = 1 << 63 | 5;
        let through = |fill| [(TensorDma, [used(WRITE, bare, 0)]), (Main, [used(READ, fill, 0)])];
        let [a, b] = through(bare);
        assert!(!last_is_refused(&[(a.0, &a.1), (b.0, &b.1)]), "the same bare handle");
        let [a, b] = through(bare + 1);
        assert!(last_is_refused(&[(a.0, &a.1), (b.0, &b.1)]), "another bare handle");
    }

    /// `tdma` writes a; `main` reads a and writes b; `sub` reads b, and then a through a bare address.
    #[test]
    fn order_goes_on_through_other_contexts() {
        use ContextKind::{Main, Sub, TensorDma};
        let first = (TensorDma, &[used(WRITE, 1, 0)][..]);
        let second = (Main, &[used(READ, 1, 0), used(WRITE, 2, 128)][..]);
        let third = (Sub, &[used(READ, 2, 128)][..]);
        let last = (Sub, &[used(READ, 0, 0)][..]);
        assert!(!last_is_refused(&[first, second, third, last]));
        assert!(last_is_refused(&[first, second, last]), "without the third");
        // A later write is not ordered by what came before it.
        let again = (TensorDma, &[used(WRITE, 3, 0)][..]);
        assert!(last_is_refused(&[first, second, third, again, last]));
    }

    #[test]
    fn a_barrier_orders_everything() {
        let mut log = OrderLog::default();
        let here = Location::caller();
        let admit = |log: &OrderLog, context, used| log.admit(context, [used], &CheckOptions::ALL, here);
        let write = admit(&log, ContextKind::Sub, used(WRITE, 1, 0)).expect("it is the first");
        log.record(write);
        assert!(admit(&log, ContextKind::Main, used(READ, 0, 0)).is_err());
        let off = CheckOptions { order: false, ..CheckOptions::ALL };
        assert!(log.admit(ContextKind::Main, [used(READ, 0, 0)], &off, here).is_ok());
        log.barrier();
        assert!(admit(&log, ContextKind::Main, used(READ, 0, 0)).is_ok());
    }

    #[test]
    fn repeated_accesses_take_no_space() {
        let mut log = OrderLog::default();
        let here = Location::caller();
        for fill in 1..1000 {
            let uses = [used(READ, 1, 0), used(WRITE, fill, 128)];
            let admitted =
                log.admit(ContextKind::Main, uses, &CheckOptions::ALL, here).expect("known handles");
            log.record(admitted);
        }
        assert_eq!(log.len(), 2);
        assert!(log.admit(ContextKind::Sub, [used(READ, 0, 128)], &CheckOptions::ALL, here).is_err());
    }
}
