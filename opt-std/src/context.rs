//! Contexts, devices, and launching.

use crate::visa::runtime::{
    DeviceFn, DeviceSend, Dma, DmaValues as _, Placement, SimOptions, Tu, TuValues as _,
};
use crate::visa::surface::{ChipsAgree, SystemHandle, context_of, system_of};
use crate::visa::{clock, runtime};
use crate::words::{check, of_fault};
use core::cell::RefCell;
use core::fmt;
use core::ops::{Deref, DerefMut};

/// The Tensor Unit, seen from its main or its sub context: see [`crate::visa::runtime::TuContext`].
#[derive(Debug)]
pub struct TuContext<const T: Tu>(pub(crate) runtime::TuContext<T>);

/// The DMA engines of the chip, or the PCIe link: see [`crate::visa::runtime::DmaContext`].
#[derive(Debug)]
pub struct DmaContext<const DMA: Dma>(pub(crate) runtime::DmaContext<DMA>);

/// The context that a kernel runs on: see [`crate::visa::runtime::Context`].
pub struct Context {
    /// The main context of the Tensor Unit.
    pub main: TuContext<{ Tu::Main }>,
    /// The sub context of the Tensor Unit.
    pub sub: TuContext<{ Tu::Sub }>,
    /// The DMA engines of the chip.
    pub tdma: DmaContext<{ Dma::Tensor }>,
    /// The PCIe link to the host.
    pub pdma: DmaContext<{ Dma::Pcie }>,
}

/// A device that a kernel was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The number of chips.
    pub chip: u8,
    /// The number of processing elements of each chip.
    pub pe: u8,
}

thread_local! {
    /// The contexts of this thread that live, the latest one last.
    static ACQUIRED: RefCell<Vec<runtime::Context>> = const { RefCell::new(Vec::new()) };
}

/// The context that the thread acquired last.
#[track_caller]
pub(crate) fn latest(operation: &str) -> runtime::Context {
    let latest = ACQUIRED.with_borrow(|all| all.last().map(context_of));
    latest
        .unwrap_or_else(|| panic!("{operation}: there is no context; help: call `Context::acquire()` first"))
}

impl Context {
    /// A fresh simulated system, as many chips as the program uses, all checks on.
    #[track_caller]
    pub fn acquire() -> Acquired {
        Self::with(SimOptions::default())
    }

    /// A fresh simulated system with options of the simulator: see [`crate::visa::runtime::Context::with`].
    #[track_caller]
    pub fn with(options: SimOptions) -> Acquired {
        let guard = runtime::Context::with(options);
        let parts = context_of(&*guard);
        ACQUIRED.with_borrow_mut(|all| all.push(context_of(&*guard)));
        let context = Self {
            main: TuContext(parts.main),
            sub: TuContext(parts.sub),
            tdma: DmaContext(parts.tdma),
            pdma: DmaContext(parts.pdma),
        };
        Acquired { context: Box::new(context), device: None, guard }
    }

    /// The operations so far: their cycles, why each did not start earlier, and the idle engines.
    pub fn report(&mut self) -> clock::Report {
        self.simulated().report()
    }

    /// The same simulated system with the surface of `furiosa-visa-std`: its traces, maps and inspections.
    pub fn simulated(&self) -> runtime::Context {
        context_of(&self.main.0)
    }

    fn system(&self) -> SystemHandle {
        system_of(&self.main.0).clone()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.simulated().fmt(f)
    }
}

/// Exclusive use of a [`Context`]. Every guard has a system of its own.
pub struct Acquired {
    context: Box<Context>,
    device: Option<Device>,
    guard: runtime::ContextGuard,
}

impl Acquired {
    /// Says for which device kernels were written: `Context::acquire().bind(kernel.device())`. It has no other effect.
    ///
    /// # Panics
    /// If the context is bound to another device, or has fewer chips.
    #[track_caller]
    pub fn bind(mut self, device: Device) -> Self {
        if let Some(bound) = self.device.filter(|bound| *bound != device) {
            panic!(
                "bind: the context is bound to {bound:?}, and cannot be bound to {device:?}; help: acquire another one"
            );
        }
        if let Some(chips) = self.guard.fixed_chips().filter(|&chips| chips < usize::from(device.chip)) {
            let given = device.chip;
            panic!(
                "bind: the kernel is written for {given} chips, but the system has {chips}; help: set `chips` in `SimOptions`"
            );
        }
        self.device = Some(device);
        self
    }
}

impl Drop for Acquired {
    fn drop(&mut self) {
        let system = self.context.system();
        ACQUIRED.with_borrow_mut(|all| all.retain(|context| !system_of(&context.main).is(&system)));
    }
}

impl Deref for Acquired {
    type Target = Context;
    fn deref(&self) -> &Context {
        &self.context
    }
}

impl DerefMut for Acquired {
    fn deref_mut(&mut self) -> &mut Context {
        &mut self.context
    }
}

impl fmt::Debug for Acquired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Acquired").field(&self.context).finish()
    }
}

impl DeviceSend for &mut Context {
    fn systems(&self, visit: &mut dyn FnMut(&SystemHandle)) {
        visit(system_of(&self.main.0));
    }
}

impl<const T: Tu> DeviceSend for &mut TuContext<T> {
    fn systems(&self, visit: &mut dyn FnMut(&SystemHandle)) {
        visit(system_of(&self.0));
    }
}

/// Runs a kernel. Lazy: nothing happens until it is awaited; then it is ready at once, on any executor.
///
/// Tensors in DM and the register files have their bytes from their first to their last use: see [`Placement`].
///
/// # Panics
/// Where the kernel does what would break on the chip, with the message of the fault. The context stays usable.
#[track_caller]
#[inline(never)] // The compiler names the line of a call that it did not inline.
pub fn launch<F, P>(kernel: F, args: P) -> impl Future<Output = F::Output>
where
    F: DeviceFn<P>,
    P: DeviceSend,
{
    check!(CHECK of ChipsAgree<F, P>);
    let launched = runtime::try_launch_placed(kernel, args, Placement::Liveness);
    async move {
        match launched.await {
            Ok(output) => output,
            Err(fault) => panic!("{}", of_fault(&fault.to_string())),
        }
    }
}
