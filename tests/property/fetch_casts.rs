//! Every conversion of the fetch, on every code of its input: memory to memory, or, where memory does not hold the output,
//! through a contraction.
//!
//! The expected codes come from the formulas of `reference::numbers`. Codes of `f32` are spread over all exponents and over
//! what decides rounding; all 2^32 of them are compared in the library's unit tests (`VISA_LONG=1`).

use crate::machine::asked_path;
use crate::reference::numbers::{ElementType as Reference, Number};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::f16;
use std::panic::{AssertUnwindSafe, catch_unwind};

axes![S = 256, E = 256, N = 8];
type Cluster = m![1 # 2];

fn on_chips(chip_kind: ChipKind) -> impl std::ops::DerefMut<Target = Context> {
    Context::with(SimOptions { chip_kind, path: asked_path(), ..SimOptions::default() })
}

/// So many codes, in turn.
fn all_codes<D: Scalar>() -> Vec<u32> {
    let codes = 1u64 << D::BITS.min(32);
    (0..65_536u64).map(|k| (k % codes) as u32).collect()
}

async fn in_hbm<D: Scalar, Element: M>(ctx: &mut Context, codes: &[u32]) -> HbmTensor<D, m![1], Element> {
    let elements = codes.iter().map(|&code| Opt::Init(D::from_bits(code))).collect();
    HostTensor::<D, Element>::from_buf(elements).to_hbm(&mut ctx.pdma, 0).await
}

/// Fetches all elements in a context, commits what comes, and returns the codes.
macro_rules! fetched {
    ($context:ident, $codes:expr, $d:ty => $d2:ty, on $kind:ty, lanes $lanes:literal) => {
        pollster::block_on(async {
            let ctx = &mut *on_chips(<$kind as furiosa_visa_std::scalar::ChipType>::KIND);
            let x = in_hbm::<$d, m![S, E]>(ctx, $codes).await;
            let x = x.to_dm::<Cluster, m![S], m![E]>(&mut ctx.tdma, 0);
            let y = (ctx.$context.begin(x.view()).on::<$kind>())
                .fetch::<$d2, m![E / $lanes], m![E % $lanes]>()
                .collect::<m![E / $lanes], m![E % $lanes]>()
                .commit::<m![E]>(1 << 17);
            let y = y.to_hbm::<m![S, E]>(&mut ctx.tdma, 1 << 30);
            let y = y.to_host::<m![S, E]>(&mut ctx.pdma).await.to_buf();
            y.iter().map(|element| Scalar::to_bits(element.unwrap())).collect::<Vec<u32>>()
        })
    };
}

/// Compares a conversion in both contexts with the reference.
macro_rules! check {
    ($codes:expr, $d:ty as $from:ident => $d2:ty as $to:ident, on $kind:ty, lanes $lanes:literal) => {{
        let codes: &[u32] = $codes;
        assert_eq!(codes.len(), 65_536);
        let main = fetched!(main, codes, $d => $d2, on $kind, lanes $lanes);
        let sub = fetched!(sub, codes, $d => $d2, on $kind, lanes $lanes);
        compare(codes, &main, Reference::$from, Reference::$to);
        compare(codes, &sub, Reference::$from, Reference::$to);
    }};
}

#[track_caller]
fn compare(codes: &[u32], found: &[u32], from: Reference, to: Reference) {
    assert_eq!(codes.len(), found.len());
    for (&code, &found) in codes.iter().zip(found) {
        let expected = to.encode(from.decode(code));
        // All NaN are one; everything else has one code.
        let nan = matches!(from.decode(code), Number::Real(value) if value.is_nan());
        let same = if nan { to.decode(found) == to.decode(expected) } else { found == expected };
        assert!(same, "{from:?} {code:#x} became {to:?} {found:#x}, not {expected:#x}");
    }
}

#[test]
fn integers() {
    check!(&all_codes::<i4>(), i4 as I4 => i32 as I32, on Rngd, lanes 8);
    check!(&all_codes::<i8>(), i8 as I8 => i32 as I32, on Rngd, lanes 8);
    check!(&all_codes::<i16>(), i16 as I16 => i32 as I32, on Rngd, lanes 8);
}

#[test]
fn floats_to_f32() {
    check!(&all_codes::<f8e4m3>(), f8e4m3 as F8E4M3 => f32 as F32, on Rngd, lanes 8);
    check!(&all_codes::<f8e5m2>(), f8e5m2 as F8E5M2 => f32 as F32, on Rngd, lanes 8);
    check!(&all_codes::<bf16>(), bf16 as Bf16 => f32 as F32, on Rngd, lanes 8);
    check!(&all_codes::<f16>(), f16 as F16 => f32 as F32, on Rngd, lanes 8);
}

/// Every upper half of an `f32`, with the lower halves that decide rounding.
#[test]
fn f32_to_bf16() {
    for low in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
        let codes: Vec<u32> = (0..65_536u32).map(|high| high << 16 | low).collect();
        let found = fetched!(main, &codes, f32 => bf16, on Rngd, lanes 16);
        compare(&codes, &found, Reference::F32, Reference::Bf16);
    }
}

