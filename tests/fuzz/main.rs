//! Random sequences of commands, valid and invalid, against memories that are modelled byte by byte.
//!
//! Whatever is given, the library answers: it does the command or says which rule it breaks. The model in
//! `tests/reference/shadow` says which answers are right, and what is read back.
//!
//! * `VISA_CASES=N` runs N sequences, `VISA_SEED=S` starts at seed S. A failure prints the seed that repeats it.
//!
//! ```sh
//! VISA_CASES=100000 cargo test --release -p furiosa-visa-fuzz-tests
//! ```

mod bounds;
mod commands;
mod exchanges;
mod sequences;
mod sums;
mod traces;
mod wild;
mod wild_vector;

#[path = "../replay/orders.rs"]
mod orders;

use ::reference;
use commands::{Broken, Machine};
use furiosa_visa_std::chip::FaultKind;
use orders::Order;
use reference::cases::for_cases;
use reference::random::Random;
use reference::shadow::{Operation, Rule, Shadow, moves_a_byte_to_itself};
use std::collections::{BTreeMap, BTreeSet};

/// The kind by which a rule is reported.
fn kind(rule: Rule) -> FaultKind {
    match rule {
        Rule::Stale => FaultKind::StaleRead,
        Rule::Uninitialised => FaultKind::Uninitialised,
        Rule::Padding => FaultKind::PaddingSummed,
        Rule::Bounds => FaultKind::OutOfBounds,
        Rule::Capacity => FaultKind::Capacity,
        Rule::Misaligned => FaultKind::Misaligned,
        Rule::Overwrite => FaultKind::Overwrite,
        Rule::View => FaultKind::OutsideView,
        Rule::Twice => FaultKind::OverlappingWrites,
        Rule::Unordered => FaultKind::Unordered,
        Rule::Reuse => FaultKind::RegisterReuse,
        Rule::Unsupported => FaultKind::Unsupported,
        Rule::Form => FaultKind::Refused,
        Rule::Foreign => FaultKind::OtherContext,
    }
}

/// What has happened, to see that everything does.
type Tally = BTreeMap<String, usize>;

/// What an operation is counted as, besides being done or refused.
fn names(operation: &Operation) -> Vec<&'static str> {
    match operation {
        Operation::Dma { .. } => vec!["moved"],
        Operation::Copy { .. } => vec!["copied"],
        Operation::Indexed(_) => vec!["indexed"],
        Operation::Set { .. } => vec!["set"],
        Operation::Pass(pass) => {
            let all = [
                (pass.exchange.is_some(), "switched"),
                (pass.sums.is_some(), "summed"),
                (pass.transpose.is_some(), "transposed"),
                (pass.sums.is_some() && pass.transpose.is_some(), "sums transposed"),
            ];
            all.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect()
        }
        _ => Vec::new(),
    }
}

/// A sequence in progress, and what has been given.
struct Sequence {
    shadow: Shadow,
    machine: Machine,
    log: String,
}

impl Sequence {
    fn new(order: Order) -> Sequence {
        let (shadow, machine) = (Shadow::default(), Machine::new(order));
        Sequence { shadow, machine, log: format!("{order:?}\n") }
    }

    fn fail<T>(&self, text: String) -> Result<T, String> {
        Err(format!("{}{text}", self.log))
    }

    /// Gives an operation without a meaning: it is refused as such, and nothing has happened.
    fn give_broken(
        &mut self,
        operation: &Operation,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let sums = matches!(operation, Operation::Pass(pass) if pass.sums.is_some());
        let broken = random.pick(if sums { &Broken::OF_SUMS[..] } else { &Broken::ALL[..] });
        match self.machine.give_broken(operation, broken, random) {
            None => Ok(()),
            // The address may be wrong as well.
            Some(Err(fault))
                if matches!(fault.kind, FaultKind::Refused | FaultKind::Misaligned)
                    || fault.message.ends_with("lies in no memory") =>
            {
                *tally.entry(format!("{broken:?}")).or_default() += 1;
                Ok(())
            }
            Some(other) => self.fail(format!("{broken:?} must be refused, but: {other:?}")),
        }
    }

    /// Gives an operation to both. `alone`: the second system does it after everything before it and before everything
    /// after it. So it is with an operation that strays from its tensors: nothing orders who else uses these places.
    fn give(&mut self, operation: &Operation, alone: bool, tally: &mut Tally) -> Result<(), String> {
        self.log += &format!("{operation:?}\n");
        let expected = self.shadow.give(operation);
        let alone = alone || operation.strays();
        if alone {
            self.machine.settle();
        }
        let found = self.machine.give(operation);
        if alone {
            self.machine.settle();
        }
        let mut count = |name: String| *tally.entry(name).or_default() += 1;
        match (expected, found) {
            (Ok(elements), Ok(read)) => {
                if moves_a_byte_to_itself(operation) {
                    count("moved over itself".to_string());
                }
                if format!("{operation:?}").contains("tile: Some") {
                    count("tiles".to_string());
                }
                count("done".to_string());
                names(operation).into_iter().for_each(|name| count(name.to_string()));
                if elements != read {
                    return self.fail(format!("read\n{read:?}\ninstead of\n{elements:?}"));
                }
            }
            (Err(rules), Err(fault)) => {
                let kinds: Vec<FaultKind> = rules.iter().copied().map(kind).collect();
                if !kinds.contains(&fault.kind) {
                    return self.fail(format!("one of {rules:?} is expected, but:\n{fault}"));
                }
                // The message is whole, whatever the numbers are.
                let text = fault.to_string();
                if !text.starts_with("fault: ") || fault.location.file().is_empty() {
                    return self.fail(text);
                }
                count(format!("{:?}", fault.kind));
                if rules.len() == 1 {
                    let names = names(operation);
                    if !names.contains(&"summed") {
                        count(format!("only {:?}", fault.kind));
                    }
                    for name in names {
                        count(format!("{name}, only {:?}", fault.kind));
                    }
                }
            }
            (Ok(_), Err(fault)) => return self.fail(format!("nothing is wrong, but:\n{fault}")),
            (Err(rules), Ok(_)) => return self.fail(format!("accepted although {rules:?}")),
        }
        Ok(())
    }
}

