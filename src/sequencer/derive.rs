//! From mappings to loops: how a stream walks over a buffer (spec page 20 §3).
//!
//! Every digit of the stream is looked up in the buffer. Where the buffer holds the same part of the axis, the digit
//! becomes a loop whose stride is the distance of neighbouring coordinates in the buffer:
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
//! Dead positions before a block are read as well: the loops start before the buffer, or inside it where the buffer is
//! what has them.
//!
//! ```text
//! Buf = m![A, B # 96]             Time = m![A, [# 2 + B + # 4] / 32], Packet = m![[# 2 + B + # 4] % 32]      (B = 90)
//!
//!   [32 : 96, 3 : 32, 32 : 1] : 32 @ base -2
//! ```

use super::config::{Config, DERIVED_ENTRIES, Entry};
use super::held::{Reading, read_runs};
use super::held_digits::{Buffer, is_read, touches};
use super::refusals::{dropped, healthy, incompatible, insufficient, not_factorizable, too_many};
use super::request::{Digit, Job, Request, Stream, no_repeats};
use crate::error::{PlanError, attempt};
use crate::list::List;
use crate::mapping::{
    Atom, Expr, Factor, Factors, LEAD_INSIDE, Pool, factorize, least, number_copies, size_of_factors,
};

const NO_ENTRY: Entry = Entry { size: 1, stride: 0 };

/// Loops, with the number of those that belong to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The loops.
    pub config: Config,
    /// How many of them, outermost first, belong to time.
    pub time_entries: usize,
}

/// The loops that read the stream `[time, packet]` from the buffer, before limits.
pub const fn derive(pool: &mut Pool, request: &Request<'_>) -> Result<Derived, PlanError> {
    let operation = request.operation;
    let mut stream = [request.packet.factors(pool), request.time.factors(pool)];
    attempt!(healthy(operation, request.buf));
    attempt!(healthy(operation, &stream[1]));
    attempt!(healthy(operation, &stream[0]));
    let copies = number_copies(pool, &mut stream);
    let Request { buf, partial, unread, names, .. } = *request;
    let [packet, time] = stream;
    let job = Job { operation, buf, time, packet, copies, partial, names };
    attempt!(no_repeats(pool, &job));
    let refused = match by_digits(pool, &job, request) {
        Ok(derived) => return Ok(derived),
        Err(refused) if crate::text::same(refused.rule(), "too many factors") => return Err(refused),
        Err(refused) => refused,
    };
    let Job { time, packet, .. } = &job;
    let reading = Reading { buf, time, packet, partial, unread };
    let packet_size = packet.size();
    match read_runs(pool, &reading) {
        Some(Ok((entries, time_entries))) => {
            Ok(Derived { config: Config { entries, packet_size, base: 0 }, time_entries })
        }
        Some(Err(unread)) => Err(dropped(pool, &job, &unread.term, unread.held)),
        None => Err(refused),
    }
}

/// The loops of a stream of which each digit is a digit, or digits, of the buffer.
const fn by_digits(pool: &mut Pool, job: &Job<'_>, request: &Request<'_>) -> Result<Derived, PlanError> {
    let mut buf = [*request.buf];
    number_copies(pool, &mut buf);
    let mut buffer = Buffer::new(pool, &buf[0]);
    if buffer.blocks.overflowed() {
        return Err(too_many(job.operation));
    }
    let mut entries = List::new(NO_ENTRY);
    attempt!(stream_part(pool, job, &mut buffer, &request.time, false, &mut entries));
    let time_entries = entries.len();
    attempt!(stream_part(pool, job, &mut buffer, &request.packet, true, &mut entries));
    let own = number_of_terms(request.buf.as_slice());
    buffer.start_in_singles(pool, own);
    if !request.unread {
        attempt!(nothing_dropped(pool, job, &buffer, own));
    }
    if entries.overflowed() || buffer.held.overflowed() {
        return Err(too_many(job.operation));
    }
    Ok(Derived {
        config: Config { entries, packet_size: job.packet.size(), base: buffer.base },
        time_entries,
    })
}

/// Appends the loops of time or of the packet: member by member, or, where that is not possible, as a whole.
const fn stream_part(
    pool: &mut Pool,
    job: &Job<'_>,
    buffer: &mut Buffer,
    stream: &Stream<'_>,
    is_packet: bool,
    entries: &mut List<Entry, DERIVED_ENTRIES>,
) -> Result<(), PlanError> {
    let whole = if is_packet { &job.packet } else { &job.time };
    let Stream::Expr(expr) = stream else {
        return part(pool, job, buffer, whole, is_packet, entries);
    };
    let Expr::Pair(..) = expr else {
        return part(pool, job, buffer, whole, is_packet, entries);
    };
    // A member does not know which of several equal blocks it holds.
    if job.copies {
        return part(pool, job, buffer, whole, is_packet, entries);
    }
    let (count, before) = (entries.len(), *buffer);
    match members(pool, job, buffer, expr, is_packet, entries) {
        Ok(()) => Ok(()),
        Err(error) => {
            entries.truncate(count);
            *buffer = before;
            match part(pool, job, buffer, whole, is_packet, entries) {
                Ok(()) => Ok(()),
                Err(_) => Err(error),
            }
        }
    }
}

