//! The tables of operators: ends of ranges, shifts, NaN, zeros and infinities.

use reference::numbers::Number;
use reference::random::Random;
use reference::vector::exact::Function;
use reference::vector::operators::*;

const MIN: i32 = i32::MIN;
const MAX: i32 = i32::MAX;
const ZEROS: ZeroOrder = ZeroOrder::Signed;

fn integers(op: Binary, a: i32, b: i32, expected: i32) {
    let result = op.apply(integer(a), integer(b), ZEROS);
    assert_eq!(result, Some(integer(expected)), "{op:?} of {a} and {b}");
}

fn reals(op: Binary, a: f32, b: f32, expected: f32) {
    let result = op.apply(Number::Real(a), Number::Real(b), ZEROS);
    assert_eq!(result, Some(Number::Real(expected)), "{op:?} of {a:e} and {b:e}");
}

#[test]
fn shifts_take_five_bits_of_the_count() {
    use LogicI32::*;
    for (count, left, logic, arithmetic) in [
        (0, MIN + 5, MIN + 5, MIN + 5),
        (1, 10, 0x4000_0002, -0x3fff_fffe),
        (31, MIN, 1, -1),
        (32, MIN + 5, MIN + 5, MIN + 5),
        (33, 10, 0x4000_0002, -0x3fff_fffe),
        (-1, MIN, 1, -1),
        (MIN, MIN + 5, MIN + 5, MIN + 5),
    ] {
        integers(Binary::LogicI32(LeftShift), MIN + 5, count, left);
        integers(Binary::Fxp(Fxp::LeftShift), MIN + 5, count, left);
        integers(Binary::LogicI32(LogicRightShift), MIN + 5, count, logic);
        integers(Binary::Fxp(Fxp::LogicRightShift), MIN + 5, count, logic);
        integers(Binary::LogicI32(ArithRightShift), MIN + 5, count, arithmetic);
        integers(Binary::Fxp(Fxp::ArithRightShift), MIN + 5, count, arithmetic);
    }
    for (a, b, expected) in [
        (5, 1, 3),
        (-5, 1, -2),
        (-6, 2, -1),
        (6, 2, 2),
        (MAX, 31, 1),
        (MIN, 31, -1),
        (MAX, 1, 1 << 30),
        (7, 0, 7),
        (7, 32, 7),
    ] {
        integers(Binary::Fxp(Fxp::ArithRightShiftRound), a, b, expected);
    }
    for (a, b, expected) in [
        (1, 30, 1 << 30),
        (1, 31, MAX),
        (-1, 31, MIN),
        (-2, 31, MIN),
        (0, 31, 0),
        (3, 30, MAX),
        (-3, 30, MIN),
        (-2, 30, MIN),
        (3, 32, 3),
    ] {
        integers(Binary::Fxp(Fxp::LeftShiftSat), a, b, expected);
    }
}

#[test]
fn sums_wrap_or_saturate() {
    for (a, b, wrapped, saturated) in
        [(MAX, 1, MIN, MAX), (MIN, -1, MAX, MIN), (MIN, MIN, 0, MIN), (2, 3, 5, 5)]
    {
        for (wrapping, saturating) in [
            (Binary::Fxp(Fxp::AddFxp), Binary::Fxp(Fxp::AddFxpSat)),
            (Binary::ClipI32(ClipI32::AddFxp), Binary::ClipI32(ClipI32::AddFxpSat)),
        ] {
            integers(wrapping, a, b, wrapped);
            integers(saturating, a, b, saturated);
        }
    }
    for (a, b, wrapped, saturated) in
        [(MIN, 1, MAX, MIN), (0, MIN, MIN, MAX), (MAX, -1, MIN, MAX), (2, 3, -1, -1)]
    {
        integers(Binary::Fxp(Fxp::SubFxp), a, b, wrapped);
        integers(Binary::Fxp(Fxp::SubFxpSat), a, b, saturated);
    }
}

#[test]
fn products() {
    for (a, b, fraction, low) in [
        (MIN, MIN, MAX, 0),
        (MIN, MAX, -MAX, MIN),
        (MAX, MAX, MAX - 1, 1),
        (1 << 30, 1, 1, 1 << 30),
        (-(1 << 30), 1, 0, -(1 << 30)),
        ((1 << 30) - 1, 1, 0, (1 << 30) - 1),
        (1 << 30, 3, 2, -(1 << 30)),
        (MIN, 1, -1, MIN),
    ] {
        integers(Binary::Fxp(Fxp::MulFxp), a, b, fraction);
        integers(Binary::Fxp(Fxp::MulInt), a, b, low);
    }
    // The documented formula, word by word.
    let mut random = Random::new(5);
    for _ in 0..2000 {
        let (a, b) = (random.bits() as i32, (random.bits() >> 20) as i32);
        let formula = (((i64::from(a) * i64::from(b)) >> 30) + 1) >> 1;
        integers(Binary::Fxp(Fxp::MulFxp), a, b, formula as i32);
    }
}

#[test]
fn extremes_of_integers() {
    use ClipI32::*;
    for (a, b, min, max, abs_min, abs_max) in [
        (3, -5, -5, 3, 3, -5),
        (-5, 5, -5, 5, 5, 5),
        (5, -5, -5, 5, -5, -5),
        (MIN, MAX, MIN, MAX, MAX, MIN),
        (MIN, 0, MIN, 0, 0, MIN),
    ] {
        for (op, expected) in [(Min, min), (Max, max), (AbsMin, abs_min), (AbsMax, abs_max)] {
            integers(Binary::ClipI32(op), a, b, expected);
        }
    }
}

