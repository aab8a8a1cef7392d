//! Mappings as lists of digits, which are cut, compared and put in another order.
//!
//! ```text
//!   m![M / 2, K] and m![K / 8, M, K % 8]     refined: M / 2, M % 2, K / 8, K % 8 on both sides
//! ```
//!
//! Mappings of which a digit is no digit of one axis (`m![[A, B] / 2]` with `B = 3`) have no such list: ways that need one
//! are left out then.

use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
use furiosa_visa_rules::mapping::{Atom, Axis, Expr, Factor, Factors, Pool, factorize, strip};
use std::cell::RefCell;
use std::collections::HashMap;

/// The end of a digit that reaches to the end of its axis.
pub(crate) const END: usize = usize::MAX;

/// A digit of an axis: `(axis / stride) % (end / stride)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digit {
    /// The axis.
    pub axis: Axis,
    /// Coordinates per value.
    pub stride: usize,
    /// Coordinates after which the values start again, or [`END`].
    pub(crate) end: usize,
}

impl Digit {
    /// `(axis / stride) % (end / stride)`.
    pub(crate) fn new(axis: Axis, stride: usize, end: usize) -> Self {
        Self { axis, stride, end: if end >= axis.size { END } else { end } }
    }

    /// Number of values.
    pub(crate) fn values(&self) -> usize {
        if self.end == END { self.axis.size.div_ceil(self.stride) } else { self.end / self.stride }
    }

    /// Tells if a cut of the axis goes through this digit.
    fn is_cut_at(&self, coordinates: usize) -> bool {
        self.stride < coordinates && coordinates < self.end.min(self.axis.size)
    }
}

/// A digit with the padding behind its values, or padding alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The digit. `None`: position 0 holds what is inside, and the others are padding.
    pub digit: Option<Digit>,
    /// Positions, with padding.
    pub size: usize,
}

impl Part {
    /// Cuts the part. `inside` are the positions of the inner one. `None`: a value would be cut.
    fn cut(self, inside: usize) -> Option<[Part; 2]> {
        if inside == 0 || !self.size.is_multiple_of(inside) {
            return None;
        }
        let outer = |digit| Part { digit, size: self.size / inside };
        let inner = |digit| Part { digit, size: inside };
        match self.digit {
            Some(digit) if inside < digit.values() => {
                let at = digit.stride * inside;
                if digit.end != END && !digit.end.is_multiple_of(at) {
                    return None;
                }
                let [high, low] = [Digit { stride: at, ..digit }, Digit { end: at, ..digit }];
                Some([outer(Some(high)), inner(Some(low))])
            }
            digit => Some([outer(None), inner(digit)]),
        }
    }

    fn text(self) -> String {
        let Some(digit) = self.digit else { return format!("1 # {}", self.size) };
        let Digit { axis, stride, end } = digit;
        let values = digit.values();
        // The axis is padded to what is cut.
        let whole = match end {
            END if axis.size.is_multiple_of(stride) => axis.size,
            END => stride * self.size,
            _ => axis.size.next_multiple_of(end),
        };
        let mut text = axis.name.to_string();
        if whole != axis.size {
            text += &format!(" # {whole}");
        }
        if stride > 1 {
            text += &format!(" / {stride}");
        }
        if end != END && whole > end {
            text += &format!(" % {values}");
        }
        let is_padded = end != END || whole == axis.size;
        if is_padded && self.size > values {
            text += &format!(" # {}", self.size);
        }
        text
    }
}

/// The parts of a mapping, outermost first.
pub type Parts = Vec<Part>;

/// Reads the digits of a mapping. `None`: they are not digits of axes.
pub fn parts_of(expr: &Expr) -> Option<Parts> {
    let mut pool = Pool::new();
    let factors = factorize(&mut pool, expr);
    parts_in(&pool, &factors)
}

/// The same without the outermost padding: units that hold nothing.
pub fn units_of(expr: &Expr) -> Option<Parts> {
    let mut pool = Pool::new();
    let factors = strip(&factorize(&mut pool, expr));
    parts_in(&pool, &factors)
}

