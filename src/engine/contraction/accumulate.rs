//! Reducer, temporal part: adds results of several steps, and folds rows into the stream.
//!
//! ```text
//!   Interleaved    OutTime = [Time', columns]            OutPacket = Row # 8       one column of 8 rows per beat
//!   Sequential     OutTime = [Time', Row, columns / 8]   OutPacket = columns % 8   8 columns of one row per beat
//! ```
//!
//! `Time'` is `Time` without the axes that are summed (spec page 40 §4.2).

use crate::command::AccumulationKind;
use crate::error::{PlanError, attempt};
use crate::mapping::factors_of;
use crate::mapping::{
    CutRule, Expr, Factor, Factors, LEAD_INSIDE, PaddingKind, Pieces, Pool, Problem, Term, matched, modulo,
    pad_to, product, stride, strip, write_term,
};
use crate::sequencer::{Config, Entry, Request, Stream};
use crate::spec;
use crate::text::Text;

/// What an accumulate is derived from.
#[derive(Clone, Copy, Debug)]
pub struct AccumulateRequest {
    /// How results leave.
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
    /// How results leave.
    pub kind: AccumulationKind,
    /// Columns per row.
    pub columns: usize,
    /// The slot of each step: entries over time, stride 0 where steps are summed.
    pub slots: Config,
    /// Slots: positions of `Time'`.
    pub slot_count: usize,
    /// What the buffer holds at once: columns (interleaved, at most 128) or rows (sequential, at most 32).
    pub buffer: usize,
}

impl AccumulateConfig {
    /// Columns (interleaved) or rows (sequential) that the buffer holds at most.
    pub const fn buffer_limit(&self) -> usize {
        buffer_limit(self.kind)
    }

