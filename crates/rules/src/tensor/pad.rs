//! One outermost padding more, or less: the elements stay where they are.

use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Pool, factors_of};

/// Checks that `to` is `from` under one outermost padding.
///
/// # Errors
/// If `to` has fewer positions, or if anything but an outermost padding tells the two apart.
pub const fn check_pad(from: &'static Expr, to: &'static Expr) -> Result<(), PlanError> {
    let (before, after) = (attempt!(super::shape::size(from)), attempt!(super::shape::size(to)));
    if after < before {
        refuse!(
            "pad narrows",
            "pad: {} has {}, and {} has {}: padding adds positions; help: `.unpad()` leaves out an outermost padding, \
             `.tile()` takes a part",
            (from, count(before, "position"), to, count(after, "position")),
        );
    }
    if attempt!(is_padded("pad", from, to, after)) {
        return Ok(());
    }
    refuse!(
        "pad inside",
        "pad: {} is not {} under one outermost padding; help: write {}, or move the tensor where the padding is to lie inside",
        (to, from, &Expr::Padding(from, after)),
    )
}

/// Checks that `from` is `to` under one outermost padding.
///
/// # Errors
/// If `to` has more positions, or if anything but an outermost padding tells the two apart.
pub const fn check_unpad(from: &'static Expr, to: &'static Expr) -> Result<(), PlanError> {
    let (before, after) = (attempt!(super::shape::size(from)), attempt!(super::shape::size(to)));
    if after > before {
        refuse!(
            "unpad widens",
            "unpad: {} has {}, and {} has {}: it leaves out positions; help: `.pad()` adds an outermost padding",
            (from, count(before, "position"), to, count(after, "position")),
        );
    }
    if attempt!(is_padded("unpad", to, from, before)) {
        return Ok(());
    }
    refuse!(
        "unpad inside",
        "unpad: {} is not {} under one outermost padding, which is {}; help: leave out the outermost `#` of {} alone, or take \
         a part with `.tile()`",
        (from, to, &Expr::Padding(to, before), from),
    )
}

/// Tells if a mapping is another one, padded outermost to `size` positions.
const fn is_padded(
    operation: &'static str,
    inner: &'static Expr,
    padded: &'static Expr,
    size: usize,
) -> Result<bool, PlanError> {
    let mut pool = Pool::new();
    let mut expected = attempt!(factors_of(operation, &mut pool, inner));
    expected.push_padding(size);
    Ok(expected.is(&attempt!(factors_of(operation, &mut pool, padded))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::M;
    use crate::prelude::{axes, m};

    axes![A = 3, B = 8, C = 5];

    fn both<From: M, To: M>() -> [Result<(), String>; 2] {
        let text = |result: Result<(), PlanError>| result.map_err(|error| error.message().to_string());
        [text(check_pad(From::EXPR, To::EXPR)), text(check_unpad(To::EXPR, From::EXPR))]
    }

    /// The positions of both mappings by themselves: what lies where, and where padding begins.
    fn is_outermost<From: M, To: M>() -> bool {
        let inside = (0..From::SIZE.min(To::SIZE)).all(|k| From::map(k) == To::map(k));
        To::SIZE >= From::SIZE && inside && (From::SIZE..To::SIZE).all(|k| To::map(k).is_none())
    }

    #[test]
    fn outermost_padding_and_no_other() {
        macro_rules! check {
            ($($from:ty => $to:ty;)*) => { $(
                let legal = is_outermost::<$from, $to>();
                for result in both::<$from, $to>() {
                    assert_eq!(result.is_ok(), legal, "{} and {}: {result:?}", <$from>::EXPR, <$to>::EXPR);
                }
            )* };
        }
        check! {
            m![A, B] => m![A # 8, B];
            m![A, B] => m![[A, B] # 25];
            m![A, B] => m![A, B];
            m![A # 4, B] => m![A # 8, B];
            m![1] => m![1 # 8];
            m![# 2 + A] => m![# 2 + A + # 3];
            m![[A, B] / 3] => m![[A, B] / 3 # 16];
            m![A, B] => m![A, B # 16];
            m![A, B] => m![B, A # 4];
            m![A # 4, B] => m![A, B];
            m![A, B] => m![# 1 + A, B];
            m![A, B] => m![C, B];
            m![A] => m![A = 2 # 8];
        }
    }

    #[test]
    fn refusals() {
        let [pad, unpad] = both::<m![A, B], m![A, B # 16]>();
        let expected = "pad: `m![A, B # 16]` is not `m![A, B]` under one outermost padding; help: write `m![[A, B] # 48]`, or move \
                        the tensor where the padding is to lie inside";
        assert_eq!(pad, Err(expected.to_string()));
        let expected = "unpad: `m![A, B # 16]` is not `m![A, B]` under one outermost padding, which is `m![[A, B] # 48]`; help: \
                        leave out the outermost `#` of `m![A, B # 16]` alone, or take a part with `.tile()`";
        assert_eq!(unpad, Err(expected.to_string()));
        let [pad, unpad] = both::<m![A # 4, B], m![A, B]>();
        let expected = "pad: `m![A # 4, B]` has 32 positions, and `m![A, B]` has 24 positions: padding adds positions; help: \
                        `.unpad()` leaves out an outermost padding, `.tile()` takes a part";
        assert_eq!(pad, Err(expected.to_string()));
        let expected = "unpad: `m![A, B]` has 24 positions, and `m![A # 4, B]` has 32 positions: it leaves out positions; help: \
                        `.pad()` adds an outermost padding";
        assert_eq!(unpad, Err(expected.to_string()));
    }
}
