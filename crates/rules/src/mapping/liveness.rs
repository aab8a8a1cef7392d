//! Liveness: the positions that hold an element, from mappings to the conditions that commands carry.

use super::expr::Expr;
use super::factor::{Factor, Factors, Problem};
use super::normal::factorize;
use super::term::{Atom, Composite, Pool, Term};
use crate::error::PlanError;
use crate::list::List;
use crate::mapping::{Guard, GuardDigit, GuardMappings, GuardSum};

/// A digit of an atom, with the variable that it is read from.
#[derive(Clone, Copy)]
struct Item {
    term: Term,
    digit: GuardDigit,
    /// The greatest value of the digit.
    max: usize,
    /// True if it is a digit of the atom whose sum is made.
    in_sum: bool,
}

/// Collects the digits that index variables add to axes, and makes a [`Guard`] of them.
#[derive(Clone, Copy)]
pub struct GuardBuilder {
    guard: Guard,
    items: List<Item, 32>,
}

impl GuardBuilder {
    /// A guard over this many variables.
    pub const fn new(variables: usize) -> Self {
        const NO_ITEMS: List<Item, 32> = {
            let digit = GuardDigit { variable: 0, base: 1, extent: 1, weight: 0 };
            let term = Term { atom: Atom::Composite(Composite::NONE), stride: 1, modulo: 1 };
            List::new(Item { term, digit, max: 0, in_sum: false })
        };
        Self { guard: Guard::always(variables), items: NO_ITEMS }
    }

    /// Declares a variable as the position in this mapping.
    pub const fn mapping(mut self, variable: usize, factors: &Factors) -> Self {
        self.factors(variable, factors.as_slice());
        self
    }

    /// [`Self::digit`] in place.
    pub const fn push_digit(&mut self, variable: usize, atom: Atom, stride: usize, max: usize) {
        let digit = GuardDigit { variable, base: 1, extent: max + 1, weight: stride };
        let term = Term { atom, stride, modulo: max + 1 };
        self.items.push(Item { term, digit, max, in_sum: false });
    }

    /// Declares a variable, from 0 to `max`, as a digit of an atom with this stride.
    pub const fn digit(mut self, variable: usize, atom: Atom, stride: usize, max: usize) -> Self {
        self.push_digit(variable, atom, stride, max);
        self
    }

    /// Requires that a weighted sum of variables is less than `limit`. `parts` holds (variable, size, weight).
    pub const fn limit(mut self, parts: &[(usize, usize, usize)], limit: usize) -> Self {
        let first = self.guard.digits.len;
        each!(k < parts.len(), {
            let (variable, extent, weight) = parts[k];
            self.guard.digits.push(GuardDigit { variable, base: 1, extent, weight });
        });
        self.guard.sums.push(GuardSum { first, len: parts.len(), start: 0, limit });
        self
    }

    const fn sum_of_one(&mut self, digit: GuardDigit, limit: usize) -> usize {
        let first = self.guard.digits.len;
        self.guard.digits.push(digit);
        self.guard.sums.push(GuardSum { first, len: 1, start: 0, limit });
        self.guard.variables + self.guard.sums.len - 1
    }

    const fn factors(&mut self, variable: usize, factors: &[Factor]) {
        let total = super::factor::size_of_factors(factors);
        // Where a period is not a multiple of a digit's base, the digit is read from the remainder.
        let mut variable = variable;
        let mut period = total;
        each_back!(k < factors.len(), {
            let base = super::factor::size_of_factors(factors.split_at(k).0);
            match factors[k] {
                Factor::Padding { size, .. } => {
                    let digit = GuardDigit { variable, base: 1, extent: size, weight: 1 };
                    let remainder = self.sum_of_one(digit, base);
                    if !size.is_multiple_of(last_base(factors, k)) {
                        variable = remainder;
                    }
                    period = size;
                }
                Factor::Term { term, resize } => {
                    let extent = if period.is_multiple_of(base) { period / base } else { usize::MAX };
                    let digit = GuardDigit { variable, base, extent, weight: term.stride };
                    self.items.push(Item { term, digit, max: resize - 1, in_sum: false });
                    period = base;
                }
            }
        });
    }

