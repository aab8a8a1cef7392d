//! Chains of the Vector Engine, legal and illegal: the verdicts of the library's rules and the values that leave the chip,
//! against the reference.

mod calls;
mod functions;
mod program;
mod stage;
mod stages;
mod verdicts;

use crate::reference::cases::for_cases;
use crate::reference::random::Random;
use crate::reference::vector::chain::{Chain, Step};
use crate::reference::vector::families;
use crate::reference::vector::generate::random_chain;
use crate::reference::vector::mutants::{Legal, MUTATIONS, mutant};
use crate::reference::vector::operators::Reading;
use crate::reference::vector::reduce::Lane;
use crate::reference::vector::rules::{Rule, When};
use crate::reference::vector::run::{judge, run};
use crate::reference::vector::valid_count::unclear;
use crate::reference::vector::values::random_data;
use stage::{Prepared, run_and_compare};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Runs a legal chain on random values.
fn compare(random: &mut Random, chain: &Chain) -> Result<(), String> {
    let prepared =
        Prepared::new(chain).map_err(|error| format!("{chain}\nrefused by `{}`: {error}", error.rule()))?;
    let missing = random.pick(&[0, 0, 10, 40]);
    let data = random_data(random, chain, missing);
    let snapshots =
        run(chain, &data, &Reading::default()).map_err(|refusal| format!("{chain}\nreference: {refusal}"))?;
    let end = snapshots.last().expect("a chain has steps");
    run_and_compare(random, chain, &prepared, &data, end).map_err(|text| {
        format!("{chain}\nprogram {}\nof 100 elements, {missing} are missing: {text}", prepared.program)
    })
}

#[test]
fn legal_chains_compute_the_same() {
    for_cases(5_000, |random| {
        let chain = random_chain(random);
        compare(random, &chain)
    });
}

#[test]
fn mutants_are_refused() {
    let met = RefCell::new(BTreeMap::<(&str, String), usize>::new());
    let count = for_cases(500, |random| {
        let legal = Legal::of(random_chain(random));
        for (mutation, _) in MUTATIONS {
            let Some((chain, _)) = mutant(random, mutation, &legal) else { continue };
            let refusal = judge(&chain).err().ok_or_else(|| format!("{chain}\nis legal"))?;
            // What has no method is not compiled.
            let filters = chain.steps.iter().any(|step| matches!(step, Step::Filter { .. }));
            if matches!(refusal.rule.when(), When::Bound | When::Unclear) || filters {
                continue;
            }
            match Prepared::on_slices(&chain, 1) {
                Err(error) => {
                    *met.borrow_mut().entry((mutation, error.rule().to_string())).or_default() += 1;
                }
                // Lists have room for five; what is built by hand is refused by the chip.
                Ok(prepared) if refusal.rule == Rule::OperandCount => {
                    let snapshots =
                        run(&legal.chain, &random_data(random, &legal.chain, 0), &Reading::default());
                    let end = snapshots.map_err(|refusal| refusal.to_string())?.pop().expect("a step");
                    let data = random_data(random, &chain, 0);
                    let text =
                        run_and_compare(random, &chain, &prepared, &data, &end).err().unwrap_or_default();
                    if !text.contains("has 6 operands") {
                        return Err(format!("{mutation}: {chain}\n{text}, although {refusal}"));
                    }
                    *met.borrow_mut().entry((mutation, "chip".to_string())).or_default() += 1;
                }
                Ok(_) => return Err(format!("{mutation}: {chain}\naccepted, although {refusal}")),
            }
        }
        Ok(())
    });
    let met = met.borrow();
    assert!(count < 500 || met.len() >= 33, "changes and the rules that refuse them: {met:#?}");
}

/// Both verdicts, on mappings around the limits of the reduce within a slice.
#[test]
fn reduces_around_their_limits() {
    let met = RefCell::new(BTreeMap::<String, usize>::new());
    let count = for_cases(2000, |random| {
        let chain = if random.chance(20) {
            families::accumulators(random).0
        } else {
            families::padded_reduce(random)
        };
        let size = |axis: &str| chain.axes.iter().find(|(name, _)| name == axis).map_or(0, |(_, size)| *size);
        let reason = chain.steps.iter().find_map(|step| match step {
            Step::IntraReduce { axis, .. } => unclear(&chain.shape, axis, size(axis)),
            _ => None,
        });
        let verdict = judge(&chain);
        let name = match (&verdict, reason) {
            (_, Some(reason)) => {
                *met.borrow_mut().entry(reason.to_string()).or_default() += 1;
                // What is accepted is right.
                return if verdict.is_ok() && Prepared::new(&chain).is_ok() {
                    compare(random, &chain)
                } else {
                    Ok(())
                };
            }
            (Ok(_), None) => {
                compare(random, &chain)?;
                "legal".to_string()
            }
            (Err(refusal), None) => match Prepared::new(&chain) {
                Err(error) => error.rule().to_string(),
                Ok(_) => return Err(format!("{chain}\naccepted, although {refusal}")),
            },
        };
        *met.borrow_mut().entry(name).or_default() += 1;
        Ok(())
    });
    let met = met.borrow();
    let often = |name: &str| met.get(name).is_some_and(|times| *times >= 100);
    assert!(count < 2000 || ["legal", "reduce slots", "valid count"].into_iter().all(often), "{met:#?}");
}

/// The lanes that the reference leaves open are few.
#[test]
fn few_results_are_open() {
    let lanes = RefCell::new([0usize; 3]);
    for_cases(300, |random| {
        let chain = random_chain(random);
        let data = random_data(random, &chain, 5);
        let snapshots = run(&chain, &data, &Reading::default()).map_err(|refusal| refusal.to_string())?;
        for lane in &snapshots.last().expect("a chain has steps").groups[0] {
            lanes.borrow_mut()[match lane {
                Lane::Absent => 0,
                Lane::Is(_) => 1,
                Lane::Open => 2,
            }] += 1;
        }
        Ok(())
    });
    let [absent, is, open] = *lanes.borrow();
    assert!(2 * is > absent && is > 10 * open, "{absent} absent, {is} numbers, {open} open");
}
