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
use crate::error::{PlanError, attempt};
use crate::list::List;
use crate::mapping::{
    Atom, Composite, CutRule, Expr, FACTORS, Factor, Factors, LEAD_INSIDE, Pieces, Pool, Term, factorize,
    size_of_factors, write_term,
};
use crate::text::Text;

/// A digit of the buffer: `resize` of `modulo` values from `stride` on, at `base` positions per value.
#[derive(Clone, Copy)]
struct Held {
    term: Term,
    resize: usize,
    base: usize,
    /// Values of this digit that the stream walks over, as the product of the loops' moduli.
    read: usize,
    /// The block that it is a digit of. 0 for digits of the buffer itself.
    block: usize,
}

/// The buffer's digits.
#[derive(Clone, Copy)]
struct Buffer {
    held: List<Held, { FACTORS + 4 }>,
    /// Blocks with dead positions before them. The first one is none.
    blocks: List<Block, BLOCKS>,
    /// Where the loops start.
    base: isize,
}

/// A block with dead positions before it.
#[derive(Clone, Copy)]
struct Block {
    /// Positions from where the block around it starts. 0 once the loops start there.
    start: isize,
    /// The block around it.
    outer: usize,
    /// The digit that stands for all of it, or `usize::MAX`.
    opened: usize,
}

const NO_BLOCK: Block = Block { start: 0, outer: 0, opened: usize::MAX };

/// The most blocks with dead positions before them.
const BLOCKS: usize = 8;

/// One digit of the stream, with the padding that follows it.
#[derive(Clone, Copy)]
struct Digit {
    term: Term,
    resize: usize,
    /// Values with padding.
    extent: usize,
}

const NO_ENTRY: Entry = Entry { size: 1, stride: 0 };

impl Buffer {
    const fn new(pool: &Pool, buf: &Factors) -> Self {
        let factors = buf.as_slice();
        let blank = Term { atom: Atom::Composite(Composite { start: 0, len: 0 }), stride: 1, modulo: 1 };
        let mut held = List::new(Held { term: blank, resize: 1, base: 1, read: 1, block: 0 });
        let mut base = 1;
        let mut k = 0;
        while k < factors.len() {
            if let Factor::Term { term, resize } = factors[k] {
                held.push(Held { term, resize, base, read: 1, block: 0 });
            }
            base = factors[k].size_over(base);
            k += 1;
        }
        let mut blocks = List::new(NO_BLOCK);
        blocks.push(NO_BLOCK);
        let mut buffer = Self { held, blocks, base: 0 };
        // What a stream without the dead positions finds.
        let mut k = 0;
        while k < buffer.held.len() && !buffer.held.overflowed() {
            buffer.open(pool, k);
            k += 1;
        }
        buffer
    }

    /// Adds the digits of a whole block with dead positions before it.
    const fn open(&mut self, pool: &Pool, k: usize) {
        let outer = self.held.at(k);
        let Atom::Composite(composite) = outer.term.atom else { return };
        let (lead, inside) = pool.led(composite);
        if lead == 0 || outer.term.stride > 1 || outer.resize < pool.atom_size(&outer.term.atom) {
            return;
        }
        let block = self.blocks.len();
        self.blocks.push(Block { start: (lead * outer.base) as isize, outer: outer.block, opened: k });
        let mut base = outer.base;
        let mut j = 0;
        while j < inside.len() {
            match inside[j] {
                Factor::Term { term, resize } => {
                    self.held.push(Held { term, resize, base, read: 1, block });
                    base *= resize;
                }
                Factor::Padding { size, .. } => base = size * outer.base,
                Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
            }
            j += 1;
        }
    }

    /// Starts the loops after the dead positions before single elements. No digit leads there.
    const fn start_in_constants(&mut self, pool: &Pool) {
        let mut block = 1;
        while block < self.blocks.len() && !self.held.overflowed() {
            // A block that was read as one has its dead positions in the stream.
            let (mut around, mut taken_apart) = (block, true);
            while around > 0 {
                let opened = self.blocks.at(around).opened;
                taken_apart = taken_apart && opened < self.held.len() && self.held.get(opened).read == 1;
                around = self.blocks.at(around).outer;
            }
            if taken_apart && is_constant(pool, &self.held.get(self.blocks.at(block).opened).term.atom) {
                self.start_in(block);
            }
            block += 1;
        }
    }

