//! Terms: digits of axes, and of products that were cut across their digits, which live in a [`Pool`].

use super::factor::{Factor, NO_FACTOR, same_factor, size_of_factors};
use crate::list::List;

/// The most factors of all composites in one derivation.
pub const POOL: usize = 24;

/// The name of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ident(&'static str);

impl Ident {
    /// A name. It starts with an ASCII upper-case letter and goes on with ASCII letters, digits and `_`.
    pub const fn new(name: &'static str) -> Self {
        let bytes = name.as_bytes();
        assert!(
            !bytes.is_empty() && bytes[0].is_ascii_uppercase(),
            "an axis name starts with an ASCII upper-case letter"
        );
        let mut k = 1;
        while k < bytes.len() {
            assert!(
                bytes[k].is_ascii_alphanumeric() || bytes[k] == b'_',
                "an axis name holds ASCII letters, digits and `_`"
            );
            k += 1;
        }
        Self(name)
    }

    /// The name as a string.
    pub const fn as_str(&self) -> &'static str {
        self.0
    }

    /// Whether two names are equal, in const code.
    pub const fn is(&self, other: &Ident) -> bool {
        crate::text::same(self.0, other.0)
    }
}

impl core::fmt::Display for Ident {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.0)
    }
}

/// An axis: equal name and equal size make the same axis, wherever it was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Axis {
    /// The name.
    pub name: Ident,
    /// The number of coordinates.
    pub size: usize,
}

impl Axis {
    /// Whether two axes are the same, in const code.
    pub const fn is(&self, other: &Axis) -> bool {
        self.size == other.size && self.name.is(&other.name)
    }
}

/// A range of factors in a [`Pool`]: a product that is treated as one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Composite {
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// Which one of several equal blocks, where nothing else tells them apart ([`number_copies`]).
    ///
    /// [`number_copies`]: super::copies::number_copies
    pub(crate) copy: usize,
}

impl Composite {
    /// No factors.
    pub(crate) const NONE: Self = Self { start: 0, len: 0, copy: 0 };

    /// Whether two composites of one pool are the same, in const code.
    pub(crate) const fn is(&self, other: &Composite) -> bool {
        self.is_copy_of(other) && self.copy == other.copy
    }

    /// Whether two composites of one pool have the same factors.
    pub(crate) const fn is_copy_of(&self, other: &Composite) -> bool {
        self.start == other.start && self.len == other.len
    }
}

/// What a term is a digit of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// An axis.
    Symbol(Axis),
    /// A product that was cut across its digits.
    Composite(Composite),
}

impl Atom {
    /// Whether two atoms of one pool are the same, in const code.
    pub const fn is(&self, other: &Atom) -> bool {
        match (self, other) {
            (Atom::Symbol(a), Atom::Symbol(b)) => a.is(b),
            (Atom::Composite(a), Atom::Composite(b)) => a.is(b),
            _ => false,
        }
    }
}

/// A digit: `(atom div stride) mod modulo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// What it is a digit of.
    pub atom: Atom,
    /// Coordinates of the atom per step of the digit.
    pub stride: usize,
    /// The number of values before the digit starts again.
    pub modulo: usize,
}

impl Term {
    /// The value of the digit at a coordinate of its atom.
    pub(crate) const fn digit_of(&self, coordinate: usize) -> usize {
        coordinate / self.stride % self.modulo
    }

    /// Whether two terms of one pool are the same digit, in const code.
    pub const fn is(&self, other: &Term) -> bool {
        self.stride == other.stride && self.modulo == other.modulo && self.atom.is(&other.atom)
    }
}

/// The factors of composites.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    pub(crate) factors: List<Factor, POOL>,
}

impl Pool {
    /// No composites.
    pub const fn new() -> Self {
        Self { factors: List::new(NO_FACTOR) }
    }

    /// The factors of a composite, innermost first.
    pub const fn content(&self, composite: Composite) -> &[Factor] {
        self.factors.as_slice().split_at(composite.start).1.split_at(composite.len).0
    }

    /// The number of coordinates of an atom.
    pub const fn atom_size(&self, atom: &Atom) -> usize {
        match atom {
            Atom::Symbol(axis) => axis.size,
            Atom::Composite(composite) => size_of_factors(self.content(*composite)),
        }
    }

    /// The dead positions before a composite, and the factors after them.
    pub const fn led(&self, composite: Composite) -> (usize, &[Factor]) {
        let content = self.content(composite);
        match content.split_last() {
            Some((Factor::Lead { positions, .. }, inside)) => (*positions, inside),
            _ => (0, content),
        }
    }

    /// Dead positions before the first coordinate of an atom.
    pub const fn lead(&self, atom: &Atom) -> usize {
        match atom {
            Atom::Symbol(_) => 0,
            Atom::Composite(composite) => self.led(*composite).0,
        }
    }

