//! Faults of a pass for invalid operands.

use super::contraction::{Missing, SummedCell};
use super::vector::MissingOperand;
use super::{OriginOf, Pass};
use crate::memory::fills::Origin;
use core::ops::Range;
use core::panic::Location;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{Contraction, Fault, FaultKind, Place, Region, TrfRegion, Turns};
use furiosa_visa_rules::sequencer::walk::Walk;
use furiosa_visa_rules::spec::FETCH_MASK_NIBBLES;

/// Bytes of a packet that a mask can count.
const MASKED_BYTES: usize = FETCH_MASK_NIBBLES / 2;

impl Pass<'_> {
    /// Fault for an unwritten element.
    pub(super) fn missing(&self, unit: usize, missing: Missing, origin: &OriginOf<'_>) -> Fault {
        let at = Coordinates::of_slice(unit);
        let (operation, used) = match (&self.contraction, self.fetch.converts()) {
            (Some(_), _) => ("contraction", "takes"),
            (None, false) if self.vector.is_some() => ("vector", "takes"),
            (None, true) => ("fetch", "converts"),
            (None, false) => (self.narrowing.map_or("cast", |narrowing| narrowing.name()), "converts"),
        };
        let help = "write every element of the tensor before it is used, or make the rest padding (`# n`)";
        let fault = |message| Fault::new(FaultKind::Uninitialised, operation, self.location, message, help);
        let after = |fault: Fault, written: Option<&'static Location<'static>>| match written {
            Some(location) => fault.after("it was written here", location),
            None => fault,
        };
        match missing {
            Missing::Stream { flit, lane } => {
                let step = flit / self.flits;
                let per_flit = self.fetch.padded() / self.flits;
                if lane >= self.fetched_lanes(flit) {
                    let (packet, lane) = (self.command.fetch.packet, flit % self.flits * per_flit + lane);
                    let message = format!(
                        "time step {step} {used} lane {lane} of a packet, but only {packet} elements are fetched; collect \
                         adds the rest"
                    );
                    return fault(message);
                }
                let (at, flit) = self.before_switch(at, flit);
                let (source, element, bytes) = self.fetched_from(flit, lane);
                let place = Place::Region(source);
                let Origin { clause, written } = origin(&place, at, bytes.start);
                let message = format!(
                    "time step {step} {used} element {element} of the tensor at DM address {}, {clause}",
                    source.address
                );
                after(place.blame(fault(message), at, bytes), written)
            }
            Missing::Weight { row, element, step } => {
                let region =
                    &self.command.contraction.as_ref().expect("only a contraction reads weights").trf;
                let bytes = weight_bytes(region, row, element);
                let place = Place::Trf(*region);
                let Origin { clause, written } = origin(&place, at, bytes.start);
                let message = format!(
                    "step {step} {used} element {element} of row {row} in {}, {clause}",
                    region.address
                );
                after(place.blame(fault(message), at, bytes), written)
            }
        }
    }

    /// The slice that fetched a flit, and the number of the flit there.
    fn before_switch(&self, at: Coordinates, flit: usize) -> (Coordinates, usize) {
        let Some(switch) = &self.switch else { return (at, flit) };
        let (at, step) = switch.source(at, flit / self.flits);
        (at, step * self.flits + flit % self.flits)
    }

    /// Fault for an unwritten operand of the Vector Engine.
    pub(super) fn missing_operand(
        &self,
        unit: usize,
        MissingOperand { source, element, .. }: MissingOperand,
        origin: &OriginOf<'_>,
    ) -> Fault {
        let at = Coordinates::of_slice(unit);
        let size = source.footprint.element.bits() as u64 / 8;
        let start = source.address + element as u64 * size;
        let place = Place::Region(source);
        let Origin { clause, written } = origin(&place, at, start);
        let message = format!(
            "the operand, element {element} of the tensor at VRF address {}, is taken, {clause}",
            source.address
        );
        let help = "write every element of the tensor before it is used, or make the rest padding (`# n`)";
        let fault = Fault::new(FaultKind::Uninitialised, "vector", self.location, message, help);
        let fault = place.blame(fault, at, start..start + size);
        match written {
            Some(location) => fault.after("it was written here", location),
            None => fault,
        }
    }

    /// The tensor, the element and the bytes that a lane of a flit was fetched from.
    fn fetched_from(&self, flit: usize, lane: usize) -> (Region, u64, Range<u64>) {
        let fetch = &self.command.fetch;
        let (step, per_flit) = (flit / self.flits, self.fetch.padded() / self.flits);
        let tensor = Turns::new(fetch).tensor(step);
        let source = fetch.sources().nth(tensor).expect("a tensor per turn");
        let number = step * fetch.packet + flit % self.flits * per_flit + lane;
        let element = Walk::new(&fetch.config).positions(number..number + 1, 1);
        let element = element.first().map_or(0, |&element| element.max(0) as u64);
        let bits = source.footprint.element.bits() as u64;
        let start = source.address + element * bits / 8;
        (*source, element, start..source.address + ((element + 1) * bits).div_ceil(8))
    }

    /// Fault for padding that is summed together with elements. `sum`: step and cell of the first of these elements.
    pub(super) fn summed(&self, at: Coordinates, padded: &SummedCell, sum: Option<[usize; 2]>) -> Fault {
        let Contraction { step_guard, trf, .. } =
            self.command.contraction.as_ref().expect("only a contraction sums");
        let SummedCell { step, cell, row, flit, lane, streamed, element, operands: [x, w] } = *padded;
        let value = |operand: Option<f32>| match operand {
            None => "was never written".to_string(),
            Some(value) => format!("is {value}"),
        };
        let place = |position: [usize; 2]| {
            let element = step_guard.element(&position).or_else(|| step_guard.padding_part(&position));
            let element = element.map_or(String::new(), |element| format!(" ({element})"));
            format!("step {}, cell {}{element}", position[0], position[1])
        };
        let of_what = sum.map_or(String::new(), |sum| format!(" with {}", place(sum)));
        let (source_at, flit) = self.before_switch(at, flit);
        let added = lane >= self.fetched_lanes(flit);
        let (mask, packet) =
            (&self.command.fetch.mask, flit % self.flits * self.fetch.padded() / self.flits + lane);
        let uncovered = format!(
            "padding that no mask of fetch covers: masks are for the innermost axis, and count up to {MASKED_BYTES} bytes of \
             a packet"
        );
        let why = match () {
            () if streamed => "an element",
            () if added => "added by collect",
            () if self.fetch.is_masked(flit / self.flits, packet) => {
                "the value that the mask of fetch gives it"
            }
            () if self.command.sub_context => "padding that no mask covers: the sub context has none",
            () if mask.is_some() => {
                "padding that the mask of fetch does not cover: it covers the innermost axis"
            }
            () => &uncovered,
        };
        let behind = if element >= trf.row_elements { ", behind the tensor" } else { "" };
        let message = format!(
            "{} is summed{of_what}, but it is padding and not zero: the operand of the stream {} ({why}), the weight, \
             element {element} of row {row} in {}{behind}, {}",
            place([step, cell]),
            value(x),
            trf.address,
            value(w),
        );
        let help = format!(
            "pad the innermost axis, of packets of at most {MASKED_BYTES} bytes, which fetch in the main context masks, and \
             leave `pad_value` out or make it the zero point; or give the axis its full size and store zeros"
        );
        let fault = Fault::new(FaultKind::PaddingSummed, "contraction", self.location, message, help);
        // Blames the operand that could be zero and is not.
        if x == Some(0.0) || added {
            return Place::Trf(*trf).blame(fault, at, weight_bytes(trf, row, element));
        }
        let (source, _, bytes) = self.fetched_from(flit, lane);
        Place::Region(source).blame(fault, source_at, bytes)
    }
}

/// The bytes of an element of a row in the register file.
fn weight_bytes(region: &TrfRegion, row: usize, element: usize) -> Range<u64> {
    let bits = region.element.bits();
    let bytes = element * bits / 8..((element + 1) * bits).div_ceil(8);
    let piece = region.pieces(row, bytes).next().unwrap_or(0..0);
    piece.start as u64..piece.end as u64
}
