//! Code beside chains: paths of the library, statements that free, launches, attributes, names that have no counterpart.

use super::calls::Associated;
use super::edits::{Attempt, Edit};
use super::later::{DROPS, MARKS};
use super::source::{Kind, Tokens};
use super::values::Context;
use std::collections::HashMap;
use std::ops::Range;

/// The crates: seed-era, later.
pub const CRATES: [&str; 2] = ["furiosa_visa_std", "furiosa_opt_std"];

/// Names of the seed-era prelude that the later one lacks, each with what to write.
const SEED_NAMES: [(&str, &str); 51] = [
    ("AUTO", "leave the address out"),
    ("Address", "leave the parameter and its arguments out"),
    ("TrfAddress", "leave the parameter and its arguments out"),
    ("Opt", "write plain values"),
    ("Report", "write `furiosa_visa_std::clock::Report`"),
    ("LookupTable", "write `.fetch_table_lookup::<D>()` if one of its tables is yours"),
    ("AccumulationKind", "write `LaneMode`"),
    ("BranchMode", "write `TagMode`"),
    ("InputCmp", "write `Cmp`"),
    ("InputCmpI32", "write `Cmp`"),
    ("InputCmpF32", "write `Cmp`"),
    ("ValidBranchIds", "write `TagGuard`"),
    ("VeBranchOperand", "write `Branched`"),
    ("VeRhs", "write `Branched`"),
    ("FpDivBinaryOp", "leave the operator out"),
    ("FpDivOp", "write the `BinaryArgMode` alone"),
    ("UnaryArgMode", "leave the mode out"),
    ("Duplicates", "leave it out"),
    ("StreamTensor", "write the tensor of the stage, as `CollectTensor`"),
    ("AccumulationTensor", "write `ContractTensor`"),
    ("AlignedPair", "write `ContractOuterTensor`"),
    ("ContractionTensor", "write `ContractPacketTensor`"),
    ("f16", "write `bf16` or `f32`"),
    ("try_launch", "write `launch`"),
    ("VectorBranchTensor", "write `VectorTensor`"),
    ("VectorLogicTensor", "write `VectorTensor`"),
    ("VectorFxpTensor", "write `VectorTensor`"),
    ("VectorFxpToFpTensor", "write `VectorTensor`"),
    ("VectorNarrowTensor", "write `VectorTensor`"),
    ("VectorFpTensor", "write `VectorTensor`"),
    ("VectorIntraSliceReduceTensor", "write `VectorTensor`"),
    ("VectorFpDivTensor", "write `VectorTensor`"),
    ("VectorWidenTensor", "write `VectorTensor`"),
    ("VectorFpToFxpTensor", "write `VectorTensor`"),
    ("VectorClipTensor", "write `VectorTensor`"),
    ("VectorInterSliceReduceTensor", "write `VectorTensor`"),
    ("NoTensor", "write `VectorTensor`"),
    ("HasTensor", "write `VectorTensor`"),
    ("FetchPlan", "name it of `furiosa_visa_std`"),
    ("CollectPlan", "name it of `furiosa_visa_std`"),
    ("SwitchPlan", "name it of `furiosa_visa_std`"),
    ("AlignPlan", "name it of `furiosa_visa_std`"),
    ("ContractPlan", "name it of `furiosa_visa_std`"),
    ("AccumulatePlan", "name it of `furiosa_visa_std`"),
    ("CastPlan", "name it of `furiosa_visa_std`"),
    ("TransposePlan", "name it of `furiosa_visa_std`"),
    ("CommitPlan", "name it of `furiosa_visa_std`"),
    ("DmaPlan", "name it of `furiosa_visa_std`"),
    ("HostPlan", "name it of `furiosa_visa_std`"),
    ("StreamCast", "leave it out"),
    ("alloc_dm", "write `DmTensor::new()`"),
];

/// Names of the later prelude that the seed-era one lacks, each with what to write.
const LATER_NAMES: [(&str, &str); 10] = [
    ("LaneMode", "write `AccumulationKind`"),
    ("TagMode", "write `BranchMode`"),
    ("Cmp", "write `InputCmp`"),
    ("Branched", "write `(operand, GroupId::…)`"),
    ("TagGuard", "write `(operand, GroupId::…)`"),
    ("BitReq", "write `ValidBranchIds`"),
    ("ExecutionId", "write `ValidBranchIds`"),
    ("TuTensor", "write the tensor of the stage, as `CollectTensor`"),
    ("ContractOuterTensor", "write `AlignedPair`"),
    ("ContractTimeTensor", "write `ContractionTensor`"),
];

