//! The Vector Engine: a program over the whole stream of a slice, one operator at a time over blocks of lanes.
//!
//! ```text
//!   stream of a slice   ├── block ──┤├── block ──┤ …      steps that work lane by lane: all of them on a block,
//!                                                         then the next block, as a block stays in the cache
//!   reduce, trim, pad   ├────────── whole ─────────┤
//! ```

mod inter;
mod lanes;
mod path;
mod reduce;
mod stream;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::chip::memory::Unit;
use crate::chip::memory::place::Coordinates;
use crate::chip::memory::row::{Line, Row};
use crate::command::{
    BinaryArgMode, BinaryOperator, Branch, FpTernaryOp, FpUnaryOp, InputCmp, OperandSource, Region,
    StreamShape, TernaryArgMode, Transfer, ValidBranchIds, Vector, VectorStep,
};
use crate::list::List;
use crate::mapping::GuardDigit;
use crate::mapping::guard::rows::LiveRows;
use crate::scalar::ElementType;
use core::ops::Range;
use inter::InterPlan;
use lanes::Lanes;
use path::{Job, Path};
use reduce::ReducePlan;
pub(crate) use stream::LaneRow;
use stream::{Ids, NO_ID, group_id, holds};

/// Lanes that all steps work on before the next ones: 16 KiB.
const BLOCK_LANES: usize = 4096;

/// A place that no element goes to.
const NOWHERE: u32 = u32::MAX;

/// What does not differ between slices.
#[derive(Debug)]
pub(crate) struct VectorPlan {
    parts: Vec<Part>,
    /// What follows an exchange between slices.
    across: Option<(InterPlan, Vec<Part>)>,
    /// The tensors in the VRF.
    tensors: Vec<Region>,
    live: LiveRows,
    end: StreamShape,
    path: Path,
}

/// Steps that go together.
#[derive(Debug)]
enum Part {
    /// Steps that work lane by lane.
    Lanes(Vec<LaneStep>),
    /// Two groups, with so many positions between the two elements of a pair.
    Unzip(usize),
    Zip(BinaryOperator, BinaryArgMode),
    Stash,
    /// Of so many lanes, four stay.
    Trim(usize, usize),
    /// So many lanes become more.
    Pad(usize, usize),
    Reduce(ReducePlan),
}

/// A step that works lane by lane.
#[derive(Debug)]
enum LaneStep {
    Branch(IdRule),
    Binary(BinaryOperator, BinaryArgMode, Vec<Input>),
    Unary(FpUnaryOp, ValidBranchIds),
    Ternary(FpTernaryOp, TernaryArgMode, Vec<Input>),
    FixedToFloat(u32),
    FloatToFixed(u32),
}

/// Where execution ids come from.
#[derive(Debug)]
enum IdRule {
    Zero,
    /// The digits of an axis, and the lanes per packet.
    Toggle(List<GuardDigit, { crate::command::TOGGLE_DIGITS }>, usize),
    Compare([InputCmp; 4]),
}

/// An operand that was prepared.
#[derive(Debug)]
struct Input {
    ids: ValidBranchIds,
    source: Source,
    /// The second operand of a ternary operator.
    constant: f32,
}

#[derive(Debug)]
enum Source {
    /// The same for all, or not looked at.
    Constant(u32),
    /// Elements of the tensor with this number.
    Vrf(usize, Places),
    Stash(Places),
}

/// Which element goes to which lane.
#[derive(Debug)]
enum Places {
    /// Each to its own.
    Same,
    /// One for all.
    One(u32),
    /// The number of the element for each lane, or [`NOWHERE`].
    Table(Vec<u32>),
}

