//! Contraction: `contract_outer`, `contract_packet`, `contract_time`, `contract_lane`.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::stream::TuTensor;
use crate::visa::PlanError;
use crate::visa::engine::contraction::{AccumulatePlan, AlignPlan, ContractPlan};
use crate::visa::engine::stream::StreamTensor;
use crate::visa::engine::stream::stage::{
    PositionAlign, PositionCollect, PositionContract, PositionContraction,
};
use crate::visa::mapping::M;
use crate::visa::runtime::Tu;
use crate::visa::scalar::{ContractsTo, StreamScalar, i4, i5, i9};
use crate::visa::surface::{Layout, StreamLayout};
use crate::visa::tensor::TrfTensor;
use crate::visa::text::text;
use crate::words::planned;
use core::fmt;
use core::marker::PhantomData;

/// The order in which lanes and columns leave: see [`crate::visa::command::AccumulationKind`].
pub use crate::visa::command::AccumulationKind as LaneMode;

/// A stream beside its weights: `.contract_packet()` comes next.
pub type ContractOuterTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Lane, Time, Packet> =
    TuTensor<'l, T, PositionAlign<Lane>, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Columns of all lanes as they leave the adder tree: `.contract_time()` comes next.
pub type ContractPacketTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Lane, Time, Packet> =
    TuTensor<'l, T, PositionContract<Lane>, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Columns of all lanes, of the steps that are left: `.contract_lane()` comes next.
#[must_use = "a stream does nothing until it ends in `.commit()`, `.to_trf()` or `.to_vrf()`"]
pub struct ContractTimeTensor<'l, const T: Tu, Lane: M, D: StreamScalar, L: StreamLayout, Kept> {
    columns: StreamTensor<'l, T, PositionContract<Lane>, D, L>,
    types: PhantomData<Kept>,
}

impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout> TuTensor<'l, T, PositionCollect, D, L> {
    /// Brings the stream and its weights to the same packets, `OutPacket`, in the order of `OutTime`: see
    /// [`StreamTensor::align`].
    #[track_caller]
    #[inline(never)]
    pub fn contract_outer<OutTime: M, OutPacket: M, Lane: M, TrfElement: M, TrfD: ContractionWeight<D>>(
        self,
        trf: &TrfTensor<TrfD, L::Chip, L::Cluster, L::Slice, Lane, TrfElement>,
    ) -> TuTensor<'l, T, PositionAlign<Lane>, D, L::With<OutTime, OutPacket>> {
        let align =
            planned!(CONFIG of AlignPlan<D, L::Time, L::Packet, Lane, TrfElement, OutTime, OutPacket>);
        let guard =
            planned!(STEP_GUARD of AlignPlan<D, L::Time, L::Packet, Lane, TrfElement, OutTime, OutPacket>);
        TuTensor(self.0.align_as(trf, align, guard))
    }
}

/// A type of weights for a stream of `D`.
#[diagnostic::on_unimplemented(
    message = "contract_outer: weights of `{Self}` do not meet a stream of `{D}`",
    note = "weights have the type of the stream; i4 and i5 meet each other, and so do i8 and i9",
    note = "help: load the weights from a tensor of the stream's type"
)]
pub trait ContractionWeight<D: StreamScalar>: StreamScalar {}

impl<D: StreamScalar> ContractionWeight<D> for D {}
impl ContractionWeight<i5> for i4 {}
impl ContractionWeight<i4> for i5 {}
impl ContractionWeight<i9> for i8 {}
impl ContractionWeight<i8> for i9 {}

impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout, Lane: M> TuTensor<'l, T, PositionAlign<Lane>, D, L> {
    /// Multiplies, and adds neighbouring products in a tree until `OutPacket` columns are left: see
    /// [`StreamTensor::contract`].
    #[track_caller]
    #[inline(never)]
    pub fn contract_packet<OutPacket: M>(
        self,
    ) -> ContractPacketTensor<
        'l,
        T,
        <D as ContractsTo<OutPacket>>::Output,
        L::Chip,
        L::Cluster,
        L::Slice,
        Lane,
        L::Time,
        OutPacket,
    >
    where
        D: ContractsTo<OutPacket>,
    {
        TuTensor(self.0.contract_as(*planned!(CONFIG of ContractPlan<D, L::Packet, OutPacket>)))
    }
}

impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout, Lane: M>
    TuTensor<'l, T, PositionContract<Lane>, D, L>
{
    /// Adds the results of several steps: `OutTime` is `Time` without the axes that are summed.
    ///
    /// `contract_lane`, which comes next, refuses any other `OutTime`.
    pub fn contract_time<OutTime: M>(self) -> ContractTimeTensor<'l, T, Lane, D, L, OutTime> {
        ContractTimeTensor { columns: self.0, types: PhantomData }
    }
}

/// The check of the time that `contract_time` keeps.
struct TimePlan<Lane, Time, Kept, Packet, OutTime, OutPacket>(
    PhantomData<(Lane, Time, Kept, Packet, OutTime, OutPacket)>,
);

impl<Lane: M, Time: M, Kept: M, Packet: M, OutTime: M, OutPacket: M>
    TimePlan<Lane, Time, Kept, Packet, OutTime, OutPacket>
{
    /// Refused: a time from which `contract_lane` would still sum, or which lacks what it keeps.
    const CHECK: Result<(), PlanError> = {
        let [interleaved, sequential] =
            [Kept::SIZE * Packet::SIZE, Kept::SIZE * Lane::SIZE * Packet::SIZE.div_ceil(8)];
        let sums = OutTime::SIZE != interleaved && OutTime::SIZE != sequential;
        let other = AccumulatePlan::<Lane, Time, Packet, OutTime, OutPacket>::check();
        match AccumulatePlan::<Lane, Kept, Packet, OutTime, OutPacket>::check() {
            Ok(()) if !sums => Ok(()),
            // `contract_lane` refuses it.
            _ if other.is_err() => Ok(()),
            _ => Err(PlanError::new(
                "contract time",
                text!(
                    "contract_time: OutTime is {}, but contract_lane goes on to OutTime {} and OutPacket {}, with Lane {} and \
                     Packet {}; help: OutTime of contract_time is Time without the summed axes, and contract_lane sums no more",
                    (Kept::EXPR, OutTime::EXPR, OutPacket::EXPR, Lane::EXPR, Packet::EXPR),
                ),
            )),
        }
    };
}

impl<'l, const T: Tu, Lane: M, D: StreamScalar, L: StreamLayout, Kept: M>
    ContractTimeTensor<'l, T, Lane, D, L, Kept>
{
    /// Folds the lanes into the stream: see [`StreamTensor::accumulate`].
    ///
    /// # Panics
    /// If the mappings fit only the other mode.
    #[track_caller]
    #[inline(never)]
    pub fn contract_lane<OutTime: M, OutPacket: M>(
        self,
        mode: LaneMode,
    ) -> TuTensor<'l, T, PositionContraction, D, L::With<OutTime, OutPacket>> {
        let () = planned!(CHECK of AccumulatePlan<Lane, L::Time, L::Packet, OutTime, OutPacket>);
        const {
            if let Err(error) = &TimePlan::<Lane, L::Time, Kept, L::Packet, OutTime, OutPacket>::CHECK {
                error.refuse()
            }
        }
        TuTensor(self.columns.accumulate_as::<OutTime, OutPacket>(mode))
    }
}

impl<const T: Tu, Lane: M, D: StreamScalar, L: StreamLayout, Kept> fmt::Debug
    for ContractTimeTensor<'_, T, Lane, D, L, Kept>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.columns.fmt(f)
    }
}
