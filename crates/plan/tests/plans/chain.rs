//! Chains: the chip computes what the host does contraction by contraction, in the cycles that were predicted; and a join is
//! no slower than the contractions one after another.

use crate::values::expected;
use core::panic::Location;
use furiosa_visa_plan::chain::boundary::{Passages, arriving, leaving};
use furiosa_visa_plan::chain::kernel::Part;
use furiosa_visa_plan::chain::{Chain, ChainKernel, ChainOutcome, plan_chain};
use furiosa_visa_plan::route::Place;
use furiosa_visa_plan::{Search, search};
use furiosa_visa_rules::command::{Command, HostBuffer};
use furiosa_visa_rules::lower::{download, upload};
use furiosa_visa_rules::scalar::{ElementType, bf16};
use furiosa_visa_std::chip::{SimOptions, System};
use furiosa_visa_std::clock::{KernelCall, Profile};
use reference::cases::for_cases;
use reference::random::Random;
use std::cell::Cell;

/// Random plans of a chain until they fit together.
const TRIES: usize = 12;

fn chain(text: &str, axes: &str) -> Chain {
    Chain::new(text, axes, ElementType::Bf16, Some(ElementType::Bf16))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A chain of a random form.
fn random_chain(random: &mut Random) -> Chain {
    let forms = [
        ("mk,fk->mf; mf,nf->mn", "MN", "KF"),
        ("mk,fk->mf; nf,mf->nm", "MN", "KF"),
        ("fk,mk->mf; mf,nf->mn", "MN", "KF"),
        ("mk,kf->mf; mf,fn->mn", "MN", "KF"),
        ("hqd,hkd->hqk; hqk,hdk->hqd", "HQ", "KD"),
        ("bmk,bfk->bmf; bmf,nf->bmn", "BMN", "KF"),
        ("mk,fk->mf; mf,nf->mn; mn,pn->mp", "MP", "KFN"),
    ];
    // The second sum of some goes over two axes.
    let (text, free, summed) = random.pick(&forms);
    let mut axes: Vec<String> =
        free.chars().map(|axis| format!("{axis}={}", random.pick(&[1, 2, 3, 4, 8, 16]))).collect();
    axes.extend(summed.chars().map(|axis| format!("{axis}={}", random.pick(&[16, 32, 48, 64, 128]))));
    let output = random.pick(&[Some(ElementType::Bf16), Some(ElementType::F32), None]);
    Chain::new(text, &axes.join(","), ElementType::Bf16, output).unwrap_or_else(|error| panic!("{error}"))
}

/// A kernel of random plans, or one of those that the join has found.
pub fn some_kernel(random: &mut Random, chain: &Chain) -> Option<ChainKernel> {
    if random.chance(60) {
        return random_kernel(random, chain);
    }
    let mut kernels = plan_chain(chain, &Search { top: 20, ..Search::default() }).kernels;
    let number = random.below(kernels.len().max(1));
    (number < kernels.len()).then(|| kernels.swap_remove(number))
}

/// A kernel of random plans, of which results stay in DM where they can.
fn random_kernel(random: &mut Random, chain: &Chain) -> Option<ChainKernel> {
    let profile = Profile::default();
    let options = Search { top: 60, ..Search::default() };
    let searches: Vec<_> = chain.problems.iter().map(|problem| search(problem, &options).plans).collect();
    if searches.iter().any(Vec::is_empty) {
        return None;
    }
    let mut passages = Passages::new(chain, profile);
    (0..TRIES).find_map(|_| {
        let mut parts: Vec<Part> = Vec::new();
        for (number, plans) in searches.iter().enumerate() {
            // Steps that write tiles of a result are few.
            let mut plan = random.pick(plans);
            for _ in 0..4 {
                if plan.layout.stored[2].tiles.is_empty() && plan.layout.finish.is_none() {
                    plan = random.pick(plans);
                }
            }
            let has_function = chain.has_function(number);
            // With something between, either side may be in HBM.
            let mut chosen = |place: Option<Place>| place.filter(|_| !has_function || random.chance(70));
            let to = chosen(chain.arriving(number).and_then(|operand| arriving(&plan, operand)));
            let before = parts.last_mut().filter(|_| number > 0 && chain.may_stay(number - 1));
            let leaves = before.as_ref().and_then(|part| leaving(&part.plan));
            let from = chosen(leaves.as_ref().map(|leaving| leaving.place));
            let (from, to) = match has_function {
                true => (from.or(passages.hbm(number)), to.or(passages.hbm(number))),
                false => (from, to),
            };
            let passage = match (&from, &to) {
                (Some(from), Some(to)) => passages.between(number, from, to),
                _ => None,
            };
            if has_function && passage.is_none() {
                return None;
            }
            if let Some(before) = before {
                let is_kept = passage.as_ref().is_some_and(|passage| passage.starts_in_dm());
                before.leaving = leaves.filter(|_| is_kept);
            }
            let alone = plan.cycles;
            parts.push(Part { plan, leaving: None, passage, alone });
        }
        let last = chain.problems.len();
        if !chain.has_end() {
            return ChainKernel::of(chain, parts, None, profile).ok();
        }
        let own = parts.last_mut()?;
        let leaves = leaving(&own.plan).filter(|_| random.chance(70));
        let hbm = passages.hbm(last)?;
        let end = passages.between(last, &leaves.as_ref().map_or(hbm, |leaving| leaving.place), &hbm)?;
        own.leaving = leaves;
        ChainKernel::of(chain, parts, Some(end), profile).ok()
    })
}

/// Numbers of an operand. Those of the first contraction make sums that are rounded.
fn numbers(random: &mut Random, most: usize, count: usize) -> Vec<i32> {
    (0..count).map(|_| random.below(2 * most + 1) as i32 - most as i32).collect()
}

fn bytes_of(values: &[i32], element: ElementType) -> Vec<u8> {
    match element {
        ElementType::F32 => values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|value| bf16::from_f32(*value as f32).to_bits().to_le_bytes()).collect(),
    }
}

