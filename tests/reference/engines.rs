//! The engines that move or narrow data, by coordinates: DMA, fetch, collect, the TRF load, cast and commit.
//!
//! Values are listed row-major over the dimensions, `None` for padding and for uninitialized elements. `prefix`
//! stands for the dimensions that an engine passes through: chip, cluster and slice, as many as the test wants.
//!
//! The reference refuses what changes or loses values. It accepts some moves that the algebra cannot express
//! (digits of 3 and 5 regrouped), so a refusal by the library is checked with the rules, not with this file.

use super::digits::{Projection, content, repad, unread_digits};
use super::mapping::{Coordinates, Map, Name, joint_table};
use super::numbers::{ElementType, Number};
use std::collections::{BTreeMap, BTreeSet};

/// Whether a destination may hold digits that the source lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broadcast {
    /// The value is repeated over them.
    Allowed,
    /// They are an error.
    Refused,
}

/// The dimensions of `prefix` followed by those of `rest`.
pub fn with<'a>(prefix: &[&'a Map], rest: &[&'a Map]) -> Vec<&'a Map> {
    [prefix, rest].concat()
}

fn expect_len<V>(operation: &str, dims: &[&Map], values: &[V]) -> Result<(), String> {
    let size: usize = dims.iter().map(|dim| dim.size()).product();
    if size == values.len() {
        return Ok(());
    }
    Err(format!("{operation}: {} values for {size} positions", values.len()))
}

/// Moves a tensor from one placement to another. Also the whole of every engine that only
/// reorders.
///
/// # Errors
/// When an element of the source would be dropped, or when a refused broadcast would happen.
pub fn move_between<V: Clone>(
    source: &[&Map],
    values: &[Option<V>],
    destination: &[&Map],
    broadcast: Broadcast,
) -> Result<Vec<Option<V>>, String> {
    expect_len("move", source, values)?;
    let held: BTreeMap<Coordinates, &Option<V>> = joint_table(source)
        .into_iter()
        .zip(values)
        .filter_map(|(index, value)| Some((index?, value)))
        .collect();
    let projection = Projection::onto(source)?;
    let mut reached = BTreeSet::new();
    let mut result = Vec::new();
    for cell in joint_table(destination) {
        let Some(index) = cell else {
            result.push(None);
            continue;
        };
        let own = projection.apply(&index);
        if broadcast == Broadcast::Refused && own != index {
            return Err(format!("move: the destination repeats {own:?} at {index:?}"));
        }
        result.push(held.get(&own).and_then(|value| (*value).clone()));
        reached.insert(own);
    }
    match held.keys().find(|index| !reached.contains(*index)) {
        Some(index) => Err(format!("move: the destination drops the element at {index:?}")),
        None => Ok(result),
    }
}

/// A DMA transfer or a host transfer: a move that may broadcast.
///
/// # Errors
/// When an element of the source would be dropped.
pub fn dma<V: Clone>(
    source: &[&Map],
    values: &[Option<V>],
    destination: &[&Map],
) -> Result<Vec<Option<V>>, String> {
    move_between(source, values, destination, Broadcast::Allowed)
}

/// The Fetch Engine: every unit of `prefix` reads its own `element` as a stream, each value goes through `cast`.
/// Axes that the tensor lacks are repeated. A resized axis may lose elements.
///
/// # Errors
/// "insufficient input" when the stream wants an element that the unit does not hold, "axis dropped" when a
/// digit of `element` is never read.
pub fn fetch<V: Clone, W: Clone>(
    prefix: &[&Map],
    element: &Map,
    values: &[Option<V>],
    time: &Map,
    packet: &Map,
    cast: impl Fn(V) -> W,
) -> Result<Vec<Option<W>>, String> {
    let (source, stream) = (with(prefix, &[element]), with(prefix, &[time, packet]));
    expect_len("fetch", &source, values)?;
    let visited: Vec<Coordinates> = joint_table(&[time, packet]).into_iter().flatten().collect();
    if let Some(digit) = unread_digits(&[element], &visited).first() {
        return Err(format!("fetch: axis dropped: {} / {} of {element}", digit.node, digit.weight));
    }
    let projection = Projection::onto(&source)?;
    let own_axes: BTreeSet<Name> = source.iter().flat_map(|dim| dim.axes().into_keys()).collect();
    let (held, wanted) = (joint_table(&source), joint_table(&stream));
    let mut result = Vec::new();
    let units = held.chunks(element.size()).zip(values.chunks(element.size()));
    for ((held, values), wanted) in units.zip(wanted.chunks(time.size() * packet.size())) {
        let unit: BTreeMap<&Coordinates, &Option<V>> =
            held.iter().zip(values).filter_map(|(index, value)| Some((index.as_ref()?, value))).collect();
        for cell in wanted {
            let Some(index) = cell else {
                result.push(None);
                continue;
            };
            let own = projection.apply(index);
            // Foreign axes repeat the tensor; foreign digits of an own axis are missing input.
            let partial =
                index.iter().any(|(name, value)| own_axes.contains(name) && own.get(name) != Some(value));
            match unit.get(&own) {
                Some(value) if !partial => result.push((*value).clone().map(&cast)),
                _ => return Err(format!("fetch: insufficient input for {index:?} in {element}")),
            }
        }
    }
    Ok(result)
}

fn bytes(element: ElementType, elements: usize) -> Result<usize, String> {
    let bits = element.bits() * elements;
    if bits.is_multiple_of(8) {
        Ok(bits / 8)
    } else {
        Err(format!("{elements} of {element:?} are no whole bytes"))
    }
}

/// The packet and the additional time that `collect` makes of a fetched packet: `(flits, flit)`.
pub fn flits(element: ElementType, packet: &Map) -> Result<(Map, Map), String> {
    let total = bytes(element, packet.size())?.next_multiple_of(32);
    let whole = repad(packet, total * 8 / element.bits());
    Ok((whole.stride(element.per_flit()), whole.modulo(element.per_flit())))
}

/// The Collect Engine: packets become flits of 32 bytes.
///
/// # Errors
/// When the new mappings are not the flits of the old ones.
pub fn collect<V: Clone>(
    element: ElementType,
    prefix: &[&Map],
    old: [&Map; 2],
    new: [&Map; 2],
    values: &[Option<V>],
) -> Result<Vec<Option<V>>, String> {
    if bytes(element, new[1].size())? != 32 {
        return Err(format!("collect: {} is not 32 bytes", new[1]));
    }
    let (outer, flit) = flits(element, old[1])?;
    let time = Map::sequence(&[old[0].clone(), outer]);
    if !flit.equivalent(new[1]) || !time.equivalent(new[0]) {
        return Err(format!("collect: expected {time} and {flit}, given {} and {}", new[0], new[1]));
    }
    move_between(&with(prefix, &old), values, &with(prefix, &new), Broadcast::Refused)
}

/// The load of the tensor register file: the outermost part of the time becomes `row`, the rest `element_map`.
///
/// # Errors
/// When a rule is broken; `capacity` is in bytes.
pub fn to_trf<V: Clone>(
    element: ElementType,
    prefix: &[&Map],
    stream: [&Map; 2],
    [row, element_map]: [&Map; 2],
    capacity: usize,
    values: &[Option<V>],
) -> Result<Vec<Option<V>>, String> {
    let [time, packet] = stream;
    if ![1, 2, 4, 8].contains(&row.size()) {
        return Err(format!("to_trf: {} rows", row.size()));
    }
    let total = bytes(element, row.size() * element_map.size())?;
    if total > capacity {
        return Err(format!("to_trf: {total} bytes exceed {capacity}"));
    }
    if !time.size().is_multiple_of(row.size()) {
        return Err(format!("to_trf: {} rows do not divide {} time steps", row.size(), time.size()));
    }
    let inner = time.size() / row.size();
    let expected = Map::sequence(&[time.modulo(inner), packet.clone()]);
    if !time.stride(inner).equivalent(row) || !expected.equivalent(element_map) {
        return Err(format!(
            "to_trf: expected {} and {expected}, given {row} and {element_map}",
            time.stride(inner)
        ));
    }
    move_between(&with(prefix, &stream), values, &with(prefix, &[row, element_map]), Broadcast::Refused)
}

/// The packet that a cast makes of a packet of one flit.
pub fn cast_packet(packet: &Map, to: ElementType) -> Map {
    repad(packet, to.per_flit())
}

/// The Cast Engine: lane by lane to a narrower type.
///
/// # Errors
/// When a packet is not one flit or the new packet is not the repadded old one.
pub fn cast(
    [from, to]: [ElementType; 2],
    prefix: &[&Map],
    time: &Map,
    [packet, packet2]: [&Map; 2],
    values: &[Option<Number>],
) -> Result<Vec<Option<Number>>, String> {
    if packet.size() != from.per_flit() || packet2.size() != to.per_flit() {
        return Err(format!("cast: {packet} and {packet2} are not one flit each"));
    }
    if !cast_packet(packet, to).equivalent(packet2) {
        return Err(format!("cast: expected {}, given {packet2}", cast_packet(packet, to)));
    }
    expect_len("cast", &with(prefix, &[time, packet]), values)?;
    let mut result = Vec::new();
    for lanes in values.chunks(packet.size()) {
        for lane in 0..packet2.size() {
            result.push(lanes.get(lane).copied().flatten().map(|number| to.round(number)));
        }
    }
    let live = joint_table(&with(prefix, &[time, packet2]));
    Ok(result.into_iter().zip(live).map(|(value, live)| live.and(value)).collect())
}

/// The Commit Engine: the first lanes of each flit go to data memory, time may be permuted.
///
/// # Errors
/// When one of the five checks fails.
pub fn commit<V: Clone>(
    element: ElementType,
    prefix: &[&Map],
    [time, packet]: [&Map; 2],
    target: &Map,
    values: &[Option<V>],
) -> Result<Vec<Option<V>>, String> {
    expect_len("commit", &with(prefix, &[time, packet]), values)?;
    if bytes(element, packet.size())? != 32 {
        return Err(format!("commit: {packet} is not one flit"));
    }
    if !target.size().is_multiple_of(time.size()) {
        return Err(format!("commit: {} does not divide {}", time.size(), target.size()));
    }
    let lanes = target.size() / time.size();
    let (outer, inner) = (target.stride(lanes), target.modulo(lanes));
    let indexes = |map: &Map| map.table().into_iter().flatten().collect::<BTreeSet<_>>();
    if indexes(&outer) != indexes(time) {
        return Err(format!("commit: {outer} is no permutation of {time}"));
    }
    let width = bytes(element, lanes)?;
    if ![8, 16, 24, 32].contains(&width) {
        return Err(format!("commit: packets of {width} bytes"));
    }
    let window = packet.resize(lanes);
    if !inner.equivalent(&window) {
        return Err(format!("commit: expected {window} innermost, given {inner}"));
    }
    let kept: Vec<Option<V>> = values
        .chunks(packet.size())
        .flat_map(|flit| (0..lanes).map(|lane| flit.get(lane).cloned().flatten()))
        .collect();
    move_between(&with(prefix, &[time, &window]), &kept, &with(prefix, &[target]), Broadcast::Refused)
}

/// Lanes of a packet below its outermost padding.
pub fn live_lanes(packet: &Map) -> usize {
    content(packet)
}
