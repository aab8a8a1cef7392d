//! Moves whose rows are placed by an index tensor: gather and scatter.
//!
//! ```text
//!   gather    DM row k  <──  row index[k] of the table          table: in HBM
//!   scatter   DM row k  ──>  row index[k] of the table          index: in HBM or DM
//! ```
//!
//! To the DMA engines this is one loop whose steps, on the side of HBM, are a list: the content of the index when the
//! command executes. All rows have the same payload.

use super::moves::{End, Moves, Strip};
use super::names::ContextKind;
use super::region::{Memory, Region};
use super::transfer::{Step, Transfer, TransferLoop};
use super::uses::{Place, Use};
use crate::mapping::guard::split::joined;
use crate::scalar::ElementType;
use crate::sorting;
use crate::spec::{CLUSTERS, SLICES};
use std::sync::Arc;

/// The call that moves rows by an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexedCall {
    /// From the table to DM, by byte offsets of rows.
    Gather,
    /// From the table to DM, by numbers of rows.
    GatherRows,
    /// From DM to the table, by byte offsets or by numbers of rows.
    Scatter,
    /// From DM to the table, by numbers of rows.
    ScatterRows,
}

impl IndexedCall {
    /// All calls.
    pub const ALL: [IndexedCall; 4] = [Self::Gather, Self::GatherRows, Self::Scatter, Self::ScatterRows];

    /// The name of the call.
    pub const fn name(self) -> &'static str {
        match self {
            IndexedCall::Gather => "dma_gather",
            IndexedCall::GatherRows => "dma_gather_rows",
            IndexedCall::Scatter => "dma_scatter",
            IndexedCall::ScatterRows => "dma_scatter_rows",
        }
    }

    /// True if rows go from the table to DM.
    pub const fn gathers(self) -> bool {
        matches!(self, IndexedCall::Gather | IndexedCall::GatherRows)
    }
}

display_name!(IndexedCall);

/// Behaviour of a scatter whose index names a row twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Duplicates {
    /// The rows must be the same, bit for bit: engines write in parallel, without an order that a program can rely on.
    #[default]
    Equal,
    /// The last one in the order of the index wins. One engine moves all rows, one after another.
    LastWins,
}

/// A gather or a scatter.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedDma {
    /// The call.
    pub call: IndexedCall,
    /// The tensor from which rows are read: for a gather, the table.
    pub source: Region,
    /// The tensor to which rows are written: for a scatter, the table.
    pub destination: Region,
    /// The numbers of the rows, as `i32`.
    pub index: Region,
    /// The loops from the index to the starts of its rows on the side that is not the table. A row stays in the chip of
    /// its index.
    pub rows: Transfer,
    /// The loops of one row, the same for all.
    pub payload: Transfer,
    /// The rows of the table.
    pub count: usize,
    /// Elements of the table from one row to the next.
    pub stride: usize,
    /// Distance in the index from one row to the next: 1 for numbers of rows, the bytes of a row for byte offsets.
    pub scale: usize,
    /// Behaviour for rows that are named twice.
    pub duplicates: Duplicates,
    /// Row numbers of the table that the chip read, in the order of the index. `None` until the command executes.
    pub list: Option<Arc<[usize]>>,
}

/// An element of an index, with the start of its row on the side that is not the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// The unit of the index.
    pub unit: usize,
    /// The element of the unit.
    pub position: usize,
    /// The chip of the index and of the table.
    pub chip: usize,
    /// Unit and element of the row, without the start of its payload.
    pub side: (usize, usize),
}

impl IndexedDma {
    /// The elements of the index, in its order: chip by chip, then slice by slice.
    pub fn keys(&self) -> Vec<RowKey> {
        let mut keys = Vec::new();
        Moves::new(&self.rows).for_each_strip(ElementType::I32.bits(), |strip| {
            let Strip { source, destination, run, count } = strip;
            for (k, e) in (0..count).flat_map(|k| (0..run).map(move |e| (k, e))) {
                let place = |end: End| (end.unit, end.position + k * end.stride + e);
                let ((unit, position), side) = (place(source), place(destination));
                let in_hbm = self.index.memory == Memory::Hbm;
                let chip = if in_hbm { unit } else { unit / (CLUSTERS * SLICES) };
                keys.push(RowKey { unit, position, chip, side });
            }
        });
        // Strips come as long ascending runs, which this sort finds and merges.
        sorting::ascending(&mut keys);
        keys
    }

    /// The tensor in HBM whose rows the index names.
    pub const fn table(&self) -> &Region {
        if self.call.gathers() { &self.source } else { &self.destination }
    }

    /// The tensor in DM.
    pub const fn side(&self) -> &Region {
        if self.call.gathers() { &self.destination } else { &self.source }
    }

    /// The loops of all rows on the side that is not the table, as the destination of a move.
    pub fn spread(&self) -> Transfer {
        let still = Step { units: 0, elements: 0 };
        let mut all = Transfer { destination_start: self.payload_start(), ..Transfer::new() };
        for current in self.rows.loops.iter() {
            all.loops.push(TransferLoop { source: still, ..*current });
        }
        for current in self.payload.loops.iter() {
            let destination = if self.call.gathers() { current.destination } else { current.source };
            all.loops.push(TransferLoop { source: still, destination, ..*current });
        }
        all.guard = joined(&self.rows.guard, &self.payload.guard);
        all
    }

    const fn payload_start(&self) -> super::transfer::Start {
        if self.call.gathers() { self.payload.destination_start } else { self.payload.source_start }
    }

    /// The loops over every row of the table in every chip, as the destination of a move.
    pub fn all_rows(&self) -> Transfer {
        let still = Step { units: 0, elements: 0 };
        let mut all = self.payload;
        if self.call.gathers() {
            for transfer_loop in all.loops.as_mut_slice() {
                transfer_loop.destination = transfer_loop.source;
            }
            all.destination_start = all.source_start;
        }
        let row = Step { units: 0, elements: self.stride };
        all.loops.push(TransferLoop { size: self.count, source: still, destination: row });
        let chip = Step { units: 1, elements: 0 };
        all.loops.push(TransferLoop { size: self.table().footprint.chips, source: still, destination: chip });
        all.guard.variables += 2;
        // Values of sums are numbered after the variables.
        let before = self.payload.guard.variables;
        for digit in all.guard.digits.as_mut_slice() {
            if digit.variable >= before {
                digit.variable += 2;
            }
        }
        all
    }

    /// The tensors that it reads: the rows, and the index.
    pub fn reads(&self) -> [Use; 2] {
        [self.source, self.index].map(|region| Use::read(Place::Region(region), self.call.name()))
    }

    /// The tensor that it writes.
    pub fn writes(&self) -> Use {
        Use::write(Place::Region(self.destination), self.call.name())
    }

    /// The context of the command.
    pub const fn context(&self) -> ContextKind {
        ContextKind::TensorDma
    }
}
