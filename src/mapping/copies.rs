//! Blocks of which a single position holds an element: which digits belong to one block, where several are equal.
//!
//! Where `A` and `B` have one coordinate, `m![# 2 + A + # 1]` and `m![# 2 + B + # 1]` have the same normal form: the
//! normal form knows no axis of one coordinate. If both stand in one tensor they are *copies* of one block. The digits
//! of a copy are those that continue each other:
//!
//! ```text
//! m![[# 2 + B + # 1] / 2, [# 2 + A + # 1] / 2, [# 2 + A + # 1] % 2, # 2 + C + # 1, [# 2 + B + # 1] % 2]
//!
//!   positions of the block    0  1  2  (3)
//!   copy 0                    [% 2] [ / 2 ]
//!   copy 1                    [% 2] [ / 2 ]
//!   copy 2                    [   whole   ]
//! ```
//!
//! Each digit has one value where the block is live, so it does not matter which one of two equal digits a copy gets.

use super::factor::{FACTORS, Factor, Factors};
use super::term::{Atom, Composite, Pool, Term};
use crate::list::List;

/// The most mappings of one tensor.
const LEVELS: usize = super::pieces::LEVELS;

/// Tells the copies in a tensor apart, or those in a stream, of which `levels` are all mappings. Returns whether there
/// are any: two blocks that are equal.
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
            && first(terms.as_slice(), &composite) == k
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

/// The first digit of a block, or of a copy of it.
const fn first(terms: &[Term], composite: &Composite) -> usize {
    let mut k = 0;
    while k < terms.len() {
        if let Atom::Composite(other) = &terms[k].atom
            && other.is_copy_of(composite)
        {
            return k;
        }
        k += 1;
    }
    k
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
