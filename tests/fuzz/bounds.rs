//! Lower bounds of random sequences, in both profiles, with other numbers and with both kinds of channels.

use crate::commands::{Machine, command_of};
use crate::orders::Order;
use crate::sequences::Operations;
use furiosa_visa_std::clock::bound::{Limit, check};
use furiosa_visa_std::clock::record::Timing;
use furiosa_visa_std::clock::{Channels, CommandClock, CommandTime, Model, Number, Numbers, Profile, Record};
use furiosa_visa_std::command::{self, ContextKind};
use furiosa_visa_std::runtime::SimOptions;
use reference::random::Random;

/// Numbers of a profile: those of the library, or some of them at random.
fn numbers(random: &mut Random) -> Numbers {
    let mut numbers = Numbers::default();
    for number in Number::ALL {
        if random.chance(20) {
            numbers = numbers.with(number, random.below(2 * number.default_value() as usize + 2) as u64);
        }
    }
    numbers
}

/// Compares the time of a command alone with the one that ran.
fn is_exact(time: &CommandTime, record: &Record) -> Result<(), String> {
    let (alone, ran) = (time.cycles(), record.cycles());
    let is_same = time.timing == record.timing && time.resources == record.resources;
    let undisturbed = record.beside.iter().all(|(_, delay)| *delay == 0);
    if is_same && alone <= ran && (alone == ran || !undisturbed) {
        return Ok(());
    }
    Err(format!("{alone} cycles alone, {ran} in {record:?}: {time:?}"))
}

/// One sequence. Returns the limits that hold its kernels, and the number of commands whose time was compared.
pub fn run(random: &mut Random) -> Result<(Vec<Limit>, usize), String> {
    let profile = random.pick(&Profile::ALL);
    let channels = if random.chance(20) { Channels::Dual } else { Channels::Single };
    let numbers = numbers(random);
    let options = SimOptions { chips: Some(1), profile, channels, numbers, ..SimOptions::default() };
    let mut machine = Machine::with(Order::Program, options);
    let mut clock = CommandClock::new(Model { profile, numbers }).with_channels(channels);
    let mut operations = Operations::new(random);
    let mut times = Vec::new();
    for _ in 0..random.between(4, 14) {
        let operation = operations.next(random);
        if machine.give(&operation).is_ok()
            && let Some(command) = command_of(&operation)
        {
            // The rows of an index are those of a run.
            let has_index = matches!(command, command::Operation::Indexed(_));
            times.push((!has_index).then(|| clock.time(&command)));
        }
    }
    let report = machine.finish();
    for kernel in &report.kernels {
        check(kernel).map_err(|excess| format!("{excess}, {profile}: {kernel:?}"))?;
        // Commands that move nothing take no cycles, but those of the host between them do.
        let of_kernel = |record: &&Record| {
            record.kernel == kernel.call && record.context != ContextKind::PcieDma && record.cycles() > 0
        };
        if kernel.bounds.cycles() == 0
            && let Some(record) = report.records.iter().find(of_kernel)
        {
            return Err(format!("no bound: {kernel:?}, but {record:?}"));
        }
    }
    let own =
        |record: &&Record| !matches!(record.timing, Timing::Host(_) | Timing::Bitmap(_) | Timing::Meeting(_));
    let ran: Vec<&Record> = report.records.iter().filter(own).collect();
    if ran.len() != times.len() || !report.repeats.is_empty() {
        return Err(format!("{} commands were given, {} ran", times.len(), ran.len()));
    }
    let pairs = || times.iter().zip(&ran).filter_map(|(time, record)| Some((time.as_ref()?, record)));
    pairs().try_for_each(|(time, record)| is_exact(time, record))?;
    let limits = report.kernels.iter().map(|kernel| kernel.bounds.held_by()).collect();
    Ok((limits, pairs().count()))
}
