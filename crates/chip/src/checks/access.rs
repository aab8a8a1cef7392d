//! Rules for memory accesses of operations: alignment, and the places that they write.

use super::bounds::{Call, in_memory};
use core::panic::Location;
use furiosa_visa_rules::command::covers::is_injective;
use furiosa_visa_rules::command::moves::{Moves, Side, Strip};
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{
    CheckOptions, CopyCall, Dma, Fault, FaultKind, HostTransfer, Memory, Memset, Place, Region, Sink, Start,
    StreamShape, TensorUnit, Transfer, TransferLoop, TrfRegion, UnitCopy, Vector,
};
use furiosa_visa_rules::mapping::Guard;
use furiosa_visa_rules::mapping::guard::rows::{LiveRows, Liveness, live_runs};
use furiosa_visa_rules::sequencer::Config;
use furiosa_visa_rules::sequencer::walk::Walk;
use furiosa_visa_rules::sorting;
use furiosa_visa_rules::spec::{CLUSTERS, COMMIT_ALIGN_BYTES, DMA_HBM_TO_DM_BYTES, MAX_CHIPS, SLICES};
use furiosa_visa_rules::text::Text;

/// Refuses a tensor whose address is no multiple of its element size.
pub(crate) fn element_aligned(region: &Region, call: Call) -> Result<(), Fault> {
    let element = region.footprint.element;
    let bytes = element.bits().div_ceil(8) as u64;
    if region.address.is_multiple_of(bytes) {
        return Ok(());
    }
    let (memory, address) = (region.memory, region.address);
    let message = format!("{memory} address {address} is no multiple of the {bytes} bytes of {element}");
    Err(misaligned(region, message, "move the tensor to a multiple of its element size", call))
}

fn misaligned(region: &Region, message: String, help: &'static str, call: Call) -> Fault {
    let bytes = region.address..region.address.saturating_add(1);
    call.fault(FaultKind::Misaligned, message, help).at(region.memory, 0, bytes)
}

/// Refuses a transfer that the DMA engines cannot do, or that writes outside of its tensor or twice.
pub(crate) fn dma(dma: &Dma, checks: &CheckOptions, call: Call) -> Result<(), Fault> {
    let Dma { source, destination, transfer, pcie } = dma;
    if checks.contexts && *pcie {
        let dm = [source, destination].into_iter().find(|region| region.memory == Memory::Dm);
        if let Some(region) = dm {
            let message = format!(
                "the PCIe engine is to access DM address {}, but it reaches HBM only",
                region.address
            );
            return Err(call.fault(FaultKind::Unsupported, message, "use the Tensor DMA: `&mut ctx.tdma`"));
        }
    }
    if checks.alignment {
        ends_aligned(source, destination, call)?;
    }
    moved(core::slice::from_ref(transfer), destination, checks, call)
}

/// Refuses a move between addresses that are no multiples of the element, and, from HBM to DM, of 8 bytes.
pub(super) fn ends_aligned(source: &Region, destination: &Region, call: Call) -> Result<(), Fault> {
    for region in [source, destination] {
        element_aligned(region, call)?;
    }
    if (source.memory, destination.memory) != (Memory::Hbm, Memory::Dm) {
        return Ok(());
    }
    for (side, region) in [("source", source), ("destination", destination)] {
        let (unit, address) = (DMA_HBM_TO_DM_BYTES, region.address);
        if !address.is_multiple_of(unit as u64) {
            let message = format!(
                "{} {side} address {address} is no multiple of {unit} bytes, which a transfer from HBM to DM needs",
                region.memory
            );
            return Err(misaligned(region, message, "move the tensor to a multiple of 8", call));
        }
    }
    Ok(())
}

