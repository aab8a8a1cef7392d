//! The worked examples and laws of the normal form.

use super::*;
use crate::mapping::{Axis, Ident};
use crate::text::Text;

const G: &Expr = &Expr::Symbol(Axis { name: Ident::new("G"), size: 6 });
const H: &Expr = &Expr::Symbol(Axis { name: Ident::new("H"), size: 10 });
const K: &Expr = &Expr::Symbol(Axis { name: Ident::new("K"), size: 24 });
const P: &Expr = &Expr::Symbol(Axis { name: Ident::new("P"), size: 7 });
const Q: &Expr = &Expr::Symbol(Axis { name: Ident::new("Q"), size: 12 });
const ONE: &Expr = &Expr::Identity;

fn e(expr: Expr) -> &'static Expr {
    Box::leak(Box::new(expr))
}
fn div(a: &'static Expr, n: usize) -> &'static Expr {
    e(Expr::Stride(a, n))
}
fn rem(a: &'static Expr, n: usize) -> &'static Expr {
    e(Expr::Modulo(a, n))
}
fn cut_to(a: &'static Expr, n: usize) -> &'static Expr {
    e(Expr::Resize(a, n))
}
fn pad(a: &'static Expr, n: usize) -> &'static Expr {
    e(Expr::Padding(a, n))
}
fn margin(before: usize, a: &'static Expr, after: usize) -> &'static Expr {
    e(Expr::Margin(a, before, after))
}
fn pair(a: &'static Expr, b: &'static Expr) -> &'static Expr {
    e(Expr::Pair(a, b))
}

/// `K/4%6=2 pad(5) C(…)/1%7`, innermost first.
fn shown(pool: &Pool, factors: &[Factor]) -> String {
    let one = |factor: &Factor| match factor {
        Factor::Term { term, resize } => {
            let atom = match term.atom {
                Atom::Symbol(axis) => axis.name.to_string(),
                Atom::Composite(composite) => {
                    let lead =
                        if composite.lead > 0 { format!(" lead{}", composite.lead) } else { String::new() };
                    format!("C({}{lead})", shown(pool, pool.content(composite)))
                }
            };
            let cut = if *resize < term.modulo { format!("={resize}") } else { String::new() };
            if term.stride == 1 && term.modulo == pool.atom_size(&term.atom) {
                format!("{atom}{cut}")
            } else {
                format!("{atom}/{}%{}{cut}", term.stride, term.modulo)
            }
        }
        Factor::Padding { size, .. } => format!("pad{size}"),
    };
    factors.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn normal(expr: &'static Expr) -> String {
    let mut pool = Pool::new();
    let factors = factorize(&mut pool, expr);
    assert_eq!(factors.problem(), None, "{expr}");
    assert_eq!(factors.size(), expr.checked_size().expect("size"), "{expr}");
    shown(&pool, factors.as_slice())
}

#[test]
fn worked_examples() {
    assert_eq!(normal(rem(div(K, 6), 2)), "K/6%2");
    assert_eq!(normal(pair(div(K, 4), rem(K, 4))), "K");
    assert_eq!(normal(pair(rem(K, 4), div(K, 4))), "K/4%6 K/1%4");
    assert_eq!(normal(cut_to(K, 9)), "K=9");
    assert_eq!(normal(div(cut_to(K, 6), 3)), "K/3%8=2");
    assert_eq!(normal(pair(cut_to(K, 1), G)), "G");
    assert_eq!(normal(cut_to(pair(K, G), 12)), "G K=2");
    assert_eq!(normal(cut_to(pair(K, G), 7)), "C(G K)=7");
    assert_eq!(normal(div(pad(P, 20), 4)), "P/4%2 pad5");
    assert_eq!(normal(rem(pad(P, 20), 4)), "P/1%4");
    assert_eq!(normal(pair(div(pad(P, 20), 4), rem(pad(P, 20), 4))), "P pad20");
    assert_eq!(normal(div(pad(P, 32), 16)), "pad2");
    let gh = pad(pair(G, H), 64);
    assert_eq!(normal(div(gh, 8)), "C(H/2%5 G)/4%8");
    assert_eq!(normal(rem(gh, 8)), "H/1%2 C(H/2%5 G)/1%4");
    assert_eq!(normal(pair(div(gh, 8), rem(gh, 8))), "H G pad64");
    assert_eq!(normal(div(pair(P, G), 14)), "C(G/2%3 P)/7%3");
    assert_eq!(normal(div(pair(G, pad(P, 9)), 6)), "C(P pad9 G)/6%9");
    assert_eq!(normal(pair(pad(ONE, 4), pair(pad(ONE, 3), G))), "G pad72");
    // Factors outside the cut stay outside the composite.
    let cut_inside = pair(H, pair(G, pad(P, 9)));
    assert_eq!(normal(div(cut_inside, 6)), "C(P pad9 G)/6%9 H");
    assert_eq!(normal(rem(cut_inside, 6)), "C(P pad9 G)/1%6");
}

#[test]
fn laws() {
    for expr in
        [K, pad(K, 32), pair(G, H), pad(pair(P, Q), 100), pair(cut_to(K, 9), pad(G, 8)), cut_to(rem(K, 8), 6)]
    {
        let size = expr.checked_size().expect("size");
        assert_eq!(normal(pair(ONE, expr)), normal(expr));
        assert_eq!(normal(pair(expr, ONE)), normal(expr));
        assert_eq!(normal(div(expr, 1)), normal(expr));
        assert_eq!(normal(pad(expr, size)), normal(expr));
        assert_eq!(normal(cut_to(expr, size)), normal(expr));
        assert_eq!(normal(rem(expr, 1)), normal(ONE));
        for n in 1..=size {
            if size.is_multiple_of(n) {
                assert_eq!(normal(pair(div(expr, n), rem(expr, n))), normal(expr), "{expr} at {n}");
            }
        }
    }
    assert_eq!(normal(div(pair(G, H), 10)), normal(G));
    assert_eq!(normal(rem(pair(G, H), 10)), normal(H));
    assert_eq!(normal(pad(pad(G, 8), 12)), normal(pad(G, 12)));
    assert_eq!(normal(pair(pad(G, 8), H)), "H G pad80");
}

#[test]
fn split_divides_a_padding_that_crosses_the_cut() {
    let expr = pair(pad(Q, 16), pad(H, 12));
    assert_eq!(normal(div(expr, 24)), "Q/2%6 pad8");
    assert_eq!(normal(rem(expr, 24)), "H pad12 Q/1%2");
}

#[test]
fn notation_of_factors() {
    let shown = |expr: &'static Expr| {
        let mut pool = Pool::new();
        let factors = factorize(&mut pool, expr);
        factors.notation(&pool, Text::new()).as_str().to_string()
    };
    assert_eq!(shown(pair(rem(K, 4), div(K, 4))), "K % 4, K / 4");
    assert_eq!(shown(div(cut_to(K, 6), 3)), "K / 3 = 2");
    assert_eq!(shown(div(pad(P, 20), 4)), "P # 8 / 4 # 5");
    assert_eq!(shown(pad(pair(G, H), 64)), "[G, H] # 64");
    assert_eq!(shown(pair(pad(G, 8), H)), "G # 8, H");
    assert_eq!(shown(pad(ONE, 2)), "1 # 2");
    assert_eq!(shown(ONE), "1");
    assert_eq!(shown(rem(div(K, 6), 2)), "K / 6 % 2");
}

#[test]
fn a_block_of_one_element_keeps_its_axis() {
    let axis = |name| e(Expr::Symbol(Axis { name: Ident::new(name), size: 1 }));
    let shown = |expr: &'static Expr| {
        let mut pool = Pool::new();
        let factors = factorize(&mut pool, expr);
        factors.notation(&pool, Text::new()).as_str().to_string()
    };
    let (u, v) = (axis("U"), axis("V"));
    assert_eq!(shown(margin(2, u, 5)), "# 2 + U + # 5");
    assert_eq!(shown(margin(1, margin(2, u, 5), 0)), "# 3 + U + # 5");
    // Of several axes the first one by name is taken, in any order and notation.
    for both in [pair(u, v), pair(v, u), pair(v, rem(u, 1)), pair(cut_to(div(v, 1), 1), u)] {
        assert_eq!(shown(margin(2, both, 0)), "# 2 + U");
    }
    assert_eq!(shown(margin(2, pair(v, ONE), 0)), "# 2 + V");
    assert_eq!(shown(margin(2, pair(pad(v, 3), u), 1)), "# 2 + U + # 3");
    // An axis of more coordinates is a digit.
    assert_eq!(shown(margin(2, pair(u, G), 0)), "# 2 + G");
    assert_eq!(shown(rem(margin(3, u, 0), 2)), "[# 3 + U] % 2");
}

#[test]
fn more_products_than_there_is_room_for_are_a_problem() {
    // 5 digits each: 3 to the power of 5 positions, padded to an even number and cut in the middle of each digit.
    const NAMES: [[&str; 5]; 5] = [
        ["A0", "A1", "A2", "A3", "A4"],
        ["B0", "B1", "B2", "B3", "B4"],
        ["C0", "C1", "C2", "C3", "C4"],
        ["D0", "D1", "D2", "D3", "D4"],
        ["E0", "E1", "E2", "E3", "E4"],
    ];
    let product = |names: &[&'static str; 5]| {
        let axes = names.map(|name| e(Expr::Symbol(Axis { name: Ident::new(name), size: 3 })));
        div(pad(axes.into_iter().reduce(pair).expect("five axes"), 244), 2)
    };
    let list = |count: usize| NAMES[..count].iter().map(product).reduce(pair).expect("some products");
    assert_eq!(factorize(&mut Pool::new(), list(4)).problem(), None);
    assert_eq!(factorize(&mut Pool::new(), list(5)).problem(), Some(Problem::TooManyFactors));
}

#[test]
fn a_cut_that_does_not_divide_is_a_problem() {
    let problem = |expr: &Expr| factorize(&mut Pool::new(), expr).problem();
    let not_divisible = |size, by| Some(Problem::NotDivisible { size, by });
    assert_eq!(problem(div(K, 5)), not_divisible(24, 5));
    assert_eq!(problem(rem(K, 5)), not_divisible(24, 5));
    assert_eq!(problem(div(K, 0)), not_divisible(24, 0));
    assert_eq!(problem(rem(K, 0)), not_divisible(24, 0));
    assert_eq!(problem(cut_to(K, 0)), not_divisible(24, 0));
    assert_eq!(problem(pad(K, 23)), Some(Problem::PaddingTooSmall { size: 24, padding: 23 }));
    // The first problem stays.
    let broken = div(K, 5);
    for outside in
        [div(broken, 2), rem(broken, 2), cut_to(broken, 0), pad(broken, 0), pair(broken, pad(K, 1))]
    {
        let first = if let Expr::Pair(..) = outside {
            Some(Problem::PaddingTooSmall { size: 24, padding: 1 })
        } else {
            not_divisible(24, 5)
        };
        assert_eq!(problem(outside), first, "{outside}");
    }
}

#[test]
fn a_mapping_that_ends_before_its_first_element_is_a_problem() {
    let problem = |expr: &Expr| factorize(&mut Pool::new(), expr).problem();
    let none = |kept, first| Some(Problem::NoElement { kept, first });
    let axis = e(Expr::Symbol(Axis { name: Ident::new("U"), size: 1 }));
    // The expression, and the first position that holds an element.
    let cases = [
        (margin(2, P, 3), 2),
        (margin(1, axis, 0), 1),
        (pair(G, margin(1, axis, 0)), 1),
        (pair(margin(2, P, 0), G), 12),
        (pair(margin(2, P, 1), margin(1, H, 2)), 2 * 13 + 1),
        (margin(1, pair(P, margin(2, H, 0)), 5), 3),
        (margin(1, margin(2, P, 0), 0), 3),
    ];
    for (expr, first) in cases {
        for kept in 1..=first {
            assert_eq!(problem(cut_to(expr, kept)), none(kept, first), "{expr} = {kept}");
        }
        assert_eq!(problem(cut_to(expr, first + 1)), None, "{expr}");
    }
    // The same inside any other mapping, and after any earlier cut.
    let padding = cut_to(margin(2, P, 3), 2);
    assert_eq!(problem(margin(1, pair(K, padding), 2)), none(2, 2));
    assert_eq!(problem(cut_to(cut_to(margin(2, P, 3), 4), 2)), None);
    // A part of a composite with a lead belongs with its other parts.
    assert_eq!(problem(cut_to(rem(margin(2, P, 3), 4), 2)), None);
    let text = crate::PlanError::mapping("fetch", Problem::NoElement { kept: 1, first: 2 });
    assert_eq!(text.rule(), "no element");
    assert_eq!(
        text.message(),
        "fetch: the first 1 position of a mapping hold no element: dead ones come first, and the first element is at 2; \
         help: keep at least 3"
    );
}

#[test]
fn a_single_element_behind_dead_positions_has_an_axis() {
    let problem = |expr: &Expr| factorize(&mut Pool::new(), expr).problem();
    for expr in [ONE, pad(ONE, 3), cut_to(G, 1), div(G, 6)] {
        assert_eq!(problem(margin(2, expr, 5)), Some(Problem::NoAxis { lead: 2 }), "{expr}");
        assert_eq!(problem(margin(0, expr, 5)), None, "{expr}");
    }
    let text = crate::PlanError::mapping("fetch", Problem::NoAxis { lead: 2 });
    assert_eq!(text.rule(), "no axis");
    assert_eq!(
        text.message(),
        "fetch: 2 dead positions before a single element without an axis; help: declare an axis of size 1 and name it: \
         `# 2 + U`"
    );
}

#[test]
fn uncut_mappings_hold_all_digits_that_they_name() {
    let uncut = |expr: &'static Expr| {
        let mut pool = Pool::new();
        let factors = factorize_uncut(&mut pool, expr);
        assert_eq!(factors.problem(), None, "{expr}");
        shown(&pool, factors.as_slice())
    };
    assert_eq!(uncut(cut_to(K, 1)), "K");
    assert_eq!(uncut(pair(G, cut_to(rem(K, 4), 1))), "K/1%4 G");
    assert_eq!(uncut(cut_to(pair(G, H), 2)), "H G");
    assert_eq!(uncut(pad(cut_to(P, 2), 4)), "P");
    assert_eq!(uncut(pad(cut_to(P, 2), 9)), "P pad9");
    assert_eq!(uncut(div(pad(cut_to(P, 2), 8), 4)), "P/4%2");
    // Only the mapping with its positions cut off can be divided.
    assert_eq!(uncut(div(pad(cut_to(P, 2), 4), 4)), "");
    assert_eq!(uncut(cut_to(K, 30)), "K pad30");
}

#[test]
fn a_cut_past_all_elements_needs_no_composite() {
    let mut pool = Pool::new();
    let factors = factorize(&mut pool, div(pad(pair(P, G), 128), 64));
    assert_eq!(factors.as_slice(), [Factor::Padding { size: 2 }]);
    assert!(pool.factors.is_empty());
}

#[test]
fn resizing_walks_inwards() {
    let padded = pair(G, pad(P, 9));
    assert_eq!(normal(cut_to(padded, 18)), "P pad9 G=2");
    assert_eq!(normal(cut_to(padded, 9)), "P pad9");
    assert_eq!(normal(cut_to(padded, 8)), "P pad8");
    assert_eq!(normal(cut_to(padded, 7)), "P");
    assert_eq!(normal(cut_to(padded, 4)), "P=4");
    assert_eq!(normal(cut_to(padded, 1)), "");
    assert_eq!(normal(cut_to(padded, 20)), "C(P pad9 G)=20");
    assert_eq!(normal(cut_to(padded, 60)), "P pad9 G pad60");
    assert_eq!(normal(cut_to(pad(ONE, 8), 3)), "pad3");
}

#[test]
fn a_margin_is_one_unit_and_its_padding() {
    assert_eq!(normal(margin(2, P, 4)), "C(P lead2) pad13");
    assert_eq!(normal(margin(2, P, 0)), "C(P lead2)");
    assert_eq!(normal(margin(0, P, 4)), "P pad11");
    assert_eq!(normal(margin(0, P, 0)), "P");
    assert_eq!(normal(margin(2, pair(G, pad(P, 9)), 1)), "C(P pad9 G lead2) pad57");
    // The amounts add up, and padding of the content pads all of it.
    for same in
        [margin(3, P, 10), margin(1, margin(2, P, 4), 6), pad(margin(3, P, 1), 20), margin(3, pad(P, 9), 8)]
    {
        assert_eq!(normal(same), "C(P lead3) pad20", "{same}");
    }
    // In a list it is a digit like others.
    assert_eq!(normal(pair(G, margin(2, P, 3))), "C(P lead2) pad12 G");
    assert_eq!(normal(pair(margin(2, P, 3), G)), "G C(P lead2) pad72");
    assert_eq!(normal(margin(1, pair(K, margin(2, P, 0)), 0)), "C(C(P lead2) K lead1)");
}

#[test]
fn a_margin_is_cut_as_an_axis() {
    let unit = margin(2, P, 7);
    assert_eq!(normal(div(unit, 4)), "C(P lead2)/4%3 pad4");
    assert_eq!(normal(rem(unit, 4)), "C(P lead2)/1%4");
    assert_eq!(normal(pair(div(unit, 4), rem(unit, 4))), normal(unit));
    assert_eq!(normal(pair(rem(unit, 4), pair(G, div(unit, 4)))), "C(P lead2)/4%3 pad4 G C(P lead2)/1%4");
    assert_eq!(normal(div(div(unit, 2), 2)), normal(div(unit, 4)));
    assert_eq!(normal(cut_to(unit, 9)), "C(P lead2)");
    assert_eq!(normal(cut_to(unit, 5)), "C(P lead2)=5");
    assert_eq!(normal(cut_to(unit, 11)), "C(P lead2) pad11");
    // A cut past all elements leaves one value, which is dropped.
    assert_eq!(normal(div(unit, 16)), "");
    assert_eq!(normal(pair(div(margin(2, P, 23), 16), rem(margin(2, P, 23), 16))), "C(P lead2) pad32");
}

#[test]
fn a_margin_that_is_too_large_is_a_problem() {
    const NAMES: [&str; 25] = [
        "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T",
        "U", "V", "W", "X", "Y",
    ];
    let axes = |count: usize| {
        NAMES[..count]
            .iter()
            .fold(ONE, |all, name| pair(all, e(Expr::Symbol(Axis { name: Ident::new(name), size: 2 }))))
    };
    let problem = |count| factorize(&mut Pool::new(), margin(1, axes(count), 0)).problem();
    assert_eq!((problem(24), problem(25)), (None, Some(Problem::TooManyFactors)));
}
