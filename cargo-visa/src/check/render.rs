//! A diagnostic as text, as rustc writes it.
//!
//! Every span has a row of its own below its line, so that labels never meet.

use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Maximum number of lines of a span. Of a longer span, only the first and the last lines are shown.
const MAX_LINES: usize = 8;

/// A span, or a line of a span, that is marked.
struct Mark<'d> {
    /// In characters, from 1.
    columns: (usize, usize),
    label: Cow<'d, str>,
    is_primary: bool,
}

/// The lines of one file.
#[derive(Default)]
struct Snippet<'d> {
    /// By number. Without a text: lines that are left out.
    lines: BTreeMap<usize, &'d str>,
    marks: BTreeMap<usize, Vec<Mark<'d>>>,
    /// Spans of several lines: first and last line, first and last column, label.
    blocks: Vec<(usize, usize, Mark<'d>)>,
}

struct Page {
    text: String,
    colour: bool,
    /// Digits of the largest line number.
    margin: usize,
}

/// The text of a diagnostic, with an empty line at its end.
pub fn render(diagnostic: &Value, colour: bool) -> String {
    let children = || list(diagnostic, "children");
    let all = std::iter::once(diagnostic).chain(children());
    let largest = all.flat_map(|part| list(part, "spans")).map(|span| number(span, "line_end")).max();
    let mut page = Page { text: String::new(), colour, margin: largest.unwrap_or(0).to_string().len() };

    let level = string(diagnostic, "level");
    let code = diagnostic["code"]["code"].as_str().map_or_else(String::new, |code| format!("[{code}]"));
    page.title(level, &code, string(diagnostic, "message"));
    page.spans(level, list(diagnostic, "spans"));
    let mut is_first = true;
    for child in children() {
        let (level, message) = (string(child, "level"), string(child, "message"));
        if list(child, "spans").next().is_some() {
            if is_first {
                page.row("", "");
            }
            page.title(level, "", message);
            page.spans(level, list(child, "spans"));
        } else {
            if is_first {
                page.row("", "");
            }
            let bold = page.painted("1", level);
            let indent = " ".repeat(page.margin + 3 + level.len() + 2);
            let message = message.replace('\n', &format!("\n{indent}"));
            let equals = page.painted("1;34", "=");
            let _ = writeln!(page.text, "{} {equals} {bold}: {message}", " ".repeat(page.margin));
        }
        is_first = false;
    }
    page.text.push('\n');
    page.text
}

impl Page {
    fn painted(&self, style: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_string() }
    }

    fn style(level: &str) -> &'static str {
        match level {
            "error" => "1;31",
            "warning" => "1;33",
            "help" => "1;36",
            _ => "1;32",
        }
    }

    fn title(&mut self, level: &str, code: &str, message: &str) {
        let head = self.painted(Self::style(level), &format!("{level}{code}"));
        let message = self.painted("1", &format!(": {message}"));
        let _ = writeln!(self.text, "{head}{message}");
    }

    /// A line behind the margin.
    fn row(&mut self, number: &str, text: &str) {
        let margin = self.painted("1;34", &format!("{number:margin$} |", margin = self.margin));
        let _ = writeln!(self.text, "{margin}{}{text}", if text.is_empty() { "" } else { " " });
    }

    fn spans<'d>(&mut self, level: &str, spans: impl Iterator<Item = &'d Value>) {
        let mut spans: Vec<&Value> = spans.collect();
        // The primary one says where the diagnostic is.
        spans.sort_by_key(|span| !span["is_primary"].as_bool().unwrap_or(false));
        let mut files: Vec<&str> = Vec::new();
        for span in &spans {
            let file = string(span, "file_name");
            if !files.contains(&file) {
                files.push(file);
            }
        }
        for (index, file) in files.iter().enumerate() {
            let of_file: Vec<&Value> =
                spans.iter().copied().filter(|span| string(span, "file_name") == *file).collect();
            let (line, column) = (number(of_file[0], "line_start"), number(of_file[0], "column_start"));
            let arrow = self.painted("1;34", if index == 0 { "-->" } else { ":::" });
            let _ = writeln!(self.text, "{}{arrow} {file}:{line}:{column}", " ".repeat(self.margin));
            self.row("", "");
            self.snippet(level, &Snippet::new(&of_file));
        }
    }

    fn snippet(&mut self, level: &str, snippet: &Snippet<'_>) {
        let room = if snippet.blocks.is_empty() { "" } else { "  " };
        let mut previous = None;
        for (&line, text) in &snippet.lines {
            if previous.is_some_and(|previous| previous + 1 != line) {
                self.text.push_str("...\n");
            }
            previous = Some(line);
            let is_inside = |block: &&(usize, usize, Mark<'_>)| block.0 < line && line <= block.1;
            let bar = match snippet.blocks.iter().find(is_inside) {
                Some((.., mark)) => self.painted(mark_style(level, mark), "|") + " ",
                None => room.to_string(),
            };
            let shown = text.replace('\t', "    ");
            self.row(&line.to_string(), format!("{bar}{shown}").trim_end());
            for mark in snippet.marks.get(&line).into_iter().flatten() {
                let (start, end) = (width(text, mark.columns.0), width(text, mark.columns.1));
                let sign = if mark.is_primary { "^" } else { "-" };
                let row = format!("{} {}", sign.repeat(end.saturating_sub(start).max(1)), mark.label);
                let row = self.painted(mark_style(level, mark), row.trim_end());
                self.row("", &format!("{room}{}{row}", " ".repeat(start)));
            }
            for (first, last, mark) in &snippet.blocks {
                let sign = if mark.is_primary { "^" } else { "-" };
                if *first == line {
                    let row = format!(" {}{sign}", "_".repeat(width(text, mark.columns.0) + 1));
                    let row = self.painted(mark_style(level, mark), &row);
                    self.row("", &row);
                } else if *last == line {
                    let end = width(text, mark.columns.1);
                    let row = format!("|{}{sign} {}", "_".repeat(end), mark.label);
                    let row = self.painted(mark_style(level, mark), row.trim_end());
                    self.row("", &row);
                }
            }
        }
    }
}

