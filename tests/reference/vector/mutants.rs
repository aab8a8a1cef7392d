//! Illegal chains: a legal one with one thing changed, and the rules that the change breaks.
//!
//! [`MUTATIONS`] names every change. [`mutant`] tries one; it has nothing to change in some chains. A mutant of
//! mappings may break a rule in later steps as well, so that a library which looks at types first may report those.

use super::chain::{
    BranchMode, Chain, Compare, Condition, InputCmp, Operand, Operands, Shape, Source, Step, VrfTensor,
};
use super::operators::{
    Alu, Binary, ClipF32, ClipI32, FpBinary, FpTernary, Fxp, Kind, LogicF32, LogicI32, Multiplier,
};
use super::rules::Rule;
use super::run::judge;
use super::valid_count::is_of;
use super::values::random_number;
use crate::digits::digits;
use crate::mapping::Map;
use crate::numbers::Number;
use crate::random::Random;

/// A chain with one thing changed, and the rules of which one is broken.
pub type Mutant = (Chain, Vec<Rule>);

/// A change of a legal chain, if there is something to change.
type Change = fn(&mut Random, &Legal) -> Option<Mutant>;

/// A legal chain and the streams before each of its steps: what mutants are made of.
pub struct Legal {
    pub chain: Chain,
    /// One more than there are steps: the last one is what leaves.
    pub before: Vec<(Shape, Kind)>,
}

/// Names of all changes.
pub const MUTATIONS: &[(&str, &str)] = &[
    ("unit again", "an operator of a unit that is used"),
    ("stage again", "a second division, reduce or conversion"),
    ("earlier stage", "a stage after one that comes later"),
    ("other width", "a stage of the other packet size"),
    ("other scalar", "an operator of the other type"),
    ("no way back", "packets of 4 leave"),
    ("pair leaves", "no zip"),
    ("pair steps", "one operand on a pair, or two on a stream"),
    ("third part", "a third part"),
    ("integer bits", "32 integer bits"),
    ("two for all", "two operands for all elements"),
    ("six operands", "six operands"),
    ("empty stash", "a stash that is empty"),
    ("second stash", "a second stash"),
    ("zipped stash", "a stash on a pair or after a zip"),
    ("no stash here", "a stash after a stage that has none"),
    ("stash of the other type", "a stash that was converted since"),
    ("constant of the other type", "a constant of the other type"),
    ("foreign axis", "a register file with an axis that the stream lacks"),
    ("register file of the other type", "a register file of the other type"),
    ("boundary of the other type", "a comparison of the other type"),
    ("toggle of no axis", "a toggle by an axis that is not there"),
    ("unary mode", "a unary operator on an operand"),
    ("no meaning", "names without a meaning"),
    ("entry packet", "packets of 16 enter"),
    ("unzip", "mappings of an unzip"),
    ("split", "mappings of a split"),
    ("concat", "mappings of a concat"),
    ("trim", "mappings of a trim"),
    ("pad", "mappings of a pad"),
    ("reduce", "mappings of a reduce within a slice"),
    ("between slices", "mappings of a reduce between slices"),
];

/// One of [`MUTATIONS`] on a legal chain. `None`: there is nothing to change.
///
/// # Panics
/// When there is no mutation of that name.
pub fn mutant(random: &mut Random, mutation: &str, legal: &Legal) -> Option<Mutant> {
    let change: Change = match mutation {
        "unit again" => unit_again,
        "stage again" => stage_again,
        "earlier stage" => earlier_stage,
        "other width" => other_width,
        "other scalar" => other_scalar,
        "no way back" => no_way_back,
        "pair leaves" => pair_leaves,
        "pair steps" => pair_steps,
        "third part" => third_part,
        "integer bits" => integer_bits,
        "two for all" => two_for_all,
        "six operands" => six_operands,
        "empty stash" => empty_stash,
        "second stash" => second_stash,
        "zipped stash" => zipped_stash,
        "no stash here" => no_stash_here,
        "stash of the other type" => stash_of_the_other_type,
        "constant of the other type" => constant_of_the_other_type,
        "foreign axis" => foreign_axis,
        "register file of the other type" => register_file_of_the_other_type,
        "boundary of the other type" => boundary_of_the_other_type,
        "toggle of no axis" => toggle_of_no_axis,
        "unary mode" => unary_mode,
        "no meaning" => no_meaning,
        "entry packet" => entry_packet,
        "unzip" => unzip,
        "split" => split,
        "concat" => concat,
        "trim" => trim,
        "pad" => pad,
        "reduce" => reduce,
        "between slices" => between_slices,
        other => panic!("there is no mutation `{other}`"),
    };
    change(random, legal)
}

