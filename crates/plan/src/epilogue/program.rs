//! The steps of an epilogue in the units of the Vector Engine.

use super::{GELU_FACTOR, Step};
use crate::problem::Problem;
use furiosa_visa_rules::command::{
    BinaryOperator, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp, FpMulAlu, FpUnaryOp,
    FxpBinaryOp, RngdAlu,
};
use furiosa_visa_rules::engine::vector::check_alu;
use furiosa_visa_rules::error::{PlanError, refuse};
use furiosa_visa_rules::scalar::ElementType;

/// The operand of an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// The vector in the register file.
    Bias,
    /// The stash.
    Stash,
    /// A constant.
    Float(f32),
    /// A constant.
    Integer(i32),
}

/// A call of the Vector Engine, without mappings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Integers to floats.
    ToFloat,
    /// Floats to integers, rounded half away from 0.
    ToInteger,
    /// Flits to halves.
    Split,
    /// Halves to flits.
    Concat,
    /// Remembers the elements.
    Stash,
    /// A function.
    Unary(FpUnaryOp),
    /// An operator, with the element as its first argument.
    Binary(BinaryOperator, Operand),
}

/// The calls of an epilogue, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The calls.
    pub actions: Vec<Action>,
}

/// The stages of the Vector Engine, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Branch,
    Fxp,
    FxpToFp,
    Narrow,
    Fp,
    IntraSliceReduce,
    FpDiv,
    Widen,
    FpToFxp,
    Clip,
}

impl Stage {
    /// The name, as the type of the stage has it.
    fn name(self) -> &'static str {
        match self {
            Stage::Branch => "Branch",
            Stage::Fxp => "Fxp",
            Stage::FxpToFp => "FxpToFp",
            Stage::Narrow => "Narrow",
            Stage::Fp => "Fp",
            Stage::IntraSliceReduce => "IntraSliceReduce",
            Stage::FpDiv => "FpDiv",
            Stage::Widen => "Widen",
            Stage::FpToFxp => "FpToFxp",
            Stage::Clip => "Clip",
        }
    }

    /// Tells if several operators of the stage may follow each other.
    fn is_cluster(self) -> bool {
        matches!(self, Stage::Fxp | Stage::Fp | Stage::Clip)
    }
}

/// A pass under construction.
#[derive(Clone, Debug)]
struct Pass {
    stage: Stage,
    element: ElementType,
    is_narrow: bool,
    /// True if nothing is below 0.
    is_positive: bool,
    used: Vec<RngdAlu>,
    actions: Vec<Action>,
}

/// A way to compute a step.
type Way<'a> = &'a dyn Fn(&mut Pass) -> Result<(), PlanError>;

impl Pass {
    /// Goes on to a stage.
    fn enter(&mut self, stage: Stage) -> Result<(), PlanError> {
        if self.stage < stage || self.stage == stage && stage.is_cluster() {
            self.stage = stage;
            return Ok(());
        }
        refuse!(
            "vector stage",
            "vector: the stage `{}` does not come after `{}`: a pass goes through Fxp (integers), FxpToFp, Narrow and Fp \
             (functions, factors), IntraSliceReduce (parts of sums), FpDiv, Widen, FpToFxp and Clip (sums, limits), in this \
             order; help: put the step before, or use another pass",
            (stage.name(), self.stage.name()),
        )
    }

    /// Goes on to a stage with packets of half a flit, or of a flit.
    fn packets(&mut self, is_narrow: bool) -> Result<(), PlanError> {
        if is_narrow != self.is_narrow {
            self.enter(if is_narrow { Stage::Narrow } else { Stage::Widen })?;
            self.actions.push(if is_narrow { Action::Split } else { Action::Concat });
            self.is_narrow = is_narrow;
        }
        Ok(())
    }

    fn take(&mut self, operation: &'static str, alu: RngdAlu) -> Result<(), PlanError> {
        check_alu(operation, alu, self.used.contains(&alu))?;
        self.used.push(alu);
        Ok(())
    }

    fn to(&mut self, element: ElementType) -> Result<(), PlanError> {
        if self.element == element {
            return Ok(());
        }
        let (stage, action) = match element {
            ElementType::I32 => (Stage::FpToFxp, Action::ToInteger),
            _ => (Stage::FxpToFp, Action::ToFloat),
        };
        self.packets(false)?;
        self.enter(stage)?;
        self.actions.push(action);
        self.element = element;
        Ok(())
    }

