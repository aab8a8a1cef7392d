//! The operators of the Vector Engine: what each is called, which arithmetic unit it takes, and its arguments.

use crate::scalar::ElementType;
use core::fmt;

/// An arithmetic unit (ALU) of the Vector Engine. A pass uses each at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RngdAlu {
    /// Bitwise and.
    LogicAnd,
    /// Bitwise or.
    LogicOr,
    /// Bitwise exclusive or.
    LogicXor,
    /// Left shift of the logic cluster.
    LogicLshift,
    /// Right shift of the logic cluster.
    LogicRshift,
    /// Integer addition and subtraction.
    FxpAdd,
    /// Left shift of the fixed-point cluster.
    FxpLshift,
    /// Integer and fixed-point multiplication.
    FxpMul,
    /// Right shift of the fixed-point cluster.
    FxpRshift,
    /// Fused multiply-add.
    FpFma,
    /// Functions and division.
    FpFpu,
    /// Exponential functions.
    FpExp,
    /// The first multiplier.
    FpMul0,
    /// The second multiplier.
    FpMul1,
    /// Addition of the clip cluster.
    ClipAdd,
    /// Maximum.
    ClipMax,
    /// Minimum.
    ClipMin,
    /// The tree and the accumulator of an intra-slice reduce.
    ReduceAccTree,
    /// The division after an intra-slice reduce.
    ReduceFpDiv,
}

impl RngdAlu {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::LogicAnd,
        Self::LogicOr,
        Self::LogicXor,
        Self::LogicLshift,
        Self::LogicRshift,
        Self::FxpAdd,
        Self::FxpLshift,
        Self::FxpMul,
        Self::FxpRshift,
        Self::FpFma,
        Self::FpFpu,
        Self::FpExp,
        Self::FpMul0,
        Self::FpMul1,
        Self::ClipAdd,
        Self::ClipMax,
        Self::ClipMin,
        Self::ReduceAccTree,
        Self::ReduceFpDiv,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            RngdAlu::LogicAnd => "LogicAnd",
            RngdAlu::LogicOr => "LogicOr",
            RngdAlu::LogicXor => "LogicXor",
            RngdAlu::LogicLshift => "LogicLshift",
            RngdAlu::LogicRshift => "LogicRshift",
            RngdAlu::FxpAdd => "FxpAdd",
            RngdAlu::FxpLshift => "FxpLshift",
            RngdAlu::FxpMul => "FxpMul",
            RngdAlu::FxpRshift => "FxpRshift",
            RngdAlu::FpFma => "FpFma",
            RngdAlu::FpFpu => "FpFpu",
            RngdAlu::FpExp => "FpExp",
            RngdAlu::FpMul0 => "FpMul0",
            RngdAlu::FpMul1 => "FpMul1",
            RngdAlu::ClipAdd => "ClipAdd",
            RngdAlu::ClipMax => "ClipMax",
            RngdAlu::ClipMin => "ClipMin",
            RngdAlu::ReduceAccTree => "ReduceAccTree",
            RngdAlu::ReduceFpDiv => "ReduceFpDiv",
        }
    }
}

impl fmt::Display for RngdAlu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Enumerations of operators. Each prints as `Name::Variant`.
macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident => $alu:ident,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The arithmetic unit that it takes.
            pub const fn alu(&self) -> RngdAlu {
                match self { $($name::$variant => RngdAlu::$alu,)* }
            }

            /// The name, with that of the enumeration.
            pub const fn name(&self) -> &'static str {
                match self { $($name::$variant => concat!(stringify!($name), "::", stringify!($variant)),)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    )* };
}

