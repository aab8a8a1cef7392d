//! A stream in two pieces, and slices that load parts for fewer that share an operand: values and cycles of random choices, the
//! search against all of them, and the limits of both.

use crate::epilogue::check;
use crate::search::is_the_best;
use crate::values::compare;
use crate::{axes_of, choices};
use furiosa_visa_plan::choice::{Choice, Level, Pieces};
use furiosa_visa_plan::problem::Role;
use furiosa_visa_plan::{Plan, Problem, Search, search};
use furiosa_visa_rules::command::Operation;
use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F8e4m3, I8};
use furiosa_visa_rules::spec;
use furiosa_visa_std::clock::Profile;
use reference::cases::for_cases;
use reference::random::Random;
use std::cell::Cell;

fn problem(einsum: &str, sizes: &str, element: ElementType) -> Problem {
    Problem::new(einsum, sizes, element, None).unwrap_or_else(|error| panic!("{error}"))
}

/// A problem with few rows beside a large operand, or with short runs in the result.
fn random_problem(random: &mut Random, most: usize) -> Problem {
    let einsum = random.pick(&[
        "mk,nk->mn",
        "mk,nk->nm",
        "mk,qrk->mrq",
        "mk,qcrk->mcrq",
        "bmk,bnk->bmn",
        "mgk,ngk->mn",
    ]);
    let element = random.pick(&[I8, Bf16, F8e4m3]);
    let output = (element == Bf16 && random.chance(50)).then_some(Bf16);
    let size = |axis: char, random: &mut Random| match axis {
        // A flit for each slice that loads a part.
        'k' if einsum.contains('r') => 256 / element.bits() * random.pick(&[8, 16]),
        'k' => 256 / element.bits() * random.between(1, 4),
        'm' => random.between(1, 3),
        'n' => 8 * random.between(1, most),
        'q' => 8 * random.between(1, 3),
        'r' => random.pick(&[7, 13, 15]),
        _ => random.between(1, 2),
    };
    let axes = axes_of(einsum, |axis| size(axis, random));
    let layout = random.pick(&["", "w: N % 8, N / 8, K", "w: N / 16, K, N % 16", "w: K, N"]);
    let problem = Problem::new(einsum, &axes, element, output).unwrap_or_else(|error| panic!("{error}"));
    match einsum.contains("nk->mn") && random.chance(40) && !layout.is_empty() {
        true => problem.clone().with_layouts(layout).unwrap_or(problem),
        false => problem,
    }
}

/// Tells if more slices load parts of an operand than share it.
fn is_padded(problem: &Problem, choice: &Choice) -> bool {
    [0, 1].iter().any(|operand| choice.padded_slices(problem, Role::Of(*operand)).is_some())
}

#[test]
fn random_choices_in_pieces_compute_the_contraction() {
    let (legal, seen) = (Cell::new(0), Cell::new([0u64; 3]));
    let count = for_cases(40, |random| {
        let wanted = random.below(3);
        let is_own = |problem: &Problem, choice: &Choice| {
            let kinds = [choice.pieces.is_some(), is_padded(problem, choice)];
            if wanted == 2 { kinds == [true, true] } else { kinds[wanted] }
        };
        let (problem, own) = loop {
            let problem = random_problem(random, 8);
            let mut all = choices(&problem);
            all.retain(|choice| is_own(&problem, choice));
            if !all.is_empty() {
                break (problem, all);
            }
        };
        let legal_one = (0..60).find_map(|_| Plan::of(&problem, random.pick(&own), Profile::default()).ok());
        let Some(plan) = legal_one else { return Ok(()) };
        legal.set(legal.get() + 1);
        let (is_cut, is_padded) = (plan.choice.pieces.is_some(), is_padded(&problem, &plan.choice));
        let kinds = [is_cut, is_padded, is_cut && is_padded].map(u64::from);
        seen.set(core::array::from_fn(|kind| seen.get()[kind] + kinds[kind]));
        compare(random, &plan)
    });
    assert!(2 * legal.get() >= count, "{} of {count} choices are legal", legal.get());
    assert!(seen.get().iter().all(|seen| 8 * seen >= count), "{:?} of {count}", seen.get());
}

#[test]
fn the_best_of_all_choices_with_pieces_is_found() {
    for_cases(5, |random| is_the_best(random, |random| random_problem(random, 4)));
}

