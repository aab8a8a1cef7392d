//! Text to tokens, for tools that read mappings at run time.

use std::ops::Range;

use crate::{Delimiter, Error, MAX_DEPTH, Token, TokenKind};

type TextToken = Token<Range<usize>, String>;

/// A group whose closing delimiter has not been reached.
struct OpenGroup {
    delimiter: Delimiter,
    start: usize,
    /// The tokens before the group, to which it will be appended.
    before: Vec<TextToken>,
}

/// Splits the text of a mapping (without the `m![` and `]` around it) into tokens.
///
/// Spans are byte ranges into `text`. An escape carries the text between its braces, without the spaces at its ends.
///
/// # Errors
///
/// A delimiter without its partner, or groups nested deeper than [`MAX_DEPTH`].
pub fn tokenize(text: &str) -> Result<Vec<TextToken>, Error<Range<usize>>> {
    let mut open: Vec<OpenGroup> = Vec::new();
    let mut tokens = Vec::new();
    let mut position = 0;
    while let Some(character) = text[position..].chars().next() {
        let start = position;
        let rest = &text[start..];
        position += character.len_utf8();
        let kind = match character {
            _ if character.is_whitespace() => continue,
            '(' | '[' => {
                let delimiter = if character == '(' { Delimiter::Parenthesis } else { Delimiter::Bracket };
                if open.len() == MAX_DEPTH {
                    return Err(Error::too_deep(start..position));
                }
                open.push(OpenGroup { delimiter, start, before: std::mem::take(&mut tokens) });
                continue;
            }
            ')' | ']' => {
                let Some(OpenGroup { delimiter, start: opened, before }) = open.pop() else {
                    let message = format!("`{character}` closes nothing; remove it");
                    return Err(Error::new(message, start..position));
                };
                if delimiter.close() != character {
                    let message = format!(
                        "`{}` is closed by `{character}`; write `{}`",
                        delimiter.open(),
                        delimiter.close()
                    );
                    return Err(Error::new(message, start..position));
                }
                let inner = std::mem::replace(&mut tokens, before);
                tokens.push(Token::new(TokenKind::Group { delimiter, tokens: inner }, opened..position));
                continue;
            }
            '{' => {
                let Some(length) = escape_length(rest) else {
                    return Err(Error::new("`{` is never closed; add `}`", start..position));
                };
                position = start + length;
                TokenKind::Escape(text[start + 1..position - 1].trim().to_string())
            }
            '}' => return Err(Error::new("`}` closes nothing; remove it", start..position)),
            '"' | '\'' => {
                // Quoted text is never legal in a mapping; it is kept whole so that the message can quote it.
                position = rest[1..].find(character).map_or(text.len(), |end| start + end + 2);
                TokenKind::Other(text[start..position].to_string())
            }
            _ if character.is_ascii_digit() => {
                position = start + number_length(rest);
                TokenKind::Number(text[start..position].to_string())
            }
            _ if is_name(character) => {
                position = start + rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
                TokenKind::Ident(text[start..position].to_string())
            }
            _ => TokenKind::Punct(character),
        };
        tokens.push(Token::new(kind, start..position));
    }
    match open.pop() {
        None => Ok(tokens),
        Some(OpenGroup { delimiter, start, .. }) => {
            let message = format!("`{}` is never closed; add `{}`", delimiter.open(), delimiter.close());
            Err(Error::new(message, start..start + 1))
        }
    }
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The length in bytes of the `{…}` at the start of `text`, or `None` if it is not closed.
fn escape_length(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (position, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(position + 1);
        }
    }
    None
}

/// The length in bytes of the number at the start of `text`, with the suffix or fraction it may carry.
fn number_length(text: &str) -> usize {
    let whole = text.find(|c: char| !is_name(c)).unwrap_or(text.len());
    let Some(fraction) = text[whole..].strip_prefix('.') else {
        return whole;
    };
    if !fraction.starts_with(|c: char| c.is_ascii_digit()) {
        return whole;
    }
    whole + 1 + fraction.find(|c: char| !is_name(c)).unwrap_or(fraction.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_byte_ranges() {
        let tokens = tokenize(" Ab / 1_024,{ Vec<{ 3 }> }").unwrap();
        let expected = [
            Token::new(TokenKind::Ident("Ab".into()), 1..3),
            Token::new(TokenKind::Punct('/'), 4..5),
            Token::new(TokenKind::Number("1_024".into()), 6..11),
            Token::new(TokenKind::Punct(','), 11..12),
            Token::new(TokenKind::Escape("Vec<{ 3 }>".into()), 12..26),
        ];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn groups_hold_their_tokens() {
        let tokens = tokenize("([A]#8)").unwrap();
        let inner = vec![Token::new(TokenKind::Ident("A".into()), 2..3)];
        let bracket = TokenKind::Group { delimiter: Delimiter::Bracket, tokens: inner };
        let outer = vec![
            Token::new(bracket, 1..4),
            Token::new(TokenKind::Punct('#'), 4..5),
            Token::new(TokenKind::Number("8".into()), 5..6),
        ];
        let parenthesis = TokenKind::Group { delimiter: Delimiter::Parenthesis, tokens: outer };
        assert_eq!(tokens, [Token::new(parenthesis, 0..7)]);
    }

    #[test]
    fn unusual_text_is_kept_whole() {
        let kinds: Vec<_> = tokenize("1.5 0x10 8usize 1.x \"a b\" 'c ß€").unwrap();
        let kinds: Vec<_> = kinds.iter().map(ToString::to_string).collect();
        assert_eq!(kinds, ["`1.5`", "`0x10`", "`8usize`", "`1`", "`.`", "`x`", "`\"a b\"`", "`'c ß€`"]);
    }

    #[test]
    fn delimiters_need_partners() {
        for (text, message, span) in [
            ("(A", "`(` is never closed; add `)`", 0..1),
            ("[[A]", "`[` is never closed; add `]`", 0..1),
            ("A)", "`)` closes nothing; remove it", 1..2),
            ("(A]", "`(` is closed by `]`; write `)`", 2..3),
            ("{ A", "`{` is never closed; add `}`", 0..1),
            ("A }", "`}` closes nothing; remove it", 2..3),
        ] {
            assert_eq!(tokenize(text), Err(Error::new(message, span)), "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| format!("{}A{}", "(".repeat(depth), ")".repeat(depth));
        assert!(tokenize(&nested(MAX_DEPTH)).is_ok());
        let error = tokenize(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert!(error.message.contains("more than 128 levels"), "{error}");
        assert_eq!(error.span, MAX_DEPTH..MAX_DEPTH + 1);
        assert!(tokenize(&"[".repeat(1_000_000)).is_err());
    }
}
