//! Execution ids of elements.

use crate::visa::engine::vector::BranchMode;
use core::marker::PhantomData;

/// Temporary.
#[derive(Debug)]
pub enum TagMode<D> {
    /// All elements have the id 0.
    Zero,
    #[doc(hidden)]
    Never(PhantomData<D>),
}

impl<D> From<TagMode<D>> for BranchMode {
    fn from(_: TagMode<D>) -> Self {
        BranchMode::Unconditional
    }
}
