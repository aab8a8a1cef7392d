//! Tests of the rules for vector programs: programs without a meaning, one per rule, and similar ones that have one.

use super::*;
use crate::{CheckOptions, ChipOptions, Chips};
use core::panic::Location;
use furiosa_visa_rules::command::{
    BinaryArgMode, BinaryOperator, ClipBinaryOpF32, Command, Fetch, FillId, Footprint, FpBinaryOp,
    FpDivBinaryOp, FpMulAlu, FpTernaryOp, FpUnaryOp, FxpBinaryOp, GroupId, InputCmpI32, KeptLoop, Operation,
    ReduceOperator, ReducedLoop, Region, Sink, Step, TensorUnit, TernaryArgMode, TransferLoop,
    ValidBranchIds, VrfOperand,
};
use furiosa_visa_rules::list::List;
use furiosa_visa_rules::mapping::{Guard, GuardDigit};
use furiosa_visa_rules::sequencer::{Config, Entry};

fn region(memory: Memory, element: ElementType, elements: usize) -> Region {
    let guard = Guard::always(4);
    let footprint = Footprint { element, chips: 1, clusters: 2, slices: 256, elements, guard };
    Region::whole(memory, 0, FillId::ANY, footprint)
}

fn config() -> Config {
    let mut config = Config::new(8);
    [(4, 8), (8, 1)].into_iter().for_each(|(size, stride)| config.entries.push(Entry { size, stride }));
    config
}

/// Outcome of a pass of four flits with these steps. Rules that have a switch are off.
#[track_caller]
fn outcome_of(element: ElementType, steps: &[VectorStep]) -> Result<(), String> {
    let fetch = Fetch::new(region(Memory::Dm, element, 32), config(), 4, 8, element);
    let mut vector = Vector::new(element, Guard::always(5));
    vector.steps.extend_from_slice(steps);
    let behind = vector.shape(StreamShape { element, time: 4, lanes: 8 });
    let mut loops = Config::new(8);
    loops.entries.push(Entry { size: behind.time, stride: 8 });
    loops.entries.push(Entry { size: 8, stride: 1 });
    let sink = Sink::Commit {
        destination: Region { address: 4096, ..region(Memory::Dm, behind.element, 8 * behind.time.max(1)) },
        config: loops,
        commit_size: 8,
        guard: Guard::always(5),
    };
    let unit = TensorUnit { vector: Some(vector), ..TensorUnit::new(fetch, sink) };
    let command = Command { operation: Operation::TensorUnit(Box::new(unit)), location: Location::caller() };
    let mut system = Chips::new(ChipOptions { checks: CheckOptions::NONE, ..ChipOptions::default() });
    system.execute(&command).map(drop).map_err(|fault| fault.to_string())
}

#[track_caller]
fn refused(element: ElementType, steps: &[VectorStep], part: &str) {
    let text = outcome_of(element, steps).expect_err("it is refused");
    assert!(text.contains(part) && text.contains("fault: vector: ") && text.contains("\nhelp: "), "{text}");
}

#[track_caller]
fn accepted(element: ElementType, steps: &[VectorStep]) {
    assert_eq!(outcome_of(element, steps), Ok(()));
}

fn constant(bits: u32) -> BinaryInput {
    BinaryInput { ids: ValidBranchIds::ValidAlways, source: OperandSource::Constant(bits) }
}

fn binary(op: BinaryOperator) -> VectorStep {
    VectorStep::Binary { op, mode: BinaryArgMode::Mode01, operands: vec![constant(0)] }
}

const ADD: BinaryOperator = BinaryOperator::ClipF32(ClipBinaryOpF32::Add);
const MAX: BinaryOperator = BinaryOperator::ClipF32(ClipBinaryOpF32::Max);
const EXP: VectorStep = VectorStep::Unary { op: FpUnaryOp::Exp, ids: ValidBranchIds::ValidAlways };
use ElementType::{F32, I8, I32};
use VectorStep::{Concat, Pad, Split, Stash, Trim};

