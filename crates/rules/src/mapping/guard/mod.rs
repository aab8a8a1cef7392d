//! Conditions that tell live positions from padding.
//!
//! A position of a tensor is a tuple of *variables*: the indices of its dimensions, or the loop indices of a move. A
//! mapping leaves some positions without an element (padding). Without the types, a mapping is reduced to sums of
//! digits that must stay below a limit:
//!
//! ```text
//! m![A / 4 # 8] with A = 15, m![A % 4]      variables: v0 (0..8), v1 (0..4)
//!
//!   sum 0 = 4 * (v0 / 1 % 8) + 1 * (v1 / 1 % 4)     test: sum 0 < 15
//! ```
//!
//! A lead makes a sum start later:
//!
//! ```text
//! m![# 2 + B + # 4] with B = 90             variables: v0 (0..96)
//!
//!   sum 0 = v0              test: sum 0 < 92
//!   sum 1 = v0              test: 2 <= sum 1 < 2 + 90, and from here on it is counted from 2
//! ```
//!
//! A sum can be a variable of later digits. In this way a position inside a composite, a product that was cut across a
//! digit, is decoded.

mod alone;
mod coarse;
mod count;
pub mod rows;
pub mod split;

use crate::list::List;
use crate::mapping::{Expr, Ident, Index};
use core::fmt;

/// `weight * ((variable / base) % extent)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardDigit {
    /// A given variable, or, from [`Guard::variables`] on, the value of an earlier sum.
    pub variable: usize,
    /// Positions of the variable per step of this digit.
    pub base: usize,
    /// Number of values that this digit takes before it starts again.
    pub extent: usize,
    /// Increase of the sum per step of the digit.
    pub weight: usize,
}

impl GuardDigit {
    /// The most that the digit adds to its sum. A digit without a limit has the greatest extent.
    pub fn most(&self) -> usize {
        (self.extent - 1).saturating_mul(self.weight)
    }
}

/// A sum of consecutive digits of [`Guard::digits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardSum {
    /// The first digit.
    pub first: usize,
    /// The number of digits.
    pub len: usize,
    /// The least sum that is live. Later digits read the sum minus `start`.
    pub start: usize,
    /// The sum must be less than `start + limit`. `usize::MAX` for a sum that is only a variable of other digits.
    pub limit: usize,
}

impl GuardSum {
    /// True if a sum of this value is live.
    pub const fn holds(&self, total: usize) -> bool {
        total >= self.start && total - self.start < self.limit
    }

    /// The least value past the live ones, if there is one: `start + limit`.
    pub const fn end(&self) -> usize {
        self.start.saturating_add(self.limit)
    }
}

/// The most digits in a guard.
pub const GUARD_DIGITS: usize = 32;
/// The most sums in a guard.
pub const GUARD_SUMS: usize = 16;

/// A conjunction of tests over variables. Empty: every position is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The number of given variables.
    pub variables: usize,
    /// The digits, grouped by sum.
    pub digits: List<GuardDigit, GUARD_DIGITS>,
    /// The sums, in the order in which they can be evaluated.
    pub sums: List<GuardSum, GUARD_SUMS>,
    /// The mappings whose positions the variables are.
    pub mappings: GuardMappings,
}

/// The most variables whose mappings a guard remembers.
const NAMED_VARIABLES: usize = 5;

