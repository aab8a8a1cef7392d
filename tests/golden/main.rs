//! Derived configurations against the goldens of the specification.

// The library's own error is as large as its message.
#![allow(clippy::result_large_err)]

#[macro_use]
mod chip;
mod chip_kernels;
mod contraction;
mod contraction_limits;
mod cycle_table;
mod error_table;
mod fetch;
mod hbm;
mod rows;
mod sequencer;
mod timeline;
mod vendor_sequencer;