/// Refuses a copy between units whose tensors its engines do not reach, or that writes outside of its tensor or twice.
pub(crate) fn unit_copy(copy: &UnitCopy, checks: &CheckOptions, call: Call) -> Result<(), Fault> {
    let UnitCopy { call: kind, source, destination, moves, .. } = copy;
    let reached = if *kind == CopyCall::HbmChipShuffle { Memory::Hbm } else { Memory::Dm };
    for region in [source, destination] {
        in_memory(region, &[reached], call)?;
    }
    if checks.alignment {
        for region in [source, destination] {
            element_aligned(region, call)?;
        }
        let (unit, address) = (COMMIT_ALIGN_BYTES, destination.address);
        if kind.is_parallel() && !address.is_multiple_of(unit as u64) {
            let message = format!(
                "the DM address of the destination is {address}, but the sub context writes at multiples of {unit}"
            );
            return Err(misaligned(destination, message, "move the tensor to a multiple of 8", call));
        }
    }
    if checks.contexts && kind.is_parallel() {
        moves.iter().try_for_each(|transfer| in_its_clusters(transfer, call))?;
    }
    moved(moves, destination, checks, call)
}

/// Refuses a memset of what is not in DM, or one that writes outside of its tensor or twice.
pub(crate) fn memset(memset: &Memset, checks: &CheckOptions, call: Call) -> Result<(), Fault> {
    let Memset { destination, moves, .. } = memset;
    in_memory(destination, &[Memory::Dm], call)?;
    if checks.alignment {
        element_aligned(destination, call)?;
    }
    moved(core::slice::from_ref(moves), destination, checks, call)
}

/// Refuses loops of the sub context that go from one cluster to another.
fn in_its_clusters(transfer: &Transfer, call: Call) -> Result<(), Fault> {
    let (from, to) = (transfer.source_start.units, transfer.destination_start.units);
    let stays = |transfer_loop: &TransferLoop| {
        let [a, b] = [transfer_loop.source.units, transfer_loop.destination.units];
        transfer_loop.size < 2 || a == b || a.max(b) < SLICES
    };
    let reach = |side: fn(&TransferLoop) -> usize, start: isize| {
        let inside = transfer.loops.iter().filter(|transfer_loop| side(transfer_loop) < SLICES);
        let last: usize = inside
            .map(|transfer_loop| transfer_loop.size.saturating_sub(1).saturating_mul(side(transfer_loop)))
            .sum();
        start.rem_euclid(SLICES as isize).saturating_add_unsigned(last)
    };
    let fits = |reach: isize| reach < SLICES as isize;
    let evidently = from.div_euclid(SLICES as isize) == to.div_euclid(SLICES as isize)
        && transfer.loops.iter().all(stays)
        && fits(reach(|transfer_loop| transfer_loop.source.units, from))
        && fits(reach(|transfer_loop| transfer_loop.destination.units, to));
    if evidently {
        return Ok(());
    }
    // The loops do not decide it: only live positions count.
    let mut crosses = false;
    Moves::new(transfer).for_each_strip(8, |Strip { source, destination, .. }| {
        crosses |= source.unit / SLICES != destination.unit / SLICES;
    });
    if !crosses {
        return Ok(());
    }
    let message =
        "the loops go from one cluster to another one, but the sub context copies between the slices of a \
                   cluster"
            .to_string();
    Err(call.fault(FaultKind::Unsupported, message, "use a DMA or a shuffle: `&mut ctx.tdma`"))
}

