//! `nhw,fyx->nhwf` in windows `H+Y, W+X` of i8 with N = 512, H = W = 6, F = 8, Y = X = 3, in 5135 cycles.
//!
//! Made by this command, but for `pub` and for the format of lines:
//!
//! ```text
//! visa plan --einsum 'nhw,fyx->nhwf' --windows 'H+Y, W+X' \
//!     --axes N=512,H=6,W=6,F=8,Y=3,X=3 --dtype i8 --emit tests
//! ```

use furiosa_visa_std::prelude::*;

axes![N = 512, H = 6, W = 6, F = 8, Y = 3, X = 3, InH = 8, InW = 8];

pub type HbmX = HbmTensor<i8, m![1], m![N, InH, InW]>;
pub type HbmW = HbmTensor<i8, m![1], m![F, Y, X]>;
pub type HbmY = HbmTensor<i32, m![1], m![N, H, W, F]>;

pub type Cluster = m![N / 256];
/// Where products are made.
pub type Slice = m![N / 4 % 64 # 256];
/// A tile of `x` in DM.
pub type Stream = DmTensor<i8, m![1], Cluster, m![N / 4 % 64 # 256], m![N % 4, InH, InW]>;
/// A block of `w` in DM.
pub type Block = DmTensor<i8, m![1], Cluster, m![N / 4 % 64 # 256], m![F, Y, X]>;
/// A block of `w` in the register file.
pub type Weights = TrfTensor<i8, m![1], Cluster, Slice, m![F], m![Y, X # 32]>;
/// The sums of a step in DM, as they are stored.
pub type Sums = DmTensor<i32, m![1], Cluster, Slice, m![N % 4, H, W, F]>;

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

/// Loads a block to the register file.
fn load(ctx: &mut Context, block: &Block, _step: usize) -> Weights {
    (ctx.main.begin(block.view()))
        .fetch::<i8, m![F, Y], m![X # 32]>()
        .collect::<m![F, Y], m![X # 32]>()
        .to_trf(TrfAddress::FirstHalf)
}

/// Multiplies a tile with a block.
fn multiply(ctx: &mut Context, stream: &Stream, weights: &Weights, _step: usize) -> Sums {
    let stream = stream.view();
    let stream = stream.windows::<m![InH], m![H], m![Y], 1, 1>();
    let stream = stream.windows::<m![InW], m![W], m![X], 1, 1>();
    (ctx.main.begin(stream))
        .fetch::<i8, m![N % 4, H, Y, X], m![W # 8]>()
        .collect::<m![N % 4, H, Y, X], m![W # 8 # 32]>()
        .align::<m![N % 4, H, Y, X], m![W # 8 # 64], _, _>(weights)
        .contract::<m![W # 8]>()
        .accumulate::<m![N % 4, H, W], m![F]>(AccumulationKind::Interleaved)
        .commit(512)
}

/// Stores the sums of a step.
fn store(ctx: &mut Context, sums: &Sums, y: &mut HbmY, _step: usize) {
    sums.view().to_hbm_view(&mut ctx.tdma, y.view_mut());
}

/// `nhw,fyx->nhwf`, a step after another.
#[device(chip = 1)]
pub fn contraction(ctx: &mut Context, x: &HbmX, w: &HbmW, y: &mut HbmY) {
    // Weights stay in the register file.
    let block0 = bring_block(ctx, w, 0);
    let weights0 = load(ctx, &block0, 0);
    let stream = bring_stream(ctx, x, 0);
    let sums = multiply(ctx, &stream, &weights0, 0);
    store(ctx, &sums, y, 0);
}
