//! From the later spelling to the seed-era one, chain by chain.

use super::calls::Associated;
use super::chain::RENAMED;
use super::edits::Attempt;
use super::gone::LATER_ONLY;
use super::source::{Kind, Tokens};
use super::values::Context;

pub const AUTOMATIC: &str =
    "places are left to the library (`AUTO`): bytes are free at the end of a scope, not after the last use";

impl Context<'_, '_> {
    /// Rewrites the chain that ends with a call.
    pub fn seed_chain(&self, head: usize) -> Attempt {
        let mut attempt = Attempt::default();
        let chain = self.chain(head);
        self.unknown_calls(&chain, &mut attempt);
        for (k, &call) in chain.iter().enumerate() {
            self.seed_call(call, chain.get(k + 1).copied(), &mut attempt);
        }
        attempt
    }

    /// `next`: the call on the result.
    fn seed_call(&self, call: usize, next: Option<usize>, attempt: &mut Attempt) {
        let (name, generics) = (self.name(call), self.generics(call));
        let arguments = &self.calls.methods[call].arguments;
        if let Some((_, why, edit)) = LATER_ONLY.iter().find(|(own, ..)| *own == name) {
            let is_done = match name {
                "to_dm_pcopy" => arguments.len() == 2,
                "dm_cluster_shuffle" | "dm_chip_shuffle" | "hbm_chip_shuffle" => {
                    // A call of a context has the view among its arguments.
                    self.source.of(&self.calls.methods[call].root).ends_with("dma")
                }
                "bind" => !self.source.of(&self.calls.methods[call].root).starts_with("Context"),
                _ => false,
            };
            if !is_done {
                attempt.problem(self.call_bytes(call), *why, *edit);
            }
            return;
        }
        if let Some((seed, _)) = RENAMED.iter().find(|(_, later)| *later == name) {
            return self.rename(attempt, call, seed);
        }
        let is_library = !generics.is_empty() || self.is_stream(call);
        match name {
            "to_dm" | "to_hbm" if arguments.len() == 1 => self.add_place(call, attempt),
            "to_vrf" if arguments.is_empty() => self.add_place(call, attempt),
            "commit" if arguments.is_empty() && is_library => self.add_place(call, attempt),
            "to_trf" if arguments.is_empty() => self.rename(attempt, call, "to_trf_auto"),
            "commit_trim"
                if !matches!(next.map(|next| self.name(next)), Some("commit_cast" | "commit_cast_relu")) =>
            {
                self.remove_call(call, attempt);
            }
            "fetch" if generics.len() == 2 => self.join_fetch(call, next, attempt),
            "contract_outer" => {
                self.rename(attempt, call, "align");
                if let Some(own) =
                    self.calls.methods[call].generics.as_ref().filter(|own| own.parts.len() == 5)
                {
                    self.remove_part(attempt, &own.parts, 4);
                }
            }
            "contract_packet" => self.rename(attempt, call, "contract"),
            "contract_time" => {
                if next.is_none_or(|next| self.name(next) != "contract_lane") {
                    let why = "`accumulate` has the time and the lanes in one call";
                    attempt.problem(self.call_bytes(call), why, "write `.contract_lane` behind it");
                }
                self.remove_call(call, attempt);
            }
            "contract_lane" => {
                self.rename(attempt, call, "accumulate");
                let mut tokens = arguments.iter().flat_map(Clone::clone);
                match tokens.find(|&token| self.source.word(token) == Some("LaneMode")) {
                    Some(word) => self.put(attempt, word, "AccumulationKind"),
                    None => attempt.problem(
                        self.call_bytes(call),
                        "the mode is not spelled in the call",
                        "write `LaneMode::…` in the call",
                    ),
                }
            }
            "vector_intra_slice_tag" => {
                self.rename(attempt, call, "vector_intra_slice_branch");
                if let Some(mode) = arguments.first() {
                    self.branch(call, mode, attempt);
                }
            }
            "vector_fp_div" | "vector_fp_div_with_mode" => self.add_division(call, attempt),
            "to_hbm_view" | "to_dm_view" | "to_dm_view_pcopy" => self.fixed_generics(call, attempt),
            "dma_gather_scaled" => {
                self.rename(attempt, call, "dma_gather");
                self.add_place(call, attempt);
            }
            "dma_gather_unscaled" => self.gather_of_rows(call, attempt),
            "dma_scatter" if arguments.len() == 2 => self.add_argument(attempt, call, "true"),
            _ => {}
        }
        for argument in arguments.iter().filter(|_| name.starts_with("vector_")) {
            if argument.clone().any(|token| matches!(self.source.word(token), Some("Branched" | "TagGuard")))
            {
                self.guarded(argument, attempt);
            }
        }
    }

