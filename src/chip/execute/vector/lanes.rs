//! Operators over blocks of lanes: one operator at a time, one loop without a branch per combination of arguments.
//!
//! Lanes are the 32 bits of an `i32` or an `f32`.

use crate::command::{
    BinaryArgMode, BinaryOperator, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp, FpTernaryOp,
    FpUnaryOp, FxpBinaryOp, LogicBinaryOpF32, LogicBinaryOpI32, ReduceOperator, TernaryArgMode,
};
use crate::scalar::vector as scalar;

/// What stands beside the stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lanes<'a> {
    /// The same for all lanes.
    Constant(u32),
    /// One per lane.
    Each(&'a [u32]),
}

/// `stream[k] = f(…)`, with the arguments that the mode says.
#[inline(always)]
fn each(mode: BinaryArgMode, stream: &mut [u32], operand: Lanes<'_>, f: impl Fn(u32, u32) -> u32) {
    match (mode, operand) {
        (BinaryArgMode::Mode00, _) => stream.iter_mut().for_each(|lane| *lane = f(*lane, *lane)),
        (BinaryArgMode::Mode01, Lanes::Constant(b)) => stream.iter_mut().for_each(|lane| *lane = f(*lane, b)),
        (BinaryArgMode::Mode10, Lanes::Constant(b)) => stream.iter_mut().for_each(|lane| *lane = f(b, *lane)),
        (BinaryArgMode::Mode11, Lanes::Constant(b)) => stream.fill(f(b, b)),
        (BinaryArgMode::Mode01, Lanes::Each(b)) => {
            stream.iter_mut().zip(b).for_each(|(lane, b)| *lane = f(*lane, *b));
        }
        (BinaryArgMode::Mode10, Lanes::Each(b)) => {
            stream.iter_mut().zip(b).for_each(|(lane, b)| *lane = f(*b, *lane));
        }
        (BinaryArgMode::Mode11, Lanes::Each(b)) => {
            stream.iter_mut().zip(b).for_each(|(lane, b)| *lane = f(*b, *b));
        }
    }
}

#[inline(always)]
fn integers(f: impl Fn(i32, i32) -> i32) -> impl Fn(u32, u32) -> u32 {
    move |a, b| f(a as i32, b as i32) as u32
}

#[inline(always)]
fn floats(f: impl Fn(f32, f32) -> f32) -> impl Fn(u32, u32) -> u32 {
    move |a, b| f(f32::from_bits(a), f32::from_bits(b)).to_bits()
}

/// A binary operator on all lanes.
#[inline(always)]
pub(super) fn binary(op: BinaryOperator, mode: BinaryArgMode, stream: &mut [u32], operand: Lanes<'_>) {
    macro_rules! all {
        ($($pattern:pat => $f:expr,)*) => {
            match op { $($pattern => each(mode, stream, operand, $f),)* }
        };
    }
    use BinaryOperator::{ClipF32, ClipI32, Fp, FpDiv, Fxp, LogicF32, LogicI32};
    all! {
        LogicI32(LogicBinaryOpI32::BitAnd) | LogicF32(LogicBinaryOpF32::BitAnd) => |a, b| a & b,
        LogicI32(LogicBinaryOpI32::BitOr) | LogicF32(LogicBinaryOpF32::BitOr) => |a, b| a | b,
        LogicI32(LogicBinaryOpI32::BitXor) | LogicF32(LogicBinaryOpF32::BitXor) => |a, b| a ^ b,
        LogicI32(LogicBinaryOpI32::LeftShift) | Fxp(FxpBinaryOp::LeftShift) => integers(scalar::shift_left),
        LogicI32(LogicBinaryOpI32::LogicRightShift) | Fxp(FxpBinaryOp::LogicRightShift) => {
            integers(scalar::logic_shift_right)
        },
        LogicI32(LogicBinaryOpI32::ArithRightShift) | Fxp(FxpBinaryOp::ArithRightShift) => {
            integers(scalar::arithmetic_shift_right)
        },
        Fxp(FxpBinaryOp::AddFxp) | ClipI32(ClipBinaryOpI32::AddFxp) => integers(i32::wrapping_add),
        Fxp(FxpBinaryOp::AddFxpSat) | ClipI32(ClipBinaryOpI32::AddFxpSat) => integers(scalar::add_saturating),
        Fxp(FxpBinaryOp::SubFxp) => integers(i32::wrapping_sub),
        Fxp(FxpBinaryOp::SubFxpSat) => integers(scalar::subtract_saturating),
        Fxp(FxpBinaryOp::LeftShiftSat) => integers(scalar::shift_left_saturating),
        Fxp(FxpBinaryOp::MulFxp) => integers(scalar::multiply_fixed),
        Fxp(FxpBinaryOp::MulInt) => integers(i32::wrapping_mul),
        Fxp(FxpBinaryOp::ArithRightShiftRound) => integers(scalar::arithmetic_shift_right_rounding),
        ClipI32(ClipBinaryOpI32::Min) => integers(|a, b| if a < b { a } else { b }),
        ClipI32(ClipBinaryOpI32::Max) => integers(|a, b| if a > b { a } else { b }),
        ClipI32(ClipBinaryOpI32::AbsMin) => integers(scalar::abs_min),
        ClipI32(ClipBinaryOpI32::AbsMax) => integers(scalar::abs_max),
        Fp(FpBinaryOp::AddF) | ClipF32(ClipBinaryOpF32::Add) => floats(scalar::add_float),
        Fp(FpBinaryOp::SubF) => floats(scalar::subtract_float),
        // The rules refuse masked products, which no page defines.
        Fp(FpBinaryOp::MulF(_) | FpBinaryOp::MaskMulF(_)) => floats(scalar::multiply_float),
        Fp(FpBinaryOp::DivF) | FpDiv(FpDivBinaryOp::DivF) => floats(scalar::divide_float),
        ClipF32(ClipBinaryOpF32::Min) => floats(scalar::min_float),
        ClipF32(ClipBinaryOpF32::Max) => floats(scalar::max_float),
        ClipF32(ClipBinaryOpF32::AbsMin) => floats(scalar::abs_min_float),
        ClipF32(ClipBinaryOpF32::AbsMax) => floats(scalar::abs_max_float),
    }
}

