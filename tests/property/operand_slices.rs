//! Which tensors in the VRF a stream finds in its own slices: verdicts against positions.

use crate::bridge::expr;
use crate::reference::cases::for_cases;
use crate::reference::digits::Projection;
use crate::reference::mapping::{Coordinates, Map, is_injective, joint_table};
use crate::reference::random::Random;
use furiosa_visa_std::engine::vector::{OperandRequest, derive_operand};
use std::cell::Cell;

/// Slices of a cluster.
const SLICES: usize = 256;

/// A part of the slices, `size` positions: padding, an axis of its own, one with padding, or a digit of the axis `K`.
fn part(random: &mut Random, name: usize, size: usize) -> Map {
    let axis = |letter: char, size| Map::axis(&format!("{letter}{name}"), size);
    let whole = Map::axis("K", 1024);
    let weight = random.pick(&[1, 2, 4, 16]);
    match random.below(6) {
        0 => Map::One.pad(size),
        1 => axis('P', random.between(1, size)).pad(size),
        2 if weight * size <= 1024 => whole.stride(weight).modulo(size),
        // As long in both.
        _ => axis(random.pick(&['A', 'B']), size),
    }
}

/// The slices of a stream and those of a tensor: alike in some parts.
fn random_slices(random: &mut Random) -> [Map; 2] {
    loop {
        let (mut left, mut parts) = (SLICES, Vec::new());
        while left > 1 {
            let size = random.pick(&[2, 4, 8, 16, 256]).min(left);
            parts.push((part(random, parts.len(), size), size));
            left /= size;
        }
        let mut other = parts.clone();
        for _ in 0..random.below(3) {
            let place = random.below(other.len());
            let size = other[place].1;
            match random.below(3) {
                0 => {
                    let name = 9 + random.below(2);
                    other[place].0 = part(random, name, size);
                }
                1 => {
                    let another = random.below(other.len());
                    other.swap(place, another);
                }
                _ => other[place].0 = Map::One.pad(size),
            }
        }
        let both = [parts, other]
            .map(|parts| Map::sequence(&parts.into_iter().map(|(map, _)| map).collect::<Vec<_>>()));
        if both.iter().all(|map| map.validity().is_ok() && map.size() == SLICES) {
            return if random.chance(50) { both } else { [both[1].clone(), both[0].clone()] };
        }
    }
}

/// Whether every slice in which the stream holds an element is one in which the tensor does, and the digits of the tensor's slices
/// are what they are in the stream, for each axis that the stream names.
fn finds(stream: [&Map; 3], own: &Map) -> Result<bool, String> {
    let [slice, time, packet] = stream;
    let projection = Projection::onto(&[own])?;
    let names = Map::sequence(&[slice.clone(), time.clone(), packet.clone()]).axes();
    let shared = |cell: &Coordinates| -> Coordinates {
        let named = cell.iter().filter(|(name, _)| names.contains_key(*name));
        named.map(|(name, value)| (name.clone(), *value)).collect()
    };
    let (inside, held) = (time.size() * packet.size(), own.table());
    Ok(joint_table(&[slice, time, packet]).iter().enumerate().all(|(k, cell)| {
        let Some(cell) = cell else { return true };
        held[k / inside].as_ref().is_some_and(|held| shared(held) == shared(&projection.apply(cell)))
    }))
}

#[test]
fn streams_read_their_own_slices() {
    let (accepted, refused, alone) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let count = |counter: &Cell<usize>| counter.set(counter.get() + 1);
    for_cases(400, |random| {
        let [slice, own] = random_slices(random);
        let time = if random.chance(30) { Map::axis("K", 1024).modulo(4) } else { Map::axis("T", 3) };
        let packet = Map::axis("L", 8);
        // An axis that stands twice has no meaning.
        if !is_injective(&[&slice, &time, &packet]) || !is_injective(&[&own]) {
            return Ok(());
        }
        let pair = |a: &Map, b: Map| Map::Pair(Box::new(a.clone()), Box::new(b));
        let cluster = Map::One.pad(2);
        let stream = pair(&Map::One, pair(&cluster, pair(&slice, pair(&time, packet.clone()))));
        let request = OperandRequest {
            units: [expr(&Map::One), expr(&cluster), expr(&own)],
            element: expr(&packet),
            stream: expr(&stream),
        };
        let Ok(expected) = finds([&slice, &time, &packet], &own) else { return Ok(()) };
        match (derive_operand(&request), expected) {
            (Ok(_), true) => count(&accepted),
            (Err(error), false) if error.rule() == "operand units" => count(&refused),
            (Err(error), true) if error.rule() == "operand units" => count(&alone),
            (found, _) => {
                let found = found.map(|_| ()).map_err(|error| error.to_string());
                return Err(format!(
                    "slices m![{slice}], time m![{time}], tensor in m![{own}]: {found:?}, expected {expected}"
                ));
            }
        }
        Ok(())
    });
    let [accepted, refused, alone] = [&accepted, &refused, &alone].map(Cell::get);
    println!("{accepted} accepted, {refused} refused, {alone} by the library alone");
    let enough = accepted > 80 && refused > 80 && alone * 20 < accepted;
    assert!(enough || std::env::var("VISA_CASES").is_ok(), "{accepted} {refused} {alone}");
}
