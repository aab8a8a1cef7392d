//! Answers as text: the table, an explanation, and what is left of an empty space.

use super::super::table::table;
use super::OPERANDS;
use super::options::Task;
use furiosa_visa_clock::bound::Limit;
use furiosa_visa_plan::choice::{Level, Pieces, Spread, Sums};
use furiosa_visa_plan::problem::Role;
use furiosa_visa_plan::{Outcome, Plan, Problem};
use furiosa_visa_rules::text::grouped;

/// Part of 100.
pub fn percent(part: u64, of: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / of.max(1) as f64)
}

/// The table of the best plans, with the proof.
pub fn overview(task: &Task, outcome: &Outcome) -> String {
    let (heads, rows) = plans(&task.problem, outcome);
    let mut given = String::new();
    if !task.problem.layouts_text().is_empty() {
        given += &format!("in HBM   {}\n", task.problem.layouts_text());
    }
    if let (2.., Some(best)) = (task.chips, outcome.plans.first()) {
        given += &format!("chips    {}, plan 1 with {} in Chip\n", task.chips, best.layout.chip);
    }
    if let Some(fixed) = &task.fixed {
        given += &format!("fixed    {}\n", fixed.text());
    }
    head(&task.problem, outcome) + &given + "\n" + &table(&heads, &rows) + &space(outcome)
}

/// The problem, its bound, and what was found.
pub fn head(problem: &Problem, outcome: &Outcome) -> String {
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
    let chips = outcome.plans.first().map_or(1, |plan| plan.problem.number_of_chips());
    let part = if chips > 1 { " of a chip's part" } else { "" };
    let followed = match problem.epilogue.is_empty() {
        true => String::new(),
        false => format!(", then `{}`", problem.epilogue_text()),
    };
    let windows = match problem.windows.is_empty() {
        true => String::new(),
        false => format!(" in windows `{}`", problem.windows_text()),
    };
    format!(
        "problem  `{}`{windows} of {}{followed}, to {}; {}\n\
         bound    {} cycles for any kernel{part}: products {}, HBM {}\n\
         found    {} cycles, {} of the bound; {proof}\n",
        problem.einsum,
        problem.element,
        problem.output,
        problem.axes_text(),
        grouped(bound.cycles()),
        grouped(bound.of(Limit::Multipliers)),
        grouped(bound.of(Limit::Hbm)),
        grouped(best),
        percent(bound.cycles(), best),
    )
}

/// Names of columns.
type Heads = [&'static str; 12];

/// The table of plans: its heads and its rows.
pub fn plans(problem: &Problem, outcome: &Outcome) -> (Heads, Vec<Vec<String>>) {
    let bound = outcome.of_problem;
    let heads = [
        "plan",
        "cycles",
        "of bound",
        "in TRF",
        "sum over",
        "stream by",
        "weights by",
        "tiles x blocks x parts",
        "stored by",
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
                (Some(spread), slices) if spread.count >= slices => format!("switch, {}", spread.count),
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
                format!("{} x {} x {}", tiles(plan), schedule.blocks, schedule.parts),
                choice.gather.map_or("a slice".to_string(), |gather| format!("{} slices", gather.count)),
                grouped(schedule.dm_bytes()),
                grouped(plan.hbm_bytes()),
                plan.work.resource().to_string(),
            ]
        })
        .collect();
    (heads, rows)
}

/// The number of tiles of the stream, or the positions of its pieces: `112 + 16`.
fn tiles(plan: &Plan) -> String {
    match plan.choice.pieces {
        None => plan.schedule.tiles.to_string(),
        Some(Pieces { sizes: [first, second], .. }) => format!("({first} + {second})"),
    }
}

/// The stages of the space, and what rules refuse.
pub fn space(outcome: &Outcome) -> String {
    let space = &outcome.space;
    let mut text = format!(
        "\nspace    {} sets of extents, of which {} are ruled out; {} choices of the others, {} fit the memories, {} are ruled \
         out by their bounds, {} were derived, {} ran on the clock\n",
        grouped(space.extents),
        grouped(space.skipped),
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

/// Refusals of a space without a plan, each with one message.
pub fn emptied(outcome: &Outcome) -> String {
    let mut text = space(outcome).trim_start().to_string();
    for (rule, (_, message)) in &outcome.space.refused {
        text += &format!("\n{rule}: {message}\n");
    }
    text
}

/// The reasons and the mappings of a plan.
pub fn explanation(plan: &Plan, outcome: &Outcome) -> String {
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
        ("main context", work.main, "products, and passes around them"),
        ("sub context", work.sub, "loads of the register file"),
        ("DMA", work.dma, "moves between HBM and DM"),
        ("ends", work.ends, "before the first product and behind the last one"),
    ]
    .map(|(name, cycles, what)| vec![name.to_string(), grouped(cycles), what.to_string()])
    .to_vec();
    text += &format!("\n{}", table(&["resource", "cycles at least", "for"], &rows));
    let rows: Vec<Vec<String>> =
        (mappings(plan).into_iter()).map(|(name, mapping)| vec![name.to_string(), mapping]).collect();
    text += &format!("\n{}", table(&["what", "where"], &rows));
    text
}

/// The mappings of a plan, with their names.
pub fn mappings(plan: &Plan) -> Vec<(&'static str, String)> {
    let layout = &plan.layout;
    let mut mappings = match plan.problem.number_of_chips() {
        1 => Vec::new(),
        _ => vec![("Chip", &layout.chip)],
    };
    mappings.extend([("Cluster", &layout.cluster), ("Slice", &layout.slice)]);
    if !plan.problem.layouts_text().is_empty() {
        let names = ["x in HBM", "w in HBM", "result in HBM"];
        mappings.extend(names.into_iter().zip(layout.stored.iter().map(|stored| &stored.element)));
    }
    // Where a pass turns an operand, it is in DM in two orders.
    let brought = [("stream as brought", &layout.stream), ("weights as brought", &layout.weights)];
    mappings.extend(
        brought
            .into_iter()
            .filter(|(_, path)| path.turn.is_some())
            .map(|(name, path)| (name, path.brought())),
    );
    mappings.extend([
        ("stream in DM", &layout.stream.element),
        ("weights in DM", &layout.weights.element),
        ("rows", &layout.file[0]),
        ("elements of a row", &layout.file[1]),
        ("time of products", &layout.align[0]),
        ("packet of products", &layout.align[1]),
    ]);
    if let Some([first, second]) = &layout.pieces {
        mappings.extend([("first piece", &first.stream.element), ("second piece", &second.stream.element)]);
    }
    if let Some(finish) = &layout.finish {
        mappings
            .extend([("sums before the last pass", &finish.element), ("time of that pass", &finish.fetch)]);
    }
    mappings.extend([("slices of what is stored", layout.result_slice()), ("stored in DM", &layout.result)]);
    mappings.into_iter().map(|(name, mapping)| (name, mapping.to_string())).collect()
}
