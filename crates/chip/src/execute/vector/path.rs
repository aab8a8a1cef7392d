//! Operators on each path: the loops of [`super::lanes`], compiled for its instructions.

use super::lanes::{self, Lanes, Offsets};
use super::stream::Lane;
pub(super) use crate::execute::path::Path;
use furiosa_visa_rules::command::{
    BinaryArgMode, BinaryOperator, FpTernaryOp, FpUnaryOp, ReduceOperator, TernaryArgMode,
};

/// Work on lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Job<'a> {
    /// Lanes computed by a step from other lanes, one by one.
    Step(LaneJob<'a>, &'a [Lane]),
    /// Lanes combined with other lanes, one by one.
    Accumulate(ReduceOperator, &'a [Lane]),
    /// Sums of lanes from a position on, at these offsets.
    Fold(ReduceOperator, (&'a [Lane], usize), &'a Offsets),
}

/// A step, with its operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum LaneJob<'a> {
    /// A binary operator with an operand.
    Binary(BinaryOperator, BinaryArgMode, Lanes<'a>),
    /// A function.
    Unary(FpUnaryOp),
    /// A ternary operator with both operands.
    Ternary(FpTernaryOp, TernaryArgMode, Lanes<'a>, f32),
    /// Fixed point to float.
    FixedToFloat(u32),
    /// Float to fixed point.
    FloatToFixed(u32),
}

impl Path {
    /// Runs a job.
    pub(in crate::execute::vector) fn run(self, job: Job<'_>, lanes: &mut [Lane]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.run(job, lanes),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2Vnni(machine) => machine.avx2().run(job, lanes),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.run(job, lanes),
            // Every program for AArch64 may use NEON.
            _ => portable(job, lanes),
        }
    }
}

#[inline(always)]
pub(super) fn portable(job: Job<'_>, to: &mut [Lane]) {
    match job {
        Job::Step(LaneJob::Binary(op, mode, operand), from) => lanes::binary(op, mode, from, operand, to),
        Job::Step(LaneJob::Unary(op), from) => lanes::unary(op, from, to),
        Job::Step(LaneJob::Ternary(op, mode, operand, constant), from) => {
            lanes::ternary(op, mode, from, (operand, constant), to);
        }
        Job::Step(LaneJob::FixedToFloat(bits), from) => lanes::fixed_to_float(from, bits, to),
        Job::Step(LaneJob::FloatToFixed(bits), from) => lanes::float_to_fixed(from, bits, to),
        Job::Accumulate(op, others) => lanes::accumulate(op, to, others),
        Job::Fold(op, from, offsets) => lanes::fold_side_by_side(op, from, offsets, to),
    }
}
