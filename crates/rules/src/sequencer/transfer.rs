//! Deriving the loops of a move between two placements.
//!
//! Both tensors are cut into the same digits. A digit of the source becomes a loop with a step on either side. A digit
//! of the destination alone is a broadcast and does not step on the source side.
//!
//! ```text
//! HBM m![A, B]  ->  DM Slice m![A / 4 # 256], Element m![B, A % 4]        (A = 8, B = 16)
//!
//!   loop      source step     destination step
//!   A / 4     64 elements     1 slice
//!   B         1 element       4 elements
//!   A % 4     16 elements     1 element
//! ```

use crate::command::{Start, Step, TRANSFER_LOOPS, Transfer, TransferLoop};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{
    CutRule, Expr, Factor, Factors, Guard, GuardBuilder, Matched, Pieces, Pool, UNKNOWN, factorize, matched,
    repeated,
};
use crate::spec;
use crate::text::Text;

/// Placement of one dimension of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Over units: this many per position.
    Units(usize),
    /// Inside a unit, one element per position.
    Element,
    /// Inside a unit, this many elements per position.
    Elements(usize),
}

/// The dimensions of a tensor at rest, innermost first.
#[derive(Clone, Copy, Debug)]
pub struct Placement<'a> {
    /// Name in messages, for example `DmTensor`.
    pub name: &'static str,
    /// Expressions and levels.
    pub dimensions: &'a [(&'static Expr, Level)],
}

/// Units between neighbouring chips of DM.
pub const DM_CHIP: Level = Level::Units(spec::CLUSTERS * spec::SLICES);
/// Units between neighbouring clusters of DM.
pub const DM_CLUSTER: Level = Level::Units(spec::SLICES);
/// Units between neighbouring slices of DM.
pub const DM_SLICE: Level = Level::Units(1);
/// Units between neighbouring chips of HBM.
pub const HBM_CHIP: Level = Level::Units(1);

/// The most dimensions of a placement.
pub const LEVELS: usize = 5;

/// Derives the loops that carry every element of `source` to its places in `destination`.
pub const fn derive_transfer(
    operation: &'static str,
    source: &Placement<'_>,
    destination: &Placement<'_>,
    broadcast: bool,
) -> Result<Transfer, PlanError> {
    derive_transfer_of(operation, source, destination, broadcast, [&[], &[]])
}

/// The same with the known normal forms of the dimensions of source and destination.
pub const fn derive_transfer_of(
    operation: &'static str,
    source: &Placement<'_>,
    destination: &Placement<'_>,
    broadcast: bool,
    forms: [&[&Factors]; 2],
) -> Result<Transfer, PlanError> {
    let mut pool = Pool::new();
    let from = attempt!(factors_known(operation, &mut pool, source, forms[0]));
    let to = attempt!(factors_known(operation, &mut pool, destination, forms[1]));
    let broadcast = if broadcast { Broadcast::Axes } else { Broadcast::Refused };
    derive_between(operation, &pool, source, &from, destination, &to, broadcast)
}

/// The same, with a broadcast along every digit that the source lacks. A digit that the source has must have all values
/// of the destination.
pub const fn derive_read(
    operation: &'static str,
    source: &Placement<'_>,
    destination: &Placement<'_>,
) -> Result<Transfer, PlanError> {
    let mut pool = Pool::new();
    let from = attempt!(all_factors(operation, &mut pool, source));
    let to = attempt!(all_factors(operation, &mut pool, destination));
    derive_between(operation, &pool, source, &from, destination, &to, Broadcast::Digits)
}

/// Parts of a destination that the source may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broadcast {
    /// Nothing.
    Refused,
    /// Axes that are not in the source at all.
    Axes,
    /// Digits, also if the source has other digits of their axes: one value for a group of neighbours.
    Digits,
}

