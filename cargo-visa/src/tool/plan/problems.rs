//! Files of problems, one object a line, and the answers to a shard of them: a header, a line for each problem, a trailer.

use super::super::arguments::{Once, shown};
use super::super::{Output, Refusal};
use super::digest::{Digest, digest, numbers};
use super::options::{Asked, Task};
use super::{Means, attend, found, json, nothing_left};
use furiosa_visa_plan::Search;
use serde_json::{Map, Value, json};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};

/// The most bytes of a file.
pub const MOST_BYTES: u64 = 1 << 30;
/// The version of the lines.
pub const FORMAT: u64 = 1;
/// The most shards of a file.
const MOST_SHARDS: usize = 1 << 20;

/// A part of the problems: those whose number has the rest `number - 1` by `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1 on.
    pub number: usize,
    pub of: usize,
}

impl Shard {
    /// `2/8`.
    pub fn read(text: &str) -> Option<Self> {
        let (number, of) = text.trim().split_once('/')?;
        let shard = Self { number: number.parse().ok()?, of: of.parse().ok()? };
        ((1..=MOST_SHARDS).contains(&shard.of) && (1..=shard.of).contains(&shard.number)).then_some(shard)
    }

    /// The problems of this shard, if there are `total`.
    pub fn indices(self, total: usize) -> impl Iterator<Item = usize> {
        (self.number - 1..total).step_by(self.of)
    }
}

impl core::fmt::Display for Shard {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// The text of a file.
pub fn read(file: &OsStr) -> Result<String, Refusal> {
    let name = shown(file);
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| Refusal(format!("`{name}` cannot be read: {error}")))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Refusal(format!("`{name}` has more than {MOST_BYTES} bytes; split it")));
    }
    String::from_utf8(bytes).map_err(|_| Refusal(format!("`{name}` is no UTF-8 text")))
}

/// Lines of a shard, on their way to the standard output: a program that is killed has printed those that it has made.
#[derive(Debug, Default)]
pub struct Lines {
    digest: Digest,
    count: usize,
    /// Lines that are not printed yet.
    text: String,
}

impl Lines {
    /// Lines behind the header of a shard with `count` problems.
    pub fn new(header: &Map<String, Value>, shard: Shard, count: usize) -> Self {
        let mut header = header.clone();
        header.insert("shard".to_string(), shard.to_string().into());
        header.insert("count".to_string(), count.into());
        let mut lines = Self::default();
        lines.put(&Value::from(header).to_string());
        lines
    }

    /// The line of a problem.
    pub fn add(&mut self, line: &str) {
        self.put(line);
        self.count += 1;
    }

    /// Ends with the trailer, and returns the lines as far as they are not printed.
    pub fn ended(mut self) -> String {
        let trailer = json!({ "count": self.count, "digest": self.digest.to_string() });
        self.put(&trailer.to_string());
        self.text
    }

    fn put(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.digest.add(line.as_bytes());
        self.text += &line;
        if attend::is_program() {
            // The reader of a pipe may close it early, which is no mistake of this program.
            let _ = std::io::stdout().write_all(self.text.as_bytes());
            let _ = std::io::stdout().flush();
            self.text.clear();
        }
    }
}

/// `visa plan --problems FILE [--shard K/N]`.
pub fn command(file: &Once, shard: &Once, means: &Means) -> Result<Output, Refusal> {
    let shard = match shard.text()? {
        None => Shard { number: 1, of: 1 },
        Some(text) => Shard::read(text).ok_or_else(|| {
            let given = shown(OsStr::new(text));
            Refusal(format!("--shard: `{given}` is no shard; write K/N with K from 1 to N, for example 1/8"))
        })?,
    };
    let text = read(OsStr::new(file.text()?.unwrap_or_default()))?;
    let problems: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut header = Map::new();
    for (key, value) in [
        ("format", FORMAT.into()),
        ("library", env!("CARGO_PKG_VERSION").into()),
        ("numbers", Value::from(numbers(Search::default().profile))),
        ("problems", digest(text.as_bytes()).into()),
        ("total", problems.len().into()),
        ("top", means.top.into()),
        ("time", format!("{}ms", means.time.as_millis()).into()),
    ] {
        header.insert(key.to_string(), value);
    }
    let mut lines = Lines::new(&header, shard, shard.indices(problems.len()).count());
    for index in shard.indices(problems.len()) {
        let what = format!("problem {} of {}: ", index + 1, problems.len());
        let Some(line) = answered(index, problems[index], means, what) else {
            // Without a trailer, which the merge misses.
            let message = format!("it was stopped after {} problems of the shard; run it again", lines.count);
            return Ok(Output { code: attend::STOPPED, ..Output::text(lines.text).refused(&message) });
        };
        lines.add(&line);
    }
    Ok(Output::text(lines.ended()))
}

/// The line of a problem. `None` if somebody has stopped it.
fn answered(index: usize, line: &str, means: &Means, what: String) -> Option<String> {
    let object: Option<Map<String, Value>> = serde_json::from_str(line).ok();
    let given = object.clone().map_or_else(|| Value::from(line), Value::from);
    let mut keys = match object.as_ref().map_or_else(not_an_object, task) {
        Err(Refusal(message)) => error(message),
        Ok(task) => {
            let outcome = found(&task, means, what);
            if outcome.is_stopped && !outcome.is_whole {
                return None;
            }
            match outcome.plans.is_empty() {
                true => error(nothing_left(&task.problem, task.fixed.as_ref(), &outcome)),
                false => json::answer(&outcome),
            }
        }
    };
    keys.insert("index".to_string(), index.into());
    keys.insert("problem".to_string(), given);
    (!attend::is_stopped()).then(|| Value::from(keys).to_string())
}

fn error(message: String) -> Map<String, Value> {
    [("error".to_string(), Value::from(message))].into_iter().collect()
}

fn not_an_object() -> Result<Task, Refusal> {
    Err(Refusal(
        "the line is no object of JSON; write for example {\"einsum\": \"mk,nk->mn\", \"axes\": \"M=256,N=64,K=128\"}"
            .to_string(),
    ))
}

/// The task of a line.
fn task(object: &Map<String, Value>) -> Result<Task, Refusal> {
    let mut asked = Asked::by_keys();
    for (key, value) in object {
        let Some(option) = asked.option(key) else {
            // A name is for the reader.
            if key == "name" {
                continue;
            }
            let (key, names) = (shown(OsStr::new(key)), Asked::NAMES.join(", "));
            return Err(Refusal(format!("`{key}` is no key of a problem; the keys are {names} and name")));
        };
        let Value::String(text) = value else {
            let value = shown(OsStr::new(&value.to_string()));
            return Err(Refusal(format!("{key}: `{value}` is no text; write it in quotation marks")));
        };
        option.set(text.into())?;
    }
    asked.task()
}
