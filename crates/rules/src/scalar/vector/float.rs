//! Arithmetic of `f32`: each operation is rounded once, to nearest, ties to even. Subnormal numbers are numbers.

/// The NaN that arithmetic returns. Hosts differ in its sign, and the chip's NaN is not documented (assumed).
pub const CANONICAL_NAN: u32 = 0x7fc0_0000;

/// The bits of infinity. Bits of a NaN, without the sign, are greater.
const INFINITY: u32 = 0x7f80_0000;

/// Replaces every NaN by one NaN.
///
/// The test is on bits: compilers assume that NaN results of arithmetic cannot be distinguished, and drop a choice
/// between such a NaN and this one.
#[inline(always)]
pub const fn canonical(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & !(1 << 31) > INFINITY { CANONICAL_NAN } else { bits })
}

/// `a + b`.
#[inline(always)]
pub const fn add_float(a: f32, b: f32) -> f32 {
    canonical(a + b)
}

/// `a - b`.
#[inline(always)]
pub const fn subtract_float(a: f32, b: f32) -> f32 {
    canonical(a - b)
}

/// `a * b`.
#[inline(always)]
pub const fn multiply_float(a: f32, b: f32) -> f32 {
    canonical(a * b)
}

/// `a / b`.
#[inline(always)]
pub const fn divide_float(a: f32, b: f32) -> f32 {
    canonical(a / b)
}

/// The square root.
#[inline(always)]
pub fn square_root(a: f32) -> f32 {
    canonical(a.sqrt())
}

/// `a * b + c`, rounded once.
///
/// The product is exact in 64 bits. The sum is rounded to odd there: a last bit of 1 represents everything after it, so
/// that a second rounding to 32 bits gives the rounding of the exact sum (Boldo and Melquiond, *Emulation of FMA and
/// correctly rounded sums*).
#[inline(always)]
pub const fn multiply_add_float(a: f32, b: f32, c: f32) -> f32 {
    let product = a as f64 * b as f64;
    let addend = c as f64;
    let sum = product + addend;
    // The exact rounding error of the sum (Knuth).
    let part = sum - product;
    let lost = (product - (sum - part)) + (addend - part);
    let bits = sum.to_bits();
    let is_inexact = lost != 0.0 && sum.is_finite();
    // The sum is first moved towards 0: one down if it was rounded away from 0.
    let away = is_inexact && (lost < 0.0) != (sum < 0.0);
    let odd = (bits - away as u64) | is_inexact as u64;
    canonical(f64::from_bits(odd) as f32)
}

/// The lesser argument. A NaN loses to a number, and -0 is less than +0. Of two NaN the first one is returned.
#[inline(always)]
pub const fn min_float(a: f32, b: f32) -> f32 {
    if a < b || b.is_nan() {
        a
    } else if a == b {
        // Equal numbers have equal bits, except for zeros.
        f32::from_bits(a.to_bits() | b.to_bits())
    } else {
        b
    }
}

/// The greater argument. A NaN loses to a number, and -0 is less than +0. Of two NaN the first one is returned.
#[inline(always)]
pub const fn max_float(a: f32, b: f32) -> f32 {
    if a > b || b.is_nan() {
        a
    } else if a == b {
        f32::from_bits(a.to_bits() & b.to_bits())
    } else {
        b
    }
}

/// `a` if it is nearer to 0 than `b`, otherwise `b`.
#[inline(always)]
pub const fn abs_min_float(a: f32, b: f32) -> f32 {
    if a.abs() < b.abs() { a } else { b }
}

