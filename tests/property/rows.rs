//! Gathers and scatters: derived from random mappings, executed by the simulated chips, against the reference, with the
//! padding of all sides full of values that mean nothing, and with indices that are right and wrong.

use crate::bridge::expr;
use crate::dma_commands::{Nibble, executed, nibbles};
use crate::machine::{Cell, Machine, region, shape};
use crate::moves::{TYPES, compare, dims, fill_padding, garbage};
use crate::reference::cases::for_cases;
use crate::reference::mapping::{Coordinates, Map, joint_table};
use crate::reference::random::{Margins, Move, Random, random_move};
use crate::reference::rows::{Rows, WrongRow};
use furiosa_visa_std::clock::dma::{Coverage, DmaOptions};
use furiosa_visa_std::clock::indexed::indexed_operation;
use furiosa_visa_std::command::{Duplicates, FillId, IndexedCall, IndexedDma, Memory};
use furiosa_visa_std::engine::dma::{check_key, derive_indexed};
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::sequencer::rows::{RowLoops, RowPlacements, derive_rows};
use furiosa_visa_std::sequencer::transfer::Placement;
use std::cell::Cell as Counter;
use std::collections::HashMap;

/// The tensors of a gather or scatter.
#[derive(Debug)]
struct Case {
    gathers: bool,
    /// Chip and element.
    table: Vec<Map>,
    rows: usize,
    index_memory: Memory,
    index: Vec<Map>,
    side: Vec<Map>,
}

fn borrowed(maps: &[Map]) -> Vec<&Map> {
    maps.iter().collect()
}

/// The parts of an axis in some order, cut at `cut`.
fn pieces(random: &mut Random, axis: &Map, cut: usize) -> Vec<Map> {
    let mut parts = if cut > 1 { vec![axis.stride(cut), axis.modulo(cut)] } else { vec![axis.clone()] };
    if random.chance(30) {
        random.shuffle(&mut parts);
    }
    parts
}

fn padded(random: &mut Random, map: Map) -> Map {
    match random.below(6) {
        0 => map.pad(map.size() + random.between(1, 3)),
        1 => map.margin(random.between(1, 3), random.below(3)),
        _ => map,
    }
}

impl Case {
    /// A table whose rows are laid out as any tensor, with the axis `V` somewhere; an index over one or two axes that are
    /// cut and spread in the other side.
    fn random(random: &mut Random) -> Case {
        loop {
            let gathers = random.chance(50);
            let counts = [random.between(1, 2), random.between(1, 4)];
            let (margins, groups) = (random.pick(&Margins::MIXED), random.chance(15));
            let Move { source, destination, .. } = if gathers {
                random_move(random, counts, true, groups, margins)
            } else {
                random_move(random, [counts[1], counts[0]], false, groups, margins)
            };
            let (table, side) = if gathers { (source, destination) } else { (destination, source) };
            let (Some(mut table), Some(mut side)) = (dims(Memory::Hbm, &table), dims(Memory::Dm, &side))
            else {
                continue;
            };
            // A part of a block with dead positions, by itself, holds no element of an index.
            if table[0].cuts_a_block() {
                continue;
            }
            // The rows may have the name of an axis of the index.
            let (rows, name) = (random.between(2, 9), random.pick(&["V", "V", "V", "K0"]));
            let mut inside = Vec::new();
            let index_axes = random.between(1, 2);
            for k in 0..index_axes {
                let size = if k == 0 && name == "K0" { rows } else { random.between(1, 9) };
                let axis = Map::axis(&format!("K{k}"), size);
                let cuts: Vec<usize> =
                    (1..=size).filter(|cut| size.is_multiple_of(*cut) || random.chance(10)).collect();
                let cut = random.pick(&cuts);
                let whole = random.chance(40);
                let of_index = pieces(random, &axis, if whole { 1 } else { cut });
                inside.extend(of_index);
                for piece in pieces(random, &axis, cut) {
                    let piece = padded(random, piece);
                    let into = if random.chance(50) { 2 } else { 3 };
                    let before = side[into].clone();
                    let parts = if random.chance(60) { [piece, before] } else { [before, piece] };
                    side[into] = Map::sequence(&parts);
                }
            }
            if random.chance(50) {
                random.shuffle(&mut inside);
            }
            let index = padded(random, Map::sequence(&inside));
            let rows_axis = padded(random, Map::axis(name, rows));
            let before = table[1].clone();
            let parts = if random.chance(70) { [rows_axis, before] } else { [before, rows_axis] };
            table[1] = Map::sequence(&parts);
            let in_dm = random.chance(40);
            let chip = table[0].clone();
            let index = if in_dm {
                let mut dims = vec![chip, Map::One.pad(2), Map::One, Map::One];
                dims[if random.chance(50) { 2 } else { 3 }] = index;
                dims
            } else {
                vec![chip, index]
            };
            let size = |maps: &[Map]| maps.iter().map(Map::size).product::<usize>();
            let fits = side.iter().zip([4, 2, 256, 4096]).all(|(map, limit)| map.size() <= limit);
            if fits
                && size(&table) <= 4096
                && size(&side) <= 8192
                && index.iter().all(|map| map.size() <= 128)
            {
                let index_memory = if in_dm { Memory::Dm } else { Memory::Hbm };
                return Case { gathers, table, rows, index_memory, index, side };
            }
        }
    }