    fn add_place(&self, call: usize, attempt: &mut Attempt) {
        attempt.note(self.call_bytes(call).start, AUTOMATIC);
        self.add_argument(attempt, call, "AUTO");
    }

    /// Removes a call with its dot, and the end of line before it.
    fn remove_call(&self, call: usize, attempt: &mut Attempt) {
        let own = &self.calls.methods[call];
        let tokens = &self.source.tokens;
        let gap = self.source.gap(own.dot);
        let end = tokens[own.close].end;
        // A comment before the call stays.
        let start = tokens[own.dot].start
            - if gap.trim().is_empty() { gap.len() } else { self.separator(call).len() };
        self.remove(attempt, start..end);
    }

    /// `fetch::<T, P>().fetch_cast::<D>()` to `fetch::<D, T, P>()`, and its like.
    fn join_fetch(&self, call: usize, next: Option<usize>, attempt: &mut Attempt) {
        let own = &self.calls.methods[call];
        let Some(generics) = &own.generics else { return };
        let first = self.source.bytes(&generics.parts[0]).start;
        let joined = next.filter(|&next| matches!(self.name(next), "fetch_cast" | "fetch_zero_point_sub"));
        let Some(joined) = joined else {
            if next.is_some_and(|next| matches!(self.name(next), "fetch_mask" | "fetch_table_lookup")) {
                return;
            }
            // The stored type is the type of the stream.
            match self.before(call).and_then(|before| self.result(before).scalar) {
                Some(scalar) => attempt.insert(first, format!("{scalar}, ")),
                None => attempt.problem(
                    self.call_bytes(call),
                    "this text does not tell the type of the tensor that is fetched",
                    "write `.fetch::<T, P>().fetch_cast::<D>()`, or annotate the tensor",
                ),
            }
            return;
        };
        let [scalar] = self.generics(joined)[..] else {
            let edit = "write its type";
            return attempt.problem(self.call_bytes(joined), "the type of the stream is not spelled", edit);
        };
        attempt.insert(first, format!("{scalar}, "));
        let (arguments, bytes) = (&self.calls.methods[joined].arguments, self.call_bytes(joined));
        if let ("fetch_zero_point_sub", [value]) = (self.name(joined), arguments.as_slice()) {
            if self.source.has_comment(&bytes) {
                let why = "a comment stands in what is to be moved";
                return attempt.problem(bytes, why, "move the comment");
            }
            self.rename(attempt, call, "fetch_with_zero_point");
            let text = self.source.of(value);
            let is_number = value.len() <= 2 && self.source.kind(value.end - 1) == Some(Kind::Literal);
            let own_value = text.strip_prefix("i32::from(").and_then(|text| text.strip_suffix(')'));
            let value = match (scalar, own_value) {
                ("i9", Some(inner)) => inner.to_string(),
                ("i9", None) if is_number => text.to_string(),
                ("i9", None) => format!("({text}) as i8"),
                _ => format!("i4::from_i32({text})"),
            };
            let open = self.source.tokens[own.open];
            attempt.insert(open.end, value);
        }
        self.remove_call(joined, attempt);
    }

    /// `TagMode` to `BranchMode`.
    fn branch(&self, call: usize, mode: &Tokens, attempt: &mut Attempt) {
        let source = self.source;
        let word = mode.clone().find(|&token| source.word(token) == Some("TagMode"));
        let Some(word) = word.filter(|&word| source.is_path(word + 1)) else {
            if source.of(mode) != "Default::default()" && !source.of(mode).starts_with("BranchMode") {
                let edit = "write `TagMode::…` in the call";
                attempt.problem(source.bytes(mode), "the mode is not spelled in the call", edit);
            }
            return;
        };
        self.put(attempt, word, "BranchMode");
        match source.word(word + 3) {
            Some("Zero") => self.put(attempt, word + 3, "Unconditional"),
            Some("AxisToggle") => {}
            Some("Comparison") => {
                let scalar = self.value_before(call).scalar;
                self.input_comparisons(&(word + 4..mode.end), scalar.as_deref(), attempt);
            }
            _ => {
                attempt.problem(source.bytes(mode), "the mode is not spelled in the call", "write a variant")
            }
        }
    }

