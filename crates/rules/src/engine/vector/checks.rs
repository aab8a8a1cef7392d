//! Checks of the values of a call: units, operators, modes and widths.

use crate::command::RngdAlu;
use crate::error::{PlanError, refuse};
use core::fmt;

/// Checks that a unit is free: it does one thing per pass.
///
/// # Errors
/// If the unit is in use.
pub fn check_alu(operation: &'static str, alu: RngdAlu, used: bool) -> Result<(), PlanError> {
    if !used {
        return Ok(());
    }
    refuse!(
        "vector unit",
        "{}: {} is already in use: each arithmetic unit of the Vector Engine works once per pass; \
         help: use an operator of another unit, or a second pass",
        (operation, alu.name()),
    )
}

/// Refuses operators whose computation is not documented.
///
/// # Errors
/// If the operator is not documented.
pub fn check_defined(operation: &'static str, name: &'static str, defined: bool) -> Result<(), PlanError> {
    if defined {
        return Ok(());
    }
    refuse!(
        "vector operator",
        "{}: what {} computes is not documented, so that it is not simulated (guide: vector); help: use \
         the operator without a mask, on the elements of a group: `VeBranchOperand::group(operand, GroupId::One)`",
        (operation, name),
    )
}

/// Refuses fixed points that a number cannot have.
///
/// # Errors
/// If there are more than 31 integer bits.
pub fn check_int_width(operation: &'static str, int_width: u32) -> Result<(), PlanError> {
    if int_width < 32 {
        return Ok(());
    }
    refuse!(
        "int_width",
        "{}: int_width is {}, but must be less than 32: an i32 has 31 bits beside its sign; help: 31 is for integers",
        (operation, int_width as usize),
    )
}

/// The argument of a function: 0 is the stream. There is no operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnaryArgMode {
    /// `op(stream)`.
    #[default]
    Mode0,
    /// An operand that functions do not have: refused.
    Mode1,
}

impl fmt::Display for UnaryArgMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            UnaryArgMode::Mode0 => "UnaryArgMode::Mode0",
            UnaryArgMode::Mode1 => "UnaryArgMode::Mode1",
        })
    }
}

/// Checks that a function has no operand.
///
/// # Errors
/// If the mode asks for an operand.
pub fn check_unary_mode(mode: UnaryArgMode) -> Result<(), PlanError> {
    if mode == UnaryArgMode::Mode0 {
        return Ok(());
    }
    refuse!(
        "unary mode",
        "vector_fp_unary: UnaryArgMode::Mode1 is the function of an operand, but a function takes the stream alone; \
         help: use UnaryArgMode::Mode0",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_31_bits_beside_its_sign() {
        assert!([0, 31].iter().all(|&width| check_int_width("vector_fxp_to_fp", width).is_ok()));
        for width in [32, u32::MAX] {
            let error = check_int_width("vector_fxp_to_fp", width).expect_err("it is too wide");
            assert!(error.message().contains(&format!("int_width is {width}")), "{error}");
        }
    }

    #[test]
    fn units_modes_and_operators() {
        assert!(check_alu("vector_clip", RngdAlu::ClipMax, false).is_ok());
        let text = check_alu("vector_clip", RngdAlu::ClipMax, true).expect_err("it is taken").to_string();
        assert!(text.contains("vector_clip: ClipMax is already in use"), "{text}");
        assert!(check_unary_mode(UnaryArgMode::Mode0).is_ok());
        let names = [UnaryArgMode::Mode0, UnaryArgMode::Mode1].map(|mode| mode.to_string());
        assert_eq!(names, ["UnaryArgMode::Mode0", "UnaryArgMode::Mode1"]);
        let text = check_unary_mode(UnaryArgMode::Mode1).expect_err("no operand").to_string();
        assert!(text.contains("UnaryArgMode::Mode1 is the function of an operand"), "{text}");
        assert!(check_defined("vector_fp_ternary", "FpTernaryOp::FmaF", true).is_ok());
        let text =
            check_defined("vector_fp_ternary", "FpTernaryOp::MaskFmaF", false).expect_err("undocumented");
        assert!(text.message().contains("what FpTernaryOp::MaskFmaF computes is not documented"), "{text}");
    }
}
