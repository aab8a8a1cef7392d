//! Calls by which a stream enters the engine, and by which its elements get their execution ids.

use crate::command::{Branch, InputCmp, TOGGLE_DIGITS};
use crate::error::{PlanError, attempt, refuse};
use crate::list::List;
use crate::mapping::{
    Atom, Expr, Factor, GuardDigit, Ident, Pool, factors_of, mentions_axis, size_of_factors,
};
use crate::scalar::VeScalarKind;
use core::fmt;

/// The call.
pub const BRANCH: &str = "vector_intra_slice_branch";

/// The way in which elements get their execution ids.
#[derive(Clone, Copy, Debug, Default)]
pub enum BranchMode {
    /// All elements are alike.
    #[default]
    Unconditional,
    /// Group 0 and group 1 in turns along an axis: `BranchMode::AxisToggle { axis: I::NAME }`.
    AxisToggle {
        /// The axis.
        axis: Ident,
    },
    /// By the valid-count generator. The way is not documented: refused.
    ValidCount,
    /// By comparisons of the element. Bit `i` of the id is comparison `i`, and the last comparison makes the group.
    Comparison([InputCmp; 4]),
    /// By ids that an earlier pass left in the VRF. No call leaves ids there: refused.
    Vrf,
}

impl fmt::Display for BranchMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BranchMode::Unconditional => f.pad("Unconditional"),
            BranchMode::AxisToggle { axis } => write!(f, "AxisToggle along {axis}"),
            BranchMode::ValidCount => f.pad("ValidCount"),
            BranchMode::Comparison(_) => f.pad("Comparison"),
            BranchMode::Vrf => f.pad("Vrf"),
        }
    }
}

/// True if a mapping names an axis.
fn names(mapping: &Expr, axis: &Ident) -> bool {
    match mapping {
        Expr::Identity => false,
        Expr::Symbol(symbol) => symbol.name == *axis,
        Expr::Stride(inner, _)
        | Expr::Modulo(inner, _)
        | Expr::Resize(inner, _)
        | Expr::Padding(inner, _)
        | Expr::Margin(inner, ..) => names(inner, axis),
        Expr::Pair(left, right) => names(left, axis) || names(right, axis),
    }
}

/// The digits of the index along an axis, in chip, cluster, slice, time and packet.
///
/// # Errors
/// If the stream does not have the axis, or if the axis is part of a composite; if its padding
/// makes it start again after a number of positions that is no multiple of the positions inside it.
pub fn derive_toggle(
    axis: Ident,
    stream: [&'static Expr; 5],
) -> Result<List<GuardDigit, TOGGLE_DIGITS>, PlanError> {
    let mut pool = Pool::new();
    let mut digits = List::new(GuardDigit { variable: 0, base: 1, extent: 1, weight: 0 });
    for (variable, mapping) in stream.into_iter().enumerate() {
        let factors = attempt!(factors_of(BRANCH, &mut pool, mapping));
        let all = factors.as_slice();
        for (k, factor) in all.iter().enumerate() {
            let Factor::Term { term, .. } = factor else { continue };
            if !mentions_axis(&pool, factor, &axis) {
                continue;
            }
            if let Atom::Composite(_) = term.atom {
                refuse!(
                    "toggle product",
                    "{}: {} cuts a product across its digits, so that no counter follows the axis {}; \
                     help: cut the product at its axes",
                    (BRANCH, mapping, axis.as_str()),
                );
            }
            let base = size_of_factors(&all[..k]);
            let period = size_of_factors(&all[..=k]);
            // Padding around the digit belongs to its period.
            let period = match all.get(k + 1) {
                Some(Factor::Padding { size }) => *size,
                _ => period,
            };
            if !period.is_multiple_of(base) && size_of_factors(all) > period {
                refuse!(
                    "toggle padding",
                    "{}: in {} the axis {} starts again after {} positions, which is no multiple of the {} inside of it, so that \
                     no counter follows it; help: pad to a multiple of {}",
                    (BRANCH, mapping, axis.as_str(), period, base, base),
                );
            }
            digits.push(GuardDigit { variable, base, extent: period.div_ceil(base), weight: term.stride });
        }
    }
    // An axis of one element has no digits: its index is 0.
    if digits.is_empty() && !stream.iter().any(|mapping| names(mapping, &axis)) {
        refuse!(
            "toggle axis",
            "{}: the stream has no axis {}, whose index would make the groups; help: name an axis of Time or Packet",
            (BRANCH, axis.as_str()),
        );
    }
    if digits.overflowed() {
        return Err(PlanError::mapping(BRANCH, crate::mapping::Problem::TooManyFactors));
    }
    Ok(digits)
}

/// Refuses comparisons of another type than that of the elements.
pub fn check_comparisons(kind: VeScalarKind, all: &[InputCmp; 4]) -> Result<(), PlanError> {
    let name = |kind| match kind {
        VeScalarKind::I32 => ("I32", "i32"),
        VeScalarKind::F32 => ("F32", "f32"),
    };
    for comparison in all {
        let of = match comparison {
            InputCmp::I32(_) => VeScalarKind::I32,
            InputCmp::F32(_) => VeScalarKind::F32,
        };
        if of != kind {
            refuse!(
                "comparison type",
                "{}: Type mismatch: InputCmp::{} used with {} data; help: use InputCmp::{}",
                (BRANCH, name(of).0, name(kind).1, name(kind).0),
            );
        }
    }
    Ok(())
}

/// Derives the branch of a command.
///
/// # Errors
/// If comparisons have another type, if the stream lacks the axis, and for modes that are not documented.
pub fn derive_branch(
    mode: BranchMode,
    kind: VeScalarKind,
    stream: [&'static Expr; 5],
) -> Result<Branch, PlanError> {
    match mode {
        BranchMode::Unconditional => Ok(Branch::Unconditional),
        BranchMode::AxisToggle { axis } => {
            Ok(Branch::AxisToggle { digits: attempt!(derive_toggle(axis, stream)) })
        }
        BranchMode::Comparison(all) => {
            attempt!(check_comparisons(kind, &all));
            Ok(Branch::Comparison(all))
        }
        BranchMode::ValidCount => {
            refuse!(
                "branch mode",
                "{}: which ids BranchMode::ValidCount gives is not documented, so that it is not simulated (guide: vector); \
                 help: BranchMode::Comparison tells elements apart by their values, BranchMode::AxisToggle by their index",
                BRANCH,
            )
        }
        BranchMode::Vrf => {
            refuse!(
                "branch mode",
                "{}: BranchMode::Vrf takes ids from the VRF, but no call puts any there; \
                 help: BranchMode::Comparison tells elements apart by their values, BranchMode::AxisToggle by their index",
                BRANCH,
            )
        }
    }
}
