//! `visa plan --chain`: several contractions one after another as one kernel.

use super::super::table::table;
use super::super::{Output, Refusal};
use super::attend::{self, Line};
use super::text::percent;
use super::{Means, OPERANDS, nothing_left};
use furiosa_visa_clock::bound::Limit;
use furiosa_visa_plan::chain::{Chain, ChainKernel, ChainOutcome, plan_chain};
use furiosa_visa_plan::{Progress, Search, Watch};
use furiosa_visa_rules::text::grouped;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::PathBuf;

/// Plans a chain, and writes its best kernel to a folder.
pub fn command(
    chain: &Chain,
    means: &Means,
    emit: Option<OsString>,
    as_json: bool,
) -> Result<Output, Refusal> {
    let line = Line::new(String::new());
    let watch = |progress: &Progress| line.goes_on(progress);
    let options = Search {
        top: means.top,
        limit: Some(means.time),
        threads: means.threads,
        watch: Some(Watch(&watch)),
        ..Search::default()
    };
    let outcome = plan_chain(chain, &options);
    let Some(best) = outcome.kernels.first() else {
        if outcome.is_stopped {
            let message = "it was stopped before the first plan was found; give it more time";
            return Ok(Output { code: attend::STOPPED, ..Output::default().refused(message) });
        }
        return Ok(match outcome.without_plan() {
            Some(number) => {
                let (problem, searched) = (&chain.problems[number], &outcome.searches[number]);
                Output::text(super::text::emptied(searched)).refused(&nothing_left(problem, None, searched))
            }
            None => Output::default().refused(
                "--chain: the tensors of the contractions do not fit together; plan them one by one",
            ),
        });
    };
    let stdout = match as_json {
        true => format!("{:#}\n", answer(&outcome)),
        false => overview(chain, &outcome, best),
    };
    let folder = emit.map(PathBuf::from);
    let file = folder.as_ref().map(|folder| (folder.join("plan.rs"), best.source()));
    let code = if outcome.is_stopped { attend::STOPPED } else { 0 };
    Ok(Output { folder, file, code, ..Output::text(stdout) })
}

/// Sentence on the way of an operand that is an earlier result, or that a function of rows makes.
fn passed(kernel: &ChainKernel, number: usize) -> String {
    let place = |in_dm: bool| if in_dm { "DM" } else { "HBM" };
    match kernel.passage(number) {
        None if number == kernel.parts.len() => "to HBM".to_string(),
        None => "through HBM".to_string(),
        Some(passage) if passage.steps.is_empty() => "stays in DM".to_string(),
        Some(passage) if kernel.chain.has_function(number) => format!(
            "{} to {}, {}: {} cycles",
            place(passage.starts_in_dm()),
            place(passage.arrives_in_dm()),
            passage.name,
            grouped(passage.cycles)
        ),
        Some(passage) => format!("in DM, {}: {} cycles", passage.name, grouped(passage.cycles)),
    }
}

/// The contractions that have something in front of them.
fn followers(chain: &Chain) -> Vec<usize> {
    let count = chain.problems.len();
    (0..=count).filter(|&number| (1..count).contains(&number) || chain.has_function(number)).collect()
}

