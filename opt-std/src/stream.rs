//! Streams: tensors in motion, a type per stage.

use crate::visa::engine::commit_stages::Trimmed;
use crate::visa::engine::stream::StreamTensor;
use crate::visa::engine::stream::stage::{
    Position, PositionCast, PositionCollect, PositionCommitCast, PositionCommitTrim, PositionContraction,
    PositionSwitch, PositionTranspose, PositionVectorFinal, PositionVectorInit,
};
use crate::visa::runtime::Tu;
use crate::visa::scalar::StreamScalar;
use crate::visa::surface::{Layout, StreamLayout};
use core::fmt;

/// A tensor in motion: elements of type `D` that have left the engine of the stage `P`, and lie in a layout `L`.
#[must_use = "a stream does nothing until it ends in `.commit()`, `.to_trf()` or `.to_vrf()`"]
pub struct TuTensor<'l, const T: Tu, P: Position, D: StreamScalar, L: StreamLayout>(
    pub(crate) StreamTensor<'l, T, P, D, L>,
);

impl<const T: Tu, P: Position, D: StreamScalar, L: StreamLayout> fmt::Debug for TuTensor<'_, T, P, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Declares streams by their stage.
macro_rules! aliases {
    ($($(#[$doc:meta])* $name:ident = $position:ty;)*) => { $(
        $(#[$doc])*
        pub type $name<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet> =
            TuTensor<'l, T, $position, D, Layout<Chip, Cluster, Slice, Time, Packet>>;
    )* };
}

aliases! {
    /// Packets in the slices that need them: `.collect()` comes next.
    SwitchTensor = PositionSwitch;
    /// Packets of one flit.
    CollectTensor = PositionCollect;
    /// Sums: `.vector_init()`, `.cast()`, `.transpose()` or `.commit_trim()` comes next.
    ContractTensor = PositionContraction;
    /// Elements that enter the Vector Engine: `.vector_intra_slice_tag()` comes next.
    VectorInitTensor = PositionVectorInit;
    /// Elements that left the Vector Engine.
    VectorFinalTensor = PositionVectorFinal;
    /// Narrowed elements: `.transpose()` or `.commit_trim()` comes next.
    CastTensor = PositionCast;
    /// Time steps that have become the elements of packets: `.commit_trim()` comes next.
    TransposeTensor = PositionTranspose;
    /// The bytes of each flit that are kept: `.commit()` comes next.
    CommitTrimTensor = PositionCommitTrim;
    /// Elements that the commit narrows: `.commit()` comes next.
    CommitCastTensor = PositionCommitCast<Trimmed>;
}
