//! Moves between memories: the derived loops, executed by the simulated chip, against the reference move, with the
//! padding of both sides full of values that mean nothing.

use crate::bridge::expr;
use crate::machine::{Cell, Machine, region, shape, unpack};
use crate::reference::cases::for_cases;
use crate::reference::engines::dma;
use crate::reference::mapping::{Map, joint_table};
use crate::reference::random::{Axes, Margins, Move, Random, borrowed, random_move, with_unit};
use crate::reference::tensor::{MathTensor, place};
use furiosa_visa_std::command::{FillId, HostBuffer, HostTransfer, Memory, Region, Transfer};
use furiosa_visa_std::engine::dma::{derive_dma, derive_storage_transfer};
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::sequencer::transfer::{Placement, derive_transfer};
use furiosa_visa_std::tensor::Shape;
use std::cell::Cell as Counter;
use std::panic::Location;

/// Element types of tensors at rest.
pub const TYPES: [ElementType; 6] = [
    ElementType::I4,
    ElementType::I8,
    ElementType::Bf16,
    ElementType::F8e5m2,
    ElementType::I32,
    ElementType::F32,
];

/// Every position of the dimensions with a random code.
pub fn garbage(random: &mut Random, element: ElementType, positions: usize) -> Vec<Cell> {
    let mask = u32::MAX >> (32 - element.bits());
    (0..positions).map(|_| Some((random.bits() >> 32) as u32 & mask)).collect()
}

/// A tensor of random codes. Some elements are uninitialised, but not of 4 bits, where two share a flag.
pub fn random_codes(random: &mut Random, element: ElementType, axes: &Axes) -> MathTensor<u32> {
    let mask = u32::MAX >> (32 - element.bits());
    let mut tensor = MathTensor::from_fn(&borrowed(axes), |_, _| (random.bits() >> 32) as u32 & mask);
    if element.bits() > 4 && random.chance(30) {
        tensor.cells.retain(|_, _| random.chance(80));
    }
    tensor
}

/// `cells`, with garbage at padding.
pub fn fill_padding(random: &mut Random, element: ElementType, dims: &[&Map], cells: &[Cell]) -> Vec<Cell> {
    let garbage = garbage(random, element, cells.len());
    let live = joint_table(dims);
    let choose = |k: usize| if live[k].is_some() { cells[k] } else { garbage[k] };
    (0..cells.len()).map(choose).collect()
}

/// Dimensions of a tensor in a memory that has room for them.
pub fn dims(memory: Memory, parts: &[Map]) -> Option<Vec<Map>> {
    let parts = parts.to_vec();
    let full = match (memory, parts.len()) {
        (Memory::Hbm, 1) => [vec![Map::One], parts].concat(),
        (Memory::Hbm, _) => parts,
        (Memory::Dm, 1) => [vec![Map::One, Map::One.pad(2), Map::One], parts].concat(),
        (Memory::Dm, 2) => [vec![Map::One, Map::One], parts].concat(),
        (Memory::Dm, 3) => [vec![Map::One], parts].concat(),
        (Memory::Dm, _) => parts,
        (Memory::Vrf, _) => unreachable!("DMA does not reach the VRF"),
    };
    let limits = match memory {
        Memory::Hbm => [4, usize::MAX, usize::MAX, usize::MAX],
        Memory::Dm => [2, 2, 256, usize::MAX],
        Memory::Vrf => unreachable!("DMA does not reach the VRF"),
    };
    full.iter().zip(limits).all(|(map, limit)| map.size() <= limit).then_some(full)
}

/// A tensor that moves.
pub struct Case {
    /// Memory and dimensions before.
    pub source: (Memory, Vec<Map>),
    /// Memory and dimensions after. They can have axes that the tensor lacks.
    pub destination: (Memory, Vec<Map>),
    /// The axes of the tensor.
    pub axes: Axes,
}

impl Case {
    /// A legal move. For `groups` see [`random_move`].
    pub fn random(random: &mut Random, [from, to]: [Memory; 2], groups: bool) -> Case {
        loop {
            let mut most = |memory| random.between(1, if memory == Memory::Hbm { 2 } else { 4 });
            let counts = [most(from), most(to)];
            let (margins, units) = (random.pick(&Margins::MIXED), random.chance(15));
            let Move { axes, tensor_axes, source, destination } =
                random_move(random, counts, true, groups, margins);
            let [source, destination] = [source, destination].map(|dims| match units {
                true => dims.into_iter().map(|dim| with_unit(random, dim)).collect(),
                false => dims,
            });
            if let (Some(source), Some(destination)) = (dims(from, &source), dims(to, &destination)) {
                let axes = axes[..tensor_axes].to_vec();
                return Case { source: (from, source), destination: (to, destination), axes };
            }
        }
    }

