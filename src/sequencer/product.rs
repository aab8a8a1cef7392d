//! Products of axes that are cut across a digit: where they can be taken apart, and which of their positions are live.

use crate::mapping::{Atom, Factor, Factors, LEAD_INSIDE, Pool, Term, gcd, greatest, least, size_of_factors};

/// Where a product is cut.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// The factor that the cut is in.
    pub(super) factor: usize,
    /// Values of that factor inside.
    pub(super) values: usize,
    /// Positions inside.
    pub(super) size: usize,
}

/// The innermost place to cut a product so that `step` divides what is inside and what each outer digit steps over.
pub(super) const fn cut(content: &[Factor], step: usize) -> Option<Cut> {
    let mut k = 0;
    while k < content.len() {
        if let Factor::Term { term, resize } = content[k] {
            let base = size_of_factors(content.split_at(k).0);
            let values = step / gcd(step, base);
            let clean = values == resize || term.modulo.is_multiple_of(values) || resize == term.modulo;
            if values <= resize && clean && steps_over(content, k + 1, step) {
                return Some(Cut { factor: k, values, size: base * values });
            }
        }
        k += 1;
    }
    None
}

/// Whether every digit from `from` on steps over a multiple of `step`.
const fn steps_over(content: &[Factor], from: usize, step: usize) -> bool {
    let mut k = from;
    while k < content.len() {
        if let Factor::Term { .. } = content[k]
            && !size_of_factors(content.split_at(k).0).is_multiple_of(step)
        {
            return false;
        }
        k += 1;
    }
    true
}

/// The factors inside a cut.
pub(super) const fn inside(content: &[Factor], cut: Cut) -> Factors {
    let mut inside = Factors::one();
    let mut k = 0;
    while k < cut.factor {
        inside.append(content[k]);
        k += 1;
    }
    if let Factor::Term { term, resize } = content[cut.factor]
        && cut.values > 1
    {
        let modulo = if cut.values == resize { term.modulo } else { cut.values };
        inside.append(Factor::Term { term: Term { modulo, ..term }, resize: cut.values });
    }
    inside
}

/// The factors that the first `positions` positions take, without what is outside of them.
pub(super) const fn first_positions(content: &[Factor], positions: usize) -> Factors {
    let mut factors = Factors::one();
    let mut k = 0;
    while k < content.len() && factors.size() < positions {
        factors.append(content[k]);
        k += 1;
    }
    factors
}

/// Values of a digit that are looked at one by one.
const LOOKED_AT: usize = 64;

/// Whether every value of a digit but the first is padding.
pub(super) const fn holds_nothing(pool: &Pool, content: &[Factor], step: usize, values: usize) -> bool {
    let mut value = 1;
    while value < least(values, LOOKED_AT) {
        if is_live(pool, content, value * step) {
            return false;
        }
        value += 1;
    }
    values <= LOOKED_AT
}

/// Whether a position of a product holds an element.
const fn is_live(pool: &Pool, content: &[Factor], position: usize) -> bool {
    let mut rest = position;
    let mut k = content.len();
    while k > 0 {
        k -= 1;
        let base = size_of_factors(content.split_at(k).0);
        match &content[k] {
            Factor::Padding { .. } if rest >= base => return false,
            Factor::Padding { .. } => {}
            Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
            Factor::Term { term, resize } => {
                if rest / base >= *resize
                    || coordinate(content, &term.atom, position) >= pool.atom_size(&term.atom)
                {
                    return false;
                }
                rest %= base;
            }
        }
    }
    true
}

/// The coordinate of an atom at a position.
const fn coordinate(content: &[Factor], atom: &Atom, position: usize) -> usize {
    let (mut rest, mut sum) = (position, 0);
    let mut k = content.len();
    while k > 0 {
        k -= 1;
        let base = size_of_factors(content.split_at(k).0);
        if let Factor::Term { term, .. } = &content[k] {
            if term.atom.is(atom) {
                sum += rest / base * term.stride;
            }
            rest %= base;
        }
    }
    sum
}

/// The last position of a product that holds an element, or one after it.
pub(super) const fn last_live(pool: &Pool, content: &[Factor]) -> usize {
    let mut last = 0;
    let mut k = 0;
    while k < content.len() {
        if let Factor::Term { term, .. } = &content[k]
            && is_first_of_its_atom(content, k)
        {
            // The last coordinate, and the last ones that end each digit: all digits inside at their largest value.
            let size = pool.atom_size(&term.atom);
            let mut best = reach(content, &term.atom, size - 1);
            let mut j = k;
            while j < content.len() {
                if let Factor::Term { term: other, .. } = &content[j]
                    && other.atom.is(&term.atom)
                {
                    let end = other.stride * other.modulo;
                    let at = reach(content, &term.atom, (size / end * end).saturating_sub(1));
                    best = greatest(best, at);
                }
                j += 1;
            }
            last += best;
        }
        k += 1;
    }
    last
}