operators! {
    /// Logic on `i32`. `a` is the first argument, `b` the second one.
    LogicBinaryOpI32 {
        /// `a & b`.
        BitAnd => LogicAnd,
        /// `a | b`.
        BitOr => LogicOr,
        /// `a ^ b`.
        BitXor => LogicXor,
        /// `a << b`. Of the count, the low five bits are used.
        LeftShift => LogicLshift,
        /// `a >> b` with zeros from the left.
        LogicRightShift => LogicRshift,
        /// `a >> b` with the sign from the left.
        ArithRightShift => LogicRshift,
    }
    /// Logic on the bits of `f32`.
    LogicBinaryOpF32 {
        /// `a & b`.
        BitAnd => LogicAnd,
        /// `a | b`.
        BitOr => LogicOr,
        /// `a ^ b`.
        BitXor => LogicXor,
    }
    /// Integers and fixed point. Of shift counts, the low five bits are used.
    FxpBinaryOp {
        /// `a + b`, modulo 2^32.
        AddFxp => FxpAdd,
        /// `a + b`, the nearest that `i32` has.
        AddFxpSat => FxpAdd,
        /// `a - b`, modulo 2^32.
        SubFxp => FxpAdd,
        /// `a - b`, the nearest that `i32` has.
        SubFxpSat => FxpAdd,
        /// `a << b`.
        LeftShift => FxpLshift,
        /// `a * 2^b`, the nearest that `i32` has.
        LeftShiftSat => FxpLshift,
        /// `a * b / 2^31`, rounded to nearest, halves up; `MIN * MIN` is `MAX`.
        MulFxp => FxpMul,
        /// `a * b`, modulo 2^32.
        MulInt => FxpMul,
        /// `a >> b` with zeros from the left.
        LogicRightShift => FxpRshift,
        /// `a >> b` with the sign from the left.
        ArithRightShift => FxpRshift,
        /// `a / 2^b`, rounded to nearest, halves up.
        ArithRightShiftRound => FxpRshift,
    }
    /// Functions of one `f32`, correctly rounded. The accuracy of the hardware is not known (assumed).
    FpUnaryOp {
        /// `e^x`.
        Exp => FpExp,
        /// `e^-x`.
        NegExp => FpExp,
        /// The square root.
        Sqrt => FpFpu,
        /// The hyperbolic tangent.
        Tanh => FpFpu,
        /// `1 / (1 + e^-x)`.
        Sigmoid => FpFpu,
        /// The error function.
        Erf => FpFpu,
        /// The natural logarithm.
        Log => FpFpu,
        /// The sine, of radians.
        Sin => FpFpu,
        /// The cosine, of radians.
        Cos => FpFpu,
    }
    /// Multiply-add.
    FpTernaryOp {
        /// `a * b + c`, rounded once.
        FmaF => FpFma,
        /// Named by the API, but no page says what it computes: refused.
        MaskFmaF => FpFma,
    }
    /// The division behind an intra-slice reduce.
    FpDivBinaryOp {
        /// `a / b`.
        DivF => ReduceFpDiv,
    }
    /// Limits of `i32`.
    ClipBinaryOpI32 {
        /// The lesser one.
        Min => ClipMin,
        /// The greater one.
        Max => ClipMax,
        /// The one that is nearer to 0; `b` where both are as near.
        AbsMin => ClipMin,
        /// The one that is farther from 0; `b` where both are as far.
        AbsMax => ClipMax,
        /// `a + b`, modulo 2^32.
        AddFxp => ClipAdd,
        /// `a + b`, the nearest that `i32` has.
        AddFxpSat => ClipAdd,
    }
    /// Limits of `f32`. A NaN loses to a number, and -0 is less than +0.
    ClipBinaryOpF32 {
        /// The lesser one.
        Min => ClipMin,
        /// The greater one.
        Max => ClipMax,
        /// `a` where it is nearer to 0 than `b`, or `b`.
        AbsMin => ClipMin,
        /// `a` where it is farther from 0 than `b`, or `b`.
        AbsMax => ClipMax,
        /// `a + b`.
        Add => ClipAdd,
    }
    /// What an intra-slice reduce makes of `i32`.
    IntraSliceReduceOpI32 {
        /// The sum, after each addition the nearest that `i32` has.
        AddSat => ReduceAccTree,
        /// The greatest one.
        Max => ReduceAccTree,
        /// The least one.
        Min => ReduceAccTree,
    }
    /// What an intra-slice reduce makes of `f32`.
    IntraSliceReduceOpF32 {
        /// The sum.
        Add => ReduceAccTree,
        /// The greatest one.
        Max => ReduceAccTree,
        /// The least one.
        Min => ReduceAccTree,
    }
}

