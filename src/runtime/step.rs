//! A step at a time: the commands of a kernel one by one, with what each of them changes.
//!
//! `VISA_STEP=1` on a terminal stops behind each command of the chip; transfers with the host go on. Without the variable a
//! command asks one flag, and a packet none.
//!
//! ```text
//!   #3 commit  kernel.rs:24:10  product  main  64 cycles alone
//!      writes DM 2048..2080 of i32, from the first unit on
//!      before  -  -  -  -
//!      after   1  2  3  4
//!   step>
//! ```

use super::System;
use crate::chip::Addresses;
use crate::clock::KernelCall;
use crate::clock::command_time::CommandClock;
use crate::command::{
    Command, FillId, Inspection, Memory, Operation, Place, Start, Step, Transfer, TransferLoop, TrfRegion,
};
use crate::host::shown_code;
use crate::mapping::Guard;
use crate::text::grouped;
use core::panic::Location;
use std::io::{BufRead, IsTerminal as _, Write};
use std::sync::Once;

/// The most elements that are shown of what a command writes.
const SHOWN: usize = 8;

const KEYS: &str = "Enter: the next command; n N: N commands further; l FILE:LINE or l NUMBER: on to that command; \
                    c: on to the end; q: end the program";

/// The command to stop at next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Until {
    /// The command after so many others.
    After(u64),
    /// The first one of a line. The file is the end of its path.
    Line(String, u32),
    /// The one with this number.
    Number(u64),
    /// None.
    Never,
}

/// The answer to a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The program goes on.
    GoOn,
    /// It ends.
    Quit,
}

/// Asks what to do after commands.
pub(super) struct Stepper {
    input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
    until: Until,
    /// Commands so far.
    commands: u64,
    clock: CommandClock,
}

/// A command at which the program stops, and what its destination held before.
pub(super) struct Stop {
    place: Option<Place>,
    before: Vec<String>,
    cycles: u64,
}

/// The terminal, if input and error stream are one.
pub(super) fn terminal(clock: CommandClock) -> Option<Stepper> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        let input = Box::new(std::io::BufReader::new(std::io::stdin()));
        return Some(Stepper::new(input, Box::new(std::io::stderr()), clock));
    }
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        super::output::say(
            &"VISA_STEP=1: input and error stream are no terminal, so the program runs without stops",
        );
    });
    None
}

impl Stepper {
    /// A stepper that stops at the first command.
    pub(super) fn new(
        input: Box<dyn BufRead + Send>,
        output: Box<dyn Write + Send>,
        clock: CommandClock,
    ) -> Self {
        Self { input, output, until: Until::After(0), commands: 0, clock }
    }

    /// Counts a command that is about to be executed. `None`: the program does not stop at it.
    pub(super) fn before(&mut self, command: &Command, system: &mut System) -> Option<Stop> {
        self.commands += 1;
        let stops = match &mut self.until {
            Until::After(0) => true,
            Until::After(more) => {
                *more -= 1;
                false
            }
            Until::Line(file, line) => is_at(command.location, file, *line),
            Until::Number(number) => self.commands >= *number,
            Until::Never => false,
        };
        stops.then(|| {
            let written = command.operation.uses().into_iter().find(|used| used.writes);
            let place = written.map(|used| used.place);
            let before = place.map_or(Vec::new(), |place| first_elements(system, place));
            Stop { place, before, cycles: self.clock.time(&command.operation).cycles() }
        })
    }

    /// A command that was executed, as the terminal shows it.
    pub(super) fn shown(
        &self,
        stop: &Stop,
        Command { operation, location }: &Command,
        kernel: KernelCall,
        system: &mut System,
    ) -> String {
        let file = location.file().rsplit(['/', '\\']).next().unwrap_or_default();
        let kernel = if kernel.name.is_empty() { "no kernel" } else { kernel.name };
        let mut text = format!(
            "#{} {}  {file}:{}:{}  {kernel}  {}  {} cycles alone",
            self.commands,
            name(operation),
            location.line(),
            location.column(),
            operation.context(),
            grouped(stop.cycles),
        );
        if let Some(place) = stop.place {
            let (element, units) = match place {
                Place::Region(region) => (region.footprint.element, region.units_in_words()),
                Place::Trf(region) => (region.element, String::new()),
            };
            let units = if units.is_empty() { " from the first unit on".to_string() } else { units };
            text.push_str(&format!("\n   writes {} of {element},{units}", place.describe()));
            let after = first_elements(system, place);
            for (when, elements) in [("before", &stop.before), ("after ", &after)] {
                text.push_str(&format!("\n   {when}  {}", elements.join("  ")));
            }
        }
        text
    }

