//! Tensors at rest in the memories of the chip.
//!
//! A tensor at rest is a handle: an address, and types that say where every element lies. The bytes are in the chip
//! that the context owns. Two tensors at overlapping addresses overlap.

mod dm;
mod hbm;
mod shape;
mod trf;
mod vrf;

pub use dm::{DmTensor, DmTensorView, DmTensorViewMut};
pub use hbm::{HbmTensor, HbmTensorView, HbmTensorViewMut};
pub use shape::Shape;
pub use trf::{TrfTensor, TrfTensorView, TrfTensorViewMut};
pub use vrf::{VrfTensor, VrfTensorView, VrfTensorViewMut};

use crate::command::{Address, Memory};
use crate::error::PlanError;
use crate::scalar::ElementType;
use crate::spec;
use crate::text::Text;

/// An address is a multiple of the element's size and lies in the memory.
pub(crate) const fn check_address(
    memory: Memory,
    element: ElementType,
    address: Address,
) -> Result<(), PlanError> {
    let bytes = element.bits().div_ceil(8);
    if !(address as usize).is_multiple_of(bytes) {
        let text =
            Text::new().str("address ").number(address as usize).str(" is no multiple of the ").number(bytes);
        let text = text.str(" bytes of ").str(element.name());
        return Err(PlanError::new(
            "alignment",
            text.str("; help: move the tensor to a multiple of its element size"),
        ));
    }
    let (name, capacity) = match memory {
        Memory::Hbm => ("HBM", spec::HBM_BYTES),
        Memory::Dm => ("DM", spec::DM_BYTES as u64),
        Memory::Vrf => ("VRF", spec::VRF_BYTES as u64),
    };
    if address >= capacity {
        let text =
            Text::new().str("address ").number(address as usize).str(" lies outside ").str(name).str(" of ");
        let text = text.number(capacity as usize).str(" bytes");
        return Err(PlanError::new("address", text.str("; help: use a lower address")));
    }
    Ok(())
}

/// A tensor in the VRF ends inside it, padding included (spec page 40 §2.4).
pub(crate) const fn check_vrf_end(
    operation: &'static str,
    bytes: usize,
    address: Address,
) -> Result<(), PlanError> {
    let capacity = spec::VRF_BYTES;
    if address as usize <= capacity && bytes <= capacity - address as usize {
        return Ok(());
    }
    let text = Text::new().str(operation).str(": a tensor of ").count(bytes, "byte").str(" at address ");
    let text = text.number(address as usize).str(" leaves the VRF, which has ").number(capacity);
    let text = text.str(" bytes per slice; help: use address ").number(capacity.saturating_sub(bytes));
    Err(PlanError::new("VRF capacity", text.str(" or a lower one, or load it in segments")))
}

/// A transfer from HBM to DM starts at multiples of 8 bytes on both sides (spec page 30 §7).
pub(crate) const fn check_dma_address(side: &'static str, address: Address) -> Result<(), PlanError> {
    let unit = spec::DMA_HBM_TO_DM_BYTES;
    if (address as usize).is_multiple_of(unit) {
        return Ok(());
    }
    let text = Text::new()
        .str(side)
        .str(" address ")
        .number(address as usize)
        .str(" is no multiple of ")
        .number(unit);
    let text = text.str(" bytes, which a transfer from HBM to DM needs");
    Err(PlanError::new("DMA alignment", text.str("; help: move the tensor to a multiple of 8")))
}
