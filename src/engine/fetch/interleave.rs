//! Interleaving: one stream of the packets of two tensors (seed page *Fetch Engine*, "Interleaving Tensors").
//!
//! ```text
//! axes![A = 4, I = 2]      Time = m![A, I]     lhs 0, rhs 0, lhs 1, rhs 1, lhs 2, …     I innermost: every packet
//!                          Time = m![I, A]     lhs 0, lhs 1, lhs 2, lhs 3, rhs 0, …     I outermost: one after the other
//! ```
//!
//! Both tensors have the same mapping and are read with the same sequencer; for it the axis `I` is a broadcast.

use super::plan::{FetchRequest, OPERATION};
use crate::engine::stream::{BeginTensor, Pass, StreamTensor};
use crate::error::{PlanError, attempt};
use crate::mapping::{
    Atom, Axis, AxisName, Expr, Factor, Factors, M, Pool, Symbol, factorize, size_of_factors,
};
use crate::runtime::{Tu, TuContext};
use crate::scalar::Scalar;
use crate::tensor::DmTensorView;
use crate::text::Text;
use core::marker::PhantomData;

/// Tensors that one fetch can interleave (seed page *Fetch Engine*).
const TENSORS: usize = 2;

const BEGIN: &str = "begin_interleaved";

/// Refuses an axis that is not one of two positions, or that the tensors have themselves.
pub const fn check_interleave(axis: Axis, mappings: &[&'static Expr]) -> Result<(), PlanError> {
    let text = Text::new().str(BEGIN).str(": ");
    if axis.size != TENSORS {
        let text = text.str("the axis `").str(axis.name.as_str()).str("` has size ").number(axis.size);
        let text =
            text.str(", but exactly ").number(TENSORS).str(" tensors are interleaved; help: declare `");
        return Err(PlanError::new(
            "interleave axis",
            text.str(axis.name.as_str()).str(" = ").number(TENSORS).str("`"),
        ));
    }
    let mut k = 0;
    while k < mappings.len() {
        if mentions(mappings[k], &axis) {
            let text =
                text.str("the tensors hold the axis `").str(axis.name.as_str()).str("` themselves, in ");
            let text = text.mapping(mappings[k]).str("; help: declare another axis of size ");
            return Err(PlanError::new("interleave axis", text.number(TENSORS).str(" to tell them apart")));
        }
        k += 1;
    }
    Ok(())
}

/// Whether an axis stands anywhere in an expression.
const fn mentions(expr: &Expr, axis: &Axis) -> bool {
    match expr {
        Expr::Identity => false,
        Expr::Symbol(own) => own.is(axis),
        Expr::Stride(inner, _)
        | Expr::Modulo(inner, _)
        | Expr::Resize(inner, _)
        | Expr::Padding(inner, _)
        | Expr::Margin(inner, ..) => mentions(inner, axis),
        Expr::Pair(left, right) => mentions(left, axis) || mentions(right, axis),
    }
}

/// Time steps between the tensors of an interleaved fetch. `None`: there is one tensor.
pub(super) const fn interleave_period(
    pool: &mut Pool,
    request: &FetchRequest,
) -> Result<Option<usize>, PlanError> {
    let axis = match request.begin {
        Expr::Identity => return Ok(None),
        Expr::Symbol(axis) => axis,
        other => {
            let text =
                Text::new().str(OPERATION).str(": a stream begins with time `m![1]`, or with the axis of ");
            let text = text.str("two interleaved tensors, not with ").mapping(other);
            return Err(PlanError::new("interleave axis", text.str("; help: start it with `begin`")));
        }
    };
    attempt!(check_interleave(*axis, &[request.element]));
    let name = axis.name.as_str();
    if mentions(request.packet, axis) {
        let text =
            Text::new().str(OPERATION).str(": the packet ").mapping(request.packet).str(" holds `").str(name);
        let text =
            text.str("`, which tells two interleaved tensors apart, but a packet is read from one tensor");
        return Err(PlanError::new(
            "interleave axis",
            text.str("; help: put `").str(name).str("` in `Time`"),
        ));
    }
    let time = factorize(pool, request.time);
    if let Some(period) = period_of(&time, axis) {
        return Ok(Some(period));
    }
    let text = Text::new().str(OPERATION).str(": `Time` ").mapping(request.time);
    let text = if mentions(request.time, axis) {
        text.str(" cuts, resizes or pads `").str(name).str("`, which tells two interleaved tensors apart")
    } else {
        text.str(" lacks `").str(name).str("`, which tells two interleaved tensors apart")
    };
    let text =
        text.str("; help: put `").str(name).str("` into it as it is; innermost, every packet alternates");
    Err(PlanError::new("interleave axis", text))
}

/// The steps inside a whole axis of two, if it alternates all the way through.
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
            // Outside, the tensors take turns from the start again.
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

impl<const T: Tu> TuContext<T> {
    /// Starts a stream of two tensors, `lhs` where the axis `I` is 0, `rhs` where it is 1.
    ///
    /// The fetch puts `I` into its time; where it stands there decides how the tensors alternate. They have the same
    /// element type and mapping, and may lie anywhere.
    ///
    /// Refused while compiling: an axis that is not of size 2, or that the tensors have themselves. Source: seed page
    /// *Fetch Engine*, "Interleaving Tensors".
    #[track_caller]
    pub fn begin_interleaved<'l, I: AxisName, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>(
        &'l mut self,
        lhs: DmTensorView<'l, D, Chip, Cluster, Slice, Element>,
        rhs: DmTensorView<'l, D, Chip, Cluster, Slice, Element>,
    ) -> BeginTensor<'l, T, D, Chip, Cluster, Slice, Symbol<I>, Element> {
        const { BeginPlan::<I, Chip, Cluster, Slice, Element>::CHECK };
        let mut pass = Pass::new(self.begun(), lhs.region());
        pass.second = Some(rhs.region());
        StreamTensor::new(self, Box::new(pass))
    }
}
