//! State that the contexts of one system share: the system, free bytes, and the launch that runs.

use super::allocate::Allocator;
use super::deferred::{Deed, Queue, Waiting};
use super::interrupt::{Registered, stop_if_interrupted};
use super::lease::{Allocators, Lease, Place};
use super::names::Maker;
use super::output::{Output, tell, warn};
use super::progress::{Alike, Counters, Progress};
use super::step::{Next, Stepper};
use super::{Placement, System};
use crate::chip::{Fault, FaultKind};
use crate::clock::KernelCall;
use crate::command::{Address, Command, FillId, Memory, Operation, Region, TrfAddress};
use core::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The system that all contexts of one [`Context`] work on.
#[doc(hidden)]
#[derive(Clone)]
pub struct SystemHandle(Arc<Shared>);

pub(super) struct Shared {
    system: Mutex<System>,
    launched: Mutex<Launched>,
    /// Free bytes of the memories.
    allocators: Allocators,
    /// Commands that wait for the end of their launch.
    queue: Queue,
    /// The way in which launches find places.
    placement: Placement,
    output: Output,
    counters: Arc<Counters>,
    /// Asks after each command, if the program goes step by step.
    stepper: OnceLock<Mutex<Stepper>>,
    /// Destinations of reports and files. Behind the system, which ends its files when it is dropped.
    registered: OnceLock<Registered>,
}

impl Shared {
    /// Tells what was asked for, of a program that is interrupted. The system is locked from now on: the process ends.
    pub(super) fn interrupt(&self) {
        // In the order in which `Context::memory_map` locks them.
        let allocators = self.allocators.lock();
        let mut system = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        system.clock().interrupt();
        tell(&mut system, &self.output, allocators.each_ref().map(Allocator::given));
        system.finish();
        core::mem::forget((allocators, system));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let system = self.system.get_mut().unwrap_or_else(PoisonError::into_inner);
        let allocators = self.allocators.lock();
        tell(system, &self.output, allocators.each_ref().map(Allocator::given));
    }
}

/// The launch that runs on a system.
#[derive(Debug, Default)]
struct Launched {
    /// The kernel, while it is polled.
    kernel: Option<KernelCall>,
    /// Refusal of another thread.
    fault: Option<Fault>,
}

impl SystemHandle {
    pub(super) fn new(system: System, output: Output, placement: Placement) -> Self {
        let (number, tells) = (system.number(), output.tells());
        let shared = Arc::new(Shared {
            system: Mutex::new(system),
            launched: Mutex::default(),
            allocators: Allocators::new(),
            queue: Queue::default(),
            placement,
            output,
            counters: Arc::default(),
            stepper: OnceLock::new(),
            registered: OnceLock::new(),
        });
        if tells {
            shared.registered.get_or_init(|| Registered::new(number, &Arc::downgrade(&shared)));
        }
        Self(shared)
    }

    /// Stops at commands from now on.
    pub(super) fn step(&self, stepper: Stepper) {
        self.0.stepper.get_or_init(|| Mutex::new(stepper));
    }

    /// A launch begins: it can be interrupted, and shows its progress.
    pub(super) fn begin(&self, call: KernelCall, alike: Alike) -> Option<Progress> {
        if let Some(registered) = self.0.registered.get() {
            registered.handle_signals();
        }
        // A line that is drawn anew would be in the way of questions.
        if self.0.stepper.get().is_some() { None } else { Progress::begin(call, alike, &self.0.counters) }
    }

