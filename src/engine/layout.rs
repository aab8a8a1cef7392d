//! Layouts of streams: five mappings as one type.

use crate::mapping::{Expr, M, Pair};
use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// The mappings of a stream: at time `t`, lane `p` of a slice's packet holds the element of the tensor at the union of
/// `Chip::map`, `Cluster::map`, `Slice::map`, `Time::map(t)` and `Packet::map(p)`.
pub struct Layout<Chip, Cluster, Slice, Time, Packet>(PhantomData<(Chip, Cluster, Slice, Time, Packet)>);

impl<Chip, Cluster, Slice, Time, Packet> sealed::Sealed for Layout<Chip, Cluster, Slice, Time, Packet> {}

/// A [`Layout`], from which a call takes the mappings that it needs.
pub trait StreamLayout: sealed::Sealed {
    /// The mapping over chips.
    type Chip: M;
    /// The mapping over the clusters of a chip.
    type Cluster: M;
    /// The mapping over the slices of a cluster.
    type Slice: M;
    /// The mapping over time steps.
    type Time: M;
    /// The mapping over the lanes of a packet.
    type Packet: M;
    /// All five as one mapping, outermost first.
    type Mapping: M;
    /// The layout of another stream in the same chips, clusters and slices.
    type With<Time: M, Packet: M>: StreamLayout<Chip = Self::Chip, Cluster = Self::Cluster, Slice = Self::Slice>;
    /// The layout of the same packets in other slices.
    type Over<Slice: M, Time: M>: StreamLayout<Chip = Self::Chip, Cluster = Self::Cluster, Packet = Self::Packet>;
}

impl<Chip: M, Cluster: M, Slice: M, Time: M, Packet: M> StreamLayout
    for Layout<Chip, Cluster, Slice, Time, Packet>
{
    type Chip = Chip;
    type Cluster = Cluster;
    type Slice = Slice;
    type Time = Time;
    type Packet = Packet;
    type Mapping = Pair<Chip, Pair<Cluster, Pair<Slice, Pair<Time, Packet>>>>;
    type With<Time2: M, Packet2: M> = Layout<Chip, Cluster, Slice, Time2, Packet2>;
    type Over<Slice2: M, Time2: M> = Layout<Chip, Cluster, Slice2, Time2, Packet>;
}

/// The mappings of a layout, outermost first.
pub(crate) const fn exprs<L: StreamLayout>() -> [&'static Expr; 5] {
    [L::Chip::EXPR, L::Cluster::EXPR, L::Slice::EXPR, L::Time::EXPR, L::Packet::EXPR]
}
