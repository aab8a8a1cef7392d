//! Rule against a pass that writes over bytes that it still reads.
//!
//! Fetch and commit run at the same time: the commit of a flit may follow as soon as the packets that it depends on
//! have been fetched. It must not write bytes that a later packet needs.
//!
//! ```text
//!   packet        0   1   2   3          fetched from bytes 0.., 32.., 64.., 96..
//!   flit              0   1   2   3      committed to bytes 32.., 64.., …: over what is fetched next
//! ```
//!
//! A slice of a switch commits packets of other slices. It is certain to have fetched only those of
//! its packets that were emitted before, in the slice whose packets come last.

mod register_file;

use super::access::{first_unit, packet_positions};
use crate::memory::separate;
use core::ops::Range;
use core::panic::Location;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{
    Contraction, Emission, Fault, FaultKind, Fetch, Part, Place, Region, Sink, Switch, TensorUnit, Turns,
};
use furiosa_visa_rules::mapping::Guard;
use furiosa_visa_rules::mapping::guard::rows::{LiveRows, Liveness};
use furiosa_visa_rules::sequencer::walk::Walk;
use furiosa_visa_rules::sequencer::{Config, Entry};

/// Refuses a pass that writes bytes that its stream reads later, from DM or from register files. `apart`: each tensor
/// has separate bytes.
pub(crate) fn check(
    unit: &TensorUnit,
    apart: bool,
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    match &unit.sink {
        Sink::Commit { destination, config, guard, commit_size: _ } => {
            for (tensor, source) in unit.fetch.sources().enumerate() {
                if !apart || separate::shares(source, destination) {
                    check_source(unit, (tensor, source), (destination, config, guard), apart, location)?;
                }
            }
            Ok(())
        }
        Sink::Vrf { destination, transfer, guard } => {
            register_file::operands(unit, (destination, transfer, guard), apart, location)
        }
        Sink::Trf { destination, .. } => register_file::weights(unit, destination, apart, location),
    }
}

/// The last step that a flit depends on when it leaves all engines. `worked`: the same for a flit that leaves the
/// Vector Engine.
fn last_step(unit: &TensorUnit, flit: usize, worked: impl Fn(usize) -> usize) -> usize {
    // A matrix leaves when all its flits have arrived. Sums may come in another order than their packets.
    match &unit.transpose {
        Some(transpose) => {
            let first = flit / transpose.out_rows * transpose.in_flits();
            (first..first + transpose.in_flits()).map(worked).max().unwrap_or(0)
        }
        None => worked(flit),
    }
}

/// Refuses a commit that writes bytes of one of the source tensors, if the same stream fetches them later.
fn check_source(
    unit: &TensorUnit,
    (tensor, source): (usize, &Region),
    (destination, config, guard): (&Region, &Config, &Guard),
    apart: bool,
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    let (from, to) = (source.address, destination.address);
    // Range of all positions, including those behind the elements of a tile.
    let reach = |region: &Region| region.address.saturating_add(region.footprint.bytes() as u64);
    let (from_end, to_end) = (reach(source), reach(destination));
    if to >= from_end || from >= to_end {
        return Ok(());
    }
    let last_fetch = last_fetches(&unit.fetch, tensor, source);
    let flits = unit.collect.map_or(1, |collect| collect.flits);
    let slots = unit
        .contraction
        .as_ref()
        .map(|contraction| (contraction.beats().max(1), last_packets(contraction, flits)));
    // The last packet that a flit depends on when it leaves the accumulator.
    let summed = |flit: usize| match &slots {
        Some((beats, packets)) => packets[flit / beats],
        None => flit / flits,
    };
    let inputs = unit.vector.as_ref().map(|vector| vector.last_inputs(unit.shapes().contracted, summed));
    let worked = |flit: usize| inputs.as_ref().map_or_else(|| summed(flit), |inputs| inputs[flit]);
    // Number of packets that are certain to be fetched when a flit is committed.
    let ready = |flit: usize| {
        let last = last_step(unit, flit, worked);
        unit.switch.as_ref().map_or(last + 1, |switch| emitted_by_all(switch, last))
    };
    let window = config.packet_size;
    let bits = destination.footprint.element.bits();
    let walk = Walk::new(config);
    let live = LiveRows::new(guard, 4, window);
    let at = first_unit(&live, destination.footprint.chips);
    let mut mask = Vec::new();
    for flit in 0..unit.shapes().ended.time {
        // Padding is written, too: lanes of a packet and whole time steps, except those between the elements of a tile.
        let liveness = live.row(&mut [at.chip, at.cluster, at.slice, flit, 0], &mut mask);
        if liveness == Liveness::Nothing && destination.part != Part::WHOLE {
            continue;
        }
        let is_live = |lane: usize| liveness.holds(&mask, lane);
        let ready = ready(flit);
        let elements = packet_positions(&walk, flit, window, is_live);
        let inside = |element: &i64| (0..destination.footprint.elements as i64).contains(element);
        // The loops may place steps of padding anywhere.
        if liveness == Liveness::Nothing && !elements.iter().all(inside) {
            continue;
        }
        for (lane, element) in elements.into_iter().enumerate() {
            let first = to + (element.max(0) as u64 * bits as u64) / 8;
            let late = |byte: u64| {
                let at = usize::try_from(byte.checked_sub(from)?).ok()?;
                last_fetch.get(at).copied().flatten().filter(|&fetched| fetched >= ready)
            };
            let bytes = first..first + bits.div_ceil(8) as u64;
            if let Some((byte, fetched)) = bytes.into_iter().find_map(|byte| Some((byte, late(byte)?)))
                && (is_live(lane) || holds_element(source, at, byte))
            {
                let why = if unit.switch.as_ref().is_some_and(|switch| switch.ring_size > 1) {
                    format!(
                        "which is of its own packet {fetched}, and a slice may get the packet of another one before it \
                         has sent its own, as a router holds one packet"
                    )
                } else {
                    format!("which packet {fetched} of the same stream still has to fetch")
                };
                let what = if is_live(lane) { "" } else { ", padding of the packet" };
                let message = format!(
                    "time step {flit} writes byte {byte} of each slice{what}, {why}: the source takes {from}..{}, the \
                     destination {to}..{}",
                    source.bytes().end,
                    destination.bytes().end
                );
                let help = format!("commit to another address{}", separate::advice(apart));
                let fault = Fault::new(FaultKind::Overwrite, "commit", location, message, help);
                return Err(Place::Region(*source).blame(fault, at, byte..byte + 1));
            }
        }
    }
    Ok(())
}

