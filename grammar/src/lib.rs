//! The grammar of mapping expressions: the text between the brackets of `m![…]`.
//!
//! One parser serves two readers. The macros hand it the tokens of the compiler, with the compiler's spans; tools
//! that read mappings at run time hand it text through [`parse_str`], with byte ranges as spans. Both get the same
//! tree and the same messages.
//!
//! ```text
//! mapping  := member [","] | member "," mapping    "," is right associative and binds loosest
//! member   := [ padding number "+" ] postfix [ "+" padding number ]      dead positions before and after
//! postfix  := atom | postfix operator number       the four operators share one level, left associative
//! operator := "/" | "%" | "=" | padding
//! padding  := "#" | "#" "{*}" | "#" "{!}"          the kinds mean the same
//! atom     := IDENT | "1" | "{" … "}" | "(" mapping ")" | "[" mapping "]"
//! number   := NUMBER | "{" … "}"                   the braces hold a constant
//! NUMBER   := decimal digits, "_" allowed between them
//! ```
//!
//! ```
//! let mapping = furiosa_visa_grammar::parse_str("A / 8, [B, 1] # 16")?;
//! assert_eq!(mapping.to_string(), "A / 8, [B, 1] # 16");
//!
//! let error = furiosa_visa_grammar::parse_str("A * 8").unwrap_err();
//! assert_eq!(error.span, 2..3);
//! # Ok::<(), furiosa_visa_grammar::Error<std::ops::Range<usize>>>(())
//! ```
//!
//! Limits: a mapping has at most [`MAX_TERMS`] operands and nests at most [`MAX_DEPTH`] levels deep. Both limits are
//! far above what a kernel needs; they turn a runaway generator into a message instead of a stack overflow. The
//! parser knows nothing of sizes: whether `A / 3` divides evenly is the business of the mapping algebra.

#![deny(clippy::unwrap_used)]

mod error;
mod mapping;
mod parse;
mod token;
mod tokenize;

pub use error::Error;
pub use mapping::{Mapping, Number, Operator};
pub use parse::{parse, parse_str};
pub use token::{Delimiter, Token, TokenKind};
pub use tokenize::tokenize;

/// The largest number of operands (axes, `1`, `{…}`) in one mapping.
pub const MAX_TERMS: usize = 10_000;

/// The largest nesting depth of one mapping. Each group, each operator and each list is one level.
pub const MAX_DEPTH: usize = 128;
