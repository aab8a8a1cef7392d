//! The worked examples and the tables that are documented, as chains.

use reference::mapping::{Coordinates, Map, joint_table};
use reference::numbers::Number;
use reference::random::Axes;
use reference::vector::chain::*;
use reference::vector::elements::to_vrf;
use reference::vector::exact::Function;
use reference::vector::operators::*;
use reference::vector::reduce::Lane;
use reference::vector::rules::{Refusal, Rule};
use reference::vector::run::{Snapshot, judge, run};

const AXES: &[(&str, usize)] =
    &[("U", 48), ("Q", 2), ("W", 3), ("L", 8), ("I", 2), ("V", 3), ("R", 5), ("G", 2), ("J", 2), ("X", 2)];

pub fn map(text: &str) -> Map {
    Map::parse(text, AXES)
}

pub fn int(value: i32) -> Source {
    Source::Constant(Number::Integer(value))
}

pub fn real(value: f32) -> Source {
    Source::Constant(Number::Real(value))
}

pub fn chain(kind: Kind, [slice, time, packet]: [&str; 3], steps: Vec<Step>) -> Chain {
    let axes: Axes = AXES.iter().map(|(name, size)| (name.to_string(), *size)).collect();
    let shape = Shape { slice: map(slice), time: map(time), packet: map(packet) };
    Chain { axes, kind, shape, vrf: Vec::new(), steps }
}

pub fn with_vrf(mut chain: Chain, slice: &str, element: &str) -> Chain {
    chain.vrf.push(VrfTensor { kind: chain.kind, slice: map(slice), element: map(element) });
    chain
}

pub fn plain() -> Step {
    Step::Branch(BranchMode::Unconditional)
}

pub fn step(op: Binary, source: Source) -> Step {
    mode(op, BinaryMode::Mode01, source)
}

pub fn mode(op: Binary, mode: BinaryMode, source: Source) -> Step {
    Step::Binary { op, mode, operands: Operands::One(Operand::always(source)) }
}

pub fn unary(op: Function) -> Step {
    Step::Unary { op, mode1: false, condition: Condition::Always, groups: None }
}

pub fn split(time: &str, packet: &str) -> Step {
    Step::Split { time: map(time), packet: map(packet) }
}

pub fn concat(time: &str, packet: &str) -> Step {
    Step::Concat { time: map(time), packet: map(packet) }
}

pub fn reduce(axis: &str, op: IntraOp, time: &str, packet: &str) -> Step {
    Step::IntraReduce { axis: axis.to_string(), op, time: map(time), packet: map(packet) }
}

pub fn unzip(tile: &str, split: &str) -> Step {
    Step::Unzip { axis: "I".to_string(), tile_time: map(tile), split_time: map(split) }
}

pub const MUL0: Binary = Binary::Fp(FpBinary::MulF(Multiplier::Mul0));
pub const MUL1: Binary = Binary::Fp(FpBinary::MulF(Multiplier::Mul1));
pub const MAX_I32: Binary = Binary::ClipI32(ClipI32::Max);
pub const MIN_I32: Binary = Binary::ClipI32(ClipI32::Min);

fn at(index: &Coordinates, axis: &str) -> i32 {
    index.get(axis).map_or(0, |value| *value as i32)
}

/// Integers by coordinates.
fn integers(dims: &[&Map], value: impl Fn(&Coordinates) -> i32) -> Vec<Option<Number>> {
    joint_table(dims).iter().map(|index| index.as_ref().map(|index| Number::Integer(value(index)))).collect()
}

fn reals(dims: &[&Map], value: impl Fn(&Coordinates) -> f32) -> Vec<Option<Number>> {
    joint_table(dims).iter().map(|index| index.as_ref().map(|index| Number::Real(value(index)))).collect()
}

fn all(chain: &Chain, stream: Vec<Option<Number>>, vrf: Vec<Vec<Option<Number>>>) -> Vec<Snapshot> {
    let data = Data { stream, vrf };
    run(chain, &data, &Reading::default()).unwrap_or_else(|refusal| panic!("{chain}\n{refusal}"))
}

fn last(chain: &Chain, stream: Vec<Option<Number>>, vrf: Vec<Vec<Option<Number>>>) -> Vec<Lane> {
    all(chain, stream, vrf).pop().expect("a step").groups.remove(0)
}

fn lanes(values: Vec<Option<Number>>) -> Vec<Lane> {
    values.into_iter().map(|value| value.map_or(Lane::Absent, Lane::Is)).collect()
}

