//! Coverage: tells if a command writes every element of the tensor that it fills.
//!
//! ```text
//!   m![A, B = 32]  ──▶  m![A, B]        B = 64: the second half stays unwritten
//! ```

use super::indexed::IndexedDma;
use super::memset::Memset;
use super::moves::{Moves, Strip};
use super::region::{Footprint, Memory, Region};
use super::shapes::StreamShape;
use super::tensor_unit::{Sink, TensorUnit};
use super::transfer::{Dma, HostTransfer, Transfer};
use super::unit_copy::UnitCopy;
use crate::mapping::Guard;
use crate::mapping::guard::rows::{LiveRows, live_runs, split_units};
use crate::sequencer::walk::Walk;
use crate::sorting;
use crate::spec::{CLUSTERS, SLICES};
use std::collections::BTreeMap;

impl Footprint {
    /// Number of elements. `None` if only a look at each position can tell.
    fn count(&self) -> Option<u128> {
        self.guard.count(&[self.chips, self.clusters, self.slices, self.elements])
    }
}

impl Transfer {
    /// Number of elements that move.
    fn count(&self) -> Option<u128> {
        let sizes: Vec<usize> = self.loops.iter().map(|transfer_loop| transfer_loop.size).collect();
        self.guard.count(&sizes)
    }

    /// True if the loops reach every place of the destination once, judged by their sizes.
    pub fn writes_once(&self) -> bool {
        let steps = || self.loops.iter().map(|transfer_loop| (transfer_loop.size, transfer_loop.destination));
        steps().all(|(_, step)| step.units == 0 || step.elements == 0)
            && is_injective(
                steps().filter(|(_, step)| step.units == 0).map(|(size, step)| (size, step.elements)),
            )
            && is_injective(steps().filter(|(_, step)| step.units > 0).map(|(size, step)| (size, step.units)))
    }

    /// True if it moves as many elements as a tensor has. False also if a count is not quick.
    pub fn moves_as_many(&self, destination: &Region) -> bool {
        let moved = self.count();
        moved.is_some() && moved == destination.footprint.count()
    }

    /// True if the move reaches every element of a tensor. False also if the test is not quick: as many elements as the
    /// tensor has must go to different places, and runs must begin and end with elements of the tensor.
    pub fn covers(&self, destination: &Region) -> bool {
        self.moves_as_many(destination) && self.writes_once() && self.ends_on_elements(destination)
    }

    /// True if the first run and the last one of each strip begin and end with elements of a tensor.
    fn ends_on_elements(&self, destination: &Region) -> bool {
        let Footprint { element, elements, guard, .. } = &destination.footprint;
        if guard.is_always() {
            return true;
        }
        // Most strips follow one in the same unit, and most guards do not depend on positions.
        let (units, positions) = split_units(guard);
        let (mut all, mut unit) = (true, None);
        Moves::new(self).for_each_strip(element.bits(), |Strip { destination: to, run, count, .. }| {
            let at = |position| match destination.memory {
                Memory::Hbm => [to.unit, 0, 0, position],
                Memory::Dm | Memory::Vrf => {
                    let cluster = to.unit / SLICES;
                    [cluster / CLUSTERS, cluster % CLUSTERS, to.unit % SLICES, position]
                }
            };
            if unit.replace(to.unit) != Some(to.unit) {
                all &= units.holds(&at(0));
            }
            let last = to.position + count.saturating_sub(1) * to.stride;
            all &= [to.position, to.position + run - 1, last, last + run - 1].iter().all(|&position| {
                position < *elements && (positions.is_always() || positions.holds(&at(position)))
            });
        });
        all
    }
}

/// True if loops of these sizes and steps reach every place once, judged by their sizes.
pub fn is_injective(loops: impl Iterator<Item = (usize, usize)>) -> bool {
    let mut loops: Vec<_> = loops.filter(|&(size, _)| size > 1).collect();
    sorting::by_key(&mut loops, |&(_, step)| step);
    let mut reach = 0;
    loops.iter().all(|&(size, step)| {
        let apart = step > reach;
        reach += (size - 1) * step;
        apart
    })
}

impl Dma {
    /// True if it writes every element of its destination. False also if the test is not quick.
    pub fn covers(&self) -> bool {
        self.transfer.covers(&self.destination)
    }
}

impl HostTransfer {
    /// An element of 4 bits that an upload leaves out though it writes the other one of its byte: unit and element.
    pub fn other_half(&self) -> Option<(usize, usize)> {
        if self.region.footprint.element.bits() != 4 {
            return None;
        }
        // Per byte, a bit for each half that is written.
        let mut bytes = BTreeMap::new();
        Moves::new(&self.transfer).for_each_strip(4, |Strip { destination, run, count, .. }| {
            for (k, e) in (0..count).flat_map(|k| (0..run).map(move |e| (k, e))) {
                let element = destination.position + k * destination.stride + e;
                *bytes.entry((destination.unit, element / 2)).or_insert(0u8) |= 1 << (element % 2);
            }
        });
        let Footprint { elements, guard, .. } = &self.region.footprint;
        let other = |((unit, byte), halves): ((usize, usize), u8)| {
            let element = 2 * byte + usize::from(halves == 1);
            let lives = halves != 3 && element < *elements && guard.holds(&[unit, 0, 0, element]);
            lives.then_some((unit, element))
        };
        bytes.into_iter().find_map(other)
    }

