//! `visa plan`: the mapping of a contraction that takes the fewest cycles, with the proof, and as a kernel.
//!
//! | module | content |
//! |---|---|
//! | `options` | what is asked |
//! | `attend` | the line of progress, and Ctrl-C |
//! | `cache` | proven answers, kept beside a project |
//! | `text`, `json`, `page`, `surface` | answers: as a table, as an object, as a page, as a kernel |
//! | `problems`, `merge` | files of problems, in shards |
//! | `chain` | several contractions one after another |

pub mod attend;
mod cache;
mod chain;
mod digest;
mod json;
mod merge;
mod options;
mod page;
mod problems;
mod surface;
mod text;

use super::arguments::Once;
use super::{Output, PLAN_HELP, Refusal};
use attend::Line;
use cache::Cache;
use core::time::Duration;
use furiosa_visa_plan::chips::best_of;
use furiosa_visa_plan::{Fixed, Outcome, Problem, Search, Watch, search};
use furiosa_visa_rules::text::grouped;
use options::{Asked, Task, duration};
use std::path::PathBuf;
use surface::Surface;

/// Time that a search takes if nothing is said.
const TIME: Duration = Duration::from_secs(60);
/// The most plans that are listed.
const MOST: usize = 100;
/// The most threads.
const MOST_THREADS: usize = 1024;
/// Names of the operands.
const OPERANDS: [&str; 2] = ["x", "w"];

/// Options of a search.
#[derive(Debug)]
struct Means {
    top: usize,
    time: Duration,
    threads: usize,
    cache: Cache,
}

/// Runs the command. `parser` is placed after its name.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short, Value};
    let mut asked = Asked::by_arguments();
    let (mut top, mut time, mut threads) = (Once::new("--top"), Once::new("--time"), Once::new("--threads"));
    let (mut emit, mut surface, mut explain, mut html) =
        (Once::new("--emit"), Once::new("--surface"), Once::new("--explain"), Once::new("--html"));
    let (mut problems, mut shard) = (Once::new("--problems"), Once::new("--shard"));
    let mut chained = Once::new("--chain");
    let (mut as_json, mut is_cached) = (false, true);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(PLAN_HELP)),
            Value(word) if word == "merge" => return merge::command(parser),
            Long("top") => top.set(parser.value()?)?,
            Long("time") => time.set(parser.value()?)?,
            Long("threads") => threads.set(parser.value()?)?,
            Long("emit") => emit.set(parser.value()?)?,
            Long("surface") => surface.set(parser.value()?)?,
            Long("explain") => explain.set(parser.value()?)?,
            Long("html") => html.set(parser.value()?)?,
            Long("problems") => problems.set(parser.value()?)?,
            Long("shard") => shard.set(parser.value()?)?,
            Long("chain") => chained.set(parser.value()?)?,
            Long("json") => as_json = true,
            Long("no-cache") => is_cached = false,
            Long(name) => match asked.option(name) {
                Some(_) => {
                    let name = name.to_string();
                    let value = parser.value()?;
                    asked.option(&name).map_or(Ok(()), |option| option.set(value))?;
                }
                None => return Err(Long(name).unexpected().into()),
            },
            other => return Err(other.unexpected().into()),
        }
    }
    let explained = explain.number(MOST)?;
    let means = Means {
        top: top.number(MOST)?.unwrap_or(5).max(explained.unwrap_or(1)),
        time: duration(&time)?.unwrap_or(TIME),
        threads: threads.number(MOST_THREADS)?.unwrap_or(Search::default().threads),
        cache: Cache::of_project(is_cached && attend::is_program()),
    };
    if let Some(text) = chained.text()? {
        let others = [
            ("problems", &problems),
            ("shard", &shard),
            ("explain", &explain),
            ("surface", &surface),
            ("html", &html),
        ];
        if let Some((name, _)) = others.iter().find(|(_, option)| option.is_given()) {
            return Err(format!("`--chain` and `--{name}` exclude each other; give one of them").into());
        }
        return chain::command(&asked.chain(text)?, &means, emit.raw(), as_json);
    }
    if problems.is_given() {
        let others = [("emit", &emit), ("surface", &surface), ("explain", &explain), ("html", &html)];
        let other = others.iter().find_map(|(name, option)| option.is_given().then_some(*name));
        if let Some(other) = asked.given().or(other).or(as_json.then_some("json")) {
            return Err(format!("`--problems` and `--{other}` exclude each other; give one of them").into());
        }
        return problems::command(&problems, &shard, &means);
    }
    if shard.is_given() {
        return Err("--shard: there is no file of problems; write `--problems FILE.jsonl`, too".into());
    }
    if surface.is_given() && !emit.is_given() {
        return Err("--surface: no kernel is written; write `--emit FOLDER`, too".into());
    }
    if html.is_given() && emit.is_given() {
        return Err("`--html` and `--emit` write one file each; give one of them".into());
    }
    let (surface, task) = (Surface::of(&surface)?, asked.task()?);
    let outcome = found(&task, &means, String::new());
    let is_cut = outcome.is_stopped && !outcome.is_whole;
    let Some(best) = outcome.plans.first() else {
        if is_cut {
            let message = "it was stopped before the first plan was found; give it more time";
            return Ok(Output { code: attend::STOPPED, ..Output::default().refused(message) });
        }
        return Ok(Output::text(text::emptied(&outcome)).refused(&nothing_left(
            &task.problem,
            task.fixed.as_ref(),
            &outcome,
        )));
    };
    let stdout = match (as_json, explained) {
        (true, _) => format!("{:#}\n", serde_json::Value::from(json::answer(&outcome))),
        (false, None) => text::overview(&task, &outcome),
        (false, Some(number)) => match outcome.plans.get(number - 1) {
            Some(plan) => text::explanation(plan, &outcome),
            None => {
                return Err(format!(
                    "--explain: there is no plan {number}; {} were found",
                    outcome.plans.len()
                )
                .into());
            }
        },
    };
    let (folder, page) = (emit.raw().map(PathBuf::from), html.raw().map(PathBuf::from));
    if page.as_ref().is_some_and(|page| page.as_os_str().is_empty()) {
        return Err("--html: the name of the file is empty".into());
    }
    // The plan that was explained, or the best one.
    let chosen = explained.and_then(|number| outcome.plans.get(number - 1)).unwrap_or(best);
    let file = match (&folder, page) {
        (Some(folder), _) => Some((folder.join("plan.rs"), surface.source(chosen)?)),
        (None, Some(page)) => Some((page, page::page(&task.problem, &outcome))),
        (None, None) => None,
    };
    let code = if is_cut { attend::STOPPED } else { 0 };
    Ok(Output { folder, file, code, ..Output::text(stdout) })
}

