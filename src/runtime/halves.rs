//! Halves of the TRF for tensors whose place does not matter.
//!
//! ```text
//!   load w0 ─ use w0 ─ load w1 ─ use w1 ─ load w2 ─ use w2
//!   FirstHalf          SecondHalf         FirstHalf               the load of w1 waits for nothing
//! ```
//!
//! A tensor of at most half of the file gets the half that nobody needs any more and that has rested for longest: the
//! load need not wait for the last product. A larger one needs both.

use super::names::{Maker, TrfLives};
use crate::chip::{Fault, FaultKind};
use crate::command::{FillId, PlaceMut, TrfAddress};
use furiosa_visa_rules::sorting;
use litemap::LiteMap;

/// A tensor in the TRF.
#[derive(Debug)]
struct Loaded {
    bytes: usize,
    maker: Maker,
    /// True as long as one of its handles lives.
    alive: bool,
    /// Its part of the file, as soon as it has one.
    part: Option<TrfAddress>,
}

/// The halves of the TRF.
#[derive(Debug, Default)]
pub(super) struct Halves {
    tensors: LiteMap<FillId, Loaded>,
    /// Stamps of the last uses of the halves. 0: nobody has used it.
    used: [u64; 2],
    now: u64,
}

/// A tensor that has no place, and the number of the command that loads it.
#[derive(Debug)]
pub(super) struct NoHalf {
    pub(super) command: usize,
    pub(super) fault: Fault,
}

/// The halves that a part has.
const fn halves(part: TrfAddress) -> [bool; 2] {
    match part {
        TrfAddress::FirstHalf => [true, false],
        TrfAddress::SecondHalf => [false, true],
        TrfAddress::Full => [true, true],
    }
}

fn meet(a: TrfAddress, b: TrfAddress) -> bool {
    halves(a).into_iter().zip(halves(b)).any(|(a, b)| a && b)
}

/// The parts that can hold a tensor.
fn parts(bytes: usize) -> &'static [TrfAddress] {
    let half = bytes <= TrfAddress::FirstHalf.capacity();
    if half { &[TrfAddress::FirstHalf, TrfAddress::SecondHalf] } else { &[TrfAddress::Full] }
}

/// The part that a tensor has at the latest: for a handle that is asked before anybody knows.
pub(super) fn provisional(bytes: usize) -> TrfAddress {
    parts(bytes)[0]
}

/// Stamps of a part's last use.
fn last_use(used: &[u64; 2], part: TrfAddress) -> u64 {
    halves(part).into_iter().zip(used).filter(|(own, _)| *own).map(|(_, &stamp)| stamp).max().unwrap_or(0)
}

fn note_use(used: &mut [u64; 2], part: TrfAddress, stamp: u64) {
    halves(part).into_iter().zip(used).filter(|(own, _)| *own).for_each(|(_, last)| *last = stamp.max(*last));
}

impl Halves {
    /// Gives a part to a handle, which holds it until it ends.
    pub(super) fn hold(&mut self, fill: FillId, bytes: usize, maker: Maker) -> Result<TrfAddress, Fault> {
        let held: Vec<&Loaded> = self.tensors.values().filter(|tensor| tensor.part.is_some()).collect();
        let is_free =
            |part: &TrfAddress| held.iter().all(|other| other.part.is_none_or(|own| !meet(own, *part)));
        let free = parts(bytes).iter().copied().filter(is_free);
        let Some(part) = free.min_by_key(|&part| last_use(&self.used, part)) else {
            return Err(is_full(bytes, maker, held.into_iter(), "are held by"));
        };
        self.tensors.insert(fill, Loaded { bytes, maker, alive: true, part: Some(part) });
        Ok(part)
    }

    /// Notes a tensor that gets its part when its last use is known.
    pub(super) fn name(&mut self, fill: FillId, bytes: usize, maker: Maker) {
        self.tensors.insert(fill, Loaded { bytes, maker, alive: true, part: None });
    }

    /// Number of tensors that wait for their parts, or have them.
    pub(super) fn len(&self) -> usize {
        self.tensors.len()
    }

    /// The part of a tensor.
    pub(super) fn part(&self, fill: FillId) -> Option<TrfAddress> {
        self.tensors.get(&fill)?.part
    }

