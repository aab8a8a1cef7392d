//! Meanings of names: variables where they are seen, aliases of types, axes with their sizes.
//!
//! A name that is bound in a way that is not read here (a pattern of a `match`, an argument of a closure) is unknown from
//! there to the end of its block, so that it never stands for an outer variable.

use super::source::{Kind, Source, Tokens};
use std::collections::HashMap;

/// A variable.
#[derive(Clone, Debug)]
pub struct Binding {
    pub name: String,
    /// The tokens where it is seen.
    pub seen: Tokens,
    /// Its type, if it is written.
    pub annotation: Option<Tokens>,
    /// The expression that it starts with.
    pub value: Option<Tokens>,
}

/// `type Name<Parameters> = target;`
#[derive(Clone, Debug)]
pub struct Alias {
    pub parameters: Vec<String>,
    pub target: Tokens,
}

/// The body of a function, and the type of its result.
#[derive(Clone, Debug)]
pub struct Body {
    /// The tokens inside of its braces.
    pub tokens: Tokens,
    pub result: Tokens,
}

/// The names of a source. A name that is declared twice, in two ways, is none of both.
#[derive(Debug, Default)]
pub struct Names {
    bindings: HashMap<String, Vec<Binding>>,
    aliases: HashMap<String, Option<Alias>>,
    axes: HashMap<String, Option<String>>,
    bodies: Vec<Body>,
}

impl Names {
    pub fn new(source: &Source<'_>) -> Self {
        let mut names = Self::default();
        // The ends of the groups around a token.
        let mut ends = vec![source.tokens.len()];
        for token in 0..source.tokens.len() {
            let end = ends.last().copied().unwrap_or_default();
            match source.kind(token) {
                Some(Kind::Open(_)) => ends.push(source.tokens[token].mate),
                Some(Kind::Close(_)) => drop(ends.pop()),
                Some(Kind::Punct('|')) => names.closure(source, token, end),
                Some(Kind::Punct('>')) if token > 0 && source.is(token - 1, '=') => {
                    names.arm(source, token - 1, end);
                }
                Some(Kind::Word) => match source.word(token) {
                    Some("fn") => names.function(source, token),
                    Some("let") => names.binding(source, token, end),
                    Some("for") => names.turn(source, token),
                    Some("type") => names.alias(source, token),
                    Some("axes") => names.axes(source, token),
                    Some("impl") => names.parameters(source, token + 1),
                    _ => {}
                },
                _ => {}
            }
        }
        names
    }

    /// The variable of this name at a token.
    pub fn at(&self, name: &str, token: usize) -> Option<&Binding> {
        let all = self.bindings.get(name)?.iter().filter(|binding| binding.seen.contains(&token));
        all.max_by_key(|binding| binding.seen.start)
    }

    /// The alias of this name.
    pub fn alias_of(&self, name: &str) -> Option<&Alias> {
        self.aliases.get(name)?.as_ref()
    }

    /// The size of an axis, as it is written.
    pub fn size_of(&self, axis: &str) -> Option<&str> {
        self.axes.get(axis)?.as_deref()
    }

    /// The type of the function whose last expression ends with a token, or that returns it.
    pub fn result_of(&self, source: &Source<'_>, start: usize, last: usize) -> Option<&Tokens> {
        let inner = self.bodies.iter().filter(|body| body.tokens.contains(&last));
        let body = inner.max_by_key(|body| body.tokens.start)?;
        let is_last = last + 1 == body.tokens.end;
        let is_returned = start > 0 && source.word(start - 1) == Some("return");
        (is_last || is_returned).then_some(&body.result)
    }

    /// All variables.
    pub fn variables(&self) -> impl Iterator<Item = &Binding> {
        self.bindings.values().flatten()
    }

    fn bind(&mut self, name: &str, seen: Tokens, annotation: Option<Tokens>, value: Option<Tokens>) {
        let binding = Binding { name: name.to_string(), seen, annotation, value };
        self.bindings.entry(name.to_string()).or_default().push(binding);
    }

    /// Binds the names of a pattern to what is not known.
    fn unknown(&mut self, source: &Source<'_>, pattern: Tokens, seen: &Tokens) {
        for token in pattern {
            let is_name = |word: &str| word.starts_with(|c: char| c.is_lowercase() || c == '_');
            if let Some(word) = source.word(token).filter(|word| is_name(word))
                && !(token > 0 && (source.is(token - 1, '$') || source.is(token - 1, '.')))
            {
                self.bind(word, seen.clone(), None, None);
            }
        }
    }

