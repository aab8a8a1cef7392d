//! Loads of the VRF: what each slice holds afterwards, against the definition of placement (guide: memories_and_dma).

use crate::bridge::expr;
use crate::machine::{library_type, region, shape, unpack};
use crate::moves::random_codes;
use crate::program::{Stage, guard};
use crate::reference::cases::for_cases;
use crate::reference::engines::flits;
use crate::reference::mapping::{Map, joint_table};
use crate::reference::numbers::ElementType;
use crate::reference::random::{Axes, Margins, Random, random_move};
use crate::reference::tensor::place;
use furiosa_visa_std::command::{
    Fetch, Inspection, Memory, Place, Sink, Step, TensorUnit, Transfer, TransferLoop,
};
use furiosa_visa_std::engine::fetch::{FetchRequest, derive_fetch};
use furiosa_visa_std::engine::vector_register_file::{VrfLoadRequest, derive_vrf_load};
use furiosa_visa_std::mapping::Guard;
use std::cell::Cell;
use std::panic::Location;

/// A load.
struct Load {
    axes: Axes,
    element: ElementType,
    slice: Map,
    time: Map,
    packet: Map,
    vrf: Map,
}

impl Load {
    fn request(&self) -> VrfLoadRequest {
        VrfLoadRequest {
            element: library_type(self.element),
            time: expr(&self.time),
            packet: expr(&self.packet),
            vrf_element: expr(&self.vrf),
        }
    }

    fn text(&self) -> String {
        let Self { axes, element, slice, time, packet, vrf } = self;
        format!("{element:?} {axes:?}\n slices {slice}, Time {time}, Packet {packet}, Element {vrf}")
    }

    /// Derives, executes and compares.
    fn check(&self, random: &mut Random) -> Result<(), String> {
        let plan = derive_vrf_load(&self.request()).map_err(|error| error.to_string())?;
        let element = library_type(self.element);
        let mut codes = random_codes(random, element, &self.axes);
        codes.cells.retain(|_, _| random.chance(97));
        let mut stage = Stage::new(true, &self.slice);
        let memory = Map::sequence(&[self.time.clone(), self.packet.clone()]);
        let source = stage.put(random, self.element, &memory, 24, &codes);
        let (time, packet) = (expr(&self.time), expr(&self.packet));
        let request = FetchRequest {
            sub_context: random.chance(50),
            ..FetchRequest::new(element, element, expr(&memory), time, packet)
        };
        let fetch = derive_fetch(&request).map_err(|error| error.to_string())?;
        let fill = stage.machine.system.next_fill();
        let address = random.below((8192 - plan.bytes) / 4 + 1) as u64 * 4;
        let destination = region(&shape(Memory::Vrf, element, &stage.dims(&[&self.vrf])), address, fill);
        let sink = Sink::Vrf {
            destination,
            transfer: plan.transfer,
            guard: guard(&stage.dims(&[&self.time, &self.packet])),
        };
        let fetch =
            Fetch { mask: fetch.mask, ..Fetch::new(source, fetch.config, fetch.time, fetch.packet, element) };
        let sub_context = request.sub_context;
        stage.machine.pass(TensorUnit { sub_context, ..TensorUnit::new(fetch, sink) })?;
        // All live slices, position by position.
        let (slices, elements) = (self.slice.size(), self.vrf.size());
        let mut transfer = Transfer { guard: Guard::always(2), ..Transfer::new() };
        let step = |units, elements| Step { units, elements };
        for (size, source, stride) in [(slices, step(1, 0), elements), (elements, step(0, 1), 1)] {
            transfer.loops.push(TransferLoop { size, source, destination: step(0, stride) });
        }
        let host_elements = slices * elements;
        let inspection = Inspection { source: Place::Region(destination), transfer, host_elements };
        let seen = stage.machine.system.inspect(&inspection, Location::caller());
        let found = unpack(element, &seen.map_err(|fault| fault.to_string())?, host_elements);
        // Padding is never written.
        let expected = place(&codes, &[&self.slice, &self.vrf]);
        let table = joint_table(&[&self.slice, &self.vrf]);
        match (0..host_elements).find(|&k| found[k] != expected[k]) {
            None => Ok(()),
            Some(k) => {
                let (found, expected) = (found[k], expected[k]);
                Err(format!("position {k}, {:?}: {found:x?} instead of {expected:x?}", table[k]))
            }
        }
    }
}

