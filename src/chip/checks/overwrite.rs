//! A commit that writes over its own source.
//!
//! Fetch and commit run at the same time: the commit of a flit may follow as soon as the packets that it depends on
//! have been fetched. What it writes must not be needed by a later packet.
//!
//! ```text
//!   packet        0   1   2   3          fetched from bytes 0.., 32.., 64.., 96..
//!   flit              0   1   2   3      committed to bytes 32.., 64.., …: over what is fetched next
//! ```

use super::bounds::Call;
use super::fault::{Fault, FaultKind};
use crate::chip::memory::place::{Coordinates, Place};
use crate::command::{Contraction, Fetch, Region, Sink, TensorUnit, Turns};
use crate::mapping::Guard;
use crate::sequencer::Config;
use crate::sequencer::walk::Walk;
use core::panic::Location;

/// Refuses a commit that writes bytes that its own stream fetches later. `apart`: other tensors have other bytes.
pub(crate) fn check(
    unit: &TensorUnit,
    apart: bool,
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    let Sink::Commit { destination, config, guard, commit_size: _ } = &unit.sink else { return Ok(()) };
    for (tensor, source) in unit.fetch.sources().enumerate() {
        if apart && source.fill != destination.fill {
            continue;
        }
        check_source(unit, tensor, source, (destination, config, guard), location)?;
    }
    Ok(())
}

/// Refuses a commit that writes bytes of one of the tensors, which its own stream fetches later.
fn check_source(
    unit: &TensorUnit,
    tensor: usize,
    source: &Region,
    (destination, config, guard): (&Region, &Config, &Guard),
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    let (from, to) = (source.address, destination.address);
    let (from_end, to_end) = (
        from.saturating_add(source.footprint.bytes() as u64),
        to.saturating_add(destination.footprint.bytes() as u64),
    );
    if to >= from_end || from >= to_end {
        return Ok(());
    }
    let last_fetch = last_fetches(&unit.fetch, tensor, source);
    let flits = unit.collect.map_or(1, |collect| collect.flits);
    let slots = unit.contraction.as_ref().map(|own| (own.beats().max(1), last_packets(own, flits)));
    // The last packet that a flit depends on.
    let ready = |flit: usize| match &slots {
        Some((beats, packets)) => packets[flit / beats],
        None => flit / flits,
    };
    let window = config.packet_size;
    let bits = destination.footprint.element.bits();
    let walk = Walk::new(config);
    for flit in 0..unit.shapes().cast.time {
        let packet = ready(flit);
        let elements = walk.positions(flit * window..(flit + 1) * window, 1);
        for (lane, element) in elements.into_iter().enumerate() {
            let first = to + (element.max(0) as u64 * bits as u64) / 8;
            let late = |byte: u64| {
                let at = usize::try_from(byte.checked_sub(from)?).ok()?;
                last_fetch.get(at).copied().flatten().filter(|&fetched| fetched > packet)
            };
            let bytes = first..first + bits.div_ceil(8) as u64;
            if let Some((byte, fetched)) = bytes.into_iter().find_map(|byte| Some((byte, late(byte)?)))
                && guard.holds(&[0, 0, 0, flit, lane])
            {
                let message = format!(
                    "time step {flit} writes byte {byte} of each slice, which packet {fetched} of the same stream \
                     still has to fetch: the source takes {from}..{from_end}, the destination {to}..{to_end}"
                );
                let help = "commit to another address; `VISA_ADDRESSES=separate` shows whether addresses are the cause";
                let call = Call { operation: "commit", location };
                let fault = call.fault(FaultKind::Overwrite, message, help);
                return Err(Place::Region(*source).blame(fault, Coordinates::of_slice(0), byte..byte + 1));
            }
        }
    }
    Ok(())
}

/// For every byte of one of the sources, the last packet that fetches it.
fn last_fetches(fetch: &Fetch, tensor: usize, source: &Region) -> Vec<Option<usize>> {
    let (footprint, turns) = (&source.footprint, Turns::new(fetch));
    let bits = footprint.element.bits();
    let mut last = vec![None; footprint.bytes()];
    let walk = Walk::new(&fetch.config);
    for packet in (0..fetch.time).filter(|&step| turns.tensor(step) == tensor) {
        for element in walk.positions(packet * fetch.packet..(packet + 1) * fetch.packet, 1) {
            // A packet may read padding before the start and past the end.
            let Ok(element) = usize::try_from(element) else { continue };
            let first = element * bits / 8;
            let end = (first + bits.div_ceil(8)).min(last.len());
            last[first.min(end)..end].fill(Some(packet));
        }
    }
    last
}

/// For every slot of the accumulator, the last packet that it depends on.
fn last_packets(contraction: &Contraction, flits: usize) -> Vec<usize> {
    /// Visits loops of a size, with the slots and the steps that an iteration goes on by.
    fn visit(loops: &[(usize, isize, usize)], slot: isize, step: usize, last: &mut impl FnMut(isize, usize)) {
        let Some((&(size, stride, inner), rest)) = loops.split_first() else { return last(slot, step) };
        // Of the steps that a slot gets, the last one is looked at.
        let first = if stride == 0 { size - 1 } else { 0 };
        (first..size).for_each(|k| visit(rest, slot + k as isize * stride, step + k * inner, last));
    }
    let mut inner = contraction.slots.positions();
    let loops: Vec<_> = (contraction.slots.entries.iter())
        .map(|entry| {
            inner /= entry.size;
            (entry.size, entry.stride, inner)
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
