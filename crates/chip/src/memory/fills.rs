//! Log of the writes into a memory.
//!
//! Each memory has one log. A record of it names a tensor, not its bytes. `stale.rs` uses the log to find reads of a
//! tensor that another tensor has overwritten.

use super::by_bytes::ByBytes;
use core::ops::Range;
use core::panic::Location;
use furiosa_visa_rules::command::moves::{Moves, Strip};
use furiosa_visa_rules::command::place::{Coordinates, Hull, spans_cover};
use furiosa_visa_rules::command::{FillId, Footprint, Memory, MemoryKind, Place, Region, Transfer};
use furiosa_visa_rules::mapping::Guard;
use furiosa_visa_rules::sorting;
use std::collections::{HashMap, VecDeque};

/// A write of one call.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    /// The tensor, with all positions that were written.
    pub(crate) place: Place,
    /// Guard of the positions that hold an element. `None`: all do.
    pub(crate) live: Option<Box<Guard>>,
    /// The elements that the call wrote, if this is the first write of the tensor.
    pub(crate) covered: Covered,
    /// Sources of the elements. Empty: the host.
    pub(crate) from: &'a [Place],
}

impl<'a> Write<'a> {
    /// Write of all elements of a tensor, and of nothing else.
    pub(crate) fn of(place: Place, from: &'a [Place]) -> Self {
        Self { place, live: None, covered: Covered::Whole, from }
    }

    /// Write of all elements of a tensor, and of its padding positions.
    pub(crate) fn padded(place: Place, tensor: &Region, from: &'a [Place]) -> Self {
        let guard = &tensor.footprint.guard;
        let live = (place.guard() != guard).then(|| Box::new(*guard));
        Self { live, ..Self::of(place, from) }
    }
}

/// Elements of a tensor that its first write wrote.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Covered {
    /// All of them.
    Whole,
    /// Elements that the loops reach. Loops without units apply to each slice.
    Moves(Box<[Transfer]>),
    /// Some of them; it is unknown which.
    SomeOfIt,
}

impl Covered {
    /// All elements, or the ones that the loops reach.
    pub(crate) fn by_moves(whole: bool, moves: &[Transfer]) -> Self {
        if whole { Covered::Whole } else { Covered::Moves(moves.into()) }
    }

    /// Tells if a byte of a unit belongs to a written element. `None`: unknown.
    fn holds(&self, region: &Region, unit: usize, byte: u64) -> Option<bool> {
        let moves = match self {
            Covered::Whole => return Some(true),
            Covered::SomeOfIt => return None,
            Covered::Moves(moves) => moves,
        };
        let bits = region.footprint.element.bits();
        let element = (byte.checked_sub(region.address)? * 8) as usize / bits;
        let mut found = false;
        for transfer in moves {
            let in_slice = region.memory == Memory::Vrf;
            Moves::new(transfer).for_each_strip(bits, |strip| {
                let Strip { destination, run, count, .. } = strip;
                let first = |k: usize| destination.position + k * destination.stride;
                let there = in_slice || destination.unit == unit;
                found |= there && (0..count).any(|k| (first(k)..first(k) + run).contains(&element));
            });
        }
        Some(found)
    }
}

/// A write in the log.
#[derive(Debug)]
pub(super) struct Logged {
    pub(super) sequence: u64,
    pub(super) place: Place,
    live: Option<Box<Guard>>,
    covered: Covered,
    pub(super) spans: Vec<Range<u64>>,
    /// Memory and bytes of each source. Empty: the host.
    from: Vec<(MemoryKind, Range<u64>)>,
    operation: &'static str,
    pub(super) location: &'static Location<'static>,
}

impl Logged {
    /// Tells if a byte of a unit belongs to an element of the tensor.
    fn is_element(&self, at: Coordinates, byte: u64) -> bool {
        let (Place::Region(region), Some(live)) = (&self.place, &self.live) else { return true };
        let footprint = Footprint { guard: **live, ..region.footprint };
        let mut is_live = false;
        let tensor = Place::Region(Region { footprint, ..*region });
        tensor.live_bytes(at, &(byte..byte + 1), |_| is_live = true);
        is_live
    }