/// The loops of a move between two placements whose factors are known.
///
/// # Errors
/// A refusal if the source does not cover the destination, or if the move needs too many loops.
pub const fn derive_between(
    operation: &'static str,
    pool: &Pool,
    source: &Placement<'_>,
    from: &[Factors; LEVELS],
    destination: &Placement<'_>,
    to: &[Factors; LEVELS],
    broadcast: Broadcast,
) -> Result<Transfer, PlanError> {
    let mut dividend = Pieces::of_first(to, destination.dimensions.len());
    let mut divisor = Pieces::of_first(from, source.dimensions.len());
    (dividend.movable, divisor.movable) = (true, true);
    let cut = matched(pool, dividend, divisor, [CutRule::Whole, CutRule::Ragged]);
    attempt!(source_is_covered(operation, pool, &cut, source, destination));
    if matches!(broadcast, Broadcast::Digits)
        && let Some((digit, size)) = cut.past_held_values()
    {
        refuse!(
            "insufficient input",
            "{}: insufficient input: the {} iterates over {}, but {} holds only the first values of it; \
             help: load all values of it, or let the {} end with them",
            operation,
            destination.name,
            term(pool, &digit, size),
            &placement_text(source),
            destination.name,
        );
    }
    let mut transfer = Transfer::new();
    transfer.source_start = start(&cut.divisor, source);
    transfer.destination_start = start(&cut.dividend, destination);
    let mut loop_of_piece = [usize::MAX; crate::mapping::PIECES];
    // Destination order, outermost first.
    each_back!(k < cut.dividend.list.len, {
        let Factor::Term { term, resize } = cut.dividend.list.items[k].factor else { continue };
        let destination_step = step(&cut.dividend, k, destination);
        let mut size = resize;
        let mut source_step = Step { units: 0, elements: 0 };
        match cut.partner(k) {
            Some(other) => {
                if let Factor::Term { resize, .. } = cut.divisor.list.items[other].factor {
                    size = resize;
                }
                source_step = step(&cut.divisor, other, source);
                loop_of_piece[other] = transfer.loops.len;
            }
            None => {
                let repeated = is_repeat(&cut, k);
                if matches!(broadcast, Broadcast::Refused) && !repeated {
                    refuse!(
                        "broadcast not allowed",
                        "{}: the destination {} has {}, which the source {} lacks, and a broadcast is not allowed here; \
                         help: remove it from the destination, or give it to the source",
                        operation,
                        &placement_text(destination),
                        term(pool, &term, resize),
                        &placement_text(source),
                    );
                }
                if !repeated && !matches!(broadcast, Broadcast::Digits) && holds_axis_partly(&cut, k) {
                    refuse!(
                        "insufficient input",
                        "{}: insufficient input: the destination wants {}, a part of an axis of which the source {} holds \
                         another part only; help: make it a part of the source",
                        (operation, term(pool, &term, resize), &placement_text(source)),
                    );
                }
            }
        }
        transfer.loops.push(TransferLoop { size, source: source_step, destination: destination_step });
    });
    if transfer.loops.overflowed || cut.overflowed() {
        return Err(too_many(operation));
    }
    transfer.guard = match guard(pool, &cut, &transfer, &loop_of_piece) {
        Some(guard) => guard,
        None => return Err(too_many(operation)),
    };
    Ok(transfer)
}

pub(super) const fn too_many(operation: &'static str) -> PlanError {
    let text = text!(
        "{}: the move needs more than {} loops; help: move the tensor in several steps",
        (operation, TRANSFER_LOOPS),
    );
    PlanError::new("too many loops", text)
}

/// The factors of all dimensions of a placement.
///
/// # Errors
/// The refusal of a mapping without a normal form.
pub const fn all_factors(
    operation: &'static str,
    pool: &mut Pool,
    placement: &Placement<'_>,
) -> Result<[Factors; LEVELS], PlanError> {
    factors_known(operation, pool, placement, &[])
}

const fn factors_known(
    operation: &'static str,
    pool: &mut Pool,
    placement: &Placement<'_>,
    forms: &[&Factors],
) -> Result<[Factors; LEVELS], PlanError> {
    let mut factors = [Factors::ONE; LEVELS];
    let known = forms.len();
    each!(k < placement.dimensions.len(), {
        let form = if k < known { forms[k] } else { UNKNOWN };
        factors[k] = match form.problem {
            None => *form,
            Some(_) => factorize(pool, placement.dimensions[k].0),
        };
        let factors = &factors[k];
        if let Some(problem) = factors.problem {
            return Err(PlanError::mapping(operation, problem));
        }
        if factors.len > 1
            && let Some((digit, size)) = repeated(pool, &[factors])
        {
            refuse!(
                "axis repeated",
                "{}: {} of {} has {} twice; help: name each part of an axis once",
                (operation, placement.dimensions[k].0, &placement_text(placement), term(pool, &digit, size)),
            );
        }
    });
    Ok(factors)
}

/// Distance that one value of a piece moves.
pub(super) const fn step(pieces: &Pieces, k: usize, placement: &Placement<'_>) -> Step {
    let piece = &pieces.list.items[k];
    match placement.dimensions[piece.level].1 {
        Level::Units(units) => Step { units: units * piece.base, elements: 0 },
        Level::Element => Step { units: 0, elements: piece.base },
        Level::Elements(elements) => Step { units: 0, elements: elements * piece.base },
    }
}

/// Start of the loops on one side.
pub(super) const fn start(pieces: &Pieces, placement: &Placement<'_>) -> Start {
    let mut start = Start::FIRST;
    each!(k < placement.dimensions.len(), {
        let from = pieces.starts[k];
        if from != 0 {
            match placement.dimensions[k].1 {
                Level::Units(units) => start.units += units as isize * from,
                Level::Element => start.elements += from,
                Level::Elements(elements) => start.elements += elements as isize * from,
            }
        }
    });
    start
}

