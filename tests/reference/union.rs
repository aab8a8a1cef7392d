//! What positions of several mappings mean together.

use crate::coordinates::{Coordinates, Name};
use crate::mapping::Map;

/// Dimensions, with the nodes of their trees and where each one sends its offset.
///
/// A node below a cut, or with an axis, is one node for all of its occurrences: what is sent to it is added. Others are spelled
/// alike (`1 # 2`) and stay apart, as the dimensions themselves do.
pub struct Union<'a> {
    nodes: Vec<Node<'a>>,
    /// Numbers of the dimensions' nodes.
    dims: Vec<usize>,
    /// Numbers of the nodes, each one behind those that send to it; axes come last, by their names.
    order: Vec<usize>,
    /// What was sent to each node.
    offsets: Vec<usize>,
}

struct Node<'a> {
    map: &'a Map,
    shared: bool,
    size: usize,
    /// A node is higher than the nodes that it sends to.
    height: usize,
    sends: Sends,
}

/// The nodes to which an offset goes, and how.
enum Sends {
    Nothing,
    Coordinate(Name),
    Times(usize, usize),
    /// The offset without the positions before the inner ones, of which there are so many.
    Inside {
        to: usize,
        before: usize,
        inner: usize,
    },
    Split {
        outer: usize,
        inner: usize,
        size: usize,
    },
}

impl<'a> Union<'a> {
    /// Several dimensions.
    pub fn new(dims: &[&'a Map]) -> Self {
        let mut union = Self { nodes: Vec::new(), dims: Vec::new(), order: Vec::new(), offsets: Vec::new() };
        for dim in dims {
            let dim = union.node(dim, matches!(dim, Map::Axis { .. }));
            union.dims.push(dim);
        }
        let mut order: Vec<usize> = (0..union.nodes.len()).collect();
        order.sort_by_key(|number| {
            let node = &union.nodes[*number];
            let name = match node.map {
                Map::Axis { name, .. } => Some(name),
                _ => None,
            };
            (std::cmp::Reverse(node.height), name)
        });
        union.offsets = vec![0; order.len()];
        Self { order, ..union }
    }

    /// The number of a node, and of all that it sends to.
    fn node(&mut self, map: &'a Map, shared: bool) -> usize {
        let known = self.nodes.iter().position(|node| shared && node.shared && node.map == map);
        if let Some(known) = known {
            return known;
        }
        let number = self.nodes.len();
        self.nodes.push(Node { map, shared, size: map.size(), height: 0, sends: Sends::Nothing });
        let cuts = matches!(map, Map::Stride(..) | Map::Modulo(..));
        let mut height = 0;
        let mut below = |inner: &'a Map| {
            let number = self.node(inner, cuts || !inner.is_bare());
            height = height.max(self.nodes[number].height + 1);
            number
        };
        let sends = match map {
            Map::One => Sends::Nothing,
            Map::Axis { name, .. } => Sends::Coordinate(name.clone()),
            Map::Stride(inner, n) => Sends::Times(below(inner), *n),
            Map::Modulo(inner, _) | Map::Resize(inner, _) | Map::Padding(inner, _) => {
                Sends::Times(below(inner), 1)
            }
            Map::Margin(before, inner, _) => {
                Sends::Inside { to: below(inner), before: *before, inner: inner.size() }
            }
            Map::Pair(left, right) => {
                Sends::Split { outer: below(left), inner: below(right), size: right.size() }
            }
        };
        let node = &mut self.nodes[number];
        (node.height, node.sends) = (height, sends);
        number
    }

    /// The tensor index at a position of each dimension. `None` when any part is padding, any sum leaves its node, or any axis
    /// leaves its range.
    pub fn at(&mut self, positions: &[usize]) -> Option<Coordinates> {
        assert_eq!(positions.len(), self.dims.len(), "a position for each dimension");
        self.offsets.fill(0);
        for (dim, position) in self.dims.iter().zip(positions) {
            self.offsets[*dim] += position;
        }
        let mut coordinates = Coordinates::new();
        for number in &self.order {
            let (node, offset) = (&self.nodes[*number], self.offsets[*number]);
            if offset >= node.size {
                return None;
            }
            match &node.sends {
                Sends::Nothing => {}
                Sends::Coordinate(name) => {
                    if offset > 0 {
                        coordinates.insert(name.clone(), offset);
                    }
                }
                Sends::Times(to, n) => self.offsets[*to] += offset * n,
                Sends::Inside { to, before, inner } => {
                    self.offsets[*to] += offset.checked_sub(*before).filter(|inside| inside < inner)?;
                }
                Sends::Split { outer, inner, size } => {
                    self.offsets[*outer] += offset / size;
                    self.offsets[*inner] += offset % size;
                }
            }
        }
        Some(coordinates)
    }
}
