//! Calls of methods, which of them are called on the results of which, and calls of associated functions.

use super::source::{Kind, Source, Tokens};
use std::collections::HashMap;

/// Generics behind `::`.
#[derive(Clone, Debug)]
pub struct Generics {
    pub parts: Vec<Tokens>,
}

/// A call of a method: `.name::<generics>(arguments)`.
#[derive(Clone, Debug)]
pub struct Call {
    pub dot: usize,
    pub name: usize,
    pub generics: Option<Generics>,
    /// The parentheses.
    pub open: usize,
    pub close: usize,
    pub arguments: Vec<Tokens>,
    /// The call on whose result it is called.
    pub before: Option<usize>,
    /// The first token of the chain that it ends.
    pub start: usize,
    /// The tokens before the first dot of the chain.
    pub root: Tokens,
}

/// A call of an associated function of a tensor: `DmTensor::<D, …>::new(arguments)`.
#[derive(Clone, Debug)]
pub struct Associated {
    pub of: usize,
    pub generics: Option<Generics>,
    pub name: usize,
    pub open: usize,
    pub close: usize,
    pub arguments: Vec<Tokens>,
}

/// All calls of a source.
#[derive(Debug)]
pub struct Calls {
    pub methods: Vec<Call>,
    pub associated: Vec<Associated>,
    /// Calls of methods by their closing parentheses.
    pub by_close: HashMap<usize, usize>,
    /// Calls of associated functions by their closing parentheses.
    pub associated_by_close: HashMap<usize, usize>,
}

/// Types with associated functions that have another spelling.
const TENSORS: [&str; 5] = ["HostTensor", "HbmTensor", "DmTensor", "TrfTensor", "VrfTensor"];

impl Calls {
    pub fn new(source: &Source<'_>) -> Self {
        let mut calls = Self {
            methods: Vec::new(),
            associated: Vec::new(),
            by_close: HashMap::new(),
            associated_by_close: HashMap::new(),
        };
        for token in 0..source.tokens.len() {
            calls.find_method(source, token);
            calls.find_associated(source, token);
        }
        // In the order of their closing parentheses, receivers come before the calls on them.
        let mut order: Vec<usize> = (0..calls.methods.len()).collect();
        order.sort_by_key(|&call| calls.methods[call].close);
        for call in order {
            calls.link(source, call);
        }
        calls
    }

    fn find_method(&mut self, source: &Source<'_>, dot: usize) {
        let is_range = dot > 0 && source.is(dot - 1, '.') || source.is(dot + 1, '.');
        if !source.is(dot, '.') || is_range || source.word(dot + 1).is_none() {
            return;
        }
        let (generics, open) = generics(source, dot + 2);
        if source.kind(open) != Some(Kind::Open('(')) {
            return;
        }
        let close = source.tokens[open].mate;
        let arguments = source.parts(open + 1..close, false);
        self.by_close.insert(close, self.methods.len());
        let (before, start, root) = (None, dot, dot..dot);
        self.methods.push(Call { dot, name: dot + 1, generics, open, close, arguments, before, start, root });
    }

    fn find_associated(&mut self, source: &Source<'_>, of: usize) {
        if !source.word(of).is_some_and(|word| TENSORS.contains(&word)) {
            return;
        }
        let (generics, path) = generics(source, of + 1);
        let (name, open) = (path + 2, path + 3);
        if source.is_path(path) && source.word(name).is_some() && source.kind(open) == Some(Kind::Open('(')) {
            let close = source.tokens[open].mate;
            let arguments = source.parts(open + 1..close, false);
            self.associated_by_close.insert(close, self.associated.len());
            self.associated.push(Associated { of, generics, name, open, close, arguments });
        }
    }

    /// Finds what a method is called on.
    fn link(&mut self, source: &Source<'_>, call: usize) {
        let Some(last) = self.methods[call].dot.checked_sub(1) else { return };
        let start = source.start_of_operand(last);
        let before = self.last_call(source, &(start..last + 1));
        let root = match before {
            Some(before) => self.methods[before].root.clone(),
            None => start..last + 1,
        };
        let own = &mut self.methods[call];
        (own.before, own.start, own.root) = (before, start, root);
    }

    /// The call whose result an expression is. Parentheses around it, `.await` and `?` are skipped.
    pub fn last_call(&self, source: &Source<'_>, expression: &Tokens) -> Option<usize> {
        let (mut start, mut end) = (expression.start, expression.end);
        loop {
            let last = end.checked_sub(1).filter(|&last| last >= start)?;
            if source.is(last, '?') {
                end -= 1;
            } else if source.word(last) == Some("await") && last > start && source.is(last - 1, '.') {
                end -= 2;
            } else if let Some(&call) = self.by_close.get(&last) {
                return (self.methods[call].start == start).then_some(call);
            } else if source.kind(last) == Some(Kind::Close('(')) && source.tokens[last].mate == start {
                (start, end) = (start + 1, last);
            } else {
                return None;
            }
        }
    }
}

/// The generics that start here, if any, and the token behind them.
fn generics(source: &Source<'_>, from: usize) -> (Option<Generics>, usize) {
    if source.is_path(from)
        && source.is(from + 2, '<')
        && let Some(behind) = source.behind_angles(from + 2)
    {
        let parts = source.parts(from + 3..behind - 1, true);
        return (Some(Generics { parts }), behind);
    }
    (None, from)
}
