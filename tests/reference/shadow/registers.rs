//! The register file of the contraction: where its tensors lie.
//!
//! ```text
//!   bank row 0      bytes 0 .. 4095: first half      bytes 4096 .. 8191: second half
//!   …
//!   bank row 7
//! ```
//!
//! Row `r` of a tensor of `R` rows has `8 / R` bank rows and fills its part of one after the other.

use super::order::{BARE, Used};
use super::{Element, Memory, Registers, Rule, Shadow};
use std::collections::BTreeSet;

/// Bytes of a bank row.
const BANK_ROW: usize = 8192;

/// A tensor that fits its part, byte by byte.
#[derive(Clone, Debug)]
pub(super) struct File {
    of: Registers,
    /// Row by row, in order, padding included.
    pub(super) bytes: Vec<u64>,
    /// The bytes of live elements.
    pub(super) live: Vec<u64>,
}

impl File {
    /// A use of the whole tensor. It spans all slices, so one tells who owns the bytes of each.
    pub(super) fn used(&self, writes: bool) -> Used {
        let mut spans: Vec<std::ops::Range<u64>> = Vec::new();
        for &byte in &self.bytes {
            match spans.last_mut() {
                Some(last) if last.end == byte => last.end += 1,
                _ => spans.push(byte..byte + 1),
            }
        }
        let (fill, bytes) = (self.of.fill, self.live.iter().copied().collect());
        Used { memory: Memory::Trf, fill, writes, spans, bytes, units: BTreeSet::from([0]) }
    }
}

impl Shadow {
    /// The byte of the register file that holds one of a row.
    pub fn trf_byte(part: usize, rows: usize, row: usize, offset: usize) -> u64 {
        let (first, size) = [(0, BANK_ROW / 2), (BANK_ROW / 2, BANK_ROW / 2), (0, BANK_ROW)][part];
        let bank = row * (8 / rows) + offset / size;
        (bank * BANK_ROW + first + offset % size) as u64
    }

    /// The tensor, if it fits.
    pub(super) fn registers(&self, own: &Registers, broken: &mut BTreeSet<Rule>) -> Option<File> {
        let size = own.kind.bytes();
        let row = own.row_elements * size;
        let capacity = if own.part == 2 { 8 * BANK_ROW } else { 4 * BANK_ROW };
        if ![1, 2, 4, 8].contains(&own.rows) || own.rows * row > capacity {
            broken.insert(Rule::Capacity);
            return None;
        }
        let all = (0..own.rows).flat_map(|r| (0..row).map(move |k| (r, k)));
        let (mut bytes, mut live) = (Vec::new(), Vec::new());
        for (r, offset) in all {
            let byte = Self::trf_byte(own.part, own.rows, r, offset);
            bytes.push(byte);
            if own.is_live(offset / size) {
                live.push(byte);
            }
        }
        Some(File { of: own.clone(), bytes, live })
    }

    /// Whether other tensors were loaded over it, or, for a handle that knows none, elements of another type.
    pub(super) fn registers_stale(&self, file: &File, broken: &mut BTreeSet<Rule>) {
        let foreign = |byte| self.loaded_as.get(byte).is_some_and(|&kind| kind != file.of.kind);
        if (file.of.fill == 0 || file.of.fill >= BARE) && file.live.iter().any(foreign) {
            broken.insert(Rule::Stale);
        }
        self.stale(file.of.fill, Memory::Trf, &file.live, &[0], broken);
    }

    /// An element of a row in a slice, live or not, or what lies behind the tensor in the part of the row.
    pub(super) fn register(&self, file: &File, slice: usize, row: usize, element: usize) -> Element {
        let Registers { part, rows, kind, .. } = file.of;
        let (first, size) = (element * kind.bytes(), kind.bytes());
        let capacity = if part == 2 { 8 * BANK_ROW } else { 4 * BANK_ROW };
        let bytes = (first..first + size).map(|offset| Self::trf_byte(part, rows, row, offset));
        let bytes: Vec<u64> = if first + size <= capacity / rows { bytes.collect() } else { return None };
        self.load(Memory::Trf, slice, &bytes)
    }
}
