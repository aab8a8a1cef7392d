//! Code of no use any more in the later spelling, of which the compiler would warn: variables that only dropped arguments
//! have used, which are addresses, halves, and what they were computed from; `mut` of views whose tiles are taken.

use super::edits::{Attempt, Edit};
use super::later::TILES;
use super::names::Binding;
use super::source::Kind;
use super::values::Context;
use super::{Ported, apart};

impl Context<'_, '_> {
    /// Removes statements that compute what nothing uses any more, and gives an underscore to other variables of which
    /// that is so.
    pub fn without_unused(&self, ported: &mut Ported) {
        let mut left: Vec<&Binding> = self.names.variables().collect();
        // A statement that goes may be the last use of another variable.
        loop {
            let mut attempt = Attempt::default();
            left.retain(|binding| {
                let is_unused = self.is_unused(binding, &ported.edits);
                if is_unused {
                    self.drop_or_mark(binding, &mut attempt);
                }
                !is_unused
            });
            if attempt.edits.is_empty() {
                return;
            }
            // A name inside of what is rewritten as a whole stays.
            let is_inside = |own: &Edit| {
                ported.edits.iter().any(|edit| {
                    edit.bytes.start <= own.bytes.start
                        && own.bytes.end < edit.bytes.end
                        && !edit.bytes.is_empty()
                })
            };
            attempt.edits.retain(|own| !own.bytes.is_empty() || !is_inside(own));
            // Edits inside of what goes are made by nobody.
            let is_kept = |own: &Edit| {
                !attempt.edits.iter().any(|gone| {
                    !gone.bytes.is_empty()
                        && gone.bytes.start <= own.bytes.start
                        && own.bytes.end <= gone.bytes.end
                })
            };
            ported.edits.retain(is_kept);
            ported.edits.extend(attempt.edits);
            ported.edits = apart(std::mem::take(&mut ported.edits), &mut ported.reports);
        }
    }

    /// `mut` of views to write of which only tiles are taken: the later tiles take the view, and those of the seed borrow
    /// it.
    pub fn tiled_views(&self, to_later: bool, attempt: &mut Attempt) {
        let source = self.source;
        for binding in self.names.variables() {
            let behind = binding.annotation.as_ref().or(binding.value.as_ref());
            let Some(name) = behind.and_then(|behind| behind.start.checked_sub(2)) else { continue };
            let mutable = name.saturating_sub(1);
            let is_mutable = source.word(mutable) == Some("mut");
            let is_let = source.word(mutable - usize::from(is_mutable)) == Some("let");
            if source.word(name) != Some(&binding.name) || !is_let || is_mutable != to_later {
                continue;
            }
            let is_tiled = |token: usize| {
                self.calls.methods.iter().enumerate().any(|(call, own)| {
                    own.start == token
                        && own.dot == token + 1
                        && TILES.contains(&self.name(call))
                        && self.is_written(call)
                })
            };
            let mut uses = self.uses(binding).peekable();
            if uses.peek().is_none() || !uses.all(is_tiled) {
                continue;
            }
            let start = source.tokens[name].start;
            match to_later {
                true => self.remove(attempt, source.tokens[mutable].start..start),
                false => attempt.insert(start, "mut "),
            }
        }
    }

    /// The tokens that name a variable. Those that declare another one of its name do not.
    fn uses(&self, binding: &Binding) -> impl Iterator<Item = usize> {
        let source = self.source;
        let declares = |token: usize| matches!(source.word(token.saturating_sub(1)), Some("let" | "mut"));
        binding.seen.clone().filter(move |&token| {
            source.word(token) == Some(binding.name.as_str())
                && (!declares(token) || source.is(token.saturating_sub(2), '&'))
                && !(token > 0 && source.is(token - 1, '.') && !source.is(token.saturating_sub(2), '.'))
                && self.names.at(&binding.name, token).is_some_and(|seen| seen.seen == binding.seen)
        })
    }

    /// True if a variable is named, but in removed bytes alone.
    fn is_unused(&self, binding: &Binding, edits: &[Edit]) -> bool {
        let source = self.source;
        if binding.name.starts_with('_') {
            return false;
        }
        // `"{name}"` is a use, too.
        let quoted = format!("{{{}", binding.name);
        let is_quoted = |token: usize| {
            source.kind(token) == Some(Kind::Literal) && source.of(&(token..token + 1)).contains(&quoted)
        };
        let is_gone = |token: usize| {
            let own = source.tokens[token];
            edits.iter().any(|edit| {
                edit.text.is_empty() && edit.bytes.start <= own.start && own.end <= edit.bytes.end
            })
        };
        let mut uses = self.uses(binding).peekable();
        uses.peek().is_some() && uses.all(is_gone) && !binding.seen.clone().any(is_quoted)
    }

    fn drop_or_mark(&self, binding: &Binding, attempt: &mut Attempt) {
        let source = self.source;
        let behind = binding.annotation.as_ref().or(binding.value.as_ref());
        let Some(name) = behind.and_then(|behind| behind.start.checked_sub(2)) else { return };
        if source.word(name) != Some(binding.name.as_str()) {
            return;
        }
        // A report says to leave out parameters of types that the later spelling lacks.
        let is_address = |token: usize| matches!(source.word(token), Some("Address" | "TrfAddress"));
        if binding.annotation.clone().is_some_and(|mut own| own.any(is_address)) {
            return;
        }
        if let Some(value) = &binding.value
            && self.is_plain(value)
            && source.word(name.saturating_sub(1)) == Some("let")
            && source.is(value.end, ';')
        {
            let bytes = self.whole_line(&(name - 1..value.end + 1));
            if !source.has_comment(&bytes) {
                return attempt.replace(bytes, "");
            }
        }
        attempt.insert(source.tokens[name].start, "_");
    }
}