/// `groups`: packets may be cut across the axes of time, where the algebra may refuse another order.
fn random_load(random: &mut Random, groups: bool) -> Load {
    loop {
        let margins = random.pick(&Margins::MIXED);
        let case = random_move(random, [if groups { 2 } else { 1 }, 1], false, false, margins);
        let element = random.pick(&[ElementType::I32, ElementType::F32]);
        let mut axes = case.axes.clone();
        let mut time = vec![case.source[0].clone()];
        let mut vrf = vec![case.destination[0].clone()];
        let flit = if groups {
            let packet = &case.source[1];
            let padded = packet.pad(packet.size().next_multiple_of(8));
            let Ok((outer, flit)) = flits(element, &padded) else { continue };
            time.push(outer);
            flit
        } else {
            let lanes = random.between(1, 8);
            axes.push(("W".to_string(), lanes));
            let packet = Map::axis("W", lanes);
            vrf.insert(random.below(2), if random.chance(50) { packet.clone() } else { packet.pad(8) });
            packet.pad(8)
        };
        let mut slice = Map::One;
        if random.chance(50) {
            // An axis over slices and time together, at times with a ragged end.
            let (size, cut) = (random.between(2, 7), random.between(1, 3));
            axes.push(("S".to_string(), size));
            let whole = Map::axis("S", size).pad(size.next_multiple_of(cut));
            slice = whole.stride(cut);
            time.insert(random.below(2), whole.modulo(cut));
            vrf.insert(random.below(2), whole.modulo(cut));
        }
        let (time, vrf) = (Map::sequence(&time), Map::sequence(&vrf));
        let vrf = if random.chance(20) { vrf.pad(vrf.size() + random.between(1, 9)) } else { vrf };
        if vrf.size() <= 2048 && time.size() * 8 <= 4096 {
            return Load { axes, element, slice, time, packet: flit, vrf };
        }
    }
}

/// A derivation that says which axis is too many, or has no place.
const AXIS_RULES: [&str; 3] = ["not covered", "broadcast not allowed", "insufficient input"];

#[test]
fn loads_hold_the_tensor() {
    for_cases(300, |random| {
        let load = random_load(random, false);
        load.check(random).map_err(|text| format!("{}\n{text}", load.text()))
    });
}

/// What is accepted is right.
#[test]
fn loads_of_cut_groups() {
    let ran = Cell::new(0);
    for_cases(200, |random| {
        let load = random_load(random, true);
        if derive_vrf_load(&load.request()).is_err_and(|error| AXIS_RULES.contains(&error.rule())) {
            return Ok(());
        }
        ran.set(ran.get() + 1);
        load.check(random).map_err(|text| format!("{}\n{text}", load.text()))
    });
    assert!(ran.get() > 100 || std::env::var("VISA_CASES").is_ok(), "{ran:?}");
}

/// With an axis more, or one less, on either side.
#[test]
fn other_axes_are_refused() {
    for_cases(200, |random| {
        let mut load = random_load(random, false);
        let new = Map::axis("N", random.between(2, 3));
        let side = if random.chance(50) { &mut load.time } else { &mut load.vrf };
        *side = Map::sequence(&if random.chance(50) { [side.clone(), new] } else { [new, side.clone()] });
        match derive_vrf_load(&load.request()) {
            Err(error) if AXIS_RULES.contains(&error.rule()) && error.message().contains("`m![N]`") => Ok(()),
            Err(error) => Err(format!("{}\n{error}", load.text())),
            Ok(_) => Err(format!("{}\naccepted", load.text())),
        }
    });
}
