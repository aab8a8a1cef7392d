//! Deriving the loops of a move whose rows are placed by an index tensor: gather and scatter.
//!
//! One side is the *table*, in HBM; the other one, in DM, has a row for each element of the index. An axis of the index
//! replaces the axis by which the table is indexed.
//!
//! ```text
//! table m![V, H], index m![S]  ->  DM Slice m![S / 4 # 256], Element m![S % 4, H]      (S = 16, V = 1000, H = 64)
//!
//!   rows      loop      index step     DM step            from row to row in the table
//!             S / 4     4              1 slice            value of the index, times 64 elements
//!             S % 4     1              64 elements
//!
//!   payload   loop      table step     DM step
//!             H         1 element      1 element
//! ```
//!
//! Table and index are cut together, as if they were one tensor, and matched with the other side. The axes of the index
//! are matched first. The indexed axis is the part of the table without a partner.

use super::transfer::{
    LEVELS, Level, Placement, all_factors, guard, holds_axis_partly, is_repeat, placement_text, start, step,
    too_many,
};
use crate::command::{Start, Step, Transfer, TransferLoop};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::guard::split;
use crate::mapping::{Atom, CutRule, Expr, Factor, Matched, PIECES, Pieces, Pool, Term, matched};

/// The tensors of a move by an index.
#[derive(Clone, Copy, Debug)]
pub struct RowPlacements<'a> {
    /// The call, for messages.
    pub operation: &'static str,
    /// True if rows go from the table to the other side.
    pub gathers: bool,
    /// The table: its element and its chip.
    pub table: Placement<'a>,
    /// The index. Its chip, if given, comes last and equals that of the table.
    pub index: Placement<'a>,
    /// The other side.
    pub side: Placement<'a>,
}

/// The loops of a move by an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLoops {
    /// Loops from the elements of the index to the starts of their rows on the side that is not the table. Chips are
    /// loops of it.
    pub rows: Transfer,
    /// The move of one row.
    pub payload: Transfer,
    /// Both, with a loop over the rows of the table that does not step on the other side.
    pub all: Transfer,
    /// The rows of the table.
    pub count: usize,
    /// Elements of the table from one row to the next.
    pub stride: usize,
    /// Elements of a row in one chip, without padding.
    pub elements: usize,
}

