//! Tiles of tensors on the host.

use super::{Dimension, TileConfig, TileRequest, derive_tile};
use crate::error::PlanError;
use crate::host::{TensorView, TensorViewMut};
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::Scalar;
use core::marker::PhantomData;

/// The tiles of a mapping.
struct HostTilePlan<Index, From, To, const LEN: usize>(PhantomData<(Index, From, To)>);

impl<Index: M, From: M, To: M, const LEN: usize> HostTilePlan<Index, From, To, LEN> {
    const CONFIG: TileConfig = match Self::config() {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };

    const fn config() -> Result<TileConfig, PlanError> {
        let request = TileRequest {
            operation: "tile",
            dimension: Dimension::Host,
            index: Index::EXPR,
            len: LEN,
            from: From::EXPR,
            to: To::EXPR,
            others: [None; 3],
        };
        derive_tile(&request)
    }
}

impl<Index: M, From: M, To: M, const LEN: usize> Late<HostTilePlan<Index, From, To, LEN>> {
    #[doc(hidden)]
    pub const CONFIG: Refusable<TileConfig> = HostTilePlan::<Index, From, To, LEN>::config();
}

impl<'l, D: Scalar, Mapping: M> TensorView<'l, D, Mapping> {
    /// `LEN` consecutive values of `Index`, from `start` on: see [tiles](crate::tensor::tile).
    ///
    /// # Panics
    /// If the tile would end behind the index.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn tile<Index: M, Mapping2: M, const LEN: usize>(&self, start: usize) -> TensorView<'l, D, Mapping2> {
        let config = planned!(const CONFIG of HostTilePlan<Index, Mapping, Mapping2, LEN>);
        self.further(accept(config.operation, config.offset(start)))
    }
}

impl<D: Scalar, Mapping: M> TensorViewMut<'_, D, Mapping> {
    /// `LEN` consecutive values of `Index`, from `start` on, to write: see [tiles](crate::tensor::tile).
    ///
    /// # Panics
    /// If the tile would end behind the index.
    #[track_caller]
    #[inline(never)]
    pub fn tile<Index: M, Mapping2: M, const LEN: usize>(
        &mut self,
        start: usize,
    ) -> TensorViewMut<'_, D, Mapping2> {
        let config = planned!(const CONFIG of HostTilePlan<Index, Mapping, Mapping2, LEN>);
        self.further(accept(config.operation, config.offset(start)))
    }
}
