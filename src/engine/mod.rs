//! The engines: their rules for mappings, and the calls that use them.

pub mod cast;
pub mod collect;
pub mod commit;
pub mod commit_stages;
pub mod contraction;
pub mod copies;
pub mod dma;
pub mod fetch;
pub mod inspect;
pub mod layout;
pub mod lookup_table;
pub mod memset;
#[doc(hidden)]
pub mod next_call;
pub mod register_file;
pub mod stream;
pub mod switch;
pub mod transpose;
pub mod vector;
pub mod vector_register_file;
