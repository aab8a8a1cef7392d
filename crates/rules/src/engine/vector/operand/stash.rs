//! The stash of a stream as an operand.

use crate::command::{OperandSource, Transfer};
use crate::error::{PlanError, refuse};
use crate::scalar::VeScalarKind;

/// The stash of a stream, as seen from its present mapping.
#[derive(Clone, Copy, Debug)]
pub struct StashRead {
    /// The type of the stashed elements, and the loops. `None` if nothing is stashed.
    pub stashed: Option<(VeScalarKind, Result<Transfer, PlanError>)>,
}

impl StashRead {
    /// The stash as an operand of a stream of this type.
    ///
    /// # Errors
    /// If nothing was stashed, or another type, or an axis that the stream lacks by now.
    pub fn operand(&self, requested: VeScalarKind) -> Result<OperandSource, PlanError> {
        let Some((kind, transfer)) = &self.stashed else {
            refuse!(
                "stash missing",
                "vector stash: the stash is an operand, but nothing was stashed; \
                 help: call `vector_stash()` where the elements are those that you want",
            );
        };
        if *kind != requested {
            let name = |kind| match kind {
                VeScalarKind::F32 => "F32",
                VeScalarKind::I32 => "I32",
            };
            refuse!(
                "stash type",
                "vector stash: stash type mismatch: stashed as {}, requested as {}; \
                 help: stash behind the conversion",
                (name(*kind), name(requested)),
            );
        }
        transfer.map(|transfer| OperandSource::Stash(Box::new(transfer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stash_has_its_type() {
        use VeScalarKind::{F32, I32};
        let transfer = Transfer::new();
        for (kind, other, names) in [(F32, I32, ["F32", "I32"]), (I32, F32, ["I32", "F32"])] {
            let stash = StashRead { stashed: Some((kind, Ok(transfer))) };
            assert_eq!(stash.operand(kind).ok(), Some(OperandSource::Stash(Box::new(transfer))));
            let error = stash.operand(other).expect_err("it is of another type");
            let part = format!("stashed as {}, requested as {}", names[0], names[1]);
            assert!(error.rule() == "stash type" && error.message().contains(&part), "{error}");
        }
        let error = StashRead { stashed: None }.operand(F32).expect_err("there is none");
        assert_eq!(error.rule(), "stash missing");
    }
}
