//! Expressions, their normal form, guards and division against positions.

use crate::bridge::{expr, index};
use crate::reference::cases::for_cases;
use crate::reference::mapping::{Map, for_each_position, joint_table};
use crate::reference::random::{
    Axes, Margins, Random, borrowed, random_axes, random_map, random_map_with_margins, random_partition,
    with_unit,
};
use furiosa_visa_std::mapping::{self, Factors, M, Pool, divide, factorize, liveness};
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::text::Text;

fn random_case(random: &mut Random) -> (Axes, Map) {
    let count = random.between(1, 4);
    let axes = random_axes(random, count);
    let depth = random.between(0, 6);
    let map = random_map(random, &axes, depth);
    (axes, map)
}

/// As [`random_case`], with margins in every other case.
fn random_case_with_margins(random: &mut Random) -> (Axes, Map) {
    if random.chance(50) {
        return random_case(random);
    }
    let count = random.between(1, 4);
    let axes = random_axes(random, count);
    let depth = random.between(1, 6);
    let map = random_map_with_margins(random, &axes, depth);
    (axes, map)
}

fn healthy(pool: &mut Pool, map: &Map) -> Result<Factors, String> {
    let factors = factorize(pool, expr(map));
    match factors.problem() {
        None => Ok(factors),
        Some(problem) => Err(format!("{map}: {problem:?}")),
    }
}

/// The factors hold the same element as the expression, at every position.
fn same_positions(pool: &Pool, factors: &Factors, map: &Map) -> Result<(), String> {
    let shown = || factors.notation(pool, Text::new()).to_string();
    if factors.size() != map.size() {
        return Err(format!("{map} has {} positions, `{}` {}", map.size(), shown(), factors.size()));
    }
    for (position, expected) in map.table().into_iter().enumerate() {
        let found = index(pool, &[(factors, position)]);
        if expected != found {
            let shown = shown();
            return Err(format!("{map} as `{shown}`, position {position}: {expected:?}, found {found:?}"));
        }
    }
    Ok(())
}

#[test]
fn normal_forms_hold_the_same_elements() {
    for_cases(3000, |random| {
        let (_, map) = random_case_with_margins(random);
        if expr(&map).checked_size() != Ok(map.size()) {
            return Err(format!("{map}: {:?}", expr(&map).checked_size().map_err(|text| text.to_string())));
        }
        let mut pool = Pool::new();
        let factors = healthy(&mut pool, &map)?;
        same_positions(&pool, &factors, &map)
    });
}

#[test]
fn the_comparison_finds_a_wrong_normal_form() {
    let axes = &[("A", 4), ("B", 6)];
    let mut pool = Pool::new();
    let factors = factorize(&mut pool, expr(&Map::parse("A, B", axes)));
    assert_eq!(same_positions(&pool, &factors, &Map::parse("A, B", axes)), Ok(()));
    for wrong in ["B, A", "A, B # 6", "A, B = 5 # 6", "A # 5, B", "A = 3 # 4, B"] {
        let found = same_positions(&pool, &factors, &Map::parse(wrong, axes));
        assert_eq!(found.is_err(), wrong != "A, B # 6", "{wrong}");
    }
}

#[test]
fn expressions_are_read_back() {
    for_cases(1500, |random| {
        let (axes, map) = random_case_with_margins(random);
        let mut pool = Pool::new();
        let factors = healthy(&mut pool, &map)?;
        let texts = [expr(&map).to_string(), factors.notation(&pool, Text::new()).to_string()];
        for text in texts {
            let back = Map::try_parse(&text, &borrowed(&axes)).map_err(|error| format!("{map}: {error}"))?;
            if !back.equivalent(&map) {
                return Err(format!("{map} is written `{text}`, which is another mapping"));
            }
        }
        Ok(())
    });
}

