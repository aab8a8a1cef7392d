//! Bytes of its own for every tensor: what overlapping addresses change comes to light, and nothing else changes.

use crate::commands::{dma, give, hbm, moves, region};
use crate::{A, B, Cluster, DmX, Slice, X, block_on};
use furiosa_visa_std::chip::{Addresses, CheckOptions, FaultKind, SimOptions, System};
use furiosa_visa_std::command::{FillId, HostBuffer, HostTransfer, Region};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::panic::Location;

axes![C = 8];

type W = HbmTensor<i8, m![1], m![C, B]>;
type Weights = TrfTensor<i8, m![1], Cluster, Slice, m![C], m![B]>;
type Sums = HbmTensor<i32, m![1], m![A, C]>;

fn weights(ctx: &mut Context, w: &W, at: u64, part: TrfAddress) -> Weights {
    let w = w.to_dm::<Cluster, Slice, m![C, B]>(&mut ctx.tdma, at);
    let stream = ctx.sub.begin(w.view()).fetch::<i8, m![C], m![B]>();
    stream.collect::<m![C, B / 32], m![B % 32]>().to_trf(part)
}

/// `x * w`. At `[x, w, other x, other w, sums]` in DM; the other weights are loaded into a part of the TRF in between.
fn product(ctx: &mut Context, (x, w): (&X, &W), (y, v): (&X, &W), at: [u64; 5], part: TrfAddress) -> Sums {
    let rows: DmX = x.to_dm(&mut ctx.tdma, at[0]);
    let own = weights(ctx, w, at[1], TrfAddress::FirstHalf);
    let _: DmX = y.to_dm(&mut ctx.tdma, at[2]);
    weights(ctx, v, at[3], part);
    let sums: DmTensor<i32, m![1], Cluster, Slice, m![C]> =
        (ctx.main.begin(rows.view()).fetch::<i8, m![1], m![B]>())
            .collect::<m![B / 32], m![B % 32]>()
            .align::<m![1], m![B], _, _>(&own)
            .contract::<m![1]>()
            .accumulate::<m![1], m![C]>(AccumulationKind::Interleaved)
            .commit(at[4]);
    sums.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[device(chip = 1)]
fn apart(ctx: &mut Context, x: &X, w: &W, y: &X, v: &W) -> Sums {
    product(ctx, (x, w), (y, v), [0, 1024, 2048, 4096, 8192], TrfAddress::SecondHalf)
}

#[device(chip = 1)]
fn overlapping_in_dm(ctx: &mut Context, x: &X, w: &W, y: &X, v: &W) -> Sums {
    product(ctx, (x, w), (y, v), [0, 1024, 40, 4096, 8192], TrfAddress::SecondHalf)
}

#[device(chip = 1)]
fn overlapping_in_the_trf(ctx: &mut Context, x: &X, w: &W, y: &X, v: &W) -> Sums {
    product(ctx, (x, w), (y, v), [0, 1024, 2048, 4096, 8192], TrfAddress::Full)
}

#[device(chip = 1)]
fn overlapping_in_hbm(ctx: &mut Context, x: &X, w: &W, y: &X, v: &W) -> Sums {
    let copy: X = x.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, 1 << 24);
    y.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, (1 << 24) - 250);
    product(ctx, (&copy, w), (y, v), [0, 1024, 2048, 4096, 8192], TrfAddress::SecondHalf)
}

/// All tensors at address 0: the commit writes over what its own stream fetches, if it is the same bytes.
#[device(chip = 1)]
fn all_at_0(ctx: &mut Context, x: &X, w: &W, y: &X, v: &W) -> Sums {
    product(ctx, (x, w), (y, v), [0; 5], TrfAddress::FirstHalf)
}

struct Outcome {
    values: Result<Vec<Opt<i32>>, FaultKind>,
    /// What the products are.
    expected: Vec<Opt<i32>>,
    cycles: Vec<(u64, u64)>,
}

