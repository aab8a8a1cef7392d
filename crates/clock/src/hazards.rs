//! Dependencies of operations on earlier ones because of the bytes that they touch.
//!
//! Each memory is a line of bytes, cut wherever a range of an operation began or ended. A piece has its last writer
//! and, per context, its last reader since then. Operations of a context end in order, so the last one stands for all.
//!
//! ```text
//!   bytes       0        64       128                 512
//!   written by  ├─ op 0 ─┼─ op 2 ─┼──────── op 0 ──────┤
//!   read by       op 1      –            op 1
//! ```
//!
//! Units are not compared: tensors start at the first chip, cluster and slice, so two ranges that share bytes share
//! them there. TRF halves are byte ranges of the register file. Tiles in different units, at the same bytes, wait for
//! each other; tiles at different bytes of a unit do not.

use crate::named::named;
use core::ops::Range;
use furiosa_visa_rules::byte_ranges::ByteRanges;
use furiosa_visa_rules::command::{
    CONTEXTS, ContextKind, FillId, MemoryKind, Place, Region, TrfAddress, TrfRegion, Use,
};
use furiosa_visa_rules::mapping::GuardMappings;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;

/// The order in which a kernel gave an operation: 0, 1, …
pub type OperationNumber = u64;

/// Bytes that an operation reads or writes, in every unit that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The memory.
    pub memory: MemoryKind,
    /// The bytes.
    pub bytes: Range<u64>,
    /// The bytes of the tensor that they are a part of.
    pub of: Range<u64>,
    /// True if they are written.
    pub write: bool,
    /// The tensor that they belong to.
    pub tensor: Held,
}

/// Tensor that an operation reads or writes, described for a map of the memory. Hazards ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Fill id, in the numbering of its system.
    pub fill: FillId,
    /// The type of an element.
    pub element: ElementType,
    /// Mappings of chip, cluster and slice, then of the elements in each slice.
    pub mappings: GuardMappings,
}

impl Held {
    /// Tensor without known properties.
    #[cfg(test)]
    pub(super) const UNKNOWN: Held =
        Held { fill: FillId::ANY, element: ElementType::I8, mappings: GuardMappings::UNKNOWN };
}

impl Access {
    /// Bytes that a command reads or writes.
    pub fn of(used: &Use) -> Self {
        match &used.place {
            Place::Region(region) => Self::region(region, used.writes),
            Place::Trf(region) => Self::trf(region, used.writes),
        }
    }

    /// Access to a tensor, or to a tile of one.
    pub fn region(region: &Region, write: bool) -> Self {
        let memory = region.memory.into();
        let footprint = &region.footprint;
        let (element, mappings) = (footprint.element, footprint.guard.mappings);
        let tensor = Held { fill: region.fill.in_system(), element, mappings };
        Self { memory, bytes: region.bytes(), of: region.tensor_bytes(), write, tensor }
    }

    /// Access to the part of the register file that a tensor occupies.
    pub fn trf(region: &TrfRegion, write: bool) -> Self {
        let half = spec::TRF_BYTES as u64 / 2;
        let bytes = match region.address {
            TrfAddress::FirstHalf => 0..half,
            TrfAddress::SecondHalf => half..2 * half,
            TrfAddress::Full => 0..2 * half,
        };
        let (fill, element) = (region.fill.in_system(), region.element);
        let tensor = Held { fill, element, mappings: region.guard.mappings };
        Self { memory: MemoryKind::Trf, of: bytes.clone(), bytes, write, tensor }
    }
}

named! {
    /// Reason for which an operation waits for another one.
    pub enum Hazard {
        /// It reads bytes that the other one writes.
        ReadAfterWrite = "read after write",
        /// It writes bytes that the other one reads.
        WriteAfterRead = "write after read",
        /// It writes bytes that the other one writes.
        WriteAfterWrite = "write after write",
    }
}

