//! The mathematical tensor: a partial function from coordinates to values, and its placement in memory or in a
//! stream (the definition that the guide has in memories_and_dma).

use super::mapping::{Coordinates, Map, Name, joint_table};
use std::collections::BTreeMap;

/// A partial function from coordinates to values. An index that is absent is uninitialized.
#[derive(Clone, Debug, PartialEq)]
pub struct MathTensor<V> {
    /// Names and sizes of the axes. Coordinates of other axes do not matter.
    pub axes: BTreeMap<Name, usize>,
    /// The initialized elements. Zeros are left out of the coordinates.
    pub cells: BTreeMap<Coordinates, V>,
}

impl<V: Clone> MathTensor<V> {
    /// A tensor over whole axes with a value at every index. `value` receives the index and its number in
    /// row-major order of `axes`.
    pub fn from_fn(axes: &[(&str, usize)], mut value: impl FnMut(&Coordinates, usize) -> V) -> MathTensor<V> {
        let parts: Vec<Map> = axes.iter().map(|(name, size)| Map::axis(name, *size)).collect();
        let table = Map::sequence(&parts).table();
        let cells = table.into_iter().enumerate().map(|(k, index)| {
            let index = index.expect("a tuple of whole axes has no padding");
            let value = value(&index, k);
            (index, value)
        });
        MathTensor {
            cells: cells.collect(),
            axes: axes.iter().map(|(name, size)| (Name::from(*name), *size)).collect(),
        }
    }

    /// The value at an index; axes that the tensor lacks are ignored.
    pub fn get(&self, coordinates: &Coordinates) -> Option<V> {
        let own = coordinates.iter().filter(|(name, _)| self.axes.contains_key(*name));
        self.cells.get(&own.map(|(name, value)| (name.clone(), *value)).collect()).cloned()
    }
}

/// The values at all tuples of positions, row-major. `None` for padding and for uninitialized elements. Axes of
/// `dims` that the tensor lacks repeat it.
pub fn place<V: Clone>(tensor: &MathTensor<V>, dims: &[&Map]) -> Vec<Option<V>> {
    joint_table(dims).into_iter().map(|cell| cell.and_then(|index| tensor.get(&index))).collect()
}

/// The tensor that lies in `values`, row-major over `dims`. Values at padding are dropped.
///
/// # Errors
/// When the number of values is wrong or two positions hold the same element with different content.
pub fn collect_from<V: Clone + PartialEq>(
    dims: &[&Map],
    values: &[Option<V>],
) -> Result<MathTensor<V>, String> {
    let table = joint_table(dims);
    if table.len() != values.len() {
        return Err(format!("{} positions, but {} values", table.len(), values.len()));
    }
    let mut tensor =
        MathTensor { axes: dims.iter().flat_map(|dim| dim.axes()).collect(), cells: BTreeMap::new() };
    for (index, value) in table.into_iter().zip(values) {
        let (Some(index), Some(value)) = (index, value) else {
            continue;
        };
        let before = tensor.cells.insert(index.clone(), value.clone());
        if before.is_some_and(|before| before != *value) {
            return Err(format!("two values at {index:?}"));
        }
    }
    Ok(tensor)
}
