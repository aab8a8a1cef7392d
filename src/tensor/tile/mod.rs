//! Tiles: views of a part of a tensor, which is read and written where it lies.
//!
//! `tile::<Index, LEN, Element2>(start)` keeps `LEN` consecutive values of `Index`, from `start` on. A tile has the
//! size of its tensor: the positions that it leaves out are padding, behind those that it keeps.
//!
//! ```text
//! axes![G = 2, K = 8]            x.view().tile::<m![K], 3, m![G, K = 3 # 8]>(4)
//!
//!   m![G, K]            0 0 0 0 0 0 0 0   1 1 1 1 1 1 1 1      G
//!                       0 1 2 3 4 5 6 7   0 1 2 3 4 5 6 7      K
//!                               │
//!                               └ offset 4: position 0 of the tile
//!   m![G, K = 3 # 8]            0 1 2 · ·  · · · 0 1 2 · ·     K of the tile counts from 0
//! ```
//!
//! With `LEN` 1 the index is gone: `x.view().tile::<m![K], 1, m![G, 1 # 8]>(j)` holds one value of `K`, without an axis. The
//! index can be a part of an axis (`m![K / 4]`), and a tile can be cut into tiles. Tiles may overlap, as those of `m![K / 4]`
//! with `LEN` 2 at 0 and at 1 do.
//!
//! | call | replaces | starts at |
//! |---|---|---|
//! | `tile` | `Element` | bytes of each unit |
//! | `slice_tile` | `Slice` | slices |
//! | `cluster_tile` | `Cluster` | clusters |
//! | `chip_tile` | `Chip` | chips |
//! | `tiles`, `split_tiles_mut` | `Element`, in tiles side by side | each after the one before it |
//!
//! A tile is a part of its tensor. It keeps the filling and the order of the tensor, and its `address()`; the memory
//! map shows the tensor. If two tiles lie one behind the other, one context can write one of them while another context
//! reads the other. Tiles that interleave, or that have the same bytes of other slices, wait for each other: order and
//! time consider all bytes from the first element of a tile to its last.
//!
//! Several tiles of one view to write may be held, even if they overlap: no memory of the host is behind them, and
//! operations on them happen in the order of the program. A move that writes bytes which it also reads is refused,
//! except a copy in place.
//!
//! If an axis ends inside the last tile (`A # 8 / 4` of `A = 7`), the tile also has the padding behind it. Values
//! written there are no element of the tensor. Values read there are uninitialised, or left by an earlier tensor in
//! these bytes.
//!
//! # Refused while compiling
//! An index that the dimension does not hold; a mapping other than the one that is left; for `tiles`, a `LEN` that does
//! not divide the index; more than one value of an index that lies in several places.
//!
//! # Panics
//! If a tile would end behind its index, start in its padding, or start inside a byte.

mod calls;
mod host;

pub(crate) use furiosa_visa_rules::tensor::tile::rule;
pub use rule::{Dimension, TileConfig, TileDigit, TileRequest, derive_tile};

use crate::error::PlanError;
use crate::mapping::M;
use crate::runtime::late::when_late;
use crate::runtime::late::{Late, Refusable};
use core::marker::PhantomData;

/// Checks, while compiling, that a tile of `LEN` values of `Index` from a tensor of mapping `E` has the mapping `E2`.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// axes![G = 2, K = 8];
/// assert_div::<m![K], m![G, K], m![G, K = 3 # 8], 3>();
/// assert_div::<m![K / 4], m![G, K], m![G, 1 # 2, K % 4], 1>();
/// ```
///
/// ```compile_fail
/// # use furiosa_visa_std::prelude::*;
/// # axes![G = 2, K = 8];
/// assert_div::<m![K], m![G, K], m![G, K = 3], 3>(); // a tile keeps the size
/// ```
#[track_caller]
pub const fn assert_div<Index: M, E: M, E2: M, const LEN: usize>() {
    #[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
    const {
        let request = DivRequest::<Index, E, E2, LEN>::REQUEST;
        if let Err(error) = derive_tile(&request) {
            error.refuse()
        }
    }
    when_late! {
        if let Err(error) = derive_tile(&DivRequest::<Index, E, E2, LEN>::REQUEST) {
            error.refuse()
        }
    }
}

/// The request that `assert_div` checks.
struct DivRequest<Index, E, E2, const LEN: usize>(PhantomData<(Index, E, E2)>);

impl<Index: M, E: M, E2: M, const LEN: usize> DivRequest<Index, E, E2, LEN> {
    const REQUEST: TileRequest = TileRequest {
        operation: "assert_div",
        dimension: Dimension::Host,
        index: Index::EXPR,
        len: LEN,
        from: E::EXPR,
        to: E2::EXPR,
        others: [None; 3],
    };
}

/// The tiles of a tensor, as types. `To` replaces the dimension with this [`Dimension`] number.
pub struct TilePlan<Index, Chip, Cluster, Slice, Element, To, const LEN: usize, const DIMENSION: usize>(
    PhantomData<(Index, Chip, Cluster, Slice, Element, To)>,
);

impl<Index: M, Chip: M, Cluster: M, Slice: M, Element: M, To: M, const LEN: usize, const DIMENSION: usize>
    TilePlan<Index, Chip, Cluster, Slice, Element, To, LEN, DIMENSION>
{
    /// The starts of the tiles. Evaluating it refuses a mapping other than the one that is left.
    /// The configuration.
    #[doc(hidden)]
    pub const CONFIG: TileConfig = match Late::<Self>::CONFIG {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };

    const fn config() -> Result<TileConfig, PlanError> {
        let all = [Chip::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR];
        let mut others = [None; 3];
        let (mut k, mut next) = (0, 0);
        while k < all.len() {
            if k != DIMENSION {
                others[next] = Some((Dimension::ALL[k], all[k]));
                next += 1;
            }
            k += 1;
        }
        let dimension = Dimension::ALL[DIMENSION];
        let request = TileRequest {
            operation: dimension.call(),
            dimension,
            index: Index::EXPR,
            len: LEN,
            from: all[DIMENSION],
            to: To::EXPR,
            others,
        };
        derive_tile(&request)
    }

    /// Number of tiles side by side. Evaluating it refuses tiles that do not divide the index.
    pub(crate) const COUNT: usize = match Self::CONFIG.count() {
        Ok(count) => count,
        Err(error) => error.refuse(),
    };
}

impl<Index: M, Chip: M, Cluster: M, Slice: M, Element: M, To: M, const LEN: usize, const DIMENSION: usize>
    Late<TilePlan<Index, Chip, Cluster, Slice, Element, To, LEN, DIMENSION>>
{
    #[doc(hidden)]
    pub const CONFIG: Refusable<TileConfig> =
        TilePlan::<Index, Chip, Cluster, Slice, Element, To, LEN, DIMENSION>::config();
    #[doc(hidden)]
    pub const COUNT: Refusable<usize> = match &Self::CONFIG {
        Ok(config) => config.count(),
        Err(error) => Err(*error),
    };
}
