//! Commands that compile with the vendor's SDK and go wrong on the chip, as users report.
//!
//! No rule of the chip says so, and the simulator computes what the program says. Each report is looked for in commands;
//! [`SdkReports`](furiosa_visa_rules::command::SdkReports) says what becomes of it.
//!
//! | report | a command is one where |
//! |---|---|
//! | replicating store | a DMA from DM to HBM writes elements to several places, along an axis that the source lacks |
//! | switch of copies | packets go around rings, and both clusters of the stream hold the same, since a DMA replicated it |
//! | `to_vrf` of `main` | a pass of the main context has vector work and ends in the VRF |
//! | `to_trf` of `main` | a pass of the main context has a switch and ends in the TRF |
//! | `memset` of a tile | a memset starts inside of its tensor, or ends before it |
//!
//! That two clusters hold the same is no property of a command: it is followed from the DMA that replicated, through
//! passes and moves, for the tensors that were written last.

use core::panic::Location;
use furiosa_visa_rules::command::{
    Command, Dma, Fault, FaultKind, FillId, Memory, Operation, Part, Region, SdkNote, SdkReport, Sink,
    TensorUnit, TransferLoop,
};
use furiosa_visa_rules::mapping::guard::axes;
use furiosa_visa_rules::spec::{CLUSTERS, SLICES};
use std::collections::VecDeque;

/// Tensors of which is known whether both clusters hold the same.
const REMEMBERED: usize = 256;

/// Values of a loop that are asked whether they are live: a command that was built by hand may have any number.
const LOOKED_AT: usize = 4096;

/// A tensor, and the DMA that made both clusters hold the same. `None`: they may differ.
type Copied = (FillId, Option<&'static Location<'static>>);

/// Knowledge of the tensors that were written last.
#[derive(Debug, Default)]
pub(crate) struct Copies(VecDeque<Copied>);

impl Copies {
    /// The DMA that made both clusters of a tensor hold the same.
    fn of(&self, fill: FillId) -> Option<&'static Location<'static>> {
        self.0.iter().rev().find(|(known, _)| *known == fill).and_then(|(_, made)| *made)
    }

    /// Notes a write. A tensor holds copies alone if all its writes made some.
    fn write(&mut self, fill: FillId, made: Option<&'static Location<'static>>) {
        if fill == FillId::ANY {
            return;
        }
        if let Some((_, origin)) = self.0.iter_mut().rev().find(|(known, _)| *known == fill) {
            *origin = origin.and(made);
            return;
        }
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((fill, made));
    }

    /// Notes what a command writes.
    pub(crate) fn follow(&mut self, command: &Command) {
        match &command.operation {
            Operation::Dma(dma) if dma.destination.memory == Memory::Dm => {
                let before = self.of(dma.source.fill).filter(|_| dma.source.memory == Memory::Dm);
                let made = copies_to_clusters(&dma.transfer.loops, before.is_some());
                self.write(dma.destination.fill, made.then_some(before.unwrap_or(command.location)));
            }
            Operation::Indexed(dma) if dma.destination.memory == Memory::Dm => {
                let loops = dma.rows.loops.iter().chain(&dma.payload.loops);
                let made = copies_to_clusters(loops, false);
                self.write(dma.destination.fill, made.then_some(command.location));
            }
            Operation::TensorUnit(unit) => {
                let mut made = unit.reads().map(|read| self.of(read.place.fill()));
                let first = made.next().flatten();
                let all = first.filter(|_| made.all(|origin| origin.is_some()));
                self.write(unit.sink.place().fill(), all);
            }
            Operation::UnitCopy(copy) => self.write(copy.destination.fill, None),
            Operation::Memset(memset) => self.write(memset.destination.fill, None),
            Operation::Dma(_) | Operation::Indexed(_) => {}
        }
    }

