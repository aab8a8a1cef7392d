//! A memory as a picture: addresses from left to right, operations from top to bottom.

use super::TensorLife;
use core::fmt;
use furiosa_visa_rules::sorting;

/// Maximum number of tensors in a picture. Each has at most two ends, so the picture has at most twice as many pieces.
pub(super) const DRAWN: usize = 30;

/// Number of columns for the bytes of a picture.
const COLUMNS: usize = 84;

/// Number of columns for the operation in front of them.
const MARGIN: usize = 12;

/// Letter of a tensor. `None` if it is not in the picture.
pub(super) fn letter(tensor: usize) -> Option<char> {
    let letters = ('a'..='z').chain('A'..='Z');
    letters.take(DRAWN).nth(tensor)
}

/// Bytes between two neighbouring ends of tensors, and their columns.
struct Piece {
    start: u64,
    end: u64,
    columns: usize,
}

/// Cuts the bytes at all ends of tensors. Long pieces get more columns, but the picture is not to scale.
fn pieces(tensors: &[TensorLife]) -> Vec<Piece> {
    let mut cuts: Vec<u64> = tensors.iter().flat_map(|life| [life.bytes.start, life.bytes.end]).collect();
    sorting::ascending(&mut cuts);
    cuts.dedup();
    let weight = |start: u64, end: u64| (end - start).ilog2() as usize + 1;
    let total: usize = cuts.windows(2).map(|pair| weight(pair[0], pair[1])).sum();
    let spare = COLUMNS - (cuts.len() - 1).min(COLUMNS);
    let columns = |start, end| 1 + spare * weight(start, end) / total;
    let piece = |pair: &[u64]| Piece { start: pair[0], end: pair[1], columns: columns(pair[0], pair[1]) };
    cuts.windows(2).map(piece).collect()
}

/// Addresses above the columns at which their pieces start, as far as there is room.
fn ruler(pieces: &[Piece]) -> String {
    let mut line = String::new();
    let mut column = 0;
    for piece in pieces {
        let label = piece.start.to_string();
        if (line.is_empty() || line.len() < column) && column + label.len() <= COLUMNS {
            line.push_str(&" ".repeat(column - line.len()));
            line.push_str(&label);
        }
        column += piece.columns;
    }
    line
}

/// Draws the first tensors. A row is the memory after an operation that made a tensor: its letter where the tensor is
/// needed now or later, `.` where it only lies there.
pub(super) fn write(f: &mut fmt::Formatter<'_>, tensors: &[TensorLife], count: u64) -> fmt::Result {
    let drawn = &tensors[..tensors.len().min(DRAWN)];
    if drawn.is_empty() {
        return Ok(());
    }
    let pieces = pieces(drawn);
    writeln!(f, "{:MARGIN$}{}", "", ruler(&pieces))?;
    for (k, life) in drawn.iter().enumerate() {
        let now = life.made.number;
        let mut row = String::new();
        for piece in &pieces {
            let there = |entry: &&(usize, &TensorLife)| {
                entry.1.bytes.start <= piece.start && piece.end <= entry.1.bytes.end
            };
            let made: Vec<_> = drawn[..=k].iter().enumerate().collect();
            let mark = match made.iter().rev().find(there) {
                Some((index, top)) if top.last.number >= now => letter(*index).unwrap_or('.'),
                Some(_) => '.',
                None => ' ',
            };
            row.extend(core::iter::repeat_n(mark, piece.columns));
        }
        let name = format!("#{now}");
        writeln!(f, "{name:>width$} |{row}|", width = MARGIN - 2)?;
    }
    if count as usize > drawn.len() {
        writeln!(f, "{:MARGIN$}and {} more tensors", "", count as usize - drawn.len())?;
    }
    Ok(())
}