fn run<K>(checks: CheckOptions, addresses: Addresses, kernel: K, seed: u64) -> Outcome
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a W, &'a X, &'a W), Output = Sums>,
{
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut numbers = |count: usize| -> Vec<i8> { (0..count).map(|_| rng.random()).collect() };
    let [x, w, y, v] = [256, 512, 256, 512].map(&mut numbers);
    let dot = |a: usize, c: usize| (0..64).map(|b| i32::from(x[a * 64 + b]) * i32::from(w[c * 64 + b])).sum();
    let expected = (0..32).map(|k| Opt::Init(dot(k / 8, k % 8))).collect();
    let init = |values: &[i8]| values.iter().map(|&value| Opt::Init(value)).collect::<Vec<_>>();
    let rows = |values: &[i8]| HostTensor::<i8, m![A, B]>::from_buf(init(values));
    let columns = |values: &[i8]| HostTensor::<i8, m![C, B]>::from_buf(init(values));
    let mut ctx = Context::with(SimOptions { checks, addresses, ..SimOptions::default() });
    let values = block_on(async {
        let x: X = rows(&x).to_hbm(&mut ctx.pdma, 0).await;
        let w: W = columns(&w).to_hbm(&mut ctx.pdma, 4096).await;
        let y: X = rows(&y).to_hbm(&mut ctx.pdma, 8192).await;
        let v: W = columns(&v).to_hbm(&mut ctx.pdma, 12288).await;
        match try_launch(kernel, (&mut *ctx, &x, &w, &y, &v)).await {
            Err(fault) => Err(fault.kind),
            Ok(sums) => Ok(sums.to_host::<m![A, C]>(&mut ctx.pdma).await.to_buf()),
        }
    });
    let cycles = ctx.report().records.iter().map(|record| (record.start, record.end)).collect();
    Outcome { values, expected, cycles }
}

/// A correct kernel gives the same values at the same time in both.
#[test]
fn correct_kernels_do_not_change() {
    for seed in 0..3 {
        let given = run(CheckOptions::ALL, Addresses::AsGiven, apart, seed);
        let own = run(CheckOptions::ALL, Addresses::Separate, apart, seed);
        assert_eq!(given.values, Ok(given.expected), "seed {seed}");
        assert_eq!(own.values, Ok(own.expected), "seed {seed}");
        assert_eq!(given.cycles, own.cycles, "seed {seed}");
    }
}

/// Overlapping addresses: a fault with checks, wrong values without, the right values where every tensor has its bytes.
#[test]
fn overlapping_tensors() {
    fn control<K>(name: &str, kernel: K, kind: FaultKind)
    where
        K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a W, &'a X, &'a W), Output = Sums> + Copy,
    {
        let checked = run(CheckOptions::ALL, Addresses::AsGiven, kernel, 7);
        assert_eq!(checked.values, Err(kind), "{name}");
        let given = run(CheckOptions::NONE, Addresses::AsGiven, kernel, 7);
        assert_ne!(given.values.expect("nothing is checked"), given.expected, "{name}");
        for checks in [CheckOptions::ALL, CheckOptions::NONE] {
            let own = run(checks, Addresses::Separate, kernel, 7);
            assert_eq!(own.values, Ok(own.expected), "{name}");
            // Time is that of the given addresses: hazards and all.
            if checks == CheckOptions::NONE {
                assert_eq!(own.cycles, given.cycles, "{name}");
            }
        }
    }
    control("in DM", overlapping_in_dm, FaultKind::StaleRead);
    control("in the TRF", overlapping_in_the_trf, FaultKind::StaleRead);
    control("in HBM", overlapping_in_hbm, FaultKind::StaleRead);
    control("everything", all_at_0, FaultKind::StaleRead);
}

type Vector = VrfTensor<i32, m![1], Cluster, Slice, m![B]>;