/// Appends the loops of each member of a list.
const fn members(
    pool: &mut Pool,
    job: &Job<'_>,
    buffer: &mut Buffer,
    expr: &Expr,
    is_packet: bool,
    entries: &mut List<Entry, DERIVED_ENTRIES>,
) -> Result<(), PlanError> {
    if let Expr::Pair(left, right) = expr {
        attempt!(members(pool, job, buffer, left, is_packet, entries));
        return members(pool, job, buffer, right, is_packet, entries);
    }
    let factors = factorize(pool, expr);
    part(pool, job, buffer, &factors, is_packet, entries)
}

/// Appends the loops of one member.
const fn part(
    pool: &Pool,
    request: &Job<'_>,
    buffer: &mut Buffer,
    factors: &Factors,
    is_packet: bool,
    entries: &mut List<Entry, DERIVED_ENTRIES>,
) -> Result<(), PlanError> {
    let list = factors.as_slice();
    let mut k = list.len();
    let mut extent = 0; // positions of the padded block that the next digit is the outermost of
    while k > 0 {
        k -= 1;
        let inner = list.split_at(k).0;
        match list[k] {
            Factor::Padding { size, .. } => {
                if extent == 0 {
                    extent = size;
                }
                if inner.is_empty() {
                    entries.push(padding_entry(extent, is_packet));
                    return Ok(());
                }
                let group = number_of_terms(inner) > 1;
                let divisible = extent.is_multiple_of(base_of_last_term(inner));
                if group && (is_packet || !divisible) {
                    let first = entries.len();
                    attempt!(block(pool, request, buffer, inner, 0, is_packet, entries));
                    if entries.overflowed() {
                        return Err(too_many(request.operation));
                    }
                    if let Some(stride) = one_run(entries, first) {
                        entries.truncate(first);
                        entries.push(Entry { size: extent, stride });
                        return Ok(());
                    }
                    if !divisible {
                        return Err(not_factorizable(pool, request, factors));
                    }
                    let outer = entries.at(first);
                    let others = loops_inside(entries, first);
                    if !extent.is_multiple_of(others) {
                        return Err(not_factorizable(pool, request, factors));
                    }
                    entries.set(first, Entry { size: extent / others, stride: outer.stride });
                    return Ok(());
                }
            }
            Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
            Factor::Term { .. } => {
                return block(pool, request, buffer, list.split_at(k + 1).0, extent, is_packet, entries);
            }
        }
    }
    Ok(())
}

/// A loop over padding alone. A packet reads on, which keeps it contiguous; a time step reads the same again.
const fn padding_entry(size: usize, is_packet: bool) -> Entry {
    Entry { size, stride: if is_packet { 1 } else { 0 } }
}

const fn number_of_terms(factors: &[Factor]) -> usize {
    let mut count = 0;
    let mut k = 0;
    while k < factors.len() {
        if let Factor::Term { .. } = factors[k] {
            count += 1;
        }
        k += 1;
    }
    count
}

const fn base_of_last_term(factors: &[Factor]) -> usize {
    let mut k = factors.len();
    while k > 0 {
        k -= 1;
        if let Factor::Term { .. } = factors[k] {
            return size_of_factors(factors.split_at(k).0);
        }
    }
    1
}

/// The stride of the single run that the entries from `first` on make, if they do. There is at least one.
const fn one_run(entries: &List<Entry, DERIVED_ENTRIES>, first: usize) -> Option<isize> {
    let mut k = first + 1;
    while k < entries.len() {
        let (outer, inner) = (entries.at(k - 1), entries.at(k));
        if !outer.continues(&inner) {
            return None;
        }
        k += 1;
    }
    Some(entries.at(entries.len() - 1).stride)
}

const fn loops_inside(entries: &List<Entry, DERIVED_ENTRIES>, first: usize) -> usize {
    let mut product = 1;
    let mut k = first + 1;
    while k < entries.len() {
        product *= entries.at(k).size;
        k += 1;
    }
    product
}

