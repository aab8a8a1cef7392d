//! Lower bounds of kernels and of the products that they compute, beside the cycles that they take.

use furiosa_visa_std::clock::bound::{Limit, Product, ProductAxis, check, problem};
use furiosa_visa_std::clock::{Model, Profile};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType::{Bf16, F32};

axes![M = 256, N = 8, K = 1024];

/// `c[m, n] = Σ a[m, k] · b[n, k]`: slice `m` computes row `m`.
#[device(chip = 1)]
fn multiplied(
    ctx: &mut Context,
    a: &HbmTensor<bf16, m![1], m![M, K]>,
    b: &HbmTensor<bf16, m![1], m![N, K]>,
) -> HbmTensor<f32, m![1], m![M, N]> {
    let a = a.to_dm::<super::Cluster, m![M], m![K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<super::Cluster, m![M], m![N, K]>(&mut ctx.tdma, 4096);
    let weights = ctx
        .sub
        .begin(b.view())
        .fetch::<bf16, m![N], m![K]>()
        .collect::<m![N, K / 16], m![K % 16]>()
        .to_trf::<m![N], m![K]>(TrfAddress::Full);
    let c = ctx
        .main
        .begin(a.view())
        .fetch::<bf16, m![1], m![K]>()
        .collect::<m![K / 16], m![K % 16]>()
        .align::<m![K / 32], m![K % 32], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![N]>(32768);
    c.to_hbm(&mut ctx.tdma, 1 << 30)
}

/// No mapping of the product is faster than its bound, no order of the commands than theirs, and the clock is slower
/// than both.
#[test]
fn bounds_are_in_the_order_of_what_they_know() {
    for profile in Profile::ALL {
        let mut ctx = Context::with(SimOptions { profile, ..SimOptions::default() });
        let a = HostTensor::<bf16, m![M, K]>::zero();
        let b = HostTensor::<bf16, m![N, K]>::zero();
        let a = pollster::block_on(a.to_hbm(&mut ctx.pdma, 0));
        let b = pollster::block_on(b.to_hbm(&mut ctx.pdma, 1 << 20));
        let _ = pollster::block_on(launch(multiplied, (&mut *ctx, &a, &b)));
        let report = ctx.report();
        let kernel = report.kernels[0];
        let axes = vec![ProductAxis::of_first(256), ProductAxis::of_second(8), ProductAxis::summed(1024)];
        let of = Product { axes, first: Bf16, second: Bf16, result: F32, chips: 1 };
        let whole = problem(&of, Model::new(profile));
        // 256 x 1024 and 8 x 1024 elements of 2 bytes, 256 x 8 of 4, and starts of a load and a store.
        let bytes = 2 * (256 + 8) * 1024 + 4 * 256 * 8;
        assert!(whole.of(Limit::Hbm) >= 1000 + bytes / 1536, "{profile}: {whole:?}");
        for limit in [Limit::Multipliers, Limit::Hbm, Limit::DmaEngine] {
            assert!(whole.of(limit) <= kernel.bounds.of(Limit::DmaQueue), "{profile}, {limit}: {kernel:?}");
        }
        assert_eq!(check(&kernel), Ok(()));
        // The longer load, that of the register file, the pass and the store wait for each other.
        let cycles = |name: &str| -> u64 {
            let own = report.records.iter().filter(|record| record.operation.starts_with(name));
            own.map(|record| record.timing.cycles()).max().expect("it ran")
        };
        let chain = cycles("to_dm") + cycles("to_trf") + cycles("commit") + cycles("to_hbm");
        assert_eq!(kernel.bounds.of(Limit::Dependences), chain, "{profile}: {report}");
        // 32 packets for 8 rows in half of the slices take 16 cycles of all multipliers, and all but the pass is around.
        let around = chain - cycles("commit");
        assert_eq!(kernel.bounds.of(Limit::Multipliers), around + 16, "{profile}: {report}");
        let (least, limit) = report.headline().least.expect("a kernel ran");
        assert_eq!((least, limit), (kernel.bounds.cycles(), kernel.bounds.held_by()));
    }
}
