//! How a fault leaves a kernel.

use crate::chip::clock::KernelCall;
use crate::chip::{Fault, FaultKind};
use crate::error::PlanError;
use core::cell::Cell;
use core::panic::Location;

thread_local! {
    static INSIDE_LAUNCH: Cell<usize> = const { Cell::new(0) };
    static KERNEL: Cell<KernelCall> = const { Cell::new(KernelCall { number: 0, name: "" }) };
}

/// The kernel that runs on this thread.
pub(super) fn kernel() -> KernelCall {
    KERNEL.get()
}

/// While it lives, faults unwind silently to [`super::try_launch`] instead of panicking, and commands are those of the
/// kernel.
pub(super) struct InsideLaunch {
    outer: KernelCall,
}

impl InsideLaunch {
    pub(super) fn enter(kernel: KernelCall) -> Self {
        INSIDE_LAUNCH.set(INSIDE_LAUNCH.get() + 1);
        Self { outer: KERNEL.replace(kernel) }
    }
}

impl Drop for InsideLaunch {
    fn drop(&mut self) {
        INSIDE_LAUNCH.set(INSIDE_LAUNCH.get() - 1);
        KERNEL.set(self.outer);
    }
}

/// Stops the kernel with a fault: unwinds to the launch, or panics with the message where there is none.
#[track_caller]
pub(crate) fn raise(fault: Fault) -> ! {
    if INSIDE_LAUNCH.get() > 0 {
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
