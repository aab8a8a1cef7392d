//! The search finds what all choices, each on the clock and without a bound, say is the best.

use crate::{choices, random_problem};
use core::sync::atomic::{AtomicU64, Ordering};
use furiosa_visa_plan::bound::{Rates, of_moves};
use furiosa_visa_plan::choice::{Choice, Level, Split};
use furiosa_visa_plan::problem::Role;
use furiosa_visa_plan::space::{Look, for_each_of};
use furiosa_visa_plan::{Plan, Problem, Progress, Search, Watch, search};
use furiosa_visa_rules::command::Operation;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_std::clock::command_time::CommandClock;
use furiosa_visa_std::clock::{Model, Profile};
use reference::cases::for_cases;
use reference::random::Random;
use std::collections::BTreeSet;

/// The most choices of a problem that is compared, unless a number of cases is asked for.
pub const FEW: usize = 1500;

/// Cycles of the best choices, by running the clock for every one.
pub fn brute_force(problem: &Problem, profile: Profile, top: usize) -> Vec<u64> {
    let all = choices(problem);
    let mut cycles: Vec<u64> = (all.into_iter())
        .filter_map(|choice| Plan::of(problem, choice, profile).ok())
        .map(|plan| plan.cycles)
        .collect();
    cycles.sort_unstable();
    cycles.truncate(top);
    cycles
}

/// Compares the search with all choices of a problem of a random form.
pub fn is_the_best(random: &mut Random, made: impl Fn(&mut Random) -> Problem) -> Result<(), String> {
    let mut problem = made(random);
    while std::env::var_os("VISA_CASES").is_none() && choices(&problem).len() > FEW {
        problem = made(random);
    }
    let profile = random.pick(&[Profile::Book, Profile::Detailed]);
    let outcome = search(&problem, &Search { top: 3, profile, ..Search::default() });
    let found: Vec<u64> = outcome.plans.iter().map(|plan| plan.cycles).collect();
    let expected = brute_force(&problem, profile, 3);
    let told = format!("{} with {}, {profile}", problem.einsum, problem.axes_text());
    if found != expected {
        return Err(format!("{told}: {found:?} were found, but the best are {expected:?}"));
    }
    if outcome.gap() != 0.0 || !outcome.is_whole {
        return Err(format!("{told}: nothing is proven"));
    }
    Ok(())
}

#[test]
fn the_best_of_all_choices_is_found() {
    for_cases(20, |random| is_the_best(random, |random| random_problem(random, &[1, 2, 3, 4, 8])));
}

/// The same plans, in the same order, each time.
#[test]
fn two_searches_find_the_same() {
    let problem =
        Problem::new("mk,nk->mn", "M=24,N=16,K=128", ElementType::I8, None).expect("it is a contraction");
    let options = Search { top: 5, ..Search::default() };
    let told = || -> Vec<_> {
        let plans = search(&problem, &options).plans;
        plans.into_iter().map(|plan| (plan.cycles, plan.choice.clone(), plan.source())).collect()
    };
    let first = told();
    assert_eq!(first.len(), 5);
    assert!(first.is_sorted_by_key(|(cycles, ..)| *cycles));
    assert_eq!(first, told());
}

/// Any number of threads finds the same plans, and counts the same choices.
#[test]
fn threads_make_no_difference() {
    for_cases(5, |random| {
        let problem = random_problem(random, &[1, 2, 3, 4, 8]);
        let told = |threads| {
            let outcome = search(&problem, &Search { top: 4, threads, ..Search::default() });
            let plans: Vec<_> =
                outcome.plans.iter().map(|plan| (plan.cycles, plan.choice.clone(), plan.source())).collect();
            (plans, outcome.bound, outcome.space)
        };
        let one = told(1);
        for threads in [2, 3, 8] {
            if told(threads) != one {
                return Err(format!("{} with {}, {threads} threads", problem.einsum, problem.axes_text()));
            }
        }
        Ok(())
    });
}

