//! Tiles: the rule, moves from tiles into tiles of tiles, and commits into them, against the reference.

use crate::bridge::expr;
use crate::machine::{Cell, Machine, encode, library_type, region, same, shape};
use crate::moves::{TYPES, derived, garbage, random_codes};
use crate::program::{Stage, guard};
use crate::reference::cases::for_cases;
use crate::reference::digits::{repad, strip};
use crate::reference::engines::dma;
use crate::reference::mapping::{Coordinates, Map, Name, joint_table};
use crate::reference::numbers::ElementType as Reference;
use crate::reference::random::{Axes, Random, random_axes, random_map};
use crate::reference::tensor::{MathTensor, place};
use crate::reference::tiles::{Tiled, cut, paste};
use furiosa_visa_std::command::{Collect, Fetch, FillId, Memory, Part, Region, TensorUnit};
use furiosa_visa_std::engine::commit::{CommitRequest, derive_commit_view};
use furiosa_visa_std::engine::commit_stages::CommitStages;
use furiosa_visa_std::engine::fetch::{FetchRequest, derive_fetch};
use furiosa_visa_std::lower::commit_sink;
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::tensor::tile::{Dimension, TileConfig, TileRequest, derive_tile};
use std::cell::Cell as Counter;
use std::collections::BTreeSet;

/// A dimension as a list, a tile of it, and what it was cut from.
struct Cut {
    from: Map,
    index: Map,
    len: usize,
    to: Vec<Map>,
}

/// Axes, cut, padded and shuffled.
fn random_parts(random: &mut Random, axes: &Axes) -> Vec<Map> {
    let mut parts = Vec::new();
    for (name, size) in axes {
        let axis = Map::axis(name, *size);
        let divisors: Vec<usize> = (2..*size).filter(|n| size.is_multiple_of(*n)).collect();
        if !divisors.is_empty() && random.chance(50) {
            let n = random.pick(&divisors);
            parts.extend([axis.stride(n), axis.modulo(n)]);
        } else if random.chance(15) {
            // Ragged: the last part of the axis is not full.
            let n = random.pick(&[2, 4]);
            let padded = axis.pad(size.next_multiple_of(n));
            parts.extend([padded.stride(n), padded.modulo(n)]);
        } else {
            parts.push(axis);
        }
    }
    for part in &mut parts {
        if random.chance(15) {
            *part = part.pad(part.size() + random.between(1, 3));
        }
    }
    random.shuffle(&mut parts);
    parts
}

/// A legal tile of a random part of a dimension.
fn random_cut(random: &mut Random, parts: &[Map]) -> Option<Cut> {
    let places: Vec<usize> = (0..parts.len()).filter(|&k| strip(&parts[k]).size() > 1).collect();
    if places.is_empty() {
        return None;
    }
    let place = random.pick(&places);
    let (part, live) = (&parts[place], strip(&parts[place]));
    let divisors: Vec<usize> = (2..live.size())
        .filter(|n| live.size().is_multiple_of(*n) && part.size().is_multiple_of(*n))
        .collect();
    let kept = |random: &mut Random, index: &Map, whole: usize, len: Option<usize>| {
        let len = len.unwrap_or_else(|| random.between(1, strip(index).size()));
        (len, if len == 1 { Map::One.pad(whole) } else { strip(index).resize(len).pad(whole) })
    };
    let one = random.chance(40).then_some(1);
    let (index, len, new) = match random.below(3) {
        0 if !divisors.is_empty() => {
            let n = random.pick(&divisors);
            let (outer, inner) = (part.stride(n), part.modulo(n));
            let (len, kept) = kept(random, &live.stride(n), outer.size(), one);
            (if random.chance(50) { outer } else { live.stride(n) }, len, vec![kept, inner])
        }
        1 if !divisors.is_empty() => {
            let n = random.pick(&divisors);
            let (outer, inner) = (part.stride(n), part.modulo(n));
            let (len, kept) = kept(random, &inner, n, one);
            (inner, len, vec![outer, kept])
        }
        _ => {
            let (len, kept) = kept(random, &live, part.size(), one);
            (if random.chance(50) { part.clone() } else { live }, len, vec![kept])
        }
    };
    let mut to = parts.to_vec();
    to.splice(place..=place, new);
    Some(Cut { from: Map::sequence(parts), index, len, to })
}