#[test]
fn steps_in_their_places() {
    accepted(F32, &[]);
    accepted(F32, &[Split, EXP, Concat, binary(ADD), binary(MAX)]);
    accepted(F32, &[Trim, EXP, Pad]);
    accepted(
        I32,
        &[VectorStep::FxpToFp { int_width: 31 }, Split, EXP, Concat, VectorStep::FpToFxp { int_width: 0 }],
    );
    accepted(I32, &[VectorStep::Reinterpret, Split, EXP, VectorStep::Reinterpret, Concat]);
    refused(F32, &[VectorStep::Reinterpret, Split, EXP, Concat], "is to work on packets of 4 i32");
    refused(F32, &[VectorStep::Reinterpret, binary(ADD)], "is to work on packets of 8 i32");
    refused(I8, &[], "packets of 32 i8 are no flits of 8 i32 or f32");
    refused(F32, &[EXP], "`FpUnaryOp::Exp` is to work on packets of 8 f32");
    refused(I32, &[binary(ADD)], "is to work on packets of 8 i32");
    refused(F32, &[Split, binary(ADD), Concat], "is to work on packets of 4 f32");
    refused(F32, &[Split], "packets of 4 lanes leave");
    refused(F32, &[Split, Split], "`split` is to work on packets of 4");
    refused(F32, &[Concat], "`concat` is to work on packets of 8");
    refused(F32, &[binary(ADD), binary(ADD)], "ClipAdd is used twice");
    refused(F32, &[Stash, Stash], "stashed twice");
    accepted(F32, &[VectorStep::FpToFxp { int_width: 31 }]);
    refused(F32, &[VectorStep::FpToFxp { int_width: 32 }], "no binary point behind 32 bits");
    refused(I32, &[VectorStep::FxpToFp { int_width: 32 }], "no binary point behind 32 bits");
    let branch = VectorStep::Branch(Branch::Unconditional);
    refused(F32, &[branch.clone(), branch.clone()], "execution ids twice");
    refused(F32, &[Split, branch, Concat], "is to work on packets of 4 f32");
    refused(
        F32,
        &[VectorStep::Branch(Branch::Comparison([InputCmp::I32(InputCmpI32::True); 4]))],
        "is to be compared with i32",
    );
    let masked = BinaryOperator::Fp(FpBinaryOp::MaskMulF(FpMulAlu::Mul0));
    refused(F32, &[Split, binary(masked), Concat], "or no meaning");
    let operands = |count| VectorStep::Binary {
        op: ADD,
        mode: BinaryArgMode::Mode01,
        operands: vec![constant(0); count],
    };
    accepted(F32, &[operands(5)]);
    refused(F32, &[operands(6)], "has 6 operands");
    let ternary = |op, count| {
        let BinaryInput { ids, source } = constant(0);
        let operands = vec![TernaryInput { ids, source, constant: 1.0 }; count];
        VectorStep::Ternary { op, mode: TernaryArgMode::Mode012, operands }
    };
    accepted(F32, &[Split, ternary(FpTernaryOp::FmaF, 5), Concat]);
    refused(F32, &[Split, ternary(FpTernaryOp::FmaF, 6), Concat], "has 6 operands");
    refused(F32, &[Split, ternary(FpTernaryOp::MaskFmaF, 1), Concat], "or no meaning");
    refused(F32, &[ternary(FpTernaryOp::FmaF, 1)], "is to work on packets of 8 f32");
}

#[test]
fn axes_of_groups_have_digits() {
    let toggle = |change: fn(&mut GuardDigit)| {
        let mut digit = GuardDigit { variable: 4, base: 1, extent: 2, weight: 1 };
        change(&mut digit);
        let mut digits = List::new(digit);
        digits.push(digit);
        [VectorStep::Branch(Branch::AxisToggle { digits })]
    };
    accepted(F32, &toggle(|_| {}));
    accepted(F32, &toggle(|digit| digit.weight = MOST_IN_SLICE as usize - 1));
    let changes: [fn(&mut GuardDigit); 5] = [
        |digit| digit.variable = 5,
        |digit| digit.base = 0,
        |digit| digit.extent = 0,
        |digit| digit.weight = MOST_IN_SLICE as usize,
        |digit| (digit.extent, digit.weight) = (MOST as usize, 1),
    ];
    changes
        .into_iter()
        .for_each(|change| refused(F32, &toggle(change), "an axis has a digit without a meaning"));
}

#[test]
fn operands_in_their_slice() {
    let step = |units, elements| Step { units, elements };
    let transfer = |source: Step| {
        let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
        transfer.loops.push(TransferLoop { size: 32, source, destination: step(0, 1) });
        transfer
    };
    let with = |source: OperandSource| VectorStep::Binary {
        op: ADD,
        mode: BinaryArgMode::Mode01,
        operands: vec![BinaryInput { ids: ValidBranchIds::ValidGroup { id: GroupId::Zero }, source }],
    };
    let vrf = |memory, element, source| {
        let operand = VrfOperand { source: region(memory, element, 32), transfer: transfer(source) };
        with(OperandSource::Vrf(Box::new(operand)))
    };
    accepted(F32, &[vrf(Memory::Vrf, F32, step(0, 1))]);
    refused(F32, &[vrf(Memory::Vrf, I32, step(0, 1))], "meets an operand of i32");
    refused(F32, &[vrf(Memory::Dm, F32, step(0, 1))], "an operand lies in DM");
    refused(F32, &[vrf(Memory::Vrf, F32, step(1, 0))], "go to another slice");
    let stash = || with(OperandSource::Stash(Box::new(transfer(step(0, 1)))));
    accepted(F32, &[Stash, stash()]);
    refused(F32, &[stash()], "nothing was stashed");
}

