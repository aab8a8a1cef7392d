//! Derivations as the tables of the seed page *Sequencer*: term, entry, stride source, buffer after (spec page 20 §8).
//!
//! ```text
//! | Term   | Entry   | Stride source                 | Buf after                |
//! |--------|---------|-------------------------------|--------------------------|
//! | B      | 8 : 32  | m![C # 32]::SIZE              | m![A, 1 # 8, C # 32]     |
//! | A      | 8 : 256 | m![1 # 8, C # 32]::SIZE       | m![1 # 64, C # 32]       |
//! | C # 16 | 16 : 1  | contiguous (Packet dimension) | 1 # 2048                 |
//! ```
//!
//! The entries are those of [`derive`](derive()): each member of the stream is derived by itself, and the rows are used only if
//! they are, one after another, what the whole derivation gave. Runs at run time only, and may allocate.

use super::config::{Config, Entry};
use super::derive::derive;
use super::limits::{contiguous_run, limited};
use super::remains::{Part, Remains};
use super::request::{Request, Stream};
use crate::error::PlanError;
use crate::mapping::{Expr, Factor, Factors, PaddingKind, Pool, factorize, write_factors};
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
    /// Where the stride comes from.
    pub source: String,
    /// What is unread of the buffer: the digits that the rows so far have read are padding.
    pub after: String,
}

/// One entry of the configuration after merging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedRow {
    /// The term that the entry walks over.
    pub term: String,
    /// The entry, stride in elements.
    pub entry: Entry,
    /// The initial terms and entries it was made of, outermost first. One: nothing was merged.
    pub parts: Vec<(String, Entry)>,
}

/// A derivation in words: printed, it is the tables of the seed page *Sequencer*, then the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The call, for example `read`.
    pub operation: &'static str,
    /// The buffer, in `m![…]` notation.
    pub buf: String,
    /// What the call names time and packet.
    pub names: [&'static str; 2],
    /// The order of packets, in `m![…]` notation.
    pub time: String,
    /// The content of a packet, in `m![…]` notation.
    pub packet: String,
    /// A row per term of `[Time, Packet]`, outermost first.
    pub rows: Vec<Row>,
    /// The entries as derived.
    pub derived: Config,
    /// The entries after merging. Merging happens only where there are more entries than the hardware takes.
    pub merged: Vec<MergedRow>,
    /// The configuration within the limits of the hardware, or the limit that it breaks.
    pub limited: Result<Config, PlanError>,
    /// Why the call is refused although its sequencer is within the limits, for example half a byte per packet.
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

/// Explains the derivation that [`derive`](derive()) makes of the same request. Strides are in elements.
///
/// # Errors
///
/// Those of [`derive`](derive()). A configuration that breaks a limit of the hardware is explained, with the refusal in
/// [`Explanation::limited`].
pub fn explain_loops(pool: &mut Pool, request: &Request<'_>) -> Result<Explanation, PlanError> {
    let derived = derive(pool, request)?;
    let mut table = Table {
        remains: Remains::new(pool, request.buf),
        packet_name: request.names[1],
        rows: Vec::new(),
        inside: Vec::new(),
    };
    let (time, packet) = derived.config.entries.as_slice().split_at(derived.time_entries);
    table.stream_part(pool, request, &request.time, time, false)?;
    table.stream_part(pool, request, &request.packet, packet, true)?;
    Ok(Explanation {
        operation: request.operation,
        names: request.names,
        buf: bracketed(&write_factors(Text::new(), pool, request.buf.as_slice())),
        time: notation(pool, &request.time),
        packet: notation(pool, &request.packet),
        merged: table.merged(pool),
        rows: table.rows,
        derived: derived.config,
        limited: limited(request.operation, derived.config),
        refusal: None,
        contiguous_run: contiguous_run(&derived.config),
        facts: Vec::new(),
        notes: Vec::new(),
    })
}

fn bracketed(text: &Text) -> String {
    format!("m![{text}]")
}

fn notation(pool: &mut Pool, stream: &Stream<'_>) -> String {
    match stream {
        Stream::Expr(expr) => format!("m![{expr}]"),
        Stream::Factors(factors) => bracketed(&write_factors(Text::new(), pool, factors.as_slice())),
    }
}

/// The members of a list, outermost first.
fn members<'a>(expr: &'a Expr, found: &mut Vec<&'a Expr>) {
    if let Expr::Pair(left, right) = expr {
        members(left, found);
        members(right, found);
    } else {
        found.push(expr);
    }
}

/// One member of the stream, or, where members only line up together, all of time or of the packet.
struct Member {
    label: String,
    factors: Factors,
    entries: Vec<Entry>,
}

/// The table under construction.
struct Table {
    remains: Remains,
    packet_name: &'static str,
    rows: Vec<Row>,
    /// What each row walks over, in normal form, for the names of merged entries.
    inside: Vec<Factors>,
}

impl Table {
    /// Appends the rows of time or of the packet, whose loops are `entries`.
    fn stream_part(
        &mut self,
        pool: &mut Pool,
        request: &Request<'_>,
        stream: &Stream<'_>,
        entries: &[Entry],
        is_packet: bool,
    ) -> Result<(), PlanError> {
        let found = match stream {
            Stream::Expr(expr) => single_members(pool, request, expr, is_packet),
            Stream::Factors(_) => None,
        };
        let found = found.filter(|found| {
            let parts = found.iter().flat_map(|member| member.entries.iter());
            parts.eq(entries)
        });
        let found = found.unwrap_or_else(|| {
            let factors = match stream {
                Stream::Expr(expr) => factorize(pool, expr),
                Stream::Factors(factors) => **factors,
            };
            let label = match stream {
                Stream::Expr(expr) => expr.to_string(),
                Stream::Factors(_) => write_factors(Text::new(), pool, factors.as_slice()).to_string(),
            };
            vec![Member { label, factors, entries: entries.to_vec() }]
        });
        let last = found.iter().rposition(|member| !member.entries.is_empty());
        for (position, member) in found.iter().enumerate() {
            self.member(pool, member, is_packet && Some(position) == last);
        }
        Ok(())
    }

