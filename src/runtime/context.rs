//! Contexts: what a kernel runs on.

use super::allocate::Allocator;
use super::environment::Settings;
use super::interrupt::StopsIfInterrupted;
use super::shared::SystemHandle;
use super::{SimOptions, System};
use crate::chip::{CheckOptions, Fault, FaultKind};
use crate::clock::trace::TraceWriter;
use crate::clock::{MemoryMap, Report};
use crate::command::{Address, FillId, HostBuffer, HostTransfer, Inspection, Memory, Operation, Transfer};
use crate::mapping::M;
use crate::scalar::Scalar;
use crate::spec::ChipKind;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::panic::Location;

/// Selects a Tensor Unit context: `{ Tu::Main }` or `{ Tu::Sub }`.
///
/// The values come from [`TuValues`]. It is an alias of a primitive, because stable Rust has no other const parameters.
pub type Tu = bool;

/// Selects a DMA context: `{ Dma::Tensor }` or `{ Dma::Pcie }`. The values come from [`DmaValues`].
pub type Dma = u8;

mod sealed {
    pub trait Sealed {}
    impl Sealed for bool {}
    impl Sealed for u8 {}
}

/// The values of [`Tu`].
#[allow(non_upper_case_globals)] // They read as variants.
pub trait TuValues: sealed::Sealed {
    /// The main context: all engines.
    const Main: Tu = false;
    /// The sub context: loads register files and copies while the main context works. It may contract as well, but has the
    /// compute engines only while the main context is idle.
    const Sub: Tu = true;
}

impl TuValues for Tu {}

/// The values of [`Dma`].
#[allow(non_upper_case_globals)] // They read as variants.
pub trait DmaValues: sealed::Sealed {
    /// The DMA engines of the chip.
    const Tensor: Dma = 0;
    /// The PCIe link to the host.
    const Pcie: Dma = 1;
}

impl DmaValues for Dma {}

/// A context whose calls make tensors.
pub(crate) trait MakesTensors {
    /// The system that it works on.
    fn system(&self) -> &SystemHandle;

    /// A number for what a call writes.
    fn next_fill(&mut self) -> FillId {
        self.system().next_fill()
    }
}

impl<const T: Tu> MakesTensors for TuContext<T> {
    fn system(&self) -> &SystemHandle {
        &self.system
    }
}

impl<const DMA: Dma> MakesTensors for DmaContext<DMA> {
    fn system(&self) -> &SystemHandle {
        &self.system
    }
}

/// The Tensor Unit, seen from its main or its sub context.
pub struct TuContext<const T: Tu> {
    system: SystemHandle,
}

impl<const T: Tu> TuContext<T> {
    #[track_caller]
    pub(crate) fn execute(&mut self, operation: Operation) {
        self.system.execute(operation);
    }

    /// Looks at the packets that a pass would commit. `None`: it reads a tensor that no command has written.
    pub(crate) fn inspect(
        &self,
        mut pass: Operation,
        (transfer, host_elements): (&Transfer, usize),
        location: &'static Location<'static>,
    ) -> Result<Option<HostBuffer>, Fault> {
        let is_placed = self.system.place_pass(&mut pass)?;
        let Operation::TensorUnit(unit) = &pass else {
            unreachable!("a pass is a command of the Tensor Unit")
        };
        if !is_placed {
            return Ok(None);
        }
        let look = |system: &mut System| system.inspect_stream(unit, (transfer, host_elements), location);
        self.system.with(look).map(Some)
    }

    pub(crate) fn chip_kind(&self) -> ChipKind {
        self.system.with(|system| system.chip_kind())
    }

    pub(crate) fn checks(&self) -> CheckOptions {
        self.system.with(|system| *system.checks())
    }
}

impl<const T: Tu> fmt::Debug for TuContext<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if T { "TuContext<{ Tu::Sub }>" } else { "TuContext<{ Tu::Main }>" })
    }
}

/// The DMA engines of the chip, or the PCIe link.
pub struct DmaContext<const DMA: Dma> {
    system: SystemHandle,
}

impl<const DMA: Dma> DmaContext<DMA> {
    #[track_caller]
    pub(crate) fn execute(&mut self, mut operation: Operation) {
        if let Operation::Dma(dma) = &mut operation {
            dma.pcie = DMA == Dma::Pcie;
        }
        self.system.execute(operation);
    }

