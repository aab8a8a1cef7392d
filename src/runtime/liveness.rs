//! Bytes for the tensors of a launch whose last uses are known.
//!
//! ```text
//!   let x = x.to_dm(…, AUTO);     x ├──────┤
//!   let y = double(&x);           y        ├──────┤          the handle of `x` lives up to the end of the kernel,
//!   let x = double(&y);           x               ├─ …       but nobody reads it any more
//! ```
//!
//! A tensor lives from the first command that names it to the last one. If its handle lives when its bytes are needed,
//! in the middle of a kernel, nobody knows its last command, and it keeps its bytes.

use super::allocate::{Allocator, bytes_do, name_largest};
use super::names::{Life, Lives, Maker, is_name};
use super::placement::{NoRoom, Room, Taken, Unplaced, sort_by_start};
use crate::chip::{Fault, FaultKind};
use crate::command::{Address, Memory, Region};
use furiosa_visa_rules::sorting;

/// A tensor that does not fit, and the number of the first command that names it.
#[derive(Debug)]
pub(super) struct Full {
    pub(super) command: usize,
    pub(super) fault: Fault,
}

/// Bytes that programs name by address are avoided: as long as the launch lasts, from the first to the last command that
/// names them, or not at all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    Always,
    InUse,
    Ignored,
}

impl Allocator {
    /// A handle ends. `waits`: commands may name it that are not executed yet.
    pub(super) fn release_name(&mut self, name: Address, waits: bool) {
        if waits {
            if let Some(tensor) = self.late.names.tensors.get_mut(&name) {
                tensor.alive = false;
            }
        } else if let Some(tensor) = self.late.names.tensors.remove(&name)
            && let Some(at) = tensor.at
        {
            self.release(at);
        }
    }

    /// Finds bytes for the tensors that `count` commands name.
    pub(super) fn place_names(&mut self, count: usize, lives: &Lives) -> Result<(), Full> {
        let last = |name: &Address, alive: bool| match alive {
            true => Some(count),
            false => lives.named.get(name).map(|life| life.last),
        };
        let names = &self.late.names.tensors;
        let mut waiting: Vec<(Unplaced, Address)> = (lives.named.iter())
            .filter_map(|(name, life)| {
                let tensor = names.get(name).filter(|tensor| tensor.at.is_none())?;
                let (bytes, align) = (tensor.bytes, self.align(tensor.bytes));
                let last = last(name, tensor.alive)?;
                Some((Unplaced { bytes, align, first: life.first, last }, *name))
            })
            .collect();
        sorting::by_key(&mut waiting, |(tensor, name)| (tensor.first, *name));
        let tensors: Vec<Unplaced> = waiting.iter().map(|(tensor, _)| *tensor).collect();
        let held: Vec<Taken> = (self.held.iter())
            .filter_map(|(&start, held)| {
                let last = match held.name {
                    Some(name) => last(&name, names.get(&name).is_some_and(|tensor| tensor.alive))?,
                    None => count,
                };
                Some(Taken { bytes: start..start + held.bytes, first: 0, last })
            })
            .chain((self.next > 0).then_some(Taken { bytes: 0..self.next, first: 0, last: count }))
            .collect();
        lives.given.keys().for_each(|bytes| self.late.given.push(bytes.clone()));
        merge(&mut self.late.given);
        let reached = |placed: &Result<Vec<Address>, NoRoom>| match placed {
            Ok(places) => places.len(),
            Err(full) => full.before.len(),
        };
        let mut best: Option<Result<Vec<Address>, NoRoom>> = None;
        for given in [Given::Always, Given::InUse, Given::Ignored] {
            let taken = self.with_given(&held, given, count, lives);
            let room = Room { capacity: self.capacity, behind: self.behind, taken: &taken };
            let placed = room.place(&tensors, &self.late.used, self.late.now);
            if best.as_ref().is_none_or(|best| reached(&placed) > reached(best)) {
                best = Some(placed);
            }
            if self.late.given.is_empty() || matches!(best, Some(Ok(_))) {
                break;
            }
        }
        let (places, full) = match best {
            Some(Ok(places)) => (places, None),
            Some(Err(NoRoom { tensor, before })) => {
                let full = self.is_full_of(&waiting, tensor, &before, &held);
                (before, Some(Full { command: tensors[tensor].first, fault: full }))
            }
            None => (Vec::new(), None),
        };
        self.note_places(&waiting, &places, count, lives);
        full.map_or(Ok(()), Err)
    }

    /// Bytes that are taken, with those that the program names.
    fn with_given(&self, held: &[Taken], given: Given, count: usize, lives: &Lives) -> Vec<Taken> {
        let mut taken = held.to_vec();
        match given {
            Given::Always => {
                let always =
                    |bytes: &core::ops::Range<u64>| Taken { bytes: bytes.clone(), first: 0, last: count };
                taken.extend(self.late.given.iter().map(always));
            }
            Given::InUse => taken.extend((lives.given.iter()).map(|(bytes, &Life { first, last })| Taken {
                bytes: bytes.clone(),
                first,
                last,
            })),
            Given::Ignored => {}
        }
        taken
    }

