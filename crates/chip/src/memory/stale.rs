//! Finds reads of a tensor that another tensor has overwritten.
//!
//! A read looks for later records of other tensors whose span meets its span. Bytes are compared only where there is
//! one.

use super::fills::{FillLog, Logged};
use core::ops::Range;
use core::panic::Location;
use furiosa_visa_rules::command::place::{Coordinates, Hull, spans_meet};
use furiosa_visa_rules::command::{Fault, FaultKind, Place};
use furiosa_visa_rules::sorting;
use std::collections::HashSet;

/// Bytes that are compared at a time.
const WINDOW_BYTES: u64 = 16 << 20;

impl FillLog {
    /// Refuses a read of a tensor that another tensor has overwritten since. Also refuses a read of registers through a
    /// bare handle of another type than the type of the load: each type has a different place in a register.
    pub(crate) fn check_read(
        &self,
        place: &Place,
        operation: &'static str,
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        let fill = place.fill();
        if fill.is_bare() {
            return self.check_registers(place, operation, location);
        }
        let (first, last) = match self.fillings.get(&fill) {
            Some(filling) => (filling.first, Some(filling.last)),
            None if self.is_forgotten(fill) => (0, None),
            None => return Ok(()),
        };
        let foreign = |write: &Logged| write.place.fill() != fill;
        let Some((at, bytes, culprit)) = self.lost(place, first, foreign) else {
            return Ok(());
        };
        let (start, end) = (bytes.start, bytes.end);
        let (message, help) = match (place, &culprit.place) {
            (Place::Trf(read), Place::Trf(other)) => (
                format!(
                    "the tensor in {} that is read here lost bytes {start}..{end} to a tensor in {} that was loaded \
                     over them",
                    read.address, other.address
                ),
                "load the other tensor into the half that this one does not use, or read this one first; \
                 `VISA_ADDRESSES=separate` shows whether addresses are the cause",
            ),
            (read, other) => (
                format!(
                    "the tensor in {} that is read here lost bytes {start}..{end} to the tensor in {} that was \
                     written over them",
                    read.describe(),
                    other.describe()
                ),
                "place the two tensors at addresses that do not overlap, or read the first one before the second one \
                 is written; `VISA_ADDRESSES=separate` shows whether addresses are the cause",
            ),
        };
        let fault = Fault::new(FaultKind::StaleRead, operation, location, message, help);
        let mut fault = place.blame(fault, at, bytes);
        if let Some(last) = last {
            fault = fault.after("the tensor was last written here", last);
        }
        Err(fault.after("another tensor was written over it here", culprit.location))
    }

    /// Refuses a read of registers as another type than they were loaded as. A bare handle vouches for its bytes, but
    /// the type of a load is known.
    fn check_registers(
        &self,
        place: &Place,
        operation: &'static str,
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        let Place::Trf(region) = place else { return Ok(()) };
        let element = |write: &Logged| match &write.place {
            Place::Trf(other) => other.element,
            Place::Region(other) => other.footprint.element,
        };
        let foreign = |write: &Logged| element(write) != region.element;
        let Some((at, bytes, culprit)) = self.lost(place, 0, foreign) else {
            return Ok(());
        };
        let (own_type, other_type) = (region.element, element(culprit));
        let message = format!(
            "the handle of a bare address reads {} as {own_type}, but bytes {}..{} were loaded as {other_type}",
            region.address, bytes.start, bytes.end
        );
        let help = format!(
            "read the tensor with the type {other_type}, or load it again as {own_type}: how values lie in the registers \
             depends on their type"
        );
        let fault =
            place.blame(Fault::new(FaultKind::StaleRead, operation, location, message, help), at, bytes);
        Err(fault.after("it was loaded here", culprit.location))
    }

    /// The first bytes that a read needs and whose last writer since `first` is foreign: unit, bytes, write.
    fn lost(
        &self,
        place: &Place,
        first: u64,
        foreign: impl Fn(&Logged) -> bool,
    ) -> Option<(Coordinates, Range<u64>, &Logged)> {
        let spans = place.spans();
        let meets = |write: &&Logged| write.sequence >= first && spans_meet(&write.spans, &spans);
        let mut relevant: Vec<&Logged> =
            self.writes.meeting(Hull::of(&spans)).map(|write| &**write).filter(meets).collect();
        if !relevant.iter().any(|write| foreign(write)) {
            return None;
        }
        sorting::by_key(&mut relevant, |write| write.sequence);
        let strangers =
            || relevant.iter().copied().filter(|write| foreign(write)).flat_map(|write| &write.spans);
        let start = strangers().map(|span| span.start).min().unwrap_or(0);
        let end = strangers().map(|span| span.end).max().unwrap_or(0);
        let own_start = spans.iter().map(|span| span.start).min().unwrap_or(0);
        let own_end = spans.iter().map(|span| span.end).max().unwrap_or(0);
        let window = start.max(own_start)..end.min(own_end);
        window.clone().step_by(WINDOW_BYTES as usize).find_map(|start| {
            first_overwritten(place, &relevant, &foreign, &(start..window.end.min(start + WINDOW_BYTES)))
        })
    }
}

/// The first bytes in `window` that `place` needs and whose last writer in `writes` is foreign: unit, bytes, write.
fn first_overwritten<'a>(
    place: &Place,
    writes: &[&'a Logged],
    foreign: &impl Fn(&Logged) -> bool,
    window: &Range<u64>,
) -> Option<(Coordinates, Range<u64>, &'a Logged)> {
    let by_unit = place.differs_by_unit() || writes.iter().any(|write| write.place.differs_by_unit());
    let extents = place.extents();
    let mut seen = HashSet::new();
    let mut owners = vec![0usize; (window.end - window.start) as usize];
    let index = |byte: u64| (byte - window.start) as usize;
    for chip in 0..extents.chip {
        for cluster in 0..extents.cluster {
            for slice in 0..extents.slice {
                let at = Coordinates { chip, cluster, slice };
                let there: Vec<bool> = writes
                    .iter()
                    .map(|write| {
                        let extents = write.place.extents();
                        chip < extents.chip && cluster < extents.cluster && slice < extents.slice
                    })
                    .collect();
                // Units with the same writes are alike unless a guard distinguishes them.
                if !by_unit && !seen.insert(there.clone()) {
                    continue;
                }
                owners.fill(0);
                for (k, write) in writes.iter().enumerate().filter(|&(k, _)| there[k]) {
                    let owner = if foreign(write) { k + 1 } else { 0 };
                    write.place.live_bytes(at, window, |bytes| {
                        owners[index(bytes.start)..index(bytes.end)].fill(owner);
                    });
                }
                let mut bad: Option<(Range<u64>, usize)> = None;
                place.live_bytes(at, window, |bytes| {
                    for byte in bytes {
                        let owner = owners[index(byte)];
                        match &mut bad {
                            None if owner != 0 => bad = Some((byte..byte + 1, owner)),
                            Some((range, first)) if range.end == byte && *first == owner => range.end += 1,
                            _ => {}
                        }
                    }
                });
                if let Some((bytes, owner)) = bad {
                    return Some((at, bytes, writes[owner - 1]));
                }
            }
        }
    }
    None
}
