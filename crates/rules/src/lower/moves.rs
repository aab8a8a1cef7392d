//! Moves between memories, with mappings as values.

use super::Tensor;
use crate::command::{Address, FillId, HostTransfer, Memory, Operation};
use crate::engine::dma::{derive_dma, derive_storage_transfer, dma_operation};
use crate::engine::memset::{derive_memset, memset_operation};
use crate::error::PlanError;
use crate::mapping::storage::packed_factors;
use crate::mapping::{Expr, Pool};
use crate::tensor::Shape;

/// A DMA transfer from HBM or DM to a new tensor in DM: its chips, clusters, slices and elements.
///
/// # Errors
/// The refusals of `to_dm`.
pub fn to_dm(
    source: &Tensor,
    [chip, cluster, slice, element]: [&'static Expr; 4],
    address: Address,
    fill: FillId,
) -> Result<(Operation, Tensor), PlanError> {
    moved(source, Shape::dm(source.shape.element_type, chip, cluster, slice, element), address, fill)
}

/// A DMA transfer from HBM or DM to a new tensor in HBM: its chips and elements.
///
/// # Errors
/// The refusals of `to_hbm`.
pub fn to_hbm(
    source: &Tensor,
    [chip, element]: [&'static Expr; 2],
    address: Address,
    fill: FillId,
) -> Result<(Operation, Tensor), PlanError> {
    moved(source, Shape::hbm(source.shape.element_type, chip, element), address, fill)
}

fn moved(
    source: &Tensor,
    shape: Shape,
    address: Address,
    fill: FillId,
) -> Result<(Operation, Tensor), PlanError> {
    let destination = Tensor::new(shape, address, fill)?;
    let transfer = derive_dma(&source.shape, &shape)?;
    Ok((dma_operation(source.region, destination.region, &transfer), destination))
}

/// A DMA transfer to a tensor that is there, or to a tile of one: `to_hbm_view` and `to_dm_view` of typed kernels.
///
/// # Errors
/// The refusals of these calls.
pub fn to_view(source: &Tensor, destination: &Tensor) -> Result<Operation, PlanError> {
    let transfer = derive_dma(&source.shape, &destination.shape)?;
    Ok(dma_operation(source.region, destination.region, &transfer))
}

/// A memset of a tensor in DM. `code`: the value in its encoding.
///
/// # Errors
/// The refusals of `memset`.
pub fn memset(tensor: &Tensor, code: u32) -> Result<Operation, PlanError> {
    let moves = derive_memset(&tensor.shape)?;
    Ok(memset_operation(tensor.region, code, &moves))
}

/// The transfer of a host array of mapping `host` to a tensor in HBM.
///
/// # Errors
/// The refusals of `HostTensor::to_hbm`.
pub fn upload(host: &'static Expr, tensor: &Tensor) -> Result<HostTransfer, PlanError> {
    of_host("to_hbm", host, tensor, true)
}

/// The transfer of a tensor in HBM to a host array of mapping `host`.
///
/// # Errors
/// The refusals of `HbmTensor::to_host`.
pub fn download(host: &'static Expr, tensor: &Tensor) -> Result<HostTransfer, PlanError> {
    of_host("to_host", host, tensor, false)
}

fn of_host(
    operation: &'static str,
    host: &'static Expr,
    tensor: &Tensor,
    upload: bool,
) -> Result<HostTransfer, PlanError> {
    tensor.check_memory(operation, Memory::Hbm)?;
    let transfer = derive_storage_transfer(operation, host, &tensor.shape, upload)?;
    Ok(HostTransfer {
        region: tensor.region,
        transfer,
        host_elements: packed_factors(&mut Pool::new(), host).size(),
    })
}
