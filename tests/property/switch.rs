//! Switches, legal and illegal: verdicts, configurations, routes and values against the positions of the reference.

use crate::bridge::expr;
use crate::machine::{Machine, encode, library_type, region, same, shape};
use crate::moves::{fill_padding, random_codes};
use crate::program::guard;
use crate::reference::cases::for_cases;
use crate::reference::digits::Projection;
use crate::reference::mapping::{Map, joint_table};
use crate::reference::numbers::ElementType;
use crate::reference::random::Random;
use crate::reference::switch::{Mappings, SwitchCase, Switching, disturbed, random_switch};
use crate::reference::tensor::{MathTensor, place};
use crate::reference::union::Union;
use furiosa_visa_std::PlanError;
use furiosa_visa_std::command::{Collect, Fetch, Memory, Switch, TensorUnit, Transpose};
use furiosa_visa_std::engine::collect::{CollectRequest, derive_collect};
use furiosa_visa_std::engine::commit::{CommitRequest, derive_commit};
use furiosa_visa_std::engine::commit_stages::CommitStages;
use furiosa_visa_std::engine::fetch::{FetchRequest, derive_fetch};
use furiosa_visa_std::engine::switch::{
    SwitchConfig, SwitchDerivation, SwitchRequest, derive_switch, derive_switch_to,
};
use furiosa_visa_std::engine::transpose::{TransposeRequest, derive_transpose};
use furiosa_visa_std::lower::commit_sink;
use std::cell::RefCell;
use std::collections::BTreeMap;

fn request(maps: &Mappings) -> SwitchRequest {
    let Mappings { in_slice, in_time, out_slice, out_time } = maps;
    SwitchRequest::new(expr(in_slice), expr(in_time), expr(out_slice), expr(out_time))
}

fn library(config: Switching) -> SwitchConfig {
    match config {
        Switching::Broadcast01 { slice1, slice0, time0 } => {
            SwitchConfig::Broadcast01 { slice1, slice0, time0 }
        }
        Switching::Broadcast1 { slice1, slice0 } => SwitchConfig::Broadcast1 { slice1, slice0 },
        Switching::Transpose { slice1, slice0 } => SwitchConfig::Transpose { slice1, slice0 },
        Switching::InterTranspose { slice1, slice0, time0 } => {
            SwitchConfig::InterTranspose { slice1, slice0, time0 }
        }
        Switching::TransposedBroadcast1 { slice1, slice0 } => {
            SwitchConfig::TransposedBroadcast1 { slice1, slice0 }
        }
        Switching::CustomBroadcast { ring_size } => SwitchConfig::CustomBroadcast { ring_size },
        Switching::Forwarding => SwitchConfig::Forwarding,
    }
}

fn reference(config: SwitchConfig) -> Switching {
    match config {
        SwitchConfig::Broadcast01 { slice1, slice0, time0 } => {
            Switching::Broadcast01 { slice1, slice0, time0 }
        }
        SwitchConfig::Broadcast1 { slice1, slice0 } => Switching::Broadcast1 { slice1, slice0 },
        SwitchConfig::Transpose { slice1, slice0 } => Switching::Transpose { slice1, slice0 },
        SwitchConfig::InterTranspose { slice1, slice0, time0 } => {
            Switching::InterTranspose { slice1, slice0, time0 }
        }
        SwitchConfig::TransposedBroadcast1 { slice1, slice0 } => {
            Switching::TransposedBroadcast1 { slice1, slice0 }
        }
        SwitchConfig::CustomBroadcast { ring_size } => Switching::CustomBroadcast { ring_size },
        SwitchConfig::Forwarding => Switching::Forwarding,
    }
}