    /// Tells if it wrote a byte of an element. `None`: unknown.
    fn wrote(&self, at: Coordinates, byte: u64) -> Option<bool> {
        match &self.place {
            Place::Region(region) => {
                let unit = if region.memory == Memory::Hbm { at.chip } else { at.slice_number() };
                self.covered.holds(region, unit, byte)
            }
            Place::Trf(_) => (self.covered == Covered::Whole).then_some(true),
        }
    }

    /// Reason why a byte of it is uninitialised. Continues the message `element 3 of the tensor at DM address 0, …`.
    fn why(&self, at: Coordinates, byte: u64) -> String {
        let Self { from, operation, .. } = self;
        let place =
            |(memory, bytes): &(MemoryKind, Range<u64>)| format!("{memory} {}..{}", bytes.start, bytes.end);
        if !self.is_element(at, byte) {
            return format!("which {operation} wrote over with the padding of another tensor");
        }
        match self.wrote(at, byte) {
            _ if operation.ends_with("::new") => format!("which nobody has written since {operation}"),
            Some(false) => {
                format!("which nobody wrote: {operation} wrote other elements of the tensor only")
            }
            None => format!(
                "which {operation} left out, since it wrote a part of the tensor only, or wrote as uninitialised"
            ),
            Some(true) if from.is_empty() => format!("which {operation} wrote as uninitialised"),
            Some(true) => {
                let places: Vec<String> = from.iter().map(place).collect();
                let places = places.join(" or ");
                format!("which {operation} copied from {places}, where it was uninitialised")
            }
        }
    }
}

/// Reason why an element is uninitialised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Continues the message `element 3 of the tensor at DM address 0, …`.
    pub(crate) clause: String,
    /// The call that wrote it.
    pub(crate) written: Option<&'static Location<'static>>,
}

impl Origin {
    /// An unknown origin.
    pub(crate) fn unknown() -> Self {
        Self { clause: "which is uninitialised".to_string(), written: None }
    }

    /// Origin for a bare handle: with separate addresses, it is a tensor by itself.
    pub(crate) fn of_bare_handle() -> Self {
        let clause = "which is read through a handle of a bare address: with `VISA_ADDRESSES=separate` each such handle \
                      has bytes of its own, which nobody has written";
        Self { clause: clause.to_string(), written: None }
    }
}

/// First and last write of a filling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling {
    pub(super) first: u64,
    pub(super) last: &'static Location<'static>,
    /// Number of its writes in the log.
    writes: usize,
}

/// Number of completely overwritten fillings whose calls are kept. Reads of older ones are refused without naming a
/// call.
pub(crate) const OVERWRITTEN: usize = 4096;

/// The writes into one memory, in order. A write is removed when a later one covers it.
#[derive(Debug, Default)]
pub(crate) struct FillLog {
    sequence: u64,
    pub(super) writes: ByBytes<Box<Logged>>,
    pub(super) fillings: HashMap<FillId, Filling>,
    /// The newest fillings that lost all their writes at some time. Some may have been written again.
    overwritten: VecDeque<FillId>,
    /// Number of the last filling that is no longer known, as its system counts.
    forgotten: u64,
}

/// Tells if a new write covers all of an old one.
fn covers(new: &Logged, old: &Logged) -> bool {
    let (a, b) = (new.place.extents(), old.place.extents());
    if new.place.is_dense() {
        a.chip >= b.chip
            && a.cluster >= b.cluster
            && a.slice >= b.slice
            && spans_cover(&new.spans, &old.spans)
    } else {
        match (&new.place, &old.place) {
            (Place::Region(a), Place::Region(b)) => {
                a.address == b.address && a.part == b.part && a.footprint == b.footprint
            }
            (Place::Trf(a), Place::Trf(b)) => {
                *a == furiosa_visa_rules::command::TrfRegion { fill: a.fill, ..*b }
            }
            _ => false,
        }
    }
}

