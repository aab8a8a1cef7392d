//! From the seed-era spelling to the later one, chain by chain.

use super::chain::RENAMED;
use super::edits::Attempt;
use super::gone::SEED_ONLY;
use super::mapping::{Contraction, Hole, holes, kept_packet, kept_time};
use super::source::{Kind, Tokens};
use super::values::Context;

pub const ADDRESSES: &str =
    "addresses are dropped: a tensor takes bytes at its first use, and gives them back after its last one";
pub const HALVES: &str =
    "halves of the tensor register file are dropped: each load takes the half that is free";
pub const MARKS: &str = "marks are dropped: bytes are free after the last use";
pub const DROPS: &str = "`drop` is dropped: bytes are free after the last use";

/// Calls that make a tile of a view.
pub const TILES: [&str; 3] = ["tile", "chip_tile", "cluster_tile"];

impl Context<'_, '_> {
    /// Rewrites the chain that ends with a call.
    pub fn later_chain(&self, head: usize) -> Attempt {
        let mut attempt = Attempt::default();
        let chain = self.chain(head);
        self.unknown_calls(&chain, &mut attempt);
        for &call in &chain {
            self.later_call(call, &mut attempt);
        }
        attempt
    }

    fn later_call(&self, call: usize, attempt: &mut Attempt) {
        let (name, generics) = (self.name(call), self.generics(call));
        let arguments = &self.calls.methods[call].arguments;
        if let Some((_, fewest, why, edit)) = SEED_ONLY.iter().find(|(own, ..)| *own == name)
            && generics.len() >= *fewest
            && !self.is_address_of_new(call)
            && !(name == "to_dm_pcopy" && arguments.len() == 1)
        {
            attempt.problem(self.call_bytes(call), *why, *edit);
            return;
        }
        if let Some((_, later)) = RENAMED.iter().find(|(seed, _)| *seed == name) {
            return self.rename(attempt, call, later);
        }
        // `commit` and `align` may be calls of others, too.
        let names_library = arguments
            .iter()
            .flat_map(Clone::clone)
            .any(|token| matches!(self.source.word(token), Some("AUTO" | "AccumulationKind")));
        let is_library = !generics.is_empty() || names_library || self.is_stream(call);
        match name {
            "to_dm" | "to_hbm" if arguments.len() == 2 => self.drop_address(call, 1, ADDRESSES, attempt),
            "to_vrf" if arguments.len() == 1 => self.drop_address(call, 0, ADDRESSES, attempt),
            "to_trf" if arguments.len() == 1 => self.drop_address(call, 0, HALVES, attempt),
            "to_trf_auto" => self.rename(attempt, call, "to_trf"),
            "commit" if arguments.len() == 1 && is_library => {
                self.drop_address(call, 0, ADDRESSES, attempt);
                self.trim(call, attempt);
            }
            "commit_view" => self.trim(call, attempt),
            "fetch" if generics.len() == 3 && arguments.is_empty() => self.split_fetch(call, attempt),
            "fetch_with_zero_point" => self.zero_point(call, attempt),
            "switch_to" => self.spelled_switch(call, attempt),
            "align" if is_library => {
                self.rename(attempt, call, "contract_outer");
                if let Some(own) =
                    self.calls.methods[call].generics.as_ref().filter(|own| own.parts.len() == 4)
                {
                    attempt.insert(self.source.bytes(&own.parts[3]).end, ", _");
                }
            }
            "contract" if is_library => self.rename(attempt, call, "contract_packet"),
            "accumulate" if is_library => self.split_accumulate(call, attempt),
            "vector_intra_slice_branch" => {
                self.rename(attempt, call, "vector_intra_slice_tag");
                if let Some(mode) = arguments.first() {
                    self.tag(mode, attempt);
                }
            }
            "vector_fp_div" | "vector_fp_div_with_mode" => self.division(call, attempt),
            "to_hbm_view" | "to_dm_view" | "to_dm_view_pcopy" => self.free_generics(call, attempt),
            "dma_gather" if arguments.len() == 2 => {
                self.rename(attempt, call, "dma_gather_scaled");
                self.drop_address(call, 1, ADDRESSES, attempt);
            }
            "dma_gather_rows" => self.gather_rows(call, attempt),
            "dma_scatter" if arguments.len() == 3 => match self.source.of(&arguments[2]) {
                "true" => self.remove_argument(attempt, call, 2),
                _ => attempt.problem(
                    self.call_bytes(call),
                    "a scatter has byte offsets",
                    "multiply the index by the bytes of a row, and pass `true` here first",
                ),
            },
            "tile" | "chip_tile" | "cluster_tile" if generics.len() == 3 => self.hole(call, attempt),
            _ => {}
        }
        if name.starts_with("vector_") && name != "vector_intra_slice_branch" {
            arguments.iter().for_each(|argument| self.guard(call, argument, attempt));
        }
    }

