//! Programs in words.

use super::{BinaryArgMode, OperandSource, TernaryArgMode, ValidBranchIds, Vector, VectorStep};
use crate::scalar::ElementType;
use core::fmt;

/// Writes a constant as a number of its type.
fn write_constant(f: &mut fmt::Formatter<'_>, element: ElementType, bits: u32) -> fmt::Result {
    match element {
        ElementType::F32 => write!(f, "{:?}", f32::from_bits(bits)),
        _ => write!(f, "{}", bits as i32),
    }
}

fn write_source(f: &mut fmt::Formatter<'_>, element: ElementType, source: &OperandSource) -> fmt::Result {
    match source {
        OperandSource::Constant(bits) => write_constant(f, element, *bits),
        OperandSource::Vrf(operand) => write!(f, "VRF {}", operand.source.address),
        OperandSource::Stash(_) => f.write_str("stash"),
    }
}

fn write_ids(f: &mut fmt::Formatter<'_>, ids: ValidBranchIds) -> fmt::Result {
    match ids {
        ValidBranchIds::ValidAlways => Ok(()),
        group => write!(f, " for {group}"),
    }
}

/// The digits of the name of a mode.
fn mode_digits(arguments: &[usize]) -> impl fmt::Display {
    arguments.iter().map(usize::to_string).collect::<String>()
}

impl fmt::Display for VectorStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VectorStep::Branch(branch) => write!(f, "branch {branch}"),
            VectorStep::Unzip { step } => write!(f, "unzip {step}"),
            VectorStep::Zip { op, mode: BinaryArgMode::Mode01 } => write!(f, "zip {op}"),
            VectorStep::Zip { op, mode } => write!(f, "zip {op} mode {}", mode_digits(&mode.arguments())),
            VectorStep::Stash => f.write_str("stash"),
            VectorStep::Binary { op, mode, operands } => {
                write!(f, "{op}")?;
                if *mode != BinaryArgMode::Mode01 {
                    write!(f, " mode {}", mode_digits(&mode.arguments()))?;
                }
                for (k, input) in operands.iter().enumerate() {
                    f.write_str(if k == 0 { " " } else { ", " })?;
                    write_source(f, op.element(), &input.source)?;
                    write_ids(f, input.ids)?;
                }
                Ok(())
            }
            VectorStep::Unary { op, ids } => {
                write!(f, "{op}")?;
                write_ids(f, *ids)
            }
            VectorStep::Ternary { op, mode, operands } => {
                write!(f, "{op}")?;
                if *mode != TernaryArgMode::Mode012 {
                    write!(f, " mode {}", mode_digits(&mode.arguments()))?;
                }
                for (k, input) in operands.iter().enumerate() {
                    f.write_str(if k == 0 { " (" } else { ", (" })?;
                    write_source(f, ElementType::F32, &input.source)?;
                    write!(f, ", {:?})", input.constant)?;
                    write_ids(f, input.ids)?;
                }
                Ok(())
            }
            VectorStep::FxpToFp { int_width } => write!(f, "fxp_to_fp {int_width}"),
            VectorStep::FpToFxp { int_width } => write!(f, "fp_to_fxp {int_width}"),
            VectorStep::Reinterpret => f.write_str("reinterpret"),
            VectorStep::Split => f.write_str("split"),
            VectorStep::Trim => f.write_str("trim_way4"),
            VectorStep::Concat => f.write_str("concat"),
            VectorStep::Pad => f.write_str("pad_way8"),
            VectorStep::IntraSliceReduce(reduce) => {
                let count: usize = reduce.reduced.iter().map(|reduced_loop| reduced_loop.size).product();
                write!(f, "intra_slice_reduce {} of {count}, {} slots", reduce.op, reduce.slots)
            }
            VectorStep::InterSliceReduce(reduce) => {
                let count: usize = reduce.reduced.iter().map(|slice_loop| slice_loop.size).product();
                write!(f, "inter_slice_reduce {} of {count}, groups of {} slices", reduce.op, reduce.group)
            }
        }
    }
}

/// The steps, in the words of the guide.
impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vector {}", self.input)?;
        for (k, step) in self.steps.iter().enumerate() {
            write!(f, "{}{step}", if k == 0 { ": " } else { " | " })?;
        }
        Ok(())
    }
}
