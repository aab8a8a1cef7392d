//! The intra-slice reduce: one element for all elements along an axis, in each slice.

use crate::command::{IntraSliceReduce, KeptLoop, REDUCE_LOOPS, ReduceOperator, ReducedLoop, VectorStep};
use crate::engine::vector::time_left::{TimeLeft, time_left};
use crate::error::{PlanError, attempt, refuse};
use crate::list::List;
use crate::mapping::{
    Atom, CutRule, Expr, Factors, Guard, Ident, Matched, Pieces, Pool, Problem, Term, factors_of,
    liveness_of, matched, mentions_axis,
};
use crate::spec::{VECTOR_NARROW_LANES, VECTOR_REDUCE_SLOTS};

/// The call, for messages.
pub const OPERATION: &str = "vector_intra_slice_reduce";

/// The level of time among the pieces. The level of the packet is 0.
pub const TIME: usize = 1;

/// The input of [`derive_reduce`].
#[derive(Clone, Copy, Debug)]
pub struct ReduceRequest {
    /// The axis that is reduced.
    pub axis: Ident,
    /// Mappings over chips, clusters and slices.
    pub units: [&'static Expr; 3],
    /// Time before the reduce.
    pub time: &'static Expr,
    /// Packet before the reduce, of 4 lanes.
    pub packet: &'static Expr,
    /// Time after the reduce.
    pub out_time: &'static Expr,
    /// Packet after the reduce.
    pub out_packet: &'static Expr,
}

/// The derived configuration of an intra-slice reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceConfig {
    /// Loops over the positions that stay.
    pub kept: List<KeptLoop, REDUCE_LOOPS>,
    /// Loops over the positions that are reduced, in the order of the index.
    pub reduced: List<ReducedLoop, REDUCE_LOOPS>,
    /// Number of sums, of at most 8, that the accumulator holds at once.
    pub slots: usize,
    /// Number of outgoing time steps.
    pub time: usize,
    /// Guard of the positions that hold an element. Variables: chip, cluster, slice, time, packet.
    pub guard: Guard,
}

/// True if a digit is of the axis of this name.
pub const fn is_of(term: &Term, axis: &Ident) -> bool {
    match &term.atom {
        Atom::Symbol(symbol) => symbol.name.is(axis),
        Atom::Composite(_) => false,
    }
}

/// Checks the mappings of an intra-slice reduce, and derives its loops.
///
/// # Errors
///
/// If the mappings after the reduce are not those before it without the axis; if there are more than 8 sums at once.
pub const fn derive_reduce(request: &ReduceRequest) -> Result<ReduceConfig, PlanError> {
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_time = attempt!(factors_of(OPERATION, &mut pool, request.out_time));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    if packet.size() != VECTOR_NARROW_LANES {
        refuse!(
            "reduce packet",
            "vector_intra_slice_reduce: the packet {} has {}, but must have 4; help: `vector_split` or `vector_trim_way4` \
             comes first",
            (request.packet, count(packet.size(), "element")),
        );
    }
    attempt!(check_out_packet(&pool, request, &packet, &out_packet));
    let cut = matched(
        &pool,
        Pieces::new(&[&packet, &time]),
        Pieces::new(&[&out_packet, &out_time]),
        [CutRule::Whole, CutRule::Ragged],
    );
    if cut.overflowed() {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    }
    attempt!(check_pieces(&pool, request, &cut));
    let slots = attempt!(check_time(&pool, request, &cut));
    let (kept, reduced) = loops(&cut, VECTOR_NARROW_LANES);
    if kept.overflowed() || reduced.overflowed() {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    }
    let [chip, cluster, slice] = request.units;
    let Some(guard) = liveness_of(&[chip, cluster, slice, request.time, request.packet]) else {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    };
    Ok(ReduceConfig { kept, reduced, slots, time: out_time.size(), guard })
}

/// Checks that the packet stays as it is, or becomes one lane.
const fn check_out_packet(
    pool: &Pool,
    request: &ReduceRequest,
    packet: &Factors,
    out_packet: &Factors,
) -> Result<(), PlanError> {
    let one = out_packet.size() == VECTOR_NARROW_LANES && !out_packet.has_terms();
    if out_packet.is(packet) || one {
        return Ok(());
    }
    refuse!(
        "reduce output packet",
        "vector_intra_slice_reduce: the output packet is {}, but the packet {} is either preserved or reduced to one lane \
         of 4; help: use {} or `m![1 # 4]`",
        (request.out_packet, request.packet, factors(pool, packet)),
    )
}

