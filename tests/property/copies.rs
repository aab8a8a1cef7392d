//! Shuffles and parallel copies: derived from random mappings, executed by the simulated chips, against the reference, with the
//! padding of both sides full of values that mean nothing.

use crate::bridge::expr;
use crate::dma_commands::{Nibble, executed, nibbles};
use crate::machine::{Cell, Machine, region, shape};
use crate::moves::{TYPES, compare, fill_padding, garbage, random_codes};
use crate::reference::cases::for_cases;
use crate::reference::copies::{Parts, is_alike, shuffle};
use crate::reference::engines::dma;
use crate::reference::mapping::{Map, joint_table};
use crate::reference::random::{Axes, Margins, Random, random_axes, random_move, random_partition};
use crate::reference::tensor::place;
use furiosa_visa_std::clock::dma::{Coverage, DmaOptions};
use furiosa_visa_std::clock::unit_copy::shuffle_operation;
use furiosa_visa_std::command::{ContextKind, CopyCall, FillId, Memory, Region, Transfer, UnitCopy};
use furiosa_visa_std::engine::copies::{
    SliceCopyRequest, UnitLevel, derive_parallel_copy, derive_shuffle, derive_slice_copy,
};
use furiosa_visa_std::scalar::ElementType;
use std::cell::Cell as Counter;
use std::collections::HashMap;

/// The most units and positions per dimension.
const LIMITS: [usize; 4] = [4, 2, 256, 4096];

/// The rules about halves of a byte.
const HALVES: [&str; 2] = ["whole bytes", "DMA start"];

pub fn borrowed(maps: &[Map]) -> Vec<&Map> {
    maps.iter().collect()
}

/// A tensor in DM whose dimensions cut its axes anywhere, mostly on several chips and clusters.
pub fn random_tensor(random: &mut Random) -> (Vec<Map>, Axes) {
    loop {
        let count = random.between(1, 3);
        let mut axes = random_axes(random, count);
        let margins = random.pick(&Margins::MIXED);
        let groups = random.chance(30);
        let mut dims = random_partition(random, &axes, 4, groups, margins);
        for (k, name, most) in [(0, "K", 4), (1, "Y", 2)] {
            if random.chance(70) {
                // Its axes go inside, so that none is lost.
                let (count, inner) = (random.between(1, most), random.pick(&[1, 1, 1, 2, 3]));
                // The last unit has fewer, at times.
                let size = count * inner - usize::from(inner > 1 && random.chance(50));
                let axis = Map::axis(name, size).pad(count * inner);
                let unit = axis.stride(inner).pad(random.between(count, most));
                let inside = std::mem::replace(&mut dims[k], unit);
                dims[3] = Map::sequence(&[dims[3].clone(), inside, axis.modulo(inner)]);
                axes.push((name.to_string(), size));
            }
        }
        let fits = dims.iter().zip(LIMITS).all(|(map, limit)| map.size() <= limit);
        if fits && dims.iter().map(Map::size).product::<usize>() <= 1 << 14 {
            return (dims, axes);
        }
    }
}

/// Numbers below `most`, seldom more of them, or one that is too large.
fn random_pattern(random: &mut Random, count: usize, most: usize) -> Vec<usize> {
    let count = if random.chance(4) { count + 1 } else { count };
    (0..count).map(|_| if random.chance(4) { most } else { random.below(most) }).collect()
}

pub fn text(dims: &[Map]) -> String {
    dims.iter().map(|map| format!("m![{map}]")).collect::<Vec<_>>().join(" ")
}

