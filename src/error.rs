//! Why a plan was refused.

use crate::mapping::Problem;
use crate::text::Text;

/// The refusal of a configuration: what the chip cannot do, with the numbers and the edit.
///
/// Made in const evaluation, where it becomes the compile error, or at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanError {
    rule: &'static str,
    text: Text,
}

impl PlanError {
    /// A refusal. `rule` names the rule in the words of the specification.
    pub const fn new(rule: &'static str, text: Text) -> Self {
        Self { rule, text }
    }

    /// The rule that was broken, as a short name.
    pub const fn rule(&self) -> &'static str {
        self.rule
    }

    /// The message.
    pub const fn message(&self) -> &str {
        self.text.as_str()
    }

    /// A mapping with which no configuration can be derived.
    pub const fn mapping(operation: &'static str, problem: Problem) -> Self {
        let text = Text::new().str(operation).str(": ");
        match problem {
            Problem::NotDivisible { size, by } => {
                let text =
                    text.str("a mapping of ").number(size).str(" positions would be cut at ").number(by);
                Self::new(
                    "not divisible",
                    text.str(", which does not divide it; help: pad it with `#` first"),
                )
            }
            Problem::PaddingTooSmall { size, padding } => {
                let text = text.str("a mapping of ").number(size).str(" positions cannot be padded to ");
                Self::new("padding too small", text.number(padding).str("; help: pad to at least its size"))
            }
            Problem::NoElement { kept, first } => {
                let text =
                    text.str("the first ").count(kept, "position").str(" of a mapping hold no element: ");
                let text = text.str("dead ones come first, and the first element is at ").number(first);
                Self::new("no element", text.str("; help: keep at least ").number(first + 1))
            }
            Problem::TooManyFactors => {
                let text = text.str("a mapping has more than ").number(crate::mapping::FACTORS);
                Self::new(
                    "too many factors",
                    text.str(" digits; help: merge neighbouring digits of one axis"),
                )
            }
        }
    }

    /// Stops const evaluation, or the program, with the message.
    #[track_caller]
    pub const fn refuse(&self) -> ! {
        panic!("{}", self.text.as_str())
    }
}

impl core::fmt::Display for PlanError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.message())
    }
}

impl std::error::Error for PlanError {}

/// The value, or an early return with the error: `?` for const code.
macro_rules! attempt {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}
pub(crate) use attempt;
