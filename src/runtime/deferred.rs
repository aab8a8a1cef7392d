//! Commands that wait for the end of their launch.
//!
//! ```text
//!   kernel      x.to_dm(AUTO)   .commit(AUTO)   …   the end, or a look at what is there
//!   recorded    DMA → name 1    pass 1 → 2      …            │
//!   placed                                      name 1 = 0x40, name 2 = 0x80, …
//!   executed                                    DMA → 0x40   pass 0x40 → 0x80   …
//! ```
//!
//! The last use of a tensor is known when the kernel has ended. Until then its commands are kept with names instead of
//! addresses. Then all tensors get their places, and the commands are executed in the order of the program, as if they had
//! been executed at their calls. A report, a look at a tensor, a transfer of the host and another launch need the
//! commands before them, and have them executed earlier.

use super::liveness::Full;
use super::names::{AllLives, Begin, Maker, is_name};
use super::shared::SystemHandle;
use crate::chip::Fault;
use crate::clock::KernelCall;
use crate::command::{Command, Inspection, Memory, Operation, PlaceMut, Region};
use core::panic::Location;
use furiosa_visa_rules::sorting;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most commands, and the most tensors without a command, that wait.
const MOST: usize = 8192;

/// A command, or a tensor in HBM that begins.
#[derive(Debug)]
pub(super) enum Deed {
    Command(Operation),
    /// A part of the program begins.
    Part(Box<str>),
    Begin(Box<Region>, &'static str),
}

/// A deed that waits, with its call.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) deed: Deed,
    pub(super) location: &'static Location<'static>,
    pub(super) kernel: KernelCall,
}

