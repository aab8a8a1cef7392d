//! The rules of the specification: what is refused, at which step and why.

use super::documented::real;
use super::documented::*;
use reference::numbers::Number;
use reference::vector::chain::*;
use reference::vector::exact::Function;
use reference::vector::operators::*;
use reference::vector::rules::Rule;

#[test]
fn refusals_by_the_types() {
    let shape = ["1", "W", "L"];
    let narrow = || split("W, L / 4", "L % 4");
    let wide = || concat("W", "L");
    let stash = || Step::Stash;
    let pair = || unzip("W, 1 # 2", "W");
    let single = |kind: Kind, steps: Vec<Step>| refused_at(&chain(kind, shape, steps));
    let double = |kind: Kind, steps: Vec<Step>| refused_at(&chain(kind, ["1", "W, I", "L"], steps));
    assert_eq!(single(Kind::F32, vec![plain(), step(MUL0, real(1.0))]), Some((1, Rule::Way)));
    assert_eq!(
        single(Kind::I32, vec![plain(), narrow(), step(Binary::Fxp(Fxp::AddFxp), int(1))]),
        Some((2, Rule::Way))
    );
    let fxp = step(Binary::Fxp(Fxp::AddFxp), int(1));
    assert_eq!(single(Kind::I32, vec![plain(), narrow(), wide(), fxp.clone()]), Some((3, Rule::Stage)));
    assert_eq!(single(Kind::F32, vec![plain(), fxp]), Some((1, Rule::Scalar)));
    assert_eq!(single(Kind::F32, vec![plain(), narrow()]), Some((2, Rule::Way)));
    assert_eq!(single(Kind::F32, vec![plain(), narrow(), wide(), narrow()]), Some((3, Rule::Stage)));
    assert_eq!(single(Kind::I32, vec![plain(), stash(), stash()]), Some((2, Rule::SecondStash)));
    assert_eq!(single(Kind::I32, vec![plain(), Step::FxpToFp(31), stash()]), Some((2, Rule::NotStashable)));
    assert_eq!(single(Kind::I32, vec![]), Some((0, Rule::Stage)));
    assert_eq!(single(Kind::I32, vec![step(MAX_I32, int(1))]), Some((0, Rule::Stage)));
    assert_eq!(single(Kind::I32, vec![plain(), plain()]), Some((1, Rule::Stage)));
    assert_eq!(double(Kind::I32, vec![pair()]), Some((1, Rule::Context)));
    assert_eq!(double(Kind::I32, vec![pair(), stash()]), Some((1, Rule::Context)));
    let zip = || Step::Zip { op: Binary::ClipI32(ClipI32::Max), mode: BinaryMode::Mode01 };
    assert_eq!(double(Kind::I32, vec![pair(), zip()]), None);
    assert_eq!(double(Kind::I32, vec![pair(), zip(), stash()]), Some((2, Rule::Context)));
    assert_eq!(double(Kind::I32, vec![pair(), zip(), zip()]), Some((2, Rule::Context)));
    let trim = Step::TrimWay4 { packet: map("L % 4") };
    assert_eq!(double(Kind::I32, vec![pair(), trim]), Some((1, Rule::Context)));
    let sum = || reduce("W", IntraOp::I32AddSat, "L / 4", "L % 4");
    assert_eq!(double(Kind::I32, vec![pair(), narrow(), sum()]), Some((2, Rule::Context)));
    assert_eq!(single(Kind::I32, vec![plain(), narrow(), sum(), sum()]), Some((3, Rule::Stage)));
    let inter = |slice: &str| Step::InterReduce { op: InterOp::I32Add, slice: map(slice), time: map("W") };
    let reduced = |steps: Vec<Step>| refused_at(&chain(Kind::I32, ["J", "W", "L"], steps));
    assert_eq!(reduced(vec![plain(), narrow(), inter("X")]), Some((2, Rule::Way)));
    assert_eq!(reduced(vec![plain(), inter("X")]), None);
    assert_eq!(reduced(vec![inter("X"), inter("X")]), Some((1, Rule::Stage)));
    for packet in ["L % 4", "L, X"] {
        assert_eq!(
            refused_at(&chain(Kind::I32, ["J", "W", packet], vec![plain()])),
            Some((0, Rule::EntryPacket))
        );
        assert_eq!(
            refused_at(&chain(Kind::I32, ["J", "W", packet], vec![inter("X")])),
            Some((0, Rule::EntryPacket))
        );
    }
}

