//! Tensors at rest, as values.

use crate::command::{Address, FillId, Memory, Region, TrfAddress, TrfRegion};
use crate::engine::register_file::{TrfLoadConfig, check_capacity, check_rows};
use crate::error::{PlanError, refuse};
use crate::mapping::{Expr, Problem, liveness_of};
use crate::scalar::ElementType;
use crate::tensor::tile::{Dimension, TileRequest, derive_tile};
use crate::tensor::{Shape, check_address};

/// A tensor in HBM, in DM, or in the vector register file.
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// Memory, element type and mappings.
    pub shape: Shape,
    /// The bytes.
    pub region: Region,
}

impl Tensor {
    /// A tensor at an address. `fill` names it: see `System::next_fill`.
    ///
    /// # Errors
    /// A refusal if no memory holds the shape, or if the address is none of this memory.
    pub fn new(shape: Shape, address: Address, fill: FillId) -> Result<Self, PlanError> {
        let footprint = shape.footprint()?;
        check_address(shape.memory, &footprint, address)?;
        Ok(Self { shape, region: Region::whole(shape.memory, address, fill, footprint) })
    }

    /// One value of `index` in the elements of the tensor, at `start`: a view of it, as `tile` of typed kernels. `element`
    /// are its elements.
    ///
    /// # Errors
    /// The refusals of `tile`.
    pub fn tile(
        &self,
        index: &'static Expr,
        element: &'static Expr,
        start: usize,
    ) -> Result<Self, PlanError> {
        self.tile_of(index, 1, element, start)
    }

    /// `len` values of `index` in the elements of the tensor, from `start` on, as [`Self::tile`].
    ///
    /// # Errors
    /// The refusals of `tile`.
    pub fn tile_of(
        &self,
        index: &'static Expr,
        len: usize,
        element: &'static Expr,
        start: usize,
    ) -> Result<Self, PlanError> {
        let others = [
            (Dimension::Chip, self.shape.chip),
            (Dimension::Cluster, self.shape.cluster),
            (Dimension::Slice, self.shape.slice),
        ];
        let config = derive_tile(&TileRequest {
            operation: "tile",
            dimension: Dimension::Element,
            index,
            len,
            from: self.shape.element,
            to: element,
            others: others.map(Some),
        })?;
        let part = config.elements(self.region.part, self.shape.element_type, start)?;
        let shape = Shape { element, ..self.shape };
        let Region { memory, fill, .. } = self.region;
        let region = Region::of(memory, self.region.base(), fill, &shape.footprint()?, part);
        Ok(Self { shape, region })
    }

    /// Chip, cluster and slice of a tensor in DM or in the VRF.
    pub(super) fn units(&self) -> [&'static Expr; 3] {
        [self.shape.chip, self.shape.cluster, self.shape.slice]
    }

    /// A refusal of a tensor in another memory.
    pub(super) fn check_memory(&self, operation: &'static str, memory: Memory) -> Result<(), PlanError> {
        if self.shape.memory == memory {
            return Ok(());
        }
        let name = |memory| match memory {
            Memory::Hbm => "HBM",
            Memory::Dm => "DM",
            Memory::Vrf => "the VRF",
        };
        refuse!(
            "memory",
            "{}: the tensor is in {}, but the call takes one in {}; help: move it there first",
            (operation, name(self.shape.memory), name(memory)),
        )
    }
}

/// A tensor in the tensor register file.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Chip, cluster and slice.
    pub units: [&'static Expr; 3],
    /// The rows.
    pub row: &'static Expr,
    /// The elements of a row.
    pub element: &'static Expr,
    /// The bytes.
    pub region: TrfRegion,
}

impl Weights {
    /// Weights in a part of the register file. `fill` names them: see `System::next_fill`.
    ///
    /// # Errors
    /// A refusal if the number of rows is not 1, 2, 4 or 8, or if the part of the register file is too small.
    pub fn new(
        element_type: ElementType,
        units: [&'static Expr; 3],
        [row, element]: [&'static Expr; 2],
        address: TrfAddress,
        fill: FillId,
    ) -> Result<Self, PlanError> {
        const OPERATION: &str = "to_trf";
        let (rows, row_elements) = (row.size(), element.size());
        check_rows(OPERATION, row, rows)?;
        check_capacity(OPERATION, &TrfLoadConfig::new(element_type, rows, row_elements), address)?;
        let [chip, cluster, slice] = units;
        let Some(guard) = liveness_of(&[chip, cluster, slice, row, element]) else {
            return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
        };
        let region = TrfRegion { address, fill, element: element_type, rows, row_elements, guard };
        Ok(Self { units, row, element, region })
    }
}
