//! The macros of `furiosa-opt-std`: those of this crate, with the paths and the options of that surface.

use crate::device;
use crate::device::signature;
use crate::tokens::generated_at;
use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::{Data, DeriveInput, Fields, LitInt, Token};

/// Number of processing elements of a chip, where `#[device]` does not say it.
const PROCESSING_ELEMENTS: u8 = 8;

/// Names the library by the path that users of `furiosa-opt-std` have.
pub fn rooted(stream: TokenStream) -> TokenStream {
    stream
        .into_iter()
        .flat_map(|tree| match tree {
            TokenTree::Ident(name) if name == "furiosa_visa_std" => {
                let span = name.span();
                quote_spanned!(span=> furiosa_opt_std::visa)
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), rooted(group.stream()));
                inner.set_span(group.span());
                TokenTree::Group(inner).into_token_stream()
            }
            other => other.into_token_stream(),
        })
        .collect()
}

/// `#[device(chip = N, pe = P)]`, both optional, in any order.
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let (chips, elements) = match options(attribute) {
        Ok(options) => options,
        Err(error) => {
            let mut tokens = error.to_compile_error();
            tokens.extend(device::expand(quote!(chip = 1), item));
            return rooted(tokens);
        }
    };
    let mut tokens = device::expand(quote!(chip = #chips), item.clone());
    tokens.extend(methods(item, &chips, &elements));
    rooted(tokens)
}

/// The methods of the value that `#[device]` makes.
fn methods(item: TokenStream, chips: &Literal, elements: &Literal) -> Option<TokenStream> {
    let item = syn::parse2::<syn::ItemFn>(item).ok()?;
    let name = &item.sig.ident;
    let type_name = signature::type_name(name).ok()?;
    signature::check(&item.sig).ok()?;
    let cfgs = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let (visibility, text) = (&item.vis, name.to_string());
    Some(quote! {
        #(#cfgs)*
        #[allow(dead_code)]
        impl #type_name {
            /// The device that the kernel was written for.
            #visibility const fn device(&self) -> ::furiosa_opt_std::Device {
                ::furiosa_opt_std::Device { chip: #chips, pe: #elements }
            }

            /// The path of the kernel.
            #visibility const fn path(&self) -> &'static str {
                ::core::concat!(::core::module_path!(), "::", #text)
            }
        }
    })
}