/// Pairs of expressions that the normal form must identify.
fn laws(random: &mut Random, axes: &Axes) -> Vec<(&'static str, Map, Map)> {
    let cut = random.below(axes.len() + 1);
    let depth = random.between(0, 4);
    let part = |axes: &[(String, usize)], random: &mut Random| match axes {
        [] => Map::One,
        _ if random.chance(50) => random_map(random, &axes.to_vec(), depth),
        _ => random_map_with_margins(random, &axes.to_vec(), depth),
    };
    let (a, b) = (part(&axes[..cut], random), part(&axes[cut..], random));
    let pair = |a: &Map, b: &Map| Map::Pair(Box::new(a.clone()), Box::new(b.clone()));
    let e = pair(&a, &b);
    let divisors: Vec<usize> = (1..=e.size()).filter(|n| e.size().is_multiple_of(*n)).collect();
    let n = random.pick(&divisors);
    let (p, q) = (e.size() + random.below(4), e.size() + random.between(4, 9));
    let mut laws = vec![
        ("1, E", pair(&Map::One, &e), e.clone()),
        ("E, 1", pair(&e, &Map::One), e.clone()),
        ("E / n, E % n", pair(&e.stride(n), &e.modulo(n)), e.clone()),
        ("[A, B] / |B|", e.stride(b.size()), a.clone()),
        ("[A, B] % |B|", e.modulo(b.size()), b.clone()),
        ("E / 1", e.stride(1), e.clone()),
        ("E # |E|", e.pad(e.size()), e.clone()),
        ("E = |E|", e.resize(e.size()), e.clone()),
        ("E % 1", e.modulo(1), Map::One),
        ("E # p # q", e.pad(p).pad(q), e.pad(q)),
        ("A # p, B", pair(&a.pad(a.size() + 2), &b), e.pad((a.size() + 2) * b.size())),
        ("1 # p, 1 # q", pair(&Map::One.pad(p), &Map::One.pad(q)), Map::One.pad(p * q)),
    ];
    // A single element behind dead positions would need the name of an axis.
    let named = e.elements() > 1;
    let [before, more] = [0; 2].map(|_| if named { random.below(3) } else { 0 });
    let after = random.below(3);
    laws.push(("# 0 + E + # 0", e.margin(0, 0), e.clone()));
    laws.push(("E + # n", e.margin(0, after), e.pad(e.size() + after)));
    laws.push(("# l + E + # n", e.margin(before, after), e.margin(before, 0).pad(before + e.size() + after)));
    laws.push(("# l + [# m + E]", e.margin(before, 1).margin(more, 2), e.margin(before + more, 3)));
    laws.push(("# l + E # p", e.pad(p).margin(before, after), e.margin(before, p - e.size() + after)));
    if let Map::Pair(x, y) = &a {
        laws.push(("associative", pair(&pair(x, y), &b), pair(x, &pair(y, &b))));
    }
    laws
}

#[test]
fn laws_of_the_algebra() {
    for_cases(1500, |random| {
        let count = random.between(1, 3);
        let axes = random_axes(random, count);
        for (name, left, right) in laws(random, &axes) {
            let mut pool = Pool::new();
            let (a, b) = (healthy(&mut pool, &left)?, healthy(&mut pool, &right)?);
            if !a.is(&b) {
                let [a, b] = [a, b].map(|factors| factors.notation(&pool, Text::new()).to_string());
                return Err(format!("law {name}: {left} is `{a}`, {right} is `{b}`"));
            }
        }
        Ok(())
    });
}

/// `E / a / b` and `E / (ab)` are always equivalent, but need not have the same factors.
#[test]
fn steps_of_steps_are_equivalent() {
    for_cases(1500, |random| {
        let (_, map) = random_case(random);
        let divisors = |size: usize| (1..=size).filter(|n| size.is_multiple_of(*n)).collect::<Vec<_>>();
        let a = random.pick(&divisors(map.size()));
        let b = random.pick(&divisors(map.size() / a));
        let mut pool = Pool::new();
        for (nested, flat) in [
            (map.stride(a).stride(b), map.stride(a * b)),
            (map.stride(a).modulo(b), map.modulo(a * b).stride(a)),
            (map.modulo(a * b).modulo(a), map.modulo(a)),
        ] {
            let factors = healthy(&mut pool, &nested)?;
            same_positions(&pool, &factors, &flat)?;
        }
        Ok(())
    });
}

