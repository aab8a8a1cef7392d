//! Time on the chip: how many cycles a command takes, and when it runs.
//!
//! | module | what |
//! |---|---|
//! | [`cost`] | numbers of cycles with their class and source; the profiles `book` and `detailed` |
//! | [`tensor_unit`] | stages of a pass through the Tensor Unit |
//! | [`hazards`], [`schedule`] | which commands wait for which, and when each runs |
//! | [`trf_cache`] | reads of the TRF and stores beside them |
//!
//! A cycle is one of the core clock, 1 GHz (spec page 70 §2).

pub mod cost;
pub mod hazards;
pub mod schedule;
pub mod tensor_unit;
pub mod trf_cache;

pub use cost::{Cost, CostClass, Profile};
