//! Moves of a tensor between two placements: loops with a stride on either side.

use super::region::Region;
use super::uses::Place;
use crate::list::List;
use crate::mapping::guard::Guard;
use crate::spec::COMMIT_ALIGN_BYTES;
use crate::text::Text;
use core::fmt;

/// The most loops in a move.
pub const TRANSFER_LOOPS: usize = 24;

/// Distance that one iteration of a loop moves on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Units: see [`super::region::Memory`]. 0 for a loop inside a unit.
    pub units: usize,
    /// Elements inside the unit.
    pub elements: usize,
}

/// One loop of a move. A source step of zero is a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferLoop {
    /// Iterations.
    pub size: usize,
    /// Step on the source side.
    pub source: Step,
    /// Step on the destination side.
    pub destination: Step,
}

/// Start of the loops of a move on one side, counted from the first unit and element of the tensor.
///
/// It is not 0 if padding positions come first: in `m![# 2 + B]` the element `B: 0` is at 2, and a walk over `m![B]` in
/// the form `m![# 2 + B]` starts at -2. Positions before the tensor do not pass the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Units.
    pub units: isize,
    /// Elements inside the unit.
    pub elements: isize,
}

impl Start {
    /// The start at the first element.
    pub const FIRST: Self = Self { units: 0, elements: 0 };

    /// True if the loops start at the first element.
    pub const fn is_first(&self) -> bool {
        self.units == 0 && self.elements == 0
    }

    /// Start of a part of a tensor: elements are counted from its address.
    pub const fn of(region: &Region) -> Self {
        Self { units: region.first_unit() as isize, elements: 0 }
    }

    const fn and(self, other: Self) -> Self {
        Self { units: self.units + other.units, elements: self.elements + other.elements }
    }
}

/// A move of elements: for every index tuple of the loops that passes the guard, one element goes from the source
/// position to the destination position.
///
/// Loops are in destination order, outermost first. The variables of the guard are the loop indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The loops.
    pub loops: List<TransferLoop, TRANSFER_LOOPS>,
    /// Start on the source side.
    pub source_start: Start,
    /// Start on the destination side.
    pub destination_start: Start,
    /// Index tuples that hold an element.
    pub guard: Guard,
}

impl Transfer {
    /// A move of a single element.
    pub const fn new() -> Self {
        const STILL: Step = Step { units: 0, elements: 0 };
        const NO_LOOPS: List<TransferLoop, TRANSFER_LOOPS> =
            List::new(TransferLoop { size: 1, source: STILL, destination: STILL });
        Self {
            loops: NO_LOOPS,
            source_start: Start::FIRST,
            destination_start: Start::FIRST,
            guard: Guard::always(0),
        }
    }

    /// Visits all elements in the order of the loops: the source and the destination of each, without units.
    pub fn for_each_element(&self, mut visit: impl FnMut(isize, isize)) {
        let loops = self.loops.as_slice();
        let total: usize = loops.iter().map(|transfer_loop| transfer_loop.size).product();
        let mut indices = vec![0; loops.len()];
        for _ in 0..total {
            if self.guard.holds(&indices) {
                let place = |start: Start, step: fn(&TransferLoop) -> Step| {
                    let steps = loops
                        .iter()
                        .zip(&indices)
                        .map(|(transfer_loop, index)| step(transfer_loop).elements * index);
                    start.elements.saturating_add_unsigned(steps.sum())
                };
                visit(
                    place(self.source_start, |transfer_loop| transfer_loop.source),
                    place(self.destination_start, |transfer_loop| transfer_loop.destination),
                );
            }
            for (index, transfer_loop) in indices.iter_mut().zip(loops).rev() {
                *index += 1;
                if *index < transfer_loop.size {
                    break;
                }
                *index = 0;
            }
        }
    }