    /// True if an upload writes every element of its tensor. False also if the test is not quick.
    pub fn covers(&self) -> bool {
        self.transfer.covers(&self.region)
    }
}

impl UnitCopy {
    /// True if it writes every element of its destination. False also if the test is not quick.
    pub fn covers(&self) -> bool {
        match &self.moves[..] {
            [only] => only.covers(&self.destination),
            // Parts may write in the same units.
            _ => false,
        }
    }
}

impl Memset {
    /// True if it writes every element of its destination. False also if the test is not quick.
    pub fn covers(&self) -> bool {
        self.moves.covers(&self.destination)
    }
}

impl IndexedDma {
    /// True if a gather of `rows` rows writes every element of its destination. False also if the test is not quick.
    pub fn covers(&self, rows: usize) -> bool {
        let moved = self.payload.count().map(|row| row.saturating_mul(rows as u128));
        moved.is_some() && moved == self.destination.footprint.count() && self.payload.writes_once()
    }
}

impl TensorUnit {
    /// True if it writes every element of the tensor that it fills, in all slices that have a stream. False also if the
    /// test is not quick: see [`Transfer::covers`].
    pub fn covers(&self) -> bool {
        let StreamShape { time, lanes, .. } = self.shapes().ended;
        match &self.sink {
            Sink::Commit { destination, config, guard, .. } => {
                let Footprint { chips, clusters, slices, guard: held, .. } = &destination.footprint;
                let (window, walk) = (config.packet_size, Walk::new(config));
                let written = guard.count(&[*chips, *clusters, *slices, time, window]);
                let place = |time: usize, lane: usize| {
                    let (number, mut position) = (time * window + lane, -1);
                    walk.for_each(number..number + 1, |run| position = run.position);
                    usize::try_from(position).ok().map(|element| [element, 0])
                };
                written.is_some()
                    && written == destination.footprint.count()
                    && ends_on_elements(held, (guard, self.chips()), (time, window), place)
            }
            Sink::Vrf { destination, transfer, guard } => {
                let Footprint { chips, clusters, slices, guard: held, .. } = &destination.footprint;
                let written = guard.count(&[*chips, *clusters, *slices, time, lanes]);
                // The same count for one slice, to which the loops apply.
                let moved = transfer.count();
                let (_, in_slice) = split_units(guard);
                let counts = written.is_some()
                    && written == destination.footprint.count()
                    && moved.is_some()
                    && moved == in_slice.count(&[1, 1, 1, time, lanes])
                    && transfer.writes_once();
                if !counts {
                    return false;
                }
                let mut places = vec![None; time.saturating_mul(lanes)];
                transfer.for_each_element(|from, to| {
                    let place = usize::try_from(from).ok().and_then(|from| places.get_mut(from));
                    place.into_iter().for_each(|place| *place = usize::try_from(to).ok());
                });
                let place =
                    |time: usize, lane: usize| places[time * lanes + lane].map(|element| [element, 0]);
                // As many moves as live lanes, and one from each: none starts at padding or behind the stream.
                let is_live = |k: usize| in_slice.holds(&[0, 0, 0, k / lanes, k % lanes]);
                (0..places.len()).all(|k| places[k].is_some() || !is_live(k))
                    && ends_on_elements(held, (guard, self.chips()), (time, lanes), place)
            }
            Sink::Trf { destination, guard } => {
                let (chips, rows, elements) = (self.chips(), destination.rows, destination.row_elements);
                let written = guard.count(&[chips, CLUSTERS, SLICES, time, lanes]);
                let held = destination.guard.count(&[chips, CLUSTERS, SLICES, rows, elements]);
                let place = |time: usize, lane: usize| {
                    let element = time * lanes + lane;
                    (element < rows * elements).then(|| [element / elements, element % elements])
                };
                written.is_some()
                    && written == held
                    && ends_on_elements(&destination.guard, (guard, chips), (time, lanes), place)
            }
        }
    }
}

/// True if the first live lane and the last one of each time step go to elements of a tensor. Only the first slice with
/// elements is tested. `place`: the variables of the tensor's guard after those of the slice.
fn ends_on_elements(
    tensor: &Guard,
    (stream, chips): (&Guard, usize),
    (time, lanes): (usize, usize),
    place: impl Fn(usize, usize) -> Option<[usize; 2]>,
) -> bool {
    if tensor.is_always() {
        return true;
    }
    let at = |unit: usize| [unit / (CLUSTERS * SLICES), unit / SLICES % CLUSTERS, unit % SLICES];
    let Some(at) = (0..chips * CLUSTERS * SLICES).map(at).find(|at| stream.may_hold(at)) else { return true };
    let (live, mut mask) = (LiveRows::new(stream, 4, lanes), Vec::new());
    (0..time).all(|time| {
        let liveness = live.row(&mut [at[0], at[1], at[2], time, 0], &mut mask);
        let (mut first, mut last) = (None, 0);
        live_runs(liveness, &mask, lanes, |start, len| {
            (first, last) = (first.or(Some(start)), start + len - 1);
        });
        let holds = |lane: usize| {
            let position = |[a, b]: [usize; 2]| [at[0], at[1], at[2], a, b];
            place(time, lane).is_some_and(|place| tensor.holds(&position(place)[..tensor.variables]))
        };
        first.is_none_or(|first| holds(first) && holds(last))
    })
}
