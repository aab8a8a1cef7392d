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
pub fn real(value: f32) -> Number {
    Number::Real(if value.is_nan() { f32::from_bits(MADE_NAN) } else { value })
}

/// An integer of 32 bits.
pub fn integer(value: i32) -> Number {
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
