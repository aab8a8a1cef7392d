//! Rules for the signature of a kernel.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::visit_mut::{self, VisitMut};
use syn::{FnArg, GenericParam, Safety, Signature, Type};

/// `launch` takes its arguments as one tuple; the longest one that can be sent to the device has this many members.
const MAX_ARGUMENTS: usize = 23;

/// Refuses what cannot be a kernel.
pub fn check(signature: &Signature) -> syn::Result<()> {
    let mut errors = Vec::new();
    let mut refuse = |tokens: &dyn ToTokens, message: &str| {
        errors.push(syn::Error::new_spanned(tokens.to_token_stream(), message));
    };
    if let Some(keyword) = &signature.asyncness {
        let message = "a kernel is not `async`: the device runs it from start to end; remove `async`, and await \
                       `launch(…)` instead";
        refuse(keyword, message);
    }
    if let Safety::Unsafe(keyword) = &signature.safety {
        let message = "a kernel is not `unsafe`, because `launch` is safe; remove `unsafe` here and use `unsafe { … }` \
                       in the body";
        refuse(keyword, message);
    }
    if let Some(keyword) = &signature.constness {
        refuse(keyword, "a kernel is not `const`; remove `const`");
    }
    if let Some(abi) = &signature.abi {
        refuse(abi, "a kernel is an ordinary Rust function; remove `extern`");
    }
    if let Some(variadic) = &signature.variadic {
        refuse(variadic, "a kernel has a fixed number of arguments; remove `...`");
    }
    if let Some(receiver) = signature.receiver() {
        let message = "#[device] can only be applied to free functions, and `self` makes this a method; move it out of \
                       the `impl` and pass what it needs as arguments";
        refuse(receiver, message);
    }
    if signature.inputs.len() > MAX_ARGUMENTS {
        let message = format!(
            "the kernel has {} arguments; `launch` passes at most {MAX_ARGUMENTS}, combine some tensors into one",
            signature.inputs.len()
        );
        refuse(&signature.inputs, &message);
    }
    for input in &signature.inputs {
        let (FnArg::Receiver(syn::Receiver { attrs, .. }) | FnArg::Typed(syn::PatType { attrs, .. })) = input;
        for attribute in attrs {
            if attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr") {
                refuse(
                    attribute,
                    "an argument of a kernel is not conditional; put `#[cfg(…)]` on the whole kernel",
                );
            }
        }
    }
    let mut impl_traits = ImplTraits::default();
    impl_traits.visit_signature_mut(&mut signature.clone());
    for found in impl_traits.0 {
        let message = "`impl Trait` in the signature of a kernel has no name to implement for; declare a type \
                       parameter, `fn k<T: Trait>(…)`, or write the type";
        refuse(&found, message);
    }
    for parameter in undetermined(signature) {
        let message = format!(
            "the parameter `{parameter}` appears in no type of an argument, so `launch` cannot know it; use it in the \
             type of an argument or remove it"
        );
        refuse(parameter, &message);
    }
    errors
        .into_iter()
        .reduce(|mut all, error| {
            all.combine(error);
            all
        })
        .map_or(Ok(()), Err)
}

/// The types of the arguments, in order.
pub fn argument_types(signature: &Signature) -> syn::Result<Vec<Type>> {
    signature
        .inputs
        .iter()
        .map(|input| match input {
            FnArg::Typed(typed) => Ok((*typed.ty).clone()),
            FnArg::Receiver(receiver) => Err(syn::Error::new_spanned(receiver, "a kernel is not a method")),
        })
        .collect()
}

/// The name of the kernel's type: `my_kernel` becomes `MyKernel`.
pub fn type_name(function: &Ident) -> syn::Result<Ident> {
    let name = function.unraw().to_string();
    let mut camel = String::with_capacity(name.len());
    for word in name.split('_') {
        let mut characters = word.chars();
        camel.extend(characters.next().into_iter().flat_map(char::to_uppercase));
        camel.push_str(characters.as_str());
    }
    if camel == name {
        let message = format!(
            "the kernel `{name}` and its generated type would have the same name; write the function in snake case, \
             for example `{}`",
            snake(&name)
        );
        return Err(syn::Error::new(function.span(), message));
    }
    syn::parse_str::<Ident>(&camel).map(|_| Ident::new(&camel, function.span())).map_err(|_| {
        let message = format!(
            "the type of the kernel `{name}` would be called `{camel}`; start the name with a letter"
        );
        syn::Error::new(function.span(), message)
    })
}

/// `MyKernel` as `my_kernel`, for the suggestion above.
fn snake(name: &str) -> String {
    let mut output = String::with_capacity(name.len() + 4);
    let mut after_lower = false;
    for character in name.chars() {
        if character.is_uppercase() && after_lower {
            output.push('_');
        }
        after_lower = !character.is_uppercase();
        output.extend(character.to_lowercase());
    }
    output
}

