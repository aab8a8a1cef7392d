//! Reducer, temporal part: adds results of several steps, and folds rows into the stream.
//!
//! ```text
//!   Interleaved    OutTime = [Time', columns]            OutPacket = Row # 8       one column of 8 rows per beat
//!   Sequential     OutTime = [Time', Row, columns / 8]   OutPacket = columns % 8   8 columns of one row per beat
//! ```
//!
//! `Time'` is `Time` without the axes that are summed.

use crate::command::AccumulationKind;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{
    CutRule, Expr, Factor, Factors, Pieces, Pool, Problem, Term, UNKNOWN, matched, modulo, normal, pad_to,
    product, stride, strip,
};
use crate::sequencer::{Config, Entry, Request, StreamPart};
use crate::spec;
use crate::text::Text;

/// The input of [`derive_accumulate`].
#[derive(Clone, Copy, Debug)]
pub struct AccumulateRequest {
    /// The order in which results leave.
    pub kind: AccumulationKind,
    /// Rows of the computation.
    pub row: &'static Expr,
    /// Time of the computation.
    pub time: &'static Expr,
    /// Columns that leave the tree.
    pub packet: &'static Expr,
    /// Time of the outgoing stream.
    pub out_time: &'static Expr,
    /// Packet of the outgoing stream: 8 lanes of 32 bits.
    pub out_packet: &'static Expr,
}

/// The derived configuration of an accumulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccumulateConfig {
    /// The order in which results leave.
    pub kind: AccumulationKind,
    /// Columns per row.
    pub columns: usize,
    /// The slot of each step: entries over time, with stride 0 for steps that are summed.
    pub slots: Config,
    /// Number of slots: positions of `Time'`.
    pub slot_count: usize,
    /// Columns (interleaved, at most 128) or rows (sequential, at most 32) that the buffer holds at once.
    pub buffer: usize,
}

impl AccumulateConfig {
    /// The most columns (interleaved) or rows (sequential) that the buffer holds.
    pub const fn buffer_limit(&self) -> usize {
        buffer_limit(self.kind)
    }

    /// Cells of 32 bits in use, of [`spec::ACCUMULATOR_CELLS`]. A column takes 8 rows and a row takes 32 columns, used
    /// or not.
    pub const fn buffer_cells(&self) -> usize {
        self.buffer * (spec::ACCUMULATOR_CELLS / self.buffer_limit())
    }
}

const fn buffer_limit(kind: AccumulationKind) -> usize {
    match kind {
        AccumulationKind::Interleaved => spec::ACCUMULATOR_INTERLEAVED,
        AccumulationKind::Sequential => spec::ACCUMULATOR_SEQUENTIAL,
    }
}

/// The call, for messages.
pub const OPERATION: &str = "accumulate";

/// The mappings of an accumulate in normal form.
struct Sides {
    row: Factors,
    time: Factors,
    packet: Factors,
    out_time: Factors,
    out_packet: Factors,
}

impl Sides {
    /// Normalises the mappings. `forms` are their known normal forms, in the order of the request.
    const fn new(
        pool: &mut Pool,
        request: &AccumulateRequest,
        forms: [&Factors; 5],
    ) -> Result<Self, PlanError> {
        Ok(Self {
            row: normal!(forms[0], OPERATION, pool, request.row),
            time: normal!(forms[1], OPERATION, pool, request.time),
            packet: normal!(forms[2], OPERATION, pool, request.packet),
            out_time: normal!(forms[3], OPERATION, pool, request.out_time),
            out_packet: normal!(forms[4], OPERATION, pool, request.out_packet),
        })
    }
}

/// Checks the mappings of an accumulate and derives the slot of each step.
pub const fn derive_accumulate(request: &AccumulateRequest) -> Result<AccumulateConfig, PlanError> {
    let mut pool = Pool::new();
    let sides = attempt!(Sides::new(&mut pool, request, [UNKNOWN; 5]));
    accumulate(&mut pool, request, &sides)
}

