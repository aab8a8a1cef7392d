//! Shuffles and copies of parts, position by position.
//!
//! ```text
//! shuffle    out[k, rest] = t[pattern[k], rest]                for every position (k, rest) that holds an element
//! parts      out[c] is the move of t[c, …], where the axis is index[c], to the destination
//! ```
//!
//! Values are listed row-major over the dimensions, `None` for padding and for uninitialised elements.

use super::engines::dma;
use super::mapping::{Coordinates, Map, joint_table};
use super::union::Union;
use std::collections::BTreeMap;

/// The tuples of positions of dimensions, row-major.
fn tuples(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &size in sizes {
        all = all.into_iter().flat_map(|head| (0..size).map(move |k| [&head[..], &[k]].concat())).collect();
    }
    all
}

fn number(sizes: &[usize], tuple: &[usize]) -> usize {
    sizes.iter().zip(tuple).fold(0, |sum, (size, k)| sum * size + k)
}

fn sizes(dims: &[&Map]) -> Vec<usize> {
    dims.iter().map(|dim| dim.size()).collect()
}

/// The result of a shuffle of one dimension.
///
/// # Errors
/// The pattern has another length, or a position that holds an element would take from one that is not there.
pub fn shuffle<V: Clone>(
    dims: &[&Map],
    level: usize,
    values: &[Option<V>],
    pattern: &[usize],
) -> Result<Vec<Option<V>>, String> {
    let (sizes, live) = (sizes(dims), joint_table(dims));
    if pattern.len() != sizes[level] || pattern.iter().any(|&from| from >= sizes[level]) {
        return Err(format!("the pattern {pattern:?} for {} units", sizes[level]));
    }
    let mut out = Vec::new();
    for (k, tuple) in tuples(&sizes).into_iter().enumerate() {
        let mut from = tuple.clone();
        from[level] = pattern[tuple[level]];
        let from = number(&sizes, &from);
        match (&live[k], &live[from]) {
            (None, _) => out.push(None),
            (Some(_), Some(_)) => out.push(values[from].clone()),
            (Some(at), None) => return Err(format!("{at:?} takes from padding")),
        }
    }
    Ok(out)
}

/// Whether every position of a dimension that holds elements holds them at the same places of the others.
pub fn is_alike(dims: &[&Map], level: usize) -> bool {
    let (sizes, live) = (sizes(dims), joint_table(dims));
    let mut places = vec![Vec::new(); sizes[level]];
    for (k, mut tuple) in tuples(&sizes).into_iter().enumerate() {
        let unit = tuple[level];
        tuple[level] = 0;
        if live[k].is_some() {
            places[unit].push(tuple);
        }
    }
    let full: Vec<_> = places.iter().filter(|own| !own.is_empty()).collect();
    full.windows(2).all(|pair| pair[0] == pair[1])
}

/// A copy of parts: what it is given.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    /// The dimensions of the tensor, the innermost one last.
    pub dims: &'a [&'a Map],
    /// The dimension that has the indices.
    pub level: usize,
    /// The part of the innermost dimension of which each unit keeps a position.
    pub axis: &'a Map,
    /// What is left of the innermost dimension.
    pub sliced: &'a Map,
    /// The innermost dimension of the result.
    pub destination: &'a Map,
}

impl Parts<'_> {
    /// The result, over the dimensions of the tensor but for the last one. An element is found by its coordinates.
    ///
    /// # Errors
    /// An index is no part, or a position that holds an element would get none.
    pub fn copy<V: Clone>(&self, values: &[Option<V>], index: &[usize]) -> Result<Vec<Option<V>>, String> {
        let Parts { dims, level, axis, sliced, destination } = *self;
        let (sizes, live) = (sizes(dims), joint_table(dims));
        let last = dims.len() - 1;
        let parts = axis.size();
        if index.len() != sizes[level] || index.iter().any(|&part| part >= parts) {
            return Err(format!("the index {index:?} for {} units of {parts} parts", sizes[level]));
        }
        let others: Vec<&Map> = (0..last).filter(|&k| k != level).map(|k| dims[k]).collect();
        let before = [&others[..], &[sliced]].concat();
        let after = [&others[..], &[destination]].concat();
        let mut by_unit = Vec::new();
        for (unit, &part) in index.iter().enumerate() {
            // Where the elements of the unit are, by all of their coordinates.
            let own = tuples(&sizes).into_iter().zip(&live).enumerate();
            let own = own.filter(|(_, (tuple, _))| tuple[level] == unit);
            let places: BTreeMap<&Coordinates, usize> =
                own.filter_map(|(k, (_, cell))| Some((cell.as_ref()?, k))).collect();
            if places.is_empty() {
                // A unit without any element keeps nothing, whatever its index.
                by_unit.push(vec![None; self::sizes(&after).iter().product()]);
                continue;
            }
            if axis.table()[part].is_none() {
                return Err(format!("unit {unit}: part {part} is padding"));
            }
            let mut own = Vec::new();
            let mut here = Union::new(&[&before[..], &[dims[level], axis]].concat());
            for tuple in tuples(&self::sizes(&before)) {
                match here.at(&[&tuple[..], &[unit, part]].concat()) {
                    None => own.push(None),
                    Some(cell) => match places.get(&cell) {
                        Some(&from) => own.push(values[from].clone()),
                        None => return Err(format!("unit {unit}, part {part}: nothing at {cell:?}")),
                    },
                }
            }
            by_unit.push(dma(&before, &own, &after)?);
        }
        let mut out_sizes = sizes.clone();
        out_sizes[last] = destination.size();
        let inside: Vec<usize> = self::sizes(&after);
        let value = |tuple: Vec<usize>| {
            let mut rest = tuple.clone();
            let unit = rest.remove(level);
            by_unit[unit][number(&inside, &rest)].clone()
        };
        Ok(tuples(&out_sizes).into_iter().map(value).collect())
    }
}
