//! Time: what happens in which cycle.
//!
//! Components stand alone: each takes an address stream and counts, without the values that move.

pub mod banks;
pub mod trf_cache;
