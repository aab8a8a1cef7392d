//! Chains with one mapping changed, in whatever way: some stay legal. The library and the reference must say the same, and
//! what both accept must compute the same.

use super::compare;
use super::stage::Prepared;
use crate::reference::cases::for_cases;
use crate::reference::digits::{Digit, digits};
use crate::reference::mapping::{Map, is_injective};
use crate::reference::random::Random;
use crate::reference::vector::chain::{
    BinaryMode, BranchMode, Chain, Operand, Operands, Shape, Source, Step, VrfTensor,
};
use crate::reference::vector::families::padded_reduce;
use crate::reference::vector::generate::random_chain;
use crate::reference::vector::operators::{Binary, Fxp, Kind};
use crate::reference::vector::rules::When;
use crate::reference::vector::run::judge;
use crate::reference::vector::valid_count::{is_of, unclear};
use std::cell::RefCell;
use std::collections::BTreeMap;

fn members(map: &Map) -> Vec<Map> {
    match map {
        Map::Pair(left, right) => [members(left), members(right)].concat(),
        other => vec![other.clone()],
    }
}

/// A mapping with one thing changed. At times it is the same by another spelling.
fn changed(random: &mut Random, map: &Map, others: &[Map]) -> Map {
    let mut list = members(map);
    let place = random.below(list.len());
    let own = list[place].clone();
    let size = own.size();
    let divisor = (2..size).find(|divisor| size.is_multiple_of(*divisor));
    match random.below(9) {
        0 | 1 if divisor.is_some() => {
            // The same, in two parts.
            let inner = divisor.unwrap_or(1);
            list.splice(place..=place, [own.stride(inner), own.modulo(inner)]);
        }
        2 if list.len() > 1 => {
            let other = (place + 1) % list.len();
            list.swap(place, other);
        }
        3 => _ = list.remove(place),
        4 => list[place] = own.pad(size + random.between(1, 2)),
        5 if size > 1 => list[place] = Map::One.pad(size),
        6 if !others.is_empty() => {
            let new = random.pick(others);
            list.insert(place, new);
        }
        // A group of axes that is cut across them is no digit.
        7 if size > 2 && !matches!(own, Map::Padding(..) | Map::Pair(..)) && own.axes().len() == 1 => {
            list[place] = own.resize(size - 1)
        }
        _ => list.insert(place, Map::One.pad(2)),
    }
    Map::sequence(&list)
}

/// All mappings of a chain behind those of its stream.
fn mappings(chain: &mut Chain) -> Vec<&mut Map> {
    let mut all = Vec::new();
    for step in &mut chain.steps {
        match step {
            Step::Unzip { tile_time, split_time, .. } => all.extend([tile_time, split_time]),
            Step::InterReduce { slice, time, .. } => all.extend([slice, time]),
            Step::Split { time, packet } | Step::Concat { time, packet } => all.extend([time, packet]),
            Step::TrimWay4 { packet } | Step::PadWay8 { packet } => all.push(packet),
            Step::IntraReduce { time, packet, .. } => all.extend([time, packet]),
            _ => {}
        }
    }
    all.extend(chain.vrf.iter_mut().map(|tensor| &mut tensor.element));
    all
}

/// A chain with one of its mappings changed.
fn disturbed(random: &mut Random, chain: &Chain) -> Chain {
    let mut chain = chain.clone();
    let axes: Vec<Map> = chain.axes.iter().map(|(name, size)| Map::axis(name, *size)).collect();
    if random.chance(25) {
        let number = random.below(3);
        let before = chain.shape.dims()[number].clone();
        let after = changed(random, &before, &axes);
        match number {
            0 => {
                // Every slice reads its own register file.
                let own = chain.vrf.iter_mut().filter(|tensor| tensor.slice == before);
                own.for_each(|tensor| tensor.slice = after.clone());
                chain.shape.slice = after;
            }
            1 => chain.shape.time = after,
            _ => chain.shape.packet = after,
        }
    } else {
        let mut all = mappings(&mut chain);
        if !all.is_empty() {
            let number = random.below(all.len());
            let new = changed(random, all[number], &axes);
            *all[number] = new;
        }
    }
    chain
}

/// Why the specification does not decide a chain. Padding of what is
/// kept or goes between slices; a reduced axis with
/// padding, or a gap, in its middle; and what [`unclear`] says of valid counts.
fn is_unclear(chain: &Chain) -> Option<&'static str> {
    let mut shape = chain.shape.clone();
    // The reference knows factors by their digits, and padded ones only as they are written.
    let between = chain.steps.iter().any(|step| matches!(step, Step::InterReduce { .. }));
    if between && chain.shape.dims().iter().any(|dim| dim.elements() < dim.size()) {
        return Some("padding beside what goes between slices");
    }
    for step in &chain.steps {
        match step {
            Step::InterReduce { slice, time, .. } => {
                (shape.slice, shape.time) = (slice.clone(), time.clone());
            }
            Step::Unzip { split_time, .. } => shape.time = split_time.clone(),
            Step::IntraReduce { axis, .. } => {
                let size = chain.axes.iter().find(|(name, _)| name == axis).map_or(0, |(_, size)| *size);
                let own = shape.dims().map(digits).concat().into_iter().filter(|digit| is_of(digit, axis));
                let mut own: Vec<_> = own.collect();
                own.sort_by_key(|digit| digit.weight);
                let whole = |pair: &[Digit]| {
                    pair[0].valid == pair[0].extent && pair[1].weight == pair[0].weight * pair[0].extent
                };
                let end = own.last().map_or(0, |digit| digit.weight * digit.extent);
                if !own.windows(2).all(whole) || end < size {
                    return Some("a gap in an axis");
                }
                return unclear(&shape, axis, size);
            }
            _ => {}
        }
    }
    None
}

