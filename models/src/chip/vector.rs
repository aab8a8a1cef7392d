//! The vector of a token: in two bf16, to all slices, and its norm.

use super::layout::*;
use crate::config::EPSILON;
use furiosa_visa_std::prelude::*;

/// The vector of the token in DM.
pub type Vector = Dm<f32, XSlice, m![X % 8]>;
/// A vector, as a view.
pub type VectorView<'l> = DmTensorView<'l, f32, m![1], Cluster, XSlice, m![X % 8]>;
/// A place for a vector.
pub type VectorViewMut<'l> = DmTensorViewMut<'l, f32, m![1], Cluster, XSlice, m![X % 8]>;
/// A vector in HBM.
pub type VectorInHbm = Hbm<f32, m![X]>;
/// A vector in two bf16.
pub type Halves = Dm<bf16, XSlice, m![H, X % 8]>;
/// A vector in the register file of every slice, in two bf16.
///
/// The tensor that it was sent from is kept: at its place, another one would have to wait until it is sent.
pub struct Gathered<Slice: M> {
    /// The register file.
    pub row: Trf<Slice, m![{ ESlice }, H, E % 8]>,
    _sent: Dm<bf16, ESlice, m![H, E % 8]>,
}

/// Brings a vector to both clusters.
#[track_caller]
pub fn to_both(ctx: &mut Context, x: &VectorInHbm) -> Vector {
    let mut both = Vector::new(ctx);
    // One by one: users report that what a single move copies to both clusters does not go around rings.
    for cluster in 0..C::SIZE {
        let mut both = both.view_mut();
        x.view().to_dm_view(&mut ctx.tdma, both.cluster_tile::<m![C], 1, m![1 # 2]>(cluster));
    }
    both
}

/// Stores a vector, from one slice: each slice of it has 32 bytes, and HBM would read, change and write 256 for them.
#[track_caller]
pub fn stored(ctx: &mut Context, x: &Vector) -> VectorInHbm {
    let x = x.view();
    let x = x.cluster_tile::<m![C], 1, m![1 # 2]>(0);
    let mut gathered = DmTensor::<f32, m![1], m![1 # 2], m![1 # 256], m![X]>::new(ctx);
    x.to_dm_view(&mut ctx.tdma, gathered.view_mut());
    gathered.to_hbm(&mut ctx.tdma, AUTO)
}

/// Bits of an f32 that a bf16 has, too.
pub(super) const UPPER: f32 = f32::from_bits(0xffff_0000);
/// The sign of an f32.
pub(super) const SIGN: f32 = f32::from_bits(0x8000_0000);

/// Makes of a stream with `H` two halves of each number, at 8 lanes: `H = 0` keeps the upper bits, `H = 1` gets what is
/// left.
macro_rules! halves {
    ($stream:expr) => {
        $stream
            .vector_init()
            .vector_intra_slice_branch(BranchMode::AxisToggle { axis: H::NAME })
            .vector_stash()
            .vector_logic(LogicBinaryOpF32::BitAnd, $crate::chip::vector::UPPER)
            .vector_logic(LogicBinaryOpF32::BitXor, ($crate::chip::vector::SIGN, GroupId::One))
            .vector_clip(ClipBinaryOpF32::Add, (Stash, GroupId::One))
            .vector_final()
    };
}
pub(super) use halves;

/// `x` in two bf16.
#[track_caller]
fn split(ctx: &mut Context, x: &Vector) -> Halves {
    let stream = (ctx.main.begin(x.view()).fetch::<f32, m![H], m![X % 8]>()).collect::<m![H], m![X % 8]>();
    halves!(stream).cast::<bf16, m![X % 8 # 16]>().commit(AUTO)
}

/// `2^16`: of the 24 bits of an f32 a bf16 keeps 8, and 16 are left.
pub(super) const REST: f32 = 65_536.0;

/// Makes of a product in a stream with `H`, at 4 lanes, the two halves of each number, without a pass of their own.
///
/// With `c = 2^16 + 1` the product `c · y` is rounded to 24 bits, so that `c · y - 2^16 · y` is `y` rounded to 8 bits; and what the
/// product lost is what `y` is more than that. Each is one rounding: that of the product.
macro_rules! halves_of_product {
    ($stream:expr) => {{
        let times = |factor, group| VeBranchOperand::group(VeRhs::constant(factor), group);
        let rest = $crate::chip::vector::REST;
        $stream
            .vector_stash()
            .vector_fp_binary(
                FpBinaryOp::MulF(FpMulAlu::Mul1),
                [times(rest + 1.0, GroupId::Zero), times(-rest - 1.0, GroupId::One)],
            )
            .vector_fp_ternary_with_mode(
                FpTernaryOp::FmaF,
                TernaryArgMode::Mode120,
                [((Stash, -rest), GroupId::Zero).into(), ((Stash, rest + 1.0), GroupId::One).into()],
            )
    }};
}
pub(super) use halves_of_product;

/// `x` times the factors of a norm, in two bf16.
#[track_caller]
fn scaled(ctx: &mut Context, x: VectorView<'_>, factors: &Vrf<XSlice, m![X % 8]>) -> Halves {
    let product = (ctx.main.begin(x).fetch::<f32, m![H], m![X % 8]>())
        .collect::<m![H], m![X % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::AxisToggle { axis: H::NAME })
        .vector_split::<m![H, X / 4 % 2], m![X % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), factors);
    halves_of_product!(product)
        .vector_concat::<m![H], m![X % 8]>()
        .vector_final()
        .cast::<bf16, m![X % 8 # 16]>()
        .commit(AUTO)
}

/// Sends the parts of a vector round all slices, into the register file of each.
#[track_caller]
fn gather<Slice: M>(ctx: &mut Context, x: Halves, half: TrfAddress) -> Gathered<Slice> {
    let sent: Dm<bf16, ESlice, m![H, E % 8]> = x.relabel();
    let row = (ctx.sub.begin(sent.view()).fetch::<bf16, m![1], m![H, E % 8]>())
        .switch_to::<Slice, ESlice>()
        .collect::<ESlice, m![H, E % 8]>()
        .to_trf(half);
    Gathered { row, _sent: sent }
}

/// The mean of a vector's squares, in every slice.
pub type Mean = Dm<f32, m![Y], m![1 # 2]>;
/// The reciprocal of a vector's norm, in every slice.
///
/// The tensor that it was loaded from is kept: at its place, another one would have to wait for the load.
pub struct Norm {
    /// `1 / √(mean of x² + ε)`.
    pub reciprocal: Vrf<m![Y], m![1]>,
    _loaded: Dm<f32, m![Y], m![1 # 2]>,
}

/// The mean of squares of a stream at 4 lanes, which is `times` as large as the vector.
macro_rules! mean_of {
    ($x:expr, $times:expr) => {
        $x.vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul0), BinaryArgMode::Mode00, 0.0)
            .vector_intra_slice_reduce::<X, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
            .vector_fp_div(
                FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01),
                $times * $times * X::SIZE as f32,
            )
            .vector_pad_way8::<m![1 # 8]>()
            .vector_inter_slice_reduce::<m![Y], m![1]>(InterSliceReduceOpF32::Add)
            .vector_final()
            .commit(AUTO)
    };
}
pub(super) use mean_of;

/// The mean of squares of a vector that `x` is `times` as large as.
#[track_caller]
pub fn mean(ctx: &mut Context, x: VectorView<'_>, times: f32) -> Mean {
    let stream = (ctx.main.begin(x).fetch::<f32, m![1], m![X % 8]>())
        .collect::<m![1], m![X % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![X / 4 % 2], m![X % 4]>();
    mean_of!(stream, times)
}

/// The norm of a vector with this mean of squares.
#[track_caller]
pub fn norm(ctx: &mut Context, mean: &Mean) -> Norm {
    let loaded: Dm<f32, m![Y], m![1 # 2]> = (ctx.main.begin(mean.view()).fetch::<f32, m![1], m![1 # 2]>())
        .collect::<m![1], m![1 # 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![1 # 4]>()
        .vector_fp_binary(FpBinaryOp::AddF, EPSILON)
        .vector_fp_unary(FpUnaryOp::Sqrt)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode10), 1.0)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .commit(AUTO);
    let stream = ctx.sub.begin(loaded.view()).fetch::<f32, m![1], m![1 # 2]>().collect::<m![1], m![1 # 8]>();
    Norm { reciprocal: stream.to_vrf(AUTO), _loaded: loaded }
}

/// A vector, times the factors of a norm, in the register file of all slices.
#[track_caller]
pub fn scaled_row<Slice: M>(
    ctx: &mut Context,
    x: VectorView<'_>,
    factors: &Vrf<XSlice, m![X % 8]>,
) -> Gathered<Slice> {
    let halves = scaled(ctx, x, factors);
    gather(ctx, halves, TrfAddress::FirstHalf)
}

/// The same, and the norm of the vector that `x` is `times` as large as.
#[track_caller]
pub fn scaled_input<Slice: M>(
    ctx: &mut Context,
    (x, times): (VectorView<'_>, f32),
    factors: &Vrf<XSlice, m![X % 8]>,
) -> (Gathered<Slice>, Norm) {
    let row = scaled_row(ctx, x.clone(), factors);
    let mean = mean(ctx, x, times);
    (row, norm(ctx, &mean))
}

/// A vector in the register file of all slices, and its norm. Weights have the factors of the norm.
#[track_caller]
pub fn input<Slice: M>(ctx: &mut Context, x: &Vector) -> (Gathered<Slice>, Norm) {
    let halves = split(ctx, x);
    let row = gather(ctx, halves, TrfAddress::FirstHalf);
    let mean = mean(ctx, x.view(), 1.0);
    (row, norm(ctx, &mean))
}

/// `x` as an operand, to be added to what a part of the layer makes of it.
#[track_caller]
pub fn operand<Slice: M>(ctx: &mut Context, x: &Dm<f32, Slice, m![X % 8]>) -> Vrf<Slice, m![X % 8]> {
    (ctx.sub.begin(x.view()).fetch::<f32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>()).to_vrf(AUTO)
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