const fn is_first_of_its_atom(content: &[Factor], place: usize) -> bool {
    let mut k = 0;
    while k < place {
        if let (Factor::Term { term: a, .. }, Factor::Term { term: b, .. }) = (&content[k], &content[place])
            && a.atom.is(&b.atom)
        {
            return false;
        }
        k += 1;
    }
    true
}

/// Where the digits of an atom are at a coordinate.
const fn reach(content: &[Factor], atom: &Atom, coordinate: usize) -> usize {
    let mut sum = 0;
    let mut k = 0;
    while k < content.len() {
        if let Factor::Term { term, resize } = &content[k]
            && term.atom.is(atom)
        {
            let value = coordinate / term.stride % term.modulo;
            let value = least(value, *resize - 1);
            sum += value * size_of_factors(content.split_at(k).0);
        }
        k += 1;
    }
    sum
}

/// Whether an atom is a part of a product.
pub(super) const fn is_inside(pool: &Pool, product: &Atom, atom: &Atom) -> bool {
    let Atom::Composite(composite) = product else { return false };
    let content = pool.content(*composite);
    let mut k = 0;
    while k < content.len() {
        if let Factor::Term { term, .. } = &content[k]
            && (term.atom.is(atom) || is_inside(pool, &term.atom, atom))
        {
            return true;
        }
        k += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Expr, Index, M, factorize};
    use crate::prelude::{axes, m};

    axes![A = 2, B = 5, C = 8, D = 3, E = 6];

    /// The factors of a mapping, innermost first.
    fn content(pool: &mut Pool, expr: &'static Expr) -> Factors {
        factorize(pool, expr)
    }

    /// The factor, the values and the size of a cut.
    fn cut_of<X: M>(step: usize) -> Option<(usize, usize, usize)> {
        let factors = content(&mut Pool::new(), X::EXPR);
        cut(factors.as_slice(), step).map(|cut| (cut.factor, cut.values, cut.size))
    }

    #[test]
    fn products_are_cut_at_the_innermost_place_that_all_steps_allow() {
        // A steps over 5, which 2 does not divide: both values of A are inside.
        assert_eq!(cut_of::<m![A, B]>(2), Some((1, 2, 10)));
        assert_eq!(cut_of::<m![A, B]>(5), Some((0, 5, 5)));
        assert_eq!(cut_of::<m![C, D]>(4), Some((1, 4, 12)));
        assert_eq!(cut_of::<m![C, D]>(6), Some((1, 2, 6)));
        assert_eq!(cut_of::<m![C, D]>(3), Some((0, 3, 3)));
        // 5 of 8 values: the last turn of a whole digit is ragged.
        assert_eq!(cut_of::<m![C, D]>(5), Some((1, 5, 15)));
        assert_eq!(cut_of::<m![C, D]>(9), Some((1, 3, 9)));
        assert_eq!(cut_of::<m![C, D]>(27), None);
    }

    #[test]
    fn a_digit_that_is_cut_off_is_cut_where_its_values_divide() {
        // 6 of 8 values.
        assert_eq!(cut_of::<m![C = 6]>(4), Some((0, 4, 4)));
        assert_eq!(cut_of::<m![C = 6]>(6), Some((0, 6, 6)));
        assert_eq!(cut_of::<m![C = 6]>(3), None);
        assert_eq!(cut_of::<m![C = 3]>(3), Some((0, 3, 3)));
    }

    #[test]
    fn what_is_inside_a_cut() {
        let mut pool = Pool::new();
        let factors = content(&mut pool, <m![C, D]>::EXPR);
        let parts = |factor, values, size| inside(factors.as_slice(), Cut { factor, values, size });
        let part = content(&mut pool, <m![C % 2, D]>::EXPR);
        assert!(parts(1, 2, 6).is(&pool, &part));
        assert!(parts(1, 8, 24).is(&pool, &factors));
        let part = content(&mut pool, <m![D]>::EXPR);
        assert!(parts(0, 3, 3).is(&pool, &part));
        let part = content(&mut pool, <m![D]>::EXPR);
        assert!(parts(1, 1, 3).is(&pool, &part));
    }

    #[test]
    fn the_factors_of_the_first_positions() {
        let mut pool = Pool::new();
        let factors = content(&mut pool, <m![A, B]>::EXPR);
        let sizes =
            [0, 1, 2, 5, 6, 10, 11].map(|positions| first_positions(factors.as_slice(), positions).size());
        assert_eq!(sizes, [1, 1, 5, 5, 10, 10, 10]);
    }

    #[test]
    fn values_that_are_padding() {
        let mut pool = Pool::new();
        // Positions 3 to 7 are padding; 8 is A = 1.
        let factors = content(&mut pool, <m![A, D # 8]>::EXPR);
        let nothing = |step, values| holds_nothing(&pool, factors.as_slice(), step, values);
        assert_eq!([nothing(4, 1), nothing(4, 2), nothing(4, 3)], [true, true, false]);
        assert_eq!([nothing(2, 2), nothing(3, 2), nothing(3, 3), nothing(3, 4)], [false, true, true, false]);
        // 64 values are looked at.
        let long = content(&mut pool, <m![D # 4096]>::EXPR);
        assert!(holds_nothing(&pool, long.as_slice(), 4, 64));
        assert!(!holds_nothing(&pool, long.as_slice(), 4, 65));
    }

    /// A mapping of which `E`, 6 coordinates in parts of 4, has a digit outside of `D` and one inside.
    type Split = m![E # 8 / 4, D # 4, E # 8 % 4];

    #[test]
    fn coordinates_at_positions_and_back() {
        let mut pool = Pool::new();
        let factors = content(&mut pool, Split::EXPR);
        let list = factors.as_slice();
        let atom = |k: usize| match list[k] {
            Factor::Term { term, .. } => term.atom,
            _ => panic!("{k} is padding"),
        };
        let (e, d) = (atom(0), atom(1));
        for (outer, middle, inner) in [(0, 0, 3), (1, 0, 0), (1, 0, 2), (1, 2, 1), (0, 1, 2), (1, 3, 3)] {
            let position = outer * 16 + middle * 4 + inner;
            assert_eq!(coordinate(list, &e, position), outer * 4 + inner, "at {position}");
            assert_eq!(coordinate(list, &d, position), middle, "at {position}");
            assert_eq!(is_live(&pool, list, position), middle < 3 && outer * 4 + inner < 6, "at {position}");
            assert_eq!(reach(list, &e, outer * 4 + inner), outer * 16 + inner);
        }
        assert_eq!((reach(list, &d, 0), reach(list, &d, 2)), (0, 8));
        let terms: Vec<usize> = (0..list.len()).filter(|k| matches!(list[*k], Factor::Term { .. })).collect();
        let firsts: Vec<bool> = terms.iter().map(|k| is_first_of_its_atom(list, *k)).collect();
        assert_eq!(firsts, [true, true, false]);
        // A digit that is cut off ends at its last value.
        let cut_off = content(&mut pool, <m![E # 8 % 4 = 3, E # 8 / 4]>::EXPR);
        let reached = [1, 2, 3, 4, 7].map(|coordinate| reach(cut_off.as_slice(), &e, coordinate));
        assert_eq!(reached, [2, 4, 4, 1, 5]);
    }

    /// The last position that holds an element, by what the mapping says of every position.
    fn last_by_positions(expr: &'static Expr) -> usize {
        let live = |position: &usize| Index::at(expr, *position).is_some_and(|index| index.is_valid());
        (0..expr.checked_size().expect("is a mapping")).filter(live).max().expect("position 0 is live")
    }

    #[test]
    fn the_last_live_position_of_a_product() {
        let last = |expr: &'static Expr| {
            let mut pool = Pool::new();
            let factors = content(&mut pool, expr);
            assert_eq!(last_live(&pool, factors.as_slice()), last_by_positions(expr), "{expr:?}");
            last_by_positions(expr)
        };
        // E = 5 and D = 2.
        assert_eq!(last(Split::EXPR), 25);
        // E = 2 is further out than E = 5.
        assert_eq!(last(<m![E # 8 % 4 = 3, E # 8 / 4]>::EXPR), 4);
        assert_eq!(last(<m![E # 8 % 4, D, E # 8 / 4]>::EXPR), 22);
        assert_eq!(last(<m![A, E # 8 % 4]>::EXPR), 7);
        assert_eq!(last(<m![D # 8, B # 16]>::EXPR), 36);
    }

    #[test]
    fn the_last_live_position_of_every_order_of_three_digits() {
        use crate::mapping::{Axis, Ident};
        for size in 2..=19 {
            let axis: &'static Expr = Box::leak(Box::new(Expr::Symbol(Axis { name: Ident::new("S"), size })));
            let leak = |expr: Expr| -> &'static Expr { Box::leak(Box::new(expr)) };
            for (low, middle) in [(2, 2), (2, 3), (3, 2), (4, 3)] {
                let whole = leak(Expr::Padding(axis, size.next_multiple_of(low * middle)));
                let digits = [
                    leak(Expr::Modulo(whole, low)),
                    leak(Expr::Modulo(leak(Expr::Stride(whole, low)), middle)),
                    leak(Expr::Stride(whole, low * middle)),
                ];
                for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                    let [a, b, c] = order.map(|k| digits[k]);
                    let expr = leak(Expr::Pair(a, leak(Expr::Pair(b, c))));
                    let mut pool = Pool::new();
                    let factors = content(&mut pool, expr);
                    let (found, last) = (last_live(&pool, factors.as_slice()), last_by_positions(expr));
                    assert!(
                        found == last || found == last + 1,
                        "{size}, {low}, {middle}, {order:?}: {found}, {last}"
                    );
                }
            }
        }
    }
}
