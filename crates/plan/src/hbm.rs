//! Layouts of tensors in HBM that are not those of their letters.
//!
//! ```text
//!   mk,nk->mn                       x: M, K    w: N, K    out: M, N
//!   w: N / 256, K, N % 256          w lies in columns of 256 rows
//!   x: M, K # 512                   rows of x start at every 512th element
//! ```

use crate::layout::{Counter, Mapping, Notation, Stored, Tile};
use crate::problem::{Problem, ProblemError};
use crate::route::digits::{Digit, Part, Parts, parts_of, refine, text_of};

/// Names of the operands and of the result.
const NAMES: [&str; 3] = ["x", "w", "out"];

/// The layout of a tensor in HBM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InHbm {
    /// The mapping of its elements.
    pub mapping: Mapping,
    /// The digits of the mapping, outermost first.
    parts: Parts,
}

impl InHbm {
    /// The innermost digit with several positions.
    fn innermost(&self) -> Option<Digit> {
        self.parts.iter().rev().find_map(|part| part.digit)
    }

    /// The tensor, with tiles along digits of axes: each is an axis, its stride, and the counter of its positions. `None`: a
    /// digit of the layout, or its padding, is no multiple of them.
    pub(crate) fn stored<'a>(
        &self,
        notation: &Notation,
        digits: impl Iterator<Item = (&'a str, usize, Counter)>,
    ) -> Option<Stored> {
        let mut tiles = Vec::new();
        let mut left = self.parts.clone();
        for (name, stride, counter) in digits {
            let digit = Digit::new(notation.symbol(name)?, stride, stride * counter.count);
            let mut lists = [left, vec![Part { digit: Some(digit), size: counter.count }]];
            refine(&mut lists)?;
            let [cut, pieces] = lists;
            left = cut;
            for piece in pieces {
                let place = left.iter_mut().find(|part| part.digit == piece.digit)?;
                place.digit = None;
                let inner = counter.inner * (piece.digit?.stride / stride);
                tiles.push(Tile {
                    len: 1,
                    step: 1,
                    index: notation.list(&[text_of(&[piece])])?,
                    element: notation.list(&[text_of(&left)])?,
                    counter: Counter { inner, count: piece.size },
                });
            }
        }
        Some(Stored { element: self.mapping.clone(), tiles })
    }

    /// The layout with something else in the place of the innermost positions of an axis. `None`: they are no digit of it.
    pub(crate) fn with_digit(
        &self,
        notation: &Notation,
        (name, positions): (&str, usize),
        other: &str,
    ) -> Option<Mapping> {
        let part = Part { digit: Some(Digit::new(notation.symbol(name)?, 1, positions)), size: positions };
        let mut lists = [self.parts.clone(), vec![part]];
        refine(&mut lists)?;
        let [parts, whole] = lists;
        let is_one = whole == [part] && parts.contains(&part);
        let text = |own: &Part| if *own == part { other.to_string() } else { text_of(&[*own]) };
        notation.list(&parts.iter().map(text).collect::<Vec<_>>()).filter(|_| is_one)
    }
}

impl Problem {
    /// The same problem with other layouts in HBM: `w: N / 256, K, N % 256; out: N, M`. The operands are `x` and `w`, the
    /// result is `out`. Those that are not named lie as their letters say.
    ///
    /// # Errors
    /// Refuses names that are no tensors, text that is no mapping, and mappings that do not have each element of the tensor
    /// once.
    pub fn with_layouts(mut self, text: &str) -> Result<Self, ProblemError> {
        if !self.windows.is_empty() {
            return Err(ProblemError(format!(
                "in: with the windows {} each tensor lies as its letters say; leave out `in`",
                self.windows_text()
            )));
        }
        let notation = Notation::new(&self);
        for part in text.split(';') {
            let Some((name, mapping)) = part.split_once(':') else {
                return Err(ProblemError(format!(
                    "in: `{}` is no layout; write a tensor and its mapping, for example `w: {}`",
                    part.trim(),
                    self.letters(1)
                )));
            };
            let (name, mapping) = (name.trim(), bare(mapping));
            let Some(tensor) = NAMES.iter().position(|own| *own == name) else {
                return Err(ProblemError(format!(
                    "in: no tensor is called `{name}`; the operands are `x` and `w`, the result is `out`"
                )));
            };
            if self.hbm[tensor].is_some() {
                return Err(ProblemError(format!("in: `{name}` has two layouts; give it one")));
            }
            self.hbm[tensor] = Some(self.layout(&notation, tensor, mapping)?);
        }
        Ok(self)
    }