/// Refuses a pass that accesses memory at addresses that its engines do not have, or that writes outside of its tensor
/// or twice.
pub(crate) fn tensor_unit(
    unit: &TensorUnit,
    checks: &CheckOptions,
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    let call = |operation| Call { operation, location };
    if checks.alignment {
        for source in unit.fetch.sources() {
            element_aligned(source, call("fetch"))?;
        }
        for operand in unit.vector.iter().flat_map(Vector::operands) {
            element_aligned(&operand.source, call("vector"))?;
        }
    }
    match &unit.sink {
        Sink::Commit { destination, config, guard, commit_size: _ } => {
            let call = call("commit");
            if checks.contexts && unit.sub_context && unit.transpose.is_some() {
                let message =
                    "the sub context commits what the Transpose Engine made, which only the main context has";
                let help = "commit in the main context";
                return Err(call.fault(FaultKind::Unsupported, message.to_string(), help));
            }
            if checks.contexts && unit.sub_context && unit.narrowing.is_some() {
                let message = "the sub context narrows what it commits, which only the main context does";
                let help = "commit in the main context, or cast before the commit";
                return Err(call.fault(FaultKind::Unsupported, message.to_string(), help));
            }
            if checks.alignment {
                commit_aligned(destination, config, call)?;
            }
            if checks.views {
                in_its_slices(unit, destination, (guard, config.packet_size), call)?;
            }
            committed(destination, config, guard, checks, call)
        }
        Sink::Trf { destination, guard } if checks.views => loaded(unit, destination, guard, call("to_trf")),
        Sink::Trf { .. } => Ok(()),
        Sink::Vrf { destination, transfer, guard } => {
            let call = call("to_vrf");
            if checks.alignment {
                element_aligned(destination, call)?;
            }
            if checks.views {
                in_its_slices(unit, destination, (guard, unit.shapes().ended.lanes), call)?;
            }
            moved(core::slice::from_ref(transfer), destination, checks, call)
        }
    }
}

/// Refuses a commit whose packets do not start at multiples of 8 bytes.
fn commit_aligned(region: &Region, config: &Config, call: Call) -> Result<(), Fault> {
    element_aligned(region, call)?;
    let (unit, address) = (COMMIT_ALIGN_BYTES, region.address);
    if !address.is_multiple_of(unit as u64) {
        let message = format!("the DM address is {address}, but commit writes at multiples of {unit}");
        let help = "choose an aligned address, or pad the element mapping so that tiles start aligned";
        return Err(misaligned(region, message, help, call));
    }
    let bits = region.footprint.element.bits();
    let mut inner = 1;
    for entry in config.entries.as_slice().iter().rev() {
        let (size, window) = (inner * entry.size, config.packet_size);
        // A packet is written at once. The part of an entry outside of the packet steps by whole packets.
        if size > window && entry.size > 1 {
            let step = entry.stride.unsigned_abs() * if inner < window { window / inner } else { 1 };
            if !(step * bits).is_multiple_of(8 * unit) {
                let message = format!(
                    "the packets of the sequencer {config} start {step} elements apart, {} bits, but commit writes at \
                     multiples of {unit} bytes",
                    step * bits
                );
                return Err(misaligned(
                    region,
                    message,
                    "pad the innermost part of the tensor to 8 bytes",
                    call,
                ));
            }
        }
        inner = size;
    }
    Ok(())
}

