//! Transposes end to end: values against plain loops, time, and what is refused at run time.

use crate::{Cluster, assert_same, block_on, code, init, numbers};
use furiosa_visa_std::chip::FaultKind;
use furiosa_visa_std::clock::record::Timing;
use furiosa_visa_std::clock::tensor_unit::Stage;
use furiosa_visa_std::prelude::*;

axes![S = 256, U = 3, R = 4, G = 2, K = 6, A = 8, B = 8, N = 64, L = 32];

/// The documented example, in every slice.
#[device(chip = 1)]
fn documented(
    ctx: &mut Context,
    x: &HbmTensor<bf16, m![1], m![S, U, R, G, K # 8]>,
) -> HbmTensor<bf16, m![1], m![S, U, G, K, R]> {
    let x = x.to_dm::<Cluster, m![S], m![U, R, G, K # 8]>(&mut ctx.tdma, 0);
    let y = (ctx.main.begin(x.view()))
        .fetch::<bf16, m![U, R, G], m![K # 8]>()
        .collect::<m![U, R, G], m![K # 16]>()
        .transpose::<m![U, G, K], m![R # 16]>()
        .commit::<m![U, G, K, R]>(4096);
    y.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn the_documented_example() {
    let size = <m![S, U, R, G, K]>::SIZE;
    let values = numbers::<bf16>(1, size);
    let (found, cycles) = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<bf16, m![S, U, R, G, K]>::from_buf(init(&values));
        let x = x.to_hbm::<m![1], m![S, U, R, G, K # 8]>(&mut ctx.pdma, 0).await;
        let y = launch(documented, (&mut *ctx, &x)).await;
        let found = y.to_host::<m![S, U, G, K, R]>(&mut ctx.pdma).await.to_buf();
        let report = ctx.report();
        let pass = report.records.iter().find(|record| record.operation == "commit").expect("a pass");
        let Timing::TensorUnit(time) = &pass.timing else { panic!("a pass of the Tensor Unit") };
        (found, time.stage(Stage::Transpose).expect("it transposes").occupancy.cycles)
    });
    let mut expected = Vec::new();
    for (s, u, g) in (0..256).flat_map(|s| (0..3).flat_map(move |u| (0..2).map(move |g| (s, u, g)))) {
        for (k, r) in (0..6).flat_map(|k| (0..4).map(move |r| (k, r))) {
            expected.push(values[(((s * 3 + u) * 4 + r) * 2 + g) * 6 + k]);
        }
    }
    assert_same(&found, &expected);
    // 8 + 2 * 12 + 12.
    assert_eq!(cycles, 44);
}

/// A matrix of bytes in one slice, transposed block by block: rows of 8, and 8 elements of each packet.
#[device(chip = 1)]
fn matrix(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, A, B]>) -> HbmTensor<i8, m![1], m![A, B, N]> {
    let x = x.to_dm::<Cluster, m![1 # 256], m![N, A, B]>(&mut ctx.tdma, 0);
    let y = (ctx.main.begin(x.view()))
        .fetch::<i8, m![A, N], m![B]>()
        .collect::<m![A, N], m![B # 32]>()
        .transpose::<m![A, N / 8, B], m![N % 8 # 32]>()
        .commit::<m![A, B, N]>(65536);
    y.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn a_matrix_is_transposed_block_by_block() {
    let values: Vec<i8> = (0..64 * 64).map(|k| code(2, k) as u8 as i8).collect();
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![N, A, B]>::from_buf(init(&values));
        let x = x.to_hbm::<m![1], m![N, A, B]>(&mut ctx.pdma, 0).await;
        let y = launch(matrix, (&mut *ctx, &x)).await;
        y.to_host::<m![A, B, N]>(&mut ctx.pdma).await.to_buf()
    });
    let expected: Vec<i8> =
        (0..64).flat_map(|c| (0..64).map(move |r| r * 64 + c)).map(|k| values[k]).collect();
    assert_same(&found, &expected);
}

/// Over its own source: a matrix leaves when all of it is there, and then nothing of it is read any more.
#[device(chip = 1)]
fn in_place(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![U, A, B]>,
    address: u64,
) -> HbmTensor<i8, m![1], m![U, A, B]> {
    let x = x.to_dm::<Cluster, m![1 # 256], m![U, A, B]>(&mut ctx.tdma, 128);
    let y = (ctx.main.begin(x.view()))
        .fetch::<i8, m![U, A], m![B]>()
        .collect::<m![U, A], m![B # 32]>()
        .transpose::<m![U, B], m![A # 32]>()
        .commit::<m![U, B, A]>(address);
    y.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn a_transpose_over_its_own_source() {
    let values: Vec<i8> = (0..192).map(|k| code(3, k) as u8 as i8).collect();
    let run = |address: u64| {
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i8, m![U, A, B]>::from_buf(init(&values));
            let x = x.to_hbm::<m![1], m![U, A, B]>(&mut ctx.pdma, 0).await;
            let y = try_launch(in_place, (&mut *ctx, &x, address)).await?;
            Ok::<_, furiosa_visa_std::chip::Fault>(y.to_host::<m![U, A, B]>(&mut ctx.pdma).await.to_buf())
        })
    };
    assert_same(&run(128).expect("matrix by matrix"), &values);
    // Its first packet would take the place of what the second matrix begins with.
    let fault = run(192).expect_err("the second matrix is still to be read");
    assert_eq!(fault.kind, FaultKind::Overwrite, "{fault}");
    assert!(
        fault.message.starts_with("time step 0 writes byte 192 of each slice, which packet 8 of"),
        "{fault}"
    );
}

/// Converts on its way to the transpose. Rows 4 to 7 of the tensor were not written.
#[device(chip = 1)]
fn with_a_hole(ctx: &mut Context, x: &HbmTensor<bf16, m![1], m![R, B]>) -> HbmTensor<f32, m![1], m![A, B]> {
    let _ = x.to_dm::<Cluster, m![1 # 256], m![R, B]>(&mut ctx.tdma, 0);
    #[allow(unsafe_code)] // What nobody wrote is found.
    let x: DmTensor<bf16, m![1], Cluster, m![1 # 256], m![A, B]> = unsafe { DmTensor::from_addr(0) };
    let y = (ctx.main.begin(x.view()))
        .fetch::<f32, m![A], m![B]>()
        .collect::<m![A], m![B]>()
        .transpose::<m![A / 2, B], m![A % 2 # 8]>()
        .commit::<m![A / 2, B, A % 2]>(4096);
    y.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn an_element_that_nobody_wrote_is_named_as_it_lies_in_memory() {
    let fault = block_on(async {
        let mut ctx = crate::unordered();
        let x = HostTensor::<bf16, m![R, B]>::from_buf(init(&numbers::<bf16>(4, 32)));
        let x = x.to_hbm::<m![1], m![R, B]>(&mut ctx.pdma, 0).await;
        try_launch(with_a_hole, (&mut *ctx, &x)).await.map(|_| ()).expect_err("rows 4 to 7 are missing")
    });
    assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}");
    assert!(
        fault.message.starts_with("time step 4 converts element 32 of the tensor at DM address 0"),
        "{fault}"
    );
}

/// Behind the Cast Engine: rows of 4 `bf16`, where `f32` has rows of 2.
#[device(chip = 1)]
fn after_a_cast(
    ctx: &mut Context,
    x: &HbmTensor<f32, m![1], m![U, R, K # 8]>,
) -> HbmTensor<bf16, m![1], m![U, K, R]> {
    let x = x.to_dm::<Cluster, m![1 # 256], m![U, R, K # 8]>(&mut ctx.tdma, 0);
    let y = (ctx.main.begin(x.view()))
        .fetch::<f32, m![U, R], m![K # 8]>()
        .collect::<m![U, R], m![K # 8]>()
        .cast::<bf16, m![K # 16]>()
        .transpose::<m![U, K], m![R # 16]>()
        .commit::<m![U, K, R]>(4096);
    y.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn what_was_cast_is_transposed() {
    // Of 15 bits behind the point `bf16` keeps 7.
    let values: Vec<f32> = (0..72).map(|k| 1.0 + (code(5, k) % 0x8000) as f32 / 32768.0).collect();
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<f32, m![U, R, K]>::from_buf(init(&values));
        let x = x.to_hbm::<m![1], m![U, R, K # 8]>(&mut ctx.pdma, 0).await;
        let y = launch(after_a_cast, (&mut *ctx, &x)).await;
        y.to_host::<m![U, K, R]>(&mut ctx.pdma).await.to_buf()
    });
    let mut expected = Vec::new();
    for (u, k, r) in (0..3).flat_map(|u| (0..6).flat_map(move |k| (0..4).map(move |r| (u, k, r)))) {
        expected.push(bf16::from_f32(values[(u * 4 + r) * 6 + k]));
    }
    assert_same(&found, &expected);
}

/// Behind the accumulator: two rows of `i32`. Behind a cast of the sums: eight of `i8`. Behind the Vector Engine and a
/// cast: the same. `c[a, b] = Σ x[a, l] w[b, l]` comes out as `c[b, a]`, in slice 0.
#[device(chip = 1)]
fn after_a_contraction(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![A, L]>,
    w: &HbmTensor<i8, m![1], m![B, L]>,
    which: usize,
) -> HbmTensor<i32, m![1], m![B, A]> {
    let x = x.to_dm::<Cluster, m![1 # 256], m![A, L]>(&mut ctx.tdma, 0);
    let w = w.to_dm::<Cluster, m![1 # 256], m![B, L]>(&mut ctx.tdma, 1024);
    let w = (ctx.sub.begin(w.view()).fetch::<i8, m![B], m![L]>())
        .collect::<m![B], m![L]>()
        .to_trf::<m![B], m![L]>(TrfAddress::Full);
    let sums = (ctx.main.begin(x.view()).fetch::<i8, m![A], m![L]>())
        .collect::<m![A], m![L]>()
        .align::<m![A], m![L # 64], _, _>(&w)
        .contract::<m![1]>()
        .accumulate::<m![A], m![B]>(AccumulationKind::Interleaved);
    let narrow: DmTensor<i8, m![1], Cluster, m![1 # 256], m![B, A]> = match which {
        0 => {
            let y = sums.transpose::<m![A / 2, B], m![A % 2 # 8]>().commit::<m![B, A]>(2048);
            return y.to_hbm(&mut ctx.tdma, 1 << 30);
        }
        1 => sums.cast::<i8, m![B # 32]>().transpose::<m![B], m![A # 32]>().commit(2048),
        _ => {
            let y = sums.vector_init().vector_intra_slice_branch(BranchMode::Unconditional);
            let y = y.vector_fxp(FxpBinaryOp::AddFxp, 3).vector_final();
            y.cast::<i8, m![B # 32]>().transpose::<m![B], m![A # 32]>().commit(2048)
        }
    };
    let wide = (ctx.main.begin(narrow.view()).fetch::<i32, m![B], m![A]>())
        .collect::<m![B], m![A]>()
        .commit::<m![B, A]>(4096);
    wide.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn sums_are_transposed() {
    let x: Vec<i8> = (0..256).map(|k| code(6, k) as u8 as i8).collect();
    let w: Vec<i8> = (0..256).map(|k| code(7, k) as u8 as i8).collect();
    let run = |which: usize| {
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i8, m![A, L]>::from_buf(init(&x));
            let x = x.to_hbm::<m![1], m![A, L]>(&mut ctx.pdma, 0).await;
            let w = HostTensor::<i8, m![B, L]>::from_buf(init(&w));
            let w = w.to_hbm::<m![1], m![B, L]>(&mut ctx.pdma, 4096).await;
            let y = launch(after_a_contraction, (&mut *ctx, &x, &w, which)).await;
            let found = y.to_host::<m![B, A]>(&mut ctx.pdma).await.to_buf();
            let report = ctx.report();
            let pass = report.records.iter().find(|record| record.operation == "commit").expect("a pass");
            let Timing::TensorUnit(time) = &pass.timing else { panic!("a pass of the Tensor Unit") };
            (found, time.stage(Stage::Transpose).expect("it transposes").occupancy.cycles)
        })
    };
    let sum = |b: usize, a: usize| -> i32 {
        (0..32).map(|l| i32::from(x[a * 32 + l]) * i32::from(w[b * 32 + l])).sum()
    };
    let places = (0..8).flat_map(|b| (0..8).map(move |a| (b, a)));
    let sums: Vec<i32> = places.map(|(b, a)| sum(b, a)).collect();
    let (found, cycles) = run(0);
    assert_same(&found, &sums);
    // Four matrices of 2 flits in and 8 out: 2 + 3 * 8 + 8.
    assert_eq!(cycles, 34);
    let (found, cycles) = run(1);
    assert_same(&found, &sums.iter().map(|&sum| i32::from(sum as i8)).collect::<Vec<_>>());
    assert_eq!(cycles, 16);
    let (found, cycles) = run(2);
    assert_same(&found, &sums.iter().map(|&sum| i32::from((sum + 3) as i8)).collect::<Vec<_>>());
    assert_eq!(cycles, 16);
}