/// The operands of a chain that are in HBM, and the bytes of its result as the host computes it.
fn of_host(random: &mut Random, chain: &Chain) -> (Vec<Vec<u8>>, Vec<u8>, bool) {
    let (mut operands, mut results) = (Vec::new(), Vec::<Vec<i32>>::new());
    let mut is_rounded = false;
    for (number, (problem, sources)) in chain.problems.iter().zip(&chain.sources).enumerate() {
        let mut own = |operand: usize| match sources[operand] {
            Some(source) => results[source].clone(),
            None => {
                let values = numbers(random, if number == 0 { 8 } else { 2 }, problem.elements(operand));
                operands.push(bytes_of(&values, problem.element));
                values
            }
        };
        let [first, second] = [own(0), own(1)];
        let sums = expected(problem, [&first, &second]);
        let rounded = |sum: &i32| bf16::from_f32(*sum as f32).to_f32() as i32;
        let is_last = number + 1 == chain.problems.len();
        let kept: Vec<i32> = if is_last { sums } else { sums.iter().map(rounded).collect() };
        is_rounded |= !is_last && expected(problem, [&first, &second]) != kept;
        results.push(kept);
    }
    let output = chain.problems.last().expect("it has contractions").output;
    (operands, bytes_of(results.last().expect("it has results"), output), is_rounded)
}

/// Runs a kernel on the chip, with operands, then biases, then the other tensors of sums and products: the bytes of the result, and its cycles.
pub fn run(kernel: &ChainKernel, operands: Vec<Vec<u8>>) -> (Vec<u8>, u64) {
    let (mut system, location) = (System::new(SimOptions::default()), Location::caller());
    let commands = kernel.commands().unwrap_or_else(|error| panic!("{error}"));
    let tensors: Vec<_> = commands.operands.iter().chain(&commands.biases).chain(&commands.others).collect();
    assert_eq!(tensors.len(), operands.len());
    for (tensor, bytes) in tensors.into_iter().zip(operands) {
        let transfer = upload(tensor.shape.element, tensor).expect("it is the same mapping");
        system.upload(&transfer, &HostBuffer { bytes, initialised: None }, location).expect("it fits");
    }
    system.enter_kernel(KernelCall { number: 1, name: "chain" });
    for operation in commands.operations {
        system.execute(&Command { operation, location }).unwrap_or_else(|fault| panic!("{fault}"));
    }
    system.enter_kernel(KernelCall::default());
    let result = &commands.result;
    let found = system.download(&download(result.shape.element, result).expect("it is the same"), location);
    let found = found.unwrap_or_else(|fault| panic!("{fault}"));
    assert!(found.initialised.is_none_or(|written| written.iter().all(|byte| *byte)), "all is written");
    (found.bytes, system.report().kernels[0].makespan())
}

