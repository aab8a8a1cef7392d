//! Tensors at rest in the memories of the chip.
//!
//! A tensor at rest is a handle: an address, and types that define the place of every element. The bytes are in the
//! chip that the context owns. Two tensors at overlapping addresses overlap.

mod dm;
mod hbm;
pub mod relabel;
mod shape;
pub mod tile;
mod trf;
mod units;
mod vrf;
pub mod windows;

pub use dm::{DmTensor, DmTensorView, DmTensorViewMut};
pub use hbm::{HbmTensor, HbmTensorView, HbmTensorViewMut};
pub use shape::Shape;
pub use trf::{TrfTensor, TrfTensorView, TrfTensorViewMut};
pub(crate) use units::{Clusters, Slices};
pub use vrf::{VrfTensor, VrfTensorView, VrfTensorViewMut};
pub use windows::{NoWindows, WindowList, Windowed};

use crate::command::{Address, FillId, Footprint, Memory};
use crate::error::{PlanError, refuse};
use crate::runtime::fault::accept;
use crate::runtime::{AUTO, Place, SystemHandle};
use crate::spec;

/// Finds the place of a tensor that a call makes, and the number of its filling. It has no type parameters, so that all
/// kernels share it.
#[track_caller]
#[inline(never)]
pub(crate) fn place(
    system: &SystemHandle,
    memory: Memory,
    footprint: &Footprint,
    operation: &'static str,
    address: Address,
) -> (Place, FillId) {
    let place = system.place(address, memory, footprint.bytes(), operation);
    accept(operation, check_address(memory, footprint, place.address));
    (place, system.next_fill())
}

/// Checks that a tensor starts at a multiple of its element's size, inside the memory.
///
/// Its end is checked when the command runs: the bytes beyond the end are named then.
pub(crate) const fn check_address(
    memory: Memory,
    footprint: &Footprint,
    address: Address,
) -> Result<(), PlanError> {
    if address == AUTO {
        refuse!(
            "automatic address",
            "`AUTO` names no bytes; help: give it to a call that makes a tensor, or name the address of one that is there",
        );
    }
    let bytes = footprint.element.bits().div_ceil(8);
    if !(address as usize).is_multiple_of(bytes) {
        refuse!(
            "alignment",
            "address {} is no multiple of the {} bytes of {}; help: move the tensor to a multiple of its element size",
            number(address as usize),
            number(bytes),
            str(footprint.element.name()),
        );
    }
    let (name, capacity) = match memory {
        Memory::Hbm => ("HBM", spec::HBM_BYTES),
        Memory::Dm => ("DM", spec::DM_BYTES as u64),
        Memory::Vrf => ("VRF", spec::VRF_BYTES as u64),
    };
    if address >= capacity {
        let highest = (capacity as usize).saturating_sub(footprint.bytes());
        refuse!(
            "address",
            "address {} lies outside {} of {} bytes; help: a tensor of {} fits at {} and below",
            number(address as usize),
            str(name),
            number(capacity as usize),
            count(footprint.bytes(), "byte"),
            number(highest / ADDRESS_UNIT * ADDRESS_UNIT),
        );
    }
    Ok(())
}

/// Divisor of every address that an engine takes.
const ADDRESS_UNIT: usize = 8;

/// Checks that a tensor in the VRF ends inside it, padding included.
pub(crate) const fn check_vrf_end(
    operation: &'static str,
    bytes: usize,
    address: Address,
) -> Result<(), PlanError> {
    let capacity = spec::VRF_BYTES;
    if address as usize <= capacity && bytes <= capacity - address as usize {
        return Ok(());
    }
    refuse!(
        "VRF capacity",
        "{}: a tensor of {} at address {} leaves the VRF, which has {} bytes per slice; \
         help: use address {} or a lower one, or load it in segments",
        str(operation),
        count(bytes, "byte"),
        number(address as usize),
        number(capacity),
        number(capacity.saturating_sub(bytes)),
    )
}

/// Checks that a transfer from HBM to DM starts at a multiple of 8 bytes.
pub(crate) const fn check_dma_address(side: &'static str, address: Address) -> Result<(), PlanError> {
    let unit = spec::DMA_HBM_TO_DM_BYTES;
    if (address as usize).is_multiple_of(unit) {
        return Ok(());
    }
    refuse!(
        "DMA alignment",
        "{} address {} is no multiple of {} bytes, which a transfer from HBM to DM needs; \
         help: move the tensor to a multiple of {}",
        str(side),
        number(address as usize),
        number(unit),
        number(unit),
    )
}
