//! Rules for gathers and scatters: the values of the index, and its overlap with the destination.

use super::access::{element_aligned, ends_aligned, moved};
use super::bounds::{Call, in_memory};
use crate::execute::indexed::{NO_ROW, RowStrips};
use crate::memory::fills::Origin;
use crate::memory::{Unit, separate};
use furiosa_visa_rules::command::place::{Coordinates, first_shared};
use furiosa_visa_rules::command::{
    CheckOptions, Duplicates, Fault, FaultKind, IndexedDma, Memory, Place, Region, RowKey,
};
use std::collections::HashMap;

/// Refuses a move by an index that the DMA engines cannot do, or that writes outside of its tensor or twice.
pub(crate) fn access(dma: &IndexedDma, checks: &CheckOptions, call: Call) -> Result<(), Fault> {
    in_memory(dma.table(), &[Memory::Hbm], call)?;
    in_memory(dma.side(), &[Memory::Dm], call)?;
    in_memory(&dma.index, &[Memory::Hbm, Memory::Dm], call)?;
    if checks.alignment {
        ends_aligned(&dma.source, &dma.destination, call)?;
        element_aligned(&dma.index, call)?;
    }
    let written = if dma.call.gathers() { dma.spread() } else { dma.all_rows() };
    moved(core::slice::from_ref(&written), &dma.destination, checks, call)
}

/// Refuses an index whose bytes are written by the same move. `apart`: each tensor has separate bytes.
pub(crate) fn keeps_index(dma: &IndexedDma, apart: bool, call: Call) -> Result<(), Fault> {
    let IndexedDma { index, destination, .. } = dma;
    if index.memory != destination.memory || apart && !separate::shares(index, destination) {
        return Ok(());
    }
    let (index, destination) = (Place::Region(*index), Place::Region(*destination));
    let Some((at, bytes)) = first_shared(&index, &destination) else { return Ok(()) };
    let message = format!(
        "the index in {} shares bytes with the destination in {}: rows may be written before the index is read",
        index.describe(),
        destination.describe()
    );
    let help = format!("put the index elsewhere{}", separate::advice(apart));
    let fault = Fault::new(FaultKind::Overwrite, call.operation, call.location, message, help);
    Err(index.blame(fault, at, bytes))
}

/// Unit of an element of the index.
fn coordinates(index: &Region, key: &RowKey) -> Coordinates {
    match index.memory {
        Memory::Hbm => Coordinates { chip: key.unit, cluster: 0, slice: 0 },
        Memory::Dm | Memory::Vrf => Coordinates::of_slice(key.unit),
    }
}

/// The fault, with the bytes of an element of the index as its place.
fn blamed(index: &Region, key: &RowKey, fault: Fault) -> Fault {
    let start = index.address.saturating_add(key.position as u64 * 4);
    Place::Region(*index).blame(fault, coordinates(index, key), start..start.saturating_add(4))
}

/// Name of an element of the index by its coordinates: `i![S: 3], position 3 of m![S]`.
fn named(index: &Region, key: &RowKey) -> String {
    let Coordinates { chip, cluster, slice } = coordinates(index, key);
    let name = index.footprint.guard.element(&[chip, cluster, slice, key.position]);
    name.unwrap_or_else(|| format!("element {} of unit {}", key.position, key.unit))
}

/// Text of the byte offsets of `count` rows, as far as an index can hold them: `0, 64, … to 2496`.
fn byte_offsets(scale: i64, count: i64) -> String {
    let last = (count - 1).min(i64::from(i32::MAX) / scale);
    let text = match last {
        0 => "0".to_string(),
        1 => format!("0 and {scale}"),
        _ => format!("0, {scale}, … to {}", last * scale),
    };
    if last + 1 == count {
        text
    } else {
        format!("{text}, or the numbers of rows: `i32` holds no more bytes")
    }
}