    /// Notes the places of tensors.
    fn note_places(
        &mut self,
        waiting: &[(Unplaced, Address)],
        places: &[Address],
        count: usize,
        lives: &Lives,
    ) {
        let now = self.late.now;
        let placed: Vec<_> = waiting.iter().zip(places).collect();
        let used = placed.iter().map(|((tensor, _), at)| (tensor.last, **at..**at + tensor.bytes));
        let held = (self.held.iter()).filter_map(|(&start, held)| {
            let last = lives.named.get(&held.name?)?.last;
            Some((last, start..start + held.bytes))
        });
        let given =
            lives.given.iter().map(|(bytes, life)| (life.last, bytes.start..bytes.end.min(self.capacity)));
        let given = given.filter(|(_, bytes)| bytes.start < bytes.end);
        let all: Vec<_> = used.chain(held).chain(given).collect();
        self.late.used.note(all.into_iter(), now);
        self.late.now += count as u64 + 1;
        let names = &self.late.names.tensors;
        let ended = |name: &Address| names.get(name).is_none_or(|tensor| !tensor.alive);
        let ended: Vec<Address> = (self.held.iter())
            .filter(|(_, held)| held.name.as_ref().is_some_and(ended))
            .map(|(&start, _)| start)
            .collect();
        ended.into_iter().for_each(|start| self.release(start));
        // In the order in which they were made, as handles are noted.
        let mut placed = placed;
        sorting::by_key(&mut placed, |((_, name), _)| *name);
        for ((tensor, name), &at) in placed {
            let named = self.late.names.tensors.get_mut(name).expect("it has a name");
            named.at = Some(at);
            let (maker, alive) = (named.maker, named.alive);
            self.note_named(at..at + tensor.bytes, maker, *name, alive);
        }
    }

    /// A fault that names what lives when a tensor is made that does not fit.
    fn is_full_of(
        &self,
        waiting: &[(Unplaced, Address)],
        tensor: usize,
        places: &[Address],
        held: &[Taken],
    ) -> Fault {
        let (unplaced, name) = &waiting[tensor];
        let Maker { operation, location } = self.late.names.tensors[name].maker;
        let room = Room { capacity: self.capacity, behind: 0, taken: held };
        let tensors: Vec<Unplaced> = waiting.iter().map(|(tensor, _)| *tensor).collect();
        let message = format!(
            "{} not fit: of the {} bytes of {} at most {} are free in one piece as long as it lives",
            bytes_do(unplaced.bytes.into()),
            self.capacity,
            self.memory,
            room.largest(&tensors[..places.len()], places, unplaced),
        );
        let help = match self.memory {
            Memory::Vrf => "use those that live sooner, or load the tensor in parts",
            Memory::Hbm | Memory::Dm => {
                "use those that live sooner, make them again, split the tensor over more slices, or work in blocks"
            }
        };
        let lives = |other: &Unplaced| other.first <= unplaced.first && unplaced.first <= other.last;
        let own = waiting[..places.len()].iter().filter(|(other, _)| lives(other));
        let own = own.map(|(other, name)| (other.bytes, self.late.names.tensors[name].maker.location));
        let is_taken = |start: Address| {
            held.iter().any(|taken| taken.bytes.start == start && taken.last >= unplaced.first)
        };
        let earlier = self
            .held
            .iter()
            .filter(|&(&start, _)| is_taken(start))
            .map(|(_, held)| (held.bytes, held.location));
        let marked = self.marked.iter().map(|(bytes, location)| (bytes.end - bytes.start, *location));
        let live: Vec<_> = own.chain(earlier).chain(marked).collect();
        let (count, bytes) = (live.len(), live.iter().map(|(bytes, _)| bytes).sum::<u64>());
        let others =
            if count == 1 { "1 other tensor lives".into() } else { format!("{count} other tensors live") };
        let message = format!("{message}: {others} when it is made, with {bytes} bytes");
        let fault = Fault::new(FaultKind::Capacity, operation, location, message, help);
        name_largest(fault, live, "live, of")
    }

    /// Writes the address of a tensor that has a name into a command.
    pub(super) fn write_into(&self, region: &mut Region) {
        if is_name(region.address)
            && let Some(address) = self.late.names.address(region.address)
        {
            region.address = address;
        }
    }

    /// Forgets the tensors whose handles have ended: their commands were executed.
    pub(super) fn forget_ended(&mut self) {
        let ended =
            |(name, tensor): (&Address, &super::names::Named)| (!tensor.alive).then_some((*name, tensor.at));
        let ended: Vec<_> = self.late.names.tensors.iter().filter_map(ended).collect();
        for (name, at) in ended {
            self.late.names.tensors.remove(&name);
            if let Some(at) = at.filter(|at| self.held.get(at).is_some_and(|held| held.name == Some(name))) {
                self.release(at);
            }
        }
    }
}

/// Sorts ranges and joins those that meet.
fn merge(ranges: &mut Vec<core::ops::Range<Address>>) {
    sort_by_start(ranges);
    ranges.dedup_by(|later, earlier| {
        let meets = later.start <= earlier.end;
        if meets {
            earlier.end = earlier.end.max(later.end);
        }
        meets
    });
}
