//! Tensors on the host: arrays with mappings, and the mathematics that kernels are compared with.

mod buffer;
mod copy;
mod fold;
mod host_tensor;
mod mathematical;
mod operations;
mod storage;
mod view;

pub use buffer::{BufTensor, BufferPlan, IndirectLoop, StreamTensor};
pub use host_tensor::HostTensor;
pub use mathematical::Tensor;
pub(crate) use storage::packed_factors;
pub use view::{TensorView, TensorViewMut};