/// Loads both into the VRF, at 0 and at `$at`, and looks at the first one.
macro_rules! vectors {
    ($name:ident, $at:literal) => {
        #[device(chip = 1)]
        fn $name(ctx: &mut Context, x: &X, y: &X) -> [i32; 256] {
            let tensors: [DmX; 2] = [x.to_dm(&mut ctx.tdma, 0), y.to_dm(&mut ctx.tdma, 64)];
            let [first, _]: [Vector; 2] = core::array::from_fn(|k| {
                let stream = ctx.sub.begin(tensors[k].view()).fetch::<i32, m![B / 8], m![B % 8]>();
                stream.collect::<m![B / 8], m![B % 8]>().to_vrf([0, $at][k])
            });
            let found = first.inspect::<m![A, B]>(ctx).to_buf();
            core::array::from_fn(|k| match found[k] {
                Opt::Init(number) => number,
                Opt::Uninit => i32::MIN,
            })
        }
    };
}
vectors!(beside_in_the_vrf, 256);
vectors!(overlapping_in_the_vrf, 252);

/// What a kernel sees of numbers in the VRF, and the numbers.
fn seen<K>(
    checks: CheckOptions,
    addresses: Addresses,
    kernel: K,
) -> (Result<[i32; 256], FaultKind>, [i32; 256])
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a X), Output = [i32; 256]>,
{
    let number = |k: usize| (k * 7 % 251) as i8;
    let mut ctx = Context::with(SimOptions { checks, addresses, ..SimOptions::default() });
    let found = block_on(async {
        let x = HostTensor::<i8, m![A, B]>::from_buf((0..256).map(|k| Opt::Init(number(k))).collect());
        let y = HostTensor::<i8, m![A, B]>::from_buf(vec![Opt::Init(0i8); 256]);
        let x: X = x.to_hbm(&mut ctx.pdma, 0).await;
        let y: X = y.to_hbm(&mut ctx.pdma, 4096).await;
        try_launch(kernel, (&mut *ctx, &x, &y)).await
    });
    let expected = core::array::from_fn(|k| i32::from(number(k)));
    (found.map_err(|fault| fault.kind), expected)
}

#[test]
fn tensors_in_the_vrf() {
    for checks in [CheckOptions::ALL, CheckOptions::NONE] {
        for addresses in [Addresses::AsGiven, Addresses::Separate] {
            let (found, expected) = seen(checks, addresses, beside_in_the_vrf);
            assert_eq!(found, Ok(expected), "beside, {addresses}, {checks:?}");
        }
        let (found, expected) = seen(checks, Addresses::Separate, overlapping_in_the_vrf);
        assert_eq!(found, Ok(expected), "{checks:?}");
    }
    let (found, _) = seen(CheckOptions::ALL, Addresses::AsGiven, overlapping_in_the_vrf);
    assert_eq!(found, Err(FaultKind::StaleRead));
    let (found, expected) = seen(CheckOptions::NONE, Addresses::AsGiven, overlapping_in_the_vrf);
    assert_ne!(found.expect("nothing is checked"), expected);
}

#[device(chip = 1)]
#[allow(unsafe_code)] // What a bare address means here is the question.
fn from_a_bare_address(ctx: &mut Context, x: &X, _: &X) -> X {
    let _: DmX = x.to_dm(&mut ctx.tdma, 0);
    let found = unsafe { DmX::from_addr(0) };
    found.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[device(chip = 1)]
#[allow(unsafe_code)] // As above.
fn written_at_a_bare_address(ctx: &mut Context, x: &X, y: &X) -> X {
    let mut own = unsafe { DmX::from_addr(0) };
    x.view().to_dm_view(&mut ctx.tdma, own.view_mut());
    let _: DmX = y.to_dm(&mut ctx.tdma, 0);
    own.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[device(chip = 1)]
fn views_write_into_their_tensor(ctx: &mut Context, x: &X, y: &X) -> X {
    let from: DmX = x.to_dm(&mut ctx.tdma, 0);
    let mut to: DmX = y.to_dm(&mut ctx.tdma, 64);
    let stream = ctx.main.begin(from.view()).fetch::<i8, m![1], m![B]>().collect::<m![B / 32], m![B % 32]>();
    stream.commit_view(to.view_mut());
    let mut out: X = y.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, 1 << 20);
    to.view().to_hbm_view(&mut ctx.tdma, out.view_mut());
    out
}

fn copied<K>(addresses: Addresses, kernel: K) -> (Vec<Opt<i8>>, Vec<Opt<i8>>)
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a X), Output = X>,
{
    let x: Vec<Opt<i8>> = (0..256).map(|k| Opt::Init((k * 7 % 251) as u8 as i8)).collect();
    let y = vec![Opt::Init(0i8); 256];
    let checks = CheckOptions { order: false, ..CheckOptions::ALL };
    let mut ctx = Context::with(SimOptions { checks, addresses, ..SimOptions::default() });
    block_on(async {
        let from = HostTensor::<i8, m![A, B]>::from_buf(x.clone());
        let other = HostTensor::<i8, m![A, B]>::from_buf(y);
        let from: X = from.to_hbm(&mut ctx.pdma, 0).await;
        let other: X = other.to_hbm(&mut ctx.pdma, 4096).await;
        let out = launch(kernel, (&mut *ctx, &from, &other)).await;
        (out.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf(), x)
    })
}

