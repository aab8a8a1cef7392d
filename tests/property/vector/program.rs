//! A chain of the reference as the library sees it: every rule asked in the order of the calls, and the program that they
//! make.

use crate::bridge::expr;
use crate::program::guard;
use crate::reference::mapping::Map;
use crate::reference::numbers::Number;
use crate::reference::vector::chain::{
    BinaryMode, BranchMode, Chain, Compare, Condition, InputCmp, Operand, Operands, Shape, Source, Step,
    TernaryMode,
};
use crate::reference::vector::exact::Function;
use crate::reference::vector::operators::{
    Binary, ClipF32, ClipI32, FpBinary, FpTernary, Fxp, InterOp, IntraOp, Kind, LogicF32, LogicI32,
    Multiplier,
};
use furiosa_visa_std::PlanError;
use furiosa_visa_std::command as library;
use furiosa_visa_std::command::{
    BinaryInput, BinaryOperator, BitReq, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp,
    FpMulAlu, FpTernaryOp, FpUnaryOp, FxpBinaryOp, GroupId, InputCmpF32, InputCmpI32, InterSliceReduceOpF32,
    InterSliceReduceOpI32, IntraSliceReduceOpF32, IntraSliceReduceOpI32, LogicBinaryOpF32, LogicBinaryOpI32,
    OperandSource, ReduceOperator, Region, TagGuard, TernaryInput, ValidBranchIds, Vector, VectorStep,
    VrfOperand,
};
use furiosa_visa_std::engine::vector as engine;
use furiosa_visa_std::engine::vector::{
    InterSliceConfig, InterSliceRequest, Narrowing, OperandRequest, ReduceConfig, ReduceRequest, StashRead,
    UnaryArgMode, UnzipRequest, VectorPacketRequest, check_alu, check_always, check_defined, check_int_width,
    check_unary_mode, derive_branch, derive_concat, derive_inter_slice, derive_operand, derive_pad,
    derive_reduce, derive_split, derive_stash, derive_trim, derive_unzip, derive_valid_count, derive_way8,
    ids_in_group,
};
use furiosa_visa_std::mapping::{Expr, Ident};
use furiosa_visa_std::scalar::{ElementType, VeScalarKind};

/// A name that lives until the program ends.
pub fn ident(name: &str) -> Ident {
    Ident::new(Box::leak(name.to_string().into_boxed_str()))
}

/// The type of elements.
pub fn element(kind: Kind) -> ElementType {
    if kind == Kind::I32 { ElementType::I32 } else { ElementType::F32 }
}

fn scalar(kind: Kind) -> VeScalarKind {
    if kind == Kind::I32 { VeScalarKind::I32 } else { VeScalarKind::F32 }
}

/// The bits of a number.
pub fn bits(number: Number) -> u32 {
    match number {
        Number::Integer(value) => value as u32,
        Number::Real(value) => value.to_bits(),
    }
}

/// Chip and cluster of every stream.
pub fn units() -> [Map; 2] {
    [Map::One, Map::One.pad(2)]
}

/// What the calls of a chain make, until one of them is refused.
struct Translation<'a> {
    chain: &'a Chain,
    /// The tensors in the VRF.
    regions: &'a [Region],
    vector: Vector,
    kind: Kind,
    shape: Shape,
    stashed: Option<(Kind, Shape)>,
    pair: bool,
}

/// The program of a chain. `regions`: where its tensors in the VRF are.
///
/// # Errors
/// The first refusal.
///
/// # Panics
/// When a call does not exist on the type of the stream, which no chain of the generator has.
pub fn program(chain: &Chain, regions: &[Region]) -> Result<Vector, PlanError> {
    let [chip, cluster] = units();
    let [slice, time, packet] = chain.shape.dims();
    let live = guard(&[&chip, &cluster, slice, time, packet]);
    let mut translation = Translation {
        chain,
        regions,
        vector: Vector::new(element(chain.kind), live),
        kind: chain.kind,
        shape: chain.shape.clone(),
        stashed: None,
        pair: false,
    };
    chain.steps.iter().try_for_each(|step| translation.call(step))?;
    Ok(translation.vector)
}