pub fn rule(chain: &Chain) -> Option<Rule> {
    judge(chain).err().map(|refusal| refusal.rule)
}

pub fn refused_at(chain: &Chain) -> Option<(usize, Rule)> {
    judge(chain).err().map(|Refusal { step, rule, .. }| (step, rule))
}

/// `y = clamp(3x - b, -500, 500)` with one `b` per lane.
#[test]
fn affine_clamp() {
    let steps = vec![
        plain(),
        step(Binary::Fxp(Fxp::MulInt), int(3)),
        step(Binary::Fxp(Fxp::SubFxp), Source::Vrf(0)),
        step(MAX_I32, int(-500)),
        step(MIN_I32, int(500)),
    ];
    let chain = with_vrf(chain(Kind::I32, ["U / 24", "U / 8 % 3", "U % 8"], steps), "U / 24", "U % 8");
    let dims = chain.shape.dims();
    let bias = |index: &Coordinates| 100 * (at(index, "U") % 8) + at(index, "U") / 24;
    let vrf = integers(&[&chain.vrf[0].slice, &chain.vrf[0].element], bias);
    let stream = integers(&dims, |index| 17 * at(index, "U") - 300);
    let expected = integers(&dims, |index| {
        let u = at(index, "U");
        (3 * (17 * u - 300) - 100 * (u % 8) - 24 * (u / 24) / 24).clamp(-500, 500)
    });
    assert_eq!(last(&chain, stream, vec![vrf]), lanes(expected));
}

/// The greatest over W of each slice and lane: two accumulators.
#[test]
fn peak() {
    let steps = vec![
        plain(),
        split("W, L / 4", "L % 4"),
        reduce("W", IntraOp::F32Max, "L / 4", "L % 4"),
        concat("1", "L"),
    ];
    let chain = chain(Kind::F32, ["Q", "W", "L"], steps);
    let value = |q: i32, w: i32, l: i32| ((q * 31 + w * 17 + l * 7) % 23) as f32 - 11.5;
    let stream = reals(&chain.shape.dims(), |index| value(at(index, "Q"), at(index, "W"), at(index, "L")));
    let (q, one, l) = (map("Q"), Map::One, map("L"));
    let expected = reals(&[&q, &one, &l], |index| {
        (0..3).map(|w| value(at(index, "Q"), w, at(index, "L"))).fold(f32::NEG_INFINITY, f32::max)
    });
    assert_eq!(last(&chain, stream, vec![]), lanes(expected));
}

/// `sigmoid(group 0) · group 1`, with the axis of the groups anywhere in time.
#[test]
fn gate() {
    for (time, tile) in [("W, I", "W, 1 # 2"), ("I, W", "1 # 2, W")] {
        let steps = vec![
            unzip(tile, "W"),
            split("W, L / 4", "L % 4"),
            Step::Unary {
                op: Function::Sigmoid,
                mode1: false,
                condition: Condition::Always,
                groups: Some([true, false]),
            },
            Step::Zip { op: MUL1, mode: BinaryMode::Mode01 },
            concat("W", "L"),
        ];
        let chain = chain(Kind::F32, ["Q", time, "L"], steps);
        let value = |index: &Coordinates, group: i32| {
            ((at(index, "Q") + 3 * at(index, "W") + 5 * at(index, "L") + 7 * group) % 11) as f32 - 5.0
        };
        let stream = reals(&chain.shape.dims(), |index| value(index, at(index, "I")));
        let (q, w, l) = (map("Q"), map("W"), map("L"));
        let expected = reals(&[&q, &w, &l], |index| {
            let sigmoid = 1.0 / (1.0 + (-f64::from(value(index, 0))).exp());
            sigmoid as f32 * value(index, 1)
        });
        assert_eq!(last(&chain, stream, vec![]), lanes(expected), "{time}");
    }
}

/// Root mean square, first pass: squares by `Mode00`, a sum, a mean, and a constant in the clip stage.
#[test]
fn mean_of_squares() {
    let steps = vec![
        plain(),
        split("U / 8, U / 4 % 2", "U % 4"),
        mode(MUL0, BinaryMode::Mode00, real(f32::NAN)),
        reduce("U", IntraOp::F32Add, "1", "1 # 4"),
        step(Binary::FpDiv, real(48.0)),
        Step::PadWay8 { packet: map("1 # 8") },
        step(Binary::ClipF32(ClipF32::Add), real(0.5)),
    ];
    let chain = chain(Kind::F32, ["1", "U / 8", "U % 8"], steps);
    let stream = reals(&chain.shape.dims(), |index| at(index, "U") as f32 / 4.0 - 3.0);
    let mut sum = 0.0;
    for u in 0..48 {
        let x = u as f32 / 4.0 - 3.0;
        sum = if u == 0 { x * x } else { sum + x * x };
    }
    let mut expected = vec![Lane::Absent; 8];
    expected[0] = Lane::Is(Number::Real(sum / 48.0 + 0.5));
    assert_eq!(last(&chain, stream, vec![]), expected);
}

