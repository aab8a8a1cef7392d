//! Mapping expressions: where every element of a tensor lives, as a type.

mod constructors;
mod division;
mod expr;
mod factor;
mod index;
mod liveness;
mod normal;
mod notation;
mod pieces;

pub use constructors::{AxisName, Identity, M, Modulo, Padding, Pair, Resize, Stride, Symbol};
pub use division::{Bounds, Division, DivisionError, DivisionMode, DivisionTerm, divide, is_resize_of};
pub use expr::{Expr, Mapping};
pub use factor::{
    Atom, Axis, Composite, FACTORS, Factor, Factors, Ident, POOL, PaddingKind, Pool, Problem, Term,
};
pub use factor::{same_factor, size_of_factors};
pub use index::{Index, Invalid};
pub use liveness::{GuardBuilder, liveness};
pub use normal::{factorize, gcd, modulo, pad_to, product, resize, stride, strip};
pub use notation::{write_factors, write_term};
pub(crate) use pieces::{CutRule, Matched, PIECES, Pieces, matched};
