//! Addresses for tensors whose place does not matter.
//!
//! ```text
//!   0             mark                 held                            end
//!   ├─ alloc_dm ──▶│      free       ├─────────┤ free ├───────────────┤
//! ```
//!
//! `alloc_dm` and `alloc_hbm` give addresses from the lowest on, each above the one before; marks give them back. A
//! tensor that was made at [`AUTO`], or by a call that names no address, holds the free bytes nearest to the end of the
//! memory. They are free again when its handle ends.

use super::names::{Maker, Names};
use super::placement::LastUsed;
use crate::chip::{Fault, FaultKind};
use crate::clock::{Allocation, Allocations};
use crate::command::{Address, Memory};
use core::ops::Range;
use core::panic::Location;
use furiosa_visa_rules::sorting;
use litemap::LiteMap;

/// The address of a tensor whose place does not matter: the call that makes it finds free bytes, which are free again when
/// the handle ends.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// axes![A = 256, B = 128];
///
/// #[device(chip = 1)]
/// fn copy(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) -> HbmTensor<i8, m![1], m![B, A]> {
///     for _round in 0..10_000 {
///         let on_chip = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, AUTO);
///         // … and here its bytes are free.
///         # assert_eq!(on_chip.address(), 520064);
///         # break;
///     }
///     x.to_hbm(&mut ctx.tdma, AUTO)
/// }
/// # let mut ctx = Context::acquire();
/// # let host = HostTensor::<i8, m![A, B]>::zero();
/// # let x = pollster::block_on(host.to_hbm(&mut ctx.pdma, AUTO));
/// # let y = pollster::block_on(launch(copy, (&mut *ctx, &x)));
/// # let y: HostTensor<i8, m![A, B]> = pollster::block_on(y.to_host(&mut ctx.pdma));
/// ```
///
/// A stream holds the bytes of its operands in the VRF until it ends, even if their handles end earlier.
///
/// With [`Placement::Liveness`](super::Placement::Liveness) tensors in DM and the VRF are free after the last command of
/// the launch that uses them, even if their handles live on.
///
/// Bytes are found from the end of the memory down, away from those that
/// [`Context::alloc_dm`](super::Context::alloc_dm) gave. The last 4 KiB of DM come last: a fetch that goes on over
/// padding needs room behind its tensor. Addresses that the program names itself are unknown here. A tensor at one of
/// them can be overwritten, which is found when it is read.
pub const AUTO: Address = Address::MAX;

/// The most allocations of a memory that are remembered for the map.
const KEPT: usize = 4096;

/// The most tensors that a message about a full memory names.
const NAMED: usize = 5;

/// Bytes at the end of DM that handles get last.
pub(super) const BEHIND: u64 = furiosa_visa_rules::tensor::DM_LAST_BYTES;

/// The least alignment in HBM and DM: that of transfers into DM and of commits.
pub(super) const LEAST_ALIGNMENT: u64 = furiosa_visa_rules::tensor::LEAST_ALIGN_BYTES;

/// Gives out the bytes of a memory: from the lowest on by marks, and from the end down to handles.
#[derive(Debug)]
pub(super) struct Allocator {
    pub(super) memory: Memory,
    pub(super) capacity: u64,
    /// Alignment of allocations of at least this many bytes. Smaller ones are aligned to `least`.
    unit: u64,
    least: u64,
    /// Bytes at the end that handles get last: reads that go on behind a tensor, over padding, stay in the memory.
    pub(super) behind: u64,
    pub(super) next: u64,
    /// Ranges that were given by marks and are not given back: the first [`KEPT`] ones.
    pub(super) marked: Vec<(Range<u64>, &'static Location<'static>)>,
    /// Bytes that handles hold, by their first address.
    pub(super) held: LiteMap<Address, Held>,
    /// The first [`KEPT`] allocations; `count` is the number of all.
    given: Vec<Allocation>,
    count: u64,
    /// Tensors whose bytes are found when their last use is known.
    pub(super) late: Late,
}