/// Refuses a commit that leaves its tensor, or that writes an element twice.
fn committed(
    region: &Region,
    config: &Config,
    guard: &Guard,
    checks: &CheckOptions,
    call: Call,
) -> Result<(), Fault> {
    let elements = region.elements_to_end() as i64;
    let walk = Walk::new(config);
    let first = walk.positions(0..1, 1).first().copied().unwrap_or(0);
    let reach = |sign: i64| -> i64 {
        let steps = config.entries.iter().map(|entry| (entry.size as i64 - 1) * entry.stride as i64);
        steps.filter(|step| step * sign > 0).sum()
    };
    let inside = first + reach(-1) >= 0 && first + reach(1) < elements;
    let once = is_injective(config.entries.iter().map(|entry| (entry.size, entry.stride.unsigned_abs())));
    if (inside || !checks.views) && (once || !checks.overlapping_writes) {
        return Ok(());
    }
    // The loops do not decide it: packets are written with their padding, and only time steps with live elements count.
    // The loops may place steps of padding anywhere.
    let window = config.packet_size.max(1);
    let live = LiveRows::new(guard, 4, window);
    let at = first_unit(&live, region.footprint.chips);
    let (mut mask, mut fault) = (Vec::new(), None);
    // Per element: the last time step that wrote it, and true if that lane held an element.
    let mut writer: Vec<Option<(usize, bool)>> = vec![None; region.elements_to_end()];
    for time in 0..config.positions() / window {
        let liveness = live.row(&mut [at.chip, at.cluster, at.slice, time, 0], &mut mask);
        if liveness == Liveness::Nothing {
            continue;
        }
        let is_live = |lane: usize| liveness.holds(&mask, lane);
        let positions = packet_positions(&walk, time, window, is_live);
        for (lane, position) in positions.into_iter().enumerate() {
            let padding = if is_live(lane) { "" } else { ", padding" };
            let what = || format!("time step {time}, lane {lane}{padding}");
            let place = usize::try_from(position).ok().and_then(|place| writer.get_mut(place));
            match place {
                None if checks.views => {
                    fault = fault.take().or_else(|| Some(outside(region, position, &what(), call)))
                }
                None => {}
                // An element keeps its writer when padding is written over it.
                Some(Some((earlier, true))) if checks.overlapping_writes => {
                    let other = format!("time step {earlier}");
                    let found = || twice(region, at, position as usize, [&other, &what()], call);
                    fault = fault.take().or_else(|| Some(found()));
                }
                Some(writer) => *writer = Some((time, is_live(lane))),
            }
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
    }
    Ok(())
}

/// Positions of the lanes of a packet. A packet lies together, so that its padding lies beside its elements, even where
/// the loops place it elsewhere.
pub(super) fn packet_positions(
    walk: &Walk,
    time: usize,
    window: usize,
    is_live: impl Fn(usize) -> bool,
) -> Vec<i64> {
    let mut positions = walk.positions(time * window..(time + 1) * window, 1);
    if let Some(first) = (0..window).find(|&lane| is_live(lane)) {
        let start = positions[first] - first as i64;
        let padding = (0..window).filter(|&lane| !is_live(lane));
        padding.for_each(|lane| positions[lane] = start + lane as i64);
    }
    positions
}

/// The first unit that can hold an element.
pub(super) fn first_unit(live: &LiveRows, chips: usize) -> Coordinates {
    let mut units = (0..chips * CLUSTERS * SLICES).map(Coordinates::of_slice);
    let takes_part = |at: &Coordinates| {
        live.of_unit(&mut [at.chip, at.cluster, at.slice, 0, 0]) != Some(Liveness::Nothing)
    };
    units.find(takes_part).unwrap_or(Coordinates::of_slice(0))
}

/// Refuses a load of more than its tensor holds.
fn loaded(unit: &TensorUnit, region: &TrfRegion, guard: &Guard, call: Call) -> Result<(), Fault> {
    let StreamShape { time, lanes, .. } = unit.shapes().ended;
    let elements = region.rows * region.row_elements;
    if time * lanes <= elements {
        return Ok(());
    }
    let live = LiveRows::new(guard, 4, lanes);
    let at = first_unit(&live, MAX_CHIPS);
    let mut mask = Vec::new();
    for time in elements / lanes..time {
        let liveness = live.row(&mut [at.chip, at.cluster, at.slice, time, 0], &mut mask);
        let mut found = None;
        live_runs(liveness, &mask, lanes, |start, len| {
            let lane = start.max(elements.saturating_sub(time * lanes));
            found = found.or((lane < start + len).then_some(lane));
        });
        if let Some(lane) = found {
            let message = format!(
                "time step {time}, lane {lane} is element {} of the tensor in {}, which has {elements} elements",
                time * lanes + lane,
                region.address
            );
            let help = "end the stream with the tensor, or load a larger one";
            return Err(call.fault(FaultKind::OutsideView, message, help));
        }
    }
    Ok(())
}

/// Refuses a move that leaves its destination, or that writes an element twice.
pub(super) fn moved(
    transfers: &[Transfer],
    region: &Region,
    checks: &CheckOptions,
    call: Call,
) -> Result<(), Fault> {
    let parts: Vec<(&Transfer, Moves<'_>)> =
        transfers.iter().map(|transfer| (transfer, Moves::new(transfer))).collect();
    let footprint = &region.footprint;
    let whole = footprint.clusters == CLUSTERS && footprint.slices == SLICES;
    let units = match region.memory {
        Memory::Hbm => footprint.chips,
        Memory::Dm | Memory::Vrf if whole => footprint.chips * CLUSTERS * SLICES,
        // The tensor may lie in a part of the slices, so each one is checked below.
        Memory::Dm | Memory::Vrf => 1,
    };
    let elements = region.elements_to_end();
    let inside = parts.iter().all(|(transfer, moves)| {
        let Start { units: first_unit, elements: first } = transfer.destination_start;
        first_unit >= 0
            && first >= 0
            && first as usize + moves.hull(Side::Destination) <= elements
            && first_unit as usize + moves.last_unit(Side::Destination) < units
    });
    let once = parts.iter().all(|(transfer, _)| transfer.writes_once());
    let apart = once && (parts.len() == 1 || inside && in_units_of_their_own(&parts));
    if (inside || !checks.views) && (apart || !checks.overlapping_writes) {
        return Ok(());
    }
    let mut runs: Vec<(usize, usize, usize)> = Vec::new();
    for (_, moves) in &parts {
        moves.for_each_strip(footprint.element.bits(), |strip| {
            let end = strip.destination;
            runs.extend((0..strip.count).map(|k| (end.unit, end.position + k * end.stride, strip.run)));
        });
    }
    runs.sort_unstable();
    let at = |unit: usize| match region.memory {
        Memory::Hbm => Coordinates { chip: unit, cluster: 0, slice: 0 },
        Memory::Dm | Memory::Vrf => Coordinates::of_slice(unit),
    };
    let leaves =
        |&&(unit, start, len): &&(usize, usize, usize)| !spans(region, at(unit)) || start + len > elements;
    if checks.views
        && let Some(&(unit, start, len)) = runs.iter().find(leaves)
    {
        if !spans(region, at(unit)) {
            return Err(outside_units(region, unit, call));
        }
        let what = format!("unit {unit}");
        return Err(outside(region, start.max(elements.min(start + len)) as i64, &what, call));
    }
    let pair = runs.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].1 + pair[0].2 > pair[1].1);
    match pair.filter(|_| checks.overlapping_writes) {
        Some(pair) => {
            let (unit, position, _) = pair[1];
            let what = ["one index of the move", "another one"];
            Err(twice(region, at(unit), position, what, call))
        }
        None => Ok(()),
    }
}