/// Commands that wait, in the order of the program.
#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<Vec<Waiting>>);

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SystemHandle {
    /// Keeps a command. Without a launch that defers, it is executed at once.
    pub(super) fn keep(&self, waiting: Waiting) -> Result<(), Fault> {
        let count = {
            let mut queue = self.queue().lock();
            queue.push(waiting);
            queue.len()
        };
        if count >= MOST || !self.allocators_of_all().defers() { self.perform() } else { Ok(()) }
    }

    /// Notes that a tensor has no element when it is first named. True if it has a name.
    pub(super) fn begin_named(&self, region: &Region, maker: Maker, kernel: KernelCall) -> bool {
        if !is_name(region.address) {
            return false;
        }
        let allocator = &mut self.allocators_of_all().lock()[region.memory as usize];
        if let Some(tensor) = allocator.late.names.of(region) {
            tensor.begin = Some(Box::new(Begin { region: *region, maker, kernel }));
        }
        true
    }

    /// Executes the commands that wait, if many tensors were made since.
    pub(super) fn perform_if_crowded(&self) -> Result<(), Fault> {
        let all = self.allocators_of_all();
        let names = all.lock().iter().map(|allocator| allocator.late.names.tensors.len()).sum::<usize>();
        let unknown = names + all.halves().len();
        if unknown.is_multiple_of(MOST) && unknown > 0 { self.perform() } else { Ok(()) }
    }

    /// Executes the commands that wait.
    ///
    /// # Errors
    /// The fault of the first one that has one, or of a tensor that does not fit. Later ones are not executed.
    pub(super) fn perform(&self) -> Result<(), Fault> {
        if !self.allocators_of_all().has_names() && !self.allocators_of_all().defers() {
            return Ok(());
        }
        // Locked to the end: commands of other threads come behind.
        let mut queue = self.queue().lock();
        let mut waiting = core::mem::take(&mut *queue);
        let (begins, full) = self.place_all(&mut waiting);
        let last = full.as_ref().map_or(usize::MAX, |full| full.command);
        let mut begins = begins.into_iter().peekable();
        let mut done = Ok(());
        for (k, Waiting { deed, location, kernel }) in
            waiting.into_iter().enumerate().take_while(|(k, _)| *k < last)
        {
            while let Some((_, begin)) = begins.next_if(|(first, _)| *first <= k) {
                let Begin { region, maker, kernel } = *begin;
                done = done.and_then(|()| self.begin_now(&region, maker, kernel));
            }
            done = done.and_then(|()| match deed {
                Deed::Begin(region, operation) => {
                    self.begin_now(&region, Maker { operation, location }, kernel)
                }
                Deed::Part(name) => {
                    self.part_now(&name, kernel);
                    Ok(())
                }
                Deed::Command(operation) => self.give(&Command { operation, location }, kernel),
            });
            if done.is_err() {
                break;
            }
        }
        let all = self.allocators_of_all();
        all.lock().iter_mut().for_each(super::allocate::Allocator::forget_ended);
        all.halves().forget();
        drop(queue);
        done.and_then(|()| full.map_or(Ok(()), |full| Err(full.fault)))
    }

    /// Finds the places of all tensors and writes them into the commands. Gives the tensors that begin, with the first
    /// command that names each; and the first tensor that does not fit.
    fn place_all(&self, waiting: &mut [Waiting]) -> (Vec<(usize, Box<Begin>)>, Option<Full>) {
        let mut lives = AllLives::default();
        for (k, waiting) in waiting.iter_mut().enumerate() {
            if let Deed::Command(operation) = &mut waiting.deed {
                lives.note(k, operation);
            }
        }
        let mut allocators = self.allocators_of_all().lock();
        let mut halves = self.allocators_of_all().halves();
        let count = waiting.len();
        let full = [
            allocators[Memory::Dm as usize].place_names(count, &lives.dm).err(),
            allocators[Memory::Vrf as usize].place_names(count, &lives.vrf).err(),
            halves
                .place(count, &lives.trf)
                .err()
                .map(|none| Full { command: none.command, fault: none.fault }),
        ];
        let full = full.into_iter().flatten().min_by_key(|full| full.command);
        for waiting in waiting.iter_mut() {
            if let Deed::Command(operation) = &mut waiting.deed {
                operation.for_each_place(|mut place| {
                    halves.write_into(&mut place);
                    if let PlaceMut::Region(region) = place {
                        allocators[region.memory as usize].write_into(region);
                    }
                });
            }
        }
        let mut begins = Vec::new();
        for (memory, lives) in [(Memory::Dm, &lives.dm), (Memory::Vrf, &lives.vrf)] {
            let allocator = &mut allocators[memory as usize];
            for (name, life) in &lives.named {
                let begin = allocator.late.names.tensors.get_mut(name).and_then(|tensor| tensor.begin.take());
                if let Some(mut begin) = begin {
                    allocator.write_into(&mut begin.region);
                    begins.push((life.first, begin));
                }
            }
        }
        sorting::by_key(&mut begins, |(first, _)| *first);
        (begins, full)
    }

    /// Writes the place of a tensor into a look at it, after all commands that wait. `None`: it has no place yet.
    pub(super) fn placed(&self, mut inspection: Inspection) -> Result<Option<Inspection>, Fault> {
        self.perform()?;
        let all = self.allocators_of_all();
        if all.has_names() {
            let mut place = inspection.place_mut();
            all.halves().write_into(&mut place);
            if let PlaceMut::Region(region) = place {
                all.lock()[region.memory as usize].write_into(region);
                if is_name(region.address) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(inspection))
    }

    /// Writes the places of its tensors into a pass that is looked at, after all commands that wait. False: one of them has no
    /// place yet, because no command has written it.
    pub(super) fn place_pass(&self, operation: &mut Operation) -> Result<bool, Fault> {
        self.perform()?;
        let all = self.allocators_of_all();
        let mut are_placed = true;
        if all.has_names() {
            let (allocators, halves) = (all.lock(), all.halves());
            operation.for_each_place(|mut place| {
                halves.write_into(&mut place);
                if let PlaceMut::Region(region) = place {
                    allocators[region.memory as usize].write_into(region);
                    are_placed &= !is_name(region.address);
                }
            });
        }
        Ok(are_placed)
    }

    /// A launch ends, or another one begins in it: bytes that the program names by address are those of the next launch.
    pub(super) fn forget_given(&self) {
        self.allocators_of_all().lock().iter_mut().for_each(|allocator| allocator.late.given.clear());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::TensorUnit;

    /// Commands that wait take a bounded part of the memory of the host.
    #[test]
    fn what_waits_is_bounded() {
        let each = size_of::<TensorUnit>() + size_of::<Waiting>();
        assert!(MOST * each < 256 << 20, "{each} bytes each");
    }
}
