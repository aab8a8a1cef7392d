//! The rules of the inter-slice reduce: the slices and times that may follow others, and the loops.

use super::OPERATION;
use crate::command::{MovedLoop, REDUCE_LOOPS, RepeatedLoop, SliceLoop, Step};
use crate::engine::vector::rules::derive_way8;
use crate::engine::vector::time_left::{TimeLeft, time_left};
use crate::error::{PlanError, attempt, refuse};
use crate::list::List;
use crate::mapping::{
    Atom, CutRule, Expr, Factors, Guard, Matched, Pieces, Pool, Problem, Term, factors_of, liveness_of,
    matched,
};
use crate::spec::BEAT_LANES;

/// The levels of the pieces.
const TIME: usize = 0;
const SLICE: usize = 1;

/// The input of [`derive_inter_slice`].
#[derive(Clone, Copy, Debug)]
pub struct InterSliceRequest {
    /// Mappings over chips and clusters.
    pub units: [&'static Expr; 2],
    /// Slice before the reduce.
    pub slice: &'static Expr,
    /// Time before the reduce.
    pub time: &'static Expr,
    /// Packet, before and after the reduce.
    pub packet: &'static Expr,
    /// Slice after the reduce.
    pub out_slice: &'static Expr,
    /// Time after the reduce.
    pub out_time: &'static Expr,
}

/// The derived configuration of an inter-slice reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterSliceConfig {
    /// Loops over elements that stay.
    pub kept: List<MovedLoop, REDUCE_LOOPS>,
    /// Loops over the slices of a sum.
    pub reduced: List<SliceLoop, REDUCE_LOOPS>,
    /// Loops over the slices that get the same sum.
    pub repeated: List<RepeatedLoop, REDUCE_LOOPS>,
    /// Number of neighbouring slices of a group.
    pub group: usize,
    /// Number of outgoing time steps.
    pub time: usize,
    /// Guard of the positions that hold an element. Variables: chip, cluster, slice, time, packet.
    pub guard: Guard,
}

/// Checks the mappings of an inter-slice reduce, and derives its loops.
///
/// # Errors
///
/// If the slices are not the slices before with the innermost axes replaced; if time is not the time before without the
/// digits that moved to slices.
pub const fn derive_inter_slice(request: &InterSliceRequest) -> Result<InterSliceConfig, PlanError> {
    attempt!(derive_way8(OPERATION, request.packet));
    let mut pool = Pool::new();
    let slice = attempt!(factors_of(OPERATION, &mut pool, request.slice));
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_slice = attempt!(factors_of(OPERATION, &mut pool, request.out_slice));
    let out_time = attempt!(factors_of(OPERATION, &mut pool, request.out_time));
    if slice.size() != out_slice.size() {
        refuse!(
            "inter-slice size",
            "vector_inter_slice_reduce: Slice2 {} has {}, but Slice {} has {}; help: put `1 # n`, a new axis, or an axis of \
             Time in the place of what is reduced",
            (request.out_slice, count(out_slice.size(), "slice"), request.slice, slice.size()),
        );
    }
    let cut = matched(
        &pool,
        Pieces::new(&[&time, &slice]),
        Pieces::new(&[&out_time, &out_slice]),
        [CutRule::Whole, CutRule::Ragged],
    );
    if cut.overflowed() {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    }
    attempt!(check_output(&pool, request, &cut, &packet));
    let group = attempt!(check_slices(&pool, request, &cut, &packet));
    attempt!(check_places(&pool, request, &cut, group));
    attempt!(check_time(&pool, request, &cut));
    let Some((kept, reduced, repeated)) = loops(&cut) else {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    };
    let [chip, cluster] = request.units;
    let Some(guard) = liveness_of(&[chip, cluster, request.slice, request.time, request.packet]) else {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    };
    Ok(InterSliceConfig { kept, reduced, repeated, group, time: out_time.size(), guard })
}

