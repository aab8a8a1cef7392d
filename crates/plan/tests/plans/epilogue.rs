//! What follows the sums: values on the chip beside those of the host, the search beside all choices, and refusals.

use crate::search::FEW;
use crate::values::{expected, numbers, run};
use crate::{bound_of, choices, random_problem};
use furiosa_visa_plan::choice::{Choice, Level, Sums};
use furiosa_visa_plan::epilogue::{Action, Operand, Program, Step};
use furiosa_visa_plan::schedule::Schedule;
use furiosa_visa_plan::{Plan, Problem, Search, search};
use furiosa_visa_rules::command::{
    BinaryOperator, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp, FpMulAlu, FpUnaryOp,
    FxpBinaryOp,
};
use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F8e4m3, F8e5m2, F16, F32, I8, I16, I32};
use furiosa_visa_rules::scalar::{bf16, f8e4m3, f8e5m2, f16};
use furiosa_visa_std::clock::Profile;
use reference::cases::for_cases;
use reference::random::Random;
use std::cell::Cell;

/// Random choices of a problem until one is legal.
const TRIES: usize = 16;

/// A random problem with an epilogue that one pass does.
fn with_epilogue(random: &mut Random, sizes: &[usize]) -> Problem {
    let plain = random_problem(random, sizes);
    let steps = ["bias", "relu", "silu", "gelu", "sigmoid", "tanh", "exp", "scale=0.125", "scale=-0.3"];
    loop {
        let mut list: Vec<String> =
            (0..random.between(1, 3)).map(|_| random.pick(&steps).to_string()).collect();
        if random.chance(50) {
            let axis = &plain.axes[random.pick(&plain.tensors[2])];
            list.insert(random.below(list.len() + 1), format!("bias:{}", axis.name));
        }
        let output = random.pick(&[I32, F32, Bf16, F16, F8e4m3, F8e5m2, I16, I8]);
        let (axes, list) = (plain.axes_text(), list.join(","));
        let made = Problem::with_epilogue(&plain.einsum, &axes, plain.element, Some(output), &list);
        if let Ok(problem) = made {
            return problem;
        }
    }
}

/// What follows a sum. Functions of 64 bits are rounded to 32, as those of the chip are.
fn followed(problem: &Problem, sum: i32, bias: i32) -> f64 {
    let mut integer = (problem.sum() == I32).then_some(sum);
    let mut value = sum as f32;
    for step in &problem.epilogue {
        match (step, &mut integer) {
            (Step::Bias(_), Some(integer)) => *integer = integer.wrapping_add(bias),
            (Step::Relu, Some(integer)) => *integer = (*integer).max(0),
            _ => {
                value = integer.take().map_or(value, |integer| integer as f32);
                let x = f64::from(value);
                let sigmoid = |x: f32| (1.0 / (1.0 + (-f64::from(x)).exp())) as f32;
                value = match step {
                    Step::Bias(_) => value + bias as f32,
                    Step::Relu => value.max(0.0),
                    Step::Scale(factor) => value * factor,
                    Step::Silu => value * sigmoid(value),
                    Step::Gelu => value * sigmoid(1.702 * value),
                    Step::Sigmoid => sigmoid(value),
                    Step::Tanh => x.tanh() as f32,
                    Step::Exp => x.exp() as f32,
                };
            }
        }
    }
    match (problem.output, integer) {
        (I32, Some(integer)) => f64::from(integer),
        (I16 | I8 | I32, _) => {
            let rounded = integer.map_or(f64::from(value).round(), f64::from);
            let most = f64::from(i32::MAX >> (32 - problem.output.bits()));
            rounded.clamp(-most - 1.0, most)
        }
        (_, integer) => {
            let value = integer.map_or(value, |integer| integer as f32);
            decoded(problem.output, &encoded(problem.output, value))
        }
    }
}

/// A float as bytes of a type.
fn encoded(element: ElementType, value: f32) -> Vec<u8> {
    match element {
        F32 => value.to_le_bytes().to_vec(),
        Bf16 => bf16::from_f32(value).to_bits().to_le_bytes().to_vec(),
        F16 => f16::from_f32(value).to_bits().to_le_bytes().to_vec(),
        F8e4m3 => vec![f8e4m3::from_f32(value).to_bits()],
        F8e5m2 => vec![f8e5m2::from_f32(value).to_bits()],
        other => panic!("{other} is no float"),
    }
}

