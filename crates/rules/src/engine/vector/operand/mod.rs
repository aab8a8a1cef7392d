//! Operands: constants, tensors in the VRF, and the stash.

pub mod derive;
pub mod stash;
pub mod units;

pub use derive::{
    OperandRequest, broadcast, derive_operand, derive_operand_of, derive_stash, derive_stash_of, meets,
    parts, positions,
};
pub use stash::StashRead;
pub use units::check_units;

use crate::command::ValidBranchIds;
use crate::error::{PlanError, refuse};

/// The call, for messages.
pub const OPERATION: &str = "vector operand";

/// Refuses lists in which more than one operand is for all elements.
///
/// # Errors
/// If there is more than one such operand.
pub fn check_always(ids: impl Iterator<Item = ValidBranchIds>) -> Result<(), PlanError> {
    let found = ids.filter(|ids| *ids == ValidBranchIds::ValidAlways).count();
    if found <= 1 {
        return Ok(());
    }
    refuse!(
        "operands always",
        "vector operand: Multiple ValidAlways operands are not allowed (found {}); \
         help: give each but one a group: `VeBranchOperand::group(operand, GroupId::One)`",
        found,
    )
}
