//! Diagnostics of the library, as a user reads them.
//!
//! The compiler finds a wrong size while it evaluates a constant of the library. Its error points there, and notes
//! behind it lead to the user's call:
//!
//! ```text
//! error[E0080]  evaluation panicked: fetch: …; help: …     in the library
//! note          erroneous constant encountered             in the library, once per step
//! note          the above error was encountered while instantiating `fn …::fetch::<…>`     the user's line
//! ```
//!
//! These become one error at the user's line. Errors that are all inside of the library follow from one at the user's
//! line, and are left out where there is one.
//!
//! Later calls of a chain are often refused because of the type that a refused call returns. They are named in a note of
//! the first one, and shown with `--verbose`. Errors of other statements stay.
//!
//! Errors of traits that follow from one another are one error too: see [`super::follow`].
//!
//! An upload that is refused because of the argument of a launch is an error of the launch: see [`super::launch`]. A file
//! without the prelude has one error. What the compiler says in its own words gets an edit: see [`super::advice`].
//!
//! In other diagnostics that name the library's types, the words change, and spans in the library are left out.

use super::advice;
use super::chapter::chapter_of;
use super::follow::{self, TraitError};
use super::launch::Upload;
use super::place::{function_name, is_of_chain, narrowed, users_span};
use super::render::render;
use super::sources::Sources;
use crate::notation;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Form of the diagnostics.
#[derive(Clone, Copy, Default)]
pub struct Style {
    /// True if spans in the library stay, as notes.
    pub verbose: bool,
    /// True if the `rendered` text has colours.
    pub colour: bool,
}

/// Rewrites the lines that cargo writes.
pub struct Rewriter {
    sources: Sources,
    style: Style,
    /// Errors that wait for their notes, by target.
    held: BTreeMap<String, Vec<Held>>,
    /// Errors of traits that wait for those that follow from them, by target.
    traits: BTreeMap<String, Vec<TraitError>>,
    /// Files without the prelude, by target and name: their first error, and the number of those behind it.
    bare: BTreeMap<(String, String), (Value, usize)>,
    /// Errors with an edit of [`super::advice`], by target and text.
    advised: BTreeSet<(String, String)>,
}

/// An error of a constant of the library.
struct Held {
    /// The line of cargo.
    line: Value,
    /// The notes behind it.
    notes: Vec<Value>,
}

/// An error at the user's line, from all errors that say the same there.
struct Refusal {
    line: Value,
    /// Evaluated constants, one for each instantiation.
    evaluated: Vec<String>,
    /// True if it is at a line of the user's.
    is_placed: bool,
    /// The call that is refused.
    call: Option<Call>,
}

/// A call of a method.
struct Call {
    /// The chain up to it, as the compiler marks it.
    chain: Value,
    method: String,
}

const EVALUATION: &str = "E0080";
const STEP: &str = "erroneous constant encountered";
const CALL: &str = "the above error was encountered while instantiating";

impl Rewriter {
    /// A rewriter for the files of a workspace.
    pub fn new(sources: Sources, style: Style) -> Self {
        Self {
            sources,
            style,
            held: BTreeMap::new(),
            traits: BTreeMap::new(),
            bare: BTreeMap::new(),
            advised: BTreeSet::new(),
        }
    }

    /// Takes a line of cargo. Returns the lines that are to be shown now.
    pub fn push(&mut self, mut line: Value) -> Vec<Value> {
        match line["reason"].as_str() {
            Some("compiler-message") => self.message(line),
            Some("compiler-artifact") => {
                let target = &mut line["target"];
                let name = target["name"].as_str().unwrap_or_default().to_string();
                self.sources.add_crate(&name, target["src_path"].as_str().unwrap_or_default());
                vec![line]
            }
            Some("build-finished") => {
                let waiting = self.held.keys().chain(self.traits.keys());
                let bare = self.bare.keys().map(|(target, _)| target);
                let targets: BTreeSet<String> = waiting.chain(bare).cloned().collect();
                let mut lines: Vec<Value> = targets.iter().flat_map(|target| self.finish(target)).collect();
                lines.push(line);
                lines
            }
            _ => vec![line],
        }
    }

