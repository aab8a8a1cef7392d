//! The reduces within a slice and between slices: which outputs they may have, and what they compute.
//!
//! Both fold from left to right, in ascending order of the coordinate on the reduced axis, whatever the order in which
//! the stream brings the elements; the first element is where the fold begins.

use super::chain::Shape;
use super::operators::{Binary, InterOp, Reading};
use super::rules::{Broken, Rule, demand};
use super::valid_count::{Spelled, is_of};
use crate::digits::Digit;
use crate::mapping::{Coordinates, Map, Name, joint_table};
use crate::numbers::Number;
use std::collections::{BTreeMap, BTreeSet};

/// What a position of a stream holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lane {
    /// Nothing: padding, or an element that nobody wrote.
    Absent,
    /// A number.
    Is(Number),
    /// A number that the specification leaves open.
    Open,
}

/// The fold of lanes from left to right. None of them is padding.
pub fn fold(op: Binary, lanes: &[Lane], reading: Reading) -> Lane {
    if !reading.skips_unwritten && lanes.contains(&Lane::Absent) {
        return Lane::Absent;
    }
    let mut result = Lane::Absent;
    for lane in lanes {
        result = match (result, *lane) {
            (before, Lane::Absent) => before,
            (Lane::Absent, first) => first,
            (Lane::Is(a), Lane::Is(b)) => {
                Lane::Is(op.apply(a, b, reading.zeros).expect("operators of reduces have a meaning"))
            }
            _ => Lane::Open,
        };
    }
    result
}

/// A reduce within a slice: the group of elements of every output position.
#[derive(Debug)]
pub struct IntraPlan {
    /// The time step and lane of the output that the elements of each time step and lane go to.
    pub target: Vec<Vec<[usize; 2]>>,
}

/// The rules of `vector_intra_slice_reduce` that need only the packets of 4 before and after it.
///
/// # Errors
/// The rule that is broken.
pub fn intra(shape: &Shape, axis: &str, time2: &Map, packet2: &Map) -> Result<IntraPlan, Broken> {
    let (time, packet) = (Spelled::of(&shape.time)?, Spelled::of(&shape.packet)?);
    let own = |digits: &[Digit]| digits.iter().any(|digit| is_of(digit, axis));
    demand(own(&time.digits) || own(&packet.digits), Rule::ReduceUnclear, || {
        format!("axis {axis} occurs neither in {} nor in {}", shape.time, shape.packet)
    })?;
    // The elements of the output, and those of the input without their coordinate on the axis.
    let live = |dims: [&Map; 2]| joint_table(&dims).into_iter().flatten().collect::<BTreeSet<_>>();
    let (input, found) = (live([&shape.time, &shape.packet]), live([time2, packet2]));
    let names = |set: &BTreeSet<Coordinates>| set.iter().flat_map(|index| index.keys().cloned()).collect();
    let (before, after): (BTreeSet<Name>, BTreeSet<Name>) = (names(&input), names(&found));
    if let Some(new) = after.difference(&before).next() {
        return Err((Rule::ReduceDivide, format!("axis {new} is not in {shape}")));
    }
    demand(!after.contains(axis), Rule::ReduceNotFull, || {
        format!("{time2} and {packet2} still hold {axis}")
    })?;
    let without = |mut index: Coordinates| {
        index.remove(axis);
        index
    };
    let wanted: BTreeSet<Coordinates> = input.into_iter().map(without).collect();
    let text = || format!("{time2} and {packet2} instead of {shape} without {axis}");
    demand(found.is_subset(&wanted), Rule::ReduceDivide, text)?;
    demand(found == wanted, Rule::ReduceOtherAxis, text)?;
    let collapsed = own(&packet.digits);
    let expected = if collapsed { Map::One.pad(4) } else { shape.packet.clone() };
    demand(packet2.equivalent(&expected), Rule::ReducePacket, || {
        format!("packet {packet2} instead of {expected}")
    })?;
    // Time without the digits of the axis: a step of it is the first step that has its other digits.
    let kept: Vec<usize> = (0..time.digits.len()).filter(|k| !is_of(&time.digits[*k], axis)).collect();
    let kept_size: usize = kept.iter().map(|k| time.digits[*k].extent).product();
    let step_of = |values: &[usize]| kept.iter().fold(0, |sum, k| sum * time.digits[*k].extent + values[*k]);
    let mut first: Vec<Option<Coordinates>> = vec![None; kept_size];
    let mut target = Vec::new();
    for step in 0..shape.time.size() {
        let values = time.values(step);
        let to = step_of(&values);
        if time.digits.iter().zip(&values).all(|(digit, value)| !is_of(digit, axis) || *value == 0) {
            first[to] = shape.time.eval(step);
        }
        let lanes = 0..shape.packet.size();
        target.push(lanes.map(|lane| [to, if collapsed { 0 } else { lane }]).collect());
    }
    demand(time2.size() == first.len() && time2.table() == first, Rule::ReduceUnclear, || {
        format!("time {time2} has the elements of {} in another order or with other padding", shape.time)
    })?;
    let outermost = time.digits.iter().position(|digit| is_of(digit, axis)).unwrap_or(time.digits.len());
    let slots: usize = kept.iter().filter(|k| **k > outermost).map(|k| time.digits[*k].extent).product();
    demand(slots <= 8, Rule::ReduceSlots, || format!("{slots} accumulators, there are 8"))?;
    Ok(IntraPlan { target })
}