/// Tells if an element of a tensor needs a byte of a slice.
fn holds_element(source: &Region, at: Coordinates, byte: u64) -> bool {
    let mut found = false;
    Place::Region(*source).live_bytes(at, &(byte..byte + 1), |_| found = true);
    found
}

/// Number of packets that all slices of a ring have emitted when a slice receives the packet of a step.
fn emitted_by_all(switch: &Switch, step: usize) -> usize {
    if switch.ring_size == 1 {
        return step + 1;
    }
    if let Emission::Nested { slice0, time0 } = switch.emission {
        // In the outer digit of the slices, the last slices emit nothing before their turn.
        let (slice1, turn) = (switch.ring_size / slice0, slice0 * time0);
        let (time1, last) = (step / turn / slice1, step / turn % slice1 + 1 == slice1);
        return time1 * time0 + if last { step / slice0 % time0 } else { 0 };
    }
    let (mut rest, mut time) = (step, 0);
    for digit in switch.time_digits.iter().rev() {
        time += rest % digit.size * digit.time;
        rest /= digit.size;
    }
    time
}

/// A loop, reduced to the last iterations that decide.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// The first iteration that is visited.
    first: usize,
    size: usize,
    /// Positions per iteration.
    stride: isize,
    /// Packets or steps per iteration.
    inner: usize,
}

/// Visits loops, outermost first, with the position and the number of every iteration that decides, in order.
fn visit(loops: &[Loop], position: isize, number: usize, found: &mut impl FnMut(isize, usize)) {
    let Some((&Loop { first, size, stride, inner }, rest)) = loops.split_first() else {
        return found(position, number);
    };
    (first..size).for_each(|k| visit(rest, position + k as isize * stride, number + k * inner, found));
}

/// The last packet that fetches each byte of one of the sources.
fn last_fetches(fetch: &Fetch, tensor: usize, source: &Region) -> Vec<Option<usize>> {
    let turns = Turns::new(fetch);
    let bits = source.footprint.element.bits();
    // The bytes behind the last element of a tile belong to another tensor and are not needed.
    let Range { start, end } = source.bytes();
    let mut last = vec![None; (end - start) as usize];
    let walk = Walk::new(&fetch.config);
    visit(&packet_loops(fetch), 0, 0, &mut |_, packet| {
        if turns.tensor(packet) != tensor {
            return;
        }
        for element in walk.positions(packet * fetch.packet..(packet + 1) * fetch.packet, 1) {
            // A packet may read padding before the start and past the end.
            let Ok(element) = usize::try_from(element) else { continue };
            let first = element * bits / 8;
            let end = (first + bits.div_ceil(8)).min(last.len());
            last[first.min(end)..end].fill(Some(packet));
        }
    });
    last
}

