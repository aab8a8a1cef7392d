//! Products of a stream with registers and their sums, one cell at a time.
//!
//! The order of additions is: a tree over neighbouring products, in which padding counts as +0; then the arrivals of a
//! result one after the other.

use super::operations::FLIT;
use super::pass::position;
use super::{Element, Kind, Sums};
use std::collections::BTreeSet;

/// A position of the stream or of the registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// Whether it holds an element, or else is padding.
    pub(super) live: bool,
    /// What is there, if somebody wrote it.
    pub(super) value: Option<Number>,
}

/// What a slice multiplies.
#[derive(Clone, Debug)]
pub(super) struct Operands {
    /// By flit and lane.
    pub(super) stream: Vec<Cell>,
    /// By row and element, as far as steps reach.
    pub(super) weights: Vec<Vec<Cell>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Integer(i32),
    Float(f32),
}

impl Number {
    pub(super) fn of(kind: Kind, bytes: &[u8]) -> Number {
        match (kind, bytes) {
            (Kind::I8, [a]) => Number::Integer(i32::from(*a as i8)),
            (Kind::Bf16, [a, b]) => Number::Float(f32::from_le_bytes([0, 0, *a, *b])),
            (Kind::F32, [a, b, c, d]) => Number::Float(f32::from_le_bytes([*a, *b, *c, *d])),
            _ => panic!("no products of {kind:?}"),
        }
    }

    pub(super) fn zero(kind: Kind) -> Number {
        if kind == Kind::I8 { Number::Integer(0) } else { Number::Float(0.0) }
    }

    fn is_zero(self) -> bool {
        match self {
            Number::Integer(a) => a == 0,
            Number::Float(a) => a == 0.0,
        }
    }

    fn times(self, other: Number) -> Number {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => Number::Integer(a * b),
            (Number::Float(a), Number::Float(b)) => Number::Float(a * b),
            _ => panic!("numbers of two kinds"),
        }
    }

    fn plus(self, other: Number) -> Number {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => Number::Integer(a.wrapping_add(b)),
            (Number::Float(a), Number::Float(b)) => Number::Float(a + b),
            _ => panic!("numbers of two kinds"),
        }
    }

    /// All NaN are one.
    fn bytes(self) -> Vec<u8> {
        match self {
            Number::Integer(a) => a.to_le_bytes().to_vec(),
            Number::Float(a) if a.is_nan() => 0x7fc0_0000_u32.to_le_bytes().to_vec(),
            Number::Float(a) => a.to_le_bytes().to_vec(),
        }
    }
}

impl Sums {
    /// Whether there is arithmetic for a stream.
    pub(super) fn takes(&self, stream: Kind) -> bool {
        self.weights.kind == stream && matches!(stream, Kind::I8 | Kind::Bf16 | Kind::F32)
    }

    /// Time steps that leave.
    pub fn time(&self) -> usize {
        self.slot_count * self.beats()
    }

    /// Time steps of a slot.
    fn beats(&self) -> usize {
        if self.sequential { self.weights.rows * self.columns.div_ceil(8) } else { self.columns }
    }

    /// The row and the column of a lane.
    fn place(&self, beat: usize, lane: usize) -> (usize, usize) {
        if self.sequential {
            let groups = self.columns.div_ceil(8);
            (beat / groups, beat % groups * 8 + lane)
        } else {
            (lane, beat)
        }
    }

    fn slot(&self, step: usize) -> usize {
        position(0, &self.slots, step) as usize
    }

    /// The last flit of the stream that a time step of the result needs.
    pub(super) fn last_flit(&self, time: usize) -> usize {
        let slot = time / self.beats();
        let steps = (0..self.steps).filter(|&step| self.slot(step) == slot);
        steps.map(|step| (step / self.tile + 1) * self.flits - 1).max().unwrap_or(0)
    }

    /// The element of a row that meets a cell.
    fn element(&self, kind: Kind, step: usize, cell: usize) -> usize {
        let byte = position(self.first_read as isize, &self.reads, step) as usize;
        byte / kind.bytes() + cell % self.read
    }

    /// How many elements of a row steps reach.
    pub(super) fn reach(&self, kind: Kind) -> usize {
        let ends = (0..self.steps).map(|step| self.element(kind, step, 0) + self.read);
        ends.max().unwrap_or(0)
    }

