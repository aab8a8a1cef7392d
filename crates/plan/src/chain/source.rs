//! A chain as source.