/// A number of the chip.
fn decoded(element: ElementType, bytes: &[u8]) -> f64 {
    let two = || [bytes[0], bytes[1]];
    let four = || [bytes[0], bytes[1], bytes[2], bytes[3]];
    match element {
        I32 => f64::from(i32::from_le_bytes(four())),
        F32 => f64::from(f32::from_le_bytes(four())),
        I16 => f64::from(i16::from_le_bytes(two())),
        Bf16 => f64::from(bf16::from_bits(u16::from_le_bytes(two())).to_f32()),
        F16 => f64::from(f16::from_bits(u16::from_le_bytes(two())).to_f32()),
        F8e4m3 => f64::from(f8e4m3::from_bits(bytes[0]).to_f32()),
        F8e5m2 => f64::from(f8e5m2::from_bits(bytes[0]).to_f32()),
        _ => f64::from(bytes[0] as i8),
    }
}

/// Runs a plan, and compares values, cycles and bounds.
pub fn check(random: &mut Random, plan: &Plan) -> Result<(), String> {
    let problem = &plan.problem;
    let operands = [0, 1].map(|operand| numbers(random, problem.element, problem.elements(operand)));
    let sums = expected(problem, [&operands[0].0, &operands[1].0]);
    let axis = problem.bias_axis();
    let bias: Vec<i32> =
        (0..axis.map_or(0, |axis| problem.axes[axis].size)).map(|_| random.below(41) as i32 - 20).collect();
    let mut all: Vec<Vec<u8>> = operands.map(|(_, bytes)| bytes).to_vec();
    if let Some(element) = problem.bias_element() {
        all.push(match element {
            I32 => bias.iter().flat_map(|value| value.to_le_bytes()).collect(),
            _ => bias.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect(),
        });
    }
    let (bytes, cycles) = run(plan, all);
    let told = |what: String| {
        let (einsum, axes) = (&problem.einsum, problem.axes_text());
        let (from, to, steps) = (problem.element, problem.output, problem.epilogue_text());
        Err(format!("{einsum} of {from} with {axes}, {steps} to {to}: {what}: {:?}", plan.choice))
    };
    for (place, found) in bytes.chunks(problem.output.bits() / 8).enumerate() {
        // The position along the axis of the bias.
        let mut inner = 1;
        let mut own = 0;
        for &other in problem.tensors[2].iter().rev() {
            if axis == Some(other) {
                own = place / inner % problem.axes[other].size;
            }
            inner *= problem.axes[other].size;
        }
        let wanted = followed(problem, sums[place], bias.get(own).copied().unwrap_or(0));
        let found = decoded(problem.output, found);
        let is_same = found == wanted || found.is_nan() && wanted.is_nan();
        if !is_same {
            return told(format!("element {place} of sum {} is {found}, but not {wanted}", sums[place]));
        }
    }
    if cycles != plan.cycles {
        return told(format!("{cycles} cycles, but {} were predicted", plan.cycles));
    }
    let bound = bound_of(plan);
    if bound > cycles {
        return told(format!("{cycles} cycles, but the bound is {bound}"));
    }
    Ok(())
}

#[test]
fn random_choices_compute_what_follows_the_sums() {
    let (legal, finished) = (Cell::new(0), Cell::new(0));
    let count = for_cases(120, |random| {
        let problem = with_epilogue(random, &[1, 2, 3, 4, 6, 8, 13, 16, 24]);
        let mut all = choices(&problem);
        let is_finished = |choice: &Choice| choice.gather.is_some() || choice.parts(&problem) > 1;
        if random.chance(50) && all.iter().any(is_finished) {
            all.retain(is_finished);
        }
        let found = (0..TRIES).find_map(|_| Plan::of(&problem, random.pick(&all), Profile::default()).ok());
        let Some(plan) = found else { return Ok(()) };
        legal.set(legal.get() + 1);
        finished.set(finished.get() + u64::from(is_finished(&plan.choice)));
        check(random, &plan)
    });
    assert!(2 * legal.get() >= count, "{} of {count} choices are legal", legal.get());
    assert!(10 * finished.get() >= count, "{} of {count} choices have a pass behind", finished.get());
}

