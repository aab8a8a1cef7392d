//! Places of tensors, and the leases that hold them.

use super::AUTO;
use super::allocate::{Allocator, BEHIND, LEAST_ALIGNMENT};
use super::halves::Halves;
use super::names::{Maker, is_name};
use crate::chip::Fault;
use crate::command::{Address, FillId, Memory, TrfAddress};
use crate::spec::{DM_BYTES, HBM_BYTES, HBM_UNIT_BYTES, VRF_BYTES};
use core::fmt;
use core::panic::Location;
use core::sync::atomic::{AtomicBool, Ordering};
use furiosa_visa_rules::tensor::DM_UNIT_BYTES;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The allocators of a system: HBM, DM and VRF, and the halves of the TRF. Handles keep them alive, not the system.
#[derive(Clone, Debug)]
pub(super) struct Allocators(Arc<Memories>);

#[derive(Debug)]
struct Memories {
    bytes: Mutex<[Allocator; 3]>,
    halves: Mutex<Halves>,
    /// True while commands wait for the end of their launch: tensors at [`AUTO`] get names.
    defers: AtomicBool,
    /// True as soon as a tensor has got a name.
    has_names: AtomicBool,
}

impl Allocators {
    pub(super) fn new() -> Self {
        Self(Arc::new(Memories {
            bytes: Mutex::new([
                Allocator::new(Memory::Hbm, HBM_BYTES, [HBM_UNIT_BYTES as u64, LEAST_ALIGNMENT, 0]),
                Allocator::new(Memory::Dm, DM_BYTES as u64, [DM_UNIT_BYTES, LEAST_ALIGNMENT, BEHIND]),
                Allocator::new(Memory::Vrf, VRF_BYTES as u64, [32, 4, 0]),
            ]),
            halves: Mutex::default(),
            defers: AtomicBool::new(false),
            has_names: AtomicBool::new(false),
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, [Allocator; 3]> {
        self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The TRF. It is locked after the other memories.
    pub(super) fn halves(&self) -> MutexGuard<'_, Halves> {
        self.0.halves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True while commands wait for the end of their launch.
    pub(super) fn defers(&self) -> bool {
        self.0.defers.load(Ordering::Relaxed)
    }

    /// Says whether commands wait; returns whether they did.
    pub(super) fn defer(&self, defers: bool) -> bool {
        self.0.defers.swap(defers, Ordering::Relaxed)
    }

    /// True if commands may name tensors that have no address yet.
    pub(super) fn has_names(&self) -> bool {
        self.0.has_names.load(Ordering::Relaxed)
    }

    fn lease(&self, leased: Leased) -> Option<Lease> {
        Some(Lease(Arc::new(LeasedPlace { allocators: self.clone(), leased })))
    }

    /// The given address, or free bytes for a handle at [`AUTO`]: a name, if they are found later.
    pub(super) fn place(
        &self,
        address: Address,
        memory: Memory,
        bytes: usize,
        operation: &'static str,
        location: &'static Location<'static>,
    ) -> Result<Place, Fault> {
        if address != AUTO {
            return Ok(address.into());
        }
        let allocator = &mut self.lock()[memory as usize];
        let address = if memory != Memory::Hbm && self.defers() {
            self.0.has_names.store(true, Ordering::Relaxed);
            allocator.late.names.name(bytes as u64, Maker { operation, location })
        } else {
            allocator.hold(bytes as u64, operation, location)?
        };
        Ok(Place { address, lease: self.lease(Leased::Bytes(memory, address)) })
    }

    /// A free half of the TRF, or all of it, for a handle. If it is found later, the part is a provisional one.
    pub(super) fn place_in_trf(
        &self,
        fill: FillId,
        bytes: usize,
        maker: Maker,
    ) -> Result<(TrfAddress, Option<Lease>), Fault> {
        let mut halves = self.halves();
        let part = if self.defers() {
            self.0.has_names.store(true, Ordering::Relaxed);
            halves.name(fill, bytes, maker);
            super::halves::provisional(bytes)
        } else {
            halves.hold(fill, bytes, maker)?
        };
        Ok((part, self.lease(Leased::Trf(fill))))
    }
}

/// Address of a tensor, and the lease that frees its bytes when its handle ends.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) address: Address,
    pub(crate) lease: Option<Lease>,
}

impl From<Address> for Place {
    fn from(address: Address) -> Self {
        Self { address, lease: None }
    }
}

/// Holds the bytes of a tensor as long as one of its handles lives.
#[derive(Clone)]
pub(crate) struct Lease(Arc<LeasedPlace>);

impl Lease {
    /// The part of the TRF that is leased, if it is known.
    pub(crate) fn part(&self) -> Option<TrfAddress> {
        match self.0.leased {
            Leased::Trf(fill) => self.0.allocators.halves().part(fill),
            Leased::Bytes(..) => None,
        }
    }
}

struct LeasedPlace {
    allocators: Allocators,
    leased: Leased,
}

/// A leased place: an address or a name, or a part of the TRF.
enum Leased {
    Bytes(Memory, Address),
    Trf(FillId),
}

impl Drop for LeasedPlace {
    fn drop(&mut self) {
        let waits = self.allocators.defers();
        match self.leased {
            Leased::Trf(fill) => self.allocators.halves().release(fill, waits),
            Leased::Bytes(memory, address) => {
                let allocator = &mut self.allocators.lock()[memory as usize];
                match is_name(address) {
                    true => allocator.release_name(address, waits),
                    false => allocator.release(address),
                }
            }
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lease")
    }
}
