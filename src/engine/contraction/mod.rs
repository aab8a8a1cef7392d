//! Contraction Engine: Aligner (`align`) and Reducer (`contract`, `accumulate`).
//!
//! ```text
//!   CollectTensor ──align──▶ AlignedPair ──contract──▶ ContractionTensor ──accumulate──▶ AccumulationTensor
//!                    │            64 bytes per row        │ columns per row      │ 8 lanes per beat
//!                    └ TrfTensor                          └ adder tree           └ sums over time, rows folded in
//! ```
//!
//! `contract` offers multiply and add, and nothing else: see [contraction](crate::guide::contraction). The hardware's
//! tree can also find a maximum, on row 0 alone; nothing in `contract` selects that, so it is left out.

mod pipeline;

pub use accumulate::{AccumulateConfig, AccumulateRequest, derive_accumulate};
pub use align::{AlignConfig, AlignRequest, derive_align};
pub use contract::{ContractConfig, ContractRequest, derive_contract};
pub(crate) use furiosa_visa_rules::engine::contraction::{
    accumulate, align, contract, stream_adapter, trf_sequencer,
};
pub use pipeline::{AccumulatePlan, AlignPlan, ContractPlan, StreamAdapterPlan, TrfSequencerPlan};
pub use stream_adapter::{StreamAdapterConfig, derive_stream_adapter};
pub use trf_sequencer::{TrfSequencerConfig, derive_trf_sequencer};
