//! The rules of the engines: from mappings to configurations.

pub mod cast;
pub mod collect;
pub mod commit;
pub mod commit_stages;
pub mod contraction;
pub mod copies;
mod display;
pub mod dma;
pub mod fetch;
pub mod memset;
pub mod register_file;
pub mod stream;
pub mod switch;
pub mod transpose;
pub mod vector;
pub mod vector_register_file;
