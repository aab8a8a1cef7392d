//! Matching: both mappings are cut at the same places, and equal digits are paired.
//!
//! This is the only comparison of mappings. [`super::division`] asks for the rest of a mapping without another one; the
//! derivation of sequencers pairs a stream with its buffer; the derivation of transfers pairs two tensors, with one
//! list per level (chip, cluster, slice, element).
//!
//! ```text
//! dividend m![A, B]      divisor m![A % 4, B, A / 4]         (A = 16, B = 8)
//!
//!   piece      inside in the dividend    in the divisor
//!   B          1                         4
//!   A % 4      8                         32
//!   A / 4      32                        1
//! ```
//!
//! Three steps are repeated until nothing changes:
//!
//! 1. *open*: a composite with a lead that the other side does not have is taken apart. Its level starts after the
//!    lead.
//! 2. *lift*: neighbouring pieces that equal the content of a composite of the other side become a digit of it.
//! 3. *refine*: a digit is cut where a digit of the same axis begins or ends on the other side, if the [`CutRule`]
//!    allows.

use super::factor::{Factor, Factors, NO_FACTOR, same_factor, size_of_factors};
use super::normal::least;
use super::shared::mentions;
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
    /// The number of its list.
    pub level: usize,
    /// Positions inside it, within its level.
    pub base: usize,
    /// The term that it was cut from: a number, unique within a side.
    pub origin: usize,
    /// Values of the origin per value of this piece.
    pub weight: usize,
    /// Values of the origin.
    pub total: usize,
    /// True if the values of the origin end where its axis ends: values past the end are padding.
    pub open: bool,
    /// True if it has a partner on the other side.
    pub matched: bool,
}

/// The cuts that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutRule {
    /// Every value of the two halves together is a value of the digit, or lies in padding.
    Exact,
    /// As `Exact`; and the first values of an axis may be cut where that divides their number.
    Even,
    /// A whole digit may be cut anywhere: values past its end are padding.
    Whole,
    /// A digit may be cut if the cut divides its period, or if the digit ends with its axis: users of the halves keep
    /// their sum below the digit's size.
    Ragged,
}

/// One side.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    /// The pieces, innermost first within each level.
    pub list: List<Piece, PIECES>,
    /// Start of each level: the positions from its first one to the one where all digits are 0.
    pub starts: [isize; LEVELS],
    /// True if levels may start elsewhere: `m![B]` then is `m![# 2 + B]` from 2 positions before its first one on.
    pub movable: bool,
    /// True if a digit may have fewer values than its partner in the divisor.
    pub sliceable: bool,
}

const NO_PIECE: Piece = Piece {
    factor: NO_FACTOR,
    level: 0,
    base: 1,
    origin: 0,
    weight: 1,
    total: 1,
    open: false,
    matched: false,
};

const NO_PIECES: Pieces =
    Pieces { list: List::new(NO_PIECE), starts: [0; LEVELS], movable: false, sliceable: false };

impl Pieces {
    /// The pieces of lists of factors, one list per level.
    pub const fn new(levels: &[&Factors]) -> Self {
        let mut pieces = NO_PIECES;
        each!(level < levels.len(), {
            pieces.push(level, levels[level]);
        });
        pieces
    }

    /// The pieces of the first `count` lists of an array.
    pub const fn of_first(levels: &[Factors; LEVELS], count: usize) -> Self {
        let mut pieces = NO_PIECES;
        each!(level < count, {
            if levels[level].len > 0 {
                pieces.push(level, &levels[level]);
            }
        });
        pieces
    }

    /// Adds the pieces of one more list.
    const fn push(&mut self, level: usize, factors: &Factors) {
        let list = &mut self.list;
        let mut base = 1;
        each!(k < factors.len, {
            if list.len == PIECES {
                list.overflowed = true;
                return;
            }
            let factor = factors.items[k];
            let mut total = 1;
            let end = match &factor {
                Factor::Term { resize, .. } => {
                    total = *resize;
                    base * *resize
                }
                Factor::Padding { size } => *size,
            };
            list.items[list.len] = Piece { factor, level, base, origin: list.len, total, ..NO_PIECE };
            list.len += 1;
            base = end;
        });
    }

