//! Derivations as tables: term, entry, stride source, buffer after.
//!
//! ```text
//! | Term   | Entry   | Stride source                 | Buf after                |
//! |--------|---------|-------------------------------|--------------------------|
//! | B      | 8 : 32  | m![C # 32]::SIZE              | m![A, 1 # 8, C # 32]     |
//! | A      | 8 : 256 | m![1 # 8, C # 32]::SIZE       | m![1 # 64, C # 32]       |
//! | C # 16 | 16 : 1  | contiguous (Packet dimension) | 1 # 2048                 |
//! ```
//!
//! A row is printed from the trace of the derivation: the digits of the stream that a loop walks over, and their
//! partners in the buffer. The code runs at run time only, and may allocate.

use super::config::{Config, Entry};
use super::derive::{PACKET, TIME, Trace};
use super::limits::{contiguous_run, limited};
use super::request::{Job, Request, StreamPart};
use super::window::{Windows, window_of};
use crate::error::PlanError;
use crate::mapping::{Atom, Expr, Factor, Factors, Piece, Pool, Term, size_of_factors, write_factors};
use crate::spec;
use crate::text::Text;
use core::fmt;

/// One term of the stream and its loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The term, in `m![…]` notation.
    pub term: String,
    /// Its loop, stride in elements.
    pub entry: Entry,
    /// Origin of the stride.
    pub source: String,
    /// The unread rest of the buffer: digits that the rows so far have read are padding.
    pub after: String,
}

/// One entry of the configuration after merging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedRow {
    /// The term that the entry walks over.
    pub term: String,
    /// The entry, stride in elements.
    pub entry: Entry,
    /// The initial terms and entries that were merged, outermost first. A single one was not merged.
    pub parts: Vec<(String, Entry)>,
}

/// A derivation in words: printed, it is the table of `guide::sequencers`, then the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The call, for example `read`.
    pub operation: &'static str,
    /// The buffer, in `m![…]` notation, and its windows.
    pub buf: String,
    /// Names of time and packet in the call.
    pub names: [&'static str; 2],
    /// The order of packets, in `m![…]` notation.
    pub time: String,
    /// The content of a packet, in `m![…]` notation.
    pub packet: String,
    /// A row per term of `[Time, Packet]`, outermost first.
    pub rows: Vec<Row>,
    /// The entries as derived.
    pub derived: Config,
    /// The entries after merging. They are merged only if there are more entries than the hardware takes.
    pub merged: Vec<MergedRow>,
    /// The configuration within the limits of the hardware, or the limit that it breaks.
    pub limited: Result<Config, PlanError>,
    /// Reason for a refusal though the sequencer is within the limits, for example half a byte per packet.
    pub refusal: Option<PlanError>,
    /// Elements that are contiguous in the buffer.
    pub contiguous_run: usize,
    /// More numbers, name and value, in the order in which they are printed.
    pub facts: Vec<(String, String)>,
    /// Remarks, printed last.
    pub notes: Vec<String>,
}

impl Explanation {
    /// Adds a number to those printed below the tables.
    pub fn fact(&mut self, name: &str, value: impl fmt::Display) {
        self.facts.push((name.to_string(), value.to_string()));
    }
}

/// Explains the derivation that [`derive`](super::derive()) makes of the same request. Strides are in elements.
///
/// # Errors
///
/// Returns the errors of [`derive`](super::derive()). A configuration that breaks a limit of the hardware is explained,
/// with the refusal in [`Explanation::limited`].
pub fn explain_loops(pool: &mut Pool, request: &Request<'_>) -> Result<Explanation, PlanError> {
    let job = Job::new(pool, request)?;
    let trace = Trace::new(pool, &job)?;
    let derived = trace.derived(&job).config;
    let table = TableBuilder::new(pool, &job, &trace);
    Ok(Explanation {
        operation: request.operation,
        names: request.names,
        buf: bracketed(&write_factors(Text::new(), pool, request.buf.as_slice())),
        time: notation(pool, &request.time),
        packet: notation(pool, &request.packet),
        merged: table.merged(pool),
        rows: table.rows,
        derived,
        limited: limited(request.operation, derived),
        refusal: None,
        contiguous_run: contiguous_run(&derived),
        facts: Vec::new(),
        notes: Vec::new(),
    })
}