    pub(crate) fn upload(
        &mut self,
        transfer: &HostTransfer,
        buffer: &HostBuffer,
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        self.system.check_host("to_hbm", location)?;
        self.system.perform()?;
        self.system.with(|system| system.upload(transfer, buffer, location))
    }

    pub(crate) fn download(
        &mut self,
        transfer: &HostTransfer,
        location: &'static Location<'static>,
    ) -> Result<HostBuffer, Fault> {
        self.system.check_host("to_host", location)?;
        self.system.perform()?;
        self.system.with(|system| system.download(transfer, location))
    }
}

impl<const DMA: Dma> fmt::Debug for DmaContext<DMA> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if DMA == Dma::Pcie {
            "DmaContext<{ Dma::Pcie }>"
        } else {
            "DmaContext<{ Dma::Tensor }>"
        })
    }
}

/// The DMA engines of the context that a kernel runs on, for calls that name none. They are given in program order like
/// those of `ctx.tdma`.
///
/// # Panics
/// Outside of a kernel that was launched with a context.
#[track_caller]
pub(crate) fn dma_of_kernel(operation: &'static str) -> DmaContext<{ Dma::Tensor }> {
    let Some(system) = super::fault::used() else {
        let message = "the call names no context: it runs on the one that its kernel was launched with, and there is none";
        let help = "call it in a kernel that takes `&mut Context`, or take the call with the same name and `_rows`, which \
                    names one";
        super::fault::raise(Fault::new(
            FaultKind::Refused,
            operation,
            Location::caller(),
            message.to_string(),
            help,
        ))
    };
    DmaContext { system }
}

/// A simulated system and the contexts that work on it. Program order is execution order.
///
/// A tensor belongs to the context that it was made on: another one refuses its handle, also where the first one has
/// ended, because other bytes lie at its addresses there. A launch runs on the parts of one context, in one thread.
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

impl Context {
    /// A fresh simulated system, as many chips as the program uses, all checks on.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// let mut ctx = Context::acquire();
    /// # let _ = &mut ctx;
    /// ```
    #[track_caller]
    pub fn acquire() -> ContextGuard {
        Self::with(SimOptions::default())
    }

    /// A fresh simulated system with options. What the [`environment`](super::environment) says is stronger.
    ///
    /// # Panics
    /// If `chips` is not 1 to 8, or if a variable of the environment has a value that it cannot have.
    #[track_caller]
    pub fn with(options: SimOptions) -> ContextGuard {
        let settings = Settings::of(options).unwrap_or_else(|error| panic!("{error}"));
        let options = settings.options;
        if let Some(chips) = options.chips {
            let most = crate::spec::MAX_CHIPS;
            assert!(
                (1..=most).contains(&chips),
                "SimOptions: a system of {chips} chips was asked for, but it has 1 to {most}; \
                 help: set `chips` to a number in that range, or to `None`"
            );
        }
        let mut system = System::new(options);
        let mut output = settings.output;
        super::output::attach(&mut system, &mut output);
        let steps = output.step;
        let handle = SystemHandle::new(system, output, options.placement);
        if steps {
            super::step::terminal(options.times()).into_iter().for_each(|stepper| handle.step(stepper));
        }
        let context = Context::on(&handle);
        ContextGuard(Box::new(context), StopsIfInterrupted)
    }

    /// A context on a system.
    pub(crate) fn on(system: &SystemHandle) -> Self {
        Self {
            main: TuContext { system: system.clone() },
            sub: TuContext { system: system.clone() },
            tdma: DmaContext { system: system.clone() },
            pdma: DmaContext { system: system.clone() },
        }
    }

    /// True if values are computed, and false if [`SimOptions`] ask for their shapes alone
    /// ([`Compute::ShapesOnly`](crate::chip::Compute)): then the values of tensors of the host make no difference but for indices
    /// that choose addresses, and a program need not prepare them.
    ///
    /// ```
    /// use furiosa_visa_std::{chip::Compute, prelude::*};
    ///
    /// let of = |compute| Context::with(SimOptions { compute, ..SimOptions::default() }).computes();
    /// assert_eq!([of(Compute::Values), of(Compute::ShapesOnly)], [true, false]);
    /// ```
    pub fn computes(&self) -> bool {
        self.main.system.computes()
    }

