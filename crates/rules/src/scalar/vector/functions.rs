//! Functions of one `f32`: computed in 64 bits, rounded once to 32.
//!
//! The results are those of the exact functions, rounded to nearest. Exceptions are exact values so near the middle of
//! two numbers that 64 bits do not determine the side: about one argument in 10^9. The known ones are in tables here.
//! No function of the host is called.
//!
//! Exponentials are a polynomial, which compilers vectorise. The other functions come from `libm`, the C library of
//! musl in Rust: plain code without tables of the host and without a build script, which the Rust library uses, too.

use super::float::canonical;

/// Limit of arguments of exponentials: beyond it the result is 0 or infinity as `f32`.
const EXPONENT_LIMIT: f64 = 110.0;

/// 1.5 * 2^52: adding it rounds to an integer, which is then in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// The leading 42 bits of ln 2: products with integers of 11 bits are exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fefa_3800);
/// The rest of ln 2.
const LN_2_LOW: f64 = f64::from_bits(0x3d2e_f357_93c7_6730);

/// `e^x` for |x| up to [`EXPONENT_LIMIT`]; beyond it, the value at the limit. A NaN gives any number.
///
/// `x = k ln 2 + r` with |r| up to 0.347: `2^k` times a Taylor polynomial of degree 13, with an error below 2^-56.
#[inline(always)]
fn exponential_wide(x: f64) -> f64 {
    let x = x.clamp(-EXPONENT_LIMIT, EXPONENT_LIMIT);
    let shifted = x * core::f64::consts::LOG2_E + ROUNDER;
    let k = shifted - ROUNDER;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let r2 = r * r;
    let r4 = r2 * r2;
    let r8 = r4 * r4;
    // Pairs of pairs (Estrin) keep the chains short.
    let p2 = 1.0 / 2.0 + r * (1.0 / 6.0);
    let p4 = 1.0 / 24.0 + r * (1.0 / 120.0);
    let p6 = 1.0 / 720.0 + r * (1.0 / 5040.0);
    let p8 = 1.0 / 40_320.0 + r * (1.0 / 362_880.0);
    let p10 = 1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0);
    let p12 = 1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0);
    let tail = (p2 + r2 * p4) + r4 * (p6 + r2 * p8) + r8 * (p10 + r2 * p12);
    let fraction = 1.0 + (r + r2 * tail);
    // The integer k is in the low bits of `shifted`; the bits above are shifted out to the left.
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    fraction * scale
}

/// `e^x`.
#[inline(always)]
pub fn exponential(x: f32) -> f32 {
    let result = exponential_wide(f64::from(x)) as f32;
    canonical(if x.is_nan() { x } else { result })
}

/// `e^-x`.
#[inline(always)]
pub fn negative_exponential(x: f32) -> f32 {
    exponential(-x)
}

/// Limit of arguments for the series of the sigmoid: below it the omitted terms are below 2^-75.
const SIGMOID_SERIES: f32 = f32::from_bits((127 - 9) << 23);

/// `1 / (1 + e^-x)` of arguments close to 0: `1/2 + x/4 - x^3/48 + x^5/480`, rounded to odd. `1/2 + x/4` is often the
/// middle of two numbers, and the deciding bits are far beyond those of an f64: a last bit of 1 represents them.
#[inline]
fn sigmoid_near_zero(x: f64) -> f64 {
    let line = 0.5 + 0.25 * x;
    // The exact rounding error of the sum, and the next terms.
    let square = x * x;
    let rest = (0.25 * x - (line - 0.5)) - x * square * (1.0 / 48.0 - square * (1.0 / 480.0));
    let sum = line + rest;
    let lost = rest - (sum - line);
    // The sum is first moved towards 0: one down if it was rounded up.
    f64::from_bits((sum.to_bits() - u64::from(lost < 0.0)) | u64::from(lost != 0.0))
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let wide = f64::from(x);
    let (near, far) = (sigmoid_near_zero(wide), 1.0 / (1.0 + exponential_wide(-wide)));
    let result = if x.abs() < SIGMOID_SERIES { near } else { far } as f32;
    canonical(if x.is_nan() { x } else { result })
}

/// The hyperbolic tangent.
pub fn tangent_h(x: f32) -> f32 {
    canonical(libm::tanh(f64::from(x)) as f32)
}

/// The error function.
pub fn error_function(x: f32) -> f32 {
    canonical(libm::erf(f64::from(x)) as f32)
}

/// All arguments whose logarithm in 64 bits is on the wrong side of the middle of two numbers, with the right result.
const HARD_LOGARITHMS: [[u32; 2]; 5] = [
    [0x3c41_3d3a, 0xc08e_158f],
    [0x4117_8feb, 0x400f_e5e7],
    [0x4c5d_65a5, 0x418f_034b],
    [0x65d8_90d3, 0x4254_d1f9],
    [0x6f31_a8ec, 0x4284_5a89],
];