#[test]
fn operations_on_factors() {
    for_cases(1500, |random| {
        let (_, map) = random_case(random);
        let divisors: Vec<usize> = (1..=map.size()).filter(|n| map.size().is_multiple_of(*n)).collect();
        let (n, cut) = (random.pick(&divisors), random.between(1, map.size() + 2));
        let mut pool = Pool::new();
        let factors = healthy(&mut pool, &map)?;
        let outer = mapping::stride(&mut pool, &factors, n);
        same_positions(&pool, &outer, &map.stride(n))?;
        let inner = mapping::modulo(&mut pool, &factors, n);
        same_positions(&pool, &inner, &map.modulo(n))?;
        let short = mapping::resize(&mut pool, &factors, cut);
        same_positions(&pool, &short, &map.resize(cut))?;
        same_positions(&pool, &mapping::pad_to(&factors, map.size() + 3), &map.pad(map.size() + 3))?;
        let stripped = mapping::strip(&factors);
        same_positions(&pool, &stripped, &map.resize(stripped.size()))?;
        let table = map.table();
        if table[stripped.size()..].iter().any(Option::is_some) {
            return Err(format!("strip of {map} loses elements"));
        }
        Ok(())
    });
}

#[test]
fn guards_hold_where_elements_are() {
    for_cases(1500, |random| {
        let axes_count = random.between(1, 4);
        let count = random.between(1, 5);
        let groups = random.chance(50);
        let margins = random.pick(&[Margins::None, Margins::None, Margins::Any, Margins::Equal]);
        let axes = margins.axes(random, axes_count);
        let mut dims = random_partition(random, &axes, count, groups, margins);
        if margins == Margins::Equal {
            dims = dims.into_iter().map(|dim| with_unit(random, dim)).collect();
        }
        if margins == Margins::None && random.chance(40) {
            let k = random.below(dims.len());
            dims[k] = dims[k].resize(random.between(1, dims[k].size() + 1));
        }
        let dims: Vec<&Map> = dims.iter().collect();
        if dims.iter().map(|dim| dim.size()).product::<usize>() > 20_000 {
            return Ok(());
        }
        let mut pool = Pool::new();
        let mut factors = Vec::new();
        for dim in &dims {
            factors.push(healthy(&mut pool, dim)?);
        }
        let Some(guard) = liveness(&pool, &factors.iter().collect::<Vec<_>>()) else {
            return Err(format!("{dims:?} has no guard"));
        };
        let table = joint_table(&dims);
        let (mut result, mut k) = (Ok(()), 0);
        for_each_position(&dims, |tuple| {
            let parts: Vec<(&Factors, usize)> = factors.iter().zip(tuple.iter().copied()).collect();
            if guard.holds(tuple) != table[k].is_some() && result.is_ok() {
                result = Err(format!("{dims:?} at {tuple:?}: {:?}, but the guard {guard:?}", table[k]));
            }
            if index(&pool, &parts) != table[k] && result.is_ok() {
                result = Err(format!("{dims:?} at {tuple:?}: {:?}, but by factors not", table[k]));
            }
            k += 1;
        });
        result
    });
}

/// The records of an exact division lead from every element of the divisor to the same one in the dividend.
fn division_leads_to_elements(dividend: &Map, divisor: &Map) -> Result<bool, String> {
    let mut pool = Pool::new();
    let (a, b) = (healthy(&mut pool, dividend)?, healthy(&mut pool, divisor)?);
    let division = divide(&pool, &a, &b);
    if !division.is_exact() {
        return Ok(false);
    }
    let elements = dividend.table();
    for (position, expected) in divisor.table().into_iter().enumerate() {
        let Some(expected) = expected else { continue };
        // A digit of one value does not move.
        let mut terms: Vec<_> = division.terms.iter().filter(|found| found.resize > 1).collect();
        terms.sort_by_key(|found| std::cmp::Reverse(found.divisor_stride));
        let (mut rest, mut place) = (position, 0);
        for found in terms {
            place += rest / found.divisor_stride * found.dividend_stride;
            rest %= found.divisor_stride;
        }
        let found = elements.get(place).and_then(Option::as_ref);
        if found != Some(&expected) {
            let terms: Vec<_> = division.terms.iter().collect();
            return Err(format!(
                "{dividend} / {divisor}: position {position} {expected:?} found at {place} {found:?}, {terms:?}"
            ));
        }
    }
    // What is left of the dividend holds the elements whose found digits are 0, at the same positions.
    let residue = &division.dividend_residue;
    // It is larger where the outermost digit has been cut unevenly.
    if residue.size() < dividend.size() {
        return Err(format!("{dividend} / {divisor}: the residue is smaller"));
    }
    for (position, element) in elements.iter().enumerate() {
        let left = index(&pool, &[(residue, position)]);
        if left.is_some() && left != *element {
            return Err(format!("{dividend} / {divisor}: the residue differs at {position}: {left:?}"));
        }
    }
    Ok(true)
}

