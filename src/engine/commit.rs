//! Commit Engine: writes a stream of flits to DM.
//!
//! The leading `commit_in_size` bytes of each flit are kept. Time may be permuted; the packet is always the innermost,
//! contiguous part of the tensor.

use crate::command::{Address, CommitNarrowing, FillId, Footprint, Memory, Part, Region};
use crate::engine::commit_stages::{Ending, Plain};
use crate::engine::layout::StreamLayout;
use crate::engine::stream::stage::InMotion;
use crate::engine::stream::{Pass, StreamTensor};
use crate::error::{PlanError, attempt};
use crate::mapping::{Guard, M};
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, by_reference, planned};
use crate::runtime::{AUTO, MakesTensors as _, Place, Tu, TuContext};
use crate::scalar::{ElementType, Scalar, StreamScalar};
use crate::tensor::{DmTensor, DmTensorViewMut};
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::commit::{
    CommitConfig, CommitRequest, derive_commit, derive_commit_view,
};
pub(crate) use furiosa_visa_rules::engine::commit::{
    OPERATION, Written, check_commit_address, check_commit_start, commit, commit_sink, no_sub_commit,
};

/// The plan of a commit, as types. `D` is what is written, and `Stages` are those of the
/// [engine](crate::engine::commit_stages) that the stream has passed.
pub struct CommitPlan<D, Time, Packet, Element, const T: Tu = false, Stages = Plain>(
    PhantomData<(D, Time, Packet, Element, Stages)>,
);

impl<D: Scalar, Time: M, Packet: M, Element: M, const T: Tu, Stages: Ending>
    CommitPlan<D, Time, Packet, Element, T, Stages>
{
    pub(crate) const REQUEST: CommitRequest = CommitRequest {
        sub_context: T,
        element: Self::STREAMED,
        time: Time::EXPR,
        packet: Packet::EXPR,
        destination: Element::EXPR,
        stages: Stages::STAGES,
    };

    /// The type in the stream.
    const STREAMED: ElementType =
        if Stages::STAGES.narrowed { CommitNarrowing::INPUT } else { D::ELEMENT_TYPE };

    /// The derived configuration. Evaluating it refuses mappings that the engine cannot write.
    pub const CONFIG: CommitConfig = match Self::result() {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };

    /// The configuration for a view, which may have holes.
    pub const VIEW: CommitConfig = match Self::view_result() {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };

    const fn result() -> Refusable<CommitConfig> {
        // A reference to a constant would be a constant of its own.
        let request = Self::REQUEST;
        commit(&request, [Time::FORM, Packet::FORM, Element::FORM])
    }

    const fn view_result() -> Refusable<CommitConfig> {
        let request = Self::REQUEST;
        derive_commit_view(&request)
    }
}

/// All rules of a commit, in the order in which they are reported.
pub struct CheckedCommit<D, P, L, Element, const T: Tu>(PhantomData<(D, P, L, Element)>);

impl<D: Scalar, P: InMotion, L: StreamLayout, Element: M, const T: Tu> CheckedCommit<D, P, L, Element, T> {
    /// The configuration.
    #[doc(hidden)]
    pub const CONFIG: &'static CommitConfig = &{
        let () = Self::REACHED;
        CommitPlan::<D, L::Time, L::Packet, Element, T, P::Ending>::CONFIG
    };

    /// The configuration.
    #[doc(hidden)]
    pub const VIEW: &'static CommitConfig = &{
        let () = Self::REACHED;
        CommitPlan::<D, L::Time, L::Packet, Element, T, P::Ending>::VIEW
    };

    /// Evaluating it refuses a tensor that no memory holds, and a commit in a context that has none.
    const REACHED: () = {
        let _ = DmTensor::<D, L::Chip, L::Cluster, L::Slice, Element>::FOOTPRINT;
        if T && !P::SUB_COMMIT {
            PlanError::new("sub commit", no_sub_commit(P::NAME)).refuse()
        }
    };
}

