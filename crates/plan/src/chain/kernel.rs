//! The commands of a chain: one list, with addresses that do not collide.
//!
//! ```text
//!   DM   | buffers of a contraction … | buffers of the next one … |      free      | … results that stay | last bytes |
//! ```
//!
//! Results that stay in DM, and sums that wait for a pass, are handles: they are placed from the end of DM down, as the library does
//! it. Buffers of a contraction are below all of them: behind those of the contraction before it if there is room, so that
//! loads need not wait for its products, and in their place otherwise. Results that go through HBM are handles there, and
//! operands and the last result are at the beginning of HBM.

use super::Chain;
use super::boundary::{Leaving, Move, Passage};
use super::rows::passes::MADE;
use crate::commands::{commands_between, cycles};
use crate::layout::Layout;
use crate::route::Place;
use crate::route::steps::derive_at;
use crate::schedule::{Kept, Schedule};
use crate::search::{Plan, new_times};
use furiosa_visa_clock::Profile;
use furiosa_visa_rules::command::{FillId, Memory, Operation};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::lower::Tensor;
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;
use furiosa_visa_rules::tensor::{DM_LAST_BYTES, DM_UNIT_BYTES, LEAST_ALIGN_BYTES, Shape};
use std::sync::Arc;

/// Alignment of operands in HBM, in bytes.
const HBM_ALIGN_BYTES: u64 = 1 << 20;

/// Kinds of buffers that are no handles.
const KINDS: [usize; 5] = [0, 1, 2, 4, 5];

const ONE: &Expr = &Expr::Identity;

/// Why tensors of a chain have no place.
const NO_ROOM: &str = "the buffers and the results of the chain do not fit DM together";

/// A contraction in a chain.
#[derive(Clone, Debug)]
pub struct Part {
    /// The plan. Addresses and cycles are those of a kernel of its own through HBM.
    pub plan: Plan,
    /// The result as one tensor in DM, if it stays there.
    pub leaving: Option<Leaving>,
    /// The way of the result of the contraction before: in DM, or through a function of rows. `None`: it is in HBM, or the
    /// contraction takes none.
    pub passage: Option<Arc<Passage>>,
    /// Cycles as a kernel of its own that does not load or store what stays in DM.
    pub alone: u64,
}

impl Part {
    /// Tells if an operand arrives in DM.
    pub fn arrives_in_dm(&self) -> bool {
        self.passage.as_ref().is_some_and(|passage| passage.arrives_in_dm())
    }
}

/// A kernel for a chain.
#[derive(Clone, Debug)]
pub struct ChainKernel {
    /// The chain.
    pub chain: Chain,
    /// The contractions.
    pub parts: Vec<Part>,
    /// The way of the last result to HBM, if something is behind the last contraction.
    pub end: Option<Arc<Passage>>,
    /// Their plans, with the addresses and the tensors that they have in the chain.
    pub placed: Vec<Plan>,
    /// Cycles of the kernel on the clock.
    pub cycles: u64,
}

/// The commands of a chain, with what they read and write of HBM.
#[derive(Clone, Debug)]
pub struct ChainCommands {
    /// The operands that are in HBM before the kernel, in the order in which the chain names them.
    pub operands: Vec<Tensor>,
    /// The biases, in the order of the contractions that add them.
    pub biases: Vec<Tensor>,
    /// The other tensors of sums and products, in their order.
    pub others: Vec<Tensor>,
    /// The result.
    pub result: Tensor,
    /// The commands.
    pub operations: Vec<Operation>,
}

/// Handles of a memory: the highest free bytes are given first, as the library does it.
#[derive(Debug)]
struct Handles {
    end: u64,
    unit: u64,
    held: Vec<(u64, u64)>,
}

impl Handles {
    /// The highest free bytes.
    fn hold(&mut self, bytes: u64) -> Option<u64> {
        let align = if bytes < self.unit { LEAST_ALIGN_BYTES } else { self.unit };
        let (bytes, mut above) = (bytes.max(1), self.end);
        self.held.sort_unstable();
        for (start, end) in self.held.iter().rev().copied().chain([(0, 0)]) {
            let highest = above.checked_sub(bytes).map(|start| start / align * align);
            if let Some(found) = highest.filter(|highest| *highest >= end) {
                self.held.push((found, found + bytes));
                return Some(found);
            }
            above = start.min(above);
        }
        None
    }