/// What a chain is by both verdicts: `legal`, the rule that refuses it, or why it is not decided. `None`: it has an axis
/// twice, or is too big.
///
/// # Errors
/// If the verdicts differ, or the values.
fn verdict(random: &mut Random, chain: &Chain) -> Result<Option<String>, String> {
    // An axis twice: no stream has that.
    let shape = &chain.shape;
    let tensors = chain.vrf.iter().all(|tensor| is_injective(&[&tensor.slice, &tensor.element]));
    let whole = is_injective(&shape.dims()) && tensors;
    if !whole || shape.positions() > 4096 {
        return Ok(None);
    }
    let own = Prepared::on_slices(chain, 1);
    Ok(Some(match (judge(chain), own) {
        (Err(refusal), _) if matches!(refusal.rule.when(), When::Bound | When::Unclear) => {
            "unclear".to_string()
        }
        (Err(_), Err(error)) => error.rule().to_string(),
        (Ok(_), Ok(_)) => {
            compare(random, chain)?;
            "legal".to_string()
        }
        _ if is_unclear(chain).is_some() => is_unclear(chain).unwrap_or_default().to_string(),
        // As documented, a tensor may lie in other slices, in another order. No slice reads the file of another one.
        (Ok(_), Err(error)) if error.rule() == "operand units" => "operand units".to_string(),
        (Ok(_), Err(error)) => return Err(format!("{chain}\nrefused by `{}`: {error}", error.rule())),
        (Err(refusal), Ok(_)) => return Err(format!("{chain}\naccepted, although {refusal}")),
    }))
}

#[test]
fn changed_mappings_have_one_verdict() {
    let met = RefCell::new(BTreeMap::<String, usize>::new());
    let count = for_cases(6000, |random| {
        let legal = if random.chance(80) { random_chain(random) } else { padded_reduce(random) };
        let chain = disturbed(random, &legal);
        if let Some(name) = verdict(random, &chain)? {
            *met.borrow_mut().entry(name).or_default() += 1;
        }
        Ok(())
    });
    let met = met.borrow();
    assert!(count < 6000 || met["legal"] > 1500 && met.len() > 25, "{met:#?}");
}

/// The part of an axis that goes over the steps, as an operand that holds it in two parts, or one of them. At times values
/// are missing at its end.
fn cut_part(random: &mut Random, part: &Map) -> Map {
    let missing = random.chance(30);
    let held = if missing { part.resize(part.size() - 1) } else { part.clone() };
    let inner = random.pick(&[2, 4]);
    let padded = held.pad(held.size().next_multiple_of(inner) + inner * random.below(2));
    let mut list = vec![padded.stride(inner), padded.modulo(inner)];
    let place = random.below(2);
    // Where values are missing, both parts stay: of one alone it is not said what it holds beside them.
    match random.below(4) {
        0 => list.swap(0, 1),
        1 if !missing => _ = list.remove(place),
        // Down to one value, nothing says whether it stands for all of them.
        2 if !missing && list[place].size() > 2 => list[place] = list[place].resize(list[place].size() - 1),
        _ => {}
    }
    Map::sequence(&list)
}

/// Slices and steps split an axis unevenly, and the operand cuts the part of the steps again, lacks parts of that, or holds
/// the first values alone.
#[test]
fn cut_parts_of_an_axis_have_one_verdict() {
    let met = RefCell::new(BTreeMap::<(String, bool), usize>::new());
    let count = for_cases(600, |random| {
        let (size, part) = (random.between(4, 16), random.between(3, 7));
        let axes = vec![("C".to_string(), size), ("P".to_string(), 8)];
        let whole = Map::axis("C", size).pad(size.next_multiple_of(part));
        let (slice, time) = (whole.stride(part), whole.modulo(part));
        let element = cut_part(random, &time);
        let add = Binary::Fxp(Fxp::AddFxp);
        let operands = Operands::One(Operand::always(Source::Vrf(0)));
        let chain = Chain {
            axes,
            kind: Kind::I32,
            shape: Shape { slice: slice.clone(), time, packet: Map::axis("P", 8) },
            vrf: vec![VrfTensor { kind: Kind::I32, slice, element }],
            steps: vec![
                Step::Branch(BranchMode::Unconditional),
                Step::Binary { op: add, mode: BinaryMode::Mode01, operands },
            ],
        };
        let nested = digits(&chain.vrf[0].element).iter().any(|digit| !digit.within.is_empty());
        if let Some(name) = verdict(random, &chain)? {
            *met.borrow_mut().entry((name, nested)).or_default() += 1;
        }
        Ok(())
    });
    let met = met.borrow();
    let often =
        |name: &str, nested: bool| met.get(&(name.to_string(), nested)).is_some_and(|times| *times >= 40);
    let enough =
        ["legal", "insufficient input"].into_iter().all(|name| often(name, false) && often(name, true));
    assert!(count < 600 || enough, "{met:#?}");
}
