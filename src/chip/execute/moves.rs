//! The loops of a move, ordered for the simulating machine: long rows innermost.

use crate::chip::live::{LiveRows, depends_on, live_runs};
use crate::command::{Step, Transfer, TransferLoop};

/// The most elements of a row, so that it stays in the nearest cache.
const ROW_ELEMENTS: usize = 8192;

/// A loop and the guard's variable that it counts.
#[derive(Clone, Copy, Debug)]
struct Loop {
    size: usize,
    source: Step,
    destination: Step,
    variable: Option<usize>,
}

/// One side of a row of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The unit.
    pub(crate) unit: usize,
    /// The first element.
    pub(crate) position: usize,
    /// Elements between two elements of the row.
    pub(crate) stride: usize,
}

/// The loops without those of one iteration, neighbours joined where both sides go on evenly.
fn joined(transfer: &Transfer) -> Vec<Loop> {
    let mut loops: Vec<Loop> = Vec::new();
    for (k, &TransferLoop { size, source, destination }) in transfer.loops.iter().enumerate() {
        if size == 1 {
            continue;
        }
        let variable = depends_on(&transfer.guard, k).then_some(k);
        let even = |outer: Step, inner: Step| {
            outer.units == inner.units * size && outer.elements == inner.elements * size
        };
        match loops.last_mut() {
            Some(outer)
                if variable.is_none()
                    && outer.variable.is_none()
                    && even(outer.source, source)
                    && even(outer.destination, destination) =>
            {
                *outer = Loop { size: outer.size * size, source, destination, variable };
            }
            _ => loops.push(Loop { size, source, destination, variable }),
        }
    }
    loops
}

/// Takes out the loop that makes the best rows.
fn take_row(loops: &mut Vec<Loop>) -> Loop {
    let still = Step { units: 0, elements: 0 };
    let inside = |l: &Loop| l.source.units == 0 && l.destination.units == 0;
    // A run that is contiguous on both sides moves as bytes; one that is contiguous on one side touches fewer
    // cache lines.
    let worth = |l: &Loop| {
        let contiguous = usize::from(l.source.elements == 1) + usize::from(l.destination.elements == 1);
        l.size.min(ROW_ELEMENTS) * [1, 2, 64][contiguous]
    };
    let best = (0..loops.len()).filter(|&k| inside(&loops[k])).max_by_key(|&k| worth(&loops[k]));
    match best {
        Some(best) => loops.remove(best),
        None => Loop { size: 1, source: still, destination: still, variable: None },
    }
}

