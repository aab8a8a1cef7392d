//! `visa plan`: the mapping of a contraction that takes the fewest cycles, with the proof, and as a kernel.

use super::arguments::{Once, shown};
use super::table::table;
use super::{Output, PLAN_HELP, Refusal};
use core::time::Duration;
use furiosa_visa_clock::bound::Limit;
use furiosa_visa_plan::choice::{Level, Spread, Sums};
use furiosa_visa_plan::problem::Role;
use furiosa_visa_plan::{Outcome, Plan, Problem, Search, search};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::text::grouped;
use serde_json::json;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Time that a search takes if nothing is said.
const TIME: Duration = Duration::from_secs(60);
/// The most plans that are listed.
const MOST: usize = 100;
/// Names of the operands.
const OPERANDS: [&str; 2] = ["x", "w"];

/// Runs the command. `parser` is placed after its name.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short};
    let (mut einsum, mut axes) = (Once::new("--einsum"), Once::new("--axes"));
    let (mut dtype, mut acc, mut out) = (Once::new("--dtype"), Once::new("--acc"), Once::new("--out"));
    let mut epilogue = Once::new("--epilogue");
    let (mut top, mut role, mut time) = (Once::new("--top"), Once::new("--role"), Once::new("--time"));
    let (mut emit, mut explain, mut as_json) = (Once::new("--emit"), Once::new("--explain"), false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(PLAN_HELP)),
            Long("einsum") => einsum.set(parser.value()?)?,
            Long("axes") => axes.set(parser.value()?)?,
            Long("dtype") => dtype.set(parser.value()?)?,
            Long("acc") => acc.set(parser.value()?)?,
            Long("out") => out.set(parser.value()?)?,
            Long("epilogue") => epilogue.set(parser.value()?)?,
            Long("top") => top.set(parser.value()?)?,
            Long("role") => role.set(parser.value()?)?,
            Long("time") => time.set(parser.value()?)?,
            Long("emit") => emit.set(parser.value()?)?,
            Long("explain") => explain.set(parser.value()?)?,
            Long("json") => as_json = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let missing = |name: &str, example: &str| {
        Refusal(format!("`{name}` is missing; write for example {name} {example}"))
    };
    let einsum = einsum.text()?.ok_or_else(|| missing("--einsum", "'mk,nk->mn'"))?;
    let sizes = axes.text()?.ok_or_else(|| missing("--axes", "M=256,N=64,K=128"))?;
    let element = dtype.element_type(true)?.unwrap_or(ElementType::I8);
    let steps = epilogue.text()?.unwrap_or_default();
    let problem = Problem::with_epilogue(einsum, sizes, element, out.element_type(true)?, steps)
        .map_err(|error| Refusal(format!("--{error}")))?;
    if let Some(acc) = acc.element_type(true)?
        && acc != problem.sum()
    {
        return Err(format!("--acc: sums of {element} are {}, not {acc}; leave it out", problem.sum()).into());
    }
    let explained = explain.number(MOST)?;
    let options = Search {
        top: top.number(MOST)?.unwrap_or(5).max(explained.unwrap_or(1)),
        limit: Some(duration(&time)?.unwrap_or(TIME)),
        weights: weights(&role)?,
        ..Search::default()
    };
    let outcome = search(&problem, &options);
    let Some(best) = outcome.plans.first() else {
        return Ok(Output::text(emptied(&outcome)).refused(&format!(
            "no mapping of `{einsum}` is left: {} choices, {} fit the memories, and rules refuse the others",
            grouped(outcome.space.choices),
            grouped(outcome.space.fitting)
        )));
    };
    let stdout = match (as_json, explained) {
        (true, _) => to_json(&outcome),
        (false, None) => overview(&problem, &outcome),
        (false, Some(number)) => match outcome.plans.get(number - 1) {
            Some(plan) => explanation(plan, &outcome),
            None => {
                return Err(format!(
                    "--explain: there is no plan {number}; {} were found",
                    outcome.plans.len()
                )
                .into());
            }
        },
    };
    let folder = emit.raw().map(PathBuf::from);
    let file = folder.as_ref().map(|folder| (folder.join("plan.rs"), best.source()));
    Ok(Output { folder, file, ..Output::text(stdout) })
}

