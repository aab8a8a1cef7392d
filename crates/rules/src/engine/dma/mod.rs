//! DMA Engine: moves tensors between HBM and DM, in any re-layout, with padding and broadcast.

pub mod host;
pub mod indexed;

pub use host::{derive_host_transfer, derive_storage_transfer};
pub use indexed::{IndexedConfig, check_key, check_tiles, derive_indexed};

use crate::command::moves::Moves;
use crate::command::{Dma, Footprint, Memory, Operation, Part, Region, Start, Transfer};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Factors, UNKNOWN, least};
use crate::sequencer::transfer::{Level, Placement, contiguous_elements, derive_transfer_of};
use crate::spec;
use crate::tensor::Shape;
use crate::text::Text;

/// Derives the loops of a DMA transfer and checks the rules of the hardware.
pub const fn derive_dma(source: &Shape, destination: &Shape) -> Result<Transfer, PlanError> {
    derive_move(dma_name(destination), source, destination)
}

/// The call of a transfer to a destination, for messages.
pub const fn dma_name(destination: &Shape) -> &'static str {
    match destination.memory {
        Memory::Hbm => "to_hbm",
        Memory::Dm | Memory::Vrf => "to_dm",
    }
}

/// As [`derive_dma`], for any call that moves a tensor as a DMA transfer does.
pub const fn derive_move(
    operation: &'static str,
    source: &Shape,
    destination: &Shape,
) -> Result<Transfer, PlanError> {
    let elements = [attempt!(source.sizes())[3], attempt!(destination.sizes())[3]];
    derive_move_of(operation, [source, destination], elements, [&[UNKNOWN; 4]; 2])
}

/// As [`derive_move`], for a source and a destination of which is known that their memories hold them: with the elements
/// per unit and the normal forms of the dimensions.
pub const fn derive_move_of(
    operation: &'static str,
    [source, destination]: [&Shape; 2],
    elements: [usize; 2],
    forms: [&[&Factors; 4]; 2],
) -> Result<Transfer, PlanError> {
    if matches!(source.memory, Memory::Vrf) || matches!(destination.memory, Memory::Vrf) {
        refuse!(
            "DMA memory",
            "{}: a transfer from or to the VRF, which DMA does not reach; help: load the VRF with `.to_vrf(…)`",
            operation,
        );
    }
    let (a, b): ([_; 4], [_; 4]) = (source.dimensions(), destination.dimensions());
    let transfer = attempt!(derive_transfer_of(
        operation,
        &Placement { name: source.name(), dimensions: first_levels(&a, source.levels()) },
        &Placement { name: destination.name(), dimensions: first_levels(&b, destination.levels()) },
        true,
        [forms[0], forms[1]],
    ));
    let rules = DmaRules {
        operation,
        source: (*source, elements[0]),
        destination: (*destination, elements[1]),
        by_index: false,
    };
    attempt!(check_dma(&rules, &transfer));
    Ok(transfer)
}

/// The dimensions that a tensor has: two in HBM, and four elsewhere.
const fn first_levels<'a>(
    all: &'a [(&'static Expr, Level); 4],
    levels: usize,
) -> &'a [(&'static Expr, Level)] {
    match all.first_chunk::<2>() {
        Some(two) if levels == 2 => two,
        _ => all,
    }
}

/// The command of a transfer. It has no type parameters, so that all kernels share it.
#[inline(never)]
pub fn dma_operation(source: Region, destination: Region, transfer: &Transfer) -> Operation {
    let transfer = transfer.further(Start::of(&source), Start::of(&destination));
    Operation::Dma(Box::new(Dma { source, destination, transfer, pcie: false }))
}