/// The natural logarithm.
pub fn logarithm(x: f32) -> f32 {
    let hard = HARD_LOGARITHMS.iter().find(|hard| hard[0] == x.to_bits());
    hard.map_or_else(|| canonical(libm::log(f64::from(x)) as f32), |hard| f32::from_bits(hard[1]))
}

/// The sine, of radians. For one argument and its negative, the result in 64 bits is on the wrong side of the middle of
/// two numbers.
pub fn sine(x: f32) -> f32 {
    const HARD: [u32; 2] = [0x4619_9998, 0xbeb1_fa5d];
    if x.to_bits() & !(1 << 31) == HARD[0] {
        return f32::from_bits(HARD[1] ^ (x.to_bits() & 1 << 31));
    }
    canonical(libm::sin(f64::from(x)) as f32)
}

/// The cosine, of radians.
pub fn cosine(x: f32) -> f32 {
    canonical(libm::cos(f64::from(x)) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Function = fn(f32) -> f32;

    const INF: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;
    const TINY: f32 = f32::from_bits(1);

    #[track_caller]
    fn table(function: Function, rows: &[(f32, f32)]) {
        for &(x, expected) in rows {
            let found = function(x);
            assert_eq!(found.to_bits(), expected.to_bits(), "at {x:e}: {found:e}, not {expected:e}");
        }
        for nan in [NAN, -NAN, f32::from_bits(0x7f80_0001)] {
            assert_eq!(function(nan).to_bits(), super::super::CANONICAL_NAN);
        }
    }

    /// Values of the exact functions, rounded by hand.
    #[test]
    fn edges() {
        table(
            exponential,
            &[
                (0.0, 1.0),
                (-0.0, 1.0),
                (1.0, core::f32::consts::E),
                (TINY, 1.0),
                (-TINY, 1.0),
                (2f32.powi(-24), 1.0 + f32::EPSILON),
                (-(2f32.powi(-25)), 1.0),
                (INF, INF),
                (-INF, 0.0),
                (f32::MAX, INF),
                (f32::MIN, 0.0),
                // The last finite result and the next argument; the last result that is not 0.
                (88.722_83, 3.402_798_5e38),
                (88.722_84, INF),
                (-103.278_92, TINY),
                (-104.0, 0.0),
            ],
        );
        table(
            negative_exponential,
            &[(0.0, 1.0), (INF, 0.0), (-INF, INF), (-1.0, core::f32::consts::E), (104.0, 0.0)],
        );
        table(
            sigmoid,
            &[(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (20.0, 1.0), (-103.0, TINY), (-110.0, 0.0)],
        );
        // 1/2 + x/4 is the middle of two numbers; the next term decides.
        table(
            sigmoid,
            &[
                (f32::from_bits(0x369c_0000), f32::from_bits(0x3f00_0013)),
                (f32::from_bits(0xba92_8601), f32::from_bits(0x3eff_db5f)),
            ],
        );
        table(tangent_h, &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (TINY, TINY), (10.0, 1.0)]);
        table(
            error_function,
            &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (4.0, 1.0), (TINY, TINY)],
        );
        table(
            logarithm,
            &[
                (1.0, 0.0),
                (0.0, -INF),
                (-0.0, -INF),
                (INF, INF),
                (core::f32::consts::E, 0.999_999_94),
                (-INF, NAN),
                (-1.0, NAN),
            ],
        );
        let hard = [0x4619_9998, 0xbeb1_fa5d].map(f32::from_bits);
        table(sine, &[(hard[0], hard[1]), (-hard[0], -hard[1])]);
        table(sine, &[(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (INF, NAN), (-INF, NAN)]);
        table(cosine, &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)]);
        assert_eq!(negative_exponential(2.5), exponential(-2.5));
    }

    /// `e^x` as a sum of 60 terms of about 106 bits each (two f64), for arguments of `f32`.
    fn exponential_exact(x: f32) -> f64 {
        let add = |a: (f64, f64), b: (f64, f64)| {
            let sum = a.0 + b.0;
            let part = sum - a.0;
            let lost = (a.0 - (sum - part)) + (b.0 - part) + (a.1 + b.1);
            let high = sum + lost;
            (high, lost - (high - sum))
        };
        let multiply = |a: (f64, f64), b: (f64, f64)| {
            let high = a.0 * b.0;
            let lost = a.0.mul_add(b.0, -high) + (a.0 * b.1 + a.1 * b.0);
            let sum = high + lost;
            (sum, lost - (sum - high))
        };
        let divide = |a: (f64, f64), by: f64| {
            let high = a.0 / by;
            let low = ((-high).mul_add(by, a.0) + a.1) / by;
            let sum = high + low;
            (sum, low - (sum - high))
        };
        // The power is applied last: e^x = (e^(x / 1024))^1024.
        let part = (f64::from(x) / 1024.0, 0.0);
        let (mut term, mut sum) = ((1.0, 0.0), (1.0, 0.0));
        for k in 1..24 {
            term = divide(multiply(term, part), f64::from(k));
            sum = add(sum, term);
        }
        for _ in 0..10 {
            sum = multiply(sum, sum);
        }
        // The pair is rounded to odd, so that the rounding to `f32` is that of the pair.
        let (high, low) = sum;
        let away = low != 0.0 && (low < 0.0) != (high < 0.0);
        f64::from_bits((high.to_bits() - u64::from(away)) | u64::from(low != 0.0))
    }

    #[test]
    fn exponentials_against_pairs() {
        let (mut wrong, mut count) = (0, 0);
        for bits in (0..0x42b2_0000u32).step_by(9_973).chain((0x3f00_0000..0x42b2_0000).step_by(997)) {
            for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                let expected = exponential_exact(x) as f32;
                count += 1;
                wrong += u32::from(exponential(x).to_bits() != expected.to_bits());
                let share = (1.0 / (1.0 + exponential_exact(-x))) as f32;
                wrong += u32::from(sigmoid(x).to_bits() != share.to_bits());
            }
        }
        assert!(wrong == 0 && count > 300_000, "{wrong} of {count}");
    }

    /// Identities between functions of different code, in 64 bits.
    #[test]
    fn other_functions_against_each_other() {
        let near = |found: f32, expected: f64, x: f32| {
            // Half a unit in the last place, plus the loss of the identity.
            let unit = f64::from((expected as f32).abs().max(f32::MIN_POSITIVE)) * 2f64.powi(-23);
            assert!(
                (f64::from(found) - expected).abs() <= 0.5001 * unit,
                "at {x:e}: {found:e}, {expected:e}"
            );
        };
        for k in 1..20_000u32 {
            let x = k as f32 * 0.000_731;
            let wide = f64::from(x);
            let twice = exponential_wide(2.0 * wide);
            if x > 0.02 {
                near(tangent_h(x), (twice - 1.0) / (twice + 1.0), x);
            }
            let log = f64::from(logarithm(x));
            assert!((exponential_wide(log) / wide - 1.0).abs() < 2f64.powi(-22) * log.abs().max(1.0), "{x}");
            let (sin, cos) = (f64::from(sine(x)), f64::from(cosine(x)));
            assert!((sin * sin + cos * cos - 1.0).abs() < 2f64.powi(-22), "{x}");
            // The error function is computed by its series.
            if x < 3.0 {
                let (mut term, mut sum) = (wide, wide);
                for n in 1..60 {
                    term *= -wide * wide / f64::from(n);
                    sum += term / f64::from(2 * n + 1);
                }
                let expected = sum * core::f64::consts::FRAC_2_SQRT_PI;
                assert!((f64::from(error_function(x)) - expected).abs() < 2f64.powi(-24), "{x}");
            }
        }
    }

    /// Compares with the functions of the host, which have other code: all arguments with `VISA_ALL_ARGUMENTS=1`,
    /// otherwise every 4099th. Where both round the same value, they agree except near the middle of two numbers.
    #[test]
    fn all_arguments_against_the_host() {
        let all = std::env::var_os("VISA_ALL_ARGUMENTS").is_some();
        let functions: [(&str, Function, fn(f64) -> f64); 6] = [
            ("exp", exponential, f64::exp),
            ("sigmoid", sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
            ("tanh", tangent_h, f64::tanh),
            ("log", logarithm, f64::ln),
            ("sin", sine, f64::sin),
            ("cos", cosine, f64::cos),
        ];
        for (name, function, host) in functions {
            let mut others = Vec::new();
            for bits in (0..=u32::MAX).step_by(if all { 1 } else { 4099 }) {
                let x = f32::from_bits(bits);
                let (found, wide) = (function(x), host(f64::from(x)));
                let other = wide as f32;
                if found.to_bits() != other.to_bits() && !(found.is_nan() && other.is_nan()) {
                    // The bits after those of f32: the distance of the host's value from the middle, in its last
                    // places.
                    let rest = (wide.to_bits() & 0x1fff_ffff) as i64 - 0x1000_0000;
                    let next = (found.to_bits() as i64 - i64::from(other.to_bits())).abs() == 1;
                    assert!(next && rest.abs() <= 8, "{name}({x:e}) is {found:e}, the host has {wide:e}");
                    others.push(x);
                }
            }
            assert!(others.len() <= 32, "{name}: {others:?}");
        }
    }
}
