//! The constraint tables at their limits: what fits exactly is executed, one step more is refused.

use crate::{Cluster, assert_same, block_on, code, init, panic_message};
use furiosa_visa_std::chip::{Fault, FaultKind};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::{DeviceFn, DeviceSend};

axes![B = 64, BIG = 65536];
type Slice = m![1 # 256];

const DM: u64 = 512 * 1024;
const HBM: u64 = 48 << 30;

fn bytes(seed: u32, count: usize) -> Vec<i8> {
    (0..count).map(|k| code(seed, k) as u8 as i8).collect()
}

/// Uploads bytes, runs a kernel, downloads its result.
fn run<K, X: M, Y: M>(kernel: K, x: &[i8], address: u64) -> Result<Vec<Opt<i8>>, Fault>
where
    K: for<'a> DeviceFn<
            (&'a mut Context, &'a HbmTensor<i8, m![1], X>, u64),
            Output = HbmTensor<i8, m![1], Y>,
        >,
    for<'a> (&'a mut Context, &'a HbmTensor<i8, m![1], X>, u64): DeviceSend,
{
    block_on(async {
        let mut ctx = crate::unordered();
        let x = HostTensor::<i8, X>::from_buf(init(x));
        let x = x.to_hbm::<m![1], X>(&mut ctx.pdma, 0).await;
        let y = try_launch(kernel, (&mut *ctx, &x, address)).await?;
        Ok(y.to_host::<Y>(&mut ctx.pdma).await.to_buf())
    })
}

#[track_caller]
fn assert_fault(result: Result<Vec<Opt<i8>>, Fault>, kind: FaultKind, parts: &[&str]) {
    let fault = result.expect_err("it should be refused");
    let text = fault.to_string();
    assert_eq!(fault.kind, kind, "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert!(!fault.help.is_empty(), "{text}");
    assert!(fault.location.file().ends_with("limits.rs"), "{text}");
}

/// From HBM to DM at an address, and back.
#[device(chip = 1)]
fn through_dm(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![BIG]>,
    address: u64,
) -> HbmTensor<i8, m![1], m![BIG]> {
    let dm = x.to_dm::<Cluster, Slice, m![BIG]>(&mut ctx.tdma, address);
    dm.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn dm_ends_at_512_kib() {
    let x = bytes(1, 65536);
    assert_same(&run(through_dm, &x, DM - 65536).expect("it fits exactly"), &x);
    let past = run(through_dm, &x, DM - 65536 + 8);
    assert_fault(past, FaultKind::OutOfBounds, &["DM", "458760", "524288", "bytes 524288.."]);
    assert_fault(run(through_dm, &x, DM), FaultKind::Refused, &["to_dm", "524288 lies outside DM"]);
}

#[device(chip = 1)]
fn dm_to_dm(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![BIG]>,
    address: u64,
) -> HbmTensor<i8, m![1], m![BIG]> {
    let dm = x.to_dm::<Cluster, Slice, m![BIG]>(&mut ctx.tdma, 0);
    let copy = dm.to_dm::<Slice, m![BIG]>(&mut ctx.tdma, address);
    copy.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn one_element_too_many_is_too_many() {
    let x = bytes(2, 65536);
    assert_same(&run(dm_to_dm, &x, DM - 65536).expect("it fits exactly"), &x);
    assert_same(&run(dm_to_dm, &x, 65537).expect("bytes need no alignment"), &x);
    let past = run(dm_to_dm, &x, DM - 65535);
    assert_fault(past, FaultKind::OutOfBounds, &["DM", "bytes 524288..524289 of chip 0, cluster 0, slice 0"]);
}

/// A stream that is committed at an address.
#[device(chip = 1)]
fn committed(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![B]>,
    address: u64,
) -> HbmTensor<i8, m![1], m![B]> {
    let dm = x.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, 0);
    let y = (ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>())
        .collect::<m![B / 32], m![B % 32]>()
        .commit::<m![B]>(address);
    y.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn commits_are_at_multiples_of_8() {
    let x = bytes(3, 64);
    assert_same(&run(committed, &x, 64).expect("8 divides 64"), &x);
    assert_same(&run(committed, &x, 72).expect("8 divides 72"), &x);
    assert_same(&run(committed, &x, DM - 64).expect("it fits exactly"), &x);
    for address in [65, 68, 76] {
        let found = run(committed, &x, address);
        assert_fault(found, FaultKind::Refused, &["commit", &address.to_string(), "multiple of 8"]);
    }
    assert_fault(run(committed, &x, DM - 56), FaultKind::OutOfBounds, &["commit", "bytes 524288.."]);
}

/// A move carries no padding, so that padding may stick out of DM. A stream that reads it may not.
#[test]
fn padding_of_moves_may_stick_out_of_dm() {
    type Padded = m![B # 256];
    #[device(chip = 1)]
    fn moved(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![B]>,
        address: u64,
    ) -> HbmTensor<i8, m![1], m![B]> {
        x.to_dm::<Cluster, Slice, Padded>(&mut ctx.tdma, address).to_hbm(&mut ctx.tdma, 1 << 30)
    }
    #[device(chip = 1)]
    fn read(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![B]>, address: u64) -> HbmTensor<i8, m![1], m![B]> {
        let dm = x.to_dm::<Cluster, Slice, Padded>(&mut ctx.tdma, address);
        let y = (ctx.main.begin(dm.view()).fetch::<i8, m![B # 256 / 32], m![B # 256 % 32]>())
            .collect::<m![B # 256 / 32], m![B # 256 % 32]>()
            .commit::<Padded>(0);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }
    let x = bytes(8, 64);
    assert_same(&run(moved, &x, DM - 256).expect("all of it fits"), &x);
    assert_same(&run(moved, &x, DM - 64).expect("the elements fit"), &x);
    assert_fault(
        run(moved, &x, DM - 56),
        FaultKind::OutOfBounds,
        &["DM address 524232", "bytes 524288..524296"],
    );
    assert_same(&run(read, &x, DM - 256).expect("all of it fits"), &x);
    assert_fault(run(read, &x, DM - 248), FaultKind::OutOfBounds, &["fetch", "DM ends at 524288"]);
}

/// A handle that reaches out of DM, fetched.
#[device(chip = 1)]
fn fetched(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![B]>, address: u64) -> HbmTensor<i8, m![1], m![B]> {
    x.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, DM - 64);
    #[allow(unsafe_code)] // What is outside is to be refused.
    let dm = unsafe { DmTensor::<i8, m![1], Cluster, Slice, m![B]>::from_addr(address) };
    let y = (ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>())
        .collect::<m![B / 32], m![B % 32]>()
        .commit::<m![B]>(0);
    y.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn fetches_stay_in_dm() {
    let x = bytes(4, 64);
    assert_same(&run(fetched, &x, DM - 64).expect("it fits exactly"), &x);
    let past = run(fetched, &x, DM - 63);
    assert_fault(past, FaultKind::OutOfBounds, &["fetch", "bytes 524288..524289"]);
}

#[test]
fn fetches_start_at_any_byte() {
    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![B]>,
        address: u64,
    ) -> HbmTensor<i8, m![1], m![B]> {
        let dm = x.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, 0);
        let dm = dm.to_dm::<Slice, m![B]>(&mut ctx.tdma, address);
        let y = (ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>())
            .collect::<m![B / 32], m![B % 32]>()
            .commit::<m![B]>(1024);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }
    let x = bytes(5, 64);
    for address in [129, 130, 135] {
        assert_same(&run(kernel, &x, address).expect("every byte has an address"), &x);
    }
}

#[test]
fn addresses_are_multiples_of_the_element() {
    #![allow(unsafe_code)] // Handles that nobody reads.
    type Dm<D> = DmTensor<D, m![1], Cluster, Slice, m![B]>;
    type Hbm<D> = HbmTensor<D, m![1], m![B]>;
    let _ = unsafe { (Dm::<i4>::from_addr(1), Dm::<i8>::from_addr(1), Dm::<f8e4m3>::from_addr(3)) };
    let _ = unsafe { (Dm::<bf16>::from_addr(2), Dm::<f32>::from_addr(4), Dm::<i32>::from_addr(DM - 256)) };
    let _ = unsafe { (Hbm::<i4>::from_addr(7), Hbm::<bf16>::from_addr(6), Hbm::<f32>::from_addr(12)) };
    let refused = [
        (panic_message(|| unsafe { Dm::<bf16>::from_addr(1) }), "1 is no multiple of the 2 bytes of bf16"),
        (panic_message(|| unsafe { Dm::<i32>::from_addr(6) }), "6 is no multiple of the 4 bytes of i32"),
        (panic_message(|| unsafe { Hbm::<bf16>::from_addr(5) }), "5 is no multiple of the 2 bytes of bf16"),
        (panic_message(|| unsafe { Hbm::<f32>::from_addr(10) }), "10 is no multiple of the 4 bytes of f32"),
        (
            panic_message(|| unsafe { Hbm::<i8>::from_addr(HBM) }),
            "51539607552 lies outside HBM of 51539607552 bytes",
        ),
        (
            panic_message(|| unsafe { Dm::<i8>::from_addr(DM) }),
            "a tensor of 64 bytes fits at 524224 and below",
        ),
    ];
    for (message, part) in refused {
        assert!(message.contains(part) && message.contains("help: "), "`{part}` is not in: {message}");
    }
}

/// One refusal names the multiple that is enough: not that of the element first, and then that of the engine.
#[test]
fn an_odd_address_is_refused_with_the_multiple_of_the_engine() {
    #[device(chip = 1)]
    fn kernel(ctx: &mut Context, x: &HbmTensor<bf16, m![1], m![B]>, dma: u64, commit: u64) {
        let dm = x.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, dma);
        (ctx.main.begin(dm.view()).fetch::<bf16, m![1], m![B]>())
            .collect::<m![B / 16], m![B % 16]>()
            .commit::<m![B]>(commit);
    }
    let run = |dma, commit| {
        let mut ctx = Context::acquire();
        block_on(async {
            let x = HostTensor::<bf16, m![B]>::zero().to_hbm::<m![1], m![B]>(&mut ctx.pdma, 0).await;
            try_launch(kernel, (&mut *ctx, &x, dma, commit)).await
        })
    };
    assert!(run(1024, 2048).is_ok());
    for (dma, commit, part) in [
        (1027, 2048, "DM destination address 1027 is no multiple of 8 bytes"),
        (1026, 2048, "DM destination address 1026 is no multiple of 8 bytes"),
        (1024, 2047, "address 2047 is no multiple of 8 bytes"),
        (1024, DM, "fits at 524160 and below"),
    ] {
        let message = run(dma, commit).expect_err(part).to_string();
        assert!(message.contains(part), "{message}");
    }
}

/// The fault names the line of the call, although the work is done when the future is awaited.
#[test]
fn an_upload_at_an_odd_address_is_refused_at_its_line() {
    let mut ctx = Context::acquire();
    let x = HostTensor::<bf16, m![B]>::zero();
    let line = line!() + 1;
    let message = panic_message(|| drop(x.to_hbm::<m![1], m![B]>(&mut ctx.pdma, 1027)));
    let place = format!("{}:{line}:", file!());
    assert!(message.contains("1027 is no multiple of the 2 bytes") && message.contains(&place), "{message}");
}

#[test]
fn hbm_to_dm_is_aligned_to_8_bytes() {
    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![B]>,
        address: u64,
    ) -> HbmTensor<i8, m![1], m![B]> {
        // To HBM any byte will do.
        let shifted = x.to_hbm::<{ Dma::Tensor }, m![B]>(&mut ctx.tdma, address);
        let dm = shifted.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, 0);
        dm.to_hbm(&mut ctx.tdma, 1 << 30)
    }
    let x = bytes(6, 64);
    assert_same(&run(kernel, &x, 1 << 20).expect("aligned"), &x);
    let found = run(kernel, &x, (1 << 20) + 4);
    assert_fault(found, FaultKind::Refused, &["to_dm", "HBM source address 1048580", "multiple of 8"]);
    let found = run(through_dm, &bytes(6, 65536), 12);
    assert_fault(found, FaultKind::Refused, &["to_dm", "DM destination address 12", "multiple of 8"]);
}

#[test]
fn hbm_ends_at_48_gib() {
    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![B]>,
        address: u64,
    ) -> HbmTensor<i8, m![1], m![B]> {
        x.to_hbm(&mut ctx.tdma, address)
    }
    let x = bytes(7, 64);
    assert_same(&run(kernel, &x, HBM - 64).expect("it fits exactly"), &x);
    let past = run(kernel, &x, HBM - 63);
    assert_fault(past, FaultKind::OutOfBounds, &["HBM", "bytes 51539607552..51539607553 of chip 0"]);
    assert_fault(run(kernel, &x, HBM), FaultKind::Refused, &["to_hbm", "lies outside HBM"]);

    // The same over PCIe, outside of any launch.
    let upload = |address| {
        block_on(async {
            let mut ctx = Context::acquire();
            let host = HostTensor::<i8, m![B]>::from_buf(init(&x));
            let hbm = host.to_hbm::<m![1], m![B]>(&mut ctx.pdma, address).await;
            hbm.to_host::<m![B]>(&mut ctx.pdma).await.to_buf()
        })
    };
    assert_same(&upload(HBM - 64), &x);
    let message = panic_message(|| upload(HBM - 63));
    assert!(message.starts_with("fault: to_hbm: out of bounds: "), "{message}");
}

/// A load of the TRF that takes `R * E * 64` bytes, and a stream with a single 1 per packet that reads it back.
///
/// The results are two loads: one whole, at `first`, and one of 64 bytes at `second`, which must not disturb it.
macro_rules! trf {
    ($name:ident, rows $r:literal, blocks $e:literal) => {
        mod $name {
            use super::*;
            axes![R = $r, E = $e, P = 4, C = 64];

            #[device(chip = 1)]
            fn kernel(
                ctx: &mut Context,
                x: &HbmTensor<i8, m![1], m![P, C]>,
                w: &HbmTensor<i8, m![1], m![R, E, C]>,
                second_half: bool,
                full: bool,
                other: bool,
            ) -> HbmTensor<i32, m![1], m![P, E, R]> {
                let address = match (full, second_half) {
                    (true, _) => TrfAddress::Full,
                    (_, true) => TrfAddress::SecondHalf,
                    _ => TrfAddress::FirstHalf,
                };
                let x = x.to_dm::<Cluster, Slice, m![P, C]>(&mut ctx.tdma, 0);
                let w = w.to_dm::<Cluster, Slice, m![R, E, C]>(&mut ctx.tdma, 1 << 13);
                let weights = (ctx.sub.begin(w.view()).fetch::<i8, m![R, E], m![C]>())
                    .collect::<m![R, E, C / 32], m![C % 32]>()
                    .to_trf::<m![R], m![E, C]>(address);
                assert_eq!(weights.address(), address);
                if other {
                    let other = if second_half { TrfAddress::FirstHalf } else { TrfAddress::SecondHalf };
                    (ctx.sub.begin(x.view()).fetch::<i8, m![P], m![C]>())
                        .collect::<m![P, C / 32], m![C % 32]>()
                        .to_trf::<m![P], m![C]>(other);
                }
                let y = (ctx.main.begin(x.view()).fetch::<i8, m![P], m![C]>())
                    .collect::<m![P, C / 32], m![C % 32]>()
                    .align::<m![P, E], m![C], _, _>(&weights)
                    .contract::<m![1]>()
                    .accumulate::<m![P, E], m![R # 8]>(AccumulationKind::Interleaved)
                    .commit::<m![P, E, R # 8]>(1 << 17);
                y.to_hbm(&mut ctx.tdma, 1 << 30)
            }

            /// Checks that the weights are read back as they were written, or returns the fault.
            #[track_caller]
            pub fn run(address: TrfAddress, other: bool) -> Result<(), Fault> {
                let second = address == TrfAddress::SecondHalf;
                let full = address == TrfAddress::Full;
                let w = bytes(8, $r * $e * 64);
                // Packets that pick the first, the last and two other elements of a block.
                let picked = [0, 63, 17, 40];
                let x: Vec<i8> = (0..256).map(|k| i8::from(picked[k / 64] == k % 64)).collect();
                let found = block_on(async {
                    let mut ctx = Context::acquire();
                    let x = HostTensor::<i8, m![P, C]>::from_buf(init(&x));
                    let w = HostTensor::<i8, m![R, E, C]>::from_buf(init(&w));
                    let x = x.to_hbm::<m![1], m![P, C]>(&mut ctx.pdma, 0).await;
                    let w = w.to_hbm::<m![1], m![R, E, C]>(&mut ctx.pdma, 1 << 20).await;
                    let y = try_launch(kernel, (&mut ctx, &x, &w, second, full, other)).await?;
                    Ok(y.to_host::<m![P, E, R]>(&mut ctx.pdma).await.to_buf())
                })?;
                let mut expected = Vec::new();
                for at in picked {
                    for e in 0..$e {
                        for r in 0..$r {
                            expected.push(i32::from(w[(r * $e + e) * 64 + at]));
                        }
                    }
                }
                assert_same(&found, &expected);
                Ok(())
            }
        }
    };
}

trf!(half_in_8_rows, rows 8, blocks 64);
trf!(more_than_half_in_8_rows, rows 8, blocks 65);
trf!(half_in_1_row, rows 1, blocks 512);
trf!(more_than_half_in_2_rows, rows 2, blocks 257);
trf!(all_in_8_rows, rows 8, blocks 128);
trf!(all_in_4_rows, rows 4, blocks 256);

/// E6, by the part of the TRF.
#[test]
fn halves_of_the_trf_hold_32_kib() {
    for address in [TrfAddress::FirstHalf, TrfAddress::SecondHalf] {
        for other in [false, true] {
            half_in_8_rows::run(address, other).expect("it fits exactly");
            half_in_1_row::run(address, other).expect("it fits exactly");
        }
        for result in
            [more_than_half_in_8_rows::run(address, false), more_than_half_in_2_rows::run(address, false)]
        {
            let name = address.to_string();
            let parts = ["to_trf", &name, "holds 32768", "help: use `TrfAddress::Full`"];
            assert_fault(result.map(|()| Vec::new()), FaultKind::Refused, &parts);
        }
    }
    more_than_half_in_8_rows::run(TrfAddress::Full, false).expect("it fits");
    more_than_half_in_2_rows::run(TrfAddress::Full, false).expect("it fits");
}

/// E38.
#[test]
fn all_of_the_trf_holds_64_kib() {
    all_in_8_rows::run(TrfAddress::Full, false).expect("it fits exactly");
    all_in_4_rows::run(TrfAddress::Full, false).expect("it fits exactly");
    // A load of a half overwrites a part of the whole.
    let fault = all_in_8_rows::run(TrfAddress::Full, true).expect_err("a half was loaded over it");
    assert_eq!(fault.kind, FaultKind::StaleRead, "{fault}");
    assert_eq!(fault.places.len(), 2, "{fault}");
}

#[test]
fn handles_to_the_trf_fit_their_part() {
    #![allow(unsafe_code)] // Handles that nobody reads.
    type Full = TrfTensor<i8, m![1], Cluster, Slice, m![1], m![BIG]>;
    let _ = unsafe { Full::from_addr(TrfAddress::Full) };
    let message = panic_message(|| unsafe { Full::from_addr(TrfAddress::SecondHalf) });
    assert!(message.contains("65536 bytes, but TrfAddress::SecondHalf holds 32768"), "{message}");
}