/// One sequence of commands: an error where library and model differ.
fn run(random: &mut Random, tally: &mut Tally) -> Result<(), String> {
    let orders = [Order::Program, Order::EarlyDma, Order::LateDma, Order::Random(random.seed)];
    let mut sequence = Sequence::new(orders[random.below(4)]);
    let mut operations = sequences::Operations::new(random);
    for _ in 0..random.between(4, 14) {
        let operation = operations.next(random);
        if random.chance(8) {
            sequence.give_broken(&operation, random, tally)?;
        } else {
            sequence.give(&operation, random.chance(12), tally)?;
        }
    }
    if random.chance(40) {
        for operation in sequences::everything(random) {
            sequence.give(&operation, true, tally)?;
        }
    }
    Ok(())
}

/// What passes with sums must run into.
const SUMMED: [Rule; 4] = [Rule::Stale, Rule::Uninitialised, Rule::Padding, Rule::Unordered];

/// What copies between units must run into.
const COPIED: [Rule; 8] = [
    Rule::Stale,
    Rule::Bounds,
    Rule::Misaligned,
    Rule::Overwrite,
    Rule::View,
    Rule::Twice,
    Rule::Unordered,
    Rule::Unsupported,
];

/// What passes that exchange packets between slices must run into.
const SWITCHED: [Rule; 5] = [Rule::Stale, Rule::Uninitialised, Rule::Overwrite, Rule::View, Rule::Unordered];

/// What passes that make lanes of time steps must run into.
const TRANSPOSED: [Rule; 5] =
    [Rule::Stale, Rule::Uninitialised, Rule::Overwrite, Rule::View, Rule::Unsupported];
/// What gathers and scatters must run into.
const INDEXED: [Rule; 8] = [
    Rule::Stale,
    Rule::Uninitialised,
    Rule::Bounds,
    Rule::Misaligned,
    Rule::Overwrite,
    Rule::View,
    Rule::Twice,
    Rule::Unordered,
];

#[test]
fn random_sequences_agree_with_the_shadow() {
    let mut tally = Tally::new();
    let count = for_cases(2000, |random| run(random, &mut tally));
    println!("{count} sequences: {tally:#?}");
    if count >= 2000 {
        let missing: BTreeSet<String> =
            (Broken::ALL.iter().chain(&Broken::OF_SUMS).map(|broken| format!("{broken:?}")))
                // Only sums meet padding.
                .chain(
                    Rule::ALL
                        .iter()
                        .filter(|rule| **rule != Rule::Padding)
                        .map(|&rule| format!("only {:?}", kind(rule))),
                )
                .chain(SUMMED.iter().map(|rule| format!("summed, only {:?}", kind(*rule))))
                .chain(COPIED.iter().map(|rule| format!("copied, only {:?}", kind(*rule))))
                .chain(SWITCHED.iter().map(|rule| format!("switched, only {:?}", kind(*rule))))
                .chain(TRANSPOSED.iter().map(|rule| format!("transposed, only {:?}", kind(*rule))))
                .chain(INDEXED.iter().map(|rule| format!("indexed, only {:?}", kind(*rule))))
                .chain(
                    [
                        "done",
                        "summed",
                        "switched",
                        "transposed",
                        "sums transposed",
                        "copied",
                        "indexed",
                        "set",
                        "tiles",
                    ]
                    .map(str::to_string),
                )
                .chain(["moved over itself", "moved, only Overwrite"].map(str::to_string))
                .filter(|name| tally.get(name).is_none_or(|&count| count < 5))
                .collect();
        assert!(missing.is_empty(), "hardly ever met: {missing:?} in {tally:?}");
    }
}

#[test]
fn wild_commands_are_done_or_refused() {
    let mut done = 0;
    let count = for_cases(2000, |random| {
        done += wild::run(random)?;
        Ok(())
    });
    println!("{count} sequences, {done} commands were done");
    assert!(count < 100 || done as u64 > count / 2, "{done} of {count} sequences");
}

#[test]
fn bounds_are_never_above_the_cycles() {
    let (mut seen, mut compared) = (BTreeMap::new(), 0);
    let count = for_cases(500, |random| {
        let (limits, times) = bounds::run(random)?;
        limits.into_iter().for_each(|limit| *seen.entry(limit).or_insert(0) += 1);
        compared += times;
        Ok(())
    });
    println!("{count} sequences, {compared} commands: {seen:?}");
    assert!(count < 500 || seen.len() >= 4 && compared > 500, "{seen:?}, {compared} commands");
}

#[test]
fn traces_add_up_to_the_report() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let count = for_cases(300, |random| {
        seen.extend(traces::run(random)?.iter().map(|record| record.operation));
        Ok(())
    });
    let all =
        ["upload", "to_dm", "to_hbm", "commit", "to_trf", "to_vrf", "to_dm_pcopy", "dma_gather", "memset"];
    assert!(count < 300 || all.iter().all(|name| seen.contains(name)), "only {seen:?}");
}
