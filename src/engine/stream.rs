//! Tensors in motion: the stream between two engines, as a typestate.
//!
//! ```text
//! begin ─▶ BeginTensor ─fetch─▶ FetchTensor ─[switch]─▶ SwitchTensor ─collect─▶ CollectTensor ─┬─to_trf───────▶ TrfTensor
//!                                                                                              ├─to_vrf───────▶ VrfTensor
//!                                                                                              ├─align────────▶ AlignedPair
//!                                                                                              ├─vector_init──▶ VectorInitTensor
//!                                                                                              ├─cast─────────▶ CastTensor
//!                                                                                              ├─transpose────▶ TransposeTensor
//!                                                                                              └─commit───────▶ DmTensor
//! AlignedPair ─contract─▶ ContractionTensor ─accumulate─▶ AccumulationTensor ─▶ vector_init, cast, transpose, commit
//! VectorInitTensor … ─vector_final─▶ VectorFinalTensor ─▶ to_vrf, cast, transpose, commit
//! CastTensor ─▶ transpose, commit
//! TransposeTensor ─▶ commit
//! each ─[commit_trim]─▶ CommitTrimTensor ─[commit_cast]─▶ CommitCastTensor ─▶ commit
//! ```
//!
//! Between `vector_init` and `vector_final` the stream is in [`crate::engine::vector`].
//!
//! A stream does nothing until it ends: `commit`, `to_trf` and `to_vrf` execute the command that the earlier calls have
//! assembled.

use crate::command::{self, Region};
#[cfg(doc)]
use crate::engine::commit_stages::Plain;
use crate::engine::commit_stages::Trimmed;
use crate::engine::contraction::ContractConfig;
use crate::engine::layout::{Layout, StreamLayout, exprs};
use crate::mapping::Guard;
use crate::mapping::{Identity, M, guard_of};
use crate::runtime::fault::{Begun, accept};
use crate::runtime::late::{Late, Refusable, by_reference};
use crate::runtime::{Lease, Tu, TuContext};
use crate::scalar::{ChipType, Rngd, Scalar, StreamScalar};
use crate::tensor::{DmTensorView, NoWindows, WindowList};
use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;
pub(crate) use furiosa_visa_rules::engine::stream::check_kind;

/// The places of a stream in the pipeline.
pub mod stage {
    pub use crate::engine::vector::stage::*;

    use crate::engine::commit_stages::{Ending, Narrowed, Plain, Trimmed};
    use crate::mapping::{Expr, M};
    use crate::scalar::{ChipType, Rngd};
    use crate::tensor::{NoWindows, WindowList};
    use core::convert::Infallible;
    use core::marker::PhantomData;

    mod sealed {
        pub trait Sealed {}
    }

    /// A place in the pipeline.
    pub trait Position: sealed::Sealed {
        /// The engine that the stream has left.
        const NAME: &'static str;
        /// True if a commit of the sub context may follow.
        const SUB_COMMIT: bool;
        /// The rows of the weights that the stream has met, until they are folded into it.
        const ROW: Option<&'static Expr> = None;
    }

    /// A place after the tensor has been read: packets can be committed.
    pub trait InMotion: Position {
        /// The stages of the Commit Engine that the stream has passed.
        type Ending: Ending;
    }

