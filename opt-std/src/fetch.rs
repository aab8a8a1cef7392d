//! From DM to flits: begin, fetch and its adapter, switch, collect.
//!
//! The fetch and the stages of its adapter are one configuration of the chip. It is derived where the stream goes on, in
//! `switch` or `collect`, because the adapter decides the type of the packets.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::context::TuContext;
use crate::memory::DmTensorView;
use crate::stream::{CollectTensor, SwitchTensor, TuTensor};
use crate::visa::command::Table;
use crate::visa::engine::collect::CollectPlan;
use crate::visa::engine::fetch::FetchConfig;
use crate::visa::engine::lookup_table::TableLookup;
use crate::visa::engine::stream::stage::{PositionBegin, PositionCollect, PositionFetch, PositionSwitch};
use crate::visa::engine::stream::{self, StreamTensor};
use crate::visa::engine::switch::{SwitchConfig, SwitchPlan};
use crate::visa::mapping::{AxisName, Identity, M, Symbol};
use crate::visa::runtime::{Tu, TuValues as _};
use crate::visa::scalar::{FetchCast, Scalar, StreamScalar, i4, i5, i9};
use crate::visa::surface::{self, BeginPlan, CheckedFetch, Layout, StreamLayout};
use crate::words::check;
use core::fmt;
use core::marker::PhantomData;

/// The main context.
const MAIN: Tu = Tu::Main;

/// A tensor in DM that is about to be read: `.fetch()` comes next.
pub struct BeginTensor<'l, const T: Tu, D: Scalar, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M>(
    stream::BeginTensor<'l, T, D, Chip, Cluster, Slice, Time, Packet>,
);

impl<const T: Tu> TuContext<T> {
    /// Starts a stream at a tensor in DM: see [`crate::visa::runtime::TuContext::begin`].
    #[track_caller]
    #[inline(never)]
    pub fn begin<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>(
        &'l mut self,
        tensor: DmTensorView<'l, D, Chip, Cluster, Slice, Element>,
    ) -> BeginTensor<'l, T, D, Chip, Cluster, Slice, Identity, Element> {
        BeginTensor(self.0.begin(tensor.0))
    }

    /// Starts one stream of the packets of two tensors: see
    /// [`crate::visa::runtime::TuContext::begin_interleaved`].
    #[track_caller]
    #[inline(never)]
    pub fn begin_interleaved<'l, I: AxisName, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>(
        &'l mut self,
        lhs: DmTensorView<'l, D, Chip, Cluster, Slice, Element>,
        rhs: DmTensorView<'l, D, Chip, Cluster, Slice, Element>,
    ) -> BeginTensor<'l, T, D, Chip, Cluster, Slice, Symbol<I>, Element> {
        check!(CHECK of BeginPlan<I, Chip, Cluster, Slice, Element>);
        BeginTensor(self.0.begin_interleaved::<I, _, _, _, _, _>(lhs.0, rhs.0))
    }
}

impl<'l, const T: Tu, D: Scalar, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M>
    BeginTensor<'l, T, D, Chip, Cluster, Slice, Time, Packet>
{
    /// Reads the tensor as a stream: one packet `OutPacket` per position of `OutTime`. The stages of the adapter may
    /// follow. See [`StreamTensor::fetch`].
    pub fn fetch<OutTime: M, OutPacket: M>(
        self,
    ) -> FetchTensor<'l, T, D, Chip, Cluster, Slice, OutTime, OutPacket, D, Time, Packet> {
        Fetching { begin: self.0, table: None, zero_point: None, types: PhantomData }
    }
}

/// The stages of an adapter, as a type: [`Fetched`], [`LookedUp`], [`FetchCasted`] or [`ZeroPointSubtracted`].
pub trait Adapter {
    #[doc(hidden)]
    type Stages: surface::Stages;
}

/// No stage yet.
#[derive(Debug)]
pub enum Fetched {}
/// A table, whose entries are `X`.
#[derive(Debug)]
pub struct LookedUp<X>(PhantomData<X>);
/// A conversion behind the stages `Before`.
#[derive(Debug)]
pub struct FetchCasted<Before>(PhantomData<Before>);
/// A zero point.
#[derive(Debug)]
pub enum ZeroPointSubtracted {}

impl Adapter for Fetched {
    type Stages = surface::Plain;
}

impl<X: Scalar> Adapter for LookedUp<X> {
    type Stages = surface::Lookup<X>;
}

