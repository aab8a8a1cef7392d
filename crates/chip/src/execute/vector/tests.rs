//! Tests of blocks of lanes against random programs that run element by element.

mod exchange;
mod operands;
mod operators;

use super::*;
use furiosa_visa_rules::command::{
    BinaryInput, BitReq, ClipBinaryOpF32, ClipBinaryOpI32, FillId, Footprint, FpBinaryOp, FpMulAlu,
    FxpBinaryOp, GroupId, InputCmpF32, IntraSliceReduce, KeptLoop, LogicBinaryOpF32, LogicBinaryOpI32,
    Memory, ReduceOperator, ReducedLoop, Step, TagGuard, TernaryInput, Transfer, TransferLoop, VrfOperand,
};
use furiosa_visa_rules::mapping::Guard;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// An element and its execution id. `None`: the element is unwritten, or has no id.
type Cell = (Option<u32>, Option<u8>);

/// Runs a program step by step over cells.
fn plain(vector: &Vector, input: &[Option<u32>], vrf: &[Option<u32>]) -> Vec<Option<u32>> {
    let mut groups: Vec<Vec<Cell>> = vec![input.iter().map(|&value| (value, Some(0))).collect()];
    let mut stash: Vec<Option<u32>> = Vec::new();
    // The id of all elements, including missing ones, if no rule depends on their values.
    let mut common = Some(0);
    let mut shape = StreamShape { element: vector.input, time: input.len() / 8, lanes: 8 };
    for step in &vector.steps {
        let fetched = |source: &OperandSource, k: usize| match source {
            OperandSource::Constant(bits) => Some(*bits),
            OperandSource::Vrf(operand) => moved(&operand.transfer, k).and_then(|from| vrf[from]),
            OperandSource::Stash(transfer) => moved(transfer, k).and_then(|from| stash[from]),
        };
        match step {
            VectorStep::Branch(branch) => {
                common = matches!(branch, Branch::Unconditional).then_some(0);
                for (k, (value, id)) in groups[0].iter_mut().enumerate() {
                    *id = match branch {
                        Branch::Unconditional => Some(0),
                        Branch::AxisToggle { digits } => {
                            let at = [0, 0, 0, k / 8, k % 8];
                            let of = |d: &GuardDigit| at[d.variable] / d.base % d.extent * d.weight;
                            Some(if digits.iter().map(of).sum::<usize>() % 2 == 1 { 8 } else { 0 })
                        }
                        Branch::Comparison(all) => {
                            value.map(|value| (0..4).map(|k| u8::from(all[k].matches(value)) << k).sum())
                        }
                    };
                }
            }
            VectorStep::Stash => stash = groups[0].iter().map(|&(value, _)| value).collect(),
            VectorStep::Binary { op, mode, operands } => {
                for cells in &mut groups {
                    for (k, cell) in cells.iter_mut().enumerate() {
                        let input =
                            cell.1.and_then(|id| operands.iter().find(|operand| operand.ids.holds(id)));
                        let Some(input) = input else { continue };
                        let [a, b] = mode
                            .arguments()
                            .map(|of| if of == 0 { cell.0 } else { fetched(&input.source, k) });
                        cell.0 = a.zip(b).map(|(a, b)| binary(*op, a, b));
                    }
                }
            }
            VectorStep::Ternary { op, mode, operands } => {
                for cells in &mut groups {
                    for (k, cell) in cells.iter_mut().enumerate() {
                        let input =
                            cell.1.and_then(|id| operands.iter().find(|operand| operand.ids.holds(id)));
                        let Some(input) = input else { continue };
                        let constant = Some(input.constant.to_bits());
                        let all = mode.arguments().map(|of| match of {
                            0 => cell.0,
                            1 => fetched(&input.source, k),
                            _ => constant,
                        });
                        assert_eq!(*op, FpTernaryOp::FmaF);
                        cell.0 = match all {
                            [Some(a), Some(b), Some(c)] => {
                                let [a, b, c] = [a, b, c].map(f32::from_bits);
                                let sum = a.mul_add(b, c);
                                Some(if sum.is_nan() { 0x7fc0_0000 } else { sum.to_bits() })
                            }
                            _ => None,
                        };
                    }
                }
            }
            VectorStep::Unary { op, ids } => {
                for (value, id) in groups.iter_mut().flatten() {
                    if let Some(value) = value.as_mut().filter(|_| id.is_some_and(|id| ids.holds(id))) {
                        *value = one(LaneJob::Unary(*op), *value);
                    }
                }
            }
            VectorStep::FxpToFp { int_width } => {
                let change = |x: u32| {
                    furiosa_visa_rules::scalar::vector::fixed_to_float(x as i32, *int_width).to_bits()
                };
                groups.iter_mut().flatten().for_each(|cell| cell.0 = cell.0.map(change));
            }
            VectorStep::FpToFxp { int_width } => {
                let change = |x| {
                    furiosa_visa_rules::scalar::vector::float_to_fixed(f32::from_bits(x), *int_width) as u32
                };
                groups.iter_mut().flatten().for_each(|cell| cell.0 = cell.0.map(change));
            }
            // Cells hold bits.
            VectorStep::Split | VectorStep::Concat | VectorStep::Reinterpret => {}
            VectorStep::Trim => {
                groups[0] = groups[0].chunks(8).flat_map(|packet| packet[..4].to_vec()).collect();
            }
            VectorStep::Pad => {
                let pad = |packet: &[Cell]| [packet, &[(None, common); 4]].concat();
                groups[0] = groups[0].chunks(4).flat_map(pad).collect();
            }
            VectorStep::IntraSliceReduce(reduce) => {
                let mut sums: Vec<Cell> = vec![(None, None); reduce.time * 4];
                let mut is_sum = vec![false; sums.len()];
                for (position, sum) in reduce.places() {
                    let at = [0, 0, 0, position / 4, position % 4];
                    let (value, id) = groups[0][position];
                    is_sum[sum] = true;
                    if let Some(value) = value.filter(|_| reduce.guard.holds(&at)) {
                        let sum = &mut sums[sum];
                        *sum = (
                            Some(sum.0.map_or(value, |before| lanes::combined(reduce.op, before, value))),
                            id,
                        );
                    }
                }
                // An empty sum has no id. Lanes without a sum keep the common id, if there is one.
                if sums.iter().zip(&is_sum).any(|(cell, is_sum)| *is_sum && cell.0.is_none()) {
                    common = None;
                }
                let others = sums.iter_mut().zip(&is_sum).filter(|(_, is_sum)| !**is_sum);
                others.for_each(|(cell, _)| cell.1 = common);
                groups[0] = sums;
            }
            VectorStep::Unzip { step } => {
                let of = |group: usize| {
                    let id = Some(if group == 0 { 0 } else { 8 });
                    let cells = groups[0].iter().enumerate().filter(|(k, _)| k / step % 2 == group);
                    cells.map(|(_, &(value, _))| (value, id)).collect()
                };
                groups = vec![of(0), of(1)];
            }
            VectorStep::Zip { op, mode } => {
                common = Some(8);
                let pairs = groups[0].iter().zip(&groups[1]);
                let zip = |(&(a, _), &(b, _)): (&Cell, &Cell)| {
                    let both = a.zip(b).map(|(a, b)| {
                        let [x, y] = mode.arguments().map(|of| if of == 0 { a } else { b });
                        binary(*op, x, y)
                    });
                    (both, Some(8))
                };
                groups = vec![pairs.map(zip).collect()];
            }
            VectorStep::InterSliceReduce(_) => unreachable!("there is one slice"),
        }
        shape = step.shape(shape);
        assert_eq!(groups[0].len(), shape.time * shape.lanes);
    }
    groups.swap_remove(0).into_iter().map(|(value, _)| value).collect()
}