/// Tells if no two moves write in the same unit. Each move writes in units of its tensor, and writes each element once.
fn in_units_of_their_own(parts: &[(&Transfer, Moves<'_>)]) -> bool {
    let mut units: Vec<isize> = Vec::new();
    for (transfer, moves) in parts {
        let mut written = moves.units(Side::Destination);
        sorting::ascending(&mut written);
        written.dedup();
        units.extend(
            written.into_iter().map(|unit| transfer.destination_start.units.saturating_add_unsigned(unit)),
        );
    }
    let all = units.len();
    sorting::ascending(&mut units);
    units.dedup();
    units.len() == all
}

/// Tells if a tensor lies in a unit.
fn spans(region: &Region, at: Coordinates) -> bool {
    let footprint = &region.footprint;
    at.chip < footprint.chips
        && (region.memory == Memory::Hbm || at.cluster < footprint.clusters && at.slice < footprint.slices)
}

/// Refuses a host array that does not fit its tensor.
pub(crate) fn uploaded(host: &HostTransfer, checks: &CheckOptions, call: Call) -> Result<(), Fault> {
    moved(core::slice::from_ref(&host.transfer), &host.region, checks, call)
}

/// Refuses a pass that writes in slices outside of its tensor. `width`: number of lanes that are written.
fn in_its_slices(
    unit: &TensorUnit,
    region: &Region,
    (guard, width): (&Guard, usize),
    call: Call,
) -> Result<(), Fault> {
    let covers = |source: &Region| {
        let (written, other) = (&region.footprint, &source.footprint);
        written.chips >= other.chips && written.clusters >= other.clusters && written.slices >= other.slices
    };
    // A slice that fetches nothing may receive packets of others.
    let switches = unit.switch.is_some();
    let whole = region.footprint.clusters == CLUSTERS && region.footprint.slices == SLICES;
    if unit.fetch.sources().all(covers) && (whole || !switches) {
        return Ok(());
    }
    let live = LiveRows::new(guard, 4, width);
    let mut mask = Vec::new();
    let time = unit.shapes().ended.time;
    let mut is_written = |at: Coordinates| {
        (0..time).any(|time| {
            let liveness = live.row(&mut [at.chip, at.cluster, at.slice, time, 0], &mut mask);
            let mut written = false;
            live_runs(liveness, &mask, width, |_, len| written |= len > 0);
            written
        })
    };
    let mut slices = (0..unit.chips() * CLUSTERS * SLICES).map(Coordinates::of_slice);
    let found = slices.find(|&at| {
        let has_stream = switches || unit.fetch.sources().any(|source| spans(source, at));
        !spans(region, at) && has_stream && is_written(at)
    });
    match found {
        Some(at) => Err(outside_units(region, at.slice_number(), call)),
        None => Ok(()),
    }
}

/// Fault for a write in a unit outside of the tensor.
fn outside_units(region: &Region, unit: usize, call: Call) -> Fault {
    let footprint = &region.footprint;
    let place = Place::Region(*region).describe();
    let count = |number, thing| Text::new().count(number, thing);
    let chips = count(footprint.chips, "chip");
    let extents = match region.memory {
        Memory::Hbm => chips.to_string(),
        Memory::Dm | Memory::Vrf => {
            let (clusters, slices) = (count(footprint.clusters, "cluster"), count(footprint.slices, "slice"));
            format!("{chips} with {clusters} of {slices} each")
        }
    };
    let message =
        format!("the operation writes where the tensor in {place} does not lie: it spans {extents}");
    let help = "write in the units of the tensor only, or make a tensor that spans all of them";
    let bytes = region.address..region.address.saturating_add(1);
    call.fault(FaultKind::OutsideView, message, help).at(region.memory, unit, bytes)
}

fn outside(region: &Region, position: i64, what: &str, call: Call) -> Fault {
    let place = Place::Region(*region).describe();
    let message = format!(
        "{what} writes element {position} of the tensor in {place}, which has {} elements per unit",
        region.elements_to_end()
    );
    let help = "let the loops of the write end with the tensor; only reads may run past it";
    let start = region.address.saturating_add_signed(position * region.footprint.element.bits() as i64 / 8);
    call.fault(FaultKind::OutsideView, message, help).at(region.memory, 0, start..start.saturating_add(1))
}

fn twice(region: &Region, at: Coordinates, position: usize, [first, second]: [&str; 2], call: Call) -> Fault {
    let place = Place::Region(*region);
    let message = format!(
        "element {position} of the tensor in {} is written twice: by {first} and by {second}",
        place.describe()
    );
    let help = "give every element that is written a place of its own: no stride of 0, no loops that meet";
    let bits = region.footprint.element.bits();
    let start = region.address.saturating_add((position * bits / 8) as u64);
    let end = region.address.saturating_add(((position + 1) * bits).div_ceil(8) as u64);
    place.blame(call.fault(FaultKind::OverlappingWrites, message, help), at, start..end)
}
