//! The digits that a mapping spells, its outer padding, and the projection onto its digits.
//!
//! What a position *means* is decided in [`super::mapping`] alone. The digits answer two questions that meaning
//! does not: which part of a destination is a broadcast, and where the outermost padding begins.

use super::mapping::{Coordinates, Map, Name, union};
use std::collections::BTreeMap;

/// One digit: position `k` of it adds `k * weight` to the offset into `node`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digit {
    /// An axis, `1` for pure padding, or an expression that cannot be cut into digits of single axes.
    pub node: Map,
    /// Offset into `node` per position.
    pub weight: usize,
    /// The digit is `(offset / weight) % modulus`.
    pub modulus: usize,
    /// Digits that this one is a part of, by weight and modulus, the whole one first. What they leave of an offset is the
    /// offset of this digit: in `K % 3 # 4 / 2` it is `(K % 3) / 2`, which no weight and modulus say of `K`.
    pub within: Vec<[usize; 2]>,
    /// Positions from here on are padding.
    pub valid: usize,
    /// Number of positions.
    pub extent: usize,
}

impl Digit {
    fn whole(node: &Map, valid: usize, extent: usize) -> Digit {
        Digit { node: node.clone(), weight: 1, modulus: node.size(), within: vec![], valid, extent }
    }

    /// The digit of an offset into its node.
    fn of(&self, offset: usize) -> usize {
        let left =
            self.within.iter().fold(offset, |left, [weight, modulus]| left / weight % modulus * weight);
        left / self.weight % self.modulus
    }

    /// Notes that the digit is cut into `offset % n` and what is above it. Where `n` does not divide a modulus below the
    /// end of the node, neither part is a digit of the node itself.
    fn cut_at(&mut self, n: usize) {
        let ends = self.weight * self.modulus >= self.end();
        if !ends && n < self.modulus && !self.modulus.is_multiple_of(n) {
            self.within.push([self.weight, self.modulus]);
        }
    }

    /// Offsets from here on do not occur.
    fn end(&self) -> usize {
        self.within.last().map_or(self.node.size(), |[weight, modulus]| weight * modulus)
    }
}

fn volume(digits: &[Digit]) -> usize {
    digits.iter().map(|digit| digit.extent).product()
}

/// Positions up to the outermost padding. Padding further in is counted.
fn content_of(digits: &[Digit]) -> usize {
    match digits {
        [] => 1,
        [outer, rest @ ..] if outer.valid == 1 => content_of(rest),
        [outer, rest @ ..] => outer.valid * volume(rest),
    }
}

/// The digits of a mapping, outermost first, without those of one position.
pub fn digits(map: &Map) -> Vec<Digit> {
    let list = match map {
        Map::One => vec![],
        Map::Axis { size, .. } => vec![Digit::whole(map, *size, *size)],
        Map::Pair(left, right) => [digits(left), digits(right)].concat(),
        Map::Padding(inner, n) => padded(inner, *n),
        Map::Resize(inner, n) if *n >= inner.size() => padded(inner, *n),
        Map::Resize(inner, n) => {
            let mut list = digits(inner);
            while volume(&list[1..]) > *n {
                list.remove(0);
            }
            let base = volume(&list[1..]);
            let kept = list[0].valid * base;
            if n.is_multiple_of(base) {
                list[0].extent = n / base;
                list[0].valid = list[0].valid.min(n / base);
                list
            } else if *n >= kept {
                padded(&inner.resize(kept), *n)
            } else {
                vec![Digit::whole(inner, *n, *n)]
            }
        }
        Map::Margin(0, inner, after) => padded(inner, inner.size() + after),
        // One unit: where it is cut, both parts decide together what is dead.
        Map::Margin(before, inner, _) => vec![Digit::whole(map, before + content(inner), map.size())],
        Map::Stride(inner, n) => cut(inner, *n).0,
        Map::Modulo(inner, n) => cut(inner, *n).1,
    };
    list.into_iter().filter(|digit| digit.extent > 1).collect()
}

fn padded(inner: &Map, n: usize) -> Vec<Digit> {
    let mut list = digits(inner);
    if list.is_empty() {
        return vec![Digit { extent: n, ..Digit::whole(&Map::One, 1, 1) }];
    }
    let base = volume(&list[1..]);
    if n.is_multiple_of(base) {
        list[0].extent = n / base;
        return list;
    }
    vec![Digit::whole(inner, content_of(&list), n)]
}

/// The digits of `map / n` and of `map % n`.
fn cut(map: &Map, n: usize) -> (Vec<Digit>, Vec<Digit>) {
    let mut outer = digits(map);
    let mut inner = Vec::new();
    let mut rest = n;
    while rest > 1 {
        let Some(mut digit) = outer.pop() else { break };
        if rest.is_multiple_of(digit.extent) {
            rest /= digit.extent;
            inner.insert(0, digit);
        } else if digit.extent.is_multiple_of(rest) {
            digit.cut_at(rest);
            outer.push(Digit {
                weight: digit.weight * rest,
                modulus: digit.modulus.div_ceil(rest),
                valid: digit.valid.div_ceil(rest),
                extent: digit.extent / rest,
                ..digit.clone()
            });
            inner.insert(
                0,
                Digit {
                    modulus: digit.modulus.min(rest),
                    valid: digit.valid.min(rest),
                    extent: rest,
                    ..digit
                },
            );
            rest = 1;
        } else {
            let content = content_of(&digits(map));
            let part = Digit::whole(map, content, map.size());
            let high = Digit {
                weight: n,
                modulus: part.modulus / n,
                valid: content.div_ceil(n),
                extent: part.extent / n,
                ..part.clone()
            };
            let low = Digit { modulus: n, valid: content.min(n), extent: n, ..part };
            return (vec![high], vec![low]);
        }
    }
    (outer, inner)
}

