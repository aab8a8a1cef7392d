//! Operands whose summed axis is not the innermost one in HBM: a pass turns them in DM.

use crate::values::compare;
use furiosa_visa_plan::schedule::Schedule;
use furiosa_visa_plan::space::for_each;
use furiosa_visa_plan::{Plan, Problem, Search, search};
use furiosa_visa_rules::command::Operation;
use furiosa_visa_rules::scalar::ElementType::{self, Bf16, I4, I8};
use furiosa_visa_std::clock::Profile;
use reference::random::Random;

fn problem(einsum: &str, sizes: &str, element: ElementType) -> Problem {
    Problem::new(einsum, sizes, element, None).unwrap_or_else(|error| panic!("{error}"))
}

/// Number of passes of a plan that use the Transpose Engine.
fn transposes(plan: &Plan) -> usize {
    let commands = plan.commands().expect("it was derived").operations;
    let is_one =
        |operation: &&Operation| matches!(operation, Operation::TensorUnit(unit) if unit.transpose.is_some());
    commands.iter().filter(is_one).count()
}

/// Each tile of the stream and each block of weights is turned once, if another axis is inside of it.
#[test]
fn what_has_another_axis_inside_is_turned_once() {
    let sizes = "M=16,N=32,K=64";
    for element in [I4, I8, Bf16] {
        for (einsum, is_turned) in [
            ("mk,nk->mn", [false, false]),
            ("mk,kn->mn", [false, true]),
            ("km,nk->mn", [true, false]),
            ("km,kn->mn", [true, true]),
        ] {
            for plan in
                search(&problem(einsum, sizes, element), &Search { top: 5, ..Search::default() }).plans
            {
                let Schedule { tiles, is_resident, .. } = plan.schedule;
                let loads = if is_resident { plan.schedule.steps_per_tile() } else { plan.schedule.steps() };
                let moves = |operand: usize| if operand == plan.choice.weights { loads } else { tiles };
                // A stream in columns is read as it lies in HBM.
                let is_read = |operand: usize| plan.choice.in_columns && operand == plan.choice.stream();
                let turned = (0..2).filter(|&operand| is_turned[operand] && !is_read(operand));
                let expected: usize = turned.map(moves).sum();
                assert_eq!(transposes(&plan), expected, "{einsum} of {element}: {:?}", plan.choice);
            }
        }
    }
}

/// One row of the stream has the summed axis inside, wherever its own axis stands.
#[test]
fn an_axis_with_one_position_turns_nothing() {
    let found = |einsum: &str| {
        let outcome = search(&problem(einsum, "M=1,N=64,K=128", I8), &Search::default());
        (outcome.plans[0].cycles, transposes(&outcome.plans[0]))
    };
    assert_eq!(found("km,nk->mn"), found("mk,nk->mn"));
    assert_eq!(found("km,nk->mn").1, 0);
}

/// 12 elements of 8 bits are no whole packets, and neither is a position of a batch.
#[test]
fn what_is_no_whole_packets_is_refused() {
    for (einsum, sizes) in [("mk,kn->mn", "M=8,N=12,K=64"), ("mkb,nkb->bmn", "M=8,N=8,K=64,B=8")] {
        let outcome = search(&problem(einsum, sizes, I8), &Search::default());
        assert!(outcome.plans.is_empty());
        assert!(outcome.space.refused.contains_key("DMA run"), "{:?}", outcome.space);
    }
}

/// Where DM has no room for two buffers, what is brought waits for the pass that turns what came before.
#[test]
fn one_buffer_for_what_is_brought_is_enough() {
    let mut random = Random::new(1);
    for (sizes, kind) in [("M=960,N=16,K=256", 4), ("M=16,N=1920,K=256", 5)] {
        let problem = problem("km,kn->mn", sizes, Bf16);
        let mut found: Vec<Plan> = Vec::new();
        for_each(&problem, Some(1), &mut |choice| {
            let is_one = |schedule: Schedule| {
                let moves = if schedule.is_resident {
                    [schedule.tiles, 0]
                } else {
                    [schedule.tiles, schedule.steps()]
                };
                schedule.buffers[kind] == 1 && moves[kind - 4] > 2
            };
            if found.len() < 2 && Schedule::new(&problem, choice).is_some_and(is_one) {
                found.extend(Plan::of(&problem, choice.clone(), Profile::default()));
            }
        });
        assert_eq!(found.len(), 2, "{sizes}");
        for plan in found {
            compare(&mut random, &plan).unwrap_or_else(|difference| panic!("{difference}"));
        }
    }
}