    /// Shows a command, and reads what to do next. The end of the input is `c`. The caller holds no lock of the system, so that
    /// a signal can end the program meanwhile.
    pub(super) fn ask(&mut self, shown: &str) -> Next {
        let _ = writeln!(self.output, "{shown}");
        loop {
            let _ = write!(self.output, "step> ");
            let _ = self.output.flush();
            let mut line = String::new();
            match self.input.read_line(&mut line) {
                Ok(0) | Err(_) => {
                    self.until = Until::Never;
                    return Next::GoOn;
                }
                Ok(_) => {}
            }
            if line.trim() == "q" {
                return Next::Quit;
            }
            match self.read(line.trim()) {
                Ok(until) => {
                    self.until = until;
                    return Next::GoOn;
                }
                Err(problem) => {
                    let _ = writeln!(self.output, "{problem}{KEYS}");
                }
            }
        }
    }

    /// The next stop that a line names, or the words before the list of keys.
    fn read(&self, line: &str) -> Result<Until, String> {
        let (key, rest) =
            line.split_once(char::is_whitespace).map_or((line, ""), |(key, rest)| (key, rest.trim()));
        let number = || rest.parse::<u64>().ok();
        match (key, rest) {
            ("", _) => Ok(Until::After(0)),
            ("c", "") => Ok(Until::Never),
            ("n", _) => match number() {
                Some(count) if count > 0 => Ok(Until::After(count - 1)),
                _ => Err("`n` takes a number of commands, 1 or more. ".to_string()),
            },
            ("l", _) => match (number(), rest.rsplit_once(':')) {
                (Some(number), _) if number > self.commands => Ok(Until::Number(number)),
                (Some(number), _) => Err(format!("command {number} is over: this is {}. ", self.commands)),
                (None, Some((file, line))) if !file.is_empty() && line.parse::<u32>().is_ok() => {
                    Ok(Until::Line(file.to_string(), line.parse().unwrap_or_default()))
                }
                _ => Err("`l` takes FILE:LINE, or the number of a command. ".to_string()),
            },
            ("?" | "h", "") => Err(String::new()),
            _ => Err(format!("`{line}` is no key. ")),
        }
    }
}

/// The call of a command.
fn name(operation: &Operation) -> &'static str {
    match operation {
        Operation::Dma(dma) if dma.destination.memory == Memory::Hbm => "to_hbm",
        Operation::Dma(_) => "to_dm",
        _ => operation.name(),
    }
}

/// True if a call is in a file, whose path may be given by its end, and in a line.
fn is_at(location: &Location<'_>, file: &str, line: u32) -> bool {
    let whole = location.file();
    let is_end =
        whole.strip_suffix(file).is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']));
    is_end && location.line() == line
}

/// The first elements of a tensor in its first unit, in the order of memory. `-`: nobody wrote it. Nothing is checked: bytes
/// of an earlier tensor are shown as they are.
fn first_elements(system: &mut System, place: Place) -> Vec<String> {
    // Apart from each other, tensors are found by their filling.
    let fill = |own: FillId| if system.addresses() == Addresses::Separate { own } else { FillId::ANY };
    let (source, element, count, start) = match place {
        Place::Region(region) => {
            let count = region.part.elements.unwrap_or(region.elements_to_end());
            let start = Start::of(&region);
            let own = crate::command::Region { fill: fill(region.fill), ..region };
            (Place::Region(own), region.footprint.element, count, start)
        }
        Place::Trf(region) => {
            let own = TrfRegion { fill: fill(region.fill), ..region };
            (Place::Trf(own), region.element, region.row_elements, Start::FIRST)
        }
    };
    if !element.is_stored() {
        return vec![format!("(a register file alone holds {element})")];
    }
    let count = count.min(SHOWN);
    let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
    let step = Step { units: 0, elements: 1 };
    transfer.loops.push(TransferLoop { size: count, source: step, destination: step });
    let transfer = transfer.further(start, Start::FIRST);
    let look = Inspection { source, transfer, host_elements: count };
    let Ok(seen) = system.inspect(&look, Location::caller()) else {
        return vec!["(outside of the memory)".to_string()];
    };
    let code = |at: usize| {
        let bits = element.bits();
        let first = at * bits / 8;
        let bytes = seen.bytes[first..(first + bits.div_ceil(8)).min(seen.bytes.len())].iter().rev();
        let code = bytes.fold(0u32, |code, &byte| code << 8 | u32::from(byte));
        if bits == 4 { code >> (at % 2 * 4) & 15 } else { code }
    };
    let is_written = |at: usize| seen.initialised.as_ref().is_none_or(|all| all[at]);
    (0..count)
        .map(|at| if is_written(at) { shown_code(element, code(at)) } else { "-".to_string() })
        .collect()
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