impl Legal {
    /// # Panics
    /// When the chain is not legal.
    pub fn of(chain: Chain) -> Legal {
        let after = judge(&chain).unwrap_or_else(|refusal| panic!("{chain}\n{refusal}"));
        let before = std::iter::once((chain.shape.clone(), chain.kind)).chain(after).collect();
        Legal { chain, before }
    }

    /// Numbers of the steps that pass a test, one of them.
    fn pick(&self, random: &mut Random, test: impl Fn(&Step) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.chain.steps.len()).filter(|k| test(&self.chain.steps[*k])).collect();
        (!all.is_empty()).then(|| random.pick(&all))
    }

    fn insert(&self, place: usize, step: Step, rules: &[Rule]) -> Option<Mutant> {
        let mut chain = self.chain.clone();
        chain.steps.insert(place, step);
        Some((chain, rules.to_vec()))
    }

    fn replace(&self, place: usize, step: Step, rules: &[Rule]) -> Option<Mutant> {
        let mut chain = self.chain.clone();
        chain.steps[place] = step;
        Some((chain, rules.to_vec()))
    }

    fn find(&self, test: impl Fn(&Step) -> bool) -> Option<usize> {
        self.chain.steps.iter().position(test)
    }

    /// Whether the stream before a step is a pair.
    fn is_pair(&self, place: usize) -> bool {
        let steps = &self.chain.steps[..place];
        let zipped = steps.iter().any(|step| matches!(step, Step::Zip { .. }));
        steps.iter().any(|step| matches!(step, Step::Unzip { .. })) && !zipped
    }

    /// Whether a stash may follow the steps before a place, but for their stage.
    fn may_stash(&self, place: usize) -> bool {
        let pair = |step: &Step| matches!(step, Step::Unzip { .. });
        let steps = &self.chain.steps[..place];
        !steps.iter().any(pair) && steps.iter().any(|step| matches!(step, Step::Branch(_)))
    }
}

fn used_unit(step: &Step) -> Option<Alu> {
    let skipped = |operands: &Operands| *operands == Operands::Groups([None, None]);
    match step {
        Step::Binary { op, operands, .. } if !skipped(operands) => Some(op.alu()),
        Step::Ternary { op, operands, .. } if !skipped(operands) => Some(op.alu()),
        Step::Unary { op, groups, .. } if *groups != Some([false; 2]) => Some(op.alu()),
        _ => None,
    }
}

fn other(kind: Kind) -> Kind {
    if kind == Kind::I32 { Kind::F32 } else { Kind::I32 }
}

fn one(kind: Kind) -> Number {
    if kind == Kind::I32 { Number::Integer(1) } else { Number::Real(1.0) }
}

/// An operation with a constant, for a single stream or for a pair.
fn operation(op: Binary, pair: bool) -> Step {
    let operand = Operand::always(Source::Constant(one(op.kind())));
    let operands = if pair { Operands::Groups([Some(operand); 2]) } else { Operands::One(operand) };
    Step::Binary { op, mode: super::chain::BinaryMode::Mode01, operands }
}