/// Chips and processing elements.
fn options(attribute: TokenStream) -> syn::Result<(Literal, Literal)> {
    let parse = |input: ParseStream<'_>| {
        let mut given: [Option<Literal>; 2] = [None, None];
        while !input.is_empty() {
            let key: Ident = input.parse().map_err(|error| {
                syn::Error::new(
                    error.span(),
                    "the options of #[device] are `chip = number` and `pe = number`",
                )
            })?;
            let place = match key.to_string().as_str() {
                "chip" => 0,
                "pe" => 1,
                other => {
                    let message = format!("#[device] has no option `{other}`; it has `chip` and `pe`");
                    return Err(syn::Error::new(key.span(), message));
                }
            };
            if given[place].is_some() {
                return Err(syn::Error::new(key.span(), format!("`{key}` is given twice; remove one")));
            }
            given[place] = Some(number(input, &key)?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let [chips, elements] = given;
        let or =
            |literal: Option<Literal>, default| literal.unwrap_or_else(|| Literal::u8_unsuffixed(default));
        Ok((or(chips, 1), or(elements, PROCESSING_ELEMENTS)))
    };
    parse.parse2(attribute)
}

/// `= 4`
fn number(input: ParseStream<'_>, key: &Ident) -> syn::Result<Literal> {
    let wanted = format!("`{key}` must be a number from 1 to {PROCESSING_ELEMENTS}, for example `{key} = 1`");
    input.parse::<Token![=]>().map_err(|_| syn::Error::new(key.span(), &wanted))?;
    let span = if input.is_empty() { key.span() } else { input.span() };
    let literal: LitInt = input.parse().map_err(|_| syn::Error::new(span, &wanted))?;
    match literal.base10_parse::<u8>() {
        Ok(value @ 1..=PROCESSING_ELEMENTS) => {
            let mut value = Literal::u8_unsuffixed(value);
            value.set_span(span);
            Ok(value)
        }
        _ => Err(syn::Error::new(span, wanted)),
    }
}

/// `#[derive(DeviceSend)]`: a struct whose fields all go into and out of kernels does so, too.
pub fn derive_device_send(item: TokenStream) -> TokenStream {
    send(item).unwrap_or_else(|error| error.to_compile_error())
}

fn send(item: TokenStream) -> syn::Result<TokenStream> {
    let mut item: DeriveInput = syn::parse2(item)?;
    let fields = match &item.data {
        Data::Struct(data) => data.fields.clone(),
        Data::Enum(_) | Data::Union(_) => {
            let message = "DeviceSend is derived for structs; a kernel takes an enum or a union apart: give it the parts";
            return Err(syn::Error::new(item.ident.span(), message));
        }
    };
    let types: Vec<_> = fields.iter().map(|field| field.ty.clone()).collect();
    let names: Vec<TokenStream> = match &fields {
        Fields::Named(named) => named.named.iter().map(|field| field.ident.to_token_stream()).collect(),
        Fields::Unnamed(unnamed) => {
            (0..unnamed.unnamed.len()).map(|k| Literal::usize_unsuffixed(k).into_token_stream()).collect()
        }
        Fields::Unit => Vec::new(),
    };
    let at = generated_at(Span::call_site());
    let trait_ = quote_spanned!(at=> ::furiosa_opt_std::visa::runtime::DeviceSend);
    let conditions = item.generics.make_where_clause();
    for field in &types {
        conditions.predicates.push(syn::parse2(quote!(#field: #trait_))?);
    }
    let (name, (parameters, arguments, conditions)) = (&item.ident, item.generics.split_for_impl());
    Ok(quote! {
        impl #parameters #trait_ for #name #arguments #conditions {
            const CHIPS: ::furiosa_opt_std::visa::runtime::TensorChips =
                ::furiosa_opt_std::visa::runtime::TensorChips::NONE #(.and(<#types as #trait_>::CHIPS))*;

            fn systems(&self, visit: &mut dyn ::core::ops::FnMut(&::furiosa_opt_std::visa::surface::SystemHandle)) {
                let _ = &visit;
                #(#trait_::systems(&self.#names, visit);)*
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_defaults_and_limits() {
        let said =
            |tokens| options(tokens).map(|(chips, pe)| format!("{chips} {pe}")).map_err(|e| e.to_string());
        assert_eq!(said(quote!()).as_deref(), Ok("1 8"));
        assert_eq!(said(quote!(pe = 4, chip = 2)).as_deref(), Ok("2 4"));
        assert_eq!(said(quote!(chip = 8,)).as_deref(), Ok("8 8"));
        for (tokens, part) in [
            (quote!(chip = 9), "`chip` must be a number from 1 to 8"),
            (quote!(pe = 0), "`pe` must be a number from 1 to 8"),
            (quote!(pe = N), "`pe` must be a number"),
            (quote!(chips = 1), "#[device] has no option `chips`; it has `chip` and `pe`"),
            (quote!(pe = 1, pe = 1), "`pe` is given twice"),
            (quote!(4), "the options of #[device] are"),
        ] {
            let message = said(tokens).expect_err("it is refused");
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn paths_are_those_of_the_other_crate() {
        let tokens = rooted(quote!(::furiosa_visa_std::mapping::Pair<(::furiosa_visa_std::A), B>));
        let expected = quote!(::furiosa_opt_std::visa::mapping::Pair<(::furiosa_opt_std::visa::A), B>);
        assert_eq!(tokens.to_string(), expected.to_string());
    }

    #[test]
    fn kernels_know_their_device() {
        let text = kernel(
            quote!(pe = 2),
            quote!(
                pub fn my_kernel(ctx: &mut Context) {}
            ),
        )
        .to_string();
        for part in
            ["impl MyKernel", "Device { chip : 1 , pe : 2 }", "\"my_kernel\"", "visa :: runtime :: DeviceFn"]
        {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
        assert!(!text.contains("furiosa_visa_std"), "{text}");
    }

    #[test]
    fn structs_are_sent_field_by_field() {
        let text = derive_device_send(quote!(
            struct Layer<'a, D> {
                weights: &'a D,
                scale: f32,
            }
        ))
        .to_string();
        for part in ["& 'a D :", "f32 :", "self . weights", "self . scale"] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
        assert!(
            derive_device_send(quote!(
                struct Two(u8, f32);
            ))
            .to_string()
            .contains("self . 1")
        );
        assert!(
            derive_device_send(quote!(
                enum E {
                    A,
                }
            ))
            .to_string()
            .contains("DeviceSend is derived for structs")
        );
    }
}
