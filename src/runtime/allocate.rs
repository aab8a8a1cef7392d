//! Addresses for tensors whose place does not matter.
//!
//! ```text
//!   0             mark                               scratch mark         end
//!   ├─ alloc_dm ──▶│             free                     │◀── results of ──┤
//!   │              │                                      │    shuffles and │
//!   │              │                                      │  slice copies   │
//! ```
//!
//! `alloc_dm` and `alloc_hbm` give addresses from the lowest on, each above the one before. The calls that name no address,
//! shuffles and copies of slices, take theirs from the end of the memory down: the *scratch range*.

use crate::chip::{Fault, FaultKind};
use crate::clock::{Allocation, Allocations};
use crate::command::{Address, Memory};
use crate::spec::{DM_BYTES, HBM_BYTES, HBM_UNIT_BYTES};
use core::ops::Range;
use core::panic::Location;

/// Allocations that are remembered for the map, each.
const KEPT: usize = 4096;

/// The memories that addresses are given out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllocatedMemory {
    Hbm,
    Dm,
}

/// Gives out the bytes of a memory: from the lowest on, and from the end down as scratch.
#[derive(Debug)]
pub(super) struct Allocator {
    memory: Memory,
    operation: &'static str,
    capacity: u64,
    /// Bytes from which on addresses are multiples of as many.
    unit: u64,
    next: u64,
    /// The lowest byte of the scratch range.
    scratch: u64,
    /// The launch that made the scratch range.
    launch: u64,
    /// The first [`KEPT`] ones, and how many there are.
    given: Vec<Allocation>,
    count: u64,
}

/// The least alignment: that of transfers into DM and of commits.
const LEAST_ALIGNMENT: u64 = 8;

impl Allocator {
    /// All of HBM.
    pub(super) const fn of_hbm() -> Self {
        Self::new(Memory::Hbm, "alloc_hbm", HBM_BYTES, HBM_UNIT_BYTES as u64)
    }

    /// All of DM.
    pub(super) const fn of_dm() -> Self {
        Self::new(Memory::Dm, "alloc_dm", DM_BYTES as u64, 64)
    }

    const fn new(memory: Memory, operation: &'static str, capacity: u64, unit: u64) -> Self {
        Self {
            memory,
            operation,
            capacity,
            unit,
            next: 0,
            scratch: capacity,
            launch: 0,
            given: Vec::new(),
            count: 0,
        }
    }

    /// Bytes above all that are in use.
    pub(super) fn allocate(
        &mut self,
        bytes: u128,
        location: &'static Location<'static>,
    ) -> Result<Address, Fault> {
        let align = if bytes >= self.unit.into() { self.unit } else { LEAST_ALIGNMENT };
        let start = self.next.next_multiple_of(align);
        let end = u64::try_from(bytes).ok().and_then(|bytes| start.checked_add(bytes));
        let Some(end) = end.filter(|&end| end <= self.scratch && start < self.scratch) else {
            let (memory, capacity, free) = (self.memory, self.capacity, self.scratch.saturating_sub(start));
            let what = bytes_do(bytes);
            let message = format!(
                "{what} not fit: {start} of the {capacity} bytes of {memory} are given out, {free} are left{}",
                self.scratch_clause(),
            );
            let help = match self.memory {
                Memory::Hbm => "give bytes back with `free_hbm_from`, or use fewer or smaller tensors",
                _ => {
                    "give bytes back with `free_dm_from`, split the tensor over more slices, or work in blocks"
                }
            };
            return Err(Fault::new(FaultKind::Capacity, self.operation, location, message, help));
        };
        self.next = end;
        self.note(start..end, location);
        Ok(start)
    }

    fn note(&mut self, bytes: Range<u64>, location: &'static Location<'static>) {
        self.count += 1;
        if self.given.len() < KEPT {
            self.given.push(Allocation { bytes, location, freed: false });
        }
    }

    /// What lies at the end of the memory, as a clause.
    fn scratch_clause(&self) -> String {
        let (from, name) = (self.scratch, self.mark_name());
        match self.capacity - from {
            0 => String::new(),
            bytes => format!(
                ", and {bytes} from {from} on hold results of shuffles and of copies of slices: see `{name}`"
            ),
        }
    }

