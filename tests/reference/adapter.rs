//! The fetch adapter, element by element.

use super::mapping::{Coordinates, Map};
use super::numbers::{ElementType, Number};
use std::collections::BTreeMap;

/// The registers of a mask, in the documented words. Dimensions are counted from the outermost loop.
#[derive(Clone, Debug)]
pub struct Mask {
    /// Selects the packets that are cut: index 0 on the left, the last index on the right.
    pub last_dim: usize,
    /// Elements masked on the left.
    pub left_pad: usize,
    /// Elements kept on the right.
    pub counts: Vec<usize>,
    /// Selects the count.
    pub count_dim: Option<usize>,
}

impl Mask {
    /// Which positions of loops of these sizes are masked.
    pub fn positions(&self, sizes: &[usize]) -> Vec<bool> {
        let mut masked = Vec::new();
        let mut indices = vec![0; sizes.len()];
        loop {
            let (last, within) = (indices[self.last_dim], indices[sizes.len() - 1]);
            let count = self.counts[self.count_dim.map_or(0, |dim| indices[dim])];
            let left = last == 0 && within < self.left_pad;
            let right = last == sizes[self.last_dim] - 1 && within >= count;
            masked.push(left || right);
            // The next index, innermost first.
            let Some(k) = (0..sizes.len()).rev().find(|&k| indices[k] + 1 < sizes[k]) else {
                return masked;
            };
            indices[k] += 1;
            indices[k + 1..].fill(0);
        }
    }
}

/// The stages after the mask.
#[derive(Clone, Debug)]
pub struct Stages {
    /// The stored type.
    pub stored: ElementType,
    /// The entries of a table, by the code of the stored type, and their type.
    pub table: Option<(ElementType, Vec<u32>)>,
    /// The type in the stream.
    pub streamed: ElementType,
    /// What is subtracted from the first and from the second tensor.
    pub zero_points: Option<[i32; 2]>,
}

impl Stages {
    /// What becomes of a stored code of one of the tensors.
    ///
    /// # Panics
    /// When a zero point is subtracted from a float.
    pub fn element(&self, code: u32, tensor: usize) -> Number {
        let entry = match &self.table {
            Some((entries, codes)) => entries.decode(codes[code as usize]),
            None => self.stored.decode(code),
        };
        match (self.streamed.round(entry), self.zero_points) {
            (number, None) => number,
            (Number::Integer(value), Some(zero_points)) => Number::Integer(value - zero_points[tensor]),
            (Number::Real(_), Some(_)) => panic!("floats have no zero point"),
        }
    }
}

/// One access of a fetch to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The tensor.
    pub tensor: usize,
    /// The first byte, from the start of the tensor on.
    pub byte: isize,
    /// Bytes that are read.
    pub bytes: usize,
    /// How often they are delivered.
    pub repeat: usize,
}

/// Compares accesses with what the mappings say: every live element lies where it is taken from.
///
/// `axis` is the interleave axis. Axes that the memory lacks are repeated.
///
/// # Errors
/// The first difference.
pub fn check_accesses(
    memory: &Map,
    stream: &[Option<Coordinates>],
    packet: usize,
    bits: usize,
    axis: Option<&str>,
    accesses: &[Access],
) -> Result<(), String> {
    let own = memory.axes();
    let cells = memory.table().into_iter().enumerate().filter_map(|(at, cell)| Some((cell?, at as isize)));
    let places: BTreeMap<Coordinates, isize> = cells.collect();
    let place = |index: &Coordinates| -> Option<isize> {
        let index = index.iter().filter(|(name, _)| own.contains_key(*name));
        places.get(&index.map(|(name, value)| (name.clone(), *value)).collect::<Coordinates>()).copied()
    };
    let mut next = 0;
    for (k, access) in accesses.iter().enumerate() {
        if !(packet * bits / 8).is_multiple_of(access.bytes * access.repeat) {
            return Err(format!("access {k}: {} bytes do not make packets", access.bytes));
        }
        let elements = access.bytes * 8 / bits;
        for within in 0..elements * access.repeat {
            let Some(cell) = stream.get(next) else {
                return Err(format!("access {k} lies past the end of the stream"));
            };
            next += 1;
            let Some(index) = cell else { continue };
            let tensor = axis.map_or(0, |axis| index.get(axis).copied().unwrap_or(0));
            let at = place(index);
            let found = access.byte * 8 / bits as isize + (within % elements) as isize;
            if at != Some(found) || tensor != access.tensor {
                return Err(format!("access {k}: {index:?} is at {at:?} of {tensor}, but {access:?}"));
            }
        }
    }
    if next == stream.len() {
        Ok(())
    } else {
        Err(format!("{} elements, but {next} were read", stream.len()))
    }
}
