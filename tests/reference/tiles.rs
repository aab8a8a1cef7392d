//! Tiles, position by position: what a tile may be, and where it starts.
//!
//! ```text
//! m![G, K]             position   0  1  2  3  4  5  6  7   8  9 10 11 12 13 14 15      (G = 2, K = 8)
//! value of K                      0  1  2  3  4  5  6  7   0  1  2  3  4  5  6  7
//!
//! 3 of K at 4          position 0 of the tile is position 4; live are those whose value of K is below 3 when counted
//!                      from 0: m![G, K = 3 # 8]
//! ```

use super::digits::Projection;
use super::mapping::{Coordinates, Map};
use std::collections::BTreeMap;

/// A dimension whose positions are told by an index.
pub struct Tiled {
    /// What each position of the dimension holds.
    table: Vec<Option<Coordinates>>,
    /// The value of the index that each position of the dimension holds.
    values: Vec<Option<usize>>,
    /// The position that holds each value of the index, and nothing else.
    starts: Vec<Option<usize>>,
}

impl Tiled {
    /// The dimension `from`, told by `index`.
    ///
    /// # Errors
    /// The dimension does not hold the index.
    pub fn new(from: &Map, index: &Map) -> Result<Tiled, String> {
        let (table, wanted) = (from.table(), index.table());
        let numbers: BTreeMap<&Coordinates, usize> =
            wanted.iter().enumerate().filter_map(|(k, cell)| Some((cell.as_ref()?, k))).rev().collect();
        let own = Projection::onto(&[index])?;
        let value = |cell: &Option<Coordinates>| numbers.get(&own.apply(cell.as_ref()?)).copied();
        let values: Vec<_> = table.iter().map(value).collect();
        let place = |cell: &Option<Coordinates>| table.iter().position(|here| cell.is_some() && here == cell);
        let starts: Vec<_> = wanted.iter().map(place).collect();
        if starts.iter().zip(&wanted).any(|(start, cell)| start.is_none() && cell.is_some()) {
            return Err(format!("{from} does not hold {index}"));
        }
        Ok(Tiled { table, values, starts })
    }

    /// Positions of the dimension before the tile that starts at a value. `None`: the tile ends behind the index, or the
    /// value is padding.
    pub fn offset(&self, len: usize, start: usize) -> Option<usize> {
        let last = self.starts.iter().rposition(Option::is_some)?;
        if start > last || len > last + 1 - start { None } else { self.starts[start] }
    }

    /// The number of values.
    pub fn size(&self) -> usize {
        self.starts.len()
    }

    /// Whether `to` is what a tile of `len` values is: position for position.
    pub fn is_tile(&self, to: &Map, len: usize) -> bool {
        let kept = |value: &Option<usize>| value.is_some_and(|value| value < len);
        let expected = self.table.iter().zip(&self.values).map(|(cell, v)| cell.clone().filter(|_| kept(v)));
        let is_there = |k: usize| self.starts[k].is_some();
        // Where one value after another is kept, they are as far apart as the first two.
        let even = |pair: [usize; 3]| match pair.map(|k| self.starts[k]) {
            [Some(a), Some(b), Some(c)] => b.checked_sub(a) == c.checked_sub(b),
            _ => true,
        };
        let run = len == 1 || (0..self.size().saturating_sub(2)).all(|k| even([k, k + 1, k + 2]));
        (1..=self.size()).contains(&len) && is_there(0) && run && to.table().into_iter().eq(expected)
    }

    /// Positions up to the last one that a tile of `len` values holds.
    pub fn span(&self, len: usize) -> usize {
        self.values
            .iter()
            .rposition(|value| value.is_some_and(|value| value < len))
            .map_or(0, |last| last + 1)
    }
}

/// What a tile holds of the values of a tensor, listed over its dimensions: `before` positions of each come first.
pub fn cut<V: Clone>(sizes: &[usize], values: &[Option<V>], before: &[usize]) -> Vec<Option<V>> {
    shifted(sizes, before).into_iter().map(|from| from.and_then(|from| values[from].clone())).collect()
}

/// The values of a tensor after those of a tile were written: where `live` says that the tile has a position.
pub fn paste<V: Clone>(
    sizes: &[usize],
    values: &mut [Option<V>],
    before: &[usize],
    tile: &[Option<V>],
    live: &[bool],
) {
    for (k, to) in shifted(sizes, before).into_iter().enumerate().filter(|&(k, _)| live[k]) {
        if let Some(to) = to {
            values[to] = tile[k].clone();
        }
    }
}

/// For each position of a tile, row-major, the position of the tensor.
fn shifted(sizes: &[usize], before: &[usize]) -> Vec<Option<usize>> {
    let mut all = vec![Some(0)];
    for (&size, &before) in sizes.iter().zip(before) {
        let inner = |at: Option<usize>| {
            (0..size).map(move |k| Some(at? * size + k + before).filter(|_| k + before < size))
        };
        all = all.into_iter().flat_map(inner).collect();
    }
    all
}
