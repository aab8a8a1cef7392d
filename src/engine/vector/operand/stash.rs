//! The stash of a stream, and its use as an operand.

use super::derive::derive_stash;
use crate::mapping::{Expr, M};
use crate::scalar::VeScalar;
use core::fmt::Debug;
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::vector::operand::StashRead;

/// The state of a stream's stash.
pub trait TensorState<D: VeScalar>: Debug {
    /// The mapping of the stream when it was stashed.
    #[doc(hidden)]
    const STASHED: Option<&'static Expr>;
}

/// Nothing is stashed.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTensor;

impl<D: VeScalar> TensorState<D> for NoTensor {
    const STASHED: Option<&'static Expr> = None;
}

/// The elements of a stream with this mapping are stashed.
#[derive(Clone, Copy, Debug, Default)]
pub struct HasTensor<D, Mapping>(PhantomData<(D, Mapping)>);

impl<D: VeScalar, Mapping: M> TensorState<D> for HasTensor<D, Mapping> {
    const STASHED: Option<&'static Expr> = Some(Mapping::EXPR);
}

/// The plan of a read of the stash, as types.
pub(in crate::engine::vector) struct StashPlan<StashD, Stash, Stream>(PhantomData<(StashD, Stash, Stream)>);

impl<StashD: VeScalar, Stash: TensorState<StashD>, Stream: M> StashPlan<StashD, Stash, Stream> {
    pub(in crate::engine::vector) const READ: StashRead = StashRead {
        stashed: match Stash::STASHED {
            Some(mapping) => Some((StashD::KIND, derive_stash(mapping, Stream::EXPR))),
            None => None,
        },
    };
}
