//! Division: the places of the digits of one mapping inside another one, and the rest of both.
//!
//! ```text
//! m![K, H # 12] / m![K / 4 % 3]      (K = 24, H = 10)
//!
//!   found    K / 4 % 3 at position stride 48 of the dividend, 1 of the divisor
//!   left     m![K / 12, 1 # 3, K % 4, H # 12]     and of the divisor  m![1 # 3]
//! ```

use super::factor::Factors;
use super::matching::{CutRule, PIECES, Pieces, matched};
use super::term::{Atom, Composite, Pool, Term};
use crate::list::List;

/// A digit of the divisor that was found in the dividend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DivisionTerm {
    /// Positions of the dividend per value.
    pub dividend_stride: usize,
    /// Positions of the divisor per value.
    pub divisor_stride: usize,
    /// The digit.
    pub term: Term,
    /// Number of its values in the divisor.
    pub resize: usize,
}

/// The result of a division.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// The digits found, by descending dividend stride.
    pub terms: List<DivisionTerm, PIECES>,
    /// The rest of the dividend.
    pub dividend_residue: Factors,
    /// The rest of the divisor.
    pub divisor_residue: Factors,
}

/// Divides `dividend` by `divisor`. Both are in normal form, with composites in `pool`.
pub const fn divide(pool: &Pool, dividend: &Factors, divisor: &Factors) -> Division {
    let sides = (Pieces::new(&[dividend]), Pieces::new(&[divisor]));
    let matched = matched(pool, sides.0, sides.1, [CutRule::Exact; 2]);
    let mut terms = List::new(DivisionTerm {
        dividend_stride: 0,
        divisor_stride: 0,
        term: Term { atom: Atom::Composite(Composite::NONE), stride: 1, modulo: 1 },
        resize: 1,
    });
    each!(k < matched.pairs.len, {
        let (a, b) = matched.pairs.items[k];
        let dividend_stride = matched.dividend.list.items[a].base;
        if let Some((term, resize)) = matched.divisor.digit(b) {
            let divisor_stride = matched.divisor.list.items[b].base;
            let mut place = terms.len;
            while place > 0 && terms.items[place - 1].dividend_stride < dividend_stride {
                place -= 1;
            }
            terms.insert(place, DivisionTerm { dividend_stride, divisor_stride, term, resize });
        }
    });
    Division {
        terms,
        dividend_residue: matched.dividend.residue(pool),
        divisor_residue: matched.divisor.residue(pool),
    }
}

impl Division {
    /// True if every digit of the divisor was found.
    pub const fn is_exact(&self) -> bool {
        !self.divisor_residue.has_terms()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Axis, Expr, Ident, factorize};
    use crate::text::Text;

    const fn axis(name: &'static str, size: usize) -> Expr {
        Expr::Symbol(Axis { name: Ident::new(name), size })
    }
    const G: &Expr = &axis("G", 6);
    const H: &Expr = &axis("H", 10);
    const K: &Expr = &axis("K", 24);
    const P: &Expr = &axis("P", 7);
    const H12: &Expr = &Expr::Padding(H, 12);

    struct Checked {
        terms: Vec<(usize, usize, String, usize)>,
        dividend: String,
        divisor: String,
        exact: bool,
    }

    fn run(dividend: &'static Expr, divisor: &'static Expr) -> Checked {
        let mut pool = Pool::new();
        let (a, b) = (factorize(&mut pool, dividend), factorize(&mut pool, divisor));
        let division = divide(&pool, &a, &b);
        let shown = |factors: &Factors| factors.notation(&pool, Text::new()).to_string();
        let name =
            |term: &Term| crate::mapping::write_term(Text::new(), &pool, term, term.modulo).to_string();
        Checked {
            terms: division
                .terms
                .iter()
                .map(|t| (t.dividend_stride, t.divisor_stride, name(&t.term), t.resize))
                .collect(),
            dividend: shown(&division.dividend_residue),
            divisor: shown(&division.divisor_residue),
            exact: division.is_exact(),
        }
    }

    #[test]
    fn the_example_of_the_specification() {
        const DIVIDEND: &Expr = &Expr::Pair(K, H12);
        const DIVISOR: &Expr = &Expr::Modulo(&Expr::Stride(K, 4), 3);
        let relaxed = run(DIVIDEND, DIVISOR);
        assert_eq!(relaxed.terms, [(48, 1, "K / 4 % 3".to_string(), 3)]);
        // The specification writes `K / 12, 1 # 3, K % 4, H # 12`: the same positions.
        assert_eq!(relaxed.dividend, "K / 12, K % 4 # 12, H # 12");
        assert_eq!(relaxed.divisor, "1 # 3");
        assert!(relaxed.exact);
    }

    #[test]
    fn split_digits_are_found_on_both_sides_of_another_axis() {
        const DIVIDEND: &Expr = &Expr::Pair(&Expr::Stride(K, 8), &Expr::Pair(H, &Expr::Modulo(K, 8)));
        let found = run(DIVIDEND, K);
        assert_eq!(found.terms, [(80, 8, "K / 8".to_string(), 3), (1, 1, "K % 8".to_string(), 8)]);
        assert!(found.exact);
        // `1 # 3, H, 1 # 8`.
        assert_eq!(found.dividend, "H # 30, 1 # 8");
    }

    #[test]
    fn truncated_divisors_fit_and_truncated_dividends_do_not() {
        const KG: &Expr = &Expr::Pair(K, G);
        assert!(run(KG, &Expr::Resize(K, 9)).exact);
        assert!(!run(&Expr::Pair(&Expr::Resize(K, 9), G), K).exact);
        let other = run(KG, &Expr::Pair(P, G));
        assert!(!other.exact);
        assert_eq!(other.dividend, "K, 1 # 6");
        assert_eq!(other.divisor, "P, 1 # 6");
    }

    #[test]
    fn records_come_by_descending_dividend_stride() {
        const KHG: &Expr = &Expr::Pair(K, &Expr::Pair(H, G));
        for divisor in [&Expr::Pair(G, &Expr::Pair(K, H)), &Expr::Pair(H, &Expr::Pair(G, K)), KHG] {
            let divisor: &'static Expr = Box::leak(Box::new(*divisor));
            let strides: Vec<usize> = run(KHG, divisor).terms.iter().map(|t| t.0).collect();
            assert_eq!(strides, [60, 6, 1], "{divisor}");
        }
    }
}
