//! From calls to commands, without types: mappings are values.
//!
//! ```text
//!   Tensor ──begin──▶ Stream ──fetch, switch, collect, …──▶ Stream ──commit, to_trf, to_vrf──▶ Operation, Tensor
//!                        └ each call derives its configuration, or refuses, and adds it to a Pass
//! ```
//!
//! Typed calls of `furiosa-visa-std` derive the same configurations while compiling, and add them to the same [`Pass`]. A
//! kernel that is written as data gets the same commands and the same refusals: see [`Stream`], which has an example.

mod call;
mod contraction;
mod moves;
mod pass;
mod stream;
mod tensor;
mod vector;

pub use crate::engine::commit::commit_sink;
pub use call::{Call, End, Made, Position};
pub use moves::{download, memset, to_dm, to_hbm, to_view, upload};
pub use pass::{Aligned, Pass};
pub use stream::Stream;
pub use tensor::{Tensor, Weights};
