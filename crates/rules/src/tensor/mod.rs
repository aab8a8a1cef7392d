//! Tensors at rest in the memories of the chip.

pub mod pad;
pub mod relabel;
pub mod shape;
pub mod tile;
pub mod units;

pub use relabel::{
    Reach, RelabelDimension, check_relabel, check_reshape, check_sizes, elements, four, moved, names,
    padding, part_with, ragged,
};
pub use shape::{Shape, size};
pub use units::count_units;

use crate::command::{AUTO, Address, Footprint, Memory};
use crate::error::{PlanError, refuse};
use crate::spec;

/// Bytes at the end of DM that tensors whose address nobody names get last: a fetch that goes on over padding needs room
/// behind its tensor.
pub const DM_LAST_BYTES: u64 = 4096;
/// Alignment in DM of tensors whose address nobody names, and that have at least as many bytes.
pub const DM_UNIT_BYTES: u64 = 64;
/// The least alignment in DM and HBM: that of transfers into DM and of commits.
pub const LEAST_ALIGN_BYTES: u64 = 8;

/// The address that a tensor of so many bytes gets in an empty DM, if nobody names one. The tensor fits below the
/// [last bytes](DM_LAST_BYTES).
pub const fn automatic_address(bytes: u64) -> Address {
    let align = if bytes < DM_UNIT_BYTES { LEAST_ALIGN_BYTES } else { DM_UNIT_BYTES };
    (spec::DM_BYTES as u64 - DM_LAST_BYTES).saturating_sub(bytes) / align * align
}

/// Checks that a tensor starts at a multiple of its element's size, inside the memory.
///
/// Its end is checked when the command runs: the bytes beyond the end are named then.
pub const fn check_address(memory: Memory, footprint: &Footprint, address: Address) -> Result<(), PlanError> {
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
            (address as usize, bytes, footprint.element.name()),
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
            address as usize,
            name,
            capacity as usize,
            count(footprint.bytes(), "byte"),
            highest / ADDRESS_UNIT * ADDRESS_UNIT,
        );
    }
    Ok(())
}

/// Divisor of every address that an engine takes.
const ADDRESS_UNIT: usize = 8;

/// Checks that a tensor in the VRF ends inside it, padding included.
pub const fn check_vrf_end(operation: &'static str, bytes: usize, address: Address) -> Result<(), PlanError> {
    let capacity = spec::VRF_BYTES;
    if address as usize <= capacity && bytes <= capacity - address as usize {
        return Ok(());
    }
    refuse!(
        "VRF capacity",
        "{}: a tensor of {} at address {} leaves the VRF, which has {} bytes per slice; \
         help: use address {} or a lower one, or load it in segments",
        (operation, count(bytes, "byte"), address as usize, capacity, capacity.saturating_sub(bytes)),
    )
}

/// Checks that a transfer from HBM to DM starts at a multiple of 8 bytes.
pub const fn check_dma_address(side: &'static str, address: Address) -> Result<(), PlanError> {
    let unit = spec::DMA_HBM_TO_DM_BYTES;
    if (address as usize).is_multiple_of(unit) {
        return Ok(());
    }
    refuse!(
        "DMA alignment",
        "{} address {} is no multiple of {} bytes, which a transfer from HBM to DM needs; \
         help: move the tensor to a multiple of {}",
        (side, address as usize, unit, unit),
    )
}
