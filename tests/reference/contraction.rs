//! Align, contract and accumulate, cell by cell and in the documented order of additions.
//!
//! The order is: products in the widened type; a tree over adjacent pairs of the packet, in which a padded cell
//! is a product of +0.0; then, per result, the first arrival is stored and each later one is added in stream
//! order. An arrival whose cells are all padding does not arrive.

use super::digits::{Projection, content, repad, strip};
use super::engines::with;
use super::mapping::{Coordinates, Map, joint_table};
use super::numbers::{ElementType, Number};
use std::collections::BTreeMap;

/// What a position of the computation holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<T> {
    /// No tensor element belongs here.
    Padding,
    /// An element whose value, or one of whose operands, was never written.
    Uninit,
    /// A value.
    Value(T),
}

impl<T> Cell<T> {
    /// The value, if there is one.
    pub fn value(self) -> Option<T> {
        match self {
            Cell::Value(value) => Some(value),
            _ => None,
        }
    }
}

/// How results leave the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One column of eight rows per beat.
    Interleaved,
    /// Eight columns of one row per beat.
    Sequential,
}

/// The mappings of one contraction.
#[derive(Clone, Debug)]
pub struct Contraction {
    /// Type of the operands.
    pub element: ElementType,
    /// Chip, cluster and slice, or as many of them as matter.
    pub prefix: Vec<Map>,
    /// Collected stream: time.
    pub stream_time: Map,
    /// Collected stream: packet of one flit.
    pub stream_packet: Map,
    /// Rows of the register file.
    pub row: Map,
    /// Elements per row.
    pub trf_element: Map,
    /// `align`: time of the computation.
    pub out_time: Map,
    /// `align`: packet of the computation, 64 bytes.
    pub out_packet: Map,
    /// `contract`: packet after the tree.
    pub tree_packet: Map,
    /// The part of `out_time` that survives accumulation.
    pub kept_time: Map,
    /// How the results leave.
    pub kind: Kind,
}

/// The smallest depth of the tree that turns `packet` into `tree_packet`.
///
/// # Errors
/// When there is none, or the size of `tree_packet` is not a power of two of at most 32.
pub fn tree_depth(packet: &Map, tree_packet: &Map) -> Result<usize, String> {
    if tree_packet.size() > 32 || !tree_packet.size().is_power_of_two() {
        return Err(format!("contract: {tree_packet} has {} columns", tree_packet.size()));
    }
    let wanted = strip(tree_packet);
    (0..)
        .take_while(|depth| packet.size().is_multiple_of(1 << depth))
        .find(|depth| strip(&packet.stride(1 << depth)).equivalent(&wanted))
        .ok_or_else(|| format!("contract: {tree_packet} is no outer part of {packet}"))
}

/// Time and packet of the accumulated stream.
pub fn accumulated(row: &Map, tree_packet: &Map, kept_time: &Map, kind: Kind) -> (Map, Map) {
    let columns = strip(tree_packet);
    match kind {
        Kind::Interleaved => (Map::sequence(&[kept_time.clone(), columns]), repad(row, 8)),
        Kind::Sequential => {
            let whole = columns.pad(columns.size().next_multiple_of(8));
            (Map::sequence(&[kept_time.clone(), row.clone(), whole.stride(8)]), whole.modulo(8))
        }
    }
}

/// Whether the accumulator holds all results that are open at once: `inner` is the product of the surviving
/// factors of time inside the outermost deleted one, 1 when nothing is deleted.
pub fn buffer_fits(inner: usize, row: &Map, tree_packet: &Map, kind: Kind) -> bool {
    let columns = content(tree_packet);
    match kind {
        Kind::Interleaved => inner * columns <= 128,
        Kind::Sequential => inner * row.size() * columns.div_ceil(8) <= 32,
    }
}

fn multiply(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => Number::Integer(a.wrapping_mul(b)),
        (Number::Real(a), Number::Real(b)) => Number::Real(a * b),
        _ => panic!("a product of {a:?} and {b:?}"),
    }
}

fn add(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => Number::Integer(a.wrapping_add(b)),
        (Number::Real(a), Number::Real(b)) => Number::Real(a + b),
        _ => panic!("a sum of {a:?} and {b:?}"),
    }
}

