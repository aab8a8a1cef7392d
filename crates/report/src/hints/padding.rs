//! Rows of a tensor in HBM that end inside of a unit, padded to whole units.
//!
//! ```text
//!   m![R, K]          │ row 0 ······│row 1 ······   │       units of two rows are read, changed and written
//!   m![R, K # 1024]   │ row 0 ······  │ row 1 ······  │     each row starts a unit; padding is not moved
//! ```

use super::moved::{Moved, Moves};
use super::{Candidate, Change, HintKind, Line, LineKey, by_rule};
use furiosa_visa_clock::record::Record;
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::mapping::digits::{expr_of, pair, parts_of, size_of};
use furiosa_visa_rules::spec::HBM_UNIT_BYTES;
use furiosa_visa_rules::text::grouped;
use litemap::LiteMap;

/// A transfer with padded rows.
pub(super) struct Padded {
    /// Its cycles.
    pub cycles: u64,
    /// Bytes of a row as it is.
    pub row: u64,
    /// The mapping that changes.
    pub change: Change,
}

impl Padded {
    /// Reason for the cycles.
    fn cause(&self, is_store: bool) -> String {
        let (unit, row) = (HBM_UNIT_BYTES as u64, self.row);
        let costs = if is_store { "HBM reads, changes and writes them" } else { "HBM reads two for one" };
        format!(
            "rows of {} bytes begin inside of units of {unit} bytes: {costs}; the last run of each row: {} of {unit} bytes",
            grouped(row),
            row % unit
        )
    }
}

/// The transfer of a record with its rows in HBM padded as it takes the fewest cycles. `None`: no padding makes it
/// shorter. Rows of less than a unit would become many times as long: they get no padding.
pub(super) fn padded(record: &Record, moves: &mut Moves) -> Option<Padded> {
    let moved = Moved::of(record)?;
    let end = moved.hbm()?;
    let shape = moved.ends[end].shape;
    let parts = parts_of(shape.element)?;
    let (unit, bits) = (8 * HBM_UNIT_BYTES, shape.element_type.bits());
    let mut best: Option<Padded> = None;
    for first in 1..parts.len() {
        let (outer, row) = parts.split_at(first);
        let positions = size_of(row);
        let wanted = (positions * bits).next_multiple_of(unit);
        if positions * bits < unit || (positions * bits).is_multiple_of(unit) || !wanted.is_multiple_of(bits)
        {
            continue;
        }
        let element = pair(expr_of(outer, 1), expr_of(row, wanted / bits));
        let Some(cycles) = moves.edited(record, &moved, &moved.with_element(end, element)) else { continue };
        if cycles < best.as_ref().map_or(record.timing.cycles(), |best| best.cycles) {
            let tensor = |element: &Expr| {
                format!("HbmTensor<{}, m![{}], m![{element}]>", shape.element_type, shape.chip)
            };
            let change = Change { before: tensor(shape.element), after: tensor(element) };
            best = Some(Padded { cycles, row: (positions * bits / 8) as u64, change });
        }
    }
    best
}

/// The candidate of a line of transfers whose rows in HBM are padded.
pub(super) fn of_line<'a>(line: (LineKey, &Line<'_>), moves: &mut Moves) -> Option<Candidate<'a>> {
    let mut change = None;
    let mut kind = HintKind::PartialWrites;
    let mut known: LiteMap<(*const Expr, *const Expr, u64), Option<Padded>> = LiteMap::new();
    let found = by_rule(kind, line, |record| {
        let moved = Moved::of(record)?;
        let [from, to] = moved.ends.each_ref().map(|end| core::ptr::from_ref(end.shape.element));
        let padded = known.entry((from, to, record.timing.cycles())).or_insert_with(|| padded(record, moves));
        let padded = padded.as_ref()?;
        let is_store = moved.hbm() == Some(1);
        kind = if is_store { HintKind::PartialWrites } else { HintKind::SplitReads };
        change.get_or_insert_with(|| padded.change.clone());
        let whose = if is_store { "result" } else { "operand" };
        let edit = format!("pad the rows of the {whose} in HBM to whole units; padding is not moved");
        Some((padded.cycles, (padded.cause(is_store), edit)))
    })?;
    Some(Candidate { kind, changes: change.into_iter().collect(), ..found })
}