/// The mappings whose positions the variables of a guard are, so that messages can name an element by its axes.
///
/// They change nothing in the work of a command, so all of them are equal.
#[derive(Clone, Copy)]
pub struct GuardMappings([Option<&'static Expr>; NAMED_VARIABLES]);

impl GuardMappings {
    /// No known mapping, as in a command that was built by hand.
    pub const UNKNOWN: GuardMappings = GuardMappings([None; NAMED_VARIABLES]);

    /// The mappings of as many variables, in order. More than five are not remembered.
    pub const fn new(mappings: &[&'static Expr]) -> Self {
        let mut all = Self::UNKNOWN;
        match *mappings {
            // Most guards, without a loop.
            [a, b, c, d] => all.0 = [Some(a), Some(b), Some(c), Some(d), None],
            [a, b, c, d, e] => all.0 = [Some(a), Some(b), Some(c), Some(d), Some(e)],
            _ if mappings.len() > NAMED_VARIABLES => {}
            _ => each!(k < mappings.len(), {
                all.0[k] = Some(mappings[k]);
            }),
        }
        all
    }

    /// The mappings of the variables from `first` on, as text: `m![A / 4], m![A % 4]`. `None` if they are not known.
    pub fn text(&self, first: usize) -> Option<String> {
        let texts: Vec<_> =
            self.0.iter().skip(first).flatten().map(|mapping| format!("m![{mapping}]")).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// The known mappings, in order.
    pub fn known(&self) -> Vec<&'static Expr> {
        self.0.iter().flatten().copied().collect()
    }
}

impl PartialEq for GuardMappings {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for GuardMappings {}

impl fmt::Debug for GuardMappings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self.0.iter().flatten().map(|mapping| format!("m![{mapping}]"));
        f.debug_list().entries(texts).finish()
    }
}

/// The axes of a mapping, outermost first, each once.
pub fn axes(mapping: &'static Expr, found: &mut Vec<Ident>) {
    match mapping {
        Expr::Identity => {}
        Expr::Symbol(axis) if found.contains(&axis.name) => {}
        Expr::Symbol(axis) => found.push(axis.name),
        Expr::Stride(inner, _)
        | Expr::Modulo(inner, _)
        | Expr::Resize(inner, _)
        | Expr::Padding(inner, _)
        | Expr::Margin(inner, ..) => axes(inner, found),
        Expr::Pair(left, right) => [left, right].into_iter().for_each(|part| axes(part, found)),
    }
}

/// The smallest part of a mapping that has no element at a position, and the position in it.
fn padding_part(mapping: &'static Expr, position: usize) -> Option<(usize, &'static Expr)> {
    match mapping {
        Expr::Pair(left, right) => {
            let inner = right.checked_size().ok()?.max(1);
            padding_part(left, position / inner).or_else(|| padding_part(right, position % inner))
        }
        Expr::Padding(inner, _) if inner.checked_size().is_ok_and(|size| position < size) => {
            padding_part(inner, position)
        }
        _ => Index::at(mapping, position).is_none().then_some((position, mapping)),
    }
}

impl Guard {
    /// True if both are the same tests: `==` in const code.
    pub const fn is(&self, other: &Self) -> bool {
        if self.digits.len() != other.digits.len() || self.sums.len() != other.sums.len() {
            return false;
        }
        each!(k < self.digits.len(), {
            let (a, b) = (self.digits.at(k), other.digits.at(k));
            let same_place = a.variable == b.variable && a.base == b.base;
            if !same_place || a.extent != b.extent || a.weight != b.weight {
                return false;
            }
        });
        each!(k < self.sums.len(), {
            let (a, b) = (self.sums.at(k), other.sums.at(k));
            let same_digits = a.first == b.first && a.len == b.len;
            if !same_digits || a.start != b.start || a.limit != b.limit {
                return false;
            }
        });
        self.variables == other.variables
    }

    /// A guard that every position passes.
    pub const fn always(variables: usize) -> Self {
        const ALWAYS: Guard = Guard {
            variables: 0,
            digits: List::new(GuardDigit { variable: 0, base: 1, extent: 1, weight: 0 }),
            sums: List::new(GuardSum { first: 0, len: 0, start: 0, limit: usize::MAX }),
            mappings: GuardMappings::UNKNOWN,
        };
        let mut guard = ALWAYS;
        guard.variables = variables;
        guard
    }

    /// The element at a position, by its coordinates and by its place in the innermost mapping:
    /// `i![A: 3, B: 5], position 13 of m![A % 4, B # 8]`. `None` for padding, and if the mappings are not known.
    pub fn element(&self, variables: &[usize]) -> Option<String> {
        let (mut index, mut names) = (Index::new(), Vec::new());
        let mut innermost = None;
        for (&position, mapping) in variables.iter().zip(&self.mappings.0) {
            let mapping = (*mapping)?;
            index = index.union(&Index::at(mapping, position)?);
            axes(mapping, &mut names);
            innermost = Some((position, mapping));
        }
        let coordinate =
            |name: &Ident| Some(format!("{}: {}", name.as_str(), index.ident_value(*name).ok()?));
        let coordinates: Vec<String> = names.iter().map(coordinate).collect::<Option<_>>()?;
        let (position, mapping) = innermost?;
        Some(format!("i![{}], position {position} of m![{mapping}]", coordinates.join(", ")))
    }

    /// The place of a position without an element, by the part of a mapping whose padding it is in:
    /// `position 9 of m![A # 10]`, or by all mappings if only together they leave an axis. `None` if the mappings
    /// are not known.
    pub fn padding_part(&self, variables: &[usize]) -> Option<String> {
        let known = || variables.iter().zip(&self.mappings.0).filter_map(|(at, map)| Some((*at, (*map)?)));
        let text = |(position, part): (usize, &Expr)| format!("position {position} of m![{part}]");
        let part = known().find_map(|(position, mapping)| padding_part(mapping, position)).map(text);
        let all = || known().map(text).collect::<Vec<_>>().join(", ");
        part.or_else(|| Some(all()).filter(|all| !all.is_empty()))
    }

    /// True if every position is live.
    pub const fn is_always(&self) -> bool {
        self.sums.is_empty()
    }

    /// True if a position may be live, given only its first variables. True also if they do not suffice to decide.
    pub fn may_hold(&self, known: &[usize]) -> bool {
        self.may_hold_where(|variable| known.get(variable).copied())
    }

    /// The same, given one variable.
    pub fn may_hold_with(&self, variable: usize, value: usize) -> bool {
        self.may_hold_where(|other| (other == variable).then_some(value))
    }

    fn may_hold_where(&self, known: impl Fn(usize) -> Option<usize>) -> bool {
        self.sums.iter().all(|sum| {
            let (mut least, mut most) = (0usize, 0usize);
            for digit in &self.digits.as_slice()[sum.first..sum.first + sum.len] {
                let (low, high) = match known(digit.variable) {
                    Some(value) => {
                        let value = value / digit.base % digit.extent * digit.weight;
                        (value, value)
                    }
                    None => (0, digit.most()),
                };
                (least, most) = (least + low, most.saturating_add(high));
            }
            least < sum.end() && sum.start <= most
        })
    }

    /// True if the position is live. `variables` holds one value per given variable.
    #[inline]
    pub fn holds(&self, variables: &[usize]) -> bool {
        debug_assert_eq!(variables.len(), self.variables, "one value per variable");
        let mut values = [0usize; GUARD_SUMS];
        for (k, sum) in self.sums.iter().enumerate() {
            let mut total = 0;
            for digit in &self.digits.as_slice()[sum.first..sum.first + sum.len] {
                let value = if digit.variable < self.variables {
                    variables[digit.variable]
                } else {
                    values[digit.variable - self.variables]
                };
                total += value / digit.base % digit.extent * digit.weight;
            }
            if !sum.holds(total) {
                return false;
            }
            values[k] = total - sum.start;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joint_digits_of_one_axis() {
        // m![A / 4 # 8, A % 4] with A = 15 as two variables.
        let mut guard = Guard::always(2);
        guard.digits.push(GuardDigit { variable: 0, base: 1, extent: 8, weight: 4 });
        guard.digits.push(GuardDigit { variable: 1, base: 1, extent: 4, weight: 1 });
        guard.sums.push(GuardSum { first: 0, len: 2, start: 0, limit: 15 });
        assert!(guard.holds(&[3, 2]));
        assert!(!guard.holds(&[3, 3]));
        assert!(!guard.holds(&[4, 0]));
        let known: Vec<bool> = (0..8).map(|v| guard.may_hold(&[v])).collect();
        assert_eq!(known, [true, true, true, true, false, false, false, false]);
        guard.sums = Guard::always(2).sums;
        guard.sums.push(GuardSum { first: 0, len: 2, start: 2, limit: 12 });
        // The second sum is a digit of the first sum minus 2, its start.
        guard.digits.push(GuardDigit { variable: 2, base: 4, extent: 3, weight: 1 });
        guard.sums.push(GuardSum { first: 2, len: 1, start: 1, limit: 1 });
        for total in 0..16 {
            assert_eq!(guard.holds(&[total / 4, total % 4]), (6..10).contains(&total), "{total}");
        }
        // Test with v0 alone: 4 * v0 to 4 * v0 + 3 meets 2..14; the other test is open.
        assert!((0..4).all(|v| guard.may_hold(&[v])) && guard.may_hold(&[]) && !guard.may_hold(&[4]));
        guard.sums.set(0, GuardSum { start: 4, ..guard.sums.at(0) });
        assert!(!guard.may_hold(&[0]) && guard.may_hold(&[1]));
        assert!(Guard::always(2).holds(&[100, 100]));
    }
}
