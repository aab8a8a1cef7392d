//! Gathers and scatters, position by position.
//!
//! ```text
//! gather     out[k, v] = table[index[k], v]        for every position (k, v) of the other side that holds an element
//! scatter    table[index[k], v] = t[k, v]          in the order of the index; other rows keep what they hold
//! ```
//!
//! `k` are the coordinates of the axes that the index has, `v` those of a row. Values are listed row-major over the
//! dimensions, `None` for padding and for uninitialised elements.

use super::mapping::{Coordinates, Map, Name, joint_table};
use std::collections::BTreeMap;

/// Why rows do not move: the first element of the index, row-major, that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongRow {
    /// Nobody wrote it.
    Unwritten(Coordinates),
    /// It names no row.
    Outside(Coordinates),
    /// It is no multiple of the bytes of a row.
    BetweenRows(Coordinates),
    /// It names a row that an earlier one named, with another content.
    Twice(Coordinates, Coordinates),
}

/// The tensors of a gather or scatter.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// Chip and element of the table.
    pub table: &'a [&'a Map],
    /// The axis of the table that is indexed, and the number of its rows.
    pub axis: (&'a str, usize),
    /// The dimensions of the index.
    pub index: &'a [&'a Map],
    /// What the index holds.
    pub numbers: &'a [Option<i64>],
    /// What an index counts per row.
    pub scale: i64,
    /// The dimensions of the other side.
    pub side: &'a [&'a Map],
}

/// An element of an index: the chip, and its coordinates inside.
type Key = (usize, Coordinates);

impl Rows<'_> {
    /// The coordinates of an element of row `row` of the table. Zeros are left out.
    fn in_table(&self, at: &Coordinates, row: usize) -> Coordinates {
        let axes: BTreeMap<Name, usize> = self.table.iter().flat_map(|dim| dim.axes()).collect();
        let own = at.iter().filter(|(name, _)| axes.contains_key(*name) && **name != *self.axis.0);
        let mut found: Coordinates = own.map(|(name, k)| (name.clone(), *k)).collect();
        if row > 0 {
            found.insert(self.axis.0.to_string(), row);
        }
        found
    }

    /// Where the elements of the table are, row-major.
    fn places(&self) -> BTreeMap<Coordinates, usize> {
        let live = joint_table(self.table).into_iter().enumerate();
        live.filter_map(|(k, at)| Some((at?, k))).collect()
    }

    /// The element of the index for a position of the other side: that of the chip of its row, with the same coordinates.
    fn key(&self, places: &BTreeMap<Coordinates, usize>, at: &Coordinates) -> Key {
        let axes: BTreeMap<Name, usize> = self.index[1..].iter().flat_map(|dim| dim.axes()).collect();
        let own = at.iter().filter(|(name, _)| axes.contains_key(*name));
        let chip = places[&self.in_table(at, 0)] / self.table[1].size();
        (chip, own.map(|(name, k)| (name.clone(), *k)).collect())
    }

    /// The rows that the elements of the index name, in its order.
    ///
    /// # Errors
    /// The first element that is wrong.
    pub fn list(&self) -> Result<Vec<(Key, Coordinates, usize)>, WrongRow> {
        let inside = joint_table(&self.index[1..]);
        let live = joint_table(self.index).into_iter().zip(self.numbers).enumerate();
        let row = |(k, (at, number)): (usize, (Option<Coordinates>, &Option<i64>))| {
            let at = at?;
            let key = (k / inside.len(), inside[k % inside.len()].clone()?);
            Some(match number {
                None => Err(WrongRow::Unwritten(at)),
                Some(number) if number.div_euclid(self.scale) < 0 => Err(WrongRow::Outside(at)),
                Some(number) if number.div_euclid(self.scale) >= self.axis.1 as i64 => {
                    Err(WrongRow::Outside(at))
                }
                Some(number) if number % self.scale != 0 => Err(WrongRow::BetweenRows(at)),
                Some(number) => Ok((key, at, (number / self.scale) as usize)),
            })
        };
        live.filter_map(row).collect()
    }

    /// The result of a gather.
    ///
    /// # Errors
    /// An element of the index is wrong.
    pub fn gather<V: Clone>(&self, values: &[Option<V>]) -> Result<Vec<Option<V>>, WrongRow> {
        let list: BTreeMap<Key, usize> = self.list()?.into_iter().map(|(key, _, row)| (key, row)).collect();
        let places = self.places();
        let value = |at: Option<Coordinates>| {
            let at = at?;
            values[places[&self.in_table(&at, list[&self.key(&places, &at)])]].clone()
        };
        Ok(joint_table(self.side).into_iter().map(value).collect())
    }

    /// The table after a scatter of `values` over what it held.
    ///
    /// # Errors
    /// An element of the index is wrong, or, without `last_wins`, names a row again with another content.
    pub fn scatter<V: Clone + PartialEq>(
        &self,
        values: &[Option<V>],
        before: &[Option<V>],
        last_wins: bool,
    ) -> Result<Vec<Option<V>>, WrongRow> {
        let (list, places) = (self.list()?, self.places());
        let mut by_key: BTreeMap<Key, Vec<(Coordinates, &Option<V>)>> = BTreeMap::new();
        for (at, value) in joint_table(self.side).into_iter().zip(values) {
            if let Some(at) = at {
                by_key.entry(self.key(&places, &at)).or_default().push((at, value));
            }
        }
        let mut written: BTreeMap<usize, (Coordinates, &Option<V>)> = BTreeMap::new();
        for (key, element, row) in &list {
            for (at, value) in &by_key[key] {
                let place = places[&self.in_table(at, *row)];
                match written.insert(place, (element.clone(), *value)) {
                    Some((earlier, other)) if other != *value && !last_wins => {
                        return Err(WrongRow::Twice(earlier, element.clone()));
                    }
                    _ => {}
                }
            }
        }
        let after = |(k, old): (usize, &Option<V>)| written.get(&k).map_or(old, |(_, value)| value).clone();
        Ok(before.iter().enumerate().map(after).collect())
    }
}