    /// Adds the sum of all digits of an atom, with bounds if the digits can reach them. Returns the sum as a variable.
    const fn sum_of_atom(&mut self, pool: &Pool, atom: &Atom, always: bool) -> Option<usize> {
        let start = match atom {
            Atom::Composite(composite) => composite.lead,
            Atom::Symbol(_) => 0,
        };
        let limit = pool.atom_size(atom) - start;
        let mut max = 0;
        each!(k < self.items.len, {
            let item = &mut self.items.items[k];
            item.in_sum = item.term.atom.is(atom);
            if item.in_sum {
                max += item.max * item.digit.weight;
            }
        });
        let needed = start > 0 || max >= limit;
        let first = self.guard.digits.len;
        let mut len = 0;
        let mut others = 0;
        each!(k < self.items.len, {
            if !self.items.items[k].in_sum {
                self.items.items[others] = self.items.items[k];
                others += 1;
            } else if needed || always {
                self.guard.digits.push(self.items.items[k].digit);
                len += 1;
            }
        });
        self.items.len = others;
        if needed || always {
            let limit = if needed { limit } else { usize::MAX };
            self.guard.sums.push(GuardSum { first, len, start, limit });
            return Some(self.guard.variables + self.guard.sums.len - 1);
        }
        None
    }

    const fn last_composite(&self) -> Option<Composite> {
        let mut found: Option<Composite> = None;
        each!(k < self.items.len, {
            if let Atom::Composite(composite) = self.items.items[k].term.atom {
                found = match found {
                    Some(other) if other.start >= composite.start => Some(other),
                    _ => Some(composite),
                };
            }
        });
        found
    }

    /// The guard. `None` if it does not fit its fixed capacity.
    pub const fn build(mut self, pool: &Pool) -> Option<Guard> {
        // The newest composite cannot be inside another one.
        while let Some(composite) = self.last_composite() {
            let atom = Atom::Composite(composite);
            if let Some(variable) = self.sum_of_atom(pool, &atom, true) {
                self.factors(variable, pool.content(composite));
            }
        }
        while self.items.len > 0 && !self.items.overflowed {
            let atom = self.items.items[0].term.atom;
            self.sum_of_atom(pool, &atom, false);
        }
        if self.items.overflowed || self.guard.digits.overflowed || self.guard.sums.overflowed {
            return None;
        }
        each!(k < self.guard.sums.len, {
            if self.guard.sums.items[k].limit != usize::MAX {
                return Some(self.guard);
            }
        });
        Some(Guard::always(self.guard.variables))
    }
}

/// The position stride of the outermost term in the first `count` factors.
const fn last_base(factors: &[Factor], count: usize) -> usize {
    each_back!(k < count, {
        if let Factor::Term { .. } = factors[k] {
            return super::factor::size_of_factors(factors.split_at(k).0);
        }
    });
    1
}

/// Condition for live positions of dimensions whose positions are variables 0, 1, … in order.
pub const fn liveness(pool: &Pool, dimensions: &[&Factors]) -> Option<Guard> {
    let mut builder = GuardBuilder::new(dimensions.len());
    each!(k < dimensions.len(), {
        builder = builder.mapping(k, dimensions[k]);
    });
    builder.build(pool)
}

/// [`liveness`] of expressions.
///
/// A dimension that is padded at its outer end only, or not at all, needs no factors: each position inside is live, and
/// so is every combination. Nearly every tensor is of this kind, and const evaluation is slow.
pub const fn liveness_of(dimensions: &[&'static Expr]) -> Option<Guard> {
    let mut guard = match simple(dimensions) {
        Some(guard) => guard,
        None => match complete(dimensions) {
            Some(guard) => guard,
            None => return None,
        },
    };
    guard.mappings = GuardMappings::new(dimensions);
    Some(guard)
}

/// As [`liveness_of`], or the refusal of a call.
pub const fn guard_of(operation: &'static str, dimensions: &[&'static Expr]) -> Result<Guard, PlanError> {
    match liveness_of(dimensions) {
        Some(guard) => Ok(guard),
        None => Err(PlanError::mapping(operation, Problem::TooManyFactors)),
    }
}

