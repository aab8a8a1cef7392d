//! What calls as data refuse.

use super::{E, K, N, ONE, S, TWO, calls};
use furiosa_visa_std::PlanError;
use furiosa_visa_std::command::{FillId, ReduceOperator, VectorStep};
use furiosa_visa_std::lower::{Call, Stream, Tensor, Weights, upload};
use furiosa_visa_std::mapping::M;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::tensor::Shape;

fn in_dm(element: ElementType, inside: E) -> Tensor {
    let shape = Shape::dm(element, ONE, TWO, <m![S]>::EXPR, inside);
    Tensor::new(shape, 0, FillId::ANY).unwrap_or_else(|error| panic!("{error}"))
}

/// A stream of bytes, in flits.
fn narrow_of(tensor: &Tensor) -> Stream {
    let fetched = Stream::begin(tensor, false)
        .and_then(|stream| stream.fetch(ElementType::I8, ONE, <m![K]>::EXPR))
        .and_then(|stream| stream.collect(<m![K / 32]>::EXPR, <m![K % 32]>::EXPR));
    fetched.expect("it derives")
}

/// The refusal of a call, whose message has these parts.
#[track_caller]
fn refused<T: core::fmt::Debug>(result: Result<T, PlanError>, parts: &[&str]) -> PlanError {
    let error = result.expect_err("the call is wrong");
    assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    error
}

/// Calls keep to the order of the engines. The message names the calls that may come before.
#[test]
fn calls_are_given_in_the_order_of_the_engines() {
    let begun = || Stream::begin(&in_dm(ElementType::I8, <m![K]>::EXPR), false).expect("it is in DM");
    let fetched = || begun().fetch(ElementType::I8, ONE, <m![K]>::EXPR).expect("it derives");
    let halves: [E; 2] = [<m![K / 32]>::EXPR, <m![K % 32]>::EXPR];
    let collected = || fetched().collect(halves[0], halves[1]).expect("it derives");
    let refused = |result, parts: &[&str]| assert_eq!(refused(result, parts).rule(), "call order");
    refused(
        begun().collect(halves[0], halves[1]),
        &["collect: ", "is `begin`", "follows `fetch` or `switch`"],
    );
    refused(
        fetched().fetch(ElementType::I8, ONE, <m![K]>::EXPR),
        &["fetch: ", "is `fetch`", "follows `begin`"],
    );
    refused(collected().switch(None, <m![S]>::EXPR, ONE), &["switch: ", "is `collect`"]);
    refused(collected().contract(ONE), &["contract: ", "follows `align`"]);
    refused(collected().accumulate(AccumulationKind::Interleaved, ONE, ONE), &["follows `contract`"]);
    refused(fetched().vector_init(), &["vector_init: ", "`collect` or `accumulate`"]);
    refused(collected().vector_final(), &["vector_final: ", "follows `vector_init`"]);
    refused(begun().transpose(ONE, ONE), &["`collect`, `accumulate`, `vector_final` or `cast`"]);
    let committed = begun().commit(<m![K]>::EXPR, 0, FillId::ANY).map(|(_, tensor)| tensor);
    assert_eq!(self::refused(committed, &["commit: ", "is `begin`"]).rule(), "call order");
    let loaded = fetched().to_trf(ONE, ONE, TrfAddress::Full, FillId::ANY).map(|(_, weights)| weights);
    assert_eq!(self::refused(loaded, &["to_trf: ", "follows `collect`"]).rule(), "call order");
    // The right order.
    assert!(collected().commit(<m![K]>::EXPR, 4096, FillId::ANY).is_ok());
}

