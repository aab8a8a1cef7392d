//! Programs of the Vector Engine with numbers that nobody chose.

use crate::reference::random::Random;
use crate::wild::{inside, odd, odd_guard, odd_region, odd_transfer, region, transfer};
use furiosa_visa_std::command::{
    BinaryArgMode, BinaryInput, BinaryOperator, BitReq, Branch, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp,
    FpTernaryOp, FpUnaryOp, FxpBinaryOp, GroupId, InputCmp, InputCmpF32, InputCmpI32, InterSliceReduce,
    IntraSliceReduce, KeptLoop, LogicBinaryOpF32, LogicBinaryOpI32, Memory, MovedLoop, OperandSource,
    ReduceOperator, ReducedLoop, RepeatedLoop, SliceLoop, StreamShape, TagGuard, TernaryArgMode,
    TernaryInput, ValidBranchIds, Vector, VectorStep, VrfOperand,
};
use furiosa_visa_std::list::List;
use furiosa_visa_std::mapping::{Guard, GuardDigit};
use furiosa_visa_std::scalar::ElementType;

const IDS: [ValidBranchIds; 6] = [
    ValidBranchIds::ValidAlways,
    ValidBranchIds::ValidAlways,
    ValidBranchIds::ValidGroup { id: GroupId::Zero },
    ValidBranchIds::ValidGroup { id: GroupId::One },
    ValidBranchIds::ValidTags {
        guard: TagGuard::matches([BitReq::One, BitReq::Ignore, BitReq::Ignore, BitReq::Zero]),
    },
    ValidBranchIds::ValidTags {
        guard: TagGuard::not_matches([BitReq::One, BitReq::One, BitReq::Ignore, BitReq::One]),
    },
];

fn source(random: &mut Random, shape: StreamShape, stashed: bool) -> OperandSource {
    let lanes = shape.time * shape.lanes;
    match random.below(4) {
        0 => {
            // One per lane of a packet, one per packet, or one per element.
            let (per_packet, per_lane) = random.pick(&[(1, 0), (0, 1), (shape.lanes, 1)]);
            let loops = [
                (shape.time, inside(per_packet), inside(shape.lanes)),
                (shape.lanes, inside(per_lane), inside(1)),
            ];
            let own = region(random, Memory::Vrf, shape.element, lanes);
            OperandSource::Vrf(Box::new(VrfOperand { source: own, transfer: transfer(&loops) }))
        }
        1 if stashed => OperandSource::Stash(Box::new(transfer(&[(lanes, inside(1), inside(1))]))),
        _ => OperandSource::Constant(random.bits() as u32),
    }
}

fn binary_operator(random: &mut Random, shape: StreamShape) -> BinaryOperator {
    let f32 = shape.element == ElementType::F32;
    match (f32, shape.lanes) {
        (true, 4) => BinaryOperator::Fp(random.pick(FpBinaryOp::ALL)),
        (true, _) if random.chance(30) => BinaryOperator::LogicF32(random.pick(LogicBinaryOpF32::ALL)),
        (true, _) => BinaryOperator::ClipF32(random.pick(ClipBinaryOpF32::ALL)),
        (false, _) => match random.below(3) {
            0 => BinaryOperator::LogicI32(random.pick(LogicBinaryOpI32::ALL)),
            1 => BinaryOperator::Fxp(random.pick(FxpBinaryOp::ALL)),
            _ => BinaryOperator::ClipI32(random.pick(ClipBinaryOpI32::ALL)),
        },
    }
}

fn reduce_operator(random: &mut Random, element: ElementType) -> ReduceOperator {
    match element {
        ElementType::F32 => {
            random.pick(&[ReduceOperator::AddF32, ReduceOperator::MaxF32, ReduceOperator::MulF32])
        }
        _ => random.pick(&[ReduceOperator::AddSatI32, ReduceOperator::MinI32, ReduceOperator::AddI32]),
    }
}

/// All of time, or all lanes.
fn reduce(random: &mut Random, shape: StreamShape) -> IntraSliceReduce {
    let StreamShape { element, time, lanes } = shape;
    let mut kept = List::new(KeptLoop { size: 1, input: 0, output: 0 });
    let mut reduced = List::new(ReducedLoop { size: 1, input: 0 });
    let over_time = random.chance(50);
    if over_time {
        kept.push(KeptLoop { size: lanes, input: 1, output: 1 });
        reduced.push(ReducedLoop { size: time, input: lanes });
    } else {
        kept.push(KeptLoop { size: time, input: lanes, output: lanes });
        reduced.push(ReducedLoop { size: lanes, input: 1 });
    }
    let time = if over_time { 1 } else { time };
    let op = reduce_operator(random, element);
    IntraSliceReduce { op, guard: Guard::always(5), kept, reduced, time, slots: 1 }
}

