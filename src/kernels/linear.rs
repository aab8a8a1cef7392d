//! Products with weights: a layer of a network.
//!
//! ```text
//!   DM   w  m![N, K]  ──load_weights (sub)──▶ TRF   m![N % 8] rows of m![N / 8, K]
//!   DM   b  m![N]     ──load_operand (sub)──▶ VRF   m![N]
//!   DM   x  m![Rows, K] ──fetch─collect─align─contract─accumulate──▶ vector ──cast──▶ DM  y  m![Rows, N]
//!                               (main: each packet of x meets N / 8 groups of 8 weights)
//! ```
//!
//! Every slice multiplies its own rows with its own weights. Weights that all slices share are broadcast by the move
//! that brings them to DM.

use super::layout::{
    Flits, HalfLanes, Halves, InDm, Lanes, Multiplied, StoredFrom, accepted, check_packets,
    check_row_operands, check_rows, planned_rules,
};
use crate::command::{
    AccumulationKind, ClipBinaryOpF32, FpBinaryOp, FpMulAlu, FpTernaryOp, FpUnaryOp, TernaryArgMode,
    TrfAddress,
};
use crate::engine::stream::{AccumulationTensor, VectorFinalTensor};
use crate::engine::vector::{BranchMode, Stash, TernaryOperand, VeBranchOperand, VeRhs};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{M, Pair};
use crate::prelude::m;
use crate::runtime::{AUTO, Context, Tu, TuValues as _};
use crate::scalar::{ContractionCast, FetchCast};
use crate::spec;
use crate::tensor::{DmTensor, TrfTensor, VrfTensor};

/// Weights `m![N, K]` in the register file: eight rows at a time.
pub type Weights<D, Chip, Cluster, Slice, N, K> =
    TrfTensor<D, Chip, Cluster, Slice, m![{ N } % 8], m![{ N } / 8, { K }]>;

/// Refuses products and weights that do not fit the engines. Weights that fit the register file have sums that fit the
/// accumulator: 128 groups of 8 rows with a packet of 64 bytes each are 64 KiB.
pub(super) const fn check_product<D: Multiplied, Cluster: M, Slice: M, N: M, K: M>(
    operation: &'static str,
) -> Result<(), PlanError> {
    attempt!(check_packets::<D, Cluster, Slice, K>(operation));
    if !N::SIZE.is_multiple_of(8) {
        refuse!(
            "groups of weights",
            "{}: {} has {}, but the register file has 8 at a time; help: pad with `# {}`",
            (operation, N::EXPR, count(N::SIZE, "row of weights"), N::SIZE.next_multiple_of(8)),
        );
    }
    let bits = N::SIZE * K::SIZE * D::ELEMENT_TYPE.bits();
    if bits > 8 * spec::TRF_BYTES {
        refuse!(
            "weights in the register file",
            "{}: weights {} of {} {} take {} bytes, but the register file of a slice holds {}; help: stream tiles of \
             them with `tiled_product`, or spread them over slices",
            operation,
            Pair::<N, K>::EXPR,
            N::SIZE * K::SIZE,
            D::ELEMENT_TYPE.name(),
            bits / 8,
            spec::TRF_BYTES,
        );
    }
    Ok(())
}

/// Loads weights from DM into a register file: the whole file, or the half that no product reads meanwhile.
///
/// `w[n, k]` of each slice become [`Weights`]. The axes of a view may be in any layout; the product that uses the
/// weights names them.
///
/// The sub context does it, 8 bytes per cycle, beside the main context: `N · K · bytes / 8` cycles.
///
/// Refused while compiling: `N` that is no multiple of 8, `K` that is not whole packets of 64 bytes, weights of more
/// than 64 KiB.
///
/// # Panics
/// If the weights do not fit the half that `address` names.
#[track_caller]
#[inline(never)] // The compiler names the line of a call that it did not inline.
pub fn load_weights<'l, W: InDm<'l, Pair<N, K>>, N: M, K: M>(
    ctx: &mut Context,
    w: W,
    address: TrfAddress,
) -> Weights<W::D, W::Chip, W::Cluster, W::Slice, N, K>
where
    W::D: Multiplied + FetchCast<W::D>,
{
    planned_rules!(accepted(&[check_product::<W::D, W::Cluster, W::Slice, N, K>("load_weights")]));
    (ctx.sub.begin(w.in_dm()))
        .fetch::<W::D, m![{ N } % 8, { N } / 8], K>()
        .collect::<m![{ N } % 8, { N } / 8, { <W::D as Multiplied>::Flits<K> }], <W::D as Multiplied>::Flit<K>>()
        .to_trf(address)
}

