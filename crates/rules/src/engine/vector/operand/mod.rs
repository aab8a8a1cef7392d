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

use crate::command::{TagGuard, ValidBranchIds};
use crate::error::{PlanError, refuse};
use crate::text::Text;

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

/// Refuses an operand that is for no element.
///
/// # Errors
/// If the guard admits no execution id.
pub fn check_admits(operation: &'static str, ids: ValidBranchIds) -> Result<(), PlanError> {
    let guard = ids.guard();
    if !guard.admits_nothing() {
        return Ok(());
    }
    refuse!(
        "guard admits nothing",
        "{}: `{}` admits no execution id, so it is for no element; help: demand a bit, or leave it out",
        (operation, &guard.notation(Text::new())),
    )
}

/// Refuses slots of which one is never taken.
///
/// # Errors
/// If a guard admits no execution id, or if a slot follows one that is for all elements.
pub fn check_slots(guards: impl Iterator<Item = TagGuard>) -> Result<(), PlanError> {
    let mut all: Option<usize> = None;
    for (k, guard) in guards.enumerate() {
        if let Some(before) = all {
            refuse!(
                "slot after all",
                "vector operand: slot {} of `Branched`, `{}`, comes after slot {}, which takes all elements; \
                 help: move slot {} to the end, or give it a guard",
                (k + 1, &guard.notation(Text::new()), before, before),
            );
        }
        if guard.admits_nothing() {
            refuse!(
                "guard admits nothing",
                "vector operand: slot {} of `Branched`, `{}`, admits no execution id; \
                 help: demand a bit, or leave the slot out",
                (k + 1, &guard.notation(Text::new())),
            );
        }
        all = guard.admits_all().then_some(k + 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::BitReq::{Ignore, One, Zero};

    #[test]
    fn slots_that_are_never_taken() {
        let (all, one) = (TagGuard::all(), TagGuard::matches([One, Ignore, Ignore, Ignore]));
        let (nothing, rest) =
            (TagGuard::not_matches([Ignore; 4]), TagGuard::not_matches([One, Zero, Ignore, Ignore]));
        let message = |guards: &[TagGuard]| {
            check_slots(guards.iter().copied()).map_err(|error| error.message().to_string())
        };
        for legal in [&[all][..], &[one], &[one, all], &[one, one, rest, all], &[rest, one]] {
            assert_eq!(message(legal), Ok(()), "{legal:?}");
        }
        let expected = "vector operand: slot 3 of `Branched`, `TagGuard::matches([One, Ignore, Ignore, Ignore])`, comes after \
                        slot 2, which takes all elements; help: move slot 2 to the end, or give it a guard";
        assert_eq!(message(&[rest, all, one]), Err(expected.to_string()));
        assert!(
            message(&[all, all])
                .is_err_and(|text| text.contains("slot 2 of `Branched`, `TagGuard::all()`, comes"))
        );
        let expected = "vector operand: slot 2 of `Branched`, `TagGuard::not_matches([Ignore, Ignore, Ignore, Ignore])`, \
                        admits no execution id; help: demand a bit, or leave the slot out";
        assert_eq!(message(&[one, nothing, all]), Err(expected.to_string()));
        let error = check_admits("vector_fp_unary", nothing.into()).expect_err("it is for nothing");
        assert!(error.message().starts_with("vector_fp_unary: `TagGuard::not_matches([Ignore,"), "{error}");
        for guard in [all, one, rest] {
            assert!(check_admits(OPERATION, guard.into()).is_ok());
        }
    }
}