fn parts_in(pool: &Pool, factors: &Factors) -> Option<Parts> {
    if factors.problem().is_some() || pool.holds_any() {
        return None;
    }
    let (mut parts, mut inside) = (Parts::new(), 1);
    for factor in factors.as_slice() {
        match *factor {
            Factor::Term { term, resize } => {
                let Atom::Symbol(axis) = term.atom else { return None };
                let digit = Digit::new(axis, term.stride, term.stride * term.modulo);
                // Values that `=` cuts off.
                if digit.values() != resize {
                    return None;
                }
                parts.push(Part { digit: Some(digit), size: resize });
            }
            Factor::Padding { size } => {
                let below = parts.last().map_or(1, |part: &Part| inside / part.size);
                match parts.last_mut() {
                    Some(last) if size.is_multiple_of(below) => last.size = size / below,
                    None => parts.push(Part { digit: None, size }),
                    Some(_) => return None,
                }
            }
        }
        inside = size_of(&parts);
    }
    parts.reverse();
    Some(parts)
}

/// Number of positions.
pub fn size_of(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.size).product()
}

/// Tells if a list has this digit.
pub fn has(parts: &[Part], part: &Part) -> bool {
    part.digit.is_some() && parts.iter().any(|other| other.digit == part.digit)
}

/// The list without the digits of another one.
pub fn without(parts: &[Part], others: &[Part]) -> Parts {
    parts.iter().filter(|part| !has(others, part)).copied().collect()
}

/// The digits that another list has, too.
pub fn shared(parts: &[Part], others: &[Part]) -> Parts {
    parts.iter().filter(|part| has(others, part)).copied().collect()
}

/// The list in the order in which another one has the digits. Others come first, in their order.
pub fn in_order_of(parts: &[Part], others: &[Part]) -> Parts {
    let place = |part: &Part| {
        others.iter().position(|other| other.digit == part.digit && part.digit.is_some()).map_or(0, |k| 1 + k)
    };
    let mut sorted = parts.to_vec();
    sorted.sort_by_key(place);
    sorted
}

/// The digits without padding.
pub fn live(parts: &[Part]) -> Parts {
    let digits = parts.iter().filter_map(|part| part.digit);
    digits.map(|digit| Part { digit: Some(digit), size: digit.values() }).collect()
}

/// The innermost `positions` of a list, and the rest: `[rest, innermost]`. `None`: a value would be cut.
pub fn innermost(parts: &[Part], positions: usize) -> Option<[Parts; 2]> {
    let (mut outer, mut inner, mut left) = (parts.to_vec(), Parts::new(), positions);
    while left > 1 {
        let part = outer.pop()?;
        if left.is_multiple_of(part.size) {
            left /= part.size;
            inner.push(part);
        } else {
            let [rest, taken] = part.cut(left)?;
            outer.push(rest);
            inner.push(taken);
            left = 1;
        }
    }
    inner.reverse();
    Some([outer, inner])
}

/// Cuts all lists, so that digits of one axis are the same or have no coordinate in common. `None`: digits are cut where
/// others have a value.
pub fn refine(lists: &mut [Parts]) -> Option<()> {
    let mut cuts: Vec<(Axis, usize)> = Vec::new();
    for digit in lists.iter().flatten().filter_map(|part| part.digit) {
        cuts.push((digit.axis, digit.stride));
        cuts.push((digit.axis, digit.end));
    }
    cuts.sort();
    cuts.dedup();
    for list in lists {
        let mut fine = Parts::new();
        for part in list.iter() {
            let mut rest = *part;
            let mut inner = Parts::new();
            for &(axis, at) in &cuts {
                let Some(digit) = rest.digit.filter(|digit| digit.axis == axis && digit.is_cut_at(at)) else {
                    continue;
                };
                if !at.is_multiple_of(digit.stride) {
                    return None;
                }
                let [high, low] = rest.cut(at / digit.stride)?;
                inner.push(low);
                rest = high;
            }
            fine.push(rest);
            fine.extend(inner.iter().rev());
        }
        *list = fine;
    }
    Some(())
}

/// Writes a list between `m![` and `]`. Neighbours that make one digit are one.
pub fn text_of(parts: &[Part]) -> String {
    let mut merged: Parts = Vec::new();
    for part in parts.iter().filter(|part| part.size > 1) {
        if let (Some(last), Some(inner)) = (merged.last_mut(), part.digit)
            && let Some(outer) = last.digit
            && outer.axis == inner.axis
            && outer.stride == inner.end
            && inner.values() == part.size
        {
            *last =
                Part { digit: Some(Digit { stride: inner.stride, ..outer }), size: last.size * part.size };
            continue;
        }
        merged.push(*part);
    }
    let texts: Vec<String> = merged.iter().map(|part| part.text()).collect();
    if texts.is_empty() { "1".to_string() } else { texts.join(", ") }
}

