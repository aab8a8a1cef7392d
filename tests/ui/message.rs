//! What a user reads of the compiler's messages, without what changes when the library is edited.

use serde_json::Value;
use std::collections::BTreeMap;

/// Where the library is.
const LIBRARY: &str = "$LIB";

/// The compiler's messages, given as JSON, one per line.
pub fn user_facing(lines: &str) -> String {
    let mut texts = Vec::new();
    for line in lines.lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(diagnostic) => {
                if let Some(text) = diagnostic["rendered"].as_str().filter(|_| !is_noise(&diagnostic)) {
                    texts.push(without_library(text));
                }
            }
            // What is not from the compiler proper, such as a crash or the linker.
            Err(_) => texts.push(format!("{line}\n")),
        }
    }
    texts.join("\n")
}

/// Words of the compiler about a program that is a module of a crate.
#[derive(Default)]
pub struct Said {
    /// The message, as it would be of the program alone.
    pub message: String,
    /// All errors, and those that a user reads.
    pub errors: (usize, usize),
}

/// The messages of a crate whose modules are programs, by the name of the program. An error at a line of the library belongs to
/// the program that the note behind it names. A message that no name follows is left out.
pub fn by_program(lines: &str) -> BTreeMap<String, Said> {
    let mut programs: BTreeMap<String, Said> = BTreeMap::new();
    let mut before = Said::default();
    for line in lines.lines() {
        let Ok(diagnostic) = serde_json::from_str::<Value>(line) else { continue };
        let (errors, read) = errors(line);
        before.errors = (before.errors.0 + errors, before.errors.1 + read);
        let Some(text) = diagnostic["rendered"].as_str().filter(|_| !is_noise(&diagnostic)) else { continue };
        if !before.message.is_empty() {
            before.message.push('\n');
        }
        before.message += &without_library(text);
        let file = text.split_once("refused/").and_then(|(_, rest)| rest.split_once(".rs"));
        let Some((name, _)) = file else { continue };
        let of_program = programs.entry(name.to_string()).or_default();
        if !of_program.message.is_empty() {
            of_program.message.push('\n');
        }
        let Said { message, errors } = std::mem::take(&mut before);
        of_program.message += &message.replace(&format!("{name}::"), "");
        of_program.errors = (of_program.errors.0 + errors.0, of_program.errors.1 + errors.1);
    }
    programs
}

/// What the library says in the first line of a message, as opposed to what the compiler says of itself. In errors about
/// traits these are the words of `#[diagnostic::on_unimplemented]`.
pub fn words_of_the_library(message: &str) -> Option<&str> {
    let first = message.lines().next()?;
    match first.split_once("evaluation panicked: ") {
        Some((_, words)) => Some(words),
        None => first.strip_prefix("error: ").or_else(|| first.strip_prefix("error[E0277]: ")),
    }
}

/// The most diagnostics that the compiler may give for one error that a user reads: the error itself, and
/// `erroneous constant encountered` for each step of the library up to the user's call.
pub const MOST_PER_ERROR: usize = 4;

/// How many errors the compiler gives, and how many of them a user reads.
pub fn errors(lines: &str) -> (usize, usize) {
    let diagnostics = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let errors: Vec<Value> = diagnostics
        .filter(|diagnostic| {
            diagnostic["level"] == "error"
                && diagnostic["spans"].as_array().is_some_and(|spans| !spans.is_empty())
        })
        .collect();
    (errors.len(), errors.iter().filter(|diagnostic| !is_noise(diagnostic)).count())
}

/// Counts of errors, and the steps of the library between the refused constant and the user's call.
fn is_noise(diagnostic: &Value) -> bool {
    let message = diagnostic["message"].as_str().unwrap_or_default();
    let no_place = diagnostic["spans"].as_array().is_none_or(Vec::is_empty);
    let counts = no_place && (message.starts_with("aborting due to") || message.ends_with(" emitted"));
    let files =
        diagnostic["spans"].as_array().into_iter().flatten().filter_map(|span| span["file_name"].as_str());
    let step = message == "erroneous constant encountered" && files.into_iter().all(|file| !is_users(file));
    counts || step || diagnostic["level"] == "failure-note"
}

