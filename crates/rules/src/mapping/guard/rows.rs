//! Guards, evaluated for a row of positions at a time.

use crate::mapping::{GUARD_SUMS, Guard, GuardDigit, GuardSum};

/// Chip, cluster and slice are the first variables of a guard.
const UNIT_VARIABLES: usize = 3;

/// The live positions of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Every position.
    All,
    /// No position.
    Nothing,
    /// The ones that the mask names.
    Some,
}

impl Liveness {
    /// True if a position of the row is live. `mask` is the mask of the row.
    pub fn holds(self, mask: &[bool], position: usize) -> bool {
        match self {
            Liveness::All => true,
            Liveness::Nothing => false,
            Liveness::Some => mask[position],
        }
    }
}

/// A guard over rows along one of its variables.
#[derive(Clone, Debug)]
pub struct LiveRows {
    guard: Guard,
    /// The variable that runs along a row.
    axis: usize,
    len: usize,
    /// Per sum: what the axis adds to it. `None` if it adds nothing.
    tables: Vec<Option<Table>>,
    /// True if all rows of a unit are the same.
    same_in_unit: bool,
    /// True if a later digit cuts up a sum that the axis adds to: positions are tested one by one.
    one_by_one: bool,
}

/// The contribution of the axis to a sum.
#[derive(Clone, Debug)]
struct Table {
    /// At each position.
    values: Vec<usize>,
    least: usize,
    most: usize,
    /// True if it never falls from one position to the next: positions within a range of values are neighbours.
    rises: bool,
}

impl Table {
    fn new(values: Vec<usize>) -> Self {
        let (mut least, mut most, mut rises) = (values.first().copied().unwrap_or(0), 0, true);
        let mut before = 0;
        for &value in &values {
            least = least.min(value);
            most = most.max(value);
            rises &= before <= value;
            before = value;
        }
        Self { values, least, most, rises }
    }
}

impl LiveRows {
    /// Rows of `len` values of the variable `axis`. If the guard does not have the axis, a row is live as a whole or
    /// not at all.
    pub fn new(guard: &Guard, axis: usize, len: usize) -> Self {
        let same_in_unit = (UNIT_VARIABLES..guard.variables).all(|variable| !depends_on(guard, variable));
        let mut rows = Self { guard: *guard, axis, len, tables: Vec::new(), same_in_unit, one_by_one: false };
        for sum in &guard.sums {
            let mut values: Option<Vec<usize>> = None;
            for digit in &guard.digits.as_slice()[sum.first..sum.first + sum.len] {
                if digit.variable == axis {
                    let values = values.get_or_insert_with(|| vec![0; len]);
                    for (position, value) in values.iter_mut().enumerate() {
                        *value += position / digit.base % digit.extent * digit.weight;
                    }
                } else if digit.variable >= guard.variables {
                    rows.one_by_one |= rows.tables[digit.variable - guard.variables].is_some();
                }
            }
            rows.tables.push(values.map(Table::new));
        }
        rows
    }

    /// The guard.
    pub const fn guard(&self) -> &Guard {
        &self.guard
    }

    /// True if every position of every row is live.
    pub fn is_always(&self) -> bool {
        self.guard.is_always()
    }

    /// The live positions of each row that has any, if they are the same in all of these rows.
    pub fn mask_of_live_rows(&self) -> Option<Vec<bool>> {
        let mut mask = vec![true; self.len];
        for (sum, table) in self.guard.sums.iter().zip(&self.tables) {
            let Some(Table { values, least, most, .. }) = table else { continue };
            let digits = &self.guard.digits.as_slice()[sum.first..sum.first + sum.len];
            let others = digits.iter().filter(|digit| digit.variable != self.axis);
            let most_of_others = others.fold(0, |most: usize, digit| most.saturating_add(digit.most()));
            if sum.start <= *least && most_of_others.saturating_add(*most) < sum.end() {
                continue;
            }
            if most_of_others > 0 {
                return None;
            }
            mask.iter_mut().zip(values).for_each(|(live, &value)| *live &= sum.holds(value));
        }
        (!self.one_by_one).then_some(mask)
    }