impl FillLog {
    /// Notes a write.
    pub(crate) fn record(
        &mut self,
        write: Write<'_>,
        operation: &'static str,
        location: &'static Location<'static>,
    ) {
        let Write { place, live, covered, from } = write;
        self.sequence += 1;
        let sequence = self.sequence;
        let reach = |from: &Place| {
            let spans = from.spans();
            let (first, last) =
                (spans.first().map_or(0, |span| span.start), spans.last().map_or(0, |span| span.end));
            (from.memory(), first..last)
        };
        let mut from: Vec<_> = from.iter().map(reach).collect();
        from.dedup();
        let new = Logged { sequence, place, live, covered, spans: place.spans(), from, operation, location };
        let hull = Hull::of(&new.spans);
        // A tensor with padding covers only writes with the same footprint, which have the same hull.
        let covered = self.writes.remove_covered(hull, |old| covers(&new, old));
        self.writes.insert(hull, Box::new(new));
        if !place.fill().is_bare() && !hull.is_empty() {
            // A forgotten filling was overwritten by writes that may still be in the log.
            let first = if self.is_forgotten(place.fill()) { 0 } else { sequence };
            let filling = self.fillings.entry(place.fill());
            let filling = filling.or_insert(Filling { first, last: location, writes: 0 });
            (filling.last, filling.writes) = (location, filling.writes + 1);
        }
        for fill in covered.iter().map(|old| old.place.fill()) {
            let Some(filling) = self.fillings.get_mut(&fill) else { continue };
            filling.writes -= 1;
            if filling.writes == 0 {
                self.overwritten.push_back(fill);
            }
        }
        while self.overwritten.len() > OVERWRITTEN {
            let oldest = self.overwritten.pop_front().expect("there are some");
            if self.fillings.get(&oldest).is_some_and(|filling| filling.writes == 0) {
                self.fillings.remove(&oldest);
                self.forgotten = self.forgotten.max(oldest.in_system().0);
            }
        }
    }

    /// Tells if an unknown filling was written once. Fillings are numbered in the order of their first writes.
    pub(super) fn is_forgotten(&self, fill: FillId) -> bool {
        fill.in_system().0 <= self.forgotten && !self.fillings.contains_key(&fill)
    }