impl Context<'_, '_> {
    /// Paths into the library. `to_later`: the direction.
    pub fn paths(&self, to_later: bool, attempt: &mut Attempt) {
        let source = self.source;
        let [from, to] = if to_later { CRATES } else { [CRATES[1], CRATES[0]] };
        for token in 0..source.tokens.len() {
            if source.word(token) != Some(from) {
                continue;
            }
            let module = source.word(token + 3).filter(|_| source.is_path(token + 1));
            match module {
                Some("prelude") => self.put(attempt, token, to),
                // The library under the later surface.
                Some("visa") if !to_later && source.is_path(token + 4) => {
                    self.put(attempt, token, to);
                    self.remove(attempt, source.tokens[token + 3].start..source.tokens[token + 6].start);
                }
                _ => {
                    let all = token..(token + 4).min(source.tokens.len());
                    let bytes = source.bytes(&if module.is_some() { all } else { token..token + 1 });
                    let edit = match (to_later, source.kind(token + 3)) {
                        (_, Some(Kind::Open(_))) => {
                            format!("name `{from}::prelude::*` in a `use` of its own")
                        }
                        (true, _) => format!("keep `{from}` as a dependency beside `{to}`, or do without"),
                        (false, _) => "do without".to_string(),
                    };
                    attempt.remark(bytes, format!("`{to}` has a prelude, and not this"), edit);
                }
            }
        }
    }

    /// `DmTensor::new(ctx)` to `DmTensor::new()`, and the tensors at addresses that were asked for.
    pub fn new_to_later(&self, own: &Associated, attempt: &mut Attempt) {
        let source = self.source;
        let is_memory = self.is_of_memory(own);
        match (source.word(own.name), own.arguments.as_slice()) {
            (Some("new"), [context]) if is_memory => {
                if self.is_plain(context) {
                    self.remove_part(attempt, &own.arguments, 0);
                } else {
                    let why = "the context is dropped, but this one is computed";
                    attempt.problem(source.bytes(context), why, "write `new()`");
                }
            }
            (Some("from_addr"), [address]) => {
                let call = self.calls.last_call(source, address);
                if !is_memory || !call.is_some_and(|call| self.is_address_of_new(call)) {
                    let bytes = source.bytes(&(own.of..own.close + 1));
                    let edit = "write `new()`, and let views and tiles take the place of the address";
                    return attempt.problem(bytes, "tensors have no address", edit);
                }
                let arguments = source.tokens[own.open].end..source.tokens[own.close].start;
                self.put(attempt, own.name, "new");
                self.remove(attempt, arguments);
                // `unsafe { DmTensor::from_addr(…) }` as a whole.
                let open = own.of.checked_sub(1).filter(|&open| source.kind(open) == Some(Kind::Open('{')));
                if let Some(open) = open
                    && source.tokens[open].mate == own.close + 1
                    && open > 0
                    && source.word(open - 1) == Some("unsafe")
                {
                    self.remove(attempt, source.tokens[open - 1].start..source.tokens[own.of].start);
                    self.remove(attempt, source.tokens[own.close].end..source.tokens[own.close + 1].end);
                }
            }
            _ => {}
        }
    }

    /// True for a function of a tensor in HBM or in DM, also by an alias.
    pub fn is_of_memory(&self, own: &Associated) -> bool {
        let of = own.of..own.of + 1;
        matches!(self.value_of_type(&of).tensor, Some("HbmTensor" | "DmTensor"))
    }

    /// Calls `Alias::new(…)` of aliases of tensors.
    pub fn news_of_aliases(&self) -> Vec<Associated> {
        let source = self.source;
        let new = |of: usize| {
            let (name, open) = (of + 3, of + 4);
            let is_alias = source.word(of).is_some_and(|word| self.names.alias_of(word).is_some());
            if !is_alias || !source.is_path(of + 1) || source.word(name) != Some("new") {
                return None;
            }
            let close = source.tokens.get(open).filter(|own| own.kind == Kind::Open('('))?.mate;
            let arguments = source.parts(open + 1..close, false);
            let own = Associated { of, generics: None, name, open, close, arguments };
            self.value_of_type(&(of..of + 1)).tensor.map(|_| own)
        };
        (0..source.tokens.len()).filter_map(new).collect()
    }

