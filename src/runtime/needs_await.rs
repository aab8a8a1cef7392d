//! A future whose name tells the user to await it.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// A transfer or a launch that waits for its `.await`. It does nothing before; then it is ready at once.
///
/// It is a type of its own because the compiler names it where a tensor is expected: there the `.await` is missing.
#[must_use = "nothing is done until it is awaited: write `.await` after the call"]
pub struct NeedsAwait<F> {
    work: Pin<Box<F>>,
}

impl<F: Future> NeedsAwait<F> {
    pub(crate) fn new(work: F) -> Self {
        Self { work: Box::pin(work) }
    }
}

/// A trait that no `NeedsAwait` implements: the compiler shows its text at a call of a tensor's methods.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the transfer or launch was not awaited yet",
    label = "write `.await` after the call that made this"
)]
pub trait WasAwaited {
    /// Unknown, so that the compiler says nothing more about the use of the result.
    type Output;
}

/// Declares a method of tensors. Its parameters do not matter: the compiler stops at the bound.
macro_rules! before_await {
    ($($name:ident)*) => { $(
        #[doc(hidden)]
        pub fn $name(&self) -> <Self as WasAwaited>::Output
        where
            Self: WasAwaited,
        {
            unreachable!("nothing meets this bound")
        }
    )* };
}

impl<F> NeedsAwait<F> {
    before_await! { to_host to_hbm to_hbm_view to_dm to_dm_view view view_mut address to_vec }
}

impl<F: Future> Future for NeedsAwait<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<F::Output> {
        self.work.as_mut().poll(task)
    }
}

impl<F> fmt::Debug for NeedsAwait<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NeedsAwait")
    }
}