/// The five mappings of a stream.
fn stream(shape: &Shape) -> [&'static Expr; 5] {
    let [chip, cluster] = units();
    let [slice, time, packet] = shape.dims();
    [&chip, &cluster, slice, time, packet].map(expr)
}

/// The five mappings as one.
fn paired(shape: &Shape) -> &'static Expr {
    let pair = |left, right| -> &'static Expr { Box::leak(Box::new(Expr::Pair(left, right))) };
    let [chip, cluster, slice, time, packet] = stream(shape);
    pair(chip, pair(cluster, pair(slice, pair(time, packet))))
}

fn ids(condition: Condition) -> ValidBranchIds {
    match condition {
        Condition::Always => ValidBranchIds::ValidAlways,
        Condition::Group(0) => GroupId::Zero.into(),
        Condition::Group(_) => GroupId::One.into(),
        Condition::Tags { bits, negated } => {
            let bits = bits.map(|bit| match bit {
                Some(true) => BitReq::One,
                Some(false) => BitReq::Zero,
                None => BitReq::Ignore,
            });
            if negated { TagGuard::not_matches(bits).into() } else { TagGuard::matches(bits).into() }
        }
    }
}

impl Translation<'_> {
    fn add(&mut self, operation: &'static str, step: VectorStep) -> Result<(), PlanError> {
        if let Some(alu) = step.alu() {
            check_alu(operation, alu, self.vector.used().any(|used| used == alu))?;
        }
        self.vector.steps.push(step);
        Ok(())
    }

    fn packets(&self, time: &Map, packet: &Map) -> VectorPacketRequest {
        VectorPacketRequest {
            time: expr(&self.shape.time),
            packet: expr(&self.shape.packet),
            out_time: expr(time),
            out_packet: expr(packet),
        }
    }

    /// The operand of a stream as it is now.
    fn source(&self, operand: &Operand) -> Result<OperandSource, PlanError> {
        match operand.source {
            Source::Constant(value) => Ok(OperandSource::Constant(bits(value))),
            Source::Vrf(number) => {
                let tensor = &self.chain.vrf[number];
                assert_eq!(tensor.kind, self.kind, "the operand does not exist for this stream");
                let [chip, cluster] = units();
                let transfer = derive_operand(&OperandRequest {
                    units: [&chip, &cluster, &tensor.slice].map(expr),
                    element: expr(&tensor.element),
                    stream: paired(&self.shape),
                })?;
                Ok(OperandSource::Vrf(Box::new(VrfOperand { source: self.regions[number], transfer })))
            }
            Source::Stash => {
                let stashed = self.stashed.as_ref().filter(|_| !self.pair);
                let read = StashRead {
                    stashed: stashed.map(|(kind, shape)| {
                        (scalar(*kind), derive_stash(paired(shape), paired(&self.shape)))
                    }),
                };
                read.operand(scalar(self.kind))
            }
        }
    }

    /// The operands with the elements that each is for. `None`: no group has any.
    fn operands(&self, operands: &Operands) -> Result<Option<Vec<Sourced>>, PlanError> {
        let list = match operands {
            Operands::One(operand) => vec![*operand],
            Operands::ArrayVec(list) => list.clone(),
            Operands::Array(list) => {
                check_always(list.iter().map(|operand| ids(operand.condition)))?;
                list.clone()
            }
            Operands::Groups(groups) => {
                let mut all = Vec::new();
                for (group, operand) in groups.iter().enumerate() {
                    let Some(operand) = operand else { continue };
                    let source = self.source(operand)?;
                    let ids = ids_in_group(group, ids(operand.condition));
                    all.extend(ids.map(|ids| (ids, source, operand.second)));
                }
                return Ok(groups.iter().any(Option::is_some).then_some(all));
            }
        };
        let sourced = |operand: &Operand| Ok((ids(operand.condition), self.source(operand)?, operand.second));
        list.iter().map(sourced).collect::<Result<_, PlanError>>().map(Some)
    }

    fn call(&mut self, step: &Step) -> Result<(), PlanError> {
        const BRANCH: &str = "vector_intra_slice_branch";
        match step {
            Step::Branch(mode) => {
                derive_way8(BRANCH, expr(&self.shape.packet))?;
                let branch = derive_branch(branch_mode(mode), scalar(self.kind), stream(&self.shape))?;
                self.add(BRANCH, VectorStep::Branch(branch))
            }
            Step::Unzip { axis, tile_time, split_time } => {
                let size = self.chain.axes.iter().find(|(name, _)| name == axis).map_or(0, |(_, size)| *size);
                let step = derive_unzip(&UnzipRequest {
                    axis: ident(axis),
                    size,
                    time: expr(&self.shape.time),
                    tile_time: expr(tile_time),
                    split_time: expr(split_time),
                    packet: expr(&self.shape.packet),
                })?;
                self.add("vector_intra_slice_unzip", VectorStep::Unzip { step })?;
                (self.shape.time, self.pair) = (split_time.clone(), true);
                Ok(())
            }
            Step::InterReduce { op, slice, time } => {
                let [chip, cluster, ..] = stream(&self.shape);
                let InterSliceConfig { kept, reduced, repeated, group, time: steps, guard } =
                    derive_inter_slice(&InterSliceRequest {
                        units: [chip, cluster],
                        slice: expr(&self.shape.slice),
                        time: expr(&self.shape.time),
                        packet: expr(&self.shape.packet),
                        out_slice: expr(slice),
                        out_time: expr(time),
                    })?;
                let op = inter_op(*op);
                let own =
                    library::InterSliceReduce { op, guard, kept, reduced, repeated, group, time: steps };
                self.add("vector_inter_slice_reduce", VectorStep::InterSliceReduce(Box::new(own)))?;
                (self.shape.slice, self.shape.time) = (slice.clone(), time.clone());
                self.stashed = None;
                Ok(())
            }
            Step::Binary { op, mode, operands } => {
                let (op, mode) = (binary_op(*op), binary_mode(*mode));
                check_defined("vector operator", op.name(), op.is_defined())?;
                let Some(operands) = self.operands(operands)? else { return Ok(()) };
                let input = |(ids, source, _): Sourced| BinaryInput { ids, source };
                let operands = operands.into_iter().map(input).collect();
                self.add("vector operator", VectorStep::Binary { op, mode, operands })
            }
            Step::Ternary { op, mode, operands } => {
                let op = match op {
                    FpTernary::FmaF => FpTernaryOp::FmaF,
                    FpTernary::MaskFmaF => FpTernaryOp::MaskFmaF,
                };
                check_defined("vector_fp_ternary", op.name(), op == FpTernaryOp::FmaF)?;
                let Some(operands) = self.operands(operands)? else { return Ok(()) };
                let input = |(ids, source, second): Sourced| TernaryInput {
                    ids,
                    source,
                    constant: second.expect("a ternary operator has a second operand"),
                };
                let operands = operands.into_iter().map(input).collect();
                self.add("vector_fp_ternary", VectorStep::Ternary { op, mode: ternary_mode(*mode), operands })
            }
            Step::Unary { op, mode1, condition, groups } => {
                check_unary_mode(if *mode1 { UnaryArgMode::Mode1 } else { UnaryArgMode::Mode0 })?;
                let ids = match groups {
                    None => ids(*condition),
                    Some([true, true]) => ValidBranchIds::ValidAlways,
                    Some([true, false]) => GroupId::Zero.into(),
                    Some([false, true]) => GroupId::One.into(),
                    Some([false, false]) => return Ok(()),
                };
                self.add("vector_fp_unary", VectorStep::Unary { op: function(*op), ids })
            }
            Step::Zip { op, mode } => {
                let (op, mode) = (binary_op(*op), binary_mode(*mode));
                check_defined("zip", op.name(), op.is_defined())?;
                self.pair = false;
                self.add("zip", VectorStep::Zip { op, mode })
            }
            Step::Reinterpret => {
                self.kind = if self.kind == Kind::F32 { Kind::I32 } else { Kind::F32 };
                self.add("vector_reinterpret", VectorStep::Reinterpret)
            }
            Step::FxpToFp(width) => {
                check_int_width("vector_fxp_to_fp", *width)?;
                self.kind = Kind::F32;
                self.add("vector_fxp_to_fp", VectorStep::FxpToFp { int_width: *width })
            }
            Step::FpToFxp(width) => {
                check_int_width("vector_fp_to_fxp", *width)?;
                self.kind = Kind::I32;
                self.add("vector_fp_to_fxp", VectorStep::FpToFxp { int_width: *width })
            }
            Step::Split { time, packet } => {
                derive_split(&self.packets(time, packet))?;
                (self.shape.time, self.shape.packet) = (time.clone(), packet.clone());
                self.add("vector_split", VectorStep::Split)
            }
            Step::Concat { time, packet } => {
                derive_concat(&self.packets(time, packet))?;
                (self.shape.time, self.shape.packet) = (time.clone(), packet.clone());
                self.add("vector_concat", VectorStep::Concat)
            }
            Step::TrimWay4 { packet } => {
                derive_trim(&self.packets(&self.shape.time, packet))?;
                self.shape.packet = packet.clone();
                self.add("vector_trim_way4", VectorStep::Trim)
            }
            Step::PadWay8 { packet } => {
                derive_pad(&self.packets(&self.shape.time, packet))?;
                self.shape.packet = packet.clone();
                self.add("vector_pad_way8", VectorStep::Pad)
            }
            Step::IntraReduce { axis, op, time, packet } => {
                let [chip, cluster, slice, ..] = stream(&self.shape);
                let request = ReduceRequest {
                    axis: ident(axis),
                    units: [chip, cluster, slice],
                    time: expr(&self.shape.time),
                    packet: expr(&self.shape.packet),
                    out_time: expr(time),
                    out_packet: expr(packet),
                };
                let ReduceConfig { kept, reduced, slots, time: steps, guard } = derive_reduce(&request)?;
                let trimmed = self.vector.steps.contains(&VectorStep::Trim);
                derive_valid_count(&request, if trimmed { Narrowing::Trim } else { Narrowing::Split })?;
                let op = intra_op(*op);
                let own = library::IntraSliceReduce { op, guard, kept, reduced, slots, time: steps };
                self.add("vector_intra_slice_reduce", VectorStep::IntraSliceReduce(Box::new(own)))?;
                (self.shape.time, self.shape.packet) = (time.clone(), packet.clone());
                Ok(())
            }
            Step::Stash => {
                self.stashed = Some((self.kind, self.shape.clone()));
                self.add("vector_stash", VectorStep::Stash)
            }
            Step::Filter { .. } => panic!("the call is not offered"),
        }
    }
}

