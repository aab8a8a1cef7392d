//! The greatest columns of rows: their numbers, and their places.
//!
//! ```text
//!   pass 1   greatest of a row                                         ──▶ DM, VRF
//!   pass 2   least place of a column whose bits are those of greatest  ──▶ DM
//!   pass 3   x, with a number far below all others at that place       ──▶ DM     for the next one of top_k
//! ```
//!
//! No operator compares elements with an operand. Bits do: `x ⊕ greatest`, as an integer, is 0 for columns that are equal to
//! the greatest one, and not 0 for all others. Its square times `FAR` puts the places of these behind all places.

use super::layout::{
    Flits, HalfLanes, Halves, Lanes, OneAxis, accepted, check_operands, check_rows, enter, planned_rules,
};
use crate::command::{
    BinaryArgMode, ClipBinaryOpF32, FpBinaryOp, FpMulAlu, FpTernaryOp, IntraSliceReduceOpF32,
    LogicBinaryOpF32, TernaryArgMode,
};
use crate::engine::vector::{BranchMode, Stash};
use crate::error::{PlanError, attempt};
use crate::mapping::{M, Pair};
use crate::prelude::m;
use crate::runtime::{AUTO, Context};
use crate::scalar::FetchCast;
use crate::tensor::{DmTensor, VrfTensor};

/// More than any place.
const FAR: f32 = (1 << 30) as f32;
/// Distance of places in pass 3: 2^105. A number that was found becomes -2^104, and others stay.
const APART: f32 = f32::from_bits((127 + 105) << 23);

/// One number per row in DM, in rows of 8 bytes.
type PerRow<D, Chip, Cluster, Slice, Rows> = DmTensor<D, Chip, Cluster, Slice, Pair<Rows, m![1 # 2]>>;

/// The greatest column of each row.
#[derive(Debug)]
pub struct Greatest<Chip: M, Cluster: M, Slice: M, Rows: M> {
    /// The number.
    pub number: PerRow<f32, Chip, Cluster, Slice, Rows>,
    /// The place: the number that the columns have in `places`.
    pub place: PerRow<i32, Chip, Cluster, Slice, Rows>,
}

const fn check<Cluster: M, Slice: M, Rows: M, Columns: M>(operation: &'static str) -> Result<(), PlanError> {
    attempt!(check_rows::<Cluster, Slice, Rows, Columns>(operation));
    check_operands::<Rows, Columns>(operation, 2, 1)
}

/// Places of columns that are equal to the greatest one of their row, and numbers of `FAR` and more of others, in the float
/// cluster. The calls in brackets come first.
macro_rules! distances {
    ($ctx:ident, $x:ident, $greatest:ident, $places:ident $(, $first:ident)?) => {
        ($ctx.main.begin($x.view()).fetch::<f32, Flits<Rows, Columns>, Lanes<Columns>>())
            .collect::<Flits<Rows, Columns>, Lanes<Columns>>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            $(.$first())?
            .vector_logic(LogicBinaryOpF32::BitXor, $greatest)
            .vector_reinterpret::<i32>()
            .vector_fxp_to_fp(31)
            .vector_split::<Halves<Rows, Columns>, HalfLanes<Columns>>()
            .vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul0), BinaryArgMode::Mode00, 0.0)
            .vector_fp_ternary_with_mode(FpTernaryOp::FmaF, TernaryArgMode::Mode021, ($places, FAR))
    };
}

