//! The space of a problem: all choices, in a fixed order.

use crate::choice::{Choice, Level, Split, Spread, Sums, splits, together};
use crate::problem::{Problem, Role};
use furiosa_visa_rules::spec;

/// Calls `each` with every choice. `only`: the operand in the register file, or either.
pub fn for_each(problem: &Problem, only: Option<usize>, each: &mut impl FnMut(Choice)) {
    for weights in [1, 0].into_iter().filter(|operand| only.is_none_or(|only| only == *operand)) {
        let last = problem.axes.iter().rposition(|axis| axis.role == Role::Of(weights));
        let options: Vec<Vec<Split>> = (problem.axes.iter().enumerate())
            .map(|(number, axis)| splits(axis.size, axis.role, weights, Some(number) == last))
            .collect();
        combined(problem, weights, &options, &mut Vec::new(), [1, 1], each);
    }
}

/// Combines splits of all axes that the chip has clusters and slices for.
fn combined(
    problem: &Problem,
    weights: usize,
    options: &[Vec<Split>],
    chosen: &mut Vec<Split>,
    used: [usize; 2],
    each: &mut impl FnMut(Choice),
) {
    let Some(own) = options.get(chosen.len()) else {
        variants(problem, weights, chosen, each);
        return;
    };
    for split in own {
        let used = [used[0] * split.at(Level::Cluster), used[1] * split.at(Level::Slice)];
        if used[0] > spec::CLUSTERS || used[1] > spec::SLICES {
            continue;
        }
        chosen.push(*split);
        combined(problem, weights, options, chosen, used, each);
        chosen.pop();
    }
}

/// Ways to bring an operand to `count` slices that share it: copies, a digit of its own, or one of the summed axes.
fn spreads(
    problem: &Problem,
    weights: usize,
    splits: &[Split],
    own: Role,
    count: usize,
) -> Vec<Option<Spread>> {
    let mut found = vec![None];
    if count > 1 {
        for role in [own, Role::Summed] {
            let axis = (0..splits.len()).find(|&axis| {
                problem.axes[axis].role == role
                    && splits[axis].at(Level::Local).is_multiple_of(count * together(problem, weights, axis))
            });
            found.extend(axis.map(|axis| Some(Spread { axis, count })));
        }
    }
    found
}

/// Calls `each` with the choices that have these splits.
fn variants(problem: &Problem, weights: usize, splits: &[Split], each: &mut impl FnMut(Choice)) {
    let base = Choice {
        weights,
        splits: splits.to_vec(),
        weights_inside: false,
        stream_spread: None,
        weights_spread: None,
        sums: Sums::Whole,
    };
    let slices = |role| base.extent(problem, role, Level::Slice);
    let (of_stream, of_weights) = (Role::Of(base.stream()), Role::Of(weights));
    let team = slices(Role::Summed);
    // Slices that share sums keep whole parts of an axis, also of what is spread along it.
    let sums = |spreads: [Option<Spread>; 2]| {
        let mut sums = vec![if team == 1 { Sums::Whole } else { Sums::First }];
        if team > 1 {
            let shared = (0..splits.len()).filter(|&axis| {
                let spread = spreads.into_iter().flatten().find(|spread| spread.axis == axis);
                let parts = spread.map_or(1, |spread| spread.count) * together(problem, weights, axis) * team;
                matches!(problem.axes[axis].role, Role::Of(_))
                    && splits[axis].at(Level::Local).is_multiple_of(parts)
            });
            sums.extend(shared.map(Sums::Shared));
        }
        sums
    };
    let both = slices(of_stream) > 1 && slices(of_weights) > 1;
    let orders: &[bool] = if both { &[false, true] } else { &[false] };
    for stream_spread in spreads(problem, weights, splits, of_stream, slices(of_weights)) {
        for weights_spread in spreads(problem, weights, splits, of_weights, slices(of_stream)) {
            // Without an exchange, the order of slices changes nothing.
            let exchanged = stream_spread.is_some() || weights_spread.is_some();
            for &weights_inside in if exchanged { orders } else { &orders[..1] } {
                for sums in sums([stream_spread, weights_spread]) {
                    each(Choice { weights_inside, stream_spread, weights_spread, sums, ..base.clone() });
                }
            }
        }
    }
}
