//! Factors: the content of a mapping without its notation.
//!
//! A mapping is a list of factors, innermost first. A factor is a *term*, a digit of an axis, or *padding*:
//!
//! ```text
//! m![K / 6 % 2, G # 8] with K = 24, G = 6
//!
//!   factor 0   term G              6 positions
//!   factor 1   padding 8           everything inside takes 8 positions, the last 2 are padding
//!   factor 2   term K / 6 % 2      2 positions
//! ```
//!
//! A product that is cut across its digits (`m![[A, B] / 2]` with `B = 3`) is a *composite*. Terms are digits of a
//! composite as they are of an axis. Factors with padding positions before them, the *lead*, are a composite, too:
//!
//! ```text
//! m![# 2 + B + # 4] with B = 90
//!
//!   factor 0   term [# 2 + B]      92 positions, a composite: the term B, lead 2
//!   factor 1   padding 96
//! ```
//!
//! The factors of a composite live in a [`Pool`], which all mappings of one derivation share, so that two composites
//! are equal exactly when they are the same range with the same lead. An axis of one coordinate is a term only in a
//! composite, and only where nothing else follows a lead: it names the composite.

use super::term::{Atom, Pool, Term};

/// The most factors of one mapping.
pub const FACTORS: usize = 24;

/// A factor of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Factor {
    /// The first `resize` values of a digit.
    Term {
        /// The digit.
        term: Term,
        /// Number of values of the digit, from 0 on.
        resize: usize,
    },
    /// Padding positions after everything inside.
    Padding {
        /// Positions of everything inside and of the padding after it.
        size: usize,
    },
}

impl Factor {
    /// True if this is a digit of the atom.
    pub const fn is_digit_of(&self, atom: &Atom) -> bool {
        match self {
            Factor::Term { term, .. } => term.atom.is(atom),
            Factor::Padding { .. } => false,
        }
    }

    /// Values of a digit; 1 for padding.
    pub const fn values(&self) -> usize {
        match self {
            Factor::Term { resize, .. } => *resize,
            Factor::Padding { .. } => 1,
        }
    }

    /// Positions of this factor together with the `inside` positions in it.
    pub const fn size_over(&self, inside: usize) -> usize {
        match self {
            Factor::Term { resize, .. } => inside * *resize,
            Factor::Padding { size, .. } => *size,
        }
    }
}

/// Problem of a derivation with a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A cut that does not divide the size.
    NotDivisible {
        /// The size.
        size: usize,
        /// The cut.
        by: usize,
    },
    /// A padding to fewer positions than the content has.
    PaddingTooSmall {
        /// The content.
        size: usize,
        /// The padding.
        padding: usize,
    },
    /// A cut of a mapping to its first positions, all of them padding.
    NoElement {
        /// Number of positions kept.
        kept: usize,
        /// The first position that holds an element.
        first: usize,
    },
    /// Padding positions before a single element that no axis names.
    NoAxis {
        /// Number of padding positions.
        lead: usize,
    },
    /// More than [`FACTORS`] factors, or more than [`POOL`](super::term::POOL) in composites.
    TooManyFactors,
}

pub const NO_FACTOR: Factor = Factor::Padding { size: 1 };

/// Positions of a list of factors.
pub const fn size_of_factors(factors: &[Factor]) -> usize {
    let mut size = 1;
    each!(k < factors.len(), {
        size = factors[k].size_over(size);
    });
    size
}

/// True if two factors of one pool are the same.
pub const fn same_factor(a: &Factor, b: &Factor) -> bool {
    match a {
        Factor::Term { term, resize } => {
            let Factor::Term { term: other, resize: values } = b else { return false };
            *resize == *values && term.is(other)
        }
        Factor::Padding { size } => {
            let Factor::Padding { size: other } = b else { return false };
            *size == *other
        }
    }
}

/// A mapping in normal form: factors, innermost first.
///
/// The first problem stays, so that const code can compute first and ask once.
///
/// The code of this type and of its callers is written for const evaluation: a statement costs 0.1 µs, a call 1 µs, a
/// copy of a list 1.5 µs, and a slice of one 30 µs. Hence fields, indices and references.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    /// Not a [`List`](crate::list::List): const evaluation pays for every call and for every type parameter.
    pub items: [Factor; FACTORS],
    /// Number of factors.
    pub len: usize,
    /// Positions of the list. Stored, because every push asks for it and const evaluation is slow.
    pub size: usize,
    /// Reason why the mapping has no normal form.
    pub problem: Option<Problem>,
}

impl Factors {
    /// The mapping `1`.
    pub const ONE: Self = Self { items: [NO_FACTOR; FACTORS], len: 0, size: 1, problem: None };

    /// A list of a mapping without a normal form.
    pub const fn failed(problem: Problem) -> Self {
        let mut factors = Self::ONE;
        factors.problem = Some(problem);
        factors
    }