/// A sum over slices, then a bias: a part within a slice after a reduce between slices.
#[test]
fn sum_over_slices_and_bias() {
    let inter = Step::InterReduce { op: InterOp::I32Add, slice: map("G, 1 # 2"), time: map("W") };
    let steps = vec![inter, plain(), step(Binary::ClipI32(ClipI32::AddFxp), int(1000))];
    let mut chain = chain(Kind::I32, ["G, J", "W", "L"], steps);
    let dims = chain.shape.dims();
    let stream = integers(&dims, |i| 400 * at(i, "G") + 100 * at(i, "J") + 10 * at(i, "W") + at(i, "L"));
    let (slice, w, l) = (map("G, 1 # 2"), map("W"), map("L"));
    let expected =
        integers(&[&slice, &w, &l], |i| 2 * (400 * at(i, "G") + 10 * at(i, "W") + at(i, "L")) + 100 + 1000);
    assert_eq!(last(&chain, stream.clone(), vec![]), lanes(expected));
    // A new axis repeats the sum; the other slices of a dummy hold nothing.
    chain.steps[0] = Step::InterReduce { op: InterOp::I32Add, slice: map("G, X"), time: map("W") };
    let repeated = last(&chain, stream, vec![]);
    assert!(repeated[..24] == repeated[24..48] && repeated.iter().all(|lane| *lane != Lane::Absent));
    // A part within a slice may come first, and not twice; a reduce may not come twice.
    let second = chain.steps[0].clone();
    chain.steps.push(second.clone());
    assert_eq!(refused_at(&chain), Some((3, Rule::VeOrder)));
    chain.steps = vec![plain(), second, plain()];
    assert_eq!(refused_at(&chain), Some((2, Rule::VeOrder)));
    chain.steps.pop();
    assert_eq!(rule(&chain), None);
    chain.steps.push(step(MAX_I32, int(0)));
    assert_eq!(refused_at(&chain), Some((2, Rule::Stage)));
}

/// One flit of 0, 10, …, 70.
fn tens(kind: Kind, steps: Vec<Step>) -> (Chain, Vec<Option<Number>>) {
    let chain = chain(kind, ["1", "1", "L"], steps);
    let dims = chain.shape.dims();
    let stream = match kind {
        Kind::I32 => integers(&dims, |index| 10 * at(index, "L")),
        Kind::F32 => reals(&dims, |index| 10.0 * at(index, "L") as f32),
    };
    (chain, stream)
}

fn whole(lanes: &[Lane]) -> Vec<i32> {
    lanes
        .iter()
        .map(|lane| match lane {
            Lane::Is(Number::Integer(value)) => *value,
            Lane::Is(Number::Real(value)) => *value as i32,
            Lane::Absent => -1,
            Lane::Open => -2,
        })
        .collect()
}

#[test]
fn binary_modes() {
    let sub = Binary::Fxp(Fxp::SubFxp);
    for (which, expected) in [
        (BinaryMode::Mode00, [0; 8]),
        (BinaryMode::Mode01, [-7, 3, 13, 23, 33, 43, 53, 63]),
        (BinaryMode::Mode10, [7, -3, -13, -23, -33, -43, -53, -63]),
        (BinaryMode::Mode11, [0; 8]),
    ] {
        let (chain, mut stream) = tens(Kind::I32, vec![plain(), mode(sub, which, int(7))]);
        assert_eq!(whole(&last(&chain, stream.clone(), vec![])), expected, "{which:?}");
        // An element that nobody wrote: only the operand alone does not ask for it.
        stream[2] = None;
        let absent = last(&chain, stream.clone(), vec![])[2] == Lane::Absent;
        assert_eq!(absent, which != BinaryMode::Mode11);
        // An operand that nobody wrote: only the stream alone does not ask for it.
        let holed = with_vrf(chain.clone(), "1", "L");
        let operands = Operands::One(Operand::always(Source::Vrf(0)));
        let holed = Chain { steps: vec![plain(), Step::Binary { op: sub, mode: which, operands }], ..holed };
        let absent = last(&holed, stream, vec![vec![None; 8]])[3] == Lane::Absent;
        assert_eq!(absent, which != BinaryMode::Mode00);
    }
    // Padding is dropped, whatever is written to it.
    let all_operands =
        chain(Kind::I32, ["1", "1", "V # 8"], vec![plain(), mode(sub, BinaryMode::Mode11, int(7))]);
    assert_eq!(whole(&last(&all_operands, vec![None; 8], vec![])), [0, 0, 0, -1, -1, -1, -1, -1]);
}