    fn release(&mut self, address: u64) {
        self.held.retain(|(start, _)| *start != address);
    }

    /// The lowest byte that a handle holds.
    fn lowest(&self) -> Option<u64> {
        self.held.iter().map(|(start, _)| *start).min()
    }
}

/// Places tensors, and derives commands.
struct Assembly {
    fills: u64,
    dm: Handles,
    hbm: Handles,
    /// The bytes of DM behind the last ones that a buffer of the contraction before takes, and its first one.
    buffers: [u64; 2],
    operations: Vec<Operation>,
}

impl Assembly {
    fn new() -> Self {
        let (dm, hbm) = (spec::DM_BYTES as u64 - DM_LAST_BYTES, spec::HBM_BYTES);
        Self {
            fills: 0,
            dm: Handles { end: dm, unit: DM_UNIT_BYTES, held: Vec::new() },
            hbm: Handles { end: hbm, unit: spec::HBM_UNIT_BYTES as u64, held: Vec::new() },
            buffers: [0, 0],
            operations: Vec::new(),
        }
    }

    fn fill(&mut self) -> FillId {
        self.fills += 1;
        FillId(self.fills)
    }

    /// A handle to a new tensor.
    fn held(&mut self, shape: Shape) -> Result<Tensor, String> {
        let told = |error: PlanError| error.to_string();
        let bytes = shape.footprint().map_err(told)?.bytes() as u64;
        let handles = if shape.memory == Memory::Hbm { &mut self.hbm } else { &mut self.dm };
        let address = handles.hold(bytes).ok_or(NO_ROOM)?;
        let fill = self.fill();
        Tensor::new(shape, address, fill).map_err(told)
    }

    fn release(&mut self, tensor: &Tensor) {
        let handles = if tensor.shape.memory == Memory::Hbm { &mut self.hbm } else { &mut self.dm };
        handles.release(tensor.region.address);
    }

    /// Brings a result to the layout of an operand. `other`: the other tensor of a sum or a product.
    fn bring(&mut self, made: Tensor, passage: &Passage, other: Option<Tensor>) -> Result<Tensor, String> {
        let mut gone = Vec::new();
        let made = self.moved(made, &passage.steps, other, None, &mut gone)?;
        gone.iter().for_each(|tensor| self.release(tensor));
        Ok(made)
    }

    /// Moves a tensor, and keeps those that are not needed behind the last step. `target`: the tensor that the last step writes. `None`:
    /// a new one.
    fn moved(
        &mut self,
        made: Tensor,
        steps: &[(Move, Place)],
        other: Option<Tensor>,
        target: Option<Tensor>,
        gone: &mut Vec<Tensor>,
    ) -> Result<Tensor, String> {
        let told = |error: PlanError| error.to_string();
        let mut source = made;
        for (number, (own, place)) in steps.iter().enumerate() {
            let before = source;
            source = match own {
                Move::Step(step) => {
                    let there = match target.filter(|_| number + 1 == steps.len()) {
                        Some(target) => target,
                        None => self.held(place.shape(source.shape.element_type))?,
                    };
                    let (operation, made) =
                        derive_at(step, &source, place, there.region.address, there.region.fill)
                            .map_err(told)?;
                    self.operations.push(operation);
                    made
                }
                Move::Rows(step) => {
                    let shapes = step.numbers(&source.shape).into_iter();
                    let numbers = shapes.map(|shape| self.held(shape)).collect::<Result<Vec<_>, _>>()?;
                    let made = self.held(place.shape(MADE))?;
                    let fill = || self.fill();
                    let operations = step.operations(&source, &numbers, &made, fill).map_err(told)?;
                    self.operations.extend(operations);
                    gone.extend(numbers);
                    made
                }
                Move::Pair(step) => {
                    let other = other.ok_or("a pair has another tensor")?;
                    let mut brought = Vec::new();
                    let there = self.moved(other, &step.way, None, None, &mut brought)?;
                    // The other tensor in HBM stays.
                    gone.extend(brought.into_iter().skip(1).chain([there]));
                    let made = self.held(place.shape(MADE))?;
                    self.operations.push(step.operation([&source, &there], &made).map_err(told)?);
                    made
                }
            };
            gone.push(before);
        }
        Ok(source)
    }

