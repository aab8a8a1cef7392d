//! Windows: a digit of a tensor that a view reads at overlapping positions.
//!
//! ```text
//! the element at (output, window) is the one whose input digit is output * stride + window * dilation
//! ```

use super::mapping::{Coordinates, Map, joint_table};
use super::sequencer::addresses;

/// A digit of an axis: `axis / weight % modulus`.
#[derive(Clone, Debug)]
pub struct Part {
    pub axis: String,
    /// The size of the axis.
    pub size: usize,
    pub weight: usize,
    pub modulus: usize,
}

impl Part {
    /// An axis.
    pub fn whole(axis: &str, size: usize) -> Part {
        Part { axis: axis.to_string(), size, weight: 1, modulus: size }
    }

    /// The mapping that is this digit.
    pub fn map(&self) -> Map {
        let axis = Map::axis(&self.axis, self.size);
        let outer = if self.weight > 1 { axis.stride(self.weight) } else { axis };
        if outer.size() > self.modulus { outer.modulo(self.modulus) } else { outer }
    }

    fn value(&self, coordinates: &Coordinates) -> usize {
        coordinates.get(&self.axis).copied().unwrap_or(0) / self.weight % self.modulus
    }

    /// Coordinates with so many steps of this digit more or less.
    fn add(&self, coordinates: &mut Coordinates, steps: isize) {
        let value = coordinates.get(&self.axis).copied().unwrap_or(0) as isize + steps * self.weight as isize;
        match value {
            0 => coordinates.remove(&self.axis),
            _ => coordinates.insert(self.axis.clone(), value as usize),
        };
    }
}

/// A digit that is read in windows.
#[derive(Clone, Debug)]
pub struct Window {
    pub input: Part,
    pub output: Part,
    pub window: Part,
    pub stride: usize,
    pub dilation: usize,
}

impl Window {
    /// Positions of the input from the first one that is read to the last one.
    pub fn positions(&self) -> usize {
        (0..self.output.modulus)
            .flat_map(|output| (0..self.window.modulus).map(move |window| (output, window)))
            .map(|(output, window)| output * self.stride + window * self.dilation + 1)
            .max()
            .unwrap_or(0)
    }

    /// Whether no window reaches past the input.
    pub fn is_inside(&self) -> bool {
        self.positions() <= self.input.modulus
    }
}

/// The element of the tensor that an index of the view names.
pub fn element(windows: &[Window], index: &Coordinates) -> Coordinates {
    let mut found = index.clone();
    for Window { input, output, window, stride, dilation } in windows {
        let (at, inside) = (output.value(index), window.value(index));
        output.add(&mut found, -(at as isize));
        window.add(&mut found, -(inside as isize));
        input.add(&mut found, (at * stride + inside * dilation) as isize);
    }
    found
}

/// The elements of the tensor that a stream of the view holds, `None` where it is padding.
pub fn elements(windows: &[Window], time: &Map, packet: &Map) -> Vec<Option<Coordinates>> {
    joint_table(&[time, packet]).into_iter().map(|cell| cell.map(|index| element(windows, &index))).collect()
}

/// The address that every position of a stream of the view must read, `None` where the stream is padding.
///
/// # Errors
/// Names the first live position whose element is not in the buffer.
pub fn wanted_in_windows(
    buf: &Map,
    windows: &[Window],
    time: &Map,
    packet: &Map,
) -> Result<Vec<Option<usize>>, String> {
    let (addresses, axes) = (addresses(buf), buf.axes());
    let at = |(position, cell): (usize, Option<Coordinates>)| {
        let Some(mut index) = cell else { return Ok(None) };
        index.retain(|name, _| axes.contains_key(name));
        let address = addresses.get(&index).copied();
        address
            .map(Some)
            .ok_or_else(|| format!("position {position} reads {index:?}, which {buf} does not hold"))
    };
    elements(windows, time, packet).into_iter().enumerate().map(at).collect()
}