    /// Both ends as the library takes them.
    pub fn shapes(&self, element: ElementType) -> [Shape; 2] {
        [&self.source, &self.destination]
            .map(|(memory, maps)| shape(*memory, element, &maps.iter().collect::<Vec<_>>()))
    }

    /// Both ends in words.
    pub fn text(&self) -> String {
        let show = |maps: &[Map]| maps.iter().map(Map::to_string).collect::<Vec<_>>().join(" ");
        let (from, to) = (&self.source, &self.destination);
        let axes = Map::sequence(&[from.1.clone(), to.1.clone()].concat()).axes();
        format!("{} {} to {} {}, {axes:?}", from.0, show(&from.1), to.0, show(&to.1))
    }
}

/// The loops of a move, whatever the hardware can do.
pub fn derived([source, destination]: &[Shape; 2]) -> Result<Transfer, String> {
    let (a, b) = (source.dimensions(), destination.dimensions());
    let source = Placement { name: source.name(), dimensions: &a[..source.levels()] };
    let destination = Placement { name: destination.name(), dimensions: &b[..destination.levels()] };
    derive_transfer("move", &source, &destination, true)
        .map_err(|error| format!("refused by `{}`: {error}", error.rule()))
}

pub fn compare(dims: &[&Map], found: &[Cell], expected: &[Cell], padding: &[Cell]) -> Result<(), String> {
    for (k, index) in joint_table(dims).into_iter().enumerate() {
        let (wanted, what) = match index {
            Some(index) => (expected[k], format!("{index:?}")),
            None => (padding[k], "padding".to_string()),
        };
        if found[k] != wanted {
            return Err(format!("position {k}, {what}: {:x?} instead of {wanted:x?}", found[k]));
        }
    }
    Ok(())
}

/// Executes the derived loops over memories full of garbage.
fn moved(random: &mut Random, case: &Case, element: ElementType, transfer: &Transfer) -> Result<(), String> {
    let shapes = case.shapes(element);
    let [from, to] = [(&shapes[0], 64, FillId(2)), (&shapes[1], 4096 * 32, FillId(3))]
        .map(|(shape, address, fill)| region(shape, address, fill));
    let [before, after] = [&case.source.1, &case.destination.1].map(|maps| maps.iter().collect::<Vec<_>>());
    let tensor = random_codes(random, element, &case.axes);
    let values = place(&tensor, &before);
    let expected = dma(&before, &values, &after)?;
    let mut machine = Machine::new(true);
    let source = fill_padding(random, element, &before, &values);
    machine.write(&from, FillId(2), &source);
    let old = garbage(random, element, expected.len());
    machine.write(&to, FillId(1), &old);
    machine.dma(from, to, *transfer);
    let found = machine.read(&to);
    compare(&after, &found, &expected, &old)?;
    // The source is as it was, and the destination can be read as the filling that the move has made.
    if machine.read(&from) != source {
        return Err("the source has changed".to_string());
    }
    let copy = Region { address: 1 << 18, fill: FillId(4), ..to };
    let Ok(identity) = derived(&[shapes[1], shapes[1]]) else {
        return Ok(());
    };
    machine.write(&copy, FillId(5), &old);
    machine.dma(to, copy, identity);
    compare(&after, &machine.read(&copy), &expected, &old).map_err(|text| format!("copy: {text}"))
}

/// The ways between memories.
pub const WAYS: [[Memory; 2]; 4] = [
    [Memory::Hbm, Memory::Hbm],
    [Memory::Hbm, Memory::Dm],
    [Memory::Dm, Memory::Hbm],
    [Memory::Dm, Memory::Dm],
];

#[test]
fn moves_keep_the_tensor() {
    for_cases(300, |random| {
        let (way, element) = (random.pick(&WAYS), random.pick(&TYPES));
        let case = Case::random(random, way, false);
        let outcome = derived(&case.shapes(element)).and_then(|loops| moved(random, &case, element, &loops));
        outcome.map_err(|text| format!("{element}: {}\n{text}", case.text()))
    });
}

/// Products that are padded and cut as a whole. Here the algebra may refuse.
#[test]
fn moves_of_groups_keep_the_tensor() {
    let accepted = Counter::new(0);
    for_cases(300, |random| {
        let (way, element) = (random.pick(&WAYS), random.pick(&TYPES));
        let case = Case::random(random, way, true);
        let Ok(transfer) = derived(&case.shapes(element)) else {
            return Ok(());
        };
        accepted.set(accepted.get() + 1);
        moved(random, &case, element, &transfer).map_err(|text| format!("{element}: {}\n{text}", case.text()))
    });
    assert!(accepted.get() > 100 || std::env::var("VISA_CASES").is_ok(), "{} accepted", accepted.get());
}

