//! Chains of calls, and edits that both directions make of them.

use super::edits::Attempt;
use super::source::{Kind, Tokens};
use super::values::Context;
use std::ops::Range;

/// Calls that end a stream.
const ENDS: [&str; 5] = ["commit", "commit_view", "to_trf", "to_trf_auto", "to_vrf"];

/// Calls between the start and the end of a stream: those of both spellings, of the seed era alone, and later alone.
const OF_STREAMS: [&str; 69] = [
    "begin",
    "begin_interleaved",
    "switch",
    "collect",
    "cast",
    "transpose",
    "vector_init",
    "vector_final",
    "vector_stash",
    "vector_logic",
    "vector_logic_with_mode",
    "vector_logic_zip",
    "vector_logic_zip_with_mode",
    "vector_fxp",
    "vector_fxp_with_mode",
    "vector_fxp_zip",
    "vector_fxp_zip_with_mode",
    "vector_fp_binary",
    "vector_fp_binary_with_mode",
    "vector_fp_zip",
    "vector_fp_zip_with_mode",
    "vector_fp_unary",
    "vector_fp_ternary",
    "vector_fp_ternary_with_mode",
    "vector_fp_div",
    "vector_fp_div_with_mode",
    "vector_clip",
    "vector_clip_with_mode",
    "vector_clip_zip",
    "vector_clip_zip_with_mode",
    "vector_fxp_to_fp",
    "vector_fp_to_fxp",
    "vector_intra_slice_reduce",
    "vector_inter_slice_reduce",
    "vector_intra_slice_unzip",
    "vector_reinterpret",
    "fetch",
    "fetch_with_table",
    "fetch_with_zero_point",
    "fetch_with_zero_points",
    "switch_to",
    "align",
    "contract",
    "accumulate",
    "vector_intra_slice_branch",
    "vector_split",
    "vector_trim_way4",
    "vector_concat",
    "vector_pad_way8",
    "vector_fp_unary_with_mode",
    "pad_value",
    "fetch_mask",
    "fetch_cast",
    "fetch_table_lookup",
    "fetch_zero_point_sub",
    "contract_outer",
    "contract_packet",
    "contract_time",
    "contract_lane",
    "vector_intra_slice_tag",
    "vector_narrow_split",
    "vector_narrow_trim",
    "vector_widen_concat",
    "vector_widen_pad",
    "vector_filter",
    "commit_trim",
    "commit_cast",
    "commit_cast_relu",
    "commit_valid_count_pack",
];

/// Calls with the generics that spell time and packet, by their places.
const LAYOUTS: [(&str, Option<usize>, Option<usize>); 18] = [
    ("collect", Some(0), Some(1)),
    ("align", Some(0), Some(1)),
    ("contract_outer", Some(0), Some(1)),
    ("accumulate", Some(0), Some(1)),
    ("contract_lane", Some(0), Some(1)),
    ("transpose", Some(0), Some(1)),
    ("cast", None, Some(1)),
    ("vector_split", Some(0), Some(1)),
    ("vector_narrow_split", Some(0), Some(1)),
    ("vector_concat", Some(0), Some(1)),
    ("vector_widen_concat", Some(0), Some(1)),
    ("vector_trim_way4", None, Some(0)),
    ("vector_narrow_trim", None, Some(0)),
    ("vector_pad_way8", None, Some(0)),
    ("vector_widen_pad", None, Some(0)),
    ("vector_intra_slice_reduce", Some(1), Some(2)),
    ("vector_inter_slice_reduce", Some(1), None),
    ("vector_intra_slice_unzip", Some(2), None),
];

/// Names of the Vector Engine: seed-era, later.
pub const RENAMED: [(&str, &str); 4] = [
    ("vector_split", "vector_narrow_split"),
    ("vector_trim_way4", "vector_narrow_trim"),
    ("vector_concat", "vector_widen_concat"),
    ("vector_pad_way8", "vector_widen_pad"),
];

