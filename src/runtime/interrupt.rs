//! Handles Ctrl-C, and signals that end the program: it still writes the output that the
//! [`environment`](super::environment) asked for.
//!
//! ```text
//!   signal ── a thread locks each system between two commands, writes report, trace and page, and ends the process
//!      └───── threads that give commands stop at the next one, and never go on
//!   second signal ── the process ends at once
//! ```
//!
//! The signal is handled from the first launch on whose context has output to write. If the program handles or ignores
//! one of these signals itself, its choice stays.
//!
//! One case is not served: a program whose contexts are in tasks of `rayon`, where a thread may take up a task of one
//! context in the middle of a command of another. That command may never end then, and nothing is written until the
//! second signal.

// Other targets have no signals to handle.
#![cfg_attr(not(any(unix, windows)), allow(dead_code))]

use super::shared::Shared;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// The exit code that shells give for the end of a program by Ctrl-C.
const EXIT_CODE: i32 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The systems that write output when they end, by number.
static SYSTEMS: Mutex<Vec<(u64, Weak<Shared>)>> = Mutex::new(Vec::new());

/// Signals that one of the systems has ended.
static ENDED: Condvar = Condvar::new();

fn systems() -> MutexGuard<'static, Vec<(u64, Weak<Shared>)>> {
    SYSTEMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the system registered as one with output to write, until it is dropped. It must be dropped after the system.
pub(super) struct Registered(u64);

impl Registered {
    /// Registers the system with this number.
    pub(super) fn new(number: u64, system: &Weak<Shared>) -> Self {
        systems().push((number, system.clone()));
        Self(number)
    }

    /// Handles Ctrl-C, unless the program does so.
    pub(super) fn handle_signals(&self) {
        #[cfg(any(unix, windows))]
        {
            static HANDLED: std::sync::Once = std::sync::Once::new();
            // A handler that is already there stays.
            HANDLED.call_once(|| drop(ctrlc::try_set_handler(on_signal)));
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        systems().retain(|(number, _)| *number != self.0);
        ENDED.notify_all();
    }
}

/// Stops the thread if the program has been interrupted. The thread must not hold a lock of a system.
pub(super) fn stop_if_interrupted() {
    if INTERRUPTED.load(Ordering::SeqCst) {
        loop {
            // The process ends meanwhile.
            std::thread::park();
        }
    }
}

/// Waits, when a context is dropped, for the output that is being written: the process may be about to end.
#[derive(Debug)]
pub(super) struct StopsIfInterrupted;

impl Drop for StopsIfInterrupted {
    fn drop(&mut self) {
        stop_if_interrupted();
    }
}

/// Ends the program as a signal does, with the output of what has run until now. The thread must not hold a lock of a
/// system.
pub(super) fn end() -> ! {
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        stop_if_interrupted();
    }
    let _ = catch_unwind(AssertUnwindSafe(write_all));
    std::process::exit(EXIT_CODE)
}

/// Handles a signal. It runs in a thread of its own, which waits for signals.
fn on_signal() {
    let end = || std::process::exit(EXIT_CODE);
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        end();
    }
    let write_and_end = move || {
        // The process ends even if writing panics.
        let _ = catch_unwind(AssertUnwindSafe(write_all));
        end()
    };
    // Write in another thread: this one has to see the next signal.
    if std::thread::Builder::new().spawn(write_and_end).is_err() {
        end();
    }
}

/// Writes the output of all systems. None of them continues.
fn write_all() {
    super::progress::close();
    let mut systems = systems();
    let alive: Vec<Arc<Shared>> = systems.iter().filter_map(|(_, system)| system.upgrade()).collect();
    // Systems that are being dropped write their output themselves.
    while systems.iter().any(|(_, system)| system.strong_count() == 0) {
        systems = ENDED.wait(systems).unwrap_or_else(PoisonError::into_inner);
    }
    drop(systems);
    alive.iter().for_each(|system| system.interrupt());
    core::mem::forget(alive);
}