/// A watch sees choices, then plans, and ends the search with a bound that holds.
#[test]
fn a_watch_ends_a_search() {
    let problem =
        Problem::new("mk,nk->mn", "M=128,N=256,K=512", ElementType::I8, None).expect("it is a contraction");
    let best = search(&problem, &Search::default()).plans[0].cycles;
    let most = AtomicU64::new(0);
    for threads in [1, 2] {
        let is_first = |progress: &Progress| {
            most.fetch_max(progress.choices, Ordering::Relaxed);
            progress.best.is_none()
        };
        let outcome =
            search(&problem, &Search { threads, watch: Some(Watch(&is_first)), ..Search::default() });
        assert!(outcome.is_stopped && !outcome.is_whole && outcome.plans.len() == 1);
        assert!(outcome.bound <= best && best <= outcome.plans[0].cycles);
        assert!(outcome.gap() > 0.0, "nothing is proven: {}", outcome.bound);
        assert!(most.load(Ordering::Relaxed) > 4096);
        // Nothing has been looked at.
        let never = |_: &Progress| false;
        let outcome = search(&problem, &Search { threads, watch: Some(Watch(&never)), ..Search::default() });
        assert!(outcome.is_stopped && outcome.plans.is_empty());
        assert!(outcome.bound <= best && outcome.bound >= outcome.of_problem.cycles());
    }
}

/// Without time, the first plans are the answer, with a bound that holds.
#[test]
fn a_search_without_time_has_a_bound() {
    let problem =
        Problem::new("mk,nk->mn", "M=128,N=256,K=512", ElementType::I8, None).expect("it is a contraction");
    let best = search(&problem, &Search::default()).plans[0].cycles;
    let outcome = search(&problem, &Search { limit: Some(core::time::Duration::ZERO), ..Search::default() });
    assert!(!outcome.is_stopped && outcome.plans.len() == 1);
    assert!(outcome.bound <= best && best <= outcome.plans[0].cycles);
    assert!(outcome.gap() > 0.0);
}

/// What nobody computes with the rules has no plan, and the rules are named.
#[test]
fn an_empty_space_names_its_rules() {
    let problem =
        Problem::new("mkb,nkb->bmn", "M=8,N=8,K=64,B=8", ElementType::I8, None).expect("it is a contraction");
    let outcome = search(&problem, &Search::default());
    assert!(outcome.plans.is_empty());
    let refused: u64 = outcome.space.refused.values().map(|(count, _)| count).sum();
    assert!(refused > 0 && refused <= outcome.space.fitting, "{:?}", outcome.space);
    let message = &outcome.space.refused.values().next().expect("a rule").1;
    assert!(!message.is_empty());
}

/// Axes that fill no rows are padded to them, however much that is.
#[test]
fn axes_of_any_size_have_a_plan() {
    for sizes in ["M=12,N=12,K=64", "M=1,N=1,K=32", "M=9,N=11,K=32"] {
        let problem = Problem::new("mk,nk->mn", sizes, ElementType::I8, None).expect("it is a contraction");
        assert!(!search(&problem, &Search::default()).plans.is_empty(), "{sizes}");
    }
}