/// Where every packet comes from: the formulas of the guide (switch), and for custom routes the elements that lie
/// there.
fn check_routes(maps: &Mappings, config: Switching, switch: &Switch) -> Result<(), String> {
    let Mappings { in_slice, in_time, out_slice, out_time } = maps;
    let (slices, steps) = (out_slice.size(), out_time.size());
    if switch.out_time() != steps {
        return Err(format!("{} steps instead of {steps}", switch.out_time()));
    }
    let custom = matches!(config, Switching::CustomBroadcast { .. });
    let projection = if custom { Some(Projection::onto(&[in_slice, in_time])?) } else { None };
    let (mut out, mut held) = (Union::new(&[out_slice, out_time]), Union::new(&[in_slice, in_time]));
    for (slice, step) in (0..slices).flat_map(|slice| (0..steps).map(move |step| (slice, step))) {
        let found = switch.source(slice, step);
        let right = match &projection {
            None => found == config.source(slice, step),
            Some(projection) => match out.at(&[slice, step]) {
                None => true,
                Some(index) => found.is_some_and(|(from, at)| {
                    from < slices
                        && at < in_time.size()
                        && held.at(&[from, at]) == Some(projection.apply(&index))
                }),
            },
        };
        if !right {
            return Err(format!("slice {slice}, step {step} comes from {found:?}"));
        }
        if let Some((from, _)) = found
            && from / switch.ring_size != slice / switch.ring_size
        {
            return Err(format!("slice {slice} takes from slice {from} in rings of {}", switch.ring_size));
        }
    }
    Ok(())
}

/// What a custom switch cannot say although routers could do it.
const STRICTER: [&str; 7] = [
    "switch moved innermost",
    "switch ring size",
    "switch custom new axes",
    "switch tile once",
    "switch tile padded",
    "switch kept whole",
    "switch moved padding",
];

/// Checks one switch. The rule that the library refuses it by.
fn check(case: &SwitchCase, legal: bool) -> Result<Option<&'static str>, String> {
    let (request, config) = (request(&case.maps), library(case.config));
    let expected = case.config.check(&case.maps);
    let found = derive_switch(&request, &config);
    let cheapest = derive_switch_to(&request);
    let rule = match (&found, expected) {
        (Ok(found), Ok(())) => {
            check_routes(&case.maps, case.config, &found.switch)?;
            None
        }
        (Err(error), Err(_)) => Some(error.rule()),
        (Err(error), Ok(()))
            if !legal
                && matches!(config, SwitchConfig::CustomBroadcast { .. })
                && STRICTER.contains(&error.rule()) =>
        {
            Some(error.rule())
        }
        // A group of axes that is cut as a whole is told from its digits.
        (Err(error), Ok(())) if !legal && text(case).contains("] = ") => Some(error.rule()),
        (Err(error), Ok(())) => return Err(format!("refused by `{}`: {error}", error.rule())),
        (Ok(_), Err(rule)) => return Err(format!("accepted, although {rule}")),
    };
    if let Err(error) = &found {
        check_words(error, &config)?;
    }
    match (&found, &cheapest) {
        (Ok(_), Err(error)) => return Err(format!("switch_to finds nothing: {error}")),
        (Ok(own), Ok(other)) if other.switch.ring_size > own.switch.ring_size => {
            return Err(format!("switch_to finds {}, with a larger ring", other.config));
        }
        (_, Ok(other)) => check_found(&case.maps, &request, other)?,
        (Err(_), Err(_)) => {}
    }
    Ok(rule)
}

/// What `switch_to` finds is legal.
fn check_found(maps: &Mappings, request: &SwitchRequest, found: &SwitchDerivation) -> Result<(), String> {
    let config = reference(found.config);
    config.check(maps).map_err(|rule| format!("switch_to finds {}, although {rule}", found.config))?;
    if derive_switch(request, &found.config).as_ref() != Ok(found) {
        return Err(format!("{} gives another switch", found.config));
    }
    check_routes(maps, config, &found.switch)
}

/// A message names the operation, the configuration and the edit.
fn check_words(error: &PlanError, config: &SwitchConfig) -> Result<(), String> {
    let text = error.message();
    let whole = text.starts_with(&format!("switch: `{config}`: ")) && text.contains("; help: ");
    if whole { Ok(()) } else { Err(format!("a message without its parts: {text}")) }
}