/// The tables of the best kernels, and of the parts of the best one.
fn overview(chain: &Chain, outcome: &ChainOutcome, best: &ChainKernel) -> String {
    let bound = outcome.bound;
    let output = chain.output().map_or("", |output| output.name());
    let first = &chain.problems[0];
    let is_proven = outcome.searches.iter().all(|searched| searched.gap() == 0.0);
    let through_hbm = match &outcome.through_hbm {
        Some(kernel) => format!("{} cycles as one kernel, all results through HBM", grouped(kernel.cycles)),
        None => "the results do not fit".to_string(),
    };
    // What is stored to HBM is loaded after the clusters have met: two kernels need not.
    let against_apart = match outcome.apart {
        None => String::new(),
        Some(apart) if best.cycles > apart => {
            format!(", {} more than apart", percent(best.cycles - apart, apart))
        }
        Some(apart) => format!(", {} fewer than apart", percent(apart - best.cycles, apart)),
    };
    let has_rows = (0..=chain.problems.len()).any(|number| chain.has_function(number));
    let apart = match outcome.apart {
        None => "what is between contractions has no way from HBM to HBM".to_string(),
        Some(apart) => format!(
            "{} cycles: the best kernels of all contractions{}, one after another{}",
            grouped(apart),
            if has_rows { " and of what is between" } else { "" },
            match (is_proven, has_rows) {
                (true, true) => "; those of contractions are proven",
                (true, false) => ", each of them proven",
                (false, _) => "; the time was over before all were proven",
            }
        ),
    };
    let mut text = format!(
        "chain    `{}` of {}, to {output}; {}\n\
         bound    {} cycles for any kernel: products {}, HBM {}; results between contractions take nothing\n\
         apart    {apart}\n\
         HBM      {through_hbm}\n\
         found    {} cycles, {} of the bound{against_apart}: the best of {} joins on the clock, which is no proof\n\n",
        chain.text(),
        first.element,
        chain.axes_text(),
        grouped(bound.cycles()),
        grouped(bound.of(Limit::Multipliers)),
        grouped(bound.of(Limit::Hbm)),
        grouped(best.cycles),
        percent(bound.cycles(), best.cycles),
        outcome.run[0],
    );
    let followers = followers(chain);
    let before = |&number: &usize| {
        let (contraction, tensor) = chain.before(number);
        format!("`{}`", chain.letters(contraction, tensor))
    };
    let results: Vec<String> = followers.iter().map(before).collect();
    let heads: Vec<&str> =
        ["kernel", "cycles", "of bound"].into_iter().chain(results.iter().map(String::as_str)).collect();
    let rows: Vec<Vec<String>> = (outcome.kernels.iter().enumerate())
        .map(|(number, kernel)| {
            let own =
                [(number + 1).to_string(), grouped(kernel.cycles), percent(bound.cycles(), kernel.cycles)];
            own.into_iter().chain(followers.iter().map(|&next| passed(kernel, next))).collect()
        })
        .collect();
    text += &table(&heads, &rows);
    let rows: Vec<Vec<String>> = (best.parts.iter().zip(&best.placed).enumerate())
        .map(|(number, (part, plan))| {
            vec![
                format!("`{}`", plan.problem.einsum),
                grouped(part.alone),
                grouped(outcome.searches[number].plans.first().map_or(0, |plan| plan.cycles)),
                OPERANDS[plan.choice.weights].to_string(),
                format!("{} x {}", plan.schedule.tiles, plan.schedule.blocks),
                grouped(plan.schedule.dm_bytes()),
                passed(best, number + 1),
            ]
        })
        .collect();
    let heads = ["part", "cycles alone", "best plan", "in TRF", "tiles x blocks", "DM bytes", "result"];
    text += &format!("\n{}", table(&heads, &rows));
    text += &format!(
        "\nspace    {} plans with different layouts at their ends, {} pairs of layouts with a way, {} joins have no room or are refused\n",
        outcome.plans.iter().map(usize::to_string).collect::<Vec<_>>().join(" and "),
        grouped(outcome.ways as u64),
        outcome.run[1],
    );
    text
}

/// The answer as an object.
fn answer(outcome: &ChainOutcome) -> Value {
    let bound = outcome.bound.cycles();
    let kernels: Vec<Value> = (outcome.kernels.iter())
        .map(|kernel| {
            let parts: Vec<Value> = (kernel.parts.iter().zip(&kernel.placed).enumerate())
                .map(|(number, (part, plan))| {
                    let next = kernel.passage(number + 1);
                    let function = kernel.chain.function(number);
                    let own = part.passage.as_deref().filter(|_| kernel.chain.has_function(number));
                    let stays = next.is_some_and(|passage| passage.starts_in_dm());
                    json!({
                        "einsum": plan.problem.einsum,
                        "cycles": part.alone,
                        "trf": OPERANDS[plan.choice.weights],
                        "cluster": plan.layout.cluster.to_string(),
                        "slice": plan.layout.slice.to_string(),
                        "dm_bytes": plan.schedule.dm_bytes(),
                        "result": if stays { "dm" } else { "hbm" },
                        "function": own.map(|_| function),
                        "function_cycles": own.map(|passage| passage.cycles),
                        "epilogue": plan.problem.epilogue_text(),
                        "way": next.map(|passage| passage.name.clone()),
                        "way_cycles": next.map(|passage| passage.cycles),
                    })
                })
                .collect();
            json!({
                "cycles": kernel.cycles,
                "bound": bound,
                "share": bound as f64 / kernel.cycles.max(1) as f64,
                "parts": parts,
                "end": kernel.end.as_deref().map(|passage| json!({
                    "function": kernel.chain.function(kernel.parts.len()),
                    "function_cycles": passage.cycles,
                })),
            })
        })
        .collect();
    json!({
        "kernels": kernels,
        "gap": outcome.gap(),
        "apart": outcome.apart,
        "through_hbm": outcome.through_hbm.as_ref().map(|kernel| kernel.cycles),
        "search_gaps": outcome.searches.iter().map(|searched| searched.gap()).collect::<Vec<_>>(),
    })
}
