//! Steps behind the sums, in the last pass of a step: a bias, activations, a factor, and the type of the result.
//!
//! ```text
//!   Step ──▶ Program: operators, each in its unit of the Vector Engine ──▶ calls of a stream
//!                                                                     └──▶ calls of a kernel as text
//! ```

mod lower;
mod program;
mod text;

pub use lower::{Ends, apply, bring_bias, load_bias};
pub(crate) use program::method;
pub use program::{Action, Operand, Program};
pub(crate) use text::operator;

use crate::problem::{Axis, ProblemError, Role};

/// A step behind the sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Adds a vector over this axis of the result. It is in HBM.
    Bias(usize),
    /// `max(x, 0)`.
    Relu,
    /// `x * sigmoid(x)`.
    Silu,
    /// `x * sigmoid(1.702 * x)`.
    Gelu,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// `e^x`.
    Exp,
    /// Multiplies by a constant.
    Scale(f32),
}

/// The factor of `gelu`.
pub const GELU_FACTOR: f32 = 1.702;

/// Steps without an argument.
const PLAIN: [(&str, Step); 6] = [
    ("relu", Step::Relu),
    ("silu", Step::Silu),
    ("gelu", Step::Gelu),
    ("sigmoid", Step::Sigmoid),
    ("tanh", Step::Tanh),
    ("exp", Step::Exp),
];

impl Step {
    /// Reads a list of steps: `bias,silu`, `bias:M,relu`, `scale=0.125`. `result`: axes of the result, outermost first.
    ///
    /// # Errors
    /// Refuses other words, a bias along an axis that the result lacks or that both operands have, a second bias, and factors that are no number or 0.
    pub fn list(text: &str, axes: &[Axis], result: &[usize]) -> Result<Vec<Self>, ProblemError> {
        let mut steps: Vec<Self> = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let step = Self::one(word, axes, result)?;
            if matches!(step, Step::Bias(_)) && steps.iter().any(|step| matches!(step, Step::Bias(_))) {
                return Err(ProblemError(format!(
                    "epilogue: `{text}` has two biases, but a kernel takes one; add one of them outside of it"
                )));
            }
            steps.push(step);
        }
        Ok(steps)
    }

    /// Tells if a word names a step.
    pub(crate) fn is_named(word: &str) -> bool {
        let name = word.split([':', '=']).next().unwrap_or_default();
        ["bias", "scale"].contains(&name) || PLAIN.iter().any(|(plain, _)| *plain == name)
    }

    fn one(word: &str, axes: &[Axis], result: &[usize]) -> Result<Self, ProblemError> {
        if let Some((_, step)) = PLAIN.iter().find(|(name, _)| *name == word) {
            return Ok(*step);
        }
        if let Some(factor) = word.strip_prefix("scale=") {
            let number = factor.parse().ok().filter(|factor: &f32| factor.is_finite() && *factor != 0.0);
            return number.map(Step::Scale).ok_or_else(|| {
                ProblemError(format!("epilogue: `{factor}` is no factor; write for example `scale=0.125`"))
            });
        }
        let named = word.strip_prefix("bias:");
        if word == "bias" || named.is_some() {
            let found = match named {
                None => result.last().copied(),
                Some(name) => result.iter().copied().find(|&axis| axes[axis].name.eq_ignore_ascii_case(name)),
            };
            let is_shared = |axis: usize| axes[axis].role == Role::Batch;
            if let Some(axis) = found.filter(|axis| is_shared(*axis)) {
                return Err(ProblemError(format!(
                    "epilogue: `{word}` is along the axis {} of both operands, of which a slice has one position, but DMA \
                     brings at least two numbers; name an axis of one operand, or add the bias outside of the kernel",
                    axes[axis].name
                )));
            }
            return found.map(Step::Bias).ok_or_else(|| {
                let own = result.iter().filter(|axis| !is_shared(**axis));
                let names: Vec<_> = own.map(|&axis| format!("`bias:{}`", axes[axis].name)).collect();
                let edit = match names.is_empty() {
                    true => "leave it out: the result has no axis of one operand".to_string(),
                    false => format!("write {}", names.join(" or ")),
                };
                ProblemError(format!("epilogue: `{word}` is no bias along an axis of the result; {edit}"))
            });
        }
        Err(ProblemError(format!(
            "epilogue: `{word}` is no step; the steps are bias, bias:N, relu, silu, gelu, sigmoid, tanh, exp and scale=0.125"
        )))
    }

    /// Tells if the step is a function that hosts and chips round in their own ways.
    pub fn is_rounded(&self) -> bool {
        matches!(self, Step::Silu | Step::Gelu | Step::Sigmoid | Step::Tanh | Step::Exp)
    }

    /// Tells if the step takes integers.
    pub fn takes_integers(&self) -> bool {
        matches!(self, Step::Bias(_) | Step::Relu)
    }

    /// The step as it is given.
    pub fn text(&self, axes: &[Axis]) -> String {
        match self {
            Step::Bias(axis) => format!("bias:{}", axes[*axis].name),
            Step::Scale(factor) => format!("scale={factor}"),
            plain => PLAIN.iter().find(|(_, step)| step == plain).map_or("", |(name, _)| *name).to_string(),
        }
    }
}