    /// True if units differ in their live positions, apart from units without any.
    pub fn differs_by_unit(&self) -> bool {
        differs_by_unit(&self.guard)
    }

    /// True if one of `rows` rows may have a live position past its first `leading(row)` ones in some unit.
    pub fn may_exceed(&self, rows: usize, width: usize, leading: impl Fn(usize) -> usize) -> bool {
        let (_, guard) = split_units(&self.guard);
        let (live, mut mask) = (LiveRows::new(&guard, self.axis, self.len), Vec::new());
        self.differs_by_unit()
            || (0..rows).filter(|&row| leading(row) < width).any(|row| {
                let liveness = live.row(&mut [0, 0, 0, row, 0], &mut mask);
                let mut found = false;
                live_runs(liveness, &mask, width, |start, len| found |= start + len > leading(row));
                found
            })
    }

    /// The liveness of all rows of a unit, if they are the same. `variables` starts with chip, cluster and slice.
    pub fn of_unit(&self, variables: &mut [usize]) -> Option<Liveness> {
        self.same_in_unit.then(|| self.row(variables, &mut Vec::new()))
    }

    /// The liveness of each row of a unit, if its rows do not differ. `variables` starts with chip, cluster and slice.
    pub fn of_rows(&self, variables: &mut [usize]) -> Option<Liveness> {
        let mut others = (UNIT_VARIABLES..self.guard.variables).filter(|&variable| variable != self.axis);
        let same = others.all(|variable| !depends_on(&self.guard, variable));
        same.then(|| self.row(variables, &mut Vec::new()))
    }

    /// Evaluates the row of the given variables; the variable of the axis is overwritten or ignored. `mask` is valid
    /// after [`Liveness::Some`].
    pub fn row(&self, variables: &mut [usize], mask: &mut Vec<bool>) -> Liveness {
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
        let (mut totals, mut values) = ([0usize; GUARD_SUMS], [0usize; GUARD_SUMS]);
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
            totals[k] = total;
            values[k] = total.saturating_sub(sum.start);
            let (least, most) = self.tables[k].as_ref().map_or((0, 0), |table| (table.least, table.most));
            if total + least >= sum.end() || total + most < sum.start {
                return Liveness::Nothing;
            }
            mixed |= total + most >= sum.end() || total + least < sum.start;
        }
        if !mixed {
            return Liveness::All;
        }
        mask.resize(self.len, true);
        for (k, sum) in self.guard.sums.iter().enumerate() {
            let Some(Table { values, least, most, rises }) = &self.tables[k] else { continue };
            // Of the axis: at least the one, and less than the other.
            let (start, end) = (sum.start.saturating_sub(totals[k]), sum.end() - totals[k]);
            if *rises {
                let place = |bound: usize| values.partition_point(|&value| value < bound);
                mask[..place(start)].fill(false);
                mask[place(end)..].fill(false);
                continue;
            }
            if *most >= end {
                mask.iter_mut().zip(values).for_each(|(live, &value)| *live &= value < end);
            }
            if *least < start {
                mask.iter_mut().zip(values).for_each(|(live, &value)| *live &= value >= start);
            }
        }
        if mask.contains(&true) { Liveness::Some } else { Liveness::Nothing }
    }
}

/// Splits a guard into the tests that depend on the unit only, and the rest. A guard in which sums mix the unit with
/// other variables is all rest.
pub fn split_units(guard: &Guard) -> (Guard, Guard) {
    let (mut units, mut rest) = (Guard::always(guard.variables), Guard::always(guard.variables));
    for sum in &guard.sums {
        let digits = &guard.digits.as_slice()[sum.first..sum.first + sum.len];
        let of_unit = |digit: &GuardDigit| digit.variable < UNIT_VARIABLES;
        let part = match digits.iter().filter(|digit| of_unit(digit)).count() {
            0 => &mut rest,
            count if count == digits.len() => &mut units,
            _ => return (Guard::always(guard.variables), *guard),
        };
        if digits.iter().any(|digit| digit.variable >= guard.variables) {
            return (Guard::always(guard.variables), *guard);
        }
        let first = part.digits.len();
        digits.iter().for_each(|&digit| part.digits.push(digit));
        part.sums.push(GuardSum { first, ..*sum });
    }
    (units, rest)
}

