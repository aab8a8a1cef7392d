//! The commands of gathers and scatters: one per engine, with a row for each element of the index.
//!
//! ```text
//!   index   5 0 7 2          engine 0.0.0    [2 : index] rows 5, 0          one start of 500 cycles each,
//!   rows go to PEs 0 0 1 1   engine 0.0.1    [2 : index] rows 7, 2          every row a packet run of its own
//! ```
//!
//! Each row moves like a separate transfer, by the engine of the PE that holds it in DM. Rows are not joined, even if
//! they are neighbours. If a row takes several commands (4099 bytes are 4096 and 3), all rows do, with a start for each
//! command: the loops of a command are the same for all of its rows. Chosen: each command reads its part of the index,
//! 256 bytes per cycle, beside the rows. No cost of reading the index is documented.

use super::dma::{
    Coverage, DmaOperation, DmaOptions, Engine, EngineQueue, EngineSplit, PairedSequencer, Side, derive,
};
use furiosa_visa_rules::command::{Dma, Duplicates, IndexedDma, Memory, RowKey, Start, Transfer};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::spec::{DMA_SLICE_STRIDE, PE_SLICES};
use litemap::Entry;
use litemap::LiteMap;

/// Commands of a gather or scatter, engine by engine. Before the operation has been executed, its index is taken to be
/// 0, 1, 2, …
///
/// # Errors
/// Those of [`derive()`], for a row. A row that lies past the end of a memory, partly or entirely.
pub fn indexed_operation(indexed: &IndexedDma, options: &DmaOptions) -> Result<DmaOperation, PlanError> {
    let keys = indexed.keys();
    let in_order = DmaOptions { split: EngineSplit::Single { cluster: 0, pe: 0 }, ..*options };
    let options = if indexed.duplicates == Duplicates::LastWins { &in_order } else { options };
    let bits = indexed.source.footprint.element.bits() as u64;
    let row_bytes = indexed.stride as u64 * bits / 8;
    // Rows differ in their start: their commands are derived once for each pair of units. If a row lies in a single
    // slice, the rows of the slices of a PE differ in the slice alone.
    let alike = if lies_in_one_slice(indexed) { PE_SLICES } else { 1 };
    let mut known: LiteMap<(usize, usize), DmaOperation> = LiteMap::new();
    let mut lists: LiteMap<Engine, Vec<List>> = LiteMap::new();
    let (mut coverage, mut copies) = (Coverage::Exact, false);
    for (k, &RowKey { chip, side: (side_unit, side), .. }) in keys.iter().enumerate() {
        let row = match &indexed.list {
            Some(list) => list.get(k).copied().filter(|&row| row < indexed.count),
            None => k.checked_rem(indexed.count),
        };
        let Some(row) = row else { continue };
        let first_unit = side_unit - side_unit % alike;
        let one = match known.entry((chip, first_unit)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(derive(&row_in(indexed, chip, first_unit), options)?),
        };
        coverage = coverage.max(one.coverage);
        copies |= one.copies;
        let slice = (side_unit - first_unit) as u64 * DMA_SLICE_STRIDE;
        let (table, other) = (row as u64 * row_bytes, slice + side as u64 * bits / 8);
        let (source, destination) = if indexed.call.gathers() { (table, other) } else { (other, table) };
        for EngineQueue { engine, commands, .. } in &one.engines {
            let lists = lists.entry(*engine).or_default();
            for (number, command) in commands.iter().enumerate() {
                let row = PairedSequencer {
                    source_base: command.source_base + source,
                    destination_base: command.destination_base + destination,
                    ..command.clone()
                };
                // This row may leave its memory even if the first row does not.
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

/// Tells if each row lies in a single slice of DM: no loop of a row goes from slice to slice.
fn lies_in_one_slice(indexed: &IndexedDma) -> bool {
    let gathers = indexed.call.gathers();
    let mut steps =
        indexed.payload.loops.iter().map(|level| if gathers { level.destination } else { level.source });
    let start = if gathers { indexed.payload.destination_start } else { indexed.payload.source_start };
    indexed.side().memory == Memory::Dm && start.units == 0 && steps.all(|step| step.units == 0)
}

/// The rows of one command.
struct List {
    /// Number of the command among the commands of a row.
    number: usize,
    rows: Vec<PairedSequencer>,
}

impl List {
    fn has_loops_of(&self, row: &PairedSequencer) -> bool {
        self.rows.iter().take(1).all(|first| (first.stride0, &first.entries) == (row.stride0, &row.entries))
    }
}

/// Transfer of one row: the first row of the table at unit `chip`, the first row of the other side at unit `side`.
fn row_in(indexed: &IndexedDma, chip: usize, side: usize) -> Dma {
    let from =
        |start: Start, units: usize| Start { units: start.units.saturating_add_unsigned(units), ..start };
    let (source, destination) = if indexed.call.gathers() { (chip, side) } else { (side, chip) };
    let Transfer { source_start, destination_start, .. } = indexed.payload;
    let transfer = Transfer {
        source_start: from(source_start, source),
        destination_start: from(destination_start, destination),
        ..indexed.payload
    };
    Dma { source: indexed.source, destination: indexed.destination, transfer, pcie: false }
}