/// The configurations of the interleaved and of the sequential kind, or `None` for a kind that the mappings do not fit.
/// The reason is not put into words, which takes long in const code.
pub const fn derive_kinds(
    interleaved: &AccumulateRequest,
    sequential: &AccumulateRequest,
    forms: [&Factors; 5],
) -> [Option<AccumulateConfig>; 2] {
    let mut pool = Pool::new();
    let mut plans = [None, None];
    let Ok(sides) = Sides::new(&mut pool, interleaved, forms) else { return plans };
    let requests = [interleaved, sequential];
    each!(k < 2, {
        if lanes(&mut pool, requests[k].kind, &sides).is(&sides.out_packet)
            && let Ok(config) = accumulate(&mut pool, requests[k], &sides)
        {
            plans[k] = Some(config);
        }
    });
    plans
}

/// The outgoing packet that a kind requires.
const fn lanes(pool: &mut Pool, kind: AccumulationKind, sides: &Sides) -> Factors {
    match kind {
        AccumulationKind::Interleaved => pad_to(&sides.row, spec::BEAT_LANES),
        AccumulationKind::Sequential => {
            let columns = strip(&sides.packet);
            modulo(pool, &pad_to(&columns, columns.size.div_ceil(8) * 8), 8)
        }
    }
}

const fn accumulate(
    pool: &mut Pool,
    request: &AccumulateRequest,
    sides: &Sides,
) -> Result<AccumulateConfig, PlanError> {
    let Sides { row, time, packet, out_time, out_packet } = sides;
    let kind = kind_name(request.kind);
    let columns = strip(packet);
    let count = columns.size;
    if packet.size > spec::ACCUMULATOR_COLUMNS {
        refuse!(
            "accumulate columns",
            "accumulate, {}: the packet {} has {} columns, but at most {} leave the tree; \
             help: reduce more in `.contract()`",
            (kind, request.packet, packet.size, spec::ACCUMULATOR_COLUMNS),
        );
    }
    // The innermost part of OutTime, and OutPacket, must be those that the kind requires. A refusal of one names both.
    let lanes = lanes(pool, request.kind, sides);
    let tail = match request.kind {
        AccumulationKind::Interleaved => columns,
        AccumulationKind::Sequential => {
            let groups = stride(pool, &pad_to(&columns, count.div_ceil(8) * 8), 8);
            product(pool, row, &groups)
        }
    };
    let (of_lanes, of_tail) = match request.kind {
        AccumulationKind::Interleaved => ("the rows padded to 8", "the columns of the packet"),
        AccumulationKind::Sequential => {
            ("the inner 8 columns of the packet", "the rows and groups of 8 columns")
        }
    };
    if out_packet.size != spec::BEAT_LANES {
        refuse!(
            "accumulate lanes",
            "accumulate, {}: OutPacket {} has {} lanes, but a beat has {}; \
             help: write {}, {}{}",
            kind,
            request.out_packet,
            out_packet.size,
            spec::BEAT_LANES,
            factors(pool, &lanes),
            of_lanes,
            &ending(pool, &tail, of_tail),
        );
    }
    if !lanes.is(out_packet) {
        refuse!(
            "accumulate packet",
            "accumulate, {}: OutPacket is {}, but must be {}, {}; help: use it{}",
            (kind, request.out_packet, factors(pool, &lanes), of_lanes, &ending(pool, &tail, of_tail)),
        );
    }
    if !out_time.size.is_multiple_of(tail.size) || !modulo(pool, out_time, tail.size).is(&tail) {
        refuse!(
            "accumulate time tail",
            "accumulate, {}: OutTime is {}, but must end in {}, {}; help: append it innermost",
            (kind, request.out_time, factors(pool, &tail), of_tail),
        );
    }
    let kept = stride(pool, out_time, tail.size);
    // If the innermost axes are summed, which is the usual case, the slots follow at once. Padding without an axis is
    // no axis to sum: it is left to the full check, which refuses it.
    let summed = if time.size.is_multiple_of(kept.size) { time.size / kept.size } else { 1 };
    let innermost = innermost_padding(time) == 1 && stride(pool, time, summed).is(&kept);
    let slots = if innermost {
        let mut slots = Config::new(1);
        slots.entries.push(Entry { size: kept.size, stride: 1 });
        slots.entries.push(Entry { size: summed, stride: 0 });
        Slots { slots, inside: 1, outermost: None }
    } else {
        attempt!(check_kept(pool, request, time, &kept))
    };
    let inner = slots.inside;
    let limit = buffer_limit(request.kind);
    let buffer = match request.kind {
        AccumulationKind::Interleaved => inner * count,
        AccumulationKind::Sequential => inner * row.size * count.div_ceil(8),
    };
    if buffer > limit {
        let parts = match request.kind {
            AccumulationKind::Interleaved => {
                text!("{} columns in the buffer, {} x {}", (buffer, inner, count))
            }
            AccumulationKind::Sequential => {
                text!("{} rows in the buffer, {} x {} x {}", (buffer, inner, row.size, count.div_ceil(8)))
            }
        };
        let move_inward = match &slots.outermost {
            Some((term, resize)) => text!(
                "move {}, the outermost axis that is summed, inward in `Time`, ",
                term(pool, term, *resize),
            ),
            None => text!(""),
        };
        refuse!(
            "accumulate buffer",
            "accumulate, {}: summing {} down to {} needs {}, but it holds {}; \
             help: {}use the other kind or fewer rows, or reduce the packet more in `.contract()`",
            (kind, request.time, factors(pool, &kept), &parts, limit, &move_inward),
        );
    }
    Ok(AccumulateConfig {
        kind: request.kind,
        columns: count,
        slots: slots.slots,
        slot_count: kept.size,
        buffer,
    })
}

