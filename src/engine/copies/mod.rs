//! Copies between slices, clusters and chips: shuffles by the DMA engines, and copies by the sub context.
//!
//! ```text
//!   dm_chip_shuffle(x, &[1, 2, 3, 0])                parallel_copy_chip_slice(x, &[3, 0, 1, 2])
//!
//!   chip    0   1   2   3                            chip     0      1      2      3
//!   x       a   b   c   d                            x        abcd   efgh   ijkl   mnop
//!   result  b   c   d   a                            result   d      e      j      o
//! ```
//!
//! | call | of | does | addresses |
//! |---|---|---|---|
//! | `dm_cluster_shuffle` | `ctx.tdma` | cluster `k` gets what cluster `pattern[k]` has | `AUTO` |
//! | `dm_chip_shuffle` | `ctx.tdma` | chip `k` gets what chip `pattern[k]` has | `AUTO` |
//! | `hbm_chip_shuffle` | `ctx.tdma`, `ctx.pdma` | the same in HBM | `AUTO` |
//! | `to_dm_pcopy`, `to_dm_view_pcopy` | `ctx.sub` | any layout inside of each cluster, slices in any order | that of the destination |
//! | `parallel_copy_cluster_slice` | `ctx.sub` | cluster `c` keeps position `index[c]` of an axis | `AUTO` |
//! | `parallel_copy_chip_slice` | `ctx.sub` | chip `c` keeps position `index[c]` of an axis | `AUTO` |
//!
//! A pattern lists the source of each destination. Repeated entries broadcast: `[0, 0]` gives cluster 0 to both. The
//! mappings do not change: the result has the types of the source, and chip `k` now holds the elements that chip
//! `pattern[k]` held.
//!
//! Calls that name no address put their result at [`AUTO`](crate::runtime::AUTO): the bytes are free again when its handle
//! ends.
//!
//! # Refused while compiling
//! A pattern for another number of clusters or chips; clusters or chips some of which hold fewer elements than others;
//! an axis to slice that `Element` does not hold; parallel copies that drop or cut an axis.
//!
//! # Panics
//! If a pattern has another length, names a unit or part that does not exist, or takes from one that holds no element;
//! if the memory is full; and if a check of the chip fails.

mod parallel;

mod shuffle;

mod slices;
use crate::command::CopyCall;
use crate::engine::dma::AtRest;
use crate::runtime::late::{Late, Refusable};
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::copies::UnitLevel;
pub(crate) use furiosa_visa_rules::engine::copies::{check_count, copy_operation};
pub(crate) use parallel::copied;
pub use parallel::{ParallelCopyPlan, SubContext, derive_parallel_copy};
pub(crate) use shuffle::shuffled;
pub use shuffle::{HasClusters, ShuffleConfig, ShufflePlan, derive_shuffle};
pub use slices::{SliceCopyConfig, SliceCopyPlan, SliceCopyRequest, derive_slice_copy};

/// The number of units that a call of a pattern or an index names, as a type.
#[doc(hidden)]
pub struct CountPlan<Tensor, const GIVEN: usize>(PhantomData<Tensor>);

/// Declares the checks of the calls.
macro_rules! counts {
    ($($name:ident = $call:ident of $level:ident;)*) => {
        impl<Tensor: AtRest, const GIVEN: usize> CountPlan<Tensor, GIVEN> { $(
            #[doc(hidden)]
            pub const $name: () = match Late::<Self>::$name {
                Ok(()) => (),
                Err(error) => error.refuse(),
            };
        )* }

        impl<Tensor: AtRest, const GIVEN: usize> Late<CountPlan<Tensor, GIVEN>> { $(
            #[doc(hidden)]
            pub const $name: Refusable<()> =
                check_count(CopyCall::$call.name(), UnitLevel::$level, GIVEN, &Tensor::SHAPE);
        )* }
    };
}

counts! {
    CLUSTERS_OF_SHUFFLE = DmClusterShuffle of Cluster;
    CHIPS_OF_SHUFFLE = DmChipShuffle of Chip;
    CLUSTERS_OF_COPY = ClusterSliceCopy of Cluster;
    CHIPS_OF_COPY = ChipSliceCopy of Chip;
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod rules_tests;
