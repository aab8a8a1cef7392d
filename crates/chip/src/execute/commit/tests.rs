//! Ends of streams, against a look at every lane of every packet in every slice.

use super::*;
use crate::memory::Block;
use furiosa_visa_rules::command::{FillId, Memory, TrfAddress};
use furiosa_visa_rules::mapping::{GuardDigit, GuardSum};
use furiosa_visa_rules::testing::{config, transfer, walked_by_definition};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;

const SLICES: usize = 5;
const TIME: usize = 6;
const LANES: usize = 8;

/// Tests of a variable, or of two that make one sum.
fn random_guard(random: &mut SmallRng) -> Guard {
    let mut guard = Guard::always(5);
    for _ in 0..random.random_range(0..4) {
        let first = guard.digits.len();
        for _ in 0..random.random_range(1..3) {
            let (base, extent) = (random.random_range(1..3), random.random_range(2..9));
            let (variable, weight) = (random.random_range(2..5), random.random_range(1..3));
            guard.digits.push(GuardDigit { variable, base, extent, weight });
        }
        let (start, limit) = (random.random_range(0..2), random.random_range(2..10));
        guard.sums.push(GuardSum { first, len: guard.digits.len() - first, start, limit });
    }
    guard
}

fn region(memory: Memory, element: ElementType, elements: usize) -> Region {
    let guard = Guard::always(4);
    let footprint = Footprint { element, chips: 1, clusters: 1, slices: SLICES, elements, guard };
    Region::whole(memory, 64, FillId::ANY, footprint)
}

/// A commit of the leading `window` lanes, `stride` elements from packet to packet.
fn commit(window: usize, stride: usize, guard: Guard) -> Sink {
    let elements = TIME * stride + window;
    let config = config(&[(TIME, stride as isize), (window, 1)], window);
    let destination = region(Memory::Dm, ElementType::I8, elements);
    Sink::Commit { destination, config, commit_size: 1, guard }
}

/// The written bytes of a block, by address.
fn written(block: &Block) -> BTreeMap<usize, u8> {
    let bytes = block.bytes().iter().enumerate();
    bytes.filter(|&(at, _)| block.is_initialised(at)).map(|(at, &byte)| (at, byte)).collect()
}

#[test]
fn every_live_lane_is_written_in_every_slice() {
    let mut random = SmallRng::seed_from_u64(5);
    let (mut alike, mut each, mut kinds) = (0, 0, [0; 3]);
    for case in 0..3000 {
        let guard = random_guard(&mut random);
        let kind = random.random_range(0..3);
        let window = if kind == 0 { random.random_range(1..=LANES) } else { LANES };
        let stride = window + random.random_range(0..3);
        let trf = TrfRegion {
            address: TrfAddress::Full,
            fill: FillId::ANY,
            element: ElementType::I8,
            rows: 2,
            row_elements: TIME * LANES / 2,
            guard: Guard::always(5),
        };
        let moves = transfer(&[(TIME * LANES / 2, 0, 1, 0, 2), (2, 0, TIME * LANES / 2, 0, 1)]);
        let (sink, element) = match kind {
            0 => (commit(window, stride, guard), ElementType::I8),
            1 => (Sink::Trf { destination: trf, guard }, ElementType::I8),
            _ => {
                let destination = region(Memory::Vrf, ElementType::I32, TIME * LANES);
                (Sink::Vrf { destination, transfer: moves, guard }, ElementType::I32)
            }
        };
        let size = element.bits() / 8;
        let bytes: Vec<u8> = (0..TIME * LANES * size).map(|k| (k % 251) as u8).collect();
        let mut stream = Row::new(element);
        stream.push(&bytes, TIME * LANES, None);
        // The byte address of each lane.
        let places: Vec<usize> = match &sink {
            Sink::Commit { config, .. } => {
                let positions = walked_by_definition(config);
                let place = |k: usize| 64 + positions[k / LANES * window + k % LANES % window] as usize;
                (0..TIME * LANES).map(place).collect()
            }
            Sink::Trf { destination, .. } => {
                let per_row = destination.row_elements;
                let place =
                    |k: usize| trf::runs(destination, k / per_row, k % per_row..k % per_row + 1).next();
                let found = (0..TIME * LANES).filter_map(place);
                found.map(|run| run.address as usize + run.position).collect()
            }
            Sink::Vrf { .. } => {
                let half = TIME * LANES / 2;
                (0..TIME * LANES).map(|k| 64 + (2 * (k % half) + k / half) * size).collect()
            }
        };
        let mut plan = SinkPlan::new(&sink, 0, TIME, LANES);
        *(if Alike::new(&plan).is_some() { &mut alike } else { &mut each }) += 1;
        for _ in 0..2 {
            for slice in 0..SLICES {
                let mut expected = BTreeMap::new();
                for k in (0..TIME * LANES).filter(|k| k % LANES < window) {
                    if guard.holds(&[0, 0, slice, k / LANES, k % LANES]) {
                        expected.extend((0..size).map(|byte| (places[k] + byte, bytes[k * size + byte])));
                    }
                }
                let mut unit = Unit::default();
                plan.run(&stream, Coordinates::of_slice(slice), &mut unit, &mut Vec::new());
                let block = match kind {
                    0 => &unit.dm,
                    1 => unit.trf(0),
                    _ => &unit.vrf,
                };
                assert_eq!(written(block), expected, "case {case}, slice {slice}: {sink:?}");
                kinds[kind] += expected.len();
            }
            // Once more, as where slices differ.
            plan.alike = OnceLock::from(None);
        }
    }
    assert!(alike > 500 && each > 500, "{alike} sinks are alike in all slices, {each} are not");
    assert!(kinds.iter().all(|&bytes| bytes > 10_000), "{kinds:?}");
}

#[test]
fn runs_are_joined_and_bounded() {
    // The first packets of a stream.
    let first = |count| {
        let mut guard = Guard::always(5);
        guard.digits.push(GuardDigit { variable: 3, base: 1, extent: usize::MAX, weight: 1 });
        guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit: count });
        guard
    };
    let plan = |stride, guard| SinkPlan::new(&commit(LANES, stride, guard), 0, TIME, LANES);
    let runs = |plan: SinkPlan| Alike::new(&plan).expect("all slices do the same").runs.len();
    assert_eq!(runs(plan(LANES, first(TIME - 1))), 1);
    assert_eq!(runs(plan(LANES + 1, first(TIME - 1))), TIME - 1);
    assert!(Alike::new(&plan(LANES + 1, Guard::always(5))).is_none(), "whole packets take no search");
    // At the limit and past it.
    let time = Alike::RUNS + 2;
    for (count, is_stored) in [(Alike::RUNS, true), (Alike::RUNS + 1, false)] {
        let destination = region(Memory::Dm, ElementType::I8, 2 * time);
        let (config, guard) = (config(&[(time, 2), (1, 1)], 1), first(count));
        let plan = SinkPlan::new(&Sink::Commit { destination, config, commit_size: 1, guard }, 0, time, 1);
        assert_eq!(Alike::new(&plan).is_some(), is_stored);
    }
}