/// Rows that the elements of an index name. `origin` gives the reason why an element of the index is uninitialised.
pub(crate) fn rows(
    dma: &IndexedDma,
    keys: &[RowKey],
    values: &[Option<i32>],
    checks: &CheckOptions,
    origin: impl Fn(&Place, Coordinates, u64) -> Origin,
    call: Call,
) -> Result<Vec<usize>, Fault> {
    let index = &dma.index;
    let row = |(key, value): (&RowKey, &Option<i32>)| {
        let Some(value) = value else {
            if !checks.uninitialised {
                return Ok(NO_ROW);
            }
            let start = index.address.saturating_add(key.position as u64 * 4);
            let place = Place::Region(*index);
            let Origin { clause, written } = origin(&place, coordinates(index, key), start);
            let message =
                format!("the index in {} is asked for {}, {clause}", place.describe(), named(index, key));
            let help = "write every element of the index before it is used";
            let fault = call.fault(FaultKind::Uninitialised, message, help);
            let fault = written.iter().fold(fault, |fault, at| fault.after("it was written here", at));
            return Err(blamed(index, key, fault));
        };
        // A byte offset names a row by its first byte.
        let (offset, scale, count) = (i64::from(*value), dma.scale as i64, dma.count as i64);
        let inside = (0..count).contains(&offset.div_euclid(scale));
        if inside && offset % scale == 0 {
            return Ok((offset / scale) as usize);
        }
        if !checks.bounds {
            return Ok(NO_ROW);
        }
        let (what, most) = if scale == 1 {
            (format!("row {offset}"), format!("row numbers from 0 to {}", count - 1))
        } else {
            (format!("byte {offset}"), format!("byte offsets of rows: {}", byte_offsets(scale, count)))
        };
        let name = named(index, key);
        let place = Place::Region(*dma.table()).describe();
        if !inside {
            let message = format!(
                "the index says {what} at {name}, but the table in {place} has {count} rows{}",
                if scale == 1 { String::new() } else { format!(" of {scale} bytes") }
            );
            let fault = Fault::new(
                FaultKind::OutOfBounds,
                call.operation,
                call.location,
                message,
                format!("use {most}"),
            );
            return Err(blamed(index, key, fault));
        }
        let message = format!(
            "the index says {what} at {name}, which is no multiple of the {scale} bytes of a row of the table in {place}"
        );
        let help = format!("use {most}; calls with `_rows` take row numbers");
        Err(blamed(
            index,
            key,
            Fault::new(FaultKind::Misaligned, call.operation, call.location, message, help),
        ))
    };
    keys.iter().zip(values).map(row).collect()
}

/// Refuses a scatter that writes different rows to the same place. `placed`: the move at the addresses of its bytes.
pub(crate) fn duplicates(
    dma: &IndexedDma,
    placed: &IndexedDma,
    keys: &[RowKey],
    list: &[usize],
    units: &Vec<Unit>,
    call: Call,
) -> Result<(), Fault> {
    if dma.call.gathers() || dma.duplicates != Duplicates::Equal {
        return Ok(());
    }
    let strips = RowStrips::new(placed);
    let mut first: HashMap<(usize, usize), &RowKey> = HashMap::new();
    for (key, &row) in keys.iter().zip(list).filter(|(_, row)| **row != NO_ROW) {
        let Some(earlier) = first.insert((key.chip, row), key) else { continue };
        if strips.are_equal(placed, [earlier, key], units) {
            continue;
        }
        let message = format!(
            "row {row} of the table in {} is written twice, with rows that differ: the index names it at {} and at {}, and \
             engines write side by side",
            Place::Region(*dma.table()).describe(),
            named(&dma.index, earlier),
            named(&dma.index, key),
        );
        let help =
            "name each row once, or say that the last one wins: `dma_scatter_rows(…, Duplicates::LastWins)`";
        return Err(blamed(&dma.index, key, call.fault(FaultKind::OverlappingWrites, message, help)));
    }
    Ok(())
}