#[test]
fn ternary_modes() {
    // Stream 2, operands 3 and 5.
    for (which, expected) in [
        (TernaryMode::Mode012, 2 * 3 + 5),
        (TernaryMode::Mode002, 2 * 2 + 5),
        (TernaryMode::Mode102, 3 * 2 + 5),
        (TernaryMode::Mode112, 3 * 3 + 5),
        (TernaryMode::Mode020, 2 * 5 + 2),
        (TernaryMode::Mode021, 2 * 5 + 3),
        (TernaryMode::Mode120, 3 * 5 + 2),
    ] {
        let operand = Operand { second: Some(5.0), ..Operand::always(real(3.0)) };
        let fma = Step::Ternary { op: FpTernary::FmaF, mode: which, operands: Operands::One(operand) };
        let steps = vec![plain(), split("L / 4", "L % 4"), fma, concat("1", "L")];
        let chain = chain(Kind::F32, ["1", "1", "L"], steps);
        let stream = vec![Some(Number::Real(2.0)); 8];
        assert_eq!(whole(&last(&chain, stream, vec![])), [expected; 8], "{which:?}");
    }
}

#[test]
fn zip_modes() {
    for (which, expected) in
        [(BinaryMode::Mode00, 0), (BinaryMode::Mode01, -3), (BinaryMode::Mode10, 3), (BinaryMode::Mode11, 0)]
    {
        let zip = Step::Zip { op: Binary::Fxp(Fxp::SubFxp), mode: which };
        let chain = chain(Kind::I32, ["1", "I", "L"], vec![unzip("1 # 2", "1"), zip]);
        let mut stream = integers(&chain.shape.dims(), |index| 4 + 3 * at(index, "I"));
        assert_eq!(whole(&last(&chain, stream.clone(), vec![])), [expected; 8], "{which:?}");
        // Both groups must be there, also for a mode that takes one.
        (stream[1], stream[8 + 2]) = (None, None);
        let found = last(&chain, stream, vec![]);
        assert!([found[1], found[2]] == [Lane::Absent; 2] && found[3] != Lane::Absent);
    }
}

/// Ids by an axis and by comparisons; operands for one group; lists.
#[test]
fn branches() {
    let add = |operands: Operands| Step::Binary {
        op: Binary::Fxp(Fxp::AddFxp),
        mode: BinaryMode::Mode01,
        operands,
    };
    let group =
        |group: u8, value: i32| Operand { condition: Condition::Group(group), ..Operand::always(int(value)) };
    let toggle = || Step::Branch(BranchMode::AxisToggle("L".to_string()));
    let result = |branch: Step, operands: Operands| {
        let (chain, stream) = tens(Kind::I32, vec![branch, add(operands)]);
        whole(&last(&chain, stream, vec![]))
    };
    let both = Operands::Array(vec![group(0, 1), group(1, 2)]);
    assert_eq!(result(toggle(), both.clone()), [1, 12, 21, 32, 41, 52, 61, 72]);
    assert_eq!(result(toggle(), Operands::One(group(1, 2))), [0, 12, 20, 32, 40, 52, 60, 72]);
    assert_eq!(result(plain(), both.clone()), [1, 11, 21, 31, 41, 51, 61, 71]);
    assert_eq!(result(toggle(), Operands::Array(vec![])), [0, 10, 20, 30, 40, 50, 60, 70]);
    let compare = |compare: Compare, boundary: i32| InputCmp { compare, boundary: Number::Integer(boundary) };
    let list = [
        compare(Compare::Less, 30),
        compare(Compare::Equal, 50),
        compare(Compare::False, 0),
        compare(Compare::Greater, 40),
    ];
    let (chain, mut stream) = tens(Kind::I32, vec![Step::Branch(BranchMode::Comparison(list)), add(both)]);
    stream[1] = None;
    let snapshots = all(&chain, stream, vec![]);
    let ids: Vec<i32> = snapshots[0].ids[0].iter().map(|id| id.map_or(-1, i32::from)).collect();
    assert_eq!(ids, [1, -1, 1, 0, 0, 10, 8, 8]);
    assert_eq!(whole(&snapshots[1].groups[0]), [1, -1, 21, 31, 41, 52, 62, 72]);
    // Two that match: the first, or both.
    let overlap = Operands::ArrayVec(vec![group(0, 1), Operand::always(int(100)), group(1, 2)]);
    assert_eq!(result(toggle(), overlap.clone()), [1, 110, 21, 130, 41, 150, 61, 170]);
    let (chain, stream) = tens(Kind::I32, vec![toggle(), add(overlap)]);
    let reading = Reading { first_match: false, ..Reading::default() };
    let snapshots = run(&chain, &Data { stream, vrf: vec![] }, &reading).expect("a legal chain");
    assert_eq!(whole(&snapshots[1].groups[0]), [101, 112, 121, 132, 141, 152, 161, 172]);
}

