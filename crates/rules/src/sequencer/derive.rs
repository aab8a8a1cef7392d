//! Derivation of loops from mappings: the walk of a stream over a buffer.
//!
//! The stream and the buffer are cut at the same places ([`matched`]). A digit of the stream whose partner is in the
//! buffer becomes a loop; its stride is the number of positions inside the partner:
//!
//! ```text
//! Buf = m![A, B, C # 32]          Time = m![B, A], Packet = m![C # 16]      (A = B = C = 8)
//!
//!   digit     in Buf at           entry
//!   B         stride 32           8 : 32
//!   A         stride 256          8 : 256
//!   C # 16    stride 1            16 : 1     (padding enlarges the loop)
//! ```
//!
//! The lead of a composite is read as well: the loops start before the buffer, or inside it if the buffer has the
//! padding positions.
//!
//! ```text
//! Buf = m![A, B # 96]             Time = m![A, [# 2 + B + # 4] / 32], Packet = m![[# 2 + B + # 4] % 32]      (B = 90)
//!
//!   [32 : 96, 3 : 32, 32 : 1] : 32 @ base -2
//! ```
//!
//! Equivalent mappings give the same loops in every notation, up to the number of entries that the hardware takes. If
//! the members of the lists need more entries, one per member, these entries are merged. A mask that counts in the
//! entries of the members asks for them ([`derive_members`]).

use super::config::{Config, Entry};
use super::loops::{Loops, NO_LOOPS, fit, join};
use super::refusals::{dropped, incompatible, insufficient, not_factorizable, too_many};
use super::request::{Job, Request};
use super::window::{place, read_axis};
use crate::error::{PlanError, attempt};
use crate::mapping::{Atom, CutRule, Expr, Factor, Factors, Matched, Pieces, Pool, Term, matched};
use crate::spec;

/// The levels of a stream as [`Pieces`] number them.
pub(super) const PACKET: usize = 0;
pub(super) const TIME: usize = 1;

/// Loops, with the number of loops that belong to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The loops.
    pub config: Config,
    /// Number of loops that belong to time: the outermost ones.
    pub time_entries: usize,
}

/// The loops that read the stream `[time, packet]` from the buffer, before limits.
pub const fn derive(pool: &mut Pool, request: &Request<'_>) -> Result<Derived, PlanError> {
    derive_in(pool, request, spec::SEQUENCER_ENTRIES)
}

/// As [`derive()`], with an entry for each member of a list, for callers that need entries that end with the members.
pub const fn derive_members(pool: &mut Pool, request: &Request<'_>) -> Result<Derived, PlanError> {
    derive_in(pool, request, 0)
}

/// As [`derive()`], with at most `entries` before each member has its own: see [`loops`].
const fn derive_in(pool: &mut Pool, request: &Request<'_>, entries: usize) -> Result<Derived, PlanError> {
    let job = attempt!(Job::new(pool, request));
    let mut matched = paired(pool, &job, &job.time, &job.packet);
    let loops = attempt!(loops(pool, &job, &mut matched, entries));
    Ok(derived(&job, &matched, &loops))
}

/// Record of a derivation, which explanations print.
pub(super) struct Trace {
    /// The stream, with levels [`PACKET`] and [`TIME`], and the buffer.
    pub(super) matched: Matched,
    /// The loops of each level, innermost first.
    pub(super) loops: [Loops; 2],
}

impl Trace {
    /// The record of [`derive()`].
    ///
    /// # Errors
    /// Its refusals.
    pub(super) fn new(pool: &mut Pool, job: &Job<'_>) -> Result<Self, PlanError> {
        let mut matched = paired(pool, job, &job.time, &job.packet);
        let loops = loops(pool, job, &mut matched, spec::SEQUENCER_ENTRIES)?;
        Ok(Self { matched, loops })
    }

    pub(super) fn derived(&self, job: &Job<'_>) -> Derived {
        derived(job, &self.matched, &self.loops)
    }
}

