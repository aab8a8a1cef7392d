//! Windows of a convolution: axes of the streamed operand that are read at overlapping positions.
//!
//! ```text
//!   nhwc,fyxc->nhwf   windows H*2+Y, W*2+X
//!
//!   y[n, h, w, f] = Σ x[n, 2 h + y, 2 w + x, c] · w[f, y, x, c]
//! ```
//!
//! In the place of `H`, the operand has an axis `InH` of `(H - 1) * 2 + Y` positions: those that windows reach. A border
//! of zeros is part of it, and the host lays it. Each position is in HBM and in DM once: taps are loops of the fetch.

use crate::choice::{Choice, Level, Split};
use crate::problem::{Axis, Problem, ProblemError, Role};
use furiosa_visa_clock::bound::{self, Bounds, Limit, Product, ProductAxis};
use furiosa_visa_clock::{Model, Profile};
use furiosa_visa_rules::mapping::parse::MAX_POSITIONS;
use furiosa_visa_rules::scalar::ElementType;

/// An axis that is read in windows: `position = output * stride + tap`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The axis of the result.
    pub output: usize,
    /// The summed axis that counts positions inside a window.
    pub tap: usize,
    /// Positions between two windows.
    pub stride: usize,
    /// Name of the axis of positions, in the operand.
    pub input: String,
}

impl Window {
    /// Positions that so many windows reach, one after another.
    pub fn positions(&self, outputs: usize, axes: &[Axis]) -> usize {
        (outputs - 1) * self.stride + axes[self.tap].size
    }

    /// Positions of the next slice that windows reach, if slices have parts of the axis. `None`: none, or more than the next
    /// slice has.
    pub fn neighbours(&self, split: &Split, axes: &[Axis]) -> Option<usize> {
        let reached = axes[self.tap].size.checked_sub(self.stride)?;
        (1..=split.at(Level::Local) * self.stride).contains(&reached).then_some(reached)
    }

    /// Positions in the DM of a slice, with room for as many of the next slice as the slice has itself.
    pub fn room(&self, split: &Split, axes: &[Axis]) -> usize {
        match split.at(Level::Cluster) * split.at(Level::Slice) {
            1 => self.positions(split.at(Level::Local), axes),
            _ => 2 * split.at(Level::Local) * self.stride,
        }
    }

    /// The axis of the room in DM.
    pub(crate) fn room_name(&self, axes: &[Axis]) -> String {
        format!("Room{}", axes[self.output].name)
    }

    /// The axis that tells a slice's own positions from those of the next slice.
    pub(crate) fn side_name(&self, axes: &[Axis]) -> String {
        format!("Side{}", axes[self.output].name)
    }
}

/// A window as it is given: `H*2+Y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    output: char,
    stride: usize,
    pub(crate) tap: char,
}

/// Reads a list of windows: `H*2+Y, W*2+X`.
pub(crate) fn given(text: &str) -> Result<Vec<Given>, ProblemError> {
    let mut found: Vec<Given> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let letter = |text: &str| {
            let mut letters = text.trim().chars();
            letters.next().filter(|letter| letter.is_ascii_uppercase() && letters.next().is_none())
        };
        let window = part.split_once('+').and_then(|(output, tap)| {
            let (output, stride) = match output.split_once('*') {
                Some((output, stride)) => (output, stride.trim().parse().ok().filter(|stride| *stride > 0)?),
                None => (output, 1),
            };
            Some(Given { output: letter(output)?, stride, tap: letter(tap)? })
        });
        let Some(window) = window else {
            return Err(ProblemError(format!(
                "windows: `{part}` is no window; write an axis of the result and one of the filter: `H+Y`, or `H*2+Y` for \
                 every second position; taps that are further apart are not planned"
            )));
        };
        for own in [window.output, window.tap] {
            let is_twice = window.output == window.tap
                || found.iter().any(|other| [other.output, other.tap].contains(&own));
            if is_twice {
                return Err(ProblemError(format!(
                    "windows: `{own}` is in two places of `{text}`; each window has two axes of its own"
                )));
            }
        }
        found.push(window);
    }
    Ok(found)
}