    fn axis(&self) -> &'static str {
        if self.table[1].axes().contains_key("V") { "V" } else { "K0" }
    }

    fn text(&self) -> String {
        let show = |maps: &[Map]| maps.iter().map(|map| format!("m![{map}]")).collect::<Vec<_>>().join(" ");
        let all = [&self.table[..], &self.index, &self.side].concat();
        let what = if self.gathers { "gather" } else { "scatter" };
        let axes = Map::sequence(&all).axes();
        let (table, index, side) = (show(&self.table), show(&self.index), show(&self.side));
        format!("{what} table {table}, index in {} {index}, side {side}, {axes:?}", self.index_memory)
    }

    /// The loops, whatever the hardware can do.
    fn loops(&self, element: ElementType) -> Result<RowLoops, String> {
        let [table, index, side] = self.shapes(element);
        let (a, b, c) = (table.dimensions(), index.dimensions(), side.dimensions());
        let given = RowPlacements {
            operation: "rows",
            gathers: self.gathers,
            table: Placement { name: table.name(), dimensions: &a[..2] },
            index: Placement { name: index.name(), dimensions: &b[..index.levels()] },
            side: Placement { name: side.name(), dimensions: &c[..4] },
        };
        derive_rows(&given).map_err(|error| format!("{}: {error}", error.rule()))
    }

    fn shapes(&self, element: ElementType) -> [furiosa_visa_std::tensor::Shape; 3] {
        [
            shape(Memory::Hbm, element, &borrowed(&self.table)),
            shape(self.index_memory, ElementType::I32, &borrowed(&self.index)),
            shape(Memory::Dm, element, &borrowed(&self.side)),
        ]
    }

    /// Numbers for the index: mostly rows, seldom what names none.
    fn numbers(&self, random: &mut Random, scale: i64) -> Vec<Option<i64>> {
        let positions: usize = self.index.iter().map(Map::size).product();
        let wrong = random.below(8);
        // Few duplicates, or many.
        let distinct = random.chance(50);
        let mut rows: Vec<i64> = (0..positions.max(self.rows)).map(|k| (k % self.rows) as i64).collect();
        random.shuffle(&mut rows);
        let number = |k: usize| {
            let row = if distinct { rows[k] } else { random.below(self.rows) as i64 };
            let bad = random.chance(20);
            match wrong {
                0 if bad => Some(random.pick(&[
                    -1,
                    -scale,
                    self.rows as i64 * scale,
                    i64::from(i32::MAX),
                    i64::from(i32::MIN),
                ])),
                1 if bad => None,
                2 if bad && scale > 1 => Some(row * scale + 1),
                _ => Some(row * scale),
            }
        };
        (0..positions).map(number).collect()
    }
}

/// What a fault says about the element of the index.
fn names(text: &str, at: &Coordinates, index: &[Map]) -> bool {
    let axes = Map::sequence(index).axes();
    axes.keys().all(|name| {
        let value = at.get(name).copied().unwrap_or(0);
        text.contains(&format!("{name}: {value}"))
    })
}

/// Whether a fault is the one that the reference expects.
fn is_expected(text: &str, wrong: &WrongRow, index: &[Map]) -> bool {
    let (kind, places) = match wrong {
        WrongRow::Unwritten(at) => ("uninitialised element", vec![at]),
        WrongRow::Outside(at) => ("out of bounds", vec![at]),
        WrongRow::BetweenRows(at) => ("misaligned address", vec![at]),
        WrongRow::Twice(a, b) => ("overlapping writes", vec![a, b]),
    };
    text.contains(kind) && places.iter().all(|at| names(text, at, index))
}