    fn message(&mut self, mut line: Value) -> Vec<Value> {
        let target = target_of(&line);
        let diagnostic = &line["message"];
        let message = diagnostic["message"].as_str().unwrap_or_default();
        let is_call = message.starts_with(CALL);
        if is_call || message == STEP {
            // Targets with one name (a program and its tests) may write at the same time. A note belongs to the last
            // error that has no call; a step behind the call, which other calls take, to the last error.
            let has_call = |held: &Held| held.notes.iter().any(is_note_of_the_call);
            let waiting = self.held.get_mut(&target).map(Vec::as_mut_slice).unwrap_or_default();
            let without_call = waiting.iter().rposition(|held| !has_call(held));
            let last = waiting.len().checked_sub(1).filter(|_| !is_call);
            if let Some(index) = without_call.or(last) {
                waiting[index].notes.push(diagnostic.clone());
                return Vec::new();
            }
        } else if diagnostic["code"]["code"] == EVALUATION && self.is_about_the_library(diagnostic) {
            self.held.entry(target).or_default().push(Held { line, notes: Vec::new() });
            return Vec::new();
        } else if diagnostic["level"] == "failure-note" {
            let mut lines = self.finish(&target);
            lines.push(line);
            return lines;
        }
        if !self.style.verbose && self.is_of_a_bare_file(&target, &line) {
            return Vec::new();
        }
        let advice = self.advice(&line["message"]);
        if advice.is_some() || self.is_about_the_library(&line["message"]) {
            let of_trait = TraitError::of(&line, &self.sources).filter(|_| !self.style.verbose);
            if let Some(error) = of_trait {
                self.traits.entry(target).or_default().push(error);
                return Vec::new();
            }
            let message = line["message"].take();
            line["message"] = self.in_the_users_words(message);
            if let Some(advice) = advice {
                advice::put(advice, &mut line["message"], self.style.verbose);
                let text = render(&line["message"], self.style.colour);
                // A signature that a macro repeats has its errors twice.
                if !self.advised.insert((target, text.clone())) {
                    return Vec::new();
                }
                line["message"]["rendered"] = text.into();
            }
        }
        vec![line]
    }

    /// The edit for an error that the compiler has its own words for.
    fn advice(&self, diagnostic: &Value) -> Option<advice::Advice> {
        let mut diagnostic = diagnostic.clone();
        rewrite_texts(&mut diagnostic);
        self.fold(&mut diagnostic);
        let spans = diagnostic["spans"].as_array()?;
        let span = spans.iter().find(|span| span["is_primary"] == true)?;
        advice::of(&diagnostic, self.sources.text(span["file_name"].as_str()?).as_ref())
    }

    /// Takes an error of a file that lacks the prelude. The first one is that a macro of the prelude is not there.
    fn is_of_a_bare_file(&mut self, target: &str, line: &Value) -> bool {
        let message = &line["message"];
        let spans = message["spans"].as_array().into_iter().flatten();
        let place =
            spans.filter(|span| span["is_primary"] == true).find_map(|span| users_span(&self.sources, span));
        let Some(file) = place.as_ref().and_then(|place| place["file_name"].as_str()) else { return false };
        if message["level"] != "error" {
            return false;
        }
        let key = (target.to_string(), file.to_string());
        if let Some((_, more)) = self.bare.get_mut(&key) {
            *more += 1;
            return true;
        }
        let names = ["macro `axes`", "macro `m`", "macro `i`", "attribute `device`"];
        let words = message["message"].as_str().unwrap_or_default();
        let is_of_the_prelude = names.iter().any(|name| words == format!("cannot find {name} in this scope"));
        let imports =
            |text: &str| text.contains("furiosa_visa_std::prelude") || text.contains("furiosa_opt_std");
        if !is_of_the_prelude || self.sources.text(file).is_none_or(|source| imports(source.text())) {
            return false;
        }
        self.bare.insert(key, (line.clone(), 0));
        true
    }