/// The loops over the packets of a fetch. A loop with stride 0 keeps only the iterations that fetch a byte last.
fn packet_loops(fetch: &Fetch) -> Vec<Loop> {
    let all = || vec![Loop { first: 0, size: fetch.time, stride: 0, inner: 1 }];
    let packet = fetch.packet.max(1);
    let mut inner = fetch.config.positions();
    if fetch.time.checked_mul(packet) != Some(inner) {
        return all();
    }
    let mut loops = Vec::new();
    for entry in &fetch.config.entries {
        if inner == packet {
            break;
        }
        let (outer, below) = (inner, inner / entry.size.max(1));
        // A part of the entry may lie inside of a packet.
        let step = below.max(packet);
        let nested = step.is_multiple_of(below.max(1)) && step.is_multiple_of(packet);
        if !nested || !outer.is_multiple_of(step) {
            return all();
        }
        let (size, inner_packets) = (outer / step, step / packet);
        let kept = if entry.stride == 0 { Turns::new(fetch).rounds(size, inner_packets) } else { size };
        loops.push(Loop { first: size - kept, size, stride: entry.stride, inner: inner_packets });
        inner = step;
    }
    loops
}

/// The last packet that each slot of the accumulator depends on.
fn last_packets(contraction: &Contraction, flits: usize) -> Vec<usize> {
    let mut inner = contraction.slots.positions();
    let loops: Vec<_> = (contraction.slots.entries.iter())
        .map(|&Entry { size, stride }| {
            inner /= size;
            // Only the last step that goes to a slot counts.
            let first = if stride == 0 { size - 1 } else { 0 };
            Loop { first, size, stride, inner }
        })
        .collect();
    let mut packets = vec![0; contraction.slot_count];
    visit(&loops, contraction.slots.base, 0, &mut |slot, step| {
        let flit = (step / contraction.tile + 1) * contraction.collect_flits - 1;
        let packet = &mut packets[slot.max(0) as usize];
        *packet = (*packet).max(flit / flits);
    });
    packets
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::command::{FillId, Footprint, Interleave, Memory};
    use furiosa_visa_rules::scalar::ElementType;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    fn source(elements: usize) -> Region {
        let guard = Guard::always(4);
        let footprint =
            Footprint { element: ElementType::I8, chips: 1, clusters: 1, slices: 1, elements, guard };
        Region::whole(Memory::Dm, 0, FillId(1), footprint)
    }

    /// [`last_fetches`], packet by packet.
    fn naive(fetch: &Fetch, tensor: usize, source: &Region) -> Vec<Option<usize>> {
        let mut last = vec![None; source.footprint.bytes()];
        let walk = Walk::new(&fetch.config);
        for packet in (0..fetch.time).filter(|&packet| Turns::new(fetch).tensor(packet) == tensor) {
            for element in walk.positions(packet * fetch.packet..(packet + 1) * fetch.packet, 1) {
                let at = usize::try_from(element).ok().and_then(|element| last.get_mut(element));
                at.into_iter().for_each(|last| *last = Some(packet));
            }
        }
        last
    }

    #[test]
    fn the_last_fetch_is_that_of_all_packets() {
        let mut random = SmallRng::seed_from_u64(8);
        let (mut shorter, mut interleaved) = (0, 0);
        for case in 0..3000 {
            let packet = random.random_range(1..5);
            let mut config = Config::new(packet);
            for _ in 0..random.random_range(1..5) {
                let stride = [0, 0, 1, 2, 7][random.random_range(0..5)];
                config.entries.push(Entry { size: random.random_range(1..5), stride });
            }
            config.entries.push(Entry { size: packet, stride: 1 });
            let packet = if random.random_range(0..4) == 0 { packet * 2 } else { packet };
            config.base = random.random_range(-2..3i32) as isize;
            let (time, region) = (config.positions() / packet, source(24));
            let mut fetch = Fetch::new(region, config, time, packet, ElementType::I8);
            if random.random_range(0..2) == 0 {
                let period = random.random_range(1..7);
                fetch.interleave = Some(Interleave { source: region, period });
                interleaved += 1;
            }
            for tensor in 0..2 {
                let found = last_fetches(&fetch, tensor, &region);
                assert_eq!(found, naive(&fetch, tensor, &region), "case {case}: {fetch:?}");
            }
            let looked_at: usize =
                packet_loops(&fetch).iter().map(|packet_loop| packet_loop.size - packet_loop.first).product();
            shorter += usize::from(looked_at < time);
        }
        assert!(shorter > 500 && interleaved > 500, "{shorter} shorter, {interleaved} interleaved");
    }

    /// A loop that stays in place takes no time, however long it is.
    #[test]
    fn long_loops_that_stay_in_place_end() {
        let mut config = Config::new(8);
        for (size, stride) in [(1 << 33, 0), (4, 8), (1 << 20, 0), (8, 1)] {
            config.entries.push(Entry { size, stride });
        }
        let fetch = Fetch::new(source(32), config, 1 << 55, 8, ElementType::I8);
        let last = last_fetches(&fetch, 0, &source(32));
        assert_eq!((last[0], last[31]), (Some((1 << 55) - (3 << 20) - 1), Some((1 << 55) - 1)));
    }
}
