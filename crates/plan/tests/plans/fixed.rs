//! Digits of slices and clusters that are fixed.

use crate::search::FEW;
use crate::values::compare;
use crate::{choices, random_problem};
use furiosa_visa_plan::choice::{Choice, Level};
use furiosa_visa_plan::layout::{Notation, layout};
use furiosa_visa_plan::{Fixed, Plan, Problem, Search, search};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::mapping::parse::{Axes, index_at, parse_mapping};
use furiosa_visa_rules::scalar::ElementType::I8;
use furiosa_visa_std::clock::Profile;
use reference::cases::for_cases;
use reference::random::Random;
use std::collections::BTreeMap;

/// Coordinates of each axis at the positions of a mapping, if they are not all 0.
fn coordinates(expr: &'static Expr) -> BTreeMap<String, Vec<usize>> {
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for index in (0..expr.size()).filter_map(|position| index_at(expr, position)) {
        for (axis, coordinate) in index.coordinates().into_iter().flatten() {
            found.entry(axis.to_string()).or_insert(vec![0]).push(coordinate);
        }
    }
    for list in found.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    found
}

/// Tells if slices have, of each axis that is named, what the mapping says, and nothing else if it names all slices.
fn has(problem: &Problem, choice: &Choice, fixed: &str) -> bool {
    let axes = Axes::parse(&problem.axes_text()).expect("they are axes");
    let expr = parse_mapping(fixed, &axes).expect("it is a mapping");
    let Some(layout) = layout(problem, choice, &Notation::new(problem)) else { return false };
    let (wanted, own) = (coordinates(expr), coordinates(layout.slice.expr));
    // Of an axis with padding, slices without an element have no coordinates to compare.
    let is_padded = |axis: &String| {
        let mut axes = problem.axes.iter().zip(&choice.splits);
        axes.any(|(own, split)| own.name == *axis && split.padded > own.size)
    };
    let is_same = |axis: &String| own.get(axis) == wanted.get(axis) && !is_padded(axis);
    wanted.keys().all(is_same) && (expr.size() < 256 || own.keys().all(|axis| wanted.contains_key(axis)))
}

/// Digits that a random choice has in its slices, some of them left out.
fn random_digits(random: &mut Random, problem: &Problem, choice: &Choice) -> Option<String> {
    let mut digits = Vec::new();
    for (axis, split) in problem.axes.iter().zip(&choice.splits) {
        let (stride, count) = (split.stride(Level::Slice), split.at(Level::Slice));
        if count > 1 && split.padded != axis.size {
            return None;
        }
        if count > 1 {
            digits.push(format!("{} / {stride} % {count}", axis.name));
        }
    }
    let is_whole = random.chance(40);
    if !is_whole && random.chance(50) && digits.len() > 1 {
        digits.remove(random.below(digits.len()));
    }
    digits.reverse();
    match (digits.is_empty(), is_whole) {
        (true, _) => Some("1 # 256".to_string()),
        (false, true) => Some(format!("[{}] # 256", digits.join(", "))),
        (false, false) => Some(digits.join(", ")),
    }
}

/// The search with fixed digits finds the best of those choices of the whole space that have them.
#[test]
fn the_best_choices_with_fixed_digits_are_found() {
    for_cases(12, |random| {
        let (problem, text) = loop {
            let problem = random_problem(random, &[1, 2, 4, 8]);
            let all = choices(&problem);
            let is_small = std::env::var_os("VISA_CASES").is_some() || all.len() <= 4 * FEW;
            if all.is_empty() || !is_small {
                continue;
            }
            let choice = random.pick(&all);
            if let Some(text) = random_digits(random, &problem, &choice) {
                break (problem, text);
            }
        };
        let told = format!("{} with {}, {text} in Slice", problem.einsum, problem.axes_text());
        let fixed =
            Fixed::new(&problem, Some(&text), None, None).map_err(|error| format!("{told}: {error}"))?;
        let outcome = search(&problem, &Search { top: 3, fixed: Some(&fixed), ..Search::default() });
        let found: Vec<u64> = outcome.plans.iter().map(|plan| plan.cycles).collect();
        let all = choices(&problem).into_iter().filter(|choice| has(&problem, choice, &text));
        let plans = all.filter_map(|choice| Plan::of(&problem, choice, Profile::default()).ok());
        let mut expected: Vec<u64> = plans.map(|plan| plan.cycles).collect();
        expected.sort_unstable();
        expected.truncate(3);
        if found != expected {
            return Err(format!("{told}: {found:?} were found, but the best are {expected:?}"));
        }
        outcome.plans.first().map_or(Ok(()), |plan| compare(random, plan))
    });
}

