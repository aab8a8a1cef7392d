//! Number of live positions, without a look at each.
//!
//! Variables are cut where the digits of the guard begin and end. A part that no sum depends on counts in full. A sum
//! whose parts no other sum uses counts by the number of values in its range:
//!
//! ```text
//!   m![A # 16, B], A = 15, B = 4        variable 0..64 = 16 x 4        15 of the 16 values of the sum, times 4
//! ```

use super::{Guard, GuardDigit};
use crate::sorting;

/// Limit of steps; a longer count is given up.
const MOST_STEPS: usize = 1 << 12;
/// The most parts of variables.
const MOST_PARTS: usize = 64;

/// A part of a variable that takes all of `values` values.
#[derive(Clone, Copy, Debug)]
struct VariablePart {
    variable: usize,
    /// Positions of the variable per value.
    base: usize,
    values: usize,
    /// True if a sum has counted it.
    counted: bool,
}

impl Guard {
    /// Number of live tuples of variables, each below its size. `None` if only a look at each tuple can tell.
    pub fn count(&self, sizes: &[usize]) -> Option<u128> {
        debug_assert_eq!(sizes.len(), self.variables, "one size per variable");
        let all = || product(sizes.iter().copied());
        if self.sums.is_empty() || sizes.contains(&0) {
            return Some(all());
        }
        let sizes = &self.within(sizes)[..];
        if sizes.contains(&0) {
            return Some(0);
        }
        let digits: Vec<GuardDigit> =
            self.digits.iter().map(|digit| self.of_a_variable(*digit, sizes)).collect::<Option<_>>()?;
        let mut parts = Vec::new();
        for (variable, &size) in sizes.iter().enumerate() {
            cut(&digits, variable, size, &mut parts)?;
        }
        let mut sums: Vec<Sum> = Vec::new();
        for bound in &self.sums {
            if bound.limit == usize::MAX && bound.start == 0 {
                continue;
            }
            let mut sum = Sum { terms: Vec::new(), start: bound.start as u128, end: bound.end() as u128 };
            for digit in &digits[bound.first..bound.first + bound.len] {
                let end = digit.base.saturating_mul(digit.extent);
                for (number, part) in
                    parts.iter().enumerate().filter(|(_, part)| part.variable == digit.variable)
                {
                    if (digit.base..end).contains(&part.base) && digit.weight > 0 {
                        sum.add(
                            number,
                            (digit.weight as u128).saturating_mul((part.base / digit.base) as u128),
                            part.values,
                        );
                    }
                }
            }
            sorting::by(&mut sum.terms, |a, b| b.weight.cmp(&a.weight).then(a.part.cmp(&b.part)));
            if sum.holds_always() {
                continue;
            }
            // Two tests of the same sum are merged.
            match sums.iter_mut().find(|other| other.terms == sum.terms) {
                Some(other) => {
                    (other.start, other.end) = (other.start.max(sum.start), other.end.min(sum.end))
                }
                None => sums.push(sum),
            }
        }
        let mut count = 1u128;
        for sum in &sums {
            for term in &sum.terms {
                // A second sum depends on the same part.
                if core::mem::replace(&mut parts[term.part].counted, true) {
                    return None;
                }
            }
            count = count.saturating_mul(sum.count()?);
        }
        let free = parts.iter().filter(|part| !part.counted);
        Some(free.fold(count, |count, part| count.saturating_mul(part.values as u128)))
    }

    /// The sizes of variables, cut to the last value that tests of one variable alone allow.
    fn within(&self, sizes: &[usize]) -> Vec<usize> {
        let mut sizes = sizes.to_vec();
        for sum in &self.sums {
            let &[GuardDigit { variable, base, extent, weight }] =
                &self.digits.as_slice()[sum.first..sum.first + sum.len]
            else {
                continue;
            };
            let Some(size) = sizes.get_mut(variable) else { continue };
            if weight > 0 && *size <= base.saturating_mul(extent) {
                *size = (*size).min(sum.end().div_ceil(weight).saturating_mul(base));
            }
        }
        sizes
    }

