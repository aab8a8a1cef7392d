//! The operators of the Vector Engine: their names, arithmetic units and arguments.

use super::BinaryArgMode;
use crate::scalar::ElementType;
use core::fmt;

/// Defines the arithmetic units. Each prints as its variant.
macro_rules! units {
    ($($(#[$doc:meta])* $unit:ident,)*) => {
        /// An arithmetic unit (ALU) of the Vector Engine. A pass uses each at most once.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum RngdAlu { $($(#[$doc])* $unit,)* }

        impl RngdAlu {
            /// All units.
            pub const ALL: &'static [RngdAlu] = &[$(RngdAlu::$unit),*];

            /// The name.
            pub const fn name(self) -> &'static str {
                match self { $(RngdAlu::$unit => stringify!($unit),)* }
            }
        }
    };
}

units! {
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

display_name!(RngdAlu);

/// Defines enumerations of operators. Each operator prints as `Name::Variant`.
macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident => $alu:ident,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All operators.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The arithmetic unit that it takes.
            pub const fn alu(&self) -> RngdAlu {
                match self { $($name::$variant => RngdAlu::$alu,)* }
            }

            /// The name, after that of the enumeration.
            pub const fn name(&self) -> &'static str {
                match self { $($name::$variant => concat!(stringify!($name), "::", stringify!($variant)),)* }
            }
        }

        display_name!($name);
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
        /// `a << b`, with the low five bits of `b`.
        LeftShift => LogicLshift,
        /// `a >> b`, filled with zeros.
        LogicRightShift => LogicRshift,
        /// `a >> b`, filled with the sign.
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
    /// Integers and fixed point. Shifts use the low five bits of the count.
    FxpBinaryOp {
        /// `a + b`, modulo 2^32.
        AddFxp => FxpAdd,
        /// `a + b`, saturated to `i32`.
        AddFxpSat => FxpAdd,
        /// `a - b`, modulo 2^32.
        SubFxp => FxpAdd,
        /// `a - b`, saturated to `i32`.
        SubFxpSat => FxpAdd,
        /// `a << b`.
        LeftShift => FxpLshift,
        /// `a * 2^b`, saturated to `i32`.
        LeftShiftSat => FxpLshift,
        /// `a * b / 2^31`, rounded to nearest, halves up; `MIN * MIN` is `MAX`.
        MulFxp => FxpMul,
        /// `a * b`, modulo 2^32.
        MulInt => FxpMul,
        /// `a >> b`, filled with zeros.
        LogicRightShift => FxpRshift,
        /// `a >> b`, filled with the sign.
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
        /// Operator in the API without a documented result: refused.
        MaskFmaF => FpFma,
    }
    /// The division after an intra-slice reduce.
    FpDivBinaryOp {
        /// `a / b`.
        DivF => ReduceFpDiv,
    }
    /// Limits of `i32`.
    ClipBinaryOpI32 {
        /// The lesser argument.
        Min => ClipMin,
        /// The greater argument.
        Max => ClipMax,
        /// The argument nearer to 0; `b` if both are equally near.
        AbsMin => ClipMin,
        /// The argument farther from 0; `b` if both are equally far.
        AbsMax => ClipMax,
        /// `a + b`, modulo 2^32.
        AddFxp => ClipAdd,
        /// `a + b`, saturated to `i32`.
        AddFxpSat => ClipAdd,
    }
    /// Limits of `f32`. A NaN loses to a number, and -0 is less than +0.
    ClipBinaryOpF32 {
        /// The lesser argument.
        Min => ClipMin,
        /// The greater argument.
        Max => ClipMax,
        /// `a` if it is nearer to 0 than `b`, otherwise `b`.
        AbsMin => ClipMin,
        /// `a` if it is farther from 0 than `b`, otherwise `b`.
        AbsMax => ClipMax,
        /// `a + b`.
        Add => ClipAdd,
    }
    /// Operators of an intra-slice reduce of `i32`.
    IntraSliceReduceOpI32 {
        /// The sum, saturated to `i32` after each addition.
        AddSat => ReduceAccTree,
        /// The greatest element.
        Max => ReduceAccTree,
        /// The least element.
        Min => ReduceAccTree,
    }
    /// Operators of an intra-slice reduce of `f32`.
    IntraSliceReduceOpF32 {
        /// The sum.
        Add => ReduceAccTree,
        /// The greatest element.
        Max => ReduceAccTree,
        /// The least element.
        Min => ReduceAccTree,
    }
}

