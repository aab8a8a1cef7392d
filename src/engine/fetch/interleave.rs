//! Interleaving: one stream of the packets of two tensors (see [fetch](crate::guide::fetch), "Two tensors at once").
//!
//! ```text
//! axes![A = 4, I = 2]      Time = m![A, I]     lhs 0, rhs 0, lhs 1, rhs 1, lhs 2, …     I innermost: every packet
//!                          Time = m![I, A]     lhs 0, lhs 1, lhs 2, lhs 3, rhs 0, …     I outermost: one after the other
//! ```
//!
//! Both tensors have the same mapping and are read with the same sequencer. For the sequencer the axis `I` is a
//! broadcast.

use super::plan::FetchRequest;
use crate::engine::stream::{BeginTensor, Pass, StreamTensor};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{
    Atom, Axis, AxisName, Expr, Factor, Factors, M, Pool, Symbol, factorize, size_of_factors,
};
use crate::runtime::late::{planned, when_late};
use crate::runtime::{Tu, TuContext};
use crate::scalar::Scalar;
use crate::tensor::DmTensorView;
use core::marker::PhantomData;

when_late! {
    use crate::runtime::late::{Late, Refusable};
}

/// Number of tensors that one fetch can interleave (guide: fetch).
const TENSORS: usize = 2;

