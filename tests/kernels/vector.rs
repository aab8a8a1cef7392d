//! The Vector Engine as a kernel sees it: operators, operands, packets of 8 and 4 lanes, and where it ends.

use crate::{Cluster, assert_same, block_on, code, init, panic_message};
use furiosa_visa_std::chip::{CheckOptions, FaultKind};
use furiosa_visa_std::prelude::*;

axes![U = 6144, N = 512, W = 5, L = 8, V = 3, H = 600, K = 64];

pub fn integers(seed: u32, count: usize) -> Vec<i32> {
    (0..count).map(|k| code(seed, k) as i32).collect()
}

/// Between -8 and 8.
pub fn floats(seed: u32, count: usize) -> Vec<f32> {
    (0..count).map(|k| (code(seed, k) as f32 / u32::MAX as f32 - 0.5) * 16.0).collect()
}

/// `y = clamp(3 x - b)`, with `b` per lane.
#[test]
fn integers_with_an_operand_per_lane() {
    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<i32, m![1], m![U]>,
        b: &HbmTensor<i32, m![1], m![U / 24, U % 8]>,
    ) -> HbmTensor<i32, m![1], m![U]> {
        type Time = m![U / 8 % 3];
        let x = x.to_dm::<Cluster, m![U / 24], m![U % 24]>(&mut ctx.tdma, 0);
        let b = b.to_dm::<Cluster, m![U / 24], m![U % 8]>(&mut ctx.tdma, 1024);
        let b = ctx.sub.begin(b.view()).fetch::<i32, m![1], m![U % 8]>().collect::<m![1], m![U % 8]>();
        let b = b.to_vrf::<m![U % 8]>(64);
        (ctx.main.begin(x.view()).fetch::<i32, Time, m![U % 8]>().collect::<Time, m![U % 8]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_fxp(FxpBinaryOp::MulInt, 3)
            .vector_fxp(FxpBinaryOp::SubFxp, &b)
            .vector_clip(ClipBinaryOpI32::Max, -500)
            .vector_clip(ClipBinaryOpI32::Min, 500)
            .vector_final()
            .commit::<m![U % 24]>(2048)
            .to_hbm(&mut ctx.tdma, 1 << 20)
    }
    block_on(async {
        let mut ctx = Context::acquire();
        let x: Vec<i32> = integers(1, U::SIZE).iter().map(|x| x % 400).collect();
        let b: Vec<i32> = integers(2, 2048).iter().map(|x| x % 400).collect();
        let x_hbm = HostTensor::<i32, m![U]>::from_buf(init(&x)).to_hbm(&mut ctx.pdma, 0).await;
        let b_hbm =
            HostTensor::<i32, m![U / 24, U % 8]>::from_buf(init(&b)).to_hbm(&mut ctx.pdma, 1 << 16).await;
        let y = launch(kernel, (&mut *ctx, &x_hbm, &b_hbm)).await;
        let y = y.to_host::<m![U]>(&mut ctx.pdma).await.to_buf();
        let expected: Vec<i32> =
            (0..U::SIZE).map(|u| (3 * x[u] - b[u / 24 * 8 + u % 8]).clamp(-500, 500)).collect();
        assert!(expected.contains(&500) && expected.iter().any(|y| y.abs() < 500));
        assert_same(&y, &expected);
    });
}

type Rows = DmTensor<f32, m![1], Cluster, m![N / 2], m![N % 2, L]>;
type Time = m![N % 2];
type Halves = m![N % 2, L / 4];
type Half = m![L % 4];

/// A tensor of `f32` in DM, and its values.
macro_rules! rows {
    ($ctx:ident, $values:expr) => {{
        let host = HostTensor::<f32, m![N, L]>::from_buf(init(&$values));
        let hbm = host.to_hbm::<m![1], m![N, L]>(&mut $ctx.pdma, 0).await;
        let dm: Rows = hbm.to_dm(&mut $ctx.tdma, 0);
        dm
    }};
}

/// A stream of [`rows`] in the engine.
macro_rules! enter {
    ($ctx:ident, $rows:ident) => {
        $ctx.main
            .begin($rows.view())
            .fetch::<f32, Time, m![L]>()
            .collect::<Time, m![L]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
    };
}

macro_rules! values {
    ($ctx:ident, $dm:expr) => {{
        let hbm = $dm.to_hbm::<m![N, L]>(&mut $ctx.tdma, 1 << 20);
        hbm.to_host::<m![N, L]>(&mut $ctx.pdma).await.to_buf()
    }};
}

/// SiLU: `x / (1 + e^-x)`, with the stash; then the same with every mode that gives it.
#[test]
fn floats_with_a_stash() {
    block_on(async {
        let mut ctx = Context::acquire();
        let x = floats(3, 4096);
        let rows = rows!(ctx, x);
        let silu: Vec<f32> = x.iter().map(|&x| furiosa_visa_std::scalar::vector::sigmoid(x) * x).collect();
        let y = enter!(ctx, rows)
            .vector_split::<Halves, Half>()
            .vector_stash()
            .vector_fp_unary(FpUnaryOp::Sigmoid)
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), Stash)
            .vector_concat::<Time, m![L]>()
            .vector_final()
            .commit::<m![N % 2, L]>(4096);
        assert_same(&values!(ctx, y), &silu);
        // Stashed with 8 lanes, read with 4; the division turned around.
        let y = enter!(ctx, rows)
            .vector_stash()
            .vector_split::<Halves, Half>()
            .vector_fp_unary(FpUnaryOp::NegExp)
            .vector_fp_binary(FpBinaryOp::AddF, 1.0)
            .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode10), Stash)
            .vector_concat::<Time, m![L]>()
            .vector_final()
            .commit::<m![N % 2, L]>(4096);
        let expected: Vec<f32> =
            x.iter().map(|&x| x / (1.0 + furiosa_visa_std::scalar::vector::exponential(-x))).collect();
        assert_same(&values!(ctx, y), &expected);
        // Four lanes stashed, read with eight.
        let y = enter!(ctx, rows)
            .vector_split::<Halves, Half>()
            .vector_stash()
            .vector_fp_ternary(FpTernaryOp::FmaF, (2.0, 0.5))
            .vector_concat::<Time, m![L]>()
            .vector_clip(ClipBinaryOpF32::Min, Stash)
            .vector_final()
            .commit::<m![N % 2, L]>(4096);
        let expected: Vec<f32> = x.iter().map(|&x| x.min(2.0 * x + 0.5)).collect();
        assert_same(&values!(ctx, y), &expected);
    });
}