/// Checks a move that writes whole units of 8 bytes into a tile: a transfer from HBM to DM, or a parallel
/// copy. The units must hold no element of another tile.
pub fn check_units_of_tile(operation: &Operation, tensor: &Footprint) -> Result<(), PlanError> {
    let (name, source, tile, transfer, inner) = match operation {
        Operation::Dma(dma) => ("to_dm", &dma.source, &dma.destination, &dma.transfer, &dma.transfer),
        Operation::Indexed(indexed) => {
            (indexed.call.name(), &indexed.source, &indexed.destination, &indexed.spread(), &indexed.payload)
        }
        Operation::UnitCopy(copy) if copy.call.is_parallel() && copy.moves.len() == 1 => {
            (copy.call.name(), &copy.source, &copy.destination, &copy.moves[0], &copy.moves[0])
        }
        Operation::TensorUnit(_) | Operation::UnitCopy(_) | Operation::Memset(_) => return Ok(()),
    };
    let by_the_sub_context = matches!(operation, Operation::UnitCopy(_));
    let (bits, unit) = (tensor.element.bits(), 8 * spec::DMA_HBM_TO_DM_BYTES);
    let run = contiguous_elements(inner) * bits;
    let writes_units = source.memory == Memory::Hbm || by_the_sub_context;
    if tile.part == Part::WHOLE || !writes_units || run.is_multiple_of(unit) {
        return Ok(());
    }
    let before = tile.part.offset as usize * 8 / bits;
    let first = tile.part.units;
    let mut other = None;
    Moves::new(transfer).for_each_strip(bits, |strip| {
        let (cluster, slice) = (strip.destination.unit / spec::SLICES, strip.destination.unit % spec::SLICES);
        let at = [cluster / spec::CLUSTERS, cluster % spec::CLUSTERS, slice];
        for k in 0..strip.count {
            let end = strip.destination.position + k * strip.destination.stride + strip.run;
            let last = (end * bits).next_multiple_of(unit) / bits;
            for position in end..last {
                let place = [at[0] - first[0], at[1] - first[1], at[2] - first[2], position];
                if position < tile.footprint.elements && tile.footprint.guard.holds(&place) {
                    continue;
                }
                let there = [at[0], at[1], at[2], before + position];
                if before + position < tensor.elements && tensor.guard.holds(&there) {
                    other = other.or(Some(there));
                }
            }
        }
    });
    let Some(there) = other else { return Ok(()) };
    let what = tensor.guard.element(&there).unwrap_or_else(|| format!("position {}", there[3]));
    refuse!(
        "DMA beside a tile",
        "{}: {} writes multiples of {} bytes, but behind the last bytes of the tile there is {} of its \
         tensor; help: pad the innermost axis of the tensor, so that tiles have bytes of their own",
        name,
        if by_the_sub_context { "the sub context" } else { "a transfer from HBM" },
        spec::DMA_HBM_TO_DM_BYTES,
        what.as_str(),
    )
}

/// The input of [`check_dma`].
#[derive(Clone, Copy, Debug)]
pub struct DmaRules {
    /// The call, for messages.
    pub operation: &'static str,
    /// The source and its elements per unit.
    pub source: (Shape, usize),
    /// The destination and its elements per unit.
    pub destination: (Shape, usize),
    /// True for a move of rows by an index, in which the order of one side cannot be that of the other.
    pub by_index: bool,
}

impl DmaRules {
    /// `` to_dm: `HbmTensor<…>` to `DmTensor<…>` ``.
    const fn text(&self) -> Text {
        let source = self.source.0.notation(Text::new());
        let destination = self.destination.0.notation(Text::new());
        text!("{}: {} to {}", (self.operation, &source, &destination))
    }
}

