//! Launching kernels.

#![allow(clippy::needless_lifetimes)] // Compilers name the implementations of `DeviceSend` as they are written.

use super::Placement;
use super::context::{Context, Dma, DmaContext, MakesTensors as _, Tu, TuContext};
use super::fault::{InsideLaunch, next_launch, two_contexts};
use super::kernel_chips::{self, TensorChips};
use super::late::when_late;
use super::needs_await::NeedsAwait;
use super::shared::SystemHandle;
use crate::chip::Fault;
use crate::clock::KernelCall;
use crate::scalar::{Opt, Scalar, bf16, f4e2m1, f8e4m3, f8e5m2, f16, i4, i5, i9};
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::panic::Location;
use core::pin::pin;
use core::task::Poll;

use super::late::{Late, Refusable};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A kernel, as `#[device]` makes it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel for the arguments `{Args}`",
    note = "a kernel is a function with `#[device(chip = 1)]`; its arguments are given as a tuple: `(&mut ctx, &x)`"
)]
pub trait DeviceFn<Args> {
    /// Result of the kernel.
    type Output: DeviceSend;
    /// The name of the function.
    const NAME: &'static str;
    /// The chips that the kernel was written for: `#[device(chip = N)]`.
    const CHIPS: usize;
    /// True if `CHIPS` was written. A kernel that the compiler has refused may lack it.
    #[doc(hidden)]
    const CHIPS_ARE_KNOWN: bool = true;
    /// Runs the kernel.
    fn execute(args: Args) -> impl Future<Output = Self::Output>;
}

/// The check of a kernel's chips, as a type: one error, however many launches there are.
pub struct ChipsAgree<F, P>(PhantomData<(F, P)>);

impl<F: DeviceFn<P>, P: DeviceSend> ChipsAgree<F, P> {
    /// The check of the chips.
    #[doc(hidden)]
    pub const CHECK: () = {
        let tensors = P::CHIPS.and(<F::Output as DeviceSend>::CHIPS);
        if F::CHIPS_ARE_KNOWN
            && let Err(error) = kernel_chips::check(F::NAME, F::CHIPS, tensors)
        {
            error.refuse()
        }
    };
}

impl<F: DeviceFn<P>, P: DeviceSend> Late<ChipsAgree<F, P>> {
    #[doc(hidden)]
    pub const CHECK: Refusable<()> = if F::CHIPS_ARE_KNOWN {
        kernel_chips::check(F::NAME, F::CHIPS, P::CHIPS.and(<F::Output as DeviceSend>::CHIPS))
    } else {
        Ok(())
    };
}

/// Refuses a kernel with a tensor in its arguments or its result that has another number of chips. With `late-refusals`
/// its launch does.
#[doc(hidden)]
pub const fn chips_agree<F: DeviceFn<P>, P: DeviceSend>() {
    #[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
    let () = ChipsAgree::<F, P>::CHECK;
}

/// Arguments and results of a kernel: contexts, tensors in HBM, numbers and lookup tables; tuples, arrays, slices and
/// options of them; and plain data of yours.
///
/// ```
/// use furiosa_visa_std::prelude::*;
///
/// #[derive(Clone, Copy)]
/// struct Layer { rounds: usize, scale: f32 }
/// impl DeviceSend for Layer {}
///
/// #[device(chip = 1)]
/// fn kernel(_ctx: &mut Context, layer: Layer, bias: Option<f32>) -> f32 {
///     layer.rounds as f32 * layer.scale + bias.unwrap_or(0.0)
/// }
/// # let mut ctx = Context::acquire();
/// # let layer = Layer { rounds: 3, scale: 0.5 };
/// # assert_eq!(pollster::block_on(launch(kernel, (&mut *ctx, layer, Some(1.0)))), 2.5);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument or a result of a kernel",
    note = "kernels take `&mut Context`, `&HbmTensor<…>`, `&mut HbmTensor<…>`, `HbmTensorView<'_, …>`, numbers, lookup tables, and arrays, tuples, slices and options of them",
    note = "a type of your own that holds plain data becomes one with `impl DeviceSend for … {{}}`"
)]
pub trait DeviceSend {
    /// The chips of the tensors in it.
    #[doc(hidden)]
    const CHIPS: TensorChips = TensorChips::NONE;

