//! The calls: `align`, `contract`, `accumulate`.

use super::accumulate::progress;
use super::{
    AccumulateConfig, AccumulateRequest, AlignConfig, AlignRequest, ContractConfig, ContractRequest,
    derive_accumulate, derive_align, derive_contract,
};
use crate::command::{AccumulationKind, Contraction};
use crate::engine::stream::{
    AccumulationTensor, AlignedPair, CollectTensor, ContractionTensor, StreamTensor,
};
use crate::error::PlanError;
use crate::mapping::M;
use crate::runtime::Tu;
use crate::runtime::fault::accept;
use crate::scalar::{ContractionCast, Scalar, StreamScalar, i5, i9};
use crate::tensor::TrfTensor;
use core::marker::PhantomData;

/// The plan of an align, as types.
pub struct AlignPlan<D, Time, Packet, Row, TrfElement, OutTime, OutPacket>(
    PhantomData<(D, Time, Packet, Row, TrfElement, OutTime, OutPacket)>,
);

impl<D: StreamScalar, Time: M, Packet: M, Row: M, TrfElement: M, OutTime: M, OutPacket: M>
    AlignPlan<D, Time, Packet, Row, TrfElement, OutTime, OutPacket>
{
    pub(crate) const REQUEST: AlignRequest = AlignRequest {
        element: D::ELEMENT_TYPE,
        time: Time::EXPR,
        packet: Packet::EXPR,
        row: Row::EXPR,
        trf_element: TrfElement::EXPR,
        out_time: OutTime::EXPR,
        out_packet: OutPacket::EXPR,
    };

    /// The derived configuration. Using it refuses what stream adapter and TRF sequencer cannot bring together.
    pub const CONFIG: AlignConfig = match derive_align(&Self::REQUEST) {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

/// [`ContractionCast`], asked for the packet of one call.
///
/// The compiler explains an unmet bound in the words of its trait only where the bound waits for a parameter of the
/// call. That is what the packet, and the implementation for [`Undecided`], are for.
pub trait ContractsTo<OutPacket>: StreamScalar {
    /// The type of products and sums.
    type Output: Scalar;
}

impl<D: ContractionCast, OutPacket: M> ContractsTo<OutPacket> for D {
    type Output = <D as ContractionCast>::Output;
}

macro_rules! contracts_to {
    ($($input:ident => $output:ident),*) => { $(
        impl<OutPacket: M> ContractsTo<OutPacket> for $input {
            type Output = $output;
        }
    )* };
}

// Streams carry these, tensors do not: see [`ContractionCast`].
contracts_to!(i5 => i32, i9 => i32);

/// No packet: see [`ContractsTo`].
#[derive(Debug)]
pub enum Undecided {}

impl<D: StreamScalar> ContractsTo<Undecided> for D {
    type Output = f32;
}

/// The plan of a contract, as types.
pub struct ContractPlan<D, Packet, OutPacket>(PhantomData<(D, Packet, OutPacket)>);

impl<D: StreamScalar, Packet: M, OutPacket: M> ContractPlan<D, Packet, OutPacket> {
    /// The derived configuration. Using it refuses what the adder tree cannot reduce to.
    pub const CONFIG: ContractConfig = match derive_contract(&ContractRequest {
        element: D::ELEMENT_TYPE,
        packet: Packet::EXPR,
        out_packet: OutPacket::EXPR,
    }) {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

/// The plan of an accumulate, as types. The kind is a value, so there is a result for each.
pub struct AccumulatePlan<Row, Time, Packet, OutTime, OutPacket>(
    PhantomData<(Row, Time, Packet, OutTime, OutPacket)>,
);

impl<Row: M, Time: M, Packet: M, OutTime: M, OutPacket: M>
    AccumulatePlan<Row, Time, Packet, OutTime, OutPacket>
{
    const fn derive(kind: AccumulationKind) -> Result<AccumulateConfig, PlanError> {
        derive_accumulate(&AccumulateRequest {
            kind,
            row: Row::EXPR,
            time: Time::EXPR,
            packet: Packet::EXPR,
            out_time: OutTime::EXPR,
            out_packet: OutPacket::EXPR,
        })
    }

    /// The configuration for [`AccumulationKind::Interleaved`].
    pub const INTERLEAVED: Result<AccumulateConfig, PlanError> = Self::derive(AccumulationKind::Interleaved);
    /// The configuration for [`AccumulationKind::Sequential`].
    pub const SEQUENTIAL: Result<AccumulateConfig, PlanError> = Self::derive(AccumulationKind::Sequential);

    /// Using it refuses mappings that fit neither kind, with the message of the kind that fits better.
    pub const CHECK: () = {
        if let (Err(interleaved), Err(sequential)) = (&Self::INTERLEAVED, &Self::SEQUENTIAL) {
            if progress(sequential) > progress(interleaved) {
                sequential.refuse()
            } else {
                interleaved.refuse()
            }
        }
    };
}

impl<'l, const T: Tu, D: StreamScalar, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M>
    CollectTensor<'l, T, D, Chip, Cluster, Slice, Time, Packet>
{
    /// Brings the stream and a tensor in the TRF to the same packets of 64 bytes, `OutPacket`, in the order of `OutTime`.
    ///
    /// With two flits per packet the innermost factor of `Time` becomes the upper half of `OutPacket`; with one, the upper
    /// half is padding. Axes that only the TRF has stand innermost in `OutTime`: each packet is repeated over them.
    ///
    /// Refused while compiling: everything that stream adapter and TRF sequencer cannot do (spec page 40 §3).
    pub fn align<OutTime: M, OutPacket: M, Row: M, TrfElement: M>(
        self,
        trf_tensor: &TrfTensor<D, Chip, Cluster, Slice, Row, TrfElement>,
    ) -> AlignedPair<'l, T, D, Chip, Cluster, Slice, Row, OutTime, OutPacket> {
        let config = const { AlignPlan::<D, Time, Packet, Row, TrfElement, OutTime, OutPacket>::CONFIG };
        AlignedPair {
            context: self.context,
            pass: self.pass,
            weights: trf_tensor.region(),
            stream_guard: const { Self::GUARD },
            config,
            types: PhantomData,
        }
    }
}

impl<'l, const T: Tu, D: StreamScalar, Chip: M, Cluster: M, Slice: M, Row: M, Time: M, Packet: M>
    AlignedPair<'l, T, D, Chip, Cluster, Slice, Row, Time, Packet>
{
    /// Multiplies, and adds neighbouring products in a tree until `OutPacket` columns are left.
    ///
    /// The innermost part of the packet is summed. Padding contributes nothing.
    ///
    /// Refused while compiling: more than 32 columns, a number of columns that is no power of two, and what is no outer
    /// part of the packet (spec page 40 §4.1).
    pub fn contract<OutPacket: M>(
        self,
    ) -> ContractionTensor<
        'l,
        T,
        <D as ContractsTo<OutPacket>>::Output,
        Chip,
        Cluster,
        Slice,
        Row,
        Time,
        OutPacket,
    >
    where
        D: ContractsTo<OutPacket>,
    {
        let contract = const { ContractPlan::<D, Packet, OutPacket>::CONFIG };
        ContractionTensor {
            context: self.context,
            pass: self.pass,
            weights: self.weights,
            stream_guard: self.stream_guard,
            align: self.config,
            contract,
            types: PhantomData,
        }
    }
}

impl<'l, const T: Tu, D: StreamScalar, Chip: M, Cluster: M, Slice: M, Row: M, Time: M, Packet: M>
    ContractionTensor<'l, T, D, Chip, Cluster, Slice, Row, Time, Packet>
{
    /// Adds the results of several steps, and folds the rows into the stream.
    ///
    /// Axes of `Time` that `OutTime` does not have are summed. The rest keeps its order and padding. `kind` says how
    /// rows and columns leave (spec page 40 §4.2).
    ///
    /// Refused while compiling: mappings that fit neither kind.
    ///
    /// # Panics
    /// Where the mappings fit the other kind only.
    #[track_caller]
    pub fn accumulate<OutTime: M, OutPacket: M>(
        self,
        kind: AccumulationKind,
    ) -> AccumulationTensor<'l, T, D, Chip, Cluster, Slice, OutTime, OutPacket> {
        const { AccumulatePlan::<Row, Time, Packet, OutTime, OutPacket>::CHECK };
        let plan = match kind {
            AccumulationKind::Interleaved => {
                const { &AccumulatePlan::<Row, Time, Packet, OutTime, OutPacket>::INTERLEAVED }
            }
            AccumulationKind::Sequential => {
                const { &AccumulatePlan::<Row, Time, Packet, OutTime, OutPacket>::SEQUENTIAL }
            }
        };
        let plan = accept("accumulate", *plan);
        let mut pass = self.pass;
        pass.contraction = Some(Contraction {
            trf: self.weights,
            stream_guard: self.stream_guard,
            collect_flits: self.align.collect_flits,
            tile: self.align.tile,
            trf_config: self.align.config,
            steps: self.align.steps,
            depth: self.contract.depth,
            columns: plan.columns,
            slots: plan.slots,
            slot_count: plan.slot_count,
            kind,
            output: D::ELEMENT_TYPE,
        });
        StreamTensor::new(self.context, pass)
    }
}