/// Digits cut wherever others of their axis are cut, so that one spelling is as good as another.
fn cut(digits: Vec<Digit>, cuts: &[Digit]) -> Vec<Digit> {
    let mut result = Vec::new();
    let mut rest: Vec<Digit> = digits.into_iter().rev().collect();
    while let Some(digit) = rest.pop() {
        let end = digit.weight * digit.extent;
        let inside = cuts.iter().filter(|other| other.node == digit.node && digit.node != Map::One);
        let ends = inside.flat_map(|other| [other.weight, other.weight * other.extent]);
        let place = ends.filter(|at| {
            let whole = at.is_multiple_of(digit.weight) && end.is_multiple_of(*at);
            digit.weight < *at && *at < end && whole && digit.valid.is_multiple_of(*at / digit.weight)
        });
        match place.max() {
            Some(at) => {
                let inner = at / digit.weight;
                rest.push(Digit { extent: inner, valid: inner, ..digit.clone() });
                let (extent, valid) = (digit.extent / inner, digit.valid / inner);
                rest.push(Digit { weight: at, extent, valid, ..digit });
            }
            // Where a digit wraps shows in its weight and its extent.
            None => result.push(Digit { modulus: digit.extent, ..digit }),
        }
    }
    result
}

/// The rules of `vector_inter_slice_reduce`. Gives the axes that are reduced, alphabetically.
///
/// # Errors
/// The rule that is broken.
pub fn inter(shape: &Shape, slice2: &Map, time2: &Map) -> Result<Vec<Name>, Broken> {
    demand(slice2.size() == shape.slice.size(), Rule::InterSize, || {
        format!("{slice2} has {} slices, {} has {}", slice2.size(), shape.slice, shape.slice.size())
    })?;
    let spelled = |map: &Map| Spelled::of(map).map(|spelled| spelled.digits);
    let all = [spelled(&shape.slice)?, spelled(&shape.time)?, spelled(slice2)?, spelled(time2)?];
    let cuts = all.concat();
    let [slice, time, out, out_time] = all.map(|digits| cut(digits, &cuts));
    let known: BTreeMap<Name, usize> = shape.dims().iter().flat_map(|dim| dim.axes()).collect();
    let (mut survivors, mut promoted) = (Vec::new(), Vec::new());
    let mut place_is_kept = true;
    for (number, digit) in out.iter().enumerate() {
        let is_new = matches!(&digit.node, Map::Axis { name, .. } if !known.contains_key(name));
        if slice.contains(digit) && digit.node != Map::One {
            place_is_kept &= survivors.len() == number;
            survivors.push(digit.clone());
        } else if time.contains(digit) && !out_time.contains(digit) && digit.node != Map::One {
            promoted.push(digit.clone());
        } else if digit.node != Map::One && !is_new {
            return Err((Rule::InterFactor, format!("{slice2} has a factor that is neither kept nor new")));
        }
    }
    let in_order: Vec<Digit> = slice.iter().filter(|digit| survivors.contains(digit)).cloned().collect();
    demand(in_order == survivors && place_is_kept, Rule::InterOrder, || {
        format!("{slice2} does not begin with what is kept of {}", shape.slice)
    })?;
    demand(slice[..survivors.len()] == survivors, Rule::InterNotInnermost, || {
        format!("what {slice2} lacks of {} is not innermost", shape.slice)
    })?;
    let left: Vec<Digit> = time.iter().filter(|digit| !promoted.contains(digit)).cloned().collect();
    demand(left == out_time, Rule::InterTime, || {
        format!("time {time2} is not {} without the promoted factors", shape.time)
    })?;
    let reduced: BTreeSet<Name> = (slice[survivors.len()..].iter())
        .filter_map(|digit| if let Map::Axis { name, .. } = &digit.node { Some(name.clone()) } else { None })
        .collect();
    let output = [slice2, time2, &shape.packet];
    let part = reduced.iter().any(|name| output.iter().any(|dim| dim.axes().contains_key(name)));
    demand(!reduced.is_empty() && !part, Rule::InterUnclear, || {
        format!("{} to {slice2} reduces a part of an axis, or nothing", shape.slice)
    })?;
    Ok(reduced.into_iter().collect())
}

