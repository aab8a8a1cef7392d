//! The Transpose Engine, position by position.
//!
//! ```text
//!   Time ≡ [outer, rows, ppc]      OutTime ≡ [outer, ppc, elems']      OutPacket ≡ rows, padded
//!   out[(o, c, e), r] = in[(o, r, c), e]
//! ```
//!
//! The parts are found by trying every place that they could have.

use super::digits::content;
use super::mapping::{Coordinates, Map};
use super::numbers::ElementType;

/// The rules, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// 4-bit elements that are not whole bytes.
    WholeBytes,
    /// A packet that is not 32 bytes.
    Flit,
    /// More than 8 bytes of rows.
    RowBytes,
    /// Rows that time does not have.
    Rows,
    /// Columns that the engine does not have.
    Columns,
    /// Packets of a row that the new time does not have.
    Packets,
    /// More rows out than columns.
    OutRows,
    /// Elements that are dropped or changed.
    Elements,
    /// Time outside of the rows that is changed.
    Time,
}

/// The matrices of a transpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Matrices {
    pub in_rows: usize,
    pub packets_per_col: usize,
    pub in_cols: usize,
    pub out_rows: usize,
    pub iterations: usize,
}

impl Matrices {
    /// Flits that enter per matrix.
    pub fn in_flits(&self) -> usize {
        self.in_rows * self.packets_per_col
    }

    /// The flit and the lane from which a row of a time step comes: `out[(o, c, e), r] = in[(o, r, c), e]`.
    pub fn source(&self, step: usize, row: usize) -> (usize, usize) {
        let elems = self.out_rows / self.packets_per_col;
        let (o, c, e) = (step / self.out_rows, step % self.out_rows / elems, step % elems);
        ((o * self.in_rows + row) * self.packets_per_col + c, e)
    }
}

/// Elements that are taken of each packet.
pub fn packet_elements(element: ElementType) -> usize {
    if element.bits() == 4 { 16 } else { 8 }
}

type Cells = Vec<Option<Coordinates>>;

/// The places at which `part` stands: how many positions of `whole` are inside of it. What is inside may begin with
/// positions that hold nothing.
fn places(whole: &Cells, part: &Cells) -> Vec<usize> {
    let fits = |inside: &usize| {
        let stands =
            |first: usize| part.iter().enumerate().all(|(k, cell)| whole[first + k * inside] == *cell);
        whole.len().is_multiple_of(inside * part.len()) && (0..*inside).any(stands)
    };
    (1..=whole.len() / part.len()).filter(fits).collect()
}

/// Every `step`-th of the cells, from `first` on.
fn every(cells: &Cells, step: usize, first: usize) -> Cells {
    cells.iter().skip(first).step_by(step).cloned().collect()
}

/// The sizes that a packet may have without its outermost padding: as it is written, and up to its last element. Padding
/// between the two may be that of an axis inside.
fn stripped(packet: &Map) -> Vec<usize> {
    let live = packet.table().iter().rposition(Option::is_some).map_or(1, |last| last + 1);
    let mut sizes = vec![content(packet), live];
    sizes.dedup();
    sizes
}

/// The matrices, one for each legal way to read the mappings, or the rules that are broken.
///
/// # Errors
/// When no way to read the mappings is legal.
pub fn matrices(
    element: ElementType,
    [time, packet]: [&Map; 2],
    [out_time, out_packet]: [&Map; 2],
) -> Result<Vec<Matrices>, Vec<Rule>> {
    for flit in [packet, out_packet] {
        match flit.size() * element.bits() {
            bits if bits % 8 != 0 => return Err(vec![Rule::WholeBytes]),
            256 => {}
            _ => return Err(vec![Rule::Flit]),
        }
    }
    let before = time.table();
    let (mut legal, mut rules) = (Vec::new(), Vec::new());
    for in_rows in stripped(out_packet) {
        match in_rows * element.bits() {
            bits if bits % 8 != 0 => rules.push(Rule::WholeBytes),
            bits if bits > 64 => rules.push(Rule::RowBytes),
            _ => {
                let rows = out_packet.table()[..in_rows].to_vec();
                // One row stands everywhere: it is innermost.
                let mut found = if in_rows == 1 { vec![1] } else { places(&before, &rows) };
                // Where the first row of a block is padding of time, the rows are: blocks lie on no border of an axis.
                found.retain(|packets| {
                    let mut blocks = before.chunks(packets * in_rows);
                    blocks.all(|block| block[0].is_some() || block.iter().all(Option::is_none))
                });
                if found.is_empty() {
                    rules.push(Rule::Rows);
                }
                for packets_per_col in found {
                    let outer = every(&before, packets_per_col * in_rows, 0);
                    let ppc = before[..packets_per_col].to_vec();
                    let in_cols = packets_per_col * packet_elements(element);
                    match leaving(element, packet, out_time, (&outer, &ppc)) {
                        Err(broken) => rules.extend(broken),
                        Ok(out_rows) => {
                            let iterations = out_time.size() / out_rows;
                            legal.push(Matrices { in_rows, packets_per_col, in_cols, out_rows, iterations });
                        }
                    }
                }
            }
        }
    }
    if legal.is_empty() { Err(rules) } else { Ok(legal) }
}

