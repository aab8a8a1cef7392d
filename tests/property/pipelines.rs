//! Whole pipelines, from data memory to data memory, bit for bit against the reference (spec pages 40 and 50).

use crate::bridge::for_cases;
use crate::machine::{encode, same};
use crate::program::{Plan, run};
use crate::reference::mapping::{Map, joint_table};
use crate::reference::numbers::ElementType;
use crate::reference::pipelines::{Pipeline, random_contraction};
use crate::reference::random::{Axes, Random, borrowed, random_tensor};
use crate::reference::tensor::MathTensor;
use std::cell::Cell;

/// Types of operands.
pub const TYPES: [ElementType; 5] =
    [ElementType::I4, ElementType::I8, ElementType::F8E4M3, ElementType::F8E5M2, ElementType::Bf16];

/// What the values of a tensor are like.
#[derive(Clone, Copy)]
pub enum Values {
    /// Ordinary numbers.
    Plain,
    /// Ordinary numbers, and some zeros of either sign, infinities, NaN, subnormals and extremes.
    Special,
    /// Any code.
    Any,
    /// Zeros of either sign.
    Zeros,
    /// Ordinary numbers, and some elements that nobody wrote.
    Missing,
}

fn special(random: &mut Random, element: ElementType) -> u32 {
    let sign = 1 << (element.bits() - 1);
    let code = match element {
        ElementType::F8E4M3 => random.pick(&[0, 0, 1, 7, 8, 0x7e, 0x7f]),
        ElementType::F8E5M2 => random.pick(&[0, 0, 1, 3, 4, 0x7b, 0x7c, 0x7d]),
        ElementType::Bf16 => random.pick(&[0, 0, 1, 0x7f, 0x80, 0x7f7f, 0x7f80, 0x7fc1]),
        _ => random.pick(&[0, 1, sign - 1]),
    };
    code | if random.chance(50) { sign } else { 0 }
}

fn codes(random: &mut Random, element: ElementType, axes: &Axes, values: Values) -> MathTensor<u32> {
    let plain = random_tensor(random, element, axes);
    let mut tensor = MathTensor::from_fn(&borrowed(axes), |index, _| {
        let code = plain.get(index).map_or(0, |number| element.encode(number));
        match values {
            Values::Special if random.chance(10) => special(random, element),
            Values::Any => (random.bits() >> 32) as u32 & (u32::MAX >> (32 - element.bits())),
            Values::Zeros if random.chance(50) => 0,
            Values::Zeros => 1 << (element.bits() - 1),
            _ => code,
        }
    });
    // Two elements of 4 bits share the mark that they were written.
    if matches!(values, Values::Missing) && element.bits() > 4 {
        tensor.cells.retain(|_, _| random.chance(97));
    }
    tensor
}

fn numbers(element: ElementType, codes: &MathTensor<u32>) -> MathTensor<crate::reference::numbers::Number> {
    let cells = codes.cells.iter().map(|(index, code)| (index.clone(), element.decode(*code)));
    MathTensor { axes: codes.axes.clone(), cells: cells.collect() }
}

/// All mappings of a pipeline.
pub fn describe(case: &Pipeline) -> String {
    let c = &case.contraction;
    let [dt, dp] = &case.data_fetch;
    let [wt, wp] = &case.weight_fetch;
    let [ct, cp] = &case.weight_collect;
    let (out_time, out_packet) = c.output();
    format!(
        "{:?}, {:?}, axes {:?}\n data {} in slices {}, fetch {dt} {dp}, collect {} {}\n weights {}, fetch {wt} {wp}, \
         collect {ct} {cp}, row {} element {}\n align {} {}, contract {}, accumulate {out_time} {out_packet}, \
         cast {:?} {}, commit {}",
        c.element,
        c.kind,
        case.axes,
        case.data_element,
        case.slice,
        c.stream_time,
        c.stream_packet,
        case.weight_element,
        c.row,
        c.trf_element,
        c.out_time,
        c.out_packet,
        c.tree_packet,
        case.stored,
        case.stored_packet,
        case.result_element
    )
}

/// The result of the library against the reference. `strict`: elements that nobody wrote are refused.
pub fn check_values(
    random: &mut Random,
    case: &Pipeline,
    plan: &Plan,
    values: Values,
    strict: bool,
) -> Result<(), String> {
    let element = case.contraction.element;
    let data = codes(random, element, &case.data_axes, values);
    let weights = codes(random, element, &case.weight_axes, values);
    let stages = case.run(&numbers(element, &data), &numbers(element, &weights))?;
    let expected = encode(case.stored, &stages.committed);
    let found = run(random, case, plan, &data, &weights, strict)?;
    let dims: [&Map; 2] = [&case.contraction.prefix[0], &case.result_element];
    for (k, index) in joint_table(&dims).into_iter().enumerate() {
        // Two results of 4 bits share the mark that they were written.
        let unknown = case.stored.bits() == 4 && expected[k].is_none();
        if index.is_some() && !unknown && !same(case.stored, found[k], expected[k]) {
            return Err(format!(
                "position {k}, {index:?}: {:x?} instead of {:x?}, which is {:?}",
                found[k], expected[k], stages.committed[k]
            ));
        }
    }
    Ok(())
}

fn check(random: &mut Random, values: Values, strict: bool) -> Result<(), String> {
    let element = random.pick(&TYPES);
    let case = random_contraction(random, element);
    let outcome = match Plan::derive(&case) {
        Ok(plan) => check_values(random, &case, &plan, values, strict),
        Err(error) => Err(format!("refused by `{}`: {error}", error.rule())),
    };
    outcome.map_err(|text| format!("{}\n{text}", describe(&case)))
}

#[test]
fn pipelines_of_ordinary_numbers() {
    for_cases(200, |random| check(random, Values::Plain, true));
}

#[test]
fn pipelines_of_special_numbers() {
    for_cases(150, |random| {
        let values = random.pick(&[Values::Special, Values::Any, Values::Zeros]);
        check(random, values, true)
    });
}

/// Sums of an element that nobody wrote are marked as not written.
#[test]
fn pipelines_of_missing_elements() {
    for_cases(150, |random| check(random, Values::Missing, false));
}

#[test]
fn a_wrong_plan_is_found() {
    let found = Cell::new(0);
    for_cases(40, |random| {
        let case = random_contraction(random, ElementType::Bf16);
        let Ok(mut plan) = Plan::derive(&case) else { return Ok(()) };
        plan.disturb(random);
        let wrong = check_values(random, &case, &plan, Values::Plain, false).is_err();
        found.set(found.get() + usize::from(wrong));
        Ok(())
    });
    assert!(found.get() > 10 || std::env::var("VISA_CASES").is_ok(), "{} found", found.get());
}