/// A function of every lane.
#[inline(always)]
pub(super) fn unary(op: FpUnaryOp, stream: &mut [u32]) {
    #[inline(always)]
    fn all(stream: &mut [u32], f: impl Fn(f32) -> f32) {
        stream.iter_mut().for_each(|lane| *lane = f(f32::from_bits(*lane)).to_bits());
    }
    match op {
        FpUnaryOp::Exp => all(stream, scalar::exponential),
        FpUnaryOp::NegExp => all(stream, scalar::negative_exponential),
        FpUnaryOp::Sqrt => all(stream, scalar::square_root),
        FpUnaryOp::Tanh => all(stream, scalar::tangent_h),
        FpUnaryOp::Sigmoid => all(stream, scalar::sigmoid),
        FpUnaryOp::Erf => all(stream, scalar::error_function),
        FpUnaryOp::Log => all(stream, scalar::logarithm),
        FpUnaryOp::Sin => all(stream, scalar::sine),
        FpUnaryOp::Cos => all(stream, scalar::cosine),
    }
}

/// A ternary operator on all lanes.
#[inline(always)]
pub(super) fn ternary(
    op: FpTernaryOp,
    mode: TernaryArgMode,
    stream: &mut [u32],
    operand: Lanes<'_>,
    constant: f32,
) {
    // The rules refuse masked multiply-adds, which no page defines.
    let (FpTernaryOp::FmaF | FpTernaryOp::MaskFmaF) = op;
    let fma = scalar::multiply_add_float;
    let second = BinaryArgMode::Mode01;
    match mode {
        TernaryArgMode::Mode012 => each(second, stream, operand, floats(|x, y| fma(x, y, constant))),
        TernaryArgMode::Mode002 => {
            each(second, stream, Lanes::Constant(0), floats(|x, _| fma(x, x, constant)))
        }
        TernaryArgMode::Mode102 => each(second, stream, operand, floats(|x, y| fma(y, x, constant))),
        TernaryArgMode::Mode112 => each(second, stream, operand, floats(|_, y| fma(y, y, constant))),
        TernaryArgMode::Mode020 => {
            each(second, stream, Lanes::Constant(0), floats(|x, _| fma(x, constant, x)))
        }
        TernaryArgMode::Mode021 => each(second, stream, operand, floats(|x, y| fma(x, constant, y))),
        TernaryArgMode::Mode120 => each(second, stream, operand, floats(|x, y| fma(y, constant, x))),
    }
}

/// Fixed point to float.
#[inline(always)]
pub(super) fn fixed_to_float(stream: &mut [u32], integer_bits: u32) {
    stream.iter_mut().for_each(|lane| *lane = scalar::fixed_to_float(*lane as i32, integer_bits).to_bits());
}