/// The unit that multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FpMulAlu {
    /// The first multiplier.
    Mul0,
    /// The second multiplier.
    Mul1,
    /// The multiplier of the multiply-add unit.
    Fma,
}

impl FpMulAlu {
    /// The arithmetic unit.
    pub const fn to_alu(&self) -> RngdAlu {
        match self {
            FpMulAlu::Mul0 => RngdAlu::FpMul0,
            FpMulAlu::Mul1 => RngdAlu::FpMul1,
            FpMulAlu::Fma => RngdAlu::FpFma,
        }
    }
}

impl fmt::Display for FpMulAlu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FpMulAlu::Mul0 => "FpMulAlu::Mul0",
            FpMulAlu::Mul1 => "FpMulAlu::Mul1",
            FpMulAlu::Fma => "FpMulAlu::Fma",
        })
    }
}

/// Arithmetic of two `f32`. `a` is the first argument, `b` the second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FpBinaryOp {
    /// `a + b`.
    AddF,
    /// `a - b`.
    SubF,
    /// `a * b`, in one of the multipliers.
    MulF(FpMulAlu),
    /// Named by the API, but no page says what it computes: refused.
    MaskMulF(FpMulAlu),
    /// `a / b`.
    DivF,
}

impl FpBinaryOp {
    /// All of them.
    pub const ALL: &'static [FpBinaryOp] = &[
        FpBinaryOp::AddF,
        FpBinaryOp::SubF,
        FpBinaryOp::MulF(FpMulAlu::Mul0),
        FpBinaryOp::MulF(FpMulAlu::Mul1),
        FpBinaryOp::MulF(FpMulAlu::Fma),
        FpBinaryOp::MaskMulF(FpMulAlu::Mul0),
        FpBinaryOp::MaskMulF(FpMulAlu::Mul1),
        FpBinaryOp::MaskMulF(FpMulAlu::Fma),
        FpBinaryOp::DivF,
    ];

    /// The arithmetic unit that it takes.
    pub const fn alu(&self) -> RngdAlu {
        match self {
            FpBinaryOp::AddF | FpBinaryOp::SubF => RngdAlu::FpFma,
            FpBinaryOp::MulF(alu) | FpBinaryOp::MaskMulF(alu) => alu.to_alu(),
            FpBinaryOp::DivF => RngdAlu::FpFpu,
        }
    }

    /// The name, with that of the enumeration.
    pub const fn name(&self) -> &'static str {
        match self {
            FpBinaryOp::AddF => "FpBinaryOp::AddF",
            FpBinaryOp::SubF => "FpBinaryOp::SubF",
            FpBinaryOp::MulF(FpMulAlu::Mul0) => "FpBinaryOp::MulF(Mul0)",
            FpBinaryOp::MulF(FpMulAlu::Mul1) => "FpBinaryOp::MulF(Mul1)",
            FpBinaryOp::MulF(FpMulAlu::Fma) => "FpBinaryOp::MulF(Fma)",
            FpBinaryOp::MaskMulF(FpMulAlu::Mul0) => "FpBinaryOp::MaskMulF(Mul0)",
            FpBinaryOp::MaskMulF(FpMulAlu::Mul1) => "FpBinaryOp::MaskMulF(Mul1)",
            FpBinaryOp::MaskMulF(FpMulAlu::Fma) => "FpBinaryOp::MaskMulF(Fma)",
            FpBinaryOp::DivF => "FpBinaryOp::DivF",
        }
    }
}

impl fmt::Display for FpBinaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which arguments a binary operator takes: 0 is the stream, 1 the operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BinaryArgMode {
    /// `op(stream, stream)`. The operand is not looked at.
    Mode00,
    /// `op(stream, operand)`.
    #[default]
    Mode01,
    /// `op(operand, stream)`.
    Mode10,
    /// `op(operand, operand)`. The stream is not looked at.
    Mode11,
}