impl Places {
    /// The elements of a transfer to so many lanes.
    fn new(transfer: &Transfer, lanes: usize) -> Self {
        let loops = transfer.loops.as_slice();
        let still = |own: &crate::command::TransferLoop| own.source == own.destination;
        let first = transfer.source_start.is_first() && transfer.destination_start.is_first();
        if first && transfer.guard.is_always() && loops.iter().all(still) {
            let mut steps: Vec<(usize, usize)> =
                loops.iter().map(|own| (own.source.elements, own.size)).filter(|own| own.1 != 1).collect();
            steps.sort_unstable();
            let whole = steps
                .iter()
                .try_fold(1, |inside: usize, &(step, size)| (step == inside).then_some(inside * size));
            if whole == Some(lanes) {
                return Places::Same;
            }
        }
        let mut table = vec![NOWHERE; lanes];
        let mut indices = vec![0; loops.len()];
        let total: usize = loops.iter().map(|own| own.size).product();
        for _ in 0..total {
            if transfer.guard.holds(&indices) {
                let (mut from, mut to) =
                    (transfer.source_start.elements, transfer.destination_start.elements);
                for (own, index) in loops.iter().zip(&indices) {
                    from += (own.source.elements * index) as isize;
                    to += (own.destination.elements * index) as isize;
                }
                let place = usize::try_from(to).ok().and_then(|to| table.get_mut(to));
                if let (Some(place), Ok(from)) = (place, u32::try_from(from)) {
                    *place = from;
                }
            }
            for (index, own) in indices.iter_mut().zip(loops).rev() {
                *index += 1;
                if *index < own.size {
                    break;
                }
                *index = 0;
            }
        }
        match table.first() {
            Some(&first) if first != NOWHERE && table.iter().all(|&from| from == first) => Places::One(first),
            _ if (0..).zip(&table).all(|(lane, &from)| lane == from) => Places::Same,
            _ => Places::Table(table),
        }
    }

    /// The element of a lane.
    fn element(&self, lane: usize) -> Option<usize> {
        let from = match self {
            Places::Same => return Some(lane),
            Places::One(from) => *from,
            Places::Table(table) => *table.get(lane)?,
        };
        (from != NOWHERE).then_some(from as usize)
    }

