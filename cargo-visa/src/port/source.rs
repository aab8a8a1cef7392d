//! A source text as a list of tokens with their bytes. Groups are tokens for both ends, which know each other.
//!
//! The list is flat, so that the bodies of macros are read as any other text: `$x` is a `$` and a word.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::ops::Range;
use std::str::FromStr as _;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or a keyword.
    Word,
    /// One character of punctuation.
    Punct(char),
    /// A number, a character, or a string.
    Literal,
    /// The start of a group: `(`, `[` or `{`.
    Open(char),
    /// The end of a group, by the character that starts it.
    Close(char),
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: Kind,
    /// Its bytes in the text.
    pub start: usize,
    pub end: usize,
    /// The token at the other end of its group, or the token itself.
    pub mate: usize,
}

/// Numbers of tokens.
pub type Tokens = Range<usize>;

/// A text and its tokens. Comments, also those of documentation, are no tokens.
#[derive(Debug)]
pub struct Source<'t> {
    pub text: &'t str,
    pub tokens: Vec<Token>,
}

impl<'t> Source<'t> {
    /// Reads a text. `Err` says why it is no Rust.
    pub fn new(text: &'t str) -> Result<Self, String> {
        let tokens = Self::read(text);
        // The places of tokens are numbers now: the texts that the crate keeps for them may go.
        proc_macro2::extra::invalidate_current_thread_spans();
        Ok(Self { text, tokens: tokens? })
    }

    fn read(text: &str) -> Result<Vec<Token>, String> {
        let base = start_of_code(text);
        let stream = TokenStream::from_str(&text[base..]).map_err(|error| {
            let (line, column) = position(text, base + error.span().byte_range().start);
            format!("{line}:{column}: it is no Rust that can be read: {error}")
        })?;
        let mut tokens: Vec<Token> = Vec::new();
        // What is left of each group that is open, and where it was opened.
        let mut open = vec![(stream.into_iter(), None::<(usize, Range<usize>)>)];
        // Where the comment starts whose tokens are skipped.
        let mut comment = None;
        while let Some((rest, _)) = open.last_mut() {
            let Some(tree) = rest.next() else {
                let Some((_, Some((opened, place)))) = open.pop() else { break };
                let Token { kind: Kind::Open(character), .. } = tokens[opened] else { break };
                let kind = Kind::Close(character);
                tokens.push(Token { kind, start: base + place.start, end: base + place.end, mate: opened });
                let last = tokens.len() - 1;
                tokens[opened].mate = last;
                continue;
            };
            let place = tree.span().byte_range();
            let place = base + place.start..base + place.end;
            // A comment of documentation has the tokens of an attribute, all at its place.
            if comment == Some(place.start) {
                continue;
            }
            comment = None;
            let kind = match &tree {
                TokenTree::Punct(_) if text[place.start..].starts_with('/') && place.len() > 1 => {
                    comment = Some(place.start);
                    continue;
                }
                TokenTree::Punct(punct) => Kind::Punct(punct.as_char()),
                TokenTree::Ident(_) => Kind::Word,
                TokenTree::Literal(_) => Kind::Literal,
                TokenTree::Group(group) => {
                    let character = match group.delimiter() {
                        Delimiter::Parenthesis => '(',
                        Delimiter::Bracket => '[',
                        Delimiter::Brace | Delimiter::None => '{',
                    };
                    let (first, last) = (group.span_open().byte_range(), group.span_close().byte_range());
                    let mate = tokens.len();
                    let (start, end) = (base + first.start, base + first.end);
                    tokens.push(Token { kind: Kind::Open(character), start, end, mate });
                    open.push((group.stream().into_iter(), Some((mate, last))));
                    continue;
                }
            };
            let mate = tokens.len();
            tokens.push(Token { kind, start: place.start, end: place.end, mate });
        }
        Ok(tokens)
    }

    /// The kind of a token, if there is one.
    pub fn kind(&self, token: usize) -> Option<Kind> {
        self.tokens.get(token).map(|token| token.kind)
    }

    /// True for this character.
    pub fn is(&self, token: usize, character: char) -> bool {
        self.kind(token) == Some(Kind::Punct(character))
    }

    /// True for an arrow, `->` or `=>`, whose second character this is.
    fn is_arrow(&self, token: usize) -> bool {
        token > 0
            && self.is(token, '>')
            && (self.is(token - 1, '-') || self.is(token - 1, '='))
            && self.tokens[token - 1].end == self.tokens[token].start
    }

    /// True for `::`, which starts at this token.
    pub fn is_path(&self, token: usize) -> bool {
        self.is(token, ':') && self.is(token + 1, ':')
    }

