//! The macros of `furiosa-visa-std`: [`axes!`], [`m!`], [`i!`] and [`#[device]`](macro@device).
//!
//! Use them through the prelude of `furiosa_visa_std`. Everything they generate names the library by the absolute
//! path `::furiosa_visa_std`, so no name in the user's code can change its meaning: an axis may be called `M`, and
//! an axis may be imported under another name.
//!
//! Each macro is a function from tokens to tokens in its own module, tested there; this file only connects them to
//! the compiler.

#![deny(clippy::unwrap_used)]

mod axes;
mod device;
mod index;
mod later;
mod lifetimes;
mod mapping;
mod tokens;

use proc_macro::TokenStream;

/// Declares axes: `axes![Name = size, …]`.
///
/// Each entry becomes a `pub struct Name;` that implements `AxisName`. The size is an integer literal of at least 1;
/// the name starts with an ASCII upper-case letter and continues with ASCII letters, digits and `_`. Doc comments
/// before an entry are kept. Works at module level and inside function bodies.
///
/// ```text
/// axes![Batch = 16, H = 32, W = 32];
/// ```
///
/// # Errors
///
/// Refused with a message at the offending token: a size that is zero, not a literal, or beyond `usize`; a name
/// outside the rule above; one name twice in the same `axes!`.
#[proc_macro]
pub fn axes(input: TokenStream) -> TokenStream {
    axes::expand(input.into()).into()
}

/// Writes a mapping as a type.
///
/// | form | type | meaning |
/// |---|---|---|
/// | `1` | `Identity` | one position |
/// | `X` | `Symbol<X>` | the axis `X` |
/// | `e / n` | `Stride<e, n>` | every n-th position |
/// | `e % n` | `Modulo<e, n>` | the first n positions of a period |
/// | `e = n` | `Resize<e, n>` | truncation |
/// | `e # n` | `Padding<e, n>` | padding to n positions |
/// | `a, b, c` | `Pair<a, Pair<b, c>>` | a outermost |
/// | `{ T }` | `T` | a type that is itself a mapping, such as a type parameter |
/// | `e / { N }` | `Stride<e, { N }>` | a constant, also as a const parameter of the function, for any number |
/// | `e #{*} n`, `e #{!} n` | `Padding<e, n>` | kinds of padding: the same as `e # n` |
/// | `( )`, `[ ]` | | grouping |
///
/// The operators share one level and associate to the left: `P # 16 / 2` is `(P # 16) / 2`. A list may end in a comma.
///
/// ```text
/// type Slice = m![H / 4 # 256];
/// let size = <m![H, W]>::SIZE;
/// fn rows<const ROWS: usize>() -> usize { <m![H % 60 = { ROWS }, W]>::SIZE }
/// ```
///
/// # Errors
///
/// Text outside the grammar is refused at the offending token, and so is `#{0}`: no mapping says what lies in padding. Whether sizes fit (does 3 divide `H`?) is decided
/// when the type is used.
#[proc_macro]
pub fn m(input: TokenStream) -> TokenStream {
    mapping::expand(input.into()).into()
}

/// Builds an `Index`: `i![mapping: position, …]`.
///
/// The mapping is written as in [`m!`], so `i![A, B: 5]` is position 5 of the pair. A position is an expression of
/// type `usize` and ends at the next `,`; put an expression with a comma of its own, as in `f::<A, B>()`, in
/// parentheses. `i![]` is the empty index.
///
/// ```text
/// let index = i![H: row, W: column + 1];
/// ```
///
/// # Errors
///
/// A missing `:` or position, and every error of [`m!`].
#[proc_macro]
pub fn i(input: TokenStream) -> TokenStream {
    index::expand(input.into()).into()
}

/// Makes a function a kernel: `#[device(chip = n)]` before a free function.
///
/// For `fn my_kernel(…)` this generates the type `MyKernel`, which implements `DeviceFn`, and the constant
/// `my_kernel` of that type, both as visible as the function. `launch(my_kernel, (arguments…))` runs it. `chip` is
/// the number of chips the kernel is written for.
///
/// A kernel without type and constant parameters is compiled, and so checked, even when nothing launches it.
///
/// ```text
/// #[device(chip = 1)]
/// pub fn my_kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![H]>, y: &mut HbmTensor<i8, m![1], m![H]>) { … }
/// ```
///
/// # Errors
///
/// Refused: anything but a free function; `async`, `unsafe`, `const`, `extern` functions; `impl Trait` in the
/// signature; a missing or zero `chip`; a type parameter that no argument determines; more than 23 arguments; a name
/// that is not in snake case, because type and constant would collide.
#[proc_macro_attribute]
pub fn device(attribute: TokenStream, item: TokenStream) -> TokenStream {
    device::expand(attribute.into(), item.into()).into()
}

/// [`axes!`] for `furiosa-opt-std`.
#[doc(hidden)]
#[proc_macro]
pub fn opt_axes(input: TokenStream) -> TokenStream {
    later::rooted(axes::expand(input.into())).into()
}

/// [`m!`] for `furiosa-opt-std`.
#[doc(hidden)]
#[proc_macro]
pub fn opt_m(input: TokenStream) -> TokenStream {
    later::rooted(mapping::expand(input.into())).into()
}

/// [`i!`] for `furiosa-opt-std`.
#[doc(hidden)]
#[proc_macro]
pub fn opt_i(input: TokenStream) -> TokenStream {
    later::rooted(index::expand(input.into())).into()
}

/// [`#[device]`](macro@device) for `furiosa-opt-std`: `chip` is 1 and `pe` is 8 where they are not given.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn opt_device(attribute: TokenStream, item: TokenStream) -> TokenStream {
    later::kernel(attribute.into(), item.into()).into()
}

/// Lets a struct go into and out of kernels, if all of its fields do.
#[doc(hidden)]
#[proc_macro_derive(DeviceSend)]
pub fn opt_device_send(item: TokenStream) -> TokenStream {
    later::derive_device_send(item.into()).into()
}
