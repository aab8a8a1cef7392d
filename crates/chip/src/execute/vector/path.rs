//! Operators on each path: the loops of [`super::lanes`], compiled for its instructions.

use super::lanes::{self, CHUNK, Chunk, LaneOperator, Offsets, SIDE_BY_SIDE};
use super::stream::Lane;
pub(super) use crate::execute::path::Path;
use furiosa_visa_rules::command::{
    BinaryArgMode, BinaryOperator, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpMulAlu, FpTernaryOp,
    FpUnaryOp, FxpBinaryOp, ReduceOperator, TernaryArgMode,
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

/// Values of an argument.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lanes<'a> {
    /// One value for all lanes.
    Constant(u32),
    /// A value per lane.
    Each(&'a [Lane]),
}

/// A chunk of its own. No vector of it lies in two lines of a cache.
#[repr(align(64))]
struct OwnChunk(Chunk);

impl<'a> Lanes<'a> {
    /// The whole chunks. `constant`: the chunk of a constant.
    fn chunks(self, constant: &'a OwnChunk) -> &'a [Chunk] {
        match self {
            Lanes::Each(lanes) => lanes.as_chunks().0,
            Lanes::Constant(_) => core::slice::from_ref(&constant.0),
        }
    }

    /// A chunk that begins with the lanes behind the whole chunks.
    fn rest(self, constant: &OwnChunk) -> Chunk {
        let mut chunk = constant.0;
        if let Lanes::Each(lanes) = self {
            let rest = lanes.as_chunks::<CHUNK>().1;
            chunk[..rest.len()].copy_from_slice(rest);
        }
        chunk
    }
}

impl<'a> LaneJob<'a> {
    /// The operator, and its arguments.
    #[inline]
    fn arguments(self, stream: Lanes<'a>) -> (LaneOperator, [Lanes<'a>; 2]) {
        let lanes = |number: usize, operand: Lanes<'a>| if number == 0 { stream } else { operand };
        match self {
            LaneJob::Binary(op, mode, operand) => {
                let [first, second] = mode.arguments();
                (LaneOperator::Binary(op), [lanes(first, operand), lanes(second, operand)])
            }
            // The rules refuse masked multiply-adds, which are not documented (guide: vector).
            LaneJob::Ternary(FpTernaryOp::FmaF | FpTernaryOp::MaskFmaF, mode, operand, constant) => {
                let [first, second, third] = mode.arguments();
                let (op, second) = match third {
                    2 => (LaneOperator::MultiplyAdd(constant), second),
                    _ => (LaneOperator::ScaleAdd(constant), third),
                };
                (op, [lanes(first, operand), lanes(second, operand)])
            }
            LaneJob::Unary(op) => (LaneOperator::Unary(op), [stream; 2]),
            LaneJob::FixedToFloat(bits) => (LaneOperator::FixedToFloat(bits), [stream; 2]),
            LaneJob::FloatToFixed(bits) => (LaneOperator::FloatToFixed(bits), [stream; 2]),
        }
    }
}

/// The operator of two lanes that a reduce applies.
fn of_two(op: ReduceOperator) -> BinaryOperator {
    match op {
        ReduceOperator::AddI32 => BinaryOperator::Fxp(FxpBinaryOp::AddFxp),
        ReduceOperator::AddSatI32 => BinaryOperator::Fxp(FxpBinaryOp::AddFxpSat),
        ReduceOperator::MaxI32 => BinaryOperator::ClipI32(ClipBinaryOpI32::Max),
        ReduceOperator::MinI32 => BinaryOperator::ClipI32(ClipBinaryOpI32::Min),
        ReduceOperator::AddF32 => BinaryOperator::ClipF32(ClipBinaryOpF32::Add),
        ReduceOperator::MaxF32 => BinaryOperator::ClipF32(ClipBinaryOpF32::Max),
        ReduceOperator::MinF32 => BinaryOperator::ClipF32(ClipBinaryOpF32::Min),
        ReduceOperator::MulF32 => BinaryOperator::Fp(FpBinaryOp::MulF(FpMulAlu::Mul0)),
    }
}

impl Path {
    /// Runs a job.
    pub(in crate::execute::vector) fn run(self, job: Job<'_>, to: &mut [Lane]) {
        match job {
            Job::Step(job, from) => self.step(job, from, to),
            Job::Accumulate(op, others) => {
                let mut before = [Lane::default(); 16 * CHUNK];
                for (sums, others) in to.chunks_mut(before.len()).zip(others.chunks(16 * CHUNK)) {
                    let before = &mut before[..sums.len()];
                    before.copy_from_slice(sums);
                    let job = LaneJob::Binary(of_two(op), BinaryArgMode::Mode01, Lanes::Each(others));
                    self.step(job, before, sums);
                }
            }
            Job::Fold(op, (lanes, from), offsets) => {
                let (blocks, left) = to.as_chunks_mut::<SIDE_BY_SIDE>();
                let behind = from + blocks.len() * SIDE_BY_SIDE;
                self.fold(op, (lanes, from), offsets, blocks);
                for (k, sum) in left.iter_mut().enumerate() {
                    let lane = |offset: &usize| u32::from_le_bytes(lanes[behind + k + offset]);
                    let mut all = offsets.all().iter().map(lane);
                    if let Some(first) = all.next() {
                        *sum = lanes::folded(op, first, all).to_le_bytes();
                    }
                }
            }
        }
    }

    /// Runs a step: whole chunks, and then the lanes behind them in chunks of their own.
    fn step(self, job: LaneJob<'_>, from: &[Lane], to: &mut [Lane]) {
        let (op, [first, second]) = job.arguments(Lanes::Each(from));
        let constant = match (first, second) {
            (Lanes::Constant(bits), _) | (_, Lanes::Constant(bits)) => bits,
            _ => 0,
        };
        let constant = OwnChunk([constant.to_le_bytes(); CHUNK]);
        let (whole, rest) = to.as_chunks_mut();
        if !whole.is_empty() {
            self.apply(op, [first.chunks(&constant), second.chunks(&constant)], whole);
        }
        if !rest.is_empty() {
            let [first, second] = [first.rest(&constant), second.rest(&constant)];
            let mut made = [[Lane::default(); CHUNK]];
            self.apply(op, [&[first], &[second]], &mut made);
            rest.copy_from_slice(&made[0][..rest.len()]);
        }
    }

    /// Computes chunks of a function of lanes. An argument of one chunk has it for all.
    fn apply(self, op: LaneOperator, [first, second]: [&[Chunk]; 2], to: &mut [Chunk]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.apply(op, first, second, to),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2Vnni(machine) => machine.avx2().apply(op, first, second, to),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.apply(op, first, second, to),
            // Every program for AArch64 may use NEON.
            _ => lanes::apply(op, first, second, to),
        }
    }

    /// Computes blocks of sums.
    fn fold(
        self,
        op: ReduceOperator,
        from: (&[Lane], usize),
        offsets: &Offsets,
        to: &mut [[Lane; SIDE_BY_SIDE]],
    ) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.fold(op, from, offsets, to),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2Vnni(machine) => machine.avx2().fold(op, from, offsets, to),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.fold(op, from, offsets, to),
            _ => lanes::fold_side_by_side(op, from, offsets, to),
        }
    }
}
