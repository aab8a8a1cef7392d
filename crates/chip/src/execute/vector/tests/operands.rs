//! Tests of operands in the VRF: the assignment of elements to lanes, and unwritten operands.

use super::*;
use furiosa_visa_rules::command::{InterSliceReduce, MovedLoop, RepeatedLoop, SliceLoop, Start};
use furiosa_visa_rules::mapping::GuardSum;

/// A tensor of `elements` elements. Element k goes to lane k.
fn tensor(address: u64, elements: usize) -> VrfOperand {
    let mut source = region();
    (source.address, source.footprint.elements) = (address, elements);
    VrfOperand { source, transfer: loops(&[(elements, 1, 1)]) }
}

fn plus(operand: VrfOperand) -> VectorStep {
    let op = BinaryOperator::ClipF32(ClipBinaryOpF32::Add);
    let input =
        BinaryInput { ids: ValidBranchIds::ValidAlways, source: OperandSource::Vrf(Box::new(operand)) };
    VectorStep::Binary { op, mode: BinaryArgMode::Mode01, operands: vec![input] }
}

fn multiply_add(operand: VrfOperand) -> VectorStep {
    let source = OperandSource::Vrf(Box::new(operand));
    let input = TernaryInput { ids: ValidBranchIds::ValidAlways, source, constant: 1.0 };
    VectorStep::Ternary { op: FpTernaryOp::FmaF, mode: TernaryArgMode::Mode012, operands: vec![input] }
}

/// A reduce of two slices to the first of them.
fn exchange() -> VectorStep {
    let still = Step { units: 0, elements: 1 };
    let mut kept = List::new(MovedLoop { size: 8, input: still, output: still });
    kept.push(MovedLoop { size: 8, input: still, output: still });
    let mut reduced = List::new(SliceLoop { size: 2, units: 1, axis: 0 });
    reduced.push(SliceLoop { size: 2, units: 1, axis: 0 });
    VectorStep::InterSliceReduce(Box::new(InterSliceReduce {
        op: ReduceOperator::AddF32,
        guard: Guard::always(5),
        kept,
        reduced,
        repeated: List::new(RepeatedLoop { size: 1, units: 0 }),
        group: 2,
        time: 1,
    }))
}

fn plan(steps: Vec<VectorStep>, time: usize) -> VectorPlan {
    let mut vector = Vector::new(ElementType::F32, Guard::always(5));
    vector.steps.extend(steps);
    VectorPlan::new(&vector, StreamShape { element: ElementType::F32, time, lanes: 8 }, Path::best())
}

/// A slice whose VRF holds the number of each element, except for `holes`.
fn unit(holes: &[usize]) -> Unit {
    let mut unit = Unit::default();
    let values: Vec<_> = (0..VRF).map(|k| (!holes.contains(&k)).then_some((k as f32).to_bits())).collect();
    row(&values).write(0, &mut unit.vrf, Line { unit: 0, address: 0, position: 0, stride: 1, len: VRF }, 0);
    unit
}

const HERE: Coordinates = Coordinates { chip: 0, cluster: 0, slice: 0 };

/// Address and element of the first missing operand, in a slice that takes part before the exchange, and in one that
/// has a stream only after it.
fn missing(steps: &[VectorStep], holes: &[usize]) -> [Option<(u64, usize)>; 2] {
    let plan = plan(steps.to_vec(), 1);
    assert!(plan.has_tensors());
    [true, false].map(|takes_part| {
        let found = plan.find_missing_operand(&unit(holes), HERE, takes_part);
        found.map(|found| (found.source.address, found.element))
    })
}

