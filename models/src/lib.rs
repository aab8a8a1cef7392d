//! SmolLM2-135M on the simulated chip.
//!
//! | module | content |
//! | --- | --- |
//! | [`chip`] | the network on the simulated chip |
//! | [`config`] | sizes of the network |
//! | [`matrix`], [`weights`] | its weights, of a file or random |
//! | [`gguf`], [`tokenizer`] | the file: its weights and its vocabulary |
//! | [`model`] | interface of a network that continues a text |
//! | [`mod@reference`] | the network in f32 on the host |
//! | [`chat`], [`generate`] | conversations, the choice of tokens, and the report |
//! | [`options`], [`command`], [`refusal`] | the program |

#![deny(clippy::unwrap_used)]

pub mod chat;
pub mod chip;
pub mod command;
pub mod config;
pub mod generate;
pub mod gguf;
pub mod matrix;
pub mod model;
pub mod options;
pub mod reference;
pub mod refusal;
pub mod tokenizer;
pub mod weights;
