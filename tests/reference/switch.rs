//! The Switch Engine, by positions: which packet arrives where, and which configurations can do it.
//!
//! The regular variants are the formulas of the guide (switch). `CustomBroadcast` is asked of the routers themselves: the
//! slices of a sub-ring are emitted in ascending order at every time step, and a slice takes some of them.

use super::digits::{Projection, strip};
use super::mapping::{Coordinates, Map, Name};
use super::random::{Axes, Random};
use super::union::Union;
use std::collections::BTreeMap;

/// A configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switching {
    Broadcast01 { slice1: usize, slice0: usize, time0: usize },
    Broadcast1 { slice1: usize, slice0: usize },
    Transpose { slice1: usize, slice0: usize },
    InterTranspose { slice1: usize, slice0: usize, time0: usize },
    TransposedBroadcast1 { slice1: usize, slice0: usize },
    CustomBroadcast { ring_size: usize },
    Forwarding,
}

/// Slices and time, before and after.
#[derive(Clone, Debug)]
pub struct Mappings {
    pub in_slice: Map,
    pub in_time: Map,
    pub out_slice: Map,
    pub out_time: Map,
}

/// `[outer, middle, inner]` of a mapping, with the sizes of the inner two.
fn parts(map: &Map, middle: usize, inner: usize) -> [Map; 3] {
    [map.stride(middle * inner), map.stride(inner).modulo(middle), map.modulo(inner)]
}

fn must(holds: bool, rule: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule.to_string()) }
}

impl Switching {
    /// Slices of a sub-ring.
    pub fn ring(&self) -> usize {
        match *self {
            Switching::Broadcast01 { slice1, slice0, .. }
            | Switching::Broadcast1 { slice1, slice0 }
            | Switching::Transpose { slice1, slice0 }
            | Switching::InterTranspose { slice1, slice0, .. }
            | Switching::TransposedBroadcast1 { slice1, slice0 } => slice1 * slice0,
            Switching::CustomBroadcast { ring_size } => ring_size,
            Switching::Forwarding => 1,
        }
    }

    /// Slices that get each packet of a regular variant: the growth of time.
    pub fn copies(&self) -> usize {
        match *self {
            Switching::Broadcast01 { slice1, slice0, .. } => slice1 * slice0,
            Switching::Broadcast1 { slice1, .. } => slice1,
            Switching::TransposedBroadcast1 { slice0, .. } => slice0,
            Switching::Transpose { .. } | Switching::InterTranspose { .. } | Switching::Forwarding => 1,
            Switching::CustomBroadcast { .. } => unreachable!("the mappings decide"),
        }
    }

    /// Slice and time of the packet that a regular variant brings to a slice at a time.
    pub fn source(&self, slice: usize, time: usize) -> Option<(usize, usize)> {
        let ring = self.ring();
        Some(match *self {
            Switching::Broadcast01 { slice1: n1, slice0: n0, time0: m0 } => {
                let (s0, t0, s1, t1) =
                    (time % n0, time / n0 % m0, time / (n0 * m0) % n1, time / (n0 * m0 * n1));
                (slice / ring * ring + s1 * n0 + s0, t1 * m0 + t0)
            }
            Switching::Broadcast1 { slice1: n1, slice0: n0 } => {
                (slice / ring * ring + time % n1 * n0 + slice % n0, time / n1)
            }
            Switching::Transpose { slice1: n1, slice0: n0 } => {
                let (s1, s0) = (slice % n1, slice / n1 % n0);
                (slice / ring * ring + s1 * n0 + s0, time)
            }
            Switching::InterTranspose { slice1: n1, slice0: n0, time0: m0 } => {
                let (s1, t0, t2, t1) = (time % n1, time / n1 % m0, time / (n1 * m0), slice / n0 % n1);
                (slice / ring * ring + s1 * n0 + slice % n0, (t2 * n1 + t1) * m0 + t0)
            }
            Switching::TransposedBroadcast1 { slice1: n1, slice0: n0 } => {
                (slice / ring * ring + slice % n1 * n0 + time % n0, time / n0)
            }
            Switching::Forwarding => (slice, time),
            Switching::CustomBroadcast { .. } => return None,
        })
    }

