//! SmolLM2-135M on the simulated chip.
//!
//! | module | content |
//! | --- | --- |
//! | [`chip`] | the network on the simulated chip |
//! | [`config`] | sizes of the network |
//! | [`matrix`] | matrices of quantised blocks |
//! | [`model`] | interface of a network that continues a text |
//! | [`weights`] | the weights, of a file or random |

pub mod chip;
pub mod config;
pub mod matrix;
pub mod model;
pub mod weights;