    /// Reads the layout of a tensor.
    fn layout(&self, notation: &Notation, tensor: usize, text: &str) -> Result<InHbm, ProblemError> {
        let name = NAMES[tensor];
        let expr = notation.read(text).map_err(|error| ProblemError(format!("in: {name}: {error}")))?;
        let refuse = |reason: String| {
            Err(ProblemError(format!(
                "in: `{name}: {text}` {reason}; write all digits of its axes once, for example `{name}: {}`",
                self.letters(tensor)
            )))
        };
        let Some(parts) = parts_of(expr) else {
            return refuse("has a part that is no digit of one axis".to_string());
        };
        let own: Vec<&str> = self.tensors[tensor].iter().map(|&axis| self.axes[axis].name.as_str()).collect();
        let digits = |axis: &str| {
            let all = parts.iter().filter_map(|part| part.digit);
            let mut own: Vec<Digit> = all.filter(|digit| digit.axis.name.as_str() == axis).collect();
            own.sort_by_key(|digit| digit.stride);
            own
        };
        for axis in &self.axes {
            if !own.contains(&axis.name.as_str()) && !digits(&axis.name).is_empty() {
                return refuse(format!(
                    "has `{}`, which is no axis of `{}`",
                    axis.name,
                    self.einsum_of(tensor)
                ));
            }
        }
        for axis in own {
            let Some(size) = self.axes.iter().find(|known| known.name == axis).map(|known| known.size) else {
                continue;
            };
            // Each digit begins where the one inside of it ends.
            let mut next = Some(1);
            for digit in digits(axis) {
                if next != Some(digit.stride) {
                    return refuse(format!("does not have each position of `{axis}` once"));
                }
                next = digit.period();
            }
            if size > 1 && next.is_some() {
                return refuse(format!("does not have each position of `{axis}` once"));
            }
        }
        Ok(InHbm { mapping: Mapping { text: text.to_string(), expr }, parts })
    }

    /// The letters of a tensor in the einsum.
    pub(crate) fn einsum_of(&self, tensor: usize) -> &str {
        self.einsum.split([',', '>']).nth(tensor).unwrap_or_default().trim_end_matches('-')
    }

    /// The mapping of the elements of a tensor that its letters say, of all chips: `M, K`.
    pub fn letters(&self, tensor: usize) -> String {
        let names: Vec<String> =
            self.tensors[tensor].iter().map(|&axis| self.over_all_chips(tensor, axis)).collect();
        if names.is_empty() { "1".to_string() } else { names.join(", ") }
    }

    /// The layouts that were given: `w: N / 256, K, N % 256`.
    pub fn layouts_text(&self) -> String {
        let given = NAMES.iter().zip(&self.hbm);
        let texts: Vec<String> =
            given.filter_map(|(name, own)| Some(format!("{name}: {}", own.as_ref()?.mapping.text))).collect();
        texts.join("; ")
    }

    /// Bytes of a tensor in HBM, padding included.
    pub fn hbm_bytes(&self, tensor: usize) -> u64 {
        match &self.hbm[tensor] {
            None => self.bytes(tensor),
            Some(own) => (own.mapping.expr.size() * self.element_of(tensor).bits()).div_ceil(8) as u64,
        }
    }

    /// The axis whose rows have padding behind them in HBM, and their size with it: `K # 512`.
    pub fn padded_rows(&self, tensor: usize) -> Option<(usize, usize)> {
        let last = self.hbm[tensor].as_ref()?.parts.last()?;
        let name = last.digit?.axis.name;
        let axis = self.axes.iter().position(|axis| axis.name == name.as_str())?;
        (last.size > self.axes[axis].size).then_some((axis, last.size))
    }

    /// The axis whose positions are neighbours in HBM, and the number of those. `None`: the tensor has no axis.
    pub fn run(&self, tensor: usize) -> Option<(usize, usize)> {
        let Some(own) = &self.hbm[tensor] else {
            return self.tensors[tensor].last().map(|&axis| (axis, self.axes[axis].size));
        };
        match own.innermost() {
            Some(digit) => {
                let axis = self.axes.iter().position(|axis| axis.name == digit.axis.name.as_str())?;
                Some((axis, digit.values()))
            }
            None => self.tensors[tensor].last().map(|&axis| (axis, 1)),
        }
    }
}

/// The text between `m![` and `]`, if they are there.
pub(crate) fn bare(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("m![").and_then(|text| text.strip_suffix(']')).unwrap_or(text).trim()
}