impl<D: Scalar, P: InMotion, L: StreamLayout, Element: M, const T: Tu>
    Late<CheckedCommit<D, P, L, Element, T>>
{
    #[doc(hidden)]
    pub const CONFIG: Refusable<&'static CommitConfig> =
        Self::checked(&CommitPlan::<D, L::Time, L::Packet, Element, T, P::Ending>::result());
    #[doc(hidden)]
    pub const VIEW: Refusable<&'static CommitConfig> =
        Self::checked(&CommitPlan::<D, L::Time, L::Packet, Element, T, P::Ending>::view_result());

    const fn checked(config: &'static Refusable<CommitConfig>) -> Refusable<&'static CommitConfig> {
        attempt!(Late::<DmTensor<D, L::Chip, L::Cluster, L::Slice, Element>>::FOOTPRINT);
        if T && !P::SUB_COMMIT {
            return Err(PlanError::new("sub commit", no_sub_commit(P::NAME)));
        }
        by_reference(config)
    }
}

/// Elements that a commit can write as `Element`: all types that memories hold.
#[diagnostic::on_unimplemented(
    message = "commit: no memory holds elements of `{Self}`",
    label = "a stream of `{Self}` ends here",
    note = "`i5` and `i9` exist only in streams and register files",
    note = "help: end the stream in `.to_trf()` or `.align()`, or fetch as `i32` and `.cast()` before the commit"
)]
pub trait StoredAs<Element>: Scalar {}

#[diagnostic::do_not_recommend]
impl<D: Scalar, Element: M> StoredAs<Element> for D {}

impl<'l, const T: Tu, P: InMotion, D: StreamScalar, L: StreamLayout> StreamTensor<'l, T, P, D, L> {
    /// Ends the stream in DM: each slice writes its part at byte `address`, a multiple of 8 or [`AUTO`]. See
    /// [cast_transpose_commit](crate::guide::cast_transpose_commit).
    ///
    /// `Element` is a permutation of `Time`, and inside it the leading 8, 16, 24 or 32 bytes of the packet.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, A = 4, B = 8, C = 32];
    /// type X = DmTensor<i8, m![1], m![1 # 2], m![S], m![A, B, C]>;
    /// /// `A` and `B` change places, and the first 16 bytes of each packet are kept.
    /// fn swapped(ctx: &mut Context, x: &X) -> DmTensor<i8, m![1], m![1 # 2], m![S], m![B, A, C = 16]> {
    ///     (ctx.main.begin(x.view()).fetch::<i8, m![A, B], m![C]>())
    ///         .collect::<m![A, B], m![C]>()
    ///         .commit(2048)
    /// }
    /// # let _ = swapped as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: packets that are not one flit; steps of other sizes (`must be one of 8, 16, 24 or 32
    /// bytes`); a time part of `Element` that is `no permutation of the stream's time`; an innermost part that is no prefix
    /// of the packet; more than 512 KiB per slice; in the sub context, a stream that was cast or transposed; `i5` and `i9`
    /// (`no memory holds elements of`).
    ///
    /// # Panics
    /// If `address` is no multiple of 8, or the tensor exceeds the memory of the slice.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn commit<Element: M>(self, address: Address) -> DmTensor<D, L::Chip, L::Cluster, L::Slice, Element>
    where
        D: StoredAs<Element>,
    {
        let plan = planned!(CONFIG of CheckedCommit<D, P, L, Element, T>);
        let footprint = planned!(FOOTPRINT of DmTensor<D, L::Chip, L::Cluster, L::Slice, Element>);
        let guard = planned!(GUARD of Self);
        let (place, fill) = self.pass.commit_new(self.context, address, footprint, plan, guard);
        DmTensor::filled(place, fill)
    }