/// Loads a vector from DM into the vector register file: a bias, a scale, a shift, a mask. It is the same for all rows.
///
/// The sub context does it. The vector takes 4 bytes per element, of 8 KiB in a slice. They are free again when the
/// handle ends.
///
/// Refused while compiling: a vector that is not whole flits of 8 numbers, or is longer than 2048 elements.
///
/// # Panics
/// If too few bytes of the register file are free.
#[track_caller]
#[inline(never)]
pub fn load_operand<'l, V: InDm<'l, Columns>, Columns: M>(
    ctx: &mut Context,
    vector: V,
) -> VrfTensor<f32, V::Chip, V::Cluster, V::Slice, Columns>
where
    V::D: FetchCast<f32>,
{
    planned_rules!(accepted(&[
        check_rows::<V::Cluster, V::Slice, m![1], Columns>("load_operand"),
        check_row_operands::<Columns>("load_operand", "element", 1),
    ]));
    (ctx.sub.begin(vector.in_dm()).fetch::<f32, m![{ Columns } / 8], Lanes<Columns>>())
        .collect::<m![{ Columns } / 8], Lanes<Columns>>()
        .to_vrf(AUTO)
}

/// `x · wᵀ` as a stream of sums.
#[track_caller]
fn sums<'l, D: Multiplied + FetchCast<D>, Chip: M, Cluster: M, Slice: M, Rows: M, N: M, K: M>(
    ctx: &'l mut Context,
    x: &'l DmTensor<D, Chip, Cluster, Slice, Pair<Rows, K>>,
    weights: &Weights<D, Chip, Cluster, Slice, N, K>,
) -> Sums<'l, D, Chip, Cluster, Slice, Rows, N> {
    (ctx.main.begin(x.view()).fetch::<D, Rows, K>())
        .collect::<m![{ Rows }, { D::Flits<K> }], D::Flit<K>>()
        // Each packet meets all groups of weights before the next one comes.
        .align::<m![{ Rows }, { D::Packets<K> }, { N } / 8], D::Packet<K>, _, _>(weights)
        .contract::<m![1]>()
        .accumulate(AccumulationKind::Interleaved)
}

type Sums<'l, D, Chip, Cluster, Slice, Rows, N> = AccumulationTensor<
    'l,
    { Tu::Main },
    <D as ContractionCast>::Output,
    Chip,
    Cluster,
    Slice,
    Flits<Rows, N>,
    Lanes<N>,
>;

/// `y[r, n] = Σ x[r, k] · w[n, k]` in every slice: products with weights, and nothing else.
///
/// Elements are `bf16` and `f8`, with sums in `f32`, or `i8` and `i4`, with sums in `i32` that wrap. The sums are
/// stored in DM in the type that the result is bound to: see [`StoredFrom`].
///
/// The main context takes the product through the Contraction Engine. A packet of 64 bytes takes two cycles to arrive,
/// and one cycle for each of `N / 8` groups of weights: `Rows · packets · max(2, N / 8)` cycles. Use 16 rows of weights
/// or more.
///
/// Refused while compiling: see [`load_weights`].
#[track_caller]
#[inline(never)]
pub fn product<D, Out, Chip: M, Cluster: M, Slice: M, Rows: M, N: M, K: M>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, K>>,
    weights: &Weights<D, Chip, Cluster, Slice, N, K>,
) -> DmTensor<Out, Chip, Cluster, Slice, Pair<Rows, N>>
where
    D: Multiplied + FetchCast<D>,
    Out: StoredFrom<<D as ContractionCast>::Output>,
{
    planned_rules!(accepted(&[
        check_product::<D, Cluster, Slice, N, K>("product"),
        check_rows::<Cluster, Slice, Rows, N>("product"),
    ]));
    Out::store_sums(sums(ctx, x, weights))
}