    /// The factors, innermost first.
    pub const fn as_slice(&self) -> &[Factor] {
        self.items.split_at(self.len).0
    }

    /// The k-th factor, innermost first. Faster than a slice in const code.
    pub const fn item(&self, k: usize) -> &Factor {
        &self.items[k]
    }

    /// The number of factors.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if this is the mapping `1`.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Positions, padding included.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The outermost factor.
    pub const fn last(&self) -> Option<Factor> {
        if self.len == 0 { None } else { Some(self.items[self.len - 1]) }
    }

    /// Positions of the innermost `count` factors.
    pub const fn size_of_first(&self, count: usize) -> usize {
        let mut size = 1;
        each!(k < count, {
            size = match &self.items[k] {
                Factor::Term { resize, .. } => size * *resize,
                Factor::Padding { size } => *size,
            };
        });
        size
    }

    /// Appends a factor as it is.
    pub const fn append(&mut self, factor: Factor) {
        if self.len == FACTORS {
            self.fail(Problem::TooManyFactors);
            return;
        }
        self.size = match &factor {
            Factor::Term { resize, .. } => self.size * *resize,
            Factor::Padding { size } => *size,
        };
        self.items[self.len] = factor;
        self.len += 1;
    }

    /// Appends factors as they are.
    pub const fn append_list(&mut self, factors: &[Factor]) {
        each!(k < factors.len(), {
            self.append(factors[k]);
        });
    }

