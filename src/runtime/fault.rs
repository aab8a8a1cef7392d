//! How a fault leaves a kernel.

use super::context::SystemHandle;
use crate::chip::{Fault, FaultKind};
use crate::clock::KernelCall;
use crate::error::PlanError;
use core::cell::{Cell, RefCell};
use core::panic::Location;
use core::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static KERNEL: Cell<KernelCall> = const { Cell::new(OUTSIDE) };
    /// The systems that the kernel has used.
    static USED: RefCell<Vec<SystemHandle>> = const { RefCell::new(Vec::new()) };
}

/// No launch.
const OUTSIDE: KernelCall = KernelCall { number: 0, name: "" };

/// The kernel that runs on this thread.
pub(super) fn kernel() -> KernelCall {
    KERNEL.get()
}

/// Notes that the kernel uses a system, whose commands its end waits for. False outside of a launch.
pub(super) fn uses(system: &SystemHandle) -> bool {
    let inside = kernel() != OUTSIDE;
    if inside {
        USED.with_borrow_mut(|used| {
            if !used.iter().any(|other| other.is(system)) {
                used.push(system.clone());
            }
        });
    }
    inside
}

/// A number that no launch of the process has: 1, 2, …
pub(super) fn next_launch() -> u64 {
    static LAUNCHES: AtomicU64 = AtomicU64::new(0);
    LAUNCHES.fetch_add(1, Ordering::Relaxed) + 1
}

/// While it lives, faults unwind silently to [`super::try_launch`] instead of panicking, and commands are those of the
/// kernel.
pub(super) struct InsideLaunch {
    before: KernelCall,
    used: Vec<SystemHandle>,
}

impl InsideLaunch {
    /// Goes on with this launch.
    pub(super) fn enter(kernel: KernelCall) -> Self {
        Self { before: KERNEL.replace(kernel), used: USED.take() }
    }

    /// Waits for everything that the kernel gave.
    pub(super) fn flush(&self) -> Result<(), Fault> {
        let used = USED.take();
        // All of them, whatever the first one says.
        used.iter().map(SystemHandle::flush).fold(Ok(()), Result::and)
    }
}

impl Drop for InsideLaunch {
    fn drop(&mut self) {
        KERNEL.set(self.before);
        USED.set(core::mem::take(&mut self.used));
    }
}

/// A stream that a kernel has begun. Dropped before it has ended, it stops the kernel.
#[derive(Debug)]
pub(crate) struct Begun {
    /// The call that began it. `None`: it has ended, or nobody asks.
    location: Option<&'static Location<'static>>,
}

impl Begun {
    /// A stream that was begun by a call. `checked`: it must end.
    pub(crate) fn new(location: &'static Location<'static>, checked: bool) -> Self {
        Self { location: checked.then_some(location) }
    }

    /// The stream ends in a command.
    pub(crate) fn end(mut self) {
        self.location = None;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(location) = self.location
            && kernel() != OUTSIDE
            && !std::thread::panicking()
        {
            let message = "a stream was begun here and dropped: nothing of it was done".to_string();
            let help = "end it in `.commit(…)`, `.to_trf(…)` or `.to_vrf(…)`, or do not begin it";
            raise(Fault::new(FaultKind::DroppedStream, "begin", location, message, help))
        }
    }
}

/// Stops the kernel with a fault: unwinds to the launch, or panics with the message where there is none.
#[track_caller]
pub(crate) fn raise(fault: Fault) -> ! {
    if kernel() != OUTSIDE {
        // `resume_unwind` does not run the panic hook: the launch reports the fault once.
        std::panic::resume_unwind(Box::new(fault))
    }
    panic!("{fault}")
}

/// The value, or the end of the kernel.
#[track_caller]
pub(crate) fn or_raise<T>(result: Result<T, Fault>) -> T {
    match result {
        Ok(value) => value,
        Err(fault) => raise(fault),
    }
}

/// The value, or the end of the kernel, for a rule that depends on a value of the call.
#[track_caller]
pub(crate) fn accept<T>(operation: &'static str, result: Result<T, PlanError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => raise(Fault::refused(operation, Location::caller(), error.message())),
    }
}

impl Fault {
    /// A call whose values the chip cannot do. The message carries its own help.
    fn refused(operation: &'static str, location: &'static Location<'static>, message: &str) -> Self {
        let (message, help) = message.split_once("; help: ").unwrap_or((message, ""));
        let message =
            message.strip_prefix(operation).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message);
        Fault::new(FaultKind::Refused, operation, location, message.to_string(), help.to_string())
    }
}