fn binary(op: BinaryOperator, a: u32, b: u32) -> u32 {
    one(LaneJob::Binary(op, BinaryArgMode::Mode01, Lanes::Constant(b)), a)
}

/// A step of one lane.
fn one(job: LaneJob<'_>, stream: u32) -> u32 {
    let mut one = [Lane::default()];
    Path::Portable.run(Job::Step(job, &[stream.to_le_bytes()]), &mut one);
    u32::from_le_bytes(one[0])
}

/// The element that goes to a position. The loops of the tests have at most one step per position.
fn moved(transfer: &Transfer, position: usize) -> Option<usize> {
    let (mut rest, mut from) = (position, 0);
    for entry in &transfer.loops {
        let index = rest / entry.destination.elements;
        rest %= entry.destination.elements;
        from += index * entry.source.elements;
        if index >= entry.size {
            return None;
        }
    }
    Some(from)
}

fn loops(all: &[(usize, usize, usize)]) -> Transfer {
    let mut transfer = Transfer { guard: Guard::always(all.len()), ..Transfer::new() };
    for &(size, from, to) in all {
        let step = |elements| Step { units: 0, elements };
        transfer.loops.push(TransferLoop { size, source: step(from), destination: step(to) });
    }
    transfer
}

const VRF: usize = 256;

