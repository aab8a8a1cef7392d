//! Tokens: the input of the parser, from the compiler or from text.

use std::fmt;

/// One token and its place.
///
/// `S` is the type of a place, `E` what a `{…}` escape carries. The parser copies both and looks into neither.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<S, E> {
    /// The token itself.
    pub kind: TokenKind<S, E>,
    /// Its place.
    pub span: S,
}

/// Kind of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKind<S, E> {
    /// A name. A raw identifier keeps its `r#`.
    Ident(String),
    /// A literal that starts with a digit, as written: `12`, but also `1_024`, `0x10`, `8usize` and `1.5`, so that
    /// the parser can say what is wrong with the last three.
    Number(String),
    /// One punctuation character. `==` is two tokens.
    Punct(char),
    /// `(…)` or `[…]`.
    Group {
        /// The kind of brackets.
        delimiter: Delimiter,
        /// The tokens between the delimiters.
        tokens: Vec<Token<S, E>>,
    },
    /// `{…}`, with content that the tree keeps for the maker of the tokens.
    Escape(E),
    /// Anything else, as written: strings, characters, byte strings.
    Other(String),
}

impl<S, E> Token<S, E> {
    /// Joins a kind and a place.
    pub fn new(kind: TokenKind<S, E>, span: S) -> Self {
        Self { kind, span }
    }
}

/// The delimiters that group. They mean the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimiter {
    /// `( … )`
    Parenthesis,
    /// `[ … ]`
    Bracket,
}

impl Delimiter {
    /// The opening character.
    pub fn open(self) -> char {
        match self {
            Self::Parenthesis => '(',
            Self::Bracket => '[',
        }
    }

    /// The closing character.
    pub fn close(self) -> char {
        match self {
            Self::Parenthesis => ')',
            Self::Bracket => ']',
        }
    }
}

/// The token as error messages quote it; the content of groups is left out.
impl<S, E> fmt::Display for Token<S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TokenKind::Ident(text) | TokenKind::Number(text) | TokenKind::Other(text) => {
                write!(f, "`{text}`")
            }
            TokenKind::Punct(character) => write!(f, "`{character}`"),
            TokenKind::Group { delimiter, .. } => write!(f, "`{}…{}`", delimiter.open(), delimiter.close()),
            TokenKind::Escape(_) => f.write_str("`{…}`"),
        }
    }
}
