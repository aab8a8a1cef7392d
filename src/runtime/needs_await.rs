//! A future whose name says what to do with it.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// A transfer or a launch that waits for its `.await`. Nothing is done before; then it is ready at once.
///
/// It is a type of its own because the compiler names it where a tensor is expected: `.await` is what is missing there.
#[must_use = "nothing is done until it is awaited: write `.await` after the call"]
pub struct NeedsAwait<F> {
    work: Pin<Box<F>>,
}

impl<F: Future> NeedsAwait<F> {
    pub(crate) fn new(work: F) -> Self {
        Self { work: Box::pin(work) }
    }
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
