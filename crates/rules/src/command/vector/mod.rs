//! The Vector Engine: a program for the elements of a stream, as plain data.
//!
//! ```text
//!   stream   0  1  2  3 | 4  5  6  7      a packet of 8 lanes: one flit
//!   split    0  1  2  3                   two packets of 4 lanes, for the float cluster
//!            4  5  6  7
//! ```
//!
//! A program is a list of steps. Positions of a stream are counted as `time * lanes + lane`, so that cutting packets in
//! halves moves no element.

mod arguments;
mod branch;
mod operators;
mod print;
mod reduce;

pub use arguments::{BinaryArgMode, TernaryArgMode};
pub use branch::{
    Branch, GROUP_BIT, GroupId, InputCmp, InputCmpF32, InputCmpI32, TOGGLE_DIGITS, ValidBranchIds,
};
pub use operators::{
    BinaryOperator, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp, FpDivOp, FpMulAlu,
    FpTernaryOp, FpUnaryOp, FxpBinaryOp, IntraSliceReduceOpF32, IntraSliceReduceOpI32, LogicBinaryOpF32,
    LogicBinaryOpI32, RngdAlu,
};
pub use reduce::nest;
pub use reduce::{
    InterSliceReduce, InterSliceReduceOpF32, InterSliceReduceOpI32, IntraSliceReduce, KeptLoop, MovedLoop,
    REDUCE_LOOPS, ReduceOperator, ReducedLoop, RepeatedLoop, SliceLoop,
};

use super::region::Region;
use super::shapes::StreamShape;
use super::transfer::Transfer;
use crate::mapping::Guard;
use crate::scalar::ElementType;
use crate::spec::{BEAT_LANES, VECTOR_NARROW_LANES};

/// Where an operand comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum OperandSource {
    /// The same 32 bits for every element.
    Constant(u32),
    /// Elements of the VRF.
    Vrf(Box<VrfOperand>),
    /// What was stashed: from positions of the stream then to positions of the stream now.
    Stash(Box<Transfer>),
}

/// An operand in the VRF.
#[derive(Clone, Debug, PartialEq)]
pub struct VrfOperand {
    /// The tensor.
    pub source: Region,
    /// From its elements to positions of the stream. All inside one slice.
    pub transfer: Transfer,
}

/// An operand, and the elements that it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct BinaryInput {
    /// The elements. Of several operands, an element gets the first one that is for it.
    pub ids: ValidBranchIds,
    /// The operand.
    pub source: OperandSource,
}

/// Two operands, and the elements that they are for.
#[derive(Clone, Debug, PartialEq)]
pub struct TernaryInput {
    /// The elements. Of several pairs, an element gets the first one that is for it.
    pub ids: ValidBranchIds,
    /// The first operand.
    pub source: OperandSource,
    /// The second operand: a constant.
    pub constant: f32,
}

/// A step of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum VectorStep {
    /// Gives every element an execution id.
    Branch(Branch),
    /// Makes two groups of the stream. Until a zip, operands are for the elements of one of them.
    Unzip {
        /// Positions between the two elements of a pair.
        step: usize,
    },
    /// Makes one stream of two groups: the first argument is that of group 0, the second that of group 1.
    Zip {
        /// The operator.
        op: BinaryOperator,
        /// Which arguments it takes.
        mode: BinaryArgMode,
    },
    /// Keeps the elements as they are, to be an operand later.
    Stash,
    /// An operator of two arguments. Elements that no operand is for stay as they are.
    Binary {
        /// The operator.
        op: BinaryOperator,
        /// Which arguments it takes.
        mode: BinaryArgMode,
        /// The operands.
        operands: Vec<BinaryInput>,
    },
    /// A function of the element.
    Unary {
        /// The function.
        op: FpUnaryOp,
        /// The elements that it is for.
        ids: ValidBranchIds,
    },
    /// An operator of three arguments. Elements that no operands are for stay as they are.
    Ternary {
        /// The operator.
        op: FpTernaryOp,
        /// Which arguments it takes.
        mode: TernaryArgMode,
        /// The operands.
        operands: Vec<TernaryInput>,
    },
    /// Fixed point becomes float.
    FxpToFp {
        /// Bits before the binary point, 0 to 31.
        int_width: u32,
    },
    /// Float becomes fixed point.
    FpToFxp {
        /// Bits before the binary point, 0 to 31.
        int_width: u32,
    },
    /// Packets of 8 lanes become twice as many of 4.
    Split,
    /// Packets of 8 lanes lose the upper 4, which are padding.
    Trim,
    /// Two packets of 4 lanes become one of 8.
    Concat,
    /// Packets of 4 lanes get 4 more, which are padding.
    Pad,
    /// One element for all along an axis, in each slice.
    IntraSliceReduce(Box<IntraSliceReduce>),
    /// One element for all slices of a group. Execution ids and the stash are gone, and all units are free again.
    InterSliceReduce(Box<InterSliceReduce>),
}

