//! The calls of an epilogue with their mappings, as commands.

use super::program::method;
use super::{Action, Operand, Program};
use crate::layout::{Bias, Mapping};
use furiosa_visa_rules::command::{Address, BinaryArgMode, BinaryInput, FillId, OperandSource, Operation};
use furiosa_visa_rules::command::{ValidBranchIds, VectorStep};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::lower::{Call, Stream, Tensor, to_dm};

/// Bits before the binary point of an integer.
pub(super) const INTEGER_WIDTH: u32 = 31;

/// The mappings of the sums where an epilogue begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Time and packet of flits.
    pub flits: [Mapping; 2],
    /// Time and packet of halves of flits.
    pub halves: [Mapping; 2],
}

/// Adds the calls of an epilogue to a stream inside the Vector Engine.
///
/// # Errors
/// The refusal of the first call that has one.
pub fn apply(
    stream: Stream,
    program: &Program,
    ends: &Ends,
    bias: Option<&Tensor>,
) -> Result<Stream, PlanError> {
    let [flits, halves] = [&ends.flits, &ends.halves].map(|[time, packet]| (time.expr, packet.expr));
    program.actions.iter().try_fold(stream, |stream, action| match *action {
        Action::ToFloat => stream.step("vector_fxp_to_fp", VectorStep::FxpToFp { int_width: INTEGER_WIDTH }),
        Action::ToInteger => {
            stream.step("vector_fp_to_fxp", VectorStep::FpToFxp { int_width: INTEGER_WIDTH })
        }
        Action::Split => stream.call(&Call::Split { time: halves.0, packet: halves.1 }),
        Action::Concat => stream.call(&Call::Concat { time: flits.0, packet: flits.1 }),
        Action::Stash => stream.step("vector_stash", VectorStep::Stash),
        Action::Unary(op) => {
            stream.step("vector_fp_unary", VectorStep::Unary { op, ids: ValidBranchIds::ValidAlways })
        }
        Action::Binary(op, operand) => {
            let source = match operand {
                Operand::Bias => {
                    let bias = bias.unwrap_or_else(|| unreachable!("a bias is loaded before it is added"));
                    stream.operand(bias)?
                }
                Operand::Stash => stream.stash()?,
                Operand::Float(value) => OperandSource::Constant(value.to_bits()),
                Operand::Integer(value) => OperandSource::Constant(value as u32),
            };
            let operands = vec![BinaryInput { ids: ValidBranchIds::ValidAlways, source }];
            stream.step(method(op), VectorStep::Binary { op, mode: BinaryArgMode::Mode01, operands })
        }
    })
}

/// Brings a bias from HBM to the slices that add it.
///
/// # Errors
/// The refusals of `to_dm`.
pub fn bring_bias(
    bias: &Bias,
    [cluster, slice]: [&Mapping; 2],
    source: &Tensor,
    address: Address,
    fill: FillId,
) -> Result<(Operation, Tensor), PlanError> {
    to_dm(source, [source.shape.chip, cluster.expr, slice.expr, bias.element.expr], address, fill)
}

/// Loads the part of a bias that the tile with this number takes to the vector register file.
///
/// # Errors
/// The refusals of the calls.
pub fn load_bias(
    bias: &Bias,
    there: &Tensor,
    number: usize,
    address: Address,
    fill: FillId,
) -> Result<(Operation, Tensor), PlanError> {
    let part = match &bias.tile {
        Some(tile) => &there.tile(tile.index.expr, tile.element.expr, number)?,
        None => there,
    };
    let [time, packet] = [&bias.load[0], &bias.load[1]].map(|mapping| mapping.expr);
    Stream::begin(part, true)?.fetch(part.shape.element_type, time, packet)?.collect(time, packet)?.to_vrf(
        bias.part.expr,
        address,
        fill,
    )
}