    /// The same pieces, with levels that may start elsewhere.
    pub const fn movable(mut self) -> Self {
        self.movable = true;
        self
    }

    /// The same pieces, which may have fewer values than their partners.
    pub const fn sliceable(mut self) -> Self {
        self.sliceable = true;
        self
    }

    /// The digit of a piece and the number of its values. `None` for padding.
    pub const fn digit(&self, k: usize) -> Option<(Term, usize)> {
        match self.list.items[k].factor {
            Factor::Term { term, resize } => Some((term, resize)),
            Factor::Padding { .. } => None,
        }
    }

    /// Takes apart one whole composite with a lead that the other side does not have. Its level then starts after the
    /// lead.
    const fn open(&mut self, pool: &Pool, other: &Pieces) -> bool {
        each!(k < self.list.len, {
            let piece = self.list.items[k];
            if let Factor::Term { term, resize } = piece.factor
                && let Atom::Composite(composite) = term.atom
                && composite.lead > 0
                && resize == pool.atom_size(&term.atom)
                && !other.holds(&term.atom)
            {
                self.starts[piece.level] += (composite.lead * piece.base) as isize;
                self.list.remove(k);
                let inside = pool.content(composite);
                let (mut base, mut place) = (1, k);
                each!(j < inside.len(), {
                    let factor = match inside[j] {
                        Factor::Padding { size } => Factor::Padding { size: size * piece.base },
                        term => term,
                    };
                    // Each digit of the composite gets an origin of its own: pieces of one origin are neighbours.
                    let origin = (piece.origin + 1) * 2 * PIECES + j;
                    // An axis of one coordinate is no digit.
                    if inside[j].size_over(base) > base {
                        let total = factor.values();
                        self.list
                            .insert(place, Piece { factor, base: base * piece.base, origin, total, ..piece });
                        place += 1;
                    }
                    base = inside[j].size_over(base);
                });
                return true;
            }
        });
        false
    }

    /// Finds the piece that is this digit with `values` values. On the way, composites with a lead that the other side
    /// does not have are taken apart.
    pub const fn whole_digit(
        &mut self,
        pool: &Pool,
        other: &Pieces,
        term: &Term,
        values: usize,
    ) -> Option<usize> {
        loop {
            each!(k < self.list.len, {
                if let Factor::Term { term: digit, resize } = &self.list.items[k].factor
                    && *resize == values
                    && digit.is(term)
                {
                    return Some(k);
                }
            });
            if !self.open(pool, other) {
                return None;
            }
        }
    }

    /// True if a piece is a digit of this atom.
    pub const fn holds(&self, atom: &Atom) -> bool {
        each!(k < self.list.len, {
            if let Factor::Term { term, .. } = &self.list.items[k].factor
                && term.atom.is(atom)
            {
                return true;
            }
        });
        false
    }

    /// True if a piece is made of an axis of this atom, by itself or in a composite.
    pub const fn touches(&self, pool: &Pool, atom: &Atom) -> bool {
        if let Atom::Composite(composite) = atom {
            let content = pool.content(*composite);
            each!(k < content.len(), {
                if let Factor::Term { term, .. } = &content[k]
                    && self.touches(pool, &term.atom)
                {
                    return true;
                }
            });
            return false;
        }
        each!(k < self.list.len, {
            if mentions(pool, &self.list.items[k].factor, atom) {
                return true;
            }
        });
        false
    }

    /// True if a composite among the pieces is made of this axis.
    pub const fn holds_in_composite(&self, pool: &Pool, axis: &Atom) -> bool {
        each!(k < self.list.len, {
            if let Factor::Term { term: Term { atom: Atom::Composite(_), .. }, .. } =
                self.list.items[k].factor
                && mentions(pool, &self.list.items[k].factor, axis)
            {
                return true;
            }
        });
        false
    }

