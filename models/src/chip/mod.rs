//! The network on the simulated chip.
//!
//! | module | content |
//! | --- | --- |
//! | [`layout`] | axes, and where tensors lie |
//! | [`vector`] | the vector of a token: in two bf16, to all slices, its norm |
//! | [`attention`] | queries, keys and values, scores, and what they choose |
//! | [`feed_forward`] | gate, up and down |
//! | [`vocabulary`] | a token's row of the embedding, and the logits |
//! | [`kind`], [`rounded`], [`int4`] | kinds of weights of layers: rounded to bf16, and as the file has them |
//! | [`token`] | the kernel: one token through all layers |
//! | [`block`] | prefill: a page of tokens through all layers at once |
//! | [`prepare`] | weights and tables, uploaded |
//! | [`stage`] | a chip with its layers: launches, and what goes to the next chip |
//! | [`pipeline`] | time of chips in a row |
//! | [`network`] | all of it as a [`Model`](crate::model::Model) |

pub mod attention;
pub mod block;
pub mod feed_forward;
pub mod int4;
pub mod kind;
pub mod layout;
pub mod network;
pub mod pipeline;
pub mod prepare;
pub mod rounded;
pub mod stage;
pub mod token;
pub mod vector;
pub mod vocabulary;
