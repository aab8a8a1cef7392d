//! Single elements of a stream: what they are compared with, which operand they take, and what a register file holds of
//! them.

use super::chain::{Compare, Condition, InputCmp, Shape};
use super::operators::is_made_nan;
use super::reduce::Lane;
use super::rules::{Broken, Rule, demand};
use crate::mapping::{Coordinates, Map, joint_table};
use crate::numbers::Number;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of the vector register file per slice.
pub const VRF_BYTES: usize = 8192;

/// Values and execution ids of a stream, row-major.
#[derive(Clone, Debug)]
pub struct Group {
    pub lanes: Vec<Lane>,
    pub ids: Vec<Option<u8>>,
}

/// `to_vrf` of a stream: the values of the register file, row-major over slice and element.
///
/// # Errors
/// [`Rule::VrfCapacity`] or [`Rule::VrfAxes`].
pub fn to_vrf(shape: &Shape, lanes: &[Lane], element: &Map) -> Result<Vec<Lane>, Broken> {
    let bytes = 4 * element.size();
    demand(bytes <= VRF_BYTES, Rule::VrfCapacity, || {
        format!("{bytes} bytes per slice, there are {VRF_BYTES}")
    })?;
    let (from, to) = (joint_table(&shape.dims()), joint_table(&[&shape.slice, element]));
    let indices = |table: &[Option<Coordinates>]| table.iter().flatten().cloned().collect::<BTreeSet<_>>();
    demand(indices(&from) == indices(&to), Rule::VrfAxes, || format!("{element} does not hold {shape}"))?;
    let held: BTreeMap<&Coordinates, Lane> =
        from.iter().zip(lanes).filter_map(|(index, lane)| Some((index.as_ref()?, *lane))).collect();
    Ok(to.iter().map(|index| index.as_ref().map_or(Lane::Absent, |index| held[index])).collect())
}

/// The elements of positions with their values.
pub fn held(table: &[Option<Coordinates>], lanes: &[Lane]) -> BTreeMap<Coordinates, Lane> {
    table.iter().zip(lanes).filter_map(|(index, lane)| Some((index.clone()?, *lane))).collect()
}

/// Padding holds neither values nor ids.
pub fn drop_padding(group: &mut Group, table: &[Option<Coordinates>]) {
    for (position, _) in table.iter().enumerate().filter(|(_, index)| index.is_none()) {
        group.lanes[position] = Lane::Absent;
        group.ids[position] = None;
    }
}

pub fn matches_id(condition: Condition, id: Option<u8>) -> bool {
    match (condition, id) {
        (_, None) => false,
        (Condition::Always, Some(_)) => true,
        (Condition::Group(group), Some(id)) => id >> 3 & 1 == group,
        (Condition::Tags { bits, negated }, Some(id)) => {
            let differs = (0..4).any(|k| bits[k].is_some_and(|bit| bit != (id & 1 << k != 0)));
            differs == negated
        }
    }
}

/// The result of arguments: nothing if one is absent, open if one is open.
pub fn combine(arguments: impl Iterator<Item = Lane>, compute: impl Fn(&[Number]) -> Lane) -> Lane {
    let mut numbers = Vec::new();
    let mut open = false;
    for argument in arguments {
        match argument {
            Lane::Absent => return Lane::Absent,
            Lane::Open => open = true,
            Lane::Is(number) => numbers.push(number),
        }
    }
    if open { Lane::Open } else { compute(&numbers) }
}

/// Whether a comparison holds.
pub fn compares(one: &InputCmp, x: Number) -> bool {
    let bits = |number: Number| match number {
        Number::Integer(value) => value as u32,
        Number::Real(value) => value.to_bits(),
    };
    let order = match (x, one.boundary) {
        (Number::Integer(x), Number::Integer(boundary)) => Some(x.cmp(&boundary)),
        (Number::Real(x), Number::Real(boundary)) => x.partial_cmp(&boundary),
        _ => panic!("{x:?} and {one:?} have different types"),
    };
    match one.compare {
        Compare::Equal => order.is_some_and(std::cmp::Ordering::is_eq),
        Compare::Less => order.is_some_and(std::cmp::Ordering::is_lt),
        Compare::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        Compare::LessUnsigned => bits(x) < bits(one.boundary),
        Compare::GreaterUnsigned => bits(x) > bits(one.boundary),
        Compare::True => true,
        Compare::False => false,
    }
}

/// The id of an element: bit k is the result of comparison k.
pub fn compare_all(list: &[InputCmp; 4], lane: &mut Lane) -> Option<u8> {
    let Lane::Is(x) = *lane else {
        return (*lane == Lane::Open).then_some(0);
    };
    let by_bits = |one: &InputCmp| matches!(one.compare, Compare::LessUnsigned | Compare::GreaterUnsigned);
    if is_made_nan(x) && list.iter().any(by_bits) {
        *lane = Lane::Open;
    }
    Some(list.iter().rev().fold(0, |id, one| id << 1 | u8::from(compares(one, x))))
}
