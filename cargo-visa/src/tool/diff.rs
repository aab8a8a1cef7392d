//! `visa diff`: two runs, line by line.
//!
//! Operations have stable names: kernel, context, call, and the place of their line among the lines that make this call
//! there. If both runs have as many such lines, they are paired in order, so an edit that moves lines changes nothing.
//! Otherwise lines are paired that write tensors of the same type and layout, as many in order as possible; other lines
//! are new or gone. Kernels have names. Kernels that only one run has are paired in order, if both runs have as many.

use super::table::{printable, table};
use super::{DIFF_HELP, Output, Refusal, traces};
use furiosa_visa_report::trace::{Run, RunOperation};
use std::collections::BTreeMap;

/// Steps of a critical path that are printed.
const STEPS: usize = 24;

/// `visa diff A.json B.json`.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short, Value};
    let mut paths = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(DIFF_HELP)),
            Value(value) if paths.len() < 2 => paths.push(value),
            other => return Err(other.unexpected().into()),
        }
    }
    let [before, after] = paths.as_slice() else {
        return Err("two traces are compared; write for example visa diff before.json after.json".into());
    };
    Ok(Output::text(compare(&traces::read(before)?, &traces::read(after)?)))
}

/// The text of the comparison.
fn compare(before: &Run, after: &Run) -> String {
    let renamed = renamed(before, after);
    let pairs = paired(&sites(before, &renamed), &sites(after, &BTreeMap::new()));
    let mut text = String::new();
    for (run, name) in [(before, "before"), (after, "after")] {
        if run.summary["interrupted"] == true {
            text += &format!("the run {name} was interrupted after {} cycles\n", run.cycles);
        }
        // A trace that would be too long ends before its run.
        if let Some(all) = run.summary["operations"].as_u64().filter(|all| *all > run.operations.len() as u64)
        {
            text += &format!("the trace {name} has {} of {all} operations\n", run.operations.len());
        }
    }
    text += &launches(before, after, &renamed);
    text += &lines(&pairs);
    for (run, name) in [(before, "before"), (after, "after")] {
        text += &critical_path(run, name);
    }
    text
}

fn signed(before: u64, after: u64) -> String {
    match after.checked_sub(before) {
        Some(0) => "0".to_string(),
        Some(more) => format!("+{more}"),
        None => format!("-{}", before - after),
    }
}

/// The change as a share of the earlier number.
fn share(before: u64, after: u64) -> String {
    if before == 0 {
        return "new".to_string();
    }
    let sign = if after < before { "-" } else { "+" };
    let tenths = (u128::from(before.abs_diff(after)) * 1000 + u128::from(before) / 2) / u128::from(before);
    format!("{sign}{}.{} %", tenths / 10, tenths % 10)
}

fn count(number: Option<u64>) -> String {
    number.map_or("-".to_string(), |number| number.to_string())
}

/// Names of kernels that only the first run has, with their counterparts in the other run.
fn renamed<'a>(before: &'a Run, after: &'a Run) -> BTreeMap<&'a str, &'a str> {
    let only = |run: &'a Run, other: &Run| {
        let mut names: Vec<&str> = Vec::new();
        for kernel in &run.kernels {
            let name = kernel.name.as_str();
            if !names.contains(&name) && other.kernels.iter().all(|other_kernel| other_kernel.name != name) {
                names.push(name);
            }
        }
        names
    };
    let (gone, new) = (only(before, after), only(after, before));
    if gone.len() == new.len() { gone.into_iter().zip(new).collect() } else { BTreeMap::new() }
}