impl BinaryArgMode {
    /// All of them.
    pub const ALL: [BinaryArgMode; 4] = [Self::Mode00, Self::Mode01, Self::Mode10, Self::Mode11];

    /// The two arguments: 0 is the stream, 1 the operand.
    pub const fn arguments(self) -> [usize; 2] {
        match self {
            BinaryArgMode::Mode00 => [0, 0],
            BinaryArgMode::Mode01 => [0, 1],
            BinaryArgMode::Mode10 => [1, 0],
            BinaryArgMode::Mode11 => [1, 1],
        }
    }
}

impl fmt::Display for BinaryArgMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            BinaryArgMode::Mode00 => "BinaryArgMode::Mode00",
            BinaryArgMode::Mode01 => "BinaryArgMode::Mode01",
            BinaryArgMode::Mode10 => "BinaryArgMode::Mode10",
            BinaryArgMode::Mode11 => "BinaryArgMode::Mode11",
        })
    }
}

/// Which arguments a ternary operator takes: 0 is the stream, 1 the first operand, 2 the second one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TernaryArgMode {
    /// `op(stream, operand0, operand1)`.
    #[default]
    Mode012,
    /// `op(stream, stream, operand1)`.
    Mode002,
    /// `op(operand0, stream, operand1)`.
    Mode102,
    /// `op(operand0, operand0, operand1)`.
    Mode112,
    /// `op(stream, operand1, stream)`.
    Mode020,
    /// `op(stream, operand1, operand0)`.
    Mode021,
    /// `op(operand0, operand1, stream)`.
    Mode120,
}

impl TernaryArgMode {
    /// All of them.
    pub const ALL: [TernaryArgMode; 7] = [
        Self::Mode012,
        Self::Mode002,
        Self::Mode102,
        Self::Mode112,
        Self::Mode020,
        Self::Mode021,
        Self::Mode120,
    ];

    /// The three arguments: 0 is the stream, 1 the first operand, 2 the second one.
    pub const fn arguments(self) -> [usize; 3] {
        match self {
            TernaryArgMode::Mode012 => [0, 1, 2],
            TernaryArgMode::Mode002 => [0, 0, 2],
            TernaryArgMode::Mode102 => [1, 0, 2],
            TernaryArgMode::Mode112 => [1, 1, 2],
            TernaryArgMode::Mode020 => [0, 2, 0],
            TernaryArgMode::Mode021 => [0, 2, 1],
            TernaryArgMode::Mode120 => [1, 2, 0],
        }
    }
}

impl fmt::Display for TernaryArgMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TernaryArgMode::Mode012 => "TernaryArgMode::Mode012",
            TernaryArgMode::Mode002 => "TernaryArgMode::Mode002",
            TernaryArgMode::Mode102 => "TernaryArgMode::Mode102",
            TernaryArgMode::Mode112 => "TernaryArgMode::Mode112",
            TernaryArgMode::Mode020 => "TernaryArgMode::Mode020",
            TernaryArgMode::Mode021 => "TernaryArgMode::Mode021",
            TernaryArgMode::Mode120 => "TernaryArgMode::Mode120",
        })
    }
}

/// An operator of two arguments, whichever cluster has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// The logic cluster, on `i32`.
    LogicI32(LogicBinaryOpI32),
    /// The logic cluster, on `f32`.
    LogicF32(LogicBinaryOpF32),
    /// The fixed-point cluster.
    Fxp(FxpBinaryOp),
    /// The float cluster.
    Fp(FpBinaryOp),
    /// The division behind the reduce.
    FpDiv(FpDivBinaryOp),
    /// The clip cluster, on `i32`.
    ClipI32(ClipBinaryOpI32),
    /// The clip cluster, on `f32`.
    ClipF32(ClipBinaryOpF32),
}

