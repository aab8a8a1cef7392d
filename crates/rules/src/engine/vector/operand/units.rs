//! The register file that a slice of the stream reads: its own.
//!
//! ```text
//!   stream  Slice m![A # 256], A = 16      live in slices 0..16, slice s holds A: s
//!
//!   VRF     Slice m![A # 256]              the same
//!           Slice m![X], X = 256           all slices hold something, whatever X is
//!           Slice m![X / 16, A]            X is no axis of the stream, and A stands where it does there
//!           Slice m![1 # 256]              refused: slices 1..16 hold nothing
//!           Slice m![A, X % 16]            refused: slice s holds A: s / 16
//! ```
//!
//! So the rule is: if a slice of the stream can hold an element, the same slice of the tensor must be able to hold one.
//! And an axis that the stream and the tensor's chips, clusters and slices name must have the same coordinate there.

use super::OPERATION;
use crate::error::{PlanError, attempt};
use crate::mapping::{Atom, CutRule, Expr, Factor, Factors, Pieces, Pool, factors_of, matched};
use crate::tensor::tile::span_of;
use crate::text::Text;

/// The dimensions, by their names in types.
const NAMES: [&str; 3] = ["Chip", "Cluster", "Slice"];

/// Checks that each slice of a stream, given as chip, cluster, slice, time and packet, finds the operand in its own register file.
pub const fn check_units(units: [&'static Expr; 3], stream: [&'static Expr; 5]) -> Result<(), PlanError> {
    let mut pool = Pool::new();
    let mut tensor = [Factors::ONE; 3];
    let mut other = [Factors::ONE; 5];
    let mut differs = None;
    each!(k < stream.len(), {
        other[k] = attempt!(factors_of(OPERATION, &mut pool, stream[k]));
        if k < tensor.len() {
            tensor[k] = attempt!(factors_of(OPERATION, &mut pool, units[k]));
            if differs.is_none() && !tensor[k].is(&other[k]) {
                differs = Some(k);
            }
        }
    });
    let Some(differs) = differs else { return Ok(()) };
    if is_ragged(&pool, &tensor) {
        let reason = text!(
            "and of an axis that ends inside of a slice, or begins behind its first position, both have the same",
        );
        return Err(other_units(differs, units, stream, &reason));
    }
    let sides = [
        Pieces::new(&[&other[0], &other[1], &other[2], &other[3], &other[4]]).sliceable(),
        Pieces::new(&[&tensor[0], &tensor[1], &tensor[2]]),
    ];
    let found = matched(&pool, sides[0], sides[1], [CutRule::Exact; 2]);
    if found.overflowed() || pool.factors.overflowed() {
        return Err(PlanError::mapping(OPERATION, crate::mapping::Problem::TooManyFactors));
    }
    each!(k < found.pairs.len(), {
        let (a, b) = found.pairs.at(k);
        let (there, here) = (found.dividend.list.at(a), found.divisor.list.at(b));
        if there.level != here.level || there.base != here.base {
            return Err(elsewhere(&pool, here.level, units, stream, &here.factor));
        }
    });
    each!(k < found.divisor.list.len(), {
        let piece = found.divisor.list.at(k);
        if let Factor::Term { term, .. } = &piece.factor
            && !piece.matched
            && found.dividend.touches(&pool, &term.atom)
        {
            return Err(elsewhere(&pool, piece.level, units, stream, &piece.factor));
        }
    });
    each!(k < tensor.len(), {
        if !covers(&tensor[k], &other[k]) {
            let reason = text!("and in some that the stream uses the tensor holds nothing");
            return Err(other_units(k, units, stream, &reason));
        }
    });
    Ok(())
}

