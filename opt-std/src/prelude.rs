//! Names that kernels use: `use furiosa_opt_std::prelude::*;`.

pub use crate::commit::CastEngineCast;
pub use crate::context::{Acquired, Context, Device, DmaContext, TuContext, launch};
pub use crate::contraction::{
    ContractOuterTensor, ContractPacketTensor, ContractTimeTensor, ContractionWeight, LaneMode,
};
pub use crate::fetch::{
    BeginTensor, FetchCastTensor, FetchTableLookupTensor, FetchTensor, FetchZeroPointSub,
    FetchZeroPointSubTensor,
};
pub use crate::host::HostTensor;
pub use crate::memory::{
    DmTensor, DmTensorView, DmTensorViewMut, HbmTensor, HbmTensorView, HbmTensorViewMut,
};
pub use crate::stream::*;
pub use crate::vector::*;
pub use crate::visa::command::{
    BinaryArgMode, BitReq, ClipBinaryOpF32, ClipBinaryOpI32, ExecutionId, FpBinaryOp, FpMulAlu, FpTernaryOp,
    FpUnaryOp, FxpBinaryOp, GroupId, InterSliceReduceOpF32, InterSliceReduceOpI32, IntraSliceReduceOpF32,
    IntraSliceReduceOpI32, LogicBinaryOpF32, LogicBinaryOpI32, TagGuard, TernaryArgMode,
};
pub use crate::visa::engine::lookup_table::TableLookup;
pub use crate::visa::engine::stream::stage;
pub use crate::visa::engine::switch::SwitchConfig;
pub use crate::visa::engine::vector::Stash;
pub use crate::visa::engine::vector::stage::{
    PacketMode, PacketModeValues, VeOrder, VeOrderValues, Way4, Way8,
};
pub use crate::visa::host::Tensor;
pub use crate::visa::mapping::{AxisName, Ident, Identity, M, Modulo, Padding, Pair, Resize, Stride, Symbol};
// An axis may be called `M` and hide the trait's name: its items stay in scope.
pub use crate::visa::mapping::M as _;
pub use crate::visa::runtime::{DeviceFn, DeviceSend, Dma, DmaValues, Placement, SimOptions, Tu, TuValues};
pub use crate::visa::scalar::{
    Cast, CommitCast, ContractionCast, FetchCast, Scalar, ScalarBytes, StreamScalar, VeScalar, bf16, f4e2m1,
    f8e4m3, f8e5m2, i4, i5, i9,
};
pub use crate::visa::tensor::{TrfTensor, VrfTensor};
pub use furiosa_visa_macros::{DeviceSend, opt_axes as axes, opt_device as device, opt_i as i, opt_m as m};
