//! Operands of the steps that work lane by lane: their sources, and the elements that they apply to.

use super::path::{Job, LaneJob, Lanes};
use super::stream::{Ids, Lane, LaneRow, NO_ID, all_flags, holds};
use super::{LaneStep, Part, VectorPlan};
use crate::memory::Unit;
use core::ops::Range;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{Region, Transfer, TransferLoop, ValidBranchIds};

/// Mark of a lane without an element.
const NOWHERE: u32 = u32::MAX;

/// A prepared operand.
#[derive(Debug)]
pub(super) struct Operand {
    pub(super) ids: ValidBranchIds,
    pub(super) source: Source,
    /// The second operand of a ternary operator.
    pub(super) constant: f32,
}

#[derive(Debug)]
pub(super) enum Source {
    /// One value for all lanes, or an unused operand.
    Constant(u32),
    /// Elements of the tensor with this number.
    Vrf(usize, Places),
    Stash(Places),
}

/// Assignment of elements to lanes.
#[derive(Debug)]
pub(super) enum Places {
    /// Each lane has the element with its number.
    Same,
    /// All lanes have this element.
    One(u32),
    /// The number of the element for each lane, or [`NOWHERE`].
    Table(Vec<u32>),
}

impl Places {
    /// The assignment of a transfer to `lanes` lanes.
    pub(super) fn new(transfer: &Transfer, lanes: usize) -> Self {
        let loops = transfer.loops.as_slice();
        let still = |entry: &TransferLoop| entry.source == entry.destination;
        let first = transfer.source_start.is_first() && transfer.destination_start.is_first();
        if first && transfer.guard.is_always() && loops.iter().all(still) {
            let mut steps: Vec<(usize, usize)> = loops
                .iter()
                .map(|entry| (entry.source.elements, entry.size))
                .filter(|&(_, size)| size != 1)
                .collect();
            steps.sort_unstable();
            let whole = steps
                .iter()
                .try_fold(1, |inside: usize, &(step, size)| (step == inside).then_some(inside * size));
            if whole == Some(lanes) {
                return Places::Same;
            }
        }
        let mut table = vec![NOWHERE; lanes];
        transfer.for_each_element(|from, to| {
            let place = usize::try_from(to).ok().and_then(|to| table.get_mut(to));
            if let (Some(place), Ok(from)) = (place, u32::try_from(from)) {
                *place = from;
            }
        });
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

/// A block of lanes in a step.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// Their positions in the stream.
    pub(super) range: Range<usize>,
    /// Number of lanes in the stream.
    pub(super) of: usize,
    /// Lanes before the step.
    pub(super) from: &'a [Lane],
    /// Lanes after the step.
    pub(super) to: &'a mut [Lane],
}

/// Data beside the stream, for reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside<'a> {
    pub(super) stash: &'a LaneRow,
    /// The tensors in the VRF.
    pub(super) tensors: &'a [LaneRow],
    pub(super) ids: &'a Ids,
}

/// Buffers of a step with operands. They are used again for the next step.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The operand of a block.
    operand: LaneRow,
    /// Result of one of several operands for a block.
    made: LaneRow,
    /// Flags of the block before the step: true if the lane is written. Empty if all are written.
    before: Vec<bool>,
}

/// An unwritten operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MissingOperand {
    /// The tensor.
    pub(crate) source: Region,
    /// Its element.
    pub(crate) element: usize,
    /// True if it applies only to some elements of the stream: to those of its group, or to those without an earlier
    /// operand. Only a run of the program shows if they meet it: see [`Watch`].
    pub(crate) is_for_some: bool,
}

/// Watch for unwritten operands while a program runs.
#[derive(Debug)]
pub(super) struct Watch {
    /// Per tensor in the VRF, a flag per element: true if it is live and unwritten. Empty: none is.
    missing: Vec<Vec<bool>>,
    found: Option<MissingOperand>,
}

impl Watch {
    /// Watch in a slice.
    pub(super) fn new(tensors: &[Region], unit: &Unit, at: Coordinates) -> Self {
        let of = |source: &Region| {
            let is_missing = missing_elements(source, unit, at);
            is_missing
                .map_or_else(Vec::new, |is_missing| (0..source.footprint.elements).map(is_missing).collect())
        };
        Self { missing: tensors.iter().map(of).collect(), found: None }
    }