    /// Calls `visit` with the system of each context.
    #[doc(hidden)]
    #[allow(private_interfaces)] // Nobody outside can call it.
    fn systems(&self, visit: &mut dyn FnMut(&SystemHandle)) {
        let _ = visit;
    }
}

/// Lets types go into and out of kernels.
macro_rules! device_send {
    ($([$($generics:tt)*] $type:ty $(where $bounded:ty: $bound:path)? $(=> $chips:expr)?),* $(,)?) => {
        $(
            impl<$($generics)*> $crate::runtime::DeviceSend for $type $(where $bounded: $bound)? {
                $(const CHIPS: $crate::runtime::TensorChips = $chips;)?
            }
        )*
    };
}

pub(crate) use device_send;

device_send! {
    [] (), [] bool, [] u8, [] u16, [] u32, [] u64, [] u128, [] usize,
    [] i8, [] i16, [] i32, [] i64, [] i128, [] isize, [] f32, [] f64,
    [] char, [] str, [] String, [T] PhantomData<T>,
    [] bf16, [] f16, [] f4e2m1, [] f8e4m3, [] f8e5m2, [] i4, [] i5, [] i9,
    [T: Scalar] Opt<T>,
}

impl<'a> DeviceSend for &'a mut Context {
    #[allow(private_interfaces)]
    fn systems(&self, visit: &mut dyn FnMut(&SystemHandle)) {
        // `mem::swap` may have exchanged them.
        let Context { main, sub, tdma, pdma } = &**self;
        [main.system(), sub.system(), tdma.system(), pdma.system()].into_iter().for_each(visit);
    }
}

impl<'a, const T: Tu> DeviceSend for &'a mut TuContext<T> {
    #[allow(private_interfaces)]
    fn systems(&self, visit: &mut dyn FnMut(&SystemHandle)) {
        visit(self.system());
    }
}

impl<'a, const DMA: Dma> DeviceSend for &'a mut DmaContext<DMA> {
    #[allow(private_interfaces)]
    fn systems(&self, visit: &mut dyn FnMut(&SystemHandle)) {
        visit(self.system());
    }
}

/// Lets containers of what goes into and out of kernels do so.
macro_rules! device_send_containers {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {
        $(
            impl<T: DeviceSend, $($generics)*> DeviceSend for $type {
                const CHIPS: TensorChips = T::CHIPS;

                #[allow(private_interfaces)]
                fn systems(&self, visit: &mut dyn FnMut(&SystemHandle)) {
                    self.iter().for_each(|own| own.systems(visit));
                }
            }
        )*
    };
}

device_send_containers! { [] Option<T>, [const N: usize] [T; N], [] [T], [] Vec<T> }

impl<'a, T: DeviceSend + ?Sized> DeviceSend for &'a T {
    const CHIPS: TensorChips = T::CHIPS;

    #[allow(private_interfaces)]
    fn systems(&self, visit: &mut dyn FnMut(&SystemHandle)) {
        (**self).systems(visit);
    }
}

macro_rules! device_send_tuples {
    () => {};
    ($first:ident $($rest:ident)*) => {
        impl<$first: DeviceSend, $($rest: DeviceSend),*> DeviceSend for ($first, $($rest,)*) {
            const CHIPS: TensorChips = $first::CHIPS$(.and($rest::CHIPS))*;

            #[allow(private_interfaces)]
            fn systems(&self, visit: &mut dyn FnMut(&SystemHandle)) {
                #[allow(non_snake_case)] // The names of the types.
                let ($first, $($rest,)*) = self;
                $first.systems(visit);
                $($rest.systems(visit);)*
            }
        }
        device_send_tuples!($($rest)*);
    };
}

device_send_tuples!(A B C D E F G H I J K L N O P Q R S T U V W X);