    /// The system after all commands that were given.
    #[track_caller]
    pub(super) fn with_all<T>(&self, work: impl FnOnce(&mut System) -> T) -> T {
        super::fault::or_raise(self.perform());
        self.with(work)
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&mut System) -> T) -> T {
        // A fault leaves the system as it was: the lock may be taken again after a panic.
        work(&mut self.0.system.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn allocators(&self) -> MutexGuard<'_, [Allocator; 3]> {
        self.0.allocators.lock()
    }

    /// The allocators, with the halves of the TRF.
    pub(super) fn allocators_of_all(&self) -> &Allocators {
        &self.0.allocators
    }

    /// Commands that wait for the end of their launch.
    pub(super) fn queue(&self) -> &Queue {
        &self.0.queue
    }

    fn launched(&self) -> MutexGuard<'_, Launched> {
        self.0.launched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of chips, unless the system has as many as a program uses.
    pub(super) fn computes(&self) -> bool {
        self.with(|system| system.computes())
    }

    pub(super) fn fixed_chips(&self) -> Option<usize> {
        self.with(|system| system.fixed_chips())
    }

    /// A number for what a call writes.
    pub(crate) fn next_fill(&self) -> FillId {
        self.with(System::next_fill)
    }

    /// Place of a tensor of `bytes` bytes per chip or slice: the given address, or free bytes.
    #[track_caller]
    pub(crate) fn place(
        &self,
        address: Address,
        memory: Memory,
        bytes: usize,
        operation: &'static str,
    ) -> Place {
        let place = self.0.allocators.place(address, memory, bytes, operation, Location::caller());
        if self.0.allocators.defers() {
            super::fault::or_raise(self.perform_if_crowded());
        }
        super::fault::or_raise(place)
    }

    /// A part of the TRF for a tensor of `bytes` bytes per slice, and what holds it.
    #[track_caller]
    pub(crate) fn place_in_trf(
        &self,
        fill: FillId,
        bytes: usize,
        operation: &'static str,
    ) -> (TrfAddress, Option<Lease>) {
        let maker = Maker { operation, location: Location::caller() };
        let place = self.0.allocators.place_in_trf(fill, bytes, maker);
        if self.0.allocators.defers() {
            super::fault::or_raise(self.perform_if_crowded());
        }
        super::fault::or_raise(place)
    }

    /// A tensor of which nobody has written an element.
    #[track_caller]
    pub(crate) fn begin_tensor(&self, region: &Region, operation: &'static str) {
        let location = Location::caller();
        let kernel = self.kernel(operation);
        let maker = Maker { operation, location };
        super::fault::or_raise(if self.begin_named(region, maker, kernel) {
            Ok(())
        } else if self.0.allocators.defers() {
            self.keep(Waiting { deed: Deed::Begin(Box::new(*region), operation), location, kernel })
        } else {
            self.begin_now(region, maker, kernel)
        });
    }

    /// Begins a tensor whose place is known.
    pub(super) fn begin_now(&self, region: &Region, maker: Maker, kernel: KernelCall) -> Result<(), Fault> {
        self.with(|system| {
            system.enter_kernel(kernel);
            system.begin_tensor(region, maker.operation, maker.location)
        })
    }

    /// Says which part of the program gives the next commands.
    #[track_caller]
    pub(super) fn part(&self, name: &str) {
        let location = Location::caller();
        let kernel = self.kernel("part");
        if self.0.allocators.has_names() || self.0.allocators.defers() {
            super::fault::or_raise(self.keep(Waiting { deed: Deed::Part(name.into()), location, kernel }));
        } else {
            self.part_now(name, kernel);
        }
    }

    /// Says which part of the program gives the next commands, when all commands before were given.
    pub(super) fn part_now(&self, name: &str, kernel: KernelCall) {
        self.with(|system| {
            system.enter_kernel(kernel);
            system.clock().part(name);
        });
    }

    #[track_caller]
    pub(super) fn execute(&self, operation: Operation) {
        let location = Location::caller();
        let kernel = self.kernel(operation.name());
        let result = if self.0.allocators.has_names() || self.0.allocators.defers() {
            stop_if_interrupted();
            self.keep(Waiting { deed: Deed::Command(operation), location, kernel })
        } else {
            self.give(&Command { operation, location }, kernel)
        };
        super::fault::or_raise(result);
    }

    /// Gives a command to the system.
    pub(super) fn give(&self, command: &Command, kernel: KernelCall) -> Result<(), Fault> {
        stop_if_interrupted();
        let mut stepper = self.0.stepper.get().map(|own| own.lock().unwrap_or_else(PoisonError::into_inner));
        let (result, notes, shown) = self.with(|system| {
            system.enter_kernel(kernel);
            let stop = stepper.as_mut().and_then(|stepper| stepper.before(command, system));
            let result = system.execute(command);
            let notes = system.untold_notes();
            self.0.counters.command(|| system.clock().launch_cycles());
            let shown = match (&stepper, &stop, &result) {
                (Some(stepper), Some(stop), Ok(())) => Some(stepper.shown(stop, command, kernel, system)),
                _ => None,
            };
            (result, notes, shown)
        });
        warn(&notes);
        if let (Some(stepper), Some(shown)) = (&mut stepper, shown)
            && stepper.ask(&shown) == Next::Quit
        {
            super::interrupt::end();
        }
        result
    }

    /// The kernel that gives a command.
    #[track_caller]
    fn kernel(&self, operation: &'static str) -> KernelCall {
        if super::fault::or_raise(super::fault::uses(self, operation)) {
            return super::fault::kernel();
        }
        match self.launch_of_another_thread(operation, Location::caller()) {
            Ok(None) => super::fault::kernel(),
            Ok(Some(kernel)) => kernel,
            // The launch reports it.
            Err(fault) => std::panic::resume_unwind(Box::new(fault)),
        }
    }

    /// The launch that runs on the system, asked in a thread that has none. The thread is one that the kernel made, or one
    /// that holds parts of the context that were not lent to the launch.
    ///
    /// # Errors
    /// The fault of a thread without an order, if the order is checked: nothing orders its commands.
    fn launch_of_another_thread(
        &self,
        operation: &'static str,
        location: &'static Location<'static>,
    ) -> Result<Option<KernelCall>, Fault> {
        let Some(kernel) = self.launched().kernel else { return Ok(None) };
        if !self.with(|system| system.checks().order) {
            return Ok(Some(kernel));
        }
        let message = format!(
            "the command comes from another thread than that of the kernel `{}`: the threads give their commands in no \
             order, but what a context does is done in the order of the program",
            kernel.name
        );
        let help = "give all commands in the thread of the kernel, or wait for the end of the launch";
        let fault = Fault::new(FaultKind::Unordered, operation, location, message, help);
        let mut launched = self.launched();
        if launched.kernel.is_some() {
            // Otherwise the launch has ended meanwhile.
            launched.fault.get_or_insert_with(|| fault.clone());
        }
        Err(fault)
    }

    /// Refuses a transfer of the host while another thread runs a launch.
    pub(super) fn check_host(
        &self,
        operation: &'static str,
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        stop_if_interrupted();
        if super::fault::is_inside() {
            return Ok(());
        }
        self.launch_of_another_thread(operation, location).map(|_| ())
    }

    /// The way in which launches find places, unless they say it themselves.
    pub(super) fn placement(&self) -> Placement {
        self.0.placement
    }

    /// A launch goes on, whose tensors are placed in this way. Returns the one that ran, and whether its commands waited.
    #[track_caller]
    pub(super) fn enter_launch(
        &self,
        kernel: KernelCall,
        placement: Placement,
    ) -> (Option<KernelCall>, bool) {
        super::fault::or_raise(self.perform());
        (self.launch(Some(kernel)), self.0.allocators.defer(placement == Placement::Liveness))
    }

    /// A launch has ended, whose commands were executed. The one before it goes on.
    pub(super) fn leave_launch(&self, (kernel, deferred): (Option<KernelCall>, bool)) {
        self.forget_given();
        self.0.allocators.defer(deferred);
        self.launch(kernel);
    }

    /// Says which kernel runs; returns which one ran.
    fn launch(&self, kernel: Option<KernelCall>) -> Option<KernelCall> {
        let mut launched = self.launched();
        if kernel.is_none() {
            // What was refused since the launch looked concerns no later one.
            launched.fault = None;
        }
        core::mem::replace(&mut launched.kernel, kernel)
    }

    /// Refusal of another thread of the kernel.
    pub(super) fn fault_of_threads(&self) -> Option<Fault> {
        self.launched().fault.take()
    }

    /// The number of the system in the process.
    pub(super) fn number(&self) -> u64 {
        self.with(|system| system.number())
    }

    /// True if both are the same system.
    pub fn is(&self, other: &SystemHandle) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
