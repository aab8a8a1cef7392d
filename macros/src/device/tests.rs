use super::*;

#[track_caller]
fn expansion(item: TokenStream) -> String {
    let output = expand(quote!(chip = 2), item).to_string();
    assert!(!output.contains("compile_error"), "{output}");
    assert!(syn::parse_str::<syn::File>(&output).is_ok(), "{output}");
    output
}

#[track_caller]
fn contains(output: &str, part: TokenStream) {
    assert!(output.contains(&part.to_string()), "{part}\nis not in\n{output}");
}

#[track_caller]
fn rejects(attribute: TokenStream, item: TokenStream, part: &str) {
    let output = expand(attribute, item).to_string();
    assert!(output.contains("compile_error") && output.contains(part), "{output}");
}

#[test]
fn a_whole_kernel() {
    let output = expansion(quote! {
        /// Adds one.
        pub fn add_one(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) -> HbmTensor<i8, m![1], m![A]> { body(ctx, x) }
    });
    let expected = quote! {
        #[doc = " The type of the kernel `add_one`, for `launch`."]
        #[allow(dead_code)]
        #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
        pub struct AddOne;

        #[doc = r" Adds one."]
        #[allow(non_upper_case_globals)]
        pub const add_one: AddOne = AddOne;

        #[doc(hidden)]
        #[allow(non_local_definitions)]
        const _: () = {
            #[allow(clippy::too_many_arguments)]
            fn add_one(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) -> HbmTensor<i8, m![1], m![A]> { body(ctx, x) }

            impl<'__argument_0, '__argument_1> ::furiosa_visa_std::runtime::DeviceFn<(
                &'__argument_0 mut Context,
                &'__argument_1 HbmTensor<i8, m![1], m![A]>
            )> for AddOne {
                type Output = HbmTensor<i8, m![1], m![A]>;
                const NAME: &'static str = "add_one";
                const CHIPS: usize = 2;

                fn execute(
                    (__argument_0, __argument_1): (
                        &'__argument_0 mut Context,
                        &'__argument_1 HbmTensor<i8, m![1], m![A]>
                    )
                ) -> impl ::core::future::Future<Output = Self::Output> {
                    async move { add_one(__argument_0, __argument_1) }
                }
            }

            const _: () = {
                #[allow(dead_code)]
                fn __chips_agree<'__argument_0, '__argument_1>(_: (
                    &'__argument_0 mut Context,
                    &'__argument_1 HbmTensor<i8, m![1], m![A]>
                )) {
                    const {
                        ::furiosa_visa_std::runtime::chips_agree::<AddOne, (
                            &'__argument_0 mut Context,
                            &'__argument_1 HbmTensor<i8, m![1], m![A]>
                        )>()
                    }
                }
                #[used]
                static CHECK: fn() = || {
                    ::core::hint::black_box(__chips_agree as fn(_));
                    ::core::hint::black_box(add_one as fn(_, _) -> _);
                };
            };
        };
    };
    // A parsed file is printed in one way: `>>` and `> >` are the same.
    let printed = |text: &str| {
        let file: syn::File = syn::parse_str(text).expect("the expansion is Rust");
        quote!(#file).to_string()
    };
    assert_eq!(printed(&output), printed(&expected.to_string()));
}

#[test]
fn few_arguments() {
    let none = expansion(quote!(
        fn k() {}
    ));
    contains(&none, quote!(::furiosa_visa_std::runtime::DeviceFn<()> for K));
    contains(
        &none,
        quote!(
            type Output = ();
        ),
    );
    contains(&none, quote!(k as fn() -> _));

    let one = expansion(quote!(
        fn k(x: usize) {}
    ));
    contains(&one, quote!(::furiosa_visa_std::runtime::DeviceFn<usize> for K));
    contains(&one, quote!((__argument_0: usize)));
}

#[test]
fn bodies_of_macro_rules() {
    let plain = expansion(quote!(
        fn k(x: usize) {
            x;
        }
    ));
    let body = Group::new(
        Delimiter::None,
        quote!({
            x;
        }),
    );
    assert_eq!(expansion(quote!(fn k(x: usize) #body)), plain);
}

#[test]
fn visibility_is_kept() {
    let output = expansion(quote!(
        pub(crate) fn k() {}
    ));
    contains(
        &output,
        quote!(
            pub(crate) struct K;
        ),
    );
    contains(
        &output,
        quote!(
            pub(crate) const k: K = K;
        ),
    );
    assert!(
        !expansion(quote!(
            fn k() {}
        ))
        .contains("pub")
    );
}

#[test]
fn generic_kernels() {
    let output = expansion(quote! {
        fn k<'a, T: M, const N: usize>(x: &'a mut Tensor<T, N>, y: View<'_, T>) -> u8 where T: Copy { 1 }
    });
    contains(
        &output,
        quote!(
            impl<'__argument_0, 'a, T: M, const N: usize>
                ::furiosa_visa_std::runtime::DeviceFn<(&'a mut Tensor<T, N>, View<'__argument_0, T>)> for K
            where T: Copy
        ),
    );
    contains(&output, quote!(k::<T, N>(__argument_0, __argument_1)));
    assert!(!output.contains("[used]"), "{output}");
    // Lifetimes alone leave one instance to check.
    assert!(
        expansion(quote!(
            fn k<'a>(x: &'a u8) {}
        ))
        .contains("[used]")
    );
}

#[test]
fn attributes_go_where_they_belong() {
    let output = expansion(quote! {
        #[doc = " Text."]
        #[cfg(test)]
        #[allow(unused_variables)]
        #[inline(never)]
        #[deprecated]
        fn k(x: u8) {}
    });
    assert_eq!(output.matches(&quote!(#[cfg(test)] #[allow(unused_variables)]).to_string()).count(), 3);
    contains(&output, quote!(#[doc = " Text."] #[deprecated] #[allow(non_upper_case_globals)] const k));
    contains(&output, quote!(#[inline(never)] #[allow(clippy::too_many_arguments)] fn k));
}

#[test]
fn what_is_no_kernel() {
    let chip = || quote!(chip = 1);
    for item in [
        quote!(
            struct K;
        ),
        quote!(
            pub const K: u8 = 1;
        ),
        quote!(impl K {}),
        quote!(
            mod k {}
        ),
    ] {
        rejects(chip(), item, "#[device] can only be applied to functions");
    }
    rejects(
        chip(),
        quote!(
            fn k();
        ),
        "a kernel needs a body",
    );
    rejects(
        chip(),
        quote!(
            async fn k() {}
        ),
        "a kernel is not `async`",
    );
    rejects(
        chip(),
        quote!(
            fn U() {}
        ),
        "write the function in snake case",
    );
    rejects(
        chip(),
        quote!(
            fn k(x: &A, y: &A) -> &A {
                x
            }
        ),
        "name the lifetime",
    );
    rejects(
        quote!(),
        quote!(
            fn k() {}
        ),
        "write `#[device(chip = 1)]`",
    );
    // Both the attribute and the signature are reported.
    rejects(
        quote!(chip = 0),
        quote!(
            async fn k() {}
        ),
        "at least one chip",
    );
    rejects(
        quote!(chip = 0),
        quote!(
            async fn k() {}
        ),
        "a kernel is not `async`",
    );
}

/// A launch of a refused kernel finds its name, its arguments and its result.
#[test]
fn a_refused_kernel_leaves_its_signature() {
    let output = expand(
        quote!(chip = 1),
        quote!(
            async fn k(x: usize) -> u8 {
                x.await
            }
        ),
    );
    let output = output.to_string();
    assert!(output.contains("compile_error"), "{output}");
    contains(
        &output,
        quote!(
            fn k(x: usize) -> u8 {
                ::core::unreachable!()
            }
        ),
    );
    contains(&output, quote!(::furiosa_visa_std::runtime::DeviceFn<usize> for K));
    contains(
        &output,
        quote!(
            const k: K = K;
        ),
    );
    assert!(!output.contains("x . await"), "{output}");
    let without_chips = expand(
        quote!(),
        quote!(
            fn k() {}
        ),
    )
    .to_string();
    contains(
        &without_chips,
        quote!(
            const k: K = K;
        ),
    );
    // Nothing can be launched with such a signature.
    let generic = expand(
        quote!(chip = 1),
        quote!(
            fn k(x: impl M) {}
        ),
    )
    .to_string();
    assert!(generic.contains("compile_error") && !generic.contains("struct"), "{generic}");
}
