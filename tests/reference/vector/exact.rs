//! The unary functions of the float cluster, correctly rounded: the `f32` that is nearest to the exact value of the
//! exact function, ties to even.
//!
//! [`correctly_rounded`] is the judge. It asks `f64` first, and believes it where every number within `DOUBT` of the answer
//! rounds to one `f32`. Otherwise, and always in [`by_series`], series are summed in fixed point with more and more
//! bits until every number within the error rounds to one `f32`. No exact value lies on a tie (the functions
//! are transcendental but at the arguments that are dealt with first), so the loop ends.

use super::big::Big;

/// A unary function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Function {
    /// `e^x`.
    Exp,
    /// `e^(-x)`.
    NegExp,
    /// The IEEE square root.
    Sqrt,
    /// Hyperbolic tangent.
    Tanh,
    /// `1 / (1 + e^(-x))`, rounded once.
    Sigmoid,
    /// The error function.
    Erf,
    /// Natural logarithm.
    Log,
    /// Sine of radians.
    Sin,
    /// Cosine of radians.
    Cos,
}

impl Function {
    /// All of them.
    pub const ALL: [Function; 9] = [
        Function::Exp,
        Function::NegExp,
        Function::Sqrt,
        Function::Tanh,
        Function::Sigmoid,
        Function::Erf,
        Function::Log,
        Function::Sin,
        Function::Cos,
    ];
}

/// The relative error that `f64` functions are granted: thousands of units of their last place.
const DOUBT: f64 = 1.0 / (1u64 << 40) as f64;
/// Errors of sums in fixed point stay below `2^SLACK` units of the last place. There are fewer than 2^12
/// operations, each is wrong by a unit at most, and no error is multiplied by more than 2^24.
const SLACK: usize = 40;

/// The nearest `f32`. NaN gives NaN.
pub fn correctly_rounded(function: Function, x: f32) -> f32 {
    if let Some(result) = special(function, x) {
        return result;
    }
    let guess = in_f64(function, f64::from(x));
    let ends = [(guess * (1.0 - DOUBT)) as f32, (guess * (1.0 + DOUBT)) as f32];
    if ends[0].to_bits() == ends[1].to_bits() { ends[0] } else { by_series(function, x) }
}

/// Arguments whose value is exact, and those beyond which every value rounds to one number.
pub fn special(function: Function, x: f32) -> Option<f32> {
    use Function::{Cos, Erf, Exp, Log, NegExp, Sigmoid, Sin, Sqrt, Tanh};
    if x.is_nan() {
        return Some(f32::NAN);
    }
    match function {
        Sqrt => Some(x.sqrt()),
        // e^90 > 2^129 and e^-105 < 2^-151.
        Exp if x > 90.0 => Some(f32::INFINITY),
        Exp if x < -105.0 => Some(0.0),
        Exp => (x == 0.0).then_some(1.0),
        NegExp => special(Exp, -x),
        Sigmoid if x > 105.0 => Some(1.0),
        Sigmoid if x < -105.0 => Some(0.0),
        Sigmoid => (x == 0.0).then_some(0.5),
        // 1 - tanh(20) < 2^-50 and 1 - erf(6) < 2^-50.
        Tanh if x.abs() > 20.0 => Some(1f32.copysign(x)),
        Erf if x.abs() > 6.0 => Some(1f32.copysign(x)),
        Tanh | Erf => (x == 0.0).then_some(x),
        Log if x == 0.0 => Some(f32::NEG_INFINITY),
        Log if x < 0.0 => Some(f32::NAN),
        Log if x == 1.0 => Some(0.0),
        Log => x.is_infinite().then_some(x),
        Sin | Cos if x.is_infinite() => Some(f32::NAN),
        Sin => (x == 0.0).then_some(x),
        Cos => (x == 0.0).then_some(1.0),
    }
}

/// The function in 64 bits, by the host.
pub fn in_f64(function: Function, x: f64) -> f64 {
    match function {
        Function::Exp => x.exp(),
        Function::NegExp => (-x).exp(),
        Function::Sqrt => x.sqrt(),
        Function::Tanh => x.tanh(),
        Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Function::Erf => {
            // 2/√π · e^(-x²) · Σ 2^n x^(2n+1) / (1·3·…·(2n+1)): all terms have one sign.
            let (mut term, mut sum, mut odd) = (x, 0.0, 1.0);
            while term != 0.0 && sum + term != sum {
                sum += term;
                odd += 2.0;
                term *= 2.0 * x * x / odd;
            }
            std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
        }
        Function::Log => x.ln(),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
    }
}