/// Derives the loops.
pub const fn derive_rows(given: &RowPlacements<'_>) -> Result<RowLoops, PlanError> {
    let RowPlacements { operation, gathers, table, index, side } = *given;
    // Table and index are one tensor here, once with the steps of either. The chip of the index is that of the table.
    let levels = index.dimensions.len() - 1;
    let none = (&Expr::Identity as &'static Expr, Level::Units(0));
    let (mut in_table, mut in_index) = ([none; LEVELS], [none; LEVELS]);
    in_table[0] = table.dimensions[0];
    in_table[1] = table.dimensions[1];
    in_index[0] = (table.dimensions[0].0, Level::Units(0));
    in_index[1] = (table.dimensions[1].0, index.dimensions[levels].1);
    each!(k < levels, {
        in_table[2 + k] = (index.dimensions[k].0, Level::Units(0));
        in_index[2 + k] = index.dimensions[k];
    });
    let in_table = Placement { name: table.name, dimensions: in_table.split_at(2 + levels).0 };
    let in_index = Placement { name: index.name, dimensions: in_index.split_at(2 + levels).0 };

    let mut pool = Pool::new();
    let both = attempt!(all_factors(operation, &mut pool, &in_table));
    let other = attempt!(all_factors(operation, &mut pool, &side));
    let both = Pieces::of_first(&both, 2 + levels).movable();
    let other = Pieces::of_first(&other, side.dimensions.len()).movable();
    let rules = [CutRule::Whole, CutRule::Ragged];
    let cut = if gathers { matched(&pool, other, both, rules) } else { matched(&pool, both, other, rules) };
    if cut.overflowed() {
        return Err(too_many(operation));
    }
    let (both, other) = if gathers { (&cut.divisor, &cut.dividend) } else { (&cut.dividend, &cut.divisor) };
    attempt!(check_index(&pool, given, &cut, both, other));
    attempt!(check_payload(&pool, given, &cut, both, other));
    let (count, stride) = attempt!(row_axis(&pool, given, both));

    let mut transfer = Transfer::new();
    let side_start = start(other, &side);
    // A row is in the chip of its index, which starts with the table.
    let table_start = Start { units: 0, ..start(both, &in_table) };
    let index_start = start(both, &in_index);
    let mut index_steps = [Step { units: 0, elements: 0 }; crate::command::TRANSFER_LOOPS];
    let mut loop_of_piece = [usize::MAX; PIECES];
    let mut elements = 1;
    // Loops in the order of the dividend, outermost first.
    each_back!(k < cut.dividend.list.len(), {
        let Factor::Term { resize, .. } = cut.dividend.list.at(k).factor else { continue };
        let partner = cut.partner(k);
        let mut size = resize;
        if let Some(partner) = partner {
            if let Factor::Term { resize, .. } = cut.divisor.list.at(partner).factor {
                size = resize;
            }
            loop_of_piece[partner] = transfer.loops.len();
        }
        let still = Step { units: 0, elements: 0 };
        let (of_both, of_side) = if gathers { (partner, Some(k)) } else { (Some(k), partner) };
        let (mut at_table, mut at_index, mut at_side) = (still, still, still);
        if let Some(piece) = of_both {
            at_table = step(both, piece, &in_table);
            at_index = step(both, piece, &in_index);
            if both.list.at(piece).level == 0 && both.list.at(piece).matched {
                elements *= size;
            }
        }
        match of_side {
            Some(piece) => at_side = step(other, piece, &side),
            // The indexed axis stays at its first row.
            None => (size, at_table, at_index) = (1, still, still),
        }
        if transfer.loops.len() < index_steps.len() {
            index_steps[transfer.loops.len()] = at_index;
        }
        let (source, destination) = if gathers { (at_table, at_side) } else { (at_side, at_table) };
        transfer.loops.push(TransferLoop { size, source, destination });
    });
    if transfer.loops.overflowed() {
        return Err(too_many(operation));
    }
    transfer.guard = match guard(&pool, &cut, &transfer, &loop_of_piece) {
        Some(guard) => guard,
        None => return Err(too_many(operation)),
    };
    (transfer.source_start, transfer.destination_start) =
        if gathers { (table_start, side_start) } else { (side_start, table_start) };
    let (mut rows, payload) = match apart(&transfer, &index_steps, gathers) {
        Some(parts) => parts,
        None => return Err(shared_padding(given)),
    };
    rows.source_start = index_start;

    let mut all = transfer;
    let (still, row) = (Step { units: 0, elements: 0 }, Step { units: 0, elements: stride });
    let (source, destination) = if gathers { (row, still) } else { (still, row) };
    all.loops.push(TransferLoop { size: count, source, destination });
    if all.loops.overflowed() {
        return Err(too_many(operation));
    }
    Ok(RowLoops { rows, payload, all, count, stride, elements })
}

/// The loops over rows, and the loops inside a row. `None` if padding depends on both.
const fn apart(
    transfer: &Transfer,
    index_steps: &[Step; crate::command::TRANSFER_LOOPS],
    gathers: bool,
) -> Option<(Transfer, Transfer)> {
    let (mut rows, mut payload) = (Transfer::new(), Transfer::new());
    let mut is_row = [false; crate::command::TRANSFER_LOOPS];
    each!(k < transfer.loops.len(), {
        let current = transfer.loops.at(k);
        is_row[k] = index_steps[k].units > 0 || index_steps[k].elements > 0;
        if is_row[k] {
            let side = if gathers { current.destination } else { current.source };
            rows.loops.push(TransferLoop { size: current.size, source: index_steps[k], destination: side });
        } else {
            payload.loops.push(current);
        }
    });
    let Some([of_rows, of_payload]) = split::guards(&transfer.guard, &is_row) else { return None };
    (rows.guard, payload.guard) = (of_rows, of_payload);
    (payload.source_start, payload.destination_start) = (transfer.source_start, transfer.destination_start);
    rows.destination_start = Start::FIRST;
    Some((rows, payload))
}

const fn shared_padding(given: &RowPlacements<'_>) -> PlanError {
    let text = text!(
        "{}: in {} rows share padding with what is in them, so that one row may hold fewer elements than another; help: \
         pad the axes of the index {} and those of a row each by themselves",
        (given.operation, &placement_text(&given.side), &placement_text(&given.index)),
    );
    PlanError::new("ragged rows", text)
}

/// Requires the axes of the index on the side that is not the table; for a scatter, in its slices and elements.
const fn check_index(
    pool: &Pool,
    given: &RowPlacements<'_>,
    cut: &Matched,
    both: &Pieces,
    other: &Pieces,
) -> Result<(), PlanError> {
    let (operation, side) = (given.operation, &given.side);
    each_back!(k < both.list.len(), {
        let piece = both.list.at(k);
        let Factor::Term { term, resize } = piece.factor else { continue };
        if piece.level < 2 || resize == 1 {
            continue;
        }
        let partner = if given.gathers { cut.partner_of_divisor(k) } else { cut.partner(k) };
        let Some(partner) = partner else {
            refuse!(
                "index axis",
                "{}: {} has no place for {} of the index {}: every element of the index is a row there; help: add it, \
                 split at the same places",
                (operation, &placement_text(side), term(pool, &term, resize), &placement_text(&given.index)),
            );
        };
        // Levels 0 and 1 are the element and the slice.
        if !given.gathers && other.list.at(partner).level > 1 {
            refuse!(
                "scatter key",
                "{}: {} of the scatter key is in {} of {}, but a key must be in its slices and elements; help: move it \
                 to `Slice` or `Element` with `.to_dm()` first",
                operation,
                term(pool, &term, resize),
                if other.list.at(partner).level == 2 { "`Cluster`" } else { "`Chip`" },
                &placement_text(side),
            );
        }
    });
    Ok(())
}

/// Requires a place in the destination for all other axes of the source. Axes of the destination alone are a broadcast.
const fn check_payload(
    pool: &Pool,
    given: &RowPlacements<'_>,
    cut: &Matched,
    both: &Pieces,
    other: &Pieces,
) -> Result<(), PlanError> {
    let (operation, side, table) = (given.operation, &given.side, &given.table);
    each_back!(k < both.list.len(), {
        let piece = both.list.at(k);
        if let Factor::Term { term, resize } = piece.factor
            && piece.level == 1
            && matches!(term.atom, Atom::Composite(_))
        {
            refuse!(
                "row chips",
                "{}: the chips of {} hold parts of a product, {}, of which an index in each chip does not tell which is padding; \
                 help: spread an axis over the chips, and keep its padding out of the rows",
                (operation, &placement_text(table), term(pool, &term, resize)),
            );
        }
        if let Factor::Term { term, resize } = piece.factor
            && piece.level == 1
            && !piece.matched
            && resize > 1
        {
            refuse!(
                "not covered",
                "{}: {} of the chips of {} is not in {}: rows stay in their chip; help: give both the same `Chip`, and \
                 keep its axes out of the index",
                (operation, term(pool, &term, resize), &placement_text(table), &placement_text(side)),
            );
        }
    });
    each_back!(k < other.list.len(), {
        let piece = other.list.at(k);
        let Factor::Term { term, resize } = piece.factor else { continue };
        if piece.matched {
            continue;
        }
        if !given.gathers {
            refuse!(
                "not covered",
                "{}: the output {} has no place for {} of {}, which is no part of the scatter key; help: add it to the \
                 output, or to the key",
                (operation, &placement_text(table), term(pool, &term, resize), &placement_text(side)),
            );
        }
        if !is_repeat(cut, k) && holds_axis_partly(cut, k) {
            refuse!(
                "insufficient input",
                "{}: insufficient input: the destination wants {}, a part of an axis of which the table {} and the index \
                 hold another part only; help: make it a part of the table",
                (operation, term(pool, &term, resize), &placement_text(table)),
            );
        }
    });
    Ok(())
}

/// The indexed axis of the table: the number of its rows, and the elements from one row to the next.
const fn row_axis(
    pool: &Pool,
    given: &RowPlacements<'_>,
    both: &Pieces,
) -> Result<(usize, usize), PlanError> {
    let (operation, table, side) = (given.operation, &given.table, &given.side);
    let mut first: Option<usize> = None;
    each!(k < both.list.len(), {
        let piece = both.list.at(k);
        if let Factor::Term { term, resize } = piece.factor
            && piece.level == 0
            && !piece.matched
        {
            match first {
                None => first = Some(k),
                Some(known) if both.list.at(known).origin == piece.origin => {}
                Some(known) => {
                    let (other, size) = match both.digit(known) {
                        Some(digit) => digit,
                        None => (term, resize),
                    };
                    let index = &given.index;
                    if let Some((batch, size)) = in_index(both, &term, resize, &other, size) {
                        refuse!(
                            "batched index",
                            "{}: {} is in the index {} and in the table {}: an index for each of it (a batched index) is not \
                             supported; help: use a move for each, or number the rows of the whole table by one axis",
                            operation,
                            term(pool, &batch, size),
                            &placement_text(index),
                            &placement_text(table),
                        );
                    }
                    refuse!(
                        "row axes",
                        "{}: of the table {}, {} and {} are in no row of {}, but one axis is indexed; help: add the axes of a \
                         row to the other side, so that one is left",
                        operation,
                        &placement_text(table),
                        term(pool, &term, resize),
                        term(pool, &other, size),
                        &placement_text(side),
                    );
                }
            }
        }
    });
    let Some(first) = first else {
        refuse!(
            "row axis",
            "{}: the table {} has no axis left that could be indexed: all that has more than one position is in {}; help: \
             name the rows of the table by an axis that the rows of the other tensor do not have, of two or more positions",
            (operation, &placement_text(table), &placement_text(side)),
        );
    };
    let piece = both.list.at(first);
    // The parts of the axis that are not in a row. `whole` is true if no part is in a row.
    let (mut count, mut whole, mut even) = (1, true, true);
    each!(k < both.list.len(), {
        let part = both.list.at(k);
        if part.origin == piece.origin
            && let Factor::Term { resize, .. } = part.factor
        {
            if part.matched {
                whole = false;
            } else {
                even = even && part.base == piece.base * count;
                count *= resize;
            }
        }
    });
    if whole {
        count = piece.total;
    }
    if let Some((term, size)) = both.digit(first)
        && !(even && is_in_all_rows(pool, both, piece.origin, &term, count))
    {
        refuse!(
            "row part",
            "{}: the rows of the table {} are {}, and other parts of this axis are in a row, so that one row may hold fewer \
             elements than another; help: cut the axis where it divides, or give the rows an axis of their own",
            (operation, &placement_text(table), term(pool, &term, size)),
        );
    }
    Ok((count, piece.base))
}

/// The digit of the two whose axis the index holds.
const fn in_index(both: &Pieces, a: &Term, a_size: usize, b: &Term, b_size: usize) -> Option<(Term, usize)> {
    each!(k < both.list.len(), {
        let piece = both.list.at(k);
        if let Factor::Term { term, .. } = piece.factor
            && piece.level >= 2
        {
            if term.atom.is(&a.atom) {
                return Some((*a, a_size));
            }
            if term.atom.is(&b.atom) {
                return Some((*b, b_size));
            }
        }
    });
    None
}

/// True if every row holds the same elements, even if rows hold a part of the indexed axis. `lowest`: the innermost
/// indexed digit; `count`: the number of rows.
const fn is_in_all_rows(pool: &Pool, both: &Pieces, origin: usize, lowest: &Term, count: usize) -> bool {
    let size = pool.atom_size(&lowest.atom);
    let end = lowest.stride * count;
    if size.is_multiple_of(lowest.stride) && (end == size || size.is_multiple_of(end)) {
        return matches!(lowest.atom, Atom::Symbol(_));
    }
    each!(k < both.list.len(), {
        let piece = both.list.at(k);
        if let Factor::Term { term, .. } = piece.factor
            && piece.level < 2
            && (piece.origin != origin || piece.matched)
            && term.atom.is(&lowest.atom)
        {
            return false;
        }
    });
    matches!(lowest.atom, Atom::Symbol(_))
}
