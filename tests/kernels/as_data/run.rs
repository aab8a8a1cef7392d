//! Kernels beside typed ones: the same values, and the same cycles operation by operation.

use super::{E, K, Kernel, N, ONE, S, TWO, assert_equal, assert_same_cycles, calls};
use crate::block_on;
use furiosa_visa_std::clock::Report;
use furiosa_visa_std::command::{BinaryInput, BinaryOperator, OperandSource, ReduceOperator, VectorStep};
use furiosa_visa_std::lower::{Call, End, Position, to_dm, to_hbm};
use furiosa_visa_std::mapping::{Ident, M};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType::{Bf16, F32, I32};
use furiosa_visa_std::tensor::Shape;

fn binary(operation: &'static str, op: BinaryOperator, source: OperandSource) -> Call {
    let operands = vec![BinaryInput { ids: ValidBranchIds::ValidAlways, source }];
    Call::Step { operation, step: VectorStep::Binary { op, mode: BinaryArgMode::Mode01, operands } }
}

fn positive() -> Call {
    let zero = OperandSource::Constant(0.0f32.to_bits());
    binary("vector_clip", BinaryOperator::ClipF32(ClipBinaryOpF32::Max), zero)
}

fn bytes_of_floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn bytes_of_halves(values: &[bf16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect()
}

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

/// A contraction and an operator.
#[test]
fn products_as_data() {
    let [xs, ws] = [256 * 64, 8 * 64].map(|count| {
        (0..count).map(|k| bf16::from_f32(((k * 37) % 41) as f32 / 8.0 - 2.5)).collect::<Vec<_>>()
    });
    let (expected, typed): (Vec<f32>, Report) = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<bf16, m![S, K]>::from_slice(&xs).to_hbm(&mut ctx.pdma, 0).await;
        let w = HostTensor::<bf16, m![N, K]>::from_slice(&ws).to_hbm(&mut ctx.pdma, 65536).await;
        let y = launch(products, (&mut *ctx, &x, &w)).await;
        let y = y.to_host::<m![S, N]>(&mut ctx.pdma).await.to_vec();
        (y, ctx.report())
    });
    assert!(expected.iter().any(|value| *value > 0.0) && expected.contains(&0.0));

    let (all_x, all_w, all_y) = (<m![S, K]>::EXPR, <m![N, K]>::EXPR, <m![S, N]>::EXPR);
    let [s, n, k] = [<m![S]>::EXPR, <m![N]>::EXPR, <m![K]>::EXPR];
    let mut kernel = Kernel::new();
    let x = kernel.input(Shape::hbm(Bf16, ONE, all_x), 0, all_x, bytes_of_halves(&xs));
    let w = kernel.input(Shape::hbm(Bf16, ONE, all_w), 65536, all_w, bytes_of_halves(&ws));
    let fill = kernel.fill();
    let x = kernel.keep(to_dm(&x, [ONE, TWO, s, k], 0, fill));
    let fill = kernel.fill();
    let w = kernel.keep(to_dm(&w, [ONE, TWO, s, all_w], 4096, fill));
    let load = [
        Call::Fetch { output: Bf16, time: n, packet: k },
        Call::Collect { time: <m![N, K / 16]>::EXPR, packet: <m![K % 16]>::EXPR },
    ];
    let end = End::ToTrf { row: n, element: k, address: TrfAddress::FirstHalf };
    let weights = kernel.weights(calls(&w, true, &load), end);
    let stream = calls(
        &x,
        false,
        &[
            Call::Fetch { output: Bf16, time: ONE, packet: k },
            Call::Collect { time: <m![K / 16]>::EXPR, packet: <m![K % 16]>::EXPR },
            Call::Align { weights: Box::new(weights), time: <m![K / 32]>::EXPR, packet: <m![K % 32]>::EXPR },
            Call::Contract { packet: ONE },
            Call::Accumulate { kind: AccumulationKind::Interleaved, time: ONE, packet: n },
            Call::VectorInit,
            Call::Branch(BranchMode::Unconditional),
            positive(),
            Call::VectorFinal,
        ],
    )
    .expect("it derives");
    assert_eq!((stream.position(), stream.element()), (Position::VectorFinal, F32));
    let y = kernel.tensor(Ok(stream), End::Commit { element: n, address: 8192 });
    let fill = kernel.fill();
    let y = kernel.keep(to_hbm(&y, [ONE, all_y], 1 << 20, fill));
    let (found, report) = kernel.run("products", all_y, &y);
    assert_equal(&found, &bytes_of_floats(&expected));
    assert_same_cycles(&report, &typed);
}

/// The slices of `S` in the order that the exchange leaves.
type Exchanged = m![S / 64, S % 2, S / 2 % 32];

