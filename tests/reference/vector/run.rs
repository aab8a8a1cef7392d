//! A chain, step by step: its verdict, and the values after every step.
//!
//! [`judge`] says whether a chain is legal, and else which rule the first illegal step breaks. [`run`] also gives what
//! leaves every step. A verdict never depends on the data.
//!
//! Within one step the rules are asked in this order: the method exists ([`When::Bound`](super::rules::When)), mappings,
//! operands and their elements, the stash, the unit. A library that knows the mappings earlier than the operands
//! refuses the same chain, but where several steps are illegal it may name another one.
//!
//! What the specification leaves open is in [`Reading`], or the value is [`Lane::Open`].

use super::chain::{BranchMode, Chain, Condition, Data, Operand, Operands, Shape, Source, Step, VrfTensor};
use super::elements::{Group, combine, compare_all, drop_padding, held, matches_id};
use super::operators::{Alu, Binary, FpBinary, FpTernary, Kind, Reading, fp_to_fxp, fxp_to_fp, is_made_nan};
use super::reduce::{Lane, fold, inter, inter_values, intra};
use super::rules::{Broken, Refusal, Rule, Stage, demand};
use super::{shapes, valid_count};
use crate::digits::Projection;
use crate::mapping::{Coordinates, Map, joint_table};
use crate::numbers::Number;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Operands that a list holds at most.
pub const MOST_OPERANDS: usize = 5;

/// A stream after a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub shape: Shape,
    pub kind: Kind,
    /// Row-major over the shape: one list, or one for each group of a pair.
    pub groups: Vec<Vec<Lane>>,
    /// Execution ids, likewise.
    pub ids: Vec<Vec<Option<u8>>>,
}

/// The verdict on a chain: the shapes and types after each step.
///
/// # Errors
/// The first step that is refused.
pub fn judge(chain: &Chain) -> Result<Vec<(Shape, Kind)>, Refusal> {
    let data = Data {
        stream: vec![None; chain.shape.positions()],
        vrf: chain.vrf.iter().map(|tensor| vec![None; tensor.slice.size() * tensor.element.size()]).collect(),
    };
    let snapshots = run(chain, &data, &Reading::default())?;
    Ok(snapshots.into_iter().map(|snapshot| (snapshot.shape, snapshot.kind)).collect())
}

/// The stream after each step. The last one is what leaves the engine.
///
/// # Errors
/// The first step that is refused.
///
/// # Panics
/// When the data do not have the shape or the type of the chain.
pub fn run(chain: &Chain, data: &Data, reading: &Reading) -> Result<Vec<Snapshot>, Refusal> {
    assert_eq!(data.stream.len(), chain.shape.positions(), "one value per position");
    let mut machine = Machine::new(chain, data, *reading);
    let mut snapshots = Vec::new();
    let at = |step: usize| move |(rule, found): Broken| Refusal { step, rule, found };
    for (number, step) in chain.steps.iter().enumerate() {
        machine.step(step).map_err(at(number))?;
        snapshots.push(Snapshot {
            shape: machine.shape.clone(),
            kind: machine.kind,
            groups: machine.groups.iter().map(|group| group.lanes.clone()).collect(),
            ids: machine.groups.iter().map(|group| group.ids.clone()).collect(),
        });
    }
    machine.finish().map_err(at(chain.steps.len()))?;
    Ok(snapshots)
}

/// Where a chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// After `vector_init`.
    Start,
    /// Within a slice.
    Intra(Stage),
    /// After a reduce between slices.
    Inter,
}

/// One stream, two, or one that was two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Context {
    Standalone,
    Group,
    Zipped,
}

/// Elements of a tensor with their values.
#[derive(Clone, Debug)]
struct Held {
    dims: [Map; 3],
    cells: BTreeMap<Coordinates, Lane>,
}

#[derive(Clone, Debug)]
struct Stashed {
    kind: Kind,
    held: Held,
}

/// The mappings where flits are tagged with valid counts, and whether their back halves were trimmed since.
#[derive(Clone, Debug)]
struct Tagged {
    shape: Shape,
    trimmed: bool,
}

