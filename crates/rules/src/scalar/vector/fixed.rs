//! Operators of integers and fixed point.

/// The bits of a shift count that have an effect.
const SHIFT_MASK: i32 = 31;

/// `a << b`, with the low five bits of `b`.
#[inline(always)]
pub const fn shift_left(a: i32, b: i32) -> i32 {
    a << (b & SHIFT_MASK)
}

/// `a >> b`, filled with zeros.
#[inline(always)]
pub const fn logic_shift_right(a: i32, b: i32) -> i32 {
    (a as u32 >> (b & SHIFT_MASK)) as i32
}

/// `a >> b`, filled with the sign.
#[inline(always)]
pub const fn arithmetic_shift_right(a: i32, b: i32) -> i32 {
    a >> (b & SHIFT_MASK)
}

/// `a / 2^b`, rounded to nearest, halves up.
#[inline(always)]
pub const fn arithmetic_shift_right_rounding(a: i32, b: i32) -> i32 {
    let count = b & SHIFT_MASK;
    // Half a step, or 0 if nothing is shifted out.
    let half = (1i64 << count) >> 1;
    ((a as i64 + half) >> count) as i32
}

/// The nearest `i32`.
#[inline(always)]
const fn saturate(value: i64) -> i32 {
    if value > i32::MAX as i64 {
        i32::MAX
    } else if value < i32::MIN as i64 {
        i32::MIN
    } else {
        value as i32
    }
}

/// `a * 2^b`, saturated to `i32`.
#[inline(always)]
pub const fn shift_left_saturating(a: i32, b: i32) -> i32 {
    saturate((a as i64) << (b & SHIFT_MASK))
}

/// `a + b`, saturated to `i32`.
#[inline(always)]
pub const fn add_saturating(a: i32, b: i32) -> i32 {
    a.saturating_add(b)
}

/// `a - b`, saturated to `i32`.
#[inline(always)]
pub const fn subtract_saturating(a: i32, b: i32) -> i32 {
    a.saturating_sub(b)
}

/// `a * b / 2^31`, rounded to nearest, halves up; `MIN * MIN` is `MAX`.
#[inline(always)]
pub const fn multiply_fixed(a: i32, b: i32) -> i32 {
    saturate((((a as i64 * b as i64) >> 30) + 1) >> 1)
}

/// The argument nearer to 0; `b` if both are equally near.
#[inline(always)]
pub const fn abs_min(a: i32, b: i32) -> i32 {
    if a.unsigned_abs() < b.unsigned_abs() { a } else { b }
}

/// The argument farther from 0; `b` if both are equally far.
#[inline(always)]
pub const fn abs_max(a: i32, b: i32) -> i32 {
    if a.unsigned_abs() > b.unsigned_abs() { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [i32; 11] =
        [i32::MIN, i32::MIN + 1, -(1 << 30), -3, -1, 0, 1, 3, 1 << 30, i32::MAX - 1, i32::MAX];

    /// Compares edge cases with integers that hold every result.
    #[test]
    fn edges_against_wide_integers() {
        let nearest = |exact: i128| exact.clamp(i32::MIN as i128, i32::MAX as i128) as i32;
        for a in EDGES {
            for b in EDGES {
                let (wide_a, wide_b) = (a as i128, b as i128);
                assert_eq!(add_saturating(a, b), nearest(wide_a + wide_b));
                assert_eq!(subtract_saturating(a, b), nearest(wide_a - wide_b));
                // floor(product / 2^31 + 1/2).
                let rounded = (wide_a * wide_b + (1 << 30)).div_euclid(1 << 31);
                assert_eq!(multiply_fixed(a, b), nearest(rounded), "{a} * {b}");
                assert_eq!(abs_min(a, b), if wide_a.abs() < wide_b.abs() { a } else { b });
                assert_eq!(abs_max(a, b), if wide_a.abs() > wide_b.abs() { a } else { b });
            }
            for count in 0..32 {
                let power = 1i128 << count;
                let wide = a as i128;
                assert_eq!(shift_left_saturating(a, count), nearest(wide * power), "{a} << {count}");
                assert_eq!(shift_left(a, count), (wide * power) as i32);
                assert_eq!(arithmetic_shift_right(a, count), wide.div_euclid(power) as i32);
                assert_eq!(logic_shift_right(a, count), (a as u32 as i128 / power) as i32);
                let rounded = (2 * wide + power).div_euclid(2 * power);
                assert_eq!(arithmetic_shift_right_rounding(a, count), rounded as i32, "{a} >> {count}");
            }
        }
    }

    #[test]
    fn counts_of_shifts_have_five_bits() {
        for count in [32, 33, -1, -31, 64 + 7, i32::MIN, i32::MAX] {
            let low = count & 31;
            for shift in [
                shift_left,
                shift_left_saturating,
                logic_shift_right,
                arithmetic_shift_right,
                arithmetic_shift_right_rounding,
            ] {
                assert_eq!(shift(-12345, count), shift(-12345, low), "{count}");
            }
        }
    }

    #[test]
    fn products_of_the_least_numbers() {
        assert_eq!(multiply_fixed(i32::MIN, i32::MIN), i32::MAX);
        assert_eq!(multiply_fixed(i32::MIN, i32::MAX), -i32::MAX);
        assert_eq!(multiply_fixed(1 << 30, 1), 1, "a half goes up");
        assert_eq!(multiply_fixed(-(1 << 30), 1), 0, "a half goes up");
        assert_eq!(abs_min(i32::MIN, i32::MAX), i32::MAX);
        assert_eq!(abs_max(i32::MIN, i32::MAX), i32::MIN);
        assert_eq!((abs_min(-5, 5), abs_max(-5, 5)), (5, 5), "the second one of two as far from 0");
    }
}