#[test]
fn comparisons_of_bits() {
    use reference::vector::elements::compares;
    let int = |compare, boundary| InputCmp { compare, boundary: Number::Integer(boundary) };
    let real = |compare, boundary| InputCmp { compare, boundary: Number::Real(boundary) };
    assert!(compares(&int(Compare::GreaterUnsigned, i32::MAX), Number::Integer(-1)));
    assert!(!compares(&int(Compare::Greater, i32::MAX), Number::Integer(-1)));
    assert!(compares(&int(Compare::LessUnsigned, -1), Number::Integer(i32::MIN)));
    // Negative numbers rank above positive ones.
    assert!(compares(&real(Compare::GreaterUnsigned, f32::INFINITY), Number::Real(-0.0)));
    assert!(compares(&real(Compare::LessUnsigned, -2.0), Number::Real(-1.0)));
    assert!(compares(&real(Compare::Equal, 0.0), Number::Real(-0.0)));
    for compare in [Compare::Equal, Compare::Less, Compare::Greater, Compare::False] {
        assert!(!compares(&real(compare, f32::NAN), Number::Real(f32::NAN)), "{compare:?}");
    }
    assert!(compares(&real(Compare::True, 0.0), Number::Real(f32::NAN)));
}

/// A stash is read in the other width, at its own elements.
#[test]
fn stash_across_widths() {
    let narrow = || split("W, L / 4", "L % 4");
    let add = Binary::Fp(FpBinary::AddF);
    let clip = Binary::ClipF32(ClipF32::Add);
    for steps in [
        vec![
            plain(),
            Step::Stash,
            narrow(),
            step(MUL0, real(2.0)),
            step(add, Source::Stash),
            concat("W", "L"),
        ],
        vec![
            plain(),
            narrow(),
            Step::Stash,
            step(MUL0, real(2.0)),
            concat("W", "L"),
            step(clip, Source::Stash),
        ],
    ] {
        let chain = chain(Kind::F32, ["Q", "W", "L"], steps);
        let dims = chain.shape.dims();
        let value = |i: &Coordinates| (100 * at(i, "Q") + 10 * at(i, "W") + at(i, "L")) as f32;
        let stream = reals(&dims, value);
        assert_eq!(last(&chain, stream, vec![]), lanes(reals(&dims, |index| 3.0 * value(index))));
    }
    // Of padded packets as well.
    let steps = vec![
        plain(),
        Step::Stash,
        Step::TrimWay4 { packet: map("V # 4") },
        step(add, Source::Stash),
        Step::PadWay8 { packet: map("V # 8") },
        step(clip, Source::Stash),
    ];
    let chain = chain(Kind::F32, ["1", "W", "V # 8"], steps);
    let value = |i: &Coordinates| (10 * at(i, "W") + at(i, "V")) as f32;
    let expected = lanes(reals(&chain.shape.dims(), |index| 3.0 * value(index)));
    assert_eq!(last(&chain, reals(&chain.shape.dims(), value), vec![]), expected);
}

