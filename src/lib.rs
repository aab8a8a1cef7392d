//! Kernels for the RNGD tensor contraction processor, from source.
//!
//! A kernel states, as types, where every axis of a tensor lives, and chains the engines of the chip. The register
//! configuration of every engine is **derived while compiling**; what the chip cannot do is a compile error in the user's
//! own axes. At run time a **simulated chip** with real addresses executes exactly that configuration.
//!
//! ```text
//!    types      m![A / 8 # 256], DmTensor, FetchTensor, …        src/mapping, src/tensor, src/engine
//!      │  each terminal call emits one
//!      ▼
//!    commands   entries, strides, sizes, addresses               src/command
//!      │  executed by                      │  timed by
//!      ▼                                   ▼
//!    chip       memories, engines, checks     clock              src/chip, src/clock
//! ```
//!
//! The [guide] explains the chip and its kernels chapter by chapter: the [chip](guide::chip), a
//! [first kernel](guide::first_kernel), [mappings](guide::mappings), and so on in the order of the data.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | HBM | high-bandwidth memory, 48 GiB per chip |
//! | DM | data memory, 512 KiB per slice; 256 slices per cluster, 2 clusters per chip |
//! | TRF | tensor register file: the weights of a contraction, 64 KiB per slice, 1 to 8 rows |
//! | VRF | vector register file: operands of the Vector Engine, 8 KiB per slice |
//! | flit | 32 bytes: what moves between engines per cycle |
//! | packet | what a stream carries per time step |
//!
//! # The five commonest refusals
//!
//! | message | meaning | edit |
//! |---|---|---|
//! | `Slice size must be 256` | a stream exists in all slices | pad: `m![A / 8 # 256]` |
//! | `packets come in multiples of 8` bytes | the fetch granularity | pad the innermost axis: `m![A # 8]` |
//! | `a flit holds 32` bytes | collected packets are flits | append the flit index to `Time`: `m![T, A / 16]`, `m![A % 16]` |
//! | `OutPacket … must hold 64` bytes | the multipliers take 64 bytes | pad one flit with `#`, or take the innermost factor of `Time` in |
//! | `insufficient input` | the stream wants a part of an axis that the tensor does not hold | iterate over what it holds |

#![deny(clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

extern crate self as furiosa_visa_std;

pub mod chip;
pub mod clock;
pub mod command;
pub mod engine;
mod error;
pub mod explain;
pub mod guide;
pub mod host;
pub mod kernels;
pub mod list;
pub mod mapping;
pub mod prelude;
pub mod runtime;
pub mod scalar;
pub mod sequencer;
pub mod spec;
pub mod tensor;
pub mod text;

pub use error::PlanError;
pub use scalar::Cast;

/// The kernel of the README must compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