    /// Whether the configuration connects the mappings.
    ///
    /// # Errors
    /// The rule that they break.
    pub fn check(&self, maps: &Mappings) -> Result<(), String> {
        let Mappings { in_slice, in_time, out_slice, out_time } = maps;
        must(in_slice.size() == out_slice.size(), "slice counts differ")?;
        if let Switching::CustomBroadcast { ring_size } = *self {
            return maps.routed(ring_size).map(|_| ());
        }
        if *self == Switching::Forwarding {
            must(in_slice.equivalent(out_slice), "slices change")?;
            return must(in_time.equivalent(out_time), "time changes");
        }
        let (n1, n0, m0) = match *self {
            Switching::Broadcast01 { slice1, slice0, time0 }
            | Switching::InterTranspose { slice1, slice0, time0 } => (slice1, slice0, time0),
            Switching::Broadcast1 { slice1, slice0 }
            | Switching::Transpose { slice1, slice0 }
            | Switching::TransposedBroadcast1 { slice1, slice0 } => (slice1, slice0, 1),
            Switching::CustomBroadcast { .. } | Switching::Forwarding => unreachable!("it is decided"),
        };
        must(n1 > 0 && n0 > 0 && m0 > 0, "a dimension is 0")?;
        must(in_slice.size().is_multiple_of(n1 * n0), "slices are not divisible")?;
        let [s2, s1, s0] = parts(in_slice, n1, n0);
        let new = |tile: &Map| {
            let known: BTreeMap<Name, usize> =
                [in_slice.axes(), in_time.axes()].into_iter().flatten().collect();
            must(!named(tile).iter().any(|name| known.contains_key(name)), "an axis of the tile is not new")
        };
        let time = |expected: &[Map]| {
            must(Map::sequence(expected).equivalent(out_time), "the time that leaves is another one")
        };
        let kept =
            |before: &Map, after: &Map| must(before.equivalent(after), "a digit that stays has changed");
        match *self {
            Switching::Broadcast01 { .. } => {
                must(in_time.size().is_multiple_of(m0), "time is not divisible")?;
                kept(&s2, &out_slice.stride(n1 * n0))?;
                new(&out_slice.modulo(n1 * n0))?;
                time(&[in_time.stride(m0), s1, in_time.modulo(m0), s0])
            }
            Switching::Broadcast1 { .. } => {
                let [outer, tile, inner] = parts(out_slice, n1, n0);
                kept(&s2, &outer)?;
                new(&tile)?;
                kept(&s0, &inner)?;
                time(&[in_time.clone(), s1])
            }
            Switching::TransposedBroadcast1 { .. } => {
                let [outer, tile, inner] = parts(out_slice, n0, n1);
                kept(&s2, &outer)?;
                new(&tile)?;
                kept(&s1, &inner)?;
                time(&[in_time.clone(), s0])
            }
            Switching::Transpose { .. } => {
                must(in_time.size() == out_time.size(), "time has another size")?;
                must(strip(in_time).equivalent(&strip(out_time)), "time has changed")?;
                must(Map::sequence(&[s2, s0, s1]).equivalent(out_slice), "slices are not swapped")
            }
            Switching::InterTranspose { .. } => {
                must(in_time.size().is_multiple_of(n1 * m0), "time is not divisible")?;
                must(in_slice.size() == 256, "there are not 256 slices")?;
                let [outer, entered, inner] = parts(out_slice, n1, n0);
                kept(&s2, &outer)?;
                kept(&s0, &inner)?;
                let [t2, t1, t0] = parts(in_time, n1, m0);
                must(t1.equivalent(&entered), "the new slice digit is not from time")?;
                time(&[t2, t0, s1])
            }
            Switching::CustomBroadcast { .. } | Switching::Forwarding => unreachable!("it is decided"),
        }
    }
}