    /// The schedule of a contraction with its buffers in their place.
    fn placed(
        &mut self,
        plan: &Plan,
        kept: Kept,
        waiting: Option<u64>,
        hbm: [u64; 3],
    ) -> Result<Schedule, String> {
        let mut schedule = Schedule { kept, hbm, ..plan.schedule };
        if let Some(operand) = kept.operand {
            let kind = usize::from(operand == plan.choice.weights);
            (schedule.buffers[kind], schedule.buffers[4 + kind]) = (0, 0);
        }
        if kept.result {
            schedule.buffers[2] = 0;
        }
        let buffers: u64 =
            KINDS.iter().map(|&kind| schedule.bytes[kind] * schedule.buffers[kind] as u64).sum();
        let bias = schedule.bias.map_or(0, |bias| bias.bytes);
        let bytes = buffers + bias + schedule.whole.map_or(0, |[_, bytes]| bytes);
        let room = self.dm.lowest().unwrap_or(spec::DM_BYTES as u64);
        let [first, behind] = self.buffers;
        let bases = [if bytes <= first { 0 } else { behind }, behind, 0];
        let base = bases.into_iter().find(|base| base + bytes <= room).ok_or(NO_ROOM)?;
        self.buffers = [base, base + bytes];
        let mut next = base;
        for kind in KINDS {
            schedule.dm[kind] = next;
            next += schedule.bytes[kind] * schedule.buffers[kind] as u64;
        }
        schedule.dm[3] = waiting.unwrap_or(0);
        if let Some(place) = &mut schedule.bias {
            place.dm = next;
            next += place.bytes;
        }
        if let Some([address, _]) = &mut schedule.whole {
            *address = next;
        }
        Ok(schedule)
    }

    /// The commands of a contraction between tensors. What is kept in DM is gone behind it, but for its result. Returns the
    /// plan with its addresses, and the bias.
    fn contraction(
        &mut self,
        part: &Part,
        tensors: [Tensor; 3],
        kept: Kept,
    ) -> Result<(Plan, Option<Tensor>), String> {
        let Plan { problem, choice, .. } = &part.plan;
        let mut layout: Layout = part.plan.layout.clone();
        if let Some(leaving) = part.leaving.as_ref().filter(|_| kept.result) {
            layout.stored[2] = leaving.stored.clone();
        }
        // What is kept is there as products read it.
        match kept.operand {
            Some(operand) if operand == choice.weights => layout.weights.turn = None,
            Some(_) => layout.stream.turn = None,
            None => {}
        }
        let waiting = match &layout.finish {
            Some(finish) => {
                let slice = layout.sums_slice().expr;
                let shape = Shape::dm(problem.sum(), ONE, layout.cluster.expr, slice, finish.element.expr);
                Some(self.held(shape)?)
            }
            None => None,
        };
        let hbm = tensors.map(|tensor| tensor.region.address);
        let waiting_at = waiting.map(|tensor| tensor.region.address);
        let schedule = self.placed(&part.plan, kept, waiting_at, hbm)?;
        let (commands, fills) = commands_between(problem, choice, &layout, &schedule, (tensors, self.fills))
            .map_err(|error| error.to_string())?;
        self.fills = fills;
        let bias = commands.bias;
        self.operations.extend(commands.operations);
        for gone in waiting.into_iter().chain(kept.operand.map(|operand| tensors[operand])) {
            self.release(&gone);
        }
        Ok((Plan { layout, schedule, ..part.plan.clone() }, bias))
    }
}

/// A tensor of a plan in HBM.
fn in_hbm(plan: &Plan, tensor: usize) -> Shape {
    Shape::hbm(plan.problem.element_of(tensor), ONE, plan.layout.stored[tensor].element.expr)
}

