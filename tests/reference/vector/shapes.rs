//! The steps that relabel lanes: split, concat, trim, pad and unzip. Each is a rule about mappings, and a rule about
//! positions.
//!
//! Two mappings are the same when they have the same element at every position.

use super::rules::{Broken, Rule, demand};
use crate::digits::repad;
use crate::mapping::Map;

/// Time and packet.
pub type Pass = [Map; 2];

fn sizes(rule: Rule, from: &Map, to: &Map, wanted: [usize; 2]) -> Result<(), Broken> {
    demand([from.size(), to.size()] == wanted, rule, || {
        format!("packets {from} and {to} of {} and {} elements, not {wanted:?}", from.size(), to.size())
    })
}

fn same(rule: Rule, found: &Map, expected: &Map) -> Result<(), Broken> {
    demand(found.equivalent(expected), rule, || format!("{found} instead of {expected}"))
}

/// `vector_split`: the outer two of the packet become the innermost time. Positions stay in their order.
///
/// # Errors
/// The rule that is broken.
pub fn split([time, packet]: [&Map; 2], [time2, packet2]: [&Map; 2]) -> Result<(), Broken> {
    sizes(Rule::SplitSize, packet, packet2, [8, 4])?;
    same(Rule::SplitTime, time2, &Map::sequence(&[time.clone(), packet.stride(4)]))?;
    same(Rule::SplitPacket, packet2, &packet.modulo(4))
}

/// `vector_concat`: the innermost two of time become the outer two of the packet. Positions stay in their order.
///
/// # Errors
/// The rule that is broken.
pub fn concat([time, packet]: [&Map; 2], [time2, packet2]: [&Map; 2]) -> Result<(), Broken> {
    sizes(Rule::ConcatSize, packet, packet2, [4, 8])?;
    demand(time.size().is_multiple_of(2), Rule::ConcatTime, || format!("time {time} has no innermost two"))?;
    same(Rule::ConcatTime, time2, &time.stride(2))?;
    same(Rule::ConcatPacket, packet2, &Map::sequence(&[time.modulo(2), packet.clone()]))
}

/// `vector_trim_way4`: the back four lanes, which hold nothing, go.
///
/// # Errors
/// The rule that is broken.
pub fn trim(packet: &Map, packet2: &Map) -> Result<(), Broken> {
    sizes(Rule::TrimSize, packet, packet2, [8, 4])?;
    demand(packet.stride(4).equivalent(&Map::One.pad(2)), Rule::TrimBack, || {
        format!("the back four lanes of {packet} hold elements")
    })?;
    same(Rule::TrimPacket, packet2, &packet.modulo(4))
}

/// `vector_pad_way8`: four lanes that hold nothing follow.
///
/// # Errors
/// The rule that is broken.
pub fn pad(packet: &Map, packet2: &Map) -> Result<(), Broken> {
    sizes(Rule::PadSize, packet, packet2, [4, 8])?;
    same(Rule::PadPacket, packet2, &repad(packet, 8))
}

/// Where the axis of an unzip lies in time: time step `t` belongs to group `t / result % 2`.
///
/// # Errors
/// The rule that is broken.
pub fn unzip(
    axis: (&str, usize),
    outside: [&Map; 2],
    time: &Map,
    tile: &Map,
    split: &Map,
) -> Result<usize, Broken> {
    let (name, size) = axis;
    demand(size == 2, Rule::UnzipAxis, || format!("axis {name} has size {size}"))?;
    let elsewhere = outside.iter().find(|dim| dim.axes().contains_key(name));
    demand(elsewhere.is_none(), Rule::UnzipAxis, || format!("axis {name} occurs outside of time"))?;
    let table = time.table();
    let place = table
        .iter()
        .position(|cell| cell.as_ref().is_some_and(|cell| cell.len() == 1 && cell.get(name) == Some(&1)));
    let Some(place) = place else {
        return Err((Rule::UnzipAxis, format!("axis {name} is no factor of {time}")));
    };
    let in_group = |step: usize, group: usize| step / place % 2 == group;
    let whole = time.size().is_multiple_of(2 * place)
        && (0..time.size()).filter(|step| in_group(*step, 0)).all(|step| {
            let mut second = table[step].clone();
            if let Some(cell) = &mut second {
                cell.insert(name.to_string(), 1);
            }
            let first = table[step].as_ref().is_none_or(|cell| !cell.contains_key(name));
            first && table[step + place] == second
        });
    demand(whole, Rule::UnzipAxis, || format!("axis {name} is no factor of {time}"))?;
    let tiled = (0..time.size()).map(|step| if in_group(step, 0) { table[step].clone() } else { None });
    demand(tile.size() == time.size() && tile.table().into_iter().eq(tiled), Rule::UnzipTile, || {
        format!("{tile} is not {time} with {name} replaced")
    })?;
    let kept: Vec<_> =
        (0..time.size()).filter(|step| in_group(*step, 0)).map(|step| table[step].clone()).collect();
    demand(split.table() == kept, Rule::UnzipSplit, || {
        format!("{split} is not {tile} without the factor of two")
    })?;
    Ok(place)
}