/// Puts taps before all other axes, if the innermost summed axis is one of channels, which both operands have inside.
pub(crate) fn taps_first(given: &[Given], axes: &mut Vec<Axis>, tensors: &mut [Vec<usize>; 3]) {
    let is_place = |axis: usize| given.iter().any(|own| axes[axis].name.starts_with(own.output));
    if tensors[..2].iter().filter_map(|own| own.last()).any(|axis| is_place(*axis)) {
        return;
    }
    let is_tap = |axis: &Axis| given.iter().any(|own| axis.name.starts_with(own.tap));
    let mut order: Vec<usize> = (0..axes.len()).collect();
    order.sort_by_key(|&axis| !is_tap(&axes[axis]));
    *axes = order.iter().map(|&axis| axes[axis].clone()).collect();
    for axis in tensors.iter_mut().flatten() {
        *axis = order.iter().position(|own| own == axis).unwrap_or(*axis);
    }
}

/// The windows of a problem with these axes and operands, whose taps are the outermost axes.
pub(crate) fn windows(
    einsum: &str,
    given: &[Given],
    axes: &[Axis],
    tensors: &[Vec<usize>; 3],
) -> Result<Vec<Window>, ProblemError> {
    let mut found = Vec::new();
    let mut operand = None;
    for Given { output, stride, tap } in given {
        let place = |letter: &char| {
            axes.iter().position(|axis| axis.name.starts_with(*letter)).ok_or_else(|| {
                ProblemError(format!("windows: `{einsum}` has no axis `{letter}`; name those of the einsum"))
            })
        };
        let (output, tap) = (place(output)?, place(tap)?);
        let names = [output, tap].map(|axis| axes[axis].name.to_lowercase());
        let Role::Of(own) = axes[output].role else {
            return Err(ProblemError(format!(
                "windows: `{}` of `{einsum}` is not in one operand and the result, as an axis of places is",
                names[0]
            )));
        };
        let is_tap = |operand: usize| tensors[operand].contains(&tap);
        if is_tap(2) || is_tap(own) || !is_tap(1 - own) {
            return Err(ProblemError(format!(
                "windows: `{}` of `{einsum}` is not in the filter alone: the operand without `{}`, which sums over it",
                names[1], names[0]
            )));
        }
        if *operand.get_or_insert(own) != own {
            return Err(ProblemError(format!(
                "windows: `{}` of `{einsum}` is in the other operand; only one of them is read in windows",
                names[0]
            )));
        }
        let (outputs, taps) = (axes[output].size, axes[tap].size);
        let reached = stride.checked_mul(outputs - 1).and_then(|last| last.checked_add(taps));
        if reached.is_none_or(|positions| positions > MAX_POSITIONS) {
            return Err(ProblemError(format!(
                "windows: {outputs} windows at every {stride}th position reach more than {MAX_POSITIONS} positions, which is what an \
                 axis has at most; take a smaller stride"
            )));
        }
        found.push(Window { output, tap, stride: *stride, input: format!("In{}", axes[output].name) });
    }
    if let Some(own) = operand {
        let inside = tensors[own].last().copied();
        let is_place = |axis: usize| found.iter().any(|window| window.output == axis);
        if inside.is_none_or(|axis| axes[axis].role != Role::Summed && !is_place(axis)) {
            return Err(ProblemError(format!(
                "windows: the innermost axis of the operand that `{einsum}` reads in windows is neither summed over nor in \
                 windows; store channels or places innermost, as in `nhwc,fyxc->nhwf` or `nchw,fcyx->nhwf`"
            )));
        }
    }
    Ok(found)
}

impl Problem {
    /// The operand that is read in windows. `None`: there are no windows.
    pub fn windowed(&self) -> Option<usize> {
        let window = self.windows.first()?;
        match self.axes[window.output].role {
            Role::Of(operand) => Some(operand),
            _ => None,
        }
    }