/// The answer to a task, from the cache or from a search. `what` stands before the line of its progress.
fn found(task: &Task, means: &Means, what: String) -> Outcome {
    let line = Line::new(what);
    let watch = |progress: &furiosa_visa_plan::Progress| line.goes_on(progress);
    let options = Search {
        top: means.top,
        limit: Some(means.time),
        weights: task.weights,
        fixed: task.fixed.as_ref(),
        threads: means.threads,
        watch: Some(Watch(&watch)),
        ..Search::default()
    };
    best_of(task.parts.clone(), &options, |problem, options| {
        means.cache.read(problem, options).unwrap_or_else(|| {
            let outcome = search(problem, options);
            means.cache.write(problem, options, &outcome);
            outcome
        })
    })
}

/// The message of a space without a plan.
fn nothing_left(problem: &Problem, fixed: Option<&Fixed>, outcome: &Outcome) -> String {
    let fixed = fixed.map_or(String::new(), |fixed| format!(" with {}", fixed.text()));
    format!(
        "no mapping of `{}`{fixed} is left: {} choices, {} fit the memories, and rules refuse the others",
        problem.einsum,
        grouped(outcome.space.choices),
        grouped(outcome.space.fitting)
    )
}

/// The best plan of a contraction as the test of a crate, for `visa new --plan`: the text is an einsum, sizes and a type,
/// with spaces between them.
pub fn test_of(text: &str) -> Result<String, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ([einsum, axes] | [einsum, axes, _]) = words[..] else {
        return Err(format!(
            "`--plan`: `{}` is no einsum with sizes and a type; write for example --plan 'mk,nk->mn M=256,N=64,K=128 i8'",
            super::arguments::shown(text.as_ref())
        ));
    };
    let mut asked = Asked::by_keys();
    let given = [("einsum", Some(einsum)), ("axes", Some(axes)), ("dtype", words.get(2).copied())];
    for (name, value) in given {
        if let (Some(option), Some(value)) = (asked.option(name), value) {
            option.set(value.into()).map_err(|Refusal(message)| message)?;
        }
    }
    let task = asked.task().map_err(|Refusal(message)| format!("`--plan`: {message}"))?;
    let means =
        Means { top: 1, time: TIME, threads: Search::default().threads, cache: Cache::of_project(false) };
    let outcome = found(&task, &means, String::new());
    match outcome.plans.first() {
        Some(best) => Ok(best.source()),
        None => Err(format!("`--plan`: {}", nothing_left(&task.problem, None, &outcome))),
    }
}