/// What a group of cells of the tree amounts to.
#[derive(Clone, Copy)]
struct Partial {
    live: bool,
    initialized: bool,
    sum: Number,
}

impl Contraction {
    fn prefix(&self) -> Vec<&Map> {
        self.prefix.iter().collect()
    }

    /// The tensor index of every cell of the computation, row-major over prefix, row, time and packet.
    fn computation(&self, packet: &Map) -> Vec<Option<Coordinates>> {
        joint_table(&with(&self.prefix(), &[&self.row, &self.out_time, packet]))
    }

    /// The operand of every cell of the computation. Each unit of the prefix sees its own operand only.
    fn operand(&self, dims: [&Map; 2], values: &[Option<Number>]) -> Result<Vec<Cell<Number>>, String> {
        let all = with(&self.prefix(), &dims);
        let (projection, held) = (Projection::onto(&all)?, joint_table(&all));
        if held.len() != values.len() {
            return Err(format!("align: {} values for {} positions", values.len(), held.len()));
        }
        let cells = self.computation(&self.out_packet);
        let own = dims[0].size() * dims[1].size();
        let computed = self.row.size() * self.out_time.size() * self.out_packet.size();
        let mut result = Vec::new();
        for ((held, values), cells) in held.chunks(own).zip(values.chunks(own)).zip(cells.chunks(computed)) {
            let unit: BTreeMap<&Coordinates, Option<Number>> = held
                .iter()
                .zip(values)
                .filter_map(|(index, value)| Some((index.as_ref()?, *value)))
                .collect();
            for cell in cells {
                result.push(match cell.as_ref().map(|index| unit.get(&projection.apply(index))) {
                    None => Cell::Padding,
                    Some(Some(Some(value))) => Cell::Value(*value),
                    Some(Some(None)) => Cell::Uninit,
                    Some(None) => return Err(format!("align: {} {} lack {cell:?}", dims[0], dims[1])),
                });
            }
        }
        Ok(result)
    }

    /// The rules of the data side (guide: contraction): number of rows, 64 bytes, the flit innermost, and time
    /// equal to the outer time of the computation followed by the collected factor.
    ///
    /// # Errors
    /// Names the rule that is broken.
    pub fn check_align(&self) -> Result<(), String> {
        let per_flit = self.element.per_flit();
        if ![1, 2, 4, 8].contains(&self.row.size()) {
            return Err(format!("align: {} rows", self.row.size()));
        }
        if self.out_packet.size() != 2 * per_flit {
            return Err(format!("align: {} is not 64 bytes", self.out_packet));
        }
        let (high, low) = (self.out_packet.stride(per_flit), self.out_packet.modulo(per_flit));
        if !low.equivalent(&self.stream_packet) {
            return Err(format!("align: {low} is not the collected packet {}", self.stream_packet));
        }
        let collected = strip(&high);
        let full = collected.size() * self.out_time.size();
        let tile = full / self.stream_time.size().min(full);
        let outer = Map::sequence(&[self.out_time.stride(tile), collected]);
        if !full.is_multiple_of(self.stream_time.size()) || !outer.equivalent(&self.stream_time) {
            return Err(format!("align: {outer} without the tile is not the time {}", self.stream_time));
        }
        Ok(())
    }

    /// Both operands of every cell, row-major over prefix, row, time and packet.
    ///
    /// # Errors
    /// When a cell wants an element that an operand does not hold.
    pub fn align(
        &self,
        stream: &[Option<Number>],
        weights: &[Option<Number>],
    ) -> Result<Vec<[Cell<Number>; 2]>, String> {
        if self.out_packet.size() * self.element.bits() != 512 {
            return Err(format!("align: {} is not 64 bytes", self.out_packet));
        }
        let stream = self.operand([&self.stream_time, &self.stream_packet], stream)?;
        let weights = self.operand([&self.row, &self.trf_element], weights)?;
        Ok(stream.into_iter().zip(weights).map(|(data, weight)| [data, weight]).collect())
    }

