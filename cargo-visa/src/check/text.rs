//! The text of a file of the user's: its axes, its statements, and places in it.

use core::ops::Range;
use serde_json::{Value, json};

/// A file of the user's.
pub struct Source {
    file: String,
    text: String,
}

impl Source {
    /// A file with its text. `file` is its name in diagnostics.
    pub fn new(file: &str, text: String) -> Self {
        Self { file: file.into(), text }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The axes that the file declares, each with the line of its `axes![…]`.
    pub fn axes(&self) -> Vec<(String, usize)> {
        let mut axes = Vec::new();
        for (at, opening) in self.text.match_indices("axes![") {
            let line = self.text[..at].matches('\n').count() + 1;
            let is_comment = self.text[..at].rsplit('\n').next().is_some_and(|line| line.contains("//"));
            let declared = self.text[at + opening.len()..].split(']').next().unwrap_or_default();
            let names = declared.split(',').filter_map(|one| Some(one.split_once('=')?.0.trim().to_string()));
            axes.extend(names.filter(|_| !is_comment).map(|name| (name, line)));
        }
        axes
    }

    /// A place of the file, as the compiler writes it.
    pub fn span(&self, bytes: Range<usize>) -> Value {
        let line_of = |at: usize| self.text[..at].matches('\n').count();
        let start_of = |at: usize| self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let column = |at: usize| self.text[start_of(at)..at].chars().count() + 1;
        let (first, last) = (line_of(bytes.start), line_of(bytes.end));
        let lines = self.text.lines().enumerate().skip(first).take(last - first + 1).map(|(number, line)| {
            json!({
                "text": line,
                "highlight_start": if number == first { column(bytes.start) } else { 1 },
                "highlight_end": if number == last { column(bytes.end) } else { line.chars().count() + 1 },
            })
        });
        json!({
            "file_name": self.file, "byte_start": bytes.start, "byte_end": bytes.end,
            "line_start": first + 1, "line_end": last + 1,
            "column_start": column(bytes.start), "column_end": column(bytes.end), "is_primary": true,
            "text": lines.collect::<Vec<_>>(), "label": null, "suggested_replacement": null,
            "suggestion_applicability": null, "expansion": null,
        })
    }
}

/// The last `let NAME = …;` of a text: the bytes behind the `=`, up to the `;`.
pub fn statement_of(text: &str, name: &str) -> Option<Range<usize>> {
    if name.is_empty() {
        return None;
    }
    let start = text.match_indices("let ").filter_map(|(at, word)| {
        let rest = text[at + word.len()..].strip_prefix("mut ").unwrap_or(&text[at + word.len()..]);
        let behind = rest.strip_prefix(name)?;
        let is_name = behind.starts_with([' ', ':', '=']);
        let equals = behind.find('=').filter(|_| is_name)?;
        Some(text.len() - behind.len() + equals + 1)
    });
    let start = start.last()?;
    Some(start..start + end_of(&text[start..])?)
}

/// The `;` that ends a statement.
fn end_of(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ';' if depth == 0 => return Some(at),
            _ => {}
        }
        None
    })
}
