//! The rules of the RNGD tensor contraction processor as const functions over mappings, and the commands that they become.
//!
//! | module | content |
//! |---|---|
//! | [`spec`] | every number of the hardware, with its source |
//! | [`mapping`] | mappings as types and as values: normal form, division, matching |
//! | [`scalar`] | element types, and what the chip converts |
//! | [`sequencer`] | nested loops from mappings |
//! | [`engine`], [`tensor`] | the rules of the engines, and of tensors at rest |
//! | [`explain`] | what is derived, in words |
//! | [`lower`] | from calls to commands: kernels as data |
//! | [`command`] | the orders that the chip gets: plain data |
//! | [`list`], [`PlanError`] | lists of fixed capacity in plans, refusals as values |
//!
//! The words that modules share are listed in [`mapping`](mapping#words) and [`engine::copies`].
//!
//! Kernels depend on `furiosa-visa-std`, which has all of this under the same paths.

#![deny(clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

// The macros write paths of `furiosa_visa_std`.
extern crate self as furiosa_visa_std;

#[macro_use]
pub mod list;
#[doc(hidden)]
#[macro_use]
pub mod text;

#[doc(hidden)]
pub mod byte_ranges;
pub mod command;
pub mod engine;
pub mod error;
pub mod explain;
pub mod lower;
pub mod mapping;
pub mod scalar;
pub mod sequencer;
#[doc(hidden)]
pub mod sorting;
pub mod spec;
pub mod tensor;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;

pub use error::PlanError;
pub use scalar::Cast;

/// The source of [`spec`]: what depends on any number of the hardware depends on this text.
pub const SPEC_SOURCE: &str = include_str!("spec.rs");

#[cfg(test)]
pub(crate) mod prelude {
    pub(crate) use furiosa_visa_macros::{axes, m};
}
