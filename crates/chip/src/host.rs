//! Accesses of the host to the memories: transfers over PCIe, looks at tensors.

use super::checks::bounds::{Call, fits, in_bounds, in_memory};
use super::commands::Beginning;
use super::execute::{Pass, PassOptions, Switched};
use super::memory::fills::{Covered, Write};
use super::memory::forget_elements;
use super::memory::separate::Placed;
use super::{Chips, Compute, Fault, FaultKind, checks, execute};
use core::panic::Location;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{
    HostBuffer, HostTransfer, Inspection, Memory, Place, Region, Sink, TensorUnit, Transfer,
};

/// The alignment of the packets of a stream that is looked at.
const STREAM_ALIGN_BYTES: usize = 64;

impl Chips {
    /// Writes a host array to HBM.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves HBM.
    ///
    /// # Panics
    ///
    /// If the array has fewer than [`HostTransfer::host_elements`] elements.
    pub fn upload(
        &mut self,
        transfer: &HostTransfer,
        buffer: &HostBuffer,
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        let call = Call { operation: "to_hbm", location };
        checks::form::host(transfer, true, call)?;
        self.check_same_system(&Place::Region(transfer.region), call)?;
        checks::access::uploaded(transfer, &self.options.checks, call)?;
        self.host_transfer(&transfer.region, call)?;
        let place = Place::Region(transfer.region);
        let begins = self.beginning(&place, || transfer.covers()) == Beginning::Part;
        if begins && let Some((unit, element)) = transfer.other_half() {
            return Err(half_written(&transfer.region, unit, element, call));
        }
        self.order.barrier();
        if self.options.compute == Compute::Values {
            let placed = self.host_bytes(transfer);
            execute::upload(placed.as_ref().unwrap_or(transfer), begins, buffer, &mut self.hbm);
        }
        let covered = Covered::by_moves(!begins, core::slice::from_ref(&transfer.transfer));
        self.written(Write { covered, ..Write::of(place, &[]) }, call);
        Ok(())
    }

    /// Reads a host array from HBM. Elements that the transfer does not reach are zero and uninitialised; those that
    /// nobody wrote read as fresh memory. Where time alone is computed, all are zero and uninitialised.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves HBM or was overwritten.
    pub fn download(
        &mut self,
        transfer: &HostTransfer,
        location: &'static Location<'static>,
    ) -> Result<HostBuffer, Fault> {
        let call = Call { operation: "to_host", location };
        checks::form::host(transfer, false, call)?;
        self.check_same_system(&Place::Region(transfer.region), call)?;
        self.host_transfer(&transfer.region, call)?;
        self.check_read(Place::Region(transfer.region), call)?;
        self.order.barrier();
        if self.options.compute == Compute::ShapesOnly {
            // Nothing was ever written.
            return Ok(HostBuffer::unwritten(
                transfer.region.footprint.element.bits(),
                transfer.host_elements,
            ));
        }
        let placed = self.host_bytes(transfer);
        Ok(execute::download(placed.as_ref().unwrap_or(transfer), &self.hbm))
    }

    /// Begins a tensor of which nobody has written an element, whatever its bytes held. It takes no time.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves its memory.
    pub fn begin_tensor(
        &mut self,
        region: &Region,
        operation: &'static str,
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        let call = Call { operation, location };
        self.admit(region, call)?;
        // Apart from each other, each tensor has bytes that nobody wrote.
        if self.options.compute == Compute::Values && self.separate.is_none() {
            match region.memory {
                Memory::Hbm => forget_elements(&mut self.hbm, region),
                Memory::Dm | Memory::Vrf => forget_elements(&mut self.units, region),
            }
        }
        self.written(Write::of(Place::Region(*region), &[]), call);
        Ok(())
    }

    /// Checks a tensor that the host waits for.
    fn host_transfer(&mut self, region: &Region, call: Call) -> Result<(), Fault> {
        in_memory(region, &[Memory::Hbm], call)?;
        if self.options.checks.alignment {
            checks::access::element_aligned(region, call)?;
        }
        self.admit(region, call)
    }

