//! SmolLM2-135M on the simulated chip.
//!
//! | module | content |
//! | --- | --- |
//! | [`config`] | sizes of the network |
//! | [`gguf`] | the network in a file |
//! | [`matrix`] | matrices of quantised blocks |
//! | [`model`] | interface of a network that continues a text |
//! | [`refusal`] | messages about input that cannot be used |
//! | [`tokenizer`] | tokens of a text |
//! | [`weights`] | the weights, of a file or random |

pub mod config;
pub mod gguf;
pub mod matrix;
pub mod model;
pub mod refusal;
pub mod tokenizer;
pub mod weights;