impl BinaryOperator {
    /// The arithmetic unit that it takes.
    pub const fn alu(&self) -> RngdAlu {
        match self {
            BinaryOperator::LogicI32(op) => op.alu(),
            BinaryOperator::LogicF32(op) => op.alu(),
            BinaryOperator::Fxp(op) => op.alu(),
            BinaryOperator::Fp(op) => op.alu(),
            BinaryOperator::FpDiv(op) => op.alu(),
            BinaryOperator::ClipI32(op) => op.alu(),
            BinaryOperator::ClipF32(op) => op.alu(),
        }
    }

    /// The name, with that of the enumeration.
    pub const fn name(&self) -> &'static str {
        match self {
            BinaryOperator::LogicI32(op) => op.name(),
            BinaryOperator::LogicF32(op) => op.name(),
            BinaryOperator::Fxp(op) => op.name(),
            BinaryOperator::Fp(op) => op.name(),
            BinaryOperator::FpDiv(op) => op.name(),
            BinaryOperator::ClipI32(op) => op.name(),
            BinaryOperator::ClipF32(op) => op.name(),
        }
    }

    /// The type of its arguments and of its result.
    pub const fn element(&self) -> ElementType {
        match self {
            BinaryOperator::LogicI32(_) | BinaryOperator::Fxp(_) | BinaryOperator::ClipI32(_) => {
                ElementType::I32
            }
            BinaryOperator::LogicF32(_)
            | BinaryOperator::Fp(_)
            | BinaryOperator::FpDiv(_)
            | BinaryOperator::ClipF32(_) => ElementType::F32,
        }
    }

    /// Lanes of the packets that it takes: 8, or 4 in the float cluster.
    pub const fn lanes(&self) -> usize {
        match self {
            BinaryOperator::Fp(_) | BinaryOperator::FpDiv(_) => crate::spec::VECTOR_NARROW_LANES,
            _ => crate::spec::BEAT_LANES,
        }
    }

    /// Whether a page says what it computes.
    pub const fn is_defined(&self) -> bool {
        !matches!(self, BinaryOperator::Fp(FpBinaryOp::MaskMulF(_)))
    }
}

impl fmt::Display for BinaryOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An operator that makes one element of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOperator {
    /// The sum of `i32`, modulo 2^32.
    AddI32,
    /// The sum of `i32`, after each addition the nearest that `i32` has.
    AddSatI32,
    /// The greatest `i32`.
    MaxI32,
    /// The least `i32`.
    MinI32,
    /// The sum of `f32`.
    AddF32,
    /// The greatest `f32`.
    MaxF32,
    /// The least `f32`.
    MinF32,
    /// The product of `f32`.
    MulF32,
}

impl ReduceOperator {
    /// The type of the elements.
    pub const fn element(&self) -> ElementType {
        match self {
            ReduceOperator::AddI32
            | ReduceOperator::AddSatI32
            | ReduceOperator::MaxI32
            | ReduceOperator::MinI32 => ElementType::I32,
            _ => ElementType::F32,
        }
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        match self {
            ReduceOperator::AddI32 | ReduceOperator::AddF32 => "Add",
            ReduceOperator::AddSatI32 => "AddSat",
            ReduceOperator::MaxI32 | ReduceOperator::MaxF32 => "Max",
            ReduceOperator::MinI32 | ReduceOperator::MinF32 => "Min",
            ReduceOperator::MulF32 => "Mul",
        }
    }
}

impl fmt::Display for ReduceOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What an inter-slice reduce makes of `i32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InterSliceReduceOpI32 {
    /// The sum, modulo 2^32.
    Add,
    /// The sum, after each addition the nearest that `i32` has.
    AddSat,
    /// The greatest one.
    Max,
    /// The least one.
    Min,
}

/// What an inter-slice reduce makes of `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InterSliceReduceOpF32 {
    /// The sum.
    Add,
    /// The greatest one.
    Max,
    /// The least one.
    Min,
    /// The product.
    Mul,
}