    /// `Cmp::Less(x)` to `InputCmp::I32(InputCmpI32::Less { boundary: x })`.
    fn input_comparisons(&self, tokens: &Tokens, scalar: Option<&str>, attempt: &mut Attempt) {
        let source = self.source;
        // A boundary with a point tells the type, too.
        let has_point = tokens.clone().any(|token| {
            source.kind(token) == Some(Kind::Literal) && source.of(&(token..token + 1)).contains('.')
        });
        let kind = match scalar {
            Some("f32") => "F32",
            Some("i32") => "I32",
            _ if has_point => "F32",
            _ => {
                let edit = "fetch with `.fetch_cast::<…>()`, or annotate the tensor";
                return attempt.problem(
                    source.bytes(tokens),
                    "this text does not tell the type of the stream",
                    edit,
                );
            }
        };
        let mut found = 0;
        for token in
            tokens.clone().filter(|&token| source.word(token) == Some("Cmp") && source.is_path(token + 1))
        {
            let Some(variant) = source.word(token + 3) else { continue };
            let open = token + 4;
            let (value, end) = match source.kind(open) {
                Some(Kind::Open('(')) => {
                    let close = source.tokens[open].mate;
                    (format!(" {{ boundary: {} }}", source.of(&(open + 1..close))), close + 1)
                }
                _ => (String::new(), token + 4),
            };
            let bytes = source.bytes(&(token..end));
            if !source.has_comment(&bytes) {
                attempt.replace(bytes, format!("InputCmp::{kind}(InputCmp{kind}::{variant}{value})"));
                found += 1;
            }
        }
        if found != 4 {
            let edit = "write the four comparisons in the call, as `Cmp::…`";
            attempt.problem(source.bytes(tokens), "the comparisons are not spelled in the call", edit);
        }
    }

    /// `vector_fp_div(x)` to `vector_fp_div(FpDivBinaryOp::DivF.with_mode(…), x)`.
    fn add_division(&self, call: usize, attempt: &mut Attempt) {
        const DIVISION: &str = "FpDivBinaryOp::DivF";
        let (source, own) = (self.source, &self.calls.methods[call]);
        let Some(first) = own.arguments.first().filter(|first| !source.of(first).starts_with(DIVISION))
        else {
            return;
        };
        let start = source.bytes(first);
        match (self.name(call), own.arguments.len()) {
            ("vector_fp_div", 1) => {
                attempt.insert(start.start, format!("{DIVISION}.with_mode(BinaryArgMode::Mode01), "))
            }
            ("vector_fp_div_with_mode", 2) => {
                self.rename(attempt, call, "vector_fp_div");
                attempt.insert(start.start, format!("{DIVISION}.with_mode("));
                attempt.insert(start.end, ")");
            }
            _ => attempt.insert(start.start, format!("{DIVISION}, ")),
        }
    }

    /// Removes the generics that are free in the later spelling alone.
    fn fixed_generics(&self, call: usize, attempt: &mut Attempt) {
        let Some(generics) = &self.calls.methods[call].generics else { return };
        let source = self.source;
        let parts = &generics.parts;
        let removed = match (self.name(call), parts.len()) {
            ("to_hbm_view", 2) if !source.of(&parts[0]).contains("Dma") => 0..1,
            ("to_hbm_view", 3) => 1..2,
            // Of HBM: Chip2. Of DM: Chip2 and Cluster2.
            ("to_dm_view", 4) => match self.value_before(call).tensor {
                Some("HbmTensor") => 0..1,
                Some("DmTensor") => 0..2,
                _ => {
                    let why = "this text does not tell whether the tensor is in HBM or in DM";
                    return attempt.problem(self.call_bytes(call), why, "leave the generics out");
                }
            },
            ("to_dm_view_pcopy", 4) => 0..2,
            _ => return,
        };
        if parts[removed.clone()].iter().any(|part| source.of(part) != "_") {
            let why = "chips and clusters are those of the source";
            return attempt.problem(
                self.call_bytes(call),
                why,
                "write `_` for them, or leave the generics out",
            );
        }
        let start = source.bytes(&parts[removed.start]).start;
        self.remove(attempt, start..source.bytes(&parts[removed.end]).start);
    }

