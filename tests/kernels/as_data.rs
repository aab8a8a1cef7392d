//! Kernels that are written as data: the commands, cycles, values and refusals of typed kernels.

use crate::block_on;
use furiosa_visa_std::PlanError;
use furiosa_visa_std::chip::System;
use furiosa_visa_std::clock::KernelCall;
use furiosa_visa_std::command::{Command, FillId, HostBuffer, Memory, Operation, ReduceOperator, VectorStep};
use furiosa_visa_std::lower::{
    Call, End, Made, Position, Stream, Tensor, Weights, download, to_dm, to_hbm, upload,
};
use furiosa_visa_std::mapping::{Expr, Ident};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::tensor::Shape;
use std::panic::Location;

axes![S = 256, N = 8, K = 64, C = 32];

type E = &'static Expr;

const ONE: E = <m![1]>::EXPR;
const TWO: E = <m![1 # 2]>::EXPR;

#[device(chip = 1)]
fn products(
    ctx: &mut Context,
    x: &HbmTensor<bf16, m![1], m![S, K]>,
    w: &HbmTensor<bf16, m![1], m![N, K]>,
) -> HbmTensor<f32, m![1], m![S, N]> {
    let x: DmTensor<bf16, m![1], m![1 # 2], m![S], m![K]> = x.to_dm(&mut ctx.tdma, 0);
    let w: DmTensor<bf16, m![1], m![1 # 2], m![S], m![N, K]> = w.to_dm(&mut ctx.tdma, 4096);
    let w = (ctx.sub.begin(w.view()).fetch::<bf16, m![N], m![K]>())
        .collect::<m![N, K / 16], m![K % 16]>()
        .to_trf::<m![N], m![K]>(TrfAddress::FirstHalf);
    let y: DmTensor<f32, m![1], m![1 # 2], m![S], m![N]> =
        (ctx.main.begin(x.view()).fetch::<bf16, m![1], m![K]>())
            .collect::<m![K / 16], m![K % 16]>()
            .align::<m![K / 32], m![K % 32], _, _>(&w)
            .contract::<m![1]>()
            .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Max, 0.0)
            .vector_final()
            .commit(8192);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// The same calls as values: uploads, commands, the result.
struct Data {
    system: System,
    commands: Vec<Operation>,
}

impl Data {
    fn fill(&mut self) -> FillId {
        self.system.next_fill()
    }

    /// Keeps a command, and gives what it makes.
    fn keep<T>(&mut self, made: Result<(Operation, T), PlanError>) -> T {
        let (operation, tensor) = made.unwrap_or_else(|error| panic!("{error}"));
        self.commands.push(operation);
        tensor
    }
}

fn maximum() -> Call {
    let zero = furiosa_visa_std::command::BinaryInput {
        ids: ValidBranchIds::ValidAlways,
        source: furiosa_visa_std::command::OperandSource::Constant(0.0f32.to_bits()),
    };
    let op = furiosa_visa_std::command::BinaryOperator::ClipF32(ClipBinaryOpF32::Max);
    let step = VectorStep::Binary { op, mode: BinaryArgMode::Mode01, operands: vec![zero] };
    Call::Step { operation: "vector_clip", step }
}

/// A kernel with a contraction and an operator: the same cycles, operation by operation, and the same values.
#[test]
fn a_kernel_as_data_is_the_typed_one() {
    let [xs, ws] = [256 * 64, 8 * 64].map(|count| {
        (0..count).map(|k| bf16::from_f32(((k * 37) % 41) as f32 / 8.0 - 2.5)).collect::<Vec<_>>()
    });
    let (expected, typed) = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<bf16, m![S, K]>::from_slice(&xs).to_hbm(&mut ctx.pdma, 0).await;
        let w = HostTensor::<bf16, m![N, K]>::from_slice(&ws).to_hbm(&mut ctx.pdma, 65536).await;
        let y = launch(products, (&mut *ctx, &x, &w)).await;
        let y = y.to_host::<m![S, N]>(&mut ctx.pdma).await.to_vec();
        (y, ctx.report())
    });
    assert!(expected.iter().any(|value| *value > 0.0) && expected.contains(&0.0));

    let bf16 = ElementType::Bf16;
    let (all_x, all_w, all_y) = (<m![S, K]>::EXPR, <m![N, K]>::EXPR, <m![S, N]>::EXPR);
    let [s, n, k] = [<m![S]>::EXPR, <m![N]>::EXPR, <m![K]>::EXPR];
    let mut data = Data { system: System::new(SimOptions::default()), commands: Vec::new() };
    let here = Location::caller();
    let mut tensor = |shape, address| {
        let fill = data.fill();
        Tensor::new(shape, address, fill).unwrap_or_else(|error| panic!("{error}"))
    };
    let x = tensor(Shape::hbm(bf16, ONE, all_x), 0);
    let w = tensor(Shape::hbm(bf16, ONE, all_w), 65536);
    let fill = data.fill();
    let x_dm = data.keep(to_dm(&x, [ONE, TWO, s, k], 0, fill));
    let fill = data.fill();
    let w_dm = data.keep(to_dm(&w, [ONE, TWO, s, all_w], 4096, fill));
    let load = [
        Call::Fetch { output: bf16, time: n, packet: k },
        Call::Collect { time: <m![N, K / 16]>::EXPR, packet: <m![K % 16]>::EXPR },
    ];
    let end = End::ToTrf { row: n, element: k, address: TrfAddress::FirstHalf };
    let stream = Stream::begin(&w_dm, true).and_then(|stream| stream.calls(&load)).expect("it derives");
    let fill = data.fill();
    let Made::Weights(weights) = data.keep(stream.end(end, fill)) else { panic!("it loads the TRF") };
    let calls = [
        Call::Fetch { output: bf16, time: ONE, packet: k },
        Call::Collect { time: <m![K / 16]>::EXPR, packet: <m![K % 16]>::EXPR },
        Call::Align { weights: Box::new(weights), time: <m![K / 32]>::EXPR, packet: <m![K % 32]>::EXPR },
        Call::Contract { packet: ONE },
        Call::Accumulate { kind: AccumulationKind::Interleaved, time: ONE, packet: n },
        Call::VectorInit,
        Call::Branch(BranchMode::Unconditional),
        maximum(),
        Call::VectorFinal,
    ];
    let stream = Stream::begin(&x_dm, false).and_then(|stream| stream.calls(&calls)).expect("it derives");
    assert_eq!((stream.position(), stream.element()), (Position::VectorFinal, ElementType::F32));
    let fill = data.fill();
    let end = End::Commit { element: n, address: 8192 };
    let Made::Tensor(y_dm) = data.keep(stream.end(end, fill)) else { panic!("it is committed") };
    let fill = data.fill();
    let y = data.keep(to_hbm(&y_dm, [ONE, all_y], 1 << 20, fill));

    let Data { mut system, commands } = data;
    for (host, tensor, values) in [(all_x, &x, &xs), (all_w, &w, &ws)] {
        let bytes = values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect();
        let buffer = HostBuffer { bytes, initialised: None };
        system.upload(&upload(host, tensor).expect("it derives"), &buffer, here).expect("it fits");
    }
    system.enter_kernel(KernelCall { number: 1, name: "products" });
    for operation in commands {
        system.execute(&Command { operation, location: here }).unwrap_or_else(|fault| panic!("{fault}"));
    }
    system.enter_kernel(KernelCall::default());
    let found = system.download(&download(all_y, &y).expect("it derives"), here).expect("it is there");
    let found: Vec<f32> =
        found.bytes.chunks(4).map(|code| f32::from_le_bytes(code.try_into().expect("four bytes"))).collect();
    assert_eq!(found, expected);
    let told = |report: &furiosa_visa_std::clock::Report| -> Vec<_> {
        report.records.iter().map(|record| (record.operation, record.start, record.end)).collect()
    };
    assert_eq!(told(&system.report()), told(&typed));
}

fn in_dm(element: ElementType, inside: E) -> Tensor {
    let shape = Shape::dm(element, ONE, TWO, <m![S]>::EXPR, inside);
    Tensor::new(shape, 0, FillId::ANY).unwrap_or_else(|error| panic!("{error}"))
}

/// Reduces in a slice, and between slices, give the mappings of the typed calls.
#[test]
fn reduces_as_data() {
    axes![R = 32, L = 1024];
    let shape = Shape::dm(ElementType::F32, ONE, TWO, <m![R, L / 128]>::EXPR, <m![L % 128]>::EXPR);
    let x = Tensor::new(shape, 0, FillId::ANY).expect("it fits");
    let halves: [E; 2] = [<m![L / 8 % 16]>::EXPR, <m![L % 8]>::EXPR];
    let calls = [
        Call::Fetch { output: ElementType::F32, time: halves[0], packet: halves[1] },
        Call::Collect { time: halves[0], packet: halves[1] },
        Call::VectorInit,
        Call::Branch(BranchMode::Unconditional),
        Call::Split { time: <m![L / 4 % 32]>::EXPR, packet: <m![L % 4]>::EXPR },
        Call::IntraSliceReduce {
            axis: Ident::new("L"),
            op: ReduceOperator::AddF32,
            time: ONE,
            packet: <m![1 # 4]>::EXPR,
        },
        Call::Pad { packet: <m![1 # 8]>::EXPR },
        Call::InterSliceReduce { op: ReduceOperator::AddF32, slice: <m![R, 1 # 8]>::EXPR, time: ONE },
        Call::VectorFinal,
    ];
    let stream = Stream::begin(&x, false).and_then(|stream| stream.calls(&calls)).expect("it derives");
    assert_eq!(stream.mappings()[2..], [<m![R, 1 # 8]>::EXPR, ONE, <m![1 # 8]>::EXPR]);
    let (operation, sums) = stream.commit(<m![1 # 2]>::EXPR, 4096, FillId::ANY).expect("it derives");
    let Operation::TensorUnit(unit) = operation else { panic!("it is a pass") };
    assert_eq!(unit.vector.map(|vector| vector.steps.len()), Some(5));
    assert_eq!((sums.shape.memory, sums.region.address), (Memory::Dm, 4096));
    // The same operator twice: the arithmetic unit is in use.
    let twice = [&calls[..4], &[maximum(), maximum()]].concat();
    let error = Stream::begin(&x, false).and_then(|stream| stream.calls(&twice)).expect_err("it is in use");
    assert!(error.message().starts_with("vector_clip: "), "{error}");
}

/// Calls keep to the order of the engines. The message names the calls that may come before.
#[test]
fn calls_are_given_in_the_order_of_the_engines() {
    let begun = || Stream::begin(&in_dm(ElementType::I8, <m![K]>::EXPR), false).expect("it is in DM");
    let fetched = || begun().fetch(ElementType::I8, ONE, <m![K]>::EXPR).expect("it derives");
    let halves: [E; 2] = [<m![K / 32]>::EXPR, <m![K % 32]>::EXPR];
    let collected = || fetched().collect(halves[0], halves[1]).expect("it derives");
    let refused = |result: Result<Stream, PlanError>, parts: &[&str]| {
        let error = result.expect_err("the order is wrong");
        assert_eq!(error.rule(), "call order", "{error}");
        assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    };
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
    let error = begun().commit(<m![K]>::EXPR, 0, FillId::ANY).map(drop).expect_err("nothing was fetched");
    assert_eq!(error.rule(), "call order");
    let error = fetched().to_trf(ONE, ONE, TrfAddress::Full, FillId::ANY).map(drop).expect_err("no flits");
    assert_eq!(error.rule(), "call order");
    // The right order.
    assert!(collected().commit(<m![K]>::EXPR, 4096, FillId::ANY).is_ok());
}

/// Element types and memories that the compiler refuses by traits.
#[test]
fn types_are_those_of_the_engines() {
    let refused = |result: Result<(), PlanError>, parts: &[&str]| {
        let error = result.expect_err("the type is wrong");
        assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    };
    let stream = |element, output, time, packet| {
        Stream::begin(&in_dm(element, <m![K]>::EXPR), false)?.fetch(output, time, packet)
    };
    let (i8, i32, f32, bf16) = (ElementType::I8, ElementType::I32, ElementType::F32, ElementType::Bf16);
    let (time, packet): (E, E) = (<m![K / 8]>::EXPR, <m![K % 8]>::EXPR);
    refused(
        stream(i8, bf16, time, packet).map(drop),
        &["fetch: elements of i8 cannot become bf16, but i8, i9, i32"],
    );
    let wide = || stream(i8, i32, time, packet)?.collect(time, packet);
    assert!(wide().is_ok());
    refused(wide().and_then(|stream| stream.cast(f32, packet)).map(drop), &["cast: elements of i32"]);
    let narrow = stream(i8, i8, ONE, <m![K]>::EXPR)
        .and_then(|stream| stream.collect(<m![K / 32]>::EXPR, <m![K % 32]>::EXPR))
        .expect("it derives");
    refused(
        narrow.clone().vector_init().map(drop),
        &["vector_init: the call takes elements of i32 and f32, but the stream has i8"],
    );
    refused(
        narrow.to_vrf(<m![K]>::EXPR, 0, FillId::ANY).map(drop),
        &["to_vrf: the call takes elements of i32 and f32, but the stream has i8"],
    );
    let nine = stream(i8, ElementType::I9, ONE, <m![K]>::EXPR).expect("it derives");
    let committed = nine.commit(<m![K]>::EXPR, 0, FillId::ANY).map(drop);
    refused(committed, &["commit: no memory holds elements of i9"]);
    let hbm = Tensor::new(Shape::hbm(i8, ONE, <m![K]>::EXPR), 0, FillId::ANY).expect("it fits");
    refused(Stream::begin(&hbm, false).map(drop), &["begin: the tensor is in HBM", "in DM"]);
    refused(upload(<m![K]>::EXPR, &in_dm(i8, <m![K]>::EXPR)).map(drop), &["to_hbm: the tensor is in DM"]);
    // At the limit of the VRF of 8192 bytes: 2048 elements fit, and one more does not.
    let vrf = |elements: E| {
        Tensor::new(Shape::vrf(f32, ONE, TWO, <m![S]>::EXPR, elements), 0, FillId::ANY).map(drop)
    };
    axes![V = 2048, U = 2049];
    assert!(vrf(<m![V]>::EXPR).is_ok());
    refused(vrf(<m![U]>::EXPR), &["8196 bytes", "VRF holds 8192"]);
    // Weights: 8 rows of 8192 bytes fill the register file, 16 rows are none.
    axes![Q = 8192, P = 16];
    let units = [ONE, TWO, <m![S]>::EXPR];
    let weights = |row: E, element: E| Weights::new(i8, units, [row, element], TrfAddress::Full, FillId::ANY);
    assert!(weights(<m![N]>::EXPR, <m![Q]>::EXPR).is_ok());
    refused(weights(<m![N]>::EXPR, <m![Q # 8193]>::EXPR).map(drop), &["to_trf: ", "65536"]);
    refused(weights(<m![P]>::EXPR, <m![K]>::EXPR).map(drop), &["to_trf: ", "1, 2, 4, or 8"]);
}
