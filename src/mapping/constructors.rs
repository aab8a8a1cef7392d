//! The types that `m![…]` expands to, and the trait they share.

use super::expr::{Expr, Mapping};
use super::factor::{Factors, Problem};
use super::index::Index;
use super::normal::{factorize, modulo, product, resize, stride};
use super::term::{Axis, Ident, Pool};
use crate::text::Text;
use core::fmt::Debug;
use core::marker::PhantomData;

/// An axis: declared by `axes!`.
pub trait AxisName: Debug + Clone + 'static {
    /// The name as declared. A renamed import keeps it.
    const NAME: Ident;
    /// The number of coordinates.
    const SIZE: usize;
}

/// A mapping: from positions to coordinates of axes. Made by `m!`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a mapping",
    note = "write mappings as `m![…]`, for example `m![A / 32, B # 8]`; an axis `A` alone is `m![A]`"
)]
pub trait M: Debug + Clone {
    /// Positions, padding included.
    const SIZE: usize;
    /// The expression.
    const EXPR: &'static Expr;
    /// The normal form, made once for each type from those of its parts. One with a problem where it is not known: of blocks
    /// that live in a pool, and of expressions with a problem.
    #[doc(hidden)]
    const FORM: &'static Factors = UNKNOWN;

    /// The expression as a value.
    fn to_value() -> Mapping {
        *Self::EXPR
    }

    /// The coordinates at a position. `None` for padding and past the end.
    fn map(position: usize) -> Option<Index> {
        Index::at(Self::EXPR, position)
    }
}

/// A normal form that is not known.
pub(crate) const UNKNOWN: &Factors = &Factors::failed(Problem::TooManyFactors);

/// The normal form of an expression from those of its operands.
const fn form(expr: &Expr, [left, right]: [&Factors; 2]) -> Factors {
    if left.problem().is_some() || right.problem().is_some() || expr.size() == 0 {
        return *UNKNOWN;
    }
    let mut pool = Pool::new();
    let mut form = match expr {
        Expr::Identity | Expr::Symbol(_) => factorize(&mut pool, expr),
        Expr::Stride(_, n) => stride(&mut pool, left, *n),
        Expr::Modulo(_, n) => modulo(&mut pool, left, *n),
        Expr::Resize(_, n) => resize(&mut pool, left, *n),
        Expr::Padding(_, n) => {
            let mut form = *left;
            form.push_padding(*n);
            form
        }
        Expr::Margin(_, 0, trail) => {
            let mut form = *left;
            form.push_padding(left.size() + *trail);
            form
        }
        Expr::Margin(..) => return *UNKNOWN,
        Expr::Pair(..) => product(&pool, left, right),
    };
    if pool.holds_any() {
        form = *UNKNOWN;
    }
    form
}

/// The normal form of a mapping type in a pool: as it is known, or made there. An early return with the refusal of a mapping
/// that has none.
macro_rules! normal {
    ($form:expr, $operation:expr, $pool:expr, $expr:expr) => {{
        let form: &$crate::mapping::Factors = $form;
        if form.problem.is_none() {
            *form
        } else {
            $crate::error::attempt!($crate::mapping::factors_of($operation, $pool, $expr))
        }
    }};
}
pub(crate) use normal;

#[track_caller]
const fn size_or_refuse(size: Result<usize, Text>) -> usize {
    match size {
        Ok(size) => size,
        Err(problem) => panic!("{}", problem.as_str()),
    }
}

/// `1`: one position, no coordinates.
#[derive(Debug, Clone)]
pub struct Identity;

impl M for Identity {
    const SIZE: usize = 1;
    const EXPR: &'static Expr = &Expr::Identity;
    const FORM: &'static Factors = &Factors::ONE;
}

/// `X`: every position of an axis.
#[derive(Debug, Clone)]
pub struct Symbol<X>(PhantomData<X>);

impl<X: AxisName> M for Symbol<X> {
    const SIZE: usize = size_or_refuse(Self::EXPR.checked_size());
    const EXPR: &'static Expr = &Expr::Symbol(Axis { name: X::NAME, size: X::SIZE });
    const FORM: &'static Factors = &form(Self::EXPR, [&Factors::ONE; 2]);
}

macro_rules! operator {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name<E, const N: usize>(PhantomData<E>);

        impl<E: M, const N: usize> M for $name<E, N> {
            const SIZE: usize = size_or_refuse(Self::EXPR.checked_step(E::SIZE, N));
            const EXPR: &'static Expr = &Expr::$name(E::EXPR, N);
            const FORM: &'static Factors = &form(Self::EXPR, [E::FORM; 2]);
        }
    };
}

operator! {
    /// `E / N`: every N-th position of `E`. N divides the size of `E`.
    Stride
}
operator! {
    /// `E % N`: the first N positions of a period of `E`. N divides the size of `E`.
    Modulo
}
operator! {
    /// `E = N`: the first N positions of `E`. Past its end there is padding.
    Resize
}
operator! {
    /// `E # N`: `E` padded to N positions.
    Padding
}

/// `# LEAD + E + # TRAIL`: dead positions before and after `E`.
#[derive(Debug, Clone)]
pub struct Margin<E, const LEAD: usize, const TRAIL: usize>(PhantomData<E>);

impl<E: M, const LEAD: usize, const TRAIL: usize> M for Margin<E, LEAD, TRAIL> {
    const SIZE: usize = size_or_refuse(Self::EXPR.checked_margin(E::SIZE, LEAD, TRAIL));
    const EXPR: &'static Expr = &Expr::Margin(E::EXPR, LEAD, TRAIL);
    const FORM: &'static Factors = &form(Self::EXPR, [E::FORM; 2]);
}

/// `L, R`: every position of `L`, and for each of them every position of `R`.
#[derive(Debug, Clone)]
pub struct Pair<L, R>(PhantomData<(L, R)>);

impl<L: M, R: M> M for Pair<L, R> {
    const SIZE: usize = size_or_refuse(Self::EXPR.checked_pair(L::SIZE, R::SIZE));
    const EXPR: &'static Expr = &Expr::Pair(L::EXPR, R::EXPR);
    const FORM: &'static Factors = &form(Self::EXPR, [L::FORM, R::FORM]);
}
