//! `#[device]`: a function to a kernel.

mod options;
pub(crate) mod signature;

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, FnArg, Generics, ReturnType, Safety, Signature, Type, Visibility, parse_quote};

use crate::lifetimes;
use crate::tokens::generated_at;

/// The whole of `#[device]`: the items of the kernel, or the messages in their place.
pub fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    kernel(attribute, item).unwrap_or_else(|error| error.to_compile_error())
}

fn kernel(attribute: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let chips = options::chips(attribute);
    let kernel = parse_kernel(item)?;
    let error = match (chips, signature::check(&kernel.signature)) {
        (Ok(chips), Ok(())) => return generate(&kernel, &chips),
        (Err(error), Ok(())) | (Ok(_), Err(error)) => error,
        (Err(mut error), Err(other)) => {
            error.combine(other);
            error
        }
    };
    let mut tokens = error.to_compile_error();
    tokens.extend(stand_in(kernel));
    Ok(tokens)
}

/// A kernel without a body in the place of a refused one, so that its launches cause no more errors. `None` where what is
/// wrong leaves no signature.
fn stand_in(mut kernel: Kernel) -> Option<TokenStream> {
    let signature = &mut kernel.signature;
    (signature.asyncness, signature.safety, signature.constness) = (None, Safety::Default, None);
    signature.abi = None;
    signature::check(signature).ok()?;
    kernel.attributes.push(parse_quote!(#[allow(unused)]));
    kernel.body = Group::new(Delimiter::Brace, quote!(::core::unreachable!()));
    let (name, type_name) = (&kernel.signature.ident, signature::type_name(&kernel.signature.ident).ok()?);
    let attributes = Attributes::sort(&kernel.attributes);
    let (visibility, on_all) = (&kernel.visibility, &attributes.on_all);
    // Without the check of its tensors: for how many chips it is may be what is missing.
    let function = function(&kernel, &attributes.on_function);
    let header = Header::new(&kernel.signature, &type_name).ok()?;
    let (chips, unknown) = (
        Literal::usize_unsuffixed(1),
        quote!(
            const CHIPS_ARE_KNOWN: bool = false;
        ),
    );
    let implementation = header.implementation(&kernel.signature, &chips, &unknown);
    Some(quote! {
        #(#on_all)*
        #[derive(::core::clone::Clone, ::core::marker::Copy)]
        #visibility struct #type_name;

        #(#on_all)*
        #[allow(non_upper_case_globals)]
        #visibility const #name: #type_name = #type_name;

        #(#on_all)*
        const _: () = {
            #function
            #implementation
        };
    })
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
    let header = Header::new(signature, &type_name)?;
    let implementation = header.implementation(signature, chips, &TokenStream::new());
    let span = generated_at(signature.paren_token.span.join());
    let check_of_chips = header.check_of_chips(chips, span);
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
            const _: () = {
                #check_of_chips
                #check
            };
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

/// `impl<…> DeviceFn<…> for MyKernel where …`, in parts.
struct Header {
    generics: Generics,
    /// `DeviceFn<(…)>`.
    device_fn: TokenStream,
    type_name: Ident,
    argument_type: TokenStream,
    argument_pattern: TokenStream,
    values: Vec<Ident>,
    output: Type,
}

impl Header {
    fn new(signature: &Signature, type_name: &Ident) -> syn::Result<Self> {
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
        let values: Vec<_> =
            (0..types.len()).map(|position| format_ident!("__argument_{position}")).collect();
        // An argument that cannot be sent to the device is reported at the arguments.
        let span = generated_at(signature.paren_token.span.join());
        let (argument_type, argument_pattern) = match (types.as_slice(), values.as_slice()) {
            ([only], [value]) => (quote!(#only), quote!(#value)),
            _ => (quote_spanned!(span=> (#(#types),*)), quote!((#(#values),*))),
        };
        let device_fn = quote_spanned!(span=> ::furiosa_visa_std::runtime::DeviceFn<#argument_type>);
        let type_name = type_name.clone();
        Ok(Self { generics, device_fn, type_name, argument_type, argument_pattern, values, output })
    }

    /// The only `impl` of `DeviceFn`. That there is only one lets `launch` know the types of its arguments, so that
    /// `&mut guard` becomes `&mut Context`. `items` come after the others.
    fn implementation(&self, signature: &Signature, chips: &Literal, items: &TokenStream) -> TokenStream {
        let Self { device_fn, type_name, argument_type, argument_pattern, values, output, .. } = self;
        let (parameters, _, conditions) = self.generics.split_for_impl();
        let name = &signature.ident;
        let written_name = name.unraw().to_string();
        let turbofish = turbofish(&signature.generics);
        quote! {
            impl #parameters #device_fn for #type_name #conditions {
                type Output = #output;
                const NAME: &'static str = #written_name;
                const CHIPS: usize = #chips;

                fn execute(
                    #argument_pattern: #argument_type
                ) -> impl ::core::future::Future<Output = Self::Output> {
                    async move { #name #turbofish (#(#values),*) }
                }
                #items
            }
        }
    }

    /// A function `__chips_agree` that is refused, at the number of chips, where tensors of the signature have another
    /// number. Its types say that the arguments can be sent to the device.
    fn check_of_chips(&self, chips: &Literal, span: Span) -> TokenStream {
        let Self { argument_type, type_name, .. } = self;
        let (parameters, _, conditions) = self.generics.split_for_impl();
        let agree =
            quote_spanned!(span=> ::furiosa_visa_std::runtime::chips_agree::<#type_name, #argument_type>);
        let at_chips = generated_at(chips.span());
        let body = quote_spanned!(at_chips=> const { #agree() });
        // The argument says how long the types live.
        quote! {
            #[allow(dead_code)]
            fn __chips_agree #parameters (_: #argument_type) #conditions { #body }
        }
    }
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
        #[used]
        static CHECK: fn() = || {
            ::core::hint::black_box(__chips_agree as fn(_));
            ::core::hint::black_box(#name as fn(#(#arguments),*) -> _);
        };
    })
}

/// Attributes of the function, by their place in the output.
struct Attributes<'a> {
    /// Conditional compilation and lint levels hold for everything generated.
    on_all: Vec<&'a Attribute>,
    /// Attributes for readers and callers.
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