#[test]
fn extremes_of_reals() {
    use ClipF32::*;
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for (a, b, min, max, abs_min, abs_max) in [
        (3.0, -5.0, -5.0, 3.0, 3.0, -5.0),
        (5.0, -5.0, -5.0, 5.0, -5.0, -5.0),
        (nan, 2.0, 2.0, 2.0, 2.0, 2.0),
        (2.0, nan, 2.0, 2.0, nan, nan),
        (nan, nan, nan, nan, nan, nan),
        (-inf, inf, -inf, inf, inf, inf),
        (-0.0, 0.0, -0.0, 0.0, 0.0, 0.0),
        (0.0, -0.0, -0.0, 0.0, -0.0, -0.0),
    ] {
        for (op, expected) in [(Min, min), (Max, max), (AbsMin, abs_min), (AbsMax, abs_max)] {
            reals(Binary::ClipF32(op), a, b, expected);
        }
    }
    let max = |zeros| Binary::ClipF32(Max).apply(Number::Real(0.0), Number::Real(-0.0), zeros);
    assert_eq!(max(ZeroOrder::Second), Some(Number::Real(-0.0)));
    assert_eq!(max(ZeroOrder::First), Some(Number::Real(0.0)));
}

#[test]
fn reals_are_ieee() {
    let inf = f32::INFINITY;
    let multiply = Binary::Fp(FpBinary::MulF(Multiplier::Mul1));
    reals(Binary::Fp(FpBinary::SubF), inf, inf, f32::NAN);
    reals(Binary::FpDiv, 1.0, -0.0, -inf);
    reals(Binary::Fp(FpBinary::DivF), 0.0, 0.0, f32::NAN);
    reals(multiply, 1e-30, 1e-12, f32::from_bits(714));
    reals(Binary::ClipF32(ClipF32::Add), -0.0, -0.0, -0.0);
    reals(Binary::Fp(FpBinary::AddF), 16_777_216.0, 1.0, 16_777_216.0);
    assert!(Binary::Fp(FpBinary::MaskMulF(Multiplier::Mul0)).apply(real(1.0), real(1.0), ZEROS).is_none());
    assert!(is_made_nan(Binary::FpDiv.apply(real(0.0), real(0.0), ZEROS).expect("a result")));
    let epsilon = f32::EPSILON;
    // (1 + e)(1 - e) - 1 is -e²: nothing is lost before the sum.
    assert_eq!(FpTernary::FmaF.apply(1.0 + epsilon, 1.0 - epsilon, -1.0), Some(real(-epsilon * epsilon)));
    reals(Binary::LogicF32(LogicF32::BitAnd), -1.5, f32::from_bits(0x7fff_ffff), 1.5);
    reals(Binary::LogicF32(LogicF32::BitXor), 2.0, -0.0, -2.0);
    reals(Binary::LogicF32(LogicF32::BitOr), 1.0, f32::from_bits(0x40_0000), 1.5);
}

#[test]
fn conversions_to_reals() {
    for (x, width, expected) in [
        (0, 31, 0.0),
        (1, 31, 1.0),
        (MIN, 31, -2_147_483_648.0),
        (MIN, 0, -1.0),
        (MIN, 8, -256.0),
        (MAX, 31, 2_147_483_648.0),
        (MAX, 0, 1.0),
        ((1 << 24) + 1, 31, 16_777_216.0),
        ((1 << 24) + 3, 31, 16_777_220.0),
        (1, 0, 2f32.powi(-31)),
        (3 << 22, 8, 1.5),
    ] {
        assert_eq!(fxp_to_fp(x, width).to_bits(), f32::to_bits(expected), "{x} {width}");
    }
    let mut random = Random::new(6);
    for _ in 0..2000 {
        let x = random.bits() as i32 >> random.below(31);
        assert_eq!(fxp_to_fp(x, 31).to_bits(), (x as f32).to_bits());
    }
}

#[test]
fn conversions_to_integers() {
    for (x, width, expected) in [
        (0.5, 31, 1),
        (-0.5, 31, -1),
        (1.5, 31, 2),
        (-1.5, 31, -2),
        (2.5, 31, 3),
        (0.499_999_97, 31, 0),
        (-0.0, 31, 0),
        (f32::NAN, 31, MAX),
        (-f32::NAN, 31, MIN),
        (f32::INFINITY, 0, MAX),
        (f32::NEG_INFINITY, 0, MIN),
        (1.0, 0, MAX),
        (-1.0, 0, MIN),
        (0.5, 0, 1 << 30),
        (1.5, 8, 3 << 22),
        (16_777_217.0, 31, 1 << 24),
        (2_147_483_520.0, 31, 2_147_483_520),
        (2_147_483_648.0, 31, MAX),
        (-2_147_483_648.0, 31, MIN),
        (1e-40, 0, 0),
    ] {
        assert_eq!(fp_to_fxp(x, width), expected, "{x:e} {width}");
    }
}

#[test]
fn units_are_shared_as_the_page_says() {
    let fp = |op| Binary::Fp(op).alu();
    assert_eq!(
        [fp(FpBinary::AddF), fp(FpBinary::SubF), fp(FpBinary::MulF(Multiplier::Fma))],
        [Alu::FpFma; 3]
    );
    assert_eq!([FpTernary::FmaF.alu(), FpTernary::MaskFmaF.alu()], [Alu::FpFma; 2]);
    for function in Function::ALL {
        let exponential = matches!(function, Function::Exp | Function::NegExp);
        assert_eq!(function.alu(), if exponential { Alu::FpExp } else { fp(FpBinary::DivF) });
    }
    assert_eq!(Binary::ClipI32(ClipI32::AbsMax).alu(), Binary::ClipF32(ClipF32::Max).alu());
}