/// The greatest number of each row, in DM and in the register file.
#[track_caller]
fn numbers<D, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
) -> (PerRow<f32, Chip, Cluster, Slice, Rows>, VrfTensor<f32, Chip, Cluster, Slice, Rows>)
where
    D: FetchCast<f32>,
{
    let number = enter!(ctx, x)
        .vector_intra_slice_reduce::<Columns::Axis, Rows, m![1 # 4]>(IntraSliceReduceOpF32::Max)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .commit::<Pair<Rows, m![1 # 2]>>(AUTO);
    let operand = (ctx.sub.begin(number.view()).fetch::<f32, Rows, m![1 # 2]>())
        .collect::<Rows, m![1 # 8]>()
        .to_vrf(AUTO);
    (number, operand)
}

/// The place of the first column that is equal to the greatest one.
#[track_caller]
fn place<D, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    greatest: &VrfTensor<f32, Chip, Cluster, Slice, Rows>,
    places: &VrfTensor<f32, Chip, Cluster, Slice, Columns>,
) -> PerRow<i32, Chip, Cluster, Slice, Rows>
where
    D: FetchCast<f32>,
{
    distances!(ctx, x, greatest, places)
        .vector_intra_slice_reduce::<Columns::Axis, Rows, m![1 # 4]>(IntraSliceReduceOpF32::Min)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_fp_to_fxp(31)
        .vector_final()
        .commit(AUTO)
}

/// The rows without the columns that were found.
#[track_caller]
fn without<D, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    greatest: &VrfTensor<f32, Chip, Cluster, Slice, Rows>,
    place: &PerRow<i32, Chip, Cluster, Slice, Rows>,
    places: &VrfTensor<f32, Chip, Cluster, Slice, Columns>,
) -> DmTensor<f32, Chip, Cluster, Slice, Pair<Rows, Columns>>
where
    D: FetchCast<f32>,
{
    // -(place + 1/2) · APART.
    let back = (ctx.main.begin(place.view()).fetch::<i32, Rows, m![1 # 2]>())
        .collect::<Rows, m![1 # 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp_to_fp(31)
        .vector_trim_way4::<m![1 # 4]>()
        .vector_fp_ternary(FpTernaryOp::FmaF, (-APART, -APART / 2.0))
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .commit::<Pair<Rows, m![1 # 2]>>(AUTO);
    let back = (ctx.sub.begin(back.view()).fetch::<f32, Rows, m![1 # 2]>())
        .collect::<Rows, m![1 # 8]>()
        .to_vrf::<Rows>(AUTO);
    distances!(ctx, x, greatest, places, vector_stash)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), APART)
        .vector_concat::<Flits<Rows, Columns>, Lanes<Columns>>()
        // -APART / 2 at the place, and APART / 2 or more elsewhere.
        .vector_clip(ClipBinaryOpF32::Add, &back)
        .vector_clip(ClipBinaryOpF32::Min, Stash)
        .vector_final()
        .commit(AUTO)
}

/// The greatest column of each row in every slice, and its place: the first one of several.
///
/// `places` are the numbers of the columns, whole and less than 2^21: 0, 1, 2, … for the place in the row, or the numbers
/// that a part of a longer row has. They lie in the vector register file: see [`load_operand`](super::load_operand).
/// Columns that are padding do not count, and no column is a NaN. `-0` is less than `0`.
///
/// Two passes of the main context at 4 lanes per cycle: `2 · Rows · Columns / 4` cycles.
///
/// Refused while compiling: columns that are no multiple of 8, or of several axes; rows and columns whose operands,
/// `8 · Rows + 4 · Columns` bytes, do not fit the vector register file.
///
/// ```
/// use furiosa_visa_std::kernels::{argmax, load_operand};
/// use furiosa_visa_std::prelude::*;
/// axes![R = 512, K = 1000];
///
/// #[device(chip = 1)]
/// fn places_of(
///     ctx: &mut Context,
///     x: &HbmTensor<bf16, m![1], m![R, K]>,
///     places: &HbmTensor<f32, m![1], m![K]>,
/// ) -> HbmTensor<i32, m![1], m![R, 1 # 2]> {
///     let x = x.to_dm::<m![1 # 2], m![R / 2], m![R % 2, K]>(&mut ctx.tdma, AUTO);
///     let places = places.to_dm::<m![1 # 2], m![R / 2], m![K]>(&mut ctx.tdma, AUTO);
///     let places = load_operand(ctx, &places);
///     argmax(ctx, &x, &places).place.to_hbm(&mut ctx.tdma, AUTO)
/// }
///
/// let x: Vec<bf16> = (0..512 * 1000).map(|j| bf16::from_f32((j * 37 % 1009) as f32 - 500.0)).collect();
/// let count: Vec<f32> = (0..1000).map(|k| k as f32).collect();
/// # let y = pollster::block_on(async {
/// #     let mut ctx = Context::acquire();
/// #     let places = HostTensor::<f32, m![K]>::from_slice(&count).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let x = HostTensor::<bf16, m![R, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let y = launch(places_of, (&mut *ctx, &x, &places)).await;
/// #     y.to_host::<m![R]>(&mut ctx.pdma).await.to_vec()
/// # });
/// // … launched:
/// for (x, y) in x.chunks(1000).zip(y) {
///     let greatest = x.iter().map(|x| x.to_f32()).fold(f32::MIN, f32::max);
///     assert_eq!(x.iter().position(|x| x.to_f32() == greatest), Some(y as usize));
/// }
/// ```
#[track_caller]
#[inline(never)] // The compiler names the line of a call that it did not inline.
pub fn argmax<D, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: OneAxis>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    places: &VrfTensor<f32, Chip, Cluster, Slice, Columns>,
) -> Greatest<Chip, Cluster, Slice, Rows>
where
    D: FetchCast<f32>,
{
    planned_rules!(accepted(&[check::<Cluster, Slice, Rows, Columns>("argmax")]));
    let (number, greatest) = numbers(ctx, x);
    let place = place(ctx, x, &greatest, places);
    Greatest { number, place }
}

/// The `COUNT` greatest columns of each row in every slice, from the greatest one down, as of [`argmax`]. Of equal columns
/// the first ones come first.
///
/// Numbers are between -2^104 and 2^104, about 2e31, and at least `COUNT` columns of a row are.
///
/// `COUNT` times the two passes of [`argmax`], and between them a pass of as many cycles, which takes the column that was
/// found out of a copy of the rows in DM, and one of `Rows` steps: `(3 · COUNT - 1) · Rows · Columns / 4` cycles.
///
/// Refused while compiling: see [`argmax`].
#[track_caller]
#[inline(never)]
pub fn top_k<D, Chip: M, Cluster: M, Slice: M, Rows: M, Columns: OneAxis, const COUNT: usize>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, Columns>>,
    places: &VrfTensor<f32, Chip, Cluster, Slice, Columns>,
) -> [Greatest<Chip, Cluster, Slice, Rows>; COUNT]
where
    D: FetchCast<f32>,
{
    planned_rules!(accepted(&[
        check::<Cluster, Slice, Rows, Columns>("top_k"),
        check_count::<Columns, COUNT>("top_k"),
    ]));
    let mut found = Vec::with_capacity(COUNT);
    // Rows without the columns that were found. A closure would not know the line of the caller.
    let mut rest: Option<DmTensor<f32, Chip, Cluster, Slice, Pair<Rows, Columns>>> = None;
    for round in 0..COUNT {
        let (number, greatest) = match &rest {
            None => numbers(ctx, x),
            Some(rest) => numbers(ctx, rest),
        };
        let place = match &rest {
            None => place(ctx, x, &greatest, places),
            Some(rest) => place(ctx, rest, &greatest, places),
        };
        if round + 1 < COUNT {
            rest = Some(match &rest {
                None => without(ctx, x, &greatest, &place, places),
                Some(rest) => without(ctx, rest, &greatest, &place, places),
            });
        }
        found.push(Greatest { number, place });
    }
    match found.try_into() {
        Ok(found) => found,
        Err(_) => unreachable!("there is one for each round"),
    }
}

/// Refuses more columns than a row has, and none.
pub(super) const fn check_count<Columns: OneAxis, const COUNT: usize>(
    operation: &'static str,
) -> Result<(), PlanError> {
    if COUNT == 0 || COUNT > Columns::LIVE {
        crate::error::refuse!(
            "columns to be found",
            "{}: {} of a row {} are asked for, but it has {}; help: ask for 1 to {}",
            (operation, count(COUNT, "column"), Columns::EXPR, count(Columns::LIVE, "column"), Columns::LIVE),
        );
    }
    Ok(())
}
