//! Division: where the digits of one mapping sit inside another one, and what is left (spec page 10 §3.7).
//!
//! ```text
//! m![K, H # 12] / m![K / 4 % 3]      (K = 24, H = 10)
//!
//!   found    K / 4 % 3 at position stride 48 of the dividend, 1 of the divisor
//!   left     m![K / 12, 1 # 3, K % 4, H # 12]     and of the divisor  m![1 # 3]
//! ```

use super::factor::{Factor, Factors, LEAD_INSIDE, PaddingKind, size_of_factors};
use super::pieces::{CutRule, Matched, PIECES, Pieces, matched};
use super::term::{Atom, Composite, Pool, Term};
use crate::list::List;

/// How the places of removed digits are left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivisionMode {
    /// As padding that may be used. All padding of the residues counts as such.
    Relaxed,
    /// As padding of somebody else.
    Strict,
    /// A single digit, of which this many consecutive values stay.
    Span(usize),
}

/// A digit that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DivisionTerm {
    /// Positions of the dividend per value.
    pub dividend_stride: usize,
    /// Positions of the divisor per value.
    pub divisor_stride: usize,
    /// The digit.
    pub term: Term,
    /// Its values in the divisor.
    pub resize: usize,
}

/// Why a division is not exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivisionError {
    /// A digit of the divisor is not in the dividend.
    DivisorTermCannotDivide,
    /// A span needs a divisor with a digit.
    NoDivisorTerms,
}

/// Where a matched digit may extend to: from its size to the end of the padding after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The least divisor of `max` that holds the digit.
    pub min: usize,
    /// Up to the end of the padding directly after it.
    pub max: usize,
}

/// The result of a division.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// The digits found, by descending dividend stride.
    pub terms: List<DivisionTerm, PIECES>,
    /// What is left of the dividend.
    pub dividend_residue: Factors,
    /// What is left of the divisor.
    pub divisor_residue: Factors,
    matched: Matched,
}

/// Divides `dividend` by `divisor`. Both are in normal form, with composites in `pool`.
pub const fn divide(
    pool: &Pool,
    dividend: &Factors,
    divisor: &Factors,
    mode: DivisionMode,
) -> Result<Division, DivisionError> {
    let (hole, keep, relaxed, divisor_rule) = match mode {
        DivisionMode::Relaxed => (PaddingKind::Top, 1, true, Some(CutRule::Exact)),
        DivisionMode::Strict => (PaddingKind::Bottom, 1, false, Some(CutRule::Exact)),
        DivisionMode::Span(n) => (PaddingKind::Top, n, true, None),
    };
    if let DivisionMode::Span(_) = mode {
        let mut count = 0;
        let mut k = 0;
        while k < divisor.len() {
            if let Factor::Term { .. } = divisor.as_slice()[k] {
                count += 1;
            }
            k += 1;
        }
        if count == 0 {
            return Err(DivisionError::NoDivisorTerms);
        }
        if count > 1 {
            return Err(DivisionError::DivisorTermCannotDivide);
        }
    }
    let sides = (Pieces::new(&[dividend]), Pieces::new(&[divisor]));
    let matched = matched(pool, sides.0, sides.1, (CutRule::Exact, divisor_rule));
    let mut terms = List::new(DivisionTerm {
        dividend_stride: 0,
        divisor_stride: 0,
        term: Term { atom: Atom::Composite(Composite::NONE), stride: 1, modulo: 1 },
        resize: 1,
    });
    let mut k = 0;
    while k < matched.pairs.len() {
        let (a, b) = matched.pairs.at(k);
        let (a, b) = (matched.dividend.list.at(a), matched.divisor.list.at(b));
        if let Factor::Term { term, resize } = b.factor {
            let found = DivisionTerm { dividend_stride: a.base, divisor_stride: b.base, term, resize };
            let mut place = terms.len();
            while place > 0 && terms.at(place - 1).dividend_stride < a.base {
                place -= 1;
            }
            terms.insert(place, found);
        }
        k += 1;
    }
    let (dividend_residue, divisor_residue) = if matched.pairs.is_empty()
        && matches!(mode, DivisionMode::Span(_))
    {
        (*dividend, *divisor)
    } else {
        (matched.dividend.residue(pool, hole, keep, relaxed), matched.divisor.residue(pool, hole, 1, relaxed))
    };
    Ok(Division { terms, dividend_residue, divisor_residue, matched })
}

impl Division {
    /// Whether every digit of the divisor was found.
    pub const fn exact(&self) -> Result<(), DivisionError> {
        if self.divisor_residue.has_terms() { Err(DivisionError::DivisorTermCannotDivide) } else { Ok(()) }
    }

