//! The operators of the Vector Engine: what each computes, and which arithmetic unit it uses.
//!
//! `a`, `b` and `c` are the arguments after the argument mode has chosen them. The names are those of the specification.

use super::exact::{Function, correctly_rounded};
use crate::numbers::Number;

/// The two types of numbers in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// 32-bit two's complement.
    I32,
    /// IEEE single precision.
    F32,
}

impl Kind {
    /// The type of a number.
    pub fn of(number: Number) -> Kind {
        match number {
            Number::Integer(_) => Kind::I32,
            Number::Real(_) => Kind::F32,
        }
    }
}

/// An arithmetic unit. A pass uses each at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alu {
    LogicAnd,
    LogicOr,
    LogicXor,
    LogicLshift,
    LogicRshift,
    FxpAdd,
    FxpLshift,
    FxpMul,
    FxpRshift,
    FpFma,
    FpFpu,
    FpExp,
    FpMul0,
    FpMul1,
    ClipAdd,
    ClipMax,
    ClipMin,
    ReduceAccTree,
    ReduceFpDiv,
}

/// A multiplier of the float cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Multiplier {
    Mul0,
    Mul1,
    Fma,
}

impl Multiplier {
    fn alu(self) -> Alu {
        match self {
            Multiplier::Mul0 => Alu::FpMul0,
            Multiplier::Mul1 => Alu::FpMul1,
            Multiplier::Fma => Alu::FpFma,
        }
    }
}