/// With one buffer for tiles, the kernel as text has the moves of the kernel as commands, in their order.
#[test]
fn one_buffer_for_tiles_has_one_order() {
    let problem =
        Problem::new("mk,nk->mn", "M=2048,N=64,K=512", ElementType::Bf16, None).expect("it is a contraction");
    let choice = Choice::plain(
        1,
        vec![
            Split { padded: 2048, extents: [4, 1, 1, 1, 512] },
            Split { padded: 512, extents: [1, 1, 1, 1, 512] },
            Split { padded: 64, extents: [1, 1, 1, 4, 16] },
        ],
    );
    let plan = Plan::of(&problem, choice, Profile::default());
    assert!(plan.is_err(), "a tile of 512 KiB leaves no room for weights");
    let choice = Choice::plain(
        1,
        vec![
            Split { padded: 2048, extents: [8, 1, 1, 1, 256] },
            Split { padded: 512, extents: [1, 1, 1, 1, 512] },
            Split { padded: 64, extents: [1, 1, 1, 4, 16] },
        ],
    );
    let plan = Plan::of(&problem, choice, Profile::default()).expect("it fits");
    assert_eq!((plan.schedule.tiles, plan.schedule.blocks, plan.schedule.buffers[0]), (8, 4, 1));
    let moves: Vec<u64> = (plan.commands().expect("they were derived").operations.iter())
        .filter_map(|operation| match operation {
            Operation::Dma(dma) => Some(dma.source.address),
            _ => None,
        })
        .take(3)
        .collect();
    // Block 0, tile 0, block 1.
    let [x, w, _] = plan.schedule.hbm;
    assert_eq!(moves, [w, x, w + 16 * 512 * 2]);
    let source = plan.source();
    let (_, kernel) = source.split_once("fn contraction(").expect("a kernel");
    let at = |call: &str| kernel.find(call).unwrap_or_else(|| panic!("{call}: {kernel}"));
    assert!(at("bring_block(ctx, w, 0)") < at("bring_stream(ctx, x, 0)"));
    assert!(at("bring_stream(ctx, x, 0)") < at("bring_block(ctx, w, 1)"));
}

/// The operand in the register file can be named.
#[test]
fn a_role_is_kept() {
    let problem =
        Problem::new("mk,nk->mn", "M=8,N=16,K=64", ElementType::I8, None).expect("it is a contraction");
    for weights in [0, 1] {
        let outcome = search(&problem, &Search { weights: Some(weights), ..Search::default() });
        assert_eq!(outcome.plans[0].choice.weights, weights);
    }
}

/// The bound of moves has what HBM waits for, and ends where a choice is too slow. Weights in parts of units keep HBM waiting.
#[test]
fn moves_bound_a_plan_more_closely() {
    let problem =
        Problem::new("mk,nk->mn", "M=1,N=768,K=480", ElementType::Bf16, None).expect("it is a contraction");
    let (profile, mut closer) = (Profile::Detailed, 0);
    let (rates, times) = (Rates::new(profile), CommandClock::new(Model::new(profile)));
    let plans = search(&problem, &Search { top: 8, profile, ..Search::default() }).plans;
    for plan in &plans {
        let operations = plan.commands().expect("it has been derived").operations;
        let of_moves = |limit| of_moves(&plan.work, &operations, &rates, &mut times.clone(), limit);
        let (least, bound) = (plan.work.cycles(), of_moves(u64::MAX));
        assert!(least <= bound && bound <= plan.cycles, "{least} {bound} {}", plan.cycles);
        assert_eq!(of_moves(0), least, "no move is timed");
        assert_eq!(of_moves(bound + 1), bound);
        assert!((least + 1..=bound).all(|limit| (limit..=bound).contains(&of_moves(limit))));
        closer += u64::from(bound > least);
    }
    assert!(closer > 0, "HBM waits in none of {} plans", plans.len());
}

/// Parts of a sum are as few as a register file, or a half of it, has room for; or as few as are whole units of HBM then. 1920
/// elements with 32 weights are 120 KiB: two parts of 960 elements fit the file, but each is 7.5 units of 256 bytes; three are
/// 5 units each. Four fit a half, and five are 3 units each.
#[test]
fn parts_of_sums_are_few_or_whole_units() {
    let problem =
        Problem::new("mk,nk->mn", "M=8,N=4096,K=3840", ElementType::Bf16, None).expect("it is a contraction");
    let mut parts = BTreeSet::new();
    let mut look = |choice: &Choice| {
        let at = |role: Role, level: Level| choice.extent(&problem, role, level);
        if at(Role::Summed, Level::Slice) == 2 && at(Role::Of(1), Level::Local) == 32 {
            parts.insert(choice.parts(&problem));
        }
        Look::Past
    };
    for_each_of(&problem, (Some(1), None), &mut look, &mut |_| ());
    assert_eq!(parts, BTreeSet::from([2, 3, 4, 5]));
}
