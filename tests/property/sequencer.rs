//! The oracle of sequencer derivation: what is derived reads the right addresses, and for what is
//! refused a search over all lists of entries finds none.
//!
//! The rules (guide: sequencers) ask for an error in four cases in which the search may find loops all the same, over few
//! elements. Each is a rule of its own here, tested on the mappings and not on the answer of the library:
//!
//! | rule | documented as | here |
//! | --- | --- | --- |
//! | axis dropped | a live digit of the buffer that no stream digit reads | [`own_indexes`] differ |
//! | axis repeated | one axis part may not be produced twice | [`repeats`] |
//! | incompatible shapes | boundaries do not divide | [`boundaries_divide`] |
//! | not factorizable | a group is representable only where it is one contiguous run | [`cuts_no_run`], [`cuts_products_elsewhere`] |
//!
//! The last one also answers for the two names before it: the library names the first digit that it cannot read.

use crate::bridge::expr;
use crate::reference::cases::for_cases;
use crate::reference::digits::{Digit, digits, strip};
use crate::reference::mapping::{Coordinates, Map, is_injective, joint_table};
use crate::reference::random::{Margins, Random, random_axes, random_move, random_partition, random_read};
use crate::reference::sequencer::{check_read, dropped_digits, exists_configuration, odometer, wanted};
use furiosa_visa_std::PlanError;
use furiosa_visa_std::mapping::{Pool, factorize};
use furiosa_visa_std::sequencer::{Config, Request, StreamPart, contiguous_run, derive, limited};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// Larger streams are not searched for a configuration that the library has missed.
const SEARCHED: usize = 96;

fn derived(buf: &Map, time: &Map, packet: &Map) -> Result<Config, PlanError> {
    let mut pool = Pool::new();
    let factors = factorize(&mut pool, expr(buf));
    let request = Request {
        buf_expr: Some(expr(buf)),
        ..Request::new("read", &factors, StreamPart::Expr(expr(time)), StreamPart::Expr(expr(packet)))
    };
    Ok(derive(&mut pool, &request)?.config)
}

fn entries(config: &Config) -> Vec<(usize, isize)> {
    config.entries.iter().map(|entry| (entry.size, entry.stride)).collect()
}

fn own_indexes(buf: &Map, dims: &[&Map]) -> BTreeSet<Coordinates> {
    let axes = buf.axes();
    let tables = joint_table(dims).into_iter().flatten();
    tables.map(|index| index.into_iter().filter(|(name, _)| axes.contains_key(name)).collect()).collect()
}

/// An accepted read: right addresses before and after merging, nothing dropped, and the run is a run.
fn check_accepted([buf, time, packet]: [&Map; 3], config: &Config) -> Result<(), String> {
    let list = entries(config);
    if config.packet_size != packet.size() {
        return Err(format!("a packet of {}", config.packet_size));
    }
    check_read(buf, time, packet, &list)?;
    // What a truncation leaves out counts as read.
    if let Some(digit) = dropped_digits(buf, time, packet).first()
        && !truncates(time)
        && !truncates(packet)
    {
        return Err(format!("accepted, but {digit:?} is not read"));
    }
    let (read, run) = (odometer(&list), contiguous_run(config));
    // One element that the innermost loop repeats is a run as well.
    let step = if list.last().is_some_and(|entry| entry.1 == 0) { 0 } else { 1 };
    if !read.len().is_multiple_of(run)
        || read.chunks(run).any(|chunk| chunk.windows(2).any(|pair| pair[1] != pair[0] + step))
    {
        return Err(format!("{run} elements are not contiguous in {config}"));
    }
    match limited("read", *config) {
        Ok(merged) => {
            let same = odometer(&entries(&merged)) == read;
            let longest = merged.entries.iter().map(|entry| entry.size).max().unwrap_or(1);
            if !same || merged.entries.len() > 8 || longest > 65_536 {
                return Err(format!("{config} is merged into {merged}"));
            }
            Ok(())
        }
        Err(error) if error.rule() == "entry limit" => check_unmergeable(&list),
        Err(error) => Err(format!("limits: {error}")),
    }
}

fn truncates(map: &Map) -> bool {
    match map {
        Map::One | Map::Axis { .. } => false,
        Map::Resize(inner, n) => *n < inner.size() || truncates(inner),
        Map::Stride(inner, _) | Map::Modulo(inner, _) | Map::Padding(inner, _) => truncates(inner),
        Map::Margin(_, inner, _) => truncates(inner),
        Map::Pair(left, right) => truncates(left) || truncates(right),
    }
}

