//! `visa diff` and `visa html`, on two recorded traces: `examples/04_timeline.rs` before and after loads overlap with
//! computation, cut to the operations.

use crate::{run, tool};
use serde_json::{Value, json};
use std::path::PathBuf;

const BEFORE: &str = include_str!("before.json");
const AFTER: &str = include_str!("after.json");

/// A file that ends with the test.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("visa-{}-{name}.json", std::process::id()));
        std::fs::write(&path, text).expect("is written");
        Self(path)
    }

    fn path(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn diff(name: &str, before: &str, after: &str) -> tool::Output {
    let (before, after) =
        (Temporary::new(&format!("{name}-before"), before), Temporary::new(&format!("{name}-after"), after));
    run(&["diff".to_string(), before.path(), after.path()])
}

/// The cells of the rows of a printed table that hold all of these texts.
fn rows(text: &str, parts: &[&str]) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|line| parts.iter().all(|part| line.contains(part)));
    lines
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect())
        .collect()
}

/// Cycles of the operations of a recording, summed independently of the tool.
fn cycles(trace: &str, operation: &str, line: &str) -> u64 {
    let trace: Value = serde_json::from_str(trace).expect("it is JSON");
    let events = trace["traceEvents"].as_array().expect("events").iter();
    let of_line = events.filter(|event| {
        event["args"]["operation"] == operation
            && event["args"]["line"].as_str().is_some_and(|given| given.ends_with(line))
    });
    of_line.map(|event| event["dur"].as_u64().expect("a number")).sum()
}

#[test]
fn two_recordings() {
    let output = diff("two", BEFORE, AFTER);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    // One kernel each: the new one stands in the place of the old one.
    let kernels = rows(&output.stdout, &["same_half → two_halves"]);
    assert_eq!(kernels, [["same_half → two_halves", "1", "38316", "37576", "-740", "-1.9 %"]]);
    let loads = rows(&output.stdout, &["two_halves", "to_trf", "04_timeline.rs:53"]);
    let (before, after) = (cycles(BEFORE, "to_trf", ":53"), cycles(AFTER, "to_trf", ":53"));
    assert!(before > 0 && after > before, "loads that overlap with products wait for banks");
    let [before, more] = [before.to_string(), format!("+{}", after - before)];
    let after = after.to_string();
    let expected = ["two_halves", "sub", "to_trf", "04_timeline.rs:53", "4", "fetch", &before, &after, &more];
    assert_eq!(loads, [expected]);
    // The greatest change comes first.
    let table = output.stdout.split("cycles of the operations of each line").nth(1).expect("a table");
    assert!(table.lines().nth(3).is_some_and(|line| line.contains("to_trf")), "{table}");
    for path in
        ["critical path before: same_half, 38316 cycles\n", "critical path after: two_halves, 37576 cycles\n"]
    {
        assert!(output.stdout.contains(path), "{}", output.stdout);
    }
}

#[test]
fn an_edit_that_moves_lines_changes_nothing() {
    let moved = BEFORE
        .replace("04_timeline.rs:69", "04_timeline.rs:70x")
        .replace("04_timeline.rs:70\"", "04_timeline.rs:71\"");
    let moved = moved.replace("04_timeline.rs:70x", "04_timeline.rs:70");
    let output = diff("moved", BEFORE, &moved);
    let text = &output.stdout;
    assert_eq!(rows(text, &["to_dm", "04_timeline.rs:69 → 04_timeline.rs:70"]).len(), 1, "{text}");
    assert_eq!(rows(text, &["to_dm", "04_timeline.rs:70 → 04_timeline.rs:71"]).len(), 1, "{text}");
    let lines = text
        .split("cycles of the operations of each line")
        .nth(1)
        .and_then(|rest| rest.split("critical").next());
    for row in rows(lines.expect("a table"), &["04_timeline.rs"]) {
        assert_eq!(row.last().map(String::as_str), Some("0"), "{text}");
    }
}

/// Two lines load; a third one between them makes another tensor.
#[test]
fn a_line_that_is_new() {
    let mut trace: Value = serde_json::from_str(BEFORE).expect("it is JSON");
    let events = trace["traceEvents"].as_array_mut().expect("events");
    let load = |event: &Value| event["args"]["operation"] == "to_dm";
    let place = events.iter().position(load).expect("it loads");
    let mut new = events[place].clone();
    (new["args"]["line"], new["dur"]) = (json!("examples/04_timeline.rs:68"), json!(7));
    new["name"] = json!("to_dm 04_timeline.rs:68 i8 m![X]");
    events.insert(place, new);
    let trace = trace.to_string();
    for (k, (before, after)) in [(BEFORE, trace.as_str()), (&trace, BEFORE)].into_iter().enumerate() {
        let text = diff(&format!("new-{k}"), before, after).stdout;
        let loads = rows(&text, &["to_dm", "04_timeline.rs:68"]);
        let expected = [
            ["- → 04_timeline.rs:68", "- → 1", "-", "7", "+7"],
            ["04_timeline.rs:68 → -", "1 → -", "7", "-", "-7"],
        ];
        assert_eq!([3, 4, 6, 7, 8].map(|cell| loads[0][cell].as_str()), expected[k], "{text}");
        for line in ["04_timeline.rs:69", "04_timeline.rs:70"] {
            let same = rows(&text, &["to_dm", line, "| HBM "]);
            assert!(same.iter().any(|row| row[3] == line && row[8] == "0"), "{text}");
        }
    }
}

