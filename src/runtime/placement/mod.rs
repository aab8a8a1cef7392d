//! Bytes for tensors whose first and last command are known.
//!
//! ```text
//!   command      0    1    2    3    4    5
//!   tensor A     ├─────────┤
//!   tensor B          ├─────────┤                   A and C share bytes, B and D too
//!   tensor C                    ├─────────┤
//!   tensor D                         ├────┤
//! ```
//!
//! Two tensors share bytes if no command lies in the lives of both: a command that reads the one and writes the other is
//! in both. Tensors that live at no common time make groups, and each group is placed by itself. A group is placed in the
//! order of first commands ([`sweep`]), with the bytes that have been free for longest. If they do not fit so, they are
//! packed closer, and at last in orders other than that of the program ([`search`]).

mod last_used;
mod search;
mod sweep;
#[cfg(test)]
mod tests;

use crate::command::Address;
use core::ops::Range;
pub(super) use last_used::LastUsed;
use sweep::Choice;

/// A tensor without a place. Tensors are sorted by their first commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unplaced {
    /// Bytes in each unit: at least one.
    pub(super) bytes: u64,
    /// Divisor of its address.
    pub(super) align: u64,
    /// The first command that names it.
    pub(super) first: usize,
    /// The last command that names it.
    pub(super) last: usize,
}

/// Bytes that are taken for some time.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) bytes: Range<Address>,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// A memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room<'a> {
    pub(super) capacity: u64,
    /// Bytes at the end that are given last.
    pub(super) behind: u64,
    pub(super) taken: &'a [Taken],
}

/// A tensor that has no place, and the places of those before it.
#[derive(Debug)]
pub(super) struct NoRoom {
    pub(super) tensor: usize,
    pub(super) before: Vec<Address>,
}

impl Unplaced {
    /// True if a command lies in its life and in that of `other`.
    const fn meets(&self, other: &Unplaced) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Bytes with those that no other tensor can use.
    const fn padded(&self) -> u64 {
        self.bytes.next_multiple_of(self.align)
    }
}

impl Taken {
    const fn meets(&self, tensor: &Unplaced) -> bool {
        self.first <= tensor.last && tensor.first <= self.last
    }
}

/// Sorts ranges by their first byte. One sort for all places of a search, which sorts often.
pub(super) fn sort_by_start(ranges: &mut [Range<u64>]) {
    ranges.sort_unstable_by_key(|bytes| bytes.start);
}

impl Room<'_> {
    /// The first tensor at whose first command more bytes are used than there are.
    fn overflows(&self, tensors: &[Unplaced], limit: u64) -> Option<usize> {
        let mut live: Vec<&Unplaced> = Vec::new();
        tensors.iter().position(|tensor| {
            live.retain(|other| other.last >= tensor.first);
            live.push(tensor);
            let taken = self.taken.iter().filter(|taken| (taken.first..=taken.last).contains(&tensor.first));
            let taken: u64 =
                taken.map(|taken| taken.bytes.end.min(limit).saturating_sub(taken.bytes.start)).sum();
            taken + live.iter().map(|tensor| tensor.bytes).sum::<u64>() > limit
        })
    }

    /// Places of a group, for one end of the memory.
    fn group(
        &self,
        tensors: &[Unplaced],
        used: &LastUsed,
        limit: u64,
        reached: &mut Vec<Address>,
    ) -> Option<Vec<Address>> {
        for choice in Choice::ALL {
            let places = sweep::places(self, tensors, used, limit, choice);
            if places.len() == tensors.len() {
                return Some(places);
            }
            if places.len() > reached.len() {
                *reached = places;
            }
        }
        if self.overflows(tensors, limit).is_some() { None } else { search::places(self, tensors, limit) }
    }

    /// Places of a group, or of as many as fit.
    fn group_or_part(&self, tensors: &[Unplaced], used: &LastUsed) -> Result<Vec<Address>, Vec<Address>> {
        let mut reached = Vec::new();
        let limits = [self.capacity - self.behind, self.capacity];
        let found = limits.into_iter().find_map(|limit| self.group(tensors, used, limit, &mut reached));
        if let Some(places) = found {
            return Ok(places);
        }
        // The first tensor that fits in no order is the one to name.
        match self.overflows(tensors, self.capacity) {
            Some(fit) if fit > reached.len() => {
                Err(self.group_or_part(&tensors[..fit], used).unwrap_or(reached))
            }
            _ => Err(reached),
        }
    }

    /// Finds a place for each tensor. Commands have the stamps from `now` on.
    ///
    /// # Errors
    /// A tensor that does not fit.
    pub(super) fn place(
        &self,
        tensors: &[Unplaced],
        used: &LastUsed,
        now: u64,
    ) -> Result<Vec<Address>, NoRoom> {
        let (mut places, mut used) = (Vec::with_capacity(tensors.len()), used.clone());
        while let Some(first) = tensors.get(places.len()) {
            let (start, mut last) = (places.len(), first.last);
            let alive = |tensor: &&Unplaced| {
                let meets = tensor.first <= last;
                last = last.max(tensor.last);
                meets
            };
            let count = tensors[start..].iter().take_while(alive).count();
            let group = &tensors[start..start + count];
            let group_places = self.group_or_part(group, &used);
            let (Ok(own) | Err(own)) = &group_places;
            places.extend(own);
            if group_places.is_err() {
                return Err(NoRoom { tensor: places.len(), before: places });
            }
            used.note(
                group.iter().zip(&places[start..]).map(|(tensor, &at)| (tensor.last, at..at + tensor.bytes)),
                now,
            );
        }
        Ok(places)
    }

    /// The largest piece that is free while a tensor lives.
    pub(super) fn largest(&self, tensors: &[Unplaced], places: &[Address], tensor: &Unplaced) -> u64 {
        let mut busy = self.busy(tensors, places, tensor);
        busy.push(self.capacity..self.capacity);
        let mut end = 0;
        let gap = |busy: &Range<u64>| {
            let gap = busy.start.saturating_sub(u64::next_multiple_of(end, tensor.align));
            end = end.max(busy.end);
            gap
        };
        busy.iter().map(gap).max().unwrap_or(0)
    }

    /// The bytes that are used while a tensor lives, in order, by those that have places.
    fn busy(&self, tensors: &[Unplaced], places: &[Address], tensor: &Unplaced) -> Vec<Range<u64>> {
        let placed = tensors.iter().zip(places).filter(|(other, _)| other.meets(tensor));
        let placed = placed.map(|(other, &at)| at..at + other.bytes);
        let taken = self.taken.iter().filter(|taken| taken.meets(tensor)).map(|taken| taken.bytes.clone());
        let mut busy: Vec<Range<u64>> = placed.chain(taken).collect();
        sort_by_start(&mut busy);
        busy
    }
}

/// The free pieces below `limit` that can hold a tensor: the lowest and the highest address for it, and the bytes of the
/// piece.
fn gaps(busy: &[Range<u64>], tensor: &Unplaced, limit: u64, mut visit: impl FnMut(Address, Address, u64)) {
    let mut end = 0;
    for next in busy.iter().chain([&(limit..limit)]) {
        let next_start = next.start.min(limit);
        let lowest = u64::next_multiple_of(end, tensor.align);
        if let Some(highest) = next_start.checked_sub(tensor.bytes) {
            let highest = highest / tensor.align * tensor.align;
            if highest >= lowest {
                visit(lowest, highest, next_start - end);
            }
        }
        end = end.max(next.end);
    }
}
