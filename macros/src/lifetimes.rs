//! Names for the lifetimes that a kernel's signature leaves out.
//!
//! A function may write `&T` and `HbmTensorView<'_, …>`; in the `impl` made from it the same type appears several
//! times and must be the same each time, so every lifetime needs a name there.

use proc_macro2::Span;
use syn::visit_mut::{self, VisitMut};
use syn::{
    AngleBracketedGenericArguments, GenericArgument, Lifetime, ParenthesizedGenericArguments, PathArguments,
    PathSegment, Type, TypeFnPtr, TypeReference,
};

/// Types of the library with a lifetime parameter that a kernel may take. A function signature may leave the
/// lifetime of a path out completely (`HbmTensorView<T, …>`), and nothing but the name shows that it is there.
const TYPES_WITH_LIFETIME: [&str; 2] = ["HbmTensorView", "HbmTensorViewMut"];

/// Names the lifetimes left out in the types of the arguments and gives the new names, in order.
pub fn name_in_arguments<'t>(types: impl Iterator<Item = &'t mut Type>) -> Arguments {
    let mut names = Names { choose: Choose::Fresh, new: Vec::new(), all: Vec::new() };
    for ty in types {
        names.visit_type_mut(ty);
    }
    Arguments { new: names.new, all: names.all }
}

/// The lifetimes in the arguments of a kernel.
pub struct Arguments {
    /// Those that got a new name.
    pub new: Vec<Lifetime>,
    /// All, new and written, one for each appearance.
    all: Vec<Lifetime>,
}

impl Arguments {
    /// Fills in the lifetimes left out in the result, as the compiler does: the result borrows from the only
    /// borrowing argument.
    pub fn name_in_result(&self, result: &mut Type) -> syn::Result<()> {
        let only = match self.all.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        };
        let mut names =
            Names { choose: Choose::Fixed { only, refused: None }, new: Vec::new(), all: Vec::new() };
        names.visit_type_mut(result);
        match names.choose {
            Choose::Fixed { refused: Some(span), .. } => Err(syn::Error::new(
                span,
                "the result of a kernel borrows, and the arguments do not say from which; name the lifetime in the \
                 argument and in the result: `fn k<'a>(…, x: HbmTensorView<'a, …>) -> HbmTensorView<'a, …>`",
            )),
            _ => Ok(()),
        }
    }
}

/// Name for a lifetime that was left out.
enum Choose {
    /// Each one anew.
    Fresh,
    /// All alike; without a candidate, remember where one was needed.
    Fixed { only: Option<Lifetime>, refused: Option<Span> },
}

struct Names {
    choose: Choose,
    new: Vec<Lifetime>,
    all: Vec<Lifetime>,
}

impl Names {
    fn name(&mut self, span: Span) -> Lifetime {
        let lifetime = match &mut self.choose {
            Choose::Fresh => {
                let lifetime = Lifetime::new(&format!("'__argument_{}", self.new.len()), span);
                self.new.push(lifetime.clone());
                lifetime
            }
            Choose::Fixed { only: Some(only), .. } => only.clone(),
            Choose::Fixed { refused, .. } => {
                *refused = Some(span);
                Lifetime::new("'_", span)
            }
        };
        self.all.push(lifetime.clone());
        lifetime
    }
}

impl VisitMut for Names {
    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        match &mut reference.lifetime {
            Some(lifetime) => self.visit_lifetime_mut(lifetime),
            None => reference.lifetime = Some(self.name(reference.and_token.span)),
        }
        self.visit_type_mut(&mut reference.elem);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = self.name(lifetime.span());
        } else {
            self.all.push(lifetime.clone());
        }
    }

    fn visit_path_segment_mut(&mut self, segment: &mut PathSegment) {
        let known = TYPES_WITH_LIFETIME.iter().any(|name| segment.ident == name);
        if known && let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
            self.add_lifetime(segment.ident.span(), arguments);
        }
        visit_mut::visit_path_segment_mut(self, segment);
    }

    // Lifetimes left out in a function type or in `Fn(&T)` belong to that type, not to the kernel.
    fn visit_type_fn_ptr_mut(&mut self, _: &mut TypeFnPtr) {}
    fn visit_parenthesized_generic_arguments_mut(&mut self, _: &mut ParenthesizedGenericArguments) {}
}

impl Names {
    /// Inserts `'_` as the first argument unless a lifetime is written; the ordinary visit then names it.
    fn add_lifetime(&mut self, span: Span, arguments: &mut AngleBracketedGenericArguments) {
        let written = arguments.args.iter().any(|argument| matches!(argument, GenericArgument::Lifetime(_)));
        if !written {
            arguments.args.insert(0, GenericArgument::Lifetime(Lifetime::new("'_", span)));
        }
    }
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;
    use syn::parse_quote;

    use super::*;

    #[track_caller]
    fn named(mut types: Vec<Type>, expected: Vec<Type>) -> Arguments {
        let arguments = name_in_arguments(types.iter_mut());
        let text =
            |types: &[Type]| types.iter().map(|ty| ty.to_token_stream().to_string()).collect::<Vec<_>>();
        assert_eq!(text(&types), text(&expected));
        arguments
    }

    #[test]
    fn every_lifetime_left_out_gets_its_own_name() {
        let arguments = named(
            vec![
                parse_quote!(&mut Context),
                parse_quote!(&'a HbmTensor<i8, m![1], m![A]>),
                parse_quote!(HbmTensorView<'_, i8, m![1], m![A]>),
                parse_quote!(visa::HbmTensorViewMut<i8, m![1], m![A]>),
                parse_quote!(&&T),
                parse_quote!(HbmTensorView<'b, i8, m![1], m![A]>),
                parse_quote!(usize),
            ],
            vec![
                parse_quote!(&'__argument_0 mut Context),
                parse_quote!(&'a HbmTensor<i8, m![1], m![A]>),
                parse_quote!(HbmTensorView<'__argument_1, i8, m![1], m![A]>),
                parse_quote!(visa::HbmTensorViewMut<'__argument_2, i8, m![1], m![A]>),
                parse_quote!(&'__argument_3 &'__argument_4 T),
                parse_quote!(HbmTensorView<'b, i8, m![1], m![A]>),
                parse_quote!(usize),
            ],
        );
        assert_eq!(arguments.new.len(), 5);
        assert_eq!(arguments.all.len(), 7);
    }

    #[test]
    fn function_types_keep_their_own_lifetimes() {
        let types = || vec![parse_quote!(fn(&A) -> &B), parse_quote!(PhantomData<dyn Fn(&A)>)];
        assert!(named(types(), types()).new.is_empty());
    }

    #[test]
    fn a_result_borrows_from_the_only_lifetime() {
        let arguments = named(vec![parse_quote!(&A)], vec![parse_quote!(&'__argument_0 A)]);
        let mut result: Type = parse_quote!(HbmTensorView<i8, m![1], m![A]>);
        arguments.name_in_result(&mut result).unwrap();
        let expected: Type = parse_quote!(HbmTensorView<'__argument_0, i8, m![1], m![A]>);
        assert_eq!(result.to_token_stream().to_string(), expected.to_token_stream().to_string());
    }

    #[test]
    fn a_result_with_several_candidates_is_refused() {
        let arguments = name_in_arguments([parse_quote!(&A), parse_quote!(&'a B)].iter_mut());
        assert!(arguments.name_in_result(&mut parse_quote!(&C)).is_err());
        assert!(arguments.name_in_result(&mut parse_quote!(&'a C)).is_ok());
        assert!(name_in_arguments([].iter_mut()).name_in_result(&mut parse_quote!(View<'_>)).is_err());
    }
}