    /// The bounds of the k-th found digit (in the order of the divisor, outermost first) in the dividend and the divisor.
    pub const fn bounds(&self, k: usize) -> (Bounds, Bounds) {
        let (a, b) = self.matched.pairs.at(k);
        (bounds(&self.matched.dividend, a), bounds(&self.matched.divisor, b))
    }

    /// The dividend without the found digits, closed up: later paddings shrink by the least bounds.
    pub const fn dividend_remainder(&self, pool: &Pool) -> Factors {
        remainder(pool, &self.matched.dividend)
    }

    /// The divisor without the found digits, closed up.
    pub const fn divisor_remainder(&self, pool: &Pool) -> Factors {
        remainder(pool, &self.matched.divisor)
    }
}

const fn bounds(pieces: &Pieces, k: usize) -> Bounds {
    let piece = pieces.list.at(k);
    let Factor::Term { resize, .. } = piece.factor else {
        return Bounds { min: 1, max: 1 };
    };
    let mut end = piece.base * resize;
    let mut next = k + 1;
    while next < pieces.list.len() {
        let Factor::Padding { size, .. } = pieces.list.at(next).factor else {
            break;
        };
        end = size;
        next += 1;
    }
    let max = end / piece.base;
    let mut min = resize;
    while !max.is_multiple_of(min) {
        min += 1;
    }
    Bounds { min, max }
}

const fn remainder(pool: &Pool, pieces: &Pieces) -> Factors {
    let mut factors = Factors::one();
    let mut divisor = 1;
    let mut k = 0;
    while k < pieces.list.len() {
        let piece = pieces.list.at(k);
        match piece.factor {
            Factor::Padding { size, kind } => factors.push_padding(size / divisor, kind),
            Factor::Term { .. } if piece.matched => divisor *= bounds(pieces, k).min,
            Factor::Term { term, resize } => factors.push_term(pool, term, resize),
            Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
        }
        k += 1;
    }
    factors
}