impl VectorStep {
    /// The arithmetic unit that it takes.
    pub const fn alu(&self) -> Option<RngdAlu> {
        match self {
            VectorStep::Binary { op, .. } | VectorStep::Zip { op, .. } => Some(op.alu()),
            VectorStep::Unary { op, .. } => Some(op.alu()),
            VectorStep::Ternary { op, .. } => Some(op.alu()),
            VectorStep::IntraSliceReduce(_) => Some(RngdAlu::ReduceAccTree),
            _ => None,
        }
    }

    /// Its operands, whether it looks at them or not.
    pub fn operands(&self) -> impl Iterator<Item = &OperandSource> {
        let (binary, ternary) = match self {
            VectorStep::Binary { operands, .. } => (&operands[..], &[][..]),
            VectorStep::Ternary { operands, .. } => (&[][..], &operands[..]),
            _ => (&[][..], &[][..]),
        };
        binary.iter().map(|input| &input.source).chain(ternary.iter().map(|input| &input.source))
    }

    /// Whether it looks at its operands.
    pub fn takes_operands(&self) -> bool {
        match self {
            VectorStep::Binary { mode, .. } => mode.arguments().contains(&1),
            VectorStep::Ternary { mode, .. } => mode.arguments().contains(&1),
            _ => false,
        }
    }

    /// The stream behind it. Numbers that are too large are as large as can be.
    pub fn shape(&self, before: StreamShape) -> StreamShape {
        let StreamShape { element, time, lanes } = before;
        match self {
            VectorStep::FxpToFp { .. } => StreamShape { element: ElementType::F32, ..before },
            VectorStep::FpToFxp { .. } => StreamShape { element: ElementType::I32, ..before },
            VectorStep::Unzip { .. } => StreamShape { element, time: time / 2, lanes },
            VectorStep::Split => StreamShape { element, time: time.saturating_mul(2), lanes: lanes / 2 },
            VectorStep::Concat => StreamShape { element, time: time / 2, lanes: lanes.saturating_mul(2) },
            VectorStep::Trim => StreamShape { lanes: VECTOR_NARROW_LANES, ..before },
            VectorStep::Pad => StreamShape { lanes: BEAT_LANES, ..before },
            VectorStep::IntraSliceReduce(own) => StreamShape { time: own.time, ..before },
            VectorStep::InterSliceReduce(own) => StreamShape { time: own.time, ..before },
            _ => before,
        }
    }
}

/// A program of the Vector Engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// The type of the incoming elements: `i32` or `f32`.
    pub input: ElementType,
    /// Which lanes of the incoming stream hold an element. Variables: chip, cluster, slice, time, packet.
    pub guard: Guard,
    /// What is done with them, in order.
    pub steps: Vec<VectorStep>,
}

impl Vector {
    /// A program that does nothing.
    pub const fn new(input: ElementType, guard: Guard) -> Self {
        Self { input, guard, steps: Vec::new() }
    }

    /// The arithmetic units that are in use at its end.
    pub fn used(&self) -> impl Iterator<Item = RngdAlu> {
        let across = |step: &VectorStep| matches!(step, VectorStep::InterSliceReduce(_));
        let first = self.steps.iter().rposition(across).map_or(0, |last| last + 1);
        self.steps[first..].iter().filter_map(VectorStep::alu)
    }

    /// The inter-slice reduce, if it has one.
    pub fn inter_slice(&self) -> Option<&InterSliceReduce> {
        self.steps.iter().find_map(|step| match step {
            VectorStep::InterSliceReduce(own) => Some(&**own),
            _ => None,
        })
    }

    /// The arithmetic units that it takes, in order.
    pub fn alus(&self) -> impl Iterator<Item = RngdAlu> {
        self.steps.iter().filter_map(VectorStep::alu)
    }

    /// Whether a step computes with elements. If not, the engine passes them on.
    pub fn computes(&self) -> bool {
        let passes = |step: &VectorStep| {
            use VectorStep::{Branch, Concat, Pad, Split, Stash, Trim};
            matches!(step, Branch(self::Branch::Unconditional | self::Branch::AxisToggle { .. }) | Stash)
                || matches!(step, Split | Concat | Trim | Pad)
        };
        !self.steps.iter().all(passes)
    }

    /// The tensors in the VRF that it takes operands from.
    pub fn operands(&self) -> impl Iterator<Item = &VrfOperand> {
        let taking = self.steps.iter().filter(|step| step.takes_operands());
        taking.flat_map(VectorStep::operands).filter_map(|source| match source {
            OperandSource::Vrf(own) => Some(&**own),
            OperandSource::Constant(_) | OperandSource::Stash(_) => None,
        })
    }