impl<Before: Adapter> Adapter for FetchCasted<Before> {
    type Stages = Before::Stages;
}

impl Adapter for ZeroPointSubtracted {
    type Stages = surface::ZeroPoint;
}

/// A fetch whose adapter has the stages `A`. `D0` in the layout `From` is what lies in DM.
#[must_use = "a stream does nothing until it ends in `.commit()`, `.to_trf()` or `.to_vrf()`"]
pub struct Fetching<'l, const T: Tu, A, D, D0: Scalar, From: StreamLayout, Time, Packet> {
    begin: StreamTensor<'l, T, PositionBegin, D0, From>,
    table: Option<Table>,
    zero_point: Option<i32>,
    types: PhantomData<(A, D, Time, Packet)>,
}

/// Declares fetches by their last stage.
macro_rules! aliases {
    ($($(#[$doc:meta])* $name:ident = $stages:ty $(, $extra:ident)?;)*) => { $(
        $(#[$doc])*
        pub type $name<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet, D0 = D, FromTime = Identity, Element = Packet
            $(, $extra = Fetched)?> =
            Fetching<'l, T, $stages, D, D0, Layout<Chip, Cluster, Slice, FromTime, Element>, Time, Packet>;
    )* };
}

aliases! {
    /// Packets as they were read.
    FetchTensor = Fetched;
    /// Packets of the entries of a table.
    FetchTableLookupTensor = LookedUp<D>;
    /// Packets of another type.
    FetchCastTensor = FetchCasted<Before>, Before;
    /// Packets from which a zero point was subtracted.
    FetchZeroPointSubTensor = ZeroPointSubtracted;
}

impl<const T: Tu, A, D, D0: Scalar, From: StreamLayout, Time: M, Packet: M> fmt::Debug
    for Fetching<'_, T, A, D, D0, From, Time, Packet>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fetch of {}, Time m![{}], Packet m![{}]", D0::ELEMENT_TYPE, Time::EXPR, Packet::EXPR)
    }
}

impl<'l, const T: Tu, A, D, D0: Scalar, From: StreamLayout, Time: M, Packet: M>
    Fetching<'l, T, A, D, D0, From, Time, Packet>
{
    fn then<A2, D2>(self) -> Fetching<'l, T, A2, D2, D0, From, Time, Packet> {
        let Self { begin, table, zero_point, .. } = self;
        Fetching { begin, table, zero_point, types: PhantomData }
    }
}

impl<'l, const T: Tu, A, D: StreamScalar, D0: Scalar, From: StreamLayout, Time: M, Packet: M>
    Fetching<'l, T, A, D, D0, From, Time, Packet>
{
    /// The stream that a plan of all stages reads.
    #[track_caller]
    fn read(self, plan: &FetchConfig) -> StreamTensor<'l, T, PositionFetch, D, From::With<Time, Packet>> {
        self.begin.fetch_as(plan, self.table, self.zero_point.map(|zero_point| [zero_point; 2]))
    }
}

impl<'l, const T: Tu, D: Scalar, From: StreamLayout, Time: M, Packet: M>
    Fetching<'l, T, Fetched, D, D, From, Time, Packet>
{
    /// Converts the elements as they are read.
    pub fn fetch_cast<OutD: StreamScalar>(
        self,
    ) -> Fetching<'l, T, FetchCasted<Fetched>, OutD, D, From, Time, Packet>
    where
        D: FetchCast<OutD>,
    {
        self.then()
    }

    /// Subtracts a zero point as the elements are read.
    ///
    /// # Panics
    /// If the zero point is no value of `D`.
    #[track_caller]
    pub fn fetch_zero_point_sub<OutD: StreamScalar>(
        self,
        zero_point: i32,
    ) -> Fetching<'l, T, ZeroPointSubtracted, OutD, D, From, Time, Packet>
    where
        D: FetchZeroPointSub<OutD>,
    {
        let range = D::LEAST..=D::MOST;
        assert!(
            range.contains(&zero_point),
            "fetch_zero_point_sub: the zero point {zero_point} is no {}; help: give one from {} to {}",
            D::ELEMENT_TYPE,
            D::LEAST,
            D::MOST,
        );
        Fetching { zero_point: Some(zero_point), ..self.then() }
    }
}