/// A cluster of units, which is a stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cluster {
    Logic,
    Fxp,
    Fp,
    FpDiv,
    Clip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogicI32 {
    BitAnd,
    BitOr,
    BitXor,
    LeftShift,
    LogicRightShift,
    ArithRightShift,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogicF32 {
    BitAnd,
    BitOr,
    BitXor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fxp {
    AddFxp,
    AddFxpSat,
    SubFxp,
    SubFxpSat,
    LeftShift,
    LeftShiftSat,
    MulFxp,
    MulInt,
    LogicRightShift,
    ArithRightShift,
    ArithRightShiftRound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FpBinary {
    AddF,
    SubF,
    MulF(Multiplier),
    MaskMulF(Multiplier),
    DivF,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FpTernary {
    FmaF,
    MaskFmaF,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClipI32 {
    Min,
    Max,
    AbsMin,
    AbsMax,
    AddFxp,
    AddFxpSat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClipF32 {
    Min,
    Max,
    AbsMin,
    AbsMax,
    Add,
}

/// An operator with two arguments, of any cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binary {
    LogicI32(LogicI32),
    LogicF32(LogicF32),
    Fxp(Fxp),
    Fp(FpBinary),
    /// `FpDivBinaryOp::DivF`.
    FpDiv,
    ClipI32(ClipI32),
    ClipF32(ClipF32),
}

/// Which of two zeros the greater or the smaller one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroOrder {
    /// `max(-0, +0)` is +0 and `min(-0, +0)` is -0, in either order (`maximumNumber` of IEEE 754-2019).
    Signed,
    /// The second argument.
    Second,
    /// The first argument.
    First,
}

/// How the reference reads what the specification leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Of several operands that match an element, the first alone is applied. Otherwise all are, one after another.
    pub first_match: bool,
    /// The greater and the smaller of two zeros.
    pub zeros: ZeroOrder,
    /// Reduces skip elements that nobody wrote, like padding. Otherwise the result counts as not written.
    pub skips_unwritten: bool,
}

impl Default for Reading {
    /// What the specification recommends, and the order of zeros that does not depend on the host.
    fn default() -> Reading {
        Reading { first_match: true, zeros: ZeroOrder::Signed, skips_unwritten: true }
    }
}

/// A NaN that arithmetic made. The sign of such a NaN differs between hosts, and `vector_fp_to_fxp`, logic on bits
/// and comparisons of bits would show it: what they make of it is open.
pub const MADE_NAN: u32 = 0x7fc0_0bad;

/// Whether a number is a NaN of unknown sign.
pub fn is_made_nan(number: Number) -> bool {
    matches!(number, Number::Real(value) if value.to_bits() == MADE_NAN)
}

/// A result of arithmetic.
fn real(value: f32) -> Number {
    Number::Real(if value.is_nan() { f32::from_bits(MADE_NAN) } else { value })
}

fn integer(value: i32) -> Number {
    Number::Integer(value)
}

fn clamp(value: i64) -> i32 {
    value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// The five low bits of a shift count: counts below 0 and above 31 wrap.
fn count(b: i32) -> u32 {
    b as u32 % 32
}

fn logic_i32(op: LogicI32, a: i32, b: i32) -> i32 {
    match op {
        LogicI32::BitAnd => a & b,
        LogicI32::BitOr => a | b,
        LogicI32::BitXor => a ^ b,
        LogicI32::LeftShift => (i64::from(a) << count(b)) as i32,
        LogicI32::LogicRightShift => (u64::from(a as u32) >> count(b)) as u32 as i32,
        LogicI32::ArithRightShift => i64::from(a).div_euclid(1 << count(b)) as i32,
    }
}

fn logic_f32(op: LogicF32, a: f32, b: f32) -> f32 {
    f32::from_bits(match op {
        LogicF32::BitAnd => a.to_bits() & b.to_bits(),
        LogicF32::BitOr => a.to_bits() | b.to_bits(),
        LogicF32::BitXor => a.to_bits() ^ b.to_bits(),
    })
}

fn fxp(op: Fxp, a: i32, b: i32) -> i32 {
    let (x, y) = (i64::from(a), i64::from(b));
    match op {
        Fxp::AddFxp => (x + y) as i32,
        Fxp::AddFxpSat => clamp(x + y),
        Fxp::SubFxp => (x - y) as i32,
        Fxp::SubFxpSat => clamp(x - y),
        Fxp::LeftShift => logic_i32(LogicI32::LeftShift, a, b),
        Fxp::LeftShiftSat => clamp(x << count(b)),
        // The product over 2^31, half toward +∞. Only MIN · MIN leaves the range.
        Fxp::MulFxp => clamp((x * y + (1 << 30)).div_euclid(1 << 31)),
        Fxp::MulInt => (x * y) as i32,
        Fxp::LogicRightShift => logic_i32(LogicI32::LogicRightShift, a, b),
        Fxp::ArithRightShift => logic_i32(LogicI32::ArithRightShift, a, b),
        // a over 2^b, half toward +∞.
        Fxp::ArithRightShiftRound => {
            let unit = 1i64 << count(b);
            (x + unit / 2).div_euclid(unit) as i32
        }
    }
}

fn extreme(greatest: bool, a: f32, b: f32, zeros: ZeroOrder) -> Number {
    if a.is_nan() || b.is_nan() {
        // A number wins over a NaN.
        return if a.is_nan() { if b.is_nan() { real(b) } else { Number::Real(b) } } else { Number::Real(a) };
    }
    if a == b {
        let negative = a.is_sign_negative();
        return Number::Real(match zeros {
            ZeroOrder::Second => b,
            ZeroOrder::First => a,
            ZeroOrder::Signed => {
                if negative == greatest {
                    b
                } else {
                    a
                }
            }
        });
    }
    Number::Real(if (a > b) == greatest { a } else { b })
}

impl Binary {
    /// The stage it belongs to.
    pub fn cluster(self) -> Cluster {
        match self {
            Binary::LogicI32(_) | Binary::LogicF32(_) => Cluster::Logic,
            Binary::Fxp(_) => Cluster::Fxp,
            Binary::Fp(_) => Cluster::Fp,
            Binary::FpDiv => Cluster::FpDiv,
            Binary::ClipI32(_) | Binary::ClipF32(_) => Cluster::Clip,
        }
    }

    /// The type of its arguments and of its result.
    pub fn kind(self) -> Kind {
        match self {
            Binary::LogicI32(_) | Binary::Fxp(_) | Binary::ClipI32(_) => Kind::I32,
            Binary::LogicF32(_) | Binary::Fp(_) | Binary::FpDiv | Binary::ClipF32(_) => Kind::F32,
        }
    }

    /// Its unit.
    pub fn alu(self) -> Alu {
        match self {
            Binary::LogicI32(op) => match op {
                LogicI32::BitAnd => Alu::LogicAnd,
                LogicI32::BitOr => Alu::LogicOr,
                LogicI32::BitXor => Alu::LogicXor,
                LogicI32::LeftShift => Alu::LogicLshift,
                LogicI32::LogicRightShift | LogicI32::ArithRightShift => Alu::LogicRshift,
            },
            Binary::LogicF32(op) => match op {
                LogicF32::BitAnd => Alu::LogicAnd,
                LogicF32::BitOr => Alu::LogicOr,
                LogicF32::BitXor => Alu::LogicXor,
            },
            Binary::Fxp(op) => match op {
                Fxp::AddFxp | Fxp::AddFxpSat | Fxp::SubFxp | Fxp::SubFxpSat => Alu::FxpAdd,
                Fxp::LeftShift | Fxp::LeftShiftSat => Alu::FxpLshift,
                Fxp::MulFxp | Fxp::MulInt => Alu::FxpMul,
                Fxp::LogicRightShift | Fxp::ArithRightShift | Fxp::ArithRightShiftRound => Alu::FxpRshift,
            },
            Binary::Fp(op) => match op {
                FpBinary::AddF | FpBinary::SubF => Alu::FpFma,
                FpBinary::MulF(multiplier) | FpBinary::MaskMulF(multiplier) => multiplier.alu(),
                FpBinary::DivF => Alu::FpFpu,
            },
            Binary::FpDiv => Alu::ReduceFpDiv,
            Binary::ClipI32(op) => match op {
                ClipI32::Min | ClipI32::AbsMin => Alu::ClipMin,
                ClipI32::Max | ClipI32::AbsMax => Alu::ClipMax,
                ClipI32::AddFxp | ClipI32::AddFxpSat => Alu::ClipAdd,
            },
            Binary::ClipF32(op) => match op {
                ClipF32::Min | ClipF32::AbsMin => Alu::ClipMin,
                ClipF32::Max | ClipF32::AbsMax => Alu::ClipMax,
                ClipF32::Add => Alu::ClipAdd,
            },
        }
    }

    /// Whether the bits of a NaN show in the result.
    pub fn reads_bits(self) -> bool {
        matches!(self, Binary::LogicF32(_))
    }

    /// The result. `None`: the specification gives the operator no meaning.
    ///
    /// # Panics
    /// When the numbers are not of the operator's type.
    pub fn apply(self, a: Number, b: Number, zeros: ZeroOrder) -> Option<Number> {
        Some(match (self, a, b) {
            (Binary::LogicI32(op), Number::Integer(a), Number::Integer(b)) => integer(logic_i32(op, a, b)),
            (Binary::Fxp(op), Number::Integer(a), Number::Integer(b)) => integer(fxp(op, a, b)),
            (Binary::ClipI32(op), Number::Integer(a), Number::Integer(b)) => integer(match op {
                ClipI32::Min => a.min(b),
                ClipI32::Max => a.max(b),
                ClipI32::AbsMin => {
                    if a.unsigned_abs() < b.unsigned_abs() {
                        a
                    } else {
                        b
                    }
                }
                ClipI32::AbsMax => {
                    if a.unsigned_abs() > b.unsigned_abs() {
                        a
                    } else {
                        b
                    }
                }
                ClipI32::AddFxp => fxp(Fxp::AddFxp, a, b),
                ClipI32::AddFxpSat => fxp(Fxp::AddFxpSat, a, b),
            }),
            // The bits are the result, a NaN among them is not made by arithmetic.
            (Binary::LogicF32(op), Number::Real(a), Number::Real(b)) => Number::Real(logic_f32(op, a, b)),
            (Binary::Fp(op), Number::Real(a), Number::Real(b)) => real(match op {
                FpBinary::AddF => a + b,
                FpBinary::SubF => a - b,
                FpBinary::MulF(_) => a * b,
                FpBinary::DivF => a / b,
                FpBinary::MaskMulF(_) => return None,
            }),
            (Binary::FpDiv, Number::Real(a), Number::Real(b)) => real(a / b),
            (Binary::ClipF32(op), Number::Real(a), Number::Real(b)) => match op {
                ClipF32::Min => extreme(false, a, b, zeros),
                ClipF32::Max => extreme(true, a, b, zeros),
                // The operand that is chosen stays as it is, a NaN too.
                ClipF32::AbsMin => Number::Real(if a.abs() < b.abs() { a } else { b }),
                ClipF32::AbsMax => Number::Real(if a.abs() > b.abs() { a } else { b }),
                ClipF32::Add => real(a + b),
            },
            _ => panic!("{self:?} of {a:?} and {b:?}"),
        })
    }
}

impl FpTernary {
    /// Its unit.
    pub fn alu(self) -> Alu {
        Alu::FpFma
    }

    /// `a · b + c`, rounded once. `None`: the specification gives the operator no meaning.
    pub fn apply(self, a: f32, b: f32, c: f32) -> Option<Number> {
        (self == FpTernary::FmaF).then(|| real(a.mul_add(b, c)))
    }
}

impl Function {
    /// Its unit.
    pub fn alu(self) -> Alu {
        if matches!(self, Function::Exp | Function::NegExp) { Alu::FpExp } else { Alu::FpFpu }
    }

    /// The correctly rounded value.
    pub fn apply(self, x: f32) -> Number {
        real(correctly_rounded(self, x))
    }
}

/// An operator of the reduce within a slice. Its unit is `ReduceAccTree`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IntraOp {
    I32AddSat,
    I32Max,
    I32Min,
    F32Add,
    F32Max,
    F32Min,
}

/// An operator of the reduce between slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InterOp {
    I32Add,
    I32AddSat,
    I32Max,
    I32Min,
    F32Add,
    F32Max,
    F32Min,
    F32Mul,
}

impl IntraOp {
    /// All of them.
    pub const ALL: [IntraOp; 6] = [
        IntraOp::I32AddSat,
        IntraOp::I32Max,
        IntraOp::I32Min,
        IntraOp::F32Add,
        IntraOp::F32Max,
        IntraOp::F32Min,
    ];

    /// The same operator of two arguments.
    pub fn binary(self) -> Binary {
        match self {
            IntraOp::I32AddSat => Binary::ClipI32(ClipI32::AddFxpSat),
            IntraOp::I32Max => Binary::ClipI32(ClipI32::Max),
            IntraOp::I32Min => Binary::ClipI32(ClipI32::Min),
            IntraOp::F32Add => Binary::ClipF32(ClipF32::Add),
            IntraOp::F32Max => Binary::ClipF32(ClipF32::Max),
            IntraOp::F32Min => Binary::ClipF32(ClipF32::Min),
        }
    }
}

impl InterOp {
    /// All of them.
    pub const ALL: [InterOp; 8] = [
        InterOp::I32Add,
        InterOp::I32AddSat,
        InterOp::I32Max,
        InterOp::I32Min,
        InterOp::F32Add,
        InterOp::F32Max,
        InterOp::F32Min,
        InterOp::F32Mul,
    ];

    /// The same operator of two arguments.
    pub fn binary(self) -> Binary {
        match self {
            InterOp::I32Add => Binary::ClipI32(ClipI32::AddFxp),
            InterOp::I32AddSat => Binary::ClipI32(ClipI32::AddFxpSat),
            InterOp::I32Max => Binary::ClipI32(ClipI32::Max),
            InterOp::I32Min => Binary::ClipI32(ClipI32::Min),
            InterOp::F32Add => Binary::ClipF32(ClipF32::Add),
            InterOp::F32Max => Binary::ClipF32(ClipF32::Max),
            InterOp::F32Min => Binary::ClipF32(ClipF32::Min),
            InterOp::F32Mul => Binary::Fp(FpBinary::MulF(Multiplier::Fma)),
        }
    }
}

/// The fold of numbers from left to right, the first is where it begins. `None` for no numbers.
pub fn fold(op: Binary, numbers: impl IntoIterator<Item = Number>, zeros: ZeroOrder) -> Option<Number> {
    numbers.into_iter().reduce(|a, b| op.apply(a, b, zeros).expect("operators of reduces have a meaning"))
}

/// `vector_fxp_to_fp`: `x · 2^(width - 31)`, to the nearest `f32`, ties to even.
pub fn fxp_to_fp(x: i32, width: u32) -> f32 {
    // 32 bits and a power of two are exact in f64.
    (f64::from(x) * 2f64.powi(width as i32 - 31)) as f32
}

/// `vector_fp_to_fxp`: `x · 2^(31 - width)`, half away from zero, at most the ends of the range. A NaN goes to the end
/// that its sign says.
pub fn fp_to_fxp(x: f32, width: u32) -> i32 {
    if x.is_nan() {
        return if x.is_sign_negative() { i32::MIN } else { i32::MAX };
    }
    // 24 bits and a power of two are exact in f64, but for infinities.
    let scaled = f64::from(x) * 2f64.powi(31 - width as i32);
    let whole = scaled.trunc();
    let away = if (scaled - whole).abs() >= 0.5 { whole + 1f64.copysign(scaled) } else { whole };
    if away >= f64::from(i32::MAX) {
        i32::MAX
    } else if away <= f64::from(i32::MIN) {
        i32::MIN
    } else {
        away as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

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
        // The formula of the page, word by word.
        let mut random = Random::new(5);
        for _ in 0..2000 {
            let (a, b) = (random.bits() as i32, (random.bits() >> 20) as i32);
            let page = (((i64::from(a) * i64::from(b)) >> 30) + 1) >> 1;
            integers(Binary::Fxp(Fxp::MulFxp), a, b, page as i32);
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
        assert!(
            Binary::Fp(FpBinary::MaskMulF(Multiplier::Mul0)).apply(real(1.0), real(1.0), ZEROS).is_none()
        );
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
    fn folds_depend_on_their_order() {
        let sum =
            |values: &[i32]| fold(IntraOp::I32AddSat.binary(), values.iter().map(|v| integer(*v)), ZEROS);
        assert_eq!(sum(&[MAX, 1, -1]), Some(integer(MAX - 1)));
        assert_eq!(sum(&[1, -1, MAX]), Some(integer(MAX)));
        assert_eq!(sum(&[]), None);
        // Nothing is added before the first number: a sum of negative zeros keeps its sign.
        let zeros = [-0.0f32, -0.0].map(Number::Real);
        assert_eq!(fold(IntraOp::F32Add.binary(), zeros, ZEROS), Some(Number::Real(-0.0)));
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
}
