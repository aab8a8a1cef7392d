//! Errors of traits that follow from another one.
//!
//! A type that a trait refuses is refused wherever it goes on to, so that the compiler says one mistake several times:
//!
//! ```text
//!   `bf16` is not a 32-bit type …                         .to_vrf::<m![N]>(0)            the mistake
//!   `&VrfTensor<bf16, …>` is no operand …                 .vector_clip(…, &b)            names a type that cannot be
//!   `bf16` is not a 32-bit type …, for `VrfTensor`        the chain around that call     the type itself
//! ```
//!
//! One of them is shown, with a note that names the errors that follow from it.

use super::place::users_span;
use super::sources::Sources;
use crate::notation;
use core::ops::Range;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The compiler's code of a trait that a type lacks.
const LACKS_TRAIT: &str = "E0277";
/// Its code of a method that a type would have with other bounds.
const LACKS_METHOD: &str = "E0599";

/// An error of a trait, as far as others follow from it.
pub struct TraitError {
    /// The line of cargo.
    pub line: Value,
    code: String,
    words: String,
    /// The type definition that demands the trait, if it is one: `VrfTensor`. A function otherwise.
    of_type: Option<String>,
    span: Option<Span>,
    /// The chain of calls up to it, if it is a method that a type would have with other bounds.
    chain: Option<Span>,
}

/// A place in a file of the user's.
#[derive(PartialEq, Eq)]
struct Span {
    file: String,
    bytes: Range<u64>,
    /// The first line.
    line: u64,
}

impl Span {
    fn of(span: &Value) -> Option<Self> {
        let number = |field: &str| span[field].as_u64();
        Some(Self {
            file: span["file_name"].as_str()?.to_string(),
            bytes: number("byte_start")?..number("byte_end")?,
            line: number("line_start")?,
        })
    }

    fn is_inside(&self, other: &Self) -> bool {
        self.file == other.file && other.bytes.start <= self.bytes.start && self.bytes.end <= other.bytes.end
    }
}

impl TraitError {
    /// `None`: another diagnostic.
    pub fn of(line: &Value, sources: &Sources) -> Option<Self> {
        let message = &line["message"];
        let code = message["code"]["code"].as_str().filter(|_| message["level"] == "error")?;
        let words = notation::rewritten(message["message"].as_str()?);
        let is_of_bounds = words.ends_with("trait bounds were not satisfied");
        if !(code == LACKS_TRAIT || code == LACKS_METHOD && is_of_bounds) {
            return None;
        }
        let children = message["children"].as_array();
        let of_type =
            children.into_iter().flatten().find_map(|child| type_of_bound(child["message"].as_str()?));
        let place = |is_primary: bool| {
            let mut spans = message["spans"].as_array().into_iter().flatten();
            let span =
                spans.find_map(|span| users_span(sources, span).filter(|_| span["is_primary"] == is_primary));
            span.as_ref().and_then(Span::of)
        };
        let (span, chain) = (place(true), place(false).filter(|_| code == LACKS_METHOD));
        Some(Self { line: line.clone(), code: code.to_string(), words, of_type, span, chain })
    }

    /// The type that lacks a trait, which is the first one in the words of the library.
    fn subject(&self) -> Option<&str> {
        self.words.split('`').nth(1)
    }

    /// The beginning of the type that cannot be: `VrfTensor<bf16`.
    fn refused_type(&self) -> Option<String> {
        Some(format!("{}<{}", self.of_type.as_ref()?, self.subject()?))
    }

    /// True if it names a type that another error refuses.
    fn names_type_of(&self, other: &Self) -> bool {
        other.refused_type().is_some_and(|refused| {
            self.words.match_indices(&refused).any(|(at, _)| {
                let next = self.words[at + refused.len()..].chars().next();
                next.is_some_and(|next| ",>".contains(next))
            })
        })
    }

    /// True if another error of the same file demands the same of the same type.
    fn repeats(&self, other: &Self) -> bool {
        let [file, other_file] = [self, other].map(|error| error.span.as_ref().map(|span| &span.file));
        self.of_type.is_some() && self.words == other.words && file == other_file
    }

    /// True if both are about one call: at the same place; or, with the same words or about the same type, around it or
    /// on its line.
    fn is_of_the_call_of(&self, other: &Self) -> bool {
        let (Some(span), Some(other_span)) = (&self.span, &other.span) else { return false };
        let meet = span.is_inside(other_span) || other_span.is_inside(span);
        let names_subject = other.subject().is_some_and(|subject| self.words.contains(subject));
        let is_of_line = (&span.file, span.line) == (&other_span.file, other_span.line) && names_subject;
        let is_alike = without_types(&self.words) == without_types(&other.words);
        let is_in_chain =
            self.chain.as_ref().is_some_and(|chain| other_span.is_inside(chain) && names_subject);
        span == other_span
            || is_in_chain
            || is_alike && (meet || is_of_line)
            || self.code == LACKS_METHOD && (meet || is_of_line)
    }