fn region() -> Region {
    let guard = Guard::always(4);
    let footprint =
        Footprint { element: ElementType::F32, chips: 1, clusters: 1, slices: 1, elements: VRF, guard };
    Region::whole(Memory::Vrf, 0, FillId::ANY, footprint)
}

fn pick<T: Copy>(random: &mut SmallRng, all: &[T]) -> T {
    all[random.random_range(0..all.len())]
}

fn source(random: &mut SmallRng, shape: StreamShape, stashed: Option<usize>) -> OperandSource {
    let StreamShape { time, lanes, .. } = shape;
    match random.random_range(0..4) {
        0 | 1 => {
            let (per_packet, per_lane) = pick(random, &[(0, 1), (1, 0), (0, 0), (3, 5), (lanes, 1)]);
            let lanes_here = if random.random_range(0..4) == 0 { lanes - 1 } else { lanes };
            let transfer = loops(&[(time, per_packet, lanes), (lanes_here, per_lane, 1)]);
            OperandSource::Vrf(Box::new(VrfOperand { source: region(), transfer }))
        }
        2 if stashed == Some(time * lanes) => OperandSource::Stash(Box::new(loops(&[(time * lanes, 1, 1)]))),
        _ => OperandSource::Constant(value(random)),
    }
}

/// Bits that are meaningful both as an integer and as a float.
fn value(random: &mut SmallRng) -> u32 {
    match random.random_range(0..8) {
        0 => random.random(),
        1 => pick(random, &[0, 1 << 31, 0x7f80_0000, 0x7fc0_0000, 0xff80_0000, i32::MAX as u32]),
        2 => random.random_range(0..40),
        _ => random.random_range(-4.0f32..4.0).to_bits(),
    }
}

fn operator(random: &mut SmallRng, shape: StreamShape) -> BinaryOperator {
    match (shape.element, shape.lanes) {
        (ElementType::F32, 4) => {
            let all =
                [FpBinaryOp::AddF, FpBinaryOp::SubF, FpBinaryOp::DivF, FpBinaryOp::MulF(FpMulAlu::Mul0)];
            BinaryOperator::Fp(pick(random, &all))
        }
        (ElementType::F32, _) if random.random() => {
            BinaryOperator::LogicF32(pick(random, LogicBinaryOpF32::ALL))
        }
        (ElementType::F32, _) => BinaryOperator::ClipF32(pick(random, ClipBinaryOpF32::ALL)),
        _ => match random.random_range(0..3) {
            0 => BinaryOperator::LogicI32(pick(random, LogicBinaryOpI32::ALL)),
            1 => BinaryOperator::Fxp(pick(random, FxpBinaryOp::ALL)),
            _ => BinaryOperator::ClipI32(pick(random, ClipBinaryOpI32::ALL)),
        },
    }
}

const IDS: [ValidBranchIds; 5] = [
    ValidBranchIds::ValidAlways,
    ValidBranchIds::ValidGroup { id: GroupId::Zero },
    ValidBranchIds::ValidGroup { id: GroupId::One },
    ValidBranchIds::ValidTags {
        guard: TagGuard::matches([BitReq::One, BitReq::Ignore, BitReq::Zero, BitReq::Ignore]),
    },
    ValidBranchIds::ValidTags {
        guard: TagGuard::not_matches([BitReq::Zero, BitReq::One, BitReq::Ignore, BitReq::One]),
    },
];