/// How results go from one contraction to the next.
pub fn told(kernel: &ChainKernel) -> String {
    let plans: Vec<_> = kernel.placed.iter().map(|plan| &plan.choice).collect();
    format!("{} with {}: {:?} {plans:?}", kernel.chain.text(), kernel.chain.axes_text(), kernel.boundaries())
}

#[test]
fn random_chains_compute_what_the_host_does() {
    let [kernels, staying, tiled, moved, rounded] = [0u64; 5].map(Cell::new);
    let count = for_cases(14, |random| {
        let chain = random_chain(random);
        let kernel = some_kernel(random, &chain);
        let Some(kernel) = kernel else { return Ok(()) };
        let add = |cell: &Cell<u64>, is: bool| cell.set(cell.get() + u64::from(is));
        add(&kernels, true);
        add(&staying, kernel.staying() > 0);
        add(&tiled, kernel.placed.iter().any(|plan| plan.schedule.kept.result && plan.schedule.steps() > 1));
        let is_moved = |part: &Part| part.passage.as_ref().is_some_and(|passage| !passage.steps.is_empty());
        add(&moved, kernel.parts.iter().any(is_moved));
        let (operands, expected, is_rounded) = of_host(random, &chain);
        add(&rounded, is_rounded);
        let (bytes, cycles) = run(&kernel, operands);
        if bytes != expected {
            return Err(format!("{}: other values", told(&kernel)));
        }
        if cycles != kernel.cycles {
            return Err(format!("{}: {cycles} cycles, but {} were predicted", told(&kernel), kernel.cycles));
        }
        if chain.bounds(Profile::default()).cycles() > cycles {
            return Err(format!("{}: {cycles} cycles are below the bound", told(&kernel)));
        }
        Ok(())
    });
    let [kernels, staying, tiled, moved, rounded] =
        [kernels, staying, tiled, moved, rounded].map(Cell::into_inner);
    assert!(4 * kernels >= 3 * count, "{kernels} of {count} chains have a kernel");
    if count >= 14 {
        assert!(3 * staying > kernels, "{staying} of {kernels} keep a result in DM");
        assert!(tiled > 0 && moved > 0 && rounded > 0, "{tiled} in tiles, {moved} moved, {rounded} rounded");
    }
}

/// The best kernels come first, and none is slower than all results through HBM.
#[test]
fn a_join_is_no_slower_than_through_hbm() {
    for_cases(5, |random| {
        let chain = random_chain(random);
        let outcome: ChainOutcome = plan_chain(&chain, &Search { top: 3, ..Search::default() });
        if outcome.without_plan().is_some() {
            return Ok(());
        }
        let best = &outcome.kernels[0];
        let through_hbm = outcome.through_hbm.as_ref().map_or(u64::MAX, |kernel| kernel.cycles);
        let told = || format!("{}; apart {:?}, {through_hbm} through HBM", told(best), outcome.apart);
        // In one kernel, clusters meet before they load what was stored to HBM; between two kernels, that takes nothing.
        if best.cycles > through_hbm || best.staying() > 0 && Some(best.cycles) > outcome.apart {
            return Err(format!("{} cycles: {}", best.cycles, told()));
        }
        if !outcome.kernels.is_sorted_by_key(|kernel| kernel.cycles) || outcome.kernels.len() > 3 {
            return Err(format!("the kernels are not the best ones in their order: {}", told()));
        }
        if outcome.bound.cycles() > best.cycles || outcome.gap() < 0.0 {
            return Err(format!("the bound is {}: {}", outcome.bound.cycles(), told()));
        }
        Ok(())
    });
}

