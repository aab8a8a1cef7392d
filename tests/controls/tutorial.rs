//! Faults of teaching material: a GEMM whose second tensor lies inside the 128 KiB of the first, and which needs 128 KiB of
//! TRF.

use crate::{Cluster, block_on};
use furiosa_visa_std::chip::FaultKind;
use furiosa_visa_std::engine::register_file::{TrfLoadRequest, derive_trf_load};
use furiosa_visa_std::mapping::M as Mapping;
use furiosa_visa_std::prelude::*;

axes![M = 256, N = 128, K = 256];
type Whole = m![1 # 256];

/// `a` takes 128 KiB, `b` half of that; `b` is placed at 4 KiB.
#[device(chip = 1)]
fn gemm(ctx: &mut Context, a: &HbmTensor<bf16, m![1], m![M, K]>, b: &HbmTensor<bf16, m![1], m![N, K]>) {
    let a = a.to_dm::<Cluster, Whole, m![M, K]>(&mut ctx.tdma, 0); // a
    let b = b.to_dm::<Cluster, Whole, m![N, K]>(&mut ctx.tdma, 1 << 12); // b
    let weights = (ctx.sub.begin(b.view()).fetch::<bf16, m![N % 8, N / 8], m![K]>())
        .collect::<m![N % 8, N / 8, K / 16], m![K % 16]>()
        .to_trf::<m![N % 8], m![N / 8, K]>(TrfAddress::Full);
    (ctx.main.begin(a.view()).fetch::<bf16, m![M, N / 8], m![K]>())
        .collect::<m![M, N / 8, K / 16], m![K % 16]>()
        .align::<m![M, N / 8, K / 32], m![K % 32], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![M, N / 8], m![N % 8]>(AccumulationKind::Interleaved)
        .commit::<m![M, N]>(1 << 18);
}

#[test]
fn b_inside_of_a() {
    let fault = block_on(async {
        let mut ctx = Context::acquire();
        let ones = |count| vec![Opt::Init(bf16::from_f32(1.0)); count];
        let a = HostTensor::<bf16, m![M, K]>::from_buf(ones(65536)).to_hbm(&mut ctx.pdma, 0).await;
        let b = HostTensor::<bf16, m![N, K]>::from_buf(ones(32768)).to_hbm(&mut ctx.pdma, 1 << 20).await;
        try_launch(gemm, (&mut *ctx, &a, &b)).await.expect_err("a is lost")
    });
    let text = fault.to_string();
    assert_eq!(fault.kind, FaultKind::StaleRead, "{text}");
    let marks: Vec<String> = fault.places.iter().map(|place| crate::line_of(place.location)).collect();
    assert!(marks.len() == 2 && marks[0].ends_with("// a") && marks[1].ends_with("// b"), "{text}");
    for part in [
        "fetch: stale read: the tensor in DM 0..131072 that is read here lost bytes 4096..69632 to the tensor in DM \
         4096..69632 that was written over them",
        "element: i![M: 8, K: 0], position 2048 of m![M, K]",
        "help: place the two tensors at addresses that do not overlap",
    ] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

/// Where `b` is as large as `a` and all of it is to be weights, the TRF is half as large as it has to be. In a kernel, this
/// is a compile error.
#[test]
fn b_in_the_trf() {
    axes![W = 256];
    let load = |time, row_element| {
        let (row, packet) = (<m![W % 8] as Mapping>::EXPR, <m![K % 16] as Mapping>::EXPR);
        let load =
            derive_trf_load(&TrfLoadRequest { element: bf16::ELEMENT_TYPE, time, packet, row, row_element });
        load.map_err(|error| error.message().to_string())
    };
    let message = load(<m![W % 8, W / 8, K / 16] as Mapping>::EXPR, <m![W / 8, K] as Mapping>::EXPR)
        .expect_err("it is twice too large");
    let expected = "to_trf: 8 rows of 16384 bytes are 131072 bytes, but TrfAddress::Full holds 65536; help: load a \
                    smaller tile, or load several times";
    assert_eq!(message, expected);
    let half = load(<m![W % 8, W / 8 % 16, K / 16] as Mapping>::EXPR, <m![W / 8 % 16, K] as Mapping>::EXPR)
        .expect("64 KiB fit");
    assert_eq!(half.bytes, 65536);
}
