//! Kernels for the RNGD tensor contraction processor, from source.
//!
//! A kernel states, as types, where every axis of a tensor lives, and chains the engines of the chip. The register
//! configuration of every engine is **derived while compiling**; what the chip cannot do is a compile error in the user's
//! own axes. At run time a **simulated chip** with real addresses executes exactly that configuration.
//!
//! ```text
//!  types      m![A / 8 # 256], DmTensor, FetchTensor, …   this crate: tensor, engine
//!    │  each terminal call derives and emits one
//!    ▼
//!  commands   entries, strides, sizes, addresses          furiosa-visa-rules
//!    │  executed by              │  timed by
//!    ▼                           ▼
//!  chip       memories, checks   clock                    furiosa-visa-chip, furiosa-visa-clock
//! ```
//!
//! The [guide] explains the chip and its kernels chapter by chapter: the [chip](guide::chip), a
//! [first kernel](guide::first_kernel), [mappings](guide::mappings), and so on in the order of the data.
//!
//! # What is for whom
//!
//! **For kernels**, all in the [`prelude`]: `use furiosa_visa_std::prelude::*;`.
//!
//! | what | where |
//! |---|---|
//! | `axes!`, `m!`, `i!`, `#[device]` | the macros; their types are in [`mapping`] |
//! | [`Context`](runtime::Context), [`launch`](runtime::launch), [`AUTO`](runtime::AUTO) | [`runtime`] |
//! | tensors on the host, in HBM, DM and register files, with views and tiles | [`host`], [`tensor`] |
//! | moves: `to_hbm`, `to_dm`, `to_host`, gather, scatter, copies | [`engine::dma`], [`engine::copies`] |
//! | streams: `begin`, `fetch`, … `commit`, one type per stage | [`engine::stream`], then a module per engine |
//! | element types | [`scalar`] |
//! | layers, norms, softmax and tiled products, ready to call | [`kernels`] |
//!
//! **For tools**: what a kernel becomes, as plain data. Kernels do without them.
//!
//! | what | where |
//! |---|---|
//! | commands that the chip is told | [`command`] |
//! | kernels as data: calls with mappings as values | [`lower`] |
//! | plans in words: `explain()` | [`explain`] |
//! | nested loops from mappings, a buffer to try them on | [`sequencer`] |
//! | mappings as values, their normal form and division; reading them from text | [`mapping`], and `mapping::parse` with the feature `parse` |
//! | the simulated chip, its checks, orders and faults | [`chip`] |
//! | cycles, reports, traces, maps of memory | [`clock`] |
//! | every number of the hardware | [`spec`] |
//! | register files seen from the host | [`engine::inspect`] |
//! | lists of fixed capacity in plans, refusals as values | [`list`], [`PlanError`] |
//! | environment variables | [`runtime::environment`] |
//!
//! **Internal**, `#[doc(hidden)]`: public because macros, bounds or the tests of this repository need it, and free to change
//! at any time: the builder of messages, the words that the compiler says at a wrong stage of a stream, and what generated
//! code calls.
//!
//! `(guide: fetch)` in a message or a report, and `guide` in a trace, name the chapter to read: [`guide::fetch`] here,
//! `visa help fetch` in a terminal.
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
// With this feature no call mentions a constant that the compiler may refuse: see `runtime::late`.
#![cfg_attr(
    all(feature = "late-refusals", not(feature = "early-refusals")),
    allow(dead_code, unused_imports, unused_macros)
)]

extern crate self as furiosa_visa_std;

/// Mappings as types and as values: normal form, division, matching.
// A module of this crate, because the compiler names a mapping by the first path that it finds.
pub mod mapping {
    pub use furiosa_visa_rules::mapping::*;
}

pub mod engine;
pub mod explain;
pub mod guide;
pub mod host;
pub mod kernels;
pub mod prelude;
pub mod runtime;
pub mod tensor;

#[doc(hidden)]
pub mod surface;
pub(crate) use furiosa_visa_rules::error;
#[doc(hidden)]
pub use furiosa_visa_rules::{Cast, PlanError, command, list, lower, scalar, spec, text};

/// Time: the clock, and reports, traces and maps of runs.
pub mod clock {
    pub use furiosa_visa_clock::*;
    pub use furiosa_visa_report::*;
}

/// Nested loops from mappings, and a buffer to try them on.
pub mod sequencer {
    pub use crate::host::{BufTensor, BufferPlan, IndirectLoop, StreamTensor};
    pub use furiosa_visa_rules::sequencer::*;
}

/// The simulated system: its chips with their memories and checks, and the faults of commands.
pub mod chip {
    pub use crate::runtime::{SimOptions, System};
    pub use furiosa_visa_chip::*;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