/// True if units differ in their live positions, apart from units without any.
pub fn differs_by_unit(guard: &Guard) -> bool {
    let (_, rest) = split_units(guard);
    (0..UNIT_VARIABLES).any(|variable| depends_on(&rest, variable))
}

/// True if a guard depends on a variable.
pub fn depends_on(guard: &Guard, variable: usize) -> bool {
    guard.digits.iter().any(|digit| digit.variable == variable && digit.extent > 1)
}

/// Calls `run` with the start and the length of every run of live positions among the first `len`.
pub fn live_runs(liveness: Liveness, mask: &[bool], len: usize, mut run: impl FnMut(usize, usize)) {
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
    use crate::testing::random_guard;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    #[test]
    fn rows_agree_with_positions() {
        let mut random = SmallRng::seed_from_u64(3);
        let mut masks = 0;
        for _ in 0..400 {
            let guard = random_guard(&mut random, 3);
            let rows = LiveRows::new(&guard, 2, 9);
            let mut mask = Vec::new();
            for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
                let expected: Vec<bool> = (0..9).map(|c| guard.holds(&[a, b, c])).collect();
                let liveness = rows.row(&mut [a, b, 0], &mut mask);
                if let Some(same) = rows.mask_of_live_rows().filter(|_| liveness != Liveness::Nothing) {
                    assert_eq!(expected, same);
                    masks += usize::from(liveness == Liveness::Some);
                }
                match liveness {
                    Liveness::All => assert_eq!(expected, [true; 9]),
                    Liveness::Nothing => assert_eq!(expected, [false; 9]),
                    Liveness::Some => assert_eq!(expected, mask),
                }
            }
        }
        assert!(masks > 100, "{masks} rows of some positions had the mask of all");
    }

    #[test]
    fn units_are_told_apart() {
        let mut random = SmallRng::seed_from_u64(4);
        let (mut split, mut same, mut alike) = (0, 0, 0);
        for _ in 0..2000 {
            let guard = random_guard(&mut random, 5);
            let (units, rest) = split_units(&guard);
            split += usize::from(!units.is_always());
            let rows = LiveRows::new(&guard, 4, 3);
            for unit in 0..8 {
                let position = |time, lane| [unit & 1, unit >> 1 & 1, unit >> 2, time, lane];
                let all = |time, lane| guard.holds(&position(time, lane));
                let positions = (0..9).map(|k| (k / 3, k % 3));
                let parts = |time, lane| units.holds(&position(0, 0)) && rest.holds(&position(time, lane));
                assert!(positions.clone().all(|(t, l)| parts(t, l) == all(t, l)), "{guard:?}");
                if let Some(liveness) = rows.of_unit(&mut position(0, 0)) {
                    same += usize::from(!guard.is_always());
                    let expected = liveness == Liveness::All;
                    assert!(
                        liveness != Liveness::Some && positions.clone().all(|(t, l)| all(t, l) == expected)
                    );
                }
                if let Some(liveness) = rows.of_rows(&mut position(0, 0)) {
                    alike += usize::from(liveness == Liveness::Some);
                    let expected = |lane| match liveness {
                        Liveness::All => true,
                        Liveness::Nothing => false,
                        Liveness::Some => all(0, lane),
                    };
                    assert!(positions.clone().all(|(t, l)| all(t, l) == expected(l)), "{guard:?}");
                }
            }
        }
        assert!(split > 100 && same > 100, "the random guards have units: {split}, {same}");
        assert!(alike > 100, "and lanes: {alike}");
    }

    #[test]
    fn runs_of_a_mask() {
        let mut runs = Vec::new();
        live_runs(Liveness::Some, &[true, false, true, true, true], 4, |start, len| runs.push((start, len)));
        assert_eq!(runs, [(0, 1), (2, 2)]);
    }
}