    /// The elements that are used, each once.
    fn elements(&self, lanes: usize) -> Vec<usize> {
        let mut all: Vec<usize> = match self {
            Places::One(from) => vec![*from as usize],
            _ => (0..lanes).filter_map(|lane| self.element(lane)).collect(),
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// What a thread needs; used again for the next slice.
#[derive(Debug)]
pub(crate) struct VectorBuffers {
    stream: LaneRow,
    /// Group 1, while there are two.
    other: LaneRow,
    stash: LaneRow,
    sums: LaneRow,
    /// The tensors in the VRF.
    tensors: Vec<LaneRow>,
    row: Row,
    /// The operand of a block.
    operand: LaneRow,
    /// The block before a step whose operands are for some elements only, and what one of them makes of it.
    before: LaneRow,
    made: LaneRow,
    ids: Ids,
    mask: Vec<bool>,
}

impl Default for VectorBuffers {
    fn default() -> Self {
        Self {
            stream: LaneRow::default(),
            other: LaneRow::default(),
            stash: LaneRow::default(),
            sums: LaneRow::default(),
            tensors: Vec::new(),
            row: Row::new(ElementType::I32),
            operand: LaneRow::default(),
            before: LaneRow::default(),
            made: LaneRow::default(),
            ids: Ids::Same(0),
            mask: Vec::new(),
        }
    }
}

/// An operand that nobody wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MissingOperand {
    /// The tensor.
    pub(crate) source: Region,
    /// Its element.
    pub(crate) element: usize,
}

impl VectorPlan {
    /// Prepares a program for a stream of this shape.
    pub(crate) fn new(vector: &Vector, before: StreamShape) -> Self {
        let (mut parts, mut tensors) = (Vec::new(), Vec::new());
        let mut across: Option<(InterPlan, Vec<Part>)> = None;
        let mut shape = before;
        for step in &vector.steps {
            let lanes = shape.time * shape.lanes;
            let mut source = |source: &OperandSource, used: bool| match source {
                _ if !used => Source::Constant(0),
                OperandSource::Constant(bits) => Source::Constant(*bits),
                OperandSource::Stash(transfer) => Source::Stash(Places::new(transfer, lanes)),
                OperandSource::Vrf(own) => {
                    let known = tensors.iter().position(|region| *region == own.source);
                    let number = known.unwrap_or_else(|| {
                        tensors.push(own.source);
                        tensors.len() - 1
                    });
                    Source::Vrf(number, Places::new(&own.transfer, lanes))
                }
            };
            let own = match step {
                VectorStep::Branch(Branch::Unconditional) => Some(LaneStep::Branch(IdRule::Zero)),
                VectorStep::Branch(Branch::AxisToggle { digits }) => {
                    Some(LaneStep::Branch(IdRule::Toggle(*digits, shape.lanes)))
                }
                VectorStep::Branch(Branch::Comparison(all)) => Some(LaneStep::Branch(IdRule::Compare(*all))),
                VectorStep::Binary { op, mode, operands } => {
                    let used = mode.arguments().contains(&1);
                    let input = |input: &crate::command::BinaryInput| Input {
                        ids: input.ids,
                        source: source(&input.source, used),
                        constant: 0.0,
                    };
                    Some(LaneStep::Binary(*op, *mode, operands.iter().map(input).collect()))
                }
                VectorStep::Ternary { op, mode, operands } => {
                    let used = mode.arguments().contains(&1);
                    let input = |input: &crate::command::TernaryInput| Input {
                        ids: input.ids,
                        source: source(&input.source, used),
                        constant: input.constant,
                    };
                    Some(LaneStep::Ternary(*op, *mode, operands.iter().map(input).collect()))
                }
                VectorStep::Unary { op, ids } => Some(LaneStep::Unary(*op, *ids)),
                VectorStep::FxpToFp { int_width } => Some(LaneStep::FixedToFloat(*int_width)),
                VectorStep::FpToFxp { int_width } => Some(LaneStep::FloatToFixed(*int_width)),
                _ => None,
            };
            let next = step.shape(shape);
            if let VectorStep::InterSliceReduce(own) = step {
                across = Some((InterPlan::new(own, shape), Vec::new()));
                shape = next;
                continue;
            }
            let parts = across.as_mut().map_or(&mut parts, |(_, parts)| parts);
            match (step, own) {
                (_, Some(own)) => match parts.last_mut() {
                    Some(Part::Lanes(steps)) => steps.push(own),
                    _ => parts.push(Part::Lanes(vec![own])),
                },
                (VectorStep::Unzip { step }, _) => parts.push(Part::Unzip(*step)),
                (VectorStep::Zip { op, mode }, _) => parts.push(Part::Zip(*op, *mode)),
                (VectorStep::Stash, _) => parts.push(Part::Stash),
                (VectorStep::Trim, _) => parts.push(Part::Trim(next.lanes, shape.lanes)),
                (VectorStep::Pad, _) => parts.push(Part::Pad(shape.lanes, next.lanes)),
                (VectorStep::IntraSliceReduce(own), _) => {
                    parts.push(Part::Reduce(ReducePlan::new(own, shape)))
                }
                // Positions stay.
                _ => {}
            }
            shape = next;
        }
        let live = LiveRows::new(&vector.guard, 4, before.lanes);
        Self { parts, across, tensors, live, end: shape, path: Path::best() }
    }

    /// Which lanes of the incoming stream hold an element.
    pub(crate) fn live(&self) -> &LiveRows {
        &self.live
    }

    /// The first element of a tensor in the VRF that a slice uses and nobody wrote.
    /// `takes_part`: the slice fetches something; others only get something behind an exchange.
    pub(crate) fn find_missing_operand(
        &self,
        unit: &Unit,
        at: Coordinates,
        takes_part: bool,
    ) -> Option<MissingOperand> {
        let before = if takes_part { &self.parts[..] } else { &[] };
        let behind = self.across.iter().flat_map(|(_, parts)| parts);
        let steps = before.iter().chain(behind).flat_map(|part| match part {
            Part::Lanes(steps) => &steps[..],
            _ => &[],
        });
        for input in steps.flat_map(|step| match step {
            LaneStep::Binary(.., inputs) | LaneStep::Ternary(.., inputs) => &inputs[..],
            _ => &[],
        }) {
            let Source::Vrf(number, places) = &input.source else { continue };
            let source = self.tensors[*number];
            let start = source.address as usize;
            if unit.vrf.all_initialised(start..start + source.footprint.bytes()) {
                continue;
            }
            let size = source.footprint.element.bits() / 8;
            let is_live =
                |element: usize| source.footprint.guard.holds(&[at.chip, at.cluster, at.slice, element]);
            let is_missing = |element: usize| {
                let byte = start + element * size;
                !unit.vrf.all_initialised(byte..byte + size)
            };
            // As many elements as the VRF has: those behind the tensor are another check's.
            let elements = places.elements(source.footprint.elements);
            if let Some(&element) = elements.iter().find(|&&element| is_live(element) && is_missing(element))
            {
                return Some(MissingOperand { source, element });
            }
        }
        None
    }

    /// Whether slices exchange elements.
    pub(crate) fn crosses_slices(&self) -> bool {
        self.across.is_some()
    }

    /// Runs the program on the stream of a slice.
    pub(crate) fn run(
        &self,
        input: &Row,
        (unit, at): (&Unit, Coordinates),
        buffers: &mut VectorBuffers,
        output: &mut Row,
    ) {
        buffers.stream.load(input);
        self.run_parts(&self.parts, (unit, at), buffers);
        buffers.stream.store(self.end.element, output);
    }

    /// Runs the program up to the exchange between slices, without padding.
    pub(crate) fn run_before(
        &self,
        input: &Row,
        (unit, at): (&Unit, Coordinates),
        buffers: &mut VectorBuffers,
    ) -> LaneRow {
        buffers.stream.load(input);
        self.run_parts(&self.parts, (unit, at), buffers);
        let VectorBuffers { stream, mask, .. } = buffers;
        if let Some((plan, _)) = &self.across {
            plan.drop_padding(at, stream, mask);
        }
        core::mem::take(stream)
    }

    /// The streams of all slices behind the exchange.
    pub(crate) fn exchange(&self, streams: &[Option<LaneRow>]) -> Vec<Option<LaneRow>> {
        self.across.as_ref().map_or_else(Vec::new, |(plan, _)| plan.exchange(self.path, streams))
    }

    /// Runs the program behind the exchange between slices.
    pub(crate) fn run_behind(
        &self,
        stream: LaneRow,
        (unit, at): (&Unit, Coordinates),
        buffers: &mut VectorBuffers,
        output: &mut Row,
    ) {
        buffers.stream = stream;
        let parts = self.across.as_ref().map_or(&[][..], |(_, parts)| parts);
        self.run_parts(parts, (unit, at), buffers);
        buffers.stream.store(self.end.element, output);
    }

    fn run_parts(&self, parts: &[Part], (unit, at): (&Unit, Coordinates), buffers: &mut VectorBuffers) {
        buffers.ids = Ids::Same(0);
        buffers.tensors.resize_with(self.tensors.len(), LaneRow::default);
        for (region, tensor) in self.tensors.iter().zip(&mut buffers.tensors) {
            let footprint = &region.footprint;
            let line =
                Line { unit: 0, address: region.address, position: 0, stride: 1, len: footprint.elements };
            buffers.row.clear(footprint.element);
            buffers.row.read(&unit.vrf, line);
            tensor.load(&buffers.row);
        }
        let mut groups = 1;
        for part in parts {
            match part {
                Part::Lanes(steps) if groups == 2 => {
                    for group in 0..2 {
                        buffers.ids = Ids::Same(group_id(group));
                        self.run_lanes(steps, at, buffers);
                        let VectorBuffers { stream, other, .. } = &mut *buffers;
                        core::mem::swap(stream, other);
                    }
                }
                Part::Lanes(steps) => self.run_lanes(steps, at, buffers),
                Part::Unzip(step) => {
                    let VectorBuffers { stream, other, .. } = &mut *buffers;
                    stream.unzip(*step, other);
                    groups = 2;
                }
                Part::Zip(op, mode) => {
                    let VectorBuffers { stream, other, ids, .. } = &mut *buffers;
                    let len = stream.values.len();
                    let flags = (!other.flags.is_empty()).then_some(&other.flags[..]);
                    set_flags(true, flags, 0..len, stream);
                    let job = Job::Binary(*op, *mode, Lanes::Each(&other.values));
                    self.path.run(job, &mut stream.values);
                    (*ids, groups) = (Ids::Same(group_id(1)), 1);
                }
                Part::Stash => {
                    let VectorBuffers { stream, stash, .. } = buffers;
                    stash.copy(stream);
                }
                Part::Trim(kept, of) => {
                    buffers.stream.trim(*kept, *of);
                    buffers.ids.trim(*kept, *of);
                }
                Part::Pad(from, to) => {
                    buffers.stream.pad(*from, *to);
                    buffers.ids.pad(*from, *to);
                }
                Part::Reduce(plan) => {
                    let VectorBuffers { stream, sums, mask, ids, .. } = buffers;
                    plan.run(self.path, at, (stream, ids), sums, mask);
                }
            }
        }
    }

    fn run_lanes(&self, steps: &[LaneStep], at: Coordinates, buffers: &mut VectorBuffers) {
        let len = buffers.stream.values.len();
        for start in (0..len).step_by(BLOCK_LANES) {
            let block = start..(start + BLOCK_LANES).min(len);
            for step in steps {
                match step {
                    LaneStep::Branch(rule) => give_ids(rule, at, block.clone(), buffers),
                    LaneStep::Binary(op, mode, inputs) => {
                        let uses = mode.arguments();
                        self.conditional(inputs, uses.contains(&0), block.clone(), buffers, |_, operand| {
                            Job::Binary(*op, *mode, operand)
                        });
                    }
                    LaneStep::Ternary(op, mode, inputs) => {
                        let uses = mode.arguments();
                        self.conditional(
                            inputs,
                            uses.contains(&0),
                            block.clone(),
                            buffers,
                            |input, operand| Job::Ternary(*op, *mode, operand, input.constant),
                        );
                    }
                    LaneStep::Unary(op, ids) => {
                        let input = Input { ids: *ids, source: Source::Constant(0), constant: 0.0 };
                        let inputs = core::slice::from_ref(&input);
                        self.conditional(inputs, true, block.clone(), buffers, |_, _| Job::Unary(*op));
                    }
                    LaneStep::FixedToFloat(bits) => {
                        self.path.run(Job::FixedToFloat(*bits), &mut buffers.stream.values[block.clone()]);
                    }
                    LaneStep::FloatToFixed(bits) => {
                        self.path.run(Job::FloatToFixed(*bits), &mut buffers.stream.values[block.clone()]);
                    }
                }
            }
        }
    }

    /// A step whose operands are for some elements each. Of several, the first one counts, as in the hardware of the later
    /// editions of the manual.
    fn conditional(
        &self,
        inputs: &[Input],
        uses_stream: bool,
        block: Range<usize>,
        buffers: &mut VectorBuffers,
        job: impl for<'a> Fn(&Input, Lanes<'a>) -> Job<'a>,
    ) {
        let VectorBuffers { stream, stash, tensors, operand, before, made, ids, .. } = buffers;
        let tables = (&*stash, &tensors[..]);
        let each = match ids {
            Ids::Same(id) => {
                if let Some(input) = inputs.iter().find(|input| holds(input.ids, *id)) {
                    let lanes = fetch(input, tables, block.clone(), operand);
                    let missing = (!operand.flags.is_empty()).then_some(&operand.flags[..]);
                    set_flags(uses_stream, missing, block.clone(), stream);
                    self.path.run(job(input, lanes_of(lanes, operand)), &mut stream.values[block]);
                }
                return;
            }
            Ids::Each(ids) => &ids[block.clone()],
        };
        if inputs.iter().all(|input| input.ids == ValidBranchIds::ValidAlways) && !each.contains(&NO_ID) {
            // The first one is for all.
            if let Some(input) = inputs.first() {
                let lanes = fetch(input, tables, block.clone(), operand);
                let missing = (!operand.flags.is_empty()).then_some(&operand.flags[..]);
                set_flags(uses_stream, missing, block.clone(), stream);
                self.path.run(job(input, lanes_of(lanes, operand)), &mut stream.values[block]);
            }
            return;
        }
        before.values.clear();
        before.values.extend_from_slice(&stream.values[block.clone()]);
        before.flags.clear();
        before.flags.extend_from_slice(stream.flags.get(block.clone()).unwrap_or(&[]));
        // The last one first, so that the first one has the last word.
        for input in inputs.iter().rev() {
            made.copy(before);
            let lanes = fetch(input, tables, block.clone(), operand);
            let missing = (!operand.flags.is_empty()).then_some(&operand.flags[..]);
            let len = made.values.len();
            set_flags(uses_stream, missing, 0..len, made);
            self.path.run(job(input, lanes_of(lanes, operand)), &mut made.values);
            let own = &mut stream.values[block.clone()];
            for ((lane, new), &id) in own.iter_mut().zip(&made.values).zip(each) {
                *lane = if holds(input.ids, id) { *new } else { *lane };
            }
            if !made.flags.is_empty() || !stream.flags.is_empty() {
                let flags = &mut stream.all_flags()[block.clone()];
                for (k, (flag, &id)) in flags.iter_mut().zip(each).enumerate() {
                    let new = made.flags.get(k).copied().unwrap_or(true);
                    *flag = if holds(input.ids, id) { new } else { *flag };
                }
            }
        }
    }
}

/// What [`fetch`] found.
#[derive(Clone, Copy)]
enum Fetched {
    Constant(u32),
    /// In the buffer of the operand.
    Each,
}

fn lanes_of(fetched: Fetched, operand: &LaneRow) -> Lanes<'_> {
    match fetched {
        Fetched::Constant(bits) => Lanes::Constant(bits),
        Fetched::Each => Lanes::Each(&operand.values),
    }
}