fn unit_again(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let repeats = |step: &Step| used_unit(step).is_some_and(|alu| alu != Alu::ReduceFpDiv);
    let place = legal.pick(random, repeats)?;
    let step = legal.chain.steps[place].clone();
    let alu = used_unit(&step)?;
    legal.insert(place + 1, step, &[Rule::AluUsed(alu)])
}

fn stage_again(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let single = |step: &Step| match step {
        Step::Binary { op, .. } => *op == Binary::FpDiv,
        Step::IntraReduce { .. } => true,
        _ => false,
    };
    let place = legal.pick(random, single)?;
    legal.insert(place + 1, legal.chain.steps[place].clone(), &[Rule::Stage])
}

fn earlier_stage(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let late = |step: &Step| match step {
        Step::Binary { op, .. } => matches!(op, Binary::ClipI32(_) | Binary::ClipF32(_)),
        Step::FpToFxp(_) | Step::Concat { .. } | Step::PadWay8 { .. } => true,
        _ => false,
    };
    let place = legal.pick(random, late)? + 1;
    let op = match legal.before[place].1 {
        Kind::I32 if random.chance(50) => Binary::Fxp(Fxp::AddFxp),
        Kind::I32 => Binary::LogicI32(LogicI32::BitXor),
        Kind::F32 => Binary::LogicF32(LogicF32::BitOr),
    };
    legal.insert(place, operation(op, legal.is_pair(place)), &[Rule::Stage])
}

fn other_width(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let begins = |step: &Step| {
        matches!(step, Step::Branch(_) | Step::Unzip { .. } | Step::Split { .. } | Step::TrimWay4 { .. })
    };
    let place = legal.pick(random, begins)? + 1;
    let (shape, kind) = &legal.before[place];
    let op = match (shape.packet.size(), kind) {
        (4, Kind::I32) => Binary::ClipI32(ClipI32::Max),
        (4, Kind::F32) => Binary::ClipF32(ClipF32::Max),
        (_, Kind::I32) => {
            let time = Map::sequence(&[shape.time.stride(1), Map::One]);
            return legal.insert(place, Step::Concat { time, packet: shape.packet.clone() }, &[Rule::Way]);
        }
        (_, Kind::F32) => Binary::Fp(FpBinary::MulF(Multiplier::Mul0)),
    };
    legal.insert(place, operation(op, legal.is_pair(place)), &[Rule::Way])
}

fn other_scalar(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let two = |step: &Step| {
        matches!(
            step,
            Step::Binary {
                op: Binary::LogicI32(_) | Binary::LogicF32(_) | Binary::ClipI32(_) | Binary::ClipF32(_),
                ..
            }
        )
    };
    let place = legal.pick(random, two)?;
    let Step::Binary { op, .. } = legal.chain.steps[place] else { return None };
    let op = match op {
        Binary::LogicI32(_) => Binary::LogicF32(LogicF32::BitAnd),
        Binary::LogicF32(_) => Binary::LogicI32(LogicI32::BitAnd),
        Binary::ClipI32(_) => Binary::ClipF32(ClipF32::Min),
        _ => Binary::ClipI32(ClipI32::Min),
    };
    legal.replace(place, operation(op, legal.is_pair(place)), &[Rule::Scalar])
}

fn no_way_back(_: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.find(|step| matches!(step, Step::Concat { .. } | Step::PadWay8 { .. }))?;
    let mut chain = legal.chain.clone();
    chain.steps.remove(place);
    Some((chain, vec![Rule::Way]))
}

fn pair_leaves(_: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.find(|step| matches!(step, Step::Zip { .. }))?;
    let mut chain = legal.chain.clone();
    chain.steps.truncate(place);
    Some((chain, vec![Rule::Context, Rule::Way]))
}

fn pair_steps(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let binary = |step: &Step| matches!(step, Step::Binary { .. });
    let place = legal.pick(random, binary)?;
    let Step::Binary { op, .. } = legal.chain.steps[place] else { return None };
    legal.replace(place, operation(op, !legal.is_pair(place)), &[Rule::Context])
}

