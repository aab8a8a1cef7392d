//! The tensors of a command, to be changed in place.
//!
//! ```text
//!   DMA            source, destination
//!   Tensor Unit    fetched tensors, weights, operands in the VRF, sink
//!   copy           source, destination
//!   gather         source, destination, index
//!   memset         destination
//! ```
//!
//! A context that decides late where tensors lie writes their addresses into commands that were given before.

use super::region::{Region, TrfRegion};
use super::tensor_unit::{Sink, TensorUnit};
use super::transfer::Inspection;
use super::uses::Place;
use super::{IndexedDma, Operation, UnitCopy};

/// A tensor of a command.
#[derive(Debug)]
pub enum PlaceMut<'a> {
    /// HBM, DM or the VRF.
    Region(&'a mut Region),
    /// The TRF.
    Trf(&'a mut TrfRegion),
}

impl Operation {
    /// Calls `visit` with each tensor that it reads or writes. Two uses of one tensor are two calls.
    pub fn for_each_place(&mut self, mut visit: impl FnMut(PlaceMut<'_>)) {
        match self {
            Operation::Dma(dma) => {
                let regions = [&mut dma.source, &mut dma.destination];
                regions.into_iter().for_each(|region| visit(PlaceMut::Region(region)));
            }
            Operation::UnitCopy(copy) => {
                let UnitCopy { source, destination, .. } = &mut **copy;
                [source, destination].into_iter().for_each(|region| visit(PlaceMut::Region(region)));
            }
            Operation::Indexed(indexed) => {
                let IndexedDma { source, destination, index, .. } = &mut **indexed;
                [source, destination, index].into_iter().for_each(|region| visit(PlaceMut::Region(region)));
            }
            Operation::Memset(memset) => visit(PlaceMut::Region(&mut memset.destination)),
            Operation::TensorUnit(unit) => {
                unit.regions_mut().for_each(|region| visit(PlaceMut::Region(region)));
                unit.weights_mut().for_each(|region| visit(PlaceMut::Trf(region)));
            }
        }
    }
}

impl TensorUnit {
    /// The tensors in the TRF: the weights, and what is loaded.
    pub fn weights_mut(&mut self) -> impl Iterator<Item = &mut TrfRegion> {
        let sink = match &mut self.sink {
            Sink::Trf { destination, .. } => Some(destination),
            Sink::Commit { .. } | Sink::Vrf { .. } => None,
        };
        self.contraction.iter_mut().map(|contraction| &mut contraction.trf).chain(sink)
    }
}

impl Inspection {
    /// The tensor.
    pub const fn place_mut(&mut self) -> PlaceMut<'_> {
        match &mut self.source {
            Place::Region(region) => PlaceMut::Region(region),
            Place::Trf(region) => PlaceMut::Trf(region),
        }
    }
}