fn branch(random: &mut SmallRng) -> Branch {
    match random.random_range(0..3) {
        0 => Branch::Unconditional,
        1 => {
            let digit = GuardDigit {
                variable: pick(random, &[3, 4]),
                base: pick(random, &[1, 2]),
                extent: 3,
                weight: 1,
            };
            let mut digits = List::new(digit);
            digits.push(digit);
            Branch::AxisToggle { digits }
        }
        _ => {
            let less = InputCmp::F32(InputCmpF32::Less { boundary: 0.5 });
            let greater = InputCmp::F32(InputCmpF32::GreaterUnsigned { boundary: 2.0 });
            Branch::Comparison([less, greater, less, pick(random, &[less, greater])])
        }
    }
}

fn program(random: &mut SmallRng, time: usize) -> Vector {
    let mut vector = Vector::new(ElementType::F32, Guard::always(5));
    let mut shape = StreamShape { element: ElementType::F32, time, lanes: 8 };
    let (mut stashed, mut paired) = (None, false);
    if time.is_multiple_of(4) && random.random_range(0..3) == 0 {
        paired = true;
        vector.steps.push(VectorStep::Unzip { step: pick(random, &[8, 16]) });
        shape.time /= 2;
    } else if random.random_range(0..8) == 0 {
        // A reduce in front.
        vector.steps.extend([VectorStep::Branch(Branch::Unconditional), VectorStep::Split]);
        shape = VectorStep::Split.shape(shape);
        vector.steps.push(VectorStep::IntraSliceReduce(Box::new(reduce(random, shape))));
        shape = vector.steps[2].shape(shape);
    } else {
        vector.steps.push(VectorStep::Branch(branch(random)));
    }
    for _ in 0..random.random_range(1..9) {
        let float = shape.element == ElementType::F32;
        let step = match random.random_range(0..13) {
            12 => VectorStep::Reinterpret,
            0 if shape.lanes == 8 => VectorStep::Split,
            0 if shape.time.is_multiple_of(2) => VectorStep::Concat,
            1 if shape.lanes == 8 && !paired => VectorStep::Trim,
            1 if !paired => VectorStep::Pad,
            2 if !paired => {
                stashed = Some(shape.time * shape.lanes);
                VectorStep::Stash
            }
            3 if shape.lanes == 8 && float => VectorStep::FpToFxp { int_width: random.random_range(0..32) },
            4 if shape.lanes == 8 && !float => VectorStep::FxpToFp { int_width: random.random_range(0..32) },
            5 if shape.lanes == 4 && float => {
                VectorStep::Unary { op: pick(random, FpUnaryOp::ALL), ids: pick(random, &IDS) }
            }
            6 if shape.lanes == 4 && float => {
                let input = |random: &mut SmallRng| TernaryInput {
                    ids: pick(random, &IDS),
                    source: source(random, shape, stashed),
                    constant: f32::from_bits(value(random)),
                };
                let operands = (0..random.random_range(1..4)).map(|_| input(random)).collect();
                VectorStep::Ternary {
                    op: FpTernaryOp::FmaF,
                    mode: pick(random, &TernaryArgMode::ALL),
                    operands,
                }
            }
            7 if shape.lanes == 4 && !paired => VectorStep::IntraSliceReduce(Box::new(reduce(random, shape))),
            _ if shape.lanes == 4 && !float => continue,
            _ => {
                let op = operator(random, shape);
                let input = |random: &mut SmallRng| BinaryInput {
                    ids: pick(random, &IDS),
                    source: source(random, shape, stashed),
                };
                let operands = (0..random.random_range(0..4)).map(|_| input(random)).collect();
                VectorStep::Binary { op, mode: pick(random, &BinaryArgMode::ALL), operands }
            }
        };
        shape = step.shape(shape);
        vector.steps.push(step);
    }
    if paired {
        let op = operator(random, shape);
        vector.steps.push(VectorStep::Zip { op, mode: pick(random, &BinaryArgMode::ALL) });
    }
    vector
}

