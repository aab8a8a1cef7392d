//! Places in the order of first commands.

use super::{LastUsed, Room, Unplaced, gaps, sort_by_start};
use crate::command::Address;
use core::ops::Range;

/// The free piece that a tensor gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The bytes that have been free for longest: a write waits for the last reader of its bytes.
    Oldest,
    /// The smallest piece.
    Smallest,
    /// The highest piece.
    Highest,
    /// The highest piece for tensors that live long, the lowest one for others.
    ByLife,
}

impl Choice {
    /// In the order in which they are tried.
    pub(super) const ALL: [Choice; 4] = [Self::Oldest, Self::Smallest, Self::Highest, Self::ByLife];
}

/// The most bounds between stamps that are looked at for one tensor.
const BOUNDS: usize = 64;

/// Places of tensors, up to the first one that has none.
pub(super) fn places(
    room: &Room<'_>,
    tensors: &[Unplaced],
    used: &LastUsed,
    limit: u64,
    choice: Choice,
) -> Vec<Address> {
    let mut used = used.clone();
    let mut places = Vec::with_capacity(tensors.len());
    // Bytes in use, by their addresses.
    let mut live: Vec<(Range<u64>, usize)> = Vec::new();
    let mut lives: Vec<usize> = tensors.iter().map(|tensor| tensor.last - tensor.first).collect();
    let middle = lives.len() / 2;
    let median = *lives.select_nth_unstable(middle).1;
    for tensor in tensors {
        let mut ended: Vec<(usize, Range<u64>)> = Vec::new();
        live.retain(|(bytes, last)| {
            let lives = *last >= tensor.first;
            if !lives && choice == Choice::Oldest {
                ended.push((*last, bytes.clone()));
            }
            lives
        });
        // Stamps of this group are above those before it.
        used.note(ended.into_iter(), u64::MAX / 2);
        let taken = room.taken.iter().filter(|taken| taken.meets(tensor)).map(|taken| taken.bytes.clone());
        let mut busy: Vec<Range<u64>> = live.iter().map(|(bytes, _)| bytes.clone()).chain(taken).collect();
        if !room.taken.is_empty() {
            sort_by_start(&mut busy);
        }
        let lives_long = tensor.last - tensor.first > median;
        let mut best: Option<(u64, Address)> = None;
        let mut offer = |cost: u64, at: Address| {
            if best.is_none_or(|(least, _)| cost <= least) {
                best = Some((cost, at));
            }
        };
        // From the lowest piece up: of equal ones the highest is taken.
        gaps(&busy, tensor, limit, |lowest, highest, piece| match choice {
            Choice::Smallest => offer(piece, highest),
            Choice::Highest => offer(0, highest),
            Choice::ByLife if lives_long => offer(0, highest),
            Choice::ByLife => offer(lowest + 1, lowest),
            Choice::Oldest => {
                let mut at = |at: Address| offer(used.latest(&(at..at + tensor.bytes)), at);
                at(lowest);
                for bound in used.bounds(&(lowest..highest + tensor.bytes)).take(BOUNDS) {
                    let below = bound.saturating_sub(tensor.bytes) / tensor.align * tensor.align;
                    let above = bound.next_multiple_of(tensor.align);
                    [below, above].into_iter().filter(|at| (lowest..=highest).contains(at)).for_each(&mut at);
                }
                at(highest);
            }
        });
        let Some((_, at)) = best else { break };
        places.push(at);
        let index = live.partition_point(|(bytes, _)| bytes.start < at);
        live.insert(index, (at..at + tensor.bytes, tensor.last));
    }
    places
}
