//! The loop over random cases, each with a seed that repeats it.

use crate::random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Where the loop ends early.
pub const MOST_FAILURES: usize = 20;
/// How many failures are printed.
const PRINTED: usize = 6;

/// The number in an environment variable.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Runs `check` on `default` seeds and returns how many there were. `VISA_SEED` sets the first seed, `VISA_CASES` the
/// number. Prints failures, panics of the library among them, and fails if there is one.
pub fn for_cases(default: u64, mut check: impl FnMut(&mut Random) -> Result<(), String>) -> u64 {
    let (first, count) = (number("VISA_SEED").unwrap_or(0), number("VISA_CASES").unwrap_or(default));
    let mut failures = Vec::new();
    for seed in first..first + count {
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&mut Random::new(seed))));
        let text = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(text)) => text,
            Err(_) => "panicked, see above".to_string(),
        };
        failures.push((text.len(), seed, text));
        if failures.len() == MOST_FAILURES {
            break;
        }
    }
    // Short reports tend to be small cases.
    failures.sort();
    for (_, seed, text) in failures.iter().take(PRINTED) {
        eprintln!("VISA_SEED={seed} VISA_CASES=1:\n{text}\n");
    }
    let seeds: Vec<u64> = failures.iter().map(|(_, seed, _)| *seed).collect();
    assert!(seeds.is_empty(), "cases failed, with the seeds {seeds:?}");
    count
}