#[test]
fn what_a_slice_uses_is_looked_at() {
    // Elements 16 to 23 of the VRF are operands before the exchange, and elements 0 to 7 after it.
    for before in [plus(tensor(64, 8)), multiply_add(tensor(64, 8))] {
        for behind in [plus(tensor(0, 8)), multiply_add(tensor(0, 8))] {
            let steps = [before.clone(), exchange(), behind];
            assert_eq!(missing(&steps, &[]), [None, None]);
            assert_eq!(missing(&steps, &[8, 15, 24]), [None, None], "no operand lies there");
            assert_eq!(missing(&steps, &[0]), [Some((0, 0)); 2]);
            assert_eq!(missing(&steps, &[7]), [Some((0, 7)); 2]);
            assert_eq!(missing(&steps, &[18, 20]), [Some((64, 2)), None]);
            assert_eq!(missing(&steps, &[23, 3]), [Some((64, 7)), Some((0, 3))]);
        }
    }
}

#[test]
fn what_no_lane_uses_is_not_looked_at() {
    // One of four values goes to the lanes of a packet.
    let mut operand = tensor(0, 8);
    operand.transfer = loops(&[(2, 4, 4), (4, 0, 1)]);
    assert_eq!(missing(&[plus(operand.clone())], &[1, 2, 3, 5, 6, 7, 8]), [None, None]);
    assert_eq!(missing(&[plus(operand.clone())], &[3, 4])[0], Some((0, 4)));
    // A single value goes to all lanes.
    operand.transfer = loops(&[(8, 0, 1)]);
    assert_eq!(missing(&[plus(operand.clone())], &[1, 2, 3, 4, 5, 6, 7]), [None, None]);
    assert_eq!(missing(&[plus(operand)], &[0])[0], Some((0, 0)));
    // If both arguments are the stream, the operand is unused.
    let VectorStep::Binary { op, operands, .. } = plus(tensor(0, 8)) else { unreachable!("it is binary") };
    let squares = plan(vec![VectorStep::Binary { op, mode: BinaryArgMode::Mode00, operands }], 1);
    assert!(!squares.has_tensors());
}

#[test]
fn padding_of_a_tensor_is_not_looked_at() {
    // Elements from 5 on are padding. In slice 1, elements from 3 on are.
    let mut operand = tensor(0, 8);
    let guard = &mut operand.source.footprint.guard;
    guard.sums.push(GuardSum { first: 0, len: 2, start: 0, limit: 5 });
    for (variable, weight) in [(2, 2), (3, 1)] {
        guard.digits.push(GuardDigit { variable, base: 1, extent: 8, weight });
    }
    let plan = plan(vec![plus(operand)], 1);
    for (slice, live) in [(0, 5), (1, 3)] {
        for hole in 0..8 {
            let found = plan.find_missing_operand(&unit(&[hole]), Coordinates { slice, ..HERE }, true);
            assert_eq!(found.map(|missing| missing.element), (hole < live).then_some(hole), "slice {slice}");
        }
    }
}

/// Loops that start at another element do not bring element k to lane k.
#[test]
fn places_begin_where_their_loops_do() {
    let places = |change: fn(&mut Transfer)| {
        let mut transfer = loops(&[(4, 1, 1)]);
        change(&mut transfer);
        match Places::new(&transfer, 4) {
            Places::Same => vec![0, 1, 2, 3],
            Places::One(element) => vec![element; 4],
            Places::Table(all) => all,
        }
    };
    let nowhere = u32::MAX;
    assert_eq!(places(|_| ()), [0, 1, 2, 3]);
    assert_eq!(places(|transfer| transfer.source_start = Start { units: 0, elements: 2 }), [2, 3, 4, 5]);
    assert_eq!(
        places(|transfer| transfer.destination_start = Start { units: 0, elements: 1 }),
        [nowhere, 0, 1, 2]
    );
    assert_eq!(places(|transfer| *transfer = loops(&[(4, 0, 1)])), [0; 4]);
    assert_eq!(places(|transfer| *transfer = loops(&[(3, 1, 1)])), [0, 1, 2, nowhere]);
    assert_eq!(places(|transfer| *transfer = loops(&[(2, 1, 2), (2, 2, 1)])), [0, 2, 1, 3]);
}