fn third_part(_: &mut Random, legal: &Legal) -> Option<Mutant> {
    let (steps, end) = (&legal.chain.steps, legal.chain.steps.len());
    let between = legal.find(|step| matches!(step, Step::InterReduce { .. }))?;
    match (between, end) {
        (0, 1) => None,
        // Another reduce between slices after the part within a slice.
        (0, _) => {
            let Step::InterReduce { op, .. } = steps[0] else { return None };
            let (shape, kind) = &legal.before[end];
            let step = Step::InterReduce { op, slice: shape.slice.clone(), time: shape.time.clone() };
            (op.binary().kind() == *kind).then(|| legal.insert(end, step, &[Rule::VeOrder]))?
        }
        _ => legal.insert(end, Step::Branch(BranchMode::Unconditional), &[Rule::VeOrder]),
    }
}

fn integer_bits(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let width = random.pick(&[32, 33, 64, u32::MAX]);
    let place = legal.pick(random, |step| matches!(step, Step::FxpToFp(_) | Step::FpToFxp(_)))?;
    let to_fp = matches!(legal.chain.steps[place], Step::FxpToFp(_));
    legal.replace(place, if to_fp { Step::FxpToFp(width) } else { Step::FpToFxp(width) }, &[Rule::IntWidth])
}

/// Replaces the operands of a single stream.
fn with_operands(
    random: &mut Random,
    legal: &Legal,
    operands: impl Fn(Operand) -> Operands,
    rules: &[Rule],
) -> Option<Mutant> {
    let first = |step: &Step| match step {
        Step::Binary { operands, .. } | Step::Ternary { operands, .. } => match operands {
            Operands::Groups(_) => None,
            list => list.list().first().copied(),
        },
        _ => None,
    };
    let place = legal.pick(random, |step| first(step).is_some())?;
    let mut step = legal.chain.steps[place].clone();
    let operand = Operand { condition: Condition::Always, ..first(&step)? };
    if let Step::Binary { operands: list, .. } | Step::Ternary { operands: list, .. } = &mut step {
        *list = operands(operand);
    }
    legal.replace(place, step, rules)
}

fn two_for_all(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let count = random.between(2, 3);
    with_operands(random, legal, |operand| Operands::Array(vec![operand; count]), &[Rule::ManyAlways])
}

fn six_operands(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let list = |operand| Operands::ArrayVec(vec![Operand { condition: Condition::Group(0), ..operand }; 6]);
    with_operands(random, legal, list, &[Rule::OperandCount])
}

/// Changes an operand that is an argument.
fn with_argument(
    random: &mut Random,
    legal: &Legal,
    test: impl Fn(usize, &Operand) -> bool,
    change: impl Fn(&mut Operand),
    rules: &[Rule],
) -> Option<Mutant> {
    let mut chain = legal.chain.clone();
    let mut places = Vec::new();
    for (place, step) in chain.steps.iter().enumerate() {
        let (used, operands) = match step {
            Step::Binary { mode, operands, .. } => (mode.arguments().contains(&1), operands),
            Step::Ternary { mode, operands, .. } => (mode.arguments().contains(&1), operands),
            _ => continue,
        };
        for (number, operand) in operands.list().iter().enumerate() {
            if used && test(place, operand) {
                places.push((place, number));
            }
        }
    }
    if places.is_empty() {
        return None;
    }
    let (place, number) = random.pick(&places);
    if let Step::Binary { operands, .. } | Step::Ternary { operands, .. } = &mut chain.steps[place] {
        change(operands.list_mut()[number]);
    }
    Some((chain, rules.to_vec()))
}

fn empty_stash(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let stashed = legal.find(|step| *step == Step::Stash).unwrap_or(usize::MAX);
    let empty = |place: usize, _: &Operand| place < stashed;
    with_argument(random, legal, empty, |operand| operand.source = Source::Stash, &[Rule::StashMissing])
}

fn second_stash(_: &mut Random, legal: &Legal) -> Option<Mutant> {
    legal.insert(legal.find(|step| *step == Step::Stash)?, Step::Stash, &[Rule::SecondStash])
}

