//! Cutting two mappings at the same places, so that their digits can be compared one by one.
//!
//! Shared by [`super::division`], where both mappings are one list, and by the derivation of transfers, where a
//! tensor has one list per level (chip, cluster, slice, element).

use super::factor::{Factor, Factors, LEAD_INSIDE, NO_FACTOR, PaddingKind, same_factor, size_of_factors};
use super::normal::least;
use super::term::{Atom, Composite, Pool, Term};
use crate::list::List;

/// The most lists of one side.
pub const LEVELS: usize = 5;
/// The most pieces of one side.
pub const PIECES: usize = 40;

/// A factor with its place.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// A term, or padding.
    pub factor: Factor,
    /// Which list it came from.
    pub level: usize,
    /// Positions inside it, within its level.
    pub base: usize,
    /// The term that it was cut from: a number per side.
    pub origin: usize,
    /// Values of the origin per value of this piece.
    pub weight: usize,
    /// Values of the origin.
    pub total: usize,
    /// Whether it has a partner on the other side.
    pub matched: bool,
}

/// Which cuts are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutRule {
    /// Every value of the two halves together is a value of the digit, or lies in padding.
    Exact,
    /// A whole digit may be cut anywhere: what overshoots is dead.
    Whole,
    /// Any digit may be cut: who uses the halves keeps their sum below the digit's size.
    Ragged,
}

/// One side.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    /// The pieces, innermost first within each level.
    pub list: List<Piece, PIECES>,
    /// Where each level starts: positions from its first one on to those where all digits are 0.
    pub starts: [isize; LEVELS],
    /// Whether levels may start elsewhere: `m![B]` then is `m![# 2 + B]` from 2 positions before its first one on.
    pub movable: bool,
}

impl Pieces {
    /// The pieces of lists of factors, one list per level.
    pub const fn new(levels: &[&Factors]) -> Self {
        let blank =
            Piece { factor: NO_FACTOR, level: 0, base: 1, origin: 0, weight: 1, total: 1, matched: false };
        let mut list = List::new(blank);
        let mut level = 0;
        while level < levels.len() {
            let factors = levels[level].as_slice();
            let mut base = 1;
            let mut k = 0;
            while k < factors.len() {
                let origin = list.len();
                let total = match factors[k] {
                    Factor::Term { resize, .. } => resize,
                    Factor::Padding { .. } | Factor::Lead { .. } => 1,
                };
                list.push(Piece {
                    factor: factors[k],
                    level,
                    base,
                    origin,
                    weight: 1,
                    total,
                    matched: false,
                });
                base = factors[k].size_over(base);
                k += 1;
            }
            level += 1;
        }
        Self { list, starts: [0; LEVELS], movable: false }
    }

    /// The same pieces, with levels that may start elsewhere.
    pub const fn movable(mut self) -> Self {
        self.movable = true;
        self
    }

    /// Takes a whole composite with dead positions before it apart, if the other side does not know it, or leaves out a
    /// digit of a block that holds one element.
    const fn open(&mut self, pool: &Pool, other: &Pieces) -> bool {
        let mut k = 0;
        while k < self.list.len() {
            if let Factor::Term { term, .. } = self.list.get(k).factor
                && !other.holds(&term.atom)
                && (self.open_one(pool, k) || self.leave_out(pool, k))
            {
                return true;
            }
            k += 1;
        }
        false
    }

    /// Takes piece `k` apart, if it is a whole composite with dead positions before it. Its level then starts after them.
    pub const fn open_one(&mut self, pool: &Pool, k: usize) -> bool {
        let piece = self.list.at(k);
        let Factor::Term { term, resize } = piece.factor else { return false };
        let Atom::Composite(composite) = term.atom else { return false };
        let (lead, inside) = pool.led(composite);
        if lead == 0 || resize < pool.atom_size(&term.atom) {
            return false;
        }
        self.starts[piece.level] += (lead * piece.base) as isize;
        self.list.remove(k);
        let mut base = 1;
        let mut j = 0;
        while j < inside.len() {
            let (factor, total) = match inside[j] {
                Factor::Padding { size, kind } => (Factor::Padding { size: size * piece.base, kind }, 1),
                Factor::Term { resize, .. } => (inside[j], resize),
                Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
            };
            // A number of its own: pieces of one origin stand together.
            let origin = (piece.origin + 1) * 2 * PIECES + j;
            self.list.insert(k + j, Piece { factor, base: base * piece.base, origin, total, ..piece });
            base = inside[j].size_over(base);
            j += 1;
        }
        true
    }

