//! Sequencers: nested loops that turn a memory into a stream of packets and back.

mod buffer;
mod config;
mod derive;
mod limits;

pub use buffer::{
    BufTensor, BufferConfig, BufferPlan, BufferRequest, IndirectLoop, StreamTensor, derive_buffer,
};
pub use config::{Config, DERIVED_ENTRIES, Entry};
pub use derive::{Derived, Request, Stream, derive};
pub use limits::{contiguous_run, limited};