/// Refuses an axis whose size is not two, or that the tensors have themselves.
pub const fn check_interleave(axis: Axis, mappings: &[&'static Expr]) -> Result<(), PlanError> {
    if axis.size != TENSORS {
        refuse!(
            "interleave axis",
            "begin_interleaved: the axis `{}` has size {}, but exactly {} tensors are interleaved; \
             help: declare `{} = {}`",
            str(axis.name.as_str()),
            number(axis.size),
            number(TENSORS),
            str(axis.name.as_str()),
            number(TENSORS),
        );
    }
    let mut k = 0;
    while k < mappings.len() {
        if mappings[k].mentions(&axis) {
            refuse!(
                "interleave axis",
                "begin_interleaved: the tensors hold the axis `{}` themselves, in {}; \
                 help: declare another axis of size {} to tell them apart",
                str(axis.name.as_str()),
                mapping(mappings[k]),
                number(TENSORS),
            );
        }
        k += 1;
    }
    Ok(())
}

/// True if `begin_interleaved` refuses the axis for the tensors of this fetch.
pub(super) const fn begin_is_refused(request: &FetchRequest) -> bool {
    match request.begin {
        Expr::Symbol(axis) => check_interleave(*axis, &[request.element]).is_err(),
        _ => false,
    }
}

/// Time steps between the tensors of an interleaved fetch. `None` if there is one tensor.
pub(super) const fn interleave_period(
    pool: &mut Pool,
    request: &FetchRequest,
) -> Result<Option<usize>, PlanError> {
    let axis = match request.begin {
        Expr::Identity => return Ok(None),
        Expr::Symbol(axis) => axis,
        other => {
            refuse!(
                "interleave axis",
                "fetch: a stream begins with time `m![1]`, or with the axis of two interleaved tensors, not with {}; \
                 help: start it with `begin`",
                mapping(other),
            );
        }
    };
    attempt!(check_interleave(*axis, &[request.element]));
    let name = axis.name.as_str();
    if request.packet.mentions(axis) {
        refuse!(
            "interleave axis",
            "fetch: the packet {} holds `{}`, which tells two interleaved tensors apart, but a packet is read from one \
             tensor; help: put `{}` in `Time`",
            mapping(request.packet),
            str(name),
            str(name),
        );
    }
    let time = factorize(pool, request.time);
    if let Some(period) = period_of(&time, axis) {
        return Ok(Some(period));
    }
    refuse!(
        "interleave axis",
        "fetch: `Time` {} {} `{}`, which tells two interleaved tensors apart; \
         help: put `{}` into it as it is; innermost, every packet alternates",
        mapping(request.time),
        str(if request.time.mentions(axis) { "cuts, resizes or pads" } else { "lacks" }),
        str(name),
        str(name),
    )
}

/// The steps inside a whole axis of two, if it alternates evenly through all of time.
const fn period_of(time: &Factors, axis: &Axis) -> Option<usize> {
    let factors = time.as_slice();
    let mut found = None;
    let mut k = 0;
    while k < factors.len() {
        let base = size_of_factors(factors.split_at(k).0);
        match (found, factors[k]) {
            (None, Factor::Term { term, resize })
                if term.atom.is(&Atom::Symbol(*axis)) && term.stride == 1 && resize == TENSORS =>
            {
                found = Some(base);
            }
            // Outside the axis, the tensors take turns from the start again.
            (Some(period), Factor::Term { .. }) if !base.is_multiple_of(TENSORS * period) => return None,
            _ => {}
        }
        k += 1;
    }
    found
}

/// The plan of `begin_interleaved`, as types.
struct BeginPlan<I, Chip, Cluster, Slice, Element>(PhantomData<(I, Chip, Cluster, Slice, Element)>);

impl<I: AxisName, Chip: M, Cluster: M, Slice: M, Element: M> BeginPlan<I, Chip, Cluster, Slice, Element> {
    const CHECK: () = {
        let axis = Axis { name: I::NAME, size: I::SIZE };
        match check_interleave(axis, &[Chip::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR]) {
            Ok(()) => (),
            Err(error) => error.refuse(),
        }
    };
}

when_late! {
    impl<I: AxisName, Chip: M, Cluster: M, Slice: M, Element: M>
        Late<BeginPlan<I, Chip, Cluster, Slice, Element>>
    {
        const CHECK: Refusable<()> = check_interleave(
            Axis { name: I::NAME, size: I::SIZE },
            &[Chip::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR],
        );
    }
}

impl<const T: Tu> TuContext<T> {
    /// Starts a stream of two tensors, `lhs` where the axis `I` is 0, `rhs` where it is 1.
    ///
    /// The fetch puts `I` into its time, and its place there decides how the tensors alternate. The tensors have the
    /// same element type and mapping, and may lie anywhere.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, T = 4, B = 8, I = 2];
    /// type X = DmTensor<i8, m![1], m![1 # 2], m![S], m![T, B]>;
    /// type Y = DmTensor<i32, m![1], m![1 # 2], m![S], m![T, I, B]>;
    /// /// Packets of `a` and `b` in turns, each without the zero point of its tensor.
    /// fn in_turns(ctx: &mut Context, a: &X, b: &X) -> Y {
    ///     (ctx.main.begin_interleaved::<I, _, _, _, _, _>(a.view(), b.view()))
    ///         .fetch_with_zero_points::<i32, m![T, I], m![B]>([3, -5])
    ///         .collect::<m![T, I], m![B]>()
    ///         .commit(AUTO)
    /// }
    /// # let _ = in_turns as fn(_, _, _) -> _;
    /// ```
    ///
    /// Refused while compiling: an axis that is not of size 2, or that the tensors have themselves. See
    /// [fetch](crate::guide::fetch), "Two tensors at once".
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn begin_interleaved<'l, I: AxisName, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>(
        &'l mut self,
        lhs: DmTensorView<'l, D, Chip, Cluster, Slice, Element>,
        rhs: DmTensorView<'l, D, Chip, Cluster, Slice, Element>,
    ) -> BeginTensor<'l, T, D, Chip, Cluster, Slice, Symbol<I>, Element> {
        let () = *planned!(const CHECK of BeginPlan<I, Chip, Cluster, Slice, Element>);
        let [first, second] = [&lhs, &rhs].map(|tensor| tensor.stream_region("begin_interleaved"));
        let mut pass = Pass::boxed(self.begun(), first);
        pass.second = Some(second);
        StreamTensor::new(self, pass)
    }
}
