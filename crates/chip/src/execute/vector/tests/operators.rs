//! Tests of every operator on arguments with results known by hand: they detect a wrong operator or a wrong order of
//! arguments.

use super::*;
use furiosa_visa_rules::command::FpDivBinaryOp;

const MAX: i32 = i32::MAX;
const MIN: i32 = i32::MIN;

/// Operators, two integers, and the result.
const OF_INTEGERS: [(BinaryOperator, i32, i32, i32); 23] = {
    use BinaryOperator::{ClipI32, Fxp, LogicI32};
    [
        (LogicI32(LogicBinaryOpI32::BitAnd), -7, 3, 1),
        (LogicI32(LogicBinaryOpI32::BitOr), -7, 3, -5),
        (LogicI32(LogicBinaryOpI32::BitXor), -7, 3, -6),
        (LogicI32(LogicBinaryOpI32::LeftShift), 1 << 30, 1, MIN),
        (LogicI32(LogicBinaryOpI32::LogicRightShift), -7, 3, (1 << 29) - 1),
        (LogicI32(LogicBinaryOpI32::ArithRightShift), -3, 3, -1),
        (Fxp(FxpBinaryOp::AddFxp), MAX, 1, MIN),
        (Fxp(FxpBinaryOp::AddFxpSat), MAX, 1, MAX),
        (Fxp(FxpBinaryOp::SubFxp), MIN, 1, MAX),
        (Fxp(FxpBinaryOp::SubFxpSat), MIN, 1, MIN),
        (Fxp(FxpBinaryOp::LeftShift), 1 << 30, 1, MIN),
        (Fxp(FxpBinaryOp::LeftShiftSat), 1 << 30, 1, MAX),
        (Fxp(FxpBinaryOp::MulFxp), 1 << 30, 6, 3),
        (Fxp(FxpBinaryOp::MulInt), 1 << 30, 6, MIN),
        (Fxp(FxpBinaryOp::LogicRightShift), -7, 3, (1 << 29) - 1),
        (Fxp(FxpBinaryOp::ArithRightShift), -3, 3, -1),
        (Fxp(FxpBinaryOp::ArithRightShiftRound), -3, 3, 0),
        (ClipI32(ClipBinaryOpI32::Min), -7, 3, -7),
        (ClipI32(ClipBinaryOpI32::Max), -7, 3, 3),
        (ClipI32(ClipBinaryOpI32::AbsMin), -7, 3, 3),
        (ClipI32(ClipBinaryOpI32::AbsMax), -7, 3, -7),
        (ClipI32(ClipBinaryOpI32::AddFxp), MAX, 1, MIN),
        (ClipI32(ClipBinaryOpI32::AddFxpSat), MAX, 1, MAX),
    ]
};

/// Operators on 1.5 and -4, and the result.
const OF_FLOATS: [(BinaryOperator, f32); 11] = {
    use BinaryOperator::{ClipF32, Fp, FpDiv};
    [
        (Fp(FpBinaryOp::AddF), -2.5),
        (Fp(FpBinaryOp::SubF), 5.5),
        (Fp(FpBinaryOp::MulF(FpMulAlu::Mul0)), -6.0),
        (Fp(FpBinaryOp::MulF(FpMulAlu::Mul1)), -6.0),
        (Fp(FpBinaryOp::DivF), -0.375),
        (FpDiv(FpDivBinaryOp::DivF), -0.375),
        (ClipF32(ClipBinaryOpF32::Add), -2.5),
        (ClipF32(ClipBinaryOpF32::Min), -4.0),
        (ClipF32(ClipBinaryOpF32::Max), 1.5),
        (ClipF32(ClipBinaryOpF32::AbsMin), 1.5),
        (ClipF32(ClipBinaryOpF32::AbsMax), -4.0),
    ]
};

/// Operators on the bits of floats, and the result.
const OF_BITS: [(LogicBinaryOpF32, u32, u32, u32); 3] = [
    (LogicBinaryOpF32::BitAnd, 0xbf80_0000, 0x7fff_ffff, 0x3f80_0000),
    (LogicBinaryOpF32::BitOr, 0x3f80_0000, 0x8000_0000, 0xbf80_0000),
    (LogicBinaryOpF32::BitXor, 0xbf80_0000, 0xffff_ffff, 0x407f_ffff),
];