    /// Removes piece `k`, if it is a digit of a block that holds one element. Its level then starts at that element.
    const fn leave_out(&mut self, pool: &Pool, k: usize) -> bool {
        let piece = self.list.at(k);
        if let Factor::Term { term, resize } = piece.factor
            && let Some(position) = pool.single(&term.atom)
            && term.digit_of(position) < resize
        {
            self.starts[piece.level] += (term.digit_of(position) * piece.base) as isize;
            self.list.remove(k);
            return true;
        }
        false
    }

    const fn holds(&self, atom: &Atom) -> bool {
        let mut k = 0;
        while k < self.list.len() {
            if let Factor::Term { term, .. } = &self.list.get(k).factor
                && term.atom.is(atom)
            {
                return true;
            }
            k += 1;
        }
        false
    }

    /// Cuts piece `k` at `at` coordinates of its atom, which lie inside the piece, if the rule allows it.
    const fn cut(&mut self, pool: &Pool, k: usize, at: usize, rule: CutRule) -> bool {
        let piece = self.list.at(k);
        let Factor::Term { term, resize } = piece.factor else {
            return false;
        };
        if !at.is_multiple_of(term.stride) {
            return false;
        }
        let step = at / term.stride;
        let high_modulo = term.modulo.div_ceil(step);
        let whole = resize == term.modulo && resize == pool.live(&term.atom, term.stride);
        let clean = resize.is_multiple_of(step) && term.modulo.is_multiple_of(step);
        let allowed = match rule {
            CutRule::Exact => clean || (whole && self.room_after(k, piece.base * step * high_modulo)),
            CutRule::Whole => clean || whole,
            CutRule::Ragged => clean || whole || term.modulo.is_multiple_of(step),
        };
        if !allowed {
            return false;
        }
        let low = Factor::Term { term: Term { modulo: step, ..term }, resize: least(resize, step) };
        let high_term = Term { atom: term.atom, stride: at, modulo: high_modulo };
        let high = Factor::Term { term: high_term, resize: resize.div_ceil(step) };
        self.list.set(k, Piece { factor: low, ..piece });
        let (base, weight) = (piece.base * step, piece.weight * step);
        self.list.insert(k + 1, Piece { factor: high, base, weight, ..piece });
        true
    }

    /// Whether the positions up to `end` after piece `k` are free.
    const fn room_after(&self, k: usize, end: usize) -> bool {
        if k + 1 == self.list.len() {
            return true;
        }
        let next = self.list.at(k + 1);
        match next.factor {
            _ if next.level != self.list.at(k).level => true,
            Factor::Padding { size, .. } => size >= end,
            Factor::Term { .. } | Factor::Lead { .. } => false,
        }
    }

    /// Cuts this side's digits where the other side's digits of the same atom begin and end.
    const fn refine(&mut self, pool: &Pool, other: &Pieces, rule: CutRule) -> bool {
        let mut changed = false;
        let guides = other.list.as_slice();
        let mut i = 0;
        while i < guides.len() {
            if let Factor::Term { term: guide, .. } = &guides[i].factor {
                let ends = [guide.stride, guide.stride * guide.modulo];
                let mut k = 0;
                while k < self.list.len() {
                    if let Factor::Term { term, .. } = &self.list.get(k).factor {
                        let (first, end) = (term.stride, term.stride * term.modulo);
                        let low = first < ends[0] && ends[0] < end;
                        let high = first < ends[1] && ends[1] < end;
                        if (low || high) && term.atom.is(&guide.atom) {
                            // The upper cut first: it leaves the lower half in place.
                            changed = (high && self.cut(pool, k, ends[1], rule)) || changed;
                            changed = (low && self.cut(pool, k, ends[0], rule)) || changed;
                        }
                    }
                    k += 1;
                }
            }
            i += 1;
        }
        changed
    }

    /// Replaces runs that equal the content of a composite of the other side by one term of the composite.
    const fn lift(&mut self, pool: &Pool, other: &Pieces) -> bool {
        let mut i = 0;
        while i < other.list.len() {
            if let Factor::Term { term, .. } = &other.list.get(i).factor
                && let Atom::Composite(composite) = term.atom
                && (self.movable || pool.led(composite).0 == 0)
                && !self.holds(&term.atom)
                && self.lift_one(pool, composite, CutRule::Exact)
            {
                return true;
            }
            i += 1;
        }
        false
    }

