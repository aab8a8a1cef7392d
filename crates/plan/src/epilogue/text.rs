//! The calls of an epilogue as text.

use super::lower::INTEGER_WIDTH;
use super::program::method;
use super::{Action, Ends, Operand, Program};
use core::fmt::Write as _;
use furiosa_visa_rules::command::{BinaryOperator, FpBinaryOp};

/// An operator, as a kernel writes it.
pub(crate) fn operator(op: BinaryOperator) -> String {
    match op {
        BinaryOperator::Fp(FpBinaryOp::MulF(unit)) => format!("FpBinaryOp::MulF({unit})"),
        BinaryOperator::FpDiv(op) => format!("{op}.with_mode(BinaryArgMode::Mode01)"),
        op => op.to_string(),
    }
}

impl Program {
    /// The calls, a line each. `bias`: the operand, as the kernel names it.
    pub(crate) fn text(&self, ends: &Ends, bias: &str) -> String {
        let mut text = String::new();
        for action in &self.actions {
            let call = match action {
                Action::ToFloat => format!("vector_fxp_to_fp({INTEGER_WIDTH})"),
                Action::ToInteger => format!("vector_fp_to_fxp({INTEGER_WIDTH})"),
                Action::Split => format!("vector_split::<{}, {}>()", ends.halves[0], ends.halves[1]),
                Action::Concat => format!("vector_concat::<{}, {}>()", ends.flits[0], ends.flits[1]),
                Action::Stash => "vector_stash()".to_string(),
                Action::Unary(op) => format!("vector_fp_unary({op})"),
                Action::Binary(op, operand) => {
                    let operand = match operand {
                        Operand::Bias => bias.to_string(),
                        Operand::Stash => "Stash".to_string(),
                        Operand::Float(value) => format!("{value:?}"),
                        Operand::Integer(value) => value.to_string(),
                    };
                    format!("{}({}, {operand})", method(*op), operator(*op))
                }
            };
            // Writing to a string does not fail.
            let _ = writeln!(text, "        .{call}");
        }
        text
    }
}
