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
    /// Normal form, made once per type from the normal forms of its parts. It holds a problem if it is not known: for
    /// composites, which live in a pool, and for expressions with a problem.
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

/// Placeholder for a normal form that is not known.
pub const UNKNOWN: &Factors = &Factors::failed(Problem::TooManyFactors);

/// Computes the normal form of an expression from the normal forms of its operands.
const fn form(expr: &Expr, [left, right]: [&Factors; 2]) -> Factors {
    if !matches!((&left.problem, &right.problem), (None, None)) || expr.size_over(left.size, right.size) == 0
    {
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

/// The normal form of a mapping type in a pool: `$form` if it is known, otherwise made in `$pool`. Returns early with
/// the refusal of a mapping that has no normal form.
#[doc(hidden)]
#[macro_export]
macro_rules! normal {
    ($form:expr, $operation:expr, $pool:expr, $expr:expr) => {{
        let form: &$crate::mapping::Factors = $form;
        match form.problem {
            None => *form,
            Some(_) => $crate::error::attempt!($crate::mapping::factors_of($operation, $pool, $expr)),
        }
    }};
}
#[doc(hidden)]
pub use normal;

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
    const EXPR: &'static Expr = kept!(Expr::Symbol(Axis { name: X::NAME, size: X::SIZE }));
    const FORM: &'static Factors = kept!(form(Self::EXPR, [&Factors::ONE; 2]));
}

macro_rules! operator {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name<E, const N: usize>(PhantomData<E>);

        impl<E: M, const N: usize> M for $name<E, N> {
            const SIZE: usize = size_or_refuse(Self::EXPR.checked_step(E::SIZE, N));
            const EXPR: &'static Expr = kept!(Expr::$name(E::EXPR, N));
            const FORM: &'static Factors = kept!(form(Self::EXPR, [E::FORM; 2]));
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
    /// `E = N`: the first N positions of `E`. Positions past the end of `E` are padding.
    Resize
}
operator! {
    /// `E # N`: `E` padded to N positions.
    Padding
}

/// `# LEAD + E + # TRAIL`: padding positions before and after `E`.
#[derive(Debug, Clone)]
pub struct Margin<E, const LEAD: usize, const TRAIL: usize>(PhantomData<E>);

impl<E: M, const LEAD: usize, const TRAIL: usize> M for Margin<E, LEAD, TRAIL> {
    const SIZE: usize = size_or_refuse(Self::EXPR.checked_margin(E::SIZE, LEAD, TRAIL));
    const EXPR: &'static Expr = kept!(Expr::Margin(E::EXPR, LEAD, TRAIL));
    const FORM: &'static Factors = kept!(form(Self::EXPR, [E::FORM; 2]));
}

/// `L, R`: every position of `L`, and for each of them every position of `R`.
#[derive(Debug, Clone)]
pub struct Pair<L, R>(PhantomData<(L, R)>);

impl<L: M, R: M> M for Pair<L, R> {
    const SIZE: usize = size_or_refuse(Self::EXPR.checked_pair(L::SIZE, R::SIZE));
    const EXPR: &'static Expr = kept!(Expr::Pair(L::EXPR, R::EXPR));
    const FORM: &'static Factors = kept!(form(Self::EXPR, [L::FORM, R::FORM]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{axes, m};

    axes![A = 24, B = 10, C = 7, U = 1];

    /// True if the normal form of the type is known. It then equals the form that is factorized from the expression.
    #[track_caller]
    fn is_known<X: M>() -> bool {
        let mut pool = Pool::new();
        let expected = factorize(&mut pool, X::EXPR);
        let known = X::FORM.problem().is_none();
        assert!(!known || X::FORM.is(&expected) && X::FORM.size() == X::SIZE, "{}", X::EXPR);
        // A known form needs no pool.
        assert_eq!(known, !pool.holds_any(), "{}", X::EXPR);
        known
    }

    #[test]
    fn forms_are_those_of_the_expressions() {
        assert!(is_known::<m![1]>() && is_known::<m![U]>() && is_known::<m![A]>());
        assert!(is_known::<m![A / 6]>() && is_known::<m![A % 6]>() && is_known::<m![A / 2 % 3]>());
        assert!(is_known::<m![A / 6, A % 6]>() && is_known::<m![A % 6, B, A / 6]>());
        assert!(is_known::<m![B # 12]>() && is_known::<m![B # 12 / 4, C # 8, B # 12 % 4]>());
        assert!(is_known::<m![1 # 2, B = 3]>() && is_known::<m![B = 12, U # 4]>());
        assert!(is_known::<m![[A, C] / 7]>() && is_known::<m![[A, C # 8] % 16]>());
        assert!(is_known::<m![B + # 2]>() && is_known::<m![A, U, B + # 2]>());
    }

    #[test]
    fn forms_with_blocks_are_made_where_their_pool_is() {
        assert!(!is_known::<m![[A, C] / 2]>() && !is_known::<m![[A, C] % 8, B]>());
        assert!(!is_known::<m![# 2 + B]>() && !is_known::<m![A, # 1 + [B, C] + # 3]>());
        assert!(!is_known::<m![[A, B] = 15]>());
    }

    #[test]
    fn expressions_with_a_problem_have_no_form() {
        let huge = Expr::Symbol(Axis { name: Ident::new("H"), size: usize::MAX });
        let huge: &'static Expr = Box::leak(Box::new(huge));
        let operand = factorize(&mut Pool::new(), huge);
        assert!(operand.problem().is_none(), "the expressions are wrong, and not their operand");
        for wrong in
            [Expr::Stride(huge, 2), Expr::Modulo(huge, 0), Expr::Padding(huge, 1), Expr::Pair(huge, huge)]
        {
            assert!(form(&wrong, [&operand; 2]).problem().is_some(), "{wrong}");
        }
    }
}
