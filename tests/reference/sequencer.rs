//! The oracle of sequencer derivation: addresses by enumeration, and a search for any list of
//! entries that reads them.

use super::digits::{Digit, unread_digits};
use super::mapping::{Coordinates, Map, joint_table};
use std::collections::BTreeMap;

/// Which position of the buffer holds which tensor index.
pub fn addresses(buf: &Map) -> BTreeMap<Coordinates, usize> {
    let mut addresses = BTreeMap::new();
    for (position, cell) in buf.table().into_iter().enumerate() {
        if let Some(index) = cell {
            addresses.entry(index).or_insert(position);
        }
    }
    addresses
}

/// The address that every position of the stream must read, `None` where the stream is padding.
///
/// # Errors
/// Names the first live position whose element is not in the buffer ("insufficient input").
pub fn wanted(buf: &Map, time: &Map, packet: &Map) -> Result<Vec<Option<usize>>, String> {
    let (addresses, axes) = (addresses(buf), buf.axes());
    let mut wanted = Vec::new();
    for (position, cell) in joint_table(&[time, packet]).into_iter().enumerate() {
        let Some(mut index) = cell else {
            wanted.push(None);
            continue;
        };
        index.retain(|name, _| axes.contains_key(name));
        match addresses.get(&index) {
            Some(address) => wanted.push(Some(*address)),
            None => {
                return Err(format!("position {position} reads {index:?}, which {buf} does not hold"));
            }
        }
    }
    Ok(wanted)
}

/// Digits of the buffer that no stream position reads beyond their first value ("axis dropped").
pub fn dropped_digits(buf: &Map, time: &Map, packet: &Map) -> Vec<Digit> {
    let visited: Vec<Coordinates> = joint_table(&[time, packet]).into_iter().flatten().collect();
    unread_digits(&[buf], &visited)
}

/// The address of every step of the loop nest `entries` of `(size, stride)`, outermost first.
pub fn odometer(entries: &[(usize, isize)]) -> Vec<isize> {
    let mut list = vec![0];
    for (size, stride) in entries {
        list = list.iter().flat_map(|base| (0..*size).map(move |k| base + k as isize * stride)).collect();
    }
    list
}

/// Whether the loop nest reads the right element at every live position of the stream. Padding may read any
/// address from 0 on, also past the end of the buffer.
///
/// # Errors
/// Says which position reads what, and what it should read.
pub fn check_read(buf: &Map, time: &Map, packet: &Map, entries: &[(usize, isize)]) -> Result<(), String> {
    let (wanted, read) = (wanted(buf, time, packet)?, odometer(entries));
    if wanted.len() != read.len() {
        return Err(format!("the stream has {} positions, the entries {}", wanted.len(), read.len()));
    }
    for (position, (wanted, read)) in wanted.into_iter().zip(read).enumerate() {
        match wanted {
            Some(wanted) if wanted as isize != read => {
                return Err(format!("position {position} reads {read} instead of {wanted}"));
            }
            None if read < 0 => return Err(format!("padding at position {position} reads {read}")),
            _ => {}
        }
    }
    Ok(())
}

/// Whether any list of entries reads the stream, however long. Every list of sizes is tried. Meant for streams of a
/// few hundred positions.
///
/// Two rules (guide: sequencers) keep the search to loops over the digits of the buffer:
/// * A packet is a number of whole loops ("packet fetch": the innermost loop is a number of whole packets, and where
///   the Fetch Engine batches fetches, no fetch is a part of two packets).
/// * A loop steps from an element to the next one (the stride is the volume of everything inside the digit). Where
///   its first step leads into padding, all that it walks over is padding.
pub fn exists_configuration(buf: &Map, time: &Map, packet: &Map) -> bool {
    let Ok(wanted) = wanted(buf, time, packet) else {
        return false;
    };
    search([time.size(), packet.size()], &wanted)
}

/// As [`exists_configuration`], for a stream of so many time steps and elements per packet whose positions must read these
/// addresses.
pub fn search([time, packet]: [usize; 2], wanted: &[Option<usize>]) -> bool {
    let (outer, inner) = (products(time), products(packet));
    outer.iter().any(|time| inner.iter().any(|packet| reads(&[&time[..], &packet[..]].concat(), wanted)))
}

/// All lists of numbers above 1 with this product.
fn products(size: usize) -> Vec<Vec<usize>> {
    if size == 1 {
        return vec![vec![]];
    }
    let firsts = (2..=size).filter(|first| size.is_multiple_of(*first));
    let with =
        |first: usize| products(size / first).into_iter().map(move |rest| [vec![first], rest].concat());
    firsts.flat_map(with).collect()
}

/// Whether loops of these sizes, outermost first, read what is wanted. The first step of each tells its stride.
fn reads(sizes: &[usize], wanted: &[Option<usize>]) -> bool {
    let mut inside = wanted.len();
    let mut entries = Vec::new();
    for size in sizes {
        inside /= size;
        entries.push((*size, inside, wanted[inside].map(|address| address as isize)));
    }
    let origin = wanted[0].unwrap_or(0) as isize;
    wanted.iter().enumerate().all(|(position, wanted)| {
        let Some(wanted) = wanted else { return true };
        let mut address = Some(origin);
        for (size, inside, first) in &entries {
            match (position / inside % size, first) {
                (0, _) => {}
                (times, Some(first)) => {
                    address = address.map(|address| address + times as isize * (first - origin));
                }
                (_, None) => address = None,
            }
        }
        address == Some(*wanted as isize)
    })
}
