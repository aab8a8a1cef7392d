//! Vector Engine: arithmetic on the elements of a stream, 8 or 4 lanes at a time.
//!
//! ```text
//!   .vector_init()                                       the stream enters: i32 or f32, flits of 8 lanes
//!   .vector_intra_slice_branch(BranchMode::…)            every element has an execution id
//!
//!   8 lanes   vector_logic*  vector_fxp*  vector_fxp_to_fp
//!   ──────── vector_split, or vector_trim_way4 where the upper half is padding ────────
//!   4 lanes   vector_fp_unary, _binary, _ternary*   vector_intra_slice_reduce   vector_fp_div
//!   ──────── vector_concat, or vector_pad_way8 ────────────────────────────────────────
//!   8 lanes   vector_fp_to_fxp   vector_clip*
//!
//!   .vector_final()                                      .commit(…), .cast(…), .to_vrf(…) come next
//! ```
//!
//! Each stage may be left out; those with a star may follow each other. Every operator takes an arithmetic unit, and a
//! pass has each unit once.
//!
//! ```
//! use furiosa_visa_std::prelude::*;
//! axes![N = 512, L = 8];
//!
//! /// `y = min(max(3 x - 7, 0), 500)`.
//! #[device(chip = 1)]
//! fn limited(ctx: &mut Context, x: &HbmTensor<i32, m![1], m![N, L]>) -> HbmTensor<i32, m![1], m![N, L]> {
//!     let x = x.to_dm::<m![1 # 2], m![N / 2], m![N % 2, L]>(&mut ctx.tdma, 0);
//!     let y = (ctx.main.begin(x.view()).fetch::<i32, m![N % 2], m![L]>().collect::<m![N % 2], m![L]>())
//!         .vector_init()
//!         .vector_intra_slice_branch(BranchMode::Unconditional)
//!         .vector_fxp(FxpBinaryOp::MulInt, 3)
//!         .vector_fxp(FxpBinaryOp::SubFxp, 7)
//!         .vector_clip(ClipBinaryOpI32::Max, 0)
//!         .vector_clip(ClipBinaryOpI32::Min, 500)
//!         .vector_final()
//!         .commit::<m![N % 2, L]>(4096);
//!     y.to_hbm(&mut ctx.tdma, 1 << 20)
//! }
//! ```

mod array_vec;
mod enter;
mod inter;
#[cfg(test)]
mod many_digits;
mod operand;
mod pair;
mod reduce;
mod rules;
pub mod stage;
mod tensor;
#[doc(hidden)]
pub mod wrong_calls;

pub use array_vec::ArrayVec;
pub use checks::{UnaryArgMode, check_alu, check_defined, check_int_width, check_unary_mode};
pub use enter::{BranchMode, Cmp, TagMode, derive_branch, derive_toggle};
pub(crate) use furiosa_visa_rules::engine::vector::{checks, valid_count};
pub use inter::{
    InterSliceConfig, InterSlicePlan, InterSliceRequest, VectorInterSliceReduceTensor, derive_inter_slice,
};
pub use operand::{
    Branched, GroupOperand, GroupTernaryOperand, HasTensor, IntoGroupOperand, IntoGroupTernaryOperand,
    IntoOperands, IntoRhs, IntoTernaryOperands, NoTensor, OperandPlan, OperandRequest, Slots, Stash,
    StashRead, TensorState, TernaryOperand, VeBranchOperand, VeRhs, VrfRead, check_always, derive_operand,
    derive_stash, slots,
};
pub use pair::{UnzipPlan, UnzipRequest, VectorPair, VectorTensorPair, derive_unzip, ids_in_group};
pub use reduce::{ReduceConfig, ReducePlan, ReduceRequest, derive_reduce};
pub use rules::{
    VectorPacketPlan, VectorPacketRequest, derive_concat, derive_pad, derive_split, derive_trim, derive_way8,
};
pub use tensor::{
    VectorBranchTensor, VectorClipTensor, VectorFpDivTensor, VectorFpTensor, VectorFpToFxpTensor,
    VectorFxpTensor, VectorFxpToFpTensor, VectorIntraSliceReduceTensor, VectorLogicTensor,
    VectorNarrowTensor, VectorTensor, VectorWidenTensor,
};
pub use valid_count::{Narrowing, derive_valid_count};
