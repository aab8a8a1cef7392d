//! DMA Engine: moves tensors between HBM and DM, in any re-layout, with padding and broadcast.
//!
//! The rules of contiguity and alignment are on spec page 30 §7: a transfer from HBM to DM moves whole multiples of 8
//! bytes at addresses that are multiples of 8; a transfer to HBM moves any number of bytes.

mod calls;
mod host;

pub(crate) use host::derive_host_transfer;
pub use host::{HostPlan, derive_storage_transfer};

use crate::command::{Dma, Memory, Operation, Region, Transfer};
use crate::error::{PlanError, attempt};
use crate::mapping::M;
use crate::scalar::Scalar;
use crate::sequencer::transfer::{Placement, contiguous_elements, derive_transfer};
use crate::spec;
use crate::tensor::{DmTensor, HbmTensor, Shape};
use crate::text::Text;
use core::marker::PhantomData;

/// A tensor at rest, as a type.
pub trait AtRest {
    /// Memory, element type and mappings.
    const SHAPE: Shape;
}

impl<D: Scalar, Chip: M, Element: M> AtRest for HbmTensor<D, Chip, Element> {
    const SHAPE: Shape = Self::SHAPE;
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> AtRest
    for DmTensor<D, Chip, Cluster, Slice, Element>
{
    const SHAPE: Shape = Self::SHAPE;
}

/// The loops of a DMA transfer from one tensor type to another.
pub struct DmaPlan<Source, Destination>(PhantomData<(Source, Destination)>);

impl<Source: AtRest, Destination: AtRest> DmaPlan<Source, Destination> {
    /// The loops. Using it refuses what the DMA engine cannot do.
    pub const TRANSFER: Transfer = match derive_dma(&Source::SHAPE, &Destination::SHAPE) {
        Ok(transfer) => transfer,
        Err(error) => error.refuse(),
    };
}

/// Derives the loops of a DMA transfer and checks the rules of the hardware.
pub const fn derive_dma(source: &Shape, destination: &Shape) -> Result<Transfer, PlanError> {
    let operation = match destination.memory {
        Memory::Hbm => "to_hbm",
        Memory::Dm | Memory::Vrf => "to_dm",
    };
    if matches!(source.memory, Memory::Vrf) || matches!(destination.memory, Memory::Vrf) {
        let text =
            Text::new().str(operation).str(": a transfer from or to the VRF, which DMA does not reach");
        return Err(PlanError::new("DMA memory", text.str("; help: load the VRF with `.to_vrf(…)`")));
    }
    let from = attempt!(source.sizes());
    let to = attempt!(destination.sizes());
    let (a, b): ([_; 4], [_; 4]) = (source.dimensions(), destination.dimensions());
    let transfer = attempt!(derive_transfer(
        operation,
        &Placement { name: source.name(), dimensions: a.split_at(source.levels()).0 },
        &Placement { name: destination.name(), dimensions: b.split_at(destination.levels()).0 },
        true,
    ));
    let rules = DmaRules { operation, source: (*source, from[3]), destination: (*destination, to[3]) };
    attempt!(check_dma(&rules, &transfer));
    Ok(transfer)
}

pub(crate) fn dma_operation(source: Region, destination: Region, transfer: Transfer) -> Operation {
    Operation::Dma(Box::new(Dma { source, destination, transfer, pcie: false }))
}

/// What the rules of a DMA transfer look at.
#[derive(Clone, Copy, Debug)]
pub struct DmaRules {
    /// The call, for messages.
    pub operation: &'static str,
    /// The source and its elements per unit.
    pub source: (Shape, usize),
    /// The destination and its elements per unit.
    pub destination: (Shape, usize),
}

impl DmaRules {
    /// `` to_dm: `HbmTensor<…>` to `DmTensor<…>` ``.
    const fn text(&self) -> Text {
        let text = Text::new().str(self.operation).str(": ");
        let text = self.source.0.notation(text).str(" to ");
        self.destination.0.notation(text)
    }
}

/// Checks that the hardware can move in the runs of a transfer.
pub const fn check_dma(rules: &DmaRules, transfer: &Transfer) -> Result<(), PlanError> {
    let bits = rules.source.0.element_type.bits();
    let run = contiguous_elements(transfer);
    attempt!(check_starts(rules, transfer, bits));
    if !(run * bits).is_multiple_of(8) || !steps_multiple_of(transfer, bits, 8, run) {
        let text = rules.text().str(" moves ").count(run, "element").str(" of ").number(bits);
        let text = text.str(" bits at a time, or steps by half a byte, but a transfer moves whole bytes");
        let help = "; help: keep an even number of elements together, innermost on both sides";
        return Err(PlanError::new("whole bytes", text.str(help)));
    }
    if !matches!((rules.source.0.memory, rules.destination.0.memory), (Memory::Hbm, Memory::Dm)) {
        return Ok(());
    }
    let unit = spec::DMA_HBM_TO_DM_BYTES;
    let bytes = run * bits / 8;
    let rounded = bytes.div_ceil(unit) * unit;
    // A run may go on into padding, where both sides have it.
    if rounded * 8 > room(transfer, run, rules) * bits {
        let text =
            rules.text().str(" has ").count(bytes, "contiguous byte").str(" on both sides, but a transfer ");
        let text = text
            .str("from HBM to DM moves multiples of ")
            .number(unit)
            .str("; help: make the innermost axis ");
        let text = text.str("the same on both sides, and pad it on both sides to ").number(unit * 8 / bits);
        return Err(PlanError::new("DMA run", text.str(" elements or a multiple")));
    }
    if !steps_multiple_of(transfer, bits, 8 * unit, run) {
        let text = rules.text().str(" steps by a number of bytes that is no multiple of ").number(unit);
        let text =
            text.str(" on one side, but a transfer from HBM to DM needs multiples on both; help: pad the ");
        let text = text.str("innermost axis to ").number(unit * 8 / bits);
        return Err(PlanError::new("DMA stride", text.str(" elements or a multiple on both sides")));
    }
    Ok(())
}

/// Dead positions before an axis move the start of the loops, which is aligned as their steps are.
const fn check_starts(rules: &DmaRules, transfer: &Transfer, bits: usize) -> Result<(), PlanError> {
    let unit = match (rules.source.0.memory, rules.destination.0.memory) {
        (Memory::Hbm, Memory::Dm) => spec::DMA_HBM_TO_DM_BYTES,
        _ => 1,
    };
    let starts = [transfer.source_start.elements, transfer.destination_start.elements];
    let mut k = 0;
    while k < starts.len() {
        if !(starts[k].unsigned_abs() * bits).is_multiple_of(8 * unit) {
            let text = rules.text().str(" starts ").signed(starts[k]).str(" elements of ").number(bits);
            let text = text.str(if k == 0 { " bits from the source" } else { " bits from the destination" });
            let text = text.str(", but a transfer starts at multiples of ").count(unit, "byte");
            let text =
                text.str("; help: put a multiple of ").number(8 * unit / crate::mapping::gcd(bits, 8 * unit));
            let text = text.str(" dead positions before the innermost axis, or none");
            return Err(PlanError::new("DMA start", text));
        }
        k += 1;
    }
    Ok(())
}

/// Elements that a run can take on both sides before it meets something else.
const fn room(transfer: &Transfer, run: usize, rules: &DmaRules) -> usize {
    let mut room = if rules.source.1 < rules.destination.1 { rules.source.1 } else { rules.destination.1 };
    let mut k = 0;
    while k < transfer.loops.len() {
        let own = transfer.loops.at(k);
        let steps = [own.source.elements, own.destination.elements];
        let mut s = 0;
        while s < 2 {
            if own.size > 1 && steps[s] >= run && steps[s] < room {
                room = steps[s];
            }
            s += 1;
        }
        k += 1;
    }
    room
}

/// Whether every loop outside the run steps by a multiple of `unit` bits on both sides.
const fn steps_multiple_of(transfer: &Transfer, bits: usize, unit: usize, run: usize) -> bool {
    let mut k = 0;
    while k < transfer.loops.len() {
        let own = transfer.loops.at(k);
        let inside = own.source.elements == own.destination.elements
            && own.source.elements < run
            && own.source.units == 0
            && own.destination.units == 0;
        if own.size > 1
            && !inside
            && (!(own.source.elements * bits).is_multiple_of(unit)
                || !(own.destination.elements * bits).is_multiple_of(unit))
        {
            return false;
        }
        k += 1;
    }
    true
}
