//! Cuts by hand: the cuts that each rule allows, the two sides after a cut, and the digits that become pairs.

use super::*;
use crate::mapping::{Axis, Expr, Ident, M, factorize, write_term};
use crate::prelude::{axes, m};
use crate::text::Text;

axes![G = 6, H = 10, K = 24, P = 7];

fn sides(pool: &mut Pool, levels: &[&Expr]) -> Pieces {
    let factors: Vec<Factors> = levels.iter().map(|expr| factorize(pool, expr)).collect();
    Pieces::new(&factors.iter().collect::<Vec<_>>())
}

fn text(pool: &Pool, piece: &Piece) -> String {
    match piece.factor {
        Factor::Term { term, resize } => write_term(Text::new(), pool, &term, resize).to_string(),
        Factor::Padding { size, .. } => format!("# {size}"),
    }
}

/// The digits with their bases, innermost first.
fn shown(pool: &Pool, pieces: &Pieces) -> Vec<(String, usize)> {
    pieces.list.iter().map(|piece| (text(pool, piece), piece.base)).collect()
}

#[track_caller]
fn check(pool: &Pool, pieces: &Pieces, expected: &[(&str, usize)]) {
    let found = shown(pool, pieces);
    let found: Vec<(&str, usize)> = found.iter().map(|(text, base)| (text.as_str(), *base)).collect();
    assert_eq!(found, expected);
}

fn digit(pieces: &Pieces, k: usize) -> (Term, usize) {
    pieces.digit(k).unwrap_or_else(|| panic!("piece {k} is padding"))
}

