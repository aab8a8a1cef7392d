//! Commands that take effect later than they are given: see [`ExecutionOrder`](crate::ExecutionOrder).

use crate::commands::{Beginning, Written};
use crate::{Chips, Fault};
use core::panic::Location;
use furiosa_visa_rules::command::{ContextKind, Operation, Use};

/// A command that was accepted.
#[derive(Debug)]
pub(crate) struct Deferred {
    operation: Operation,
    beginning: Beginning,
    /// The writes that were given before it.
    written: Written,
    location: &'static Location<'static>,
}

/// A fault of a command that was given earlier, with its place in the program.
#[derive(Debug)]
pub(crate) struct Late {
    number: u64,
    fault: Fault,
}

impl Chips {
    /// Does everything that was given. Commands that still wait when the chips end are not done.
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
    pub(crate) fn flush_quietly(&mut self) {
        if let Err(fault) = self.flush() {
            self.late = Some(Late { number: 0, fault });
        }
    }

    /// Does what has waited for long.
    ///
    /// # Errors
    ///
    /// Those of [`Chips::flush`].
    pub fn make_room(&mut self) -> Result<(), Fault> {
        while self.explorer.is_full() {
            let Some((number, deferred)) = self.explorer.next() else { break };
            self.take_effect(number, deferred);
        }
        if self.late.is_some() { self.flush() } else { Ok(()) }
    }

    /// Lets an accepted command wait.
    pub(crate) fn defer(
        &mut self,
        context: ContextKind,
        uses: impl IntoIterator<Item = Use>,
        operation: Operation,
        beginning: Beginning,
        location: &'static Location<'static>,
    ) {
        let written = self.writes();
        self.explorer.push(context, uses, Deferred { operation, beginning, written, location });
    }

    fn take_effect(&mut self, number: u64, Deferred { operation, beginning, written, location }: Deferred) {
        let done = match &operation {
            Operation::Dma(dma) => {
                self.transfer(dma, beginning);
                Ok(())
            }
            Operation::UnitCopy(copy) => {
                self.copy_units(copy, beginning);
                Ok(())
            }
            Operation::Indexed(_) => {
                unreachable!("it reads its index when it is given, so that it never waits")
            }
            Operation::TensorUnit(unit) => (self.pass(unit, beginning, written, location))
                .map(|pass| pass.run(&mut self.units, &mut self.exchanged)),
        };
        if let Err(fault) = done
            && self.late.as_ref().is_none_or(|late| number < late.number)
        {
            self.late = Some(Late { number, fault });
        }
    }
}