/// The packets that leave per matrix, or the rules that are broken.
fn leaving(
    element: ElementType,
    packet: &Map,
    out_time: &Map,
    (outer, ppc): (&Cells, &Cells),
) -> Result<usize, Vec<Rule>> {
    let (taken, packets) = (packet_elements(element), ppc.len());
    let columns: &[usize] = if element.bits() == 4 { &[16, 32] } else { &[8, 16, 32] };
    if !columns.contains(&(packets * taken)) {
        return Err(vec![Rule::Columns]);
    }
    let after = out_time.table();
    let held = packet.table();
    // Packets may begin with positions that hold nothing.
    let first = held.iter().position(Option::is_some).unwrap_or(0);
    let found = match packets {
        1 if after.len().is_multiple_of(outer.len()) => vec![after.len() / outer.len()],
        1 => return Err(vec![Rule::Time]),
        _ => places(&after, ppc),
    };
    let mut rules = Vec::new();
    // Packets of which one alone holds an element may stand anywhere.
    if packets > 1 && ppc[1..].iter().all(Option::is_none) {
        rules.push(Rule::Packets);
    }
    for elems in found {
        // What only one side has is padding.
        let cell = |cells: &[Option<Coordinates>], k: usize| cells.get(k).cloned().flatten();
        let kept = (0..held.len().max(elems)).all(|k| cell(&held, k) == cell(&after[..elems], k));
        rules.push(match () {
            () if elems > taken => Rule::OutRows,
            () if !kept => Rule::Elements,
            () if every(&after, elems * packets, first) != *outer => Rule::Time,
            () => return Ok(elems * packets),
        });
    }
    if rules.is_empty() {
        rules.push(Rule::Packets);
    }
    Err(rules)
}

/// The values that leave, row-major over time and packet, of those that enter. Lanes beyond the rows hold nothing.
pub fn transpose<V: Clone>(element: ElementType, own: &Matrices, values: &[Option<V>]) -> Vec<Option<V>> {
    let lanes = element.per_flit();
    let held = |step: usize, row: usize| {
        let (flit, lane) = own.source(step, row);
        values[flit * lanes + lane].clone()
    };
    (0..own.iterations * own.out_rows)
        .flat_map(|step| (0..lanes).map(move |lane| (step, lane)))
        .map(|(step, lane)| if lane < own.in_rows { held(step, lane) } else { None })
        .collect()
}

/// Cycles of the matrices, event by event: a flit enters or leaves per cycle and side. Two buffers of 16 columns are filled
/// in turns; a matrix of 32 columns takes both.
pub fn cycles(element: ElementType, own: &Matrices) -> usize {
    let in_flits = own.in_rows * own.in_cols / packet_elements(element);
    let buffers = if own.in_cols <= 16 { 2 } else { 1 };
    let (mut filled, mut emptied) = (0, vec![0; buffers]);
    for matrix in 0..own.iterations {
        let buffer = matrix % buffers;
        filled = emptied[buffer].max(filled) + in_flits;
        let last = emptied.iter().copied().max().unwrap_or(0);
        emptied[buffer] = filled.max(last) + own.out_rows;
    }
    emptied.into_iter().max().unwrap_or(0)
}
