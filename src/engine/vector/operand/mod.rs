//! Operands: constants, tensors in the VRF, and the stash.
//!
//! ```text
//!   stream      Time m![W], Packet m![L]
//!   VRF         m![L]       one value per lane, the same in every time step
//!               m![W]       one value per time step, the same in every lane
//!               m![W, L]    one value per element; any order
//!               m![1 # 8]   one value per slice
//! ```
//!
//! Axes are matched by name and digit. The tensor is broadcast along axes that it lacks. Every slice reads its own
//! register file: for each slice of the stream the tensor must have one, with the same coordinates of axes that both
//! name.

mod branched;
mod convert;

mod derive;

mod stash;

use super::array_vec::ArrayVec;
use crate::command::{
    BinaryInput, GroupId, Memory, OperandSource, Region, TernaryInput, ValidBranchIds, VrfOperand,
};
use crate::error::PlanError;
use crate::mapping::M;
use crate::runtime::Lease;
use crate::runtime::late::planned;
use crate::scalar::VeScalar;
use crate::spec::VECTOR_BRANCHES;
use crate::tensor::VrfTensor;
pub use branched::{Branched, Slots, slots};
pub use convert::{
    GroupOperand, GroupTernaryOperand, IntoGroupOperand, IntoGroupTernaryOperand, IntoOperands, IntoRhs,
    IntoTernaryOperands,
};
use core::marker::PhantomData;
pub use derive::{OperandPlan, OperandRequest, derive_operand, derive_stash};
pub(crate) use furiosa_visa_rules::engine::vector::operand::OPERATION;
pub(super) use furiosa_visa_rules::engine::vector::operand::check_admits;
pub use furiosa_visa_rules::engine::vector::operand::check_always;
pub(super) use stash::StashPlan;
pub use stash::{HasTensor, NoTensor, StashRead, TensorState};

/// The stash as an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stash;

/// A tensor in the VRF that is an operand of a stream of this mapping.
#[derive(Clone, Debug)]
pub struct VrfRead<D, TargetMapping> {
    operand: Box<VrfOperand>,
    /// Lease of the tensor's bytes: they stay held until the stream has ended, even if the tensor ends earlier.
    lease: Option<Lease>,
    types: PhantomData<(D, TargetMapping)>,
}

/// An operand of a stream of this mapping.
#[derive(Clone, Debug)]
pub enum VeRhs<D: VeScalar, TargetMapping: M> {
    /// The same value for every element.
    Const {
        /// The value.
        v: D,
    },
    /// Elements of the VRF.
    Vrf {
        /// The tensor.
        data: VrfRead<D, TargetMapping>,
    },
    /// The stash.
    Stash,
}

impl<D: VeScalar, TargetMapping: M> VeRhs<D, TargetMapping> {
    /// An operand with the same value for every element.
    pub fn constant(v: D) -> Self {
        VeRhs::Const { v }
    }

    /// A tensor in the VRF as an operand.
    ///
    /// Refused while compiling: a tensor without some slices of the stream, or with an axis that the stream lacks.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn vrf<Chip: M, Cluster: M, Slice: M, Element: M>(
        vrf: &VrfTensor<D, Chip, Cluster, Slice, Element>,
    ) -> Self {
        let transfer = planned!(TRANSFER of OperandPlan<Chip, Cluster, Slice, Element, TargetMapping>);
        let footprint = *planned!(FOOTPRINT of VrfTensor<D, Chip, Cluster, Slice, Element>);
        let source = Region::whole(Memory::Vrf, vrf.address, vrf.fill, footprint);
        VeRhs::Vrf {
            data: VrfRead {
                operand: Box::new(VrfOperand { source, transfer }),
                lease: vrf.lease.clone(),
                types: PhantomData,
            },
        }
    }

    /// The operand in the form of a command. `held` gets the lease of its bytes.
    fn source(self, stash: &StashRead, held: &mut Vec<Lease>) -> Result<OperandSource, PlanError> {
        match self {
            VeRhs::Const { v } => Ok(OperandSource::Constant(v.to_lane())),
            VeRhs::Vrf { data } => {
                held.extend(data.lease);
                Ok(OperandSource::Vrf(data.operand))
            }
            VeRhs::Stash => stash.operand(D::KIND),
        }
    }
}

