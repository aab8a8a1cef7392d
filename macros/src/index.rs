//! `i!`: positions of mappings to an index.

use proc_macro2::{Delimiter, Punct, Spacing, TokenStream, TokenTree};
use quote::quote;

use crate::mapping::mapping_type;

/// The whole of `i!`: the expression, or the message in its place.
pub fn expand(input: TokenStream) -> TokenStream {
    index_expression(input).unwrap_or_else(|error| error.to_compile_error())
}

/// One method call for each entry. There is no local variable that a position expression could see.
fn index_expression(input: TokenStream) -> syn::Result<TokenStream> {
    let mut output = quote!(::furiosa_visa_std::mapping::Index::new());
    let trees: Vec<_> = input.into_iter().collect();
    let mut rest = trees.as_slice();
    let mut angle_bracket_before = false;
    while !rest.is_empty() {
        let (mapping, colon) = take_mapping(&mut rest)?;
        let mapping = mapping_type(mapping).map_err(|error| {
            if !angle_bracket_before {
                return error;
            }
            let hint = "the position before ended at its first `,`; put an expression with commas inside `<…>` in \
                        parentheses";
            syn::Error::new(error.span(), format!("{error}; {hint}"))
        })?;
        let length = rest.iter().position(|tree| is_punct(tree, ',')).unwrap_or(rest.len());
        let (position, after) = rest.split_at(length);
        rest = after.get(1..).unwrap_or_default();
        if position.is_empty() {
            let message = "nothing follows `:`; write the position after it, for example `i![A: 2]`";
            return Err(syn::Error::new(colon.span(), message));
        }
        angle_bracket_before = position.iter().any(|tree| is_punct(tree, '<'));
        let position = without_parentheses(position);
        output.extend(quote!(.with::<#mapping>(#position)));
    }
    Ok(output)
}

/// Takes the tokens up to the `:` of an entry, and the `:`.
fn take_mapping(rest: &mut &[TokenTree]) -> syn::Result<(TokenStream, Punct)> {
    let mut position = 0;
    while let Some(tree) = rest.get(position) {
        match tree {
            // A path is no mapping; the parser of mappings says so.
            TokenTree::Punct(first)
                if first.as_char() == ':'
                    && first.spacing() == Spacing::Joint
                    && rest.get(position + 1).is_some_and(|next| is_punct(next, ':')) =>
            {
                position += 2;
            }
            TokenTree::Punct(colon) if colon.as_char() == ':' => {
                if position == 0 {
                    let message = "nothing is before `:`; write a mapping before it, for example `i![A: 2]`";
                    return Err(syn::Error::new(colon.span(), message));
                }
                let mapping = rest[..position].iter().cloned().collect();
                let colon = colon.clone();
                *rest = &rest[position + 1..];
                return Ok((mapping, colon));
            }
            _ => position += 1,
        }
    }
    if let Some(equals) = rest.iter().find(|tree| is_punct(tree, '=')) {
        let message = "a position is written after `:`, and `=` is the resize operator; write `i![A: 2]` instead of \
                       `i![A = 2]`";
        return Err(syn::Error::new(equals.span(), message));
    }
    let last = rest.last().expect("called with tokens left");
    let message =
        "an entry of `i!` is `mapping: position`; write the position after `:`, for example `i![A: 2]`";
    Err(syn::Error::new(last.span(), message))
}

/// The tokens of a position. Parentheses around all of it are dropped: they are needed around an expression with
/// commas inside `<…>`, and inside a call the compiler would warn of them.
fn without_parentheses(position: &[TokenTree]) -> TokenStream {
    if let [TokenTree::Group(group)] = position
        && group.delimiter() == Delimiter::Parenthesis
        && syn::parse2::<syn::Expr>(group.stream()).is_ok()
    {
        return group.stream();
    }
    position.iter().cloned().collect()
}

fn is_punct(tree: &TokenTree, character: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expands(input: TokenStream, expected: TokenStream) {
        assert_eq!(index_expression(input).unwrap().to_string(), expected.to_string());
    }

    #[track_caller]
    fn rejects(input: TokenStream, part: &str) {
        let message = index_expression(input).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }

    #[test]
    fn entries_become_calls() {
        expands(quote!(), quote!(::furiosa_visa_std::mapping::Index::new()));
        let a = mapping_type(quote!(A)).unwrap();
        let pair = mapping_type(quote!(A / 2, B)).unwrap();
        expands(quote!(A: 2), quote!(::furiosa_visa_std::mapping::Index::new().with::<#a>(2)));
        expands(
            quote!(A / 2, B: f(x, y)[i] + 1, A: { k },),
            quote!(::furiosa_visa_std::mapping::Index::new().with::<#pair>(f(x, y)[i] + 1).with::<#a>({ k })),
        );
        expands(
            quote!(A: crate::position::<B>()),
            quote!(::furiosa_visa_std::mapping::Index::new().with::<#a>(crate::position::<B>())),
        );
        expands(quote!(A: ::k::N), quote!(::furiosa_visa_std::mapping::Index::new().with::<#a>(::k::N)));
    }

    #[test]
    fn parentheses_around_a_position_are_dropped() {
        let a = mapping_type(quote!(A)).unwrap();
        let empty = quote!(::furiosa_visa_std::mapping::Index::new());
        expands(
            quote!(A: (f::<B, C>(1)), A: (1) + 1),
            quote!(#empty.with::<#a>(f::<B, C>(1)).with::<#a>((1) + 1)),
        );
        // A tuple or nothing is a mistake that the compiler describes.
        expands(quote!(A: (1, 2), A: ()), quote!(#empty.with::<#a>((1, 2)).with::<#a>(())));
    }

    #[test]
    fn resize_is_still_a_mapping() {
        let resized = mapping_type(quote!(A = 2)).unwrap();
        expands(quote!(A = 2: 1), quote!(::furiosa_visa_std::mapping::Index::new().with::<#resized>(1)));
    }

    #[test]
    fn stale_and_incomplete_entries() {
        rejects(quote!(A = 2), "write `i![A: 2]` instead of `i![A = 2]`");
        rejects(quote!(A: 1, B = 2), "write `i![A: 2]` instead of `i![A = 2]`");
        rejects(quote!(A), "an entry of `i!` is `mapping: position`");
        rejects(quote!(A:), "nothing follows `:`");
        rejects(quote!(A: , B: 1), "nothing follows `:`");
        rejects(quote!(: 1), "nothing is before `:`");
        rejects(quote!(A: 1,, B: 2), "an operand is missing before `,`");
        rejects(quote!(dims::A: 1), "`::` is not part of a mapping");
        rejects(quote!(A * 2: 1), "`*` is not a mapping operator");
        rejects(quote!(A: f::<B, C>(1), D: 1), "put an expression with commas inside `<…>` in parentheses");
    }
}