fn bracketed(text: &Text) -> String {
    format!("m![{text}]")
}

fn notation(pool: &Pool, stream: &StreamPart<'_>) -> String {
    match stream {
        StreamPart::Expr(expr) | StreamPart::Known(expr, _) => format!("m![{expr}]"),
        StreamPart::Factors(factors) => bracketed(&write_factors(Text::new(), pool, factors.as_slice())),
    }
}

/// The members of a list with the positions inside them and their end, innermost first.
fn members<'a>(list: &'a Expr, inside: usize, found: &mut Vec<(&'a Expr, [usize; 2])>) {
    if let Expr::Pair(outer, inner) = list {
        members(inner, inside, found);
        members(outer, inside * inner.size(), found);
    } else {
        found.push((list, [inside, inside * list.size()]));
    }
}

/// The table under construction.
struct TableBuilder<'a> {
    pool: &'a Pool,
    trace: &'a Trace,
    buf: &'a Factors,
    windows: &'a Windows,
    rows: Vec<Row>,
    /// The factors that each row walks over, for the names of merged entries.
    walked: Vec<Factors>,
    /// True for each piece of the buffer that has been read.
    read: Vec<bool>,
}

impl<'a> TableBuilder<'a> {
    fn new(pool: &'a Pool, job: &'a Job<'a>, trace: &'a Trace) -> Self {
        // The stream takes the first value of a digit without a partner: no loop reads it.
        let read =
            trace.matched.divisor.list.iter().map(|piece| !piece.matched && !job.request.unread).collect();
        let (buf, windows) = (job.request.buf, &job.windows);
        let mut table = Self { pool, trace, buf, windows, rows: Vec::new(), walked: Vec::new(), read };
        for (level, stream) in [(TIME, &job.request.time), (PACKET, &job.request.packet)] {
            let mut found = Vec::new();
            members(stream.members(), 1, &mut found);
            let mut end = if level == TIME { job.time.size() } else { job.packet.size() };
            for entry in trace.loops[level].iter().rev() {
                let range = [end / entry.size, end];
                let member = found.iter().find(|(_, place)| *place == range);
                let name = member.map(|(member, _)| member.to_string());
                let contiguous = (level == PACKET && range[0] == 1).then_some(job.request.names[1]);
                table.row(level, range, *entry, name, contiguous);
                end = range[0];
            }
        }
        table
    }

    /// Appends the row of a loop over the positions of a level from `start` to `end`. `contiguous`: the user's name of
    /// the packet, if this is its innermost loop.
    fn row(
        &mut self,
        level: usize,
        [start, end]: [usize; 2],
        entry: Entry,
        name: Option<String>,
        contiguous: Option<&str>,
    ) {
        let matched = &self.trace.matched;
        let mut walked = Factors::ONE;
        let mut digits: Vec<usize> = Vec::new();
        for (k, piece) in matched.dividend.list.iter().enumerate().filter(|(_, piece)| piece.level == level) {
            match piece.factor {
                Factor::Term { .. } if (start..end).contains(&piece.base) => {
                    walked.append(piece.factor);
                    digits.push(k);
                }
                Factor::Padding { size } if start < size && size <= end && !walked.is_empty() => {
                    walked.push_padding((size / start).max(walked.size()));
                }
                _ => {}
            }
        }
        walked.push_padding((end / start).max(walked.size()));
        let term =
            name.unwrap_or_else(|| write_factors(Text::new(), self.pool, walked.as_slice()).to_string());
        let partners: Vec<usize> = digits.iter().filter_map(|&k| matched.partner(k)).collect();
        let mut source = match (partners.first(), contiguous) {
            _ if entry.stride == 0 && digits.is_empty() => "padding (reads the same again)".to_string(),
            _ if entry.stride == 0 => "not in Buf (broadcast)".to_string(),
            (_, Some(packet)) if entry.stride == 1 => format!("contiguous ({packet} dimension)"),
            (None, _) => "padding (reads on)".to_string(),
            (Some(&inner), _) if window_of(self.windows, matched.divisor.list.get(inner)).is_some() => {
                self.window_source(inner)
            }
            (Some(0), _) => format!("{term} in {}", self.unread()),
            (Some(&inner), _) => format!("m![{}]::SIZE", self.segments(inner)),
        };
        if let ([digit], [partner]) = (&digits[..], &partners[..])
            && let (Some((_, values)), Some((_, held))) =
                (matched.dividend.digit(*digit), matched.divisor.digit(*partner))
            && values < held
        {
            source = format!("{source} (sliced to {values})");
        }
        partners.iter().for_each(|&partner| self.read[partner] = true);
        self.rows.push(Row { term, entry, source, after: self.unread() });
        self.walked.push(walked);
    }

