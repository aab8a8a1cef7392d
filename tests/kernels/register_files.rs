//! The register files as a kernel sees them: what they hold, where they end, and whose content it is.

use crate::{Cluster, Number, assert_same, block_on, code, init, numbers, panic_message};
use furiosa_visa_std::chip::{Fault, FaultKind, TrfCell};
use furiosa_visa_std::command::MemoryKind;
use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8, W = 6, N = 8, K = 64, S = 256, R = 600, V = 2048, H = 512];

type Slice = m![1 # 256];

fn integers(seed: u32, count: usize) -> Vec<i32> {
    (0..count).map(|k| code(seed, k) as i32).collect()
}

/// Any order of the stream, with padding added and dropped, and what nobody wrote.
#[test]
fn a_vrf_holds_the_stream_in_any_order() {
    #[device(chip = 1)]
    fn kernel(ctx: &mut Context, x: &HbmTensor<i32, m![1], m![A, B, W]>) {
        let x = x.to_dm::<Cluster, Slice, m![A, B, W # 8]>(&mut ctx.tdma, 0);
        macro_rules! load {
            ($address:literal, $element:ty) => {
                (ctx.sub.begin(x.view()).fetch::<i32, m![A, B], m![W # 8]>())
                    .collect::<m![A, B], m![W # 8]>()
                    .to_vrf::<$element>($address)
            };
        }
        let stream = load!(0, m![A, B, W # 8]);
        let packed = load!(1024, m![W, A # 5, B]);
        let columns = load!(4096, m![B / 2, W, B % 2, A]);
        let expected = stream.inspect::<m![A, B, W]>(ctx).to_buf();
        assert!(expected.iter().all(Opt::is_init));
        assert_eq!(packed.inspect::<m![A, B, W]>(ctx).to_buf(), expected);
        assert_eq!(columns.inspect::<m![A, B, W]>(ctx).to_buf(), expected);
        // The order of memory itself.
        let first = columns.inspect::<m![B / 2, W, B % 2, A]>(ctx).to_buf();
        assert_eq!(first[1], expected[48], "A is the innermost axis");
        assert_eq!((stream.address(), packed.view().address(), columns.clone().address()), (0, 1024, 4096));
    }
    block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i32, m![A, B, W]>::from_buf(init(&integers(1, 192)));
        let x = x.to_hbm::<m![1], m![A, B, W]>(&mut ctx.pdma, 0).await;
        launch(kernel, (&mut *ctx, &x)).await;
    });
}

/// Narrow types arrive widened; slices hold their own part, also of an axis that ends inside one.
#[test]
fn every_slice_loads_its_part() {
    block_on(async {
        let mut ctx = Context::acquire();
        let x: Vec<bf16> = numbers(2, 600);
        let host = HostTensor::<bf16, m![R]>::from_buf(init(&x));
        let hbm = host.to_hbm::<m![1], m![R]>(&mut ctx.pdma, 0).await;
        let dm = hbm.to_dm::<Cluster, m![R / 8 # 256], m![R % 8]>(&mut ctx.tdma, 0);
        let vrf = (ctx.main.begin(dm.view()).fetch::<f32, m![1], m![R % 8]>())
            .collect::<m![1], m![R % 8]>()
            .to_vrf::<m![R % 8]>(8160);
        let wide: Vec<f32> = x.iter().map(|value| value.wide()).collect();
        assert_same(&vrf.inspect::<m![R]>(&ctx).to_buf(), &wide);
        let text = format!("{vrf:?}");
        assert_eq!(text, "VrfTensor<f32, m![1], m![1 # 2], m![R / 8 # 256], m![R % 8]> at 0x1fe0");
    });
}

#[test]
fn holes_stay_holes() {
    block_on(async {
        let mut ctx = Context::acquire();
        let mut x = init(&integers(3, 32));
        x[5] = Opt::Uninit;
        x[31] = Opt::Uninit;
        let hbm = HostTensor::<i32, m![A, B]>::from_buf(x.clone());
        let hbm = hbm.to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 0).await;
        let dm = hbm.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 0);
        let vrf = (ctx.sub.begin(dm.view()).fetch::<i32, m![A], m![B]>())
            .collect::<m![A], m![B]>()
            .to_vrf::<m![B, A]>(0);
        assert_eq!(vrf.inspect::<m![A, B]>(&ctx).to_buf(), x);
    });
}

#[device(chip = 1)]
fn load_vrf(ctx: &mut Context, x: &HbmTensor<i32, m![1], m![V]>, address: u64) {
    let x = x.to_dm::<Cluster, Slice, m![V]>(&mut ctx.tdma, 0);
    (ctx.sub.begin(x.view()).fetch::<i32, m![V / 8], m![V % 8]>())
        .collect::<m![V / 8], m![V % 8]>()
        .to_vrf::<m![V]>(address);
}

#[device(chip = 1)]
fn load_half_a_vrf(ctx: &mut Context, x: &HbmTensor<i32, m![1], m![V]>, address: u64) {
    let x = x.to_dm::<Cluster, Slice, m![V]>(&mut ctx.tdma, 0);
    let vrf = (ctx.sub.begin(x.view()).fetch::<i32, m![V / 8 = 64], m![V % 8]>())
        .collect::<m![V / 8 = 64], m![V % 8]>()
        .to_vrf::<m![V / 8 = 64, V % 8]>(address);
    assert_eq!(vrf.inspect::<m![V / 8 = 64, V % 8]>(ctx).to_buf()[511], Opt::Init(511));
}

/// E13: 8192 bytes, from address 0 to address 8192.
#[test]
fn a_vrf_ends_at_8_kib() {
    let run = |half: bool, address: u64| {
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i32, m![V]>::from_buf((0..2048).map(Opt::Init).collect());
            let x = x.to_hbm::<m![1], m![V]>(&mut ctx.pdma, 0).await;
            if half {
                try_launch(load_half_a_vrf, (&mut *ctx, &x, address)).await
            } else {
                try_launch(load_vrf, (&mut *ctx, &x, address)).await
            }
        })
    };
    run(false, 0).expect("it fits exactly");
    run(true, 6144).expect("it ends at the end");
    let refused = |fault: Fault, parts: &[&str]| {
        let text = fault.to_string();
        assert_eq!(fault.kind, FaultKind::Refused, "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(fault.location.file().ends_with("register_files.rs"), "{text}");
    };
    let end = run(false, 4).expect_err("4 bytes too many");
    refused(end, &["to_vrf", "a tensor of 8192 bytes at address 4", "has 8192 bytes", "help: use address 0"]);
    let end = run(true, 6148).expect_err("4 bytes too many");
    refused(end, &["a tensor of 2048 bytes at address 6148", "help: use address 6144"]);
    refused(run(true, 6146).expect_err("no multiple of 4"), &["6146 is no multiple of the 4 bytes of i32"]);
    refused(run(true, 8192).expect_err("outside"), &["8192 lies outside VRF of 8192 bytes"]);
}

#[test]
fn handles_to_the_vrf_fit_it() {
    #![allow(unsafe_code)] // Handles that nobody reads.
    type Whole = VrfTensor<f32, m![1], Cluster, Slice, m![V]>;
    type Quarter = VrfTensor<f32, m![1], Cluster, Slice, m![H]>;
    let _ = unsafe { (Whole::from_addr(0), Quarter::from_addr(6144)) };
    let refused = [
        (panic_message(|| unsafe { Whole::from_addr(4) }), "a tensor of 8192 bytes at address 4"),
        (panic_message(|| unsafe { Quarter::from_addr(6148) }), "a tensor of 2048 bytes at address 6148"),
        (panic_message(|| unsafe { Quarter::from_addr(2) }), "2 is no multiple of the 4 bytes of f32"),
    ];
    for (message, part) in refused {
        assert!(message.starts_with("fault: VrfTensor::from_addr: ") && message.contains(part), "{message}");
        assert!(message.contains("help: "), "{message}");
    }
}

/// A handle does not show what another tensor left; a handle from an address shows what is there.
#[test]
fn stale_content_of_the_vrf() {
    #![allow(unsafe_code)] // A handle to whatever is there.
    block_on(async {
        let mut ctx = Context::acquire();
        let (first, second) = (integers(4, 32), integers(5, 32));
        let mut loads = Vec::new();
        for (k, values) in [&first, &second].into_iter().enumerate() {
            let hbm = HostTensor::<i32, m![A, B]>::from_buf(init(values));
            let hbm = hbm.to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 0).await;
            let dm = hbm.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 0);
            let vrf = (ctx.sub.begin(dm.view()).fetch::<i32, m![A], m![B]>())
                .collect::<m![A], m![B]>()
                .to_vrf::<m![A, B]>(64 + 64 * k as u64);
            loads.push(vrf);
        }
        assert_same(&loads[1].inspect::<m![A, B]>(&ctx).to_buf(), &second);
        let message = panic_message(|| loads[0].inspect::<m![A, B]>(&ctx));
        assert!(message.starts_with("fault: inspect: stale read: "), "{message}");
        assert!(
            message.contains("lost bytes 128..192") && message.contains("VRF, bytes 128..192 of"),
            "{message}"
        );
        let there = unsafe { VrfTensor::<i32, m![1], Cluster, Slice, m![A, B]>::from_addr(64) };
        let found = there.inspect::<m![A, B]>(&ctx).to_buf();
        assert_same(&found[..16], &first[..16]);
        assert_same(&found[16..], &second[..16]);
    });
}

type Weights = TrfTensor<i8, m![1], Cluster, Slice, m![N], m![K]>;

/// Loads 64 bytes into each of 8 rows.
fn load_trf(
    ctx: &mut Context,
    dm: &DmTensor<i8, m![1], Cluster, Slice, m![N, K]>,
    address: TrfAddress,
) -> Weights {
    (ctx.sub.begin(dm.view()).fetch::<i8, m![N], m![K]>())
        .collect::<m![N, K / 32], m![K % 32]>()
        .to_trf::<m![N], m![K]>(address)
}

/// Loads two tensors and looks at one of them.
fn two_loads(first: TrfAddress, second: TrfAddress, look_at_second: bool) -> Result<(), Fault> {
    #[device(chip = 1)]
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![N, K]>,
        y: &HbmTensor<i8, m![1], m![N, K]>,
        parts: (u8, u8),
        look_at_second: bool,
    ) {
        let part = |k: u8| [TrfAddress::FirstHalf, TrfAddress::SecondHalf, TrfAddress::Full][usize::from(k)];
        let a = x.to_dm::<Cluster, Slice, m![N, K]>(&mut ctx.tdma, 0);
        let b = y.to_dm::<Cluster, Slice, m![N, K]>(&mut ctx.tdma, 512);
        let first = load_trf(ctx, &a, part(parts.0));
        let second = load_trf(ctx, &b, part(parts.1));
        let (seen, seed) = if look_at_second { (second, 7) } else { (first, 6) };
        assert_same(&seen.view().inspect::<m![N, K]>(ctx).to_buf(), &numbers::<i8>(seed, 512));
    }
    let number = |part| match part {
        TrfAddress::FirstHalf => 0,
        TrfAddress::SecondHalf => 1,
        TrfAddress::Full => 2,
    };
    block_on(async {
        let mut ctx = Context::acquire();
        let mut inputs = Vec::new();
        for seed in [6, 7] {
            let host = HostTensor::<i8, m![N, K]>::from_buf(init(&numbers::<i8>(seed, 512)));
            inputs.push(host.to_hbm::<m![1], m![N, K]>(&mut ctx.pdma, 1024 * u64::from(seed)).await);
        }
        let parts = (number(first), number(second));
        try_launch(kernel, (&mut *ctx, &inputs[0], &inputs[1], parts, look_at_second)).await
    })
}

/// E38, in program order: halves do not disturb each other; each of them and the whole do.
#[test]
fn halves_of_the_trf_and_the_whole() {
    use TrfAddress::{FirstHalf, Full, SecondHalf};
    for first in [FirstHalf, SecondHalf, Full] {
        for second in [FirstHalf, SecondHalf, Full] {
            two_loads(first, second, true).expect("the later load is there");
            let found = two_loads(first, second, false);
            // 64 bytes per row, from the start of the part: the second half starts behind what `Full` takes of it.
            let apart = (first == SecondHalf) != (second == SecondHalf);
            if apart {
                found.expect("the earlier load is still there");
                continue;
            }
            let fault = found.expect_err("the earlier load is gone");
            assert_eq!(fault.kind, FaultKind::StaleRead, "{fault}");
            let text = fault.to_string();
            assert!(text.contains(&format!("in {first} that is read here")), "{text}");
            assert!(text.contains(&format!("in {second} that was loaded over them")), "{text}");
            assert!(text.contains("load the other tensor into the half"), "{text}");
            assert_eq!(fault.places.len(), 2, "{text}");
            assert!(fault.places.iter().all(|place| place.location.file().ends_with("register_files.rs")));
            let extent = fault.extent.expect("it is somewhere");
            let start = if first == SecondHalf { 4096 } else { 0 };
            assert_eq!((extent.memory, extent.unit, extent.bytes), (MemoryKind::Trf, 0, start..start + 64));
        }
    }
}

/// The layout of a tensor that a kernel holds, and the elements at the places that it names.
#[test]
fn a_trf_tensor_shows_its_layout_and_content() {
    block_on(async {
        let mut ctx = Context::acquire();
        let x: Vec<bf16> = numbers(8, 4096);
        let host = HostTensor::<bf16, m![A, V / 2]>::from_buf(init(&x));
        let hbm = host.to_hbm::<m![1], m![A, V / 2]>(&mut ctx.pdma, 0).await;
        let dm = hbm.to_dm::<Cluster, Slice, m![A, V / 2]>(&mut ctx.tdma, 0);
        let mut trf = (ctx.sub.begin(dm.view()).fetch::<bf16, m![A], m![V / 2]>())
            .collect::<m![A, V / 32], m![V / 2 % 16]>()
            .to_trf::<m![A], m![V / 2]>(TrfAddress::SecondHalf);
        assert_same(&trf.inspect::<m![A, V / 2]>(&ctx).to_buf(), &x);
        // Elements of a row of 2048 bytes lie in 32 rows of one bank.
        let layout = trf.layout().expect("bf16 has a storage");
        assert_eq!((layout.rows(), layout.banks_per_row(), layout.row_elements()), (4, 2, 4096));
        assert_eq!(layout.cell(3, 1023), Some(TrfCell { bank_row: 6, row: 95, column: 1, slot: 60 }));
        assert_eq!(trf.view_mut().address(), TrfAddress::SecondHalf);
        let view: TrfTensorView<'_, _, _, _, _, _, _> = trf.view_mut().into();
        assert_eq!(view.clone().inspect::<m![V / 2, A]>(&ctx).to_buf()[1], Opt::Init(x[1024]));
    });
}

/// Rows over slices, types that the multipliers do not take, and 4-bit elements.
#[test]
fn any_scalar_goes_to_the_trf() {
    block_on(async {
        let mut ctx = Context::acquire();
        let x: Vec<i4> = numbers(9, 256 * 128);
        let host = HostTensor::<i4, m![S, N / 4, K]>::from_buf(init(&x));
        let hbm = host.to_hbm::<m![1], m![S, N / 4, K]>(&mut ctx.pdma, 0).await;
        let dm = hbm.to_dm::<Cluster, m![S], m![N / 4, K]>(&mut ctx.tdma, 0);
        let trf = (ctx.sub.begin(dm.view()).fetch::<i4, m![N / 4], m![K]>())
            .collect::<m![N / 4], m![K]>()
            .to_trf::<m![N / 4], m![K]>(TrfAddress::Full);
        assert_same(&trf.inspect::<m![S, N / 4, K]>(&ctx).to_buf(), &x);
        let f: Vec<f32> = (0..32).map(|k| k as f32).collect();
        let host = HostTensor::<f32, m![A, B]>::from_buf(init(&f));
        let hbm = host.to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 1 << 20).await;
        let dm = hbm.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 64);
        let trf = (ctx.main.begin(dm.view()).fetch::<f32, m![A], m![B]>())
            .collect::<m![A], m![B]>()
            .to_trf::<m![A / 2], m![A % 2, B]>(TrfAddress::FirstHalf);
        assert_same(&trf.inspect::<m![A, B]>(&ctx).to_buf(), &f);
        assert_eq!(trf.layout(), None, "no storage of 32-bit types is documented");
    });
}