/// Runs a kernel. Lazy: nothing happens until it is awaited; then it is ready at once, on any executor.
///
/// # Panics
/// With the message of a [`Fault`], where the kernel does what would break on the chip. The context stays usable.
/// [`try_launch`] returns the fault instead.
#[track_caller]
#[inline(never)] // The compiler names the line of a call that it did not inline.
pub fn launch<F, P>(_kernel: F, args: P) -> NeedsAwait<impl Future<Output = F::Output>>
where
    F: DeviceFn<P>,
    P: DeviceSend,
{
    const { chips_agree::<F, P>() };
    let location = Location::caller();
    NeedsAwait::new(async move {
        match run::<F, P>(args, location, None).await {
            Ok(output) => output,
            Err(fault) => panic!("{fault}"),
        }
    })
}

/// Runs a kernel like [`launch`], and returns the fault if there is one. The context stays usable.
///
/// # Errors
/// A [`Fault`] where the kernel does what would break on the chip, or where the arguments are parts of two contexts.
#[track_caller]
#[inline(never)]
pub fn try_launch<F, P>(_kernel: F, args: P) -> NeedsAwait<impl Future<Output = Result<F::Output, Fault>>>
where
    F: DeviceFn<P>,
    P: DeviceSend,
{
    const { chips_agree::<F, P>() };
    let location = Location::caller();
    NeedsAwait::new(run::<F, P>(args, location, None))
}

/// Runs a kernel like [`try_launch`] with a way to place tensors, whatever the options of its context say: for surfaces
/// over this one.
///
/// # Errors
/// As [`try_launch`].
#[doc(hidden)]
#[track_caller]
#[inline(never)]
pub fn try_launch_placed<F, P>(
    _kernel: F,
    args: P,
    placement: Placement,
) -> NeedsAwait<impl Future<Output = Result<F::Output, Fault>>>
where
    F: DeviceFn<P>,
    P: DeviceSend,
{
    const { chips_agree::<F, P>() };
    let location = Location::caller();
    NeedsAwait::new(run::<F, P>(args, location, Some(placement)))
}

/// The system of the contexts of the arguments. `None`: there is no context.
fn system_of(
    args: &impl DeviceSend,
    location: &'static Location<'static>,
) -> Result<Option<SystemHandle>, Fault> {
    let (mut first, mut other): (Option<SystemHandle>, Option<SystemHandle>) = (None, None);
    args.systems(&mut |system| match &first {
        Some(first) if !first.is(system) => other = Some(system.clone()),
        Some(_) => {}
        None => first = Some(system.clone()),
    });
    match (&first, &other) {
        (Some(first), Some(other)) => Err(two_contexts(first, other, "launch", location)),
        _ => Ok(first),
    }
}

async fn run<F, P>(
    args: P,
    location: &'static Location<'static>,
    placement: Option<Placement>,
) -> Result<F::Output, Fault>
where
    F: DeviceFn<P>,
    P: DeviceSend,
{
    when_late! {
        if let Err(error) = const { &Late::<ChipsAgree<F, P>>::CHECK } {
            return Err(super::fault::late_fault(error, location));
        }
    }
    let system = system_of(&args, location)?;
    let chips = system.as_ref().and_then(SystemHandle::fixed_chips);
    kernel_chips::check_system(F::NAME, F::CHIPS, chips, location)?;
    let call = KernelCall { number: next_launch(), name: F::NAME };
    let alike = (core::any::type_name::<(F, P)>(), location);
    let progress = system.as_ref().and_then(|system| system.begin(call, alike));
    let mut kernel = pin!(F::execute(args));
    let output = poll_fn(|task| {
        let inside = InsideLaunch::enter(call, system.as_ref(), placement);
        let polled = catch_unwind(AssertUnwindSafe(|| kernel.as_mut().poll(task)));
        // Commands that waited come before what has stopped the kernel.
        let finished = inside.finish();
        let of_threads = inside.fault_of_threads().or(finished.err());
        drop(inside);
        match (polled, of_threads) {
            (Ok(poll), None) => poll.map(Ok),
            // The end of a scope panics where one of its threads was refused.
            (_, Some(fault)) => Poll::Ready(Err(fault)),
            (Err(payload), None) => match payload.downcast::<Fault>() {
                Ok(fault) => Poll::Ready(Err(*fault)),
                Err(other) => resume_unwind(other),
            },
        }
    })
    .await;
    if let Some(progress) = progress.filter(|_| output.is_ok()) {
        progress.complete();
    }
    output
}