    /// The call that tells where the scratch range begins.
    const fn mark_name(&self) -> &'static str {
        match self.memory {
            Memory::Hbm => "hbm_scratch_mark",
            _ => "dm_scratch_mark",
        }
    }

    /// Bytes below all that the scratch range has.
    pub(super) fn allocate_scratch(
        &mut self,
        bytes: u64,
        operation: &'static str,
        location: &'static Location<'static>,
    ) -> Result<Address, Fault> {
        let align = if bytes >= self.unit { self.unit } else { LEAST_ALIGNMENT };
        let start = self.scratch.checked_sub(bytes).map(|start| start / align * align);
        let Some(start) = start.filter(|&start| start >= self.next && bytes > 0) else {
            let (memory, next, scratch) = (self.memory, self.next, self.scratch);
            let (what, free) = (bytes_do(bytes.into()), scratch.saturating_sub(next));
            let (given, give) = match memory {
                Memory::Hbm => ("alloc_hbm", "free_hbm_scratch"),
                _ => ("alloc_dm", "free_dm_scratch"),
            };
            let message = format!(
                "{what} not fit at the end of {memory}: `{given}` gave addresses up to {next}, and the results of shuffles \
                 and of copies of slices begin at {scratch}, so that {free} are left"
            );
            let help = format!(
                "give results back with `{give}` when nobody reads them any more, or use smaller tensors"
            );
            return Err(Fault::new(FaultKind::Capacity, operation, location, message, help));
        };
        // What alignment leaves free counts as given.
        let end = core::mem::replace(&mut self.scratch, start).min(start + bytes);
        self.note(start..end, location);
        Ok(start)
    }

    /// The lowest address of the scratch range.
    pub(super) fn scratch_mark(&self) -> Address {
        self.scratch
    }

    /// Gives back the scratch range below a mark.
    pub(super) fn free_scratch(&mut self, mark: Address) {
        let (from, to) = (self.scratch, mark.min(self.capacity));
        for own in self.given.iter_mut().filter(|own| own.bytes.start >= from && own.bytes.start < to) {
            own.freed = true;
        }
        self.scratch = from.max(to);
    }

    /// A launch goes on. What earlier ones left in the scratch range of DM is given back: no handle leaves a kernel.
    pub(super) fn enter(&mut self, launch: u64) {
        if launch != 0 && launch != self.launch && self.memory == Memory::Dm {
            self.free_scratch(self.capacity);
        }
        if launch != 0 {
            self.launch = launch;
        }
    }

    /// The address above everything in use.
    pub(super) fn mark(&self) -> Address {
        self.next
    }

    /// Gives back what lies above a mark.
    pub(super) fn free_from(&mut self, mark: Address) {
        self.next = self.next.min(mark);
        let scratch = self.scratch;
        let is_above = |own: &&mut Allocation| own.bytes.end > mark && own.bytes.start < scratch;
        for own in self.given.iter_mut().filter(is_above) {
            own.freed = true;
        }
    }

    /// The first allocations, and how many there were.
    pub(super) fn given(&self) -> Allocations<'_> {
        Allocations { given: &self.given, count: self.count }
    }
}