/// More than eight entries are left after merging all neighbours that are contiguous.
fn check_unmergeable(list: &[(usize, isize)]) -> Result<(), String> {
    let mut merged: Vec<(usize, isize)> = Vec::new();
    for &(size, stride) in list {
        match merged.last_mut() {
            Some(outer) if outer.1 == size as isize * stride => *outer = (outer.0 * size, stride),
            _ => merged.push((size, stride)),
        }
    }
    if merged.len() > 8 { Ok(()) } else { Err(format!("{list:?} fits: {merged:?}")) }
}

/// A refused read: the reference cannot read it either, or the rules ask for an error.
fn check_refused([buf, time, packet]: [&Map; 3], error: &PlanError) -> Result<(), String> {
    let stream = Map::sequence(&[time.clone(), packet.clone()]);
    let cut_is_no_run = || cuts_no_run(buf, &[time, packet]) || cuts_no_run(&stream, &[buf]);
    let demanded = match error.rule() {
        // "A live digit of the buffer that no stream digit reads": the stream leaves elements out.
        "axis dropped" => own_indexes(buf, &[time, packet]) != own_indexes(buf, &[buf]),
        // "One axis part may not be produced twice": parts that overlap as digits, though truncation may keep them apart.
        "axis repeated" => repeats([time, packet]),
        // "Boundaries do not divide", though few live values may happen to lie on a line.
        "incompatible shapes" => !boundaries_divide(buf, [time, packet]) || cut_is_no_run(),
        // "Representable only where the group is one contiguous run".
        "not factorizable" => cut_is_no_run() || cuts_products_elsewhere(buf, [time, packet]),
        "insufficient input" => cuts_no_run(&stream, &[buf]),
        rule => return Err(format!("an unknown rule `{rule}`: {error}")),
    };
    if demanded || time.size() * packet.size() > SEARCHED || !exists_configuration(buf, time, packet) {
        return Ok(());
    }
    Err(format!("refused by `{}`", error.rule()))
}

/// Whether two digits of the stream are parts of one axis or product and overlap.
fn repeats(stream: [&Map; 2]) -> bool {
    let list: Vec<Digit> = stream.into_iter().flat_map(digits).collect();
    let overlap = |a: &Digit, b: &Digit| {
        a.node == b.node && a.weight < b.weight * b.modulus && b.weight < a.weight * a.modulus
    };
    list.iter().enumerate().any(|(k, a)| list[k + 1..].iter().any(|b| overlap(a, b)))
}

/// Whether some maps cut a product across its digits that is no run of `buf`.
fn cuts_no_run(buf: &Map, maps: &[&Map]) -> bool {
    let cut = maps
        .iter()
        .copied()
        .flat_map(digits)
        .filter(|digit| !matches!(digit.node, Map::One | Map::Axis { .. }));
    cut.into_iter().any(|digit| {
        let Ok(wanted) = wanted(buf, &Map::One, &digit.node) else { return true };
        let step = wanted.get(1).copied().flatten().unwrap_or(0);
        wanted.iter().enumerate().any(|(k, address)| address.is_some_and(|address| address != k * step))
    })
}

/// Whether both sides cut products across their digits, and not at the same places. Such a product is one unit.
fn cuts_products_elsewhere(buf: &Map, stream: [&Map; 2]) -> bool {
    let cuts = |map: &Map| {
        let products = digits(map).into_iter().filter(|digit| matches!(strip(&digit.node), Map::Pair(..)));
        products.map(|digit| digit.weight).collect::<BTreeSet<usize>>()
    };
    let (held, read) = (cuts(buf), stream.into_iter().flat_map(cuts).collect::<BTreeSet<usize>>());
    !held.is_empty() && !read.is_empty() && held != read
}