struct Machine<'a> {
    chain: &'a Chain,
    data: &'a Data,
    reading: Reading,
    at: At,
    context: Context,
    /// A reduce between slices came first, or came after the part within a slice.
    inter_seen: bool,
    intra_seen: bool,
    way: usize,
    kind: Kind,
    shape: Shape,
    /// The element of every position.
    table: Rc<Vec<Option<Coordinates>>>,
    groups: Vec<Group>,
    stash: Option<Stashed>,
    used: BTreeSet<Alu>,
    tagged: Option<Tagged>,
}

fn lane(value: Option<Number>) -> Lane {
    value.map_or(Lane::Absent, Lane::Is)
}

/// The values of an operand at every position.
type Values = Rc<Vec<Lane>>;

/// Whether a coordinate is the one that a mapping keeps where it keeps the first value alone of an axis: `W = 1`, `W % 1`.
fn keeps_one(map: &Map, index: &Coordinates) -> bool {
    match map {
        Map::One | Map::Axis { .. } => true,
        Map::Pair(left, right) => keeps_one(left, index) && keeps_one(right, index),
        Map::Resize(inner, 1) | Map::Modulo(inner, 1) if inner.size() > 1 => {
            let Ok(digits) = Projection::onto(&[inner]) else { return true };
            digits.apply(index).values().all(|&value| value == 0)
        }
        Map::Stride(inner, _)
        | Map::Modulo(inner, _)
        | Map::Resize(inner, _)
        | Map::Padding(inner, _)
        | Map::Margin(_, inner, _) => keeps_one(inner, index),
    }
}

