//! Operations that repeat others: counted, and not kept one by one.
//!
//! ```text
//!   for block in 0..1000 { load(…); multiply(…); store(…) }
//!
//!   #0 load  #1 multiply  #2 store  #3 load  …  #767 store      kept: the first 256 of each line
//!   #768 load and 743 more, every 3 operations and 5120 cycles  one entry for each line
//! ```
//!
//! Two operations are alike if the same line of the same kernel gives them, with the same call in the same context; if
//! their tensors have equal memories, bytes and element types; and if the engines have equal plans. The plan of a pass
//! is the time of every stage, that of a transfer is the number of commands, requests and engines. Addresses, the
//! cycles of the operation, and the launch may differ. So the kept data grows with the program, not with the turns of
//! its loops.

use super::dma::DmaTime;
use super::hazards::OperationNumber;
use super::record::{Record, Timing};
use core::panic::Location;
use std::collections::HashMap;

/// Maximum number of operations that are alike and kept one by one.
pub const KEPT_ALIKE: usize = 256;

/// Operations that repeat a kept operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// First of all alike operations. It is kept, as are the next ones before [`Repeats::first`].
    pub like: OperationNumber,
    /// Number of operations that are not kept.
    pub count: u64,
    /// First operation that is not kept.
    pub first: OperationNumber,
    /// Last operation that is not kept.
    pub last: OperationNumber,
    /// The first cycle of the first one.
    pub start: u64,
    /// The end of the last one.
    pub end: u64,
    /// Operations and cycles from the start of each to the start of the next one. `None` if they differ, or for a
    /// single operation.
    pub period: Option<(u64, u64)>,
    /// Sum of their cycles.
    pub cycles: u64,
    /// The cycles of the shortest one.
    pub least: u64,
    /// The cycles of the longest one.
    pub most: u64,
}

impl Repeats {
    fn new(like: OperationNumber, record: &Record) -> Self {
        let Record { number, start, end, .. } = *record;
        let cycles = record.cycles();
        Self {
            like,
            count: 1,
            first: number,
            last: number,
            start,
            end,
            period: None,
            cycles,
            least: cycles,
            most: cycles,
        }
    }

    /// Adds the next one. `distance`: operations and cycles from the start of the last one to its start.
    fn add(&mut self, record: &Record, distance: (u64, u64)) {
        let cycles = record.cycles();
        self.period = match self.count {
            1 => Some(distance),
            _ => self.period.filter(|known| *known == distance),
        };
        self.count += 1;
        (self.last, self.end) = (record.number, record.end);
        self.cycles += cycles;
        (self.least, self.most) = (self.least.min(cycles), self.most.max(cycles));
    }
}

/// Operations that are alike.
#[derive(Clone, Debug)]
struct Alike {
    /// Index of the first one among those that are kept.
    first: usize,
    kept: usize,
    /// Index of the entry for the others.
    repeats: Option<usize>,
    /// Number and start of the last one.
    last: (OperationNumber, u64),
}

/// Decision about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is kept by itself, as the next one.
    Alone,
    /// It is counted with others.
    Counted,
    /// It is neither kept nor counted: no room is left for another kind of operation.
    Neither,
}

/// Groups of operations that are alike, by their line.
#[derive(Clone, Debug, Default)]
pub(super) struct Fold {
    by_line: HashMap<&'static Location<'static>, Vec<Alike>>,
}

impl Fold {
    /// Decides if an operation is kept behind those in `records`, and counts it if it is not kept.
    pub(super) fn add(
        &mut self,
        record: &Record,
        records: &[Record],
        repeats: &mut Vec<Repeats>,
        room: usize,
    ) -> Kept {
        let known = self.by_line.get_mut(record.location);
        let Some(alike) =
            known.and_then(|all| all.iter_mut().find(|group| are_alike(&records[group.first], record)))
        else {
            if records.len() >= room {
                return Kept::Neither;
            }
            let last = (record.number, record.start);
            let group = Alike { first: records.len(), kept: 1, repeats: None, last };
            self.by_line.entry(record.location).or_default().push(group);
            return Kept::Alone;
        };
        let last = core::mem::replace(&mut alike.last, (record.number, record.start));
        if alike.kept < KEPT_ALIKE && records.len() < room {
            alike.kept += 1;
            return Kept::Alone;
        }
        match alike.repeats {
            Some(place) => {
                let (number, start) = last;
                let distance = (record.number.saturating_sub(number), record.start.saturating_sub(start));
                repeats[place].add(record, distance);
            }
            None => {
                alike.repeats = Some(repeats.len());
                repeats.push(Repeats::new(records[alike.first].number, record));
            }
        }
        Kept::Counted
    }
}

