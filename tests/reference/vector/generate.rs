//! Random legal chains, legal by construction.
//!
//! Shapes stay small (at most [`MOST_POSITIONS`] positions), all operators, modes, kinds of operands, stages and
//! placements of a reduced axis occur. Left out is what the specification leaves open: see [`random_chain`].

use super::chain::{
    BinaryMode, BranchMode, Chain, Compare, Condition, InputCmp, Operand, Operands, Shape, Source, Step,
    TernaryMode, VrfTensor,
};
use super::exact::Function;
use super::operators::{
    Alu, Binary, ClipF32, ClipI32, FpBinary, FpTernary, Fxp, InterOp, IntraOp, Kind, LogicF32, LogicI32,
    Multiplier,
};
use super::rules::Stage;
use super::values::random_number;
use crate::mapping::Map;
use crate::numbers::Number;
use crate::packets::Names;
use crate::random::{Axes, Random};
use std::collections::BTreeSet;

/// Positions of a stream at most.
pub const MOST_POSITIONS: usize = 384;

/// A factor of time or of the slices, and its axis.
#[derive(Clone, Debug)]
struct Factor {
    map: Map,
    axis: Option<String>,
}

/// Which pipeline a chain takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pipeline {
    Intra,
    Pair,
    IntraInter,
    Inter,
    InterIntra,
}

struct Builder<'a> {
    random: &'a mut Random,
    names: Names,
    slice: Vec<Factor>,
    time: Vec<Factor>,
    packet: Map,
    /// For every axis outside of the slices: how a register file may hold it.
    parts: Vec<(String, Vec<Map>)>,
    /// The axis to reduce within a slice: it stays there.
    reduced: Option<String>,
    kind: Kind,
    pair: bool,
    zipped: bool,
    stash: Option<Kind>,
    used: BTreeSet<Alu>,
    vrf: Vec<VrfTensor>,
    steps: Vec<Step>,
}

fn name(axis: &Map) -> String {
    match axis {
        Map::Axis { name, .. } => name.to_string(),
        _ => unreachable!("names are given to axes"),
    }
}

fn sequence(factors: &[Factor]) -> Map {
    Map::sequence(&factors.iter().map(|factor| factor.map.clone()).collect::<Vec<_>>())
}

/// A legal chain.
///
/// Left out, since the specification does not say whether they are legal or what they compute:
/// factors of time in another order after a reduce, a reduce between slices of a part of an axis, register files
/// without a slice axis of the stream, a stash that an unused argument names, valid counts with another axis in the
/// packet, and names without a meaning.
pub fn random_chain(random: &mut Random) -> Chain {
    loop {
        let pipeline = match random.below(100) {
            0..50 => Pipeline::Intra,
            50..70 => Pipeline::Pair,
            70..80 => Pipeline::IntraInter,
            80..85 => Pipeline::Inter,
            _ => Pipeline::InterIntra,
        };
        let kind = random.pick(&[Kind::I32, Kind::F32]);
        let mut builder = Builder {
            random,
            names: Names { axes: Axes::new() },
            slice: Vec::new(),
            time: Vec::new(),
            packet: Map::One,
            parts: Vec::new(),
            reduced: None,
            kind,
            pair: false,
            zipped: false,
            stash: None,
            used: BTreeSet::new(),
            vrf: Vec::new(),
            steps: Vec::new(),
        };
        if let Some(chain) = builder.chain(pipeline) {
            return chain;
        }
    }
}