/// `1 byte does`, `2 bytes do`.
fn bytes_do(bytes: u128) -> String {
    if bytes == 1 { "1 byte does".to_string() } else { format!("{bytes} bytes do") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_aligned_and_do_not_overlap() {
        let here = Location::caller();
        for mut own in [Allocator::of_dm(), Allocator::of_hbm()] {
            let mut end = 0;
            for bytes in (1..600).chain([4097, 63, 64, 255, 256]) {
                let start = own.allocate(bytes.into(), here).expect("there is room");
                let unit = own.unit;
                assert!(start >= end && start.is_multiple_of(if bytes >= unit { unit } else { 8 }));
                assert!(start - end < own.unit, "no more than alignment asks for");
                end = start + bytes;
            }
            assert_eq!(own.mark(), end);
        }
    }

    /// The last byte is given, the byte after it is not.
    #[test]
    fn a_memory_ends() {
        let here = Location::caller();
        let mut dm = Allocator::of_dm();
        assert_eq!(dm.allocate(DM_BYTES as u128, here).map_err(|fault| fault.kind), Ok(0));
        let fault = dm.allocate(1, here).expect_err("it is full");
        let text = fault.to_string();
        assert_eq!(fault.kind, FaultKind::Capacity);
        assert!(
            text.starts_with(
                "fault: alloc_dm: capacity exceeded: 1 byte does not fit: 524288 of the 524288 bytes of DM are given \
                 out, 0 are left"
            ),
            "{text}"
        );
        assert!(text.contains("help: give bytes back with `free_dm_from`"), "{text}");
        dm.free_from(64);
        assert_eq!(dm.mark(), 64);
        assert!(dm.allocate(DM_BYTES as u128 - 63, here).is_err());
        assert_eq!(dm.allocate(DM_BYTES as u128 - 64, here).map_err(|fault| fault.kind), Ok(64));
        dm.free_from(u64::MAX);
        assert_eq!(dm.mark(), DM_BYTES as u64, "nothing lies above that mark");
        let freed: Vec<bool> = dm.given().given.iter().map(|own| own.freed).collect();
        assert_eq!((freed, dm.given().count), (vec![true, false], 2));
        assert!(Allocator::of_hbm().allocate(u128::from(HBM_BYTES) + 1, here).is_err());
        for bytes in [u64::MAX.into(), 1 << 64, (1 << 64) + 8] {
            let text = Allocator::of_hbm().allocate(bytes, here).expect_err("it is too large").to_string();
            assert!(
                text.contains(&format!("{bytes} bytes do not fit: 0 of the 51539607552 bytes")),
                "{text}"
            );
        }
    }

    #[test]
    fn memory_is_bounded_for_endless_programs() {
        let mut dm = Allocator::of_dm();
        for _ in 0..KEPT + 10 {
            dm.allocate(8, Location::caller()).expect("there is room");
            dm.free_from(0);
        }
        assert_eq!((dm.given().given.len(), dm.given().count), (KEPT, KEPT as u64 + 10));
    }

    /// The scratch range grows down to what was given out, and no byte further; both sides see each other.
    #[test]
    fn scratch_lies_at_the_end() {
        let here = Location::caller();
        let end = DM_BYTES as u64;
        let mut dm = Allocator::of_dm();
        let scratch = |dm: &mut Allocator, bytes| dm.allocate_scratch(bytes, "dm_chip_shuffle", here);
        assert_eq!(
            scratch(&mut dm, 100).map_err(|fault| fault.kind),
            Ok(end - 128),
            "from 64 bytes on a multiple"
        );
        assert_eq!(scratch(&mut dm, 8).map_err(|fault| fault.kind), Ok(end - 136));
        assert_eq!(dm.allocate(64, here).map_err(|fault| fault.kind), Ok(0));
        let text = dm.allocate(u128::from(end) - 199, here).expect_err("scratch is there").to_string();
        assert!(text.contains("and 136 from 524152 on hold results of shuffles"), "{text}");
        assert!(text.contains("`dm_scratch_mark`"), "{text}");
        assert_eq!(dm.allocate(u128::from(end) - 200, here).map_err(|fault| fault.kind), Ok(64));
        let fault = scratch(&mut dm, 1).expect_err("nothing is left");
        let text = fault.to_string();
        let part = "fault: dm_chip_shuffle: capacity exceeded: 1 byte does not fit at the end of DM: `alloc_dm` gave \
                    addresses up to 524152, and the results of shuffles and of copies of slices begin at 524152, so that \
                    0 are left";
        assert!(fault.kind == FaultKind::Capacity && text.starts_with(part), "{text}");
        assert!(text.contains("help: give results back with `free_dm_scratch`"), "{text}");
        dm.free_scratch(end - 128);
        assert_eq!((dm.scratch_mark(), dm.mark()), (end - 128, end - 136));
        let freed = |dm: &Allocator| dm.given().given.iter().map(|own| own.freed).collect::<Vec<_>>();
        assert_eq!(freed(&dm), [false, true, false, false]);
        dm.free_from(64);
        assert_eq!(freed(&dm), [false, true, false, true], "the first result lies above the mark and stays");
    }

    /// A launch finds the end of DM free. HBM tensors live on.
    #[test]
    fn a_launch_gives_scratch_back() {
        let here = Location::caller();
        let (mut dm, mut hbm) = (Allocator::of_dm(), Allocator::of_hbm());
        for own in [&mut dm, &mut hbm] {
            own.enter(0);
            own.allocate_scratch(256, "test", here).expect("there is room");
            own.enter(0);
            assert_eq!(own.scratch_mark(), own.capacity - 256, "no launch");
        }
        for own in [&mut dm, &mut hbm] {
            own.enter(1);
            own.allocate_scratch(256, "test", here).expect("there is room");
            own.enter(1);
        }
        assert_eq!(dm.scratch_mark(), DM_BYTES as u64 - 256, "the launch goes on");
        dm.enter(2);
        hbm.enter(2);
        assert_eq!(dm.scratch_mark(), DM_BYTES as u64);
        assert!(hbm.scratch_mark() == HBM_BYTES - 512);
    }
}