    /// A digit of a given variable. A digit of an earlier sum becomes one of a variable if the sum is a single plain
    /// digit. `None` if it is not, or if the digit refers to no sum before it, as in a command that was built by hand.
    fn of_a_variable(&self, digit: GuardDigit, sizes: &[usize]) -> Option<GuardDigit> {
        let Some(earlier) = digit.variable.checked_sub(self.variables) else { return Some(digit) };
        let sum = self.sums.as_slice().get(earlier)?;
        let &[inner] = &self.digits.as_slice()[sum.first..sum.first + sum.len] else { return None };
        if inner.variable >= digit.variable {
            return None;
        }
        let inner = self.of_a_variable(inner, sizes)?;
        let goes_round = sizes[inner.variable] > inner.base.saturating_mul(inner.extent);
        let base = inner.base.saturating_mul(digit.base);
        (sum.start == 0 && inner.weight == 1 && !goes_round).then_some(GuardDigit {
            variable: inner.variable,
            base,
            ..digit
        })
    }
}

/// Cuts a variable where its digits begin and end. `None` if the digits do not nest.
fn cut(digits: &[GuardDigit], variable: usize, size: usize, parts: &mut Vec<VariablePart>) -> Option<()> {
    let mut places = vec![1];
    for digit in digits.iter().filter(|digit| digit.variable == variable) {
        let ends = [digit.base, digit.base.saturating_mul(digit.extent)];
        places.extend(ends.into_iter().filter(|&at| at < size));
    }
    sorting::ascending(&mut places);
    places.dedup();
    if parts.len() + places.len() > MOST_PARTS {
        return None;
    }
    for (k, &base) in places.iter().enumerate() {
        let end = places.get(k + 1).copied().unwrap_or(size);
        if !end.is_multiple_of(base) {
            return None;
        }
        parts.push(VariablePart { variable, base, values: end / base, counted: false });
    }
    Some(())
}

/// The product, saturated at the greatest number.
fn product(sizes: impl Iterator<Item = usize>) -> u128 {
    sizes.fold(1, |product, size| product.saturating_mul(size as u128))
}

/// Contribution of one value of a part to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Contribution {
    weight: u128,
    part: usize,
    values: usize,
}

impl Contribution {
    /// The most that it adds.
    fn most(&self) -> u128 {
        self.weight.saturating_mul(self.values as u128 - 1)
    }
}

/// A sum that must lie in a range.
#[derive(Clone, Debug)]
struct Sum {
    /// The terms, heaviest first.
    terms: Vec<Contribution>,
    start: u128,
    end: u128,
}

impl Sum {
    fn add(&mut self, part: usize, weight: u128, values: usize) {
        match self.terms.iter_mut().find(|term| term.part == part) {
            Some(term) => term.weight = term.weight.saturating_add(weight),
            None => self.terms.push(Contribution { weight, part, values }),
        }
    }

    /// True if all values of the parts make a sum in the range.
    fn holds_always(&self) -> bool {
        let most = self.terms.iter().fold(0, |most: u128, term| most.saturating_add(term.most()));
        self.start == 0 && most < self.end
    }

    /// Number of value tuples of the parts whose sum is in the range.
    fn count(&self) -> Option<u128> {
        let mut steps = MOST_STEPS;
        let end = below(&self.terms, self.end, &mut steps)?;
        Some(end.saturating_sub(below(&self.terms, self.start.min(self.end), &mut steps)?))
    }
}