    /// `dma_gather_unscaled(&index)` to `dma_gather_rows(&mut ctx.tdma, &index, AUTO)`.
    fn gather_of_rows(&self, call: usize, attempt: &mut Attempt) {
        let own = &self.calls.methods[call];
        let Some((context, _)) = self.context_at(own.name) else {
            let why = "the context of this function is not known";
            return attempt.problem(self.call_bytes(call), why, "call the parameter `ctx: &mut Context`");
        };
        self.rename(attempt, call, "dma_gather_rows");
        if let Some(generics) = &own.generics
            && generics.parts.len() == 6
        {
            let start = self.source.bytes(&generics.parts[0]).start;
            self.remove(attempt, start..self.source.bytes(&generics.parts[3]).start);
            attempt.insert(self.source.bytes(&generics.parts[5]).end, ", _");
        }
        attempt.insert(self.source.tokens[own.open].end, format!("&mut {context}.tdma, "));
        self.add_place(call, attempt);
    }

    /// `Branched::imm(TagGuard::group(GroupId::One), x)` to `(x, GroupId::One)`.
    fn guarded(&self, argument: &Tokens, attempt: &mut Attempt) {
        let source = self.source;
        let bytes = source.bytes(argument);
        // Branched :: imm ( TagGuard :: group ( GroupId :: One ) , x )
        let open = argument.start + 4;
        if source.word(argument.start) == Some("Branched")
            && matches!(source.word(argument.start + 3), Some("imm" | "rf"))
            && source.tokens.get(open).is_some_and(|open| open.mate + 1 == argument.end)
            && let [guard, operand] = source.parts(open + 1..argument.end - 1, false).as_slice()
            && guard.len() == 10
            && source.of(&(guard.start..guard.start + 4)) == "TagGuard::group"
            && source.word(guard.start + 5) == Some("GroupId")
            && !source.has_comment(&bytes)
        {
            let group = source.of(&(guard.start + 5..guard.end - 1));
            return attempt.replace(bytes, format!("({}, {group})", source.of(operand)));
        }
        attempt.problem(
            bytes,
            "all operands that admit an element apply in turn, where it took the first slot",
            "write `(operand, GroupId::…)`, or operands with guards that exclude each other",
        );
    }

    /// The context of a function, and true if it is owned there.
    fn context_at(&self, token: usize) -> Option<(String, bool)> {
        let source = self.source;
        let variables = self.names.variables().filter(|binding| binding.seen.contains(&token));
        let contexts = variables.filter_map(|binding| {
            let is_parameter = binding.annotation.as_ref().is_some_and(|own| {
                source.word(own.end - 1) == Some("Context") && source.word(own.start + 1) == Some("mut")
            });
            let is_guard = binding.value.as_ref().is_some_and(|own| {
                source.word(own.start) == Some("Context")
                    && matches!(source.word(own.start + 3), Some("acquire" | "with"))
            });
            (is_parameter || is_guard).then(|| (binding.seen.start, binding.name.clone(), is_guard))
        });
        let (_, name, is_guard) = contexts.max_by_key(|(start, ..)| *start)?;
        Some((name, is_guard))
    }

    /// `DmTensor::new()` to `DmTensor::new(ctx)`.
    pub fn new_to_seed(&self, own: &Associated, attempt: &mut Attempt) {
        let source = self.source;
        if source.word(own.name) != Some("new") || !own.arguments.is_empty() {
            return;
        }
        let bytes = source.bytes(&(own.of..own.close + 1));
        if !self.is_of_memory(own) {
            let edit = "load it with `.to_trf(…)` or `.to_vrf(…)`";
            return attempt.problem(bytes, "a register file holds what is loaded", edit);
        }
        match self.context_at(own.of) {
            Some((name, is_guard)) => {
                let borrowed = if is_guard { "&mut " } else { "" };
                attempt.insert(source.tokens[own.open].end, format!("{borrowed}{name}"));
            }
            None => {
                attempt.problem(bytes, "the context of this function is not known", "pass it: `new(ctx)`")
            }
        }
    }
}