/// As [`correctly_rounded`], by series alone.
///
/// # Panics
/// When 5120 bits do not suffice.
pub fn by_series(function: Function, x: f32) -> f32 {
    (0..5).find_map(|k| at_precision(function, x, 320 << k)).expect("the exact value lies on no tie")
}

/// The result with `places` bits after the point, at least 320, or `None` if they do not decide it.
pub fn at_precision(function: Function, x: f32, places: usize) -> Option<f32> {
    if let Some(result) = special(function, x) {
        return Some(result);
    }
    let fixed = Fixed { places };
    let magnitude = fixed.number(x);
    let negative = x < 0.0;
    let one = fixed.one();
    // The value is mantissa * 2^(exponent - places), with a sign.
    let (sign, mantissa, exponent) = match function {
        Function::Exp | Function::NegExp => {
            let (mantissa, exponent) = fixed.exp(&magnitude, negative != (function == Function::NegExp));
            (false, mantissa, exponent)
        }
        Function::Sigmoid => {
            let small = fixed.shrunk_exp(&magnitude);
            let above = if negative { small.clone() } else { one.clone() };
            (false, fixed.div(&above, &one.add(&small)), 0)
        }
        Function::Tanh => {
            let small = fixed.shrunk_exp(&magnitude.shl(1));
            (negative, fixed.div(&one.sub(&small), &one.add(&small)), 0)
        }
        Function::Erf => (negative, fixed.erf(&magnitude), 0),
        Function::Log => {
            let (sign, mantissa) = fixed.log(x);
            (sign, mantissa, 0)
        }
        Function::Sin | Function::Cos => {
            let (turned, mantissa) = fixed.sine(x.abs(), function == Function::Cos);
            (turned != (negative && function == Function::Sin), mantissa, 0)
        }
        Function::Sqrt => unreachable!("the square root is always special"),
    };
    let error = Big::power_of_two(SLACK);
    if mantissa.compare(&error) == std::cmp::Ordering::Less {
        return None;
    }
    let round = |mantissa: Big| mantissa.to_f32(exponent - places as i32);
    let ends = [round(mantissa.sub(&error)), round(mantissa.add(&error))];
    (ends[0].to_bits() == ends[1].to_bits()).then_some(if sign { -ends[0] } else { ends[0] })
}

/// Numbers with a fixed point: a natural number counts units of `2^-places`.
#[derive(Clone, Copy)]
struct Fixed {
    places: usize,
}

impl Fixed {
    fn one(self) -> Big {
        Big::power_of_two(self.places)
    }

