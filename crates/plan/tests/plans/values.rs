//! Random choices of random problems: the chip computes what the host does, in the cycles that were predicted, which are
//! no fewer than the bounds.

use crate::{bound_of, choices, random_problem};
use core::panic::Location;
use furiosa_visa_plan::choice::{Choice, Split, Sums};
use furiosa_visa_plan::{Plan, Problem};
use furiosa_visa_rules::command::{Command, HostBuffer};
use furiosa_visa_rules::lower::{Tensor, download, upload};
use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
use furiosa_visa_rules::scalar::{ElementType, bf16, f8e4m3};
use furiosa_visa_std::chip::{SimOptions, System};
use furiosa_visa_std::clock::{KernelCall, Profile};
use reference::cases::for_cases;
use reference::random::Random;
use std::cell::Cell;

/// Random choices of a problem until one is legal.
const TRIES: usize = 60;

/// A tensor of the host as bytes, and as numbers.
pub fn numbers(random: &mut Random, element: ElementType, count: usize) -> (Vec<i32>, Vec<u8>) {
    let (low, high) = match element {
        ElementType::I8 => (-128, 127),
        ElementType::I4 => (-8, 7),
        // Sums of floats are exact in any order.
        _ => (-2, 2),
    };
    let values: Vec<i32> = (0..count).map(|_| random.below((high - low + 1) as usize) as i32 + low).collect();
    let bytes = match element {
        ElementType::I8 => values.iter().map(|value| *value as u8).collect(),
        ElementType::I4 => {
            let pairs = values.chunks(2);
            pairs
                .map(|pair| pair[0] as u8 & 15 | pair.get(1).map_or(0, |value| (*value as u8) << 4))
                .collect()
        }
        ElementType::Bf16 => {
            values.iter().flat_map(|value| bf16::from_f32(*value as f32).to_bits().to_le_bytes()).collect()
        }
        _ => values.iter().map(|value| f8e4m3::from_f32(*value as f32).to_bits()).collect(),
    };
    (values, bytes)
}

/// The result of the host, position by position.
pub fn expected(problem: &Problem, operands: [&[i32]; 2]) -> Vec<i32> {
    // What a step along each axis adds to the place in each tensor.
    let weights = [0, 1, 2].map(|tensor| {
        let (mut weights, mut inner) = (vec![0; problem.axes.len()], 1);
        for &axis in problem.tensors[tensor].iter().rev() {
            match problem.window(tensor, axis) {
                Some(window) => {
                    weights[axis] += inner * window.stride;
                    weights[window.tap] += inner;
                }
                None => weights[axis] += inner,
            }
            inner *= problem.positions(tensor, axis).1;
        }
        weights
    });
    let mut sums = vec![0i32; problem.elements(2)];
    let mut index = vec![0; problem.axes.len()];
    loop {
        let place = |tensor: usize| {
            index.iter().zip(&weights[tensor]).map(|(index, weight)| index * weight).sum::<usize>()
        };
        let product = operands[0][place(0)].wrapping_mul(operands[1][place(1)]);
        let sum = &mut sums[place(2)];
        *sum = sum.wrapping_add(product);
        // The next index.
        let mut axis = 0;
        while axis < index.len() {
            index[axis] += 1;
            if index[axis] < problem.axes[axis].size {
                break;
            }
            index[axis] = 0;
            axis += 1;
        }
        if axis == index.len() {
            return sums;
        }
    }
}

/// Runs a plan on the chip with both operands, and with the bias if there is one: the bytes of the result, and the cycles of the kernel.
pub fn run(plan: &Plan, operands: Vec<Vec<u8>>) -> (Vec<u8>, u64) {
    let chips = Some(plan.problem.number_of_chips());
    let (mut system, location) =
        (System::new(SimOptions { chips, ..SimOptions::default() }), Location::caller());
    let commands = plan.commands().unwrap_or_else(|error| panic!("{error}"));
    let host = |tensor: &Tensor| tensor.shape.element;
    let axes = Axes::parse(&plan.problem.declared(plan.problem.windows.first())).expect("they are axes");
    let letters =
        |tensor| parse_mapping(&plan.problem.letters(tensor), &axes).expect("they are the axes' names");
    let hosts = [letters(0), letters(1)].into_iter().chain(commands.bias.as_ref().map(host));
    let tensors = commands.tensors[..2].iter().chain(&commands.bias).zip(hosts);
    for ((tensor, host), bytes) in tensors.zip(operands) {
        let transfer = upload(host, tensor).expect("it has the same elements");
        system.upload(&transfer, &HostBuffer { bytes, initialised: None }, location).expect("it fits");
    }
    system.enter_kernel(KernelCall { number: 1, name: "plan" });
    for operation in commands.operations {
        system.execute(&Command { operation, location }).unwrap_or_else(|fault| panic!("{fault}"));
    }
    system.enter_kernel(KernelCall::default());
    let result = &commands.tensors[2];
    let found = system.download(&download(letters(2), result).expect("it has the same elements"), location);
    let found = found.unwrap_or_else(|fault| panic!("{fault}"));
    assert!(found.initialised.is_none_or(|written| written.iter().all(|byte| *byte)), "all is written");
    (found.bytes, system.report().kernels[0].makespan())
}

