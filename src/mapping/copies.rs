//! Equal blocks of one element: which digits belong to one of them.
//!
//! A tensor in one of four chips and one of two clusters may have the mappings `m![# 1 + 1 + # 2]` and `m![# 1 + 1]`.
//! Both are dead positions before a single one, and no axis tells them apart: they are *copies* of one block. The digits
//! of a copy are those that continue each other:
//!
//! ```text
//! Unit = m![# 2 + 1 + # 1], of 3 positions without the padding
//!
//! m![Unit / 2, Unit / 2, Unit, Unit % 2, Unit % 2]
//!
//!   coordinates of Unit    by ones        by twos
//!   copy 0                 Unit % 2       Unit / 2
//!   copy 1                 Unit % 2       Unit / 2
//!   copy 2                 Unit
//! ```
//!
//! Each digit has one value where the block is live, so it does not matter which one of two equal digits a copy gets.
//! Blocks around an axis, also one of a single coordinate, are told apart by it.

use super::factor::{FACTORS, Factor, Factors};
use super::term::{Atom, Composite, Pool, Term};
use crate::list::List;

/// The most mappings of one tensor.
const LEVELS: usize = super::pieces::LEVELS;

/// Tells equal blocks of a tensor or of a stream apart, of which `levels` are all mappings. Returns whether there are
/// any.
pub(crate) const fn number_copies(pool: &Pool, levels: &mut [Factors]) -> bool {
    if pool.factors.is_empty() {
        return false;
    }
    let blank = Term { atom: Atom::Composite(Composite::NONE), stride: 1, modulo: 1 };
    let mut terms: List<Term, { LEVELS * FACTORS }> = List::new(blank);
    let mut places: List<(usize, usize), { LEVELS * FACTORS }> = List::new((0, 0));
    let mut level = 0;
    while level < levels.len() {
        let mut k = 0;
        while k < levels[level].len() {
            if let Factor::Term { term, .. } = levels[level].item(k)
                && pool.single(&term.atom).is_some()
            {
                terms.push(*term);
                places.push((level, k));
            }
            k += 1;
        }
        level += 1;
    }
    let mut k = 0;
    while k < terms.len() {
        if let Atom::Composite(composite) = terms.get(k).atom
            && composite.copy == 0
        {
            number(terms.as_mut_slice(), composite);
        }
        k += 1;
    }
    let mut copies = false;
    let mut k = 0;
    while k < terms.len() {
        let (level, factor) = places.at(k);
        let atom = terms.get(k).atom;
        levels[level].rename(factor, atom);
        copies = copies || matches!(atom, Atom::Composite(Composite { copy: 1.., .. }));
        k += 1;
    }
    copies
}

/// Numbers the copies of one block from 0 on, whatever numbers its digits have.
pub(crate) const fn number(terms: &mut [Term], composite: Composite) {
    let mut copy = 0;
    let mut rest = true;
    while rest {
        // All digits that have no number yet get the next one, and those of this copy are taken back.
        rest = false;
        let mut k = 0;
        while k < terms.len() {
            if let Atom::Composite(other) = &mut terms[k].atom
                && other.is_copy_of(&composite)
                && (copy == 0 || other.copy >= copy)
            {
                other.copy = copy + 1;
            }
            k += 1;
        }
        let mut end = 1;
        while let Some(k) = next(terms, &Composite { copy: copy + 1, ..composite }, end) {
            terms[k].atom = Atom::Composite(Composite { copy, ..composite });
            end = terms[k].stride * terms[k].modulo;
            rest = true;
        }
        copy += 1;
    }
}

/// The innermost digit of a copy from `end` on.
const fn next(terms: &[Term], composite: &Composite, end: usize) -> Option<usize> {
    let mut found: Option<usize> = None;
    let mut k = 0;
    while k < terms.len() {
        if let Atom::Composite(other) = &terms[k].atom
            && other.is(composite)
            && terms[k].stride >= end
        {
            found = match found {
                Some(best) if terms[best].stride <= terms[k].stride => Some(best),
                _ => Some(k),
            };
        }
        k += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Expr, M, factorize};
    use crate::prelude::{axes, m};

    axes![U = 1, X = 3];

    /// Stride, end and copy of each digit, of all mappings in order, innermost digit first.
    fn numbered(exprs: &[&'static Expr]) -> (bool, Vec<(usize, usize, usize)>) {
        let mut pool = Pool::new();
        let mut levels: Vec<Factors> = exprs.iter().map(|expr| factorize(&mut pool, expr)).collect();
        let copies = number_copies(&pool, &mut levels);
        let digit = |factor: &Factor| match factor {
            Factor::Term { term: Term { atom: Atom::Composite(composite), stride, modulo }, .. } => {
                Some((*stride, stride * modulo, composite.copy))
            }
            _ => None,
        };
        (copies, levels.iter().flat_map(|level| level.as_slice().iter().filter_map(digit)).collect())
    }

    #[test]
    fn digits_that_continue_each_other_are_a_copy() {
        type Unit = m![# 2 + 1 + # 1];
        type List = m![{ Unit } / 2, { Unit } / 2, { Unit }, { Unit } % 2, { Unit } % 2];
        let expected = vec![(1, 2, 0), (1, 2, 1), (1, 3, 2), (2, 4, 0), (2, 4, 1)];
        assert_eq!(numbered(&[List::EXPR]), (true, expected));
        // Cut at two places: 8 positions at 2 and at 4.
        type Long = m![# 4 + 1 + # 3];
        let parts =
            [<m![{ Long } / 4]>::EXPR, <m![{ Long } / 2, { Long } % 4]>::EXPR, <m![{ Long } % 2]>::EXPR];
        assert_eq!(numbered(&parts), (true, vec![(4, 8, 0), (1, 4, 0), (2, 6, 1), (1, 2, 1)]));
    }

    /// As many as fit into the mappings of one tensor.
    #[test]
    fn every_digit_gets_a_number() {
        let unit: &'static Expr = &Expr::Margin(&Expr::Identity, 1, 0);
        let pair = |a: &'static Expr, b| -> &'static Expr { Box::leak(Box::new(Expr::Pair(a, b))) };
        let level = [unit; FACTORS].into_iter().reduce(pair).expect("some units");
        let (copies, digits) = numbered(&[level; LEVELS]);
        let mut found: Vec<usize> = digits.iter().map(|(.., copy)| *copy).collect();
        found.sort_unstable();
        assert!(copies && found == (0..LEVELS * FACTORS).collect::<Vec<_>>(), "{found:?}");
    }

    #[test]
    fn other_blocks_are_no_copies() {
        let one = numbered(&[<m![[# 2 + 1 + # 1] / 2]>::EXPR, <m![[# 2 + 1 + # 1] % 2]>::EXPR]);
        assert_eq!(one, (false, vec![(2, 4, 0), (1, 2, 0)]));
        assert!(!numbered(&[<m![# 2 + 1, # 1 + 1]>::EXPR]).0 && !numbered(&[<m![# 2 + 1, # 2 + U]>::EXPR]).0);
        assert_eq!(numbered(&[<m![# 2 + X, # 2 + X]>::EXPR]), (false, vec![(1, 5, 0), (1, 5, 0)]));
        assert_eq!(numbered(&[<m![X]>::EXPR, <m![1]>::EXPR]), (false, vec![]));
    }
}
