//! Values of the types of a tensor at rest.

use super::tile::span_of;
use super::units::{CHIP, CLUSTER, SLICE, count_units};
use crate::command::{Footprint, Memory};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Pool, factorize, liveness_of};
use crate::scalar::ElementType;
use crate::sequencer::transfer::{
    DM_CHIP, DM_CLUSTER, DM_SLICE, HBM_CHIP, Level, Placement, write_placement,
};
use crate::spec;
use crate::text::Text;

/// A tensor at rest: its memory, element type and mappings. HBM tensors have one cluster and one slice.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The memory.
    pub memory: Memory,
    /// The type of an element.
    pub element_type: ElementType,
    /// The mapping over chips.
    pub chip: &'static Expr,
    /// The mapping over the clusters of a chip.
    pub cluster: &'static Expr,
    /// The mapping over the slices of a cluster.
    pub slice: &'static Expr,
    /// The mapping inside a unit.
    pub element: &'static Expr,
}

const ONE: &Expr = &Expr::Identity;

impl Shape {
    /// The shape of a tensor in HBM.
    pub const fn hbm(element_type: ElementType, chip: &'static Expr, element: &'static Expr) -> Self {
        Self { memory: Memory::Hbm, element_type, chip, cluster: ONE, slice: ONE, element }
    }

    /// The shape of a tensor in DM.
    pub const fn dm(
        element_type: ElementType,
        chip: &'static Expr,
        cluster: &'static Expr,
        slice: &'static Expr,
        element: &'static Expr,
    ) -> Self {
        Self { memory: Memory::Dm, element_type, chip, cluster, slice, element }
    }

    /// The shape of a tensor in the VRF.
    pub const fn vrf(
        element_type: ElementType,
        chip: &'static Expr,
        cluster: &'static Expr,
        slice: &'static Expr,
        element: &'static Expr,
    ) -> Self {
        Self { memory: Memory::Vrf, element_type, chip, cluster, slice, element }
    }

    /// The name of the type.
    pub const fn name(&self) -> &'static str {
        match self.memory {
            Memory::Hbm => "HbmTensor",
            Memory::Dm => "DmTensor",
            Memory::Vrf => "VrfTensor",
        }
    }

    /// Appends `` `DmTensor<m![…], …>` `` to a text.
    pub const fn notation(&self, text: Text) -> Text {
        let dimensions: [_; 4] = self.dimensions();
        let dimensions = dimensions.split_at(self.levels()).0;
        write_placement(text, &Placement { name: self.name(), dimensions })
    }

    /// The same as text.
    pub fn to_text(self) -> String {
        self.notation(Text::new()).to_string()
    }

    /// The dimensions for a transfer, innermost first. HBM uses the first two.
    pub const fn dimensions(&self) -> [(&'static Expr, Level); 4] {
        match self.memory {
            Memory::Hbm => {
                let element = (self.element, Level::Element);
                [element, (self.chip, HBM_CHIP), element, element]
            }
            Memory::Dm | Memory::Vrf => [
                (self.element, Level::Element),
                (self.slice, DM_SLICE),
                (self.cluster, DM_CLUSTER),
                (self.chip, DM_CHIP),
            ],
        }
    }

    /// Number of [`Self::dimensions`].
    pub const fn levels(&self) -> usize {
        match self.memory {
            Memory::Hbm => 2,
            Memory::Dm | Memory::Vrf => 4,
        }
    }

    /// The numbers of chips, clusters, slices and elements per unit, or the reason why no memory holds them.
    pub const fn sizes(&self) -> Result<[usize; 4], PlanError> {
        let [chips, clusters, slices, elements] =
            [self.chip.size(), self.cluster.size(), self.slice.size(), self.element.size()];
        let is_none = chips == 0 || clusters == 0 || slices == 0;
        if is_none || chips > CHIP.1 || clusters > CLUSTER.1 || slices > SLICE.1 {
            attempt!(count_units(self.name(), self.chip, CHIP.0, CHIP.1));
            attempt!(count_units(self.name(), self.cluster, CLUSTER.0, CLUSTER.1));
            attempt!(count_units(self.name(), self.slice, SLICE.0, SLICE.1));
        }
        if elements == 0 {
            attempt!(size(self.element));
        }
        let bits = elements as u128 * self.element_type.bits() as u128;
        let (name, per, capacity) = match self.memory {
            Memory::Hbm => ("HBM", "chip", spec::HBM_BYTES),
            Memory::Dm => ("DM", "slice", spec::DM_BYTES as u64),
            Memory::Vrf => ("VRF", "slice", spec::VRF_BYTES as u64),
        };
        if bits > 8 * capacity as u128 {
            let bytes = bits.div_ceil(8);
            let bytes = if bytes > usize::MAX as u128 { usize::MAX } else { bytes as usize };
            refuse!(
                "capacity",
                "{}: Element {} of {} takes {} bytes, but {} holds {} bytes per {}; \
                 help: spread the tensor over more units, or move it in parts",
                (self.name(), self.element, self.element_type.name(), bytes, name, capacity as usize, per),
            );
        }
        Ok([chips, clusters, slices, elements])
    }

    /// Number of elements from the first one to the last one that a unit can hold.
    pub const fn span(element: &'static Expr) -> usize {
        let mut pool = Pool::new();
        span_of(&factorize(&mut pool, element))
    }

    /// The positions of the tensor, or the reason why no memory holds them.
    pub const fn footprint(&self) -> Result<Footprint, PlanError> {
        let [chips, clusters, slices, elements] = attempt!(self.sizes());
        let Some(guard) = liveness_of(&[self.chip, self.cluster, self.slice, self.element]) else {
            return Err(PlanError::mapping(self.name(), crate::mapping::Problem::TooManyFactors));
        };
        Ok(Footprint { element: self.element_type, chips, clusters, slices, elements, guard })
    }
}

/// The size of an expression, or its refusal.
pub const fn size(expr: &'static Expr) -> Result<usize, PlanError> {
    match expr.checked_size() {
        Ok(size) => Ok(size),
        Err(text) => Err(PlanError::new("mapping", text)),
    }
}