/// A unit that multiplies.
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
    /// Operator in the API without a documented result: refused.
    MaskMulF(FpMulAlu),
    /// `a / b`.
    DivF,
}

impl FpBinaryOp {
    /// All operators.
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

    /// The name, after that of the enumeration.
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

display_name!(FpBinaryOp);

/// An operator of two arguments, of any cluster.
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
    /// The division after the reduce.
    FpDiv(FpDivBinaryOp),
    /// The clip cluster, on `i32`.
    ClipI32(ClipBinaryOpI32),
    /// The clip cluster, on `f32`.
    ClipF32(ClipBinaryOpF32),
}

/// The same of an operator of any cluster.
macro_rules! of_any {
    ($operator:expr, $op:ident => $of:expr) => {
        match $operator {
            BinaryOperator::LogicI32($op) => $of,
            BinaryOperator::LogicF32($op) => $of,
            BinaryOperator::Fxp($op) => $of,
            BinaryOperator::Fp($op) => $of,
            BinaryOperator::FpDiv($op) => $of,
            BinaryOperator::ClipI32($op) => $of,
            BinaryOperator::ClipF32($op) => $of,
        }
    };
}

impl BinaryOperator {
    /// The arithmetic unit that it takes.
    pub const fn alu(&self) -> RngdAlu {
        of_any!(self, op => op.alu())
    }

    /// The name, after that of the enumeration.
    pub const fn name(&self) -> &'static str {
        of_any!(self, op => op.name())
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

    /// Lanes of its packets: 8, or 4 in the float cluster.
    pub const fn lanes(&self) -> usize {
        match self {
            BinaryOperator::Fp(_) | BinaryOperator::FpDiv(_) => crate::spec::VECTOR_NARROW_LANES,
            _ => crate::spec::BEAT_LANES,
        }
    }

    /// True if its result is documented.
    pub const fn is_defined(&self) -> bool {
        !matches!(self, BinaryOperator::Fp(FpBinaryOp::MaskMulF(_)))
    }
}

display_name!(BinaryOperator);

/// A division with its arguments: [`FpDivBinaryOp::with_mode`] makes it.
#[derive(Clone, Copy, Debug)]
pub struct FpDivOp {
    /// The division.
    pub operator: FpDivBinaryOp,
    /// Its arguments.
    pub mode: BinaryArgMode,
}

impl FpDivBinaryOp {
    /// The division with its arguments: `Mode01` divides the stream by the operand, `Mode10` the operand by the stream.
    pub fn with_mode(self, mode: BinaryArgMode) -> FpDivOp {
        FpDivOp { operator: self, mode }
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
    }

    /// The name of each operator is its variant, after the name of its enumeration.
    #[test]
    fn operators_are_called_as_their_variants() {
        macro_rules! called {
            ($($name:ident)*) => { $(for op in $name::ALL {
                let expected = format!(concat!(stringify!($name), "::{:?}"), op);
                assert_eq!((op.name(), op.to_string()), (expected.as_str(), expected.clone()));
            })* };
        }
        called! {
            LogicBinaryOpI32 LogicBinaryOpF32 FxpBinaryOp FpUnaryOp FpTernaryOp FpDivBinaryOp FpBinaryOp ClipBinaryOpI32
            ClipBinaryOpF32 IntraSliceReduceOpI32 IntraSliceReduceOpF32
        }
        for alu in RngdAlu::ALL {
            assert_eq!(alu.to_string(), format!("{alu:?}"));
        }
        for alu in [FpMulAlu::Mul0, FpMulAlu::Mul1, FpMulAlu::Fma] {
            assert_eq!(alu.to_string(), format!("FpMulAlu::{alu:?}"));
            assert_eq!(format!("Fp{alu:?}"), format!("{:?}", alu.to_alu()));
            assert_eq!(
                (FpBinaryOp::MulF(alu).alu(), FpBinaryOp::MaskMulF(alu).alu()),
                (alu.to_alu(), alu.to_alu())
            );
        }
    }

