//! The Vector Engine: a program over the whole stream of a slice, one operator at a time over blocks of lanes.
//!
//! ```text
//!   stream of a slice   ├── block ──┤├── block ──┤ …      steps that work lane by lane: all of them on a block,
//!                                                         then the next block, as a block stays in the cache
//!   reduce, trim, pad   ├────────── whole ─────────┤
//! ```

mod inter;
mod lanes;
mod operands;
mod path;
mod reduce;
mod stream;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::memory::Unit;
use crate::memory::row::{Line, Row};
use core::ops::Range;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{
    BinaryArgMode, BinaryOperator, Branch, FpTernaryOp, FpUnaryOp, InputCmp, OperandSource, Region,
    StreamShape, TernaryArgMode, ValidBranchIds, Vector, VectorStep,
};
use furiosa_visa_rules::list::List;
use furiosa_visa_rules::mapping::GuardDigit;
use furiosa_visa_rules::mapping::guard::rows::LiveRows;
use furiosa_visa_rules::scalar::ElementType;
use inter::InterPlan;
pub(crate) use operands::MissingOperand;
use operands::{Beside, Block, Operand, Places, Scratch, Source, Watch, set_flags};
use path::{Job, LaneJob, Lanes, Path};
use reduce::ReducePlan;
pub(crate) use stream::LaneRow;
use stream::{Ids, Lane, NO_ID, group_id};

/// Lanes that all steps work on before the next ones: 16 KiB.
const BLOCK_LANES: usize = 4096;

/// The part of a program that is the same in all slices.
#[derive(Debug)]
pub(crate) struct VectorPlan {
    parts: Vec<Part>,
    /// The exchange between slices, and the steps after it.
    across: Option<(InterPlan, Vec<Part>)>,
    /// The tensors in the VRF.
    tensors: Vec<Region>,
    live: LiveRows,
    end: StreamShape,
    path: Path,
}

/// Steps that are run together.
#[derive(Debug)]
enum Part {
    /// Steps that work lane by lane.
    Lanes(Vec<LaneStep>),
    /// Splits into two groups, with this many positions between the two elements of a pair.
    Unzip(usize),
    Zip(BinaryOperator, BinaryArgMode),
    Stash,
    /// Keeps the leading lanes of each packet: number kept, and number before.
    Trim(usize, usize),
    /// Adds lanes to each packet: number before, and number after.
    Pad(usize, usize),
    Reduce(ReducePlan),
}

/// A step that works lane by lane.
#[derive(Debug)]
enum LaneStep {
    Branch(IdRule),
    Binary(BinaryOperator, BinaryArgMode, Vec<Operand>),
    Unary(FpUnaryOp, ValidBranchIds),
    Ternary(FpTernaryOp, TernaryArgMode, Vec<Operand>),
    FixedToFloat(u32),
    FloatToFixed(u32),
}

impl LaneStep {
    /// Tells if lanes may change, and not only their execution ids.
    const fn changes_lanes(&self) -> bool {
        !matches!(self, LaneStep::Branch(_))
    }
}

/// Source of execution ids.
#[derive(Debug)]
enum IdRule {
    Zero,
    /// The digits of an axis, and the lanes per packet.
    Toggle(List<GuardDigit, { furiosa_visa_rules::command::TOGGLE_DIGITS }>, usize),
    Compare([InputCmp; 4]),
}

