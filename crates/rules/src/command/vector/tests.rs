//! Properties of programs: their text, shapes and operands.

use super::*;
use crate::list::List;

fn program() -> Vector {
    let operand = |ids, source| BinaryInput { ids, source };
    let always = ValidBranchIds::ValidAlways;
    let mut kept = List::new(KeptLoop { size: 1, input: 0, output: 0 });
    kept.push(KeptLoop { size: 8, input: 1, output: 1 });
    let mut reduced = List::new(ReducedLoop { size: 1, input: 0 });
    reduced.push(ReducedLoop { size: 6, input: 8 });
    let reduce = IntraSliceReduce {
        op: ReduceOperator::AddF32,
        guard: Guard::always(5),
        kept,
        reduced,
        time: 2,
        slots: 2,
    };
    let mut vector = Vector::new(ElementType::I32, Guard::always(5));
    vector.steps = vec![
        VectorStep::Branch(Branch::Unconditional),
        VectorStep::Binary {
            op: BinaryOperator::Fxp(FxpBinaryOp::MulInt),
            mode: BinaryArgMode::Mode10,
            operands: vec![
                operand(GroupId::One.into(), OperandSource::Constant(-3i32 as u32)),
                operand(always, OperandSource::Constant(7)),
            ],
        },
        VectorStep::FxpToFp { int_width: 31 },
        VectorStep::Split,
        VectorStep::Unary { op: FpUnaryOp::Exp, ids: always },
        VectorStep::IntraSliceReduce(Box::new(reduce)),
        VectorStep::Concat,
    ];
    vector
}

#[test]
fn a_program_prints() {
    assert_eq!(
        program().to_string(),
        "vector i32: branch Unconditional | FxpBinaryOp::MulInt mode 10 -3 for group 1, 7 | fxp_to_fp 31 | split | \
         FpUnaryOp::Exp | intra_slice_reduce Add of 6, 2 slots | concat"
    );
}

#[test]
fn a_program_knows_its_stream() {
    let (vector, before) = (program(), StreamShape { element: ElementType::I32, time: 6, lanes: 8 });
    assert_eq!(vector.shape(before), StreamShape { element: ElementType::F32, time: 1, lanes: 8 });
    assert_eq!(vector.packets(before).max(), Some(12), "a split makes twice as many packets");
    let units = [RngdAlu::FxpMul, RngdAlu::FpExp, RngdAlu::ReduceAccTree];
    assert!(vector.alus().eq(units) && vector.used().eq(units) && vector.computes());
    assert_eq!(vector.last_inputs(before, |flit| 10 * flit), [50], "the sum takes the last flit");
    assert!(vector.operands().next().is_none());
    let mut passes = Vector::new(ElementType::I32, Guard::always(5));
    passes.steps = vec![VectorStep::Split, VectorStep::Concat, VectorStep::Stash];
    assert!(!passes.computes());
    assert_eq!(passes.last_inputs(before, |flit| flit), [0, 1, 2, 3, 4, 5]);
    passes.steps = vec![VectorStep::Unzip { step: 16 }];
    assert_eq!(passes.last_inputs(StreamShape { time: 4, ..before }, |flit| flit), [2, 3]);
}

/// A step with operands in the VRF at two addresses, and the stash.
fn taking(mode: BinaryArgMode) -> VectorStep {
    let operands = [vrf(0, 3), vrf(64, 5), OperandSource::Stash(Box::new(loops(7)))];
    let operand = |source| BinaryInput { ids: ValidBranchIds::ValidAlways, source };
    let op = BinaryOperator::ClipF32(ClipBinaryOpF32::Max);
    VectorStep::Binary { op, mode, operands: operands.map(operand).to_vec() }
}

fn multiply_add(mode: TernaryArgMode) -> VectorStep {
    let ids = GroupId::Zero.into();
    let operands = vec![
        TernaryInput { ids, source: vrf(128, 2), constant: 0.5 },
        TernaryInput { ids: ValidBranchIds::ValidAlways, source: OperandSource::Constant(0), constant: -2.0 },
    ];
    VectorStep::Ternary { op: FpTernaryOp::FmaF, mode, operands }
}

