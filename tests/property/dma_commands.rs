//! The commands of DMA engines against the reference move: which byte goes where.

use crate::machine::region;
use crate::moves::{Case, TYPES, WAYS, derived};
use crate::reference::cases::for_cases;
use crate::reference::mapping::{Map, joint_table};
use crate::reference::random::Random;
use furiosa_visa_std::clock::dma::{
    Coverage, DmaOperation, DmaOptions, EngineSplit, HbmStream, Medium, SameMedium, Side, derive, time,
};
use furiosa_visa_std::command::{Dma, FillId, Memory, Region};
use furiosa_visa_std::engine::dma::derive_dma;
use furiosa_visa_std::scalar::ElementType;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

/// A half of a byte: unit, and its number in the unit.
pub type Nibble = (usize, u64);

/// Where a position of a tensor lies, row-major over its dimensions.
pub fn nibbles(
    region: &Region,
    dims: &[Map],
    element: ElementType,
    position: usize,
) -> impl Iterator<Item = Nibble> {
    let sizes: Vec<usize> = dims.iter().map(Map::size).collect();
    let inside = sizes[sizes.len() - 1];
    let mut rest = position / inside;
    let unit = match region.memory {
        Memory::Hbm => rest,
        Memory::Dm | Memory::Vrf => {
            let slice = rest % sizes[2];
            rest /= sizes[2];
            (rest / sizes[1] * 2 + rest % sizes[1]) * 256 + slice
        }
    };
    let per_element = element.bits() as u64 / 4;
    let first = region.address * 2 + (position % inside) as u64 * per_element;
    (0..per_element).map(move |k| (unit, first + k))
}

/// What moves, destination to source, and every live place of the source.
fn wanted(case: &Case, element: ElementType, dma: &Dma) -> (HashMap<Nibble, Nibble>, HashSet<Nibble>) {
    let table = |dims: &[Map]| joint_table(&dims.iter().collect::<Vec<_>>());
    let mut sources = HashMap::new();
    for (position, index) in table(&case.source.1).into_iter().enumerate() {
        if let Some(index) = index {
            sources.insert(index, position);
        }
    }
    let from = |position| nibbles(&dma.source, &case.source.1, element, position);
    let mut moves = HashMap::new();
    for (position, index) in table(&case.destination.1).into_iter().enumerate() {
        let Some(mut index) = index else { continue };
        index.retain(|name, _| case.axes.iter().any(|(own, _)| **own == **name));
        let to = nibbles(&dma.destination, &case.destination.1, element, position);
        moves.extend(to.zip(from(sources[&index])));
    }
    (moves, sources.into_values().flat_map(from).collect())
}

fn place(medium: Medium, address: u64) -> (usize, u64) {
    match medium {
        Medium::Hbm { chip } => (chip, address),
        Medium::Dm { chip, cluster } => {
            ((chip * 2 + cluster) * 256 + (address >> 22) as usize, address & ((4 << 20) - 1))
        }
        Medium::Spm { .. } => panic!("no tensor lies in SPM"),
    }
}

/// What the commands move, destination to source.
pub fn executed(operation: &DmaOperation) -> Result<HashMap<Nibble, Nibble>, String> {
    let mut moves = HashMap::new();
    for command in operation.commands() {
        for (from, to) in command.iter_packets() {
            for byte in 0..command.stride0 as u64 {
                let (from, to) = (from + byte, to + byte);
                let (unit, from) = place(command.source_medium, from);
                let (to_unit, to) = place(command.destination_medium, to);
                for half in 0..2 {
                    if moves.insert((to_unit, 2 * to + half), (unit, 2 * from + half)).is_some() {
                        return Err(format!("byte {to} of unit {to_unit} is written twice"));
                    }
                }
            }
        }
    }
    Ok(moves)
}

/// Every command runs on the engine of its share.
fn check_engines(operation: &DmaOperation, options: &DmaOptions) -> Result<(), String> {
    for queue in &operation.engines {
        for command in &queue.commands {
            let dm = [Side::Destination, Side::Source]
                .into_iter()
                .find(|&side| matches!(command.medium(side), Medium::Dm { .. }));
            let engine = (queue.engine.cluster, queue.engine.pe);
            let own = match (options.split, dm) {
                (EngineSplit::Single { cluster, pe }, _) => engine == (cluster, pe),
                (EngineSplit::All, None) => true,
                (EngineSplit::All, Some(side)) => {
                    let packets = command.iter_packets();
                    let addresses = packets.map(|(from, to)| if side == Side::Source { from } else { to });
                    let Medium::Dm { cluster, .. } = command.medium(side) else { unreachable!() };
                    addresses.into_iter().all(|address| engine == (cluster, (address >> 28) as usize))
                }
            };
            if !own {
                return Err(format!("engine {} has {command}", queue.engine));
            }
        }
    }
    Ok(())
}

