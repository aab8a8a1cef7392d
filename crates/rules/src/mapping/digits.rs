//! Mappings as lists of digits, which are cut, compared and put in another order.
//!
//! ```text
//!   m![M / 2, K] and m![K / 8, M, K % 8]     refined: M / 2, M % 2, K / 8, K % 8 on both sides
//! ```
//!
//! Mappings of which a digit is no digit of one axis (`m![[A, B] / 2]` with `B = 3`) have no such list.

use super::{Atom, Axis, Expr, Factor, Factors, Ident, Pool, factorize, strip};
use crate::sorting;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The end of a digit that reaches to the end of its axis.
const END: usize = usize::MAX;

/// A digit of an axis: `(axis / stride) % (end / stride)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digit {
    /// The axis.
    pub axis: Axis,
    /// Coordinates per value.
    pub stride: usize,
    /// Coordinates after which the values start again, or [`END`].
    end: usize,
}

impl Digit {
    /// `(axis / stride) % (end / stride)`.
    pub const fn new(axis: Axis, stride: usize, end: usize) -> Self {
        Self { axis, stride, end: if end >= axis.size { END } else { end } }
    }

    /// The digit of an axis from a number of coordinates on.
    pub const fn above(axis: Axis, coordinates: usize) -> Self {
        Self { axis, stride: coordinates, end: END }
    }

    /// Coordinates after which the values start again. `None`: the end of the axis.
    pub fn period(&self) -> Option<usize> {
        Some(self.end).filter(|end| *end != END)
    }

    /// The same digit of an axis that ends at `end` coordinates.
    #[must_use]
    pub fn of_axis(self, axis: Axis) -> Self {
        let end = if self.end == axis.size { END } else { self.end };
        Self { axis, end, ..self }
    }

    /// Number of values.
    pub fn values(&self) -> usize {
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
    /// Tells if the part has coordinates of a digit.
    pub fn overlaps(&self, digit: &Digit) -> bool {
        let is_in = |own: &Digit| own.axis == digit.axis && own.stride < digit.end && digit.stride < own.end;
        self.digit.as_ref().is_some_and(is_in)
    }

    /// Cuts the part. `inside` are the positions of the inner one. `None`: a value would be cut.
    pub fn cut(self, inside: usize) -> Option<[Part; 2]> {
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

    /// The value of the part.
    fn expr(self) -> &'static Expr {
        let Some(digit) = self.digit else { return kept(Expr::Padding(&Expr::Identity, self.size)) };
        let Digit { axis, stride, end } = digit;
        let values = digit.values();
        // The axis is padded to what is cut.
        let whole = match end {
            END if axis.size.is_multiple_of(stride) => axis.size,
            END => stride * self.size,
            _ => axis.size.next_multiple_of(end),
        };
        let mut expr = kept(Expr::Symbol(axis));
        if whole != axis.size {
            expr = kept(Expr::Padding(expr, whole));
        }
        if stride > 1 {
            expr = kept(Expr::Stride(expr, stride));
        }
        if end != END && whole > end {
            expr = kept(Expr::Modulo(expr, values));
        }
        let is_padded = end != END || whole == axis.size;
        if is_padded && self.size > values {
            expr = kept(Expr::Padding(expr, self.size));
        }
        expr
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
    sorting::by_key(&mut sorted, place);
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
    sorting::ascending(&mut cuts);
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

/// The same list, in which neighbours that make one digit are one.
fn merged(parts: &[Part]) -> Parts {
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
    merged
}

/// Writes a list between `m![` and `]`. Neighbours that make one digit are one.
pub fn text_of(parts: &[Part]) -> String {
    expr_of(parts, 1).to_string()
}

/// Writes a list that is padded to a number of positions.
pub fn padded_text(parts: &[Part], positions: usize) -> String {
    expr_of(parts, positions).to_string()
}

/// The value of a list that is padded to a number of positions, or of the list if it has as many.
pub fn expr_of(parts: &[Part], positions: usize) -> &'static Expr {
    let outermost_first = merged(parts).into_iter().map(Part::expr).rev();
    let list = outermost_first.reduce(|inner, outer| pair(outer, inner));
    let list = list.unwrap_or(&Expr::Identity);
    if size_of(parts) < positions { kept(Expr::Padding(list, positions)) } else { list }
}

/// An axis cut in two: those of its digits from a number of coordinates on, and those below. The new axes have the name
/// of the old one with a number behind it. `None`: the axis is no multiple of the number.
pub fn split_axis(axis: Axis, below: usize) -> Option<[Axis; 2]> {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    if !axis.size.is_multiple_of(below) {
        return None;
    }
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut named = |number: usize, size| {
        let name = format!("{}{number}", axis.name);
        let known = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(String::leak(name));
            names.len() - 1
        });
        Axis { name: Ident::new(names[known]), size }
    };
    Some([named(0, axis.size / below), named(1, below)])
}