impl<'a> Machine<'a> {
    fn new(chain: &'a Chain, data: &'a Data, reading: Reading) -> Machine<'a> {
        let table = joint_table(&chain.shape.dims());
        let lanes = data.stream.iter().map(|value| {
            assert!(
                value.is_none_or(|value| Kind::of(value) == chain.kind),
                "{value:?} is no {:?}",
                chain.kind
            );
            lane(*value)
        });
        let mut group = Group { ids: vec![None; table.len()], lanes: lanes.collect() };
        drop_padding(&mut group, &table);
        Machine {
            chain,
            data,
            reading,
            at: At::Start,
            context: Context::Standalone,
            inter_seen: false,
            intra_seen: false,
            way: 8,
            kind: chain.kind,
            shape: chain.shape.clone(),
            table: Rc::new(table),
            groups: vec![group],
            stash: None,
            used: BTreeSet::new(),
            tagged: None,
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), Broken> {
        match step {
            Step::Branch(mode) => self.branch(mode),
            Step::Unzip { axis, tile_time, split_time } => self.unzip(axis, tile_time, split_time),
            Step::InterReduce { op, slice, time } => {
                self.enter_inter(op.binary().kind())?;
                let reduced = inter(&self.shape, slice, time)?;
                let shape =
                    Shape { slice: slice.clone(), time: time.clone(), packet: self.shape.packet.clone() };
                let table = joint_table(&shape.dims());
                let from = (self.table.as_slice(), self.groups[0].lanes.as_slice());
                let lanes = inter_values(*op, &reduced, from, &table, self.reading);
                self.groups = vec![Group { ids: vec![None; table.len()], lanes }];
                (self.shape, self.table) = (shape, Rc::new(table));
                (self.at, self.context, self.inter_seen) = (At::Inter, Context::Standalone, true);
                (self.stash, self.tagged) = (None, None);
                self.used.clear();
                Ok(())
            }
            Step::Binary { op, mode, operands } => {
                let stage = Stage::of(op.cluster());
                let way = if matches!(stage, Stage::Fp | Stage::FpDiv) { 4 } else { 8 };
                self.enter(stage, way, Some(op.kind()))?;
                self.fits_context(operands)?;
                let means = !matches!(op, Binary::Fp(FpBinary::MaskMulF(_)));
                demand(means, Rule::NotImplemented, || format!("{op:?}"))?;
                let arguments = mode.arguments();
                let (op, zeros) = (*op, self.reading.zeros);
                self.operate(operands, op.alu(), &arguments, |numbers| {
                    if op.reads_bits() && numbers.iter().any(|number| is_made_nan(*number)) {
                        return Lane::Open;
                    }
                    Lane::Is(op.apply(numbers[0], numbers[1], zeros).expect("it has a meaning"))
                })
            }
            Step::Ternary { op, mode, operands } => {
                self.enter(Stage::Fp, 4, Some(Kind::F32))?;
                self.fits_context(operands)?;
                demand(*op == FpTernary::FmaF, Rule::NotImplemented, || format!("{op:?}"))?;
                let op = *op;
                self.operate(operands, op.alu(), &mode.arguments(), |numbers| match numbers {
                    [Number::Real(a), Number::Real(b), Number::Real(c)] => {
                        Lane::Is(op.apply(*a, *b, *c).expect("it has a meaning"))
                    }
                    _ => unreachable!("the stage is for reals"),
                })
            }
            Step::Unary { op, mode1, condition, groups } => {
                self.enter(Stage::Fp, 4, Some(Kind::F32))?;
                let pair = self.context == Context::Group;
                demand(pair == groups.is_some(), Rule::Context, || {
                    "one flag per group of a pair".to_string()
                })?;
                demand(!mode1, Rule::UnaryMode, || "a unary operator has no operand".to_string())?;
                let applied = groups.unwrap_or([true, false]);
                if applied.contains(&true) {
                    self.claim(op.alu())?;
                }
                for (group, applied) in self.groups.iter_mut().zip(applied) {
                    let Group { lanes, ids } = group;
                    for (lane, _) in lanes
                        .iter_mut()
                        .zip(ids.iter())
                        .filter(|(_, id)| applied && matches_id(*condition, **id))
                    {
                        if let Lane::Is(Number::Real(x)) = lane {
                            *lane = Lane::Is(op.apply(*x));
                        }
                    }
                }
                Ok(())
            }
            Step::Zip { op, mode } => self.zip(*op, mode.arguments()),
            Step::Reinterpret => {
                let to = if self.kind == Kind::F32 { Kind::I32 } else { Kind::F32 };
                for lane in self.groups.iter_mut().flat_map(|group| &mut group.lanes) {
                    *lane = match *lane {
                        // Which NaN arithmetic makes is open, and so are its bits.
                        Lane::Is(number) if is_made_nan(number) => Lane::Open,
                        Lane::Is(Number::Real(x)) => Lane::Is(Number::Integer(x.to_bits() as i32)),
                        Lane::Is(Number::Integer(x)) => Lane::Is(Number::Real(f32::from_bits(x as u32))),
                        other => other,
                    };
                }
                self.kind = to;
                Ok(())
            }
            Step::FxpToFp(width) => {
                self.enter(Stage::FxpToFp, 8, Some(Kind::I32))?;
                self.convert(*width, Kind::F32, |number, width| match number {
                    Number::Integer(x) => Lane::Is(Number::Real(fxp_to_fp(x, width))),
                    Number::Real(_) => unreachable!("the stage is for integers"),
                })
            }
            Step::FpToFxp(width) => {
                self.enter(Stage::FpToFxp, 8, Some(Kind::F32))?;
                self.convert(*width, Kind::I32, |number, width| match number {
                    number if is_made_nan(number) => Lane::Open,
                    Number::Real(x) => Lane::Is(Number::Integer(fp_to_fxp(x, width))),
                    Number::Integer(_) => unreachable!("the stage is for reals"),
                })
            }
            Step::Split { time, packet } => {
                self.enter(Stage::Narrow, 8, None)?;
                shapes::split([&self.shape.time, &self.shape.packet], [time, packet])?;
                self.relabel(4, time.clone(), packet.clone(), |flat| flat);
                Ok(())
            }
            Step::Concat { time, packet } => {
                self.enter(Stage::Widen, 4, None)?;
                shapes::concat([&self.shape.time, &self.shape.packet], [time, packet])?;
                self.relabel(8, time.clone(), packet.clone(), |flat| flat);
                Ok(())
            }
            Step::TrimWay4 { packet } => {
                self.enter(Stage::Narrow, 8, None)?;
                self.single()?;
                shapes::trim(&self.shape.packet, packet)?;
                if let Some(tagged) = &mut self.tagged {
                    tagged.trimmed = true;
                }
                let places: Vec<Option<usize>> =
                    (0..self.table.len()).filter(|place| place % 8 < 4).map(Some).collect();
                self.relabel(4, self.shape.time.clone(), packet.clone(), |_| places.clone());
                Ok(())
            }
            Step::PadWay8 { packet } => {
                self.enter(Stage::Widen, 4, None)?;
                self.single()?;
                shapes::pad(&self.shape.packet, packet)?;
                let places: Vec<Option<usize>> =
                    (0..2 * self.table.len()).map(|k| (k % 8 < 4).then_some(k / 8 * 4 + k % 4)).collect();
                self.relabel(8, self.shape.time.clone(), packet.clone(), |_| places.clone());
                Ok(())
            }
            Step::IntraReduce { axis, op, time, packet } => {
                self.enter(Stage::IntraSliceReduce, 4, Some(op.binary().kind()))?;
                self.single()?;
                self.claim(Alu::ReduceAccTree)?;
                self.reduce(axis, op.binary(), time, packet)
            }
            Step::Stash => {
                let At::Intra(stage) = self.at else {
                    return Err((Rule::Stage, "only a part within a slice has a stash".to_string()));
                };
                let standalone = self.context == Context::Standalone;
                demand(standalone, Rule::Context, || format!("no stash in {:?}", self.context))?;
                demand(stage.is_stashable(), Rule::NotStashable, || format!("no stash after {stage:?}"))?;
                demand(self.stash.is_none(), Rule::SecondStash, || "something is stashed".to_string())?;
                let dims = self.shape.dims().map(Map::clone);
                let cells = held(&self.table, &self.groups[0].lanes);
                self.stash = Some(Stashed { kind: self.kind, held: Held { dims, cells } });
                Ok(())
            }
            Step::Filter { .. } => {
                demand(self.at != At::Start, Rule::Stage, || "no filter before the first stage".to_string())?;
                let standalone = self.context == Context::Standalone;
                demand(standalone, Rule::Context, || format!("no filter in {:?}", self.context))?;
                demand(self.way == 8, Rule::Way, || format!("packets of {}", self.way))?;
                Err((Rule::NotImplemented, "vector_filter".to_string()))
            }
        }
    }