/// Bytes of a handle.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) bytes: u64,
    pub(super) location: &'static Location<'static>,
    /// Its index in [`Allocator::given`].
    pub(super) note: Option<usize>,
    /// The name that its handle has.
    pub(super) name: Option<Address>,
}

/// State of a memory for tensors whose bytes are found late: see [`liveness`](super::liveness).
#[derive(Debug)]
pub(super) struct Late {
    pub(super) names: Names,
    /// The last uses of the bytes, and the stamp of the next command.
    pub(super) used: LastUsed,
    pub(super) now: u64,
    /// Bytes that commands of the launch named by address.
    pub(super) given: Vec<Range<Address>>,
}

impl Allocator {
    pub(super) fn new(memory: Memory, capacity: u64, [unit, least, behind]: [u64; 3]) -> Self {
        Self {
            memory,
            capacity,
            unit,
            least,
            behind,
            next: 0,
            marked: Vec::new(),
            held: LiteMap::new(),
            given: Vec::new(),
            count: 0,
            late: Late { names: Names::default(), used: LastUsed::new(), now: 1, given: Vec::new() },
        }
    }

    pub(super) const fn align(&self, bytes: u64) -> u64 {
        if bytes >= self.unit { self.unit } else { self.least }
    }

    /// The call that allocates by marks.
    const fn operation(&self) -> &'static str {
        match self.memory {
            Memory::Hbm => "alloc_hbm",
            _ => "alloc_dm",
        }
    }

    /// Gives bytes above all that were given by marks.
    pub(super) fn allocate(
        &mut self,
        bytes: u128,
        location: &'static Location<'static>,
    ) -> Result<Address, Fault> {
        let limit = self.held.first().map_or(self.capacity, |(&start, _)| start);
        let align = self.align(bytes.min(u64::MAX.into()) as u64);
        let start = self.next.next_multiple_of(align);
        let end = u64::try_from(bytes).ok().and_then(|bytes| start.checked_add(bytes));
        let Some(end) = end.filter(|&end| end <= limit && start < limit) else {
            let message = format!(
                "{} not fit: {start} of the {} bytes of {} are given out, {} are left{}",
                bytes_do(bytes),
                self.capacity,
                self.memory,
                limit.saturating_sub(start),
                if limit < self.capacity { " below those that handles hold" } else { "" },
            );
            return Err(self.is_full(self.operation(), location, message));
        };
        self.next = end;
        if self.marked.len() < KEPT {
            self.marked.push((start..end, location));
        }
        self.note(start..end, location);
        Ok(start)
    }

    /// The highest free bytes below `end`. `largest` is raised to the largest free piece that was seen.
    fn highest(&self, bytes: u64, align: u64, end: u64, largest: &mut u64) -> Option<Address> {
        let mut above = end;
        let held = self.held.iter().rev().map(|(&start, held)| (start, start + held.bytes));
        for (start, end) in held.chain([(0, self.next)]) {
            *largest = above.saturating_sub(end.next_multiple_of(align)).max(*largest);
            let highest = above.checked_sub(bytes).map(|start| start / align * align);
            if let Some(highest) = highest.filter(|&highest| highest >= end) {
                return Some(highest);
            }
            above = start.min(above);
        }
        None
    }

    /// Gives bytes to a handle: the highest free ones, away from the end of the memory as long as there are others.
    pub(super) fn hold(
        &mut self,
        bytes: u64,
        operation: &'static str,
        location: &'static Location<'static>,
    ) -> Result<Address, Fault> {
        let (align, bytes) = (self.align(bytes), bytes.max(1));
        let mut largest = 0;
        let mut room = [self.capacity - self.behind, self.capacity].into_iter();
        let found = room.find_map(|end| self.highest(bytes, align, end, &mut largest));
        let Some(start) = found else {
            let message = format!(
                "{} not fit: of the {} bytes of {} at most {largest} are free in one piece",
                bytes_do(bytes.into()),
                self.capacity,
                self.memory,
            );
            return Err(self.is_full(operation, location, message));
        };
        let note = self.note(start..start + bytes, location);
        self.held.insert(start, Held { bytes, location, note, name: None });
        Ok(start)
    }

    pub(super) fn release(&mut self, start: Address) {
        if let Some(Held { note: Some(note), .. }) = self.held.remove(&start) {
            self.given[note].freed = true;
        }
    }

    /// Notes an allocation whose bytes are free again, or those of a handle.
    pub(super) fn note_named(&mut self, bytes: Range<u64>, maker: Maker, name: Address, alive: bool) {
        let (start, location) = (bytes.start, maker.location);
        let note = self.note(bytes.clone(), location);
        if alive {
            let bytes = bytes.end - bytes.start;
            self.held.insert(start, Held { bytes, location, note, name: Some(name) });
        } else if let Some(note) = note {
            self.given[note].freed = true;
        }
    }

    /// A fault that names the largest tensors.
    fn is_full(
        &self,
        operation: &'static str,
        location: &'static Location<'static>,
        message: String,
    ) -> Fault {
        let help = match self.memory {
            Memory::Hbm => {
                "end handles that nobody needs any more, give bytes back with `free_hbm_from`, or use smaller tensors"
            }
            Memory::Dm => {
                "end handles that nobody needs any more, give bytes back with `free_dm_from`, split the tensor over more \
                 slices, or work in blocks"
            }
            Memory::Vrf => "end handles that nobody needs any more, or load the tensor in parts",
        };
        let marked = self.marked.iter().map(|(bytes, location)| (bytes.end - bytes.start, *location));
        let live = self.held.values().map(|held| (held.bytes, held.location)).chain(marked).collect();
        let fault = Fault::new(FaultKind::Capacity, operation, location, message, help);
        name_largest(fault, live, "are held by")
    }

    /// Remembers an allocation for the map; returns its index.
    fn note(&mut self, bytes: Range<u64>, location: &'static Location<'static>) -> Option<usize> {
        self.count += 1;
        if self.given.len() == KEPT {
            return None;
        }
        self.given.push(Allocation { bytes, location, freed: false });
        Some(self.given.len() - 1)
    }

    /// The address above everything that was given by marks.
    pub(super) fn mark(&self) -> Address {
        self.next
    }

    /// Gives back all that was given by marks from `mark` on.
    pub(super) fn free_from(&mut self, mark: Address) {
        let given_to = self.next;
        self.next = given_to.min(mark);
        self.marked.retain(|(bytes, _)| bytes.end <= mark);
        let is_above =
            |allocation: &&mut Allocation| allocation.bytes.end > mark && allocation.bytes.end <= given_to;
        for allocation in self.given.iter_mut().filter(is_above) {
            allocation.freed = true;
        }
    }

    /// The first allocations, and the number of all.
    pub(super) fn given(&self) -> Allocations<'_> {
        Allocations { given: &self.given, count: self.count }
    }
}