impl<'d> Snippet<'d> {
    fn new(spans: &[&'d Value]) -> Self {
        let mut snippet = Self::default();
        for span in spans {
            let (first, last) = (number(span, "line_start"), number(span, "line_end"));
            let columns = (number(span, "column_start"), number(span, "column_end"));
            let mark = Mark {
                columns,
                label: label(span),
                is_primary: span["is_primary"].as_bool().unwrap_or(false),
            };
            let lines: Vec<&str> = list(span, "text").map(|line| string(line, "text")).collect();
            let is_shown = |index: usize| lines.len() <= MAX_LINES || index < 4 || index + 2 >= lines.len();
            for (index, text) in lines.iter().enumerate().filter(|(index, _)| is_shown(*index)) {
                snippet.lines.insert(first + index, text);
            }
            if first == last {
                snippet.marks.entry(first).or_default().push(mark);
            } else {
                snippet.blocks.push((first, last, mark));
            }
        }
        for marks in snippet.marks.values_mut() {
            marks.sort_by_key(|mark| std::cmp::Reverse(mark.columns.0));
        }
        snippet
    }
}

/// The words at a span: its label, or the code that the compiler proposes there.
fn label(span: &Value) -> Cow<'_, str> {
    let proposed = span["suggested_replacement"].as_str();
    match (span["label"].as_str(), proposed.map(str::trim)) {
        (Some(label), _) => label.into(),
        (None, None) => "".into(),
        (None, Some("")) => "remove this".into(),
        (None, Some(code)) if span["byte_start"] == span["byte_end"] => format!("insert `{code}`").into(),
        (None, Some(code)) => format!("write `{code}`").into(),
    }
}

fn mark_style(level: &str, mark: &Mark<'_>) -> &'static str {
    if mark.is_primary { Page::style(level) } else { "1;34" }
}

/// Number of columns of a terminal before a column of a line.
fn width(line: &str, column: usize) -> usize {
    line.chars().take(column.saturating_sub(1)).map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

fn string<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn number(value: &Value, key: &str) -> usize {
    value[key].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(text: &str) -> Value {
        json!({ "text": text, "highlight_start": 1, "highlight_end": 1 })
    }

    fn span(lines: [usize; 2], columns: [usize; 2], is_primary: bool, label: &str, text: &[&str]) -> Value {
        json!({ "file_name": "src/a.rs", "line_start": lines[0], "line_end": lines[1], "column_start": columns[0],
                "column_end": columns[1], "is_primary": is_primary, "label": label,
                "text": text.iter().map(|text| line(text)).collect::<Vec<_>>() })
    }

    #[test]
    fn spans_of_one_line_and_children() {
        let text = "\tf(x, y);";
        let diagnostic = json!({ "level": "error", "message": "no", "code": { "code": "E0277" },
            "spans": [
                span([9, 9], [2, 3], false, "by this call", &[text]),
                span([9, 9], [4, 5], true, "x is wrong", &[text]),
            ],
            "children": [
                { "level": "help", "message": "use y\ntwice", "spans": [] },
                { "level": "note", "message": "made here", "spans": [span([12, 12], [1, 2], true, "", &["x"])] }] });
        let expected = "\
error[E0277]: no
  --> src/a.rs:9:4
   |
9  |     f(x, y);
   |       ^ x is wrong
   |     - by this call
   |
   = help: use y
           twice
note: made here
  --> src/a.rs:12:1
   |
12 | x
   | ^

";
        assert_eq!(render(&diagnostic, false), expected);
        let coloured = render(&diagnostic, true);
        assert!(coloured.starts_with("\x1b[1;31merror[E0277]\x1b[0m\x1b[1m: no\x1b[0m\n"), "{coloured:?}");
        let plain: String = coloured
            .split('\x1b')
            .map(|part| part.split_once('m').filter(|_| part.starts_with('[')).map_or(part, |(_, rest)| rest))
            .collect();
        assert_eq!(plain, expected);
    }

    #[test]
    fn spans_of_several_lines() {
        let lines: Vec<String> = (0..12).map(|number| format!("    line {number}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let diagnostic = json!({ "level": "warning", "message": "long", "code": null, "children": [],
            "spans": [span([1, 12], [5, 8], true, "here", &lines)] });
        let expected = "\
warning: long
  --> src/a.rs:1:5
   |
1  |       line 0
   |  _____^
2  | |     line 1
3  | |     line 2
4  | |     line 3
...
11 | |     line 10
12 | |     line 11
   | |_______^ here

";
        assert_eq!(render(&diagnostic, false), expected);
    }

    #[test]
    fn without_a_place() {
        let diagnostic = json!({ "level": "error", "message": "nowhere", "spans": [], "children": [] });
        assert_eq!(render(&diagnostic, false), "error: nowhere\n\n");
    }
}
