//! `visa plan merge`: the answers of all shards as those of one run.

use super::super::arguments::shown;
use super::super::{Output, PLAN_HELP, Refusal};
use super::digest::digest;
use super::problems::{FORMAT, Lines, Shard, read};
use serde_json::{Map, Value};
use std::ffi::OsString;

/// The answers of a shard.
#[derive(Debug)]
struct Part {
    name: String,
    shard: Shard,
    /// Header that all shards of a run have.
    header: Map<String, Value>,
    lines: Vec<String>,
}

/// `visa plan merge FILE…`.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short, Value};
    let mut files: Vec<OsString> = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(PLAN_HELP)),
            Value(file) => files.push(file),
            other => return Err(other.unexpected().into()),
        }
    }
    if files.is_empty() {
        return Err("the files are missing; write for example visa plan merge shard-*.jsonl".into());
    }
    let mut parts: Vec<Part> = Vec::new();
    for file in &files {
        let part = part(shown(file), &read(file)?)?;
        if let Some(first) = parts.first() {
            same_run(first, &part)?;
        }
        if let Some(other) = parts.iter().find(|other| other.shard == part.shard) {
            return Err(format!(
                "merge: the shard {} is given twice, as `{}` and as `{}`; give it once",
                part.shard, other.name, part.name
            )
            .into());
        }
        parts.push(part);
    }
    parts.sort_by_key(|part| part.shard.number);
    let of = parts[0].shard.of;
    let missing: Vec<String> = (1..=of)
        .filter(|number| !parts.iter().any(|part| part.shard.number == *number))
        .map(|number| Shard { number, of }.to_string())
        .collect();
    if !missing.is_empty() {
        let listed = missing.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
        let more =
            if missing.len() > 10 { format!(" and {} more", missing.len() - 10) } else { String::new() };
        return Err(format!(
            "merge: {} of {of} shards are missing: {listed}{more}; run `visa plan --problems … --shard K/{of}` for each",
            missing.len()
        )
        .into());
    }
    let total: usize = parts.iter().map(|part| part.lines.len()).sum();
    let mut lines = Lines::new(&parts[0].header, Shard { number: 1, of: 1 }, total);
    (0..total).for_each(|index| lines.add(&parts[index % of].lines[index / of]));
    Ok(Output::text(lines.ended()))
}

/// Reads a shard, and refuses what is cut or changed.
fn part(name: String, text: &str) -> Result<Part, Refusal> {
    let refuse = |why: &str| Refusal(format!("merge: `{name}` {why}"));
    let object = |line: &str| serde_json::from_str::<Map<String, Value>>(line).ok();
    let first = text.lines().next().and_then(object);
    let mut header = first.filter(|header| header.contains_key("format")).ok_or_else(|| {
        refuse("has no header in its first line, so it is no shard; give files of `visa plan --problems`")
    })?;
    if header.get("format").and_then(Value::as_u64) != Some(FORMAT) {
        return Err(refuse(&format!(
            "has the format {}, and this program reads {FORMAT}; merge with the program that wrote it",
            header["format"]
        )));
    }
    let cut = "is cut: its last line is no trailer; run its shard again";
    let body = text.strip_suffix('\n').ok_or_else(|| refuse(cut))?;
    let (body, last) = body.rsplit_once('\n').ok_or_else(|| refuse(cut))?;
    let trailer = object(last).filter(|own| own.len() == 2 && own.contains_key("digest"));
    let trailer = trailer.ok_or_else(|| refuse(cut))?;
    let lines: Vec<String> = body.lines().skip(1).map(str::to_string).collect();
    let count = |map: &Map<String, Value>, key: &str| map.get(key).and_then(Value::as_u64);
    if count(&trailer, "count") != Some(lines.len() as u64) {
        return Err(refuse(&format!(
            "is cut: its trailer counts {} problems, and {} are there; run its shard again",
            trailer.get("count").unwrap_or(&Value::Null),
            lines.len()
        )));
    }
    if trailer.get("digest").and_then(Value::as_str) != Some(&digest(&text.as_bytes()[..body.len() + 1])) {
        return Err(refuse(
            "is damaged: its lines have another digest than its trailer; run its shard again",
        ));
    }
    // Lines with the right digest, but not those of a shard, were made by hand.
    let shard = header.remove("shard").and_then(|shard| Shard::read(shard.as_str()?));
    let total = count(&header, "total");
    let own_count = header.remove("count").and_then(|count| count.as_u64());
    let is_shard = shard.zip(total).is_some_and(|(shard, total)| {
        let expected = shard.indices(total as usize).take(lines.len() + 1);
        let found = lines.iter().map(|line| count(&object(line)?, "index"));
        own_count == Some(lines.len() as u64) && found.eq(expected.map(|index| Some(index as u64)))
    });
    match shard.filter(|_| is_shard) {
        Some(shard) => Ok(Part { name, shard, header, lines }),
        None => Err(refuse("has other problems than its header says; run its shard again")),
    }
}

/// Refuses shards of two runs.
fn same_run(first: &Part, other: &Part) -> Result<(), Refusal> {
    let differs = |key: &str, own: String, others: String| -> Result<(), Refusal> {
        let (first, other) = (&first.name, &other.name);
        Err(format!(
            "merge: `{other}` is of another run than `{first}`: its {key} is {others}, and not {own}; give the shards of one run"
        )
        .into())
    };
    if first.shard.of != other.shard.of {
        return differs("number of shards", first.shard.of.to_string(), other.shard.of.to_string());
    }
    let text = |part: &Part, key: &str| part.header.get(key).map_or("none".to_string(), ToString::to_string);
    let mut keys: Vec<&String> = first.header.keys().chain(other.header.keys()).collect();
    keys.sort();
    for key in keys {
        if first.header.get(key) != other.header.get(key) {
            return differs(&format!("`{key}`"), text(first, key), text(other, key));
        }
    }
    Ok(())
}