/// Axes with more than one value at the positions of a mapping.
fn named(map: &Map) -> Vec<Name> {
    let mut names: Vec<Name> =
        map.table().into_iter().flatten().flat_map(|index| index.into_keys()).collect();
    names.sort();
    names.dedup();
    names
}

impl Mappings {
    /// For every slice that holds something, the sources that it takes in a sub-ring of this size.
    ///
    /// # Errors
    /// Where no sets of sources give the stream.
    pub fn routed(&self, ring: usize) -> Result<BTreeMap<usize, Vec<usize>>, String> {
        let Mappings { in_slice, in_time, out_slice, out_time } = self;
        must(ring.is_power_of_two(), "the ring is no power of two")?;
        must(out_time.size().is_multiple_of(in_time.size()), "time does not divide")?;
        let count = out_time.size() / in_time.size();
        must(out_time.stride(count).equivalent(in_time), "the outer part of time is not the time before")?;
        let inner = out_time.modulo(count);
        let held: BTreeMap<Coordinates, usize> = in_slice
            .table()
            .into_iter()
            .enumerate()
            .filter_map(|(slice, cell)| Some((cell?, slice)))
            .collect();
        let projection = Projection::onto(&[in_slice])?;
        let time = Projection::onto(&[in_time])?;
        let (mut sets, mut taken_by) = (BTreeMap::new(), Union::new(&[out_slice, &inner]));
        for slice in 0..out_slice.size() {
            let mut taken: Vec<Option<usize>> = Vec::new();
            for step in 0..count {
                let Some(index) = taken_by.at(&[slice, step]) else {
                    taken.push(None);
                    continue;
                };
                must(time.apply(&index).is_empty(), "a digit of time becomes a slice")?;
                let own = projection.apply(&index);
                match held.get(&own) {
                    Some(source) => taken.push(Some(*source)),
                    None => return Err(format!("no slice holds {own:?}")),
                }
            }
            if taken.iter().all(Option::is_none) {
                continue;
            }
            sets.insert(slice, filled(&taken, slice / ring * ring..(slice / ring + 1) * ring)?);
        }
        Ok(sets)
    }
}

/// Sources in ascending order inside of a range. What stands for padding is any source between.
fn filled(taken: &[Option<usize>], ring: std::ops::Range<usize>) -> Result<Vec<usize>, String> {
    let mut next = ring.start;
    let mut sources = Vec::new();
    for source in taken {
        let source = source.unwrap_or(next);
        must(source >= next, "the order of the sources has changed")?;
        sources.push(source);
        next = source + 1;
    }
    must(next <= ring.end, "a source is outside of the ring")?;
    Ok(sources)
}

/// A switch, legal or not.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    pub axes: Axes,
    pub maps: Mappings,
    pub config: Switching,
}

/// A digit of the slices or of time.
#[derive(Clone, Debug)]
struct Part {
    map: Map,
    /// Values that are no padding.
    live: usize,
}

/// Hands out axes.
struct Parts {
    axes: Axes,
}

impl Parts {
    fn axis(&mut self, size: usize) -> Map {
        let name = format!("A{}", self.axes.len());
        self.axes.push((name.clone(), size));
        Map::axis(&name, size)
    }

    /// A digit of `size` positions.
    fn part(&mut self, random: &mut Random, size: usize) -> Part {
        if size == 1 {
            return Part { map: Map::One, live: 1 };
        }
        match random.below(10) {
            0 => Part { map: Map::One.pad(size), live: 1 },
            1 | 2 if size > 2 => {
                let live = random.between(2, size - 1);
                Part { map: self.axis(live).pad(size), live }
            }
            3 => Part { map: self.axis(size * random.between(2, 3)).modulo(size), live: size },
            4 => Part { map: self.axis(size * 2).stride(2), live: size },
            5 if size.is_multiple_of(2) && size > 2 => {
                let pair = [self.axis(size / 2), self.axis(2)];
                Part { map: Map::sequence(&pair), live: size }
            }
            _ => Part { map: self.axis(size), live: size },
        }
    }

