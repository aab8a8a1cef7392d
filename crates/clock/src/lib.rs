//! Time on the chip: the cycles that a command takes, and those in which it runs.
//!
//! | module | content |
//! |---|---|
//! | [`cost`], [`numbers`] | numbers of cycles with their class and source; the profiles `book` and `detailed`, and what a profile file may set |
//! | [`bound`] | lower bounds on the cycles of kernels and of products without a mapping |
//! | [`command_time`] | time of a single command when nothing else runs, without a system |
//! | [`tensor_unit`] | stages of a pass through the Tensor Unit |
//! | [`hazards`], [`schedule`] | waits between commands, and the cycles in which each runs |
//! | [`Clock`], [`record`] | takes commands, gives the time of each and the reasons for it |
//! | [`occasions`], [`hint`] | counts of what an edit would spare, and edits as data |
//! | [`repeats`] | short form of operations that repeat others |
//! | [`banks`] | banks of DM, the paths to them, and the requesters that wait |
//! | [`indexed`] | gathers and scatters |
//! | [`unit_copy`] | shuffles, and copies by the sub context |
//! | [`memset`] | a value in all elements of a tensor |
//! | [`contention`] | operations that meet at the banks of DM |
//! | [`dma`], [`hbm`] | commands of DMA engines and their time; channels of HBM |
//! | [`trf_cache`] | reads of the TRF and stores beside them |
//!
//! A cycle is one of the core clock, 1 GHz.

#![deny(clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

pub mod banks;
pub mod bound;
pub mod command_time;
pub mod contention;
pub mod cost;
pub mod dma;
pub mod dma_timing;
pub mod hazards;
pub mod hbm;
pub mod hint;
pub mod indexed;
pub mod json;
pub mod ledger;
pub mod memset;
mod named;
pub mod numbers;
pub mod occasions;
pub mod parts;
pub mod record;
pub mod repeats;
pub mod schedule;
pub mod system_clock;
pub mod tensor_unit;
pub mod trf_cache;
pub mod unit_copy;

pub use bound::{Bounds, Limit};
pub use command_time::{CommandClock, CommandTime};
pub use cost::{Channels, Cost, CostClass, Profile};
pub use dma_timing::DmaTiming;
pub use hint::{Change, Hint, HintKind};
pub use ledger::{ChannelSum, KernelCall, KernelTime, Totals, Warning};
pub use numbers::{Model, Number, Numbers};
pub use parts::PartSum;
pub use record::{Observer, Record, Timing};
pub use repeats::Repeats;
pub use system_clock::Clock;