    /// The one error of a file without the prelude.
    fn bare_file(&self, mut line: Value, more: usize) -> Value {
        let message = &mut line["message"];
        message["message"] = "`axes!`, `m!` and `#[device]` are not in scope: the prelude is missing".into();
        let mut children =
            vec![child("help", "write `use furiosa_visa_std::prelude::*;` at the top of the file")];
        if more > 0 {
            let note = format!("{more} more errors of this file may follow from it; `--verbose` shows all");
            children.push(child("note", &note));
        }
        message["children"] = children.into();
        self.fold(message);
        message["rendered"] = render(message, self.style.colour).into();
        line
    }

    /// Tells if a diagnostic points into the library, or names its items.
    fn is_about_the_library(&self, diagnostic: &Value) -> bool {
        let file_is_librarys =
            |span: &Value| span["file_name"].as_str().is_some_and(|file| self.sources.is_librarys(file));
        let is_named = |text: &Value| {
            text.as_str().is_some_and(|text| {
                notation::LIBRARY.iter().any(|name| text.contains(name))
                    || text.starts_with("evaluation panicked: mapping `m![")
                    || notation::rewritten(text) != text
            })
        };
        let spans = diagnostic["spans"].as_array().into_iter().flatten();
        is_named(&diagnostic["message"])
            || spans.into_iter().any(|span| file_is_librarys(span) || is_named(&span["label"]))
            || diagnostic["children"]
                .as_array()
                .is_some_and(|children| children.iter().any(|child| self.is_about_the_library(child)))
    }