    /// The parameters of a function.
    fn function(&mut self, source: &Source<'_>, keyword: usize) {
        let mut open = keyword + 1;
        if source.is(open, '$') {
            open += 1;
        }
        open += 1;
        if source.is(open, '<') {
            let Some(behind) = source.behind_angles(open) else { return };
            self.parameters(source, open);
            open = behind;
        }
        if source.kind(open) != Some(Kind::Open('(')) {
            return;
        }
        let close = source.tokens[open].mate;
        let (mut body, mut bounds) = (close + 1, None);
        while source.kind(body) != Some(Kind::Open('{')) {
            match source.kind(body) {
                None | Some(Kind::Punct(';') | Kind::Close(_)) => return,
                Some(Kind::Open(_)) => body = source.tokens[body].mate,
                Some(Kind::Word) if source.word(body) == Some("where") => bounds = bounds.or(Some(body)),
                _ => {}
            }
            body += 1;
        }
        let seen = body..source.tokens[body].mate;
        if source.is(close + 1, '-') && source.is(close + 2, '>') {
            let result = close + 3..bounds.unwrap_or(body);
            self.bodies.push(Body { tokens: body + 1..seen.end, result });
        }
        for parameter in source.parts(open + 1..close, true) {
            let mut start = parameter.start;
            while source.is(start, '#') {
                start = source.tokens.get(start + 1).map_or(start, |group| group.mate) + 1;
            }
            self.pattern(source, start..parameter.end, &seen, None);
        }
    }

    /// `<Parameters>`: what they stand for is not in this text.
    fn parameters(&mut self, source: &Source<'_>, open: usize) {
        if !source.is(open, '<') {
            return;
        }
        let Some(behind) = source.behind_angles(open) else { return };
        for part in source.parts(open + 1..behind - 1, true) {
            if let Some(name) = source.word(part.start) {
                self.aliases.insert(name.to_string(), None);
                self.axes.insert(name.to_string(), None);
            }
        }
    }

    /// `[mut] name [: Type]`, or a pattern.
    fn pattern(&mut self, source: &Source<'_>, tokens: Tokens, seen: &Tokens, value: Option<Tokens>) {
        let single = |token: &usize| {
            source.is(*token, ':')
                && !source.is(*token + 1, ':')
                && !(*token > 0 && source.is(*token - 1, ':'))
        };
        // A colon inside of a pattern's group is not at this level.
        let mut token = tokens.start;
        let mut colon = tokens.end;
        while token < tokens.end {
            if single(&token) {
                colon = token;
                break;
            }
            token = source.tokens[token].mate.max(token) + 1;
        }
        let annotation = (colon < tokens.end).then(|| colon + 1..tokens.end);
        let first = tokens.start + usize::from(source.word(tokens.start) == Some("mut"));
        match source.word(first) {
            Some(name) if first + 1 == colon => self.bind(name, seen.clone(), annotation, value),
            _ => self.unknown(source, tokens.start..colon, seen),
        }
    }

    /// `let pattern [: Type] = value;`
    fn binding(&mut self, source: &Source<'_>, keyword: usize, end: usize) {
        let is_condition = keyword > 0
            && (matches!(source.word(keyword - 1), Some("if" | "while")) || source.is(keyword - 1, '&'));
        let (mut token, mut equals) = (keyword + 1, None);
        while token < end {
            match source.kind(token) {
                Some(Kind::Open(_)) if is_condition && equals.is_some() => break,
                Some(Kind::Open(_)) => token = source.tokens[token].mate,
                Some(Kind::Punct('<')) if equals.is_none() => {
                    token = source.behind_angles(token).map_or(token, |behind| behind - 1);
                }
                Some(Kind::Punct('=')) if equals.is_none() => equals = Some(token),
                Some(Kind::Punct(';')) => break,
                _ => {}
            }
            token += 1;
        }
        let left = keyword + 1..equals.unwrap_or(token);
        if is_condition {
            self.unknown(source, left, &(token..end));
        } else {
            let value = equals.map(|equals| equals + 1..token);
            self.pattern(source, left, &(token..end), value);
        }
    }

