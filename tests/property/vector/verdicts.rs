//! Chains with one mapping changed, in whatever way: some stay legal. The library and the reference must say the same, and
//! what both accept must compute the same.

use super::compare;
use super::stage::Prepared;
use crate::reference::cases::for_cases;
use crate::reference::digits::{Digit, digits};
use crate::reference::mapping::{Map, is_injective};
use crate::reference::random::Random;
use crate::reference::vector::chain::{Chain, Step};
use crate::reference::vector::families::padded_reduce;
use crate::reference::vector::generate::random_chain;
use crate::reference::vector::rules::{Rule, When};
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

/// Whether an operand cuts a digit that was padded: `C % 3 # 8 / 2, C % 3 # 8 % 2`. The library knows its elements by their
/// positions; the reference knows padded digits only as they are written.
fn cuts_a_padded_digit(chain: &Chain) -> bool {
    fn is_padded(map: &Map) -> bool {
        matches!(map, Map::Padding(inner, _) if matches!(**inner, Map::Modulo(..) | Map::Stride(..)))
    }
    fn cuts(map: &Map) -> bool {
        match map {
            Map::One | Map::Axis { .. } => false,
            Map::Pair(left, right) => cuts(left) || cuts(right),
            Map::Stride(inner, _) | Map::Modulo(inner, _) => is_padded(inner) || cuts(inner),
            Map::Resize(inner, _) | Map::Padding(inner, _) | Map::Margin(_, inner, _) => cuts(inner),
        }
    }
    chain.vrf.iter().any(|tensor| cuts(&tensor.element))
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

#[test]
fn changed_mappings_have_one_verdict() {
    let met = RefCell::new(BTreeMap::<String, usize>::new());
    let count = for_cases(6000, |random| {
        let legal = if random.chance(80) { random_chain(random) } else { padded_reduce(random) };
        let chain = disturbed(random, &legal);
        // An axis twice: no stream has that.
        let shape = &chain.shape;
        let tensors = chain.vrf.iter().all(|tensor| is_injective(&[&tensor.slice, &tensor.element]));
        let whole = is_injective(&shape.dims()) && tensors;
        if !whole || shape.positions() > 4096 {
            return Ok(());
        }
        let verdict = judge(&chain);
        let own = Prepared::on_slices(&chain, 1);
        let name = match (verdict, own) {
            (Err(refusal), _) if matches!(refusal.rule.when(), When::Bound | When::Unclear) => {
                "unclear".to_string()
            }
            (Err(_), Err(error)) => error.rule().to_string(),
            (Ok(_), Ok(_)) => {
                compare(random, &chain)?;
                "legal".to_string()
            }
            (Err(refusal), Ok(_)) if refusal.rule == Rule::OperandAxes && cuts_a_padded_digit(&chain) => {
                "a padded digit of an operand is cut".to_string()
            }
            _ if is_unclear(&chain).is_some() => is_unclear(&chain).unwrap_or_default().to_string(),
            // As documented, a tensor may lie in other slices, in another order. No slice reads the file of another one.
            (Ok(_), Err(error)) if error.rule() == "operand units" => "operand units".to_string(),
            (Ok(_), Err(error)) => return Err(format!("{chain}\nrefused by `{}`: {error}", error.rule())),
            (Err(refusal), Ok(_)) => return Err(format!("{chain}\naccepted, although {refusal}")),
        };
        *met.borrow_mut().entry(name).or_default() += 1;
        Ok(())
    });
    let met = met.borrow();
    assert!(count < 6000 || met["legal"] > 1500 && met.len() > 25, "{met:#?}");
}