/// The values of a reduce between slices. `from` and `to` are the elements of the positions before and after it.
pub fn inter_values(
    op: InterOp,
    reduced: &[Name],
    from: (&[Option<Coordinates>], &[Lane]),
    to: &[Option<Coordinates>],
    reading: Reading,
) -> Vec<Lane> {
    // Elements of one result, by their coordinates on the reduced axes.
    let mut groups: BTreeMap<Coordinates, BTreeMap<Vec<usize>, Lane>> = BTreeMap::new();
    let mut axes: BTreeSet<&Name> = BTreeSet::new();
    for (index, lane) in from.0.iter().zip(from.1) {
        let Some(index) = index else { continue };
        axes.extend(index.keys());
        let (mut rest, mut place) = (index.clone(), Vec::new());
        reduced.iter().for_each(|axis| place.push(rest.remove(axis).unwrap_or(0)));
        groups.entry(rest).or_default().insert(place, *lane);
    }
    // The last axis is folded first.
    let results: BTreeMap<Coordinates, Lane> = (groups.into_iter())
        .map(|(index, mut group)| {
            for _ in reduced {
                let mut outer: BTreeMap<Vec<usize>, Vec<Lane>> = BTreeMap::new();
                for (mut place, lane) in group {
                    place.pop();
                    outer.entry(place).or_default().push(lane);
                }
                group = outer.into_iter().map(|(k, v)| (k, fold(op.binary(), &v, reading))).collect();
            }
            (index, group[&Vec::new()])
        })
        .collect();
    // New axes repeat the result.
    let own = |index: &Coordinates| -> Coordinates {
        index
            .iter()
            .filter(|(name, _)| axes.contains(name))
            .map(|(name, value)| (name.clone(), *value))
            .collect()
    };
    let value = |index: &Option<Coordinates>| {
        index.as_ref().map_or(Lane::Absent, |index| results.get(&own(index)).copied().unwrap_or(Lane::Absent))
    };
    to.iter().map(value).collect()
}