    /// Cuts piece `k` at `at` coordinates of its atom, which lie inside the piece. True if the rule allows it.
    pub const fn cut(&mut self, pool: &Pool, k: usize, at: usize, rule: CutRule) -> bool {
        let piece = self.list.items[k];
        let Factor::Term { term, resize } = piece.factor else { return false };
        if !at.is_multiple_of(term.stride) {
            return false;
        }
        let step = at / term.stride;
        let high_modulo = term.modulo.div_ceil(step);
        let to_the_end = term.modulo == pool.live(&term.atom, term.stride);
        let whole = to_the_end && resize == term.modulo;
        let clean = resize.is_multiple_of(step) && term.modulo.is_multiple_of(step);
        let is_exact = matches!(rule, CutRule::Exact | CutRule::Even)
            && (clean || (whole && self.room_after(k, piece.base * step * high_modulo)));
        let allowed = match rule {
            CutRule::Exact => is_exact,
            // Up to the end of an axis, a digit has no period that a cut must divide.
            CutRule::Even => is_exact || (to_the_end && resize.is_multiple_of(step)),
            CutRule::Whole => clean || whole,
            CutRule::Ragged => clean || to_the_end || term.modulo.is_multiple_of(step),
        };
        if !allowed {
            return false;
        }
        let open = piece.open || whole;
        let low = Factor::Term { term: Term { modulo: step, ..term }, resize: least(resize, step) };
        let high_term = Term { atom: term.atom, stride: at, modulo: high_modulo };
        let high = Factor::Term { term: high_term, resize: resize.div_ceil(step) };
        self.list.set(k, Piece { factor: low, open, ..piece });
        let (base, weight) = (piece.base * step, piece.weight * step);
        self.list.insert(k + 1, Piece { factor: high, base, weight, open, ..piece });
        true
    }

    /// True if the positions up to `end` after piece `k` are free.
    const fn room_after(&self, k: usize, end: usize) -> bool {
        if k + 1 == self.list.len {
            return true;
        }
        let next = self.list.items[k + 1];
        match next.factor {
            _ if next.level != self.list.items[k].level => true,
            Factor::Padding { size } => size >= end,
            Factor::Term { .. } => false,
        }
    }

    /// True if a digit of one side begins or ends inside a digit of the other side.
    const fn crosses(&self, other: &Pieces) -> bool {
        each!(i < other.list.len, {
            if let Factor::Term { term: theirs, .. } = &other.list.items[i].factor {
                let end = theirs.stride * theirs.modulo;
                each!(k < self.list.len, {
                    if let Factor::Term { term, .. } = &self.list.items[k].factor
                        && (term.stride != theirs.stride || term.modulo != theirs.modulo)
                        && term.stride < end
                        && theirs.stride < term.stride * term.modulo
                        && term.atom.is(&theirs.atom)
                    {
                        return true;
                    }
                });
            }
        });
        false
    }

    /// Cuts this side's digits where the other side's digits of the same atom begin and end.
    const fn refine(&mut self, pool: &Pool, other: &Pieces, rule: CutRule) -> bool {
        let mut changed = false;
        each!(i < other.list.len, {
            if let Factor::Term { term: guide, .. } = &other.list.items[i].factor {
                let start = guide.stride;
                let end = start * guide.modulo;
                let mut k = 0;
                // A cut adds a piece.
                while k < self.list.len {
                    if let Factor::Term { term, .. } = &self.list.items[k].factor {
                        let term_end = term.stride * term.modulo;
                        let low = term.stride < start && start < term_end;
                        let high = term.stride < end && end < term_end;
                        if (low || high) && term.atom.is(&guide.atom) {
                            // The upper cut comes first: it leaves the lower half in place.
                            changed = (high && self.cut(pool, k, end, rule)) || changed;
                            changed = (low && self.cut(pool, k, start, rule)) || changed;
                        }
                    }
                    k += 1;
                }
            }
        });
        changed
    }