/// Axes that are not named take the rest of the slices, unless it is padding.
#[test]
fn what_is_not_named_has_the_rest() {
    let problem = Problem::new("mk,nk->mn", "M=64,N=64,K=512", I8, None).expect("it is a contraction");
    let slices = |text: &str, cluster: Option<&str>| {
        let fixed = Fixed::new(&problem, Some(text), cluster, None).unwrap_or_else(|error| panic!("{error}"));
        let outcome = search(&problem, &Search { fixed: Some(&fixed), ..Search::default() });
        let choice = &outcome.plans[0].choice;
        let at = |level| choice.splits.iter().map(|split| split.at(level)).collect::<Vec<_>>();
        (at(Level::Slice), at(Level::Cluster).iter().product::<usize>(), outcome.plans[0].cycles)
    };
    // Axes are M, K and N.
    let (free, _, best) = slices("K / 128", None);
    assert!(free[1] == 4 && free[0] * free[2] > 1, "{free:?}");
    let (alone, _, slow) = slices("[K / 128] # 256", None);
    assert_eq!(alone, [1, 4, 1]);
    assert!(best < slow);
    let (none, clusters, _) = slices("1 # 256", Some("1 # 2"));
    assert_eq!((none, clusters), (vec![1, 1, 1], 1));
    let (two, clusters, _) = slices("m![M / 8 % 4, K / 128]", Some("M / 32"));
    assert_eq!((&two[..2], clusters), (&[4, 4][..], 2));
}

#[test]
fn what_no_mapping_has_is_refused_with_the_edit() {
    let problem = Problem::new("bmk,bnk->bmn", "B=2,M=12,N=64,K=64", I8, None).expect("it is a contraction");
    let refused = |slice: Option<&str>, cluster: Option<&str>, weights: Option<usize>, message: &str| {
        let error = Fixed::new(&problem, slice, cluster, weights).expect_err("it is wrong");
        assert_eq!(error.to_string(), message);
    };
    let of = |slice: &str, message: &str| refused(Some(slice), None, Some(1), message);
    of("Q / 2", "slice: no axis is called `Q`; the axes are `B`, `M`, `K`, `N`\n\n  Q / 2\n  ^");
    of(
        "N, M / 2",
        "slice: `N, M / 2` has 384 positions, and Slice has 256; name digits of fewer positions, or pad to `# 256`",
    );
    of(
        "[M, K] / 6",
        "slice: `[M, K] / 6` has a part that is no digit of one axis; write a list of digits, for example `N / 8 % 32`",
    );
    of(
        "N / 32, M, N % 4",
        "slice: `N / 32, M, N % 4` has two digits of `N`, and mappings of the space have one of each axis in Slice; write one",
    );
    // Weights have 8 rows in a slice.
    of(
        "N / 4 % 8",
        "slice: with `w` in the register file, no mapping has in Slice what `N / 4 % 8` says of `N`; take `N / 8`",
    );
    of(
        "N % 64",
        "slice: with `w` in the register file, no mapping has in Slice what `N % 64` says of `N`; take a digit of 2, 4 or 8 \
         positions",
    );
    assert!(Fixed::new(&problem, Some("N % 64"), None, None).is_ok(), "w may be streamed");
    let windows =
        Problem::with_windows("hc,fyc->hf", "H+Y", "H=8,Y=3,F=8,C=32", I8, None, "").expect("it has windows");
    let error = Fixed::new(&windows, Some("InH / 2 # 256"), None, None).expect_err("it is wrong");
    assert_eq!(
        error.to_string(),
        "slice: `InH / 2 # 256` has `InH`, which the result lacks; positions in windows follow `H` of the result: write digits of it"
    );
    refused(
        None,
        Some("K / 32"),
        None,
        "cluster: with `w` in the register file, no mapping has in Cluster what `K / 32` says of `K`; leave it out",
    );
    refused(
        Some("N / 8"),
        Some("N / 32"),
        Some(1),
        "slice: no mapping has both `N / 8` in Slice and `N / 32` in Cluster: the digit of `N` in Cluster is outside of the \
         other one; leave one of them out",
    );
    refused(
        None,
        Some("N / 8"),
        None,
        "cluster: `N / 8` has 8 positions, and Cluster has 2; name digits of fewer positions, or pad to `# 2`",
    );
}