/// Checks that the hardware can move in the runs of a transfer.
pub const fn check_dma(rules: &DmaRules, transfer: &Transfer) -> Result<(), PlanError> {
    let bits = rules.source.0.element_type.bits();
    let run = contiguous_elements(transfer);
    let to_dm = matches!((rules.source.0.memory, rules.destination.0.memory), (Memory::Hbm, Memory::Dm));
    let unit = if to_dm { spec::DMA_HBM_TO_DM_BYTES } else { 1 };
    attempt!(check_starts(rules, transfer, bits, unit));
    // Steps by whole units are steps by whole bytes.
    let odd = shortest_odd_step(transfer, bits, 8 * unit, run);
    if !(run * bits).is_multiple_of(8) || (odd > 0 && shortest_odd_step(transfer, bits, 8, run) > 0) {
        refuse!(
            "whole bytes",
            "{} moves {} of {} bits at a time, or steps by half a byte, but a transfer moves whole bytes; \
             help: keep an even number of elements together, innermost on both sides",
            (&rules.text(), count(run, "element"), bits),
        );
    }
    if !to_dm {
        return Ok(());
    }
    let bytes = run * bits / 8;
    let rounded = bytes.div_ceil(unit) * unit;
    // A run may be read past its end if no other run begins there on either side. The extra bytes land in padding.
    let start = transfer.destination_start.elements;
    let end =
        if start > 0 { rules.destination.1.saturating_sub(start as usize) } else { rules.destination.1 };
    let there = least(end, next_run(transfer, run, false));
    let apart = rounded * 8 <= next_run(transfer, run, true) * bits;
    if rounded * 8 > there * bits || !apart {
        let longer = longer_runs(rules, run, bits);
        refuse!(
            "DMA run",
            "{} has {} on both sides, but a transfer from HBM to DM moves multiples of {}; \
             help: {}{} to `# {}`",
            &rules.text(),
            count(bytes, "contiguous byte"),
            unit,
            &longer,
            if apart && !rules.by_index {
                "pad the innermost axis of the destination"
            } else {
                "make the innermost axis the same on both sides, and pad it on both sides"
            },
            rounded * 8 / bits,
        );
    }
    if odd > 0 {
        let step = odd * bits / 8;
        refuse!(
            "DMA stride",
            "{} steps by a number of bytes that is no multiple of {} on one side, but a transfer from HBM to DM needs \
             multiples on both; help: pad the innermost axis to `# {}` on both sides",
            (&rules.text(), unit, step.div_ceil(unit) * unit * 8 / bits),
        );
    }
    Ok(())
}

/// The edit for short runs if the order of the source is the reason: HBM to HBM moves runs of any length. The order of
/// the destination helps if its part in a slice is longer than the run, and consists of whole units.
const fn longer_runs(rules: &DmaRules, run: usize, bits: usize) -> Text {
    let inside = rules.destination.1;
    if rules.by_index || run >= inside || !(inside * bits).is_multiple_of(8 * spec::DMA_HBM_TO_DM_BYTES) {
        return text!("");
    }
    text!(
        "move it with `.to_hbm()` first, to an order that ends in {} as the destination does; or ",
        rules.destination.0.element,
    )
}

/// Checks the start of the loops, which padding positions before an axis move. It must be aligned like their steps.
const fn check_starts(
    rules: &DmaRules,
    transfer: &Transfer,
    bits: usize,
    unit: usize,
) -> Result<(), PlanError> {
    let starts = [transfer.source_start.elements, transfer.destination_start.elements];
    if let [0, 0] = starts {
        return Ok(());
    }
    each!(k < starts.len(), {
        if !(starts[k].unsigned_abs() * bits).is_multiple_of(8 * unit) {
            refuse!(
                "DMA start",
                "{} starts {}{} of {} bits from the {}, but a transfer starts at multiples of {}; \
                 help: put a multiple of {} dead positions before the innermost axis, or none",
                &rules.text(),
                if starts[k] < 0 { "-" } else { "" },
                count(starts[k].unsigned_abs(), "element"),
                bits,
                if k == 0 { "source" } else { "destination" },
                count(unit, "byte"),
                8 * unit / crate::mapping::gcd(bits, 8 * unit),
            );
        }
    });
    Ok(())
}

/// Elements from the start of a run to the start of the next one on a side. No limit for a single run.
const fn next_run(transfer: &Transfer, run: usize, of_source: bool) -> usize {
    let mut next = usize::MAX / 64;
    each!(k < transfer.loops.len, {
        let axis = &transfer.loops.items[k];
        let step = if of_source { axis.source.elements } else { axis.destination.elements };
        if axis.size > 1 && step >= run {
            next = least(next, step);
        }
    });
    next
}

/// The shortest step, in elements, of a loop outside the run that is no multiple of `unit` bits. 0 if there is none.
const fn shortest_odd_step(transfer: &Transfer, bits: usize, unit: usize, run: usize) -> usize {
    let mut shortest = 0;
    each!(k < transfer.loops.len, {
        let axis = &transfer.loops.items[k];
        let (from, to) = (axis.source.elements, axis.destination.elements);
        let inside = from == to && from < run && axis.source.units == 0 && axis.destination.units == 0;
        if axis.size > 1 && !inside {
            if !(from * bits).is_multiple_of(unit) && (shortest == 0 || from < shortest) {
                shortest = from;
            }
            if !(to * bits).is_multiple_of(unit) && (shortest == 0 || to < shortest) {
                shortest = to;
            }
        }
    });
    shortest
}