const FLOAT_REDUCES: [ReduceOperator; 4] =
    [ReduceOperator::AddF32, ReduceOperator::MaxF32, ReduceOperator::MinF32, ReduceOperator::MulF32];
const FIXED_REDUCES: [ReduceOperator; 4] =
    [ReduceOperator::AddSatI32, ReduceOperator::MaxI32, ReduceOperator::MinI32, ReduceOperator::AddI32];

fn reduce(random: &mut SmallRng, StreamShape { element, time, lanes }: StreamShape) -> IntraSliceReduce {
    let op = pick(random, if element == ElementType::F32 { &FLOAT_REDUCES } else { &FIXED_REDUCES });
    let mut kept = List::new(KeptLoop { size: 1, input: 0, output: 0 });
    let mut reduced = List::new(ReducedLoop { size: 1, input: 0 });
    let mut guard = Guard::always(5);
    // A limit on the lane or on the time step, or none.
    if random.random() {
        let (variable, limit) = pick(random, &[(3, 2), (4, 3), (3, time)]);
        guard.digits.push(GuardDigit { variable, base: 1, extent: time.max(lanes), weight: 1 });
        guard.sums.push(furiosa_visa_rules::mapping::GuardSum { first: 0, len: 1, start: 0, limit });
    }
    let outer = if time.is_multiple_of(2) { 2 } else { 1 };
    let out_time = match random.random_range(0..3) {
        0 => {
            kept.push(KeptLoop { size: lanes, input: 1, output: 1 });
            reduced.push(ReducedLoop { size: time, input: lanes });
            1
        }
        // Every second step is summed, side by side with the other ones.
        1 => {
            kept.push(KeptLoop { size: lanes, input: 1, output: 1 });
            kept.push(KeptLoop { size: outer, input: lanes, output: lanes });
            reduced.push(ReducedLoop { size: time / outer, input: lanes * outer });
            outer
        }
        _ => {
            kept.push(KeptLoop { size: time, input: lanes, output: lanes });
            reduced.push(ReducedLoop { size: lanes, input: 1 });
            time
        }
    };
    IntraSliceReduce { op, guard, kept, reduced, time: out_time, slots: 1 }
}

/// A row of values. Some may be missing.
fn row(values: &[Option<u32>]) -> Row {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.unwrap_or(7).to_le_bytes()).collect();
    let flags: Vec<bool> = values.iter().map(Option::is_some).collect();
    let mut row = Row::new(ElementType::F32);
    row.push(&bytes, values.len(), flags.contains(&false).then_some(&flags[..]));
    row
}

