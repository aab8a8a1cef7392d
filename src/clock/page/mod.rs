//! A run as one page: timeline, sums by line, memories, roofline, and what is known of whatever is clicked.
//!
//! The page is one file. It loads nothing: its policy forbids the browser to. Operations are columns of numbers with an
//! entry per different description, and the page draws only what can be seen, so that 100 000 slices move fluently.

use super::hints::Hint;
use super::ledger::Ledger;
use super::record::{Observer, Record};
use super::trace::{Run, RunChannel, TraceWriter};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 4] = [
    include_str!("data.js"),
    include_str!("timeline.js"),
    include_str!("panels.js"),
    include_str!("main.js"),
];

/// Operations of a page. Of a longer run it has the first ones, and says so.
pub const SHOWN: u64 = 100_000;

/// What differs between operations that are described alike.
const OWN: [&str; 7] = ["op", "launch", "cycles", "idle before", "waited for", "waited for op", "slowed by"];

/// The page of a run.
pub fn of_run(run: &Run, title: &str) -> String {
    // In a script, `<` could end it or begin a comment.
    let data = data(run, title).to_string().replace('<', "\\u003c");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let parts =
        [("@title@", title.as_str()), ("@style@", STYLE), ("@script@", &SCRIPTS.concat()), ("@data@", &data)];
    let mut page = String::with_capacity(PAGE.len() + STYLE.len() + data.len() + (1 << 16));
    let mut rest = PAGE;
    // In the order of the page, so that no text is looked for in one that was put in.
    for (mark, text) in parts {
        let (before, after) = rest.split_once(mark).expect("the page has each mark once, in order");
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page + rest
}

fn data(run: &Run, title: &str) -> Value {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut descriptions = Vec::new();
    let mut columns: Map<String, Value> = Map::new();
    let mut slowed = Map::new();
    let mut add = |name: &str, value: Value| match columns.get_mut(name) {
        Some(Value::Array(column)) => column.push(value),
        _ => {
            columns.insert(name.to_string(), Value::Array(vec![value]));
        }
    };
    for own in run.operations.iter().take(SHOWN as usize) {
        let mut args = own.args.clone();
        if let (Value::Object(args), false) = (&mut args, own.args["slowed by"] == json!([])) {
            slowed.insert(own.number.to_string(), args["slowed by"].clone());
        }
        if let Value::Object(args) = &mut args {
            OWN.iter().for_each(|key| drop(args.remove(*key)));
            args.insert("name".to_string(), own.name.as_str().into());
        }
        let description = *places.entry(args.to_string()).or_insert_with(|| {
            descriptions.push(args);
            descriptions.len() - 1
        });
        add("number", own.number.into());
        add("launch", own.launch.into());
        add("start", own.start.into());
        add("cycles", own.cycles.into());
        add("idle", own.args["idle before"].clone());
        add("wait", own.waited_for.map_or(json!(-1), Value::from));
        add("description", description.into());
        add("waited", own.args["waited for"].clone());
    }
    let last = run.operations.get(SHOWN as usize).map_or(u64::MAX, |own| own.number);
    let channels = run.channels.iter().filter(|own| own.operation < last);
    // A row each: numbers alone.
    let channels: Value = channels
        .map(|own| {
            let RunChannel { operation, chip, channel, start, cycles, busy_ticks, bytes } = own;
            json!([operation, chip, channel, start, cycles, busy_ticks, bytes])
        })
        .collect();
    let paths = run.critical_paths();
    let path: Vec<u64> = paths.iter().flatten().map(|own| own.number).collect();
    json!({
        "title": title,
        "operations": columns,
        "channels": channels,
        "descriptions": descriptions,
        "slowed": slowed,
        "path": path,
        "left out": (run.operations.len() as u64).saturating_sub(SHOWN),
        "summary": run.summary,
    })
}

/// Writes a page when the run ends.
pub struct PageWriter {
    trace: TraceWriter<Vec<u8>>,
    path: PathBuf,
    operations: u64,
}

impl PageWriter {
    /// A page at this path.
    pub fn new(path: PathBuf) -> Self {
        Self { trace: TraceWriter::new(Vec::new()), path, operations: 0 }
    }

    fn write(&self) -> Result<(), String> {
        let trace = core::str::from_utf8(self.trace.output()).map_err(|error| error.to_string())?;
        let title = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let page = of_run(&Run::parse(trace)?, &title);
        std::fs::write(&self.path, page).map_err(|error| error.to_string())
    }
}

impl Observer for PageWriter {
    fn ended(&mut self, record: &Record) {
        // What no page shows is not kept.
        self.operations += 1;
        if self.operations <= SHOWN {
            self.trace.ended(record);
        }
    }

    fn finish(&mut self, ledger: &Ledger, hints: &[Hint]) {
        self.trace.finish(ledger, hints);
        if let Err(error) = self.write() {
            // Where that stream is full or closed, too, nobody reads it.
            let _ = writeln!(io::stderr(), "{} is not written: {error}", self.path.display());
        }
    }
}
