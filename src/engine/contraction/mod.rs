//! Contraction Engine: Aligner (`align`) and Reducer (`contract`, `accumulate`).

mod accumulate;
mod align;
mod contract;

mod pipeline;

pub use accumulate::{AccumulateConfig, AccumulateRequest, derive_accumulate};
pub use align::{AlignConfig, AlignRequest, derive_align};
pub use contract::{ContractConfig, ContractRequest, derive_contract};
pub use pipeline::{AccumulatePlan, AlignPlan, ContractPlan, ContractsTo, Undecided};
