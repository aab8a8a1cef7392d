//! Problems that are refused, each with the edit.

use furiosa_visa_plan::Problem;
use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F32, I8, I16, I32};
use furiosa_visa_std::clock::Profile;
use furiosa_visa_std::clock::bound::Limit;

#[track_caller]
fn refused(einsum: &str, sizes: &str, element: ElementType, output: Option<ElementType>, message: &str) {
    let error = Problem::new(einsum, sizes, element, output).expect_err("it is wrong");
    assert_eq!(error.to_string(), message);
}

#[test]
fn what_is_no_contraction_is_refused() {
    let sizes = "M=4,N=8,K=32";
    refused(
        "mk->m",
        sizes,
        I8,
        None,
        "einsum: `mk->m` is not two operands and a result; write for example `mk,nk->mn`",
    );
    refused(
        "mK,nK->mn",
        sizes,
        I8,
        None,
        "einsum: `K` in `mK,nK->mn` is no axis; an axis is a small letter, as in `mk,nk->mn`",
    );
    refused(
        "mmk,nk->mn",
        sizes,
        I8,
        None,
        "einsum: `mmk` has the axis `m` twice; a diagonal is no contraction, so give each axis a letter of its own",
    );
    // 8 chips have 384 GiB: so many bytes are a problem, and a column more is none.
    assert!(Problem::new("mk,nk->mn", "M=1610612736,N=64,K=32", I8, None).is_ok());
    refused(
        "mk,nk->mn",
        "M=1610612736,N=65,K=32",
        I8,
        None,
        "axes: `mn` has 418759311360 bytes, but the HBM of 8 chips has 412316860416; take smaller axes",
    );
    refused(
        "bmk,bnk->bmn",
        "B=2147483648,M=2147483648,N=2147483648,K=2147483648",
        I8,
        None,
        "axes: `bmk` has 9903520314283042199192993792 bytes, but the HBM of 8 chips has 412316860416; take smaller axes",
    );
    refused("mk,nk->mn", "M=4,K=32", I8, None, "axes: the axis `n` of `mk,nk->mn` has no size; add `N=…`");
    refused(
        "mk,nk->mn",
        "M=4,N=8,K=32,Q=2",
        I8,
        None,
        "axes: `mk,nk->mn` has no axis `Q`; leave its size out",
    );
    refused(
        "mk,nk->mnq",
        "M=4,N=8,K=32,Q=2",
        I8,
        None,
        "einsum: the result has the axis `q`, which no operand has; leave it out",
    );
    refused(
        "mkq,nk->mn",
        "M=4,N=8,K=32,Q=2",
        I8,
        None,
        "einsum: only one operand has the axis `q`, and the result lacks it; sum over it before the contraction, or keep it in \
         the result",
    );
    refused(
        "mk,nk->mnk",
        sizes,
        I8,
        None,
        "einsum: `mk,nk->mnk` sums over nothing; a contraction has an axis that both operands have and the result lacks",
    );
}

/// Parts of sums are added with saturation: 2^17 products of -128 with itself leave i32, one less does not.
#[test]
fn sums_that_may_be_added_with_saturation() {
    for (element, most) in [(I8, (1 << 17) - 1), (ElementType::I4, (1 << 25) - 1)] {
        let fits = |terms: usize| {
            let sizes = format!("M=8,N=8,K={terms}");
            Problem::new("mk,nk->mn", &sizes, element, None).expect("it is a contraction").sums_fit()
        };
        assert!(fits(most) && !fits(most + 1), "{element}");
    }
    let floats = Problem::new("mk,nk->mn", "M=8,N=8,K=134217728", Bf16, None).expect("it is a contraction");
    assert!(floats.sums_fit());
}

#[test]
fn types_are_those_of_the_engines() {
    let (einsum, sizes) = ("mk,nk->mn", "M=4,N=8,K=32");
    refused(
        einsum,
        sizes,
        I16,
        None,
        "dtype: the engines do not multiply i16 from memory; take i4, i8, f8e4m3, f8e5m2 or bf16",
    );
    refused(
        einsum,
        sizes,
        I8,
        Some(F32),
        "out: sums of i8 are i32, which are not stored as f32; take i32, or an epilogue, which converts them",
    );
    refused(
        einsum,
        sizes,
        Bf16,
        Some(I32),
        "out: sums of bf16 are f32, which are not stored as i32; take f32, f8e4m3, f8e5m2, bf16 or f16, or an epilogue, which \
         converts them",
    );
    let problem = Problem::new(einsum, sizes, Bf16, Some(Bf16)).expect("it is a contraction");
    assert_eq!((problem.sum(), problem.output), (F32, Bf16));
}

/// Bounds by hand: 512 slices with 8 rows of 64 products of i8 each, and 1536 bytes of HBM per cycle, between the start of
/// a load and that of a store.
#[test]
fn bounds_of_problems() {
    let starts = 2 * 500;
    let problem = Problem::new("mk,nk->mn", "M=4096,N=4096,K=4096", I8, None).expect("it is a contraction");
    let bounds = problem.bounds(Profile::Book);
    assert_eq!(bounds.of(Limit::Multipliers), starts + 4096 * 4096 * 4096 / (512 * 8 * 64));
    assert_eq!(bounds.of(Limit::Hbm), starts + (4096 * 4096 * 2 + 4096 * 4096 * 4) / 1536);
    assert_eq!((bounds.held_by(), bounds.cycles()), (Limit::Multipliers, 263_144));
    // Half as many lanes of bf16. The batch counts for each tensor.
    let problem =
        Problem::new("bmk,bnk->bnm", "B=2,M=1,N=4096,K=4096", Bf16, None).expect("it is a contraction");
    let bounds = problem.bounds(Profile::Book);
    assert_eq!(bounds.of(Limit::Multipliers), starts + 2 * 4096 * 4096 / (512 * 8 * 32));
    assert_eq!(bounds.cycles(), starts + 2 * (4096 * 4096 * 2 + 4096 * 2 + 4096 * 4) / 1536);
}
