//! Search over mappings: the way to compute a contraction on the chip that takes the fewest cycles, with a proof.
//!
//! ```text
//!   Problem ──▶ Choice ──▶ Layout ──▶ commands ──▶ Clock      exact cycles
//!               │          └──────▶ source                    the same kernel, as a user writes it
//!               └ lower bounds: what cannot be the best is never derived
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`problem`] | einsum, sizes and types |
//! | [`windows`] | axes that an operand has in windows, for convolutions |
//! | [`chips`] | problems over several chips |
//! | [`fixed`] | digits of slices and clusters that are fixed |
//! | [`hbm`] | where tensors lie in HBM, if not as their letters say |
//! | [`epilogue`] | what follows the sums: a bias, activations, a factor |
//! | [`choice`] | where the digits of each axis are, and how operands reach slices that share them |
//! | [`layout`] | the mappings of all calls of a kernel |
//! | [`schedule`] | where buffers are, and in which steps they change |
//! | [`commands`] | the commands of a kernel, and their cycles |
//! | [`source`] | a kernel as text |
//! | [`bound`] | cycles that no kernel of a choice goes below |
//! | [`search`](mod@search) | the best choices, and the proof |
//! | [`pass`] | threads of a search, and its progress |
//! | [`route`] | ways to bring a tensor from one layout to another |
//! | [`chain`] | several contractions one after another as one kernel |
//!
//! ```
//! use furiosa_visa_plan::{Problem, Search, search};
//! use furiosa_visa_rules::scalar::ElementType::I8;
//! let problem = Problem::new("mk,nk->mn", "M=16,N=32,K=64", I8, None)?;
//! let outcome = search(&problem, &Search::default());
//! let best = &outcome.plans[0];
//! assert_eq!(outcome.gap(), 0.0); // nothing of the space takes fewer cycles
//! assert!(best.source().contains("#[device(chip = 1)]"));
//! # Ok::<(), furiosa_visa_plan::ProblemError>(())
//! ```
//!
//! The crate has no number of the hardware and no rule of its own: sizes come from `spec`, what is legal from the rules,
//! and cycles from the clock.

#![deny(clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

pub mod bound;
pub mod chain;
pub mod chips;
pub mod choice;
pub mod commands;
pub mod epilogue;
pub mod fixed;
pub mod hbm;
pub mod layout;
pub mod pass;
pub mod problem;
pub mod route;
pub mod schedule;
pub mod search;
pub mod source;
pub mod space;
pub mod windows;

pub use chips::search_over_chips;
pub use fixed::Fixed;
pub use pass::{Progress, Watch};
pub use problem::{Problem, ProblemError};
pub use search::{Outcome, Plan, Search, search};