fn zipped_stash(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.pick(random, |step| matches!(step, Step::Zip { .. } | Step::Unzip { .. }))?;
    legal.insert(place + 1, Step::Stash, &[Rule::Context])
}

fn no_stash_here(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let none = |step: &Step| {
        matches!(
            step,
            Step::FxpToFp(_)
                | Step::FpToFxp(_)
                | Step::IntraReduce { .. }
                | Step::Concat { .. }
                | Step::PadWay8 { .. }
        )
    };
    let place = legal.pick(random, none)? + 1;
    let stashed = legal.chain.steps.contains(&Step::Stash);
    (legal.may_stash(place) && !stashed).then(|| legal.insert(place, Step::Stash, &[Rule::NotStashable]))?
}

fn stash_of_the_other_type(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let stashed = legal.find(|step| *step == Step::Stash)?;
    let reduces = |step: &Step| matches!(step, Step::IntraReduce { .. } | Step::InterReduce { .. });
    let between = |place: usize| legal.chain.steps[stashed..place].iter().any(reduces);
    let other = |place: usize, _: &Operand| {
        place > stashed && !between(place) && legal.before[place].1 != legal.before[stashed].1
    };
    with_argument(random, legal, other, |operand| operand.source = Source::Stash, &[Rule::StashScalar])
}

fn constant_of_the_other_type(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let constant = |_: usize, operand: &Operand| matches!(operand.source, Source::Constant(_));
    let change = |operand: &mut Operand| {
        if let Source::Constant(number) = &mut operand.source {
            *number = one(other(Kind::of(*number)));
        }
    };
    with_argument(random, legal, constant, change, &[Rule::Scalar])
}

fn with_register_file(
    random: &mut Random,
    legal: &Legal,
    change: impl Fn(&mut VrfTensor),
    rules: &[Rule],
) -> Option<Mutant> {
    if legal.chain.vrf.is_empty() {
        return None;
    }
    let mut chain = legal.chain.clone();
    let number = random.below(chain.vrf.len());
    change(&mut chain.vrf[number]);
    Some((chain, rules.to_vec()))
}

fn foreign_axis(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let mut legal = Legal { chain: legal.chain.clone(), before: legal.before.clone() };
    legal.chain.axes.push(("Z".to_string(), 2));
    let change = |tensor: &mut VrfTensor| {
        tensor.element = Map::sequence(&[tensor.element.clone(), Map::axis("Z", 2)]);
    };
    with_register_file(random, &legal, change, &[Rule::OperandAxes])
}

fn register_file_of_the_other_type(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    with_register_file(random, legal, |tensor| tensor.kind = other(tensor.kind), &[Rule::Scalar])
}

fn boundary_of_the_other_type(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.find(|step| matches!(step, Step::Branch(_)))?;
    let kind = legal.before[place].1;
    let number = random.below(4);
    let list = [0, 1, 2, 3].map(|k| {
        let kind = if k == number { other(kind) } else { kind };
        let compare = random.pick(&[Compare::Less, Compare::True, Compare::GreaterUnsigned]);
        InputCmp { compare, boundary: random_number(random, kind) }
    });
    legal.replace(place, Step::Branch(BranchMode::Comparison(list)), &[Rule::BranchScalar])
}

fn toggle_of_no_axis(_: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.find(|step| matches!(step, Step::Branch(_)))?;
    let mode = BranchMode::AxisToggle("Z".to_string());
    let mut mutant = legal.replace(place, Step::Branch(mode), &[Rule::BranchAxis])?;
    mutant.0.axes.push(("Z".to_string(), 2));
    Some(mutant)
}

fn unary_mode(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.pick(random, |step| matches!(step, Step::Unary { .. }))?;
    let Step::Unary { op, condition, groups, .. } = legal.chain.steps[place] else { return None };
    legal.replace(place, Step::Unary { op, mode1: true, condition, groups }, &[Rule::UnaryMode])
}