    fn binary(&mut self, op: BinaryOperator, operand: Operand) -> Result<(), PlanError> {
        let (stage, is_narrow) = match op {
            BinaryOperator::Fp(_) => (Stage::Fp, true),
            BinaryOperator::FpDiv(_) => (Stage::FpDiv, true),
            BinaryOperator::Fxp(_) => (Stage::Fxp, false),
            _ => (Stage::Clip, false),
        };
        if op.element() != self.element {
            refuse!(
                "element type",
                "{}: the call takes elements of {}, but the stream has {}; help: put the step where it has them",
                (method(op), op.element().name(), self.element.name()),
            );
        }
        self.packets(is_narrow)?;
        self.enter(stage)?;
        self.take(method(op), op.alu())?;
        self.actions.push(Action::Binary(op, operand));
        Ok(())
    }

    /// A product, in the first multiplier that is free.
    fn multiply(&mut self, operand: Operand) -> Result<(), PlanError> {
        let all = [FpMulAlu::Mul0, FpMulAlu::Mul1, FpMulAlu::Fma];
        let free = all.into_iter().find(|alu| !self.used.contains(&alu.to_alu()));
        self.binary(BinaryOperator::Fp(FpBinaryOp::MulF(free.unwrap_or(FpMulAlu::Fma))), operand)
    }

    fn unary(&mut self, op: FpUnaryOp) -> Result<(), PlanError> {
        const OPERATION: &str = "vector_fp_unary";
        self.to(ElementType::F32)?;
        self.packets(true)?;
        self.enter(Stage::Fp)?;
        self.take(OPERATION, op.alu())?;
        self.actions.push(Action::Unary(op));
        Ok(())
    }

    /// `x * sigmoid(factor * x)`.
    fn gated(&mut self, factor: Option<f32>) -> Result<(), PlanError> {
        self.to(ElementType::F32)?;
        self.packets(true)?;
        self.enter(Stage::Fp)?;
        self.actions.push(Action::Stash);
        if let Some(factor) = factor {
            self.multiply(Operand::Float(factor))?;
        }
        self.unary(FpUnaryOp::Sigmoid)?;
        self.multiply(Operand::Stash)
    }

    fn relu(&mut self) -> Result<(), PlanError> {
        let (op, zero) = match self.element {
            ElementType::I32 => (BinaryOperator::ClipI32(ClipBinaryOpI32::Max), Operand::Integer(0)),
            _ => (BinaryOperator::ClipF32(ClipBinaryOpF32::Max), Operand::Float(0.0)),
        };
        self.binary(op, zero)?;
        self.is_positive = true;
        Ok(())
    }

    /// The end: the type before the cast, its limits, and flits.
    fn end(&mut self, problem: &Problem) -> Result<(), PlanError> {
        self.to(problem.before_cast())?;
        let bits = problem.output.bits();
        if self.element == ElementType::I32 && bits < 32 {
            let greatest = (1 << (bits - 1)) - 1;
            if !self.is_positive {
                self.binary(BinaryOperator::ClipI32(ClipBinaryOpI32::Max), Operand::Integer(-greatest - 1))?;
            }
            self.binary(BinaryOperator::ClipI32(ClipBinaryOpI32::Min), Operand::Integer(greatest))?;
        }
        self.packets(false)
    }
}

/// The call of an operator.
pub(crate) fn method(op: BinaryOperator) -> &'static str {
    match op {
        BinaryOperator::Fp(_) => "vector_fp_binary",
        BinaryOperator::FpDiv(_) => "vector_fp_div",
        BinaryOperator::Fxp(_) => "vector_fxp",
        BinaryOperator::LogicI32(_) | BinaryOperator::LogicF32(_) => "vector_logic",
        BinaryOperator::ClipI32(_) | BinaryOperator::ClipF32(_) => "vector_clip",
    }
}

/// The reciprocal of a power of two.
fn exact_reciprocal(factor: f32) -> Option<f32> {
    let reciprocal = 1.0 / factor;
    (factor.is_normal() && reciprocal.is_normal() && factor.to_bits().trailing_zeros() >= 23)
        .then_some(reciprocal)
}

