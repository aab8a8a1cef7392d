//! Slow definitions that tests of several crates compare with. The feature `testing`.

use crate::command::{Step, Transfer, TransferLoop};
use crate::mapping::Guard;
#[cfg(test)]
use crate::mapping::{GuardDigit, GuardSum};
use crate::sequencer::{Config, Entry};
#[cfg(test)]
use rand::{Rng, rngs::SmallRng};
use std::collections::BTreeMap;

/// A move from loops of `(size, source units, source elements, destination units, destination elements)`.
pub fn transfer(loops: &[(usize, usize, usize, usize, usize)]) -> Transfer {
    let mut transfer = Transfer { guard: Guard::always(loops.len()), ..Transfer::new() };
    for &(size, source_units, source_elements, units, elements) in loops {
        let source = Step { units: source_units, elements: source_elements };
        let destination = Step { units, elements };
        transfer.loops.push(TransferLoop { size, source, destination });
    }
    transfer
}

/// The move element by element, from its definition: destination to source.
pub fn moved_by_definition(transfer: &Transfer) -> BTreeMap<(usize, usize), (usize, usize)> {
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

/// A sequencer from its entries.
pub fn config(entries: &[(usize, isize)], packet_size: usize) -> Config {
    let mut config = Config::new(packet_size);
    entries.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
    config
}

/// The definition of a walk, without any joining.
pub fn walked_by_definition(config: &Config) -> Vec<i64> {
    let mut positions = vec![config.base as i64];
    for entry in &config.entries {
        let step = |i: usize| i as i64 * entry.stride as i64;
        positions = positions.iter().flat_map(|p| (0..entry.size).map(move |i| p + step(i))).collect();
    }
    positions
}

/// A guard of random digits over `variables` given variables and earlier sums.
#[cfg(test)]
pub fn random_guard(random: &mut SmallRng, variables: usize) -> Guard {
    let mut guard = Guard::always(variables);
    for k in 0..random.random_range(0..4) {
        let first = guard.digits.len();
        for _ in 0..random.random_range(1..4) {
            guard.digits.push(GuardDigit {
                variable: random.random_range(0..variables + k),
                base: random.random_range(1..4),
                extent: if random.random_range(0..8) == 0 { usize::MAX } else { random.random_range(1..6) },
                weight: random.random_range(0..5),
            });
        }
        let limit = if random.random_range(0..4) == 0 { usize::MAX } else { random.random_range(1..12) };
        let start = if random.random_range(0..3) == 0 { random.random_range(1..4) } else { 0 };
        guard.sums.push(GuardSum { first, len: guard.digits.len() - first, start, limit });
    }
    guard
}
