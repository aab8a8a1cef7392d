//! Answers as text: the table, an explanation, and what is left of an empty space.

use super::super::table::table;
use super::OPERANDS;
use furiosa_visa_clock::bound::Limit;
use furiosa_visa_plan::choice::{Level, Spread, Sums};
use furiosa_visa_plan::problem::Role;
use furiosa_visa_plan::{Outcome, Plan, Problem};
use furiosa_visa_rules::text::grouped;

/// Part of 100.
pub fn percent(part: u64, of: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / of.max(1) as f64)
}

/// The table of the best plans, with the proof.
pub fn overview(problem: &Problem, outcome: &Outcome) -> String {
    let bound = outcome.of_problem;
    let best = outcome.plans.first().map_or(0, |plan| plan.cycles);
    let proof = if outcome.gap() == 0.0 {
        "proven: no other choice of the space takes fewer".to_string()
    } else {
        format!(
            "at most {:.1} % of them can be spared: {}, and bounds of other choices begin at {}",
            100.0 * outcome.gap(),
            if outcome.is_stopped { "it was stopped" } else { "the time is over" },
            grouped(outcome.bound)
        )
    };
    let mut text = format!(
        "problem  `{}` of {}, to {}; {}\n\
         bound    {} cycles for any kernel: products {}, HBM {}\n\
         found    {} cycles, {} of the bound; {proof}\n\n",
        problem.einsum,
        problem.element,
        problem.output,
        problem.axes_text(),
        grouped(bound.cycles()),
        grouped(bound.of(Limit::Multipliers)),
        grouped(bound.of(Limit::Hbm)),
        grouped(best),
        percent(bound.cycles(), best),
    );
    let heads = [
        "plan",
        "cycles",
        "of bound",
        "in TRF",
        "sum over",
        "stream by",
        "weights by",
        "tiles x blocks",
        "DM bytes",
        "HBM bytes",
        "held by",
    ];
    let rows: Vec<Vec<String>> = (outcome.plans.iter().enumerate())
        .map(|(number, plan)| {
            let (choice, schedule) = (&plan.choice, &plan.schedule);
            let slices = |role| choice.extent(problem, role, Level::Slice);
            let by = |spread: Option<Spread>, sharing: usize| match (spread, sharing) {
                (_, 1) => "DMA, once".to_string(),
                (None, slices) => format!("DMA, {slices} copies"),
                (Some(spread), slices) if spread.count == slices => format!("switch, {slices}"),
                (Some(spread), slices) => {
                    format!("switch, {}; {} copies", spread.count, slices / spread.count)
                }
            };
            let sums = match choice.sums {
                Sums::Whole => "a slice".to_string(),
                Sums::First | Sums::Shared(_) => format!("{} slices", slices(Role::Summed)),
            };
            vec![
                (number + 1).to_string(),
                grouped(plan.cycles),
                percent(bound.cycles(), plan.cycles),
                OPERANDS[choice.weights].to_string(),
                sums,
                by(choice.stream_spread, slices(Role::Of(choice.weights))),
                by(choice.weights_spread, slices(Role::Of(choice.stream()))),
                format!("{} x {}", schedule.tiles, schedule.blocks),
                grouped(schedule.dm_bytes()),
                grouped(plan.hbm_bytes()),
                plan.work.resource().to_string(),
            ]
        })
        .collect();
    text += &table(&heads, &rows);
    text += &space(outcome);
    text
}

/// The stages of the space, and what rules refuse.
fn space(outcome: &Outcome) -> String {
    let space = &outcome.space;
    let mut text = format!(
        "\nspace    {} choices, {} fit the memories, {} are ruled out by their bounds, {} were derived, {} ran on the clock\n",
        grouped(space.choices),
        grouped(space.fitting),
        grouped(space.bounded),
        grouped(space.derived),
        grouped(space.priced),
    );
    for (rule, (count, _)) in &space.refused {
        text += &format!("refused  {} by `{rule}`\n", grouped(*count));
    }
    text
}

/// What is left of a space without a plan: the refusals, each with one message.
pub fn emptied(outcome: &Outcome) -> String {
    let mut text = space(outcome).trim_start().to_string();
    for (rule, (_, message)) in &outcome.space.refused {
        text += &format!("\n{rule}: {message}\n");
    }
    text
}

/// The reasons and the mappings of a plan.
pub fn explanation(plan: &Plan, outcome: &Outcome) -> String {
    let layout = &plan.layout;
    let mut text = format!(
        "{} cycles, {} of the bound\n\n",
        grouped(plan.cycles),
        percent(outcome.of_problem.cycles(), plan.cycles)
    );
    for reason in plan.reasons() {
        text += &format!("* {reason}\n");
    }
    let work = &plan.work;
    let rows: Vec<Vec<String>> = [
        ("main context", work.main, "products"),
        ("sub context", work.sub, "loads of the register file"),
        ("DMA", work.dma, "moves between HBM and DM"),
        ("ends", work.ends, "before the first product and behind the last one"),
    ]
    .map(|(name, cycles, what)| vec![name.to_string(), grouped(cycles), what.to_string()])
    .to_vec();
    text += &format!("\n{}", table(&["resource", "cycles at least", "for"], &rows));
    let rows: Vec<Vec<String>> = [
        ("Cluster", &layout.cluster),
        ("Slice", &layout.slice),
        ("stream in DM", &layout.stream.element),
        ("weights in DM", &layout.weights.element),
        ("rows", &layout.file[0]),
        ("elements of a row", &layout.file[1]),
        ("time of products", &layout.align[0]),
        ("packet of products", &layout.align[1]),
        ("sums in DM", &layout.result),
    ]
    .map(|(name, mapping)| vec![name.to_string(), mapping.to_string()])
    .to_vec();
    text += &format!("\n{}", table(&["what", "where"], &rows));
    text
}