    /// Cells of 32 bits in use, of [`spec::ACCUMULATOR_CELLS`]: a column has 8 rows, a row 32 columns, used or not.
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

pub(crate) const OPERATION: &str = "accumulate";

/// Checks the mappings of an accumulate and derives where each step is added.
pub const fn derive_accumulate(request: &AccumulateRequest) -> Result<AccumulateConfig, PlanError> {
    let mut pool = Pool::new();
    let row = attempt!(factors_of(OPERATION, &mut pool, request.row));
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_time = attempt!(factors_of(OPERATION, &mut pool, request.out_time));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let columns = strip(&packet);
    let count = columns.size();
    if packet.size() > spec::ACCUMULATOR_COLUMNS {
        let text = kind_text(request.kind)
            .str("the packet ")
            .mapping(request.packet)
            .str(" has ")
            .number(packet.size());
        let text = text.str(" columns, but at most ").number(spec::ACCUMULATOR_COLUMNS);
        return Err(PlanError::new(
            "accumulate columns",
            text.str(" leave the tree; help: reduce more in `.contract()`"),
        ));
    }
    if out_packet.size() != spec::BEAT_LANES {
        let text = kind_text(request.kind).str("OutPacket ").mapping(request.out_packet).str(" has ");
        let text = text.number(out_packet.size()).str(" lanes, but a beat has ").number(spec::BEAT_LANES);
        return Err(PlanError::new(
            "accumulate lanes",
            text.str("; help: pad with `# 8`, or split into `/ 8` and `% 8`"),
        ));
    }
    // The innermost part of OutTime, and OutPacket, that the kind asks for.
    let padded = pad_to(&columns, count.div_ceil(8) * 8);
    let lanes = match request.kind {
        AccumulationKind::Interleaved => pad_to(&row, spec::BEAT_LANES),
        AccumulationKind::Sequential => modulo(&mut pool, &padded, 8),
    };
    if !lanes.is(&pool, &out_packet) {
        let text =
            kind_text(request.kind).str("OutPacket is ").mapping(request.out_packet).str(", but must be ");
        let text = text.factors(&pool, &lanes);
        let text = match request.kind {
            AccumulationKind::Interleaved => text.str(", the rows padded to 8; help: use it"),
            AccumulationKind::Sequential => text.str(", the inner 8 columns of the packet; help: use it"),
        };
        return Err(PlanError::new("accumulate packet", text));
    }
    let tail = match request.kind {
        AccumulationKind::Interleaved => columns,
        AccumulationKind::Sequential => {
            let groups = stride(&mut pool, &padded, 8);
            product(&pool, &row, &groups)
        }
    };
    if !out_time.size().is_multiple_of(tail.size())
        || !modulo(&mut pool, &out_time, tail.size()).is(&pool, &tail)
    {
        let text =
            kind_text(request.kind).str("OutTime is ").mapping(request.out_time).str(", but must end in ");
        let text = text.factors(&pool, &tail);
        let text = match request.kind {
            AccumulationKind::Interleaved => {
                text.str(", the columns of the packet; help: append it innermost")
            }
            AccumulationKind::Sequential => {
                text.str(", the rows and groups of 8 columns; help: append it innermost")
            }
        };
        return Err(PlanError::new("accumulate time tail", text));
    }
    let kept = stride(&mut pool, &out_time, tail.size());
    // Where the innermost axes are summed, which is the usual case, the slots follow at once. Padding without an axis is
    // no axis to sum: it is left to the full check, which refuses it.
    let summed = if time.size().is_multiple_of(kept.size()) { time.size() / kept.size() } else { 1 };
    let innermost = innermost_padding(&time) == 1 && stride(&mut pool, &time, summed).is(&pool, &kept);
    let slots = if innermost {
        let mut slots = Config::new(1);
        slots.entries.push(Entry { size: kept.size(), stride: 1 });
        slots.entries.push(Entry { size: summed, stride: 0 });
        Slots { slots, inside: 1, outermost: None }
    } else {
        attempt!(check_kept(&pool, request, &time, &kept))
    };
    let inner = slots.inside;
    let limit = buffer_limit(request.kind);
    let buffer = match request.kind {
        AccumulationKind::Interleaved => inner * count,
        AccumulationKind::Sequential => inner * row.size() * count.div_ceil(8),
    };
    if buffer > limit {
        let text = kind_text(request.kind).str("summing ").mapping(request.time).str(" down to ");
        let text = text.factors(&pool, &kept).str(" needs ").number(buffer);
        let text = match request.kind {
            AccumulationKind::Interleaved => {
                text.str(" columns in the buffer, ").number(inner).str(" x ").number(count)
            }
            AccumulationKind::Sequential => {
                let text = text.str(" rows in the buffer, ").number(inner).str(" x ").number(row.size());
                text.str(" x ").number(count.div_ceil(8))
            }
        };
        let text = text.str(", but it holds ").number(limit).str("; help: move ");
        let text = match &slots.outermost {
            Some((term, resize)) => write_term(text.str("`m!["), &pool, term, *resize)
                .str("]`, the outermost axis that is summed, inward in `Time`, "),
            None => text,
        };
        return Err(PlanError::new(
            "accumulate buffer",
            text.str("use the other kind or fewer rows, or reduce the packet more in `.contract()`"),
        ));
    }
    Ok(AccumulateConfig {
        kind: request.kind,
        columns: count,
        slots: slots.slots,
        slot_count: kept.size(),
        buffer,
    })
}

/// Positions of padding without an axis that stand inside everything else; 1 if there is none.
pub(crate) const fn innermost_padding(factors: &Factors) -> usize {
    if factors.is_empty() {
        return 1;
    }
    match factors.item(0) {
        Factor::Padding { size, .. } => *size,
        Factor::Term { .. } | Factor::Lead { .. } => 1,
    }
}

/// The loops over the slots as a sequencer would derive them, for explanations: `one` is the mapping `1`.
pub(crate) const fn slot_loops<'a>(time: Stream<'a>, kept: &'a Factors, one: &'a Factors) -> Request<'a> {
    Request {
        operation: "accumulate, slots",
        buf: kept,
        time,
        packet: Stream::Factors(one),
        partial: true,
        unread: false,
        names: Request::TIME_AND_PACKET,
    }
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

/// How many rules held before the one that was broken.
pub(super) const fn progress(error: &PlanError) -> usize {
    let mut k = 0;
    while k < RULES.len() && !crate::text::same(RULES[k], error.rule()) {
        k += 1;
    }
    k
}

const fn kind_text(kind: AccumulationKind) -> Text {
    match kind {
        AccumulationKind::Interleaved => Text::new().str("accumulate, Interleaved: "),
        AccumulationKind::Sequential => Text::new().str("accumulate, Sequential: "),
    }
}

/// Where steps are added.
struct Slots {
    slots: Config,
    /// Positions of kept digits inside the outermost removed one.
    inside: usize,
    /// The outermost removed digit, and how many of its values there are.
    outermost: Option<(Term, usize)>,
}

