//! Mappings with more digits than the engine's derivations hold, for their tests. Small strides are outside, so that no
//! two digits can be joined.

use crate::mapping::{Expr, M};
use crate::prelude::{axes, m};

axes![X = 17592186044416]; // 4^22

/// The axis of the digits.
pub const AXIS: &str = "X";

/// Digits of 4 along an axis, and others that cut each of them. Each list alone is a mapping, but together the digits
/// are too many.
pub fn whole_and_cut() -> [&'static Expr; 2] {
    let whole: Vec<usize> = (0..22).map(|k| 1 << (2 * k)).collect();
    let halves: Vec<usize> = [1].into_iter().chain((0..22).map(|k| 2 << (2 * k))).collect();
    [&whole, &halves].map(|places| {
        let ends = places[1..].iter().copied().chain([1 << 44]);
        pairs(places.iter().zip(ends).map(|(&start, end)| digit(start, end / start)))
    })
}

/// A mapping of `count` digits of 2, from digit `first` on.
pub fn digits_of_two(first: usize, count: usize) -> &'static Expr {
    pairs((first..first + count).map(|k| digit(1 << k, 2)))
}

/// A mapping of `count` digits of 2, each padded to 3.
pub fn padded_digits(first: usize, count: usize) -> &'static Expr {
    pairs((first..first + count).map(|k| leak(Expr::Padding(digit(1 << k, 2), 3))))
}

/// Joins two mappings.
pub fn pair(outer: &'static Expr, inner: &'static Expr) -> &'static Expr {
    leak(Expr::Pair(outer, inner))
}

fn pairs(all: impl Iterator<Item = &'static Expr>) -> &'static Expr {
    all.reduce(pair).expect("there are digits")
}

fn digit(stride: usize, size: usize) -> &'static Expr {
    leak(Expr::Modulo(leak(Expr::Stride(<m![X]>::EXPR, stride)), size))
}

fn leak(expr: Expr) -> &'static Expr {
    Box::leak(Box::new(expr))
}
