//! `#[device]`: a function to a kernel.

mod options;
mod signature;

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, FnArg, Generics, ReturnType, Signature, Type, Visibility, parse_quote};

use crate::lifetimes;
use crate::tokens::generated_at;

/// The whole of `#[device]`: the items of the kernel, or the messages in their place.
pub fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    kernel(attribute, item).unwrap_or_else(|error| error.to_compile_error())
}

fn kernel(attribute: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let chips = options::chips(attribute);
    let kernel = parse_kernel(item)?;
    let chips = match (chips, signature::check(&kernel.signature)) {
        (Ok(chips), Ok(())) => chips,
        (Err(error), Ok(())) | (Ok(_), Err(error)) => return Err(error),
        (Err(mut error), Err(other)) => {
            error.combine(other);
            return Err(error);
        }
    };
    generate(&kernel, &chips)
}

/// A function as written. The body is not looked into.
struct Kernel {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: Group,
}

impl Parse for Kernel {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature: Signature = input.parse()?;
        let body = body(input.parse()?).ok_or_else(|| {
            let message = "a kernel needs a body; write `{ … }` after its signature";
            syn::Error::new(signature.ident.span(), message)
        })?;
        Ok(Self { attributes, visibility, signature, body })
    }
}

/// The braces that end a function, also when `macro_rules!` captured them as `$body:block`.
fn body(tokens: TokenStream) -> Option<Group> {
    let mut trees = tokens.into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None) => match group.delimiter() {
            Delimiter::Brace => Some(group),
            Delimiter::None => body(group.stream()),
            Delimiter::Parenthesis | Delimiter::Bracket => None,
        },
        _ => None,
    }
}

fn parse_kernel(item: TokenStream) -> syn::Result<Kernel> {
    syn::parse2(item.clone()).map_err(|error| match syn::parse2::<syn::Item>(item.clone()) {
        Err(_) | Ok(syn::Item::Fn(_) | syn::Item::Verbatim(_)) => error,
        Ok(_) => syn::Error::new_spanned(item, "#[device] can only be applied to functions"),
    })
}