    fn finish(&self) -> Result<(), Broken> {
        demand(self.at != At::Start, Rule::Stage, || "no stage was passed".to_string())?;
        self.single()?;
        demand(self.way == 8, Rule::Way, || format!("packets of {} leave", self.way))
    }

    /// Moves on to a stage of the part within a slice, if the types allow it.
    fn enter(&mut self, stage: Stage, way: usize, kind: Option<Kind>) -> Result<(), Broken> {
        let At::Intra(before) = self.at else {
            return Err((Rule::Stage, format!("{stage:?} before a branch")));
        };
        demand(self.way == way, Rule::Way, || {
            format!("{stage:?} takes packets of {way}, not of {}", self.way)
        })?;
        demand(before.leads_to(stage), Rule::Stage, || format!("{stage:?} after {before:?}"))?;
        demand(kind.is_none_or(|kind| kind == self.kind), Rule::Scalar, || {
            format!("{stage:?} of {:?}", self.kind)
        })?;
        self.at = At::Intra(stage);
        Ok(())
    }

    fn single(&self) -> Result<(), Broken> {
        demand(self.context != Context::Group, Rule::Context, || "not on a pair".to_string())
    }

    fn enter_inter(&mut self, kind: Kind) -> Result<(), Broken> {
        self.single()?;
        if let At::Intra(stage) = self.at {
            demand(self.way == 8, Rule::Way, || format!("packets of {}", self.way))?;
            demand(stage.leads_to_inter(), Rule::Stage, || {
                format!("a reduce between slices after {stage:?}")
            })?;
        }
        demand(self.at != At::Inter, Rule::Stage, || "two reduces between slices".to_string())?;
        demand(!self.inter_seen, Rule::VeOrder, || "a reduce between slices came before".to_string())?;
        demand(kind == self.kind, Rule::Scalar, || format!("an operator of {kind:?} on {:?}", self.kind))?;
        let packet = &self.shape.packet;
        demand(packet.size() == 8, Rule::EntryPacket, || format!("packet {packet}"))
    }

