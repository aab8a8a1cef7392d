//! Streams that are no nest of the buffer's digits one by one, but of its *runs* (spec page 20 §3, group padding).
//!
//! Three things are read here that a look-up of single digits does not find:
//!
//! * **Products that the buffer cuts across a digit.** `m![[A, B] / 2]` with `B = 5` is one digit of the product. It is
//!   taken apart where all outer digits step over whole multiples of the cut, and a stream that holds the product in
//!   order is read as a stream of the product:
//!
//!   ```text
//!   Buf = m![[A, B] % 2, [A, B] / 2]   Packet = m![[A, B] # 12]      (A = 2, B = 5)
//!
//!     the product     at 5 per value of its lowest bit, 1 per pair
//!     pairs           6 : 1     5, and one of padding
//!     lowest bit      2 : 5
//!   ```
//! * **Products of the stream** that are padded, cut off or cut across a digit: what they hold is a nest of loops, and
//!   loops that make one run `(n1 : n2 * s), (n2 : s)` may be cut anywhere.
//! * **Ragged digits in a padded product**: the outermost digit is read to the end of its last turn, as padding.

use super::config::Entry;
use super::loops::{Loops, append_reversed, fit};
use super::places::{ALONE, Based, LIMITS, Limit, Limits, NO_TERM, Place, Places, UNLIMITED, is_alone};
use super::product::is_inside;
use crate::list::List;
use crate::mapping::{
    Atom, Composite, CutRule, Factor, Factors, LEAD_INSIDE, Pieces, Pool, Term, least, size_of_factors,
};

/// A stream over a buffer.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) buf: &'a Factors,
    pub(super) time: &'a Factors,
    pub(super) packet: &'a Factors,
    /// Whether a part of an axis that the buffer does not hold is repeated.
    pub(super) partial: bool,
    /// Whether the buffer may hold axes that the stream does not read.
    pub(super) unread: bool,
}

/// A digit that loops leave out.
pub(super) struct Unread {
    pub(super) term: Term,
    /// Whether it is a digit of the buffer. Otherwise it is one of a product of the stream.
    pub(super) held: bool,
}

/// The loops, outermost first, and how many of them belong to time; or a digit of the buffer that they leave out.
/// `None` if there are no loops.
pub(super) const fn read_runs(
    pool: &mut Pool,
    reading: &Reading<'_>,
) -> Option<Result<(Loops, usize), Unread>> {
    let before = *pool;
    let found = loops(pool, reading);
    if found.is_none() {
        *pool = before;
    }
    found
}

const fn loops(pool: &mut Pool, reading: &Reading<'_>) -> Option<Result<(Loops, usize), Unread>> {
    let Reading { buf, time, packet, .. } = reading;
    if has_lead(pool, buf.as_slice()) || has_lead(pool, time.as_slice()) || has_lead(pool, packet.as_slice())
    {
        return None;
    }
    let mut places = Places {
        list: List::new(Place { term: NO_TERM, resize: 1, base: 1, read: 1, reached: 0, share: ALONE }),
        limits: List::new(Limit { max: 1, reached: 0 }),
        nested: false,
        held: 0,
        stream: [Based::new(&[]); 2],
        partial: reading.partial,
        is_packet: false,
    };
    let factors = reading.buf.as_slice();
    let mut k = 0;
    while k < factors.len() {
        if let Factor::Term { term, resize } = factors[k] {
            let base = size_of_factors(factors.split_at(k).0);
            let alone = is_alone(factors, &term);
            places.hold(pool, term, resize, base, ALONE, alone);
        }
        k += 1;
    }
    if places.nested || places.limits.overflowed() {
        return None;
    }
    places.held = places.list.len();
    places.stream = places.lifted(pool, reading);
    let [time, packet] = places.stream;
    let mut entries = List::new(Entry { size: 1, stride: 0 });
    let mut inside = entries;
    let positions = reading.time.size();
    if !places.nest(pool, &time, [positions, usize::MAX, positions], &mut entries) {
        return None;
    }
    places.is_packet = true;
    let positions = reading.packet.size();
    if !places.nest(pool, &packet, [positions, usize::MAX, positions], &mut inside) {
        return None;
    }
    if places.beyond_a_limit() {
        return None;
    }
    if places.list.overflowed() || pool.factors.overflowed() {
        return None;
    }
    if !reading.unread
        && let Some(unread) = places.unread()
    {
        return Some(Err(unread));
    }
    let mut loops = List::new(Entry { size: 1, stride: 0 });
    append_reversed(&mut loops, &entries);
    let time_entries = loops.len();
    append_reversed(&mut loops, &inside);
    if loops.overflowed() { None } else { Some(Ok((loops, time_entries))) }
}

/// Whether there are dead positions before a block. Such blocks are read digit by digit only.
const fn has_lead(pool: &Pool, factors: &[Factor]) -> bool {
    let mut k = 0;
    while k < factors.len() {
        match factors[k] {
            Factor::Lead { .. } => return true,
            Factor::Term { term: Term { atom: Atom::Composite(composite), .. }, .. }
                if has_lead(pool, pool.content(composite)) =>
            {
                return true;
            }
            _ => {}
        }
        k += 1;
    }
    false
}