    /// Origin of the stride of a digit of a window: the size inside the digit that is read in windows, times the
    /// positions of that digit per step.
    fn window_source(&self, k: usize) -> String {
        let pieces = &self.trace.matched.divisor.list;
        let piece = pieces.get(k);
        let Some((number, input, base)) = window_of(self.windows, piece) else { return String::new() };
        let first =
            (0..k).find(|&k| window_of(self.windows, pieces.get(k)).is_some_and(|other| other.0 == number));
        let inside = match base {
            1 => "1".to_string(),
            _ => format!("m![{}]::SIZE", self.segments(first.unwrap_or(k))),
        };
        let mut digit = Factors::ONE;
        digit.append(input);
        let digit = write_factors(Text::new(), self.pool, digit.as_slice());
        format!("{inside} * {} (windows of m![{digit}])", piece.base / base)
    }

    /// The innermost `count` pieces of the buffer, each with true if it was read. A digit that is read in windows is
    /// one piece, as in the buffer; it was read if its outputs and its windows were.
    fn held(&self, count: usize) -> Vec<(Piece, bool)> {
        let pieces = &self.trace.matched.divisor.list;
        let number = |k: usize| window_of(self.windows, pieces.get(k)).map(|(number, ..)| number);
        let mut held = Vec::new();
        for (k, piece) in pieces.iter().enumerate().take(count) {
            match window_of(self.windows, piece) {
                None => held.push((*piece, self.read[k])),
                Some((window, factor, base)) if (0..k).all(|k| number(k) != Some(window)) => {
                    let read = (k..pieces.len()).all(|k| number(k) != Some(window) || self.read[k]);
                    held.push((Piece { factor, base, ..*piece }, read));
                }
                Some(_) => {}
            }
        }
        held
    }

    /// The buffer with padding where it was read. If all of it is padding, without the `m![` and `]`.
    fn unread(&self) -> String {
        let text = self.segments(self.read.len());
        let all = (self.trace.matched.divisor.list.iter().zip(&self.read))
            .all(|(piece, read)| *read || matches!(piece.factor, Factor::Padding { .. }));
        if all { text } else { format!("m![{text}]") }
    }

    /// The innermost `count` pieces of the buffer, with padding where they were read.
    fn segments(&self, count: usize) -> String {
        let pieces = &self.trace.matched.divisor.list;
        let mut segments: Vec<Segment> = Vec::new();
        for (piece, read) in self.held(count) {
            fill(self.pool, &mut segments, piece.base);
            match (piece.factor, segments.last_mut()) {
                (Factor::Term { term, .. }, _) if self.was_moved(&term) => {
                    let parts: Vec<usize> =
                        (0..pieces.len()).filter(|&k| pieces.get(k).factor.is_digit_of(&term.atom)).collect();
                    // The content is written once, at its innermost part.
                    if let Atom::Composite(composite) = term.atom
                        && parts.iter().all(|&part| pieces.get(part).base >= piece.base)
                    {
                        let content = self.pool.content(composite);
                        let text = || write_factors(Text::new(), self.pool, content).to_string();
                        let content_left = parts.iter().any(|&part| !self.read[part]);
                        segments.push(Segment {
                            start: piece.base,
                            end: piece.base * size_of_factors(content),
                            content: content_left.then(|| Content::Product(text())),
                        });
                    }
                }
                (Factor::Term { resize, .. }, Some(Segment { end, content: None, .. })) if read => {
                    *end = piece.base * resize;
                }
                (Factor::Term { term, resize }, Some(inner))
                    if inner.continues(&term, piece.base) && !read =>
                {
                    inner.content = inner.content.take().map(|content| content.with(&term, resize));
                    inner.end = piece.base * resize;
                }
                (Factor::Term { term, resize }, _) => {
                    let content = (!read).then_some(Content::Digit(term, resize));
                    segments.push(Segment { start: piece.base, end: piece.base * resize, content });
                }
                (Factor::Padding { size }, _) => fill(self.pool, &mut segments, size),
            }
        }
        let end = match pieces.as_slice().get(count) {
            Some(next) => window_of(self.windows, next).map_or(next.base, |(_, _, base)| base),
            None => self.buf.size(),
        };
        fill(self.pool, &mut segments, end);
        write(self.pool, &segments)
    }