    /// Appends the rows of one member. `innermost`: its last row is the innermost loop of the packet.
    fn member(&mut self, pool: &Pool, member: &Member, innermost: bool) {
        let parts = self.remains.parts(pool, &member.factors);
        // Padding inside of all digits is a loop of its own.
        let inner = matches!(member.factors.as_slice(), [Factor::Padding { .. }, ..]);
        let rows = parts.len() + usize::from(inner);
        // Loops over a product that is no digit of the buffer are not those of its axes.
        let own = |(part, entry): (&Part, &Entry)| part.in_buffer() || entry.stride == 0;
        let own_row = member.entries.len() > 1
            && rows == member.entries.len()
            && parts.iter().zip(&member.entries).all(own);
        for (k, entry) in member.entries.iter().enumerate() {
            let is_last = k + 1 == member.entries.len();
            let (label, mine) = if own_row && k == parts.len() {
                (format!("1 # {}", entry.size), &[][..])
            } else if own_row {
                let mut label = parts[k].notation(pool);
                if entry.size > parts[k].resize {
                    label = format!("{label} # {}", entry.size);
                }
                (label, &parts[k..=k])
            } else if k == 0 {
                (member.label.clone(), if is_last { &parts[..] } else { &[] })
            } else {
                (format!("… {}", member.label), if is_last { &parts[..] } else { &[] })
            };
            let inside = match parts.get(k) {
                Some(part) if own_row => part.factors(pool),
                None if own_row => padding(entry.size),
                _ => member.factors,
            };
            let run = !own_row && member.entries.len() > 1 && !parts.is_empty();
            self.row(pool, label, *entry, mine, [innermost && is_last, run]);
            self.inside.push(inside);
        }
    }

    /// Appends a row. `contiguous`: it may be the innermost loop of the packet. `run`: it is one of several loops over
    /// a member as a whole.
    fn row(&mut self, pool: &Pool, term: String, entry: Entry, parts: &[Part], [contiguous, run]: [bool; 2]) {
        self.remains.cut(pool, parts);
        let innermost = parts.iter().rev().find(|part| part.in_buffer());
        let mut source = if entry.stride == 0 {
            if parts.is_empty() { "padding (reads the same again)" } else { "not in Buf (broadcast)" }
                .to_string()
        } else if entry.stride == 1 && contiguous {
            format!("contiguous ({} dimension)", self.packet_name)
        } else if let Some(part) = innermost {
            match self.remains.inside(pool, part) {
                Some(inside) if !inside.is_empty() => format!("m![{inside}]::SIZE"),
                _ => format!("{term} in {}", self.remains.notation(pool)),
            }
        } else if parts.is_empty() && !run {
            "padding (reads on)".to_string()
        } else {
            "a run of Buf".to_string()
        };
        if let [part] = parts
            && part.is_sliced()
        {
            source = format!("{source} (sliced to {})", part.resize);
        }
        self.remains.consume(pool, parts);
        self.rows.push(Row { term, entry, source, after: self.remains.notation(pool) });
    }

    /// The rows after merging, by the rule of [`limited`].
    fn merged(&self, pool: &Pool) -> Vec<MergedRow> {
        let mut groups: Vec<(Entry, Factors, Vec<usize>)> =
            (0..self.rows.len()).map(|k| (self.rows[k].entry, self.inside[k], vec![k])).collect();
        let mut merging = true;
        while merging && groups.len() > spec::SEQUENCER_ENTRIES {
            merging = false;
            for k in (1..groups.len()).rev() {
                let (outer, inner) = (groups[k - 1].0, groups[k].0);
                if outer.stride == inner.size as isize * inner.stride {
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

/// Padding alone.
fn padding(size: usize) -> Factors {
    let mut factors = Factors::one();
    factors.push_padding(size, PaddingKind::Top);
    factors
}

/// The members of an expression, each derived by itself. `None`: one of them cannot be.
fn single_members(
    pool: &mut Pool,
    request: &Request<'_>,
    expr: &Expr,
    is_packet: bool,
) -> Option<Vec<Member>> {
    let mut found = Vec::new();
    members(expr, &mut found);
    let one = Factors::one();
    found
        .into_iter()
        .map(|member| {
            let (own, other) = (Stream::Expr(member), Stream::Factors(&one));
            let (time, packet) = if is_packet { (other, own) } else { (own, other) };
            let derived = derive(pool, &Request { time, packet, unread: true, ..*request }).ok()?;
            let entries = derived.config.entries.as_slice().to_vec();
            Some(Member { label: member.to_string(), factors: factorize(pool, member), entries })
        })
        .collect()
}

/// The terms of factors, outermost first, as [`Remains::parts`] takes them.
pub(super) fn terms(factors: &Factors) -> impl Iterator<Item = (crate::mapping::Term, usize)> + '_ {
    factors.as_slice().iter().rev().filter_map(|factor| match factor {
        Factor::Term { term, resize } => Some((*term, *resize)),
        Factor::Padding { .. } | Factor::Lead { .. } => None,
    })
}

/// Writes rows of cells in columns, as a table that Markdown shows as one.
pub(crate) fn write_table(f: &mut fmt::Formatter<'_>, heads: &[&str], rows: &[Vec<String>]) -> fmt::Result {
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

fn entry_text(entry: &Entry) -> String {
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

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
