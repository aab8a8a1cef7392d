//! Operators over blocks of lanes: one operator at a time, and one loop without branches per combination of arguments.
//!
//! Lanes are the 32 bits of an `i32` or an `f32`.

use super::stream::Lane;
use furiosa_visa_rules::command::{
    BinaryArgMode, BinaryOperator, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp, FpTernaryOp,
    FpUnaryOp, FxpBinaryOp, LogicBinaryOpF32, LogicBinaryOpI32, ReduceOperator, TernaryArgMode,
};
use furiosa_visa_rules::scalar::vector as scalar;

/// Values of an operand beside the stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lanes<'a> {
    /// One value for all lanes.
    Constant(u32),
    /// A value per lane.
    Each(&'a [Lane]),
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

/// Arguments of a binary function, lane by lane. Seven combinations of mode and operand come down to these three.
#[derive(Clone, Copy)]
enum Arguments<'a> {
    Both(&'a [Lane], &'a [Lane]),
    ConstantSecond(&'a [Lane], u32),
    ConstantFirst(u32, &'a [Lane]),
}

impl<'a> Arguments<'a> {
    /// Arguments of a mode: 0 is the stream, 1 the operand. `one`: a lane for a constant that is both arguments.
    fn of(mode: BinaryArgMode, stream: &'a [Lane], operand: Lanes<'a>, one: &'a mut Lane) -> Self {
        match (mode, operand) {
            (BinaryArgMode::Mode00, _) => Self::Both(stream, stream),
            (BinaryArgMode::Mode01, Lanes::Constant(constant)) => Self::ConstantSecond(stream, constant),
            (BinaryArgMode::Mode10, Lanes::Constant(constant)) => Self::ConstantFirst(constant, stream),
            (BinaryArgMode::Mode11, Lanes::Constant(constant)) => {
                *one = put(constant);
                Self::Both(core::slice::from_ref(one), core::slice::from_ref(one))
            }
            (BinaryArgMode::Mode01, Lanes::Each(others)) => Self::Both(stream, others),
            (BinaryArgMode::Mode10, Lanes::Each(others)) => Self::Both(others, stream),
            (BinaryArgMode::Mode11, Lanes::Each(others)) => Self::Both(others, others),
        }
    }

    /// Copies the first lane to all others if both arguments are one lane.
    fn spread(self, to: &mut [Lane]) {
        if let (Self::Both([_], [_]), [first, rest @ ..]) = (self, to) {
            rest.fill(*first);
        }
    }
}

/// Computes `to[k] = f(…)`, with the arguments that the mode selects. This is a macro because a closure might not be
/// inlined, and the loop would not be vectorised.
macro_rules! each {
    ($arguments:expr, $to:expr, |$a:ident, $b:ident| $f:expr) => {
        match $arguments {
            Arguments::Both(first, second) => {
                for ((to, &first), &second) in $to.iter_mut().zip(first).zip(second) {
                    let ($a, $b) = (get(first), get(second));
                    *to = put($f);
                }
            }
            Arguments::ConstantSecond(first, $b) => {
                for (to, &first) in $to.iter_mut().zip(first) {
                    let $a = get(first);
                    *to = put($f);
                }
            }
            Arguments::ConstantFirst($a, second) => {
                for (to, &second) in $to.iter_mut().zip(second) {
                    let $b = get(second);
                    *to = put($f);
                }
            }
        }
    };
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

/// A binary operator on all lanes.
#[inline(always)]
pub(super) fn binary(
    op: BinaryOperator,
    mode: BinaryArgMode,
    from: &[Lane],
    operand: Lanes<'_>,
    to: &mut [Lane],
) {
    let mut one = [0; 4];
    let arguments = Arguments::of(mode, from, operand, &mut one);
    apply(op, arguments, to);
    arguments.spread(to);
}

#[inline(always)]
fn apply(op: BinaryOperator, arguments: Arguments<'_>, to: &mut [Lane]) {
    macro_rules! all {
        ($($pattern:pat => $kind:ident $f:expr,)*) => {
            match op { $($pattern => each!(arguments, to, |a, b| $kind!($f, a, b)),)* }
        };
    }
    macro_rules! bits {
        ($f:tt, $a:expr, $b:expr) => {
            $a $f $b
        };
    }
    use BinaryOperator::{ClipF32, ClipI32, Fp, FpDiv, Fxp, LogicF32, LogicI32};
    match op {
        LogicI32(LogicBinaryOpI32::BitAnd) | LogicF32(LogicBinaryOpF32::BitAnd) => {
            return each!(arguments, to, |a, b| bits!(&, a, b));
        }
        LogicI32(LogicBinaryOpI32::BitOr) | LogicF32(LogicBinaryOpF32::BitOr) => {
            return each!(arguments, to, |a, b| bits!(|, a, b));
        }
        LogicI32(LogicBinaryOpI32::BitXor) | LogicF32(LogicBinaryOpF32::BitXor) => {
            return each!(arguments, to, |a, b| bits!(^, a, b));
        }
        _ => {}
    }
    all! {
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
        // Handled above.
        LogicI32(_) | LogicF32(_) => int least,
    }
}

/// A function of every lane.
#[inline(always)]
pub(super) fn unary(op: FpUnaryOp, from: &[Lane], to: &mut [Lane]) {
    macro_rules! all {
        ($($name:ident => $f:expr,)*) => {
            match op { $(FpUnaryOp::$name => {
                for (to, &lane) in to.iter_mut().zip(from) {
                    *to = put($f(f32::from_bits(get(lane))).to_bits());
                }
            })* }
        };
    }
    all! {
        Exp => scalar::exponential,
        NegExp => scalar::negative_exponential,
        Sqrt => scalar::square_root,
        Tanh => scalar::tangent_h,
        Sigmoid => scalar::sigmoid,
        Erf => scalar::error_function,
        Log => scalar::logarithm,
        Sin => scalar::sine,
        Cos => scalar::cosine,
    }
}

/// A ternary operator on all lanes.
#[inline(always)]
pub(super) fn ternary(
    op: FpTernaryOp,
    mode: TernaryArgMode,
    from: &[Lane],
    (operand, constant): (Lanes<'_>, f32),
    to: &mut [Lane],
) {
    // The rules refuse masked multiply-adds, which are not documented (guide: vector).
    let (FpTernaryOp::FmaF | FpTernaryOp::MaskFmaF) = op;
    use TernaryArgMode as Mode;
    let (arguments, is_third) = match mode {
        Mode::Mode012 => (BinaryArgMode::Mode01, true),
        Mode::Mode002 => (BinaryArgMode::Mode00, true),
        Mode::Mode102 => (BinaryArgMode::Mode10, true),
        Mode::Mode112 => (BinaryArgMode::Mode11, true),
        Mode::Mode020 => (BinaryArgMode::Mode00, false),
        Mode::Mode021 => (BinaryArgMode::Mode01, false),
        Mode::Mode120 => (BinaryArgMode::Mode10, false),
    };
    let mut one = [0; 4];
    let arguments = Arguments::of(arguments, from, operand, &mut one);
    macro_rules! multiply_add {
        (|$a:ident, $b:ident| ($first:expr, $second:expr, $third:expr)) => {
            each!(arguments, to, |a, b| {
                let ($a, $b) = (f32::from_bits(a), f32::from_bits(b));
                scalar::multiply_add_float($first, $second, $third).to_bits()
            })
        };
    }
    if is_third {
        multiply_add!(|a, b| (a, b, constant));
    } else {
        multiply_add!(|a, b| (a, constant, b));
    }
    arguments.spread(to);
}

/// Fixed point to float.
#[inline(always)]
pub(super) fn fixed_to_float(from: &[Lane], integer_bits: u32, to: &mut [Lane]) {
    for (to, &lane) in to.iter_mut().zip(from) {
        *to = put(scalar::fixed_to_float(get(lane) as i32, integer_bits).to_bits());
    }
}

/// Float to fixed point.
#[inline(always)]
pub(super) fn float_to_fixed(from: &[Lane], integer_bits: u32, to: &mut [Lane]) {
    for (to, &lane) in to.iter_mut().zip(from) {
        *to = put(scalar::float_to_fixed(f32::from_bits(get(lane)), integer_bits) as u32);
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

/// Computes `sums[k] = op(sums[k], lanes[k])`.
#[inline(always)]
pub(super) fn accumulate(op: ReduceOperator, sums: &mut [Lane], lanes: &[Lane]) {
    macro_rules! all {
        ($kind:ident $f:expr) => {
            for (sum, &lane) in sums.iter_mut().zip(lanes) {
                *sum = put($kind!($f, get(*sum), get(lane)));
            }
        };
    }
    reduce!(op, all)
}

/// Number of lanes that are summed side by side: a vector.
const SIDE_BY_SIDE: usize = 8;

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

/// Computes `sums[k] = op(…, lanes[from + k + offset], …)` over all offsets, in order.
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
    sums: &mut [Lane],
) {
    let Some((first, rest)) = offsets.all.split_first() else { return };
    let (blocks, left) = sums.as_chunks_mut::<SIDE_BY_SIDE>();
    let behind = from + blocks.len() * SIDE_BY_SIDE;
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
            if offsets.is_dense {
                let behind = &lanes[first + SIDE_BY_SIDE..][..rest.len() * SIDE_BY_SIDE];
                let (groups, few) = behind.as_chunks::<SIDE_BY_SIDE>().0.as_chunks::<GROUP>();
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
                for block in few {
                    add!(totals, mapped(*block, get));
                }
            } else {
                for &offset in rest {
                    add!(totals, block_of(&lanes[offset..]));
                }
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
    macro_rules! one {
        ($kind:ident $f:expr) => {
            for (k, sum) in left.iter_mut().enumerate() {
                let lane = |offset: usize| get(lanes[behind + k + offset]);
                *sum = put(rest.iter().fold(lane(*first), |sum, &offset| $kind!($f, sum, lane(offset))));
            }
        };
    }
    reduce!(op, one)
}

/// Computes `op(a, b)` of two lanes.
#[inline(always)]
pub(super) fn combined(op: ReduceOperator, a: u32, b: u32) -> u32 {
    folded(op, a, core::iter::once(b))
}

/// Combines all elements in order. The first one is taken unchanged.
#[inline(always)]
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