/// Brings an operand for a block of lanes.
fn fetch(
    input: &Input,
    (stash, tensors): (&LaneRow, &[LaneRow]),
    block: Range<usize>,
    operand: &mut LaneRow,
) -> Fetched {
    operand.flags.clear();
    let (table, places) = match &input.source {
        Source::Constant(bits) => return Fetched::Constant(*bits),
        Source::Vrf(number, places) => (&tensors[*number], places),
        Source::Stash(places) => (stash, places),
    };
    let is_written =
        |element: usize| element < table.values.len() && (table.flags.is_empty() || table.flags[element]);
    match places {
        Places::One(element) => {
            let element = *element as usize;
            if !is_written(element) {
                operand.flags.resize(block.len(), false);
            }
            return Fetched::Constant(table.values.get(element).copied().unwrap_or(0));
        }
        Places::Same if block.end <= table.values.len() => {
            operand.values.clear();
            operand.values.extend_from_slice(&table.values[block.clone()]);
            operand.flags.extend_from_slice(table.flags.get(block).unwrap_or(&[]));
        }
        Places::Same | Places::Table(_) => {
            operand.values.clear();
            let mut whole = table.flags.is_empty();
            operand.values.extend(block.clone().map(|lane| match places.element(lane) {
                Some(element) if element < table.values.len() => table.values[element],
                _ => {
                    whole = false;
                    0
                }
            }));
            if !whole {
                operand.flags.extend(block.map(|lane| places.element(lane).is_some_and(is_written)));
            }
        }
    }
    Fetched::Each
}