    /// Looks at a tensor in any memory, past all engines: no order is checked, none is made, and no element is refused.
    /// Elements that nobody wrote are zero and uninitialised.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves its memory or was overwritten.
    pub fn inspect(
        &mut self,
        inspection: &Inspection,
        location: &'static Location<'static>,
    ) -> Result<HostBuffer, Fault> {
        let call = Call { operation: "inspect", location };
        checks::form::inspection(inspection, call)?;
        let place = inspection.source;
        self.check_same_system(&place, call)?;
        match &place {
            Place::Trf(region) => fits(region, self.options.checks.bounds, call)?,
            Place::Region(region) if self.options.checks.bounds => in_bounds(region, self.limit(), call)?,
            Place::Region(_) => {}
        }
        self.check_read(place, call)?;
        let (mut placed, mut file) = (inspection.clone(), 0);
        if let Some(separate) = &mut self.separate {
            match &mut placed.source {
                Place::Trf(region) => file = separate.file(region, &mut self.units),
                Place::Region(region) => {
                    *region = separate.region(region, &mut self.hbm, &mut self.units);
                }
            }
        }
        Ok(execute::inspect(&placed, file, &self.hbm, &self.units))
    }

    /// Looks at a stream: at the packets that a pass would commit. It runs on copies of the memories, so that nothing
    /// changes; no order is checked, and none is made. What nobody wrote is computed with as fresh memory reads.
    /// The destination of the pass has no address: it lies behind all bytes that are in use.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if a tensor that the pass reads leaves its memory or was overwritten, or if the stream has no end.
    pub fn inspect_stream(
        &mut self,
        unit: &TensorUnit,
        transfer: &Transfer,
        host_elements: usize,
        location: &'static Location<'static>,
    ) -> Result<HostBuffer, Fault> {
        let call = Call { operation: "inspect", location };
        for read in unit.reads() {
            self.check_same_system(&read.place, call)?;
            match &read.place {
                Place::Trf(region) => fits(region, true, call)?,
                Place::Region(region) => in_bounds(region, self.limit(), call)?,
            }
            self.check_read(read.place, call)?;
        }
        let Sink::Commit { destination, .. } = &unit.sink else {
            unreachable!("what is looked at ends in a commit")
        };
        if self.options.compute == Compute::ShapesOnly {
            return Ok(HostBuffer::unwritten(destination.footprint.element.bits(), host_elements));
        }
        checks::size::check(unit, call)?;
        self.grow(unit.chips());
        // Behind what was written, and behind what the pass reads.
        let read = unit.reads().filter_map(|read| match read.place {
            Place::Region(region) if region.memory == Memory::Dm => Some(region.end() as usize),
            _ => None,
        });
        let used = self.units.iter().map(|unit| unit.dm.bytes().len()).chain(read).max().unwrap_or(0);
        let mut unit = unit.clone();
        if let Sink::Commit { destination, .. } = &mut unit.sink {
            destination.address = used.next_multiple_of(STREAM_ALIGN_BYTES) as u64;
            destination.fill = self.next_fill();
        }
        let placed = match &mut self.separate {
            Some(separate) => separate.pass(&unit, &mut self.hbm, &mut self.units),
            None => Placed::as_given(&unit),
        };
        let Sink::Commit { destination, .. } = placed.unit.sink.clone() else {
            unreachable!("it is the same sink")
        };
        let mut units = self.units.clone();
        units.iter_mut().for_each(|unit| unit.dm.extend(destination.end() as usize));
        let options = PassOptions {
            rule: self.options.padding,
            computed: !self.options.checks.padding,
            path: self.path,
            beginning: Beginning::Earlier,
        };
        Pass::new(&unit, placed, units.len(), options, location).run(&mut units, &mut Switched::default());
        let inspection =
            Inspection { source: Place::Region(destination), transfer: *transfer, host_elements };
        Ok(execute::inspect(&inspection, 0, &self.hbm, &units))
    }

    /// A host transfer at a tensor's own bytes, where it has some.
    fn host_bytes(&mut self, transfer: &HostTransfer) -> Option<HostTransfer> {
        let separate = self.separate.as_mut()?;
        let region = separate.region(&transfer.region, &mut self.hbm, &mut self.units);
        Some(HostTransfer { region, ..transfer.clone() })
    }
}

/// The fault of an upload that writes one element of a byte and leaves out the other one, which no memory can tell apart.
fn half_written(region: &Region, chip: usize, element: usize, call: Call) -> Fault {
    let byte = region.address + element as u64 / 2;
    let message = format!(
        "element {element} of the new tensor in HBM {}..{} shares a byte with one that is written, and is left out itself: a \
         transfer moves whole bytes",
        region.address,
        region.end()
    );
    let help = "upload an even number of elements, innermost, or pad the axis of the tensor with `#`";
    let at = Coordinates { chip, cluster: 0, slice: 0 };
    Place::Region(*region).blame(call.fault(FaultKind::Misaligned, message, help), at, byte..byte + 1)
}
