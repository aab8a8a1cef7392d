//! The Transpose Engine: verdicts, matrices and values against the reference, which has the positions alone.

use crate::bridge::expr;
use crate::machine::library_type;
use crate::moves::random_codes;
use crate::mutations::changed;
use crate::program::{Stage, guard};
use crate::reference::cases::for_cases;
use crate::reference::digits::{repad, strip};
use crate::reference::mapping::{Map, Name, is_injective, joint_table};
use crate::reference::numbers::ElementType;
use crate::reference::random::{Axes, Random};
use crate::reference::tensor::place;
use crate::reference::transpose::{Matrices, Rule, cycles, matrices, packet_elements, transpose};
use furiosa_visa_std::PlanError;
use furiosa_visa_std::clock::tensor_unit::transpose_cycles;
use furiosa_visa_std::command::{Fetch, Sink, TensorUnit, Transpose};
use furiosa_visa_std::engine::transpose::{TransposeRequest, derive_transpose};
use furiosa_visa_std::sequencer::{Config, Entry};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// A transpose between two copies of data memory.
#[derive(Clone, Debug)]
struct Case {
    axes: Axes,
    element: ElementType,
    slice: Map,
    time: Map,
    packet: Map,
    out_time: Map,
    out_packet: Map,
}

/// The names of the rules in the library.
fn rule(error: &PlanError) -> Option<Rule> {
    Some(match error.rule() {
        "whole bytes" => Rule::WholeBytes,
        "transpose flit" => Rule::Flit,
        "transpose row bytes" => Rule::RowBytes,
        "transpose rows" => Rule::Rows,
        "transpose columns" => Rule::Columns,
        "transpose packets" => Rule::Packets,
        "transpose out rows" => Rule::OutRows,
        "transpose elements" => Rule::Elements,
        "transpose time" => Rule::Time,
        _ => return None,
    })
}

fn linear(time: usize, packet: usize, step: usize) -> Config {
    let mut config = Config::new(packet);
    config.entries.push(Entry { size: time, stride: step as isize });
    config.entries.push(Entry { size: packet, stride: 1 });
    config
}

impl Case {
    fn text(&self) -> String {
        let Self { axes, element, slice, time, packet, out_time, out_packet } = self;
        format!("{element:?}, {axes:?}\n slices {slice}, {time} {packet} -> {out_time} {out_packet}")
    }

    fn derive(&self) -> Result<Transpose, PlanError> {
        derive_transpose(&TransposeRequest {
            element: library_type(self.element),
            time: expr(&self.time),
            packet: expr(&self.packet),
            out_time: expr(&self.out_time),
            out_packet: expr(&self.out_packet),
        })
    }

    fn reference(&self) -> Result<Vec<Matrices>, Vec<Rule>> {
        matrices(self.element, [&self.time, &self.packet], [&self.out_time, &self.out_packet])
    }

