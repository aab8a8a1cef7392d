//! The calls: `align`, `contract`, `accumulate`.

use super::accumulate::{OPERATION, derive_kinds, progress, with_other_kind};
use super::align::align;
use super::contract::contract;
use super::{
    AccumulateConfig, AccumulateRequest, AlignConfig, AlignRequest, ContractConfig, ContractRequest,
    StreamAdapterConfig, TrfSequencerConfig, derive_accumulate, derive_stream_adapter, derive_trf_sequencer,
};
use crate::command::{AccumulationKind, TrfRegion};
use crate::engine::layout::{Layout, StreamLayout};
use crate::engine::stream::stage::{PositionAlign, PositionCollect, PositionContract, PositionContraction};
use crate::engine::stream::{Pass, StreamTensor};
use crate::error::PlanError;
use crate::lower::Aligned;
use crate::mapping::{Guard, Identity, M, guard_of};
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, by_reference, planned};
use crate::runtime::{Lease, Tu};
use crate::scalar::{ContractsTo, ElementType, StreamScalar};
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

    /// Guard of the positions of the computation that are no padding. Variables: step, position in the packet.
    pub(crate) const STEP_GUARD: &'static Guard = &match Late::<Self>::step_guard() {
        Ok(guard) => guard,
        Err(error) => error.refuse(),
    };

    /// The derived configuration. Evaluating it refuses mappings that stream adapter and TRF sequencer cannot bring
    /// together.
    pub const CONFIG: AlignConfig = match Late::<Self>::config() {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

impl<D: StreamScalar, Time: M, Packet: M, Row: M, TrfElement: M, OutTime: M, OutPacket: M>
    Late<AlignPlan<D, Time, Packet, Row, TrfElement, OutTime, OutPacket>>
{
    #[doc(hidden)]
    pub const STEP_GUARD: Refusable<&'static Guard> = by_reference(&Self::step_guard());
    #[doc(hidden)]
    pub const CONFIG: Refusable<AlignConfig> = Self::config();

    const fn step_guard() -> Refusable<Guard> {
        guard_of("align", &[OutTime::EXPR, OutPacket::EXPR])
    }

    const fn config() -> Refusable<AlignConfig> {
        // A reference to a constant would be a constant of its own.
        let request = AlignPlan::<D, Time, Packet, Row, TrfElement, OutTime, OutPacket>::REQUEST;
        align(
            &request,
            [Time::FORM, Packet::FORM, Row::FORM, TrfElement::FORM, OutTime::FORM, OutPacket::FORM],
        )
    }
}

/// The data side of an align, as types.
///
/// ```
/// use furiosa_visa_std::engine::contraction::StreamAdapterPlan;
/// use furiosa_visa_std::prelude::*;
/// axes![M = 32, N = 8, K = 16, T = 5];
/// type Plan = StreamAdapterPlan<bf16, m![M], m![K], m![N], m![T, K], m![M, T], m![K # 32]>;
/// const _: () = assert!(Plan::CONFIG.collect_flits == 1 && Plan::CONFIG.zero_bytes == 32);
/// const _: () = assert!(Plan::CONFIG.tile == 5 && Plan::CONFIG.rows == 8);
/// ```
pub struct StreamAdapterPlan<D, Time, Packet, Row, TrfElement, OutTime, OutPacket>(
    PhantomData<(D, Time, Packet, Row, TrfElement, OutTime, OutPacket)>,
);

impl<D: StreamScalar, Time: M, Packet: M, Row: M, TrfElement: M, OutTime: M, OutPacket: M>
    StreamAdapterPlan<D, Time, Packet, Row, TrfElement, OutTime, OutPacket>
{
    /// The derived configuration. Evaluating it refuses mappings that the stream adapter does not support.
    pub const CONFIG: StreamAdapterConfig = match derive_stream_adapter(
        &AlignPlan::<D, Time, Packet, Row, TrfElement, OutTime, OutPacket>::REQUEST,
    ) {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

/// The weight side of an align, as types. It does not depend on the stream.
///
/// ```
/// use furiosa_visa_std::engine::contraction::TrfSequencerPlan;
/// use furiosa_visa_std::prelude::*;
/// axes![M = 32, O = 2, L = 2, K = 16];
/// type Plan = TrfSequencerPlan<bf16, m![O, K], m![O, M], m![L, K]>;
/// const _: () = assert!(Plan::CONFIG.reg_read_size == 32 && Plan::CONFIG.fill == 2);
/// assert_eq!(Plan::CONFIG.config.to_string(), "[2 : 32, 32 : 0] : 16");
/// ```
pub struct TrfSequencerPlan<D, TrfElement, OutTime, OutPacket>(
    PhantomData<(D, TrfElement, OutTime, OutPacket)>,
);

impl<D: StreamScalar, TrfElement: M, OutTime: M, OutPacket: M>
    TrfSequencerPlan<D, TrfElement, OutTime, OutPacket>
{
    /// The derived configuration. Evaluating it refuses mappings that the TRF sequencer does not support.
    pub const CONFIG: TrfSequencerConfig = match derive_trf_sequencer(
        &AlignPlan::<D, Identity, Identity, Identity, TrfElement, OutTime, OutPacket>::REQUEST,
    ) {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

/// The plan of a contract, as types.
pub struct ContractPlan<D, Packet, OutPacket>(PhantomData<(D, Packet, OutPacket)>);

impl<D: StreamScalar, Packet: M, OutPacket: M> ContractPlan<D, Packet, OutPacket> {
    /// The derived configuration. Evaluating it refuses columns that the adder tree cannot produce.
    pub const CONFIG: ContractConfig = match Late::<Self>::config() {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

impl<D: StreamScalar, Packet: M, OutPacket: M> Late<ContractPlan<D, Packet, OutPacket>> {
    #[doc(hidden)]
    pub const CONFIG: Refusable<ContractConfig> = Self::config();

    const fn config() -> Refusable<ContractConfig> {
        let request =
            ContractRequest { element: D::ELEMENT_TYPE, packet: Packet::EXPR, out_packet: OutPacket::EXPR };
        contract(&request, [Packet::FORM, OutPacket::FORM])
    }
}

/// The plan of an accumulate, as types. The kind is a value, so there is a result for each kind.
pub struct AccumulatePlan<Row, Time, Packet, OutTime, OutPacket>(
    PhantomData<(Row, Time, Packet, OutTime, OutPacket)>,
);

impl<Row: M, Time: M, Packet: M, OutTime: M, OutPacket: M>
    AccumulatePlan<Row, Time, Packet, OutTime, OutPacket>
{
    #[inline(always)]
    pub(crate) const fn request(kind: AccumulationKind) -> AccumulateRequest {
        AccumulateRequest {
            kind,
            row: Row::EXPR,
            time: Time::EXPR,
            packet: Packet::EXPR,
            out_time: OutTime::EXPR,
            out_packet: OutPacket::EXPR,
        }
    }

    /// The configuration for [`AccumulationKind::Interleaved`].
    pub const INTERLEAVED: Result<AccumulateConfig, PlanError> =
        derive_accumulate(&Self::request(AccumulationKind::Interleaved));
    /// The configuration for [`AccumulationKind::Sequential`].
    pub const SEQUENTIAL: Result<AccumulateConfig, PlanError> =
        derive_accumulate(&Self::request(AccumulationKind::Sequential));

    /// The configurations of the interleaved and of the sequential kind, `None` for a kind that the mappings do not
    /// fit.
    const KINDS: &'static [Option<AccumulateConfig>; 2] = &derive_kinds(
        &Self::request(AccumulationKind::Interleaved),
        &Self::request(AccumulationKind::Sequential),
        [Row::FORM, Time::FORM, Packet::FORM, OutTime::FORM, OutPacket::FORM],
    );

    /// Evaluating it refuses mappings that fit neither kind, with the message of the kind that fits better.
    pub const CHECK: () = {
        if let Err(error) = Self::check() {
            error.refuse()
        }
    };

    /// [`Self::CHECK`] as a result.
    #[doc(hidden)]
    pub const fn check() -> Result<(), PlanError> {
        if let [None, None] = Self::KINDS
            && let (Err(interleaved), Err(sequential)) = (
                derive_accumulate(&Self::request(AccumulationKind::Interleaved)),
                derive_accumulate(&Self::request(AccumulationKind::Sequential)),
            )
        {
            return Err(if progress(&sequential) > progress(&interleaved) {
                sequential
            } else {
                interleaved
            });
        }
        Ok(())
    }
}

impl<Row: M, Time: M, Packet: M, OutTime: M, OutPacket: M>
    Late<AccumulatePlan<Row, Time, Packet, OutTime, OutPacket>>
{
    #[doc(hidden)]
    pub const CHECK: Refusable<()> = AccumulatePlan::<Row, Time, Packet, OutTime, OutPacket>::check();
}

/// The configuration of the requested kind. Stops the call if the mappings fit only the other kind.
#[track_caller]
fn of_kind(kinds: &[Option<AccumulateConfig>; 2], request: &AccumulateRequest) -> AccumulateConfig {
    let other = match request.kind {
        AccumulationKind::Interleaved => AccumulationKind::Sequential,
        AccumulationKind::Sequential => AccumulationKind::Interleaved,
    };
    match kinds[request.kind as usize] {
        Some(config) => config,
        None => accept(
            OPERATION,
            derive_accumulate(request).map_err(|error| match kinds[other as usize] {
                Some(_) => with_other_kind(&error, other),
                None => error,
            }),
        ),
    }
}

impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout> StreamTensor<'l, T, PositionCollect, D, L> {
    /// Brings the stream and a tensor in the TRF to the same packets of 64 bytes, `OutPacket`, in the order of `OutTime`.
    ///
    /// With two flits per packet the innermost factor of `Time` becomes the upper half of `OutPacket`; with one, the upper
    /// half is padding. Axes that only the TRF has stand innermost in `OutTime`: each packet is repeated over them.
    ///
    /// See [contraction](crate::guide::contraction). The example has `contract` and `accumulate`, too:
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, N = 8, K = 64];
    /// type X = DmTensor<bf16, m![1], m![1 # 2], m![S], m![K]>;
    /// type Weights = TrfTensor<bf16, m![1], m![1 # 2], m![S], m![N], m![K]>;
    /// /// `y[s, n] = Σ x[s, k] · w[n, k]`
    /// fn products(ctx: &mut Context, x: &X, w: &Weights) -> DmTensor<f32, m![1], m![1 # 2], m![S], m![N]> {
    ///     (ctx.main.begin(x.view()).fetch::<bf16, m![1], m![K]>())
    ///         .collect::<m![K / 16], m![K % 16]>()
    ///         .align::<m![K / 32], m![K % 32], _, _>(w) // two flits become a packet of 64 bytes
    ///         .contract::<m![1]>() // one column: all 32 products of a packet
    ///         .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved) // over `K / 32`
    ///         .commit(AUTO)
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let x = HostTensor::<bf16, m![S, K]>::from_slice(&vec![bf16::from_f32(2.0); 256 * 64]);
    /// # let w = HostTensor::<bf16, m![N, K]>::from_slice(&vec![bf16::from_f32(3.0); 8 * 64]);
    /// # let x = pollster::block_on(x.to_hbm::<m![1], m![S, K]>(&mut ctx.pdma, AUTO));
    /// # let w = pollster::block_on(w.to_hbm::<m![1], m![N, K]>(&mut ctx.pdma, AUTO));
    /// # let x = x.to_dm(&mut ctx.tdma, AUTO);
    /// # let w = w.to_dm::<m![1 # 2], m![S], m![N, K]>(&mut ctx.tdma, AUTO);
    /// # let w = ctx.sub.begin(w.view()).fetch::<bf16, m![N], m![K]>().collect::<m![N, K / 16], m![K % 16]>();
    /// # let w = w.to_trf(TrfAddress::Full);
    /// # let y = products(&mut ctx, &x, &w).to_hbm::<m![S, N]>(&mut ctx.tdma, AUTO);
    /// # let y = pollster::block_on(y.to_host::<m![S, N]>(&mut ctx.pdma)).to_vec();
    /// // Of 2 and 3:
    /// assert_eq!(y[0], 384.0);
    /// ```
    ///
    /// Refused while compiling: everything that stream adapter and TRF sequencer cannot do.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn align<OutTime: M, OutPacket: M, Row: M, TrfElement: M>(
        self,
        trf_tensor: &TrfTensor<D, L::Chip, L::Cluster, L::Slice, Row, TrfElement>,
    ) -> StreamTensor<'l, T, PositionAlign<Row>, D, L::With<OutTime, OutPacket>> {
        let align =
            planned!(const CONFIG of AlignPlan<D, L::Time, L::Packet, Row, TrfElement, OutTime, OutPacket>);
        let step_guard =
            planned!(STEP_GUARD of AlignPlan<D, L::Time, L::Packet, Row, TrfElement, OutTime, OutPacket>);
        self.align_as(trf_tensor, align, step_guard)
    }

    /// Brings the stream and weights together, as a plan says.
    #[doc(hidden)]
    #[inline(always)]
    pub fn align_as<OutTime: M, OutPacket: M, Row: M, D2: StreamScalar, TrfElement: M>(
        self,
        weights: &TrfTensor<D2, L::Chip, L::Cluster, L::Slice, Row, TrfElement>,
        align: &'static AlignConfig,
        step_guard: &'static Guard,
    ) -> StreamTensor<'l, T, PositionAlign<Row>, D, L::With<OutTime, OutPacket>> {
        let guards = [planned!(GUARD of Self), step_guard];
        StreamTensor::new(self.context, self.pass.aligned(weights.region(), &weights.lease, align, guards))
    }
}

impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout, Row: M>
    StreamTensor<'l, T, PositionAlign<Row>, D, L>
{
    /// Multiplies, and adds neighbouring products in a tree until `OutPacket` columns are left.
    ///
    /// The innermost part of the packet is summed: [`align`](StreamTensor::align) has an example. See
    /// [contraction](crate::guide::contraction). Padding in it counts with its value: zero if the fetch masks it, and
    /// otherwise the value in memory, which the check `padding` refuses unless it is zero.
    ///
    /// Refused while compiling: more than 32 columns; a number of columns that is no power of two; columns that are no
    /// outer part of the packet.
    #[track_caller]
    #[inline(never)]
    pub fn contract<OutPacket: M>(
        self,
    ) -> StreamTensor<
        'l,
        T,
        PositionContract<Row>,
        <D as ContractsTo<OutPacket>>::Output,
        Layout<L::Chip, L::Cluster, L::Slice, L::Time, OutPacket>,
    >
    where
        D: ContractsTo<OutPacket>,
    {
        let columns = planned!(CONFIG of ContractPlan<D, L::Packet, OutPacket>);
        StreamTensor::new(self.context, self.pass.contracted(columns))
    }

    /// Multiplies and adds in the tree, as a plan says.
    #[doc(hidden)]
    pub fn contract_as<D2: StreamScalar, OutPacket: M>(
        self,
        columns: ContractConfig,
    ) -> StreamTensor<
        'l,
        T,
        PositionContract<Row>,
        D2,
        Layout<L::Chip, L::Cluster, L::Slice, L::Time, OutPacket>,
    > {
        StreamTensor::new(self.context, self.pass.contracted(columns))
    }
}

impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout, Row: M>
    StreamTensor<'l, T, PositionContract<Row>, D, L>
{
    /// Adds the results of several steps, and folds the rows into the stream.
    ///
    /// Axes of `Time` that `OutTime` does not have are summed. The rest keeps its order and padding. `kind` selects the
    /// order in which rows and columns leave: [`align`](StreamTensor::align) has an example. See
    /// [contraction](crate::guide::contraction).
    ///
    /// Refused while compiling: mappings that fit neither kind.
    ///
    /// # Panics
    /// If the mappings fit only the other kind.
    #[track_caller]
    #[inline(never)]
    pub fn accumulate<OutTime: M, OutPacket: M>(
        self,
        kind: AccumulationKind,
    ) -> StreamTensor<'l, T, PositionContraction, D, L::With<OutTime, OutPacket>> {
        let () = planned!(CHECK of AccumulatePlan<Row, L::Time, L::Packet, OutTime, OutPacket>);
        self.accumulate_as(kind)
    }

    /// Adds the results of several steps, for mappings that were checked.
    #[doc(hidden)]
    #[track_caller]
    #[inline(always)]
    pub fn accumulate_as<OutTime: M, OutPacket: M>(
        self,
        kind: AccumulationKind,
    ) -> StreamTensor<'l, T, PositionContraction, D, L::With<OutTime, OutPacket>> {
        let kinds = AccumulatePlan::<Row, L::Time, L::Packet, OutTime, OutPacket>::KINDS;
        let request = AccumulatePlan::<Row, L::Time, L::Packet, OutTime, OutPacket>::request(kind);
        StreamTensor::new(self.context, self.pass.accumulated(kinds, &request, D::ELEMENT_TYPE))
    }
}

/// The steps of a contraction. They have no type parameters, so that all kernels share them.
impl Pass {
    #[inline(never)]
    fn aligned(
        mut self: Box<Self>,
        weights: TrfRegion,
        lease: &Option<Lease>,
        align: &'static AlignConfig,
        [stream_guard, step_guard]: [&'static Guard; 2],
    ) -> Box<Self> {
        self.held.extend(lease.clone());
        self.aligned = Some(Aligned { weights, stream_guard, step_guard, align });
        self
    }

    #[inline(never)]
    fn contracted(mut self: Box<Self>, columns: ContractConfig) -> Box<Self> {
        self.columns = Some(columns);
        self
    }

    #[track_caller]
    #[inline(never)]
    fn accumulated(
        mut self: Box<Self>,
        kinds: &[Option<AccumulateConfig>; 2],
        request: &AccumulateRequest,
        output: ElementType,
    ) -> Box<Self> {
        let plan = of_kind(kinds, request);
        let aligned = self.aligned.take().expect("the stream was aligned");
        let columns = self.columns.take().expect("the stream was contracted");
        self.unit.contract(aligned, &columns, &plan, request.kind, output);
        self
    }
}
