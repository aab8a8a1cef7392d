//! Host tensors: their elements as values, with or without `Opt`, with or without padding.

use super::calls::Associated;
use super::edits::Attempt;
use super::mapping::inside;
use super::source::{Kind, Tokens};
use super::values::{Context, Value};

/// Values of a vector as an iterator, as the later spelling takes them.
const COPIED: &str = ".iter().copied()";

impl Context<'_, '_> {
    /// Why it is not known that a mapping has no padding. `None` if it has none.
    fn padding(&self, element: Option<&str>) -> Option<&'static str> {
        let Some(inner) = element.and_then(|text| inside(self.source, self.names, text)) else {
            return Some(
                "padding positions are counted in the later spelling alone, and this text does not tell the mapping",
            );
        };
        if inner.contains(['#', '=']) {
            return Some(
                "padding positions are counted in the later spelling alone, and this mapping has some",
            );
        }
        // Aliases in braces, each with its own text.
        let mut rest = inner.as_str();
        while let Some((_, behind)) = rest.split_once('{') {
            let (name, behind) = behind.split_once('}')?;
            if let Some(why) = self.padding(Some(name.trim())) {
                return Some(why);
            }
            rest = behind;
        }
        None
    }

    /// The mapping of a host tensor that an associated function makes.
    fn element_of(&self, own: &Associated) -> Option<String> {
        let given = own.generics.as_ref().and_then(|generics| generics.parts.get(1));
        if let Some(text) = given.map(|part| self.source.of(part)).filter(|text| *text != "_") {
            return Some(text.to_string());
        }
        let mut variables = self.names.variables();
        let binding = variables.find(|binding| {
            binding.value.as_ref().is_some_and(|value| value.start == own.of && value.end == own.close + 1)
        })?;
        self.value_of_annotation(binding).element
    }

    /// `from_slice` and `from_buf` to `from_vec`.
    pub fn host_to_later(&self, own: &Associated, attempt: &mut Attempt) {
        let source = self.source;
        let bytes = source.bytes(&(own.of..own.close + 1));
        let (Some(name), [argument]) = (source.word(own.name), own.arguments.as_slice()) else { return };
        if !matches!(name, "from_slice" | "from_buf") {
            return;
        }
        if let Some(why) = self.padding(self.element_of(own).as_deref()) {
            let edit = "pass a value for each position to `from_vec`";
            return attempt.problem(bytes, why, edit);
        }
        self.put(attempt, own.name, "from_vec");
        if name == "from_buf" {
            return self.values_of_opts(argument, attempt);
        }
        let start = argument.start + usize::from(source.is(argument.start, '&'));
        if start > argument.start {
            self.remove(attempt, source.tokens[argument.start].start..source.tokens[start].start);
        }
        let own = start..argument.end;
        if self.is_list(&own) {
            return;
        }
        let end = source.bytes(&own).end;
        if source.start_of_operand(own.end - 1) == own.start {
            attempt.insert(end, COPIED);
        } else {
            attempt.insert(source.tokens[own.start].start, "(");
            attempt.insert(end, format!("){COPIED}"));
        }
    }

    /// True for `vec![…]` and `[…]`.
    fn is_list(&self, expression: &Tokens) -> bool {
        let source = self.source;
        let skipped = if source.word(expression.start) == Some("vec") && source.is(expression.start + 1, '!')
        {
            2
        } else {
            0
        };
        let open = expression.start + skipped;
        source.kind(open) == Some(Kind::Open('[')) && source.tokens[open].mate + 1 == expression.end
    }

    /// Drops `.map(Opt::Init).collect()` and its like.
    fn values_of_opts(&self, argument: &Tokens, attempt: &mut Attempt) {
        let source = self.source;
        let collected = self.calls.last_call(source, argument).filter(|&call| self.name(call) == "collect");
        let mapped = collected.and_then(|call| self.calls.methods[call].before);
        if let (Some(collected), Some(mapped)) = (collected, mapped.filter(|&call| self.name(call) == "map"))
        {
            let (collected, mapped) = (&self.calls.methods[collected], &self.calls.methods[mapped]);
            let end = source.tokens[collected.close].end;
            let function = mapped.arguments.clone();
            if let [only] = function.as_slice()
                && source.of(only) == "Opt::Init"
            {
                return self.remove(attempt, source.tokens[mapped.dot].start..end);
            }
            // |x| Opt::Init(value), whose parameters may have commas.
            let all = mapped.open + 1..mapped.close;
            let start = all.clone().find(|&token| {
                source.word(token) == Some("Opt")
                    && source.is_path(token + 1)
                    && source.word(token + 3) == Some("Init")
                    && source.is(token - 1, '|')
                    && source.tokens.get(token + 4).is_some_and(|open| open.mate + 1 == all.end)
            });
            if let Some(start) = start {
                let (open, close) = (source.tokens[start + 4], source.tokens[all.end - 1]);
                self.remove(attempt, source.tokens[start].start..open.end);
                self.remove(attempt, close.start..close.end);
                return self.remove(attempt, source.tokens[mapped.close].end..end);
            }
        }
        if self.is_list(argument) && self.list_of_opts(argument, attempt) {
            return;
        }
        attempt.problem(
            source.bytes(argument),
            "values have no `Opt`",
            "pass the values to `from_vec`, as any iterator",
        );
    }

    /// `vec![Opt::Init(x); n]` to `vec![x; n]`. False if an element is written in another way.
    fn list_of_opts(&self, list: &Tokens, attempt: &mut Attempt) -> bool {
        let source = self.source;
        let close = list.end - 1;
        let mut start = source.tokens[close].mate + 1;
        let mut found = Vec::new();
        while start < close {
            let open = start + 4;
            let is_init = source.word(start) == Some("Opt")
                && source.word(start + 3) == Some("Init")
                && source.kind(open) == Some(Kind::Open('('));
            if !is_init {
                return false;
            }
            let end = source.tokens[open].mate;
            found.push([source.tokens[start].start..source.tokens[open].end, source.bytes(&(end..end + 1))]);
            // The number of elements behind a semicolon.
            start = match source.kind(end + 1) {
                Some(Kind::Punct(',')) => end + 2,
                Some(Kind::Punct(';')) | Some(Kind::Close(_)) => close,
                _ => return false,
            };
        }
        found.into_iter().flatten().for_each(|bytes| self.remove(attempt, bytes));
        true
    }

    /// `from_vec` to `from_slice`.
    pub fn host_to_seed(&self, own: &Associated, attempt: &mut Attempt) {
        let source = self.source;
        let bytes = source.bytes(&(own.of..own.close + 1));
        let (Some(name), [argument]) = (source.word(own.name), own.arguments.as_slice()) else { return };
        if name == "from_buf" {
            let why = "the seed-era `from_buf` takes elements, and this one packed bytes";
            return attempt.problem(bytes, why, "make values of the bytes");
        }
        if name != "from_vec" {
            return;
        }
        if let Some(why) = self.padding(self.element_of(own).as_deref()) {
            return attempt.problem(bytes, why, "pass the values without padding to `from_slice`");
        }
        self.put(attempt, own.name, "from_slice");
        let all = source.bytes(argument);
        let is_vector = self.variable(argument).is_some_and(|binding| {
            let starts = |own: &Option<Tokens>, word: &str| {
                own.as_ref().is_some_and(|own| source.word(own.start) == Some(word))
            };
            starts(&binding.annotation, "Vec") || starts(&binding.value, "vec")
        });
        let copied = self.calls.last_call(source, argument).filter(|&call| self.name(call) == "copied");
        let iterated = copied.and_then(|call| self.calls.methods[call].before);
        let iterated = iterated.filter(|&call| {
            self.name(call) == "iter"
                && self.calls.methods[call].before.is_none_or(|before| self.name(before) != "map")
        });
        if let Some(iterated) = iterated {
            let dot = source.tokens[self.calls.methods[iterated].dot];
            attempt.insert(all.start, "&");
            self.remove(attempt, dot.start..all.end);
        } else if self.is_list(argument) || is_vector {
            attempt.insert(all.start, "&");
        } else {
            // A range has parentheses of its own.
            let first = source.tokens[argument.start];
            let is_group = first.kind == Kind::Open('(') && first.mate + 1 == argument.end;
            let [open, close] = if is_group { ["", ""] } else { ["(", ")"] };
            attempt.insert(all.start, format!("&Vec::from_iter{open}"));
            attempt.insert(all.end, close);
        }
    }

    /// `to_vec` of a host tensor to `into_vec`, and back.
    pub fn host_values(&self, call: usize, to_later: bool, attempt: &mut Attempt) {
        let own = &self.calls.methods[call];
        let name = self.name(call);
        let names = if to_later { ["to_vec", "into_vec"] } else { ["into_vec", "to_vec"] };
        if !own.arguments.is_empty() || !matches!(name, "to_vec" | "into_vec" | "to_buf" | "as_slice") {
            return;
        }
        let value = self.value_before(call);
        if value.tensor == Some("HbmTensor") && !to_later && name == "into_vec" {
            let edit = "write `.to_host::<…>(&mut ctx.pdma).await.to_vec()`";
            return attempt.problem(self.call_bytes(call), "the host does not read HBM without a move", edit);
        }
        if value.tensor != Some("HostTensor") {
            return;
        }
        if to_later && name == "to_buf" && self.unwrapped(call, &value, attempt) {
            return;
        }
        if to_later && matches!(name, "to_buf" | "as_slice") {
            let edit = "write `.into_vec()`, whose values have no `Opt`";
            return attempt.problem(self.call_bytes(call), "elements of host tensors are plain values", edit);
        }
        if name != names[0] {
            return;
        }
        if let Some(why) = self.padding(value.element.as_deref()) {
            let edit = format!("write `.{}()`, and mind the padding", names[1]);
            return attempt.problem(self.call_bytes(call), why, edit);
        }
        if to_later && self.is_named_later(call) {
            let why = "`into_vec` takes the tensor, which is named again";
            return attempt.problem(self.call_bytes(call), why, "take the values once, into a variable");
        }
        self.rename(attempt, call, names[1]);
    }

    /// `to_buf().iter().map(|x| x.unwrap())` to `into_vec().into_iter()`. False if it is another chain.
    fn unwrapped(&self, call: usize, value: &Value, attempt: &mut Attempt) -> bool {
        let next = |call: usize, names: &[&str]| {
            let mut all =
                (0..self.calls.methods.len()).filter(|&next| self.calls.methods[next].before == Some(call));
            all.find(|&next| names.contains(&self.name(next)))
        };
        let iterated = next(call, &["iter", "into_iter"]);
        let Some((iterated, mapped)) = iterated.and_then(|call| Some((call, next(call, &["map"])?))) else {
            return false;
        };
        let source = self.source;
        let own = &self.calls.methods[mapped];
        // | x | x . unwrap ( )
        let function = own.open + 1..own.close;
        let start = function.start;
        let is_unwrap = function.len() == 8
            && source.is(start, '|')
            && source.word(start + 1).is_some()
            && source.word(start + 1) == source.word(start + 3)
            && source.word(start + 5) == Some("unwrap");
        if !is_unwrap || self.padding(value.element.as_deref()).is_some() || self.is_named_later(call) {
            return false;
        }
        self.rename(attempt, call, "into_vec");
        self.rename(attempt, iterated, "into_iter");
        let dot = source.tokens[own.dot];
        self.remove(attempt, dot.start - self.separator(mapped).len()..source.tokens[own.close].end);
        true
    }

    /// True if the variable on which a call is made is borrowed, or named again.
    fn is_named_later(&self, call: usize) -> bool {
        let own = &self.calls.methods[call];
        if own.before.is_some() {
            return false;
        }
        let Some(binding) = self.variable(&own.root) else { return true };
        let is_borrowed = binding.annotation.as_ref().is_some_and(|own| self.source.is(own.start, '&'));
        // In a loop or a closure, the call is made again.
        let is_inside = (binding.seen.start..own.root.start).any(|token| match self.source.kind(token) {
            Some(Kind::Open('{')) => self.source.tokens[token].mate > own.close,
            Some(Kind::Punct('|')) => self.is_open_until(token, own.root.start),
            _ => false,
        });
        let again = (own.close..binding.seen.end).any(|token| self.source.word(token) == Some(&binding.name));
        is_borrowed || is_inside || again
    }

    /// True if the group and the statement of a token go on to another one.
    fn is_open_until(&self, from: usize, to: usize) -> bool {
        let mut token = from;
        while token < to {
            match self.source.kind(token) {
                Some(Kind::Close(_) | Kind::Punct(';')) => return false,
                Some(Kind::Open(_)) if self.source.tokens[token].mate < to => {
                    token = self.source.tokens[token].mate
                }
                _ => {}
            }
            token += 1;
        }
        true
    }
}