fn derive(cut: &Cut, to: &Map) -> Result<TileConfig, String> {
    let request = TileRequest {
        operation: "tile",
        dimension: Dimension::Element,
        index: expr(&cut.index),
        len: cut.len,
        from: expr(&cut.from),
        to: expr(to),
        others: [None; 3],
    };
    derive_tile(&request).map_err(|error| format!("refused by `{}`: {error}", error.rule()))
}

fn text(cut: &Cut, to: &Map) -> String {
    format!("{} of {} from {} as {to}", cut.len, cut.index, cut.from)
}

/// Compares what was accepted with the reference: mapping, starts, span.
fn agree(config: &TileConfig, tiled: &Tiled, cut: &Cut, to: &Map) -> Result<(), String> {
    if !tiled.is_tile(to, cut.len) {
        return Err("accepted, but it is no tile".to_string());
    }
    for start in 0..tiled.size() + 2 {
        let found = config.offset(start).ok();
        if found != tiled.offset(cut.len, start) {
            let expected = tiled.offset(cut.len, start);
            return Err(format!("at {start}: offset {found:?} instead of {expected:?}"));
        }
    }
    let least = tiled.span(cut.len);
    if config.span < least || config.span > cut.from.size() {
        return Err(format!("a span of {} instead of {least}", config.span));
    }
    Ok(())
}

/// Legal tiles, and tiles of tiles, are accepted and start where the reference says.
#[test]
fn legal_tiles_are_accepted() {
    let cases = Counter::new(0);
    for_cases(4000, |random| {
        let count = random.between(1, 3);
        let axes = random_axes(random, count);
        let mut parts = random_parts(random, &axes);
        for _ in 0..random.between(1, 3) {
            let Some(cut) = random_cut(random, &parts) else { break };
            let to = Map::sequence(&cut.to);
            if to.size() > 2000 {
                break;
            }
            let outcome = derive(&cut, &to)
                .and_then(|config| agree(&config, &Tiled::new(&cut.from, &cut.index)?, &cut, &to));
            outcome.map_err(|error| format!("{axes:?}: {}\n{error}", text(&cut, &to)))?;
            cases.set(cases.get() + 1);
            parts = cut.to;
        }
        Ok(())
    });
    assert!(cases.get() > 5000 || std::env::var("VISA_CASES").is_ok(), "{} tiles", cases.get());
}