fn text(case: &SwitchCase) -> String {
    let Mappings { in_slice, in_time, out_slice, out_time } = &case.maps;
    format!(
        "{:?}\n slice {in_slice} to {out_slice}\n time {in_time} to {out_time}\n {:?}",
        case.config, case.axes
    )
}

/// Slices of a case: few mostly, 256 where it has to be.
fn slices(random: &mut Random) -> usize {
    if random.chance(5) { 256 } else { random.pick(&[4, 8, 8, 8, 8, 16, 16, 16, 16, 32]) }
}

#[test]
fn verdicts_and_routes_are_those_of_the_positions() {
    let rules = RefCell::new(BTreeMap::<String, usize>::new());
    let count = for_cases(6_600, |random| {
        let slices = slices(random);
        let legal = random_switch(random, slices);
        let (case, is_legal) =
            if random.chance(40) { (legal, true) } else { (disturbed(random, &legal), false) };
        let rule = check(&case, is_legal).map_err(|error| format!("{}\n{error}", text(&case)))?;
        if is_legal && let Some(rule) = rule {
            return Err(format!("{}\nrefused by `{rule}`", text(&case)));
        }
        let name = rule.map_or_else(
            || format!("{:?}", case.config).split(' ').next().expect("a name").to_string(),
            str::to_string,
        );
        *rules.borrow_mut().entry(name).or_default() += 1;
        Ok(())
    });
    println!("{count} switches: {:#?}", rules.borrow());
    if count >= 6_600 {
        let rules = rules.borrow();
        let missing: Vec<&str> =
            EXPECTED.into_iter().filter(|name| rules.get(*name).is_none_or(|n| *n < 2)).collect();
        assert!(missing.is_empty(), "hardly ever met: {missing:?} in {rules:?}");
    }
}

/// Variants that are accepted, and rules by which others are refused.
const EXPECTED: [&str; 28] = [
    "Broadcast01",
    "Broadcast1",
    "Transpose",
    "InterTranspose",
    "TransposedBroadcast1",
    "CustomBroadcast",
    "Forwarding",
    "switch forwarded slices",
    "switch forwarded time",
    "switch slice size",
    "switch dimensions",
    "switch slice division",
    "switch time division",
    "switch time size",
    "switch time layout",
    "switch slice2",
    "switch new axes",
    "switch kept digit",
    "switch output time",
    "switch transposed slices",
    "switch inserted time",
    "switch ring power of two",
    "switch custom new axes",
    "switch custom time division",
    "switch moved innermost",
    "switch moved from slice",
    "switch moved order",
    "switch ring size",
];

/// All configurations with the sizes that 16 slices have: none has a smaller ring than the one that is derived.
#[test]
fn no_configuration_is_cheaper_than_the_derived_one() {
    let met = RefCell::new(0);
    for_cases(120, |random| {
        let case = random_switch(random, 16);
        let case = if random.chance(70) { case } else { disturbed(random, &case) };
        let (request, time) = (request(&case.maps), case.maps.in_time.size());
        if case.maps.in_slice.size() != 16 || case.maps.out_slice.size() != 16 {
            return Ok(());
        }
        let mut least: Option<(usize, SwitchConfig)> = None;
        let mut consider = |config: SwitchConfig| {
            if let Ok(found) = derive_switch(&request, &config)
                && least.is_none_or(|(ring, _)| found.switch.ring_size < ring)
            {
                least = Some((found.switch.ring_size, config));
            }
        };
        for (k, j) in (0..=4).flat_map(|k| (0..=4 - k).map(move |j| (k, j))) {
            let (slice1, slice0) = (1 << k, 1 << j);
            consider(SwitchConfig::Broadcast1 { slice1, slice0 });
            consider(SwitchConfig::Transpose { slice1, slice0 });
            consider(SwitchConfig::TransposedBroadcast1 { slice1, slice0 });
            for time0 in (1..=time).filter(|time0| time.is_multiple_of(*time0)) {
                consider(SwitchConfig::Broadcast01 { slice1, slice0, time0 });
            }
        }
        (0..=4).for_each(|k| consider(SwitchConfig::CustomBroadcast { ring_size: 1 << k }));
        *met.borrow_mut() += usize::from(least.is_some());
        match (least, derive_switch_to(&request)) {
            (None, Err(_)) => Ok(()),
            (Some((ring, _)), Ok(found)) if found.switch.ring_size == ring => Ok(()),
            (least, found) => {
                Err(format!("{}\n{least:?}, but {:?}", text(&case), found.map(|own| own.config)))
            }
        }
    });
    assert!(*met.borrow() > 60 || std::env::var("VISA_CASES").is_ok(), "{} have one", met.borrow());
}

