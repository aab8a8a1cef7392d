//! Launching kernels.

use super::context::{Context, Dma, DmaContext, Tu, TuContext};
use super::fault::{InsideLaunch, next_launch};
use crate::chip::Fault;
use crate::clock::KernelCall;
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::pin::pin;
use core::task::Poll;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A kernel, as `#[device]` makes it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel for the arguments `{Args}`",
    note = "a kernel is a function with `#[device(chip = 1)]`; its arguments are given as a tuple: `(&mut ctx, &x)`"
)]
pub trait DeviceFn<Args: DeviceSend> {
    /// What the kernel returns.
    type Output: DeviceSend;
    /// The name of the function.
    const NAME: &'static str;
    /// The chips that the kernel was written for: `#[device(chip = N)]`.
    const CHIPS: usize;
    /// Runs the kernel.
    fn execute(args: Args) -> impl Future<Output = Self::Output>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// What may go into and out of a kernel: contexts, tensors in HBM, numbers, and tuples, arrays and slices of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument or a result of a kernel",
    note = "kernels take `&mut Context`, `&HbmTensor<…>`, `&mut HbmTensor<…>`, `HbmTensorView<'_, …>`, numbers, arrays and tuples of them"
)]
pub trait DeviceSend: sealed::Sealed {}

/// Lets types go into and out of kernels.
macro_rules! device_send {
    ($([$($generics:tt)*] $type:ty $(where $bounded:ty: $bound:path)?),* $(,)?) => {
        $(
            impl<$($generics)*> $crate::runtime::launch::sealed::Sealed for $type $(where $bounded: $bound)? {}
            impl<$($generics)*> $crate::runtime::DeviceSend for $type $(where $bounded: $bound)? {}
        )*
    };
}

pub(crate) use device_send;

device_send! {
    [] (), [] bool, [] u8, [] u16, [] u32, [] u64, [] u128, [] usize,
    [] i8, [] i16, [] i32, [] i64, [] i128, [] isize, [] f32, [] f64,
    ['a] &'a mut Context,
    ['a, const T: Tu] &'a mut TuContext<T>,
    ['a, const DMA: Dma] &'a mut DmaContext<DMA>,
    [T] PhantomData<T>,
    [T: DeviceSend, const N: usize] [T; N],
    ['a, T, const N: usize] &'a [T; N] where &'a T: DeviceSend,
    ['a, T] &'a [T] where &'a T: DeviceSend,
}

macro_rules! device_send_tuples {
    () => {};
    ($first:ident $($rest:ident)*) => {
        impl<$first: DeviceSend, $($rest: DeviceSend),*> sealed::Sealed for ($first, $($rest,)*) {}
        impl<$first: DeviceSend, $($rest: DeviceSend),*> DeviceSend for ($first, $($rest,)*) {}
        device_send_tuples!($($rest)*);
    };
}

device_send_tuples!(A B C D E F G H I J K L N O P Q R S T U V W X);

/// Runs a kernel. Lazy: nothing happens until it is awaited; then it is ready at once, on any executor.
///
/// # Panics
/// With the message of a [`Fault`], where the kernel does what would break on the chip. The context stays usable.
/// [`try_launch`] returns the fault instead.
pub async fn launch<F, P>(_kernel: F, args: P) -> F::Output
where
    F: DeviceFn<P>,
    P: DeviceSend,
{
    match run::<F, P>(args).await {
        Ok(output) => output,
        Err(fault) => panic!("{fault}"),
    }
}

/// Runs a kernel like [`launch`], and returns the fault if there is one. The context stays usable.
pub async fn try_launch<F, P>(_kernel: F, args: P) -> Result<F::Output, Fault>
where
    F: DeviceFn<P>,
    P: DeviceSend,
{
    run::<F, P>(args).await
}

async fn run<F, P>(args: P) -> Result<F::Output, Fault>
where
    F: DeviceFn<P>,
    P: DeviceSend,
{
    let call = KernelCall { number: next_launch(), name: F::NAME };
    let mut kernel = pin!(F::execute(args));
    poll_fn(|task| {
        let inside = InsideLaunch::enter(call);
        let polled = catch_unwind(AssertUnwindSafe(|| kernel.as_mut().poll(task)));
        // Also where the kernel waits for something else, so that no other thread goes on with what it gave.
        let flushed = inside.flush();
        drop(inside);
        // A fault of a command that was given earlier comes first.
        match (polled, flushed) {
            (Ok(poll), Ok(())) => poll.map(Ok),
            (Ok(_), Err(fault)) => Poll::Ready(Err(fault)),
            (Err(payload), flushed) => match payload.downcast::<Fault>() {
                Ok(fault) => Poll::Ready(flushed.and(Err(*fault))),
                Err(other) => resume_unwind(other),
            },
        }
    })
    .await
}