/// Element types and memories that the compiler refuses by traits.
#[test]
fn types_are_those_of_the_engines() {
    let stream = |element, output, time, packet| {
        Stream::begin(&in_dm(element, <m![K]>::EXPR), false)?.fetch(output, time, packet)
    };
    let (i8, i32, f32, bf16) = (ElementType::I8, ElementType::I32, ElementType::F32, ElementType::Bf16);
    let (time, packet): (E, E) = (<m![K / 8]>::EXPR, <m![K % 8]>::EXPR);
    refused(stream(i8, bf16, time, packet), &["fetch: elements of i8 cannot become bf16, but i8, i9, i32"]);
    let wide = || stream(i8, i32, time, packet)?.collect(time, packet);
    assert!(wide().is_ok());
    refused(wide().and_then(|stream| stream.cast(f32, packet)), &["cast: elements of i32"]);
    let narrow = stream(i8, i8, ONE, <m![K]>::EXPR)
        .and_then(|stream| stream.collect(<m![K / 32]>::EXPR, <m![K % 32]>::EXPR))
        .expect("it derives");
    refused(
        narrow.clone().vector_init(),
        &["vector_init: the call takes elements of i32 and f32, but the stream has i8"],
    );
    refused(
        narrow.to_vrf(<m![K]>::EXPR, 0, FillId::ANY),
        &["to_vrf: the call takes elements of i32 and f32, but the stream has i8"],
    );
    let nine = stream(i8, ElementType::I9, ONE, <m![K]>::EXPR).expect("it derives");
    let committed = nine.commit(<m![K]>::EXPR, 0, FillId::ANY);
    refused(committed, &["commit: no memory holds elements of i9"]);
    // A view gets the type and the units of the stream.
    let bytes = || narrow_of(&in_dm(i8, <m![K]>::EXPR));
    let there = in_dm(i8, <m![K]>::EXPR);
    assert!(bytes().commit_view(&there, &there).is_ok());
    let other = in_dm(bf16, <m![K]>::EXPR);
    refused(
        bytes().commit_view(&other, &other),
        &["commit_view: a tensor of bf16 in cluster `m![1 # 2]`", "gets a stream of i8"],
    );
    let one = Shape::dm(i8, ONE, TWO, <m![1 # 256]>::EXPR, <m![K]>::EXPR);
    let one = Tensor::new(one, 0, FillId::ANY).expect("it fits");
    refused(bytes().commit_view(&one, &one), &["slice `m![1 # 256]` gets a stream of i8", "help: "]);
    let hbm = Tensor::new(Shape::hbm(i8, ONE, <m![K]>::EXPR), 0, FillId::ANY).expect("it fits");
    refused(Stream::begin(&hbm, false), &["begin: the tensor is in HBM", "in DM"]);
    refused(bytes().commit_view(&hbm, &hbm), &["commit_view: the tensor is in HBM", "in DM"]);
    refused(upload(<m![K]>::EXPR, &in_dm(i8, <m![K]>::EXPR)), &["to_hbm: the tensor is in DM"]);
    // At the limit of the VRF of 8192 bytes: 2048 elements fit, and one more does not.
    let vrf = |elements: E| Tensor::new(Shape::vrf(f32, ONE, TWO, <m![S]>::EXPR, elements), 0, FillId::ANY);
    axes![V = 2048, U = 2049];
    assert!(vrf(<m![V]>::EXPR).is_ok());
    refused(vrf(<m![U]>::EXPR), &["8196 bytes", "VRF holds 8192"]);
    // Weights: 8 rows of 8192 bytes fill the register file, 16 rows are none.
    axes![Q = 8192, P = 16];
    let units = [ONE, TWO, <m![S]>::EXPR];
    let weights = |row: E, element: E| Weights::new(i8, units, [row, element], TrfAddress::Full, FillId::ANY);
    assert!(weights(<m![N]>::EXPR, <m![Q]>::EXPR).is_ok());
    refused(weights(<m![N]>::EXPR, <m![Q # 8193]>::EXPR), &["to_trf: ", "65536"]);
    refused(weights(<m![P]>::EXPR, <m![K]>::EXPR), &["to_trf: ", "1, 2, 4, or 8"]);
    // More bytes than a number of 64 bits counts.
    refused(weights(<m![N]>::EXPR, <m![Q # 2305843009213693952]>::EXPR), &["to_trf: ", "65536"]);
}

/// Operands, weights and steps that the compiler refuses by types of tensors and of stages.
#[test]
fn operands_are_those_of_the_stream() {
    let (i8, i32, f32) = (ElementType::I8, ElementType::I32, ElementType::F32);
    let (s, k): (E, E) = (<m![S]>::EXPR, <m![K]>::EXPR);
    let (time, packet): (E, E) = (<m![K / 8]>::EXPR, <m![K % 8]>::EXPR);
    let vector = |element| {
        let given = [
            Call::Fetch { output: element, time, packet },
            Call::Collect { time, packet },
            Call::VectorInit,
            Call::Branch(BranchMode::Unconditional),
        ];
        calls(&in_dm(element, k), false, &given)
    };
    let stream = vector(f32).expect("it derives");
    let vrf = |element, slice, elements| {
        let shape = Shape::vrf(element, ONE, TWO, slice, elements);
        Tensor::new(shape, 0, FillId::ANY).expect("it fits")
    };
    assert!(stream.operand(&vrf(f32, s, k)).is_ok());
    refused(
        stream.operand(&vrf(i32, s, k)),
        &["vector operand: the stream has elements of f32, but the tensor in the VRF i32; help: "],
    );
    refused(stream.operand(&in_dm(f32, k)), &["vector operand: the tensor is in DM", "one in the VRF"]);
    axes![U = 8, W = 256];
    refused(stream.operand(&vrf(f32, s, <m![U]>::EXPR)), &["vector operand: ", "U"]);
    let outside = Stream::begin(&in_dm(f32, k), false).expect("it is in DM");
    refused(outside.operand(&vrf(f32, s, k)), &["vector operand: ", "`begin`", "follows `vector_init`"]);
    // The stash: none, one, one of another type, and none behind an exchange between slices.
    refused(stream.stash(), &["nothing was stashed"]);
    let stashed = stream.clone().step("vector_stash", VectorStep::Stash).expect("it derives");
    assert!(stashed.stash().is_ok());
    let convert = VectorStep::FpToFxp { int_width: 31 };
    let converted = stashed.clone().step("vector_fp_to_fxp", convert).expect("it derives");
    assert_eq!(converted.element(), i32);
    refused(converted.stash(), &["stashed as F32, requested as I32"]);
    let exchanged = stashed.inter_slice_reduce(ReduceOperator::AddF32, <m![1 # 256]>::EXPR, time);
    refused(exchanged.expect("it derives").stash(), &["nothing was stashed"]);
    // A step that has a call of its own.
    refused(
        stream.clone().step("vector_split", VectorStep::Split),
        &["vector_split: the step changes the mappings of the stream"],
    );
    // Weights: another type, other units, elements that are not multiplied.
    let flits = |element, packet| {
        let time = if element == i8 { <m![K / 32]>::EXPR } else { <m![K / 8]>::EXPR };
        let given = [Call::Fetch { output: element, time, packet }, Call::Collect { time, packet }];
        calls(&in_dm(element, k), false, &given).expect("it derives")
    };
    let weights = |element, slice: E| {
        let part = TrfAddress::Full;
        Weights::new(element, [ONE, TWO, slice], [<m![N]>::EXPR, k], part, FillId::ANY).expect("it fits")
    };
    let half: E = <m![K % 32]>::EXPR;
    // 64 elements of i8, 16 of i32.
    let align = |weights| flits(i8, half).align(&weights, ONE, k);
    assert!(align(weights(i8, s)).is_ok());
    refused(align(weights(i32, s)), &["align: the stream has elements of i8, but the weights are i32"]);
    refused(
        align(weights(i8, <m![W]>::EXPR)),
        &["align: the stream lies in `m![S]`, but the weights in `m![W]`"],
    );
    let words = flits(i32, packet).align(&weights(i32, s), <m![K / 16]>::EXPR, <m![K % 16]>::EXPR);
    let words = words.expect("it derives");
    refused(words.contract(ONE), &["contract: the engine does not multiply elements of i32"]);
    // A cast of elements that only fetch casts.
    refused(
        flits(i8, half).cast(i32, half),
        &["cast: the call takes elements of i32 and f32, but the stream has i8"],
    );
    // The sub context commits what it fetched and collected, and nothing that was transposed.
    let transposed = |sub_context| {
        let given = [
            Call::Fetch { output: i8, time, packet },
            Call::Collect { time, packet: <m![K % 8 # 32]>::EXPR },
            Call::Transpose { time: packet, packet: <m![K / 8 # 32]>::EXPR },
        ];
        let stream = calls(&in_dm(i8, k), sub_context, &given).expect("it derives");
        stream.commit(<m![K % 8, K / 8]>::EXPR, 32768, FillId::ANY)
    };
    assert!(transposed(false).is_ok());
    refused(
        transposed(true),
        &["commit: a commit of the sub context cannot follow the engine of `.transpose()`"],
    );
    // Rows of i4 end at a byte: 131 072 fill the register file, one more does not fit.
    axes![Y = 131072, Z = 131073];
    let row = |row: E| {
        let part = TrfAddress::Full;
        Weights::new(ElementType::I4, [ONE, TWO, s], [ONE, row], part, FillId::ANY)
    };
    assert!(row(<m![Y]>::EXPR).is_ok());
    refused(row(<m![Z]>::EXPR), &["to_trf: ", "65537"]);
}
