//! The passes of a function of rows, as data and as commands.
//!
//! | function | passes |
//! |---|---|
//! | softmax | greatest of a row; sum of the powers; quotients |
//! | rmsnorm | mean square; its root; quotients |
//! | layernorm | mean; mean square of what is left; its root; quotients |
//!
//! Numbers of rows go from pass to pass in the vector register file. A mean square goes through DM: the float cluster, which
//! has the root, comes before the reduce, and not again.

use super::place::RowLayout;
use super::{RowKind, Rows};
use crate::epilogue::method;
use furiosa_visa_rules::command::{
    BinaryArgMode, BinaryInput, BinaryOperator, FillId, FpBinaryOp, FpDivBinaryOp, FpMulAlu, FpUnaryOp,
    OperandSource, Operation, ReduceOperator, ValidBranchIds, VectorStep,
};
use furiosa_visa_rules::engine::vector::BranchMode;
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::lower::{Call, Stream, Tensor};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;
use furiosa_visa_rules::tensor::Shape;

/// The element type of a stream of rows.
const STREAM: ElementType = ElementType::F32;
/// The element type of rows behind a function.
pub const MADE: ElementType = ElementType::Bf16;

/// The other argument of an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    /// A number.
    Number(f32),
    /// The number of the row in a register.
    Row(usize),
    /// The element itself.
    Itself,
}

/// A call on each element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// An operator, with the element as its first argument.
    Binary(BinaryOperator, By),
    /// A function.
    Unary(FpUnaryOp),
    /// Makes one number of each row.
    Reduce(ReduceOperator),
}

/// What a pass reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The rows.
    Rows,
    /// A number of each row in DM.
    Means,
}

/// Where a pass ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// A number of each row, to this register.
    Register(usize),
    /// A number of each row, to DM.
    Means,
    /// The rows.
    Rows,
}

/// A pass.
#[derive(Clone, Debug, PartialEq)]
pub struct RowPass {
    /// What it reads.
    pub source: Source,
    /// What it does.
    pub actions: Vec<Action>,
    /// Where it ends.
    pub sink: Sink,
    /// The name of what it makes.
    pub name: &'static str,
}

impl Rows {
    /// The passes of the function.
    pub fn passes(&self) -> Vec<RowPass> {
        let fp = |op, by| Action::Binary(BinaryOperator::Fp(op), by);
        let divide = |by| Action::Binary(BinaryOperator::FpDiv(FpDivBinaryOp::DivF), by);
        let multiply = |by| fp(FpBinaryOp::MulF(FpMulAlu::Mul0), by);
        let pass = |source, actions, sink, name| RowPass { source, actions, sink, name };
        let add = Action::Reduce(ReduceOperator::AddF32);
        let count = By::Number(self.size as f32);
        let square = [multiply(By::Itself), add, divide(count)];
        let root = |epsilon: f32, register| {
            let actions = vec![fp(FpBinaryOp::AddF, By::Number(epsilon)), Action::Unary(FpUnaryOp::Sqrt)];
            pass(Source::Means, actions, Sink::Register(register), "root")
        };
        match self.kind {
            RowKind::Softmax { scale } => {
                let mut powers = vec![fp(FpBinaryOp::SubF, By::Row(0))];
                if scale != 1.0 {
                    powers.push(multiply(By::Number(scale)));
                }
                powers.push(Action::Unary(FpUnaryOp::Exp));
                let greatest = vec![Action::Reduce(ReduceOperator::MaxF32)];
                let [sum, quotients] = [add, divide(By::Row(1))].map(|last| [&powers[..], &[last]].concat());
                vec![
                    pass(Source::Rows, greatest, Sink::Register(0), "greatest"),
                    pass(Source::Rows, sum, Sink::Register(1), "sum"),
                    pass(Source::Rows, quotients, Sink::Rows, "rows"),
                ]
            }
            RowKind::RmsNorm { epsilon } => vec![
                pass(Source::Rows, square.to_vec(), Sink::Means, "mean"),
                root(epsilon, 0),
                pass(Source::Rows, vec![divide(By::Row(0))], Sink::Rows, "rows"),
            ],
            RowKind::LayerNorm { epsilon } => {
                let centred = fp(FpBinaryOp::SubF, By::Row(0));
                vec![
                    pass(Source::Rows, vec![add, divide(count)], Sink::Register(0), "mean"),
                    pass(Source::Rows, [&[centred][..], &square].concat(), Sink::Means, "variance"),
                    root(epsilon, 1),
                    pass(Source::Rows, vec![centred, divide(By::Row(1))], Sink::Rows, "rows"),
                ]
            }
        }
    }
}

