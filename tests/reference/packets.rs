//! Parts of random contraction pipelines: packets of one or two flits, factors of time, padding to flits.

use super::digits::repad;
use super::mapping::Map;
use super::numbers::ElementType;
use super::random::{Axes, Random};

/// Hands out axes with fresh names.
pub struct Names {
    /// The axes handed out so far.
    pub axes: Axes,
}

impl Names {
    /// A new axis.
    ///
    /// # Panics
    /// When the names of one letter are used up.
    pub fn fresh(&mut self, size: usize) -> Map {
        // No axis is called M: that name is a trait of the prelude.
        let name = "ABCDEFGHIJKLNOPQRSTUVWXYZ"[self.axes.len()..][..1].to_string();
        self.axes.push((name.clone(), size));
        Map::axis(&name, size)
    }
}

/// The packet side of a computation.
pub struct PacketPlan {
    /// One flit.
    pub flit: Map,
    /// 64 bytes.
    pub out: Map,
    /// Innermost factor of the stream time that `align` collects into the packet.
    pub stream_only: Option<Map>,
    /// Factor that the packet leaves in the time of the computation.
    pub time: Option<Map>,
    /// Innermost elements of the register file.
    pub block: Map,
    /// Axes of the packet in data memory, innermost part.
    pub memory: Map,
    /// Axes of the block in data memory, innermost part.
    pub block_memory: Map,
}

/// The content of one flit.
struct Flit {
    map: Map,
    /// Its axes in data memory.
    parts: Vec<Map>,
    /// The inner part, when there are two: weights may hold it alone and repeat over the outer part.
    inner: Option<Map>,
}

fn random_flit(random: &mut Random, names: &mut Names, per_flit: usize) -> Flit {
    match random.below(4) {
        0 => {
            let axis = names.fresh(per_flit);
            Flit { map: axis.clone(), parts: vec![axis], inner: None }
        }
        1 => {
            let axis = names.fresh(random.between(2, per_flit - 1));
            Flit { map: axis.pad(per_flit), parts: vec![axis], inner: None }
        }
        2 => {
            let size = random.pick(&[2, 4]);
            let (outer, inner) = (names.fresh(size), names.fresh(per_flit / size));
            let map = Map::sequence(&[outer.clone(), inner.clone()]);
            Flit { map, parts: vec![outer, inner.clone()], inner: Some(inner) }
        }
        _ => {
            // Padding between the axes, and at times around them.
            let inside = per_flit / 4;
            let (outer, inner) = (names.fresh(random.between(2, 4)), names.fresh(random.between(2, inside)));
            let padded = repad(&inner, inside);
            let map = repad(&Map::sequence(&[outer.clone(), padded.clone()]), per_flit);
            Flit { map, parts: vec![outer, inner], inner: Some(padded) }
        }
    }
}