/// Runs one operator on eleven lanes, on all paths, with a constant and with an operand per lane.
fn run(job: impl for<'a> Fn(Lanes<'a>) -> LaneJob<'a>, stream: u32, operand: u32) -> u32 {
    let operands = [operand.to_le_bytes(); 11];
    let mut all = Vec::new();
    for path in Path::available() {
        for operand in [Lanes::Constant(operand), Lanes::Each(&operands)] {
            let mut lanes = [[7; 4]; 11];
            path.run(Job::Step(job(operand), &[stream.to_le_bytes(); 11]), &mut lanes);
            all.extend(lanes);
        }
    }
    assert!(all.iter().all(|lane| *lane == all[0]), "{all:?}");
    u32::from_le_bytes(all[0])
}

#[test]
fn binary_operators() {
    let integers = OF_INTEGERS.map(|(op, a, b, result)| (op, [a, b, result].map(|x| x as u32)));
    let floats = OF_FLOATS.map(|(op, result)| (op, [1.5, -4.0, result].map(f32::to_bits)));
    let bits = OF_BITS.map(|(op, a, b, result)| (BinaryOperator::LogicF32(op), [a, b, result]));
    let all: Vec<_> = integers.into_iter().chain(floats).chain(bits).collect();
    for &(op, [a, b, result]) in &all {
        assert_eq!(run(|lanes| LaneJob::Binary(op, BinaryArgMode::Mode01, lanes), a, b), result, "{op:?}");
        assert_eq!(
            run(|lanes| LaneJob::Binary(op, BinaryArgMode::Mode10, lanes), b, a),
            result,
            "{op:?}, turned"
        );
    }
    let count = LogicBinaryOpI32::ALL.len()
        + LogicBinaryOpF32::ALL.len()
        + FxpBinaryOp::ALL.len()
        + ClipBinaryOpI32::ALL.len()
        + ClipBinaryOpF32::ALL.len();
    assert_eq!(
        all.len(),
        count + 6,
        "all but the operators of the float cluster, and its 5 with the division behind it"
    );
}

#[test]
fn modes_choose_the_arguments() {
    let [a, b] = [1.5f32, -4.0].map(f32::to_bits);
    for (mode, sum, difference) in [
        (BinaryArgMode::Mode00, 3.0, 0.0),
        (BinaryArgMode::Mode01, -2.5, 5.5),
        (BinaryArgMode::Mode10, -2.5, -5.5),
        (BinaryArgMode::Mode11, -8.0f32, 0.0f32),
    ] {
        let of = |op| f32::from_bits(run(|lanes| LaneJob::Binary(BinaryOperator::Fp(op), mode, lanes), a, b));
        assert_eq!((of(FpBinaryOp::AddF), of(FpBinaryOp::SubF)), (sum, difference), "{mode:?}");
    }
    // Stream 2, operand 3, constant 5.
    for (mode, result) in [
        (TernaryArgMode::Mode012, 11.0),
        (TernaryArgMode::Mode002, 9.0),
        (TernaryArgMode::Mode102, 11.0),
        (TernaryArgMode::Mode112, 14.0),
        (TernaryArgMode::Mode020, 12.0),
        (TernaryArgMode::Mode021, 13.0),
        (TernaryArgMode::Mode120, 17.0),
    ] {
        let found = run(
            |lanes| LaneJob::Ternary(FpTernaryOp::FmaF, mode, lanes, 5.0),
            2f32.to_bits(),
            3f32.to_bits(),
        );
        assert_eq!(f32::from_bits(found), result, "{mode:?}");
    }
}