    /// `for pattern in … { body }`
    fn turn(&mut self, source: &Source<'_>, keyword: usize) {
        let mut token = keyword + 1;
        while source.word(token) != Some("in") {
            match source.kind(token) {
                None | Some(Kind::Open('{') | Kind::Close(_) | Kind::Punct(';' | '<')) => return,
                Some(Kind::Open(_)) => token = source.tokens[token].mate,
                _ => {}
            }
            token += 1;
        }
        let pattern = keyword + 1..token;
        while source.kind(token) != Some(Kind::Open('{')) {
            match source.kind(token) {
                None | Some(Kind::Close(_)) => return,
                Some(Kind::Open(_)) => token = source.tokens[token].mate,
                _ => {}
            }
            token += 1;
        }
        self.unknown(source, pattern, &(token..source.tokens[token].mate));
    }

    /// `|pattern| …`
    fn closure(&mut self, source: &Source<'_>, bar: usize, end: usize) {
        let starts = bar.checked_sub(1).is_none_or(|before| match source.kind(before) {
            Some(Kind::Open(_)) => true,
            Some(Kind::Punct(character)) => matches!(character, ',' | '=' | ';' | '>'),
            Some(Kind::Word) => matches!(source.word(before), Some("move" | "return" | "else")),
            _ => false,
        });
        if !starts {
            return;
        }
        let mut token = bar + 1;
        while token < end && !source.is(token, '|') {
            token = source.tokens[token].mate.max(token) + 1;
        }
        self.unknown(source, bar + 1..token.min(end), &(token..end));
    }

    /// `pattern => …`, whose `=` this is.
    fn arm(&mut self, source: &Source<'_>, equals: usize, end: usize) {
        let mut token = equals;
        while let Some(before) = token.checked_sub(1) {
            match source.kind(before) {
                Some(Kind::Punct(',' | ';') | Kind::Open(_) | Kind::Close('{')) => break,
                Some(Kind::Close(_)) => token = source.tokens[before].mate,
                _ => token = before,
            }
        }
        self.unknown(source, token..equals, &(equals..end));
    }

    /// `type Name<Parameters> = target;`
    fn alias(&mut self, source: &Source<'_>, keyword: usize) {
        let Some(name) = source.word(keyword + 1) else { return };
        let (mut token, mut parameters) = (keyword + 2, Vec::new());
        if source.is(token, '<') {
            let Some(behind) = source.behind_angles(token) else { return };
            let parts = source.parts(token + 1..behind - 1, true);
            parameters = parts
                .into_iter()
                .map(|part| {
                    let skipped = usize::from(source.word(part.start) == Some("const"));
                    source.word(part.start + skipped).unwrap_or_default().to_string()
                })
                .collect();
            token = behind;
        }
        if !source.is(token, '=') {
            return;
        }
        let start = token + 1;
        while !source.is(token, ';') {
            match source.kind(token) {
                None | Some(Kind::Close(_)) => return,
                _ => token = source.tokens[token].mate.max(token) + 1,
            }
        }
        let alias = Alias { parameters, target: start..token };
        let of = |alias: &Alias| source.of(&alias.target).to_string();
        match self.aliases.get(name) {
            Some(Some(other)) if of(other) == of(&alias) => {}
            Some(_) => drop(self.aliases.insert(name.to_string(), None)),
            None => drop(self.aliases.insert(name.to_string(), Some(alias))),
        }
    }

    /// `axes![A = 8, …]`
    fn axes(&mut self, source: &Source<'_>, name: usize) {
        let open = name + 2;
        if !source.is(name + 1, '!') || !matches!(source.kind(open), Some(Kind::Open(_))) {
            return;
        }
        for part in source.parts(open + 1..source.tokens[open].mate, false) {
            let Some(axis) = source.word(part.start) else { continue };
            let is_number = part.len() == 3
                && source.is(part.start + 1, '=')
                && source.kind(part.start + 2) == Some(Kind::Literal);
            let size = is_number.then(|| source.of(&(part.start + 2..part.end)).to_string());
            match self.axes.get(axis) {
                Some(other) if *other == size => {}
                Some(_) => drop(self.axes.insert(axis.to_string(), None)),
                None => drop(self.axes.insert(axis.to_string(), size)),
            }
        }
    }
}