/// Places a chain and derives its commands. The plans are returned with their addresses.
///
/// # Errors
/// Tensors that do not fit DM together, and the refusal of the first call that has one.
pub fn assemble(
    chain: &Chain,
    parts: &[Part],
    end: Option<&Passage>,
) -> Result<(Vec<Plan>, ChainCommands), String> {
    let mut assembly = Assembly::new();
    let last = parts.len() - 1;
    // Operands and the result in HBM, one behind another.
    let mut next = 0;
    let mut external = |assembly: &mut Assembly, shape: Shape| -> Result<Tensor, String> {
        let address = next;
        let bytes = shape.footprint().map_err(|error| error.to_string())?.bytes() as u64;
        next = (next + bytes).next_multiple_of(HBM_ALIGN_BYTES);
        Tensor::new(shape, address, assembly.fill()).map_err(|error| error.to_string())
    };
    let mut operands: Vec<Tensor> = Vec::new();
    for (part, sources) in parts.iter().zip(&chain.sources) {
        for operand in (0..2).filter(|&operand| sources[operand].is_none()) {
            operands.push(external(&mut assembly, in_hbm(&part.plan, operand))?);
        }
    }
    // What is behind the last contraction makes the result.
    let element = if end.is_some() { MADE } else { parts[last].plan.problem.output };
    let result = Shape { element_type: element, ..in_hbm(&parts[last].plan, 2) };
    let result = external(&mut assembly, result)?;
    let mut others: Vec<Tensor> = Vec::new();
    for (number, pair) in chain.pairs.iter().enumerate() {
        if pair.as_ref().is_some_and(|pair| pair.source.is_none()) {
            // It has the mapping and the type of the result before it.
            others.push(external(&mut assembly, in_hbm(&parts[number - 1].plan, 2))?);
        }
    }
    let mut parts: Vec<Part> = parts.to_vec();
    for Part { plan, .. } in &mut parts {
        if let Some(place) = &mut plan.schedule.bias {
            place.hbm = next;
            next = (next + plan.problem.bias_bytes()).next_multiple_of(HBM_ALIGN_BYTES);
        }
    }

    let (mut of_hbm, mut of_pairs) = (operands.iter(), others.iter());
    let (mut results, mut placed, mut biases) = (Vec::<Tensor>::new(), Vec::<Plan>::new(), Vec::new());
    for (number, part) in parts.iter().enumerate() {
        let mut arrived = None;
        if let Some(passage) = &part.passage {
            let before = match number {
                0 => *operands.first().ok_or("an operand is in HBM")?,
                _ => results[number - 1],
            };
            let other = other_of(chain, number, &results, &mut of_pairs)?;
            let there = assembly.bring(before, passage, other)?;
            arrived = Some(there);
            if let Some(result) = results.last_mut() {
                *result = there;
            }
        }
        let made = match &part.leaving {
            _ if number == last && end.is_none() => result,
            Some(leaving) => assembly.held(leaving.place.shape(part.plan.problem.output))?,
            None => assembly.held(in_hbm(&part.plan, 2))?,
        };
        let mut tensors = [made; 3];
        for (operand, tensor) in tensors.iter_mut().take(2).enumerate() {
            *tensor = match chain.sources[number][operand] {
                None => *of_hbm.next().ok_or("an operand is in HBM")?,
                Some(source) => results[source],
            };
        }
        if let Some(arrived) = arrived.filter(|_| number == 0) {
            tensors[0] = arrived;
        }
        let operand = chain.arriving(number).filter(|_| part.arrives_in_dm());
        let kept = Kept { operand, result: part.leaving.is_some() };
        let (plan, bias) = assembly.contraction(part, tensors, kept)?;
        placed.push(plan);
        biases.extend(bias);
        results.push(made);
    }
    if let (Some(passage), Some(made)) = (end, results.last().copied()) {
        let other = other_of(chain, parts.len(), &results, &mut of_pairs)?;
        let mut gone = Vec::new();
        assembly.moved(made, &passage.steps, other, Some(result), &mut gone)?;
    }
    if assembly.hbm.lowest().is_some_and(|lowest| lowest < next) || next > spec::HBM_BYTES {
        return Err("the operands and the results of the chain do not fit HBM together".to_string());
    }
    Ok((placed, ChainCommands { operands, biases, others, result, operations: assembly.operations }))
}

