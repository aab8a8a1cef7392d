//! Random sequences of commands, valid and invalid, against memories that are modelled byte by byte.
//!
//! Whatever is given, the library answers: it does the command or says which rule it breaks. The model in
//! `tests/reference/shadow` says which answers are right, and what is read back.
//!
//! * `VISA_CASES=N` runs N sequences, `VISA_SEED=S` starts at seed S. A failure prints the seed that repeats it.
//!
//! ```sh
//! VISA_CASES=100000 cargo test --release --test fuzz
//! ```

mod commands;
mod sequences;
mod wild;

#[path = "../reference/mod.rs"]
mod reference;

use commands::{Broken, Machine};
use furiosa_visa_std::chip::{ExecutionOrder, FaultKind};
use reference::random::Random;
use reference::shadow::{Rule, Shadow};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The kind by which a rule is reported.
fn kind(rule: Rule) -> FaultKind {
    match rule {
        Rule::Stale => FaultKind::StaleRead,
        Rule::Uninitialised => FaultKind::Uninitialised,
        Rule::Bounds => FaultKind::OutOfBounds,
        Rule::Capacity => FaultKind::Capacity,
        Rule::Misaligned => FaultKind::Misaligned,
        Rule::Overwrite => FaultKind::Overwrite,
        Rule::View => FaultKind::OutsideView,
        Rule::Twice => FaultKind::OverlappingWrites,
        Rule::Unordered => FaultKind::Unordered,
        Rule::Unsupported => FaultKind::Unsupported,
    }
}

/// What has happened, to see that everything does.
type Tally = BTreeMap<String, usize>;

/// One sequence of commands: an error where library and model differ.
fn run(random: &mut Random, tally: &mut Tally) -> Result<(), String> {
    let order = ExecutionOrder::ALL[random.below(4)];
    let (mut shadow, mut machine) = (Shadow::default(), Machine::new(order, random.seed));
    let mut sequence = sequences::Sequence::default();
    let mut log = format!("{order:?}\n");
    for _ in 0..random.between(4, 14) {
        let operation = sequence.next(random);
        log += &format!("{operation:?}\n");
        let fail = |text: String, log: &str| Err(format!("{log}{text}"));
        if random.chance(8) {
            // Without a meaning: refused as such, and nothing has happened.
            let broken = random.pick(&Broken::ALL);
            match machine.give_broken(&operation, broken, random) {
                None => {}
                // The address may be wrong as well.
                Some(Err(fault))
                    if fault.kind == FaultKind::Refused || fault.message.ends_with("lies in no memory") =>
                {
                    *tally.entry(format!("{broken:?}")).or_default() += 1;
                }
                Some(other) => return fail(format!("{broken:?} must be refused, but: {other:?}"), &log),
            }
            continue;
        }
        let waits = order != ExecutionOrder::Program;
        let expected = shadow.give(&operation, waits);
        let found = machine.give(&operation);
        match (expected, found) {
            (Ok(elements), Ok(read)) => {
                *tally.entry("done".to_string()).or_default() += 1;
                if elements != read {
                    return fail(format!("read\n{read:?}\ninstead of\n{elements:?}"), &log);
                }
            }
            (Err(rules), Err(fault)) => {
                let kinds: Vec<FaultKind> = rules.iter().copied().map(kind).collect();
                if !kinds.contains(&fault.kind) {
                    return fail(format!("one of {rules:?} is expected, but:\n{fault}"), &log);
                }
                // The message is whole, whatever the numbers are.
                let text = fault.to_string();
                if !text.starts_with("fault: ") || fault.location.file().is_empty() {
                    return fail(text, &log);
                }
                *tally.entry(format!("{:?}", fault.kind)).or_default() += 1;
                if rules.len() == 1 {
                    *tally.entry(format!("only {:?}", fault.kind)).or_default() += 1;
                }
            }
            (Ok(_), Err(fault)) => return fail(format!("nothing is wrong, but:\n{fault}"), &log),
            (Err(rules), Ok(_)) => return fail(format!("accepted although {rules:?}"), &log),
        }
    }
    Ok(())
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Runs sequences from the first seed on. Fails where one does, or panics.
fn for_sequences(default: u64, mut run: impl FnMut(&mut Random) -> Result<(), String>) -> u64 {
    let (first, count) = (number("VISA_SEED").unwrap_or(0), number("VISA_CASES").unwrap_or(default));
    let mut failures = Vec::new();
    for seed in first..first + count {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&mut Random::new(seed))));
        let text = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(text)) => text,
            Err(_) => "panicked, see above".to_string(),
        };
        failures.push((text.len(), seed, text));
        if failures.len() >= 20 {
            break;
        }
    }
    // Short reports tend to be small cases.
    failures.sort();
    for (_, seed, text) in failures.iter().take(4) {
        eprintln!("VISA_SEED={seed} VISA_CASES=1:\n{text}\n");
    }
    let seeds: Vec<u64> = failures.iter().map(|(_, seed, _)| *seed).collect();
    assert!(failures.is_empty(), "sequences failed: {seeds:?}");
    count
}

#[test]
fn random_sequences_agree_with_the_shadow() {
    let mut tally = Tally::new();
    let count = for_sequences(2000, |random| run(random, &mut tally));
    println!("{count} sequences: {tally:#?}");
    if count >= 2000 {
        let missing: BTreeSet<String> = (Broken::ALL.iter().map(|broken| format!("{broken:?}")))
            .chain(Rule::ALL.iter().map(|&rule| format!("only {:?}", kind(rule))))
            .chain(["done".to_string()])
            .filter(|name| tally.get(name).is_none_or(|&count| count < 5))
            .collect();
        assert!(missing.is_empty(), "hardly ever met: {missing:?} in {tally:?}");
    }
}

#[test]
fn wild_commands_are_done_or_refused() {
    let mut done = 0;
    let count = for_sequences(2000, |random| {
        done += wild::run(random)?;
        Ok(())
    });
    println!("{count} sequences, {done} commands were done");
    assert!(count < 100 || done as u64 > count / 2, "{done} of {count} sequences");
}
