//! Looks at values inside of a kernel, and comparisons with references.

use crate::{Cluster, block_on, code, init, panic_message};
use furiosa_visa_std::chip::{Addresses, Fault, FaultKind};
use furiosa_visa_std::clock::Report;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::Placement;

axes![A = 256, B = 24, C = 500, N = 4, K = 32, P2 = 8];

/// The ways in which tensors have bytes.
const PLACES: [(Placement, Addresses); 3] = [
    (Placement::Handles, Addresses::AsGiven),
    (Placement::Handles, Addresses::Separate),
    (Placement::Liveness, Addresses::AsGiven),
];

fn integers(seed: u32, count: usize) -> Vec<i32> {
    (0..count).map(|k| code(seed, k) as i32 % 1000).collect()
}

type X = HbmTensor<i32, m![1], m![A, B]>;

/// A tensor, its tiles and its copies, in HBM and in DM: in the axes of the program, wherever the elements lie.
#[test]
fn a_look_finds_the_elements_of_the_tensor() {
    #[device(chip = 1)]
    fn kernel(ctx: &mut Context, x: &X) {
        let expected = x.inspect::<m![A, B]>(ctx);
        let turned = expected.as_tensor().transpose::<m![B, A]>(false);
        // Cut over slices, with padding, the inner digit outside.
        let dm = x.to_dm::<Cluster, m![A / 2], m![A % 2, B # 32]>(&mut ctx.tdma, 0);
        assert_eq!(dm.inspect::<m![A, B]>(ctx), expected);
        assert_eq!(*dm.inspect::<m![B, A]>(ctx).as_tensor(), turned);
        // Tiles of elements, and of slices.
        let tile = dm.view().tile::<m![B / 8], 1, m![A % 2, 1 # 4, B % 8]>(2);
        let part = tile.inspect::<m![A, B % 8]>(ctx).to_vec();
        let all = expected.to_vec();
        assert_eq!(part[7 * 8 + 3], all[7 * 24 + 2 * 8 + 3]);
        let slices = dm.view().slice_tile::<m![A / 64], 1, m![1 # 4, A / 2 % 32]>(3);
        assert_eq!(slices.inspect::<m![A % 64, B]>(ctx).to_vec(), all[192 * 24..]);
        let rows = x.view().tile::<m![A / 64], 1, m![1 # 4, A % 64, B]>(1);
        assert_eq!(rows.inspect::<m![A % 64, B]>(ctx).to_vec(), all[64 * 24..128 * 24]);
    }
    for placement in [Placement::Handles, Placement::Liveness] {
        block_on(async {
            let mut ctx = Context::with(SimOptions { placement, ..SimOptions::default() });
            let x = HostTensor::<i32, m![A, B]>::from_buf(init(&integers(1, 256 * 24)));
            let x: X = x.to_hbm(&mut ctx.pdma, 0).await;
            launch(kernel, (&mut *ctx, &x)).await;
        });
    }
}

/// Unwritten elements are said, and end nothing: a tensor without an element, and the rest of one that is filled in parts.
/// A tensor that another one was written over is a fault.
#[test]
fn a_look_says_what_nobody_wrote() {
    #[device(chip = 1)]
    fn kernel(ctx: &mut Context, x: &X) {
        let mut all = DmTensor::<i32, m![1], Cluster, m![A], m![N, B]>::new(ctx);
        assert!(all.inspect::<m![N, A, B]>(ctx).to_buf().iter().all(|element| *element == Opt::Uninit));
        let tile = all.view_mut().tile::<m![N], 1, m![1 # 4, B]>(2);
        x.view().to_dm_view(&mut ctx.tdma, tile);
        let seen = all.inspect::<m![N, A, B]>(ctx);
        let written = |k: usize| k / (256 * 24) == 2;
        assert!(seen.to_buf().iter().enumerate().all(|(k, element)| element.is_init() == written(k)));
        assert!(seen.to_string().contains("\n0, 0   |    -  -  -"), "{seen}");
    }
    #[device(chip = 1)]
    fn overwritten(ctx: &mut Context, x: &X) {
        let first = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, 0);
        let _second = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, 64);
        first.inspect::<m![A, B]>(ctx);
    }
    for placement in [Placement::Handles, Placement::Liveness] {
        block_on(async {
            let mut ctx = Context::with(SimOptions { placement, ..SimOptions::default() });
            let x = HostTensor::<i32, m![A, B]>::from_buf(init(&integers(1, 256 * 24)));
            let x: X = x.to_hbm(&mut ctx.pdma, 0).await;
            launch(kernel, (&mut *ctx, &x)).await;
            let fault: Fault = try_launch(overwritten, (&mut *ctx, &x)).await.expect_err("it is overwritten");
            assert_eq!((fault.kind, fault.operation), (FaultKind::StaleRead, "inspect"));
        });
    }
}

/// A stream of a tensor that nobody wrote, or in part, shows what was written and nothing else, in wider packets too.
#[test]
fn a_look_at_a_stream_reads_fresh_memory() {
    type Half = HbmTensor<bf16, m![1], m![A, K]>;
    #[device(chip = 1)]
    fn kernel(ctx: &mut Context, half: &Half, is_partly_written: bool) {
        let mut all = DmTensor::<bf16, m![1], Cluster, m![A], m![N, K]>::new(ctx);
        if is_partly_written {
            half.view().to_dm_view(&mut ctx.tdma, all.view_mut().tile::<m![N], 1, m![1 # 4, K]>(0));
        }
        (ctx.main.begin(all.view()).fetch::<f32, m![N, K / 8], m![K % 8]>())
            .collect::<m![N, K / 8], m![K % 8]>()
            .inspect::<m![N, A, K]>(|packets| {
                for (k, element) in packets.to_buf().into_iter().enumerate() {
                    let is_written = is_partly_written && k < 256 * 32;
                    let expected = if is_written { Opt::Init((k % 251) as f32) } else { Opt::Uninit };
                    assert_eq!(element, expected, "{k}");
                }
            })
            .commit::<m![N, K]>(AUTO);
    }
    for (placement, addresses) in PLACES {
        block_on(async {
            let mut ctx = Context::with(SimOptions { placement, addresses, ..SimOptions::default() });
            let half: Vec<bf16> = (0..256 * 32).map(|k| bf16::from_f32((k % 251) as f32)).collect();
            let half = HostTensor::<bf16, m![A, K]>::from_slice(&half);
            let half: Half = half.to_hbm(&mut ctx.pdma, AUTO).await;
            for is_partly_written in [false, true] {
                // The look ends nothing, but the commit does.
                let fault = try_launch(kernel, (&mut *ctx, &half, is_partly_written)).await;
                assert_eq!(fault.expect_err("it converts them").kind, FaultKind::Uninitialised);
            }
        });
    }
}

/// Looks take no time, are no operations, and order nothing.
#[test]
fn a_look_is_no_operation() {
    #[device(chip = 1)]
    fn kernel(ctx: &mut Context, x: &X, looks: bool) -> X {
        let dm = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, 0);
        if looks {
            x.inspect::<m![A, B]>(ctx);
            dm.inspect::<m![A, B]>(ctx);
        }
        let stream = (ctx.main.begin(dm.view()).fetch::<i32, m![B / 8], m![B % 8]>())
            .collect::<m![B / 8], m![B % 8]>();
        let stream = match looks {
            true => stream.inspect::<m![A, B]>(|packets| assert!(packets.to_buf()[0].is_init())),
            false => stream,
        };
        let copy = stream.commit::<m![B]>(1024);
        if looks {
            copy.inspect::<m![A, B]>(ctx);
        }
        copy.to_hbm(&mut ctx.tdma, 1 << 20)
    }
    let report = |looks: bool| -> Report {
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i32, m![A, B]>::from_buf(init(&integers(1, 256 * 24)));
            let x: X = x.to_hbm(&mut ctx.pdma, 0).await;
            let copy = launch(kernel, (&mut *ctx, &x, looks)).await;
            assert_eq!(copy.inspect::<m![A, B]>(&ctx).to_vec(), integers(1, 256 * 24));
            ctx.report()
        })
    };
    assert_eq!(report(true).full().to_string(), report(false).full().to_string());
}

/// A stream shows its packets after each engine: as they were fetched, two flits of each, with copies in all slices, summed,
/// computed and cast.
#[test]
fn a_stream_is_seen_after_each_engine() {
    type P = HbmTensor<f32, m![1], m![A, P2]>;
    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        a: &HbmTensor<bf16, m![1], m![A, K]>,
        b: &HbmTensor<bf16, m![1], m![P2, K]>,
    ) -> P {
        let (left, right) = (a.inspect::<m![A, K]>(ctx), b.inspect::<m![P2, K]>(ctx));
        let copies = right.as_tensor().transpose::<m![A, P2, K]>(true);
        let exact = Tensor::<f32, m![A, P2]>::contraction::<m![A, P2, K], _, _>(&wide(&left), &wide(&right));
        let a = a.to_dm::<Cluster, m![A], m![K]>(&mut ctx.tdma, AUTO);
        let b = b.to_dm::<Cluster, m![A], m![P2, K]>(&mut ctx.tdma, AUTO);
        let weights = (ctx.sub.begin(b.view()).fetch::<bf16, m![P2], m![K]>())
            .inspect::<m![A, P2, K]>(|packets| assert_eq!(*packets.as_tensor(), copies))
            .collect::<m![P2, K / 16], m![K % 16]>()
            .inspect::<m![A, P2, K]>(|packets| assert_eq!(*packets.as_tensor(), copies))
            .to_trf::<m![P2], m![K]>(TrfAddress::Full);
        let c = (ctx.main.begin(a.view()).fetch::<bf16, m![1], m![K]>())
            .inspect::<m![A, K]>(|packets| assert_eq!(*packets, left))
            .collect::<m![K / 16], m![K % 16]>()
            .align::<m![1], m![K], _, _>(&weights)
            .contract::<m![1]>()
            .accumulate::<m![1], m![P2]>(AccumulationKind::Interleaved)
            // Small integers: sums are exact in any order.
            .inspect::<m![P2, A]>(|packets| {
                assert_eq!(packets.as_tensor().transpose::<m![A, P2]>(false), exact)
            })
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Add, 1.0)
            .vector_final()
            .inspect::<m![A, P2]>(|packets| {
                let more = exact.map(|element| element.map(|value| value + 1.0));
                packets.assert_close(&more, Tolerance::EXACT);
            })
            .commit::<m![P2]>(AUTO);
        (ctx.main.begin(c.view()).fetch::<f32, m![1], m![P2]>())
            .collect::<m![1], m![P2]>()
            .cast::<bf16, m![P2 # 16]>()
            .inspect::<m![A, P2]>(|packets| {
                assert_eq!(packets.to_vec()[9].to_f32(), exact.to_buf()[9].unwrap() + 1.0)
            })
            .commit::<m![P2 # 16]>(AUTO);
        c.to_hbm(&mut ctx.tdma, AUTO)
    }
    fn wide<E: M>(tensor: &HostTensor<bf16, E>) -> Tensor<f32, E> {
        tensor.as_tensor().map(|element| element.map(bf16::to_f32))
    }
    fn small<E: M>(seed: u32) -> HostTensor<bf16, E> {
        let numbers = (0..E::SIZE).map(|k| bf16::from_f32((code(seed, k) % 17) as f32 - 8.0));
        HostTensor::from_slice(&numbers.collect::<Vec<_>>())
    }
    for (placement, addresses) in PLACES {
        block_on(async {
            let mut ctx = Context::with(SimOptions { placement, addresses, ..SimOptions::default() });
            let a = small::<m![A, K]>(1).to_hbm::<m![1], m![A, K]>(&mut ctx.pdma, AUTO).await;
            let b = small::<m![P2, K]>(2).to_hbm::<m![1], m![P2, K]>(&mut ctx.pdma, AUTO).await;
            launch(kernel, (&mut *ctx, &a, &b)).await;
        });
    }
}

/// A difference is named by its place in the axes, whichever memory it comes from.
#[test]
fn a_wrong_tail_is_named_by_its_axis() {
    block_on(async {
        let mut ctx = Context::acquire();
        let x: Vec<i32> = integers(3, 2000);
        let hbm =
            HostTensor::<i32, m![N, C]>::from_slice(&x).to_hbm::<m![1], m![N, C]>(&mut ctx.pdma, 0).await;
        let dm = hbm.to_dm::<Cluster, m![C / 2 # 256], m![N, C % 2]>(&mut ctx.tdma, 0);
        let seen = dm.inspect::<m![N, C]>(&ctx);
        seen.assert_close(HostTensor::from_slice(&x), Tolerance::EXACT);
        let mut wrong = x.clone();
        for n in 0..4 {
            wrong[n * 500 + 448..(n + 1) * 500].iter_mut().for_each(|element| *element += 1);
        }
        wrong[1500 + 470] += 20;
        let wrong = HostTensor::<i32, m![N, C]>::from_slice(&wrong);
        let text = panic_message(|| wrong.assert_close(&seen, Tolerance::EXACT));
        for words in [
            "208 of 2 000 elements (10.4 %) of `m![N, C]`",
            "  C in 448..500: 208 of 208",
            "  N in 0..4: 208 of 2 000",
        ] {
            assert!(text.contains(words), "{text}");
        }
    });
}
