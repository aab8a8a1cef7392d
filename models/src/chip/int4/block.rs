//! Weights of 4 bits for blocks of tokens: codes come to DM, where a pass makes bf16 of them, in the slices and in the order in
//! which weights in bf16 come from HBM.
//!
//! ```text
//!   codes ──▶ · scale ──▶ + minimum ──▶ · factor of the norm ──▶ bf16
//! ```
//!
//! Scales, minima and factors are operands, in the places of what other passes of a layer take.

use super::super::block::attention::{OParts, QParts};
use super::super::block::feed_forward::{DParts, GParts};
use super::super::block::kernel::BlockNetwork;
use super::super::block::layout::*;
use super::super::block::prepare::{self, head, quartered};
use super::super::block::weights::{self, Brought};
use super::super::prepare::{row, tensor, upload};
use super::prepare::{Matrices, matrices};
use crate::config::HEAD;
use crate::matrix::BLOCK;
use crate::weights::Layer as OnHost;
use furiosa_visa_rules::spec::SLICES;
use furiosa_visa_std::prelude::*;

/// Slices of the weights of queries, keys and values.
pub type QSlice = m![D / 2 % 4, G, B, D / 16];
/// Their codes, and their runs of 16 codes with a scale and a minimum.
pub type QCodes = m![D / 8 % 2, E / 16 % 9, D % 2, E / 144, E % 16];
type QRuns = m![D / 8 % 2, E / 16 % 9, D % 2, E / 144];
/// Slices of the weights of the output of the attention.
type OSlice = m![X / 2 % 4, G = 3 # 4, B = 3 # 4, D / 16];
/// Their codes, and runs of 16.
pub type OCodes = m![X / 64, X % 2, X / 8 % 8, D % 16];
type ORuns = m![X / 64, X % 2, X / 8 % 8];
/// Slices of the weights of gate and up.
pub type GSlice = m![I, F / 12];
/// Their codes, and runs of 16.
pub type GCodes = m![F / 4 % 3, E / 16 % 9, F % 4, E / 144, E % 16];
type GRuns = m![F / 4 % 3, E / 16 % 9, F % 4, E / 144];
/// Slices of the weights of down.
pub type DSlice = m![X / 2 % 4, F / 24];
/// Their codes, and runs of 8.
pub type DCodes = m![F / 8 % 3, X / 64, X % 2, X / 8 % 8, F % 8];
type DRuns = m![F / 8 % 3, X / 64, X % 2, X / 8 % 8];

/// Factors of a norm, of which each slice has a copy.
type Factors<Slice> = Dm<f32, Slice, m![E]>;

/// Weights of a layer in HBM: codes; and a scale and a minimum for each run of codes.
pub struct Layer {
    /// Of queries, keys and values.
    pub q: (Hbm<i4, m![{ QSlice }, { QCodes }]>, Hbm<f16, m![{ QSlice }, H, { QRuns }]>),
    /// Of the output of the attention.
    pub o: (
        Hbm<i4, m![X / 2 % 4, G = 3, B = 3, D / 16, { OCodes }]>,
        Hbm<f16, m![X / 2 % 4, G = 3, B = 3, D / 16, H, { ORuns }]>,
    ),
    /// Of gate and up.
    pub g: (Hbm<i4, m![{ GSlice }, { GCodes }]>, Hbm<f16, m![{ GSlice }, H, { GRuns }]>),
    /// Of down.
    pub d: (Hbm<i4, m![{ DSlice }, { DCodes }]>, Hbm<f16, m![{ DSlice }, H, { DRuns }]>),
    /// Factors of the norm in front of the attention. Each slice has its own: engines serve copies of the same bytes one by one.
    pub attention_norm: Hbm<f32, m![{ QSlice }, E]>,
    /// Factors of the norm in front of gate and up.
    pub gate_norm: Hbm<f32, m![{ GSlice }, E]>,
}

/// Codes in DM, with scales, minima and factors of a norm.
pub struct CodesInDm<Slice: M, Codes: M, Runs: M, Norm> {
    codes: Dm<i4, Slice, Codes>,
    scales: Dm<f16, Slice, m![H, { Runs }]>,
    factors: Norm,
}

/// Operands of the pass that makes weights.
pub struct Operands<Slice: M, Runs: M, Norm> {
    scales: Vrf<Slice, Runs>,
    minima: Vrf<Slice, Runs>,
    factors: Norm,
}

/// Scales and minima as operands, one behind the other.
macro_rules! operands {
    ($ctx:ident, $all:expr, $slice:ty, $runs:ty, ($time:ty, $packet:ty), $address:expr) => {{
        let mut operand = |which: usize| -> Vrf<$slice, $runs> {
            let address = $address + (which * <$runs>::SIZE * size_of::<f32>()) as u64;
            let all = $all.view();
            let one = all.tile::<m![H], 1, m![1 # 2, { $runs }]>(which);
            ($ctx.sub.begin(one).fetch::<f32, $time, $packet>())
                .collect::<$time, $packet>()
                .to_vrf(address)
        };
        (operand(0), operand(1))
    }};
}

/// Factors of a norm as an operand.
#[track_caller]
fn factors<Slice: M>(ctx: &mut Context, factors: &Factors<Slice>) -> Vrf<Slice, m![E]> {
    (ctx.sub.begin(factors.view()).fetch::<f32, m![E / 8], m![E % 8]>())
        .collect::<m![E / 8], m![E % 8]>()
        .to_vrf(place::NORM)
}

/// A pass that makes weights of 8 codes of a row at a time, up to their values.
macro_rules! weights {
    ($ctx:ident, $codes:expr, $operands:ident, $time:ty, $axis:ident $(, $factors:expr)?) => {
        ($ctx.main.begin($codes.view()).fetch::<i32, $time, m![$axis % 8]>())
            .collect::<$time, m![$axis % 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            // Codes above 7 come as negative ones.
            .vector_logic(LogicBinaryOpI32::BitAnd, 15)
            .vector_fxp_to_fp(31)
            .vector_split::<m![{ $time }, $axis / 4 % 2], m![$axis % 4]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &$operands.scales)
            .vector_fp_binary(FpBinaryOp::AddF, &$operands.minima)
            $(.vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), &$factors))?
    };
}