const fn derived(job: &Job<'_>, matched: &Matched, loops: &[Loops; 2]) -> Derived {
    let mut config = Config::new(job.packet.size);
    config.base = matched.divisor.starts[0];
    let entries = &mut config.entries;
    each_back!(level < TIME + 1, {
        let loops = &loops[level];
        each_back!(k < loops.len, {
            entries.push(loops.items[k]);
        });
    });
    Derived { config, time_entries: loops[TIME].len }
}

/// The loops of two sides that are cut at the same places. If the members of lists need more than `entries`, each member has an
/// entry, and `matched` is cut there too.
const fn loops(
    pool: &mut Pool,
    job: &Job<'_>,
    matched: &mut Matched,
    entries: usize,
) -> Result<[Loops; 2], PlanError> {
    if matched.overflowed() || pool.factors.overflowed() {
        return Err(too_many(job));
    }
    attempt!(within_the_first_values(pool, job, matched));
    let mut loops = attempt!(both_levels(pool, job, matched));
    if !job.request.unread {
        attempt!(nothing_dropped(pool, job, matched));
    }
    if cut_as_written(pool, job, matched, &loops, entries) {
        loops = attempt!(both_levels(pool, job, matched));
    }
    if matched.overflowed() || loops[TIME].len + loops[PACKET].len > super::DERIVED_ENTRIES {
        return Err(too_many(job));
    }
    Ok(loops)
}

/// The stream and the buffer, cut at the same places.
const fn paired(pool: &Pool, job: &Job<'_>, time: &Factors, packet: &Factors) -> Matched {
    // In place: const evaluation takes a while to copy them.
    let mut stream = Pieces::new(&[packet, time]);
    let mut buffer = Pieces::new(&[job.request.buf]);
    (stream.sliceable, buffer.movable) = (true, true);
    place(pool, &job.windows, &mut buffer, &stream);
    matched(pool, stream, buffer, [CutRule::Ragged; 2])
}

const fn both_levels(pool: &Pool, job: &Job<'_>, matched: &Matched) -> Result<[Loops; 2], PlanError> {
    let mut loops = [NO_LOOPS; 2];
    attempt!(nest(pool, job, matched, TIME, &mut loops[TIME]));
    attempt!(nest(pool, job, matched, PACKET, &mut loops[PACKET]));
    Ok(loops)
}

/// Adds the loops of time or of the packet.
const fn nest(
    pool: &Pool,
    job: &Job<'_>,
    matched: &Matched,
    level: usize,
    loops: &mut Loops,
) -> Result<(), PlanError> {
    let stream = &matched.dividend.list;
    // Number of the outermost digit among those of the stream, and the positions inside it.
    let mut origin = usize::MAX;
    let mut base = 1;
    let mut digits = 0;
    each!(k < stream.len, {
        let piece = &stream.items[k];
        match piece.factor {
            _ if piece.level != level => {}
            Factor::Term { term, resize } => {
                if piece.origin != origin {
                    if !fit(loops, piece.base) {
                        return Err(no_nest(pool, job, matched, level, piece.base));
                    }
                    origin = piece.origin;
                    base = piece.base;
                    digits += 1;
                }
                // A digit of one value has no loop.
                if resize > 1 {
                    let stride = match matched.partner(k) {
                        Some(partner) => matched.divisor.list.items[partner].base as isize,
                        None => {
                            attempt!(is_absent(pool, job, matched, &term, resize));
                            0
                        }
                    };
                    loops.push(Entry { size: resize, stride });
                }
            }
            Factor::Padding { size } if digits == 0 => {
                // A packet reads on, which keeps it contiguous; a time step repeats the read.
                loops.push(Entry { size, stride: if level == PACKET { 1 } else { 0 } });
            }
            Factor::Padding { size } => {
                if digits > 1 && (level == PACKET || !size.is_multiple_of(base)) {
                    join(loops);
                }
                if !fit(loops, size) {
                    return Err(no_nest(pool, job, matched, level, size));
                }
            }
        }
    });
    let size = if level == TIME { job.time.size } else { job.packet.size };
    if !fit(loops, size) {
        return Err(no_nest(pool, job, matched, level, size));
    }
    if loops.overflowed { Err(too_many(job)) } else { Ok(()) }
}

