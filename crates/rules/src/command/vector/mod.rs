//! The Vector Engine: a program for the elements of a stream, as plain data.
//!
//! ```text
//!   stream   0  1  2  3 | 4  5  6  7      a packet of 8 lanes: one flit
//!   split    0  1  2  3                   two packets of 4 lanes, for the float cluster
//!            4  5  6  7
//! ```
//!
//! A program is a list of steps. Positions of a stream are counted as `time * lanes + lane`, so that no element moves
//! if packets are cut into halves.

mod arguments;
mod branch;
mod guard;
mod operators;
mod print;
mod reduce;

pub use arguments::{BinaryArgMode, TernaryArgMode};
pub use branch::{
    Branch, GROUP_BIT, GroupId, InputCmp, InputCmpF32, InputCmpI32, TOGGLE_DIGITS, ValidBranchIds,
};
pub use guard::{BitReq, ExecutionId, TagGuard};
pub use operators::{
    BinaryOperator, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp, FpDivOp, FpMulAlu,
    FpTernaryOp, FpUnaryOp, FxpBinaryOp, IntraSliceReduceOpF32, IntraSliceReduceOpI32, LogicBinaryOpF32,
    LogicBinaryOpI32, RngdAlu,
};
pub use reduce::{
    InterSliceReduce, InterSliceReduceOpF32, InterSliceReduceOpI32, IntraSliceReduce, KeptLoop, MovedLoop,
    REDUCE_LOOPS, ReduceOperator, ReducedLoop, RepeatedLoop, SliceLoop, nest,
};

use super::region::Region;
use super::shapes::StreamShape;
use super::transfer::Transfer;
use crate::mapping::Guard;
use crate::scalar::ElementType;
use crate::spec::{BEAT_LANES, VECTOR_NARROW_LANES};

/// Source of an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum OperandSource {
    /// The same 32 bits for every element.
    Constant(u32),
    /// Elements of the VRF.
    Vrf(Box<VrfOperand>),
    /// The stash: moves from positions of the stashed stream to positions of the current stream.
    Stash(Box<Transfer>),
}

/// An operand in the VRF.
#[derive(Clone, Debug, PartialEq)]
pub struct VrfOperand {
    /// The tensor.
    pub source: Region,
    /// Moves from its elements to positions of the stream, all inside one slice.
    pub transfer: Transfer,
}

/// An operand with the elements that it applies to.
#[derive(Clone, Debug, PartialEq)]
pub struct BinaryInput {
    /// The elements. An element gets the first one of several operands that applies to it.
    pub ids: ValidBranchIds,
    /// The operand.
    pub source: OperandSource,
}

/// Two operands with the elements that they apply to.
#[derive(Clone, Debug, PartialEq)]
pub struct TernaryInput {
    /// The elements. An element gets the first one of several pairs that applies to it.
    pub ids: ValidBranchIds,
    /// The first operand.
    pub source: OperandSource,
    /// The second operand: a constant.
    pub constant: f32,
}