/// Each unit once, whatever the operators; a new part begins with none used.
#[test]
fn units_are_used_once() {
    let twice = |first: Step, second: Step| {
        refused_at(&chain(Kind::I32, ["J", "W", "L"], vec![plain(), first, second]))
    };
    let fxp = |op: Fxp| step(Binary::Fxp(op), int(1));
    let used = |alu: Alu| Some((2, Rule::AluUsed(alu)));
    assert_eq!(twice(fxp(Fxp::AddFxp), fxp(Fxp::SubFxpSat)), used(Alu::FxpAdd));
    assert_eq!(twice(fxp(Fxp::MulFxp), fxp(Fxp::MulInt)), used(Alu::FxpMul));
    assert_eq!(twice(fxp(Fxp::MulFxp), fxp(Fxp::AddFxp)), None);
    let abs = step(Binary::ClipI32(ClipI32::AbsMax), int(1));
    assert_eq!(twice(step(MAX_I32, int(1)), abs.clone()), used(Alu::ClipMax));
    let never = Operand { condition: Condition::Group(1), ..Operand::always(int(1)) };
    let never = Step::Binary { op: MAX_I32, mode: BinaryMode::Mode01, operands: Operands::One(never) };
    assert_eq!(twice(never, abs.clone()), used(Alu::ClipMax));
    let inter = Step::InterReduce { op: InterOp::I32Max, slice: map("X"), time: map("W") };
    let mut fresh = chain(Kind::I32, ["J", "W", "L"], vec![inter, plain(), abs]);
    assert_eq!(rule(&fresh), None);
    // A pair that skips both groups uses nothing, one that skips one of them does.
    let groups =
        |groups| Step::Binary { op: MAX_I32, mode: BinaryMode::Mode01, operands: Operands::Groups(groups) };
    let operand = Some(Operand::always(int(1)));
    let zip = Step::Zip { op: MAX_I32, mode: BinaryMode::Mode01 };
    fresh = chain(Kind::I32, ["J", "W, I", "L"], vec![unzip("W, 1 # 2", "W"), groups([None; 2]), zip]);
    assert_eq!(rule(&fresh), None);
    fresh.steps[1] = groups([operand, None]);
    assert_eq!(refused_at(&fresh), used(Alu::ClipMax));
    let fp = |step: Step| {
        let steps = vec![plain(), split("W, L / 4", "L % 4"), unary(Function::Sin), step, concat("W", "L")];
        rule(&chain(Kind::F32, ["J", "W", "L"], steps))
    };
    assert_eq!(fp(step(Binary::Fp(FpBinary::DivF), real(2.0))), Some(Rule::AluUsed(Alu::FpFpu)));
    assert_eq!(fp(unary(Function::Erf)), Some(Rule::AluUsed(Alu::FpFpu)));
    assert_eq!(fp(unary(Function::NegExp)), None);
}

#[test]
fn refusals_of_a_stash() {
    let narrow = || split("W, L / 4", "L % 4");
    let of = |kind: Kind, steps: Vec<Step>| refused_at(&chain(kind, ["1", "W", "L"], steps));
    let clip = step(Binary::ClipF32(ClipF32::Add), Source::Stash);
    assert_eq!(of(Kind::F32, vec![plain(), clip.clone()]), Some((1, Rule::StashMissing)));
    assert_eq!(
        of(Kind::I32, vec![plain(), Step::Stash, Step::FxpToFp(31), clip.clone()]),
        Some((3, Rule::StashScalar))
    );
    // An empty stash may be filled after a conversion.
    assert_eq!(
        of(Kind::I32, vec![plain(), Step::FxpToFp(31), narrow(), Step::Stash, concat("W", "L"), clip]),
        None
    );
    let sum = reduce("W", IntraOp::F32Add, "L / 4", "L % 4");
    let div = step(Binary::FpDiv, Source::Stash);
    assert_eq!(of(Kind::F32, vec![plain(), Step::Stash, narrow(), sum, div]), Some((4, Rule::OperandAxes)));
}

#[test]
fn refusals_by_values() {
    let of = |steps: Vec<Step>| refused_at(&chain(Kind::I32, ["Q", "W", "L"], steps));
    assert_eq!(of(vec![plain(), Step::FxpToFp(31)]), None);
    assert_eq!(of(vec![plain(), Step::FxpToFp(32)]), Some((1, Rule::IntWidth)));
    assert_eq!(of(vec![plain(), Step::FxpToFp(0), Step::FpToFxp(32)]), Some((2, Rule::IntWidth)));
    let list = |count: usize, array: bool| {
        let list = vec![Operand::always(int(1)); count];
        let operands = if array { Operands::Array(list) } else { Operands::ArrayVec(list) };
        of(vec![plain(), Step::Binary { op: MAX_I32, mode: BinaryMode::Mode01, operands }])
    };
    assert_eq!(list(1, true), None);
    assert_eq!(list(2, true), Some((1, Rule::ManyAlways)));
    assert_eq!(list(5, false), None);
    assert_eq!(list(6, false), Some((1, Rule::OperandCount)));
    let toggle = |axis: &str| of(vec![Step::Branch(BranchMode::AxisToggle(axis.to_string()))]);
    assert_eq!(["Q", "W", "L"].map(toggle), [None; 3]);
    assert_eq!(toggle("R"), Some((0, Rule::BranchAxis)));
    let compare = |boundary: Number| {
        let one = InputCmp { compare: Compare::True, boundary };
        of(vec![Step::Branch(BranchMode::Comparison([one; 4]))])
    };
    assert_eq!(compare(Number::Integer(0)), None);
    assert_eq!(compare(Number::Real(0.0)), Some((0, Rule::BranchScalar)));
    for mode in [BranchMode::ValidCount, BranchMode::Vrf] {
        assert_eq!(of(vec![Step::Branch(mode)]), Some((0, Rule::NotImplemented)));
    }
    let filter = Step::Filter { time: map("W"), condition: Condition::Group(1) };
    assert_eq!(of(vec![plain(), filter]), Some((1, Rule::NotImplemented)));
    let mode1 = Step::Unary { op: Function::Exp, mode1: true, condition: Condition::Always, groups: None };
    let steps = vec![plain(), split("W, L / 4", "L % 4"), mode1, concat("W", "L")];
    assert_eq!(refused_at(&chain(Kind::F32, ["Q", "W", "L"], steps)), Some((2, Rule::UnaryMode)));
}