const fn elsewhere(
    pool: &Pool,
    level: usize,
    units: [&'static Expr; 3],
    stream: [&'static Expr; 5],
    factor: &Factor,
) -> PlanError {
    let Factor::Term { term, resize } = factor else { return other_units(level, units, stream, &text!("")) };
    let reason = text!("where {} has another coordinate than in the stream", term(pool, term, *resize));
    other_units(level, units, stream, &reason)
}

const fn other_units(
    k: usize,
    units: [&'static Expr; 3],
    stream: [&'static Expr; 5],
    reason: &Text,
) -> PlanError {
    let text = text!(
        "{}: the {} of the tensor in the VRF is {}, but that of the stream is {}: each slice reads its own register file, {}; \
         help: load the tensor from a tensor in DM with this {}, which `to_dm` broadcasts to",
        (OPERATION, NAMES[k], units[k], stream[k], reason, NAMES[k]),
    );
    PlanError::new("operand units", text)
}

/// True if padding in one dimension depends on the others, or padding lies before elements.
const fn is_ragged(pool: &Pool, units: &[Factors; 3]) -> bool {
    each!(k < units.len(), {
        each!(j < units[k].len(), {
            if let Factor::Term { term, .. } = units[k].item(j) {
                let ends = match term.atom {
                    Atom::Symbol(_) => term.stride * term.modulo <= pool.atom_size(&term.atom),
                    Atom::Composite(_) => false,
                };
                if !ends {
                    return true;
                }
            }
        });
    });
    false
}

/// True if every position that can hold an element in `inner` can also hold one in `outer`.
const fn covers(outer: &Factors, inner: &Factors) -> bool {
    let mut base = 1;
    each!(k < outer.len(), {
        let end = outer.item(k).size_over(base);
        // In each run of `end` positions, the first `base` can.
        if let Factor::Padding { .. } = outer.item(k)
            && reach(inner, end) > base
        {
            return false;
        }
        base = end;
    });
    span_of(inner) <= base
}

/// Number of positions, in each run of `period`, from the first one to the last one that can hold an element. All of
/// them if the digits do not tell.
const fn reach(factors: &Factors, period: usize) -> usize {
    let (mut last, mut base, mut k) = (0, 1, 0);
    while k < factors.len() {
        let mut end = factors.item(k).size_over(base);
        let values = if let Factor::Term { resize, .. } = factors.item(k) { *resize } else { 1 };
        k += 1;
        // A digit and its padding count as one.
        if k < factors.len()
            && let Factor::Padding { .. } = factors.item(k)
        {
            end = factors.item(k).size_over(end);
            k += 1;
        }
        if period.is_multiple_of(end) {
            last += (values - 1) * base;
        } else if period.is_multiple_of(base) && (end.is_multiple_of(period) || is_padding_from(factors, k)) {
            // This is the last digit inside a period.
            let inside = period / base;
            return last + (if values < inside { values } else { inside } - 1) * base + 1;
        } else {
            return period;
        }
        base = end;
    }
    last + 1
}

/// True if all factors from `k` on are padding.
const fn is_padding_from(factors: &Factors, mut k: usize) -> bool {
    while k < factors.len() {
        if let Factor::Term { .. } = factors.item(k) {
            return false;
        }
        k += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{M, liveness_of};
    use crate::prelude::{axes, m};

    axes![Q = 256, A = 16, B = 12, C = 2, T = 5, L = 8, X = 256, Y = 16, R = 7, Z = 40];

    /// Checks if a stream of these slices, of time `T` and packets of `L`, finds a tensor of the other slices.
    fn verdict<Own: M, Slice: M>() -> Result<(), String> {
        let one = <m![1 # 2]>::EXPR;
        let stream = [<m![1]>::EXPR, one, Slice::EXPR, <m![T]>::EXPR, <m![L]>::EXPR];
        check_units([<m![1]>::EXPR, one, Own::EXPR], stream).map_err(|error| {
            assert_eq!(error.rule(), "operand units");
            error.message().to_string()
        })
    }

    #[track_caller]
    fn refused<Own: M, Slice: M>(part: &str) {
        let text = verdict::<Own, Slice>().expect_err("it is refused");
        assert!(text.contains(part), "{text}");
    }

    #[test]
    fn slices_find_their_own() {
        assert_eq!(verdict::<m![Q], m![Q]>(), Ok(()));
        // The tensor has more slices than the stream needs, of the same axis, of another one, or of both.
        assert_eq!(verdict::<m![Q], m![1 # 256]>(), Ok(()));
        assert_eq!(verdict::<m![X], m![Q]>(), Ok(()));
        assert_eq!(verdict::<m![Y, A], m![A # 256]>(), Ok(()));
        assert_eq!(verdict::<m![Y, A], m![X / 16, A]>(), Ok(()));
        assert_eq!(verdict::<m![A # 256], m![A = 3 # 256]>(), Ok(()));
        assert_eq!(verdict::<m![Q / 2, Y % 2], m![Q]>(), Ok(()));
        assert_eq!(verdict::<m![B # 16 # 256], m![R # 256]>(), Ok(()));
        assert_eq!(verdict::<m![Y, B # 16], m![X / 16, R # 16]>(), Ok(()));
        // The mapping is the same as a whole, whatever it is.
        assert_eq!(verdict::<m![R # 8 / 2 # 256], m![R # 8 / 2 # 256]>(), Ok(()));
        // The tensor has fewer slices.
        let nothing = "the Slice of the tensor in the VRF is `m![1 # 256]`, but that of the stream is `m![Q]`: each slice reads \
                       its own register file, and in some that the stream uses the tensor holds nothing; help: load";
        refused::<m![1 # 256], m![Q]>(nothing);
        refused::<m![B # 256], m![A # 256]>("holds nothing");
        refused::<m![Y, B # 16], m![X]>("holds nothing");
        refused::<m![A = 3 # 256], m![A # 256]>("`m![A = 3 # 256]`");
        // An axis that both have is elsewhere: in slices, in time, and in part.
        refused::<m![A, Y], m![A # 256]>("where `m![A]` has another coordinate than in the stream");
        refused::<m![T # 256], m![1 # 256]>("where `m![T]` has another coordinate");
        refused::<m![Y, L % 4 # 16], m![1 # 256]>("where `m![L % 4]` has another coordinate");
        refused::<m![Q / 16 # 256], m![Q % 16 # 256]>("where `m![Q / 16]` has another coordinate");
        // The tensor's axis ends inside a slice.
        refused::<m![R # 8 / 2 # 256], m![1 # 256]>("ends inside of a slice");
    }

    /// An operand that covers a stream by its digits also covers it by all positions. Few others do.
    #[test]
    fn positions_are_covered() {
        let all = [
            <m![1]>::EXPR,
            <m![Q]>::EXPR,
            <m![1 # 256]>::EXPR,
            <m![A # 256]>::EXPR,
            <m![B # 256]>::EXPR,
            <m![B # 16, Y]>::EXPR,
            <m![Y, B # 16]>::EXPR,
            <m![Y, R # 8, C]>::EXPR,
            <m![Y = 5 # 16, R # 16]>::EXPR,
            <m![C, T # 8, Y]>::EXPR,
            <m![Z # 256]>::EXPR,
            <m![T, R # 51]>::EXPR,
            <m![R # 36, T]>::EXPR,
        ];
        let holds = |expr: &'static Expr, k: usize| {
            let guard = liveness_of(&[expr]).expect("it is small");
            k < expr.size() && guard.holds(&[k])
        };
        let (mut yes, mut missed) = (0, 0);
        for (outer, inner) in all.iter().flat_map(|outer| all.iter().map(move |inner| (*outer, *inner))) {
            let mut pool = Pool::new();
            let [a, b] =
                [outer, inner].map(|expr| factors_of("test", &mut pool, expr).expect("it has factors"));
            let expected = (0..256).all(|k| !holds(inner, k) || holds(outer, k));
            let found = covers(&a, &b);
            assert!(expected || !found, "{inner} in {outer}");
            yes += usize::from(found);
            missed += usize::from(expected && !found);
        }
        assert!(yes > 30 && missed < 4, "{yes} {missed}");
    }
}