    /// What tells copies apart.
    fn tile(&mut self, random: &mut Random, size: usize) -> Map {
        match random.below(6) {
            _ if size == 1 => Map::One,
            0 => Map::One.pad(size),
            1 if size > 2 => self.axis(size - 1).pad(size),
            _ => self.axis(size),
        }
    }
}

fn sequence(parts: &[Part]) -> Map {
    Map::sequence(&parts.iter().map(|part| part.map.clone()).collect::<Vec<_>>())
}

/// A legal switch of `slices` slices, a power of two. `InterTranspose` has 256 of them.
pub fn random_switch(random: &mut Random, slices: usize) -> SwitchCase {
    let mut parts = Parts { axes: Axes::new() };
    let log = slices.trailing_zeros() as usize;
    let ring = random.between(0, log);
    let outer = random.between(0, ring);
    let (n1, n0, n2) = (1 << outer, 1 << (ring - outer), slices >> ring);
    if random.chance(40) {
        return random_custom(random, parts, log);
    }
    let [s2, s1, s0] = [n2, n1, n0].map(|size| parts.part(random, size).map);
    let sizes = [1, 2, 2, 3, 4, 5];
    let (m1, m0) = (random.pick(&sizes), random.pick(&sizes));
    let [t1, t0] = [m1, m0].map(|size| parts.part(random, size).map);
    let in_slice = Map::sequence(&[s2.clone(), s1.clone(), s0.clone()]);
    let in_time = Map::sequence(&[t1.clone(), t0.clone()]);
    let whole = in_time.clone();
    let case = |in_time, out_slice: &[Map], out_time: &[Map], config, parts: Parts| SwitchCase {
        axes: parts.axes,
        maps: Mappings {
            in_slice: in_slice.clone(),
            in_time,
            out_slice: Map::sequence(out_slice),
            out_time: Map::sequence(out_time),
        },
        config,
    };
    match if random.chance(5) { 5 } else { random.below(5) } {
        5 => {
            // The same slices and the same time in other words.
            let slices = if random.chance(50) { vec![in_slice.clone()] } else { vec![s2, s1, s0] };
            let time = if random.chance(50) { vec![whole.clone()] } else { vec![t1, t0, Map::One] };
            case(whole, &slices, &time, Switching::Forwarding, parts)
        }
        0 => {
            let tile = parts.tile(random, n1 * n0);
            let config = Switching::Broadcast01 { slice1: n1, slice0: n0, time0: m0 };
            case(whole, &[s2, tile], &[t1, s1, t0, s0], config, parts)
        }
        1 => {
            let tile = parts.tile(random, n1);
            let config = Switching::Broadcast1 { slice1: n1, slice0: n0 };
            case(whole.clone(), &[s2, tile, s0], &[whole, s1], config, parts)
        }
        2 => {
            let tile = parts.tile(random, n0);
            let config = Switching::TransposedBroadcast1 { slice1: n1, slice0: n0 };
            case(whole.clone(), &[s2, tile, s1], &[whole, s0], config, parts)
        }
        3 if slices == 256 => {
            let traded = parts.part(random, n1).map;
            let in_time = Map::sequence(&[t1.clone(), traded.clone(), t0.clone()]);
            let config = Switching::InterTranspose { slice1: n1, slice0: n0, time0: m0 };
            case(in_time, &[s2, traded, s0], &[t1, t0, s1], config, parts)
        }
        _ => {
            let config = Switching::Transpose { slice1: n1, slice0: n0 };
            case(whole.clone(), &[s2, s0, s1], &[whole], config, parts)
        }
    }
}

/// What becomes of a digit of the slices.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Kept,
    Moved,
    Dropped,
}

