//! What the operators do on each path: the loops of [`super::lanes`], compiled for its instructions.

use super::lanes::{self, Lanes};
use super::stream::Lane;
pub(super) use crate::chip::execute::path::Path;
use crate::command::{BinaryArgMode, BinaryOperator, FpTernaryOp, FpUnaryOp, ReduceOperator, TernaryArgMode};

/// What is done with a block of lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Job<'a> {
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
    /// Each lane with one of the others.
    Accumulate(ReduceOperator, &'a [Lane]),
    /// Sums of lanes from a place on, at these offsets.
    Fold(ReduceOperator, (&'a [Lane], usize), &'a [usize]),
}

impl Path {
    /// Does it.
    pub(in crate::chip::execute::vector) fn run(self, job: Job<'_>, stream: &mut [Lane]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.avx2().run(job, stream),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2Vnni(machine) => machine.avx2().run(job, stream),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.run(job, stream),
            // Every program for AArch64 may use NEON.
            _ => portable(job, stream),
        }
    }
}

#[inline(always)]
pub(super) fn portable(job: Job<'_>, stream: &mut [Lane]) {
    match job {
        Job::Binary(op, mode, operand) => lanes::binary(op, mode, stream, operand),
        Job::Unary(op) => lanes::unary(op, stream),
        Job::Ternary(op, mode, operand, constant) => lanes::ternary(op, mode, stream, operand, constant),
        Job::FixedToFloat(bits) => lanes::fixed_to_float(stream, bits),
        Job::FloatToFixed(bits) => lanes::float_to_fixed(stream, bits),
        Job::Accumulate(op, others) => lanes::accumulate(op, stream, others),
        Job::Fold(op, from, offsets) => lanes::fold_side_by_side(op, from, offsets, stream),
    }
}