/// The same kernels each time, with any number of threads.
#[test]
fn threads_make_no_difference_to_chains() {
    let chain = chain("mk,fk->mf; mf,nf->mn", "M=8,K=32,F=64,N=16");
    let told = |threads| {
        let outcome = plan_chain(&chain, &Search { top: 4, threads, ..Search::default() });
        let kernels: Vec<_> = outcome.kernels.iter().map(|kernel| (kernel.cycles, kernel.source())).collect();
        (kernels, outcome.apart, outcome.plans, outcome.ways, outcome.run)
    };
    let one = told(1);
    assert_eq!(one.0.len(), 4);
    assert_eq!(one, told(3));
}

/// Operands are found by their letters, and only what the next contraction alone uses may stay.
#[test]
fn results_are_operands_by_their_letters() {
    let heads = chain("hqd,hkd->hqk; hqk,hdk->hqd", "H=2,Q=4,K=16,D=16");
    // The last result has the letters of the first operand, which is none of a contraction before it.
    assert_eq!(heads.sources, [[None, None], [Some(0), None]]);
    assert_eq!((heads.arriving(1), heads.may_stay(0), heads.may_stay(1)), (Some(0), true, false));
    assert_eq!((heads.problems[0].output, heads.problems[1].output), (ElementType::Bf16, ElementType::Bf16));
    let twice = chain("mk,fk->mf; nf,mf->nm; nm,mf->nf", "M=16,K=16,F=16,N=16");
    assert_eq!(twice.sources, [[None, None], [None, Some(0)], [Some(1), Some(0)]]);
    // `mf` has two uses, and `nm` has one.
    assert_eq!([0, 1, 2].map(|number| twice.arriving(number)), [None, None, Some(0)]);
    assert_eq!([0, 1, 2].map(|number| twice.may_stay(number)), [false, true, false]);
}

#[test]
fn chains_that_are_none_are_refused() {
    let refused = |text: &str, axes: &str, element: ElementType, message: &str| {
        let error = Chain::new(text, axes, element, None).expect_err("it is refused");
        assert_eq!(error.to_string(), message);
    };
    let bf16 = ElementType::Bf16;
    let axes = "M=16,K=16,F=16,N=16";
    refused(
        "mk,fk->mf",
        "M=16,K=16,F=16",
        bf16,
        "chain: `mk,fk->mf` has 1 contraction and no part around it, and a chain has 2 to 8, or one with a norm in front or a \
         part behind it; write for example `mk,fk->mf; mf,nf->mn`",
    );
    refused(
        "mk,fk->mf; mk,nk->mn",
        axes,
        bf16,
        "chain: no operand of `mk,nk->mn` is the result of a contraction before it; give an operand the letters of one: `mf`",
    );
    refused(
        "mk,fk->mf; mf,nf->mn; mf,kf->mk",
        axes,
        bf16,
        "chain: no contraction behind `mf,nf->mn` takes its result `mn`; leave it out, or plan it alone",
    );
    refused(
        "mk,fk->fm; mf,nf->mn",
        axes,
        bf16,
        "chain: the operand `mf` of `mf,nf->mn` has the letters of the result `fm` in another order; write `fm` in both, or \
         give the operand a letter of its own",
    );
    refused(
        "mk,fk->mf; mf,nf->mn",
        axes,
        ElementType::I8,
        "dtype: sums of i8 are i32, which are not stored as i8, so that `mk,fk->mf` makes no operand of what follows; \
         take bf16",
    );
    refused(
        "mk,fk->mf; mf,nf->mn",
        "M=16,K=16,F=16,N=16,P=8",
        bf16,
        "axes: no contraction of `mk,fk->mf; mf,nf->mn` has an axis `P`; leave its size out",
    );
    refused(
        "mk,fk->mf; mf,nf->mn",
        "M=16,K=16,F=16",
        bf16,
        "axes: the axis `n` of `mf,nf->mn` has no size; add `N=…`",
    );
}