fn check(random: &mut Random, case: &Case, element: ElementType, dma: &Dma) -> Result<Coverage, String> {
    let split = random.pick(&[EngineSplit::All, EngineSplit::All, EngineSplit::Single { cluster: 1, pe: 2 }]);
    let packet_bytes = random.pick(&[4096, 4096, 256, 64]);
    let options = DmaOptions { split, packet_bytes, peel: true };
    let operation = derive(dma, &options).map_err(|error| format!("refused: {error}"))?;
    let shown = |text: String| format!("{text}\n{operation}");
    check_engines(&operation, &options).map_err(shown)?;
    let found = executed(&operation).map_err(shown)?;
    let (wanted, sources) = wanted(case, element, dma);
    if let Some((to, from)) = wanted.iter().find(|(to, from)| found.get(to) != Some(from)) {
        return Err(shown(format!("{to:?} is written from {:?} instead of {from:?}", found.get(to))));
    }
    let extra: Vec<_> = found.iter().filter(|(to, _)| !wanted.contains_key(to)).collect();
    match operation.coverage {
        Coverage::Exact if !extra.is_empty() => return Err(shown(format!("{:?} is padding", extra[0]))),
        Coverage::Exact => {}
        // From padding to padding, inside the destination. A read may run past the end of the source, to whole 8 bytes.
        Coverage::Rounded => {
            let end = |region: &Region| region.address + region.footprint.bytes() as u64;
            let ends = [2 * end(&dma.destination), 2 * end(&dma.source).next_multiple_of(8)];
            if let Some((to, from)) = extra
                .iter()
                .find(|((_, to), from)| sources.contains(from) || *to >= ends[0] || from.1 >= ends[1])
            {
                return Err(shown(format!("{to:?} is written from {from:?}")));
            }
        }
        Coverage::Hull => return Err(shown("given up".to_string())),
    }
    // Totals follow from the loops.
    let time = time(&operation, SameMedium::Sum, &mut |_: &[HbmStream<'_>]| 0);
    let counted: usize =
        operation.commands().map(|command| command.iter_requests(Side::Source).count()).sum();
    if (time.bytes() * 2, time.requests()) != (found.len() as u64, counted as u64) {
        return Err(shown(format!("{} bytes and {} requests", time.bytes(), time.requests())));
    }
    Ok(operation.coverage)
}

fn move_of(case: &Case, element: ElementType, transfer: furiosa_visa_std::command::Transfer) -> Dma {
    let shapes = case.shapes(element);
    let [source, destination] = [(&shapes[0], 64, FillId(1)), (&shapes[1], 4096, FillId(2))]
        .map(|(shape, address, fill)| region(shape, address, fill));
    Dma { source, destination, transfer, pcie: false }
}

/// Single elements move alone, except towards DM from HBM.
#[test]
fn commands_move_what_the_mappings_say() {
    let seen = Cell::new(0);
    for_cases(250, |random| {
        let (way, element) = (random.pick(&WAYS), random.pick(&TYPES));
        let groups = random.chance(30);
        let case = Case::random(random, way, groups);
        let shapes = case.shapes(element);
        let loops = if way == [Memory::Hbm, Memory::Dm] || element == ElementType::I4 {
            derive_dma(&shapes[0], &shapes[1]).map_err(|error| error.to_string())
        } else {
            derived(&shapes)
        };
        let Ok(loops) = loops else { return Ok(()) };
        seen.set(seen.get() + 1);
        let outcome = check(random, &case, element, &move_of(&case, element, loops));
        outcome.map(|_| ()).map_err(|text| format!("{element}: {}\n{text}", case.text()))
    });
    assert!(seen.get() > 120 || std::env::var("VISA_CASES").is_ok(), "{} moves", seen.get());
}

/// Towards DM, with an innermost axis whose packets end in padding, cut or not.
#[test]
fn commands_towards_dm_move_multiples_of_8_bytes() {
    let (rounded, exact) = (Cell::new(0), Cell::new(0));
    for_cases(150, |random| {
        let element = random.pick(&TYPES);
        let mut case = Case::random(random, [Memory::Hbm, Memory::Dm], false);
        let unit = 64 / element.bits();
        let size = random.between(1, 3 * unit);
        let axis = Map::axis("Z", size).pad(size.next_multiple_of(unit));
        case.axes.push(("Z".to_string(), size));
        let cut = random.chance(50);
        for (end, side) in [(&mut case.source.1, 0), (&mut case.destination.1, 1)] {
            let last = end.pop().expect("elements");
            end.push(match (cut, side) {
                (false, _) => Map::sequence(&[last, axis.clone()]),
                (true, 0) => Map::sequence(&[last, axis.stride(unit), axis.modulo(unit)]),
                (true, _) => Map::sequence(&[axis.stride(unit), last, axis.modulo(unit)]),
            });
        }
        let positions = |maps: &[Map]| maps.iter().map(Map::size).product::<usize>();
        if positions(&case.source.1).max(positions(&case.destination.1)) > 8192 {
            return Ok(());
        }
        let shapes = case.shapes(element);
        let Ok(loops) = derive_dma(&shapes[0], &shapes[1]) else { return Ok(()) };
        match check(random, &case, element, &move_of(&case, element, loops)) {
            Ok(Coverage::Exact) => exact.set(exact.get() + 1),
            Ok(_) => rounded.set(rounded.get() + 1),
            Err(text) => return Err(format!("{element}: {}\n{text}", case.text())),
        }
        Ok(())
    });
    let counts = (rounded.get(), exact.get());
    assert!(counts.0 > 20 && counts.1 > 10 || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}

/// The comparison finds commands that are wrong.
#[test]
fn wrong_commands_are_found() {
    let found = Cell::new(0);
    for_cases(40, |random| {
        let case = Case::random(random, [Memory::Dm, Memory::Hbm], false);
        let Ok(mut loops) = derived(&case.shapes(ElementType::Bf16)) else { return Ok(()) };
        let Some(k) = (0..loops.loops.len()).find(|k| loops.loops.at(*k).size > 1) else { return Ok(()) };
        let mut wrong = loops.loops.at(k);
        if random.chance(50) {
            wrong.size -= 1;
        } else {
            wrong.source.elements += 1;
        }
        loops.loops.set(k, wrong);
        let outcome = check(random, &case, ElementType::Bf16, &move_of(&case, ElementType::Bf16, loops));
        found.set(found.get() + usize::from(outcome.is_err()));
        Ok(())
    });
    assert!(found.get() > 20 || std::env::var("VISA_CASES").is_ok(), "{} found", found.get());
}