#[test]
fn pieces_of_two_levels() {
    let mut pool = Pool::new();
    let pieces = sides(&mut pool, &[<m![K / 4, G # 8]>::EXPR, <m![H = 9]>::EXPR]);
    check(&pool, &pieces, &[("G", 1), ("# 8", 6), ("K / 4", 8), ("H = 9", 1)]);
    let rest: Vec<_> =
        pieces.list.iter().map(|p| (p.level, p.origin, p.weight, p.total, p.matched)).collect();
    let expected = [(0, 0, 1, 6, false), (0, 1, 1, 1, false), (0, 2, 1, 6, false), (1, 3, 1, 9, false)];
    assert_eq!(rest, expected);
}

/// Cuts piece `k` of a mapping by each rule: exact, whole, ragged.
fn cuts<E: M>(k: usize, at: usize) -> [Option<Vec<(String, usize)>>; 3] {
    [CutRule::Exact, CutRule::Whole, CutRule::Ragged].map(|rule| {
        let mut pool = Pool::new();
        let mut pieces = sides(&mut pool, &[E::EXPR]);
        let before = shown(&pool, &pieces);
        if pieces.cut(&pool, k, at, rule) {
            return Some(shown(&pool, &pieces));
        }
        assert_eq!(shown(&pool, &pieces), before, "a cut that is not allowed changes nothing");
        None
    })
}

#[track_caller]
fn check_cut<E: M>(k: usize, at: usize, allowed: [bool; 3], halves: [(&str, usize); 2]) {
    let found = cuts::<E>(k, at);
    assert_eq!(found.each_ref().map(Option::is_some), allowed);
    for pieces in found.into_iter().flatten() {
        let halves = halves.map(|(text, base)| (text.to_string(), base));
        assert_eq!(pieces[k..k + 2], halves);
    }
}

#[test]
fn a_clean_cut_is_always_allowed() {
    check_cut::<m![K]>(0, 4, [true; 3], [("K % 4", 1), ("K / 4", 4)]);
    check_cut::<m![G, K, H]>(1, 4, [true; 3], [("K % 4", 10), ("K / 4", 40)]);
    check_cut::<m![K / 4]>(0, 12, [true; 3], [("K / 4 % 3", 1), ("K / 12", 3)]);
    check_cut::<m![K % 8]>(0, 4, [true; 3], [("K % 4", 1), ("K / 4 % 2", 4)]);
    check_cut::<m![K = 9]>(0, 3, [true; 3], [("K % 3", 1), ("K / 3 = 3", 3)]);
}

#[test]
fn a_cut_lies_inside_a_digit_on_one_of_its_steps() {
    assert_eq!(cuts::<m![K / 4]>(0, 6), [None, None, None]);
    assert_eq!(cuts::<m![K % 8]>(0, 3), [None, None, None]);
    assert_eq!(cuts::<m![1 # 4]>(0, 2), [None, None, None]);
}

#[test]
fn an_exact_cut_of_a_whole_digit_needs_room_for_the_overshoot() {
    // 5 x 5 values for 24 coordinates.
    let uneven = [("K # 25 % 5", 1), ("K # 25 / 5", 5)];
    check_cut::<m![K]>(0, 5, [true; 3], uneven);
    check_cut::<m![G, K]>(0, 5, [false, true, true], uneven);
    check_cut::<m![G, K # 25]>(0, 5, [true; 3], uneven);
    // 7 x 4 values.
    let uneven = [("K # 28 % 7", 1), ("K # 28 / 7", 7)];
    check_cut::<m![G, K # 27]>(0, 7, [false, true, true], uneven);
    check_cut::<m![G, K # 28]>(0, 7, [true; 3], uneven);
    // The same outside 7 positions: 7 x 28.
    let uneven = [("K # 28 % 7", 7), ("K # 28 / 7", 49)];
    check_cut::<m![[K, P] # 195]>(1, 7, [false, true, true], uneven);
    check_cut::<m![[K, P] # 196]>(1, 7, [true; 3], uneven);
}

#[test]
fn an_even_cut_divides_the_values_that_are_left_of_an_axis() {
    let is_allowed = |expr: &'static Expr, at: usize| {
        let mut pool = Pool::new();
        sides(&mut pool, &[expr]).cut(&pool, 1, at, CutRule::Even)
    };
    // 10 of 24 coordinates are 2 x 5 values; 11 are not. A digit inside its axis has a period, which a cut divides.
    assert!(is_allowed(<m![K = 10, G]>::EXPR, 5) && !is_allowed(<m![K = 11, G]>::EXPR, 5));
    assert!(!is_allowed(<m![K % 8 = 6, G]>::EXPR, 3));
}

#[test]
fn another_level_leaves_room() {
    let mut pool = Pool::new();
    let mut pieces = sides(&mut pool, &[<m![K]>::EXPR, <m![G]>::EXPR]);
    assert!(pieces.cut(&pool, 0, 5, CutRule::Exact));
    check(&pool, &pieces, &[("K # 25 % 5", 1), ("K # 25 / 5", 5), ("G", 1)]);
}

#[test]
fn a_truncated_digit_is_cut_unevenly_only_if_ragged() {
    check_cut::<m![K = 9]>(0, 4, [false, false, true], [("K % 4", 1), ("K / 4 = 3", 4)]);
    check_cut::<m![K = 3]>(0, 8, [false, false, true], [("K % 8 = 3", 1), ("K / 8 = 1", 8)]);
    check_cut::<m![K = 10]>(0, 5, [false, false, true], [("K # 25 % 5", 1), ("K # 25 / 5 = 2", 5)]);
    // 3 divides the six values, but not the period of the digit.
    assert_eq!(cuts::<m![K % 8 = 6]>(0, 3), [None, None, None]);
}

#[test]
fn halves_know_what_they_were_cut_from() {
    let mut pool = Pool::new();
    let mut pieces = sides(&mut pool, &[<m![G, K]>::EXPR]);
    assert!(pieces.cut(&pool, 0, 12, CutRule::Exact) && pieces.cut(&pool, 0, 4, CutRule::Exact));
    check(&pool, &pieces, &[("K % 4", 1), ("K / 4 % 3", 4), ("K / 12", 12), ("G", 24)]);
    let origins: Vec<_> = pieces.list.iter().map(|p| (p.origin, p.weight, p.total)).collect();
    assert_eq!(origins, [(0, 1, 24), (0, 4, 24), (0, 12, 24), (1, 1, 6)]);
}

/// Refines `E` by `Guide` until nothing changes. Returns the number of rounds with a change, and the pieces.
fn refined<E: M, Guide: M>(rule: CutRule) -> (usize, Vec<(String, usize)>) {
    let mut pool = Pool::new();
    let (mut pieces, guide) = (sides(&mut pool, &[E::EXPR]), sides(&mut pool, &[Guide::EXPR]));
    let mut rounds = 0;
    while pieces.refine(&pool, &guide, rule) {
        rounds += 1;
        assert!(rounds < 10, "cuts end");
    }
    (rounds, shown(&pool, &pieces))
}

#[track_caller]
fn check_refined<E: M, Guide: M>(expected: &[(&str, usize)]) {
    let (rounds, found) = refined::<E, Guide>(CutRule::Whole);
    let found: Vec<(&str, usize)> = found.iter().map(|(text, base)| (text.as_str(), *base)).collect();
    assert_eq!(found, expected);
    let pieces = sides(&mut Pool::new(), &[E::EXPR]).list.len();
    assert_eq!(rounds > 0, found.len() > pieces, "says whether it has changed something");
}

#[test]
fn digits_are_cut_where_those_of_the_other_side_begin_and_end() {
    check_refined::<m![K], m![K / 4 % 3]>(&[("K % 4", 1), ("K / 4 % 3", 4), ("K / 12", 12)]);
    check_refined::<m![K], m![K / 4]>(&[("K % 4", 1), ("K / 4", 4)]);
    check_refined::<m![K], m![K % 4]>(&[("K % 4", 1), ("K / 4", 4)]);
    check_refined::<m![K / 2], m![K / 4 % 3]>(&[("K / 2 % 2", 1), ("K / 4 % 3", 2), ("K / 12", 6)]);
    check_refined::<m![K % 12], m![K / 4]>(&[("K % 4", 1), ("K / 4 % 3", 4)]);
    check_refined::<m![K / 4], m![K % 8]>(&[("K / 4 % 2", 1), ("K / 8", 2)]);
    check_refined::<m![H, K], m![G, K / 8]>(&[("K % 8", 1), ("K / 8", 8), ("H", 24)]);
    // Digits that begin and end elsewhere stay.
    check_refined::<m![K], m![K]>(&[("K", 1)]);
    check_refined::<m![K], m![H, G]>(&[("K", 1)]);
    check_refined::<m![K / 4 % 3], m![K]>(&[("K / 4 % 3", 1)]);
    check_refined::<m![K % 4], m![K / 4]>(&[("K % 4", 1)]);
    check_refined::<m![K / 4], m![K % 4]>(&[("K / 4", 1)]);
}

#[test]
fn a_cut_that_the_rule_forbids_does_not_happen() {
    assert_eq!(refined::<m![K = 9], m![K / 4]>(CutRule::Whole).0, 0);
    assert_eq!(refined::<m![K = 9], m![K / 4]>(CutRule::Ragged).0, 1);
    // The upper end can be cut, the lower one cannot.
    let (rounds, found) = refined::<m![K / 2], m![K / 3 % 4]>(CutRule::Exact);
    assert_eq!((rounds, found), (1, vec![("K / 2 % 6".to_string(), 1), ("K / 12".to_string(), 6)]));
}

/// `E` after lifting: runs that equal the content of a composite of `Guide` are replaced.
fn lifted<Guide: M>(levels: &[&Expr]) -> (bool, Vec<(String, usize)>) {
    let mut pool = Pool::new();
    let guide = sides(&mut pool, &[Guide::EXPR]);
    let mut pieces = sides(&mut pool, levels);
    let before = shown(&pool, &pieces);
    let done = pieces.lift(&pool, &guide);
    let after = shown(&pool, &pieces);
    assert_eq!(done, before != after, "says whether it has changed something");
    (done, after)
}

#[track_caller]
fn check_lifted<Guide: M>(levels: &[&Expr], expected: &[(&str, usize)]) {
    let (done, found) = lifted::<Guide>(levels);
    assert!(done);
    let found: Vec<(&str, usize)> = found.iter().map(|(text, base)| (text.as_str(), *base)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_run_that_is_the_content_of_a_composite_becomes_it() {
    // A cut by 8 starts the composite outside the last factor 2 of `H`.
    type Group = m![[G, H] # 64 / 8];
    check_lifted::<Group>(&[<m![G, H]>::EXPR], &[("H % 2", 1), ("[G, H / 2]", 2)]);
    check_lifted::<Group>(
        &[<m![P, G, H, K]>::EXPR],
        &[("K", 1), ("H % 2", 24), ("[G, H / 2]", 48), ("P", 1440)],
    );
    check_lifted::<Group>(&[<m![K]>::EXPR, <m![G, H / 2]>::EXPR], &[("K", 1), ("[G, H / 2]", 1)]);
    type Padded = m![[G, P # 9] / 6];
    check_lifted::<Padded>(&[<m![G, P # 9]>::EXPR], &[("[G, P # 9]", 1)]);
    check_lifted::<Padded>(&[<m![G, P # 9, H, 1 # 2]>::EXPR], &[("# 2", 1), ("H", 2), ("[G, P # 9]", 20)]);
    check_lifted::<Padded>(&[<m![K, G, P # 9, H]>::EXPR], &[("H", 1), ("[G, P # 9]", 10), ("K", 540)]);
}

#[test]
fn another_run_is_left_alone() {
    type Group = m![[G, H] # 64 / 8];
    type Padded = m![[G, P # 9] / 6];
    assert!(!lifted::<Group>(&[<m![H, G]>::EXPR]).0, "another order");
    assert!(!lifted::<Group>(&[<m![H]>::EXPR, <m![G]>::EXPR]).0, "two levels");
    assert!(!lifted::<Group>(&[<m![G, P, H]>::EXPR]).0, "an axis between");
    assert!(!lifted::<Group>(&[<m![G = 5, H]>::EXPR]).0, "cut off");
    assert!(!lifted::<Group>(&[<m![G]>::EXPR]).0, "too short");
    assert!(!lifted::<Group>(&[<m![1]>::EXPR]).0, "nothing");
    assert!(!lifted::<Padded>(&[<m![G, P # 8]>::EXPR]).0, "less padding");
    assert!(!lifted::<Padded>(&[<m![G, [P, H] # 95]>::EXPR]).0, "padding that ends inside of a value");
    assert!(!lifted::<m![G, H]>(&[<m![G, H]>::EXPR]).0, "no composite");
    // A side that has the composite is cut like any other digit, and is not searched again.
    let held: [&Expr; 2] = [<m![G, H]>::EXPR, <m![[G, H] # 64 / 8]>::EXPR];
    assert!(!lifted::<Group>(&held).0, "held already");
}

#[test]
fn a_lifted_run_is_one_digit_of_its_own() {
    let mut pool = Pool::new();
    let guide = sides(&mut pool, &[<m![[G, H] # 64 / 8]>::EXPR]);
    let mut pieces = sides(&mut pool, &[<m![K]>::EXPR, <m![G, H]>::EXPR]);
    assert!(pieces.lift(&pool, &guide));
    let rest: Vec<_> = pieces.list.iter().map(|p| (p.level, p.weight, p.total)).collect();
    assert_eq!(rest, [(0, 1, 24), (1, 1, 10), (1, 1, 30)]);
    let origins: Vec<usize> = pieces.list.iter().map(|p| p.origin).collect();
    assert!(origins[2] != origins[0] && origins[2] != origins[1], "{origins:?}");
    assert_eq!(digit(&pieces, 2).1, 30);
    // The run is found anywhere: here `H % 2` is digit 0, or digit 20 of 40.
    for digits in [0, 20] {
        let mut inner = Factors::ONE;
        for k in 0..digits {
            let name = Ident::new(Box::leak(format!("A{k}").into_boxed_str()));
            let atom = Atom::Symbol(Axis { name, size: 2 });
            inner.push_term(&pool, Term { atom, stride: 1, modulo: 2 }, 2);
        }
        let group = factorize(&mut pool, <m![G, H]>::EXPR);
        let mut pieces = Pieces::new(&[&inner, &group]);
        assert!(pieces.lift(&pool, &guide));
        let (rest, run) = (pieces.list.at(digits), pieces.list.at(digits + 1));
        assert!(
            rest.origin == digits && pieces.list.iter().all(|p| p.base == run.base || p.origin != run.origin)
        );
        assert_ne!(rest.origin, run.origin);
    }
}

#[test]
fn a_partner_is_free_equal_and_long_enough() {
    let mut pool = Pool::new();
    let mut pieces = sides(&mut pool, &[<m![H, K = 9]>::EXPR, <m![K = 5]>::EXPR]);
    let (term, _) = digit(&pieces, 0);
    assert_eq!([5, 6, 9, 10].map(|size| pieces.partner(&term, size)), [Some(2), Some(0), Some(0), None]);
    let mut taken = pieces.list.at(2);
    taken.matched = true;
    pieces.list.set(2, taken);
    assert_eq!(pieces.partner(&term, 5), Some(0));
    assert_eq!(pieces.partner(&Term { stride: 2, ..term }, 5), None);
    let (other, _) = digit(&pieces, 1);
    assert_eq!(pieces.partner(&other, 10), Some(1));
}

#[test]
fn every_composite_is_lifted() {
    // Neither composite is cut, so that lifting is the only step.
    const GROUPS: &Expr = <m![[G, H] = 17, [P, K] = 30]>::EXPR;
    const AXES: &Expr = <m![G, H, P, K]>::EXPR;
    let lifted = [("[P, K]", 1), ("[G, H]", 168)];
    let rules = [CutRule::Exact; 2];
    let mut pool = Pool::new();
    let (groups, axes) = (sides(&mut pool, &[GROUPS]), sides(&mut pool, &[AXES]));
    let found = matched(&pool, axes, groups, rules);
    check(&pool, &found.dividend, &lifted);
    assert_eq!(found.pairs.as_slice(), [(1, 1), (0, 0)]);
    check(&pool, &matched(&pool, groups, axes, rules).divisor, &lifted);
}

/// The pairs as text: dividend digit and divisor digit.
fn pairs<Dividend: M, Divisor: M>(rules: [CutRule; 2]) -> Vec<(String, usize, usize)> {
    let mut pool = Pool::new();
    let dividend = sides(&mut pool, &[Dividend::EXPR]);
    let divisor = sides(&mut pool, &[Divisor::EXPR]);
    let found = matched(&pool, dividend, divisor, rules);
    for (k, piece) in found.dividend.list.iter().enumerate() {
        assert_eq!(piece.matched, found.pairs.iter().any(|pair| pair.0 == k));
    }
    for (k, piece) in found.divisor.list.iter().enumerate() {
        assert_eq!(piece.matched, found.pairs.iter().any(|pair| pair.1 == k));
    }
    let pairs = found.pairs.iter().map(|(a, b)| {
        let (a, b) = (found.dividend.list.at(*a), found.divisor.list.at(*b));
        assert_eq!(text(&pool, &a), text(&pool, &b));
        (text(&pool, &a), a.base, b.base)
    });
    pairs.collect()
}

#[track_caller]
fn check_pairs<Dividend: M, Divisor: M>(rules: [CutRule; 2], expected: &[(&str, usize, usize)]) {
    let found = pairs::<Dividend, Divisor>(rules);
    let found: Vec<_> = found.iter().map(|(text, a, b)| (text.as_str(), *a, *b)).collect();
    assert_eq!(found, expected);
}

#[test]
fn pairs_come_from_the_outermost_digit_of_the_divisor() {
    let both = [CutRule::Exact; 2];
    check_pairs::<m![K / 4, H, K % 4], m![K]>(both, &[("K / 4", 40, 4), ("K % 4", 1, 1)]);
    check_pairs::<m![H, K], m![K % 4, K / 4]>(both, &[("K % 4", 1, 6), ("K / 4", 4, 1)]);
    check_pairs::<m![H, K], m![P, K]>(both, &[("K", 1, 1)]);
    // Cuts of either side cut the other one, until both are the same.
    check_pairs::<m![K % 2, K / 8, K / 2 % 2, K / 4 % 2], m![K]>(
        both,
        &[("K / 8", 4, 8), ("K / 4 % 2", 1, 4), ("K / 2 % 2", 2, 2), ("K % 2", 12, 1)],
    );
}

#[test]
fn composites_are_found_in_either_side() {
    let both = [CutRule::Whole, CutRule::Ragged];
    // Runs of 8 of a composite of 60: `H % 2`, and 4 of the 30 values outside it.
    type Blocks = m![[G, H] # 64 % 8, [G, H] # 64 / 8];
    let found = pairs::<Blocks, m![G, H]>(both);
    let bases: Vec<(usize, usize)> = found.iter().map(|pair| (pair.1, pair.2)).collect();
    assert_eq!(bases, [(1, 8), (16, 2), (8, 1)]);
    let found = pairs::<m![G, H], Blocks>(both);
    let bases: Vec<(usize, usize)> = found.iter().map(|pair| (pair.1, pair.2)).collect();
    assert_eq!(bases, [(2, 16), (1, 8), (8, 1)]);
}

#[test]
fn what_has_a_partner_leaves_padding() {
    let mut pool = Pool::new();
    let mut pieces = sides(&mut pool, &[<m![K, H # 12, P]>::EXPR]);
    pieces.list.set(1, Piece { matched: true, ..pieces.list.at(1) });
    let expected = factorize(&mut pool, <m![K, 1 # 12, P]>::EXPR);
    assert_eq!(pieces.residue(&pool).as_slice(), expected.as_slice());
}

/// A digit of a sliceable side may be shorter than its partner, and each digit has one partner.
#[test]
fn slices_have_partners() {
    let mut pool = Pool::new();
    let (a, b) = (sides(&mut pool, &[<m![K = 9]>::EXPR]), sides(&mut pool, &[<m![H, K]>::EXPR]));
    assert_eq!(matched(&pool, a, b, [CutRule::Ragged; 2]).pairs.as_slice(), []);
    let cut = matched(&pool, a.sliceable(), b, [CutRule::Ragged; 2]);
    assert_eq!(cut.pairs.as_slice(), [(0, 0)]);
    assert_eq!((cut.partner(0), cut.partner(1)), (Some(0), None));
    assert_eq!(
        cut.missing().map(|(term, size)| write_term(Text::new(), &pool, &term, size).to_string()),
        Some("H".into())
    );
}

#[test]
fn axes_are_found_in_composites() {
    let mut pool = Pool::new();
    let pieces = sides(&mut pool, &[<m![[G, H] # 64 / 8, K]>::EXPR]);
    let mut atom = |expr: &Expr| match factorize(&mut pool, expr).as_slice()[0] {
        Factor::Term { term, .. } => term.atom,
        Factor::Padding { .. } => panic!("padding"),
    };
    let atoms = [<m![K]>::EXPR, <m![G]>::EXPR, <m![P]>::EXPR].map(&mut atom);
    assert_eq!(atoms.map(|atom| pieces.holds(&atom)), [true, false, false]);
    assert_eq!(atoms.iter().map(|atom| pieces.touches(&pool, atom)).collect::<Vec<_>>(), [true, true, false]);
}

/// Pieces of both sides that may start elsewhere, and their starts.
type Both = (Vec<(String, usize)>, isize);

fn moved<Dividend: M, Divisor: M>() -> (Both, Both, usize) {
    let mut pool = Pool::new();
    let (a, b) = (sides(&mut pool, &[Dividend::EXPR]), sides(&mut pool, &[Divisor::EXPR]));
    let cut = matched(&pool, a.movable(), b.movable(), [CutRule::Whole, CutRule::Ragged]);
    let side = |pieces: &Pieces| (shown(&pool, pieces), pieces.starts[0]);
    (side(&cut.dividend), side(&cut.divisor), cut.pairs.len())
}

fn named(list: &[(&str, usize)]) -> Vec<(String, usize)> {
    list.iter().map(|(text, base)| (text.to_string(), *base)).collect()
}

#[test]
fn whole_margins_are_taken_apart_or_found() {
    // Only one side has the composite: the other one is the same digits, with another start.
    let (a, b, pairs) = moved::<m![K, # 2 + P + # 3], m![P, K]>();
    assert_eq!(a, (named(&[("P", 1), ("# 12", 9), ("K", 12)]), 2));
    assert_eq!((b, pairs), ((named(&[("K", 1), ("P", 24)]), 0), 2));
    // Both sides have the composite, or one has it in parts: it stays.
    let (a, b, pairs) = moved::<m![# 2 + P + # 3, K], m![# 2 + P, K]>();
    assert_eq!((a.1, b.1, pairs), (0, 0, 2));
    assert_eq!(b.0, named(&[("K", 1), ("# 2 + P", 24)]));
    let (a, b, pairs) = moved::<m![[# 2 + P + # 3] % 4, K, [# 2 + P + # 3] / 4], m![K, P]>();
    assert_eq!(a.0[0].0, "[# 2 + P] # 12 / 4");
    assert_eq!((a.1, b.1, pairs), (0, -2, 3));
    // Two different composites; two levels; a composite in the other one.
    let (a, b, pairs) = moved::<m![# 5 + [K, P]], m![# 2 + K + # 6, # 1 + P]>();
    assert_eq!((a.1, b.1, pairs), (5, 2 * 8 + 1, 2));
    let (a, _, pairs) = moved::<m![# 1 + [K, # 2 + P]], m![K, P]>();
    assert_eq!((a, pairs), ((named(&[("P", 1), ("K", 9)]), 3), 2));
}

/// A composite between K and P leaves a gap: they are no neighbours.
#[test]
fn what_is_left_out_leaves_a_gap() {
    axes![U = 1];
    type Both = m![[K, P] # 170 % 10, [K, P] # 170 / 10];
    assert_eq!(moved::<Both, m![K, P]>().2, 2);
    assert_eq!(moved::<Both, m![K, # 2 + U, P]>().2, 0);
    assert_eq!(moved::<Both, m![# 2 + U, K, P]>().2, 2);
}

#[test]
fn nothing_moves_where_it_must_not() {
    let mut pool = Pool::new();
    let (a, b) = (sides(&mut pool, &[<m![# 2 + P]>::EXPR]), sides(&mut pool, &[<m![P]>::EXPR]));
    let rules = [CutRule::Exact; 2];
    for (a, b) in [(a, b), (b, a)] {
        let cut = matched(&pool, a, b, rules);
        assert_eq!((cut.pairs.len(), cut.dividend.starts, cut.divisor.starts), (0, [0; 5], [0; 5]));
    }
}

#[test]
fn a_whole_block_is_taken_apart_where_it_stands() {
    let mut pool = Pool::new();
    let other = sides(&mut pool, &[<m![K, G, P, H]>::EXPR]);
    let mut pieces = sides(&mut pool, &[<m![K, # 2 + [G, P # 8], H]>::EXPR]);
    assert!(pieces.open(&pool, &other));
    // 50 positions of the composite, 2 of them padding, over 10 of H.
    check(&pool, &pieces, &[("H", 1), ("P", 10), ("# 80", 70), ("G", 80), ("K", 500)]);
    assert_eq!(pieces.starts[0], 20);
    assert_eq!(pieces.list.iter().map(|piece| piece.total).collect::<Vec<_>>(), [10, 7, 1, 6, 24]);
    assert!(!pieces.open(&pool, &other), "single digits");
}

#[test]
fn a_block_of_one_element_is_where_it_starts() {
    axes![U = 1];
    let (a, b, pairs) = moved::<m![K, # 3 + U], m![K]>();
    assert_eq!((a, b.1, pairs), ((named(&[("K", 4)]), 3), 0, 1));
}

/// Pieces of one origin are parts of one digit.
#[test]
fn digits_of_blocks_have_origins_of_their_own() {
    let origins = |expr: &'static Expr, count: usize| {
        let mut pool = Pool::new();
        let (mut pieces, other) = (sides(&mut pool, &[expr]), sides(&mut pool, &[]));
        let opened = (0..10).take_while(|_| pieces.open(&pool, &other)).count();
        assert_eq!(opened, count);
        let mut origins: Vec<usize> = pieces.list.iter().map(|piece| piece.origin).collect();
        origins.sort_unstable();
        origins.dedup();
        (origins.len(), pieces.list.len())
    };
    assert_eq!(origins(<m![# 3 + K, # 1 + [G, P # 8], # 2 + H]>::EXPR, 3), (5, 5));
    assert_eq!(origins(<m![K, # 1 + [G, P # 8]]>::EXPR, 1), (4, 4));
    assert_eq!(origins(<m![K, # 1 + [G, P # 8], H]>::EXPR, 1), (5, 5));
}