    /// True if a digit belongs to a composite of the stream whose content, without the lead, is in the buffer.
    fn was_moved(&self, term: &Term) -> bool {
        let has_lead = matches!(term.atom, Atom::Composite(composite) if composite.lead > 0);
        has_lead && !self.buf.as_slice().iter().any(|factor| factor.is_digit_of(&term.atom))
    }

    /// The rows after merging, by the rule of [`limited`].
    fn merged(&self, pool: &Pool) -> Vec<MergedRow> {
        let mut groups: Vec<(Entry, Factors, Vec<usize>)> =
            (0..self.rows.len()).map(|k| (self.rows[k].entry, self.walked[k], vec![k])).collect();
        let mut merging = true;
        while merging && groups.len() > spec::SEQUENCER_ENTRIES {
            merging = false;
            for k in (1..groups.len()).rev() {
                let (outer, inner) = (groups[k - 1].0, groups[k].0);
                if outer.continues(&inner) {
                    let (_, factors, rows) = groups.remove(k);
                    let (entry, outside, all) = &mut groups[k - 1];
                    *entry = Entry { size: outer.size * inner.size, stride: inner.stride };
                    let mut product = factors;
                    product.push_all(pool, outside.as_slice());
                    *outside = product;
                    all.extend(rows);
                    merging = true;
                }
            }
        }
        let row = |(entry, factors, rows): &(Entry, Factors, Vec<usize>)| MergedRow {
            term: match rows[..] {
                [k] => self.rows[k].term.clone(),
                _ => write_factors(Text::new(), pool, factors.as_slice()).to_string(),
            },
            entry: *entry,
            parts: rows.iter().map(|&k| (self.rows[k].term.clone(), self.rows[k].entry)).collect(),
        };
        groups.iter().map(row).collect()
    }
}

/// Extends the last segment with padding to `end`, where the next one begins. If `end` is not a multiple of the start
/// of the last segment, a padding segment is joined with its inner neighbours, and other segments become one product.
fn fill(pool: &Pool, segments: &mut Vec<Segment>, end: usize) {
    if segments.last().is_some_and(|last| last.end >= end) {
        return;
    }
    let fits = |segment: &Segment| end.is_multiple_of(segment.start);
    while segments.last().is_some_and(|last| last.content.is_none() && !fits(last)) {
        segments.pop();
    }
    match segments.last_mut() {
        Some(last) if fits(last) => last.end = end,
        Some(_) => {
            let content = Some(Content::Product(write(pool, segments)));
            *segments = vec![Segment { start: 1, end, content }];
        }
        None if end > 1 => segments.push(Segment { start: 1, end, content: None }),
        None => {}
    }
}

/// A part of the buffer, from one position to another.
struct Segment {
    start: usize,
    end: usize,
    /// `None` if nothing is unread.
    content: Option<Content>,
}

enum Content {
    Digit(Term, usize),
    /// A product, written out.
    Product(String),
}

impl Segment {
    /// True if the digit outside the segment is the rest of the segment's digit, with no padding between them.
    fn continues(&self, outer: &Term, base: usize) -> bool {
        match &self.content {
            Some(Content::Digit(inner, values)) => {
                self.end == base
                    && self.end == self.start * values
                    && *values == inner.modulo
                    && outer.atom.is(&inner.atom)
                    && outer.stride == inner.stride * inner.modulo
            }
            _ => false,
        }
    }
}