    /// The refusals of a target that has come to its end, by their lines.
    fn finish(&mut self, target: &str) -> Vec<Value> {
        let mut refusals: Vec<Refusal> = Vec::new();
        for held in self.held.remove(target).unwrap_or_default() {
            let refusal = self.refusal(held);
            let same = refusals.iter_mut().find(|other| key(&other.line) == key(&refusal.line));
            match same {
                Some(other) => {
                    let new = refusal.evaluated.into_iter().filter(|new| !other.evaluated.contains(new));
                    other.evaluated.extend(new.collect::<Vec<_>>());
                }
                None => refusals.push(refusal),
            }
        }
        if !self.style.verbose {
            self.move_to_launches(&mut refusals);
        }
        // Errors inside the library follow from those at the user's lines.
        if refusals.iter().any(|refusal| refusal.is_placed) && !self.style.verbose {
            refusals.retain(|refusal| refusal.is_placed);
        }
        let place = |line: &Value| {
            let span = &line["message"]["spans"][0];
            (span["file_name"].to_string(), span["line_start"].as_u64(), span["column_start"].as_u64())
        };
        refusals.sort_by_key(|refusal| (!refusal.is_placed, place(&refusal.line)));
        if !self.style.verbose {
            fold_chains(&mut refusals);
        }
        let finished = refusals.into_iter().map(|Refusal { mut line, evaluated, .. }| {
            let message = &mut line["message"];
            if evaluated.len() > 1 {
                message["spans"][0]["label"] = format!("in {} instantiations", evaluated.len()).into();
            }
            message["rendered"] = render(message, self.style.colour).into();
            line
        });
        let of_traits = follow::folded(self.traits.remove(target).unwrap_or_default()).into_iter();
        let of_traits: Vec<Value> =
            of_traits.map(|(first, others)| self.trait_error(first, &others)).collect();
        let finished: Vec<Value> = finished.collect();
        let is_bare = |(key, _): &&((String, String), (Value, usize))| key.0 == target;
        let (bare, other): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.bare).into_iter().partition(|one| is_bare(&one));
        self.bare = other.into_iter().collect();
        let bare = bare.into_iter().map(|(_, (line, more))| self.bare_file(line, more));
        bare.chain(of_traits).chain(finished).collect()
    }

    /// Shows uploads that are refused because of an argument of a launch at the launch, with all of its arguments in one
    /// error.
    fn move_to_launches(&self, refusals: &mut Vec<Refusal>) {
        let upload = |refusal: &Refusal| {
            let place = &refusal.line["message"]["spans"][0];
            let source = self.sources.text(place["file_name"].as_str()?)?;
            let words = refusal.line["message"]["message"].as_str()?;
            Some((Upload::of(words, &refusal.call.as_ref()?.chain, &source)?, source))
        };
        let mut moved: Vec<(Upload, usize)> = Vec::new();
        let mut index = 0;
        while index < refusals.len() {
            let Some((upload, source)) = upload(&refusals[index]) else {
                index += 1;
                continue;
            };
            let file = |at: usize| &refusals[at].line["message"]["spans"][0]["file_name"];
            let first =
                moved.iter().find(|(first, at)| first.launch == upload.launch && file(*at) == file(index));
            let mut argument = source.span(upload.argument.clone());
            if let Some(&(ref first, at)) = first {
                argument["is_primary"] = false.into();
                argument["label"] = upload.label().into();
                let help = child("help", &first.help(Some(&upload), &source));
                let message = &mut refusals[at].line["message"];
                message["children"][0] = help;
                if let Some(spans) = message["spans"].as_array_mut() {
                    spans.push(argument);
                }
                refusals.remove(index);
                continue;
            }
            let message = &mut refusals[index].line["message"];
            let mut made = message["spans"][0].clone();
            made["is_primary"] = false.into();
            made["label"] = "the upload, which names no mapping".into();
            message["message"] = upload.message().into();
            message["spans"] = json!([argument, made]);
            message["children"] = json!([child("help", &upload.help(None, &source))]);
            moved.push((upload, index));
            index += 1;
        }
    }

    /// An error of a trait, with a note of those that follow from it.
    fn trait_error(&self, first: TraitError, others: &[TraitError]) -> Value {
        let lines = follow::lines_beside(&first, others);
        let mut line = first.line;
        let mut diagnostic = self.in_the_users_words(line["message"].take());
        let words = diagnostic["message"].as_str().unwrap_or_default();
        let primary =
            diagnostic["spans"].as_array().into_iter().flatten().find(|span| span["is_primary"] == true);
        let called = || primary.and_then(marked_call).and_then(chapter_of);
        if let Some(chapter) = chapter_of(words).or_else(called) {
            let children = diagnostic["children"].as_array().map(Vec::as_slice).unwrap_or_default();
            let help = children.iter().rposition(|child| child["level"] == "help");
            let text = match help {
                Some(at) => &mut diagnostic["children"][at]["message"],
                None => &mut diagnostic["message"],
            };
            *text = format!("{} (guide: {chapter})", text.as_str().unwrap_or_default()).into();
            diagnostic["rendered"] = render(&diagnostic, self.style.colour).into();
        }
        if !others.is_empty() {
            let errors = match others.len() {
                1 => "1 more error".to_string(),
                count => format!("{count} more errors"),
            };
            let note = format!("{errors} may follow from it ({lines}); `--verbose` shows all");
            if let Some(children) = diagnostic["children"].as_array_mut() {
                children.push(child("note", &note));
            }
            diagnostic["rendered"] = render(&diagnostic, self.style.colour).into();
        }
        line["message"] = diagnostic;
        line
    }

    /// An error at the user's line, with the constant that it evaluated.
    fn refusal(&self, held: Held) -> Refusal {
        let Held { mut line, notes } = held;
        let diagnostic = line["message"].take();
        let words = diagnostic["message"].as_str().unwrap_or_default();
        let words = words.strip_prefix("evaluation panicked: ").unwrap_or(words);
        let (message, help) = match words.split_once("; help: ") {
            Some((message, help)) => (message, Some(help)),
            None => (words, None),
        };
        let chapter = chapter_of(words).map(|chapter| format!(" (guide: {chapter})")).unwrap_or_default();
        let message = if help.is_some() { message.to_string() } else { format!("{message}{chapter}") };
        let help = help.map(|help| child("help", &format!("{help}{chapter}")));
        let mut children: Vec<Value> = help.into_iter().collect();
        if self.style.verbose {
            children.push(json!({
                "level": "note", "message": "the constant that is refused", "code": null, "rendered": null,
                "children": [], "spans": diagnostic["spans"].clone(),
            }));
            children.extend(diagnostic["children"].as_array().into_iter().flatten().cloned());
            children.extend(notes.iter().cloned());
        }
        let (place, call) = self.place(&diagnostic, &notes).unzip();
        let is_placed = place.is_some();
        let mut spans = place.map_or_else(|| diagnostic["spans"].clone(), |span| json!([span]));
        if is_placed {
            spans[0]["is_primary"] = true.into();
            spans[0]["label"] = Value::Null;
        }
        let label = &diagnostic["spans"][0]["label"];
        let evaluated = label.as_str().unwrap_or_default().to_string();
        line["message"] = json!({
            "$message_type": "diagnostic", "level": "error", "message": message, "code": diagnostic["code"],
            "spans": spans, "children": children,
        });
        rewrite_texts(&mut line["message"]);
        Refusal { line, evaluated: vec![evaluated], is_placed, call: call.flatten() }
    }

    /// The user's place that asks for a refused constant, and the call there.
    fn place(&self, diagnostic: &Value, notes: &[Value]) -> Option<(Value, Option<Call>)> {
        let primary = |part: &Value| {
            let mut spans = part["spans"].as_array().into_iter().flatten();
            spans.find_map(|span| users_span(&self.sources, span))
        };
        let children = diagnostic["children"].as_array();
        let frames = std::iter::once(diagnostic).chain(children.into_iter().flatten());
        if let Some(span) = frames.into_iter().find_map(primary) {
            return Some((span, None));
        }
        let (note, span) = notes.iter().find_map(|note| Some((note, primary(note)?)))?;
        let method = note["message"].as_str().and_then(function_name);
        let Some(method) = method else { return Some((span, None)) };
        Some((narrowed(&span, method), Some(Call { method: method.to_string(), chain: span })))
    }

    /// Another diagnostic that names the library's items: in the user's notation, and without the library's lines.
    fn in_the_users_words(&self, mut diagnostic: Value) -> Value {
        rewrite_texts(&mut diagnostic);
        if !self.style.verbose {
            self.fold(&mut diagnostic);
        }
        // The library has words for a trait that is not there, or the compiler has its usual ones.
        let has_own_words = !diagnostic["message"].as_str().is_some_and(|message| {
            message.starts_with("the trait bound") || message.ends_with("trait bounds were not satisfied")
        });
        if has_own_words && !self.style.verbose {
            for span in diagnostic["spans"].as_array_mut().into_iter().flatten() {
                if span["label"].as_str().is_some_and(is_of_a_trait) {
                    span["label"] = Value::Null;
                }
            }
        }
        if let Some(children) = diagnostic["children"].as_array_mut() {
            if !self.style.verbose {
                children.retain_mut(|child| self.is_of_use(child, has_own_words));
            }
            for child in children {
                let message = child["message"].as_str().unwrap_or_default();
                if let Some(help) = message.strip_prefix("help: ").map(String::from) {
                    child["level"] = "help".into();
                    child["message"] = help.into();
                }
            }
        }
        diagnostic["rendered"] = render(&diagnostic, self.style.colour).into();
        diagnostic
    }

    /// Leaves out the spans in the library, if there are others.
    fn fold(&self, part: &mut Value) {
        let spans = part["spans"].as_array().into_iter().flatten();
        let users: Vec<Value> = spans.filter_map(|span| users_span(&self.sources, span)).collect();
        if !users.is_empty() {
            part["spans"] = Value::Array(users);
        }
    }

    /// Tells if a note says more than the message. Leaves out its spans in the library.
    fn is_of_use(&self, child: &mut Value, has_own_words: bool) -> bool {
        let has_spans = child["spans"].as_array().is_some_and(|spans| !spans.is_empty());
        if has_spans {
            self.fold(child);
            let mut spans = child["spans"].as_array().into_iter().flatten();
            return spans.any(|span| self.sources.is_users(span["file_name"].as_str().unwrap_or_default()));
        }
        let message = child["message"].as_str().unwrap_or_default();
        let about_names = ["the full name for the type", "the full type name", "consider using `--verbose`"];
        let is_of_a_macro = message.contains("originates in the macro");
        let is_about_names = about_names.iter().any(|start| message.starts_with(start));
        !(is_about_names || is_of_a_macro || is_of_a_trait(message) && has_own_words)
    }
}

