//! Variables that decide about padding by themselves.
//!
//! ```text
//!   m![A / 16 # 4], m![A % 16] with A = 48       v0 alone: position 3 is padding for every v1
//!   m![A # 48 / 16], m![A # 48 % 16] with A = 40 v0 and v1 together: the last part has 8 live positions
//! ```

use super::{GUARD_SUMS, Guard, GuardDigit};
use crate::mapping::gcd;

/// The most variables of a guard that this module supports.
const VARIABLES: usize = 5;

/// Per variable, a divisor of all changes of the sum if only the variable changes. 0: the sum does not change.
type Influence = [usize; VARIABLES];

/// The influence of a digit on its sum, per variable.
const fn influence(guard: &Guard, known: &[Influence; GUARD_SUMS], digit: &GuardDigit) -> Influence {
    let mut found = [0; VARIABLES];
    if digit.extent <= 1 || digit.weight == 0 {
        return found;
    }
    if digit.variable < guard.variables {
        found[digit.variable] = digit.weight;
        return found;
    }
    let before = &known[digit.variable - guard.variables];
    each!(v < guard.variables, {
        // Steps over whole periods of the digit leave it as it is.
        let whole = match digit.base.checked_mul(digit.extent) {
            Some(period) => before[v].is_multiple_of(period),
            None => before[v] == 0,
        };
        if !whole {
            found[v] = digit.weight;
        }
    });
    found
}

/// The influences on each sum, in order.
const fn influences(guard: &Guard) -> [Influence; GUARD_SUMS] {
    assert!(guard.variables <= VARIABLES, "a tensor has at most five dimensions");
    let mut known = [[0; VARIABLES]; GUARD_SUMS];
    each!(k < guard.sums.len(), {
        let sum = guard.sums.at(k);
        each!((d = sum.first) < sum.first + sum.len, {
            let added = influence(guard, &known, guard.digits.get(d));
            each!(v < guard.variables, {
                known[k][v] = gcd(known[k][v], added[v]);
            });
        });
    });
    known
}

impl Guard {
    /// True if a variable and the others decide about padding independently: a position is live if
    /// [`Self::holds_alone`] is true of the variable and the rest is live beside any such value. Supports up to five
    /// variables.
    pub const fn is_alone(&self, variable: usize) -> bool {
        let known = influences(self);
        each!(k < self.sums.len(), {
            let sum = self.sums.at(k);
            let tested = sum.start > 0 || sum.limit != usize::MAX;
            if tested && known[k][variable] != 0 {
                each!(v < self.variables, {
                    if v != variable && known[k][v] != 0 {
                        return false;
                    }
                });
            }
        });
        true
    }

    /// True if there are live positions at a value of a variable that [is alone](Self::is_alone).
    pub fn holds_alone(&self, variable: usize, value: usize) -> bool {
        let known = influences(self);
        let mut values = [0usize; GUARD_SUMS];
        for (k, sum) in self.sums.iter().enumerate() {
            let digits = &self.digits.as_slice()[sum.first..sum.first + sum.len];
            let part = |digit: &GuardDigit| {
                let at = match digit.variable.checked_sub(self.variables) {
                    Some(earlier) => values[earlier],
                    None if digit.variable == variable => value,
                    None => 0,
                };
                at / digit.base % digit.extent * digit.weight
            };
            let total: usize = digits.iter().map(part).sum();
            if known[k][variable] != 0
                && (0..self.variables).all(|v| v == variable || known[k][v] == 0)
                && !sum.holds(total)
            {
                return false;
            }
            values[k] = total.saturating_sub(sum.start);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::mapping::{M, liveness_of};
    use crate::prelude::{axes, m};

    axes![A = 40, B = 3, C = 5];

    #[track_caller]
    fn alone<X: M, Y: M>() -> bool {
        let guard = liveness_of(&[X::EXPR, Y::EXPR]).expect("few digits");
        let lives = |x: usize, y: usize| guard.holds(&[x, y]);
        let alone = guard.is_alone(0);
        // Checks by positions: every row is padding only, or equal to every other row with an element.
        let rows: Vec<Vec<bool>> =
            (0..X::SIZE).map(|x| (0..Y::SIZE).map(|y| lives(x, y)).collect()).collect();
        let full = rows.iter().find(|row| row.contains(&true)).expect("there is an element");
        let same = rows.iter().all(|row| row == full || !row.contains(&true));
        assert_eq!(alone, same, "{} and {}", X::EXPR, Y::EXPR);
        if alone {
            for (x, row) in rows.iter().enumerate() {
                assert_eq!(guard.holds_alone(0, x), row.contains(&true), "{x} of {}", X::EXPR);
            }
        }
        alone
    }

    #[test]
    fn a_part_of_a_ragged_axis_is_not_alone() {
        assert!(!alone::<m![A # 48 / 16 # 4], m![A # 48 % 16]>());
        assert!(alone::<m![A / 8 # 7], m![A % 8]>());
        assert!(alone::<m![A / 8 # 7], m![A % 8 # 10, B # 4]>());
        assert!(alone::<m![# 2 + B + # 1], m![A # 64]>());
        assert!(alone::<m![1 # 2], m![A, C # 8]>());
        assert!(alone::<m![1], m![[A, B] # 128]>());
        assert!(!alone::<m![[A, B] # 128 / 64], m![[A, B] # 128 % 64]>());
        // A product that is cut between its padded digits, and one that is cut inside a digit.
        assert!(alone::<m![[B, C # 8] / 8], m![[B, C # 8] % 8]>());
        assert!(alone::<m![[B, C # 8] / 8 # 4], m![[B, C # 8] % 8]>());
        assert!(!alone::<m![[B, C # 8] / 4], m![[B, C # 8] % 4]>());
    }

    #[test]
    fn the_other_variable_may_be_ragged_by_itself() {
        let guard = liveness_of(&[<m![B]>::EXPR, <m![A # 48 / 16]>::EXPR, <m![A # 48 % 16]>::EXPR]);
        let guard = guard.expect("few digits");
        assert_eq!([0, 1, 2].map(|variable| guard.is_alone(variable)), [true, false, false]);
    }
}
