//! The line that a launch of more than two seconds shows if the standard error stream is a terminal.
//!
//! A launch reports when it begins and when it ends; commands count themselves. One thread of the process reads the
//! clock and these counters, and sleeps until a launch is old enough. Drawing and the end of a launch take the same
//! lock, so that a launch which has ended is never drawn. A program may hold the stream during a launch. So code that
//! draws locks the stream first, and a launch that is not shown never waits for it. Without a terminal there is no
//! thread.
//!
//! A kernel is a program: its number of commands is not known in advance. If the same kernel has run before, with the
//! same types and from the same line, it is expected to give the same number again, which the line calls `about`.

use crate::clock::KernelCall;
use crate::text::grouped;
use core::panic::Location;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use litemap::LiteMap;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Shorter launches show nothing.
const QUIET: Duration = Duration::from_secs(2);

/// Time between two updates of the line.
const PAUSE: Duration = Duration::from_millis(200);

/// Counters that the commands of a system leave for the thread that draws. Only a thread that has locked the system
/// writes them.
#[derive(Debug, Default)]
pub(super) struct Counters {
    commands: AtomicU64,
    /// Cycles of the launch at the last request.
    cycles: AtomicU64,
    /// True if the drawing thread requests the cycles.
    asked: AtomicBool,
}