    /// Number of writes and of fillings in the log.
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.writes.len(), self.fillings.len())
    }

    /// Reason why a byte of a unit is uninitialised: it was unwritten, or its writer copied uninitialised elements.
    pub(crate) fn origin(&self, at: Coordinates, byte: u64) -> Origin {
        let holds = |write: &&Logged| {
            let extents = write.place.extents();
            let mut found = false;
            if at.chip < extents.chip && at.cluster < extents.cluster && at.slice < extents.slice {
                write.place.live_bytes(at, &(byte..byte + 1), |_| found = true);
            }
            found
        };
        let one = Hull::of(core::slice::from_ref(&(byte..byte + 1)));
        let mut writes: Vec<&Logged> = self.writes.meeting(one).map(|write| &**write).filter(holds).collect();
        sorting::by_key(&mut writes, |write| write.sequence);
        // The last write that wrote the byte, among the writes of the tensor that is there.
        let last = writes.last().copied();
        let of_it = writes
            .iter()
            .rev()
            .take_while(|write| last.is_some_and(|last| last.place.fill() == write.place.fill()));
        let found = of_it.copied().find(|write| write.wrote(at, byte) != Some(false)).or(last);
        match found {
            None => Origin { clause: "which was never written".to_string(), written: None },
            Some(write) => Origin { clause: write.why(at, byte), written: Some(write.location) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, FaultKind};
    use furiosa_visa_rules::command::{Footprint, Memory, Region, TrfAddress, TrfRegion};
    use furiosa_visa_rules::mapping::{Guard, GuardDigit, GuardSum};
    use furiosa_visa_rules::scalar::ElementType;

    /// Elements of one byte. The first `live` of each `period` positions hold an element.
    fn region(fill: u64, address: u64, elements: usize, live: usize, period: usize) -> Place {
        let mut guard = Guard::always(4);
        if live < period {
            guard.digits.push(GuardDigit { variable: 3, base: 1, extent: period, weight: 1 });
            guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit: live });
        }
        let element = ElementType::I8;
        let footprint = Footprint { element, chips: 1, clusters: 2, slices: 256, elements, guard };
        Place::Region(Region::whole(Memory::Dm, address, FillId(fill), footprint))
    }

    fn trf(fill: u64, address: TrfAddress, rows: usize, row_elements: usize) -> Place {
        let guard = Guard::always(5);
        Place::Trf(TrfRegion {
            address,
            fill: FillId(fill),
            element: ElementType::I8,
            rows,
            row_elements,
            guard,
        })
    }

    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    fn check(log: &FillLog, place: Place) -> Result<(), Fault> {
        log.check_read(&place, "fetch", here())
    }

    #[test]
    fn neighbours_do_not_disturb_each_other_and_overlaps_do() {
        let mut log = FillLog::default();
        let a = region(1, 0, 64, 1, 1);
        log.record(Write::of(a, &[]), "test", here());
        log.record(Write::of(region(2, 64, 64, 1, 1), &[]), "test", here());
        assert_eq!(check(&log, a), Ok(()));
        log.record(Write::of(region(3, 63, 64, 1, 1), &[]), "test", here());
        let fault = check(&log, a).expect_err("byte 63 is gone");
        assert_eq!(fault.kind, FaultKind::StaleRead);
        let extent = fault.extent.as_ref().expect("a stale read is somewhere");
        assert_eq!((extent.unit, extent.bytes.clone()), (0, 63..64));
        assert_eq!(fault.places.len(), 2);
        assert_ne!(fault.places[0].location.line(), 0);
        // A second write makes the first tensor whole again. The other one stays damaged.
        log.record(Write::of(a, &[]), "test", here());
        assert_eq!(check(&log, a), Ok(()));
        assert!(check(&log, region(3, 63, 64, 1, 1)).is_err());
        assert_eq!(check(&log, region(0, 0, 512, 1, 1)), Ok(()), "a handle from an address is not checked");
    }

    #[test]
    fn tensors_may_lie_in_each_others_padding() {
        let mut log = FillLog::default();
        let (a, b) = (region(1, 0, 64, 3, 8), region(2, 4, 64, 4, 8));
        log.record(Write::of(a, &[]), "test", here());
        log.record(Write::of(b, &[]), "test", here());
        assert_eq!((check(&log, a), check(&log, b)), (Ok(()), Ok(())));
        log.record(Write::of(region(3, 2, 64, 1, 8), &[]), "test", here());
        let bytes = check(&log, a).expect_err("byte 2 is gone").extent.map(|extent| extent.bytes);
        assert_eq!(bytes, Some(2..3));
        assert_eq!(check(&log, b), Ok(()));
    }

    #[test]
    fn an_uninitialised_element_has_an_origin() {
        let mut log = FillLog::default();
        let source = region(1, 4096, 64, 1, 1);
        log.record(Write::of(region(2, 0, 64, 3, 8), &[source]), "DMA", here());
        log.record(Write::of(region(3, 4, 1, 1, 1), &[]), "to_hbm", here());
        let clause = |slice, byte| log.origin(Coordinates::of_slice(slice), byte).clause;
        let copied = "which DMA copied from DM 4096..4160, where it was uninitialised";
        assert_eq!((clause(0, 2), clause(300, 8)), (copied.to_string(), copied.to_string()));
        assert_eq!(clause(0, 3), "which was never written", "padding");
        assert_eq!(clause(0, 64), "which was never written", "behind the tensor");
        assert_eq!(clause(512, 2), "which was never written", "another chip");
        assert_eq!(clause(0, 4), "which to_hbm wrote as uninitialised");
        assert!(log.origin(Coordinates::of_slice(0), 2).written.is_some());
    }

    #[test]
    fn a_view_is_stale_only_where_it_looks() {
        let mut log = FillLog::default();
        log.record(Write::of(region(1, 0, 64, 1, 1), &[]), "test", here());
        log.record(Write::of(region(2, 32, 8, 1, 1), &[]), "test", here());
        assert_eq!(check(&log, region(1, 0, 32, 1, 1)), Ok(()));
        assert_eq!(check(&log, region(1, 40, 24, 1, 1)), Ok(()));
        assert!(check(&log, region(1, 39, 1, 1, 1)).is_err());
        // Only the covered part of the first tensor is written again.
        log.record(Write::of(region(1, 32, 8, 1, 1), &[]), "test", here());
        assert_eq!(check(&log, region(1, 0, 64, 1, 1)), Ok(()));
    }

    #[test]
    fn covered_writes_are_forgotten_without_losing_the_fault() {
        let mut log = FillLog::default();
        log.record(Write::of(region(1, 0, 64, 1, 1), &[]), "test", here());
        for fill in 2..100 {
            log.record(Write::of(region(fill, 0, 128, 3, 4), &[]), "test", here());
        }
        assert_eq!(log.len(), (2, 99));
        log.record(Write::of(region(200, 0, 128, 1, 1), &[]), "test", here());
        assert_eq!(log.len(), (1, 100));
        log.record(Write::of(region(1, 64, 64, 1, 1), &[]), "test", here());
        assert!(
            check(&log, region(1, 0, 64, 1, 1)).is_err(),
            "the first half was lost before the second was written"
        );
        log.record(Write::of(region(0, 64, 8, 1, 1), &[]), "test", here());
        assert!(check(&log, region(1, 64, 64, 1, 1)).is_err(), "an unknown tensor is another tensor");
    }

    /// Tensors at the same bytes, one after another: the log does not grow with them, and does not confuse them.
    #[test]
    fn overwritten_tensors_are_forgotten_and_still_refused() {
        let mut log = FillLog::default();
        let tensor = |fill| region(fill, 0, 64, 1, 1);
        let last = 3 * OVERWRITTEN as u64;
        for fill in 1..=last {
            log.record(Write::of(tensor(fill), &[]), "test", here());
            assert!(log.len().0 == 1 && log.len().1 <= OVERWRITTEN + 1, "{fill}");
        }
        assert_eq!(check(&log, tensor(last)), Ok(()));
        let places =
            |log: &FillLog, fill| check(log, tensor(fill)).expect_err("it is overwritten").places.len();
        let known = last - OVERWRITTEN as u64;
        assert_eq!([last - 1, known, known - 1, 1].map(|fill| places(&log, fill)), [2, 2, 1, 1]);
        // A second write of a part of the tensor does not bring back the rest.
        log.record(Write::of(region(1, 0, 32, 1, 1), &[]), "test", here());
        assert_eq!((places(&log, 1), check(&log, region(1, 0, 32, 1, 1))), (2, Ok(())));
        // A tensor that is still there is not forgotten, however old it is.
        let mut log = FillLog::default();
        log.record(Write::of(region(1, 64, 64, 1, 1), &[]), "test", here());
        (2..=last).for_each(|fill| log.record(Write::of(tensor(fill), &[]), "test", here()));
        assert_eq!(check(&log, region(1, 64, 64, 1, 1)), Ok(()));
        log.record(Write::of(region(last + 1, 64, 1, 1, 1), &[]), "test", here());
        assert_eq!(check(&log, region(1, 64, 64, 1, 1)).map_err(|fault| fault.places.len()), Err(2));
    }

    #[test]
    fn halves_of_the_register_file_overlap_the_whole() {
        let mut log = FillLog::default();
        let (first, second) =
            (trf(1, TrfAddress::FirstHalf, 8, 4096), trf(2, TrfAddress::SecondHalf, 8, 4096));
        log.record(Write::of(first, &[]), "test", here());
        log.record(Write::of(second, &[]), "test", here());
        assert_eq!((check(&log, first), check(&log, second)), (Ok(()), Ok(())));
        // Half of each bank row is the first half of the file.
        log.record(Write::of(trf(3, TrfAddress::Full, 8, 4096), &[]), "test", here());
        let extent = check(&log, first).expect_err("overwritten").extent;
        assert_eq!(extent.map(|extent| extent.bytes.start), Some(0));
        assert_eq!(check(&log, second), Ok(()));
        log.record(Write::of(second, &[]), "test", here());
        assert_eq!(check(&log, trf(3, TrfAddress::Full, 8, 4096)), Ok(()));
        log.record(Write::of(trf(4, TrfAddress::Full, 8, 4097), &[]), "test", here());
        assert!(check(&log, second).is_err());
    }
}
