//! Products in columns of the stream's innermost axis, summed axes that are no whole flits, and sums that are turned: values and cycles of random choices,
//! the search against all of them, and what is found.

use crate::search::is_the_best;
use crate::values::compare;
use crate::{axes_of, choices};
use furiosa_visa_plan::choice::Choice;
use furiosa_visa_plan::problem::Role;
use furiosa_visa_plan::{Plan, Problem, Search, search};
use furiosa_visa_rules::command::AccumulationKind;
use furiosa_visa_rules::scalar::ElementType::{Bf16, F8e4m3, I4, I8};
use furiosa_visa_std::clock::Profile;
use reference::cases::for_cases;
use reference::random::Random;
use std::cell::Cell;

/// Forms without windows, and forms with those that follow.
const FORMS: [(&str, &str); 14] = [
    ("mk,kn->mn", ""),
    ("mk,kn->nm", ""),
    ("bk,bkn->bn", ""),
    ("bmk,bkn->bmn", ""),
    ("km,kn->mn", ""),
    ("mgk,gkn->mn", ""),
    ("mk,nk->mn", ""),
    ("mgk,ngk->mn", ""),
    ("nhw,fyx->nhwf", "H+Y, W+X"),
    ("nhw,fyx->nfhw", "H+Y, W+X"),
    ("nchw,fcyx->nhwf", "H+Y, W*2+X"),
    ("nchw,fcyx->nfhw", "H+Y, W+X"),
    ("nhwc,fyxc->nhwf", "H*2+Y, W+X"),
    ("nw,fx->nfw", "W*2+X"),
];