impl Content {
    /// The digit together with the rest of it.
    fn with(self, outer: &Term, resize: usize) -> Self {
        match self {
            Content::Digit(inner, values) => {
                Content::Digit(Term { modulo: inner.modulo * outer.modulo, ..inner }, values * resize)
            }
            product => product,
        }
    }
}

/// Segments in `m![…]` notation, outermost first.
fn write(pool: &Pool, segments: &[Segment]) -> String {
    let one = |segment: &Segment| {
        let size = segment.end / segment.start;
        match &segment.content {
            None => format!("1 # {size}"),
            Some(Content::Product(product)) => format!("[{product}] # {size}"),
            Some(Content::Digit(term, values)) => {
                let mut factors = Factors::ONE;
                factors.append(Factor::Term { term: *term, resize: *values });
                factors.push_padding(size);
                write_factors(Text::new(), pool, factors.as_slice()).to_string()
            }
        }
    };
    if segments.is_empty() {
        return "1".to_string();
    }
    segments.iter().rev().map(one).collect::<Vec<_>>().join(", ")
}

/// Writes rows of cells in columns, in a form that Markdown shows as a table.
pub fn write_table(f: &mut fmt::Formatter<'_>, heads: &[&str], rows: &[Vec<String>]) -> fmt::Result {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |f: &mut fmt::Formatter<'_>, cells: &mut dyn Iterator<Item = &str>| {
        for (cell, width) in cells.zip(&widths) {
            write!(f, "| {cell:width$} ")?;
        }
        writeln!(f, "|")
    };
    line(f, &mut heads.iter().copied())?;
    for width in &widths {
        write!(f, "|{}", "-".repeat(width + 2))?;
    }
    writeln!(f, "|")?;
    for row in rows {
        line(f, &mut row.iter().map(String::as_str))?;
    }
    Ok(())
}

/// An entry of a sequencer as the tables print it.
pub fn entry_text(entry: &Entry) -> String {
    format!("{} : {}", entry.size, entry.stride)
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [time, packet] = self.names;
        writeln!(f, "{} {}: {time} {}, {packet} {}\n", self.operation, self.buf, self.time, self.packet)?;
        if self.rows.is_empty() {
            writeln!(f, "No terms: the stream is one element.")?;
        } else {
            let cells = |row: &Row| {
                vec![row.term.clone(), entry_text(&row.entry), row.source.clone(), row.after.clone()]
            };
            let rows: Vec<_> = self.rows.iter().map(cells).collect();
            write_table(f, &["Term", "Entry", "Stride source", "Buf after"], &rows)?;
        }
        let merges = self.merged.len() < self.rows.len();
        if merges {
            writeln!(
                f,
                "\n{} entries are more than the sequencer's {}; contiguous neighbours merge:\n",
                self.rows.len(),
                spec::SEQUENCER_ENTRIES
            )?;
            let cells = |row: &MergedRow| {
                let part = |(term, entry): &(String, Entry)| format!("{term} ({})", entry_text(entry));
                let parts: Vec<_> = row.parts.iter().map(part).collect();
                let parts = if parts.len() > 1 { parts.join(", ") } else { String::new() };
                vec![row.term.clone(), entry_text(&row.entry), parts]
            };
            let rows: Vec<_> = self.merged.iter().map(cells).collect();
            write_table(f, &["Term", "Entry", "Merged entries"], &rows)?;
        }
        let mut facts = vec![("initial entries", self.derived.to_string())];
        if !merges {
            let (entries, limit) = (self.derived.entries.len(), spec::SEQUENCER_ENTRIES);
            let why = if entries > limit { "no neighbours are contiguous" } else { "not needed" };
            facts.push(("merges", format!("none, {why}: {entries} of {limit} entries")));
        }
        match &self.limited {
            Ok(config) => facts.push(("final config", config.to_string())),
            Err(error) => facts.push(("final config", format!("refused: {}", error.message()))),
        }
        if let Some(error) = &self.refusal {
            facts.push(("refused", error.message().to_string()));
        }
        facts.extend(self.facts.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        writeln!(f)?;
        for (name, value) in facts {
            writeln!(f, "{name:width$}  {value}")?;
        }
        for note in &self.notes {
            writeln!(f, "\nnote: {note}")?;
        }
        Ok(())
    }
}
