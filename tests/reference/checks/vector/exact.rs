use reference::random::Random;
use reference::vector::exact::*;

fn check(function: Function, x: f32, expected: u32) {
    for (way, value) in [("f64", correctly_rounded(function, x)), ("series", by_series(function, x))] {
        assert_eq!(value.to_bits(), expected, "{function:?}({x:e}) is {value:e}, by {way}");
    }
}

/// Values of tables, and arguments whose results can be found by hand: they lie next to a tie or to a number.
#[test]
fn known_values() {
    use Function::*;
    check(Exp, 1.0, 0x402d_f854);
    check(NegExp, 1.0, 0x3ebc_5ab2);
    check(Log, 2.0, 0x3f31_7218);
    check(Log, 10.0, 0x4013_5d8e);
    check(Sin, 1.0, 0x3f57_6aa4);
    check(Cos, 1.0, 0x3f0a_5140);
    check(Sin, std::f32::consts::PI, 0xb3bb_bd2e);
    check(Cos, std::f32::consts::FRAC_PI_2, 0xb33b_bd2e);
    check(Tanh, 0.5, 0x3eec_9a9f);
    check(Sigmoid, 1.0, 0x3f3b_26a8);
    check(Erf, 0.5, 0x3f05_3f7b);
    check(Erf, 1.0, 0x3f57_bb3d);
    // e^x = 1 + x + x²/2: just above the tie between 1 and its neighbour.
    check(Exp, 2f32.powi(-24), 0x3f80_0001);
    check(Exp, -2f32.powi(-25), 0x3f80_0000);
    check(Exp, -2f32.powi(-24), 0x3f7f_ffff);
    // cos x = 1 - x²/2 + x⁴/24: just above the tie below 1.
    check(Cos, 2f32.powi(-12), 0x3f80_0000);
    check(Cos, 2f32.powi(-12) * (1.0 + f32::EPSILON), 0x3f7f_ffff);
    // ln(1 + x) = x - x²/2 + x³/3.
    check(Log, 1.0 + f32::EPSILON, 0x33ff_ffff);
    // sin x = x - x³/6, tanh x = x - x³/3: x itself for every small x.
    for code in [1, 2, 3, 0x7f_ffff, 0x80_0000, 0x3000_0000, 0x3800_0001] {
        check(Sin, f32::from_bits(code), code);
        check(Tanh, f32::from_bits(code), code);
        check(Tanh, -f32::from_bits(code), code | 1 << 31);
    }
    // 2/√π = 1.128…: the smallest number stays, the eighth becomes the ninth.
    check(Erf, f32::from_bits(1), 1);
    check(Erf, f32::from_bits(8), 9);
}

#[test]
fn ends_of_the_ranges() {
    use Function::*;
    // ln(f32::MAX) is 88.72283…, and 2^-150 is e^-103.97…
    check(Exp, 88.722_83, 0x7f7f_ff84);
    check(Exp, 88.722_84, 0x7f80_0000);
    // 150 ln 2 is 103.972077084: its neighbours are 103.97207642 and 103.97208405.
    check(Exp, -103.972_084, 0);
    check(Exp, -103.972_08, 1);
    for (function, below, above) in [
        (Exp, 0.0, f32::INFINITY),
        (NegExp, f32::INFINITY, 0.0),
        (Tanh, -1.0, 1.0),
        (Erf, -1.0, 1.0),
        (Sigmoid, 0.0, 1.0),
    ] {
        for x in [106.0, 1e30, f32::MAX, f32::INFINITY] {
            check(function, -x, f32::to_bits(below));
            check(function, x, f32::to_bits(above));
        }
    }
    check(Sigmoid, 17.4, 0x3f80_0000);
    check(Sigmoid, 17.3, 0x3f7f_ffff);
    check(Log, f32::from_bits(1), 0xc2ce_8ed0);
    check(Log, f32::MAX, 0x42b1_7218);
    check(Log, 0.0, f32::NEG_INFINITY.to_bits());
    check(Log, -0.0, f32::NEG_INFINITY.to_bits());
    check(Log, f32::INFINITY, f32::INFINITY.to_bits());
    check(Log, 1.0, 0);
    for function in [Sin, Tanh, Erf, Sqrt] {
        check(function, -0.0, 1 << 31);
        check(function, 0.0, 0);
    }
    for function in Function::ALL {
        assert!(correctly_rounded(function, f32::NAN).is_nan());
        assert!(correctly_rounded(function, -f32::NAN).is_nan());
    }
    for x in [f32::INFINITY, f32::NEG_INFINITY] {
        assert!(correctly_rounded(Sin, x).is_nan() && correctly_rounded(Cos, x).is_nan());
    }
    assert!(correctly_rounded(Log, -1.0).is_nan() && correctly_rounded(Sqrt, -1.0).is_nan());
}

/// The largest arguments lose all their turns and keep 24 bits.
#[test]
fn turns_of_huge_arguments() {
    let (sine, cosine) = (by_series(Function::Sin, f32::MAX), by_series(Function::Cos, f32::MAX));
    assert!((sine - -0.521_876_5).abs() < 1e-6 && (cosine - 0.853_021).abs() < 1e-5, "{sine} {cosine}");
    assert!((sine * sine + cosine * cosine - 1.0).abs() < 1e-6);
}

/// `f64` and the series agree, and twice the bits change nothing.
#[test]
fn series_equal_f64_and_themselves_at_twice_the_bits() {
    let mut random = Random::new(3);
    for round in 0..400 {
        for function in Function::ALL {
            let any = f32::from_bits((random.bits() >> 32) as u32);
            let x = if round % 4 == 0 { any } else { (random.below(1 << 24) as f32 / 4e5 - 20.0) * 0.7 };
            let (quick, slow) = (correctly_rounded(function, x), by_series(function, x));
            assert!(quick.to_bits() == slow.to_bits() || quick.is_nan(), "{function:?} {x:e} {slow:e}");
            if round % 20 == 0 && !slow.is_nan() {
                let twice = at_precision(function, x, 640).map(f32::to_bits);
                assert_eq!(twice, Some(slow.to_bits()), "{function:?} {x:e}");
            }
        }
    }
}

/// Of many arguments, those whose values come nearest to a tie: the series decide them alike at every precision,
/// and the exact value lies on the side that is said.
#[test]
fn hard_cases_that_are_searched() {
    let mut random = Random::new(4);
    for function in Function::ALL.into_iter().filter(|function| *function != Function::Sqrt) {
        let mut hardest = (1.0, 0.0);
        for _ in 0..20_000 {
            let x = f32::from_bits(0x3a00_0000 + random.below(0x0800_0000) as u32);
            if special(function, x).is_some() {
                continue;
            }
            let value = in_f64(function, f64::from(x)).abs();
            // The distance from a tie, as a part of the distance of two numbers. Bits below those of an f32.
            let part = (value.to_bits() & 0x1fff_ffff) as f64 / f64::from(0x2000_0000);
            if (part - 0.5).abs() < hardest.0 && value > 1e-30 {
                hardest = ((part - 0.5).abs(), x);
            }
        }
        assert!(hardest.0 < 1e-3);
        let x = hardest.1;
        let results = [320, 640, 1280].map(|places| at_precision(function, x, places).map(f32::to_bits));
        assert_eq!(results, [Some(correctly_rounded(function, x).to_bits()); 3], "{function:?} {x:e}");
    }
}