/// A problem whose stream may have its own axis inside, or whose sums are no whole flits.
fn random_problem(random: &mut Random, sizes: &[usize]) -> Problem {
    let (einsum, windows) = random.pick(&FORMS);
    let element = random.pick(&[I8, Bf16, F8e4m3, I4]);
    let output = (element == Bf16 && random.chance(50)).then_some(Bf16);
    let (flit, access) = (256 / element.bits(), 64 / element.bits());
    let is_convolution = !windows.is_empty();
    let size = |axis: char, random: &mut Random| match axis {
        'k' if random.chance(40) => random.between(2, 3 * flit),
        'k' => flit * random.between(1, 3),
        'g' | 'c' => random.between(1, 3),
        'y' | 'x' => random.between(1, 3),
        'h' => random.between(1, 4),
        'w' => random.between(2, 20),
        'f' => random.pick(&[8, 16]),
        'n' if !is_convolution && random.chance(80) => access * random.between(1, 6),
        _ => random.pick(sizes),
    };
    let axes = axes_of(einsum, |axis| size(axis, random));
    Problem::with_windows(einsum, windows, &axes, element, output, "")
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Choices in columns, with flits that are filled up, or with sums that are turned.
fn own(problem: &Problem) -> Vec<Choice> {
    let is_own =
        |choice: &Choice| choice.in_columns || choice.turns_sums || choice.filled_axis(problem).is_some();
    choices(problem).into_iter().filter(is_own).collect()
}

#[test]
fn random_choices_in_columns_compute_the_contraction() {
    let (legal, seen) = (Cell::new(0), Cell::new([0; 4]));
    let count = for_cases(80, |random| {
        let mut problem = random_problem(random, &[1, 2, 3, 4, 8]);
        let mut all = own(&problem);
        while all.is_empty() {
            problem = random_problem(random, &[1, 2, 3, 4, 8]);
            all = own(&problem);
        }
        if random.chance(20) && all.iter().any(|choice| choice.turns_sums) {
            all.retain(|choice| choice.turns_sums);
        }
        let legal_one = (0..60).find_map(|_| Plan::of(&problem, random.pick(&all), Profile::default()).ok());
        let Some(plan) = legal_one else { return Ok(()) };
        legal.set(legal.get() + 1);
        let is_filled = plan.choice.filled_axis(&problem).is_some();
        let is_sequential = plan.layout.kind == AccumulationKind::Sequential;
        let kinds = [plan.choice.in_columns, is_sequential, is_filled, plan.choice.turns_sums].map(u64::from);
        seen.set(core::array::from_fn(|kind| seen.get()[kind] + kinds[kind]));
        compare(random, &plan)
    });
    assert!(4 * legal.get() >= count, "{} of {count} choices are legal", legal.get());
    assert!(seen.get().iter().all(|seen| 20 * seen >= count), "{:?} of {count}", seen.get());
}

#[test]
fn the_best_of_all_choices_with_columns_is_found() {
    for_cases(8, |random| is_the_best(random, |random| random_problem(random, &[1, 2, 4])));
}

/// Columns stay in the packet where the result has their axis inside, and go to time where it has that of the rows.
#[test]
fn the_result_says_what_stays_in_the_packet() {
    let kind = |einsum: &str, sizes: &str| {
        let problem = Problem::new(einsum, sizes, Bf16, None).unwrap_or_else(|error| panic!("{error}"));
        let plan = search(&problem, &Search { weights: Some(0), ..Search::default() }).plans.remove(0);
        assert!(plan.choice.in_columns, "{:?}", plan.choice);
        plan.layout.kind
    };
    assert_eq!(kind("mk,kn->mn", "M=8,N=256,K=256"), AccumulationKind::Sequential);
    assert_eq!(kind("mk,kn->nm", "M=8,N=256,K=256"), AccumulationKind::Interleaved);
    // One row, where weights have no axis of their own.
    assert_eq!(kind("bk,bkn->bn", "B=16,N=64,K=64"), AccumulationKind::Sequential);
}

/// A packet has as many columns as an accumulator, at most, and a power of two.
#[test]
fn columns_of_a_packet() {
    let of = |einsum: &str, windows: &str, sizes: &str, element| {
        let problem = Problem::with_windows(einsum, windows, sizes, element, None, "")
            .unwrap_or_else(|error| panic!("{error}"));
        let whole = |axis: usize| match problem.axes[axis].role {
            Role::Batch => 1,
            _ => problem.axes[axis].size,
        };
        let is_whole = |choice: &Choice| {
            choice.in_columns
                && (0..problem.axes.len()).all(|axis| choice.splits[axis].extents[4] == whole(axis))
        };
        let choice = choices(&problem).into_iter().find(is_whole)?;
        choice.columns(&problem).map(|columns| (columns.count, columns.padded))
    };
    assert_eq!(of("mk,kn->mn", "", "M=8,K=16,N=32", Bf16), Some((32, 32)));
    assert_eq!(of("mk,kn->mn", "", "M=8,K=16,N=64", Bf16), Some((32, 32)));
    assert_eq!(of("mk,kn->mn", "", "M=8,K=16,N=96", I8), Some((32, 32)));
    assert_eq!(of("mk,kn->mn", "", "M=8,K=16,N=48", Bf16), Some((16, 16)));
    assert_eq!(of("nw,fx->nwf", "W+X", "N=1,W=6,X=3,F=8", Bf16), Some((6, 8)));
    assert_eq!(of("nw,fx->nwf", "W+X", "N=1,W=3,X=3,F=8", I8), Some((3, 8)));
    // One column is none.
    assert_eq!(of("mk,kn->mn", "", "M=8,K=16,N=1", Bf16), None);
}

/// Rows that have no whole flits are filled up, as they lie in HBM: with padding, or without.
#[test]
fn rows_of_no_whole_flits() {
    let mut random = Random::new(1);
    for layout in ["", "x: M, K # 96; w: N, K # 96; out: M, N # 16", "x: M, K # 72"] {
        let problem = Problem::new("mk,nk->mn", "M=64,N=8,K=65", Bf16, None);
        let problem = problem.unwrap_or_else(|error| panic!("{error}"));
        let problem = match layout {
            "" => problem,
            _ => problem.with_layouts(layout).unwrap_or_else(|error| panic!("{error}")),
        };
        let plan = search(&problem, &Search::default()).plans.remove(0);
        assert!(plan.layout.weights.is_filled && plan.layout.stream.is_filled, "{layout}");
        compare(&mut random, &plan).unwrap_or_else(|difference| panic!("{layout}: {difference}"));
    }
}