/// The table of kernels by name: launches and the sum of their makespans.
fn launches(before: &Run, after: &Run, renamed: &BTreeMap<&str, &str>) -> String {
    let mut kernels: BTreeMap<&str, [Option<(u64, u64)>; 2]> = BTreeMap::new();
    for (k, run) in [before, after].into_iter().enumerate() {
        for kernel in &run.kernels {
            let name = kernel.name.as_str();
            let name = if k == 0 { renamed.get(name).copied().unwrap_or(name) } else { name };
            let (launches, cycles) = kernels.entry(name).or_default()[k].get_or_insert_default();
            *launches += 1;
            *cycles = cycles.saturating_add(kernel.makespan());
        }
    }
    let rows = kernels.into_iter().map(|(name, runs)| {
        let [a, b] = runs.map(|run| run.map(|(_, cycles)| cycles));
        let [many, more] = runs.map(|run| count(run.map(|(launches, _)| launches)));
        let launches = if many == more { many } else { format!("{many} → {more}") };
        let (first, second) = (a.unwrap_or(0), b.unwrap_or(0));
        let old = renamed.iter().find(|(_, new)| **new == name).map_or(name, |(old, _)| *old);
        vec![
            both(Some(old), Some(name)),
            launches,
            count(a),
            count(b),
            signed(first, second),
            share(first, second),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let heads = ["kernel", "launches", "before", "after", "difference", ""];
    format!("cycles from the first operation of a kernel to its last end\n{}", table(&heads, &rows))
}

/// The operations of a line: kernel, context and call, and their cycles.
#[derive(Clone, Debug, Default)]
struct Site<'a> {
    line: &'a str,
    /// The tensor that the first of them writes.
    tensor: &'a str,
    bound: &'a str,
    operations: u64,
    cycles: u64,
}

/// Kernel, context, call.
type Kind<'a> = [&'a str; 3];

/// Sites by kind, in the order in which they ran first.
fn sites<'a>(run: &'a Run, renamed: &BTreeMap<&str, &'a str>) -> BTreeMap<Kind<'a>, Vec<Site<'a>>> {
    let mut all: BTreeMap<Kind<'_>, Vec<Site<'_>>> = BTreeMap::new();
    for operation in &run.operations {
        let kernel = renamed.get(operation.kernel.as_str()).copied().unwrap_or(&operation.kernel);
        let kind = [kernel, operation.context.as_str(), operation.operation.as_str()];
        let sites = all.entry(kind).or_default();
        let known = sites.iter().position(|site| site.line == operation.line);
        let index = known.unwrap_or_else(|| {
            sites.push(Site {
                line: &operation.line,
                tensor: tensor(operation),
                bound: &operation.bound,
                ..Site::default()
            });
            sites.len() - 1
        });
        sites[index].operations += 1;
        sites[index].cycles = sites[index].cycles.saturating_add(operation.cycles);
    }
    all
}

/// The part of an operation's name after call and place: the tensor that it writes.
fn tensor(operation: &RunOperation) -> &str {
    operation
        .name
        .strip_prefix(operation.operation.as_str())
        .and_then(|rest| rest.trim_start().split_once(' '))
        .map_or("", |(_, tensor)| tensor)
}

/// A line in both runs, or in one of them.
type Pair<'a> = (Kind<'a>, Option<Site<'a>>, Option<Site<'a>>);

fn paired<'a>(
    before: &BTreeMap<Kind<'a>, Vec<Site<'a>>>,
    after: &BTreeMap<Kind<'a>, Vec<Site<'a>>>,
) -> Vec<Pair<'a>> {
    let mut kinds: Vec<Kind<'a>> = before.keys().chain(after.keys()).copied().collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut pairs = Vec::new();
    for kind in kinds {
        let [a, b] = [before, after].map(|sites| sites.get(&kind).map_or(&[][..], Vec::as_slice));
        let same: Vec<(usize, usize)> =
            if a.len() == b.len() { (0..a.len()).map(|k| (k, k)).collect() } else { longest_common(a, b) };
        let (mut from, mut to) = (0, 0);
        for (k, l) in same.into_iter().chain([(a.len(), b.len())]) {
            pairs.extend(a[from..k].iter().map(|site| (kind, Some(site.clone()), None)));
            pairs.extend(b[to..l].iter().map(|site| (kind, None, Some(site.clone()))));
            if let (Some(a), Some(b)) = (a.get(k), b.get(l)) {
                pairs.push((kind, Some(a.clone()), Some(b.clone())));
            }
            (from, to) = (k + 1, l + 1);
        }
    }
    pairs
}