/// True if the same digit occurs a second time in the destination, in another dimension: each place gets all of it.
pub(super) const fn is_repeat(cut: &Matched, k: usize) -> bool {
    let Some((term, _)) = cut.dividend.digit(k) else { return false };
    each!(other < cut.dividend.list.len, {
        if let Some((same, _)) = cut.dividend.digit(other)
            && cut.dividend.list.items[other].matched
            && same.is(&term)
        {
            return true;
        }
    });
    false
}

pub(super) const fn holds_axis_partly(cut: &Matched, k: usize) -> bool {
    let Factor::Term { term, .. } = cut.dividend.list.items[k].factor else {
        return false;
    };
    each!(other < cut.divisor.list.len, {
        if let Factor::Term { term: held, .. } = cut.divisor.list.items[other].factor
            && held.atom.is(&term.atom)
        {
            return true;
        }
    });
    false
}

const fn source_is_covered(
    operation: &'static str,
    pool: &Pool,
    cut: &Matched,
    source: &Placement<'_>,
    destination: &Placement<'_>,
) -> Result<(), PlanError> {
    each_back!(k < cut.divisor.list.len, {
        let piece = &cut.divisor.list.items[k];
        if !piece.matched
            && let Factor::Term { term, resize } = piece.factor
        {
            let inferred = if crate::text::same(source.name, "HostTensor") {
                "; or, if the call leaves its mapping to a `launch`, give the launch its arguments in the order of the kernel"
            } else {
                ""
            };
            refuse!(
                "not covered",
                "{}: the destination {} has no place for {} of the source {}: a move cannot drop or cut an axis; \
                 help: add it to the destination, split at the same places{}",
                operation,
                &placement_text(destination),
                term(pool, &term, resize),
                &placement_text(source),
                inferred,
            );
        }
    });
    Ok(())
}

pub(super) const fn placement_text(placement: &Placement<'_>) -> Text {
    write_placement(Text::new(), placement)
}

/// Writes `DmTensor<m![1], m![1 # 2], …>`.
pub const fn write_placement(text: Text, placement: &Placement<'_>) -> Text {
    let mut text = text.str("`").str(placement.name).str("<");
    each_back!(k < placement.dimensions.len(), {
        text = placement.dimensions[k].0.notation(text.str("m![")).str("]");
        if k > 0 {
            text = text.str(", ");
        }
    });
    text.str(">`")
}

pub(super) const fn guard(
    pool: &Pool,
    cut: &Matched,
    transfer: &Transfer,
    loop_of_piece: &[usize; crate::mapping::PIECES],
) -> Option<Guard> {
    let mut builder = GuardBuilder::new(transfer.loops.len);
    // Digits of axes that the loop indices determine.
    let mut index = 0;
    each_back!(k < cut.dividend.list.len, {
        if let Factor::Term { term, .. } = &cut.dividend.list.items[k].factor {
            // A second copy of a digit must not be added to the first.
            if cut.dividend.list.items[k].matched || !is_repeat(cut, k) {
                builder.push_digit(index, term.atom, term.stride, transfer.loops.items[index].size - 1);
            }
            index += 1;
        }
    });
    // Limits of source digits that were cut unevenly.
    let mut k = 0;
    while k < cut.divisor.list.len {
        let origin = cut.divisor.list.items[k].origin;
        if k + 1 == cut.divisor.list.len || cut.divisor.list.items[k + 1].origin != origin {
            k += 1;
            continue;
        }
        let mut parts = [(0usize, 0usize, 0usize); 8];
        let mut count = 0;
        let mut values = 1;
        let mut resize = 0;
        let mut j = k;
        while j < cut.divisor.list.len && cut.divisor.list.items[j].origin == origin {
            let piece = &cut.divisor.list.items[j];
            if let Factor::Term { resize: size, .. } = piece.factor {
                if count == parts.len() {
                    return None;
                }
                parts[count] = (loop_of_piece[j], size, piece.weight);
                count += 1;
                values *= size;
                resize = piece.total;
            }
            j += 1;
        }
        // The rows of a table have no loop.
        let has_loops = count > 0 && parts[0].0 != usize::MAX;
        if count > 1 && values > resize && has_loops {
            builder = builder.limit(parts.split_at(count).0, resize);
        }
        k = j;
    }
    builder.build(pool)
}

/// The contiguous run of a transfer: elements that follow each other on both sides, in the innermost loops without a
/// guard.
pub const fn contiguous_elements(transfer: &Transfer) -> usize {
    let mut run = 1;
    let mut grown = true;
    while grown {
        grown = false;
        // The loops of a run mostly stand in this order.
        each_back!(k < transfer.loops.len, {
            let current = &transfer.loops.items[k];
            if current.source.elements == run
                && current.destination.elements == run
                && current.size > 1
                && current.source.units == 0
                && current.destination.units == 0
            {
                run *= current.size;
                grown = true;
            }
        });
    }
    run
}