/// The elements that an operand is for, where it comes from, and the second operand beside it.
type Sourced = (ValidBranchIds, OperandSource, Option<f32>);

fn comparison(one: &InputCmp) -> library::InputCmp {
    macro_rules! same {
        ($name:ident, $boundary:expr) => {
            match one.compare {
                Compare::Equal => $name::Equal { boundary: $boundary },
                Compare::Less => $name::Less { boundary: $boundary },
                Compare::Greater => $name::Greater { boundary: $boundary },
                Compare::LessUnsigned => $name::LessUnsigned { boundary: $boundary },
                Compare::GreaterUnsigned => $name::GreaterUnsigned { boundary: $boundary },
                Compare::True => $name::True,
                Compare::False => $name::False,
            }
        };
    }
    match one.boundary {
        Number::Integer(boundary) => library::InputCmp::I32(same!(InputCmpI32, boundary)),
        Number::Real(boundary) => library::InputCmp::F32(same!(InputCmpF32, boundary)),
    }
}

fn branch_mode(mode: &BranchMode) -> engine::BranchMode {
    match mode {
        BranchMode::Unconditional => engine::BranchMode::Unconditional,
        BranchMode::AxisToggle(axis) => engine::BranchMode::AxisToggle { axis: ident(axis) },
        BranchMode::Comparison(list) => engine::BranchMode::Comparison(list.each_ref().map(comparison)),
        BranchMode::ValidCount => engine::BranchMode::ValidCount,
        BranchMode::Vrf => engine::BranchMode::Vrf,
    }
}