impl Places {
    const fn holds(&self, atom: &Atom) -> bool {
        let mut k = 0;
        while k < self.list.len() {
            if self.list.get(k).term.atom.is(atom) {
                return true;
            }
            k += 1;
        }
        false
    }

    /// The stream with each product that the buffer holds as one digit, where it stands in order.
    const fn lifted(&self, pool: &Pool, reading: &Reading<'_>) -> [Based; 2] {
        let mut pieces = Pieces::new(&[reading.time, reading.packet]);
        let mut k = 0;
        while k < self.list.len() {
            if let Atom::Composite(composite) = self.list.get(k).term.atom {
                pieces.lift_one(pool, composite, CutRule::Whole);
            }
            k += 1;
        }
        let mut levels = [Based::new(&[]); 2];
        let mut k = 0;
        while k < pieces.list.len() {
            let piece = pieces.list.get(k);
            levels[piece.level].list.push((piece.factor, piece.base));
            k += 1;
        }
        levels
    }

    /// Appends loops over `positions` positions of factors, of which the first `live` are asked for. Those from
    /// `covered` on are no part of the stream, not even one that is cut off.
    const fn nest(
        &mut self,
        pool: &mut Pool,
        factors: &Based,
        [live, covered, positions]: [usize; 3],
        loops: &mut Loops,
    ) -> bool {
        let first = loops.len();
        let before = self.limits;
        // Positions of a limited product per position here, for each limit.
        let mut ratios = List::new(0);
        let mut k = 0;
        while k < factors.list.len() {
            let (factor, base) = factors.list.at(k);
            let (after, end) = match (k + 1 < factors.list.len(), factor) {
                (true, _) => factors.list.at(k + 1),
                (false, Factor::Term { resize, .. }) => (factor, base * resize),
                (false, Factor::Padding { size, .. }) => (factor, size),
                (false, Factor::Lead { .. }) => panic!("{}", LEAD_INSIDE),
            };
            let end = match (factor, after) {
                (Factor::Term { .. }, Factor::Padding { size, .. }) => size,
                _ => end,
            };
            let end = least(end, positions);
            match factor {
                Factor::Term { .. } if covered <= base => {}
                Factor::Term { term, .. } if live <= base => {
                    self.pass(pool, &inner_values(term, covered, base))
                }
                Factor::Padding { size, .. } if loops.len() == first => {
                    loops.push(Entry { size, stride: if self.is_packet { 1 } else { 0 } });
                }
                Factor::Padding { .. } => {}
                Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
                Factor::Term { term, resize } => {
                    let turns = live.div_ceil(base);
                    let count = least(resize, turns);
                    let term = inner_values(term, covered, base);
                    let limits = self.limits;
                    if !self.digit(pool, &term, count, loops) || !fit(loops, first, end) {
                        return false;
                    }
                    self.compare(&limits, base * (count - 1), &mut ratios);
                }
            }
            k += 1;
        }
        self.correct(&before, live, &ratios);
        fit(loops, first, positions)
    }

    /// Notes how far each limit is reached per position, after a digit over `positions`; 0 where digits differ in it.
    const fn compare(&self, before: &Limits, positions: usize, ratios: &mut List<usize, LIMITS>) {
        let first = ratios.is_empty();
        let mut k = 0;
        while k < self.limits.len() {
            let reached = self.limits.at(k).reached - before.at(k).reached;
            let ratio = if reached.is_multiple_of(positions) { reached / positions } else { 0 };
            if first {
                ratios.push(ratio);
            } else if ratios.at(k) != ratio {
                ratios.set(k, 0);
            }
            k += 1;
        }
    }

    /// Where all digits reach a limit alike, the last position tells how far, and not the last value of each digit.
    const fn correct(&mut self, before: &Limits, live: usize, ratios: &List<usize, LIMITS>) {
        let mut k = 0;
        while k < ratios.len() {
            let mut limit = self.limits.at(k);
            if ratios.at(k) > 0 {
                let last = before.at(k).reached + ratios.at(k) * (live - 1);
                limit.reached = least(limit.reached, last);
                self.limits.set(k, limit);
            }
            k += 1;
        }
    }

    /// Whether the stream asks for more than the first positions of a product that are held.
    const fn beyond_a_limit(&self) -> bool {
        let mut k = 0;
        while k < self.limits.len() {
            if self.limits.at(k).reached >= self.limits.at(k).max {
                return true;
            }
            k += 1;
        }
        false
    }

    /// Adds the places of a product that only the stream cuts: the runs that its digits make.
    const fn resolve(&mut self, pool: &mut Pool, composite: Composite) -> bool {
        let atom = Atom::Composite(composite);
        let content = Based::new(pool.content(composite));
        let size = pool.atom_size(&atom);
        let [live, covered] = self.asked(pool, &atom);
        let mut loops = List::new(Entry { size: 1, stride: 0 });
        if !self.nest(pool, &content, [least(live, size), covered, size], &mut loops) {
            return false;
        }
        let mut stride = 1;
        let mut k = 0;
        while k < loops.len() {
            let mut run = loops.at(k);
            while k + 1 < loops.len() && loops.at(k + 1).continues(&run) {
                k += 1;
                run.size *= loops.at(k).size;
            }
            let term = Term { atom, stride, modulo: run.size };
            let base = run.stride as usize;
            let resize = least(run.size, covered.div_ceil(stride));
            self.list.push(Place { term, resize, base, read: 1, reached: 0, share: ALONE });
            stride *= run.size;
            k += 1;
        }
        true
    }

