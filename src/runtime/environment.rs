//! Options from the environment, for a program that stays as it is.
//!
//! | variable | sets | values |
//! |---|---|---|
//! | `VISA_CHECKS` | [`SimOptions::checks`] | `all`, `none`, or names of [`CheckOptions`] with commas between them: `bounds,alignment` checks these alone, `-stale_reads` all but this one |
//! | `VISA_MEMORY` | [`SimOptions::fresh_memory`] | `poison`, `zero`, `random` |
//! | `VISA_ORDER` | [`SimOptions::order`] | `program`, `early` (DMA first), `late` (DMA last), `random` |
//! | `VISA_SEED` | [`SimOptions::seed`] | a number below 2^64, decimal or `0x…` |
//!
//! They are read whenever a context is made, and win over what the program says. An empty variable is none.
//!
//! ```sh
//! VISA_CHECKS=-order VISA_MEMORY=random VISA_SEED=7 cargo run --example 01_digits
//! ```

use super::context::SimOptions;
use crate::chip::{Check, CheckOptions, ExecutionOrder, FreshMemory};
use core::fmt;

/// A variable of the environment.
struct Variable {
    name: &'static str,
    /// What it may be set to, for messages.
    allowed: fn() -> String,
    /// Sets an option, or says what is wrong with the value.
    set: fn(&mut SimOptions, &str) -> Result<(), String>,
}

/// All variables, in the order of the table above.
const VARIABLES: &[Variable] = &[
    Variable { name: "VISA_CHECKS", allowed: allowed_checks, set: set_checks },
    Variable { name: "VISA_MEMORY", allowed: allowed_memory, set: set_memory },
    Variable { name: "VISA_ORDER", allowed: allowed_order, set: set_order },
    Variable { name: "VISA_SEED", allowed: allowed_seed, set: set_seed },
];

/// A variable with a value that it cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentError {
    name: &'static str,
    value: String,
    problem: String,
    allowed: String,
}

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, problem, allowed } = self;
        write!(f, "{name}={value}: {problem}; help: set it to {allowed}, or unset it")
    }
}

impl core::error::Error for EnvironmentError {}