/// `a * b + c` with every order of its arguments.
#[test]
fn ternary_modes() {
    block_on(async {
        let mut ctx = Context::acquire();
        let x = floats(4, 4096);
        let rows = rows!(ctx, x);
        for mode in TernaryArgMode::ALL {
            let y = enter!(ctx, rows)
                .vector_split::<Halves, Half>()
                .vector_fp_ternary_with_mode(FpTernaryOp::FmaF, mode, (3.0, 0.25))
                .vector_concat::<Time, m![L]>()
                .vector_final()
                .commit::<m![N % 2, L]>(4096);
            let [a, b, c] = mode.arguments();
            let expected: Vec<f32> = x
                .iter()
                .map(|&x| {
                    let all = [x, 3.0, 0.25];
                    all[a].mul_add(all[b], all[c])
                })
                .collect();
            assert_same(&values!(ctx, y), &expected);
        }
        for mode in BinaryArgMode::ALL {
            let y = enter!(ctx, rows)
                .vector_split::<Halves, Half>()
                .vector_fp_binary_with_mode(FpBinaryOp::DivF, mode, VeRhs::constant(3.0))
                .vector_concat::<Time, m![L]>()
                .vector_final()
                .commit::<m![N % 2, L]>(4096);
            let [a, b] = mode.arguments();
            let expected: Vec<f32> = x.iter().map(|&x| [x, 3.0][a] / [x, 3.0][b]).collect();
            assert_same(&values!(ctx, y), &expected);
        }
    });
}

/// Groups by the value and by the index; the first operand that is for an element counts.
#[test]
fn elements_of_groups() {
    block_on(async {
        let mut ctx = Context::acquire();
        let x = floats(5, 4096);
        let rows = rows!(ctx, x);
        let negative = InputCmp::F32(InputCmpF32::Less { boundary: 0.0 });
        let never = InputCmp::F32(InputCmpF32::False);
        let stream =
            (ctx.main.begin(rows.view()).fetch::<f32, Time, m![L]>()).collect::<Time, m![L]>().vector_init();
        let y = stream
            .vector_intra_slice_branch(BranchMode::Comparison([never, never, never, negative]))
            .vector_split::<Halves, Half>()
            // Leaky ReLU.
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), (0.125, GroupId::One))
            .vector_fp_binary(
                FpBinaryOp::AddF,
                [
                    VeBranchOperand::group(VeRhs::constant(1.0), GroupId::Zero),
                    VeBranchOperand::always(VeRhs::constant(100.0)),
                ],
            )
            .vector_concat::<Time, m![L]>()
            .vector_final()
            .commit::<m![N % 2, L]>(4096);
        let expected: Vec<f32> =
            x.iter().map(|&x| if x < 0.0 { 0.125 * x + 100.0 } else { x + 1.0 }).collect();
        assert_same(&values!(ctx, y), &expected);

        let stream =
            (ctx.main.begin(rows.view()).fetch::<f32, Time, m![L]>()).collect::<Time, m![L]>().vector_init();
        let y = stream
            .vector_intra_slice_branch(BranchMode::AxisToggle { axis: L::NAME })
            .vector_logic(LogicBinaryOpF32::BitXor, (-0.0, GroupId::One))
            .vector_final()
            .commit::<m![N % 2, L]>(4096);
        let expected: Vec<f32> =
            x.iter().enumerate().map(|(k, &x)| if k % 2 == 1 { -x } else { x }).collect();
        assert_same(&values!(ctx, y), &expected);
    });
}