/// Checks that each digit that only the output has is a new axis, in slices.
const fn check_output(
    pool: &Pool,
    request: &InterSliceRequest,
    cut: &Matched,
    packet: &Factors,
) -> Result<(), PlanError> {
    each!(k < cut.divisor.list.len(), {
        let piece = cut.divisor.list.at(k);
        if let Some((term, size)) = cut.divisor.digit(k)
            && !piece.matched
        {
            if piece.level != SLICE {
                refuse!(
                    "inter-slice time",
                    "vector_inter_slice_reduce: Time2 {} has {}, which Time {} lacks; help: Time2 is Time without what goes \
                     to Slice2",
                    (request.out_time, term(pool, &term, size), request.time),
                );
            }
            if cut.dividend.touches(pool, &term.atom) || Pieces::new(&[packet]).touches(pool, &term.atom) {
                refuse!(
                    "inter-slice new axis",
                    "vector_inter_slice_reduce: Slice2 {} has {}, of an axis of which Slice {}, Time {} or Packet {} has \
                     other parts; help: use a new axis, or a part that Time has",
                    (request.out_slice, term(pool, &term, size), request.slice, request.time, request.packet),
                );
            }
        }
    });
    Ok(())
}

/// True if a part of the axis is still there after the reduce, in any mapping.
const fn is_left(pool: &Pool, cut: &Matched, packet: &Factors, term: &Term) -> bool {
    cut.divisor.touches(pool, &term.atom) || Pieces::new(&[packet]).touches(pool, &term.atom)
}

/// Checks that all digits that go are of slices, make up whole axes, and are innermost. Returns the number of slices of
/// a group.
const fn check_slices(
    pool: &Pool,
    request: &InterSliceRequest,
    cut: &Matched,
    packet: &Factors,
) -> Result<usize, PlanError> {
    let (mut end, mut group) = (1, 0);
    let mut found = false;
    each!(k < cut.dividend.list.len(), {
        let piece = cut.dividend.list.at(k);
        if let Some((term, size)) = cut.dividend.digit(k) {
            if !piece.matched && piece.level != SLICE {
                refuse!(
                    "inter-slice dropped",
                    "vector_inter_slice_reduce: the output lacks {}, which is in Time {}, but only slices are reduced; \
                     help: keep it in Time2, put it into Slice2, or reduce it with `vector_intra_slice_reduce`",
                    (term(pool, &term, size), request.time),
                );
            }
            if !piece.matched {
                if let Atom::Composite(_) = term.atom {
                    refuse!(
                        "inter-slice product",
                        "vector_inter_slice_reduce: {} of Slice {} is part of a product that is cut across its axes, so that \
                         it has no index; help: cut the product at its axes",
                        (term(pool, &term, size), request.slice),
                    );
                }
                if is_left(pool, cut, packet, &term) {
                    refuse!(
                        "inter-slice part",
                        "vector_inter_slice_reduce: {} of Slice {} goes, but another part of its axis stays; \
                         help: reduce all of the axis: what is in Time or Packet with `vector_intra_slice_reduce`",
                        (term(pool, &term, size), request.slice),
                    );
                }
                if group > 0 {
                    refuse!(
                        "inter-slice order",
                        "vector_inter_slice_reduce: {} of Slice {} goes, but something inside of it stays, so that a group \
                         is no row of neighbours; help: put what is reduced innermost in Slice",
                        (term(pool, &term, size), request.slice),
                    );
                }
                found = true;
                end = piece.base * size;
            }
            if piece.matched && piece.level == SLICE && group == 0 {
                group = piece.base;
            }
        }
    });
    if !found {
        refuse!(
            "inter-slice nothing",
            "vector_inter_slice_reduce: Slice2 {} has all axes of Slice {}, so that nothing is reduced; \
             help: leave out the axis that is to be reduced",
            (request.out_slice, request.slice),
        );
    }
    if group > 0 {
        return Ok(group);
    }
    // No digit of slices stays outside: the group ends behind the digits that go and those that replace them.
    each!(k < cut.divisor.list.len(), {
        let piece = cut.divisor.list.at(k);
        if let Some((_, size)) = cut.divisor.digit(k)
            && piece.level == SLICE
            && piece.base * size > end
        {
            end = piece.base * size;
        }
    });
    Ok(end)
}