impl Brought for CodesInDm<QSlice, QCodes, QRuns, Factors<QSlice>> {
    type Parts = QParts;
    type Operands = Operands<QSlice, QRuns, Vrf<QSlice, m![E]>>;

    #[track_caller]
    fn operands(&self, ctx: &mut Context) -> Self::Operands {
        type Time = m![D / 8 % 2, E / 16 % 9];
        type Packet = m![D % 2, E / 144];
        let (scales, minima) = operands!(ctx, self.scales, QSlice, QRuns, (Time, Packet), place::SCALES);
        Operands { scales, minima, factors: factors(ctx, &self.factors) }
    }

    #[track_caller]
    fn parts(self, ctx: &mut Context, operands: Self::Operands) -> QParts {
        type Time = m![D / 8 % 2, E / 16 % 9, D % 2, E / 144, E / 8 % 2];
        weights!(ctx, self.codes, operands, Time, E, operands.factors)
            .vector_concat::<Time, m![E % 8]>()
            .vector_final()
            .cast::<bf16, m![E % 8 # 16]>()
            .commit(AUTO)
    }
}

impl Brought for CodesInDm<OSlice, OCodes, ORuns, ()> {
    type Parts = OParts;
    type Operands = Operands<OSlice, ORuns, ()>;

    #[track_caller]
    fn operands(&self, ctx: &mut Context) -> Self::Operands {
        type Time = m![X / 64, X % 2];
        let (scales, minima) =
            operands!(ctx, self.scales, OSlice, ORuns, (Time, m![X / 8 % 8]), place::OUTPUT);
        Operands { scales, minima, factors: () }
    }

    #[track_caller]
    fn parts(self, ctx: &mut Context, operands: Self::Operands) -> OParts {
        type Time = m![X / 64, X % 2, X / 8 % 8, D / 8 % 2];
        weights!(ctx, self.codes, operands, Time, D)
            .vector_concat::<Time, m![D % 8]>()
            .vector_final()
            .cast::<bf16, m![D % 8 # 16]>()
            .commit(AUTO)
    }
}

impl Brought for CodesInDm<GSlice, GCodes, GRuns, Factors<GSlice>> {
    type Parts = GParts;
    type Operands = Operands<GSlice, GRuns, Vrf<GSlice, m![E]>>;

