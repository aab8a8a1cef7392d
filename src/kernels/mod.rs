//! Parts of kernels: layers, norms, softmax and sums, for any axes and layouts.
//!
//! Helpers for code that every kernel of a network would otherwise spell out, call by call. Each helper is an ordinary
//! function that orders passes on tensors in DM, with the public calls of the engines; its source is an example to
//! learn from.
//!
//! | helper | computes | engines |
//! |---|---|---|
//! | [`load_weights`] | weights `m![N, K]` to a register file | sub: fetch, TRF |
//! | [`load_operand`] | a bias, scale, shift or mask `m![K]` | sub: fetch, VRF |
//! | [`product`] | `Σ x · w` of `bf16`, `f8`, `i8`, `i4` | main: contraction |
//! | [`linear`] | `activation(Σ x · w + bias)` | main: contraction, vector |
//! | [`tiled_product`] | products with weights in HBM, tile by tile | DMA, sub and main at the same time |
//! | [`softmax`], [`softmax_over_slices`] | `e^(s · x) / Σ e^(s · x)` of rows | main: vector, 3 passes |
//! | [`rms_norm`], [`rms_norm_over_slices`] | `x · scale / √(mean of x² + ε)` | main: vector, 3 passes |
//! | [`root_mean_square`] | `√(mean of x² + ε)` of rows | main: vector, 2 passes |
//! | [`layer_norm`] | `(x - mean) · scale / √(variance + ε) + shift` | main: vector, 4 passes |
//! | [`argmax`], [`top_k`] | the greatest columns of rows: numbers and places | main: vector, 2 passes; 4 more for each further one, one of them short |
//! | [`sum_over_slices`] | partial sums of neighbouring slices | main: vector |
//! | [`add`], [`multiply`] | `a + b`, `a · b` | main: vector |
//!
//! # Rows and columns
//!
//! A helper sees a tensor in DM as rows of columns, `Element = m![Rows, Columns]`: the first entry of the list is the
//! rows, and the rest the columns. Where rows have several axes, an alias keeps them together; where there is a single
//! one, they are `1`:
//!
//! ```text
//!   type Rows = m![T, R % 4];
//!   m![{ Rows }, K]      rows m![T, R % 4], columns m![K]
//!   m![T, R % 4, K]      rows m![T], columns m![R % 4, K]: refused where columns are to be of one axis
//!   m![1, K]             one row
//! ```
//!
//! Every slice works on its own rows at the same time. So spread rows over slices first, and keep a row in one slice
//! where it fits; the helpers `…_over_slices` are for rows that do not.
//!
//! # Types and addresses
//!
//! All types follow from the arguments, except the element type of the result. It is the one that the result is bound
//! to: `let y: DmTensor<bf16, _, _, _, _> = softmax(ctx, &x, 1.0);`. Arithmetic is `f32` inside, and rounded once when
//! it is stored.
//!
//! Results and intermediate tensors of a helper lie at addresses that are found, like [`AUTO`](crate::runtime::AUTO);
//! they are free again when their handles end. The caller names only the half of a register file for weights, because
//! it decides what runs side by side.
//!
//! # Reports and refusals
//!
//! In the report and in faults, all passes of a helper appear at the line of its caller. Sizes that do not fit are
//! refused while compiling, in the words of the helper, at that line.

mod elementwise;
mod greatest;
mod layout;
mod linear;
mod norm;
mod slices;
mod softmax;
mod tiled;

#[cfg(test)]
mod tests;

pub use elementwise::{add, multiply};
pub use greatest::{Greatest, argmax, top_k};
pub use layout::{CopiesOf, Flits, InDm, Lanes, Multiplied, OneAxis, StoredFrom};
pub use linear::{
    Activation, GeluHalfBias, Plain, QuickGelu, Relu, Silu, Weights, linear, load_operand, load_weights,
    product,
};
pub use norm::{layer_norm, rms_norm, rms_norm_over_slices, root_mean_square};
pub use slices::sum_over_slices;
pub use softmax::{softmax, softmax_over_slices};
pub use tiled::tiled_product;