    /// Checks the operand that each lane takes. The first matching operand counts.
    pub(super) fn look(&mut self, inputs: &[Operand], block: Range<usize>, ids: &Ids, tensors: &[Region]) {
        for lane in block {
            if self.found.is_some() {
                return;
            }
            let id = match ids {
                Ids::Same(id) => *id,
                Ids::Each(ids) => ids[lane],
            };
            if let Some(input) = inputs.iter().find(|input| holds(input.ids, id))
                && let Source::Vrf(number, places) = &input.source
                && let Some(element) = places.element(lane)
                && self.missing[*number].get(element) == Some(&true)
            {
                let source = tensors[*number];
                self.found = Some(MissingOperand { source, element, is_for_some: false });
            }
        }
    }

    /// The first operand found.
    pub(super) fn found(self) -> Option<MissingOperand> {
        self.found
    }
}

/// Test for live unwritten elements of a tensor in the VRF of a slice. `None`: all elements are written.
fn missing_elements(source: &Region, unit: &Unit, at: Coordinates) -> Option<impl Fn(usize) -> bool> {
    let start = source.address as usize;
    if unit.vrf.all_initialised(start..start + source.footprint.bytes()) {
        return None;
    }
    let size = source.footprint.element.bits() / 8;
    Some(move |element: usize| {
        let byte = start + element * size;
        source.footprint.guard.holds(&[at.chip, at.cluster, at.slice, element])
            && !unit.vrf.all_initialised(byte..byte + size)
    })
}

impl VectorPlan {
    /// Tells if operands come from the VRF.
    pub(crate) fn has_tensors(&self) -> bool {
        !self.tensors.is_empty()
    }

    /// The first unwritten element of a tensor in the VRF that a slice uses. `takes_part`: the slice has a stream
    /// before an exchange; other slices have one only after it.
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
        let inputs = steps.flat_map(|step| match step {
            LaneStep::Binary(.., inputs) | LaneStep::Ternary(.., inputs) => inputs.iter().enumerate(),
            _ => [].iter().enumerate(),
        });
        for (k, input) in inputs {
            let Source::Vrf(number, places) = &input.source else { continue };
            let source = self.tensors[*number];
            let Some(is_missing) = missing_elements(&source, unit, at) else { continue };
            // At most as many elements as the tensor has. Elements behind it belong to another check.
            let elements = places.elements(source.footprint.elements);
            if let Some(element) = elements.into_iter().find(|&element| is_missing(element)) {
                let is_for_some = k > 0 || input.ids != ValidBranchIds::ValidAlways;
                return Some(MissingOperand { source, element, is_for_some });
            }
        }
        None
    }

    /// Runs a step whose operands apply to some elements each. The first matching operand counts, as is documented
    /// (guide: vector). `flags` are those of the whole stream.
    pub(super) fn conditional(
        &self,
        (inputs, uses_stream): (&[Operand], bool),
        block: Block<'_>,
        flags: &mut Vec<bool>,
        beside: Beside<'_>,
        scratch: &mut Scratch,
        job: impl for<'a> Fn(&Operand, Lanes<'a>) -> LaneJob<'a>,
    ) {
        let Block { range, of, from, to } = block;
        let Scratch { operand, made, before } = scratch;
        // Runs the step on lanes `lanes_range` of a stream of `of` lanes with these flags.
        let mut apply = |input: &Operand,
                         flags: &mut Vec<bool>,
                         lanes_range: Range<usize>,
                         of: usize,
                         to: &mut [Lane]| {
            let lanes = fetch(input, beside, range.clone(), operand);
            let missing = (!operand.flags.is_empty()).then_some(&operand.flags[..]);
            set_flags(uses_stream, missing, lanes_range, (flags, of));
            self.path.run(Job::Step(job(input, lanes_of(lanes, operand)), from), to);
        };
        let always = || inputs.iter().all(|input| input.ids == ValidBranchIds::ValidAlways);
        let (for_all, each) = match beside.ids {
            Ids::Same(id) => (Some(inputs.iter().find(|input| holds(input.ids, *id))), &[][..]),
            Ids::Each(ids) => {
                let each = &ids[range.clone()];
                ((always() && !each.contains(&NO_ID)).then(|| inputs.first()), each)
            }
        };
        match for_all {
            Some(Some(input)) => return apply(input, flags, range.clone(), of, to),
            Some(None) => return to.copy_from_slice(from),
            None => to.copy_from_slice(from),
        }
        before.clear();
        before.extend_from_slice(flags.get(range.clone()).unwrap_or(&[]));
        // Runs the operands in reverse, so that the first matching one has the last word.
        for input in inputs.iter().rev() {
            made.renew(from.len());
            let (lanes, written) = made.split();
            written.extend_from_slice(before);
            apply(input, written, 0..from.len(), from.len(), lanes);
            for ((lane, new), &id) in to.iter_mut().zip(lanes).zip(each) {
                *lane = if holds(input.ids, id) { *new } else { *lane };
            }
            if !written.is_empty() || !flags.is_empty() {
                let flags = &mut all_flags(flags, of)[range.clone()];
                for (k, (flag, &id)) in flags.iter_mut().zip(each).enumerate() {
                    let new = written.get(k).copied().unwrap_or(true);
                    *flag = if holds(input.ids, id) { new } else { *flag };
                }
            }
        }
    }
}