/// Refuses a digit without a partner if the buffer holds a part of it: such a digit is no broadcast.
const fn is_absent(
    pool: &Pool,
    job: &Job<'_>,
    matched: &Matched,
    term: &Term,
    resize: usize,
) -> Result<(), PlanError> {
    let buffer = &matched.divisor;
    if job.request.partial {
        return Ok(());
    }
    if buffer.holds(&term.atom) && is_covered(pool, buffer, term) {
        return Err(incompatible(pool, job, term, resize));
    }
    let held = buffer.holds(&term.atom) || read_axis(&job.windows, &term.atom);
    if held && !buffer.holds_in_composite(pool, &term.atom) {
        return Err(insufficient(pool, job, term, resize, "holds no such part of the axis"));
    }
    if buffer.touches(pool, &term.atom) {
        let mut whole = Factors::ONE;
        whole.append(Factor::Term { term: *term, resize });
        return Err(not_factorizable(pool, job, &whole));
    }
    if let Some(expr) = job.request.buf_expr
        && names_an_axis(pool, expr, &term.atom)
    {
        return Err(insufficient(pool, job, term, resize, "holds only the first value of it"));
    }
    Ok(())
}

/// True if an expression names an axis of an atom.
const fn names_an_axis(pool: &Pool, expr: &Expr, atom: &Atom) -> bool {
    let composite = match atom {
        Atom::Symbol(axis) => return axis.size > 1 && expr.mentions(axis),
        Atom::Composite(composite) => composite,
    };
    let content = pool.content(*composite);
    each!(k < content.len(), {
        if let Factor::Term { term, .. } = &content[k]
            && names_an_axis(pool, expr, &term.atom)
        {
            return true;
        }
    });
    false
}

/// True if the buffer's digits hold all values of a digit, with cuts at any places.
const fn is_covered(pool: &Pool, buffer: &Pieces, term: &Term) -> bool {
    let end = term.stride * term.modulo;
    let size = pool.atom_size(&term.atom);
    let mut at = term.stride;
    while at < end && at < size {
        let mut next = at;
        each!(k < buffer.list.len, {
            if let Some((held, _)) = buffer.digit(k)
                && held.atom.is(&term.atom)
                && held.stride <= at
                && next < held.stride * held.modulo
            {
                next = held.stride * held.modulo;
            }
        });
        if next == at {
            return false;
        }
        at = next;
    }
    true
}

/// Reason why the loops of a level do not walk over its first `positions` positions.
const fn no_nest(pool: &Pool, job: &Job<'_>, matched: &Matched, level: usize, positions: usize) -> PlanError {
    let factors = if level == TIME { &job.time } else { &job.packet };
    let mut walked = Factors::ONE;
    let mut digits = 0;
    let mut last = None;
    let mut k = 0;
    while k < factors.len() && factors.item(k).size_over(walked.size()) <= positions {
        if let Factor::Term { term, resize } = *factors.item(k) {
            digits += 1;
            last = Some((term, resize));
        }
        walked.append(*factors.item(k));
        k += 1;
    }
    match last {
        Some((term, resize)) if digits == 1 && matched.divisor.holds(&term.atom) => {
            incompatible(pool, job, &term, resize)
        }
        _ => not_factorizable(pool, job, &walked),
    }
}

/// Refuses a stream that goes past the first values of a digit if the buffer holds no more.
const fn within_the_first_values(pool: &Pool, job: &Job<'_>, matched: &Matched) -> Result<(), PlanError> {
    match matched.past_held_values() {
        Some((term, resize)) => {
            Err(insufficient(pool, job, &term, resize, "holds only the first values of it"))
        }
        None => Ok(()),
    }
}

