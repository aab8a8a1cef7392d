//! The library against the slow reference, on random cases.
//!
//! Every test runs a fixed number of cases from a fixed seed, so that it gives the same answer every time.
//!
//! * `VISA_CASES=N` runs N cases of every test instead.
//! * `VISA_SEED=S` starts at seed S. A failure prints the seed that repeats it.

// The library's own error is as large as its message.
#![allow(clippy::result_large_err)]

mod bridge;
mod commits;
mod const_plans;
mod copies;
mod dma_commands;
mod fetch;
mod fetch_casts;
mod hbm;
mod machine;
mod mapping;
mod margins;
mod memset;
mod moves;
mod mutations;
mod operand_slices;
mod padding;
mod pipelines;
mod program;
mod rows;
mod scalar_traits;
mod sequencer;
mod streams;
mod switch;
mod tiles;
mod tool;
mod transposes;
mod trees;
mod trf_cache;
mod vector;
mod vrf;
mod windows;
mod worked_examples;

#[path = "../../cargo-visa/tests/cli/run.rs"]
mod run;

use ::reference;
