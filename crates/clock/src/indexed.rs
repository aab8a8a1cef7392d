//! The commands of gathers and scatters: one per engine, with a row for each element of the index.
//!
//! ```text
//!   index   5 0 7 2          engine 0.0.0    [2 : index] rows 5, 0          one start of 500 cycles each,
//!   rows go to PEs 0 0 1 1   engine 0.0.1    [2 : index] rows 7, 2          every row a packet run of its own
//! ```
//!
//! A row is moved as a transfer of its own would be, by the engine of the PE that holds it in DM. Rows are not joined,
//! neighbours or not. Where a row takes several commands (4099 bytes are 4096 and 3), so do all of them, with a start for
//! each: the loops of a command are the same for all of its rows. Chosen: no cost of reading the index is documented; each
//! command reads its part of it, 256 bytes per cycle, beside the rows.

use super::dma::{
    Coverage, DmaOperation, DmaOptions, Engine, EngineQueue, EngineSplit, PairedSequencer, Side, derive,
};
use furiosa_visa_rules::command::{Dma, Duplicates, IndexedDma, Memory, RowKey, Start, Transfer};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::spec::{DMA_SLICE_STRIDE, PE_SLICES};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The commands of a gather or scatter, engine by engine. Before it has been executed, its index is taken to say
/// 0, 1, 2, …
///
/// # Errors
/// Those of [`derive()`], for a row. A row that lies past the end of a memory, in part or as a whole.
pub fn indexed_operation(own: &IndexedDma, options: &DmaOptions) -> Result<DmaOperation, PlanError> {
    let keys = own.keys();
    let in_order = DmaOptions { split: EngineSplit::Single { cluster: 0, pe: 0 }, ..*options };
    let options = if own.duplicates == Duplicates::LastWins { &in_order } else { options };
    let bits = own.source.footprint.element.bits() as u64;
    let row_bytes = own.stride as u64 * bits / 8;
    // Rows differ in where they begin: their commands are derived once for each pair of units. Those of the slices of a PE
    // differ in the slice alone, if a row lies in a single one.
    let alike = if lies_in_one_slice(own) { PE_SLICES } else { 1 };
    let mut known: BTreeMap<(usize, usize), DmaOperation> = BTreeMap::new();
    let mut lists: BTreeMap<Engine, Vec<List>> = BTreeMap::new();
    let (mut coverage, mut copies) = (Coverage::Exact, false);
    for (k, &RowKey { chip, side: (side_unit, side), .. }) in keys.iter().enumerate() {
        let row = match &own.list {
            Some(list) => list.get(k).copied().filter(|&row| row < own.count),
            None => k.checked_rem(own.count),
        };
        let Some(row) = row else { continue };
        let first_unit = side_unit - side_unit % alike;
        let one = match known.entry((chip, first_unit)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(derive(&row_in(own, chip, first_unit), options)?),
        };
        coverage = coverage.max(one.coverage);
        copies |= one.copies;
        let slice = (side_unit - first_unit) as u64 * DMA_SLICE_STRIDE;
        let (table, other) = (row as u64 * row_bytes, slice + side as u64 * bits / 8);
        let (source, destination) = if own.call.gathers() { (table, other) } else { (other, table) };
        for EngineQueue { engine, commands, .. } in &one.engines {
            let lists = lists.entry(*engine).or_default();
            for (number, command) in commands.iter().enumerate() {
                let row = PairedSequencer {
                    source_base: command.source_base + source,
                    destination_base: command.destination_base + destination,
                    ..command.clone()
                };
                // The first row may lie in its memory where this one does not.
                row.check_capacity(Side::Source)?;
                row.check_capacity(Side::Destination)?;
                match lists.iter_mut().find(|list| list.number == number && list.has_loops_of(&row)) {
                    Some(list) => list.rows.push(row),
                    None => lists.push(List { number, rows: vec![row] }),
                }
            }
        }
    }
    let queue = |(engine, lists): (Engine, Vec<List>)| EngineQueue {
        engine,
        lists: lists.iter().map(|list| list.rows.len()).collect(),
        commands: lists.into_iter().flat_map(|list| list.rows).collect(),
    };
    Ok(DmaOperation { engines: lists.into_iter().map(queue).collect(), coverage, copies })
}

/// Whether no loop of a row goes from slice to slice, where rows lie in DM.
fn lies_in_one_slice(own: &IndexedDma) -> bool {
    let gathers = own.call.gathers();
    let mut steps = own.payload.loops.iter().map(|own| if gathers { own.destination } else { own.source });
    let start = if gathers { own.payload.destination_start } else { own.payload.source_start };
    own.side().memory == Memory::Dm && start.units == 0 && steps.all(|step| step.units == 0)
}

/// The rows of one command.
struct List {
    /// Which of the commands of a row.
    number: usize,
    rows: Vec<PairedSequencer>,
}

impl List {
    fn has_loops_of(&self, row: &PairedSequencer) -> bool {
        self.rows.iter().take(1).all(|own| (own.stride0, &own.entries) == (row.stride0, &row.entries))
    }
}

/// The first row of the table, and the first one of a unit of the other side, as a transfer.
fn row_in(own: &IndexedDma, chip: usize, side: usize) -> Dma {
    let from =
        |start: Start, units: usize| Start { units: start.units.saturating_add_unsigned(units), ..start };
    let (source, destination) = if own.call.gathers() { (chip, side) } else { (side, chip) };
    let Transfer { source_start, destination_start, .. } = own.payload;
    let transfer = Transfer {
        source_start: from(source_start, source),
        destination_start: from(destination_start, destination),
        ..own.payload
    };
    Dma { source: own.source, destination: own.destination, transfer, pcie: false }
}