    /// Cells of a packet.
    fn cells(&self, kind: Kind) -> usize {
        self.flits * FLIT / kind.bytes()
    }

    /// What meets in a cell of a row.
    fn pair(&self, kind: Kind, operands: &Operands, (step, row, cell): (usize, usize, usize)) -> [Cell; 2] {
        let position = step / self.tile * self.cells(kind) + cell;
        [operands.stream[position], operands.weights[row][self.element(kind, step, cell)]]
    }

    /// Whether padding is summed together with elements, and its product is not zero. Zero times what nobody wrote is zero.
    pub(super) fn sums_padding(&self, kind: Kind, operands: &Operands) -> bool {
        // The sums that hold an element, and those that hold such padding.
        let (mut live, mut harmed) = (BTreeSet::new(), BTreeSet::new());
        for (step, row) in (0..self.steps).flat_map(|step| (0..self.weights.rows).map(move |row| (step, row)))
        {
            for cell in (0..self.cells(kind)).filter(|cell| cell >> self.depth < self.columns) {
                let sum = (self.slot(step), row, cell >> self.depth);
                let [x, w] = self.pair(kind, operands, (step, row, cell));
                if x.live && w.live && self.computed_steps().contains(&step) {
                    live.insert(sum);
                    continue;
                }
                let is_zero = match (x.value, w.value) {
                    (Some(x), Some(w)) => (x.is_zero() || w.is_zero()) && x.times(w).is_zero(),
                    (Some(known), None) | (None, Some(known)) => known.is_zero(),
                    (None, None) => false,
                };
                if !is_zero {
                    harmed.insert(sum);
                }
            }
        }
        !live.is_disjoint(&harmed)
    }

    fn computed_steps(&self) -> std::ops::Range<usize> {
        0..self.steps.min(self.computed)
    }

    /// Whether an operand was never written.
    pub(super) fn lack(&self, kind: Kind, operands: &Operands) -> bool {
        let missing = |cell: &Cell| cell.live && cell.value.is_none();
        let cells = |step| (0..self.cells(kind)).map(move |cell| (step, cell));
        operands.stream.iter().any(missing)
            || self.computed_steps().flat_map(cells).any(|(step, cell)| {
                let pair = |row| self.pair(kind, operands, (step, row, cell));
                (0..self.weights.rows).map(pair).any(|[x, w]| x.live && missing(&w))
            })
    }

    /// The results by time step and lane. No operand lacks, and padding adds nothing.
    pub(super) fn run(&self, kind: Kind, operands: &Operands) -> impl Fn(usize, usize) -> Element + use<> {
        let (zero, nothing) = match kind {
            Kind::I8 => (Number::Integer(0), Number::Integer(0)),
            _ => (Number::Float(0.0), Number::Float(-0.0)),
        };
        let (rows, columns, cells) = (self.weights.rows, self.columns, self.cells(kind));
        let mut results: Vec<Option<Number>> = vec![None; self.slot_count * rows * columns];
        for step in self.computed_steps() {
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                let product = |cell: usize| {
                    let [x, w] = (cell < cells).then(|| self.pair(kind, operands, (step, row, cell)))?;
                    if x.live && w.live { Some(x.value?.times(w.value?)) } else { None }
                };
                let group = (column << self.depth)..((column + 1) << self.depth);
                let products: Vec<Option<Number>> = group.map(product).collect();
                if products.iter().all(Option::is_none) {
                    continue;
                }
                let mut tree: Vec<Number> =
                    products.into_iter().map(|product| product.unwrap_or(zero)).collect();
                while tree.len() > 1 {
                    tree = tree.chunks(2).map(|pair| pair[0].plus(pair[1])).collect();
                }
                let result = &mut results[(self.slot(step) * rows + row) * columns + column];
                *result = Some(result.map_or(tree[0], |before| before.plus(tree[0])));
            }
        }
        let own = self.clone();
        move |time, lane| {
            let (row, column) = own.place(time % own.beats(), lane);
            assert!(row < rows && column < columns, "live lanes are results");
            let result = results[(time / own.beats() * rows + row) * columns + column];
            // What adds nothing.
            Some(result.unwrap_or(nothing).bytes())
        }
    }
}
