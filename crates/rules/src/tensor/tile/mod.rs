//! Tiles of tensors: the rule.

pub mod rule;

pub use rule::{
    Dimension, TileConfig, TileDigit, TileRequest, derive_tile, digits, locate, no_lead, rest, span_of,
};