    /// The number of chips, if [`SimOptions`] fixes it.
    #[doc(hidden)]
    pub fn fixed_chips(&self) -> Option<usize> {
        self.main.system.fixed_chips()
    }

    /// Looks at a tensor. `None`: no command has named it, so that it has no bytes yet.
    pub(crate) fn inspect(
        &self,
        inspection: &Inspection,
        location: &'static Location<'static>,
    ) -> Result<Option<HostBuffer>, Fault> {
        let Some(inspection) = self.main.system.placed(inspection.clone())? else { return Ok(None) };
        self.main.system.with(|system| system.inspect(&inspection, location)).map(Some)
    }

    /// The operations so far: their cycles, why each did not start earlier, and the idle engines. Operations that
    /// follow start after it.
    #[track_caller]
    pub fn report(&mut self) -> Report {
        self.main.system.with_all(System::report)
    }

    /// The commands that follow belong to a part of the kernel, up to the next call or to the kernel's end. A report has
    /// sums over each part: its operations, the cycles of each context, and its bytes of HBM.
    ///
    /// Parts of the same name are one. Of a name with a `/`, what stands before it and what stands behind it have sums of
    /// their own, for example layers and what each of them does. The chip is told nothing of it.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 256, B = 64];
    ///
    /// #[device(chip = 1)]
    /// fn kernel(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![A, B]>) {
    ///     for layer in 0..2 {
    ///         ctx.part(&format!("layer {layer}/load"));
    ///         x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, AUTO);
    ///     }
    /// }
    ///
    /// let mut ctx = Context::acquire();
    /// let x = pollster::block_on(HostTensor::<f32, m![A, B]>::zero().to_hbm(&mut ctx.pdma, AUTO));
    /// pollster::block_on(launch(kernel, (&mut *ctx, &x)));
    /// let report = ctx.report();
    /// assert_eq!((report.parts[1].name.as_ref(), report.parts[1].operations), ("layer 1/load", 1));
    /// assert_eq!(report.parts[1].hbm_bytes, 64 * 1024);
    /// println!("{}", report.by_part());
    /// ```
    #[track_caller]
    pub fn part(&mut self, name: &str) {
        self.main.system.part(name);
    }

    /// The tensors in each memory, and the operations from which to which they live: see [`MemoryMap`]. Operations that follow start
    /// after it.
    #[track_caller]
    pub fn memory_map(&mut self) -> MemoryMap {
        super::fault::or_raise(self.main.system.perform());
        let allocators = self.main.system.allocators();
        let allocations = allocators.each_ref().map(Allocator::given);
        self.main.system.with(|system| system.memory_map_with(allocations))
    }

    /// An address in DM with room for a tensor of `Element` in every slice, above all that were given before.
    ///
    /// It is a multiple of 8, and of 64 for 64 bytes and more, which is what transfers need and reads like. Nothing is
    /// known of addresses that the program picks itself: leave them all to this call, or start above them.
    /// [`Context::free_dm_from`] gives bytes back; [`Context::memory_map`] shows which.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 256, B = 104];
    /// type X = HbmTensor<i8, m![1], m![A, B]>;
    ///
    /// #[device(chip = 1)]
    /// fn kernel(ctx: &mut Context, x: &X) {
    ///     let address = ctx.alloc_dm::<i8, m![B]>();
    ///     let x = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, address);
    ///     assert_eq!((address, ctx.alloc_dm::<i8, m![B]>()), (0, 128));
    ///     # let _ = x;
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let address = ctx.alloc_hbm::<i8, m![A, B]>();
    /// # let host = HostTensor::<i8, m![A, B]>::zero();
    /// # let x: X = pollster::block_on(host.to_hbm(&mut ctx.pdma, address));
    /// # pollster::block_on(launch(kernel, (&mut *ctx, &x)));
    /// ```
    ///
    /// # Panics
    /// If DM is full, with a [`Fault`] like that of an operation.
    #[track_caller]
    pub fn alloc_dm<D: Scalar, Element: M>(&mut self) -> Address {
        self.alloc(Memory::Dm, bytes_of::<D, Element>())
    }