#[test]
fn reduces_inside_their_streams() {
    let reduce = |change: fn(&mut IntraSliceReduce)| {
        let mut kept = List::new(KeptLoop { size: 1, input: 0, output: 0 });
        kept.push(KeptLoop { size: 8, input: 1, output: 1 });
        let mut reduced = List::new(ReducedLoop { size: 1, input: 0 });
        reduced.push(ReducedLoop { size: 4, input: 8 });
        let (op, guard) = (ReduceOperator::AddF32, Guard::always(5));
        let mut reduce = IntraSliceReduce { op, guard, kept, reduced, time: 2, slots: 2 };
        change(&mut reduce);
        [Split, VectorStep::IntraSliceReduce(Box::new(reduce)), Concat]
    };
    accepted(F32, &reduce(|_| {}));
    accepted(F32, &reduce(|reduce| reduce.slots = 8));
    refused(F32, &reduce(|reduce| reduce.slots = 9), "keeps 9 sums at once");
    refused(F32, &reduce(|reduce| reduce.reduced.set(0, ReducedLoop { size: 5, input: 6 })), "takes 40");
    refused(
        F32,
        &reduce(|reduce| reduce.reduced.set(0, ReducedLoop { size: 4, input: 9 })),
        "takes position 34",
    );
    refused(
        F32,
        &reduce(|reduce| reduce.kept.set(0, KeptLoop { size: 8, input: 1, output: 2 })),
        "makes position 14",
    );
    refused(
        F32,
        &reduce(|reduce| reduce.guard = Guard::always(4)),
        "a guard over 4 variables is asked about 5",
    );
    refused(F32, &reduce(|reduce| reduce.op = ReduceOperator::MaxI32), "is to work on packets of 4 f32");
    // One time step of four lanes is half a flit.
    let half = reduce(|reduce| {
        reduce.kept.set(0, KeptLoop { size: 4, input: 1, output: 1 });
        reduce.time = 1;
    });
    refused(F32, &half, "1 halves of flits are no pairs");
    accepted(F32, &[half[0].clone(), half[1].clone(), Pad]);
}

#[test]
fn two_groups_become_one() {
    let (unzip, zip) =
        (VectorStep::Unzip { step: 8 }, VectorStep::Zip { op: ADD, mode: BinaryArgMode::Mode01 });
    accepted(F32, &[unzip.clone(), binary(MAX), zip.clone()]);
    accepted(F32, &[VectorStep::Unzip { step: 16 }, Split, Concat, zip.clone()]);
    refused(F32, std::slice::from_ref(&unzip), "two groups leave");
    refused(F32, std::slice::from_ref(&zip), "is to make one of two groups");
    for step in [0, 4, 32, usize::MAX] {
        refused(F32, &[VectorStep::Unzip { step }, zip.clone()], "are to become pairs");
    }
    let pairs = "32 positions are to become pairs, 8 positions apart";
    refused(F32, &[Stash, unzip.clone(), zip.clone()], pairs);
    refused(F32, &[VectorStep::Branch(Branch::Unconditional), unzip.clone(), zip.clone()], pairs);
    let zip_of = |op| VectorStep::Zip { op, mode: BinaryArgMode::Mode01 };
    for op in
        [BinaryOperator::FpDiv(FpDivBinaryOp::DivF), BinaryOperator::Fp(FpBinaryOp::MaskMulF(FpMulAlu::Mul0))]
    {
        refused(F32, &[unzip.clone(), Split, zip_of(op), Concat], "is to make one of two groups");
    }
    accepted(F32, &[unzip.clone(), Split, zip_of(BinaryOperator::Fp(FpBinaryOp::AddF)), Concat]);
    let mut reduced = List::new(ReducedLoop { size: 1, input: 0 });
    reduced.push(ReducedLoop { size: 2, input: 8 });
    let (op, guard) = (ReduceOperator::AddF32, Guard::always(5));
    let kept = List::new(KeptLoop { size: 1, input: 0, output: 0 });
    let reduce = IntraSliceReduce { op, guard, kept, reduced, time: 1, slots: 1 };
    let reduce = VectorStep::IntraSliceReduce(Box::new(reduce));
    refused(F32, &[unzip.clone(), Split, reduce, Concat, zip.clone()], "is to work on two groups");
    refused(F32, &[unzip.clone(), Stash, zip.clone()], "`stash` is to work on two groups");
    refused(F32, &[unzip, Trim, Pad, zip], "`trim_way4` is to work on two groups");
    let fxp = BinaryOperator::Fxp(FxpBinaryOp::AddFxp);
    refused(F32, &[VectorStep::Branch(Branch::Unconditional), binary(fxp)], "is to work on packets of 8 f32");
}