/// Widened from i8, scaled as fixed point, cast to bf16: types change on the way.
#[test]
fn types_change_on_the_way() {
    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![H # 768 / 3, H # 768 % 3 # 8]>,
    ) -> HbmTensor<bf16, m![1], m![H]> {
        type Slice = m![H # 768 / 3 # 256];
        let x = x.to_dm::<Cluster, Slice, m![H # 768 % 3 # 8]>(&mut ctx.tdma, 0);
        (ctx.main
            .begin(x.view())
            .fetch::<i32, m![1], m![H # 768 % 3 # 8]>()
            .collect::<m![1], m![H # 768 % 3 # 8]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::default())
        .vector_logic(LogicBinaryOpI32::LeftShift, 20)
        .vector_fxp_to_fp(10)
        .vector_trim_way4::<m![H # 768 % 3 # 4]>()
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_pad_way8::<m![H # 768 % 3 # 8]>()
        .vector_clip(ClipBinaryOpF32::Min, 5.0)
        .vector_final()
        .cast::<bf16, m![H # 768 % 3 # 16]>()
        .commit::<m![H # 768 % 3 # 4]>(4096)
        .to_hbm(&mut ctx.tdma, 1 << 20)
    }
    block_on(async {
        let mut ctx = Context::acquire();
        let x: Vec<i8> = integers(6, 600).iter().map(|&x| x as i8).collect();
        let hbm = HostTensor::<i8, m![H]>::from_buf(init(&x)).to_hbm(&mut ctx.pdma, 0).await;
        let y = launch(kernel, (&mut *ctx, &hbm)).await.to_host::<m![H]>(&mut ctx.pdma).await.to_buf();
        let exp = furiosa_visa_std::scalar::vector::exponential;
        let of = |x: &i8| bf16::from_f32(exp(f32::from(*x) * 0.5).min(5.0));
        assert_same(&y, &x.iter().map(of).collect::<Vec<_>>());
    });
}

/// What one pass leaves in the VRF is an operand of the next one, also after a contraction.
#[test]
fn results_become_operands() {
    block_on(async {
        let mut ctx = Context::acquire();
        let x = floats(7, 4096);
        let rows = rows!(ctx, x);
        let squares = enter!(ctx, rows)
            .vector_split::<Halves, Half>()
            .vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul1), BinaryArgMode::Mode00, 0.0)
            .vector_concat::<Time, m![L]>()
            .vector_final()
            .to_vrf::<m![L, N % 2]>(128);
        assert_eq!(squares.address(), 128);
        let y = enter!(ctx, rows)
            .vector_clip(ClipBinaryOpF32::Add, &squares)
            .vector_final()
            .commit::<m![N % 2, L]>(4096);
        assert_same(&values!(ctx, y), &x.iter().map(|&x| x + x * x).collect::<Vec<_>>());

        // Sums of products, minus a number.
        let a = HostTensor::<i8, m![N / 2, K]>::from_buf(init(&vec![2i8; 256 * 64]))
            .to_hbm::<m![1], m![N / 2, K]>(&mut ctx.pdma, 0)
            .await;
        let b = HostTensor::<i8, m![L, K]>::from_buf(init(&vec![3i8; 512]))
            .to_hbm::<m![1], m![L, K]>(&mut ctx.pdma, 1 << 16)
            .await;
        let a = a.to_dm::<Cluster, m![N / 2], m![K]>(&mut ctx.tdma, 0);
        let b = b.to_dm::<Cluster, m![N / 2], m![L, K]>(&mut ctx.tdma, 1024);
        let weights = (ctx.sub.begin(b.view()).fetch::<i8, m![L], m![K]>())
            .collect::<m![L, K / 32], m![K % 32]>()
            .to_trf::<m![L], m![K]>(TrfAddress::Full);
        let y = (ctx.main.begin(a.view()).fetch::<i8, m![1], m![K]>().collect::<m![K / 32], m![K % 32]>())
            .align::<m![1], m![K], _, _>(&weights)
            .contract::<m![1]>()
            .accumulate::<m![1], m![L]>(AccumulationKind::Interleaved)
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_fxp(FxpBinaryOp::SubFxp, 84)
            .vector_final()
            .commit::<m![L]>(4096);
        let y = y.to_hbm::<m![N / 2, L]>(&mut ctx.tdma, 1 << 20);
        assert_same(&y.to_host::<m![N / 2, L]>(&mut ctx.pdma).await.to_buf(), &vec![300; 2048]);
    });
}

/// Elements that nobody wrote are no arguments; with the check off, their results are none.
#[test]
fn what_nobody_wrote_is_no_argument() {
    type Rows<'a> = &'a HbmTensor<i32, m![1], m![N, L]>;
    #[device(chip = 1)]
    fn kernel(ctx: &mut Context, x: Rows<'_>, b: Rows<'_>) -> HbmTensor<i32, m![1], m![N, L]> {
        let x = x.to_dm::<Cluster, m![N / 2], m![N % 2, L]>(&mut ctx.tdma, 0);
        let b = b.to_dm::<Cluster, m![N / 2], m![N % 2, L]>(&mut ctx.tdma, 1024);
        let b = ctx
            .sub
            .begin(b.view())
            .fetch::<i32, Time, m![L]>()
            .collect::<Time, m![L]>()
            .to_vrf::<m![N % 2, L]>(0);
        (ctx.main.begin(x.view()).fetch::<i32, Time, m![L]>().collect::<Time, m![L]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_fxp(FxpBinaryOp::AddFxp, &b)
            .vector_final()
            .commit::<m![N % 2, L]>(4096)
            .to_hbm(&mut ctx.tdma, 1 << 20)
    }
    let values = || init(&integers(8, 4096));
    for (hole, part) in [
        (0, "takes element 3 of the tensor at DM address 0"),
        (1, "the operand, element 11 of the tensor at VRF address 0"),
    ] {
        let mut all = [values(), values()];
        all[hole][if hole == 0 { 19 } else { 27 }] = Opt::Uninit;
        block_on(async {
            for check in [true, false] {
                let checks = CheckOptions { uninitialised: check, ..CheckOptions::ALL };
                let mut ctx = Context::with(SimOptions { checks, ..SimOptions::default() });
                let [x, b] = all.clone().map(HostTensor::<i32, m![N, L]>::from_buf);
                let x = x.to_hbm(&mut ctx.pdma, 0).await;
                let b = b.to_hbm(&mut ctx.pdma, 1 << 16).await;
                match try_launch(kernel, (&mut *ctx, &x, &b)).await {
                    Err(fault) => {
                        assert!(check && fault.kind == FaultKind::Uninitialised, "{fault}");
                        assert!(fault.to_string().contains(part), "{fault}");
                    }
                    Ok(y) => {
                        assert!(!check);
                        let y = y.to_host::<m![N, L]>(&mut ctx.pdma).await.to_buf();
                        let missing: Vec<_> = (0..4096).filter(|&k| !y[k].is_init()).collect();
                        assert_eq!(missing, [if hole == 0 { 19 } else { 27 }]);
                    }
                }
            }
        });
    }
}

/// What a value decides is a fault of the call.
#[test]
fn values_that_calls_refuse() {
    let refused = |call: fn(&mut Context, &Rows), part: &str| {
        let text = panic_message(|| {
            block_on(async {
                let mut ctx = Context::acquire();
                let rows = rows!(ctx, floats(9, 4096));
                call(&mut ctx, &rows);
            })
        });
        assert!(text.contains(part), "{text}");
    };
    refused(
        |ctx, rows| {
            let _ = enter!(ctx, rows)
                .vector_clip(ClipBinaryOpF32::Max, 1.0)
                .vector_clip(ClipBinaryOpF32::AbsMax, 1.0);
        },
        "vector_clip: refused: ClipMax is already in use: each arithmetic unit of the Vector Engine works once per pass",
    );
    refused(
        |ctx, rows| {
            let _ =
                enter!(ctx, rows).vector_split::<Halves, Half>().vector_fp_binary(FpBinaryOp::AddF, Stash);
        },
        "the stash is an operand, but nothing was stashed",
    );
    refused(
        |ctx, rows| {
            let _ = enter!(ctx, rows)
                .vector_stash()
                .vector_fp_to_fxp(31)
                .vector_clip(ClipBinaryOpI32::Max, Stash);
        },
        "stash type mismatch: stashed as F32, requested as I32",
    );
    refused(
        |ctx, rows| {
            let _ = enter!(ctx, rows).vector_fp_to_fxp(32);
        },
        "vector_fp_to_fxp: refused: int_width is 32, but must be less than 32: an i32 has 31 bits beside its sign",
    );
    refused(
        |ctx, rows| {
            let op = FpBinaryOp::MaskMulF(FpMulAlu::Mul0);
            let _ = enter!(ctx, rows).vector_split::<Halves, Half>().vector_fp_binary(op, 1.0);
        },
        "what FpBinaryOp::MaskMulF(Mul0) computes is not documented",
    );
    refused(
        |ctx, rows| {
            let always = || VeBranchOperand::always(VeRhs::constant(1.0));
            let _ = enter!(ctx, rows).vector_clip(ClipBinaryOpF32::Max, [always(), always()]);
        },
        "Multiple ValidAlways operands are not allowed (found 2)",
    );
    refused(
        |ctx, rows| {
            let narrow = enter!(ctx, rows).vector_split::<Halves, Half>();
            let _ = narrow.vector_fp_unary_with_mode(FpUnaryOp::Exp, UnaryArgMode::Mode1);
        },
        "a function takes the stream alone",
    );
    refused(
        |ctx, rows| {
            let narrow = enter!(ctx, rows).vector_split::<Halves, Half>();
            let _ = narrow.vector_fp_ternary(FpTernaryOp::MaskFmaF, (1.0, 2.0));
        },
        "what FpTernaryOp::MaskFmaF computes is not documented",
    );
    refused(
        |ctx, rows| {
            let stashed = enter!(ctx, rows).vector_stash().vector_split::<Halves, Half>();
            let _ = stashed
                .vector_intra_slice_reduce::<N, m![L / 4], Half>(IntraSliceReduceOpF32::Add)
                .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), Stash);
        },
        "has an axis that the stream lacks by now",
    );
    refused(
        |ctx, rows| {
            let flits = ctx.main.begin(rows.view()).fetch::<f32, Time, m![L]>().collect::<Time, m![L]>();
            let _ = flits.vector_init().vector_intra_slice_branch(BranchMode::Vrf);
        },
        "BranchMode::Vrf takes ids from the VRF, but no call puts any there",
    );
    refused(
        |ctx, rows| {
            let flits = ctx.main.begin(rows.view()).fetch::<f32, Time, m![L]>().collect::<Time, m![L]>();
            let _ = flits.vector_init().vector_intra_slice_branch(BranchMode::ValidCount);
        },
        "which ids BranchMode::ValidCount gives is not documented, so that it is not simulated (guide: vector)",
    );
    refused(
        |ctx, rows| {
            let flits = ctx.main.begin(rows.view()).fetch::<f32, Time, m![L]>().collect::<Time, m![L]>();
            let _ = flits.vector_init().vector_intra_slice_branch(BranchMode::AxisToggle { axis: K::NAME });
        },
        "the stream has no axis K, whose index would make the groups",
    );
    refused(
        |ctx, rows| {
            let flits = ctx.main.begin(rows.view()).fetch::<f32, Time, m![L]>().collect::<Time, m![L]>();
            let integers = [InputCmp::I32(InputCmpI32::True); 4];
            let _ = flits.vector_init().vector_intra_slice_branch(BranchMode::Comparison(integers));
        },
        "Type mismatch: InputCmp::I32 used with f32 data",
    );
    let text = panic_message(|| {
        block_on(async {
            let mut ctx = Context::acquire();
            let host = HostTensor::<i32, m![N, L]>::from_buf(init(&integers(9, 4096)));
            let hbm = host.to_hbm::<m![1], m![N, L]>(&mut ctx.pdma, 0).await;
            let rows = hbm.to_dm::<Cluster, m![N / 2], m![N % 2, L]>(&mut ctx.tdma, 0);
            let flits = ctx.main.begin(rows.view()).fetch::<i32, Time, m![L]>().collect::<Time, m![L]>();
            let integers = flits.vector_init().vector_intra_slice_branch(BranchMode::Unconditional);
            let _ = integers.vector_fxp_to_fp(32);
        })
    });
    assert!(text.contains("vector_fxp_to_fp: refused: int_width is 32, but must be less than 32"), "{text}");
}

/// Sums over time with two places of the accumulator, over lanes, and over both; order decides the last bits.
#[test]
fn sums_in_a_slice() {
    axes![S = 256, T = 12];
    type Steps = m![T];
    block_on(async {
        let mut ctx = Context::acquire();
        let x = floats(10, 256 * 96);
        let host = HostTensor::<f32, m![S, T, L]>::from_buf(init(&x));
        let hbm = host.to_hbm::<m![1], m![S, T, L]>(&mut ctx.pdma, 0).await;
        let dm = hbm.to_dm::<Cluster, m![S], m![T, L]>(&mut ctx.tdma, 0);
        macro_rules! enter {
            () => {
                (ctx.main.begin(dm.view()).fetch::<f32, Steps, m![L]>())
                    .collect::<Steps, m![L]>()
                    .vector_init()
                    .vector_intra_slice_branch(BranchMode::Unconditional)
                    .vector_split::<m![T, L / 4], m![L % 4]>()
            };
        }
        macro_rules! sums {
            ($y:expr, $axes:ty) => {
                $y.to_hbm::<$axes>(&mut ctx.tdma, 1 << 20).to_host::<$axes>(&mut ctx.pdma).await.to_buf()
            };
        }
        let at = |s: usize, t: usize, l: usize| x[s * 96 + t * 8 + l];
        let over_time = enter!()
            .vector_intra_slice_reduce::<T, m![L / 4], m![L % 4]>(IntraSliceReduceOpF32::Add)
            .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), 12.0)
            .vector_concat::<m![1], m![L]>()
            .vector_final()
            .commit::<m![L]>(8192);
        let mean = |s, l| (1..12).fold(at(s, 0, l), |sum, t| sum + at(s, t, l)) / 12.0;
        let expected: Vec<f32> = (0..2048).map(|k| mean(k / 8, k % 8)).collect();
        assert_same(&sums!(over_time, m![S, L]), &expected);
        let over_lanes = enter!()
            .vector_intra_slice_reduce::<L, m![T], m![1 # 4]>(IntraSliceReduceOpF32::Add)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_final()
            .commit::<m![T, 1 # 2]>(8192);
        let sum = |s, t| (1..8).fold(at(s, t, 0), |sum, l| sum + at(s, t, l));
        let expected: Vec<f32> = (0..256 * 12).map(|k| sum(k / 12, k % 12)).collect();
        assert_same(&sums!(over_lanes, m![S, T]), &expected);
        let greatest = enter!()
            .vector_intra_slice_reduce::<T, m![L / 4], m![L % 4]>(IntraSliceReduceOpF32::Max)
            .vector_concat::<m![1], m![L]>()
            .vector_final()
            .commit::<m![L]>(8192);
        let max = |s, l| (1..12).fold(at(s, 0, l), |max, t| max.max(at(s, t, l)));
        let expected: Vec<f32> = (0..2048).map(|k| max(k / 8, k % 8)).collect();
        assert_same(&sums!(greatest, m![S, L]), &expected);
    });
}

/// 20 over 8 slices of 3 steps: slice 6 has two of them, and slice 7 none.
pub mod twenty {
    use super::L;
    use crate::{Cluster, init};
    use furiosa_visa_std::prelude::*;

    axes![P = 20];

    pub type Slice = m![P # 24 / 3 # 256];
    pub type Steps = m![P # 24 % 3];

    /// Values in DM.
    pub async fn load(
        ctx: &mut Context,
        values: &[i32],
    ) -> DmTensor<i32, m![1], Cluster, Slice, m![{ Steps }, L]> {
        let host = HostTensor::<i32, m![P, L]>::from_buf(init(values));
        host.to_hbm::<m![1], m![P, L]>(&mut ctx.pdma, 0).await.to_dm(&mut ctx.tdma, 0)
    }
}

/// Padding is left out of a sum, whatever lies there.
#[test]
fn padding_is_no_element() {
    use twenty::{P, Steps};
    block_on(async {
        // Poison is the least number, which would win: the check is that of elements nobody wrote.
        let mut ctx = Context::acquire();
        let x = integers(11, 160);
        let dm = twenty::load(&mut ctx, &x).await;
        let y = (ctx.main.begin(dm.view()).fetch::<i32, Steps, m![L]>().collect::<Steps, m![L]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![P # 24 % 3, L / 4], m![L % 4]>()
            .vector_intra_slice_reduce::<P, m![L / 4], m![L % 4]>(IntraSliceReduceOpI32::Min)
            .vector_concat::<m![1], m![L]>()
            .vector_final()
            .commit::<m![L]>(4096);
        let y = y.to_hbm::<m![P # 24 / 3, L]>(&mut ctx.tdma, 1 << 20);
        let y = y.to_host::<m![P # 24 / 3, L]>(&mut ctx.pdma).await.to_buf();
        let least = |s: usize, l: usize| (3 * s..(3 * s + 3).min(20)).map(|p| x[p * 8 + l]).min();
        let expected: Vec<i32> = (0..56).filter_map(|k| least(k / 8, k % 8)).collect();
        assert_same(&y[..56], &expected);
    });
}

/// Sums over the slices of a group: in the first slice, in all, or one time step in each; before and after operators.
#[test]
fn sums_between_slices() {
    axes![G = 32, J = 8, A = 3, B = 8, X = 8];
    type Slice = m![G, J];
    type Steps = m![A, B];
    block_on(async {
        let mut ctx = Context::acquire();
        let x = floats(12, 256 * 192);
        let host = HostTensor::<f32, m![G, J, A, B, L]>::from_buf(init(&x));
        let hbm = host.to_hbm::<m![1], m![G, J, A, B, L]>(&mut ctx.pdma, 0).await;
        let dm = hbm.to_dm::<Cluster, Slice, m![A, B, L]>(&mut ctx.tdma, 0);
        macro_rules! enter {
            () => {
                (ctx.main.begin(dm.view()).fetch::<f32, Steps, m![L]>())
                    .collect::<Steps, m![L]>()
                    .vector_init()
            };
        }
        macro_rules! host {
            ($y:expr, $axes:ty) => {
                $y.to_hbm::<$axes>(&mut ctx.tdma, 1 << 24).to_host::<$axes>(&mut ctx.pdma).await.to_buf()
            };
        }
        let at = |g: usize, j: usize, k: usize| x[(g * 8 + j) * 192 + k];
        let sum = |g: usize, k: usize| (1..8).fold(at(g, 0, k), |sum, j| sum + at(g, j, k));
        let expected: Vec<f32> = (0..32 * 192).map(|n| sum(n / 192, n % 192)).collect();
        let first = enter!()
            .vector_inter_slice_reduce::<m![G, 1 # 8], Steps>(InterSliceReduceOpF32::Add)
            .vector_final()
            .commit::<m![A, B, L]>(8192);
        assert_same(&host!(first, m![G, A, B, L]), &expected);
        let promoted = enter!()
            .vector_inter_slice_reduce::<m![G, B], m![A]>(InterSliceReduceOpF32::Add)
            .vector_final()
            .commit::<m![A, L]>(8192);
        assert_same(&host!(promoted, m![G, A, B, L]), &expected);
        // Every slice of a group has it: each subtracts it from its own.
        let means = enter!()
            .vector_inter_slice_reduce::<m![G, X], Steps>(InterSliceReduceOpF32::Max)
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Add, 1.0)
            .vector_final()
            .commit::<m![A, B, L]>(8192);
        let max = |g: usize, k: usize| (1..8).fold(at(g, 0, k), |max, j| max.max(at(g, j, k)));
        let expected: Vec<f32> = (0..256 * 192).map(|n| max(n / 192 / 8, n % 192) + 1.0).collect();
        assert_same(&host!(means, m![G, X, A, B, L]), &expected);
        // After a reduce in slices, and a unit that is free again behind it.
        let all = enter!()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![A, B, L / 4], m![L % 4]>()
            .vector_intra_slice_reduce::<L, Steps, m![1 # 4]>(IntraSliceReduceOpF32::Add)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_clip(ClipBinaryOpF32::Max, 0.0)
            .vector_inter_slice_reduce::<m![G, 1 # 8], Steps>(InterSliceReduceOpF32::Add)
            .vector_final()
            .commit::<m![A, B, 1 # 2]>(8192);
        let lanes =
            |g, j, t: usize| (1..8).fold(at(g, j, t * 8), |sum, l| sum + at(g, j, t * 8 + l)).max(0.0);
        let total = |g, t| (1..8).fold(lanes(g, 0, t), |sum, j| sum + lanes(g, j, t));
        let expected: Vec<f32> = (0..32 * 24).map(|n| total(n / 24, n % 24)).collect();
        assert_same(&host!(all, m![G, A, B]), &expected);
    });
}

/// Both clusters have elements: each sums its own slices, and an axis of clusters makes groups.
#[test]
fn clusters_work_by_themselves() {
    axes![C = 2, G = 32, J = 8];
    block_on(async {
        let mut ctx = Context::acquire();
        let x = floats(19, 2 * 256 * 8);
        let host = HostTensor::<f32, m![C, G, J, L]>::from_buf(init(&x));
        let hbm = host.to_hbm::<m![1], m![C, G, J, L]>(&mut ctx.pdma, 0).await;
        let dm = hbm.to_dm::<m![C], m![G, J], m![L]>(&mut ctx.tdma, 0);
        let y = (ctx.main.begin(dm.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
            .vector_init()
            .vector_inter_slice_reduce::<m![G, 1 # 8], m![1]>(InterSliceReduceOpF32::Add)
            .vector_intra_slice_branch(BranchMode::AxisToggle { axis: C::NAME })
            .vector_clip(ClipBinaryOpF32::Add, (100.0, GroupId::One))
            .vector_final()
            .commit::<m![L]>(4096);
        let y = y.to_hbm::<m![C, G, L]>(&mut ctx.tdma, 1 << 20);
        let y = y.to_host::<m![C, G, L]>(&mut ctx.pdma).await.to_buf();
        let at = |group: usize, j: usize, lane: usize| x[(group * 8 + j) * 8 + lane];
        let sum = |group, lane| (1..8).fold(at(group, 0, lane), |sum, j| sum + at(group, j, lane));
        let expected: Vec<f32> =
            (0..512).map(|k| sum(k / 8, k % 8) + if k < 256 { 0.0 } else { 100.0 }).collect();
        assert_same(&y, &expected);
    });
}

/// What a value decides is a fault of the calls of two groups, too.
#[test]
fn values_that_calls_of_groups_refuse() {
    axes![I = 2];
    macro_rules! refused {
        ($d:ty, $values:expr, |$groups:ident| $call:expr, $part:expr) => {
            let text = panic_message(|| {
                block_on(async {
                    let mut ctx = Context::acquire();
                    let host = HostTensor::<$d, m![N, I, L]>::from_buf(init(&$values));
                    let hbm = host.to_hbm::<m![1], m![N, I, L]>(&mut ctx.pdma, 0).await;
                    let rows = hbm.to_dm::<Cluster, m![N / 2], m![N % 2, I, L]>(&mut ctx.tdma, 0);
                    let $groups = (ctx.main.begin(rows.view()).fetch::<$d, m![N % 2, I], m![L]>())
                        .collect::<m![N % 2, I], m![L]>()
                        .vector_init()
                        .vector_intra_slice_unzip::<I, m![N % 2, 1 # 2], Time>();
                    let _ = $call;
                })
            });
            assert!(text.contains($part), "{text}");
        };
    }
    macro_rules! floats_refused {
        (|$groups:ident| $call:expr, $part:expr) => {
            refused!(f32, floats(9, 8192), |$groups| $call, $part);
        };
    }
    let unknown = "what FpBinaryOp::MaskMulF(Mul1) computes is not documented";
    let masked = FpBinaryOp::MaskMulF(FpMulAlu::Mul1);
    floats_refused!(
        |groups| groups.vector_split::<Halves, Half>().vector_fp_binary(masked, 1.0, ()),
        "vector_fp_binary: refused: what FpBinaryOp::MaskMulF(Mul1) computes is not documented"
    );
    floats_refused!(|groups| groups.vector_split::<Halves, Half>().vector_fp_zip(masked), unknown);
    floats_refused!(
        |groups| groups.vector_split::<Halves, Half>().vector_fp_ternary(
            FpTernaryOp::MaskFmaF,
            (1.0, 2.0),
            ()
        ),
        "vector_fp_ternary: refused: what FpTernaryOp::MaskFmaF computes is not documented"
    );
    floats_refused!(
        |groups| {
            let groups = groups.vector_split::<Halves, Half>();
            groups.vector_fp_unary_with_mode(FpUnaryOp::Exp, UnaryArgMode::Mode1, true, true)
        },
        "a function takes the stream alone"
    );
    floats_refused!(|groups| groups.vector_fp_to_fxp(32), "vector_fp_to_fxp: refused: int_width is 32");
    refused!(
        i32,
        integers(9, 8192),
        |groups| groups.vector_fxp_to_fp(32),
        "vector_fxp_to_fp: refused: int_width is 32"
    );
    // A unit that one group takes is spent for both, and for the zip.
    floats_refused!(
        |groups| {
            let groups = groups.vector_clip(ClipBinaryOpF32::Max, 1.0, ());
            groups.vector_clip(ClipBinaryOpF32::AbsMax, (), 1.0)
        },
        "vector_clip: refused: ClipMax is already in use"
    );
    floats_refused!(
        |groups| groups.vector_clip(ClipBinaryOpF32::Min, (), 1.0).vector_clip_zip(ClipBinaryOpF32::AbsMin),
        "vector_clip_zip: refused: ClipMin is already in use"
    );
    floats_refused!(
        |groups| {
            let groups = groups.vector_split::<Halves, Half>().vector_fp_unary(FpUnaryOp::Exp, true, false);
            groups.vector_fp_unary(FpUnaryOp::NegExp, false, true)
        },
        "vector_fp_unary: refused: FpExp is already in use"
    );
}

/// Two tensors side by side: one is a gate for the other, and operands are for one group or both.
#[test]
fn two_groups() {
    axes![I = 2];
    block_on(async {
        let mut guard = Context::acquire();
        let ctx = &mut *guard;
        let (a, b) = (floats(13, 4096), floats(14, 4096));
        let first = rows!(ctx, a);
        let host = HostTensor::<f32, m![N, L]>::from_buf(init(&b))
            .to_hbm::<m![1], m![N, L]>(&mut ctx.pdma, 1 << 16)
            .await;
        let second: Rows = host.to_dm(&mut ctx.tdma, 16384);
        macro_rules! enter {
            () => {
                ctx.main
                    .begin_interleaved::<I, _, _, _, _, _>(first.view(), second.view())
                    .fetch::<f32, m![N % 2, I], m![L]>()
                    .collect::<m![N % 2, I], m![L]>()
                    .vector_init()
                    .vector_intra_slice_unzip::<I, m![N % 2, 1 # 2], Time>()
            };
        }
        let y = enter!()
            .vector_clip(ClipBinaryOpF32::Add, (), 0.5)
            .vector_clip_zip(ClipBinaryOpF32::Max)
            .vector_final()
            .commit::<m![N % 2, L]>(32768);
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a.max(b + 0.5)).collect();
        assert_same(&values!(ctx, y), &expected);
        let y = enter!()
            .vector_split::<Halves, Half>()
            .vector_fp_unary(FpUnaryOp::NegExp, true, false)
            .vector_fp_ternary(FpTernaryOp::FmaF, (), (2.0, 1.0))
            .vector_fp_zip_with_mode(FpBinaryOp::DivF, BinaryArgMode::Mode10)
            .vector_concat::<Time, m![L]>()
            .vector_clip(ClipBinaryOpF32::Min, (100.0, GroupId::One))
            .vector_final()
            .commit::<m![N % 2, L]>(32768);
        let exp = furiosa_visa_std::scalar::vector::exponential;
        let expected: Vec<f32> =
            a.iter().zip(&b).map(|(&a, &b)| ((2.0 * b + 1.0) / exp(-a)).min(100.0)).collect();
        assert_same(&values!(ctx, y), &expected);
        // A stream holds the bytes of operands that end before it.
        macro_rules! load {
            () => {
                (ctx.sub.begin(first.view()).fetch::<f32, Time, m![L]>())
                    .collect::<Time, m![L]>()
                    .to_vrf::<m![N % 2, L]>(AUTO)
            };
        }
        let stream = enter!().vector_split::<Halves, Half>();
        let stream = stream.vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &load!(), ());
        let stream = stream.vector_fp_ternary(FpTernaryOp::FmaF, (), (&load!(), 1.0));
        let stream = stream.vector_fp_zip(FpBinaryOp::DivF).vector_concat::<Time, m![L]>();
        let last = load!();
        let y = stream.vector_final().commit::<m![N % 2, L]>(32768);
        assert_eq!(last.address(), 8192 - 3 * 64);
        let expected: Vec<f32> = a.iter().zip(&b).map(|(&a, &b)| (a * a) / b.mul_add(a, 1.0)).collect();
        assert_same(&values!(ctx, y), &expected);
    });
}

/// An operand whose register file was loaded with something else is stale.
#[test]
fn stale_operands() {
    block_on(async {
        let mut ctx = Context::acquire();
        let rows = rows!(ctx, floats(15, 4096));
        macro_rules! load {
            ($address:literal) => {
                (ctx.sub.begin(rows.view()).fetch::<f32, Time, m![L]>())
                    .collect::<Time, m![L]>()
                    .to_vrf::<m![N % 2, L]>($address)
            };
        }
        let (first, second) = (load!(0), load!(64));
        let y = enter!(ctx, rows)
            .vector_clip(ClipBinaryOpF32::Add, &second)
            .vector_clip(ClipBinaryOpF32::Max, &first)
            .vector_final()
            .commit::<m![N % 2, L]>(4096);
        assert_eq!(y.address(), 4096);
        let _ = load!(32);
        let text = panic_message(|| {
            let stream = enter!(ctx, rows).vector_clip(ClipBinaryOpF32::Add, &first);
            let _ = stream.vector_final().commit::<m![N % 2, L]>(4096);
        });
        assert!(text.contains("vector: stale read") && text.contains("VRF"), "{text}");
    });
}

/// There is one Vector Engine: a program of the sub context waits until the main context is idle, a plain load does not.
#[test]
fn a_program_of_the_sub_context_waits_for_the_engine() {
    use furiosa_visa_std::command::ContextKind;
    axes![S = 256, T = 64];
    block_on(async {
        let mut ctx = Context::acquire();
        let rows = rows!(ctx, floats(17, 4096));
        let host = HostTensor::<f32, m![S, T, L]>::from_buf(init(&floats(18, 256 * 512)));
        let hbm = host.to_hbm::<m![1], m![S, T, L]>(&mut ctx.pdma, 1 << 20).await;
        let long = hbm.to_dm::<Cluster, m![S], m![T, L]>(&mut ctx.tdma, 8192);
        let _ = (ctx.main.begin(long.view()).fetch::<f32, m![T], m![L]>().collect::<m![T], m![L]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Max, 0.0)
            .vector_final()
            .commit::<m![T, L]>(16384);
        let load = ctx.sub.begin(rows.view()).fetch::<f32, Time, m![L]>().collect::<Time, m![L]>();
        let _ = load.to_vrf::<m![N % 2, L]>(0);
        let _ = (ctx.sub.begin(rows.view()).fetch::<f32, Time, m![L]>().collect::<Time, m![L]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Max, 0.0)
            .vector_final()
            .to_vrf::<m![N % 2, L]>(64);
        let report = ctx.report();
        let of = |context| {
            let mut all: Vec<_> = report.records.iter().filter(|record| record.context == context).collect();
            all.sort_by_key(|record| record.number);
            all
        };
        let (main, sub) = (of(ContextKind::Main), of(ContextKind::Sub));
        let ([pass], [plain, program]) = (&main[..], &sub[..]) else { panic!("three passes ran: {report}") };
        assert!(plain.end < pass.end, "{report}");
        assert!(program.start >= pass.end, "{report}");
    });
}

/// Where the cycles of a pass with operators go, in both profiles.
#[test]
fn operators_take_time() {
    use furiosa_visa_std::clock::Profile;
    use furiosa_visa_std::clock::record::Timing;
    use furiosa_visa_std::clock::tensor_unit::Stage;
    axes![G = 32, J = 8, A = 20];
    for profile in [Profile::Book, Profile::Detailed] {
        block_on(async {
            let mut ctx = Context::with(SimOptions { profile, ..SimOptions::default() });
            let host = HostTensor::<f32, m![G, J, A, L]>::from_buf(init(&floats(16, 256 * 160)));
            let hbm = host.to_hbm::<m![1], m![G, J, A, L]>(&mut ctx.pdma, 0).await;
            let dm = hbm.to_dm::<Cluster, m![G, J], m![A, L]>(&mut ctx.tdma, 0);
            let _ = (ctx.main.begin(dm.view()).fetch::<f32, m![A], m![L]>().collect::<m![A], m![L]>())
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_split::<m![A, L / 4], m![L % 4]>()
                .vector_fp_unary(FpUnaryOp::Exp)
                .vector_fp_binary(FpBinaryOp::AddF, 1.0)
                .vector_concat::<m![A], m![L]>()
                .vector_inter_slice_reduce::<m![G, 1 # 8], m![A]>(InterSliceReduceOpF32::Add)
                .vector_final()
                .commit::<m![A, L]>(4096);
            let report = ctx.report();
            let record = report.records.last().expect("the pass ran");
            let Timing::TensorUnit(time) = &record.timing else { panic!("it is a pass") };
            let vector = time.stage(Stage::Vector).expect("it has operators");
            // A split halves the rate; two units, and a ring of eight slices.
            assert_eq!((vector.occupancy.cycles, vector.latency.cycles), (40, 2 + 8));
            assert_eq!(time.bottleneck().stage, Stage::Vector);
            assert!(record.configuration.contains(
                "; vector f32: branch Unconditional | split | FpUnaryOp::Exp | FpBinaryOp::AddF 1.0 | concat | \
                 inter_slice_reduce Add of 8, groups of 8 slices; commit"
            ));
        });
    }
}

/// What follows the engine takes the packets that leave it, in both profiles.
#[test]
fn packets_that_leave_are_those_that_are_cast() {
    use furiosa_visa_std::clock::Profile;
    use furiosa_visa_std::clock::record::Timing;
    use furiosa_visa_std::clock::tensor_unit::Stage;
    axes![G = 32, J = 8, A = 5, B = 8];
    type Steps = m![A, B];
    for profile in [Profile::Book, Profile::Detailed] {
        block_on(async {
            let mut ctx = Context::with(SimOptions { profile, ..SimOptions::default() });
            let host = HostTensor::<f32, m![G, J, A, B, L]>::from_buf(init(&floats(19, 256 * 320)));
            let hbm = host.to_hbm::<m![1], m![G, J, A, B, L]>(&mut ctx.pdma, 0).await;
            let dm = hbm.to_dm::<Cluster, m![G, J], m![A, B, L]>(&mut ctx.tdma, 0);
            // Sums in a slice: 80 halves of packets become 5.
            let _ = (ctx.main.begin(dm.view()).fetch::<f32, Steps, m![L]>().collect::<Steps, m![L]>())
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_split::<m![A, B, L / 4], m![L % 4]>()
                .vector_intra_slice_reduce::<B, m![A, L / 4], m![L % 4]>(IntraSliceReduceOpF32::Add)
                .vector_concat::<m![A], m![L]>()
                .vector_final()
                .cast::<bf16, m![L # 16]>()
                .commit::<m![A, L]>(8192);
            // Sums between slices: each slice of a group gets one of 8 steps.
            let _ = (ctx.main.begin(dm.view()).fetch::<f32, Steps, m![L]>().collect::<Steps, m![L]>())
                .vector_init()
                .vector_inter_slice_reduce::<m![G, B], m![A]>(InterSliceReduceOpF32::Add)
                .vector_final()
                .cast::<bf16, m![L # 16]>()
                .commit::<m![A, L]>(8192);
            let report = ctx.report();
            let mut passes = Vec::new();
            for record in &report.records {
                let Timing::TensorUnit(time) = &record.timing else { continue };
                let cycles = |stage| time.stage(stage).expect("it has this stage").occupancy.cycles;
                passes.push((cycles(Stage::Collect), cycles(Stage::Vector), cycles(Stage::Cast)));
            }
            assert_eq!(passes, [(40, 80, 5), (40, 40, 5)], "{profile}");
        });
    }
}