/// Groups of neighbours.
fn inter(random: &mut Random, shape: StreamShape) -> InterSliceReduce {
    let group = random.pick(&[2, 8, 256]);
    let step = |units, elements| furiosa_visa_std::command::Step { units, elements };
    let mut kept = List::new(MovedLoop { size: 1, input: step(0, 0), output: step(0, 0) });
    kept.push(MovedLoop { size: shape.time * shape.lanes, input: step(0, 1), output: step(0, 1) });
    kept.push(MovedLoop { size: 256 / group, input: step(group, 0), output: step(group, 0) });
    let mut reduced = List::new(SliceLoop { size: 1, units: 0, axis: 0 });
    reduced.push(SliceLoop { size: group, units: 1, axis: 0 });
    let mut repeated = List::new(RepeatedLoop { size: 1, units: 0 });
    if random.chance(50) {
        repeated.push(RepeatedLoop { size: group, units: 1 });
    }
    let op = reduce_operator(random, shape.element);
    InterSliceReduce { op, guard: Guard::always(5), kept, reduced, repeated, group, time: shape.time }
}

/// A program that means something for a stream of flits, and the stream behind it.
pub fn program(random: &mut Random, before: StreamShape) -> (Vector, StreamShape) {
    let mut vector = Vector::new(before.element, Guard::always(5));
    let mut shape = before;
    let (mut stashed, mut paired) = (false, false);
    let push = |vector: &mut Vector, shape: &mut StreamShape, step: VectorStep| {
        *shape = step.shape(*shape);
        vector.steps.push(step);
    };
    if random.chance(10) {
        let step = inter(random, shape);
        push(&mut vector, &mut shape, VectorStep::InterSliceReduce(Box::new(step)));
    }
    if shape.time.is_multiple_of(2) && vector.steps.is_empty() && random.chance(20) {
        paired = true;
        push(&mut vector, &mut shape, VectorStep::Unzip { step: 8 });
    } else {
        let branch = match (random.below(4), shape.element) {
            (0, ElementType::F32) => {
                Branch::Comparison([InputCmp::F32(InputCmpF32::Less { boundary: 1.0 }); 4])
            }
            (0, _) => Branch::Comparison([InputCmp::I32(InputCmpI32::Greater { boundary: 9 }); 4]),
            (1, _) => {
                let digit = GuardDigit { variable: random.below(5), base: 1, extent: 8, weight: 1 };
                let mut digits = List::new(digit);
                digits.push(digit);
                Branch::AxisToggle { digits }
            }
            _ => Branch::Unconditional,
        };
        push(&mut vector, &mut shape, VectorStep::Branch(branch));
    }
    for _ in 0..random.below(7) {
        let step = match random.below(8) {
            0 if shape.lanes == 8 => VectorStep::Split,
            0 if shape.time.is_multiple_of(2) => VectorStep::Concat,
            1 if shape.lanes == 8 && !paired => VectorStep::Trim,
            2 if !stashed && !paired => {
                stashed = true;
                VectorStep::Stash
            }
            3 if shape.lanes == 8 && shape.element == ElementType::I32 => {
                VectorStep::FxpToFp { int_width: random.below(32) as u32 }
            }
            4 if shape.lanes == 4 && shape.element == ElementType::F32 => {
                VectorStep::Unary { op: random.pick(FpUnaryOp::ALL), ids: random.pick(&IDS) }
            }
            5 if shape.lanes == 4 && shape.element == ElementType::F32 => {
                let source = source(random, shape, stashed);
                let input = TernaryInput { ids: random.pick(&IDS), source, constant: 0.5 };
                let (op, mode) = (FpTernaryOp::FmaF, random.pick(&TernaryArgMode::ALL));
                VectorStep::Ternary { op, mode, operands: vec![input] }
            }
            6 if shape.lanes == 4 && !paired => VectorStep::IntraSliceReduce(Box::new(reduce(random, shape))),
            _ if shape.lanes == 4 && shape.element == ElementType::I32 => continue,
            _ => {
                let op = binary_operator(random, shape);
                let operands = (0..random.below(3))
                    .map(|_| BinaryInput { ids: random.pick(&IDS), source: source(random, shape, stashed) })
                    .collect();
                VectorStep::Binary { op, mode: random.pick(&BinaryArgMode::ALL), operands }
            }
        };
        let is_free = step.alu().is_none_or(|alu| vector.used().all(|used| used != alu));
        let is_defined = !matches!(&step, VectorStep::Binary { op, .. } if !op.is_defined());
        if is_free && is_defined {
            push(&mut vector, &mut shape, step);
        }
    }
    if shape.lanes == 4 {
        let step = if paired || shape.time.is_multiple_of(2) { VectorStep::Concat } else { VectorStep::Pad };
        push(&mut vector, &mut shape, step);
    }
    if paired {
        let op = match shape.element {
            ElementType::F32 => BinaryOperator::ClipF32(random.pick(ClipBinaryOpF32::ALL)),
            _ => BinaryOperator::ClipI32(random.pick(ClipBinaryOpI32::ALL)),
        };
        push(&mut vector, &mut shape, VectorStep::Zip { op, mode: random.pick(&BinaryArgMode::ALL) });
    }
    (vector, shape)
}