    /// The reports of a command, each with the earlier call that matters.
    fn reports(&self, operation: &Operation) -> Vec<(SdkReport, Option<&'static Location<'static>>)> {
        let mut found = Vec::new();
        match operation {
            Operation::Dma(dma) if replicates(dma) => found.push((SdkReport::ReplicatingStore, None)),
            Operation::Memset(memset) if memset.destination.part != Part::WHOLE => {
                found.push((SdkReport::MemsetOfTile, None));
            }
            Operation::TensorUnit(unit) => {
                let is_switched = switches(unit);
                let mut sources = unit.fetch.sources().map(|source| self.of(source.fill));
                if is_switched
                    && let Some(Some(made)) = sources.next()
                    && sources.all(|origin| origin.is_some())
                {
                    found.push((SdkReport::SwitchOfCopies, Some(made)));
                }
                match unit.sink {
                    Sink::Vrf { .. } if unit.vector.is_some() && !unit.sub_context => {
                        found.push((SdkReport::VectorToVrf, None));
                    }
                    Sink::Trf { .. } if is_switched && !unit.sub_context => {
                        found.push((SdkReport::SwitchToTrf, None));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        found
    }

    /// The fault of a command that users report to go wrong.
    pub(crate) fn check(&self, command: &Command) -> Result<(), Fault> {
        let Some(&(report, made)) = self.reports(&command.operation).first() else { return Ok(()) };
        let (operation, message) = (command.operation.name(), message(report, &command.operation));
        let fault = Fault::new(FaultKind::Reported, operation, command.location, message, report.help());
        Err(match made {
            Some(made) => fault.after("both clusters were given the same here", made),
            None => fault,
        })
    }

    /// Counts a command at its line. Whether one is new.
    pub(crate) fn note(&self, command: &Command, notes: &mut Vec<SdkNote>) {
        for (report, _) in self.reports(&command.operation) {
            let at = command.location;
            if let Some(note) = notes.iter_mut().find(|note| note.report == report && note.location == at) {
                note.commands += 1;
                continue;
            }
            let (operation, message) = (command.operation.name(), message(report, &command.operation));
            notes.push(SdkNote { report, operation, location: at, commands: 1, message });
        }
    }
}

fn message(report: SdkReport, operation: &Operation) -> String {
    let cause = match (report, operation) {
        (SdkReport::ReplicatingStore, Operation::Dma(dma)) => {
            format!("the store replicates along {}, which only the destination has", new_axes(dma))
        }
        _ => report.cause().to_string(),
    };
    let outcome = report.outcome();
    format!("{cause}; users of the SDK 0.6.0 report {outcome} (a report, no rule of the chip)")
}

/// True if packets go from slice to slice.
fn switches(unit: &TensorUnit) -> bool {
    unit.switch.as_ref().is_some_and(|switch| switch.ring_size > 1)
}

/// True if a store to HBM writes an element to several places.
fn replicates(dma: &Dma) -> bool {
    let stores = dma.source.memory == Memory::Dm && dma.destination.memory == Memory::Hbm;
    let is_new = |step: &TransferLoop| {
        let (from, to) = (step.source, step.destination);
        step.size > 1 && from.units == 0 && from.elements == 0 && (to.units > 0 || to.elements > 0)
    };
    // Of an axis with padding, more than one value.
    let guard = &dma.transfer.guard;
    let lives = |variable: usize, size: usize| {
        let values = 0..size.min(LOOKED_AT);
        values.filter(|&value| guard.may_hold_with(variable, value)).nth(1).is_some()
    };
    stores && dma.transfer.loops.iter().enumerate().any(|(k, step)| is_new(step) && lives(k, step.size))
}

/// The axes that only the destination has, for messages.
fn new_axes(dma: &Dma) -> String {
    let of = |region: &Region| {
        let mut found = Vec::new();
        let mappings = region.footprint.guard.mappings.known();
        mappings.into_iter().for_each(|mapping| axes(mapping, &mut found));
        found
    };
    let (known, all) = (of(&dma.source), of(&dma.destination));
    let new = all.into_iter().filter(|axis| !known.contains(axis));
    let names: Vec<String> = new.map(|axis| format!("`{}`", axis.as_str())).collect();
    if names.is_empty() { "a part of an axis".to_string() } else { names.join(", ") }
}

/// True if loops into DM write the same to both clusters. `copies`: the source, in DM, holds the same in both.
fn copies_to_clusters<'a>(loops: impl IntoIterator<Item = &'a TransferLoop>, copies: bool) -> bool {
    let mut found = false;
    for TransferLoop { size, source, destination } in loops {
        let step = destination.units;
        let stays = *size < 2 || step.is_multiple_of(CLUSTERS * SLICES);
        if stays || step.saturating_mul(*size) <= SLICES {
            continue;
        }
        let repeats = source.units == 0 && source.elements == 0;
        let follows = copies && source.units == step && source.elements == 0;
        if !repeats && !follows {
            return false;
        }
        found = true;
    }
    found
}

#[cfg(test)]
#[path = "sdk_tests.rs"]
mod tests;