/// `a` if it is farther from 0 than `b`, otherwise `b`.
#[inline(always)]
pub const fn abs_max_float(a: f32, b: f32) -> f32 {
    if a.abs() > b.abs() { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    const INF: f32 = f32::INFINITY;
    const NAN: f32 = f32::from_bits(CANONICAL_NAN);

    #[track_caller]
    fn same(found: f32, expected: f32) {
        assert_eq!(found.to_bits(), expected.to_bits(), "{found:?} is not {expected:?}");
    }

    #[test]
    fn what_is_no_number_is_one_nan() {
        let negative = f32::from_bits(0xffc0_0001);
        for nan in [
            add_float(INF, -INF),
            add_float(negative, 1.0),
            subtract_float(INF, INF),
            subtract_float(1.0, negative),
            multiply_float(0.0, -INF),
            multiply_float(negative, 2.0),
            divide_float(0.0, -0.0),
            divide_float(INF, INF),
            square_root(-1.0),
            square_root(negative),
            multiply_add_float(0.0, INF, 1.0),
            multiply_add_float(INF, 1.0, -INF),
            multiply_add_float(1.0, 1.0, negative),
            multiply_add_float(negative, 1.0, 1.0),
        ] {
            same(nan, NAN);
        }
    }

    /// Every NaN operand gives the canonical NaN.
    #[test]
    fn every_nan_becomes_one() {
        for k in 0..2000u32 {
            let bits = 0x7f80_0001 + (k.wrapping_mul(0x9e37_79b9) >> 9) % 0x007f_ffff;
            let nan = core::hint::black_box(f32::from_bits(bits | k << 31));
            let one = core::hint::black_box(1.0);
            for found in [
                add_float(nan, one),
                add_float(one, nan),
                subtract_float(nan, one),
                subtract_float(one, nan),
                multiply_float(nan, one),
                multiply_float(one, nan),
                divide_float(nan, one),
                divide_float(one, nan),
                square_root(nan),
                multiply_add_float(nan, one, one),
                multiply_add_float(one, nan, one),
                multiply_add_float(one, one, nan),
                super::super::exponential(nan),
                super::super::negative_exponential(nan),
                super::super::sigmoid(nan),
                super::super::tangent_h(nan),
                super::super::error_function(nan),
                super::super::logarithm(nan),
                super::super::sine(nan),
                super::super::cosine(nan),
            ] {
                same(found, NAN);
            }
        }
    }

    #[test]
    fn zeros_and_infinities() {
        for (a, b, sum, difference, product, quotient) in [
            (0.0, -0.0, 0.0, 0.0, -0.0, NAN),
            (-0.0, -0.0, -0.0, 0.0, 0.0, NAN),
            (-0.0, 0.0, 0.0, -0.0, -0.0, NAN),
            (1.0, -0.0, 1.0, 1.0, -0.0, -INF),
            (1.0, 0.0, 1.0, 1.0, 0.0, INF),
            (INF, 1.0, INF, INF, INF, INF),
            (1.0, -INF, -INF, INF, -INF, -0.0),
            (INF, INF, INF, NAN, INF, NAN),
            (f32::MAX, f32::MAX, INF, 0.0, INF, 1.0),
        ] {
            same(add_float(a, b), sum);
            same(subtract_float(a, b), difference);
            same(multiply_float(a, b), product);
            same(divide_float(a, b), quotient);
        }
        same(square_root(-0.0), -0.0);
        same(square_root(INF), INF);
        same(multiply_add_float(-0.0, 1.0, -0.0), -0.0);
        same(multiply_add_float(-0.0, 1.0, 0.0), 0.0);
        same(multiply_add_float(INF, 2.0, 5.0), INF);
        same(multiply_add_float(2.0, 3.0, -INF), -INF);
    }

    #[test]
    fn limits() {
        for (a, b, least, greatest) in [
            (1.0, 2.0, 1.0, 2.0),
            (-0.0, 0.0, -0.0, 0.0),
            (0.0, -0.0, -0.0, 0.0),
            (NAN, 3.0, 3.0, 3.0),
            (3.0, NAN, 3.0, 3.0),
            (-INF, INF, -INF, INF),
            (INF, NAN, INF, INF),
            (5.0, 5.0, 5.0, 5.0),
        ] {
            same(min_float(a, b), least);
            same(max_float(a, b), greatest);
        }
        assert!(min_float(NAN, NAN).is_nan() && max_float(NAN, NAN).is_nan());
        for (a, b, near, far) in [
            (-1.0, 2.0, -1.0, 2.0),
            (3.0, -2.0, -2.0, 3.0),
            (-4.0, 4.0, 4.0, 4.0),
            (0.0, -0.0, -0.0, -0.0),
            (NAN, 1.0, 1.0, 1.0),
            (-INF, 1.0, 1.0, -INF),
        ] {
            same(abs_min_float(a, b), near);
            same(abs_max_float(a, b), far);
        }
        assert!(abs_min_float(1.0, NAN).is_nan(), "no comparison holds: the second one");
    }

    /// `a * b + c` as an exact integer of units of 2^-300, rounded once. Slow.
    fn exact_multiply_add(a: f32, b: f32, c: f32) -> f32 {
        // Mantissa and exponent of a finite number: value = mantissa * 2^exponent.
        let parts = |value: f32| {
            let bits = value.to_bits();
            let (exponent, fraction) = ((bits >> 23 & 255) as i32, (bits & 0x7f_ffff) as i128);
            let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 23 };
            let sign = if bits >> 31 == 1 { -1 } else { 1 };
            (sign * mantissa, exponent.max(1) - 150)
        };
        let ((ma, ea), (mb, eb), (mc, ec)) = (parts(a), parts(b), parts(c));
        let (mut high, mut high_exponent) = (ma * mb, ea + eb);
        let (mut low, mut low_exponent) = (mc, ec);
        if high == 0 || low == 0 {
            return if high == 0 { a * b + c } else { rounded(high, high_exponent) };
        }
        if low_exponent > high_exponent {
            core::mem::swap(&mut high, &mut low);
            core::mem::swap(&mut high_exponent, &mut low_exponent);
        }
        let apart = high_exponent - low_exponent;
        // 48 bits of one term and 60 of room: the digits farther down only matter as a sign.
        if apart > 70 {
            let sign = if low < 0 { -1 } else { 1 };
            return rounded(high * (1 << 60) + sign, high_exponent - 60);
        }
        let sum = high * (1i128 << apart.min(70)) + low;
        if sum == 0 { 0.0 } else { rounded(sum, low_exponent) }
    }

    /// `value * 2^exponent`, rounded to nearest, ties to even.
    fn rounded(value: i128, exponent: i32) -> f32 {
        let (sign, magnitude) = (value < 0, value.unsigned_abs());
        let top = 127 - magnitude.leading_zeros() as i32;
        // The exponent of the last bit that `f32` keeps.
        let last = (top + exponent - 23).max(-149);
        let shift = last - exponent;
        let kept = if shift <= 0 {
            magnitude << -shift
        } else if shift > 127 {
            0
        } else {
            let (kept, rest, half) =
                (magnitude >> shift, magnitude & ((1u128 << shift) - 1), 1u128 << (shift - 1));
            kept + u128::from(rest > half || rest == half && kept & 1 == 1)
        };
        // The product is exact in `f64`: 25 bits, and exponents of `f32`.
        let result = kept as f64 * 2f64.powi(last);
        let result = if result > f64::from(f32::MAX) { INF } else { result as f32 };
        if sign { -result } else { result }
    }

    #[test]
    fn multiply_add_is_rounded_once() {
        let mut random = SmallRng::seed_from_u64(60);
        // The square of 1 + 2^-12 needs 25 bits; the addend decides the tie.
        let a = 1.0 + 2f32.powi(-12);
        for c in [0.0, 2f32.powi(-80), -2f32.powi(-80), f32::from_bits(1), -f32::from_bits(1)] {
            same(multiply_add_float(a, a, c), exact_multiply_add(a, a, c));
        }
        for case in 0..200_000 {
            let mut draw = |near: u32| {
                let exponent = if case % 3 == 0 {
                    random.random_range(0..254)
                } else {
                    random.random_range(near..near + 30)
                };
                let fraction: u32 = if random.random_range(0..2) == 0 {
                    random.random_range(0..1 << 23)
                } else {
                    // Numbers of few bits make ties frequent.
                    (random.random_range(0..1u32 << 3) << 20 | random.random_range(0..4)) & 0x7f_ffff
                };
                f32::from_bits(random.random_range(0..2u32) << 31 | exponent << 23 | fraction)
            };
            let (a, b) = (draw(100), draw(100));
            let c = draw(if case % 2 == 0 { 85 } else { 60 });
            let (found, expected) = (multiply_add_float(a, b, c), exact_multiply_add(a, b, c));
            assert_eq!(found.to_bits(), expected.to_bits(), "{a:e} * {b:e} + {c:e}: {found:e}, {expected:e}");
        }
    }
}