    /// An address in HBM with room for a tensor of `Element` in every chip: as [`Context::alloc_dm`]. From 256 bytes on it
    /// is a multiple of 256, the unit that HBM writes without reading it first.
    ///
    /// # Panics
    /// If HBM is full, with a [`Fault`] like that of an operation.
    #[track_caller]
    pub fn alloc_hbm<D: Scalar, Element: M>(&mut self) -> Address {
        self.alloc(Memory::Hbm, bytes_of::<D, Element>())
    }

    #[track_caller]
    fn alloc(&mut self, memory: Memory, bytes: u128) -> Address {
        let location = Location::caller();
        super::fault::or_raise(self.main.system.allocators()[memory as usize].allocate(bytes, location))
    }

    /// The address above everything that [`Context::alloc_dm`] gave.
    pub fn dm_mark(&self) -> Address {
        self.main.system.allocators()[Memory::Dm as usize].mark()
    }

    /// Gives back all of DM from a mark on, so that [`Context::alloc_dm`] gives it again: tensors there are overwritten by
    /// the next ones. A mark above what is in use gives back nothing.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 128];
    /// let mut ctx = Context::acquire();
    /// let mark = ctx.dm_mark();
    /// for _block in 0..1000 {
    ///     assert_eq!(ctx.alloc_dm::<bf16, m![A]>(), mark);
    ///     ctx.free_dm_from(mark);
    /// }
    /// ```
    pub fn free_dm_from(&mut self, mark: Address) {
        self.main.system.allocators()[Memory::Dm as usize].free_from(mark);
    }

    /// The address above everything that [`Context::alloc_hbm`] gave.
    pub fn hbm_mark(&self) -> Address {
        self.main.system.allocators()[Memory::Hbm as usize].mark()
    }

    /// Gives back all of HBM from a mark on: as [`Context::free_dm_from`].
    pub fn free_hbm_from(&mut self, mark: Address) {
        self.main.system.allocators()[Memory::Hbm as usize].free_from(mark);
    }

    /// Decides when the operations that were given so far run, as [`Context::report`] does, without a report.
    #[track_caller]
    pub fn settle(&mut self) {
        self.main.system.with_all(|system| system.clock().settle());
    }

    /// Writes a trace of the operations that follow: JSON that Chrome and Perfetto open (see [`crate::clock::trace`]).
    /// It is complete when the context has ended.
    #[track_caller]
    pub fn trace(&mut self, out: impl std::io::Write + Send + 'static) {
        self.main.system.with_all(|system| {
            system.clock().settle();
            system.clock().observe(Box::new(TraceWriter::new(out)));
        });
    }

    /// Entries that the system keeps of the operations so far.
    #[cfg(test)]
    pub(super) fn kept(&self) -> super::system::Kept {
        self.main.system.with(System::kept)
    }

    /// The system, for tests that give commands to it.
    #[doc(hidden)]
    #[track_caller]
    pub fn with_system<T>(&mut self, work: impl FnOnce(&mut System) -> T) -> T {
        self.main.system.with_all(work)
    }

    /// The number of chips in the system: fixed by [`SimOptions`], or used so far.
    #[track_caller]
    pub fn chips(&self) -> usize {
        self.main.system.with_all(|system| system.chips())
    }

    /// The kind of the chips in the system.
    pub fn chip_kind(&self) -> ChipKind {
        self.main.chip_kind()
    }
}

/// Bytes of a tensor in a chip or slice. They may be more than a memory, or than 64 bits count.
fn bytes_of<D: Scalar, Element: M>() -> u128 {
    (Element::SIZE as u128 * D::ELEMENT_TYPE.bits() as u128).div_ceil(8)
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("chips", &self.main.system.with(|system| system.chips())).finish()
    }
}

/// Exclusive use of a [`Context`]. Every guard has a system of its own, so that several can live at the same time.
pub struct ContextGuard(Box<Context>, StopsIfInterrupted); // The context ends first.

impl fmt::Debug for ContextGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ContextGuard").field(&self.0).finish()
    }
}

impl Deref for ContextGuard {
    type Target = Context;
    fn deref(&self) -> &Context {
        &self.0
    }
}

impl DerefMut for ContextGuard {
    fn deref_mut(&mut self) -> &mut Context {
        &mut self.0
    }
}
