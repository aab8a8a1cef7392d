//! Fetch Engine: reads a tensor from DM as a stream of packets.
//!
//! ```text
//!   DM  Element ──sequencer──▶ fetches of `fetch_size` bytes ──adapter──▶ packets   Time2 × Packet2
//!
//!   adapter: masking ─▶ table indexing ─▶ type casting ─▶ zero-point subtraction ─▶ batching
//! ```
//!
//! The plan follows from the mappings and the element types (see [fetch](crate::guide::fetch)):
//!
//! * [`FetchConfig`]: sequencer, fetch size, cycles. Its [`addresses`](FetchConfig::addresses) are the requests to DM.
//! * [masking](MaskConfig): padding of the innermost axis is replaced, by 0 unless
//!   [`pad_value`](crate::engine::stream::BeginTensor::pad_value) says otherwise.
//! * [`stages`]: the stages of each context.
//! * [windows](crate::tensor::windows): axes that are read at overlapping positions, for convolutions.

pub mod stages;

mod interleave;

mod table;

mod zero_point;
pub use crate::command::MaskConfig;
use crate::command::Table;
use crate::engine::layout::StreamLayout;
use crate::engine::stream::stage::{PositionBegin, PositionFetch};
use crate::engine::stream::{Pass, StreamTensor};
use crate::error::attempt;
use crate::mapping::{Expr, Identity, M};
use crate::runtime::Tu;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, by_reference, planned};
use crate::scalar::{ChipType, ElementType, FetchCast, Scalar, StreamScalar};
use crate::sequencer::check_windows;
use crate::tensor::{Clusters, NoWindows, Slices, WindowList};
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::engine::fetch::plan;
pub use furiosa_visa_rules::engine::fetch::{FetchAddress, FetchAddresses, check_units};
use interleave::begin_is_refused;
pub use interleave::{BeginPlan, check_interleave};
use plan::OPERATION;
pub use plan::{FetchConfig, FetchRequest, check_packet, derive_fetch};
use stages::{Plain, Stages};
pub use table::IndexedTable;
pub use zero_point::ZeroPointCast;

/// The plan of a fetch, as types. It does not require 2 clusters and 256 slices, so that the configuration of any
/// mapping can be examined.
///
/// `Begin` is the time of the begin tensor: `m![1]`, or `m![I]` if two tensors are interleaved. `Adapter` names the
/// [stages] that a call adds, and `Windows` those of the view.
///
/// ```
/// use furiosa_visa_std::engine::fetch::FetchPlan;
/// use furiosa_visa_std::prelude::*;
/// axes![N = 4, C = 3, H = 4, W = 8];
/// type Plan = FetchPlan<i8, i8, m![N, C, H, W], m![N, C], m![H, W]>;
/// assert_eq!(Plan::CONFIG.derived.to_string(), "[4 : 96, 3 : 32, 4 : 8, 8 : 1] : 32");
/// assert_eq!((Plan::CONFIG.fetch_size, Plan::CONFIG.cycles), (32, 12));
/// ```
pub struct FetchPlan<
    D,
    D2,
    Element,
    Time2,
    Packet2,
    const T: Tu = false,
    Begin = Identity,
    Adapter = Plain,
    Windows = NoWindows,
>(PhantomData<(D, D2, Element, Time2, Packet2, Begin, Adapter, Windows)>);

impl<
    D: Scalar,
    D2: StreamScalar,
    Element: M,
    Time2: M,
    Packet2: M,
    const T: Tu,
    Begin: M,
    Adapter: Stages,
    Windows: WindowList,