#[test]
fn blocks_agree_with_elements() {
    let mut random = SmallRng::seed_from_u64(616);
    let (mut buffers, mut output) = (VectorBuffers::default(), Row::new(ElementType::I8));
    let at = Coordinates { chip: 0, cluster: 0, slice: 0 };
    let (mut some, mut reduces, mut first) = (0, 0, [0; 2]);
    let paths: Vec<Path> = Path::available().collect();
    for case in 0..12_000 {
        // Some streams are longer than a block.
        let time = if case % 1000 == 0 { 600 } else { random.random_range(1..13) };
        let holes = random.random_range(0..3) == 0;
        let draw = |random: &mut SmallRng| (!holes || random.random_range(0..5) > 0).then(|| value(random));
        let input: Vec<_> = (0..time * 8).map(|_| draw(&mut random)).collect();
        // Long streams with one value per packet read behind the register file, where all elements are unwritten.
        let vrf: Vec<_> = (0..VRF).map(|_| draw(&mut random)).collect();
        let mut unit = Unit::default();
        let line = Line { unit: 0, address: 0, position: 0, stride: 1, len: VRF };
        row(&vrf).write(0, &mut unit.vrf, line, 0);
        let vector = program(&mut random, time);
        let shape = StreamShape { element: ElementType::F32, time, lanes: 8 };
        let plan = VectorPlan::new(&vector, shape, paths[case % paths.len()]);
        let mut stream = row(&input);
        if stream.flags().is_none() {
            let mut in_place = Row::new(ElementType::I8);
            first[0] += usize::from(matches!(plan.parts[..], [Part::Reduce(_), ..]));
            first[1] += usize::from(matches!(plan.parts[..], [Part::Lanes(_), ..]));
            plan.run(Input::Memory(stream.bytes()), (&unit, at), &mut buffers, &mut in_place);
            plan.run(Input::Row(&mut stream), (&unit, at), &mut buffers, &mut output);
            assert_eq!((in_place.bytes(), in_place.flags()), (output.bytes(), output.flags()), "{vector:?}");
        } else {
            plan.run(Input::Row(&mut stream), (&unit, at), &mut buffers, &mut output);
        }
        let wide: Vec<_> = vrf.iter().copied().chain(core::iter::repeat_n(None, 1 << 16)).collect();
        let expected = plain(&vector, &input, &wide);
        let lanes = output.bytes().as_chunks::<4>().0;
        assert_eq!(lanes.len(), expected.len(), "case {case}: {vector}");
        for (k, (lane, expected)) in lanes.iter().zip(&expected).enumerate() {
            let written = output.flags().is_none_or(|flags| flags[k]);
            let found = written.then(|| u32::from_le_bytes(*lane));
            assert_eq!(found, *expected, "case {case}, position {k}: {vector}");
        }
        some += usize::from(expected.contains(&None) && expected.iter().any(Option::is_some));
        reduces += vector.steps.iter().filter(|step| matches!(step, VectorStep::IntraSliceReduce(_))).count();
    }
    assert!(
        some > 2000 && reduces > 800 && first[0] > 300 && first[1] > 3000,
        "{some} with holes, {reduces} reduces, {first:?} reduces and other steps in place"
    );
}

/// All paths of this machine give the same bits.
#[test]
fn instructions_agree() {
    let mut random = SmallRng::seed_from_u64(617);
    let lanes: Vec<Lane> = (0..1000).map(|_| value(&mut random).to_le_bytes()).collect();
    let operand: Vec<Lane> = (0..1000).map(|_| value(&mut random).to_le_bytes()).collect();
    let jobs = |job: LaneJob<'_>| {
        let [mut one, mut other] = [(); 2].map(|()| vec![[7; 4]; lanes.len()]);
        Path::Portable.run(Job::Step(job, &lanes), &mut one);
        for path in Path::available() {
            path.run(Job::Step(job, &lanes), &mut other);
            assert_eq!(one, other, "{job:?}, {path:?}");
        }
    };
    for mode in BinaryArgMode::ALL {
        let both = [Lanes::Each(&operand), Lanes::Constant(u32::from_le_bytes(operand[3]))];
        for lanes in both {
            let f32 = ClipBinaryOpF32::ALL.iter().map(|&op| BinaryOperator::ClipF32(op));
            let fp = FpBinaryOp::ALL.iter().map(|&op| BinaryOperator::Fp(op));
            let fxp = FxpBinaryOp::ALL.iter().map(|&op| BinaryOperator::Fxp(op));
            let clip = ClipBinaryOpI32::ALL.iter().map(|&op| BinaryOperator::ClipI32(op));
            let logic_f32 = LogicBinaryOpF32::ALL.iter().map(|&op| BinaryOperator::LogicF32(op));
            let logic_i32 = LogicBinaryOpI32::ALL.iter().map(|&op| BinaryOperator::LogicI32(op));
            let all = f32.chain(fp).chain(fxp).chain(clip).chain(logic_f32).chain(logic_i32);
            all.for_each(|op| jobs(LaneJob::Binary(op, mode, lanes)));
        }
    }
    FpUnaryOp::ALL.iter().for_each(|&op| jobs(LaneJob::Unary(op)));
    for bits in [0, 8, 31] {
        jobs(LaneJob::FixedToFloat(bits));
        jobs(LaneJob::FloatToFixed(bits));
    }
    for mode in TernaryArgMode::ALL {
        jobs(LaneJob::Ternary(FpTernaryOp::FmaF, mode, Lanes::Each(&operand), 0.75));
        jobs(LaneJob::Ternary(
            FpTernaryOp::FmaF,
            mode,
            Lanes::Constant(u32::from_le_bytes(operand[5])),
            0.75,
        ));
    }
}