    /// The word, or nothing if it is none.
    pub fn word(&self, token: usize) -> Option<&'t str> {
        (self.kind(token) == Some(Kind::Word)).then(|| self.one(token))
    }

    fn one(&self, token: usize) -> &'t str {
        let Token { start, end, .. } = self.tokens[token];
        &self.text[start..end]
    }

    /// The bytes from the first to the last of some tokens. Of none, there are none, before the next token.
    pub fn bytes(&self, tokens: &Tokens) -> Range<usize> {
        match self.tokens.get(tokens.clone()) {
            Some([first, .., last]) => first.start..last.end,
            Some([one]) => one.start..one.end,
            _ => {
                let start = self.tokens.get(tokens.start).map_or(self.text.len(), |token| token.start);
                start..start
            }
        }
    }

    /// The text of some tokens, with what stands between them.
    pub fn of(&self, tokens: &Tokens) -> &'t str {
        &self.text[self.bytes(tokens)]
    }

    /// The text before a token: spaces, ends of lines, comments.
    pub fn gap(&self, token: usize) -> &'t str {
        let start = token.checked_sub(1).map_or(0, |before| self.tokens[before].end);
        &self.text[start..self.tokens[token].start]
    }

    /// True if there is a comment in these bytes.
    pub fn has_comment(&self, bytes: &Range<usize>) -> bool {
        let mut at = bytes.start;
        let first = self.tokens.partition_point(|token| token.end <= bytes.start);
        for token in &self.tokens[first..] {
            if token.start >= bytes.end {
                break;
            }
            if at < token.start && !self.text[at..token.start].trim().is_empty() {
                return true;
            }
            at = token.end.max(at);
        }
        at < bytes.end && !self.text[at..bytes.end].trim().is_empty()
    }

    /// The token behind the generics that start with the `<` here.
    pub fn behind_angles(&self, from: usize) -> Option<usize> {
        let (mut depth, mut token) = (0usize, from);
        loop {
            match self.kind(token)? {
                Kind::Open(_) => token = self.tokens[token].mate,
                Kind::Close(_) | Kind::Punct(';') => return None,
                Kind::Punct('<') => depth += 1,
                Kind::Punct('>') if !self.is_arrow(token) => depth -= 1,
                _ => {}
            }
            token += 1;
            if depth == 0 {
                return Some(token);
            }
        }
    }

    /// The `<` of the generics that end with the `>` here.
    fn before_angles(&self, from: usize) -> Option<usize> {
        let (mut depth, mut token) = (0usize, from);
        loop {
            match self.kind(token)? {
                Kind::Close(_) => token = self.tokens[token].mate,
                Kind::Open(_) | Kind::Punct(';') => return None,
                Kind::Punct('>') if !self.is_arrow(token) => depth += 1,
                Kind::Punct('<') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(token);
            }
            token = token.checked_sub(1)?;
        }
    }

    /// The parts between commas. Generics are skipped behind `::`, and everywhere in types.
    pub fn parts(&self, tokens: Tokens, is_type: bool) -> Vec<Tokens> {
        let (mut parts, mut start, mut token) = (Vec::new(), tokens.start, tokens.start);
        while token < tokens.end {
            let generic = self.is(token, '<') && (is_type || token > 1 && self.is_path(token - 2));
            match self.tokens[token].kind {
                Kind::Open(_) => token = self.tokens[token].mate,
                Kind::Punct(',') => {
                    parts.push(start..token);
                    start = token + 1;
                }
                _ if generic => token = self.behind_angles(token).map_or(token, |behind| behind - 1),
                _ => {}
            }
            token += 1;
        }
        if start < tokens.end {
            parts.push(start..tokens.end);
        }
        parts
    }

    /// The first token of the operand that ends with this token: a path, a call, a chain of calls and fields.
    pub fn start_of_operand(&self, last: usize) -> usize {
        let mut token = last;
        loop {
            let first = match self.tokens[token].kind {
                Kind::Close(_) => self.tokens[token].mate,
                Kind::Punct('?') => {
                    let Some(before) = token.checked_sub(1) else { return token };
                    token = before;
                    continue;
                }
                Kind::Punct('>') => match self.before_angles(token) {
                    Some(first) => first,
                    None => return token,
                },
                _ => token,
            };
            let Some(before) = first.checked_sub(1) else { return first };
            let is_word = self.kind(first) == Some(Kind::Word) || self.kind(first) == Some(Kind::Literal);
            token = if is_word || self.is(first, '<') {
                if self.is(before, '.') && before > 0 && !self.is(before - 1, '.') {
                    before - 1
                } else if before > 1 && self.is_path(before - 1) && self.is_name(before - 2) {
                    before - 2
                } else if self.is(before, '$') {
                    return before;
                } else {
                    return first;
                }
            } else if self.is(before, '!') && before > 0 && self.kind(before - 1) == Some(Kind::Word) {
                before - 1
            } else if self.kind(first) == Some(Kind::Open('{')) {
                return if self.word(before) == Some("unsafe") { before } else { first };
            } else if self.is_name(before) || matches!(self.kind(before), Some(Kind::Close('(' | '['))) {
                before
            } else {
                return first;
            };
        }
    }

    /// True for what a call or a path may follow: a name, or generics.
    fn is_name(&self, token: usize) -> bool {
        const KEYWORDS: [&str; 10] =
            ["return", "in", "if", "while", "match", "else", "move", "let", "mut", "break"];
        match self.kind(token) {
            Some(Kind::Word) => !KEYWORDS.contains(&self.one(token)),
            Some(Kind::Punct('>')) => {
                !self.is_arrow(token)
                    && self.before_angles(token).is_some_and(|first| first > 1 && self.is_path(first - 2))
            }
            _ => false,
        }
    }
}

/// The line and the column of a byte, from 1 on. A column is a character.
pub fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..byte.min(text.len())];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// The bytes before the code: a byte order mark, and the line of a script's interpreter.
fn start_of_code(text: &str) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let rest = &text[mark..];
    let is_script = rest.strip_prefix("#!").is_some_and(|rest| !rest.trim_start().starts_with('['));
    mark + if is_script { rest.find('\n').unwrap_or(rest.len()) } else { 0 }
}
