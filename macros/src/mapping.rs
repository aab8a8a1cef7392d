//! `m!`: a mapping expression to a type.

use furiosa_visa_grammar::{Mapping, Number, Operator, parse};
use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::tokens::{self, generated_at};

/// The deepest type that is handed to the compiler, whose own stack overflows at a few thousand levels. Without
/// `#![recursion_limit]` it refuses to use types beyond about 120 levels, with a message.
const MAX_TYPE_DEPTH: usize = 1000;

/// The whole of `m!`: the type, or the message in its place.
pub fn expand(input: TokenStream) -> TokenStream {
    mapping_type(input).unwrap_or_else(|error| {
        // A mapping in any case, so that the message is the only one.
        let message = error.to_compile_error();
        quote!(::furiosa_visa_std::mapping::Resize<::furiosa_visa_std::mapping::Identity, { #message; 1 }>)
    })
}

/// The type of the mapping written in `input`.
pub fn mapping_type(input: TokenStream) -> syn::Result<TokenStream> {
    let tokens = tokens::convert(input)?;
    let mapping = parse(&tokens, Span::call_site()).map_err(tokens::error)?;
    if type_depth(&mapping) > MAX_TYPE_DEPTH {
        let message = format!(
            "the type of the mapping nests more than {MAX_TYPE_DEPTH} levels deep (each member of a list is one), \
             which is more than the compiler can hold; write fewer members"
        );
        return Err(syn::Error::new(Span::call_site(), message));
    }
    type_of(&mapping)
}

fn type_of(mapping: &Mapping<Span, TokenStream>) -> syn::Result<TokenStream> {
    Ok(match mapping {
        Mapping::One { span } => {
            let span = generated_at(*span);
            quote_spanned!(span=> ::furiosa_visa_std::mapping::Identity)
        }
        Mapping::Axis { name, span } => {
            // The identifier keeps the user's place and resolution, so that an unknown axis is reported by the
            // compiler at the axis, with its suggestions for similar names.
            let axis = match name.strip_prefix("r#") {
                Some(name) => Ident::new_raw(name, *span),
                None => Ident::new(name, *span),
            };
            let span = generated_at(*span);
            quote_spanned!(span=> ::furiosa_visa_std::mapping::Symbol<#axis>)
        }
        Mapping::Escape { content, span } => {
            if syn::parse2::<syn::Type>(content.clone()).is_err() {
                let message = "the braces hold a Rust type that is a mapping, such as a type parameter or an alias; \
                               for grouping use `[…]` or `(…)`";
                return Err(syn::Error::new(*span, message));
            }
            content.clone()
        }
        Mapping::Operation { operator, inner, n, span, n_span } => {
            let inner = type_of(inner)?;
            let n = const_argument(n, *n_span)?;
            let span = generated_at(*span);
            let constructor = match operator {
                Operator::Stride => quote_spanned!(span=> Stride),
                Operator::Modulo => quote_spanned!(span=> Modulo),
                Operator::Resize => quote_spanned!(span=> Resize),
                Operator::Padding => quote_spanned!(span=> Padding),
            };
            quote_spanned!(span=> ::furiosa_visa_std::mapping::#constructor<#inner, #n>)
        }
        Mapping::Margin { lead, inner, trail, span } => {
            let inner = type_of(inner)?;
            let (lead, trail) = (const_argument(lead, *span)?, const_argument(trail, *span)?);
            let span = generated_at(*span);
            quote_spanned!(span=> ::furiosa_visa_std::mapping::Margin<#inner, #lead, #trail>)
        }
        Mapping::Pair { items } => pair(items)?,
    })
}

/// A number as the argument of a constructor.
fn const_argument(number: &Number<TokenStream>, span: Span) -> syn::Result<TokenTree> {
    match number {
        Number::Plain(n) => {
            let mut literal = Literal::usize_unsuffixed(*n);
            literal.set_span(span);
            Ok(literal.into())
        }
        Number::Braced(content) => {
            if syn::parse2::<syn::Expr>(content.clone()).is_err() {
                let message = "the braces in the place of a number hold a constant of type `usize`, such as `{ N }` \
                               with `const N: usize`, or a plain number stands there without braces";
                return Err(syn::Error::new(span, message));
            }
            // The braces are generated code, so that no lint calls them unused.
            let mut braces = Group::new(Delimiter::Brace, content.clone());
            braces.set_span(generated_at(span));
            Ok(braces.into())
        }
    }
}

/// `a, b, c` as `Pair<a, Pair<b, c>>`, written from left to right so that a long list costs one pass.
fn pair(items: &[Mapping<Span, TokenStream>]) -> syn::Result<TokenStream> {
    let (last, front) = items.split_last().expect("the grammar gives lists of at least two");
    let mut output = TokenStream::new();
    for item in front {
        let item = type_of(item)?;
        output.extend(quote!(::furiosa_visa_std::mapping::Pair<#item,));
    }
    output.extend(type_of(last)?);
    output.extend(front.iter().map(|_| quote!(>)));
    Ok(output)
}

/// Depth of the nested constructors of the type. A list of n nests n - 1 pairs, one in the other.
fn type_depth(mapping: &Mapping<Span, TokenStream>) -> usize {
    match mapping {
        Mapping::One { .. } | Mapping::Axis { .. } | Mapping::Escape { .. } => 1,
        Mapping::Operation { inner, .. } | Mapping::Margin { inner, .. } => 1 + type_depth(inner),
        Mapping::Pair { items } => {
            let last = items.len() - 1;
            let levels = items.iter().enumerate().map(|(position, item)| {
                let pairs_above = (position + 1).min(last);
                pairs_above + type_depth(item)
            });
            levels.max().unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expands(input: TokenStream, expected: TokenStream) {
        assert_eq!(mapping_type(input).unwrap().to_string(), expected.to_string());
    }

    /// Compares without the paths and spaces.
    #[track_caller]
    fn expands_short(input: TokenStream, expected: &str) {
        let without_spaces = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let output = mapping_type(input).unwrap().to_string();
        let output = without_spaces(&output).replace("::furiosa_visa_std::mapping::", "");
        assert_eq!(output, without_spaces(expected));
    }

    #[track_caller]
    fn rejects(input: TokenStream, part: &str) {
        let message = mapping_type(input).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }

    #[test]
    fn forms() {
        expands(quote!(1), quote!(::furiosa_visa_std::mapping::Identity));
        expands(quote!(S_dec), quote!(::furiosa_visa_std::mapping::Symbol<S_dec>));
        expands(quote!({ T }), quote!(T));
        expands(quote!({ <T as Shape>::Row<'static, 4> }), quote!(<T as Shape>::Row<'static, 4>));
        expands_short(quote!(A, M, 1), "Pair<Symbol<A>, Pair<Symbol<M>, Identity>>");
        expands_short(quote!(A, [M, 1]), "Pair<Symbol<A>, Pair<Symbol<M>, Identity>>");
        expands_short(quote!([A, M], 1), "Pair<Pair<Symbol<A>, Symbol<M>>, Identity>");
        expands_short(quote!((A, B) / 2), "Stride<Pair<Symbol<A>, Symbol<B>>, 2>");
    }

    #[test]
    fn example_of_the_specification() {
        expands_short(
            quote!((P # 16 / 2) % 4 = 3 # 8, { T } # 4),
            "Pair<Padding<Resize<Modulo<Stride<Padding<Symbol<P>, 16>, 2>, 4>, 3>, 8>, Padding<T, 4>>",
        );
    }

    #[test]
    fn margins() {
        expands_short(
            quote!(A, # 2 + B / 2 + # 4, 1 + # 3),
            "Pair<Symbol<A>, Pair<Margin<Stride<Symbol<B>, 2>, 2, 4>, Margin<Identity, 0, 3>>>",
        );
        expands_short(quote!([# 2 + { T }] % 8), "Modulo<Margin<T, 2, 0>, 8>");
        rejects(quote!(# + B), "must be a plain number, found `+`");
        rejects(quote!(# 2 B), "a `+` is missing between `# 2` and `B`");
    }

    #[test]
    fn constants_in_braces() {
        expands_short(
            quote!(A / { N } % { self::ROWS * 2 } = { 4 } # { f(N) },),
            "Padding<Resize<Modulo<Stride<Symbol<A>, {N}>, {self::ROWS * 2}>, 4>, {f(N)}>",
        );
        expands_short(quote!(# { L } + { T } + # { R }), "Margin<T, {L}, {R}>");
        rejects(quote!(A / { N, M }), "the braces in the place of a number hold a constant of type `usize`");
        rejects(quote!(A % {}), "hold a constant of type `usize`");
        rejects(quote!(A /{*}), "hold a constant of type `usize`");
    }

    #[test]
    fn kinds_of_padding() {
        expands_short(quote!(A #{*} 8, 1 #{!} { N }), "Pair<Padding<Symbol<A>, 8>, Padding<Identity, {N}>>");
        expands_short(quote!(#{!} 2 + A + #{*} 8), "Margin<Symbol<A>, 2, 8>");
        rejects(
            quote!(A #{0} 8),
            "`#{0}` promises zeros, and no mapping here carries such a promise; write `#`",
        );
        rejects(quote!(A #{N} 8), "`#{N}` is no kind of padding; the kinds are `#{*}`");
    }

    #[test]
    fn numbers_lose_their_underscores() {
        expands(
            quote!(A / 1_024),
            quote!(::furiosa_visa_std::mapping::Stride<::furiosa_visa_std::mapping::Symbol<A>, 1024>),
        );
    }

    #[test]
    fn raw_identifiers_stay_raw() {
        expands(quote!(r#type), quote!(::furiosa_visa_std::mapping::Symbol<r#type>));
    }

    #[test]
    fn invisible_groups_are_opened() {
        let invisible = |tokens: TokenStream| TokenTree::Group(Group::new(Delimiter::None, tokens));
        let axis = invisible(quote!(A));
        let number = invisible(quote!(8));
        let twice = invisible(TokenStream::from(axis.clone()));
        let plain = mapping_type(quote!(A / 8, A)).unwrap();
        expands(quote!(#axis / #number, #twice), plain);
    }

    #[test]
    fn messages_of_the_grammar_pass_through() {
        rejects(quote!(), "the mapping is empty");
        rejects(quote!(A * 2), "`*` is not a mapping operator");
        rejects(quote!(A / B), "the right side of `/` must be a plain number");
        rejects(quote!(A == 4), "write one `=`");
        rejects(quote!(2), "Broadcast not supported");
        rejects(quote!(A / 8usize), "suffix `usize`");
        rejects(quote!("A"), "cannot start a mapping");
        rejects(quote!(A; B), "separate operands with `,`");
    }

    #[test]
    fn braces_hold_a_type() {
        rejects(quote!({}), "the braces hold a Rust type");
        rejects(quote!({ 4 } / 2), "the braces hold a Rust type");
        rejects(quote!({ A, B }), "the braces hold a Rust type");
        rejects(quote!({ A / 2 }), "for grouping use `[…]`");
    }

    #[test]
    fn lists_are_limited() {
        let list = |length| {
            let axes = std::iter::repeat_n(quote!(A), length);
            quote!(#(#axes),*)
        };
        assert!(mapping_type(list(1000)).is_ok());
        rejects(list(1001), "the type of the mapping nests more than 1000 levels deep");
        let [half, one_more] = [list(500), list(501)];
        assert!(mapping_type(quote!([#half], #half)).is_ok());
        // 499 pairs, then 500 pairs and the axis inside the last member.
        assert!(mapping_type(quote!(#half, [#half])).is_ok());
        rejects(quote!(#half, [#one_more]), "more than 1000 levels");
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth| (0..depth).fold(quote!(A), |inner, _| quote!([#inner]));
        assert!(mapping_type(nested(128)).is_ok());
        rejects(nested(129), "more than 128 levels");
    }
}