/// The end that `OutTime` must have, for the message about `OutPacket`. Nothing is said of an end that is `m![1]`.
const fn ending(pool: &Pool, tail: &Factors, of_tail: &str) -> Text {
    if tail.size == 1 {
        return Text::new();
    }
    text!(", and let OutTime end in {}, {}", (factors(pool, tail), of_tail))
}

/// The refusal of a kind, with the other kind, which the mappings fit.
pub const fn with_other_kind(error: &PlanError, other: AccumulationKind) -> PlanError {
    PlanError::new(
        error.rule(),
        text!(
            "{}; or write `AccumulationKind::{}`, which these mappings fit",
            (error.message(), kind_name(other))
        ),
    )
}

/// Number of positions of padding without an axis that are innermost; 1 if there is none.
pub const fn innermost_padding(factors: &Factors) -> usize {
    if factors.is_empty() {
        return 1;
    }
    match factors.item(0) {
        Factor::Padding { size, .. } => *size,
        Factor::Term { .. } => 1,
    }
}

/// The loops over the slots as a sequencer would derive them, for explanations. `one` is the mapping `1`.
pub const fn slot_loops<'a>(time: StreamPart<'a>, kept: &'a Factors, one: &'a Factors) -> Request<'a> {
    Request { partial: true, ..Request::new("accumulate, slots", kept, time, StreamPart::Factors(one)) }
}

/// The rules in the order in which they are checked.
const RULES: [&str; 7] = [
    "accumulate columns",
    "accumulate lanes",
    "accumulate packet",
    "accumulate time tail",
    "accumulate axis",
    "accumulate order",
    "accumulate padding",
];

/// Number of rules that hold before the broken one.
pub const fn progress(error: &PlanError) -> usize {
    let mut k = 0;
    while k < RULES.len() && !crate::text::same(RULES[k], error.rule()) {
        k += 1;
    }
    k
}

const fn kind_name(kind: AccumulationKind) -> &'static str {
    match kind {
        AccumulationKind::Interleaved => "Interleaved",
        AccumulationKind::Sequential => "Sequential",
    }
}

/// The slots to which steps are added.
struct Slots {
    slots: Config,
    /// Number of positions of kept digits inside the outermost removed one.
    inside: usize,
    /// The outermost removed digit, and the number of its values.
    outermost: Option<(Term, usize)>,
}