/// Whether `part` is a prefix of `whole`: cut, or padded less.
pub const fn is_resize_of(pool: &mut Pool, part: &Factors, whole: &Factors) -> bool {
    let size = size_of_factors(part.as_slice());
    if size > whole.size() {
        return false;
    }
    super::normal::resize(pool, whole, size).is(pool, part)
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

    fn run(dividend: &'static Expr, divisor: &'static Expr, mode: DivisionMode) -> Checked {
        let mut pool = Pool::new();
        let (a, b) = (factorize(&mut pool, dividend), factorize(&mut pool, divisor));
        let division = divide(&pool, &a, &b, mode).expect("divides");
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
            exact: division.exact().is_ok(),
        }
    }

    #[test]
    fn the_example_of_the_specification() {
        const DIVIDEND: &Expr = &Expr::Pair(K, H12);
        const DIVISOR: &Expr = &Expr::Modulo(&Expr::Stride(K, 4), 3);
        let relaxed = run(DIVIDEND, DIVISOR, DivisionMode::Relaxed);
        assert_eq!(relaxed.terms, [(48, 1, "K / 4 % 3".to_string(), 3)]);
        // The specification writes `K / 12, 1 # 3, K % 4, H # 12`: the same positions.
        assert_eq!(relaxed.dividend, "K / 12, K % 4 # 12, H # 12");
        assert_eq!(relaxed.divisor, "1 # 3");
        assert!(relaxed.exact);
        let span = run(DIVIDEND, DIVISOR, DivisionMode::Span(2));
        // The specification writes `K / 12, K / 4 % 3 = 2 # 3, K % 4, H # 12`: the same positions.
        assert_eq!(span.dividend, "K / 12, K % 12 = 8 # 12, H # 12");
    }

    #[test]
    fn split_digits_are_found_on_both_sides_of_another_axis() {
        const DIVIDEND: &Expr = &Expr::Pair(&Expr::Stride(K, 8), &Expr::Pair(H, &Expr::Modulo(K, 8)));
        let found = run(DIVIDEND, K, DivisionMode::Relaxed);
        assert_eq!(found.terms, [(80, 8, "K / 8".to_string(), 3), (1, 1, "K % 8".to_string(), 8)]);
        assert!(found.exact);
        // `1 # 3, H, 1 # 8`.
        assert_eq!(found.dividend, "H # 30, 1 # 8");
    }

    #[test]
    fn truncated_divisors_fit_and_truncated_dividends_do_not() {
        const KG: &Expr = &Expr::Pair(K, G);
        assert!(run(KG, &Expr::Resize(K, 9), DivisionMode::Relaxed).exact);
        assert!(!run(&Expr::Pair(&Expr::Resize(K, 9), G), K, DivisionMode::Relaxed).exact);
        let other = run(KG, &Expr::Pair(P, G), DivisionMode::Relaxed);
        assert!(!other.exact);
        assert_eq!(other.dividend, "K, 1 # 6");
        assert_eq!(other.divisor, "P, 1 # 6");
    }

    #[test]
    fn strict_analysis() {
        let mut pool = Pool::new();
        let padded = factorize(&mut pool, &Expr::Padding(P, 16));
        let plain = factorize(&mut pool, P);
        let division = divide(&pool, &padded, &plain, DivisionMode::Strict).expect("divides");
        assert_eq!(division.bounds(0), (Bounds { min: 8, max: 16 }, Bounds { min: 7, max: 7 }));
        let residue = division.dividend_residue.as_slice();
        assert_eq!(residue[0], Factor::Padding { size: 7, kind: PaddingKind::Bottom });
        assert_eq!(residue[1], Factor::Padding { size: 16, kind: PaddingKind::Top });
        assert_eq!(division.dividend_remainder(&pool).notation(&pool, Text::new()).as_str(), "1 # 2");

        // Two kinds of padding after each other are one bound.
        let mut two_kinds = plain;
        two_kinds.push_padding(8, PaddingKind::Bottom);
        two_kinds.push_padding(16, PaddingKind::Top);
        let division = divide(&pool, &two_kinds, &plain, DivisionMode::Strict).expect("divides");
        assert_eq!(division.bounds(0).0, Bounds { min: 8, max: 16 });

        let kh = factorize(&mut pool, &Expr::Pair(K, H12));
        let h = factorize(&mut pool, H);
        let division = divide(&pool, &kh, &h, DivisionMode::Strict).expect("divides");
        assert_eq!(division.bounds(0), (Bounds { min: 12, max: 12 }, Bounds { min: 10, max: 10 }));
        assert_eq!(division.dividend_remainder(&pool).notation(&pool, Text::new()).as_str(), "K");
    }

    #[test]
    fn records_come_by_descending_dividend_stride() {
        const KHG: &Expr = &Expr::Pair(K, &Expr::Pair(H, G));
        for divisor in [&Expr::Pair(G, &Expr::Pair(K, H)), &Expr::Pair(H, &Expr::Pair(G, K)), KHG] {
            let divisor: &'static Expr = Box::leak(Box::new(*divisor));
            let strides: Vec<usize> =
                run(KHG, divisor, DivisionMode::Relaxed).terms.iter().map(|t| t.0).collect();
            assert_eq!(strides, [60, 6, 1], "{divisor}");
        }
    }

    #[test]
    fn bounds_of_an_inner_digit() {
        const PH: &Expr = &Expr::Pair(&Expr::Padding(P, 16), H);
        const KPH: &Expr = &Expr::Pair(K, PH);
        let mut pool = Pool::new();
        let (dividend, divisor) = (factorize(&mut pool, KPH), factorize(&mut pool, P));
        let division = divide(&pool, &dividend, &divisor, DivisionMode::Strict).expect("divides");
        assert_eq!(division.bounds(0), (Bounds { min: 8, max: 16 }, Bounds { min: 7, max: 7 }));
        // 160 positions of the padded block, of which 8 of P are closed up.
        assert_eq!(division.dividend_remainder(&pool).notation(&pool, Text::new()).as_str(), "K, H # 20");
        assert_eq!(division.divisor_remainder(&pool).notation(&pool, Text::new()).as_str(), "1");
    }

    #[test]
    fn a_prefix_is_a_resize() {
        let mut pool = Pool::new();
        let k = factorize(&mut pool, K);
        let prefix = factorize(&mut pool, &Expr::Resize(K, 9));
        let padded = factorize(&mut pool, &Expr::Padding(K, 32));
        let other = factorize(&mut pool, &Expr::Modulo(K, 8));
        assert!(is_resize_of(&mut pool, &prefix, &k) && is_resize_of(&mut pool, &k, &k));
        assert!(is_resize_of(&mut pool, &k, &padded) && !is_resize_of(&mut pool, &padded, &k));
        assert!(!is_resize_of(&mut pool, &other, &k));
    }

    #[test]
    fn a_span_needs_one_digit() {
        let mut pool = Pool::new();
        let k = factorize(&mut pool, K);
        let one = factorize(&mut pool, &Expr::Padding(&Expr::Identity, 4));
        let two = factorize(&mut pool, &Expr::Pair(G, H));
        assert_eq!(divide(&pool, &k, &one, DivisionMode::Span(2)).err(), Some(DivisionError::NoDivisorTerms));
        assert_eq!(
            divide(&pool, &k, &two, DivisionMode::Span(2)).err(),
            Some(DivisionError::DivisorTermCannotDivide)
        );
        let g = factorize(&mut pool, G);
        let unmatched = divide(&pool, &k, &g, DivisionMode::Span(2)).expect("no records");
        assert!(unmatched.terms.is_empty() && unmatched.exact().is_err());
        assert!(unmatched.dividend_residue.is(&pool, &k));
    }
}