    /// Ends the stream in a view in DM, which may be a [tile](crate::tensor::tile). The rules are those of
    /// [`Self::commit`], except that `Element` has the holes of a tile: the stream has no time steps for them, or steps
    /// of padding. Each packet is written with the least number of bytes that holds its elements.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, T = 4, B = 32];
    /// type Part = DmTensor<i8, m![1], m![1 # 2], m![S], m![B]>;
    /// type All = DmTensor<i8, m![1], m![1 # 2], m![S], m![T, B]>;
    /// /// Writes row `t` of a tensor.
    /// fn row(ctx: &mut Context, part: &Part, all: &mut All, t: usize) {
    ///     (ctx.main.begin(part.view()).fetch::<i8, m![1], m![B]>())
    ///         .collect::<m![1], m![B]>()
    ///         .commit_view(all.view_mut().tile::<m![T], 1, m![1 # 4, B]>(t));
    /// }
    /// # let _ = row as fn(_, _, _, _);
    /// ```
    ///
    /// Refused while compiling: everything that `commit` refuses; rows of the view that are not multiples of 8 bytes
    /// apart.
    ///
    /// # Panics
    /// If the tile starts at no multiple of 8 bytes, or in another slice than the first one; if the bytes of a packet
    /// hold elements of other tiles, or end behind the tensor.
    #[track_caller]
    #[inline(never)]
    pub fn commit_view<Element: M>(
        self,
        destination: DmTensorViewMut<'l, D, L::Chip, L::Cluster, L::Slice, Element>,
    ) where
        D: StoredAs<Element>,
    {
        let plan = planned!(VIEW of CheckedCommit<D, P, L, Element, T>);
        let region = destination.stream_region(OPERATION);
        accept(OPERATION, check_commit_start(&region));
        if region.part != Part::WHOLE {
            let written = Written { plan, guard: planned!(GUARD of Self) };
            accept(OPERATION, written.stays_in(&region, destination.tensor()));
        }
        self.pass.commit(self.context, region, plan, planned!(GUARD of Self));
    }
}

/// The ends of a stream that is committed. They have no mapping parameters, so that all kernels share them.
impl Pass {
    /// Gives the command with a new tensor, at `address` or at free bytes.
    #[track_caller]
    #[inline(never)]
    fn commit_new<const T: Tu>(
        self: Box<Self>,
        context: &mut TuContext<T>,
        address: Address,
        footprint: &'static Footprint,
        plan: &CommitConfig,
        guard: &Guard,
    ) -> (Place, FillId) {
        if address != AUTO {
            accept(OPERATION, check_commit_address(address));
        }
        let (place, region) =
            crate::tensor::place(context.system(), Memory::Dm, footprint, OPERATION, address);
        self.commit(context, region, plan, guard);
        (place, region.fill)
    }

    /// Gives the command.
    #[track_caller]
    #[inline(never)]
    fn commit<const T: Tu>(
        self: Box<Self>,
        context: &mut TuContext<T>,
        destination: Region,
        plan: &CommitConfig,
        guard: &Guard,
    ) {
        self.end(context, commit_sink(destination, plan, guard));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::commit_stages::CommitStages;
    use crate::prelude::{axes, m};

    axes![A = 16, C = 15];

    fn derived<Time: M, Packet: M, Element: M>() -> Result<String, &'static str> {
        derive_commit(&CommitRequest {
            element: ElementType::F32,
            time: Time::EXPR,
            packet: Packet::EXPR,
            destination: Element::EXPR,
            sub_context: false,
            stages: CommitStages::NONE,
        })
        .map(|commit| commit.derived.to_string())
        .map_err(|error| error.rule())
    }

    /// `[A % 8, C]` is cut between time and packet. In Element it may be a part of `[A, C]`.
    #[test]
    fn parts_of_one_product() {
        type Time = m![A / 8, [A % 8, C] / 8];
        type Packet = m![[A % 8, C] % 8];
        let in_order = "[2 : 120, 15 : 8, 8 : 1] : 8";
        assert_eq!(derived::<Time, Packet, m![A, C]>().as_deref(), Ok(in_order));
        assert_eq!(derived::<Time, Packet, m![{ Time }, { Packet }]>().as_deref(), Ok(in_order));
        // A prefix of the packet.
        let prefix = derived::<Time, Packet, m![{ Time }, [A % 8, C] % 8 = 4]>();
        assert_eq!(prefix.as_deref(), Ok("[2 : 60, 15 : 4, 4 : 1] : 4"));
        // Another order is no part of a larger product.
        let other = derived::<Time, Packet, m![[A % 8, C] / 8, A / 8, { Packet }]>();
        assert_eq!(other.as_deref(), Ok("[2 : 8, 15 : 16, 8 : 1] : 8"));
        assert_eq!(derived::<Time, Packet, m![C, A]>(), Err("commit permutation"));
        assert_eq!(derived::<m![A / 8, C], m![A % 8], m![A, C]>(), Err("commit permutation"));
    }
}