impl SimOptions {
    /// The options with what the environment says: see [`environment`](crate::runtime::environment).
    ///
    /// # Errors
    /// Where a variable has a value that it cannot have. The message names those that it can have.
    pub fn with_environment(self) -> Result<Self, EnvironmentError> {
        self.with_variables(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn with_variables(mut self, value: impl Fn(&str) -> Option<String>) -> Result<Self, EnvironmentError> {
        for variable in VARIABLES {
            let Some(value) = value(variable.name).filter(|value| !value.is_empty()) else { continue };
            if let Err(problem) = (variable.set)(&mut self, value.trim()) {
                return Err(EnvironmentError {
                    name: variable.name,
                    value,
                    problem,
                    allowed: (variable.allowed)(),
                });
            }
        }
        Ok(self)
    }
}

fn allowed_checks() -> String {
    let names: Vec<_> = Check::ALL.iter().map(|check| format!("`{check}`")).collect();
    format!("`all`, `none`, or a list of {} (with `-` in front: without it)", names.join(", "))
}

fn set_checks(options: &mut SimOptions, value: &str) -> Result<(), String> {
    let mut checks = if value.starts_with('-') { CheckOptions::ALL } else { CheckOptions::NONE };
    for word in value.split(',').map(str::trim) {
        let (name, on) = word.strip_prefix('-').map_or((word, true), |name| (name, false));
        checks = match (name, Check::ALL.iter().find(|check| check.name() == name)) {
            ("all", _) if on => CheckOptions::ALL,
            ("none", _) if on => CheckOptions::NONE,
            (_, Some(&check)) => checks.with(check, on),
            _ => return Err(format!("`{word}` is no check")),
        };
    }
    options.checks = checks;
    Ok(())
}

fn allowed_memory() -> String {
    "`poison`, `zero` or `random`".to_string()
}

fn set_memory(options: &mut SimOptions, value: &str) -> Result<(), String> {
    options.fresh_memory = match value {
        "poison" => FreshMemory::Poison,
        "zero" => FreshMemory::Zero,
        "random" => FreshMemory::Random,
        _ => return Err(format!("memory is not made of `{value}`")),
    };
    Ok(())
}

fn allowed_order() -> String {
    "`program`, `early`, `late` or `random`".to_string()
}

fn set_order(options: &mut SimOptions, value: &str) -> Result<(), String> {
    options.order = match value {
        "program" => ExecutionOrder::Program,
        "early" => ExecutionOrder::EarlyDma,
        "late" => ExecutionOrder::LateDma,
        "random" => ExecutionOrder::Random,
        _ => return Err(format!("commands have no order `{value}`")),
    };
    Ok(())
}

fn allowed_seed() -> String {
    format!("a number from 0 to {}, or from 0x0 to {:#x}", u64::MAX, u64::MAX)
}

fn set_seed(options: &mut SimOptions, value: &str) -> Result<(), String> {
    let parsed = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    options.seed = parsed.map_err(|error| format!("`{value}` is no seed: {error}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Result<SimOptions, String> {
        let value = |asked: &str| (asked == name).then(|| value.to_string());
        SimOptions::default().with_variables(value).map_err(|error| error.to_string())
    }

    #[test]
    fn checks() {
        let checks = |value| set("VISA_CHECKS", value).map(|options| options.checks);
        assert_eq!(checks(""), Ok(CheckOptions::ALL));
        assert_eq!(checks("all"), Ok(CheckOptions::ALL));
        assert_eq!(checks("none"), Ok(CheckOptions::NONE));
        let two = CheckOptions { bounds: true, order: true, ..CheckOptions::NONE };
        assert_eq!(checks("bounds, order"), Ok(two));
        let without = CheckOptions { stale_reads: false, views: false, ..CheckOptions::ALL };
        assert_eq!(checks("-stale_reads,-views"), Ok(without));
        assert_eq!(checks("all,-stale_reads,-views"), Ok(without));
        for &check in Check::ALL {
            assert_eq!(checks(check.name()), Ok(CheckOptions::NONE.with(check, true)));
        }
        for bad in ["stale", "-all", "-none", "bounds,", "bounds;order", "ALL"] {
            let message = checks(bad).expect_err(bad);
            assert!(message.starts_with(&format!("VISA_CHECKS={bad}: `")), "{message}");
            assert!(
                message
                    .contains("is no check; help: set it to `all`, `none`, or a list of `uninitialised`, ")
            );
            assert!(Check::ALL.iter().all(|check| message.contains(check.name())), "{message}");
        }
    }

    #[test]
    fn memory_order_and_seed() {
        let memory = |value| set("VISA_MEMORY", value).map(|options| options.fresh_memory);
        assert_eq!(memory("poison"), Ok(FreshMemory::Poison));
        assert_eq!(memory("zero"), Ok(FreshMemory::Zero));
        assert_eq!(memory("random"), Ok(FreshMemory::Random));
        let message = memory("zeros").expect_err("one s too many");
        let expected = "VISA_MEMORY=zeros: memory is not made of `zeros`; help: set it to `poison`, `zero` or `random`, \
                        or unset it";
        assert_eq!(message, expected);
        let order = |value| set("VISA_ORDER", value).map(|options| options.order);
        for (value, expected) in ["program", "early", "late", "random"].into_iter().zip(ExecutionOrder::ALL) {
            assert_eq!(order(value), Ok(expected));
        }
        let message = order("dma").expect_err("no order");
        let expected = "VISA_ORDER=dma: commands have no order `dma`; help: set it to `program`, `early`, `late` or `random`, \
                        or unset it";
        assert_eq!(message, expected);
        let seed = |value| set("VISA_SEED", value).map(|options| options.seed);
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(seed("0xff"), Ok(255));
        for bad in ["18446744073709551616", "-1", "0x", "seven"] {
            let message = seed(bad).expect_err(bad);
            assert!(message.contains(&format!("`{bad}` is no seed: ")), "{message}");
            assert!(message.contains("a number from 0 to 18446744073709551615"), "{message}");
        }
        assert_eq!(set("VISA_OTHER", "1"), Ok(SimOptions::default()));
    }

    /// The table at the top has a row for each variable, in order.
    #[test]
    fn the_table_is_complete() {
        let rows = include_str!("environment.rs").lines().filter_map(|line| line.strip_prefix("//! | `"));
        let names: Vec<_> = rows.filter_map(|row| row.split('`').next()).collect();
        assert_eq!(names, VARIABLES.iter().map(|variable| variable.name).collect::<Vec<_>>());
    }
}