    /// Replaces runs that equal the content of a composite of the other side by one term of the composite.
    const fn lift(&mut self, pool: &Pool, other: &Pieces) -> bool {
        each!(i < other.list.len, {
            if let Factor::Term { term, .. } = &other.list.items[i].factor
                && let Atom::Composite(composite) = term.atom
                && (self.movable || composite.lead == 0)
                && !self.holds(&term.atom)
                && self.lift_one(pool, composite)
            {
                return true;
            }
        });
        false
    }

    /// Replaces the run that equals the content of one composite by a term of the composite. Its level then starts
    /// earlier, by the lead.
    const fn lift_one(&mut self, pool: &Pool, composite: Composite) -> bool {
        let content = pool.content(composite);
        let before = *self;
        let mut inside = Factors::ONE;
        inside.append_list(content);
        // The content may hold composites.
        each!(k < content.len(), {
            if let Factor::Term { term: Term { atom: Atom::Composite(inner), .. }, .. } = content[k]
                && (self.movable || inner.lead == 0)
                && !self.holds(&Atom::Composite(inner))
            {
                self.lift_one(pool, inner);
            }
        });
        let guide = Pieces::new(&[&inside]);
        while self.refine(pool, &guide, CutRule::Exact) {}
        let mut start = 0;
        while start + content.len() <= self.list.len {
            if self.equals_at(start, content) {
                let piece = self.list.items[start];
                let size = composite.lead + size_of_factors(content);
                self.starts[piece.level] -= (composite.lead * piece.base) as isize;
                let term = Term { atom: Atom::Composite(composite), stride: 1, modulo: size };
                let factor = Factor::Term { term, resize: size };
                let origin = PIECES + piece.origin;
                self.list.set(start, Piece { factor, origin, weight: 1, total: size, open: true, ..piece });
                each!((_k = 1) < content.len(), {
                    self.list.remove(start + 1);
                });
                return true;
            }
            start += 1;
        }
        *self = before;
        false
    }

    const fn equals_at(&self, start: usize, content: &[Factor]) -> bool {
        let first = self.list.items[start];
        let mut base = 1;
        each!(k < content.len(), {
            let piece = self.list.items[start + k];
            // A composite that was taken apart may have left a gap between the pieces.
            if piece.base != base * first.base {
                return false;
            }
            base = content[k].size_over(base);
            let here = match piece.factor {
                Factor::Padding { size } => Factor::Padding { size: size / first.base },
                factor => factor,
            };
            if piece.level != first.level || !same_factor(&here, &content[k]) || !self.has_all(&piece) {
                return false;
            }
        });
        true
    }

    /// True if a piece has all its values with all values of the other pieces of its origin, up to the end of its axis.
    const fn has_all(&self, piece: &Piece) -> bool {
        let mut values = 1;
        each!(k < self.list.len, {
            if self.list.items[k].origin == piece.origin {
                values *= self.list.items[k].factor.values();
            }
        });
        piece.open || values <= piece.total
    }

    /// The outermost piece without a partner that is this digit. It has at least `resize` values, unless the side is
    /// sliceable.
    const fn partner(&self, term: &Term, resize: usize) -> Option<usize> {
        each_back!(k < self.list.len, {
            let piece = &self.list.items[k];
            if let Factor::Term { term: digit, resize: size } = &piece.factor
                && !piece.matched
                && digit.is(term)
                && (resize <= *size || self.sliceable)
            {
                return Some(k);
            }
        });
        None
    }

    /// Puts the pieces together again, with padding in place of those that have a partner.
    pub const fn residue(&self, pool: &Pool) -> Factors {
        let mut factors = Factors::ONE;
        each!(k < self.list.len, {
            let piece = self.list.items[k];
            match piece.factor {
                Factor::Padding { size } => factors.push_padding(size),
                Factor::Term { resize, .. } if piece.matched => factors.push_padding(piece.base * resize),
                Factor::Term { term, resize } => factors.push_term(pool, term, resize),
            }
        });
        factors
    }
}

const NO_PAIRS: List<(usize, usize), PIECES> = List::new((0, 0));

