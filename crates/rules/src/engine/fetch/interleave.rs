//! Interleaving: one stream of the packets of two tensors (see `guide::fetch`, "Two tensors at once").

use crate::engine::fetch::plan::FetchRequest;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Atom, Axis, Expr, Factor, Factors, Pool, factorize, size_of_factors};

/// Number of tensors that one fetch can interleave (guide: fetch).
pub const TENSORS: usize = 2;

/// Refuses an axis whose size is not two, or that the tensors have themselves.
pub const fn check_interleave(axis: Axis, mappings: &[&'static Expr]) -> Result<(), PlanError> {
    if axis.size != TENSORS {
        refuse!(
            "interleave axis",
            "begin_interleaved: the axis `{}` has size {}, but exactly {} tensors are interleaved; \
             help: declare `{} = {}`",
            (axis.name.as_str(), axis.size, TENSORS, axis.name.as_str(), TENSORS),
        );
    }
    each!(k < mappings.len(), {
        if mappings[k].mentions(&axis) {
            refuse!(
                "interleave axis",
                "begin_interleaved: the tensors hold the axis `{}` themselves, in {}; \
                 help: declare another axis of size {} to tell them apart",
                (axis.name.as_str(), mappings[k], TENSORS),
            );
        }
    });
    Ok(())
}

/// True if `begin_interleaved` refuses the axis for the tensors of this fetch.
pub const fn begin_is_refused(request: &FetchRequest) -> bool {
    match request.begin {
        Expr::Symbol(axis) => check_interleave(*axis, &[request.element]).is_err(),
        _ => false,
    }
}

/// Time steps between the tensors of an interleaved fetch. `None` if there is one tensor.
pub const fn interleave_period(pool: &mut Pool, request: &FetchRequest) -> Result<Option<usize>, PlanError> {
    let axis = match request.begin {
        Expr::Identity => return Ok(None),
        Expr::Symbol(axis) => axis,
        other => {
            refuse!(
                "interleave axis",
                "fetch: a stream begins with time `m![1]`, or with the axis of two interleaved tensors, not with {}; \
                 help: start it with `begin`",
                other,
            );
        }
    };
    attempt!(check_interleave(*axis, &[request.element]));
    let name = axis.name.as_str();
    if request.packet.mentions(axis) {
        refuse!(
            "interleave axis",
            "fetch: the packet {} holds `{}`, which tells two interleaved tensors apart, but a packet is read from one \
             tensor; help: put `{}` in `Time`",
            (request.packet, name, name),
        );
    }
    let time = factorize(pool, request.time);
    if let Some(period) = period_of(&time, axis) {
        return Ok(Some(period));
    }
    refuse!(
        "interleave axis",
        "fetch: `Time` {} {} `{}`, which tells two interleaved tensors apart; \
         help: put `{}` into it as it is; innermost, every packet alternates",
        request.time,
        if request.time.mentions(axis) { "cuts, resizes or pads" } else { "lacks" },
        name,
        name,
    )
}

/// The steps inside a whole axis of two, if it alternates evenly through all of time.
const fn period_of(time: &Factors, axis: &Axis) -> Option<usize> {
    let factors = time.as_slice();
    let mut found = None;
    each!(k < factors.len(), {
        let base = size_of_factors(factors.split_at(k).0);
        match (found, factors[k]) {
            (None, Factor::Term { term, resize })
                if term.atom.is(&Atom::Symbol(*axis)) && term.stride == 1 && resize == TENSORS =>
            {
                found = Some(base);
            }
            // Outside the axis, the tensors take turns from the start again.
            (Some(period), Factor::Term { .. }) if !base.is_multiple_of(TENSORS * period) => return None,
            _ => {}
        }
    });
    found
}