#[test]
fn groups_of_slices_inside_a_cluster() {
    let step = |units, elements| Step { units, elements };
    let reduce = |change: fn(&mut InterSliceReduce)| {
        let mut kept = List::new(MovedLoop { size: 1, input: step(0, 0), output: step(0, 0) });
        kept.push(MovedLoop { size: 32, input: step(0, 1), output: step(0, 1) });
        kept.push(MovedLoop { size: 32, input: step(8, 0), output: step(8, 0) });
        let mut reduced = List::new(SliceLoop { size: 1, units: 0, axis: 0 });
        reduced.push(SliceLoop { size: 8, units: 1, axis: 0 });
        let mut repeated = List::new(RepeatedLoop { size: 1, units: 0 });
        repeated.push(RepeatedLoop { size: 8, units: 1 });
        let (op, guard) = (ReduceOperator::AddF32, Guard::always(5));
        let mut reduce = InterSliceReduce { op, guard, kept, reduced, repeated, group: 8, time: 4 };
        change(&mut reduce);
        VectorStep::InterSliceReduce(Box::new(reduce))
    };
    accepted(F32, &[reduce(|_| {})]);
    // The units can be used again after it.
    accepted(F32, &[binary(ADD), reduce(|_| {}), binary(ADD)]);
    refused(F32, &[reduce(|_| {}), reduce(|_| {})], "slices are reduced twice");
    refused(
        F32,
        &[
            Stash,
            reduce(|_| {}),
            VectorStep::Binary {
                op: ADD,
                mode: BinaryArgMode::Mode01,
                operands: vec![BinaryInput {
                    ids: ValidBranchIds::ValidAlways,
                    source: OperandSource::Stash(Box::default()),
                }],
            },
        ],
        "nothing was stashed",
    );
    refused(
        F32,
        &[reduce(|reduce| reduce.reduced.set(0, SliceLoop { size: 9, units: 1, axis: 0 }))],
        "a reduce of 288 slices",
    );
    refused(
        F32,
        &[reduce(|reduce| reduce.reduced.set(0, SliceLoop { size: 8, units: 2, axis: 0 }))],
        "of slice 262",
    );
    refused(
        F32,
        &[reduce(|reduce| reduce.reduced.set(0, SliceLoop { size: 8, units: 1, axis: 24 }))],
        "a reduce over axis 24",
    );
    refused(
        F32,
        &[reduce(|reduce| reduce.repeated.set(0, RepeatedLoop { size: 9, units: 1 }))],
        "of slice 256",
    );
    refused(
        F32,
        &[reduce(|reduce| {
            let first = reduce.kept.at(1);
            reduce.kept.set(1, MovedLoop { output: Step { units: 0, elements: 8 }, ..first });
        })],
        "from slices to time",
    );
    refused(I32, &[reduce(|_| {})], "is to work on packets of 8 i32");
    // Time takes the place of the reduced slices: four steps go to four slices of each group, at most to all slices of
    // a cluster.
    fn moved(reduce: &mut InterSliceReduce, size: usize, input: usize, output: usize) {
        let at = |elements| Step { units: 0, elements };
        reduce.kept.set(0, MovedLoop { size, input: at(input), output: at(output) });
    }
    fn promoted(reduce: &mut InterSliceReduce, size: usize) {
        moved(reduce, 8, 1, 1);
        let [input, output] = [Step { units: 0, elements: 8 }, Step { units: 1, elements: 0 }];
        reduce.kept.push(MovedLoop { size, input, output });
        reduce.repeated.set(0, RepeatedLoop { size: 1, units: 0 });
        reduce.time = 1;
    }
    accepted(F32, &[reduce(|reduce| promoted(reduce, 4))]);
    refused(F32, &[reduce(|reduce| promoted(reduce, 5))], "takes 40 of 32 positions");
    refused(F32, &[reduce(|reduce| moved(reduce, 33, 1, 1))], "takes 33 of 32 positions");
    refused(F32, &[reduce(|reduce| moved(reduce, 32, 2, 1))], "takes position 62 of 32 of slice 255");
    refused(F32, &[reduce(|reduce| moved(reduce, 32, 1, 2))], "makes position 62 of 32 of slice 255");
    refused(F32, &[reduce(|reduce| moved(reduce, 0, 1, 1))], "takes 0 of 32 positions");
    accepted(F32, &[reduce(|reduce| reduce.repeated.set(0, RepeatedLoop { size: 256, units: 0 }))]);
    let many = reduce(|reduce| reduce.repeated.set(0, RepeatedLoop { size: 257, units: 0 }));
    refused(F32, &[many], "a reduce of 256 slices takes 32");
}