impl From<InterSliceReduceOpI32> for ReduceOperator {
    fn from(op: InterSliceReduceOpI32) -> Self {
        match op {
            InterSliceReduceOpI32::Add => ReduceOperator::AddI32,
            InterSliceReduceOpI32::AddSat => ReduceOperator::AddSatI32,
            InterSliceReduceOpI32::Max => ReduceOperator::MaxI32,
            InterSliceReduceOpI32::Min => ReduceOperator::MinI32,
        }
    }
}

impl From<InterSliceReduceOpF32> for ReduceOperator {
    fn from(op: InterSliceReduceOpF32) -> Self {
        match op {
            InterSliceReduceOpF32::Add => ReduceOperator::AddF32,
            InterSliceReduceOpF32::Max => ReduceOperator::MaxF32,
            InterSliceReduceOpF32::Min => ReduceOperator::MinF32,
            InterSliceReduceOpF32::Mul => ReduceOperator::MulF32,
        }
    }
}

impl From<IntraSliceReduceOpI32> for ReduceOperator {
    fn from(op: IntraSliceReduceOpI32) -> Self {
        match op {
            IntraSliceReduceOpI32::AddSat => ReduceOperator::AddSatI32,
            IntraSliceReduceOpI32::Max => ReduceOperator::MaxI32,
            IntraSliceReduceOpI32::Min => ReduceOperator::MinI32,
        }
    }
}

impl From<IntraSliceReduceOpF32> for ReduceOperator {
    fn from(op: IntraSliceReduceOpF32) -> Self {
        match op {
            IntraSliceReduceOpF32::Add => ReduceOperator::AddF32,
            IntraSliceReduceOpF32::Max => ReduceOperator::MaxF32,
            IntraSliceReduceOpF32::Min => ReduceOperator::MinF32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of arithmetic units, operator by operator.
    #[test]
    fn operators_share_units() {
        let shared = |a: RngdAlu, b: RngdAlu| assert_eq!(a, b);
        shared(ClipBinaryOpI32::Max.alu(), ClipBinaryOpF32::AbsMax.alu());
        shared(ClipBinaryOpI32::AddFxpSat.alu(), ClipBinaryOpF32::Add.alu());
        for op in [FpBinaryOp::AddF, FpBinaryOp::SubF, FpBinaryOp::MulF(FpMulAlu::Fma)] {
            shared(op.alu(), FpTernaryOp::FmaF.alu());
        }
        let of = |op: &FpUnaryOp| op.alu();
        let exp = FpUnaryOp::ALL.iter().filter(|op| of(op) == RngdAlu::FpExp);
        assert!(exp.eq([FpUnaryOp::Exp, FpUnaryOp::NegExp].iter()));
        let rest = FpUnaryOp::ALL.iter().filter(|op| of(op) != RngdAlu::FpExp);
        assert!(rest.clone().count() == 7 && rest.into_iter().all(|op| of(op) == FpBinaryOp::DivF.alu()));
        assert_eq!(FxpBinaryOp::MulInt.alu(), FxpBinaryOp::MulFxp.alu());
        assert_ne!(FxpBinaryOp::LeftShift.alu(), LogicBinaryOpI32::LeftShift.alu());
        assert_ne!(FpDivBinaryOp::DivF.alu(), FpBinaryOp::DivF.alu());
    }

    #[test]
    fn operators_print_with_their_enumeration() {
        assert_eq!(LogicBinaryOpI32::LogicRightShift.to_string(), "LogicBinaryOpI32::LogicRightShift");
        assert_eq!(BinaryOperator::ClipF32(ClipBinaryOpF32::AbsMin).to_string(), "ClipBinaryOpF32::AbsMin");
        assert_eq!(FpBinaryOp::MulF(FpMulAlu::Mul1).to_string(), "FpBinaryOp::MulF(Mul1)");
        assert_eq!(TernaryArgMode::Mode021.to_string(), "TernaryArgMode::Mode021");
        assert_eq!(BinaryArgMode::default().to_string(), "BinaryArgMode::Mode01");
    }
}