/// Wherever the positions of a bias are, in slices that share sums or gather them, or in tiles and blocks, some choice is
/// legal, and adds the right ones.
#[test]
fn a_bias_follows_the_sums_to_their_places() {
    type Place = fn(&Choice, usize) -> bool;
    let places: [(&str, Place); 6] = [
        ("shared", |choice, axis| {
            // Several groups of rows in each slice.
            choice.sums == Sums::Shared(axis) && choice.splits[axis].at(Level::Local) >= 32
        }),
        ("one slice keeps", |choice, _| choice.sums == Sums::First),
        ("gathered", |choice, axis| choice.gather.is_some_and(|gather| gather.axis == axis)),
        ("given", |choice, axis| choice.gather.is_some_and(|gather| gather.axis != axis)),
        ("tiles", |choice, axis| choice.splits[axis].at(Level::Loops) > 1),
        ("blocks", |choice, axis| choice.splits[axis].at(Level::Blocks) > 1),
    ];
    let mut random = Random::new(0);
    for steps in ["bias:M,relu", "bias:N,silu"] {
        let problem = problem("M=32,N=64,K=32", Bf16, None, steps);
        let axis = problem.bias_axis().expect("there is one");
        let all = choices(&problem);
        let all: Vec<&Choice> = all.iter().filter(|choice| choice.weights == 1).collect();
        let mut found = Vec::new();
        for (name, is_there) in places {
            let mut own = all.iter().filter(|choice| is_there(choice, axis));
            let plan = own.find_map(|choice| Plan::of(&problem, (*choice).clone(), Profile::default()).ok());
            if let Some(plan) = plan {
                check(&mut random, &plan).unwrap_or_else(|told| panic!("{name}: {told}"));
                found.push(name);
            }
        }
        // The streamed axis has tiles, and is gathered; that of the weights has blocks, and is given. Slices that share the
        // streamed axis have every second position of it, but DMA brings two at least.
        let expected = match steps {
            "bias:M,relu" => vec!["one slice keeps", "gathered", "tiles"],
            _ => vec!["shared", "one slice keeps", "given", "blocks"],
        };
        assert_eq!(found, expected, "{steps}");
    }
}

/// The best cycles of all choices are found, also if some have no pass for the epilogue.
#[test]
fn the_best_of_all_choices_with_an_epilogue_is_found() {
    for_cases(8, |random| {
        let mut problem = with_epilogue(random, &[1, 2, 3, 4, 8]);
        while std::env::var_os("VISA_CASES").is_none() && choices(&problem).len() > FEW {
            problem = with_epilogue(random, &[1, 2, 3, 4, 8]);
        }
        let profile = random.pick(&[Profile::Book, Profile::Detailed]);
        let outcome = search(&problem, &Search { profile, ..Search::default() });
        let found = outcome.plans.first().map(|plan| plan.cycles);
        let all = choices(&problem).into_iter();
        let best =
            all.filter_map(|choice| Plan::of(&problem, choice, profile).ok()).map(|plan| plan.cycles).min();
        let told = format!("{} with {}, {}", problem.einsum, problem.axes_text(), problem.epilogue_text());
        if found != best || outcome.gap() != 0.0 {
            return Err(format!("{told}: {found:?} were found, but the best are {best:?}"));
        }
        Ok(())
    });
}

fn problem(sizes: &str, element: ElementType, output: Option<ElementType>, steps: &str) -> Problem {
    Problem::with_epilogue("mk,nk->mn", sizes, element, output, steps).expect("it is a contraction")
}

/// Units of the steps: flits stay whole where the clip stage does all, and behind parts of sums a factor is a quotient.
#[test]
fn steps_have_their_units() {
    use Action::{Binary, Concat, Split, Stash, ToFloat, ToInteger, Unary};
    use BinaryOperator::{ClipF32, ClipI32, Fp, FpDiv, Fxp};
    let sizes = "M=8,N=8,K=32";
    let is = |element, output, steps: &str, behind_parts, expected: &[Action]| {
        let problem = problem(sizes, element, Some(output), steps);
        let found = Program::new(&problem, behind_parts).expect("one pass does it").actions;
        assert_eq!(found, expected, "{steps}");
    };
    let bias = Binary(ClipF32(ClipBinaryOpF32::Add), Operand::Bias);
    let relu = Binary(ClipF32(ClipBinaryOpF32::Max), Operand::Float(0.0));
    is(Bf16, Bf16, "bias,relu", false, &[bias, relu]);
    is(Bf16, F32, "relu,bias", true, &[Concat, relu, bias]);
    let product = |unit, operand| Binary(Fp(FpBinaryOp::MulF(unit)), operand);
    let (added, sigmoid) = (Binary(Fp(FpBinaryOp::AddF), Operand::Bias), Unary(FpUnaryOp::Sigmoid));
    is(
        Bf16,
        Bf16,
        "bias,gelu",
        false,
        &[
            Split,
            added,
            Stash,
            product(FpMulAlu::Mul0, Operand::Float(1.702)),
            sigmoid,
            product(FpMulAlu::Mul1, Operand::Stash),
            Concat,
        ],
    );
    is(Bf16, F32, "scale=0.125", false, &[Split, product(FpMulAlu::Mul0, Operand::Float(0.125)), Concat]);
    let quotient = Binary(FpDiv(FpDivBinaryOp::DivF), Operand::Float(8.0));
    is(Bf16, F32, "scale=0.125,bias", true, &[quotient, Concat, bias]);
    let limit = |op, value| Binary(ClipI32(op), Operand::Integer(value));
    is(
        I8,
        I8,
        "bias,scale=0.5",
        false,
        &[
            Binary(Fxp(FxpBinaryOp::AddFxp), Operand::Bias),
            ToFloat,
            Split,
            product(FpMulAlu::Mul0, Operand::Float(0.5)),
            Concat,
            ToInteger,
            limit(ClipBinaryOpI32::Max, -128),
            limit(ClipBinaryOpI32::Min, 127),
        ],
    );
    is(I8, I16, "relu", false, &[limit(ClipBinaryOpI32::Max, 0), limit(ClipBinaryOpI32::Min, 32767)]);
    // No quotient is the same as this product; functions stand before the reduce.
    for steps in ["scale=0.3", "silu"] {
        let error = Program::new(&problem(sizes, Bf16, None, steps), true).expect_err("the reduce is before");
        assert_eq!(error.rule(), "vector stage", "{error}");
    }
}

