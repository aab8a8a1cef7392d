//! Pipelines with one mapping changed: what the reference refuses is refused, what is accepted computes the same, and
//! what only the library refuses is refused by a rule that is known to ask for more.

use crate::pipelines::{TYPES, Values, check_values, describe};
use crate::program::Plan;
use crate::reference::cases::for_cases;
use crate::reference::mapping::Map;
use crate::reference::pipelines::{Pipeline, random_contraction};
use crate::reference::random::{Axes, Random, borrowed};
use crate::reference::tensor::MathTensor;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// The mappings of a pipeline that a kernel writes, with their names.
fn mappings(case: &mut Pipeline) -> [(&'static str, &mut Map); 15] {
    let c = &mut case.contraction;
    let [data_time, data_packet] = &mut case.data_fetch;
    let [weight_time, weight_packet] = &mut case.weight_fetch;
    let [collect_time, collect_packet] = &mut case.weight_collect;
    [
        ("data element", &mut case.data_element),
        ("weight element", &mut case.weight_element),
        ("data fetch time", data_time),
        ("data fetch packet", data_packet),
        ("weight fetch time", weight_time),
        ("weight fetch packet", weight_packet),
        ("weight collect time", collect_time),
        ("weight collect packet", collect_packet),
        ("stream time", &mut c.stream_time),
        ("stream packet", &mut c.stream_packet),
        ("row", &mut c.row),
        ("register file element", &mut c.trf_element),
        ("align time", &mut c.out_time),
        ("align packet", &mut c.out_packet),
        ("result element", &mut case.result_element),
    ]
}

/// Changes one node of an expression.
pub fn changed(random: &mut Random, map: &Map, axes: &[(String, usize)]) -> Map {
    if let Map::Pair(left, right) = map {
        return match random.below(5) {
            0 => Map::Pair(right.clone(), left.clone()),
            1 => *left.clone(),
            2 | 3 => Map::Pair(Box::new(changed(random, left, axes)), right.clone()),
            _ => Map::Pair(left.clone(), Box::new(changed(random, right, axes))),
        };
    }
    let size = map.size();
    let other = random.pick(axes);
    match random.below(9) {
        0 => Map::One,
        1 => map.resize(size.saturating_sub(1)),
        2 => map.pad(size + 1),
        3 => map.pad(size * 2),
        4 => map.stride(2),
        5 => map.modulo(2),
        6 => Map::Pair(Box::new(map.stride(2)), Box::new(map.modulo(2))),
        7 => Map::Pair(Box::new(map.modulo(2)), Box::new(map.stride(2))),
        _ => Map::axis(&other.0, other.1),
    }
}

/// A legal pipeline, one of whose mappings has been changed. The name says which.
pub fn mutant(random: &mut Random) -> (Pipeline, &'static str) {
    loop {
        let element = random.pick(&TYPES);
        let mut case = random_contraction(random, element);
        let axes = case.axes.clone();
        let place = random.below(15);
        let (name, map) = mappings(&mut case).into_iter().nth(place).expect("one of fifteen");
        let before = map.clone();
        *map = changed(random, map, &axes);
        let changed = map.clone();
        // Sizes of an invalid expression mean nothing.
        let large = changed.validity().is_ok() && changed.size() > 2048;
        if !large && (changed.validity().is_err() || !changed.equivalent(&before)) {
            return (case, name);
        }
    }
}

/// Whether a mapping breaks the rules of its constructors.
pub fn is_invalid(case: &mut Pipeline) -> bool {
    mappings(case).iter().any(|(_, map)| map.validity().is_err())
}

/// Whether the reference says more than the library can know: that its own expressions end where a group is cut.
fn is_open(reason: &str) -> bool {
    reason.contains("only a part of")
}

/// Rules that the reference does not have: it computes whatever its coordinates allow.
const STRICTER: &[&str] = &[
    "packet bytes",
    "whole bytes",
    "sub-context fetch size",
    "entry limit",
    "not factorizable",
    "axis dropped",
    "axis repeated",
    // A padding of its own in time is copied.
    "accumulate padding",
    // The stream goes through in its order; only what the register file has repeats a packet, innermost.
    "accumulate order",
    "align tiling not in TRF",
    "align tiling position",
];

/// Whether a rule asks for more than the reference, for this pipeline.
fn is_stricter(rule: &str, case: &Pipeline, changed: &str) -> bool {
    match rule {
        // All rows would do the same work.
        "align row axis" => {
            let (rows, time) = (case.contraction.row.axes(), case.contraction.out_time.axes());
            rows.keys().any(|axis| time.contains_key(axis))
        }
        // `A % 2` is all elements by their last digit and `A = 2` the first two of them. Coordinates show the same two.
        "commit packet" => changed == "result element" && ends_with_a_digit(&case.result_element),
        _ => STRICTER.contains(&rule),
    }
}

/// Whether the innermost part of an expression is a last digit, `A % 2`.
fn ends_with_a_digit(map: &Map) -> bool {
    match map {
        Map::Pair(_, inner) => ends_with_a_digit(inner),
        Map::Modulo(..) => true,
        _ => false,
    }
}

#[test]
fn changed_pipelines() {
    let seen: [Cell<usize>; 3] = Default::default();
    let rules: RefCell<BTreeMap<&'static str, usize>> = RefCell::default();
    for_cases(175, |random| {
        let (mut case, name) = mutant(random);
        let invalid = is_invalid(&mut case);
        let plan = Plan::derive(&case);
        let outcome = match plan {
            Err(_) if invalid => Ok(()),
            Ok(_) if invalid => {
                Err("an expression that breaks the rules of its constructors is accepted".into())
            }
            Ok(plan) => match check_values(random, &case, &plan, Values::Plain, false) {
                Ok(_) => {
                    seen[0].set(seen[0].get() + 1);
                    Ok(())
                }
                Err(text) if is_open(&text) => Ok(()),
                Err(text) => Err(format!("accepted, but {text}")),
            },
            Err(error) => match refusal(&case) {
                Some(_) => {
                    seen[1].set(seen[1].get() + 1);
                    Ok(())
                }
                None => {
                    seen[2].set(seen[2].get() + 1);
                    *rules.borrow_mut().entry(error.rule()).or_default() += 1;
                    match is_stricter(error.rule(), &case, name) {
                        true => Ok(()),
                        false => Err(format!("refused by `{}`: {error}", error.rule())),
                    }
                }
            },
        };
        outcome.map_err(|text: String| format!("changed {name}\n{}\n{text}", describe(&case)))
    });
    println!("accepted, refused, refused by the library alone: {seen:?}, {:?}", rules.borrow());
    if std::env::var("VISA_CASES").is_err() {
        assert!(seen[0].get() > 5 && seen[1].get() > 58, "{seen:?}");
    }
}

/// Why the reference does not run the pipeline.
fn refusal(case: &Pipeline) -> Option<String> {
    let zero = case.contraction.element.decode(0);
    let zeros = |axes: &Axes| MathTensor::from_fn(&borrowed(axes), |_, _| zero);
    case.run(&zeros(&case.data_axes), &zeros(&case.weight_axes)).err()
}