    /// `launch(kernel, (&mut ctx, …))` to `launch(kernel, (&mut *ctx, …))` for a guard `ctx`.
    pub fn launches(&self, attempt: &mut Attempt) {
        let source = self.source;
        for token in 0..source.tokens.len() {
            if source.word(token) != Some("launch") || source.kind(token + 1) != Some(Kind::Open('(')) {
                continue;
            }
            let close = source.tokens[token + 1].mate;
            let Some(arguments) = source.parts(token + 2..close, false).into_iter().nth(1) else { continue };
            let first = arguments.start + usize::from(source.kind(arguments.start) == Some(Kind::Open('(')));
            let name = first + 2;
            let is_guard =
                source.word(name).and_then(|word| self.names.at(word, name)).is_some_and(|binding| {
                    binding.value.as_ref().is_some_and(|value| {
                        let call = source.word(value.start + 3);
                        source.word(value.start) == Some("Context")
                            && source.is_path(value.start + 1)
                            && matches!(call, Some("acquire" | "with"))
                    })
                });
            let is_whole = source.is(name + 1, ',') || matches!(source.kind(name + 1), Some(Kind::Close(_)));
            if source.is(first, '&') && source.word(first + 1) == Some("mut") && is_guard && is_whole {
                attempt.insert(source.tokens[name].start, "*");
            }
        }
    }

    /// Statements that free memory: each an attempt of its own.
    pub fn frees(&self) -> Vec<Attempt> {
        let mut all = Vec::new();
        let mut marks = Vec::new();
        for token in 0..self.source.tokens.len() {
            if let Some((statement, mark)) = self.free(token) {
                marks.push(mark);
                let mut attempt = Attempt::default();
                self.remove(&mut attempt, self.whole_line(&statement));
                attempt.note(self.source.bytes(&statement).start, MARKS);
                all.push(attempt);
            } else if let Some(statement) = self.dropped(token) {
                let mut attempt = Attempt::default();
                self.remove(&mut attempt, self.whole_line(&statement));
                attempt.note(self.source.bytes(&statement).start, DROPS);
                all.push(attempt);
            }
        }
        all.extend(self.marks(&marks));
        all
    }

    /// True for the first token of a statement.
    fn starts_statement(&self, token: usize) -> bool {
        token.checked_sub(1).is_some_and(|before| {
            self.source.is(before, ';')
                || matches!(self.source.kind(before), Some(Kind::Open('{') | Kind::Close('{')))
        })
    }

    /// `ctx.free_dm_from(mark);` with its mark, from its first token on.
    fn free(&self, token: usize) -> Option<(Tokens, usize)> {
        let source = self.source;
        if !self.starts_statement(token) {
            return None;
        }
        let own = self.calls.methods.iter().find(|own| {
            own.start == token
                && own.before.is_none()
                && matches!(source.word(own.name), Some("free_dm_from" | "free_hbm_from"))
        })?;
        let [mark] = own.arguments.as_slice() else { return None };
        (source.is(own.close + 1, ';') && mark.len() == 1).then(|| (token..own.close + 2, mark.start))
    }

    /// `drop(x);` of tensors on the chip, from its first token on.
    fn dropped(&self, token: usize) -> Option<Tokens> {
        let source = self.source;
        let open = token + 1;
        if source.word(token) != Some("drop")
            || !self.starts_statement(token)
            || source.kind(open) != Some(Kind::Open('('))
        {
            return None;
        }
        let close = source.tokens[open].mate;
        let mut inner = open + 1..close;
        if source.kind(inner.start) == Some(Kind::Open('(')) && source.tokens[inner.start].mate + 1 == close {
            inner = inner.start + 1..close - 1;
        }
        let parts = source.parts(inner, false);
        let is_tensor = |part: &Tokens| {
            let value = self.variable(part).map(|_| self.value(part));
            value.is_some_and(|value| matches!(value.tensor, Some("DmTensor" | "TrfTensor" | "VrfTensor")))
        };
        (!parts.is_empty() && parts.iter().all(is_tensor) && source.is(close + 1, ';'))
            .then(|| token..close + 2)
    }

    /// `let mark = ctx.dm_mark();` where the mark is named in the statements alone that are removed.
    fn marks(&self, removed: &[usize]) -> Vec<Attempt> {
        let source = self.source;
        let mut all = Vec::new();
        for binding in self.names.variables() {
            let Some(value) = &binding.value else { continue };
            let call = self.calls.last_call(source, value);
            if !call.is_some_and(|call| matches!(self.name(call), "dm_mark" | "hbm_mark")) {
                continue;
            }
            let start = value.start - 3;
            let uses = binding.seen.clone().filter(|&token| source.word(token) == Some(&binding.name));
            let is_let = source.word(start) == Some("let") && source.is(value.start - 1, '=');
            if is_let && uses.clone().count() > 0 && uses.into_iter().all(|token| removed.contains(&token)) {
                let statement = start..value.end + 1;
                let mut attempt = Attempt::default();
                self.remove(&mut attempt, self.whole_line(&statement));
                attempt.note(source.bytes(&statement).start, MARKS);
                all.push(attempt);
            }
        }
        all
    }

