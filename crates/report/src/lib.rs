//! The runs of a simulated RNGD chip, as a person or a tool reads them.
//!
//! | module | content |
//! |---|---|
//! | [`report`] | the time of a run, its bounds, tables, JSON |
//! | [`hints`] | edits that make a program faster, and the cycles that each saves |
//! | [`trace`], [`page`] | a run as a timeline for viewers and tools, and as a page |
//! | [`map`] | tensors in each memory over time |
//! | [`layout`] | a mapping as a picture |

#![deny(clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

pub mod hints;
pub mod layout;
pub mod map;
pub mod page;
pub mod report;
pub mod trace;

pub use map::{Allocation, Allocations, End, MemoryMap, MemoryUse, TensorLife, Touch};
pub use report::{Headline, Report};