fn is_users(file: &str) -> bool {
    ["refused/", "accepted/"].iter().any(|folder| file.starts_with(folder))
}

/// A message with the user's lines alone.
fn without_library(text: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut in_library = false;
    let mut left_out = false;
    let mut old_margin = None;
    for line in text.trim_end().lines() {
        if let Some((margin, arrow, file)) = place(line) {
            old_margin.get_or_insert(margin);
            in_library = !is_users(file);
            if in_library {
                let line = format!("{}--> {LIBRARY}", " ".repeat(margin));
                if arrow == "-->" && kept.last() != Some(&line) {
                    kept.push(line);
                }
                continue;
            }
        } else if is_source(line) {
            if in_library {
                continue;
            }
        } else if is_about_long_names(line) {
            left_out = true;
            continue;
        } else if !line.starts_with(' ') {
            in_library = false;
        }
        let line = if is_source(line) { line.to_string() } else { short_paths(line) };
        // The margin that led to what is left out.
        if left_out && !line.starts_with(' ') && kept.last().is_some_and(|last| last.trim() == "|") {
            kept.pop();
        }
        left_out = false;
        kept.push(line);
    }
    if left_out && kept.last().is_some_and(|last| last.trim() == "|") {
        kept.pop();
    }
    let mut result = with_narrow_margin(&kept, old_margin.unwrap_or(0)).join("\n");
    result.push('\n');
    result
}

/// The margin, the arrow and the file of a line such as ` --> src/lib.rs:3:4`.
fn place(line: &str) -> Option<(usize, &str, &str)> {
    let rest = line.trim_start();
    let (arrow, file) = ["-->", ":::"].iter().find_map(|arrow| Some((*arrow, rest.strip_prefix(arrow)?)))?;
    let file = file.strip_prefix(' ')?;
    let end = file.find(".rs").map_or(file.len(), |end| end + 3);
    Some((line.len() - rest.len(), arrow, &file[..end]))
}

/// Whether a line quotes a program, or marks a part of it.
fn is_source(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    line == "..." || rest.starts_with('|') || (rest.starts_with(['+', '-', '~']) && rest.len() < line.len())
}

/// The compiler writes the full names of long types to a file.
fn is_about_long_names(line: &str) -> bool {
    let note = line.trim_start().strip_prefix("= note: ").unwrap_or_default();
    note.starts_with("the full name for the type has been written to")
        || note.starts_with("the full type name has been written to")
        || note.starts_with("consider using `--verbose` to print the full type name")
}

/// The margin has room for the largest line number. Without the library's numbers it may be narrower.
fn with_narrow_margin(lines: &[String], old: usize) -> Vec<String> {
    let digits = |line: &String| line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let new = lines.iter().filter(|line| is_source(line)).map(digits).max().unwrap_or(0).max(1);
    let Some(surplus) = old.checked_sub(new).filter(|surplus| *surplus > 0) else { return lines.to_vec() };
    let narrow = |line: &String| {
        let number = digits(line);
        let (before, after) = line.split_at(number);
        match after.strip_prefix(&" ".repeat(surplus)) {
            Some(after) if number == 0 || is_source(line) => format!("{before}{after}"),
            _ => line.clone(),
        }
    };
    lines.iter().map(narrow).collect()
}

/// Items of the library without the modules that they are in: those change when files move. A path to import stays.
fn short_paths(line: &str) -> String {
    const CRATE: &str = "furiosa_visa_std::";
    if line.contains(&format!("use {CRATE}")) {
        return line.to_string();
    }
    let mut result = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(CRATE) {
        result.push_str(&rest[..start]);
        rest = without_modules(&rest[start + CRATE.len()..]);
    }
    result.push_str(rest);
    // `engine::fetch::<impl StreamTensor<…>>::fetch`
    while let Some(start) = result.find("::<impl ") {
        let is_path = |c: char| c.is_ascii_lowercase() || c == '_' || c == ':';
        let path = result[..start].trim_end_matches(is_path).len();
        result.replace_range(path..start + 2, "");
    }
    result
}