/// The four documented elements against one stream, and others that do not fit.
#[test]
fn register_files_are_broadcast() {
    let add = step(Binary::Fxp(Fxp::AddFxp), Source::Vrf(0));
    let of = |slice: &str, element: &str| {
        with_vrf(chain(Kind::I32, ["Q", "W", "L"], vec![plain(), add.clone()]), slice, element)
    };
    for (element, weights) in [
        ("L", [1, 0, 10]),
        ("W", [1, 100, 0]),
        ("W, L", [1, 100, 10]),
        ("L, W", [1, 100, 10]),
        ("1 # 8", [1, 0, 0]),
        ("L / 4", [1, 0, 4]),
    ] {
        let chain = of("Q", element);
        let cut =
            |index: &Coordinates| if element == "L / 4" { at(index, "L") / 4 * 10 } else { at(index, "L") };
        let value = |index: &Coordinates| {
            weights[0] * at(index, "Q") + weights[1] * at(index, "W") + weights[2] * cut(index)
        };
        let held = |index: &Coordinates| value(index);
        let vrf = integers(&[&chain.vrf[0].slice, &chain.vrf[0].element], held);
        let stream = integers(&chain.shape.dims(), |_| 5000);
        let expected = integers(&chain.shape.dims(), |index| 5000 + value(index));
        assert_eq!(last(&chain, stream, vec![vrf]), lanes(expected), "{element}");
    }
    assert_eq!(refused_at(&of("Q", "L, X")), Some((1, Rule::OperandAxes)));
    // The first values of an axis, also one of them.
    for element in ["L = 7", "W, L = 6 # 8", "L = 1", "W % 1"] {
        assert_eq!(refused_at(&of("Q", element)), Some((1, Rule::OperandAxes)), "{element}");
    }
    // Each slice reads its own register file, whatever its slices are called.
    let renamed = of("G", "L");
    let vrf = integers(&[&map("G"), &map("L")], |index| 20 * at(index, "G") + at(index, "L"));
    let stream = integers(&renamed.shape.dims(), |_| 5000);
    let expected = integers(&renamed.shape.dims(), |index| 5000 + 20 * at(index, "Q") + at(index, "L"));
    assert_eq!(last(&renamed, stream, vec![vrf]), lanes(expected));
    assert_eq!(refused_at(&of("G = 1 # 2", "L")), Some((1, Rule::OperandAxes)));
    let mut other = of("Q", "L");
    other.vrf[0].kind = Kind::F32;
    assert_eq!(refused_at(&other), Some((1, Rule::Scalar)));
    // After a reduce over W, a register file with W does not fit any more.
    let steps = vec![
        plain(),
        split("W, L / 4", "L % 4"),
        reduce("W", IntraOp::F32Add, "L / 4", "L % 4"),
        step(Binary::FpDiv, Source::Vrf(0)),
    ];
    let reduced = with_vrf(chain(Kind::F32, ["Q", "W", "L"], steps), "Q", "W");
    assert_eq!(refused_at(&reduced), Some((3, Rule::OperandAxes)));
}

/// Where slices and steps split an axis unevenly, an operand may cut the part of the steps again: it holds what it holds at
/// its positions, and a stream reads the position with its own coordinates.
#[test]
fn register_files_cut_a_padded_part() {
    let add = step(Binary::Fxp(Fxp::AddFxp), Source::Vrf(0));
    let of = |element: &str| {
        let stream = ["L # 12 / 3", "L # 12 % 3", "G, J, X"];
        with_vrf(chain(Kind::I32, stream, vec![plain(), add.clone()]), "L # 12 / 3", element)
    };
    let (outer, inner) = ("L # 12 % 3 # 8 / 2", "L # 12 % 3 # 8 % 2");
    // L is 3 * slice + step, and the step is 2 * outer + inner. By hand: the value of L that a step reads.
    for (element, read) in [
        (format!("{outer}, {inner}"), [0, 1, 2]),
        (format!("{inner}, {outer}"), [0, 1, 2]),
        ("L # 12 % 3 # 8".to_string(), [0, 1, 2]),
        (outer.to_string(), [0, 0, 2]),
        (inner.to_string(), [0, 1, 0]),
    ] {
        let chain = of(&element);
        let vrf = integers(&[&chain.vrf[0].slice, &chain.vrf[0].element], |index| 10 * at(index, "L"));
        let stream = integers(&chain.shape.dims(), |_| 5000);
        let expected = (0..4 * 3 * 8).map(|k| {
            let (slice, step) = (k / 24, k / 8 % 3);
            (3 * slice + step < 8).then(|| Number::Integer(5000 + 10 * (3 * slice as i32 + read[step])))
        });
        assert_eq!(last(&chain, stream, vec![vrf]), lanes(expected.collect()), "{element}");
    }
    // None holds the last of three steps.
    let last = "L # 12 % 3 = 2 # 8 / 2, L # 12 % 3 = 2 # 8 % 2";
    assert_eq!(refused_at(&of(last)), Some((1, Rule::OperandAxes)));
}

