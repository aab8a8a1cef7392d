//! Where a buffer holds the digits of its axes, with its products taken apart as far as their digits allow.

use super::product::{cut, first_positions, holds_nothing, inside, last_live};
use crate::list::List;
use crate::mapping::{
    Atom, Composite, FACTORS, Factor, Factors, PIECES, POOL, PaddingKind, Pool, Term, least, size_of_factors,
};

/// The most products of which a buffer holds the first positions only.
pub(super) const LIMITS: usize = 8;

pub(super) type Limits = List<Limit, LIMITS>;

/// No limit.
pub(super) const UNLIMITED: usize = usize::MAX;

/// A digit of the buffer, or of a product that the buffer holds.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) term: Term,
    pub(super) resize: usize,
    /// Positions of the buffer per value.
    pub(super) base: usize,
    /// Values that the stream walks over, as the product of the loops' moduli.
    pub(super) read: usize,
    /// The largest value that the stream reaches.
    pub(super) reached: usize,
    pub(super) share: Share,
}

/// The first positions of a product: what its digits sum up to stays below `max`.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub(super) max: usize,
    /// The largest sum that the stream reaches.
    pub(super) reached: usize,
}

/// The part of a digit in a limit.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Which limit, or [`UNLIMITED`].
    pub(super) limit: usize,
    /// What one step of the digit adds to the sum.
    pub(super) weight: usize,
}

/// Factors with the number of positions inside each.
#[derive(Clone, Copy)]
pub(super) struct Based {
    pub(super) list: List<(Factor, usize), PIECES>,
}

/// The buffer's digits, with its products taken apart.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) list: List<Place, { FACTORS + POOL }>,
    pub(super) limits: Limits,
    /// The number of places of the buffer, which come first. The others are those of products of the stream.
    pub(super) held: usize,
    /// Whether a limit lies inside another one, which is not followed.
    pub(super) nested: bool,
    /// Time and packet, with the products of the buffer as digits.
    pub(super) stream: [Based; 2],
    /// Whether a part of an axis that the buffer does not hold is repeated.
    pub(super) partial: bool,
    pub(super) is_packet: bool,
}

pub(super) const NO_TERM: Term = Term { atom: Atom::Composite(Composite::NONE), stride: 1, modulo: 1 };

pub(super) const ALONE: Share = Share { limit: UNLIMITED, weight: 0 };

/// Whether no other digit of the same product is in the list.
pub(super) const fn is_alone(factors: &[Factor], term: &Term) -> bool {
    let mut k = 0;
    while k < factors.len() {
        if let Factor::Term { term: other, .. } = &factors[k]
            && other.atom.is(&term.atom)
            && other.stride != term.stride
        {
            return false;
        }
        k += 1;
    }
    true
}

impl Based {
    pub(super) const fn new(factors: &[Factor]) -> Self {
        let mut list = List::new((Factor::Padding { size: 1, kind: PaddingKind::Top }, 1));
        let mut k = 0;
        while k < factors.len() {
            list.push((factors[k], size_of_factors(factors.split_at(k).0)));
            k += 1;
        }
        Self { list }
    }
}

impl Places {
    /// Adds a digit of the buffer. `alone`: it holds no other digit of the same product.
    pub(super) const fn hold(
        &mut self,
        pool: &mut Pool,
        term: Term,
        resize: usize,
        base: usize,
        share: Share,
        alone: bool,
    ) {
        let (mut term, mut share) = (term, share);
        let Atom::Composite(composite) = term.atom else {
            self.list.push(Place { term, resize, base, read: 1, reached: 0, share });
            return;
        };
        let mut content = Factors::one();
        content.append_list(pool.content(composite));
        let end = term.stride * term.modulo;
        if alone {
            // All that is held are the first values.
            content = first_positions(content.as_slice(), term.stride * (resize - 1) + 1);
            term.modulo = content.size().div_ceil(term.stride);
            if holds_nothing(pool, content.as_slice(), term.stride, resize) {
                return;
            }
        } else if let Some(cut) = cut(content.as_slice(), end) {
            content = inside(content.as_slice(), cut);
        }
        let whole = content.size() <= term.stride * term.modulo;
        let low = if whole { cut(content.as_slice(), term.stride) } else { None };
        let Some(low) = low else {
            term.atom = Atom::Composite(pool.intern(content.as_slice()));
            self.list.push(Place { term, resize, base, read: 1, reached: 0, share });
            return;
        };
        let cut_off = resize <= last_live(pool, content.as_slice()) / term.stride;
        // The place of a single digit knows how many values it holds.
        if cut_off && content.len() > 1 {
            self.nested = self.nested || share.limit != UNLIMITED;
            share = Share { limit: self.limits.len(), weight: 1 };
            self.limits.push(Limit { max: resize, reached: 0 });
        }
        let part = inside(content.as_slice(), low);
        if low.size > term.stride && part.has_terms() {
            let modulo = low.size / term.stride;
            let own = if let (1, Factor::Term { term: only, .. }) = (part.len(), part.as_slice()[0]) {
                Term { atom: only.atom, stride: only.stride * term.stride, modulo }
            } else {
                let atom = Atom::Composite(pool.intern(part.as_slice()));
                Term { atom, stride: term.stride, modulo }
            };
            self.list.push(Place { term: own, resize: modulo, base, read: 1, reached: 0, share });
        }
        let mut k = low.factor;
        while k < content.len() {
            if let Factor::Term { term: own, resize: size } = content.as_slice()[k] {
                let (mut own, mut size) = (own, size);
                let mut step = size_of_factors(content.as_slice().split_at(k).0);
                if k == low.factor {
                    own.stride *= low.values;
                    own.modulo = own.modulo.div_ceil(low.values);
                    size = size.div_ceil(low.values);
                    step = low.size;
                }
                let held = (term.stride * (resize - 1) + 1).div_ceil(step);
                size = least(size, held);
                let step = step / term.stride;
                if size > 1 {
                    let share = Share { weight: share.weight * step, ..share };
                    let alone = is_alone(content.as_slice(), &own);
                    self.hold(pool, own, size, base * step, share, alone);
                }
            }
            k += 1;
        }
    }
}