fn no_meaning(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let end = legal.chain.steps.len();
    let rules = [Rule::NotImplemented];
    match random.below(4) {
        0 => {
            let zipped = legal.chain.steps.iter().any(|step| matches!(step, Step::Zip { .. }));
            let rule = if zipped { Rule::Context } else { Rule::NotImplemented };
            let step =
                Step::Filter { time: legal.before[end].0.time.clone(), condition: Condition::Group(1) };
            legal.insert(end, step, &[rule])
        }
        1 => {
            let place = legal.find(|step| matches!(step, Step::Branch(_)))?;
            let mode = random.pick(&[BranchMode::ValidCount, BranchMode::Vrf]);
            legal.replace(place, Step::Branch(mode), &rules)
        }
        2 => {
            let place = legal.pick(random, |step| matches!(step, Step::Ternary { .. }))?;
            let Step::Ternary { mode, operands, .. } = legal.chain.steps[place].clone() else { return None };
            legal.replace(place, Step::Ternary { op: FpTernary::MaskFmaF, mode, operands }, &rules)
        }
        _ => {
            let fp = |step: &Step| matches!(step, Step::Binary { op: Binary::Fp(_), .. });
            let place = legal.pick(random, fp)?;
            let op = Binary::Fp(FpBinary::MaskMulF(Multiplier::Mul1));
            legal.replace(place, operation(op, legal.is_pair(place)), &rules)
        }
    }
}

fn entry_packet(_: &mut Random, legal: &Legal) -> Option<Mutant> {
    let mut chain = legal.chain.clone();
    chain.shape.packet = chain.shape.packet.pad(16);
    Some((chain, vec![Rule::EntryPacket]))
}

fn unzip(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let Some(Step::Unzip { axis, tile_time, split_time }) = legal.chain.steps.first() else { return None };
    let step = |axis: &String, tile: &Map, split: &Map| Step::Unzip {
        axis: axis.clone(),
        tile_time: tile.clone(),
        split_time: split.clone(),
    };
    let time = &legal.chain.shape.time;
    match random.below(3) {
        0 => legal.replace(0, step(axis, time, split_time), &[Rule::UnzipTile]),
        1 => legal.replace(0, step(axis, tile_time, tile_time), &[Rule::UnzipSplit]),
        _ => {
            let mut mutant =
                legal.replace(0, step(&"Z".to_string(), tile_time, split_time), &[Rule::UnzipAxis])?;
            mutant.0.axes.push(("Z".to_string(), 2));
            Some(mutant)
        }
    }
}

fn split(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.find(|step| matches!(step, Step::Split { .. }))?;
    let Step::Split { time, packet } = legal.chain.steps[place].clone() else { return None };
    let before = &legal.before[place].0;
    match random.below(3) {
        0 => legal.replace(place, Step::Split { time: before.time.clone(), packet }, &[Rule::SplitTime]),
        1 => legal.replace(place, Step::Split { time, packet: before.packet.clone() }, &[Rule::SplitSize]),
        _ if packet.elements() == 1 => None,
        _ => legal.replace(place, Step::Split { time, packet: Map::One.pad(4) }, &[Rule::SplitPacket]),
    }
}

fn concat(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.find(|step| matches!(step, Step::Concat { .. }))?;
    let Step::Concat { time, packet } = legal.chain.steps[place].clone() else { return None };
    let before = &legal.before[place].0;
    match random.below(3) {
        0 => legal.replace(place, Step::Concat { time: before.time.clone(), packet }, &[Rule::ConcatTime]),
        1 => {
            let packet = before.packet.clone();
            legal.replace(place, Step::Concat { time, packet }, &[Rule::ConcatSize])
        }
        _ if packet.elements() == 1 => None,
        _ => legal.replace(place, Step::Concat { time, packet: Map::One.pad(8) }, &[Rule::ConcatPacket]),
    }
}