#[test]
fn loads_of_the_register_file() {
    let shape = Shape { slice: map("Q"), time: map("W"), packet: map("1 # 8") };
    let stream = integers(&shape.dims(), |index| 10 * at(index, "Q") + at(index, "W"));
    let load = |element: &Map| to_vrf(&shape, &lanes(stream.clone()), element).map_err(|(rule, _)| rule);
    assert_eq!(load(&map("W")).map(|held| whole(&held)), Ok(vec![0, 1, 2, 10, 11, 12]));
    assert_eq!(load(&map("W # 4")).map(|held| whole(&held)), Ok(vec![0, 1, 2, -1, 10, 11, 12, -1]));
    assert_eq!(load(&map("W, X")), Err(Rule::VrfAxes));
    assert_eq!(load(&map("1")), Err(Rule::VrfAxes));
    assert!(load(&map("W # 2048")).is_ok());
    assert_eq!(load(&map("W # 2049")), Err(Rule::VrfCapacity));
}

/// Saturation shows the order of a sum: ascending on the axis, however its digits lie in time and packets.
#[test]
fn sums_follow_the_axis() {
    let value = |u: i32| [i32::MAX - 5, 3, i32::MAX, -7, i32::MIN, 11, 2, -1][u as usize % 8] / (1 + u % 3);
    let expected = (1..48).fold(value(0), |sum, u| sum.saturating_add(value(u)));
    for (time, packet, narrow) in [
        ("U / 8", "U % 8", ["U / 8, U / 4 % 2", "U % 4"]),
        ("U % 6", "U / 6", ["U % 6, U / 24", "U / 6 % 4"]),
        ("U / 2 % 3, U % 2", "U / 6", ["U / 2 % 3, U % 2, U / 24", "U / 6 % 4"]),
    ] {
        let steps = vec![
            plain(),
            split(narrow[0], narrow[1]),
            reduce("U", IntraOp::I32AddSat, "1", "1 # 4"),
            Step::PadWay8 { packet: map("1 # 8") },
        ];
        let chain = chain(Kind::I32, ["1", time, packet], steps);
        let stream = integers(&chain.shape.dims(), |index| value(at(index, "U")));
        assert_eq!(whole(&last(&chain, stream, vec![]))[0], expected, "{time}");
    }
    // A part of the axis in the slices: each slice folds its own.
    let steps = vec![
        plain(),
        split("U / 8 % 3, U / 4 % 2", "U % 4"),
        reduce("U", IntraOp::I32AddSat, "1", "1 # 4"),
        Step::PadWay8 { packet: map("1 # 8") },
    ];
    let chain = chain(Kind::I32, ["U / 24", "U / 8 % 3", "U % 8"], steps);
    let stream = integers(&chain.shape.dims(), |index| value(at(index, "U")));
    let found = whole(&last(&chain, stream, vec![]));
    let part =
        |slice: i32| (1..24).fold(value(24 * slice), |sum, u| sum.saturating_add(value(24 * slice + u)));
    assert_eq!([found[0], found[8]], [part(0), part(1)]);
}

/// Padding is skipped wherever it lies; a slice of padding gives nothing.
#[test]
fn sums_skip_padding() {
    let sum = |shape: [&str; 3], narrow: [&str; 2], out: [&str; 2]| {
        let wide = Step::PadWay8 { packet: reference::digits::repad(&map(out[1]), 8) };
        let steps =
            vec![plain(), split(narrow[0], narrow[1]), reduce("R", IntraOp::I32AddSat, out[0], out[1]), wide];
        let chain = chain(Kind::I32, shape, steps);
        let stream = integers(&chain.shape.dims(), |index| 1 + at(index, "R"));
        whole(&last(&chain, stream, vec![]))
    };
    let packet = sum(["1", "1", "R # 8"], ["R # 8 / 4", "R # 8 % 4"], ["1", "1 # 4"]);
    assert_eq!(packet[0], 15);
    let time = sum(["1", "R # 7", "1 # 8"], ["R # 7, 1 # 2", "1 # 4"], ["1 # 2", "1 # 4"]);
    assert_eq!(time, [vec![15], vec![-1; 15]].concat());
    let slices = sum(["R # 8 / 2", "R # 8 % 2", "1 # 8"], ["R # 8 % 2, 1 # 2", "1 # 4"], ["1 # 2", "1 # 4"]);
    let firsts: Vec<i32> = slices.chunks(16).map(|slice| slice[0]).collect();
    assert_eq!(firsts, [3, 7, 5, -1]);
    // Elements that nobody wrote are skipped like padding, or spoil the sum.
    let steps = vec![
        plain(),
        split("R, 1 # 2", "1 # 4"),
        reduce("R", IntraOp::I32AddSat, "1 # 2", "1 # 4"),
        Step::PadWay8 { packet: map("1 # 8") },
    ];
    let chain = chain(Kind::I32, ["1", "R", "1 # 8"], steps);
    let mut stream = integers(&chain.shape.dims(), |index| 1 + at(index, "R"));
    stream[8] = None;
    assert_eq!(whole(&last(&chain, stream.clone(), vec![]))[0], 13);
    let reading = Reading { skips_unwritten: false, ..Reading::default() };
    let snapshots = run(&chain, &Data { stream, vrf: vec![] }, &reading).expect("a legal chain");
    assert_eq!(whole(&snapshots[3].groups[0])[0], -1);
}