/// Compares a plan with the host, with what was predicted, and with its bounds.
pub fn compare(random: &mut Random, plan: &Plan) -> Result<(), String> {
    let problem = &plan.problem.whole();
    let operands = [0, 1].map(|operand| numbers(random, problem.element, problem.elements(operand)));
    let sums = expected(problem, [&operands[0].0, &operands[1].0]);
    let (mut bytes, cycles) = run(plan, operands.map(|(_, bytes)| bytes).to_vec());
    if problem.output.is_float() {
        // A sum of products that are all -0 is -0.
        let is_zero =
            |value: &[u8]| value.iter().rev().skip(1).all(|byte| *byte == 0) && value.ends_with(&[0x80]);
        let zeros = bytes.chunks_exact_mut(problem.output.bits() / 8).filter(|value| is_zero(value));
        zeros.for_each(|value| value.fill(0));
    }
    let expected: Vec<u8> = match problem.output {
        ElementType::I32 => sums.iter().flat_map(|sum| sum.to_le_bytes()).collect(),
        ElementType::F32 => sums.iter().flat_map(|sum| (*sum as f32).to_le_bytes()).collect(),
        _ => sums.iter().flat_map(|sum| bf16::from_f32(*sum as f32).to_bits().to_le_bytes()).collect(),
    };
    let told = || {
        format!("{} of {} with {}: {:?}", problem.einsum, problem.element, problem.axes_text(), plan.choice)
    };
    if bytes != expected {
        return Err(format!("{}: other values", told()));
    }
    if cycles != plan.cycles {
        return Err(format!("{}: {cycles} cycles, but {} were predicted", told(), plan.cycles));
    }
    let least = bound_of(plan);
    if least > cycles {
        return Err(format!("{}: {cycles} cycles, but the bound is {least}", told()));
    }
    Ok(())
}

#[test]
fn random_choices_compute_the_contraction() {
    let legal = Cell::new(0);
    let count = for_cases(100, |random| {
        let problem = random_problem(random, &[1, 2, 3, 4, 6, 8, 13, 16, 24]);
        let mut all = choices(&problem);
        // Axes of 12 positions are no whole rows, and are not padded by a third.
        if all.is_empty() {
            return Ok(());
        }
        // Those with a pass behind the products are few.
        let is_finished = |choice: &Choice| choice.gather.is_some() || choice.parts(&problem) > 1;
        if random.chance(80) && all.iter().any(is_finished) {
            all.retain(is_finished);
        }
        // Most choices are refused by some rule: one of several is not.
        let legal_one =
            (0..TRIES).find_map(|_| Plan::of(&problem, random.pick(&all), Profile::default()).ok());
        let Some(plan) = legal_one else { return Ok(()) };
        legal.set(legal.get() + 1);
        compare(random, &plan)
    });
    assert!(4 * legal.get() >= 3 * count, "{} of {count} choices are legal", legal.get());
}

/// While the main context waits for a register file that is loaded between products, it adds the parts of sums, and turns the
/// next tile.
#[test]
fn what_is_done_in_a_wait_counts_once() {
    let split = |padded, extents| Split { padded, extents };
    for (einsum, m, n) in [
        ("mk,nk->mn", [2, 1, 1, 1, 16], [1, 1, 1, 1, 1024]),
        ("km,nk->mn", [2, 1, 2, 1, 8], [1, 1, 2, 1, 512]),
    ] {
        let problem =
            Problem::new(einsum, "M=32,N=1024,K=256", ElementType::I8, None).expect("it is a contraction");
        let is_whole = m[2] > 1;
        let k = if is_whole { [1, 1, 1, 2, 128] } else { [1, 1, 2, 2, 64] };
        let splits = problem.axes.iter().map(|axis| match axis.name.as_str() {
            "M" => split(32, m),
            "N" => split(1024, n),
            _ => split(256, k),
        });
        let sums = if is_whole { Sums::Whole } else { Sums::First };
        let choice = Choice { sums, ..Choice::plain(1, splits.collect()) };
        let plan = Plan::of(&problem, choice, Profile::default()).unwrap_or_else(|reason| panic!("{reason}"));
        assert!(plan.schedule.is_full && plan.schedule.parts == 2 && plan.schedule.tiles == 2);
        compare(&mut Random::new(1), &plan).unwrap_or_else(|difference| panic!("{difference}"));
    }
}