/// Any index of any mapping: what is accepted is a tile, and starts where the reference says.
#[test]
fn accepted_tiles_are_tiles() {
    let (accepted, refused) = (Counter::new(0), Counter::new(0));
    for_cases(6000, |random| {
        let count = random.between(1, 3);
        let axes = random_axes(random, count);
        let parts = match random.chance(50) {
            true => vec![random_map(random, &axes, 3)],
            false => random_parts(random, &axes),
        };
        let Some(mut cut) = random_cut(random, &parts).filter(|cut| cut.from.size() <= 600) else {
            return Ok(());
        };
        let mut to = Map::sequence(&cut.to);
        match random.below(6) {
            0 => cut.len += 1,
            1 => cut.len = random.below(cut.index.size() + 2),
            2 => to = Map::sequence(&cut.to.iter().map(strip).collect::<Vec<_>>()),
            3 => cut.index = random_map(random, &axes, 2),
            4 => to = cut.from.clone(),
            _ => {}
        }
        match derive(&cut, &to) {
            Err(_) => refused.set(refused.get() + 1),
            Ok(config) => {
                accepted.set(accepted.get() + 1);
                // Where the reference has no digits for an index, no tile can be told.
                let tiled = match Tiled::new(&cut.from, &cut.index) {
                    Ok(tiled) => tiled,
                    Err(why) if why.contains("only a part") => return Ok(()),
                    Err(why) => return Err(format!("{axes:?}: {}\naccepted, but {why}", text(&cut, &to))),
                };
                agree(&config, &tiled, &cut, &to)
                    .map_err(|error| format!("{axes:?}: {}\n{error}", text(&cut, &to)))?;
            }
        }
        Ok(())
    });
    let counts = (accepted.get(), refused.get());
    assert!(counts.0.min(counts.1) > 1000 || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}

/// Positions up to the last one that holds an element.
fn last_live(map: &Map) -> usize {
    map.table().iter().rposition(Option::is_some).map_or(0, |last| last + 1)
}

/// A tensor in a memory, by the parts of its dimensions.
#[derive(Clone)]
struct Tensor {
    memory: Memory,
    dims: Vec<Vec<Map>>,
}

/// A tile of it: its dimensions, and how many positions of each dimension of the tensor come before it.
#[derive(Clone)]
struct Tile {
    dims: Vec<Vec<Map>>,
    before: Vec<usize>,
    span: Option<usize>,
}

fn joined(dims: &[Vec<Map>]) -> Vec<Map> {
    dims.iter().map(|parts| Map::sequence(parts)).collect()
}

fn sizes(dims: &[Map]) -> Vec<usize> {
    dims.iter().map(Map::size).collect()
}

impl Tensor {
    /// Dimensions with these parts inside, and others before it.
    fn new(random: &mut Random, mut parts: Vec<Map>, element: ElementType) -> Option<Tensor> {
        let memory = random.pick(&[Memory::Hbm, Memory::Dm]);
        let limits: &[usize] = if memory == Memory::Hbm { &[4] } else { &[2, 2, 64] };
        let mut dims = Vec::new();
        for limit in limits {
            let fits = |map: &Map| map.size() <= *limit;
            let mut own = Vec::new();
            if let Some(place) = (0..parts.len()).find(|&k| fits(&parts[k]))
                && random.chance(40)
            {
                own.push(parts.remove(place));
            }
            dims.push(own);
        }
        // Whole bytes, for 4 bits.
        if element.bits() < 8 {
            parts.push(Map::One.pad(2));
        }
        dims.push(parts);
        Some(Tensor { memory, dims })
    }

    fn whole(&self) -> Tile {
        Tile { dims: self.dims.clone(), before: vec![0; self.dims.len()], span: None }
    }

    fn region(&self, element: ElementType, tile: &Tile, address: u64, fill: FillId) -> Region {
        let maps = joined(&tile.dims);
        let mut own = region(&shape(self.memory, element, &maps.iter().collect::<Vec<_>>()), address, fill);
        let (inside, outside) = tile.before.split_last().expect("there are dimensions");
        let offset = (inside * element.bits() / 8) as u64;
        let mut units = [0; 3];
        units[..outside.len()].copy_from_slice(outside);
        if let Some(elements) = tile.span {
            own.part = Part { offset, units, elements: Some(elements) };
            own.address += offset;
        }
        own
    }
}

impl Tile {
    /// A tile of the tile, by the library's rule.
    fn cut(&mut self, random: &mut Random, element: ElementType) -> Result<bool, String> {
        let level = random.below(self.dims.len());
        let Some(cut) = random_cut(random, &self.dims[level]) else { return Ok(false) };
        let to = Map::sequence(&cut.to);
        let config = derive(&cut, &to).map_err(|error| format!("{}\n{error}", text(&cut, &to)))?;
        let tiled = Tiled::new(&cut.from, &cut.index)?;
        let last = level + 1 == self.dims.len();
        let legal = |offset: usize| !last || (offset * element.bits()).is_multiple_of(8);
        let starts = (0..tiled.size()).filter(|&s| tiled.offset(cut.len, s).is_some_and(legal));
        let starts: Vec<usize> = starts.collect();
        if starts.is_empty() {
            return Ok(false);
        }
        let start = random.pick(&starts);
        self.before[level] += tiled.offset(cut.len, start).expect("it is legal");
        self.dims[level] = cut.to;
        if last {
            self.span = Some(config.span);
        } else if self.span.is_none() {
            self.span = Some(self.dims.last().map_or(1, |parts| Map::sequence(parts).size()));
        }
        Ok(true)
    }

    /// The parts that hold something, in no dimension.
    fn parts(&self) -> Vec<Map> {
        let all = self.dims.iter().flatten();
        all.filter(|part| strip(part).size() > 1).cloned().collect()
    }
}

fn start(region: &Region) -> isize {
    let [chip, cluster, slice] = region.part.units;
    let unit = if region.memory == Memory::Hbm { chip } else { (chip * 2 + cluster) * 256 + slice };
    unit as isize
}

/// Tiles of tiles move into tiles of tiles: nothing else changes.
#[test]
fn tiles_move_into_tiles() {
    let moved = Counter::new(0);
    for_cases(1500, |random| {
        let element = random.pick(&TYPES);
        let count = random.between(1, 3);
        let axes = random_axes(random, count);
        let parts = random_parts(random, &axes);
        let Some(source) = Tensor::new(random, parts, element) else { return Ok(()) };
        let mut from = source.whole();
        for _ in 0..random.between(1, 2) {
            from.cut(random, element)?;
        }
        // The destination holds the same parts, some with more of their axis, and one more axis.
        let mut parts = from.parts();
        let extra = Map::axis("Z", random.between(1, 3));
        parts.push(extra.clone());
        random.shuffle(&mut parts);
        let Some(mut target) = Tensor::new(random, parts, element) else { return Ok(()) };
        let mut to = target.whole();
        let level = to.dims.iter().position(|own| own.contains(&extra));
        let broadcasts = extra.size() == 1 || random.chance(30);
        if let Some(level) = level.filter(|_| !broadcasts) {
            // One value of the extra axis.
            let parts = &to.dims[level];
            let before: usize = parts.iter().rev().take_while(|own| **own != extra).map(Map::size).product();
            let value = random.below(extra.size());
            let last = level + 1 == to.dims.len();
            if last && !(value * before * element.bits()).is_multiple_of(8) {
                return Ok(());
            }
            let hole = Map::One.pad(extra.size());
            for own in to.dims[level].iter_mut().filter(|own| **own == extra) {
                *own = hole.clone();
            }
            to.before[level] += value * before;
            to.span = Some(last_live(&Map::sequence(to.dims.last().expect("there are dimensions"))));
        }
        let maps = [&source.dims, &from.dims, &target.dims, &to.dims].map(|dims| joined(dims));
        let [whole, part, _, part_there] = maps.each_ref().map(|dims| dims.iter().collect::<Vec<_>>());
        let total: usize = sizes(&maps[2]).iter().product();
        if total > 4000 || sizes(&maps[0]).iter().product::<usize>() > 4000 {
            return Ok(());
        }
        let (regions, shapes) = (
            [(&source, &from, 64, FillId(2)), (&target, &to, 1 << 17, FillId(3))]
                .map(|(tensor, tile, address, fill)| tensor.region(element, tile, address, fill)),
            [(&source, &part), (&target, &part_there)]
                .map(|(tensor, dims)| shape(tensor.memory, element, dims)),
        );
        let Ok(mut transfer) = derived(&shapes) else { return Ok(()) };
        let aligned = |region: &Region| region.address.is_multiple_of(8);
        if (source.memory, target.memory) == (Memory::Hbm, Memory::Dm) && !regions.iter().all(aligned) {
            return Ok(());
        }
        transfer.source_start.units += start(&regions[0]);
        transfer.destination_start.units += start(&regions[1]);
        let tensor = random_codes(random, element, &axes);
        let values = place(&tensor, &whole);
        // Ragged tiles have padding of the tensor, which nobody wrote.
        let moving = dma(&part, &cut(&sizes(&maps[0]), &values, &from.before), &part_there)?;
        let mut machine = Machine::new(true);
        let first = source.region(element, &source.whole(), 64, FillId(2));
        let second = target.region(element, &target.whole(), 1 << 17, FillId(3));
        machine.write(&first, FillId(2), &values);
        let old = garbage(random, element, total);
        machine.write(&second, FillId(3), &old);
        machine.dma(regions[0], regions[1], transfer);
        let mut expected = old.clone();
        let live: Vec<bool> = joint_table(&part_there).iter().map(Option::is_some).collect();
        paste(&sizes(&maps[2]), &mut expected, &to.before, &moving, &live);
        let found = machine.read(&second);
        // Two elements of 4 bits share the flag of a byte.
        let differs = |k: &usize| found[*k] != expected[*k] && (element.bits() > 4 || expected[*k].is_some());
        if let Some(k) = (0..total).find(differs) {
            target.dims = to.dims.clone();
            let show = |maps: &[Map]| maps.iter().map(Map::to_string).collect::<Vec<_>>().join(" ");
            return Err(format!(
                "{element} {axes:?}: {} {} of {} at {:?} to {} {} of {} at {:?}\nposition {k}: {:x?} instead of {:x?}",
                source.memory,
                show(&maps[1]),
                show(&maps[0]),
                from.before,
                target.memory,
                show(&maps[3]),
                show(&maps[2]),
                to.before,
                found[k],
                expected[k]
            ));
        }
        moved.set(moved.get() + 1);
        Ok(())
    });
    assert!(moved.get() > 500 || std::env::var("VISA_CASES").is_ok(), "{} moved", moved.get());
}

/// A stream in the order of memory is committed into a tile of a tensor: its other elements stay.
#[test]
fn commits_into_tiles() {
    let (ran, refused) = (Counter::new(0), Counter::new(0));
    for_cases(600, |random| {
        let element = random.pick(&[Reference::I8, Reference::Bf16, Reference::F32, Reference::I4]);
        let (lanes, unit) = (element.per_flit(), 64 / element.bits());
        let count = random.between(1, 2);
        let mut axes = random_axes(random, count);
        let mut time = Vec::new();
        for (name, size) in &axes {
            let axis = Map::axis(name, *size);
            let divisors: Vec<usize> = (1..=*size).filter(|n| size.is_multiple_of(*n)).collect();
            let n = random.pick(&divisors);
            time.extend([axis.stride(n), axis.modulo(n)]);
        }
        random.shuffle(&mut time);
        let (width, inside) = (random.between(1, lanes), "W".to_string());
        axes.push((inside.clone(), width));
        let packet = Map::axis(&inside, width);
        // Rows are padded to 8 bytes, or what lies behind them is another one's.
        let aligned = random.chance(80);
        let row = if aligned { packet.pad(width.next_multiple_of(unit)) } else { packet.clone() };
        let mut outside = time.clone();
        random.shuffle(&mut outside);
        let extra = Map::axis("Z", random.between(2, 3));
        let at = random.below(outside.len() + 1);
        outside.insert(at, extra.clone());
        outside.push(row);
        let value = random.below(extra.size());
        let before: usize = value * outside[at + 1..].iter().map(Map::size).product::<usize>();
        let whole = Map::sequence(&outside);
        outside[at] = Map::One.pad(extra.size());
        let tile = Map::sequence(&outside);
        // The hole may be steps of padding in the stream.
        if random.chance(30) {
            let place = random.below(time.len() + 1);
            time.insert(place, Map::One.pad(extra.size()));
        }
        let (time, packet) = (Map::sequence(&time), repad(&packet, lanes));
        if time.size() > 200 {
            return Ok(());
        }
        let sub_context = random.chance(30);
        let plan = derive_commit_view(&CommitRequest {
            sub_context,
            element: library_type(element),
            time: expr(&time),
            packet: expr(&packet),
            destination: expr(&tile),
            stages: CommitStages::NONE,
        });
        let told =
            format!("{element:?} {axes:?}: time {time}, packet {packet}, {tile} of {whole} at {before}");
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) if !aligned && ["commit stride", "whole bytes"].contains(&error.rule()) => {
                refused.set(refused.get() + 1);
                return Ok(());
            }
            Err(error) if error.rule() == "entry limit" => return Ok(()),
            Err(error) => return Err(format!("{told}\nrefused by `{}`: {error}", error.rule())),
        };
        let least = (width * element.bits()).div_ceil(64) * 8;
        if plan.commit_in_size != least {
            return Err(format!("{told}\nwrites {} bytes instead of {least}", plan.commit_in_size));
        }
        if !(before * element.bits()).is_multiple_of(64) {
            return Ok(());
        }
        let mut stage = Stage::new(false, &Map::One);
        let memory = Map::sequence(&[time.clone(), packet.clone()]);
        let codes = random_codes(random, library_type(element), &axes);
        let source = stage.put(random, element, &memory, 64 * 1024 + 24, &codes);
        let target = stage.target(element, &whole, 256 * 1024);
        let offset = (before * element.bits() / 8) as u64;
        let dims = stage.dims(&[&tile]).into_iter().cloned().collect::<Vec<_>>();
        let view = shape(Memory::Dm, library_type(element), &dims.iter().collect::<Vec<_>>());
        let view = region(&view, 256 * 1024 + offset, target.fill);
        let view = Region { part: Part { offset, units: [0; 3], elements: Some(last_live(&tile)) }, ..view };
        let request = FetchRequest {
            sub_context,
            ..FetchRequest::new(
                library_type(element),
                library_type(element),
                expr(&memory),
                expr(&time),
                expr(&packet),
            )
        };
        let Ok(fetch) = derive_fetch(&request) else { return Ok(()) };
        let live = guard(&stage.dims(&[&time, &packet]));
        let stream = Fetch::new(source, fetch.config, fetch.time, fetch.packet, library_type(element));
        let unit = TensorUnit {
            sub_context,
            collect: Some(Collect { flits: 1 }),
            ..TensorUnit::new(stream, commit_sink(view, &plan, &live))
        };
        // A single row without padding may end behind the tensor when it is written as whole units: a fault.
        let is_past_the_end = before + least * 8 / element.bits() > whole.size();
        match stage.machine.pass(unit) {
            Ok(()) if is_past_the_end => return Err(format!("{told}\nno fault behind the tensor")),
            Err(error) if is_past_the_end && error.to_string().contains("write outside of the tensor") => {
                return Ok(());
            }
            done => done.map_err(|error| format!("{told}\n{error}"))?,
        }
        let found = stage.result(element, &target).map_err(|error| format!("{told}\n{error}"))?;
        let numbers = codes.cells.iter().map(|(index, code)| (index.clone(), element.decode(*code)));
        let numbers = MathTensor { axes: codes.axes.clone(), cells: numbers.collect() };
        let written = encode(element, &place(&numbers, &[&tile]));
        let poison: Cell = Some(u32::MAX >> (32 - element.bits()));
        let mut expected = vec![poison; whole.size()];
        let live: Vec<bool> = tile.table().iter().map(Option::is_some).collect();
        paste(&[whole.size()], &mut expected, &[before], &written, &live);
        for k in 0..whole.size() {
            let unknown = element.bits() == 4 && expected[k].is_none();
            if !unknown && !same(element, found[k], expected[k]) {
                return Err(format!("{told}\nposition {k}: {:x?} instead of {:x?}", found[k], expected[k]));
            }
        }
        ran.set(ran.get() + 1);
        Ok(())
    });
    let counts = (ran.get(), refused.get());
    assert!(counts.0 > 200 && counts.1 > 5 || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}