    /// The clusters have the type of elements and the lanes of packets that they take.
    #[test]
    fn clusters_have_their_elements_and_packets() {
        use BinaryOperator::{ClipF32, ClipI32, Fp, FpDiv, Fxp, LogicF32, LogicI32};
        macro_rules! cluster {
            ($wrap:ident($name:ident), $element:ident, $lanes:literal) => {
                for op in $name::ALL {
                    let operator = $wrap(*op);
                    assert_eq!(
                        (operator.element(), operator.lanes()),
                        (ElementType::$element, $lanes),
                        "{operator:?}"
                    );
                    assert_eq!(
                        (operator.name(), operator.to_string(), operator.alu()),
                        (op.name(), op.to_string(), op.alu())
                    );
                    let masked = matches!(operator, Fp(FpBinaryOp::MaskMulF(_)));
                    assert_eq!(operator.is_defined(), !masked, "{operator:?}");
                }
            };
        }
        cluster!(LogicI32(LogicBinaryOpI32), I32, 8);
        cluster!(LogicF32(LogicBinaryOpF32), F32, 8);
        cluster!(Fxp(FxpBinaryOp), I32, 8);
        cluster!(Fp(FpBinaryOp), F32, 4);
        cluster!(FpDiv(FpDivBinaryOp), F32, 4);
        cluster!(ClipI32(ClipBinaryOpI32), I32, 8);
        cluster!(ClipF32(ClipBinaryOpF32), F32, 8);
    }

    /// The table of arithmetic units, unit by unit: each operator takes one.
    #[test]
    fn units_have_their_operators() {
        macro_rules! table {
            ($($unit:ident: $($name:ident { $($variant:ident)* })*;)*) => {{
                let mut rows: Vec<(String, RngdAlu, RngdAlu)> = Vec::new();
                $($($({
                    let op = $name::$variant;
                    rows.push((op.name().to_string(), op.alu(), RngdAlu::$unit));
                })*)*)*
                rows
            }};
        }
        let mut rows = table! {
            LogicAnd: LogicBinaryOpI32 { BitAnd } LogicBinaryOpF32 { BitAnd };
            LogicOr: LogicBinaryOpI32 { BitOr } LogicBinaryOpF32 { BitOr };
            LogicXor: LogicBinaryOpI32 { BitXor } LogicBinaryOpF32 { BitXor };
            LogicLshift: LogicBinaryOpI32 { LeftShift };
            LogicRshift: LogicBinaryOpI32 { LogicRightShift ArithRightShift };
            FxpAdd: FxpBinaryOp { AddFxp AddFxpSat SubFxp SubFxpSat };
            FxpLshift: FxpBinaryOp { LeftShift LeftShiftSat };
            FxpMul: FxpBinaryOp { MulFxp MulInt };
            FxpRshift: FxpBinaryOp { LogicRightShift ArithRightShift ArithRightShiftRound };
            FpFma: FpBinaryOp { AddF SubF } FpTernaryOp { FmaF MaskFmaF };
            FpFpu: FpBinaryOp { DivF } FpUnaryOp { Sqrt Tanh Sigmoid Erf Log Sin Cos };
            FpExp: FpUnaryOp { Exp NegExp };
            ClipAdd: ClipBinaryOpI32 { AddFxp AddFxpSat } ClipBinaryOpF32 { Add };
            ClipMax: ClipBinaryOpI32 { Max AbsMax } ClipBinaryOpF32 { Max AbsMax };
            ClipMin: ClipBinaryOpI32 { Min AbsMin } ClipBinaryOpF32 { Min AbsMin };
            ReduceAccTree: IntraSliceReduceOpI32 { AddSat Max Min } IntraSliceReduceOpF32 { Add Max Min };
            ReduceFpDiv: FpDivBinaryOp { DivF };
        };
        for op in [FpBinaryOp::MulF, FpBinaryOp::MaskMulF] {
            for (alu, unit) in [
                (FpMulAlu::Mul0, RngdAlu::FpMul0),
                (FpMulAlu::Mul1, RngdAlu::FpMul1),
                (FpMulAlu::Fma, RngdAlu::FpFma),
            ] {
                rows.push((op(alu).name().to_string(), op(alu).alu(), unit));
            }
        }
        for (name, alu, unit) in &rows {
            assert_eq!(alu, unit, "{name}");
        }
        let count = LogicBinaryOpI32::ALL.len()
            + LogicBinaryOpF32::ALL.len()
            + FxpBinaryOp::ALL.len()
            + FpUnaryOp::ALL.len()
            + FpTernaryOp::ALL.len()
            + FpBinaryOp::ALL.len()
            + FpDivBinaryOp::ALL.len()
            + ClipBinaryOpI32::ALL.len()
            + ClipBinaryOpF32::ALL.len()
            + IntraSliceReduceOpI32::ALL.len()
            + IntraSliceReduceOpF32::ALL.len();
        assert_eq!(rows.len(), count, "every operator is in the table");
        assert!(RngdAlu::ALL.iter().all(|unit| rows.iter().any(|row| row.2 == *unit)), "and every unit");
    }
}
