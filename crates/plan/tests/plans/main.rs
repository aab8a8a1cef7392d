//! Plans against the chip, and the search against all choices.
//!
//! * `VISA_CASES=N` runs N cases of every random test.
//! * `VISA_SEED=S` starts at seed S. A failure prints the seed that repeats it.

mod chain;
mod problems;
mod route;
mod search;
mod values;

use furiosa_visa_plan::Problem;
use furiosa_visa_plan::choice::Choice;
use furiosa_visa_plan::space::for_each;
use furiosa_visa_rules::scalar::ElementType;
use reference::random::Random;

/// All choices of a problem.
fn choices(problem: &Problem) -> Vec<Choice> {
    let mut all = Vec::new();
    for_each(problem, None, &mut |choice| all.push(choice.clone()));
    all
}

/// A problem of a random form. `sizes`: the extents that an axis may have; those of the summed axis are elements of whole
/// flits.
fn random_problem(random: &mut Random, sizes: &[usize]) -> Problem {
    let forms = [
        ("mk,nk->mn", "mn"),
        ("mk,nk->nm", "mn"),
        ("bmk,bnk->bmn", "bmn"),
        ("mgk,nk->mgn", "mgn"),
        ("bmhk,bnhk->bhmn", "bmhn"),
        ("mgk,hngk->mhn", "mhn"),
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
        let axes = format!("M={},N={n},K={}", random.pick(&[1, 2, 4, 6, 8]), flits * flit);
        return Problem::new("mk,nk->mn", &axes, element, output).unwrap_or_else(|error| panic!("{error}"));
    }
    let (einsum, free) = random.pick(&forms);
    let mut axes: Vec<String> =
        free.chars().map(|axis| format!("{}={}", axis.to_ascii_uppercase(), random.pick(sizes))).collect();
    axes.push(format!("K={}", flit * random.between(1, 4)));
    if einsum.contains('g') && !free.contains('g') {
        axes.push(format!("G={}", random.between(1, 3)));
    }
    Problem::new(einsum, &axes.join(","), element, output).unwrap_or_else(|error| panic!("{error}"))
}