/// A step of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum VectorStep {
    /// Gives an execution id to every element.
    Branch(Branch),
    /// Splits the stream into two groups. Until a zip, each operand applies to the elements of one group.
    Unzip {
        /// Positions between the two elements of a pair.
        step: usize,
    },
    /// Joins two groups to one stream: the first argument is from group 0, the second from group 1.
    Zip {
        /// The operator.
        op: BinaryOperator,
        /// The arguments that it takes.
        mode: BinaryArgMode,
    },
    /// Stores the elements as they are, as a later operand.
    Stash,
    /// An operator of two arguments. Elements without an operand stay as they are.
    Binary {
        /// The operator.
        op: BinaryOperator,
        /// The arguments that it takes.
        mode: BinaryArgMode,
        /// The operands.
        operands: Vec<BinaryInput>,
    },
    /// A function of the element.
    Unary {
        /// The function.
        op: FpUnaryOp,
        /// The elements that it applies to.
        ids: ValidBranchIds,
    },
    /// An operator of three arguments. Elements without operands stay as they are.
    Ternary {
        /// The operator.
        op: FpTernaryOp,
        /// The arguments that it takes.
        mode: TernaryArgMode,
        /// The operands.
        operands: Vec<TernaryInput>,
    },
    /// Converts fixed point to float.
    FxpToFp {
        /// Bits before the binary point, 0 to 31.
        int_width: u32,
    },
    /// Converts float to fixed point.
    FpToFxp {
        /// Bits before the binary point, 0 to 31.
        int_width: u32,
    },
    /// Reads the 32 bits of each element as the other type. It takes no unit and no time.
    Reinterpret,
    /// Cuts each packet of 8 lanes into two of 4.
    Split,
    /// Removes the upper 4 of 8 lanes, which are padding.
    Trim,
    /// Joins two packets of 4 lanes to one of 8.
    Concat,
    /// Extends packets of 4 lanes by 4 more, which are padding.
    Pad,
    /// Reduces all elements along an axis to one, in each slice.
    IntraSliceReduce(Box<IntraSliceReduce>),
    /// Reduces the elements of a group of slices to one. Execution ids and the stash end, and all units are free again.
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

    /// Its operands, used or not.
    pub fn operands(&self) -> impl Iterator<Item = &OperandSource> {
        let (binary, ternary) = match self {
            VectorStep::Binary { operands, .. } => (&operands[..], &[][..]),
            VectorStep::Ternary { operands, .. } => (&[][..], &operands[..]),
            _ => (&[][..], &[][..]),
        };
        binary.iter().map(|input| &input.source).chain(ternary.iter().map(|input| &input.source))
    }

    /// True if it uses its operands.
    pub fn takes_operands(&self) -> bool {
        match self {
            VectorStep::Binary { mode, .. } => mode.arguments().contains(&1),
            VectorStep::Ternary { mode, .. } => mode.arguments().contains(&1),
            _ => false,
        }
    }

    /// The stream after the step. Numbers saturate.
    pub fn shape(&self, before: StreamShape) -> StreamShape {
        let StreamShape { element, time, lanes } = before;
        match self {
            VectorStep::FxpToFp { .. } => StreamShape { element: ElementType::F32, ..before },
            VectorStep::FpToFxp { .. } => StreamShape { element: ElementType::I32, ..before },
            VectorStep::Reinterpret => {
                let other =
                    if matches!(element, ElementType::F32) { ElementType::I32 } else { ElementType::F32 };
                StreamShape { element: other, ..before }
            }
            VectorStep::Unzip { .. } => StreamShape { element, time: time / 2, lanes },
            VectorStep::Split => StreamShape { element, time: time.saturating_mul(2), lanes: lanes / 2 },
            VectorStep::Concat => StreamShape { element, time: time / 2, lanes: lanes.saturating_mul(2) },
            VectorStep::Trim => StreamShape { lanes: VECTOR_NARROW_LANES, ..before },
            VectorStep::Pad => StreamShape { lanes: BEAT_LANES, ..before },
            VectorStep::IntraSliceReduce(reduce) => StreamShape { time: reduce.time, ..before },
            VectorStep::InterSliceReduce(reduce) => StreamShape { time: reduce.time, ..before },
            _ => before,
        }
    }
}

/// A program of the Vector Engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// The type of the incoming elements: `i32` or `f32`.
    pub input: ElementType,
    /// Condition for lanes of the incoming stream that hold an element. Variables: chip, cluster, slice, time, packet.
    pub guard: Guard,
    /// The steps, in order.
    pub steps: Vec<VectorStep>,
}

impl Vector {
    /// A program that does nothing.
    pub const fn new(input: ElementType, guard: Guard) -> Self {
        Self { input, guard, steps: Vec::new() }
    }

    /// The arithmetic units in use at the end of the program.
    pub fn used(&self) -> impl Iterator<Item = RngdAlu> {
        let across = |step: &VectorStep| matches!(step, VectorStep::InterSliceReduce(_));
        let first = self.steps.iter().rposition(across).map_or(0, |last| last + 1);
        self.steps[first..].iter().filter_map(VectorStep::alu)
    }