    /// Tells if packets of products may be of the innermost summed axis: not where the stream has places inside, and not without an
    /// axis for rows.
    pub(crate) fn has_packets_of_sums(&self, choice: &Choice) -> bool {
        let has_places = self.windowed().is_some_and(|operand| self.axis_of_columns(operand).is_some());
        !has_places && self.axes.iter().any(|axis| axis.role == Role::Of(choice.weights))
    }

    /// The window of an axis of the result, in the operand that is read in windows.
    pub fn window(&self, tensor: usize, axis: usize) -> Option<&Window> {
        let window = self.windows.iter().find(|window| window.output == axis)?;
        (self.windowed() == Some(tensor)).then_some(window)
    }

    /// Tells if an axis counts positions inside a window.
    pub fn is_tap(&self, axis: usize) -> bool {
        self.windows.iter().any(|window| window.tap == axis)
    }

    /// Name and number of positions of an axis of a tensor.
    pub fn positions(&self, tensor: usize, axis: usize) -> (&str, usize) {
        let own = &self.axes[axis];
        match self.window(tensor, axis) {
            Some(window) => (&window.input, window.positions(own.size, &self.axes)),
            None => (&own.name, own.size),
        }
    }

    /// The windows as they are given: `H*2+Y, W*2+X`.
    pub fn windows_text(&self) -> String {
        let text = |window: &Window| {
            let [output, tap] = [window.output, window.tap].map(|axis| &self.axes[axis].name);
            match window.stride {
                1 => format!("{output}+{tap}"),
                stride => format!("{output}*{stride}+{tap}"),
            }
        };
        self.windows.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    /// Tells if an axis may be split like this. Taps are whole in a slice, and so are axes in windows, but for the first one: tiles
    /// of it, and slices, have positions of their neighbours, too.
    pub(crate) fn allows(&self, axis: usize, split: &Split) -> bool {
        let [loops, cluster, slice, blocks, _] = split.extents;
        let Some(number) = self.windows.iter().position(|own| [own.output, own.tap].contains(&axis)) else {
            return true;
        };
        let is_whole = split.padded == self.axes[axis].size && blocks == 1;
        match &self.windows[number] {
            window if number == 0 && window.output == axis => {
                is_whole && (cluster * slice == 1 || window.neighbours(split, &self.axes).is_some())
            }
            _ => is_whole && loops * cluster * slice == 1,
        }
    }

    /// The window whose axis is in several clusters or slices.
    pub(crate) fn in_units(&self, choice: &Choice) -> Option<&Window> {
        let is_in_units = |window: &&Window| {
            let split = &choice.splits[window.output];
            split.at(Level::Cluster) * split.at(Level::Slice) > 1
        };
        self.windows.first().filter(is_in_units)
    }

    /// Tells if slices may load parts of an axis: not of one in windows.
    pub(crate) fn has_parts(&self, axis: usize) -> bool {
        !self.windows.iter().any(|own| [own.output, own.tap].contains(&axis))
    }

    /// Bounds of a problem with windows. A position that several windows read passes HBM once, so that bytes are no product
    /// of the axes: products and moves count apart.
    pub(crate) fn bounds_in_windows(&self, product: &Product, profile: Profile) -> Bounds {
        let model = Model::new(profile);
        let products = bound::problem(product, model).of(Limit::Multipliers);
        // Positions between windows that are apart need not pass.
        let touched = |window: &Window| {
            let outputs = self.axes[window.output].size;
            let positions = window.positions(outputs, &self.axes);
            (positions.min(outputs * self.axes[window.tap].size) as u64, positions as u64)
        };
        let passed = |tensor| {
            let read = self.windows.iter().filter(|_| self.windowed() == Some(tensor)).map(touched);
            read.fold(self.bytes(tensor), |bytes, (touched, positions)| bytes / positions * touched)
        };
        let bytes: u64 = (0..3).map(passed).sum();
        let [first, second, result] = [ElementType::I8; 3];
        let moved = Product { axes: vec![ProductAxis::batch(bytes / 3)], first, second, result, chips: 1 };
        bound::problem(&moved, model).with(Limit::Multipliers, products)
    }
}
