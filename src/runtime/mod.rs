//! Contexts and launching.

mod allocate;
mod context;
pub mod environment;
pub(crate) mod fault;
#[cfg(test)]
mod growth_tests;
mod interrupt;
mod kernel_chips;
pub(crate) mod late;
pub(crate) mod launch;
#[cfg(test)]
mod map_tests;
mod needs_await;
mod output;
#[cfg(any(unix, windows))]
mod progress;
#[cfg(not(any(unix, windows)))]
#[path = "no_progress.rs"]
mod progress;
mod system;

pub use allocate::AUTO;
pub(crate) use allocate::{Lease, Place};
#[doc(hidden)]
pub use context::SystemHandle;
pub use context::{Context, ContextGuard, Dma, DmaContext, DmaValues, Tu, TuContext, TuValues};
pub(crate) use context::{MakesTensors, dma_of_kernel};
pub use kernel_chips::TensorChips;
#[doc(hidden)]
pub use launch::{DeviceFn, DeviceSend, chips_agree, launch, try_launch};
pub use needs_await::NeedsAwait;
pub use system::{SimOptions, System};