#[test]
fn every_type_stays_itself() {
    check!(&all_codes::<i4>(), i4 as I4 => i4 as I4, on Rngd, lanes 64);
    check!(&all_codes::<i8>(), i8 as I8 => i8 as I8, on Rngd, lanes 32);
    check!(&all_codes::<i16>(), i16 as I16 => i16 as I16, on Rngd, lanes 16);
    check!(&all_codes::<f8e4m3>(), f8e4m3 as F8E4M3 => f8e4m3 as F8E4M3, on Rngd, lanes 32);
    check!(&all_codes::<f8e5m2>(), f8e5m2 as F8E5M2 => f8e5m2 as F8E5M2, on RngdS, lanes 32);
    check!(&all_codes::<bf16>(), bf16 as Bf16 => bf16 as Bf16, on Rngd, lanes 16);
    check!(&all_codes::<f16>(), f16 as F16 => f16 as F16, on Rngd, lanes 16);
    let codes: Vec<u32> = (0..65_536u32).map(|k| k.wrapping_mul(0x0001_2345)).collect();
    check!(&codes, i32 as I32 => i32 as I32, on Rngd, lanes 8);
    check!(&codes, f32 as F32 => f32 as F32, on RngdS, lanes 8);
}

/// What RNGD-S adds, and that it has what RNGD has.
#[test]
fn conversions_of_rngd_s() {
    check!(&all_codes::<f8e4m3>(), f8e4m3 as F8E4M3 => bf16 as Bf16, on RngdS, lanes 16);
    check!(&all_codes::<f8e5m2>(), f8e5m2 as F8E5M2 => bf16 as Bf16, on RngdS, lanes 16);
    check!(&all_codes::<i8>(), i8 as I8 => i32 as I32, on RngdS, lanes 8);
    check!(&all_codes::<f16>(), f16 as F16 => f32 as F32, on RngdS, lanes 8);
}

/// A product of rows of one packet with eight rows of weights, both converted, summed by plain loops and on the chip.
macro_rules! contracted {
    ($codes:expr, $d:ty as $from:ident => $d2:ty as $to:ident, on $kind:ty, time $time:literal, packet $packet:literal, flit $flit:literal) => {{
        axes![T = $time, P = $packet];
        let codes: &[u32] = $codes;
        let weight_codes: Vec<u32> = (0..8 * $packet as u32)
            // No weight is zero, so that every element counts.
            .map(|k| (k.wrapping_mul(0x9e37_79b9) >> 7) % (1 << <$d>::BITS))
            .map(|code| if Reference::$to.encode(Reference::$from.decode(code)) == 0 { 1 } else { code })
            .collect();
        let found = pollster::block_on(async {
            let ctx = &mut *on_chips(<$kind as furiosa_visa_std::scalar::ChipType>::KIND);
            let w = in_hbm::<$d, m![N, P]>(ctx, &weight_codes).await;
            let w = w.to_dm::<Cluster, m![S], m![N, P]>(&mut ctx.tdma, 1 << 17);
            let w = (ctx.sub.begin(w.view()).on::<$kind>())
                .fetch::<$d2, m![N], m![P]>()
                .collect::<m![N, P / $flit], m![P % $flit]>()
                .to_trf::<m![N], m![P]>(TrfAddress::SecondHalf);
            let x = in_hbm::<$d, m![S, T, P]>(ctx, codes).await;
            let x = x.to_dm::<Cluster, m![S], m![T, P]>(&mut ctx.tdma, 0);
            let y = (ctx.main.begin(x.view()).on::<$kind>())
                .fetch::<$d2, m![T], m![P]>()
                .collect::<m![T, P / $flit], m![P % $flit]>()
                .align::<m![T], m![P], _, _>(&w)
                .contract::<m![1]>()
                .accumulate::<m![T], m![N]>(AccumulationKind::Interleaved)
                .commit::<m![T, N]>(1 << 18);
            let y = y.to_hbm::<m![S, T, N]>(&mut ctx.tdma, 1 << 30);
            let y = y.to_host::<m![S, T, N]>(&mut ctx.pdma).await.to_buf();
            y.into_iter().map(Opt::unwrap).collect::<Vec<i32>>()
        });
        let value = |&code: &u32| match Reference::$to.round(Reference::$from.decode(code)) {
            Number::Integer(value) => value,
            Number::Real(_) => panic!("an integer type"),
        };
        let (x, w): (Vec<i32>, Vec<i32>) =
            (codes.iter().map(value).collect(), weight_codes.iter().map(value).collect());
        let expected: Vec<i32> = x
            .chunks($packet)
            .flat_map(|x| w.chunks($packet).map(|w| x.iter().zip(w).map(|(x, w)| x * w).sum()))
            .collect();
        assert!(found == expected, "{:?} as {:?}", Reference::$from, Reference::$to);
        (x, w)
    }};
}