/// Two tensors with one address stay two tensors: the second one has more elements.
#[test]
fn tensors_with_one_address() {
    let few = VrfOperand { transfer: loops(&[(4, 1, 1)]), ..tensor(0, 4) };
    let plan = plan(vec![plus(few), plus(tensor(0, 16))], 2);
    let (mut buffers, mut output) = (VectorBuffers::default(), Row::new(ElementType::I8));
    let mut input = row(&[Some(100f32.to_bits()); 16]);
    plan.run(Input::Row(&mut input), (&unit(&[]), HERE), &mut buffers, &mut output);
    let flags = output.flags().expect("the first tensor has four elements");
    let found: Vec<_> = (output.bytes().as_chunks::<4>().0.iter().zip(flags))
        .map(|(lane, &written)| written.then(|| f32::from_le_bytes(*lane)))
        .collect();
    let expected: Vec<_> = (0..16).map(|k| (k < 4).then_some(100.0 + 2.0 * k as f32)).collect();
    assert_eq!(found, expected);
    // In the other order, all lanes of the tensor with more elements are there.
    let plan = self::plan(vec![plus(tensor(0, 4)), plus(tensor(0, 16))], 2);
    assert_eq!(plan.tensors.iter().map(|region| region.footprint.elements).collect::<Vec<_>>(), [4, 16]);
}

/// A lane takes the first operand that applies to its id. `is_for_some` is true for all operands except a first one
/// that applies to all elements.
#[test]
fn operands_of_a_group_are_watched() {
    let operand =
        |ids, address| BinaryInput { ids, source: OperandSource::Vrf(Box::new(tensor(address, 8))) };
    let (one, all) = (ValidBranchIds::from(GroupId::One), ValidBranchIds::ValidAlways);
    let op = BinaryOperator::ClipF32(ClipBinaryOpF32::Add);
    let add = |operands| VectorStep::Binary { op, mode: BinaryArgMode::Mode01, operands };
    // Lanes 1, 3, 5, 7 are of group 1.
    let mut digits = List::new(GuardDigit { variable: 4, base: 1, extent: 8, weight: 1 });
    digits.push(GuardDigit { variable: 4, base: 1, extent: 8, weight: 1 });
    let toggle = VectorStep::Branch(Branch::AxisToggle { digits });
    let watched = |operands: Vec<BinaryInput>, holes: &[usize]| {
        let plan = plan(vec![toggle.clone(), add(operands)], 1);
        let unit = unit(holes);
        let mut input = row(&[Some(0); 8]);
        let (_, found) =
            plan.watch_before(Input::Row(&mut input), (&unit, HERE), &mut VectorBuffers::default());
        let looked_at = plan.find_missing_operand(&unit, HERE, true);
        (
            looked_at.map(|missing| missing.is_for_some),
            found.map(|missing| (missing.source.address, missing.element)),
        )
    };
    let group = || vec![operand(one, 0)];
    assert_eq!(watched(group(), &[]), (None, None));
    assert_eq!(watched(group(), &[0, 2, 4, 6]), (Some(true), None));
    assert_eq!(watched(group(), &[0, 2, 5, 6, 7]), (Some(true), Some((0, 5))));
    // Elements 8 to 15 apply to all lanes outside of the group, or to all lanes.
    let both = || vec![operand(one, 0), operand(all, 32)];
    assert_eq!(watched(both(), &[0, 9, 11, 13, 15]), (Some(true), None));
    assert_eq!(watched(both(), &[9, 12]), (Some(true), Some((32, 4))));
    let first = || vec![operand(all, 32), operand(one, 0)];
    assert_eq!(watched(first(), &[9]), (Some(false), Some((32, 1))));
    assert_eq!(watched(first(), &[1, 3]), (Some(true), None));
}
