//! The passes of a function of rows, as data and as commands.
//!
//! | function | passes |
//! |---|---|
//! | softmax | greatest of a row; sum of the powers; quotients |
//! | rmsnorm | mean square; its root; quotients |
//! | layernorm | mean; mean square of what is left; its root; quotients |
//!
//! Numbers of rows go from pass to pass in the vector register file. They come there through DM, by the sub context: users
//! report that chips hang where a pass of the main context goes through the Vector Engine and ends in the register file. The root
//! of a mean square takes a pass of its own: the float cluster, which has it, comes before the reduce, and not again.

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

/// Input of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The rows.
    Rows,
    /// The numbers of rows that the pass before has left in DM.
    Numbers,
}

/// Where a pass ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// A number of each row, to DM, and from there to this register.
    Register(usize),
    /// A number of each row, to DM.
    Numbers,
    /// The rows.
    Rows,
}

/// A pass.
#[derive(Clone, Debug, PartialEq)]
pub struct RowPass {
    /// Input.
    pub source: Source,
    /// Calls of the Vector Engine.
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
            pass(Source::Numbers, actions, Sink::Register(register), "root")
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
                pass(Source::Rows, square.to_vec(), Sink::Numbers, "mean"),
                root(epsilon, 0),
                pass(Source::Rows, vec![divide(By::Row(0))], Sink::Rows, "rows"),
            ],
            RowKind::LayerNorm { epsilon } => {
                let centred = fp(FpBinaryOp::SubF, By::Row(0));
                vec![
                    pass(Source::Rows, vec![add, divide(count)], Sink::Register(0), "mean"),
                    pass(Source::Rows, [&[centred][..], &square].concat(), Sink::Numbers, "variance"),
                    root(epsilon, 1),
                    pass(Source::Rows, vec![centred, divide(By::Row(1))], Sink::Rows, "rows"),
                ]
            }
        }
    }
}

impl RowPass {
    /// Tells if one number of each row is left.
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

    /// The shapes of the numbers of rows in DM, in the order of the passes.
    pub fn numbers(&self, source: &Shape) -> Vec<Shape> {
        let shape = Shape::dm(STREAM, source.chip, source.cluster, source.slice, self.layout.stored.expr);
        self.rows.passes().iter().filter(|pass| pass.reduces()).map(|_| shape).collect()
    }

    /// The commands, from the rows at `source` to those at `made`. `numbers` is where numbers of rows are in DM. `fill` names
    /// tensors in the vector register file.
    ///
    /// # Errors
    /// The refusal of the first call that has one.
    pub fn operations(
        &self,
        source: &Tensor,
        numbers: &[Tensor],
        made: &Tensor,
        mut fill: impl FnMut() -> FillId,
    ) -> Result<Vec<Operation>, PlanError> {
        let (layout, mut operations) = (&self.layout, Vec::new());
        let (mut registers, mut before) = (Vec::new(), None);
        let mut numbers = numbers.iter();
        for pass in self.rows.passes() {
            let stream = match (pass.source, before) {
                (Source::Numbers, Some(numbers)) => begin(numbers, &layout.numbers)?.call(&layout.trim())?,
                _ => begin(source, &layout.flits)?.call(&layout.split())?,
            };
            let act = |stream, action| self.act(stream, action, &registers);
            let stream = pass.actions.iter().try_fold(stream, act)?;
            let back = if pass.reduces() { layout.pad() } else { layout.concat() };
            let stream = stream.call(&back)?.vector_final()?;
            let Some(there) = numbers.next().filter(|_| pass.reduces()) else {
                let stream = stream.cast(MADE, layout.cast.expr)?;
                operations.push(stream.commit(layout.element.expr, made.region.address, made.region.fill)?.0);
                continue;
            };
            operations.push(stream.commit(layout.stored.expr, there.region.address, there.region.fill)?.0);
            before = Some(there);
            if let Sink::Register(number) = pass.sink {
                let [time, fetched, packet] = &layout.numbers;
                let (operation, register) = Stream::begin(there, true)?
                    .fetch(STREAM, time.expr, fetched.expr)?
                    .collect(time.expr, packet.expr)?
                    .to_vrf(layout.rows.expr, self.register(number), fill())?;
                operations.push(operation);
                registers.push(register);
            }
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
fn begin(
    tensor: &Tensor,
    [time, fetched, packet]: &[crate::layout::Mapping; 3],
) -> Result<Stream, PlanError> {
    Stream::begin(tensor, false)?
        .fetch(STREAM, time.expr, fetched.expr)?
        .collect(time.expr, packet.expr)?
        .vector_init()?
        .call(&Call::Branch(BranchMode::Unconditional))
}
