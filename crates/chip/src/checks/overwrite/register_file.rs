//! Rule against a load of a register file over bytes that the same pass still reads.
//!
//! Operands are read when their elements pass, and the load follows a few packets behind:
//!
//! ```text
//!   step               0   1   2   3          takes words 0.., 8.., 16.., 24.. of the VRF
//!   to_vrf                 0   1   2   3      writes words 0, 8, 16, 24, then 1, 9, …: over what is taken next
//! ```

use super::last_step;
use crate::checks::access::first_unit;
use crate::memory::separate;
use core::panic::Location;
use furiosa_visa_rules::command::place::spans_meet;
use furiosa_visa_rules::command::{
    Fault, FaultKind, OperandSource, Place, Region, StreamShape, TensorUnit, Transfer, TrfRegion, Vector,
    VrfOperand,
};
use furiosa_visa_rules::mapping::Guard;
use furiosa_visa_rules::mapping::guard::rows::LiveRows;
use furiosa_visa_rules::spec::VRF_BYTES;

/// Refuses a load of the VRF that writes bytes of an operand which a later step takes.
pub(super) fn operands(
    unit: &TensorUnit,
    (destination, transfer, guard): (&Region, &Transfer, &Guard),
    apart: bool,
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    let Some(vector) = &unit.vector else { return Ok(()) };
    let shapes: Vec<StreamShape> = vector.shapes(unit.shapes().contracted).collect();
    for (k, step) in vector.steps.iter().enumerate().filter(|(_, step)| step.takes_operands()) {
        for source in step.operands() {
            let OperandSource::Vrf(operand) = source else { continue };
            let (read, written) = (operand.source.bytes(), destination.bytes());
            let meet = read.start < written.end && written.start < read.end;
            if !meet || apart && !separate::shares(&operand.source, destination) {
                continue;
            }
            let rest = Vector { steps: vector.steps[k..].to_vec(), ..*vector };
            check(unit, (&rest, shapes[k], &**operand), (destination, transfer, guard), apart, location)?;
        }
    }
    Ok(())
}

/// [`operands`] for one operand. `rest`: the program of the Vector Engine from the step that takes it, for a stream of
/// shape `shape`.
fn check(
    unit: &TensorUnit,
    (rest, shape, operand): (&Vector, StreamShape, &VrfOperand),
    (destination, transfer, guard): (&Region, &Transfer, &Guard),
    apart: bool,
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    let (from, to) = (operand.source.address, destination.address);
    let size = operand.source.footprint.element.bits() / 8;
    // The last step that takes each byte of the operand.
    let mut taken: Vec<Option<usize>> = vec![None; operand.source.footprint.bytes().min(VRF_BYTES)];
    operand.transfer.for_each_element(|element, position| {
        let (Ok(element), Ok(position)) = (usize::try_from(element), usize::try_from(position)) else {
            return;
        };
        let step = position / shape.lanes.max(1);
        if element < VRF_BYTES
            && let Some(bytes) = taken.get_mut(element * size..(element + 1) * size)
        {
            bytes.iter_mut().for_each(|last| *last = (*last).max(Some(step)));
        }
    });
    let last = rest.last_inputs(shape, |step| step);
    let stream = unit.shapes().ended;
    let live = LiveRows::new(guard, 4, stream.lanes);
    let at = first_unit(&live, destination.footprint.chips);
    let bytes = destination.footprint.element.bits() / 8;
    let mut found: Option<(usize, u64, usize)> = None;
    transfer.for_each_element(|position, element| {
        let (Ok(position), Ok(element)) = (usize::try_from(position), u64::try_from(element)) else { return };
        let (flit, lane) = (position / stream.lanes.max(1), position % stream.lanes.max(1));
        if flit >= stream.time || !guard.holds(&[at.chip, at.cluster, at.slice, flit, lane]) {
            return;
        }
        let ready = last_step(unit, flit, |flit| last[flit]);
        let first = to.saturating_add(element.saturating_mul(bytes as u64));
        for byte in first..first.saturating_add(bytes as u64) {
            let place = byte.checked_sub(from).and_then(|place| taken.get(place as usize).copied().flatten());
            // Keeps the first flit that overwrites a needed byte.
            if let Some(step) = place.filter(|&step| step > ready)
                && found.is_none_or(|(earlier, ..)| flit < earlier)
            {
                found = Some((flit, byte, step));
            }
        }
    });
    let Some((flit, byte, step)) = found else { return Ok(()) };
    let (read, written) = (operand.source.bytes(), destination.bytes());
    let message = format!(
        "time step {flit} writes byte {byte} of the VRF of each slice, which step {step} of the same stream still takes as an \
         operand: the operand takes {}..{}, the destination {}..{}",
        read.start, read.end, written.start, written.end
    );
    let help = format!("load to another address, or in the order of the operand{}", separate::advice(apart));
    let fault = Fault::new(FaultKind::Overwrite, "to_vrf", location, message, help);
    Err(Place::Region(operand.source).blame(fault, at, byte..byte + 1))
}

/// Refuses a load of the TRF over weights of the same pass.
pub(super) fn weights(
    unit: &TensorUnit,
    destination: &TrfRegion,
    apart: bool,
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    let Some(contraction) = &unit.contraction else { return Ok(()) };
    let (read, written) = (Place::Trf(contraction.trf), Place::Trf(*destination));
    if apart && contraction.trf.fill != destination.fill || !spans_meet(&read.spans(), &written.spans()) {
        return Ok(());
    }
    let message = format!(
        "the pass loads {} while its contraction takes weights from {}, which share bytes",
        written.describe(),
        read.describe()
    );
    let help = format!("load the half that the contraction does not use{}", separate::advice(apart));
    Err(Fault::new(FaultKind::Overwrite, "to_trf", location, message, help))
}