    macro_rules! positions {
        ($($(#[$doc:meta])* $name:ident = $position:ident, $sub_commit:literal, $ending:ty;)*) => {
            $(
                $(#[$doc])*
                #[derive(Debug)]
                pub enum $name {}
                impl sealed::Sealed for $name {}
                impl Position for $name {
                    const NAME: &'static str = crate::lower::Position::$position.name();
                    const SUB_COMMIT: bool = $sub_commit;
                }
                impl InMotion for $name {
                    type Ending = $ending;
                }
            )*
        };
    }

    /// A tensor in DM that is about to be read, by chips of a `Kind`, in `Windows` or as it lies there.
    #[derive(Debug)]
    pub struct PositionBegin<Kind: ChipType = Rngd, Windows: WindowList = NoWindows>(
        PhantomData<(Kind, Windows)>,
        Infallible,
    );
    impl<Kind: ChipType, Windows: WindowList> sealed::Sealed for PositionBegin<Kind, Windows> {}
    impl<Kind: ChipType, Windows: WindowList> Position for PositionBegin<Kind, Windows> {
        const NAME: &'static str = crate::lower::Position::Begin.name();
        const SUB_COMMIT: bool = true;
    }

    /// 32-bit elements that enter the Vector Engine.
    #[derive(Debug)]
    pub enum PositionVectorInit {}
    impl sealed::Sealed for PositionVectorInit {}
    impl Position for PositionVectorInit {
        const NAME: &'static str = crate::lower::Position::Vector.name();
        const SUB_COMMIT: bool = true;
    }

    macro_rules! with_rows {
        ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
            $(
                $(#[$doc])*
                #[derive(Debug)]
                pub struct $name<Row: M>(PhantomData<Row>, Infallible);
                impl<Row: M> sealed::Sealed for $name<Row> {}
                impl<Row: M> Position for $name<Row> {
                    const NAME: &'static str = $text;
                    const SUB_COMMIT: bool = false;
                    const ROW: Option<&'static Expr> = Some(Row::EXPR);
                }
            )*
        };
    }

    with_rows! {
        /// Data beside the rows of its weights.
        PositionAlign = "aligned pair";
        /// Columns of all rows as they leave the adder tree.
        PositionContract = "contraction";
    }

    positions! {
        /// Packets as they were read.
        PositionFetch = Fetch, true, Plain;
        /// Packets in the slices that need them.
        PositionSwitch = Switch, true, Plain;
        /// Packets of one 32-byte flit.
        PositionCollect = Collect, true, Plain;
        /// Sums of 32 bits in beats of 8.
        PositionContraction = Accumulate, true, Plain;
        /// 32-bit elements that left the Vector Engine.
        PositionVectorFinal = VectorFinal, true, Plain;
        /// Flits of a narrower type.
        PositionCast = Cast, true, Plain;
        /// Flits whose elements were time steps.
        PositionTranspose = Transpose, false, Plain;
        /// Packets as they are committed.
        PositionCommitTrim = CommitTrim, true, Trimmed;
    }

    /// Elements as the Commit Engine narrows them, in packets that have passed the stages `Before`.
    #[derive(Debug)]
    pub struct PositionCommitCast<Before: Ending>(PhantomData<Before>, Infallible);
    impl<Before: Ending> sealed::Sealed for PositionCommitCast<Before> {}
    impl<Before: Ending> Position for PositionCommitCast<Before> {
        const NAME: &'static str = crate::lower::Position::CommitCast.name();
        const SUB_COMMIT: bool = false;
    }
    impl<Before: Ending> InMotion for PositionCommitCast<Before> {
        type Ending = Narrowed<Before>;
    }

    macro_rules! marks {
        ($($(#[$doc:meta])* $mark:ident: $($name:ident)*;)*) => { $(
            $(#[$doc])*
            pub trait $mark: Position {}
            $(impl $mark for $name {})*
        )* };
    }

    marks! {
        /// A place before the Collect Engine.
        Collectable: PositionFetch PositionSwitch;
        /// A place before the Vector Engine.
        Enterable: PositionCollect PositionContraction;
        /// A place before the Cast Engine.
        Castable: PositionCollect PositionContraction PositionVectorFinal;
        /// A place before the Transpose Engine.
        Transposable: PositionCollect PositionContraction PositionVectorFinal PositionCast;
        /// A place before the Commit Engine.
        Trimmable: PositionFetch PositionSwitch PositionCollect PositionContraction PositionVectorFinal PositionCast
            PositionTranspose;
        /// A place before the conversion of the Commit Engine.
        Narrowable: PositionFetch PositionSwitch PositionCollect PositionContraction PositionVectorFinal PositionCast
            PositionTranspose PositionCommitTrim;
        /// A place from which the vector register file is loaded.
        VrfLoadable: PositionCollect PositionVectorFinal;
    }
}

use crate::lower;
use stage::{
    Position, PositionAlign, PositionBegin, PositionCast, PositionCollect, PositionCommitCast,
    PositionCommitTrim, PositionContract, PositionContraction, PositionFetch, PositionSwitch,
    PositionTranspose, PositionVectorFinal, PositionVectorInit,
};

/// The pass of a stream.
#[derive(Debug)]
pub(crate) struct Pass {
    /// Guard of a stream that has begun: it ends when the command is given.
    begun: Begun,
    /// The command under construction.
    pub(crate) unit: lower::Pass,
    /// Weights of a stream that was aligned.
    pub(crate) aligned: Option<lower::Aligned<'static>>,
    /// Columns of a stream that was contracted.
    pub(crate) columns: Option<ContractConfig>,
    /// Leases of the operands and weights, whose bytes stay held until the command is given.
    pub(crate) held: Vec<Lease>,
}

impl Pass {
    /// A pass that is about to read a tensor. It has no type parameters, so that all kernels share it.
    #[inline(never)]
    pub(crate) fn boxed(begun: Begun, source: Region) -> Box<Self> {
        let unit = lower::Pass::begin(source);
        Box::new(Self { begun, unit, aligned: None, columns: None, held: Vec::new() })
    }

    /// Gives the command: the stream ends here.
    #[track_caller]
    #[inline(never)]
    pub(crate) fn end<const T: Tu>(self: Box<Self>, context: &mut TuContext<T>, sink: command::Sink) {
        let Self { begun, unit, held: _held, .. } = *self;
        begun.end();
        context.execute(unit.end(T, sink));
    }
}

/// A tensor in motion: elements of type `D` that have left the engine of the [stage] `P`, and lie in a
/// [`Layout`].
#[must_use = "a stream does nothing until it ends in `.commit(…)`, `.to_trf(…)` or `.to_vrf(…)`"]
pub struct StreamTensor<'l, const T: Tu, P: Position, D: StreamScalar, L: StreamLayout> {
    pub(crate) context: &'l mut TuContext<T>,
    pub(crate) pass: Box<Pass>,
    types: PhantomData<(P, D, L)>,
}

/// A tensor in DM that is about to be read: `.fetch()` comes next. `Kind` is the kind of chip whose conversions fetch
/// has, and `Windows` are the windows of the [view](crate::tensor::DmTensorView::windows).
pub type BeginTensor<
    'l,
    const T: Tu,
    D,
    Chip,
    Cluster,
    Slice,
    Time,
    Packet,
    Kind = Rngd,
    Windows = NoWindows,
> = StreamTensor<'l, T, PositionBegin<Kind, Windows>, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Packets as they were read: `.collect()` comes next, or `.switch()` before it.
pub type FetchTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet> =
    StreamTensor<'l, T, PositionFetch, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Packets in the slices that need them: `.collect()` comes next.
pub type SwitchTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet> =
    StreamTensor<'l, T, PositionSwitch, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Packets of one flit: `.align()`, `.vector_init()`, `.to_trf()`, `.to_vrf()`, `.cast()`, `.transpose()` or `.commit()` comes next.
pub type CollectTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet> =
    StreamTensor<'l, T, PositionCollect, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Data and weights side by side: `.contract()` comes next.
pub type AlignedPair<'l, const T: Tu, D, Chip, Cluster, Slice, Row, OutTime, OutPacket> =
    StreamTensor<'l, T, PositionAlign<Row>, D, Layout<Chip, Cluster, Slice, OutTime, OutPacket>>;

/// Columns of all rows as they leave the adder tree: `.accumulate()` comes next.
pub type ContractionTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Row, Time, Packet> =
    StreamTensor<'l, T, PositionContract<Row>, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Sums: `.vector_init()`, `.cast()`, `.transpose()` or `.commit()` comes next.
pub type AccumulationTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet> =
    StreamTensor<'l, T, PositionContraction, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Elements that enter the Vector Engine: `.vector_intra_slice_branch()` comes next.
pub type VectorInitTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet> =
    StreamTensor<'l, T, PositionVectorInit, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Elements that left the Vector Engine: `.cast()`, `.transpose()`, `.to_vrf()` or `.commit()` comes next.
pub type VectorFinalTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet> =
    StreamTensor<'l, T, PositionVectorFinal, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Narrowed elements: `.transpose()` or `.commit()` comes next.
pub type CastTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet> =
    StreamTensor<'l, T, PositionCast, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Time steps that have become the elements of packets: `.commit()` comes next.
pub type TransposeTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet> =
    StreamTensor<'l, T, PositionTranspose, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// The beginnings of packets, as they are committed: `.commit_cast()` or `.commit()` comes next.
pub type CommitTrimTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet> =
    StreamTensor<'l, T, PositionCommitTrim, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

/// Elements as the Commit Engine narrows them: `.commit()` comes next. `Before` is [`Plain`] where no trim came before.
pub type CommitCastTensor<'l, const T: Tu, D, Chip, Cluster, Slice, Time, Packet, Before = Trimmed> =
    StreamTensor<'l, T, PositionCommitCast<Before>, D, Layout<Chip, Cluster, Slice, Time, Packet>>;

impl<'l, const T: Tu, P: Position, D: StreamScalar, L: StreamLayout> StreamTensor<'l, T, P, D, L> {
    #[inline(always)] // Every call makes a type of stream of its own.
    pub(crate) fn new(context: &'l mut TuContext<T>, pass: Box<Pass>) -> Self {
        Self { context, pass, types: PhantomData }
    }

    /// Guard of the positions that hold an element. Variables: chip, cluster, slice, time, packet.
    pub(crate) const GUARD: &'static Guard = &match guard_of(P::NAME, &exprs::<L>()) {
        Ok(guard) => guard,
        Err(error) => error.refuse(),
    };
}

impl<'l, const T: Tu, P: Position, D: StreamScalar, L: StreamLayout> Late<StreamTensor<'l, T, P, D, L>> {
    #[doc(hidden)]
    pub const GUARD: Refusable<&'static Guard> = by_reference(&guard_of(P::NAME, &exprs::<L>()));
}

impl<const T: Tu, P: Position, D: StreamScalar, L: StreamLayout> fmt::Debug for StreamTensor<'_, T, P, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match P::ROW {
            None => write!(f, "stream of {} after {}", D::ELEMENT_TYPE, P::NAME),
            Some(row) => write!(f, "{}, Row m![{row}]", P::NAME),
        }?;
        write!(f, ", Time m![{}], Packet m![{}]", L::Time::EXPR, L::Packet::EXPR)
    }
}