    /// Starts the part within a slice.
    fn enter_intra(&mut self) -> Result<(), Broken> {
        let may = matches!(self.at, At::Start | At::Inter);
        demand(may, Rule::Stage, || format!("a branch after {:?}", self.at))?;
        demand(!self.intra_seen, Rule::VeOrder, || "a part within a slice came before".to_string())?;
        let packet = &self.shape.packet;
        demand(packet.size() == 8, Rule::EntryPacket, || format!("packet {packet}"))?;
        (self.at, self.intra_seen) = (At::Intra(Stage::Branch), true);
        self.tagged = Some(Tagged { shape: self.shape.clone(), trimmed: false });
        Ok(())
    }

    fn branch(&mut self, mode: &BranchMode) -> Result<(), Broken> {
        self.enter_intra()?;
        let ids: Vec<Option<u8>> = match mode {
            BranchMode::Unconditional => vec![Some(0); self.table.len()],
            BranchMode::AxisToggle(axis) => {
                let known = self.shape.dims().iter().any(|dim| dim.axes().contains_key(axis.as_str()));
                demand(known, Rule::BranchAxis, || format!("axis {axis} is not in {}", self.shape))?;
                let odd = |index: &Coordinates| index.get(axis).copied().unwrap_or(0) % 2;
                self.table.iter().map(|index| Some((odd(index.as_ref()?) as u8) << 3)).collect()
            }
            BranchMode::Comparison(list) => {
                let fits = list.iter().all(|one| Kind::of(one.boundary) == self.kind);
                demand(fits, Rule::BranchScalar, || format!("{list:?} on {:?}", self.kind))?;
                let lanes = &mut self.groups[0].lanes;
                lanes.iter_mut().map(|lane| compare_all(list, lane)).collect()
            }
            BranchMode::ValidCount | BranchMode::Vrf => {
                return Err((Rule::NotImplemented, format!("{mode:?}")));
            }
        };
        self.groups[0].ids = ids;
        drop_padding(&mut self.groups[0], &self.table);
        Ok(())
    }

    fn unzip(&mut self, axis: &str, tile: &Map, split: &Map) -> Result<(), Broken> {
        demand(self.at == At::Start, Rule::Stage, || "an unzip comes first".to_string())?;
        self.enter_intra()?;
        let size = self.chain.axes.iter().find(|(name, _)| name == axis).map_or(0, |(_, size)| *size);
        let outside = [&self.shape.slice, &self.shape.packet];
        let place = shapes::unzip((axis, size), outside, &self.shape.time, tile, split)?;
        let lanes = self.shape.packet.size();
        let group_of = |position: usize| position / lanes % self.shape.time.size() / place % 2;
        let whole = &self.groups[0].lanes;
        let part = |group: usize| -> Vec<usize> {
            (0..whole.len()).filter(|position| group_of(*position) == group).collect()
        };
        let groups: Vec<Group> = (0..2)
            .map(|group| {
                let lanes: Vec<Lane> = part(group).into_iter().map(|position| whole[position]).collect();
                Group { ids: vec![Some(8 * group as u8); lanes.len()], lanes }
            })
            .collect();
        let table: Vec<_> = part(0).into_iter().map(|position| self.table[position].clone()).collect();
        self.groups = groups;
        self.shape.time = split.clone();
        self.table = Rc::new(table);
        self.context = Context::Group;
        self.groups.iter_mut().for_each(|group| drop_padding(group, &self.table));
        Ok(())
    }

    fn claim(&mut self, alu: Alu) -> Result<(), Broken> {
        demand(self.used.insert(alu), Rule::AluUsed(alu), || format!("{alu:?} is already in use"))
    }