/// A legal custom switch, with the ring that its digits need.
fn random_custom(random: &mut Random, mut parts: Parts, log: usize) -> SwitchCase {
    let mut digits = Vec::new();
    let mut left = log;
    while left > 0 {
        let own = random.between(1, left.min(4));
        left -= own;
        let fate = random.pick(&[Fate::Kept, Fate::Kept, Fate::Kept, Fate::Moved, Fate::Dropped]);
        digits.push((parts.part(random, 1 << own), fate));
    }
    // Which slices become time steps of padding is free if several could: one that is alone decides the ring.
    let holes = digits.iter().filter(|(part, _)| part.live < part.map.size()).count();
    for (part, fate) in &mut digits {
        if *fate == Fate::Moved && part.live == 1 && part.map.size() > 1 && holes > 1 {
            *fate = Fate::Kept;
        }
    }
    let slices = 1 << log;
    let before: Vec<Part> = digits.iter().map(|(part, _)| part.clone()).collect();
    let weight = |k: usize| before[k + 1..].iter().map(|part| part.map.size()).product::<usize>();
    // Slices after: what stays, in its order or in another, and copies in between. No copies behind padding.
    let mut order: Vec<usize> = (0..digits.len()).filter(|k| digits[*k].1 == Fate::Kept).collect();
    if random.chance(60) {
        random.shuffle(&mut order);
    }
    let mut after: Vec<(Map, usize, Option<usize>)> =
        order.into_iter().map(|k| (before[k].map.clone(), before[k].live, Some(k))).collect();
    let mut free = slices / after.iter().map(|(map, ..)| map.size()).product::<usize>();
    while free > 1 {
        let size = if random.chance(50) { free } else { 2 };
        free /= size;
        let place = random.between(0, after.len());
        // Copies are padding, or an axis of its own with no padding next to it.
        let bare = |at: Option<&(Map, usize, Option<usize>)>| {
            at.is_some_and(|(map, live, _)| *live == 1 && map.size() > 1)
        };
        let next_to_padding = place > 0 && bare(after.get(place - 1));
        let hides = after.get(place).is_some_and(|(.., kept)| kept.is_none());
        let tile = if next_to_padding || hides || random.chance(25) {
            // Padding is put where it pads no copies.
            let place =
                (0..=after.len()).rev().find(|at| after.get(*at).is_none_or(|(.., kept)| kept.is_some()));
            after.insert(place.unwrap_or(after.len()), (Map::One.pad(size), 1, None));
            continue;
        } else {
            parts.axis(size)
        };
        after.insert(place, (tile, size, None));
    }
    let mut moved = Vec::new();
    let mut span = 0;
    for (k, (part, fate)) in digits.iter().enumerate() {
        match fate {
            Fate::Kept => {}
            Fate::Dropped => span = span.max(if part.live > 1 { part.live * weight(k) } else { 0 }),
            Fate::Moved => {
                let trimmed = match random.below(3) {
                    0 if part.live > 1 => strip(&part.map),
                    1 if part.live > 2 => strip(&part.map).resize(part.live - 1),
                    _ => part.map.clone(),
                };
                let size = trimmed.size();
                span = span.max(weight(k) * part.live.max(size) * usize::from(part.map.size() > 1));
                moved.push(trimmed);
            }
        }
    }
    let mut direct = vec![slices];
    let mut inner = 1;
    for (map, live, kept) in after.iter().rev() {
        match kept {
            Some(k) if *live > 1 && weight(*k) == inner => direct.push(inner),
            Some(k) if *live > 1 => span = span.max(live * inner.max(weight(*k))),
            None if *live > 1 => span = span.max(live * inner),
            _ => {}
        }
        inner *= map.size();
    }
    let ring_size = direct.into_iter().filter(|weight| *weight >= span).min().unwrap_or(slices);
    let (m1, m0) = (random.between(1, 3), random.between(1, 3));
    let in_time = sequence(&[m1, m0].map(|size| parts.part(random, size)));
    let maps: Vec<Map> = after.into_iter().map(|(map, ..)| map).collect();
    let out_time = Map::sequence(&[vec![in_time.clone()], moved].concat());
    SwitchCase {
        axes: parts.axes,
        maps: Mappings { in_slice: sequence(&before), in_time, out_slice: Map::sequence(&maps), out_time },
        config: Switching::CustomBroadcast { ring_size },
    }
}