    /// The sums of the tree, row-major over prefix, row, time and tree packet.
    ///
    /// # Errors
    /// See [`tree_depth`].
    pub fn contract(&self, aligned: &[[Cell<Number>; 2]]) -> Result<Vec<Cell<Number>>, String> {
        let depth = tree_depth(&self.out_packet, &self.tree_packet)?;
        let zero = if self.element.is_integer() { Number::Integer(0) } else { Number::Real(0.0) };
        let mut result = Vec::new();
        for packet in aligned.chunks(self.out_packet.size()) {
            let mut level: Vec<Partial> = packet
                .iter()
                .map(|operands| match operands {
                    [Cell::Padding, _] | [_, Cell::Padding] => {
                        Partial { live: false, initialized: true, sum: zero }
                    }
                    [Cell::Value(a), Cell::Value(b)] => {
                        Partial { live: true, initialized: true, sum: multiply(*a, *b) }
                    }
                    _ => Partial { live: true, initialized: false, sum: zero },
                })
                .collect();
            for _ in 0..depth {
                level = level
                    .chunks(2)
                    .map(|pair| Partial {
                        live: pair[0].live || pair[1].live,
                        initialized: pair[0].initialized && pair[1].initialized,
                        sum: add(pair[0].sum, pair[1].sum),
                    })
                    .collect();
            }
            for column in 0..self.tree_packet.size() {
                result.push(match level.get(column) {
                    Some(Partial { live: true, initialized: true, sum }) => Cell::Value(*sum),
                    Some(Partial { live: true, .. }) => Cell::Uninit,
                    _ => Cell::Padding,
                });
            }
        }
        Ok(result)
    }

    /// Time and packet of the result.
    pub fn output(&self) -> (Map, Map) {
        accumulated(&self.row, &self.tree_packet, &self.kept_time, self.kind)
    }

    /// The result of accumulation, row-major over prefix and [`Contraction::output`].
    ///
    /// # Errors
    /// When a result has no arrival, which legal mappings exclude.
    pub fn accumulate(&self, sums: &[Cell<Number>]) -> Result<Vec<Cell<Number>>, String> {
        let (time, packet) = self.output();
        let all = with(&self.prefix(), &[&time, &packet]);
        let projection = Projection::onto(&all)?;
        let arrivals = self.computation(&self.tree_packet);
        let results = joint_table(&all);
        let (columns, steps) = (self.tree_packet.size(), self.out_time.size());
        let unit = self.row.size() * steps * columns;
        let mut output = Vec::new();
        let units = arrivals.chunks(unit).zip(sums.chunks(unit));
        for ((arrivals, sums), results) in units.zip(results.chunks(time.size() * packet.size())) {
            let mut slots: BTreeMap<Coordinates, Cell<Number>> = BTreeMap::new();
            for step in 0..steps {
                for place in
                    (0..self.row.size()).flat_map(|row| (0..columns).map(move |column| (row, column)))
                {
                    let position = (place.0 * steps + step) * columns + place.1;
                    let (sum, Some(index)) = (sums[position], &arrivals[position]) else {
                        continue;
                    };
                    if sum == Cell::Padding {
                        continue;
                    }
                    let slot = slots.entry(projection.apply(index)).or_insert(Cell::Padding);
                    *slot = match (*slot, sum) {
                        (Cell::Padding, first) => first,
                        (Cell::Value(before), Cell::Value(arrival)) => Cell::Value(add(before, arrival)),
                        _ => Cell::Uninit,
                    };
                }
            }
            for cell in results {
                output.push(match cell {
                    None => Cell::Padding,
                    Some(index) => *slots
                        .get(index)
                        .ok_or_else(|| format!("accumulate: nothing arrives for {index:?}"))?,
                });
            }
        }
        Ok(output)
    }

    /// All three steps. `None` is padding or uninitialized.
    ///
    /// # Errors
    /// See the steps.
    pub fn run(
        &self,
        stream: &[Option<Number>],
        weights: &[Option<Number>],
    ) -> Result<Vec<Option<Number>>, String> {
        let sums = self.contract(&self.align(stream, weights)?)?;
        Ok(self.accumulate(&sums)?.into_iter().map(Cell::value).collect())
    }
}