/// What a copy is given.
struct Given<'a> {
    call: CopyCall,
    context: ContextKind,
    /// Memory and dimensions.
    source: (Memory, &'a [Map]),
    destination: (Memory, &'a [Map]),
    moves: Vec<Transfer>,
    values: Vec<Cell>,
    expected: Vec<Cell>,
}

/// Executes a copy over memories full of garbage.
fn copied(random: &mut Random, element: ElementType, given: Given<'_>) -> Result<UnitCopy, String> {
    let Given { call, context, source, destination, moves, values, expected } = given;
    let [from, to] = [(source, 64, FillId(2)), (destination, 4096 * 64, FillId(3))].map(
        |((memory, dims), address, fill)| region(&shape(memory, element, &borrowed(dims)), address, fill),
    );
    let [before, after] = [source.1, destination.1].map(borrowed);
    let mut machine = Machine::new(true);
    let there = fill_padding(random, element, &before, &values);
    machine.write(&from, FillId(2), &there);
    let old = garbage(random, element, expected.len());
    machine.write(&to, FillId(1), &old);
    let copy = UnitCopy { call, context, source: from, destination: to, moves };
    machine.copy(copy.clone())?;
    compare(&after, &machine.read(&to), &expected, &old)?;
    if machine.read(&from) != there {
        return Err("the source has changed".to_string());
    }
    Ok(copy)
}

/// Where each half of a byte of the result comes from.
fn wanted(
    copy: &UnitCopy,
    dims: &[Map],
    level: usize,
    pattern: &[usize],
    element: ElementType,
) -> HashMap<Nibble, Nibble> {
    let live = joint_table(&borrowed(dims));
    let positions: Vec<Option<usize>> = (0..live.len()).map(Some).collect();
    let from = shuffle(&borrowed(dims), level, &positions, pattern).expect("it is legal");
    let pairs = (0..live.len()).filter_map(|k| Some((k, from[k]?)));
    let bytes = |region: &Region, position| nibbles(region, dims, element, position).collect::<Vec<_>>();
    pairs
        .flat_map(|(k, from)| bytes(&copy.destination, k).into_iter().zip(bytes(&copy.source, from)))
        .collect()
}

fn check_commands(
    copy: &UnitCopy,
    dims: &[Map],
    level: usize,
    pattern: &[usize],
    element: ElementType,
) -> Result<Coverage, String> {
    let operation = shuffle_operation(copy, &DmaOptions::default()).map_err(|error| error.to_string())?;
    if operation.coverage == Coverage::Hull {
        return Ok(Coverage::Hull);
    }
    let found = executed(&operation)?;
    for (to, from) in wanted(copy, dims, level, pattern, element) {
        if found.get(&to) != Some(&from) {
            return Err(format!(
                "{to:?} is written from {:?} instead of {from:?}\n{operation}",
                found.get(&to)
            ));
        }
    }
    Ok(operation.coverage)
}

#[test]
fn shuffles_are_gathers() {
    let (shuffled, refused, ragged, exact) =
        (Counter::new(0), Counter::new(0), Counter::new(0), Counter::new(0));
    let count = |counter: &Counter<usize>| counter.set(counter.get() + 1);
    for_cases(400, |random| {
        let element = random.pick(&TYPES);
        let (mut dims, axes) = random_tensor(random);
        let (mut memory, mut call, mut level, mut name) =
            (Memory::Dm, CopyCall::DmClusterShuffle, 1, UnitLevel::Cluster);
        match random.below(3) {
            0 => {}
            1 => (call, level, name) = (CopyCall::DmChipShuffle, 0, UnitLevel::Chip),
            _ => {
                (memory, call, level, name) = (Memory::Hbm, CopyCall::HbmChipShuffle, 0, UnitLevel::Chip);
                dims = vec![dims[0].clone(), Map::sequence(&dims[1..])];
            }
        }
        let maps = borrowed(&dims);
        let shown = |text: String, pattern: &[usize]| {
            Err(format!("{call} {pattern:?} of {element} {memory} {}\n{text}", self::text(&dims)))
        };
        let config = match derive_shuffle(call, name, &shape(memory, element, &maps)) {
            Ok(config) => config,
            Err(error) if error.rule() == "ragged units" => {
                count(&ragged);
                // Dead positions in front are shared in any case.
                let leads = dims.iter().any(Map::has_lead);
                return if is_alike(&maps, level) && !leads { shown(error.to_string(), &[]) } else { Ok(()) };
            }
            Err(error) if element == ElementType::I4 && HALVES.contains(&error.rule()) => return Ok(()),
            // See `parallel_copies_are_moves_in_each_cluster`.
            Err(error) if error.rule() == "parallel copy cells" => return Ok(()),
            Err(error) => return shown(format!("{}: {error}", error.rule()), &[]),
        };
        if !is_alike(&maps, level) {
            return shown("accepted, but ragged".to_string(), &[]);
        }
        let units = dims[level].size();
        let pattern = random_pattern(random, units, units);
        let tensor = random_codes(random, element, &axes);
        let values = place(&tensor, &maps);
        let moves = config.moves(&pattern);
        let expected = match (shuffle(&maps, level, &values, &pattern), &moves) {
            (Ok(expected), Ok(_)) => expected,
            (Err(_), Err(_)) => {
                count(&refused);
                return Ok(());
            }
            // A unit that gets nothing may name what is not there, to the chip; the library looks at every entry.
            (reference, _) => {
                return shown(format!("reference: {reference:?}, library: {moves:?}"), &pattern);
            }
        };
        let pcie = memory == Memory::Hbm && random.chance(50);
        let given = Given {
            call,
            context: if pcie { ContextKind::PcieDma } else { ContextKind::TensorDma },
            source: (memory, &dims),
            destination: (memory, &dims),
            moves: moves.expect("it is legal"),
            values,
            expected,
        };
        count(&shuffled);
        let copy =
            copied(random, element, given).or_else(|text| shown(text, &pattern).map(|()| unreachable!()))?;
        match check_commands(&copy, &dims, level, &pattern, element) {
            Ok(coverage) => exact.set(exact.get() + usize::from(coverage == Coverage::Exact)),
            Err(text) => return shown(text, &pattern),
        }
        Ok(())
    });
    let counts = [&shuffled, &refused, &ragged, &exact].map(Counter::get);
    let most = counts.iter().zip([150, 20, 20, 100]).all(|(count, least)| *count > least);
    assert!(most || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}

/// The innermost dimension with another axis outside of it, or somewhere inside, and its parts.
struct Sliced {
    dims: Vec<Map>,
    axis: Map,
    sliced: Map,
    destination: Map,
    axes: Axes,
}

fn random_parts(random: &mut Random) -> Sliced {
    loop {
        let (mut dims, mut axes) = random_tensor(random);
        let inside = dims[3].clone();
        let size = random.between(2, 9);
        let mut axis = Map::axis("Z", size);
        let mut rest = Map::One;
        if random.chance(40) {
            // The outer part of an axis, ragged at times.
            let n = random.pick(&[2, 3, 4]);
            let padded = if size.is_multiple_of(n) { axis } else { axis.pad(size.next_multiple_of(n)) };
            (axis, rest) = (padded.stride(n), padded.modulo(n));
        }
        if random.chance(40) {
            axis = axis.pad(axis.size() + random.between(1, 2));
        }
        // Outermost, between the rest of its axis and what was there, or innermost.
        let place = random.pick(&[0, 0, 1, 2]);
        let with = |part: &Map| {
            let mut all = vec![rest.clone(), inside.clone()];
            all.insert(place, part.clone());
            Map::sequence(&all)
        };
        dims[3] = with(&axis);
        axes.push(("Z".to_string(), size));
        let sliced = with(&Map::One.pad(axis.size()));
        let inside = Map::sequence(&[rest.clone(), inside.clone()]);
        let destination = match random.below(3) {
            0 => inside.clone(),
            1 => inside.pad(inside.size() + random.between(1, 4)),
            // A broadcast.
            _ => Map::sequence(&[Map::axis("N", random.between(1, 3)), inside.clone()]),
        };
        if inside.size() > 0 && dims.iter().map(Map::size).product::<usize>() <= 1 << 14 {
            return Sliced { dims, axis, sliced, destination, axes };
        }
    }
}

#[test]
fn each_unit_gets_its_part() {
    let (copies, refused, ragged) = (Counter::new(0), Counter::new(0), Counter::new(0));
    let count = |counter: &Counter<usize>| counter.set(counter.get() + 1);
    for_cases(500, |random| {
        let element = random.pick(&TYPES);
        let Sliced { dims, axis, sliced, destination, axes } = random_parts(random);
        let maps = borrowed(&dims);
        let (call, level, name) = match random.chance(50) {
            true => (CopyCall::ClusterSliceCopy, 1, UnitLevel::Cluster),
            false => (CopyCall::ChipSliceCopy, 0, UnitLevel::Chip),
        };
        let after = [&dims[..3], core::slice::from_ref(&destination)].concat();
        let shown = |text: String, index: &[usize]| {
            let (before, after) = (self::text(&dims), self::text(&after));
            Err(format!(
                "{call} {index:?} of {element} {before} by m![{axis}], m![{sliced}] to {after}\n{text}"
            ))
        };
        let request = SliceCopyRequest {
            call,
            level: name,
            source: shape(Memory::Dm, element, &maps),
            axis: expr(&axis),
            sliced: expr(&sliced),
            destination: shape(Memory::Dm, element, &borrowed(&after)),
        };
        let config = match derive_slice_copy(&request) {
            Ok(config) => config,
            Err(error) if error.rule() == "ragged parts" => {
                count(&ragged);
                return Ok(());
            }
            Err(error) if element == ElementType::I4 && HALVES.contains(&error.rule()) => return Ok(()),
            // See `parallel_copies_are_moves_in_each_cluster`.
            Err(error) if error.rule() == "parallel copy cells" => return Ok(()),
            Err(error) => return shown(format!("{}: {error}", error.rule()), &[]),
        };
        let index = random_pattern(random, dims[level].size(), axis.size());
        let tensor = random_codes(random, element, &axes);
        let values = place(&tensor, &maps);
        let parts = Parts { dims: &maps, level, axis: &axis, sliced: &sliced, destination: &destination };
        let moves = config.moves(&index);
        let expected = match (parts.copy(&values, &index), &moves) {
            (Ok(expected), Ok(_)) => expected,
            (Err(_), Err(_)) => {
                count(&refused);
                return Ok(());
            }
            (reference, _) => return shown(format!("reference: {reference:?}, library: {moves:?}"), &index),
        };
        count(&copies);
        let given = Given {
            call,
            context: ContextKind::Sub,
            source: (Memory::Dm, &dims),
            destination: (Memory::Dm, &after),
            moves: moves.expect("it is legal"),
            values,
            expected,
        };
        copied(random, element, given).map(|_| ()).or_else(|text| shown(text, &index))
    });
    let counts = [&copies, &refused, &ragged].map(Counter::get);
    let most = counts.iter().zip([100, 20, 20]).all(|(count, least)| *count > least);
    assert!(most || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}

/// Whether all elements of each 8 bytes of the destination lie together in the source, at the same distances: the sub context
/// writes them at once. `from`: for each position of the destination, that of the source.
fn fills_cells(element: ElementType, elements: usize, from: &[Option<usize>]) -> bool {
    let cell = 64 / element.bits();
    from.chunks(elements).all(|unit| {
        unit.chunks(cell).all(|cell| {
            let mut distances = (0..).zip(cell).filter_map(|(k, from)| Some(from.as_ref()? + 64 - k));
            let first = distances.next();
            distances.all(|distance| Some(distance) == first)
        })
    })
}

#[test]
fn parallel_copies_are_moves_in_each_cluster() {
    let copies = Counter::new(0);
    let (cut, hasty) = (Counter::new(0), Counter::new(0));
    for_cases(300, |random| {
        let element = random.pick(&TYPES);
        let (margins, groups) = (random.pick(&Margins::MIXED), random.chance(20));
        let own = random_move(random, [2, 2], true, groups, margins);
        let units = [("K", 4), ("Y", 2)].map(|(name, most)| {
            let size = random.between(1, most);
            (Map::axis(name, size).pad(random.between(size, most)), (name.to_string(), size))
        });
        let prefix = units.clone().map(|(map, _)| map).to_vec();
        let [before, after] = [&own.source, &own.destination].map(|dims| [&prefix[..], dims].concat());
        if before[2].size().max(after[2].size()) > 256 {
            return Ok(());
        }
        let mut axes = own.axes[..own.tensor_axes].to_vec();
        axes.extend(units.map(|(_, axis)| axis));
        let shown = |error: String| Err(format!("{element} {} to {}\n{error}", text(&before), text(&after)));
        let shapes = [&before, &after].map(|dims| shape(Memory::Dm, element, &borrowed(dims)));
        let whole_cells = || {
            let held = joint_table(&borrowed(&before));
            let positions: Vec<_> = (0..).zip(held).map(|(k, own)| own.map(|_| k)).collect();
            let from = dma(&borrowed(&before), &positions, &borrowed(&after))?;
            Ok::<_, String>(fills_cells(element, after[3].size(), &from))
        };
        let transfer = match derive_parallel_copy(&shapes[0], &shapes[1]) {
            Ok(transfer) => transfer,
            Err(error) if groups || element == ElementType::I4 && HALVES.contains(&error.rule()) => {
                return Ok(());
            }
            Err(error) if error.rule() == "parallel copy cells" => {
                cut.set(cut.get() + 1);
                hasty.set(hasty.get() + usize::from(whole_cells()?));
                return Ok(());
            }
            Err(error) => return shown(format!("{}: {error}", error.rule())),
        };
        if !whole_cells()? {
            return shown("8 bytes of the destination come from several places".to_string());
        }
        let tensor = random_codes(random, element, &axes);
        let values = place(&tensor, &borrowed(&before));
        let expected = dma(&borrowed(&before), &values, &borrowed(&after))?;
        copies.set(copies.get() + 1);
        let given = Given {
            call: CopyCall::ParallelCopy,
            context: ContextKind::Sub,
            source: (Memory::Dm, &before),
            destination: (Memory::Dm, &after),
            moves: vec![transfer],
            values,
            expected,
        };
        copied(random, element, given).map(|_| ()).or_else(shown)
    });
    let counts = [copies.get(), cut.get(), hasty.get()];
    assert!(counts[0] > 40 && counts[1] > 40 || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
    // Where loops do not say that runs go on, it is refused all the same.
    assert!(counts[2] * 5 <= counts[1], "{counts:?}");
}

/// The comparison finds a pattern that is applied the other way round, and a part too far.
#[test]
fn wrong_copies_are_found() {
    let dims: Vec<Map> =
        ["K", "1", "1", "A"].iter().map(|text| Map::parse(text, &[("K", 4), ("A", 8)])).collect();
    let axes = vec![("K".to_string(), 4), ("A".to_string(), 8)];
    let maps = borrowed(&dims);
    let mut random = Random::new(5);
    let element = ElementType::I32;
    let values = place(&random_codes(&mut random, element, &axes), &maps);
    let config = derive_shuffle(CopyCall::DmChipShuffle, UnitLevel::Chip, &shape(Memory::Dm, element, &maps));
    let config = config.expect("it is legal");
    let expected = shuffle(&maps, 0, &values, &[1, 2, 3, 0]).expect("it is legal");
    let mut outcome = |pattern: [usize; 4], shift: isize| {
        let mut moves = config.moves(&pattern).expect("it is legal");
        moves[0].source_start.units += shift;
        let (values, expected) = (values.clone(), expected.clone());
        let (source, destination) = ((Memory::Dm, &dims[..]), (Memory::Dm, &dims[..]));
        let (call, context) = (CopyCall::DmChipShuffle, ContextKind::TensorDma);
        copied(&mut random, element, Given { call, context, source, destination, moves, values, expected })
    };
    assert!(outcome([1, 2, 3, 0], 0).is_ok());
    assert!(outcome([3, 0, 1, 2], 0).is_err() && outcome([1, 2, 3, 0], 512).is_err());
}