> FetchPlan<D, D2, Element, Time2, Packet2, T, Begin, Adapter, Windows>
{
    pub(crate) const REQUEST: FetchRequest = FetchRequest {
        sub_context: T,
        input: D::ELEMENT_TYPE,
        table: Adapter::TABLE,
        zero_point: Adapter::ZERO_POINT,
        output: D2::ELEMENT_TYPE,
        begin: Begin::EXPR,
        element: Element::EXPR,
        time: Time2::EXPR,
        packet: Packet2::EXPR,
        windows: Windows::WINDOWS,
    };

    /// The derived configuration. Evaluating it refuses mappings that no sequencer reads, and stages that the context
    /// lacks.
    pub const CONFIG: FetchConfig = match Self::result() {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };

    const fn result() -> Refusable<FetchConfig> {
        // A reference to a constant would be a constant of its own.
        let request = Self::REQUEST;
        plan::fetch(&request, [Element::FORM, Time2::FORM, Packet2::FORM])
    }

    /// The fetches, in order: one per cycle.
    ///
    /// ```
    /// use furiosa_visa_std::engine::fetch::FetchPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 2, B = 24];
    /// let addresses = FetchPlan::<i8, i8, m![B, A], m![1], m![B, A]>::addresses();
    /// let bytes: Vec<_> = addresses.map(|fetch| (fetch.byte, fetch.bytes)).collect();
    /// assert_eq!(bytes, [(0, 16), (16, 16), (32, 16)]);
    /// ```
    pub fn addresses() -> FetchAddresses {
        Self::CONFIG.addresses()
    }
}

/// The units of a stream, refused once for all fetches that have them.
struct FetchUnits<Cluster, Slice>(PhantomData<(Cluster, Slice)>);

impl<Cluster: M, Slice: M> FetchUnits<Cluster, Slice> {
    const CHECK: () = {
        let _ = (Clusters::<Cluster>::CHECKED, Slices::<Slice>::CHECKED);
        if let Err(error) = check_units(Cluster::EXPR, Slice::EXPR) {
            error.refuse()
        }
    };
}

/// A configuration in place of that of a fetch whose `begin_interleaved` or `windows` is refused. It never runs.
const NEVER_RUN: FetchConfig = {
    const ONE: &Expr = &Expr::Identity;
    match derive_fetch(&FetchRequest::new(ElementType::I8, ElementType::I8, ONE, ONE, ONE)) {
        Ok(config) => config,
        Err(error) => error.refuse(),
    }
};

/// All rules of a fetch of a stream in the layout `L`, in the order in which they are reported. Refusals of
/// `begin_interleaved` and `windows` are not reported again.
pub struct CheckedFetch<D, D2, L, Time2, Packet2, const T: Tu, Adapter, Windows = NoWindows>(
    PhantomData<(D, D2, L, Time2, Packet2, Adapter, Windows)>,
);

impl<
    D: Scalar,
    D2: StreamScalar,
    L: StreamLayout,
    Time2: M,
    Packet2: M,
    const T: Tu,
    Adapter: Stages,
    Windows: WindowList,
> CheckedFetch<D, D2, L, Time2, Packet2, T, Adapter, Windows>
{
    /// The configuration.
    #[doc(hidden)]
    pub const CONFIG: &'static FetchConfig = &{
        let () = FetchUnits::<L::Cluster, L::Slice>::CHECK;
        // A reference to a constant would be a constant of its own.
        let request = FetchPlan::<D, D2, L::Packet, Time2, Packet2, T, L::Time, Adapter, Windows>::REQUEST;
        let windows = check_windows(L::Packet::EXPR, &[], Windows::WINDOWS);
        if let Err(error) = check_packet(&request) {
            error.refuse()
        }
        if windows.is_err() || begin_is_refused(&request) { NEVER_RUN } else { Self::plan() }
    };

    /// This is a function, because constants of a branch that is not taken are evaluated as well.
    const fn plan() -> FetchConfig {
        FetchPlan::<D, D2, L::Packet, Time2, Packet2, T, L::Time, Adapter, Windows>::CONFIG
    }
}

impl<
    D: Scalar,
    D2: StreamScalar,
    L: StreamLayout,
    Time2: M,
    Packet2: M,
    const T: Tu,
    Adapter: Stages,
    Windows: WindowList,
> Late<CheckedFetch<D, D2, L, Time2, Packet2, T, Adapter, Windows>>
{
    #[doc(hidden)]
    pub const CONFIG: Refusable<&'static FetchConfig> = by_reference(&Self::checked());

    const fn checked() -> Refusable<FetchConfig> {
        attempt!(Late::<Clusters<L::Cluster>>::CHECKED);
        attempt!(Late::<Slices<L::Slice>>::CHECKED);
        attempt!(check_units(L::Cluster::EXPR, L::Slice::EXPR));
        let request = FetchPlan::<D, D2, L::Packet, Time2, Packet2, T, L::Time, Adapter, Windows>::REQUEST;
        attempt!(check_packet(&request));
        FetchPlan::<D, D2, L::Packet, Time2, Packet2, T, L::Time, Adapter, Windows>::result()
    }
}