/// `y[r, n] = activation(Σ x[r, k] · w[n, k] + bias[n])` in every slice: a layer of a network.
///
/// `bias` lies in the vector register file: see [`load_operand`]. A mask that is added to all rows is a bias, too. `y`
/// is `f32`, `bf16` or narrower: the type that the result is bound to.
///
/// The main context takes the layer through the Contraction and the Vector Engine in one pass of
/// `Rows · packets · max(2, N / 8)` cycles. The activation takes `Rows · N / 8` of them, or twice as many where it uses
/// the float cluster, as [`Silu`], [`QuickGelu`] and [`GeluHalfBias`] do. It decides the time only for rows of one packet.
///
/// Refused while compiling: see [`product`].
///
/// ```
/// use furiosa_visa_std::kernels::{Relu, linear, load_operand, load_weights};
/// use furiosa_visa_std::prelude::*;
/// axes![R = 512, N = 16, K = 64];
/// type Cluster = m![1 # 2];
/// type Slice = m![R / 2];
/// type Rows = m![R % 2];
///
/// #[device(chip = 1)]
/// fn layer(
///     ctx: &mut Context,
///     x: &HbmTensor<bf16, m![1], m![R, K]>,
///     w: &HbmTensor<bf16, m![1], m![N, K]>,
///     b: &HbmTensor<f32, m![1], m![N]>,
/// ) -> HbmTensor<bf16, m![1], m![R, N]> {
///     let x = x.to_dm::<Cluster, Slice, m![{ Rows }, K]>(&mut ctx.tdma, AUTO);
///     let w = w.to_dm::<Cluster, Slice, m![N, K]>(&mut ctx.tdma, AUTO); // the same for every slice
///     let b = b.to_dm::<Cluster, Slice, m![N]>(&mut ctx.tdma, AUTO);
///     let w = load_weights(ctx, &w, TrfAddress::Full);
///     let b = load_operand(ctx, &b);
///     let y: DmTensor<bf16, m![1], Cluster, Slice, m![{ Rows }, N]> = linear(ctx, &x, &w, Some(&b), Relu);
///     y.to_hbm(&mut ctx.tdma, AUTO)
/// }
///
/// # let x: Vec<bf16> = (0..512 * 64).map(|j| bf16::from_f32((j % 5) as f32)).collect();
/// # let w: Vec<bf16> = (0..16 * 64).map(|j| bf16::from_f32((j % 3) as f32 - 1.0)).collect();
/// # let b: Vec<f32> = (0..16).map(|n| n as f32 - 8.0).collect();
/// # let y = pollster::block_on(async {
/// #     let mut ctx = Context::acquire();
/// #     let x = HostTensor::<bf16, m![R, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let w = HostTensor::<bf16, m![N, K]>::from_slice(&w).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let b = HostTensor::<f32, m![N]>::from_slice(&b).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let y = launch(layer, (&mut *ctx, &x, &w, &b)).await;
/// #     y.to_host::<m![R, N]>(&mut ctx.pdma).await.to_vec()
/// # });
/// // … launched, with small whole numbers: every sum is exact.
/// for (j, y) in y.iter().enumerate() {
///     let (r, n) = (j / 16, j % 16);
///     let sum: f32 = (0..64).map(|k| x[64 * r + k].to_f32() * w[64 * n + k].to_f32()).sum();
///     assert_eq!(y.to_f32(), (sum + b[n]).max(0.0));
/// }
/// ```
#[track_caller]
#[inline(never)]
pub fn linear<D, Out, A, Chip: M, Cluster: M, Slice: M, Rows: M, N: M, K: M>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, K>>,
    weights: &Weights<D, Chip, Cluster, Slice, N, K>,
    bias: Option<&VrfTensor<f32, Chip, Cluster, Slice, N>>,
    activation: A,
) -> DmTensor<Out, Chip, Cluster, Slice, Pair<Rows, N>>
where
    D: Multiplied + FetchCast<D> + ContractionCast<Output = f32>,
    Out: StoredFrom<f32>,
    A: Activation,
{
    planned_rules!(accepted(&[
        check_product::<D, Cluster, Slice, N, K>("linear"),
        check_rows::<Cluster, Slice, Rows, N>("linear"),
    ]));
    Out::store(activation.applied(sums(ctx, x, weights), bias))
}

