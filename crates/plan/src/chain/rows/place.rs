//! Layouts in which a slice has whole rows, with runs of 8 elements, and the mappings of their passes.

use super::Rows;
use crate::layout::Mapping;
use crate::route::Place;
use crate::route::between::{order_of, spread};
use crate::route::digits::{Part, Parts, Values, parts_of, text_of};
use crate::route::steps::distinct;
use furiosa_visa_rules::lower::Call;
use furiosa_visa_rules::mapping::{Expr, Ident};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;

/// The mappings of the passes over rows.
#[derive(Clone, Debug)]
pub struct RowLayout {
    /// The axis along which rows go.
    pub axis: Ident,
    /// The elements in DM.
    pub element: Mapping,
    /// The rows of a slice.
    pub rows: Mapping,
    /// Time, packet of the fetch and packet of the collect, of rows.
    pub flits: [Mapping; 3],
    /// The same, of numbers of rows in DM.
    pub numbers: [Mapping; 3],
    /// Time and packet of halves of a flit.
    pub halves: [Mapping; 2],
    /// The packet of a number of a row, in 4 lanes.
    pub number: Mapping,
    /// The packet of rows that are narrowed.
    pub cast: Mapping,
    /// Numbers of rows in DM.
    pub stored: Mapping,
}

impl RowLayout {
    /// The mappings for rows at a place. `None`: a slice has no whole rows there, or no runs of them.
    pub fn new(rows: &Rows, place: &Place, values: &Values) -> Option<Self> {
        let Place::Dm { element, .. } = *place else { return None };
        let parts = parts_of(element)?;
        let own: Parts = parts.iter().filter(|part| is_of(part, rows)).copied().collect();
        let others: Parts = parts.iter().filter(|part| !is_of(part, rows)).copied().collect();
        let lanes = spec::BEAT_LANES;
        let is_whole = own.iter().map(|part| part.size).product::<usize>() == rows.size;
        let last = parts.last().filter(|part| is_of(part, rows) && part.size.is_multiple_of(lanes))?;
        if !is_whole || last.digit.is_none_or(|digit| digit.stride != 1) {
            return None;
        }
        let axis = last.digit?.axis.name;
        let mapping = |text: String| Some(Mapping { expr: values.of(&text)?, text });
        let outer = text_of(&others);
        let with = |digit: Option<String>| {
            let kept = (outer != "1").then(|| outer.clone());
            let list: Vec<String> = kept.into_iter().chain(digit).collect();
            mapping(if list.is_empty() { "1".to_string() } else { list.join(", ") })
        };
        let name = &rows.axis;
        let groups = |lanes: usize| (rows.size > lanes).then(|| format!("{name} / {lanes}"));
        let packet = |lanes: usize| match rows.size > lanes {
            true => format!("{name} % {lanes}"),
            false => name.clone(),
        };
        let half = lanes / 2;
        let flit = mapping(packet(lanes))?;
        let narrowed = spec::FLIT_BYTES * 8 / super::passes::MADE.bits();
        let padding = |size: usize| mapping(format!("1 # {size}"));
        // DMA and commits move at least two numbers.
        let two = 8 * spec::FETCH_ALIGN_BYTES / ElementType::F32.bits();
        Some(Self {
            axis,
            element: mapping(element.to_string())?,
            rows: with(None)?,
            flits: [with(groups(lanes))?, flit.clone(), flit.clone()],
            numbers: [with(None)?, padding(two)?, padding(lanes)?],
            halves: [with(groups(half))?, mapping(packet(half))?],
            number: padding(half)?,
            cast: mapping(format!("{} # {narrowed}", flit.text))?,
            stored: with(Some(format!("1 # {two}")))?,
        })
    }

    pub(super) fn split(&self) -> Call {
        Call::Split { time: self.halves[0].expr, packet: self.halves[1].expr }
    }

    pub(super) fn concat(&self) -> Call {
        Call::Concat { time: self.flits[0].expr, packet: self.flits[2].expr }
    }

    pub(super) fn trim(&self) -> Call {
        Call::Trim { packet: self.number.expr }
    }

    pub(super) fn pad(&self) -> Call {
        Call::Pad { packet: self.numbers[2].expr }
    }
}

/// Tells if a digit is of the axis of rows.
fn is_of(part: &Part, rows: &Rows) -> bool {
    part.digit.is_some_and(|digit| digit.axis.name.as_str() == rows.axis)
}

/// A place with the axis of rows innermost. `None`: a unit has no whole rows.
fn reordered(rows: &Rows, place: &Place, values: &Values) -> Option<Place> {
    let Place::Dm { cluster, slice, element } = *place else { return None };
    let parts = parts_of(element)?;
    let own: usize = parts.iter().filter(|part| is_of(part, rows)).map(|part| part.size).product();
    if own != rows.size {
        return None;
    }
    let others: Parts = parts.iter().filter(|part| !is_of(part, rows)).copied().collect();
    Some(Place::Dm { cluster, slice, element: innermost(rows, &others, values)? })
}

/// Elements with the axis of rows innermost.
fn innermost(rows: &Rows, others: &Parts, values: &Values) -> Option<&'static Expr> {
    let outer = text_of(others);
    let name = &rows.axis;
    values.of(&if outer == "1" { name.clone() } else { format!("{outer}, {name}") })
}

/// Rows spread over the slices of clusters, in an order.
fn rows_spread(rows: &Rows, order: &Parts, cluster: &'static Expr, values: &Values) -> Option<Place> {
    let others: Parts = order.iter().filter(|part| !is_of(part, rows)).copied().collect();
    let Place::Dm { cluster, slice, element } = spread(&others, cluster, values)? else { return None };
    let inside = parts_of(element)?;
    Some(Place::Dm { cluster, slice, element: innermost(rows, &inside, values)? })
}

/// Mappings of clusters between two sides: those of both, halves of the outermost of some axes, and one cluster.
pub fn clusters(sides: [&Place; 2], axes: &[&String], values: &Values) -> Vec<&'static Expr> {
    let mut clusters: Vec<&'static Expr> = Vec::new();
    for side in sides {
        if let Place::Dm { cluster, .. } = side {
            clusters.push(cluster);
        }
    }
    let halves = axes.iter().filter_map(|axis| {
        let size = values.of(axis)?.size();
        (size.is_multiple_of(spec::CLUSTERS) && size > 1)
            .then(|| values.of(&format!("{axis} / {}", size / spec::CLUSTERS)))?
    });
    clusters.extend(halves.take(1));
    clusters.extend(values.of(&format!("1 # {}", spec::CLUSTERS)));
    clusters
}

/// The places between two sides in which the passes of a function may read rows: those of both sides, with rows innermost,
/// and rows spread over the slices of [`clusters`].
pub fn places(rows: &Rows, sides: [&Place; 2], values: &Values) -> Vec<Place> {
    let mut found: Vec<Option<Place>> = Vec::new();
    for side in sides {
        if let Place::Dm { .. } = side {
            found.extend([Some(*side), reordered(rows, side, values)]);
        }
    }
    let others: Vec<&String> = rows.tensor.iter().filter(|axis| **axis != rows.axis).collect();
    for side in sides {
        let Some(order) = order_of(side) else { continue };
        let clusters = clusters(sides, &others, values).into_iter();
        found.extend(clusters.map(|cluster| rows_spread(rows, &order, cluster, values)));
    }
    distinct(found.into_iter().flatten())
}
