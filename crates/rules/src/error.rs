//! Refusals of plans.

use crate::mapping::Problem;
use crate::text::Text;

/// The refusal of a configuration: the limit of the chip, with the numbers and a correction.
///
/// Made in const evaluation, as a compile error, or at run time.
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
        match problem {
            Problem::NotDivisible { size, by } => Self::new(
                "not divisible",
                text!(
                    "{}: a mapping of {} positions would be cut at {}, which does not divide it; \
                     help: pad it with `#` first",
                    (operation, size, by),
                ),
            ),
            Problem::PaddingTooSmall { size, padding } => Self::new(
                "padding too small",
                text!(
                    "{}: a mapping of {} positions cannot be padded to {}; help: pad to at least its size",
                    (operation, size, padding),
                ),
            ),
            Problem::NoElement { kept, first } => Self::new(
                "no element",
                text!(
                    "{}: the first {} of a mapping hold no element: dead ones come first, and the first element is \
                     at {}; help: keep at least {}",
                    (operation, count(kept, "position"), first, first + 1),
                ),
            ),
            Problem::NoAxis { lead } => Self::new(
                "no axis",
                text!(
                    "{}: {} before a single element without an axis; help: declare an axis of size 1 and name it: \
                     `# {} + U`",
                    (operation, count(lead, "dead position"), lead),
                ),
            ),
            Problem::TooManyFactors => Self::new(
                "too many factors",
                text!(
                    "{}: a mapping has more than {} digits; help: merge neighbouring digits of one axis",
                    (operation, crate::mapping::FACTORS),
                ),
            ),
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

/// Unwraps the value, or returns early with the error: `?` for const code.
#[doc(hidden)]
#[macro_export]
macro_rules! attempt {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}
#[doc(hidden)]
pub use attempt;

/// Returns early with a refusal: `refuse!("rule", "fetch: {} has …", (expr, …))`. The rest is as in `text!`.
#[doc(hidden)]
#[macro_export]
macro_rules! refuse {
    ($rule:expr, $($text:tt)+) => {
        return Err($crate::error::PlanError::new($rule, $crate::text::text!($($text)+)))
    };
}
#[doc(hidden)]
pub use refuse;