/// Sums of rows equal the sums of their elements, one after another, on all paths, with and without a whole vector.
#[test]
fn sums_row_by_row_are_those_one_by_one() {
    let mut random = SmallRng::seed_from_u64(618);
    let lanes: Vec<Lane> = (0..200).map(|_| value(&mut random).to_le_bytes()).collect();
    // The offsets are not evenly spaced, so that a wrong place gives a wrong sum.
    let (from, offsets) = (3, [0, 40, 17, 95]);
    for op in FLOAT_REDUCES.into_iter().chain(FIXED_REDUCES) {
        for len in [1, 7, 8, 29] {
            let row = |offset: usize| &lanes[from + offset..from + offset + len];
            let one_by_one = |k: usize| {
                let first = u32::from_le_bytes(row(0)[k]);
                offsets[1..]
                    .iter()
                    .fold(first, |sum, &offset| lanes::combined(op, sum, u32::from_le_bytes(row(offset)[k])))
            };
            let expected: Vec<Lane> = (0..len).map(|k| one_by_one(k).to_le_bytes()).collect();
            for path in Path::available() {
                let mut sums = row(0).to_vec();
                offsets[1..].iter().for_each(|&offset| path.run(Job::Accumulate(op, row(offset)), &mut sums));
                assert_eq!(sums, expected, "{op} of {len} lanes, row by row, {path:?}");
            }
        }
    }
}

/// Whole chunks and the lanes behind them have the results of single lanes, with a value per lane and with a constant.
#[test]
fn chunks_and_what_is_behind_them() {
    let mut random = SmallRng::seed_from_u64(619);
    let mut lanes = |len: usize| (0..len).map(|_| value(&mut random).to_le_bytes()).collect::<Vec<Lane>>();
    let bits = |lane: &Lane| u32::from_le_bytes(*lane);
    let op = BinaryOperator::Fxp(FxpBinaryOp::SubFxp);
    for len in [1, 63, 64, 65, 128, 200, 1024, 1025, 2100] {
        let (stream, operand) = (lanes(len), lanes(len));
        for mode in BinaryArgMode::ALL {
            for constant in [None, Some(bits(&operand[0]))] {
                let of_lane = |k: usize| {
                    let both = [bits(&stream[k]), constant.unwrap_or(bits(&operand[k]))];
                    let [a, b] = mode.arguments().map(|number| both[number]);
                    a.wrapping_sub(b).to_le_bytes()
                };
                let expected: Vec<Lane> = (0..len).map(of_lane).collect();
                let operand = constant.map_or(Lanes::Each(&operand), Lanes::Constant);
                for path in Path::available() {
                    let mut made = vec![[7; 4]; len];
                    path.run(Job::Step(LaneJob::Binary(op, mode, operand), &stream), &mut made);
                    assert_eq!(made, expected, "{len} lanes, {mode}, {path:?}");
                }
            }
        }
        for path in Path::available() {
            let mut sums = stream.clone();
            path.run(Job::Accumulate(ReduceOperator::AddI32, &operand), &mut sums);
            let both = stream.iter().zip(&operand);
            let expected: Vec<Lane> =
                both.map(|(a, b)| bits(a).wrapping_add(bits(b)).to_le_bytes()).collect();
            assert_eq!(sums, expected, "{len} sums, {path:?}");
        }
    }
}

