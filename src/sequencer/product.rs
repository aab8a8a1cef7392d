//! Products of axes that are cut across a digit: where they can be taken apart, and which of their positions are live.

use crate::mapping::{Atom, Factor, Factors, LEAD_INSIDE, Pool, Term, gcd, size_of_factors};

/// Where a product is cut.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// The factor that the cut is in.
    pub(super) factor: usize,
    /// Values of that factor inside.
    pub(super) values: usize,
    /// Positions inside.
    pub(super) size: usize,
}

/// The innermost place to cut a product so that `step` divides what is inside and what each outer digit steps over.
pub(super) const fn cut(content: &[Factor], step: usize) -> Option<Cut> {
    let mut k = 0;
    while k < content.len() {
        if let Factor::Term { term, resize } = content[k] {
            let base = size_of_factors(content.split_at(k).0);
            let values = step / gcd(step, base);
            let clean = values == resize || term.modulo.is_multiple_of(values) || resize == term.modulo;
            if values <= resize && clean && steps_over(content, k + 1, step) {
                return Some(Cut { factor: k, values, size: base * values });
            }
        }
        k += 1;
    }
    None
}

/// Whether every digit from `from` on steps over a multiple of `step`.
const fn steps_over(content: &[Factor], from: usize, step: usize) -> bool {
    let mut k = from;
    while k < content.len() {
        if let Factor::Term { .. } = content[k]
            && !size_of_factors(content.split_at(k).0).is_multiple_of(step)
        {
            return false;
        }
        k += 1;
    }
    true
}

/// The factors inside a cut.
pub(super) const fn inside(content: &[Factor], cut: Cut) -> Factors {
    let mut inside = Factors::one();
    let mut k = 0;
    while k < cut.factor {
        inside.append(content[k]);
        k += 1;
    }
    if let Factor::Term { term, resize } = content[cut.factor]
        && cut.values > 1
    {
        let modulo = if cut.values == resize { term.modulo } else { cut.values };
        inside.append(Factor::Term { term: Term { modulo, ..term }, resize: cut.values });
    }
    inside
}

/// The factors that the first `positions` positions take, without what is outside of them.
pub(super) const fn first_positions(content: &[Factor], positions: usize) -> Factors {
    let mut factors = Factors::one();
    let mut k = 0;
    while k < content.len() && factors.size() < positions {
        factors.append(content[k]);
        k += 1;
    }
    factors
}

/// Values of a digit that are looked at one by one.
const LOOKED_AT: usize = 64;

/// Whether every value of a digit but the first is padding.
pub(super) const fn holds_nothing(pool: &Pool, content: &[Factor], step: usize, values: usize) -> bool {
    let mut value = 1;
    while value < values && value < LOOKED_AT {
        if is_live(pool, content, value * step) {
            return false;
        }
        value += 1;
    }
    values <= LOOKED_AT
}

/// Whether a position of a product holds an element.
const fn is_live(pool: &Pool, content: &[Factor], position: usize) -> bool {
    let mut rest = position;
    let mut k = content.len();
    while k > 0 {
        k -= 1;
        let base = size_of_factors(content.split_at(k).0);
        match &content[k] {
            Factor::Padding { .. } if rest >= base => return false,
            Factor::Padding { .. } => {}
            Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
            Factor::Term { term, resize } => {
                if rest / base >= *resize
                    || coordinate(content, &term.atom, position) >= pool.atom_size(&term.atom)
                {
                    return false;
                }
                rest %= base;
            }
        }
    }
    true
}

/// The coordinate of an atom at a position.
const fn coordinate(content: &[Factor], atom: &Atom, position: usize) -> usize {
    let (mut rest, mut sum) = (position, 0);
    let mut k = content.len();
    while k > 0 {
        k -= 1;
        let base = size_of_factors(content.split_at(k).0);
        if let Factor::Term { term, .. } = &content[k] {
            if term.atom.is(atom) {
                sum += rest / base * term.stride;
            }
            rest %= base;
        }
    }
    sum
}

/// The last position of a product that holds an element, or one after it.
pub(super) const fn last_live(pool: &Pool, content: &[Factor]) -> usize {
    let mut last = 0;
    let mut k = 0;
    while k < content.len() {
        if let Factor::Term { term, .. } = &content[k]
            && is_first_of_its_atom(content, k)
        {
            // The last coordinate, and the last ones below each cut: all digits inside at their largest value.
            let size = pool.atom_size(&term.atom);
            let mut best = reach(content, &term.atom, size - 1);
            let mut j = k;
            while j < content.len() {
                if let Factor::Term { term: other, .. } = &content[j]
                    && other.atom.is(&term.atom)
                {
                    let below = (size - 1) / other.stride * other.stride;
                    let at = reach(content, &term.atom, below.saturating_sub(1));
                    best = if at > best { at } else { best };
                    let end = other.stride * other.modulo;
                    let at = reach(content, &term.atom, ((size - 1) / end * end).saturating_sub(1));
                    best = if at > best { at } else { best };
                }
                j += 1;
            }
            last += best;
        }
        k += 1;
    }
    last
}

const fn is_first_of_its_atom(content: &[Factor], place: usize) -> bool {
    let mut k = 0;
    while k < place {
        if let (Factor::Term { term: a, .. }, Factor::Term { term: b, .. }) = (&content[k], &content[place])
            && a.atom.is(&b.atom)
        {
            return false;
        }
        k += 1;
    }
    true
}

/// Where the digits of an atom are at a coordinate.
const fn reach(content: &[Factor], atom: &Atom, coordinate: usize) -> usize {
    let mut sum = 0;
    let mut k = 0;
    while k < content.len() {
        if let Factor::Term { term, resize } = &content[k]
            && term.atom.is(atom)
        {
            let value = coordinate / term.stride % term.modulo;
            let value = if value < *resize { value } else { *resize - 1 };
            sum += value * size_of_factors(content.split_at(k).0);
        }
        k += 1;
    }
    sum
}

/// Whether an atom is a part of a product.
pub(super) const fn is_inside(pool: &Pool, product: &Atom, atom: &Atom) -> bool {
    let Atom::Composite(composite) = product else { return false };
    let content = pool.content(*composite);
    let mut k = 0;
    while k < content.len() {
        if let Factor::Term { term, .. } = &content[k]
            && (term.atom.is(atom) || is_inside(pool, &term.atom, atom))
        {
            return true;
        }
        k += 1;
    }
    false
}