    /// The bytes of a statement, and of its line if there is nothing else.
    pub fn whole_line(&self, statement: &Tokens) -> Range<usize> {
        let (text, bytes) = (self.source.text, self.source.bytes(statement));
        let start = text[..bytes.start].rfind('\n').map_or(0, |end| end + 1);
        let end = text[bytes.end..].find('\n').map_or(text.len(), |end| bytes.end + end + 1);
        let is_alone = text[start..bytes.start].trim().is_empty() && text[bytes.end..end].trim().is_empty();
        if is_alone { start..end } else { bytes }
    }

    /// `#[device]` and `#[device(chip = 1, pe = 8)]` to `#[device(chip = 1)]`, and what nightly alone accepts.
    pub fn attributes_to_seed(&self, attempt: &mut Attempt) {
        let source = self.source;
        for token in 0..source.tokens.len() {
            let open = token + 1 + usize::from(source.is(token + 1, '!'));
            if !source.is(token, '#') || source.kind(open) != Some(Kind::Open('[')) {
                continue;
            }
            let (name, close) = (open + 1, source.tokens[open].mate);
            let all = source.bytes(&(token..close + 1));
            match source.word(name) {
                Some("device") if name + 1 == close => {
                    attempt.insert(source.tokens[name].end, "(chip = 1)");
                }
                Some("device") if source.kind(name + 1) == Some(Kind::Open('(')) => {
                    let parts = source.parts(name + 2..close - 1, false);
                    let named =
                        |word: &str| parts.iter().position(|part| source.word(part.start) == Some(word));
                    match (named("chip"), named("pe")) {
                        (Some(_), Some(pe)) => self.remove_part(attempt, &parts, pe),
                        (None, Some(pe)) => {
                            let bytes = source.bytes(&parts[pe]);
                            if source.has_comment(&bytes) {
                                attempt.remark(bytes, "a comment stands here", "write `chip = 1`");
                            } else {
                                attempt.replace(bytes, "chip = 1");
                            }
                        }
                        _ => {}
                    }
                }
                Some("feature" | "register_tool") if source.of(&(name..close)).contains("register_tool") => {
                    attempt.remark(all, "stable Rust has no such attribute", "remove it");
                }
                _ => {}
            }
        }
    }

    /// Kinds of padding in `m![…]`: `#{!} n` and `#{*} n` to `# n`.
    pub fn padding_to_seed(&self, attempt: &mut Attempt) {
        let source = self.source;
        for token in 0..source.tokens.len() {
            if source.word(token) != Some("m") || !source.is(token + 1, '!') {
                continue;
            }
            let Some(Kind::Open(_)) = source.kind(token + 2) else { continue };
            for hash in token + 3..source.tokens[token + 2].mate {
                let open = hash + 1;
                if !source.is(hash, '#') || source.kind(open) != Some(Kind::Open('{')) {
                    continue;
                }
                let close = source.tokens[open].mate;
                let bytes = source.tokens[open].start..source.tokens[close].end;
                match source.of(&(open + 1..close)) {
                    "!" | "*" => self.remove(attempt, bytes),
                    _ => attempt.remark(bytes, "padding has one kind", "write `# n`, and write zeros there"),
                }
            }
        }
    }

    /// Names that the other prelude lacks and that no edit or report covers: the first place of each.
    pub fn leftovers(&self, to_later: bool, edits: &[Edit], known: &[Range<usize>], attempt: &mut Attempt) {
        let source = self.source;
        let names: &[(&str, &str)] = if to_later { &SEED_NAMES } else { &LATER_NAMES };
        let mut all: HashMap<&str, Vec<usize>> = HashMap::new();
        for (token, own) in source.tokens.iter().enumerate() {
            let is_field = token > 0 && (source.is(token - 1, '.') || source.is(token - 1, '$'));
            let is_covered = |bytes: &Range<usize>| bytes.start <= own.start && own.end <= bytes.end;
            if let Some(word) = source.word(token)
                && names.iter().any(|(name, _)| *name == word)
                && !is_field
                && !edits.iter().any(|edit| is_covered(&edit.bytes))
                && !known.iter().any(is_covered)
            {
                all.entry(word).or_default().push(token);
            }
        }
        for (name, edit) in names {
            let Some(places) = all.get(name) else { continue };
            let Some(&first) = places.first() else { continue };
            let more = match places.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let Range { start, end } = source.bytes(&(first..first + 1));
            let prelude = if to_later { "later" } else { "seed-era" };
            attempt.remark(start..end, format!("the {prelude} prelude has no such name{more}"), *edit);
        }
    }
}