/// The result of an operator is none where one of its arguments is.
fn set_flags(uses_stream: bool, missing: Option<&[bool]>, block: Range<usize>, stream: &mut LaneRow) {
    match (uses_stream, missing) {
        (true, None) => {}
        (false, None) if stream.flags.is_empty() => {}
        (false, None) => stream.flags[block].fill(true),
        (true, Some(flags)) => {
            let own = &mut stream.all_flags()[block];
            own.iter_mut().zip(flags).for_each(|(own, &flag)| *own &= flag);
        }
        (false, Some(flags)) => stream.all_flags()[block].copy_from_slice(flags),
    }
}

/// Gives the lanes of a block their execution ids.
fn give_ids(rule: &IdRule, at: Coordinates, block: Range<usize>, buffers: &mut VectorBuffers) {
    let VectorBuffers { stream, ids, .. } = buffers;
    if let IdRule::Zero = rule {
        *ids = Ids::Same(0);
        return;
    }
    if block.start == 0 || !matches!(ids, Ids::Each(_)) {
        *ids = Ids::Each(Vec::with_capacity(stream.values.len()));
    }
    let Ids::Each(all) = ids else { return };
    match rule {
        IdRule::Zero => {}
        IdRule::Toggle(digits, lanes) => all.extend(block.map(|position| {
            let variables = [at.chip, at.cluster, at.slice, position / lanes, position % lanes];
            let index: usize = digits
                .iter()
                .map(|digit| variables[digit.variable] / digit.base % digit.extent * digit.weight)
                .sum();
            group_id(index % 2)
        })),
        IdRule::Compare(comparisons) => {
            let id = |&lane: &u32| {
                let bit = |k: usize| u8::from(comparisons[k].matches(lane)) << k;
                bit(0) | bit(1) | bit(2) | bit(3)
            };
            all.extend(stream.values[block.clone()].iter().map(id));
            if let Some(flags) = stream.flags.get(block.clone()) {
                let own = &mut all[block];
                own.iter_mut().zip(flags).for_each(|(id, &flag)| *id = if flag { *id } else { NO_ID });
            }
        }
    }
}

#[cfg(test)]
mod tests;