    /// Starts the loops where a block is, and the blocks around it.
    const fn start_in(&mut self, block: usize) {
        let mut block = block;
        while block > 0 {
            let own = self.blocks.at(block);
            self.base += own.start;
            self.blocks.set(block, Block { start: 0, ..own });
            block = own.outer;
        }
    }

    const fn holds(&self, atom: &Atom) -> bool {
        let held = self.held.as_slice();
        let mut k = 0;
        while k < held.len() {
            if held[k].term.atom.is(atom) {
                return true;
            }
            k += 1;
        }
        false
    }

    /// Adds a composite as a digit of its own, if a run of the buffer is its content.
    const fn lift(&mut self, pool: &Pool, buf: &Factors, composite: Composite) {
        let whole = Pieces::new(&[buf]);
        let mut pieces = whole;
        // Where not even the buffer's blocks with dead positions before them hold it, nothing is added.
        let mut opened = 0;
        while !pieces.lift_one(pool, composite, CutRule::Exact) {
            pieces = whole;
            while opened < whole.list.len() && !pieces.open_one(pool, opened) {
                opened += 1;
            }
            if opened == whole.list.len() {
                return;
            }
            opened += 1;
        }
        let mut block = 0;
        if pieces.starts[0] != 0 {
            block = self.blocks.len();
            self.blocks.push(Block { start: pieces.starts[0], ..NO_BLOCK });
        }
        let mut k = 0;
        while k < pieces.list.len() {
            let piece = pieces.list.get(k);
            if let Factor::Term { term, resize } = piece.factor
                && term.atom.is(&Atom::Composite(composite))
            {
                self.held.push(Held { term, resize, base: piece.base, read: 1, block });
            }
            k += 1;
        }
    }

    /// The digit that holds the coordinates from `at` on.
    const fn find(&self, atom: &Atom, at: usize) -> Option<usize> {
        let mut k = 0;
        while k < self.held.len() {
            let held = self.held.at(k);
            if held.term.atom.is(atom) && held.term.stride <= at && at < held.term.stride * held.term.modulo {
                return Some(k);
            }
            k += 1;
        }
        None
    }
}

/// Whether an atom is a single element with dead positions before it.
const fn is_constant(pool: &Pool, atom: &Atom) -> bool {
    match atom {
        Atom::Composite(composite) => pool.led(*composite).1.is_empty(),
        Atom::Symbol(_) => false,
    }
}

/// One part of a stream, as the user wrote it or as it was computed.
///
/// Of an expression each member of a list becomes entries of its own, as printed on the seed page *Sequencer*; factors
/// in normal form have forgotten where the members ended.
#[derive(Clone, Copy)]
pub enum Stream<'a> {
    /// As the user wrote it.
    Expr(&'a Expr),
    /// As it was computed.
    Factors(&'a Factors),
}

impl Stream<'_> {
    const fn factors(&self, pool: &mut Pool) -> Factors {
        match self {
            Stream::Expr(expr) => factorize(pool, expr),
            Stream::Factors(factors) => **factors,
        }
    }
}

/// What a derivation works for: the name of the call and the mappings as the user knows them.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The call, for messages.
    pub operation: &'static str,
    /// The mapping of the buffer.
    pub buf: &'a Factors,
    /// The order of packets.
    pub time: Stream<'a>,
    /// The content of a packet.
    pub packet: Stream<'a>,
    /// Whether a part of an axis that the buffer does not hold is repeated, as an absent axis is, instead of refused.
    pub partial: bool,
    /// Whether the buffer may hold axes that the stream does not read.
    pub unread: bool,
    /// What the user calls time and packet, for messages.
    pub names: [&'static str; 2],
}

impl Request<'_> {
    /// The names of time and packet on most calls.
    pub const TIME_AND_PACKET: [&'static str; 2] = ["Time", "Packet"];
}

/// Loops, with the number of those that belong to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The loops.
    pub config: Config,
    /// How many of them, outermost first, belong to time.
    pub time_entries: usize,
}

/// A request with the stream in normal form.
struct Job<'a> {
    operation: &'static str,
    buf: &'a Factors,
    time: Factors,
    packet: Factors,
    partial: bool,
    names: [&'static str; 2],
}

impl Job<'_> {
    const fn text(&self) -> Text {
        Text::new().str(self.operation).str(": ")
    }
}