/// The stream that enters the engine.
#[derive(Debug)]
pub(crate) enum Input<'a> {
    /// A row. Its lanes may be taken, so that nothing is copied.
    Row(&'a mut Row),
    /// Bytes in memory, all of them written.
    Memory(&'a [u8]),
}

/// Buffers of a thread. They are used again for the next slice.
#[derive(Debug)]
pub(crate) struct VectorBuffers {
    stream: LaneRow,
    /// Group 1, while there are two.
    other: LaneRow,
    stash: LaneRow,
    /// The result of a part.
    next: LaneRow,
    /// The result of a step for a block, for the next step.
    spare: LaneRow,
    /// The tensors in the VRF.
    tensors: Vec<LaneRow>,
    row: Row,
    scratch: Scratch,
    ids: Ids,
    mask: Vec<bool>,
    /// Watch for unwritten operands, while nothing is written to memory.
    watch: Option<Watch>,
}

impl Default for VectorBuffers {
    fn default() -> Self {
        Self {
            stream: LaneRow::default(),
            other: LaneRow::default(),
            stash: LaneRow::default(),
            next: LaneRow::default(),
            spare: LaneRow::default(),
            tensors: Vec::new(),
            row: Row::new(ElementType::I32),
            scratch: Scratch::default(),
            ids: Ids::Same(0),
            mask: Vec::new(),
            watch: None,
        }
    }
}

impl VectorPlan {
    /// Prepares a program for a stream of this shape.
    pub(crate) fn new(vector: &Vector, before: StreamShape, path: Path) -> Self {
        let (mut parts, mut tensors) = (Vec::new(), Vec::new());
        let mut across: Option<(InterPlan, Vec<Part>)> = None;
        let mut shape = before;
        for step in &vector.steps {
            let lanes = shape.time * shape.lanes;
            let mut source = |source: &OperandSource, used: bool| match source {
                _ if !used => Source::Constant(0),
                OperandSource::Constant(bits) => Source::Constant(*bits),
                OperandSource::Stash(transfer) => Source::Stash(Places::new(transfer, lanes)),
                OperandSource::Vrf(operand) => {
                    let known = tensors.iter().position(|region| *region == operand.source);
                    let number = known.unwrap_or_else(|| {
                        tensors.push(operand.source);
                        tensors.len() - 1
                    });
                    Source::Vrf(number, Places::new(&operand.transfer, lanes))
                }
            };
            let lane_step = match step {
                VectorStep::Branch(Branch::Unconditional) => Some(LaneStep::Branch(IdRule::Zero)),
                VectorStep::Branch(Branch::AxisToggle { digits }) => {
                    Some(LaneStep::Branch(IdRule::Toggle(*digits, shape.lanes)))
                }
                VectorStep::Branch(Branch::Comparison(all)) => Some(LaneStep::Branch(IdRule::Compare(*all))),
                VectorStep::Binary { op, mode, operands } => {
                    let used = mode.arguments().contains(&1);
                    let input = |input: &furiosa_visa_rules::command::BinaryInput| Operand {
                        ids: input.ids,
                        source: source(&input.source, used),
                        constant: 0.0,
                    };
                    Some(LaneStep::Binary(*op, *mode, operands.iter().map(input).collect()))
                }
                VectorStep::Ternary { op, mode, operands } => {
                    let used = mode.arguments().contains(&1);
                    let input = |input: &furiosa_visa_rules::command::TernaryInput| Operand {
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
            if let VectorStep::InterSliceReduce(reduce) = step {
                across = Some((InterPlan::new(reduce, shape), Vec::new()));
                shape = next;
                continue;
            }
            let parts = across.as_mut().map_or(&mut parts, |(_, parts)| parts);
            match (step, lane_step) {
                // Elements have id 0 from the start.
                (_, Some(LaneStep::Branch(IdRule::Zero))) if parts.is_empty() => {}
                (_, Some(lane_step)) => match parts.last_mut() {
                    Some(Part::Lanes(steps)) => steps.push(lane_step),
                    _ => parts.push(Part::Lanes(vec![lane_step])),
                },
                (VectorStep::Unzip { step }, _) => parts.push(Part::Unzip(*step)),
                (VectorStep::Zip { op, mode }, _) => parts.push(Part::Zip(*op, *mode)),
                (VectorStep::Stash, _) => parts.push(Part::Stash),
                (VectorStep::Trim, _) => parts.push(Part::Trim(next.lanes, shape.lanes)),
                (VectorStep::Pad, _) => parts.push(Part::Pad(shape.lanes, next.lanes)),
                (VectorStep::IntraSliceReduce(reduce), _) => {
                    parts.push(Part::Reduce(ReducePlan::new(reduce, shape)))
                }
                // Positions stay, so there is nothing to do.
                _ => {}
            }
            shape = next;
        }
        let live = LiveRows::new(&vector.guard, 4, before.lanes);
        Self { parts, across, tensors, live, end: shape, path }
    }

    /// The lanes of the incoming stream that hold an element.
    pub(crate) fn live(&self) -> &LiveRows {
        &self.live
    }

    /// Tells if slices exchange elements.
    pub(crate) fn crosses_slices(&self) -> bool {
        self.across.is_some()
    }

    /// Runs the program on the stream of a slice.
    pub(crate) fn run(
        &self,
        input: Input<'_>,
        (unit, at): (&Unit, Coordinates),
        buffers: &mut VectorBuffers,
        output: &mut Row,
    ) {
        self.run_first(input, (unit, at), buffers);
        buffers.stream.store(self.end.element, output);
    }

    /// Runs the program up to the exchange between slices, without padding.
    pub(crate) fn run_before(
        &self,
        input: Input<'_>,
        (unit, at): (&Unit, Coordinates),
        buffers: &mut VectorBuffers,
    ) -> LaneRow {
        self.run_first(input, (unit, at), buffers);
        let VectorBuffers { stream, mask, .. } = buffers;
        if let Some((plan, _)) = &self.across {
            plan.drop_padding(at, stream, mask);
        }
        core::mem::take(stream)
    }

    /// The streams of all slices after the exchange.
    pub(crate) fn exchange(&self, streams: &[Option<LaneRow>]) -> Vec<Option<LaneRow>> {
        self.across.as_ref().map_or_else(Vec::new, |(plan, _)| plan.exchange(self.path, streams))
    }

    /// Runs the program after the exchange between slices.
    pub(crate) fn run_behind(
        &self,
        stream: LaneRow,
        (unit, at): (&Unit, Coordinates),
        buffers: &mut VectorBuffers,
        output: &mut Row,
    ) {
        buffers.stream = stream;
        self.start(unit, buffers);
        self.run_parts(self.across.as_ref().map_or(&[], |(_, parts)| parts), at, buffers);
        buffers.stream.store(self.end.element, output);
    }

    /// Runs the program up to its end, or up to the exchange between slices, to find an unwritten operand that it
    /// takes. Returns the stream as [`VectorPlan::run_before`] does.
    pub(crate) fn watch_before(
        &self,
        input: Input<'_>,
        (unit, at): (&Unit, Coordinates),
        buffers: &mut VectorBuffers,
    ) -> (LaneRow, Option<MissingOperand>) {
        buffers.watch = Some(Watch::new(&self.tensors, unit, at));
        let stream = self.run_before(input, (unit, at), buffers);
        (stream, buffers.watch.take().and_then(Watch::found))
    }

    /// Runs the program after the exchange in the same way.
    pub(crate) fn watch_behind(
        &self,
        stream: LaneRow,
        (unit, at): (&Unit, Coordinates),
        buffers: &mut VectorBuffers,
    ) -> Option<MissingOperand> {
        buffers.watch = Some(Watch::new(&self.tensors, unit, at));
        self.run_behind(stream, (unit, at), buffers, &mut Row::new(self.end.element));
        buffers.watch.take().and_then(Watch::found)
    }

    /// Gives all elements the id 0, and reads the tensors in the VRF.
    fn start(&self, unit: &Unit, buffers: &mut VectorBuffers) {
        let VectorBuffers { tensors, row, ids, .. } = buffers;
        *ids = Ids::Same(0);
        tensors.resize_with(self.tensors.len(), LaneRow::default);
        for (region, tensor) in self.tensors.iter().zip(tensors) {
            let Region { address, footprint, .. } = region;
            row.clear(footprint.element);
            let len = footprint.elements;
            row.read(&unit.vrf, Line { unit: 0, address: *address, position: 0, stride: 1, len });
            tensor.load(row);
        }
    }

    /// Runs the program up to its end, or up to the exchange between slices.
    fn run_first(&self, input: Input<'_>, (unit, at): (&Unit, Coordinates), buffers: &mut VectorBuffers) {
        self.start(unit, buffers);
        let VectorBuffers { stream, next, ids, mask, .. } = &mut *buffers;
        let parts = match (input, &self.parts[..]) {
            (Input::Row(row), parts) => {
                stream.load(row);
                parts
            }
            // A reduce or steps can read the bytes directly, so they are not copied.
            (Input::Memory(bytes), [Part::Reduce(plan), rest @ ..]) => {
                plan.run(self.path, at, (bytes.as_chunks().0, &mut Vec::new(), ids), next, mask);
                core::mem::swap(stream, next);
                rest
            }
            (Input::Memory(bytes), [Part::Lanes(steps), rest @ ..])
                if steps.iter().any(LaneStep::changes_lanes) =>
            {
                self.run_lanes(steps, Some(bytes.as_chunks().0), at, buffers);
                rest
            }
            (Input::Memory(bytes), parts) => {
                stream.copy(bytes.as_chunks().0, &[]);
                parts
            }
        };
        self.run_parts(parts, at, buffers);
    }

    fn run_parts(&self, parts: &[Part], at: Coordinates, buffers: &mut VectorBuffers) {
        let mut groups = 1;
        for part in parts {
            match part {
                Part::Lanes(steps) if groups == 2 => {
                    for group in 0..2 {
                        buffers.ids = Ids::Same(group_id(group));
                        self.run_lanes(steps, None, at, buffers);
                        let VectorBuffers { stream, other, .. } = &mut *buffers;
                        core::mem::swap(stream, other);
                    }
                }
                Part::Lanes(steps) => self.run_lanes(steps, None, at, buffers),
                Part::Unzip(step) => {
                    let VectorBuffers { stream, other, .. } = &mut *buffers;
                    stream.unzip(*step, other);
                    groups = 2;
                }
                Part::Zip(op, mode) => {
                    let VectorBuffers { stream, other, next, ids, .. } = &mut *buffers;
                    let missing = (!other.flags.is_empty()).then_some(&other.flags[..]);
                    let (len, (lanes, flags)) = (stream.len(), stream.split());
                    set_flags(true, missing, 0..len, (flags, len));
                    let job = LaneJob::Binary(*op, *mode, Lanes::Each(other.lanes()));
                    self.path.run(Job::Step(job, lanes), next.renew(len));
                    stream.trade_values(next);
                    (*ids, groups) = (Ids::Same(group_id(1)), 1);
                }
                Part::Stash => {
                    let VectorBuffers { stream, stash, .. } = buffers;
                    stash.copy(stream.lanes(), &stream.flags);
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
                    let VectorBuffers { stream, next, mask, ids, .. } = buffers;
                    let (lanes, flags) = stream.split();
                    plan.run(self.path, at, (lanes, flags, ids), next, mask);
                    core::mem::swap(stream, next);
                }
            }
        }
    }

    /// Runs steps that work lane by lane on the stream, or on written lanes in memory. The result becomes the stream.
    ///
    /// A step writes to other lanes than it reads: in turn to the next stream and to a spare block.
    fn run_lanes(
        &self,
        steps: &[LaneStep],
        memory: Option<&[Lane]>,
        at: Coordinates,
        buffers: &mut VectorBuffers,
    ) {
        let VectorBuffers { stream, stash, next, spare, tensors, scratch, ids, watch, .. } = buffers;
        let (lanes, flags) = stream.split();
        if memory.is_some() {
            flags.clear();
        }
        let lanes = memory.unwrap_or(lanes);
        let changes = steps.iter().filter(|step| step.changes_lanes()).count();
        let (next_lanes, spare_lanes) = (next.renew(lanes.len()), spare.renew(lanes.len().min(BLOCK_LANES)));
        for start in (0..lanes.len()).step_by(BLOCK_LANES) {
            let range = start..(start + BLOCK_LANES).min(lanes.len());
            let (mut to, mut made) = (&mut next_lanes[range.clone()], &mut spare_lanes[..range.len()]);
            // The last step must write to the next stream.
            if changes.is_multiple_of(2) {
                core::mem::swap(&mut to, &mut made);
            }
            let mut is_first = true;
            for step in steps {
                let from = if is_first { &lanes[range.clone()] } else { &*made };
                let block = Block { range: range.clone(), of: lanes.len(), from, to: &mut *to };
                let beside = Beside { stash, tensors, ids };
                if let (Some(watch), LaneStep::Binary(.., inputs) | LaneStep::Ternary(.., inputs)) =
                    (watch.as_mut(), step)
                {
                    watch.look(inputs, range.clone(), ids, &self.tensors);
                }
                match step {
                    LaneStep::Branch(rule) => {
                        give_ids(rule, at, range.clone(), (from, flags, lanes.len()), ids);
                        continue;
                    }
                    LaneStep::Binary(op, mode, inputs) => {
                        let inputs = (&inputs[..], mode.arguments().contains(&0));
                        self.conditional(inputs, block, flags, beside, scratch, |_, operand| {
                            LaneJob::Binary(*op, *mode, operand)
                        });
                    }
                    LaneStep::Ternary(op, mode, inputs) => {
                        let inputs = (&inputs[..], mode.arguments().contains(&0));
                        self.conditional(inputs, block, flags, beside, scratch, |input, operand| {
                            LaneJob::Ternary(*op, *mode, operand, input.constant)
                        });
                    }
                    LaneStep::Unary(op, ids) => {
                        let input = Operand { ids: *ids, source: Source::Constant(0), constant: 0.0 };
                        let inputs = (core::slice::from_ref(&input), true);
                        self.conditional(inputs, block, flags, beside, scratch, |_, _| LaneJob::Unary(*op));
                    }
                    LaneStep::FixedToFloat(bits) => {
                        self.path.run(Job::Step(LaneJob::FixedToFloat(*bits), block.from), block.to);
                    }
                    LaneStep::FloatToFixed(bits) => {
                        self.path.run(Job::Step(LaneJob::FloatToFixed(*bits), block.from), block.to);
                    }
                }
                core::mem::swap(&mut to, &mut made);
                is_first = false;
            }
        }
        if changes > 0 {
            stream.trade_values(next);
        }
    }
}

/// Gives the lanes of a block their execution ids. The flags are those of a stream of `of` lanes.
fn give_ids(
    rule: &IdRule,
    at: Coordinates,
    block: Range<usize>,
    (lanes, flags, of): (&[Lane], &[bool], usize),
    ids: &mut Ids,
) {
    if let IdRule::Zero = rule {
        *ids = Ids::Same(0);
        return;
    }
    if block.start == 0 || !matches!(ids, Ids::Each(_)) {
        *ids = Ids::Each(Vec::with_capacity(of));
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
            let id = |&lane: &Lane| {
                let bit = |k: usize| u8::from(comparisons[k].matches(u32::from_le_bytes(lane))) << k;
                bit(0) | bit(1) | bit(2) | bit(3)
            };
            all.extend(lanes.iter().map(id));
            if let Some(flags) = flags.get(block.clone()) {
                let ids_of_block = &mut all[block];
                ids_of_block
                    .iter_mut()
                    .zip(flags)
                    .for_each(|(id, &flag)| *id = if flag { *id } else { NO_ID });
            }
        }
    }
}

#[cfg(test)]
mod tests;
