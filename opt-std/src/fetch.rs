//! From DM to flits: begin, fetch and its adapter, switch, collect.
//!
//! The fetch and the stages of its adapter are one configuration of the chip. It is derived where the stream goes on, in
//! `switch` or `collect`, because the adapter decides the type of the packets.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::context::TuContext;
use crate::memory::DmTensorView;
use crate::stream::{CollectTensor, SwitchTensor, TuTensor};
use crate::visa::engine::collect::CollectPlan;
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
        Fetching { begin: self.0, zero_point: 0, types: PhantomData }
    }
}

/// The adapter as it was fetched.
#[derive(Debug)]
pub enum Fetched {}
/// The adapter with a table, whose entries are `X`.
#[derive(Debug)]
pub struct LookedUp<X>(PhantomData<X>);
/// The adapter with a conversion behind the stages `Before`.
#[derive(Debug)]
pub struct FetchCasted<Before>(PhantomData<Before>);
/// The adapter with a zero point.
#[derive(Debug)]
pub enum ZeroPointSubtracted {}

/// A fetch whose adapter has the stages `A`. `D0` in the layout `From` is what lies in DM.
#[must_use = "a stream does nothing until it ends in `.commit()`, `.to_trf()` or `.to_vrf()`"]
pub struct Fetching<'l, const T: Tu, A, D, D0: Scalar, From: StreamLayout, Time, Packet> {
    begin: StreamTensor<'l, T, PositionBegin, D0, From>,
    zero_point: i32,
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
    fn with<A2, D2>(self, zero_point: i32) -> Fetching<'l, T, A2, D2, D0, From, Time, Packet> {
        Fetching { begin: self.begin, zero_point, types: PhantomData }
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
        self.with(0)
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
        self.with(zero_point)
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
        self.with(0)
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
        self.with(0)
    }
}

/// Declares the stages of an adapter with a table.
macro_rules! with_table {
    ($([$($bound:tt)*] $stages:ty => $d:ty;)*) => { $(
        impl<D0: TableLookup<X>, X: Scalar $($bound)*> Adapter<D0, $d> for $stages {
            type Stages = surface::Lookup<X>;

            #[track_caller]
            fn fetch<'l, const T: Tu, From: StreamLayout, Time: M, Packet: M>(
                begin: StreamTensor<'l, T, PositionBegin, D0, From>,
                _zero_point: i32,
            ) -> StreamTensor<'l, T, PositionFetch, $d, From::With<Time, Packet>> {
                begin.fetch_with_table(&<D0 as TableLookup<X>>::table())
            }
        }
    )* };
}

with_table! {
    [] LookedUp<X> => X;
    [+ FetchCast<D>, D: StreamScalar] FetchCasted<LookedUp<X>> => D;
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
    #[doc(hidden)]
    fn fetch<'l, const T: Tu, From: StreamLayout, Time: M, Packet: M>(
        begin: StreamTensor<'l, T, PositionBegin, Self, From>,
        zero_point: i32,
    ) -> StreamTensor<'l, T, PositionFetch, OutD, From::With<Time, Packet>>;
}

/// Declares zero points.
macro_rules! zero_points {
    ($($stored:ty => $output:ty, $range:expr, $value:expr;)*) => { $(
        impl FetchZeroPointSub<$output> for $stored {
            const LEAST: i32 = $range[0];
            const MOST: i32 = $range[1];

            #[track_caller]
            fn fetch<'l, const T: Tu, From: StreamLayout, Time: M, Packet: M>(
                begin: StreamTensor<'l, T, PositionBegin, Self, From>,
                zero_point: i32,
            ) -> StreamTensor<'l, T, PositionFetch, $output, From::With<Time, Packet>> {
                let value: fn(i32) -> $stored = $value;
                begin.fetch_with_zero_point(value(zero_point))
            }
        }
    )* };
}

zero_points! {
    i4 => i5, [-8, 7], i4::from_i32;
    i8 => i9, [-128, 127], |value| value as i8;
}

/// Stages of the adapter that make `D` of the stored `D0`.
#[diagnostic::on_unimplemented(message = "fetch: the stages of the adapter do not make `{D}` of `{D0}`")]
pub trait Adapter<D0: Scalar, D: StreamScalar> {
    #[doc(hidden)]
    type Stages: surface::Stages;
    #[doc(hidden)]
    fn fetch<'l, const T: Tu, From: StreamLayout, Time: M, Packet: M>(
        begin: StreamTensor<'l, T, PositionBegin, D0, From>,
        zero_point: i32,
    ) -> StreamTensor<'l, T, PositionFetch, D, From::With<Time, Packet>>;
}

impl<D: Scalar> Adapter<D, D> for Fetched {
    type Stages = surface::Plain;

    #[track_caller]
    fn fetch<'l, const T: Tu, From: StreamLayout, Time: M, Packet: M>(
        begin: StreamTensor<'l, T, PositionBegin, D, From>,
        _zero_point: i32,
    ) -> StreamTensor<'l, T, PositionFetch, D, From::With<Time, Packet>> {
        begin.fetch()
    }
}

impl<D0: Scalar + FetchCast<D>, D: StreamScalar> Adapter<D0, D> for FetchCasted<Fetched> {
    type Stages = surface::Plain;

    #[track_caller]
    fn fetch<'l, const T: Tu, From: StreamLayout, Time: M, Packet: M>(
        begin: StreamTensor<'l, T, PositionBegin, D0, From>,
        _zero_point: i32,
    ) -> StreamTensor<'l, T, PositionFetch, D, From::With<Time, Packet>> {
        begin.fetch()
    }
}

impl<D0: FetchZeroPointSub<D>, D: StreamScalar> Adapter<D0, D> for ZeroPointSubtracted {
    type Stages = surface::ZeroPoint;

    #[track_caller]
    fn fetch<'l, const T: Tu, From: StreamLayout, Time: M, Packet: M>(
        begin: StreamTensor<'l, T, PositionBegin, D0, From>,
        zero_point: i32,
    ) -> StreamTensor<'l, T, PositionFetch, D, From::With<Time, Packet>> {
        D0::fetch(begin, zero_point)
    }
}

impl<
    'l,
    const T: Tu,
    A: Adapter<D0, D>,
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
        check!(CONFIG of CheckedFetch<D0, D, Layout<Chip, Cluster, Slice, FromTime, Element>, Time, Packet, T, A::Stages>);
        check!(CHEAPEST of SwitchPlan<Slice, Time, OutSlice, OutTime, Chip, Cluster, Packet>);
        let fetched = A::fetch::<T, Layout<Chip, Cluster, Slice, FromTime, Element>, Time, Packet>(
            self.begin,
            self.zero_point,
        );
        TuTensor(fetched.switch::<OutSlice, OutTime>(config))
    }

    /// Cuts packets into flits of 32 bytes: see [`StreamTensor::collect`].
    #[track_caller]
    #[inline(never)]
    pub fn collect<Time2: M, Packet2: M>(
        self,
    ) -> CollectTensor<'l, T, D, Chip, Cluster, Slice, Time2, Packet2> {
        check!(CONFIG of CheckedFetch<D0, D, Layout<Chip, Cluster, Slice, FromTime, Element>, Time, Packet, T, A::Stages>);
        check!(CONFIG of CollectPlan<D, Time, Packet, Time2, Packet2>);
        let fetched = A::fetch::<T, Layout<Chip, Cluster, Slice, FromTime, Element>, Time, Packet>(
            self.begin,
            self.zero_point,
        );
        TuTensor(fetched.collect::<Time2, Packet2>())
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