    /// Removes and returns the outermost factor.
    pub const fn pop(&mut self) -> Option<Factor> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        let last = self.items[self.len];
        match &last {
            Factor::Term { resize, .. } => self.size /= *resize,
            Factor::Padding { .. } => self.size = self.size_of_first(self.len),
        }
        Some(last)
    }

    /// The first problem, if there is one.
    pub const fn problem(&self) -> Option<Problem> {
        self.problem
    }

    /// True if two mappings of one pool hold the same elements at the same positions.
    pub const fn is(&self, other: &Factors) -> bool {
        if self.len != other.len || self.size != other.size {
            return false;
        }
        each!(k < self.len, {
            if !same_factor(&self.items[k], &other.items[k]) {
                return false;
            }
        });
        true
    }

    /// True if there is a term, and so at least two live positions.
    pub const fn has_terms(&self) -> bool {
        each!(k < self.len, {
            if let Factor::Term { .. } = &self.items[k] {
                return true;
            }
        });
        false
    }

    /// Notes a problem. The first one stays.
    pub const fn fail(&mut self, problem: Problem) {
        if self.problem.is_none() {
            self.problem = Some(problem);
        }
    }

    /// Puts the first `resize` values of a digit outside all present factors.
    pub const fn push_term(&mut self, pool: &Pool, term: Term, resize: usize) {
        if resize == 1 {
            return;
        }
        let mut term = term;
        let mut resize = resize;
        // The digit just inside completes this one: K / 4, K % 4 is K.
        if self.len > 0
            && let Factor::Term { term: inner, resize: full } = &self.items[self.len - 1]
            && *full == inner.modulo
            && term.stride == inner.stride * inner.modulo
            && term.atom.is(&inner.atom)
        {
            let full = *full;
            term.stride = inner.stride;
            term.modulo *= inner.modulo;
            resize *= full;
            self.len -= 1;
            self.size /= full;
        }
        let size = self.size * resize;
        let mut whole_composite = false;
        let live = match &term.atom {
            Atom::Symbol(axis) if term.stride == 1 => axis.size,
            Atom::Symbol(axis) => axis.size.div_ceil(term.stride),
            Atom::Composite(composite) => {
                whole_composite = term.stride == 1 && composite.lead == 0;
                pool.live(&term.atom, term.stride)
            }
        };
        if live < term.modulo {
            term.modulo = live;
        }
        if live < resize {
            resize = live;
        }
        if whole_composite
            && resize == term.modulo
            && resize == live
            && let Atom::Composite(composite) = term.atom
        {
            self.push_all(pool, pool.content(composite));
        } else if resize > 1 {
            self.append(Factor::Term { term, resize });
        }
        if size != self.size {
            self.push_padding(size);
        }
    }

    /// Puts factors that were made for an empty list outside all present factors.
    pub const fn push_all(&mut self, pool: &Pool, factors: &[Factor]) {
        let base = self.size;
        each!(k < factors.len(), {
            match &factors[k] {
                Factor::Term { term, resize } => self.push_term(pool, *term, *resize),
                Factor::Padding { size } => self.push_padding(*size * base),
            }
        });
    }

    /// Pads the present factors to `size` positions.
    pub const fn push_padding(&mut self, size: usize) {
        let content = self.size;
        if size < content {
            self.fail(Problem::PaddingTooSmall { size: content, padding: size });
        } else if size > content {
            if self.len > 0
                && let Factor::Padding { .. } = &self.items[self.len - 1]
            {
                self.len -= 1;
            }
            self.append(Factor::Padding { size });
        }
    }

    /// Puts the factors `first..end` of a list outside all present factors. In their list they stood outside `was`
    /// positions, which are `now` positions here.
    pub(super) const fn push_part(
        &mut self,
        pool: &Pool,
        factors: &Factors,
        (first, end): (usize, usize),
        (was, now): (usize, usize),
    ) {
        each!((k = first) < end, {
            match &factors.items[k] {
                Factor::Term { term, resize } => self.push_term(pool, *term, *resize),
                Factor::Padding { size } => self.push_padding(*size / was * now),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Axis, Composite, Ident};

    fn symbol(name: &'static str, size: usize) -> Atom {
        Atom::Symbol(Axis { name: Ident::new(name), size })
    }

    fn term(atom: Atom, stride: usize, modulo: usize) -> Term {
        Term { atom, stride, modulo }
    }

    #[test]
    fn equality_in_const_code_is_equality() {
        let composite = |start, len, lead| Atom::Composite(Composite { start, len, lead });
        let atoms = [
            symbol("A", 4),
            symbol("B", 4),
            symbol("A", 5),
            composite(0, 1, 0),
            composite(0, 1, 1),
            composite(0, 2, 0),
            composite(1, 1, 0),
        ];
        let mut factors = Vec::new();
        for atom in atoms {
            for (stride, modulo, resize) in [(1, 4, 4), (2, 4, 4), (1, 2, 2), (1, 4, 3)] {
                factors.push(Factor::Term { term: term(atom, stride, modulo), resize });
            }
        }
        for size in [4, 5] {
            factors.push(Factor::Padding { size });
        }
        for (i, a) in factors.iter().enumerate() {
            for (j, b) in factors.iter().enumerate() {
                assert_eq!(same_factor(a, b), i == j, "{a:?} {b:?}");
            }
        }
        for (i, a) in atoms.iter().enumerate() {
            assert!(atoms.iter().enumerate().all(|(j, b)| a.is(b) == (i == j)));
        }
    }

    #[test]
    fn lists() {
        let pool = Pool::new();
        let mut factors = Factors::ONE;
        assert!(factors.is_empty() && !factors.has_terms() && factors.last().is_none());
        factors.push_padding(2);
        assert!(!factors.is_empty() && !factors.has_terms());
        factors.push_term(&pool, term(symbol("A", 4), 1, 4), 4);
        assert!(factors.has_terms());
        let last = Factor::Term { term: term(symbol("A", 4), 1, 4), resize: 4 };
        assert_eq!((factors.last(), factors.size(), factors.len()), (Some(last), 8, 2));
        let mut other = factors;
        assert!(factors.is(&other));
        other.push_padding(12);
        assert!(!factors.is(&other) && !other.is(&factors) && !Factors::ONE.is(&factors));
        let mut different = Factors::ONE;
        different.push_padding(2);
        different.push_term(&pool, term(symbol("B", 4), 1, 4), 4);
        assert!(!factors.is(&different));
        assert_eq!(other.pop(), Some(Factor::Padding { size: 12 }));
        assert!(factors.is(&other) && other.size() == 8);
        // A removed factor is no part of the list any more.
        assert_eq!(other.pop(), Some(last));
        assert!(!other.has_terms() && !factors.is(&other) && !other.is(&factors));
    }

    #[test]
    fn axes_of_one_coordinate_name_composites() {
        use crate::mapping::{Expr, M, factorize};
        use crate::prelude::{axes, m};
        axes![U = 1, V = 1, X = 2];
        let mut pool = Pool::new();
        let mut factors = |expr: &'static Expr| factorize(&mut pool, expr);
        let u = factors(<m![# 2 + U, X]>::EXPR);
        assert!(u.is(&factors(<m![# 2 + [U, V], X]>::EXPR)));
        for other in
            [<m![# 2 + V, X]>::EXPR, <m![# 1 + U, X]>::EXPR, <m![X, # 2 + U]>::EXPR, <m![# 2 + U]>::EXPR]
        {
            assert!(!u.is(&factors(other)), "{other}");
        }
        assert!(factors(<m![U, X]>::EXPR).is(&factors(<m![X]>::EXPR)));
    }

    #[test]
    fn a_digit_is_clamped_to_its_axis() {
        let pool = Pool::new();
        let a = symbol("A", 5);
        let pushed = |stride, modulo, resize| {
            let mut factors = Factors::ONE;
            factors.push_padding(3);
            factors.push_term(&pool, term(a, stride, modulo), resize);
            factors.as_slice()[1..].to_vec()
        };
        let whole = |resize| Factor::Term { term: term(a, 1, 5), resize };
        let padding = |size| Factor::Padding { size };
        assert_eq!(pushed(1, 5, 5), [whole(5)]);
        assert_eq!(pushed(1, 5, 4), [whole(4)]);
        assert_eq!(pushed(1, 8, 4), [whole(4)]);
        assert_eq!(pushed(1, 8, 5), [whole(5)]);
        assert_eq!(pushed(1, 8, 8), [whole(5), padding(24)]);
        assert_eq!(pushed(2, 4, 4), [Factor::Term { term: term(a, 2, 3), resize: 3 }, padding(12)]);
        // Past the end of the axis there is only padding, and a digit of one value is dropped.
        let mut past = Factors::ONE;
        past.push_term(&pool, term(a, 5, 2), 2);
        assert_eq!(past.as_slice(), [padding(2)]);
        assert_eq!(pushed(1, 5, 1), []);
    }

    #[test]
    fn digits_that_complete_each_other_are_one() {
        let pool = Pool::new();
        let a = symbol("A", 24);
        let pushed = |inner: (usize, usize, usize), outer: (usize, usize, usize)| {
            let mut factors = Factors::ONE;
            for (stride, modulo, resize) in [inner, outer] {
                factors.push_term(&pool, term(a, stride, modulo), resize);
            }
            factors.as_slice().to_vec()
        };
        let one = |stride, modulo, resize| Factor::Term { term: term(a, stride, modulo), resize };
        assert_eq!(pushed((1, 4, 4), (4, 6, 6)), [one(1, 24, 24)]);
        assert_eq!(pushed((2, 3, 3), (6, 2, 2)), [one(2, 6, 6)]);
        assert_eq!(pushed((2, 3, 3), (6, 4, 3)), [one(2, 12, 9)]);
        assert_eq!(pushed((1, 4, 3), (4, 6, 6)), [one(1, 4, 3), one(4, 6, 6)]);
        assert_eq!(pushed((1, 4, 4), (8, 3, 3)), [one(1, 4, 4), one(8, 3, 3)]);
        let mut factors = Factors::ONE;
        factors.push_term(&pool, term(a, 1, 4), 4);
        factors.push_term(&pool, term(symbol("B", 24), 4, 6), 6);
        assert_eq!(factors.len(), 2);
    }

    #[test]
    fn padding_joins_and_problems_stay() {
        let mut factors = Factors::ONE;
        for size in [1, 2, 4, 8] {
            factors.push_padding(size);
        }
        assert_eq!(factors.as_slice(), [Factor::Padding { size: 8 }]);
        assert_eq!(factors.problem(), None);
        factors.push_padding(7);
        factors.push_padding(1);
        assert_eq!(factors.problem(), Some(Problem::PaddingTooSmall { size: 8, padding: 7 }));
        assert_eq!(
            (factors.size(), factors.pop(), factors.size()),
            (8, Some(Factor::Padding { size: 8 }), 1)
        );
    }

    #[test]
    fn lists_go_outside_of_what_is_there() {
        let pool = Pool::new();
        let one = |name, modulo| Factor::Term { term: term(symbol(name, modulo), 1, modulo), resize: modulo };
        let padding = |size| Factor::Padding { size };
        let mut factors = Factors::ONE;
        factors.push_all(&pool, &[one("A", 4)]);
        // The factors are made for an empty list: 5 positions padded to 7.
        factors.push_all(&pool, &[one("B", 5), padding(7), one("C", 2)]);
        assert_eq!(factors.as_slice(), [one("A", 4), one("B", 5), padding(28), one("C", 2)]);
        // The 8 positions inside the part are 2 positions now.
        let mut factors = Factors::ONE;
        factors.push_all(&pool, &[one("A", 2)]);
        let mut outer = Factors::ONE;
        outer.append_list(&[one("A", 8), one("B", 5), padding(56), one("C", 2)]);
        factors.push_part(&pool, &outer, (1, 4), (4, 1));
        assert_eq!(factors.as_slice(), [one("A", 2), one("B", 5), padding(14), one("C", 2)]);
    }

    #[test]
    fn a_list_holds_its_capacity_and_reports_one_more() {
        const NAMES: [&str; 25] = [
            "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S",
            "T", "U", "V", "W", "X", "Y",
        ];
        let pool = Pool::new();
        let mut factors = Factors::ONE;
        for name in &NAMES[..FACTORS] {
            factors.push_term(&pool, term(symbol(name, 2), 1, 2), 2);
        }
        assert_eq!(factors.problem(), None);
        factors.push_term(&pool, term(symbol(NAMES[FACTORS], 2), 1, 2), 2);
        assert_eq!(factors.problem(), Some(Problem::TooManyFactors));
    }
}
