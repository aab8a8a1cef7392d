//! The stages of the Commit Engine before it writes: it keeps the beginning of each flit, and may narrow it.
//!
//! ```text
//!   flit          f32  │ a0 a1 a2 a3 │ ·· ·· ·· ·· │      32 bytes
//!   commit_trim   f32  │ a0 a1 a2 a3 │                    8, 16, 24 or 32 bytes are kept
//!   commit_cast   bf16 │ a0 a1│a2 a3 │                    16 or 32 become 8 or 16
//!   commit                     ──▶ DM
//! ```
//!
//! Without [`commit_trim`](StreamTensor::commit_trim) a commit keeps what `Element` has a place for.

use crate::command::CommitNarrowing;
use crate::engine::commit::no_sub_commit;
use crate::engine::layout::StreamLayout;
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::{InMotion, Narrowable, PositionCommitCast, PositionCommitTrim, Trimmable};
use crate::error::{PlanError, attempt};
use crate::mapping::M;
use crate::runtime::Tu;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::{CommitCast, Scalar, StreamScalar};
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::commit_stages::{
    CommitCastRequest, CommitStages, CommitTrimRequest, derive_commit_cast, derive_commit_trim,
};

mod sealed {
    pub trait Sealed {}
}

/// The stages of the Commit Engine that a stream has passed, as a type: [`Plain`], [`Trimmed`] or [`Narrowed`].
pub trait Ending: sealed::Sealed {
    /// The stages as a value.
    const STAGES: CommitStages;
}

/// No stage: the commit keeps what its tensor has a place for.
#[derive(Debug)]
pub enum Plain {}

/// The packet is what `commit_trim` has left.
#[derive(Debug)]
pub enum Trimmed {}

/// The elements are those that `commit_cast` or `commit_cast_relu` makes, after the stages `Before`.
#[derive(Debug)]
pub struct Narrowed<Before>(PhantomData<Before>);

impl sealed::Sealed for Plain {}
impl sealed::Sealed for Trimmed {}
impl<Before: Ending> sealed::Sealed for Narrowed<Before> {}

impl Ending for Plain {
    const STAGES: CommitStages = CommitStages::NONE;
}

impl Ending for Trimmed {
    const STAGES: CommitStages = CommitStages { trimmed: true, narrowed: false };
}

impl<Before: Ending> Ending for Narrowed<Before> {
    const STAGES: CommitStages = CommitStages { narrowed: true, ..Before::STAGES };
}

/// The plan of a trim, as types.
///
/// ```
/// use furiosa_visa_std::engine::commit_stages::CommitTrimPlan;
/// use furiosa_visa_std::prelude::*;
/// axes![W = 8];
/// assert_eq!(CommitTrimPlan::<i8, m![W # 32], m![W]>::BYTES, 8);
/// ```
pub struct CommitTrimPlan<D, Packet, OutPacket>(PhantomData<(D, Packet, OutPacket)>);

impl<D: StreamScalar, Packet: M, OutPacket: M> CommitTrimPlan<D, Packet, OutPacket> {
    pub(crate) const REQUEST: CommitTrimRequest =
        CommitTrimRequest { element: D::ELEMENT_TYPE, packet: Packet::EXPR, out_packet: OutPacket::EXPR };

    /// Bytes of each flit that are kept. Evaluating it refuses a packet that is not the beginning of a flit.
    pub const BYTES: usize = match derive_commit_trim(&Self::REQUEST) {
        Ok(bytes) => bytes,
        Err(error) => error.refuse(),
    };
}

/// All rules of a trim, in the order in which they are reported.
pub struct CheckedTrim<D, P, Packet, OutPacket, const T: Tu>(PhantomData<(D, P, Packet, OutPacket)>);

impl<D: StreamScalar, P: InMotion, Packet: M, OutPacket: M, const T: Tu>
    CheckedTrim<D, P, Packet, OutPacket, T>
{
    /// Bytes of each flit that are kept.
    #[doc(hidden)]
    pub const BYTES: usize = {
        if T && !P::SUB_COMMIT {
            PlanError::new("sub commit", no_sub_commit(P::NAME)).refuse()
        }
        CommitTrimPlan::<D, Packet, OutPacket>::BYTES
    };
}

/// The rules of a conversion of the Commit Engine.
pub struct CheckedCast<D, D2, P, Packet, const RELU: bool, const T: Tu>(PhantomData<(D, D2, P, Packet)>);

impl<D: StreamScalar, D2: StreamScalar, P: InMotion, Packet: M, const RELU: bool, const T: Tu>
    CheckedCast<D, D2, P, Packet, RELU, T>
{
    const REQUEST: CommitCastRequest = CommitCastRequest {
        narrowing: CommitNarrowing { relu: RELU },
        sub_context: T,
        input: D::ELEMENT_TYPE,
        output: D2::ELEMENT_TYPE,
        packet: Packet::EXPR,
        trimmed: P::Ending::STAGES.trimmed,
    };

    /// The check of packet and types.
    #[doc(hidden)]
    pub const CHECK: () = match derive_commit_cast(&Self::REQUEST) {
        Ok(()) => (),
        Err(error) => error.refuse(),
    };
}

