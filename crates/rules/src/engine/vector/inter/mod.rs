//! The inter-slice reduce: one element for all slices of a group, in each cluster.
//!
//! ```text
//!   Slice m![G, J], Time m![A, B]        groups of J neighbouring slices
//!
//!   Slice2 m![G, 1 # 8]   Time2 m![A, B]     the sum is in the first slice of its group
//!   Slice2 m![G, X]       Time2 m![A, B]     every slice of the group has it
//!   Slice2 m![G, B]       Time2 m![A]        slice b of the group has step b of it
//! ```
//!
//! The reduced axis is the innermost of the slices. Elements are taken in the order of their index, from the first one on;
//! padding is left out.

pub mod derive;

pub use derive::{InterSliceConfig, InterSliceRequest, derive_inter_slice};

use crate::command::InterSliceReduce;
use crate::command::ReduceOperator;
use crate::command::VectorStep;

/// The call, for messages.
pub const OPERATION: &str = "vector_inter_slice_reduce";

/// The reduce as a step of a program.
pub fn step(op: ReduceOperator, config: &InterSliceConfig) -> VectorStep {
    let InterSliceConfig { kept, reduced, repeated, group, time, guard } = *config;
    VectorStep::InterSliceReduce(Box::new(InterSliceReduce {
        op,
        guard,
        kept,
        reduced,
        repeated,
        group,
        time,
    }))
}