impl Program {
    /// The calls behind the sums of a problem. `behind_parts`: the pass adds parts of sums before.
    ///
    /// # Errors
    /// The refusal of a step that the units do not do in one pass, in this order.
    pub fn new(problem: &Problem, behind_parts: bool) -> Result<Self, PlanError> {
        let pass = Pass {
            stage: if behind_parts { Stage::IntraSliceReduce } else { Stage::Branch },
            element: problem.sum(),
            is_narrow: behind_parts,
            is_positive: false,
            used: if behind_parts { vec![RngdAlu::ReduceAccTree] } else { Vec::new() },
            actions: Vec::new(),
        };
        pass.with(problem, &problem.epilogue).map(|actions| Self { actions }).map_err(|(_, error)| error)
    }

    /// The end of a pass that adds parts of sums, and nothing else.
    pub fn of_parts() -> Self {
        Self { actions: vec![Action::Concat] }
    }

    /// Tells if the stream goes as it is.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }
}

impl Pass {
    /// The calls with the rest of the steps. If no ways to compute them fit together: the refusal that came last in the list
    /// of steps, with the number of steps behind it.
    fn with(self, problem: &Problem, steps: &[Step]) -> Result<Vec<Action>, (usize, PlanError)> {
        let Some((step, rest)) = steps.split_first() else {
            let mut pass = self;
            return match pass.end(problem) {
                Ok(()) => Ok(pass.actions),
                Err(error) => Err((0, error)),
            };
        };
        let mut refused: Option<(usize, PlanError)> = None;
        for way in self.ways(problem, *step) {
            let found = match way {
                Ok(pass) => pass.with(problem, rest),
                Err(error) => Err((steps.len(), error)),
            };
            match found {
                Ok(actions) => return Ok(actions),
                Err((left, error)) if refused.as_ref().is_none_or(|(least, _)| left < *least) => {
                    refused = Some((left, error));
                }
                Err(_) => {}
            }
        }
        Err(refused.unwrap_or_else(|| unreachable!("each step has a way")))
    }

    /// The pass behind a step, for each way to compute it: the cheapest one first.
    fn ways(&self, problem: &Problem, step: Step) -> Vec<Result<Self, PlanError>> {
        let way = |way: Way<'_>| {
            let mut pass = Self { is_positive: false, ..self.clone() };
            way(&mut pass).map(|()| pass)
        };
        let unary = |op: FpUnaryOp| vec![way(&|pass| pass.unary(op))];
        let add = |op: BinaryOperator| way(&|pass| pass.binary(op, Operand::Bias));
        match step {
            Step::Bias(_) if problem.bias_element() == Some(ElementType::I32) => vec![
                add(BinaryOperator::Fxp(FxpBinaryOp::AddFxp)),
                add(BinaryOperator::ClipI32(ClipBinaryOpI32::AddFxp)),
            ],
            Step::Bias(_) => vec![
                add(BinaryOperator::ClipF32(ClipBinaryOpF32::Add)),
                add(BinaryOperator::Fp(FpBinaryOp::AddF)),
            ],
            // A conversion and a limit at 0 change places without a difference.
            Step::Relu => vec![
                way(&|pass| pass.to(problem.before_cast()).and_then(|()| pass.relu())),
                way(&|pass| pass.relu()),
            ],
            Step::Scale(factor) => {
                let product = |pass: &mut Self| {
                    pass.to(ElementType::F32).and_then(|()| pass.multiply(Operand::Float(factor)))
                };
                let mut ways = vec![way(&product)];
                if let Some(divisor) = exact_reciprocal(factor) {
                    let quotient = BinaryOperator::FpDiv(FpDivBinaryOp::DivF);
                    ways.push(way(&|pass| pass.binary(quotient, Operand::Float(divisor))));
                }
                ways
            }
            Step::Silu => vec![way(&|pass| pass.gated(None))],
            Step::Gelu => vec![way(&|pass| pass.gated(Some(GELU_FACTOR)))],
            Step::Sigmoid => unary(FpUnaryOp::Sigmoid),
            Step::Tanh => unary(FpUnaryOp::Tanh),
            Step::Exp => unary(FpUnaryOp::Exp),
        }
    }
}
