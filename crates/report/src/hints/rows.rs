//! Gathers of rows into other slices: derived once more by the rules, and timed with the rows that the index named.

use super::moved::{Moves, Place, corrected, place};
use furiosa_visa_clock::contention::BankLoad;
use furiosa_visa_clock::dma::Side;
use furiosa_visa_clock::record::{Record, Timing};
use furiosa_visa_rules::command::{Duplicates, FillId, IndexedCall, IndexedDma, Operation, Region};
use furiosa_visa_rules::engine::dma::derive_indexed;
use std::sync::Arc;

/// Maximum number of rows of a gather that is timed in another layout.
const MOST_ROWS: usize = 1 << 14;

/// A gather.
pub(super) struct Rows {
    call: IndexedCall,
    /// The table, the index and the rows in DM.
    pub places: [Place; 3],
    /// The rows of the table. Which engine moves which one is not known, so all layouts take them in the order in which
    /// the engines did.
    list: Arc<[usize]>,
}

impl Rows {
    /// The gather of a record. `None`: it is none, its mappings are not known, or its rows take several commands each.
    pub fn of(record: &Record) -> Option<Self> {
        let call = IndexedCall::ALL.into_iter().find(|call| call.name() == record.operation)?;
        let ([table, index, side], true) = (&record.accesses[..], call.gathers()) else { return None };
        let places = [place(table)?, place(index)?, place(side)?];
        let BankLoad::Dma { operation, .. } = &*record.load else { return None };
        let own = Self { call, places, list: Arc::default() };
        let command = own.command()?;
        let row = (command.stride * places[0].shape.element_type.bits() / 8) as u64;
        let of = |base: u64| base.checked_sub(places[0].address)?.checked_div(row);
        let starts = operation.commands().take(MOST_ROWS + 1).map(|command| of(command.base(Side::Source)));
        let list: Vec<usize> = starts.map(|row| row.map(|row| row as usize)).collect::<Option<_>>()?;
        (list.len() <= MOST_ROWS && list.len() == command.keys().len())
            .then(|| Self { list: list.into(), ..own })
    }

    fn command(&self) -> Option<IndexedDma> {
        let [table, index, side] = self.places.each_ref().map(|place| &place.shape);
        let loops = derive_indexed(self.call, table, index, side).ok()?.loops;
        let region = |place: &Place, fill| {
            let footprint = place.shape.footprint().ok()?;
            Some(Region::whole(place.shape.memory, place.address, FillId(fill), footprint))
        };
        let [table, index, side] = &self.places;
        Some(IndexedDma {
            call: self.call,
            source: region(table, 1)?,
            destination: region(side, 2)?,
            index: region(index, 3)?,
            rows: loops.rows,
            payload: loops.payload,
            count: loops.count,
            stride: loops.stride,
            scale: 1,
            duplicates: Duplicates::Equal,
            list: Some(self.list.clone()),
        })
    }

    /// Cycles when nothing else runs. `None`: a rule refuses it.
    fn cycles(&self, moves: &mut Moves) -> Option<u64> {
        match moves.clock().time(&Operation::Indexed(Box::new(self.command()?))).timing {
            Timing::Dma(timing) if timing.time.is_some() => Some(timing.cycles),
            _ => None,
        }
    }

    /// Cycles of the gather of a record between other tensors: see [`Moves::edited`].
    pub fn edited(&self, record: &Record, places: [Place; 3], moves: &mut Moves) -> Option<u64> {
        let other = Self { places, list: self.list.clone(), ..*self };
        corrected(record, self.cycles(moves)?, other.cycles(moves)?)
    }
}
