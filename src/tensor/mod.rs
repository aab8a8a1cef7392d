//! Tensors at rest in the memories of the chip.
//!
//! A tensor at rest is a handle: an address, and types that define the place of every element. The bytes are in the
//! chip that the context owns. Two tensors at overlapping addresses overlap.

mod dm;

mod handle;

mod hbm;

pub mod pad;
pub mod relabel;

pub mod tile;

mod trf;

mod units;

mod vrf;

pub mod windows;
use crate::command::{Address, Footprint, Memory, Region};
use crate::error::PlanError;
use crate::runtime::fault::accept;
use crate::runtime::{Place, SystemHandle, is_name};
pub use dm::{DmTensor, DmTensorView, DmTensorViewMut};
pub(crate) use furiosa_visa_rules::tensor::{check_dma_address, shape};
pub use hbm::{HbmTensor, HbmTensorView, HbmTensorViewMut};
pub use shape::Shape;
pub use trf::{TrfTensor, TrfTensorView, TrfTensorViewMut};
pub(crate) use units::{Clusters, Slices};
pub use vrf::{VrfTensor, VrfTensorView, VrfTensorViewMut};
pub use windows::{NoWindows, WindowList, Windowed};

/// Checks where a tensor starts. One that has a name gets a right address.
pub(crate) fn check_address(
    memory: Memory,
    footprint: &Footprint,
    address: Address,
) -> Result<(), PlanError> {
    if is_name(address) {
        Ok(())
    } else {
        furiosa_visa_rules::tensor::check_address(memory, footprint, address)
    }
}

/// Checks where a tensor in the VRF ends. One that has a name counts from 0.
pub(crate) fn check_vrf_end(
    operation: &'static str,
    bytes: usize,
    address: Address,
) -> Result<(), PlanError> {
    let address = if is_name(address) { 0 } else { address };
    furiosa_visa_rules::tensor::check_vrf_end(operation, bytes, address)
}

/// Finds the place of a tensor that a call makes, and its region, with the number of its filling. It has no type
/// parameters, so that all kernels share it.
#[track_caller]
#[inline(never)]
pub(crate) fn place(
    system: &SystemHandle,
    memory: Memory,
    footprint: &Footprint,
    operation: &'static str,
    address: Address,
) -> (Place, Region) {
    let place = system.place(address, memory, footprint.bytes(), operation);
    accept(operation, check_address(memory, footprint, place.address));
    let region = Region::whole(memory, place.address, system.next_fill(), *footprint);
    (place, region)
}
