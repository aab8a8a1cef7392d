//! Effect of a stage on the mappings of a stream, in words.

use crate::mapping::{Expr, Factors, Pool};
use crate::sequencer::{Explanation, write_table};
use crate::text::Text;
use core::fmt;

/// A mapping before and after a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingChange {
    /// Name of the mapping in the call, for example `Time`.
    pub name: &'static str,
    /// Before the stage, in `m![…]` notation. Empty: the stage makes it.
    pub before: String,
    /// After the stage. Empty: the stage consumes it.
    pub after: String,
}

impl MappingChange {
    /// A mapping that the stage turns into another one.
    pub fn new(name: &'static str, before: &Expr, after: &Expr) -> Self {
        Self { name, before: format!("m![{before}]"), after: format!("m![{after}]") }
    }

    /// A mapping that is part of others after the stage.
    pub fn consumed(name: &'static str, before: &Expr) -> Self {
        Self { name, before: format!("m![{before}]"), after: String::new() }
    }
}

/// Explanation of a stage without a memory: the mappings before and after it, the rule that connects them, and the
/// numbers derived from it.
///
/// ```
/// use furiosa_visa_std::engine::contraction::ContractPlan;
/// use furiosa_visa_std::prelude::*;
/// axes![K = 64];
/// println!("{}", ContractPlan::<i8, m![K], m![K / 16]>::explain());
/// ```
///
/// ```text
/// contract
///
/// | mapping | before | after      |
/// |---------|--------|------------|
/// | Packet  | m![K]  | m![K / 16] |
///
/// the tree adds the 16 innermost positions: m![K] / 16, without outer padding, is m![K / 16]
///
/// packet         64 i8, 64 bytes
/// tree depth     4 of 6 levels
/// columns        4 of 32
/// …
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageExplanation {
    /// The call, for example `contract`.
    pub operation: &'static str,
    /// The mappings that the stage changes.
    pub mappings: Vec<MappingChange>,
    /// The rule that gives the mappings after the stage from the mappings before it, with the mappings inserted.
    pub rule: String,
    /// Names and values of numbers, in the order in which they are printed.
    pub facts: Vec<(&'static str, String)>,
    /// The loops of the stage, if they show their origin.
    pub loops: Option<Explanation>,
}

impl StageExplanation {
    /// A stage without numbers.
    pub fn new(operation: &'static str, mappings: Vec<MappingChange>, rule: String) -> Self {
        Self { operation, mappings, rule, facts: Vec::new(), loops: None }
    }

    /// Adds a number with its name.
    pub fn fact(&mut self, name: &'static str, value: impl fmt::Display) {
        self.facts.push((name, value.to_string()));
    }

    /// The value of a number in printed form.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
    }
}

/// Factors in `m![…]` notation.
pub(super) fn notation(pool: &Pool, factors: &Factors) -> String {
    format!("m![{}]", crate::mapping::write_factors(Text::new(), pool, factors.as_slice()))
}

/// A number with its noun.
pub(super) fn count(number: usize, thing: &str) -> Text {
    Text::new().count(number, thing)
}

impl fmt::Display for StageExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.operation)?;
        let cells = |change: &MappingChange| {
            vec![change.name.to_string(), change.before.clone(), change.after.clone()]
        };
        let rows: Vec<_> = self.mappings.iter().map(cells).collect();
        write_table(f, &["mapping", "before", "after"], &rows)?;
        writeln!(f, "\n{}\n", self.rule)?;
        let width = self.facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, value) in &self.facts {
            writeln!(f, "{name:width$}  {value}")?;
        }
        if let Some(loops) = &self.loops {
            write!(f, "\n{loops}")?;
        }
        Ok(())
    }
}
