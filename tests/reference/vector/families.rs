//! Families of chains around two limits, the accumulators of a reduce and the padding that a valid count describes:
//! some of them are legal, others are not.

use super::chain::{BranchMode, Chain, Shape, Step};
use super::operators::{IntraOp, Kind};
use super::rules::{Rule, When};
use super::run::judge;
use crate::mapping::Map;
use crate::packets::Names;
use crate::random::{Axes, Random};

fn plain(names: Names, kind: Kind, shape: Shape, steps: Vec<Step>) -> Chain {
    Chain { axes: names.axes, kind, shape, vrf: Vec::new(), steps }
}

/// A reduce with 6 to 10 accumulators. More than 8 are refused.
pub fn accumulators(random: &mut Random) -> (Chain, Option<Rule>) {
    let mut names = Names { axes: Axes::new() };
    let slots = random.between(6, 10);
    let axis = names.fresh(random.between(2, 4));
    let name = names.axes[0].0.clone();
    let outside = names.fresh(random.between(1, 3));
    let inside = if slots.is_multiple_of(2) && random.chance(50) {
        let (a, b) = (names.fresh(2), names.fresh(slots / 2));
        Map::sequence(&if random.chance(50) { [a, b] } else { [b, a] })
    } else if random.chance(30) {
        // Padding counts.
        names.fresh(slots - 1).pad(slots)
    } else {
        names.fresh(slots)
    };
    let lanes = names.fresh(random.between(1, 4));
    let kind = random.pick(&[Kind::I32, Kind::F32]);
    let op = if kind == Kind::I32 { IntraOp::I32AddSat } else { IntraOp::F32Max };
    let shape = Shape {
        slice: Map::One,
        time: Map::sequence(&[outside.clone(), axis, inside.clone()]),
        packet: lanes.pad(8),
    };
    let steps = vec![
        Step::Branch(BranchMode::Unconditional),
        Step::TrimWay4 { packet: lanes.pad(4) },
        Step::IntraReduce { axis: name, op, time: Map::sequence(&[outside, inside]), packet: lanes.pad(4) },
        Step::PadWay8 { packet: lanes.pad(8) },
    ];
    (plain(names, kind, shape, steps), (slots > 8).then_some(Rule::ReduceSlots))
}

/// A reduce of a padded axis that lies anywhere in slices, time and packet. Legal if a valid count describes it.
pub fn padded_reduce(random: &mut Random) -> Chain {
    loop {
        let chain = padded_anywhere(random);
        let unclear = judge(&chain).is_err_and(|refusal| refusal.rule.when() == When::Unclear);
        if !unclear {
            return chain;
        }
    }
}

fn padded_anywhere(random: &mut Random) -> Chain {
    let mut names = Names { axes: Axes::new() };
    // Digits of the axis, the lowest first: each goes to the slices, to time or to the packet.
    let (mut digits, mut total) = (Vec::new(), 1);
    let in_packet = random.chance(50);
    if in_packet {
        let size = random.pick(&[2, 4, 8]);
        digits.push((total, size, 2));
        total *= size;
    }
    for _ in 0..random.between(if in_packet { 0 } else { 1 }, 2) {
        let slice = random.chance(45);
        let size = if slice { random.pick(&[2, 4]) } else { random.pick(&[2, 3, 4]) };
        digits.push((total, size, usize::from(!slice)));
        total *= size;
    }
    if !digits.iter().any(|(.., dim)| *dim > 0) {
        digits.push((total, 3, 1));
        total *= 3;
    }
    let axis = names.fresh(random.between(2.max(total / 2), total));
    let name = names.axes[0].0.clone();
    let padded = if axis.size() < total { axis.pad(total) } else { axis };
    let mut dims = [Vec::new(), Vec::new(), Vec::new()];
    for (weight, size, dim) in digits {
        let upper = if weight == 1 { padded.clone() } else { padded.stride(weight) };
        let part = if upper.size() == size { upper } else { upper.modulo(size) };
        let place = random.below(dims[dim].len() + 1);
        dims[dim].insert(place, part);
    }
    if random.chance(50) {
        let place = random.below(dims[1].len() + 1);
        let axis = names.fresh(random.between(2, 3));
        dims[1].insert(place, axis);
    }
    if random.chance(30) {
        let axis = names.fresh(random.pick(&[2, 4]));
        let place = random.below(dims[0].len() + 1);
        dims[0].insert(place, axis);
    }
    if dims[2].is_empty() {
        let axis = names.fresh(random.between(2, 8));
        dims[2].push(axis);
    }
    let [slice, time, packet] = dims.map(|dim| Map::sequence(&dim));
    let packet = if packet.size() < 8 { packet.pad(8) } else { packet };
    let outer = packet.stride(4);
    let narrow = Map::sequence(&[time.clone(), outer.clone()]);
    let own = |map: &Map| map.axes().contains_key(name.as_str());
    let members = |map: &Map| -> Vec<Map> {
        let (mut rest, mut list) = (map.clone(), Vec::new());
        while let Map::Pair(left, right) = rest {
            list.push(*left);
            rest = *right;
        }
        list.push(rest);
        list
    };
    // A part of the packet with one live value is padding.
    let mut kept: Vec<Map> = members(&time).into_iter().filter(|part| !own(part)).collect();
    if !own(&outer) {
        kept.push(outer);
    } else if outer.elements() == 1 {
        kept.push(Map::One.pad(2));
    }
    let inner = packet.modulo(4);
    let rest = Map::sequence(&kept);
    let reduced = if own(&inner) && inner.elements() > 1 { Map::One.pad(4) } else { inner.clone() };
    let wide = Step::PadWay8 { packet: crate::digits::repad(&reduced, 8) };
    let kind = random.pick(&[Kind::I32, Kind::F32]);
    let op = if kind == Kind::I32 { IntraOp::I32AddSat } else { IntraOp::F32Add };
    let steps = vec![
        Step::Branch(BranchMode::Unconditional),
        Step::Split { time: narrow, packet: inner },
        Step::IntraReduce { axis: name, op, time: rest, packet: reduced },
        wide,
    ];
    plain(names, kind, Shape { slice, time, packet }, steps)
}