/// Float to fixed point.
#[inline(always)]
pub(super) fn float_to_fixed(stream: &mut [u32], integer_bits: u32) {
    stream
        .iter_mut()
        .for_each(|lane| *lane = scalar::float_to_fixed(f32::from_bits(*lane), integer_bits) as u32);
}

/// `sums[k] = op(sums[k], lanes[k])`.
#[inline(always)]
pub(super) fn accumulate(op: ReduceOperator, sums: &mut [u32], lanes: &[u32]) {
    macro_rules! all {
        ($($name:ident => $f:expr,)*) => {
            match op { $(ReduceOperator::$name => each(BinaryArgMode::Mode01, sums, Lanes::Each(lanes), $f),)* }
        };
    }
    all! {
        AddI32 => integers(i32::wrapping_add),
        AddSatI32 => integers(scalar::add_saturating),
        MaxI32 => integers(|a, b| if a > b { a } else { b }),
        MinI32 => integers(|a, b| if a < b { a } else { b }),
        AddF32 => floats(scalar::add_float),
        MaxF32 => floats(scalar::max_float),
        MinF32 => floats(scalar::min_float),
        MulF32 => floats(scalar::multiply_float),
    }
}

/// Lanes that are summed side by side: a vector.
const SIDE_BY_SIDE: usize = 8;

/// `sums[k] = op(…, lanes[from + k + offset], …)` over all offsets, in order.
#[inline(always)]
pub(super) fn fold_side_by_side(
    op: ReduceOperator,
    (lanes, from): (&[u32], usize),
    offsets: &[usize],
    sums: &mut [u32],
) {
    #[inline(always)]
    fn fold(
        (lanes, from): (&[u32], usize),
        offsets: &[usize],
        sums: &mut [u32],
        f: impl Fn(u32, u32) -> u32,
    ) {
        let Some((first, rest)) = offsets.split_first() else { return };
        let (blocks, left) = sums.as_chunks_mut::<SIDE_BY_SIDE>();
        let behind = from + blocks.len() * SIDE_BY_SIDE;
        for (k, block) in blocks.iter_mut().enumerate() {
            let start = from + k * SIDE_BY_SIDE;
            let at = |offset: usize| {
                lanes[start + offset..].first_chunk::<SIDE_BY_SIDE>().expect("the stream has whole packets")
            };
            let mut own = *at(*first);
            for &offset in rest {
                own.iter_mut().zip(at(offset)).for_each(|(sum, lane)| *sum = f(*sum, *lane));
            }
            *block = own;
        }
        for (k, sum) in left.iter_mut().enumerate() {
            let start = behind + k;
            *sum = rest.iter().fold(lanes[start + first], |sum, offset| f(sum, lanes[start + offset]));
        }
    }
    macro_rules! all {
        ($($name:ident => $f:expr,)*) => {
            match op { $(ReduceOperator::$name => fold((lanes, from), offsets, sums, $f),)* }
        };
    }
    all! {
        AddI32 => integers(i32::wrapping_add),
        AddSatI32 => integers(scalar::add_saturating),
        MaxI32 => integers(|a, b| if a > b { a } else { b }),
        MinI32 => integers(|a, b| if a < b { a } else { b }),
        AddF32 => floats(scalar::add_float),
        MaxF32 => floats(scalar::max_float),
        MinF32 => floats(scalar::min_float),
        MulF32 => floats(scalar::multiply_float),
    }
}

/// `op(a, b)` of two lanes.
#[inline(always)]
pub(super) fn combined(op: ReduceOperator, a: u32, b: u32) -> u32 {
    folded(op, a, core::iter::once(b))
}

/// All elements in order, the first one as it is.
#[inline(always)]
pub(super) fn folded(op: ReduceOperator, first: u32, rest: impl Iterator<Item = u32>) -> u32 {
    macro_rules! all {
        ($($name:ident => $f:expr,)*) => {
            match op { $(ReduceOperator::$name => rest.fold(first, $f),)* }
        };
    }
    all! {
        AddI32 => integers(i32::wrapping_add),
        AddSatI32 => integers(scalar::add_saturating),
        MaxI32 => integers(|a, b| if a > b { a } else { b }),
        MinI32 => integers(|a, b| if a < b { a } else { b }),
        AddF32 => floats(scalar::add_float),
        MaxF32 => floats(scalar::max_float),
        MinF32 => floats(scalar::min_float),
        MulF32 => floats(scalar::multiply_float),
    }
}
