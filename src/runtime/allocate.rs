//! Addresses for tensors whose place does not matter: each above the one before.

use crate::chip::{Fault, FaultKind};
use crate::clock::{Allocation, Allocations};
use crate::command::{Address, Memory};
use crate::spec::{DM_BYTES, HBM_BYTES, HBM_UNIT_BYTES};
use core::panic::Location;

/// Allocations that are remembered for the map, each.
const KEPT: usize = 4096;

/// The memories that addresses are given out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllocatedMemory {
    Hbm,
    Dm,
}

/// Gives out the bytes of a memory from the lowest on.
#[derive(Debug)]
pub(super) struct Allocator {
    memory: Memory,
    operation: &'static str,
    capacity: u64,
    /// Bytes from which on addresses are multiples of as many.
    unit: u64,
    next: u64,
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
        Self { memory, operation, capacity, unit, next: 0, given: Vec::new(), count: 0 }
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
        let Some(end) = end.filter(|&end| end <= self.capacity && start < self.capacity) else {
            let (memory, capacity, free) = (self.memory, self.capacity, self.capacity.saturating_sub(start));
            let what = if bytes == 1 { "1 byte does".to_string() } else { format!("{bytes} bytes do") };
            let message = format!(
                "{what} not fit: {start} of the {capacity} bytes of {memory} are given out, {free} are left"
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
        self.count += 1;
        if self.given.len() < KEPT {
            self.given.push(Allocation { bytes: start..end, location, freed: false });
        }
        Ok(start)
    }

    /// The address above everything in use.
    pub(super) fn mark(&self) -> Address {
        self.next
    }

    /// Gives back what lies above a mark.
    pub(super) fn free_from(&mut self, mark: Address) {
        self.next = self.next.min(mark);
        for own in self.given.iter_mut().filter(|own| own.bytes.end > mark) {
            own.freed = true;
        }
    }

    /// The first allocations, and how many there were.
    pub(super) fn given(&self) -> Allocations<'_> {
        Allocations { given: &self.given, count: self.count }
    }
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
}
