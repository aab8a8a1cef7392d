//! Tensors on the host: arrays with mappings, and the mathematics that kernels are compared with.

mod buffer;
mod compare;
mod copy;
mod fold;
mod host_tensor;
mod mathematical;
mod operations;
mod table;
mod view;

pub use buffer::{BufTensor, BufferPlan, IndirectLoop, StreamTensor};
pub use compare::Tolerance;
pub(crate) use furiosa_visa_rules::mapping::storage::{self, packed_factors};
pub use host_tensor::HostTensor;
pub use mathematical::Tensor;
pub(crate) use table::number as shown_code;
pub use view::{TensorView, TensorViewMut};