    /// A single stream takes lists, a pair one operand for each group.
    fn fits_context(&self, operands: &Operands) -> Result<(), Broken> {
        let pair = matches!(operands, Operands::Groups(_));
        demand(pair == (self.context == Context::Group), Rule::Context, || {
            format!("operands {operands} in {:?}", self.context)
        })
    }

    /// The values of an operand at every position of the stream.
    fn read(&self, held: &Held) -> Result<Vec<Lane>, Broken> {
        let dims: Vec<&Map> = held.dims.iter().collect();
        let projection = Projection::onto(&dims).map_err(|text| (Rule::NoDigits, text))?;
        let mut reached = BTreeSet::new();
        let mut values = Vec::new();
        for index in self.table.iter() {
            let own = index.as_ref().map(|index| projection.apply(index));
            values.push(own.as_ref().and_then(|own| held.cells.get(own)).copied().unwrap_or(Lane::Absent));
            reached.extend(own);
        }
        match held.cells.keys().find(|index| !reached.contains(*index)) {
            Some(index) => Err((Rule::OperandAxes, format!("{} lacks {index:?}", self.shape))),
            None => Ok(values),
        }
    }

    fn vrf(&self, number: usize) -> Result<Vec<Lane>, Broken> {
        let VrfTensor { kind, slice, element } = &self.chain.vrf[number];
        demand(*kind == self.kind, Rule::Scalar, || format!("vrf{number} of {kind:?} on {:?}", self.kind))?;
        let lanes: Vec<Lane> = self.data.vrf[number].iter().map(|value| lane(*value)).collect();
        let cells = held(&joint_table(&[slice, element]), &lanes);
        self.read_slices(slice, &Held { dims: [slice.clone(), element.clone(), Map::One], cells })
    }

    /// The values of a tensor in the register files, of which each slice reads its own. What other slices hold does not matter,
    /// nor which coordinate axes of the slices have that the stream does not name.
    fn read_slices(&self, slice: &Map, held: &Held) -> Result<Vec<Lane>, Broken> {
        let dims: Vec<&Map> = held.dims.iter().collect();
        let projection = Projection::onto(&dims).map_err(|text| (Rule::NoDigits, text))?;
        let of_slices = Projection::onto(&[slice]).map_err(|text| (Rule::NoDigits, text))?;
        let named = Map::sequence(&self.shape.dims().map(Map::clone)).axes();
        let foreign = slice.axes().keys().any(|name| !named.contains_key(name));
        let (files, inside) = (slice.table(), self.shape.time.size() * self.shape.packet.size());
        let (mut reached, mut slices, mut values) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for (k, index) in self.table.iter().enumerate() {
            let mut own = index.as_ref().map(|index| projection.apply(index));
            if let Some(own) = own.as_mut().filter(|_| foreign) {
                let Some(Some(file)) = files.get(k / inside) else {
                    return Err((Rule::OperandAxes, format!("slice {} holds nothing", k / inside)));
                };
                let unnamed = file.iter().filter(|(name, _)| !named.contains_key(*name));
                own.extend(unnamed.map(|(name, value)| (name.clone(), *value)));
            }
            let value = own.as_ref().map(|own| held.cells.get(own).copied());
            // It has an element for each of the stream.
            if value == Some(None) || index.as_ref().is_some_and(|index| !keeps_one(&held.dims[1], index)) {
                return Err((Rule::OperandAxes, format!("the operand holds nothing for position {k}")));
            }
            values.push(value.flatten().unwrap_or(Lane::Absent));
            slices.extend(own.as_ref().map(|own| of_slices.apply(own)));
            reached.extend(own);
        }
        let mut missed = held.cells.keys().filter(|index| !reached.contains(*index));
        match missed.find(|index| slices.contains(&of_slices.apply(index))) {
            Some(index) => Err((Rule::OperandAxes, format!("{} lacks {index:?}", self.shape))),
            None => Ok(values),
        }
    }

