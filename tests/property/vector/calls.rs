//! Every operator through the call that a kernel makes, with every argument mode and every form of operand, alone and on two
//! groups: element by element against the reference.
//!
//! Operators are those of the library's own lists, and become those of the reference by a `match`: a new one is not
//! forgotten.

use super::program::same_names;
use super::stage::same;
use crate::machine::Cell;
use crate::reference::mapping::{Map, joint_table};
use crate::reference::numbers::Number;
use crate::reference::random::Random;
use crate::reference::vector::chain::{
    BinaryMode, BranchMode as Branch, Chain, Compare, Condition, Data, InputCmp as Comparison, Operand,
    Operands, Shape, Source, Step, TernaryMode, VrfTensor as Tensor,
};
use crate::reference::vector::exact::Function;
use crate::reference::vector::operators::{
    Binary, ClipF32, ClipI32, FpBinary, FpTernary, Fxp, IntraOp, Kind, LogicF32, LogicI32, Multiplier,
    Reading,
};
use crate::reference::vector::run::run;
use crate::reference::vector::values::{random_data, random_number};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::ContextGuard;
use pollster::block_on;

axes![W = 4, L = 8, I = 2];

type Cluster = m![1 # 2];
type Slice = m![1 # 256];
type Halves = m![W, L / 4];
type Half = m![L % 4];
type Rows<D> = DmTensor<D, m![1], Cluster, Slice, m![W, L]>;
type Vrf<D> = VrfTensor<D, m![1], Cluster, Slice, m![W, L]>;
type Stream<'l, D> = VectorInitTensor<'l, { Tu::Main }, D, m![1], Cluster, Slice, m![W], m![L]>;
type Groups<'l, D> = VectorTensorPair<
    'l,
    { Tu::Main },
    D,
    furiosa_visa_std::engine::vector::stage::Branch,
    m![1],
    Cluster,
    Slice,
    m![W],
    m![L],
>;

/// Where results go.
const RESULT: u64 = 8192;

fn map(text: &str) -> Map {
    Map::parse(text, &[("W", 4), ("L", 8), ("I", 2)])
}

/// A number of the reference, and one of the chip.
trait Own: VeScalar {
    fn of(number: Number) -> Self;
    fn number(self) -> Number;
}

impl Own for i32 {
    fn of(number: Number) -> i32 {
        let Number::Integer(value) = number else { panic!("{number:?} is no integer") };
        value
    }
    fn number(self) -> Number {
        Number::Integer(self)
    }
}

impl Own for f32 {
    fn of(number: Number) -> f32 {
        let Number::Real(value) = number else { panic!("{number:?} is no float") };
        value
    }
    fn number(self) -> Number {
        Number::Real(self)
    }
}

/// Two tensors, one to be an operand, and their values.
struct Bench<D: Own> {
    ctx: ContextGuard,
    tensors: [Rows<D>; 2],
    vrf: Vrf<D>,
    chain: Chain,
    data: Data,
    constants: [D; 2],
}

macro_rules! bench {
    ($($d:ty, $kind:ident;)*) => { $(
        impl Bench<$d> {
            fn new(seed: u64) -> Self {
                println!("seed {seed}");
                let mut random = Random::new(seed);
                let chain = Chain {
                    axes: [("W", 4), ("L", 8), ("I", 2)].map(|(name, size)| (name.to_string(), size)).to_vec(),
                    kind: Kind::$kind,
                    shape: Shape { slice: Map::One, time: map("W, I"), packet: map("L") },
                    vrf: vec![Tensor { kind: Kind::$kind, slice: Map::One, element: map("W, L") }],
                    steps: Vec::new(),
                };
                let data = random_data(&mut random, &chain, 0);
                let constants = [(); 2].map(|()| <$d>::of(random_number(&mut random, Kind::$kind)));
                let mut ctx = Context::acquire();
                let mut place = |values: Vec<Option<Number>>, address: u64| -> Rows<$d> {
                    let values = values.into_iter().map(|x| Opt::Init(<$d>::of(x.expect("all are there"))));
                    let host = HostTensor::<$d, m![W, L]>::from_buf(values.collect());
                    let hbm = block_on(host.to_hbm::<m![1], m![W, L]>(&mut ctx.pdma, address << 8));
                    hbm.to_dm(&mut ctx.tdma, address)
                };
                let half = |number: usize| -> Vec<_> {
                    (0..32).map(|k| data.stream[k / 8 * 16 + number * 8 + k % 8]).collect()
                };
                let tensors = [place(half(0), 0), place(half(1), 1024)];
                let operand = place(data.vrf[0].clone(), 2048);
                let load = ctx.sub.begin(operand.view()).fetch::<$d, m![W], m![L]>();
                let vrf = load.collect::<m![W], m![L]>().to_vrf::<m![W, L]>(0);
                Bench { ctx, tensors, vrf, chain, data, constants }
            }

            /// One stream.
            fn alone<E: Own, Out: M>(
                &mut self,
                steps: Vec<Step>,
                call: impl FnOnce(Stream<'_, $d>, &Vrf<$d>) -> DmTensor<E, m![1], Cluster, Slice, Out>,
            ) {
                let first = (0..32).map(|k| self.data.stream[k / 8 * 16 + k % 8]).collect();
                let data = Data { stream: first, ..self.data.clone() };
                let shape = Shape { time: map("W"), ..self.chain.shape.clone() };
                let chain = Chain { shape, steps, ..self.chain.clone() };
                let stream = self.ctx.main.begin(self.tensors[0].view()).fetch::<$d, m![W], m![L]>();
                let result = call(stream.collect::<m![W], m![L]>().vector_init(), &self.vrf);
                compare(&mut self.ctx, &chain, &data, &result);
            }

            /// Two groups, until the call makes one stream of them.
            fn paired<E: Own, Out: M>(
                &mut self,
                mut steps: Vec<Step>,
                call: impl FnOnce(Groups<'_, $d>, &Vrf<$d>) -> DmTensor<E, m![1], Cluster, Slice, Out>,
            ) {
                let (tile_time, split_time) = (map("W, 1 # 2"), map("W"));
                steps.insert(0, Step::Unzip { axis: "I".to_string(), tile_time, split_time });
                let chain = Chain { steps, ..self.chain.clone() };
                let [first, second] = &self.tensors;
                let stream = self
                    .ctx
                    .main
                    .begin_interleaved::<I, _, _, _, _, _>(first.view(), second.view())
                    .fetch::<$d, m![W, I], m![L]>()
                    .collect::<m![W, I], m![L]>()
                    .vector_init()
                    .vector_intra_slice_unzip::<I, m![W, 1 # 2], m![W]>();
                let result = call(stream, &self.vrf);
                compare(&mut self.ctx, &chain, &self.data, &result);
            }
        }
    )* };
}

bench! {
    i32, I32;
    f32, F32;
}

/// Runs the same in the reference.
fn compare<E: Own, Out: M>(
    ctx: &mut Context,
    chain: &Chain,
    data: &Data,
    result: &DmTensor<E, m![1], Cluster, Slice, Out>,
) {
    let host = result.to_hbm::<Out>(&mut ctx.tdma, 1 << 20);
    let found = block_on(host.to_host::<Out>(&mut ctx.pdma)).to_buf();
    let end = run(chain, data, &Reading::default()).unwrap_or_else(|refusal| panic!("{chain}\n{refusal}"));
    let end = end.last().expect("there is a step");
    // The host has no padding.
    let live = joint_table(&end.shape.dims());
    let lanes = end.groups[0].iter().zip(&live).filter(|(_, index)| index.is_some());
    let expected: Vec<_> = lanes.map(|(lane, _)| *lane).collect();
    assert_eq!(found.len(), expected.len(), "{chain}");
    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let found: Cell = match found {
            Opt::Init(value) => Some(super::program::bits(value.number())),
            Opt::Uninit => None,
        };
        if let Err(text) = same(found, *expected, k, Out::SIZE) {
            panic!("{chain}\n{text}; operands {:x?}", data.vrf[0]);
        }
    }
}

/// The ways in which ids and operands are given.
const FORMS: usize = 5;

/// Ids of the elements, for a form of operands.
fn ids<D: Own>(form: usize, boundary: D) -> (BranchMode, Step) {
    let (mode, branch) = match form {
        0 => (BranchMode::Unconditional, Branch::Unconditional),
        1 | 2 => (BranchMode::AxisToggle { axis: L::NAME }, Branch::AxisToggle("L".to_string())),
        _ => {
            let number = boundary.number();
            let greater = match number {
                Number::Integer(boundary) => InputCmp::I32(InputCmpI32::GreaterUnsigned { boundary }),
                Number::Real(boundary) => InputCmp::F32(InputCmpF32::GreaterUnsigned { boundary }),
            };
            let own = Comparison { compare: Compare::GreaterUnsigned, boundary: number };
            (BranchMode::Comparison([greater; 4]), Branch::Comparison([own; 4]))
        }
    };
    (mode, Step::Branch(branch))
}

/// Operands of a form, as the reference has them.
fn listed<D: Own>(form: usize, [one, other]: [D; 2]) -> Vec<Operand> {
    let [one, other] = [one, other].map(|value| Source::Constant(value.number()));
    let group = |source, group| Operand { condition: Condition::Group(group), ..Operand::always(source) };
    match form {
        0 => vec![Operand::always(one)],
        1 => vec![group(Source::Vrf(0), 1)],
        2 => vec![group(one, 0), Operand::always(Source::Vrf(0))],
        3 => vec![group(Source::Vrf(0), 0), group(other, 1)],
        _ => vec![Operand::always(other), group(one, 1)],
    }
}

/// The same operands, as a kernel has them.
fn given<D: Own, T: M>(
    form: usize,
    [one, other]: [D; 2],
    vrf: &Vrf<D>,
) -> ArrayVec<VeBranchOperand<D, T>, 5> {
    let [one, other] = [one, other].map(VeRhs::constant);
    let vrf = VeRhs::vrf(vrf);
    match form {
        0 => ArrayVec::new([VeBranchOperand::always(one)]),
        1 => ArrayVec::new([VeBranchOperand::group(vrf, GroupId::One)]),
        2 => ArrayVec::new([VeBranchOperand::group(one, GroupId::Zero), VeBranchOperand::always(vrf)]),
        3 => ArrayVec::new([
            VeBranchOperand::group(vrf, GroupId::Zero),
            VeBranchOperand::group(other, GroupId::One),
        ]),
        _ => ArrayVec::new([VeBranchOperand::always(other), VeBranchOperand::group(one, GroupId::One)]),
    }
}

/// What each of two groups gets in a form, as the reference has it. What is for the elements of the other group does nothing.
fn listed_in_groups<D: Own>(form: usize, [one, other]: [D; 2]) -> [Option<Operand>; 2] {
    let [one, other] = [one, other].map(|value| Source::Constant(value.number()));
    let group = |source, group| Operand { condition: Condition::Group(group), ..Operand::always(source) };
    match form {
        0 => [Some(Operand::always(one)), None],
        1 => [None, Some(Operand::always(Source::Vrf(0)))],
        2 => [Some(group(one, 0)), Some(group(other, 1))],
        3 => [Some(group(one, 1)), Some(Operand::always(other))],
        _ => [Some(Operand::always(Source::Vrf(0))), Some(group(one, 0))],
    }
}

/// The same, as a kernel has it.
fn given_to_groups<D: Own, T: M>(
    form: usize,
    [one, other]: [D; 2],
    vrf: &Vrf<D>,
) -> [Option<VeBranchOperand<D, T>>; 2] {
    let [one, other] = [one, other].map(VeRhs::constant);
    let vrf = VeRhs::vrf(vrf);
    match form {
        0 => [Some(VeBranchOperand::always(one)), None],
        1 => [None, Some(VeBranchOperand::always(vrf))],
        2 => {
            let own = VeBranchOperand::group(one, GroupId::Zero);
            [Some(own), Some(VeBranchOperand::group(other, GroupId::One))]
        }
        3 => [Some(VeBranchOperand::group(one, GroupId::One)), Some(VeBranchOperand::always(other))],
        _ => [Some(VeBranchOperand::always(vrf)), Some(VeBranchOperand::group(one, GroupId::Zero))],
    }
}

fn binary_mode(mode: BinaryArgMode) -> BinaryMode {
    same_names!(mode, BinaryArgMode => BinaryMode { Mode00 Mode01 Mode10 Mode11 })
}

fn ternary_mode(mode: TernaryArgMode) -> TernaryMode {
    same_names!(mode, TernaryArgMode => TernaryMode {
        Mode012 Mode002 Mode102 Mode112 Mode020 Mode021 Mode120
    })
}

fn logic_i32(op: LogicBinaryOpI32) -> Binary {
    Binary::LogicI32(same_names!(op, LogicBinaryOpI32 => LogicI32 {
        BitAnd BitOr BitXor LeftShift LogicRightShift ArithRightShift
    }))
}

fn logic_f32(op: LogicBinaryOpF32) -> Binary {
    Binary::LogicF32(same_names!(op, LogicBinaryOpF32 => LogicF32 { BitAnd BitOr BitXor }))
}

fn fxp(op: FxpBinaryOp) -> Binary {
    Binary::Fxp(same_names!(op, FxpBinaryOp => Fxp {
        AddFxp AddFxpSat SubFxp SubFxpSat LeftShift LeftShiftSat MulFxp MulInt LogicRightShift ArithRightShift
        ArithRightShiftRound
    }))
}

fn clip_i32(op: ClipBinaryOpI32) -> Binary {
    Binary::ClipI32(same_names!(op, ClipBinaryOpI32 => ClipI32 { Min Max AbsMin AbsMax AddFxp AddFxpSat }))
}

fn clip_f32(op: ClipBinaryOpF32) -> Binary {
    Binary::ClipF32(same_names!(op, ClipBinaryOpF32 => ClipF32 { Min Max AbsMin AbsMax Add }))
}

fn multiplier(alu: FpMulAlu) -> Multiplier {
    same_names!(alu, FpMulAlu => Multiplier { Mul0 Mul1 Fma })
}

fn fp(op: FpBinaryOp) -> Binary {
    Binary::Fp(match op {
        FpBinaryOp::AddF => FpBinary::AddF,
        FpBinaryOp::SubF => FpBinary::SubF,
        FpBinaryOp::MulF(alu) => FpBinary::MulF(multiplier(alu)),
        FpBinaryOp::MaskMulF(alu) => FpBinary::MaskMulF(multiplier(alu)),
        FpBinaryOp::DivF => FpBinary::DivF,
    })
}

fn function(op: FpUnaryOp) -> Function {
    same_names!(op, FpUnaryOp => Function { Exp NegExp Sqrt Tanh Sigmoid Erf Log Sin Cos })
}

/// The operators of the float cluster that are documented.
fn defined() -> impl Iterator<Item = FpBinaryOp> {
    FpBinaryOp::ALL.iter().copied().filter(|op| !matches!(op, FpBinaryOp::MaskMulF(_)))
}

fn split() -> Step {
    Step::Split { time: map("W, L / 4"), packet: map("L % 4") }
}

fn concat() -> Step {
    Step::Concat { time: map("W"), packet: map("L") }
}

/// Operators of the clip cluster, of both types.
trait Clip {
    fn clip(self) -> Binary;
}

impl Clip for ClipBinaryOpI32 {
    fn clip(self) -> Binary {
        clip_i32(self)
    }
}

impl Clip for ClipBinaryOpF32 {
    fn clip(self) -> Binary {
        clip_f32(self)
    }
}

/// What makes one stream of two groups of integers at the end: a unit works once, so that one of them has another unit.
const INTEGER_ENDS: [ClipBinaryOpI32; 2] = [ClipBinaryOpI32::AddFxp, ClipBinaryOpI32::Max];
/// The same for floats.
const FLOAT_ENDS: [ClipBinaryOpF32; 2] = [ClipBinaryOpF32::Max, ClipBinaryOpF32::Min];

/// The end of two groups behind an operator of a unit, as the reference has it, and as a kernel has it.
macro_rules! end {
    ($ends:expr, $alu:expr) => {{
        let [zip, other] = $ends;
        let zip = if zip.alu() == $alu { other } else { zip };
        (vec![Step::Zip { op: zip.clip(), mode: BinaryMode::Mode01 }], zip)
    }};
}

/// A binary operator in both spellings of its call, on a stream and on two groups.
macro_rules! binary_calls {
    (
        $bench:ident, $ops:expr, $of:ident, $call:ident, $with_mode:ident, $ends:ident,
        |$stream:ident| $before:expr, $front:expr, |$made:ident| $behind:expr, $back:expr
    ) => {
        let constants = $bench.constants;
        for (number, op) in $ops.enumerate() {
            let steps =
                |mode, operands| [$front, vec![Step::Binary { op: $of(op), mode, operands }], $back].concat();
            let operands = Operands::One(Operand::always(Source::Vrf(0)));
            let all = [vec![Step::Branch(Branch::Unconditional)], steps(BinaryMode::Mode01, operands)];
            $bench.alone(all.concat(), |stream, vrf| {
                let $stream = stream.vector_intra_slice_branch(BranchMode::Unconditional);
                let $made = ($before).$call(op, vrf);
                ($behind).vector_final().commit::<m![W, L]>(RESULT)
            });
            let (end, zip) = end!($ends, op.alu());
            let operands = Operands::Groups([None, Some(Operand::always(Source::Vrf(0)))]);
            $bench.paired([steps(BinaryMode::Mode01, operands), end.clone()].concat(), |$stream, vrf| {
                let $made = ($before).$call(op, (), vrf);
                ($behind).vector_clip_zip(zip).vector_final().commit::<m![W, L]>(RESULT)
            });
            // Each mode with another form of operands.
            for (k, mode) in BinaryArgMode::ALL.into_iter().enumerate() {
                let form = (number + k) % FORMS;
                let (branch, ids) = ids(form, constants[1]);
                let operands = Operands::ArrayVec(listed(form, constants));
                let all = [vec![ids], steps(binary_mode(mode), operands)];
                $bench.alone(all.concat(), |stream, vrf| {
                    let $stream = stream.vector_intra_slice_branch(branch);
                    let $made = ($before).$with_mode(op, mode, given(form, constants, vrf));
                    ($behind).vector_final().commit::<m![W, L]>(RESULT)
                });
                let operands = Operands::Groups(listed_in_groups(form, constants));
                $bench.paired([steps(binary_mode(mode), operands), end.clone()].concat(), |$stream, vrf| {
                    let [zero, one] = given_to_groups(form, constants, vrf);
                    let $made = ($before).$with_mode(op, mode, zero, one);
                    ($behind).vector_clip_zip(zip).vector_final().commit::<m![W, L]>(RESULT)
                });
            }
        }
    };
}

#[test]
fn operators_of_integers() {
    let mut bench = Bench::<i32>::new(1);
    binary_calls! {
        bench, LogicBinaryOpI32::ALL.iter().copied(), logic_i32, vector_logic, vector_logic_with_mode, INTEGER_ENDS,
        |stream| stream, vec![], |made| made, vec![]
    }
    binary_calls! {
        bench, FxpBinaryOp::ALL.iter().copied(), fxp, vector_fxp, vector_fxp_with_mode, INTEGER_ENDS,
        |stream| stream, vec![], |made| made, vec![]
    }
    binary_calls! {
        bench, ClipBinaryOpI32::ALL.iter().copied(), clip_i32, vector_clip, vector_clip_with_mode, INTEGER_ENDS,
        |stream| stream, vec![], |made| made, vec![]
    }
}

#[test]
fn operators_of_floats() {
    let mut bench = Bench::<f32>::new(2);
    binary_calls! {
        bench, LogicBinaryOpF32::ALL.iter().copied(), logic_f32, vector_logic, vector_logic_with_mode, FLOAT_ENDS,
        |stream| stream, vec![], |made| made, vec![]
    }
    binary_calls! {
        bench, ClipBinaryOpF32::ALL.iter().copied(), clip_f32, vector_clip, vector_clip_with_mode, FLOAT_ENDS,
        |stream| stream, vec![], |made| made, vec![]
    }
    binary_calls! {
        bench, defined(), fp, vector_fp_binary, vector_fp_binary_with_mode, FLOAT_ENDS,
        |stream| stream.vector_split::<Halves, Half>(), vec![split()],
        |made| made.vector_concat::<m![W], m![L]>(), vec![concat()]
    }
}

/// The division has its mode in the operator where there is one stream.
#[test]
fn divisions() {
    let mut bench = Bench::<f32>::new(3);
    let constants = bench.constants;
    let op = FpDivBinaryOp::DivF;
    let steps = |mode, operands| vec![split(), Step::Binary { op: Binary::FpDiv, mode, operands }, concat()];
    let (end, zip) = end!(FLOAT_ENDS, op.alu());
    for (form, mode) in (0..FORMS).flat_map(|form| BinaryArgMode::ALL.map(|mode| (form, mode))) {
        let operands = Operands::ArrayVec(listed(form, constants));
        let all = || [vec![ids(form, constants[1]).1], steps(binary_mode(mode), operands.clone())].concat();
        bench.alone(all(), |stream, vrf| {
            let stream = stream.vector_intra_slice_branch(ids(form, constants[1]).0);
            let stream = stream.vector_split::<Halves, Half>();
            let stream = stream.vector_fp_div(op.with_mode(mode), given(form, constants, vrf));
            stream.vector_concat::<m![W], m![L]>().vector_final().commit::<m![W, L]>(RESULT)
        });
        bench.alone(all(), |stream, vrf| {
            let stream = stream.vector_intra_slice_branch(ids(form, constants[1]).0);
            let stream = stream.vector_split::<Halves, Half>();
            let stream = stream.vector_fp_div_with_mode(op, mode, given(form, constants, vrf));
            stream.vector_concat::<m![W], m![L]>().vector_final().commit::<m![W, L]>(RESULT)
        });
        let operands = Operands::Groups(listed_in_groups(form, constants));
        bench.paired([steps(binary_mode(mode), operands), end.clone()].concat(), |stream, vrf| {
            let [zero, one] = given_to_groups(form, constants, vrf);
            let stream = stream.vector_split::<Halves, Half>().vector_fp_div_with_mode(op, mode, zero, one);
            let stream = stream.vector_concat::<m![W], m![L]>().vector_clip_zip(zip);
            stream.vector_final().commit::<m![W, L]>(RESULT)
        });
    }
    let operands = Operands::Groups([Some(Operand::always(Source::Vrf(0))), None]);
    bench.paired([steps(BinaryMode::Mode01, operands), end].concat(), |stream, vrf| {
        let stream = stream.vector_split::<Halves, Half>().vector_fp_div(op, vrf, ());
        let stream = stream.vector_concat::<m![W], m![L]>().vector_clip_zip(zip);
        stream.vector_final().commit::<m![W, L]>(RESULT)
    });
}

#[test]
fn functions_of_one_element() {
    let mut bench = Bench::<f32>::new(4);
    for op in FpUnaryOp::ALL.iter().copied() {
        let step = |groups| {
            vec![
                split(),
                Step::Unary { op: function(op), mode1: false, condition: Condition::Always, groups },
                concat(),
            ]
        };
        let all = || [vec![Step::Branch(Branch::Unconditional)], step(None)].concat();
        bench.alone(all(), |stream, _| {
            let stream = stream.vector_intra_slice_branch(BranchMode::Unconditional);
            let stream = stream.vector_split::<Halves, Half>().vector_fp_unary(op);
            stream.vector_concat::<m![W], m![L]>().vector_final().commit::<m![W, L]>(RESULT)
        });
        bench.alone(all(), |stream, _| {
            let stream = stream.vector_intra_slice_branch(BranchMode::Unconditional);
            let stream = stream.vector_split::<Halves, Half>();
            let stream = stream.vector_fp_unary_with_mode(op, UnaryArgMode::Mode0);
            stream.vector_concat::<m![W], m![L]>().vector_final().commit::<m![W, L]>(RESULT)
        });
        for groups in [[true, true], [true, false], [false, true], [false, false]] {
            let (end, zip) = end!(FLOAT_ENDS, op.alu());
            let all = || [step(Some(groups)), end.clone()].concat();
            let [zero, one] = groups;
            bench.paired(all(), |stream, _| {
                let stream = stream.vector_split::<Halves, Half>().vector_fp_unary(op, zero, one);
                let stream = stream.vector_concat::<m![W], m![L]>().vector_clip_zip(zip);
                stream.vector_final().commit::<m![W, L]>(RESULT)
            });
            bench.paired(all(), |stream, _| {
                let stream = stream.vector_split::<Halves, Half>();
                let stream = stream.vector_fp_unary_with_mode(op, UnaryArgMode::Mode0, zero, one);
                let stream = stream.vector_concat::<m![W], m![L]>().vector_clip_zip(zip);
                stream.vector_final().commit::<m![W, L]>(RESULT)
            });
        }
    }
}

/// An operand with a constant behind it.
fn with_second<T: M>(own: VeBranchOperand<f32, T>, operand1: f32) -> TernaryOperand<T> {
    TernaryOperand { operand0: own.operand, operand1, valid_branch_ids: own.valid_branch_ids }
}

#[test]
fn operators_of_three_arguments() {
    let mut bench = Bench::<f32>::new(5);
    let constants = bench.constants;
    let op = FpTernaryOp::FmaF;
    let steps =
        |mode, operands| vec![split(), Step::Ternary { op: FpTernary::FmaF, mode, operands }, concat()];
    let (end, zip) = end!(FLOAT_ENDS, op.alu());
    for (form, mode) in (0..FORMS).flat_map(|form| TernaryArgMode::ALL.map(|mode| (form, mode))) {
        let second = |operand: Operand| Operand { second: Some(1.5), ..operand };
        let operands = Operands::ArrayVec(listed(form, constants).into_iter().map(second).collect());
        let (branch, ids) = ids(form, constants[1]);
        bench.alone([vec![ids], steps(ternary_mode(mode), operands)].concat(), |stream, vrf| {
            let stream = stream.vector_intra_slice_branch(branch).vector_split::<Halves, Half>();
            let mut all = given(form, constants, vrf).into_iter().map(|own| with_second(own, 1.5));
            let stream = match (all.next(), all.next()) {
                (Some(first), Some(last)) => {
                    stream.vector_fp_ternary_with_mode(op, mode, ArrayVec::new([first, last]))
                }
                (Some(only), _) => stream.vector_fp_ternary_with_mode(op, mode, only),
                (None, _) => unreachable!("a form has operands"),
            };
            stream.vector_concat::<m![W], m![L]>().vector_final().commit::<m![W, L]>(RESULT)
        });
        let operands = Operands::Groups(listed_in_groups(form, constants).map(|own| own.map(second)));
        bench.paired([steps(ternary_mode(mode), operands), end.clone()].concat(), |stream, vrf| {
            let all = given_to_groups(form, constants, vrf);
            let [zero, one] = all.map(|own| own.map(|own| with_second(own, 1.5)));
            let stream = stream.vector_split::<Halves, Half>();
            let stream = stream.vector_fp_ternary_with_mode(op, mode, zero, one);
            let stream = stream.vector_concat::<m![W], m![L]>().vector_clip_zip(zip);
            stream.vector_final().commit::<m![W, L]>(RESULT)
        });
    }
    // Without a mode: the stream times the operand plus the constant.
    let own = |group| Operand { second: Some(0.25), condition: group, ..Operand::always(Source::Vrf(0)) };
    let branch = Step::Branch(Branch::AxisToggle("L".to_string()));
    let operands = Operands::One(own(Condition::Group(1)));
    bench.alone([vec![branch], steps(TernaryMode::Mode012, operands)].concat(), |stream, vrf| {
        let stream = stream.vector_intra_slice_branch(BranchMode::AxisToggle { axis: L::NAME });
        let stream = stream.vector_split::<Halves, Half>();
        let stream = stream.vector_fp_ternary(op, ((vrf, 0.25), GroupId::One));
        stream.vector_concat::<m![W], m![L]>().vector_final().commit::<m![W, L]>(RESULT)
    });
    let operands = Operands::Groups([Some(own(Condition::Group(1))), Some(own(Condition::Always))]);
    bench.paired([steps(TernaryMode::Mode012, operands), end].concat(), |stream, vrf| {
        let stream = stream.vector_split::<Halves, Half>();
        let stream = stream.vector_fp_ternary(op, ((vrf, 0.25), GroupId::One), (vrf, 0.25));
        let stream = stream.vector_concat::<m![W], m![L]>().vector_clip_zip(zip);
        stream.vector_final().commit::<m![W, L]>(RESULT)
    });
}

/// Each zip with all of its operators and modes, as soon as there are two groups.
#[test]
fn zips() {
    macro_rules! zips {
        ($($bench:ident, $ops:expr, $of:ident, $zip:ident, $with_mode:ident;)*) => { $(
            for op in $ops {
                let step = |mode| vec![Step::Zip { op: $of(op), mode }];
                $bench.paired(step(BinaryMode::Mode01), |stream, _| {
                    stream.$zip(op).vector_final().commit::<m![W, L]>(RESULT)
                });
                for mode in BinaryArgMode::ALL {
                    $bench.paired(step(binary_mode(mode)), |stream, _| {
                        stream.$with_mode(op, mode).vector_final().commit::<m![W, L]>(RESULT)
                    });
                }
            }
        )* };
    }
    let (mut integers, mut floats) = (Bench::<i32>::new(6), Bench::<f32>::new(7));
    zips! {
        integers, LogicBinaryOpI32::ALL.iter().copied(), logic_i32, vector_logic_zip, vector_logic_zip_with_mode;
        floats, LogicBinaryOpF32::ALL.iter().copied(), logic_f32, vector_logic_zip, vector_logic_zip_with_mode;
        integers, FxpBinaryOp::ALL.iter().copied(), fxp, vector_fxp_zip, vector_fxp_zip_with_mode;
        integers, ClipBinaryOpI32::ALL.iter().copied(), clip_i32, vector_clip_zip, vector_clip_zip_with_mode;
        floats, ClipBinaryOpF32::ALL.iter().copied(), clip_f32, vector_clip_zip, vector_clip_zip_with_mode;
    }
    for (op, mode) in defined().flat_map(|op| BinaryArgMode::ALL.map(|mode| (op, mode))) {
        let steps = |mode| vec![split(), Step::Zip { op: fp(op), mode }, concat()];
        floats.paired(steps(binary_mode(mode)), |stream, _| {
            let stream = stream.vector_split::<Halves, Half>().vector_fp_zip_with_mode(op, mode);
            stream.vector_concat::<m![W], m![L]>().vector_final().commit::<m![W, L]>(RESULT)
        });
        floats.paired(steps(BinaryMode::Mode01), |stream, _| {
            let stream = stream.vector_split::<Halves, Half>().vector_fp_zip(op);
            stream.vector_concat::<m![W], m![L]>().vector_final().commit::<m![W, L]>(RESULT)
        });
    }
}

#[test]
fn conversions() {
    let (mut integers, mut floats) = (Bench::<i32>::new(8), Bench::<f32>::new(9));
    for width in [0, 1, 8, 30, 31] {
        let branch = || Step::Branch(Branch::Unconditional);
        integers.alone(vec![branch(), Step::FxpToFp(width)], |stream, _| {
            let stream = stream.vector_intra_slice_branch(BranchMode::Unconditional);
            stream.vector_fxp_to_fp(width).vector_final().commit::<m![W, L]>(RESULT)
        });
        floats.alone(vec![branch(), Step::FpToFxp(width)], |stream, _| {
            let stream = stream.vector_intra_slice_branch(BranchMode::Unconditional);
            stream.vector_fp_to_fxp(width).vector_final().commit::<m![W, L]>(RESULT)
        });
        let zip = |op| Step::Zip { op, mode: BinaryMode::Mode01 };
        integers.paired(vec![Step::FxpToFp(width), zip(Binary::ClipF32(ClipF32::Max))], |stream, _| {
            let stream = stream.vector_fxp_to_fp(width).vector_clip_zip(ClipBinaryOpF32::Max);
            stream.vector_final().commit::<m![W, L]>(RESULT)
        });
        floats.paired(vec![Step::FpToFxp(width), zip(Binary::ClipI32(ClipI32::Max))], |stream, _| {
            let stream = stream.vector_fp_to_fxp(width).vector_clip_zip(ClipBinaryOpI32::Max);
            stream.vector_final().commit::<m![W, L]>(RESULT)
        });
    }
}

/// Sums in a slice, over time and over the lanes of a packet.
#[test]
fn reduces_in_a_slice() {
    macro_rules! reduces {
        ($bench:ident, $op:ident, $of:expr) => {
            for op in $op::ALL.iter().copied() {
                let branch = || vec![Step::Branch(Branch::Unconditional), split()];
                let (time, packet) = (map("L / 4"), map("L % 4"));
                let reduce = Step::IntraReduce { axis: "W".to_string(), op: $of(op), time, packet };
                let widen = Step::Concat { time: Map::One, packet: map("L") };
                $bench.alone([branch(), vec![reduce, widen]].concat(), |stream, _| {
                    let stream = stream.vector_intra_slice_branch(BranchMode::Unconditional);
                    let stream = stream.vector_split::<Halves, Half>();
                    let stream = stream.vector_intra_slice_reduce::<W, m![L / 4], Half>(op);
                    stream.vector_concat::<m![1], m![L]>().vector_final().commit::<m![L]>(RESULT)
                });
                let packet = Map::One.pad(4);
                let reduce = Step::IntraReduce { axis: "L".to_string(), op: $of(op), time: map("W"), packet };
                let widen = Step::PadWay8 { packet: Map::One.pad(8) };
                $bench.alone([branch(), vec![reduce, widen]].concat(), |stream, _| {
                    let stream = stream.vector_intra_slice_branch(BranchMode::Unconditional);
                    let stream = stream.vector_split::<Halves, Half>();
                    let stream = stream.vector_intra_slice_reduce::<L, m![W], m![1 # 4]>(op);
                    stream.vector_pad_way8::<m![1 # 8]>().vector_final().commit::<m![W, 1 # 8]>(RESULT)
                });
            }
        };
    }
    let (mut integers, mut floats) = (Bench::<i32>::new(10), Bench::<f32>::new(11));
    reduces!(integers, IntraSliceReduceOpI32, |op| match op {
        IntraSliceReduceOpI32::AddSat => IntraOp::I32AddSat,
        IntraSliceReduceOpI32::Max => IntraOp::I32Max,
        IntraSliceReduceOpI32::Min => IntraOp::I32Min,
    });
    reduces!(floats, IntraSliceReduceOpF32, |op| match op {
        IntraSliceReduceOpF32::Add => IntraOp::F32Add,
        IntraSliceReduceOpF32::Max => IntraOp::F32Max,
        IntraSliceReduceOpF32::Min => IntraOp::F32Min,
    });
}