impl Counters {
    /// Counts a command. The clock, which is late by design, is read only on request.
    pub(super) fn command(&self, cycles: impl FnOnce() -> u64) {
        self.commands.store(self.commands.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if self.asked.load(Ordering::Relaxed) {
            self.asked.store(false, Ordering::Relaxed);
            self.cycles.store(cycles(), Ordering::Relaxed);
        }
    }
}

/// Key of launches that are expected to give the same number of commands: kernel and arguments, and the line.
pub(super) type Alike = (&'static str, &'static Location<'static>);

/// A launch that runs.
struct Running {
    call: KernelCall,
    begun: Instant,
    counters: Arc<Counters>,
    /// Commands of the system before this launch.
    before: u64,
    /// Commands that the launch is expected to give.
    expected: Option<u64>,
}

impl Running {
    fn commands(&self) -> u64 {
        self.counters.commands.load(Ordering::Relaxed) - self.before
    }
}

/// All launches of the process.
struct Board {
    /// True if the thread has been made.
    watched: bool,
    /// True if the thread sleeps until it is woken.
    asleep: bool,
    /// Launches that run, in the order in which they began.
    running: Vec<Running>,
    /// The number of the launch that is shown, and its line on the terminal.
    shown: Option<(u64, ProgressBar)>,
    /// Commands of launches that have ended.
    lengths: LiteMap<Alike, u64>,
    /// True if nothing is drawn any more.
    closed: bool,
}

static BOARD: Mutex<Board> = Mutex::new(Board {
    watched: false,
    asleep: false,
    running: Vec::new(),
    shown: None,
    lengths: LiteMap::new_vec(),
    closed: false,
});

/// Wakes the thread when a launch begins.
static BEGUN: Condvar = Condvar::new();

fn board() -> MutexGuard<'static, Board> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A launch that runs. It is shown when it is old enough, until this is dropped.
pub(super) struct Progress {
    number: u64,
    alike: Alike,
}

impl Progress {
    /// Begins a launch. `None` if there is no terminal.
    pub(super) fn begin(call: KernelCall, alike: Alike, counters: &Arc<Counters>) -> Option<Self> {
        static TERMINAL: OnceLock<bool> = OnceLock::new();
        if !*TERMINAL.get_or_init(|| std::io::stderr().is_terminal()) {
            return None;
        }
        counters.cycles.store(0, Ordering::Relaxed);
        let mut board = board();
        if !board.watched {
            std::thread::Builder::new().name("progress".to_string()).spawn(watch).ok()?;
            board.watched = true;
        }
        let (before, expected) =
            (counters.commands.load(Ordering::Relaxed), board.lengths.get(&alike).copied());
        let counters = counters.clone();
        board.running.push(Running { call, begun: Instant::now(), counters, before, expected });
        if core::mem::take(&mut board.asleep) {
            BEGUN.notify_one();
        }
        Some(Self { number: call.number, alike })
    }

    /// Records that the launch did all its work.
    pub(super) fn complete(&self) {
        let mut board = board();
        let running = board.running.iter().find(|running| running.call.number == self.number);
        if let Some(commands) = running.map(Running::commands) {
            board.lengths.insert(self.alike, commands);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let shown = {
            let mut board = board();
            board.running.retain(|running| running.call.number != self.number);
            board.shown.as_ref().is_some_and(|(number, _)| *number == self.number)
        };
        if shown {
            with_stream(Board::clear_others);
        }
    }
}

/// Shows nothing from now on.
pub(super) fn close() {
    let shown = {
        let mut board = board();
        board.closed = true;
        board.running.clear();
        board.shown.is_some()
    };
    if shown {
        with_stream(Board::clear_others);
    }
}

/// Prints something above the line of a launch.
pub(super) fn above(print: impl FnOnce()) {
    with_stream(|board| match &board.shown {
        Some((_, line)) => line.suspend(print),
        None => print(),
    });
}

/// Draws with both locks, that of the stream first.
fn with_stream(draw: impl FnOnce(&mut Board)) {
    let _stream = std::io::stderr().lock();
    draw(&mut board());
}

/// Shows the oldest launch as soon as it is old enough, forever.
fn watch() {
    loop {
        let mut board = board();
        match board.running.first().map(|oldest| pause(oldest.begun.elapsed())) {
            Some(pause) => drop(BEGUN.wait_timeout(board, pause)),
            None => {
                board.asleep = true;
                drop(BEGUN.wait(board));
            }
        }
        with_stream(Board::draw);
    }
}

/// Sleeping time of the thread, for a launch that began `elapsed` ago.
fn pause(elapsed: Duration) -> Duration {
    match QUIET.checked_sub(elapsed) {
        Some(rest) if !rest.is_zero() => rest,
        _ => PAUSE,
    }
}

impl Board {
    /// Removes the line of a launch that has ended.
    fn clear_others(&mut self) {
        let runs = |number: u64| self.running.iter().any(|running| running.call.number == number);
        if let Some((_, line)) = self.shown.take_if(|(number, _)| !runs(*number)) {
            line.finish_and_clear();
        }
    }

    fn draw(&mut self) {
        let oldest = self.running.first().filter(|oldest| oldest.begun.elapsed() >= QUIET);
        let Some(oldest) = oldest.filter(|_| !self.closed) else { return };
        let figures = Figures {
            kernel: oldest.call.name,
            commands: oldest.commands(),
            expected: oldest.expected,
            cycles: oldest.counters.cycles.load(Ordering::Relaxed),
            elapsed: oldest.begun.elapsed(),
        };
        oldest.counters.asked.store(true, Ordering::Relaxed);
        let is_other = self.shown.as_ref().is_some_and(|(number, _)| *number != oldest.call.number);
        if is_other && let Some((_, line)) = self.shown.take() {
            line.finish_and_clear();
        }
        let (_, line) = self.shown.get_or_insert_with(|| (oldest.call.number, figures.line()));
        line.set_position(figures.commands);
        line.set_message(figures.to_string());
    }
}

/// Numbers that are shown of a launch.
#[derive(Clone, Copy, Debug)]
struct Figures {
    kernel: &'static str,
    commands: u64,
    /// Commands that the launch is expected to give.
    expected: Option<u64>,
    /// Cycles so far, or 0 while they are not known.
    cycles: u64,
    elapsed: Duration,
}

impl Figures {
    /// Makes an empty line of the terminal: with a bar if the number of commands is expected.
    fn line(&self) -> ProgressBar {
        let template = if self.expected.is_some() { "{bar:10} {wide_msg}" } else { "{spinner} {wide_msg}" };
        let style = ProgressStyle::with_template(template).expect("the template is right");
        let line = ProgressBar::with_draw_target(self.expected, ProgressDrawTarget::stderr());
        line.with_style(style).with_message(self.to_string())
    }

    /// The time left in whole seconds, if the remaining commands take as long as those so far.
    fn left(&self) -> Option<Duration> {
        let rest = self.expected?.checked_sub(self.commands).filter(|rest| *rest > 0 && self.commands > 0)?;
        let nanoseconds = self.elapsed.as_nanos() * u128::from(rest) / u128::from(self.commands);
        let seconds = nanoseconds.div_ceil(1_000_000_000);
        Some(Duration::from_secs(seconds.try_into().unwrap_or(u64::MAX)))
    }
}

impl core::fmt::Display for Figures {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.kernel, grouped(self.commands))?;
        let left = self.left();
        if let Some(expected) = self.expected.filter(|_| left.is_some()) {
            write!(f, " of about {}", grouped(expected))?;
        }
        f.write_str(if self.commands == 1 && left.is_none() { " command" } else { " commands" })?;
        write!(f, ", {}", time(self.elapsed))?;
        if let Some(left) = left {
            write!(f, ", about {} left", time(left))?;
        }
        // The cycles come last: a narrow terminal cuts the end.
        if self.cycles > 0 {
            write!(f, "; {} chip cycles", grouped(self.cycles))?;
        }
        Ok(())
    }
}

/// A time in seconds, in minutes, or in hours and minutes.
fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min {:02} s", seconds % 60),
        _ => format!("{hours} h {:02} min", minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(commands: u64, expected: Option<u64>, cycles: u64, seconds: u64) -> String {
        let elapsed = Duration::from_millis(1000 * seconds + 999);
        Figures { kernel: "product", commands, expected, cycles, elapsed }.to_string()
    }

    /// Only what is known is shown.
    #[test]
    fn lines() {
        assert_eq!(text(0, None, 0, 2), "product: 0 commands, 2 s");
        assert_eq!(text(1, None, 1500, 2), "product: 1 command, 2 s; 1 500 chip cycles");
        assert_eq!(
            text(1024, None, 12_345_678, 134),
            "product: 1 024 commands, 2 min 14 s; 12 345 678 chip cycles"
        );
        // A quarter of 14.999 s: the rest takes three times as long.
        assert_eq!(
            text(1024, Some(4096), 12_345_678, 14),
            "product: 1 024 of about 4 096 commands, 14 s, about 45 s left; 12 345 678 chip cycles"
        );
        assert_eq!(
            text(1, Some(3601), 7, 1),
            "product: 1 of about 3 601 commands, 1 s, about 1 h 59 min left; 7 chip cycles"
        );
        // Nothing is done, or more than was expected: the rest is unknown.
        assert_eq!(text(0, Some(4096), 0, 3), "product: 0 commands, 3 s");
        assert_eq!(text(4096, Some(4096), 0, 3), "product: 4 096 commands, 3 s");
        assert_eq!(text(4097, Some(4096), 0, 3), "product: 4 097 commands, 3 s");
        assert_eq!(
            text(4095, Some(4096), 0, 3),
            "product: 4 095 of about 4 096 commands, 3 s, about 1 s left"
        );
        assert_eq!(
            text(1, Some(u64::MAX), 0, 3600),
            "product: 1 of about 18 446 744 073 709 551 615 commands, 1 h 00 min, about 5124095576030431 h 00 min left"
        );
    }

    #[test]
    fn times() {
        let of = |seconds| time(Duration::from_secs(seconds));
        assert_eq!([0, 59, 60, 3599].map(of), ["0 s", "59 s", "1 min 00 s", "59 min 59 s"]);
        assert_eq!([3600, 90_061].map(of), ["1 h 00 min", "25 h 01 min"]);
    }

    /// The thread sleeps until the launch is old enough, and then from update to update.
    #[test]
    fn pauses() {
        let of = |milliseconds| pause(Duration::from_millis(milliseconds));
        assert_eq!(of(0), QUIET);
        assert_eq!(of(1999), Duration::from_millis(1));
        assert_eq!([of(2000), of(9000)], [PAUSE; 2]);
    }

    /// Commands count themselves; the clock is asked once per look.
    #[test]
    fn counters() {
        let (counters, mut asked) = (Counters::default(), 0);
        for look in [false, true, false] {
            counters.asked.store(look, Ordering::Relaxed);
            for _ in 0..3 {
                counters.command(|| {
                    asked += 1;
                    500
                });
            }
        }
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!((of(&counters.commands), of(&counters.cycles), asked), (9, 500, 1));
    }
}
