//! `visa port`: kernels between the spelling of this library and the later one of `furiosa-opt-std`.
//!
//! The text is read as tokens with their bytes, and edited in place: what no edit touches stays byte for byte. A chain of
//! calls is rewritten as a whole, or stays as it is with a report. What is written for one chain follows from the text of
//! the file alone: from generics, annotations, aliases and axes.

mod calls;
mod chain;
mod edits;
mod gone;
mod host;
mod later;
mod mapping;
mod names;
mod seed;
mod source;
mod statements;
mod switch;
#[cfg(test)]
mod tests;
mod unused;
mod values;

use calls::Calls;
use edits::{Attempt, Edit, Note, Report, applied, difference, noted};
use names::Names;
use source::Source;
use statements::CRATES;
use std::ops::Range;
use values::Context;

/// A spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Of `furiosa_visa_std`.
    Seed,
    /// Of `furiosa_opt_std`.
    Later,
}

/// A text in the other spelling.
#[derive(Debug)]
pub struct Ported {
    edits: Vec<Edit>,
    /// Work that is left to the user, in the order of the text.
    reports: Vec<Report>,
    notes: Vec<Note>,
}

impl Ported {
    /// A text that stays.
    fn same() -> Self {
        Self { edits: Vec::new(), reports: Vec::new(), notes: Vec::new() }
    }

    /// The number of edits.
    pub fn edits(&self) -> usize {
        self.edits.len()
    }

    /// The number of places that are left to the user.
    pub fn places(&self) -> usize {
        self.reports.len()
    }

    /// The new text.
    pub fn text(&self, old: &str) -> String {
        applied(old, &self.edits)
    }

    /// The changes, as a unified difference.
    pub fn difference(&self, file: &str, old: &str) -> String {
        difference(file, old, &self.edits)
    }

    /// Work that is left to the user, and losses.
    pub fn report(&self, file: &str, old: &str) -> String {
        let mut text: String = self.reports.iter().map(|report| report.line(file, old)).collect();
        text += &noted(file, old, &self.notes);
        text
    }
}

/// Rewrites a text. Without a direction, the prelude that it names decides. `Err` says why it cannot be read.
pub fn ported(text: &str, to: Option<Spelling>) -> Result<Ported, String> {
    let source = Source::new(text)?;
    let to = match to {
        Some(to) => to,
        None => match preludes(&source) {
            [false, false] => return Ok(Ported::same()),
            [true, false] => Spelling::Later,
            [false, true] => Spelling::Seed,
            [true, true] => {
                return Err(format!(
                    "it names the preludes of `{}` and `{}`; say `--to later` or `--to seed`",
                    CRATES[0], CRATES[1]
                ));
            }
        },
    };
    let (calls, names) = (Calls::new(&source), Names::new(&source));
    let context = Context { source: &source, calls: &calls, names: &names };
    Ok(rewritten(&context, to))
}

/// The preludes that a text names: of the seed-era crate, and of the later one.
fn preludes(source: &Source<'_>) -> [bool; 2] {
    CRATES.map(|own| {
        (0..source.tokens.len()).any(|token| {
            source.word(token) == Some(own)
                && source.is_path(token + 1)
                && matches!(source.word(token + 3), Some("prelude"))
                || source.word(token) == Some(own)
                    && source.is_path(token + 1)
                    && matches!(source.kind(token + 3), Some(source::Kind::Open('{')))
        })
    })
}

fn rewritten(context: &Context<'_, '_>, to: Spelling) -> Ported {
    let to_later = to == Spelling::Later;
    let calls = context.calls;
    let mut attempts = Vec::new();
    // Chains: calls whose results no other call is made on.
    let mut is_head = vec![true; calls.methods.len()];
    calls.methods.iter().filter_map(|call| call.before).for_each(|before| is_head[before] = false);
    for head in (0..calls.methods.len()).filter(|&head| is_head[head]) {
        let mut attempt = if to_later { context.later_chain(head) } else { context.seed_chain(head) };
        for call in context.chain(head) {
            context.host_values(call, to_later, &mut attempt);
        }
        attempts.push((Some(context.chain_bytes(head)), attempt));
    }
    let of_aliases = context.news_of_aliases();
    for own in calls.associated.iter().chain(&of_aliases) {
        let mut attempt = Attempt::default();
        if context.source.word(own.of) == Some("HostTensor") {
            match to_later {
                true => context.host_to_later(own, &mut attempt),
                false => context.host_to_seed(own, &mut attempt),
            }
        } else {
            match to_later {
                true => context.new_to_later(own, &mut attempt),
                false => context.new_to_seed(own, &mut attempt),
            }
        }
        let bytes = context.source.bytes(&(own.of..own.close + 1));
        attempts.push((Some(bytes), attempt));
    }
    let mut rest = Attempt::default();
    context.paths(to_later, &mut rest);
    if to_later {
        context.launches(&mut rest);
        attempts.extend(context.frees().into_iter().map(|attempt| (None, attempt)));
    } else {
        context.attributes_to_seed(&mut rest);
        context.padding_to_seed(&mut rest);
    }
    context.tiled_views(to_later, &mut rest);
    attempts.push((None, rest));
    let mut ported = combined(attempts);
    if to_later {
        context.without_unused(&mut ported);
    }
    let known: Vec<Range<usize>> = ported.reports.iter().map(|report| report.bytes.clone()).collect();
    let mut left = Attempt::default();
    context.leftovers(to_later, &ported.edits, &known, &mut left);
    ported.reports.extend(left.remarks);
    ported.reports.sort_by_key(|report| report.bytes.start);
    ported
}

/// Makes the edits of all attempts that have no problem, and none inside of a chain that stays.
fn combined(attempts: Vec<(Option<Range<usize>>, Attempt)>) -> Ported {
    let blocked: Vec<Range<usize>> = attempts
        .iter()
        .filter(|(_, attempt)| !attempt.problems.is_empty())
        .filter_map(|(bytes, _)| bytes.clone())
        .collect();
    let mut ported = Ported::same();
    for (_, attempt) in attempts {
        let is_inside = |edit: &Edit| {
            blocked.iter().any(|own| own.start <= edit.bytes.start && edit.bytes.end <= own.end)
        };
        // A rest of several edits, as those of the padding, loses those alone that are inside.
        let stays = !attempt.problems.is_empty();
        ported.reports.extend(attempt.problems);
        if stays {
            continue;
        }
        ported.reports.extend(attempt.remarks);
        ported.notes.extend(
            attempt.notes.into_iter().filter(|note| !blocked.iter().any(|own| own.contains(&note.byte))),
        );
        ported.edits.extend(attempt.edits.into_iter().filter(|edit| !is_inside(edit)));
    }
    ported.edits = apart(std::mem::take(&mut ported.edits), &mut ported.reports);
    ported
}

/// The edits in order. Those inside of another one are not made, and reported.
fn apart(mut edits: Vec<Edit>, reports: &mut Vec<Report>) -> Vec<Edit> {
    // The sort is stable: insertions at one byte keep their order.
    edits.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end));
    let mut apart: Vec<Edit> = Vec::with_capacity(edits.len());
    for edit in edits {
        match apart.last() {
            Some(last) if edit.bytes.start < last.bytes.end => reports.push(Report {
                bytes: edit.bytes,
                why: "it stands inside of what is rewritten".to_string(),
                edit: "rewrite it by hand".to_string(),
            }),
            _ => apart.push(edit),
        }
    }
    apart
}
