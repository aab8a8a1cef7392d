//! Operands of the steps that work lane by lane: where they come from, and for which elements they are.

use super::lanes::Lanes;
use super::path::Job;
use super::stream::{Ids, Lane, LaneRow, NO_ID, holds};
use super::{LaneStep, Part, VectorBuffers, VectorPlan};
use crate::chip::memory::Unit;
use crate::chip::memory::place::Coordinates;
use crate::command::{Region, Transfer, TransferLoop, ValidBranchIds};
use core::ops::Range;

/// A place that no element goes to.
const NOWHERE: u32 = u32::MAX;

/// An operand that was prepared.
#[derive(Debug)]
pub(super) struct Operand {
    pub(super) ids: ValidBranchIds,
    pub(super) source: Source,
    /// The second operand of a ternary operator.
    pub(super) constant: f32,
}

#[derive(Debug)]
pub(super) enum Source {
    /// The same for all, or not looked at.
    Constant(u32),
    /// Elements of the tensor with this number.
    Vrf(usize, Places),
    Stash(Places),
}

/// Which element goes to which lane.
#[derive(Debug)]
pub(super) enum Places {
    /// Each to its own.
    Same,
    /// One for all.
    One(u32),
    /// The number of the element for each lane, or [`NOWHERE`].
    Table(Vec<u32>),
}

impl Places {
    /// The elements of a transfer to so many lanes.
    pub(super) fn new(transfer: &Transfer, lanes: usize) -> Self {
        let loops = transfer.loops.as_slice();
        let still = |own: &TransferLoop| own.source == own.destination;
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

/// An operand that nobody wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MissingOperand {
    /// The tensor.
    pub(crate) source: Region,
    /// Its element.
    pub(crate) element: usize,
}

impl VectorPlan {
    /// Whether operands come from the VRF.
    pub(crate) fn has_tensors(&self) -> bool {
        !self.tensors.is_empty()
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

    /// A step whose operands are for some elements each. Of several, the first one counts, as in the hardware of the later
    /// editions of the manual.
    pub(super) fn conditional(
        &self,
        inputs: &[Operand],
        uses_stream: bool,
        block: Range<usize>,
        buffers: &mut VectorBuffers,
        job: impl for<'a> Fn(&Operand, Lanes<'a>) -> Job<'a>,
    ) {
        let VectorBuffers { stream, stash, tensors, operand, before, made, ids, .. } = buffers;
        let tables = (&*stash, &tensors[..]);
        // Does it for the lanes of the block, which lie at a place of a row.
        let mut apply = |input: &Operand, row: &mut LaneRow, place: Range<usize>| {
            let lanes = fetch(input, tables, block.clone(), operand);
            let missing = (!operand.flags.is_empty()).then_some(&operand.flags[..]);
            set_flags(uses_stream, missing, place.clone(), row);
            self.path.run(job(input, lanes_of(lanes, operand)), &mut row.lanes_mut()[place]);
        };
        let always = || inputs.iter().all(|input| input.ids == ValidBranchIds::ValidAlways);
        let (for_all, each) = match ids {
            Ids::Same(id) => (Some(inputs.iter().find(|input| holds(input.ids, *id))), &[][..]),
            Ids::Each(ids) => {
                let each = &ids[block.clone()];
                ((always() && !each.contains(&NO_ID)).then(|| inputs.first()), each)
            }
        };
        if let Some(input) = for_all {
            input.into_iter().for_each(|input| apply(input, stream, block.clone()));
            return;
        }
        before.copy(&stream.lanes()[block.clone()], stream.flags.get(block.clone()).unwrap_or(&[]));
        // The last one first, so that the first one has the last word.
        for input in inputs.iter().rev() {
            made.copy(before.lanes(), &before.flags);
            apply(input, made, 0..block.len());
            let own = &mut stream.lanes_mut()[block.clone()];
            for ((lane, new), &id) in own.iter_mut().zip(made.lanes()).zip(each) {
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
        Fetched::Each => Lanes::Each(operand.lanes()),
    }
}

/// Brings an operand for a block of lanes.
fn fetch(
    input: &Operand,
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
            for ((own, flag), lane) in operand.parts_mut().zip(block) {
                let element = places.element(lane);
                *own = element.map_or(Lane::default(), value);
                *flag = element.is_some_and(is_written);
            }
            operand.tidy();
        }
    }
    Fetched::Each
}

/// The result of an operator is none where one of its arguments is.
pub(super) fn set_flags(
    uses_stream: bool,
    missing: Option<&[bool]>,
    block: Range<usize>,
    stream: &mut LaneRow,
) {
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