/// Whether new mappings say nothing wrong of the positions of a tensor, and why.
fn relabels(before: &[Map], after: &[Map]) -> Result<(), String> {
    if sizes(before) != sizes(after) {
        return Err("other sizes".to_string());
    }
    let [from, to] = [before, after].map(|dims| joint_table(&dims.iter().collect::<Vec<_>>()));
    // An axis of which only the first coordinate is there is none.
    let names = |table: &[Option<Coordinates>]| -> BTreeSet<Name> {
        table.iter().flatten().flat_map(|index| index.keys().cloned()).collect()
    };
    let (old, new) = (names(&from), names(&to));
    let shared: Vec<&Name> = old.intersection(&new).collect();
    for (k, pair) in from.iter().zip(&to).enumerate() {
        match pair {
            (None, None) => {}
            (Some(a), Some(b)) => {
                if shared.iter().any(|name| a.get(name) != b.get(name)) {
                    return Err(format!("position {k} is {a:?} and {b:?}"));
                }
            }
            _ => return Err(format!("position {k} is {pair:?}")),
        }
    }
    Ok(())
}

/// What `relabel` accepts moves no element, and makes none of padding; renamed axes are accepted.
#[test]
fn relabels_move_nothing() {
    use furiosa_visa_std::tensor::relabel::{RelabelDimension, check_relabel};
    let (accepted, refused) = (Counter::new(0), Counter::new(0));
    for_cases(4000, |random| {
        let count = random.between(1, 3);
        let axes = random_axes(random, count);
        let mut parts = random_parts(random, &axes);
        let inside = parts.split_off(random.below(parts.len() + 1));
        let before = [Map::sequence(&parts), Map::sequence(&inside)];
        if sizes(&before).iter().product::<usize>() > 1500 {
            return Ok(());
        }
        let ragged = axes.iter().any(|(name, size)| {
            let cut = |part: &Map| matches!(strip(part), Map::Stride(inner, _) | Map::Modulo(inner, _) if inner.size() > *size);
            parts.iter().chain(&inside).any(|part| cut(part) && part.axes().contains_key(name.as_str()))
        });
        // New names, most of them for each part by itself.
        let mut number = 0;
        let mut renamed = |own: &[Map]| -> Vec<Map> {
            let new = |part: &Map| {
                number += 1;
                let live = strip(part).size();
                Map::axis(&format!("N{number}"), live).pad(part.size())
            };
            own.iter().map(new).collect()
        };
        let mut dims = [parts.clone(), inside.clone()];
        let way = random.below(6);
        let must = !ragged && way < 3;
        match way {
            0 => dims = [renamed(&parts), renamed(&inside)],
            1 => {
                // One of the parts keeps its name.
                let level = random.below(2);
                if !dims[level].is_empty() {
                    let k = random.below(dims[level].len());
                    let own = renamed(&dims[level][k..=k]).remove(0);
                    // Other parts of the same axis stay where they are.
                    dims[level][k] = own;
                }
            }
            2 => {}
            3 => {
                let level = random.below(2);
                random.shuffle(&mut dims[level]);
            }
            4 => {
                let level = random.below(2);
                if let Some(part) = dims[level].first_mut() {
                    *part = strip(part).pad(part.size());
                    *part = Map::axis("Q", part.size());
                }
            }
            _ => {
                let other = random_axes(random, 2);
                dims[1] = vec![random_map(random, &other, 3)];
            }
        }
        let after = dims.map(|own| Map::sequence(&own));
        let one = (Map::One, Map::One);
        let pairs =
            [one.clone(), one, (before[0].clone(), after[0].clone()), (before[1].clone(), after[1].clone())];
        let all: Vec<RelabelDimension> = (pairs.iter().zip(Dimension::ALL))
            .map(|((from, to), dimension)| RelabelDimension { dimension, from: expr(from), to: expr(to) })
            .collect();
        let found = check_relabel(all.as_slice().try_into().expect("four dimensions"));
        let wanted = relabels(&before, &after);
        let told = || format!("{axes:?}: {} {} to {} {}", before[0], before[1], after[0], after[1]);
        match (found, wanted) {
            (Ok(()), Ok(())) => accepted.set(accepted.get() + 1),
            (Err(_), Err(_)) => refused.set(refused.get() + 1),
            (Ok(()), Err(why)) => return Err(format!("{}\naccepted, but {why}", told())),
            (Err(error), Ok(())) if must => return Err(format!("{}\n{error}", told())),
            (Err(_), Ok(())) => {}
        }
        Ok(())
    });
    let counts = (accepted.get(), refused.get());
    assert!(counts.0.min(counts.1) > 400 || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}