#[test]
fn functions_and_conversions() {
    let x = 0.75f64;
    for (op, result) in [
        (FpUnaryOp::Exp, x.exp()),
        (FpUnaryOp::NegExp, (-x).exp()),
        (FpUnaryOp::Sqrt, x.sqrt()),
        (FpUnaryOp::Tanh, x.tanh()),
        (FpUnaryOp::Sigmoid, 1.0 / (1.0 + (-x).exp())),
        (FpUnaryOp::Erf, 0.711_155_633_653_515_1),
        (FpUnaryOp::Log, x.ln()),
        (FpUnaryOp::Sin, x.sin()),
        (FpUnaryOp::Cos, x.cos()),
    ] {
        assert_eq!(
            f32::from_bits(run(|_| LaneJob::Unary(op), 0.75f32.to_bits(), 0)),
            result as f32,
            "{op:?}"
        );
    }
    assert_eq!(f32::from_bits(run(|_| LaneJob::FixedToFloat(31), 3, 0)), 3.0);
    assert_eq!(f32::from_bits(run(|_| LaneJob::FixedToFloat(30), 3, 0)), 1.5);
    assert_eq!(run(|_| LaneJob::FloatToFixed(31), 3f32.to_bits(), 0), 3);
    assert_eq!(run(|_| LaneJob::FloatToFixed(30), 1.5f32.to_bits(), 0), 3);
}

/// The first of two NaN wins, in every way to compute a sum.
#[test]
fn reduces() {
    let (a, b) = (0x7fc0_0001, 0xffc0_0002);
    let floats = |x: f32, y: f32, result: f32| [x, y, result].map(f32::to_bits);
    for (op, [x, y, result]) in [
        (ReduceOperator::AddI32, [MAX, 1, MIN].map(|x| x as u32)),
        (ReduceOperator::AddSatI32, [MAX, 1, MAX].map(|x| x as u32)),
        (ReduceOperator::MaxI32, [-7, 3, 3].map(|x: i32| x as u32)),
        (ReduceOperator::MinI32, [-7, 3, -7].map(|x: i32| x as u32)),
        (ReduceOperator::AddF32, floats(1.5, -4.0, -2.5)),
        (ReduceOperator::MulF32, floats(1.5, -4.0, -6.0)),
        (ReduceOperator::MaxF32, floats(1.5, -4.0, 1.5)),
        (ReduceOperator::MinF32, floats(1.5, -4.0, -4.0)),
        (ReduceOperator::MaxF32, [a, b, a]),
        (ReduceOperator::MaxF32, [b, a, b]),
        (ReduceOperator::MinF32, [a, b, a]),
        (ReduceOperator::MinF32, [b, a, b]),
    ] {
        let [first, other] = [x, y].map(|bits| [bits.to_le_bytes(); 11]);
        assert_eq!(lanes::combined(op, x, y), result, "{op:?}");
        assert_eq!(lanes::folded(op, x, [y].into_iter()), result, "{op:?}, in a row");
        for path in Path::available() {
            let mut sums = first;
            path.run(Job::Accumulate(op, &other), &mut sums);
            assert_eq!(sums, [result.to_le_bytes(); 11], "{op:?}, row by row");
            let mut sums = [[7; 4]; 11];
            path.run(
                Job::Fold(op, (&[first, other].concat(), 0), &lanes::Offsets::new(vec![0, 11])),
                &mut sums,
            );
            assert_eq!(sums, [result.to_le_bytes(); 11], "{op:?}, side by side");
        }
        // Sums of two packets in a stream with two unwritten lanes.
        let mut kept = List::new(KeptLoop { size: 1, input: 0, output: 0 });
        kept.push(KeptLoop { size: 4, input: 1, output: 1 });
        let mut reduced = List::new(ReducedLoop { size: 1, input: 0 });
        reduced.push(ReducedLoop { size: 2, input: 4 });
        let reduce = IntraSliceReduce { op, guard: Guard::always(5), kept, reduced, time: 1, slots: 1 };
        let mut vector = Vector::new(ElementType::F32, Guard::always(5));
        vector.steps.extend([VectorStep::Split, VectorStep::IntraSliceReduce(Box::new(reduce))]);
        let plan = VectorPlan::new(
            &vector,
            StreamShape { element: ElementType::F32, time: 1, lanes: 8 },
            Path::best(),
        );
        let mut input = row(&[Some(x), Some(x), Some(x), None, Some(y), Some(y), None, Some(y)]);
        let (mut buffers, mut output) = (VectorBuffers::default(), Row::new(ElementType::I8));
        let at = Coordinates { chip: 0, cluster: 0, slice: 0 };
        plan.run(Input::Row(&mut input), (&Unit::default(), at), &mut buffers, &mut output);
        let expected = [result, result, x, y].map(u32::to_le_bytes).concat();
        assert_eq!((output.bytes(), output.flags()), (&expected[..], None), "{op:?}, with holes");
    }
}