fn loops(size: usize) -> Transfer {
    let step = crate::command::Step { units: 0, elements: 1 };
    let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
    transfer.loops.push(crate::command::TransferLoop { size, source: step, destination: step });
    transfer
}

fn vrf(address: u64, size: usize) -> OperandSource {
    use crate::command::{FillId, Footprint, Memory};
    let guard = Guard::always(4);
    let footprint =
        Footprint { element: ElementType::F32, chips: 1, clusters: 1, slices: 1, elements: 8, guard };
    let source = Region::whole(Memory::Vrf, address, FillId::ANY, footprint);
    OperandSource::Vrf(Box::new(VrfOperand { source, transfer: loops(size) }))
}

fn across() -> VectorStep {
    let still = crate::command::Step { units: 0, elements: 0 };
    let mut reduced = List::new(SliceLoop { size: 1, units: 0, axis: 0 });
    reduced.push(SliceLoop { size: 4, units: 2, axis: 0 });
    reduced.push(SliceLoop { size: 2, units: 1, axis: 0 });
    VectorStep::InterSliceReduce(Box::new(InterSliceReduce {
        op: ReduceOperator::MulF32,
        guard: Guard::always(5),
        kept: List::new(MovedLoop { size: 1, input: still, output: still }),
        reduced,
        repeated: List::new(RepeatedLoop { size: 1, units: 0 }),
        group: 8,
        time: 3,
    }))
}

fn of(steps: impl IntoIterator<Item = VectorStep>) -> Vector {
    Vector { steps: steps.into_iter().collect(), ..Vector::new(ElementType::F32, Guard::always(5)) }
}

/// Each step has its text.
#[test]
fn steps_print() {
    let zip = |mode| VectorStep::Zip { op: BinaryOperator::Fp(FpBinaryOp::SubF), mode };
    let unary = |ids| VectorStep::Unary { op: FpUnaryOp::Tanh, ids };
    let tags = TagGuard::matches([BitReq::One, BitReq::Ignore, BitReq::Zero, BitReq::Ignore]);
    for (step, text) in [
        (VectorStep::Unzip { step: 16 }, "unzip 16"),
        (zip(BinaryArgMode::Mode01), "zip FpBinaryOp::SubF"),
        (zip(BinaryArgMode::Mode10), "zip FpBinaryOp::SubF mode 10"),
        (VectorStep::Stash, "stash"),
        (taking(BinaryArgMode::Mode01), "ClipBinaryOpF32::Max VRF 0, VRF 64, stash"),
        (taking(BinaryArgMode::Mode11), "ClipBinaryOpF32::Max mode 11 VRF 0, VRF 64, stash"),
        (multiply_add(TernaryArgMode::Mode012), "FpTernaryOp::FmaF (VRF 128, 0.5) for group 0, (0.0, -2.0)"),
        (
            multiply_add(TernaryArgMode::Mode120),
            "FpTernaryOp::FmaF mode 120 (VRF 128, 0.5) for group 0, (0.0, -2.0)",
        ),
        (unary(ValidBranchIds::ValidAlways), "FpUnaryOp::Tanh"),
        (unary(GroupId::One.into()), "FpUnaryOp::Tanh for group 1"),
        (unary(tags.into()), "FpUnaryOp::Tanh for TagGuard::matches([One, Ignore, Zero, Ignore])"),
        (VectorStep::Reinterpret, "reinterpret"),
        (VectorStep::FxpToFp { int_width: 7 }, "fxp_to_fp 7"),
        (VectorStep::FpToFxp { int_width: 9 }, "fp_to_fxp 9"),
        (VectorStep::Split, "split"),
        (VectorStep::Concat, "concat"),
        (VectorStep::Trim, "trim_way4"),
        (VectorStep::Pad, "pad_way8"),
        (across(), "inter_slice_reduce Mul of 8, groups of 8 slices"),
    ] {
        assert_eq!(step.to_string(), text);
    }
    assert_eq!(of([]).to_string(), "vector f32");
}