impl Pass {
    /// The pass with a fetch. It has no type parameters, so that all kernels share it.
    #[track_caller]
    #[inline(never)]
    fn fetched(
        mut self: Box<Self>,
        plan: &FetchConfig,
        table: Option<Table>,
        zero_points: Option<[i32; 2]>,
        output: ElementType,
    ) -> Box<Self> {
        accept(OPERATION, self.unit.fetch(plan, table, zero_points, output));
        self
    }
}

impl<'l, const T: Tu, D: Scalar, L: StreamLayout, Kind: ChipType, Windows: WindowList>
    StreamTensor<'l, T, PositionBegin<Kind, Windows>, D, L>
{
    /// Reads the tensor as a stream: one packet `Packet2` per position of `Time2`, converted to `D2`.
    ///
    /// The sequencer is derived from the mappings. Axes that the tensor does not have are broadcast. Each slice reads
    /// its own memory, so `Slice` stays. Padding of the innermost axis is masked: see [`MaskConfig`].
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, T = 4, B = 8];
    /// type X<D> = DmTensor<D, m![1], m![1 # 2], m![S], m![T, B]>;
    /// /// Packet `t` of slice `s` holds 8 elements, widened to 32 bits.
    /// fn widened(ctx: &mut Context, x: &X<i8>) -> X<i32> {
    ///     (ctx.main.begin(x.view()).fetch::<i32, m![T], m![B]>())
    ///         .collect::<m![T], m![B]>()
    ///         .commit(AUTO)
    /// }
    /// # let _ = widened as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: clusters other than 2 or slices other than 256, packets that are no multiple of 8 bytes,
    /// mappings that no sequencer of 8 entries reads. See [fetch](crate::guide::fetch).
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn fetch<D2: StreamScalar, Time2: M, Packet2: M>(
        self,
    ) -> StreamTensor<'l, T, PositionFetch, D2, L::With<Time2, Packet2>>
    where
        D: FetchCast<D2, Kind>,
    {
        let plan = planned!(CONFIG of CheckedFetch<D, D2, L, Time2, Packet2, T, Plain, Windows>);
        let pass = self.pass.fetched(plan, None, None, D2::ELEMENT_TYPE);
        StreamTensor::new(self.context, pass)
    }

    /// Reads the tensor as a plan says, through a table and with zero points that the plan knows.
    #[doc(hidden)]
    #[track_caller]
    pub fn fetch_as<D2: StreamScalar, L2: StreamLayout>(
        self,
        plan: &FetchConfig,
        table: Option<Table>,
        zero_points: Option<[i32; 2]>,
    ) -> StreamTensor<'l, T, PositionFetch, D2, L2> {
        let pass = self.pass.fetched(plan, table, zero_points, D2::ELEMENT_TYPE);
        StreamTensor::new(self.context, pass)
    }

    /// Sets the value of masked padding, in the stored type: the mask is the first stage of the adapter.
    ///
    /// Without this call masked padding leaves the adapter as 0: the value is 0, or the zero point if one is
    /// subtracted. With a table, masked padding is the entry of 0.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 63];
    /// /// Padding that no maximum sees.
    /// fn for_a_maximum<'l, const T: Tu>(
    ///     input: BeginTensor<'l, T, i8, m![1], m![1 # 2], m![1 # 256], m![1], m![A]>,
    /// ) -> FetchTensor<'l, T, i8, m![1], m![1 # 2], m![1 # 256], m![1], m![A # 64]> {
    ///     input.pad_value(i8::MIN).fetch()
    /// }
    /// ```
    ///
    /// # Panics
    /// The fetch panics if the stream has padding that the hardware does not mask.
    pub fn pad_value(mut self, value: D) -> Self {
        self.pass.unit.pad_value = Some(value.to_bits());
        self
    }
}
