//! Edits of a text, reports of what stays, and the difference that the edits make.

use super::source::position;
use std::ops::Range;

/// Lines around a change in a difference.
const CONTEXT: usize = 3;

/// The most characters of the user's text in a report.
const MOST_SHOWN: usize = 60;

/// Bytes that are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub bytes: Range<usize>,
    pub text: String,
}

/// A place that stays as it is, or a note on an edit.
#[derive(Clone, Debug)]
pub struct Report {
    pub bytes: Range<usize>,
    pub why: String,
    /// The text to write.
    pub edit: String,
}

/// A loss, and where it is: one note for all places of a file.
#[derive(Clone, Debug)]
pub struct Note {
    pub byte: usize,
    pub what: &'static str,
}

/// Edits of one chain of calls: all of them are made, or none.
#[derive(Debug, Default)]
pub struct Attempt {
    pub edits: Vec<Edit>,
    /// Reasons to make none of the edits.
    pub problems: Vec<Report>,
    /// Work that is left to the user beside the edits.
    pub remarks: Vec<Report>,
    pub notes: Vec<Note>,
}

impl Attempt {
    pub fn replace(&mut self, bytes: Range<usize>, text: impl Into<String>) {
        self.edits.push(Edit { bytes, text: text.into() });
    }

    pub fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    pub fn problem(&mut self, bytes: Range<usize>, why: impl Into<String>, edit: impl Into<String>) {
        self.problems.push(Report { bytes, why: why.into(), edit: edit.into() });
    }

    pub fn remark(&mut self, bytes: Range<usize>, why: impl Into<String>, edit: impl Into<String>) {
        self.remarks.push(Report { bytes, why: why.into(), edit: edit.into() });
    }

    pub fn note(&mut self, byte: usize, what: &'static str) {
        self.notes.push(Note { byte, what });
    }
}

/// The text with all edits, which are sorted and do not overlap.
pub fn applied(text: &str, edits: &[Edit]) -> String {
    let (mut result, mut at) = (String::with_capacity(text.len()), 0);
    for Edit { bytes, text: new } in edits {
        result.push_str(&text[at..bytes.start]);
        result.push_str(new);
        at = bytes.end;
    }
    result.push_str(&text[at..]);
    result
}

impl Report {
    /// The report as a line: place, text, reason, edit.
    pub fn line(&self, file: &str, text: &str) -> String {
        let (line, column) = position(text, self.bytes.start);
        let words: Vec<&str> = text[self.bytes.clone()].split_whitespace().collect();
        let all = words.join(" ");
        let mut shown: String = all.chars().take(MOST_SHOWN).collect();
        if all.chars().nth(MOST_SHOWN).is_some() {
            shown.push('…');
        }
        format!("{file}:{line}:{column}: `{shown}`: {}; help: {}\n", self.why, self.edit)
    }
}

/// The notes of a file, one line for each kind.
pub fn noted(file: &str, text: &str, notes: &[Note]) -> String {
    let mut kinds: Vec<(&str, Vec<usize>)> = Vec::new();
    for note in notes {
        let line = position(text, note.byte).0;
        match kinds.iter_mut().find(|(what, _)| *what == note.what) {
            Some((_, lines)) => lines.push(line),
            None => kinds.push((note.what, vec![line])),
        }
    }
    let mut result = String::new();
    for (what, mut lines) in kinds {
        lines.sort_unstable();
        lines.dedup();
        let numbers: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let word = if numbers.len() == 1 { "line" } else { "lines" };
        result += &format!("{file}: note: {what} ({word} {})\n", numbers.join(", "));
    }
    result
}

/// The lines of a text, with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A change of whole lines: those of the old text, and what stands in their place.
struct Change<'t> {
    old: Range<usize>,
    new: Vec<&'t str>,
}

/// The edits as a unified difference of two texts. Nothing if there is no edit.
pub fn difference(file: &str, text: &str, edits: &[Edit]) -> String {
    let old = lines(text);
    let mut starts = vec![0];
    starts.extend(old.iter().scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    }));
    let line_of = |byte: usize| starts[1..].partition_point(|&end| end <= byte).min(old.len());
    // The lines of each change, and its edits. Edits in one line, and in lines behind each other, are one change.
    let mut changed: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (k, Edit { bytes, .. }) in edits.iter().enumerate() {
        let first = line_of(bytes.start);
        // A change that ends where a line does takes the line, but not the next one.
        let is_start = |byte: &usize| starts.binary_search(byte).is_ok();
        let is_end = bytes.end > bytes.start && is_start(&bytes.start) && is_start(&bytes.end);
        let last = if is_end { line_of(bytes.end - 1) } else { line_of(bytes.end) };
        let behind = (last + 1).min(old.len().max(first));
        match changed.last_mut() {
            Some((lines, own)) if first <= lines.end => {
                (lines.end, own.end) = (behind.max(lines.end), k + 1);
            }
            _ => changed.push((first..behind, k..k + 1)),
        }
    }
    let texts: Vec<String> = changed
        .iter()
        .map(|(range, own)| {
            let (start, end) = (starts[range.start], starts[range.end]);
            let moved: Vec<Edit> = edits[own.clone()]
                .iter()
                .map(|edit| Edit {
                    bytes: edit.bytes.start - start..edit.bytes.end - start,
                    text: edit.text.clone(),
                })
                .collect();
            applied(&text[start..end], &moved)
        })
        .collect();
    let changes: Vec<Change<'_>> = changed
        .iter()
        .zip(&texts)
        .map(|((range, _), text)| Change { old: range.clone(), new: lines(text) })
        .filter(|change| old[change.old.clone()] != change.new)
        .collect();
    if changes.is_empty() {
        return String::new();
    }
    let mut result = format!("--- {file}\n+++ {file}\n");
    let (mut k, mut shift) = (0, 0isize);
    while k < changes.len() {
        let mut end = k + 1;
        while end < changes.len() && changes[end].old.start <= changes[end - 1].old.end + 2 * CONTEXT {
            end += 1;
        }
        hunk(&mut result, &old, &changes[k..end], &mut shift);
        k = end;
    }
    result
}

/// Writes changes that are near each other. `shift`: lines that the changes before have added.
fn hunk(result: &mut String, old: &[&str], changes: &[Change<'_>], shift: &mut isize) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
    let all = first.old.start.saturating_sub(CONTEXT)..(last.old.end + CONTEXT).min(old.len());
    let added: isize =
        changes.iter().map(|change| change.new.len() as isize - change.old.len() as isize).sum();
    let count = all.len() as isize + added;
    // A side without lines is named by the line before it.
    let start = |lines: isize, count: isize| if count == 0 { lines } else { lines + 1 };
    *result += &format!(
        "@@ -{},{} +{},{count} @@\n",
        start(all.start as isize, all.len() as isize),
        all.len(),
        start(all.start as isize + *shift, count),
    );
    let mut put = |mark: char, line: &str| {
        result.push(mark);
        result.push_str(line);
        if !line.ends_with('\n') {
            result.push_str("\n\\ No newline at end of file\n");
        }
    };
    let mut at = all.start;
    for change in changes {
        old[at..change.old.start].iter().for_each(|line| put(' ', line));
        old[change.old.clone()].iter().for_each(|line| put('-', line));
        change.new.iter().for_each(|line| put('+', line));
        at = change.old.end;
    }
    old[at..all.end].iter().for_each(|line| put(' ', line));
    *shift += added;
}
