//! Parts of chains between contractions: functions of rows, and steps behind sums. The chip computes every bit of what the
//! host does with the same roundings, in the cycles that were predicted.

use crate::chain::{run, some_kernel, told};
use furiosa_visa_plan::chain::pair::PairOp;
use furiosa_visa_plan::chain::rows::{RowKind, Rows};
use furiosa_visa_plan::chain::{Chain, ChainKernel, plan_chain};
use furiosa_visa_plan::epilogue::Step;
use furiosa_visa_plan::{Problem, Search};
use furiosa_visa_rules::command::FillId;
use furiosa_visa_rules::lower::{Stream, Tensor};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
use furiosa_visa_rules::scalar::{ElementType, bf16};
use furiosa_visa_rules::tensor::Shape;
use furiosa_visa_std::clock::Profile;
use reference::cases::for_cases;
use reference::random::Random;
use std::cell::Cell;

/// A chain of a random form with functions of rows and steps.
fn random_chain(random: &mut Random) -> Chain {
    let forms = [
        ("mk,fk->mf; ROWS:f; mf,nf->mn", "MN", "KF"),
        ("mk,fk->mf; ROWS:f; nf,mf->nm", "MN", "KF"),
        ("fk,mk->fm; ROWS:f; fm,fn->mn", "MN", "KF"),
        ("hqd,hkd->hqk; ROWS; hqk,hdk->hqd", "HQ", "KD"),
        ("hqd,hkd->hqk; ROWS; hqk,hkd->hqd", "HQ", "KD"),
        ("FRONT:k; mk,nk->mn", "MN", "K"),
        ("FRONT:k; mk,fk->mf; STEP; mf,nf->mn", "MN", "KF"),
        ("mk,fk->mf; STEP; mf,nf->mn; STEP", "MN", "KF"),
        ("mk,fk->mf; STEP, FRONT:f; mf,nf->mn; ROWS; mn,pn->mp", "MP", "KFN"),
        ("mk,fk->mf; ROWS; mf,nf->mn; mn,mf->nf", "M", "KFN"),
        ("mk,fk->mf; STEP; mk,fk->mf; PAIR; mf,nf->mn", "MN", "KF"),
        ("mk,fk->mf; PAIR; mf,nf->mn; PAIR, softmax; mn,pn->mp", "MP", "KFN"),
        ("hqd,hkd->hqk; STEP, PAIR, FRONT:k; hqk,hdk->hqd", "HQ", "KD"),
        ("mk,fk->mf; STEP; mf,nf->mn; ROWS", "M", "KFN"),
        ("mk,fk->mf; PAIR; mf,nf->mn; STEP, PAIR, FRONT", "M", "KFN"),
        ("mk,nk->mn; PAIR", "M", "KN"),
        ("mk,nk->mn; mn,pn->mp; mp,np->mn; PAIR", "M", "KNP"),
    ];
    let (text, free, summed) = random.pick(&forms);
    let rows = ["scale=0.125, softmax", "softmax", "bias, softmax", "rmsnorm", "rmsnorm=0.5", "layernorm"];
    let steps =
        ["bias", "bias, silu", "relu", "silu", "gelu", "sigmoid", "tanh", "scale=0.3", "scale=-2, relu"];
    let mut made = text.to_string();
    let front = ["softmax", "rmsnorm", "layernorm=1e-3"];
    for (word, list) in
        [("PAIR", &["add", "mul"][..]), ("FRONT", &front[..]), ("ROWS", &rows[..]), ("STEP", &steps[..])]
    {
        while made.contains(word) {
            made = made.replacen(word, random.pick(list), 1);
        }
    }
    let mut axes: Vec<String> =
        free.chars().map(|axis| format!("{axis}={}", random.pick(&[1, 2, 3, 4, 8, 16]))).collect();
    axes.extend(summed.chars().map(|axis| format!("{axis}={}", random.pick(&[16, 32, 48, 64, 128]))));
    let is_ended =
        made.rsplit(';').next().is_some_and(|part| !part.contains("->") && !steps.contains(&part.trim()));
    let output = random.pick(&[Some(ElementType::Bf16), Some(ElementType::F32), None]).filter(|_| !is_ended);
    Chain::new(&made, &axes.join(","), ElementType::Bf16, output)
        .unwrap_or_else(|error| panic!("{made}: {error}"))
}

