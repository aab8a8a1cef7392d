//! Element types: what a code means, by formula, and the nearest code of a number.

/// An element type of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// 4-bit two's complement.
    I4,
    /// 1 sign, 2 exponent, 1 mantissa bit; no infinity, no NaN.
    F4E2M1,
    /// 5-bit two's complement, in packets of 4-bit elements.
    I5,
    /// 8-bit two's complement.
    I8,
    /// 9-bit two's complement, in packets of 8-bit elements.
    I9,
    /// 16-bit two's complement.
    I16,
    /// 1 sign, 4 exponent, 3 mantissa bits; no infinity.
    F8E4M3,
    /// 1 sign, 5 exponent, 2 mantissa bits.
    F8E5M2,
    /// 1 sign, 8 exponent, 7 mantissa bits.
    Bf16,
    /// IEEE half precision.
    F16,
    /// 32-bit two's complement.
    I32,
    /// IEEE single precision.
    F32,
}

/// A number as the engines compute with it. All narrow types are exact in it.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Of the integer types.
    Integer(i32),
    /// Of the floating types.
    Real(f32),
}

impl PartialEq for Number {
    /// Bit for bit: signed zeros differ. All NaN are one, since payloads are not specified.
    fn eq(&self, other: &Number) -> bool {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a == b,
            (Number::Real(a), Number::Real(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            _ => false,
        }
    }
}

impl ElementType {
    /// Bits per element in memory and in packets.
    pub fn bits(self) -> usize {
        match self {
            ElementType::I4 | ElementType::I5 | ElementType::F4E2M1 => 4,
            ElementType::I8 | ElementType::I9 | ElementType::F8E4M3 | ElementType::F8E5M2 => 8,
            ElementType::I16 | ElementType::Bf16 | ElementType::F16 => 16,
            ElementType::I32 | ElementType::F32 => 32,
        }
    }

    /// Bits of a code.
    pub fn code_bits(self) -> usize {
        match self {
            ElementType::I5 => 5,
            ElementType::I9 => 9,
            _ => self.bits(),
        }
    }

    /// Elements in one 32-byte flit.
    pub fn per_flit(self) -> usize {
        256 / self.bits()
    }

    /// Whether the numbers are integers.
    pub fn is_integer(self) -> bool {
        use ElementType::{I4, I5, I8, I9, I16, I32};
        matches!(self, I4 | I5 | I8 | I9 | I16 | I32)
    }

    /// The number that a code means. Bits above [`ElementType::code_bits`] are ignored.
    pub fn decode(self, code: u32) -> Number {
        match self {
            ElementType::I4 => Number::Integer(signed(code, 4)),
            ElementType::I5 => Number::Integer(signed(code, 5)),
            ElementType::I8 => Number::Integer(signed(code, 8)),
            ElementType::I9 => Number::Integer(signed(code, 9)),
            ElementType::I16 => Number::Integer(signed(code, 16)),
            ElementType::I32 => Number::Integer(code as i32),
            ElementType::F4E2M1 => Number::Real(formula(code & 0xf, 2, 1)),
            ElementType::F8E4M3 if code & 0x7f == 0x7f => Number::Real(f32::NAN),
            ElementType::F8E4M3 => Number::Real(formula(code, 4, 3)),
            ElementType::F8E5M2 => Number::Real(special(code, 5, 2).unwrap_or_else(|| formula(code, 5, 2))),
            ElementType::Bf16 => Number::Real(special(code, 8, 7).unwrap_or_else(|| formula(code, 8, 7))),
            ElementType::F16 => Number::Real(special(code, 5, 10).unwrap_or_else(|| formula(code, 5, 10))),
            ElementType::F32 => Number::Real(f32::from_bits(code)),
        }
    }

