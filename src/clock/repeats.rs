//! Operations that repeat others: counted, and not kept one by one.
//!
//! ```text
//!   for block in 0..1000 { load(…); multiply(…); store(…) }
//!
//!   #0 load  #1 multiply  #2 store  #3 load  …  #767 store      kept: the first 256 of each line
//!   #768 load and 743 more, every 3 operations and 5120 cycles  one entry for each line
//! ```
//!
//! Operations are alike if the same line of the same kernel gives them, with the same call in the same context, and they use
//! as many bytes of the same memories as elements of the same types. Addresses, cycles, and the launch may differ. So what is
//! kept grows with the program, not with the turns of its loops.

use super::hazards::OperationNumber;
use super::record::Record;
use core::panic::Location;
use std::collections::HashMap;

/// Operations that are alike and kept one by one.
pub const KEPT_ALIKE: usize = 256;

/// Operations like one that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// The first of all that are alike. It is kept, as are those that follow up to [`Repeats::first`].
    pub like: OperationNumber,
    /// How many are not kept.
    pub count: u64,
    /// The first one of these.
    pub first: OperationNumber,
    /// The last one.
    pub last: OperationNumber,
    /// The first cycle of the first one.
    pub start: u64,
    /// The end of the last one.
    pub end: u64,
    /// Operations and cycles from the start of each to the start of the next one. `None`: they differ.
    pub period: Option<(u64, u64)>,
    /// Their cycles in all.
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

    /// Adds the next one, which starts so many operations and cycles after the last one.
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
    /// The place of the first one among those that are kept.
    first: usize,
    kept: usize,
    /// The place of the entry for the others.
    repeats: Option<usize>,
    /// Number and start of the last one.
    last: (OperationNumber, u64),
}

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is kept by itself, as the next one.
    Alone,
    /// It is counted with others.
    Counted,
    /// No room is left for another kind of operation.
    Neither,
}

/// Which operations are alike, by their line.
#[derive(Clone, Debug, Default)]
pub(super) struct Fold {
    by_line: HashMap<&'static Location<'static>, Vec<Alike>>,
}

impl Fold {
    /// Decides what becomes of an operation after those in `records`, and counts it if it is not kept.
    pub(super) fn add(
        &mut self,
        record: &Record,
        records: &[Record],
        repeats: &mut Vec<Repeats>,
        room: usize,
    ) -> Kept {
        let known = self.by_line.get_mut(record.location);
        let Some(alike) =
            known.and_then(|all| all.iter_mut().find(|own| are_alike(&records[own.first], record)))
        else {
            if records.len() >= room {
                return Kept::Neither;
            }
            let last = (record.number, record.start);
            let own = Alike { first: records.len(), kept: 1, repeats: None, last };
            self.by_line.entry(record.location).or_default().push(own);
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

/// Whether operations of the same line are alike.
fn are_alike(a: &Record, b: &Record) -> bool {
    let amounts = [a, b].map(|own| {
        let amount = &own.amount;
        (amount.read_bytes, amount.written_bytes, amount.products)
    });
    let same_tensors = || {
        a.accesses.iter().zip(b.accesses.iter()).all(|(a, b)| {
            let bytes = [a, b].map(|own| own.bytes.end.saturating_sub(own.bytes.start));
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
}