fn trim(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let narrow = |step: &Step| matches!(step, Step::TrimWay4 { .. } | Step::Split { .. });
    let place = legal.find(narrow)?;
    let before = &legal.before[place].0.packet;
    let full = !before.stride(4).equivalent(&Map::One.pad(2));
    if full && !legal.is_pair(place) {
        return legal.replace(place, Step::TrimWay4 { packet: before.modulo(4) }, &[Rule::TrimBack]);
    }
    let Step::TrimWay4 { packet } = legal.chain.steps[place].clone() else { return None };
    match random.below(3) {
        0 => legal.replace(place, Step::TrimWay4 { packet: before.clone() }, &[Rule::TrimSize]),
        1 if packet.elements() > 1 && packet.elements() < 4 => legal.replace(
            place,
            Step::TrimWay4 { packet: packet.resize(packet.elements()) },
            &[Rule::TrimSize],
        ),
        _ if packet.elements() > 1 => {
            legal.replace(place, Step::TrimWay4 { packet: Map::One.pad(4) }, &[Rule::TrimPacket])
        }
        _ => None,
    }
}

fn pad(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.find(|step| matches!(step, Step::PadWay8 { .. }))?;
    let before = &legal.before[place].0.packet;
    match random.below(2) {
        0 => legal.replace(place, Step::PadWay8 { packet: before.pad(16) }, &[Rule::PadSize]),
        _ if before.elements() == 1 => None,
        _ => legal.replace(place, Step::PadWay8 { packet: Map::One.pad(8) }, &[Rule::PadPacket]),
    }
}

fn reduce(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.find(|step| matches!(step, Step::IntraReduce { .. }))?;
    let Step::IntraReduce { axis, op, time, packet } = legal.chain.steps[place].clone() else { return None };
    let before = &legal.before[place].0;
    let step = |time: Map, packet: Map| Step::IntraReduce { axis: axis.clone(), op, time, packet };
    match random.below(5) {
        // A digit with one live value is padding: it may stay.
        0 if digits(&before.time).iter().any(|digit| is_of(digit, &axis) && digit.valid > 1) => {
            legal.replace(place, step(before.time.clone(), packet), &[Rule::ReduceNotFull])
        }
        1 if time.elements() > 1 => legal.replace(place, step(Map::One, packet), &[Rule::ReduceOtherAxis]),
        2 => {
            let more = Map::sequence(&[Map::axis("Z", 2), time]);
            let mut mutant = legal.replace(place, step(more, packet), &[Rule::ReduceDivide])?;
            mutant.0.axes.push(("Z".to_string(), 2));
            Some(mutant)
        }
        3 if packet.elements() > 1 => {
            // The lanes of another axis would be lost.
            legal.replace(place, step(time, Map::One.pad(4)), &[Rule::ReduceOtherAxis])
        }
        4 => legal.replace(place, step(time, packet.pad(8)), &[Rule::ReducePacket]),
        _ => None,
    }
}

fn between_slices(random: &mut Random, legal: &Legal) -> Option<Mutant> {
    let place = legal.find(|step| matches!(step, Step::InterReduce { .. }))?;
    let Step::InterReduce { op, slice, time } = legal.chain.steps[place].clone() else { return None };
    let before = &legal.before[place].0;
    let step = |slice: Map, time: Map| Step::InterReduce { op, slice, time };
    let promotes = time.size() < before.time.size();
    match random.below(4) {
        0 => legal.replace(place, step(slice.pad(2 * slice.size()), time), &[Rule::InterSize]),
        1 if time.elements() > 1 => legal.replace(place, step(slice, Map::One), &[Rule::InterTime]),
        2 if promotes => legal.replace(place, step(slice, before.time.clone()), &[Rule::InterFactor]),
        3 if time.elements() > 1 && !promotes => {
            let more = Map::sequence(&[time, Map::One.pad(2)]);
            legal.replace(place, step(slice, more), &[Rule::InterTime])
        }
        _ => None,
    }
}