fn generate(kernel: &Kernel, chips: &Literal) -> syn::Result<TokenStream> {
    let Kernel { visibility, signature, .. } = kernel;
    let name = &signature.ident;
    let type_name = signature::type_name(name)?;
    let attributes = Attributes::sort(&kernel.attributes);
    let (on_all, on_constant) = (&attributes.on_all, &attributes.on_constant);
    let documentation = format!(" The type of the kernel `{}`, for `launch`.", name.unraw());
    // If an axis has the same name, the compiler's message points to the name of the function.
    let at_name = generated_at(name.span());
    let structure = quote_spanned!(at_name=> struct #type_name;);
    let function = function(kernel, &attributes.on_function);
    let implementation = implementation(signature, &type_name, chips)?;
    let check = check_when_not_called(signature);
    Ok(quote! {
        #(#on_all)*
        #[doc = #documentation]
        #[allow(dead_code)]
        #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
        #visibility #structure

        #(#on_all)*
        #(#on_constant)*
        #[allow(non_upper_case_globals)]
        #visibility const #name: #type_name = #type_name;

        #(#on_all)*
        #[doc(hidden)]
        #[allow(non_local_definitions)]
        const _: () = {
            #function
            #implementation
            #check
        };
    })
}

/// The function itself. It keeps its name, which appears in messages of the compiler and in stack traces; the block
/// around it keeps it apart from the constant.
fn function(kernel: &Kernel, attributes: &[&Attribute]) -> TokenStream {
    let Kernel { signature, body, .. } = kernel;
    quote! {
        #(#attributes)*
        #[allow(clippy::too_many_arguments)]
        #signature #body
    }
}

/// The only `impl` of `DeviceFn`. That there is only one lets `launch` know the types of its arguments, so that
/// `&mut guard` becomes `&mut Context`.
fn implementation(signature: &Signature, type_name: &Ident, chips: &Literal) -> syn::Result<TokenStream> {
    let mut types = signature::argument_types(signature)?;
    let lifetimes = lifetimes::name_in_arguments(types.iter_mut());
    let mut output: Type = match &signature.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, output) => (**output).clone(),
    };
    lifetimes.name_in_result(&mut output)?;
    let mut generics = signature.generics.clone();
    for lifetime in lifetimes.new.iter().rev() {
        generics.params.insert(0, parse_quote!(#lifetime));
    }
    let (parameters, _, conditions) = generics.split_for_impl();

    let values: Vec<_> = (0..types.len()).map(|position| format_ident!("__argument_{position}")).collect();
    // An argument that cannot be sent to the device is reported at the arguments.
    let span = generated_at(signature.paren_token.span.join());
    let (argument_type, argument_pattern) = match (types.as_slice(), values.as_slice()) {
        ([only], [value]) => (quote!(#only), quote!(#value)),
        _ => (quote_spanned!(span=> (#(#types),*)), quote!((#(#values),*))),
    };
    let device_fn = quote_spanned!(span=> ::furiosa_visa_std::runtime::DeviceFn<#argument_type>);
    let name = &signature.ident;
    let written_name = name.unraw().to_string();
    let turbofish = turbofish(&signature.generics);
    Ok(quote! {
        impl #parameters #device_fn for #type_name #conditions {
            type Output = #output;
            const NAME: &'static str = #written_name;
            const CHIPS: usize = #chips;

            fn execute(
                #argument_pattern: #argument_type
            ) -> impl ::core::future::Future<Output = Self::Output> {
                async move { #name #turbofish (#(#values),*) }
            }
        }
    })
}

/// `::<T, N>`, without lifetimes: those are inferred, and may not be given when the function declares others late.
fn turbofish(generics: &Generics) -> Option<TokenStream> {
    let names: Vec<_> = generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            syn::GenericParam::Type(parameter) => Some(&parameter.ident),
            syn::GenericParam::Const(parameter) => Some(&parameter.ident),
            syn::GenericParam::Lifetime(_) => None,
        })
        .collect();
    (!names.is_empty()).then(|| quote!(::<#(#names),*>))
}

/// Makes the compiler instantiate a kernel that nothing launches, so that its derivations are checked anyway.
///
/// A kernel with type or constant parameters has no single instance to check. The static has a block of its own,
/// where the body of the kernel cannot see its name. The types are left to inference, because a function pointer
/// type cannot be written for every mix of lifetimes.
fn check_when_not_called(signature: &Signature) -> Option<TokenStream> {
    if turbofish(&signature.generics).is_some() {
        return None;
    }
    let name = &signature.ident;
    let arguments = signature.inputs.iter().map(|_: &FnArg| quote!(_));
    Some(quote! {
        const _: () = {
            #[used]
            static CHECK: fn() = || {
                ::core::hint::black_box(#name as fn(#(#arguments),*) -> _);
            };
        };
    })
}

/// Where each attribute of the function goes.
struct Attributes<'a> {
    /// Conditional compilation and lint levels hold for everything generated.
    on_all: Vec<&'a Attribute>,
    /// What readers and callers see.
    on_constant: Vec<&'a Attribute>,
    /// The rest.
    on_function: Vec<&'a Attribute>,
}

impl<'a> Attributes<'a> {
    fn sort(attributes: &'a [Attribute]) -> Self {
        let mut sorted = Self { on_all: Vec::new(), on_constant: Vec::new(), on_function: Vec::new() };
        for attribute in attributes {
            let is_any = |names: &[&str]| names.iter().any(|name| attribute.path().is_ident(name));
            if is_any(&["cfg", "allow", "warn", "deny", "forbid"]) {
                sorted.on_all.push(attribute);
            } else if is_any(&["doc", "deprecated"]) {
                sorted.on_constant.push(attribute);
            } else {
                sorted.on_function.push(attribute);
            }
        }
        sorted
    }
}

#[cfg(test)]
mod tests;