#[test]
fn exact_divisions_lead_to_elements() {
    let exact = std::cell::Cell::new(0);
    for_cases(3000, |random| {
        let count = random.between(1, 3);
        let axes = random_axes(random, count);
        let groups = random.chance(30);
        let dividend = Map::sequence(&random_partition(random, &axes, 1, groups, Margins::None));
        let divisor = match random.below(4) {
            0 => Map::sequence(&random_partition(random, &axes, 1, groups, Margins::None)),
            1 => random_map(random, &axes, 3),
            2 => random_map(random, &axes[..1].to_vec(), 3),
            _ => {
                let parts = random_partition(random, &axes, 2, groups, Margins::None);
                parts[0].clone()
            }
        };
        if division_leads_to_elements(&dividend, &divisor)? {
            exact.set(exact.get() + 1);
        }
        Ok(())
    });
    if std::env::var("VISA_CASES").is_err() {
        assert!(exact.get() > 500, "only {} exact divisions", exact.get());
    }
}

#[test]
fn a_permutation_divides_exactly() {
    for_cases(500, |random| {
        let count = random.between(1, 4);
        let axes = random_axes(random, count);
        let mut parts = Vec::new();
        for (name, size) in &axes {
            let axis = Map::axis(name, *size);
            let divisors: Vec<usize> = (1..=*size).filter(|n| size.is_multiple_of(*n)).collect();
            let cut = random.pick(&divisors);
            parts.extend([axis.stride(cut), axis.modulo(cut)]);
        }
        random.shuffle(&mut parts);
        let dividend = Map::sequence(&parts);
        random.shuffle(&mut parts);
        let divisor = Map::sequence(&parts);
        match division_leads_to_elements(&dividend, &divisor)? {
            true => Ok(()),
            false => Err(format!("{dividend} / {divisor} is not exact")),
        }
    });
}

/// Mappings as types: what `m!` made of the tokens against what the reference reads in their text.
macro_rules! types {
    ($axes:expr, $($tokens:tt)*) => { types!(@ $axes, [] $($tokens)*) };
    (@ $axes:expr, [$([$($done:tt)*])*]) => {
        $(same_as_type::<m![$($done)*]>(stringify!($($done)*), $axes);)*
    };
    (@ $axes:expr, [$($done:tt)*] { $($one:tt)* } $($rest:tt)*) => {
        types!(@ $axes, [$($done)* [$($one)*]] $($rest)*)
    };
}

fn same_as_type<E: M>(text: &str, axes: &[(&str, usize)]) {
    let map = Map::parse(text, axes);
    assert_eq!(E::SIZE, map.size(), "{text}");
    assert_eq!(E::EXPR, expr(&map), "{text}");
    for position in 0..map.size() + 2 {
        let found = E::map(position).and_then(|index| index.coordinates());
        let found = found.map(|list| list.iter().map(|(name, value)| (name.to_string(), *value)).collect());
        assert_eq!(found, map.eval(position), "{text} at {position}");
    }
}

#[test]
fn mappings_as_types() {
    axes![A = 15, B = 4, C = 24, D = 7, U = 1];
    types!(
        &[("A", 15), ("B", 4), ("C", 24), ("D", 7), ("U", 1)],
        {1} {A} {A, B} {[A, B]} {(A, B), C} {A # 16 / 4} {A # 16 % 4} {A # 16 % 4, A # 16 / 4}
        {[A, B] / 6} {[A, B] % 6} {[A, B] % 6, [A, B] / 6} {[A, B] # 64 / 8, 1 # 2} {C / 6 % 2 = 1, B}
        {[D, C] / 14} {[D, B # 9] # 70 / 7} {[D, B # 9] # 70 % 7} {A = 20} {A = 9 / 3} {1 # 4, 1 # 3, D}
        {# 2 + A + # 3} {# 2 + A} {A + # 3} {B, # 1 + D} {# 1 + [B, D] + # 1} {[# 2 + A + # 3] / 4}
        {[# 2 + A + # 3] % 4, [# 2 + A + # 3] / 4} {# 3 + U + # 4} {# 1 + [# 2 + A] # 20 = 19}
        {[[A, B] / 6, D] % 14, [[A, B] / 6, D] / 14} {[A, D] = 50 # 60 / 12} {A, [B, C] # 100 % 20}
    );
}
