//! The way of a fault out of a kernel.

use super::Placement;
use super::late::when_late;
use super::shared::SystemHandle;
use crate::chip::{Fault, FaultKind, with_origin};
use crate::clock::KernelCall;
use crate::error::PlanError;
use core::cell::{Cell, RefCell};
use core::panic::Location;
use core::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static KERNEL: Cell<KernelCall> = const { Cell::new(OUTSIDE) };
    /// The system that the kernel uses.
    static USED: RefCell<Option<SystemHandle>> = const { RefCell::new(None) };
}

/// No launch.
const OUTSIDE: KernelCall = KernelCall { number: 0, name: "" };

/// The kernel that runs on this thread.
pub(super) fn kernel() -> KernelCall {
    KERNEL.get()
}

/// True if a kernel runs on this thread.
pub(super) fn is_inside() -> bool {
    kernel() != OUTSIDE
}

/// Notes that the kernel uses a system, whose commands its end waits for. False outside of a launch.
///
/// # Errors
/// A fault if the kernel has used another system.
#[track_caller]
pub(super) fn uses(system: &SystemHandle, operation: &'static str) -> Result<bool, Fault> {
    if !is_inside() {
        return Ok(false);
    }
    let first = USED.with_borrow_mut(|used| used.get_or_insert_with(|| system.clone()).clone());
    if first.is(system) { Ok(true) } else { Err(two_contexts(&first, system, operation, Location::caller())) }
}

/// The system that the kernel of this thread uses.
pub(crate) fn used() -> Option<SystemHandle> {
    if is_inside() { USED.with_borrow(Option::clone) } else { None }
}

/// A kernel on two contexts.
pub(super) fn two_contexts(
    first: &SystemHandle,
    second: &SystemHandle,
    operation: &'static str,
    location: &'static Location<'static>,
) -> Fault {
    let (first, second) = (first.number(), second.number());
    let message = format!(
        "the kernel uses parts of context {first} and of context {second}, but a launch runs on one context"
    );
    let help = "give the kernel `&mut ctx`, or parts of one context";
    let fault = Fault::new(FaultKind::OtherContext, operation, location, message, help);
    let labels = ["the one context was made here", "the other context was made here"];
    labels
        .into_iter()
        .zip([first, second])
        .fold(fault, |fault, (label, number)| with_origin(fault, label, number))
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
    used: Option<SystemHandle>,
    /// The system of the launch, the kernel that ran on it before, and whether its commands waited.
    system: Option<(SystemHandle, (Option<KernelCall>, bool))>,
}

impl InsideLaunch {
    /// Goes on with this launch, on this system. `None` is the way in which the system places tensors.
    #[track_caller]
    pub(super) fn enter(
        kernel: KernelCall,
        system: Option<&SystemHandle>,
        placement: Option<Placement>,
    ) -> Self {
        let placement = |system: &SystemHandle| placement.unwrap_or(system.placement());
        let system = system.map(|system| (system.clone(), system.enter_launch(kernel, placement(system))));
        let own = system.as_ref().map(|(system, _)| system.clone());
        Self { before: KERNEL.replace(kernel), used: USED.replace(own), system }
    }

    /// Executes the commands that waited for the end of the launch.
    ///
    /// # Errors
    /// The fault of one of them, which comes before those of later calls.
    pub(super) fn finish(&self) -> Result<(), Fault> {
        self.system.as_ref().map_or(Ok(()), |(system, _)| system.perform())
    }

    /// The fault of a command that another thread of the kernel gave.
    pub(super) fn fault_of_threads(&self) -> Option<Fault> {
        USED.with_borrow(|used| used.as_ref().and_then(SystemHandle::fault_of_threads))
    }
}

impl Drop for InsideLaunch {
    fn drop(&mut self) {
        KERNEL.set(self.before);
        USED.set(self.used.take());
        if let Some((system, before)) = &self.system {
            system.leave_launch(*before);
        }
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
            && is_inside()
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
    if is_inside() {
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
        Err(error) => raise(refused(operation, Location::caller(), error.message())),
    }
}

when_late! {
    /// The value of a constant, or the end of the kernel with the words of its refusal.
    #[track_caller]
    pub(crate) fn accept_late<T>(result: &'static Result<T, PlanError>) -> &'static T {
        match result {
            Ok(value) => value,
            Err(error) => raise(late_fault(error, Location::caller())),
        }
    }

    /// The fault of a refusal. Its first words are the operation.
    pub(super) fn late_fault(error: &'static PlanError, location: &'static Location<'static>) -> Fault {
        let operation = error.message().split_once(": ").map_or("refused", |(operation, _)| operation);
        refused(operation, location, error.message())
    }
}

/// A call whose values the chip cannot do. The message carries its own help.
fn refused(operation: &'static str, location: &'static Location<'static>, message: &str) -> Fault {
    let (message, help) = message.split_once("; help: ").unwrap_or((message, ""));
    let message = message.strip_prefix(operation).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message);
    Fault::new(FaultKind::Refused, operation, location, message.to_string(), help.to_string())
}
