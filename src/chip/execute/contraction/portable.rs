//! The kernels in plain loops over arrays of lanes.
//!
//! They are inlined into their callers, so that each caller's loops use the vectors that it may use.

use super::job::{FloatJob, IntegerJob};
use super::shape::CELLS;
use super::tree::{Lanes, add, multiply};
use super::weights::Sixteen;
use super::widen::{to_words, widen};

/// Adds the sums of the steps in the order of the tree.
#[inline(always)]
pub(super) fn float(job: FloatJob<'_>) {
    match job.shape.half {
        4 => float_halves::<4>(job),
        8 => float_halves::<8>(job),
        16 => float_halves::<16>(job),
        half => {
            debug_assert_eq!(half, 32, "shapes have no other halves");
            float_halves::<32>(job);
        }
    }
}

#[inline(always)]
fn float_halves<const HALF: usize>(job: FloatJob<'_>) {
    let FloatJob { shape, steps, packets, weights, sums } = job;
    let units = shape.columns.div_ceil(2);
    // Vectors after which the weights repeat.
    let tile = shape.tile();
    let mut cells = [0.0; CELLS];
    for (packet, steps) in packets.zip(steps) {
        widen(shape.element, packet, &mut cells[..shape.cells]);
        for step in steps {
            let first = step.tile as usize * tile;
            let weights = &weights[first..first + tile];
            let sums = &mut sums[step.result as usize..][..shape.columns];
            for unit in 0..units {
                let x: &[f32] = &cells[2 * HALF * unit..][..2 * HALF];
                let [low, high] = if shape.repeats() {
                    let weight = |k: usize| {
                        let k = k & (shape.period - 1);
                        &weights[k / 2].0[k % 2]
                    };
                    [half::<HALF>(&x[..HALF], weight), half::<HALF>(&x[HALF..], weight)]
                } else {
                    let vectors: &[Sixteen] = &weights[unit * HALF & (tile - 1)..][..HALF];
                    [
                        half::<HALF>(&x[..HALF], |k| &vectors[k].0[0]),
                        half::<HALF>(&x[HALF..], |k| &vectors[k].0[1]),
                    ]
                };
                if shape.joined {
                    let sum = add(low, high);
                    sums[0] = add(sums[0], if shape.absent { add(sum, [0.0; 8]) } else { sum });
                } else {
                    sums[2 * unit] = add(sums[2 * unit], low);
                    if let Some(sum) = sums.get_mut(2 * unit + 1) {
                        *sum = add(*sum, high);
                    }
                }
            }
        }
    }
}

/// The tree over one side of a unit.
#[inline(always)]
fn half<'a, const HALF: usize>(x: &[f32], weight: impl Fn(usize) -> &'a Lanes) -> Lanes {
    let product = |k: usize| multiply(x[k], weight(k));
    let four = |k| add(add(product(k), product(k + 1)), add(product(k + 2), product(k + 3)));
    let eight = |k| add(four(k), four(k + 4));
    let sixteen = |k| add(eight(k), eight(k + 8));
    match HALF {
        4 => four(0),
        8 => eight(0),
        16 => sixteen(0),
        _ => add(sixteen(0), sixteen(16)),
    }
}

/// Adds the sums of the steps, wrapping.
#[inline(always)]
pub(super) fn integer(job: IntegerJob<'_>) {
    let IntegerJob { shape, steps, packets, pairs, sums, .. } = job;
    let (tile, part) = (shape.tile(), shape.part / 2);
    let mut words = [0; CELLS];
    for (packet, steps) in packets.zip(steps) {
        to_words(shape.element, packet, &mut words);
        let cells = words.as_chunks::<2>().0;
        for step in steps {
            let first = step.tile as usize * tile;
            let weights = &pairs[first..first + tile];
            let sums = &mut sums[step.result as usize..][..shape.columns];
            for (column, sum) in sums.iter_mut().enumerate() {
                let mut total = *sum;
                let cells = &cells[column * part..][..part];
                let from = column * part & (tile - 1);
                // As far as the weights go before they repeat.
                for cells in cells.chunks(tile) {
                    for (weight, &[x, y]) in weights[from..].iter().zip(cells) {
                        for (lane, [v, w]) in total.iter_mut().zip(weight.0) {
                            // Two products of 8 bits each do not overflow.
                            let pair = i32::from(v) * i32::from(x) + i32::from(w) * i32::from(y);
                            *lane = lane.wrapping_add(pair);
                        }
                    }
                }
                *sum = total;
            }
        }
    }
}
