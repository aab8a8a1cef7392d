//! The text between the parentheses of `#[device(…)]`.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{LitInt, Token};

/// The number of chips, as a literal with the user's place.
pub fn chips(attribute: TokenStream) -> syn::Result<Literal> {
    let parse = |input: ParseStream<'_>| {
        let mut chips = None;
        while !input.is_empty() {
            let key = input.call(Ident::parse_any).map_err(|error| {
                syn::Error::new(
                    error.span(),
                    "an option of #[device] is `chip = number`; write `#[device(chip = 1)]`",
                )
            })?;
            if key != "chip" {
                let message =
                    format!("#[device] has no option `{key}`; the only one is `chip`, as in `chip = 1`");
                return Err(syn::Error::new(key.span(), message));
            }
            if chips.is_some() {
                return Err(syn::Error::new(key.span(), "`chip` is given twice; remove one"));
            }
            chips = Some(value(input, &key)?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        chips.ok_or_else(|| {
            let message =
                "#[device] needs the number of chips the kernel runs on; write `#[device(chip = 1)]`";
            syn::Error::new(Span::call_site(), message)
        })
    };
    parse.parse2(attribute)
}

/// `= 4`
fn value(input: ParseStream<'_>, key: &Ident) -> syn::Result<Literal> {
    let wanted = "`chip` must be an integer literal of at least 1, for example `chip = 4`";
    input.parse::<Token![=]>().map_err(|_| syn::Error::new(key.span(), wanted))?;
    let span = if input.is_empty() { key.span() } else { input.span() };
    let literal: LitInt = input.parse().map_err(|_| syn::Error::new(span, wanted))?;
    let plain = matches!(literal.suffix(), "" | "usize");
    match literal.base10_parse::<usize>() {
        Ok(0) => Err(syn::Error::new(span, "a kernel runs on at least one chip; write `chip = 1`")),
        Ok(chips) if plain => {
            let mut chips = Literal::usize_unsuffixed(chips);
            chips.set_span(span);
            Ok(chips)
        }
        _ => Err(syn::Error::new(span, wanted)),
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    #[test]
    fn a_number_of_chips() {
        assert_eq!(chips(quote!(chip = 1)).unwrap().to_string(), "1");
        assert_eq!(chips(quote!(chip = 4,)).unwrap().to_string(), "4");
        assert_eq!(chips(quote!(chip = 4usize)).unwrap().to_string(), "4");
    }

    #[test]
    fn everything_else_is_refused() {
        for (attribute, part) in [
            (quote!(), "#[device] needs the number of chips"),
            (quote!(chip), "`chip` must be an integer literal of at least 1"),
            (quote!(chip =), "`chip` must be an integer literal"),
            (quote!(chip = N), "`chip` must be an integer literal"),
            (quote!(chip = "4"), "`chip` must be an integer literal"),
            (quote!(chip = 4u8), "`chip` must be an integer literal"),
            (quote!(chip = -1), "`chip` must be an integer literal"),
            (quote!(chip = 0), "at least one chip; write `chip = 1`"),
            (quote!(chips = 4), "#[device] has no option `chips`"),
            (quote!(chip = 1, chip = 1), "`chip` is given twice"),
            (quote!(chip = 1; 2), "expected `,`"),
            (quote!(4), "an option of #[device] is `chip = number`"),
        ] {
            let message = chips(attribute).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
