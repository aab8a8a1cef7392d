//! Plans against the chip, and the search against all choices.
//!
//! * `VISA_CASES=N` runs N cases of every random test.
//! * `VISA_SEED=S` starts at seed S. A failure prints the seed that repeats it.

mod chain;
mod chips;
mod columns;
mod digits;
mod epilogue;
mod fixed;
mod hbm;
mod join;
mod parts;
mod pieces;
mod problems;
mod route;
mod search;
mod turn;
mod values;
mod windows;

use furiosa_visa_plan::bound::{Rates, of_moves};
use furiosa_visa_plan::choice::Choice;
use furiosa_visa_plan::space::for_each;
use furiosa_visa_plan::{Plan, Problem};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_std::clock::command_time::CommandClock;
use furiosa_visa_std::clock::{Model, Profile};
use reference::random::Random;

/// All choices of a problem.
fn choices(problem: &Problem) -> Vec<Choice> {
    let mut all = Vec::new();
    for_each(problem, None, &mut |choice| all.push(choice.clone()));
    all
}

/// The greatest of all bounds of a plan, each of which goes without the clock of its kernel.
fn bound_of(plan: &Plan) -> u64 {
    let profile = Profile::default();
    let operations = plan.commands().expect("the plan has been derived").operations;
    let times = &mut CommandClock::new(Model::new(profile));
    let by_moves = of_moves(&plan.work, &operations, &Rates::new(profile), times, u64::MAX);
    assert!(by_moves >= plan.work.cycles());
    by_moves.max(plan.problem.bounds(profile).cycles())
}

/// The axes of an einsum, `M=16,N=8`, each once.
fn axes_of(einsum: &str, mut size: impl FnMut(char) -> usize) -> String {
    let mut letters: Vec<char> = einsum.chars().filter(char::is_ascii_lowercase).collect();
    letters.sort_unstable();
    letters.dedup();
    let axes = letters.into_iter().map(|axis| format!("{}={}", axis.to_ascii_uppercase(), size(axis)));
    axes.collect::<Vec<_>>().join(",")
}

/// A problem of a random form. `sizes`: the extents that an axis may have; those of the summed axis are elements of whole
/// flits, and those of another axis that is innermost in HBM are elements of whole accesses, but for some.
fn random_problem(random: &mut Random, sizes: &[usize]) -> Problem {
    let forms = [
        ("mk,nk->mn", "mn"),
        ("mk,nk->nm", "mn"),
        ("bmk,bnk->bmn", "bmn"),
        ("mgk,nk->mgn", "mgn"),
        ("bmhk,bnhk->bhmn", "bmhn"),
        ("mgk,hngk->mhn", "mhn"),
    ];
    let turned = [
        ("mk,kn->mn", "mn"),
        ("km,nk->mn", "mn"),
        ("km,kn->mn", "mn"),
        ("km,kn->nm", "mn"),
        ("bkm,bkn->bmn", "bmn"),
        ("mgk,kgn->mn", "mn"),
        ("mgk,nkg->mn", "mn"),
        ("kmg,nk->mgn", "mgn"),
    ];
    let element = random.pick(&[ElementType::I8, ElementType::Bf16, ElementType::I4, ElementType::F8e4m3]);
    let output = (element == ElementType::Bf16 && random.chance(50)).then_some(ElementType::Bf16);
    let flit = 256 / element.bits();
    let several = random.below(4);
    if several < 2 {
        // A summed axis that exceeds the register file, or rows that several slices have to make a unit of HBM.
        let (flits, n) = match several {
            0 => (random.pick(&[384, 512, 640, 1024]), random.pick(&[8, 16])),
            _ => (random.between(1, 2), random.pick(&[64, 128])),
        };
        let einsum = random.pick(&["mk,nk->mn", "mk,kn->mn"]);
        let axes = format!("M={},N={n},K={}", random.pick(&[1, 2, 4, 6, 8]), flits * flit);
        return Problem::new(einsum, &axes, element, output).unwrap_or_else(|error| panic!("{error}"));
    }
    let (einsum, free) = if random.chance(50) { random.pick(&forms) } else { random.pick(&turned) };
    let access = 64 / element.bits();
    let is_inside = |axis: char| einsum.split([',', '-']).take(2).any(|operand| operand.ends_with(axis));
    let size = |axis: char, random: &mut Random| match is_inside(axis) && random.chance(90) {
        true => access * random.between(1, 3),
        false => random.pick(sizes),
    };
    let mut axes: Vec<String> =
        free.chars().map(|axis| format!("{}={}", axis.to_ascii_uppercase(), size(axis, random))).collect();
    axes.push(format!("K={}", flit * random.between(1, 4)));
    if einsum.contains('g') && !free.contains('g') {
        let several = if is_inside('g') { access } else { random.between(1, 3) };
        axes.push(format!("G={several}"));
    }
    Problem::new(einsum, &axes.join(","), element, output).unwrap_or_else(|error| panic!("{error}"))
}
