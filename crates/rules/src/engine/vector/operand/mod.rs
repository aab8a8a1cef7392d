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

pub mod derive;
pub mod units;

pub use derive::{OperandRequest, broadcast, derive_operand, derive_stash, meets, parts, positions};
pub use units::check_units;

use crate::command::ValidBranchIds;
use crate::error::PlanError;
use crate::error::refuse;

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
        number(found),
    )
}