    /// Distance at which writes of 8 bytes would overlap: elements from one run of `run` to the next one at the
    /// destination. `None` if each run has whole cells of 8 bytes, with padding for the rest.
    pub const fn step_inside_cell(&self, run: usize, bits: usize) -> Option<usize> {
        let cell = 8 * COMMIT_ALIGN_BYTES;
        let written = (run * bits).next_multiple_of(cell);
        each!(k < self.loops.len, {
            let TransferLoop { size, source, destination } = self.loops.items[k];
            let inside =
                source.units == 0 && source.elements == destination.elements && source.elements < run;
            let step = destination.elements * bits;
            if size > 1 && destination.units == 0 && !inside && (step < written || !step.is_multiple_of(cell))
            {
                return Some(destination.elements);
            }
        });
        None
    }

    /// The same loops with starts moved on, on both sides.
    pub const fn further(mut self, source: Start, destination: Start) -> Self {
        self.source_start = self.source_start.and(source);
        self.destination_start = self.destination_start.and(destination);
        self
    }
}

impl Default for Transfer {
    fn default() -> Self {
        Self::new()
    }
}

/// A DMA operation between HBM and DM, or inside one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Dma {
    /// The tensor that is read.
    pub source: Region,
    /// The tensor that is written.
    pub destination: Region,
    /// The loops.
    pub transfer: Transfer,
    /// True if the PCIe engine moves it, false for the DMA engines of the chip.
    pub pcie: bool,
}

/// A transfer between the host and HBM over PCIe. The host side is a packed array of elements, unit 0.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTransfer {
    /// The tensor in HBM: destination of an upload, source of a download.
    pub region: Region,
    /// The loops.
    pub transfer: Transfer,
    /// Elements of the host array.
    pub host_elements: usize,
}

/// A look at a tensor from the host, past all engines. The chip has no such operation: it is for tests and debugging.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// The tensor, in any memory.
    pub source: Place,
    /// The loops. The destination is the host array. Units of the source: the chip in HBM, `8 * slice + row` in the TRF, the
    /// slice elsewhere, with slices as in [`super::region::Memory::Dm`].
    pub transfer: Transfer,
    /// Elements of the host array.
    pub host_elements: usize,
}

/// A host array on its way over PCIe: encoded elements (4-bit elements two per byte, low nibble first).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostBuffer {
    /// The encoded elements.
    pub bytes: Vec<u8>,
    /// True for each initialised element. `None`: all of them are.
    pub initialised: Option<Vec<bool>>,
}

impl HostBuffer {
    /// Elements without a value: zeros that nobody wrote.
    pub fn unwritten(bits: usize, elements: usize) -> Self {
        // Untouched zeroed pages take no time.
        Self { bytes: vec![0; (elements * bits).div_ceil(8)], initialised: Some(vec![false; elements]) }
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = |step: &Step| match (step.units, step.elements) {
            (0, 0) => "repeated".to_string(),
            (0, elements) => Text::new().count(elements, "element").to_string(),
            (units, _) => Text::new().count(units, "unit").to_string(),
        };
        writeln!(f, "{:>10}  {:>16}  {:>16}", "iterations", "source step", "destination step")?;
        for TransferLoop { size, source, destination } in &self.loops {
            writeln!(f, "{:>10}  {:>16}  {:>16}", size, step(source), step(destination))?;
        }
        let start = |start: &Start| match (start.units, start.elements) {
            (0, elements) => format!("{elements} elements"),
            (units, 0) => format!("{units} units"),
            (units, elements) => format!("{units} units, {elements} elements"),
        };
        if !self.source_start.is_first() || !self.destination_start.is_first() {
            let (from, to) = (start(&self.source_start), start(&self.destination_start));
            writeln!(f, "{:>10}  {from:>16}  {to:>16}", "from")?;
        }
        write!(
            f,
            "{}",
            if self.guard.is_always() {
                "every iteration moves"
            } else {
                "iterations over padding are skipped"
            }
        )
    }
}