/// Three tests, so that they run side by side.
macro_rules! thirds {
    ($($name:ident: $third:literal;)*) => {
        $(#[test]
        fn $name() {
            rows_go_where_the_index_says($third);
        })*
    };
}

thirds! {
    rows_go_where_the_index_says_first: 0;
    rows_go_where_the_index_says_second: 1;
    rows_go_where_the_index_says_third: 2;
}

fn rows_go_where_the_index_says(third: u64) {
    let counter = || Counter::new(0usize);
    let (gathered, scattered, faults, duplicates, commands) =
        (counter(), counter(), counter(), counter(), counter());
    let refused = std::cell::RefCell::new(HashMap::<String, usize>::new());
    let count = |counter: &Counter<usize>| counter.set(counter.get() + 1);
    let cases = for_cases(2_600, |random| {
        let random = &mut Random::new(random.seed * 3 + third);
        let element = random.pick(&TYPES);
        let case = Case::random(random);
        let shown = |text: String| Err(format!("{element} {}\n{text}", case.text()));
        let loops = match case.loops(element) {
            Ok(loops) => loops,
            Err(error) => {
                let rule = error.split(": ").next().unwrap_or_default().to_string();
                *refused.borrow_mut().entry(rule).or_default() += 1;
                return Ok(());
            }
        };
        // 4-bit rows may start in the middle of a byte: the DMA engines refuse them.
        let odd = |n: usize| !(n * element.bits()).is_multiple_of(8);
        let steps = |own: &furiosa_visa_std::command::Transfer| {
            own.loops.iter().any(|own| odd(own.destination.elements) && own.size > 1)
        };
        let all = [&case.table, &case.index, &case.side].map(|maps| borrowed(maps));
        let [table, index, side] = &all;
        let half = element.bits() == 4 && (odd(loops.stride) || steps(&loops.rows));
        let scale = if random.chance(30) && !half && loops.stride == loops.elements {
            (loops.stride * element.bits() / 8) as i64
        } else {
            1
        };
        let numbers = case.numbers(random, scale);
        let rows = Rows { table, axis: (case.axis(), case.rows), index, numbers: &numbers, scale, side };
        if loops.count != case.rows {
            return shown(format!("{} rows instead of {}", loops.count, case.rows));
        }

        let [from_table, from_index, from_side] = case.shapes(element);
        let mut machine = Machine::new(true);
        let place = region(&from_table, 64, FillId(1));
        let index_at = region(
            &from_index,
            if case.index_memory == Memory::Hbm { 1 << 24 } else { 256 << 10 },
            FillId(2),
        );
        let side_at = region(&from_side, 64, FillId(3));
        let size = |maps: &[&Map]| maps.iter().map(|map| map.size()).product::<usize>();
        let mut values = garbage(random, element, size(table));
        let mut others = garbage(random, element, size(side));
        if element.bits() > 4 && random.chance(20) {
            values.iter_mut().chain(&mut others).for_each(|value| {
                if random.chance(10) {
                    *value = None;
                }
            });
        }
        let codes: Vec<Cell> =
            numbers.iter().map(|number| number.map(|number| number as i32 as u32)).collect();
        let codes = fill_padding(random, ElementType::I32, index, &codes);
        machine.write(&place, FillId(1), &values);
        machine.write(&index_at, FillId(2), &codes);
        machine.write(&side_at, FillId(3), &others);

        let last_wins = random.chance(30);
        let call = match (case.gathers, scale > 1) {
            (true, true) => IndexedCall::Gather,
            (true, false) => IndexedCall::GatherRows,
            (false, true) => IndexedCall::Scatter,
            (false, false) => IndexedCall::ScatterRows,
        };
        let (source, destination) = if case.gathers { (place, side_at) } else { (side_at, place) };
        let own = IndexedDma {
            call,
            source,
            destination,
            index: index_at,
            rows: loops.rows,
            payload: loops.payload,
            count: loops.count,
            stride: loops.stride,
            scale: scale as usize,
            duplicates: if last_wins { Duplicates::LastWins } else { Duplicates::Equal },
            list: None,
        };
        let outcome = machine.indexed(own.clone());
        let expected =
            if case.gathers { rows.gather(&values) } else { rows.scatter(&others, &values, last_wins) };
        let (dims, at, old) = if case.gathers { (side, &side_at, &others) } else { (table, &place, &values) };
        match (&expected, &outcome) {
            (Ok(expected), Ok(())) => {
                let found = machine.read(at);
                compare(dims, &found, expected, old).or_else(shown)?;
                count(if case.gathers { &gathered } else { &scattered });
            }
            (Err(wrong), Err(text)) if is_expected(text, wrong, &case.index) => {
                // Nothing has moved.
                if machine.read(at) != *old {
                    return shown(format!("{text}\nbut something has moved"));
                }
                count(if matches!(wrong, WrongRow::Twice(..)) { &duplicates } else { &faults });
                return Ok(());
            }
            _ => return shown(format!("numbers {numbers:?}: expected {expected:?}, found {outcome:?}")),
        }
        // What the engines are told.
        if half || derive_indexed(call, &from_table, &from_index, &from_side).is_err() {
            return Ok(());
        }
        let list: Vec<usize> = rows.list().expect("it is right").into_iter().map(|(.., row)| row).collect();
        let unique = list.iter().collect::<std::collections::HashSet<_>>().len() == list.len();
        if !case.gathers && !unique {
            return Ok(());
        }
        let listed = IndexedDma { list: Some(list.into()), ..own };
        let operation = match indexed_operation(&listed, &DmaOptions::default()) {
            Ok(operation) => operation,
            Err(error) => return shown(format!("no commands: {error}")),
        };
        if operation.coverage != Coverage::Hull {
            let found = executed(&operation).or_else(|text| shown(text).map(|()| HashMap::new()))?;
            for (to, from) in wanted(&case, &rows, &listed, element) {
                if found.get(&to) != Some(&from) {
                    let text = format!("{to:?} from {:?} instead of {from:?}\n{operation}", found.get(&to));
                    return shown(text);
                }
            }
            count(&commands);
        }
        Ok(())
    });
    let counts = [&gathered, &scattered, &faults, &duplicates, &commands].map(Counter::get);
    let refused = refused.into_inner();
    println!("{cases} cases: {counts:?}, refused {refused:?}");
    let enough = counts.iter().zip([536, 230, 115, 77, 230]).all(|(count, least)| *count > least);
    assert!(enough || std::env::var("VISA_CASES").is_ok(), "{counts:?}, refused {refused:?}");
    let few = refused.values().sum::<usize>() < cases as usize / 4;
    assert!(few || std::env::var("VISA_CASES").is_ok(), "refused {refused:?}");
}

