//! Guards, evaluated a row of positions at a time.

use crate::command::{GUARD_SUMS, Guard};

/// Which positions of a row are live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// Every position.
    All,
    /// No position.
    Nothing,
    /// The ones that the mask names.
    Some,
}

/// A guard over rows along one of its variables.
#[derive(Clone, Debug)]
pub(crate) struct LiveRows {
    guard: Guard,
    /// The variable that runs along a row.
    axis: usize,
    len: usize,
    /// Per sum: what the axis adds, and the least and the most of it. `None` where it adds nothing.
    tables: Vec<Option<(Vec<usize>, usize, usize)>>,
    /// A later digit cuts up a sum that the axis has part in: positions are tested one by one.
    one_by_one: bool,
}

impl LiveRows {
    /// Rows of `len` values of the variable `axis`. An axis that the guard does not have leaves nothing mixed.
    pub(crate) fn new(guard: &Guard, axis: usize, len: usize) -> Self {
        let mut rows = Self { guard: *guard, axis, len, tables: Vec::new(), one_by_one: false };
        for sum in &guard.sums {
            let mut table: Option<(Vec<usize>, usize, usize)> = None;
            for digit in &guard.digits.as_slice()[sum.first..sum.first + sum.len] {
                if digit.variable == axis {
                    let (values, ..) = table.get_or_insert_with(|| (vec![0; len], 0, 0));
                    for (position, value) in values.iter_mut().enumerate() {
                        *value += position / digit.base % digit.extent * digit.weight;
                    }
                } else if digit.variable >= guard.variables {
                    rows.one_by_one |= rows.tables[digit.variable - guard.variables].is_some();
                }
            }
            if let Some((values, least, most)) = &mut table {
                *least = values.iter().copied().min().unwrap_or(0);
                *most = values.iter().copied().max().unwrap_or(0);
            }
            rows.tables.push(table);
        }
        rows
    }

    /// Whether every position of every row is live.
    pub(crate) fn is_always(&self) -> bool {
        self.guard.is_always()
    }

    /// Looks at the row of the given variables, of which the axis is set aside. `mask` is valid after
    /// [`Liveness::Some`].
    pub(crate) fn row(&self, variables: &mut [usize], mask: &mut Vec<bool>) -> Liveness {
        if self.guard.is_always() {
            return Liveness::All;
        }
        mask.clear();
        if self.one_by_one {
            for position in 0..self.len {
                variables[self.axis] = position;
                mask.push(self.guard.holds(variables));
            }
            return match mask.iter().filter(|&&live| live).count() {
                0 => Liveness::Nothing,
                live if live == self.len => Liveness::All,
                _ => Liveness::Some,
            };
        }
        let mut values = [0usize; GUARD_SUMS];
        let mut mixed = false;
        for (k, sum) in self.guard.sums.iter().enumerate() {
            let mut total = 0;
            for digit in &self.guard.digits.as_slice()[sum.first..sum.first + sum.len] {
                if digit.variable == self.axis {
                    continue;
                }
                let value = match digit.variable.checked_sub(self.guard.variables) {
                    Some(earlier) => values[earlier],
                    None => variables[digit.variable],
                };
                total += value / digit.base % digit.extent * digit.weight;
            }
            values[k] = total;
            let (least, most) = self.tables[k].as_ref().map_or((0, 0), |&(_, least, most)| (least, most));
            if total + least >= sum.limit {
                return Liveness::Nothing;
            }
            mixed |= total + most >= sum.limit;
        }
        if !mixed {
            return Liveness::All;
        }
        mask.resize(self.len, true);
        for (k, sum) in self.guard.sums.iter().enumerate() {
            if let Some((table, _, most)) = &self.tables[k]
                && values[k] + most >= sum.limit
            {
                let rest = sum.limit - values[k];
                for (live, &value) in mask.iter_mut().zip(table) {
                    *live &= value < rest;
                }
            }
        }
        if mask.contains(&true) { Liveness::Some } else { Liveness::Nothing }
    }
}

/// Whether a variable has part in a guard.
pub(crate) fn depends_on(guard: &Guard, variable: usize) -> bool {
    guard.digits.iter().any(|digit| digit.variable == variable && digit.extent > 1)
}

/// Calls `run` with the start and the length of every run of live positions among the first `len`.
pub(crate) fn live_runs(liveness: Liveness, mask: &[bool], len: usize, mut run: impl FnMut(usize, usize)) {
    match liveness {
        Liveness::All => run(0, len),
        Liveness::Nothing => {}
        Liveness::Some => {
            let mut start = 0;
            for part in mask[..len].chunk_by(|a, b| a == b) {
                if part[0] {
                    run(start, part.len());
                }
                start += part.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{GuardDigit, GuardSum};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn rows_agree_with_positions() {
        let mut random = SmallRng::seed_from_u64(3);
        for _ in 0..400 {
            let mut guard = Guard::always(3);
            for k in 0..random.random_range(0..4) {
                let first = guard.digits.len();
                for _ in 0..random.random_range(1..4) {
                    guard.digits.push(GuardDigit {
                        variable: random.random_range(0..3 + k),
                        base: random.random_range(1..4),
                        extent: random.random_range(1..6),
                        weight: random.random_range(0..5),
                    });
                }
                let limit =
                    if random.random_range(0..4) == 0 { usize::MAX } else { random.random_range(1..12) };
                guard.sums.push(GuardSum { first, len: guard.digits.len() - first, limit });
            }
            let rows = LiveRows::new(&guard, 2, 9);
            let mut mask = Vec::new();
            for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
                let expected: Vec<bool> = (0..9).map(|c| guard.holds(&[a, b, c])).collect();
                match rows.row(&mut [a, b, 0], &mut mask) {
                    Liveness::All => assert_eq!(expected, [true; 9]),
                    Liveness::Nothing => assert_eq!(expected, [false; 9]),
                    Liveness::Some => assert_eq!(expected, mask),
                }
            }
        }
    }

    #[test]
    fn runs_of_a_mask() {
        let mut runs = Vec::new();
        live_runs(Liveness::Some, &[true, false, true, true, true], 4, |start, len| runs.push((start, len)));
        assert_eq!(runs, [(0, 1), (2, 2)]);
    }
}