    /// A handle ends. `waits`: commands may name it that are not executed yet.
    pub(super) fn release(&mut self, fill: FillId, waits: bool) {
        if waits {
            if let Some(tensor) = self.tensors.get_mut(&fill) {
                tensor.alive = false;
            }
            return;
        }
        if let Some(Loaded { part: Some(part), .. }) = self.tensors.remove(&fill) {
            self.now += 1;
            note_use(&mut self.used, part, self.now);
        }
    }

    /// Gives parts to the tensors that `count` commands name.
    pub(super) fn place(&mut self, count: usize, lives: &TrfLives) -> Result<(), NoHalf> {
        let now = self.now + 1;
        self.now += count as u64 + 1;
        let last = |fill: &FillId, tensor: &Loaded| match tensor.alive {
            true => Some(count),
            false => lives.0.get(fill).map(|(life, _)| life.last),
        };
        // What is in the file: its part, its last use, its filling.
        let mut live: Vec<(TrfAddress, usize, FillId)> = (self.tensors.iter())
            .filter_map(|(fill, tensor)| Some((tensor.part?, last(fill, tensor)?, *fill)))
            .collect();
        let mut waiting: Vec<(usize, FillId, usize)> = (self.tensors.iter())
            .filter(|(_, tensor)| tensor.part.is_none())
            .filter_map(|(fill, tensor)| Some((lives.0.get(fill)?.0.first, *fill, last(fill, tensor)?)))
            .collect();
        sorting::ascending(&mut waiting);
        let given: Vec<_> = lives
            .0
            .iter()
            .filter(|(fill, _)| !self.tensors.contains_key(fill))
            .map(|(_, own)| *own)
            .collect();
        for (first, fill, last) in waiting {
            live.retain(|&(part, last, _)| {
                if last < first {
                    note_use(&mut self.used, part, now + last as u64);
                }
                last >= first
            });
            let Loaded { bytes, maker, .. } = self.tensors[&fill];
            // Parts that the program names itself are avoided as long as there is another one.
            let named = |part| {
                let meets = |(life, own): &&(super::names::Life, TrfAddress)| {
                    meet(part, *own) && life.first <= last && first <= life.last
                };
                given.iter().filter(meets).count()
            };
            let is_free = |part: &TrfAddress| live.iter().all(|(own, ..)| !meet(*own, *part));
            let free = parts(bytes).iter().copied().filter(is_free);
            let Some(part) = free.min_by_key(|&part| (named(part), last_use(&self.used, part))) else {
                let held = live.iter().filter_map(|(.., fill)| self.tensors.get(fill));
                return Err(NoHalf {
                    command: first,
                    fault: is_full(bytes, maker, held, "are read later, of"),
                });
            };
            live.push((part, last, fill));
            self.tensors.get_mut(&fill).expect("it waits").part = Some(part);
        }
        let uses = lives.0.iter().map(|(fill, (life, own))| {
            (self.tensors.get(fill).and_then(|tensor| tensor.part).unwrap_or(*own), now + life.last as u64)
        });
        uses.for_each(|(part, stamp)| note_use(&mut self.used, part, stamp));
        Ok(())
    }

    /// Writes the part of a tensor into a command.
    pub(super) fn write_into(&self, place: &mut PlaceMut<'_>) {
        if let PlaceMut::Trf(region) = place
            && let Some(part) = self.part(region.fill)
        {
            region.address = part;
        }
    }

    /// Forgets the tensors whose handles have ended: their commands were executed.
    pub(super) fn forget(&mut self) {
        self.tensors.retain(|_, tensor| tensor.alive);
    }
}