/// A mapping with another axis in the place of one.
pub fn with_axis(expr: &'static Expr, from: Axis, to: Axis) -> &'static Expr {
    let again = |inner: &'static Expr| with_axis(inner, from, to);
    match *expr {
        Expr::Symbol(axis) if axis == from => kept(Expr::Symbol(to)),
        Expr::Identity | Expr::Symbol(_) => expr,
        Expr::Stride(inner, n) => kept(Expr::Stride(again(inner), n)),
        Expr::Modulo(inner, n) => kept(Expr::Modulo(again(inner), n)),
        Expr::Resize(inner, n) => kept(Expr::Resize(again(inner), n)),
        Expr::Padding(inner, n) => kept(Expr::Padding(again(inner), n)),
        Expr::Margin(inner, lead, trail) => kept(Expr::Margin(again(inner), lead, trail)),
        Expr::Pair(outer, inner) => kept(Expr::Pair(again(outer), again(inner))),
    }
}

/// The value of one list outside of another one.
pub fn pair(outer: &'static Expr, inner: &'static Expr) -> &'static Expr {
    match (outer, inner) {
        (Expr::Identity, list) | (list, Expr::Identity) => list,
        // The comma is associative, and lists are written from the right.
        (Expr::Pair(first, rest), _) => kept(Expr::Pair(first, pair(rest, inner))),
        _ => kept(Expr::Pair(outer, inner)),
    }
}

/// A value that lives as long as the program. Equal ones are made once.
fn kept(expr: Expr) -> &'static Expr {
    static KEPT: Mutex<BTreeMap<String, &'static Expr>> = Mutex::new(BTreeMap::new());
    // Names of axes do not tell their sizes, but the text for programmers has both.
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(format!("{expr:?}")).or_insert_with(|| Box::leak(Box::new(expr)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::M;
    use furiosa_visa_std::prelude::{axes, m};

    axes![A = 12, B = 8, C = 5];

    fn axis(expr: &Expr) -> Axis {
        match expr {
            Expr::Symbol(axis) => *axis,
            other => panic!("{other} is no axis"),
        }
    }

    /// Equal values are one value, which is what maps by address need.
    #[test]
    fn lists_are_kept_once() {
        let parts = parts_of(<m![A, B % 4 # 8]>::EXPR).expect("digits");
        let [one, two] = [expr_of(&parts, 1), expr_of(&parts, 1)];
        assert!(core::ptr::eq(one, two));
        assert_eq!(one.to_string(), "A, B % 4 # 8");
        assert_eq!(expr_of(&parts, 128).to_string(), "[A, B % 4 # 8] # 128");
        assert_eq!(expr_of(&[], 1), &Expr::Identity);
        let long = pair(<m![A, B]>::EXPR, <m![C]>::EXPR);
        assert_eq!((long.to_string().as_str(), long), ("A, B, C", <m![A, B, C]>::EXPR));
        assert_eq!(pair(&Expr::Identity, long), long);
    }

    #[test]
    fn digits_that_share_coordinates() {
        let part = |expr: &Expr| parts_of(expr).expect("digits")[0];
        let digit = part(<m![B / 2 % 2]>::EXPR).digit.expect("a digit");
        for (expr, overlaps) in [
            (<m![B]>::EXPR, true),
            (<m![B % 4]>::EXPR, true),
            (<m![B % 2]>::EXPR, false),
            (<m![B / 4]>::EXPR, false),
            (<m![A]>::EXPR, false),
            (<m![1 # 4]>::EXPR, false),
        ] {
            assert_eq!(part(expr).overlaps(&digit), overlaps, "{expr}");
        }
    }

    #[test]
    fn an_axis_becomes_two_or_a_longer_one() {
        let a = axis(<m![A]>::EXPR);
        let [outer, inner] = split_axis(a, 4).expect("4 divides 12");
        assert_eq!((outer.name.as_str(), outer.size, inner.name.as_str(), inner.size), ("A0", 3, "A1", 4));
        assert_eq!(split_axis(a, 5), None);
        let longer = Axis { size: 16, ..a };
        let expr = with_axis(<m![B, A # 16 / 4, C]>::EXPR, a, longer);
        let parts = parts_of(expr).expect("digits");
        assert_eq!((expr.to_string().as_str(), size_of(&live(&parts))), ("B, A # 16 / 4, C", 8 * 4 * 5));
        // Another axis of the same name stays.
        assert_eq!(with_axis(expr, a, inner), expr);
    }
}