const fn complete(dimensions: &[&'static Expr]) -> Option<Guard> {
    let mut pool = Pool::new();
    let mut builder = GuardBuilder::new(dimensions.len());
    each!(k < dimensions.len(), {
        let factors = factorize(&mut pool, dimensions[k]);
        builder = builder.mapping(k, &factors);
    });
    builder.build(&pool)
}

const fn simple(dimensions: &[&'static Expr]) -> Option<Guard> {
    let mut guard = Guard::always(dimensions.len());
    each!(k < dimensions.len(), {
        let inner = match dimensions[k] {
            Expr::Padding(inner, size) => {
                let limit = inner.size();
                if limit == 0 {
                    return None;
                }
                if *size > limit {
                    let first = guard.digits.len;
                    guard.digits.push(GuardDigit { variable: k, base: 1, extent: *size, weight: 1 });
                    guard.sums.push(GuardSum { first, len: 1, start: 0, limit });
                }
                inner
            }
            inner => inner,
        };
        if !matches!(inner, Expr::Identity | Expr::Symbol(_)) && !is_exact(inner) {
            return None;
        }
    });
    Some(guard)
}

/// True if an expression has neither padding nor cut-off positions.
const fn is_exact(expr: &Expr) -> bool {
    match expr {
        Expr::Identity | Expr::Symbol(_) => true,
        Expr::Stride(inner, _) | Expr::Modulo(inner, _) => is_exact(inner),
        // Most members of a list are axes.
        Expr::Pair(left, Expr::Symbol(_)) => is_exact(left),
        Expr::Pair(Expr::Symbol(_), right) => is_exact(right),
        Expr::Pair(left, right) => is_exact(left) && is_exact(right),
        Expr::Resize(..) | Expr::Padding(..) | Expr::Margin(..) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Axis, Ident, Index};

    const A: &Expr = &Expr::Symbol(Axis { name: Ident::new("A"), size: 15 });
    const B: &Expr = &Expr::Symbol(Axis { name: Ident::new("B"), size: 3 });

    /// Compares the guard with the union of the maps for every position tuple.
    fn check(dimensions: &[&'static Expr]) {
        let mut pool = Pool::new();
        let factors: Vec<Factors> = dimensions.iter().map(|expr| factorize(&mut pool, expr)).collect();
        let guard = liveness(&pool, &factors.iter().collect::<Vec<_>>()).expect("fits");
        let quick = liveness_of(dimensions).expect("fits");
        assert_eq!(quick.is_always(), guard.is_always());
        let sizes: Vec<usize> = factors.iter().map(Factors::size).collect();
        let total: usize = sizes.iter().product();
        for k in 0..total {
            let mut rest = k;
            let mut at = vec![0; sizes.len()];
            for d in (0..sizes.len()).rev() {
                at[d] = rest % sizes[d];
                rest /= sizes[d];
            }
            let live = dimensions
                .iter()
                .zip(&at)
                .fold(Index::new(), |sum, (expr, position)| sum.and(expr, *position))
                .is_valid();
            assert_eq!(guard.holds(&at), live, "{dimensions:?} at {at:?}: {guard:?}");
            assert_eq!(quick.holds(&at), live, "{dimensions:?} at {at:?}: {quick:?}");
        }
    }

    #[test]
    fn guards_agree_with_the_union_of_the_maps() {
        const A20: &Expr = &Expr::Padding(A, 20);
        const A16: &Expr = &Expr::Padding(A, 16);
        const AB: &Expr = &Expr::Pair(A, B);
        const AB64: &Expr = &Expr::Padding(AB, 64);
        const AB47: &Expr = &Expr::Padding(AB, 47);
        const BAB47: &Expr = &Expr::Pair(&Expr::Symbol(Axis { name: Ident::new("C"), size: 2 }), AB47);
        check(&[A]);
        check(&[A20]);
        check(&[&Expr::Stride(A20, 4), &Expr::Modulo(A20, 4)]);
        check(&[&Expr::Modulo(A16, 4), &Expr::Padding(&Expr::Stride(A16, 4), 6), B]);
        check(&[&Expr::Stride(AB64, 8), &Expr::Modulo(AB64, 8)]);
        check(&[AB47]);
        check(&[BAB47]);
        check(&[&Expr::Modulo(AB64, 4), &Expr::Padding(&Expr::Stride(AB64, 4), 18)]);
        check(&[&Expr::Resize(AB, 16), &Expr::Identity]);
        const PADDED_INSIDE: &Expr = &Expr::Pair(B, &Expr::Padding(A, 16));
        const CUT: &Expr = &Expr::Padding(PADDED_INSIDE, 50);
        check(&[&Expr::Stride(CUT, 10), &Expr::Modulo(CUT, 10)]);
    }

    #[test]
    fn leads() {
        const MARGIN: &Expr = &Expr::Margin(A, 2, 3);
        const UNIT: &Expr = &Expr::Margin(&Expr::Symbol(Axis { name: Ident::new("U"), size: 1 }), 2, 1);
        check(&[MARGIN]);
        check(&[&Expr::Margin(A, 0, 3), &Expr::Margin(B, 1, 0)]);
        check(&[&Expr::Stride(MARGIN, 4), &Expr::Modulo(MARGIN, 4)]);
        check(&[&Expr::Modulo(MARGIN, 10), B, &Expr::Padding(&Expr::Stride(MARGIN, 10), 3)]);
        check(&[&Expr::Pair(MARGIN, B), UNIT]);
        const GROUP: &Expr = &Expr::Margin(&Expr::Pair(B, MARGIN), 3, 7);
        check(&[GROUP]);
        check(&[&Expr::Stride(GROUP, 14), &Expr::Modulo(GROUP, 14)]);
        check(&[&Expr::Modulo(GROUP, 7), &Expr::Stride(GROUP, 7)]);
        // The first positions; only the last one holds an element.
        check(&[&Expr::Resize(MARGIN, 3)]);
    }

    /// The maps of these mappings are tested in `index.rs`.
    #[test]
    fn composites_of_one_element() {
        const U: &Expr = &Expr::Margin(&Expr::Symbol(Axis { name: Ident::new("U"), size: 1 }), 2, 1);
        const V: &Expr = &Expr::Margin(&Expr::Symbol(Axis { name: Ident::new("V"), size: 1 }), 2, 1);
        for (one, other) in [(U, V), (V, U)] {
            let leak = |expr: Expr| -> &'static Expr { Box::leak(Box::new(expr)) };
            let both = leak(Expr::Pair(one, other));
            check(&[both]);
            check(&[one, B, other]);
            let (high, low) = (|expr| leak(Expr::Stride(expr, 2)), |expr| leak(Expr::Modulo(expr, 2)));
            check(&[leak(Expr::Pair(high(one), high(other))), leak(Expr::Pair(low(other), low(one)))]);
            check(&[high(one), low(one), other, high(other), low(other)]);
            // A product of the two composites is cut like them.
            let padded = leak(Expr::Padding(both, 20));
            check(&[leak(Expr::Stride(padded, 4)), leak(Expr::Modulo(padded, 4))]);
            check(&[leak(Expr::Margin(both, 1, 3)), B]);
        }
    }

    #[test]
    fn padding_that_is_no_multiple_of_what_it_pads() {
        const A16: &Expr = &Expr::Padding(A, 16);
        const C: &Expr = &Expr::Symbol(Axis { name: Ident::new("C"), size: 2 });
        // 4 x 3 positions padded to 13, twice; the other part of A is another dimension.
        const BLOCK: &Expr = &Expr::Padding(&Expr::Pair(&Expr::Stride(A16, 4), B), 13);
        check(&[&Expr::Pair(C, BLOCK), &Expr::Modulo(A16, 4)]);
        const INNER: &Expr = &Expr::Padding(&Expr::Pair(B, &Expr::Modulo(A16, 4)), 13);
        check(&[&Expr::Stride(A16, 4), &Expr::Pair(C, INNER)]);
    }

    #[test]
    fn composites_inside_composites() {
        const C: &Expr = &Expr::Symbol(Axis { name: Ident::new("C"), size: 3 });
        const AB: &Expr = &Expr::Padding(&Expr::Pair(A, B), 48);
        const CUT: &Expr = &Expr::Padding(&Expr::Pair(C, &Expr::Stride(AB, 4)), 42);
        check(&[&Expr::Stride(CUT, 7), &Expr::Modulo(CUT, 7), &Expr::Modulo(AB, 4)]);
        check(&[&Expr::Modulo(AB, 4), &Expr::Modulo(CUT, 7), &Expr::Padding(&Expr::Stride(CUT, 7), 8)]);
    }

    #[test]
    fn padding_at_the_outer_end_only() {
        const C: &Expr = &Expr::Symbol(Axis { name: Ident::new("C"), size: 8 });
        const ONE: &Expr = &Expr::Identity;
        check(&[&Expr::Padding(A, 15), &Expr::Padding(ONE, 1)]);
        check(&[ONE, &Expr::Padding(ONE, 2), &Expr::Padding(&Expr::Stride(C, 2), 5), &Expr::Modulo(C, 2)]);
        check(&[
            &Expr::Padding(&Expr::Pair(B, &Expr::Stride(C, 4)), 6),
            &Expr::Padding(&Expr::Modulo(C, 4), 5),
        ]);
        check(&[&Expr::Stride(&Expr::Pair(B, C), 2), &Expr::Modulo(&Expr::Pair(B, C), 2)]);
    }

    #[test]
    fn digits_and_limits() {
        // v0 is A / 4 (0..4), v1 is A % 4: 4 * v0 + v1 < 15. v2 and v3 are cut from 5 values: 3 * v2 + v3 < 5.
        let Expr::Symbol(axis) = A else { unreachable!("A is an axis") };
        let atom = Atom::Symbol(*axis);
        let builder = GuardBuilder::new(4).digit(0, atom, 4, 3).digit(1, atom, 1, 3);
        let guard = builder.limit(&[(3, 3, 1), (2, 2, 3)], 5).build(&Pool::new()).expect("fits");
        for k in 0..4 * 4 * 2 * 3 {
            let v = [k / 24, k / 6 % 4, k / 3 % 2, k % 3];
            assert_eq!(guard.holds(&v), 4 * v[0] + v[1] < 15 && 3 * v[2] + v[3] < 5, "{v:?}");
        }
        // Without the last value of v0 every sum lies inside the axis.
        let builder = GuardBuilder::new(2).digit(0, atom, 4, 2).digit(1, atom, 1, 3);
        assert!(builder.build(&Pool::new()).expect("fits").is_always());
    }

    #[test]
    fn plain_tensors_take_the_quick_way() {
        const CUT: &Expr = &Expr::Modulo(&Expr::Stride(A, 5), 3);
        const PADDED: &Expr = &Expr::Padding(A, 16);
        const PLAIN: [&Expr; 4] =
            [A, CUT, &Expr::Padding(&Expr::Pair(A, CUT), 64), &Expr::Padding(&Expr::Identity, 2)];
        const OTHER: [&Expr; 4] =
            [&Expr::Stride(PADDED, 4), &Expr::Pair(PADDED, B), &Expr::Pair(B, PADDED), &Expr::Resize(A, 3)];
        for plain in PLAIN {
            assert!(simple(&[plain]).is_some(), "{plain}");
        }
        for other in OTHER {
            assert!(simple(&[B, other]).is_none() && simple(&[other, B]).is_none(), "{other}");
        }
    }

    /// The search for runs of live positions asks for the variable that a test depends on.
    #[test]
    fn digits_are_read_from_the_position_itself_where_they_can_be() {
        const A16: &Expr = &Expr::Padding(A, 16);
        const BLOCK: &Expr = &Expr::Pair(&Expr::Stride(A16, 4), B);
        for (size, from_remainder) in [(24, 0), (25, 1)] {
            let block: &'static Expr = Box::leak(Box::new(Expr::Padding(BLOCK, size)));
            let mut pool = Pool::new();
            let factors = [block, &Expr::Modulo(A16, 4)].map(|expr| factorize(&mut pool, expr));
            let guard = liveness(&pool, &[&factors[0], &factors[1]]).expect("fits");
            let sums = guard.digits.iter().filter(|digit| digit.variable >= guard.variables).count();
            assert_eq!(sums, from_remainder, "{guard:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_no_guard() {
        use crate::mapping::{GUARD_DIGITS, GUARD_SUMS};
        let Expr::Symbol(axis) = A else { unreachable!("A is an axis") };
        let pool = Pool::new();
        let new = || GuardBuilder::new(1);
        let digits =
            |count| (0..count).fold(new(), |builder, _| builder.digit(0, Atom::Symbol(*axis), 1, 14));
        assert!(
            digits(GUARD_DIGITS).build(&pool).is_some() && digits(GUARD_DIGITS + 1).build(&pool).is_none()
        );
        let parts = |count| new().limit(&vec![(0, 2, 1); count], 1).build(&pool);
        assert!(parts(GUARD_DIGITS).is_some() && parts(GUARD_DIGITS + 1).is_none());
        let sums = |count| (0..count).fold(new(), |builder, _| builder.limit(&[(0, 2, 1)], 1)).build(&pool);
        assert!(sums(GUARD_SUMS).is_some() && sums(GUARD_SUMS + 1).is_none());
    }

    #[test]
    fn a_full_mapping_needs_no_guard() {
        let mut pool = Pool::new();
        let low = factorize(&mut pool, &Expr::Modulo(A, 5));
        let high = factorize(&mut pool, &Expr::Stride(A, 5));
        assert!(liveness(&pool, &[&low, &high]).expect("fits").is_always());
    }
}