    /// The position that holds an element, of an atom that has only one: all its digits are blocks of the same kind.
    pub(crate) const fn single(&self, atom: &Atom) -> Option<usize> {
        let Atom::Composite(composite) = atom else { return None };
        let content = self.content(*composite);
        let (mut position, mut base) = (0, 1);
        let mut k = 0;
        while k < content.len() {
            match &content[k] {
                Factor::Term { term, .. } => match self.single(&term.atom) {
                    Some(inside) => position += term.digit_of(inside) * base,
                    None => return None,
                },
                Factor::Padding { .. } => {}
                Factor::Lead { positions, .. } => position += *positions,
            }
            base = content[k].size_over(base);
            k += 1;
        }
        Some(position)
    }

    /// How many values of a digit with this stride exist.
    pub const fn live(&self, atom: &Atom, stride: usize) -> usize {
        self.atom_size(atom).div_ceil(stride)
    }

    /// The composite with this content, which has no outer padding.
    pub(crate) const fn intern(&mut self, content: &[Factor]) -> Composite {
        let mut start = 0;
        let held = self.factors.as_slice();
        while start + content.len() <= held.len() {
            let mut k = 0;
            while k < content.len() && same_factor(&held[start + k], &content[k]) {
                k += 1;
            }
            if k == content.len() {
                return Composite { start, len: content.len(), copy: 0 };
            }
            start += 1;
        }
        let start = self.factors.len();
        let mut k = 0;
        while k < content.len() {
            self.factors.push(content[k]);
            k += 1;
        }
        Composite { start, len: self.factors.len() - start, copy: 0 }
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &'static str, size: usize) -> Atom {
        Atom::Symbol(Axis { name: Ident::new(name), size })
    }

    fn term(atom: Atom, stride: usize, modulo: usize) -> Term {
        Term { atom, stride, modulo }
    }

    #[test]
    fn names_are_written_as_they_are() {
        assert_eq!(format!("{:>4}|", Ident::new("A_1")), " A_1|");
        assert!(Ident::new("A").is(&Ident::new("A")) && !Ident::new("A").is(&Ident::new("AB")));
        for wrong in ["", "a", "1", "_A", "A-", "A b"] {
            assert!(std::panic::catch_unwind(|| Ident::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn digits_at_a_coordinate() {
        let digit = term(symbol("A", 24), 2, 3);
        assert_eq!([0, 1, 2, 5, 6, 23].map(|coordinate| digit.digit_of(coordinate)), [0, 0, 1, 2, 0, 2]);
    }

    #[test]
    fn blocks_of_one_element() {
        use crate::mapping::{Expr, M, factorize};
        use crate::prelude::{axes, m};
        axes![U = 1, V = 1, X = 2];
        let single = |expr: &'static Expr| {
            let mut pool = Pool::new();
            let factors = factorize(&mut pool, expr);
            match factors.as_slice()[0] {
                Factor::Term { term, .. } => pool.single(&term.atom),
                _ => panic!("the innermost factor is a digit"),
            }
        };
        assert_eq!(single(<m![# 2 + U + # 1]>::EXPR), Some(2));
        assert_eq!(single(<m![[# 5 + 1] % 3]>::EXPR), Some(5));
        // 3 positions of V, then 4 of U: 2 * 3 + 1, and 3 before them.
        type Product = m![# 2 + U + # 1, # 1 + V + # 1];
        assert_eq!(single(<m![{ Product } # 14 / 7]>::EXPR), Some(7));
        assert_eq!(single(<m![# 3 + { Product }]>::EXPR), Some(10));
        assert_eq!(single(<m![X]>::EXPR), None);
        assert_eq!(single(<m![# 1 + X]>::EXPR), None);
        assert_eq!(single(<m![[X, # 1 + U] # 6 / 3]>::EXPR), None);
    }

    #[test]
    fn composites_are_interned_once() {
        let mut pool = Pool::new();
        let factor = |name| Factor::Term { term: term(symbol(name, 4), 1, 4), resize: 4 };
        let ab = pool.intern(&[factor("A"), factor("B")]);
        let cd = pool.intern(&[factor("C"), factor("D")]);
        assert_eq!(pool.intern(&[factor("A"), factor("B")]), ab);
        assert_eq!(pool.intern(&[factor("B"), factor("C")]), Composite { start: 1, len: 2, copy: 0 });
        assert_eq!(pool.content(cd), [factor("C"), factor("D")]);
        assert_eq!((pool.atom_size(&Atom::Composite(ab)), pool.live(&Atom::Composite(ab), 3)), (16, 6));
        let ba = pool.intern(&[factor("B"), factor("A")]);
        assert_eq!(pool.content(ba), [factor("B"), factor("A")]);
    }
}
