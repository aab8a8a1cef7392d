//! The register file of the contraction: where its tensors lie.

use super::{Memory, Registers, Rule, Shadow, Tensor};
use std::collections::BTreeSet;

impl Shadow {
    /// The bytes of a register file tensor: row by row. The second half of a bank row follows the first one.
    pub fn trf_byte(part: usize, row: usize, offset: usize) -> u64 {
        (row * 8192 + if part == 1 { 4096 } else { 0 } + offset) as u64
    }

    /// The tensor, without its memory's rules, and its bytes in order.
    pub(super) fn registers(
        &self,
        own: &Registers,
        broken: &mut BTreeSet<Rule>,
    ) -> Option<(Tensor, Vec<u64>)> {
        let size = own.kind.bytes();
        let row = own.row_elements * size;
        let capacity = if own.part == 2 { 65536 } else { 32768 };
        if ![1, 2, 4, 8].contains(&own.rows) || own.rows * row > capacity {
            broken.insert(Rule::Capacity);
            return None;
        }
        assert_eq!(own.rows, 8, "each row has a bank of its own");
        let tensor = Tensor {
            memory: Memory::Trf,
            address: 0,
            fill: own.fill,
            kind: own.kind,
            // It spans all slices, so one tells who owns the bytes of each.
            clusters: 1,
            slices: 1,
            elements: own.rows * own.row_elements,
            period: 1,
            live: 1,
        };
        let bytes = (0..own.rows).flat_map(|r| (0..row).map(move |k| Self::trf_byte(own.part, r, k)));
        Some((tensor, bytes.collect()))
    }
}