/// The loops that read the stream `[time, packet]` from the buffer, before limits.
pub const fn derive(pool: &mut Pool, request: &Request<'_>) -> Result<Derived, PlanError> {
    let operation = request.operation;
    let (time, packet) = (request.time.factors(pool), request.packet.factors(pool));
    attempt!(healthy(operation, request.buf));
    attempt!(healthy(operation, &time));
    attempt!(healthy(operation, &packet));
    let job =
        Job { operation, buf: request.buf, time, packet, partial: request.partial, names: request.names };
    attempt!(no_repeats(pool, &job));
    let refused = match by_digits(pool, &job, request) {
        Ok(derived) => return Ok(derived),
        Err(refused) if crate::text::same(refused.rule(), "too many factors") => return Err(refused),
        Err(refused) => refused,
    };
    let Job { time, packet, .. } = &job;
    let Request { buf, partial, unread, .. } = *request;
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
    let mut buffer = Buffer::new(pool, request.buf);
    let mut entries = List::new(NO_ENTRY);
    attempt!(stream_part(pool, job, &mut buffer, &request.time, false, &mut entries));
    let time_entries = entries.len();
    attempt!(stream_part(pool, job, &mut buffer, &request.packet, true, &mut entries));
    buffer.start_in_constants(pool);
    if !request.unread {
        attempt!(nothing_dropped(pool, job, &buffer));
    }
    if entries.overflowed() || buffer.held.overflowed() || buffer.blocks.overflowed() {
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

const fn healthy(operation: &'static str, factors: &Factors) -> Result<(), PlanError> {
    match factors.problem() {
        Some(problem) => Err(PlanError::mapping(operation, problem)),
        None => Ok(()),
    }
}

const fn too_many(operation: &'static str) -> PlanError {
    PlanError::mapping(operation, crate::mapping::Problem::TooManyFactors)
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
            held.read *= if modulo < available { modulo } else { available };
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

/// Whether the buffer holds an axis of an atom, by itself or in a composite.
const fn touches(pool: &Pool, buf: &Factors, atom: &Atom) -> bool {
    if let Atom::Composite(composite) = atom {
        let content = pool.content(*composite);
        let mut k = 0;
        while k < content.len() {
            if let Factor::Term { term, .. } = content[k]
                && touches(pool, buf, &term.atom)
            {
                return true;
            }
            k += 1;
        }
        return false;
    }
    mentions(pool, buf.as_slice(), atom)
}

/// Whether an axis is somewhere in these factors.
const fn mentions(pool: &Pool, factors: &[Factor], axis: &Atom) -> bool {
    let mut k = 0;
    while k < factors.len() {
        if let Factor::Term { term, .. } = &factors[k] {
            if term.atom.is(axis) {
                return true;
            }
            if let Atom::Composite(composite) = term.atom
                && mentions(pool, pool.content(composite), axis)
            {
                return true;
            }
        }
        k += 1;
    }
    false
}

const fn no_repeats(pool: &Pool, request: &Job<'_>) -> Result<(), PlanError> {
    let (time, packet) = (request.time.as_slice(), request.packet.as_slice());
    attempt!(no_overlap(pool, request, time, time, true));
    attempt!(no_overlap(pool, request, packet, packet, true));
    no_overlap(pool, request, time, packet, false)
}

/// Refuses parts of an axis that stand in both lists, or twice in the `same` list.
const fn no_overlap(
    pool: &Pool,
    request: &Job<'_>,
    one: &[Factor],
    other: &[Factor],
    same: bool,
) -> Result<(), PlanError> {
    let mut i = 0;
    while i < one.len() {
        let mut j = if same { i + 1 } else { 0 };
        while j < other.len() {
            if let (Factor::Term { term: a, resize }, Factor::Term { term: b, .. }) = (&one[i], &other[j])
                && overlap(pool, a, b)
            {
                let text = write_term(request.text().str("the stream produces `m!["), pool, a, *resize);
                let text = stream(text.str("]` twice, in "), pool, request);
                return Err(PlanError::new(
                    "axis repeated",
                    text.str("; help: name each part of an axis once"),
                ));
            }
            j += 1;
        }
        i += 1;
    }
    Ok(())
}

/// Whether two digits have coordinates of an axis in common, by themselves or in a composite.
const fn overlap(pool: &Pool, a: &Term, b: &Term) -> bool {
    if a.atom.is(&b.atom) {
        return a.stride < b.stride * b.modulo && b.stride < a.stride * a.modulo;
    }
    // The composite that was made last cannot be inside another one.
    let (content, other) = match (a.atom, b.atom) {
        (Atom::Composite(one), Atom::Composite(two)) if two.start > one.start => (pool.content(two), a),
        (Atom::Composite(composite), _) => (pool.content(composite), b),
        (_, Atom::Composite(composite)) => (pool.content(composite), a),
        _ => return false,
    };
    let mut k = 0;
    while k < content.len() {
        if let Factor::Term { term, .. } = &content[k]
            && overlap(pool, term, other)
        {
            return true;
        }
        k += 1;
    }
    false
}

const fn nothing_dropped(pool: &Pool, request: &Job<'_>, buffer: &Buffer) -> Result<(), PlanError> {
    let own = number_of_terms(request.buf.as_slice());
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

/// The refusal of a stream that leaves out a digit, of the buffer if it is `held` there.
const fn dropped(pool: &Pool, request: &Job<'_>, term: &Term, held: bool) -> PlanError {
    if let (Atom::Composite(_), true) = (term.atom, held)
        && pool.lead(&term.atom) == 0
        && (touches(pool, &request.time, &term.atom) || touches(pool, &request.packet, &term.atom))
    {
        let mut whole = Factors::one();
        whole.append(Factor::Term { term: *term, resize: term.modulo });
        return not_factorizable(pool, request, &whole);
    }
    let text = request.text().str("the buffer ").factors(pool, request.buf);
    let text = write_term(text.str(" holds `m!["), pool, term, term.modulo);
    let text = stream(text.str("]`, which the stream "), pool, request);
    let text = text.str(" does not read: an axis cannot be dropped; help: add it to `");
    let text = text.str(request.names[0]).str("` or `").str(request.names[1]).str("`");
    PlanError::new("axis dropped", text)
}

/// Whether the stream reads all of a digit: by itself, in a composite around it, or as the digits of an opened block.
const fn is_read(pool: &Pool, buffer: &Buffer, own: usize, k: usize) -> bool {
    let held = buffer.held.get(k);
    let read = held.read >= held.resize || is_constant(pool, &held.term.atom);
    if read || read_through_composite(pool, buffer, own, held) {
        return true;
    }
    let mut parts = 0;
    let mut j = own;
    while j < buffer.held.len() {
        let block = buffer.held.get(j).block;
        if block > 0 && buffer.blocks.at(block).opened == k {
            if !is_read(pool, buffer, own, j) {
                return false;
            }
            parts += 1;
        }
        j += 1;
    }
    parts > 0
}

/// Whether a composite that was read to its end covers what is unread of a digit.
const fn read_through_composite(pool: &Pool, buffer: &Buffer, own: usize, held: &Held) -> bool {
    let (from, end) = (held.base * held.read, held.base * held.resize);
    let mut k = own;
    while k < buffer.held.len() {
        let lifted = buffer.held.get(k);
        let values = lifted.resize - pool.lead(&lifted.term.atom);
        if lifted.read >= lifted.resize && lifted.base <= from && end <= lifted.base * values {
            return true;
        }
        k += 1;
    }
    false
}

const fn stream(text: Text, pool: &Pool, request: &Job<'_>) -> Text {
    let [time, packet] = request.names;
    let text = text.str("`").str(time).str("` ").factors(pool, &request.time);
    text.str(", `").str(packet).str("` ").factors(pool, &request.packet)
}

const fn insufficient(pool: &Pool, request: &Job<'_>, digit: &Digit, why: &str) -> PlanError {
    let text = write_term(
        request.text().str("insufficient input: the stream iterates over `m!["),
        pool,
        &digit.term,
        digit.resize,
    );
    let text = text.str("]`, but the buffer ").factors(pool, request.buf).str(" ").str(why);
    PlanError::new("insufficient input", text.str("; help: iterate only over what the buffer holds"))
}

const fn incompatible(pool: &Pool, request: &Job<'_>, digit: &Digit) -> PlanError {
    let text = write_term(request.text().str("incompatible shapes: `m!["), pool, &digit.term, digit.resize);
    let text = text
        .str("]` of the stream does not line up with the digits of the buffer ")
        .factors(pool, request.buf);
    PlanError::new("incompatible shapes", text.str("; help: split the axis at the same places on both sides"))
}

const fn not_factorizable(pool: &Pool, request: &Job<'_>, factors: &Factors) -> PlanError {
    let text = request.text().str("not factorizable: ").factors(pool, factors);
    let text = text.str(" is no nest of loops over the buffer ").factors(pool, request.buf);
    let text = text.str("; help: pad each axis by itself, or keep the group contiguous in the buffer");
    PlanError::new("not factorizable", text)
}

#[cfg(test)]
#[path = "derive_tests.rs"]
mod tests;