/// Sums of neighbouring lanes equal the sums of their elements, one after another, on all paths. All NaN become the
/// same, and a single element stays unchanged.
#[test]
fn sums_side_by_side_are_those_one_by_one() {
    let mut random = SmallRng::seed_from_u64(618);
    let lanes: Vec<Lane> = (0..900).map(|_| value(&mut random).to_le_bytes()).collect();
    let offsets: Vec<usize> = (0..70).map(|_| random.random_range(0..880)).collect();
    let mut changed = 0;
    for op in FLOAT_REDUCES.into_iter().chain(FIXED_REDUCES) {
        for (from, count) in (0..=70).flat_map(|count| [(0, count), (1, count)]) {
            let dense = (0..count).map(|k| 3 + k * 8).collect();
            for offsets_of_sum in [offsets[..count].to_vec(), dense] {
                // A vector and three more lanes.
                for sum in folds(op, (&lanes, from), offsets_of_sum, 11) {
                    changed +=
                        usize::from(count > 1 && sum == furiosa_visa_rules::scalar::vector::CANONICAL_NAN);
                }
            }
        }
    }
    assert!(changed > 1000, "{changed} sums are no number");
}

/// The greatest and the least of neighbouring lanes equal those found one after another, bit by bit, on all paths.
/// Lanes are evenly spaced or not, and take few values: zeros of both signs, infinities, several NaN.
#[test]
fn extremes_side_by_side_are_those_one_by_one() {
    let mut random = SmallRng::seed_from_u64(619);
    let special = [0, 1 << 31, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffc0_0001, 0x7f80_0001, 0x7fff_ffff];
    let numbers = [1f32, -1.0, 3.5, -2e30, f32::from_bits(1), -f32::from_bits(1)].map(f32::to_bits);
    let (mut zeros, mut others, mut infinities, mut nan) = (0, 0, 0, 0);
    for case in 0..20 * 71 {
        // Few values at a time, so that they meet in all orders: one NaN among zeros, or only NaN. Or any bits.
        let any = if case % 3 == 0 { &numbers[..] } else { &special };
        let few: Vec<u32> = (0..1 + case % 4)
            .map(|k| if k == 0 { pick(&mut random, &special) } else { pick(&mut random, any) })
            .collect();
        let mut draw = || if case % 5 == 4 { random.random() } else { pick(&mut random, &few) };
        let lanes: Vec<Lane> = (0..1700).map(|_| draw().to_le_bytes()).collect();
        let (count, apart) = (case % 71, pick(&mut random, &[8, 8, 3, 24]));
        let offsets: Vec<usize> = match case / 71 % 2 {
            0 => (0..count).map(|k| 5 + k * apart).collect(),
            _ => (0..count).map(|_| random.random_range(0..1680)).collect(),
        };
        for op in [ReduceOperator::MaxF32, ReduceOperator::MinF32] {
            // A vector and one more lane.
            for sum in folds(op, (&lanes, 1), offsets.clone(), 9) {
                match f32::from_bits(sum) {
                    _ if count == 0 => {}
                    value if value.is_nan() => nan += 1,
                    0.0 => zeros += 1,
                    value if value.is_infinite() => infinities += 1,
                    _ => others += 1,
                }
            }
        }
    }
    let all = [zeros, others, infinities, nan];
    assert!(all.iter().all(|&count| count > 2000), "zeros, others, infinities, NaN: {all:?}");
}

/// Sums of `count` neighbouring lanes. They are the same on all paths and one element after another. An empty sum
/// leaves its lane unchanged.
fn folds(op: ReduceOperator, (lanes, from): (&[Lane], usize), offsets: Vec<usize>, count: usize) -> Vec<u32> {
    let lane = |k: usize| u32::from_le_bytes(lanes[from + k]);
    let one_by_one = |k: usize| {
        let mut all = offsets.iter().map(|offset| lane(k + offset));
        all.next().map_or(7, |first| all.fold(first, |a, b| lanes::combined(op, a, b)))
    };
    let expected: Vec<u32> = (0..count).map(one_by_one).collect();
    let places = lanes::Offsets::new(offsets.clone());
    for path in Path::available() {
        let mut sums = vec![7u32.to_le_bytes(); count];
        path.run(Job::Fold(op, (lanes, from), &places), &mut sums);
        let found: Vec<u32> = sums.into_iter().map(u32::from_le_bytes).collect();
        assert_eq!(found, expected, "{op} from {from} at {offsets:?}, {path:?}");
    }
    expected
}
