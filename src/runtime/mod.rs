//! Contexts and launching.

mod allocate;
mod context;
mod deferred;
pub mod environment;
pub(crate) mod fault;
#[cfg(test)]
mod growth_tests;
mod halves;
mod interrupt;
mod kernel_chips;
pub(crate) mod late;
pub(crate) mod launch;
mod lease;
mod liveness;
#[cfg(test)]
mod map_tests;
mod names;
mod needs_await;
mod output;
#[cfg(test)]
mod part_tests;
mod placement;
#[cfg(any(unix, windows))]
mod progress;
#[cfg(not(any(unix, windows)))]
#[path = "no_progress.rs"]
mod progress;
mod shared;
mod step;
mod system;

pub use allocate::AUTO;
pub use context::{Context, ContextGuard, Dma, DmaContext, DmaValues, Tu, TuContext, TuValues};
pub(crate) use context::{MakesTensors, dma_of_kernel};
pub use kernel_chips::TensorChips;
#[doc(hidden)]
pub use launch::{DeviceFn, DeviceSend, chips_agree, launch, try_launch, try_launch_placed};
pub(crate) use lease::{Lease, Place};
pub(crate) use names::is_name;
pub use needs_await::NeedsAwait;
#[doc(hidden)]
pub use shared::SystemHandle;
pub use system::{Placement, SimOptions, System};
