//! The vector of a token where weights do not have the factors of the norms: in pairs of slices, both of which have the same.
//!
//! Products with codes are over halves of what they sum: one in each slice of a pair, whose sum both get. So that a vector is part
//! of such a sum, both slices add it, and the sum is that of the doubled ones: see [`super::product::output`].

use super::super::feed_forward::{of_other, sum_of_both};
use super::super::layout::*;
use super::super::vector::{Mean, Vector, VectorView, mean_of};
use super::super::vocabulary::{Embedding, Row, embedded};
use furiosa_visa_std::prelude::*;

/// The vector of a token, in both slices of each pair.
pub type Twice = Dm<f32, XPair, m![X % 8]>;

/// A vector in the first slice of each pair.
pub fn first(x: &Twice) -> VectorView<'_> {
    x.view().slice_tile::<m![Q], 1, XSlice>(0)
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
    /// What it was made of. At its place, what comes next would have to wait until it is used.
    _halved: Option<Halved>,
    _entered: Option<Vector>,
}

/// The vector of a token, and zeros in the second slice of each pair: the sum is what the first one has, in both.
type Halved = Dm<f32, m![X / 72, X / 8 % 9 # 16, I], m![X % 8]>;

impl Parts {
    /// Factor between the sum of the parts and the vector.
    pub const TIMES: f32 = 8.0;

    /// A token's row, of which each cluster has the same part; and what was brought of it.
    #[track_caller]
    pub fn of_token(ctx: &mut Context, embedding: &Embedding, token: usize) -> (Self, Row) {
        let mut values = Halved::new(ctx);
        values.view_mut().memset(0.0, &mut ctx.sub);
        let first = values.view_mut().slice_tile::<m![I], 1, XSlice>(0);
        let row = embedded(ctx, embedding, token, Self::TIMES / 2.0, first);
        (Self::of_halved(ctx, values), row)
    }

    /// A vector that both clusters have, of which each has the same part.
    #[track_caller]
    pub fn of_vector(ctx: &mut Context, x: Vector) -> Self {
        let mut values = Halved::new(ctx);
        values.view_mut().memset(0.0, &mut ctx.sub);
        let first = values.view_mut().slice_tile::<m![I], 1, XSlice>(0);
        (ctx.main.begin(x.view()).fetch::<f32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![X / 4 % 2], m![X % 4]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), Self::TIMES / 2.0)
            .vector_concat::<m![1], m![X % 8]>()
            .vector_final()
            .commit_view(first);
        Self { _entered: Some(x), ..Self::of_halved(ctx, values) }
    }

    /// Parts of a vector, of which half of a cluster's part is in the first slice of each pair.
    #[track_caller]
    fn of_halved(ctx: &mut Context, values: Halved) -> Self {
        let own =
            (ctx.main.begin(values.view()).fetch::<f32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>())
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_inter_slice_reduce::<XPair, m![1]>(InterSliceReduceOpF32::Add)
                .vector_final()
                .commit(AUTO);
        Self { own, other: None, _halved: Some(values), _entered: None }
    }

    /// The parts of both clusters.
    #[track_caller]
    pub fn exchanged(ctx: &mut Context, own: Twice) -> Self {
        let other = Some(of_other(ctx, &own));
        Self { own, other, _halved: None, _entered: None }
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

    /// The vector, in both slices of each pair.
    #[track_caller]
    pub fn sum(&self, ctx: &mut Context) -> Twice {
        let (own, other) = (self.own.view(), self.other().view());
        sum_of_both!(ctx, own, other, times 1.0 / Self::TIMES).vector_final().commit(AUTO)
    }

    /// The vector.
    #[track_caller]
    pub fn vector(&self, ctx: &mut Context) -> Vector {
        let (own, other) = (first(&self.own), first(self.other()));
        sum_of_both!(ctx, own, other, times 1.0 / Self::TIMES).vector_final().commit(AUTO)
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