    #[track_caller]
    fn operands(&self, ctx: &mut Context) -> Self::Operands {
        type Time = m![F / 4 % 3, E / 16 % 9, F / 2 % 2];
        type Packet = m![F % 2, E / 144];
        let (scales, minima) = operands!(ctx, self.scales, GSlice, GRuns, (Time, Packet), place::SCALES);
        Operands { scales, minima, factors: factors(ctx, &self.factors) }
    }

    #[track_caller]
    fn parts(self, ctx: &mut Context, operands: Self::Operands) -> GParts {
        type Time = m![F / 4 % 3, E / 16 % 9, F % 4, E / 144, E / 8 % 2];
        weights!(ctx, self.codes, operands, Time, E, operands.factors)
            .vector_concat::<Time, m![E % 8]>()
            .vector_final()
            .cast::<bf16, m![E % 8 # 16]>()
            .commit(AUTO)
    }
}

impl Brought for CodesInDm<DSlice, DCodes, DRuns, ()> {
    type Parts = DParts;
    type Operands = Operands<DSlice, DRuns, ()>;

    #[track_caller]
    fn operands(&self, ctx: &mut Context) -> Self::Operands {
        type Time = m![F / 8 % 3, X / 64, X % 2];
        let (scales, minima) =
            operands!(ctx, self.scales, DSlice, DRuns, (Time, m![X / 8 % 8]), place::SCALES);
        Operands { scales, minima, factors: () }
    }

