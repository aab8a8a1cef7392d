//! Mapping expressions: the place of every element of a tensor, as a type.
//!
//! A mapping gives, for every *position* of a dimension, the *coordinates* of the axes there. `m!` writes a mapping as
//! a type; everything about it is known at compile time:
//!
//! ```text
//! axes![A = 3, B = 4];        m![A, B # 5 / …]
//!
//! m![A, B]      position   0  1  2  3 | 4  5  6  7 | 8  9 10 11
//!               A          0  0  0  0 | 1  1  1  1 | 2  2  2  2
//!               B          0  1  2  3 | 0  1  2  3 | 0  1  2  3
//!
//! m![B / 2, A, B % 2]        B / 2 outermost, B % 2 innermost
//!               A          0  0 | 1  1 | 2  2 | 0  0 | 1  1 | 2  2
//!               B          0  1 | 0  1 | 0  1 | 2  3 | 2  3 | 2  3
//!
//! m![A # 4, B = 3]           A padded to 4, B cut to 3
//!               A          0  0  0 | 1  1  1 | 2  2  2 | ·  ·  ·
//!               B          0  1  2 | 0  1  2 | 0  1  2 | ·  ·  ·
//!
//! m![# 2 + B + # 3]          padding positions before and after B
//!               B          ·  ·  0  1  2  3  ·  ·  ·
//! ```
//!
//! | written | positions | position `i` holds |
//! |---|---|---|
//! | `1` | 1 | the element whose coordinates are all 0 |
//! | `A` | size of `A` | coordinate `A: i` |
//! | `e / n` | size / n | the content of `e` at `i * n` |
//! | `e % n` | n | the content of `e` at `i` |
//! | `e = n` | n | the content of `e` at `i` |
//! | `e # n` | n | the content of `e` at `i`; past its end nothing (padding) |
//! | `# l + e + # r` | l + size + r | the content of `e` at `i - l`, otherwise nothing. Either side is optional |
//! | `a, b` | size of `a` x size of `b` | the content of `a` at `i / size of b`, and of `b` at `i % size of b` |
//!
//! # Layers
//!
//! * [`M`] and the constructors ([`Symbol`], [`Stride`], …): mappings as types.
//! * [`Expr`]: the same as a value, in `M::EXPR`. Const code walks it.
//! * [`Factors`]: the normal form. Two mappings are equivalent exactly when their factors are the same
//!   ([`factorize`], [`stride`], [`modulo`], [`resize`], [`pad_to`], [`product`]).
//! * [`divide`]: the places of the digits of one mapping inside another one.
//! * [`Index`]: coordinates of an element.
//! * [`liveness`]: the conditions under which positions of several dimensions hold an element, for commands.
//!
//! # Laws
//!
//! These hold for all mappings, at every position:
//!
//! ```
//! use furiosa_visa_std::mapping::{M, Pool, factorize};
//! use furiosa_visa_std::prelude::*;
//! axes![A = 6, B = 3];
//!
//! /// The same elements at the same positions, and the same normal form.
//! fn equivalent<X: M, Y: M>() -> bool {
//!     let mut pool = Pool::new();
//!     let (x, y) = (factorize(&mut pool, X::EXPR), factorize(&mut pool, Y::EXPR));
//!     X::SIZE == Y::SIZE && (0..X::SIZE).all(|i| X::map(i) == Y::map(i)) && x.is(&y)
//! }
//!
//! // 1. `1` is neutral, and the comma is associative.
//! assert!(equivalent::<m![1, A], m![A]>() && equivalent::<m![A, 1], m![A]>());
//! assert!(equivalent::<m![[A, B], 1 # 2], m![A, [B, 1 # 2]]>());
//! // 2. Outer and inner part together are the whole, padded or not, also across a comma.
//! assert!(equivalent::<m![A / 2, A % 2], m![A]>());
//! assert!(equivalent::<m![A # 8 / 4, A # 8 % 4], m![A # 8]>());
//! assert!(equivalent::<m![[A, B] / 2, [A, B] % 2], m![A, B]>());
//! // 3. A list is cut at its inner axis.
//! assert!(equivalent::<m![[A, B] / 3], m![A]>() && equivalent::<m![[A, B] % 3], m![B]>());
//! // 4. Identity operators have no effect.
//! assert!(equivalent::<m![A / 1], m![A]>() && equivalent::<m![A # 6], m![A]>());
//! assert!(equivalent::<m![A = 6], m![A]>() && equivalent::<m![A % 1], m![1]>());
//! // 5. Paddings join; padding of an outer axis lies outside the inner one.
//! assert!(equivalent::<m![A # 7 # 8], m![A # 8]>());
//! assert!(equivalent::<m![1 # 2, 1 # 3], m![1 # 6]>());
//! assert!(equivalent::<m![A # 8, B], m![[A, B] # 24]>());
//! // 6. Cuts compose.
//! assert!(equivalent::<m![A / 2 / 3], m![A / 6]>() && equivalent::<m![A / 2 % 3], m![A % 6 / 2]>());
//! // 7. Leading padding adds up; trailing padding is as with `#`. A cut counts both; its parts are padding together.
//! assert!(equivalent::<m![# 2 + [# 1 + B + # 3] + # 4], m![# 3 + B + # 7]>());
//! assert!(equivalent::<m![# 2 + B + # 3], m![[# 2 + B] # 8]>() && equivalent::<m![B + # 3], m![B # 6]>());
//! assert!(equivalent::<m![[# 2 + B + # 3] / 4, [# 2 + B + # 3] % 4], m![# 2 + B + # 3]>());
//! // 8. An axis of one coordinate has no effect, but names a composite that holds a single element.
//! axes![U = 1];
//! assert!(equivalent::<m![U, A], m![A]>() && !equivalent::<m![# 2 + U, A], m![A # 18]>());
//! ```
//!
//! # Limits
//!
//! A mapping has at most [`FACTORS`] digits. A tensor may use an axis once; a digit that is used twice has no meaning.
//!
//! A part of a composite with a lead belongs with the other parts: only all parts together decide which positions are
//! padding. A part with a single value left adds nothing, like `e % 1`. A mapping that ends before its first element,
//! `m![[# 2 + B] = 2]`, is refused.
//!
//! Padding positions before a single element need an axis, which distinguishes the composite from others:
//! `m![# 1 + U + # 2]` with `axes![U = 1]`. `m![# 1 + 1]` is refused.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | position | a number below the size of a mapping |
//! | padding | positions without an element, wherever they are |
//! | lead, trail | padding before and after an operand: `# lead + e + # trail`. Messages call both dead positions. [`Margin`] is the constructor of this notation and nothing else |
//! | axis, digit | `A`, and a part of it, `A / 4 % 2` |
//! | composite | axes that are cut as one, `[A, B] / 8`, or content with a lead, `# 2 + B`: digits of it are as those of an axis |
//! | content | the factors of a composite |
//! | atom | an axis or a composite: each term is a digit of one |
//! | factor | a term, or padding: the normal form is a list of them |
//! | piece | a factor with its place, while two mappings are [matched](matched()) |
//! | product | `a, b`: one mapping outside, one inside ([`product`]). Messages call a composite a product that is cut across its axes |

