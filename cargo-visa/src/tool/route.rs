//! `visa route`: the ways from one layout to another, with their cycles and calls.

use super::arguments::{Once, shown};
use super::table::table;
use super::{Output, ROUTE_HELP, Refusal};
use furiosa_visa_plan::route::{Outcome, Place, Problem, Refused, Way, route};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::text::grouped;
use serde_json::json;
use std::ffi::OsStr;

/// Ways whose calls are printed if nothing is said.
const SHOWN: usize = 3;
/// The most ways that are listed.
const MOST: usize = 100;

/// Runs the command. `parser` is placed after its name.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short, Value};
    let (mut axes, mut dtype, mut top) = (Once::new("--axes"), Once::new("--dtype"), Once::new("--top"));
    let (mut from, mut to, mut as_json) = (Once::new("FROM"), Once::new("TO"), false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(ROUTE_HELP)),
            Long("axes") => axes.set(parser.value()?)?,
            Long("dtype") => dtype.set(parser.value()?)?,
            Long("top") => top.set(parser.value()?)?,
            Long("json") => as_json = true,
            Value(value) => match (from.text()?, to.text()?) {
                (None, _) => from.set(value)?,
                (_, None) => to.set(value)?,
                _ => {
                    let given = shown(&value);
                    return Err(format!("`{given}` is a third layout; give two: FROM and TO").into());
                }
            },
            other => return Err(other.unexpected().into()),
        }
    }
    let axes = axes.axes()?;
    let element = dtype.element_type(true)?.unwrap_or(ElementType::I8);
    if !element.is_stored() {
        return Err(format!("--dtype: no memory holds {element}; name the stored type").into());
    }
    let top = top.number(MOST)?.unwrap_or(SHOWN);
    let places = [("FROM", &from), ("TO", &to)].map(|(name, value)| place(name, value, &axes));
    let [from, to] = places;
    let problem = Problem::new(axes, element, from?, to?)?;
    let outcome = route(&problem, Default::default());
    let stdout = if as_json { to_json(&outcome) } else { overview(&problem, &outcome, top) };
    let output = Output::text(stdout);
    if outcome.ways.is_empty() {
        let message =
            "no way is left; the rules that refuse each step are listed: change a layout as one of them says";
        return Ok(output.refused(message));
    }
    Ok(output)
}

/// A layout as an argument: `hbm: m![M, K]`, or `dm: m![1 # 2], m![M / 2], m![M % 2, K]`.
fn place(name: &str, value: &Once, axes: &Axes) -> Result<Place, Refusal> {
    const FORMS: &str =
        "'hbm: m![M, K]', or 'dm: m![1 # 2], m![M / 2], m![M % 2, K]' with cluster, slice and element";
    let Some(text) = value.text()? else {
        return Err(format!("the layout {name} is missing; write {FORMS}").into());
    };
    let given = shown(OsStr::new(text));
    let Some((memory, mappings)) = text.split_once(':') else {
        return Err(format!("{name}: `{given}` names no memory; write {FORMS}").into());
    };
    let Some(texts) = mappings_of(mappings) else {
        return Err(format!("{name}: `{given}` is no list of mappings; write {FORMS}").into());
    };
    let exprs = texts
        .iter()
        .map(|text| parse_mapping(text, axes).map_err(|error| Refusal(format!("{name}: {error}"))))
        .collect::<Result<Vec<&'static Expr>, Refusal>>()?;
    match (memory.trim(), &exprs[..]) {
        ("hbm", &[element]) => Ok(Place::Hbm { element }),
        ("dm", &[cluster, slice, element]) => Ok(Place::Dm { cluster, slice, element }),
        ("hbm" | "dm", _) => Err(format!(
            "{name}: `{given}` has {} mapping{}; write {FORMS}",
            exprs.len(),
            if exprs.len() == 1 { "" } else { "s" }
        )
        .into()),
        (memory, _) => {
            let memory = shown(OsStr::new(memory));
            Err(format!("{name}: `{memory}` is no memory; the memories are `hbm` and `dm`: write {FORMS}")
                .into())
        }
    }
}

/// The text between the brackets of each `m![…]` of a list. `None`: it is no such list.
fn mappings_of(text: &str) -> Option<Vec<String>> {
    let (mut found, mut rest) = (Vec::new(), text.trim());
    loop {
        let inside = rest.strip_prefix("m![")?;
        let mut open = 1usize;
        let end = inside.find(|letter| {
            match letter {
                '[' => open += 1,
                ']' => open -= 1,
                _ => {}
            }
            open == 0
        })?;
        found.push(inside[..end].to_string());
        rest = inside[end + 1..].trim_start();
        if rest.is_empty() {
            return Some(found);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

fn overview(problem: &Problem, outcome: &Outcome, top: usize) -> String {
    let mut text = format!(
        "x        {}\ny        {}\n",
        problem.from.type_text(problem.element),
        problem.to.type_text(problem.element)
    );
    if !outcome.ways.is_empty() {
        text += &format!("\n{}", ways(&outcome.ways));
    }
    for (number, way) in outcome.ways.iter().take(top).enumerate() {
        text += &format!("\n{}. {}: {} cycles\n\n", number + 1, way.name, grouped(way.cycles));
        text.extend(way.calls.lines().map(|line| format!("    {line}\n")));
    }
    text + &refusals(outcome)
}

fn ways(ways: &[Way]) -> String {
    let rows: Vec<Vec<String>> = (ways.iter().enumerate())
        .map(|(number, way)| {
            let between = way.between.as_ref().map_or(String::new(), Place::text);
            vec![(number + 1).to_string(), grouped(way.cycles), way.name.clone(), between]
        })
        .collect();
    table(&["way", "cycles", "steps", "between"], &rows)
}

/// The steps that rules refuse: those of one step with the message, if none of their kind was found.
fn refusals(outcome: &Outcome) -> String {
    let mut text = String::new();
    let is_found = |refused: &Refused| outcome.ways.iter().any(|way| way.name == refused.step);
    for refused in outcome.refused.iter().filter(|refused| !is_found(refused)) {
        let count =
            if refused.count == 1 { String::new() } else { format!(", {} times", grouped(refused.count)) };
        text +=
            &format!("\nrefused  {} by `{}`{count}\n    {}\n", refused.step, refused.rule, refused.message);
    }
    let counts: Vec<String> = outcome
        .refused_of_two
        .iter()
        .map(|(rule, count)| format!("{} by `{rule}`", grouped(*count)))
        .collect();
    if !counts.is_empty() {
        text += &format!("\nrefused in ways of two steps: {}\n", counts.join(", "));
    }
    text
}

fn to_json(outcome: &Outcome) -> String {
    let ways: Vec<_> = (outcome.ways.iter())
        .map(|way| {
            json!({
                "name": way.name,
                "cycles": way.cycles,
                "between": way.between.as_ref().map(Place::text),
                "calls": way.calls,
            })
        })
        .collect();
    let refused: Vec<_> = (outcome.refused.iter())
        .map(|refused| {
            json!({
                "step": refused.step, "rule": refused.rule, "count": refused.count, "message": refused.message,
            })
        })
        .collect();
    let all = json!({ "ways": ways, "refused": refused, "refused_of_two": outcome.refused_of_two });
    format!("{all:#}\n")
}
