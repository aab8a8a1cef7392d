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
    /// Positions from here on are padding.
    pub valid: usize,
    /// Number of positions.
    pub extent: usize,
}

impl Digit {
    fn whole(node: &Map, valid: usize, extent: usize) -> Digit {
        Digit { node: node.clone(), weight: 1, modulus: node.size(), valid, extent }
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
        return vec![Digit { node: Map::One, weight: 1, modulus: 1, valid: 1, extent: n }];
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
        let Some(digit) = outer.pop() else { break };
        if rest.is_multiple_of(digit.extent) {
            rest /= digit.extent;
            inner.insert(0, digit);
        } else if digit.extent.is_multiple_of(rest) {
            outer.push(Digit {
                weight: digit.weight * rest,
                modulus: digit.modulus.div_ceil(rest),
                valid: digit.valid.div_ceil(rest),
                extent: digit.extent / rest,
                node: digit.node.clone(),
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
    axes: BTreeMap<Name, Vec<(usize, usize)>>,
}

impl Projection {
    /// The projection onto the digits of `dims`.
    ///
    /// # Errors
    /// When `dims` hold a part of an expression that cannot be cut into digits of single axes.
    pub fn onto(dims: &[&Map]) -> Result<Projection, String> {
        let mut axes: BTreeMap<Name, Vec<(usize, usize)>> = BTreeMap::new();
        let mut pending: Vec<Digit> = dims.iter().flat_map(|dim| digits(dim)).collect();
        // Highest expression first: a group may come to light only when a group around it is taken apart.
        while let Some(group) = pending.iter().map(|digit| digit.node.clone()).max_by_key(Map::height) {
            let (parts, rest): (Vec<Digit>, Vec<Digit>) =
                pending.into_iter().partition(|digit| digit.node == group);
            pending = rest;
            let mut parts: Vec<(usize, usize)> =
                parts.iter().map(|digit| (digit.weight, digit.modulus)).collect();
            match &group {
                Map::One => {}
                Map::Axis { name, .. } => axes.entry(name.clone()).or_default().extend(parts),
                _ => {
                    parts.sort_unstable();
                    let mut reach = 1;
                    for (weight, modulus) in parts {
                        if weight == reach {
                            reach *= modulus;
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
            let mut kept = 0;
            let mut taken: Vec<(usize, usize)> = Vec::new();
            for (weight, modulus) in self.axes.get(name).into_iter().flatten() {
                if !taken.contains(&(*weight, *modulus)) {
                    taken.push((*weight, *modulus));
                    kept += weight * (value / weight % modulus);
                }
            }
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

/// The digits with more than one live position of `dims` for which no tuple in `visited` has a value above 0.
pub fn unread_digits(dims: &[&Map], visited: &[Coordinates]) -> Vec<Digit> {
    let mut list: Vec<Digit> = dims.iter().flat_map(|dim| digits(dim)).collect();
    list.retain(|digit| {
        let live = |value: usize| union(&[(&digit.node, value * digit.weight)]).is_some();
        (1..digit.valid).any(live)
    });
    list.retain(|digit| match &digit.node {
        Map::Axis { name, .. } => !visited.iter().any(|coordinates| {
            let value = coordinates.get(name).copied().unwrap_or(0);
            value / digit.weight % digit.modulus > 0
        }),
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

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: &[(&str, usize)] = &[("A", 3), ("B", 5), ("C", 2), ("G", 6), ("H", 10), ("K", 24), ("P", 7)];

    fn map(text: &str) -> Map {
        Map::parse(text, AXES)
    }

    fn shape(text: &str) -> Vec<(String, usize, usize, usize, usize)> {
        digits(&map(text))
            .into_iter()
            .map(|d| (d.node.to_string(), d.weight, d.modulus, d.valid, d.extent))
            .collect()
    }

    #[test]
    fn digits_of_examples() {
        let row = |node: &str, w, m, v, e| (map(node).to_string(), w, m, v, e);
        assert_eq!(shape("K / 6 % 2"), [row("K", 6, 2, 2, 2)]);
        assert_eq!(shape("P # 20 / 4"), [row("P", 4, 2, 2, 5)]);
        assert_eq!(shape("P # 20 % 4"), [row("P", 1, 4, 4, 4)]);
        assert_eq!(shape("K = 9"), [row("K", 1, 24, 9, 9)]);
        assert_eq!(shape("[K, G] = 12"), [row("K", 1, 24, 2, 2), row("G", 1, 6, 6, 6)]);
        assert_eq!(shape("P # 32 / 16"), [row("P", 16, 1, 1, 2)]);
        assert_eq!(shape("[B, C] # 16"), [row("B", 1, 5, 5, 8), row("C", 1, 2, 2, 2)]);
        assert_eq!(shape("[A, B, C] # 32"), [row("[A, B, C]", 1, 30, 30, 32)]);
        assert_eq!(shape("1 # 4, 1"), [row("1", 1, 1, 1, 4)]);
        assert_eq!(shape("[G, P # 9] / 6"), [row("[G, P # 9]", 6, 9, 9, 9)]);
    }

    #[test]
    fn outer_padding_ends_where_the_content_begins() {
        for (text, size) in [
            ("A # 8, B", 15),
            ("A, B # 8", 24),
            ("1 # 4, G # 10", 6),
            ("P # 20 / 4", 2),
            ("K = 9 # 12", 9),
            ("[A, B, C] # 32", 30),
            ("[K, G # 10] = 10", 6),
            ("1 # 8", 1),
        ] {
            assert_eq!(content(&map(text)), size, "{text}");
        }
        assert!(repad(&map("A # 8, B"), 20).equivalent(&map("A # 4, B")));
    }

    #[test]
    fn projection_drops_foreign_digits() {
        let index = |k: usize, p: usize| {
            let mut coordinates = Coordinates::new();
            for (name, value) in [("K", k), ("P", p)] {
                if value > 0 {
                    coordinates.insert(name.to_string(), value);
                }
            }
            coordinates
        };
        let outer = Projection::onto(&[&map("K / 4")]).expect("a digit");
        assert_eq!(outer.apply(&index(23, 3)), index(20, 0));
        let both = Projection::onto(&[&map("K / 4"), &map("P # 8, K % 4")]).expect("digits");
        assert_eq!(both.apply(&index(23, 3)), index(23, 3));
        // A resize keeps the digit, a modulo makes a new one.
        assert_eq!(Projection::onto(&[&map("K = 8")]).expect("a digit").apply(&index(23, 0)), index(23, 0));
        assert_eq!(Projection::onto(&[&map("K % 8")]).expect("a digit").apply(&index(23, 0)), index(7, 0));
        assert!(Projection::onto(&[&map("[P, G] / 14")]).is_err());
        assert!(Projection::onto(&[&map("[P, G] / 14"), &map("[P, G] % 14")]).is_ok());
        // The second half of a group is found inside another group.
        assert!(Projection::onto(&[&map("[B, C] # 16 / 4"), &map("[A, [B, C] # 16 % 4] # 33")]).is_ok());
    }
}
