//! Kernels for the RNGD tensor contraction processor, from source.
//!
//! ```
//! use furiosa_visa_std::prelude::*;
//! axes![M = 256, N = 8, K = 32];
//!
//! /// `c[m, n] = Σ a[m, k] · b[n, k]`: slice `m` computes row `m`.
//! #[device(chip = 1)]
//! fn product(
//!     ctx: &mut Context,
//!     a: &HbmTensor<bf16, m![1], m![M, K]>,
//!     b: &HbmTensor<bf16, m![1], m![N, K]>,
//! ) -> HbmTensor<f32, m![1], m![M, N]> {
//!     let a = a.to_dm::<m![1 # 2], m![M], m![K]>(&mut ctx.tdma, 0);
//!     // Every slice gets all of `b`.
//!     let b = b.to_dm::<m![1 # 2], m![M], m![N, K]>(&mut ctx.tdma, 1024);
//!     let weights = (ctx.sub.begin(b.view()).fetch::<bf16, m![N], m![K]>())
//!         .collect::<m![N, K / 16], m![K % 16]>()
//!         .to_trf::<m![N], m![K]>(TrfAddress::Full);
//!     let c = (ctx.main.begin(a.view()).fetch::<bf16, m![1], m![K]>())
//!         .collect::<m![K / 16], m![K % 16]>()
//!         .align::<m![1], m![K], _, _>(&weights)
//!         .contract::<m![1]>()
//!         .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
//!         .commit::<m![N]>(2048);
//!     c.to_hbm(&mut ctx.tdma, 1 << 20)
//! }
//! # let zeros = |count| vec![bf16::from_f32(0.0); count];
//! # let mut ctx = Context::acquire();
//! # pollster::block_on(async {
//! #     let a = HostTensor::<bf16, m![M, K]>::from_slice(&zeros(256 * 32)).to_hbm(&mut ctx.pdma, 0).await;
//! #     let b = HostTensor::<bf16, m![N, K]>::from_slice(&zeros(8 * 32)).to_hbm(&mut ctx.pdma, 1 << 16).await;
//! #     launch(product, (&mut *ctx, &a, &b)).await;
//! # });
//! # // The figures of the picture of its page.
//! # let (report, picture) = (ctx.report(), include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/run.svg")));
//! # let grouped = furiosa_visa_std::text::grouped;
//! # assert!(picture.contains(&format!("product: {} cycles", grouped(report.kernels[0].makespan()))));
//! # let kernel = report.records.iter().filter(|record| record.operation != "upload");
//! # let cycles: Vec<u64> = kernel.map(|record| record.cycles()).collect();
//! # assert_eq!(cycles.len(), 5);
//! # assert!(cycles.iter().all(|cycles| picture.contains(&format!(">{}</text>", grouped(*cycles)))));
//! ```
//!
//! A kernel states, as types, where every axis of a tensor lives, and chains the engines of the chip. The register
//! configuration of every engine is **derived while compiling**; what the chip cannot do is a compile error in the user's
//! own axes. At run time a **simulated chip** with real addresses executes exactly that configuration.
//!
//! <style>#guide-chip { color: inherit; max-width: 420px } #guide-run { color: inherit; max-width: 640px }</style>
#![doc = include_str!("guide/chip.svg")]
//!
//! Data goes from top to bottom through one chip; the [guide] explains it chapter by chapter, from the
//! [chip](guide::chip) and a [first kernel](guide::first_kernel) on. The time of a run is a page, here that of the kernel above:
//!
#![doc = include_str!("guide/run.svg")]
//!
//! ```sh
//! cargo visa new my-kernels                     # a crate with a kernel, its check on the host, and a test
//! cargo visa check                              # what is refused, at your line
//! VISA_REPORT=1 VISA_HTML=run.html cargo run    # where the cycles go, and the page
//! visa help first_kernel                        # the guide in a terminal
//! ```
//!
//! # For kernels
//!
//! All in the [`prelude`]: `use furiosa_visa_std::prelude::*;`.
//!
//! | what | where |
//! |---|---|
//! | `axes!`, `m!`, `i!`, `#[device]` | the macros; their types are in [`mapping`] |
//! | [`Context`](runtime::Context), [`launch`](runtime::launch), [`AUTO`](runtime::AUTO) | [`runtime`] |
//! | tensors on the host, in HBM, DM and register files, with views and tiles | [`host`], [`tensor`] |
//! | moves: `to_hbm`, `to_dm`, `to_host`, gather, scatter, copies | [`engine::dma`], [`engine::copies`] |
//! | streams: `begin`, `fetch`, … `commit`, one type per stage | [`engine::stream`], then a module per engine |
//! | values inside of a kernel, references, comparisons | [`engine::inspect`], [`host::Tensor`] |
//! | element types | [`scalar`] |
//! | layers, norms, softmax and tiled products, ready to call | [`kernels`] |
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
//!
//! # For tools
//!
//! A kernel as plain data. Kernels do without it.
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
//! | tensors and streams seen from the host | [`engine::inspect`] |
//! | lists of fixed capacity in plans, refusals as values | [`list`], [`PlanError`] |
//! | environment variables | [`runtime::environment`] |
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
//! # Internal
//!
//! Items with `#[doc(hidden)]`: public because macros, bounds or the tests of this repository need it, and free to change
//! at any time: the builder of messages, the words that the compiler says at a wrong stage of a stream, and what generated
//! code calls.

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
