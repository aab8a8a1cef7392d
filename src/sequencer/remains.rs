//! What is left of a buffer while a derivation reads it digit by digit: the column "Buf after" of an explanation.

use super::explain::terms;
use crate::mapping::{
    Atom, Composite, CutRule, Factor, Factors, LEAD_INSIDE, PaddingKind, Pieces, Pool, Term, write_factors,
    write_term,
};
use crate::text::Text;

/// A part of a stream's digit that lies within one digit of the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// What it is a part of: `modulo` values, `stride` coordinates apart.
    term: Term,
    /// Values that the stream walks over.
    pub(super) resize: usize,
    /// Values that the buffer holds, or `None` where it holds no such part.
    held: Option<usize>,
}

impl Part {
    /// Whether the buffer holds this part.
    pub(super) fn in_buffer(&self) -> bool {
        self.held.is_some()
    }

    /// Whether the stream walks over less than the buffer holds.
    pub(super) fn is_sliced(&self) -> bool {
        self.resize < self.term.modulo && self.held.is_none_or(|held| self.resize < held)
    }

    /// The part in `m![…]` notation.
    pub(super) fn notation(&self, pool: &Pool) -> String {
        write_term(Text::new(), pool, &self.term, self.resize).to_string()
    }

    /// The part as a mapping.
    pub(super) fn factors(&self, pool: &Pool) -> Factors {
        let mut factors = Factors::one();
        factors.push_term(pool, self.term, self.resize);
        factors
    }
}

/// A range of the buffer's positions, `low..high` in elements: `high / low` values.
#[derive(Clone, Copy, Debug)]
enum Segment {
    /// A digit that no row has read.
    Live { term: Term, resize: usize, low: usize },
    /// A digit that was read, or padding alone.
    Dead { low: usize, high: usize },
    /// Padding of everything inside to `size` positions.
    Padding { size: usize },
}

/// The buffer's digits, innermost first.
#[derive(Clone, Debug)]
pub(super) struct Remains {
    /// The buffer as it was.
    whole: Factors,
    /// What has been read of products that the buffer cuts across their digits.
    read: Vec<Atom>,
    segments: Vec<Segment>,
}

impl Remains {
    /// A buffer of which nothing has been read.
    pub(super) fn new(pool: &Pool, buf: &Factors) -> Self {
        let mut segments = Vec::new();
        let mut low = 1;
        for factor in buf.as_slice() {
            match factor {
                Factor::Term { term, resize } => {
                    // A single element with dead positions around it is no digit to read.
                    segments.push(match block_of(pool, factor) {
                        Some([]) => Segment::Dead { low, high: low * resize },
                        _ => Segment::Live { term: *term, resize: *resize, low },
                    });
                    low *= resize;
                }
                Factor::Padding { size, .. } => {
                    segments.push(Segment::Padding { size: *size });
                    low = *size;
                }
                Factor::Lead { .. } => unreachable!("{LEAD_INSIDE}"),
            }
        }
        let mut remains = Self { whole: *buf, read: Vec::new(), segments };
        remains.join();
        remains
    }

    /// The parts of a member's digits, outermost first, cut where the digits of the buffer begin and end.
    pub(super) fn parts(&self, pool: &Pool, factors: &Factors) -> Vec<Part> {
        let mut parts = Vec::new();
        for (term, resize) in terms(factors) {
            let held = self.digits(pool, &term.atom);
            let (mut at, mut modulo, mut rest) = (term.stride, term.modulo, resize);
            let mut own = Vec::new();
            loop {
                let digit = held.iter().find(|(digit, _)| {
                    digit.stride <= at && at < digit.stride * digit.modulo && at.is_multiple_of(digit.stride)
                });
                let Some((digit, full)) = digit else {
                    own.push(Part {
                        term: Term { atom: term.atom, stride: at, modulo },
                        resize: rest,
                        held: None,
                    });
                    break;
                };
                let step = at / digit.stride;
                let available = digit.modulo.div_ceil(step);
                let count = modulo.min(available);
                own.push(Part {
                    term: Term { atom: term.atom, stride: at, modulo: count },
                    resize: rest.min(count),
                    held: Some(full.div_ceil(step)),
                });
                if rest <= available {
                    break;
                }
                at = digit.stride * digit.modulo;
                rest = rest.div_ceil(available);
                modulo = modulo.div_ceil(available);
            }
            parts.extend(own.into_iter().rev());
        }
        parts
    }

