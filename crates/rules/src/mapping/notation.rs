//! Factors in `m![…]` notation, for messages that show a derived mapping.

use super::factor::{Factor, Factors};
use super::term::{Atom, Composite, Pool, Term};
use crate::text::Text;

/// Writes factors after `text` in `m![…]` notation, without the `m![` and `]`.
pub const fn write_factors(text: Text, pool: &Pool, factors: &[Factor]) -> Text {
    write_items(text, pool, factors)
}

impl Factors {
    /// Writes the mapping after `text` in `m![…]` notation, without the `m![` and `]`.
    pub const fn notation(&self, pool: &Pool, text: Text) -> Text {
        write_factors(text, pool, self.as_slice())
    }
}

const fn write_items(text: Text, pool: &Pool, factors: &[Factor]) -> Text {
    let Some((last, inner)) = factors.split_last() else {
        return text.str("1");
    };
    match last {
        Factor::Term { term, resize } => write_rest(write_term(text, pool, term, *resize), pool, inner),
        Factor::Padding { size, .. } => {
            let Some((below, innermost)) = inner.split_last() else {
                return text.str("1 # ").number(*size);
            };
            let base = super::factor::size_of_factors(innermost);
            match below {
                Factor::Term { term, resize }
                    if size.is_multiple_of(base) && is_margin(pool, term, *resize) =>
                {
                    let after = *size / base - *resize;
                    let text = write_term(text, pool, term, *resize).str(" + # ").number(after);
                    write_rest(text, pool, innermost)
                }
                Factor::Term { term, resize } if size.is_multiple_of(base) => {
                    let text = write_term(text, pool, term, *resize).str(" # ").number(*size / base);
                    write_rest(text, pool, innermost)
                }
                _ => write_items(text.str("["), pool, inner).str("] # ").number(*size),
            }
        }
    }
}

const fn write_rest(text: Text, pool: &Pool, inner: &[Factor]) -> Text {
    if inner.is_empty() { text } else { write_items(text.str(", "), pool, inner) }
}

/// True if a digit is all of a composite with a lead.
const fn is_margin(pool: &Pool, term: &Term, resize: usize) -> bool {
    match term.atom {
        Atom::Composite(composite) => {
            composite.lead > 0 && term.stride == 1 && resize == pool.atom_size(&term.atom)
        }
        Atom::Symbol(_) => false,
    }
}

/// Writes `# 2 + A`, `# 2 + [A, B]` or, without padding positions, `A, B`.
const fn write_composite(text: Text, pool: &Pool, composite: Composite) -> Text {
    let content = pool.content(composite);
    if composite.lead == 0 {
        return write_items(text, pool, content);
    }
    let text = text.str("# ").number(composite.lead).str(" + ");
    match content {
        [Factor::Term { term, resize }] => write_term(text, pool, term, *resize),
        _ => write_items(text.str("["), pool, content).str("]"),
    }
}

/// Writes a digit after `text`: `A / 4 % 2 = 1`.
pub const fn write_term(text: Text, pool: &Pool, term: &Term, resize: usize) -> Text {
    let mut text = match term.atom {
        Atom::Symbol(axis) => text.str(axis.name.as_str()),
        Atom::Composite(composite) if is_margin(pool, term, resize) => write_composite(text, pool, composite),
        Atom::Composite(composite) => write_composite(text.str("["), pool, composite).str("]"),
    };
    let mut size = pool.atom_size(&term.atom);
    let span = term.stride * term.modulo;
    let reaches_end = term.modulo >= pool.live(&term.atom, term.stride);
    let period = if reaches_end { term.stride } else { span };
    if !size.is_multiple_of(period) {
        size = size.div_ceil(period) * period;
        text = text.str(" # ").number(size);
    }
    if term.stride > 1 {
        text = text.str(" / ").number(term.stride);
    }
    if size / term.stride > term.modulo {
        text = text.str(" % ").number(term.modulo);
    }
    if resize < term.modulo {
        text = text.str(" = ").number(resize);
    }
    text
}