    /// True if it follows from another error, which is shown.
    fn follows_from(&self, other: &Self) -> bool {
        other.code == LACKS_TRAIT
            && (self.names_type_of(other) || self.repeats(other) || self.is_of_the_call_of(other))
    }
}

/// The errors that are shown, each with the errors that follow from it.
pub fn folded(errors: Vec<TraitError>) -> Vec<(TraitError, Vec<TraitError>)> {
    // A call says more than the type that it makes.
    let (of_types, of_calls): (Vec<_>, Vec<_>) =
        errors.into_iter().partition(|error| error.of_type.is_some());
    let mut shown: Vec<(TraitError, Vec<TraitError>)> = Vec::new();
    let mut later = Vec::new();
    for error in of_calls {
        // An error that names a refused type waits until the refusal of the type is known.
        if of_types.iter().any(|other| error.names_type_of(other)) {
            later.push(error);
        } else {
            take(&mut shown, error);
        }
    }
    of_types.into_iter().chain(later).for_each(|error| take(&mut shown, error));
    shown
}

/// Puts an error below the first one from which it follows.
fn take(shown: &mut Vec<(TraitError, Vec<TraitError>)>, error: TraitError) {
    let of = shown.iter_mut().find(|(first, others)| {
        error.follows_from(first) || others.iter().any(|other| error.names_type_of(other))
    });
    match of {
        Some((_, others)) => others.push(error),
        None => shown.push((error, Vec::new())),
    }
}

/// The lines of errors, for a note of the error `first`: `lines 24, 32; line 7 of src/b.rs`. The file of `first` is not
/// named.
pub fn lines_beside(first: &TraitError, others: &[TraitError]) -> String {
    let known = first.span.as_ref().map(|span| &span.file);
    let mut lines: BTreeMap<Option<&String>, BTreeSet<u64>> = BTreeMap::new();
    for Span { file, line, .. } in others.iter().filter_map(|other| other.span.as_ref()) {
        lines.entry(Some(file).filter(|file| known != Some(file))).or_default().insert(*line);
    }
    let of_file = |(file, lines): (Option<&String>, BTreeSet<u64>)| {
        let plural = if lines.len() == 1 { "" } else { "s" };
        let lines = lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        format!("line{plural} {lines}{}", file.map(|file| format!(" of {file}")).unwrap_or_default())
    };
    lines.into_iter().map(of_file).collect::<Vec<_>>().join("; ")
}

/// The type definition that a note says to demand a trait.
fn type_of_bound(note: &str) -> Option<String> {
    let path = note.strip_prefix("required by a bound in `")?.strip_suffix('`')?;
    let mut names = path.rsplit("::");
    let name = names.next()?;
    let is_type = name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric);
    // An associated type is no type definition: `Stream::Output`.
    let is_of_trait = names.next().is_some_and(|of| of.starts_with(char::is_uppercase));
    (is_type && !is_of_trait).then(|| name.to_string())
}

