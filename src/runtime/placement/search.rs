//! Places in other orders than that of the program.
//!
//! The largest tensors come first, or those that live longest. A tensor that finds no place comes earlier in the next
//! attempt.

use super::{Room, Unplaced, gaps, sort_by_start};
use crate::command::Address;
use core::cmp::Reverse;
use core::ops::Range;
use furiosa_visa_rules::sorting;

/// Comparisons of two tensors that all attempts may take, and the most attempts.
const COMPARISONS: usize = 20_000_000;
const ATTEMPTS: usize = 400;

/// Places of all tensors, or nothing.
pub(super) fn places(room: &Room<'_>, tensors: &[Unplaced], limit: u64) -> Option<Vec<Address>> {
    let attempts = (COMPARISONS / tensors.len().pow(2).max(1)).clamp(4, ATTEMPTS);
    let life = |tensor: &Unplaced| (tensor.last - tensor.first + 1) as u64;
    let keys: [&dyn Fn(&Unplaced) -> u64; 4] = [
        &|tensor| tensor.padded(),
        &|tensor| tensor.padded().saturating_mul(life(tensor)),
        &|tensor| life(tensor),
        &|tensor| u64::MAX - tensor.first as u64,
    ];
    keys.iter().find_map(|key| {
        let mut order: Vec<usize> = (0..tensors.len()).collect();
        sorting::by_key(&mut order, |&k| Reverse(key(&tensors[k])));
        (0..attempts.div_ceil(keys.len())).find_map(|_| {
            let (places, stuck) = in_order(room, tensors, limit, &order);
            let Some(stuck) = stuck else { return Some(places) };
            let tensor = order.remove(stuck);
            order.insert(stuck / 2, tensor);
            None
        })
    })
}

/// Places in an order, and the index in it of the first tensor that has none.
fn in_order(
    room: &Room<'_>,
    tensors: &[Unplaced],
    limit: u64,
    order: &[usize],
) -> (Vec<Address>, Option<usize>) {
    let mut places = vec![0; tensors.len()];
    for (k, &index) in order.iter().enumerate() {
        let tensor = &tensors[index];
        let placed = order[..k].iter().filter(|&&other| tensors[other].meets(tensor));
        let placed = placed.map(|&other| places[other]..places[other] + tensors[other].bytes);
        let taken = room.taken.iter().filter(|taken| taken.meets(tensor)).map(|taken| taken.bytes.clone());
        let mut busy: Vec<Range<u64>> = placed.chain(taken).collect();
        sort_by_start(&mut busy);
        let mut best: Option<Address> = None;
        gaps(&busy, tensor, limit, |_, highest, _| best = Some(highest));
        match best {
            Some(at) => places[index] = at,
            None => return (places, Some(k)),
        }
    }
    (places, None)
}