/// The rules of the hardware only refuse; they do not change the loops.
#[test]
fn hardware_rules_keep_the_loops() {
    let accepted = Counter::new(0);
    for_cases(500, |random| {
        let (way, element) = (random.pick(&WAYS), random.pick(&TYPES));
        let case = Case::random(random, way, false);
        let shapes = case.shapes(element);
        if let Ok(transfer) = derive_dma(&shapes[0], &shapes[1]) {
            accepted.set(accepted.get() + 1);
            if derived(&shapes) != Ok(transfer) {
                return Err(case.text());
            }
        }
        Ok(())
    });
    assert!(accepted.get() > 50 || std::env::var("VISA_CASES").is_ok(), "{} accepted", accepted.get());
}

/// Moves to DM go in units of 8 bytes: what shares one in the destination shares one in the source, at the same bytes, and
/// the tensor in DM has all of it. By positions.
#[test]
fn units_of_moves_to_dm_are_whole() {
    let (accepted, past_the_end, partly) = (Counter::new(0), Counter::new(0), Counter::new(0));
    let count = |counter: &Counter<usize>| counter.set(counter.get() + 1);
    for_cases(1200, |random| {
        let element = random.pick(&TYPES);
        let mut case = Case::random(random, [Memory::Hbm, Memory::Dm], false);
        if random.chance(70) {
            // A short row of its own, or all that there is.
            if random.chance(40) {
                case.source.1[1] = Map::One;
                case.destination.1[3] = Map::One;
                let used = Map::sequence(&case.source.1).axes();
                case.axes.retain(|(name, _)| used.contains_key(name.as_str()));
                let lost = |map: &Map| map.axes().keys().any(|name| !used.contains_key(name));
                if case.destination.1.iter().any(lost) {
                    return Ok(());
                }
            }
            let row = Map::axis("W", random.between(1, 9));
            case.axes.push(("W".to_string(), row.size()));
            let mut padded = || row.pad(random.pick(&[1, 2, 4, 8, 16]).max(row.size()));
            case.source.1[1] = Map::sequence(&[case.source.1[1].clone(), padded()]);
            case.destination.1[3] = Map::sequence(&[case.destination.1[3].clone(), padded()]);
        }
        let shapes = case.shapes(element);
        if derive_dma(&shapes[0], &shapes[1]).is_err() {
            return Ok(());
        }
        count(&accepted);
        let own: Vec<&str> = case.axes.iter().map(|(name, _)| name.as_str()).collect();
        let [before, after] = [&case.source.1, &case.destination.1].map(|maps| {
            (joint_table(&maps.iter().collect::<Vec<_>>()), maps.last().expect("it has some").size())
        });
        let places: std::collections::BTreeMap<_, _> =
            before.0.iter().enumerate().filter_map(|(k, cell)| Some((cell.clone()?, k))).collect();
        let (bits, unit) = (element.bits(), 64);
        let place = |k: usize, size: usize| (k / size, k % size * bits / unit, k % size * bits % unit);
        let mut from: std::collections::BTreeMap<(usize, usize), (usize, usize, usize)> = Default::default();
        for (k, cell) in after.0.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let mut cell = cell.clone();
            cell.retain(|name, _| own.contains(&&**name));
            let Some(&source) = places.get(&cell) else { return Err(format!("nothing at {cell:?}")) };
            let ((there, there_unit, at), (here, here_unit, from_at)) =
                (place(k, after.1), place(source, before.1));
            let known = *from.entry((there, there_unit)).or_insert((here, here_unit, 0));
            if at != from_at
                || (known.0, known.1) != (here, here_unit)
                || (there_unit + 1) * unit > after.1 * bits
            {
                return Err(format!(
                    "{element}: {}\n{cell:?} does not lie in a unit of its own",
                    case.text()
                ));
            }
            from.entry((there, there_unit)).and_modify(|own| own.2 += bits);
        }
        past_the_end.set(
            past_the_end.get() + usize::from(from.values().any(|own| (own.1 + 1) * unit > before.1 * bits)),
        );
        partly.set(partly.get() + usize::from(from.values().any(|own| own.2 < unit)));
        Ok(())
    });
    let counts = [&accepted, &past_the_end, &partly].map(Counter::get);
    let most = counts.iter().zip([100, 20, 60]).all(|(count, least)| *count > least);
    assert!(most || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}

