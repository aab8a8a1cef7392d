//! Transfers between tensors with other mappings: derived once more by the rules, and timed by the clock.
//!
//! ```text
//!   record ──▶ mappings of both sides ──edit──▶ other mappings ──rules──▶ command ──clock──▶ cycles
//!                                                                  └─ refused: no hint
//! ```

use furiosa_visa_clock::command_time::CommandClock;
use furiosa_visa_clock::hazards::Access;
use furiosa_visa_clock::record::{Record, Timing};
use furiosa_visa_rules::command::{FillId, Memory, MemoryKind};
use furiosa_visa_rules::lower::{Tensor, to_view};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::{DM_BYTES, DMA_DM_WRITE_BYTES, HBM_BYTES, HBM_UNIT_BYTES};
use furiosa_visa_rules::tensor::Shape;
use std::collections::HashMap;

/// Greatest difference, in percent, between a transfer that has run and the same one that is derived again. Beyond it,
/// the tensors are tiles whose place the rules do not know here.
const ALIKE_PERCENT: u64 = 2;

/// A tensor of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Memory, element type and mappings.
    pub shape: Shape,
    /// The first byte.
    pub address: u64,
}

impl Place {
    /// Bytes of a unit in which it matters where a tensor starts.
    fn unit(&self) -> u64 {
        match self.shape.memory {
            Memory::Hbm => HBM_UNIT_BYTES as u64,
            _ => DMA_DM_WRITE_BYTES as u64,
        }
    }

    /// The tensor. One that has become longer than the memory behind its first byte starts at an earlier unit.
    fn tensor(&self, fill: u64) -> Option<Tensor> {
        let capacity = if self.shape.memory == Memory::Hbm { HBM_BYTES } else { DM_BYTES as u64 };
        let bytes = self.shape.footprint().ok()?.bytes() as u64;
        let beyond = (self.address + bytes).saturating_sub(capacity).next_multiple_of(self.unit());
        Tensor::new(self.shape, self.address.checked_sub(beyond)?, FillId(fill)).ok()
    }
}

/// The tensor of an access. `None`: its mappings are not known, or it is in a register file.
pub(super) fn place(access: &Access) -> Option<Place> {
    let [chip, cluster, slice, element] = access.tensor.mappings.known()[..] else { return None };
    let element_type = access.tensor.element;
    let shape = match access.memory {
        MemoryKind::Hbm => Shape::hbm(element_type, chip, element),
        MemoryKind::Dm => Shape::dm(element_type, chip, cluster, slice, element),
        _ => return None,
    };
    Some(Place { shape, address: access.bytes.start })
}

/// A transfer between HBM and DM, or within one of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    /// Source and destination.
    pub ends: [Place; 2],
}

impl Moved {
    /// The transfer of a record. `None`: it is no move of one tensor to another one, or its mappings are not known.
    pub fn of(record: &Record) -> Option<Self> {
        let (Timing::Dma(_), "to_dm" | "to_hbm") = (&record.timing, record.operation) else { return None };
        let [source, destination] = &record.accesses[..] else { return None };
        Some(Self { ends: [place(source)?, place(destination)?] })
    }

    /// The end in HBM, if there is one: 0 is the source.
    pub fn hbm(&self) -> Option<usize> {
        (0..2).find(|end| self.ends[*end].shape.memory == Memory::Hbm)
    }

    /// The transfer with another mapping of the elements of an end.
    pub fn with_element(mut self, end: usize, element: &'static Expr) -> Self {
        self.ends[end].shape.element = element;
        self
    }
}

/// Mappings of both ends by their places in the program, the first bytes in their units, their types and their memories.
type Key = ([*const Expr; 8], [u64; 2], [(ElementType, Memory); 2]);

/// Cycles of transfers. Of transfers that differ in their addresses alone, the first one with the same place in a unit
/// stands for all.
pub(super) struct Moves {
    clock: CommandClock,
    known: HashMap<Key, Option<u64>>,
}

impl Moves {
    /// Times by a clock.
    pub fn new(clock: CommandClock) -> Self {
        Self { clock, known: HashMap::new() }
    }

    /// The clock.
    pub fn clock(&mut self) -> &mut CommandClock {
        &mut self.clock
    }

    /// Cycles of a transfer when nothing else runs. `None`: a rule refuses it.
    pub fn cycles(&mut self, moved: &Moved) -> Option<u64> {
        let mappings = |place: &Place| {
            let Shape { chip, cluster, slice, element, .. } = place.shape;
            [chip, cluster, slice, element].map(core::ptr::from_ref)
        };
        let [[a, b, c, d], [e, f, g, h]] = moved.ends.each_ref().map(mappings);
        let unit = |place: &Place| place.address % place.unit();
        let kinds = moved.ends.each_ref().map(|end| (end.shape.element_type, end.shape.memory));
        let key = ([a, b, c, d, e, f, g, h], moved.ends.each_ref().map(unit), kinds);
        let clock = &mut self.clock;
        *self.known.entry(key).or_insert_with(|| {
            let [source, destination] =
                [(&moved.ends[0], 1), (&moved.ends[1], 2)].map(|(end, fill)| end.tensor(fill));
            let operation = to_view(&source?, &destination?).ok()?;
            match clock.time(&operation).timing {
                Timing::Dma(timing) if timing.time.is_some() => Some(timing.cycles),
                _ => None,
            }
        })
    }

    /// Cycles of the transfer of a record between other tensors. `None`: a rule refuses it, or the transfer as it is
    /// would take another time than it took.
    pub fn edited(&mut self, record: &Record, moved: &Moved, edited: &Moved) -> Option<u64> {
        corrected(record, self.cycles(moved)?, self.cycles(edited)?)
    }
}

/// Cycles of the operation of a record in another form, given those of both forms when nothing else runs. `None`: the
/// operation as it is would take another time than it took.
pub(super) fn corrected(record: &Record, as_it_is: u64, other: u64) -> Option<u64> {
    let took = record.timing.cycles();
    let is_known = took.abs_diff(as_it_is) * 100 <= took * ALIKE_PERCENT;
    is_known.then_some((took + other).saturating_sub(as_it_is))
}
