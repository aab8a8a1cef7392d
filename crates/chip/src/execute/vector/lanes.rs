//! Operators over chunks of lanes: one operator at a time, and one loop without branches for each.
//!
//! Lanes are the 32 bits of an `i32` or an `f32`. A loop takes as many lanes as a chunk has, a constant, so that the
//! compiler makes vectors of all of them and no second loop for lanes that are left over.

use super::stream::Lane;
use core::ops::{BitAnd, BitOr, BitXor};
use furiosa_visa_rules::command::{
    BinaryOperator, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp, FpUnaryOp, FxpBinaryOp,
    LogicBinaryOpF32, LogicBinaryOpI32, ReduceOperator,
};
use furiosa_visa_rules::scalar::vector as scalar;

/// Number of lanes in a chunk.
pub(super) const CHUNK: usize = 64;

/// Lanes that a loop takes.
pub(super) type Chunk = [Lane; CHUNK];

/// A function of each lane of one or two arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum LaneOperator {
    /// A function of both arguments.
    Binary(BinaryOperator),
    /// A function of the first argument.
    Unary(FpUnaryOp),
    /// The first argument, times the second one, plus a constant.
    MultiplyAdd(f32),
    /// The first argument, times a constant, plus the second one.
    ScaleAdd(f32),
    /// Fixed point to float, with a number of integer bits.
    FixedToFloat(u32),
    /// Float to fixed point, with a number of integer bits.
    FloatToFixed(u32),
}

#[inline(always)]
const fn get(lane: Lane) -> u32 {
    u32::from_le_bytes(lane)
}

#[inline(always)]
const fn put(bits: u32) -> Lane {
    bits.to_le_bytes()
}

/// Applies a function to each element. A loop, because `map` of arrays is not inlined where a crate is compiled in parts.
#[inline(always)]
fn mapped<T: Copy, U: Copy + Default, const N: usize>(array: [T; N], f: impl Fn(T) -> U) -> [U; N] {
    let mut result = [U::default(); N];
    for k in 0..N {
        result[k] = f(array[k]);
    }
    result
}

/// A function of two `i32` on the bits of lanes.
macro_rules! int {
    ($f:expr, $a:expr, $b:expr) => {
        $f($a as i32, $b as i32) as u32
    };
}

/// A function of two `f32` on the bits of lanes.
macro_rules! float {
    ($f:expr, $a:expr, $b:expr) => {
        $f(f32::from_bits($a), f32::from_bits($b)).to_bits()
    };
}

#[inline(always)]
const fn least(a: i32, b: i32) -> i32 {
    if a < b { a } else { b }
}

#[inline(always)]
const fn greatest(a: i32, b: i32) -> i32 {
    if a > b { a } else { b }
}

/// Computes `a + b`, with the host's NaN.
#[inline(always)]
const fn plus(a: f32, b: f32) -> f32 {
    a + b
}

/// Computes `a * b`, with the host's NaN.
#[inline(always)]
const fn times(a: f32, b: f32) -> f32 {
    a * b
}

