//! The reference against its documentation, and against itself. A target of its own: the reference is compiled once.

mod adapter;
mod cases;
mod commits;
mod contraction;
mod coordinates;
mod copies;
mod digits;
mod engines;
mod mapping;
mod numbers;
mod packets;
mod pipelines;
mod random;
mod rows;
mod sequencer;
mod switch;
mod tensor;
mod tiles;
mod transpose;
mod vector;
mod windows;
