//! `bhd,bhsd->bhs; bias:S, scale=0.125, softmax:s; bhs,bhsd->bhd` of bf16 with B = 64, H = 8, S = 64, D = 64, in 19741 cycles.
//!
//! Made by this command, but for `pub`, for the axes, which are those of the example, and for the format of lines:
//!
//! ```text
//! visa plan --chain 'bhd,bhsd->bhs; bias, scale=0.125, softmax; bhs,bhsd->bhd' \
//!     --axes B=64,H=8,S=64,D=64 --dtype bf16 --out bf16 --emit tests
//! ```
//!
//! Results between contractions:
//!
//! * `bhs` goes from DM to DM by softmax: 1370 cycles as a kernel of its own

use super::{B, D, H, S};
use furiosa_visa_std::prelude::*;

/// `bhd,bhsd->bhs`, from HBM to DM.
pub mod first {
    use super::*;

    pub type HbmX = HbmTensor<bf16, m![1], m![B, H, D]>;
    pub type HbmW = HbmTensor<bf16, m![1], m![B, H, S, D]>;
    pub type HbmBias = HbmTensor<f32, m![1], m![S]>;

    pub type Cluster = m![B / 32];
    /// Where products are made.
    pub type Slice = m![B % 32, H];
    /// A tile of `x` in DM.
    pub type Stream = DmTensor<bf16, m![1], Cluster, m![B % 32, H], m![D]>;
    /// A block of `w` in DM.
    pub type Block = DmTensor<bf16, m![1], Cluster, m![B % 32, H], m![S, D]>;
    /// A block of `w` in the register file.
    pub type Weights = TrfTensor<bf16, m![1], Cluster, Slice, m![S % 8], m![S / 8, D]>;
    /// The bias in DM.
    pub type WholeBias = DmTensor<f32, m![1], Cluster, Slice, m![S / 8, S % 8]>;
    /// The bias in the vector register file.
    pub type Bias = VrfTensor<f32, m![1], Cluster, Slice, m![S / 8, S % 8]>;
    /// All sums in DM, where they stay.
    pub type Kept = DmTensor<f32, m![1], Cluster, Slice, m![S]>;

    /// Brings a tile of `x` to DM.
    fn bring_stream(ctx: &mut Context, x: &HbmX, _tile: usize) -> Stream {
        let x = x.view();
        x.to_dm(&mut ctx.tdma, 0)
    }

    /// Brings the block of `w` of a step to DM.
    fn bring_block(ctx: &mut Context, w: &HbmW, _step: usize) -> Block {
        let w = w.view();
        w.to_dm(&mut ctx.tdma, 256)
    }

    /// Brings the bias to the slices that add it.
    fn bring_bias(ctx: &mut Context, b: &HbmBias) -> WholeBias {
        b.to_dm(&mut ctx.tdma, 8448)
    }

    /// Loads the bias to the vector register file.
    fn load_bias(ctx: &mut Context, bias: &WholeBias) -> Bias {
        (ctx.sub.begin(bias.view()))
            .fetch::<f32, m![S / 8], m![S % 8]>()
            .collect::<m![S / 8], m![S % 8]>()
            .to_vrf(0)
    }

    /// Loads a block to the register file.
    fn load(ctx: &mut Context, block: &Block, _step: usize) -> Weights {
        (ctx.sub.begin(block.view()))
            .fetch::<bf16, m![S % 8, S / 8], m![D]>()
            .collect::<m![S % 8, S / 8, D / 16], m![D % 16]>()
            .to_trf(TrfAddress::FirstHalf)
    }

    /// Multiplies a tile with a block.
    fn multiply(
        ctx: &mut Context,
        stream: &Stream,
        weights: &Weights,
        bias: &Bias,
        y: &mut Kept,
        _step: usize,
    ) {
        let y = y.view_mut();
        (ctx.main.begin(stream.view()))
            .fetch::<bf16, m![1], m![D]>()
            .collect::<m![D / 16], m![D % 16]>()
            .align::<m![D / 32, S / 8], m![D % 32], _, _>(weights)
            .contract::<m![1]>()
            .accumulate::<m![S / 8], m![S % 8]>(AccumulationKind::Interleaved)
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Add, bias)
            .vector_final()
            .commit_view(y);
    }

    /// `bhd,bhsd->bhs`, a step after another.
    pub fn contraction(ctx: &mut Context, x: &HbmX, w: &HbmW, b: &HbmBias, y: &mut Kept) {
        // Weights stay in the register file.
        let block0 = bring_block(ctx, w, 0);
        let weights0 = load(ctx, &block0, 0);
        let bias = bring_bias(ctx, b);
        let bias = load_bias(ctx, &bias);
        let stream = bring_stream(ctx, x, 0);
        multiply(ctx, &stream, &weights0, &bias, y, 0);
    }
}

/// `bhs,bhsd->bhd`, from DM to HBM.
pub mod second {
    use super::*;

    pub type HbmW = HbmTensor<bf16, m![1], m![B, H, S, D]>;
    pub type HbmY = HbmTensor<bf16, m![1], m![B, H, D]>;

