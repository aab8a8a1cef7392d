//! The later kernel surface of RNGD over the simulated chip of [`furiosa_visa_std`]: a kernel that is written against it
//! is compiled by the vendor's compiler for the chip, and by this crate for the simulator, without an edit.
//!
//! Everything here is a thin layer: rules, derivations, execution and time are those of
//! [`furiosa_visa_std`](visa), whose [guide](visa::guide) explains them. What differs from its own surface:
//!
//! * handles have no address: bytes are taken at the first use of a tensor and free after its last one;
//! * the stages of the fetch adapter are calls of their own, `commit_trim` says what a commit keeps, and a contraction has
//!   four calls;
//! * rows of the TRF are lanes, and groups are named by tags.
//!
//! ```
//! use furiosa_opt_std::prelude::*;
//! axes![A = 512, B = 64];
//!
//! /// `y = 2 x`
//! #[device(chip = 1)]
//! fn doubled(ctx: &mut Context, x: &HbmTensor<bf16, m![1], m![A, B]>) -> HbmTensor<bf16, m![1], m![A, B]> {
//!     let x: DmTensor<bf16, m![1], m![1 # 2], m![A / 2], m![A % 2, B]> = x.to_dm(&mut ctx.tdma);
//!     let y: DmTensor<bf16, m![1], m![1 # 2], m![A / 2], m![A % 2, B]> = ctx
//!         .main
//!         .begin(x.view())
//!         .fetch::<m![A % 2, B / 8], m![B % 8]>()
//!         .fetch_cast::<f32>()
//!         .collect::<m![A % 2, B / 8], m![B % 8]>()
//!         .vector_init()
//!         .vector_intra_slice_tag(TagMode::Zero)
//!         .vector_clip(ClipBinaryOpF32::Add, 1.0)
//!         .vector_final()
//!         .cast::<bf16, m![B % 8 # 16]>()
//!         .commit_trim::<m![B % 8]>()
//!         .commit();
//!     y.to_hbm(&mut ctx.tdma)
//! }
//!
//! let mut ctx = Context::acquire();
//! let x = HostTensor::<bf16, m![A, B]>::from_vec((0..32_768).map(|k| bf16::from_f32((k % 7) as f32)));
//! let y = pollster::block_on(async {
//!     let x = x.to_hbm::<m![1], m![A, B]>(&mut ctx.pdma).await;
//!     let y = launch(doubled, (&mut *ctx, &x)).await;
//!     y.to_host::<m![A, B]>(&mut ctx.pdma).await.into_vec()
//! });
//! assert_eq!(y[3], bf16::from_f32(4.0));
//! ```

#![deny(clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

extern crate self as furiosa_opt_std;

#[doc(hidden)]
pub use furiosa_visa_std as visa;

mod commit;
mod context;
mod contraction;
mod copies;
mod fetch;
mod host;
mod memory;
pub mod prelude;
mod register_file;
pub mod runtime;
mod stream;
mod vector;
mod views;
mod words;

pub use context::Device;
pub use std::cell::OnceCell;