/// Two sides cut at the same places, and the pairs of equal digits: (dividend piece, divisor piece).
#[derive(Clone, Copy, Debug)]
pub struct Matched {
    /// The side that may have more digits.
    pub dividend: Pieces,
    /// The side whose digits are looked for.
    pub divisor: Pieces,
    /// Pairs, outermost divisor piece first.
    pub pairs: List<(usize, usize), PIECES>,
}

/// Cuts both sides and finds a partner for every digit of the divisor. `rules`: the cuts of the dividend, and of the
/// divisor.
pub const fn matched(pool: &Pool, dividend: Pieces, divisor: Pieces, rules: [CutRule; 2]) -> Matched {
    let mut matched = Matched { dividend, divisor, pairs: NO_PAIRS };
    let Matched { dividend, divisor, .. } = &mut matched;
    let composites = pool.factors.len > 0;
    if composites {
        while dividend.movable && dividend.open(pool, divisor) {}
        while divisor.movable && divisor.open(pool, dividend) {}
    }
    let mut again = composites || dividend.crosses(divisor);
    while again {
        again = composites && dividend.lift(pool, divisor);
        again = dividend.refine(pool, divisor, rules[0]) || again;
        again = (composites && divisor.lift(pool, dividend)) || again;
        again = divisor.refine(pool, dividend, rules[1]) || again;
    }
    matched.pair();
    matched
}

impl Matched {
    const fn pair(&mut self) {
        each_back!(k < self.divisor.list.len, {
            if let Factor::Term { term, resize } = &self.divisor.list.items[k].factor
                && let Some(partner) = self.dividend.partner(term, *resize)
            {
                self.divisor.list.items[k].matched = true;
                self.dividend.list.items[partner].matched = true;
                self.pairs.items[self.pairs.len] = (partner, k);
                self.pairs.len += 1;
            }
        });
    }

    /// Finds the pairs anew, after more cuts.
    pub const fn pair_again(&mut self) {
        self.pairs = NO_PAIRS;
        each!(k < self.dividend.list.len, {
            self.dividend.list.items[k].matched = false;
        });
        each!(k < self.divisor.list.len, {
            self.divisor.list.items[k].matched = false;
        });
        self.pair();
    }

    /// The partner of a piece of the dividend.
    pub const fn partner(&self, dividend: usize) -> Option<usize> {
        each!(k < self.pairs.len, {
            if self.pairs.items[k].0 == dividend {
                return Some(self.pairs.items[k].1);
            }
        });
        None
    }

    /// The partner of a piece of the divisor.
    pub const fn partner_of_divisor(&self, divisor: usize) -> Option<usize> {
        each!(k < self.pairs.len, {
            if self.pairs.items[k].1 == divisor {
                return Some(self.pairs.items[k].0);
            }
        });
        None
    }

    /// A digit of the dividend that goes past the values that the divisor holds of it, though its axis continues.
    pub const fn past_held_values(&self) -> Option<(Term, usize)> {
        let held = &self.divisor.list;
        let mut k = 0;
        while k < held.len {
            let origin = held.items[k].origin;
            let mut reached = 0;
            let mut digit = None;
            let mut j = k;
            while j < held.len && held.items[j].origin == origin {
                let piece = &held.items[j];
                if let Some(partner) = self.partner_of_divisor(j)
                    && let Some((term, resize)) = self.dividend.digit(partner)
                {
                    reached += piece.weight * (resize - 1);
                    digit = Some((term, resize));
                }
                j += 1;
            }
            if reached >= held.items[k].total && !held.items[k].open && digit.is_some() {
                return digit;
            }
            k = j;
        }
        None
    }

    /// The outermost piece of the divisor without a partner, of those with more than one value.
    pub const fn missing(&self) -> Option<(Term, usize)> {
        each_back!(k < self.divisor.list.len, {
            let piece = &self.divisor.list.items[k];
            if let Factor::Term { term, resize } = piece.factor
                && !piece.matched
                && resize > 1
            {
                return Some((term, resize));
            }
        });
        None
    }

    /// True if either side has more pieces than fit.
    pub const fn overflowed(&self) -> bool {
        self.dividend.list.overflowed || self.divisor.list.overflowed
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