mod constructors;
pub mod digits;
mod division;
mod expr;
mod factor;
pub mod guard;
mod index;
mod liveness;
mod matching;
mod normal;
mod notation;
#[cfg(feature = "parse")]
pub mod parse;
mod shared;
pub mod storage;
mod term;

pub use constructors::UNKNOWN;
#[doc(hidden)]
pub use constructors::{
    AxisName, Identity, M, Margin, Modulo, Padding, Pair, Resize, Stride, Symbol, normal,
};
pub use division::{Division, DivisionTerm, divide};
pub use expr::{Expr, Mapping};
pub use factor::{FACTORS, Factor, Factors, Problem, same_factor, size_of_factors};
pub use guard::{GUARD_DIGITS, GUARD_SUMS, Guard, GuardDigit, GuardMappings, GuardSum};
pub use index::{Index, Invalid};
pub use liveness::{GuardBuilder, guard_of, liveness, liveness_of};
pub use matching::{CutRule, Matched, PIECES, Piece, Pieces, matched};
pub use normal::{
    compare, factorize, factorize_uncut, factors_of, gcd, greatest, least, modulo, pad_to, product, resize,
    stride, strip, stripped_size,
};
pub use notation::{write_factors, write_term};
pub use shared::{mentions, mentions_axis, overlap, repeated};
pub use term::{Atom, Axis, Composite, Ident, POOL, Pool, Term};