/// Refuses a stream that leaves out a digit of the buffer. A digit counts as read if the stream takes one value of it.
const fn nothing_dropped(pool: &mut Pool, job: &Job<'_>, read: &Matched) -> Result<(), PlanError> {
    let Some((term, size)) = read.missing() else { return Ok(()) };
    let Request { time, packet, .. } = job.request;
    let (time, packet) = (time.uncut(pool), packet.uncut(pool));
    if time.problem().is_some() || packet.problem().is_some() {
        return Err(dropped(pool, job, &term, size));
    }
    match paired(pool, job, &time, &packet).missing() {
        Some((term, size)) => Err(dropped(pool, job, &term, size)),
        None => Ok(()),
    }
}

/// Cuts the stream where its members begin, if they need more than `most` entries. Otherwise returns false.
const fn cut_as_written(
    pool: &Pool,
    job: &Job<'_>,
    matched: &mut Matched,
    loops: &[Loops; 2],
    most: usize,
) -> bool {
    let (time, packet) = (job.request.time.members(), job.request.packet.members());
    let entries = loops[PACKET].len + loops[TIME].len;
    if entries + commas(packet) + commas(time) <= most {
        return false;
    }
    let more = inner_boundaries(packet, &loops[PACKET]) + inner_boundaries(time, &loops[TIME]);
    if more == 0 || entries + more <= most {
        return false;
    }
    cut_at_members(pool, matched, packet, 1, PACKET);
    cut_at_members(pool, matched, time, 1, TIME);
    true
}

/// Number of members of a list minus 1.
const fn commas(list: &Expr) -> usize {
    match list {
        Expr::Pair(outer, inner) => commas(outer) + commas(inner) + 1,
        _ => 0,
    }
}

/// Number of places where members of a list cut the loops.
const fn inner_boundaries(list: &Expr, loops: &Loops) -> usize {
    let (mut last, mut count) = (1, 0);
    count_boundaries(list, 1, loops, &mut last, &mut count);
    count
}

/// Goes through a list, which stands outside `inside` positions, innermost first. A member of one position adds no
/// boundary to the `last` one.
const fn count_boundaries(list: &Expr, inside: usize, loops: &Loops, last: &mut usize, count: &mut usize) {
    let Expr::Pair(outer, inner) = list else { return };
    count_boundaries(inner, inside, loops, last, count);
    let boundary = inside * inner.size();
    let mut k = 0;
    let mut end = 1;
    while k < loops.len && boundary != *last {
        let start = end;
        end *= loops.items[k].size;
        let between = start < boundary && boundary < end;
        if between && boundary.is_multiple_of(start) && end.is_multiple_of(boundary) {
            *count += 1;
        }
        k += 1;
    }
    *last = boundary;
    count_boundaries(outer, boundary, loops, last, count);
}

/// Cuts digits of a level, and their partners, where members of a list begin.
const fn cut_at_members(pool: &Pool, matched: &mut Matched, list: &Expr, inside: usize, level: usize) {
    let Expr::Pair(outer, inner) = list else { return };
    let boundary = inside * inner.size();
    cut_at_members(pool, matched, inner, inside, level);
    let mut k = 0;
    // A cut adds a piece.
    while k < matched.dividend.list.len {
        let piece = matched.dividend.list.items[k];
        if let Factor::Term { term, resize } = piece.factor
            && piece.level == level
            && piece.base < boundary
            && boundary < piece.base * resize
            && boundary.is_multiple_of(piece.base)
        {
            let at = term.stride * (boundary / piece.base);
            let cut = match matched.partner(k) {
                Some(partner) => matched.divisor.cut(pool, partner, at, CutRule::Ragged),
                None => true,
            };
            if cut && matched.dividend.cut(pool, k, at, CutRule::Ragged) {
                matched.pair_again();
            }
        }
        k += 1;
    }
    cut_at_members(pool, matched, outer, boundary, level);
}

#[cfg(test)]
#[path = "derive_tests.rs"]
mod tests;
