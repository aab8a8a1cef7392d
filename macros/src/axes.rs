//! `axes!`: declarations of axes.

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, LitInt, Token};

use crate::tokens::generated_at;

/// The whole of `axes!`: one declaration for each correct entry, one message for each other.
///
/// Correct entries are declared even beside wrong ones, so that one mistake is one message.
pub fn expand(input: TokenStream) -> TokenStream {
    let parse = |input: ParseStream<'_>| {
        let mut output = TokenStream::new();
        let mut names = HashSet::new();
        while !input.is_empty() {
            match parse_axis(input) {
                Ok(axis) if !names.insert(axis.name.to_string()) => {
                    let message =
                        format!("the axis `{0}` is declared twice; remove or rename one", axis.name);
                    output.extend(syn::Error::new(axis.name.span(), message).to_compile_error());
                }
                Ok(axis) => output.extend(declare(&axis)),
                Err(error) => {
                    output.extend(error.to_compile_error());
                    skip_entry(input);
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(output)
    };
    parse.parse2(input).unwrap_or_else(|error| error.to_compile_error())
}

struct Axis {
    attributes: Vec<Attribute>,
    name: Ident,
    size: usize,
    size_span: Span,
}

/// One entry, up to its comma.
fn parse_axis(input: ParseStream<'_>) -> syn::Result<Axis> {
    let attributes = Attribute::parse_outer(input)?;
    let name = input.call(Ident::parse_any).map_err(|error| {
        syn::Error::new(error.span(), "an entry of `axes!` is `Name = size`, for example `axes![A = 8]`")
    })?;
    let text = name.to_string();
    let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !letters || !text.starts_with(|c: char| c.is_ascii_uppercase()) {
        let message = format!(
            "`{text}` is not a name for an axis; it starts with an upper-case letter A to Z and continues with ASCII \
             letters, digits and `_`, for example `Batch` or `S_dec`"
        );
        return Err(syn::Error::new(name.span(), message));
    }
    if name == "Self" {
        return Err(syn::Error::new(name.span(), "`Self` is a word of Rust; give the axis another name"));
    }
    if !input.peek(Token![=]) {
        let span = if input.is_empty() || input.peek(Token![,]) { name.span() } else { input.span() };
        let message = format!("the axis `{name}` has no size; write `{name} = 8`");
        return Err(syn::Error::new(span, message));
    }
    let equals: Token![=] = input.parse()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(syn::Error::new(
            equals.span,
            format!("the axis `{name}` has no size; write `{name} = 8`"),
        ));
    }
    let found = input.span();
    let Ok(literal) = input.parse::<LitInt>() else {
        return Err(not_a_literal(&name, found));
    };
    if !input.is_empty() && !input.peek(Token![,]) {
        return Err(not_a_literal(&name, input.span()));
    }
    let suffix = literal.suffix();
    if !suffix.is_empty() && suffix != "usize" {
        let message =
            format!("the size of `{name}` has the suffix `{suffix}`; write `{}`", literal.base10_digits());
        return Err(syn::Error::new(literal.span(), message));
    }
    // `LitInt` reads a minus sign too; a negative number then fails as a `usize`.
    let size = literal.base10_parse::<usize>().map_err(|_| {
        let message = format!("the size of `{name}` is {literal}; a size is between 1 and {}", usize::MAX);
        syn::Error::new(literal.span(), message)
    })?;
    if size == 0 {
        let message =
            format!("the size of `{name}` is 0; an axis has at least one position, write 1 or more");
        return Err(syn::Error::new(literal.span(), message));
    }
    Ok(Axis { attributes, name, size, size_span: literal.span() })
}

fn not_a_literal(name: &Ident, span: Span) -> syn::Error {
    let message = format!(
        "the size of `{name}` must be one integer literal; a macro cannot read constants or compute, write the \
         number itself, for example `{name} = 8`"
    );
    syn::Error::new(span, message)
}

/// Moves to the comma that ends the entry, or to the end.
fn skip_entry(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        // A token tree can always be taken from input that is not empty.
        let _: syn::Result<TokenTree> = input.parse();
    }
}

