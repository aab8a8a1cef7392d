//! Commands that take effect later than they are given: see [`ExecutionOrder`](crate::chip::ExecutionOrder).

use crate::chip::execute::{self, Pass};
use crate::chip::memory::separate::Placed;
use crate::chip::{Fault, System};
use crate::command::{ContextKind, Dma, Operation, TensorUnit, Use};
use core::panic::Location;

/// A command that was accepted.
#[derive(Debug)]
pub(in crate::chip) struct Deferred {
    operation: Operation,
    location: &'static Location<'static>,
}

/// A fault of a command that was given earlier, with its place in the program.
#[derive(Debug)]
pub(in crate::chip) struct Late {
    number: u64,
    fault: Fault,
}

impl System {
    /// Does everything that was given. A system ends without it: what still waits is not done then.
    ///
    /// # Errors
    ///
    /// The [`Fault`] of the first command, in the order of the program, that used what nobody had written. All others have
    /// been done.
    pub fn flush(&mut self) -> Result<(), Fault> {
        while let Some((number, deferred)) = self.explorer.next() {
            self.take_effect(number, deferred);
        }
        self.late.take().map_or(Ok(()), |late| Err(late.fault))
    }

    /// Does everything that was given. The next call reports a fault.
    pub(in crate::chip) fn flush_quietly(&mut self) {
        if let Err(fault) = self.flush() {
            self.late = Some(Late { number: 0, fault });
        }
    }

    /// Does what has waited for long.
    pub(in crate::chip) fn make_room(&mut self) -> Result<(), Fault> {
        while self.explorer.is_full() {
            let Some((number, deferred)) = self.explorer.next() else { break };
            self.take_effect(number, deferred);
        }
        if self.late.is_some() { self.flush() } else { Ok(()) }
    }

    /// Lets an accepted command wait.
    pub(in crate::chip) fn defer(
        &mut self,
        context: ContextKind,
        uses: impl IntoIterator<Item = Use>,
        operation: Operation,
        location: &'static Location<'static>,
    ) {
        self.explorer.push(context, uses, Deferred { operation, location });
    }

    fn take_effect(&mut self, number: u64, Deferred { operation, location }: Deferred) {
        let done = match &operation {
            Operation::Dma(dma) => {
                self.transfer(dma);
                Ok(())
            }
            Operation::TensorUnit(unit) => self.pass(unit, location).map(|pass| pass.run(&mut self.units)),
        };
        if let Err(fault) = done
            && self.late.as_ref().is_none_or(|late| number < late.number)
        {
            self.late = Some(Late { number, fault });
        }
    }

    /// Moves the elements of a transfer that was accepted.
    pub(in crate::chip) fn transfer(&mut self, dma: &Dma) {
        let (hbm, units) = (&mut self.hbm, &mut self.units);
        let own = self.separate.as_mut().map(|separate| separate.dma(dma, hbm, units));
        execute::run_dma(own.as_ref().unwrap_or(dma), hbm, units);
    }

    /// A pass that uses nothing that nobody wrote, prepared.
    pub(in crate::chip) fn pass<'a>(
        &mut self,
        unit: &'a TensorUnit,
        location: &'static Location<'static>,
    ) -> Result<Pass<'a>, Fault> {
        let (hbm, units) = (&mut self.hbm, &mut self.units);
        let placed = match &mut self.separate {
            Some(separate) => separate.pass(unit, hbm, units),
            None => Placed::as_given(unit),
        };
        let checks = self.options.checks;
        let pass = Pass::new(unit, placed, (self.options.padding, !checks.padding), location);
        if checks.uninitialised {
            pass.check_initialised(&self.units)?;
        }
        if checks.padding {
            pass.check_padding(&self.units)?;
        }
        Ok(pass)
    }
}