/// A move that loses an element is refused, and the comparison finds loops that are wrong.
#[test]
fn wrong_moves_are_found() {
    let refused = Counter::new(0);
    for_cases(200, |random| {
        let way = random.pick(&WAYS);
        let mut case = Case::random(random, way, false);
        let last = case.destination.1.len() - 1;
        let inside = case.destination.1[last].clone();
        if inside.size() == 1 {
            return Ok(());
        }
        case.destination.1[last] = inside.resize(inside.size() - 1);
        let [before, after] =
            [&case.source.1, &case.destination.1].map(|maps| maps.iter().collect::<Vec<_>>());
        let tensor = random_codes(random, ElementType::F32, &case.axes);
        let legal = dma(&before, &place(&tensor, &before), &after);
        if legal.is_err() && tensor.cells.len() == tensor.axes.values().product::<usize>() {
            refused.set(refused.get() + 1);
            if derived(&case.shapes(ElementType::F32)).is_ok() {
                return Err(format!("{}\naccepted, but {legal:?}", case.text()));
            }
        }
        Ok(())
    });
    assert!(refused.get() > 20 || std::env::var("VISA_CASES").is_ok(), "{} refused", refused.get());
    let broken = Counter::new(0);
    for_cases(60, |random| {
        let case = Case::random(random, [Memory::Hbm, Memory::Hbm], false);
        let Ok(mut transfer) = derived(&case.shapes(ElementType::F32)) else { return Ok(()) };
        let Some(place) = (0..transfer.loops.len()).find(|k| transfer.loops.at(*k).source.elements > 0)
        else {
            return Ok(());
        };
        let mut wrong = transfer.loops.at(place);
        wrong.source.elements += 1;
        transfer.loops.set(place, wrong);
        let found = moved(random, &case, ElementType::F32, &transfer).is_err();
        broken.set(broken.get() + usize::from(found));
        Ok(())
    });
    assert!(broken.get() > 20 || std::env::var("VISA_CASES").is_ok(), "{} found", broken.get());
}

fn host_transfer(host: &Map, hbm: &Shape, upload: bool) -> Result<Transfer, String> {
    derive_storage_transfer("host", expr(host), hbm, upload).map_err(|error| format!("refused: {error}"))
}

/// A host array holds the elements in the order of its mapping, without padding. After an upload every (chip, element) position holds the element at the union of the maps, and a download brings it back.
#[test]
fn host_transfers() {
    for_cases(300, |random| {
        let element = random.pick(&TYPES);
        let case = Case::random(random, [Memory::Hbm, Memory::Hbm], false);
        let mut parts: Vec<Map> = case.axes.iter().map(|(name, size)| Map::axis(name, *size)).collect();
        random.shuffle(&mut parts);
        let packed = Map::sequence(&parts);
        let padded: Vec<Map> =
            parts.iter().map(|axis| axis.margin(random.pick(&[0, 0, 1, 3]), random.below(3))).collect();
        let host = if random.chance(50) { packed.clone() } else { Map::sequence(&padded) };
        let maps: Vec<&Map> = case.destination.1.iter().collect();
        let shape = shape(Memory::Hbm, element, &maps);
        let there = region(&shape, 40, FillId(1));
        let tensor = random_codes(random, element, &case.axes);
        let stored: Vec<Cell> = place(&tensor, &[&packed]);
        let buffer = HostBuffer {
            bytes: crate::machine::pack(element, &stored),
            initialised: Some(stored.iter().map(Option::is_some).collect()),
        };
        let outcome = (|| {
            let mut machine = Machine::new(true);
            let expected = place(&tensor, &maps);
            let old = garbage(random, element, expected.len());
            machine.write(&there, FillId(7), &old);
            let host_elements = stored.len();
            let transfer = host_transfer(&host, &shape, true)?;
            let upload = HostTransfer { region: there, transfer, host_elements };
            machine.system.upload(&upload, &buffer, Location::caller()).map_err(|fault| fault.to_string())?;
            compare(&maps, &machine.read(&there), &expected, &old)?;
            let Ok(transfer) = host_transfer(&host, &shape, false) else { return Ok(()) };
            let download = HostTransfer { region: there, transfer, host_elements };
            let back = machine.system.download(&download, Location::caller());
            let back = unpack(element, &back.map_err(|fault| fault.to_string())?, host_elements);
            if back != stored {
                return Err(format!("downloaded {back:x?} instead of {stored:x?}"));
            }
            Ok(())
        })();
        outcome.map_err(|text: String| format!("{element} {host}: {}\n{text}", case.text()))
    });
}