fn rounded(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

/// What follows a sum. Functions of 64 bits are rounded to 32, as those of the chip are.
fn followed(problem: &Problem, sum: f32, bias: f32) -> f32 {
    let sigmoid = |x: f32| (1.0 / (1.0 + (-f64::from(x)).exp())) as f32;
    problem.epilogue.iter().fold(sum, |value, step| match step {
        Step::Relu => value.max(0.0),
        Step::Scale(factor) => value * factor,
        Step::Silu => value * sigmoid(value),
        Step::Gelu => value * sigmoid(1.702 * value),
        Step::Sigmoid => sigmoid(value),
        Step::Tanh => f64::from(value).tanh() as f32,
        Step::Exp => f64::from(value).exp() as f32,
        Step::Bias(_) => value + bias,
    })
}

/// A function of rows of a tensor, in the order of the chip.
fn of_rows(rows: &Rows, tensor: &[f32], sizes: &[usize], place: usize) -> Vec<f32> {
    let stride: usize = sizes[place + 1..].iter().product();
    let mut made = vec![0.0; tensor.len()];
    for first in (0..tensor.len()).filter(|first| (first / stride).is_multiple_of(rows.size)) {
        let places = (0..rows.size).map(|k| first + k * stride);
        let row: Vec<f32> = places.clone().map(|place| tensor[place]).collect();
        let (numbers, divisor): (Vec<f32>, f32) = match rows.kind {
            RowKind::Softmax { scale } => {
                let greatest = row.iter().copied().fold(f32::MIN, f32::max);
                let power = |x: &f32| f64::from((x - greatest) * scale).exp() as f32;
                let powers: Vec<f32> = row.iter().map(power).collect();
                let sum = powers.iter().fold(0.0, |sum, power| sum + power);
                (powers, sum)
            }
            RowKind::RmsNorm { epsilon } | RowKind::LayerNorm { epsilon } => {
                let count = rows.size as f32;
                let mean = match rows.kind {
                    RowKind::LayerNorm { .. } => row.iter().fold(0.0, |sum, x| sum + x) / count,
                    _ => 0.0,
                };
                let centred: Vec<f32> = row.iter().map(|x| x - mean).collect();
                let square = centred.iter().fold(0.0, |sum, x| sum + x * x) / count;
                (centred, (square + epsilon).sqrt())
            }
        };
        for (place, number) in places.zip(numbers) {
            made[place] = rounded(number / divisor);
        }
    }
    made
}

/// The sums of a contraction, exact for whole numbers, and for operands of which one has a single number for each sum.
fn summed(problem: &Problem, operands: [&[f32]; 2]) -> Vec<f32> {
    let mut sums = vec![0f64; problem.elements(2)];
    let count: usize = problem.axes.iter().map(|axis| axis.size).product();
    for number in 0..count {
        let mut rest = number;
        let index: Vec<usize> = (problem.axes.iter())
            .map(|axis| {
                let own = rest % axis.size;
                rest /= axis.size;
                own
            })
            .collect();
        let place = |tensor: usize| {
            let axes = problem.tensors[tensor].iter();
            axes.fold(0, |place, &axis| place * problem.axes[axis].size + index[axis])
        };
        sums[place(2)] += f64::from(operands[0][place(0)]) * f64::from(operands[1][place(1)]);
    }
    sums.into_iter().map(|sum| sum as f32).collect()
}

/// An operand that picks one number for each of its sums, with a sign: its sums are exact in any order.
fn picked(random: &mut Random, problem: &Problem, operand: usize) -> Vec<f32> {
    let axes = &problem.tensors[operand];
    let is_summed = |axis: usize| !problem.tensors[2].contains(&axis);
    let mut values = vec![0.0; problem.elements(operand)];
    let mut chosen = std::collections::HashMap::new();
    for (place, value) in values.iter_mut().enumerate() {
        let (mut rest, mut kept, mut at) = (place, Vec::new(), 0);
        for &axis in axes.iter().rev() {
            let size = problem.axes[axis].size;
            if is_summed(axis) {
                at = at * size + rest % size
            } else {
                kept.push(rest % size)
            }
            rest /= size;
        }
        let summed = axes.iter().filter(|axis| is_summed(**axis));
        let count: usize = summed.map(|&axis| problem.axes[axis].size).product();
        let own = chosen.entry(kept).or_insert_with(|| (random.below(count), random.pick(&[1.0, -1.0, 2.0])));
        if own.0 == at {
            *value = own.1;
        }
    }
    values
}

fn bytes_of(values: &[f32], element: ElementType) -> Vec<u8> {
    match element {
        ElementType::F32 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        _ => values.iter().flat_map(|value| bf16::from_f32(*value).to_bits().to_le_bytes()).collect(),
    }
}

/// The place of an axis among those of the result.
fn place_of(problem: &Problem, axis: usize) -> usize {
    problem.tensors[2].iter().position(|own| *own == axis).expect("the result has it")
}

/// The operands of a chain that are in HBM, then its biases and the other tensors of sums and products, and the bytes of its result.
fn of_host(random: &mut Random, chain: &Chain) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (mut operands, mut biases, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut results = Vec::<Vec<f32>>::new();
    for (number, (problem, sources)) in chain.problems.iter().zip(&chain.sources).enumerate() {
        // Sums of whole numbers, of which no operand is a result, are exact.
        let is_whole = *sources == [None, None] && (number > 0 || chain.rows[0].is_none());
        let mut own = |operand: usize| match sources[operand] {
            Some(source) => results[source].clone(),
            None => {
                let values = match is_whole || (number, operand) == (0, 0) {
                    true => (0..problem.elements(operand)).map(|_| random.below(9) as f32 - 4.0).collect(),
                    false => picked(random, problem, operand),
                };
                operands.push(bytes_of(&values, problem.element));
                values
            }
        };
        let [mut first, second] = [own(0), own(1)];
        let sizes = |tensor: usize| -> Vec<usize> {
            problem.tensors[tensor].iter().map(|&axis| problem.axes[axis].size).collect()
        };
        let place = |rows: &Rows, names: &[usize]| {
            names.iter().position(|&axis| problem.axes[axis].name == rows.axis).expect("it has the axis")
        };
        if let (0, Some(rows)) = (number, &chain.rows[0]) {
            first = of_rows(rows, &first, &sizes(0), place(rows, &problem.tensors[0]));
        }
        let sums = summed(problem, [&first, &second]);
        // The bias of each element of the result.
        let own = problem.bias_axis().map(|axis| (place_of(problem, axis), problem.axes[axis].size));
        let count = own.map_or(0, |(_, size)| size);
        let bias: Vec<f32> = (0..count).map(|_| random.below(21) as f32 / 4.0 - 2.5).collect();
        let strides = own.map_or(1, |(place, _)| sizes(2)[place + 1..].iter().product::<usize>());
        let at = |element: usize| bias.get(element / strides % count.max(1)).copied().unwrap_or(0.0);
        let elements = sums.into_iter().enumerate();
        let mut result: Vec<f32> = elements.map(|(place, sum)| followed(problem, sum, at(place))).collect();
        if own.is_some() {
            biases.push(bytes_of(&bias, ElementType::F32));
        }
        if let Some(Some(pair)) = chain.pairs.get(number + 1) {
            let other = match pair.source {
                Some(source) => results[source].clone(),
                None => {
                    let values: Vec<f32> =
                        result.iter().map(|_| random.below(9) as f32 / 2.0 - 2.0).collect();
                    others.push(bytes_of(&values, ElementType::Bf16));
                    values
                }
            };
            let both = |own: f32, other: f32| if pair.op == PairOp::Add { own + other } else { own * other };
            result.iter_mut().zip(other).for_each(|(own, other)| *own = rounded(both(rounded(*own), other)));
        }
        match chain.rows.get(number + 1) {
            Some(Some(rows)) => result = of_rows(rows, &result, &sizes(2), place(rows, &problem.tensors[2])),
            Some(None) if number + 1 < chain.problems.len() => {
                result.iter_mut().for_each(|value| *value = rounded(*value));
            }
            _ => {}
        }
        results.push(result);
    }
    let output = chain.output().expect("it has contractions");
    operands.extend(biases);
    operands.extend(others);
    (operands, bytes_of(results.last().expect("it has results"), output))
}

/// Runs a kernel, and compares every bit and the cycles.
fn check(random: &mut Random, kernel: &ChainKernel) -> Result<(), String> {
    let chain = &kernel.chain;
    let (operands, expected) = of_host(random, chain);
    let (bytes, cycles) = run(kernel, operands);
    if bytes != expected {
        let bits = chain.output().expect("it has contractions").bits();
        let mut differ = bytes.chunks(bits / 8).zip(expected.chunks(bits / 8)).filter(|(a, b)| a != b);
        let first = differ.next();
        return Err(format!("{}: {} other values: {first:?}", told(kernel), 1 + differ.count()));
    }
    if cycles != kernel.cycles {
        return Err(format!("{}: {cycles} cycles, but {} were predicted", told(kernel), kernel.cycles));
    }
    if chain.bounds(Profile::default()).cycles() > cycles {
        return Err(format!("{}: {cycles} cycles are below the bound", told(kernel)));
    }
    Ok(())
}

#[test]
fn functions_of_rows_compute_every_bit_of_the_host() {
    let kernels = Cell::new(0u64);
    let count = for_cases(8, |random| {
        let chain = random_chain(random);
        let kernel = some_kernel(random, &chain);
        let Some(kernel) = kernel else { return Ok(()) };
        kernels.set(kernels.get() + 1);
        check(random, &kernel)
    });
    assert!(4 * kernels.get() >= 3 * count, "{} of {count} chains have a kernel", kernels.get());
}

/// Rows stay where the contraction leaves them, and where the next one reads them; or they come from HBM and go there.
#[test]
fn rows_in_place_and_through_hbm() {
    for_cases(1, |random| {
        let sizes = format!("B=2,H={},S=16,D=16", random.pick(&[2, 4]));
        let chain = chain("bhd,bhsd->bhs; bias, softmax; bhs,bhsd->bhd", &sizes)?;
        let outcome = plan_chain(&chain, &Search { top: 20, ..Search::default() });
        let is_in_place = |kernel: &&ChainKernel| {
            kernel.parts[1].passage.as_ref().is_some_and(|passage| passage.name == "softmax")
        };
        let in_place = outcome.kernels.iter().find(is_in_place).expect("no way is needed");
        check(random, in_place)?;
        let through_hbm = outcome.through_hbm.as_ref().expect("there are ways to HBM");
        assert_eq!(through_hbm.staying(), 0);
        check(random, through_hbm)
    });
}

fn chain(text: &str, axes: &str) -> Result<Chain, String> {
    Chain::new(text, axes, ElementType::Bf16, None).map_err(|error| error.to_string())
}

const AXES: &str = "M=16,K=16,F=16,N=16";

/// Steps belong to the contraction before them, functions of rows to the gap, and a factor in front of a softmax to it.
#[test]
fn parts_belong_to_the_contraction_before_them() {
    let made = chain("rmsnorm:K; mk,fk->mf; bias, relu; scale=0.125, softmax; mf,nf->mn; silu", AXES)
        .expect("a chain");
    let kinds: Vec<_> = made.rows.iter().map(|rows| rows.as_ref().map(|rows| rows.kind)).collect();
    let softmax = RowKind::Softmax { scale: 0.125 };
    assert_eq!(kinds, [Some(RowKind::RmsNorm { epsilon: 1e-5 }), Some(softmax), None]);
    let steps: Vec<String> = made.problems.iter().map(Problem::epilogue_text).collect();
    assert_eq!(steps, ["bias:F,relu", "silu"]);
    assert_eq!(made.text(), "rmsnorm:k; mk,fk->mf; bias:F, relu, scale=0.125, softmax:f; mf,nf->mn; silu");
    assert_eq!(chain(&made.text(), AXES).expect("the same").text(), made.text());
    // What a function of rows takes stays a sum, and what it makes is an operand.
    let outputs: Vec<_> = made.problems.iter().map(|problem| problem.output).collect();
    assert_eq!(outputs, [ElementType::F32, ElementType::F32]);
    assert_eq!((made.arriving(0), made.arriving(1), made.may_stay(0)), (Some(0), Some(0), true));
    // A negative factor, and one in front of a norm, are steps.
    for text in ["mk,fk->mf; scale=-1, softmax; mf,nf->mn", "mk,fk->mf; scale=2, layernorm=0:m; mf,nf->mn"] {
        let made = chain(text, AXES).expect("a chain");
        assert_eq!(made.problems[0].epilogue.len(), 1, "{text}");
        assert_eq!(chain(&made.text(), AXES).expect("the same").rows, made.rows);
    }
    // Both results behind a softmax go through HBM if several contractions take it; the sums in front of it need not.
    let twice = chain("mk,fk->mf; softmax; mf,nf->mn; mn,mf->nf", AXES).expect("a chain");
    assert_eq!((twice.arriving(1), twice.may_stay(0)), (None, true));
}

/// What is behind the last contraction takes its result from DM or from HBM, and leaves it in HBM.
#[test]
fn functions_behind_the_last_contraction() {
    let made = chain("mk,fk->mf; mf,nf->mn; relu, add, rmsnorm", AXES).expect("a chain");
    assert_eq!(made.text(), "mk,fk->mf; mf,nf->mn; relu, add, rmsnorm:n");
    assert_eq!(chain(&made.text(), AXES).expect("the same").rows, made.rows);
    assert!(made.has_end() && made.may_stay(1) && made.function(2) == "add, rmsnorm:n");
    // The result of the second contraction is one of two operands of bf16, and that of a softmax stays a sum.
    assert_eq!(made.problems[1].output, ElementType::Bf16);
    let softmax = chain("mk,nk->mn; scale=0.5, softmax", "M=16,K=16,N=16").expect("a chain");
    assert_eq!(softmax.problems[0].output, ElementType::F32);
    assert_eq!(softmax.rows[1].as_ref().map(|rows| rows.kind), Some(RowKind::Softmax { scale: 0.5 }));
    // A residual of an earlier result.
    let residual = chain("mk,nk->mn; mn,pn->mp; mp,np->mn; add", "M=16,K=16,N=16,P=16").expect("a chain");
    assert_eq!(residual.pairs[3].as_ref().map(|pair| pair.source), Some(Some(0)));
    assert!(!residual.may_stay(0) && residual.may_stay(2));
}

/// The other tensor is the last earlier result with the same letters, and otherwise one in HBM.
#[test]
fn sums_and_products_are_of_an_earlier_result_or_of_a_tensor_in_hbm() {
    let gate = chain("mk,fk->mf; silu; mk,fk->mf; mul; mf,nf->mn", AXES).expect("a chain");
    assert_eq!(gate.sources, [[None, None], [None, None], [Some(1), None]]);
    let pair = gate.pairs[2].as_ref().expect("a product");
    assert_eq!((pair.op, pair.source), (PairOp::Multiply, Some(0)));
    assert_eq!(gate.text(), "mk,fk->mf; silu; mk,fk->mf; mul; mf,nf->mn");
    // The gate waits in HBM, and the product goes on.
    assert_eq!(([0, 1].map(|number| gate.may_stay(number)), gate.arriving(2)), ([false, true], Some(0)));
    let mask = chain("mk,fk->mf; add, scale=2, softmax; mf,nf->mn", AXES).expect_err("a step behind a sum");
    assert!(mask.contains("`scale=2` follows `add`"), "{mask}");
    let mask = chain("mk,fk->mf; scale=2, add, softmax; mf,nf->mn", AXES).expect("a chain");
    assert_eq!(mask.pairs[1].as_ref().map(|pair| (pair.op, pair.source)), Some((PairOp::Add, None)));
    // The factor is of the sums, and not of what was added.
    assert_eq!(mask.rows[1].as_ref().map(|rows| rows.kind), Some(RowKind::Softmax { scale: 1.0 }));
    assert_eq!(
        (mask.problems[0].epilogue_text().as_str(), mask.problems[0].output),
        ("scale=2", ElementType::Bf16)
    );
}

#[test]
fn parts_that_are_none_are_refused() {
    let refused = |text: &str, axes: &str, message: &str| {
        assert_eq!(chain(text, axes).expect_err("it is refused"), format!("chain: {message}"));
    };
    refused(
        "mk,fk->mf; softmax(mf); mf,nf->mn",
        AXES,
        "`softmax(mf)` is no part; parts are contractions of two operands, as `mk,fk->mf`, steps behind them (bias, relu, \
         silu, gelu, sigmoid, tanh, exp, scale=0.125), add and mul of two tensors, and softmax, rmsnorm and layernorm in front \
         of one",
    );
    refused(
        "mk,fk->mf; softmax:k; mf,nf->mn",
        AXES,
        "`softmax:k` is along no axis of `mf`; write `softmax:m` or `softmax:f`",
    );
    refused(
        "mk,fk->mf; softmax=2; mf,nf->mn",
        AXES,
        "`softmax=2` is no softmax, which takes no number; write a factor in front of it: `scale=0.125, softmax`",
    );
    for word in ["rmsnorm=small", "rmsnorm=-1"] {
        refused(
            &format!("{word}; mk,nk->mn"),
            "M=16,K=16,N=16",
            &format!("`{word}` has no number to add to a mean square; write for example `rmsnorm=1e-6`"),
        );
    }
    refused(
        "mk,fk->mf; softmax, relu; mf,nf->mn",
        AXES,
        "`relu` follows `softmax`, but what follows sums is in the pass that makes them; put it in front of `softmax`, or \
         behind the next contraction",
    );
    refused(
        "mk,fk->mf; softmax; rmsnorm; mf,nf->mn",
        AXES,
        "`rmsnorm` follows `softmax` without a contraction between them; leave one of them out",
    );
    refused(
        "relu; mk,fk->mf; mf,nf->mn",
        AXES,
        "`relu` is in front of the first contraction, but follows sums; put it behind a contraction",
    );
    refused(
        "mk,fk->mf; mf,nf->mn; softmax, silu",
        AXES,
        "`silu` follows `softmax`, but what follows sums is in the pass that makes them; put it in front of `softmax`, or \
         behind the next contraction",
    );
    refused(
        "mk,nk->mn; relu",
        "M=16,K=16,N=16",
        "`mk,nk->mn; relu` has 1 contraction and no part around it, and a chain has 2 to 8, or one with a norm in front or a part \
         behind it; write for example `mk,fk->mf; mf,nf->mn`",
    );
    let output = |output| Chain::new("mk,nk->mn; add", "M=16,K=16,N=16", ElementType::Bf16, output);
    assert!(output(None).is_ok_and(|chain| chain.output() == Some(ElementType::Bf16)));
    assert!(output(Some(ElementType::Bf16)).is_ok());
    assert_eq!(
        output(Some(ElementType::F32)).expect_err("another type").to_string(),
        "out: what is behind the last contraction makes bf16, and not f32; write `--out bf16`"
    );
    refused(
        "mul; mk,fk->mf; mf,nf->mn",
        AXES,
        "`mul` is in front of the first contraction, but follows sums; put it behind a contraction",
    );
    refused(
        "mk,fk->mf; add; mul; mf,nf->mn",
        AXES,
        "`mul` follows `add` without a contraction between them; leave one of them out",
    );
    refused(
        "mk,fk->mf; softmax, add; mf,nf->mn",
        AXES,
        "`add` follows `softmax` without a contraction between them; leave one of them out",
    );
    refused(
        "mk,fk->mf; mul, silu; mf,nf->mn",
        AXES,
        "`silu` follows `mul`, but what follows sums is in the pass that makes them; put it in front of `mul`, or behind the \
         next contraction",
    );
    // 8 elements are a packet, and 12 are none.
    assert!(chain("mk,fk->mf; softmax:m; mf,nf->mn", "M=8,K=16,F=16,N=16").is_ok());
    refused(
        "mk,fk->mf; softmax:m; mf,nf->mn",
        "M=12,K=16,F=16,N=16",
        "`softmax:m` is of rows of 12 elements, but a slice takes rows in packets of 8; make `M` a multiple of 8",
    );
    // One contraction is a chain with a part around it, and 8 are the most.
    assert!(chain("rmsnorm; mk,nk->mn", "M=16,K=16,N=16").is_ok());
    let long = |count: usize| vec!["mk,nk->mn"; count].join("; ");
    assert!(!chain(&long(8), "M=16,K=16,N=16").expect_err("no result is an operand").contains("a chain has"));
    assert!(
        chain(&long(9), "M=16,K=16,N=16")
            .expect_err("too many")
            .contains("has 9 contractions, and a chain has 2 to 8")
    );
    let error =
        Chain::new("rmsnorm; mk,nk->mn", "M=16,K=32,N=16", ElementType::I8, None).expect_err("no bf16");
    assert_eq!(
        error.to_string(),
        "dtype: `rmsnorm` makes bf16, which `mk,nk->mn` does not multiply with i8; take bf16"
    );
}

/// Two tensors of one stream are alike, and both in DM.
#[test]
fn other_tensors_of_a_stream_are_refused() {
    let axes = Axes::parse("S=256,K=64,TURN=2").expect("axes");
    let of = |text: &str| parse_mapping(text, &axes).expect("a mapping");
    let tensor = |shape| Tensor::new(shape, 0, FillId::ANY).expect("it fits");
    let in_dm = |element, text| tensor(Shape::dm(element, of("1"), of("1 # 2"), of("S"), of(text)));
    let floats = in_dm(ElementType::F32, "K");
    let refused = |turn: &str, second: &Tensor, rule: &str, part: &str| {
        let error = Stream::begin_interleaved(of(turn), [&floats, second]).expect_err("it is refused");
        assert_eq!(error.rule(), rule);
        assert!(error.message().contains(part), "{error}");
    };
    assert!(Stream::begin_interleaved(of("TURN"), [&floats, &in_dm(ElementType::F32, "K")]).is_ok());
    let part = "one tensor has elements `m![K]` of f32 in slice `m![S]`, but the other one `m![K]` of bf16 in slice `m![S]`";
    refused("TURN", &in_dm(ElementType::Bf16, "K"), "interleaved tensors", part);
    refused(
        "TURN",
        &in_dm(ElementType::F32, "K % 32"),
        "interleaved tensors",
        "but the other one `m![K % 32]` of f32",
    );
    refused(
        "K",
        &in_dm(ElementType::F32, "K"),
        "interleave axis",
        "has size 64, but exactly 2 tensors are interleaved",
    );
    let in_hbm = tensor(Shape::hbm(ElementType::F32, of("1"), of("S, K")));
    refused("TURN", &in_hbm, "memory", "begin_interleaved: the tensor is in HBM");
    // Both halves of a stream are the groups of an unzip.
    let entered = || {
        let stream = Stream::begin_interleaved(of("TURN"), [&floats, &in_dm(ElementType::F32, "K")]);
        let stream = stream.and_then(|own| own.fetch(ElementType::F32, of("K / 8, TURN"), of("K % 8")));
        let stream = stream.and_then(|own| own.collect(of("K / 8, TURN"), of("K % 8")));
        stream.and_then(Stream::vector_init).expect("it derives")
    };
    let Expr::Symbol(turn) = of("TURN") else { panic!("an axis") };
    assert!(entered().unzip(*turn, [of("K / 8, 1 # 2"), of("K / 8")]).is_ok());
    let error =
        entered().unzip(*turn, [of("K / 8, 1 # 2"), of("K / 8, TURN")]).expect_err("the axis is there");
    assert!(error.message().starts_with("vector_intra_slice_unzip: SplitTime is "), "{error}");
}