/// Split and concat, trim and pad are inverse; conversions return.
#[test]
fn round_trips() {
    let value = |i: &Coordinates| 1000 * at(i, "Q") + 100 * at(i, "W") + 10 * at(i, "L") + at(i, "V") - 7;
    for (packet, steps) in [
        ("L", vec![plain(), split("W, L / 4", "L % 4"), concat("W", "L")]),
        ("L % 2 # 8", vec![plain(), split("W, 1 # 2", "L % 2 # 4"), concat("W", "L % 2 # 8")]),
        (
            "V # 8",
            vec![plain(), Step::TrimWay4 { packet: map("V # 4") }, Step::PadWay8 { packet: map("V # 8") }],
        ),
        ("L", vec![plain(), Step::FxpToFp(20), Step::FpToFxp(20)]),
        (
            "L",
            vec![plain(), Step::FxpToFp(0), split("W, L / 4", "L % 4"), concat("W", "L"), Step::FpToFxp(0)],
        ),
    ] {
        let chain = chain(Kind::I32, ["Q", "W", packet], steps);
        let stream = integers(&chain.shape.dims(), value);
        assert_eq!(last(&chain, stream.clone(), vec![]), lanes(stream));
    }
}

/// What a NaN of arithmetic becomes where its sign shows is open; a NaN of the stream has a sign.
#[test]
fn signs_of_nan() {
    let steps = vec![
        plain(),
        split("L / 4", "L % 4"),
        step(MUL0, real(0.0)),
        concat("1", "L"),
        Step::FpToFxp(31),
        step(MAX_I32, int(i32::MIN)),
    ];
    let mut chain = chain(Kind::F32, ["1", "1", "L"], steps);
    let mut stream = vec![Some(Number::Real(1.0)); 8];
    (stream[0], stream[1]) = (Some(Number::Real(f32::INFINITY)), Some(Number::Real(-f32::NAN)));
    assert_eq!(whole(&last(&chain, stream.clone(), vec![])), [-2, -2, 0, 0, 0, 0, 0, 0]);
    chain.steps.remove(2);
    assert_eq!(whole(&last(&chain, stream, vec![]))[..3], [i32::MAX, i32::MIN, 1]);
}

/// The second group has id 8, and a zip keeps it.
#[test]
fn groups_have_ids() {
    let add =
        |value: i32, group: u8| Operand { condition: Condition::Group(group), ..Operand::always(int(value)) };
    let steps = vec![
        unzip("1 # 2", "1"),
        Step::Binary {
            op: Binary::Fxp(Fxp::AddFxp),
            mode: BinaryMode::Mode01,
            operands: Operands::Groups([Some(add(1, 1)), Some(add(1, 1))]),
        },
        Step::Zip { op: Binary::Fxp(Fxp::MulInt), mode: BinaryMode::Mode01 },
        Step::Binary {
            op: MAX_I32,
            mode: BinaryMode::Mode01,
            operands: Operands::Array(vec![add(100, 1), add(1000, 0)]),
        },
    ];
    let chain = chain(Kind::I32, ["1", "I", "L"], steps);
    let stream = integers(&chain.shape.dims(), |index| 2 + at(index, "I"));
    let snapshots = all(&chain, stream, vec![]);
    assert_eq!(snapshots[0].ids, [vec![Some(0); 8], vec![Some(8); 8]]);
    assert_eq!([&snapshots[1].groups[0], &snapshots[1].groups[1]].map(|group| whole(group)[0]), [2, 4]);
    assert_eq!(whole(&snapshots[2].groups[0]), [8; 8]);
    assert_eq!(whole(&snapshots[3].groups[0]), [100; 8]);
}
