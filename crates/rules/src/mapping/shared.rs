//! Axes that several parts of mappings share.

use super::factor::{Factor, Factors};
use super::term::{Atom, Ident, Pool, Term};

/// True if an axis is in a factor, by itself or in a composite.
pub const fn mentions(pool: &Pool, factor: &Factor, axis: &Atom) -> bool {
    let Factor::Term { term, .. } = factor else { return false };
    let Atom::Composite(composite) = term.atom else { return term.atom.is(axis) };
    let content = pool.content(composite);
    each!(k < content.len(), {
        if mentions(pool, &content[k], axis) {
            return true;
        }
    });
    false
}

/// True if the axis of this name is in a factor, by itself or in a composite.
pub const fn mentions_axis(pool: &Pool, factor: &Factor, axis: &Ident) -> bool {
    let Factor::Term { term, .. } = factor else { return false };
    match term.atom {
        Atom::Symbol(symbol) => symbol.name.is(axis),
        Atom::Composite(composite) => {
            let content = pool.content(composite);
            each!(k < content.len(), {
                if mentions_axis(pool, &content[k], axis) {
                    return true;
                }
            });
            false
        }
    }
}

/// A part of an axis that occurs twice in the mappings of one tensor or stream: the digit and its size.
pub const fn repeated<const COUNT: usize>(pool: &Pool, levels: &[&Factors; COUNT]) -> Option<(Term, usize)> {
    each!(level < COUNT, {
        let list = levels[level];
        each!(i < list.len, {
            if let Factor::Term { term, resize } = &list.items[i] {
                let mut j = i + 1;
                each!((other = level) < COUNT, {
                    let others = levels[other];
                    while j < others.len {
                        if let Factor::Term { term: again, .. } = &others.items[j]
                            && overlap(pool, term, again)
                        {
                            return Some((*term, *resize));
                        }
                        j += 1;
                    }
                    j = 0;
                });
            }
        });
    });
    None
}

/// True if two digits share coordinates of an axis, by themselves or in a composite.
pub const fn overlap(pool: &Pool, a: &Term, b: &Term) -> bool {
    if a.atom.is(&b.atom) {
        return a.stride < b.stride * b.modulo && b.stride < a.stride * a.modulo;
    }
    // The newest composite cannot be inside another one.
    let (content, other) = match (a.atom, b.atom) {
        (Atom::Composite(one), Atom::Composite(two)) if two.start > one.start => (pool.content(two), a),
        (Atom::Composite(composite), _) => (pool.content(composite), b),
        (_, Atom::Composite(composite)) => (pool.content(composite), a),
        _ => return false,
    };
    each!(k < content.len(), {
        if let Factor::Term { term, .. } = &content[k]
            && overlap(pool, term, other)
        {
            return true;
        }
    });
    false
}
