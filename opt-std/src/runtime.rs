//! Launching, and options of the simulator.

pub use crate::context::{Acquired, Context, Device, DmaContext, TuContext, launch};
pub use crate::visa::chip::{CheckOptions, Compute};
pub use crate::visa::runtime::{DeviceFn, DeviceSend, Dma, DmaValues, Placement, SimOptions, Tu, TuValues};