/// Where each half of a byte of the result comes from.
fn wanted(case: &Case, rows: &Rows<'_>, own: &IndexedDma, element: ElementType) -> HashMap<Nibble, Nibble> {
    let size = |maps: &[Map]| maps.iter().map(Map::size).product::<usize>();
    let bytes = |region, dims, position| nibbles(region, dims, element, position).collect::<Vec<_>>();
    let pairs: Vec<(usize, usize)> = if case.gathers {
        let positions: Vec<Option<usize>> = (0..size(&case.table)).map(Some).collect();
        let from = rows.gather(&positions).expect("it is right");
        from.into_iter().enumerate().filter_map(|(k, from)| Some((k, from?))).collect()
    } else {
        let positions: Vec<Option<usize>> = (0..size(&case.side)).map(Some).collect();
        let none = vec![None; size(&case.table)];
        let from = rows.scatter(&positions, &none, true).expect("it is right");
        from.into_iter().enumerate().filter_map(|(k, from)| Some((k, from?))).collect()
    };
    let (from, to) = if case.gathers { (&case.table, &case.side) } else { (&case.side, &case.table) };
    pairs
        .into_iter()
        .flat_map(|(k, source)| {
            bytes(&own.destination, to, k).into_iter().zip(bytes(&own.source, from, source))
        })
        .collect()
}

/// A scatter key and an index of the same elements in the same order, and others.
#[test]
fn keys_are_what_the_index_holds() {
    let (same, other) = (Counter::new(0), Counter::new(0));
    for_cases(2000, |random| {
        let axes: Vec<Map> =
            (0..random.between(1, 3)).map(|k| Map::axis(&format!("K{k}"), random.between(2, 6))).collect();
        let mut parts = [axes.clone(), axes];
        if random.chance(40) {
            random.shuffle(&mut parts[1]);
        }
        if random.chance(20) {
            parts[1].pop();
        }
        let [key, index] = parts.map(|parts| Map::sequence(&parts));
        let index = if random.chance(30) { index.pad(index.size() + 2) } else { index };
        // Position k of the key is position k of the index.
        let table = |map: &Map| joint_table(&[map]).into_iter().flatten().collect::<Vec<_>>();
        let expected = table(&key) == table(&index);
        let found = check_key("dma_scatter", expr(&key), expr(&index));
        let counter = if expected { &same } else { &other };
        counter.set(counter.get() + 1);
        if found.is_ok() == expected { Ok(()) } else { Err(format!("m![{key}], m![{index}]: {found:?}")) }
    });
    let counts = [same.get(), other.get()];
    assert!(counts.iter().all(|&count| count > 300) || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}

/// A change of a legal case that one rule refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Change {
    /// The index has an axis that the other side lacks.
    IndexAxis,
    /// The table has an axis more.
    TableAxis,
    /// The table has no axis but those of a row.
    NoRows,
    /// The other side has an axis more: a broadcast.
    SideAxis,
    /// An axis of the index is in the clusters.
    Cluster,
    /// The index holds bytes.
    IndexType,
    /// None.
    Nothing,
}