/// Steps change types, time and packets.
#[test]
fn steps_change_the_stream() {
    let shape = |element, time, lanes| StreamShape { element, time, lanes };
    let floats = shape(ElementType::F32, 6, 8);
    for (step, behind) in [
        (VectorStep::Unzip { step: 8 }, shape(ElementType::F32, 3, 8)),
        (VectorStep::Split, shape(ElementType::F32, 12, 4)),
        (VectorStep::Trim, shape(ElementType::F32, 6, 4)),
        (VectorStep::FpToFxp { int_width: 31 }, shape(ElementType::I32, 6, 8)),
        (VectorStep::Stash, floats),
        (VectorStep::Reinterpret, shape(ElementType::I32, 6, 8)),
        (taking(BinaryArgMode::Mode01), floats),
        (across(), shape(ElementType::F32, 3, 8)),
    ] {
        assert_eq!(step.shape(floats), behind, "{step}");
    }
    let integers = shape(ElementType::I32, 6, 4);
    for (step, behind) in [
        (VectorStep::FxpToFp { int_width: 31 }, shape(ElementType::F32, 6, 4)),
        (VectorStep::Concat, shape(ElementType::I32, 3, 8)),
        (VectorStep::Pad, shape(ElementType::I32, 6, 8)),
        (VectorStep::Stash, integers),
        (VectorStep::Reinterpret, shape(ElementType::F32, 6, 4)),
    ] {
        assert_eq!(step.shape(integers), behind, "{step}");
    }
    let both = of([VectorStep::Split, VectorStep::Stash, VectorStep::Concat]);
    assert!(both.shapes(floats).map(|shape| (shape.time, shape.lanes)).eq([
        (6, 8),
        (12, 4),
        (12, 4),
        (6, 8)
    ]));
}

/// The number of packets includes both groups.
#[test]
fn packets_of_groups_are_those_of_both() {
    let zip = VectorStep::Zip { op: BinaryOperator::Fp(FpBinaryOp::AddF), mode: BinaryArgMode::Mode01 };
    let before = StreamShape { element: ElementType::F32, time: 6, lanes: 8 };
    let groups =
        of([VectorStep::Unzip { step: 8 }, VectorStep::Split, VectorStep::Stash, zip, VectorStep::Stash]);
    assert!(groups.packets(before).eq([6, 12, 12, 12, 6]));
    let narrow = of([VectorStep::Split, VectorStep::Concat, across(), VectorStep::Stash]);
    assert!(narrow.packets(before).eq([12, 12, 6, 3]));
}

#[test]
fn units_are_free_again_behind_an_exchange() {
    let [max, sum] = [taking(BinaryArgMode::Mode01), multiply_add(TernaryArgMode::Mode012)];
    let all = [RngdAlu::ClipMax, RngdAlu::FpFma];
    assert!(of([max.clone(), sum.clone()]).used().eq(all));
    let behind = of([max.clone(), across(), sum.clone()]);
    assert!(behind.used().eq([RngdAlu::FpFma]) && behind.alus().eq(all));
    assert_eq!(behind.inter_slice().map(|reduce| reduce.group), Some(8));
    assert!(of([max.clone(), sum]).inter_slice().is_none());
    assert!(of([max.clone(), across()]).used().next().is_none());
    assert!(of([across(), max, across()]).used().next().is_none());
    for step in [taking(BinaryArgMode::Mode00), VectorStep::Unzip { step: 8 }, across()] {
        assert!(of([VectorStep::Stash, step]).computes());
    }
    let toggle = List::new(crate::mapping::GuardDigit { variable: 0, base: 1, extent: 1, weight: 1 });
    for branch in [Branch::Unconditional, Branch::AxisToggle { digits: toggle }] {
        assert!(!of([VectorStep::Branch(branch), VectorStep::Trim, VectorStep::Pad]).computes());
    }
    let never = Branch::Comparison([InputCmp::F32(InputCmpF32::False); 4]);
    assert!(of([VectorStep::Branch(never)]).computes(), "it looks at the elements");
}