/// Checks that the input has all digits of the output, and that the others are of the axis.
const fn check_pieces(pool: &Pool, request: &ReduceRequest, cut: &Matched) -> Result<(), PlanError> {
    if let Some((term, size)) = cut.missing() {
        refuse!(
            "reduce divide",
            "vector_intra_slice_reduce: the output time {} and packet {} have {}, which time {} and packet {} lack; \
             help: leave out the axis {}, and nothing else",
            request.out_time,
            request.out_packet,
            term(pool, &term, size),
            request.time,
            request.packet,
            request.axis.as_str(),
        );
    }
    each!(k < cut.dividend.list.len(), {
        let piece = cut.dividend.list.at(k);
        if let Some((term, size)) = cut.dividend.digit(k) {
            if !piece.matched && !is_of(&term, &request.axis) {
                refuse!(
                    "reduce axis",
                    "vector_intra_slice_reduce: the output lacks {}, but only the axis {} is reduced; \
                     help: keep {} in the output time, or name its axis",
                    (term(pool, &term, size), request.axis.as_str(), term(pool, &term, size)),
                );
            }
            if piece.matched && mentions_axis(pool, &piece.factor, &request.axis) {
                refuse!(
                    "reduce whole axis",
                    "vector_intra_slice_reduce: the output still has {}, but the axis {} must be reduced as far as time and \
                     packet have it; help: leave it out of the output",
                    (term(pool, &term, size), request.axis.as_str()),
                );
            }
            if let Some(other) = cut.partner(k)
                && cut.divisor.list.at(other).level != piece.level
            {
                refuse!(
                    "reduce order",
                    "vector_intra_slice_reduce: the output has {} in another place than time {} and packet {}; \
                     help: lanes stay lanes, and time stays time",
                    (term(pool, &term, size), request.time, request.packet),
                );
            }
        }
    });
    Ok(())
}

/// Checks that the output time is the time without the axis, in the same order and with the padding of the digits that
/// stay. Returns the number of sums that are open at once: the positions that stay inside the outermost digit of the
/// axis.
pub const fn check_time(pool: &Pool, request: &ReduceRequest, cut: &Matched) -> Result<usize, PlanError> {
    let TimeLeft { expected, given, inside: slots } = time_left(pool, cut, TIME);
    if !expected.is(&given) {
        refuse!(
            "reduce time",
            "vector_intra_slice_reduce: the output time is {}, but time {} without the axis {} is {}; \
             help: use that mapping",
            (request.out_time, request.time, request.axis.as_str(), factors(pool, &expected)),
        );
    }
    if slots > VECTOR_REDUCE_SLOTS {
        refuse!(
            "reduce slots",
            "vector_intra_slice_reduce: time {} has {} sums open at once, inside of the axis {}, but the accumulator holds \
             {}; help: move the axis {} inwards, or what is inside of it outwards",
            (request.time, slots, request.axis.as_str(), VECTOR_REDUCE_SLOTS, request.axis.as_str()),
        );
    }
    Ok(slots)
}

/// The loops that stay, innermost first, and the loops that are reduced, with the greatest stride along the axis first.
pub const fn loops(
    cut: &Matched,
    lanes: usize,
) -> (List<KeptLoop, REDUCE_LOOPS>, List<ReducedLoop, REDUCE_LOOPS>) {
    let mut kept = List::new(KeptLoop { size: 1, input: 0, output: 0 });
    let mut reduced = List::new(ReducedLoop { size: 1, input: 0 });
    let mut strides = List::<usize, REDUCE_LOOPS>::new(0);
    each!(k < cut.dividend.list.len(), {
        let piece = cut.dividend.list.at(k);
        if let Some((term, size)) = cut.dividend.digit(k) {
            let input = if piece.level == TIME { piece.base * lanes } else { piece.base };
            match cut.partner(k) {
                Some(other) => {
                    let there = cut.divisor.list.at(other);
                    let output = if there.level == TIME { there.base * lanes } else { there.base };
                    kept.push(KeptLoop { size, input, output });
                }
                None => {
                    let mut place = strides.len();
                    while place > 0 && strides.at(place - 1) < term.stride {
                        place -= 1;
                    }
                    strides.insert(place, term.stride);
                    reduced.insert(place, ReducedLoop { size, input });
                }
            }
        }
    });
    (kept, reduced)
}

/// The reduce as a step of a program.
pub fn step(op: ReduceOperator, config: &ReduceConfig) -> VectorStep {
    let ReduceConfig { kept, reduced, slots, time, guard } = *config;
    VectorStep::IntraSliceReduce(Box::new(IntraSliceReduce { op, guard, kept, reduced, time, slots }))
}