    pub type Cluster = m![B / 32];
    /// Where products are made.
    pub type Slice = m![B % 32, H];
    /// A tile of `w` in DM.
    pub type Stream = DmTensor<bf16, m![1], Cluster, m![B % 32, H], m![S, D]>;
    /// A block of `x` in DM.
    pub type Block = DmTensor<bf16, m![1], Cluster, m![B % 32, H], m![S]>;
    /// A block of `x` in the register file.
    pub type Weights = TrfTensor<bf16, m![1], Cluster, Slice, m![1], m![S]>;
    /// The sums of a step in DM, as they are stored.
    pub type Sums = DmTensor<bf16, m![1], Cluster, Slice, m![D]>;

    /// Brings a tile of `w` to DM.
    fn bring_stream(ctx: &mut Context, w: &HbmW, _tile: usize) -> Stream {
        let w = w.view();
        w.to_dm(&mut ctx.tdma, 8704)
    }

    /// Loads a block to the register file.
    fn load(ctx: &mut Context, block: &Block, _step: usize) -> Weights {
        (ctx.sub.begin(block.view()))
            .fetch::<bf16, m![1], m![S]>()
            .collect::<m![S / 16], m![S % 16]>()
            .to_trf(TrfAddress::FirstHalf)
    }

    /// Multiplies a tile with a block.
    fn multiply(ctx: &mut Context, stream: &Stream, weights: &Weights, _step: usize) -> Sums {
        (ctx.main.begin(stream.view()))
            .fetch::<bf16, m![D / 32, S], m![D % 32]>()
            .collect::<m![D / 32, S, D / 16 % 2], m![D % 16]>()
            .align::<m![D / 32, S], m![D % 32], _, _>(weights)
            .contract::<m![D % 32]>()
            .accumulate::<m![D / 32, D / 8 % 4], m![D % 8]>(AccumulationKind::Sequential)
            .cast::<bf16, m![D % 8 # 16]>()
            .commit(16896)
    }

    /// Stores the sums of a step.
    fn store(ctx: &mut Context, sums: &Sums, y: &mut HbmY, _step: usize) {
        sums.view().to_hbm_view(&mut ctx.tdma, y.view_mut());
    }

    /// `bhs,bhsd->bhd`, a step after another.
    pub fn contraction(ctx: &mut Context, x: Block, w: &HbmW, y: &mut HbmY) {
        // Weights stay in the register file.
        let block0 = x;
        let weights0 = load(ctx, &block0, 0);
        let stream = bring_stream(ctx, w, 0);
        let sums = multiply(ctx, &stream, &weights0, 0);
        store(ctx, &sums, y, 0);
    }
}

/// `scale=0.125, softmax:s` of `bhs`, for the second contraction: softmax.
fn first_softmax_second(ctx: &mut Context, x: first::Kept) -> second::Block {
    let greatest = (ctx.main.begin(x.view()))
        .fetch::<f32, m![S / 8], m![S % 8]>()
        .collect::<m![S / 8], m![S % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![S / 4], m![S % 4]>()
        .vector_intra_slice_reduce::<S, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Max)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .commit::<m![1 # 2]>(AUTO);
    let greatest = (ctx.sub.begin(greatest.view()).fetch::<f32, m![1], m![1 # 2]>())
        .collect::<m![1], m![1 # 8]>()
        .to_vrf::<m![1]>(0);
    let sum = (ctx.main.begin(x.view()))
        .fetch::<f32, m![S / 8], m![S % 8]>()
        .collect::<m![S / 8], m![S % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![S / 4], m![S % 4]>()
        .vector_fp_binary(FpBinaryOp::SubF, &greatest)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 0.125)
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_intra_slice_reduce::<S, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .commit::<m![1 # 2]>(AUTO);
    let sum = (ctx.sub.begin(sum.view()).fetch::<f32, m![1], m![1 # 2]>())
        .collect::<m![1], m![1 # 8]>()
        .to_vrf::<m![1]>(32);
    let y: second::Block = (ctx.main.begin(x.view()))
        .fetch::<f32, m![S / 8], m![S % 8]>()
        .collect::<m![S / 8], m![S % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![S / 4], m![S % 4]>()
        .vector_fp_binary(FpBinaryOp::SubF, &greatest)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 0.125)
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), &sum)
        .vector_concat::<m![S / 8], m![S % 8]>()
        .vector_final()
        .cast::<bf16, m![S % 8 # 16]>()
        .commit(AUTO);
    y
}

/// `bhd,bhsd->bhs; bias:S, scale=0.125, softmax:s; bhs,bhsd->bhd`.
#[device(chip = 1)]
pub fn chain(
    ctx: &mut Context,
    x1: &first::HbmX,
    w1: &first::HbmW,
    b1: &first::HbmBias,
    w2: &second::HbmW,
    y: &mut second::HbmY,
) {
    let mut y1 = first::Kept::new(ctx);
    first::contraction(ctx, x1, w1, b1, &mut y1);
    let y1 = first_softmax_second(ctx, y1);
    second::contraction(ctx, y1, w2, y);
}
