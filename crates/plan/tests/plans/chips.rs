//! Problems over several chips.

use crate::values::compare;
use crate::{choices, random_problem};
use furiosa_visa_plan::{Fixed, Plan, Problem, Search, search, search_over_chips};
use furiosa_visa_rules::scalar::ElementType::{Bf16, I8};
use furiosa_visa_std::clock::Profile;
use reference::cases::for_cases;
use std::cell::Cell;

/// Chips compute their parts, all of them at once: values are those of the host, and the clock counts what it predicted.
#[test]
fn random_choices_compute_on_several_chips() {
    let legal = Cell::new(0);
    let count = for_cases(25, |random| {
        let problem = random_problem(random, &[1, 2, 3, 4, 6, 8, 13, 16, 24]);
        let chips = random.pick(&[2, 3, 4, 6, 8]);
        let Ok(parts) = problem.over_chips(chips) else { return Ok(()) };
        let part = random.pick(&parts);
        let all = choices(&part);
        if all.is_empty() {
            return Ok(());
        }
        let plan = (0..100).find_map(|_| Plan::of(&part, random.pick(&all), Profile::default()).ok());
        let Some(plan) = plan else { return Ok(()) };
        legal.set(legal.get() + 1);
        compare(random, &plan).map_err(|message| format!("{}: {message}", plan.layout.chip))
    });
    assert!(4 * legal.get() >= count, "{} of {count} are legal", legal.get());
}

/// A part of a chip takes as long as the same problem alone on one.
#[test]
fn a_part_is_a_problem_of_its_own() {
    let of = |sizes: &str| Problem::new("mk,nk->mn", sizes, I8, None).expect("it is a contraction");
    let whole = of("M=32,N=64,K=128");
    let parts = whole.over_chips(4).expect("4 divides both");
    let texts: Vec<(Vec<usize>, String)> = parts
        .iter()
        .map(|part| (part.axes.iter().map(|axis| axis.size).collect(), part.axes_text()))
        .collect();
    let all = "M = 32, K = 128, N = 64".to_string();
    // Axes are M, K and N.
    let sizes = [[32, 128, 16], [16, 128, 32], [8, 128, 64]];
    assert_eq!(texts, sizes.map(|sizes| (sizes.to_vec(), all.clone())));
    let options = Search::default();
    let alone = ["M=32,N=16,K=128", "M=16,N=32,K=128", "M=8,N=64,K=128"]
        .map(|sizes| search(&of(sizes), &options).plans[0].cycles);
    let found = parts.iter().map(|part| search(part, &options).plans[0].cycles).collect::<Vec<_>>();
    assert_eq!(found, alone);
    let outcome = search_over_chips(&whole, 4, &options).expect("4 divides both");
    assert_eq!(Some(&outcome.plans[0].cycles), alone.iter().min());
    assert!(outcome.gap() == 0.0 && outcome.is_whole);
    let bounds = parts.iter().map(|part| part.bounds(Profile::default()).cycles());
    assert_eq!(Some(outcome.of_problem.cycles()), bounds.min());
    assert_eq!(parts[1].whole(), whole);
    // One chip is the problem itself.
    assert_eq!(whole.over_chips(1), Ok(vec![whole.clone()]));
}

/// A bias has a part in each chip if chips share its axis, and a copy otherwise.
#[test]
fn a_bias_is_in_each_chip() {
    let problem = Problem::with_epilogue("mk,nk->mn", "M=16,N=32,K=64", Bf16, Some(Bf16), "bias,relu");
    let parts = problem.and_then(|problem| problem.over_chips(2)).expect("2 divides both");
    let stored = |part: &Problem| {
        let plan = search(part, &Search::default()).plans.remove(0);
        let bias = plan.layout.bias.as_ref().map(|bias| bias.stored.to_string());
        let host = plan.source();
        let host = &host[host.find("let db: ").expect("a bias")..];
        (plan.layout.chip.to_string(), bias, host.lines().next().expect("a line").contains("m![ChipN, N]"))
    };
    let expected = |chip: &str, bias: &str| (chip.to_string(), Some(bias.to_string()), chip == "m![ChipN]");
    assert_eq!(stored(&parts[0]), expected("m![ChipN]", "m![N]"));
    assert_eq!(stored(&parts[1]), expected("m![ChipM]", "m![N]"));
}

#[test]
fn chips_divide_axes_of_the_result() {
    let problem = Problem::new("mk,nk->mn", "M=1,N=12,K=64", I8, None).expect("it is a contraction");
    let refused = |chips: usize, message: &str| {
        assert_eq!(problem.over_chips(chips).expect_err("it is wrong").to_string(), message);
    };
    for chips in [1, 2, 3, 4, 6] {
        assert!(problem.over_chips(chips).is_ok_and(|parts| !parts.is_empty()), "{chips}");
    }
    for chips in [5, 7, 8] {
        refused(
            chips,
            &format!(
                "chips: {chips} chips do not divide the axes of the result, M = 1, N = 12, and sums over chips are not planned; \
                 pad an axis, or take a number of 1, 2, 3, 4, 6"
            ),
        );
    }
    let own = problem.clone().with_layouts("w: K, N").expect("it is a layout");
    assert!(own.over_chips(1).is_ok());
    assert_eq!(
        own.over_chips(2).expect_err("it is wrong").to_string(),
        "chips: the layouts `w: K, N` are those of one chip; leave them out, or take 1 chip"
    );
    let fixed = Fixed::new(&problem, Some("K / 32"), None, None).expect("there are such choices");
    let options = Search { fixed: Some(&fixed), ..Search::default() };
    assert!(search_over_chips(&problem, 1, &options).is_ok());
    assert_eq!(
        search_over_chips(&problem, 2, &options).expect_err("it is wrong").to_string(),
        "chips: m![K / 32] in Slice is fixed on one chip; leave it out, or take 1 chip"
    );
    for chips in [0, 9] {
        refused(chips, &format!("chips: {chips} chips are no system; take 1 to 8"));
    }
}

#[test]
fn windows_lie_as_their_letters_say_on_one_chip() {
    let sizes = "N=4,H=6,W=6,Y=3,X=3,C=32,F=16";
    let problem =
        Problem::with_windows("nhwc,fyxc->nhwf", "H+Y, W+X", sizes, I8, None, "").expect("it has windows");
    let refused = |error: furiosa_visa_plan::ProblemError| error.to_string();
    assert_eq!(
        problem.over_chips(2).map_err(refused),
        Err("chips: the windows H+Y, W+X are planned on one chip; leave out `chips`, and give each chip a batch of its own"
            .to_string())
    );
    assert_eq!(problem.over_chips(1), Ok(vec![problem.clone()]));
    assert_eq!(
        problem.with_layouts("w: F, Y, X, C").map_err(refused),
        Err("in: with the windows H+Y, W+X each tensor lies as its letters say; leave out `in`".to_string())
    );
}