/// A fault that names the tensors that are in the way.
fn is_full<'a>(bytes: usize, maker: Maker, held: impl Iterator<Item = &'a Loaded>, verb: &str) -> Fault {
    let (kind, Maker { operation, location }) = (FaultKind::Capacity, maker);
    let room = match parts(bytes) {
        [_, _] => "neither half of the TRF is free".to_string(),
        _ => format!(
            "they take both halves of the TRF of {} bytes, which are not free",
            TrfAddress::Full.capacity()
        ),
    };
    let message = format!("{bytes} bytes do not fit: {room}");
    let help =
        "end handles that nobody needs any more, or load this tensor after the last use of one of the others";
    let mut held: Vec<&Loaded> = held.collect();
    sorting::by_key(&mut held, |tensor| core::cmp::Reverse(tensor.bytes));
    let fault = Fault::new(kind, operation, location, message, help);
    held.into_iter().fold(fault, |fault, tensor| {
        fault.after(format!("{} bytes {verb} what was made here", tensor.bytes), tensor.maker.location)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::panic::Location;

    fn maker() -> Maker {
        Maker { operation: "to_trf", location: Location::caller() }
    }

    fn held(halves: &mut Halves, fill: u64, bytes: usize) -> Result<TrfAddress, FaultKind> {
        halves.hold(FillId(fill), bytes, maker()).map_err(|fault| fault.kind)
    }

    /// Handles: a half is free when its handle has ended, and the one that ended first comes first.
    #[test]
    fn handles_hold_halves() {
        use TrfAddress::{FirstHalf, Full, SecondHalf};
        let mut halves = Halves::default();
        for (fill, part) in [(1, FirstHalf), (2, SecondHalf), (3, FirstHalf), (4, SecondHalf)] {
            assert_eq!(held(&mut halves, fill, 32_768), Ok(part), "they alternate");
            halves.release(FillId(fill), false);
        }
        assert_eq!(held(&mut halves, 5, 32_769), Ok(Full));
        assert_eq!(held(&mut halves, 6, 1), Err(FaultKind::Capacity));
        halves.release(FillId(5), false);
        assert_eq!(held(&mut halves, 7, 1), Ok(FirstHalf));
        assert_eq!(held(&mut halves, 8, 32_769), Err(FaultKind::Capacity));
        assert_eq!(held(&mut halves, 9, 2), Ok(SecondHalf));
        let fault = halves.hold(FillId(10), 64, maker()).expect_err("both are held");
        let text = fault.to_string();
        assert!(
            text.starts_with(
                "fault: to_trf: capacity exceeded: 64 bytes do not fit: neither half of the TRF is free"
            ),
            "{text}"
        );
        let labels: Vec<&str> = fault.places.iter().map(|place| place.label.as_ref()).collect();
        assert_eq!(
            labels,
            ["2 bytes are held by what was made here", "1 bytes are held by what was made here"]
        );
        halves.release(FillId(9), false);
        assert_eq!(held(&mut halves, 11, 64), Ok(SecondHalf));
        assert_eq!(halves.len(), 2);
    }

    /// Random lives: two tensors never share a half while both live, and no tensor is refused that has one.
    #[test]
    fn lives_take_free_halves() {
        use crate::runtime::names::Life;
        use rand::rngs::SmallRng;
        use rand::{Rng as _, SeedableRng as _};
        let mut refused = 0;
        for seed in 0..500 {
            let mut random = SmallRng::seed_from_u64(seed);
            let (mut halves, mut lives, mut ends) = (Halves::default(), TrfLives::default(), [0; 2]);
            let mut all = Vec::new();
            let mut fill = 0;
            for first in 0..40 {
                if random.random_bool(0.3) {
                    continue;
                }
                let last = first + random.random_range(0..8);
                let is_large = random.random_bool(0.2);
                let free = ends.iter().filter(|&&end| end < first + 1).count();
                let over = random.random_bool(0.002);
                if free < 1 + usize::from(is_large) && !over {
                    continue;
                }
                // As many halves as it takes, in the order in which they end.
                ends.sort_unstable();
                ends[..1 + usize::from(is_large)].fill(last + 1);
                fill += 1;
                let bytes = if is_large { 40_000 } else { 20_000 };
                halves.name(FillId(fill), bytes, maker());
                halves.release(FillId(fill), true);
                lives.0.insert(FillId(fill), (Life { first, last }, provisional(bytes)));
                all.push((FillId(fill), first, last, over));
            }
            let placed = halves.place(50, &lives);
            if let Err(none) = placed {
                let (.., over) = all.iter().find(|(_, first, ..)| *first == none.command).expect("a tensor");
                assert!(*over, "seed {seed}: {all:?}");
                refused += 1;
                continue;
            }
            for (k, a) in all.iter().enumerate() {
                for b in &all[..k] {
                    let parts = [a.0, b.0].map(|fill| halves.part(fill).expect("it is placed"));
                    assert!(
                        b.2 < a.1 || a.2 < b.1 || !meet(parts[0], parts[1]),
                        "seed {seed}: {a:?} {b:?} {parts:?}"
                    );
                }
            }
        }
        assert!(refused > 0);
    }
}
