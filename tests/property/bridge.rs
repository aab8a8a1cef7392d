//! From the reference to the library: expressions and axes.

use crate::reference::mapping::{Coordinates, Map};
use furiosa_visa_std::mapping::{
    Atom, Axis, Composite, Expr, Factor, Factors, Ident, Pool, Term, size_of_factors,
};
use std::collections::BTreeMap;

/// A mapping as the library takes it. It lives until the program ends.
pub fn expr(map: &Map) -> &'static Expr {
    Box::leak(Box::new(match map {
        Map::One => Expr::Identity,
        Map::Axis { name, size } => Expr::Symbol(axis(name, *size)),
        Map::Stride(inner, n) => Expr::Stride(expr(inner), *n),
        Map::Modulo(inner, n) => Expr::Modulo(expr(inner), *n),
        Map::Resize(inner, n) => Expr::Resize(expr(inner), *n),
        Map::Padding(inner, n) => Expr::Padding(expr(inner), *n),
        Map::Margin(before, inner, after) => Expr::Margin(expr(inner), *before, *after),
        Map::Pair(left, right) => Expr::Pair(expr(left), expr(right)),
    }))
}

fn axis(name: &str, size: usize) -> Axis {
    let name = Ident::new(Box::leak(name.to_string().into_boxed_str()));
    Axis { name, size }
}

/// Digits of an atom that were found so far: their sum.
type Sums = BTreeMap<Atom, usize>;

/// Adds the digits at a position, by the meaning of factors in the documentation. `None` if it is padding.
fn decode(pool: &Pool, factors: &[Factor], position: usize, sums: &mut Sums) -> Option<()> {
    let mut sizes = vec![1];
    for factor in factors {
        let inside = sizes[sizes.len() - 1];
        sizes.push(match factor {
            Factor::Term { resize, .. } => inside * resize,
            Factor::Padding { size, .. } => *size,
        });
    }
    let mut rest = position;
    for (factor, inside) in factors.iter().zip(&sizes).rev() {
        match factor {
            Factor::Padding { .. } if rest >= *inside => return None,
            Factor::Padding { .. } => {}
            Factor::Term { term, resize } => {
                assert!(rest / inside < *resize, "the position lies inside the digit");
                // Which block it is matters only where a block is cut.
                match term.atom {
                    Atom::Composite(composite) if *resize == pool.atom_size(&term.atom) => {
                        content(pool, composite, rest / inside, sums)?
                    }
                    _ => add(sums, term, rest / inside),
                }
                rest %= inside;
            }
        }
    }
    Some(())
}

/// Adds the digits at a position of a composite: dead ones come first.
fn content(pool: &Pool, composite: Composite, position: usize, sums: &mut Sums) -> Option<()> {
    let atom = Atom::Composite(composite);
    let lead = pool.atom_size(&atom) - size_of_factors(pool.content(composite));
    decode(pool, pool.content(composite), position.checked_sub(lead)?, sums)
}

fn add(sums: &mut Sums, term: &Term, value: usize) {
    *sums.entry(term.atom).or_default() += term.stride * value;
}

/// The index at a tuple of positions of mappings in normal form.
pub fn index(pool: &Pool, parts: &[(&Factors, usize)]) -> Option<Coordinates> {
    let mut sums = Sums::new();
    for (factors, position) in parts {
        if *position >= factors.size() {
            return None;
        }
        decode(pool, factors.as_slice(), *position, &mut sums)?;
    }
    finish(pool, sums)
}

/// Decodes composites into axes. The composite that was made last cannot be inside another one.
pub fn finish(pool: &Pool, mut sums: Sums) -> Option<Coordinates> {
    let composite = |sums: &Sums| -> Option<Composite> {
        let found = sums.keys().filter_map(|atom| match atom {
            Atom::Composite(composite) => Some(*composite),
            Atom::Symbol(_) => None,
        });
        found.max()
    };
    while let Some(found) = composite(&sums) {
        let atom = Atom::Composite(found);
        let position = sums.remove(&atom).unwrap_or(0);
        if position >= pool.atom_size(&atom) {
            return None;
        }
        content(pool, found, position, &mut sums)?;
    }
    let mut coordinates = Coordinates::new();
    for (atom, value) in sums {
        let Atom::Symbol(axis) = atom else { return None };
        if value >= axis.size {
            return None;
        }
        if value > 0 {
            coordinates.insert(axis.name.as_str().to_string(), value);
        }
    }
    Some(coordinates)
}
