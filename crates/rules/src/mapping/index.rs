//! Indices of tensors: coordinates of axes, possibly partial.

use super::constructors::{AxisName, M};
use super::expr::Expr;
use super::factor::{Factor, Factors};
use super::normal::factorize;
use super::term::{Atom, Axis, Composite, Ident, Pool, Term};
use crate::sorting;
use core::fmt;

/// An index of a tensor: a coordinate for each axis. An axis that is absent has coordinate 0.
///
/// Made by `i![A: 3, B / 4: 1]`, or by [`M::map`]. The union of two partial indices adds their digits; it is *invalid*
/// when a sum leaves its axis.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// axes![A = 8, B = 6];
/// assert_eq!(i![A: 1, B: 2], i![A, B: 8]);
/// assert_eq!(<m![A / 4, B]>::map(8), Some(i![A: 4, B: 2]));
/// assert_eq!(i![A: 0], i![]);
/// assert!(!i![A: 8].is_valid());
/// ```
#[derive(Clone)]
pub struct Index {
    pool: Pool,
    digits: Vec<(Term, usize)>,
    valid: bool,
}

/// Reason why a coordinate cannot be given: the index is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the index is padding, or a coordinate leaves its axis")
    }
}

impl std::error::Error for Invalid {}

impl Index {
    /// The index of the element whose coordinates are all 0.
    pub fn new() -> Self {
        Self { pool: Pool::new(), digits: Vec::new(), valid: true }
    }

    /// The coordinates at a position of an expression, or `None` for padding and past the end.
    pub fn at(expr: &'static Expr, position: usize) -> Option<Self> {
        let index = Self::new().and(expr, position);
        index.is_valid().then_some(index)
    }

    /// This index with the coordinates at a position of an expression added.
    pub fn and(mut self, expr: &Expr, position: usize) -> Self {
        let factors = factorize(&mut self.pool, expr);
        self.add_position(&factors, position);
        self
    }

    /// This index with the coordinates at a position of a mapping added.
    pub fn with<E: M>(self, position: usize) -> Self {
        self.and(E::EXPR, position)
    }

    /// The union of two partial indices.
    pub fn union(mut self, other: &Index) -> Self {
        self.valid &= other.valid;
        for (term, value) in &other.digits {
            let atom = self.import(&other.pool, &term.atom);
            self.digits.push((Term { atom, ..*term }, *value));
        }
        self
    }

    fn import(&mut self, pool: &Pool, atom: &Atom) -> Atom {
        let Atom::Composite(composite) = atom else {
            return *atom;
        };
        let content: Vec<Factor> = pool
            .content(*composite)
            .iter()
            .map(|factor| match factor {
                Factor::Term { term, resize } => {
                    let atom = self.import(pool, &term.atom);
                    Factor::Term { term: Term { atom, ..*term }, resize: *resize }
                }
                padding => *padding,
            })
            .collect();
        Atom::Composite(self.pool.intern(&content, composite.lead))
    }

    fn add_position(&mut self, factors: &Factors, position: usize) {
        if factors.problem().is_some() || position >= factors.size() {
            self.valid = false;
            return;
        }
        self.valid &= decode(factors.as_slice(), position, &mut self.digits);
    }

    /// True if every coordinate lies inside its axis.
    pub fn is_valid(&self) -> bool {
        self.resolve().is_some()
    }

    /// The coordinates that are not 0, sorted by axis, or `None` if the index is invalid.
    pub fn coordinates(&self) -> Option<Vec<(Ident, usize)>> {
        let found = self.resolve()?;
        Some(found.into_iter().map(|(axis, value)| (axis.name, value)).collect())
    }

    /// The coordinate on an axis.
    pub fn coordinate<X: AxisName>(&self) -> Result<usize, Invalid> {
        self.ident_value(X::NAME)
    }

    /// The coordinate on the axis of this name. It is 0 if the axis is absent.
    pub fn ident_value(&self, name: Ident) -> Result<usize, Invalid> {
        let found = self.resolve().ok_or(Invalid)?;
        Ok(found.iter().find(|(axis, _)| axis.name == name).map_or(0, |(_, value)| *value))
    }

    fn resolve(&self) -> Option<Vec<(Axis, usize)>> {
        if !self.valid {
            return None;
        }
        let mut digits = self.digits.clone();
        // The newest composite cannot be inside another one.
        while let Some(composite) = digits.iter().filter_map(|(term, _)| as_composite(term)).max() {
            let mut position = 0;
            digits.retain(|(term, value)| {
                let inside = as_composite(term) == Some(composite);
                position += if inside { term.stride * value } else { 0 };
                !inside
            });
            let content = self.pool.content(composite);
            let inside = position.checked_sub(composite.lead)?;
            if inside >= super::factor::size_of_factors(content) || !decode(content, inside, &mut digits) {
                return None;
            }
        }
        let mut found: Vec<(Axis, usize)> = Vec::new();
        for (term, value) in &digits {
            let Atom::Symbol(axis) = term.atom else {
                return None;
            };
            match found.iter_mut().find(|(other, _)| *other == axis) {
                Some((_, sum)) => *sum += term.stride * value,
                None => found.push((axis, term.stride * value)),
            }
        }
        if found.iter().any(|(axis, value)| *value >= axis.size) {
            return None;
        }
        sorting::ascending(&mut found);
        Some(found)
    }
}