/// Breaks a switch somewhere, or not.
pub fn disturbed(random: &mut Random, case: &SwitchCase) -> SwitchCase {
    let mut case = case.clone();
    let odd = |random: &mut Random, n: usize| random.pick(&[n * 2, n / 2, n + 1, 1, 0, 2, n]);
    match random.below(9) {
        0 | 1 => match &mut case.config {
            Switching::Broadcast01 { slice1, slice0, time0 }
            | Switching::InterTranspose { slice1, slice0, time0 } => {
                let all = [slice1, slice0, time0];
                let one = all.into_iter().nth(random.below(3)).expect("one of three");
                *one = odd(random, *one);
            }
            Switching::Broadcast1 { slice1, slice0 }
            | Switching::Transpose { slice1, slice0 }
            | Switching::TransposedBroadcast1 { slice1, slice0 } => {
                let one = if random.chance(50) { slice1 } else { slice0 };
                *one = odd(random, *one);
            }
            Switching::CustomBroadcast { ring_size } => *ring_size = odd(random, *ring_size),
            Switching::Forwarding => case.config = Switching::CustomBroadcast { ring_size: 1 },
        },
        2 => std::mem::swap(&mut case.maps.in_slice, &mut case.maps.out_slice),
        3 => {
            // Digits of one mapping in another order.
            let map = if random.chance(50) { &mut case.maps.out_slice } else { &mut case.maps.out_time };
            let mut flat = Vec::new();
            flatten(map, &mut flat);
            random.shuffle(&mut flat);
            *map = Map::sequence(&flat);
        }
        4 => {
            let map = if random.chance(50) { &mut case.maps.out_slice } else { &mut case.maps.out_time };
            let size = map.size();
            *map = match random.below(3) {
                0 => map.resize(size.div_ceil(2)).pad(size),
                1 => map.pad(size * 2),
                _ => Map::sequence(&[map.clone(), case.maps.in_time.clone()]),
            };
        }
        5 => {
            // Digits innermost in time in another order.
            let (mut flat, mut before) = (Vec::new(), Vec::new());
            flatten(&case.maps.out_time, &mut flat);
            flatten(&case.maps.in_time, &mut before);
            let first = before.iter().filter(|part| **part != Map::One).count().min(flat.len());
            flat[first..].reverse();
            case.maps.out_time = Map::sequence(&flat);
        }
        6 => {
            // A digit of time in place of a slice digit.
            let (mut flat, mut time) = (Vec::new(), Vec::new());
            flatten(&case.maps.out_slice, &mut flat);
            flatten(&case.maps.in_time, &mut time);
            let place = random.below(flat.len());
            let size = flat[place].size();
            if let Some(part) = time.iter().find(|part| part.size() <= size && **part != Map::One) {
                flat[place] = if part.size() == size { part.clone() } else { part.pad(size) };
            }
            case.maps.out_slice = Map::sequence(&flat);
        }
        7 => {
            let size = case.maps.out_time.size();
            case.maps.out_time = case.maps.out_time.resize((size - 1).max(1));
        }
        _ => {
            let (slice1, slice0) = (1 << random.below(4), 1 << random.below(4));
            case.config = match random.below(5) {
                4 => Switching::Forwarding,
                0 => Switching::Broadcast1 { slice1, slice0 },
                1 => Switching::Transpose { slice1, slice0 },
                2 => Switching::TransposedBroadcast1 { slice1, slice0 },
                _ => Switching::CustomBroadcast { ring_size: case.maps.in_slice.size() },
            };
        }
    }
    case
}

fn flatten(map: &Map, parts: &mut Vec<Map>) {
    match map {
        Map::Pair(left, right) => {
            flatten(left, parts);
            flatten(right, parts);
        }
        other => parts.push(other.clone()),
    }
}