impl RowPass {
    /// Whether one number of each row is left.
    pub fn reduces(&self) -> bool {
        self.sink != Sink::Rows
    }
}

/// A function of rows in one layout: the rows stay where they are, in the type of operands.
#[derive(Clone, Debug)]
pub struct RowStep {
    /// The function.
    pub rows: Rows,
    /// The mappings.
    pub layout: RowLayout,
}

impl RowStep {
    /// The address of a register in the vector register file, in bytes.
    pub fn register(&self, number: usize) -> u64 {
        let bytes = (self.layout.rows.expr.size() * STREAM.bits() / 8) as u64;
        number as u64 * bytes.next_multiple_of(spec::FLIT_BYTES as u64)
    }

    /// The shape of the numbers of rows that go through DM, if there are some.
    pub fn means(&self, source: &Shape) -> Option<Shape> {
        let has = self.rows.passes().iter().any(|pass| pass.sink == Sink::Means);
        let shape =
            Shape::dm(STREAM, source.chip, source.cluster, source.slice, self.layout.means.expr);
        has.then_some(shape)
    }

    /// The commands, from the rows at `source` to those at `made`. `means` is where numbers of rows go through DM. `fill`
    /// names tensors in the vector register file.
    ///
    /// # Errors
    /// The refusal of the first call that has one.
    pub fn operations(
        &self,
        source: &Tensor,
        means: Option<&Tensor>,
        made: &Tensor,
        mut fill: impl FnMut() -> FillId,
    ) -> Result<Vec<Operation>, PlanError> {
        let (layout, mut operations) = (&self.layout, Vec::new());
        let mut registers: Vec<Tensor> = Vec::new();
        let means = || means.unwrap_or_else(|| unreachable!("a function with means has a place for them"));
        for pass in self.rows.passes() {
            let stream = match pass.source {
                Source::Rows => begin(source, &layout.flits)?.call(&layout.split())?,
                Source::Means => begin(means(), &layout.numbers)?.call(&layout.trim())?,
            };
            let stream = pass.actions.iter().try_fold(stream, |stream, action| self.act(stream, action, &registers))?;
            let back = if pass.reduces() { layout.pad() } else { layout.concat() };
            let stream = stream.call(&back)?.vector_final()?;
            let operation = match pass.sink {
                Sink::Register(number) => {
                    let ended = stream.to_vrf(layout.rows.expr, self.register(number), fill())?;
                    registers.push(ended.1);
                    ended.0
                }
                Sink::Means => {
                    let region = means().region;
                    stream.commit(layout.means.expr, region.address, region.fill)?.0
                }
                Sink::Rows => {
                    let stream = stream.cast(MADE, layout.cast.expr)?;
                    stream.commit(layout.element.expr, made.region.address, made.region.fill)?.0
                }
            };
            operations.push(operation);
        }
        Ok(operations)
    }

    fn act(&self, stream: Stream, action: &Action, registers: &[Tensor]) -> Result<Stream, PlanError> {
        match *action {
            Action::Unary(op) => {
                stream.step("vector_fp_unary", VectorStep::Unary { op, ids: ValidBranchIds::ValidAlways })
            }
            Action::Reduce(op) => {
                let layout = &self.layout;
                stream.intra_slice_reduce(layout.axis, op, layout.rows.expr, layout.number.expr)
            }
            Action::Binary(op, by) => {
                let (mode, source) = match by {
                    By::Number(number) => (BinaryArgMode::Mode01, OperandSource::Constant(number.to_bits())),
                    By::Row(number) => (BinaryArgMode::Mode01, stream.operand(&registers[number])?),
                    By::Itself => (BinaryArgMode::Mode00, OperandSource::Constant(0)),
                };
                let operands = vec![BinaryInput { ids: ValidBranchIds::ValidAlways, source }];
                stream.step(method(op), VectorStep::Binary { op, mode, operands })
            }
        }
    }
}

/// A stream of `f32` in the Vector Engine.
fn begin(tensor: &Tensor, [time, fetched, packet]: &[crate::layout::Mapping; 3]) -> Result<Stream, PlanError> {
    Stream::begin(tensor, false)?
        .fetch(STREAM, time.expr, fetched.expr)?
        .collect(time.expr, packet.expr)?
        .vector_init()?
        .call(&Call::Branch(BranchMode::Unconditional))
}
