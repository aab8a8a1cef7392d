//! Gather and scatter: their rules and their plans.

use super::AtRest;
use crate::command::IndexedCall;
use crate::mapping::M;
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::dma::indexed::{IndexedConfig, check_key, derive_indexed};

use crate::error::attempt;
use crate::runtime::late::{Late, Refusable, by_reference};

/// A gather or scatter between types of tensors.
pub struct IndexedPlan<Table, Index, Side>(PhantomData<(Table, Index, Side)>);

impl<Table: AtRest, Index: AtRest, Side: AtRest> IndexedPlan<Table, Index, Side> {
    /// A gather by byte offsets. Evaluating it refuses moves that the DMA engines do not support.
    pub const GATHER: IndexedConfig = Self::derived(IndexedCall::Gather);
    /// A gather by row numbers.
    pub const GATHER_ROWS: IndexedConfig = Self::derived(IndexedCall::GatherRows);
    /// A scatter by row numbers or byte offsets.
    pub const SCATTER: IndexedConfig = Self::derived(IndexedCall::Scatter);
    /// A scatter by row numbers.
    pub const SCATTER_ROWS: IndexedConfig = Self::derived(IndexedCall::ScatterRows);

    const fn derived(call: IndexedCall) -> IndexedConfig {
        let _ = (Table::ELEMENTS, Index::ELEMENTS, Side::ELEMENTS);
        match derive_indexed(call, &Table::SHAPE, &Index::SHAPE, &Side::SHAPE) {
            Ok(config) => config,
            Err(error) => error.refuse(),
        }
    }
}

/// The key of a scatter and the mapping of its index, as types.
#[doc(hidden)]
pub struct KeyPlan<Key, Index>(PhantomData<(Key, Index)>);

impl<Key: M, Index: M> KeyPlan<Key, Index> {
    /// The check that the index is made for the key.
    #[doc(hidden)]
    pub const CHECK: () = match Late::<Self>::CHECK {
        Ok(()) => (),
        Err(error) => error.refuse(),
    };
}

impl<Key: M, Index: M> Late<KeyPlan<Key, Index>> {
    #[doc(hidden)]
    pub const CHECK: Refusable<()> = check_key(IndexedCall::Scatter.name(), Key::EXPR, Index::EXPR);
}

impl<Table: AtRest, Index: AtRest, Side: AtRest> Late<IndexedPlan<Table, Index, Side>> {
    #[doc(hidden)]
    pub const GATHER: Refusable<IndexedConfig> = Self::derived(IndexedCall::Gather);
    #[doc(hidden)]
    pub const GATHER_ROWS: Refusable<IndexedConfig> = Self::derived(IndexedCall::GatherRows);
    #[doc(hidden)]
    pub const SCATTER: Refusable<IndexedConfig> = Self::derived(IndexedCall::Scatter);
    #[doc(hidden)]
    #[doc(hidden)]
    pub const SCATTER_ROWS: Refusable<IndexedConfig> = Self::derived(IndexedCall::ScatterRows);

    const fn derived(call: IndexedCall) -> Refusable<IndexedConfig> {
        attempt!(by_reference(Table::LATE_FOOTPRINT));
        attempt!(by_reference(Index::LATE_FOOTPRINT));
        attempt!(by_reference(Side::LATE_FOOTPRINT));
        derive_indexed(call, &Table::SHAPE, &Index::SHAPE, &Side::SHAPE)
    }
}
