//! The output projection of attention, for one token: `y = residual + W x`, with 3840 x 4096 weights in `bf16`.
//!
//! Every weight is used once, so HBM decides: its 31 457 280 bytes take 20 480 cycles at the full rate of all channels, and the
//! products 120. The two kernels differ in how near they come.
//!
//! ```text
//!   plain   one cluster        tuned   two clusters
//!
//!   DMA    x r w0 w1 w2 w3 w4 y        DMA    x w0 w0 w0 w1 r     y
//!   sub         w0 w1 w2 w3 w4         sub      x             r
//!   main           y0 y1 y2 y3 y4      main    x      y0   y1 y
//! ```
//!
//! In both, 16 slices share a row of the weights, and the Vector Engine adds their parts.
//!
//! | step | what the report says before it | cycles |
//! |---|---|---|
//! | plain | | 54 057 |
//! | both clusters; weights are the stream and the token is in the register file; a ring passes the token on | `hint 1 saves 18 636 cycles: idle cluster`; the sub context is busy for 33 %, to load weights 8 bytes at a time; `to_dm … bound by copies` for a token of 8 KiB takes 4 426 | 28 975 |
//! | 15 groups of 128 rows, not 16 of 120; the residual is loaded while the last tile is multiplied | `to_hbm … runs of 240 bytes: HBM reads, changes and writes each unit`; 1 666, then 535 | 33 590 |
//! | rows of the weights in the order in which slices take them | the column `HBM, all` of the first load is 1.4 times what its bytes take, and far above the two sides: slices read far apart, at multiples of 1 MiB, and banks change rows; 25 308, then 19 522 | 25 806 |
//!
//! The third step alone is a loss: slices are 1 MiB apart then, and not 960 KiB. What is left above the bound is refresh, the
//! start of 5 transfers (500 each), and what follows the last byte: the residual, the products of 16 rows, and the store.
//!
//! The report also notes what users of the SDK saw: a switch that gives both clusters the same may fill only one.
//! `VISA_CHECKS=-sdk` turns the note off.
//!
//! The kernels are in `decoder/attention_output.rs`.
//!
//! Run it: `cargo run --release -p furiosa-opt-std --example attention_output`. `--small` takes small sizes, and `--report`
//! prints the whole report of each kernel.

use furiosa_opt_std::prelude::*;
use std::time::Instant;

mod decoder;
use decoder::{Random, Work, compare, exact, flag, product, report, twice};

/// The size of the layer. A slice has `PART` inputs, which are so many `FLITS` and `PAIRS` of them.
///
/// Plain: `OWN` outputs, in `TURNS` tiles of `TILE`, of `GROUPS` groups of 8. Tuned: `ROWS` outputs, in tiles of `FIRST` and `LAST`.
pub(crate) mod full {
    use super::*;

    axes![O = 3840, I = 4096, C = 2, R = 15, Q = 128];
    const PART: usize = 256;
    const FLITS: usize = 16;
    const PAIRS: usize = 8;
    const OWN: usize = 240;
    const TURNS: usize = 5;
    const TILE: usize = 48;
    const GROUPS: usize = 6;
    const ROWS: usize = 128;
    const FIRST: usize = 112;
    const LAST: usize = 16;
    include!("decoder/attention_output.rs");
}

/// A size for tests.
mod small {
    use super::*;

    axes![O = 1920, I = 1024, C = 2, R = 15, Q = 64];
    const PART: usize = 64;
    const FLITS: usize = 4;
    const PAIRS: usize = 2;
    const OWN: usize = 120;
    const TURNS: usize = 5;
    const TILE: usize = 24;
    const GROUPS: usize = 3;
    const ROWS: usize = 64;
    const FIRST: usize = 56;
    const LAST: usize = 8;
    include!("decoder/attention_output.rs");
}

fn main() {
    if flag("--small") { small::run() } else { full::run() }
}