    #[track_caller]
    fn parts(self, ctx: &mut Context, operands: Self::Operands) -> DParts {
        // Halves of the 8 go to different places.
        weights!(ctx, self.codes, operands, DRuns, F)
            .vector_pad_way8::<m![F % 4 # 8]>()
            .vector_final()
            .cast::<bf16, m![F % 4 # 16]>()
            .commit(AUTO)
    }
}

impl weights::Layer for Layer {
    const READY: bool = false;
    type Queries = CodesInDm<QSlice, QCodes, QRuns, Factors<QSlice>>;
    type Output = CodesInDm<OSlice, OCodes, ORuns, ()>;
    type GateUp = CodesInDm<GSlice, GCodes, GRuns, Factors<GSlice>>;
    type Down = CodesInDm<DSlice, DCodes, DRuns, ()>;

    #[track_caller]
    fn queries_to_dm(&self, ctx: &mut Context) -> Self::Queries {
        let (codes, scales) = &self.q;
        let codes = codes.to_dm(&mut ctx.tdma, AUTO);
        let scales = scales.to_dm(&mut ctx.tdma, AUTO);
        CodesInDm { codes, scales, factors: self.attention_norm.to_dm(&mut ctx.tdma, AUTO) }
    }

    #[track_caller]
    fn output_to_dm(&self, ctx: &mut Context) -> Self::Output {
        let (codes, scales) = &self.o;
        let codes = codes.to_dm(&mut ctx.tdma, AUTO);
        CodesInDm { codes, scales: scales.to_dm(&mut ctx.tdma, AUTO), factors: () }
    }

    #[track_caller]
    fn gate_up_to_dm(&self, ctx: &mut Context) -> Self::GateUp {
        let (codes, scales) = &self.g;
        let codes = codes.to_dm(&mut ctx.tdma, AUTO);
        let scales = scales.to_dm(&mut ctx.tdma, AUTO);
        CodesInDm { codes, scales, factors: self.gate_norm.to_dm(&mut ctx.tdma, AUTO) }
    }

    #[track_caller]
    fn down_to_dm(&self, ctx: &mut Context) -> Self::Down {
        let (codes, scales) = &self.d;
        let codes = codes.to_dm(&mut ctx.tdma, AUTO);
        CodesInDm { codes, scales: scales.to_dm(&mut ctx.tdma, AUTO), factors: () }
    }
}

/// Uploads weights of a layer.
async fn layer(ctx: &mut Context, Matrices(all): &Matrices<'_>, norms: [&[f32]; 2]) -> Layer {
    let of_head = |g, b, d| head(g, b).map(|head| row(head, d));
    let q = upload!(
        ctx,
        i4,
        m![{ QSlice }, { QCodes }],
        tensor([4, 4, 4, 4, 2, 9, 2, 4, 16], |[part, g, b, d, d1, e0, d0, e, e1]| {
            of_head(g, b, 16 * d + 8 * d1 + 2 * part + d0)
                .map_or(i4::from_i32(0), |(which, row)| all[which].code(row, quartered(e0, e, e1)))
        })
    );
    let q_scales = upload!(
        ctx,
        f16,
        m![{ QSlice }, H, { QRuns }],
        tensor([4, 4, 4, 4, 2, 2, 9, 2, 4], |[part, g, b, d, h, d1, e0, d0, e]| {
            of_head(g, b, 16 * d + 8 * d1 + 2 * part + d0).map_or(f16::from_f32(0.0), |(which, row)| {
                all[which].scale(h, row, quartered(e0, e, 0) / BLOCK)
            })
        })
    );
    let o = upload!(
        ctx,
        i4,
        m![X / 2 % 4, G = 3, B = 3, D / 16, { OCodes }],
        tensor([4, 3, 3, 4, 9, 2, 8, 16], |[part, g, b, d, x, x0, x1, d0]| {
            all[3].code(64 * x + 8 * x1 + 2 * part + x0, HEAD * (3 * g + b) + 16 * d + d0)
        })
    );
    let o_scales = upload!(
        ctx,
        f16,
        m![X / 2 % 4, G = 3, B = 3, D / 16, H, { ORuns }],
        tensor([4, 3, 3, 4, 2, 9, 2, 8], |[part, g, b, d, h, x, x0, x1]| {
            all[3].scale(h, 64 * x + 8 * x1 + 2 * part + x0, (HEAD * (3 * g + b) + 16 * d) / BLOCK)
        })
    );
    let g = upload!(
        ctx,
        i4,
        m![{ GSlice }, { GCodes }],
        tensor([2, 128, 3, 9, 4, 4, 16], |[i, f, f1, e0, f0, e, e1]| {
            all[4 + i].code(12 * f + 4 * f1 + f0, quartered(e0, e, e1))
        })
    );
    let g_scales = upload!(
        ctx,
        f16,
        m![{ GSlice }, H, { GRuns }],
        tensor([2, 128, 2, 3, 9, 4, 4], |[i, f, h, f1, e0, f0, e]| {
            all[4 + i].scale(h, 12 * f + 4 * f1 + f0, quartered(e0, e, 0) / BLOCK)
        })
    );
    let d = upload!(
        ctx,
        i4,
        m![{ DSlice }, { DCodes }],
        tensor([4, 64, 3, 9, 2, 8, 8], |[part, f, f1, x, x0, x1, f0]| {
            all[6].code(64 * x + 8 * x1 + 2 * part + x0, 24 * f + 8 * f1 + f0)
        })
    );
    let d_scales = upload!(
        ctx,
        f16,
        m![{ DSlice }, H, { DRuns }],
        tensor([4, 64, 2, 3, 9, 2, 8], |[part, f, h, f1, x, x0, x1]| {
            all[6].scale(h, 64 * x + 8 * x1 + 2 * part + x0, (24 * f + 8 * f1) / BLOCK)
        })
    );
    let [attention, gate] = norms.map(|norm| norm.repeat(SLICES));
    Layer {
        q: (q, q_scales),
        o: (o, o_scales),
        g: (g, g_scales),
        d: (d, d_scales),
        attention_norm: upload!(ctx, f32, m![{ QSlice }, E], attention),
        gate_norm: upload!(ctx, f32, m![{ GSlice }, E], gate),
    }
}

/// Uploads the network for blocks.
pub async fn network(ctx: &mut Context, of: &[OnHost]) -> BlockNetwork<Layer> {
    let all = matrices(of, 0).unwrap_or_else(|refusal| unreachable!("it was served: {}", refusal.0));
    let mut layers = Vec::new();
    for (matrices, on_host) in all.iter().zip(of) {
        layers.push(layer(ctx, matrices, [&on_host.attn_norm, &on_host.ffn_norm]).await);
    }
    prepare::network(ctx, layers).await
}