/// Whether each digit of the stream that crosses a cut of the buffer is made of whole parts there. Otherwise few live
/// values may happen to lie on a line.
fn boundaries_divide(buf: &Map, stream: [&Map; 2]) -> bool {
    let held = digits(&strip(buf));
    let own = |wanted: &Digit| held.iter().filter(|digit| digit.node == wanted.node).collect::<Vec<_>>();
    let divides = |wanted: &Digit, cut: usize| {
        let (parts, crossed) = (cut / wanted.weight.max(1), cut > wanted.weight);
        let inside = crossed && cut < wanted.weight * wanted.valid;
        !inside || (cut.is_multiple_of(wanted.weight) && wanted.extent.is_multiple_of(parts))
    };
    stream.into_iter().flat_map(digits).all(|wanted| {
        own(&wanted).into_iter().all(|digit| {
            let end = digit.weight * digit.modulus;
            let starts_inside = (digit.weight..end).contains(&wanted.weight);
            (!starts_inside || wanted.weight.is_multiple_of(digit.weight))
                && divides(&wanted, digit.weight)
                && divides(&wanted, end)
        })
    })
}

/// Which outcomes were seen, by rule.
#[derive(Default)]
struct Seen {
    accepted: Cell<usize>,
    refused: RefCell<BTreeMap<&'static str, usize>>,
}

impl Seen {
    fn check(&self, maps: [&Map; 3]) -> Result<(), String> {
        let [buf, time, packet] = maps;
        let outcome = match derived(buf, time, packet) {
            Ok(config) => {
                self.accepted.set(self.accepted.get() + 1);
                check_accepted(maps, &config).map_err(|text| format!("{text}, entries {config}"))
            }
            Err(error) => {
                *self.refused.borrow_mut().entry(error.rule()).or_default() += 1;
                check_refused(maps, &error)
            }
        };
        outcome.map_err(|text| {
            let axes = Map::sequence(&[buf.clone(), time.clone(), packet.clone()]).axes();
            format!("Buf {buf}, Time {time}, Packet {packet}, {axes:?}\n{text}")
        })
    }

    fn report(&self, least: usize) {
        let (accepted, refused) = (self.accepted.get(), self.refused.borrow());
        println!("accepted {accepted}, refused {refused:?}");
        let all = accepted + refused.values().sum::<usize>();
        assert!(all < 1000 || accepted >= least, "{accepted} of {all} accepted, refused {refused:?}");
    }
}

#[test]
fn random_reads() {
    let seen = Seen::default();
    for_cases(3000, |random| {
        let count = random.between(1, 4);
        let (_, [buf, time, packet]) = random_read(random, count);
        seen.check([&buf, &time, &packet])
    });
    seen.report(400);
}

/// Streams whose axes are cut where the buffer cuts them, with padding, broadcast and reordering.
#[test]
fn reads_with_common_cuts() {
    let seen = Seen::default();
    for_cases(3000, |random| {
        let groups = random.chance(30);
        let case = random_move(random, [1, 2], true, groups, Margins::None);
        let [buf, time, packet] = [&case.source[0], &case.destination[0], &case.destination[1]];
        if buf.size() > 512 || time.size() * packet.size() > 512 {
            return Ok(());
        }
        seen.check([buf, time, packet])
    });
    seen.report(1500);
}

/// Cuts one of the parts of a list, or pads it.
fn disturb(random: &mut Random, map: &Map) -> Map {
    if let Map::Pair(left, right) = map {
        return if random.chance(50) {
            Map::Pair(Box::new(disturb(random, left)), right.clone())
        } else {
            Map::Pair(left.clone(), Box::new(disturb(random, right)))
        };
    }
    let size = map.size();
    match random.below(4) {
        0 => map.pad(size + random.between(1, 3)),
        1 => map.pad(size.next_multiple_of(random.pick(&[2, 4, 8]))),
        _ => map.resize(random.between(1, size)),
    }
}

/// Truncated, padded and mixed digits, on both sides.
#[test]
fn disturbed_reads() {
    let seen = Seen::default();
    for_cases(2500, |random| {
        let case = random_move(random, [1, 2], true, false, Margins::None);
        let [mut buf, mut time, mut packet] =
            [case.source[0].clone(), case.destination[0].clone(), case.destination[1].clone()];
        for _ in 0..random.between(1, 2) {
            match random.below(5) {
                0 => buf = disturb(random, &buf),
                1 | 2 => time = disturb(random, &time),
                _ => packet = disturb(random, &packet),
            }
        }
        let large = buf.size() > 512 || time.size() * packet.size() > 512;
        if large || !is_injective(&[&time, &packet]) {
            return Ok(());
        }
        seen.check([&buf, &time, &packet])
    });
    seen.report(800);
}