    /// The magnitude of an `f32`, exact: the last bit of the smallest one is `2^-149`.
    fn number(self, x: f32) -> Big {
        let code = x.to_bits();
        let (exponent, fraction) = (code >> 23 & 0xff, code & 0x7f_ffff);
        let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 23 };
        Big::from(u64::from(mantissa)).shl(self.places - 149 + (exponent.max(1) as usize - 1))
    }

    fn mul(self, a: &Big, b: &Big) -> Big {
        a.mul(b).shr(self.places)
    }

    fn div(self, a: &Big, b: &Big) -> Big {
        a.shl(self.places).div_rem(b).0
    }

    /// `z + z³/3 + z⁵/5 + …`, or with changing signs.
    fn odd_series(self, z: &Big, alternating: bool) -> Big {
        let square = self.mul(z, z);
        let (mut plus, mut minus) = (Big::zero(), Big::zero());
        let (mut power, mut n) = (z.clone(), 0u32);
        while !power.is_zero() {
            let sum = if alternating && n % 2 == 1 { &mut minus } else { &mut plus };
            *sum = sum.add(&power.div_small(2 * n + 1));
            power = self.mul(&power, &square);
            n += 1;
        }
        plus.sub(&minus)
    }

    /// `ln 2 = 2 artanh(1/3)`.
    fn ln_2(self) -> Big {
        self.odd_series(&self.one().div_small(3), false).shl(1)
    }

    /// `π = 16 arctan(1/5) - 4 arctan(1/239)`.
    fn pi(self) -> Big {
        let arctan = |n: u32| self.odd_series(&self.one().div_small(n), true);
        arctan(5).shl(4).sub(&arctan(239).shl(2))
    }

    /// `e^x` or `e^-x` as a number from 1 to 2, and a power of two.
    fn exp(self, x: &Big, negative: bool) -> (Big, i32) {
        let ln_2 = self.ln_2();
        let (mut count, mut rest) = x.div_rem(&ln_2);
        if negative {
            rest = ln_2.sub(&rest);
            count = count.add(&Big::from(1));
        }
        let exponent = i32::try_from(count.low()).expect("the argument is small");
        let (mut sum, mut term, mut n) = (Big::zero(), self.one(), 1);
        while !term.is_zero() {
            sum = sum.add(&term);
            term = self.mul(&term, &rest).div_small(n);
            n += 1;
        }
        (sum, if negative { -exponent } else { exponent })
    }

    /// `e^-x` in fixed point.
    fn shrunk_exp(self, x: &Big) -> Big {
        let (mantissa, exponent) = self.exp(x, true);
        mantissa.shr(exponent.unsigned_abs() as usize)
    }

    /// `2/√π · (x - x³/(3·1!) + x⁵/(5·2!) - …)`.
    fn erf(self, x: &Big) -> Big {
        let square = self.mul(x, x);
        let (mut plus, mut minus) = (Big::zero(), Big::zero());
        let (mut power, mut n) = (x.clone(), 0u32);
        while !power.is_zero() {
            let sum = if n % 2 == 1 { &mut minus } else { &mut plus };
            *sum = sum.add(&power.div_small(2 * n + 1));
            n += 1;
            power = self.mul(&power, &square).div_small(n);
        }
        let root = self.pi().shl(self.places).sqrt();
        self.div(&plus.sub(&minus).shl(1), &root)
    }

    /// `ln x` with its sign: `x = m · 2^e` with m from 1 to 2, and `ln m = 2 artanh((m - 1) / (m + 1))`.
    fn log(self, x: f32) -> (bool, Big) {
        let whole = self.number(x);
        let exponent = whole.bits() as i32 - 1 - self.places as i32;
        let mantissa =
            if exponent >= 0 { whole.shr(exponent as usize) } else { whole.shl(-exponent as usize) };
        let one = self.one();
        let quotient = self.div(&mantissa.sub(&one), &mantissa.add(&one));
        let inner = self.odd_series(&quotient, false).shl(1);
        let outer = self.ln_2().mul(&Big::from(u64::from(exponent.unsigned_abs())));
        match exponent {
            0.. => (false, outer.add(&inner)),
            _ if outer.compare(&inner) == std::cmp::Ordering::Less => (false, inner.sub(&outer)),
            _ => (true, outer.sub(&inner)),
        }
    }

    /// Sine or cosine of a magnitude, with its sign. The turns are taken away with 160 more bits.
    fn sine(self, x: f32, cosine: bool) -> (bool, Big) {
        let wide = Fixed { places: self.places + 160 };
        let (turns, rest) = wide.number(x).div_rem(&wide.pi().shr(1));
        let rest = rest.shr(160);
        let quarter = (turns.low() + u64::from(cosine)) % 4;
        // Even quarters continue as a sine, odd ones as a cosine; the second half turn is negative.
        let square = self.mul(&rest, &rest);
        let (mut plus, mut minus) = (Big::zero(), Big::zero());
        let odd = quarter % 2 == 1;
        let (mut term, mut n) = if odd { (self.one(), 0u32) } else { (rest, 1u32) };
        let mut negative = false;
        while !term.is_zero() {
            let sum = if negative { &mut minus } else { &mut plus };
            *sum = sum.add(&term);
            term = self.mul(&term, &square).div_small((n + 1) * (n + 2));
            n += 2;
            negative = !negative;
        }
        // The cosine just below a quarter turn is positive but for the error.
        let value =
            if plus.compare(&minus) == std::cmp::Ordering::Less { Big::zero() } else { plus.sub(&minus) };
        (quarter >= 2, value)
    }
}