#[device(chip = 1)]
fn scaled(
    ctx: &mut Context,
    x: &HbmTensor<i32, m![1], m![S, K]>,
    b: &HbmTensor<f32, m![1], m![S, K]>,
) -> HbmTensor<bf16, m![1], m![S, K]> {
    let x: DmTensor<i32, m![1], m![1 # 2], m![S], m![K]> = x.to_dm(&mut ctx.tdma, 0);
    let b: DmTensor<f32, m![1], m![1 # 2], m![S], m![K]> = b.to_dm(&mut ctx.tdma, 4096);
    let b: SwitchTensor<_, f32, m![1], m![1 # 2], Exchanged, m![K / 8], m![K % 8]> =
        ctx.main.begin(b.view()).fetch::<f32, m![K / 8], m![K % 8]>().switch_to();
    let b = b.collect::<m![K / 8], m![K % 8]>().to_vrf::<m![K]>(0);
    let x: SwitchTensor<_, i32, m![1], m![1 # 2], Exchanged, m![K / 8], m![K % 8]> = (ctx.main)
        .begin(x.view())
        .fetch::<i32, m![K / 8], m![K % 8]>()
        .switch(SwitchConfig::Transpose { slice1: 32, slice0: 2 });
    let y: DmTensor<bf16, m![1], m![1 # 2], Exchanged, m![K]> = x
        .collect::<m![K / 8], m![K % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp_to_fp(27)
        .vector_split::<m![K / 4], m![K % 4]>()
        .vector_stash()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &b)
        .vector_fp_binary(FpBinaryOp::AddF, Stash)
        .vector_concat::<m![K / 8], m![K % 8]>()
        .vector_clip(ClipBinaryOpF32::Max, 0.0)
        .vector_final()
        .cast::<bf16, m![K % 8 # 16]>()
        .commit(8192);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// Both ways to switch, a conversion, an operand in the VRF, the stash, a cast: `max(x / 16 · b + x / 16, 0)`.
#[test]
fn operands_as_data() {
    let xs: Vec<i32> = (0..256 * 64).map(|k| (k * 37) % 101 - 50).collect();
    let bs: Vec<f32> = (0..256 * 64).map(|k| ((k * 29) % 31) as f32 / 4.0 - 3.0).collect();
    let (expected, typed): (Vec<bf16>, Report) = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i32, m![S, K]>::from_slice(&xs).to_hbm(&mut ctx.pdma, 0).await;
        let b = HostTensor::<f32, m![S, K]>::from_slice(&bs).to_hbm(&mut ctx.pdma, 65536).await;
        let y = launch(scaled, (&mut *ctx, &x, &b)).await;
        let y = y.to_host::<m![S, K]>(&mut ctx.pdma).await.to_vec();
        (y, ctx.report())
    });
    let by_hand = |(x, b): (&i32, &f32)| {
        // 31 - 27 bits stand behind the point.
        let x = *x as f32 / 16.0;
        bf16::from_f32((x * b + x).max(0.0))
    };
    assert_equal(&expected, &xs.iter().zip(&bs).map(by_hand).collect::<Vec<_>>());

    let [s, k, all, exchanged] = [<m![S]>::EXPR, <m![K]>::EXPR, <m![S, K]>::EXPR, <Exchanged>::EXPR];
    let [eights, eight]: [E; 2] = [<m![K / 8]>::EXPR, <m![K % 8]>::EXPR];
    let [fours, four]: [E; 2] = [<m![K / 4]>::EXPR, <m![K % 4]>::EXPR];
    let mut kernel = Kernel::new();
    let bytes = xs.iter().flat_map(|value| value.to_le_bytes()).collect();
    let x = kernel.input(Shape::hbm(I32, ONE, all), 0, all, bytes);
    let b = kernel.input(Shape::hbm(F32, ONE, all), 65536, all, bytes_of_floats(&bs));
    let fill = kernel.fill();
    let x = kernel.keep(to_dm(&x, [ONE, TWO, s, k], 0, fill));
    let fill = kernel.fill();
    let b = kernel.keep(to_dm(&b, [ONE, TWO, s, k], 4096, fill));
    let enter = |output, config| {
        [
            Call::Fetch { output, time: eights, packet: eight },
            Call::Switch { config, slice: exchanged, time: eights },
            Call::Collect { time: eights, packet: eight },
        ]
    };
    let load = calls(&b, false, &enter(F32, None));
    let b = kernel.tensor(load, End::ToVrf { element: k, address: 0 });
    let stream = calls(&x, false, &enter(I32, Some(SwitchConfig::Transpose { slice1: 32, slice0: 2 })));
    let steps = [
        Call::VectorInit,
        Call::Branch(BranchMode::Unconditional),
        Call::Step { operation: "vector_fxp_to_fp", step: VectorStep::FxpToFp { int_width: 27 } },
        Call::Split { time: fours, packet: four },
        Call::Step { operation: "vector_stash", step: VectorStep::Stash },
    ];
    let stream = stream.and_then(|stream| stream.calls(&steps)).expect("it derives");
    assert_eq!(stream.element(), F32);
    let multiply = BinaryOperator::Fp(FpBinaryOp::MulF(FpMulAlu::Mul0));
    let multiply = binary("vector_fp_binary", multiply, stream.operand(&b).expect("it derives"));
    let add = BinaryOperator::Fp(FpBinaryOp::AddF);
    let add = binary("vector_fp_binary", add, stream.stash().expect("it is stashed"));
    let stream = stream.calls(&[
        multiply,
        add,
        Call::Concat { time: eights, packet: eight },
        positive(),
        Call::VectorFinal,
        Call::Cast { output: Bf16, packet: <m![K % 8 # 16]>::EXPR },
    ]);
    let y = kernel.tensor(stream, End::Commit { element: k, address: 8192 });
    assert_eq!(y.shape.element_type, Bf16);
    let fill = kernel.fill();
    let y = kernel.keep(to_hbm(&y, [ONE, all], 1 << 20, fill));
    let (found, report) = kernel.run("scaled", all, &y);
    assert_equal(&found, &bytes_of_halves(&expected));
    assert_same_cycles(&report, &typed);
}

axes![R = 32, L = 1024];

#[device(chip = 1)]
fn sums(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![R, L]>) -> HbmTensor<f32, m![1], m![R]> {
    let x: DmTensor<f32, m![1], m![1 # 2], m![R, L / 128], m![L % 128]> = x.to_dm(&mut ctx.tdma, 0);
    let y: DmTensor<f32, m![1], m![1 # 2], m![R, 1 # 8], m![1 # 2]> =
        (ctx.main.begin(x.view()).fetch::<f32, m![L / 4 % 32], m![L % 4 # 8]>())
            .collect::<m![L / 4 % 32], m![L % 4 # 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_trim_way4::<m![L % 4]>()
            .vector_intra_slice_reduce::<L, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_inter_slice_reduce::<m![R, 1 # 8], m![1]>(InterSliceReduceOpF32::Add)
            .vector_final()
            .commit(4096);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// Sums in a slice, and between slices.
#[test]
fn reduces_as_data() {
    let xs: Vec<f32> = (0..32 * 1024).map(|k| ((k * 37) % 101) as f32 - 50.0).collect();
    let (expected, typed): (Vec<f32>, Report) = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<f32, m![R, L]>::from_slice(&xs).to_hbm(&mut ctx.pdma, 0).await;
        let y = launch(sums, (&mut *ctx, &x)).await;
        let y = y.to_host::<m![R]>(&mut ctx.pdma).await.to_vec();
        (y, ctx.report())
    });
    // Sums of small integers are exact in any order.
    assert_equal(&expected, &xs.chunks(1024).map(|row| row.iter().sum()).collect::<Vec<f32>>());

    let (all, rows) = (<m![R, L]>::EXPR, <m![R]>::EXPR);
    let mut kernel = Kernel::new();
    let x = kernel.input(Shape::hbm(F32, ONE, all), 0, all, bytes_of_floats(&xs));
    let fill = kernel.fill();
    let units = [ONE, TWO, <m![R, L / 128]>::EXPR, <m![L % 128]>::EXPR];
    let x = kernel.keep(to_dm(&x, units, 0, fill));
    let [time, packet]: [E; 2] = [<m![L / 4 % 32]>::EXPR, <m![L % 4 # 8]>::EXPR];
    let enter = [
        Call::Fetch { output: F32, time, packet },
        Call::Collect { time, packet },
        Call::VectorInit,
        Call::Branch(BranchMode::Unconditional),
    ];
    let add = ReduceOperator::AddF32;
    let steps = [
        Call::Trim { packet: <m![L % 4]>::EXPR },
        Call::IntraSliceReduce { axis: Ident::new("L"), op: add, time: ONE, packet: <m![1 # 4]>::EXPR },
        Call::Pad { packet: <m![1 # 8]>::EXPR },
        Call::InterSliceReduce { op: add, slice: <m![R, 1 # 8]>::EXPR, time: ONE },
        Call::VectorFinal,
    ];
    let stream = calls(&x, false, &enter).expect("it derives");
    let summed = stream.clone().calls(&steps).expect("it derives");
    assert_eq!(summed.mappings()[2..], [<m![R, 1 # 8]>::EXPR, ONE, <m![1 # 8]>::EXPR]);
    let y = kernel.tensor(Ok(summed), End::Commit { element: <m![1 # 2]>::EXPR, address: 4096 });
    let fill = kernel.fill();
    let y = kernel.keep(to_hbm(&y, [ONE, rows], 1 << 20, fill));
    let (found, report) = kernel.run("sums", rows, &y);
    assert_equal(&found, &bytes_of_floats(&expected));
    assert_same_cycles(&report, &typed);
}