    /// The inter-slice reduce, if the program has one.
    pub fn inter_slice(&self) -> Option<&InterSliceReduce> {
        self.steps.iter().find_map(|step| match step {
            VectorStep::InterSliceReduce(reduce) => Some(&**reduce),
            _ => None,
        })
    }

    /// The arithmetic units that it takes, in order.
    pub fn alus(&self) -> impl Iterator<Item = RngdAlu> {
        self.steps.iter().filter_map(VectorStep::alu)
    }

    /// True if a step computes with elements. Otherwise the engine passes them on.
    pub fn computes(&self) -> bool {
        let passes = |step: &VectorStep| {
            use VectorStep::{Branch, Concat, Pad, Reinterpret, Split, Stash, Trim};
            matches!(step, Branch(self::Branch::Unconditional | self::Branch::AxisToggle { .. }) | Stash)
                || matches!(step, Reinterpret | Split | Concat | Trim | Pad)
        };
        !self.steps.iter().all(passes)
    }

    /// The tensors in the VRF from which it takes operands.
    pub fn operands(&self) -> impl Iterator<Item = &VrfOperand> {
        let taking = self.steps.iter().filter(|step| step.takes_operands());
        taking.flat_map(VectorStep::operands).filter_map(|source| match source {
            OperandSource::Vrf(operand) => Some(&**operand),
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
            OperandSource::Vrf(operand) => Some(&mut operand.source),
            OperandSource::Constant(_) | OperandSource::Stash(_) => None,
        })
    }

    /// For each step, the greater number of its incoming and its outgoing packets, with both groups together.
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

    /// The stream before the first step and after each step. With two groups, the stream of one group.
    pub fn shapes(&self, before: StreamShape) -> impl Iterator<Item = StreamShape> {
        let mut shape = before;
        let behind = self.steps.iter().map(move |step| {
            shape = step.shape(shape);
            shape
        });
        core::iter::once(before).chain(behind)
    }

    /// Number of lanes and of elements of operands and sums that its execution keeps.
    pub fn kept(&self, before: StreamShape) -> u128 {
        let elements = |source: &OperandSource| {
            let transfer = match source {
                OperandSource::Constant(_) => return 0,
                OperandSource::Vrf(operand) => &operand.transfer,
                OperandSource::Stash(operand) => operand,
            };
            transfer
                .loops
                .iter()
                .fold(1u128, |all, transfer_loop| all.saturating_mul(transfer_loop.size as u128))
        };
        let operands = self.steps.iter().flat_map(VectorStep::operands).map(elements);
        let widest = self.shapes(before).map(|shape| shape.time as u128 * shape.lanes as u128).max();
        operands.fold(widest.unwrap_or(0).saturating_mul(6), u128::saturating_add)
    }

    /// For every outgoing time step, the greatest number of an incoming one that it depends on. `number` numbers the
    /// incoming steps.
    pub fn last_inputs(&self, before: StreamShape, number: impl Fn(usize) -> usize) -> Vec<usize> {
        let mut shape = before;
        // The greatest number per position.
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
                // A result depends on both elements of its pair.
                VectorStep::Unzip { step } => {
                    let first = |k: usize| k / step * 2 * step + k % step;
                    let pairs = (0..last.len() / 2).map(|k| last[first(k)].max(last[first(k) + step]));
                    last = pairs.collect();
                }
                VectorStep::IntraSliceReduce(reduce) => {
                    let mut sums = vec![0; next.time * next.lanes];
                    for (position, sum) in reduce.places() {
                        sums[sum] = sums[sum].max(last[position]);
                    }
                    last = sums;
                }
                // A sum leaves after all slices have delivered their part.
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

    /// The outgoing stream.
    pub fn shape(&self, before: StreamShape) -> StreamShape {
        self.steps.iter().fold(before, |shape, step| step.shape(shape))
    }
}

#[cfg(test)]
mod tests;
