//! The inter-slice reduce: one element for all slices of a group, in each cluster.

pub mod derive;

pub use derive::{InterSliceConfig, InterSliceRequest, derive_inter_slice};

use crate::command::{InterSliceReduce, ReduceOperator, VectorStep};

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
