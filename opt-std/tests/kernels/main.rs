//! Kernels in the later surface, executed and compared with plain loops: every call that kernels of that surface use.

#![allow(clippy::type_complexity)] // A mapping is a nested type, however short it is written.

mod contraction;
mod fetches;
mod liveness;
mod memory;
mod vector;