fn as_composite(term: &Term) -> Option<Composite> {
    match term.atom {
        Atom::Composite(composite) => Some(composite),
        Atom::Symbol(_) => None,
    }
}

/// Adds the digits at a position, except digits of axes with the value 0. False if the position is padding.
fn decode(factors: &[Factor], position: usize, digits: &mut Vec<(Term, usize)>) -> bool {
    let Some((last, inner)) = factors.split_last() else {
        return position == 0;
    };
    let base = super::factor::size_of_factors(inner);
    match last {
        Factor::Padding { .. } => position < base && decode(inner, position, digits),
        Factor::Term { term, .. } => {
            // A composite may be padding where its digits are 0.
            if position / base > 0 || as_composite(term).is_some() {
                digits.push((*term, position / base));
            }
            decode(inner, position % base, digits)
        }
    }
}

impl Default for Index {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Index {
    fn eq(&self, other: &Self) -> bool {
        self.resolve() == other.resolve()
    }
}

impl Eq for Index {}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(coordinates) = self.coordinates() else {
            return f.write_str("i![invalid]");
        };
        let parts: Vec<String> = coordinates.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        write!(f, "i![{}]", parts.join(", "))
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &Expr = &Expr::Symbol(Axis { name: Ident::new("A"), size: 5 });
    const B: &Expr = &Expr::Symbol(Axis { name: Ident::new("B"), size: 3 });
    const AB: &Expr = &Expr::Padding(&Expr::Pair(A, B), 16);
    const BA: &Expr = &Expr::Padding(&Expr::Pair(B, A), 16);

    fn at(expr: &'static Expr, position: usize) -> Index {
        Index::at(expr, position).expect("live")
    }

    #[test]
    fn composites_of_different_indices_are_told_apart() {
        // Parts of [A, B] and of [B, A] meet in one index, one after the other: each keeps its own content.
        let outer: &'static Expr = &Expr::Stride(AB, 4);
        let inner: &'static Expr = &Expr::Modulo(AB, 4);
        let swapped: &'static Expr = &Expr::Modulo(BA, 4);
        for (i, j) in [(0, 3), (1, 1), (2, 2), (3, 2)] {
            let whole = at(outer, i).union(&at(inner, j));
            assert_eq!(whole, at(AB, 4 * i + j), "{i}, {j}");
            assert_eq!(at(swapped, 0).union(&at(outer, i)).union(&at(inner, j)), whole);
        }
        // Position 15 is padding.
        assert!(!at(outer, 3).union(&at(inner, 3)).is_valid());
    }

    #[test]
    fn composites_inside_composites() {
        const C: &Expr = &Expr::Symbol(Axis { name: Ident::new("C"), size: 3 });
        const CUT: &Expr = &Expr::Padding(&Expr::Pair(C, &Expr::Stride(AB, 4)), 14);
        let (outer, inner): (&'static Expr, &'static Expr) = (&Expr::Stride(CUT, 7), &Expr::Modulo(CUT, 7));
        for i in 0..2 {
            for j in 0..7 {
                let whole = Index::at(CUT, 7 * i + j);
                let parts = Index::new().union(&at(outer, i)).union(&at(inner, j));
                assert_eq!(parts.is_valid().then_some(parts), whole, "{i}, {j}");
                // The same, in an index that already holds a composite.
                let other = at(&Expr::Modulo(BA, 4), 0);
                let parts = other.union(&at(outer, i)).union(&at(inner, j));
                assert_eq!(parts.is_valid().then_some(parts), whole, "{i}, {j}");
            }
        }
    }

    #[test]
    fn unions_with_invalid_indices_are_invalid() {
        let invalid = at(A, 4).union(&at(A, 1));
        assert!(!invalid.is_valid() && at(A, 3).union(&at(A, 1)).is_valid());
        assert!(!at(B, 0).union(&invalid).is_valid() && !invalid.clone().union(&at(B, 0)).is_valid());
        let mut past = Index::new();
        let factors = factorize(&mut past.pool, A);
        past.add_position(&factors, 5);
        assert!(!past.is_valid() && !Index::new().union(&past).is_valid());
        assert_eq!(past.coordinates(), None);
        assert_eq!(past.ident_value(Ident::new("A")), Err(Invalid));
    }

