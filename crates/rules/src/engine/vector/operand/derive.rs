//! Moves from the elements of an operand to the positions of a stream.

use crate::command::Transfer;
use crate::engine::vector::operand::OPERATION;
use crate::engine::vector::operand::units::check_units;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, FACTORS, Factor, Factors, Pool, Term, factors_of};
use crate::sequencer::transfer::{Level, Placement, derive_read};

const STASH: &str = "vector stash";

/// The input of [`derive_operand`].
#[derive(Clone, Copy, Debug)]
pub struct OperandRequest {
    /// Chip, cluster and slice of the tensor.
    pub units: [&'static Expr; 3],
    /// The elements of the tensor.
    pub element: &'static Expr,
    /// The stream, as five mappings: chip, cluster, slice, time and packet.
    pub stream: &'static Expr,
}

/// The five mappings of a stream.
pub const fn parts(stream: &'static Expr) -> Option<[&'static Expr; 5]> {
    if let Expr::Pair(chip, rest) = stream
        && let Expr::Pair(cluster, rest) = rest
        && let Expr::Pair(slice, rest) = rest
        && let Expr::Pair(time, packet) = rest
    {
        return Some([chip, cluster, slice, time, packet]);
    }
    None
}

/// The dimensions of a stream, innermost first. A position is `time * lanes + lane`.
pub const fn positions(time: &'static Expr, packet: &'static Expr) -> [(&'static Expr, Level); 2] {
    [(packet, Level::Element), (time, Level::Elements(packet.size()))]
}

/// The move from the dimensions of an operand to the positions of a stream. `None` if the operand has an axis, or a
/// part of one, that the stream lacks.
pub const fn broadcast(
    operation: &'static str,
    name: &'static str,
    operand: &[(&'static Expr, Level)],
    stream: &[(&'static Expr, Level)],
) -> Result<Option<Transfer>, PlanError> {
    let source = Placement { name, dimensions: operand };
    let destination = Placement { name: "stream", dimensions: stream };
    match derive_read(operation, &source, &destination) {
        Ok(transfer) => Ok(Some(transfer)),
        Err(error) if crate::text::same(error.rule(), "not covered") => Ok(None),
        Err(error) => Err(error),
    }
}

/// Derives the move from the elements of a tensor in the VRF to the positions of a stream.
///
/// # Errors
///
/// If the tensor is in other slices, has an axis that the stream lacks, is cut at other places, or holds only the first
/// values of an axis of the stream.
pub const fn derive_operand(request: &OperandRequest) -> Result<Transfer, PlanError> {
    let Some([chip, cluster, slice, time, packet]) = parts(request.stream) else {
        refuse!(
            "operand stream",
            "{}: {} is no mapping of a stream; help: give the operand to the call itself",
            (OPERATION, request.stream),
        );
    };
    derive_operand_of(request.units, request.element, [chip, cluster, slice, time, packet])
}

/// As [`derive_operand`], with the five mappings of the stream one by one.
pub const fn derive_operand_of(
    units: [&'static Expr; 3],
    element: &'static Expr,
    [chip, cluster, slice, time, packet]: [&'static Expr; 5],
) -> Result<Transfer, PlanError> {
    attempt!(check_units(units, [chip, cluster, slice, time, packet]));
    attempt!(more_than_first_values(&mut Pool::new(), element, (time, packet), element));
    let dimensions = [(element, Level::Element)];
    if let Some(transfer) = attempt!(broadcast(OPERATION, "VrfTensor", &dimensions, &positions(time, packet)))
    {
        return Ok(transfer);
    }
    refuse!(
        "operand axes",
        "{}: Element {} of the tensor in the VRF has an axis, or a part of one, that time {} and packet {} lack: an \
         operand is broadcast along what it lacks, and has nothing more; help: load a tensor of axes of the stream, \
         cut at the same places",
        (OPERATION, element, time, packet),
    )
}

/// Refuses an element mapping whose `part` keeps only the first value of a digit, while the stream has more values.
///
/// `m![W = 1]` is not `m![1]`: it holds the element at `W: 0`, and none for the other steps of `W`.
const fn more_than_first_values(
    pool: &mut Pool,
    part: &'static Expr,
    (time, packet): (&'static Expr, &'static Expr),
    element: &'static Expr,
) -> Result<(), PlanError> {
    match part {
        Expr::Identity | Expr::Symbol(_) => Ok(()),
        Expr::Pair(left, right) => {
            attempt!(more_than_first_values(pool, left, (time, packet), element));
            more_than_first_values(pool, right, (time, packet), element)
        }
        Expr::Resize(inner, 1) | Expr::Modulo(inner, 1) if inner.size() > 1 => {
            let cut = attempt!(factors_of(OPERATION, pool, inner));
            let streams =
                [attempt!(factors_of(OPERATION, pool, time)), attempt!(factors_of(OPERATION, pool, packet))];
            each!(k < 2 * FACTORS, {
                if let Some((digit, size)) = digit_of(&streams[k % 2], k / 2)
                    && meets(&cut, &digit)
                {
                    refuse!(
                        "insufficient input",
                        "{}: insufficient input: the stream iterates over {}, but Element {} of the tensor in the VRF holds only \
                         the first value of it; help: load all values of it, or leave {} out of Element: a tensor is broadcast \
                         along what it does not name",
                        (OPERATION, term(pool, &digit, size), element, part),
                    );
                }
            });
            Ok(())
        }
        Expr::Stride(inner, _)
        | Expr::Modulo(inner, _)
        | Expr::Resize(inner, _)
        | Expr::Padding(inner, _)
        | Expr::Margin(inner, ..) => more_than_first_values(pool, inner, (time, packet), element),
    }
}

/// A digit of a list, with its size.
const fn digit_of(factors: &Factors, k: usize) -> Option<(Term, usize)> {
    if k >= factors.len() {
        return None;
    }
    match factors.item(k) {
        Factor::Term { term, resize } => Some((*term, *resize)),
        Factor::Padding { .. } => None,
    }
}

/// True if a digit of a list has values of the same axis as another digit.
pub const fn meets(factors: &Factors, digit: &Term) -> bool {
    each!(k < factors.len(), {
        if let Some((other, _)) = digit_of(factors, k)
            && other.atom.is(&digit.atom)
            && other.stride < digit.stride * digit.modulo
            && digit.stride < other.stride * other.modulo
        {
            return true;
        }
    });
    false
}

/// Derives the move from the positions of the stream at the stash to its positions now.
///
/// # Errors
///
/// If the stash has an axis that the stream lacks by now, or is cut at other places.
pub const fn derive_stash(stashed: &'static Expr, stream: &'static Expr) -> Result<Transfer, PlanError> {
    let (Some([.., time, packet]), Some([.., now, lanes])) = (parts(stashed), parts(stream)) else {
        refuse!(
            "stash stream",
            "vector stash: {} is no mapping of a stream; help: let calls say it",
            stashed,
        );
    };
    derive_stash_of([time, packet], [now, lanes])
}

/// As [`derive_stash`], with time and packet at the stash, and those of now.
pub const fn derive_stash_of(
    [time, packet]: [&'static Expr; 2],
    [now, lanes]: [&'static Expr; 2],
) -> Result<Transfer, PlanError> {
    let found = broadcast(STASH, "stash", &positions(time, packet), &positions(now, lanes));
    if let Some(transfer) = attempt!(found) {
        return Ok(transfer);
    }
    refuse!(
        "stash axes",
        "vector stash: what was stashed, time {} and packet {}, has an axis that the stream lacks by now, time {} \
         and packet {}: a reduce has taken it; help: use the stash before the reduce",
        (time, packet, now, lanes),
    )
}
