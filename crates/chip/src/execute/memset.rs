//! Memset: the immediate in all elements of a tensor in DM.

use super::dma::StripRuns;
use crate::memory::row::Row;
use crate::memory::{Unit, forget_elements};
use furiosa_visa_rules::command::Memset;
use furiosa_visa_rules::command::moves::Moves;

/// Writes the value. Everything has been checked. `begins`: the tensor is new, and elements that the loops leave out
/// become uninitialised.
pub(crate) fn run(memset: &Memset, begins: bool, units: &mut Vec<Unit>) {
    let Memset { destination, immediate, moves } = memset;
    let element = destination.footprint.element;
    if begins {
        forget_elements(units, destination);
    }
    let word = immediate.to_le_bytes();
    let (mut row, end) = (Row::new(element), destination.end());
    Moves::new(moves).for_each_strip(element.bits(), |strip| {
        let elements = strip.run * strip.count;
        if row.len() < elements {
            let bytes = row.renew(element, elements);
            bytes.iter_mut().zip(word.iter().cycle()).for_each(|(byte, value)| *byte = *value);
        }
        row.write_runs(0, units, strip.to(destination.address), end, false);
    });
}
