//! Derived configurations against the goldens of the specification.

mod contraction;
mod fetch;
mod sequencer;
mod sequencer_page;
