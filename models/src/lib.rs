//! SmolLM2-135M on the simulated chip.
//!
//! | module | content |
//! | --- | --- |
//! | [`config`] | sizes of the network |
//! | [`matrix`] | matrices of quantised blocks |
//! | [`weights`] | the weights, of a file or random |

pub mod config;
pub mod matrix;
pub mod weights;