    /// How many positions of a product the stream's digits reach, and would reach if none were cut off; all where they
    /// are not the stream's own.
    const fn asked(&self, pool: &Pool, atom: &Atom) -> [usize; 2] {
        let (mut found, mut last, mut end) = (false, 0, 0);
        let mut level = 0;
        while level < 2 {
            let mut k = 0;
            while k < self.stream[level].list.len() {
                if let (Factor::Term { term, resize }, _) = self.stream[level].list.get(k) {
                    if term.atom.is(atom) {
                        found = true;
                        last += term.stride * (*resize - 1);
                        end += term.stride * (term.modulo - 1);
                    } else if is_inside(pool, &term.atom, atom) {
                        return [usize::MAX; 2];
                    }
                }
                k += 1;
            }
            level += 1;
        }
        if found { [last + 1, end + 1] } else { [usize::MAX; 2] }
    }

    /// Appends loops over at least `count` values of a digit.
    const fn digit(&mut self, pool: &mut Pool, term: &Term, count: usize, loops: &mut Loops) -> bool {
        if !self.holds(&term.atom) {
            match term.atom {
                Atom::Composite(composite) => {
                    if !self.resolve(pool, composite) {
                        return false;
                    }
                }
                Atom::Symbol(_) => {
                    loops.push(Entry { size: count, stride: 0 });
                    return !self.is_inside_product(pool, &term.atom);
                }
            }
        }
        let (mut at, mut rest, mut modulo) = (term.stride, count, term.modulo);
        while modulo != 1 {
            let Some(k) = self.find(&term.atom, at) else {
                if rest > 1 {
                    loops.push(Entry { size: rest, stride: 0 });
                }
                return rest == 1 || self.partial;
            };
            let mut place = self.list.at(k);
            let step = at / place.term.stride;
            let available = place.term.modulo.div_ceil(step);
            let reaches_top = place.term.modulo >= pool.live(&term.atom, place.term.stride);
            let size = least(rest, available);
            if size < rest && !place.term.modulo.is_multiple_of(step) {
                return false;
            }
            let before = place.reached;
            place.reached += step * (size - 1);
            // Past the end of the axis there is nothing to read.
            let open = reaches_top && place.resize >= place.term.modulo;
            if place.reached >= place.resize && !open {
                return false;
            }
            if place.share.limit != UNLIMITED {
                let mut limit = self.limits.at(place.share.limit);
                let last = pool.live(&term.atom, place.term.stride) - 1;
                limit.reached += place.share.weight * (least(place.reached, last) - least(before, last));
                self.limits.set(place.share.limit, limit);
            }
            place.read *= least(modulo, available);
            self.list.set(k, place);
            if size > 1 {
                loops.push(Entry { size, stride: (step * place.base) as isize });
            }
            at = place.term.stride * place.term.modulo;
            rest = rest.div_ceil(available);
            modulo = modulo.div_ceil(available);
        }
        true
    }

    /// Counts a digit as read of which the stream takes the first value only.
    const fn pass(&mut self, pool: &mut Pool, term: &Term) {
        let mut none = List::new(Entry { size: 1, stride: 0 });
        self.digit(pool, term, 1, &mut none);
    }

    /// The digit that holds the values from `at` on.
    const fn find(&self, atom: &Atom, at: usize) -> Option<usize> {
        let mut k = 0;
        while k < self.list.len() {
            let Term { stride, modulo, .. } = self.list.get(k).term;
            let begins = stride <= at && at < stride * modulo && at.is_multiple_of(stride);
            if begins && self.list.get(k).term.atom.is(atom) {
                return Some(k);
            }
            k += 1;
        }
        None
    }

    /// Whether a product that the buffer holds is made of this axis.
    const fn is_inside_product(&self, pool: &Pool, atom: &Atom) -> bool {
        let mut k = 0;
        while k < self.held {
            if is_inside(pool, &self.list.get(k).term.atom, atom) {
                return true;
            }
            k += 1;
        }
        false
    }

    /// What is left of the first digit that is not read.
    const fn unread(&self) -> Option<Unread> {
        let mut k = 0;
        while k < self.list.len() {
            let Place { mut term, read, resize, .. } = self.list.at(k);
            if read < resize {
                term.stride *= read;
                term.modulo = term.modulo.div_ceil(read);
                return Some(Unread { term, held: k < self.held });
            }
            k += 1;
        }
        None
    }
}

/// The part of a digit in the first `positions` positions, of which there are `base` per value.
const fn inner_values(term: Term, positions: usize, base: usize) -> Term {
    Term { modulo: least(term.modulo, positions.div_ceil(base)), ..term }
}