    /// The buffer's digits of one atom, with the number of values held.
    fn digits(&self, pool: &Pool, atom: &Atom) -> Vec<(Term, usize)> {
        let of_atom = |factor: &Factor| match factor {
            Factor::Term { term, resize } if term.atom.is(atom) => Some((*term, *resize)),
            _ => None,
        };
        let found: Vec<_> = self.whole.as_slice().iter().filter_map(of_atom).collect();
        match atom {
            Atom::Composite(_) if found.is_empty() => {
                self.lifted(pool, atom).into_iter().map(|(term, resize, ..)| (term, resize)).collect()
            }
            Atom::Symbol(_) if found.is_empty() => {
                let mut found = Vec::new();
                let mut rest: Vec<&Factor> = self.whole.as_slice().iter().collect();
                while let Some(factor) = rest.pop() {
                    found.extend(of_atom(factor));
                    rest.extend(block_of(pool, factor).unwrap_or_default());
                }
                found
            }
            _ => found,
        }
    }

    /// Takes the block apart that has dead positions before it, and the atom in it.
    fn open(&mut self, pool: &Pool, atom: &Atom) {
        while self.digit(atom).is_none() {
            let whole = |segment: &Segment| match *segment {
                Segment::Live { term, resize, .. } => {
                    block_of(pool, &Factor::Term { term, resize }).is_some()
                }
                _ => false,
            };
            let Some(k) = self.segments.iter().position(whole) else { return };
            self.open_at(pool, k);
        }
    }

    /// The first unread digit of an atom.
    fn digit(&self, atom: &Atom) -> Option<usize> {
        let of_atom = |segment: &Segment| matches!(segment, Segment::Live { term, .. } if term.atom.is(atom));
        self.segments.iter().position(of_atom)
    }

    /// Replaces a block by what it holds, and padding: what matters here are sizes.
    fn open_at(&mut self, pool: &Pool, k: usize) {
        let Segment::Live { term, resize, low: base } = self.segments[k] else { return };
        let inside = block_of(pool, &Factor::Term { term, resize }).unwrap_or_default();
        let mut opened = Vec::new();
        let mut low = base;
        for factor in inside {
            let end = base * factor.size_over(low / base);
            opened.push(match *factor {
                Factor::Term { term, resize } => Segment::Live { term, resize, low },
                _ => Segment::Padding { size: end },
            });
            low = end;
        }
        opened.push(Segment::Padding { size: base * resize });
        self.segments.splice(k..=k, opened);
    }

    /// The run of the buffer that is the content of a composite: the term, its values without dead ones before them, the
    /// positions inside it. And the block in which the run is, if that has dead positions before it.
    fn lifted(&self, pool: &Pool, atom: &Atom) -> Option<(Term, usize, usize, Option<Atom>)> {
        let Atom::Composite(composite) = atom else { return None };
        let whole = Pieces::new(&[&self.whole]);
        let mut block = None;
        let mut pieces = whole;
        if !pieces.lift_one(pool, *composite, CutRule::Exact) {
            let opened = (0..whole.list.len()).find(|&k| {
                pieces = whole;
                pieces.open_one(pool, k) && pieces.lift_one(pool, *composite, CutRule::Exact)
            })?;
            if let Factor::Term { term, .. } = whole.list.at(opened).factor {
                block = Some(term.atom);
            }
        }
        pieces.list.iter().find_map(|piece| match piece.factor {
            Factor::Term { term, resize } if term.atom.is(atom) => {
                Some((term, resize - pool.lead(atom), piece.base, block))
            }
            _ => None,
        })
    }

