//! An independent, slow and obvious version of the mapping semantics and of the engines.
//!
//! Everything here is a plain loop over positions and coordinates, written from the documentation of the
//! chip and not from the library: no normal form, no derived configuration, no shared code. Tests compare the library with it.
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`mapping`] | which tensor element does a position hold? |
//! | [`union`] | which one do positions of several mappings hold together? |
//! | [`coordinates`] | which element is that? |
//! | [`digits`] | which digits of which axes does a mapping spell, and where does its outer padding start? |
//! | [`tensor`] | where do the elements of a tensor lie? |
//! | [`numbers`] | which number does a code of a narrow type mean, and back? |
//! | [`engines`] | what leaves an engine that moves or narrows data? |
//! | [`transpose`] | which matrices does a transpose have, what leaves them, and when? |
//! | [`copies`] | what do shuffles and copies of parts put where? |
//! | [`tiles`] | what may a tile be, and where does it start? |
//! | [`rows`] | what do gathers and scatters put where? |
//! | [`switch`] | which packet arrives where in a switch, and which configurations can do it? |
//! | [`adapter`] | what does the adapter of the Fetch Engine make of a stored element? |
//! | [`contraction`] | what leaves the contraction path, bit for bit? |
//! | [`sequencer`] | does a list of entries read the right addresses, and is there any that does? |
//! | [`windows`] | which element of a tensor does a view in windows name? |
//! | [`vector`] | which chains of the Vector Engine are legal, and what do they compute? |
//! | [`hbm`] | when are requests to HBM done? |
//! | [`shadow`] | which operations break a rule of the memories, byte by byte? |
//! | [`random`], [`packets`], [`pipelines`] | which mappings and legal contraction pipelines to try next? |
//! | [`cases`] | which random case fails, and which seed repeats it? |

// The documentation is for the reader of the tests: a field whose name says it has no line of its own.
#![allow(missing_docs)]

pub mod adapter;
pub mod cases;
pub mod commits;
pub mod contraction;
pub mod coordinates;
pub mod copies;
pub mod digits;
pub mod engines;
pub mod hbm;
pub mod mapping;
pub mod numbers;
pub mod packets;
pub mod pipelines;
pub mod random;
pub mod rows;
pub mod sequencer;
pub mod shadow;
pub mod switch;
pub mod tensor;
pub mod tiles;
pub mod transpose;
pub mod union;
pub mod vector;
pub mod windows;