    /// Replaces the run that equals the content of one composite by a term of the composite. Its level then starts
    /// where the dead positions before the content would be. `rule`: how digits are cut for it.
    pub const fn lift_one(&mut self, pool: &Pool, composite: Composite, rule: CutRule) -> bool {
        let (lead, content) = pool.led(composite);
        if content.is_empty() {
            return false;
        }
        let mut inside = Factors::one();
        let mut k = 0;
        while k < content.len() {
            inside.append(content[k]);
            k += 1;
        }
        let before = *self;
        let guide = Pieces::new(&[&inside]);
        while self.refine(pool, &guide, rule) {}
        let mut start = 0;
        while start + content.len() <= self.list.len() {
            if self.equals_at(start, content) {
                let piece = self.list.at(start);
                let size = lead + size_of_factors(content);
                self.starts[piece.level] -= (lead * piece.base) as isize;
                let term = Term { atom: Atom::Composite(composite), stride: 1, modulo: size };
                let factor = Factor::Term { term, resize: size };
                let origin = PIECES + piece.origin;
                self.list.set(start, Piece { factor, origin, weight: 1, total: size, ..piece });
                let mut k = 1;
                while k < content.len() {
                    self.list.remove(start + 1);
                    k += 1;
                }
                return true;
            }
            start += 1;
        }
        *self = before;
        false
    }

    const fn equals_at(&self, start: usize, content: &[Factor]) -> bool {
        let first = self.list.at(start);
        let mut base = 1;
        let mut k = 0;
        while k < content.len() {
            let piece = self.list.at(start + k);
            // Between the pieces a block may have been that is taken apart.
            if piece.base != base * first.base {
                return false;
            }
            base = content[k].size_over(base);
            let here = match piece.factor {
                Factor::Padding { size, kind } => Factor::Padding { size: size / first.base, kind },
                factor => factor,
            };
            if piece.level != first.level || !same_factor(&here, &content[k]) {
                return false;
            }
            k += 1;
        }
        true
    }

    /// The outermost piece without a partner that is this digit and has at least `resize` values.
    const fn partner(&self, term: &Term, resize: usize) -> Option<usize> {
        let mut k = self.list.len();
        while k > 0 {
            k -= 1;
            let piece = self.list.get(k);
            if let Factor::Term { term: own, resize: size } = &piece.factor
                && !piece.matched
                && own.is(term)
                && resize <= *size
            {
                return Some(k);
            }
        }
        None
    }

    /// Puts the pieces together again. What has a partner leaves its first `keep` values, then padding of `hole`.
    pub const fn residue(&self, pool: &Pool, hole: PaddingKind, keep: usize, relaxed: bool) -> Factors {
        let mut factors = Factors::one();
        let mut k = 0;
        while k < self.list.len() {
            let piece = self.list.at(k);
            match piece.factor {
                Factor::Padding { size, kind } => {
                    factors.push_padding(size, if relaxed { PaddingKind::Top } else { kind });
                }
                Factor::Term { term, resize } if piece.matched => {
                    factors.push_term(pool, term, keep);
                    factors.push_padding(piece.base * resize, hole);
                }
                Factor::Term { term, resize } => factors.push_term(pool, term, resize),
                Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
            }
            k += 1;
        }
        factors
    }
}

/// Two sides cut at the same places, and the pairs of equal digits: (dividend piece, divisor piece).
#[derive(Clone, Copy, Debug)]
pub struct Matched {
    /// The side that may have more.
    pub dividend: Pieces,
    /// The side whose digits are looked for.
    pub divisor: Pieces,
    /// Pairs, outermost divisor piece first.
    pub pairs: List<(usize, usize), PIECES>,
}

/// Cuts both sides and finds a partner for every digit of the divisor.
pub const fn matched(
    pool: &Pool,
    dividend: Pieces,
    divisor: Pieces,
    rules: (CutRule, Option<CutRule>),
) -> Matched {
    let (mut dividend, mut divisor) = (dividend, divisor);
    let mut again = true;
    let composites = !pool.factors.is_empty();
    if composites {
        while dividend.movable && dividend.open(pool, &divisor) {}
        while divisor.movable && divisor.open(pool, &dividend) {}
    }
    while again {
        again = composites && dividend.lift(pool, &divisor);
        again = dividend.refine(pool, &divisor, rules.0) || again;
        if let Some(rule) = rules.1 {
            again = (composites && divisor.lift(pool, &dividend)) || again;
            again = divisor.refine(pool, &dividend, rule) || again;
        }
    }
    let mut pairs = List::new((0, 0));
    let mut k = divisor.list.len();
    while k > 0 {
        k -= 1;
        let mut piece = divisor.list.at(k);
        if let Factor::Term { term, resize } = piece.factor
            && let Some(partner) = dividend.partner(&term, resize)
        {
            piece.matched = true;
            divisor.list.set(k, piece);
            let mut other = dividend.list.at(partner);
            other.matched = true;
            dividend.list.set(partner, other);
            pairs.push((partner, k));
        }
    }
    Matched { dividend, divisor, pairs }
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