/// Result of [`fetch`].
#[derive(Clone, Copy)]
enum Fetched {
    Constant(u32),
    /// In the buffer of the operand.
    Each,
}

fn lanes_of(fetched: Fetched, operand: &LaneRow) -> Lanes<'_> {
    match fetched {
        Fetched::Constant(bits) => Lanes::Constant(bits),
        Fetched::Each => Lanes::Each(operand.lanes()),
    }
}

/// Fetches an operand for a block of lanes.
fn fetch(
    input: &Operand,
    Beside { stash, tensors, .. }: Beside<'_>,
    block: Range<usize>,
    operand: &mut LaneRow,
) -> Fetched {
    operand.flags.clear();
    let (table, places) = match &input.source {
        Source::Constant(bits) => return Fetched::Constant(*bits),
        Source::Vrf(number, places) => (&tensors[*number], places),
        Source::Stash(places) => (stash, places),
    };
    let (lanes, flags) = (table.lanes(), &table.flags);
    let value = |element: usize| lanes.get(element).copied().unwrap_or_default();
    let is_written = |element: usize| element < lanes.len() && (flags.is_empty() || flags[element]);
    match places {
        Places::One(element) => {
            let element = *element as usize;
            if !is_written(element) {
                operand.flags.resize(block.len(), false);
            }
            return Fetched::Constant(u32::from_le_bytes(value(element)));
        }
        Places::Same if block.end <= lanes.len() => {
            operand.copy(&lanes[block.clone()], flags.get(block).unwrap_or(&[]));
        }
        Places::Same | Places::Table(_) => {
            operand.clear(block.len());
            for ((value_of_lane, flag), lane) in operand.parts_mut().zip(block) {
                let element = places.element(lane);
                *value_of_lane = element.map_or(Lane::default(), value);
                *flag = element.is_some_and(is_written);
            }
            operand.tidy();
        }
    }
    Fetched::Each
}

/// Sets the flags of the results of an operator: a result is unwritten if one of its arguments is. `flags` are those of
/// a stream of `len` lanes.
pub(super) fn set_flags(
    uses_stream: bool,
    missing: Option<&[bool]>,
    block: Range<usize>,
    (flags, len): (&mut Vec<bool>, usize),
) {
    match (uses_stream, missing) {
        (true, None) => {}
        (false, None) if flags.is_empty() => {}
        (false, None) => flags[block].fill(true),
        (true, Some(missing)) => {
            let flags_of_block = &mut all_flags(flags, len)[block];
            flags_of_block.iter_mut().zip(missing).for_each(|(written, &flag)| *written &= flag);
        }
        (false, Some(missing)) => all_flags(flags, len)[block].copy_from_slice(missing),
    }
}
