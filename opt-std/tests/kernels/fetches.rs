//! Stages of the fetch adapter, and switches.

#![allow(unsafe_code)] // `reshape` has a contract about the memory of the chip.

use furiosa_opt_std::prelude::*;

axes![S = 256, A = 4, B = 32, X = 4];

type Rows<D, E> = DmTensor<D, m![1], m![1 # 2], m![S], E>;

/// Codes of 4 bits become floats: table and conversion in one fetch, then a narrowing commit.
#[device]
fn looked_up(
    ctx: &mut Context,
    x: &HbmTensor<f4e2m1, m![1], m![S, B]>,
) -> (HbmTensor<f8e4m3, m![1], m![S, B]>, HbmTensor<f32, m![1], m![S, B]>) {
    let x: Rows<f4e2m1, m![B]> = x.to_dm(&mut ctx.tdma);
    let eight: Rows<f8e4m3, m![B]> = ctx
        .main
        .begin(x.view())
        .fetch::<m![1], m![B]>()
        .fetch_table_lookup::<f8e4m3>()
        .collect::<m![1], m![B]>()
        .commit_trim::<m![B]>()
        .commit();
    let floats: Rows<f32, m![B]> = ctx
        .main
        .begin(x.view())
        .fetch::<m![1], m![B]>()
        .fetch_table_lookup::<f8e4m3>()
        .fetch_cast::<f32>()
        .collect::<m![B / 8], m![B % 8]>()
        .commit_trim::<m![B % 8]>()
        .commit();
    (eight.to_hbm(&mut ctx.tdma), floats.to_hbm(&mut ctx.tdma))
}

#[test]
fn tables_follow_from_types() {
    let mut ctx = Context::acquire();
    let codes: Vec<f4e2m1> = (0..256 * 32).map(|k| f4e2m1::from_bits((k * 7 % 16) as u8)).collect();
    let (eight, floats) = pollster::block_on(async {
        let x = HostTensor::<f4e2m1, m![S, B]>::from_vec(codes.clone()).to_hbm(&mut ctx.pdma).await;
        let (eight, floats) = launch(looked_up, (&mut *ctx, &x)).await;
        (eight.into_vec(), floats.into_vec())
    });
    for ((code, eight), float) in codes.iter().zip(eight).zip(floats) {
        assert_eq!((eight.to_f32(), float), (code.to_f32(), code.to_f32()));
    }
}

/// Zero points: `x - 3` in a contraction-ready type, multiplied by one.
#[device]
fn shifted(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, B]>) -> HbmTensor<i32, m![1], m![S, A]> {
    let x: Rows<i8, m![B]> = x.to_dm(&mut ctx.tdma);
    let ones: TrfTensor<i9, m![1], m![1 # 2], m![S], m![1], m![B]> = ctx
        .sub
        .begin(x.view())
        .fetch::<m![1], m![B]>()
        .fetch_zero_point_sub::<i9>(0)
        .collect::<m![1], m![B]>()
        .to_trf();
    let y: Rows<i32, m![1 # 8]> = ctx
        .main
        .begin(x.view())
        .fetch::<m![1], m![B]>()
        .fetch_zero_point_sub::<i9>(3)
        .collect::<m![1], m![B]>()
        .contract_outer::<m![1], m![B # 64], _, _, _>(&ones)
        .contract_packet::<m![1]>()
        .contract_time::<m![1]>()
        .contract_lane::<m![1], m![1 # 8]>(LaneMode::Interleaved)
        .commit_trim::<m![1 # 8]>()
        .commit();
    let mut all = DmTensor::<i32, m![1], m![1 # 2], m![S], m![A # 8]>::new();
    for a in 0..4 {
        let one = all.view_mut().tile::<m![A], 1, m![1 # 8]>(a);
        y.view().to_dm_view(&mut ctx.tdma, one);
    }
    all.to_hbm(&mut ctx.tdma)
}

#[test]
fn zero_points_are_subtracted() {
    let mut ctx = Context::acquire();
    let x: Vec<i8> = (0..256 * 32).map(|k| (k * 5 % 11) as i8 - 5).collect();
    let y = pollster::block_on(async {
        let x = HostTensor::<i8, m![S, B]>::from_vec(x.clone()).to_hbm(&mut ctx.pdma).await;
        launch(shifted, (&mut *ctx, &x)).await.into_vec()
    });
    for (s, row) in x.chunks(32).enumerate() {
        let sum: i32 = row.iter().map(|&x| (i32::from(x) - 3) * i32::from(x)).sum();
        assert_eq!(y[4 * s..4 * s + 4], [sum; 4], "slice {s}");
    }
}

#[test]
#[should_panic(
    expected = "fetch_zero_point_sub: the zero point 128 is no i8; help: give one from -128 to 127"
)]
fn zero_points_have_limits() {
    #[device]
    fn wrong(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, B]>) {
        let x: Rows<i8, m![B]> = x.to_dm(&mut ctx.tdma);
        let _ = ctx
            .main
            .begin(x.view())
            .fetch::<m![1], m![B]>()
            .fetch_zero_point_sub::<i9>(128)
            .collect::<m![1], m![B]>()
            .to_trf::<m![1], m![B]>();
    }
    let mut ctx = Context::acquire();
    pollster::block_on(async {
        let x = HostTensor::<i8, m![S, B]>::zero().to_hbm(&mut ctx.pdma).await;
        launch(wrong, (&mut *ctx, &x)).await;
    });
}

/// Each of four neighbouring slices gets the packets of all four, and slices and time change places.
#[device]
fn switched(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![S, A, B]>,
) -> (HbmTensor<i8, m![1], m![S / 4, X, S % 4, B]>, HbmTensor<i8, m![1], m![S / 4, A, S % 4, B]>) {
    let x: Rows<i8, m![A, B]> = x.to_dm(&mut ctx.tdma);
    let gathered: DmTensor<i8, m![1], m![1 # 2], m![S / 4, X], m![S % 4, B]> = ctx
        .main
        .begin(x.view().tile::<m![A], 1, m![1 # 4, B]>(2))
        .fetch::<m![1], m![B]>()
        .switch::<m![S / 4, X], m![S % 4]>(SwitchConfig::Broadcast1 { slice1: 4, slice0: 1 })
        .collect::<m![S % 4], m![B]>()
        .commit_trim::<m![B]>()
        .commit();
    let turned: DmTensor<i8, m![1], m![1 # 2], m![S / 4, A], m![S % 4, B]> = ctx
        .main
        .begin(x.view())
        .fetch::<m![A], m![B]>()
        .switch::<m![S / 4, A], m![S % 4]>(SwitchConfig::InterTranspose { slice1: 4, slice0: 1, time0: 1 })
        .collect::<m![S % 4], m![B]>()
        .commit_trim::<m![B]>()
        .commit();
    (gathered.to_hbm(&mut ctx.tdma), turned.to_hbm(&mut ctx.tdma))
}

#[test]
fn packets_go_around_their_ring() {
    let mut ctx = Context::acquire();
    let x: Vec<i8> = (0..256 * 4 * 32).map(|k| (k % 251) as i8).collect();
    let (gathered, turned) = pollster::block_on(async {
        let x = HostTensor::<i8, m![S, A, B]>::from_vec(x.clone()).to_hbm(&mut ctx.pdma).await;
        let (gathered, turned) = launch(switched, (&mut *ctx, &x)).await;
        (gathered.into_vec(), turned.into_vec())
    });
    let at = |s: usize, a: usize, b: usize| x[(4 * s + a) * 32 + b];
    for k in 0..256 * 4 * 32 {
        let (group, copy, slice, b) = (k / 512, k / 128 % 4, k / 32 % 4, k % 32);
        assert_eq!(gathered[k], at(4 * group + slice, 2, b));
        assert_eq!(turned[k], at(4 * group + slice, copy, b));
    }
}

/// Slices of groups of eight in the opposite order of their digits, and the same packets without a change.
#[device]
fn routed(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![S, B]>,
) -> (HbmTensor<i8, m![1], m![S, B]>, HbmTensor<i8, m![1], m![S, B]>) {
    let x: Rows<i8, m![B]> = x.to_dm(&mut ctx.tdma);
    let turned: DmTensor<i8, m![1], m![1 # 2], m![S / 8, S % 2, S / 2 % 2, S / 4 % 2], m![B]> = ctx
        .main
        .begin(x.view())
        .fetch::<m![1], m![B]>()
        .switch::<m![S / 8, S % 2, S / 2 % 2, S / 4 % 2], m![1]>(SwitchConfig::CustomBroadcast {
            ring_size: 8,
        })
        .collect::<m![1], m![B]>()
        .commit_trim::<m![B]>()
        .commit();
    let kept: Rows<i8, m![B]> = ctx
        .main
        .begin(x.view())
        .fetch::<m![1], m![B]>()
        .switch::<m![S], m![1]>(SwitchConfig::Forwarding)
        .collect::<m![1], m![B]>()
        .commit_trim::<m![B]>()
        .commit();
    // SAFETY: the names of other slices, so that the host sees what each slice holds.
    let turned = unsafe { turned.reshape::<m![1], m![1 # 2], m![S], m![B]>() };
    (turned.to_hbm(&mut ctx.tdma), kept.to_hbm(&mut ctx.tdma))
}

#[test]
fn routers_take_any_order() {
    let mut ctx = Context::acquire();
    let x: Vec<i8> = (0..256 * 32).map(|k| (k % 251) as i8).collect();
    let (turned, kept) = pollster::block_on(async {
        let x = HostTensor::<i8, m![S, B]>::from_vec(x.clone()).to_hbm(&mut ctx.pdma).await;
        let (turned, kept) = launch(routed, (&mut *ctx, &x)).await;
        (turned.into_vec(), kept.into_vec())
    });
    assert_eq!(kept, x);
    for s in 0..256 {
        let from = s / 8 * 8 + s % 2 * 4 + s / 2 % 2 * 2 + s / 4 % 2;
        assert_eq!(turned[32 * s..][..32], x[32 * from..][..32], "slice {s}");
    }
}
