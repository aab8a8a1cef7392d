//! Bytes that a commit writes beside a tile, against a look at every position of every unit.

use super::*;
use crate::command::{FillId, Memory, Part};
use crate::scalar::ElementType;
use crate::sequencer::{Config, Entry};
use crate::testing::random_guard;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const UNITS: [usize; 3] = [1, 2, 3];
const WINDOW: usize = 4;
const ELEMENTS: usize = 14;

/// A commit of `starts` packets, `stride` elements apart.
fn plan(starts: usize, stride: usize) -> CommitConfig {
    let mut config = Config::new(WINDOW);
    config.entries.push(Entry { size: starts, stride: stride as isize });
    config.entries.push(Entry { size: WINDOW, stride: 1 });
    CommitConfig {
        derived: config,
        config,
        window: WINDOW,
        commit_in_size: WINDOW,
        written: WINDOW,
        contiguous_bytes: WINDOW,
        commit_size: WINDOW,
        cycles: starts,
    }
}

/// True if no lane that is dead in a live packet has an element of the tensor, or lies behind it.
fn stays(guard: &Guard, tensor: &Guard, starts: usize, stride: usize, before: usize) -> bool {
    let [chips, clusters, slices] = UNITS;
    let units = (0..chips * clusters * slices).map(|unit| [0, unit / slices, unit % slices]);
    units.into_iter().all(|[chip, cluster, slice]| {
        (0..starts).all(|time| {
            let live: Vec<bool> =
                (0..WINDOW).map(|lane| guard.holds(&[chip, cluster, slice, time, lane])).collect();
            let position = |lane: usize| before + time * stride + lane;
            let is_free = |lane: usize| {
                position(lane) < ELEMENTS && !tensor.holds(&[chip, cluster, slice, position(lane)])
            };
            !live.contains(&true) || (0..WINDOW).all(|lane| live[lane] || is_free(lane))
        })
    })
}

#[test]
fn what_is_beside_a_tile_is_found_in_every_unit() {
    let mut random = SmallRng::seed_from_u64(11);
    let (mut kept, mut refused) = (0, 0);
    for case in 0..20_000 {
        let (guard, tensor) = (random_guard(&mut random, 5), random_guard(&mut random, 4));
        let (starts, stride, before) =
            (random.random_range(1..4), random.random_range(2..6), random.random_range(0..4));
        let [chips, clusters, slices] = UNITS;
        let footprint = Footprint {
            element: ElementType::I8,
            chips,
            clusters,
            slices,
            elements: ELEMENTS,
            guard: tensor,
        };
        let tile = Region::whole(Memory::Dm, 0, FillId(1), footprint);
        let tile = Region { part: Part { offset: before as u64, ..tile.part }, ..tile };
        let written = Written { plan: &plan(starts, stride), guard: &guard };
        let expected = stays(&guard, &tensor, starts, stride, before);
        let found = written.stays_in(&tile, &footprint);
        assert_eq!(found.is_ok(), expected, "case {case}: {guard:?} in {tensor:?}: {found:?}");
        *(if expected { &mut kept } else { &mut refused }) += 1;
    }
    assert!(kept > 2000 && refused > 1000, "{kept} stay, {refused} do not");
}
