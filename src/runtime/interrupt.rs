//! Ctrl-C, or a signal that ends the program: it still writes what the [`environment`](super::environment) asked for.
//!
//! ```text
//!   signal ── a thread locks each system between two commands, writes report, trace and page, and ends the process
//!      └───── threads that give commands stop at the next one, and never go on
//!   second signal ── the process ends at once
//! ```
//!
//! The signal is handled from the first launch on whose context was asked for something. Where the program handles or
//! ignores one of these signals itself, it keeps what it has.
//!
//! One case is not served: a program whose contexts are in tasks of `rayon`, where a thread may take up a task of one
//! context amid a command of another. That command may never end then: nothing is written until the second signal.

// Elsewhere nobody interrupts.
#![cfg_attr(not(any(unix, windows)), allow(dead_code))]

use super::context::Shared;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// What shells call the end of a program by Ctrl-C.
const EXIT_CODE: i32 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The systems that tell something when they end, by number.
static SYSTEMS: Mutex<Vec<(u64, Weak<Shared>)>> = Mutex::new(Vec::new());

/// One of them has ended.
static ENDED: Condvar = Condvar::new();

fn systems() -> MutexGuard<'static, Vec<(u64, Weak<Shared>)>> {
    SYSTEMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until it is dropped, the system has something to write. It must be dropped after the system.
pub(super) struct Registered(u64);

impl Registered {
    /// The system with this number.
    pub(super) fn new(number: u64, system: &Weak<Shared>) -> Self {
        systems().push((number, system.clone()));
        Self(number)
    }

    /// Has Ctrl-C handled, unless the program does so.
    pub(super) fn handle_signals(&self) {
        #[cfg(any(unix, windows))]
        {
            static HANDLED: std::sync::Once = std::sync::Once::new();
            // A handler that is there already stays.
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

/// Stops the thread where the program has been interrupted. It must not hold a lock of a system.
pub(super) fn stop_if_interrupted() {
    if INTERRUPTED.load(Ordering::SeqCst) {
        loop {
            // The process ends meanwhile.
            std::thread::park();
        }
    }
}

/// When a context is dropped, the process may be about to end: it waits for what is being written.
#[derive(Debug)]
pub(super) struct StopsIfInterrupted;

impl Drop for StopsIfInterrupted {
    fn drop(&mut self) {
        stop_if_interrupted();
    }
}

/// Runs in a thread of its own, which waits for signals.
fn on_signal() {
    let end = || std::process::exit(EXIT_CODE);
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        end();
    }
    let write_and_end = move || {
        // Whatever happens, the process ends.
        let _ = catch_unwind(AssertUnwindSafe(write_all));
        end()
    };
    // This thread has to see the next signal.
    if std::thread::Builder::new().spawn(write_and_end).is_err() {
        end();
    }
}

/// Writes what systems were asked for. None of them goes on.
fn write_all() {
    super::progress::close();
    let mut systems = systems();
    let alive: Vec<Arc<Shared>> = systems.iter().filter_map(|(_, system)| system.upgrade()).collect();
    // The others write it already.
    while systems.iter().any(|(_, system)| system.strong_count() == 0) {
        systems = ENDED.wait(systems).unwrap_or_else(PoisonError::into_inner);
    }
    drop(systems);
    alive.iter().for_each(|system| system.interrupt());
    core::mem::forget(alive);
}