/// Checks that digits that stay in slices keep their places, and that new ones fit into the group.
const fn check_places(
    pool: &Pool,
    request: &InterSliceRequest,
    cut: &Matched,
    group: usize,
) -> Result<(), PlanError> {
    each!(k < cut.divisor.list.len(), {
        let piece = cut.divisor.list.at(k);
        if let Some((term, size)) = cut.divisor.digit(k)
            && piece.level == SLICE
        {
            let kept = match cut.partner_of_divisor(k) {
                Some(other) if cut.dividend.list.at(other).level == SLICE => {
                    if cut.dividend.list.at(other).base != piece.base {
                        refuse!(
                            "inter-slice moved",
                            "vector_inter_slice_reduce: {} is elsewhere in Slice2 {} than in Slice {}; \
                             help: keep what is not reduced where it is",
                            (term(pool, &term, size), request.out_slice, request.slice),
                        );
                    }
                    true
                }
                _ => false,
            };
            if !kept && piece.base * size > group {
                refuse!(
                    "inter-slice group",
                    "vector_inter_slice_reduce: {} of Slice2 {} does not fit into the {} of a group; \
                     help: put it in the place of what is reduced",
                    (term(pool, &term, size), request.out_slice, count(group, "slice")),
                );
            }
        }
    });
    Ok(())
}

/// Checks that Time2 is Time without the digits that moved to slices, in the same order, with the same padding.
const fn check_time(pool: &Pool, request: &InterSliceRequest, cut: &Matched) -> Result<(), PlanError> {
    let TimeLeft { expected, given, .. } = time_left(pool, cut, TIME);
    if expected.is(&given) {
        return Ok(());
    }
    refuse!(
        "inter-slice time",
        "vector_inter_slice_reduce: Time2 is {}, but Time {} without what goes to Slice2 {} is {}; help: use that mapping",
        (request.out_time, request.time, request.out_slice, factors(pool, &expected)),
    )
}

type Loops = (List<MovedLoop, REDUCE_LOOPS>, List<SliceLoop, REDUCE_LOOPS>, List<RepeatedLoop, REDUCE_LOOPS>);

/// The name of the axis of a digit.
const fn name(term: &Term) -> &'static str {
    match &term.atom {
        Atom::Symbol(axis) => axis.name.as_str(),
        Atom::Composite(_) => "",
    }
}

/// A step on one side of the reduce.
const fn moved(level: usize, base: usize) -> Step {
    if level == SLICE {
        Step { units: base, elements: 0 }
    } else {
        Step { units: 0, elements: base * BEAT_LANES }
    }
}

const fn loops(cut: &Matched) -> Option<Loops> {
    let still = Step { units: 0, elements: 0 };
    let mut kept = List::new(MovedLoop { size: 1, input: still, output: still });
    let mut reduced = List::new(SliceLoop { size: 1, units: 0, axis: 0 });
    let mut repeated = List::new(RepeatedLoop { size: 1, units: 0 });
    // The lanes of a packet stay.
    let lane = Step { units: 0, elements: 1 };
    kept.push(MovedLoop { size: BEAT_LANES, input: lane, output: lane });
    // Sort by the name of the axis. Within an axis the greatest digit comes first.
    let mut keys = List::<(&'static str, usize), REDUCE_LOOPS>::new(("", 0));
    each!(k < cut.dividend.list.len(), {
        let piece = cut.dividend.list.at(k);
        if let Some((term, size)) = cut.dividend.digit(k) {
            match cut.partner(k) {
                Some(other) => {
                    let there = cut.divisor.list.at(other);
                    let (input, output) = (moved(piece.level, piece.base), moved(there.level, there.base));
                    kept.push(MovedLoop { size, input, output });
                }
                None => {
                    let axis_name = name(&term);
                    let mut place = keys.len();
                    while place > 0 {
                        let (before, stride) = keys.at(place - 1);
                        let order = crate::text::order(before, axis_name);
                        if order.is_lt() || (order.is_eq() && stride > term.stride) {
                            break;
                        }
                        place -= 1;
                    }
                    keys.insert(place, (axis_name, term.stride));
                    reduced.insert(place, SliceLoop { size, units: piece.base, axis: 0 });
                }
            }
        }
    });
    let mut axis = 0;
    each!(k < reduced.len(), {
        if k > 0 && crate::text::order(keys.at(k - 1).0, keys.at(k).0).is_ne() {
            axis += 1;
        }
        let slice_loop = reduced.at(k);
        reduced.set(k, SliceLoop { axis, ..slice_loop });
    });
    each!(k < cut.divisor.list.len(), {
        let piece = cut.divisor.list.at(k);
        if let Some((_, size)) = cut.divisor.digit(k)
            && !piece.matched
        {
            repeated.push(RepeatedLoop { size, units: piece.base });
        }
    });
    if kept.overflowed() || reduced.overflowed() || repeated.overflowed() {
        return None;
    }
    Some((kept, reduced, repeated))
}