/// Number of positions below the outermost padding.
pub fn content(map: &Map) -> usize {
    content_of(&digits(map))
}

/// The mapping without its outermost padding.
pub fn strip(map: &Map) -> Map {
    let size = content(map);
    match map {
        _ if size == 1 => Map::One,
        _ if size == map.size() => map.clone(),
        // The same expression without the padding reads better than one that cuts the padding off again.
        Map::Padding(inner, _) | Map::Resize(inner, _) if content(inner) == size => strip(inner),
        _ => map.resize(size),
    }
}

/// The mapping with its outermost padding replaced, so that it has `n` positions.
pub fn repad(map: &Map, n: usize) -> Map {
    let content = strip(map);
    if content.size() == n { content } else { content.pad(n) }
}

/// Takes an index to the part of it that a group of dimensions spells: digits that the group lacks become 0.
pub struct Projection {
    axes: BTreeMap<Name, Vec<Digit>>,
}

impl Projection {
    /// The projection onto the digits of `dims`.
    ///
    /// # Errors
    /// When `dims` hold a part of an expression that cannot be cut into digits of single axes.
    pub fn onto(dims: &[&Map]) -> Result<Projection, String> {
        let mut axes: BTreeMap<Name, Vec<Digit>> = BTreeMap::new();
        let mut pending: Vec<Digit> = dims.iter().flat_map(|dim| digits(dim)).collect();
        // Highest expression first: a group may come to light only when a group around it is taken apart.
        while let Some(group) = pending.iter().map(|digit| digit.node.clone()).max_by_key(Map::height) {
            let (mut parts, rest): (Vec<Digit>, Vec<Digit>) =
                pending.into_iter().partition(|digit| digit.node == group);
            pending = rest;
            match &group {
                Map::One => {}
                Map::Axis { name, .. } => axes.entry(name.clone()).or_default().extend(distinct(parts)),
                _ => {
                    parts.sort_by_key(|part| (part.weight, part.modulus));
                    let mut reach = 1;
                    for part in parts {
                        if part.weight == reach {
                            reach = (reach * part.modulus).min(part.end());
                        }
                    }
                    if reach < content(&group) {
                        return Err(format!("only a part of {group} is present"));
                    }
                    // A group that is present as a whole spells what its expression spells.
                    pending.extend(match &group {
                        Map::Margin(_, inner, _) => digits(inner),
                        _ => digits(&group),
                    });
                }
            }
        }
        Ok(Projection { axes })
    }

    /// The part of `coordinates` that the dimensions spell.
    pub fn apply(&self, coordinates: &Coordinates) -> Coordinates {
        let mut result = Coordinates::new();
        for (name, value) in coordinates {
            let own = self.axes.get(name).into_iter().flatten();
            let kept: usize = own.map(|digit| digit.weight * digit.of(*value)).sum();
            if kept > 0 {
                result.insert(name.clone(), kept);
            }
        }
        result
    }

    /// Whether the axis occurs at all.
    pub fn has_axis(&self, name: &str) -> bool {
        self.axes.contains_key(name)
    }
}

/// Digits of one node, without those that are there already.
fn distinct(parts: Vec<Digit>) -> Vec<Digit> {
    let mut kept: Vec<Digit> = Vec::new();
    for part in parts {
        let same = |other: &Digit| {
            (part.weight, part.modulus, &part.within) == (other.weight, other.modulus, &other.within)
        };
        if !kept.iter().any(same) {
            kept.push(part);
        }
    }
    kept
}

/// The digits with more than one live position of `dims` for which no tuple in `visited` has a value above 0.
pub fn unread_digits(dims: &[&Map], visited: &[Coordinates]) -> Vec<Digit> {
    let mut list: Vec<Digit> = dims.iter().flat_map(|dim| digits(dim)).collect();
    list.retain(|digit| {
        let live = |value: usize| union(&[(&digit.node, value * digit.weight)]).is_some();
        (1..digit.valid).any(live)
    });
    list.retain(|digit| match &digit.node {
        Map::Axis { name, .. } => {
            !visited.iter().any(|coordinates| digit.of(coordinates.get(name).copied().unwrap_or(0)) > 0)
        }
        node => {
            let first = union(&[(node, 0)]);
            visited.iter().all(|coordinates| {
                node.axes().keys().all(|name| {
                    coordinates.get(name).copied().unwrap_or(0)
                        == first.as_ref().and_then(|first| first.get(name)).copied().unwrap_or(0)
                })
            })
        }
    });
    list
}