/// Checks that `kept` is `time` without some digits, in order and with its padding, and derives the slots of the steps.
const fn check_kept(
    pool: &Pool,
    request: &AccumulateRequest,
    time: &Factors,
    kept: &Factors,
) -> Result<Slots, PlanError> {
    let sides = (Pieces::new(&[time]), Pieces::new(&[kept]));
    let cut = matched(pool, sides.0, sides.1, (CutRule::Exact, Some(CutRule::Exact)));
    let mut k = cut.divisor.list.len();
    while k > 0 {
        k -= 1;
        let piece = cut.divisor.list.at(k);
        if let Factor::Term { term, resize } = piece.factor
            && !piece.matched
        {
            let text = write_term(kind_text(request.kind).str("OutTime has `m!["), pool, &term, resize);
            let text =
                text.str("]`, which Time ").mapping(request.time).str(" does not have: OutTime keeps ");
            let text = text.factors(pool, kept);
            return Err(PlanError::new(
                "accumulate axis",
                text.str("; help: remove it: time axes can only be kept or summed here"),
            ));
        }
    }
    // Pairs come outermost divisor piece first: their dividend pieces must come outermost first, too.
    let mut k = 1;
    while k < cut.pairs.len() {
        if cut.pairs.at(k).0 >= cut.pairs.at(k - 1).0 {
            let text = kind_text(request.kind).str("OutTime keeps ").factors(pool, kept).str(" of Time ");
            let text = text.mapping(request.time).str(" in another order");
            return Err(PlanError::new("accumulate order", text.str("; help: keep the order of the stream")));
        }
        k += 1;
    }
    let mut expected = Factors::one();
    let mut loops = Loops::new();
    let mut inside = 1;
    let mut removed = None;
    let mut k = 0;
    while k < cut.dividend.list.len() {
        let piece = cut.dividend.list.at(k);
        match piece.factor {
            Factor::Term { term, resize } if piece.matched => {
                loops.outside(resize, expected.size() as isize);
                expected.push_term(pool, term, resize);
            }
            Factor::Term { term, resize } => {
                loops.outside(resize, 0);
                removed = Some((term, resize));
                inside = expected.size();
            }
            Factor::Padding { size, .. } => match loops.pad(size) {
                // Padding goes with what it pads: a digit, a group of which all is kept or all is summed, or nothing.
                Some(Entry { stride: 0, .. }) => {}
                Some(Entry { size, stride }) => {
                    expected.push_padding(size * stride as usize, PaddingKind::Top);
                }
                None => {
                    let text =
                        kind_text(request.kind).str("OutTime keeps ").factors(pool, kept).str(" of Time ");
                    let text = text.mapping(request.time).str(", which pads a group to ").number(size);
                    let help =
                        " steps; help: keep or sum all of the group, or pad its outermost axis instead";
                    return Err(PlanError::new("accumulate padding", text.str(help)));
                }
            },
            Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
        }
        k += 1;
    }
    if !expected.is(pool, kept) {
        let text = kind_text(request.kind).str("OutTime keeps ").factors(pool, kept).str(" of Time ");
        let text =
            text.mapping(request.time).str(", but with the padding of Time it is ").factors(pool, &expected);
        return Err(PlanError::new("accumulate padding", text.str("; help: copy the padding of Time")));
    }
    if loops.loops.entries.overflowed() {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    }
    Ok(Slots { slots: loops.config(), inside, outermost: removed })
}

/// The loops over slots under construction, innermost first.
struct Loops {
    loops: Config,
    /// Steps that the loops walk over.
    steps: usize,
}

impl Loops {
    const fn new() -> Self {
        Self { loops: Config::new(1), steps: 1 }
    }

    /// A loop outside everything that is there, joined with it where one loop does for both.
    const fn outside(&mut self, size: usize, stride: isize) {
        self.steps *= size;
        if let Some(last) = self.loops.entries.len().checked_sub(1) {
            let inner = self.loops.entries.at(last);
            if stride == inner.size as isize * inner.stride {
                self.loops.entries.set(last, Entry { size: inner.size * size, ..inner });
                return;
            }
        }
        self.loops.entries.push(Entry { size, stride });
    }

    /// Pads what is there to so many steps, by more turns of the outermost loop, and returns that loop. `None`: no number
    /// of turns makes them.
    const fn pad(&mut self, steps: usize) -> Option<Entry> {
        let Some(last) = self.loops.entries.len().checked_sub(1) else {
            // Padding of nothing: slots of their own, which hold nothing.
            let entry = Entry { size: steps, stride: 1 };
            self.loops.entries.push(entry);
            self.steps = steps;
            return Some(entry);
        };
        let outer = self.loops.entries.at(last);
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
        let mut k = self.loops.entries.len();
        while k > 0 {
            k -= 1;
            config.entries.push(self.loops.entries.at(k));
        }
        config
    }
}
