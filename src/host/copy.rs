//! Carries out a move between two arrays on the host.

use crate::command::{Start, Transfer};
use crate::mapping::guard::rows::{LiveRows, depends_on, live_runs};

/// Side of the squares in which a transposition is copied, so that both sides stay in the nearest cache.
const TILE: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Loop {
    size: usize,
    source: usize,
    destination: usize,
    /// The guard variable that the loop counts, if the guard depends on it.
    variable: Option<usize>,
}

/// Copies every element that the loops reach and the guard lets pass. Units are ignored.
pub(crate) fn copy_elements<T: Copy>(transfer: &Transfer, source: &[T], destination: &mut [T]) {
    let mut loops = joined(transfer);
    if loops.iter().any(|l| l.size == 0) {
        return;
    }
    let start = |start: Start| start.elements + start.units;
    let starts = (start(transfer.source_start), start(transfer.destination_start));
    if loops.iter().all(|l| l.variable.is_none()) && !transfer.guard.holds(&vec![0; transfer.guard.variables])
    {
        return;
    }
    let row = take(&mut loops, |l| (l.destination == 1, l.size));
    if row.variable.is_none() && row.source > 1 && loops.iter().all(|l| l.variable.is_none()) {
        let column = take(&mut loops, |l| (l.source == 1, l.size));
        walk(&loops, starts, &mut [], |from, to, _| {
            copy_tiles(&row, &column, &source[from as usize..], &mut destination[to as usize..])
        });
        return;
    }
    let live = LiveRows::new(&transfer.guard, row.variable.unwrap_or(usize::MAX), row.size);
    let (mut mask, mut variables) = (Vec::new(), vec![0; transfer.guard.variables]);
    walk(&loops, starts, &mut variables, |from, to, variables| {
        let liveness = live.row(variables, &mut mask);
        live_runs(liveness, &mask, row.size, |start, len| {
            // Positions before a start are not live.
            let from = from.saturating_add_unsigned(start * row.source) as usize;
            let to = to.saturating_add_unsigned(start * row.destination) as usize;
            match (row.source, row.destination) {
                (1, 1) => destination[to..to + len].copy_from_slice(&source[from..from + len]),
                (0, 1) => destination[to..to + len].fill(source[from]),
                _ => {
                    for k in 0..len {
                        destination[to + k * row.destination] = source[from + k * row.source];
                    }
                }
            }
        });
    });
}

/// Copies rows of columns in squares.
fn copy_tiles<T: Copy>(row: &Loop, column: &Loop, source: &[T], destination: &mut [T]) {
    for first in (0..column.size).step_by(TILE) {
        for start in (0..row.size).step_by(TILE) {
            for i in first..column.size.min(first + TILE) {
                for j in start..row.size.min(start + TILE) {
                    destination[i * column.destination + j * row.destination] =
                        source[i * column.source + j * row.source];
                }
            }
        }
    }
}

/// The loops that run more than once. Neighbours are joined if both sides continue evenly.
fn joined(transfer: &Transfer) -> Vec<Loop> {
    let mut loops: Vec<Loop> = Vec::new();
    for (k, l) in transfer.loops.iter().enumerate().filter(|(_, l)| l.size != 1) {
        let variable = depends_on(&transfer.guard, k).then_some(k);
        let (size, source, destination) = (l.size, l.source.elements, l.destination.elements);
        match loops.last_mut() {
            Some(outer)
                if variable.is_none()
                    && outer.variable.is_none()
                    && outer.source == source * size
                    && outer.destination == destination * size =>
            {
                *outer = Loop { size: outer.size * size, source, destination, variable };
            }
            _ => loops.push(Loop { size, source, destination, variable }),
        }
    }
    loops
}

/// Removes the loop with the greatest worth.
fn take<K: Ord>(loops: &mut Vec<Loop>, worth: impl Fn(&Loop) -> K) -> Loop {
    match (0..loops.len()).max_by_key(|&k| worth(&loops[k])) {
        Some(best) => loops.remove(best),
        None => Loop { size: 1, source: 0, destination: 0, variable: None },
    }
}

/// Visits the positions of both sides at every index tuple.
fn walk(
    loops: &[Loop],
    (mut from, mut to): (isize, isize),
    variables: &mut [usize],
    mut visit: impl FnMut(isize, isize, &mut [usize]),
) {
    let mut indices = vec![0; loops.len()];
    loop {
        visit(from, to, variables);
        let mut k = loops.len();
        loop {
            if k == 0 {
                return;
            }
            k -= 1;
            let l = &loops[k];
            if indices[k] + 1 < l.size {
                indices[k] += 1;
                from += l.source as isize;
                to += l.destination as isize;
            } else {
                from -= (l.source * indices[k]) as isize;
                to -= (l.destination * indices[k]) as isize;
                indices[k] = 0;
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
mod tests {
    use super::*;
    use crate::command::{Step, TransferLoop};
    use crate::mapping::{Guard, GuardDigit, GuardSum};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    /// Copies element by element.
    fn naive(transfer: &Transfer, source: &[u32], destination: &mut [u32]) {
        let total: usize = transfer.loops.iter().map(|l| l.size).product();
        for k in 0..total {
            let mut rest = k;
            let mut indices = vec![0; transfer.loops.len()];
            for (index, l) in indices.iter_mut().zip(&transfer.loops).rev() {
                *index = rest % l.size;
                rest /= l.size;
            }
            if transfer.guard.holds(&indices) {
                let at = |step: fn(&TransferLoop) -> usize| {
                    indices.iter().zip(&transfer.loops).map(|(i, l)| i * step(l)).sum::<usize>()
                };
                destination[at(|l| l.destination.elements)] = source[at(|l| l.source.elements)];
            }
        }
    }

    #[test]
    fn every_move_is_its_definition() {
        let mut random = SmallRng::seed_from_u64(5);
        for _ in 0..400 {
            let count = random.random_range(0..5usize);
            let mut transfer = Transfer { guard: Guard::always(count), ..Transfer::new() };
            let sizes: Vec<usize> = (0..count).map(|_| [1, 2, 3, 5, 40][random.random_range(0..5)]).collect();
            let mut order: Vec<usize> = (0..count).collect();
            for k in 0..count {
                order.swap(k, random.random_range(0..count));
            }
            for k in 0..count {
                // The source is stored in another order; every fourth loop repeats.
                let place = order.iter().position(|&o| o == k).expect("a permutation");
                let source = order[..place].iter().map(|&o| sizes[o]).product::<usize>();
                let source = if random.random_range(0..4) == 0 { 0 } else { source };
                transfer.loops.push(TransferLoop {
                    size: sizes[k],
                    source: Step { units: 0, elements: source },
                    destination: Step { units: 0, elements: sizes[k + 1..].iter().product() },
                });
            }
            if count > 0 && random.random_range(0..2) == 0 {
                for _ in 0..2 {
                    let variable = random.random_range(0..count);
                    let weight = random.random_range(1..4);
                    transfer.guard.digits.push(GuardDigit { variable, base: 1, extent: 64, weight });
                }
                transfer.guard.sums.push(GuardSum {
                    first: 0,
                    len: 2,
                    start: 0,
                    limit: random.random_range(1..40),
                });
            }
            let total: usize = sizes.iter().product();
            let source: Vec<u32> = (1..=total as u32).collect();
            let (mut fast, mut slow) = (vec![0; total], vec![0; total]);
            copy_elements(&transfer, &source, &mut fast);
            naive(&transfer, &source, &mut slow);
            assert_eq!(fast, slow, "{transfer:?}");
        }
    }
}
