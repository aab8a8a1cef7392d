//! The state of the stash: it is written once and read once.

use crate::visa::engine::vector::stage::PacketMode;
use crate::visa::engine::vector::{HasTensor, NoTensor, TensorState};
use crate::visa::mapping::M;
use crate::visa::scalar::VeScalar;
use core::fmt::Debug;
use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// The state of a stream's stash: [`Fresh`], [`Occupied`] or [`Spent`].
pub trait StashState: sealed::Sealed {
    /// The type of the elements in the stash, or of those that entered.
    type D: VeScalar;
    /// The state of the simulated stream.
    type State: TensorState<Self::D>;
}

/// Nothing is stashed.
#[derive(Debug)]
pub struct Fresh<D>(PhantomData<D>);

/// Elements of type `D` are stashed, of a stream of this mapping in packets of `WAY` lanes.
#[derive(Debug)]
pub struct Occupied<D, Mapping, const WAY: PacketMode>(PhantomData<(D, Mapping)>);

/// The stash was read.
#[derive(Debug)]
pub struct Spent<D, Mapping>(PhantomData<(D, Mapping)>);

impl<D> sealed::Sealed for Fresh<D> {}
impl<D, Mapping, const WAY: PacketMode> sealed::Sealed for Occupied<D, Mapping, WAY> {}
impl<D, Mapping> sealed::Sealed for Spent<D, Mapping> {}

impl<D: VeScalar> StashState for Fresh<D> {
    type D = D;
    type State = NoTensor;
}

impl<D: VeScalar, Mapping: M, const WAY: PacketMode> StashState for Occupied<D, Mapping, WAY> {
    type D = D;
    type State = HasTensor<D, Mapping>;
}

impl<D: VeScalar, Mapping: M> StashState for Spent<D, Mapping> {
    type D = D;
    type State = HasTensor<D, Mapping>;
}
