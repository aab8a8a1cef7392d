//! Interleaving: one stream of the packets of two tensors (see [fetch](crate::guide::fetch), "Two tensors at once").
//!
//! ```text
//! axes![A = 4, I = 2]      Time = m![A, I]     lhs 0, rhs 0, lhs 1, rhs 1, lhs 2, …     I innermost: every packet
//!                          Time = m![I, A]     lhs 0, lhs 1, lhs 2, lhs 3, rhs 0, …     I outermost: one after the other
//! ```
//!
//! Both tensors have the same mapping and are read with the same sequencer. For the sequencer the axis `I` is a
//! broadcast.

use crate::engine::stream::{BeginTensor, Pass, StreamTensor};
use crate::mapping::{Axis, AxisName, M, Symbol};
use crate::runtime::late::{Late, Refusable, planned};
use crate::runtime::{Tu, TuContext};
use crate::scalar::Scalar;
use crate::tensor::DmTensorView;
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::engine::fetch::interleave::begin_is_refused;
pub use furiosa_visa_rules::engine::fetch::interleave::check_interleave;

/// The plan of `begin_interleaved`, as types.
pub struct BeginPlan<I, Chip, Cluster, Slice, Element>(PhantomData<(I, Chip, Cluster, Slice, Element)>);

impl<I: AxisName, Chip: M, Cluster: M, Slice: M, Element: M> BeginPlan<I, Chip, Cluster, Slice, Element> {
    /// The check of the axis.
    #[doc(hidden)]
    pub const CHECK: () = {
        let axis = Axis { name: I::NAME, size: I::SIZE };
        match check_interleave(axis, &[Chip::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR]) {
            Ok(()) => (),
            Err(error) => error.refuse(),
        }
    };
}

impl<I: AxisName, Chip: M, Cluster: M, Slice: M, Element: M>
    Late<BeginPlan<I, Chip, Cluster, Slice, Element>>
{
    #[doc(hidden)]
    pub const CHECK: Refusable<()> = check_interleave(
        Axis { name: I::NAME, size: I::SIZE },
        &[Chip::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR],
    );
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
        pass.unit.second = Some(second);
        StreamTensor::new(self, pass)
    }
}