    /// True for the address of `DmTensor::from_addr(ctx.alloc_dm())`, which is rewritten as a whole.
    pub fn is_address_of_new(&self, call: usize) -> bool {
        let close = self.calls.methods[call].close;
        matches!(self.name(call), "alloc_dm" | "alloc_hbm")
            && self.calls.associated.iter().any(|own| {
                self.source.word(own.name) == Some("from_addr")
                    && own.arguments.len() == 1
                    && self.calls.last_call(self.source, &own.arguments[0]) == Some(call)
                    && own.arguments[0].end == close + 1
            })
    }

    fn drop_address(&self, call: usize, place: usize, note: &'static str, attempt: &mut Attempt) {
        let argument = &self.calls.methods[call].arguments[place];
        let bytes = self.source.bytes(argument);
        if !self.is_plain(argument) {
            let why = "an address is dropped, but this one is computed by calls";
            return attempt.problem(bytes, why, "compute it before, or write `AUTO` here");
        }
        if !matches!(self.source.of(argument), "AUTO" | "TrfAddress::Full") {
            attempt.note(bytes.start, note);
        }
        self.remove_argument(attempt, call, place);
    }

    /// `commit` to `commit_trim::<…>().commit`.
    fn trim(&self, call: usize, attempt: &mut Attempt) {
        if self.before(call).is_some_and(|before| {
            matches!(self.name(before), "commit_trim" | "commit_cast" | "commit_cast_relu")
        }) {
            return;
        }
        let name = self.name(call);
        let [time, packet] = self.layout(call);
        let destination = self.destination(call);
        let known = [time, packet, destination.as_deref()];
        match kept_packet(self.source, self.names, known, name == "commit_view") {
            Ok(packet) => {
                let separator = self.separator(call);
                let text = format!("commit_trim::<{packet}>(){separator}.{name}");
                self.rename(attempt, call, &text);
            }
            Err(why) => attempt.problem(
                self.call_bytes(call),
                why,
                format!("write `.commit_trim::<P>().{name}(…)`, where P is what is kept of the packet"),
            ),
        }
    }

    /// `fetch::<D, T, P>()` to `fetch::<T, P>().fetch_cast::<D>()`.
    fn split_fetch(&self, call: usize, attempt: &mut Attempt) {
        let scalar = self.generics(call)[0];
        let stored = self.before(call).and_then(|before| self.result(before).scalar);
        self.drop_scalar(call, attempt);
        if stored.as_deref() != Some(scalar) && scalar != "_" {
            let end = self.source.tokens[self.calls.methods[call].close].end;
            attempt.insert(end, format!("{}.fetch_cast::<{scalar}>()", self.separator(call)));
        }
        if scalar == "_" {
            let why = "the type of the stream is not spelled";
            attempt.problem(self.call_bytes(call), why, "write `fetch::<D, T, P>()` with the type D");
        }
    }