    /// The code of a number: integers keep the low bits, reals go to the nearest code, ties to the even one.
    /// `f8e4m3` has no infinity and stays at ±448; `f8e5m2` and `bf16` overflow to infinity.
    ///
    /// # Panics
    /// When an integer is given to a floating type or the other way round.
    pub fn encode(self, number: Number) -> u32 {
        let mask = if self.bits() == 32 { u32::MAX } else { (1 << self.code_bits()) - 1 };
        match (self, number) {
            (ElementType::F32, Number::Real(value)) => value.to_bits(),
            (_, Number::Integer(value)) if self.is_integer() => value as u32 & mask,
            // Nearest, and of two equally near ones that with the lower code.
            (ElementType::F4E2M1, Number::Real(value)) => {
                let distance =
                    |code| (f64::from(formula(code, 2, 1)) - f64::from(value.clamp(-6.0, 6.0))).abs();
                (0..16).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).expect("there are codes")
            }
            (ElementType::F8E4M3, Number::Real(value)) if value.is_nan() => 0x7f,
            (ElementType::F8E5M2, Number::Real(value)) if value.is_nan() => 0x7e,
            (ElementType::Bf16, Number::Real(value)) if value.is_nan() => 0x7fc0,
            (ElementType::F16, Number::Real(value)) if value.is_nan() => 0x7e00,
            (ElementType::F8E4M3, Number::Real(value)) => nearest(value, 0x80, 0x7e, 512.0, false, 4, 3),
            (ElementType::F8E5M2, Number::Real(value)) => nearest(value, 0x80, 0x7b, 65536.0, true, 5, 2),
            (ElementType::Bf16, Number::Real(value)) => {
                nearest(value, 0x8000, 0x7f7f, 2f64.powi(128), true, 8, 7)
            }
            (ElementType::F16, Number::Real(value)) => nearest(value, 0x8000, 0x7bff, 65536.0, true, 5, 10),
            _ => panic!("{number:?} is no number of {self:?}"),
        }
    }

    /// The nearest number of this type, as a number.
    pub fn round(self, number: Number) -> Number {
        self.decode(self.encode(number))
    }
}

fn signed(code: u32, bits: u32) -> i32 {
    ((code << (32 - bits)) as i32) >> (32 - bits)
}

/// Sign, exponent and mantissa by the formula of all these formats.
fn formula(code: u32, exponent_bits: u32, mantissa_bits: u32) -> f32 {
    let bias = (1i32 << (exponent_bits - 1)) - 1;
    let mantissa = f64::from(code & ((1 << mantissa_bits) - 1));
    let exponent = (code >> mantissa_bits & ((1 << exponent_bits) - 1)) as i32;
    let one = f64::from(1u32 << mantissa_bits);
    let magnitude = if exponent == 0 {
        mantissa / one * 2f64.powi(1 - bias)
    } else {
        (1.0 + mantissa / one) * 2f64.powi(exponent - bias)
    };
    let negative = code >> (mantissa_bits + exponent_bits) & 1 == 1;
    (if negative { -magnitude } else { magnitude }) as f32
}

fn special(code: u32, exponent_bits: u32, mantissa_bits: u32) -> Option<f32> {
    let all_ones = (1 << exponent_bits) - 1;
    if code >> mantissa_bits & all_ones != all_ones {
        return None;
    }
    if code & ((1 << mantissa_bits) - 1) != 0 {
        return Some(f32::NAN);
    }
    Some(if code >> (mantissa_bits + exponent_bits) & 1 == 1 { f32::NEG_INFINITY } else { f32::INFINITY })
}

/// Searches all positive codes up to `largest` for the two neighbours of the magnitude. `beyond` is the value
/// that the code after `largest` would have; it stands for infinity if `overflows`.
fn nearest(
    value: f32,
    sign: u32,
    largest: u32,
    beyond: f64,
    overflows: bool,
    exponent_bits: u32,
    mantissa_bits: u32,
) -> u32 {
    let magnitude = f64::from(value).abs();
    let at = |code: u32| {
        if code > largest { beyond } else { f64::from(formula(code, exponent_bits, mantissa_bits)) }
    };
    // The values grow with the codes: the last code that is not above the magnitude, by halving.
    let (mut low, mut high) = (0, largest + 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if at(middle) <= magnitude { low = middle } else { high = middle }
    }
    let (below, above) = (magnitude - at(low), at(high) - magnitude);
    let up = above < below || (above == below && low % 2 == 1);
    let code = if up { high } else { low };
    let code = if code > largest && !overflows { largest } else { code };
    if value.is_sign_negative() { code | sign } else { code }
}