impl<'t> Context<'_, 't> {
    /// The calls of the chain that ends with a call, in their order.
    pub fn chain(&self, head: usize) -> Vec<usize> {
        let mut chain = vec![head];
        while let Some(before) = self.calls.methods[chain[chain.len() - 1]].before {
            chain.push(before);
        }
        chain.reverse();
        chain
    }

    /// The bytes of a call from its name on.
    pub fn call_bytes(&self, call: usize) -> Range<usize> {
        let own = &self.calls.methods[call];
        self.source.tokens[own.name].start..self.source.tokens[own.close].end
    }

    /// The bytes of the chain that ends with a call.
    pub fn chain_bytes(&self, call: usize) -> Range<usize> {
        let own = &self.calls.methods[call];
        self.source.tokens[own.start].start..self.source.tokens[own.close].end
    }

    /// True if a call before this one, also of a variable, is one of a stream.
    pub fn is_stream(&self, call: usize) -> bool {
        let mut at = self.before(call);
        for _ in 0..256 {
            let Some(call) = at else { return false };
            let name = self.name(call);
            let has_layout = LAYOUTS.iter().any(|(own, ..)| *own == name) && !self.generics(call).is_empty();
            if matches!(name, "begin" | "begin_interleaved") || name.starts_with("vector_") || has_layout {
                return true;
            }
            at = self.before(call);
        }
        false
    }

    /// The time and the packet of the stream before a call, as they are spelled.
    pub fn layout(&self, call: usize) -> [Option<&'t str>; 2] {
        let (mut time, mut packet) = (None, None);
        let mut at = self.before(call);
        for _ in 0..256 {
            let Some(call) = at else { break };
            let (name, generics) = (self.name(call), self.generics(call));
            if matches!(name, "begin" | "begin_interleaved") {
                break;
            }
            if let Some((_, own_time, own_packet)) = LAYOUTS.iter().find(|(own, ..)| *own == name) {
                for (found, place) in [(&mut time, own_time), (&mut packet, own_packet)] {
                    if let (None, Some(place)) = (*found, place) {
                        *found = Some(generics.get(*place).copied().filter(|text| *text != "_"));
                    }
                }
            }
            if time.is_some() && packet.is_some() {
                break;
            }
            at = self.before(call);
        }
        [time.flatten(), packet.flatten()]
    }

    /// The type `Element` of what a `commit` or a `commit_view` writes, as it is spelled.
    pub fn destination(&self, call: usize) -> Option<String> {
        let given = self.generics(call).first().filter(|text| **text != "_").map(ToString::to_string);
        if given.is_some() {
            return given;
        }
        if self.name(call) == "commit_view" {
            return self.value(self.calls.methods[call].arguments.first()?).element;
        }
        // `let y: DmTensor<…> = ….commit(…);`
        let own = &self.calls.methods[call];
        let mut variables = self.names.variables();
        let binding = variables.find(|binding| {
            binding.value.as_ref().is_some_and(|value| {
                value.contains(&own.close) && self.calls.last_call(self.source, value) == Some(call)
            })
        });
        if let Some(binding) = binding {
            return self.value_of_annotation(binding).element;
        }
        // The result of the function.
        let result = self.names.result_of(self.source, own.start, own.close)?;
        self.value_of_type(result).element
    }

    /// Reports calls between the start and the end of a stream that are of no spelling.
    pub fn unknown_calls(&self, chain: &[usize], attempt: &mut Attempt) {
        let mut in_stream = false;
        for &call in chain {
            let name = self.name(call);
            in_stream |= matches!(name, "begin" | "begin_interleaved");
            if in_stream && !OF_STREAMS.contains(&name) && !ENDS.contains(&name) {
                attempt.problem(
                    self.call_bytes(call),
                    "no call of a stream that is known here",
                    "rewrite this chain by hand",
                );
            }
            in_stream &= !ENDS.contains(&name);
        }
    }

    /// The text between two calls of the chain: an end of line with spaces, or nothing.
    pub fn separator(&self, call: usize) -> &'t str {
        let gap = self.source.gap(self.calls.methods[call].dot);
        match gap.rfind('\n') {
            Some(end) if gap[..end].ends_with('\r') => &gap[end - 1..],
            Some(end) => &gap[end..],
            None => "",
        }
    }

    /// Gives a call another name.
    pub fn rename(&self, attempt: &mut Attempt, call: usize, name: &str) {
        let token = self.source.tokens[self.calls.methods[call].name];
        attempt.replace(token.start..token.end, name);
    }

    /// Replaces a token.
    pub fn put(&self, attempt: &mut Attempt, token: usize, text: &str) {
        let token = self.source.tokens[token];
        attempt.replace(token.start..token.end, text);
    }

    /// Removes some bytes, unless a comment stands there.
    pub fn remove(&self, attempt: &mut Attempt, bytes: Range<usize>) {
        if self.source.has_comment(&bytes) {
            attempt.problem(bytes, "a comment stands in what is to be removed", "move the comment");
        } else {
            attempt.replace(bytes, "");
        }
    }

    /// Removes an argument with its comma.
    pub fn remove_argument(&self, attempt: &mut Attempt, call: usize, place: usize) {
        let own = &self.calls.methods[call];
        self.remove_part(attempt, &own.arguments, place);
    }

    /// Removes one of several parts with its comma: the one before it, or the one behind the first part.
    pub fn remove_part(&self, attempt: &mut Attempt, parts: &[Tokens], place: usize) {
        let Some(own) = parts.get(place) else { return };
        let own = self.source.bytes(own);
        let bytes = match (place.checked_sub(1).map(|before| &parts[before]), parts.get(place + 1)) {
            (Some(before), _) => self.source.bytes(before).end..own.end,
            (None, Some(next)) => own.start..self.source.bytes(next).start,
            (None, None) => {
                // A comma behind the only part.
                let last = parts[place].end;
                let end = if self.source.is(last, ',') { self.source.tokens[last].end } else { own.end };
                own.start..end
            }
        };
        self.remove(attempt, bytes);
    }

    /// Adds an argument behind all others.
    pub fn add_argument(&self, attempt: &mut Attempt, call: usize, text: &str) {
        let own = &self.calls.methods[call];
        match own.arguments.last() {
            Some(last) => attempt.insert(self.source.bytes(last).end, format!(", {text}")),
            None => attempt.insert(self.source.tokens[own.open].end, text),
        }
    }

    /// True if the value of an expression depends on nothing but variables, so that it may be left out.
    pub fn is_plain(&self, expression: &Tokens) -> bool {
        const PURE: [&str; 9] =
            ["is_multiple_of", "min", "max", "div_ceil", "pow", "len", "into", "size", "address"];
        expression.clone().all(|token| match self.source.kind(token) {
            Some(Kind::Open('(')) => {
                let before = token.checked_sub(1).filter(|before| *before >= expression.start);
                match before.map(|before| (self.source.kind(before), self.source.word(before))) {
                    Some((Some(Kind::Word), Some(word))) => {
                        PURE.contains(&word) || matches!(word, "if" | "else" | "match" | "in")
                    }
                    Some((Some(Kind::Close(_)), _)) => false,
                    _ => true,
                }
            }
            Some(Kind::Punct(character)) => {
                !matches!(character, '!' | '?' | ';' | '$') && !self.is_assigned(token)
            }
            Some(Kind::Word) => {
                !matches!(self.source.word(token), Some("await" | "return" | "break" | "loop"))
            }
            _ => true,
        })
    }

    /// True for the `=` of an assignment.
    fn is_assigned(&self, token: usize) -> bool {
        let source = self.source;
        source.is(token, '=')
            && !source.is(token + 1, '=')
            && !(token > 0 && ['=', '!', '<', '>'].iter().any(|&before| source.is(token - 1, before)))
    }
}