    #[test]
    fn text() {
        let index = at(A, 4).union(&at(B, 2));
        assert_eq!(format!("{index} {index:?}"), "i![A: 4, B: 2] i![A: 4, B: 2]");
        assert_eq!(index.ident_value(Ident::new("B")), Ok(2));
        assert_eq!(index.ident_value(Ident::new("C")), Ok(0));
        assert_eq!(at(A, 4).union(&at(A, 4)).to_string(), "i![invalid]");
        assert!(Invalid.to_string().contains("padding"));
        assert_eq!(Index::default().to_string(), "i![]");
    }

    #[test]
    fn positions() {
        assert_eq!(
            Index::at(AB, 14).expect("live").coordinates(),
            Some(vec![(Ident::new("A"), 4), (Ident::new("B"), 2),])
        );
        assert!(Index::at(AB, 15).is_none() && Index::at(AB, 16).is_none());
        // Padding of a cut axis: the axis itself has a coordinate 3.
        const CUT: &Expr = &Expr::Padding(&Expr::Resize(A, 3), 8);
        assert!(Index::at(CUT, 2).is_some() && Index::at(CUT, 3).is_none());
        // Only all parts of a composite with a lead together tell padding from elements.
        const MARGIN: &Expr = &Expr::Margin(B, 2, 3);
        let live: Vec<bool> = (0..9).map(|position| Index::at(MARGIN, position).is_some()).collect();
        assert_eq!(live, [false, false, true, true, true, false, false, false, false]);
        let parts = |outer, inner| {
            Index::new().and(&Expr::Stride(MARGIN, 4), outer).and(&Expr::Modulo(MARGIN, 4), inner)
        };
        assert!(!parts(0, 1).is_valid() && !parts(1, 1).is_valid());
        assert_eq!(parts(0, 2), Index::new());
        assert_eq!(parts(1, 0), Index::new().and(B, 2));
        assert!(Index::at(&Expr::Identity, 0).is_some() && Index::at(&Expr::Identity, 1).is_none());
    }

    /// Composites of one element are distinguished by their axes.
    #[test]
    fn composites_of_one_element() {
        use crate::prelude::{axes, m};
        axes![U = 1, V = 1];
        let live = |levels: &[&'static Expr]| -> Vec<Vec<usize>> {
            let sizes: Vec<usize> =
                levels.iter().map(|expr| expr.checked_size().expect("is a mapping")).collect();
            let places = (0..sizes.iter().product()).map(|k: usize| {
                let mut rest = k;
                let mut at: Vec<usize> =
                    sizes.iter().rev().map(|size| (rest % size, rest /= size).0).collect();
                at.reverse();
                at
            });
            let index = |at: &Vec<usize>| {
                levels.iter().zip(at).fold(Index::new(), |sum, (expr, position)| sum.and(expr, *position))
            };
            places.filter(|at| index(at).is_valid()).collect()
        };
        type B = m![# 2 + U + # 1];
        type A = m![# 2 + V + # 1];
        assert_eq!(live(&[<m![{ B }, { A }]>::EXPR]), [[10]]);
        assert_eq!(live(&[<m![{ B } / 2, { A } / 2]>::EXPR, <m![{ A } % 2, { B } % 2]>::EXPR]), [[3, 0]]);
        assert_eq!(
            live(&[<m![[{ A }, { B }] # 20 / 4]>::EXPR, <m![[{ A }, { B }] # 20 % 4]>::EXPR]),
            [[2, 2]]
        );
        // The cut ends before the element.
        assert_eq!(live(&[<m![{ B } = 2]>::EXPR]), Vec::<Vec<usize>>::new());
        assert_eq!(live(&[<m![{ B } = 3]>::EXPR]), [[2]]);
        // A part alone belongs with the other parts, which have the value 0.
        assert_eq!(live(&[<m![{ B } / 2]>::EXPR]), [[1]]);
        assert_eq!(live(&[<m![{ B } % 2]>::EXPR]), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn indices_of_axes_as_types() {
        use crate::prelude::{axes, m};
        axes![X = 6, Y = 4, Z = 2];
        let index = Index::new().with::<m![X / 2]>(2).with::<m![Y]>(3);
        assert_eq!((index.coordinate::<X>(), index.coordinate::<Y>()), (Ok(4), Ok(3)));
        assert_eq!(index.coordinate::<Z>(), Ok(0));
        assert_ne!(index, Index::new().with::<m![Y]>(3));
        assert_eq!(index, Index::new().with::<m![Y % 2]>(1).with::<m![X]>(4).with::<m![Y / 2]>(1));
        assert_eq!(index.with::<m![X]>(4).coordinate::<Y>(), Err(Invalid));
    }
}