/// Type and constant parameters that no argument mentions.
///
/// A mention inside `m![{ T }]` counts, and so does one in a bound such as `I: Iterator<Item = T>`, which determines
/// `T` when `I` is known. What is left over for the compiler is rare.
fn undetermined(signature: &Signature) -> Vec<&Ident> {
    let mut mentioned = Mentions::default();
    signature.inputs.iter().for_each(|input| match input {
        FnArg::Typed(typed) => mentioned.add(typed.ty.to_token_stream()),
        FnArg::Receiver(receiver) => mentioned.add(receiver.to_token_stream()),
    });
    mentioned.visit_generics_mut(&mut signature.generics.clone());
    let names = signature.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(parameter) => Some(&parameter.ident),
        GenericParam::Const(parameter) => Some(&parameter.ident),
        GenericParam::Lifetime(_) => None,
    });
    names.filter(|name| !mentioned.0.contains(name)).collect()
}

#[derive(Default)]
struct Mentions(std::collections::HashSet<Ident>);

impl Mentions {
    fn add(&mut self, tokens: TokenStream) {
        for tree in tokens {
            match tree {
                TokenTree::Ident(ident) => {
                    self.0.insert(ident);
                }
                TokenTree::Group(group) => self.add(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

impl VisitMut for Mentions {
    fn visit_assoc_type_mut(&mut self, binding: &mut syn::AssocType) {
        self.add(binding.ty.to_token_stream());
    }
}

/// Every `impl Trait` of a signature.
#[derive(Default)]
struct ImplTraits(Vec<syn::TypeImplTrait>);

impl VisitMut for ImplTraits {
    fn visit_type_impl_trait_mut(&mut self, found: &mut syn::TypeImplTrait) {
        self.0.push(found.clone());
        visit_mut::visit_type_impl_trait_mut(self, found);
    }
}

#[cfg(test)]
mod tests {
    use quote::{format_ident, quote};

    use super::*;

    #[track_caller]
    fn rejects(signature: TokenStream, part: &str) {
        let signature = syn::parse2::<Signature>(signature).unwrap();
        let message = check(&signature).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }

    #[track_caller]
    fn accepts(signature: TokenStream) {
        check(&syn::parse2(signature).unwrap()).unwrap();
    }

    #[test]
    fn qualifiers_are_refused() {
        rejects(quote!(async fn k()), "a kernel is not `async`");
        rejects(quote!(unsafe fn k()), "a kernel is not `unsafe`");
        rejects(quote!(const fn k()), "a kernel is not `const`");
        rejects(quote!(extern "C" fn k()), "remove `extern`");
        rejects(quote!(fn k(&self)), "`self` makes this a method");
        rejects(quote!(fn k(self: Pin<&mut Self>, x: u8)), "`self` makes this a method");
        rejects(quote!(fn k(#[cfg(test)] x: u8)), "an argument of a kernel is not conditional");
        rejects(quote!(fn k(x: impl M)), "`impl Trait` in the signature");
        rejects(quote!(fn k() -> impl M), "`impl Trait` in the signature");
        accepts(quote!(fn k(#[allow(unused)] mut x: u8, (a, b): (u8, u8))));
    }

    #[test]
    fn several_problems_are_all_told() {
        let signature = syn::parse2(quote!(async unsafe fn k(&self))).unwrap();
        assert_eq!(check(&signature).unwrap_err().into_iter().count(), 3);
    }

    #[test]
    fn the_number_of_arguments_is_limited() {
        let with = |count: usize| {
            let names = (0..count).map(|position| format_ident!("x{position}"));
            quote!(fn k(#(#names: &A),*))
        };
        accepts(with(0));
        accepts(with(23));
        rejects(with(24), "the kernel has 24 arguments; `launch` passes at most 23");
    }

    #[test]
    fn parameters_must_be_determined_by_arguments() {
        accepts(
            quote!(fn k<'a, T: M, const N: usize>(x: &'a HbmTensor<i8, m![1], m![{ T }, A]>, y: Array<N>)),
        );
        accepts(quote!(fn k<I, T>(x: I) where I: Iterator<Item = T>));
        rejects(quote!(fn k<T: M>(x: u8) -> T), "the parameter `T` appears in no type of an argument");
        rejects(quote!(fn k<const N: usize>(n: u8)), "the parameter `N` appears in no type");
        rejects(quote!(fn k<T>(x: u8) where T: M), "the parameter `T` appears in no type");
    }

    #[test]
    fn names_of_types() {
        let name = |text: &str| type_name(&syn::parse_str(text).unwrap()).map(|name| name.to_string());
        for (function, expected) in [
            ("my_kernel", "MyKernel"),
            ("u", "U"),
            ("r#match", "Match"),
            ("matmul_4x4_bf16", "Matmul4x4Bf16"),
            ("_private", "Private"),
            ("two__bars_", "TwoBars"),
            ("my_Kernel", "MyKernel"),
        ] {
            assert_eq!(name(function).unwrap(), expected);
        }
        for (function, part) in [
            ("U", "write the function in snake case, for example `u`"),
            ("MyKernel", "for example `my_kernel`"),
            ("_1", "would be called `1`; start the name with a letter"),
            ("__", "start the name with a letter"),
            ("self_", "start the name with a letter"),
        ] {
            let message = name(function).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
