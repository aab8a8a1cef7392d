//! Accesses of the host to the memories: transfers over PCIe, looks at register files.

use super::checks::bounds::{Call, fits, in_bounds, in_memory};
use super::commands::Beginning;
use super::memory::fills::{Covered, Write};
use super::memory::forget_elements;
use super::{Chips, Compute, Fault, FaultKind, checks, execute};
use core::panic::Location;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{
    HostBuffer, HostTransfer, Inspection, Memory, Place, Region, RegisterFile,
};

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
            return Ok(execute::nothing(transfer));
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

    /// Looks at a register file, past all engines. Elements that nobody wrote are zero and uninitialised.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves its register file or was overwritten.
    pub fn inspect(
        &mut self,
        inspection: &Inspection,
        location: &'static Location<'static>,
    ) -> Result<HostBuffer, Fault> {
        let call = Call { operation: "inspect", location };
        checks::form::inspection(inspection, call)?;
        let place = match inspection.source {
            RegisterFile::Trf(region) => Place::Trf(region),
            RegisterFile::Vrf(region) => Place::Region(region),
        };
        self.check_same_system(&place, call)?;
        match &inspection.source {
            RegisterFile::Trf(region) => fits(region, self.options.checks.bounds, call)?,
            RegisterFile::Vrf(region) => {
                in_memory(region, &[Memory::Vrf], call)?;
                if self.options.checks.bounds {
                    in_bounds(region, self.limit(), call)?;
                }
            }
        }
        self.check_read(place, call)?;
        let (mut placed, mut file) = (inspection.clone(), 0);
        if let Some(separate) = &mut self.separate {
            match &mut placed.source {
                RegisterFile::Trf(region) => file = separate.file(region, &mut self.units),
                RegisterFile::Vrf(region) => {
                    *region = separate.region(region, &mut self.hbm, &mut self.units);
                }
            }
        }
        Ok(execute::inspect(&placed, file, &self.units))
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
