//! The compiler's tokens in the form the grammar reads.

use furiosa_visa_grammar as grammar;
use grammar::{MAX_DEPTH, TokenKind};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// A token with the compiler's place; an escape carries its tokens.
pub type Token = grammar::Token<Span, TokenStream>;

/// Converts tokens.
///
/// Invisible groups, which `macro_rules!` puts around what it captured, are opened: all operators share one level
/// and take a number on the right, so the result does not depend on them.
pub fn convert(stream: TokenStream) -> syn::Result<Vec<Token>> {
    let mut tokens = Vec::new();
    convert_into(&mut tokens, stream, 0)?;
    Ok(tokens)
}

/// The user's place for generated names: messages point there, lints still see generated code.
pub fn generated_at(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// A message of the grammar as an error of the compiler.
pub fn error(error: grammar::Error<Span>) -> syn::Error {
    syn::Error::new(error.span, error.message)
}

fn convert_into(tokens: &mut Vec<Token>, stream: TokenStream, depth: usize) -> syn::Result<()> {
    for tree in stream {
        let span = tree.span();
        let kind = match tree {
            TokenTree::Ident(ident) => TokenKind::Ident(ident.to_string()),
            TokenTree::Punct(punct) => TokenKind::Punct(punct.as_char()),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                match text.starts_with(|c: char| c.is_ascii_digit()) {
                    true => TokenKind::Number(text),
                    false => TokenKind::Other(text),
                }
            }
            TokenTree::Group(group) => {
                let delimiter = match group.delimiter() {
                    Delimiter::Parenthesis => grammar::Delimiter::Parenthesis,
                    Delimiter::Bracket => grammar::Delimiter::Bracket,
                    Delimiter::Brace => {
                        tokens.push(Token::new(TokenKind::Escape(group.stream()), span));
                        continue;
                    }
                    Delimiter::None => {
                        check_depth(depth, span)?;
                        convert_into(tokens, group.stream(), depth + 1)?;
                        continue;
                    }
                };
                check_depth(depth, span)?;
                let mut inner = Vec::new();
                convert_into(&mut inner, group.stream(), depth + 1)?;
                TokenKind::Group { delimiter, tokens: inner }
            }
        };
        tokens.push(Token::new(kind, span));
    }
    Ok(())
}

/// Guards the recursion above.
fn check_depth(depth: usize, span: Span) -> syn::Result<()> {
    if depth < MAX_DEPTH { Ok(()) } else { Err(error(grammar::Error::too_deep(span))) }
}