impl<D: StreamScalar, P: InMotion, Packet: M, OutPacket: M, const T: Tu>
    Late<CheckedTrim<D, P, Packet, OutPacket, T>>
{
    #[doc(hidden)]
    pub const BYTES: Refusable<usize> = Self::checked();

    const fn checked() -> Refusable<usize> {
        if T && !P::SUB_COMMIT {
            return Err(PlanError::new("sub commit", no_sub_commit(P::NAME)));
        }
        Ok(attempt!(derive_commit_trim(&CommitTrimPlan::<D, Packet, OutPacket>::REQUEST)))
    }
}

impl<D: StreamScalar, D2: StreamScalar, P: InMotion, Packet: M, const RELU: bool, const T: Tu>
    Late<CheckedCast<D, D2, P, Packet, RELU, T>>
{
    #[doc(hidden)]
    pub const CHECK: Refusable<()> = derive_commit_cast(&CheckedCast::<D, D2, P, Packet, RELU, T>::REQUEST);
}

impl<'l, const T: Tu, P: Trimmable + InMotion, D: StreamScalar, L: StreamLayout>
    StreamTensor<'l, T, P, D, L>
{
    /// Keeps the beginning of each packet: what the commit that follows writes.
    ///
    /// `OutPacket` is the packet, or its leading 8, 16, 24 or 32 bytes: without padding behind, `m![W # 32]` to
    /// `m![W]`, or without its last elements, `m![N]` to `m![N = 8]`. Without this call a commit keeps what `Element` has
    /// a place for. See [cast_transpose_commit](crate::guide::cast_transpose_commit), "Trim and narrow".
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, A = 4, W = 8];
    /// type X = DmTensor<i8, m![1], m![1 # 2], m![S], m![A, W]>;
    /// fn copied(ctx: &mut Context, x: &X) -> X {
    ///     (ctx.main.begin(x.view()).fetch::<i8, m![A], m![W]>())
    ///         .collect::<m![A], m![W # 32]>()
    ///         .commit_trim::<m![W]>()
    ///         .commit(AUTO)
    /// }
    /// # let _ = copied as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: packets that are not one flit; an `OutPacket` of another size, or that is not the
    /// beginning of the packet; in the sub context, a stream that was transposed.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn commit_trim<OutPacket: M>(
        self,
    ) -> StreamTensor<'l, T, PositionCommitTrim, D, L::With<L::Time, OutPacket>> {
        let _ = planned!(const BYTES of CheckedTrim<D, P, L::Packet, OutPacket, T>);
        StreamTensor::new(self.context, self.pass)
    }
}

impl<'l, const T: Tu, P: Narrowable + InMotion, D: StreamScalar, L: StreamLayout>
    StreamTensor<'l, T, P, D, L>
{
    /// Narrows the elements on their way to DM: `f32` to `bf16`, as [`CommitCast`] does. The Cast Engine stays free, and
    /// the commit takes no more time.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, A = 4, B = 8];
    /// type X<D> = DmTensor<D, m![1], m![1 # 2], m![S], m![A, B]>;
    /// fn narrowed(ctx: &mut Context, x: &X<f32>) -> X<bf16> {
    ///     (ctx.main.begin(x.view()).fetch::<f32, m![A], m![B]>())
    ///         .collect::<m![A], m![B]>()
    ///         .commit_trim::<m![B]>()
    ///         .commit_cast::<bf16>()
    ///         .commit(AUTO)
    /// }
    /// # let _ = narrowed as fn(_, _) -> _;
    /// ```
    ///
    /// The packet is 16 or 32 bytes of `f32`, of which half are written. Refused while compiling: other sizes, other
    /// types, and the sub context.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn commit_cast<D2: Scalar>(self) -> StreamTensor<'l, T, PositionCommitCast<P::Ending>, D2, L>
    where
        D: CommitCast<D2>,
    {
        let () = *planned!(const CHECK of CheckedCast<D, D2, P, L::Packet, false, T>);
        self.narrow(CommitNarrowing { relu: false })
    }

    /// As [`commit_cast`](Self::commit_cast), with values below zero as +0.0: a ReLU. NaN stays NaN, without its sign.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, A = 4, B = 8];
    /// type X<D> = DmTensor<D, m![1], m![1 # 2], m![S], m![A, B]>;
    /// fn activated(ctx: &mut Context, x: &X<f32>) -> X<bf16> {
    ///     (ctx.main.begin(x.view()).fetch::<f32, m![A], m![B]>())
    ///         .collect::<m![A], m![B]>()
    ///         .commit_trim::<m![B]>()
    ///         .commit_cast_relu::<bf16>()
    ///         .commit(AUTO)
    /// }
    /// # let _ = activated as fn(_, _) -> _;
    /// ```
    #[track_caller]
    #[inline(never)]
    pub fn commit_cast_relu<D2: Scalar>(self) -> StreamTensor<'l, T, PositionCommitCast<P::Ending>, D2, L>
    where
        D: CommitCast<D2>,
    {
        let () = *planned!(const CHECK of CheckedCast<D, D2, P, L::Packet, true, T>);
        self.narrow(CommitNarrowing { relu: true })
    }

    fn narrow<D2: Scalar>(
        mut self,
        narrowing: CommitNarrowing,
    ) -> StreamTensor<'l, T, PositionCommitCast<P::Ending>, D2, L> {
        self.pass.unit.narrow(narrowing);
        StreamTensor::new(self.context, self.pass)
    }
}
