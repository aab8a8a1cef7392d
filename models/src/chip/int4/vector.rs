//! The vector of a token where weights do not have the factors of the norms: in pairs of slices, both of which have the same.
//!
//! Products with codes are over halves of what they sum: one in each slice of a pair, whose sum both get. So that a vector is part
//! of such a sum, both slices add it, and the sum is that of the doubled ones: see [`super::product::output`].

use super::super::feed_forward::{of_other, sum_of_both};
use super::super::layout::*;
use super::super::vector::{self, Gathered, Halves, Mean, Norm, VectorView, mean_of};
use super::vocabulary::Row;
use furiosa_visa_std::prelude::*;

/// The vector of a token, in both slices of each pair.
pub type Twice = Dm<f32, XPair, m![X % 8]>;

/// `2^16`: of the 24 bits of an f32 a bf16 keeps 8, and 16 are left.
const REST: f32 = 65_536.0;

/// A vector in the first slice of each pair.
fn first(x: &Twice) -> VectorView<'_> {
    x.view().slice_tile::<m![Q], 1, XSlice>(0)
}

/// The vector times the factors of a norm, in two bf16.
///
/// With `c = 2^16 + 1` the product `c · y` is rounded to 24 bits, so that `c · y - 2^16 · y` is `y` rounded to 8 bits; and what the
/// product lost is what `y` is more than that. Each is one rounding: that of the product.
#[track_caller]
fn scaled(ctx: &mut Context, x: VectorView<'_>, factors: &Vrf<XSlice, m![X % 8]>) -> Halves {
    let times = |factor, group| VeBranchOperand::group(VeRhs::constant(factor), group);
    (ctx.main.begin(x).fetch::<f32, m![H], m![X % 8]>())
        .collect::<m![H], m![X % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::AxisToggle { axis: H::NAME })
        .vector_split::<m![H, X / 4 % 2], m![X % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), factors)
        .vector_stash()
        .vector_fp_binary(
            FpBinaryOp::MulF(FpMulAlu::Mul1),
            [times(REST + 1.0, GroupId::Zero), times(-REST - 1.0, GroupId::One)],
        )
        .vector_fp_ternary_with_mode(
            FpTernaryOp::FmaF,
            TernaryArgMode::Mode120,
            [((Stash, -REST), GroupId::Zero).into(), ((Stash, REST + 1.0), GroupId::One).into()],
        )
        .vector_concat::<m![H], m![X % 8]>()
        .vector_final()
        .cast::<bf16, m![X % 8 # 16]>()
        .commit(AUTO)
}

/// A vector, times the factors of a norm, in the register file of all slices.
#[track_caller]
pub fn row<Slice: M>(ctx: &mut Context, x: &Twice, factors: &Vrf<XSlice, m![X % 8]>) -> Gathered<Slice> {
    let halves = scaled(ctx, first(x), factors);
    vector::gather(ctx, halves, TrfAddress::FirstHalf)
}

/// The same, and the norm of the vector that `x` is `times` as large as.
#[track_caller]
pub fn input<Slice: M>(
    ctx: &mut Context,
    (x, times): (&Twice, f32),
    factors: &Vrf<XSlice, m![X % 8]>,
) -> (Gathered<Slice>, Norm) {
    let row = row(ctx, x, factors);
    let mean = vector::mean(ctx, first(x), times);
    (row, vector::norm(ctx, &mean))
}

/// A vector that is the sum of what both clusters have, over [`Parts::TIMES`].
///
/// A product with a sum is the sum of the products: queries, keys and values begin with the part of their own cluster, while
/// that of the other one is brought.
pub struct Parts {
    /// The part of each cluster.
    pub own: Twice,
    /// The part of the other cluster, if it has another one.
    other: Option<Twice>,
    /// At its place, what comes next would have to wait until it is used.
    _row: Option<Row>,
}

impl Parts {
    /// Factor between the sum of the parts and the vector.
    pub const TIMES: f32 = 8.0;

    /// A token's row, of which each cluster has the same part.
    pub fn of_row((own, row): (Twice, Row)) -> Self {
        Self { own, other: None, _row: Some(row) }
    }

    /// The parts of both clusters.
    #[track_caller]
    pub fn exchanged(ctx: &mut Context, own: Twice) -> Self {
        let other = Some(of_other(ctx, &own));
        Self { own, other, _row: None }
    }

    fn other(&self) -> &Twice {
        self.other.as_ref().unwrap_or(&self.own)
    }

    /// The sums of the other cluster, if its part is another one.
    #[track_caller]
    pub fn exchanged_sums<Slice: M, Element: M>(
        &self,
        ctx: &mut Context,
        sums: &Dm<f32, Slice, Element>,
    ) -> Option<Dm<f32, Slice, Element>> {
        self.other.is_some().then(|| of_other(ctx, sums))
    }

    /// The vector.
    #[track_caller]
    pub fn sum(&self, ctx: &mut Context) -> Twice {
        sum_of_both!(ctx, self.own, self.other(), times 1.0 / Self::TIMES).vector_final().commit(AUTO)
    }

    /// The mean of the vector's squares.
    #[track_caller]
    pub fn mean(&self, ctx: &mut Context) -> Mean {
        let stream = (ctx.main.begin_interleaved::<I, _, _, _, _, _>(first(&self.own), first(self.other())))
            .fetch::<f32, m![I], m![X % 8]>()
            .collect::<m![I], m![X % 8]>()
            .vector_init()
            .vector_intra_slice_unzip::<I, m![1 # 2], m![1]>()
            .vector_split::<m![X / 4 % 2], m![X % 4]>()
            .vector_fp_zip(FpBinaryOp::AddF);
        mean_of!(stream, Self::TIMES)
    }
}

#[cfg(test)]
mod tests {
    use super::REST;
    use half::bf16;

    /// The two numbers that the pass makes of one.
    fn split(y: f32) -> (f32, f32) {
        let product = (REST + 1.0) * y;
        ((-REST).mul_add(y, product), (REST + 1.0).mul_add(y, -product))
    }

    #[test]
    fn two_numbers_are_one_and_the_first_is_a_bf16() {
        // All numbers between two powers of two, of both signs in turn.
        for bits in 0x3f80_0000..0x4080_0000_u32 {
            let y = f32::from_bits(bits | bits << 31);
            let (upper, rest) = split(y);
            assert_eq!((bf16::from_f32(upper).to_f32(), upper + rest), (upper, y), "{y}");
            assert!(rest.abs() <= y.abs() / 256.0, "{y}: {rest}");
        }
        assert_eq!(split(-1.7), (-split(1.7).0, -split(1.7).1));
        assert_eq!(split(0.0), (0.0, 0.0));
    }
}
