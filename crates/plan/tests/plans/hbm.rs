//! Layouts in HBM that are not those of the letters.

use crate::search::{FEW, brute_force};
use crate::values::compare;
use crate::{choices, random_problem};
use furiosa_visa_plan::choice::{Choice, Split};
use furiosa_visa_plan::{Plan, Problem, Search, search};
use furiosa_visa_rules::scalar::ElementType::I8;
use furiosa_visa_std::clock::Profile;
use reference::cases::for_cases;
use reference::random::Random;
use std::cell::Cell;

fn problem(einsum: &str, sizes: &str, layouts: &str) -> Problem {
    Problem::new(einsum, sizes, I8, None)
        .and_then(|problem| problem.with_layouts(layouts))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A layout of a tensor: its axes in any order, some of them in two digits, some rows padded.
fn random_layout(random: &mut Random, problem: &Problem, tensor: usize) -> String {
    let mut digits = Vec::new();
    for &axis in &problem.tensors[tensor] {
        let (name, size) = (&problem.axes[axis].name, problem.axes[axis].size);
        let inner: Vec<usize> = (2..size).filter(|inner| size.is_multiple_of(*inner)).collect();
        if inner.is_empty() || random.chance(40) {
            digits.push(name.clone());
            continue;
        }
        // Runs of some length are what DMA moves.
        let inner = if random.chance(70) { inner[inner.len() - 1] } else { random.pick(&inner) };
        digits.extend([format!("{name} / {inner}"), format!("{name} % {inner}")]);
    }
    if random.chance(60) {
        // As the letters say, but for one digit.
        let (from, to) = (random.below(digits.len()), random.below(digits.len()));
        let digit = digits.remove(from);
        digits.insert(to, digit);
    } else {
        for place in (1..digits.len()).rev() {
            digits.swap(place, random.below(place + 1));
        }
    }
    if random.chance(30) {
        let last = digits.len() - 1;
        let padded = 64 * random.between(8, 12);
        digits[last] += &format!(" # {padded}");
    }
    digits.join(", ")
}

/// A problem of which some tensors have layouts of their own.
fn random_layouts(random: &mut Random, sizes: &[usize]) -> Problem {
    loop {
        let problem = random_problem(random, sizes);
        let mut texts = Vec::new();
        for (tensor, name) in ["x", "w", "out"].into_iter().enumerate() {
            if random.chance(60) {
                texts.push(format!("{name}: {}", random_layout(random, &problem, tensor)));
            }
        }
        // Padding that is less than a digit is none.
        if !texts.is_empty()
            && let Ok(problem) = problem.with_layouts(&texts.join("; "))
        {
            return problem;
        }
    }
}

#[test]
fn random_choices_read_and_write_their_layouts() {
    let legal = Cell::new(0);
    let count = for_cases(40, |random| {
        let problem = random_layouts(random, &[1, 2, 3, 4, 6, 8, 13, 16, 24]);
        let all = choices(&problem);
        if all.is_empty() {
            return Ok(());
        }
        let plan = (0..200).find_map(|_| Plan::of(&problem, random.pick(&all), Profile::default()).ok());
        let Some(plan) = plan else { return Ok(()) };
        legal.set(legal.get() + 1);
        compare(random, &plan).map_err(|message| format!("{}: {message}", problem.layouts_text()))
    });
    assert!(3 * legal.get() >= count, "{} of {count} are legal", legal.get());
}

#[test]
fn the_best_of_all_choices_is_found() {
    for_cases(10, |random| {
        let mut problem = random_layouts(random, &[1, 2, 3, 4, 8]);
        while std::env::var_os("VISA_CASES").is_none() && choices(&problem).len() > FEW {
            problem = random_layouts(random, &[1, 2, 3, 4, 8]);
        }
        let found: Vec<u64> = search(&problem, &Search { top: 3, ..Search::default() })
            .plans
            .iter()
            .map(|plan| plan.cycles)
            .collect();
        let expected = brute_force(&problem, Profile::default(), 3);
        match found == expected {
            true => Ok(()),
            false => Err(format!(
                "{} with {}, {}: {found:?} were found, but the best are {expected:?}",
                problem.einsum,
                problem.axes_text(),
                problem.layouts_text()
            )),
        }
    });
}

/// A block of weights has digits of the layout as they are, and cuts others. Its number is counted in all of them.
#[test]
fn tiles_cut_the_digits_of_a_layout() {
    let problem =
        problem("mk,nk->mn", "M=16,N=512,K=256", "w: N % 32, N / 32, K # 512; out: N / 8, M, N % 8");
    let choice = Choice::plain(
        1,
        vec![
            Split { padded: 16, extents: [1, 1, 1, 1, 16] },
            Split { padded: 256, extents: [1, 1, 1, 1, 256] },
            Split { padded: 512, extents: [1, 1, 1, 32, 16] },
        ],
    );
    let plan = Plan::of(&problem, choice, Profile::default()).unwrap_or_else(|reason| panic!("{reason}"));
    let tiles: Vec<(String, String, usize, usize)> = (plan.layout.stored[1].tiles.iter())
        .map(|tile| {
            (tile.index.text.clone(), tile.element.text.clone(), tile.counter.inner, tile.counter.count)
        })
        .collect();
    let expected = [
        ("N / 32", "N % 32, 1 # 16, K # 512", 2, 16),
        ("N / 16 % 2", "1 # 2, N % 16, 1 # 16, K # 512", 1, 2),
    ];
    assert_eq!(
        tiles,
        expected.map(|(index, element, inner, count)| (index.into(), element.into(), inner, count))
    );
    // w has rows of 512 bytes, and begins behind x.
    assert_eq!(plan.schedule.hbm, [0, 1 << 20, 2 << 20]);
    assert_eq!(problem.hbm_bytes(1), 512 * 512);
    compare(&mut Random::new(1), &plan).unwrap_or_else(|difference| panic!("{difference}"));
}

/// Columns of weights that are innermost are turned, as far as they are neighbours, or stay columns of products.
#[test]
fn the_innermost_digit_decides_what_is_turned() {
    let turned = |layout: &str| {
        let problem = problem("mk,nk->mn", "M=16,N=64,K=64", layout);
        let outcome = search(&problem, &Search::default());
        outcome
            .plans
            .first()
            .map(|plan| [0, 1].map(|operand| plan.choice.turned(&problem, operand).is_some()))
    };
    assert_eq!(turned("w: N / 16, K, N % 16"), Some([false, true]));
    assert_eq!(turned("w: K / 32, N, K % 32"), Some([false, false]));
    assert_eq!(turned("x: K, M; w: K, N"), Some([true, false]));
    // DMA moves no runs of 4 bytes.
    let problem = problem("mk,nk->mn", "M=16,N=64,K=64", "w: K / 4, N, K % 4");
    let outcome = search(&problem, &Search::default());
    assert!(outcome.plans.is_empty() && outcome.space.refused.contains_key("DMA run"), "{:?}", outcome.space);
}

/// A tile of one row needs no steps between rows, but DMA does not start at every byte.
#[test]
fn tiles_that_dma_does_not_start_at_are_refused() {
    let of = |layout: &str| {
        let problem = problem("mk,nk->mn", "M=2,N=8,K=64", layout);
        let split = |padded, extents| Split { padded, extents };
        let choice = Choice::plain(
            1,
            vec![split(2, [2, 1, 1, 1, 1]), split(64, [1, 1, 1, 1, 64]), split(8, [1, 1, 1, 1, 8])],
        );
        Plan::of(&problem, choice, Profile::default()).map(|_| ())
    };
    assert_eq!(of("x: M, K # 72"), Ok(()));
    assert_eq!(
        of("x: M, K # 68"),
        Err("DMA: tiles of `m![M, K # 68]` along `m![M]` are 68 bytes apart, but a transfer from HBM to DM starts at multiples \
             of 8; help: pad the innermost axis of the tensor in HBM"
            .to_string())
    );
}

#[test]
fn what_is_no_layout_is_refused_with_the_edit() {
    let refused = |text: &str, message: &str| {
        let problem = Problem::new("mk,nk->mn", "M=16,N=64,K=64", I8, None).expect("it is a contraction");
        let error = problem.with_layouts(text).expect_err("it is wrong");
        assert_eq!(error.to_string(), message);
    };
    refused("N, K", "in: `N, K` is no layout; write a tensor and its mapping, for example `w: N, K`");
    refused("y: M, N", "in: no tensor is called `y`; the operands are `x` and `w`, the result is `out`");
    refused("w: K, N; w: N, K", "in: `w` has two layouts; give it one");
    refused("w: N, Q", "in: w: no axis is called `Q`; the axes are `M`, `K`, `N`\n\n  N, Q\n     ^");
    let all = |text: &str, reason: &str| {
        let edit = "write all digits of its axes once, for example `w: N, K`";
        refused(text, &format!("in: `{text}` {reason}; {edit}"));
    };
    all("w: [N, K] # 5000", "has a part that is no digit of one axis");
    all("w: N, K, M", "has `M`, which is no axis of `nk`");
    for text in ["w: N", "w: N, K % 32", "w: N, K / 2", "w: N / 32, K, N % 16", "w: N / 8, K, N % 16"] {
        let axis = if text.contains("N /") { "N" } else { "K" };
        all(text, &format!("does not have each position of `{axis}` once"));
    }
    all("w: N = 32, K", "has a part that is no digit of one axis");
}