/// A dependency on an earlier operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The earlier operation.
    pub on: OperationNumber,
    /// Reason for the wait.
    pub hazard: Hazard,
    /// Memory that both touch.
    pub memory: MemoryKind,
    /// The first shared byte.
    pub byte: u64,
}

/// The last writer of some bytes with its context, and their last reader in each context since then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Users {
    written: Option<(OperationNumber, u8)>,
    read: [Option<OperationNumber>; CONTEXTS],
}

/// Last writer and last readers of each range of bytes.
#[derive(Debug, Default)]
pub struct Hazards {
    /// The bytes of each of [`MemoryKind::ALL`].
    memories: [ByteRanges<Users>; MemoryKind::ALL.len()],
}

impl Hazards {
    /// Records the accesses of an operation. Returns the operations that it has to wait for: at most one per context,
    /// since operations of one context end in order.
    pub fn touch(
        &mut self,
        operation: OperationNumber,
        context: ContextKind,
        accesses: &[Access],
    ) -> [Option<Dependency>; CONTEXTS] {
        let mut found = [None; CONTEXTS];
        for access in accesses {
            self.collect(access, &mut found);
        }
        for access in accesses {
            self.memories[access.memory as usize].update(access.bytes.clone(), |_, users| {
                if access.write {
                    *users = Users { written: Some((operation, context as u8)), ..Users::default() };
                } else {
                    users.read[context as usize] = Some(operation);
                }
            });
        }
        found
    }

    fn collect(&self, access: &Access, found: &mut [Option<Dependency>; CONTEXTS]) {
        let mut add = |on: OperationNumber, context: usize, hazard: Hazard, byte: u64| {
            if found[context].is_none_or(|known| known.on < on) {
                found[context] = Some(Dependency { on, hazard, memory: access.memory, byte });
            }
        };
        for (bytes, users) in self.memories[access.memory as usize].within(access.bytes.clone()) {
            if let Some((on, context)) = users.written {
                let hazard = if access.write { Hazard::WriteAfterWrite } else { Hazard::ReadAfterWrite };
                add(on, context as usize, hazard, bytes.start);
            }
            if access.write {
                for (context, read) in users.read.iter().enumerate() {
                    if let Some(on) = read {
                        add(*on, context, Hazard::WriteAfterRead, bytes.start);
                    }
                }
            }
        }
    }

    /// Forgets operations before this one: all of them have ended.
    pub fn forget_before(&mut self, operation: OperationNumber) {
        for ranges in &mut self.memories {
            ranges.retain(|users| {
                let all = users.written.map(|(on, _)| on).into_iter().chain(users.read.into_iter().flatten());
                all.max().is_some_and(|last| last >= operation)
            });
        }
    }