    /// Cuts the digits so that each part is a digit of its own.
    pub(super) fn cut(&mut self, pool: &Pool, parts: &[Part]) {
        for part in parts.iter().filter(|part| part.in_buffer()) {
            if self.live(&part.term).is_none() {
                self.lift(pool, &part.term.atom);
                self.open(pool, &part.term.atom);
            }
            let Some(k) = self.live(&part.term) else { continue };
            let Segment::Live { term, resize, low } = self.segments[k] else { continue };
            let step = part.term.stride / term.stride;
            let count = part.term.modulo;
            let mut cuts = Vec::new();
            if step > 1 {
                cuts.push(Segment::Live {
                    term: Term { modulo: step, ..term },
                    resize: resize.min(step),
                    low,
                });
            }
            let above = resize.div_ceil(step);
            let own = Term { atom: term.atom, stride: term.stride * step, modulo: count };
            cuts.push(Segment::Live { term: own, resize: above.min(count), low: low * step });
            if above > count {
                let modulo = term.modulo.div_ceil(step * count);
                let high = Term { atom: term.atom, stride: term.stride * step * count, modulo };
                let resize = above.div_ceil(count);
                cuts.push(Segment::Live { term: high, resize, low: low * step * count });
            }
            self.segments.splice(k..=k, cuts);
        }
    }

    /// Replaces the run that is the content of a composite by one digit of it.
    fn lift(&mut self, pool: &Pool, atom: &Atom) {
        let Some((term, resize, low, block)) = self.lifted(pool, atom) else { return };
        if let Some(k) = block.and_then(|block| self.digit(&block)) {
            self.open_at(pool, k);
        }
        let high = low * resize;
        self.split_at(low);
        self.split_at(high);
        let start = self.segments.iter().position(|segment| segment.low() == Some(low));
        let Some(start) = start else { return };
        let inside = |segment: &&Segment| match segment {
            Segment::Padding { size } => *size <= high,
            segment => segment.low().is_some_and(|at| at < high),
        };
        let count = self.segments[start..].iter().take_while(inside).count();
        self.segments.splice(start..start + count, [Segment::Live { term, resize, low }]);
    }

    /// Splits the digit that has a boundary of a run in its middle.
    fn split_at(&mut self, position: usize) {
        let found = self.segments.iter().position(|segment| match segment {
            Segment::Live { resize, low, .. } => {
                *low < position && position < low * resize && position.is_multiple_of(*low)
            }
            _ => false,
        });
        if let Some(k) = found
            && let Segment::Live { term, resize, low } = self.segments[k]
        {
            let step = position / low;
            let below = Term { modulo: step, ..term };
            let above = Term { stride: term.stride * step, modulo: term.modulo.div_ceil(step), ..term };
            let below = Segment::Live { term: below, resize: step, low };
            let above = Segment::Live { term: above, resize: resize.div_ceil(step), low: position };
            self.segments.splice(k..=k, [below, above]);
        }
    }

    /// The unread digit in which a term begins.
    fn live(&self, wanted: &Term) -> Option<usize> {
        self.segments.iter().position(|segment| match segment {
            Segment::Live { term, .. } => {
                term.atom.is(&wanted.atom)
                    && term.stride <= wanted.stride
                    && wanted.stride < term.stride * term.modulo
                    && wanted.stride.is_multiple_of(term.stride)
            }
            _ => false,
        })
    }

    /// Everything inside a part, in `m![…]` notation; empty for the innermost digit.
    pub(super) fn inside(&self, pool: &Pool, part: &Part) -> Option<String> {
        let k = self.live(&part.term)?;
        Some(if k == 0 { String::new() } else { write(pool, &self.segments[..k]) })
    }