/// Checks that `kept` is `time` without some digits, in order and with its padding, and derives the slots of the steps.
const fn check_kept(
    pool: &Pool,
    request: &AccumulateRequest,
    time: &Factors,
    kept: &Factors,
) -> Result<Slots, PlanError> {
    let kind = kind_name(request.kind);
    let sides = (Pieces::new(&[time]), Pieces::new(&[kept]));
    let cut = matched(pool, sides.0, sides.1, [CutRule::Exact; 2]);
    each_back!(k < cut.divisor.list.len, {
        let piece = cut.divisor.list.items[k];
        if let Factor::Term { term, resize } = piece.factor
            && !piece.matched
        {
            refuse!(
                "accumulate axis",
                "accumulate, {}: OutTime has {}, which Time {} does not have: OutTime keeps {}; \
                 help: remove it: time axes can only be kept or summed here",
                (kind, term(pool, &term, resize), request.time, factors(pool, kept)),
            );
        }
    });
    // Pairs come with the outermost divisor piece first, so their dividend pieces must come outermost first, too.
    each!((k = 1) < cut.pairs.len, {
        if cut.pairs.items[k].0 >= cut.pairs.items[k - 1].0 {
            refuse!(
                "accumulate order",
                "accumulate, {}: OutTime keeps {} of Time {} in another order; help: keep the order of the stream",
                (kind, factors(pool, kept), request.time),
            );
        }
    });
    let mut expected = Factors::ONE;
    let mut loops = Loops::new();
    let mut inside = 1;
    let mut removed = None;
    each!(k < cut.dividend.list.len, {
        let piece = cut.dividend.list.items[k];
        match piece.factor {
            Factor::Term { term, resize } if piece.matched => {
                loops.outside(resize, expected.size as isize);
                expected.push_term(pool, term, resize);
            }
            Factor::Term { term, resize } => {
                loops.outside(resize, 0);
                removed = Some((term, resize));
                inside = expected.size;
            }
            Factor::Padding { size, .. } => match loops.pad(size) {
                // Padding goes with the part that it pads: a digit, digits that are kept or summed as a whole, or
                // nothing.
                Some(Entry { stride: 0, .. }) => {}
                Some(Entry { size, stride }) => {
                    expected.push_padding(size * stride as usize);
                }
                None => {
                    refuse!(
                        "accumulate padding",
                        "accumulate, {}: OutTime keeps {} of Time {}, which pads a group to {} steps; help: keep or sum all \
                         of the group, or pad its outermost axis instead",
                        (kind, factors(pool, kept), request.time, size),
                    );
                }
            },
        }
    });
    if !expected.is(kept) {
        refuse!(
            "accumulate padding",
            "accumulate, {}: OutTime keeps {} of Time {}, but with the padding of Time it is {}; \
             help: copy the padding of Time",
            (kind, factors(pool, kept), request.time, factors(pool, &expected)),
        );
    }
    if loops.loops.entries.overflowed {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    }
    Ok(Slots { slots: loops.config(), inside, outermost: removed })
}

/// The loops over slots under construction, innermost first.
struct Loops {
    loops: Config,
    /// Number of steps of the loops.
    steps: usize,
}

impl Loops {
    const fn new() -> Self {
        Self { loops: Config::new(1), steps: 1 }
    }

    /// Adds a loop outside all others. It is joined with the outermost one if a single loop does for both.
    const fn outside(&mut self, size: usize, stride: isize) {
        self.steps *= size;
        if let Some(last) = self.loops.entries.len.checked_sub(1) {
            let inner = self.loops.entries.items[last];
            if stride == inner.size as isize * inner.stride {
                self.loops.entries.set(last, Entry { size: inner.size * size, ..inner });
                return;
            }
        }
        self.loops.entries.push(Entry { size, stride });
    }

    /// Pads the loops to `steps` steps, by more turns of the outermost loop, and returns that loop. `None` if no number
    /// of turns gives `steps`.
    const fn pad(&mut self, steps: usize) -> Option<Entry> {
        let Some(last) = self.loops.entries.len.checked_sub(1) else {
            // Padding of nothing: slots of its own, which hold no element.
            let entry = Entry { size: steps, stride: 1 };
            self.loops.entries.push(entry);
            self.steps = steps;
            return Some(entry);
        };
        let outer = self.loops.entries.items[last];
        let inner = self.steps / outer.size;
        if !steps.is_multiple_of(inner) {
            return None;
        }
        let entry = Entry { size: steps / inner, ..outer };
        self.loops.entries.set(last, entry);
        self.steps = steps;
        Some(entry)
    }

    /// The loops outermost first.
    const fn config(&self) -> Config {
        let mut config = Config::new(1);
        each_back!(k < self.loops.entries.len, {
            config.entries.push(self.loops.entries.items[k]);
        });
        config
    }
}