/// Tells if operations of the same line are alike.
pub fn are_alike(a: &Record, b: &Record) -> bool {
    let amounts = [a, b].map(|record| {
        let amount = &record.amount;
        (amount.read_bytes, amount.written_bytes, amount.products)
    });
    let same_tensors = || {
        a.accesses.iter().zip(b.accesses.iter()).all(|(a, b)| {
            let bytes = [a, b].map(|access| access.bytes.end.saturating_sub(access.bytes.start));
            (a.memory, a.write, a.tensor.element) == (b.memory, b.write, b.tensor.element)
                && bytes[0] == bytes[1]
        })
    };
    a.operation == b.operation
        && a.context == b.context
        && a.kernel.name == b.kernel.name
        && a.memories == b.memories
        && amounts[0] == amounts[1]
        && a.accesses.len() == b.accesses.len()
        && same_tensors()
        && same_plans(&a.timing, &b.timing)
}

/// Tells if engines have equal plans. The time of a transfer depends on its addresses, that of a stage of a pass does
/// not.
fn same_plans(a: &Timing, b: &Timing) -> bool {
    match (a, b) {
        (Timing::TensorUnit(a), Timing::TensorUnit(b)) => a == b,
        (Timing::Dma(a), Timing::Dma(b)) => {
            let [a, b] = [a, b].map(|timing| {
                let all = |time: &DmaTime| (time.engines.len(), time.commands(), time.requests());
                timing.time.as_ref().map(all)
            });
            a == b
        }
        (Timing::Host(_), Timing::Host(_)) => true,
        (Timing::Bitmap(a), Timing::Bitmap(b)) | (Timing::Meeting(a), Timing::Meeting(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::BankLoad;
    use crate::cost::Cost;
    use crate::dma::{Bound, Coverage, Engine, EngineTime, SameMedium, SideTime};
    use crate::dma_timing::DmaTiming;
    use crate::hazards::{Access, Held};
    use crate::ledger::KernelCall;
    use crate::record::{Amount, Products};
    use crate::schedule::Resources;
    use crate::tensor_unit::{Stage, StageTime, TensorUnitTime};
    use furiosa_visa_rules::command::{ContextKind, FillId, MemoryKind};
    use furiosa_visa_rules::list::List;
    use furiosa_visa_rules::scalar::ElementType;
    use std::sync::Arc;

    fn pass(cycles: u64) -> Timing {
        let [occupancy, latency] = [cycles, 3].map(|cycles| Cost::documented(cycles, "test"));
        let mut stages = List::new(StageTime { stage: Stage::Fetch, occupancy, latency });
        stages.push(StageTime { stage: Stage::Fetch, occupancy, latency });
        Timing::TensorUnit(TensorUnitTime { stages, issue: Cost::documented(0, "test") })
    }

    /// A transfer by `engines` engines, each with `commands` commands and `requests` requests, in `ticks` ticks.
    fn transfer(engines: usize, commands: u64, requests: u64, ticks: u64) -> Timing {
        let engine = |pe| EngineTime {
            engine: Engine { chip: 0, cluster: 0, pe },
            commands,
            bytes: 0,
            requests,
            startup_ticks: 0,
            read: SideTime::default(),
            write: SideTime::default(),
            data_ticks: ticks,
            index_ticks: 0,
            copy_ticks: 0,
            bound: Bound::Hbm,
        };
        let time = DmaTime {
            ticks,
            bound: Bound::Hbm,
            slowest: None,
            engines: (0..engines).map(engine).collect(),
            hbm: Vec::new(),
            pcie_ticks: 0,
            rates: SameMedium::Sum.into(),
            coverage: Coverage::Exact,
            same_medium: None,
        };
        Timing::Dma(DmaTiming { cycles: ticks, time: Some(time) })
    }

    fn access(memory: MemoryKind, start: u64, bytes: u64, write: bool) -> Access {
        let bytes = start..start + bytes;
        Access { memory, of: bytes.clone(), bytes, write, tensor: Held::UNKNOWN }
    }

    /// An operation of one line, that in this function.
    fn operation() -> Record {
        let accesses = [access(MemoryKind::Dm, 0, 64, false), access(MemoryKind::Dm, 512, 32, true)];
        let products = Some(Products { count: 8, rows: 2, element: ElementType::I8 });
        Record {
            number: 0,
            kernel: KernelCall { number: 1, name: "layers" },
            part: 0,
            operation: "commit",
            context: ContextKind::Main,
            resources: Resources::of(ContextKind::Main),
            location: Location::caller(),
            start: 0,
            end: 10,
            idle: 0,
            wait: None,
            beside: Vec::new(),
            timing: pass(7),
            amount: Amount { read_bytes: 64, written_bytes: 32, products, ..Amount::default() },
            memories: (Some(MemoryKind::Dm), Some(MemoryKind::Dm)),
            accesses: accesses.into(),
            load: Arc::new(BankLoad::Nothing),
            configuration: "fetch".into(),
        }
    }

    type Change = (&'static str, fn(&mut Record));

    /// Decision about an operation that follows [`KEPT_ALIKE`] equal ones, after a change to it.
    fn after_many(change: fn(&mut Record), room: usize) -> Kept {
        let (mut fold, mut records, mut repeats) = (Fold::default(), Vec::new(), Vec::new());
        let first = operation();
        for number in 0..KEPT_ALIKE as u64 {
            let record = Record { number, ..first.clone() };
            assert_eq!(fold.add(&record, &records, &mut repeats, usize::MAX), Kept::Alone, "{number}");
            records.push(record);
        }
        let mut record = Record { number: KEPT_ALIKE as u64, ..first };
        change(&mut record);
        fold.add(&record, &records, &mut repeats, room)
    }

    #[test]
    fn operations_are_alike_but_for_place_and_time() {
        fn with(record: &mut Record, change: impl Fn(&mut [Access])) {
            let mut accesses = record.accesses.to_vec();
            change(&mut accesses);
            record.accesses = accesses.into();
        }
        fn products(record: &mut Record) -> &mut Products {
            record.amount.products.as_mut().expect("it multiplies")
        }
        let alike: [Change; 9] = [
            ("nothing", |_| {}),
            ("launch", |record| record.kernel.number = 2),
            ("cycles", |record| (record.start, record.end) = (1000, 1100)),
            ("idle", |record| record.idle = 5),
            ("beside", |record| record.beside.push((3, 9))),
            ("addresses", |record| with(record, |all| all[0] = access(MemoryKind::Dm, 4096, 64, false))),
            ("filling", |record| with(record, |all| all[1].tensor.fill = FillId(7))),
            ("words", |record| record.configuration = "fetch at 8".into()),
            ("slices", |record| Arc::make_mut(&mut record.amount.slices).insert(3)),
        ];
        for (what, change) in alike {
            assert_eq!(after_many(change, usize::MAX), Kept::Counted, "{what}");
            // Room is for kinds: an operation like a kept one needs none.
            assert_eq!(after_many(change, 1), Kept::Counted, "{what}");
        }
        let others: [Change; 19] = [
            ("line", |record| record.location = Location::caller()),
            ("call", |record| record.operation = "to_trf"),
            ("context", |record| record.context = ContextKind::Sub),
            ("kernel", |record| record.kernel.name = "head"),
            ("memory read", |record| record.memories.0 = Some(MemoryKind::Hbm)),
            ("memory written", |record| record.memories.1 = None),
            ("bytes read", |record| record.amount.read_bytes += 1),
            ("bytes written", |record| record.amount.written_bytes += 1),
            ("no products", |record| record.amount.products = None),
            ("products", |record| products(record).count += 1),
            ("rows", |record| products(record).rows += 1),
            ("type of products", |record| products(record).element = ElementType::Bf16),
            ("tensors", |record| record.accesses = record.accesses[..1].into()),
            ("memory of a tensor", |record| with(record, |all| all[0].memory = MemoryKind::Vrf)),
            ("bytes of a tensor", |record| with(record, |all| all[0].bytes.end += 1)),
            ("write", |record| with(record, |all| all[0].write = true)),
            ("element type", |record| with(record, |all| all[1].tensor.element = ElementType::Bf16)),
            ("stages", |record| record.timing = pass(8)),
            ("engines", |record| record.timing = transfer(1, 1, 1, 7)),
        ];
        for (what, change) in others {
            assert_eq!(after_many(change, usize::MAX), Kept::Alone, "{what}");
            assert_eq!(after_many(change, KEPT_ALIKE), Kept::Neither, "{what}");
        }
        // Transfers: the time depends on the addresses, the plan of the engines does not.
        let of = |a, b| same_plans(&a, &b);
        assert!(of(transfer(4, 1, 64, 300), transfer(4, 1, 64, 500)));
        let [engines, commands, requests] =
            [transfer(2, 2, 128, 300), transfer(4, 2, 64, 300), transfer(4, 1, 65, 300)];
        assert!([engines, commands, requests].into_iter().all(|timing| !of(timing, transfer(4, 1, 64, 300))));
        let none = Timing::Dma(DmaTiming { cycles: 300, time: None });
        assert!(of(none.clone(), none.clone()) && !of(none, transfer(4, 1, 64, 300)));
    }

    /// [`KEPT_ALIKE`] are kept, and one more is counted. If there is room for only one, the second one is counted.
    #[test]
    fn so_many_are_kept_and_no_more() {
        let kept = |room: usize, count: u64| {
            let (mut fold, mut records, mut repeats) = (Fold::default(), Vec::new(), Vec::new());
            for number in 0..count {
                let record = Record { number, ..operation() };
                match fold.add(&record, &records, &mut repeats, room) {
                    Kept::Alone => records.push(record),
                    Kept::Counted => {}
                    Kept::Neither => panic!("#{number} is like the first one"),
                }
            }
            (records.len() as u64, repeats.iter().map(|entry| entry.count).sum::<u64>(), repeats.len())
        };
        let most = KEPT_ALIKE as u64;
        assert_eq!(kept(usize::MAX, most), (most, 0, 0));
        assert_eq!(kept(usize::MAX, most + 1), (most, 1, 1));
        assert_eq!(kept(usize::MAX, 10 * most), (most, 9 * most, 1));
        assert_eq!(kept(1, 3), (1, 2, 1));
    }
}