/// A slice has 2048 numbers of a bias, and no more.
#[test]
fn a_bias_fits_the_register_file_of_a_slice() {
    for (n, fits) in [(2048, true), (2056, false)] {
        let problem = problem(&format!("M=1,N={n},K=16"), Bf16, None, "bias");
        let axis = problem.bias_axis().expect("there is one");
        let in_a_slice = choices(&problem).into_iter().filter(|choice| {
            let split = &choice.splits[axis];
            split.at(Level::Slice) == 1 && split.at(Level::Cluster) == 1 && split.padded == n
        });
        let placed: Vec<bool> = in_a_slice.map(|choice| Schedule::new(&problem, &choice).is_some()).collect();
        assert!(!placed.is_empty());
        assert_eq!(placed.contains(&true), fits, "{n}");
    }
}

#[test]
fn lists_are_refused_with_the_edit() {
    let refused = |einsum: &str, element, output, steps: &str, message: &str| {
        let found = Problem::with_epilogue(einsum, "M=8,N=8,K=32", element, output, steps);
        assert_eq!(found.expect_err("it is wrong").to_string(), message);
    };
    let of = |steps: &str, message: &str| refused("mk,nk->mn", Bf16, None, steps, message);
    of(
        "bias,bias:M",
        "epilogue: `bias,bias:M` has two biases, but a kernel takes one; add one of them outside of it",
    );
    of("bias:K", "epilogue: `bias:K` is no bias along an axis of the result; write `bias:M` or `bias:N`");
    of("scale=0", "epilogue: `0` is no factor; write for example `scale=0.125`");
    of("scale=inf", "epilogue: `inf` is no factor; write for example `scale=0.125`");
    of(
        "scale",
        "epilogue: `scale` is no step; the steps are bias, bias:N, relu, silu, gelu, sigmoid, tanh, exp and scale=0.125",
    );
    of(
        "relu,silu",
        "epilogue: `relu,silu` to f32 is no pass of the Vector Engine: vector: the stage `Narrow` does not come after `Clip`: \
         a pass goes through Fxp (integers), FxpToFp, Narrow and Fp (functions, factors), IntraSliceReduce (parts of sums), \
         FpDiv, Widen, FpToFxp and Clip (sums, limits), in this order; help: put the step before, or use another pass",
    );
    // Three multipliers, of which the third one also adds.
    let four = "scale=2,scale=3,scale=5,scale=7";
    of(
        four,
        &format!(
            "epilogue: `{four}` to f32 is no pass of the Vector Engine: vector_fp_binary: FpFma is already in use: each \
             arithmetic unit of the Vector Engine works once per pass; help: use an operator of another unit, or a second pass"
        ),
    );
    assert!(Problem::with_epilogue("mk,nk->mn", "M=8,N=8,K=32", Bf16, None, &four[..23]).is_ok());
    let batched = Problem::with_epilogue("bmk,bnk->nmb", "B=4,M=8,N=8,K=32", Bf16, None, "bias");
    assert_eq!(
        batched.expect_err("it is wrong").to_string(),
        "epilogue: `bias` is along the axis B of both operands, of which a slice has one position, but DMA brings at least two \
         numbers; name an axis of one operand, or add the bias outside of the kernel"
    );
    refused(
        "mk,nk->mn",
        I8,
        Some(ElementType::I4),
        "relu",
        "out: sums of i8 are i32, which are not stored as i4; take f32, bf16, f16, f8e4m3, f8e5m2, i32, i16 or i8",
    );
}