fn binary_mode(mode: BinaryMode) -> library::BinaryArgMode {
    use library::BinaryArgMode as Mode;
    match mode {
        BinaryMode::Mode00 => Mode::Mode00,
        BinaryMode::Mode01 => Mode::Mode01,
        BinaryMode::Mode10 => Mode::Mode10,
        BinaryMode::Mode11 => Mode::Mode11,
    }
}

fn ternary_mode(mode: TernaryMode) -> library::TernaryArgMode {
    use library::TernaryArgMode as Mode;
    match mode {
        TernaryMode::Mode012 => Mode::Mode012,
        TernaryMode::Mode002 => Mode::Mode002,
        TernaryMode::Mode102 => Mode::Mode102,
        TernaryMode::Mode112 => Mode::Mode112,
        TernaryMode::Mode020 => Mode::Mode020,
        TernaryMode::Mode021 => Mode::Mode021,
        TernaryMode::Mode120 => Mode::Mode120,
    }
}

/// Operators of one enumeration as those of another with the same names.
macro_rules! same_names {
    ($op:expr, $from:ident => $to:ident { $($name:ident)* }) => {
        match $op { $($from::$name => $to::$name),* }
    };
}
pub(super) use same_names;

fn multiplier(alu: Multiplier) -> FpMulAlu {
    same_names!(alu, Multiplier => FpMulAlu { Mul0 Mul1 Fma })
}

