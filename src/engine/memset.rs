//! Memset: a value in all elements of a tensor in DM, by the sub context.
//!
//! ```text
//!   y.view_mut().memset(3, &mut ctx.sub)      m![A, B # 8]    3 3 3 3 3 · · · 3 3 3 3 3 · · ·
//! ```
//!
//! No stream is involved: see [cast_transpose_commit](crate::guide::cast_transpose_commit).

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::command::Transfer;
use crate::engine::dma::AtRest;
use crate::error::attempt;
use crate::mapping::M;
use crate::runtime::late::{Late, Refusable, planned};
use crate::runtime::{Tu, TuContext, TuValues as _};
use crate::scalar::Scalar;
use crate::tensor::{DmTensor, DmTensorViewMut};
use core::marker::PhantomData;
use furiosa_visa_rules::engine::memset::memset_operation;
pub use furiosa_visa_rules::engine::memset::{MEMSET_ELEMENTS, MemsetScalar, derive_memset};

mod sealed {
    use super::*;
    pub trait Sealed {}
    impl Sealed for TuContext<{ Tu::Sub }> {}
}

/// The context that sets tensors beside the main context: `ctx.sub`.
#[diagnostic::on_unimplemented(
    message = "memset: the sub context, `ctx.sub`, sets tensors",
    label = "write `&mut ctx.sub`"
)]
pub trait MemsetContext: sealed::Sealed {
    /// The context.
    #[doc(hidden)]
    fn unit(&mut self) -> &mut TuContext<{ Tu::Sub }>;
}

impl MemsetContext for TuContext<{ Tu::Sub }> {
    fn unit(&mut self) -> &mut TuContext<{ Tu::Sub }> {
        self
    }
}

/// The loops of a memset of a tensor type, or of a tile of one.
pub struct MemsetPlan<D, Chip, Cluster, Slice, Element>(PhantomData<(D, Chip, Cluster, Slice, Element)>);

impl<D: MemsetScalar, Chip: M, Cluster: M, Slice: M, Element: M>
    Late<MemsetPlan<D, Chip, Cluster, Slice, Element>>
{
    #[doc(hidden)]
    pub const MOVES: Refusable<Transfer> = Self::checked();

    const fn checked() -> Refusable<Transfer> {
        attempt!(Late::<DmTensor<D, Chip, Cluster, Slice, Element>>::FOOTPRINT);
        derive_memset(&DmTensor::<D, Chip, Cluster, Slice, Element>::SHAPE)
    }
}

impl<D: MemsetScalar, Chip: M, Cluster: M, Slice: M, Element: M>
    MemsetPlan<D, Chip, Cluster, Slice, Element>
{
    /// The loops. Evaluating it refuses tensors that no memory holds.
    pub const MOVES: Transfer = {
        let _ = DmTensor::<D, Chip, Cluster, Slice, Element>::FOOTPRINT;
        match derive_memset(&DmTensor::<D, Chip, Cluster, Slice, Element>::SHAPE) {
            Ok(moves) => moves,
            Err(error) => error.refuse(),
        }
    };
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorViewMut<'_, D, Chip, Cluster, Slice, Element>
{
    /// Makes `value` of every element, by the sub context: the DMA engines and the main context continue meanwhile.
    /// Padding stays as it is.
    ///
    /// All slices write 4 bytes per cycle. Nothing is fetched, and no other engine has a part in it. See
    /// [cast_transpose_commit](crate::guide::cast_transpose_commit).
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![S = 256, A = 4, B = 8];
    ///
    /// /// Row 2 of ones, between rows of a half.
    /// #[device(chip = 1)]
    /// fn rows(ctx: &mut Context) -> HbmTensor<bf16, m![1], m![S, A, B]> {
    ///     let mut rows = DmTensor::<bf16, m![1], m![1 # 2], m![S], m![A, B]>::new(ctx);
    ///     rows.view_mut().memset(bf16::from_f32(0.5), &mut ctx.sub);
    ///     let mut row = rows.view_mut().tile::<m![A], 1, m![1 # 4, B]>(2);
    ///     row.memset(bf16::from_f32(1.0), &mut ctx.sub);
    ///     rows.to_hbm(&mut ctx.tdma, AUTO)
    /// }
    ///
    /// let mut ctx = Context::acquire();
    /// let all = pollster::block_on(async {
    ///     let in_hbm = launch(rows, &mut *ctx).await;
    ///     in_hbm.to_host::<m![S, A, B]>(&mut ctx.pdma).await
    /// });
    /// let row: Vec<f32> = all.to_vec()[12..28].iter().map(|value| value.to_f32()).collect();
    /// assert_eq!(row, [[0.5; 4], [1.0; 4], [1.0; 4], [0.5; 4]].concat());
    /// ```
    ///
    /// Refused while compiling: a type without immediates, as `f4e2m1` (`a value of … is no immediate of the sub
    /// context`); the main context (`the sub context, ctx.sub, sets tensors`).
    ///
    /// The compiler of the vendor's SDK takes whole tensors and constant values alone. A tile is noted: see
    /// [`SdkReport`](crate::chip::SdkReport).
    #[track_caller]
    #[inline(never)]
    pub fn memset(&mut self, value: D, sub: &mut impl MemsetContext)
    where
        D: MemsetScalar,
    {
        let moves = planned!(const MOVES of MemsetPlan<D, Chip, Cluster, Slice, Element>);
        sub.unit().execute(memset_operation(self.region(), value.to_bits(), moves));
    }
}