fn declare(axis: &Axis) -> TokenStream {
    let Axis { attributes, name, size, size_span } = axis;
    let text = name.to_string();
    let documented = attributes.iter().any(|attribute| attribute.path().is_ident("doc"));
    let documentation = (!documented).then(|| {
        let positions = if *size == 1 { "position" } else { "positions" };
        let line = format!(" The axis `{text}` of {size} {positions}.");
        quote!(#[doc = #line])
    });
    let mut literal = proc_macro2::Literal::usize_unsuffixed(*size);
    literal.set_span(*size_span);
    // If something else has the same name, the compiler's message points to the name and not to the whole `axes!`.
    let at_name = generated_at(name.span());
    let structure = quote_spanned!(at_name=> pub struct #name;);
    // An axis is only ever a type parameter. It has the traits that a mapping must have: each further one takes the compiler
    // time for each axis. A table of axes may have entries that one crate does not use.
    quote! {
        #(#attributes)*
        #documentation
        #[allow(non_camel_case_types, dead_code)]
        #[derive(::core::fmt::Debug, ::core::clone::Clone)]
        #structure

        impl ::furiosa_visa_std::mapping::AxisName for #name {
            const NAME: ::furiosa_visa_std::mapping::Ident = ::furiosa_visa_std::mapping::Ident::new(#text);
            const SIZE: usize = #literal;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn rejects(input: TokenStream, part: &str) {
        let output = expand(input).to_string();
        assert!(output.contains("compile_error"), "{output}");
        assert!(output.contains(part), "{output}");
    }

    #[test]
    fn an_entry_is_a_type_with_a_name_and_a_size() {
        let expected = quote! {
            #[doc = " The axis `S_dec` of 1024 positions."]
            #[allow(non_camel_case_types, dead_code)]
            #[derive(::core::fmt::Debug, ::core::clone::Clone)]
            pub struct S_dec;

            impl ::furiosa_visa_std::mapping::AxisName for S_dec {
                const NAME: ::furiosa_visa_std::mapping::Ident = ::furiosa_visa_std::mapping::Ident::new("S_dec");
                const SIZE: usize = 1024;
            }
        };
        assert_eq!(expand(quote!(S_dec = 1_024)).to_string(), expected.to_string());
        assert_eq!(expand(quote!(S_dec = 0x400,)).to_string(), expected.to_string());
        assert_eq!(expand(quote!(S_dec = 1024usize)).to_string(), expected.to_string());
    }

    #[test]
    fn lists_may_be_empty_or_long() {
        assert!(expand(quote!()).is_empty());
        let output = expand(quote!(A = 1, B = 2, M = 3,)).to_string();
        assert_eq!(output.matches("pub struct").count(), 3);
        assert!(output.contains(" The axis `A` of 1 position."));
        assert!(!output.contains("compile_error"));
    }

    #[test]
    fn documentation_replaces_the_standard_line() {
        let output = expand(quote!(
            #[doc = " Rows."]
            A = 4
        ))
        .to_string();
        assert!(output.contains("Rows.") && !output.contains("The axis"), "{output}");
    }

    #[test]
    fn literals_of_macro_rules() {
        use proc_macro2::{Delimiter, Group};
        let [name, size] = [quote!(A), quote!(8)].map(|tokens| Group::new(Delimiter::None, tokens));
        assert_eq!(expand(quote!(#name = #size)).to_string(), expand(quote!(A = 8)).to_string());
    }

    #[test]
    fn sizes() {
        rejects(quote!(A = 0), "the size of `A` is 0; an axis has at least one position");
        rejects(quote!(A = N), "the size of `A` must be one integer literal");
        rejects(quote!(A = -1), "the size of `A` is -1; a size is between 1 and");
        rejects(quote!(A = 4 * 2), "the size of `A` must be one integer literal");
        rejects(quote!(A = { 4 }), "the size of `A` must be one integer literal");
        rejects(quote!(A = "4"), "the size of `A` must be one integer literal");
        rejects(quote!(A = 1.5), "the size of `A` must be one integer literal");
        rejects(quote!(A = 4u32), "the size of `A` has the suffix `u32`; write `4`");
        rejects(quote!(A = 18446744073709551616), "a size is between 1 and 18446744073709551615");
        assert!(!expand(quote!(A = 18446744073709551615)).to_string().contains("compile_error"));
        rejects(quote!(A), "the axis `A` has no size; write `A = 8`");
        rejects(quote!(A =), "the axis `A` has no size");
        rejects(quote!(A: 4), "the axis `A` has no size");
    }

    #[test]
    fn names() {
        for name in [quote!(a), quote!(batch), quote!(_A), quote!(Größe), quote!(r#A), quote!(fn)] {
            rejects(
                quote!(#name = 4),
                "is not a name for an axis; it starts with an upper-case letter A to Z",
            );
        }
        rejects(quote!(Self = 4), "`Self` is a word of Rust");
        rejects(quote!(4 = 4), "an entry of `axes!` is `Name = size`");
        rejects(quote!(A = 4,, B = 4), "an entry of `axes!` is `Name = size`");
        rejects(quote!(A = 4, B = 5, A = 4), "the axis `A` is declared twice");
    }

    #[test]
    fn a_wrong_entry_does_not_hide_the_others() {
        let output = expand(quote!(A = 0, b = 3, C = N, D = 4)).to_string();
        assert_eq!(output.matches("compile_error").count(), 3);
        assert!(output.contains("pub struct D"));
    }
}