    /// Removes the first of the generics.
    fn drop_scalar(&self, call: usize, attempt: &mut Attempt) {
        if let Some(generics) = &self.calls.methods[call].generics {
            self.remove_part(attempt, &generics.parts, 0);
        }
    }

    /// `fetch_with_zero_point::<D, T, P>(z)` to `fetch::<T, P>().fetch_zero_point_sub::<D>(z)`.
    fn zero_point(&self, call: usize, attempt: &mut Attempt) {
        let own = &self.calls.methods[call];
        let (generics, [argument]) = (self.generics(call), own.arguments.as_slice()) else {
            return attempt.problem(self.call_bytes(call), "it has no zero point", "pass one");
        };
        if generics.len() != 3 {
            let why = "its generics are not spelled";
            return attempt.problem(self.call_bytes(call), why, "write `::<D, T, P>`");
        }
        let source = self.source;
        let text = source.of(argument);
        let is_number = |tokens: &Tokens| {
            let first = tokens.start + usize::from(source.is(tokens.start, '-'));
            tokens.end == first + 1
                && source.kind(first) == Some(Kind::Literal)
                && source.of(&(first..first + 1)).chars().all(|c| c.is_ascii_digit() || c == '_')
        };
        let inner = text.strip_prefix("i4::from_i32(").and_then(|text| text.strip_suffix(')'));
        let value = match inner {
            Some(inner) => inner.to_string(),
            None if is_number(argument) => text.to_string(),
            None if generics[0] == "i9" => format!("i32::from({text})"),
            None => {
                let why = "a zero point is an `i32`, and this one is an `i4`";
                let edit = "write a number, or `i4::from_i32(number)`, here first";
                return attempt.problem(source.bytes(argument), why, edit);
            }
        };
        if source.has_comment(&source.bytes(&(own.open..own.close + 1))) {
            let why = "a comment stands in what is to be moved";
            return attempt.problem(self.call_bytes(call), why, "move the comment");
        }
        self.rename(attempt, call, "fetch");
        self.drop_scalar(call, attempt);
        let separator = self.separator(call);
        let bytes = source.bytes(&(own.open..own.close + 1));
        attempt.replace(bytes, format!("(){separator}.fetch_zero_point_sub::<{}>({value})", generics[0]));
    }

    /// `accumulate::<T, P>(kind)` to `contract_time::<…>().contract_lane::<T, P>(mode)`.
    fn split_accumulate(&self, call: usize, attempt: &mut Attempt) {
        match self.time_of_accumulate(call) {
            Ok((word, time)) => {
                self.put(attempt, word, "LaneMode");
                let separator = self.separator(call);
                self.rename(attempt, call, &format!("contract_time::<{time}>(){separator}.contract_lane"));
            }
            Err(why) => attempt.problem(
                self.call_bytes(call),
                why,
                "write `.contract_time::<T2>().contract_lane::<T, P>(LaneMode::…)`, where T2 is the time of \
                 `.contract_outer` without the axes that are summed",
            ),
        }
    }

    /// The word `AccumulationKind`, and what `contract_time` leaves.
    fn time_of_accumulate(&self, call: usize) -> Result<(usize, String), String> {
        let (source, own) = (self.source, &self.calls.methods[call]);
        let kind = own.arguments.first().ok_or("it has no kind")?;
        let word = kind.clone().find(|&token| source.word(token) == Some("AccumulationKind"));
        let word = word.filter(|word| word + 4 == kind.end && source.is_path(word + 1));
        let word = word.ok_or("its kind is not spelled")?;
        let is_interleaved = match source.word(word + 3) {
            Some("Interleaved") => true,
            Some("Sequential") => false,
            _ => return Err("its kind is not spelled".to_string()),
        };
        let [out_time, out_packet] =
            <[&str; 2]>::try_from(self.generics(call)).map_err(|_| "its generics are not spelled")?;
        let columns =
            self.before(call).filter(|&before| matches!(self.name(before), "contract" | "contract_packet"));
        let columns = columns.ok_or("the call before, `contract`, is not in this text")?;
        let packet = self.generics(columns);
        let packet = packet.first().ok_or("the columns that `contract` leaves are not spelled")?;
        let operands =
            self.before(columns).filter(|&before| matches!(self.name(before), "align" | "contract_outer"));
        let time = operands
            .and_then(|operands| self.generics(operands).first().copied())
            .filter(|time| *time != "_");
        let known = Contraction { is_interleaved, time, columns: packet, out_time, out_packet };
        kept_time(source, self.names, &known).map(|time| (word, time))
    }

