//! A program at a terminal: the line with the progress of a search, and Ctrl-C.

use furiosa_visa_plan::Progress;
use furiosa_visa_rules::text::grouped;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shorter searches show nothing.
const QUIET: Duration = Duration::from_secs(1);
/// Time between two updates of the line.
const PAUSE: Duration = Duration::from_millis(200);
/// Codes that clear the line.
const CLEAR: &str = "\r\x1b[2K";

/// True if this is a program, and no test of the function `run`.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);
/// True if somebody has stopped the search.
static IS_STOPPED: AtomicBool = AtomicBool::new(false);

/// The exit code of a program that was stopped.
pub const STOPPED: u8 = 130;

/// From here on, Ctrl-C ends a search with the best plan so far, and the second one ends the program.
pub fn attend() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
    // Without a handler, Ctrl-C ends the program.
    let _ = ctrlc::set_handler(|| {
        if IS_STOPPED.swap(true, Ordering::Relaxed) {
            std::process::exit(STOPPED.into());
        }
    });
}

/// Tells if this is a program, which may keep files beside a project.
pub fn is_program() -> bool {
    IS_PROGRAM.load(Ordering::Relaxed)
}

/// Tells if somebody has stopped the search.
pub fn is_stopped() -> bool {
    IS_STOPPED.load(Ordering::Relaxed)
}

/// The line of a search. It goes when the search ends.
#[derive(Debug)]
pub struct Line {
    /// Text before the numbers.
    what: String,
    begun: Instant,
    /// When the line was drawn. `None` if there is no terminal.
    drawn: Option<Mutex<Option<Instant>>>,
}

impl Line {
    /// A line that is drawn later. `what` stands before the numbers.
    pub fn new(what: String) -> Self {
        let is_shown = is_program() && std::io::stderr().is_terminal();
        Self { what, begun: Instant::now(), drawn: is_shown.then(Mutex::default) }
    }

    /// Draws the line if it is old enough, and tells if the search goes on.
    pub fn goes_on(&self, progress: &Progress) -> bool {
        if let Some(drawn) = &self.drawn {
            let mut drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            if now - self.begun >= QUIET && drawn.is_none_or(|drawn| now - drawn >= PAUSE) {
                *drawn = Some(now);
                // A line that nobody sees is no mistake.
                let _ = write!(std::io::stderr(), "{CLEAR}{}{}", self.what, told(progress));
            }
        }
        !is_stopped()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let drawn = self.drawn.as_ref().map(|drawn| drawn.lock().unwrap_or_else(PoisonError::into_inner));
        if drawn.is_some_and(|drawn| drawn.is_some()) {
            let _ = write!(std::io::stderr(), "{CLEAR}");
        }
    }
}

fn told(progress: &Progress) -> String {
    let Progress { choices, derived, priced, best } = *progress;
    let mut text = format!("{} choices", grouped(choices));
    if derived > 0 {
        text += &format!(", {} derived, {} on the clock", grouped(derived), grouped(priced));
    }
    if let Some(best) = best {
        text += &format!(", best {} cycles", grouped(best));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_is_known() {
        let start = Progress { choices: 40960, ..Progress::default() };
        assert_eq!(told(&start), "40 960 choices");
        let later = Progress { choices: 1, derived: 1024, priced: 3, best: Some(2500) };
        assert_eq!(told(&later), "1 choices, 1 024 derived, 3 on the clock, best 2 500 cycles");
    }
}