/// The other tensor of a sum or a product in front of a contraction: an earlier result, or the next one in HBM.
fn other_of<'a>(
    chain: &Chain,
    number: usize,
    results: &[Tensor],
    in_hbm: &mut impl Iterator<Item = &'a Tensor>,
) -> Result<Option<Tensor>, String> {
    let Some(pair) = &chain.pairs[number] else { return Ok(None) };
    let other = match pair.source {
        Some(source) => results.get(source).copied(),
        None => in_hbm.next().copied(),
    };
    other.map(Some).ok_or_else(|| "the other tensor of a pair is there before".to_string())
}

/// Cycles of a contraction as a kernel of its own, if what arrives and what leaves is in DM.
///
/// # Errors
/// Tensors that do not fit DM together, and the refusal of the first call that has one.
pub fn alone(part: &Part, arriving: Option<(usize, Place)>, profile: Profile) -> Result<u64, String> {
    let mut assembly = Assembly::new();
    let (plan, element) = (&part.plan, part.plan.problem.element);
    let mut tensors = Vec::new();
    for tensor in 0..3 {
        let shape = match (arriving, &part.leaving) {
            (Some((operand, place)), _) if operand == tensor => Some(place.shape(element)),
            (_, Some(leaving)) if tensor == 2 => Some(leaving.place.shape(plan.problem.output)),
            _ => None,
        };
        tensors.push(match shape {
            Some(shape) => assembly.held(shape)?,
            None => Tensor::new(in_hbm(plan, tensor), plan.schedule.hbm[tensor], assembly.fill())
                .map_err(|error| error.to_string())?,
        });
    }
    let kept = Kept { operand: arriving.map(|(operand, _)| operand), result: part.leaving.is_some() };
    assembly.contraction(part, [tensors[0], tensors[1], tensors[2]], kept)?;
    Ok(cycles(assembly.operations, new_times(profile)))
}

/// Cycles of a passage as a kernel of its own. `other`: where the other tensor of a sum or a product is.
///
/// # Errors
/// Tensors that do not fit DM together, and the refusal of the first call that has one.
pub fn alone_of_passage(
    element: ElementType,
    passage: &Passage,
    other: Option<Place>,
    profile: Profile,
) -> Result<u64, String> {
    let mut assembly = Assembly::new();
    let source = assembly.held(passage.from.shape(element))?;
    let other = other.map(|place| assembly.held(place.shape(MADE))).transpose()?;
    assembly.bring(source, passage, other)?;
    Ok(cycles(assembly.operations, new_times(profile)))
}

impl ChainKernel {
    /// The kernel of some plans, with its cycles.
    ///
    /// # Errors
    /// Why there is none: tensors that do not fit DM together, or the refusal of a call.
    pub fn of(
        chain: &Chain,
        parts: Vec<Part>,
        end: Option<Arc<Passage>>,
        profile: Profile,
    ) -> Result<Self, String> {
        let (placed, commands) = assemble(chain, &parts, end.as_deref())?;
        let cycles = cycles(commands.operations, new_times(profile));
        Ok(Self { chain: chain.clone(), parts, end, placed, cycles })
    }

    /// The commands of the kernel.
    ///
    /// # Errors
    /// None for a kernel that was made: its commands have been derived.
    pub fn commands(&self) -> Result<ChainCommands, String> {
        assemble(&self.chain, &self.parts, self.end.as_deref()).map(|(_, commands)| commands)
    }

    /// The way to a contraction, or behind the last one.
    pub fn passage(&self, number: usize) -> Option<&Passage> {
        self.parts.get(number).map_or(self.end.as_deref(), |part| part.passage.as_deref())
    }

    /// Number of results that stay in DM, before or behind a function of rows.
    pub fn staying(&self) -> usize {
        let is_in_dm = |passage: &&Arc<Passage>| passage.starts_in_dm() || passage.arrives_in_dm();
        let passages = self.parts.iter().filter_map(|part| part.passage.as_ref());
        passages.chain(&self.end).filter(is_in_dm).count()
    }
}
