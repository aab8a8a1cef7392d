//! Contraction Engine: the rules of Aligner (`align`) and Reducer (`contract`, `accumulate`).

pub mod accumulate;
pub mod align;
pub mod contract;
pub mod stream_adapter;
pub mod trf_sequencer;

pub use accumulate::{
    AccumulateConfig, AccumulateRequest, derive_accumulate, derive_kinds, innermost_padding, progress,
    slot_loops,
};
pub use align::{AlignConfig, AlignRequest, Sides, derive_align, shares_a_digit};
pub use contract::{ContractConfig, ContractRequest, derive_contract};
pub use stream_adapter::{StreamAdapterConfig, collected_flits, derive_stream_adapter};
pub use trf_sequencer::{TrfSequencerConfig, derive_trf_sequencer, read_block};