impl<'l, D: Scalar, From: StreamLayout, Time: M, Packet: M>
    Fetching<'l, MAIN, Fetched, D, D, From, Time, Packet>
{
    /// Replaces each element by the entry of a table that follows from the types. The main context alone has tables.
    pub fn fetch_table_lookup<OutD: Scalar>(
        self,
    ) -> Fetching<'l, MAIN, LookedUp<OutD>, OutD, D, From, Time, Packet>
    where
        D: TableLookup<OutD>,
    {
        Fetching { table: Some(<D as TableLookup<OutD>>::table().data()), ..self.then() }
    }
}

impl<'l, const T: Tu, X: Scalar, D0: Scalar, From: StreamLayout, Time: M, Packet: M>
    Fetching<'l, T, LookedUp<X>, X, D0, From, Time, Packet>
{
    /// Converts the entries of the table.
    pub fn fetch_cast<OutD: StreamScalar>(
        self,
    ) -> Fetching<'l, T, FetchCasted<LookedUp<X>>, OutD, D0, From, Time, Packet>
    where
        X: FetchCast<OutD>,
    {
        self.then()
    }
}

/// A type from which the adapter subtracts a zero point into `OutD`.
#[diagnostic::on_unimplemented(
    message = "fetch_zero_point_sub: cannot subtract a zero point from `{Self}` into `{OutD}`",
    note = "supported: i4 to i5, and i8 to i9"
)]
pub trait FetchZeroPointSub<OutD: StreamScalar>: Scalar {
    /// The least zero point.
    const LEAST: i32;
    /// The greatest zero point.
    const MOST: i32;
}

impl FetchZeroPointSub<i5> for i4 {
    const LEAST: i32 = -8;
    const MOST: i32 = 7;
}

impl FetchZeroPointSub<i9> for i8 {
    const LEAST: i32 = i8::MIN as i32;
    const MOST: i32 = i8::MAX as i32;
}

impl<
    'l,
    const T: Tu,
    A: Adapter,
    D: StreamScalar,
    D0: Scalar,
    Chip: M,
    Cluster: M,
    Slice: M,
    FromTime: M,
    Element: M,
    Time: M,
    Packet: M,
> Fetching<'l, T, A, D, D0, Layout<Chip, Cluster, Slice, FromTime, Element>, Time, Packet>
{
    /// Redistributes packets over the slices of a cluster: see [`StreamTensor::switch`].
    ///
    /// # Panics
    /// If the configuration does not do what the mappings say.
    #[track_caller]
    #[inline(never)]
    pub fn switch<OutSlice: M, OutTime: M>(
        self,
        config: SwitchConfig,
    ) -> SwitchTensor<'l, T, D, Chip, Cluster, OutSlice, OutTime, Packet> {
        let plan = CheckedFetch::<
            D0,
            D,
            Layout<Chip, Cluster, Slice, FromTime, Element>,
            Time,
            Packet,
            T,
            A::Stages,
        >::CONFIG;
        check!(CHEAPEST of SwitchPlan<Slice, Time, OutSlice, OutTime, Chip, Cluster, Packet>);
        TuTensor(self.read(plan).switch::<OutSlice, OutTime>(config))
    }

    /// Cuts packets into flits of 32 bytes: see [`StreamTensor::collect`].
    #[track_caller]
    #[inline(never)]
    pub fn collect<Time2: M, Packet2: M>(
        self,
    ) -> CollectTensor<'l, T, D, Chip, Cluster, Slice, Time2, Packet2> {
        let plan = CheckedFetch::<
            D0,
            D,
            Layout<Chip, Cluster, Slice, FromTime, Element>,
            Time,
            Packet,
            T,
            A::Stages,
        >::CONFIG;
        check!(CONFIG of CollectPlan<D, Time, Packet, Time2, Packet2>);
        TuTensor(self.read(plan).collect::<Time2, Packet2>())
    }
}

impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout> TuTensor<'l, T, PositionSwitch, D, L> {
    /// Cuts packets into flits of 32 bytes: see [`StreamTensor::collect`].
    #[track_caller]
    #[inline(never)]
    pub fn collect<Time2: M, Packet2: M>(
        self,
    ) -> TuTensor<'l, T, PositionCollect, D, L::With<Time2, Packet2>> {
        check!(CONFIG of CollectPlan<D, L::Time, L::Packet, Time2, Packet2>);
        TuTensor(self.0.collect::<Time2, Packet2>())
    }
}