/// Words without the texts in backticks.
fn without_types(words: &str) -> String {
    words.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// An error of a trait: its code, its words, who demands it, its line and its bytes.
    fn error(code: &str, words: &str, demanded_by: &str, line: u64, bytes: [u64; 2]) -> TraitError {
        of_file("src/main.rs", code, words, demanded_by, line, bytes)
    }

    fn of_file(
        file: &str,
        code: &str,
        words: &str,
        demanded_by: &str,
        line: u64,
        bytes: [u64; 2],
    ) -> TraitError {
        let line = json!({ "message": {
            "level": "error", "code": { "code": code }, "message": words,
            "children": [{ "message": format!("required by a bound in `{demanded_by}`") }],
            "spans": [{ "file_name": file, "is_primary": true, "line_start": line, "byte_start": bytes[0],
                        "byte_end": bytes[1], "label": null }] } });
        TraitError::of(&line, &Sources::recorded("/w")).expect("an error of a trait")
    }

    /// The first bytes of the errors that are shown, and of those that follow.
    fn starts(errors: Vec<TraitError>) -> Vec<(u64, Vec<u64>)> {
        let start = |error: &TraitError| error.span.as_ref().expect("a span").bytes.start;
        let of = |(first, others): &(TraitError, Vec<TraitError>)| {
            (start(first), others.iter().map(start).collect())
        };
        folded(errors).iter().map(of).collect()
    }

    const NARROW: &str = "`bf16` is not a 32-bit type";

    #[test]
    fn a_type_that_cannot_be_follows_from_the_call_that_makes_it() {
        let call = || error("E0277", NARROW, "Stream::<D>::to_vrf", 10, [100, 106]);
        let operand = |element: &str| {
            let words = format!("`&VrfTensor<{element}, m![1]>` is no operand of a stream of `f32`");
            error("E0277", &words, "Tensor::<D>::vector_clip", 20, [200, 202])
        };
        let tensor = || error("E0277", NARROW, "VrfTensor", 12, [150, 202]);
        assert_eq!(starts(vec![call(), operand("bf16"), tensor()]), [(100, vec![150, 200])]);
        // An operand of another type is another mistake.
        assert_eq!(starts(vec![call(), operand("bf16x"), tensor()]), [(100, vec![150]), (200, vec![])]);
        // So is one that nothing else is said of.
        assert_eq!(starts(vec![call(), operand("bf16")]), [(100, vec![]), (200, vec![])]);
        // And a second call, although it says the same.
        let second = error("E0277", NARROW, "Stream::<D>::to_vrf", 30, [300, 306]);
        assert_eq!(starts(vec![call(), second]), [(100, vec![]), (300, vec![])]);
    }

    #[test]
    fn a_type_is_refused_once() {
        let of = |at: u64, name: &str| error("E0277", "no tensor holds `i9`", name, at, [at, at + 5]);
        assert_eq!(
            starts(vec![of(8, "HbmTensor"), of(7, "HbmTensor"), of(30, "HbmTensor")]),
            [(8, vec![7, 30])]
        );
        let other = error("E0277", "no tensor holds `i5`", "HbmTensor", 40, [40, 45]);
        assert_eq!(starts(vec![of(8, "HbmTensor"), other]), [(8, vec![]), (40, vec![])]);
        // Another file is edited by itself.
        let of_another = of_file("src/b.rs", "E0277", "no tensor holds `i9`", "HbmTensor", 50, [50, 55]);
        assert_eq!(starts(vec![of(8, "HbmTensor"), of_another]), [(8, vec![]), (50, vec![])]);
    }

    #[test]
    fn lines_of_errors_that_follow() {
        let of =
            |file: &str, line: u64| of_file(file, "E0277", "no tensor holds `i9`", "HbmTensor", line, [0, 5]);
        let [a, b] = ["src/main.rs", "src/b.rs"].map(|file| move |line| of(file, line));
        assert_eq!(lines_beside(&a(8), &[a(9)]), "line 9");
        assert_eq!(lines_beside(&a(8), &[b(7), a(30), a(9), a(30)]), "lines 9, 30; line 7 of src/b.rs");
        assert_eq!(lines_beside(&b(8), &[a(9), a(10)]), "lines 9, 10 of src/main.rs");
    }

    #[test]
    fn a_call_is_refused_once() {
        let launch = |given: &str, bytes| {
            error("E0277", &format!("`f` is no kernel for `{given}`"), "launch", 9, bytes)
        };
        // The function, the call, and what is awaited behind it.
        let all = vec![launch("_", [10, 16]), launch("&mut C", [5, 40]), launch("&mut C", [41, 46])];
        assert_eq!(starts(all), [(10, vec![5, 41])]);
        let cast = |words: &str, bytes| error("E0277", words, "Tensor::<D>::cast", 13, bytes);
        assert_eq!(error("E0277", "no conversion", "visa::StreamCast::Output", 13, [9, 13]).of_type, None);
        // Two demands of one call; then two calls of one line.
        assert_eq!(starts(vec![cast("no conversion", [9, 13]), cast(NARROW, [9, 13])]), [(9, vec![9])]);
        assert_eq!(
            starts(vec![cast("no conversion", [9, 13]), cast(NARROW, [29, 33])]),
            [(9, vec![]), (29, vec![])]
        );
        // Two calls of one line that say the same of two types.
        let narrow = |element: &str, bytes| cast(&format!("`{element}` is not a 32-bit type"), bytes);
        assert_eq!(
            starts(vec![narrow("bf16", [9, 13]), narrow("i8", [29, 33])]),
            [(9, vec![]), (29, vec![])]
        );
        // A method whose bounds the same type lacks.
        let bounds =
            "`from_addr` exists for `VrfTensor<bf16, m![1]>`, but its trait bounds were not satisfied";
        let method = |line, bytes| error("E0599", bounds, "VrfTensor", line, bytes);
        assert_eq!(starts(vec![cast(NARROW, [9, 50]), method(13, [40, 45])]), [(9, vec![40])]);
        assert_eq!(starts(vec![cast(NARROW, [9, 50]), method(14, [60, 65])]), [(9, vec![]), (60, vec![])]);
        assert_eq!(starts(vec![narrow("i8", [9, 39]), method(13, [40, 45])]), [(9, vec![]), (40, vec![])]);
    }

    #[test]
    fn other_errors_are_none() {
        let of = |level: &str, code: &str, words: &str| {
            let line = json!({ "message": { "level": level, "code": { "code": code }, "message": words,
                                            "children": [], "spans": [] } });
            TraitError::of(&line, &Sources::recorded("/w")).is_some()
        };
        assert!(of("error", "E0277", "a") && of("error", "E0599", "its trait bounds were not satisfied"));
        assert!(
            !of("warning", "E0277", "a") && !of("error", "E0308", "a") && !of("error", "E0599", "no method")
        );
    }
}