/// Reads in the order of the buffer, in which the product of some axes is padded or cut as a whole.
#[test]
fn groups() {
    let seen = Seen::default();
    for_cases(1500, |random| {
        let count = random.between(2, 3);
        let axes = random_axes(random, count);
        let parts: Vec<Map> = axes.iter().map(|(name, size)| Map::axis(name, *size)).collect();
        let all = Map::sequence(&parts);
        let total = all.size();
        if total > 256 {
            return Ok(());
        }
        let buf = match random.below(3) {
            0 => all.clone(),
            1 => all.pad(total + random.below(5)),
            _ => Map::sequence(&random_partition(random, &axes, 1, true, Margins::None)),
        };
        let cut = random.pick(&[2, 3, 4, 6, 8]);
        let whole = all.pad(total.next_multiple_of(cut));
        let (time, packet) = match random.below(3) {
            0 => (whole.stride(cut), whole.modulo(cut)),
            1 => (whole.modulo(cut), whole.stride(cut)),
            _ => (Map::One, whole),
        };
        seen.check([&buf, &time, &packet])
    });
    seen.report(300);
}

/// Digits that are read as the axis that they make up, and padding that evens out the last part.
#[test]
fn parts_that_the_stream_cuts_elsewhere() {
    let entries = |size: usize, maps: [&str; 3]| {
        let [buf, time, packet] = maps.map(|text| Map::parse(text, &[("A", size)]));
        derived(&buf, &time, &packet).expect("readable").to_string()
    };
    assert_eq!(entries(12, ["A % 3, A / 3", "A / 4, A % 4", "1"]), "[4 : 1, 3 : 4] : 1");
    assert_eq!(entries(6, ["A % 3, A / 3", "1", "A / 2, A % 2"]), "[2 : 1, 3 : 2] : 6");
    assert_eq!(entries(3, ["A # 4 % 2, A # 4 / 2", "1", "A # 4"]), "[2 : 1, 2 : 2] : 4");
    assert_eq!(entries(5, ["A # 6 % 2, A # 6 / 2", "1", "A # 6"]), "[3 : 1, 2 : 3] : 6");
    assert_eq!(entries(4, ["A = 2", "1", "A % 2"]), "[2 : 1] : 2");
}

