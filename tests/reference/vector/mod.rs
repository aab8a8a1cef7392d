//! The Vector Engine, by positions: which chains of stages are legal, why others are not, and what each computes.
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`chain`] | what is a chain, as plain data? |
//! | [`run`] | is a chain legal ([`run::judge`]), and what leaves every step of it ([`run::run`])? |
//! | [`rules`] | which rule does a chain break, and when is that found? |
//! | [`operators`] | what does an operator compute, and on which unit? |
//! | [`exact`] | what is the correctly rounded value of a unary function? |
//! | [`shapes`] | which mappings may split, concat, trim, pad and unzip have? |
//! | [`reduce`] | which outputs may a reduce have, and what are its results? |
//! | [`valid_count`] | can padding of a reduced axis be told to the hardware? |
//! | [`generate`] | which random legal chains to try next, on which values? |
//! | [`mutants`] | which illegal chains to try next, and which rule do they break? |
//! | [`big`] | natural numbers of any size, for [`exact`] |

pub mod big;
pub mod chain;
pub mod exact;
pub mod generate;
pub mod mutants;
pub mod operators;
#[cfg(test)]
mod page_tests;
pub mod reduce;
pub mod rules;
pub mod run;
pub mod shapes;
pub mod valid_count;
