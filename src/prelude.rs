//! Names that kernels use: `use furiosa_visa_std::prelude::*;`.

pub use crate::clock::Report;
pub use crate::command::{
    AccumulationKind, Address, BinaryArgMode, BitReq, ClipBinaryOpF32, ClipBinaryOpI32, Duplicates,
    ExecutionId, FpBinaryOp, FpDivBinaryOp, FpDivOp, FpMulAlu, FpTernaryOp, FpUnaryOp, FxpBinaryOp, GroupId,
    InputCmp, InputCmpF32, InputCmpI32, InterSliceReduceOpF32, InterSliceReduceOpI32, IntraSliceReduceOpF32,
    IntraSliceReduceOpI32, LogicBinaryOpF32, LogicBinaryOpI32, RngdAlu, TagGuard, TernaryArgMode, TrfAddress,
    ValidBranchIds,
};
pub use crate::engine::cast::{CastPlan, StreamCast};
pub use crate::engine::collect::CollectPlan;
pub use crate::engine::commit::CommitPlan;
pub use crate::engine::contraction::{
    AccumulatePlan, AlignPlan, ContractPlan, StreamAdapterPlan, TrfSequencerPlan,
};
pub use crate::engine::dma::{DmaPlan, HostPlan};
pub use crate::engine::fetch::FetchPlan;
pub use crate::engine::lookup_table::{LookupTable, TableLookup};
pub use crate::engine::memset::{MemsetPlan, MemsetScalar};
pub use crate::engine::stream::{
    AccumulationTensor, AlignedPair, BeginTensor, CastTensor, CollectTensor, CommitCastTensor,
    CommitTrimTensor, ContractionTensor, FetchTensor, StreamTensor, SwitchTensor, TransposeTensor,
    VectorFinalTensor, VectorInitTensor, stage,
};
pub use crate::engine::switch::{SwitchConfig, SwitchPlan, VerifySwitch as _};
pub use crate::engine::transpose::TransposePlan;
pub use crate::engine::vector::stage::{PacketMode, PacketModeValues, VeOrder, VeOrderValues, Way4, Way8};
pub use crate::engine::vector::{
    ArrayVec, BranchMode, Branched, Cmp, GroupOperand, GroupTernaryOperand, HasTensor, IntoGroupOperand,
    IntoGroupTernaryOperand, IntoOperands, IntoTernaryOperands, NoTensor, Stash, TagMode, TensorState,
    TernaryOperand, UnaryArgMode, VeBranchOperand, VeRhs, VectorBranchTensor, VectorClipTensor,
    VectorFpDivTensor, VectorFpTensor, VectorFpToFxpTensor, VectorFxpTensor, VectorFxpToFpTensor,
    VectorInterSliceReduceTensor, VectorIntraSliceReduceTensor, VectorLogicTensor, VectorNarrowTensor,
    VectorTensor, VectorTensorPair, VectorWidenTensor,
};
pub use crate::mapping::{
    AxisName, Expr, Factor, Ident, Identity, M, Mapping, Margin, Modulo, Padding, Resize, Stride, Symbol,
};
// An axis may be called `M` and hide the trait's name: its items stay in scope.
pub use crate::host::{HostTensor, Tensor, Tolerance};
pub use crate::mapping::M as _;
pub use crate::runtime::{
    AUTO, Context, DeviceFn, DeviceSend, Dma, DmaContext, DmaValues, SimOptions, Tu, TuContext, TuValues,
    launch, try_launch,
};
pub use crate::scalar::{
    CommitCast, ContractionCast, FetchCast, Opt, Rngd, RngdS, Scalar, ScalarBytes, StreamScalar, VeScalar,
    VeScalarKind, bf16, f4e2m1, f8e4m3, f8e5m2, f16, i4, i5, i9,
};
pub use crate::spec::ChipKind;
pub use crate::tensor::tile::assert_div;
pub use crate::tensor::{
    DmTensor, DmTensorView, DmTensorViewMut, HbmTensor, HbmTensorView, HbmTensorViewMut, TrfTensor,
    TrfTensorView, TrfTensorViewMut, VrfTensor, VrfTensorView, VrfTensorViewMut,
};
pub use furiosa_visa_macros::{axes, device, i, m};