/// Returns `b` if it is greater than `a`, with one instruction.
#[inline(always)]
const fn greater(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// Returns `b` if it is less than `a`, with one instruction.
#[inline(always)]
const fn lesser(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

/// Computes `to[k] = op(first[k], second[k])`. An argument of one chunk has it for all `k`.
#[inline(always)]
pub(super) fn apply(op: LaneOperator, first: &[Chunk], second: &[Chunk], to: &mut [Chunk]) {
    // Macros, because a closure might not be inlined, and the loop would not be vectorised.
    macro_rules! one {
        (|$a:ident| $f:expr) => {
            for (to, first) in to.iter_mut().zip(first) {
                for lane in 0..CHUNK {
                    let $a = get(first[lane]);
                    to[lane] = put($f);
                }
            }
        };
    }
    macro_rules! each {
        (|$a:ident, $b:ident| $f:expr) => {
            match (first, second) {
                // A constant mostly comes second: it stays in a register.
                ([_, _, ..], [second]) => {
                    let $b = get(second[0]);
                    one!(|$a| $f);
                }
                _ => {
                    let steps = [first, second].map(|argument| usize::from(argument.len() > 1));
                    let mut at = [0; 2];
                    for to in to.iter_mut() {
                        let (first, second) = (&first[at[0]], &second[at[1]]);
                        at = [at[0] + steps[0], at[1] + steps[1]];
                        for lane in 0..CHUNK {
                            let ($a, $b) = (get(first[lane]), get(second[lane]));
                            to[lane] = put($f);
                        }
                    }
                }
            }
        };
    }
    macro_rules! binary {
        ($op:expr, $($pattern:pat => $kind:ident $f:expr,)*) => {
            match $op { $($pattern => each!(|a, b| $kind!($f, a, b)),)* }
        };
    }
    macro_rules! unary {
        ($op:expr, $($name:ident => $f:expr,)*) => {
            match $op { $(FpUnaryOp::$name => one!(|a| $f(f32::from_bits(a)).to_bits()),)* }
        };
    }
    macro_rules! bits {
        ($f:expr, $a:expr, $b:expr) => {
            $f($a, $b)
        };
    }
    use BinaryOperator::{ClipF32, ClipI32, Fp, FpDiv, Fxp, LogicF32, LogicI32};
    match op {
        LaneOperator::Binary(op) => binary! {
            op,
            LogicI32(LogicBinaryOpI32::BitAnd) | LogicF32(LogicBinaryOpF32::BitAnd) => bits u32::bitand,
            LogicI32(LogicBinaryOpI32::BitOr) | LogicF32(LogicBinaryOpF32::BitOr) => bits u32::bitor,
            LogicI32(LogicBinaryOpI32::BitXor) | LogicF32(LogicBinaryOpF32::BitXor) => bits u32::bitxor,
            LogicI32(LogicBinaryOpI32::LeftShift) | Fxp(FxpBinaryOp::LeftShift) => int scalar::shift_left,
            LogicI32(LogicBinaryOpI32::LogicRightShift) | Fxp(FxpBinaryOp::LogicRightShift) => int scalar::logic_shift_right,
            LogicI32(LogicBinaryOpI32::ArithRightShift) | Fxp(FxpBinaryOp::ArithRightShift) => int scalar::arithmetic_shift_right,
            Fxp(FxpBinaryOp::AddFxp) | ClipI32(ClipBinaryOpI32::AddFxp) => int i32::wrapping_add,
            Fxp(FxpBinaryOp::AddFxpSat) | ClipI32(ClipBinaryOpI32::AddFxpSat) => int scalar::add_saturating,
            Fxp(FxpBinaryOp::SubFxp) => int i32::wrapping_sub,
            Fxp(FxpBinaryOp::SubFxpSat) => int scalar::subtract_saturating,
            Fxp(FxpBinaryOp::LeftShiftSat) => int scalar::shift_left_saturating,
            Fxp(FxpBinaryOp::MulFxp) => int scalar::multiply_fixed,
            Fxp(FxpBinaryOp::MulInt) => int i32::wrapping_mul,
            Fxp(FxpBinaryOp::ArithRightShiftRound) => int scalar::arithmetic_shift_right_rounding,
            ClipI32(ClipBinaryOpI32::Min) => int least,
            ClipI32(ClipBinaryOpI32::Max) => int greatest,
            ClipI32(ClipBinaryOpI32::AbsMin) => int scalar::abs_min,
            ClipI32(ClipBinaryOpI32::AbsMax) => int scalar::abs_max,
            Fp(FpBinaryOp::AddF) | ClipF32(ClipBinaryOpF32::Add) => float scalar::add_float,
            Fp(FpBinaryOp::SubF) => float scalar::subtract_float,
            // The rules refuse masked products, which are not documented (guide: vector).
            Fp(FpBinaryOp::MulF(_) | FpBinaryOp::MaskMulF(_)) => float scalar::multiply_float,
            Fp(FpBinaryOp::DivF) | FpDiv(FpDivBinaryOp::DivF) => float scalar::divide_float,
            ClipF32(ClipBinaryOpF32::Min) => float scalar::min_float,
            ClipF32(ClipBinaryOpF32::Max) => float scalar::max_float,
            ClipF32(ClipBinaryOpF32::AbsMin) => float scalar::abs_min_float,
            ClipF32(ClipBinaryOpF32::AbsMax) => float scalar::abs_max_float,
        },
        LaneOperator::Unary(op) => unary! {
            op,
            Exp => scalar::exponential,
            NegExp => scalar::negative_exponential,
            Sqrt => scalar::square_root,
            Tanh => scalar::tangent_h,
            Sigmoid => scalar::sigmoid,
            Erf => scalar::error_function,
            Log => scalar::logarithm,
            Sin => scalar::sine,
            Cos => scalar::cosine,
        },
        LaneOperator::MultiplyAdd(constant) => each!(|a, b| {
            scalar::multiply_add_float(f32::from_bits(a), f32::from_bits(b), constant).to_bits()
        }),
        LaneOperator::ScaleAdd(constant) => each!(|a, b| {
            scalar::multiply_add_float(f32::from_bits(a), constant, f32::from_bits(b)).to_bits()
        }),
        LaneOperator::FixedToFloat(integer_bits) => {
            one!(|a| scalar::fixed_to_float(a as i32, integer_bits).to_bits());
        }
        LaneOperator::FloatToFixed(integer_bits) => {
            one!(|a| scalar::float_to_fixed(f32::from_bits(a), integer_bits) as u32);
        }
    }
}

/// Selects the function of a reduce of two elements. `$use`: a macro that applies the function.
macro_rules! reduce {
    ($op:expr, $use:ident) => {
        match $op {
            ReduceOperator::AddI32 => $use!(int i32::wrapping_add),
            ReduceOperator::AddSatI32 => $use!(int scalar::add_saturating),
            ReduceOperator::MaxI32 => $use!(int greatest),
            ReduceOperator::MinI32 => $use!(int least),
            ReduceOperator::AddF32 => $use!(float scalar::add_float),
            ReduceOperator::MaxF32 => $use!(float scalar::max_float),
            ReduceOperator::MinF32 => $use!(float scalar::min_float),
            ReduceOperator::MulF32 => $use!(float scalar::multiply_float),
        }
    };
}

/// Number of lanes that are summed side by side: a vector.
pub(super) const SIDE_BY_SIDE: usize = 8;

/// Number of vectors that are added per turn of a loop.
const GROUP: usize = 8;

/// Positions of the elements of one sum, relative to its first element, in order.
#[derive(Debug)]
pub(super) struct Offsets {
    all: Vec<usize>,
    /// True if they are a vector apart, so that whole vectors follow one another.
    is_dense: bool,
}

impl Offsets {
    pub(super) fn new(all: Vec<usize>) -> Self {
        let is_dense = all.windows(2).all(|pair| pair[1] == pair[0] + SIDE_BY_SIDE);
        Self { all, is_dense }
    }

    /// The positions, in order.
    pub(super) fn all(&self) -> &[usize] {
        &self.all
    }
}

/// Computes `sums[k] = op(…, lanes[from + k + offset], …)` over all offsets, in order, for the lanes of blocks.
///
/// Sums and products use the host's arithmetic. A NaN gets its one code at the end: it stays NaN whatever follows, and
/// choosing its bits at every step would take three times as long.
///
/// The greatest element is found with one comparison per element, from minus infinity on. No NaN wins such a
/// comparison. If the result is a number other than 0, all elements as great as it have its bits. Otherwise the
/// operator is applied to one element after another, to find the right zero, or the right NaN if there is nothing else.
/// The least element is found likewise.
#[inline(always)]
pub(super) fn fold_side_by_side(
    op: ReduceOperator,
    (lanes, from): (&[Lane], usize),
    offsets: &Offsets,
    blocks: &mut [[Lane; SIDE_BY_SIDE]],
) {
    let Some((first, rest)) = offsets.all.split_first() else { return };
    let block_of = |lanes: &[Lane]| -> [u32; SIDE_BY_SIDE] {
        mapped(*lanes.first_chunk::<SIDE_BY_SIDE>().expect("the stream has whole packets"), get)
    };
    // The sums of a block. `$start` changes their first elements. With `in_order`, a group of vectors continues from
    // the sums before it. Otherwise each group begins with the first elements again, and need not wait. This is for
    // operators whose result does not depend on the order of elements, or on their repetition.
    macro_rules! block {
        ($from:expr, $kind:ident, $f:expr, $start:expr, in_order: $in_order:literal) => {{
            let lanes = &lanes[$from..];
            let start = mapped(block_of(&lanes[*first..]), $start);
            let mut totals = start;
            macro_rules! add {
                ($sums:ident, $block:expr) => {
                    let block = $block;
                    for k in 0..SIDE_BY_SIDE {
                        $sums[k] = $kind!($f, $sums[k], block[k]);
                    }
                };
            }
            let behind = &lanes[first + SIDE_BY_SIDE..];
            let (groups, _) = match offsets.is_dense {
                true => {
                    behind[..rest.len() * SIDE_BY_SIDE].as_chunks::<SIDE_BY_SIDE>().0.as_chunks::<GROUP>()
                }
                false => (&[][..], &[][..]),
            };
            for group in groups {
                let mut part = if $in_order { totals } else { start };
                for block in group {
                    add!(part, mapped(*block, get));
                }
                if $in_order {
                    totals = part;
                } else {
                    add!(totals, part);
                }
            }
            for &offset in &rest[groups.len() * GROUP..] {
                add!(totals, block_of(&lanes[offset..]));
            }
            totals
        }};
    }
    macro_rules! blocks {
        ($kind:ident, $f:expr, $end:expr) => {
            for (k, block) in blocks.iter_mut().enumerate() {
                let totals = block!(from + k * SIDE_BY_SIDE, $kind, $f, |bits| bits, in_order: true);
                *block = mapped(totals, |bits| put($end(bits)));
            }
        };
    }
    macro_rules! as_it_is {
        ($kind:ident $f:expr) => {
            blocks!($kind, $f, |bits| bits)
        };
    }
    macro_rules! extremes {
        ($extreme:expr, $worst:expr, $f:expr) => {
            for (k, block) in blocks.iter_mut().enumerate() {
                let start = from + k * SIDE_BY_SIDE;
                let begun = |bits| float!($extreme, $worst.to_bits(), bits);
                let mut totals = block!(start, float, $extreme, begun, in_order: false);
                let is_open = |bits: u32| f32::from_bits(bits) == 0.0 || bits == $worst.to_bits();
                if totals.into_iter().any(is_open) {
                    totals = block!(start, float, $f, |bits| bits, in_order: true);
                }
                *block = mapped(totals, put);
            }
        };
    }
    let one_nan = |bits: u32| match rest {
        // A single element is left unchanged.
        [] => bits,
        _ => scalar::canonical(f32::from_bits(bits)).to_bits(),
    };
    match op {
        ReduceOperator::AddF32 => blocks!(float, plus, one_nan),
        ReduceOperator::MulF32 => blocks!(float, times, one_nan),
        ReduceOperator::MaxF32 => extremes!(greater, f32::NEG_INFINITY, scalar::max_float),
        ReduceOperator::MinF32 => extremes!(lesser, f32::INFINITY, scalar::min_float),
        _ => reduce!(op, as_it_is),
    }
}

/// Computes `op(a, b)` of two lanes.
pub(super) fn combined(op: ReduceOperator, a: u32, b: u32) -> u32 {
    folded(op, a, core::iter::once(b))
}

/// Combines all elements in order. The first one is taken unchanged.
pub(super) fn folded(op: ReduceOperator, first: u32, rest: impl Iterator<Item = u32>) -> u32 {
    macro_rules! all {
        ($kind:ident $f:expr) => {
            rest.fold(first, |a, b| $kind!($f, a, b))
        };
    }
    reduce!(op, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reduce over many elements uses one comparison for each. Its result must be right, not only the slower loop
    /// that runs when it finds nothing.
    #[test]
    fn one_comparison_finds_the_extreme() {
        for (a, b) in
            [(1.0, 2.0), (-2.0, -1.0), (-1.0, 1.0), (f32::NEG_INFINITY, f32::MIN), (0.5, f32::INFINITY)]
        {
            assert_eq!((greater(a, b), greater(b, a), lesser(a, b), lesser(b, a)), (b, b, a, a));
        }
        // No NaN wins, and the first of equal elements stays.
        assert_eq!((greater(1.0, f32::NAN), lesser(1.0, f32::NAN)), (1.0, 1.0));
        let zeros = [greater(-0.0, 0.0), greater(0.0, -0.0), lesser(-0.0, 0.0), lesser(0.0, -0.0)];
        assert_eq!(zeros.map(f32::is_sign_negative), [true, false, true, false]);
        assert_eq!((least(-3, 2), least(2, -3), greatest(-3, 2), greatest(2, -3)), (-3, -3, 2, 2));
    }

    #[test]
    fn offsets_are_dense_a_vector_apart() {
        let is_dense = |all: &[usize]| Offsets::new(all.to_vec()).is_dense;
        assert!(is_dense(&[]) && is_dense(&[5]) && is_dense(&[0, 8]) && is_dense(&[3, 11, 19]));
        assert!(!is_dense(&[0, 4]) && !is_dense(&[0, 16]) && !is_dense(&[8, 0]) && !is_dense(&[0, 8, 17]));
        assert_eq!(Offsets::new(vec![3, 11]).all(), [3, 11]);
    }
}