/// Tells if a text names a trait that is not there, and nothing else.
fn is_of_a_trait(text: &str) -> bool {
    text.starts_with("the trait `") && text.contains("not implemented for")
        || text.starts_with("the following trait bounds were not satisfied")
        || text.starts_with("for that trait implementation, expected")
}

/// Leaves out the calls whose receiver has a call that is refused, and names them in a note of the first one.
fn fold_chains(refusals: &mut Vec<Refusal>) {
    let is_behind = |refusal: &Refusal, chain: &Value| {
        refusal.call.as_ref().is_some_and(|call| is_of_chain(chain, &call.chain))
    };
    let chains: Vec<Value> =
        refusals.iter().filter_map(|refusal| refusal.call.as_ref()).map(|call| call.chain.clone()).collect();
    let (later, first): (Vec<Refusal>, Vec<Refusal>) =
        refusals.drain(..).partition(|refusal| chains.iter().any(|chain| is_behind(refusal, chain)));
    *refusals = first;
    for first in refusals {
        let Some(call) = &first.call else { continue };
        let of_chain = later.iter().filter(|refusal| is_behind(refusal, &call.chain));
        let calls: Vec<String> = of_chain
            .filter_map(|refusal| {
                let at = &refusal.line["message"]["spans"][0]["line_start"];
                refusal.call.as_ref().map(|call| format!("`{}` (line {at})", call.method))
            })
            .collect();
        let calls_are = match calls.len() {
            0 => continue,
            1 => "1 later call of this chain is".to_string(),
            count => format!("{count} later calls of this chain are"),
        };
        let note = format!(
            "{calls_are} refused too, as may follow from it: {}; `--verbose` shows all",
            calls.join(", ")
        );
        if let Some(children) = first.line["message"]["children"].as_array_mut() {
            children.push(child("note", &note));
        }
    }
}