/// A path from its first type, or its last part.
fn without_modules(mut path: &str) -> &str {
    while let Some((module, rest)) = path.split_once("::") {
        let is_module = !module.is_empty() && module.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if !is_module || !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            break;
        }
        path = rest;
    }
    path
}

#[test]
fn only_the_users_lines_are_left() {
    let text = "error[E0080]: evaluation panicked: fetch: no\n    --> LIBRARY/src/engine/fetch.rs:1030:7\n     |\n1030 |         \
                panic!()\n     |         ^^^ failed\n     = note: evaluation of `furiosa_visa_std::engine::fetch::FetchPlan::<\
                furiosa_visa_std::prelude::bf16>::CONFIG` failed\n\nnote: while instantiating `fn engine::fetch::<impl \
                Stream<'_>>::fetch`\n    --> refused/x.rs:9:5\n     |\n9    |     call();\n     |     ^^^^\n     |\n     = note: \
                the full name for the type has been written to 'x.txt'\n\n";
    let expected = "error[E0080]: evaluation panicked: fetch: no\n --> $LIB\n  = note: evaluation of \
                    `FetchPlan::<bf16>::CONFIG` failed\n\nnote: while instantiating `fn <impl Stream<'_>>::fetch`\n --> \
                    refused/x.rs:9:5\n  |\n9 |     call();\n  |     ^^^^\n";
    assert_eq!(without_library(text), expected);
    assert_eq!(words_of_the_library(expected), Some("fetch: no"));
    assert_eq!(words_of_the_library("error[E0277]: no tensor holds `i9`\n"), Some("no tensor holds `i9`"));
    assert_eq!(words_of_the_library("error[E0599]: no method named `f`\n"), None);
}

#[test]
fn errors_that_a_user_does_not_read_are_counted() {
    let error = |message: &str, file: &str| {
        format!(r#"{{"level":"error","message":"{message}","spans":[{{"file_name":"{file}"}}]}}"#)
    };
    let step = error("erroneous constant encountered", "src/engine.rs");
    let lines = [
        error("evaluation panicked: fetch: no", "refused/x.rs"),
        step.clone(),
        step,
        r#"{"level":"error","message":"aborting due to 3 previous errors","spans":[]}"#.to_string(),
    ];
    assert_eq!(errors(&lines.join("\n")), (3, 1));
}

#[test]
fn a_path_to_import_stays() {
    let line = "help: consider importing: `use furiosa_visa_std::runtime::launch`";
    assert_eq!(short_paths(line), line);
}

#[test]
fn messages_of_modules_are_those_of_programs() {
    let diagnostic = |level: &str, text: &str| {
        let spans = serde_json::json!([{ "file_name": "src/engine.rs" }]);
        serde_json::json!({ "level": level, "message": "no", "rendered": text, "spans": spans }).to_string()
    };
    let error =
        |of: &str| format!("error[E0080]: evaluation of `{of}::A` panicked: no\n --> src/engine.rs:3:4\n");
    let note = |of: &str| format!("note: in `{of}::kernel`\n --> refused/{of}.rs:5:6\n");
    let lines = [
        diagnostic("error", &error("x")),
        diagnostic("note", &note("x")),
        diagnostic("error", &error("y")),
        diagnostic("note", &note("y")),
        diagnostic("error", "error: of no program\n"),
    ];
    let found = by_program(&lines.join("\n"));
    assert_eq!(found.keys().collect::<Vec<_>>(), ["x", "y"]);
    let alone = "error[E0080]: evaluation of `A` panicked: no\n --> $LIB\n\nnote: in `kernel`\n --> refused/y.rs:5:6\n";
    assert_eq!((found["y"].message.as_str(), found["y"].errors), (alone, (1, 1)));
}