#[test]
fn handles_and_views() {
    let (found, x) = copied(Addresses::AsGiven, from_a_bare_address);
    assert_eq!(found, x);
    let (found, _) = copied(Addresses::Separate, from_a_bare_address);
    assert_eq!(found, vec![Opt::Uninit; 256], "a handle from a bare address starts uninitialised");
    let (found, x) = copied(Addresses::AsGiven, written_at_a_bare_address);
    assert_ne!(found, x, "the other tensor was written over it");
    let (found, x) = copied(Addresses::Separate, written_at_a_bare_address);
    assert_eq!(found, x);
    for addresses in [Addresses::AsGiven, Addresses::Separate] {
        let (found, x) = copied(addresses, views_write_into_their_tensor);
        assert_eq!(found, x, "{addresses}");
    }
}

/// More tensors than a slice has bytes for, all kept; and a tensor that turns out to be larger than its first view.
#[test]
fn memory_has_no_end_and_tensors_grow() {
    let (addresses, checks) = (Addresses::Separate, CheckOptions { bounds: false, ..CheckOptions::ALL });
    let mut system = System::new(SimOptions { chips: Some(1), checks, addresses, ..SimOptions::default() });
    let bytes = 128 * 1024;
    let host = |fill: u64, elements: usize| HostTransfer {
        region: Region { fill: FillId(fill), ..hbm(0, ElementType::I8, elements) },
        transfer: moves(&[(elements, 1, 1)]),
        host_elements: elements,
    };
    let here = Location::caller();
    let tensor = |fill: u64| Region { fill: FillId(fill), ..region(480 * 1024, ElementType::I8, bytes) };
    for fill in 1..=8 {
        let buffer = HostBuffer { bytes: vec![fill as u8; bytes], initialised: None };
        system.upload(&host(fill, bytes), &buffer, here).expect("HBM is there");
        let copy = dma(host(fill, bytes).region, tensor(fill + 100), &[(bytes, 1, 1)]);
        give(&mut system, copy).expect("bounds are not checked");
    }
    for fill in 1..=8 {
        let copy = dma(tensor(fill + 100), host(fill + 200, bytes).region, &[(bytes, 1, 1)]);
        give(&mut system, copy).expect("it is there");
        let back = system.download(&host(fill + 200, bytes), here).expect("it is there");
        assert!(back.initialised.is_none() && back.bytes == vec![fill as u8; bytes], "tensor {fill}");
    }
    // The first 100 bytes are known; a view of 300 keeps them.
    let buffer = HostBuffer { bytes: vec![9; 100], initialised: None };
    system.upload(&host(300, 100), &buffer, here).expect("HBM is there");
    let back = system.download(&host(300, 300), here).expect("HBM is there");
    assert_eq!(back.bytes[..100], [9; 100]);
    let flags = back.initialised.expect("the rest was never written");
    assert!((0..300).all(|k| flags[k] == (k < 100)));
}