    /// `BranchMode` to `TagMode`.
    fn tag(&self, mode: &Tokens, attempt: &mut Attempt) {
        let source = self.source;
        let word = mode.clone().find(|&token| source.word(token) == Some("BranchMode"));
        let Some(word) = word.filter(|&word| source.is_path(word + 1)) else {
            if source.of(mode) != "Default::default()" && !source.of(mode).starts_with("TagMode") {
                let edit = "write `BranchMode::…` in the call";
                attempt.problem(source.bytes(mode), "the mode is not spelled in the call", edit);
            }
            return;
        };
        self.put(attempt, word, "TagMode");
        match source.word(word + 3) {
            Some("Unconditional") => self.put(attempt, word + 3, "Zero"),
            Some("AxisToggle") => {}
            Some("Comparison") => self.comparisons(&(word + 4..mode.end), attempt),
            _ => attempt.problem(
                source.bytes(mode),
                "tags come from comparisons or from the parity of an axis",
                "write `TagMode::Comparison(…)` or `TagMode::AxisToggle { … }`",
            ),
        }
    }

    /// `InputCmp::I32(InputCmpI32::Less { boundary: x })` to `Cmp::Less(x)`.
    fn comparisons(&self, tokens: &Tokens, attempt: &mut Attempt) {
        let source = self.source;
        let mut found = 0;
        for token in tokens.clone() {
            if source.word(token) != Some("InputCmp") {
                continue;
            }
            // InputCmp :: I32 ( InputCmpI32 :: Less { boundary : x } )
            let open = token + 4;
            let Some(close) = source.tokens.get(open).map(|own| own.mate).filter(|&close| close > open + 4)
            else {
                continue;
            };
            let (variant, group) = (source.word(open + 4), open + 5);
            let value = match source.kind(group) {
                Some(Kind::Open('{'))
                    if source.word(group + 1) == Some("boundary") && source.is(group + 2, ':') =>
                {
                    let end = source.tokens[group].mate;
                    let end = if source.is(end - 1, ',') { end - 1 } else { end };
                    format!("({})", source.of(&(group + 3..end)))
                }
                _ if group == close => String::new(),
                _ => continue,
            };
            let bytes = source.bytes(&(token..close + 1));
            if let Some(variant) = variant.filter(|_| !source.has_comment(&bytes)) {
                attempt.replace(bytes, format!("Cmp::{variant}{value}"));
                found += 1;
            }
        }
        if found != 4 {
            let edit = "write the four comparisons in the call, as `InputCmp::I32(InputCmpI32::…)`";
            attempt.problem(source.bytes(tokens), "the comparisons are not spelled in the call", edit);
        }
    }