/// Tensors are operands if the mode has the argument.
#[test]
fn operands_are_taken_by_mode() {
    let addresses = |step| of([step]).operands().map(|operand| operand.source.address).collect::<Vec<_>>();
    for mode in BinaryArgMode::ALL {
        let taken = if mode == BinaryArgMode::Mode00 { vec![] } else { vec![0, 64] };
        assert_eq!(addresses(taking(mode)), taken, "{mode}");
    }
    for mode in TernaryArgMode::ALL {
        let none = [TernaryArgMode::Mode002, TernaryArgMode::Mode020].contains(&mode);
        assert_eq!(addresses(multiply_add(mode)), if none { vec![] } else { vec![128] }, "{mode}");
    }
    assert!(addresses(VectorStep::Split).is_empty());
    let mut all =
        of([taking(BinaryArgMode::Mode00), multiply_add(TernaryArgMode::Mode012), VectorStep::Stash]);
    all.regions_mut().for_each(|region| region.address += 1);
    let moved: Vec<_> = all.regions_mut().map(|region| region.address).collect();
    assert_eq!(moved, [1, 65, 129], "all that it names have a place");
}

/// The kept elements are six times the widest stream, plus the elements of all operands.
#[test]
fn what_is_kept_is_counted() {
    let before = StreamShape { element: ElementType::F32, time: 10, lanes: 8 };
    assert_eq!(of([]).kept(before), 6 * 80);
    let program =
        of([VectorStep::Trim, taking(BinaryArgMode::Mode01), multiply_add(TernaryArgMode::Mode012)]);
    assert_eq!(program.kept(before), 6 * 80 + (3 + 5 + 7) + 2);
    let padded = of([VectorStep::Trim, VectorStep::Pad]);
    assert_eq!(padded.kept(StreamShape { lanes: 4, ..before }), 6 * 80);
    let mut nested = loops(3);
    let inner = nested.loops.at(0);
    nested.loops.push(inner);
    let stash = BinaryInput { ids: GroupId::One.into(), source: OperandSource::Stash(Box::new(nested)) };
    let op = BinaryOperator::Fxp(FxpBinaryOp::AddFxp);
    let step = VectorStep::Binary { op, mode: BinaryArgMode::Mode01, operands: vec![stash] };
    assert_eq!(of([step]).kept(before), 6 * 80 + 9);
}

/// Each outgoing step waits for the last step that it depends on.
#[test]
fn steps_wait_for_what_they_are_made_of() {
    let before = |time| StreamShape { element: ElementType::F32, time, lanes: 8 };
    let last = |steps: Vec<VectorStep>, time| of(steps).last_inputs(before(time), |step| 10 * step + 1);
    assert_eq!(last(vec![VectorStep::Trim], 3), [1, 11, 21]);
    assert_eq!(last(vec![VectorStep::Trim, VectorStep::Pad], 3), [1, 11, 21]);
    assert_eq!(last(vec![VectorStep::Split], 2), [1, 1, 11, 11]);
    assert_eq!(last(vec![VectorStep::Split, VectorStep::Concat], 2), [1, 11]);
    // Pairs are steps 0 and 1, 2 and 3; or 0 and 2, 1 and 3.
    assert_eq!(last(vec![VectorStep::Unzip { step: 8 }], 4), [11, 31]);
    assert_eq!(last(vec![VectorStep::Unzip { step: 16 }], 4), [21, 31]);
    assert_eq!(last(vec![VectorStep::Unzip { step: 16 }], 8), [21, 31, 61, 71]);
    // Sums leave after all slices have delivered.
    assert_eq!(last(vec![across()], 4), [31; 3]);
    // The order of numbers does not matter.
    assert_eq!(of([across()]).last_inputs(before(4), |step| 40 - 10 * step), [40; 3]);
    assert_eq!(
        of([VectorStep::Concat]).last_inputs(StreamShape { lanes: 4, ..before(4) }, |k| [7, 3, 1, 5][k]),
        [7, 5]
    );
}