/// A packet with its place in memory and in the register file.
pub fn packet_plan(random: &mut Random, names: &mut Names, element: ElementType) -> PacketPlan {
    let per_flit = element.per_flit();
    let scalar_weight = element != ElementType::I4 && random.chance(15);
    match random.below(4) {
        // Two flits, cut from one long axis.
        0 => {
            let repeats = random.between(1, 3);
            let axis = names.fresh(2 * per_flit * repeats);
            let out = if repeats == 1 { axis.clone() } else { axis.modulo(2 * per_flit) };
            let time = (repeats > 1).then(|| axis.stride(2 * per_flit));
            let collected = if repeats == 1 { axis.stride(per_flit) } else { out.stride(per_flit) };
            PacketPlan {
                flit: axis.modulo(per_flit),
                stream_only: Some(collected),
                time,
                block: if scalar_weight { Map::One } else { out.clone() },
                block_memory: if scalar_weight { Map::One } else { axis.clone() },
                memory: axis,
                out,
            }
        }
        // Two flits, collected along an axis of two.
        1 => {
            let pair = names.fresh(2);
            let Flit { map: flit, parts, .. } = random_flit(random, names, per_flit);
            let out = Map::sequence(&[pair.clone(), flit.clone()]);
            let memory = Map::sequence(&[std::slice::from_ref(&pair), &parts].concat());
            let (block, block_memory) = match random.below(3) {
                _ if scalar_weight => (Map::One, Map::One),
                0 => (out.clone(), memory.clone()),
                _ => (flit.clone(), Map::sequence(&parts)),
            };
            PacketPlan { flit, out, stream_only: Some(pair), time: None, block, block_memory, memory }
        }
        // One flit, cut from a longer axis.
        2 => {
            let axis = names.fresh(per_flit * random.between(2, 4));
            let flit = axis.modulo(per_flit);
            PacketPlan {
                out: flit.pad(2 * per_flit),
                stream_only: None,
                time: Some(axis.stride(per_flit)),
                block: if scalar_weight { Map::One } else { flit.clone() },
                block_memory: if scalar_weight { Map::One } else { axis.clone() },
                memory: axis,
                flit,
            }
        }
        // One flit.
        _ => {
            let Flit { map: flit, parts, inner } = random_flit(random, names, per_flit);
            let memory = Map::sequence(&parts);
            let (block, block_memory) = match inner {
                _ if scalar_weight => (Map::One, Map::One),
                Some(inner) if random.chance(40) => (inner, parts[1].clone()),
                _ => (flit.clone(), memory.clone()),
            };
            let out = repad(&flit, 2 * per_flit);
            PacketPlan { flit, out, stream_only: None, time: None, block, block_memory, memory }
        }
    }
}

/// One factor of time: as it is spelled there, and the axis that memory holds for it.
#[derive(Clone)]
pub struct Factor {
    /// The factor as time spells it.
    pub map: Map,
    /// The whole axis, as memory holds it.
    pub axis: Map,
}

/// Whole, cut and padded axes, `count` of them.
pub fn random_factors(random: &mut Random, names: &mut Names, count: usize) -> Vec<Factor> {
    let mut factors = Vec::new();
    for _ in 0..count {
        let size = random.pick(&[2, 3, 4, 4, 5, 6]);
        let axis = names.fresh(size);
        match random.below(4) {
            0 if size.is_multiple_of(2) && size > 2 => {
                for map in [axis.stride(2), axis.modulo(2)] {
                    factors.push(Factor { map, axis: axis.clone() });
                }
            }
            1 => {
                let map = axis.pad(size.next_power_of_two() * random.pick(&[1, 2]));
                let map = if map.size() == size { axis.clone() } else { map };
                factors.push(Factor { map, axis });
            }
            _ => factors.push(Factor { map: axis.clone(), axis }),
        }
    }
    factors
}

/// The factors as time spells them.
pub fn maps(factors: &[Factor]) -> Vec<Map> {
    factors.iter().map(|factor| factor.map.clone()).collect()
}

/// The axes of the factors, each once, in the order of their first use.
pub fn memory_axes(factors: &[Factor]) -> Vec<Map> {
    let mut axes: Vec<Map> = Vec::new();
    for factor in factors {
        if !axes.contains(&factor.axis) {
            axes.push(factor.axis.clone());
        }
    }
    axes
}

/// Pads the factors outside a block so that flits cut the whole cleanly, innermost factor first.
pub fn pad_to_flits(factors: &mut [Map], block: &Map, per_flit: usize) -> Map {
    let mut need = per_flit / block.size().min(per_flit);
    for factor in factors.iter_mut().rev() {
        if need.is_multiple_of(factor.size()) {
            need /= factor.size();
            continue;
        }
        if !factor.size().is_multiple_of(need) {
            *factor = factor.pad(factor.size().next_multiple_of(need));
        }
        need = 1;
        break;
    }
    let whole = Map::sequence(&[factors, &[block.clone()][..]].concat());
    if need == 1 { whole } else { whole.pad(whole.size() * need) }
}