    /// `vector_fp_div(FpDivBinaryOp::DivF.with_mode(m), x)` to `vector_fp_div_with_mode(m, x)`.
    fn division(&self, call: usize, attempt: &mut Attempt) {
        let (source, own) = (self.source, &self.calls.methods[call]);
        let Some(operator) = own.arguments.first() else { return };
        let is_operator = source.of(operator).starts_with("FpDivBinaryOp::DivF");
        if !is_operator {
            // The later spelling has as many arguments less.
            let most = if self.name(call) == "vector_fp_div" { 1 } else { 2 };
            if own.arguments.len() > most && !self.is_pair(call) {
                let edit = "write `FpDivBinaryOp::DivF` in the call";
                attempt.problem(source.bytes(operator), "the division is not spelled in the call", edit);
            }
            return;
        }
        if operator.len() == 4 {
            return self.remove_argument(attempt, call, 0);
        }
        let mode = self.calls.last_call(source, operator).map(|mode| &self.calls.methods[mode]);
        match mode.filter(|mode| source.word(mode.name) == Some("with_mode")) {
            Some(mode) if mode.arguments.len() == 1 && self.name(call) == "vector_fp_div" => {
                self.rename(attempt, call, "vector_fp_div_with_mode");
                let (all, own) = (source.bytes(operator), source.bytes(&mode.arguments[0]));
                self.remove(attempt, all.start..own.start);
                self.remove(attempt, own.end..all.end);
            }
            _ => {
                let edit = "write `FpDivBinaryOp::DivF.with_mode(mode)`";
                attempt.problem(source.bytes(operator), "this division is not known", edit);
            }
        }
    }

    /// True behind `vector_intra_slice_unzip`, where each group has an operand.
    pub fn is_pair(&self, call: usize) -> bool {
        let mut at = self.before(call);
        for _ in 0..256 {
            let Some(call) = at else { return false };
            match self.name(call) {
                "vector_intra_slice_unzip" => return true,
                name if name.ends_with("_zip") || name.ends_with("_zip_with_mode") => return false,
                _ => at = self.before(call),
            }
        }
        false
    }

    /// Adds the generics of the destination that are free in the later spelling.
    fn free_generics(&self, call: usize, attempt: &mut Attempt) {
        let Some(generics) = &self.calls.methods[call].generics else { return };
        let start = |place: usize| self.source.bytes(&generics.parts[place]).start;
        match (self.name(call), generics.parts.len()) {
            ("to_hbm_view", 1) => attempt.insert(start(0), "_, "),
            // Of HBM, behind the DMA. As `<Chip2, Element2>` of DM it is the later spelling.
            ("to_hbm_view", 2) if self.source.of(&generics.parts[0]).contains("Dma") => {
                attempt.insert(start(1), "_, ");
            }
            ("to_dm_view", 3) => attempt.insert(start(0), "_, "),
            ("to_dm_view" | "to_dm_view_pcopy", 2) => attempt.insert(start(0), "_, _, "),
            _ => {}
        }
    }

    /// `dma_gather_rows(&mut tdma, &index, address)` to `dma_gather_unscaled(&index)`, if the index is in DM.
    fn gather_rows(&self, call: usize, attempt: &mut Attempt) {
        let own = &self.calls.methods[call];
        let is_in_dm = own.arguments.get(1).is_some_and(|index| self.value(index).tensor == Some("DmTensor"));
        if own.arguments.len() != 3 || !is_in_dm {
            let why = "the index of an unscaled gather is in DM, and this one is not known to be";
            let edit =
                "bring the index to DM, or make byte offsets of it and write `.dma_gather_scaled(&offsets)`";
            return attempt.problem(self.call_bytes(call), why, edit);
        }
        self.rename(attempt, call, "dma_gather_unscaled");
        if let Some(generics) = &own.generics
            && let [first, _, last, index] = generics.parts.as_slice()
        {
            attempt.insert(self.source.bytes(first).start, "_, _, _, ");
            self.remove(attempt, self.source.bytes(last).end..self.source.bytes(index).end);
        }
        if !self.is_plain(&own.arguments[0]) {
            let edit = "write `&mut ctx.tdma`";
            attempt.problem(
                self.source.bytes(&own.arguments[0]),
                "the context is dropped, but this one is computed by calls",
                edit,
            );
        }
        self.remove_argument(attempt, call, 0);
        self.drop_address(call, 2, ADDRESSES, attempt);
    }