fn binary_op(op: Binary) -> BinaryOperator {
    match op {
        Binary::LogicI32(op) => BinaryOperator::LogicI32(same_names!(op, LogicI32 => LogicBinaryOpI32 {
            BitAnd BitOr BitXor LeftShift LogicRightShift ArithRightShift
        })),
        Binary::LogicF32(op) => {
            BinaryOperator::LogicF32(same_names!(op, LogicF32 => LogicBinaryOpF32 { BitAnd BitOr BitXor }))
        }
        Binary::Fxp(op) => BinaryOperator::Fxp(same_names!(op, Fxp => FxpBinaryOp {
            AddFxp AddFxpSat SubFxp SubFxpSat LeftShift LeftShiftSat MulFxp MulInt LogicRightShift ArithRightShift
            ArithRightShiftRound
        })),
        Binary::Fp(op) => BinaryOperator::Fp(match op {
            FpBinary::AddF => FpBinaryOp::AddF,
            FpBinary::SubF => FpBinaryOp::SubF,
            FpBinary::MulF(alu) => FpBinaryOp::MulF(multiplier(alu)),
            FpBinary::MaskMulF(alu) => FpBinaryOp::MaskMulF(multiplier(alu)),
            FpBinary::DivF => FpBinaryOp::DivF,
        }),
        Binary::FpDiv => BinaryOperator::FpDiv(FpDivBinaryOp::DivF),
        Binary::ClipI32(op) => BinaryOperator::ClipI32(same_names!(op, ClipI32 => ClipBinaryOpI32 {
            Min Max AbsMin AbsMax AddFxp AddFxpSat
        })),
        Binary::ClipF32(op) => BinaryOperator::ClipF32(same_names!(op, ClipF32 => ClipBinaryOpF32 {
            Min Max AbsMin AbsMax Add
        })),
    }
}

/// A function as the library names it.
pub fn function(op: Function) -> FpUnaryOp {
    same_names!(op, Function => FpUnaryOp { Exp NegExp Sqrt Tanh Sigmoid Erf Log Sin Cos })
}

fn intra_op(op: IntraOp) -> ReduceOperator {
    match op {
        IntraOp::I32AddSat => IntraSliceReduceOpI32::AddSat.into(),
        IntraOp::I32Max => IntraSliceReduceOpI32::Max.into(),
        IntraOp::I32Min => IntraSliceReduceOpI32::Min.into(),
        IntraOp::F32Add => IntraSliceReduceOpF32::Add.into(),
        IntraOp::F32Max => IntraSliceReduceOpF32::Max.into(),
        IntraOp::F32Min => IntraSliceReduceOpF32::Min.into(),
    }
}

fn inter_op(op: InterOp) -> ReduceOperator {
    match op {
        InterOp::I32Add => InterSliceReduceOpI32::Add.into(),
        InterOp::I32AddSat => InterSliceReduceOpI32::AddSat.into(),
        InterOp::I32Max => InterSliceReduceOpI32::Max.into(),
        InterOp::I32Min => InterSliceReduceOpI32::Min.into(),
        InterOp::F32Add => InterSliceReduceOpF32::Add.into(),
        InterOp::F32Max => InterSliceReduceOpF32::Max.into(),
        InterOp::F32Min => InterSliceReduceOpF32::Min.into(),
        InterOp::F32Mul => InterSliceReduceOpF32::Mul.into(),
    }
}
