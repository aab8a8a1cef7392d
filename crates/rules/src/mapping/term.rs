//! Terms: digits of axes and of composites. The content of composites is kept in a [`Pool`].

use super::factor::{Factor, NO_FACTOR, same_factor, size_of_factors};
use crate::list::List;

/// The most factors of all composites in one derivation.
pub const POOL: usize = 24;

/// The name of an axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ident {
    name: &'static str,
    /// The first eight bytes: const code distinguishes most names without a comparison of each letter.
    head: u64,
}

impl Ident {
    /// A name. It starts with an ASCII upper-case letter, followed by ASCII letters, digits and `_`.
    pub const fn new(name: &'static str) -> Self {
        let bytes = name.as_bytes();
        assert!(
            !bytes.is_empty() && bytes[0].is_ascii_uppercase(),
            "an axis name starts with an ASCII upper-case letter"
        );
        let mut head = bytes[0] as u64;
        each!((k = 1) < bytes.len(), {
            assert!(
                bytes[k].is_ascii_alphanumeric() || bytes[k] == b'_',
                "an axis name holds ASCII letters, digits and `_`"
            );
            if k < 8 {
                head |= (bytes[k] as u64) << (8 * k);
            }
        });
        Self { name, head }
    }

    /// The name as a string.
    pub const fn as_str(&self) -> &'static str {
        self.name
    }

    /// True if two names are equal, in const code.
    pub const fn is(&self, other: &Ident) -> bool {
        // Only a name with an eighth byte may have more bytes.
        self.head == other.head && (self.head >> 56 == 0 || crate::text::same(self.name, other.name))
    }
}

impl core::fmt::Debug for Ident {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Ident").field(&self.name).finish()
    }
}

impl core::fmt::Display for Ident {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name)
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
    /// True if two axes are the same, in const code.
    pub const fn is(&self, other: &Axis) -> bool {
        self.size == other.size && self.name.is(&other.name)
    }
}

/// A range of factors in a [`Pool`], with a lead: it is cut as one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Composite {
    /// Place of the first factor in the pool.
    pub start: usize,
    /// Number of factors.
    pub len: usize,
    /// Padding positions before those of the first factor.
    pub lead: usize,
}

impl Composite {
    /// No factors.
    pub const NONE: Self = Self { start: 0, len: 0, lead: 0 };

    /// True if two composites of one pool are the same, in const code.
    pub const fn is(&self, other: &Composite) -> bool {
        self.start == other.start && self.len == other.len && self.lead == other.lead
    }
}

/// The axis or composite of which a term is a digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// An axis.
    Symbol(Axis),
    /// Axes that are cut as one, or content with a lead.
    Composite(Composite),
}

impl Atom {
    /// True if two atoms of one pool are the same, in const code.
    pub const fn is(&self, other: &Atom) -> bool {
        match self {
            Atom::Symbol(a) => {
                let Atom::Symbol(b) = other else { return false };
                // `Axis::is`, without two calls.
                if a.size != b.size || a.name.head != b.name.head {
                    return false;
                }
                a.name.head >> 56 == 0 || crate::text::same(a.name.name, b.name.name)
            }
            Atom::Composite(a) => {
                let Atom::Composite(b) = other else { return false };
                a.is(b)
            }
        }
    }
}

/// A digit: `(atom div stride) mod modulo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// The atom of the digit.
    pub atom: Atom,
    /// Coordinates of the atom per step of the digit.
    pub stride: usize,
    /// Number of values before the digit starts again.
    pub modulo: usize,
}

impl Term {
    /// True if two terms of one pool are the same digit, in const code.
    pub const fn is(&self, other: &Term) -> bool {
        self.stride == other.stride && self.modulo == other.modulo && self.atom.is(&other.atom)
    }
}

/// The factors of composites.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// The factors, of all composites one after the other.
    pub factors: List<Factor, POOL>,
}

impl Pool {
    /// No composites.
    pub const fn new() -> Self {
        const EMPTY: Pool = Pool { factors: List::new(NO_FACTOR) };
        EMPTY
    }

    /// True if there are composites.
    pub const fn holds_any(&self) -> bool {
        self.factors.len > 0
    }

    /// The factors of a composite, innermost first.
    pub const fn content(&self, composite: Composite) -> &[Factor] {
        self.factors.as_slice().split_at(composite.start).1.split_at(composite.len).0
    }

    /// The number of coordinates of an atom.
    pub const fn atom_size(&self, atom: &Atom) -> usize {
        match atom {
            Atom::Symbol(axis) => axis.size,
            Atom::Composite(composite) => composite.lead + size_of_factors(self.content(*composite)),
        }
    }

    /// Number of values of a digit with this stride.
    pub const fn live(&self, atom: &Atom, stride: usize) -> usize {
        let size = self.atom_size(atom);
        if stride == 1 { size } else { size.div_ceil(stride) }
    }

    /// The composite of `lead` padding positions and this content, which has no outer padding.
    pub const fn intern(&mut self, content: &[Factor], lead: usize) -> Composite {
        let mut start = 0;
        let held = self.factors.as_slice();
        while start + content.len() <= held.len() {
            let mut k = 0;
            while k < content.len() && same_factor(&held[start + k], &content[k]) {
                k += 1;
            }
            if k == content.len() {
                return Composite { start, len: content.len(), lead };
            }
            start += 1;
        }
        let start = self.factors.len();
        each!(k < content.len(), {
            self.factors.push(content[k]);
        });
        Composite { start, len: self.factors.len() - start, lead }
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
        // Names are compared eight bytes at a time.
        let names = ["ABCDEFG", "ABCDEFGH", "ABCDEFGI", "ABCDEFGHA", "ABCDEFGHB", "ABCDEFGHAB"];
        for (i, a) in names.iter().enumerate() {
            for (j, b) in names.iter().enumerate() {
                assert_eq!(Ident::new(a).is(&Ident::new(b)), i == j, "{a} {b}");
            }
        }
        assert_eq!(format!("{:?}", Ident::new("A")), "Ident(\"A\")");
        for wrong in ["", "a", "1", "_A", "A-", "A b"] {
            assert!(std::panic::catch_unwind(|| Ident::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn composites_are_interned_once() {
        let mut pool = Pool::new();
        let factor = |name| Factor::Term { term: term(symbol(name, 4), 1, 4), resize: 4 };
        let ab = pool.intern(&[factor("A"), factor("B")], 0);
        let cd = pool.intern(&[factor("C"), factor("D")], 0);
        assert_eq!(pool.intern(&[factor("A"), factor("B")], 0), ab);
        assert_eq!(pool.intern(&[factor("B"), factor("C")], 0), Composite { start: 1, len: 2, lead: 0 });
        let led = pool.intern(&[factor("A"), factor("B")], 3);
        assert!(!led.is(&ab) && pool.content(led) == pool.content(ab));
        assert_eq!(pool.atom_size(&Atom::Composite(led)), 19);
        assert_eq!(pool.content(cd), [factor("C"), factor("D")]);
        assert_eq!((pool.atom_size(&Atom::Composite(ab)), pool.live(&Atom::Composite(ab), 3)), (16, 6));
        let ba = pool.intern(&[factor("B"), factor("A")], 0);
        assert_eq!(pool.content(ba), [factor("B"), factor("A")]);
    }
}