/// Number of value tuples whose sum is below a limit.
fn below(terms: &[Contribution], limit: u128, steps: &mut usize) -> Option<u128> {
    *steps = steps.checked_sub(1)?;
    if limit == 0 {
        return Some(0);
    }
    let Some((&Contribution { weight, values, .. }, rest)) = terms.split_first() else { return Some(1) };
    let most = rest.iter().map(Contribution::most).fold(0, u128::saturating_add);
    let all = product(rest.iter().map(|term| term.values));
    // `full` values leave room for every sum of the rest, `some` values for at least one.
    let full = if limit > most { ((limit - most - 1) / weight + 1).min(values as u128) } else { 0 };
    let some = limit.div_ceil(weight).min(values as u128);
    let mut count = full.saturating_mul(all);
    for value in full..some {
        count = count.saturating_add(below(rest, limit - value * weight, steps)?);
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{GuardSum, M, liveness_of};
    use crate::prelude::{axes, m};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    axes![A = 15, B = 6, K = 12, N = 1000];

    fn counted<Slice: M, Element: M>() -> (Option<u128>, u128) {
        let guard = liveness_of(&[Slice::EXPR, Element::EXPR]).expect("few digits");
        let live = |slice| (0..Element::SIZE).filter(|&k| guard.holds(&[slice, k])).count() as u128;
        (guard.count(&[Slice::SIZE, Element::SIZE]), (0..Slice::SIZE).map(live).sum())
    }

    #[test]
    fn mappings_are_counted_at_once() {
        let counts = [
            counted::<m![1], m![B, K # 16]>(),
            counted::<m![A # 16], m![B # 8, K]>(),
            counted::<m![A # 16 / 4 # 6], m![A # 16 % 4]>(),
            counted::<m![A # 16 / 4 # 6], m![A # 16 % 4 # 8, K # 16]>(),
            counted::<m![N / 8 # 256], m![N % 8, K # 16]>(),
            counted::<m![1], m![# 2 + B + # 8, K # 16]>(),
            counted::<m![N = 990 # 992 / 8 # 256], m![N = 990 # 992 % 8, B]>(),
        ];
        for (number, (found, expected)) in counts.into_iter().enumerate() {
            assert_eq!(found, Some(expected), "mapping {number}");
        }
        assert_eq!(Guard::always(2).count(&[7, 9]), Some(63));
        assert_eq!(Guard::always(2).count(&[7, 0]), Some(0));
    }

    /// Digits of sums that do not exist, and sums of themselves: commands that are built by hand may have them.
    #[test]
    fn sums_that_mean_nothing_are_not_counted() {
        for variable in [1, 2, 3, usize::MAX] {
            let mut guard = Guard::always(1);
            guard.digits.push(GuardDigit { variable, base: 1, extent: 4, weight: 1 });
            guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit: 3 });
            assert_eq!(guard.count(&[8]), None, "{variable}");
        }
    }

    #[test]
    fn random_guards_are_counted_right_or_not_at_all() {
        let mut random = SmallRng::seed_from_u64(5);
        let mut told = 0;
        for case in 0..4000 {
            let mut guard = Guard::always(3);
            for k in 0..random.random_range(0..3) {
                let first = guard.digits.len();
                for _ in 0..random.random_range(1..4) {
                    let variables = if random.random_bool(0.1) { 3 + k } else { 3 };
                    guard.digits.push(GuardDigit {
                        variable: random.random_range(0..variables),
                        base: [1, 1, 2, 3, 4][random.random_range(0..5)],
                        extent: random.random_range(1..6),
                        weight: random.random_range(0..6),
                    });
                }
                let start = if random.random_bool(0.3) { random.random_range(1..4) } else { 0 };
                let limit = if random.random_bool(0.1) { usize::MAX } else { random.random_range(1..14) };
                guard.sums.push(GuardSum { first, len: guard.digits.len() - first, start, limit });
            }
            let sizes = [random.random_range(1..4), random.random_range(1..9), 12];
            let positions = (0..sizes[0] * sizes[1] * sizes[2])
                .map(|k| [k / (sizes[1] * sizes[2]), k / sizes[2] % sizes[1], k % sizes[2]]);
            let expected = positions.filter(|position| guard.holds(position)).count() as u128;
            if let Some(count) = guard.count(&sizes) {
                assert_eq!(count, expected, "case {case}: {guard:?}, {sizes:?}");
                told += 1;
            }
        }
        assert!(told > 2000, "{told} are counted");
    }
}
