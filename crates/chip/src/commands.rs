//! A command from its call to its effect.
//!
//! ```text
//!   execute ── form ── dma, tensor_unit: the rules, one after the other ── order ── effect
//!                 └─ Fault: nothing was done                                            └─ what was written is noted
//! ```

use super::checks::bounds::{Call, in_bounds, in_memory};
use super::execute::{Pass, PassOptions, indexed};
use super::memory::fills::{Covered, Origin, Write};
use super::memory::separate::Placed;
use super::{Chips, Compute, Fault, SdkReports, checks, execute};
use core::panic::Location;
use furiosa_visa_rules::command::{
    Command, ContextKind, Dma, IndexedDma, Memory, Memset, Operation, Place, Region, Sink, TensorUnit,
    UnitCopy, Use,
};
use std::borrow::Cow;

/// Relation of a write to the tensor that it fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Not the first one: what it leaves out stays.
    Earlier,
    /// The first one. It covers all elements.
    Whole,
    /// The first one. The elements that it leaves out are uninitialised, whatever their bytes held.
    Part,
}

impl Chips {
    /// Executes a command. Gives the command for the clock: the same, with the rows that an index named.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the command breaks one of the rules that [`ChipOptions::checks`](super::ChipOptions::checks) turns
    /// on, if a register file tensor does not fit, or if the engine cannot compute with the types. Memory is then as it was
    /// before.
    pub fn execute<'a>(&mut self, command: &'a Command) -> Result<Cow<'a, Command>, Fault> {
        let mut executed = Cow::Borrowed(command);
        checks::form::operation(&command.operation, command.location)?;
        if self.options.checks.sdk == SdkReports::Fault {
            self.copies.check(command)?;
        }
        match &command.operation {
            Operation::Dma(dma) => self.dma(dma, command.location)?,
            Operation::TensorUnit(unit) => self.tensor_unit(unit, command.location)?,
            Operation::UnitCopy(copy) => self.unit_copy(copy, command.location)?,
            Operation::Memset(memset) => self.memset(memset, command.location)?,
            Operation::Indexed(dma) => {
                let operation = Operation::Indexed(Box::new(self.indexed(dma, command.location)?));
                executed = Cow::Owned(Command { operation, ..*command });
            }
        }
        if self.options.checks.sdk != SdkReports::Off {
            self.copies.note(command, &mut self.notes);
            self.copies.follow(command);
        }
        Ok(executed)
    }

    /// Refuses a tensor of another system.
    pub(super) fn check_same_system(&self, place: &Place, call: Call) -> Result<(), Fault> {
        checks::other_context::check(place, self.number(), call)
    }

    /// Checks the bounds of a tensor and makes its chips.
    pub(super) fn admit(&mut self, region: &Region, call: Call) -> Result<(), Fault> {
        if self.options.checks.bounds {
            in_bounds(region, self.limit(), call)?;
        }
        self.grow(region.footprint.chips);
        Ok(())
    }

    pub(super) fn check_read(&self, place: Place, call: Call) -> Result<(), Fault> {
        if !self.options.checks.stale_reads || self.separate.is_some() {
            return Ok(());
        }
        self.logs[place.memory() as usize].check_read(&place, call.operation, call.location)
    }

    /// Relation of a write to its tensor. Tensors are numbered as they are first written. A handle of a bare address vouches for what
    /// is there.
    pub(super) fn beginning(&self, place: &Place, covers: impl FnOnce() -> bool) -> Beginning {
        let fill = place.fill();
        if fill.is_bare()
            || fill.in_system().0 <= self.newest.0
            || self.options.compute == Compute::ShapesOnly
        {
            return Beginning::Earlier;
        }
        if covers() { Beginning::Whole } else { Beginning::Part }
    }

    /// Notes that a call wrote a tensor.
    pub(super) fn written(&mut self, write: Write<'_>, call: Call) {
        let (memory, fill) = (write.place.memory(), write.place.fill());
        if !fill.is_bare() {
            self.newest = self.newest.max(fill.in_system());
        }
        let checks = &self.options.checks;
        if (checks.stale_reads || checks.uninitialised) && self.separate.is_none() {
            self.logs[memory as usize].record(write, call.operation, call.location);
        }
    }

    /// Refuses tensors of another system.
    fn check_same_system_of_all(
        &self,
        uses: &[Use],
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        uses.iter().try_for_each(|used| {
            self.check_same_system(&used.place, Call { operation: used.operation, location })
        })
    }

    /// Checks the order between contexts, and notes the operation. It is the last check.
    fn in_order(
        &mut self,
        context: ContextKind,
        uses: impl IntoIterator<Item = Use>,
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        let checks = &self.options.checks;
        if (checks.order || checks.register_reuse) && self.separate.is_none() {
            let admitted = self.order.admit(context, uses, checks, location)?;
            self.order.record(admitted);
        }
        Ok(())
    }

    fn dma(&mut self, dma: &Dma, location: &'static Location<'static>) -> Result<(), Fault> {
        let call = Call { operation: "DMA", location };
        let uses = [dma.reads(), dma.writes()];
        self.check_same_system_of_all(&uses, location)?;
        for region in [&dma.source, &dma.destination] {
            in_memory(region, &[Memory::Hbm, Memory::Dm], call)?;
        }
        self.admit(&dma.source, call)?;
        self.admit(&dma.destination, call)?;
        self.check_read(Place::Region(dma.source), call)?;
        checks::access::dma(dma, &self.options.checks, call)?;
        if self.options.checks.dma_overwrites {
            checks::dma_overwrite::check(core::slice::from_ref(dma), self.separate.is_some(), call)?;
        }
        self.in_order(dma.context(), uses, location)?;
        let place = Place::Region(dma.destination);
        let beginning = self.beginning(&place, || dma.covers());
        if self.options.compute == Compute::Values {
            self.transfer(dma, beginning);
        }
        let moves = core::slice::from_ref(&dma.transfer);
        let covered = Covered::by_moves(dma.transfer.moves_as_many(&dma.destination), moves);
        self.written(Write { covered, ..Write::of(place, &[Place::Region(dma.source)]) }, call);
        Ok(())
    }

    fn unit_copy(&mut self, copy: &UnitCopy, location: &'static Location<'static>) -> Result<(), Fault> {
        let call = Call { operation: copy.call.name(), location };
        let uses = [copy.reads(), copy.writes()];
        self.check_same_system_of_all(&uses, location)?;
        self.admit(&copy.source, call)?;
        self.admit(&copy.destination, call)?;
        self.check_read(Place::Region(copy.source), call)?;
        checks::access::unit_copy(copy, &self.options.checks, call)?;
        if self.options.checks.dma_overwrites {
            let parts: Vec<Dma> = copy.parts().collect();
            checks::dma_overwrite::check(&parts, self.separate.is_some(), call)?;
        }
        self.in_order(copy.context, uses, location)?;
        let place = copy.writes().place;
        let beginning = self.beginning(&place, || copy.covers());
        if self.options.compute == Compute::Values {
            self.copy_units(copy, beginning);
        }
        let covered = Covered::by_moves(beginning != Beginning::Part, &copy.moves);
        let from = [Place::Region(copy.source)];
        self.written(Write { covered, ..Write::padded(place, &copy.destination, &from) }, call);
        Ok(())
    }

    fn memset(&mut self, memset: &Memset, location: &'static Location<'static>) -> Result<(), Fault> {
        let call = Call { operation: Memset::CALL, location };
        let written = memset.writes();
        self.check_same_system(&written.place, call)?;
        self.admit(&memset.destination, call)?;
        checks::access::memset(memset, &self.options.checks, call)?;
        self.in_order(ContextKind::Sub, [written], location)?;
        let beginning = self.beginning(&written.place, || memset.covers());
        if self.options.compute == Compute::Values {
            self.set(memset, beginning);
        }
        let moves = core::slice::from_ref(&memset.moves);
        let covered = Covered::by_moves(beginning != Beginning::Part, moves);
        self.written(Write { covered, ..Write::of(written.place, &[]) }, call);
        Ok(())
    }

    /// Moves rows by an index.
    fn indexed(
        &mut self,
        dma: &IndexedDma,
        location: &'static Location<'static>,
    ) -> Result<IndexedDma, Fault> {
        let call = Call { operation: dma.call.name(), location };
        let [read, index] = dma.reads();
        let uses = [read, index, dma.writes()];
        let checks = self.options.checks;
        self.check_same_system_of_all(&uses, location)?;
        checks::indexed::access(dma, &checks, call)?;
        for region in [&dma.source, &dma.index, &dma.destination] {
            self.admit(region, call)?;
        }
        self.check_read(read.place, call)?;
        self.check_read(index.place, call)?;
        if !dma.call.gathers() {
            // The rows that no element names are kept: they must be those of this tensor.
            self.check_read(dma.writes().place, call)?;
        }
        if checks.dma_overwrites {
            checks::indexed::keeps_index(dma, self.separate.is_some(), call)?;
        }
        let place = dma.writes().place;
        let mut covered = Covered::Whole;
        let mut listed = dma.clone();
        if self.options.compute == Compute::Values {
            let (hbm, units) = (&mut self.hbm, &mut self.units);
            let apart = self.separate.as_mut().map(|separate| separate.indexed(dma, hbm, units));
            let placed = apart.as_ref().unwrap_or(dma);
            let keys = dma.keys();
            let values = indexed::read_index(&placed.index, &keys, hbm, units);
            let logs = &self.logs;
            let origin = |place: &Place, at, byte| match (apart.is_some(), place.fill().is_bare()) {
                (true, true) => Origin::of_bare_handle(),
                (true, false) => Origin::unknown(),
                (false, _) => {
                    let memory = place.memory() as usize;
                    logs[memory].origin(at, byte)
                }
            };
            let list = checks::indexed::rows(dma, &keys, &values, &checks, origin, call)?;
            if checks.overlapping_writes {
                checks::indexed::duplicates(dma, placed, &keys, &list, units, call)?;
            }
            self.in_order(dma.context(), uses, location)?;
            let rows = list.iter().filter(|&&row| row != indexed::NO_ROW).count();
            let begins = self.beginning(&place, || dma.covers(rows)) == Beginning::Part;
            let (hbm, units) = (&mut self.hbm, &mut self.units);
            indexed::run(placed, begins, (&keys, &list), hbm, units);
            if begins {
                covered = Covered::SomeOfIt;
            }
            listed.list = Some(list.into());
        } else {
            self.in_order(dma.context(), uses, location)?;
        }
        self.written(Write { covered, ..Write::of(place, &[Place::Region(dma.source)]) }, call);
        Ok(listed)
    }

    fn tensor_unit(&mut self, unit: &TensorUnit, location: &'static Location<'static>) -> Result<(), Fault> {
        let checks = self.options.checks;
        let written = unit.writes();
        let uses: Vec<Use> = unit.reads().chain([written]).collect();
        self.check_same_system_of_all(&uses, location)?;
        checks::bounds::tensor_unit(unit, self.options.chip_kind, self.limit(), &checks, location)?;
        let values = self.options.compute == Compute::Values;
        if values {
            // First: what follows may go through all packets.
            checks::size::check(unit, Call { operation: unit.writes().operation, location })?;
        }
        checks::access::tensor_unit(unit, &checks, location)?;
        if self.options.checks.overwrites {
            checks::overwrite::check(unit, self.separate.is_some(), location)?;
        }
        for read in unit.reads() {
            self.check_read(read.place, Call { operation: read.operation, location })?;
        }
        self.grow(unit.chips());
        let beginning = self.beginning(&written.place, || unit.covers());
        let pass = if values { Some(self.pass(unit, beginning, location)?) } else { None };
        self.in_order(unit.context(), uses.iter().copied(), location)?;
        if let Some(pass) = pass {
            pass.run(&mut self.units, &mut self.switched);
        }
        let from: Vec<Place> = unit.fetch.sources().copied().map(Place::Region).collect();
        let covered = match &unit.sink {
            _ if beginning != Beginning::Part => Covered::Whole,
            Sink::Vrf { transfer, .. } => Covered::Moves([*transfer].into()),
            Sink::Commit { .. } | Sink::Trf { .. } => Covered::SomeOfIt,
        };
        let write = match &unit.sink {
            Sink::Commit { destination, .. } => Write::padded(written.place, destination, &from),
            Sink::Vrf { .. } | Sink::Trf { .. } => Write::of(written.place, &from),
        };
        self.written(Write { covered, ..write }, Call { operation: written.operation, location });
        Ok(())
    }

    /// Moves the elements of a transfer that was accepted.
    pub(crate) fn transfer(&mut self, dma: &Dma, beginning: Beginning) {
        let (hbm, units) = (&mut self.hbm, &mut self.units);
        let placed = self.separate.as_mut().map(|separate| separate.dma(dma, hbm, units));
        execute::run_dma(placed.as_ref().unwrap_or(dma), beginning == Beginning::Part, hbm, units);
    }

    /// Copies the elements of a copy that was accepted.
    pub(crate) fn copy_units(&mut self, copy: &UnitCopy, beginning: Beginning) {
        let (hbm, units) = (&mut self.hbm, &mut self.units);
        let placed = self.separate.as_mut().map(|separate| separate.unit_copy(copy, hbm, units));
        execute::run_unit_copy(placed.as_ref().unwrap_or(copy), beginning == Beginning::Part, hbm, units);
    }

    /// Sets the elements of a memset that was accepted.
    fn set(&mut self, memset: &Memset, beginning: Beginning) {
        let (hbm, units) = (&mut self.hbm, &mut self.units);
        let placed = self.separate.as_mut().map(|separate| separate.memset(memset, hbm, units));
        execute::run_memset(placed.as_ref().unwrap_or(memset), beginning == Beginning::Part, units);
    }

    /// A pass that uses nothing that nobody wrote, prepared.
    pub(crate) fn pass<'a>(
        &mut self,
        unit: &'a TensorUnit,
        beginning: Beginning,
        location: &'static Location<'static>,
    ) -> Result<Pass<'a>, Fault> {
        let (hbm, units) = (&mut self.hbm, &mut self.units);
        let placed = match &mut self.separate {
            Some(separate) => separate.pass(unit, hbm, units),
            None => Placed::as_given(unit),
        };
        let checks = self.options.checks;
        let (rule, computed) = (self.options.padding, !checks.padding);
        let options = PassOptions { rule, computed, path: self.path, beginning };
        let pass = Pass::new(unit, placed, self.units.len(), options, location);
        if checks.uninitialised {
            let (apart, logs) = (self.separate.is_some(), &self.logs);
            pass.check_initialised(&self.units, &|place, at, byte| match (apart, place.fill().is_bare()) {
                (true, true) => Origin::of_bare_handle(),
                // Nothing is noted of who writes bytes that nobody shares.
                (true, false) => Origin::unknown(),
                (false, _) => {
                    let memory = place.memory() as usize;
                    logs[memory].origin(at, byte)
                }
            })?;
        }
        if checks.padding {
            pass.check_padding(&self.units)?;
        }
        Ok(pass)
    }
}
