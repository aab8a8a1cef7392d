//! Layouts between two steps: few, made of the digits of both sides.
//!
//! | from, to | between |
//! |---|---|
//! | any | HBM, in the order of the source or of the destination |
//! | HBM, DM | the slices of the destination, with the order of the source; the source spread over all slices |
//! | DM, HBM | the slices of the source, with the order of the destination; the destination spread over all slices |
//! | DM, DM | slices of the source with the order of the destination, and the other way round |
//! | HBM, HBM | the source spread over all clusters and slices |

use super::digits::{
    Parts, Values, in_order_of, innermost, live, parts_of, refine, size_of, text_of, units_of, without,
};
use super::{Place, Problem};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::spec;

/// The digits of a place, outermost first: clusters, slices and elements.
pub(crate) fn order_of(place: &Place) -> Option<Parts> {
    match place {
        Place::Hbm { element } => parts_of(element),
        Place::Dm { cluster, slice, element } => {
            Some([units_of(cluster)?, units_of(slice)?, parts_of(element)?].concat())
        }
    }
}

/// The places between both sides of a problem.
pub fn places(problem: &Problem, values: &Values) -> Vec<Place> {
    let (from, to) = (&problem.from, &problem.to);
    let (Some(source), Some(destination)) = (order_of(from), order_of(to)) else { return Vec::new() };
    // Copies are made by the last step.
    let held = |parts: &Parts| -> Parts {
        let is_held = |part: &&super::digits::Part| {
            part.digit.is_some_and(|digit| {
                source.iter().any(|other| other.digit.is_some_and(|other| other.axis == digit.axis))
            })
        };
        parts.iter().filter(is_held).copied().collect()
    };
    let hbm = |order: &Parts| Some(Place::Hbm { element: values.of_parts(&live(order))? });
    let mut places = vec![hbm(&source), hbm(&held(&destination))];
    match (*from, *to) {
        (Place::Hbm { .. }, Place::Dm { cluster, .. }) => {
            places.push(reordered(to, &source, values));
            places.push(spread(&source, cluster, values));
        }
        (Place::Dm { cluster, .. }, Place::Hbm { .. }) => {
            places.push(reordered(from, &destination, values));
            places.push(spread(&held(&destination), cluster, values));
        }
        (Place::Dm { .. }, Place::Dm { .. }) => {
            places.push(reordered(from, &destination, values));
            places.push(reordered(to, &source, values));
        }
        (Place::Hbm { .. }, Place::Hbm { .. }) => {
            let outermost = innermost(&source, size_of(&source) / spec::CLUSTERS);
            let cluster = outermost
                .filter(|[outer, _]| size_of(outer) == spec::CLUSTERS)
                .map_or_else(|| format!("1 # {}", spec::CLUSTERS), |[outer, _]| text_of(&outer));
            places.push(values.of(&cluster).and_then(|cluster| spread(&source, cluster, values)));
        }
    }
    let mut known: Vec<Place> = vec![*from, *to];
    for place in places.into_iter().flatten() {
        if !known.iter().any(|other| other.is_same(&place)) {
            known.push(place);
        }
    }
    known.split_off(2)
}

/// A place in DM with its elements in another order.
fn reordered(place: &Place, order: &Parts, values: &Values) -> Option<Place> {
    let Place::Dm { cluster, slice, element } = *place else { return None };
    let mut lists = [parts_of(element)?, order.clone()];
    refine(&mut lists)?;
    let [element, order] = lists;
    let element = values.of_parts(&in_order_of(&element, &order))?;
    Some(Place::Dm { cluster, slice, element })
}

/// An order spread over the slices of clusters: as many slices as divide it.
pub(crate) fn spread(order: &Parts, cluster: &'static Expr, values: &Values) -> Option<Place> {
    let mut lists = [live(order), units_of(cluster)?];
    refine(&mut lists)?;
    let [order, clusters] = lists;
    let inside = without(&order, &clusters);
    let positions = size_of(&inside);
    let slices = (0..=spec::SLICES.ilog2()).rev().map(|bits| 1 << bits).find(|slices| {
        positions.is_multiple_of(*slices)
            && innermost(&inside, positions / slices).is_some_and(|[outer, _]| size_of(&outer) == *slices)
    })?;
    let [outer, element] = innermost(&inside, positions / slices)?;
    let slice = super::digits::padded_text(&outer, spec::SLICES);
    Some(Place::Dm { cluster, slice: values.of(&slice)?, element: values.of_parts(&element)? })
}
