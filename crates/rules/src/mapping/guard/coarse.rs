//! Coarse guards: the cells of neighbouring positions that hold an element.
//!
//! ```text
//!   m![A, K # 8] with K = 6, cells of 8 positions of the element
//!
//!   live     ██████··██████··██████··        a commit writes whole cells
//!   coarse   ████████████████████████
//! ```

use super::{Guard, GuardDigit, GuardSum};

impl Guard {
    /// The condition that a cell holds a live position. Cells are runs of `cell` of the `size` values of a variable,
    /// from 0 on. The condition may also hold for a cell without a live position, if several sums depend on the cell.
    pub fn coarse(&self, variable: usize, size: usize, cell: usize) -> Guard {
        let mut coarse = Guard { mappings: self.mappings, ..Guard::always(self.variables) };
        // Sums that no longer depend on a single position, but at most on a cell.
        let mut vague = [false; super::GUARD_SUMS];
        for (k, sum) in self.sums.iter().enumerate() {
            let first = coarse.digits.len();
            let (mut most, mut nested) = (0usize, false);
            for &digit in &self.digits.as_slice()[sum.first..sum.first + sum.len] {
                match digit.variable.checked_sub(self.variables) {
                    Some(earlier) => nested |= vague[earlier],
                    None if digit.variable == variable => {
                        let (kept, inside) = cut(digit, size, cell);
                        kept.into_iter().for_each(|digit| coarse.digits.push(digit));
                        most = most.saturating_add(inside);
                        continue;
                    }
                    None => {}
                }
                coarse.digits.push(digit);
            }
            vague[k] = nested || most > 0;
            let start = if nested { 0 } else { sum.start.saturating_sub(most) };
            // Values of later digits count from the start of the sum.
            let limit = if nested || sum.limit == usize::MAX { usize::MAX } else { sum.end() - start };
            coarse.sums.push(GuardSum { first, len: coarse.digits.len() - first, start, limit });
        }
        let says_nothing = |sum: &GuardSum| {
            let digits = coarse.digits.as_slice()[sum.first..sum.first + sum.len].iter();
            let most = digits.fold(0usize, |most, digit| most.saturating_add(digit.most()));
            sum.start == 0 && most < sum.limit
        };
        if coarse.sums.iter().all(says_nothing) {
            return Guard { mappings: self.mappings, ..Guard::always(self.variables) };
        }
        coarse
    }
}

/// The part of a digit that distinguishes cells, and the most that the positions of a cell add.
fn cut(digit: GuardDigit, size: usize, cell: usize) -> (Option<GuardDigit>, usize) {
    let GuardDigit { base, extent, weight, .. } = digit;
    let reach = size.saturating_sub(1) / base;
    if base.is_multiple_of(cell) {
        return (Some(digit), 0);
    }
    if cell >= size || cell.is_multiple_of(base.saturating_mul(extent)) {
        return (None, reach.min(extent - 1).saturating_mul(weight));
    }
    if cell.is_multiple_of(base) && extent.is_multiple_of(cell / base) {
        let inner = cell / base;
        let (extent, above) = (extent / inner, weight.saturating_mul(inner));
        let outer = GuardDigit { base: cell, extent, weight: above, ..digit };
        return (Some(outer), (inner - 1).saturating_mul(weight));
    }
    // Cells and values of the digit cross.
    (None, reach.min(extent - 1).saturating_mul(weight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{M, liveness_of};
    use crate::prelude::{axes, m};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    axes![A = 15, B = 6, K = 12];

    /// Checks the cells with an element, by slice: the guard holds for every position of such a cell, and for no other.
    fn cells<Slice: M, Element: M>(cell: usize) {
        let one = <m![1]>::EXPR;
        let guard = liveness_of(&[one, one, Slice::EXPR, Element::EXPR]).expect("few digits");
        let coarse = guard.coarse(3, Element::SIZE, cell);
        for slice in 0..Slice::SIZE {
            for element in 0..Element::SIZE {
                let first = element / cell * cell;
                let members = first..(first + cell).min(Element::SIZE);
                let expected = members.into_iter().any(|k| guard.holds(&[0, 0, slice, k]));
                assert_eq!(coarse.holds(&[0, 0, slice, element]), expected, "{slice}, {element} of {cell}");
            }
        }
    }

    #[test]
    fn cells_hold_what_one_of_their_positions_holds() {
        for cell in [1, 2, 4, 8, 16, 256] {
            cells::<m![1], m![B, K # 16]>(cell);
            cells::<m![A # 16], m![B # 8]>(cell);
            cells::<m![A # 16 / 4 # 6], m![A # 16 % 4]>(cell);
            cells::<m![A # 16 / 4 # 6], m![A # 16 % 4 # 8, K # 16]>(cell);
            cells::<m![1], m![# 2 + B + # 8, K # 16]>(cell);
            cells::<m![1], m![B = 3 # 16 / 2, B = 3 # 16 % 2, K]>(cell);
        }
        let always = liveness_of(&[<m![A # 16 / 4]>::EXPR, <m![A # 16 % 4]>::EXPR]).expect("few digits");
        assert!(!always.is_always(), "15 of 16");
        let ragged =
            liveness_of(&[<m![1]>::EXPR; 3].into_iter().chain([<m![A # 16]>::EXPR]).collect::<Vec<_>>());
        assert!(ragged.expect("few digits").coarse(3, 16, 16).is_always());
    }

    /// The coarse guard never misses a cell.
    #[test]
    fn no_cell_is_missed() {
        let mut random = SmallRng::seed_from_u64(11);
        for case in 0..3000 {
            let mut guard = Guard::always(2);
            for k in 0..random.random_range(1..4) {
                let first = guard.digits.len();
                for _ in 0..random.random_range(1..4) {
                    guard.digits.push(GuardDigit {
                        variable: random.random_range(0..2 + k),
                        base: [1, 2, 3, 4][random.random_range(0..4)],
                        extent: random.random_range(1..7),
                        weight: random.random_range(0..5),
                    });
                }
                let start = if random.random_bool(0.3) { random.random_range(1..4) } else { 0 };
                let len = guard.digits.len() - first;
                guard.sums.push(GuardSum { first, len, start, limit: random.random_range(1..14) });
            }
            let cell = random.random_range(1..9);
            let coarse = guard.coarse(1, 24, cell);
            for (a, b) in
                (0..4).flat_map(|a| (0..24).map(move |b| (a, b))).filter(|&(a, b)| guard.holds(&[a, b]))
            {
                let first = b / cell * cell;
                let all = (first..(first + cell).min(24)).all(|b| coarse.holds(&[a, b]));
                assert!(all, "case {case}: {a}, {b} of {guard:?} in cells of {cell}");
            }
        }
    }
}