/// Pairs of sites that write the same tensors, as many in order as possible.
fn longest_common(a: &[Site<'_>], b: &[Site<'_>]) -> Vec<(usize, usize)> {
    let mut longest = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for k in (0..a.len()).rev() {
        for l in (0..b.len()).rev() {
            longest[k][l] = if a[k].tensor == b[l].tensor {
                longest[k + 1][l + 1] + 1
            } else {
                longest[k + 1][l].max(longest[k][l + 1])
            };
        }
    }
    let (mut k, mut l, mut pairs) = (0, 0, Vec::new());
    while k < a.len() && l < b.len() {
        if a[k].tensor == b[l].tensor {
            pairs.push((k, l));
            (k, l) = (k + 1, l + 1);
        } else if longest[k + 1][l] >= longest[k][l + 1] {
            k += 1;
        } else {
            l += 1;
        }
    }
    pairs
}

/// The file without its folders, and the line.
fn place(line: &str) -> &str {
    line.rsplit(['/', '\\']).next().unwrap_or(line)
}

/// A text, or both texts if they differ.
fn both(a: Option<&str>, b: Option<&str>) -> String {
    match (a, b) {
        (Some(a), Some(b)) if a == b => a.to_string(),
        (a, b) => format!("{} → {}", a.unwrap_or("-"), b.unwrap_or("-")),
    }
}

/// The table of lines, with the greatest changes first.
fn lines(pairs: &[Pair<'_>]) -> String {
    let cycles = |site: &Option<Site<'_>>| site.as_ref().map_or(0, |site| site.cycles);
    let mut order: Vec<&Pair<'_>> = pairs.iter().collect();
    order.sort_by_key(|(_, a, b)| std::cmp::Reverse(cycles(a).abs_diff(cycles(b))));
    let rows: Vec<Vec<String>> = order
        .into_iter()
        .map(|([kernel, context, operation], a, b)| {
            let text = |of: fn(&Site<'_>) -> String| {
                let [a, b] = [a, b].map(|site| site.as_ref().map(of));
                both(a.as_deref(), b.as_deref())
            };
            let (first, second) = (cycles(a), cycles(b));
            vec![
                kernel.to_string(),
                context.to_string(),
                operation.to_string(),
                text(|site| place(site.line).to_string()),
                text(|site| site.operations.to_string()),
                text(|site| site.bound.to_string()),
                count(a.as_ref().map(|site| site.cycles)),
                count(b.as_ref().map(|site| site.cycles)),
                signed(first, second),
            ]
        })
        .collect();
    let heads =
        ["kernel", "engine", "operation", "line", "operations", "bound by", "before", "after", "difference"];
    format!("\ncycles of the operations of each line\n{}", table(&heads, &rows))
}

/// The critical path of the longest launch, with one row for neighbours of one line.
fn critical_path(run: &Run, name: &str) -> String {
    let paths = run.critical_paths();
    let longest = run.kernels.iter().zip(&paths).rev().max_by_key(|(kernel, _)| kernel.makespan());
    let Some((kernel, path)) = longest else {
        return format!("\ncritical path {name}: no kernel ran\n");
    };
    let mut rows: Vec<(&RunOperation, u64, u64)> = Vec::new();
    for operation in path {
        match rows.last_mut() {
            Some((last, operations, cycles))
                if (&last.line, &last.operation) == (&operation.line, &operation.operation) =>
            {
                (*operations, *cycles) = (*operations + 1, cycles.saturating_add(operation.cycles));
            }
            _ => rows.push((operation, 1, operation.cycles)),
        }
    }
    let mut text =
        format!("\ncritical path {name}: {}, {} cycles\n", printable(&kernel.name), kernel.makespan());
    let left = rows.len().saturating_sub(STEPS);
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .take(STEPS)
        .map(|(operation, operations, cycles)| {
            let place = place(&operation.line).to_string();
            vec![
                operation.context.clone(),
                operation.operation.clone(),
                place,
                operations.to_string(),
                operation.bound.clone(),
                cycles.to_string(),
            ]
        })
        .collect();
    text += &table(&["engine", "operation", "line", "operations", "bound by", "cycles"], &rows);
    if left > 0 {
        text += &format!("… and {left} more steps\n");
    }
    text
}
