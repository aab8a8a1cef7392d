//! Sequencers: nested loops that turn a memory into a stream of packets and back.

mod buffer;
mod config;
mod derive;

pub use buffer::{
    BufTensor, BufferConfig, BufferPlan, BufferRequest, IndirectLoop, StreamTensor, derive_buffer,
};
pub use config::{Config, DERIVED_ENTRIES, Entry};
pub use derive::{Derived, Request, Stream, contiguous_run, derive, limited};