/// An operand, and the elements that it is for.
#[derive(Clone, Debug)]
pub struct VeBranchOperand<D: VeScalar, TargetMapping: M> {
    /// The operand.
    pub operand: VeRhs<D, TargetMapping>,
    /// The elements.
    pub valid_branch_ids: ValidBranchIds,
}

impl<D: VeScalar, TargetMapping: M> VeBranchOperand<D, TargetMapping> {
    /// An operand for all elements.
    pub fn always(operand: VeRhs<D, TargetMapping>) -> Self {
        Self { operand, valid_branch_ids: ValidBranchIds::ValidAlways }
    }

    /// An operand for the elements of a group.
    pub fn group(operand: VeRhs<D, TargetMapping>, id: GroupId) -> Self {
        Self { operand, valid_branch_ids: ValidBranchIds::ValidGroup { id } }
    }

    /// The stash, as an operand for all elements.
    pub fn stash_always() -> Self {
        Self::always(VeRhs::Stash)
    }

    /// The stash, as an operand for the elements of a group.
    pub fn stash_group(id: GroupId) -> Self {
        Self::group(VeRhs::Stash, id)
    }

    /// True if the operand is the stash.
    pub fn is_stash(&self) -> bool {
        matches!(self.operand, VeRhs::Stash)
    }

    /// The elements that it is for.
    pub fn valid_branch_ids(&self) -> &ValidBranchIds {
        &self.valid_branch_ids
    }
}

/// Two operands of a ternary operator, and the elements that they are for.
#[derive(Clone, Debug)]
pub struct TernaryOperand<Mapping: M> {
    /// The first operand.
    pub operand0: VeRhs<f32, Mapping>,
    /// The second operand: always a constant.
    pub operand1: f32,
    /// The elements.
    pub valid_branch_ids: ValidBranchIds,
}

impl<Mapping: M> TernaryOperand<Mapping> {
    /// A pair of operands for all elements.
    pub fn always(operand0: VeRhs<f32, Mapping>, operand1: f32) -> Self {
        Self { operand0, operand1, valid_branch_ids: ValidBranchIds::ValidAlways }
    }

    /// A pair of operands for the elements of a group.
    pub fn group(operand0: VeRhs<f32, Mapping>, operand1: f32, id: GroupId) -> Self {
        Self { operand0, operand1, valid_branch_ids: ValidBranchIds::ValidGroup { id } }
    }
}

/// A list of operands.
pub(super) type Operands<D, TargetMapping> = ArrayVec<VeBranchOperand<D, TargetMapping>, VECTOR_BRANCHES>;

/// A list of pairs of operands.
pub(super) type TernaryOperands<Mapping> = ArrayVec<TernaryOperand<Mapping>, VECTOR_BRANCHES>;

/// Operands in the form of a command. `held` gets the leases of their bytes.
pub(super) fn binary_inputs<D: VeScalar, TargetMapping: M>(
    operands: impl IntoIterator<Item = VeBranchOperand<D, TargetMapping>>,
    stash: &StashRead,
    held: &mut Vec<Lease>,
) -> Result<Vec<BinaryInput>, PlanError> {
    let input = |operand: VeBranchOperand<D, TargetMapping>| {
        check_admits(OPERATION, operand.valid_branch_ids)?;
        Ok(BinaryInput { ids: operand.valid_branch_ids, source: operand.operand.source(stash, held)? })
    };
    operands.into_iter().map(input).collect()
}

/// Pairs of operands in the form of a command.
pub(super) fn ternary_inputs<TargetMapping: M>(
    operands: impl IntoIterator<Item = TernaryOperand<TargetMapping>>,
    stash: &StashRead,
    held: &mut Vec<Lease>,
) -> Result<Vec<TernaryInput>, PlanError> {
    let input = |operand: TernaryOperand<TargetMapping>| {
        check_admits(OPERATION, operand.valid_branch_ids)?;
        let source = operand.operand0.source(stash, held)?;
        Ok(TernaryInput { ids: operand.valid_branch_ids, source, constant: operand.operand1 })
    };
    operands.into_iter().map(input).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_operand_is_for_all() {
        use ValidBranchIds::ValidAlways;
        let zero = ValidBranchIds::from(GroupId::Zero);
        assert!(check_always([zero, ValidAlways, zero].into_iter()).is_ok());
        let error = check_always([ValidAlways, zero, ValidAlways].into_iter()).expect_err("two are for all");
        assert!(error.message().contains("(found 2)"), "{error}");
    }
}