#[test]
fn traces_that_are_refused() {
    let refused = |arguments: &[&str], message: &str| {
        let output = run(arguments);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(message) && output.file.is_none(), "{output:?}");
    };
    refused(&["diff"], "two traces are compared; write for example visa diff before.json after.json");
    refused(&["diff", "a.json"], "two traces are compared");
    refused(&["html"], "the trace is missing; write for example visa html trace.json -o run.html");
    refused(&["html", "no/such.json"], "`no/such.json` cannot be read: ");
    let whole = Temporary::new("whole", BEFORE);
    refused(&["diff", &whole.path(), "no/such.json"], "`VISA_TRACE=no/such.json` has a program write it");
    refused(&["html", &whole.path(), "-o", ""], "--output: the name of the file is empty");
    let page = Temporary::new("x.html", BEFORE);
    let named = page.0.with_extension("");
    refused(&["html", &page.path(), "-o", &page.path()], "the page would replace the trace `");
    assert!(named.to_string_lossy().ends_with(".html"));
    std::fs::copy(&page.0, &named).expect("is written");
    refused(&["html", &named.to_string_lossy()], "name another file, for example visa html ");
    std::fs::remove_file(&named).expect("it is there");
    let cut = Temporary::new("cut", &BEFORE[..BEFORE.len() / 2]);
    refused(&["diff", &whole.path(), &cut.path()], "to its end");
    refused(&["html", &cut.path()], ": it is cut: the program that wrote it was stopped before the end");
    #[cfg(unix)]
    {
        let link = page.0.with_extension("link");
        std::fs::hard_link(&page.0, &link).expect("a second name");
        refused(&["html", &page.path(), "-o", &link.to_string_lossy()], "the page would replace the trace `");
        std::fs::remove_file(&link).expect("it is there");
    }
    let other = Temporary::new("other", "{\"traceEvents\":[]}");
    refused(&["html", &other.path()], "is no trace of this version");
}

/// A terminal shows what somebody else wrote into a trace, and does not obey it.
#[test]
fn control_characters_are_shown() {
    let with = |text: &str, hostile: &str| {
        let mut trace: Value = serde_json::from_str(text).expect("it is JSON");
        for event in trace["traceEvents"].as_array_mut().expect("events") {
            for key in ["kernel", "line", "context", "operation", "bound by"] {
                event["args"][key] = json!(hostile);
            }
        }
        for kernel in trace["visa"]["kernels"].as_array_mut().expect("kernels") {
            kernel["name"] = json!(hostile);
        }
        trace.to_string()
    };
    let hostile = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\r\nx";
    let output = diff("hostile", &with(BEFORE, hostile), &with(AFTER, hostile));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains(r"\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\r\nx"), "{}", output.stdout);
    assert!(output.stdout.chars().all(|letter| letter == '\n' || !letter.is_control()), "{}", output.stdout);
    let no_trace = Temporary::new(
        "hostile",
        "{\"traceEvents\":[],\"visa\":{\"format\":1,\"cycles\":0,\"kernels\":[{\"start\":\"\u{9b}2J\"}]}}",
    );
    let text = run(&["html".to_string(), no_trace.path()]).stderr;
    assert!(text.contains(r"\u{9b}2J") && !text.contains('\u{9b}'), "{text}");
}

#[test]
fn a_page() {
    let trace = Temporary::new("page", BEFORE);
    let output = run(&["html".to_string(), trace.path()]);
    assert_eq!(output.code, 0, "{output:?}");
    let (path, page) = output.file.expect("a page is written");
    assert_eq!(path, trace.0.with_extension("html"));
    // One file that loads nothing.
    assert!(page.starts_with("<!doctype html>") && page.contains("default-src 'none'"));
    for outside in ["<link", " src=", "@import", "url(", "fetch(", "import("] {
        assert!(!page.contains(outside), "{outside}");
    }
    // Every operation is there, and nothing that is read ends the script that it is in.
    let (_, data) = page.split_once("id=\"data\">").expect("there are data");
    let (data, _) = data.split_once('<').expect("they end");
    let data: Value = serde_json::from_str(data).expect("they are JSON");
    assert_eq!(data["operations"]["number"].as_array().map(Vec::len), Some(26));
    let starts = data["operations"]["start"].as_array().expect("a column");
    let trace: Value = serde_json::from_str(BEFORE).expect("it is JSON");
    let mut expected: Vec<Value> =
        trace["traceEvents"].as_array().expect("events").iter().map(|event| event["ts"].clone()).collect();
    expected.sort_by_key(Value::as_u64);
    let mut found = starts.clone();
    found.sort_by_key(Value::as_u64);
    assert_eq!(found, expected);
}