    /// The operand itself at every position. `used`: whether the mode has it as an argument.
    fn operand(&self, operand: &Operand, used: bool) -> Result<Values, Broken> {
        let values = match operand.source {
            Source::Constant(value) => {
                demand(Kind::of(value) == self.kind, Rule::Scalar, || {
                    format!("{value:?} on {:?}", self.kind)
                })?;
                vec![Lane::Is(value); self.table.len()]
            }
            Source::Vrf(number) => self.vrf(number)?,
            // A stash that nobody reads is not asked for.
            Source::Stash if !used => vec![Lane::Absent; self.table.len()],
            Source::Stash => {
                let Some(stash) = &self.stash else {
                    return Err((Rule::StashMissing, "nothing was stashed".to_string()));
                };
                let values = self.read(&stash.held)?;
                demand(stash.kind == self.kind, Rule::StashScalar, || {
                    format!("stashed as {:?}, requested as {:?}", stash.kind, self.kind)
                })?;
                values
            }
        };
        Ok(Rc::new(values))
    }

    /// Applies an operator to the arguments that are named: 0 the stream, 1 the operand, 2 the second operand.
    fn operate(
        &mut self,
        operands: &Operands,
        alu: Alu,
        arguments: &[usize],
        compute: impl Fn(&[Number]) -> Lane,
    ) -> Result<(), Broken> {
        let list = operands.list();
        demand(list.len() <= MOST_OPERANDS, Rule::OperandCount, || format!("{} operands", list.len()))?;
        if matches!(operands, Operands::Array(_)) {
            let always = list.iter().filter(|operand| operand.condition == Condition::Always).count();
            demand(always <= 1, Rule::ManyAlways, || format!("{always} operands are for all elements"))?;
        }
        let ternary = arguments.len() == 3;
        let fits = list.iter().all(|operand| operand.second.is_some() == ternary);
        demand(fits, Rule::Context, || "a second operand is for ternary operators".to_string())?;
        let used = arguments.contains(&1);
        let values = list.iter().map(|operand| self.operand(operand, used)).collect::<Result<Vec<_>, _>>()?;
        let resolved: Vec<(Operand, Values)> = list.into_iter().zip(values).collect();
        let mut resolved = resolved.into_iter();
        let lists: Vec<Vec<(Operand, Values)>> = match operands {
            Operands::Groups(groups) => {
                groups.iter().map(|group| group.iter().filter_map(|_| resolved.next()).collect()).collect()
            }
            _ => vec![resolved.collect()],
        };
        let skipped = matches!(operands, Operands::Groups([None, None]));
        if !skipped {
            self.claim(alu)?;
        }
        let first_match = self.reading.first_match;
        for (group, list) in self.groups.iter_mut().zip(lists) {
            for position in 0..self.table.len() {
                for (operand, values) in &list {
                    if !matches_id(operand.condition, group.ids[position]) {
                        continue;
                    }
                    let stream = group.lanes[position];
                    let second = operand.second.map_or(Lane::Absent, |value| Lane::Is(Number::Real(value)));
                    let choice = [stream, values[position], second];
                    // What is open may have an open id as well: it stays open.
                    if stream != Lane::Open {
                        group.lanes[position] = combine(arguments.iter().map(|k| choice[*k]), &compute);
                    }
                    if first_match {
                        break;
                    }
                }
            }
            drop_padding(group, &self.table);
        }
        Ok(())
    }

    fn zip(&mut self, op: Binary, arguments: [usize; 2]) -> Result<(), Broken> {
        let stage = Stage::of(op.cluster());
        demand(self.context == Context::Group, Rule::Context, || {
            "a zip joins the groups of a pair".to_string()
        })?;
        demand(stage != Stage::FpDiv, Rule::Context, || "no zip divides in the reduce unit".to_string())?;
        self.enter(stage, if stage == Stage::Fp { 4 } else { 8 }, Some(op.kind()))?;
        let means = !matches!(op, Binary::Fp(FpBinary::MaskMulF(_)));
        demand(means, Rule::NotImplemented, || format!("{op:?}"))?;
        self.claim(op.alu())?;
        let zeros = self.reading.zeros;
        let compute = |numbers: &[Number]| {
            if op.reads_bits() && numbers.iter().any(|number| is_made_nan(*number)) {
                return Lane::Open;
            }
            Lane::Is(op.apply(numbers[0], numbers[1], zeros).expect("it has a meaning"))
        };
        let [first, second] = [&self.groups[0], &self.groups[1]];
        let lanes = (first.lanes.iter().zip(&second.lanes))
            .map(|(a, b)| match (a, b) {
                // Both must be there, whatever the mode takes.
                (Lane::Absent, _) | (_, Lane::Absent) => Lane::Absent,
                _ => combine(arguments.iter().map(|k| [*a, *b][*k]), compute),
            })
            .collect();
        self.groups = vec![Group { lanes, ids: second.ids.clone() }];
        self.context = Context::Zipped;
        Ok(())
    }