/// Takes the innermost steps of a stream to its packets: the matrices, the time that leaves, and the rows.
fn random_transpose(
    random: &mut Random,
    element: ElementType,
    (time, live, flit): (&Map, &Map, &Map),
) -> Option<(Transpose, Map, Map)> {
    let fits = |rows: &usize| {
        time.size().is_multiple_of(*rows)
            && rows * element.bits() <= 64
            && (rows * element.bits()).is_multiple_of(8)
    };
    let rows: Vec<usize> = [1, 2, 4, 8, 16].into_iter().filter(fits).collect();
    let count = if rows.is_empty() { return None } else { random.pick(&rows) };
    let rows = time.modulo(count);
    let out_time = Map::sequence(&[time.stride(count), live.clone()]);
    let request = TransposeRequest {
        element: library_type(element),
        time: expr(time),
        packet: expr(flit),
        out_time: expr(&out_time),
        out_packet: expr(&rows.pad(element.per_flit())),
    };
    derive_transpose(&request).ok().map(|own| (own, out_time, rows))
}

/// A stream through a switch, and now and then through a transpose behind it, from data memory to data memory. What it
/// went through: nothing, the switch, both.
fn run(random: &mut Random, case: &SwitchCase, switch: Switch) -> Result<usize, String> {
    let Mappings { in_slice, in_time, out_slice, out_time } = &case.maps;
    let stored = random.pick(&[ElementType::I4, ElementType::I8, ElementType::Bf16, ElementType::F32]);
    let lanes = random.pick(&[64, 128, 256]) / stored.bits();
    let transposes = random.chance(50);
    // Elements that the Transpose Engine takes of a packet.
    let taken = if stored.bits() == 4 { 16 } else { 8 };
    let live = random.between(1, if transposes { lanes.min(taken) } else { lanes });
    let mut axes = case.axes.clone();
    axes.push(("P".to_string(), live));
    let packet = if live == lanes { Map::axis("P", live) } else { Map::axis("P", live).pad(lanes) };
    let flit = if lanes == stored.per_flit() { packet.clone() } else { packet.pad(stored.per_flit()) };
    let memory = Map::sequence(&[in_time.clone(), packet.clone()]);
    let transpose = (transposes)
        .then(|| random_transpose(random, stored, (out_time, &Map::axis("P", live), &flit)))
        .flatten();
    let (last_time, last_flit, kept) = match &transpose {
        Some((_, time, rows)) => {
            let window =
                if rows.size() * stored.bits() == 64 { rows.clone() } else { rows.pad(64 / stored.bits()) };
            (time.clone(), rows.pad(stored.per_flit()), window)
        }
        None => (out_time.clone(), flit.clone(), packet.clone()),
    };
    let written = Map::sequence(&[last_time.clone(), kept]);
    let held: Vec<_> = axes
        .iter()
        .filter(|(name, _)| {
            [in_slice, in_time, &packet].iter().any(|map| map.axes().contains_key(name.as_str()))
        })
        .cloned()
        .collect();
    let element = library_type(stored);
    // Fetch and commit have limits of their own.
    let request = FetchRequest::new(element, element, expr(&memory), expr(in_time), expr(&packet));
    let Ok(fetch) = derive_fetch(&request) else { return Ok(0) };
    let collect = derive_collect(&CollectRequest {
        element,
        time: expr(out_time),
        packet: expr(&packet),
        out_time: expr(out_time),
        out_packet: expr(&flit),
    })
    .map_err(|error| error.to_string())?;
    let Ok(commit) = derive_commit(&CommitRequest {
        sub_context: false,
        element,
        time: expr(&last_time),
        packet: expr(&last_flit),
        destination: expr(&written),
        stages: CommitStages::NONE,
    }) else {
        return Ok(0);
    };
    let codes: MathTensor<u32> = random_codes(random, element, &held);
    let mut machine = Machine::new(false);
    let (chip, cluster) = (Map::One, Map::One.pad(2));
    let place_in = |machine: &mut Machine, slice: &Map, inside: &Map, address: u64| {
        let fill = machine.system.next_fill();
        region(&shape(Memory::Dm, element, &[&chip, &cluster, slice, inside]), address, fill)
    };
    let source = place_in(&mut machine, in_slice, &memory, 64 * 1024);
    let target = place_in(&mut machine, out_slice, &written, 256 * 1024);
    let first_cluster = |mut own: furiosa_visa_std::command::Region| {
        own.footprint.clusters = 1;
        own
    };
    let cells = fill_padding(random, element, &[in_slice, &memory], &place(&codes, &[in_slice, &memory]));
    machine.write(&first_cluster(source), source.fill, &cells);
    let live = guard(&[&chip, &cluster, out_slice, &last_time, &last_flit]);
    let unit = TensorUnit {
        sub_context: random.chance(20) && fetch.mask.is_none() && transpose.is_none(),
        switch: Some(switch),
        transpose: transpose.as_ref().map(|own| own.0),
        collect: Some(Collect { flits: collect.flits }),
        ..TensorUnit::new(
            Fetch { mask: fetch.mask, ..Fetch::new(source, fetch.config, fetch.time, fetch.packet, element) },
            commit_sink(target, &commit, &live),
        )
    };
    machine.pass(unit)?;
    let found = machine.read(&first_cluster(target));
    let numbers = MathTensor {
        axes: codes.axes.clone(),
        cells: codes.cells.iter().map(|(index, code)| (index.clone(), stored.decode(*code))).collect(),
    };
    let expected = encode(stored, &place(&numbers, &[out_slice, &written]));
    for (k, index) in joint_table(&[out_slice, &written]).into_iter().enumerate() {
        let unknown = stored.bits() == 4 && expected[k].is_none();
        if index.is_some() && !unknown && !same(stored, found[k], expected[k]) {
            let (found, expected) = (found[k], expected[k]);
            return Err(format!("{stored:?}, position {k}, {index:?}: {found:x?} instead of {expected:x?}"));
        }
    }
    Ok(1 + usize::from(transpose.is_some()))
}

#[test]
fn streams_through_switches_hold_the_tensor() {
    let ran = RefCell::new(BTreeMap::<&'static str, usize>::new());
    let transposed = RefCell::new(0);
    for_cases(35, |random| {
        let case = random_switch(random, 256);
        if case.maps.out_time.size() > 512 || case.maps.in_time.size() > 64 {
            return Ok(());
        }
        let found = derive_switch(&request(&case.maps), &library(case.config));
        let found = found.map_err(|error| format!("{}\n{error}", text(&case)))?;
        let engines =
            run(random, &case, found.switch).map_err(|error| format!("{}\n{error}", text(&case)))?;
        *ran.borrow_mut().entry(found.switch.variant.name()).or_default() += usize::from(engines > 0);
        *transposed.borrow_mut() += usize::from(engines > 1);
        Ok(())
    });
    let ran = ran.borrow();
    let enough = ran.len() == 7 && ran.values().all(|count| *count >= 1) && *transposed.borrow() > 2;
    assert!(enough || std::env::var("VISA_CASES").is_ok(), "{ran:?}, {} transposed", transposed.borrow());
}