    /// Number of pieces of memory that are kept.
    pub fn pieces(&self) -> usize {
        self.memories.iter().map(ByteRanges::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Range<u64>) -> Access {
        Access { memory: MemoryKind::Dm, of: bytes.clone(), bytes, write: false, tensor: Held::UNKNOWN }
    }

    fn write(bytes: Range<u64>) -> Access {
        Access { memory: MemoryKind::Dm, of: bytes.clone(), bytes, write: true, tensor: Held::UNKNOWN }
    }

    #[track_caller]
    fn waits(found: [Option<Dependency>; CONTEXTS], expected: &[(u64, Hazard, u64)]) {
        let found: Vec<_> = found
            .iter()
            .flatten()
            .map(|dependency| (dependency.on, dependency.hazard, dependency.byte))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn reads_wait_for_writes_and_writes_for_both() {
        let mut hazards = Hazards::default();
        waits(hazards.touch(0, ContextKind::TensorDma, &[write(0..512)]), &[]);
        waits(hazards.touch(1, ContextKind::Main, &[read(0..128)]), &[(0, Hazard::ReadAfterWrite, 0)]);
        waits(hazards.touch(2, ContextKind::Sub, &[read(127..129)]), &[(0, Hazard::ReadAfterWrite, 127)]);
        waits(
            hazards.touch(3, ContextKind::TensorDma, &[write(128..600)]),
            &[(2, Hazard::WriteAfterRead, 128), (0, Hazard::WriteAfterWrite, 128)],
        );
        // Bytes behind a range are untouched; its last byte is not.
        waits(hazards.touch(4, ContextKind::Main, &[read(600..700)]), &[]);
        waits(hazards.touch(5, ContextKind::Main, &[read(599..600)]), &[(3, Hazard::ReadAfterWrite, 599)]);
        // The later operation of a context stands for the earlier ones.
        waits(
            hazards.touch(6, ContextKind::PcieDma, &[write(0..1000)]),
            &[
                (5, Hazard::WriteAfterRead, 599),
                (2, Hazard::WriteAfterRead, 127),
                (3, Hazard::WriteAfterWrite, 128),
            ],
        );
        assert_eq!(hazards.pieces(), 1);
        waits(
            hazards.touch(7, ContextKind::Main, &[read(10..20), write(15..30)]),
            &[(6, Hazard::ReadAfterWrite, 10)],
        );
        waits(hazards.touch(8, ContextKind::Main, &[read(5..5)]), &[]);
    }

    #[test]
    fn halves_meet_the_whole_and_not_each_other() {
        let region = |address| TrfRegion {
            address,
            fill: furiosa_visa_rules::command::FillId(1),
            element: furiosa_visa_rules::scalar::ElementType::I8,
            rows: 8,
            row_elements: 32,
            guard: furiosa_visa_rules::mapping::Guard::always(5),
        };
        let mut hazards = Hazards::default();
        waits(hazards.touch(0, ContextKind::Sub, &[Access::trf(&region(TrfAddress::FirstHalf), true)]), &[]);
        waits(
            hazards.touch(1, ContextKind::Main, &[Access::trf(&region(TrfAddress::SecondHalf), false)]),
            &[],
        );
        let full = hazards.touch(2, ContextKind::Sub, &[Access::trf(&region(TrfAddress::Full), true)]);
        waits(full, &[(1, Hazard::WriteAfterRead, 32 * 1024), (0, Hazard::WriteAfterWrite, 0)]);
    }

    /// Compares with a map of single bytes.
    #[test]
    fn random_accesses_agree_with_single_bytes() {
        let mut seed = 7u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        let mut hazards = Hazards::default();
        let mut written = [None::<(u64, usize)>; 64];
        let mut read_by = [[None::<u64>; CONTEXTS]; 64];
        for operation in 0..3000 {
            let context = ContextKind::ALL[next(4) as usize];
            let accesses: Vec<_> = (0..1 + next(3))
                .map(|_| {
                    let start = next(64);
                    let bytes = start..start + next(65 - start);
                    let of = bytes.clone();
                    Access { memory: MemoryKind::Dm, bytes, of, write: next(2) == 0, tensor: Held::UNKNOWN }
                })
                .collect();
            let mut expected = [None::<u64>; CONTEXTS];
            let mut wait = |context: usize, on: u64| expected[context] = expected[context].max(Some(on));
            for access in &accesses {
                for byte in access.bytes.clone() {
                    if let Some((on, context)) = written[byte as usize] {
                        wait(context, on);
                    }
                    if access.write {
                        for (context, on) in read_by[byte as usize].iter().enumerate() {
                            on.iter().for_each(|on| wait(context, *on));
                        }
                    }
                }
            }
            for access in &accesses {
                for byte in access.bytes.clone() {
                    if access.write {
                        written[byte as usize] = Some((operation, context as usize));
                        read_by[byte as usize] = [None; CONTEXTS];
                    } else {
                        read_by[byte as usize][context as usize] = Some(operation);
                    }
                }
            }
            let found = hazards.touch(operation, context, &accesses);
            assert_eq!(
                found.map(|wait| wait.map(|dependency| dependency.on)),
                expected,
                "operation {operation}"
            );
            assert!(hazards.pieces() <= 64);
        }
    }
}