    /// Marks the hole of a tile to write: `1 # n` to `1 #{!} n`.
    fn hole(&self, call: usize, attempt: &mut Attempt) {
        let Some(generics) = self.calls.methods[call].generics.as_ref().filter(|_| self.is_written(call))
        else {
            return;
        };
        let mapping = &generics.parts[2];
        if self.source.of(mapping).contains("#{") {
            return;
        }
        match self.holes_of(call) {
            Some(holes) => holes.iter().for_each(|hole| attempt.insert(hole.at, "{!}")),
            None if self.source.of(mapping).starts_with("m!") && !self.source.of(mapping).contains('#') => {}
            None => attempt.remark(
                self.source.bytes(mapping),
                "the hole of a tile to write is marked, and this text does not tell which padding is the hole",
                "write `#{!}` for the padding that the other positions of the index leave",
            ),
        }
    }

    /// The holes of a tile: its own, and those of the tile that it is taken from. `None` if its own is not one place.
    fn holes_of(&self, call: usize) -> Option<Vec<Hole>> {
        let generics = self.calls.methods[call].generics.as_ref().filter(|own| own.parts.len() == 3)?;
        let mut left = holes(self.source, &generics.parts[2]);
        let outer = self.before(call).filter(|&before| TILES.contains(&self.name(before)));
        let mut all = Vec::new();
        for hole in outer.and_then(|outer| self.holes_of(outer)).unwrap_or_default() {
            let same = left.iter().position(|own| own.text == hole.text);
            all.extend(same.map(|same| left.remove(same)));
        }
        let len = self.source.of(&generics.parts[1]);
        left.retain(|hole| hole.is_of(len));
        let [own] = <[Hole; 1]>::try_from(left).ok()?;
        all.push(own);
        all.sort_by_key(|hole| hole.at);
        Some(all)
    }

    /// True for a view to write.
    pub fn is_written(&self, call: usize) -> bool {
        let mut at = call;
        for _ in 0..256 {
            let Some(before) = self.before(at) else { break };
            match self.name(before) {
                "view_mut" => return true,
                "reshape" => at = before,
                name if TILES.contains(&name) => at = before,
                _ => return false,
            }
        }
        let binding = self.variable(&self.calls.methods[at].root);
        let annotation = binding.and_then(|binding| binding.annotation.as_ref());
        annotation.is_some_and(|own| {
            own.clone()
                .any(|token| self.source.word(token).is_some_and(|word| word.ends_with("TensorViewMut")))
        })
    }

    /// `(x, GroupId::One)` to `Branched`.
    fn guard(&self, call: usize, argument: &Tokens, attempt: &mut Attempt) {
        let source = self.source;
        let names = |word: &str| argument.clone().any(|token| source.word(token) == Some(word));
        let has_guard = ["GroupId", "ValidBranchIds", "VeBranchOperand", "VeRhs", "TernaryOperand"]
            .iter()
            .any(|word| names(word));
        if !has_guard || names("Branched") || names("TagGuard") {
            return;
        }
        let bytes = source.bytes(argument);
        let group = source.tokens[argument.start];
        if group.kind == Kind::Open('(')
            && group.mate + 1 == argument.end
            && self.name(call) != "vector_fp_ternary"
            && let [operand, guard] = source.parts(argument.start + 1..group.mate, false).as_slice()
            && source.word(guard.start) == Some("GroupId")
            && guard.len() == 4
            && !source.has_comment(&bytes)
        {
            let text = source.of(operand);
            let first = operand.start + usize::from(source.is(operand.start, '-'));
            let is_number = operand.end == first + 1 && source.kind(first) == Some(Kind::Literal);
            let slot = match () {
                () if is_number => "imm",
                () if source.is(operand.start, '&') || text == "Stash" => "rf",
                () => "",
            };
            if !slot.is_empty() {
                let guard = source.of(guard);
                return attempt.replace(bytes, format!("Branched::{slot}(TagGuard::group({guard}), {text})"));
            }
        }
        attempt.problem(
            bytes,
            "an element takes the first slot that admits it, where all operands applied in turn",
            "write `Branched::imm(guard, number)` or `Branched::rf(guard, &vrf)`, with a guard for each slot",
        );
    }
}
