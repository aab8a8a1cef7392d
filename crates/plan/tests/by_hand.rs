//! Products that are written by hand in this repository: no plan of the same problem takes longer. Large ones are in the examples
//! themselves, beside the kernel by hand.

use core::time::Duration;
use furiosa_visa_plan::{Fixed, Problem, Search, search};
use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F8e4m3, I4, I8};

/// A problem, and the cycles of the kernel by hand.
struct ByHand {
    /// Where the kernel is.
    place: &'static str,
    einsum: &'static str,
    windows: &'static str,
    axes: &'static str,
    element: ElementType,
    layouts: &'static str,
    cycles: u64,
}

/// A product in the layouts of its letters.
const fn product(
    place: &'static str,
    einsum: &'static str,
    axes: &'static str,
    element: ElementType,
    cycles: u64,
) -> ByHand {
    ByHand { place, einsum, windows: "", axes, element, layouts: "", cycles }
}

const MM: &str = "mk,nk->mn";

const KERNELS: [ByHand; 15] = [
    product("examples/00_hello.rs", MM, "M=256,N=8,K=32", Bf16, 10_163),
    ByHand {
        layouts: "x: M, K # 96; w: N, K # 96; out: M, N # 16",
        ..product("examples/01_digits.rs", MM, "M=512,N=10,K=65", Bf16, 27_816)
    },
    ByHand {
        layouts: "x: M, K # 128; w: N, K # 128; out: M, N # 16",
        ..product("examples/02_quantized_fetch.rs, bf16", MM, "M=512,N=10,K=65", Bf16, 16_793)
    },
    product("examples/03_matmul_tiled.rs", "mk,bnk->bmn", "M=1024,B=8,N=16,K=1024", Bf16, 766_334),
    ByHand {
        windows: "H+Y, W+X",
        ..product("examples/08_convolution.rs", "nhw,fyx->nhwf", "N=512,H=6,W=6,F=8,Y=3,X=3", Bf16, 28_804)
    },
    product("examples/14_matmul_large.rs", MM, "M=4096,N=4096,K=4096", I8, 3_166_494),
    product("tests/kernels/clock.rs", MM, "M=512,N=8,K=64", I8, 5_138),
    product("tests/kernels/gemm.rs, bf16", MM, "M=64,N=64,K=256", Bf16, 8_778),
    product("tests/kernels/gemm.rs, i8", MM, "M=64,N=64,K=256", I8, 5_238),
    product("tests/kernels/gemm.rs, f8", MM, "M=64,N=64,K=256", F8e4m3, 5_238),
    product("tests/kernels/gemm.rs, i4", MM, "M=64,N=64,K=256", I4, 3_468),
    product("tests/kernels/hints.rs", MM, "M=512,N=512,K=512", I8, 122_864),
    product("tests/kernels/hints.rs, groups", MM, "M=16384,N=16,K=64", I8, 17_768),
    product("tests/kernels/vendor_contraction.rs", "smk,snk->smn", "S=3,M=32,N=8,K=32", Bf16, 2_351),
    ByHand {
        layouts: "out: M / 4, N / 8, M % 4, N % 8",
        ..product("tests/kernels/hints_layouts.rs", MM, "M=64,N=128,K=512", I8, 12_659)
    },
];

#[test]
fn no_plan_takes_longer_than_the_kernel_by_hand() {
    for ByHand { place, einsum, windows, axes, element, layouts, cycles } in KERNELS {
        let problem = Problem::with_windows(einsum, windows, axes, element, None, "");
        let problem = problem.unwrap_or_else(|error| panic!("{place}: {error}"));
        let problem = match layouts {
            "" => problem,
            _ => problem.with_layouts(layouts).unwrap_or_else(|error| panic!("{place}: {error}")),
        };
        // The best so far is enough.
        let outcome =
            search(&problem, &Search { limit: Some(Duration::from_millis(500)), ..Search::default() });
        let found = outcome.plans.first().map(|plan| plan.cycles);
        assert!(found.is_some_and(|found| found <= cycles), "{place}: {found:?}, by hand {cycles}");
    }
}

#[path = "../../../opt-std/examples/attention_output.rs"]
#[allow(dead_code)] // The plain kernel, the small size, and the comparison with the host.
mod attention_output;

/// Cycles of the output projection of attention by hand, which also adds a residual.
fn cycles_of_attention_output() -> u64 {
    use attention_output::full::{X, tuned};
    use furiosa_opt_std::prelude::*;
    use furiosa_opt_std::visa::chip::{Compute, SimOptions};
    let mut ctx = Context::with(SimOptions { compute: Compute::ShapesOnly, ..SimOptions::default() });
    let w = HbmTensor::<bf16, m![1], tuned::Weights>::new();
    let (x, before) = (X::new(), HbmTensor::<bf16, m![1], tuned::Outputs>::new());
    pollster::block_on(launch(tuned::attention_output, (&mut *ctx, &w, &x, &before)));
    ctx.report().kernels[0].makespan()
}

/// A plan has what the kernel by hand has: 16 slices load parts of the token for 15 groups of them, and the weights come in two
/// pieces, of which the second one is short. The layouts are those of the kernel by hand.
#[test]
fn no_plan_of_a_projection_of_one_token_takes_longer_than_by_hand() {
    let problem = Problem::new("mk,qcrk->mcrq", "M=1,C=2,R=15,Q=128,K=4096", Bf16, Some(Bf16));
    let problem = problem.unwrap_or_else(|error| panic!("{error}"));
    // As by hand: the search over all slices takes some seconds.
    let fixed = Fixed::new(&problem, Some("[R, K / 256] # 256"), None, None);
    let fixed = fixed.unwrap_or_else(|error| panic!("{error}"));
    let plan = search(&problem, &Search { fixed: Some(&fixed), ..Search::default() }).plans.remove(0);
    let by_hand = cycles_of_attention_output();
    assert!(plan.cycles <= by_hand, "{} cycles, by hand {by_hand}", plan.cycles);
    assert!(plan.choice.pieces.is_some_and(|pieces| pieces.sizes[1] < pieces.sizes[0]), "{:?}", plan.choice);
    assert_eq!(plan.choice.weights_spread.map(|spread| spread.count), Some(16));
}