    fn mappings(&mut self) -> [(&'static str, &mut Map); 4] {
        let Self { time, packet, out_time, out_packet, .. } = self;
        [("Time", time), ("Packet", packet), ("OutTime", out_time), ("OutPacket", out_packet)]
    }

    /// The same matrices and cycles, and the same values.
    fn agrees(&self, random: &mut Random, own: &Transpose, legal: &[Matrices]) -> Result<(), String> {
        let found = Matrices {
            in_rows: own.in_rows,
            packets_per_col: own.packets_per_col(),
            in_cols: own.in_cols,
            out_rows: own.out_rows,
            iterations: own.iterations,
        };
        if !legal.contains(&found) {
            return Err(format!("{found:?} instead of {legal:?}"));
        }
        let expected = &found;
        let (found, exact) = (transpose_cycles(own), cycles(self.element, expected));
        if found != exact as u64 {
            return Err(format!("{found} cycles instead of {exact}"));
        }
        if own.out_time() != self.out_time.size() {
            return Err(format!("{} packets leave, for {} time steps", own.out_time(), self.out_time.size()));
        }
        // An axis that stands twice has no meaning.
        match is_injective(&[&self.slice, &self.time, &self.packet]) {
            true => self.execute(random, own, expected),
            false => Ok(()),
        }
    }

    /// Executes the pass: memory, packet by packet, to memory.
    fn execute(&self, random: &mut Random, own: &Transpose, matrices: &Matrices) -> Result<(), String> {
        let element = library_type(self.element);
        let codes = random_codes(random, element, &self.axes);
        let lanes = self.element.per_flit();
        let window = 64 / self.element.bits();
        let kept = repad(&strip(&self.out_packet), window);
        let mut stage = Stage::new(true, &self.slice);
        let memory = Map::sequence(&[self.time.clone(), self.packet.clone()]);
        let target = Map::sequence(&[self.out_time.clone(), kept]);
        let source = stage.put(random, self.element, &memory, 24, &codes);
        let destination = stage.target(self.element, &target, 256 * 1024);
        let (steps, out_steps) = (self.time.size(), self.out_time.size());
        // Several packets at a time, cut into flits by collect.
        let flits = (1..=4usize).rev().filter(|flits| steps.is_multiple_of(*flits));
        let flits = random.pick(&flits.collect::<Vec<_>>());
        let packet = flits * lanes;
        let fetch = Fetch::new(source, linear(steps / flits, packet, packet), steps / flits, packet, element);
        let sink = Sink::Commit {
            destination,
            config: linear(out_steps, window, window),
            commit_size: 8,
            guard: guard(&stage.dims(&[&self.out_time, &self.out_packet])),
        };
        stage.machine.pass(TensorUnit { transpose: Some(*own), ..TensorUnit::new(fetch, sink) })?;
        let found = stage.result(self.element, &destination)?;

        // By the formula, and by the definition of a tensor in a stream.
        let before = place(&codes, &[&self.slice, &self.time, &self.packet]);
        let moved = before.chunks(steps * lanes).flat_map(|slice| transpose(self.element, matrices, slice));
        let moved: Vec<_> = moved.collect();
        let moved = moved.chunks(lanes).flat_map(|packet| &packet[..window]);
        let defined = place(&codes, &[&self.slice, &target]);
        let live = joint_table(&[&self.slice, &target]);
        for (k, (moved, index)) in moved.zip(&live).enumerate() {
            // Two elements of 4 bits share the mark that they were written.
            let unknown = self.element.bits() == 4 && moved.is_none();
            if index.is_some() && !unknown && (found[k] != *moved || found[k] != defined[k]) {
                let (found, defined) = (found[k], defined[k]);
                return Err(format!("position {k}, {index:?}: {found:x?}, not {moved:x?} and {defined:x?}"));
            }
        }
        Ok(())
    }
}

/// Axes with names in the order of the alphabet.
struct Names(Axes);

impl Names {
    fn fresh(&mut self, size: usize) -> Map {
        let name = char::from(b'A' + self.0.len() as u8).to_string();
        self.0.push((name.clone(), size));
        Map::axis(&name, size)
    }
}

fn divisors(size: usize) -> Vec<usize> {
    (1..=size).filter(|n| size.is_multiple_of(*n)).collect()
}

/// The same mapping in other words.
fn respelled(random: &mut Random, map: &Map) -> Map {
    let n = random.pick(&divisors(map.size()));
    match random.below(5) {
        0 if !map.has_lead() => Map::sequence(&[map.stride(n), map.modulo(n)]),
        1 => map.resize(map.size()),
        2 => map.pad(map.size()),
        _ => map.clone(),
    }
}

/// Parts of time: `count` positions, as an axis, two axes, a padded axis, or a part of an axis, the rest of which is pushed
/// to `others`. `ends`: the last positions may be padding.
fn part(random: &mut Random, names: &mut Names, count: usize, others: &mut Vec<Map>, ends: bool) -> Map {
    if count == 1 {
        return Map::One;
    }
    let cut = random.pick(&divisors(count));
    match random.below(6) {
        0 if cut > 1 && cut < count => Map::sequence(&[names.fresh(count / cut), names.fresh(cut)]),
        1 => {
            let more = random.between(2, 3);
            let axis = names.fresh(count * more);
            others.push(axis.modulo(more));
            axis.stride(more)
        }
        2 => {
            let more = random.between(2, 3);
            let axis = names.fresh(count * more);
            others.push(axis.stride(count));
            axis.modulo(count)
        }
        3 if cut > 1 && cut < count => {
            let live = random.between(1, cut - 1);
            Map::sequence(&[names.fresh(count / cut), names.fresh(live).pad(cut)])
        }
        4 if ends && cut > 1 && cut < count => {
            // The end of an axis that its parts do not divide.
            let axis = names.fresh(count - random.between(0, cut - 1)).pad(count);
            Map::sequence(&[axis.stride(cut), axis.modulo(cut)])
        }
        _ => names.fresh(count),
    }
}

const TYPES: [ElementType; 8] = {
    use ElementType::{Bf16, F8E4M3, F8E5M2, F32, I4, I8, I32};
    [I4, I4, I8, F8E4M3, F8E5M2, Bf16, F32, I32]
};

/// A legal transpose.
fn random_case(random: &mut Random) -> Case {
    loop {
        let mut names = Names(Axes::new());
        let element = random.pick(&TYPES);
        let (lanes, taken) = (element.per_flit(), packet_elements(element));
        let most_rows = 64 / element.bits();
        let rows = match random.below(4) {
            0 => most_rows,
            _ if element == ElementType::I4 => 2 * random.between(1, most_rows / 2),
            _ => random.between(1, most_rows),
        };
        let packets = random.pick(if element == ElementType::I4 { &[1, 1, 2] } else { &[1, 1, 2, 4] });
        let mut others = Vec::new();
        // The outermost part of the rows ends with an element: the new packet would not show padding behind it.
        let rows = part(random, &mut names, rows, &mut others, false);
        let ppc = match (packets, random.below(8)) {
            (2.., 0) => Map::One.pad(packets),
            (4, 1) => names.fresh(3).pad(4),
            _ => part(random, &mut names, packets, &mut others, true),
        };
        // What the packet holds, and as how much of it leaves.
        let live = random.between(1, taken);
        let mut of_packet = Vec::new();
        let elems = part(random, &mut names, live, &mut of_packet, true);
        let elems = match random.below(8) {
            // Dead positions before a single element need an axis.
            0 if live < taken && elems.elements() > 1 => elems.margin(1, 0),
            _ => elems,
        };
        let elems = strip(&elems);
        others.extend(of_packet);
        let some = random.between(elems.size(), taken);
        let kept = random.pick(&[elems.size(), elems.size(), taken, some]);
        for _ in 0..random.below(3) {
            let size = random.between(1, 3);
            let axis = names.fresh(size);
            others.push(if random.chance(30) { axis.pad(size + random.between(1, 2)) } else { axis });
        }
        random.shuffle(&mut others);
        let mut slice = Map::One;
        if let Some(last) = others.pop().filter(|_| random.chance(30)) {
            slice = last;
        }
        let outer = Map::sequence(&others);
        let outer = if random.chance(15) { outer.pad(outer.size() + random.between(1, 2)) } else { outer };
        let time = [&outer, &rows, &ppc].map(|map| respelled(random, map));
        let out_time = [&outer, &ppc, &repad(&elems, kept)].map(|map| respelled(random, map));
        let packet = repad(&respelled(random, &elems), lanes);
        let out_packet = repad(&respelled(random, &rows), lanes);
        let (time, out_time) = (Map::sequence(&time), Map::sequence(&out_time));
        if time.size() > 256 || out_time.size() > 512 || slice.size() > 6 {
            continue;
        }
        // An axis, of which a part was left out, is as long as it was.
        let dims = [&slice, &time, &packet];
        let used: Vec<Name> = dims.iter().flat_map(|dim| dim.axes().into_keys()).collect();
        names.0.retain(|(name, _)| used.iter().any(|used| **used == **name));
        return Case { axes: names.0, element, slice, time, packet, out_time, out_packet };
    }
}

#[test]
fn legal_transposes() {
    let seen: RefCell<BTreeMap<String, usize>> = RefCell::default();
    let count = for_cases(1200, |random| {
        let case = random_case(random);
        let outcome = match (case.derive(), case.reference()) {
            (Ok(own), Ok(expected)) => {
                let mut seen = seen.borrow_mut();
                let mut note = |what: String| *seen.entry(what).or_default() += 1;
                note(format!("{:?}", case.element));
                note(format!("{} bits, in_cols {}", case.element.bits(), own.in_cols));
                note(format!("{} bits, in_rows {}", case.element.bits(), own.in_rows));
                if own.out_rows < own.in_cols {
                    note(format!("trimmed, packets_per_col {}", own.packets_per_col()));
                }
                if own.iterations > 1 {
                    note("several matrices".to_string());
                }
                case.agrees(random, &own, &expected)
            }
            (Err(error), Ok(_)) => Err(format!("refused by `{}`: {error}", error.rule())),
            (_, Err(rules)) => Err(format!("the reference refuses it: {rules:?}")),
        };
        outcome.map_err(|text| format!("{}\n{text}", case.text()))
    });
    let seen = seen.into_inner();
    println!("{count} transposes: {seen:#?}");
    if count >= 1200 {
        let share = |name: &str, least: usize| {
            let found = seen.get(name).copied().unwrap_or(0);
            assert!(found >= least, "{name}: {found} of {count}");
        };
        for element in TYPES {
            share(&format!("{element:?}"), 67);
        }
        for (bits, columns) in [(4, 16), (4, 32), (8, 8), (8, 16), (8, 32), (16, 32), (32, 32)] {
            share(&format!("{bits} bits, in_cols {columns}"), 20);
        }
        for (bits, rows) in [(4, 2), (4, 16), (8, 1), (8, 8), (16, 1), (16, 4), (32, 1), (32, 2)] {
            share(&format!("{bits} bits, in_rows {rows}"), 14);
        }
        for packets in [1, 2, 4] {
            share(&format!("trimmed, packets_per_col {packets}"), 34);
        }
        share("several matrices", 334);
    }
}

/// Whether the normal form knows less of a mapping than its positions say: digits that are cut short, and products and blocks
/// that are cut across.
fn is_cut_short(map: &Map) -> bool {
    match map {
        Map::One | Map::Axis { .. } => false,
        Map::Resize(inner, n) => *n < inner.size() || is_cut_short(inner),
        Map::Stride(inner, _) | Map::Modulo(inner, _) => !matches!(**inner, Map::Axis { .. }),
        Map::Padding(inner, _) => is_cut_short(inner),
        Map::Margin(..) => true,
        Map::Pair(left, right) => is_cut_short(left) || is_cut_short(right),
    }
}

#[test]
fn changed_transposes() {
    let seen: RefCell<BTreeMap<String, usize>> = RefCell::default();
    let (alone, otherwise) = (Cell::new(0), Cell::new(0));
    let count = for_cases(1200, |random| {
        let mut case = random_case(random);
        let axes = case.axes.clone();
        let place = random.below(4);
        let (name, map) = case.mappings().into_iter().nth(place).expect("one of four");
        *map = match axes.is_empty() {
            true => map.pad(map.size() + 1),
            false => changed(random, map, &axes),
        };
        if map.validity().is_err() || map.size() > 2048 {
            return Ok(());
        }
        let note = |what: String| *seen.borrow_mut().entry(what).or_default() += 1;
        let outcome = match (case.derive(), case.reference()) {
            (Ok(own), Ok(expected)) => {
                note("accepted".to_string());
                case.agrees(random, &own, &expected)
            }
            (Ok(own), Err(rules)) => Err(format!("accepted as {own:?}, but {rules:?}")),
            (Err(error), Err(rules)) => {
                note(format!("{:?}", rule(&error)));
                match rule(&error) {
                    Some(rule) if rules.contains(&rule) => Ok(()),
                    // A cut across a part of the new time is reported as that part or as the next one.
                    Some(rule) if rule >= Rule::Packets && rules[0] >= Rule::Packets => {
                        otherwise.set(otherwise.get() + 1);
                        Ok(())
                    }
                    _ => Err(format!(
                        "refused by `{}`: {error}, but by the reference for {rules:?}",
                        error.rule()
                    )),
                }
            }
            (Err(error), Ok(expected)) => {
                alone.set(alone.get() + 1);
                match case.mappings().iter().any(|(_, map)| is_cut_short(map)) {
                    true => Ok(()),
                    false => Err(format!("refused by `{}`: {error}, but {expected:?}", error.rule())),
                }
            }
        };
        outcome.map_err(|text| format!("changed {name}\n{}\n{text}", case.text()))
    });
    let seen = seen.into_inner();
    println!("{count} changed: {} refused by the library alone, {seen:#?}", alone.get());
    if count >= 1200 {
        assert!(alone.get() * 20 < count as usize, "{} refused by the library alone", alone.get());
        assert!(otherwise.get() * 50 < count as usize, "{} refused for another part", otherwise.get());
        let rules = [Rule::Flit, Rule::RowBytes, Rule::Rows, Rule::Columns, Rule::Packets, Rule::OutRows];
        for rule in rules.into_iter().chain([Rule::Elements, Rule::Time]) {
            let found = seen.get(&format!("{:?}", Some(rule))).copied().unwrap_or(0);
            assert!(found >= 2, "{rule:?}: {found} of {count}, {seen:?}");
        }
        assert!(seen.get("accepted").is_some_and(|&found| found > 60), "{seen:?}");
    }
}

/// The comparison finds matrices that are wrong.
#[test]
fn a_wrong_transpose_is_found() {
    let found = Cell::new(0);
    for_cases(60, |random| {
        let case = random_case(random);
        let (Ok(own), Ok(expected)) = (case.derive(), case.reference()) else { return Ok(()) };
        // Half of the packets of a row, and twice as many matrices: as many steps before and after.
        if own.packets_per_col() == 1 {
            return Ok(());
        }
        let wrong = Transpose {
            in_cols: own.in_cols / 2,
            out_rows: own.out_rows / 2,
            iterations: own.iterations * 2,
            ..own
        };
        found.set(found.get() + usize::from(case.execute(random, &wrong, &expected[0]).is_err()));
        Ok(())
    });
    assert!(found.get() > 10 || std::env::var("VISA_CASES").is_ok(), "{} found", found.get());
}