/// The operand in the register file: `w=trf`, or `x=stream`, which means the same.
fn weights(role: &Once) -> Result<Option<usize>, Refusal> {
    let Some(text) = role.text()? else { return Ok(None) };
    let found = match text.split_once('=') {
        Some(("x", "trf") | ("w", "stream")) => Some(0),
        Some(("w", "trf") | ("x", "stream")) => Some(1),
        _ => None,
    };
    let given = shown(OsStr::new(text));
    found.map(Some).ok_or_else(|| {
        Refusal(format!("--role: `{given}` is no role; the operands are `x` and `w`: write `w=trf`, `x=trf`, `w=stream` or `x=stream`"))
    })
}

/// A time: `60s`, `500ms` or `2m`.
fn duration(time: &Once) -> Result<Option<Duration>, Refusal> {
    let Some(text) = time.text()? else { return Ok(None) };
    let units = [("ms", 1), ("s", 1000), ("m", 60_000)];
    let found = units.iter().find_map(|(unit, millis)| {
        let number: u64 = text.trim().strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(*millis).map(Duration::from_millis)
    });
    let given = shown(OsStr::new(text));
    found
        .map(Some)
        .ok_or_else(|| Refusal(format!("--time: `{given}` is no time; write for example 60s, 500ms or 2m")))
}

/// Part of 100.
fn percent(part: u64, of: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / of.max(1) as f64)
}

fn overview(problem: &Problem, outcome: &Outcome) -> String {
    let bound = outcome.of_problem;
    let best = outcome.plans.first().map_or(0, |plan| plan.cycles);
    let proof = if outcome.gap() == 0.0 {
        "proven: no other choice of the space takes fewer".to_string()
    } else {
        format!(
            "at most {:.1} % of them can be spared: the time is over, and bounds of other choices begin at {}",
            100.0 * outcome.gap(),
            grouped(outcome.bound)
        )
    };
    let followed = match problem.epilogue.is_empty() {
        true => String::new(),
        false => format!(", then `{}`", problem.epilogue_text()),
    };
    let mut text = format!(
        "problem  `{}` of {}{followed}, to {}; {}\n\
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
fn emptied(outcome: &Outcome) -> String {
    let mut text = space(outcome).trim_start().to_string();
    for (rule, (_, message)) in &outcome.space.refused {
        text += &format!("\n{rule}: {message}\n");
    }
    text
}

fn explanation(plan: &Plan, outcome: &Outcome) -> String {
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

fn to_json(outcome: &Outcome) -> String {
    let bound = outcome.of_problem.cycles();
    let plans: Vec<_> = (outcome.plans.iter())
        .map(|plan| {
            json!({
                "cycles": plan.cycles,
                "bound": bound,
                "share": bound as f64 / plan.cycles.max(1) as f64,
                "dm_bytes": plan.schedule.dm_bytes(),
                "hbm_bytes": plan.hbm_bytes(),
                "least_cycles": plan.work.cycles(),
                "held_by": plan.work.resource(),
                "trf": OPERANDS[plan.choice.weights],
                "slice": plan.layout.slice.to_string(),
                "cluster": plan.layout.cluster.to_string(),
            })
        })
        .collect();
    let space = &outcome.space;
    let refused: serde_json::Map<String, serde_json::Value> =
        space.refused.iter().map(|(rule, (count, _))| (rule.clone(), json!(count))).collect();
    let all = json!({
        "plans": plans,
        "gap": outcome.gap(),
        "space": {
            "choices": space.choices, "fitting": space.fitting, "bounded": space.bounded,
            "derived": space.derived, "priced": space.priced, "refused": refused,
        },
    });
    format!("{all:#}\n")
}