    /// Turns parts, which [`Self::cut`] has cut, into padding.
    pub(super) fn consume(&mut self, pool: &Pool, parts: &[Part]) {
        self.read.extend(parts.iter().filter(|part| !part.in_buffer()).map(|part| part.term.atom));
        for segment in &mut self.segments {
            if let Segment::Live { term, resize, low } = *segment
                && let Atom::Composite(composite) = term.atom
                && is_read(pool, composite, &self.read)
            {
                *segment = Segment::Dead { low, high: low * resize };
            }
        }
        for part in parts.iter().filter(|part| part.in_buffer()) {
            if let Some(k) = self.live(&part.term)
                && let Segment::Live { resize, low, .. } = self.segments[k]
            {
                self.segments[k] = Segment::Dead { low, high: low * resize };
            }
        }
        self.join();
    }

    /// Joins neighbours that are padding.
    fn join(&mut self) {
        let mut joined: Vec<Segment> = Vec::new();
        for segment in self.segments.drain(..) {
            match (joined.last_mut(), segment) {
                (Some(Segment::Dead { high, .. }), Segment::Dead { high: end, .. }) => *high = end,
                (Some(Segment::Dead { low, high }), Segment::Padding { size })
                    if size.is_multiple_of(*low) =>
                {
                    *high = size;
                }
                (None, Segment::Padding { size }) => joined.push(Segment::Dead { low: 1, high: size }),
                (Some(Segment::Padding { size: inner }), Segment::Padding { size }) => *inner = size,
                _ => joined.push(segment),
            }
        }
        self.segments = joined;
    }

    /// The buffer in `m![…]` notation; where all of it is padding, without the `m![` and `]`.
    pub(super) fn notation(&self, pool: &Pool) -> String {
        let text = write(pool, &self.segments);
        match self.segments[..] {
            [] | [Segment::Dead { .. }] => text,
            _ => format!("m![{text}]"),
        }
    }
}

/// What a whole block with dead positions before it holds.
fn block_of<'a>(pool: &'a Pool, factor: &Factor) -> Option<&'a [Factor]> {
    let Factor::Term { term, resize } = factor else { return None };
    let Atom::Composite(composite) = term.atom else { return None };
    let (lead, inside) = pool.led(composite);
    (lead > 0 && term.stride == 1 && *resize == pool.atom_size(&term.atom)).then_some(inside)
}

impl Segment {
    fn low(&self) -> Option<usize> {
        match self {
            Segment::Live { low, .. } | Segment::Dead { low, .. } => Some(*low),
            Segment::Padding { .. } => None,
        }
    }
}

/// Whether all axes of a product are among those that were read.
fn is_read(pool: &Pool, composite: Composite, read: &[Atom]) -> bool {
    pool.content(composite).iter().all(|factor| match factor {
        Factor::Term { term, .. } if read.contains(&term.atom) => true,
        Factor::Term { term: Term { atom: Atom::Composite(inner), .. }, .. } => is_read(pool, *inner, read),
        Factor::Term { .. } => false,
        Factor::Padding { .. } | Factor::Lead { .. } => true,
    })
}

fn write(pool: &Pool, segments: &[Segment]) -> String {
    let Some((last, inner)) = segments.split_last() else {
        return "1".to_string();
    };
    let rest = |outer: String, inner: &[Segment]| {
        if inner.is_empty() { outer } else { format!("{outer}, {}", write(pool, inner)) }
    };
    match last {
        Segment::Live { term, resize, .. } => {
            rest(write_term(Text::new(), pool, term, *resize).to_string(), inner)
        }
        Segment::Dead { low, high } => rest(format!("1 # {}", high / low), inner),
        Segment::Padding { size } => match inner.split_last() {
            Some((Segment::Live { term, resize, low }, innermost)) if size.is_multiple_of(*low) => {
                let factor = Factor::Term { term: *term, resize: *resize };
                let padded = [factor, Factor::Padding { size: size / low, kind: PaddingKind::Top }];
                rest(write_factors(Text::new(), pool, &padded).to_string(), innermost)
            }
            _ => format!("[{}] # {size}", write(pool, inner)),
        },
    }
}

#[cfg(test)]
#[path = "remains_tests.rs"]
mod tests;