    /// The places of all tensors in the VRF that it names.
    pub fn regions_mut(&mut self) -> impl Iterator<Item = &mut Region> {
        let sources = self.steps.iter_mut().flat_map(|step| {
            let (binary, ternary) = match step {
                VectorStep::Binary { operands, .. } => (&mut operands[..], &mut [][..]),
                VectorStep::Ternary { operands, .. } => (&mut [][..], &mut operands[..]),
                _ => (&mut [][..], &mut [][..]),
            };
            let binary = binary.iter_mut().map(|input: &mut BinaryInput| &mut input.source);
            binary.chain(ternary.iter_mut().map(|input: &mut TernaryInput| &mut input.source))
        });
        sources.filter_map(|source| match source {
            OperandSource::Vrf(own) => Some(&mut own.source),
            OperandSource::Constant(_) | OperandSource::Stash(_) => None,
        })
    }

    /// Packets that each step takes or makes, whichever are more: both groups together.
    pub fn packets(&self, before: StreamShape) -> impl Iterator<Item = usize> {
        let (mut shape, mut groups) = (before, 1);
        self.steps.iter().map(move |step| {
            let taken = shape.time.saturating_mul(groups);
            shape = step.shape(shape);
            groups = match step {
                VectorStep::Unzip { .. } => 2,
                VectorStep::Zip { .. } => 1,
                _ => groups,
            };
            taken.max(shape.time.saturating_mul(groups))
        })
    }

    /// The stream behind each step, that of one group where there are two, the first one before all of them.
    pub fn shapes(&self, before: StreamShape) -> impl Iterator<Item = StreamShape> {
        let mut shape = before;
        let behind = self.steps.iter().map(move |step| {
            shape = step.shape(shape);
            shape
        });
        core::iter::once(before).chain(behind)
    }

    /// Lanes, elements of operands and of sums, that executing it keeps track of.
    pub fn kept(&self, before: StreamShape) -> u128 {
        let elements = |source: &OperandSource| {
            let transfer = match source {
                OperandSource::Constant(_) => return 0,
                OperandSource::Vrf(own) => &own.transfer,
                OperandSource::Stash(own) => own,
            };
            transfer.loops.iter().fold(1u128, |all, own| all.saturating_mul(own.size as u128))
        };
        let operands = self.steps.iter().flat_map(VectorStep::operands).map(elements);
        let widest = self.shapes(before).map(|shape| shape.time as u128 * shape.lanes as u128).max();
        operands.fold(widest.unwrap_or(0).saturating_mul(6), u128::saturating_add)
    }

    /// For every time step that leaves it, the greatest number of one that it depends on. `number` numbers the steps that
    /// enter it.
    pub fn last_inputs(&self, before: StreamShape, number: impl Fn(usize) -> usize) -> Vec<usize> {
        let mut shape = before;
        // Per position.
        let mut last: Vec<usize> =
            (0..shape.time).flat_map(|time| core::iter::repeat_n(number(time), shape.lanes)).collect();
        for step in &self.steps {
            let next = step.shape(shape);
            match step {
                VectorStep::Trim | VectorStep::Pad => {
                    let packets = last.chunks(shape.lanes.max(1));
                    last = packets
                        .flat_map(|packet| (0..next.lanes).map(|k| packet[k.min(packet.len() - 1)]))
                        .collect();
                }
                // Both elements of a pair.
                VectorStep::Unzip { step } => {
                    let first = |k: usize| k / step * 2 * step + k % step;
                    let pairs = (0..last.len() / 2).map(|k| last[first(k)].max(last[first(k) + step]));
                    last = pairs.collect();
                }
                VectorStep::IntraSliceReduce(own) => {
                    let mut sums = vec![0; next.time * next.lanes];
                    for (position, sum) in own.places() {
                        sums[sum] = sums[sum].max(last[position]);
                    }
                    last = sums;
                }
                // A sum leaves when all slices have delivered their part.
                VectorStep::InterSliceReduce(_) => {
                    let all = last.iter().copied().max().unwrap_or(0);
                    last = vec![all; next.time * next.lanes];
                }
                _ => {}
            }
            shape = next;
        }
        last.chunks(shape.lanes.max(1)).map(|packet| packet.iter().copied().max().unwrap_or(0)).collect()
    }

    /// The stream that leaves it.
    pub fn shape(&self, before: StreamShape) -> StreamShape {
        self.steps.iter().fold(before, |shape, step| step.shape(shape))
    }
}

#[cfg(test)]
mod tests;