/// Streams with padding inside a digit, and products inside products: what looks like a run or a broadcast is none.
#[test]
fn products_that_look_like_others() {
    type Case = ([(&'static str, usize); 4], [&'static str; 3]);
    const CASES: [Case; 9] = [
        ([("A", 7), ("B", 4), ("C", 16), ("D", 1)], ["[A, C, B] % 32 = 5", "[C / 8 # 4, C % 8, B] = 5", "A"]),
        (
            [("A", 8), ("B", 3), ("C", 2), ("D", 9)],
            ["[[A, C, B], D # 16] % 4", "[[B, A] / 8, [C, D] # 20 / 4] = 1", "[B, A] % 8, [C, D] # 20 % 4"],
        ),
        (
            [("A", 15), ("B", 4), ("C", 1), ("D", 1)],
            ["[A = 15, B # 16] / 120", "[A, B / 2] = 23", "B % 2 # 3"],
        ),
        (
            [("A", 3), ("B", 4), ("C", 1), ("D", 1)],
            ["B, A # 4 / 2, A # 4 % 2", "[B # 8 % 4, B # 8 / 4 # 4] = 14", "A # 4"],
        ),
        (
            [("A", 4), ("B", 2), ("C", 9), ("D", 6)],
            ["[D, [A, C], B] % 4 = 5", "[[A, C] / 2, D # 7] = 17", "B, [A, C] % 2"],
        ),
        (
            [("A", 6), ("B", 3), ("C", 2), ("D", 1)],
            ["[C, A, B] # 36 % 12 = 7", "A # 8 = 4", "C # 8 / 8, C # 8 % 8, B # 5"],
        ),
        (
            [("A", 7), ("B", 15), ("C", 1), ("D", 8)],
            ["[C, B] / 15 / 1, A / 7, D # 16", "[C, B, [D, A] / 4] = 33", "[D, A] % 4 # 6"],
        ),
        ([("A", 6), ("B", 9), ("C", 1), ("D", 1)], ["[B # 12, A = 5] = 44", "B = 8", "A"]),
        (
            [("A", 4), ("B", 6), ("C", 1), ("D", 1)],
            ["[A = 5, B # 10] % 5", "A # 8 % 8, B % 2", "A # 8 / 8, B / 2 # 4"],
        ),
    ];
    let seen = Seen::default();
    for (axes, maps) in CASES {
        let [buf, time, packet] = maps.map(|text| Map::parse(text, &axes));
        assert_eq!(seen.check([&buf, &time, &packet]), Ok(()));
    }
}

/// The same mapping with one of its members in two parts.
fn respelled(random: &mut Random, map: &Map) -> Map {
    if let Map::Pair(left, right) = map {
        return if random.chance(50) {
            Map::Pair(Box::new(respelled(random, left)), right.clone())
        } else {
            Map::Pair(left.clone(), Box::new(respelled(random, right)))
        };
    }
    let divisors: Vec<usize> = (1..=map.size()).filter(|n| map.size().is_multiple_of(*n)).collect();
    let n = random.pick(&divisors);
    Map::Pair(Box::new(map.stride(n)), Box::new(map.modulo(n)))
}

/// Equivalent mappings give the same loops, or the same refusal. These cases are too small for the other rule: that
/// members are loops of their own where they are more than the entries of the hardware.
#[test]
fn spellings_do_not_count() {
    let same = Cell::new(0);
    for_cases(3000, |random| {
        let groups = random.chance(20);
        let case = random_move(random, [1, 2], true, groups, Margins::None);
        let [buf, time, packet] = [&case.source[0], &case.destination[0], &case.destination[1]];
        if buf.size() > 512 || time.size() * packet.size() > 512 {
            return Ok(());
        }
        let mut other = [buf.clone(), time.clone(), packet.clone()];
        let parts = if random.chance(20) { 24 } else { random.between(1, 4) };
        for _ in 0..parts {
            let k = random.below(3);
            other[k] = respelled(random, &other[k]);
        }
        let outcomes = [derived(buf, time, packet), derived(&other[0], &other[1], &other[2])];
        let equal = match &outcomes {
            [Ok(one), Ok(two)] if one == two => {
                same.set(same.get() + 1);
                true
            }
            [Err(one), Err(two)] => one.rule() == two.rule(),
            _ => false,
        };
        if equal {
            return Ok(());
        }
        let [other_buf, other_time, other_packet] = &other;
        Err(format!(
            "Buf {buf}, Time {time}, Packet {packet}: {:?}\nBuf {other_buf}, Time {other_time}, Packet {other_packet}: {:?}",
            outcomes[0], outcomes[1]
        ))
    });
    assert!(same.get() >= 1500 || std::env::var("VISA_CASES").is_ok(), "only {} were read", same.get());
}

#[test]
fn the_oracle_finds_wrong_entries() {
    let caught = Cell::new(0);
    for_cases(300, |random| {
        let case = random_move(random, [1, 2], true, false, Margins::None);
        let maps = [&case.source[0], &case.destination[0], &case.destination[1]];
        let [buf, time, packet] = maps;
        let Ok(mut config) = derived(buf, time, packet) else {
            return Ok(());
        };
        // Only an entry whose second value is live somewhere can be seen to be wrong.
        let Some(place) = (0..config.entries.len()).find(|k| config.entries.at(*k).stride != 0) else {
            return Ok(());
        };
        let mut entry = config.entries.at(place);
        entry.stride += 1;
        config.entries.set(place, entry);
        if check_accepted(maps, &config).is_err() {
            caught.set(caught.get() + 1);
        }
        Ok(())
    });
    assert!(caught.get() > 100 || std::env::var("VISA_CASES").is_ok(), "{} caught", caught.get());
}

/// Products that are padded, cut or cut off, in the buffer, in the stream or in both, in cases that random reads meet seldom.
#[test]
fn products_that_are_cut_off() {
    type Case = (&'static [(&'static str, usize)], [&'static str; 3]);
    const CASES: &[Case] = &[
        (&[("A", 2), ("B", 4), ("C", 2)], ["[A, B, C] # 18 % 3", "1", "[C, B] / 8, A, [C, B] % 8"]),
        (&[("A", 3), ("B", 5)], ["[A, B # 7] # 24 % 4, [A, B # 7] # 24 / 4", "A # 4", "B # 6"]),
        (&[("A", 2), ("B", 9), ("C", 8)], ["[A, C] = 15 # 15, B # 12 # 12", "C % 2, B, C / 2, A", "1"]),
        (&[("A", 15), ("B", 8)], ["[A, B] # 120 % 6", "1", "A % 3, A / 3 # 6, B"]),
        (&[("A", 8), ("B", 2), ("C", 2)], ["[A, B, C # 5] / 2", "B # 8 % 8", "A % 2, C, A / 2, B # 8 / 8"]),
        (&[("A", 2), ("B", 5)], ["A, B", "[A, B] # 12 / 4 = 3", "1"]),
        (
            &[("A", 2), ("B", 1), ("C", 4)],
            ["[A, B, C] # 12 / 12, [A, B, C] # 12 % 12 = 6", "A", "B, C # 8 / 8, C # 8 % 8"],
        ),
        (
            &[("A", 6), ("B", 8), ("C", 2)],
            ["[A, B, C] # 100 # 102 = 72", "1", "[A, B, C] # 100 / 5, [A, B, C] # 100 % 5 = 2"],
        ),
        (&[("A", 6), ("B", 9)], ["[A, B] # 54 % 6, [A, B] # 54 / 6", "[A, B] # 54 / 1", "1"]),
        (&[("A", 8), ("B", 2)], ["[A, B # 3] % 2", "[A, B # 3] % 6", "1"]),
        (&[("A", 2), ("B", 2), ("C", 9)], ["[A, B, C # 10] # 40 / 4 = 7", "A", "B # 3, C"]),
        (&[("A", 1), ("B", 6), ("C", 1)], ["[A, B, C # 2] # 12 / 3 = 3", "1", "C, [A, B] / 3, [A, B] % 3"]),
        (&[("A", 1), ("B", 8), ("C", 3)], ["[A, B, C] # 30 / 10 = 2", "[A, B, C] # 30 / 1", "1"]),
        (&[("A", 15), ("B", 2), ("C", 1)], ["[A, B # 2, C # 4] / 8 = 11", "[A, B # 2, C # 4] = 54", "1"]),
        (&[("A", 6), ("B", 3), ("C", 8)], ["[A, B, C] / 2, [A, B, C] % 2 = 2", "[A, B, C] / 3 = 9", "1"]),
        (&[("A", 3), ("B", 2)], ["[A # 4, B # 4] # 18 / 6 = 3", "1", "[A # 4, B # 4] = 2"]),
        (
            &[("A", 2), ("B", 3), ("C", 2)],
            ["[A # 3, B # 5, C # 3] # 48 / 8 = 5", "1", "C # 8 % 8, C # 8 / 8, A, B"],
        ),
        (
            &[("A", 2), ("B", 4)],
            ["[A, B] # 12 % 6, [A, B] # 12 / 6", "[A, B] # 12 / 12, [A, B] # 12 % 12 = 12", "1"],
        ),
        (
            &[("A", 3), ("B", 5), ("C", 2)],
            ["[A, B, C] # 32 = 22", "[A, B, C] # 32 # 36 / 6, [A, B, C] # 32 # 36 % 6 = 5", "1"],
        ),
        (&[("A", 16), ("B", 1), ("C", 3)], ["[A, B # 3, C] # 144 % 6", "1", "[A, B # 3, C] # 144 % 4"]),
        (&[("A", 7), ("B", 2)], ["[A # 10, B] # 24 / 6, [A # 10, B] # 24 % 6 = 5", "[A # 10, B] # 24", "1"]),
        (&[("A", 3), ("B", 9)], ["[A, B] # 32 = 26", "1", "A, B % 3, B / 3 # 5"]),
        (&[("A", 7), ("B", 9)], ["[A # 8, B] # 72 % 2, [A # 8, B] # 72 / 2", "[A # 8, B] # 72 / 1", "1"]),
        (&[("A", 8), ("B", 1), ("C", 3)], ["[A, B # 2, C] # 50 / 5 = 3", "B, A % 4", "A / 4 # 4, C"]),
        (&[("A", 8)], ["[A % 4, A / 4] # 10 = 7", "1", "A / 4, A % 4"]),
        (
            &[("A", 2), ("B", 1)],
            ["[A # 4, B # 2] # 8 # 12 / 6, [A # 4, B # 2] # 8 # 12 % 6 = 3", "A, B", "1"],
        ),
        (
            &[("A", 2), ("B", 8), ("C", 4)],
            ["[A, B # 8, C # 7] # 112 # 114 / 6 = 4", "[A, B # 8, C # 7] # 112 = 47", "1"],
        ),
        (&[("A", 15), ("B", 2)], ["[A # 15, B] # 32 / 8, [A # 15, B] # 32 % 8 = 7", "[A # 15, B] # 32", "1"]),
        (&[("A", 2), ("B", 2)], ["[A, B # 5] # 12 / 3 = 2", "1", "[A, B # 5] % 2"]),
        (
            &[("A", 4), ("B", 4), ("C", 6)],
            [
                "[A # 6, B, C] # 145 # 148 / 4 = 1",
                "[A # 6, B, C] # 145 # 148 / 4, [A # 6, B, C] # 145 # 148 % 4 = 2",
                "1",
            ],
        ),
        (
            &[("A", 2), ("B", 16)],
            [
                "[A, B # 16] # 32 / 2, [A, B # 16] # 32 % 2 = 2",
                "[A, B # 16] # 32 # 36 / 6, [A, B # 16] # 32 # 36 % 6 = 3",
                "1",
            ],
        ),
        (&[("A", 15), ("B", 1)], ["[A, B # 4] / 6 = 9", "1", "[A, B # 4] / 12"]),
    ];
    let seen = Seen::default();
    for (axes, maps) in CASES {
        let [buf, time, packet] = maps.map(|text| Map::parse(text, axes));
        assert_eq!(seen.check([&buf, &time, &packet]), Ok(()));
    }
}

/// The first positions of a product that is itself cut off are not followed: the group is no contiguous run.
#[test]
fn first_positions_of_first_positions_are_refused() {
    let axes = [("A", 8), ("B", 3), ("C", 1)];
    let part = "[[B # 5, A # 10] # 50 # 56 / 8, [B # 5, A # 10] # 50 # 56 % 8 = 5, C # 4]";
    let maps = [format!("[{part} / 10, {part} % 10] = 37"), "[B, C, A] # 25 % 5 = 2".into(), "1".into()];
    let [buf, time, packet] = maps.map(|text| Map::parse(&text, &axes));
    assert_eq!(derived(&buf, &time, &packet).expect_err("is refused").rule(), "not factorizable");
    assert_eq!(Seen::default().check([&buf, &time, &packet]), Ok(()));
}

/// Reads that take one digit of a product at a time although the buffer holds the product in other parts, or only its
/// first positions. No kernel is written so: they are refused.
#[test]
fn products_in_other_parts_are_refused() {
    type Case = (&'static [(&'static str, usize)], [&'static str; 3]);
    const CASES: &[Case] = &[
        (
            &[("A", 9), ("B", 5), ("C", 1)],
            ["[A, B, C] # 48 % 4, [A, B, C] # 48 / 4", "C, A # 16 / 8", "A # 16 % 8, B"],
        ),
        (&[("A", 16), ("B", 3), ("C", 4)], ["[A, B, C] # 192 = 7", "[A, B, C] # 192 % 6", "1"]),
        (&[("A", 7), ("B", 2)], ["[A, B] # 24 % 6", "[A, B] # 24 = 3", "1"]),
        (
            &[("A", 2), ("B", 6), ("C", 3), ("D", 2)],
            ["[[B, D], A, C] % 8 # 12 / 6", "C, B # 8 / 8", "B # 8 % 8, [D, A] # 6 / 2, [D, A] # 6 % 2"],
        ),
        (&[("A", 16), ("B", 15)], ["[A, B] # 240 % 5, [A, B] # 240 / 5", "[B, A] / 4 = 6", "[B, A] % 4"]),
        (&[("A", 12), ("B", 7)], ["A % 3, A / 3, B", "[A / 3 # 5, B # 9] # 63 = 19 = 6", "A % 3 # 4"]),
        (
            &[("A", 6), ("B", 7), ("C", 1)],
            [
                "[A # 8 / 4, B # 10 % 2, B # 10 / 2, A # 8 % 4] # 160 = 70",
                "A # 8 / 4 = 2",
                "A # 8 % 4, B # 10 % 2, C, B # 10 / 2",
            ],
        ),
    ];
    for (axes, maps) in CASES {
        let [buf, time, packet] = maps.map(|text| Map::parse(text, axes));
        let error = derived(&buf, &time, &packet).expect_err("is refused");
        assert_eq!(error.rule(), "not factorizable");
        assert!(error.message().contains("` is no nest of loops over the buffer `m!["), "{error}");
        assert!(
            error.message().contains("; help: pad each axis by itself, or keep the composite contiguous"),
            "{error}"
        );
    }
}
