//! Chains of the Vector Engine.

mod big;
mod chain;
mod documented;
mod exact;
mod families;
mod generate;
mod mutants;
mod operators;
mod reduce;
mod refusal;
mod rules;
mod sensitivity;
mod shapes;
mod valid_count;