/// Appends the loops of factors whose outermost is a term. `extent`: positions of the whole block with padding, or 0.
const fn block(
    pool: &Pool,
    request: &Job<'_>,
    buffer: &mut Buffer,
    factors: &[Factor],
    extent: usize,
    is_packet: bool,
    entries: &mut List<Entry, DERIVED_ENTRIES>,
) -> Result<(), PlanError> {
    let mut extent = extent;
    let mut k = factors.len();
    while k > 0 {
        k -= 1;
        let base = size_of_factors(factors.split_at(k).0);
        match factors[k] {
            Factor::Padding { size, .. } => {
                if k == 0 {
                    entries.push(padding_entry(size, is_packet));
                }
                extent = size;
            }
            Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
            Factor::Term { term, resize } => {
                let size = if extent == 0 { resize } else { extent / base };
                if extent != 0 && !extent.is_multiple_of(base) {
                    let mut whole = Factors::one();
                    whole.push_all(pool, factors);
                    return Err(not_factorizable(pool, request, &whole));
                }
                attempt!(digit(pool, request, buffer, Digit { term, resize, extent: size }, entries));
                extent = 0;
            }
        }
    }
    Ok(())
}

/// Appends the loops of one digit.
const fn digit(
    pool: &Pool,
    request: &Job<'_>,
    buffer: &mut Buffer,
    digit: Digit,
    entries: &mut List<Entry, DERIVED_ENTRIES>,
) -> Result<(), PlanError> {
    let atom = digit.term.atom;
    if let Atom::Composite(composite) = atom
        && !buffer.holds(&atom)
    {
        buffer.lift(pool, request.buf, composite);
    }
    if !buffer.holds(&atom) {
        if touches(pool, request.buf, &atom) {
            let mut whole = Factors::one();
            whole.push_term(pool, digit.term, digit.resize);
            return Err(not_factorizable(pool, request, &whole));
        }
        entries.push(Entry { size: digit.extent, stride: 0 });
        return Ok(());
    }
    if pool.single(&atom).is_none() {
        return held_digit(pool, request, buffer, digit, entries);
    }
    let (count, before) = (entries.len(), *buffer);
    if held_digit(pool, request, buffer, digit, entries).is_err() {
        // Cut at other places. All of its positions may read the one element.
        entries.truncate(count);
        *buffer = before;
        entries.push(Entry { size: digit.extent, stride: 0 });
    }
    Ok(())
}

/// Appends the loops of one digit, of an atom that the buffer holds.
const fn held_digit(
    pool: &Pool,
    request: &Job<'_>,
    buffer: &mut Buffer,
    digit: Digit,
    entries: &mut List<Entry, DERIVED_ENTRIES>,
) -> Result<(), PlanError> {
    let atom = digit.term.atom;
    let first = entries.len();
    let mut at = digit.term.stride;
    let mut rest = digit.resize;
    let mut modulo = digit.term.modulo;
    let mut extent = digit.extent;
    loop {
        let Some(position) = buffer.find(&atom, at) else {
            if request.partial {
                entries.insert(first, Entry { size: extent, stride: 0 });
                return Ok(());
            }
            return Err(insufficient(pool, request, &digit, "holds no such part of the axis"));
        };
        let mut held = buffer.held.at(position);
        let reaches_top = held.term.modulo >= pool.live(&atom, held.term.stride);
        if !at.is_multiple_of(held.term.stride) {
            return Err(incompatible(pool, request, &digit));
        }
        let step = at / held.term.stride;
        let stride = (step * held.base) as isize;
        let available = held.term.modulo.div_ceil(step);
        // No digit of the stream goes past the end of its axis.
        if reaches_top || step * rest <= held.term.modulo {
            if held.resize < held.term.modulo && step * rest > held.resize {
                return Err(insufficient(pool, request, &digit, "holds only the first values of it"));
            }
            held.read *= least(modulo, available);
            buffer.held.set(position, held);
            buffer.start_in(held.block);
            entries.insert(first, Entry { size: extent, stride });
            return Ok(());
        }
        // Padding may fill up the last turn of the outer loop.
        if !held.term.modulo.is_multiple_of(step) || !extent.is_multiple_of(available) {
            return Err(incompatible(pool, request, &digit));
        }
        if held.resize < held.term.modulo {
            return Err(insufficient(pool, request, &digit, "holds only the first values of it"));
        }
        held.read *= available;
        buffer.held.set(position, held);
        buffer.start_in(held.block);
        entries.insert(first, Entry { size: available, stride });
        at = held.term.stride * held.term.modulo;
        rest = rest.div_ceil(available);
        extent /= available;
        modulo = modulo.div_ceil(available);
    }
}

/// `own`: how many digits are the buffer's own.
const fn nothing_dropped(
    pool: &Pool,
    request: &Job<'_>,
    buffer: &Buffer,
    own: usize,
) -> Result<(), PlanError> {
    let all = buffer.held.as_slice();
    let mut k = 0;
    while k < own {
        let held = &all[k];
        if !is_read(pool, buffer, own, k) {
            let mut term = held.term;
            term.stride *= held.read;
            term.modulo = term.modulo.div_ceil(held.read);
            return Err(dropped(pool, request, &term, true));
        }
        k += 1;
    }
    Ok(())
}

#[cfg(test)]
#[path = "derive_tests.rs"]
mod tests;