/// Changes a program so that nobody knows what it means.
pub fn odd_program(random: &mut Random, vector: &mut Vector) {
    if vector.steps.is_empty() || random.chance(20) {
        match random.below(3) {
            0 => odd_guard(random, &mut vector.guard),
            1 => vector.input = random.pick(&ElementType::ALL),
            _ => vector.steps.push(random.pick(&[
                VectorStep::Split,
                VectorStep::Concat,
                VectorStep::Pad,
                VectorStep::Reinterpret,
                VectorStep::Stash,
            ])),
        }
        return;
    }
    let place = random.below(vector.steps.len());
    if random.chance(15) {
        vector.steps.remove(place);
        return;
    }
    let odd_source = |random: &mut Random, source: &mut OperandSource| match source {
        OperandSource::Vrf(own) if random.chance(50) => odd_region(random, &mut own.source),
        OperandSource::Vrf(own) => odd_transfer(random, &mut own.transfer),
        OperandSource::Stash(own) => odd_transfer(random, own),
        OperandSource::Constant(bits) => *bits = random.bits() as u32,
    };
    match &mut vector.steps[place] {
        VectorStep::Binary { operands, op, .. } => match operands.first_mut() {
            Some(own) if random.chance(70) => odd_source(random, &mut own.source),
            _ => *op = BinaryOperator::Fp(random.pick(FpBinaryOp::ALL)),
        },
        VectorStep::Ternary { operands, .. } => {
            operands.iter_mut().for_each(|own| odd_source(random, &mut own.source))
        }
        VectorStep::FxpToFp { int_width } | VectorStep::FpToFxp { int_width } => {
            *int_width = odd(random, 31) as u32;
        }
        VectorStep::Unzip { step } => *step = odd(random, *step),
        VectorStep::Branch(Branch::AxisToggle { digits }) => {
            let mut digit = digits.at(0);
            match random.below(4) {
                0 => digit.variable = odd(random, digit.variable),
                1 => digit.base = odd(random, digit.base),
                2 => digit.extent = odd(random, digit.extent),
                _ => digit.weight = odd(random, digit.weight),
            }
            digits.set(0, digit);
        }
        VectorStep::IntraSliceReduce(own) => match random.below(5) {
            0 => odd_guard(random, &mut own.guard),
            1 => own.time = odd(random, own.time),
            2 => own.slots = odd(random, own.slots),
            3 => {
                let mut first = own.kept.at(0);
                (first.size, first.output) = (odd(random, first.size), odd(random, first.output));
                own.kept.set(0, first);
            }
            _ => {
                let mut first = own.reduced.at(0);
                (first.size, first.input) = (odd(random, first.size), odd(random, first.input));
                own.reduced.set(0, first);
            }
        },
        VectorStep::InterSliceReduce(own) => match random.below(5) {
            0 => odd_guard(random, &mut own.guard),
            1 => own.time = odd(random, own.time),
            2 => {
                let place = random.below(own.kept.len());
                let mut first = own.kept.at(place);
                match random.below(3) {
                    0 => first.size = odd(random, first.size),
                    1 => first.input.units = odd(random, first.input.units),
                    _ => first.output.elements = odd(random, first.output.elements),
                }
                own.kept.set(place, first);
            }
            3 => own.group = odd(random, own.group),
            _ => {
                let mut first = own.reduced.at(0);
                (first.size, first.axis) = (odd(random, first.size), odd(random, 0));
                own.reduced.set(0, first);
            }
        },
        _ => {}
    }
}
