//! Guards of two groups of variables, split into one guard per group.

use super::{GUARD_SUMS, Guard, GuardDigit, GuardSum};

/// The most variables.
const VARIABLES: usize = 24;

/// The conditions of a guard on the variables of a group, and on the others. `None` if a test depends on both.
pub const fn guards(guard: &Guard, in_group: &[bool; VARIABLES]) -> Option<[Guard; 2]> {
    // New numbers of the variables, and sizes of the groups.
    let mut numbers = [0; VARIABLES];
    let mut counts = [0; 2];
    let mut v = 0;
    while v < guard.variables && v < VARIABLES {
        let group = !in_group[v] as usize;
        numbers[v] = counts[group];
        counts[group] += 1;
        v += 1;
    }
    let mut parts = [Guard::always(counts[0]), Guard::always(counts[1])];
    // Per sum: its group, and its number there.
    let mut sums = [(1, 0); GUARD_SUMS];
    each!(k < guard.sums.len(), {
        let sum = guard.sums.at(k);
        let mut group: Option<usize> = None;
        each!((d = sum.first) < sum.first + sum.len, {
            let digit = guard.digits.at(d);
            let found = match digit.variable.checked_sub(guard.variables) {
                Some(earlier) => sums[earlier].0,
                None => !in_group[digit.variable] as usize,
            };
            match group {
                Some(known) if known != found => return None,
                _ => group = Some(found),
            }
        });
        let group = match group {
            Some(group) => group,
            None => 1,
        };
        let part = &mut parts[group];
        let first = part.digits.len();
        each!((d = sum.first) < sum.first + sum.len, {
            let digit = guard.digits.at(d);
            let variable = match digit.variable.checked_sub(guard.variables) {
                Some(earlier) => counts[group] + sums[earlier].1,
                None => numbers[digit.variable],
            };
            part.digits.push(GuardDigit { variable, ..digit });
        });
        sums[k] = (group, part.sums.len());
        part.sums.push(GuardSum { first, ..sum });
    });
    Some(parts)
}

/// The condition of both: the variables of the first guard, then those of the second. Its lists may overflow.
pub fn joined(a: &Guard, b: &Guard) -> Guard {
    let variables = a.variables + b.variables;
    let mut guard = Guard::always(variables);
    for (part, before, sums_before) in [(a, 0, 0), (b, a.variables, a.sums.len())] {
        for sum in part.sums.iter() {
            let first = guard.digits.len();
            for digit in &part.digits.as_slice()[sum.first..sum.first + sum.len] {
                let variable = match digit.variable.checked_sub(part.variables) {
                    Some(earlier) => variables + sums_before + earlier,
                    None => before + digit.variable,
                };
                guard.digits.push(GuardDigit { variable, ..*digit });
            }
            guard.sums.push(GuardSum { first, ..*sum });
        }
    }
    guard
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `v0 + 4 v1 < limit`, and `v2` in two steps.
    fn guard(mixed: bool) -> Guard {
        let mut guard = Guard::always(3);
        guard.digits.push(GuardDigit { variable: 0, base: 1, extent: 4, weight: 1 });
        guard.digits.push(GuardDigit { variable: if mixed { 2 } else { 1 }, base: 1, extent: 4, weight: 4 });
        guard.sums.push(GuardSum { first: 0, len: 2, start: 1, limit: 9 });
        guard.digits.push(GuardDigit { variable: 2, base: 1, extent: 8, weight: 1 });
        guard.sums.push(GuardSum { first: 2, len: 1, start: 2, limit: usize::MAX });
        guard.digits.push(GuardDigit { variable: 4, base: 2, extent: 4, weight: 1 });
        guard.sums.push(GuardSum { first: 3, len: 1, start: 0, limit: 2 });
        guard
    }

    #[test]
    fn the_parts_are_the_whole() {
        let mut in_group = [false; VARIABLES];
        in_group[0] = true;
        in_group[1] = true;
        assert!(guards(&guard(true), &in_group).is_none());
        let whole = guard(false);
        let [rows, payload] = guards(&whole, &in_group).expect("no test looks at both");
        let again = joined(&rows, &payload);
        let mut held = 0;
        for v in (0..4).flat_map(|a| (0..4).flat_map(move |b| (0..8).map(move |c| [a, b, c]))) {
            let expected = whole.holds(&v);
            assert_eq!(rows.holds(&v[..2]) && payload.holds(&v[2..]), expected, "{v:?}");
            assert_eq!(again.holds(&v), expected, "{v:?}");
            held += usize::from(expected);
        }
        assert!(held > 20, "{held}");
        // With the groups swapped the variables have other numbers.
        let [payload, rows] = guards(
            &whole,
            &[false, false, true]
                .into_iter()
                .chain([false; 21])
                .collect::<Vec<_>>()
                .try_into()
                .expect("24 flags"),
        )
        .expect("no test looks at both");
        assert!(payload.holds(&[2]) && !payload.holds(&[1]) && rows.holds(&[1, 0]) && !rows.holds(&[0, 0]));
    }
}