/// The name of the call that a span marks.
fn marked_call(span: &Value) -> Option<&str> {
    let text = &span["text"][0];
    let place = |field: &str| usize::try_from(text[field].as_u64()?).ok()?.checked_sub(1);
    let line = text["text"].as_str().filter(|line| line.is_ascii())?;
    let (start, end) = (place("highlight_start")?, place("highlight_end")?);
    line.get(..start)?.ends_with('.').then(|| line.get(start..end))?
}

/// Tells if a note has the place of the user's call.
fn is_note_of_the_call(note: &Value) -> bool {
    note["message"].as_str().is_some_and(|message| message.starts_with(CALL))
}

fn target_of(line: &Value) -> String {
    format!("{} {} {}", line["package_id"], line["target"]["kind"], line["target"]["name"])
}

/// Errors with one key are one error.
fn key(line: &Value) -> [&Value; 3] {
    let message = &line["message"];
    [&message["message"], &message["spans"][0]["file_name"], &message["spans"][0]["line_start"]]
}

fn child(level: &str, message: &str) -> Value {
    json!({ "level": level, "message": message, "code": null, "spans": [], "children": [], "rendered": null })
}

/// Rewrites the types in all texts of a diagnostic. Suggested code stays.
fn rewrite_texts(diagnostic: &mut Value) {
    let rewrite = |text: &mut Value| {
        if let Some(old) = text.as_str() {
            *text = notation::rewritten(old).into();
        }
    };
    rewrite(&mut diagnostic["message"]);
    for span in diagnostic["spans"].as_array_mut().into_iter().flatten() {
        rewrite(&mut span["label"]);
    }
    for child in diagnostic["children"].as_array_mut().into_iter().flatten() {
        rewrite_texts(child);
    }
}

#[cfg(test)]
#[path = "rewrite_tests.rs"]
pub mod tests;