    fn convert(&mut self, width: u32, kind: Kind, value: impl Fn(Number, u32) -> Lane) -> Result<(), Broken> {
        demand(width < 32, Rule::IntWidth, || format!("int_width {width}, at most 31"))?;
        for lane in self.groups.iter_mut().flat_map(|group| &mut group.lanes) {
            if let Lane::Is(number) = *lane {
                *lane = value(number, width);
            }
        }
        self.kind = kind;
        Ok(())
    }

    /// The lanes in another arrangement: `places` names the position that each new one takes its content from.
    fn relabel(
        &mut self,
        way: usize,
        time: Map,
        packet: Map,
        places: impl Fn(Vec<Option<usize>>) -> Vec<Option<usize>>,
    ) {
        let places = places((0..self.table.len()).map(Some).collect());
        for group in &mut self.groups {
            group.lanes = places.iter().map(|place| place.map_or(Lane::Absent, |k| group.lanes[k])).collect();
            group.ids = places.iter().map(|place| place.and_then(|k| group.ids[k])).collect();
        }
        self.table = Rc::new(places.iter().map(|place| self.table[(*place)?].clone()).collect());
        (self.way, self.shape.time, self.shape.packet) = (way, time, packet);
    }

    fn reduce(&mut self, axis: &str, op: Binary, time2: &Map, packet2: &Map) -> Result<(), Broken> {
        let plan = intra(&self.shape, axis, time2, packet2)?;
        let size = self.chain.axes.iter().find(|(name, _)| name == axis).map_or(0, |(_, size)| *size);
        let tagged = self.tagged.as_ref().expect("a part within a slice tags its flits");
        valid_count::check(&tagged.shape, axis, size, tagged.trimmed)?;
        let shape = Shape { slice: self.shape.slice.clone(), time: time2.clone(), packet: packet2.clone() };
        let table = joint_table(&shape.dims());
        let (steps, lanes) = (self.shape.time.size(), self.shape.packet.size());
        // Elements of each output position with their coordinate on the axis.
        let mut parts: Vec<Vec<(usize, Lane, Option<u8>)>> = vec![Vec::new(); table.len()];
        for (position, index) in self.table.iter().enumerate() {
            let Some(index) = index else { continue };
            let (slice, step, lane) = (position / lanes / steps, position / lanes % steps, position % lanes);
            let [to_step, to_lane] = plan.target[step][lane];
            let target = (slice * time2.size() + to_step) * packet2.size() + to_lane;
            let coordinate = index.get(axis).copied().unwrap_or(0);
            parts[target].push((coordinate, self.groups[0].lanes[position], self.groups[0].ids[position]));
        }
        let mut group = Group { lanes: Vec::new(), ids: Vec::new() };
        for mut part in parts {
            part.sort_by_key(|(coordinate, ..)| *coordinate);
            let lanes: Vec<Lane> = part.iter().map(|(_, lane, _)| *lane).collect();
            group.lanes.push(fold(op, &lanes, self.reading));
            let last = part.iter().rfind(|(_, lane, _)| *lane != Lane::Absent);
            group.ids.push(last.and_then(|(.., id)| *id));
        }
        drop_padding(&mut group, &table);
        self.groups = vec![group];
        (self.shape, self.table) = (shape, Rc::new(table));
        Ok(())
    }
}