/// Writes a list that is padded to a number of positions.
pub fn padded_text(parts: &[Part], positions: usize) -> String {
    let text = text_of(parts);
    match size_of(parts) == positions {
        true => text,
        false if text.contains(", ") => format!("[{text}] # {positions}"),
        false => format!("{text} # {positions}"),
    }
}

/// Values of mappings over some axes. Each text is read once: its value lives as long as the program.
#[derive(Debug)]
pub struct Values {
    axes: Axes,
    known: RefCell<HashMap<String, Option<&'static Expr>>>,
}

impl Values {
    /// Mappings over these axes.
    pub fn new(axes: &Axes) -> Self {
        Self { axes: axes.clone(), known: RefCell::default() }
    }

    /// The value of a text. `None`: a mapping has not so many digits or positions.
    pub fn of(&self, text: &str) -> Option<&'static Expr> {
        let mut known = self.known.borrow_mut();
        if let Some(expr) = known.get(text) {
            return *expr;
        }
        let expr = parse_mapping(text, &self.axes).ok();
        known.insert(text.to_string(), expr);
        expr
    }

    /// The value of a list.
    pub fn of_parts(&self, parts: &[Part]) -> Option<&'static Expr> {
        self.of(&text_of(parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        let axes = Axes::parse("M=100,K=64,B=3").unwrap_or_else(|error| panic!("{error}"));
        Values::new(&axes)
    }

    fn parts(text: &str) -> Parts {
        let expr = values().of(text).unwrap_or_else(|| panic!("{text} is a mapping"));
        parts_of(expr).unwrap_or_else(|| panic!("{text} has digits"))
    }

    /// A list is written as a mapping that has the same normal form.
    #[test]
    fn lists_are_written_as_they_are_read() {
        for text in [
            "M, K",
            "K / 8, M, K % 8",
            "M # 128 / 8, K % 16 # 32, B # 4",
            "1 # 2",
            "1 # 4, K / 8 % 2",
            "M # 104 / 8, B, M # 104 % 8",
            "1",
            "K % 4 # 8",
            "M / 4 % 5 # 8, B",
            "M # 104, K",
        ] {
            let expr = values().of(text).unwrap_or_else(|| panic!("{text}"));
            let written = text_of(&parts(text));
            let again = values().of(&written).unwrap_or_else(|| panic!("{written}"));
            let [one, two] = [expr, again].map(|expr| factorize(&mut Pool::new(), expr));
            assert!(one.is(&two), "{text}: {written}");
        }
        for text in ["[K, B] / 2", "M = 3", "[K, B] # 200"] {
            let expr = values().of(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(parts_of(expr), None, "{text}");
        }
        let padded = values().of("[K, B] # 200").and_then(units_of);
        assert_eq!(padded, Some(parts("K, B")));
    }

    #[test]
    fn lists_are_cut_alike() {
        let mut lists = [parts("M / 4, K"), parts("K / 8 % 4, M / 20, B, M % 20")];
        refine(&mut lists).unwrap_or_else(|| panic!("4 divides 20"));
        let texts =
            lists.each_ref().map(|list| list.iter().map(|part| part.text()).collect::<Vec<_>>().join("; "));
        assert_eq!(
            texts,
            ["M / 20; M / 4 % 5; K / 32; K / 8 % 4; K % 8", "K / 8 % 4; M / 20; B; M / 4 % 5; M % 4"]
        );
        let mut lists = [parts("M / 4, B, M % 4"), parts("M / 10, B, M % 10")];
        assert_eq!(refine(&mut lists), None, "4 does not divide 10");
    }

    #[test]
    fn the_innermost_positions() {
        let cut = |text: &str, positions| {
            innermost(&parts(text), positions).map(|both| both.map(|list| text_of(&list)))
        };
        let texts = |outer: &str, inner: &str| Some([outer.to_string(), inner.to_string()]);
        assert_eq!(cut("M, K", 16), texts("M, K / 16", "K % 16"));
        assert_eq!(cut("M, K / 16", 8), texts("M / 2", "M % 2, K / 16"));
        assert_eq!(cut("K, M # 128", 32), texts("K, M # 128 / 32", "M # 128 % 32"));
        assert_eq!(cut("M, K / 8, B", 8), None);
        assert_eq!(cut("K % 4", 8), None);
        assert_eq!(padded_text(&parts("M % 2, K % 8"), 32), "[M % 2, K % 8] # 32");
    }
}