/// What is refused of tensors that do not fit together, by the rule that they break.
#[test]
fn tensors_that_do_not_fit_are_refused_by_rule() {
    let seen = std::cell::RefCell::new(HashMap::<(Change, bool), usize>::new());
    for_cases(2000, |random| {
        let size = |random: &mut Random| random.between(2, 6);
        let gathers = random.chance(50);
        let [v, g, k, l, z] = ["V", "G", "K", "L", "Z"].map(|name| Map::axis(name, size(random)));
        let run = Map::axis("H", 8 * random.between(1, 3));
        let change = random.pick(&[
            Change::IndexAxis,
            Change::TableAxis,
            Change::NoRows,
            Change::SideAxis,
            Change::Cluster,
            Change::IndexType,
            Change::Nothing,
            Change::Nothing,
        ]);
        let sequence = |random: &mut Random, parts: &[&Map], last: &Map| {
            let mut parts: Vec<Map> = parts.iter().map(|map| (*map).clone()).collect();
            random.shuffle(&mut parts);
            parts.push(last.clone());
            Map::sequence(&parts)
        };
        let table = match change {
            Change::TableAxis => sequence(random, &[&v, &g, &z], &run),
            Change::NoRows => sequence(random, &[&g], &run),
            _ => sequence(random, &[&v, &g], &run),
        };
        let index = match change {
            Change::IndexAxis => sequence(random, &[&k, &z], &l),
            _ => sequence(random, &[&k], &l),
        };
        let side = match change {
            Change::SideAxis => sequence(random, &[&l, &g, &z], &run),
            _ => sequence(random, &[&l, &g], &run),
        };
        let two = Map::axis("K", 2);
        let (cluster, slice, index) = match change {
            Change::Cluster => (two.clone(), Map::One, Map::sequence(&[two, l])),
            _ => (Map::One.pad(2), k, index),
        };
        let element = random.pick(&[ElementType::I8, ElementType::Bf16, ElementType::F32]);
        let held = if change == Change::IndexType { ElementType::F32 } else { ElementType::I32 };
        let [one, slice] = [Map::One, slice];
        let call = match gathers {
            true => random.pick(&[IndexedCall::Gather, IndexedCall::GatherRows]),
            false => random.pick(&[IndexedCall::Scatter, IndexedCall::ScatterRows]),
        };
        let outermost = table.to_string().starts_with("m![V,");
        let given = [
            shape(Memory::Hbm, element, &[&one, &table]),
            shape(Memory::Hbm, held, &[&one, &index]),
            shape(Memory::Dm, element, &[&one, &cluster, &slice, &side]),
        ];
        let expected = match change {
            Change::IndexAxis => Some("index axis"),
            Change::TableAxis => Some("row axes"),
            Change::NoRows => Some("row axis"),
            Change::SideAxis if !gathers => Some("not covered"),
            Change::Cluster if !gathers => Some("scatter key"),
            Change::IndexType => Some("index type"),
            _ if call == IndexedCall::Gather && !outermost => Some("row bytes"),
            _ => None,
        };
        let found = derive_indexed(call, &given[0], &given[1], &given[2]);
        let rule = found.as_ref().err().map(|error| error.rule());
        *seen.borrow_mut().entry((change, gathers)).or_default() += 1;
        if rule == expected {
            Ok(())
        } else {
            let error = found.err().map(|error| error.to_string());
            Err(format!(
                "{call} {change:?}: table m![{table}], index m![{index}], side m![{slice}] m![{side}]: expected {expected:?}, {error:?}"
            ))
        }
    });
    let seen = seen.into_inner();
    let all = seen.len() == 14 && seen.values().all(|&count| count > 30);
    assert!(all || std::env::var("VISA_CASES").is_ok(), "{seen:?}");
}