/// Adds the largest tensors of a full memory to a fault.
pub(super) fn name_largest(
    mut fault: Fault,
    mut live: Vec<(u64, &'static Location<'static>)>,
    verb: &str,
) -> Fault {
    sorting::by_key(&mut live, |&(bytes, location)| {
        (core::cmp::Reverse(bytes), location.file(), location.line())
    });
    for &(bytes, location) in live.iter().take(NAMED) {
        fault = fault.after(format!("{bytes} bytes {verb} what was made here"), location);
    }
    fault
}

/// `1 byte does`, `2 bytes do`.
pub(super) fn bytes_do(bytes: u128) -> String {
    if bytes == 1 { "1 byte does".to_string() } else { format!("{bytes} bytes do") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{DM_BYTES, HBM_BYTES, HBM_UNIT_BYTES};

    fn dm() -> Allocator {
        Allocator::new(Memory::Dm, DM_BYTES as u64, [64, LEAST_ALIGNMENT, 0])
    }

    fn hbm() -> Allocator {
        Allocator::new(Memory::Hbm, HBM_BYTES, [HBM_UNIT_BYTES as u64, LEAST_ALIGNMENT, 0])
    }

    fn held(allocator: &mut Allocator, bytes: u64) -> Result<Address, FaultKind> {
        allocator.hold(bytes, "to_dm", Location::caller()).map_err(|fault| fault.kind)
    }

    fn freed(allocator: &Allocator) -> Vec<bool> {
        allocator.given().given.iter().map(|allocation| allocation.freed).collect()
    }

    /// The planner places a tensor without an address where the allocator does.
    #[test]
    fn the_first_address_is_known_without_an_allocator() {
        use furiosa_visa_rules::tensor::{DM_UNIT_BYTES, automatic_address};
        let room = DM_BYTES as u64 - BEHIND;
        for bytes in [1, 8, 32, 63, 64, 65, 96, 4096, room - 1, room] {
            let mut dm =
                Allocator::new(Memory::Dm, DM_BYTES as u64, [DM_UNIT_BYTES, LEAST_ALIGNMENT, BEHIND]);
            let start = dm.hold(bytes, "new", Location::caller()).expect("there is room");
            assert_eq!(start, automatic_address(bytes), "{bytes} bytes");
        }
    }

    #[test]
    fn addresses_are_aligned_and_do_not_overlap() {
        let here = Location::caller();
        for mut allocator in [dm(), hbm()] {
            let (mut end, mut all) = (0, Vec::<Range<u64>>::new());
            for bytes in (1..600).chain([4097, 63, 64, 255, 256]) {
                let start = allocator.allocate(bytes.into(), here).expect("there is room");
                let unit = allocator.unit;
                assert!(start >= end && start.is_multiple_of(if bytes >= unit { unit } else { 8 }));
                assert!(start - end < allocator.unit, "no more than alignment asks for");
                end = start + bytes;
                let high = held(&mut allocator, bytes).expect("there is room");
                assert!(high.is_multiple_of(if bytes >= unit { unit } else { 8 }));
                assert!(high + bytes <= allocator.capacity);
                all.extend([start..end, high..high + bytes]);
            }
            all.sort_by_key(|bytes| bytes.start);
            assert!(all.windows(2).all(|two| two[0].end <= two[1].start), "{all:?}");
            assert_eq!(allocator.mark(), end);
        }
    }

    /// The last byte is given, the byte after it is not.
    #[test]
    fn a_memory_ends() {
        let here = Location::caller();
        let mut dm = dm();
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
        assert!(
            text.contains(
                "help: end handles that nobody needs any more, give bytes back with `free_dm_from`"
            ),
            "{text}"
        );
        dm.free_from(64);
        assert_eq!(dm.mark(), 64);
        assert!(dm.allocate(DM_BYTES as u128 - 63, here).is_err());
        assert_eq!(dm.allocate(DM_BYTES as u128 - 64, here).map_err(|fault| fault.kind), Ok(64));
        dm.free_from(u64::MAX);
        assert_eq!(dm.mark(), DM_BYTES as u64, "nothing lies above that mark");
        assert_eq!((freed(&dm), dm.given().count), (vec![true, false], 2));
        assert!(hbm().allocate(u128::from(HBM_BYTES) + 1, here).is_err());
        for bytes in [u64::MAX.into(), 1 << 64, (1 << 64) + 8] {
            let text = hbm().allocate(bytes, here).expect_err("it is too large").to_string();
            assert!(
                text.contains(&format!("{bytes} bytes do not fit: 0 of the 51539607552 bytes")),
                "{text}"
            );
        }
    }

    #[test]
    fn memory_is_bounded_for_endless_programs() {
        let mut dm = dm();
        for _ in 0..KEPT {
            dm.allocate(8, Location::caller()).expect("there is room");
            dm.free_from(0);
            let start = held(&mut dm, 8).expect("there is room");
            dm.release(start);
        }
        assert_eq!((dm.given().given.len(), dm.given().count), (KEPT, 2 * KEPT as u64));
        assert!(dm.held.is_empty());
    }

    /// Marks and handles respect each other, and no byte is lost between them.
    #[test]
    fn handles_hold_the_end_of_a_memory() {
        let here = Location::caller();
        let end = DM_BYTES as u64;
        let mut dm = dm();
        assert_eq!(held(&mut dm, 100), Ok(end - 128), "from 64 bytes on a multiple");
        assert_eq!(held(&mut dm, 8), Ok(end - 8), "what alignment left is free");
        assert_eq!(held(&mut dm, 24), Ok(end - 152));
        assert_eq!(dm.allocate(64, here).map_err(|fault| fault.kind), Ok(0));
        let text = dm
            .allocate(u128::from(end) - 64 - 151, here)
            .expect_err("a handle holds the last byte")
            .to_string();
        let part =
            "64 of the 524288 bytes of DM are given out, 524072 are left below those that handles hold\n";
        assert!(text.contains(part), "{text}");
        assert_eq!(dm.allocate(u128::from(end) - 64 - 152, here).map_err(|fault| fault.kind), Ok(64));
        assert_eq!(held(&mut dm, 16), Ok(end - 24), "the hole behind the first one");
        assert_eq!(held(&mut dm, 1), Err(FaultKind::Capacity));
        dm.release(end - 152);
        assert_eq!(held(&mut dm, 25), Err(FaultKind::Capacity));
        assert_eq!(held(&mut dm, 24), Ok(end - 152));
        dm.free_from(64);
        assert_eq!(freed(&dm), [false, false, true, false, true, false, false]);
    }

    /// The end of a memory is given last.
    #[test]
    fn reads_may_go_on_behind_a_tensor() {
        let end = DM_BYTES as u64;
        let mut dm = Allocator::new(Memory::Dm, end, [64, LEAST_ALIGNMENT, BEHIND]);
        assert_eq!(held(&mut dm, 64), Ok(end - BEHIND - 64));
        assert_eq!(held(&mut dm, end - BEHIND - 64), Ok(0));
        assert_eq!(held(&mut dm, 8), Ok(end - 8), "nothing else is free");
        assert_eq!(held(&mut dm, BEHIND), Err(FaultKind::Capacity));
        assert_eq!(held(&mut dm, BEHIND - 64), Ok(end - BEHIND));
    }

    /// The largest tensors are named, with their lines.
    #[test]
    fn a_full_memory_names_who_holds_it() {
        let mut dm = dm();
        let given = Location::caller();
        dm.allocate(100_000, given).expect("there is room");
        held(&mut dm, 300_000).expect("there is room");
        for _ in 0..NAMED {
            held(&mut dm, 64).expect("there is room");
        }
        let here = Location::caller();
        let fault = dm.hold(200_000, "commit", here).expect_err("it is full");
        let text = fault.to_string();
        let part = "fault: commit: capacity exceeded: 200000 bytes do not fit: of the 524288 bytes of DM at most 123904 are \
                    free in one piece\n";
        assert!(fault.kind == FaultKind::Capacity && text.starts_with(part), "{text}");
        let named: Vec<&str> = fault.places.iter().map(|place| place.label.as_ref()).collect();
        let small = "64 bytes are held by what was made here";
        assert_eq!(
            named[..2],
            ["300000 bytes are held by what was made here", "100000 bytes are held by what was made here"]
        );
        assert_eq!(named[2..], [small; NAMED - 2]);
        assert_eq!(fault.places[1].location, given);
    }
}