/// Calls `visit` with source, destination and length of every row of elements that a move consists of.
pub(crate) fn for_each_row(transfer: &Transfer, mut visit: impl FnMut(End, End, usize)) {
    let mut loops = joined(transfer);
    if loops.iter().any(|l| l.size == 0) {
        return;
    }
    let row = take_row(&mut loops);
    let live = LiveRows::new(&transfer.guard, row.variable.unwrap_or(usize::MAX), row.size);
    let mut mask = Vec::new();
    let mut variables = vec![0; transfer.guard.variables];
    let mut indices = vec![0; loops.len()];
    let mut source = Step { units: 0, elements: 0 };
    let mut destination = source;
    loop {
        let liveness = live.row(&mut variables, &mut mask);
        live_runs(liveness, &mask, row.size, |start, len| {
            for first in (start..start + len).step_by(ROW_ELEMENTS) {
                let end = |base: Step, step: Step| End {
                    unit: base.units,
                    position: base.elements + first * step.elements,
                    stride: step.elements,
                };
                let len = (start + len - first).min(ROW_ELEMENTS);
                visit(end(source, row.source), end(destination, row.destination), len);
            }
        });
        let mut k = loops.len();
        loop {
            if k == 0 {
                return;
            }
            k -= 1;
            let l = &loops[k];
            let back = l.size - 1;
            if indices[k] < back {
                indices[k] += 1;
                source.units += l.source.units;
                source.elements += l.source.elements;
                destination.units += l.destination.units;
                destination.elements += l.destination.elements;
            } else {
                indices[k] = 0;
                source.units -= l.source.units * back;
                source.elements -= l.source.elements * back;
                destination.units -= l.destination.units * back;
                destination.elements -= l.destination.elements * back;
            }
            if let Some(variable) = l.variable {
                variables[variable] = indices[k];
            }
            if indices[k] > 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::{Guard, GuardDigit, GuardSum};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeMap;

    /// A move from loops of `(size, source units, source elements, destination units, destination elements)`.
    pub(crate) fn transfer(loops: &[(usize, usize, usize, usize, usize)]) -> Transfer {
        let mut transfer = Transfer { guard: Guard::always(loops.len()), ..Transfer::new() };
        for &(size, source_units, source_elements, units, elements) in loops {
            let source = Step { units: source_units, elements: source_elements };
            let destination = Step { units, elements };
            transfer.loops.push(TransferLoop { size, source, destination });
        }
        transfer
    }

    /// Element by element, as the definition says: destination to source.
    pub(crate) fn naive(transfer: &Transfer) -> BTreeMap<(usize, usize), (usize, usize)> {
        let total: usize = transfer.loops.iter().map(|l| l.size).product();
        let mut moves = BTreeMap::new();
        for k in 0..total {
            let mut rest = k;
            let mut indices = vec![0; transfer.loops.len()];
            for (index, l) in indices.iter_mut().zip(&transfer.loops).rev() {
                *index = rest % l.size;
                rest /= l.size;
            }
            if transfer.guard.holds(&indices) {
                let end = |step: fn(&TransferLoop) -> Step| {
                    let steps = indices.iter().zip(&transfer.loops).map(|(&i, l)| (i, step(l)));
                    steps.fold((0, 0), |(u, e), (i, step)| (u + i * step.units, e + i * step.elements))
                };
                moves.insert(end(|l| l.destination), end(|l| l.source));
            }
        }
        moves
    }

    #[test]
    fn rows_are_the_move() {
        let mut random = SmallRng::seed_from_u64(11);
        for _ in 0..300 {
            let mut loops = Vec::new();
            let mut inner = 1;
            for k in 0..random.random_range(1..5usize) {
                let size = random.random_range(1..6);
                let units = k == 3;
                let source = [0, 1, inner, 7][random.random_range(0..4)];
                loops.push((
                    size,
                    usize::from(units),
                    source,
                    usize::from(units),
                    if units { 0 } else { inner },
                ));
                inner *= size;
            }
            loops.reverse();
            let mut transfer = transfer(&loops);
            if random.random_range(0..2) == 0 {
                for _ in 0..2 {
                    transfer.guard.digits.push(GuardDigit {
                        variable: random.random_range(0..loops.len()),
                        base: 1,
                        extent: 8,
                        weight: random.random_range(1..4),
                    });
                }
                transfer.guard.sums.push(GuardSum { first: 0, len: 2, limit: random.random_range(1..12) });
            }
            let mut moves = BTreeMap::new();
            for_each_row(&transfer, |from, to, len| {
                for k in 0..len {
                    let pair = (from.unit, from.position + k * from.stride);
                    moves.insert((to.unit, to.position + k * to.stride), pair);
                }
            });
            assert_eq!(moves, naive(&transfer), "{transfer:?}");
        }
    }

    #[test]
    fn even_loops_become_one_row() {
        let mut rows = Vec::new();
        for_each_row(&transfer(&[(4, 0, 64, 1, 0), (8, 0, 8, 0, 8), (8, 0, 1, 0, 1)]), |from, to, len| {
            rows.push((from.position, to.unit, len));
        });
        assert_eq!(rows, [(0, 0, 64), (64, 1, 64), (128, 2, 64), (192, 3, 64)]);
    }
}