/// The function that a layer applies to each of its sums. The five are types, so that a layer has only the stages that
/// it needs.
///
/// A pass has each arithmetic unit once. A bias, and the sum of 1 and the error function of an exact GELU, would need the
/// adder of the float cluster twice: [`GeluHalfBias`] adds half of the bias there, and the rest in the clip cluster.
pub trait Activation: sealed::Sealed + Copy {
    /// Adds a bias and applies the function.
    #[doc(hidden)]
    fn applied<'l, const T: Tu, Chip: M, Cluster: M, Slice: M, Rows: M, N: M>(
        self,
        sums: AccumulationTensor<'l, T, f32, Chip, Cluster, Slice, Flits<Rows, N>, Lanes<N>>,
        bias: Option<&VrfTensor<f32, Chip, Cluster, Slice, N>>,
    ) -> VectorFinalTensor<'l, T, f32, Chip, Cluster, Slice, Flits<Rows, N>, Lanes<N>>;
}

mod sealed {
    pub trait Sealed {}
}

/// Declares an activation by its calls on a stream with 8 lanes and on the bias.
macro_rules! activation {
    ($(#[$doc:meta])* $name:ident, |$stream:ident, $bias:ident, $Rows:ident, $N:ident| $calls:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl sealed::Sealed for $name {}

        impl Activation for $name {
            #[track_caller]
            fn applied<'l, const T: Tu, Chip: M, Cluster: M, Slice: M, $Rows: M, $N: M>(
                self,
                sums: AccumulationTensor<'l, T, f32, Chip, Cluster, Slice, Flits<$Rows, $N>, Lanes<$N>>,
                bias: Option<&VrfTensor<f32, Chip, Cluster, Slice, $N>>,
            ) -> VectorFinalTensor<'l, T, f32, Chip, Cluster, Slice, Flits<$Rows, $N>, Lanes<$N>> {
                let $stream = sums.vector_init().vector_intra_slice_branch(BranchMode::Unconditional);
                let $bias = VeBranchOperand::always(match bias {
                    Some(bias) => VeRhs::vrf(bias),
                    None => VeRhs::constant(0.0),
                });
                $calls.vector_final()
            }
        }
    };
}

activation! {
    /// The sum and the bias as they are.
    Plain, |stream, bias, Rows, N| stream.vector_clip(ClipBinaryOpF32::Add, bias)
}

activation! {
    /// `max(x, 0)`. Like [`Plain`] it needs no float cluster: 8 lanes per cycle.
    Relu, |stream, bias, Rows, N| stream
        .vector_clip(ClipBinaryOpF32::Add, bias)
        .vector_clip(ClipBinaryOpF32::Max, 0.0)
}

activation! {
    /// `x / (1 + e^-x)`, at 4 lanes per cycle.
    Silu, |stream, bias, Rows, N| stream
        .vector_split::<Halves<Rows, N>, HalfLanes<N>>()
        .vector_fp_binary(FpBinaryOp::AddF, bias)
        .vector_stash()
        .vector_fp_unary(FpUnaryOp::Sigmoid)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), Stash)
        .vector_concat::<Flits<Rows, N>, Lanes<N>>()
}

activation! {
    /// `x / (1 + e^(-1.702 x))`, the approximation of GELU by a sigmoid, at 4 lanes per cycle.
    QuickGelu, |stream, bias, Rows, N| stream
        .vector_split::<Halves<Rows, N>, HalfLanes<N>>()
        .vector_fp_binary(FpBinaryOp::AddF, bias)
        .vector_stash()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), 1.702)
        .vector_fp_unary(FpUnaryOp::Sigmoid)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), Stash)
        .vector_concat::<Flits<Rows, N>, Lanes<N>>()
}

activation! {
    /// `x · (1 + erf(x / √2)) / 2`, the exact GELU, of `x = sum + 2 · bias`: [`linear`] takes half of the bias. At 4 lanes per
    /// cycle.
    ///
    /// It is `h + h · erf(√2 · h)` of `h = sum / 2 + bias`.
    GeluHalfBias, |stream, bias, Rows, N| stream
        .vector_split::<Halves<Rows, N>, HalfLanes<N>>()
        .vector_fp_ternary_with_mode(
            FpTernaryOp::FmaF,
            TernaryArgMode::Mode021,
            TernaryOperand::always(bias.operand, 0.5),
        )
        .vector_stash()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), core::f32::consts::SQRT_2)
        .vector_fp_unary(FpUnaryOp::Erf)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), Stash)
        .vector_concat::<Flits<Rows, N>, Lanes<N>>()
        .vector_clip(ClipBinaryOpF32::Add, Stash)
}