impl<const T: Tu> TuContext<T> {
    /// Starts a stream at a tensor in DM: `ctx.main.begin(x.view())`. [`fetch`](StreamTensor::fetch), which comes next,
    /// has an example. See [fetch](crate::guide::fetch).
    ///
    /// # Panics
    /// If a kernel drops the stream before it has ended, unless [`SimOptions`](crate::runtime::SimOptions::checks)
    /// turns `dropped_streams` off. If the tensor is a [tile](crate::tensor::tile) that starts in another slice than
    /// the first one: each slice reads its own DM.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn begin<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, Windows: WindowList>(
        &'l mut self,
        tensor: DmTensorView<'l, D, Chip, Cluster, Slice, Element, Windows>,
    ) -> BeginTensor<'l, T, D, Chip, Cluster, Slice, Identity, Element, Rngd, Windows> {
        let region = tensor.stream_region("begin");
        let pass = Pass::boxed(self.begun(), region);
        StreamTensor::new(self, pass)
    }

    /// Guard of a stream that the caller begins.
    #[track_caller]
    pub(crate) fn begun(&self) -> Begun {
        Begun::new(Location::caller(), self.checks().dropped_streams)
    }
}

impl<'l, const T: Tu, D: Scalar, L: StreamLayout, Windows: WindowList>
    StreamTensor<'l, T, PositionBegin<Rngd, Windows>, D, L>
{
    /// Selects the kind of chip of the stream: `.on::<RngdS>()` gives `.fetch()` the conversions that only RNGD-S has.
    /// Programs for RNGD run on both kinds. See [fetch](crate::guide::fetch), "Types".
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, B = 8];
    /// type X<D> = DmTensor<D, m![1], m![1 # 2], m![S], m![B]>;
    /// fn widened(ctx: &mut Context, x: &X<f8e4m3>) -> X<bf16> {
    ///     (ctx.main.begin(x.view()).on::<RngdS>().fetch::<bf16, m![1], m![B]>())
    ///         .collect::<m![1], m![B # 16]>()
    ///         .commit(AUTO)
    /// }
    /// # let _ = widened as fn(_, _) -> _;
    /// ```
    ///
    /// # Panics
    /// If the chips of the system are of another kind: see [`SimOptions`](crate::runtime::SimOptions::chip_kind).
    #[track_caller]
    pub fn on<Kind: ChipType>(self) -> StreamTensor<'l, T, PositionBegin<Kind, Windows>, D, L> {
        accept("on", check_kind(self.context.chip_kind(), Kind::KIND));
        StreamTensor::new(self.context, self.pass)
    }
}