impl Builder<'_> {
    fn shape(&self) -> Shape {
        Shape { slice: sequence(&self.slice), time: sequence(&self.time), packet: self.packet.clone() }
    }

    fn time_factor(&mut self, map: Map, axis: &Map) {
        let place = self.random.below(self.time.len() + 1);
        self.time.insert(place, Factor { map, axis: Some(name(axis)) });
    }

    fn chain(&mut self, pipeline: Pipeline) -> Option<Chain> {
        use Pipeline::{Inter, InterIntra, Intra, IntraInter, Pair};
        let reduces = pipeline != Inter && self.random.chance(50);
        let axis = self.place(reduces);
        self.reduced = axis.clone();
        let interleaved = (pipeline == Pair).then(|| {
            let axis = self.names.fresh(2);
            self.time_factor(axis.clone(), &axis);
            name(&axis)
        });
        let between = matches!(pipeline, IntraInter | Inter | InterIntra).then(|| self.slices_to_reduce());
        let (shape, kind) = (self.shape(), self.kind);
        if shape.positions() > MOST_POSITIONS {
            return None;
        }
        if matches!(pipeline, Inter | InterIntra) {
            self.between(between.clone()?);
        }
        match interleaved {
            Some(axis) => self.unzip(&axis),
            None if pipeline != Inter => {
                let mode = self.branch_mode();
                self.steps.push(Step::Branch(mode));
            }
            None => {}
        }
        if matches!(pipeline, Intra | Pair | IntraInter | InterIntra) {
            self.within(axis.as_deref())?;
        }
        if pipeline == IntraInter {
            // From the Way8 stages alone.
            self.between(between?);
        }
        let axes = std::mem::take(&mut self.names.axes);
        Some(Chain {
            axes,
            kind,
            shape,
            vrf: std::mem::take(&mut self.vrf),
            steps: std::mem::take(&mut self.steps),
        })
    }

    /// Slices, time and packet. Gives the axis to reduce.
    fn place(&mut self, reduces: bool) -> Option<String> {
        let mut reduced = None;
        // The packet.
        match self.random.below(7) {
            0 | 1 => {
                let axis = self.names.fresh(8);
                self.packet = axis.clone();
                let parts = vec![axis.clone(), axis.stride(4), axis.modulo(4), axis.modulo(2)];
                self.parts.push((name(&axis), parts));
                reduced = Some(name(&axis));
            }
            2 => {
                let size = self.random.between(1, 7);
                let axis = self.names.fresh(size);
                self.packet = axis.pad(8);
                self.parts.push((name(&axis), vec![axis.clone()]));
                reduced = (size > 1).then(|| name(&axis));
            }
            3 => self.packet = Map::One.pad(8),
            4 => {
                let outer = self.random.pick(&[2, 4]);
                let (a, b) = (self.names.fresh(outer), self.names.fresh(8 / outer));
                self.packet = Map::sequence(&[a.clone(), b.clone()]);
                for axis in [a, b] {
                    self.parts.push((name(&axis), vec![axis.clone()]));
                }
            }
            _ => {
                let steps = self.random.between(2, 3);
                let whole = self.random.chance(50);
                let size = 8 * steps - if whole { 0 } else { self.random.between(1, 7) };
                let axis = self.names.fresh(size);
                let padded = if whole { axis.clone() } else { axis.pad(8 * steps) };
                self.packet = padded.modulo(8);
                // Slices may hold the outer part, if every packet is full.
                if whole && steps == 2 && self.random.chance(40) {
                    self.slice.push(Factor { map: padded.stride(8), axis: Some(name(&axis)) });
                    self.parts.push((name(&axis), vec![padded.modulo(8)]));
                } else {
                    self.time_factor(padded.stride(8), &axis);
                    let mut parts = vec![axis.clone()];
                    if whole {
                        parts.extend([
                            axis.stride(8),
                            axis.modulo(8),
                            Map::sequence(&[axis.modulo(8), axis.stride(8)]),
                        ]);
                    }
                    self.parts.push((name(&axis), parts));
                }
                reduced = Some(name(&axis));
            }
        }
        // A reduced axis in time, or in slices and time.
        if reduces && (reduced.is_none() || self.random.chance(60)) {
            let axis = match self.random.below(4) {
                0 | 1 => {
                    let size = self.random.between(2, 5);
                    let axis = self.names.fresh(size);
                    let padding = if self.random.chance(40) { self.random.between(1, 2) } else { 0 };
                    self.time_factor(
                        if padding > 0 { axis.pad(size + padding) } else { axis.clone() },
                        &axis,
                    );
                    self.parts.push((name(&axis), vec![axis.clone()]));
                    axis
                }
                2 => {
                    // Slices outside, the last ones perhaps not full.
                    let (slices, steps) = (self.random.pick(&[2, 4]), self.random.between(2, 3));
                    let size = slices * steps - self.random.below(steps * 2 - 1);
                    let axis = self.names.fresh(size);
                    let padded = if size < slices * steps { axis.pad(slices * steps) } else { axis.clone() };
                    self.slice.push(Factor { map: padded.stride(steps), axis: Some(name(&axis)) });
                    self.time_factor(padded.modulo(steps), &axis);
                    self.parts.push((name(&axis), vec![padded.modulo(steps)]));
                    axis
                }
                _ => {
                    // Slices inside, the last step perhaps not full.
                    let (slices, steps) = (self.random.pick(&[2, 4]), self.random.between(2, 3));
                    let size = slices * steps - self.random.below(slices);
                    let axis = self.names.fresh(size);
                    let padded = if size < slices * steps { axis.pad(slices * steps) } else { axis.clone() };
                    self.slice.push(Factor { map: padded.modulo(slices), axis: Some(name(&axis)) });
                    self.time_factor(padded.stride(slices), &axis);
                    self.parts.push((name(&axis), vec![]));
                    if size == slices * steps {
                        self.parts.last_mut().expect("it was pushed").1.push(axis.stride(slices));
                    }
                    axis
                }
            };
            reduced = Some(name(&axis));
        }
        // Time that stays.
        for _ in 0..self.random.below(3) {
            let size = self.random.between(2, 4);
            let axis = self.names.fresh(size);
            let cut = size == 4 && self.random.chance(30);
            if cut {
                self.time_factor(axis.stride(2), &axis);
                self.time_factor(axis.modulo(2), &axis);
                self.parts.push((name(&axis), vec![axis.clone(), axis.stride(2), axis.modulo(2)]));
            } else {
                let padded = self.random.chance(20);
                self.time_factor(if padded { axis.pad(size + 1) } else { axis.clone() }, &axis);
                self.parts.push((name(&axis), vec![axis.clone()]));
            }
        }
        if self.random.chance(50) {
            let axis = self.names.fresh(self.random.pick(&[2, 3, 4]));
            let map = if self.random.chance(30) { axis.pad(4) } else { axis.clone() };
            self.slice.insert(0, Factor { map, axis: Some(name(&axis)) });
        }
        // Accumulators: those inside the outermost factor of the axis. The split may add one.
        let own = |factor: &Factor| factor.axis == reduced && reduced.is_some();
        if reduces && let Some(outermost) = self.time.iter().position(own) {
            let inside: usize = self.time[outermost..]
                .iter()
                .filter(|factor| !own(factor))
                .map(|factor| factor.map.size())
                .product();
            if inside > 4 {
                self.time.sort_by_key(own);
            }
        }
        reduced.filter(|_| reduces)
    }

    /// The innermost slice factors, which a reduce between slices takes away.
    fn slices_to_reduce(&mut self) -> Vec<Factor> {
        let mut factors = Vec::new();
        for _ in 0..self.random.between(1, 2) {
            let size = self.random.pick(&[2, 2, 3, 4]);
            let axis = self.names.fresh(size);
            // Three of four slices are padding that a reduce may skip.
            let map = if size == 3 { axis.pad(4) } else { axis.clone() };
            factors.push(Factor { map, axis: Some(name(&axis)) });
        }
        self.slice.extend(factors.clone());
        factors
    }

    fn between(&mut self, factors: Vec<Factor>) {
        let mut free: usize = factors.iter().map(|factor| factor.map.size()).product();
        self.slice.truncate(self.slice.len() - factors.len());
        let mut slots = Vec::new();
        while free > 1 {
            let kept = self.reduced.clone();
            let fits = |factor: &Factor| {
                let whole = factor.map.elements() > 1 && (kept.is_none() || factor.axis != kept);
                whole && free.is_multiple_of(factor.map.size())
            };
            let promotable: Vec<usize> = (0..self.time.len()).filter(|k| fits(&self.time[*k])).collect();
            let (map, axis) = match self.random.below(3) {
                0 if !promotable.is_empty() => {
                    let factor = self.time.remove(self.random.pick(&promotable));
                    self.parts.retain(|(axis, _)| Some(axis) != factor.axis.as_ref());
                    (factor.map, factor.axis)
                }
                1 => {
                    let axis = self.names.fresh(if self.random.chance(50) { free } else { 2 });
                    (axis.clone(), Some(name(&axis)))
                }
                _ => (Map::One.pad(if self.random.chance(50) { free } else { 2 }), None),
            };
            free /= map.size();
            slots.push(Factor { map, axis });
        }
        self.slice.extend(slots);
        let kind = self.kind;
        let ops: Vec<InterOp> = InterOp::ALL.into_iter().filter(|op| op.binary().kind() == kind).collect();
        let op = self.random.pick(&ops);
        self.steps.push(Step::InterReduce { op, slice: sequence(&self.slice), time: sequence(&self.time) });
        self.stash = None;
    }

    fn branch_mode(&mut self) -> BranchMode {
        let mut axes: BTreeSet<String> = self.parts.iter().map(|(axis, _)| axis.clone()).collect();
        axes.extend(self.slice.iter().filter_map(|factor| factor.axis.clone()));
        let axes: Vec<String> = axes.into_iter().collect();
        match self.random.below(4) {
            0 | 1 => BranchMode::Unconditional,
            2 if !axes.is_empty() => BranchMode::AxisToggle(self.random.pick(&axes)),
            _ => {
                let compares = [
                    Compare::Equal,
                    Compare::Less,
                    Compare::Greater,
                    Compare::LessUnsigned,
                    Compare::GreaterUnsigned,
                    Compare::True,
                    Compare::False,
                ];
                BranchMode::Comparison([(); 4].map(|()| InputCmp {
                    compare: self.random.pick(&compares),
                    boundary: random_number(self.random, self.kind),
                }))
            }
        }
    }

    fn unzip(&mut self, axis: &str) {
        let tile = |factor: &Factor| {
            let own = factor.axis.as_deref() == Some(axis);
            Factor { map: if own { Map::One.pad(2) } else { factor.map.clone() }, axis: factor.axis.clone() }
        };
        let tile_time = sequence(&self.time.iter().map(tile).collect::<Vec<_>>());
        self.time.retain(|factor| factor.axis.as_deref() != Some(axis));
        let split_time = sequence(&self.time);
        self.steps.push(Step::Unzip { axis: axis.to_string(), tile_time, split_time });
        self.pair = true;
    }

    /// The stages within a slice, in order.
    fn within(&mut self, reduced: Option<&str>) -> Option<()> {
        let mut zip =
            self.pair.then(|| self.random.pick(&[Stage::Logic, Stage::Fxp, Stage::Fp, Stage::Clip]));
        if zip == Some(Stage::Fxp) && self.kind == Kind::F32 {
            zip = Some(Stage::Logic);
        }
        self.stash_at_times();
        self.cluster(Stage::Logic, zip);
        if zip != Some(Stage::Fxp) {
            self.reinterpret_at_times();
        }
        if self.kind == Kind::I32 {
            self.cluster(Stage::Fxp, zip);
            if zip == Some(Stage::Fp) || self.random.chance(40) {
                let width = self.width();
                self.steps.push(Step::FxpToFp(width));
                self.kind = Kind::F32;
            }
        }
        // Pairs have no reduce before they are zipped.
        let reduced = reduced.filter(|_| !self.pair || zip == Some(Stage::Fp));
        let narrow = reduced.is_some() || zip == Some(Stage::Fp) || self.random.chance(50);
        if narrow {
            self.narrow();
            self.stash_at_times();
            if self.kind == Kind::F32 {
                self.cluster(Stage::Fp, zip);
            }
            if !self.pair || zip != Some(Stage::Fp) {
                self.reinterpret_at_times();
            }
            if let Some(axis) = reduced {
                self.reduce(axis);
            }
            if self.kind == Kind::F32 && self.random.chance(if self.pair { 80 } else { 40 }) {
                self.binary(Binary::FpDiv);
                self.stash_at_times();
            }
            self.widen();
        }
        if self.kind == Kind::F32 && self.random.chance(25) {
            let width = self.width();
            self.steps.push(Step::FpToFxp(width));
            self.kind = Kind::I32;
        }
        self.reinterpret_at_times();
        self.cluster(Stage::Clip, zip);
        (!self.pair).then_some(())
    }

    fn width(&mut self) -> u32 {
        if self.random.chance(40) { 31 } else { self.random.below(32) as u32 }
    }

    fn stash_at_times(&mut self) {
        if self.stash.is_none() && !self.pair && !self.zipped && self.random.chance(25) {
            self.stash = Some(self.kind);
            self.steps.push(Step::Stash);
        }
    }

    fn reinterpret_at_times(&mut self) {
        if self.random.chance(10) {
            self.steps.push(Step::Reinterpret);
            self.kind = if self.kind == Kind::F32 { Kind::I32 } else { Kind::F32 };
        }
    }

    fn narrow(&mut self) {
        let back_is_empty = self.packet.stride(4).equivalent(&Map::One.pad(2));
        let inner = self.packet.modulo(4);
        if back_is_empty && !self.pair && self.random.chance(60) {
            self.packet = inner;
            self.steps.push(Step::TrimWay4 { packet: self.packet.clone() });
            return;
        }
        let outer =
            if back_is_empty && self.random.chance(50) { Map::One.pad(2) } else { self.packet.stride(4) };
        // Which axis the outer part is of matters for a reduce alone.
        let axis = outer.axes().into_keys().next().filter(|_| !back_is_empty).map(|name| name.to_string());
        self.time.push(Factor { map: outer, axis });
        self.packet = inner;
        self.steps.push(Step::Split { time: sequence(&self.time), packet: self.packet.clone() });
    }

    fn widen(&mut self) {
        let innermost = self.time.last().map_or(0, |factor| factor.map.size());
        if innermost == 2 && (self.pair || self.random.chance(85)) {
            let inner = self.time.pop().expect("there is an innermost factor");
            self.packet = Map::sequence(&[inner.map, self.packet.clone()]);
            self.steps.push(Step::Concat { time: sequence(&self.time), packet: self.packet.clone() });
        } else {
            self.packet = self.packet.pad(8);
            self.steps.push(Step::PadWay8 { packet: self.packet.clone() });
        }
    }

    fn reduce(&mut self, axis: &str) {
        let own = |factor: &Factor| factor.axis.as_deref() == Some(axis);
        let in_packet = self.packet.axes().contains_key(axis);
        self.time.retain(|factor| !own(factor));
        if in_packet {
            self.packet = Map::One.pad(4);
        }
        let kind = self.kind;
        let ops: Vec<IntraOp> = IntraOp::ALL.into_iter().filter(|op| op.binary().kind() == kind).collect();
        self.steps.push(Step::IntraReduce {
            axis: axis.to_string(),
            op: self.random.pick(&ops),
            time: sequence(&self.time),
            packet: self.packet.clone(),
        });
        self.parts.retain(|(name, _)| name != axis);
        // What was stashed before holds the axis. Nothing else can be stashed.
        if self.stash.is_some() {
            self.stash = None;
            self.zipped = true;
        }
    }

    fn operators(&self, stage: Stage) -> Vec<Binary> {
        let all: Vec<Binary> = match (stage, self.kind) {
            (Stage::Logic, Kind::I32) => {
                use LogicI32::*;
                let list = [BitAnd, BitOr, BitXor, LeftShift, LogicRightShift, ArithRightShift];
                list.map(Binary::LogicI32).to_vec()
            }
            (Stage::Logic, Kind::F32) => {
                [LogicF32::BitAnd, LogicF32::BitOr, LogicF32::BitXor].map(Binary::LogicF32).to_vec()
            }
            (Stage::Fxp, _) => {
                use Fxp::*;
                let list = [
                    AddFxp,
                    AddFxpSat,
                    SubFxp,
                    SubFxpSat,
                    LeftShift,
                    LeftShiftSat,
                    MulFxp,
                    MulInt,
                    LogicRightShift,
                    ArithRightShift,
                    ArithRightShiftRound,
                ];
                list.map(Binary::Fxp).to_vec()
            }
            (Stage::Fp, _) => {
                use FpBinary::*;
                let list =
                    [AddF, SubF, MulF(Multiplier::Mul0), MulF(Multiplier::Mul1), MulF(Multiplier::Fma), DivF];
                list.map(Binary::Fp).to_vec()
            }
            (_, Kind::I32) => {
                use ClipI32::*;
                [Min, Max, AbsMin, AbsMax, AddFxp, AddFxpSat].map(Binary::ClipI32).to_vec()
            }
            (_, Kind::F32) => {
                use ClipF32::*;
                [Min, Max, AbsMin, AbsMax, Add].map(Binary::ClipF32).to_vec()
            }
        };
        all.into_iter().filter(|op| !self.used.contains(&op.alu())).collect()
    }

    /// Some operators of one cluster, and the zip that belongs there.
    fn cluster(&mut self, stage: Stage, zip: Option<Stage>) {
        let zips = zip == Some(stage) && self.pair;
        let before = self.random.below(if stage == Stage::Fp { 5 } else { 3 });
        self.some(stage, before);
        if zips {
            let ops = self.operators(stage);
            let op = self.random.pick(&ops);
            self.used.insert(op.alu());
            let mode =
                if self.random.chance(60) { BinaryMode::Mode01 } else { self.random.pick(&BinaryMode::ALL) };
            self.steps.push(Step::Zip { op, mode });
            (self.pair, self.zipped) = (false, true);
            let after = self.random.below(2);
            self.some(stage, after);
        }
    }

    fn some(&mut self, stage: Stage, count: usize) {
        for _ in 0..count {
            let free = |function: &Function| !self.used.contains(&function.alu());
            let unary: Vec<Function> = Function::ALL.into_iter().filter(free).collect();
            let ternary = !self.used.contains(&Alu::FpFma);
            let binary = self.operators(stage);
            // A zip to come needs a unit.
            let units: BTreeSet<Alu> = binary.iter().map(|op| op.alu()).collect();
            if units.len() <= usize::from(self.pair) {
                return;
            }
            match self.random.below(4) {
                0 if stage == Stage::Fp && !unary.is_empty() => {
                    let op = self.random.pick(&unary);
                    let groups = self.pair.then(|| [self.random.chance(70), self.random.chance(70)]);
                    if groups != Some([false, false]) {
                        self.used.insert(op.alu());
                    }
                    let condition = if self.pair { Condition::Always } else { self.condition(30) };
                    self.steps.push(Step::Unary { op, mode1: false, condition, groups });
                }
                1 if stage == Stage::Fp && ternary => {
                    let mode = self.random.pick(&TernaryMode::ALL);
                    let operands = self.operands(true, mode.arguments().contains(&1));
                    if operands != Operands::Groups([None, None]) {
                        self.used.insert(Alu::FpFma);
                    }
                    self.steps.push(Step::Ternary { op: FpTernary::FmaF, mode, operands });
                }
                _ => {
                    let op = self.random.pick(&binary);
                    self.binary(op);
                }
            }
            self.stash_at_times();
        }
    }

    fn binary(&mut self, op: Binary) {
        let mode =
            if self.random.chance(60) { BinaryMode::Mode01 } else { self.random.pick(&BinaryMode::ALL) };
        let operands = self.operands(false, mode.arguments().contains(&1));
        if operands != Operands::Groups([None, None]) {
            self.used.insert(op.alu());
        }
        self.steps.push(Step::Binary { op, mode, operands });
    }

    fn operands(&mut self, ternary: bool, used: bool) -> Operands {
        if self.pair {
            let groups = [(); 2].map(|()| {
                self.random.chance(75).then(|| {
                    let condition = self.condition(25);
                    self.operand(ternary, used, condition)
                })
            });
            return Operands::Groups(groups);
        }
        if self.random.chance(65) {
            let condition = self.condition(30);
            return Operands::One(self.operand(ternary, used, condition));
        }
        // The first that matches counts, so the order of slots is part of the meaning.
        if self.random.chance(40) {
            let mut slots: Vec<Condition> = (0..self.random.below(4)).map(|_| self.tags()).collect();
            slots.push(if self.random.chance(50) { Condition::Always } else { self.tags() });
            let list = slots.into_iter().map(|condition| self.operand(ternary, used, condition)).collect();
            return Operands::ArrayVec(list);
        }
        let mut conditions = match self.random.below(6) {
            0 => vec![Condition::Always],
            1 => vec![Condition::Group(0)],
            2 => vec![],
            // The first that matches counts.
            3 => vec![Condition::Group(1), Condition::Always],
            _ => vec![Condition::Group(0), Condition::Group(1)],
        };
        self.random.shuffle(&mut conditions);
        let list: Vec<Operand> =
            conditions.into_iter().map(|condition| self.operand(ternary, used, condition)).collect();
        if self.random.chance(50) { Operands::Array(list) } else { Operands::ArrayVec(list) }
    }

    fn condition(&mut self, percent: usize) -> Condition {
        if self.random.chance(percent) {
            if self.random.chance(50) { self.tags() } else { Condition::Group(self.random.below(2) as u8) }
        } else {
            Condition::Always
        }
    }

    /// A condition on one to four bits.
    fn tags(&mut self) -> Condition {
        let mut bits = [(); 4].map(|()| self.random.chance(40).then(|| self.random.chance(50)));
        let sure = self.random.below(4);
        bits[sure] = Some(self.random.chance(50));
        Condition::Tags { bits, negated: self.random.chance(40) }
    }

    fn operand(&mut self, ternary: bool, used: bool, condition: Condition) -> Operand {
        let stash = used && !self.pair && self.stash == Some(self.kind);
        let source = match self.random.below(4) {
            0 | 1 if stash => Source::Stash,
            2 | 3 if self.vrf.len() < 3 => self.register_file(),
            _ => Source::Constant(random_number(self.random, self.kind)),
        };
        let second = ternary.then(|| match random_number(self.random, Kind::F32) {
            Number::Real(value) => value,
            Number::Integer(_) => unreachable!("a real was asked for"),
        });
        Operand { source, second, condition }
    }

    /// A tensor that holds some of the axes of the stream.
    fn register_file(&mut self) -> Source {
        let mut element = Vec::new();
        for (_, parts) in &self.parts {
            if !parts.is_empty() && self.random.chance(50) {
                element.push(self.random.pick(parts));
            }
        }
        self.random.shuffle(&mut element);
        let mut element = Map::sequence(&element);
        if self.random.chance(20) {
            element = element.pad(element.size().next_multiple_of(8));
        }
        self.vrf.push(VrfTensor { kind: self.kind, slice: sequence(&self.slice), element });
        Source::Vrf(self.vrf.len() - 1)
    }
}
