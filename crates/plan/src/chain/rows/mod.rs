//! Parts of a chain over rows: softmax and norms, between a result and the contraction that takes it.
//!
//! ```text
//!   result ──a way──▶ rows in DM, each in one slice ──passes of the Vector Engine──▶ the same rows ──a way──▶ operand
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`place`] | layouts in which a slice has whole rows |
//! | [`passes`] | the passes as data, and their commands |
//! | `text` | the same passes as calls of a kernel |
//!
//! The arithmetic is that of the library's `kernels::softmax`, `rms_norm` and `layer_norm`, without a scale or a shift of
//! columns: behind a norm is a contraction, whose other operand has them as factors.

pub mod passes;
pub mod place;
mod text;

use crate::problem::ProblemError;
use furiosa_visa_rules::mapping::parse::Axes;
use furiosa_visa_rules::spec;
pub use passes::RowStep;

/// Number that is added to the mean square of a norm, if none is given.
const EPSILON: f32 = 1e-5;

/// A function of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowKind {
    /// `e^(scale · x) / Σ e^(scale · x)`.
    Softmax {
        /// A positive factor of all elements.
        scale: f32,
    },
    /// `x / √(mean of x² + epsilon)`.
    RmsNorm {
        /// The number that is added.
        epsilon: f32,
    },
    /// `(x - mean) / √(mean of (x - mean)² + epsilon)`.
    LayerNorm {
        /// The number that is added.
        epsilon: f32,
    },
}

/// Names of the functions.
const NAMES: [&str; 3] = ["softmax", "rmsnorm", "layernorm"];

/// A function of each row of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The function.
    pub kind: RowKind,
    /// The axis along which a row goes.
    pub axis: String,
    /// Number of elements of a row.
    pub size: usize,
    /// The axes of the tensor, outermost first.
    pub tensor: Vec<String>,
}

impl Rows {
    /// Tells if a word names a function of rows.
    pub fn is_named(word: &str) -> bool {
        let name = word.split([':', '=']).next().unwrap_or_default();
        NAMES.contains(&name)
    }

    /// Reads a function of rows: `softmax`, `softmax:k`, `rmsnorm=1e-6:k`. `tensor`: its axes, outermost first. Without a
    /// name, rows go along the last one.
    ///
    /// # Errors
    /// Refuses other words, an axis that the tensor lacks, numbers that are no epsilon, and rows of no multiple of 8
    /// elements.
    pub fn new(word: &str, tensor: &[String], axes: &Axes) -> Result<Self, ProblemError> {
        let refuse = |text: String| Err(ProblemError(text));
        let (function, axis) = match word.split_once(':') {
            Some((function, axis)) => (function, Some(axis.trim())),
            None => (word, None),
        };
        let (name, number) = match function.split_once('=') {
            Some((name, number)) => (name, Some(number)),
            None => (function, None),
        };
        let epsilon = match number {
            None => Some(EPSILON),
            Some(number) => {
                number.trim().parse().ok().filter(|number: &f32| number.is_finite() && *number >= 0.0)
            }
        };
        let kind = match (name, epsilon) {
            ("softmax", _) if number.is_some() => {
                return refuse(format!(
                    "chain: `{word}` is no softmax, which takes no number; write a factor in front of it: `scale=0.125, softmax`"
                ));
            }
            ("softmax", _) => RowKind::Softmax { scale: 1.0 },
            (_, None) => {
                return refuse(format!(
                    "chain: `{word}` has no number to add to a mean square; write for example `{name}=1e-6`"
                ));
            }
            ("rmsnorm", Some(epsilon)) => RowKind::RmsNorm { epsilon },
            (_, Some(epsilon)) => RowKind::LayerNorm { epsilon },
        };
        let found = match axis {
            None => tensor.last(),
            Some(axis) => tensor.iter().find(|own| own.eq_ignore_ascii_case(axis)),
        };
        let Some(axis) = found else {
            let names: Vec<String> =
                tensor.iter().map(|axis| format!("`{function}:{}`", axis.to_lowercase())).collect();
            return refuse(format!(
                "chain: `{word}` is along no axis of `{}`; write {}",
                tensor.concat().to_lowercase(),
                names.join(" or ")
            ));
        };
        let of = |name: &String| axes.as_slice().iter().find(|axis| axis.name.as_str() == name);
        let size = of(axis).map_or(1, |axis| axis.size);
        let lanes = spec::BEAT_LANES;
        if !size.is_multiple_of(lanes) {
            return refuse(format!(
                "chain: `{word}` is of rows of {size} elements, but a slice takes rows in packets of {lanes}; make `{axis}` a \
                 multiple of {lanes}"
            ));
        }
        Ok(Self { kind, axis: axis.clone(), size, tensor: tensor.to_vec() })
    }

    /// The name of the function.
    pub fn name(&self) -> &'static str {
        match self.kind {
            RowKind::Softmax { .. } => NAMES[0],
            RowKind::RmsNorm { .. } => NAMES[1],
            RowKind::LayerNorm { .. } => NAMES[2],
        }
    }

    /// The function as it is given.
    pub fn text(&self) -> String {
        let (name, axis) = (self.name(), self.axis.to_lowercase());
        match self.kind {
            RowKind::Softmax { scale: 1.0 } => format!("{name}:{axis}"),
            RowKind::Softmax { scale } => format!("scale={scale}, {name}:{axis}"),
            RowKind::RmsNorm { epsilon: EPSILON } | RowKind::LayerNorm { epsilon: EPSILON } => {
                format!("{name}:{axis}")
            }
            RowKind::RmsNorm { epsilon } | RowKind::LayerNorm { epsilon } => {
                format!("{name}={epsilon:?}:{axis}")
            }
        }
    }
}
