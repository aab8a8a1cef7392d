//! What kernels name: `use furiosa_visa_std::prelude::*;`.

pub use crate::command::{AccumulationKind, Address, TrfAddress};
pub use crate::engine::cast::StreamCast;
pub use crate::engine::lookup_table::LookupTable;
pub use crate::engine::stream::{
    AccumulationTensor, AlignedPair, BeginTensor, CastTensor, CollectTensor, ContractionTensor, FetchTensor,
    StreamTensor, SwitchTensor, TransposeTensor, stage,
};
pub use crate::engine::switch::SwitchConfig;
pub use crate::mapping::{
    AxisName, Expr, Factor, Ident, Identity, M, Mapping, Margin, Modulo, Padding, Resize, Stride, Symbol,
};
// An axis may be called `M` and hide the trait's name: its items stay in scope.
pub use crate::host::{HostTensor, Tensor};
pub use crate::mapping::M as _;
pub use crate::runtime::{
    Context, DeviceFn, Dma, DmaContext, DmaValues, SimOptions, Tu, TuContext, TuValues, launch, try_launch,
};
pub use crate::scalar::{
    ContractionCast, FetchCast, Opt, Rngd, RngdS, Scalar, ScalarBytes, StreamScalar, VeScalar, bf16, f8e4m3,
    f8e5m2, f16, i4, i5, i9,
};
pub use crate::spec::ChipKind;
pub use crate::tensor::{
    DmTensor, DmTensorView, DmTensorViewMut, HbmTensor, HbmTensorView, HbmTensorViewMut, TrfTensor,
    TrfTensorView, TrfTensorViewMut, VrfTensor, VrfTensorView, VrfTensorViewMut,
};
pub use furiosa_visa_macros::{axes, device, i, m};
