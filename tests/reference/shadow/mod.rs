//! The memories of the chip byte by byte, and which operations break a rule: every rule is asked of every byte.
//!
//! Written from the documentation of the checks, of mappings and of transfers. Tensors lie at the first
//! chip, clusters and slices; of every few elements, the leading ones are live.

mod exchange;
mod memory;
mod operations;
pub mod order;
mod pass;
mod registers;
mod rows;
mod sinks;
mod sums;

pub use exchange::Exchange;
pub use operations::*;
pub use rows::Indexed;

use memory::Cell;
use order::{BARE, Done, FOREIGN, used};
use std::collections::{BTreeMap, BTreeSet};

/// The memories.
#[derive(Debug, Default)]
pub struct Shadow {
    cells: BTreeMap<(Memory, usize, u64), Cell>,
    first: BTreeMap<u64, usize>,
    /// The newest tensor that was written.
    newest: u64,
    writes: usize,
    /// The type as which a byte of the register file was loaded last.
    loaded_as: BTreeMap<u64, Kind>,
    done: Vec<Done>,
}

/// What came back: elements, for the operations that read; or the rules that are broken.
pub type Outcome = Result<Vec<Element>, BTreeSet<Rule>>;

impl Shadow {
    /// Does an operation, or says which rules it breaks.
    pub fn give(&mut self, operation: &Operation) -> Outcome {
        let mut broken = BTreeSet::new();
        let handles = operation.handles();
        if handles.iter().any(|(_, fill)| (FOREIGN..BARE).contains(fill)) {
            broken.insert(Rule::Foreign);
            // An address that no memory of any system has is refused before anybody asks whose tensor it is.
            if handles.iter().any(|(address, _)| *address >= 1 << 44) {
                broken.insert(Rule::Bounds);
            }
            return Err(broken);
        }
        match operation {
            Operation::Upload { to, moved, array } => {
                self.host(to, &mut broken);
                self.writes_well(to, moved, &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                self.done.clear();
                self.begin(to);
                for (from, spot) in moved.pairs() {
                    self.put(to, spot, array[from.1].as_deref());
                }
                self.note(to);
                Ok(Vec::new())
            }
            Operation::Download { from, moved, elements } => {
                self.host(from, &mut broken);
                self.reads_well(from, &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                self.done.clear();
                Ok(self.array(from, moved, *elements))
            }
            Operation::Dma { from, to, moved, pcie } => {
                for tensor in [from, to] {
                    if !matches!(tensor.memory, Memory::Hbm | Memory::Dm) {
                        broken.insert(Rule::Unsupported);
                    }
                    if *pcie && tensor.memory == Memory::Dm {
                        broken.insert(Rule::Unsupported);
                    }
                    if tensor.leaves_memory() {
                        broken.insert(Rule::Bounds);
                    }
                    let eight = (from.memory, to.memory) == (Memory::Hbm, Memory::Dm);
                    let unit = if eight { 8 } else { tensor.kind.bytes() as u64 };
                    if !tensor.address.is_multiple_of(unit)
                        || !tensor.address.is_multiple_of(tensor.kind.bytes() as u64)
                    {
                        broken.insert(Rule::Misaligned);
                    }
                }
                self.reads_well(from, &mut broken);
                self.writes_well(to, moved, &mut broken);
                if moves_over_itself(from, to, &moved.pairs()) {
                    broken.insert(Rule::Overwrite);
                }
                if !broken.is_empty() {
                    return Err(broken);
                }
                let uses = vec![used(from, false), used(to, true)];
                self.in_order(if *pcie { 3 } else { 2 }, uses)?;
                let values: Vec<_> = moved
                    .pairs()
                    .into_iter()
                    .map(|(a, b)| (b, self.element(from, a.0, a.1 as isize)))
                    .collect();
                self.begin(to);
                for (spot, value) in values {
                    self.put(to, spot, value.as_deref());
                }
                self.note(to);
                Ok(Vec::new())
            }
            Operation::Copy { call, from, to, moves } => {
                let parallel = *call != Copied::Shuffle;
                let pairs = all_pairs(moves);
                for tensor in [from, to] {
                    if tensor.memory != Memory::Dm {
                        broken.insert(Rule::Unsupported);
                    }
                    if tensor.leaves_memory() {
                        broken.insert(Rule::Bounds);
                    }
                    if !tensor.address.is_multiple_of(tensor.kind.bytes() as u64) {
                        broken.insert(Rule::Misaligned);
                    }
                }
                if parallel && !to.address.is_multiple_of(8) {
                    broken.insert(Rule::Misaligned);
                }
                // The sub context of a slice reaches the slices of its cluster.
                if parallel && pairs.iter().any(|(a, b)| a.0 / UNITS[2] != b.0 / UNITS[2]) {
                    broken.insert(Rule::Unsupported);
                }
                self.reads_well(from, &mut broken);
                self.spots_well(to, pairs.iter().map(|(_, spot)| *spot), &mut broken);
                if moves_over_itself(from, to, &pairs) {
                    broken.insert(Rule::Overwrite);
                }
                if !broken.is_empty() {
                    return Err(broken);
                }
                // The sub context writes 8 bytes at a time.
                let cells = |to: &Tensor| if parallel { to.in_cells(8) } else { to.live_bytes() };
                let mut written = used(to, true);
                written.bytes = cells(to).into_iter().collect();
                if parallel {
                    // Also the padding that shares 8 bytes with an element.
                    let end = to.address.saturating_add((to.span() as u64).next_multiple_of(8));
                    written.spans = std::iter::once(to.address..end).collect();
                }
                self.in_order(if parallel { 1 } else { 2 }, vec![used(from, false), written])?;
                let values: Vec<_> =
                    pairs.into_iter().map(|(a, b)| (b, self.element(from, a.0, a.1 as isize))).collect();
                self.begin(to);
                for (spot, value) in values {
                    self.put(to, spot, value.as_deref());
                }
                self.note_bytes(to.fill, to.memory, &cells(to), &to.units());
                Ok(Vec::new())
            }
            Operation::Set { to, value, moved } => {
                if to.memory != Memory::Dm {
                    broken.insert(Rule::Unsupported);
                }
                if to.leaves_memory() {
                    broken.insert(Rule::Bounds);
                }
                if !to.address.is_multiple_of(to.kind.bytes() as u64) {
                    broken.insert(Rule::Misaligned);
                }
                self.writes_well(to, moved, &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                self.in_order(1, vec![used(to, true)])?;
                self.begin(to);
                for (_, spot) in moved.pairs() {
                    self.put(to, spot, Some(value));
                }
                self.note(to);
                Ok(Vec::new())
            }
            Operation::Indexed(own) => self.rows(own),
            Operation::Pass(pass) => self.pass(pass),
            Operation::InspectTrf { from, moved, elements } => {
                let Some(file) = self.registers(from, &mut broken) else { return Err(broken) };
                self.registers_stale(&file, &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                let mut array = vec![None; *elements];
                for ((unit, element), (_, at)) in moved.pairs() {
                    let (slice, row) = (unit / 8, unit % 8);
                    let inside = row < from.rows && element < from.row_elements;
                    array[at] = inside.then(|| self.register(&file, slice, row, element)).flatten();
                }
                Ok(array)
            }
            Operation::Inspect { from, moved, elements } => {
                if from.leaves_memory() {
                    broken.insert(Rule::Bounds);
                }
                self.reads_well(from, &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                Ok(self.array(from, moved, *elements))
            }
            Operation::Launch => {
                self.done.clear();
                Ok(Vec::new())
            }
        }
    }

    fn host(&self, tensor: &Tensor, broken: &mut BTreeSet<Rule>) {
        if tensor.memory != Memory::Hbm {
            broken.insert(Rule::Unsupported);
        }
        if tensor.leaves_memory() {
            broken.insert(Rule::Bounds);
        }
        if !tensor.address.is_multiple_of(tensor.kind.bytes() as u64) {
            broken.insert(Rule::Misaligned);
        }
    }
}

/// Whether a byte that a move reads gets another byte from it.
fn moves_over_itself(from: &Tensor, to: &Tensor, pairs: &[(Spot, Spot)]) -> bool {
    let bytes = moved_bytes(from, to, pairs);
    // Behind the end of a memory is nothing.
    let there = |(_, byte): &(usize, u128)| *byte < from.capacity();
    let read: BTreeSet<_> = bytes.iter().map(|(a, _)| *a).filter(there).collect();
    from.memory == to.memory && bytes.iter().any(|(a, b)| a != b && read.contains(b))
}

/// Whether an operation moves a byte to where it is.
pub fn moves_a_byte_to_itself(operation: &Operation) -> bool {
    let Operation::Dma { from, to, moved, .. } = operation else { return false };
    from.memory == to.memory && moved_bytes(from, to, &moved.pairs()).iter().any(|(a, b)| a == b)
}

/// The unit and the address of each byte of a move, on either side.
fn moved_bytes(from: &Tensor, to: &Tensor, pairs: &[(Spot, Spot)]) -> Vec<((usize, u128), (usize, u128))> {
    let size = from.kind.bytes();
    let place = |tensor: &Tensor, (unit, element): Spot, k: usize| {
        (unit, u128::from(tensor.address) + (element * size + k) as u128)
    };
    (pairs.iter()).flat_map(|&(a, b)| (0..size).map(move |k| (place(from, a, k), place(to, b, k)))).collect()
}