/// The sizes of the pieces of a stream that one slice has.
fn sizes(positions: usize) -> Vec<[usize; 2]> {
    let problem = problem("mk,nk->mn", &format!("M=1,N={positions},K=32"), I8);
    let of_one = |choice: &Choice| choice.weights == 0 && choice.splits[2].at(Level::Local) == positions;
    let all = choices(&problem).into_iter().filter(of_one).filter(|choice| !choice.in_columns);
    let mut sizes: Vec<[usize; 2]> =
        all.filter_map(|choice| choice.pieces.map(|Pieces { sizes, .. }| sizes)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The second piece is a half, a quarter, an eighth or a sixteenth, rounded up, and has two positions at least.
#[test]
fn a_second_piece_is_a_sixteenth_at_least() {
    assert_eq!(sizes(128), [[64, 64], [96, 32], [112, 16], [120, 8]]);
    assert_eq!(sizes(40), [[20, 20], [30, 10], [35, 5], [37, 3]]);
    assert_eq!(sizes(16), [[8, 8], [12, 4], [14, 2]]);
    assert_eq!(sizes(8), [[4, 4], [6, 2]]);
}

/// Pieces are of a stream that comes in one tile and meets one block, behind whose products a pass takes all sums.
#[test]
fn pieces_are_of_one_tile_with_one_block() {
    let problem = problem("mk,nk->mn", "M=16,N=64,K=64", I8);
    let mut seen = 0;
    for choice in choices(&problem).iter().filter(|choice| choice.pieces.is_some()) {
        assert_eq!(choice.steps(&problem), 1, "{choice:?}");
        assert!(choice.turns_sums || choice.gather.is_some(), "{choice:?}");
        seen += 1;
    }
    assert!(seen > 0);
}

/// A layout in HBM whose digits do not have the positions of a slice side by side has no pieces of them.
#[test]
fn a_layout_that_cuts_a_slice_has_no_pieces() {
    for (layout, is_whole) in [
        ("w: N, K", true),
        ("w: N % 32, N / 32, K", true),
        ("w: N / 32, K / 32, N % 32, K % 32", true),
        ("w: N % 16, N / 16, K", false),
        ("w: N / 16 % 2, N / 32, N % 16, K", false),
    ] {
        let problem = problem("mk,nk->mn", "M=1,N=64,K=64", I8);
        let problem = problem.with_layouts(layout).unwrap_or_else(|error| panic!("{error}"));
        let of_32 = |choice: &Choice| {
            choice.weights == 0 && choice.pieces.is_some() && choice.splits[2].at(Level::Local) == 32
        };
        let own = choices(&problem).into_iter().filter(of_32);
        let plans = own.filter_map(|choice| Plan::of(&problem, choice, Profile::default()).ok()).count();
        assert_eq!(plans > 0, is_whole, "{layout}: {plans} plans");
    }
}

/// So many slices load parts that the next power of two adds less than a quarter, and no more than there are.
#[test]
fn slices_that_only_load_are_less_than_a_quarter() {
    for (slices, padded) in [
        (3, None),
        (6, None),
        (7, Some(8)),
        (12, None),
        (13, Some(16)),
        (15, Some(16)),
        (51, None),
        (52, Some(64)),
    ] {
        let problem = problem("mk,rk->mr", &format!("M=1,R={slices},K=2048"), I8);
        let own = choices(&problem)
            .into_iter()
            .filter(|choice| choice.splits[2].extents == [1, 1, slices, 1, 1] && is_padded(&problem, choice));
        let counts: Vec<usize> = own.filter_map(|choice| Some(choice.weights_spread?.count)).collect();
        assert_eq!(counts.first().copied(), padded, "{slices} slices");
        assert!(counts.iter().all(|count| Some(*count) == padded), "{slices} slices: {counts:?}");
    }
    // 15 and 16 groups of 16 slices fill a cluster, and 15 groups of 17 would be one slice more.
    let most = |axes: &str| {
        let problem = problem("mk,rk->mr", axes, I8);
        let own = choices(&problem).into_iter().filter(|choice| is_padded(&problem, choice));
        own.map(|choice| choice.used_slices(&problem)).max()
    };
    assert_eq!(most("M=1,R=15,K=16384"), Some(spec::SLICES));
}

/// The second piece comes while the first one is multiplied, the bias behind both, and one store takes the sums of both.
#[test]
fn pieces_have_one_order() {
    let einsum = "mk,qcrk->mcrq";
    let axes = "M=1,C=2,R=15,Q=32,K=512";
    let problem = Problem::with_epilogue(einsum, axes, Bf16, Some(Bf16), "bias:Q");
    let problem = problem.unwrap_or_else(|error| panic!("{error}"));
    let outcome = search(&problem, &Search { weights: Some(0), top: 40, ..Search::default() });
    let plan = outcome.plans.iter().find(|plan| plan.choice.pieces.is_some()).expect("one is in pieces");
    let commands = plan.commands().expect("they were derived");
    let [x, w, y] = plan.schedule.hbm;
    let bias = plan.schedule.bias.expect("there is one").hbm;
    let ends: Vec<u64> = (commands.operations.iter())
        .filter_map(|operation| match operation {
            Operation::Dma(dma) if dma.destination.address == y => Some(y),
            Operation::Dma(dma) => Some(dma.source.address),
            _ => None,
        })
        .collect();
    let second = ends[2];
    assert!(w < second && second < y, "{ends:?}");
    assert_eq!(ends, [x, w, second, bias, y]);
    let source = plan.source();
    let (_, kernel) = source.split_once("fn contraction(").expect("a kernel");
    let at = |call: &str| kernel.find(call).unwrap_or_else(|| panic!("{call}: {kernel}"));
    let calls = [
        "bring_first(",
        "bring_second(",
        "bring_bias(",
        "multiply_first(",
        "multiply_second(",
        "finish(",
        "store(",
    ];
    assert!(calls.is_sorted_by_key(|call| at(call)), "{kernel}");
    assert!(source.contains("comes in two pieces"), "{source}");
    check(&mut Random::new(1), plan).unwrap_or_else(|difference| panic!("{difference}"));
}