/// The largest and the smallest value of both operands, which tell that the types need their last bit.
fn extremes((x, w): (Vec<i32>, Vec<i32>)) -> [i32; 4] {
    let end = |values: &[i32]| (*values.iter().min().unwrap(), *values.iter().max().unwrap());
    let ((a, b), (c, d)) = (end(&x), end(&w));
    [a, b, c, d]
}

#[test]
fn types_that_only_streams_carry() {
    let sums = contracted!(&all_codes::<i4>(), i4 as I4 => i5 as I5, on Rngd, time 2, packet 128, flit 64);
    assert_eq!(extremes(sums), [-8, 7, -8, 7]);
    let sums = contracted!(&all_codes::<i8>(), i8 as I8 => i9 as I9, on Rngd, time 4, packet 64, flit 32);
    assert_eq!(extremes(sums)[..2], [-128, 127]);
    let sums = contracted!(&all_codes::<i4>(), i4 as I4 => i9 as I9, on RngdS, time 4, packet 64, flit 32);
    assert_eq!(extremes(sums)[..2], [-8, 7]);
    let sums = contracted!(&all_codes::<i16>(), i16 as I16 => i9 as I9, on RngdS, time 4, packet 64, flit 32);
    let [low, high, low_weight, high_weight] = extremes(sums);
    assert_eq!([low, high], [-256, 255]);
    assert!(low_weight < -128 && high_weight > 127, "the register file holds nine bits");
}

fn message(work: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("it is refused");
    *payload.downcast::<String>().expect("a message")
}

#[test]
fn a_stream_for_another_kind_of_chip_is_refused() {
    // SAFETY: nothing is read.
    #[allow(unsafe_code)]
    let x = unsafe { DmTensor::<i4, m![1], Cluster, m![S], m![E]>::from_addr(0) };
    let mut ctx = Context::acquire();
    let line = line!() + 2;
    let message = message(|| {
        let _ = ctx.main.begin(x.view()).on::<RngdS>();
    });
    assert!(
        message.starts_with(
            "fault: on: refused: the stream is for RNGD-S, but the chips of the system are RNGD"
        ),
        "{message}"
    );
    assert!(message.contains(&format!("fetch_casts.rs:{line}:")), "{message}");
    assert!(message.contains("chip_kind: ChipKind::RngdS"), "{message}");
    // Neighbours: programs for RNGD run on both.
    let _ = ctx.main.begin(x.view()).on::<Rngd>();
    let mut ctx = on_chips(ChipKind::RngdS);
    let _ = ctx.main.begin(x.view()).on::<Rngd>().on::<RngdS>();
    let _ = ctx.sub.begin(x.view()).on::<RngdS>();
}

/// A register file tensor of nine bits that nobody wrote is found like any other.
#[test]
fn uninitialised_weights_of_nine_bits() {
    axes![T = 4, P = 64];
    let message = message(|| {
        pollster::block_on(async {
            let ctx = &mut *Context::acquire();
            let x = in_hbm::<i8, m![S, T, P]>(ctx, &all_codes::<i8>()).await;
            let x = x.to_dm::<Cluster, m![S], m![T, P]>(&mut ctx.tdma, 0);
            // SAFETY: that nothing was written is what the test is about.
            #[allow(unsafe_code)]
            let w = unsafe { TrfTensor::<i9, _, _, _, m![N], m![P]>::from_addr(TrfAddress::Full) };
            let _ = (ctx.main.begin(x.view()).fetch::<i9, m![T], m![P]>())
                .collect::<m![T, P / 32], m![P % 32]>()
                .align::<m![T], m![P], _, _>(&w)
                .contract::<m![1]>()
                .accumulate::<m![T], m![N]>(AccumulationKind::Interleaved)
                .commit::<m![T, N]>(1 << 18);
        });
    });
    assert!(message.contains("row 0") && message.contains("never written"), "{message}");
}
